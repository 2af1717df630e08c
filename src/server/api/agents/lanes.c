// SPDX-License-Identifier: Apache-2.0
/* Lanes of agents, receipts and findings. */
#include "handoff/wire/lane.h"

#include "base/digest.h"
#include "base/limits.h"
#include "handoff/audit/entry.h"
#include "handoff/identity.h"
#include "server/api/agents/agents.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static void answer_lane(struct call *call, unsigned status, const struct lane *lane)
{
    (void)call_json(call, status);
    lane_write(lane, &call->answer);
}

/** What happens to requests that are too many or too late is what the desk file says: an agent that
 * counts on something else is told so. @return false: the answer is a problem */
static bool check_policy(struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    const char *on_full = handoff_on_full_name(handoffs.bounds->on_full);
    const char *on_timeout = handoff_on_timeout_name(handoffs.rules->on_timeout);
    if (strcmp(json_get_string(call->body, "on_full", on_full), on_full) != 0 ||
        strcmp(json_get_string(call->body, "on_timeout", on_timeout), on_timeout) != 0) {
        call_problem(call, PROBLEM_INVALID,
                     "the desk file sets on_full %s and on_timeout %s for all lanes", on_full,
                     on_timeout);
        return false;
    }
    return true;
}

void handle_open_lane(struct call *call)
{
    const char *agent_id = NULL;
    const char *lane_id = NULL;
    struct lane lane;
    struct rondo_error err = {0};
    bool is_new = false;
    if (!call_check_members(call, call->body, "", "agent_id,lane_id,run_id,on_full,on_timeout") ||
        !agents_member(call, &agent_id) || !agents_name(call, "lane_id", &lane_id)) {
        return;
    }
    if (!check_policy(call)) {
        return;
    }
    int r = lane_open(call_store(call), agent_id, lane_id, agents_now(call), &lane, &is_new, &err);
    if (r == RONDO_ERR_LIMIT) {
        call->retry_after_s = 30;
        call_refuse(call, PROBLEM_RATE_LIMITED, "too_many_lanes", "%s", err.message);
    } else if (r < 0) {
        call_error(call, &err);
    } else {
        answer_lane(call, is_new ? 201 : 200, &lane);
    }
}

void handle_change_lane(struct call *call)
{
    const char *agent_id = NULL;
    const char *state_name = NULL;
    const char *request_id = NULL;
    enum lane_state state = LANE_RUNNING;
    struct lane lane;
    struct rondo_error err = {0};
    if (!call_check_members(call, call->body, "", "agent_id,state,request_id") ||
        !agents_member(call, &agent_id) || !call_member_text(call, "state", true, &state_name) ||
        !call_member_text(call, "request_id", false, &request_id)) {
        return;
    }
    if (!lane_state_from_name(state_name, &state) ||
        (request_id != NULL && !id_is_valid(request_id))) {
        call_problem(call, PROBLEM_INVALID,
                     "state must be running, paused, evidence, halted or done, and request_id a "
                     "UUID");
        return;
    }
    if (lane_change(call_store(call), agent_id, call_value(call, "lane"), state, request_id,
                    agents_now(call), &lane, &err) < 0) {
        call_error(call, &err);
    } else {
        answer_lane(call, 200, &lane);
    }
}

/* ---- Receipts and findings ------------------------------------------------------------------ */

/** What an agent may say of itself; the server alone writes what it decides. */
static const char *const receipt_kinds[] = {"delivered", "verified", "executed", "denied",
                                            "failed",    "skipped",  NULL};
static const char *const finding_kinds[] = {"missed_handoff", "unneeded_handoff", NULL};

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(word, *words) != 0) {
        words++;
    }
    return *words != NULL;
}

/** The members of both that are texts of their own. */
static bool write_details(struct call *call, struct buf *ret_json)
{
    static const char *const members[] = {"receipt_id", "note", "lane_id",    "run_id",
                                          "step_id",    "tool", "occurred_at"};
    struct json_writer writer = json_writer(ret_json);
    bool is_good = true;
    json_begin_object(&writer, NULL);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *text = NULL;
        is_good = is_good && call_member_text(call, members[i], false, &text);
        if (is_good && text != NULL && strlen(text) > LIMIT_RECEIPT_NOTE_BYTES) {
            call_problem(call, PROBLEM_INVALID, "%s has more than %d bytes", members[i],
                         (int)LIMIT_RECEIPT_NOTE_BYTES);
            is_good = false;
        }
        if (is_good && text != NULL) {
            json_write_string(&writer, members[i], text);
        }
    }
    json_end_object(&writer);
    return is_good;
}

/** What both are made of. */
struct statement {
    char kind[64];
    const char *agent_id;
    const char *request_id;
    const char *decision_id;
    char action_digest[HANDOFF_DIGEST_SIZE];
    char executed_digest[HANDOFF_DIGEST_SIZE];
    char result_digest[HANDOFF_DIGEST_SIZE];
};

static const char *or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/** A request that a statement names must be the agent's own. @return false: a problem */
static bool check_request(struct call *call, const struct statement *statement)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct handoff handoff;
    if (statement->request_id == NULL) {
        return true;
    }
    if (!id_is_valid(statement->request_id) ||
        handoff_read(&handoffs, statement->request_id, &handoff, NULL) < 0 ||
        strcmp(handoff.agent_id, statement->agent_id) != 0) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no request of this id");
        return false;
    }
    return true;
}

