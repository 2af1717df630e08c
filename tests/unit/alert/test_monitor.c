// SPDX-License-Identifier: Apache-2.0
/* Which events become warnings, once each, over deaths and beside other monitors. */
#include "alert/notice.h"
#include "loop/runtime.h"
#include "monitor_world.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"

/** A notice of the role "fixer". */
static void store_notice(struct monitor_world *world, const char *key, const char *message)
{
    auto_buf struct buf json = {0};
    bool is_applied = false;
    struct notice notice = {
        .kind = WARNING_EVENT, .agent_id = "fixer", .message = message, .time_ns = world->now_ns};
    notice_encode(&notice, &json);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = NOTICE_COLLECTION,
        .key = key,
        .data = buf_string(&json),
        .data_len = json.len,
        .if_version = STORE_ANY_VERSION,
    };
    assert_int_equal(
        world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL), 0);
}

/* ---- What is warned of ---- */

WORLD_TEST(a_notice_becomes_one_warning)
{
    struct monitor_world *world = *state;
    store_notice(world, "a", "an event was refused");
    store_notice(world, "b", "an event was dropped");
    for (int i = 0; i < 3; i++) {
        world_tick(world);
        monitor_stop(world->monitor);
        world->monitor = NULL;
    }
    assert_int_equal(world_documents(world, "warning", NULL), 2);
    assert_int_equal(
        world_warnings(world, "\"kind\":\"event\",\"run_id\":null,\"agent_id\":\"fixer\""), 2);
    assert_int_equal(world_warnings(world, "an event was dropped"), 1);
    assert_int_equal(world_documents(world, NOTICE_COLLECTION, NULL), 0);
}

WORLD_TEST(more_notices_than_are_read_at_a_time_become_warnings_in_one_round)
{
    struct monitor_world *world = *state;
    char key[16];
    for (int i = 0; i < 130; i++) {
        snprintf(key, sizeof(key), "%03d", i);
        store_notice(world, key, "one");
    }
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 130);
    assert_int_equal(world_documents(world, NOTICE_COLLECTION, NULL), 0);
}

WORLD_TEST(a_limit_that_comes_near_is_a_warning)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_limit_warning(world, &run, 10);
    world_tick(world);
    auto_buf struct buf text = {0};
    assert_int_equal(world_documents(world, "warning", &text), 1);
    auto_json struct json_object *warning = NULL;
    assert_int_equal(json_parse(text.data, text.len, &warning, NULL), 0);
    assert_string_equal(json_get_string(warning, "kind", ""), "limit");
    assert_string_equal(json_get_string(warning, "run_id", ""), run.id);
    assert_string_equal(json_get_string(warning, "agent_id", ""), "fixer");
    assert_string_equal(json_get_string(warning, "limit_name", ""), "iterations");
    assert_int_equal(json_get_int(warning, "iteration", 0), 8);
    assert_int_equal(json_get_int(warning, "limit", 0), 10);
    assert_int_equal(json_get_int(warning, "value", 0), 8);
    assert_int_equal(json_get_int(warning, "remaining", 0), 2);
    assert_int_equal(json_get_int(warning, "percent", 0), 80);
    assert_int_equal(json_get_int(warning, "seq", 0), 2);
    assert_string_equal(json_get_string(warning, "message", ""),
                        "near a limit: 8 of 10 iterations, 2 left");
}

WORLD_TEST(money_is_shown_in_dollars)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_event(world, &run, "limit.warning",
                "{\"limit_name\":\"cost\",\"limit\":2000000,\"value\":1750000}");
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"limit\":2.00,\"value\":1.75,\"remaining\":0.25"), 1);
}

