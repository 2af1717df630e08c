// SPDX-License-Identifier: Apache-2.0
/* Figures of a window of time, from the facts of the audit chain. */
#include "handoff/storage/stats.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define BEGIN (1800000000 * NS_PER_S)

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";

static int set_up(void **state)
{
    *state = store_memory_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    store_close(*state);
    return 0;
}

#define TEST_OF_STATS(name) TEST_WITH(name, set_up, tear_down)

/** A request of the trigger "risk", on a desk. */
static void request(struct store *store, unsigned number, double confidence)
{
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    char id[ID_SIZE];
    char body[256];
    struct handoff_result result;
    struct handoff_command route = {
        .kind = HANDOFF_ROUTE, .actor = {.id = "system:router"}, .desk = "operators"};
    snprintf(id, sizeof(id), "01900000-0000-7000-8000-%012u", number);
    snprintf(body, sizeof(body),
             "{\"trigger\":{\"trigger_reason\":\"risk\",\"policy_rule_id\":\"ds.06\",\"policy_"
             "hash\":\"sha256:1\",\"confidence_score\":%.2f}}",
             confidence);
    struct handoff_request asked = {.request_id = id,
                                    .agent_id = "agent",
                                    .lane_id = "lane",
                                    .action_digest = action,
                                    .body_digest = action,
                                    .risk = HANDOFF_MEDIUM,
                                    .priority = HANDOFF_MEDIUM};
    assert_int_equal(handoff_submit(&handoffs, &asked, body, BEGIN, &result, NULL), 0);
    assert_int_equal(handoff_act(&handoffs, id, &route, NULL, BEGIN, &result, NULL), 0);
}

static void act(struct store *store, unsigned number, enum handoff_command_kind kind,
                int64_t after_ns)
{
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    char id[ID_SIZE];
    struct handoff_result result;
    struct handoff_command command = {
        .kind = kind,
        .actor = {.id = "user:ann", .is_assignee = true, .may_decide = true},
        .revision = 1,
        .action_digest = action,
        .has_text = true};
    struct handoff_note note = {.role = "operator"};
    snprintf(id, sizeof(id), "01900000-0000-7000-8000-%012u", number);
    assert_int_equal(handoff_act(&handoffs, id, &command, &note, BEGIN + after_ns, &result, NULL),
                     0);
    assert_int_equal(result.outcome, HANDOFF_DONE);
}

static struct json_object *stats_of(struct store *store, int64_t from_ns, int64_t to_ns)
{
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    auto_buf struct buf text = {0};
    struct json_object *root = NULL;
    assert_int_equal(handoff_stats(&handoffs, from_ns, to_ns, &text, NULL), 0);
    assert_int_equal(json_parse(text.data, text.len, &root, NULL), 0);
    assert_null(strstr(text.data, "user:ann"));
    return root;
}

/** part, whole of a share at "a/b". */
static void expect_share(struct json_object *root, const char *name, const char *member, int part,
                         int whole)
{
    struct json_object *share = json_member(root, name);
    share = member == NULL ? share : json_member(share, member);
    assert_non_null(share);
    assert_int_equal(json_get_int(share, "part", -1), part);
    assert_int_equal(json_get_int(share, "whole", -1), whole);
}

static struct json_object *first(struct json_object *root, const char *name)
{
    return json_object_array_get_idx(json_member(root, name), 0);
}

TEST_OF_STATS(nothing_of_nothing_is_no_share)
{
    auto_json struct json_object *root = stats_of(*state, 0, INT64_MAX);
    struct json_object *share = json_member(json_member(root, "decisions"), "approved");
    assert_int_equal(json_get_int(share, "whole", -1), 0);
    assert_null(json_member(share, "value"));
    assert_null(json_member(json_member(root, "decision_latency"), "p50_s"));
    assert_int_equal(json_length(json_member(root, "triggers")), 0);
}

