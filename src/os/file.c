// SPDX-License-Identifier: Apache-2.0
/*
 * Whole files. Never reads what could block.
 * No state; any thread.
 */
#include "os/file.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_CHUNK_BYTES 65536

int file_read_all(int fd, const char *path, size_t limit, struct buf *ret_buf,
                  struct rondo_error *err)
{
    auto_buf struct buf content = {0};
    auto_free char *chunk = memory_new(READ_CHUNK_BYTES);
    for (;;) {
        ssize_t got = read(fd, chunk, READ_CHUNK_BYTES);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot read %s", path);
        }
        if ((size_t)got > limit - content.len) {
            return error_set(err, RONDO_ERR_LIMIT, "%s is larger than %zu bytes", path, limit);
        }
        buf_append(&content, chunk, (size_t)got);
    }
    buf_append(ret_buf, buf_string(&content), content.len);
    return 0;
}

int file_read(const char *path, size_t limit, struct buf *ret_buf, struct rondo_error *err)
{
    /* O_NONBLOCK keeps open() from waiting for the other end of a FIFO. */
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", path);
    }
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a regular file", path);
    }
    return file_read_all(fd, path, limit, ret_buf, err);
}

int file_write_all(int fd, const void *bytes, size_t len)
{
    const char *rest = bytes;
    while (len > 0) {
        ssize_t written = write(fd, rest, len);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return -1;
        }
        rest += written;
        len -= (size_t)written;
    }
    return 0;
}

/** @param is_synced_first its name never leads to less than the whole; else one sync for both */
static int replace(const char *path, const void *bytes, size_t len, bool is_synced_first,
                   struct rondo_error *err)
{
    auto_buf struct buf temporary = {0};
    buf_printf(&temporary, "%s.XXXXXX", path);
    auto_close int fd = mkostemp(temporary.data, O_CLOEXEC);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot create a file next to %s", path);
    }
    if (file_write_all(fd, bytes, len) != 0 || (is_synced_first && fsync(fd) != 0) ||
        rename(temporary.data, path) != 0) {
        int saved_errno = errno;
        unlink(temporary.data);
        return error_set_errno(err, RONDO_ERR_IO, saved_errno, "cannot write %s", path);
    }
    if (!is_synced_first && fsync(fd) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno,
                               "%s is written, but a power cut may undo it: cannot sync it", path);
    }
    return 0;
}

/** The name of a new file is kept by its folder. */
static int sync_folder_of(const char *path, struct rondo_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    auto_free char *folder = len > 0         ? memory_dup_bytes(path, len)
                             : slash == NULL ? memory_dup_string(".")
                                             : memory_dup_string("/");
    auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno,
                               "%s is written, but a power cut may undo it: cannot sync %s", path,
                               folder);
    }
    return 0;
}

int file_replace_durably(const char *path, const void *bytes, size_t len, struct rondo_error *err)
{
    int r = replace(path, bytes, len, true, err);
    return r < 0 ? r : sync_folder_of(path, err);
}

int file_replace_record(const char *path, const void *bytes, size_t len, struct rondo_error *err)
{
    return replace(path, bytes, len, false, err);
}

static int make_one_folder(const char *path, struct rondo_error *err)
{
    struct stat status;
    if (mkdir(path, 0700) == 0) {
        return 0;
    }
    int saved_errno = errno;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            return 0;
        }
        return error_set(err, RONDO_ERR_INVALID, "%s is not a folder", path);
    }
    return error_set_errno(err, RONDO_ERR_IO, saved_errno, "cannot make the folder %s", path);
}

int file_make_folder(const char *path, struct rondo_error *err)
{
    auto_free char *partial = memory_dup_string(path);
    for (char *slash = strchr(partial + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = make_one_folder(partial, err);
        if (r != 0) {
            return r;
        }
        *slash = '/';
    }
    return make_one_folder(partial, err);
}

bool file_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}
