// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a YAML tree by the tables of fields. Everything that is wrong is reported, so reading
 * continues after an error; its result is then incomplete and discarded.
 */
#include "role/reader.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text/suggest.h"

#include <assert.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A field of a value, absent or given. */
struct slot {
    const struct role_field *field;
    const struct yaml_node *node;  /**< the value, or NULL */
    const struct yaml_node *owner; /**< the object, or NULL */
};

/** A value that a table of fields has as JSON. */
static struct json_object *value_of(const char *json)
{
    struct json_object *value = NULL;
    int r = json_parse(json, strlen(json), &value, NULL);
    assert(r == 0);
    (void)r;
    return value;
}

static bool is_1_0(const struct role_reader *reader)
{
    return reader->schema == ROLE_SCHEMA_1_0;
}

static void wrong_type(struct role_reader *reader, const struct yaml_node *node,
                       const char *expected)
{
    auto_buf struct buf given = {0};
    auto_buf struct buf hint = {0};
    yaml_describe(node, &given);
    bool is_scalar = node->kind != YAML_LIST && node->kind != YAML_MAP && node->kind != YAML_NULL;
    if (is_scalar && strcmp(expected, "a string") == 0) {
        buf_printf(&hint, "put it in quotes: \"%.60s\"", node->text);
    } else if (strcmp(expected, "a list of strings") == 0 && is_scalar) {
        buf_printf(&hint, "write it as a list: [\"%.60s\"]", node->text);
    }
    reader_error(reader, node, hint.len > 0 ? buf_string(&hint) : NULL,
                 "%s is expected, but this is %s", expected, buf_string(&given));
}

static struct json_object *text_of(const struct yaml_node *node)
{
    return json_object_new_string_len(node->text, (int)node->len);
}

static struct json_object *read_text(struct role_reader *reader, const struct role_field *field,
                                     const struct yaml_node *node)
{
    if (node->kind != YAML_TEXT) {
        wrong_type(reader, node, "a string");
        return NULL;
    }
    if (field->check != NULL) {
        field->check(reader, node, node->text);
    }
    return text_of(node);
}

static void append_choices(const char *const *choices, struct buf *out)
{
    for (size_t i = 0; choices[i] != NULL; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ", choices[i]);
    }
}

static struct json_object *read_choice(struct role_reader *reader, const struct role_field *field,
                                       const struct yaml_node *node)
{
    struct suggest suggest = {.word = node->text, .len = node->len};
    for (size_t i = 0; node->kind == YAML_TEXT && field->choices[i] != NULL; i++) {
        if (strlen(field->choices[i]) == node->len &&
            memcmp(field->choices[i], node->text, node->len) == 0) {
            return text_of(node);
        }
        suggest_offer(&suggest, field->choices[i]);
    }
    auto_buf struct buf given = {0};
    auto_buf struct buf hint = {0};
    yaml_describe(node, &given);
    buf_append_string(&hint, "use ");
    append_choices(field->choices, &hint);
    suggest_write(&suggest, "", "", &hint);
    reader_error(reader, node, buf_string(&hint), "%s is not allowed here", buf_string(&given));
    return NULL;
}

static void check_range(struct role_reader *reader, const struct role_range *range,
                        const struct yaml_node *node, double number)
{
    bool is_low = range->has_low && (range->is_above ? number <= range->low : number < range->low);
    bool is_high = range->has_high && number > range->high;
    if (!is_low && !is_high) {
        return;
    }
    char hint[80];
    if (range->has_high) {
        snprintf(hint, sizeof(hint), "from %.15g to %.15g", range->low, range->high);
    } else {
        snprintf(hint, sizeof(hint), "%s %.15g", range->is_above ? "more than" : "at least",
                 range->low);
    }
    reader_error(reader, node, hint, "%.40s is too %s", node->text, is_low ? "small" : "large");
}

static struct json_object *read_scalar(struct role_reader *reader, const struct role_field *field,
                                       const struct yaml_node *node)
{
    struct json_object *value = field->kind == FIELD_BOOLEAN   ? coerce_boolean(node)
                                : field->kind == FIELD_INTEGER ? coerce_integer(node)
                                                               : coerce_number(node);
    if (value == NULL) {
        wrong_type(reader, node,
                   field->kind == FIELD_BOOLEAN   ? "true or false"
                   : field->kind == FIELD_INTEGER ? "an integer"
                                                  : "a number");
        return NULL;
    }
    if (field->kind != FIELD_BOOLEAN) {
        check_range(reader, &field->range, node, json_object_get_double(value));
    }
    return value;
}

