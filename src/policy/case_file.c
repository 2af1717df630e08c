// SPDX-License-Identifier: Apache-2.0
/* Reading and running test cases. */
#include "policy/case_file.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/suggest.h"
#include "policy/subject.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fini_case(struct policy_case *one)
{
    free(one->name);
    written_request_fini(&one->written);
    for (size_t i = 0; i < one->policy_count; i++) {
        free(one->policies[i]);
    }
    free(one->policies);
}

void case_file_fini(struct case_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        fini_case(&file->cases[i]);
    }
    free(file->cases);
    *file = (struct case_file){0};
}

static int read_expect(struct policy_case *one, struct json_object *value, struct rondo_error *err)
{
    const char *word =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    for (enum verdict_outcome i = VERDICT_ALLOW; i <= VERDICT_ASK; i++) {
        if (strcmp(verdict_outcome_name(i), word) == 0) {
            one->expected = i;
            return 0;
        }
    }
    return error_set(err, RONDO_ERR_INVALID, "expect: \"allow\", \"deny\" or \"ask\" is expected");
}

static int read_policies(struct policy_case *one, struct json_object *value,
                         struct rondo_error *err)
{
    static const char message[] = "policies: a list of ids is expected";
    if (!json_object_is_type(value, json_type_array)) {
        return error_set(err, RONDO_ERR_INVALID, "%s", message);
    }
    size_t count = json_object_array_length(value);
    one->names_policies = true;
    one->policies = memory_new_zero(count + 1, sizeof(*one->policies));
    for (size_t i = 0; i < count; i++) {
        struct json_object *id = json_object_array_get_idx(value, i);
        if (!json_object_is_type(id, json_type_string)) {
            return error_set(err, RONDO_ERR_INVALID, "%s", message);
        }
        one->policies[one->policy_count++] = memory_dup_string(json_object_get_string(id));
    }
    return 0;
}

static int unknown_key(const char *key, struct rondo_error *err)
{
    static const char *const own[] = {"name", "expect", "policies"};
    struct suggest suggest = {.word = key, .len = strlen(key)};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        suggest_offer(&suggest, own[i]);
    }
    written_request_suggest(&suggest);
    auto_buf struct buf hint = {0};
    suggest_write(&suggest, "", "", &hint);
    return error_set(err, RONDO_ERR_INVALID, "unknown key `%.64s`%s", key, buf_string(&hint));
}

static int read_member(struct policy_case *one, const char *key, struct json_object *value,
                       struct rondo_error *err)
{
    if (strcmp(key, "name") == 0) {
        return 0; /* Taken first of all, for messages. */
    }
    if (strcmp(key, "expect") == 0) {
        return read_expect(one, value, err);
    }
    if (strcmp(key, "policies") == 0) {
        return value == NULL ? 0 : read_policies(one, value, err);
    }
    int r = written_request_read_member(&one->written, key, value, err);
    return r == 0 ? unknown_key(key, err) : r < 0 ? r : 0;
}

static int read_members(struct policy_case *one, struct json_object *object,
                        struct rondo_error *err)
{
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    int r = 0;
    for (; r == 0 && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        r = read_member(one, json_object_iter_peek_name(&at), json_object_iter_peek_value(&at),
                        err);
    }
    if (r == 0 && !json_object_object_get_ex(object, "expect", NULL)) {
        r = error_set(err, RONDO_ERR_INVALID,
                      "\"expect\" is missing: \"allow\", \"deny\" or \"ask\"");
    }
    return r == 0 ? written_request_finish(&one->written, err) : r;
}