WORLD_TEST(budgets_of_cost_are_shown_in_dollars_and_those_of_tokens_are_not)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_event(world, &run, "limit.warning",
                "{\"limit_name\":\"daemon_daily_cost_budget\",\"limit\":2000000,"
                "\"value\":1750000}");
    world_event(world, &run, "limit.warning",
                "{\"limit_name\":\"daemon_daily_token_budget\",\"limit\":1000,\"value\":800}");
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"limit\":2.00,\"value\":1.75,\"remaining\":0.25"), 1);
    assert_int_equal(world_warnings(world, "\"limit\":1000,\"value\":800,\"remaining\":200"), 1);
}

WORLD_TEST(a_denial_that_ends_a_run_is_said_once)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_event(world, &run, "gate.denied",
                "{\"status\":\"max_iterations\",\"limit_name\":\"iterations\",\"limit\":10,"
                "\"value\":10,\"message\":\"the limit is reached\"}");
    world_event(world, &run, "checkpoint.saved", "{\"number\":1}");
    world_end_run(world, &run, "{\"status\":\"max_iterations\"}");
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 1);
    assert_int_equal(world_warnings(world, "\"kind\":\"policy\""), 1);
}

WORLD_TEST(a_bad_end_is_a_warning_and_a_good_one_is_none)
{
    struct monitor_world *world = *state;
    static const struct {
        const char *status;
        unsigned expected;
    } cases[] = {
        {"completed", 0}, {"cancelled", 0}, {"blocked", 1},          {"failed", 1},
        {"timeout", 1},   {"error", 1},     {"policy_violation", 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct test_run run = world_run(world, "fixer", "");
        char data[128];
        snprintf(data, sizeof(data), "{\"status\":\"%s\",\"message\":\"because\"}",
                 cases[i].status);
        world_end_run(world, &run, data);
        world_tick(world);
        assert_int_equal(world_warnings(world, run.id), cases[i].expected);
    }
    assert_int_equal(world_warnings(world, "blocked after 0 iterations: because"), 1);
}

#define OF_PRD  ",\"spec\":{\"kind\":\"prd\",\"work\":{\"name\":\"x\"}}"
#define OF_TASK ",\"spec\":{\"kind\":\"command\",\"work\":{\"parent\":\"p\",\"task\":\"a\"}}"

WORLD_TEST(a_task_that_has_failed_and_a_file_that_cannot_be_used_are_warnings)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "prd-x", OF_PRD);
    world_event(world, &run, "tasks.read", "{\"count\":1,\"tasks\":[]}");
    world_event(world, &run, "task.ended", "{\"task\":\"a\",\"outcome\":\"no_change\"}");
    world_event(world, &run, "task.failed", "{\"task\":\"US-1\",\"attempt\":3}");
    world_event(world, &run, "tasks.read", "{\"message\":\"torn at line 3\"}");
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"kind\":\"task\""), 2);
    assert_int_equal(world_warnings(world, "US-1"), 1);
    assert_int_equal(world_warnings(world, "torn at line 3"), 1);
}

WORLD_TEST(a_prd_that_is_done_is_told_and_one_that_failed_is_a_bad_end)
{
    struct monitor_world *world = *state;
    struct test_run done = world_run(world, "prd-x", OF_PRD);
    struct test_run failed = world_run(world, "prd-y", OF_PRD);
    world_end_run(world, &done, "{\"status\":\"completed\",\"summary\":\"2 of 2 tasks done\"}");
    world_end_run(world, &failed, "{\"status\":\"failed\"}");
    world_tick(world);
    assert_int_equal(world_warnings(world, done.id), 1);
    assert_int_equal(world_warnings(world, "2 of 2 tasks done"), 1);
    assert_int_equal(world_warnings(world, "\"kind\":\"ended\""), 1);
}

WORLD_TEST(what_comes_of_a_single_attempt_is_told_by_its_prd)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "worker", OF_TASK);
    world_event(world, &run, "limit.warning",
                "{\"limit_name\":\"iterations\",\"limit\":1,\"value\":1}");
    world_event(world, &run, "gate.denied",
                "{\"limit_name\":\"iterations\",\"status\":\"max_iterations\"}");
    world_end_run(world, &run, "{\"status\":\"failed\"}");
    world_tick(world);
    assert_int_equal(world_warnings(world, ""), 0);
    struct test_run denied = world_run(world, "worker", OF_TASK);
    world_event(world, &denied, "step.denied", "{\"policy\":\"no-rm\",\"action\":\"tool\"}");
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"kind\":\"policy\""), 1);
}

