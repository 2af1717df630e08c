// SPDX-License-Identifier: Apache-2.0
/* The agent fixer of a server, what it sends, and what people decide about it. */
#pragma once

#include "api_world.h"
#include "handoff/inbox/inbox.h"
#include "handoff/wire/request.h"

/** A server of its own for each: requests of one would be in the way of the next. */
#define SERVER_TEST(name) TEST_WITH(name, world_setup, world_teardown)

#define CONTEXT                                                            \
    "\"context\":{\"confidence\":0.9,\"risk_level\":0,\"impact\":0,"       \
    "\"reversible\":true,\"evidence_count\":0,\"evidence_required\":0,"    \
    "\"evidence_missing\":[],\"violation_score\":0,\"human_required\":%s," \
    "\"rework_count\":0}"

/** The body of an evaluation. */
static inline void write_evaluation(const char *agent, const char *host, bool needs_human,
                                    const char *request_id, struct buf *ret_json)
{
    buf_printf(
        ret_json,
        "{\"agent_id\":\"%s\",\"action\":{\"tool\":\"isolate_host\",\"args\":{\"host\":\"%s\"}},",
        agent, host);
    if (request_id != NULL) {
        buf_printf(ret_json, "\"request_id\":\"%s\",", request_id);
    }
    buf_printf(ret_json, CONTEXT "}", needs_human ? "true" : "false");
}

/** The body of a request. @param more members with a comma before them, or "" */
static inline void write_request(const char *agent, const char *lane, const char *host,
                                 const char *more, struct buf *ret_json)
{
    buf_printf(ret_json,
               "{\"event_type\":\"handoff.requested\",\"trace_id\":\"t-1\","
               "\"agent\":{\"agent_id\":\"%s\"},"
               "\"workflow\":{\"workflow_id\":\"wf-1\",\"run_id\":\"run-1\",\"step_id\":\"s\"},"
               "\"lane_id\":\"%s\",\"intent\":{\"risk_level\":\"medium\"},"
               "\"action\":{\"tool\":\"isolate_host\",\"args\":{\"host\":\"%s\"}}%s}",
               agent, lane, host, more);
}

/** Check the stable code that agents read. */
static inline void expect_error(struct api_world *world, const char *method, const char *path,
                                const char *token, const char *body, int status, const char *code)
{
    struct api_reply answer;
    ask(world, method, path, token, "", body, &answer);
    const char *own = json_get_string(json_member(answer.json, "error"), "code", "");
    if (answer.status != status || strcmp(own, code) != 0) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, status);
    assert_string_equal(own, code);
    answer_fini(&answer);
}

/** Make a request of the agent fixer. @param ret_id ID_SIZE bytes */
static inline void submit(struct api_world *world, const char *lane, const char *host,
                          const char *more, char *ret_id)
{
    auto_buf struct buf body = {0};
    struct api_reply answer;
    write_request("fixer", lane, host, more, &body);
    ask(world, "POST", "/v1/hitl/requests", world->agent, "", buf_string(&body), &answer);
    if (answer.status != 201) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, 201);
    snprintf(ret_id, ID_SIZE, "%s", json_get_string(answer.json, "request_id", ""));
    answer_fini(&answer);
}

static inline void path_of(const char *id, const char *verb, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "/v1/hitl/requests/%s%s%s", id, verb[0] == '\0' ? "" : "/", verb);
}

/** A command of a request. */
static inline int command(struct api_world *world, const char *id, const char *verb,
                          const char *body, struct api_reply *ret_answer)
{
    char path[128];
    path_of(id, verb, path, sizeof(path));
    ask(world, body[0] == '\0' ? "GET" : "POST", path, world->agent, "", body, ret_answer);
    return ret_answer->status;
}

static inline void expect_command(struct api_world *world, const char *id, const char *verb,
                                  const char *body, int status, const char *code)
{
    struct api_reply answer;
    int got = command(world, id, verb, body, &answer);
    const char *own = json_get_string(json_member(answer.json, "error"), "code", "");
    if (got != status || strcmp(own, code) != 0) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(got, status);
    assert_string_equal(own, code);
    answer_fini(&answer);
}

/** What a person does. */
static inline void decide_with(const char *id, enum handoff_command_kind kind,
                               struct handoff_store handoffs)
{
    static const char *const questions[] = {"Is it the only one?"};
    struct rondo_error err = {0};
    struct handoff handoff;
    struct inbox_result result;
    assert_int_equal(handoff_read(&handoffs, id, &handoff, NULL), 0);
    struct inbox_decision decision = {
        .kind = kind,
        .by = "user:ann",
        .comment = "seen",
        .questions = questions,
        .question_count = kind == HANDOFF_ASK ? 1 : 0,
        .revision = handoff.revision,
        .action_digest = handoff.action_digest,
    };
    if (inbox_decide(&handoffs, id, &decision, clock_now(clock_system()), &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
}

static inline void decide(struct api_world *world, const char *id, enum handoff_command_kind kind)
{
    decide_with(id, kind,
                (struct handoff_store){.store = world->store, .rules = &handoff_default_rules});
}

static inline void digest_of_action(const char *host, char *ret_digest)
{
    auto_json struct json_object *action = NULL;
    auto_buf struct buf json = {0};
    buf_printf(&json, "{\"tool\":\"isolate_host\",\"args\":{\"host\":\"%s\"}}", host);
    assert_int_equal(json_parse(json.data, json.len, &action, NULL), 0);
    assert_int_equal(wire_action_digest(action, ret_digest, NULL), 0);
}
