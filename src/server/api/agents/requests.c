// SPDX-License-Identifier: Apache-2.0
/* Requests of agents to people: made once, waited for, answered, cancelled. */
#include "base/limits.h"
#include "handoff/identity.h"
#include "handoff/wire/dead_letter.h"
#include "handoff/wire/decision.h"
#include "handoff/wire/lane.h"
#include "handoff/wire/request.h"
#include "server/api/agents/agents.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const char *body_of(const struct call *call, size_t *ret_len)
{
    return http_exchange_body(call->exchange, ret_len);
}

/** Refuse a request for good, and note it among the dead letters. */
static void bury(struct call *call, enum problem_code code, const char *stable, const char *reason)
{
    char id[LETTER_ID_SIZE];
    size_t len = 0;
    const char *body = body_of(call, &len);
    struct intake_letter letter = {
        .caller = call->grant.name,
        .code = stable,
        .reason = reason,
        .body = body,
        .len = len,
        .now_ns = agents_now(call),
    };
    (void)intake_letter_add(call_store(call), &letter, id, NULL);
    call_refuse(call, code, stable, "%s%s%s", reason, id[0] == '\0' ? "" : "; dead letter ", id);
}

/* ---- Making one ----------------------------------------------------------------------------- */

/** Read the body. @return false: it was refused */
static bool read_request(struct call *call, struct wire_request *ret_request)
{
    struct rondo_error err = {0};
    size_t len = 0;
    const char *body = body_of(call, &len);
    if (len > LIMIT_HANDOFF_BODY_BYTES) {
        bury(call, PROBLEM_TOO_LARGE, "too_large", "the request has more than 256 KiB");
        return false;
    }
    if (wire_request_read(call->body, body, len, ret_request, &err) < 0) {
        bury(call, PROBLEM_INVALID, "invalid_request", err.message);
        return false;
    }
    if (!token_grant_covers(&call->grant, ret_request->agent_id)) {
        agents_count_one(call, "relaytrace_verify_failures_total", "scope");
        bury(call, PROBLEM_FORBIDDEN, "agent_not_covered", "the token is not for this agent");
        return false;
    }
    return true;
}

/** An id that the agent gives must be one of the place, which says how often it was asked; that of
 * another agent is none of its business. @return false: it was refused */
static bool check_id(struct call *call, struct wire_request *request)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct handoff other;
    for (uint32_t i = 1; i <= LIMIT_HANDOFF_REPEATS && request->given_id[0] != '\0'; i++) {
        char id[ID_SIZE];
        if (wire_request_id_of(request, i, id, NULL) == 0 && strcmp(request->given_id, id) == 0) {
            memcpy(request->request_id, id, sizeof(id));
            request->attempt = i;
            return true;
        }
    }
    if (request->given_id[0] == '\0') {
        return true;
    }
    bool is_others = handoff_read(&handoffs, request->given_id, &other, NULL) == 0 &&
                     strcmp(other.agent_id, request->agent_id) != 0;
    agents_count_one(call, "relaytrace_verify_failures_total", is_others ? "scope" : "correlation");
    if (is_others) {
        bury(call, PROBLEM_FORBIDDEN, "not_yours", "this request_id is another agent's");
    } else {
        bury(call, PROBLEM_INVALID, "request_id_mismatch",
             "request_id is not the one that follows from agent, workflow, lane, action and "
             "attempt");
    }
    return false;
}

/** What a person rejected is not asked again. @return false: it was refused */
static bool check_attempts(struct call *call, const struct wire_request *request)
{
    struct handoff_store handoffs = call_handoffs(call);
    for (uint32_t attempt = 1; attempt < request->attempt; attempt++) {
        char id[ID_SIZE];
        struct handoff earlier;
        if (wire_request_id_of(request, attempt, id, NULL) == 0 &&
            handoff_read(&handoffs, id, &earlier, NULL) == 0 && earlier.state == HANDOFF_REJECTED) {
            call_refuse(call, PROBLEM_CONFLICT, "already_rejected",
                        "a person has rejected this action in this run (request %s)", id);
            return false;
        }
    }
    return true;
}

/** The lane waits: its row says for what. Its agent may not have opened it. */
static void pause_lane(struct call *call, const struct wire_request *request)
{
    struct lane lane;
    (void)lane_change(call_store(call), request->agent_id, request->lane_id, LANE_PAUSED,
                      request->request_id, agents_now(call), &lane, NULL);
}