WORLD_TEST(a_prd_that_waits_for_its_attempts_is_not_silent)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "prd-x", OF_PRD);
    world_tick(world);
    world->now_ns += HOUR_NS;
    world_tick(world);
    assert_int_equal(world_warnings(world, run.id), 0);
}

WORLD_TEST(a_run_that_continues_after_a_denial_can_end_badly_again)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_event(world, &run, "gate.denied", "{\"status\":\"max_iterations\"}");
    world_event(world, &run, "run.claimed", "{\"how\":\"reopen\"}");
    world_end_run(world, &run, "{\"status\":\"error\"}");
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"kind\":\"ended\""), 1);
}

WORLD_TEST(denied_steps_are_said_once_for_each_policy_and_action)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    struct test_run other = world_run(world, "fixer", "");
    for (int i = 0; i < 3; i++) {
        world_event(world, &run, "step.denied", "{\"policy\":\"p1\",\"action\":\"call_tool\"}");
        world_event(world, &run, "step.denied", "{\"policy\":\"p2\",\"action\":\"call_tool\"}");
        world_event(world, &run, "step.denied", "{\"policy\":\"p1\",\"action\":\"verify\"}");
        world_event(world, &other, "step.denied", "{\"policy\":\"p1\",\"action\":\"verify\"}");
        world_tick(world);
        monitor_stop(world->monitor); /* what was said outlives the monitor */
        world->monitor = NULL;
    }
    assert_int_equal(world_documents(world, "warning", NULL), 4);
    world_end_run(world, &run, "{\"status\":\"completed\"}");
    world_end_run(world, &other, "{\"status\":\"completed\"}");
    world_tick(world);
    assert_int_equal(world_documents(world, "monitor-run", NULL), 0);
}

WORLD_TEST(trouble_with_the_store_is_a_warning)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_event(world, &run, "storage.degraded", "{\"failures\":3,\"message\":\"disk full\"}");
    world_event(world, &run, "checkpoint.corrupt", "{\"number\":3,\"message\":\"digest\"}");
    world_tick(world);
    assert_int_equal(
        world_warnings(
            world,
            "the store failed 3 times in 0 ms; the run continued without checkpoints: disk full"),
        1);
    assert_int_equal(world_warnings(world, "checkpoint 3 is damaged and was not used: digest"), 1);
}

WORLD_TEST(a_wrong_policy_file_is_said_once_though_many_loops_refuse_it)
{
    struct monitor_world *world = *state;
    static const char refused[] = "{\"source\":\"/a.cedar\",\"message\":\"line 1: no\"}";
    for (int i = 0; i < 5; i++) {
        struct test_run run = world_run(world, "fixer", "");
        world_event(world, &run, "policy.refused", refused);
        world_tick(world);
        monitor_stop(world->monitor);
        world->monitor = NULL;
    }
    assert_int_equal(world_warnings(world, "policy_refused"), 1);
    world->now_ns += HOUR_NS;
    struct test_run run = world_run(world, "fixer", "");
    world_event(world, &run, "policy.refused", refused);
    world_tick(world);
    assert_int_equal(world_warnings(world, "policy_refused"), 2);
}

WORLD_TEST(the_copied_history_of_a_forked_run_is_not_news)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", ",\"forked_from\":\"x\",\"forked_seq\":3");
    world_limit_warning(world, &run, 10);
    world_event(world, &run, "gate.denied", "{\"status\":\"timeout\"}");
    world_limit_warning(world, &run, 12); /* seq 4 */
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 1);
    assert_int_equal(world_warnings(world, "\"limit\":12"), 1);
}

