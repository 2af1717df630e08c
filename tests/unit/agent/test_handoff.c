// SPDX-License-Identifier: Apache-2.0
/* Calls that wait for the decision of a person: what is made meanwhile, and what becomes of them.
 */
#include "handoff_scene.h"

#include "loop/control/control.h"
#include "loop/owner.h"

#include <limits.h>
#include <unistd.h>

/** Deaths after which a run must have come to its end. */
#define MOST_DEATHS 40

/* ---- Runs ----------------------------------------------------------------------------------- */

SCENE_TEST(a_call_waits_while_the_others_are_made)
{
    struct agent_scene *scene = *state;
    start_waiting(scene,
                  CALLS(CAREFUL("x") "," ONE("send", "{\"text\":\"y\"}")) FINISH("completed"));
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
    assert_int_equal(scene_executions(scene, "send", "y"), 1);
    assert_int_equal(open_ones(scene).count, 1);
    scene_last(scene, "handoff.requested", "name", "careful");
    assert_int_equal(scene_events(scene, "run.paused", open_ones(scene).handoffs[0].request_id), 1);
}

SCENE_TEST(an_approved_call_is_made_once_as_it_was_shown)
{
    struct agent_scene *scene = *state;
    struct handoff handoff;
    struct handoff_store handoffs = inbox_of(scene);
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    handoff = open_ones(scene).handoffs[0];
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
    assert_int_equal(scene->asks, 2);
    assert_int_equal(handoff_read(&handoffs, handoff.request_id, &handoff, NULL), 0);
    assert_string_equal(handoff_application_name(handoff.application), "applied");
    scene_last(scene, "handoff.decided", "decision", "approved");
    scene_last(scene, "handoff.decided", "by", "user:olga");
}

SCENE_TEST(a_run_that_is_resumed_too_early_waits_again)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    for (int i = 0; i < 3; i++) {
        scene_resume(scene);
        play_until_it_waits(scene);
    }
    assert_int_equal(scene_events(scene, "handoff.requested", NULL), 1);
    assert_int_equal(open_ones(scene).count, 1);
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

SCENE_TEST(a_rejected_call_is_told_why_and_not_asked_about_again)
{
    struct agent_scene *scene = *state;
    start_waiting(
        scene,
        CALLS(CAREFUL("x")) "{\"tool_calls\":[" CAREFUL("x") "]," EXPECT(
            "The comment was: \\\"not on a Friday\\\"") "}\n" FINISH_IF("a person refused it"));
    decide(scene, HANDOFF_REJECT, "not on a Friday");
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"refused\""), 2);
    assert_int_equal(open_ones(scene).count, 0);
}

/** How a run that nobody executes is paused, as its row says. */
static const char *pause_of(const struct agent_scene *scene)
{
    struct store_run run;
    struct store *store = scene->fixture->memory;
    assert_int_equal(store->ops->get_run(store, scene->world->run_id, &run, NULL), 0);
    return run_display_status(&run);
}

SCENE_TEST(a_persons_own_pause_of_a_run_that_waits_is_a_pause)
{
    struct agent_scene *scene = *state;
    struct loop_parts parts = {.runtime = scene->fixture->runtime};
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    assert_string_equal(pause_of(scene), "waiting");
    assert_int_equal(loop_pause_run(&parts, scene->world->run_id, "user:olga", NULL),
                     LOOP_CONTROL_DONE);
    assert_string_equal(pause_of(scene), "paused");
    assert_int_equal(loop_pause_run(&parts, scene->world->run_id, "user:olga", NULL),
                     LOOP_CONTROL_NOTHING);
    decide(scene, HANDOFF_APPROVE, NULL);
    assert_string_equal(pause_of(scene), "paused");
    assert_int_equal(loop_continue_run(&parts, scene->world->run_id, "user:olga", NULL),
                     LOOP_CONTROL_DONE);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

SCENE_TEST(an_approval_is_for_one_call)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) CALLS(CAREFUL("x")) FINISH("completed"));
    decide(scene, HANDOFF_APPROVE, NULL);
    scene_resume(scene);
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 2);
}

