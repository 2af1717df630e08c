// SPDX-License-Identifier: Apache-2.0
/*
 * One handoff: GET /v1/inbox/{id}, its claim, and POST /v1/hitl/decisions/{id}. Who decides is the
 * person of the token, or the user of the machine: never what the body says.
 */
#include "base/auto.h"
#include "base/memory.h"
#include "base/parse.h"
#include "handoff/inbox/redaction.h"
#include "handoff/storage/clock.h"
#include "orchestrator/orchestrator.h"
#include "server/api/handlers.h"
#include "server/api/inbox_call.h"
#include "server/stream/waiters.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Find the handoff of the path. @return false: the answer is a problem */
static bool find_handoff(struct call *call, struct handoff *ret_handoff)
{
    struct rondo_error err = {0};
    struct handoff_store handoffs = call_handoffs(call);
    int r = handoff_read(&handoffs, call_value(call, "id"), ret_handoff, &err);
    if (r == RONDO_ERR_NOT_FOUND || (r == 0 && !call_sees_handoff(call, ret_handoff))) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no such handoff");
        return false;
    }
    if (r < 0) {
        call_error(call, &err);
    }
    return r == 0;
}

static void set_version(struct call *call, const struct handoff *handoff)
{
    snprintf(call->etag, sizeof(call->etag), "\"%" PRIu64 "\"", handoff->version);
}

void handle_inbox_entry(struct call *call)
{
    struct handoff handoff;
    struct rondo_error err = {0};
    auto_buf struct buf json = {0};
    struct handoff_store handoffs = call_handoffs(call);
    struct inbox_view_options options = call_inbox_view(call, true);
    if (!find_handoff(call, &handoff)) {
        return;
    }
    if (inbox_view(&handoffs, &handoff, &options, &json, &err) < 0) {
        call_error(call, &err);
        return;
    }
    call_json(call, 200);
    buf_append(&call->answer, json.data, json.len);
    set_version(call, &handoff);
}

/* ---- What the body says --------------------------------------------------------------------- */

/** A decision of the body; owns what it lists. */
struct wanted {
    struct inbox_decision decision;
    const char **questions;
    struct buf constraints;
};

static void wanted_fini(struct wanted *wanted)
{
    free(wanted->questions);
    buf_fini(&wanted->constraints);
}

static struct inbox_decision begin_decision(struct call *call, enum handoff_command_kind kind,
                                            const struct handoff *handoff)
{
    const char *person = call->grant.person;
    return (struct inbox_decision){
        .kind = kind,
        .by = person,
        .is_admin = call->is_local,
        .is_requester =
            token_is_of_agent(call_store(call), person, handoff->agent_id, handoff->parent_id),
        .key = http_exchange_header(call->exchange, "Idempotency-Key"),
    };
}

static bool read_kind(struct call *call, enum handoff_command_kind *ret_kind)
{
    const char *status = NULL;
    if (!call_member_text(call, "status", true, &status)) {
        return false;
    }
    bool is_known = inbox_kind_of(status, ret_kind) && *ret_kind != HANDOFF_CLAIM &&
                    *ret_kind != HANDOFF_RELEASE;
    if (!is_known) {
        call_problem(call, PROBLEM_INVALID, "the status %.40s is no decision", status);
    }
    return is_known;
}

/** The revision and the digest that the person has seen: of decisions about the action itself. */
static bool read_subject(struct call *call, struct inbox_decision *decision)
{
    struct json_object *revision = json_member(call->body, "revision");
    enum handoff_command_kind kind = decision->kind;
    bool is_needed = kind == HANDOFF_APPROVE || kind == HANDOFF_REJECT || kind == HANDOFF_REROUTE ||
                     kind == HANDOFF_ASK;
    if (revision != NULL || is_needed) {
        int64_t number =
            json_object_is_type(revision, json_type_int) ? json_object_get_int64(revision) : 0;
        if (number < 1 || number > UINT32_MAX) {
            call_problem(call, PROBLEM_INVALID,
                         "revision is the number of the revision that you have seen");
            return false;
        }
        decision->revision = (uint32_t)number;
    }
    return call_member_text(call, "action_digest", is_needed, &decision->action_digest);
}

