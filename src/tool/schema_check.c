// SPDX-License-Identifier: Apache-2.0
/* The JSON Schema checker: one function a keyword, in a table. */
#include "tool/schema_check.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/suggest.h"

#include <json-c/json.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* A value is quoted up to here, in bytes. */
#define QUOTE_BYTES 60

struct schema_check {
    struct json_object *root;
    struct buf *faults; /* NULL while a branch is only tried */
    unsigned fault_count;
    unsigned steps;
    unsigned depth;
};

/* Where the value is; the outermost has no parent. */
struct value_place {
    const struct value_place *parent;
    const char *key; /* NULL = the element at `index` */
    size_t index;
};

static bool check_value(struct schema_check *check, struct json_object *schema,
                        struct json_object *value, const struct value_place *place);

/* --- faults --- */

static void write_place(const struct value_place *place, struct buf *text)
{
    if (place->parent == NULL) {
        return;
    }
    write_place(place->parent, text);
    if (place->key == NULL) {
        buf_printf(text, "[%zu]", place->index);
    } else {
        buf_printf(text, "%s%s", place->parent->parent == NULL ? "" : ".", place->key);
    }
}

static const char *type_name(struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return "null";
    case json_type_boolean:
        return "boolean";
    case json_type_double:
        return "number";
    case json_type_int:
        return "integer";
    case json_type_object:
        return "object";
    case json_type_array:
        return "array";
    case json_type_string:
        return "string";
    }
    return "value";
}

/** The value as JSON, cut. A copy is written, because json-c caches the text in the value. */
static void write_quoted(struct json_object *value, struct buf *text)
{
    struct json_object *copy = NULL;
    json_object_deep_copy(value, &copy, NULL);
    const char *json = json_object_to_json_string_ext(copy, JSON_C_TO_STRING_PLAIN |
                                                                JSON_C_TO_STRING_NOSLASHESCAPE);
    size_t len = strlen(json);
    size_t keep = len <= QUOTE_BYTES ? len : QUOTE_BYTES;
    while (keep < len && keep > 0 && ((unsigned char)json[keep] & 0xC0) == 0x80) {
        keep--;
    }
    buf_append(text, json, keep);
    buf_append_string(text, keep < len ? "..." : "");
    json_object_put(copy);
}

/** Begin a fault. @return where to write it on, or NULL when it is not reported */
static struct buf *begin_fault(struct schema_check *check, const struct value_place *place)
{
    if (check->faults == NULL || ++check->fault_count > SCHEMA_MAX_FAULTS) {
        return NULL;
    }
    buf_append_string(check->faults, check->faults->len > 0 ? "; " : "");
    if (place->parent != NULL) {
        buf_append_string(check->faults, "`");
        write_place(place, check->faults);
        buf_append_string(check->faults, "`: ");
    }
    return check->faults;
}

static void end_with_value(struct buf *text, struct json_object *value)
{
    buf_append_string(text, ", got ");
    write_quoted(value, text);
    if (value != NULL) {
        buf_printf(text, " (%s)", type_name(value));
    }
}

/** "expected WHAT, got VALUE". @return false */
static bool fault_expected(struct schema_check *check, const struct value_place *place,
                           const char *expected, struct json_object *value)
{
    struct buf *text = begin_fault(check, place);
    if (text != NULL) {
        buf_printf(text, "expected %s", expected);
        end_with_value(text, value);
    }
    return false;
}

/* --- keywords about any value --- */

static bool is_integral(struct json_object *value)
{
    double number = json_object_get_double(value);
    bool is_huge = fabs(number) >= 9.2e18; /* Numbers of that size have no fraction. */
    return isfinite(number) && (is_huge || (double)(int64_t)number == number);
}

static bool has_type(struct json_object *value, const char *type)
{
    if (strcmp(type, "integer") == 0) {
        return json_object_is_type(value, json_type_int) ||
               (json_object_is_type(value, json_type_double) && is_integral(value));
    }
    if (strcmp(type, "number") == 0) {
        return json_object_is_type(value, json_type_int) ||
               json_object_is_type(value, json_type_double);
    }
    return strcmp(type_name(value), type) == 0;
}

