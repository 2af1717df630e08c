// SPDX-License-Identifier: Apache-2.0
/* Decisions of people: what each kind does, once for each key, and what they are told. */
#include "handoff/desks/desks.h"
#include "handoff/inbox/inbox.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE (60 * NS_PER_S)
#define BEGIN  (1800000000 * NS_PER_S)
#define ID     "e6a19e20-f630-5f7a-91bd-71be0c3eae0d"

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
static const char body_digest[] =
    "sha256:d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3";
static const char body[] =
    "{\"action\":{\"tool\":\"run_shell\",\"args\":{\"command\":\"rm x\"}},"
    "\"trigger\":{\"trigger_reason\":\"explicit_agent_rule\",\"message\":\"because\"}}";

struct inbox_fixture {
    struct store *store;
    struct handoff_store handoffs;
};

static int set_up(void **state)
{
    struct inbox_fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->store = store_memory_new(NULL);
    fixture->handoffs =
        (struct handoff_store){.store = fixture->store, .rules = &handoff_default_rules};
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct inbox_fixture *fixture = *state;
    store_close(fixture->store);
    free(fixture);
    return 0;
}

#define TEST_IN_INBOX(name) TEST_WITH(name, set_up, tear_down)

static void submit_only(struct inbox_fixture *fixture, enum handoff_level level)
{
    struct handoff_request request = {.request_id = ID,
                                      .agent_id = "agent",
                                      .lane_id = "lane",
                                      .action_digest = action,
                                      .body_digest = body_digest,
                                      .risk = level,
                                      .priority = level};
    struct handoff_result result;
    assert_int_equal(handoff_submit(&fixture->handoffs, &request, body, BEGIN, &result, NULL), 0);
}

static void submit_at(struct inbox_fixture *fixture, enum handoff_level level)
{
    struct handoff handoff;
    submit_only(fixture, level);
    assert_int_equal(inbox_route(&fixture->handoffs, ID, BEGIN, &handoff, NULL), 0);
    assert_int_equal(handoff.state, HANDOFF_ROUTED);
}

static struct inbox_decision decision_of(enum handoff_command_kind kind, const char *by)
{
    static const char *const questions[] = {"Which host?", "Since when?"};
    return (struct inbox_decision){.kind = kind,
                                   .by = by,
                                   .comment = "looked at it",
                                   .questions = kind == HANDOFF_ASK ? questions : NULL,
                                   .question_count = kind == HANDOFF_ASK ? 2 : 0,
                                   .target = kind == HANDOFF_REROUTE ? INBOX_DESK : NULL,
                                   .revision = 1,
                                   .action_digest = action};
}

static struct inbox_result decide(struct inbox_fixture *fixture, struct inbox_decision decision)
{
    struct inbox_result result = {0};
    assert_int_equal(
        inbox_decide(&fixture->handoffs, ID, &decision, BEGIN + NS_PER_S, &result, NULL), 0);
    return result;
}

static enum handoff_outcome give(struct inbox_fixture *fixture, enum handoff_command_kind kind,
                                 const char *by)
{
    return decide(fixture, decision_of(kind, by)).result.outcome;
}

static int refused(struct inbox_fixture *fixture, struct inbox_decision decision)
{
    struct inbox_result result = {0};
    return inbox_decide(&fixture->handoffs, ID, &decision, BEGIN + NS_PER_S, &result, NULL);
}

static struct json_object *view(struct inbox_fixture *fixture)
{
    auto_buf struct buf json = {0};
    struct json_object *object = NULL;
    struct handoff handoff;
    struct inbox_view_options options = {.has_thread = true};
    assert_int_equal(handoff_read(&fixture->handoffs, ID, &handoff, NULL), 0);
    assert_int_equal(inbox_view(&fixture->handoffs, &handoff, &options, &json, NULL), 0);
    assert_int_equal(json_parse_strict(json.data, json.len, &object, NULL), 0);
    return object;
}

/* ---- Kinds ---------------------------------------------------------------------------------- */

TEST_IN_INBOX(an_approval_decides)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_result result = decide(fixture, decision_of(HANDOFF_APPROVE, "user:ann"));
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
    assert_int_equal(result.result.handoff.state, HANDOFF_APPROVED);
    assert_true(id_is_valid(result.decision_id));
    assert_true(result.result.entry > 0);
}

