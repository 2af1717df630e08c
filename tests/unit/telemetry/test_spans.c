// SPDX-License-Identifier: Apache-2.0
/* Spans of journals: what comes out, when, how it hangs together. */
#include "journal/reader.h"
#include "world.h"

#define CREATED                                                 \
    {                                                           \
        0, "run.created", "{\"format\":1,\"agent_id\":\"bob\"}" \
    }
#define CLAIMED                                                                         \
    {                                                                                   \
        0, "run.claimed", "{\"epoch\":1,\"how\":\"start\",\"alive_ns\":0,\"number\":0}" \
    }
#define STARTED(ms, n)                                                              \
    {                                                                               \
        ms, "iteration.started", "{\"iteration\":" #n ",\"attempt\":1,\"limit\":4}" \
    }
#define BODY_OK(ms, n)                                                                          \
    {                                                                                           \
        ms, "iteration.finished",                                                               \
            "{\"iteration\":" #n ",\"outcome\":\"ok\",\"duration_ns\":900000000,\"tokens\":12," \
            "\"cost_micro\":2500}"                                                              \
    }
#define FINISHED(ms)                                                     \
    {                                                                    \
        ms, "run.finished", "{\"status\":\"completed\",\"iteration\":1}" \
    }

static const struct told whole_run[] = {
    CREATED,
    CLAIMED,
    STARTED(100, 1),
    {110, "model.requested",
     "{\"iteration\":1,\"turn\":1,\"attempt\":1,\"model\":\"google:gem\",\"prompt\":\"say hi\"}"},
    {120, "model.retrying", "{\"iteration\":1,\"turn\":1,\"attempt\":1,\"delay_ns\":1}"},
    {500, "model.replied",
     "{\"iteration\":1,\"turn\":1,\"outcome\":\"ok\",\"stop\":\"tools\",\"output\":\"hello\","
     "\"tokens_in\":10,\"tokens_out\":2,\"tokens_cached\":4,\"tokens_reasoning\":1,"
     "\"cost_micro\":2500,\"duration_ns\":300000000,\"request_id\":\"req-1\","
     "\"response_model\":\"gem-2\","
     "\"calls\":[{\"id\":\"c1\",\"name\":\"look\",\"arguments\":\"{}\"}]}"},
    {510, "tool.requested",
     "{\"iteration\":1,\"turn\":1,\"index\":0,\"attempt\":1,\"call_id\":\"c1\",\"name\":\"look\","
     "\"arguments\":\"{\\\"path\\\":\\\"x\\\"}\"}"},
    {900, "tool.finished",
     "{\"iteration\":1,\"turn\":1,\"index\":0,\"call_id\":\"c1\",\"name\":\"look\",\"outcome\":"
     "\"error\",\"duration_ns\":200000000,\"output_bytes\":3,\"output\":\"bad\"}"},
    BODY_OK(1000, 1),
    {1000, "verification.started", "{\"iteration\":1,\"total\":1}"},
    {1200, "condition.evaluated",
     "{\"iteration\":1,\"name\":\"tests\",\"status\":\"met\",\"reason\":\"passed\",\"exit_code\":0,"
     "\"duration_ns\":150000000}"},
    {1201, "verification.finished", "{\"iteration\":1,\"met\":1,\"total\":1}"},
    {1202, "checkpoint.saved",
     "{\"number\":1,\"iteration\":1,\"bytes\":7,\"sha256\":\"ab\",\"how\":\"final\","
     "\"duration_ns\":2000000}"},
    FINISHED(1203),
};

WORLD_TEST(each_part_of_a_run_is_a_span_in_its_place)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    struct json_object *root = get_span(world, "invoke_agent bob", 0);
    struct json_object *iteration = get_span(world, "loop.iteration", 0);
    struct json_object *verification = get_span(world, "loop.verification", 0);
    assert_int_equal(world->count, 7);
    assert_string_equal(span_text(root, "parentSpanId"), "");
    assert_string_equal(span_text(root, "traceId"), "01a1fe92a7b878ccb5bf3be5f74b6786");
    assert_parent(iteration, root);
    assert_parent(get_span(world, "chat gem", 0), iteration);
    assert_parent(get_span(world, "execute_tool look", 0), iteration);
    assert_parent(verification, iteration);
    assert_parent(get_span(world, "loop.exit_condition tests", 0), verification);
    assert_parent(get_span(world, "loop.checkpoint.save", 0), iteration);
}