SCENE_TEST(two_equal_calls_of_one_reply_are_decided_one_after_the_other)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x") "," CAREFUL("x")) FINISH("completed"));
    decide(scene, HANDOFF_APPROVE, NULL);
    scene_resume(scene);
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
    decide(scene, HANDOFF_REJECT, "once is enough");
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

SCENE_TEST(nobody_decides_in_time)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("nobody decided about it in time"));
    scene->fixture->now_ns += 24 * HOUR_NS;
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
    scene_last(scene, "handoff.decided", "decision", "expired");
}

SCENE_TEST(an_approval_that_lapsed_is_asked_for_anew)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    decide(scene, HANDOFF_APPROVE, NULL);
    scene->fixture->now_ns += 25 * HOUR_NS;
    scene_resume(scene);
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

/** Requests of an agent. @param has_run their run is still under way; else there is none */
static void fill_inbox(struct agent_scene *scene, const char *agent_id, int count, bool has_run)
{
    char run_id[ID_SIZE] = "00000000-0000-7000-8000-000000000000";
    if (has_run) {
        scene_start(scene, "", SAY("x"));
        memcpy(run_id, scene->world->run_id, sizeof(run_id));
        scene_leave(scene);
    }
    static const char digest[] =
        "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
    struct handoff_store handoffs = inbox_of(scene);
    for (int i = 0; i < count; i++) {
        char id[ID_SIZE];
        struct handoff_result result;
        snprintf(id, sizeof(id), "00000000-0000-5000-8000-%012d", i);
        struct handoff_request request = {.request_id = id,
                                          .agent_id = agent_id,
                                          .lane_id = run_id,
                                          .action_digest = digest,
                                          .body_digest = digest};
        assert_int_equal(handoff_submit(&handoffs, &request, "{\"agent\":{\"sdk\":\"rondo\"}}",
                                        fixture_now(&scene->fixture->clock), &result, NULL),
                         0);
    }
}

/** Places for what is not critical. */
#define PLACES(limit) ((limit) - (limit)*LIMIT_HANDOFFS_KEPT / 100)

SCENE_TEST(an_agent_cannot_flood_the_inbox)
{
    struct agent_scene *scene = *state;
    fill_inbox(scene, "tester", PLACES(LIMIT_HANDOFFS_OF_AGENT) - 1, true);
    start_waiting(scene, CALLS(CAREFUL("x") "," CAREFUL("y")) FINISH("completed"));
    assert_int_equal(scene_events(scene, "handoff.requested", NULL), 1);
    assert_int_equal(scene_events(scene, "tool.finished",
                                  "too many calls wait for people: 1 of this run (at most 8), "
                                  "52 of this agent (64), 52 in all (1024)"),
                     1);
}

SCENE_TEST(agents_together_cannot_flood_the_inbox)
{
    struct agent_scene *scene = *state;
    fill_inbox(scene, "another", PLACES(LIMIT_HANDOFFS_OPEN) - 1, true);
    start_waiting(scene, CALLS(CAREFUL("x") "," CAREFUL("y")) FINISH("completed"));
    assert_int_equal(scene_events(scene, "handoff.requested", NULL), 1);
    assert_int_equal(scene_events(scene, "tool.finished",
                                  "too many calls wait for people: 1 of this run (at most 8), "
                                  "1 of this agent (64), 820 in all (1024)"),
                     1);
}

SCENE_TEST(requests_of_runs_that_are_over_make_room)
{
    struct agent_scene *scene = *state;
    fill_inbox(scene, "tester", LIMIT_HANDOFFS_OF_AGENT, false);
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH("completed"));
    assert_int_equal(open_ones(scene).count, 1);
}

/* ---- Somebody is at the terminal -------------------------------------------------------- */

/** The person at the terminal of a resumed run answers this. */
static void resume_with_person(struct agent_scene *scene, enum agent_consent consent)
{
    scene_person(scene, consent);
    resume_to_the_end(scene);
    scene->parts.ask_person = NULL;
}

