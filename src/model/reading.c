// SPDX-License-Identifier: Apache-2.0
/* Collecting a reply. No input makes this fail in any other way than by reading_fail. */
#include "model/reading.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "model/dialect.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Longest message of a failure that is kept. */
#define MAX_PROBLEM 400

void reading_init(struct model_reading *reading, const struct model *model,
                  const struct model_request *request)
{
    *reading = (struct model_reading){.model = model, .request = request};
}

void reading_fini(struct model_reading *reading)
{
    for (size_t i = 0; i < reading->call_count; i++) {
        buf_fini(&reading->calls[i].id);
        buf_fini(&reading->calls[i].name);
        buf_fini(&reading->calls[i].arguments);
        json_object_put(reading->calls[i].extra);
    }
    for (size_t i = 0; i < reading->part_count; i++) {
        buf_fini(&reading->parts[i].first);
        buf_fini(&reading->parts[i].second);
    }
    free(reading->calls);
    free(reading->parts);
    json_object_put(reading->details);
    buf_fini(&reading->text);
    buf_fini(&reading->thinking);
    buf_fini(&reading->model_name);
    buf_fini(&reading->problem);
    *reading = (struct model_reading){0};
}

/** Append a text that may hold NUL bytes, which no text of ours does. */
static void append_clean(struct buf *buf, const char *text, size_t len)
{
    while (len > 0) {
        size_t plain = strnlen(text, len);
        buf_append(buf, text, plain);
        if (plain < len) {
            buf_append_string(buf, "\xef\xbf\xbd");
            plain++;
        }
        text += plain;
        len -= plain;
    }
}

static void note_first(struct model_reading *reading)
{
    if (reading->first_ns == 0) {
        reading->first_ns = clock_monotonic(reading->model->clock);
    }
}

/** Take in words for the user; the watcher hears of them. */
static void reading_add_text(struct model_reading *reading, const char *text, size_t len)
{
    const struct model_watcher *watcher = reading->request->watcher;
    size_t before = reading->text.len;
    if (len == 0) {
        return;
    }
    note_first(reading);
    append_clean(&reading->text, text, len);
    if (watcher != NULL && watcher->on_text != NULL) {
        watcher->on_text(watcher->context, reading->text.data + before, reading->text.len - before);
    }
}

/** Take in reasoning; the watcher hears of it. */
static void reading_add_thinking(struct model_reading *reading, const char *text, size_t len)
{
    const struct model_watcher *watcher = reading->request->watcher;
    size_t before = reading->thinking.len;
    if (len == 0) {
        return;
    }
    note_first(reading);
    append_clean(&reading->thinking, text, len);
    if (watcher != NULL && watcher->on_thinking != NULL) {
        watcher->on_thinking(watcher->context, reading->thinking.data + before,
                             reading->thinking.len - before);
    }
}

void reading_add_text_of(struct model_reading *reading, struct json_object *value)
{
    if (json_object_is_type(value, json_type_string)) {
        reading_add_text(reading, json_object_get_string(value),
                         (size_t)json_object_get_string_len(value));
    }
}

void reading_add_thinking_of(struct model_reading *reading, struct json_object *value)
{
    if (json_object_is_type(value, json_type_string)) {
        reading_add_thinking(reading, json_object_get_string(value),
                             (size_t)json_object_get_string_len(value));
    }
}

void reading_name_model(struct model_reading *reading, struct json_object *value)
{
    if (reading->model_name.len > 0 || !json_object_is_type(value, json_type_string)) {
        return;
    }
    size_t len = (size_t)json_object_get_string_len(value);
    if (len <= MODEL_NAME_BYTES) {
        append_clean(&reading->model_name, json_object_get_string(value), len);
    }
}