static bool read_questions(struct call *call, struct wanted *wanted)
{
    struct json_object *list = json_member(call->body, "questions");
    if (list == NULL) {
        return true;
    }
    size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    wanted->questions = memory_new_zero(count + 1, sizeof(*wanted->questions));
    for (size_t i = 0; i < count; i++) {
        struct json_object *question = json_object_array_get_idx(list, i);
        const char *text = json_object_get_string(question);
        if (!json_object_is_type(question, json_type_string) ||
            strlen(text) != (size_t)json_object_get_string_len(question)) {
            count = 0;
            break;
        }
        wanted->questions[i] = text;
    }
    if (count == 0) {
        call_problem(call, PROBLEM_INVALID, "questions is a list of texts");
        return false;
    }
    wanted->decision.questions = wanted->questions;
    wanted->decision.question_count = count;
    return true;
}

static void read_constraints(struct call *call, struct wanted *wanted)
{
    struct json_object *list = json_member(call->body, "constraints");
    if (list != NULL) {
        buf_append_string(&wanted->constraints,
                          json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
        wanted->decision.constraints = buf_string(&wanted->constraints);
    }
}

/** "If-Match: "7"": the version that the person has seen. @return false: a problem */
static bool read_version(struct call *call, uint64_t *ret_version)
{
    const char *header = http_exchange_header(call->exchange, "If-Match");
    size_t len = header == NULL ? 0 : strlen(header);
    char number[24] = "";
    int64_t version = 0;
    if (len > 2 && len < sizeof(number) && header[0] == '"' && header[len - 1] == '"') {
        memcpy(number, header + 1, len - 2);
    }
    if (parse_int(number, 1, INT64_MAX, &version, NULL) < 0) {
        call_problem(call, PROBLEM_MALFORMED,
                     "send `If-Match` with the ETag of the entry that you have seen");
        return false;
    }
    *ret_version = (uint64_t)version;
    return true;
}

/* ---- The answer ----------------------------------------------------------------------------- */

static enum problem_code problem_of(const struct handoff_result *result)
{
    switch (result->outcome) {
    case HANDOFF_NOT_PERMITTED:
    case HANDOFF_SELF_APPROVAL:
        return PROBLEM_FORBIDDEN;
    case HANDOFF_NOT_YOURS:
        return result->handoff.claimed_by[0] != '\0' ? PROBLEM_CONFLICT : PROBLEM_FORBIDDEN;
    case HANDOFF_OTHER_REVISION:
    case HANDOFF_OTHER_ACTION:
    case HANDOFF_TEXT_MISSING:
        return PROBLEM_INVALID;
    default:
        return PROBLEM_CONFLICT;
    }
}

/** A problem that says who decided: a client shows it without another look. */
static void refuse(struct call *call, const struct handoff_result *result)
{
    const struct handoff *handoff = &result->handoff;
    auto_buf struct buf text = {0};
    auto_buf struct buf more = {0};
    inbox_explain(result, &text);
    call_problem(call, problem_of(result), "%s", buf_string(&text));
    struct json_writer writer = json_writer(&more);
    json_begin_object(&writer, NULL);
    json_begin_object(&writer, "error");
    json_write_string(&writer, "code", handoff_outcome_name(result->outcome));
    json_write_string(&writer, "message", buf_string(&text));
    json_write_bool(&writer, "retryable", result->outcome == HANDOFF_OTHER_VERSION);
    json_end_object(&writer);
    json_write_string(&writer, "state", handoff_state_name(handoff->state));
    json_write_int(&writer, "version", (int64_t)handoff->version);
    json_write_int(&writer, "revision", handoff->revision);
    json_write_string(&writer, "decided_by",
                      handoff->decided_by[0] == '\0' ? NULL : handoff->decided_by);
    call_write_time(&writer, "decided_at", handoff->decided_ns);
    json_write_string(&writer, "claimed_by",
                      handoff->claimed_by[0] == '\0' ? NULL : handoff->claimed_by);
    json_end_object(&writer);
    call->answer.data[call->answer.len - 1] = ','; /* its closing brace */
    buf_append(&call->answer, more.data + 1, more.len - 1);
}

static void answer(struct call *call, const struct inbox_result *result)
{
    struct rondo_error err = {0};
    auto_buf struct buf view = {0};
    auto_buf struct buf text = {0};
    struct handoff_store handoffs = call_handoffs(call);
    struct inbox_view_options options = call_inbox_view(call, true);
    enum handoff_outcome outcome = result->result.outcome;
    if (outcome != HANDOFF_DONE && outcome != HANDOFF_REPEATED && outcome != HANDOFF_PARTIAL) {
        refuse(call, &result->result);
        return;
    }
    if (inbox_view(&handoffs, &result->result.handoff, &options, &view, &err) < 0) {
        call_error(call, &err);
        return;
    }
    inbox_explain(&result->result, &text);
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "outcome", outcome == HANDOFF_PARTIAL ? "partial" : "done");
    json_write_string(&writer, "message", text.len == 0 ? NULL : buf_string(&text));
    json_write_string(&writer, "decision_id", result->decision_id);
    json_write_bool(&writer, "is_returned", result->is_returned);
    json_write_raw(&writer, "handoff", buf_string(&view));
    json_end_object(&writer);
    set_version(call, &result->result.handoff);
}