WORLD_TEST(the_first_monitor_leaves_old_history_alone)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_limit_warning(world, &run, 10);
    world->now_ns += HOUR_NS + 1;
    world_limit_warning(world, &run, 12);
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 1);
    assert_int_equal(world_warnings(world, "\"limit\":12"), 1);
}

WORLD_TEST(what_happened_while_no_monitor_ran_is_not_missed)
{
    struct monitor_world *world = *state;
    world_tick(world);
    monitor_stop(world->monitor);
    world->monitor = NULL;
    struct test_run run = world_run(world, "fixer", "");
    world_limit_warning(world, &run, 10);
    world->now_ns += 500 * HOUR_NS;
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"kind\":\"limit\""), 1);
}

/* ---- Silence ---- */

WORLD_TEST(a_silent_run_is_said_once_for_each_silence)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_tick(world);
    for (int i = 0; i < 3; i++) {
        world->now_ns += 9 * MINUTE_NS;
        world_tick(world);
        assert_int_equal(world_warnings(world, "\"kind\":\"stalled\""), i);
        world->now_ns += 2 * MINUTE_NS;
        world_tick(world);
        world->now_ns += HOUR_NS;
        world_tick(world);
        monitor_stop(world->monitor);
        world->monitor = NULL;
        world_tick(world);
        assert_int_equal(world_warnings(world, "\"kind\":\"stalled\""), i + 1);
        world_event(world, &run, "note", "{\"name\":\"alive\"}");
    }
    assert_int_equal(world_warnings(world, "nothing happened for 11m 00s"), 3);
}

WORLD_TEST(a_run_that_nobody_executes_is_not_silent)
{
    struct monitor_world *world = *state;
    struct test_run parked = world_run(world, "fixer", "");
    struct store_batch batch = {.run_id = parked.id, .epoch = 1, .first_seq = 2};
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    assert_int_equal(world->memory->ops->commit(world->memory, batches, 1, &result, NULL), 0);
    struct test_run paused = world_run(world, "pauser", "");
    batch = (struct store_batch){.run_id = paused.id,
                                 .epoch = 1,
                                 .first_seq = 2,
                                 .lease_ns = 1000 * HOUR_NS,
                                 .summary = {.is_paused = true}};
    assert_int_equal(world->memory->ops->commit(world->memory, batches, 1, &result, NULL), 0);
    world->now_ns += HOUR_NS;
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 0);
}

WORLD_TEST(a_pause_between_iterations_is_not_silence)
{
    struct monitor_world *world = *state;
    world->delay_ns = HOUR_NS;
    world_run(world, "fixer", "");
    world->now_ns += HOUR_NS + 9 * MINUTE_NS;
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 0);
    world->now_ns += 2 * MINUTE_NS;
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 1);
}

/* ---- Exactly once ---- */

WORLD_TEST(two_monitors_of_one_store_make_one_warning)
{
    struct monitor_world *world = *state;
    struct monitor *other = world_monitor(world);
    struct test_run run = world_run(world, "fixer", "");
    world_sink(world, "{\"name\":\"ops\",\"kind\":\"slack\",\"url\":\"http://127.0.0.1:9/x\"}",
               NULL);
    for (int i = 9; i < 30; i++) {
        world_limit_warning(world, &run, i);
        world_event(world, &run, "step.denied", "{\"policy\":\"p1\",\"action\":\"verify\"}");
        if (i % 3 == 0) {
            assert_int_equal(monitor_tick(other, NULL), 0);
        }
        if (i % 2 == 0) {
            world_tick(world);
        }
    }
    world_tick(world);
    assert_int_equal(monitor_tick(other, NULL), 0);
    monitor_stop(other);
    assert_int_equal(world_documents(world, "warning", NULL), 22);
    assert_int_equal(world_documents(world, "delivery", NULL), 22);
}

