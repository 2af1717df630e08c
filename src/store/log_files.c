// SPDX-License-Identifier: Apache-2.0
/*
 * Records of log files: one file for each store in STATE/logs, with a line for each log file: its
 * ending, inode and time of birth. The folder is locked while a record is read and written.
 *
 * all opens: files beside a store of the user, made new or only examined; records in the state
 * folder.
 */
#include "store/log_files.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "os/file.h"
#include "os/state_folder.h"
#include "os/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_FOLDER "logs"

enum log_file { LOG_WAL, LOG_INDEX, LOG_JOURNAL, LOG_COUNT };

static const char *const endings[LOG_COUNT] = {
    [LOG_WAL] = "-wal",
    [LOG_INDEX] = "-shm",
    [LOG_JOURNAL] = "-journal",
};

struct log_record {
    char *path; /* owned */
    struct buf text;
    int lock;
};

static void record_fini(struct log_record *record)
{
    free(record->path);
    buf_fini(&record->text);
    close(record->lock);
}

/** Lock the records and read that of a store; `text` is empty when there is none. */
static int record_open(const char *store_path, struct log_record *ret_record,
                       struct rondo_error *err)
{
    auto_free char *folder = NULL;
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct buf path = {0};
    auto_free char *real = NULL;
    int r = trust_path(store_path, &real, err);
    r = r < 0 ? r : state_sub_folder(LOG_FOLDER, &folder, err);
    if (r < 0) {
        return r;
    }
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot lock %s", folder);
        if (lock >= 0) {
            close(lock);
        }
        return r;
    }
    struct digest digest = digest_begin();
    digest_add(&digest, real, strlen(real));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_printf(&path, "%s/%.32s", folder, hex);
    *ret_record = (struct log_record){.path = buf_steal(&path), .lock = lock};
    if (!file_exists(ret_record->path)) {
        return 0;
    }
    r = file_read(ret_record->path, LIMIT_TRUST_RECORD_BYTES, &ret_record->text, err);
    if (r < 0) {
        record_fini(ret_record);
    }
    return r;
}

static void append_path(struct buf *buf, const char *store_path, enum log_file which)
{
    buf_printf(buf, "%s%s", store_path, endings[which]);
}

enum log_state { LOG_ABSENT, LOG_KNOWN, LOG_EMPTY, LOG_UNKNOWN };

/** Append the line of a file, if it is there, and report what is known of it. */
static int examine(const char *store_path, enum log_file which, const struct log_record *record,
                   struct buf *ret_line, enum log_state *ret_state, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    struct statx status;
    append_path(&path, store_path, which);
    if (statx(AT_FDCWD, buf_string(&path), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
              &status) != 0) {
        *ret_state = LOG_ABSENT;
        return errno == ENOENT ? 0
                               : error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s",
                                                 buf_string(&path));
    }
    bool is_plain = S_ISREG(status.stx_mode) && status.stx_nlink == 1;
    buf_printf(ret_line, "%s %s %" PRIu64 " %" PRId64 ".%09" PRIu32 "\n", endings[which],
               is_plain ? "file" : "other", (uint64_t)status.stx_ino,
               (int64_t)status.stx_btime.tv_sec, status.stx_btime.tv_nsec);
    const char *found = is_plain ? strstr(buf_string(&record->text), buf_string(ret_line)) : NULL;
    if (found != NULL) {
        *ret_state = LOG_KNOWN;
    } else {
        *ret_state = is_plain && status.stx_size == 0 ? LOG_EMPTY : LOG_UNKNOWN;
    }
    return 0;
}

static int refuse(const char *store_path, enum log_file which, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_DENIED,
                     "%s%s is not Rondo's, and would change the store; find out what created it. "
                     "Remove it unless a program has the store open, or confirm the store as it "
                     "is: rondo trust '%s'",
                     store_path, endings[which], store_path);
}

/**
 * Make a file anew. An empty one may be what a killed Rondo made and did not record. Nobody uses
 * it: while a store is open its index is not empty.
 */
static int make(const char *store_path, enum log_file which, enum log_state state,
                struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    append_path(&path, store_path, which);
    if (state == LOG_EMPTY) {
        (void)unlink(buf_string(&path));
    }
    int fd = open(buf_string(&path), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno == EEXIST ? refuse(store_path, which, err)
                               : error_set_errno(err, RONDO_ERR_IO, errno, "cannot create %s",
                                                 buf_string(&path));
    }
    close(fd);
    return 0;
}

/** Write a record if it says something else now. */
static int record_write(const struct log_record *record, const struct buf *text,
                        struct rondo_error *err)
{
    bool is_same = text->len == record->text.len &&
                   (text->len == 0 || memcmp(text->data, record->text.data, text->len) == 0);
    /* A power cut meanwhile may leave it empty; then the files are refused, or made anew if they
     * are empty, too. */
    return is_same ? 0 : file_replace_record(record->path, text->data, text->len, err);
}

/** Make those of the first `count` files that are missing, and record all that are known then. */
static int make_and_record(const char *path, int count, const struct log_record *record,
                           const enum log_state *states, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    int r = 0;
    for (int i = 0; r == 0 && i < LOG_COUNT; i++) {
        auto_buf struct buf line = {0};
        enum log_state state;
        bool is_made = i < count && states[i] != LOG_KNOWN;
        r = is_made ? make(path, (enum log_file)i, states[i], err) : 0;
        r = r < 0 ? r : examine(path, (enum log_file)i, record, &line, &state, err);
        if (r == 0 && (is_made || state == LOG_KNOWN)) {
            buf_append(&text, line.data, line.len);
        }
    }
    return r < 0 ? r : record_write(record, &text, err);
}

static int hold(const char *path, int count, struct rondo_error *err)
{
    struct log_record record;
    enum log_state states[LOG_COUNT];
    int r = record_open(path, &record, err);
    if (r < 0) {
        return r;
    }
    for (int i = 0; r == 0 && i < count; i++) {
        auto_buf struct buf line = {0};
        r = examine(path, (enum log_file)i, &record, &line, &states[i], err);
        if (r == 0 && states[i] == LOG_UNKNOWN) {
            r = refuse(path, (enum log_file)i, err);
        }
    }
    r = r < 0 ? r : make_and_record(path, count, &record, states, err);
    record_fini(&record);
    return r;
}

int store_log_files_hold(const char *path, struct rondo_error *err)
{
    return hold(path, LOG_JOURNAL, err);
}

int store_log_files_hold_all(const char *path, struct rondo_error *err)
{
    return hold(path, LOG_COUNT, err);
}

int store_log_files_accept(const char *path, struct rondo_error *err)
{
    struct log_record record;
    auto_buf struct buf text = {0};
    int r = record_open(path, &record, err);
    if (r < 0) {
        return r;
    }
    for (int i = 0; r == 0 && i < LOG_COUNT; i++) {
        enum log_state state;
        r = examine(path, (enum log_file)i, &record, &text, &state, err);
    }
    r = r < 0 ? r : record_write(&record, &text, err);
    record_fini(&record);
    return r;
}

bool store_log_files_are_own(const char *path)
{
    struct log_record record;
    bool are_own = true;
    if (record_open(path, &record, NULL) < 0) {
        return false;
    }
    for (int i = 0; are_own && i < LOG_COUNT; i++) {
        auto_buf struct buf line = {0};
        enum log_state state = LOG_UNKNOWN;
        are_own = examine(path, (enum log_file)i, &record, &line, &state, NULL) == 0 &&
                  state != LOG_UNKNOWN;
    }
    record_fini(&record);
    return are_own;
}
