// SPDX-License-Identifier: Apache-2.0
/* Detects whether a file is still the one that was looked at before, in one system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct file_state {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t modified_ns;
    int64_t changed_ns;
    int64_t born_ns; /**< when the inode was made; 0 = the file system does not say */
    uint32_t mode;
    uint32_t owner; /**< user id */
};

/**
 * Look at a file, following symbolic links.
 * @param ret_is_missing whether there is nothing of that name; false for a link that leads nowhere
 * @return 0, or the errno of what is in the way. Any thread.
 */
int file_state_look(const char *path, struct file_state *ret_state, bool *ret_is_missing);

/**
 * Whether both are one file, whatever is in it. An inode is given again to a new file soon after
 * the old one is gone; the time of its birth tells them apart.
 */
bool file_state_is_same_file(const struct file_state *a, const struct file_state *b);

/** Whether nobody has written to it, or changed its name or mode, in between. */
bool file_state_is_untouched(const struct file_state *a, const struct file_state *b);