/** What makes a statement the same one: its id if it has one, else all that it says.
 * @return false: a problem */
static bool name_statement(struct call *call, const struct statement *statement,
                           char ret_key[DIGEST_HEX_SIZE], char *ret_digest)
{
    struct rondo_error err = {0};
    unsigned char bytes[DIGEST_SIZE];
    const char *body = json_object_to_json_string_ext(call->body, JSON_C_TO_STRING_PLAIN);
    const char *id = json_get_string(call->body, "receipt_id", NULL);
    if (handoff_digest(body, strlen(body), ret_digest, &err) < 0) {
        call_error(call, &err);
        return false;
    }
    struct digest hash = digest_begin();
    digest_add(&hash, statement->agent_id, strlen(statement->agent_id) + 1);
    digest_add(&hash, id == NULL ? "body" : "id", id == NULL ? 5 : 3);
    id = id == NULL ? ret_digest : id;
    digest_add(&hash, id, strlen(id));
    digest_finish(&hash, bytes);
    digest_hex(bytes, ret_key);
    return true;
}

static void append(struct call *call, const struct statement *statement)
{
    struct handoff_store handoffs = call_handoffs(call);
    auto_buf struct buf details = {0};
    struct rondo_error err = {0};
    char hash[HANDOFF_DIGEST_SIZE];
    char key[DIGEST_HEX_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    uint64_t number = 0;
    enum handoff_outcome outcome = HANDOFF_DONE;
    struct handoff_once once = {key, digest};
    if (!check_request(call, statement) || !write_details(call, &details) ||
        !name_statement(call, statement, key, digest)) {
        return;
    }
    struct audit_fact fact = {
        .kind = statement->kind,
        .time_ns = agents_now(call),
        .request_id = statement->request_id,
        .decision_id = statement->decision_id,
        .actor = statement->agent_id,
        .role = "agent",
        .action_digest = or_null(statement->action_digest),
        .executed_digest = or_null(statement->executed_digest),
        .result_digest = or_null(statement->result_digest),
        .details = buf_string(&details),
    };
    if (handoff_add_fact_once(&handoffs, &fact, &once, &outcome, &number, hash, &err) < 0) {
        call_error(call, &err);
        return;
    }
    if (outcome == HANDOFF_REPEATED) {
        agents_count_one(call, "relaytrace_delivery_duplicates_total", "receipt");
    }
    if (outcome == HANDOFF_OTHER_ACTION) {
        call_refuse(call, PROBLEM_CONFLICT, "receipt_changed",
                    "another receipt has this receipt_id: it is entry %" PRIu64, number);
        return;
    }
    struct json_writer writer = call_json(call, outcome == HANDOFF_DONE ? 201 : 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "kind", statement->kind);
    json_write_int(&writer, "seq", (int64_t)number);
    json_write_string(&writer, "entry_hash", hash);
    json_end_object(&writer);
}

void handle_add_receipt(struct call *call)
{
    struct statement statement = {0};
    const char *kind = NULL;
    if (!call_check_members(call, call->body, "",
                            "agent_id,kind,request_id,decision_id,action_digest,executed_digest,"
                            "result_digest,note,lane_id,run_id,step_id,tool,receipt_id,ok,"
                            "duration_ms,occurred_at") ||
        !agents_member(call, &statement.agent_id) || !call_member_text(call, "kind", true, &kind) ||
        !call_member_text(call, "request_id", false, &statement.request_id) ||
        !call_member_text(call, "decision_id", false, &statement.decision_id) ||
        !agents_digest(call, "action_digest", false, statement.action_digest) ||
        !agents_digest(call, "executed_digest", false, statement.executed_digest) ||
        !agents_digest(call, "result_digest", false, statement.result_digest)) {
        return;
    }
    if (!is_one_of(kind, receipt_kinds) ||
        (statement.decision_id != NULL && !id_is_valid(statement.decision_id))) {
        call_problem(call, PROBLEM_INVALID,
                     "kind must be delivered, verified, executed, denied, failed or skipped, and "
                     "decision_id a UUID");
        return;
    }
    snprintf(statement.kind, sizeof(statement.kind), "receipt.%s", kind);
    append(call, &statement);
}

void handle_add_finding(struct call *call)
{
    struct statement statement = {0};
    const char *kind = NULL;
    if (!call_check_members(call, call->body, "",
                            "agent_id,class,request_id,action_digest,note,lane_id,run_id,step_id,"
                            "tool,occurred_at") ||
        !agents_member(call, &statement.agent_id) ||
        !call_member_text(call, "class", true, &kind) ||
        !call_member_text(call, "request_id", false, &statement.request_id) ||
        !agents_digest(call, "action_digest", false, statement.action_digest)) {
        return;
    }
    if (!is_one_of(kind, finding_kinds)) {
        call_problem(call, PROBLEM_INVALID, "class must be missed_handoff or unneeded_handoff");
        return;
    }
    snprintf(statement.kind, sizeof(statement.kind), "finding.%s", kind);
    append(call, &statement);
}
