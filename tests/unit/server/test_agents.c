// SPDX-License-Identifier: Apache-2.0
/* Routes for foreign agents, over loopback: what they may do, and what they must never. */
#include "agents_world.h"
#include "base/limits.h"

#include <pthread.h>

/* ---- Evaluations ---------------------------------------------------------------------------- */

static void expect_outcome(struct api_world *world, const char *body, const char *outcome)
{
    struct api_reply answer;
    ask(world, "POST", "/v1/actions/evaluate", world->agent, "", body, &answer);
    if (answer.status != 200 || strcmp(json_get_string(answer.json, "outcome", ""), outcome) != 0) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, 200);
    assert_string_equal(json_get_string(answer.json, "outcome", ""), outcome);
    answer_fini(&answer);
}

SERVER_TEST(an_action_is_allowed_or_needs_a_person)
{
    struct api_world *world = *state;
    auto_buf struct buf routine = {0};
    auto_buf struct buf risky = {0};
    write_evaluation("fixer", "a", false, NULL, &routine);
    write_evaluation("fixer", "a", true, NULL, &risky);
    expect_outcome(world, buf_string(&routine), "allow");
    expect_outcome(world, buf_string(&risky), "handoff");
    expect_outcome(world, "{\"agent_id\":\"fixer\",\"action\":{\"tool\":\"t\",\"args\":{}}}",
                   "deny");
}

SERVER_TEST(an_evaluation_of_another_agent_is_forbidden)
{
    struct api_world *world = *state;
    auto_buf struct buf body = {0};
    write_evaluation("stranger", "a", false, NULL, &body);
    expect_error(world, "POST", "/v1/actions/evaluate", world->agent, buf_string(&body), 403,
                 "agent_not_covered");
    expect_error(world, "POST", "/v1/actions/evaluate", world->operate, buf_string(&body), 403,
                 "forbidden");
    expect_error(world, "POST", "/v1/actions/evaluate", world->agent,
                 "{\"agent_id\":\"fixer\",\"action\":{\"tool\":\"t\",\"args\":[]}}", 422,
                 "invalid");
}

/* ---- Requests ------------------------------------------------------------------------------- */

SERVER_TEST(a_request_has_the_id_that_its_place_gives_it)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    auto_buf struct buf body = {0};
    submit(world, "lane-a", "a", "", id);
    assert_true(id_is_valid(id));
    /* The same again is the same one; another body under its id is not. */
    write_request("fixer", "lane-a", "a", "", &body);
    expect(world, "POST", "/v1/hitl/requests", world->agent, "", buf_string(&body), 200);
    buf_clear(&body);
    write_request("fixer", "lane-a", "a", ",\"event_id\":\"other\"", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 422,
                 "action_changed");
}

SERVER_TEST(an_id_that_does_not_follow_from_the_place_is_refused)
{
    struct api_world *world = *state;
    auto_buf struct buf body = {0};
    write_request("fixer", "lane-a", "a",
                  ",\"request_id\":\"e6a19e20-f630-5f7a-91bd-71be0c3eae0d\"", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 422,
                 "request_id_mismatch");
}

SERVER_TEST(a_digest_that_is_not_that_of_the_action_is_refused)
{
    struct api_world *world = *state;
    auto_buf struct buf body = {0};
    char digest[HANDOFF_DIGEST_SIZE];
    digest_of_action("b", digest);
    buf_printf(&body,
               "{\"event_type\":\"handoff.requested\",\"agent\":{\"agent_id\":\"fixer\"},"
               "\"lane_id\":\"l\",\"action\":{\"tool\":\"isolate_host\",\"args\":{\"host\":\"a\"},"
               "\"action_digest\":\"%s\"}}",
               digest);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 422,
                 "invalid_request");
}

/** People would read it as Rondo's own. */
SERVER_TEST(an_agent_does_not_write_why_people_are_asked)
{
    struct api_world *world = *state;
    auto_buf struct buf body = {0};
    write_request("fixer", "lane-a", "a", ",\"trigger\":{\"message\":\"security agreed\"}", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 422,
                 "invalid_request");
}

