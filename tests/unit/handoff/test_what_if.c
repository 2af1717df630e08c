// SPDX-License-Identifier: Apache-2.0
/* What other profiles would have answered to stored evaluations. */
#include "handoff/wire/what_if.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "handoff/wire/evaluation.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT                                                               \
    "{\"confidence\":0.9,\"risk_level\":%d,\"impact\":0,\"reversible\":true," \
    "\"evidence_count\":0,\"evidence_required\":0,\"evidence_missing\":[],"   \
    "\"violation_score\":0,\"human_required\":false,\"rework_count\":0}"
#define EXECUTE "(principal, action == RelayTrace::Action::\"execute\", resource)"

static const char current[] = "@id(\"all\") permit " EXECUTE ";";
static const char candidate[] =
    "@id(\"all\") permit " EXECUTE ";"
    "@id(\"ask\") @handoff(\"risky\") @severity(\"high\") forbid " EXECUTE
    " when { context.risk_level >= 1 } unless { context has approval && context.approval.valid };"
    "@id(\"never\") forbid " EXECUTE " when { context.risk_level >= 3 };";

struct what_if_fixture {
    struct store *store;
    struct evaluation_log *log;
    struct what_if question;
};

static struct profiles *make(const char *text)
{
    struct profiles *profiles = NULL;
    struct rondo_error err = {0};
    struct profiles_source source = {.policies = text, .policies_len = strlen(text)};
    if (profiles_make(&source, &profiles, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return profiles;
}

static int set_up(void **state)
{
    struct what_if_fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->store = store_memory_new(NULL);
    fixture->log = evaluation_log_new(fixture->store);
    fixture->question = (struct what_if){.current = make(current), .candidate = make(candidate)};
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct what_if_fixture *fixture = *state;
    profiles_unref(fixture->question.current);
    profiles_unref(fixture->question.candidate);
    evaluation_log_free(fixture->log);
    store_close(fixture->store);
    free(fixture);
    return 0;
}

#define TEST_OF_WHAT_IF(name) TEST_WITH(name, set_up, tear_down)

static void add(struct what_if_fixture *fixture, const char *agent, int risk, bool has_approval,
                int64_t time_ns)
{
    char context[512];
    snprintf(context, sizeof(context), CONTEXT, risk);
    struct evaluated_action evaluation = {.time_ns = time_ns,
                                          .agent_id = agent,
                                          .tool = "send",
                                          .action_digest = "sha256:0",
                                          .context = context,
                                          .has_approval = has_approval,
                                          .outcome = "allow",
                                          .rule = "all",
                                          .reasons = "[]",
                                          .policy_hash = "sha256:1"};
    evaluation_log_add(fixture->log, &evaluation);
    assert_int_equal(evaluation_log_flush(fixture->log, NULL), 0);
}

static struct json_object *ask(struct what_if_fixture *fixture)
{
    auto_buf struct buf json = {0};
    struct json_object *answer = NULL;
    assert_int_equal(what_if_write(fixture->store, &fixture->question, &json, NULL), 0);
    assert_int_equal(json_parse_strict(json.data, json.len, &answer, NULL), 0);
    return answer;
}

static int64_t count_of(struct json_object *answer, const char *from, const char *to)
{
    struct json_object *changes = json_member(answer, "changes");
    for (size_t i = 0; i < json_length(changes); i++) {
        struct json_object *change = json_object_array_get_idx(changes, i);
        if (strcmp(json_get_string(change, "from", ""), from) == 0 &&
            strcmp(json_get_string(change, "to", ""), to) == 0) {
            return json_get_int(change, "count", 0);
        }
    }
    return 0;
}

TEST_OF_WHAT_IF(without_evaluations_nothing_changes)
{
    auto_json struct json_object *answer = ask(*state);
    assert_int_equal(json_get_int(answer, "evaluations", -1), 0);
    assert_int_equal(json_get_int(answer, "changed", -1), 0);
    assert_null(json_member(answer, "from"));
    assert_int_equal(json_length(json_member(answer, "samples")), 0);
}

TEST_OF_WHAT_IF(outcomes_that_change_are_counted_by_what_they_were_and_become)
{
    struct what_if_fixture *fixture = *state;
    add(fixture, "a", 0, false, 1 * NS_PER_S);
    add(fixture, "a", 1, false, 2 * NS_PER_S);
    add(fixture, "a", 2, false, 3 * NS_PER_S);
    add(fixture, "b", 3, false, 4 * NS_PER_S);
    auto_json struct json_object *answer = ask(fixture);
    assert_int_equal(json_get_int(answer, "evaluations", 0), 4);
    assert_int_equal(json_get_int(answer, "changed", 0), 3);
    assert_int_equal(count_of(answer, "allow", "handoff"), 2);
    assert_int_equal(count_of(answer, "allow", "deny"), 1);
    assert_string_equal(json_get_string(answer, "from", ""), "1970-01-01T00:00:01.000Z");
    assert_string_equal(json_get_string(answer, "to", ""), "1970-01-01T00:00:04.000Z");
}

TEST_OF_WHAT_IF(rules_are_listed_by_the_difference_that_they_make)
{
    struct what_if_fixture *fixture = *state;
    add(fixture, "a", 1, false, 1);
    add(fixture, "a", 1, false, 2);
    add(fixture, "a", 3, false, 3);
    auto_json struct json_object *answer = ask(fixture);
    struct json_object *rules = json_member(answer, "rules");
    struct json_object *first = json_object_array_get_idx(rules, 0);
    assert_int_equal(json_length(rules), 3);
    assert_string_equal(json_get_string(first, "policy_rule_id", ""), "none"); /* allowed */
    assert_int_equal(json_get_int(first, "before", 0), 3);
    assert_int_equal(json_get_int(first, "after", -1), 0);
    first = json_object_array_get_idx(rules, 1);
    assert_string_equal(json_get_string(first, "policy_rule_id", ""), "ask");
    assert_int_equal(json_get_int(first, "after", 0), 2);
}

TEST_OF_WHAT_IF(approvals_other_agents_and_older_ones_are_left_out)
{
    struct what_if_fixture *fixture = *state;
    add(fixture, "a", 1, false, 1);
    add(fixture, "a", 1, true, 2);
    add(fixture, "b", 1, false, 3);
    fixture->question.agent_id = "a";
    auto_json struct json_object *answer = ask(fixture);
    assert_int_equal(json_get_int(answer, "evaluations", 0), 1);
    assert_int_equal(json_get_int(answer, "with_approval", 0), 1);
    fixture->question.agent_id = NULL;
    fixture->question.limit = 1;
    auto_json struct json_object *newest = ask(fixture);
    assert_int_equal(json_get_int(newest, "evaluations", 0), 1);
    assert_string_equal(
        json_get_string(json_object_array_get_idx(json_member(newest, "samples"), 0), "agent_id",
                        ""),
        "b");
}

TEST_OF_WHAT_IF(samples_are_bounded_and_without_contexts)
{
    struct what_if_fixture *fixture = *state;
    auto_buf struct buf json = {0};
    for (int i = 0; i <= WHAT_IF_SAMPLES; i++) {
        add(fixture, "a", 1, false, i + 1);
    }
    assert_int_equal(what_if_write(fixture->store, &fixture->question, &json, NULL), 0);
    assert_null(strstr(buf_string(&json), "confidence"));
    auto_json struct json_object *answer = ask(fixture);
    assert_int_equal(json_length(json_member(answer, "samples")), WHAT_IF_SAMPLES);
    assert_int_equal(json_get_int(answer, "changed", 0), WHAT_IF_SAMPLES + 1);
}

TEST_OF_WHAT_IF(what_was_stored_damaged_is_passed_over)
{
    struct what_if_fixture *fixture = *state;
    bool is_applied = false;
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = EVALUATION_COLLECTION,
                                  .key = "00000000000000000009",
                                  .data = "[]",
                                  .data_len = 2};
    add(fixture, "a", 1, false, 1);
    assert_int_equal(
        fixture->store->ops->change_documents(fixture->store, &change, 1, &is_applied, NULL), 0);
    auto_json struct json_object *answer = ask(fixture);
    assert_int_equal(json_get_int(answer, "evaluations", 0), 1);
}
