// SPDX-License-Identifier: Apache-2.0
/*
 * Reading and changing the file of a PRD. The lock is a file in the state folder. While two names
 * are exchanged it holds the digests of both texts, so that after a crash the next change knows
 * whether the file beside the PRD is ours, the version before, or what a person has saved.
 *
 * all opens: names in a folder that is held open, where a link is replaced and never followed; and
 * a lock in the state folder, which agents cannot reach.
 */
#include "prd/file.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"
#include "os/state_folder.h"
#include "prd/document.h"
#include "prd/json.h"
#include "prd/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_FOLDER "prd"
/** How often a file may be saved by others while it is changed. */
#define UPDATE_TRIES 8
/** How often it may be saved while a save is put back. */
#define PUT_BACK_TRIES 100
#define DEFAULT_MODE   0644

/* ---- Names ---------------------------------------------------------------------------------- */

/** A file that is changed. */
struct place {
    const char *path; /* for messages */
    const char *name;
    int folder; /* descriptor */
    int lock;   /* descriptor; -1 = not locked */
    char *backup;
    char *fresh; /* the new file, until it has the name */
};

#define auto_place __attribute__((cleanup(place_fini)))

static void place_fini(struct place *place)
{
    if (place->folder >= 0) {
        close(place->folder);
    }
    if (place->lock >= 0) {
        close(place->lock);
    }
    free(place->backup);
    free(place->fresh);
}

static char *name_next_to(const char *name, const char *suffix)
{
    struct buf buf = {0};
    buf_printf(&buf, ".%s%s", name, suffix);
    return buf_steal(&buf);
}

static int open_place(const char *const *agent_folders, const char *path, struct place *place,
                      struct rondo_error *err)
{
    const char *slash = strrchr(path, '/');
    auto_free char *folder = slash == NULL   ? memory_dup_string(".")
                             : slash == path ? memory_dup_string("/")
                                             : memory_dup_bytes(path, (size_t)(slash - path));
    place->path = path;
    place->name = slash == NULL ? path : slash + 1;
    if (*place->name == '\0' || strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not the name of a file", path);
    }
    place->backup = name_next_to(place->name, ".bak");
    place->fresh = name_next_to(place->name, ".rondo-new");
    place->folder = file_open_folder_named(agent_folders, folder, err);
    return place->folder < 0 ? place->folder : 0;
}

/* ---- The lock ------------------------------------------------------------------------------- */

/** The name of the lock of a file: by the folder itself, however it was reached. */
static char *lock_path(const struct place *place, const char *folder)
{
    struct stat status = {0};
    struct digest digest = digest_begin();
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct buf path = {0};
    (void)!fstat(place->folder, &status);
    digest_add_u64(&digest, (uint64_t)status.st_dev);
    digest_add_u64(&digest, (uint64_t)status.st_ino);
    digest_add(&digest, place->name, strlen(place->name));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_printf(&path, "%s/%.32s.lock", folder, hex);
    return buf_steal(&path);
}