static bool check_type(struct schema_check *check, struct json_object *rule,
                       struct json_object *value, const struct value_place *place)
{
    if (json_object_is_type(rule, json_type_string)) {
        const char *type = json_object_get_string(rule);
        return has_type(value, type) || fault_expected(check, place, type, value);
    }
    if (!json_object_is_type(rule, json_type_array)) {
        return true;
    }
    auto_buf struct buf expected = {0};
    for (size_t i = 0; i < json_object_array_length(rule); i++) {
        struct json_object *type = json_object_array_get_idx(rule, i);
        if (!json_object_is_type(type, json_type_string) ||
            has_type(value, json_object_get_string(type))) {
            return true;
        }
        buf_printf(&expected, "%s%s", i > 0 ? " or " : "", json_object_get_string(type));
    }
    return fault_expected(check, place, buf_string(&expected), value);
}

static bool check_enum(struct schema_check *check, struct json_object *rule,
                       struct json_object *value, const struct value_place *place)
{
    if (!json_object_is_type(rule, json_type_array)) {
        return true;
    }
    size_t count = json_object_array_length(rule);
    for (size_t i = 0; i < count; i++) {
        if (json_object_equal(json_object_array_get_idx(rule, i), value)) {
            return true;
        }
    }
    auto_buf struct buf expected = {0};
    buf_append_string(&expected, count == 1 ? "" : "one of ");
    for (size_t i = 0; i < count && expected.len < 1024; i++) {
        buf_append_string(&expected, i > 0 ? ", " : "");
        write_quoted(json_object_array_get_idx(rule, i), &expected);
    }
    return fault_expected(check, place, buf_string(&expected), value);
}

static bool check_const(struct schema_check *check, struct json_object *rule,
                        struct json_object *value, const struct value_place *place)
{
    if (json_object_equal(rule, value)) {
        return true;
    }
    auto_buf struct buf expected = {0};
    write_quoted(rule, &expected);
    return fault_expected(check, place, buf_string(&expected), value);
}

/* --- keywords about sizes --- */

