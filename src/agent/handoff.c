// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that wait for the decision of a person. A request is known by its run and its action, so
 * that what is asked again after a kill is the same request, and what was refused once is not asked
 * a second time in the run. An approval is used by one call: the next call that makes the same
 * action asks anew.
 */
#include "agent/internal.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text/plain.h"
#include "handoff/identity.h"
#include "handoff/inbox.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Bytes of a person's words that a model is shown. */
#define SHOWN_COMMENT_BYTES ((size_t)4096)

static struct handoff_store handoffs_of(const struct agent *agent)
{
    return (struct handoff_store){runtime_store(agent->runtime), &handoff_default_rules};
}

static int64_t now_of(const struct agent *agent)
{
    return clock_now(runtime_clock(agent->runtime));
}

/** A call is one consumer of approvals, in whichever process it is made. */
static void name_consumer(const struct agent *agent, const struct agent_matter *matter,
                          char ret_name[HANDOFF_NAME_SIZE])
{
    snprintf(ret_name, HANDOFF_NAME_SIZE, "%s/%" PRIu64 "/%zu", loop_run_id(agent->loop),
             agent->memory.turn, matter->index);
}

/** What is approved is this call of the tool as it is defined now. */
static int digest_of(const struct agent_matter *matter, char ret_digest[HANDOFF_DIGEST_SIZE],
                     struct rondo_error *err)
{
    const struct tool *tool = matter->tool;
    char definition[DIGEST_HEX_SIZE];
    unsigned char bytes[DIGEST_SIZE];
    struct digest hash = digest_begin();
    digest_add(&hash, tool->schema, strlen(tool->schema) + 1);
    digest_add(&hash, tool->description, strlen(tool->description));
    digest_finish(&hash, bytes);
    digest_hex(bytes, definition);
    struct handoff_action action = {
        .tool = tool->name, .arguments = matter->arguments, .resource = definition};
    return handoff_action_digest(&action, ret_digest, err);
}

/* ---- The request ---------------------------------------------------------------------------- */

/** What is sent about a call: the same for the same action of a run. */
static void write_body(const struct agent *agent, const struct agent_matter *matter,
                       const char *digest, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "event_type", "handoff.requested");
    json_write_int(&writer, "contract_version", 1);
    json_begin_object(&writer, "agent");
    json_write_string(&writer, "agent_id", loop_spec(agent->loop)->agent_id);
    json_write_string(&writer, "sdk", "rondo");
    json_end_object(&writer);
    json_begin_object(&writer, "workflow");
    json_write_string(&writer, "run_id", loop_run_id(agent->loop));
    json_end_object(&writer);
    json_write_string(&writer, "lane_id", loop_run_id(agent->loop));
    json_begin_object(&writer, "action");
    json_write_string(&writer, "tool", matter->tool->name);
    json_write_raw(&writer, "args", matter->arguments);
    json_write_string(&writer, "action_digest", digest);
    json_end_object(&writer);
    json_begin_object(&writer, "trigger");
    json_write_string(&writer, "trigger_reason",
                      matter->is_in_doubt ? "in_doubt_execution" : "explicit_agent_rule");
    json_write_string(&writer, "message", matter->why);
    json_end_object(&writer);
    json_write_bool(&writer, "is_in_doubt", matter->is_in_doubt);
    json_end_object(&writer);
}

/** @param attempt how often people were asked about the action in this run */
static int name_request(const struct agent *agent, const struct agent_matter *matter,
                        const char *digest, uint32_t attempt, char ret_id[ID_SIZE],
                        struct rondo_error *err)
{
    char step[64] = "";
    if (matter->is_in_doubt) { /* That it may have had its effect is a matter of this call alone. */
        snprintf(step, sizeof(step), "in-doubt-%" PRIu64 "-%zu-%" PRId64, agent->memory.turn,
                 matter->index, agent->memory.calls[matter->index].attempt);
    }
    struct handoff_place place = {
        .agent_id = loop_spec(agent->loop)->agent_id,
        .workflow_id = "",
        .run_id = loop_run_id(agent->loop),
        .step_id = step,
        .lane_id = loop_run_id(agent->loop),
        .action_digest = digest,
        .attempt = attempt,
    };
    return handoff_request_id(&place, ret_id, err);
}

struct waiting_count {
    const char *agent_id;
    int of_agent;
    int all;
};

static bool count_waiting(const struct handoff *handoff, void *context)
{
    struct waiting_count *count = context;
    bool is_waiting = handoff_is_waiting(handoff);
    count->all += is_waiting;
    count->of_agent += is_waiting && strcmp(handoff->agent_id, count->agent_id) == 0;
    return true;
}

