// SPDX-License-Identifier: Apache-2.0
/*
 * Archives. The mark with the key is written into a new archive before anything is moved, so an
 * archive without a mark and without files is one whose making was cut off.
 *
 * all opens: single names in folders that are held open and were reached without links.
 */
#include "prd/archive.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARCHIVE_FOLDER "archive"
#define MARK_FILE      ".rondo"
#define MARK_BYTES     1024

void prd_archive_name(const char *name, char ret_name[static PRD_ARCHIVE_NAME_SIZE])
{
    size_t len = 0;
    name += strncmp(name, "ralph/", 6) == 0 ? 6 : 0;
    for (; *name != '\0' && len + 1 < PRD_ARCHIVE_NAME_SIZE; name++) {
        bool is_plain = ascii_is_letter_or_digit(*name) || *name == '_' ||
                        (len > 0 && *name == '.' && ret_name[len - 1] != '.');
        if (is_plain) {
            ret_name[len++] = *name;
        } else if (len > 0 && ret_name[len - 1] != '-') {
            ret_name[len++] = '-';
        }
    }
    while (len > 0 && (ret_name[len - 1] == '-' || ret_name[len - 1] == '.')) {
        len--;
    }
    ret_name[len] = '\0';
    if (len == 0) {
        snprintf(ret_name, PRD_ARCHIVE_NAME_SIZE, "prd");
    }
}

static bool is_empty(int folder_fd)
{
    int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    size_t count = 0;
    if (list == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return false;
    }
    while (readdir(list) != NULL) {
        count++;
    }
    closedir(list);
    return count <= 2;
}

/** Mark a new archive as that of a key, durably. */
static int write_mark(int fd, const char *key, struct rondo_error *err)
{
    auto_buf struct buf line = {0};
    buf_printf(&line, "%s\n", key);
    auto_close int mark = file_open_beneath(fd, MARK_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (mark < 0 || file_write_all(mark, buf_string(&line), line.len) != 0 || fsync(mark) != 0 ||
        fsync(fd) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot mark an archive");
    }
    return 0;
}

/** @return 1 the folder is the archive of this key now; 0 it is another one's; or negative */
static int claim(int fd, const char *key, struct rondo_error *err)
{
    auto_buf struct buf mark = {0};
    struct rondo_error ignored = {0};
    int r = file_read_untrusted(fd, MARK_FILE, MARK_BYTES + 1, &mark, &ignored);
    if (r == 0 && mark.len > 0 && mark.data[mark.len - 1] == '\n') {
        return mark.len == strlen(key) + 1 && memcmp(mark.data, key, mark.len - 1) == 0;
    }
    if (r == 0) {
        unlinkat(fd, MARK_FILE, 0); /* a crash before it was written to its end */
    }
    if ((r < 0 && r != RONDO_ERR_NOT_FOUND) || !is_empty(fd)) {
        return 0;
    }
    r = write_mark(fd, key, err);
    return r < 0 ? r : 1;
}

/** Find or make the archive. @return descriptor, or negative */
static int open_archive(int archives, const char *base, const char *key, struct buf *ret_name,
                        struct rondo_error *err)
{
    for (int i = 1; i <= LIMIT_PRD_ARCHIVES; i++) {
        buf_clear(ret_name);
        buf_append_string(ret_name, base);
        if (i > 1) {
            buf_printf(ret_name, "-%d", i);
        }
        struct stat status;
        bool is_taken =
            fstatat(archives, buf_string(ret_name), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            !S_ISDIR(status.st_mode);
        if (is_taken) {
            continue;
        }
        auto_close int fd = file_folder_make(archives, buf_string(ret_name), err);
        int r = fd < 0 ? fd : claim(fd, key, err);
        if (r < 0) {
            return r;
        }
        if (r == 1) {
            return steal_fd(&fd);
        }
    }
    return error_set(err, RONDO_ERR_LIMIT, "there are %d archives %s already", LIMIT_PRD_ARCHIVES,
                     base);
}

static int move(int from, int to, const char *name, struct rondo_error *err)
{
    struct stat status;
    if (fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT
                   ? 0
                   : error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s", name);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a regular file; it is not archived",
                         name);
    }
    if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0 || errno == EEXIST) {
        return 0;
    }
    if (errno == EINVAL && fstatat(to, name, &status, AT_SYMLINK_NOFOLLOW) != 0 &&
        renameat(from, name, to, name) == 0) {
        return 0; /* a file system that knows no flags */
    }
    return error_set_errno(err, RONDO_ERR_IO, errno, "cannot archive %s", name);
}

static int move_all(int from, int to, const char *const *files, struct rondo_error *err)
{
    int r = 0;
    for (; r == 0 && *files != NULL; files++) {
        r = move(from, to, *files, err);
    }
    if (r == 0 && (fsync(to) != 0 || fsync(from) != 0)) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot sync an archive");
    }
    return r;
}

int prd_archive(const char *const *agent_folders, const char *folder, const char *const *files,
                const char *name, int64_t time_ns, const char *key, char **ret_path,
                struct rondo_error *err)
{
    char time[CLOCK_UTC_SIZE];
    char plain[PRD_ARCHIVE_NAME_SIZE];
    auto_buf struct buf base = {0};
    auto_buf struct buf found = {0};
    struct buf path = {0};
    if (*key == '\0' || strlen(key) > MARK_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "an archive needs a key of up to %d bytes",
                         MARK_BYTES);
    }
    prd_archive_name(name, plain);
    clock_format_utc(time_ns, time);
    buf_printf(&base, "%.10s-%s", time, plain);
    auto_close int from = file_open_folder_named(agent_folders, folder, err);
    auto_close int archives = from < 0 ? from : file_folder_make(from, ARCHIVE_FOLDER, err);
    auto_close int to =
        archives < 0 ? archives : open_archive(archives, buf_string(&base), key, &found, err);
    int r = to < 0 ? to : move_all(from, to, files, err);
    if (r < 0) {
        return r;
    }
    buf_printf(&path, "%s/%s", ARCHIVE_FOLDER, buf_string(&found));
    *ret_path = buf_steal(&path);
    return 0;
}
