// SPDX-License-Identifier: Apache-2.0
/* Accepting events, handing them out, and what is left after a restart. */
#include "../intake_world.h"
#include "alert/notice.h"
#include "source/intake/dedupe.h"
#include "source/intake/mark.h"

#include <sys/wait.h>
#include <unistd.h>

#define DAY_NS (INT64_C(24) * 3600 * NS_PER_S)

#define TEST_IN_WORLD(name) TEST_WITH(name, make_world, end_world)

TEST_IN_WORLD(an_accepted_event_is_handed_out_with_its_run)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    struct intake_result result = world_submit(world, "fixer", "fix it", "a");
    assert_int_equal(result.outcome, INTAKE_ACCEPTED);
    assert_string_equal(world_next(world, &request), "fix it");
    assert_string_equal(request.id, result.run_id);
    assert_string_equal(request.role, "fixer");
    assert_string_equal(request.key, "a");
    start_request_fini(&request);
}

TEST_IN_WORLD(an_event_that_comes_again_has_the_run_of_the_first)
{
    struct intake_world *world = *state;
    struct intake_result first = world_submit(world, "fixer", "one", "a");
    struct intake_result second = world_submit(world, "fixer", "one", "a");
    assert_int_equal(second.outcome, INTAKE_DUPLICATE);
    assert_string_equal(second.run_id, first.run_id);
    world_expect_run(world, "one");
    world_expect_run(world, "");
}

TEST_IN_WORLD(events_without_a_key_are_all_new)
{
    struct intake_world *world = *state;
    world_submit(world, "fixer", "one", NULL);
    world_submit(world, "fixer", "one", NULL);
    world_expect_run(world, "one");
    world_expect_run(world, "one");
}

TEST_IN_WORLD(a_key_counts_for_seven_days)
{
    struct intake_world *world = *state;
    world_submit(world, "fixer", "one", "a");
    world_expect_run(world, "one");
    world->now_ns += DEDUPE_NS - 1;
    assert_int_equal(world_submit(world, "fixer", "one", "a").outcome, INTAKE_DUPLICATE);
    world->now_ns += 1;
    assert_int_equal(world_submit(world, "fixer", "one", "a").outcome, INTAKE_ACCEPTED);
}

TEST_IN_WORLD(old_keys_are_forgotten)
{
    struct intake_world *world = *state;
    char key[16];
    for (int i = 0; i < LIMIT_KEYS_PURGED + 10; i++) {
        snprintf(key, sizeof(key), "%d", i);
        world_submit(world, "fixer", "one", key);
        world_expect_run(world, "one");
    }
    world->now_ns += 9 * DAY_NS;
    world_submit(world, "fixer", "one", "new");
    assert_int_equal(intake_purge(world->intake, NULL), 0);
    assert_int_equal(world_count(world, DEDUPE_COLLECTION), 1);
}

TEST_IN_WORLD(a_key_still_counts_after_the_purge_of_its_last_day)
{
    struct intake_world *world = *state;
    world_submit(world, "fixer", "one", "a");
    world_expect_run(world, "one");
    world->now_ns += DEDUPE_NS - 1;
    assert_int_equal(intake_purge(world->intake, NULL), 0);
    assert_int_equal(world_submit(world, "fixer", "one", "a").outcome, INTAKE_DUPLICATE);
}

TEST_IN_WORLD(a_clock_that_is_set_back_makes_nothing_new)
{
    struct intake_world *world = *state;
    world_submit(world, "fixer", "one", "a");
    world_submit(world, "fixer", "two", "b");
    world->now_ns -= 3 * DAY_NS;
    assert_int_equal(world_submit(world, "fixer", "one", "a").outcome, INTAKE_DUPLICATE);
    world_submit(world, "fixer", "three", "c");
    world_expect_run(world, "one");
    world_expect_run(world, "two");
    world_expect_run(world, "three");
}

TEST_IN_WORLD(a_role_that_is_not_on_duty_is_refused_and_recorded)
{
    struct intake_world *world = *state;
    struct intake_result result = world_submit(world, "nobody", "one", NULL);
    assert_int_equal(result.outcome, INTAKE_REFUSED);
    assert_string_equal(result.reason, "no such role is on duty");
    assert_int_equal(world->notices, 1);
    assert_int_equal(world_count(world, REFUSAL_COLLECTION), 1);
}

