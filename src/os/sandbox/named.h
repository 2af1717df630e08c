// SPDX-License-Identifier: Apache-2.0
/*
 * Opening the paths that a policy names. An earlier command may have put a link anywhere below a
 * folder that it could write, so from such a folder on a path is walked descriptor by descriptor
 * and no link in it is followed. What is found is held open: a tier checks that what it mounts or
 * allows in the end is the same file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/** A folder that commands can write. */
struct named_root {
    char *named; /**< its path as the policy has it, owned */
    char *path;  /**< canonical, owned */
    int fd;      /**< owned */
};

struct named_roots {
    struct named_root *items; /**< owned */
    size_t count;
};

/** One folder on the way to a named path, below a writable one. */
struct named_parent {
    char *path;
    int fd;
};

/** What a path leads to. */
struct named_path {
    char *path; /**< canonical, owned; NULL = it does not exist */
    int fd;     /**< O_PATH, owned; -1 = it does not exist */
    bool is_folder;
    struct named_parent *parents; /**< owned; outermost first */
    size_t parent_count;
};

/**
 * Open a path of a policy. One that does not exist gives fd -1; its existing parents are reported.
 * @param ret_named  owned; named_path_fini()
 * @param ret_reason why it is refused
 * @return whether it may be used. Any thread
 */
bool named_path_open(const struct named_roots *roots, const char *path,
                     struct named_path *ret_named, char ret_reason[256]);
void named_path_fini(struct named_path *named);

/**
 * The same for an absolute path that had no links in it when it was recorded: none is followed,
 * wherever it is. Commands of another run may have put one there.
 */
bool named_path_open_canonical(const struct named_roots *roots, const char *path,
                               struct named_path *ret_named, char ret_reason[256]);

/**
 * The canonical path of something that a policy is going to name, as named_path_open finds it from
 * a workspace on. An earlier run may have put a link below the workspace; it is refused.
 * @param path       from the working folder on if it is relative
 * @param ret_path   owned
 * @param ret_reason why it cannot be used, also when it does not exist
 */
bool named_path_resolve(const char *workspace, const char *path, char **ret_path,
                        char ret_reason[256]);

/**
 * Whether no link on the way to a path is in a folder where Rondo was used: agents of that project
 * may have put it there, so that what a person names is not what they mean.
 * @param path       absolute, or from the working folder on
 * @param ret_reason names the link and where it leads
 */
bool named_path_is_straight(const char *path, char ret_reason[256]);

/** Add a writable folder, whose content is not trusted from now on. */
void named_roots_add(struct named_roots *roots, const char *named, const struct named_path *folder);
void named_roots_fini(struct named_roots *roots);

/** Whether two descriptors are of the same file. */
bool named_is_same(int left_fd, int right_fd);