static bool is_number(struct json_object *value)
{
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

static size_t count_characters(struct json_object *value)
{
    const char *text = json_object_get_string(value);
    size_t count = 0;
    for (int i = 0; i < json_object_get_string_len(value); i++) {
        count += ((unsigned char)text[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    return count;
}

/** What a limit compares: a number itself, the length of a string or an array. */
struct limit_rule {
    const char *text; /* "at least" */
    const char *unit; /* after the number */
    enum json_type of;
    int sign; /* 1: a lower limit, -1: an upper one */
    bool is_exclusive;
};

static const struct limit_rule limit_minimum = {"at least", "", json_type_double, 1, false};
static const struct limit_rule limit_maximum = {"at most", "", json_type_double, -1, false};
static const struct limit_rule limit_above = {"more than", "", json_type_double, 1, true};
static const struct limit_rule limit_below = {"less than", "", json_type_double, -1, true};
static const struct limit_rule limit_min_length = {"at least", " characters", json_type_string, 1,
                                                   false};
static const struct limit_rule limit_max_length = {"at most", " characters", json_type_string, -1,
                                                   false};
static const struct limit_rule limit_min_items = {"at least", " elements", json_type_array, 1,
                                                  false};
static const struct limit_rule limit_max_items = {"at most", " elements", json_type_array, -1,
                                                  false};

static bool measure(const struct limit_rule *limit, struct json_object *value, double *ret_size)
{
    if (limit->of == json_type_double) {
        *ret_size = is_number(value) ? json_object_get_double(value) : 0;
        return is_number(value);
    }
    if (!json_object_is_type(value, limit->of)) {
        return false;
    }
    *ret_size = limit->of == json_type_string ? (double)count_characters(value)
                                              : (double)json_object_array_length(value);
    return true;
}

static bool check_limit(struct schema_check *check, const struct limit_rule *limit,
                        struct json_object *rule, struct json_object *value,
                        const struct value_place *place)
{
    double size = 0;
    if (!is_number(rule) || !measure(limit, value, &size)) {
        return true;
    }
    double distance = (size - json_object_get_double(rule)) * limit->sign;
    if (distance > 0 || (distance >= 0 && !limit->is_exclusive)) {
        return true;
    }
    auto_buf struct buf expected = {0};
    buf_printf(&expected, "%s ", limit->text);
    write_quoted(rule, &expected);
    buf_append_string(&expected, limit->unit);
    return fault_expected(check, place, buf_string(&expected), value);
}

#define LIMIT_KEYWORD(name)                                                              \
    static bool check_##name(struct schema_check *check, struct json_object *rule,       \
                             struct json_object *value, const struct value_place *place) \
    {                                                                                    \
        return check_limit(check, &limit_##name, rule, value, place);                    \
    }
LIMIT_KEYWORD(minimum)
LIMIT_KEYWORD(maximum)
LIMIT_KEYWORD(above)
LIMIT_KEYWORD(below)
LIMIT_KEYWORD(min_length)
LIMIT_KEYWORD(max_length)
LIMIT_KEYWORD(min_items)
LIMIT_KEYWORD(max_items)

/* --- keywords about members and elements --- */

static bool check_required(struct schema_check *check, struct json_object *rule,
                           struct json_object *value, const struct value_place *place)
{
    bool fits = true;
    size_t count =
        json_object_is_type(rule, json_type_array) && json_object_is_type(value, json_type_object)
            ? json_object_array_length(rule)
            : 0;
    for (size_t i = 0; i < count; i++) {
        struct json_object *name = json_object_array_get_idx(rule, i);
        if (!json_object_is_type(name, json_type_string) ||
            json_object_object_get_ex(value, json_object_get_string(name), NULL)) {
            continue;
        }
        const struct value_place member = {.parent = place, .key = json_object_get_string(name)};
        struct buf *text = begin_fault(check, &member);
        if (text != NULL) {
            buf_append_string(text, "required, but missing");
        }
        fits = false;
    }
    return fits;
}

static bool check_properties(struct schema_check *check, struct json_object *rule,
                             struct json_object *value, const struct value_place *place)
{
    if (!json_object_is_type(rule, json_type_object) ||
        !json_object_is_type(value, json_type_object)) {
        return true;
    }
    bool fits = true;
    struct json_object_iterator at = json_object_iter_begin(rule);
    struct json_object_iterator end = json_object_iter_end(rule);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const struct value_place member = {.parent = place, .key = json_object_iter_peek_name(&at)};
        struct json_object *present = NULL;
        if (json_object_object_get_ex(value, member.key, &present)) {
            fits = check_value(check, json_object_iter_peek_value(&at), present, &member) && fits;
        }
    }
    return fits;
}

static bool check_items(struct schema_check *check, struct json_object *rule,
                        struct json_object *value, const struct value_place *place)
{
    size_t count = json_length(value);
    bool fits = true;
    for (size_t i = 0; i < count && check->steps < SCHEMA_MAX_STEPS; i++) {
        const struct value_place element = {.parent = place, .index = i};
        fits = check_value(check, rule, json_object_array_get_idx(value, i), &element) && fits;
    }
    return fits;
}

static void fault_unexpected(struct schema_check *check, struct json_object *properties,
                             const struct value_place *member)
{
    struct buf *text = begin_fault(check, member);
    if (text == NULL) {
        return;
    }
    struct suggest suggest = {.word = member->key, .len = strlen(member->key)};
    auto_buf struct buf names = {0};
    bool has_names = json_object_is_type(properties, json_type_object);
    struct json_object_iterator at =
        has_names ? json_object_iter_begin(properties) : json_object_iter_init_default();
    struct json_object_iterator end =
        has_names ? json_object_iter_end(properties) : json_object_iter_init_default();
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        suggest_offer(&suggest, name);
        buf_printf(&names, "%s`%s`", names.len > 0 ? ", " : "", name);
    }
    buf_append_string(text, "not expected");
    suggest_write(&suggest, "", "", text);
    buf_printf(text, " (known: %s)", names.len > 0 ? buf_string(&names) : "none");
}

/** Members that `properties` does not name. */
static bool check_additional(struct schema_check *check, struct json_object *schema,
                             struct json_object *rule, struct json_object *value,
                             const struct value_place *place)
{
    struct json_object *properties = NULL;
    json_object_object_get_ex(schema, "properties", &properties);
    if (!json_object_is_type(value, json_type_object) ||
        json_object_object_get_ex(schema, "patternProperties", NULL)) {
        return true;
    }
    bool is_forbidden =
        json_object_is_type(rule, json_type_boolean) && !json_object_get_boolean(rule);
    bool fits = true;
    struct json_object_iterator at = json_object_iter_begin(value);
    struct json_object_iterator end = json_object_iter_end(value);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const struct value_place member = {.parent = place, .key = json_object_iter_peek_name(&at)};
        if (json_object_object_get_ex(properties, member.key, NULL)) {
            continue;
        }
        if (is_forbidden) {
            fault_unexpected(check, properties, &member);
            fits = false;
        } else {
            fits = check_value(check, rule, json_object_iter_peek_value(&at), &member) && fits;
        }
    }
    return fits;
}

/* --- keywords that hold schemas --- */

static bool check_all_of(struct schema_check *check, struct json_object *rule,
                         struct json_object *value, const struct value_place *place)
{
    size_t count = json_length(rule);
    bool fits = true;
    for (size_t i = 0; i < count; i++) {
        fits = check_value(check, json_object_array_get_idx(rule, i), value, place) && fits;
    }
    return fits;
}

/** The one branch that is not just `null`, or NULL when there are several. */
static struct json_object *only_branch(struct json_object *rule)
{
    struct json_object *only = NULL;
    for (size_t i = 0; i < json_object_array_length(rule); i++) {
        struct json_object *branch = json_object_array_get_idx(rule, i);
        if (strcmp(json_get_string(branch, "type", ""), "null") == 0) {
            continue;
        }
        if (only != NULL) {
            return NULL;
        }
        only = branch;
    }
    return only;
}

static bool check_any_of(struct schema_check *check, struct json_object *rule,
                         struct json_object *value, const struct value_place *place)
{
    size_t count = json_length(rule);
    struct buf *faults = check->faults;
    check->faults = NULL;
    bool fits = count == 0;
    for (size_t i = 0; i < count && !fits; i++) {
        fits = check_value(check, json_object_array_get_idx(rule, i), value, place);
    }
    check->faults = faults;
    if (fits) {
        return true;
    }
    struct json_object *only = only_branch(rule);
    if (only != NULL && check->steps < SCHEMA_MAX_STEPS) {
        return check_value(check, only, value, place);
    }
    return fault_expected(check, place, "one of the forms that the schema allows", value);
}

/** Follow a JSON pointer (RFC 6901) in the same document. @return NULL when it leads nowhere */
static struct json_object *resolve(struct json_object *root, const char *reference)
{
    if (strcmp(reference, "#") == 0) {
        return root;
    }
    struct json_object *found = NULL;
    if (strncmp(reference, "#/", 2) != 0 || strchr(reference, '%') != NULL ||
        json_pointer_get(root, reference + 1, &found) != 0) {
        return NULL;
    }
    return found;
}

static bool check_reference(struct schema_check *check, struct json_object *rule,
                            struct json_object *value, const struct value_place *place)
{
    const char *reference =
        json_object_is_type(rule, json_type_string) ? json_object_get_string(rule) : "";
    struct json_object *target = resolve(check->root, reference);
    return target == NULL || check_value(check, target, value, place);
}

static const struct {
    const char *name;
    bool (*check)(struct schema_check *check, struct json_object *rule, struct json_object *value,
                  const struct value_place *place);
} keywords[] = {
    {"$ref", check_reference},
    {"type", check_type},
    {"enum", check_enum},
    {"const", check_const},
    {"minimum", check_minimum},
    {"maximum", check_maximum},
    {"exclusiveMinimum", check_above},
    {"exclusiveMaximum", check_below},
    {"minLength", check_min_length},
    {"maxLength", check_max_length},
    {"minItems", check_min_items},
    {"maxItems", check_max_items},
    {"required", check_required},
    {"properties", check_properties},
    {"items", check_items},
    {"allOf", check_all_of},
    {"anyOf", check_any_of},
    {"oneOf", check_any_of},
};

static bool check_keywords(struct schema_check *check, struct json_object *schema,
                           struct json_object *value, const struct value_place *place)
{
    bool fits = true;
    struct json_object *rule = NULL;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (json_object_object_get_ex(schema, keywords[i].name, &rule)) {
            fits = keywords[i].check(check, rule, value, place) && fits;
        }
    }
    if (json_object_object_get_ex(schema, "additionalProperties", &rule)) {
        fits = check_additional(check, schema, rule, value, place) && fits;
    }
    return fits;
}

