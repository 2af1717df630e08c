// SPDX-License-Identifier: Apache-2.0
/* Metrics of requests to people, counted by following the audit chain. */
#include "telemetry/handoff_meter.h"

#include "base/clock.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN (1800000000 * NS_PER_S)

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";

struct meter_world {
    struct store *store;
    struct metrics *metrics;
    struct handoff_meter *meter;
};

static int set_up(void **state)
{
    struct meter_world *world = calloc(1, sizeof(*world));
    world->store = store_memory_new(NULL);
    world->metrics = metrics_new();
    world->meter = handoff_meter_new(world->store, world->metrics);
    handoff_meter_follow(world->meter);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct meter_world *world = *state;
    handoff_meter_free(world->meter);
    metrics_free(world->metrics);
    store_close(world->store);
    free(world);
    return 0;
}

#define TEST_OF_METER(name) TEST_WITH(name, set_up, tear_down)

static void id_of(unsigned number, char *ret_id)
{
    snprintf(ret_id, ID_SIZE, "01900000-0000-7000-8000-%012u", number);
}

static void request(struct meter_world *world, unsigned number)
{
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    char id[ID_SIZE];
    struct handoff_result result;
    struct handoff_command route = {
        .kind = HANDOFF_ROUTE, .actor = {.id = "system:router"}, .desk = "operators"};
    id_of(number, id);
    struct handoff_request asked = {.request_id = id,
                                    .agent_id = "agent",
                                    .lane_id = "lane",
                                    .action_digest = action,
                                    .body_digest = action,
                                    .risk = HANDOFF_HIGH,
                                    .priority = HANDOFF_MEDIUM};
    assert_int_equal(handoff_submit(&handoffs, &asked,
                                    "{\"trigger\":{\"trigger_reason\":\"risk\"}}", BEGIN, &result,
                                    NULL),
                     0);
    assert_int_equal(handoff_act(&handoffs, id, &route, NULL, BEGIN, &result, NULL), 0);
}

static void act(struct meter_world *world, unsigned number, enum handoff_command_kind kind,
                int64_t after_s)
{
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    char id[ID_SIZE];
    struct handoff_result result;
    struct handoff_command command = {
        .kind = kind,
        .actor = {.id = "user:ann", .is_assignee = true, .may_decide = true},
        .revision = 1,
        .action_digest = action,
        .has_text = true};
    struct handoff_note note = {.role = "sec-oncall"};
    id_of(number, id);
    assert_int_equal(
        handoff_act(&handoffs, id, &command, &note, BEGIN + after_s * NS_PER_S, &result, NULL), 0);
    assert_int_equal(result.outcome, HANDOFF_DONE);
}

static void expect(struct meter_world *world, const char *line)
{
    auto_buf struct buf text = {0};
    handoff_meter_follow(world->meter);
    metrics_write(world->metrics, NULL, 0, &text);
    if (strstr(buf_string(&text), line) == NULL) {
        fail_msg("no %s in\n%s", line, buf_string(&text));
    }
}

TEST_OF_METER(requests_decisions_and_times_are_counted_once)
{
    struct meter_world *world = *state;
    request(world, 1);
    act(world, 1, HANDOFF_CLAIM, 20);
    act(world, 1, HANDOFF_APPROVE, 50);
    expect(world, "relaytrace_handoff_requests_total{agent=\"agent\",trigger_reason=\"risk\","
                  "risk_level=\"high\",priority=\"medium\"} 1\n");
    expect(world, "relaytrace_handoff_decisions_total{agent=\"agent\",status=\"approved\","
                  "trigger_reason=\"risk\",operator_role=\"sec-oncall\"} 1\n");
    expect(world, "relaytrace_handoff_outcomes_total{outcome=\"approved\"} 1\n");
    expect(world, "relaytrace_handoff_first_action_duration_seconds_sum 20\n");
    expect(world, "relaytrace_handoff_review_duration_seconds_sum 30\n");
    expect(world, "relaytrace_handoff_decision_duration_seconds_sum 50\n");
    expect(world, "relaytrace_handoff_decision_duration_seconds_bucket{le=\"30\"} 0\n");
    expect(world, "relaytrace_handoff_decision_duration_seconds_bucket{le=\"60\"} 1\n");
    expect(world, "relaytrace_handoff_decision_duration_seconds_bucket{le=\"604800\"} 1\n");
    expect(world, "relaytrace_audit_entries_total{kind=\"handoff.approved\"} 1\n");
}

TEST_OF_METER(no_name_of_a_person_and_no_id_is_a_label)
{
    struct meter_world *world = *state;
    auto_buf struct buf text = {0};
    request(world, 1);
    act(world, 1, HANDOFF_REJECT, 5);
    handoff_meter_follow(world->meter);
    metrics_write(world->metrics, NULL, 0, &text);
    assert_null(strstr(buf_string(&text), "user:ann"));
    assert_null(strstr(buf_string(&text), "01900000"));
    assert_null(strstr(buf_string(&text), "lane=\""));
}

TEST_OF_METER(a_new_process_counts_nothing_that_was_before_it)
{
    struct meter_world *world = *state;
    request(world, 1);
    handoff_meter_free(world->meter);
    metrics_free(world->metrics);
    world->metrics = metrics_new();
    world->meter = handoff_meter_new(world->store, world->metrics);
    handoff_meter_follow(world->meter);
    act(world, 1, HANDOFF_REJECT, 5);
    expect(world, "relaytrace_handoff_outcomes_total{outcome=\"rejected\"} 1\n");
    auto_buf struct buf text = {0};
    metrics_write(world->metrics, NULL, 0, &text);
    assert_null(strstr(buf_string(&text), "relaytrace_handoff_requests_total{"));
}

TEST_OF_METER(more_than_a_batch_is_counted_whole)
{
    struct meter_world *world = *state;
    for (unsigned i = 0; i < 300; i++) {
        request(world, i);
    }
    expect(world, "risk_level=\"high\",priority=\"medium\"} 300\n");
    expect(world, "relaytrace_audit_entries_total{kind=\"handoff.routed\"} 300\n");
}

static void append(void *context, const char *name, const char *labels, double value)
{
    buf_printf(context, "%s{%s} %g\n", name, labels, value);
}

TEST_OF_METER(what_waits_is_given_by_desk_and_state)
{
    struct meter_world *world = *state;
    auto_buf struct buf text = {0};
    request(world, 1);
    request(world, 2);
    act(world, 2, HANDOFF_ASK, 5);
    handoff_meter_gauges(world->meter, BEGIN + 100 * NS_PER_S, append, &text);
    assert_non_null(strstr(buf_string(&text),
                           "relaytrace_handoff_pending{state=\"routed\",queue=\"operators\","
                           "priority=\"medium\"} 1\n"));
    assert_non_null(strstr(buf_string(&text),
                           "relaytrace_handoff_oldest_age_seconds{queue=\"operators\"} 100\n"));
    assert_non_null(strstr(buf_string(&text), "relaytrace_lane_states{state=\"evidence\"} 1\n"));
}