/** Let the monitor die at each call to the store. @return whether it came through without */
static bool live_until(struct monitor_world *world, uint64_t dies_at, bool has_effect)
{
    struct rondo_error err = {0};
    world_close_store(world);
    world_open_store(world);
    world->calls = 0;
    world->dies_at = dies_at;
    world->has_effect = has_effect;
    struct monitor *monitor = world_monitor(world);
    int r = monitor_tick(monitor, &err);
    bool is_through = world->calls < dies_at;
    assert_true(is_through ? r == 0 : true);
    monitor_stop(monitor); /* what it still tries fails, as of a dead process */
    world->dies_at = 0;
    return is_through;
}

WORLD_TEST(a_monitor_that_dies_anywhere_makes_each_warning_once)
{
    struct monitor_world *world = *state;
    static const char slack[] =
        "{\"name\":\"ops\",\"kind\":\"slack\",\"url\":\"http://127.0.0.1:9/x\"}";
    world_sink(world, slack, NULL);
    unsigned expected = 0;
    for (int has_effect = 0; has_effect < 2; has_effect++) {
        bool is_through = false;
        for (uint64_t dies_at = 1; !is_through; dies_at++) {
            struct test_run run = world_run(world, "fixer", "");
            world_limit_warning(world, &run, 10);
            world_event(world, &run, "step.denied", "{\"policy\":\"p1\",\"action\":\"verify\"}");
            world_end_run(world, &run, "{\"status\":\"failed\"}");
            expected += 3;
            is_through = live_until(world, dies_at, has_effect == 1);
            assert_true(live_until(world, 1000000, false));
            assert_int_equal(world_warnings(world, run.id), 3);
        }
        assert_true(expected > 9);
    }
    assert_int_equal(world_documents(world, "warning", NULL), expected);
    assert_int_equal(world_documents(world, "delivery", NULL), expected);
}

WORLD_TEST(a_failing_store_stops_nothing_for_ever)
{
    struct monitor_world *world = *state;
    world_tick(world);
    struct test_run run = world_run(world, "fixer", "");
    world_limit_warning(world, &run, 10);
    struct rondo_error err = {0};
    world->dies_at = 1;
    assert_true(monitor_tick(world->monitor, &err) < 0);
    assert_true(strstr(err.message, "while looking for warnings") != NULL);
    world->dies_at = 0;
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 1);
}

/* ---- Keeping and reading ---- */

WORLD_TEST(only_the_newest_warnings_are_kept)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    for (int i = 0; i < LIMIT_WARNINGS_KEPT; i++) {
        world_limit_warning(world, &run, 100 + i);
    }
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), LIMIT_WARNINGS_KEPT);
    assert_int_equal(world_warnings(world, "\"limit\":100,"), 1);
    for (int i = 0; i < 600; i++) {
        world_limit_warning(world, &run, 200000 + i);
    }
    world_tick(world);
    size_t kept = world_documents(world, "warning", NULL);
    assert_true(kept >= LIMIT_WARNINGS_KEPT && kept <= LIMIT_WARNINGS_KEPT + 500);
    assert_int_equal(world_warnings(world, "\"limit\":100,"), 0);
    assert_int_equal(world_warnings(world, "\"limit\":200599,"), 1);
}

struct delivered_ids {
    char ids[8][128];
    size_t count;
};

static bool keep_id(const char *id, const char *json, void *context)
{
    struct delivered_ids *reading = context;
    assert_true(strstr(json, id) != NULL);
    snprintf(reading->ids[reading->count++], sizeof(reading->ids[0]), "%s", id);
    return true;
}

static size_t read_warnings(struct monitor_world *world, struct warning_query query,
                            struct delivered_ids *ret_reading)
{
    *ret_reading = (struct delivered_ids){0};
    assert_int_equal(warnings_read(world->memory, &query, keep_id, ret_reading, NULL), 0);
    return ret_reading->count;
}