SERVER_TEST(a_request_that_leaves_no_time_is_refused)
{
    struct api_world *world = *state;
    auto_buf struct buf body = {0};
    write_request("fixer", "lane-a", "a",
                  ",\"context\":{\"required_by_ts\":\"2020-01-01T00:00:00Z\"}", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 422,
                 "too_late");
}

SERVER_TEST(what_cannot_be_accepted_is_a_dead_letter_without_its_content)
{
    struct api_world *world = *state;
    auto_buf struct buf body = {0};
    struct api_reply answer;
    write_request("stranger", "lane-a", "top-secret", "", &body);
    for (int i = 0; i < 2; i++) {
        expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 403,
                     "agent_not_covered");
    }
    buf_clear(&body);
    write_request("fixer", "lane-a", "a", ",\"routing\":{\"priority\":\"huge\"}", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 422,
                 "invalid_request");
    ask(world, "GET", "/v1/dlq", world->administer, "", "", &answer);
    struct json_object *letters = json_member(answer.json, "letters");
    assert_int_equal(json_length(letters), 2);
    assert_null(strstr(answer.body, "top-secret"));
    int64_t counts = 0;
    for (size_t i = 0; i < 2; i++) {
        counts += json_get_int(json_object_array_get_idx(letters, i), "count", 0);
    }
    assert_int_equal(counts, 3);
    char path[256];
    snprintf(path, sizeof(path), "/v1/dlq/%s/replay",
             json_get_string(json_object_array_get_idx(letters, 0), "id", ""));
    expect_error(world, "POST", path, world->administer, "", 409, "conflict");
    snprintf(path, sizeof(path), "/v1/dlq/%s/discard",
             json_get_string(json_object_array_get_idx(letters, 0), "id", ""));
    expect(world, "POST", path, world->administer, "", "", 200);
    expect_error(world, "POST", path, world->administer, "", 404, "not_found");
    expect_error(world, "POST", path, world->operate, "", 403, "forbidden");
    answer_fini(&answer);
}

SERVER_TEST(a_request_of_another_agent_does_not_exist)
{
    struct api_world *world = *state;
    static const char *const verbs[] = {"take", "start", "finish", "return", "cancel", "resubmit"};
    static const char *const stranger[] = {"stranger", NULL};
    char id[ID_SIZE];
    char token[TOKEN_SIZE];
    char path[128];
    submit(world, "lane-a", "a", "", id);
    make_token(world, "stranger-agent", TOKEN_AGENT, stranger, token);
    path_of(id, "", path, sizeof(path));
    expect_error(world, "GET", path, token, "", 404, "not_found");
    for (size_t i = 0; i < COUNT(verbs); i++) {
        const char *body = strcmp(verbs[i], "cancel") == 0     ? "{\"reason\":\"x\"}"
                           : strcmp(verbs[i], "resubmit") == 0 ? "{\"revision\":2}"
                                                               : "{\"consumer\":\"c\"}";
        path_of(id, verbs[i], path, sizeof(path));
        expect_error(world, "POST", path, token, body, 404, "not_found");
    }
    expect_error(world, "POST", "/v1/outbox/fixer/pull", token, "{\"consumer\":\"c\"}", 403,
                 "agent_not_covered");
}

SERVER_TEST(an_agent_cannot_decide_its_own_request)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[128];
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    struct handoff handoff;
    submit(world, "lane-a", "a", "", id);
    snprintf(path, sizeof(path), "/v1/hitl/decisions/%s", id);
    struct api_reply answer;
    ask(world, "POST", path, world->agent, "Idempotency-Key: 1\r\n", "{\"status\":\"approved\"}",
        &answer);
    assert_true(answer.status == 403 || answer.status == 404 || answer.status == 405);
    answer_fini(&answer);
    assert_int_equal(handoff_read(&handoffs, id, &handoff, NULL), 0);
    assert_true(handoff_is_waiting(&handoff));
}

