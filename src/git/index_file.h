// SPDX-License-Identifier: Apache-2.0
/*
 * Reading an index of git (gitformat-index(5)), as far as `git/reuse` needs it: version 2 without
 * flags that change what is in the working tree. It is our own file; a damaged one is refused.
 * Pure, but for the reading.
 */
#pragma once

#include "base/buf.h"
#include "git/run.h"

#include <stddef.h>
#include <stdint.h>

/** Mode of a submodule. */
#define GIT_INDEX_MODULE 0160000U

struct git_index_entry {
    const char *path; /**< in the index's bytes */
    const unsigned char *id;
    int64_t changed_ns;
    int64_t modified_ns;
    uint32_t device; /**< lower 32 bits, as the next one and the size */
    uint32_t inode;
    uint32_t mode; /**< 0100644, 0100755, 0120000, 0160000 */
    uint32_t user;
    uint32_t group;
    uint32_t size;
};

struct git_index {
    struct buf bytes;
    struct git_index_entry *entries; /**< sorted by the bytes of their paths */
    size_t count;
    size_t id_bytes;
};

/** @param ret_index git_index_fini() @return RONDO_ERR_STATE for one that is not understood */
int git_index_read(const struct git_repository *repository, const char *path,
                   struct git_index *ret_index, struct rondo_error *err);
void git_index_fini(struct git_index *index);

/** The entry of a path; or NULL. */
const struct git_index_entry *git_index_find(const struct git_index *index, const char *path);

/** Whether there are entries below a folder. @param path without a slash at its end */
bool git_index_has_folder(const struct git_index *index, const char *path);