static bool check_value(struct schema_check *check, struct json_object *schema,
                        struct json_object *value, const struct value_place *place)
{
    check->steps++;
    if (check->steps > SCHEMA_MAX_STEPS || check->depth >= SCHEMA_MAX_DEPTH) {
        return true;
    }
    if (json_object_is_type(schema, json_type_boolean) && !json_object_get_boolean(schema)) {
        return fault_expected(check, place, "nothing", value);
    }
    if (!json_object_is_type(schema, json_type_object)) {
        return true;
    }
    check->depth++;
    bool fits = check_keywords(check, schema, value, place);
    check->depth--;
    return fits;
}

static bool fits_quietly(struct json_object *root, struct json_object *schema,
                         struct json_object *value)
{
    struct schema_check check = {.root = root};
    const struct value_place place = {0};
    return check_value(&check, schema, value, &place);
}

bool schema_check(struct json_object *schema, struct json_object *value, struct buf *ret_faults)
{
    struct schema_check check = {.root = schema, .faults = ret_faults};
    const struct value_place place = {0};
    bool fits = check_value(&check, schema, value, &place);
    if (check.fault_count > SCHEMA_MAX_FAULTS) {
        buf_append_string(ret_faults, "; and more");
    }
    return fits;
}

/* --- completing --- */