SERVER_TEST(people_are_not_flooded)
{
    struct api_world *world = *state;
    for (int i = 0; i < LIMIT_HANDOFFS_OF_LANE; i++) {
        char host[16];
        char id[ID_SIZE];
        snprintf(host, sizeof(host), "host-%d", i);
        submit(world, "lane-a", host, "", id);
    }
    auto_buf struct buf body = {0};
    struct api_reply answer;
    write_request("fixer", "lane-a", "one-more", "", &body);
    ask(world, "POST", "/v1/hitl/requests", world->agent, "", buf_string(&body), &answer);
    assert_int_equal(answer.status, 429);
    assert_non_null(strstr(buf_string(&answer.all), "Retry-After:"));
    assert_string_equal(json_get_string(json_member(answer.json, "error"), "code", ""),
                        "queue_full");
    assert_true(json_get_bool(json_member(answer.json, "error"), "retryable", false));
    answer_fini(&answer);
    /* The same action that waits already is joined. */
    buf_clear(&body);
    write_request("fixer", "lane-a", "host-0", ",\"attempt\":2", &body);
    expect(world, "POST", "/v1/hitl/requests", world->agent, "", buf_string(&body), 200);
}

SERVER_TEST(what_a_person_rejected_is_not_asked_again)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    auto_buf struct buf body = {0};
    struct api_reply answer;
    submit(world, "lane-a", "a", "", id);
    decide(world, id, HANDOFF_REJECT);
    assert_int_equal(command(world, id, "", "", &answer), 200);
    struct json_object *event = json_member(answer.json, "decision");
    struct json_object *decision = json_member(event, "decision");
    assert_string_equal(json_get_string(decision, "status", ""), "rejected");
    assert_string_equal(json_get_string(decision, "context", ""), "seen");
    assert_string_equal(json_get_string(event, "trace_id", ""), "t-1");
    assert_null(strstr(answer.body, "user:ann"));
    answer_fini(&answer);
    write_request("fixer", "lane-a", "a", ",\"attempt\":2", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 409,
                 "already_rejected");
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static void path_of_poll(const char *id, int wait_ms, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "/v1/hitl/requests/%s?wait_ms=%d", id, wait_ms);
}

struct delayed_decision {
    struct api_world *world;
    const char *id;
};

static void *decide_later(void *context)
{
    struct delayed_decision *delayed = context;
    clock_sleep(clock_system(), 150 * NS_PER_MS, NULL);
    decide(delayed->world, delayed->id, HANDOFF_APPROVE);
    return NULL;
}

SERVER_TEST(a_long_poll_ends_with_the_decision)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[128];
    struct api_reply answer;
    pthread_t thread;
    submit(world, "lane-a", "a", "", id);
    struct delayed_decision delayed = {world, id};
    path_of_poll(id, 20000, path, sizeof(path));
    assert_int_equal(pthread_create(&thread, NULL, decide_later, &delayed), 0);
    ask(world, "GET", path, world->agent, "", "", &answer);
    pthread_join(thread, NULL);
    assert_int_equal(answer.status, 200);
    struct json_object *event = json_member(answer.json, "decision");
    assert_string_equal(json_get_string(json_member(event, "decision"), "status", ""), "approved");
    answer_fini(&answer);
}

SERVER_TEST(a_long_poll_ends_with_its_time)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[128];
    struct api_reply answer;
    submit(world, "lane-a", "a", "", id);
    path_of_poll(id, 100, path, sizeof(path));
    ask(world, "GET", path, world->agent, "", "", &answer);
    assert_int_equal(answer.status, 200);
    assert_null(json_member(answer.json, "decision"));
    answer_fini(&answer);
    path_of_poll(id, 60001, path, sizeof(path));
    expect_error(world, "GET", path, world->agent, "", 400, "malformed");
}

static void *wait_long(void *context)
{
    struct delayed_decision *delayed = context;
    char path[128];
    struct api_reply answer;
    path_of_poll(delayed->id, 60000, path, sizeof(path));
    ask(delayed->world, "GET", path, delayed->world->agent, "", "", &answer);
    assert_int_equal(answer.status, 200);
    answer_fini(&answer);
    return NULL;
}

/* A hundred wait, and others are served meanwhile; a shutdown answers all. */
SERVER_TEST(those_who_wait_hold_up_nobody)
{
    struct api_world *world = *state;
    enum { MANY = 100 };
    char id[ID_SIZE];
    pthread_t threads[MANY];
    submit(world, "lane-a", "a", "", id);
    struct delayed_decision delayed = {world, id};
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_long, &delayed), 0);
    }
    expect(world, "GET", "/healthz", "", "", "", 200);
    decide(world, id, HANDOFF_APPROVE);
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
    }
}

