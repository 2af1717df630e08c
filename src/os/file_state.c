// SPDX-License-Identifier: Apache-2.0
/* States of files through statx(2). */
#include "os/file_state.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int64_t time_ns(const struct statx_timestamp *time)
{
    return (int64_t)time->tv_sec * NS_PER_S + (int64_t)time->tv_nsec;
}

static int read_status(const char *path, int flags, struct statx *ret_status)
{
    return statx(AT_FDCWD, path, flags, STATX_BASIC_STATS | STATX_BTIME, ret_status) < 0 ? errno
                                                                                         : 0;
}

int file_state_look(const char *path, struct file_state *ret_state, bool *ret_is_missing)
{
    struct statx status;
    int failure = read_status(path, AT_SYMLINK_NOFOLLOW, &status);
    *ret_is_missing = failure == ENOENT || failure == ENOTDIR;
    if (failure == 0 && S_ISLNK(status.stx_mode)) {
        failure = read_status(path, 0, &status);
    }
    if (failure != 0) {
        return failure;
    }
    *ret_state = (struct file_state){
        .device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor,
        .inode = status.stx_ino,
        .size = status.stx_size,
        .modified_ns = time_ns(&status.stx_mtime),
        .changed_ns = time_ns(&status.stx_ctime),
        .born_ns = (status.stx_mask & STATX_BTIME) != 0 ? time_ns(&status.stx_btime) : 0,
        .mode = status.stx_mode,
        .owner = status.stx_uid,
    };
    return 0;
}

bool file_state_is_same_file(const struct file_state *a, const struct file_state *b)
{
    return a->device == b->device && a->inode == b->inode && a->born_ns == b->born_ns;
}

bool file_state_is_untouched(const struct file_state *a, const struct file_state *b)
{
    return file_state_is_same_file(a, b) && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}