WORLD_TEST(warnings_are_read_newest_first_by_run_agent_and_kind)
{
    struct monitor_world *world = *state;
    struct test_run one = world_run(world, "fixer", "");
    struct test_run two = world_run(world, "tester", "");
    world_limit_warning(world, &one, 10);
    world_limit_warning(world, &two, 10);
    world_end_run(world, &one,
                  "{\"status\":\"failed\",\"message\":\"\\\"kind\\\":\\\"limit\\\"\"}");
    world_tick(world);
    struct delivered_ids all;
    struct delivered_ids some;
    assert_int_equal(read_warnings(world, (struct warning_query){.kind = -1}, &all), 3);
    assert_true(strcmp(all.ids[0], all.ids[1]) > 0 && strcmp(all.ids[1], all.ids[2]) > 0);
    read_warnings(world, (struct warning_query){.kind = -1, .before = all.ids[1]}, &some);
    assert_int_equal(some.count, 1);
    assert_string_equal(some.ids[0], all.ids[2]);
    assert_int_equal(
        read_warnings(world, (struct warning_query){.kind = -1, .run_id = one.id}, &some), 2);
    assert_int_equal(
        read_warnings(world, (struct warning_query){.kind = -1, .agent_id = "tester"}, &some), 1);
    assert_int_equal(read_warnings(world, (struct warning_query){.kind = WARNING_LIMIT}, &some), 2);
    assert_int_equal(read_warnings(world,
                                   (struct warning_query){.kind = -1, .run_id = one.id, .limit = 1},
                                   &some),
                     1);
}

static unsigned told;

static void hear(void *context, const char *agent_id, const char *json)
{
    (void)context;
    told += strcmp(agent_id, "fixer") == 0 && strstr(json, "\"kind\":\"limit\"") != NULL;
}

WORLD_TEST(a_monitor_that_loses_tells_its_own_listeners_all_the_same)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    world_limit_warning(world, &run, 10);
    world_tick(world);
    struct monitor_options options = world_options(world);
    options.on_warning = hear;
    struct monitor *listener = NULL;
    told = 0;
    assert_int_equal(monitor_start(&options, &listener, NULL), 0);
    assert_int_equal(monitor_tick(listener, NULL), 0);
    assert_int_equal(told, 0);
    world_limit_warning(world, &run, 12);
    world_tick(world);
    assert_int_equal(monitor_tick(listener, NULL), 0);
    assert_int_equal(monitor_tick(listener, NULL), 0);
    assert_int_equal(told, 1);
    monitor_stop(listener);
}

/** The clock was ahead when the first server of the store was started. */
WORLD_TEST(a_clock_that_is_set_back_hides_nothing)
{
    struct monitor_world *world = *state;
    struct test_run old = world_run(world, "fixer", "");
    world_limit_warning(world, &old, 10);
    world->now_ns += 5 * HOUR_NS;
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"kind\":\"limit\""), 0);
    world->now_ns -= 5 * HOUR_NS;
    struct test_run run = world_run(world, "fixer", "");
    world_limit_warning(world, &run, 10);
    world_tick(world);
    assert_int_equal(world_warnings(world, "\"kind\":\"limit\""), 1);
}

static void hear_silence(void *context, const char *agent_id, const char *json)
{
    (void)agent_id;
    *(unsigned *)context += strstr(json, "\"kind\":\"stalled\"") != NULL ? 1 : 0;
}