SERVER_TEST(a_drain_answers_those_who_wait)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    pthread_t thread;
    submit(world, "lane-a", "a", "", id);
    struct delayed_decision delayed = {world, id};
    assert_int_equal(pthread_create(&thread, NULL, wait_long, &delayed), 0);
    clock_sleep(clock_system(), 50 * NS_PER_MS, NULL);
    server_drain(world->server);
    pthread_join(thread, NULL);
}

/* ---- Applying ------------------------------------------------------------------------------- */

SERVER_TEST(what_was_approved_is_made_once)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    auto_buf struct buf body = {0};
    auto_buf struct buf evaluation = {0};
    digest_of_action("a", digest);
    submit(world, "lane-a", "a", "", id);
    write_evaluation("fixer", "a", true, NULL, &evaluation);
    expect_outcome(world, buf_string(&evaluation), "handoff");
    expect_command(world, id, "take", "{\"consumer\":\"c-1\"}", 409, "nothing_to_apply");
    decide(world, id, HANDOFF_APPROVE);
    buf_clear(&evaluation);
    write_evaluation("fixer", "a", true, id, &evaluation);
    expect_outcome(world, buf_string(&evaluation), "allow");
    expect_command(world, id, "take", "{\"consumer\":\"c-1\"}", 200, "");
    expect_command(world, id, "take", "{\"consumer\":\"c-2\"}", 403, "not_yours");
    buf_printf(&body, "{\"consumer\":\"c-1\",\"action_digest\":\"%s\"}", digest);
    expect_command(world, id, "start", buf_string(&body), 200, "");
    buf_clear(&body);
    buf_printf(&body, "{\"consumer\":\"c-1\",\"result_digest\":\"%s\",\"ok\":true}", digest);
    expect_command(world, id, "finish", buf_string(&body), 200, "");
    expect_command(world, id, "finish", buf_string(&body), 200, "");
    expect_command(world, id, "take", "{\"consumer\":\"c-2\"}", 409, "nothing_to_apply");
}

/* Approve one thing, run another. */
SERVER_TEST(another_action_than_the_approved_one_is_never_applied)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char other[HANDOFF_DIGEST_SIZE];
    auto_buf struct buf body = {0};
    submit(world, "lane-a", "a", "", id);
    decide(world, id, HANDOFF_APPROVE);
    digest_of_action("b", other);
    expect_command(world, id, "take", "{\"consumer\":\"c-1\"}", 200, "");
    buf_printf(&body, "{\"consumer\":\"c-1\",\"action_digest\":\"%s\"," CONTEXT "}", other, "true");
    expect_command(world, id, "start", buf_string(&body), 409, "integrity_failed");
    expect_command(world, id, "take", "{\"consumer\":\"c-1\"}", 409, "nothing_to_apply");
    /* The approval does not count for the other action. */
    buf_clear(&body);
    write_evaluation("fixer", "b", true, id, &body);
    expect_outcome(world, buf_string(&body), "deny");
}

SERVER_TEST(policies_that_deny_now_prevent_what_was_approved)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    char path[160];
    static const char deny[] = "forbid (principal, action, resource);";
    auto_buf struct buf body = {0};
    submit(world, "lane-a", "a", "", id);
    decide(world, id, HANDOFF_APPROVE);
    expect_command(world, id, "take", "{\"consumer\":\"c-1\"}", 200, "");
    snprintf(path, sizeof(path), "%s/profiles.cedar", world->folder);
    assert_int_equal(file_replace_durably(path, deny, strlen(deny), NULL), 0);
    digest_of_action("a", digest);
    buf_printf(&body, "{\"consumer\":\"c-1\",\"action_digest\":\"%s\"," CONTEXT "}", digest,
               "false");
    expect_command(world, id, "start", buf_string(&body), 409, "integrity_failed");
}

/* ---- Questions ------------------------------------------------------------------------------ */