WORLD_TEST(ids_are_those_that_workers_are_told)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    char id[TRACE_SPAN_SIZE];
    trace_span_id(RUN_A, TRACE_ITERATION, 1, 1, id);
    assert_string_equal(span_text(get_span(world, "loop.iteration", 0), "spanId"), id);
    trace_span_id(RUN_A, TRACE_MODEL, 1, 1, id);
    assert_string_equal(span_text(get_span(world, "chat gem", 0), "spanId"), id);
    trace_span_id(RUN_A, TRACE_TOOL, 1, 0, id);
    assert_string_equal(span_text(get_span(world, "execute_tool look", 0), "spanId"), id);
    trace_span_id(RUN_A, TRACE_VERIFICATION, 10, 0, id);
    assert_string_equal(span_text(get_span(world, "loop.verification", 0), "spanId"), id);
}

WORLD_TEST(starts_follow_from_durations)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    assert_int_equal(time_ms(get_span(world, "chat gem", 0), "startTimeUnixNano"), 200);
    assert_int_equal(time_ms(get_span(world, "chat gem", 0), "endTimeUnixNano"), 500);
    assert_int_equal(time_ms(get_span(world, "execute_tool look", 0), "startTimeUnixNano"), 700);
    struct json_object *saved = get_span(world, "loop.checkpoint.save", 0);
    assert_int_equal(time_ms(saved, "startTimeUnixNano"), 1200);
    assert_int_equal(time_ms(saved, "endTimeUnixNano"), 1202);
    assert_int_equal(time_ms(get_span(world, "loop.iteration", 0), "startTimeUnixNano"), 100);
    assert_int_equal(time_ms(get_span(world, "loop.iteration", 0), "endTimeUnixNano"), 1202);
    assert_int_equal(time_ms(get_span(world, "invoke_agent bob", 0), "endTimeUnixNano"), 1203);
}

WORLD_TEST(a_model_call_has_the_names_of_the_conventions)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    struct json_object *chat = get_span(world, "chat gem", 0);
    assert_int_equal(json_get_int(chat, "kind", 0), SPAN_CLIENT);
    assert_string_equal(attribute(chat, "gen_ai.operation.name"), "{\"stringValue\":\"chat\"}");
    assert_string_equal(attribute(chat, "gen_ai.provider.name"),
                        "{\"stringValue\":\"gcp.gemini\"}");
    assert_string_equal(attribute(chat, "gen_ai.request.model"), "{\"stringValue\":\"gem\"}");
    assert_string_equal(attribute(chat, "gen_ai.usage.input_tokens"), "{\"intValue\":\"10\"}");
    assert_string_equal(attribute(chat, "gen_ai.usage.output_tokens"), "{\"intValue\":\"2\"}");
    assert_string_equal(attribute(chat, "gen_ai.usage.cache_read.input_tokens"),
                        "{\"intValue\":\"4\"}");
    assert_string_equal(attribute(chat, "gen_ai.response.finish_reasons"),
                        "{\"arrayValue\":{\"values\":[{\"stringValue\":\"tool_call\"}]}}");
    assert_string_equal(attribute(chat, "gen_ai.response.id"), "{\"stringValue\":\"req-1\"}");
    assert_string_equal(attribute(chat, "gen_ai.response.model"), "{\"stringValue\":\"gem-2\"}");
    assert_string_equal(attribute(chat, "loop.model.retries"), "{\"intValue\":\"1\"}");
    assert_int_equal(status_code(chat), SPAN_UNSET);
}

