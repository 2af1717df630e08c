// SPDX-License-Identifier: Apache-2.0
/*
 * Looking through a hostile working tree before git does. Git opens the files of its own that it
 * meets there (.gitignore, .gitattributes, .gitmodules, and what is in the `.git` of a nested
 * repository) as they are: it waits for ever for the writer of a FIFO, and reads a huge file to its
 * end. Such trees are refused here, by descriptors and without a process; nothing in the tree may
 * be running any more. Costs one listing of each folder. Any thread.
 */
#pragma once

#include "git/run.h"

/**
 * Look through a working tree.
 * @param folder_fd   of its top
 * @param max_folders more are refused; LIMIT_GIT_FOLDERS but in tests
 * @return RONDO_ERR_DENIED with the path when git must not be run there; RONDO_ERR_LIMIT for too
 *         many folders
 */
int git_tree_inspect(const struct git_repository *repository, int folder_fd, size_t max_folders,
                     struct rondo_error *err);

/**
 * Whether there are files in the folder of a submodule which are in no commit of anything: it is
 * not empty, and its `.git` does not lead into the repository's own git folder, as that of a
 * submodule does which `git submodule update` has filled.
 * @param path of the submodule, relative to the top
 */
bool git_submodule_is_strange(const struct git_repository *repository, int folder_fd,
                              const char *path);
