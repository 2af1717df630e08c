// SPDX-License-Identifier: Apache-2.0
/* Walks over JSON of limited depth (LIMIT_JSON_DEPTH), because it was parsed by base/json. */
#include "mcp/headers.h"

#include "base/ascii.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/base64.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANNOTATION "x-mcp-header"
#define PREFIX     "Mcp-Param-"
/* Integers that are safe in every implementation: +-(2^53 - 1). */
#define SAFE_INTEGER INT64_C(9007199254740991)

/* --- values --- */

static bool is_plain(const char *value, size_t len)
{
    static const char begin[] = "=?base64?";
    if (len == 0) {
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        if (value[i] < 0x20 || value[i] > 0x7e) {
            return false;
        }
    }
    bool looks_encoded = len >= sizeof(begin) - 1 + 2 &&
                         strncmp(value, begin, sizeof(begin) - 1) == 0 && value[len - 2] == '?' &&
                         value[len - 1] == '=';
    return value[0] != ' ' && value[len - 1] != ' ' && !looks_encoded;
}

void mcp_header_encode(const char *value, size_t len, struct buf *ret_text)
{
    if (is_plain(value, len)) {
        buf_append(ret_text, value, len);
        return;
    }
    buf_append_string(ret_text, "=?base64?");
    base64_encode(value, len, ret_text);
    buf_append_string(ret_text, "?=");
}

/* --- schemas --- */

static bool is_primitive_name(const char *type)
{
    return strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 ||
           strcmp(type, "boolean") == 0;
}

/** Whether a property's type is one that fits into a header; it may also be null. */
static bool is_primitive(struct json_object *type)
{
    if (json_object_is_type(type, json_type_string)) {
        return is_primitive_name(json_object_get_string(type));
    }
    size_t count = json_length(type);
    size_t primitives = 0;
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(type, i);
        const char *name =
            json_object_is_type(item, json_type_string) ? json_object_get_string(item) : "";
        primitives += is_primitive_name(name) ? 1 : 0;
        if (!is_primitive_name(name) && strcmp(name, "null") != 0) {
            return false;
        }
    }
    return primitives > 0;
}

/* Annotations seen in permitted places. */
struct header_annotations {
    const char **names; /* borrowed from the schema */
    size_t count;
    char *reason;
    size_t size;
};

static bool refuse(struct header_annotations *found, const char *name, const char *why)
{
    char clean[64];
    size_t len = strnlen(name, sizeof(clean) - 1);
    for (size_t i = 0; i < len; i++) {
        clean[i] = name[i] >= 0x20 && name[i] < 0x7f ? name[i] : '?';
    }
    clean[len] = '\0';
    snprintf(found->reason, found->size, "its " ANNOTATION " \"%s\" %s", clean, why);
    return false;
}

static bool take_annotation(struct header_annotations *found, struct json_object *property,
                            struct json_object *annotation)
{
    if (!json_object_is_type(annotation, json_type_string)) {
        return refuse(found, "", "is not a string");
    }
    const char *name = json_object_get_string(annotation);
    if ((size_t)json_object_get_string_len(annotation) != strlen(name) || !ascii_is_token(name)) {
        return refuse(found, name, "cannot be part of a header's name");
    }
    if (!is_primitive(json_member(property, "type"))) {
        return refuse(found, name,
                      "is set for an argument that is not a string, integer or boolean");
    }
    for (size_t i = 0; i < found->count; i++) {
        if (strcasecmp(found->names[i], name) == 0) {
            return refuse(found, name, "is set for two arguments");
        }
    }
    found->names = memory_resize(found->names, found->count + 1, sizeof(*found->names));
    found->names[found->count++] = name;
    return true;
}

/** Those that are reached by `properties` alone. */
static bool take_properties(struct header_annotations *found, struct json_object *schema)
{
    struct json_object *properties = json_member(schema, "properties");
    if (!json_object_is_type(properties, json_type_object)) {
        return true;
    }
    struct json_object_iterator i = json_object_iter_begin(properties);
    struct json_object_iterator end = json_object_iter_end(properties);
    for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
        struct json_object *property = json_object_iter_peek_value(&i);
        struct json_object *annotation = NULL;
        if (!json_object_is_type(property, json_type_object)) {
            continue;
        }
        if (json_object_object_get_ex(property, ANNOTATION, &annotation) &&
            !take_annotation(found, property, annotation)) {
            return false;
        }
        if (!take_properties(found, property)) {
            return false;
        }
    }
    return true;
}