TEST_IN_WORLD(a_refused_event_may_come_again)
{
    struct intake_world *world = *state;
    world_submit(world, "later", "one", "a");
    intake_set_role(world->intake, "later", &world_queue);
    assert_int_equal(world_submit(world, "later", "one", "a").outcome, INTAKE_ACCEPTED);
}

/** A prompt of so many bytes. */
static char *long_text(size_t len)
{
    char *text = memory_new(len + 1);
    memset(text, 1, len); /* the worst: each byte is escaped as six */
    text[len] = '\0';
    return text;
}

TEST_IN_WORLD(a_prompt_of_the_greatest_length_is_accepted)
{
    struct intake_world *world = *state;
    char *prompt = long_text(LIMIT_START_PROMPT_BYTES);
    assert_int_equal(world_submit(world, "fixer", prompt, NULL).outcome, INTAKE_ACCEPTED);
    world_expect_run(world, prompt);
    free(prompt);
}

TEST_IN_WORLD(a_longer_prompt_is_refused)
{
    struct intake_world *world = *state;
    char *prompt = long_text(LIMIT_START_PROMPT_BYTES + 1);
    assert_int_equal(world_submit(world, "fixer", prompt, NULL).outcome, INTAKE_REFUSED);
    free(prompt);
}

TEST_IN_WORLD(a_key_of_the_greatest_length_is_accepted_and_a_longer_one_refused)
{
    struct intake_world *world = *state;
    char *key = long_text(LIMIT_START_KEY_BYTES);
    assert_int_equal(world_submit(world, "fixer", "one", key).outcome, INTAKE_ACCEPTED);
    free(key);
    key = long_text(LIMIT_START_KEY_BYTES + 1);
    assert_int_equal(world_submit(world, "fixer", "one", key).outcome, INTAKE_REFUSED);
    free(key);
}

/* ---- Full queues ---------------------------------------------------------------------------- */

/** A queue of the rule in which one run executes and three requests wait. */
static void fill_queue(struct intake_world *world, enum queue_rule rule)
{
    struct queue_options options = world_queue;
    struct start_request request = {0};
    options.rule = rule;
    intake_set_role(world->intake, "fixer", &options);
    world_submit(world, "fixer", "running", NULL);
    world_next(world, &request);
    assert_int_equal(intake_started(world->intake, &request, NULL), 0);
    start_request_fini(&request);
    world_submit(world, "fixer", "first", "1");
    if (rule != QUEUE_COALESCE) {
        world_submit(world, "fixer", "second", "2");
        world_submit(world, "fixer", "third", "3");
    }
}

TEST_IN_WORLD(a_queue_that_waits_does_not_accept_more_than_fit)
{
    struct intake_world *world = *state;
    fill_queue(world, QUEUE_WAIT);
    struct intake_result result = world_submit(world, "fixer", "fourth", "4");
    assert_int_equal(result.outcome, INTAKE_FULL);
    assert_string_equal(result.reason, "the queue is full (3 wait)");
    assert_int_equal(world->last.kind, REFUSAL_FULL);
}

TEST_IN_WORLD(a_full_queue_counts_none_that_can_start)
{
    struct intake_world *world = *state;
    for (int i = 0; i < 4; i++) { /* one of them has a place */
        char key[2] = {(char)('1' + i), '\0'};
        assert_int_equal(world_submit(world, "fixer", "waits", key).outcome, INTAKE_ACCEPTED);
    }
    struct intake_result result = world_submit(world, "fixer", "fifth", "5");
    assert_int_equal(result.outcome, INTAKE_FULL);
    assert_string_equal(result.reason, "the queue is full (3 wait)");
}

