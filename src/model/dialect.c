// SPDX-License-Identifier: Apache-2.0
/* Small parts that the dialects share. Pure. */
#include "model/dialect.h"

#include "base/ascii.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** Longest name that every provider takes. */
#define MAX_NAME 64
#define MICRO    INT64_C(1000000)

void body_add(struct request_body *body, const char *bytes, size_t len)
{
    if (len == 0) {
        return;
    }
    if (body->count == body->room) {
        body->room = body->room * 2 + 16;
        body->parts = memory_resize(body->parts, body->room, sizeof(*body->parts));
    }
    body->parts[body->count++] = (struct http_part){bytes, len};
}

void body_fini(struct request_body *body)
{
    free(body->parts);
    *body = (struct request_body){0};
}

int64_t model_max_tokens(const struct model *model, const struct model_request *request)
{
    return request->max_tokens > 0 ? request->max_tokens : model->max_tokens;
}

bool dialect_is_blank(const char *text)
{
    while (ascii_is_space(*text)) {
        text++;
    }
    return *text == '\0';
}

/** The first byte of a JSON object, white space before it skipped. */
static bool is_object(const char *text)
{
    while (*text != '\0' && strchr(" \t\r\n", *text) != NULL) {
        text++;
    }
    return *text == '{';
}

void dialect_write_arguments(const char *arguments, struct buf *ret_json)
{
    if (dialect_is_blank(arguments)) {
        buf_append_string(ret_json, "{}");
    } else if (is_object(arguments) && json_parse(arguments, strlen(arguments), NULL, NULL) == 0) {
        buf_append_string(ret_json, arguments);
    } else {
        struct json_writer writer = json_writer(ret_json);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "invalid_arguments", arguments);
        json_end_object(&writer);
    }
}

void dialect_write_name(const char *name, struct buf *ret_name)
{
    size_t len = strnlen(name, MAX_NAME);
    for (size_t i = 0; i < len; i++) {
        bool is_right = ascii_is_letter_or_digit(name[i]) || name[i] == '_' || name[i] == '-';
        buf_append(ret_name, is_right ? &name[i] : "_", 1);
    }
    if (len == 0) {
        buf_append_string(ret_name, "unnamed");
    }
}

void dialect_write_micro(int64_t micro, struct buf *ret_json)
{
    buf_printf(ret_json, "%" PRId64, micro / MICRO);
    int64_t rest = micro % MICRO;
    if (rest > 0) {
        buf_printf(ret_json, ".%06" PRId64, rest);
        while (ret_json->data[ret_json->len - 1] == '0') {
            ret_json->data[--ret_json->len] = '\0';
        }
    }
}

struct json_object *dialect_at(struct json_object *array, size_t i)
{
    return json_object_array_get_idx(array, i);
}

int64_t dialect_tokens(struct json_object *object, const char *key)
{
    struct json_object *value = json_member(object, key);
    bool is_number =
        json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    int64_t tokens = is_number ? json_object_get_int64(value) : 0;
    if (tokens < 0) {
        return 0;
    }
    return tokens > MODEL_TOKENS_MAX ? MODEL_TOKENS_MAX : tokens;
}
