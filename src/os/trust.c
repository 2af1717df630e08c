// SPDX-License-Identifier: Apache-2.0
/* Records of what was confirmed. A record that cannot be believed is treated as absent, so that
 * whatever is wrong with it leads to a question and never to a yes. */
#include "os/trust.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRUST_FOLDER "trust"
#define TRUST_FORMAT 1

static const char *const kinds[] = {
    [TRUST_CONFIG] = "config",
    [TRUST_ROLE] = "role",
    [TRUST_POLICY] = "policy",
    [TRUST_STORE] = "store",
    [TRUST_SINK_COMMAND] = "sink-command",
    [TRUST_VARIABLES] = "variables",
    [TRUST_DESKS] = "desks",
    [TRUST_DUTY] = "duty",
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == TRUST_KIND_COUNT, "a name for each kind");

const char *trust_kind_name(enum trust_kind kind)
{
    return kinds[kind];
}

/* ---- Names and digests ---------------------------------------------------------------------- */

/** Cut the last name off a path and put it in front of `rest`. @return false at its beginning */
static bool cut_name(char *path, struct buf *rest)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        path[--len] = '\0';
    }
    char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (name[0] == '\0' || strcmp(name, "..") == 0) {
        return false;
    }
    struct buf joined = {0};
    buf_printf(&joined, "%s%s%s", name, rest->len > 0 ? "/" : "", buf_string(rest));
    buf_fini(rest);
    *rest = joined;
    if (slash == NULL) {
        memcpy(path, ".", sizeof("."));
    } else {
        slash[slash == path ? 1 : 0] = '\0';
    }
    return true;
}

static bool ends_in_dots(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    return name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int trust_path(const char *path, char **ret_path, struct rondo_error *err)
{
    auto_free char *prefix = memory_dup_string(path[0] == '\0' ? "." : path);
    auto_buf struct buf rest = {0};
    if (!ends_in_dots(prefix)) {
        cut_name(prefix, &rest);
    }
    for (;;) {
        auto_free char *real = realpath(prefix, NULL);
        bool is_absent = real == NULL && (errno == ENOENT || errno == ENOTDIR);
        if (real != NULL) {
            struct buf joined = {0};
            buf_printf(&joined, "%s%s%s", real, rest.len == 0 || strcmp(real, "/") == 0 ? "" : "/",
                       buf_string(&rest));
            *ret_path = buf_steal(&joined);
            return 0;
        }
        if (!is_absent || !cut_name(prefix, &rest)) {
            return error_set_errno(err, RONDO_ERR_NOT_FOUND, errno, "cannot find %s", path);
        }
    }
}

/** The name of a record's file. */
static void record_name(enum trust_kind kind, const char *path, struct buf *ret_name)
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, path, strlen(path));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_printf(ret_name, "%s-%.32s", kinds[kind], hex);
}

static void content_digest(const void *content, size_t len, char ret_hex[DIGEST_HEX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add_u64(&digest, len);
    digest_add(&digest, content, len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_hex);
}

/* ---- The folder ----------------------------------------------------------------------------- */

/* state_sub_folder() has checked it: it is ours and nobody else writes. */
int trust_folder_path(char **ret_path, struct rondo_error *err)
{
    int r = state_sub_folder(TRUST_FOLDER, ret_path, err);
    if (r < 0) {
        error_prefix(err, "confirmations are kept in the state folder");
    }
    return r;
}

/** A record that could have been written by somebody else is none. */
static bool is_private(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           status.st_nlink == 1 && (status.st_mode & 0077) == 0;
}

/** @return the record, json_object_put(); NULL when there is none that can be believed */
static struct json_object *read_record(const char *folder, const char *name)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf text = {0};
    struct json_object *record = NULL;
    buf_printf(&path, "%s/%s", folder, name);
    if (!is_private(buf_string(&path)) ||
        file_read(buf_string(&path), LIMIT_TRUST_RECORD_BYTES, &text, NULL) < 0 ||
        json_parse(buf_string(&text), text.len, &record, NULL) < 0) {
        return NULL;
    }
    if (json_object_is_type(record, json_type_object) &&
        json_get_int(record, "format", 0) == TRUST_FORMAT &&
        json_get_string(record, "path", NULL) != NULL &&
        json_get_string(record, "digest", NULL) != NULL) {
        return record;
    }
    json_object_put(record);
    return NULL;
}

/** Whether a record says that it is about this kind and path. */
static bool is_about(struct json_object *record, enum trust_kind kind, const char *path)
{
    return strcmp(json_get_string(record, "kind", ""), kinds[kind]) == 0 &&
           strcmp(json_get_string(record, "path", ""), path) == 0;
}

/* ---- Looking, confirming, forgetting -------------------------------------------------------- */

