// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that wait for the decision of a person. A request is known by its run and its action, so
 * that what is asked again after a kill is the same request, and what was refused once is not asked
 * a second time in the run. An approval is used by one call: the next call that makes the same
 * action asks anew.
 */
#include "agent/internal.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text/plain.h"
#include "handoff/identity.h"
#include "handoff/inbox/inbox.h"
#include "handoff/storage/clock.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Bytes of a person's words that a model is shown. */
#define SHOWN_COMMENT_BYTES ((size_t)4096)

struct handoff_store agent_handoffs(const struct agent *agent)
{
    return runtime_handoffs(agent->runtime);
}

static int64_t now_of(const struct agent *agent)
{
    struct handoff_store handoffs = agent_handoffs(agent);
    return handoff_now(&handoffs);
}

/** A call is one consumer of approvals, in whichever process it is made. */
static void name_consumer(const struct agent *agent, const struct agent_matter *matter,
                          char ret_name[HANDOFF_NAME_SIZE])
{
    snprintf(ret_name, HANDOFF_NAME_SIZE, "%s/%" PRIu64 "/%zu", loop_run_id(agent->loop),
             agent->memory.turn, matter->index);
}

/* ---- The request ---------------------------------------------------------------------------- */

/** What is sent about a call: the same for the same action of a run. */
static void write_body(const struct agent *agent, const struct agent_matter *matter,
                       const struct agent_action *action, struct buf *ret_json)
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
    agent_action_write(matter, action, &writer);
    agent_trigger_write(matter, &writer);
    json_write_bool(&writer, "is_in_doubt", matter->is_in_doubt);
    if (matter->answers != NULL) {
        json_write_string(&writer, "answers", matter->answers);
    }
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

/** What was sent with a request last. @return NULL when it cannot be read */
static struct json_object *read_said(const struct agent *agent, const struct handoff *handoff)
{
    auto_buf struct buf body = {0};
    struct json_object *said = NULL;
    struct handoff_store handoffs = agent_handoffs(agent);
    if (handoff_read_body(&handoffs, handoff->request_id, handoff->revision, &body, NULL) == 0) {
        (void)json_parse(buf_string(&body), body.len, &said, NULL);
    }
    return said;
}

/** People must not be flooded: what they could not read in time is not asked. */
static int refuse_full(const struct agent *agent, const struct handoff_store *handoffs,
                       struct rondo_error *err)
{
    struct handoff_counts counts = {0};
    const struct handoff_bounds *bounds = handoffs->bounds;
    (void)handoff_count_read(handoffs->store, loop_spec(agent->loop)->agent_id,
                             loop_run_id(agent->loop), &counts, NULL);
    return error_set(err, RONDO_ERR_LIMIT,
                     "too many calls wait for people: %" PRId64 " of this run (at most %" PRIu32
                     "), %" PRId64 " of this agent (%" PRIu32 "), %" PRId64 " in all (%" PRIu32 ")",
                     counts.waiting[COUNT_LANE], bounds->per_lane, counts.waiting[COUNT_AGENT],
                     bounds->per_agent, counts.waiting[COUNT_STORE], bounds->per_store);
}

