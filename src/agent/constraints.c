// SPDX-License-Identifier: Apache-2.0
/*
 * Constraints of an approval. They only narrow: the arguments are made as they were requested, or
 * not at all. What is not known here is not fulfilled.
 */
#include "agent/internal.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "policy/cedar/value/extension.h"

#include <json-c/json.h>
#include <json-c/json_pointer.h>
#include <string.h>

struct constraint_check {
    struct json_object *constraint;
    struct json_object *arguments;
    int64_t now_ns;
};

static bool is_number(struct json_object *value)
{
    return json_object_is_type(value, json_type_int) ||
           json_object_is_type(value, json_type_double);
}

/** @return the argument that a constraint is about, or NULL */
static struct json_object *argument_of(const struct constraint_check *check)
{
    struct json_object *value = NULL;
    const char *pointer = json_get_string(check->constraint, "pointer", NULL);
    bool is_found = pointer != NULL && json_pointer_get(check->arguments, pointer, &value) == 0;
    return is_found ? value : NULL;
}

/** 1 and 1.0 are equal, 1 and "1" are not. */
static bool are_equal(struct json_object *a, struct json_object *b)
{
    bool are_numbers = is_number(a) && is_number(b);
    return a != NULL && b != NULL &&
           (are_numbers ? json_object_get_double(a) == json_object_get_double(b)
                        : json_object_equal(a, b) != 0);
}

static bool is_equal(const struct constraint_check *check)
{
    return are_equal(argument_of(check), json_member(check->constraint, "value"));
}

static bool is_at_most(const struct constraint_check *check)
{
    struct json_object *value = argument_of(check);
    struct json_object *most = json_member(check->constraint, "value");
    return is_number(value) && is_number(most) &&
           json_object_get_double(value) <= json_object_get_double(most);
}

static bool is_one_of(const struct constraint_check *check)
{
    struct json_object *values = json_member(check->constraint, "values");
    struct json_object *value = argument_of(check);
    bool is_found = false;
    for (size_t i = 0; i < json_length(values) && !is_found; i++) {
        is_found = are_equal(value, json_object_array_get_idx(values, i));
    }
    return is_found;
}

static bool parse_moment(const char *text, int64_t *ret_ns)
{
    int64_t ms = 0;
    return cedar_datetime_parse(text, strlen(text), &ms) &&
           !__builtin_mul_overflow(ms, NS_PER_MS, ret_ns);
}

/** @param otherwise where there is no such member */
static bool read_moment(const struct constraint_check *check, const char *name, int64_t otherwise,
                        int64_t *ret_ns)
{
    const char *text = json_get_string(check->constraint, name, NULL);
    *ret_ns = otherwise;
    return json_member(check->constraint, name) == NULL ||
           (text != NULL && parse_moment(text, ret_ns));
}

static bool is_in_time(const struct constraint_check *check)
{
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    return read_moment(check, "not_before", INT64_MIN, &begin_ns) &&
           read_moment(check, "not_after", INT64_MAX, &end_ns) &&
           (begin_ns != INT64_MIN || end_ns != INT64_MAX) && check->now_ns >= begin_ns &&
           check->now_ns <= end_ns;
}

/** An approval is for one call. */
static bool is_once(const struct constraint_check *check)
{
    return json_get_int(check->constraint, "count", 0) >= 1;
}

/** No tool has a mode in which it does nothing: `dry_run` is not here. */
static const struct {
    const char *kind;
    bool (*holds)(const struct constraint_check *check);
    const char *members[3]; /**< besides `kind`; another one may narrow, too */
} kinds[] = {
    {"equals", is_equal, {"pointer", "value"}},
    {"max", is_at_most, {"pointer", "value"}},
    {"one_of", is_one_of, {"pointer", "values"}},
    {"time_window", is_in_time, {"not_before", "not_after"}},
    {"max_count", is_once, {"count"}},
};

/** Whether all that a constraint says is known. */
static bool is_known(struct json_object *constraint, const char *const *members)
{
    struct json_object_iter member;
    json_object_object_foreachC(constraint, member)
    {
        bool is_member = strcmp(member.key, "kind") == 0;
        for (size_t i = 0; members[i] != NULL && !is_member; i++) {
            is_member = strcmp(member.key, members[i]) == 0;
        }
        if (!is_member) {
            return false;
        }
    }
    return true;
}

static bool holds(const struct constraint_check *check)
{
    const char *kind = json_get_string(check->constraint, "kind", "");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            return is_known(check->constraint, kinds[i].members) && kinds[i].holds(check);
        }
    }
    return false;
}

bool agent_constraints_hold(struct json_object *constraints, struct json_object *arguments,
                            int64_t now_ns, struct buf *ret_broken)
{
    size_t count = json_length(constraints);
    for (size_t i = 0; i < count; i++) {
        struct constraint_check check = {json_object_array_get_idx(constraints, i), arguments,
                                         now_ns};
        if (!holds(&check)) {
            buf_append_string(ret_broken, json_object_to_json_string_ext(check.constraint,
                                                                         JSON_C_TO_STRING_PLAIN));
            return false;
        }
    }
    return true;
}