SCENE_TEST(what_is_answered_at_the_terminal_is_not_asked_in_the_inbox_any_more)
{
    static const enum agent_consent answers[] = {AGENT_CONSENT_YES, AGENT_CONSENT_NO};
    struct agent_scene *scene = *state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        scene->call_count = 0;
        start_waiting(scene, CALLS(CAREFUL("x")) FINISH("completed"));
        resume_with_person(scene, answers[i]);
        assert_int_equal(open_ones(scene).count, 0);
        assert_int_equal(scene_executions(scene, "careful", "x"),
                         answers[i] == AGENT_CONSENT_YES ? 1 : 0);
        scene_leave(scene);
    }
}

SCENE_TEST(what_was_decided_in_the_inbox_is_not_asked_at_the_terminal)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_with_person(scene, AGENT_CONSENT_NO);
    assert_int_equal(scene->questions, 0);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

SCENE_TEST(a_call_whose_request_was_taken_back_is_asked_for_anew)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    struct handoff_store handoffs = inbox_of(scene);
    struct handoff handoff = open_ones(scene).handoffs[0];
    struct handoff_result result;
    struct handoff_command cancel = {.kind = HANDOFF_CANCEL,
                                     .actor = {.id = "user:root", .is_admin = true}};
    assert_int_equal(handoff_act(&handoffs, handoff.request_id, &cancel, NULL,
                                 fixture_now(&scene->fixture->clock), &result, NULL),
                     0);
    scene_resume(scene);
    play_until_it_waits(scene);
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

static void name_longest(struct agent_scene *scene, struct loop_spec *spec)
{
    char name[LIMIT_AGENT_ID_LEN + 1];
    (void)scene;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    free(spec->agent_id);
    spec->agent_id = memory_dup_string(name);
}

SCENE_TEST(an_agent_with_the_longest_name_waits)
{
    struct agent_scene *scene = *state;
    scene->on_spec = name_longest;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

/** A call that takes longer than the lease of its grant. */
static void take_long(struct agent_scene *scene, const struct tool *tool,
                      const struct tool_call *call)
{
    struct handoff_store handoffs = inbox_of(scene);
    struct handoff handoff;
    struct handoff_result result;
    const char *request = scene->agent->memory.calls[0].request;
    (void)tool;
    (void)call;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(handoff_read(&handoffs, request, &handoff, NULL), 0);
        assert_int_equal(handoff.application, APPLICATION_STARTED);
        int64_t lease_ns = handoff.lease_until_ns;
        __atomic_fetch_add(&scene->fixture->now_ns, handoff_default_rules.lease_ns * 2 / 3,
                           __ATOMIC_RELAXED);
        for (int tries = 0; handoff.lease_until_ns == lease_ns && tries < 24000; tries++) {
            usleep(5000);
            assert_int_equal(handoff_read(&handoffs, request, &handoff, NULL), 0);
        }
        assert_int_equal(
            handoff_wake(&handoffs, request, fixture_now(&scene->fixture->clock), &result, NULL),
            0);
        assert_int_equal(result.handoff.application, APPLICATION_STARTED);
    }
}

SCENE_TEST(an_approved_call_that_takes_long_is_not_in_doubt)
{
    struct agent_scene *scene = *state;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    decide(scene, HANDOFF_APPROVE, NULL);
    scene_resume(scene);
    scene->agent->renew_ns = NS_PER_S / 100;
    scene->on_tool = take_long;
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
    scene_last(scene, "handoff.decided", "decision", "approved");
}

SCENE_TEST(a_run_that_waits_for_people_is_shown_as_waiting)
{
    struct agent_scene *scene = *state;
    struct store_run run;
    struct store *memory = scene->fixture->memory;
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    assert_int_equal(memory->ops->get_run(memory, scene->world->run_id, &run, NULL), 0);
    assert_string_equal(run_display_status(&run), "waiting");
}

/** Approve the only open call with constraints. */
static void approve_with(const struct agent_scene *scene, const char *constraints)
{
    struct open_list list = open_ones(scene);
    struct handoff_store handoffs = inbox_of(scene);
    struct inbox_result result;
    struct inbox_decision decision = {.kind = HANDOFF_APPROVE,
                                      .by = "user:olga",
                                      .constraints = constraints,
                                      .revision = 1,
                                      .action_digest = list.handoffs[0].action_digest};
    assert_int_equal(list.count, 1);
    assert_int_equal(inbox_decide(&handoffs, list.handoffs[0].request_id, &decision,
                                  fixture_now(&scene->fixture->clock), &result, NULL),
                     0);
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
}

