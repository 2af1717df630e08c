// SPDX-License-Identifier: Apache-2.0
/*
 * A parser that keeps the last of two members has fewer of them than the text has colons outside of
 * strings; so counting both finds doubles without looking at a name.
 */
#include "base/json/strict_json.h"

#include "base/error.h"

#include <json-c/json.h>

static size_t count_colons(const char *text, size_t len)
{
    size_t count = 0;
    bool is_string = false;
    for (size_t i = 0; i < len; i++) {
        if (is_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            is_string = !is_string;
        } else if (!is_string && text[i] == ':') {
            count++;
        }
    }
    return count;
}

/** Members of a value and all in it; it is at most LIMIT_JSON_DEPTH levels deep. */
static size_t count_members(struct json_object *value)
{
    size_t count = 0;
    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            count += count_members(json_object_array_get_idx(value, i));
        }
    } else if (json_object_is_type(value, json_type_object)) {
        struct json_object_iterator at = json_object_iter_begin(value);
        struct json_object_iterator end = json_object_iter_end(value);
        for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
            count += 1 + count_members(json_object_iter_peek_value(&at));
        }
    }
    return count;
}

int strict_json_parse(const char *text, size_t len, struct json_object **ret_value,
                      struct rondo_error *err)
{
    auto_json struct json_object *value = NULL;
    int r = json_parse(text, len, &value, err);
    if (r < 0) {
        return r;
    }
    if (count_members(value) != count_colons(text, len)) {
        return error_set(err, RONDO_ERR_INVALID, "an object has a member twice");
    }
    *ret_value = value;
    value = NULL;
    return 0;
}
