// SPDX-License-Identifier: Apache-2.0
/*
 * Git folders that a command leaves in what it could write. The user's git, run in the workspace
 * later, would take configuration and hooks from them. So the folders are listed before the command
 * and after its end, and what is new or changed and could run a program is renamed.
 * One owner, one thread.
 */
#pragma once

#include "base/buf.h"
#include "os/sandbox/paths.h"

struct git_watch;

/**
 * List the git folders below all writable folders.
 * @param paths       borrowed for the life of the watch
 * @param max_folders more are refused; LIMIT_SANDBOX_GIT_FOLDERS but in tests
 * @param ret_watch   owned; git_watch_free()
 * @return whether all were listed; else why not is in `ret_reason`
 */
bool git_watch_begin(const struct path_list *paths, size_t max_folders,
                     struct git_watch **ret_watch, char ret_reason[256]);

/**
 * List them again and disarm what is new or changed. Nothing of the command may live any more.
 * @param ret_notes one line for each file that was renamed
 * @return whether all were listed; else why not is in `ret_reason`
 */
bool git_watch_end(struct git_watch *watch, struct buf *ret_notes, char ret_reason[256]);

/** Write a watch down, for git_watch_restore in another process. */
void git_watch_save(const struct git_watch *watch, struct buf *ret_bytes);

/**
 * Make a watch from what git_watch_save wrote; it needs no paths besides.
 * @return owned; NULL when it was not written completely
 */
struct git_watch *git_watch_restore(const struct buf *bytes);

/** NULL is fine. */
void git_watch_free(struct git_watch *watch);