WORLD_TEST(a_failed_tool_is_an_error)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    struct json_object *tool = get_span(world, "execute_tool look", 0);
    assert_int_equal(status_code(tool), SPAN_ERROR);
    assert_string_equal(attribute(tool, "error.type"), "{\"stringValue\":\"tool_error\"}");
    assert_string_equal(attribute(tool, "gen_ai.tool.call.id"), "{\"stringValue\":\"c1\"}");
}

WORLD_TEST(a_condition_carries_its_verdict)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    struct json_object *condition = get_span(world, "loop.exit_condition tests", 0);
    struct json_object *result = get_event(condition, "gen_ai.evaluation.result");
    assert_string_equal(attribute(result, "gen_ai.evaluation.score.label"),
                        "{\"stringValue\":\"met\"}");
    assert_string_equal(attribute(result, "gen_ai.evaluation.score.value"), "{\"doubleValue\":1}");
}

WORLD_TEST(the_execution_sums_up)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    struct json_object *root = get_span(world, "invoke_agent bob", 0);
    assert_string_equal(attribute(root, "loop.stop_reason"), "{\"stringValue\":\"completed\"}");
    assert_string_equal(attribute(root, "gen_ai.usage.input_tokens"), "{\"intValue\":\"10\"}");
    assert_string_equal(attribute(root, "loop.conditions.met"), "{\"intValue\":\"1\"}");
    assert_string_equal(attribute(root, "loop.progress_pct"), "{\"doubleValue\":25}");
    assert_int_equal(status_code(root), SPAN_OK);
    assert_int_equal(spans_run_count(world->spans), 0);
}

WORLD_TEST(content_stays_at_home_unless_it_is_asked_for)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    for (size_t i = 0; i < world->count; i++) {
        const char *json = json_object_to_json_string(world->seen[i].root);
        assert_null(strstr(json, "say hi"));
        assert_null(strstr(json, "hello"));
        assert_null(strstr(json, "path"));
        assert_null(strstr(json, "bad"));
    }
}

WORLD_TEST(content_that_is_asked_for_has_the_form_of_the_conventions)
{
    struct telemetry_world *world = *state;
    world->environment.captures_content = true;
    run_told(world, whole_run);
    struct json_object *chat = get_span(world, "chat gem", 0);
    assert_string_equal(
        attribute(chat, "gen_ai.input.messages"),
        "{\"stringValue\":\"[{\\\"role\\\":\\\"user\\\",\\\"parts\\\":[{\\\"type\\\":"
        "\\\"text\\\",\\\"content\\\":\\\"say hi\\\"}]}]\"}");
    assert_non_null(strstr(attribute(chat, "gen_ai.output.messages"), "tool_call"));
    struct json_object *tool = get_span(world, "execute_tool look", 0);
    assert_string_equal(attribute(tool, "gen_ai.tool.call.result"), "{\"stringValue\":\"bad\"}");
}

WORLD_TEST(content_is_cut_between_characters)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {
        CREATED,
        CLAIMED,
        STARTED(1, 1),
        {2, "tool.finished",
         "{\"iteration\":1,\"turn\":1,\"index\":0,\"name\":\"t\",\"outcome\":\"ok\","
         "\"output\":\"abc\u00e4\u00e4\"}"},
    };
    world->environment.captures_content = true;
    world->environment.value_bytes = 6;
    run_told(world, told);
    assert_string_equal(attribute(get_span(world, "execute_tool t", 0), "gen_ai.tool.call.result"),
                        "{\"stringValue\":\"abc\u00e4\"}");
}

WORLD_TEST(an_iteration_is_sent_when_the_next_one_begins)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {CREATED, CLAIMED, STARTED(1, 1), BODY_OK(1000, 1)};
    static const struct told next[] = {STARTED(3000, 2)};
    run_told(world, told);
    assert_int_equal(count_spans(world, "loop.iteration"), 0);
    run_told(world, next);
    assert_int_equal(count_spans(world, "loop.iteration"), 1);
    assert_int_equal(time_ms(get_span(world, "loop.iteration", 0), "endTimeUnixNano"), 1000);
}