int trust_look(enum trust_kind kind, const char *path, const void *bytes, size_t len,
               enum trust_verdict *ret_verdict, struct rondo_error *err)
{
    auto_free char *real = NULL;
    auto_free char *folder = NULL;
    int r = trust_path(path, &real, err);
    r = r < 0 ? r : trust_folder_path(&folder, err);
    if (r < 0) {
        return r;
    }
    auto_buf struct buf name = {0};
    char digest[DIGEST_HEX_SIZE];
    record_name(kind, real, &name);
    content_digest(bytes, len, digest);
    auto_json struct json_object *record = read_record(folder, buf_string(&name));
    if (record == NULL || !is_about(record, kind, real)) {
        *ret_verdict = TRUST_UNKNOWN;
    } else {
        bool is_same = strcmp(json_get_string(record, "digest", ""), digest) == 0;
        *ret_verdict = is_same ? TRUST_CONFIRMED : TRUST_CHANGED;
    }
    return 0;
}

int trust_confirm(enum trust_kind kind, const char *path, const void *bytes, size_t len,
                  struct rondo_error *err)
{
    auto_free char *real = NULL;
    auto_free char *folder = NULL;
    auto_buf struct buf text = {0};
    auto_buf struct buf file = {0};
    char digest[DIGEST_HEX_SIZE];
    int r = trust_path(path, &real, err);
    r = r < 0 ? r : trust_folder_path(&folder, err);
    if (r < 0) {
        return r;
    }
    content_digest(bytes, len, digest);
    struct json_writer writer = json_writer(&text);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", TRUST_FORMAT);
    json_write_string(&writer, "kind", kinds[kind]);
    json_write_string(&writer, "path", real);
    json_write_string(&writer, "digest", digest);
    json_write_int(&writer, "confirmed_ns", clock_now(clock_system()));
    json_end_object(&writer);
    buf_append_string(&text, "\n");
    buf_printf(&file, "%s/", folder);
    record_name(kind, real, &file);
    /* One that a power cut leaves incomplete leads to a question, as all that is in doubt. */
    return file_replace_record(buf_string(&file), text.data, text.len, err);
}

uint64_t trust_stamp(enum trust_kind kind, const char *path)
{
    auto_free char *real = NULL;
    auto_free char *folder = NULL;
    if (trust_path(path, &real, NULL) < 0 || trust_folder_path(&folder, NULL) < 0) {
        return 0;
    }
    auto_buf struct buf file = {0};
    struct stat status;
    buf_printf(&file, "%s/", folder);
    record_name(kind, real, &file);
    if (stat(buf_string(&file), &status) != 0) {
        return 0;
    }
    /* Each confirmation is a new file. */
    uint64_t nanoseconds = (uint64_t)status.st_ctim.tv_nsec;
    return ((uint64_t)status.st_ctim.tv_sec << 30) ^ nanoseconds ^ ((uint64_t)status.st_ino << 40);
}

int trust_require(enum trust_kind kind, const char *path, const void *bytes, size_t len,
                  const char *what, struct rondo_error *err)
{
    enum trust_verdict verdict = TRUST_UNKNOWN;
    int r = trust_look(kind, path, bytes, len, &verdict, err);
    if (r < 0 || verdict == TRUST_CONFIRMED) {
        return r;
    }
    return error_set(
        err, RONDO_ERR_DENIED,
        "%s %s%s; agents can write there, so it takes effect only after you have "
        "confirmed it: `rondo trust %s`",
        what, path,
        verdict == TRUST_CHANGED ? " changed after you confirmed it" : " is not confirmed", path);
}

int trust_forget(const char *path, struct rondo_error *err)
{
    auto_free char *real = NULL;
    auto_free char *folder = NULL;
    int r = trust_path(path, &real, err);
    r = r < 0 ? r : trust_folder_path(&folder, err);
    int count = 0;
    for (int kind = 0; r == 0 && kind < TRUST_KIND_COUNT; kind++) {
        auto_buf struct buf file = {0};
        buf_printf(&file, "%s/", folder);
        record_name((enum trust_kind)kind, real, &file);
        if (unlink(buf_string(&file)) == 0) {
            count++;
        } else if (errno != ENOENT) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot remove a record of %s", real);
        }
    }
    return r < 0 ? r : count;
}

/** Pass a record on, unless it is in the place of another. @return whether to continue */
static bool hand_out(struct json_object *record, const char *name, trust_list_fn *fn, void *context)
{
    const char *path = json_get_string(record, "path", "");
    for (int kind = 0; kind < TRUST_KIND_COUNT; kind++) {
        auto_buf struct buf expected = {0};
        if (!is_about(record, (enum trust_kind)kind, path)) {
            continue;
        }
        record_name((enum trust_kind)kind, path, &expected);
        if (strcmp(buf_string(&expected), name) == 0) {
            const struct trust_record found = {
                .kind = (enum trust_kind)kind,
                .path = path,
                .confirmed_ns = json_get_int(record, "confirmed_ns", 0),
            };
            return fn(context, &found);
        }
    }
    return true;
}