static const struct {
    const char *constraints;
    bool holds;
} approvals[] = {
    {"[{\"kind\":\"equals\",\"pointer\":\"/text\",\"value\":\"x\"}]", true},
    {"[{\"kind\":\"equals\",\"pointer\":\"/text\",\"value\":\"y\"}]", false},
    {"[{\"kind\":\"equals\",\"pointer\":\"/none\",\"value\":\"x\"}]", false},
    {"[{\"kind\":\"one_of\",\"pointer\":\"/text\",\"values\":[\"w\",\"x\"]}]", true},
    {"[{\"kind\":\"max\",\"pointer\":\"/text\",\"value\":3}]", false},
    {"[{\"kind\":\"max_count\",\"count\":1}]", true},
    {"[{\"kind\":\"max_count\",\"count\":0}]", false},
    {"[{\"kind\":\"max_count\",\"count\":1,\"per\":\"year\"}]", false},
    {"[{\"kind\":\"time_window\",\"not_before\":\"1999-01-01T00:00:00Z\"}]", true},
    {"[{\"kind\":\"time_window\",\"not_after\":\"1999-01-01T00:00:00Z\"}]", false},
    {"[{\"kind\":\"dry_run\"}]", false},
    {"[{\"kind\":\"unheard of\"}]", false},
    {"[{\"kind\":\"max_count\",\"count\":1},{\"kind\":\"dry_run\"}]", false},
    {"[7]", false},
};

SCENE_TEST(a_call_outside_the_constraints_of_its_approval_is_not_made)
{
    struct agent_scene *scene = *state;
    for (size_t i = 0; i < COUNT(approvals); i++) {
        scene->call_count = 0;
        start_waiting(scene, CALLS(CAREFUL("x")) FINISH("completed"));
        approve_with(scene, approvals[i].constraints);
        resume_to_the_end(scene);
        if (scene_executions(scene, "careful", "x") != (approvals[i].holds ? 1U : 0U)) {
            fail_msg("%s", approvals[i].constraints);
        }
        assert_int_equal(scene_events(scene, "tool.finished", "constraint that it does not keep"),
                         approvals[i].holds ? 0 : 1);
        scene_leave(scene);
    }
}

/* ---- Files ---------------------------------------------------------------------------------- */

/** Put a file of the workspace in place, as somebody does who wants nobody to notice. */
static void put_file(const struct agent_scene *scene, const char *text)
{
    char path[PATH_MAX + 16];
    char other[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/x", scene->world->folder);
    snprintf(other, sizeof(other), "%s/other", scene->world->folder);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(other, path), 0);
}

static void expect_asked_anew(struct agent_scene *scene, const char *old_decision)
{
    auto_buf struct buf body = {0};
    struct handoff_store handoffs = inbox_of(scene);
    scene_resume(scene);
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
    scene_last(scene, "handoff.decided", "decision", old_decision);
    scene_last(scene, "handoff.requested", "reason",
               "this role requires confirmation; x has changed since the call was requested");
    assert_int_equal(open_ones(scene).count, 1);
    assert_int_equal(
        handoff_read_body(&handoffs, open_ones(scene).handoffs[0].request_id, 1, &body, NULL), 0);
    assert_non_null(strstr(buf_string(&body), "\"path\":\"x\",\"digest\":\"sha256:"));
}

