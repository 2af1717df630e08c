// SPDX-License-Identifier: Apache-2.0
/* From nodes to json-c's objects, and looking into these. Any thread. */
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/reader.h"
#include "base/limits.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t plain_once = PTHREAD_ONCE_INIT;
static locale_t plain_locale;

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

double json_number_of(const char *text)
{
    pthread_once(&plain_once, make_plain_locale);
    return plain_locale == (locale_t)0 ? strtod(text, NULL) : strtod_l(text, NULL, plain_locale);
}

static struct json_object *make(struct json_reader *reader, const struct json_node *node);

/** A terminated copy in the reader's buffer. */
static const char *copy(struct json_reader *reader, const char *bytes, size_t len)
{
    buf_clear(&reader->string);
    buf_append(&reader->string, bytes, len);
    return buf_string(&reader->string);
}

/** Numbers beyond 64 bits are doubles, written again as they were read. */
static struct json_object *make_number(struct json_reader *reader, const struct json_node *node)
{
    const char *text = copy(reader, reader->text + node->at, node->count);
    if (strspn(text, "-0123456789") == node->count) {
        if (strcmp(text, "-0") == 0) {
            return json_object_new_int64(0);
        }
        errno = 0;
        uint64_t number = strtoull(text, NULL, 10);
        if (errno == 0 && text[0] != '-') {
            return json_object_new_uint64(number);
        }
    }
    return json_object_new_double_s(json_number_of(text), text);
}

static struct json_object *make_array(struct json_reader *reader, const struct json_node *node)
{
    struct json_object *array = json_object_new_array_ext((int)node->count);
    for (uint32_t i = 0; i < node->count; i++) {
        json_object_array_add(array, make(reader, &node->as.children[i]));
    }
    return array;
}

static struct json_object *make_object(struct json_reader *reader, const struct json_node *node)
{
    struct json_object *object = json_object_new_object();
    for (uint32_t i = 0; i < node->count; i++) {
        const struct json_node *key = &node->as.children[2 * (size_t)i];
        struct json_object *value = make(reader, key + 1);
        json_object_object_add(object, copy(reader, key->as.bytes, key->count), value);
    }
    return object;
}

static struct json_object *make(struct json_reader *reader, const struct json_node *node)
{
    switch (node->kind) {
    case JSON_NODE_BOOL:
        return json_object_new_boolean(node->as.truth);
    case JSON_NODE_INTEGER:
        return json_object_new_int64(node->as.number);
    case JSON_NODE_NUMBER:
        return make_number(reader, node);
    case JSON_NODE_STRING:
        return json_object_new_string_len(node->as.bytes, (int)node->count);
    case JSON_NODE_ARRAY:
        return make_array(reader, node);
    case JSON_NODE_OBJECT:
        return make_object(reader, node);
    case JSON_NODE_NULL:
        break;
    }
    return NULL;
}

static int parse(const char *text, size_t len, bool is_lenient, struct json_object **ret_value,
                 struct rondo_error *err)
{
    struct rondo_error fault = {0};
    const struct json_node *node = NULL;
    struct json_reader reader = {
        .text = text,
        .len = len,
        .max_bytes = INT_MAX,
        .max_depth = LIMIT_JSON_DEPTH,
        .is_lenient = is_lenient,
        .err = &fault,
    };
    int r = json_reader_begin(&reader);
    r = r != 0 ? r : json_reader_read(&reader, &node);
    r = r != 0 ? r : json_reader_end(&reader);
    if (r == 0 && ret_value != NULL) {
        *ret_value = make(&reader, node);
    }
    json_reader_fini(&reader);
    return r == 0 ? 0 : error_set(err, RONDO_ERR_INVALID, "not valid JSON: %s", fault.message);
}

int json_parse(const char *text, size_t len, struct json_object **ret_value,
               struct rondo_error *err)
{
    return parse(text, len, true, ret_value, err);
}

int json_parse_strict(const char *text, size_t len, struct json_object **ret_value,
                      struct rondo_error *err)
{
    return parse(text, len, false, ret_value, err);
}

size_t json_length(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

struct json_object *json_member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    if (json_object_is_type(object, json_type_object)) {
        json_object_object_get_ex(object, key, &value);
    }
    return value;
}

/** A member of one type, or NULL. */
static struct json_object *typed(struct json_object *object, const char *key, enum json_type type)
{
    struct json_object *value = json_member(object, key);
    return json_object_is_type(value, type) ? value : NULL;
}

const char *json_get_string(struct json_object *object, const char *key, const char *otherwise)
{
    struct json_object *value = typed(object, key, json_type_string);
    return value == NULL ? otherwise : json_object_get_string(value);
}

int64_t json_get_int(struct json_object *object, const char *key, int64_t otherwise)
{
    struct json_object *value = typed(object, key, json_type_int);
    return value == NULL ? otherwise : json_object_get_int64(value);
}

bool json_get_bool(struct json_object *object, const char *key, bool otherwise)
{
    struct json_object *value = typed(object, key, json_type_boolean);
    return value == NULL ? otherwise : json_object_get_boolean(value);
}

void json_auto_put(struct json_object **slot)
{
    json_object_put(*slot);
}