WORLD_TEST(a_finished_iteration_settles_and_is_sent_once)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {CREATED, CLAIMED, STARTED(1, 1), BODY_OK(1000, 1)};
    static const struct told late[] = {
        {5000, "checkpoint.saved", "{\"number\":1,\"iteration\":1,\"bytes\":7}"},
        STARTED(6000, 2),
    };
    run_told(world, told);
    spans_settle(world->spans, BEGIN + 1000 * NS_PER_MS + SPANS_SETTLE_NS - 1);
    assert_int_equal(count_spans(world, "loop.iteration"), 0);
    spans_settle(world->spans, BEGIN + 1000 * NS_PER_MS + SPANS_SETTLE_NS);
    assert_int_equal(count_spans(world, "loop.iteration"), 1);
    run_told(world, late);
    assert_int_equal(count_spans(world, "loop.iteration"), 1);
    assert_string_equal(span_text(get_span(world, "loop.checkpoint.save", 0), "parentSpanId"),
                        span_text(get_span(world, "loop.iteration", 0), "spanId"));
}

static const struct told killed[] = {
    CREATED,
    CLAIMED,
    STARTED(100, 1),
    {200, "model.requested", "{\"iteration\":1,\"turn\":1,\"attempt\":1,\"model\":\"o:m\"}"},
};
/* alive_ns is BEGIN + 700 ms. */
static const struct told taken_over[] = {
    {9000, "run.claimed",
     "{\"epoch\":2,\"how\":\"takeover\",\"alive_ns\":1795000000700000000,\"number\":3}"},
    {9001, "iteration.interrupted", "{\"iteration\":1,\"attempt\":1,\"reason\":\"gone\"}"},
    {9100, "iteration.started", "{\"iteration\":1,\"attempt\":2,\"limit\":4}"},
    BODY_OK(9500, 1),
    FINISHED(9600),
};

WORLD_TEST(a_killed_execution_ends_when_it_was_last_seen_alive)
{
    struct telemetry_world *world = *state;
    run_told(world, killed);
    run_told(world, taken_over);
    struct json_object *first = get_span(world, "invoke_agent bob", 0);
    assert_int_equal(time_ms(first, "endTimeUnixNano"), 700);
    assert_int_equal(status_code(first), SPAN_ERROR);
    assert_string_equal(attribute(first, "loop.stop_reason"), "{\"stringValue\":\"interrupted\"}");
    struct json_object *iteration = get_span(world, "loop.iteration", 0);
    assert_parent(iteration, first);
    assert_int_equal(status_code(iteration), SPAN_ERROR);
    assert_parent(get_span(world, "chat m", 0), iteration);
    assert_int_equal(status_code(get_span(world, "chat m", 0)), SPAN_ERROR);
    assert_int_equal(count_spans(world, "loop.iteration"), 2);
}

WORLD_TEST(what_is_half_done_tells_that_its_process_died)
{
    struct telemetry_world *world = *state;
    static const struct told resumed[] = {
        {9000, "run.claimed", "{\"epoch\":2,\"how\":\"resume\",\"alive_ns\":1795000000700000000}"},
    };
    run_told(world, killed);
    run_told(world, resumed);
    assert_string_equal(attribute(get_span(world, "invoke_agent bob", 0), "loop.stop_reason"),
                        "{\"stringValue\":\"interrupted\"}");
}

WORLD_TEST(a_later_execution_links_to_the_one_before)
{
    struct telemetry_world *world = *state;
    run_told(world, killed);
    run_told(world, taken_over);
    struct json_object *first = get_span(world, "invoke_agent bob", 0);
    struct json_object *second = get_span(world, "invoke_agent bob", 1);
    struct json_object *links = NULL;
    assert_true(json_object_object_get_ex(second, "links", &links));
    struct json_object *link = json_object_array_get_idx(links, 0);
    assert_string_equal(span_text(link, "spanId"), span_text(first, "spanId"));
    assert_string_equal(span_text(link, "traceId"), span_text(first, "traceId"));
    assert_non_null(strstr(attribute(second, "loop.resumed_from"), span_text(first, "spanId")));
    assert_string_equal(attribute(second, "loop.checkpoint.id"), "{\"intValue\":\"3\"}");
    assert_false(json_object_object_get_ex(first, "links", NULL));
}

