// SPDX-License-Identifier: Apache-2.0
/* Templates of endpoints. The recursion follows a role's own JSON, whose depth is limited. Pure. */
#include "tool/builtin/api_template.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "tool/builtin/url.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

static struct json_object *find_parameter(const struct template_values *values, const char *name)
{
    size_t count = json_length(values->parameters);
    for (size_t i = 0; i < count; i++) {
        struct json_object *parameter = json_object_array_get_idx(values->parameters, i);
        if (strcmp(json_get_string(parameter, "name", ""), name) == 0) {
            return parameter;
        }
    }
    return NULL;
}

/** What a parameter is in this call: given, or by default; NULL = neither. */
static struct json_object *value_of(const struct template_values *values, const char *name,
                                    struct json_object *parameter)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(values->arguments, name, &value) || value == NULL) {
        json_object_object_get_ex(parameter, "default", &value);
    }
    return value;
}

static const char *text_of(struct json_object *value)
{
    return value == NULL ? "" : json_object_get_string(value);
}

/** Whether "{name}" of a parameter is at this place. @param ret_value NULL = it has none */
static bool read_slot(const struct template_values *values, const char *at, size_t *ret_len,
                      struct json_object **ret_value)
{
    const char *end = at[0] == '{' ? strchr(at, '}') : NULL;
    if (end == NULL) {
        return false;
    }
    char *name = memory_dup_bytes(at + 1, (size_t)(end - at - 1));
    struct json_object *parameter = find_parameter(values, name);
    if (parameter != NULL) {
        *ret_value = value_of(values, name, parameter);
        *ret_len = (size_t)(end - at) + 1;
    }
    free(name);
    return parameter != NULL;
}

/** Whether a template is one parameter and nothing else, and that one has no value. */
static bool is_absent(const struct template_values *values, const char *template)
{
    struct json_object *value = NULL;
    size_t len = 0;
    return read_slot(values, template, &len, &value) && template[len] == '\0' && value == NULL;
}

/** Replace; with `kept` what is put in is escaped. */
static void replace(const struct template_values *values, const char *template, const char *kept,
                    struct buf *ret_text)
{
    while (*template != '\0') {
        struct json_object *value = NULL;
        size_t len = 0;
        if (!read_slot(values, template, &len, &value)) {
            buf_append(ret_text, template, 1);
            template ++;
            continue;
        }
        if (kept != NULL) {
            tool_url_escape(text_of(value), kept, ret_text);
        } else {
            buf_append_string(ret_text, text_of(value));
        }
        template += len;
    }
}

bool template_path(const struct template_values *values, const char *template, struct buf *ret_path)
{
    replace(values, template, "/", ret_path);
    return !tool_url_climbs(buf_string(ret_path));
}

void template_query(const struct template_values *values, struct json_object *map, bool has_query,
                    struct buf *ret_url)
{
    if (!json_object_is_type(map, json_type_object)) {
        return;
    }
    struct json_object_iterator end = json_object_iter_end(map);
    for (struct json_object_iterator at = json_object_iter_begin(map);
         !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *template = text_of(json_object_iter_peek_value(&at));
        struct buf value = {0};
        if (is_absent(values, template)) {
            continue;
        }
        replace(values, template, NULL, &value);
        buf_append_string(ret_url, has_query ? "&" : "?");
        tool_url_escape(json_object_iter_peek_name(&at), "", ret_url);
        buf_append_string(ret_url, "=");
        tool_url_escape(buf_string(&value), "", ret_url);
        buf_fini(&value);
        has_query = true;
    }
}

/* --- bodies --- */

static void write_value(const struct template_values *values, struct json_writer *writer,
                        const char *key, struct json_object *value);

static void write_text(const struct template_values *values, struct json_writer *writer,
                       const char *key, const char *template)
{
    struct buf text = {0};
    replace(values, template, NULL, &text);
    json_write_string_len(writer, key, buf_string(&text), text.len);
    buf_fini(&text);
}

static bool is_absent_value(const struct template_values *values, struct json_object *value)
{
    return json_object_is_type(value, json_type_string) &&
           is_absent(values, json_object_get_string(value));
}

static void write_object(const struct template_values *values, struct json_writer *writer,
                         const char *key, struct json_object *object)
{
    json_begin_object(writer, key);
    struct json_object_iterator end = json_object_iter_end(object);
    for (struct json_object_iterator at = json_object_iter_begin(object);
         !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *value = json_object_iter_peek_value(&at);
        if (!is_absent_value(values, value)) {
            write_value(values, writer, json_object_iter_peek_name(&at), value);
        }
    }
    json_end_object(writer);
}

static void write_array(const struct template_values *values, struct json_writer *writer,
                        const char *key, struct json_object *array)
{
    json_begin_array(writer, key);
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        struct json_object *value = json_object_array_get_idx(array, i);
        if (!is_absent_value(values, value)) {
            write_value(values, writer, NULL, value);
        }
    }
    json_end_array(writer);
}

static void write_value(const struct template_values *values, struct json_writer *writer,
                        const char *key, struct json_object *value)
{
    if (json_object_is_type(value, json_type_string)) {
        write_text(values, writer, key, json_object_get_string(value));
    } else if (json_object_is_type(value, json_type_object)) {
        write_object(values, writer, key, value);
    } else if (json_object_is_type(value, json_type_array)) {
        write_array(values, writer, key, value);
    } else {
        json_write_raw(
            writer, key,
            value == NULL ? "null" : json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
    }
}

void template_body(const struct template_values *values, struct json_object *template,
                   struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    write_value(values, &writer, NULL, template);
}
