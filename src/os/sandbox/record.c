// SPDX-License-Identifier: Apache-2.0
/*
 * Records of sandboxed commands. Their folder is in the state folder, which no sandbox shows, so
 * what they say is believed.
 */
#include "os/sandbox/record.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "os/file.h"
#include "os/process/remains.h"
#include "os/sandbox/git.h"
#include "os/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_FOLDER "commands"
/** Limits below this one could be somebody's idea of a limit; numbers above are ours. */
#define LOWEST_NUMBER (UINT64_C(1) << 32)
/** How long processes may take to end, and the pause between two looks. */
#define KILL_WAIT_NS  (10 * NS_PER_S)
#define KILL_PAUSE_NS (5 * NS_PER_MS)

/** A number that this process can set as a limit: none above its own. */
static uint64_t choose_number(void)
{
    struct rlimit own;
    uint64_t bound = UINT64_C(1) << 62;
    if (getrlimit(RLIMIT_LOCKS, &own) == 0 && own.rlim_max > 2 * LOWEST_NUMBER &&
        own.rlim_max < bound) {
        bound = own.rlim_max;
    }
    return LOWEST_NUMBER + random_u64(random_system()) % (bound - LOWEST_NUMBER);
}

/** Lock a record. @return whether it is locked, and still a record */
static bool lock(int fd)
{
    struct stat status;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 && status.st_nlink > 0;
}

static bool fail(char ret_reason[256], const char *why)
{
    snprintf(ret_reason, 256, "cannot keep a record of the command: %.200s", why);
    return false;
}

bool sandbox_record_begin(struct sandbox_record *record, char ret_reason[256])
{
    auto_free char *folder = NULL;
    struct rondo_error error;
    if (state_sub_folder(RECORD_FOLDER, &folder, &error) < 0) {
        return fail(ret_reason, error.message);
    }
    /* A recovery may take the new file for one that nobody holds, until it is locked. */
    for (;;) {
        auto_buf struct buf path = {0};
        uint64_t number = choose_number();
        buf_printf(&path, "%s/%016" PRIx64, folder, number);
        int fd = open(buf_string(&path), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) {
            return fail(ret_reason, strerrordesc_np(errno));
        }
        if (fd >= 0 && lock(fd)) {
            *record = (struct sandbox_record){.fd = fd, .number = number, .path = buf_steal(&path)};
            return true;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
}

bool sandbox_record_write(const struct sandbox_record *record, const struct buf *bytes,
                          char ret_reason[256])
{
    /* Not synced: it has to outlive processes. A sync cost a tenth of a command's start. */
    return file_write_all(record->fd, bytes->data, bytes->len) == 0 ||
           fail(ret_reason, strerrordesc_np(errno));
}

void sandbox_record_end(struct sandbox_record *record)
{
    if (record->path != NULL) {
        (void)unlink(record->path);
        close(record->fd);
        free(record->path);
    }
    *record = (struct sandbox_record){.fd = -1};
}

/* --- processes --- */

void sandbox_record_mark(uint64_t number)
{
    const struct rlimit mark = {.rlim_cur = number, .rlim_max = number};
    (void)setrlimit(RLIMIT_LOCKS, &mark);
}

bool sandbox_record_kill(uint64_t number)
{
    int64_t deadline_ns = clock_monotonic(clock_system()) + KILL_WAIT_NS;
    while (remains_kill_marked(number) > 0) {
        if (clock_monotonic(clock_system()) >= deadline_ns) {
            return false;
        }
        clock_sleep(clock_system(), KILL_PAUSE_NS, NULL);
    }
    return true;
}

/* --- what others could not do --- */

/** @return whether nothing of the command is left */
static bool conclude(int fd, uint64_t number, struct buf *ret_notes)
{
    auto_buf struct buf bytes = {0};
    char reason[256];
    if (!sandbox_record_kill(number)) {
        return false;
    }
    struct git_watch *watch =
        file_read_all(fd, "record", SIZE_MAX, &bytes, NULL) == 0 ? git_watch_restore(&bytes) : NULL;
    if (watch != NULL && !git_watch_end(watch, ret_notes, reason)) {
        buf_printf(ret_notes, "rondo: %s\n", reason);
    }
    git_watch_free(watch);
    return true;
}

/** @return false when processes of the command cannot be killed */
static bool recover_one(int folder, const char *name, struct buf *ret_notes)
{
    char *end = NULL;
    uint64_t number = strtoull(name, &end, 16);
    if (number < LOWEST_NUMBER || *end != '\0') {
        return true;
    }
    auto_close int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || !lock(fd)) {
        return true;
    }
    if (!conclude(fd, number, ret_notes)) {
        return false;
    }
    (void)unlinkat(folder, name, 0);
    return true;
}

bool sandbox_record_recover(struct buf *ret_notes, char ret_reason[256])
{
    auto_free char *path = NULL;
    struct rondo_error error;
    if (state_sub_folder(RECORD_FOLDER, &path, &error) < 0) {
        return fail(ret_reason, error.message);
    }
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return fail(ret_reason, strerrordesc_np(errno));
    }
    bool is_done = true;
    struct dirent *entry;
    while (is_done && (entry = readdir(folder)) != NULL) {
        is_done = recover_one(dirfd(folder), entry->d_name, ret_notes);
    }
    closedir(folder);
    if (!is_done) {
        snprintf(ret_reason, 256,
                 "processes of a command whose supervisor was killed cannot be "
                 "killed; end them, and try again");
    }
    return is_done;
}