struct reading_call *reading_begin_call(struct model_reading *reading, int64_t index)
{
    if (reading->call_count >= MODEL_CALLS_MAX) {
        reading->is_final = true;
        reading_fail(reading, MODEL_BAD_REPLY, 0, "the model makes more than %d calls at once",
                     MODEL_CALLS_MAX);
        return NULL;
    }
    note_first(reading);
    reading->calls =
        memory_resize(reading->calls, reading->call_count + 1, sizeof(*reading->calls));
    struct reading_call *call = &reading->calls[reading->call_count++];
    *call = (struct reading_call){.index = index};
    return call;
}

struct reading_part *reading_begin_part(struct model_reading *reading, enum reading_part_kind kind,
                                        int64_t index)
{
    if (reading->part_count >= 4 * MODEL_CALLS_MAX) {
        reading->is_final = true;
        reading_fail(reading, MODEL_BAD_REPLY, 0, "the reply has more than %d parts",
                     4 * MODEL_CALLS_MAX);
        return NULL;
    }
    reading->parts =
        memory_resize(reading->parts, reading->part_count + 1, sizeof(*reading->parts));
    struct reading_part *part = &reading->parts[reading->part_count++];
    *part = (struct reading_part){.kind = kind, .index = index};
    return part;
}

void reading_stop(struct model_reading *reading, enum model_stop stop)
{
    reading->stop = stop;
    reading->has_stop = true;
}

void reading_fail(struct model_reading *reading, enum model_failure failure, long status,
                  const char *format, ...)
{
    if (reading->failure != MODEL_OK) {
        return;
    }
    char problem[MAX_PROBLEM + 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof(problem), format, arguments);
    va_end(arguments);
    reading->failure = failure;
    reading->status = status;
    buf_append_string(&reading->problem, problem);
}

static bool is_id_taken(const struct model_reply *reply, const char *id)
{
    for (size_t i = 0; i < reply->call_count; i++) {
        if (strcmp(reply->calls[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

/** An id that no other call of this reply has: some servers send none, or one for all. */
static char *make_id(const struct model_reading *reading, const struct model_reply *reply,
                     const char *id)
{
    if (*id != '\0' && !is_id_taken(reply, id)) {
        return memory_dup_string(id);
    }
    uint64_t turn = reading->request->turn;
    uint64_t number = turn > 0 ? turn : reading->request->message_count;
    struct buf made = {0};
    size_t i = reply->call_count + 1;
    do {
        buf_clear(&made);
        buf_printf(&made, "call_%" PRIu64 "_%zu", number, i++);
    } while (is_id_taken(reply, buf_string(&made)));
    return buf_steal(&made);
}

static void finish_calls(struct model_reading *reading, struct model_reply *reply)
{
    reply->calls = memory_new_zero(reading->call_count + 1, sizeof(*reply->calls));
    for (size_t i = 0; i < reading->call_count; i++) {
        struct reading_call *from = &reading->calls[i];
        reply->calls[i].id = make_id(reading, reply, buf_string(&from->id));
        reply->calls[i].name = buf_steal(&from->name);
        reply->calls[i].arguments = buf_steal(&from->arguments);
        reply->call_count++;
    }
}

void reading_finish(struct model_reading *reading, struct model_reply *ret_reply)
{
    struct buf native = {0};
    const struct model_wire *wire = reading->model->ops->wire;
    if (reading->failure == MODEL_OK && wire != NULL && wire->write_native != NULL) {
        wire->write_native(reading, &native);
    }
    finish_calls(reading, ret_reply);
    ret_reply->failure = reading->failure;
    ret_reply->stop = reading->stop;
    ret_reply->text = buf_steal(&reading->text);
    ret_reply->thinking = buf_steal(&reading->thinking);
    ret_reply->model_name = reading->model_name.len > 0 ? buf_steal(&reading->model_name) : NULL;
    ret_reply->native = native.len > 0 ? buf_steal(&native) : NULL;
    buf_fini(&native);
    if (reading->failure != MODEL_OK) {
        struct buf message = {0};
        secret_redact(&reading->model->key, buf_string(&reading->problem), &message);
        ret_reply->message = buf_steal(&message);
    }
}