TEST_IN_INBOX(what_no_router_has_seen_yet_can_be_decided)
{
    struct inbox_fixture *fixture = *state;
    submit_only(fixture, HANDOFF_MEDIUM);
    struct inbox_result result = decide(fixture, decision_of(HANDOFF_APPROVE, "user:ann"));
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
    assert_int_equal(result.result.handoff.state, HANDOFF_APPROVED);
    assert_int_equal(result.result.handoff.desk_count, 1);
}

TEST_IN_INBOX(who_is_late_learns_who_decided)
{
    struct inbox_fixture *fixture = *state;
    auto_buf struct buf text = {0};
    submit_at(fixture, HANDOFF_MEDIUM);
    give(fixture, HANDOFF_APPROVE, "user:ann");
    struct inbox_result late = decide(fixture, decision_of(HANDOFF_REJECT, "user:ben"));
    inbox_explain(&late.result, &text);
    assert_int_equal(late.result.outcome, HANDOFF_DECIDED);
    assert_string_equal(buf_string(&text), "It is approved already, by user:ann.");
}

TEST_IN_INBOX(a_critical_action_needs_two_persons)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_CRITICAL);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ann"), HANDOFF_PARTIAL);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ann"), HANDOFF_SECOND_PERSON);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ben"), HANDOFF_DONE);
}

TEST_IN_INBOX(questions_wait_for_the_agent_and_can_be_withdrawn)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    assert_int_equal(give(fixture, HANDOFF_ASK, "user:ann"), HANDOFF_DONE);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ann"), HANDOFF_WAITS_FOR_AGENT);
    assert_int_equal(give(fixture, HANDOFF_WITHDRAW, "user:ben"), HANDOFF_NOT_YOURS);
    assert_int_equal(give(fixture, HANDOFF_WITHDRAW, "user:ann"), HANDOFF_DONE);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ann"), HANDOFF_DONE);
}

TEST_IN_INBOX(a_question_must_be_asked)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision ask = decision_of(HANDOFF_ASK, "user:ann");
    ask.question_count = 0;
    assert_int_equal(decide(fixture, ask).result.outcome, HANDOFF_TEXT_MISSING);
}

TEST_IN_INBOX(what_nothing_resolves_returns_and_is_escalated)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision reroute = decision_of(HANDOFF_REROUTE, "user:ann");
    reroute.target = "nowhere";
    struct inbox_result result = decide(fixture, reroute);
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
    assert_true(result.is_returned);
    assert_int_equal(result.result.handoff.state, HANDOFF_ESCALATED);
    assert_string_equal(result.result.handoff.desks[0], INBOX_DESK);
    assert_int_equal(result.result.handoff.desk_count, 1);
}

TEST_IN_INBOX(what_was_on_a_desk_is_not_passed_on_to_it)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    assert_int_equal(give(fixture, HANDOFF_REROUTE, "user:ann"), HANDOFF_REROUTE_LOOP);
}

TEST_IN_INBOX(a_claim_keeps_others_away_until_it_is_released)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    assert_int_equal(give(fixture, HANDOFF_CLAIM, "user:ann"), HANDOFF_DONE);
    assert_int_equal(give(fixture, HANDOFF_CLAIM, "user:ben"), HANDOFF_NOT_YOURS);
    assert_int_equal(give(fixture, HANDOFF_RELEASE, "user:ben"), HANDOFF_NOT_YOURS);
    struct inbox_decision release = decision_of(HANDOFF_RELEASE, "user:ben");
    release.is_admin = true;
    assert_int_equal(decide(fixture, release).result.outcome, HANDOFF_DONE);
    assert_int_equal(give(fixture, HANDOFF_CLAIM, "user:ben"), HANDOFF_DONE);
}

TEST_IN_INBOX(people_escalate_and_take_it_back)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    assert_int_equal(give(fixture, HANDOFF_ESCALATE, "user:ann"), HANDOFF_DONE);
    assert_int_equal(give(fixture, HANDOFF_DEESCALATE, "user:ann"), HANDOFF_DONE);
}

