// SPDX-License-Identifier: Apache-2.0
/* Permissions of tool entries. Pure; the recursion is bounded by the depth of JSON that is read. */
#include "tool/permission.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdint.h>
#include <string.h>

/** Texts are matched as they are, booleans in two spellings, the rest as JSON. */
static bool value_matches(struct json_object *value, const char *glob)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return false;
    case json_type_string:
        return glob_matches(glob, json_object_get_string(value));
    case json_type_boolean: {
        bool is_true = json_object_get_boolean(value);
        return glob_matches(glob, is_true ? "True" : "False") ||
               glob_matches(glob, is_true ? "true" : "false");
    }
    case json_type_double:
    case json_type_int:
    case json_type_object:
    case json_type_array:
        break;
    }
    return glob_matches(glob, json_object_to_json_string_ext(
                                  value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

static bool argument_matches(struct json_object *arguments, const char *pattern, size_t name_len)
{
    auto_free char *name = memory_dup_bytes(pattern, name_len);
    struct json_object *value = NULL;
    return json_object_object_get_ex(arguments, name, &value) &&
           value_matches(value, pattern + name_len + 1);
}

static bool any_text_matches(struct json_object *value, const char *glob, unsigned depth);

static bool any_member_matches(struct json_object *object, const char *glob, unsigned depth)
{
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        if (any_text_matches(json_object_iter_peek_value(&at), glob, depth)) {
            return true;
        }
    }
    return false;
}

/** @param depth how many levels of arrays and objects below this value are looked at */
static bool any_text_matches(struct json_object *value, const char *glob, unsigned depth)
{
    if (json_object_is_type(value, json_type_string)) {
        return glob_matches(glob, json_object_get_string(value));
    }
    if (depth == 0) {
        return false;
    }
    if (json_object_is_type(value, json_type_object)) {
        return any_member_matches(value, glob, depth - 1);
    }
    size_t count = json_length(value);
    for (size_t i = 0; i < count; i++) {
        if (any_text_matches(json_object_array_get_idx(value, i), glob, depth - 1)) {
            return true;
        }
    }
    return false;
}

static bool pattern_matches(const char *pattern, struct json_object *arguments, unsigned depth)
{
    const char *equals = strchr(pattern, '=');
    return equals != NULL ? argument_matches(arguments, pattern, (size_t)(equals - pattern))
                          : any_text_matches(arguments, pattern, depth);
}

/** The first pattern of a list that matches, or NULL. */
static const char *first_match(struct json_object *permissions, const char *list_name,
                               struct json_object *arguments, unsigned depth)
{
    struct json_object *list = NULL;
    if (!json_object_object_get_ex(permissions, list_name, &list) ||
        !json_object_is_type(list, json_type_array)) {
        return NULL;
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        bool is_text = json_object_is_type(item, json_type_string);
        if (is_text && pattern_matches(json_object_get_string(item), arguments, depth)) {
            return json_object_get_string(item);
        }
    }
    return NULL;
}

bool permission_denies(struct json_object *permissions, struct json_object *arguments,
                       const char **ret_rule)
{
    const char *rule =
        permissions == NULL ? NULL : first_match(permissions, "deny", arguments, UINT32_MAX);
    *ret_rule = rule;
    return rule != NULL;
}

bool permission_allows(struct json_object *permissions, struct json_object *arguments,
                       const char **ret_rule)
{
    *ret_rule = NULL;
    if (permissions == NULL) {
        return true;
    }
    if (permission_denies(permissions, arguments, ret_rule)) {
        return false;
    }
    if (first_match(permissions, "allow", arguments, 1) != NULL) {
        return true;
    }
    return strcmp(json_get_string(permissions, "default", "allow"), "allow") == 0;
}