static void decide(struct call *call, const struct inbox_decision *decision)
{
    struct rondo_error err = {0};
    struct inbox_result result = {0};
    struct handoff_store handoffs = call_handoffs(call);
    int r = inbox_decide(&handoffs, call_value(call, "id"), decision, handoff_now(&handoffs),
                         &result, &err);
    if (r < 0) {
        call_error(call, &err);
        return;
    }
    orchestrator_wake(call_orchestrator(call));
    waiters_wake(call->server->waiters);
    answer(call, &result);
}

/* ---- The routes ----------------------------------------------------------------------------- */

void handle_inbox_claim(struct call *call)
{
    struct handoff handoff;
    if (find_handoff(call, &handoff)) {
        struct inbox_decision decision = begin_decision(call, HANDOFF_CLAIM, &handoff);
        decide(call, &decision);
    }
}

void handle_inbox_release(struct call *call)
{
    struct handoff handoff;
    if (find_handoff(call, &handoff)) {
        struct inbox_decision decision = begin_decision(call, HANDOFF_RELEASE, &handoff);
        decide(call, &decision);
    }
}

/** The answer is not kept for its Idempotency-Key: each time it is shown has its own entry in the
 * audit chain. */
void handle_inbox_reveal(struct call *call)
{
    struct handoff handoff;
    struct rondo_error err = {0};
    const char *pointer = NULL;
    enum redact_verdict verdict = REDACT_MISSING;
    auto_buf struct buf value = {0};
    auto_buf struct buf why = {0};
    struct handoff_store handoffs = call_handoffs(call);
    if (!call_check_members(call, call->body, "", "pointer") ||
        !call_member_text(call, "pointer", true, &pointer) || !find_handoff(call, &handoff)) {
        return;
    }
    if (inbox_reveal(&handoffs, handoff.request_id, call->grant.person, pointer,
                     handoff_now(&handoffs), &verdict, &value, &err) < 0) {
        call_error(call, &err);
        return;
    }
    inbox_explain_reveal(verdict, &why);
    if (verdict != REDACT_REVEALED) {
        call_problem(call, verdict == REDACT_NOT_PERMITTED ? PROBLEM_FORBIDDEN : PROBLEM_INVALID,
                     "%s", buf_string(&why));
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "pointer", pointer);
    json_write_raw(&writer, "value", buf_string(&value));
    json_end_object(&writer);
}

void handle_decision(struct call *call)
{
    static const char members[] =
        "status,action_digest,revision,context,constraints,questions,target";
    struct handoff handoff;
    struct wanted wanted = {0};
    enum handoff_command_kind kind = HANDOFF_APPROVE;
    if (http_exchange_header(call->exchange, "Idempotency-Key") == NULL) {
        call_problem(call, PROBLEM_MALFORMED, "send an Idempotency-Key: a decision is made once");
        return;
    }
    if (!find_handoff(call, &handoff) || !call_check_members(call, call->body, "", members) ||
        !read_kind(call, &kind)) {
        return;
    }
    wanted.decision = begin_decision(call, kind, &handoff);
    read_constraints(call, &wanted);
    if (read_version(call, &wanted.decision.if_version) && read_subject(call, &wanted.decision) &&
        call_member_text(call, "context", false, &wanted.decision.comment) &&
        call_member_text(call, "target", false, &wanted.decision.target) &&
        read_questions(call, &wanted)) {
        decide(call, &wanted.decision);
    }
    wanted_fini(&wanted);
}