TEST_IN_INBOX(only_an_administrator_cancels)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision cancel = decision_of(HANDOFF_CANCEL, "user:ann");
    assert_int_equal(decide(fixture, cancel).result.outcome, HANDOFF_NOT_YOURS);
    cancel.is_admin = true;
    assert_int_equal(decide(fixture, cancel).result.outcome, HANDOFF_DONE);
}

TEST_IN_INBOX(who_acts_for_the_agent_never_decides)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision approve = decision_of(HANDOFF_APPROVE, "user:ann");
    approve.is_requester = true;
    approve.is_admin = true;
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_SELF_APPROVAL);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "agent"), HANDOFF_SELF_APPROVAL);
}

/* ---- Desks ---------------------------------------------------------------------------------- */

static struct desks *use_desks(struct inbox_fixture *fixture)
{
    static const char text[] = "format: 1\n"
                               "people:\n"
                               "  ann: {roles: [oncall], may_decide: high}\n"
                               "  ben: {roles: [lead]}\n"
                               "desks:\n"
                               "  operators: {roles: [oncall], escalates_to: leads}\n"
                               "  leads: {roles: [lead]}\n"
                               "routing:\n"
                               "  - {id: shells, tool: run_shell, risk: critical, desk: leads}\n"
                               "rules: {critical_approvals: 1}\n";
    struct desks *desks = NULL;
    assert_int_equal(desks_read(text, strlen(text), "desks.yaml", &desks, NULL), 0);
    fixture->handoffs = desks_store(fixture->store, desks);
    return desks;
}

TEST_IN_INBOX(t3_a_request_goes_where_the_rules_say)
{
    struct inbox_fixture *fixture = *state;
    struct handoff handoff;
    struct desks *desks = use_desks(fixture);
    submit_at(fixture, HANDOFF_CRITICAL);
    assert_int_equal(handoff_read(&fixture->handoffs, ID, &handoff, NULL), 0);
    assert_string_equal(handoff.desks[0], "leads");
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ann"), HANDOFF_NOT_YOURS);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ben"), HANDOFF_DONE);
    desks_free(desks);
}

TEST_IN_INBOX(t8_who_passes_it_on_has_it_no_longer)
{
    struct inbox_fixture *fixture = *state;
    struct desks *desks = use_desks(fixture);
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision reroute = decision_of(HANDOFF_REROUTE, "user:ann");
    reroute.target = "lead"; /* a role of that desk */
    struct inbox_result result = decide(fixture, reroute);
    assert_int_equal(result.result.handoff.state, HANDOFF_ROUTED);
    assert_string_equal(result.result.handoff.desks[1], "leads");
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ann"), HANDOFF_NOT_YOURS);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ben"), HANDOFF_DONE);
    desks_free(desks);
}

TEST_IN_INBOX(t15_an_escalation_lets_the_next_desk_decide)
{
    struct inbox_fixture *fixture = *state;
    struct desks *desks = use_desks(fixture);
    submit_at(fixture, HANDOFF_MEDIUM);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ben"), HANDOFF_NOT_YOURS);
    assert_int_equal(give(fixture, HANDOFF_ESCALATE, "user:ann"), HANDOFF_DONE);
    assert_int_equal(give(fixture, HANDOFF_APPROVE, "user:ben"), HANDOFF_DONE);
    desks_free(desks);
}

TEST_IN_INBOX(who_is_late_is_not_on_the_desk_that_time_has_given_it_to)
{
    struct inbox_fixture *fixture = *state;
    static const char text[] = "format: 1\n"
                               "people: {ann: {may_decide: high}, ben: {may_decide: high}}\n"
                               "desks: {operators: {people: [ann]}, leads: {people: [ben]}}\n"
                               "lanes: {on_timeout: {reroute: leads}}\n";
    struct desks *desks = NULL;
    struct inbox_result result;
    assert_int_equal(desks_read(text, strlen(text), "desks.yaml", &desks, NULL), 0);
    fixture->handoffs = desks_store(fixture->store, desks);
    submit_at(fixture, HANDOFF_HIGH);
    int64_t late_ns = BEGIN + desks_rules(desks)->sla_ns[HANDOFF_HIGH];
    struct inbox_decision approve = decision_of(HANDOFF_APPROVE, "user:ann");
    assert_int_equal(inbox_decide(&fixture->handoffs, ID, &approve, late_ns, &result, NULL), 0);
    assert_int_equal(result.result.outcome, HANDOFF_NOT_YOURS);
    approve.by = "user:ben";
    assert_int_equal(inbox_decide(&fixture->handoffs, ID, &approve, late_ns, &result, NULL), 0);
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
    desks_free(desks);
}

