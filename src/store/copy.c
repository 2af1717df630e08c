// SPDX-License-Identifier: Apache-2.0
/*
 * Making and removing copies. What is copied may be hostile: it is opened as a file of others.
 *
 * all opens: private copies in the state folder; what is copied is opened without links and
 * examined.
 */
#include "store/copy.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/state_folder.h"
#include "store/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES_FOLDER "copies"
#define CHUNK_BYTES   65536

static int lock_folder(const char *path, int how)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, how) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/** Remove what killed processes have left. The folder of copies is locked. */
static void sweep(const char *copies)
{
    DIR *list = opendir(copies);
    for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", copies, entry->d_name);
        auto_close int fd =
            entry->d_name[0] == '.' ? -1 : lock_folder(buf_string(&path), LOCK_EX | LOCK_NB);
        if (fd >= 0) {
            file_remove_tree(buf_string(&path), NULL);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
}

/** Make and lock a new folder. @param ret_path owned */
static int make_folder(char **ret_path, int *ret_lock, struct rondo_error *err)
{
    auto_free char *copies = NULL;
    int r = state_sub_folder(COPIES_FOLDER, &copies, err);
    if (r < 0) {
        return r;
    }
    auto_close int all = lock_folder(copies, LOCK_EX);
    if (all < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot lock %s", copies);
    }
    sweep(copies);
    struct buf path = {0};
    buf_printf(&path, "%s/XXXXXX", copies);
    auto_free char *folder = buf_steal(&path);
    int lock = mkdtemp(folder) == NULL ? -1 : lock_folder(folder, LOCK_EX);
    if (lock < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make a folder in %s", copies);
    }
    *ret_path = steal_pointer(&folder);
    *ret_lock = lock;
    return 0;
}

/** @param len bytes that the file had when it was opened; what is added meanwhile is left out */
static int copy_bytes(int from, int to, const char *path, int64_t len, struct rondo_error *err)
{
    auto_free char *chunk = memory_new(CHUNK_BYTES);
    while (len > 0) {
        ssize_t got = read(from, chunk, len < CHUNK_BYTES ? (size_t)len : CHUNK_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got == 0) {
            return 0;
        }
        if (got < 0 || file_write_all(to, chunk, (size_t)got) != 0) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot copy %s", path);
        }
        len -= got;
    }
    return 0;
}

static int copy_file(const char *from, const char *to, int64_t *left, struct rondo_error *err)
{
    auto_close int source = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (source < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the store %s", from);
    }
    struct stat status;
    if (fstat(source, &status) != 0 || !S_ISREG(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a regular file", from);
    }
    if (status.st_size > *left) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "%s is larger than %lld bytes, too large to be read before it is "
                         "confirmed with `rondo trust`",
                         from, (long long)LIMIT_STORE_COPY_BYTES);
    }
    *left -= status.st_size;
    auto_close int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (target < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make %s", to);
    }
    return copy_bytes(source, target, from, status.st_size, err);
}

static int copy_store(const char *path, const char *copy, struct rondo_error *err)
{
    auto_buf struct buf log = {0};
    auto_buf struct buf log_copy = {0};
    buf_printf(&log, "%s-wal", path);
    buf_printf(&log_copy, "%s-wal", copy);
    int64_t left = LIMIT_STORE_COPY_BYTES;
    int r = copy_file(path, copy, &left, err);
    return r < 0 || !file_exists(buf_string(&log))
               ? r
               : copy_file(buf_string(&log), buf_string(&log_copy), &left, err);
}

int store_copy_make(const char *path, char **ret_path, int *ret_lock, struct rondo_error *err)
{
    auto_free char *folder = NULL;
    int lock = -1;
    int r = make_folder(&folder, &lock, err);
    if (r < 0) {
        return r;
    }
    struct buf name = {0};
    buf_printf(&name, "%s/" STORE_FILE_NAME, folder);
    auto_free char *copy = buf_steal(&name);
    r = copy_store(path, copy, err);
    if (r < 0) {
        store_copy_remove(copy, lock);
        return r;
    }
    *ret_path = steal_pointer(&copy);
    *ret_lock = lock;
    return 0;
}

void store_copy_remove(const char *path, int lock)
{
    auto_free char *folder = memory_dup_bytes(path, (size_t)(strrchr(path, '/') - path));
    file_remove_tree(folder, NULL);
    close(lock);
}