TEST_IN_WORLD(that_a_queue_is_full_is_told_once_until_it_is_not)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    fill_queue(world, QUEUE_WAIT);
    world_submit(world, "fixer", "fourth", "4");
    world_submit(world, "fixer", "fourth", "4");
    assert_int_equal(world->notices, 1);
    struct queue_options larger = {.max_waiting = 4, .max_running = 1};
    intake_set_role(world->intake, "fixer", &larger);
    assert_int_equal(world_submit(world, "fixer", "fourth", "4").outcome, INTAKE_ACCEPTED);
    world_submit(world, "fixer", "fifth", "5");
    assert_int_equal(world->notices, 2);
    start_request_fini(&request);
}

TEST_IN_WORLD(people_are_told_of_refused_events_once_an_hour_with_their_number)
{
    struct intake_world *world = *state;
    world_submit(world, "stranger", "one", NULL);
    assert_int_equal(world->last.unsaid, 1);
    world_submit(world, "stranger", "two", NULL);
    world_submit(world, "stranger", "three", NULL);
    assert_int_equal(world->last.unsaid, 0);
    assert_int_equal(world_count(world, NOTICE_COLLECTION), 1);
    assert_int_equal(world_count(world, REFUSAL_COLLECTION), 3);
    world->now_ns += INTAKE_NOTICE_NS;
    world_submit(world, "stranger", "four", NULL);
    assert_int_equal(world->last.unsaid, 3);
    assert_int_equal(world_count(world, NOTICE_COLLECTION), 2);
    auto_buf struct buf text = {0};
    refusal_sentence(&world->last, &text);
    assert_string_equal(buf_string(&text),
                        "an event was refused: no such role is on duty (fixer/test-1); and 2 more "
                        "like it since the last warning");
}

/** Submit an event that was due some time ago. */
static struct intake_result submit_late(struct intake_world *world, int64_t late_ns, int64_t missed)
{
    struct intake_result result;
    struct intake_event event = {.source = "fixer/test-1",
                                 .role = "fixer",
                                 .kind = "test",
                                 .prompt = "late",
                                 .due_ns = world->now_ns - late_ns,
                                 .missed = missed};
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    return result;
}

TEST_IN_WORLD(an_event_that_comes_late_has_its_run_and_is_recorded)
{
    struct intake_world *world = *state;
    submit_late(world, INTAKE_LATE_NS, 0);
    assert_int_equal(world->notices, 0);
    struct intake_result result = submit_late(world, INTAKE_LATE_NS + NS_PER_S, 0);
    assert_int_equal(result.outcome, INTAKE_ACCEPTED);
    assert_int_equal(world->last.kind, REFUSAL_LATE);
    assert_string_equal(world->last.run_id, result.run_id);
    assert_string_equal(world->last.reason, "its event comes 5m 01s after its time");
    submit_late(world, 0, 4);
    assert_string_equal(world->last.reason,
                        "4 times passed without an event; this one counts for all");
    assert_int_equal(intake_state(world->intake).refusals[REFUSAL_LATE], 2);
}

TEST_IN_WORLD(times_that_are_skipped_are_recorded_with_the_mark)
{
    struct intake_world *world = *state;
    char *mark = NULL;
    struct intake_event event = {.source = "fixer/test-1", .role = "fixer", .mark = "{\"seen\":7}"};
    assert_int_equal(intake_skip(world->intake, &event, "3 times passed and are skipped", NULL), 0);
    assert_int_equal(source_mark_read(world->memory, "fixer/test-1", &mark, NULL, NULL), 0);
    assert_string_equal(mark, "{\"seen\":7}");
    free(mark);
    assert_int_equal(world->last.kind, REFUSAL_LATE);
    assert_int_equal(world_count(world, REFUSAL_COLLECTION), 1);
}

TEST_IN_WORLD(the_mark_stays_when_an_event_does_not_fit)
{
    struct intake_world *world = *state;
    struct intake_result result;
    char *mark = NULL;
    fill_queue(world, QUEUE_WAIT);
    struct intake_event event = {.source = "fixer/test-1",
                                 .role = "fixer",
                                 .kind = "test",
                                 .prompt = "fourth",
                                 .mark = "{\"at\":4}"};
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    assert_int_equal(source_mark_read(world->memory, "fixer/test-1", &mark, NULL, NULL), 0);
    assert_null(mark);
}