static bool is_full(const struct agent *agent, const struct handoff_store *handoffs,
                    struct waiting_count *ret_count)
{
    *ret_count = (struct waiting_count){.agent_id = loop_spec(agent->loop)->agent_id};
    (void)handoff_read_open(handoffs, count_waiting, ret_count, NULL); /* without damaged ones */
    return ret_count->of_agent >= LIMIT_HANDOFFS_OF_AGENT || ret_count->all >= LIMIT_HANDOFFS_OPEN;
}

/** People must not be flooded: what they could not read in time is not asked. */
static int check_room(const struct agent *agent, const char *request_id, struct rondo_error *err)
{
    struct handoff_store handoffs = handoffs_of(agent);
    struct handoff known;
    struct waiting_count count;
    if (handoff_read(&handoffs, request_id, &known, NULL) != RONDO_ERR_NOT_FOUND) {
        return 0; /* It has its place already; what else is wrong, the submission says. */
    }
    bool has_no_room = is_full(agent, &handoffs, &count);
    if (has_no_room) { /* Those of runs that have ended make room. */
        inbox_cancel_ended(&handoffs, now_of(agent));
        has_no_room = is_full(agent, &handoffs, &count);
    }
    if (has_no_room) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "too many calls wait for people: %d, %d of them of this agent", count.all,
                         count.of_agent);
    }
    return 0;
}

/** Make the request, or find it: time has done what is due, and it is on a desk. */
static int submit(const struct agent *agent, const struct agent_matter *matter, const char *digest,
                  const char *request_id, struct handoff *ret_handoff, struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    char body_digest[HANDOFF_DIGEST_SIZE];
    struct handoff_store handoffs = handoffs_of(agent);
    struct handoff_result result = {0};
    write_body(agent, matter, digest, &body);
    int r = check_room(agent, request_id, err);
    r = r < 0 ? r : handoff_digest(body.data, body.len, body_digest, err);
    if (r < 0) {
        return r;
    }
    struct handoff_request request = {
        .request_id = request_id,
        .agent_id = loop_spec(agent->loop)->agent_id,
        .lane_id = loop_run_id(agent->loop),
        .action_digest = digest,
        .body_digest = body_digest,
        .risk = HANDOFF_MEDIUM,
        .priority = HANDOFF_MEDIUM,
        .is_idempotent = matter->tool->is_idempotent,
    };
    r = handoff_submit(&handoffs, &request, buf_string(&body), now_of(agent), &result, err);
    if (r == 0 && result.outcome == HANDOFF_NOT_YOURS) {
        return error_set(err, RONDO_ERR_CORRUPT, "handoff %s belongs to another agent", request_id);
    }
    r = r < 0 ? r : inbox_route(&handoffs, request_id, now_of(agent), ret_handoff, err);
    return r;
}

/** Whether a handoff cannot decide about a call any more: it was taken back, or used by another. */
static bool is_used_up(const struct handoff *handoff, const char *consumer)
{
    bool is_taken =
        handoff->application == APPLICATION_LEASED || handoff->application == APPLICATION_STARTED;
    bool is_available = handoff->application == APPLICATION_AVAILABLE ||
                        (is_taken && strcmp(handoff->consumer, consumer) == 0);
    return handoff->state == HANDOFF_CANCELLED ||
           (handoff->state == HANDOFF_APPROVED && !is_available);
}

/** The handoff that is to decide about a call now. */
static int find_handoff(const struct agent *agent, const struct agent_matter *matter,
                        struct handoff *ret_handoff, struct rondo_error *err)
{
    char digest[HANDOFF_DIGEST_SIZE];
    char consumer[HANDOFF_NAME_SIZE];
    struct handoff_store handoffs = handoffs_of(agent);
    int r = digest_of(matter, digest, err);
    name_consumer(agent, matter, consumer);
    for (uint32_t attempt = 1; r == 0 && attempt <= LIMIT_HANDOFF_REPEATS; attempt++) {
        char request_id[ID_SIZE];
        r = name_request(agent, matter, digest, attempt, request_id, err);
        bool is_known = r == 0 && handoff_read(&handoffs, request_id, ret_handoff, NULL) == 0;
        if (is_known && is_used_up(ret_handoff, consumer)) {
            continue;
        }
        r = r < 0 ? r : submit(agent, matter, digest, request_id, ret_handoff, err);
        if (r < 0 || !is_used_up(ret_handoff, consumer)) {
            return r; /* Time may just have ended it. */
        }
    }
    return r < 0 ? r
                 : error_set(err, RONDO_ERR_LIMIT,
                             "people were asked %d times about the same call of %s in this run",
                             LIMIT_HANDOFF_REPEATS, matter->tool->name);
}

