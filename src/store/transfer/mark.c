// SPDX-License-Identifier: Apache-2.0
/* The mark as JSON. Keys may have any bytes, so they are written as hexadecimal digits. */
#include "store/transfer/mark.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define KEY "progress"

void transfer_mark_fini(struct transfer_mark *mark)
{
    free(mark->from);
    mark->from = NULL;
}

static void write_hex(struct json_writer *writer, const char *name, const char *text)
{
    auto_buf struct buf hex = {0};
    buf_append_hex(&hex, text, strlen(text));
    json_write_string(writer, name, buf_string(&hex));
}

/** @return false: it is no such text, or too long */
static bool read_hex(struct json_object *object, const char *name, char *ret_text, size_t size)
{
    const char *hex = json_get_string(object, name, "");
    size_t len = strlen(hex);
    if (len % 2 != 0 || len / 2 >= size) {
        return false;
    }
    for (size_t i = 0; i < len / 2; i++) {
        int byte = ascii_hex_byte(hex + 2 * i);
        if (byte <= 0) {
            return false;
        }
        ret_text[i] = (char)byte;
    }
    ret_text[len / 2] = '\0';
    return true;
}

struct store_change transfer_mark_change(const struct transfer_mark *mark, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "from", mark->from);
    json_write_int(&writer, "position", (int64_t)mark->position);
    json_write_int(&writer, "begun_ns", mark->begun_ns);
    json_write_int(&writer, "part", mark->part);
    json_write_int(&writer, "number", mark->number);
    write_hex(&writer, "collection", mark->collection);
    write_hex(&writer, "text", mark->text);
    json_write_int(&writer, "skip", (int64_t)mark->skip);
    json_end_object(&writer);
    return (struct store_change){
        .kind = STORE_PUT,
        .collection = TRANSFER_COLLECTION,
        .key = KEY,
        .data = buf_string(ret_json),
        .data_len = ret_json->len,
        .if_version = (int64_t)mark->version,
    };
}

struct mark_reading {
    struct transfer_mark *mark;
    struct rondo_error *err;
    int r;
};

static bool is_in_range(struct json_object *json)
{
    int64_t part = json_get_int(json, "part", -1);
    return part >= 0 && part < TRANSFER_PART_COUNT && json_get_int(json, "position", -1) >= 0 &&
           json_get_int(json, "number", -1) >= 0 && json_get_int(json, "skip", -1) >= 0;
}

static bool take_mark(const struct store_document *document, void *context)
{
    struct mark_reading *reading = context;
    struct transfer_mark *mark = reading->mark;
    struct json_object *json = NULL;
    reading->r = json_parse(document->data, document->data_len, &json, reading->err);
    if (reading->r < 0) {
        return false;
    }
    if (!is_in_range(json) ||
        !read_hex(json, "collection", mark->collection, sizeof(mark->collection)) ||
        !read_hex(json, "text", mark->text, sizeof(mark->text))) {
        reading->r = error_set(reading->err, RONDO_ERR_CORRUPT,
                               "the mark of a copy of another store cannot be read");
    } else {
        mark->version = document->version;
        mark->from = memory_dup_string(json_get_string(json, "from", ""));
        mark->position = (uint64_t)json_get_int(json, "position", 0);
        mark->begun_ns = json_get_int(json, "begun_ns", 0);
        mark->part = (enum transfer_part)json_get_int(json, "part", 0);
        mark->number = json_get_int(json, "number", 0);
        mark->skip = (uint64_t)json_get_int(json, "skip", 0);
    }
    json_object_put(json);
    return false;
}

int transfer_mark_read(struct store *store, struct transfer_mark *ret_mark, struct rondo_error *err)
{
    struct transfer_mark mark = {0};
    struct mark_reading reading = {.mark = &mark, .err = err};
    const struct store_document_query query = {.collection = TRANSFER_COLLECTION, .key = KEY};
    int r = store->ops->read_documents(store, &query, take_mark, &reading, err);
    r = r < 0 ? r : reading.r;
    if (r == 0) {
        *ret_mark = mark;
    } else {
        transfer_mark_fini(&mark);
    }
    return r;
}

int transfer_check_whole(struct store *store, const char *name, struct rondo_error *err)
{
    struct transfer_mark mark = {0};
    int r = transfer_mark_read(store, &mark, err);
    if (r == RONDO_ERR_CORRUPT) {
        /* Documents that are damaged are found by who needs them, and by `rondo store check`. */
        if (err != NULL) {
            *err = (struct rondo_error){0};
        }
        return 0;
    }
    if (r == 0 && mark.version > 0 && mark.part != TRANSFER_DONE) {
        r = error_set(err, RONDO_ERR_STATE,
                      "%s is a copy of %s that is not finished; run `rondo store copy` again with "
                      "the same two stores",
                      name, mark.from);
    }
    transfer_mark_fini(&mark);
    return r;
}