TEST_IN_WORLD(the_mark_changes_with_its_event)
{
    struct intake_world *world = *state;
    struct intake_result result;
    char *mark = NULL;
    struct intake_event event = {.source = "fixer/test-1",
                                 .role = "fixer",
                                 .kind = "test",
                                 .prompt = "one",
                                 .mark = "{\"at\":4}"};
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    assert_int_equal(source_mark_read(world->memory, "fixer/test-1", &mark, NULL, NULL), 0);
    assert_string_equal(mark, "{\"at\":4}");
    free(mark);
}

TEST_IN_WORLD(the_oldest_is_dropped_for_a_new_one)
{
    struct intake_world *world = *state;
    fill_queue(world, QUEUE_DROP_OLDEST);
    struct intake_result result;
    struct intake_event event = {
        .source = "fixer/other-2", .role = "fixer", .kind = "test", .prompt = "fourth"};
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    assert_int_equal(result.outcome, INTAKE_ACCEPTED);
    assert_int_equal(world->last.kind, REFUSAL_DROPPED);
    assert_string_equal(world->last.source, "fixer/test-1");
    world_open(world);
    world_expect_run(world, "second");
    world_expect_run(world, "third");
    world_expect_run(world, "fourth");
}

TEST_IN_WORLD(events_of_one_group_become_one_run_with_the_newest_prompt)
{
    struct intake_world *world = *state;
    fill_queue(world, QUEUE_COALESCE);
    struct intake_result first = world_submit(world, "fixer", "newer", "2");
    assert_int_equal(first.outcome, INTAKE_COALESCED);
    assert_int_equal(world->last.kind, REFUSAL_COALESCED);
    assert_string_equal(world->last.run_id, first.run_id);
    struct intake_result again = world_submit(world, "fixer", "newer", "2");
    assert_int_equal(again.outcome, INTAKE_DUPLICATE);
    assert_string_equal(again.run_id, first.run_id);
    world_open(world);
    world_expect_run(world, "newer");
    world_expect_run(world, "");
}

TEST_IN_WORLD(a_queue_that_refuses_says_so)
{
    struct intake_world *world = *state;
    fill_queue(world, QUEUE_REFUSE);
    assert_int_equal(world_submit(world, "fixer", "fourth", "4").outcome, INTAKE_REFUSED);
    assert_int_equal(world->last.kind, REFUSAL_REFUSED);
}

TEST_IN_WORLD(a_queue_of_no_length_accepts_what_can_start_at_once)
{
    struct intake_world *world = *state;
    struct queue_options none = {.max_waiting = 0, .max_running = 1, .rule = QUEUE_REFUSE};
    intake_set_role(world->intake, "fixer", &none);
    assert_int_equal(world_submit(world, "fixer", "one", NULL).outcome, INTAKE_ACCEPTED);
    assert_int_equal(world_submit(world, "fixer", "two", NULL).outcome, INTAKE_REFUSED);
}

/* ---- Handing out ---------------------------------------------------------------------------- */

TEST_IN_WORLD(roles_take_turns)
{
    struct intake_world *world = *state;
    struct queue_options many = {.max_waiting = 10, .max_running = 10};
    intake_set_role(world->intake, "fixer", &many);
    intake_set_role(world->intake, "writer", &many);
    world_submit(world, "fixer", "f1", NULL);
    world_submit(world, "fixer", "f2", NULL);
    world_submit(world, "fixer", "f3", NULL);
    world_submit(world, "writer", "w1", NULL);
    const char *const expected[] = {"f1", "w1", "f2", "f3"};
    for (size_t i = 0; i < COUNT(expected); i++) {
        struct start_request request = {0};
        assert_string_equal(world_next(world, &request), expected[i]);
        start_request_fini(&request);
    }
}

TEST_IN_WORLD(a_role_executes_no_more_runs_than_it_may)
{
    struct intake_world *world = *state;
    struct start_request first = {0};
    struct start_request second = {0};
    world_submit(world, "fixer", "one", NULL);
    world_submit(world, "fixer", "two", NULL);
    assert_string_equal(world_next(world, &first), "one");
    assert_string_equal(world_next(world, &second), "");
    assert_int_equal(intake_started(world->intake, &first, NULL), 0);
    assert_string_equal(world_next(world, &second), "");
    intake_ended(world->intake, first.id);
    assert_string_equal(world_next(world, &second), "two");
    start_request_fini(&first);
    start_request_fini(&second);
}