static struct json_object *read_condition(struct role_reader *reader,
                                          const struct role_shape *shape,
                                          const struct yaml_node *node)
{
    if (node->kind != YAML_TEXT) {
        return reader_read_object(reader, shape, node);
    }
    check_condition_name(reader, node, node->text);
    struct json_object *condition = json_object_new_object();
    for (const struct role_field *field = shape->fields; field->name != NULL; field++) {
        bool is_name = strcmp(field->name, "name") == 0;
        json_object_object_add(condition, field->name,
                               is_name ? text_of(node)
                                       : value_of(role_field_default(field, false)));
    }
    return condition;
}

static struct json_object *read_variant(struct role_reader *reader,
                                        const struct role_variants *variants,
                                        const struct yaml_node *node);

static struct json_object *read_item(struct role_reader *reader, const struct role_field *field,
                                     const struct yaml_node *node)
{
    switch (field->kind) {
    case FIELD_INTEGER_LIST: {
        struct json_object *number = coerce_integer(node);
        if (number == NULL) {
            wrong_type(reader, node, "an integer");
        }
        return number;
    }
    case FIELD_OBJECT_LIST:
        return reader_read_object(reader, field->shape, node);
    case FIELD_VARIANT_LIST:
        return read_variant(reader, field->variants, node);
    case FIELD_CONDITIONS:
        return read_condition(reader, field->shape, node);
    case FIELD_TEXT:
    case FIELD_INTEGER:
    case FIELD_NUMBER:
    case FIELD_BOOLEAN:
    case FIELD_CHOICE:
    case FIELD_TEXT_LIST:
    case FIELD_TEXT_MAP:
    case FIELD_ANY:
    case FIELD_ANY_MAP:
    case FIELD_OBJECT:
        return read_text(reader, field, node);
    }
    return NULL;
}

static struct json_object *read_list(struct role_reader *reader, const struct role_field *field,
                                     const struct yaml_node *node)
{
    if (node->kind != YAML_LIST) {
        wrong_type(reader, node,
                   field->kind == FIELD_TEXT_LIST      ? "a list of strings"
                   : field->kind == FIELD_INTEGER_LIST ? "a list of numbers"
                                                       : "a list");
        return NULL;
    }
    bool holds_objects = field->kind != FIELD_TEXT_LIST && field->kind != FIELD_INTEGER_LIST;
    if (holds_objects && node->count > LIMIT_ROLE_LIST) {
        reader_error(reader, node, NULL, "a list of objects has at most %d items", LIMIT_ROLE_LIST);
        return NULL;
    }
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < node->count; i++) {
        size_t mark = reader_enter_index(reader, i);
        json_object_array_add(list, read_item(reader, field, node->items[i]));
        reader_leave(reader, mark);
    }
    return list;
}

static struct json_object *read_map(struct role_reader *reader, const struct role_field *field,
                                    const struct yaml_node *node)
{
    if (node->kind != YAML_MAP) {
        wrong_type(reader, node, "a map");
        return NULL;
    }
    struct json_object *map = json_object_new_object();
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *key = node->pairs[i].key;
        const struct yaml_node *value = node->pairs[i].value;
        size_t mark = reader_enter(reader, key->text, key->len);
        if (key->kind != YAML_TEXT) {
            wrong_type(reader, key, "a string");
        } else if (field->kind == FIELD_ANY_MAP) {
            json_object_object_add(map, key->text, yaml_to_json(value));
        } else {
            json_object_object_add(map, key->text, read_text(reader, field, value));
        }
        reader_leave(reader, mark);
    }
    return map;
}

static struct json_object *read_value(struct role_reader *reader, const struct role_field *field,
                                      const struct yaml_node *node)
{
    switch (field->kind) {
    case FIELD_TEXT:
        return read_text(reader, field, node);
    case FIELD_CHOICE:
        return read_choice(reader, field, node);
    case FIELD_INTEGER:
    case FIELD_NUMBER:
    case FIELD_BOOLEAN:
        return read_scalar(reader, field, node);
    case FIELD_TEXT_LIST:
    case FIELD_INTEGER_LIST:
    case FIELD_OBJECT_LIST:
    case FIELD_VARIANT_LIST:
    case FIELD_CONDITIONS:
        return read_list(reader, field, node);
    case FIELD_TEXT_MAP:
    case FIELD_ANY_MAP:
        return read_map(reader, field, node);
    case FIELD_ANY:
        return yaml_to_json(node);
    case FIELD_OBJECT:
        return reader_read_object(reader, field->shape, node);
    }
    return NULL;
}

