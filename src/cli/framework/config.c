// SPDX-License-Identifier: Apache-2.0
/* Reading configuration files into an option set. */
#include "cli/framework/config.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "os/file_untrusted.h"

#include <json-c/json.h>
#include <string.h>

/** What a kind of option takes, for messages. */
static const char *const wanted[] = {
    [OPTION_FLAG] = "true or false",
    [OPTION_INT] = "a whole number",
    [OPTION_DURATION] = "a string such as \"30s\", or whole seconds",
    [OPTION_MONEY] = "an amount such as 0.25",
    [OPTION_CHOICE] = "a string",
    [OPTION_TEXT] = "a string",
    [OPTION_LIST] = "an array of strings",
};

static bool has_right_type(enum option_kind kind, struct json_object *value)
{
    enum json_type type = json_object_get_type(value);
    switch (kind) {
    case OPTION_FLAG:
        return type == json_type_boolean;
    case OPTION_INT:
        return type == json_type_int;
    case OPTION_DURATION:
        return type == json_type_string || type == json_type_int;
    case OPTION_MONEY:
        return type == json_type_string || type == json_type_int || type == json_type_double;
    case OPTION_CHOICE:
    case OPTION_TEXT:
        return type == json_type_string;
    case OPTION_LIST:
        return type == json_type_array;
    }
    return false;
}

/** Set from one JSON scalar. json-c keeps the digits of numbers as they were written. */
static int set_scalar(struct option_set *set, size_t index, struct json_object *value,
                      struct rondo_error *err)
{
    const char *text = json_object_get_string(value);
    if (json_object_is_type(value, json_type_string) &&
        strlen(text) != (size_t)json_object_get_string_len(value)) {
        return error_set(err, RONDO_ERR_INVALID, "--%s: the text contains a NUL byte",
                         set->rows[index].name);
    }
    return option_set_text(set, index, text, err);
}

static int set_list(struct option_set *set, size_t index, struct json_object *value,
                    struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; i < json_object_array_length(value) && r == 0; i++) {
        struct json_object *element = json_object_array_get_idx(value, i);
        r = json_object_is_type(element, json_type_string)
                ? set_scalar(set, index, element, err)
                : error_set(err, RONDO_ERR_INVALID, "takes %s", wanted[OPTION_LIST]);
    }
    return r;
}

static int set_value(struct option_set *set, size_t index, struct json_object *value,
                     struct rondo_error *err)
{
    enum option_kind kind = set->rows[index].kind;
    if (!has_right_type(kind, value)) {
        return error_set(err, RONDO_ERR_INVALID, "takes %s", wanted[kind]);
    }
    if (kind == OPTION_LIST) {
        return set_list(set, index, value, err);
    }
    if (kind == OPTION_FLAG) {
        return json_object_get_boolean(value) ? option_set_text(set, index, NULL, err) : 0;
    }
    return set_scalar(set, index, value, err);
}

static int apply_member(struct option_set *set, const bool *is_fixed, const char *key,
                        struct json_object *value, struct rondo_error *err)
{
    int index = option_find(set->rows, key);
    if (index < 0 || set->rows[index].is_only_arguments || set->rows[index].is_hidden) {
        return error_set(err, RONDO_ERR_INVALID, "unknown key \"%.64s\"", key);
    }
    if (is_fixed[index]) {
        return 0;
    }
    int r = set_value(set, (size_t)index, value, err);
    if (r < 0) {
        error_prefix(err, "key \"%.64s\"", key);
    }
    return r;
}

int config_parse(const char *text, size_t len, struct option_set *set, struct rondo_error *err)
{
    if (len > LIMIT_CONFIG_FILE_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "it has %zu bytes; the limit is %ld", len,
                         LIMIT_CONFIG_FILE_BYTES);
    }
    auto_json struct json_object *root = NULL;
    int r = json_parse(text, len, &root, err);
    return r < 0 ? r : config_apply(root, set, err);
}

int config_apply(struct json_object *root, struct option_set *set, struct rondo_error *err)
{
    if (!json_object_is_type(root, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "it is not a JSON object");
    }
    bool is_fixed[OPTION_ROWS_MAX];
    memcpy(is_fixed, set->is_given, sizeof(is_fixed));
    struct json_object_iter member;
    json_object_object_foreachC(root, member)
    {
        int r = apply_member(set, is_fixed, member.key, member.val, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int config_read(const char *path, struct option_set *set, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    int r = file_read_named(NULL, path, LIMIT_CONFIG_FILE_BYTES, &text, err);
    if (r == 0) {
        r = config_parse(buf_string(&text), text.len, set, err);
        if (r < 0) {
            error_prefix(err, "%s", path);
        }
    }
    return r;
}
