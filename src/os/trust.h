// SPDX-License-Identifier: Apache-2.0
/*
 * What a person has confirmed: files which decide something (which programs are started, which
 * policies hold) and which lie where agents can write. Such a file counts while its content is the
 * confirmed one; a changed one has to be confirmed again.
 *
 * A record is one small file in `trust` of the state folder (os/state_folder.h), which no sandbox
 * shows and no tool writes. It holds the kind, the canonical path, a digest and the time. One that
 * is damaged, has another owner or could be written by others is no record.
 *
 * What the confirmed bytes are is the caller's: the content of the file, or those parts of it that
 * decide. Any thread and any process; the last of two that confirm the same path counts.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a file is confirmed as. The order is that of the table in trust.c. */
enum trust_kind {
    TRUST_CONFIG,       /**< a rondo.yaml */
    TRUST_ROLE,         /**< what decides in a role file */
    TRUST_POLICY,       /**< a policy file or folder, with entities and links */
    TRUST_STORE,        /**< a store that came with a project */
    TRUST_SINK_COMMAND, /**< a program that is given warnings */
    TRUST_VARIABLES,    /**< a .env, for a role that takes addresses or secrets from it */
    TRUST_DESKS,        /**< a desk file: who decides */
    TRUST_DUTY,         /**< all of a role that a daemon keeps; or a folder of such roles */
    TRUST_KIND_COUNT,
};

enum trust_verdict {
    TRUST_UNKNOWN = 0, /**< nobody has confirmed anything at this path */
    TRUST_CHANGED,     /**< something else was confirmed there */
    TRUST_CONFIRMED,
};

struct trust_record {
    enum trust_kind kind;
    const char *path;
    int64_t confirmed_ns; /**< wall clock */
};

/** "config", "role", ... Static. */
const char *trust_kind_name(enum trust_kind kind);

/**
 * The name under which a path is recorded: its folder is canonical, and the last name is kept even
 * if it is a link, so that turning a link changes what is at a name and not which name it is. The
 * file may be absent, and its folders, too. @param ret_path owned
 */
int trust_path(const char *path, char **ret_path, struct rondo_error *err);

/**
 * Whether these bytes were confirmed at this path.
 * @param path of a file or folder, which may be absent
 */
int trust_look(enum trust_kind kind, const char *path, const void *bytes, size_t len,
               enum trust_verdict *ret_verdict, struct rondo_error *err);

/** Record that a person has confirmed these bytes. Survives a power cut. */
int trust_confirm(enum trust_kind kind, const char *path, const void *bytes, size_t len,
                  struct rondo_error *err);

/**
 * Require a confirmation.
 * @param what for the message: "the MCP servers of"
 * @return 0; RONDO_ERR_DENIED with a message that says which `rondo trust` to type
 */
int trust_require(enum trust_kind kind, const char *path, const void *bytes, size_t len,
                  const char *what, struct rondo_error *err);

/**
 * A number that changes with each confirmation of a path; 0 = there is none. For those that wait
 * for one: it costs a few looks at the file system and reads nothing.
 */
uint64_t trust_stamp(enum trust_kind kind, const char *path);

/** The folder in which each new confirmation makes a file: for those that watch it. @param ret_path
 * owned */
int trust_folder_path(char **ret_path, struct rondo_error *err);

/** Drop the records of all kinds of a path. @return how many there were, or a negative code */
int trust_forget(const char *path, struct rondo_error *err);

/** @return false to stop */
typedef bool trust_list_fn(void *context, const struct trust_record *record);

/** The records of a kind, or all with TRUST_KIND_COUNT, in no particular order. */
int trust_list(enum trust_kind kind, trust_list_fn *fn, void *context, struct rondo_error *err);

/**
 * Whether agents could exchange what a path leads to: one of the folders that they can write is on
 * the way to it, be it the path itself or that of a symbolic link which it goes through.
 * @param folders NULL-terminated or NULL = there are none
 */
bool trust_is_in_reach(const char *path, const char *const *folders);