WORLD_TEST(what_comes_after_a_run_has_no_span)
{
    struct telemetry_world *world = *state;
    run_told(world, whole_run);
    size_t count = world->count;
    static const struct told later[] = {{9000, "memory.consolidation_finished", "{\"facts\":1}"}};
    run_told(world, later);
    assert_int_equal(world->count, count);
}

WORLD_TEST(a_parked_execution_is_no_error)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {
        CREATED,
        CLAIMED,
        {100, "run.paused", "{\"by\":\"alice\"}"},
        {9000, "run.claimed", "{\"epoch\":2,\"how\":\"resume\",\"alive_ns\":1795000000150000000}"},
    };
    run_told(world, told);
    struct json_object *root = get_span(world, "invoke_agent bob", 0);
    assert_string_equal(attribute(root, "loop.stop_reason"), "{\"stringValue\":\"parked\"}");
    assert_int_equal(status_code(root), SPAN_UNSET);
    assert_int_equal(time_ms(root, "endTimeUnixNano"), 150);
    get_event(root, "loop.paused");
}

WORLD_TEST(a_run_that_nobody_executes_can_be_parked_by_hand)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {CREATED, CLAIMED};
    static const struct told later[] = {
        {9000, "run.claimed", "{\"epoch\":2,\"how\":\"resume\",\"alive_ns\":1795000000150000000}"},
        FINISHED(9100),
    };
    run_told(world, told);
    spans_park(world->spans, RUN_A, BEGIN + SECOND);
    assert_int_equal(count_spans(world, "invoke_agent bob"), 1);
    run_told(world, later);
    assert_int_equal(count_spans(world, "invoke_agent bob"), 2);
    assert_true(json_object_object_get_ex(get_span(world, "invoke_agent bob", 1), "links", NULL));
}

WORLD_TEST(what_a_fork_has_copied_is_not_sent_again)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {
        {0, "run.created",
         "{\"format\":1,\"agent_id\":\"bob\",\"forked_from\":\"" RUN_B "\",\"forked_seq\":4}"},
        {0, "run.claimed", "{\"epoch\":7,\"how\":\"start\"}"},
        STARTED(1, 1),
        BODY_OK(2, 1),
        {9000, "run.forked", "{\"by\":\"alice\",\"forked_from\":\"" RUN_B "\"}"},
        {9001, "run.claimed", "{\"epoch\":2,\"how\":\"resume\",\"alive_ns\":0}"},
        STARTED(9002, 2),
        BODY_OK(9003, 2),
        FINISHED(9004),
    };
    run_told(world, told);
    assert_int_equal(count_spans(world, "loop.iteration"), 1);
    assert_int_equal(count_spans(world, "invoke_agent bob"), 1);
    struct json_object *links = NULL;
    struct json_object *root = get_span(world, "invoke_agent bob", 0);
    assert_true(json_object_object_get_ex(root, "links", &links));
    char id[TRACE_SPAN_SIZE];
    trace_span_id(RUN_B, TRACE_RUN, 7, 0, id);
    assert_string_equal(span_text(json_object_array_get_idx(links, 0), "spanId"), id);
    assert_string_equal(attribute(root, "loop.forked_from"), "{\"stringValue\":\"" RUN_B "\"}");
}