static bool is_data(const char *keyword)
{
    return strcmp(keyword, "default") == 0 || strcmp(keyword, "const") == 0 ||
           strcmp(keyword, "enum") == 0 || strcmp(keyword, "examples") == 0;
}

/** All annotations anywhere. @param is_map keys are names of properties, not keywords */
static size_t count_annotations(struct json_object *schema, bool is_map)
{
    size_t count = 0;
    if (json_object_is_type(schema, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(schema); i++) {
            count += count_annotations(json_object_array_get_idx(schema, i), false);
        }
    }
    if (!json_object_is_type(schema, json_type_object)) {
        return count;
    }
    struct json_object_iterator i = json_object_iter_begin(schema);
    struct json_object_iterator end = json_object_iter_end(schema);
    for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
        const char *key = json_object_iter_peek_name(&i);
        struct json_object *value = json_object_iter_peek_value(&i);
        if (!is_map && strcmp(key, ANNOTATION) == 0) {
            count++;
        } else if (is_map || !is_data(key)) {
            bool has_names =
                !is_map &&
                (strcmp(key, "properties") == 0 || strcmp(key, "$defs") == 0 ||
                 strcmp(key, "definitions") == 0 || strcmp(key, "patternProperties") == 0 ||
                 strcmp(key, "dependentSchemas") == 0);
            count += count_annotations(value, has_names);
        }
    }
    return count;
}

bool mcp_headers_are_valid(struct json_object *schema, char *ret_reason, size_t size)
{
    struct header_annotations found = {.reason = ret_reason, .size = size};
    bool is_valid = take_properties(&found, schema);
    if (is_valid && count_annotations(schema, false) != found.count) {
        snprintf(ret_reason, size, "it has an " ANNOTATION " where none is allowed");
        is_valid = false;
    }
    free(found.names);
    return is_valid;
}

/* --- arguments --- */

static void pass_header(const char *name, struct json_object *value, mcp_header_taker *take,
                        void *context)
{
    auto_buf struct buf header = {0};
    auto_buf struct buf text = {0};
    char number[32];
    if (json_object_is_type(value, json_type_string)) {
        mcp_header_encode(json_object_get_string(value), (size_t)json_object_get_string_len(value),
                          &text);
    } else if (json_object_is_type(value, json_type_boolean)) {
        buf_append_string(&text, json_object_get_boolean(value) ? "true" : "false");
    } else if (json_object_is_type(value, json_type_int) &&
               json_object_get_int64(value) <= SAFE_INTEGER &&
               json_object_get_int64(value) >= -SAFE_INTEGER) {
        snprintf(number, sizeof(number), "%" PRId64, json_object_get_int64(value));
        buf_append_string(&text, number);
    } else {
        return;
    }
    buf_printf(&header, PREFIX "%s", name);
    take(context, buf_string(&header), buf_string(&text));
}

void mcp_headers_of(struct json_object *schema, struct json_object *arguments,
                    mcp_header_taker *take, void *context)
{
    struct json_object *properties = json_member(schema, "properties");
    if (!json_object_is_type(properties, json_type_object) ||
        !json_object_is_type(arguments, json_type_object)) {
        return;
    }
    struct json_object_iterator i = json_object_iter_begin(properties);
    struct json_object_iterator end = json_object_iter_end(properties);
    for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
        struct json_object *property = json_object_iter_peek_value(&i);
        struct json_object *value = json_member(arguments, json_object_iter_peek_name(&i));
        struct json_object *annotation = json_member(property, ANNOTATION);
        if (value != NULL && json_object_is_type(annotation, json_type_string)) {
            pass_header(json_object_get_string(annotation), value, take, context);
        }
        mcp_headers_of(property, value, take, context);
    }
}