TEST_IN_WORLD(a_run_that_was_there_before_counts)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    intake_count_running(world->intake, "fixer", "01890000-0000-7000-8000-000000000000", NULL,
                         NULL);
    world_submit(world, "fixer", "one", NULL);
    assert_string_equal(world_next(world, &request), "");
    intake_ended(world->intake, "01890000-0000-7000-8000-000000000000");
    assert_string_equal(world_next(world, &request), "one");
    start_request_fini(&request);
}

TEST_IN_WORLD(a_run_that_a_crash_has_left_with_its_request_counts_once)
{
    struct intake_world *world = *state;
    struct intake_result result = world_submit(world, "fixer", "one", NULL);
    world_submit(world, "fixer", "two", NULL);
    world_open(world);
    intake_count_running(world->intake, "fixer", result.run_id, NULL, NULL);
    assert_int_equal(intake_state(world->intake).running, 1);
    assert_int_equal(intake_state(world->intake).waiting, 1);
    assert_int_equal(world_count(world, START_REQUEST_COLLECTION), 1);
    world_expect_run(world, "");
    intake_ended(world->intake, result.run_id);
    world_expect_run(world, "two");
}

/** Submit what somebody says in a conversation. */
static struct intake_result say(struct intake_world *world, const char *conversation,
                                const char *prompt)
{
    struct intake_result result = {0};
    const struct intake_event event = {
        .source = "fixer/test-1",
        .role = "fixer",
        .kind = "test",
        .mode = START_CONVERSATION,
        .prompt = prompt,
        .conversation = conversation,
        .idle_s = 60,
    };
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    return result;
}

TEST_IN_WORLD(turns_of_a_conversation_wait_for_each_other_and_others_do_not)
{
    struct intake_world *world = *state;
    struct start_request first = {0};
    struct start_request other = {0};
    struct start_request second = {0};
    intake_set_role(world->intake, "fixer",
                    &(struct queue_options){.max_waiting = 9, .max_running = 9});
    say(world, "a", "first of a");
    say(world, "a", "second of a");
    say(world, "b", "first of b");
    assert_string_equal(world_next(world, &first), "first of a");
    assert_int_equal(first.mode, START_CONVERSATION);
    assert_string_equal(first.conversation, "a");
    assert_int_equal(first.idle_s, 60);
    assert_string_equal(world_next(world, &other), "first of b");
    assert_string_equal(world_next(world, &second), "");
    intake_postpone(world->intake, first.id);
    start_request_fini(&first);
    assert_string_equal(world_next(world, &first), "first of a");
    assert_int_equal(intake_started(world->intake, &first, NULL), 0);
    assert_string_equal(world_next(world, &second), "");
    intake_ended(world->intake, first.id);
    assert_string_equal(world_next(world, &second), "second of a");
    start_request_fini(&first);
    start_request_fini(&other);
    start_request_fini(&second);
}

TEST_IN_WORLD(a_turn_waits_for_the_one_that_executed_before_a_restart)
{
    static const char run_id[] = "01890000-0000-7000-8000-000000000000";
    struct intake_world *world = *state;
    struct start_request request = {0};
    const struct queue_options queue = {.max_waiting = 9, .max_running = 9};
    say(world, "a", "next of a");
    world_open(world);
    intake_set_role(world->intake, "fixer", &queue);
    intake_count_running(world->intake, "fixer", run_id, "fixer/test-1", "a");
    assert_string_equal(world_next(world, &request), "");
    intake_ended(world->intake, run_id);
    assert_string_equal(world_next(world, &request), "next of a");
    start_request_fini(&request);
}

TEST_IN_WORLD(turns_of_a_conversation_are_not_coalesced)
{
    struct intake_world *world = *state;
    const struct queue_options queue = {.max_waiting = 9, .max_running = 1, .rule = QUEUE_COALESCE};
    intake_set_role(world->intake, "fixer", &queue);
    assert_int_equal(say(world, "a", "one").outcome, INTAKE_ACCEPTED);
    assert_int_equal(say(world, "a", "two").outcome, INTAKE_ACCEPTED);
    assert_int_equal(say(world, "b", "three").outcome, INTAKE_ACCEPTED);
    assert_int_equal(intake_state(world->intake).waiting, 3);
}