TEST_IN_INBOX(t4_what_no_desk_resolves_is_a_dead_letter)
{
    struct inbox_fixture *fixture = *state;
    static const char text[] = "format: 1\ndesks: {leads: {}}\n";
    struct desks *desks = NULL;
    struct handoff handoff;
    assert_int_equal(desks_read(text, strlen(text), "desks.yaml", &desks, NULL), 0);
    fixture->handoffs = desks_store(fixture->store, desks);
    submit_only(fixture, HANDOFF_MEDIUM);
    assert_int_equal(inbox_route(&fixture->handoffs, ID, BEGIN, &handoff, NULL), 0);
    assert_int_equal(handoff.state, HANDOFF_DEAD_LETTERED);
    desks_free(desks);
}

/* ---- Once, and about what was seen ---------------------------------------------------------- */

static enum handoff_outcome submit_second(struct inbox_fixture *fixture, bool is_foreign)
{
    struct handoff_request request = {.request_id = "0d7f4a3e-1111-5f7a-91bd-71be0c3eae0d",
                                      .agent_id = "other",
                                      .lane_id = "its lane",
                                      .action_digest = action,
                                      .body_digest = body_digest,
                                      .risk = HANDOFF_LOW,
                                      .priority = HANDOFF_LOW,
                                      .is_foreign = is_foreign};
    struct handoff_result result;
    assert_int_equal(inbox_submit(&fixture->handoffs, &request, body, BEGIN, &result, NULL), 0);
    return result.outcome;
}

TEST_IN_INBOX(what_waits_for_a_run_that_has_ended_makes_room_for_own_agents_only)
{
    static const char of_rondo[] = "{\"agent\":{\"sdk\":\"rondo\"}}";
    struct inbox_fixture *fixture = *state;
    struct handoff_bounds bounds = {.per_lane = 1, .per_agent = 1, .per_store = 1};
    struct handoff_request request = {.request_id = ID,
                                      .agent_id = "agent",
                                      .lane_id = "aaaaaaaa-bbbb-5ccc-8ddd-eeeeeeeeeeee",
                                      .action_digest = action,
                                      .body_digest = body_digest,
                                      .risk = HANDOFF_LOW,
                                      .priority = HANDOFF_LOW};
    struct handoff_result result;
    fixture->handoffs.bounds = &bounds;
    assert_int_equal(handoff_submit(&fixture->handoffs, &request, of_rondo, BEGIN, &result, NULL),
                     0);
    assert_int_equal(submit_second(fixture, true), HANDOFF_FULL);
    assert_int_equal(submit_second(fixture, false), HANDOFF_DONE);
}

TEST_IN_INBOX(a_key_decides_once)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision ask = decision_of(HANDOFF_ASK, "user:ann");
    ask.key = "key-1";
    struct inbox_result first = decide(fixture, ask);
    struct inbox_result again = decide(fixture, ask);
    assert_int_equal(first.result.outcome, HANDOFF_DONE);
    assert_int_equal(again.result.outcome, HANDOFF_REPEATED);
    assert_string_equal(first.decision_id, again.decision_id);
    assert_int_equal(first.result.handoff.version, again.result.handoff.version);
}