/** Make the request, or find it: time has done what is due, and it is on a desk. */
static int submit(const struct agent *agent, const struct agent_matter *matter,
                  const struct agent_action *action, const char *request_id,
                  struct handoff *ret_handoff, struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    char body_digest[HANDOFF_DIGEST_SIZE];
    struct handoff_store handoffs = agent_handoffs(agent);
    struct handoff_result result = {0};
    enum handoff_level risk = agent_matter_risk(matter);
    write_body(agent, matter, action, &body);
    int r = handoff_digest(body.data, body.len, body_digest, err);
    if (r < 0) {
        return r;
    }
    struct handoff_request request = {
        .request_id = request_id,
        .agent_id = loop_spec(agent->loop)->agent_id,
        .lane_id = loop_run_id(agent->loop),
        .action_digest = action->digest,
        .body_digest = body_digest,
        .risk = risk,
        .priority = risk,
        .is_idempotent = matter->tool->is_idempotent,
        .joins = !matter->is_in_doubt, /* A doubt is a question of its own. */
    };
    r = inbox_submit(&handoffs, &request, buf_string(&body), now_of(agent), &result, err);
    if (r == 0 && result.outcome == HANDOFF_FULL) {
        return refuse_full(agent, &handoffs, err);
    }
    if (r == 0 && result.outcome == HANDOFF_NOT_YOURS) {
        return error_set(err, RONDO_ERR_CORRUPT, "handoff %s belongs to another agent", request_id);
    }
    *ret_handoff = result.handoff;
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
    struct handoff_store handoffs = agent_handoffs(agent);
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

/** Use up an approval without making the action: it is not made later in its place. */
static void void_approval(const struct agent *agent, const struct handoff_store *handoffs,
                          const char *request_id, size_t index)
{
    struct handoff_result ignored;
    char consumer[HANDOFF_NAME_SIZE];
    struct agent_matter matter = {.index = index};
    name_consumer(agent, &matter, consumer);
    struct handoff_command take = command_of(agent, HANDOFF_TAKE, consumer);
    struct handoff_command back = command_of(agent, HANDOFF_RETURN, consumer);
    (void)handoff_act(handoffs, request_id, &take, NULL, now_of(agent), &ignored, NULL);
    (void)handoff_act(handoffs, request_id, &back, NULL, now_of(agent), &ignored, NULL);
}

/** End a request whose action is another one now. @return whether it could still be used */
static bool end_request(struct agent *agent, const struct handoff *handoff, size_t index)
{
    struct handoff_store handoffs = agent_handoffs(agent);
    struct handoff_result result = {0};
    struct handoff_command cancel = command_of(agent, HANDOFF_CANCEL, "");
    bool is_usable =
        handoff->state == HANDOFF_APPROVED && (handoff->application == APPLICATION_AVAILABLE ||
                                               handoff->application == APPLICATION_LEASED);
    if (!handoff_is_waiting(handoff) && !is_usable) {
        return false;
    }
    if (handoff_act(&handoffs, handoff->request_id, &cancel, NULL, now_of(agent), &result, NULL) <
        0) {
        return false;
    }
    if (result.handoff.state == HANDOFF_APPROVED) {
        void_approval(agent, &handoffs, handoff->request_id, index);
        record_decided(agent, index, handoff->request_id, "apply_failed", "");
    } else {
        record_decided(agent, index, handoff->request_id, handoff_state_name(result.handoff.state),
                       result.handoff.decided_by);
    }
    return true;
}

/** What was asked about this call before, if that is still what decides about it. */
static bool find_asked(const struct agent *agent, const struct agent_matter *matter,
                       const struct agent_action *action, struct handoff *ret_handoff)
{
    char consumer[HANDOFF_NAME_SIZE];
    struct handoff_store handoffs = agent_handoffs(agent);
    struct handoff_result result;
    const char *request = agent->memory.calls[matter->index].request;
    name_consumer(agent, matter, consumer);
    /* Of a doubt only a request about it decides, which is found by its name. */
    if (request[0] == '\0' || matter->is_in_doubt ||
        handoff_wake(&handoffs, request, now_of(agent), &result, NULL) < 0 ||
        strcmp(result.handoff.lane_id, loop_run_id(agent->loop)) != 0 ||
        strcmp(result.handoff.action_digest, action->digest) != 0 ||
        result.handoff.risk < agent_matter_risk(matter) || is_used_up(&result.handoff, consumer)) {
        return false;
    }
    *ret_handoff = result.handoff;
    return true;
}

/**
 * The policies say by now that the matter is graver: what was asked about it before is void,
 * because others may have to decide, and more of them. What was refused remains so.
 */
static bool void_lighter(struct agent *agent, const struct agent_matter *matter,
                         const struct handoff *handoff)
{
    return handoff->risk < agent_matter_risk(matter) && end_request(agent, handoff, matter->index);
}

/** The handoff that is to decide about a call now. */
static int find_handoff(struct agent *agent, const struct agent_matter *matter,
                        const struct agent_action *action, struct handoff *ret_handoff,
                        struct rondo_error *err)
{
    char consumer[HANDOFF_NAME_SIZE];
    struct handoff_store handoffs = agent_handoffs(agent);
    int r = 0;
    name_consumer(agent, matter, consumer);
    if (find_asked(agent, matter, action, ret_handoff)) {
        return 0;
    }
    for (uint32_t attempt = 1; r == 0 && attempt <= LIMIT_HANDOFF_REPEATS; attempt++) {
        char request_id[ID_SIZE];
        r = name_request(agent, matter, action->digest, attempt, request_id, err);
        bool is_known = r == 0 && handoff_read(&handoffs, request_id, ret_handoff, NULL) == 0;
        if (is_known &&
            (is_used_up(ret_handoff, consumer) || void_lighter(agent, matter, ret_handoff))) {
            continue;
        }
        r = r < 0 ? r : submit(agent, matter, action, request_id, ret_handoff, err);
        if (r < 0 || !is_used_up(ret_handoff, consumer)) {
            return r; /* Time may just have ended it. */
        }
    }
    return r < 0 ? r
                 : error_set(err, RONDO_ERR_LIMIT,
                             "people were asked %d times about the same call of %s in this run",
                             LIMIT_HANDOFF_REPEATS, matter->tool->name);
}

/**
 * What was asked about a call is void when the call would do something else now: people are asked
 * anew. @param ret_why appended: what has changed @return whether it was void
 */
static bool void_changed(struct agent *agent, size_t index, const struct agent_action *action,
                         struct buf *ret_why)
{
    char request[ID_SIZE];
    struct handoff handoff;
    auto_json struct json_object *said = NULL;
    struct handoff_store handoffs = agent_handoffs(agent);
    memcpy(request, agent->memory.calls[index].request, sizeof(request));
    if (request[0] == '\0' || handoff_read(&handoffs, request, &handoff, NULL) < 0 ||
        strcmp(handoff.lane_id, loop_run_id(agent->loop)) != 0 ||
        strcmp(handoff.action_digest, action->digest) == 0 ||
        !end_request(agent, &handoff, index)) {
        return false;
    }
    said = read_said(agent, &handoff);
    agent_action_compare(action, said, ret_why);
    return true;
}

/** Questions are for the agent, whatever has changed: what it sends with its answers counts. */
static bool find_questions(const struct agent *agent, size_t index, struct handoff *ret_handoff)
{
    struct handoff_store handoffs = agent_handoffs(agent);
    struct handoff_result result;
    const char *request = agent->memory.calls[index].request;
    if (request[0] == '\0' || handoff_wake(&handoffs, request, now_of(agent), &result, NULL) < 0 ||
        strcmp(result.handoff.lane_id, loop_run_id(agent->loop)) != 0) {
        return false;
    }
    *ret_handoff = result.handoff;
    return result.handoff.state == HANDOFF_NEEDS_INFO;
}

/** Find the handoff about a call as it is now, and record it. */
static int seek(struct agent *agent, const struct agent_matter *matter, struct handoff *ret_handoff,
                struct rondo_error *err)
{
    auto_agent_action struct agent_action action = {0};
    auto_buf struct buf changes = {0};
    auto_buf struct buf why = {0};
    struct agent_matter asked = *matter;
    if (find_questions(agent, matter->index, ret_handoff)) {
        return 0;
    }
    int r = agent_action_read(agent, matter, &action, err);
    if (r == 0 && void_changed(agent, matter->index, &action, &changes)) {
        buf_printf(&why, "%s; %s", matter->why, buf_string(&changes));
        asked.why = buf_string(&why);
    }
    r = r < 0 ? r : find_handoff(agent, &asked, &action, ret_handoff, err);
    if (r == 0) {
        record_requested(agent, &asked, ret_handoff);
    }
    return r;
}

int agent_seek_decision(struct agent *agent, const struct agent_matter *matter, struct buf *ret_why,
                        struct rondo_error *err)
{
    struct handoff handoff;
    int r = seek(agent, matter, &handoff, err);
    if (r == RONDO_ERR_INVALID || r == RONDO_ERR_LIMIT) {
        buf_printf(ret_why, "no person can be asked: %s.", err == NULL ? "" : err->message);
        return DECISION_REFUSED;
    }
    if (r < 0) {
        return r;
    }
    if (handoff.state == HANDOFF_NEEDS_INFO) {
        record_decided(agent, matter->index, handoff.request_id, "needs_info", handoff.asked_by);
        agent_write_questions(agent, matter->tool->name, handoff.request_id, ret_why);
        return DECISION_ASKED;
    }
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

/* ---- Answers to questions ------------------------------------------------------------------- */

/** The same action again, with the answers. What is not waiting for them needs none. */
static int resubmit(const struct agent *agent, const struct agent_matter *matter,
                    const struct agent_action *action, const struct handoff *handoff,
                    const char *new_request, struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    auto_buf struct buf details = {0};
    char body_digest[HANDOFF_DIGEST_SIZE];
    struct handoff_store handoffs = agent_handoffs(agent);
    struct handoff_result ignored;
    struct json_writer writer = json_writer(&details);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "answers", matter->answers);
    json_end_object(&writer);
    write_body(agent, matter, action, &body);
    int r = handoff_digest(body.data, body.len, body_digest, err);
    struct handoff_command command = command_of(agent, HANDOFF_RESUBMIT, "");
    command.revision = handoff->revision + 1;
    command.action_digest = action->digest;
    command.text_digest = body_digest;
    command.has_text = true;
    command.new_request = new_request;
    struct handoff_note note = {.details = buf_string(&details), .body = buf_string(&body)};
    return r < 0 ? r
                 : handoff_act(&handoffs, handoff->request_id, &command, &note, now_of(agent),
                               &ignored, err);
}

/** Another action by now: another request takes the place of the one with the questions. */
static int send_changed(struct agent *agent, const struct agent_matter *matter,
                        const struct agent_action *action, const struct handoff *old,
                        struct handoff *ret_new, struct rondo_error *err)
{
    auto_buf struct buf why = {0};
    auto_buf struct buf changes = {0};
    struct agent_matter changed = *matter;
    agent_action_compare(action, matter->said, &changes);
    buf_printf(&why, "%s; %s", matter->why, buf_string(&changes));
    changed.why = buf_string(&why);
    int r = find_handoff(agent, &changed, action, ret_new, err);
    r = r < 0 ? r : resubmit(agent, &changed, action, old, ret_new->request_id, err);
    if (r == 0) {
        record_decided(agent, matter->index, old->request_id,
                       handoff_state_name(HANDOFF_SUPERSEDED), old->agent_id);
    }
    return r;
}

int agent_send_answers(struct agent *agent, size_t index, const struct agent_original *original,
                       const char *request, const char *answers, struct buf *ret_why,
                       struct rondo_error *err)
{
    struct handoff handoff;
    struct handoff sent;
    auto_agent_action struct agent_action action = {0};
    auto_json struct json_object *said = NULL;
    struct handoff_store handoffs = agent_handoffs(agent);
    struct agent_matter matter = {.index = index,
                                  .tool = toolbox_find(agent->toolbox, buf_string(&original->tool)),
                                  .arguments = buf_string(&original->arguments),
                                  .why = "the agent has answered questions",
                                  .answers = answers};
    if (matter.tool == NULL) {
        buf_printf(ret_why, "Error: there is no tool %s any more.", buf_string(&original->tool));
        return 0;
    }
    int r = handoff_read(&handoffs, request, &handoff, err);
    r = r < 0 ? r : agent_action_read(agent, &matter, &action, err);
    if (r < 0) {
        return r;
    }
    said = read_said(agent, &handoff);
    matter.before = &handoff;
    matter.said = said;
    sent = handoff;
    if (strcmp(handoff.lane_id, loop_run_id(agent->loop)) != 0) {
        buf_append_string(ret_why, "Error: the questions are those of another run.");
    } else if (strcmp(handoff.action_digest, action.digest) == 0) {
        r = resubmit(agent, &matter, &action, &handoff, NULL, err);
    } else {
        r = send_changed(agent, &matter, &action, &handoff, &sent, err);
    }
    if (r == 0 && ret_why->len == 0) {
        record_requested(agent, &matter, &sent);
    }
    return r;
}

/* ---- The application ------------------------------------------------------------------------ */

struct constraint_reading {
    struct json_object *arguments;
    int64_t now_ns;
    struct buf *broken;
};

/** Of all persons that have approved: what one of them demands, no other one lifts. */
static bool check_constraints(const struct handoff_remark *remark, void *context)
{
    struct constraint_reading *reading = context;
    auto_json struct json_object *details = NULL;
    bool is_approval = strcmp(remark->kind, handoff_fact_name(FACT_APPROVED)) == 0 ||
                       strcmp(remark->kind, handoff_fact_name(FACT_APPROVED_PARTLY)) == 0;
    return !is_approval ||
           json_parse(remark->details, strlen(remark->details), &details, NULL) < 0 ||
           agent_constraints_hold(json_member(details, "constraints"), reading->arguments,
                                  reading->now_ns, reading->broken);
}

/** @return 1: the call is within the constraints of its approval, 0: not, or a code */
static int is_within(const struct agent *agent, const struct agent_matter *matter,
                     struct buf *ret_broken, struct rondo_error *err)
{
    auto_json struct json_object *arguments = NULL;
    struct handoff_store handoffs = agent_handoffs(agent);
    int r = json_parse(matter->arguments, strlen(matter->arguments), &arguments, err);
    struct constraint_reading reading = {arguments, now_of(agent), ret_broken};
    r = r < 0 ? r
              : handoff_read_thread(&handoffs, agent->memory.calls[matter->index].request,
                                    check_constraints, &reading, err);
    return r < 0 ? r : ret_broken->len == 0;
}

int agent_start_approved(struct agent *agent, const struct agent_matter *matter,
                         struct buf *ret_why, struct rondo_error *err)
{
    char consumer[HANDOFF_NAME_SIZE];
    auto_agent_action struct agent_action action = {0};
    auto_buf struct buf broken = {0};
    struct handoff_store handoffs = agent_handoffs(agent);
    struct handoff_result result = {0};
    const char *request = agent->memory.calls[matter->index].request;
    name_consumer(agent, matter, consumer);
    int r = is_within(agent, matter, &broken, err);
    if (r == 0) {
        void_approval(agent, &handoffs, request, matter->index);
        buf_printf(ret_why, "it was approved with a constraint that it does not keep: %s.",
                   buf_string(&broken));
        return DECISION_REFUSED;
    }
    r = r < 0 ? r : agent_action_read(agent, matter, &action, err);
    struct handoff_command take = command_of(agent, HANDOFF_TAKE, consumer);
    struct handoff_command start = command_of(agent, HANDOFF_START, consumer);
    start.action_digest = action.digest;
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

void agent_renew_grant(const struct agent *agent, size_t index, const char *request)
{
    struct agent_matter matter = {.index = index};
    char consumer[HANDOFF_NAME_SIZE];
    struct handoff_store handoffs = agent_handoffs(agent);
    struct handoff_result ignored;
    name_consumer(agent, &matter, consumer);
    struct handoff_command take = command_of(agent, HANDOFF_TAKE, consumer);
    (void)handoff_act(&handoffs, request, &take, NULL, now_of(agent), &ignored, NULL);
}

void agent_finish_approved(struct agent *agent, size_t index, const struct tool_result *result)
{
    const struct agent_call *call = &agent->memory.calls[index];
    struct agent_matter matter = {.index = index};
    char consumer[HANDOFF_NAME_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    if (call->request[0] == '\0') {
        return;
    }
    handoff_digest_bytes(buf_string(&result->text), result->text.len, digest);
    name_consumer(agent, &matter, consumer);
    struct handoff_store handoffs = agent_handoffs(agent);
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

void agent_drop_request(struct agent *agent, const struct agent_request *request)
{
    struct handoff_store handoffs = agent_handoffs(agent);
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
        void_approval(agent, &handoffs, request->id, request->index);
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