/** Whether the name of a file is that of a record, of this kind. */
static bool is_record_name(const char *name, enum trust_kind kind)
{
    size_t len = kind == TRUST_KIND_COUNT ? 0 : strlen(kinds[kind]);
    return name[0] != '.' &&
           (len == 0 || (strncmp(name, kinds[kind], len) == 0 && name[len] == '-'));
}

int trust_list(enum trust_kind kind, trust_list_fn *fn, void *context, struct rondo_error *err)
{
    auto_free char *path = NULL;
    int r = trust_folder_path(&path, err);
    DIR *folder = r < 0 ? NULL : opendir(path);
    if (folder == NULL) {
        return r < 0 ? r : error_set_errno(err, RONDO_ERR_IO, errno, "cannot list %s", path);
    }
    struct dirent *entry;
    bool continues = true;
    while (continues && (entry = readdir(folder)) != NULL) {
        auto_json struct json_object *record =
            is_record_name(entry->d_name, kind) ? read_record(path, entry->d_name) : NULL;
        continues = record == NULL || hand_out(record, entry->d_name, fn, context);
    }
    closedir(folder);
    return 0;
}

/* ---- Users that can exchange a file
 * --------------------------------------------------------------- */

/** Whether a canonical path is one of the folders or below one. */
static bool is_in(const char *path, const char *const *folders)
{
    for (size_t i = 0; folders != NULL && folders[i] != NULL; i++) {
        auto_free char *real = realpath(folders[i], NULL);
        const char *folder = real == NULL ? folders[i] : real;
        size_t len = strlen(folder);
        if (strcmp(folder, "/") == 0 ||
            (strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0'))) {
            return true;
        }
    }
    return false;
}

/*
 * A path while it is walked: `done` has no link in it any more, `rest` is ahead. Not on the stack:
 * each of a thousand loops would keep these pages.
 */
struct trust_walk {
    char done[PATH_MAX];
    char rest[PATH_MAX];
    char name[PATH_MAX];   /* the next name of the rest */
    char next[PATH_MAX];   /* `done` with that name */
    char target[PATH_MAX]; /* where it leads as a link */
    int links;
};

/** Put the target of a link in front of the rest. @return false when that is too much */
static bool follow(struct trust_walk *walk)
{
    auto_buf struct buf rest = {0};
    char *target = walk->target;
    ssize_t len = readlink(walk->next, target, sizeof(walk->target) - 1);
    if (len < 0 || ++walk->links > LIMIT_PATH_LINKS) {
        return false;
    }
    target[len] = '\0';
    buf_printf(&rest, "%s/%s", target, walk->rest);
    if (rest.len >= sizeof(walk->rest)) {
        return false;
    }
    memcpy(walk->rest, buf_string(&rest), rest.len + 1);
    if (target[0] == '/') {
        walk->done[0] = '\0';
    }
    return true;
}

/** Go one name further. @return false when the path cannot be walked */
static bool step(struct trust_walk *walk, size_t len)
{
    const char *name = walk->name;
    char *next = walk->next;
    if (len == 0 || (len == 1 && name[0] == '.')) {
        return true;
    }
    if (len == 2 && strncmp(name, "..", 2) == 0) {
        char *slash = strrchr(walk->done, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        return true;
    }
    size_t done = strlen(walk->done);
    if (done + len + 2 > sizeof(walk->next)) {
        return false;
    }
    memcpy(next, walk->done, done);
    next[done] = '/';
    memcpy(next + done + 1, name, len);
    next[done + 1 + len] = '\0';
    struct stat status;
    if (lstat(next, &status) == 0 && S_ISLNK(status.st_mode)) {
        return follow(walk);
    }
    memcpy(walk->done, next, done + len + 2);
    return true;
}

bool trust_is_in_reach(const char *path, const char *const *folders)
{
    auto_free struct trust_walk *walk = memory_new_zero(1, sizeof(*walk));
    auto_buf struct buf whole = {0};
    if (path[0] != '/') {
        auto_free char *here = getcwd(NULL, 0);
        buf_printf(&whole, "%s/", here == NULL ? "" : here);
    }
    buf_append_string(&whole, path);
    if (whole.len >= sizeof(walk->rest)) {
        return true; /* It cannot be walked, so it cannot be said to be out of reach. */
    }
    memcpy(walk->rest, buf_string(&whole), whole.len + 1);
    while (walk->rest[0] != '\0') {
        size_t skip = strspn(walk->rest, "/");
        size_t len = strcspn(walk->rest + skip, "/");
        memcpy(walk->name, walk->rest + skip, len);
        memmove(walk->rest, walk->rest + skip + len, strlen(walk->rest + skip + len) + 1);
        /* The link's own place counts, too. */
        bool can_go = step(walk, len);
        if (!can_go || is_in(walk->done, folders)) {
            return true;
        }
    }
    return false;
}
