// SPDX-License-Identifier: Apache-2.0
/* Reading a worker's result file. What a worker writes is foreign input: all of it is checked. */
#include "worker/worker.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/parse.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

void worker_result_fini(struct worker_result *result)
{
    free(result->summary);
    free(result->custom_data);
    *result = (struct worker_result){0};
}

static int wrong_type(const char *key, const char *wanted, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID, "'%s' must be %s", key, wanted);
}

static int parse_finish(struct json_object *finish, struct worker_result *result,
                        struct rondo_error *err)
{
    if (!json_object_is_type(finish, json_type_object)) {
        return wrong_type("finish", "an object", err);
    }
    const char *status = json_get_string(finish, "status", "");
    if (!run_finish_from_name(status, &result->finish)) {
        return wrong_type("finish.status", "completed, blocked or failed", err);
    }
    struct json_object *summary = json_member(finish, "summary");
    if (summary == NULL) {
        return 0;
    }
    if (!json_object_is_type(summary, json_type_string)) {
        return wrong_type("finish.summary", "a string", err);
    }
    if (json_object_get_string_len(summary) > LIMIT_SUMMARY_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "'finish.summary' is longer than %ld bytes",
                         LIMIT_SUMMARY_BYTES);
    }
    result->summary = memory_dup_string(json_object_get_string(summary));
    return 0;
}

/** Cost may be a number or, to keep every digit, a text such as "0.0125". */
static int parse_cost(struct json_object *cost, int64_t *ret_micro, struct rondo_error *err)
{
    if (json_object_is_type(cost, json_type_double)) {
        double value = json_object_get_double(cost);
        if (!(value >= 0 && value <= 1e12)) {
            return wrong_type("usage.cost", "an amount from 0 to 1e12", err);
        }
        *ret_micro = (int64_t)(value * 1e6 + 0.5);
        return 0;
    }
    if (!json_object_is_type(cost, json_type_string) && !json_object_is_type(cost, json_type_int)) {
        return wrong_type("usage.cost", "an amount such as \"0.25\"", err);
    }
    int r = parse_money(json_object_get_string(cost), ret_micro, err);
    if (r < 0) {
        error_prefix(err, "'usage.cost'");
    }
    return r;
}

static int parse_usage(struct json_object *usage, struct worker_result *result,
                       struct rondo_error *err)
{
    if (!json_object_is_type(usage, json_type_object)) {
        return wrong_type("usage", "an object", err);
    }
    struct json_object *tokens = json_member(usage, "tokens");
    if (tokens != NULL) {
        result->tokens = json_object_get_int64(tokens);
        if (!json_object_is_type(tokens, json_type_int) || result->tokens < 0 ||
            result->tokens > INT64_MAX / 4) {
            return wrong_type("usage.tokens", "a whole number that is not negative", err);
        }
    }
    struct json_object *cost = json_member(usage, "cost");
    return cost == NULL ? 0 : parse_cost(cost, &result->cost_micro, err);
}

static int parse_custom_data(struct json_object *custom_data, struct worker_result *result,
                             struct rondo_error *err)
{
    if (!json_object_is_type(custom_data, json_type_object)) {
        return wrong_type("custom_data", "an object", err);
    }
    const char *text = json_object_to_json_string_ext(custom_data, JSON_C_TO_STRING_PLAIN);
    if (strlen(text) > LIMIT_CUSTOM_DATA_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "'custom_data' is longer than %ld bytes",
                         LIMIT_CUSTOM_DATA_BYTES);
    }
    result->custom_data = memory_dup_string(text);
    return 0;
}

static const struct {
    const char *key;
    int (*parse)(struct json_object *value, struct worker_result *result, struct rondo_error *err);
} keys[] = {
    {"finish", parse_finish},
    {"usage", parse_usage},
    {"custom_data", parse_custom_data},
};

int worker_result_parse(const char *json, size_t len, struct worker_result *ret_result,
                        struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, len, &root, err);
    if (r < 0) {
        return r;
    }
    if (!json_object_is_type(root, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "it is not a JSON object");
    }
    struct worker_result result = {0};
    for (size_t i = 0; r == 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct json_object *value = json_member(root, keys[i].key);
        if (value != NULL) {
            r = keys[i].parse(value, &result, err);
        }
    }
    if (r < 0) {
        worker_result_fini(&result);
        return r;
    }
    *ret_result = result;
    return 0;
}