/** What a field is when it is not given. */
static struct json_object *read_default(struct role_reader *reader, const struct role_field *field)
{
    const char *text = role_field_default(field, is_1_0(reader));
    if (field->kind == FIELD_OBJECT && strcmp(text, "{}") == 0) {
        return reader_read_object(reader, field->shape, NULL);
    }
    return value_of(text);
}

static const char *normal_name(const struct role_field *field)
{
    return field->normal_name != NULL ? field->normal_name : field->name;
}

static void read_absent(struct role_reader *reader, const struct slot *slot,
                        struct json_object *normal)
{
    const struct role_field *field = slot->field;
    if ((field->flags & FIELD_REQUIRED) != 0) {
        reader_error(reader, slot->owner, field->help, "`%s` is missing",
                     reader_shown_name(reader, field->name));
        return;
    }
    bool is_later = is_1_0(reader) && field->since > 0;
    if ((field->flags & FIELD_SPARSE) == 0 && !is_later) {
        json_object_object_add(normal, normal_name(field), read_default(reader, field));
    }
}

static void read_slot(struct role_reader *reader, const struct slot *slot,
                      struct json_object *normal)
{
    const struct role_field *field = slot->field;
    const char *name = reader_shown_name(reader, field->name);
    size_t mark = reader_enter(reader, name, strlen(name));
    if (slot->node == NULL) {
        read_absent(reader, slot, normal);
    } else if (slot->node->kind == YAML_NULL && (field->flags & FIELD_NULLABLE) != 0) {
        if ((field->flags & FIELD_SPARSE) == 0) {
            json_object_object_add(normal, normal_name(field), NULL);
        }
    } else {
        if ((field->flags & FIELD_DEAD) != 0) {
            reader_warning(reader, slot->node, NULL,
                           "this setting has no effect, neither in InitRunner nor here");
        }
        struct json_object *value = read_value(reader, field, slot->node);
        json_object_object_add(normal, normal_name(field), value);
        if (role_field_is_unhonoured(field, value)) {
            reader_unprotected(reader, slot->node, NULL,
                               "a protection that Rondo does not provide");
        }
        if (role_field_is_idle(field, value)) {
            reader_warning(reader, slot->node, NULL, "has no effect: %s", field->idle);
        }
    }
    reader_leave(reader, mark);
}

static bool is_field(const struct role_field *fields, const char *key)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        if (strcmp(fields->name, key) == 0 ||
            (fields->normal_name != NULL && strcmp(fields->normal_name, key) == 0) ||
            (fields->other_name != NULL && strcmp(fields->other_name, key) == 0)) {
            return true;
        }
    }
    return false;
}

static const struct role_foreign *find_foreign(const struct role_shape *shape, const char *key)
{
    const struct role_foreign *row = shape->foreign;
    for (; row != NULL && row->name != NULL; row++) {
        if (strcmp(row->name, key) == 0) {
            return row;
        }
    }
    return NULL;
}

/** Whether a key is a slip of one that protects. */
static bool is_slip_of_protection(const struct role_field *fields, const char *best)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        if (best != NULL && strcmp(fields->name, best) == 0) {
            return (fields->flags & FIELD_PROTECTS) != 0;
        }
    }
    return false;
}

/**
 * Whether an unknown key sounds like a protection. What sections do that are not run at all need
 * not be limited.
 */