SCENE_TEST(a_file_that_is_replaced_after_the_approval_makes_it_void)
{
    struct agent_scene *scene = *state;
    put_file(scene, "echo harmless");
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    decide(scene, HANDOFF_APPROVE, NULL);
    put_file(scene, "echo harmful");
    expect_asked_anew(scene, "apply_failed");
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

SCENE_TEST(a_file_that_is_replaced_while_people_think_is_shown_to_them)
{
    struct agent_scene *scene = *state;
    put_file(scene, "echo harmless");
    start_waiting(scene, CALLS(CAREFUL("x")) FINISH_IF("careful did x"));
    put_file(scene, "echo harmful");
    expect_asked_anew(scene, "cancelled");
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

/* ---- Questions ------------------------------------------------------------------------------ */

#define ANSWERS(text)   ONE("answer_questions", "{\"answers\":\"" text "\"}")
#define IF(calls, text) "{\"tool_calls\":[" calls "]," EXPECT(text) "}\n"
/** As JSON in a message: it cannot end the marks. */
#define QUESTIONS "\\\"Which x?\\\""

/** A call waits, and a person has questions about it. */
static void wait_for_answers(struct agent_scene *scene, const char *turns)
{
    start_waiting(scene, turns);
    decide(scene, HANDOFF_ASK, NULL);
    scene_resume(scene);
}

static struct handoff only_open(const struct agent_scene *scene)
{
    struct open_list list = open_ones(scene);
    assert_int_equal(list.count, 1);
    return list.handoffs[0];
}

SCENE_TEST(questions_are_answered_and_then_the_very_call_is_made)
{
    struct agent_scene *scene = *state;
    auto_buf struct buf body = {0};
    struct handoff_store handoffs = inbox_of(scene);
    wait_for_answers(scene, CALLS(CAREFUL("x")) IF(ONE("look", "{\"text\":\"z\"}"), "Which x?")
                                IF(ANSWERS("that one"), "look did z") FINISH_IF("careful did x"));
    play_until_it_waits(scene);
    struct handoff handoff = only_open(scene);
    assert_int_equal(handoff.revision, 2);
    assert_int_equal(handoff.state, HANDOFF_ROUTED);
    assert_int_equal(handoff_read_body(&handoffs, handoff.request_id, 2, &body, NULL), 0);
    assert_non_null(strstr(buf_string(&body), "\"answers\":\"that one\""));
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
    assert_int_equal(handoff_read(&handoffs, handoff.request_id, &handoff, NULL), 0);
    assert_int_equal(handoff.application, APPLICATION_APPLIED);
    assert_int_equal(scene_events(scene, "handoff.decided", "needs_info"), 1);
}

SCENE_TEST(a_rejection_after_the_answers_is_told)
{
    struct agent_scene *scene = *state;
    wait_for_answers(scene, CALLS(CAREFUL("x")) IF(ANSWERS("that one"), "Which x?")
                                FINISH_IF("careful was not called: a person refused it"));
    play_until_it_waits(scene);
    decide(scene, HANDOFF_REJECT, "not that one");
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
}

SCENE_TEST(until_questions_are_answered_the_agent_can_only_read)
{
    struct agent_scene *scene = *state;
    wait_for_answers(scene,
                     CALLS(CAREFUL("x")) IF(ONE("send", "{\"text\":\"y\"}"), "Which x?")
                         IF(CAREFUL("x"), "send was not called: until the questions")
                             IF(ANSWERS("a"), "careful was not called: until") FINISH("completed"));
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

SCENE_TEST(questions_of_people_are_bounded_data)
{
    struct agent_scene *scene = *state;
    wait_for_answers(scene, CALLS(CAREFUL("x")) FINISH("blocked"));
    scene_expect(scene, RONDO_BLOCKED);
    assert_int_equal(scene_events(scene, "tool.finished", "\\u001b"), 0);
    assert_int_equal(scene_events(scene, "tool.finished", "operator"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "olga"), 0);
}

SCENE_TEST(the_search_for_answers_is_bounded)
{
    struct agent_scene *scene = *state;
    auto_buf struct buf turns = {0};
    buf_append_string(&turns, CALLS(CAREFUL("x")));
    for (int i = 0; i < LIMIT_EVIDENCE_CALLS; i++) {
        buf_append_string(&turns, CALL("look", "z"));
    }
    buf_append_string(&turns, IF(ANSWERS("a"), "the 16 calls to find answers are used up"));
    wait_for_answers(scene, buf_string(&turns));
    play_until_it_waits(scene);
    assert_int_equal(scene_executions(scene, "look", "z"), LIMIT_EVIDENCE_CALLS - 1);
}

SCENE_TEST(an_action_that_changed_meanwhile_supersedes_the_one_with_the_questions)
{
    struct agent_scene *scene = *state;
    struct handoff_store handoffs = inbox_of(scene);
    put_file(scene, "one");
    start_waiting(scene,
                  CALLS(CAREFUL("x")) IF(ANSWERS("a"), "Which x?") FINISH_IF("careful did x"));
    struct handoff old = only_open(scene);
    decide(scene, HANDOFF_ASK, NULL);
    put_file(scene, "two");
    scene_resume(scene);
    play_until_it_waits(scene);
    struct handoff new = only_open(scene);
    assert_string_not_equal(old.request_id, new.request_id);
    assert_int_equal(handoff_read(&handoffs, old.request_id, &old, NULL), 0);
    assert_int_equal(old.state, HANDOFF_SUPERSEDED);
    assert_string_equal(old.superseded_by, new.request_id);
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "careful", "x"), 1);
}

/** The agent takes too long. */
static void pass_info_time(struct agent_scene *scene, const struct tool *tool,
                           const struct tool_call *call)
{
    struct handoff_store handoffs = inbox_of(scene);
    struct handoff_result result;
    int64_t then_ns = fixture_now(&scene->fixture->clock) + handoff_default_rules.info_ns + 1;
    (void)call;
    if (strcmp(tool->name, "look") == 0) {
        assert_int_equal(
            handoff_wake(&handoffs, only_open(scene).request_id, then_ns, &result, NULL), 0);
    }
}

SCENE_TEST(questions_that_nobody_answers_in_time_end_the_request)
{
    struct agent_scene *scene = *state;
    wait_for_answers(scene, CALLS(CAREFUL("x")) IF(ONE("look", "{\"text\":\"z\"}"), "Which x?")
                                IF(ANSWERS("late"), "look did z")
                                    FINISH_IF("nobody decided about it in time"));
    scene->on_tool = pass_info_time;
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "careful", NULL), 0);
}