SERVER_TEST(answers_make_a_new_revision_and_another_action_a_new_request)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    auto_buf struct buf body = {0};
    struct api_reply answer;
    submit(world, "lane-a", "a", "", id);
    decide(world, id, HANDOFF_ASK);
    assert_int_equal(command(world, id, "", "", &answer), 200);
    struct json_object *event = json_member(answer.json, "decision");
    assert_string_equal(json_get_string(json_member(event, "decision"), "status", ""),
                        "needs_info");
    assert_int_equal(json_length(json_member(event, "questions")), 1);
    answer_fini(&answer);
    digest_of_action("a", digest);
    buf_printf(&body,
               "{\"revision\":2,\"action_digest\":\"%s\",\"answers\":[{\"question\":\"?\","
               "\"answer\":\"yes\"}]}",
               digest);
    expect_command(world, id, "resubmit", buf_string(&body), 200, "");
    expect_command(world, id, "resubmit", buf_string(&body), 200, "");
    decide(world, id, HANDOFF_ASK);
    buf_clear(&body);
    write_request("fixer", "lane-a", "b", ",\"revision\":3", &body);
    expect_command(world, id, "resubmit", buf_string(&body), 200, "");
    assert_int_equal(command(world, id, "", "", &answer), 200);
    assert_string_equal(json_get_string(answer.json, "state", ""), "superseded");
    answer_fini(&answer);
}

SERVER_TEST(a_lane_whose_request_has_questions_may_only_read)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    auto_buf struct buf body = {0};
    expect(world, "POST", "/v1/lanes", world->agent, "",
           "{\"agent_id\":\"fixer\",\"lane_id\":\"lane-a\"}", 201);
    submit(world, "lane-a", "a", "", id);
    buf_append_string(&body, "{\"agent_id\":\"fixer\",\"lane_id\":\"lane-a\",\"action\":{\"tool\":"
                             "\"write\",\"args\":{}},");
    buf_append_string(&body, "\"context\":{\"risk_level\":0,\"impact\":1,\"reversible\":true,"
                             "\"evidence_count\":0,\"evidence_required\":0,\"evidence_missing\":[],"
                             "\"violation_score\":0,\"human_required\":false,\"rework_count\":0}}");
    expect_outcome(world, buf_string(&body), "allow");
    decide(world, id, HANDOFF_ASK);
    expect_outcome(world, buf_string(&body), "deny");
}

/* ---- Outbox --------------------------------------------------------------------------------- */

SERVER_TEST(messages_come_in_order_until_they_are_acknowledged)
{
    struct api_world *world = *state;
    char first[ID_SIZE];
    char second[ID_SIZE];
    char body[96];
    struct api_reply answer;
    submit(world, "lane-a", "a", "", first);
    submit(world, "lane-b", "b", "", second);
    decide(world, second, HANDOFF_APPROVE);
    decide(world, first, HANDOFF_REJECT);
    for (int i = 0; i < 2; i++) { /* At least once: the same ones again. */
        ask(world, "POST", "/v1/outbox/fixer/pull", world->agent, "", "{\"consumer\":\"c-1\"}",
            &answer);
        struct json_object *messages = json_member(answer.json, "messages");
        assert_int_equal(json_length(messages), 2);
        struct json_object *message = json_object_array_get_idx(messages, 0);
        assert_string_equal(json_get_string(message, "request_id", ""), second);
        snprintf(body, sizeof(body), "{\"consumer\":\"c-1\",\"seq\":%lld}",
                 (long long)json_get_int(message, "seq", 0));
        answer_fini(&answer);
    }
    expect_error(world, "POST", "/v1/outbox/fixer/pull", world->agent, "{\"consumer\":\"c-2\"}",
                 409, "outbox_held");
    expect(world, "POST", "/v1/outbox/fixer/ack", world->agent, "", body, 200);
    expect(world, "POST", "/v1/outbox/fixer/ack", world->agent, "", body, 200);
    ask(world, "POST", "/v1/outbox/fixer/pull", world->agent, "", "{\"consumer\":\"c-1\"}",
        &answer);
    assert_int_equal(json_length(json_member(answer.json, "messages")), 1);
    answer_fini(&answer);
}