static bool is_required(struct json_object *schema, const char *name)
{
    struct json_object *required = NULL;
    json_object_object_get_ex(schema, "required", &required);
    size_t count = json_length(required);
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(required, i);
        if (json_object_is_type(item, json_type_string) &&
            strcmp(json_object_get_string(item), name) == 0) {
            return true;
        }
    }
    return false;
}

static void complete_member(struct json_object *schema, struct json_object *object,
                            const char *name, struct json_object *rule)
{
    struct json_object *present = NULL;
    struct json_object *otherwise = NULL;
    bool is_present = json_object_object_get_ex(object, name, &present);
    if (is_present && present == NULL && !is_required(schema, name) &&
        !fits_quietly(schema, rule, NULL)) {
        json_object_object_del(object, name);
        is_present = false;
    }
    if (!is_present && json_object_object_get_ex(rule, "default", &otherwise) &&
        otherwise != NULL && fits_quietly(schema, rule, otherwise)) {
        struct json_object *copy = NULL;
        json_object_deep_copy(otherwise, &copy, NULL);
        json_object_object_add(object, name, copy);
    }
}

void schema_complete(struct json_object *schema, struct json_object *object)
{
    struct json_object *properties = NULL;
    if (!json_object_object_get_ex(schema, "properties", &properties) ||
        !json_object_is_type(properties, json_type_object)) {
        return;
    }
    struct json_object_iterator at = json_object_iter_begin(properties);
    struct json_object_iterator end = json_object_iter_end(properties);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *rule = json_object_iter_peek_value(&at);
        if (json_object_is_type(rule, json_type_object)) {
            complete_member(schema, object, json_object_iter_peek_name(&at), rule);
        }
    }
}