WORLD_TEST(denials_are_spans_and_events)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {
        CREATED,
        CLAIMED,
        {1, "policy.changed", "{\"sha256\":\"aa\",\"old_sha256\":\"\",\"source\":\"p\"}"},
        {1, "limit.warning",
         "{\"iteration\":4,\"limit_name\":\"iterations\",\"limit\":5,\"value\":4}"},
        STARTED(2, 1),
        {3, "step.denied",
         "{\"iteration\":1,\"action\":\"call_tool\",\"name\":\"shell\",\"policy\":\"no-shell\","
         "\"verdict\":\"ask\",\"decision\":\"deny\",\"policies\":[\"no-shell\",\"b\"]}"},
        BODY_OK(4, 1),
        {5, "gate.denied",
         "{\"iteration\":2,\"status\":\"max_iterations\",\"policy\":\"limit.iterations\","
         "\"limit_name\":\"iterations\",\"limit\":1,\"value\":1,\"action\":\"iterate\"}"},
        {6, "run.finished", "{\"status\":\"max_iterations\",\"iteration\":1}"},
    };
    run_told(world, told);
    struct json_object *root = get_span(world, "invoke_agent bob", 0);
    struct json_object *asked = get_span(world, "loop.policy.evaluate", 0);
    struct json_object *denied = get_span(world, "loop.policy.evaluate", 1);
    assert_parent(asked, get_span(world, "loop.iteration", 0));
    assert_parent(denied, root);
    assert_string_equal(
        attribute(asked, "aws.agentcore.policy.determining_policies"),
        "{\"arrayValue\":{\"values\":[{\"stringValue\":\"no-shell\"},{\"stringValue\":\"b\"}]}}");
    assert_string_equal(attribute(asked, "aws.agentcore.policy.authorization_decision"),
                        "{\"stringValue\":\"deny\"}");
    assert_string_equal(attribute(asked, "loop.policy.digest"), "{\"stringValue\":\"aa\"}");
    get_event(root, "loop.hitl.requested");
    get_event(root, "loop.policy.violation");
    get_event(root, "loop.policy.updated");
    assert_string_equal(attribute(get_event(root, "loop.limit.warning"), "loop.limit.remaining"),
                        "{\"intValue\":\"1\"}");
    assert_int_equal(status_code(root), SPAN_ERROR);
}

WORLD_TEST(summaries_and_work_for_others_are_events)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {
        CREATED,
        CLAIMED,
        STARTED(1, 1),
        {2, "history.compacting",
         "{\"iteration\":1,\"model\":\"m\",\"messages\":9,\"replaced\":4}"},
        {3, "history.compacted",
         "{\"iteration\":1,\"outcome\":\"ok\",\"model\":\"m\",\"replaced\":4,"
         "\"output\":\"a secret\"}"},
        {4, "delegation.finished",
         "{\"iteration\":1,\"name\":\"helper\",\"run\":\"" RUN_B "\",\"outcome\":\"timeout\"}"},
        BODY_OK(5, 1),
        FINISHED(6),
    };
    run_told(world, told);
    struct json_object *root = get_span(world, "invoke_agent bob", 0);
    struct json_object *summary = get_event(root, "loop.history.compacted");
    assert_string_equal(attribute(summary, "loop.outcome"), "{\"stringValue\":\"ok\"}");
    struct json_object *work = get_event(root, "loop.delegation.finished");
    assert_string_equal(attribute(work, "loop.delegation.run"), "{\"stringValue\":\"" RUN_B "\"}");
    assert_null(strstr(json_object_to_json_string(root), "a secret"));
}

WORLD_TEST(a_condition_by_itself_ends_its_verification)
{
    struct telemetry_world *world = *state;
    static const struct told told[] = {
        CREATED,
        CLAIMED,
        STARTED(1, 1),
        {2, "verification.started", "{\"iteration\":1,\"total\":1,\"name\":\"x\"}"},
        {3, "condition.evaluated",
         "{\"iteration\":1,\"name\":\"x\",\"status\":\"not_met\",\"reason\":\"timed_out\"}"},
    };
    run_told(world, told);
    assert_int_equal(count_spans(world, "loop.verification"), 1);
    assert_int_equal(status_code(get_span(world, "loop.exit_condition x", 0)), SPAN_ERROR);
}

/** Everything that the journal of one process gives, as one text. */
static char *all_of(struct telemetry_world *world)
{
    struct buf all = {0};
    for (size_t i = 0; i < world->count; i++) {
        buf_printf(&all, "%s\n", json_object_to_json_string(world->seen[i].root));
    }
    return buf_steal(&all);
}

