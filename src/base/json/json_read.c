// SPDX-License-Identifier: Apache-2.0
/* Reading JSON: json-c with our limits. No state; any thread. */
#include "base/json/json.h"

#include "base/error.h"
#include "base/json/json_check.h"
#include "base/limits.h"

#include <json-c/json.h>
#include <limits.h>

int json_parse(const char *text, size_t len, struct json_object **ret_value,
               struct rondo_error *err)
{
    if (len > INT_MAX) {
        return error_set(err, RONDO_ERR_LIMIT, "JSON text of %zu bytes is too long", len);
    }
    size_t fault = 0;
    if (!json_is_valid(text, len, &fault)) {
        return error_set(err, RONDO_ERR_INVALID, "not valid JSON at byte %zu", fault);
    }
    struct json_tokener *tokener = json_tokener_new_ex(LIMIT_JSON_DEPTH + 1);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    /* json-c only knows that a bare number has ended when it sees a byte behind it. */
    struct json_object *value = json_tokener_parse_ex(tokener, text, (int)len);
    enum json_tokener_error outcome = json_tokener_get_error(tokener);
    if (outcome == json_tokener_continue) {
        value = json_tokener_parse_ex(tokener, "", 1);
        outcome = json_tokener_get_error(tokener);
    }
    size_t offset = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (outcome != json_tokener_success) {
        json_object_put(value);
        return error_set(err, RONDO_ERR_INVALID, "not valid JSON at byte %zu: %s", offset,
                         json_tokener_error_desc(outcome));
    }
    *ret_value = value;
    return 0;
}

static struct json_object *member(struct json_object *object, const char *key, enum json_type type)
{
    struct json_object *value = NULL;
    if (!json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, type)) {
        return NULL;
    }
    return value;
}

const char *json_get_string(struct json_object *object, const char *key, const char *otherwise)
{
    struct json_object *value = member(object, key, json_type_string);
    return value == NULL ? otherwise : json_object_get_string(value);
}

int64_t json_get_int(struct json_object *object, const char *key, int64_t otherwise)
{
    struct json_object *value = member(object, key, json_type_int);
    return value == NULL ? otherwise : json_object_get_int64(value);
}

bool json_get_bool(struct json_object *object, const char *key, bool otherwise)
{
    struct json_object *value = member(object, key, json_type_boolean);
    return value == NULL ? otherwise : json_object_get_boolean(value);
}

void json_auto_put(struct json_object **slot)
{
    json_object_put(*slot);
}
