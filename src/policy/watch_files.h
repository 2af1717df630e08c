// SPDX-License-Identifier: Apache-2.0
/* Finding, recognising and reading the files of a ruleset. */
#pragma once

#include "base/clock.h"
#include "os/file_state.h"
#include "policy/ruleset.h"

/** Name of the policy file that is looked for beside a store. */
#define WATCH_DEFAULT_NAME "rondo.cedar"
/** Bytes of the name of a policy change's author. */
#define WATCH_BY_SIZE 256
/** How long a file that is written in place must have rested. */
#define WATCH_REST_NS (100 * NS_PER_MS)
/** Files of one policy folder. */
#define WATCH_FILES 256
/** Parts that belong to a policy file: itself, its entities, its links. */
#define WATCH_PARTS 3

/**
 * Path of a part: `x.cedar`, `x.entities.json`, `x.links.json`; free() it.
 * @param path a policy file; for a folder only part 0 means anything
 */
char *watch_part_path(const char *path, size_t part);

struct watch_file {
    char *path;
    enum ruleset_part part;
    struct file_state state; /**< when it was found */
    const char *text;        /**< taken instead of what the file holds; NULL = that. Borrowed */
    size_t text_len;
};

struct watch_files {
    struct watch_file *files; /**< by name; owned */
    size_t count;
    bool is_missing;            /**< there is nothing at the path */
    struct rondo_error problem; /**< why they cannot be looked at; code 0 = they can */
    bool is_guarded;            /**< agents can write them: they are not read through links */
    uint64_t signature;         /**< of names, states and the problem; never 0 */
};

void watch_files_fini(struct watch_files *files);

/**
 * Find the files that belong to `path`: the file with `<name>.entities.json` and
 * `<name>.links.json` beside it, or in a folder `*.cedar`, `entities.json` and `links.json`.
 * @param ret_files watch_files_fini()
 */
void watch_files_find(const char *path, struct watch_files *ret_files);

/** The same as if the file at `path` held a text. */
void watch_files_find_as(const char *path, const char *text, size_t len,
                         struct watch_files *ret_files);

/** Whether a file of `now` has the inode that it had in `before` and was written at `now_ns`. */
bool watch_files_are_being_written(const struct watch_files *now, const struct watch_files *before,
                                   int64_t now_ns);

/** Read the files and make a ruleset; fails with their problem when they have one. */
int watch_files_load(const char *path, const struct watch_files *files, lint_fn *finding,
                     void *context, struct ruleset **ret_ruleset, struct rondo_error *err);

/** Name of the user who owns the file that was changed last. */
void watch_files_owner(const struct watch_files *files, char *ret_by, size_t size);
