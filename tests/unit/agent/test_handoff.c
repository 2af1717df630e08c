// SPDX-License-Identifier: Apache-2.0
/* Calls that wait for the decision of a person: what is made meanwhile, and what becomes of them.
 */
#include "agent_fixture.h"

#include "handoff/inbox.h"

#define EXPECT(text)    "\"expect\":{\"last_contains\":\"" text "\"}"
#define FINISH_IF(text) "{\"tool_calls\":[" DONE("completed") "]," EXPECT(text) "}\n"
#define CAREFUL(text)   ONE("careful", "{\"text\":\"" text "\"}")
#define HOUR_NS         (3600 * NS_PER_S)
/** Deaths after which a run must have come to its end. */
#define MOST_DEATHS 40

/* ---- The inbox ------------------------------------------------------------------------------ */

static struct handoff_store inbox_of(const struct agent_scene *scene)
{
    return (struct handoff_store){scene->fixture->memory, &handoff_default_rules};
}

struct open_list {
    struct handoff handoffs[8];
    size_t count;
};

static bool take_open(const struct handoff *handoff, void *context)
{
    struct open_list *list = context;
    if (handoff_is_waiting(handoff)) {
        assert_true(list->count < COUNT(list->handoffs));
        list->handoffs[list->count++] = *handoff;
    }
    return true;
}

static struct open_list open_ones(const struct agent_scene *scene)
{
    struct open_list list = {0};
    struct handoff_store handoffs = inbox_of(scene);
    assert_int_equal(handoff_read_open(&handoffs, take_open, &list, NULL), 0);
    return list;
}

static void decide(const struct agent_scene *scene, enum handoff_command_kind kind,
                   const char *comment)
{
    struct open_list list = open_ones(scene);
    struct handoff_store handoffs = inbox_of(scene);
    struct handoff_result result;
    assert_int_equal(list.count, 1);
    struct inbox_decision decision = {.kind = kind,
                                      .by = "user:olga",
                                      .comment = comment,
                                      .revision = 1,
                                      .action_digest = list.handoffs[0].action_digest};
    assert_int_equal(inbox_decide(&handoffs, list.handoffs[0].request_id, &decision,
                                  fixture_now(&scene->fixture->clock), &result, NULL),
                     0);
    assert_int_equal(result.outcome, HANDOFF_DONE);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/** Run until the run waits, and leave it as a process does that has nothing to do. */
static void play_until_it_waits(struct agent_scene *scene)
{
    struct rondo_error err = {0};
    int r = scene_run(scene, &err);
    if (r != LOOP_PAUSED) {
        fail_msg("the run gives %d %s", r, err.message);
    }
    assert_true(loop_state(scene->loop)->is_waiting);
    assert_int_equal(loop_park(scene->loop, NULL), 0);
    scene_leave(scene);
}

static void start_waiting(struct agent_scene *scene, const char *turns)
{
    scene_start(scene, "", turns);
    play_until_it_waits(scene);
}

static void resume_to_the_end(struct agent_scene *scene)
{
    scene_resume(scene);
    scene_expect(scene, RONDO_COMPLETED);
}

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
        assert_int_equal(handoff_submit(&handoffs, &request, "{}",
                                        fixture_now(&scene->fixture->clock), &result, NULL),
                         0);
    }
}

SCENE_TEST(an_agent_cannot_flood_the_inbox)
{
    struct agent_scene *scene = *state;
    fill_inbox(scene, "tester", LIMIT_HANDOFFS_OF_AGENT - 1, true);
    start_waiting(scene, CALLS(CAREFUL("x") "," CAREFUL("y")) FINISH("completed"));
    assert_int_equal(scene_events(scene, "handoff.requested", NULL), 1);
    assert_int_equal(scene_events(scene, "tool.finished",
                                  "too many calls wait for people: 64, 64 of them of this agent"),
                     1);
}

SCENE_TEST(agents_together_cannot_flood_the_inbox)
{
    struct agent_scene *scene = *state;
    fill_inbox(scene, "another", LIMIT_HANDOFFS_OPEN - 1, true);
    start_waiting(scene, CALLS(CAREFUL("x") "," CAREFUL("y")) FINISH("completed"));
    assert_int_equal(scene_events(scene, "handoff.requested", NULL), 1);
    assert_int_equal(scene_events(scene, "tool.finished",
                                  "too many calls wait for people: 1024, 1 of them of this agent"),
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