WORLD_TEST(an_exporter_that_starts_in_the_middle_sends_the_same)
{
    struct telemetry_world *world = *state;
    run_told(world, killed);
    run_told(world, taken_over);
    auto_free char *expected = all_of(world);
    uint64_t last = world->seqs[0];
    for (uint64_t cut = 1; cut < last; cut++) {
        forget_spans(world);
        spans_free(world->spans);
        world->spans = new_spans(world, 0);
        struct journal_reader *reader = journal_reader_new(world->writer, RUN_A, 0);
        const struct journal_entry *entry = NULL;
        while (journal_reader_next(reader, 0, NULL, &entry, NULL) == 1 && entry->event.seq <= cut) {
            assert_true(spans_add(world->spans, entry));
        }
        journal_reader_free(reader);
        spans_free(world->spans); /* killed */
        world->spans = new_spans(world, 0);
        add_events(world, RUN_A, cut);
        auto_free char *got = all_of(world);
        assert_string_equal(got, expected);
    }
}

WORLD_TEST(events_that_were_skipped_are_looked_up)
{
    struct telemetry_world *world = *state;
    static const struct told first[] = {CREATED, CLAIMED};
    static const struct told skipped[] = {STARTED(10, 1), BODY_OK(20, 1), STARTED(30, 2)};
    static const struct told last[] = {BODY_OK(40, 2), FINISHED(50)};
    run_told(world, first);
    tell_events(world, RUN_A, skipped, COUNT(skipped));
    run_told(world, last);
    assert_int_equal(count_spans(world, "loop.iteration"), 1);
    assert_int_equal(time_ms(get_span(world, "loop.iteration", 0), "startTimeUnixNano"), 30);
    assert_string_equal(attribute(get_span(world, "invoke_agent bob", 0), "loop.iterations"),
                        "{\"intValue\":\"2\"}");
}

WORLD_TEST(of_too_many_runs_the_quiet_one_is_forgotten_and_found_again)
{
    struct telemetry_world *world = *state;
    static const struct told begin[] = {CREATED, CLAIMED, STARTED(10, 1)};
    static const struct told end[] = {BODY_OK(40, 1), FINISHED(50)};
    spans_free(world->spans);
    world->spans = new_spans(world, 1);
    run_events(world, RUN_A, begin, COUNT(begin));
    run_events(world, RUN_B, begin, COUNT(begin));
    assert_int_equal(spans_run_count(world->spans), 1);
    run_events(world, RUN_A, end, COUNT(end));
    run_events(world, RUN_B, end, COUNT(end));
    assert_int_equal(count_spans(world, "invoke_agent bob"), 2);
    assert_int_equal(count_spans(world, "loop.iteration"), 2);
}

WORLD_TEST(events_of_an_execution_are_bounded)
{
    struct telemetry_world *world = *state;
    static const struct told begin[] = {CREATED, CLAIMED};
    static const struct told end[] = {FINISHED(50)};
    struct told note = {10, "note", "{\"name\":\"n\"}"};
    run_told(world, begin);
    for (size_t i = 0; i < SPANS_MAX_EVENTS + 5; i++) {
        run_events(world, RUN_A, &note, 1);
    }
    run_told(world, end);
    struct json_object *root = get_span(world, "invoke_agent bob", 0);
    struct json_object *events = NULL;
    assert_true(json_object_object_get_ex(root, "events", &events));
    assert_int_equal(json_object_array_length(events), SPANS_MAX_EVENTS);
    assert_int_equal(json_get_int(root, "droppedEventsCount", 0), 5);
}

WORLD_TEST(open_calls_are_bounded)
{
    struct telemetry_world *world = *state;
    static const struct told begin[] = {CREATED, CLAIMED, STARTED(1, 1)};
    run_told(world, begin);
    for (int i = 0; i <= SPANS_MAX_CALLS; i++) {
        char data[128];
        snprintf(data, sizeof(data), "{\"iteration\":1,\"turn\":1,\"index\":%d,\"name\":\"t\"}", i);
        struct told call = {2, "tool.requested", data};
        run_events(world, RUN_A, &call, 1);
    }
    static const struct told next[] = {BODY_OK(40, 1)};
    run_told(world, next);
    assert_int_equal(count_spans(world, "execute_tool t"), SPANS_MAX_CALLS);
}