static bool is_there(enum handoff_outcome outcome)
{
    return outcome == HANDOFF_DONE || outcome == HANDOFF_REPEATED || outcome == HANDOFF_JOINED;
}

/** @param has_place it takes the place of another one @param ret_result with the one that waits, on
 * its desk @return as inbox_submit */
static int submit(struct call *call, const struct wire_request *request, bool has_place,
                  struct handoff_result *ret_result, struct rondo_error *err)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct handoff_request wanted = wire_request_of(request);
    wanted.has_place = has_place;
    wanted.owner = call->grant.owner;
    auto_buf struct buf body = {0};
    size_t len = 0;
    const char *bytes = body_of(call, &len);
    buf_append(&body, bytes, len);
    return inbox_submit(&handoffs, &wanted, buf_string(&body), agents_now(call), ret_result, err);
}

void handle_submit_request(struct call *call)
{
    struct wire_request request;
    struct handoff_result result = {0};
    struct rondo_error err = {0};
    if (!read_request(call, &request) || !check_id(call, &request) ||
        !check_attempts(call, &request)) {
        return;
    }
    int r = submit(call, &request, false, &result, &err);
    agents_answer_result(call, r, &result, &err);
    if (r == 0 && result.outcome == HANDOFF_DONE) {
        pause_lane(call, &request);
        call->status = 201;
        snprintf(call->location, sizeof(call->location), "/v1/hitl/requests/%s",
                 request.request_id);
    }
}

/* ---- Waiting -------------------------------------------------------------------------------- */

void handle_get_request(struct call *call)
{
    struct handoff handoff;
    int64_t wait_ms = 0;
    if (!call_query_int(call, "wait_ms", 0, WAITERS_MOST_NS / NS_PER_MS, 0, &wait_ms) ||
        !agents_find(call, &handoff)) {
        return;
    }
    agents_answer(call, 200, &handoff);
    int64_t now_ns = clock_monotonic(clock_system());
    if (call->wait_until_ns == 0) {
        call->wait_until_ns = now_ns + wait_ms * NS_PER_MS;
    }
    if (!wire_is_decided(&handoff) && now_ns < call->wait_until_ns) {
        snprintf(call->waits_for, sizeof(call->waits_for), "%s", handoff.request_id);
    }
}

/* ---- Answers to questions ------------------------------------------------------------------- */

/** Another action instead: the new request first, so that the old one is never gone without it. */
static void supersede(struct call *call, const struct handoff *old,
                      const struct wire_request *request)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct handoff_result made = {0};
    struct handoff_result result = {0};
    struct rondo_error err = {0};
    if (old->state != HANDOFF_NEEDS_INFO && old->state != HANDOFF_SUPERSEDED) {
        call_refuse(call, PROBLEM_CONFLICT, "not_open",
                    "another action can take its place only while it needs information; it is %s",
                    handoff_state_name(old->state));
        return;
    }
    int r = submit(call, request, old->state == HANDOFF_NEEDS_INFO, &made, &err);
    if (r < 0 || !is_there(made.outcome)) {
        agents_answer_result(call, r, &made, &err);
        return;
    }
    struct handoff_command command = {
        .kind = HANDOFF_RESUBMIT,
        .actor = {.id = old->agent_id},
        .revision = old->revision + 1,
        .action_digest = request->action_digest,
        .text_digest = request->body_digest,
        .new_request = made.handoff.request_id,
    };
    r = handoff_act(&handoffs, old->request_id, &command, NULL, agents_now(call), &result, &err);
    if (r == 0 && made.outcome == HANDOFF_DONE && result.outcome != HANDOFF_DONE &&
        result.outcome != HANDOFF_REPEATED) {
        struct handoff_command cancel = {.kind = HANDOFF_CANCEL, .actor = {.id = old->agent_id}};
        struct handoff_result ignored;
        (void)handoff_act(&handoffs, request->request_id, &cancel, NULL, agents_now(call), &ignored,
                          NULL);
    } else if (r == 0 && is_there(result.outcome)) {
        result.handoff = made.handoff;
        pause_lane(call, request);
    }
    agents_answer_result(call, r, &result, &err);
}