TEST_IN_WORLD(a_request_that_is_postponed_is_the_first_again)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    world_submit(world, "fixer", "one", NULL);
    world_submit(world, "fixer", "two", NULL);
    world_next(world, &request);
    intake_postpone(world->intake, request.id);
    start_request_fini(&request);
    world_expect_run(world, "one");
    world_expect_run(world, "two");
}

TEST_IN_WORLD(a_request_that_cannot_become_a_run_is_refused)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    world_submit(world, "fixer", "one", NULL);
    world_next(world, &request);
    assert_int_equal(intake_refuse(world->intake, &request, "no key", NULL), 0);
    start_request_fini(&request);
    assert_string_equal(world->last.reason, "no key");
    assert_int_equal(world_count(world, START_REQUEST_COLLECTION), 0);
    world_submit(world, "fixer", "two", NULL);
    world_expect_run(world, "two");
}

TEST_IN_WORLD(what_waits_for_a_role_that_left_stays_until_it_returns)
{
    struct intake_world *world = *state;
    world_submit(world, "fixer", "one", NULL);
    intake_remove_role(world->intake, "fixer");
    world_expect_run(world, "");
    intake_set_role(world->intake, "fixer", &world_queue);
    world_expect_run(world, "one");
}

/* ---- Restarts ------------------------------------------------------------------------------- */

TEST_IN_WORLD(what_waits_survives_a_restart_in_its_order)
{
    struct intake_world *world = *state;
    world_submit(world, "fixer", "one", NULL);
    world_submit(world, "fixer", "two", NULL);
    world_submit(world, "fixer", "three", NULL);
    world_open(world);
    world_expect_run(world, "one");
    world_expect_run(world, "two");
    world_expect_run(world, "three");
}

TEST_IN_WORLD(a_request_that_was_handed_out_and_not_started_is_handed_out_again)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    struct intake_result result = world_submit(world, "fixer", "one", NULL);
    world_next(world, &request);
    start_request_fini(&request);
    world_open(world);
    world_next(world, &request);
    assert_string_equal(request.id, result.run_id);
    start_request_fini(&request);
}

TEST_IN_WORLD(requests_of_another_living_process_are_left_to_it)
{
    struct intake_world *world = *state;
    world_submit(world, "fixer", "one", NULL);
    owner_new(&world->random, world->owner);
    world_open(world);
    world_expect_run(world, "");
}

TEST_IN_WORLD(requests_of_a_dead_process_are_adopted)
{
    struct intake_world *world = *state;
    world_name_dead(world);
    world_open(world);
    world_submit(world, "fixer", "one", NULL);
    owner_new(&world->random, world->owner);
    world_open(world);
    world_expect_run(world, "one");
}

TEST_IN_WORLD(requests_of_a_dead_process_are_left_to_a_daemon_that_has_the_role)
{
    struct intake_world *world = *state;
    struct queue_options queue = {.max_waiting = 3, .max_running = 1};
    world_name_dead(world);
    world_open(world);
    intake_set_role(world->intake, "mover", &queue);
    world_submit(world, "mover", "one", NULL);
    owner_new(&world->random, world->owner);
    world_open(world);
    assert_int_equal(intake_state(world->intake).waiting, 0);
    intake_set_role(world->intake, "mover", &queue);
    assert_int_equal(intake_adopt(world->intake, NULL), 0);
    world_expect_run(world, "one");
}

TEST_IN_WORLD(a_document_that_cannot_be_read_does_not_hinder_the_others)
{
    struct intake_world *world = *state;
    bool is_applied = false;
    struct store_change change = {
        .collection = START_REQUEST_COLLECTION,
        .key = "01890000-0000-7000-8000-000000000000",
        .data = "{\"format\":7}",
        .data_len = 12,
        .if_version = 0,
    };
    world_submit(world, "fixer", "one", NULL);
    assert_int_equal(
        world->memory->ops->change_documents(world->memory, &change, 1, &is_applied, NULL), 0);
    world_open(world);
    world_expect_run(world, "one");
    world_expect_run(world, "");
}