WORLD_TEST(runs_that_are_not_sampled_leave_nothing)
{
    struct telemetry_world *world = *state;
    world->environment.sampler = OTEL_SAMPLE_NONE;
    run_told(world, whole_run);
    assert_int_equal(world->count, 0);
    assert_int_equal(spans_run_count(world->spans), 0);
}

#define ASKED(ms)                                                                           \
    {                                                                                       \
        ms, "handoff.requested",                                                            \
            "{\"iteration\":1,\"turn\":1,\"index\":0,\"call_id\":\"c1\",\"name\":\"send\"," \
            "\"request\":\"e6a19e20-f630-5f7a-91bd-71be0c3eae0d\",\"reason\":\"secret\"}"   \
    }
#define DECIDED(ms, how)                                                                    \
    {                                                                                       \
        ms, "handoff.decided",                                                              \
            "{\"iteration\":1,\"turn\":1,\"index\":0,\"call_id\":\"c1\",\"name\":\"send\"," \
            "\"request\":\"e6a19e20-f630-5f7a-91bd-71be0c3eae0d\",\"decision\":\"" how      \
            "\",\"by\":\"user:ann\"}"                                                       \
    }

static const char *link_of(struct json_object *span, size_t at)
{
    return json_get_string(json_object_array_get_idx(json_member(span, "links"), at), "spanId", "");
}

WORLD_TEST(a_call_that_waits_for_a_person_is_a_span_with_links_and_no_parent)
{
    static const struct told events[] = {
        CREATED,
        CLAIMED,
        STARTED(100, 1),
        ASKED(200),
        DECIDED(300, "needs_info"),
        {1000, "run.claimed", "{\"epoch\":2,\"how\":\"resume\",\"alive_ns\":0,\"number\":0}"},
        {1100, "iteration.started", "{\"iteration\":1,\"attempt\":2,\"limit\":4}"},
        DECIDED(86400000, "approved"),
        FINISHED(86400001),
    };
    struct telemetry_world *world = *state;
    char id[TRACE_SPAN_SIZE];
    run_told(world, events);
    struct json_object *wait = get_span(world, "handoff.wait", 0);
    assert_string_equal(span_text(wait, "parentSpanId"), "");
    assert_int_equal(time_ms(wait, "startTimeUnixNano"), 200);
    assert_int_equal(time_ms(wait, "endTimeUnixNano"), 86400000);
    assert_int_equal(json_length(json_member(wait, "links")), 2);
    trace_span_id(RUN_A, TRACE_ITERATION, 1, 1, id);
    assert_string_equal(link_of(wait, 0), id);
    trace_span_id(RUN_A, TRACE_ITERATION, 1, 2, id);
    assert_string_equal(link_of(wait, 1), id);
    assert_string_equal(attribute(wait, "relaytrace.decision"), "{\"stringValue\":\"approved\"}");
    assert_string_equal(attribute(wait, "gen_ai.tool.call.id"), "{\"stringValue\":\"c1\"}");
    const char *text = json_object_to_json_string_ext(wait, JSON_C_TO_STRING_PLAIN);
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "user:ann"));
}

WORLD_TEST(a_wait_ends_with_its_run)
{
    static const struct told events[] = {CREATED, CLAIMED, STARTED(100, 1), ASKED(200),
                                         FINISHED(300)};
    struct telemetry_world *world = *state;
    run_told(world, events);
    struct json_object *wait = get_span(world, "handoff.wait", 0);
    assert_int_equal(time_ms(wait, "endTimeUnixNano"), 300);
    assert_string_equal(attribute(wait, "relaytrace.decision"), "{\"stringValue\":\"run_ended\"}");
}