TEST_OF_STATS(decisions_and_outcomes_are_counted_by_trigger_rule_and_confidence)
{
    struct store *store = *state;
    for (unsigned i = 1; i <= 5; i++) {
        request(store, i, 0.9);
    }
    act(store, 1, HANDOFF_APPROVE, 10 * NS_PER_S);
    act(store, 2, HANDOFF_APPROVE, 600 * NS_PER_S);
    act(store, 3, HANDOFF_REJECT, 20 * NS_PER_S);
    act(store, 4, HANDOFF_ASK, 30 * NS_PER_S);
    auto_json struct json_object *root = stats_of(store, BEGIN, BEGIN + 3600 * NS_PER_S);
    assert_int_equal(json_get_int(root, "requests", 0), 5);
    expect_share(root, "decisions", "approved", 2, 4);
    expect_share(root, "decisions", "needs_info", 1, 4);
    expect_share(root, "outcomes", "rejected", 1, 3);
    expect_share(first(root, "triggers"), "false_positive", NULL, 1, 3);
    expect_share(first(root, "triggers"), "over_trigger", NULL, 1, 2);
    expect_share(first(root, "rules"), "share", NULL, 5, 5);
    struct json_object *band = json_object_array_get_idx(json_member(root, "confidence"), 4);
    expect_share(band, "approved", NULL, 2, 3);
    assert_int_equal(json_get_int(json_member(root, "decision_latency"), "p50_s", 0), 20);
    assert_int_equal(json_get_int(json_member(root, "decision_latency"), "p95_s", 0), 600);
    assert_int_equal(json_length(json_member(root, "waiting")), 2);
}

TEST_OF_STATS(what_happened_outside_of_the_window_is_not_counted)
{
    struct store *store = *state;
    request(store, 1, 0.5);
    act(store, 1, HANDOFF_APPROVE, 100 * NS_PER_S);
    auto_json struct json_object *before = stats_of(store, BEGIN, BEGIN + 100 * NS_PER_S);
    auto_json struct json_object *after =
        stats_of(store, BEGIN + 100 * NS_PER_S, BEGIN + 200 * NS_PER_S);
    expect_share(before, "decisions", "approved", 0, 0);
    assert_int_equal(json_get_int(before, "requests", -1), 1);
    expect_share(after, "decisions", "approved", 1, 1);
    assert_int_equal(json_get_int(after, "requests", -1), 0);
}

TEST_OF_STATS(too_many_classes_are_counted_together)
{
    struct store *store = *state;
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    for (unsigned i = 0; i < LIMIT_STATS_CLASSES + 5; i++) {
        char id[ID_SIZE];
        char body[128];
        struct handoff_result result;
        snprintf(id, sizeof(id), "01900000-0000-7000-8000-%012u", i);
        snprintf(body, sizeof(body), "{\"trigger\":{\"trigger_reason\":\"t%u\"}}", i);
        struct handoff_request asked = {.request_id = id,
                                        .agent_id = id,
                                        .lane_id = id,
                                        .action_digest = action,
                                        .body_digest = action};
        assert_int_equal(handoff_submit(&handoffs, &asked, body, BEGIN, &result, NULL), 0);
    }
    auto_json struct json_object *root = stats_of(store, BEGIN, BEGIN + NS_PER_S);
    struct json_object *triggers = json_member(root, "triggers");
    assert_int_equal(json_length(triggers), LIMIT_STATS_CLASSES + 1);
    struct json_object *last = json_object_array_get_idx(triggers, LIMIT_STATS_CLASSES);
    assert_string_equal(json_get_string(last, "trigger_reason", ""), "other");
    assert_int_equal(json_get_int(last, "requests", 0), 5);
}

TEST(intervals_are_those_of_wilson)
{
    double low = 0;
    double high = 0;
    stats_wilson((struct stats_share){0, 0}, &low, &high);
    assert_true(low == 0 && high == 1);
    stats_wilson((struct stats_share){0, 20}, &low, &high);
    assert_true(low < 1e-9 && high > 0.16 && high < 0.162);
    stats_wilson((struct stats_share){50, 100}, &low, &high);
    assert_true(low > 0.4037 && low < 0.4039 && high > 0.5961 && high < 0.5963);
}

TEST(percentiles_are_values_that_occurred)
{
    static const int64_t values[] = {1, 2, 3, 4, 100};
    assert_int_equal(stats_percentile(values, 5, 0.5), 3);
    assert_int_equal(stats_percentile(values, 5, 0.95), 100);
    assert_int_equal(stats_percentile(values, 1, 0.5), 1);
    assert_int_equal(stats_percentile(values, 0, 0.5), 0);
}