SERVER_TEST(a_message_that_is_refused_five_times_is_a_dead_letter_and_can_be_replayed)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[300];
    struct api_reply answer;
    submit(world, "lane-a", "a", "", id);
    decide(world, id, HANDOFF_APPROVE);
    for (int i = 0; i < 5; i++) {
        char body[96];
        ask(world, "POST", "/v1/outbox/fixer/pull", world->agent, "", "{\"consumer\":\"c\"}",
            &answer);
        struct json_object *messages = json_member(answer.json, "messages");
        assert_int_equal(json_length(messages), 1);
        snprintf(body, sizeof(body), "{\"consumer\":\"c\",\"seq\":%lld,\"reason\":\"broken\"}",
                 (long long)json_get_int(json_object_array_get_idx(messages, 0), "seq", 0));
        answer_fini(&answer);
        expect(world, "POST", "/v1/outbox/fixer/nack", world->agent, "", body, 200);
    }
    ask(world, "POST", "/v1/outbox/fixer/pull", world->agent, "", "{\"consumer\":\"c\"}", &answer);
    assert_int_equal(json_length(json_member(answer.json, "messages")), 0);
    answer_fini(&answer);
    ask(world, "GET", "/v1/dlq", world->administer, "", "", &answer);
    struct json_object *letters = json_member(answer.json, "letters");
    assert_int_equal(json_length(letters), 1);
    snprintf(path, sizeof(path), "/v1/dlq/%s/replay",
             json_get_string(json_object_array_get_idx(letters, 0), "id", ""));
    answer_fini(&answer);
    expect(world, "POST", path, world->administer, "", "", 200);
    ask(world, "POST", "/v1/outbox/fixer/pull", world->agent, "", "{\"consumer\":\"c\"}", &answer);
    assert_int_equal(json_length(json_member(answer.json, "messages")), 1);
    answer_fini(&answer);
}

/** A line of /metrics. */
static void expect_metric(struct api_world *world, const char *line)
{
    struct api_reply answer;
    ask(world, "GET", "/metrics", world->read, "", "", &answer);
    if (strstr(answer.body, line) == NULL) {
        fail_msg("no %s in\n%s", line, answer.body);
    }
    answer_fini(&answer);
}

SERVER_TEST(what_agents_do_is_counted_without_ids)
{
    struct api_world *world = *state;
    auto_buf struct buf body = {0};
    char id[ID_SIZE];
    write_evaluation("fixer", "a", false, NULL, &body);
    expect(world, "POST", "/v1/actions/evaluate", world->agent, "", buf_string(&body), 200);
    expect_metric(world, "relaytrace_action_evaluations_total{agent=\"fixer\",outcome=\"allow\","
                         "actionable=\"false\"} 1\n");
    buf_clear(&body);
    write_evaluation("stranger", "a", false, NULL, &body);
    expect(world, "POST", "/v1/actions/evaluate", world->agent, "", buf_string(&body), 403);
    expect_metric(world, "relaytrace_verify_failures_total{reason=\"scope\"} 1\n");
    submit(world, "lane", "a", "", id);
    buf_clear(&body);
    write_request("fixer", "lane", "a", "", &body);
    expect(world, "POST", "/v1/hitl/requests", world->agent, "", buf_string(&body), 200);
    expect_metric(world, "relaytrace_delivery_duplicates_total{kind=\"request\"} 1\n");
    expect(world, "POST", "/v1/hitl/requests", world->agent, "", "{\"x\":1}", 422);
    expect_metric(world, "relaytrace_dlq_messages{queue=\"intake\"} 1\n");
    expect(world, "POST", "/v1/findings", world->agent, "",
           "{\"agent_id\":\"fixer\",\"class\":\"missed_handoff\"}", 201);
    expect_metric(world, "relaytrace_findings_total{class=\"missed_handoff\"} 1\n");
    expect_metric(world, "relaytrace_audit_entries_total{kind=\"finding.missed_handoff\"} 1\n");
    expect(world, "POST", "/v1/outbox/fixer/pull", world->agent, "", "{\"consumer\":\"p1\"}", 200);
    struct api_reply answer;
    ask(world, "GET", "/metrics", world->read, "", "", &answer);
    assert_null(strstr(answer.body, id));
    answer_fini(&answer);
}
