// SPDX-License-Identifier: Apache-2.0
#include "source/watch/watch_picture.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/utf8.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_file(struct watched_file *file)
{
    free(file->path);
    free(file);
}

void watch_picture_fini(struct watch_picture *picture)
{
    struct watched_file *file = picture->files;
    HASH_CLEAR(hh, picture->files); /* The files stay, and their links. */
    while (file != NULL) {
        struct watched_file *next = file->hh.next;
        free_file(file);
        file = next;
    }
    *picture = (struct watch_picture){0};
}

struct watched_file *watch_picture_find(const struct watch_picture *picture, const char *path)
{
    struct watched_file *file = NULL;
    HASH_FIND_STR(picture->files, path, file);
    return file;
}

/** Bytes that a path takes in the stored picture at most. */
static size_t stored_bytes(const char *path)
{
    size_t len = 0;
    for (; *path != '\0'; path++) {
        len += ascii_is_letter_or_digit(*path) || strchr("/._- ", *path) != NULL ? 1 : 6;
    }
    return len;
}

struct watched_file *watch_picture_add(struct watch_picture *picture, const char *path)
{
    struct watched_file *file = watch_picture_find(picture, path);
    size_t bytes = stored_bytes(path);
    if (file != NULL || picture->count == LIMIT_WATCH_FILES ||
        bytes > (size_t)LIMIT_WATCH_PATHS_BYTES - picture->path_bytes) {
        return file;
    }
    file = memory_new_zero(1, sizeof(*file));
    file->path = memory_dup_string(path);
    HASH_ADD_KEYPTR(hh, picture->files, file->path, strlen(file->path), file);
    picture->count++;
    picture->path_bytes += bytes;
    return file;
}

void watch_picture_remove(struct watch_picture *picture, struct watched_file *file)
{
    HASH_DEL(picture->files, file);
    picture->count--;
    picture->path_bytes -= stored_bytes(file->path);
    free_file(file);
}

static int compare_paths(const struct watched_file *one, const struct watched_file *other)
{
    return strcmp(one->path, other->path);
}

void watch_picture_sort(struct watch_picture *picture)
{
    HASH_SORT(picture->files, compare_paths);
}

bool watched_state_equal(const struct watched_state *one, const struct watched_state *other)
{
    return one->is_there == other->is_there && (!one->is_there || one->stamp == other->stamp);
}

/* ---- JSON: {"batch": N, "files": {"PATH": "CHANGED SIZE INODE", ...}} -------------------------
 */

/** Write bytes that are no UTF-8, and the percent sign, as %HH: names may be any bytes. */
static void escape_path(const char *path, struct buf *out)
{
    for (size_t left = strlen(path); left > 0;) {
        size_t step = utf8_sequence_len(path, left);
        if (step == 0 || *path == '%') {
            buf_printf(out, "%%%02x", (unsigned char)*path);
            step = 1;
        } else {
            buf_append(out, path, step);
        }
        path += step;
        left -= step;
    }
}

/** @return owned, or NULL when it is not what escape_path writes */
static char *unescape_path(const char *text)
{
    struct buf out = {0};
    for (; *text != '\0'; text++) {
        int byte = *text == '%' ? ascii_hex_byte(text + 1) : (unsigned char)*text;
        if (byte <= 0) {
            buf_fini(&out);
            return NULL;
        }
        char c = (char)byte;
        text += *text == '%' ? 2 : 0;
        buf_append(&out, &c, 1);
    }
    return buf_steal(&out);
}

void watch_picture_encode(const struct watch_picture *picture, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "batch", (int64_t)picture->batch);
    json_begin_object(&writer, "files");
    for (struct watched_file *file = picture->files; file != NULL; file = file->hh.next) {
        auto_buf struct buf path = {0};
        char stamp[20];
        if (!file->known.is_there) {
            continue;
        }
        escape_path(file->path, &path);
        snprintf(stamp, sizeof(stamp), "%016" PRIx64, file->known.stamp);
        json_write_string(&writer, buf_string(&path), stamp);
    }
    json_end_object(&writer);
    json_end_object(&writer);
}

static bool read_state(const char *text, struct watched_state *ret_state)
{
    char *end = NULL;
    uint64_t stamp = strtoull(text, &end, 16);
    *ret_state = (struct watched_state){.is_there = true, .stamp = stamp};
    return strlen(text) == 16 && *end == '\0';
}

static bool read_file(struct watch_picture *picture, const char *key, struct json_object *value)
{
    struct watched_state state;
    auto_free char *path = unescape_path(key);
    if (path == NULL || !json_object_is_type(value, json_type_string) ||
        !read_state(json_object_get_string(value), &state)) {
        return false;
    }
    struct watched_file *file = watch_picture_add(picture, path);
    if (file != NULL) {
        file->known = state;
    }
    return file != NULL;
}

static bool read_files(struct watch_picture *picture, struct json_object *files)
{
    struct json_object_iterator at = json_object_iter_begin(files);
    struct json_object_iterator end = json_object_iter_end(files);
    bool is_good = true;
    for (; is_good && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        is_good =
            read_file(picture, json_object_iter_peek_name(&at), json_object_iter_peek_value(&at));
    }
    return is_good;
}

int watch_picture_decode(struct json_object *json, struct watch_picture *ret_picture,
                         struct rondo_error *err)
{
    struct json_object *files = json_member(json, "files");
    ret_picture->batch = (uint64_t)json_get_int(json, "batch", 0);
    return json_object_is_type(files, json_type_object) && read_files(ret_picture, files)
               ? 0
               : error_set(err, RONDO_ERR_CORRUPT,
                           "the stored picture of the watched files cannot be read");
}