SCENE_TEST(nobody_has_asked_anything)
{
    struct agent_scene *scene = *state;
    scene_start(scene, "", CALLS(ANSWERS("a")) FINISH_IF("nobody has asked anything"));
    scene_expect(scene, RONDO_COMPLETED);
}

/* ---- Policies ------------------------------------------------------------------------------- */

#define POLICY    "  policy: p.cedar\n"
#define CALL_TOOL "(principal, action == Action::\"call_tool\", resource == Tool::\"send\")"
#define PERMITS   "permit (principal, action, resource);\n"
#define ASKS \
    PERMITS "@id(\"ask\") @on_deny(\"ask\") forbid " CALL_TOOL " unless { context.approved };"

static void wait_under(struct agent_scene *scene, const char *policies, const char *turns)
{
    set_policies(scene->world, policies);
    scene_start(scene, POLICY, turns);
    play_until_it_waits(scene);
}

SCENE_TEST(a_policy_asks_and_is_asked_again_with_the_approval)
{
    struct agent_scene *scene = *state;
    wait_under(scene, ASKS, CALL("send", "x") FINISH_IF("send did x"));
    decide(scene, HANDOFF_APPROVE, NULL);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", "x"), 1);
}

SCENE_TEST(policies_that_forbid_meanwhile_overrule_an_approval)
{
    struct agent_scene *scene = *state;
    wait_under(scene, ASKS, CALL("send", "x") FINISH_IF("send was not called"));
    decide(scene, HANDOFF_APPROVE, NULL);
    set_policies(scene->world, PERMITS "forbid " CALL_TOOL ";");
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
}

SCENE_TEST(policies_that_permit_meanwhile_take_the_request_back)
{
    struct agent_scene *scene = *state;
    wait_under(scene, ASKS, CALL("send", "x") FINISH_IF("send did x"));
    set_policies(scene->world, PERMITS);
    resume_to_the_end(scene);
    assert_int_equal(scene_executions(scene, "send", "x"), 1);
    assert_int_equal(open_ones(scene).count, 0);
    scene_last(scene, "handoff.decided", "decision", "cancelled");
}