static bool sounds_protecting(const struct role_reader *reader, const char *key)
{
    static const char *const words[] = {
        "approv", "confirm", "permission", "sandbox",  "secur",    "allow",   "deny",
        "denied", "block",   "forbid",     "restrict", "require",  "guard",   "limit",
        "budget", "quota",   "read_only",  "readonly", "network",  "isolat",  "filter",
        "redact", "mask",    "audit",      "policy",   "policies", "exclude",
    };
    static const char *const idle[] = {"metadata", "triggers",      "sinks", "ingest",
                                       "memory",   "observability", "output"};
    const char *path = buf_string(&reader->path);
    path += strncmp(path, "spec.", strlen("spec.")) == 0 ? strlen("spec.") : 0;
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        if (strncmp(path, idle[i], strlen(idle[i])) == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(key, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void warn_of_key(struct role_reader *reader, const struct role_shape *shape,
                        const struct role_field *common, const struct yaml_node *key)
{
    if (key->kind != YAML_TEXT) {
        auto_buf struct buf given = {0};
        yaml_describe(key, &given);
        reader_warning(reader, key, "put the key in quotes, if it is one",
                       "this key is not a string but %s; it has no effect", buf_string(&given));
        return;
    }
    const struct role_foreign *foreign = find_foreign(shape, key->text);
    if (foreign != NULL && foreign->protects) {
        reader_unprotected(
            reader, key, NULL,
            "a protection of later versions of InitRunner, which Rondo does not provide");
        return;
    }
    if (foreign != NULL) {
        reader_warning(reader, key, NULL,
                       "a setting of later versions of InitRunner; it has no effect here");
        return;
    }
    struct suggest suggest = {.word = key->text, .len = key->len};
    for (const struct role_field *field = shape->fields; field->name != NULL; field++) {
        suggest_offer(&suggest, field->name);
    }
    for (const struct role_field *field = common; field != NULL && field->name != NULL; field++) {
        suggest_offer(&suggest, field->name);
    }
    auto_buf struct buf hint = {0};
    suggest_write(&suggest, "", "", &hint);
    /* The suggestion comes as "; did you mean ...", to follow other words. */
    const char *advice = hint.len > 2 ? buf_string(&hint) + 2 : NULL;
    if (reader->is_flat && shape->is_closed) {
        reader_error(reader, key, advice, "unknown key");
    } else if (shape->protects || sounds_protecting(reader, key->text) ||
               is_slip_of_protection(shape->fields, suggest.best) ||
               is_slip_of_protection(common, suggest.best)) {
        reader_unprotected(reader, key, advice,
                           "unknown key; it looks like a protection, and has no effect");
    } else {
        reader_warning(reader, key, advice, "unknown key; it has no effect");
    }
}

/** Both spellings of one field: one of them would be lost. */
static void check_spellings(struct role_reader *reader, const struct role_field *fields,
                            const struct yaml_node *node)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        const struct yaml_node *other =
            fields->other_name == NULL ? NULL : yaml_get(node, fields->other_name);
        if (other != NULL && yaml_get(node, fields->name) != NULL) {
            size_t mark = reader_enter(reader, fields->other_name, strlen(fields->other_name));
            reader_error(reader, other, "remove one of them",
                         "another spelling of `%s`, which is "
                         "given too",
                         fields->name);
            reader_leave(reader, mark);
        }
    }
}

static void check_keys(struct role_reader *reader, const struct role_shape *shape,
                       const struct role_field *common, bool has_type, const struct yaml_node *node)
{
    check_spellings(reader, shape->fields, node);
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *key = node->pairs[i].key;
        bool is_known = key->kind == YAML_TEXT &&
                        (is_field(shape->fields, key->text) || is_field(common, key->text) ||
                         (has_type && strcmp(key->text, "type") == 0));
        if (!is_known) {
            size_t mark = reader_enter(reader, key->text, key->len);
            warn_of_key(reader, shape, common, key);
            reader_leave(reader, mark);
        }
    }
}

static const struct yaml_node *find_value(const struct yaml_node *node,
                                          const struct role_field *field)
{
    if (node == NULL) {
        return NULL;
    }
    const struct yaml_node *value = yaml_get(node, field->name);
    if (value == NULL && field->normal_name != NULL) {
        value = yaml_get(node, field->normal_name);
    }
    if (value == NULL && field->other_name != NULL) {
        value = yaml_get(node, field->other_name);
    }
    return value;
}

static void read_fields(struct role_reader *reader, const struct role_field *fields,
                        const struct yaml_node *node, struct json_object *normal)
{
    for (; fields != NULL && fields->name != NULL; fields++) {
        struct slot slot = {
            .field = fields,
            .owner = node,
            .node = find_value(node, fields),
        };
        read_slot(reader, &slot, normal);
    }
}

