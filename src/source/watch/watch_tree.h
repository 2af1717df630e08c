// SPDX-License-Identifier: Apache-2.0
/*
 * Looking at folders that a role watches, and noticing that something in them changes (inotify).
 *
 * Folders are held open from the first one down and no link below it is followed, so nothing that
 * an agent puts there leads the watch elsewhere. What editors, version control and package managers
 * leave (`~`, `.swp`, `.git`, `node_modules`, ...) is left out. One thread at a time.
 */
#pragma once

#include "rondo/error.h"
#include "source/watch/watch_picture.h"

struct watch_tree;

struct watch_tree_options {
    const char *folder;               /**< relative paths start here */
    const char *const *agent_folders; /**< links in them lead nowhere; NULL-terminated */
    const char *const *paths; /**< folders and files, as the role names them; NULL-terminated */
    const char *const *extensions; /**< names end so; NULL-terminated; none = all */
};

/** What the tree reports. Paths as in struct watched_file, valid during the call. */
struct watch_report {
    /** A scan found a file. @return 0, or a code that ends the scan */
    int (*found)(void *context, const char *path, const struct watched_state *state,
                 struct rondo_error *err);
    /** A file may have changed. @param is_written it is being written, and not closed yet */
    void (*changed)(void *context, const char *path, bool is_written);
    /** A folder changed, or events were lost: a scan is needed. */
    void (*unclear)(void *context);
    void *context;
};

/** Texts of the options are copied. @param ret_tree watch_tree_close() */
int watch_tree_open(const struct watch_tree_options *options, struct watch_tree **ret_tree,
                    struct rondo_error *err);
/** NULL is allowed. */
void watch_tree_close(struct watch_tree *tree);

/** Becomes readable when something changes. */
int watch_tree_descriptor(const struct watch_tree *tree);

/**
 * Look at everything, and watch it from now on.
 * @param ret_is_whole false: one of the paths is not there now, so what was not found in it may
 *        still exist
 * @return RONDO_ERR_LIMIT: more than LIMIT_WATCH_FOLDERS folders, nested deeper than
 *         LIMIT_WATCH_DEPTH, or more than the machine watches
 */
int watch_tree_scan(struct watch_tree *tree, const struct watch_report *report, bool *ret_is_whole,
                    struct rondo_error *err);

/** Report what happened since. Does not wait. */
void watch_tree_read(struct watch_tree *tree, const struct watch_report *report);

/** Look at one file that was reported. A link or a folder counts as not there. */
struct watched_state watch_tree_look(const struct watch_tree *tree, const char *path);

/** Folders that are watched now. */
size_t watch_tree_folders(const struct watch_tree *tree);