/* ---- Recording ------------------------------------------------------------------------------ */

static void record_requested(struct agent *agent, const struct agent_matter *matter,
                             const struct handoff *handoff)
{
    const struct agent_call *call = &agent->memory.calls[matter->index];
    if (call->is_waiting && strcmp(call->request, handoff->request_id) == 0) {
        return;
    }
    struct journal_event event = {
        .type = JOURNAL_HANDOFF_REQUESTED,
        .handoff_requested = {.iteration = (int64_t)agent->memory.iteration,
                              .turn = (int64_t)agent->memory.turn,
                              .index = (int64_t)matter->index,
                              .call_id = call->call.id,
                              .tool = matter->tool->name,
                              .request = handoff->request_id,
                              .reason = matter->why},
    };
    agent_record(agent, &event);
}

static void record_decided(struct agent *agent, size_t index, const char *request,
                           const char *decision, const char *by)
{
    const struct agent_call *call = &agent->memory.calls[index];
    struct journal_event event = {
        .type = JOURNAL_HANDOFF_DECIDED,
        .handoff_decided = {.iteration = (int64_t)agent->memory.iteration,
                            .turn = (int64_t)agent->memory.turn,
                            .index = (int64_t)index,
                            .call_id = call->call.id,
                            .tool = call->call.name,
                            .request = request,
                            .decision = decision,
                            .by = by},
    };
    agent_record(agent, &event);
}

/* ---- What became of it ---------------------------------------------------------------------- */

static bool take_comment(const struct handoff_remark *remark, void *context)
{
    struct buf *comment = context;
    auto_json struct json_object *details = NULL;
    if (strcmp(remark->kind, handoff_fact_name(FACT_REJECTED)) == 0 &&
        json_parse(remark->details, strlen(remark->details), &details, NULL) == 0) {
        const char *text = json_get_string(details, "comment", "");
        buf_clear(comment);
        text_clean(text, strnlen(text, SHOWN_COMMENT_BYTES), comment);
    }
    return true;
}

/** A person's words are data for the model, not instructions. */
static void write_refusal(const struct agent *agent, const struct handoff *handoff,
                          struct buf *ret_why)
{
    auto_buf struct buf comment = {0};
    struct handoff_store handoffs = handoffs_of(agent);
    switch (handoff->state) {
    case HANDOFF_REJECTED:
        buf_append_string(ret_why, "a person refused it.");
        if (handoff_read_thread(&handoffs, handoff->request_id, take_comment, &comment, NULL) ==
                0 &&
            comment.len > 0) {
            buf_printf(ret_why, " The comment was: \"%s\".", buf_string(&comment));
        }
        break;
    case HANDOFF_EXPIRED:
        buf_append_string(ret_why, "nobody decided about it in time.");
        break;
    default:
        buf_printf(ret_why, "the request for a decision is %s.",
                   handoff_state_name(handoff->state));
        break;
    }
    buf_append_string(ret_why, " Do not ask for the same call again.");
}

int agent_seek_decision(struct agent *agent, const struct agent_matter *matter, struct buf *ret_why,
                        struct rondo_error *err)
{
    struct handoff handoff;
    int r = find_handoff(agent, matter, &handoff, err);
    if (r == RONDO_ERR_INVALID || r == RONDO_ERR_LIMIT) {
        buf_printf(ret_why, "no person can be asked: %s.", err == NULL ? "" : err->message);
        return DECISION_REFUSED;
    }
    if (r < 0) {
        return r;
    }
    record_requested(agent, matter, &handoff);
    if (handoff_is_waiting(&handoff)) {
        return DECISION_WAITS;
    }
    record_decided(agent, matter->index, handoff.request_id, handoff_state_name(handoff.state),
                   handoff.decided_by);
    if (handoff.state == HANDOFF_APPROVED) {
        return DECISION_APPROVED;
    }
    write_refusal(agent, &handoff, ret_why);
    return DECISION_REFUSED;
}

/* ---- The application ------------------------------------------------------------------------ */

static struct handoff_command command_of(const struct agent *agent, enum handoff_command_kind kind,
                                         const char *consumer)
{
    return (struct handoff_command){
        .kind = kind,
        .actor = {.id = loop_spec(agent->loop)->agent_id, .is_requester = true},
        .consumer = consumer,
        .is_allowed = true,
    };
}