/** @param number of the case, from 1 */
static int read_case(struct policy_case *one, size_t number, struct json_object *object,
                     struct rondo_error *err)
{
    char position[32];
    snprintf(position, sizeof(position), "case %zu", number);
    if (!json_object_is_type(object, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "%s: an object is expected", position);
    }
    const char *name = json_get_string(object, "name", NULL);
    one->name = memory_dup_string(name == NULL ? position : name);
    int r = read_members(one, object, err);
    if (r < 0 && name != NULL) {
        error_prefix(err, "%s \"%.64s\"", position, name);
    } else if (r < 0) {
        error_prefix(err, "%s", position);
    }
    return r;
}

static int read_cases(struct json_object *root, int64_t now_ns, struct case_file *file,
                      struct rondo_error *err)
{
    struct json_object *list = root;
    if (json_object_is_type(root, json_type_object)) {
        json_object_object_get_ex(root, "cases", &list);
    }
    if (!json_object_is_type(list, json_type_array)) {
        return error_set(err, RONDO_ERR_INVALID, "{\"cases\":[...]} is expected");
    }
    size_t count = json_object_array_length(list);
    file->cases = memory_new_zero(count + 1, sizeof(*file->cases));
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        written_request_init(&file->cases[file->count].written, now_ns);
        r = read_case(&file->cases[file->count++], i + 1, json_object_array_get_idx(list, i), err);
    }
    return r;
}

int case_file_read(const char *name, const char *json, size_t len, int64_t now_ns,
                   struct case_file *ret_file, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct case_file file = {0};
    int r = json_parse_strict(json, len, &root, err);
    if (r == 0) {
        r = read_cases(root, now_ns, &file, err);
    }
    if (r < 0) {
        error_prefix(err, "%s", name);
        case_file_fini(&file);
        return r;
    }
    *ret_file = file;
    return 0;
}

static void add_policy(struct case_result *result, const struct cedar_policies *policies,
                       uint32_t index)
{
    result->policies[result->policy_count++] = cedar_policies_id(policies, index);
}

/** Policies that made the verdict: of an error the forbids that failed, else Cedar's reasons. */
static void take_deciding(const struct policy_verdict *verdict, const struct cedar_answer *answer,
                          const struct cedar_policies *policies, struct case_result *result)
{
    bool is_error = verdict->reason == VERDICT_POLICY_ERROR;
    size_t room = answer->reason_count + answer->error_count + 1;
    result->policies = memory_new_zero(room, sizeof(*result->policies));
    for (size_t i = 0; i < answer->reason_count && !is_error; i++) {
        add_policy(result, policies, answer->reasons[i]);
    }
    for (size_t i = 0; i < answer->error_count && is_error; i++) {
        if (cedar_policies_is_forbid(policies, answer->errors[i].policy)) {
            add_policy(result, policies, answer->errors[i].policy);
        }
    }
}

static bool holds(const char *const *ids, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ids[i], id) == 0) {
            return true;
        }
    }
    return false;
}

static bool are_equal_sets(const char *const *a, size_t a_count, const char *const *b,
                           size_t b_count)
{
    for (size_t i = 0; i < a_count; i++) {
        if (!holds(b, b_count, a[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < b_count; i++) {
        if (!holds(a, a_count, b[i])) {
            return false;
        }
    }
    return true;
}

void case_run(const struct policy_case *one, struct ruleset *ruleset,
              struct case_result *ret_result)
{
    struct policy_verdict verdict;
    struct subject *subject = subject_new(&one->written.run, ruleset);
    subject_decide(subject, &one->written.request, &verdict);
    struct case_result result = {.outcome = verdict.outcome, .reason = verdict.reason};
    take_deciding(&verdict, subject_answer(subject), ruleset->policies, &result);
    buf_append_string(&result.problem, subject_problem(subject));
    bool are_right = !one->names_policies ||
                     are_equal_sets(result.policies, result.policy_count,
                                    (const char *const *)one->policies, one->policy_count);
    result.is_ok = verdict.outcome == one->expected && are_right;
    *ret_result = result;
    subject_free(subject);
}

void case_result_fini(struct case_result *result)
{
    free(result->policies);
    buf_fini(&result->problem);
}