/** @param body that people see; NULL = the one that was sent */
static void answer_questions(struct call *call, const struct handoff *handoff, uint32_t revision,
                             const char *shown)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct handoff_result result = {0};
    struct rondo_error err = {0};
    struct handoff now_routed;
    char digest[HANDOFF_DIGEST_SIZE];
    auto_buf struct buf body = {0};
    size_t len = 0;
    const char *bytes = body_of(call, &len);
    buf_append(&body, bytes, len);
    int r = handoff_digest(body.data, body.len, digest, &err);
    struct handoff_command command = {
        .kind = HANDOFF_RESUBMIT,
        .actor = {.id = handoff->agent_id},
        .revision = revision,
        .action_digest = handoff->action_digest,
        .text_digest = digest,
    };
    struct handoff_note note = {.role = "agent", .body = shown == NULL ? buf_string(&body) : shown};
    r = r < 0 ? r
              : handoff_act(&handoffs, handoff->request_id, &command, &note, agents_now(call),
                            &result, &err);
    if (r == 0 && result.outcome == HANDOFF_DONE) {
        r = inbox_route(&handoffs, handoff->request_id, agents_now(call), &now_routed, &err);
        result.handoff = r == 0 ? now_routed : result.handoff;
    }
    agents_answer_result(call, r, &result, &err);
}

/** People see the request as it was, with the answers. */
static void show_answers(struct call *call, const struct handoff *handoff, uint32_t revision)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct rondo_error err = {0};
    auto_buf struct buf before = {0};
    auto_json struct json_object *body = NULL;
    uint32_t last =
        revision > 1 && revision <= handoff->revision ? revision - 1 : handoff->revision;
    int r = handoff_read_body(&handoffs, handoff->request_id, last, &before, &err);
    r = r < 0 ? r : json_parse(before.data, before.len, &body, &err);
    if (r < 0) {
        call_error(call, &err);
        return;
    }
    json_object_object_add(body, "revision", json_object_new_int64(revision));
    static const char *const members[] = {"answers", "context", "evidence"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        struct json_object *value = json_member(call->body, members[i]);
        if (value != NULL) {
            json_object_object_add(body, members[i], json_object_get(value));
        }
    }
    answer_questions(call, handoff, revision,
                     json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN));
}

/** Answers alone: {agent_id, revision, action_digest, answers}. */
static void resubmit_short(struct call *call, const struct handoff *handoff)
{
    char digest[HANDOFF_DIGEST_SIZE];
    int64_t revision = json_get_int(call->body, "revision", 0);
    if (!call_check_members(call, call->body, "",
                            "agent_id,revision,action_digest,answers,context,evidence") ||
        !agents_digest(call, "action_digest", true, digest)) {
        return;
    }
    if (strcmp(digest, handoff->action_digest) != 0) {
        agents_count_one(call, "relaytrace_verify_failures_total", "digest");
        call_refuse(call, PROBLEM_INVALID, "action_changed",
                    "for another action, send a whole request");
    } else if (revision < 1 || revision > UINT32_MAX ||
               json_length(json_member(call->body, "answers")) == 0) {
        call_problem(call, PROBLEM_INVALID, "revision and answers are needed");
    } else {
        show_answers(call, handoff, (uint32_t)revision);
    }
}

void handle_resubmit_request(struct call *call)
{
    struct handoff handoff;
    struct wire_request request;
    size_t len = 0;
    (void)body_of(call, &len);
    if (!agents_find(call, &handoff)) {
        return;
    }
    if (json_member(call->body, "event_type") == NULL) {
        if (len > LIMIT_HANDOFF_BODY_BYTES) {
            call_refuse(call, PROBLEM_TOO_LARGE, "too_large", "the answers have more than 256 KiB");
            return;
        }
        resubmit_short(call, &handoff);
        return;
    }
    if (!read_request(call, &request)) {
        return;
    }
    if (strcmp(request.agent_id, handoff.agent_id) != 0) {
        call_refuse(call, PROBLEM_FORBIDDEN, "not_yours", "the request is another agent's");
    } else if (strcmp(request.action_digest, handoff.action_digest) == 0) {
        answer_questions(call, &handoff, request.revision, NULL);
    } else if (check_id(call, &request)) {
        supersede(call, &handoff, &request);
    }
}

void handle_cancel_request(struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct handoff_result result = {0};
    struct rondo_error err = {0};
    struct handoff handoff;
    if (!agents_find(call, &handoff) ||
        (call->body != NULL && !call_check_members(call, call->body, "", "reason"))) {
        return;
    }
    struct handoff_command command = {.kind = HANDOFF_CANCEL, .actor = {.id = handoff.agent_id}};
    struct handoff_note note = {.role = "agent"};
    int r = handoff_act(&handoffs, handoff.request_id, &command, &note, agents_now(call), &result,
                        &err);
    agents_answer_result(call, r, &result, &err);
}