/* ---- Deaths --------------------------------------------------------------------------------- */

static bool has_completed(const struct agent_scene *scene)
{
    struct store_run run;
    struct store *memory = scene->fixture->memory;
    assert_int_equal(memory->ops->get_run(memory, scene->world->run_id, &run, NULL), 0);
    return run.summary.status == RONDO_COMPLETED;
}

/** Go on after each death, and approve what is asked. @return processes that died */
static unsigned play_to_the_end(struct agent_scene *scene)
{
    struct rondo_error err = {0};
    for (unsigned deaths = 0; deaths < MOST_DEATHS; deaths++) {
        int r = scene_run(scene, &err);
        if (r == LOOP_ENDED) {
            return deaths;
        }
        if (r == LOOP_PAUSED && !scene->is_dead && loop_park(scene->loop, NULL) == 0) {
            scene_leave(scene);
            decide(scene, HANDOFF_APPROVE, NULL);
        } else {
            scene_crash(scene);
            if (has_completed(scene)) {
                return deaths;
            }
        }
        scene_resume(scene);
    }
    fail_msg("the run does not end");
    return 0;
}

/** Die at each write, of journal and handoffs, once before and once after it takes effect. */
SCENE_TEST(an_approved_call_is_made_at_most_once_over_a_death_at_each_write)
{
    struct agent_scene *scene = *state;
    scene->counts_documents = true;
    unsigned made = 0;
    unsigned deaths = 0;
    for (int i = 0; i < 60; i++) {
        scene->call_count = 0;
        scene->commits = 0;
        scene->fault = i % 2 == 0 ? STORE_FAULT_BEFORE : STORE_FAULT_AFTER;
        scene_start(scene, "", CALLS(CAREFUL("x")) FINISH("completed"));
        scene->crash_at = scene->commits + 1 + (uint64_t)i / 2;
        deaths += play_to_the_end(scene);
        scene->crash_at = 0;
        unsigned executions = scene_executions(scene, "careful", "x");
        assert_true(executions <= 2); /* The second one was approved as a repetition. */
        made += executions;
        scene_leave(scene);
    }
    assert_true(made >= 60);
    assert_true(deaths >= 30);
}

/** The person asks once, and approves what is answered. @return processes that died */
static unsigned play_with_questions(struct agent_scene *scene)
{
    struct rondo_error err = {0};
    bool has_asked = false;
    for (unsigned deaths = 0; deaths < MOST_DEATHS; deaths++) {
        int r = scene_run(scene, &err);
        if (r == LOOP_ENDED) {
            return deaths;
        }
        if (r == LOOP_PAUSED && !scene->is_dead && loop_park(scene->loop, NULL) == 0) {
            scene_leave(scene);
            decide(scene, has_asked ? HANDOFF_APPROVE : HANDOFF_ASK, NULL);
            has_asked = true;
        } else {
            scene_crash(scene);
            if (has_completed(scene)) {
                return deaths;
            }
        }
        scene_resume(scene);
    }
    fail_msg("the run does not end");
    return 0;
}

SCENE_TEST(questions_and_answers_outlive_a_death_at_each_write)
{
    struct agent_scene *scene = *state;
    scene->counts_documents = true;
    unsigned made = 0;
    unsigned deaths = 0;
    for (int i = 0; i < 100; i++) {
        scene->call_count = 0;
        scene->commits = 0;
        scene->fault = i % 2 == 0 ? STORE_FAULT_BEFORE : STORE_FAULT_AFTER;
        scene_start(scene, "", CALLS(CAREFUL("x")) CALLS(ANSWERS("that one")) FINISH("completed"));
        scene->crash_at = scene->commits + 1 + (uint64_t)i / 2;
        deaths += play_with_questions(scene);
        scene->crash_at = 0;
        unsigned executions = scene_executions(scene, "careful", "x");
        assert_true(executions <= 2); /* The second one was approved as a repetition. */
        made += executions;
        scene_leave(scene);
    }
    assert_true(made >= 90);
    assert_true(deaths >= 40);
}