static int take_lock(struct place *place, struct rondo_error *err)
{
    auto_free char *folder = NULL;
    int r = state_sub_folder(LOCK_FOLDER, &folder, err);
    if (r < 0) {
        return r;
    }
    auto_free char *path = lock_path(place, folder);
    place->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (place->lock < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the lock %s", path);
    }
    return prd_lock_wait(clock_system(), place->lock, place->path, err);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** Say where the version before is, in a message about one that cannot be read. */
static int offer_backup(const struct place *place, int code, struct rondo_error *err)
{
    struct stat status;
    bool has_backup = place->folder >= 0 &&
                      fstatat(place->folder, place->backup, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                      S_ISREG(status.st_mode);
    struct rondo_error before = *err;
    return error_set(err, code, "%s: %s. Nothing was written; correct the file%s%s%s", place->path,
                     before.message, has_backup ? ", or restore the previous version from " : "",
                     has_backup ? place->backup : "", has_backup ? " next to it" : "");
}

int prd_file_read(const char *const *agent_folders, const char *path, struct buf *ret_text,
                  struct rondo_error *err)
{
    return file_read_named(agent_folders, path, LIMIT_PRD_FILE_BYTES, ret_text, err);
}

int prd_file_load(const char *const *agent_folders, const char *path, const char *tag,
                  struct prd *ret_prd, struct prd_findings *findings, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    auto_place struct place place = {.folder = -1, .lock = -1};
    struct rondo_error fault = {0};
    int r = prd_file_read(agent_folders, path, &text, err);
    if (r < 0) {
        return r;
    }
    r = prd_json_read(buf_string(&text), text.len, tag, ret_prd, findings, &fault);
    if (r < 0) {
        open_place(agent_folders, path, &place, NULL);
        place.path = path;
        r = offer_backup(&place, r, &fault);
        error_set(err, r, "%s", fault.message);
    }
    return r;
}

/* ---- Writing -------------------------------------------------------------------------------- */

/** Write the new file next to the old one, with its mode, and sync it. */
static int write_fresh(const struct place *place, const struct buf *text, struct rondo_error *err)
{
    struct stat status;
    bool is_there = fstatat(place->folder, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    mode_t mode = is_there && S_ISREG(status.st_mode) ? status.st_mode & 0777 : DEFAULT_MODE;
    unlinkat(place->folder, place->fresh, 0);
    auto_close int fd =
        file_open_beneath(place->folder, place->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (fd < 0 || file_write_all(fd, buf_string(text), text->len) != 0 || fchmod(fd, mode) != 0 ||
        fsync(fd) != 0) {
        int saved_errno = errno;
        unlinkat(place->folder, place->fresh, 0);
        return error_set_errno(err, RONDO_ERR_IO, saved_errno, "cannot write %s next to %s",
                               place->fresh, place->path);
    }
    return 0;
}

/** What is in the way of a backup: anything but a file. */
static int check_backup(const struct place *place, struct rondo_error *err)
{
    struct stat status;
    if (fstatat(place->folder, place->backup, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s next to %s is not a regular file; remove it, because the previous "
                         "version is kept there",
                         place->backup, place->path);
    }
    return 0;
}

static bool are_equal(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static int exchange(const struct place *place)
{
    return renameat2(place->folder, place->fresh, place->folder, place->name, RENAME_EXCHANGE);
}

/** Without an exchange of names in the file system: the window between looking and renaming stays.
 */
static int replace_plainly(const struct place *place, const struct buf *expected,
                           struct rondo_error *err)
{
    auto_buf struct buf now = {0};
    int r = file_read_untrusted(place->folder, place->name, LIMIT_PRD_FILE_BYTES, &now, err);
    if (r == 0 && !are_equal(&now, expected)) {
        r = error_set(err, RONDO_ERR_BUSY, "%s was changed by another program; try again",
                      place->path);
    }
    r = r < 0 ? r : file_folder_write(place->folder, place->backup, buf_string(&now), now.len, err);
    if (r == 0 && renameat(place->folder, place->fresh, place->folder, place->name) != 0) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot replace %s", place->path);
    }
    if (r < 0) {
        unlinkat(place->folder, place->fresh, 0);
    }
    return r;
}

/** After an exchange: `fresh` is the version before. */
static int keep_backup(const struct place *place, struct rondo_error *err)
{
    if (renameat(place->folder, place->fresh, place->folder, place->backup) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot keep the previous version of %s",
                               place->path);
    }
    if (fsync(place->folder) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno,
                               "%s is written, but a power cut may undo it", place->path);
    }
    return 0;
}

/* ---- An exchange, and a crash in it --------------------------------------------------------- */

/** What the lock holds during an exchange. */
struct note {
    char text[DIGEST_HEX_SIZE];     /* what gets the name */
    char expected[DIGEST_HEX_SIZE]; /* what had it, as far as is known */
};

static void digest_text(const struct buf *text, char ret_hex[static DIGEST_HEX_SIZE])
{
    struct digest digest = digest_begin();
    unsigned char bytes[DIGEST_SIZE];
    digest_add(&digest, text->data, text->len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_hex);
}

static int write_note(const struct place *place, const struct buf *text, const struct buf *expected,
                      struct rondo_error *err)
{
    struct note note;
    digest_text(text, note.text);
    digest_text(expected, note.expected);
    return pwrite(place->lock, &note, sizeof(note), 0) == sizeof(note)
               ? 0
               : error_set_errno(err, RONDO_ERR_IO, errno, "cannot write the lock of %s",
                                 place->path);
}

static void end_note(const struct place *place)
{
    (void)!ftruncate(place->lock, 0);
}

static int read_fresh(const struct place *place, struct buf *ret_text)
{
    struct rondo_error ignored = {0};
    return file_read_untrusted(place->folder, place->fresh, LIMIT_PRD_FILE_BYTES, ret_text,
                               &ignored);
}

/**
 * Undo an exchange: `fresh` is what somebody has saved, and gets its name again. What comes out for
 * it must be what was put there last; if not, it is newer than what was put, and goes back itself.
 * @param ours what was put there
 */
static void put_back(const struct place *place, const struct buf *ours)
{
    auto_buf struct buf last = {0};
    buf_append(&last, buf_string(ours), ours->len);
    bool is_settled = false;
    for (int i = 0; i < PUT_BACK_TRIES && !is_settled; i++) {
        auto_buf struct buf placed = {0};
        auto_buf struct buf out = {0};
        bool is_readable = read_fresh(place, &placed) == 0;
        is_settled = exchange(place) != 0 || !is_readable || read_fresh(place, &out) != 0 ||
                     are_equal(&out, &last);
        buf_clear(&last);
        buf_append(&last, buf_string(&placed), placed.len);
    }
    if (is_settled) {
        unlinkat(place->folder, place->fresh, 0);
    } else { /* it is what was saved last */
        (void)!renameat(place->folder, place->fresh, place->folder, place->backup);
    }
}

static bool is_prd(const struct buf *text)
{
    struct prd_document document;
    struct rondo_error ignored = {0};
    if (prd_document_open(buf_string(text), text->len, NULL, &document, NULL, &ignored) != 0) {
        return false;
    }
    prd_document_close(&document);
    return true;
}

/** Whether `fresh` was written after the file. */
static bool is_fresh_newer(const struct place *place)
{
    struct stat fresh;
    struct stat now;
    if (fstatat(place->folder, place->fresh, &fresh, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstatat(place->folder, place->name, &now, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    return fresh.st_mtim.tv_sec != now.st_mtim.tv_sec ? fresh.st_mtim.tv_sec > now.st_mtim.tv_sec
                                                      : fresh.st_mtim.tv_nsec > now.st_mtim.tv_nsec;
}

/** `fresh` is left of an exchange that was cut off; see to it that nothing which was saved is lost.
 */
static void recover_exchange(const struct place *place, const struct note *note,
                             const struct buf *fresh)
{
    auto_buf struct buf now = {0};
    struct rondo_error ignored = {0};
    char fresh_digest[DIGEST_HEX_SIZE];
    char now_digest[DIGEST_HEX_SIZE];
    file_read_untrusted(place->folder, place->name, LIMIT_PRD_FILE_BYTES, &now, &ignored);
    digest_text(fresh, fresh_digest);
    digest_text(&now, now_digest);
    bool is_ours = strcmp(fresh_digest, note->text) == 0;
    bool is_before = strcmp(fresh_digest, note->expected) == 0;
    if (is_ours || (!is_before && !is_prd(fresh))) {
        return; /* never exchanged, put back already, or not written to its end */
    }
    if (!is_before && (strcmp(now_digest, note->text) == 0 || is_fresh_newer(place))) {
        put_back(place, &now);
    } else if (check_backup(place, &ignored) == 0) {
        (void)!renameat(place->folder, place->fresh, place->folder, place->backup);
    }
}

/** After a crash in a change of the same file. */
static void recover(const struct place *place)
{
    auto_buf struct buf fresh = {0};
    struct note note;
    bool has_note = pread(place->lock, &note, sizeof(note), 0) == sizeof(note) &&
                    note.text[DIGEST_HEX_SIZE - 1] == '\0' &&
                    note.expected[DIGEST_HEX_SIZE - 1] == '\0';
    if (has_note && read_fresh(place, &fresh) == 0) {
        recover_exchange(place, &note, &fresh);
    }
    unlinkat(place->folder, place->fresh, 0);
    end_note(place);
}

/**
 * Give the new text the name of the file.
 * @param expected what the file says, as far as is known
 * @return 0 done; 1 somebody has saved something else; 1 and negative: the file is as they saved it
 */
static int swap(const struct place *place, const struct buf *expected, const struct buf *text,
                struct rondo_error *err)
{
    auto_buf struct buf found = {0};
    int r = write_fresh(place, text, err);
    r = r < 0 ? r : write_note(place, text, expected, err);
    if (r < 0) {
        return r;
    }
    if (exchange(place) != 0) {
        return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP
                   ? replace_plainly(place, expected, err)
                   : error_set_errno(err, RONDO_ERR_IO, errno, "cannot replace %s", place->path);
    }
    r = file_read_untrusted(place->folder, place->fresh, LIMIT_PRD_FILE_BYTES, &found, err);
    if (r == 0 && are_equal(expected, &found)) {
        r = keep_backup(place, err);
    } else {
        put_back(place, text);
        r = r < 0 ? r : 1;
    }
    end_note(place);
    return r;
}

/** What a change is made of, for each attempt. */
struct update {
    const char *tag;
    const struct prd_change *changes;
    size_t count;
    int64_t time_ns;
    enum prd_change_outcome *outcomes;
};

static int edit(const struct place *place, const struct update *update, const struct buf *base,
                struct buf *ret_text, struct rondo_error *err)
{
    struct rondo_error fault = {0};
    int r = prd_edit(buf_string(base), base->len, update->tag, update->changes, update->count,
                     update->time_ns, ret_text, update->outcomes, &fault);
    if (r < 0) {
        r = offer_backup(place, r, &fault);
        error_set(err, r, "%s", fault.message);
    }
    return r;
}

/** @return 0; 1 somebody has saved the file meanwhile; negative */
static int update_once(const struct place *place, const struct update *update,
                       struct rondo_error *err)
{
    auto_buf struct buf base = {0};
    auto_buf struct buf text = {0};
    int r = file_read_untrusted(place->folder, place->name, LIMIT_PRD_FILE_BYTES, &base, err);
    r = r < 0 ? r : edit(place, update, &base, &text, err);
    if (r < 0 || are_equal(&base, &text)) {
        return r;
    }
    r = check_backup(place, err);
    return r < 0 ? r : swap(place, &base, &text, err);
}

static int update_locked(const struct place *place, const struct update *update,
                         struct rondo_error *err)
{
    recover(place);
    for (int i = 0; i < UPDATE_TRIES; i++) {
        int r = update_once(place, update, err);
        if (r <= 0) {
            return r;
        }
    }
    return error_set(err, RONDO_ERR_BUSY,
                     "another program keeps changing %s; close it and try again", place->path);
}

int prd_file_update(const char *const *agent_folders, const char *path, const char *tag,
                    const struct prd_change *changes, size_t count, int64_t time_ns,
                    enum prd_change_outcome *ret_outcomes, struct rondo_error *err)
{
    auto_place struct place place = {.folder = -1, .lock = -1};
    struct update update = {tag, changes, count, time_ns, ret_outcomes};
    int r = open_place(agent_folders, path, &place, err);
    r = r < 0 ? r : take_lock(&place, err);
    return r < 0 ? r : update_locked(&place, &update, err);
}

/** Put a file where there is none. */
static int create_locked(const struct place *place, const struct buf *text, struct rondo_error *err)
{
    int r = write_fresh(place, text, err);
    if (r < 0) {
        return r;
    }
    if (linkat(place->folder, place->fresh, place->folder, place->name, 0) != 0) {
        int saved_errno = errno;
        unlinkat(place->folder, place->fresh, 0);
        return saved_errno == EEXIST
                   ? error_set(err, RONDO_ERR_BUSY, "%s exists already", place->path)
                   : error_set_errno(err, RONDO_ERR_IO, saved_errno, "cannot create %s",
                                     place->path);
    }
    unlinkat(place->folder, place->fresh, 0);
    (void)!fsync(place->folder);
    return 0;
}

int prd_file_replace(const char *const *agent_folders, const char *path, const struct buf *expected,
                     const struct buf *text, struct rondo_error *err)
{
    auto_place struct place place = {.folder = -1, .lock = -1};
    int r = open_place(agent_folders, path, &place, err);
    r = r < 0 ? r : take_lock(&place, err);
    if (r < 0) {
        return r;
    }
    recover(&place);
    if (expected == NULL) {
        return create_locked(&place, text, err);
    }
    r = check_backup(&place, err);
    r = r < 0 ? r : swap(&place, expected, text, err);
    if (r == 1) {
        r = error_set(err, RONDO_ERR_BUSY, "%s was changed by another program; try again", path);
    }
    return r;
}
