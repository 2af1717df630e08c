// SPDX-License-Identifier: Apache-2.0
/* all opens: the index is ours, in a folder that no agent can write. */
#include "git/index_file.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES ((size_t)12)
/* Times, places, mode, owner, size; then the id, the flags and the path. */
#define STAT_BYTES ((size_t)40)
/* The name's length is in the lower 12 bits; stage, extended and assume-valid above them. */
#define FLAGS_LENGTH 0x0fffU

static uint32_t read_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_time(const unsigned char *at)
{
    return (int64_t)read_number(at) * 1000000000 + read_number(at + 4);
}

/** @return bytes that the entry takes; 0 = it is not understood */
static size_t read_entry(const unsigned char *at, size_t len, size_t id_bytes,
                         struct git_index_entry *ret_entry)
{
    size_t fixed = STAT_BYTES + id_bytes + 2;
    if (len <= fixed) {
        return 0;
    }
    unsigned flags = (unsigned)at[fixed - 2] << 8 | at[fixed - 1];
    const char *path = (const char *)at + fixed;
    size_t path_len = strnlen(path, len - fixed);
    size_t whole = (fixed + path_len + 8) / 8 * 8; /* one to eight NULs follow the path */
    if ((flags & ~FLAGS_LENGTH) != 0 || path_len == 0 || whole > len) {
        return 0;
    }
    *ret_entry = (struct git_index_entry){
        .path = path,
        .id = at + STAT_BYTES,
        .changed_ns = read_time(at),
        .modified_ns = read_time(at + 8),
        .device = read_number(at + 16),
        .inode = read_number(at + 20),
        .mode = read_number(at + 24),
        .user = read_number(at + 28),
        .group = read_number(at + 32),
        .size = read_number(at + 36),
    };
    return whole;
}

static bool read_entries(struct git_index *index, size_t count)
{
    const unsigned char *at = (const unsigned char *)index->bytes.data + HEAD_BYTES;
    size_t left = index->bytes.len - HEAD_BYTES - index->id_bytes; /* a digest is at the end */
    index->entries = memory_new_zero(count + 1, sizeof(*index->entries));
    for (; index->count < count; index->count++) {
        struct git_index_entry *entry = &index->entries[index->count];
        size_t n = read_entry(at, left, index->id_bytes, entry);
        if (n == 0 || (index->count > 0 && strcmp(entry[-1].path, entry->path) >= 0)) {
            return false;
        }
        at += n;
        left -= n;
    }
    /* Extensions: an upper-case letter begins those that may be left out of account. */
    while (left >= 8 && at[0] >= 'A' && at[0] <= 'Z') {
        size_t n = 8 + (size_t)read_number(at + 4);
        if (n > left) {
            return false;
        }
        at += n;
        left -= n;
    }
    return left == 0;
}

int git_index_read(const struct git_repository *repository, const char *path,
                   struct git_index *ret_index, struct rondo_error *err)
{
    struct git_index index = {.id_bytes = repository->id_len / 2};
    int r = file_read(path, LIMIT_GIT_LIST_BYTES, &index.bytes, err);
    if (r != 0) {
        buf_fini(&index.bytes);
        return r;
    }
    const unsigned char *head = (const unsigned char *)index.bytes.data;
    size_t least = HEAD_BYTES + index.id_bytes;
    size_t count = index.bytes.len < least ? 0 : read_number(head + 8);
    if (index.bytes.len < least || memcmp(head, "DIRC\0\0\0\2", 8) != 0 ||
        count > index.bytes.len / STAT_BYTES || !read_entries(&index, count)) {
        git_index_fini(&index);
        return error_set(err, RONDO_ERR_STATE, "the index %s has an unknown form", path);
    }
    *ret_index = index;
    return 0;
}

void git_index_fini(struct git_index *index)
{
    free(index->entries);
    buf_fini(&index->bytes);
    *index = (struct git_index){0};
}

/** The first entry whose path is not less. @return its place; `count` = none */
static size_t find_place(const struct git_index *index, const char *path)
{
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->entries[middle].path, path) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct git_index_entry *git_index_find(const struct git_index *index, const char *path)
{
    size_t place = find_place(index, path);
    return place < index->count && strcmp(index->entries[place].path, path) == 0
               ? &index->entries[place]
               : NULL;
}

bool git_index_has_folder(const struct git_index *index, const char *path)
{
    auto_buf struct buf prefix = {0};
    buf_printf(&prefix, "%s/", path);
    size_t place = find_place(index, buf_string(&prefix));
    return place < index->count &&
           strncmp(index->entries[place].path, buf_string(&prefix), prefix.len) == 0;
}