struct json_object *reader_read_object(struct role_reader *reader, const struct role_shape *shape,
                                       const struct yaml_node *node)
{
    struct json_object *normal = json_object_new_object();
    if (node != NULL && node->kind != YAML_MAP) {
        wrong_type(reader, node, "a map");
        return normal;
    }
    size_t errors = reader_errors(reader);
    read_fields(reader, shape->fields, node, normal);
    if (node != NULL) {
        check_keys(reader, shape, NULL, false, node);
    }
    if (shape->check != NULL && reader_errors(reader) == errors) {
        shape->check(reader, node, normal);
    }
    return normal;
}

/** A type that nothing is known about: its keys are kept for a plug-in. */
static struct json_object *read_other(struct role_reader *reader,
                                      const struct role_variants *variants,
                                      const struct yaml_node *node, const struct yaml_node *type)
{
    struct suggest suggest = {.word = type->text, .len = type->len};
    for (size_t i = 0; variants->shapes[i] != NULL; i++) {
        suggest_offer(&suggest, variants->shapes[i]->name);
    }
    auto_buf struct buf hint = {0};
    suggest_write(&suggest, "", "", &hint);
    reader_warning(reader, type, hint.len > 2 ? buf_string(&hint) + 2 : NULL,
                   "unknown %s type \"%.60s\"; assumed to be a plug-in", variants->what,
                   type->text);
    struct json_object *normal = json_object_new_object();
    json_object_object_add(normal, "type", text_of(type));
    if (!is_1_0(reader)) {
        json_object_object_add(normal, "permissions", NULL);
    }
    struct json_object *config = json_object_new_object();
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *key = node->pairs[i].key;
        if (key->kind != YAML_TEXT) {
            wrong_type(reader, key, "a string");
        } else if (strcmp(key->text, "type") != 0) {
            json_object_object_add(config, key->text, yaml_to_json(node->pairs[i].value));
        }
    }
    json_object_object_add(normal, "config", config);
    return normal;
}

static void wrong_variant(struct role_reader *reader, const struct role_variants *variants,
                          const struct yaml_node *node, const struct yaml_node *type)
{
    struct suggest suggest = {.word = ""};
    if (type != NULL && type->kind == YAML_TEXT) {
        suggest.word = type->text;
        suggest.len = type->len;
    }
    auto_buf struct buf hint = {0};
    buf_append_string(&hint, "use ");
    for (size_t i = 0; variants->shapes[i] != NULL; i++) {
        buf_printf(&hint, "%s%s",
                   i == 0                            ? ""
                   : variants->shapes[i + 1] == NULL ? " or "
                                                     : ", ",
                   variants->shapes[i]->name);
        suggest_offer(&suggest, variants->shapes[i]->name);
    }
    suggest_write(&suggest, "", "", &hint);
    size_t mark = reader_enter(reader, "type", 4);
    if (type == NULL) {
        reader_error(reader, node, buf_string(&hint), "`type` is missing");
    } else {
        auto_buf struct buf given = {0};
        yaml_describe(type, &given);
        reader_error(reader, type, buf_string(&hint), "%s is not a type of %s", buf_string(&given),
                     variants->what);
    }
    reader_leave(reader, mark);
}

static struct json_object *read_variant(struct role_reader *reader,
                                        const struct role_variants *variants,
                                        const struct yaml_node *node)
{
    if (node->kind != YAML_MAP) {
        wrong_type(reader, node, "a map");
        return NULL;
    }
    const struct yaml_node *type = yaml_get(node, "type");
    if (type == NULL || type->kind != YAML_TEXT) {
        wrong_variant(reader, variants, node, type);
        return NULL;
    }
    const struct role_shape *shape = role_variant_find(variants, type->text, type->len);
    if (shape == NULL && variants->takes_others) {
        return read_other(reader, variants, node, type);
    }
    if (shape == NULL) {
        wrong_variant(reader, variants, node, type);
        return NULL;
    }
    size_t errors = reader_errors(reader);
    struct json_object *normal = json_object_new_object();
    json_object_object_add(normal, "type", json_object_new_string(shape->name));
    read_fields(reader, shape->fields, node, normal);
    read_fields(reader, variants->common, node, normal);
    check_keys(reader, shape, variants->common, true, node);
    if (shape->check != NULL && reader_errors(reader) == errors) {
        shape->check(reader, node, normal);
    }
    return normal;
}