/** Submit with a store that dies; then restart, and submit again as a source does. */
static void submit_over_death(struct intake_world *world, uint64_t call, bool has_effect)
{
    struct intake_result result = {0};
    struct intake_event event = {.source = "fixer/test-1",
                                 .role = "fixer",
                                 .kind = "test",
                                 .prompt = "one",
                                 .key = "a",
                                 .mark = "{}"};
    world->dies_at = world->calls + call;
    world->has_effect = has_effect;
    (void)intake_submit(world->intake, &event, &result, NULL);
    world_open(world);
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    world_expect_run(world, "one");
    world_expect_run(world, "");
    assert_int_equal(world_count(world, START_REQUEST_COLLECTION), 0);
}

TEST(an_event_becomes_one_run_whichever_call_of_the_store_is_the_last)
{
    for (uint64_t call = 1; call <= 10; call++) {
        for (int has_effect = 0; has_effect <= 1; has_effect++) {
            void *world = NULL;
            make_world(&world);
            submit_over_death(world, call, has_effect == 1);
            end_world(&world);
        }
    }
}

TEST_IN_WORLD(a_mark_that_has_changed_since_it_was_read_leaves_the_event_undone)
{
    struct intake_world *world = *state;
    struct intake_result result;
    uint64_t version = 0;
    char *mark = NULL;
    struct intake_event event = {.source = "fixer/test-1",
                                 .role = "fixer",
                                 .kind = "test",
                                 .prompt = "one",
                                 .key = "a",
                                 .mark = "{\"at\":1}"};
    assert_int_equal(intake_set_mark(world->intake, event.source, "{\"at\":0}", NULL), 0);
    assert_int_equal(source_mark_read(world->store, event.source, &mark, &version, NULL), 0);
    free(mark);
    event.mark_version = version;
    assert_int_equal(intake_set_mark(world->intake, event.source, "{\"at\":5}", NULL), 0);
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    assert_int_equal(result.outcome, INTAKE_OVERTAKEN);
    assert_int_equal(world_count(world, START_REQUEST_COLLECTION), 0);
    event.mark_version = version + 1;
    assert_int_equal(intake_submit(world->intake, &event, &result, NULL), 0);
    assert_int_equal(result.outcome, INTAKE_ACCEPTED);
}

TEST(near_midnight_an_event_has_a_key_that_servers_with_other_clocks_use_too)
{
    char key[DEDUPE_KEY_SIZE];
    char before[DEDUPE_KEY_SIZE];
    char after[DEDUPE_KEY_SIZE];
    const int64_t midnight_ns = 20000 * DAY_NS;
    dedupe_key(midnight_ns, "source", "event", key);
    assert_true(dedupe_other_key(midnight_ns - 1, "source", "event", before));
    assert_string_equal(before, key);
    assert_true(dedupe_other_key(midnight_ns, "source", "event", after));
    dedupe_key(midnight_ns - 1, "source", "event", key);
    assert_string_equal(after, key);
    assert_false(dedupe_other_key(midnight_ns + DEDUPE_SKEW_NS, "source", "event", after));
    assert_false(dedupe_other_key(midnight_ns - DEDUPE_SKEW_NS - 1, "source", "event", after));
}

/** Each event that was accepted at midnight is found as long as any other. */
TEST_IN_WORLD(a_key_of_midnight_counts_for_seven_days)
{
    struct intake_world *world = *state;
    world->now_ns = world->now_ns / DAY_NS * DAY_NS - 1;
    world_submit(world, "fixer", "one", "a");
    world_expect_run(world, "one");
    assert_int_equal(world_count(world, DEDUPE_COLLECTION), 2);
    world->now_ns += 2;
    assert_int_equal(world_submit(world, "fixer", "one", "a").outcome, INTAKE_DUPLICATE);
    world->now_ns += DEDUPE_NS;
    assert_int_equal(world_submit(world, "fixer", "one", "a").outcome, INTAKE_ACCEPTED);
}