TEST_IN_INBOX(a_decision_is_known_by_its_key_though_time_did_something_after_it)
{
    struct inbox_fixture *fixture = *state;
    struct handoff_rules rules = handoff_default_rules;
    struct inbox_decision decision = decision_of(HANDOFF_ASK, "user:ann");
    struct inbox_result result;
    fixture->handoffs.rules = &rules;
    submit_at(fixture, HANDOFF_HIGH);
    assert_int_equal(
        inbox_decide(&fixture->handoffs, ID, &decision, BEGIN + 60 * MINUTE, &result, NULL), 0);
    decision = decision_of(HANDOFF_WITHDRAW, "user:ann");
    decision.key = "k-1";
    rules.notify_percent = 1; /* The desk should have been reminded: that is done at once. */
    assert_int_equal(
        inbox_decide(&fixture->handoffs, ID, &decision, BEGIN + 61 * MINUTE, &result, NULL), 0);
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
    assert_int_equal(result.result.handoff.ladder_done, 1);
    assert_int_equal(
        inbox_decide(&fixture->handoffs, ID, &decision, BEGIN + 61 * MINUTE, &result, NULL), 0);
    assert_int_equal(result.result.outcome, HANDOFF_REPEATED);
}

TEST_IN_INBOX(a_key_is_for_one_decision)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision ask = decision_of(HANDOFF_ASK, "user:ann");
    ask.key = "key-1";
    decide(fixture, ask);
    ask.question_count = 1;
    assert_int_equal(refused(fixture, ask), RONDO_ERR_INVALID);
    struct inbox_decision reject = decision_of(HANDOFF_REJECT, "user:ann");
    reject.key = "key-1";
    assert_int_equal(refused(fixture, reject), RONDO_ERR_INVALID);
}

TEST_IN_INBOX(a_key_of_somebody_else_is_another_one)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_CRITICAL);
    struct inbox_decision approve = decision_of(HANDOFF_APPROVE, "user:ann");
    approve.key = "key-1";
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_PARTIAL);
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_REPEATED);
    approve.by = "user:ben";
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_DONE);
}

TEST_IN_INBOX(a_decision_can_depend_on_the_version)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision approve = decision_of(HANDOFF_APPROVE, "user:ann");
    approve.if_version = 1;
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_OTHER_VERSION);
    approve.if_version = 2;
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_DONE);
    approve.if_version = 1;
    approve.by = "user:ben";
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_DECIDED);
}

TEST_IN_INBOX(a_decision_is_about_what_was_seen)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_MEDIUM);
    struct inbox_decision approve = decision_of(HANDOFF_APPROVE, "user:ann");
    approve.revision = 2;
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_OTHER_REVISION);
    approve.revision = 1;
    approve.action_digest = body_digest;
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_OTHER_ACTION);
    approve.action_digest = NULL;
    assert_int_equal(refused(fixture, approve), RONDO_ERR_INVALID);
}

/* ---- Limits --------------------------------------------------------------------------------- */

TEST_IN_INBOX(comments_have_a_limit)
{
    struct inbox_fixture *fixture = *state;
    char text[LIMIT_HANDOFF_COMMENT_BYTES + 2];
    submit_at(fixture, HANDOFF_CRITICAL);
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    struct inbox_decision approve = decision_of(HANDOFF_APPROVE, "user:ann");
    approve.comment = text;
    assert_int_equal(refused(fixture, approve), RONDO_ERR_LIMIT);
    text[LIMIT_HANDOFF_COMMENT_BYTES] = '\0';
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_PARTIAL);
}

TEST_IN_INBOX(questions_have_limits)
{
    struct inbox_fixture *fixture = *state;
    char text[LIMIT_HANDOFF_QUESTION_BYTES + 2];
    const char *questions[LIMIT_HANDOFF_QUESTIONS + 1];
    submit_at(fixture, HANDOFF_MEDIUM);
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 0; i < LIMIT_HANDOFF_QUESTIONS + 1; i++) {
        questions[i] = text;
    }
    struct inbox_decision ask = decision_of(HANDOFF_ASK, "user:ann");
    ask.questions = questions;
    ask.question_count = 1;
    assert_int_equal(refused(fixture, ask), RONDO_ERR_LIMIT);
    text[LIMIT_HANDOFF_QUESTION_BYTES] = '\0';
    ask.question_count = LIMIT_HANDOFF_QUESTIONS + 1;
    assert_int_equal(refused(fixture, ask), RONDO_ERR_LIMIT);
    ask.question_count = LIMIT_HANDOFF_QUESTIONS;
    assert_int_equal(decide(fixture, ask).result.outcome, HANDOFF_DONE);
}

