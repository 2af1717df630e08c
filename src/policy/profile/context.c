// SPDX-License-Identifier: Apache-2.0
/* Reading contexts by one table of the schema. */
#include "policy/profile/context.h"

#include "base/json/json.h"

#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define UNITS 10000

enum context_attribute_kind {
    KIND_SHARE, /**< from 0 to 1; what lies between two units counts as the upper one */
    KIND_HINT,  /**< the same, as the lower one, and as 0 when it is missing or too large */
    KIND_LEVEL,
    KIND_COUNT,
    KIND_BOOL,
    KIND_TEXTS,
    KIND_CLASSIFICATION,
};

struct context_attribute {
    const char *name;
    enum context_attribute_kind kind;
    size_t offset;
};

#define ROW(name, kind, member)                              \
    {                                                        \
        name, kind, offsetof(struct profile_context, member) \
    }

static const struct context_attribute attributes[] = {
    ROW("confidence", KIND_HINT, confidence),
    ROW("risk_level", KIND_LEVEL, risk_level),
    ROW("impact", KIND_LEVEL, impact),
    ROW("reversible", KIND_BOOL, is_reversible),
    ROW("evidence_count", KIND_COUNT, evidence_count),
    ROW("evidence_required", KIND_COUNT, evidence_required),
    ROW("evidence_missing", KIND_TEXTS, evidence_missing),
    ROW("violation_score", KIND_SHARE, violation_score),
    ROW("human_required", KIND_BOOL, is_human_required),
    ROW("rework_count", KIND_COUNT, rework_count),
    ROW("classification", KIND_CLASSIFICATION, has_classification),
};

#define ATTRIBUTE_COUNT (sizeof(attributes) / sizeof(attributes[0]))

static bool add_error(struct buf *errors, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** @return false */
static bool add_error(struct buf *errors, const char *format, ...)
{
    char text[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    struct json_writer writer = json_writer(errors);
    if (errors->len > 0) {
        buf_append_string(errors, ",");
    }
    json_write_string(&writer, NULL, text);
    return false;
}

static bool is_number(struct json_object *value)
{
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

/** A share in ten-thousandths. @return whether it is one */
static bool read_share(struct json_object *value, bool is_up, int64_t *ret_units)
{
    double number = is_number(value) ? json_object_get_double(value) : -1;
    if (!(number >= 0 && number <= 1)) {
        return false;
    }
    /* 0.29 times 10000 is 2899.9999999999995. */
    double units = number * UNITS;
    *ret_units = (int64_t)(is_up ? ceil(units - 1e-6) : floor(units + 1e-6));
    return true;
}

static bool read_count(struct json_object *value, int64_t most, int64_t *ret_count)
{
    int64_t number = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;
    bool is_count = number >= 0 && number <= most;
    *ret_count = is_count ? number : 0;
    return is_count;
}

static bool is_label(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) &&
           json_object_get_string_len(value) <= PROFILE_MOST_LABEL;
}

static bool are_labels(struct json_object *value)
{
    size_t count = json_length(value);
    bool are = json_object_is_type(value, json_type_array) && count <= PROFILE_MOST_MISSING;
    for (size_t i = 0; i < count && are; i++) {
        are = is_label(json_object_array_get_idx(value, i));
    }
    return are;
}

static bool read_classification(struct json_object *value, struct profile_context *context)
{
    context->has_classification = true;
    context->label = json_member(value, "label");
    return json_object_is_type(value, json_type_object) && json_object_object_length(value) == 2 &&
           is_label(context->label) &&
           read_share(json_member(value, "margin"), false, &context->margin);
}

static const char *expected(enum context_attribute_kind kind)
{
    switch (kind) {
    case KIND_SHARE:
        return "a number from 0 to 1";
    case KIND_HINT:
        return "a number";
    case KIND_LEVEL:
        return "an integer from 0 to 3";
    case KIND_COUNT:
        return "an integer that is not negative";
    case KIND_BOOL:
        return "true or false";
    case KIND_TEXTS:
        return "a list of at most 64 texts";
    case KIND_CLASSIFICATION:
        return "an object with a label and a margin from 0 to 1";
    }
    return "";
}

static bool read_value(struct json_object *value, const struct context_attribute *attribute,
                       struct profile_context *context)
{
    void *place = (char *)context + attribute->offset;
    switch (attribute->kind) {
    case KIND_SHARE:
        return read_share(value, true, place);
    case KIND_HINT:
        (void)read_share(value, false, place);
        return is_number(value);
    case KIND_LEVEL:
        return read_count(value, 3, place);
    case KIND_COUNT:
        return read_count(value, INT32_MAX, place);
    case KIND_BOOL:
        *(bool *)place = json_object_get_boolean(value);
        return json_object_is_type(value, json_type_boolean);
    case KIND_TEXTS:
        *(struct json_object **)place = value;
        return are_labels(value);
    case KIND_CLASSIFICATION:
        return read_classification(value, context);
    }
    return false;
}

static bool is_optional(enum context_attribute_kind kind)
{
    return kind == KIND_HINT || kind == KIND_CLASSIFICATION;
}

static const struct context_attribute *find(const char *name)
{
    for (size_t i = 0; i < ATTRIBUTE_COUNT; i++) {
        if (strcmp(name, attributes[i].name) == 0) {
            return &attributes[i];
        }
    }
    return NULL;
}

bool profile_context_read(struct json_object *json, struct profile_context *ret_context,
                          struct buf *ret_errors)
{
    bool is_valid = true;
    *ret_context = (struct profile_context){0};
    if (!json_object_is_type(json, json_type_object)) {
        return add_error(ret_errors, "the context must be an object");
    }
    for (size_t i = 0; i < ATTRIBUTE_COUNT; i++) {
        const struct context_attribute *attribute = &attributes[i];
        struct json_object *value = NULL;
        bool is_given = json_object_object_get_ex(json, attribute->name, &value);
        if (!is_given && !is_optional(attribute->kind)) {
            is_valid = add_error(ret_errors, "context.%s is missing", attribute->name);
        } else if (is_given && !read_value(value, attribute, ret_context)) {
            is_valid = add_error(ret_errors, "context.%s must be %s", attribute->name,
                                 expected(attribute->kind));
        }
    }
    struct json_object_iter member;
    json_object_object_foreachC(json, member)
    {
        if (find(member.key) == NULL) {
            is_valid = add_error(ret_errors, "context.%.64s is unknown", member.key);
        }
    }
    return is_valid;
}