int agent_start_approved(struct agent *agent, const struct agent_matter *matter,
                         struct buf *ret_why, struct rondo_error *err)
{
    char consumer[HANDOFF_NAME_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    struct handoff_store handoffs = handoffs_of(agent);
    struct handoff_result result = {0};
    const char *request = agent->memory.calls[matter->index].request;
    name_consumer(agent, matter, consumer);
    int r = digest_of(matter, digest, err);
    struct handoff_command take = command_of(agent, HANDOFF_TAKE, consumer);
    struct handoff_command start = command_of(agent, HANDOFF_START, consumer);
    start.action_digest = digest;
    r = r < 0 ? r : handoff_act(&handoffs, request, &take, NULL, now_of(agent), &result, err);
    if (r == 0 && (result.outcome == HANDOFF_DONE || result.outcome == HANDOFF_REPEATED)) {
        r = handoff_act(&handoffs, request, &start, NULL, now_of(agent), &result, err);
    }
    if (r < 0) {
        return r;
    }
    if (result.outcome == HANDOFF_DONE || result.outcome == HANDOFF_REPEATED) {
        return DECISION_APPROVED;
    }
    buf_printf(ret_why, "its approval cannot be used (%s).", handoff_outcome_name(result.outcome));
    return DECISION_REFUSED;
}

void agent_finish_approved(struct agent *agent, size_t index, const struct tool_result *result)
{
    const struct agent_call *call = &agent->memory.calls[index];
    struct agent_matter matter = {.index = index};
    char consumer[HANDOFF_NAME_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    unsigned char bytes[DIGEST_SIZE];
    if (call->request[0] == '\0') {
        return;
    }
    struct digest hash = digest_begin();
    digest_add(&hash, buf_string(&result->text), result->text.len);
    digest_finish(&hash, bytes);
    digest_hex(bytes, hex);
    snprintf(digest, sizeof(digest), "sha256:%s", hex);
    name_consumer(agent, &matter, consumer);
    struct handoff_store handoffs = handoffs_of(agent);
    struct handoff_result ignored;
    struct handoff_command finish = command_of(agent, HANDOFF_FINISH, consumer);
    finish.text_digest = digest;
    (void)handoff_act(&handoffs, call->request, &finish, NULL, now_of(agent), &ignored, NULL);
}

struct agent_request agent_request_of(const struct agent *agent, size_t index)
{
    const struct agent_call *call = &agent->memory.calls[index];
    struct agent_request request = {
        .index = index, .turn = agent->memory.turn, .is_waiting = call->is_waiting};
    snprintf(request.id, sizeof(request.id), "%s", call->request);
    snprintf(request.call_id, sizeof(request.call_id), "%s", call->call.id);
    snprintf(request.tool, sizeof(request.tool), "%s", call->call.name);
    return request;
}

/** Use up an approval without making the action: it is not made later in its place. */
static void void_approval(const struct agent *agent, const struct handoff_store *handoffs,
                          const struct agent_request *request)
{
    struct handoff_result ignored;
    char consumer[HANDOFF_NAME_SIZE];
    struct agent_matter matter = {.index = request->index};
    name_consumer(agent, &matter, consumer);
    struct handoff_command take = command_of(agent, HANDOFF_TAKE, consumer);
    struct handoff_command back = command_of(agent, HANDOFF_RETURN, consumer);
    (void)handoff_act(handoffs, request->id, &take, NULL, now_of(agent), &ignored, NULL);
    (void)handoff_act(handoffs, request->id, &back, NULL, now_of(agent), &ignored, NULL);
}

void agent_drop_request(struct agent *agent, const struct agent_request *request)
{
    struct handoff_store handoffs = handoffs_of(agent);
    struct handoff_result result = {0};
    struct handoff_command cancel = command_of(agent, HANDOFF_CANCEL, "");
    struct handoff handoff;
    /* A fork has copied the events of another run: its handoffs are left alone. */
    if (request->id[0] == '\0' || !request->is_waiting ||
        handoff_read(&handoffs, request->id, &handoff, NULL) < 0 ||
        strcmp(handoff.lane_id, loop_run_id(agent->loop)) != 0 ||
        handoff_act(&handoffs, request->id, &cancel, NULL, now_of(agent), &result, NULL) < 0) {
        return;
    }
    if (result.outcome == HANDOFF_DECIDED && result.handoff.state == HANDOFF_APPROVED) {
        void_approval(agent, &handoffs, request);
    }
    struct journal_event event = {
        .type = JOURNAL_HANDOFF_DECIDED,
        .handoff_decided = {.iteration = (int64_t)agent->memory.iteration,
                            .turn = (int64_t)request->turn,
                            .index = (int64_t)request->index,
                            .call_id = request->call_id,
                            .tool = request->tool,
                            .request = request->id,
                            .decision = handoff_state_name(result.handoff.state),
                            .by = result.handoff.decided_by},
    };
    agent_record(agent, &event);
}