TEST_IN_INBOX(names_that_no_record_can_hold_are_refused)
{
    struct inbox_fixture *fixture = *state;
    char name[HANDOFF_NAME_SIZE + 1];
    submit_at(fixture, HANDOFF_MEDIUM);
    memset(name, 'x', sizeof(name));
    name[HANDOFF_NAME_SIZE] = '\0';
    struct inbox_decision reroute = decision_of(HANDOFF_REROUTE, "user:ann");
    reroute.target = name;
    assert_int_equal(refused(fixture, reroute), RONDO_ERR_INVALID);
    reroute.target = "a\nb";
    assert_int_equal(refused(fixture, reroute), RONDO_ERR_INVALID);
    name[HANDOFF_NAME_SIZE - 1] = '\0';
    reroute.target = name;
    assert_int_equal(decide(fixture, reroute).result.outcome, HANDOFF_DONE);
}

TEST_IN_INBOX(constraints_are_a_json_array)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_CRITICAL);
    struct inbox_decision approve = decision_of(HANDOFF_APPROVE, "user:ann");
    approve.constraints = "{}";
    assert_int_equal(refused(fixture, approve), RONDO_ERR_INVALID);
    approve.constraints = "[1],\"target\":[";
    assert_int_equal(refused(fixture, approve), RONDO_ERR_INVALID);
    approve.constraints = "[\"dry_run\"]";
    assert_int_equal(decide(fixture, approve).result.outcome, HANDOFF_PARTIAL);
}

/* ---- The view ------------------------------------------------------------------------------- */

TEST_IN_INBOX(the_view_says_what_would_be_made_and_what_was_said)
{
    struct inbox_fixture *fixture = *state;
    submit_at(fixture, HANDOFF_CRITICAL);
    give(fixture, HANDOFF_APPROVE, "user:ann");
    auto_json struct json_object *entry = view(fixture);
    struct json_object *thread = json_member(entry, "thread");
    struct json_object *remark = json_object_array_get_idx(thread, 0);
    assert_string_equal(
        json_object_to_json_string_ext(json_member(entry, "action"), JSON_C_TO_STRING_PLAIN),
        "{\"args\":{\"command\":\"rm x\"},\"tool\":\"run_shell\"}");
    assert_string_equal(json_get_string(entry, "desk", ""), INBOX_DESK);
    assert_string_equal(json_get_string(entry, "tool", ""), "run_shell");
    assert_string_equal(json_get_string(entry, "why", ""), "because");
    assert_int_equal(json_get_int(entry, "approvals_required", 0), 2);
    assert_int_equal(json_length(json_member(entry, "approvals")), 1);
    assert_int_equal(json_length(thread), 1);
    assert_string_equal(json_get_string(json_member(remark, "details"), "comment", ""),
                        "looked at it");
}

/** Words beside the action would look as if they were approved, too. */
TEST_IN_INBOX(an_action_is_what_its_digest_covers)
{
    static const char text[] =
        "{\"action\":{\"tool\":\"t\",\"args\":{\"a\":1},\"resource\":\"r\",\"harmless\":true,"
        "\"operands\":[{\"path\":\"x\",\"digest\":\"d\",\"content\":\"c\"}],"
        "\"operand_digests\":[{\"path\":\"y\",\"digest\":\"e\"}]}}";
    auto_json struct json_object *said = NULL;
    (void)state;
    assert_int_equal(json_parse_strict(text, strlen(text), &said, NULL), 0);
    auto_json struct json_object *shown = inbox_action(said);
    assert_string_equal(json_object_to_json_string_ext(shown, JSON_C_TO_STRING_PLAIN),
                        "{\"tool\":\"t\",\"args\":{\"a\":1},\"resource\":\"r\","
                        "\"operand_digests\":[{\"path\":\"x\",\"digest\":\"d\"}]}");
}

TEST_IN_INBOX(statuses_are_those_of_the_wire)
{
    enum handoff_command_kind kind = HANDOFF_COMMAND_COUNT;
    (void)state;
    assert_true(inbox_kind_of("needs_info", &kind));
    assert_int_equal(kind, HANDOFF_ASK);
    assert_false(inbox_kind_of("granted", &kind));
    assert_null(inbox_status(HANDOFF_START));
    assert_string_equal(inbox_status(HANDOFF_REROUTE), "rerouted");
}
