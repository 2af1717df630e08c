// SPDX-License-Identifier: Apache-2.0
/*
 * SQLite's result codes as Rondo's, with messages that name the file and say what to do.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "base/error.h"
#include "base/buf.h"
#include "store/sqlite/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* SQLite writes a page, or extends the shared memory file by a block, at once. */
#define LARGEST_WRITE_BYTES 65536

static bool is_failed_fsync(int sqlite_code)
{
    return sqlite_code == SQLITE_IOERR_FSYNC || sqlite_code == SQLITE_IOERR_DIR_FSYNC;
}

static bool is_out_of_space(int sqlite_code, int os_errno)
{
    /* SQLite gives SQLITE_FULL only for a write; for the shared memory file, or when a quota is
     * used up, it gives an I/O error. */
    bool is_io = (sqlite_code & 0xff) == SQLITE_IOERR || (sqlite_code & 0xff) == SQLITE_CANTOPEN;
    return (sqlite_code & 0xff) == SQLITE_FULL ||
           (is_io && (os_errno == ENOSPC || os_errno == EDQUOT));
}

/**
 * Whether the limit of file sizes stopped a write. SQLite often has another errno by the time that
 * it is asked, so the files are looked at too.
 */
static bool is_at_size_limit(const char *path, int sqlite_code, int os_errno)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    struct rlimit limit;
    bool is_at_limit = os_errno == EFBIG;
    if ((sqlite_code & 0xff) != SQLITE_IOERR || getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        return false;
    }
    for (size_t i = 0; !is_at_limit && i < sizeof(endings) / sizeof(endings[0]); i++) {
        struct stat status;
        auto_buf struct buf name = {0};
        buf_printf(&name, "%s%s", path, endings[i]);
        is_at_limit = stat(buf_string(&name), &status) == 0 &&
                      (rlim_t)status.st_size + LARGEST_WRITE_BYTES > limit.rlim_cur;
    }
    return is_at_limit;
}

static int set_fsync_error(const char *path, const char *doing, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_IO,
                     "cannot %s: an fsync of %s failed, so its last writes may be lost; nothing "
                     "more is written by this process: check the disk, then resume",
                     doing, path);
}

/** `detail` is SQLite's own text for the code. */
static int set_error(const char *path, int sqlite_code, const char *detail, const char *doing,
                     struct rondo_error *err)
{
    switch (sqlite_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return error_set(err, RONDO_ERR_BUSY,
                         "cannot %s: another process kept %s locked for too long; try again", doing,
                         path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return error_set(err, RONDO_ERR_CORRUPT,
                         "cannot %s: %s is damaged or not a Rondo store (%s); keep a copy and "
                         "restore a backup",
                         doing, path, detail);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return error_set(err, RONDO_ERR_IO,
                         "cannot %s: %s cannot be opened for writing (%s); check its owner, its "
                         "mode and that of its folder, and whether the disk is mounted read-only",
                         doing, path, detail);
    case SQLITE_CONSTRAINT:
        return error_set(err, RONDO_ERR_STATE, "cannot %s: it is in %s already", doing, path);
    case SQLITE_TOOBIG:
        return error_set(err, RONDO_ERR_LIMIT, "cannot %s: too large for %s", doing, path);
    default:
        return error_set(err, RONDO_ERR_IO, "cannot %s: %s: %s (SQLite code %d)", doing, path,
                         detail, sqlite_code);
    }
}

int sqlite_fail_code(struct sqlite_connection *connection, int sqlite_code, const char *doing,
                     struct rondo_error *err)
{
    const char *path = connection->store->path;
    int os_errno = connection->db != NULL ? sqlite3_system_errno(connection->db) : 0;
    connection->is_suspect = true;
    if (is_failed_fsync(sqlite_code)) {
        atomic_store(&connection->store->is_poisoned, true);
        return set_fsync_error(path, doing, err);
    }
    if (is_at_size_limit(path, sqlite_code, os_errno)) {
        return error_set(err, RONDO_ERR_FULL,
                         "cannot %s: %s would be larger than the limit of file sizes allows; raise "
                         "it (ulimit -f) and try again",
                         doing, path);
    }
    if (is_out_of_space(sqlite_code, os_errno)) {
        return error_set(err, RONDO_ERR_FULL,
                         "cannot %s: no space is left for %s; free some space and try again", doing,
                         path);
    }
    int r = set_error(path, sqlite_code, sqlite3_errstr(sqlite_code), doing, err);
    if (err != NULL && r == RONDO_ERR_IO) {
        err->os_errno = os_errno;
    }
    return r;
}

int sqlite_fail(struct sqlite_connection *connection, const char *doing, struct rondo_error *err)
{
    return sqlite_fail_code(connection, sqlite3_extended_errcode(connection->db), doing, err);
}

int sqlite_refuse_poisoned(const struct sqlite_store *store, struct rondo_error *err)
{
    return set_fsync_error(store->path, "write", err);
}

/** @return the inode; 0 = nothing is there; 1 = it cannot be known */
static unsigned long long find_inode(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : 1;
    }
    return status.st_ino;
}

void sqlite_note_file(struct sqlite_store *store)
{
    unsigned long long inode = find_inode(store->path);
    atomic_store(&store->file_inode, inode > 1 ? inode : 0);
}

static bool is_file_there(struct sqlite_store *store)
{
    unsigned long long known = atomic_load(&store->file_inode);
    unsigned long long found = find_inode(store->path);
    return known == 0 || found == known || found == 1;
}

/** The last connection to close removes the log, and forgets it before. */
static bool is_log_there(struct sqlite_store *store)
{
    unsigned long long known = atomic_load(&store->log_inode);
    unsigned long long found = find_inode(store->log_path);
    if (known == 0 && found > 1 && atomic_load(&store->open_count) > 0) {
        atomic_compare_exchange_strong(&store->log_inode, &known, found);
    }
    return known == 0 || found == known || found == 1 || atomic_load(&store->log_inode) != known;
}

int sqlite_check_files(struct sqlite_store *store, struct rondo_error *err)
{
    if (!atomic_load(&store->is_gone) && is_file_there(store) && is_log_there(store)) {
        return 0;
    }
    atomic_store(&store->is_gone, true);
    return error_set(err, RONDO_ERR_CORRUPT,
                     "the store %s was deleted or replaced while it was in use; nothing more can "
                     "be recorded in it. Restore it from a backup, or start again",
                     store->path);
}
