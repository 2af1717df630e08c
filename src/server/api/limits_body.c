// SPDX-License-Identifier: Apache-2.0
/* Reading limits of requests. */
#include "server/api/limits_body.h"

#include "base/limits.h"

#include <json-c/json.h>

/** Dollars that can be asked for. */
#define MAX_DOLLARS 1e9
/** Tokens that can be asked for: more than int64 sums can reach. */
#define MAX_TOKENS INT64_C(1000000000000000)

static bool read_count(struct call *call, struct json_object *value, const char *name, int64_t high,
                       int64_t *ret_number)
{
    int64_t number = json_object_get_int64(value);
    if (value == NULL) {
        *ret_number = -1;
        return true;
    }
    if (!json_object_is_type(value, json_type_int) || number < 1 || number > high) {
        call_problem(call, PROBLEM_INVALID, "%s must be a whole number from 1 to %lld, or null",
                     name, (long long)high);
        return false;
    }
    *ret_number = number;
    return true;
}

static bool read_dollars(struct call *call, struct json_object *value, int64_t *ret_micro)
{
    bool is_number =
        json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    double dollars = is_number ? json_object_get_double(value) : 0;
    if (value == NULL) {
        *ret_micro = -1;
        return true;
    }
    if (!(dollars >= 0.000001 && dollars <= MAX_DOLLARS)) {
        call_problem(call, PROBLEM_INVALID,
                     "max_cost must be a number of dollars above 0 and up to %.0f, or null",
                     MAX_DOLLARS);
        return false;
    }
    *ret_micro = (int64_t)(dollars * 1e6 + 0.5);
    return true;
}

bool limits_body_read(struct call *call, struct json_object *object, const char *path,
                      struct loop_limits *ret_limits, bool *ret_is_any)
{
    struct loop_limits limits = {0};
    struct json_object *value = NULL;
    *ret_limits = limits;
    *ret_is_any = false;
    if (object == NULL) {
        return true;
    }
    if (!json_object_is_type(object, json_type_object)) {
        call_problem(call, PROBLEM_INVALID, "limits must be an object");
        return false;
    }
    bool is_good = call_check_members(call, object, path, LIMITS_MEMBERS);
    if (is_good && json_object_object_get_ex(object, "max_iterations", &value)) {
        is_good =
            read_count(call, value, "max_iterations", LIMIT_MAX_ITERATIONS, &limits.max_iterations);
    }
    if (is_good && json_object_object_get_ex(object, "max_tokens", &value)) {
        is_good = read_count(call, value, "max_tokens", MAX_TOKENS, &limits.max_tokens);
    }
    if (is_good && json_object_object_get_ex(object, "max_cost", &value)) {
        is_good = read_dollars(call, value, &limits.max_cost_micro);
    }
    if (is_good && json_object_object_get_ex(object, "time_limit_ns", &value)) {
        is_good =
            read_count(call, value, "time_limit_ns", LIMIT_DURATION_NS, &limits.time_limit_ns);
    }
    *ret_limits = limits;
    *ret_is_any = json_object_object_length(object) > 0;
    return is_good;
}