/** The later warning has the smaller id. */
WORLD_TEST(runs_that_fall_silent_at_one_position_are_all_told)
{
    struct monitor_world *world = *state;
    struct test_run runs[2];
    struct monitor_options options = world_options(world);
    struct monitor *listener = NULL;
    unsigned silences = 0;
    options.on_warning = hear_silence;
    options.on_warning_context = &silences;
    for (size_t i = 0; i < 2; i++) {
        runs[i] = world_run(world, "fixer", "");
    }
    bool is_first_smaller = strcmp(runs[0].id, runs[1].id) < 0;
    struct test_run *small = &runs[is_first_smaller ? 0 : 1];
    struct test_run *large = &runs[is_first_smaller ? 1 : 0];
    assert_int_equal(monitor_start(&options, &listener, NULL), 0);
    assert_int_equal(monitor_tick(listener, NULL), 0);
    world_event(world, large, "note", "{\"name\":\"alive\"}");
    world->now_ns += 5 * MINUTE_NS;
    world_event(world, small, "note", "{\"name\":\"alive\"}");
    world->now_ns += 6 * MINUTE_NS;
    assert_int_equal(monitor_tick(listener, NULL), 0);
    assert_int_equal(silences, 1);
    world->now_ns += 6 * MINUTE_NS;
    assert_int_equal(monitor_tick(listener, NULL), 0);
    assert_int_equal(world_warnings(world, "\"kind\":\"stalled\""), 2);
    assert_int_equal(silences, 2);
    monitor_stop(listener);
}

WORLD_TEST(a_message_that_is_too_long_is_cut_between_characters)
{
    struct monitor_world *world = *state;
    struct test_run run = world_run(world, "fixer", "");
    auto_buf struct buf data = {0};
    buf_append_string(&data, "{\"status\":\"failed\",\"message\":\"");
    for (int i = 0; i < 1000; i++) {
        buf_append_string(&data, "\xc3\xa4");
    }
    buf_append_string(&data, "\"}");
    world_end_run(world, &run, buf_string(&data));
    world_tick(world);
    assert_int_equal(world_warnings(world, "\xc3\xa4\",\"seq\""), 1);
    assert_int_equal(world_warnings(world, "\xef\xbf\xbd"), 0);
}

/* ---- What the desk file hides ---- */

/** The monitor of a server whose desk file hides values of one agent. */
static struct monitor *monitor_with_desks(struct monitor_world *world, const char *path,
                                          struct runtime **ret_runtime)
{
    static const char file[] = "format: 1\ndesks: {operators: {}}\n"
                               "redaction: [{agent: fixer, pointers: [/action/args/x]}]\n";
    struct monitor_options options = world_options(world);
    struct monitor *monitor = NULL;
    struct runtime_options runtime = {.store = world->memory, .desks = path, .has_no_keeper = true};
    assert_int_equal(file_replace_durably(path, file, strlen(file), NULL), 0);
    assert_int_equal(runtime_new(&runtime, ret_runtime, NULL), 0);
    options.runtime = *ret_runtime;
    assert_int_equal(monitor_start(&options, &monitor, NULL), 0);
    return monitor;
}

static void ask_person(struct monitor_world *world, const char *agent)
{
    struct test_run run = world_run(world, agent, "");
    world_event(world, &run, "handoff.requested",
                "{\"iteration\":1,\"turn\":1,\"index\":0,\"call_id\":\"c\",\"name\":\"run_shell\","
                "\"request\":\"e6a19e20-f630-5f7a-91bd-71be0c3eae0d\",\"reason\":\"secret-7\"}");
    world_event(world, &run, "step.denied",
                "{\"iteration\":1,\"action\":\"call_tool\",\"name\":\"run_shell\","
                "\"policy\":\"p\",\"verdict\":\"deny\",\"message\":\"secret-7 is denied\"}");
}

WORLD_TEST(a_warning_repeats_no_value_that_the_desk_file_hides)
{
    struct monitor_world *world = *state;
    char folder[64];
    char path[96];
    struct runtime *runtime = NULL;
    assert_true(scratch_new(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/desks.yaml", folder);
    world->monitor = monitor_with_desks(world, path, &runtime);
    ask_person(world, "fixer");
    ask_person(world, "stranger");
    world_tick(world);
    assert_int_equal(world_documents(world, "warning", NULL), 4);
    assert_int_equal(world_warnings(world, "waits for the decision of a person"), 2);
    assert_int_equal(world_warnings(world, "secret-7"), 2); /* of the other agent */
    monitor_stop(world->monitor);
    world->monitor = NULL;
    runtime_free(runtime);
    assert_int_equal(file_remove_tree(folder, NULL), 0);
}
