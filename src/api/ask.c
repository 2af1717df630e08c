// SPDX-License-Identifier: Apache-2.0
/*
 * Actions of a body that policies put before people. An action is known by its run, its tool and
 * its arguments; which iteration makes it is the consumer of the approval. So a body that runs
 * again after a crash finds what it has asked, and learns what it has done.
 */
#include "api/internal.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text/plain.h"
#include "handoff/identity.h"
#include "handoff/inbox/inbox.h"
#include "handoff/storage/clock.h"
#include "loop/driver/body_ports.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Between two looks for a decision. */
#define LOOK_NS (100 * NS_PER_MS)

/** An action before the policies and the people. */
struct people_asking {
    struct rondo_loop *loop;
    const struct rondo_action *action;
    const char *arguments;
    const struct policy_verdict *verdict;
    struct handoff_store handoffs;
    char digest[HANDOFF_DIGEST_SIZE];
    char consumer[HANDOFF_NAME_SIZE]; /* this iteration of the run */
    bool is_in_doubt;                 /* it may have had its effect */
    struct rondo_answer *answer;
};

static int64_t now_of(const struct people_asking *asking)
{
    return handoff_now(&asking->handoffs);
}

static const char *agent_of(const struct people_asking *asking)
{
    return loop_spec(asking->loop->loop)->agent_id;
}

static void name_consumer(const struct loop *loop, char ret_name[HANDOFF_NAME_SIZE])
{
    snprintf(ret_name, HANDOFF_NAME_SIZE, "%s/%" PRIu64 "/library", loop_run_id(loop),
             loop_state(loop)->iteration);
}

/* ---- The request ---------------------------------------------------------------------------- */

static void write_list(const struct people_asking *asking, const char *key, bool has_rules,
                       struct json_writer *writer)
{
    const struct policy_verdict *verdict = asking->verdict;
    json_begin_array(writer, key);
    if (asking->is_in_doubt && !has_rules) {
        json_write_string(writer, NULL, "in_doubt_execution");
    }
    for (size_t i = 0; i < verdict->ask_count; i++) {
        json_write_string(writer, NULL,
                          has_rules ? verdict->asks[i].rule : verdict->asks[i].trigger);
    }
    json_end_array(writer);
}

static void write_trigger(const struct people_asking *asking, struct json_writer *writer)
{
    const struct verdict_ask *first = &asking->verdict->asks[0];
    json_begin_object(writer, "trigger");
    json_write_string(writer, "trigger_reason",
                      asking->is_in_doubt ? "in_doubt_execution" : first->trigger);
    write_list(asking, "trigger_reasons", false, writer);
    json_write_string(writer, "policy_rule_id", first->rule);
    write_list(asking, "policy_rule_ids", true, writer);
    json_write_string(writer, "policy_hash", asking->verdict->sha256);
    json_write_string(writer, "risk_level", policy_severity_name(first->severity));
    json_write_string(writer, "message",
                      asking->is_in_doubt
                          ? "it was cut off, and may have had its effect; make it again"
                          : asking->verdict->message);
    json_end_object(writer);
}

static void write_body(const struct people_asking *asking, struct buf *ret_json)
{
    const char *run_id = loop_run_id(asking->loop->loop);
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "event_type", "handoff.requested");
    json_write_int(&writer, "contract_version", 1);
    json_begin_object(&writer, "agent");
    json_write_string(&writer, "agent_id", agent_of(asking));
    json_write_string(&writer, "sdk", "rondo");
    json_end_object(&writer);
    json_begin_object(&writer, "workflow");
    json_write_string(&writer, "run_id", run_id);
    json_end_object(&writer);
    json_write_string(&writer, "lane_id", run_id);
    json_begin_object(&writer, "action");
    json_write_string(&writer, "tool", asking->action->tool);
    json_write_raw(&writer, "args", asking->arguments);
    json_write_string(&writer, "action_digest", asking->digest);
    json_end_object(&writer);
    write_trigger(asking, &writer);
    json_write_bool(&writer, "is_in_doubt", asking->is_in_doubt);
    json_end_object(&writer);
}

/** @param attempt how often people were asked about the action in this run */
static int name_request(const struct people_asking *asking, uint32_t attempt, char ret_id[ID_SIZE],
                        struct rondo_error *err)
{
    const char *run_id = loop_run_id(asking->loop->loop);
    struct handoff_place place = {
        .agent_id = agent_of(asking),
        .workflow_id = "",
        .run_id = run_id,
        .step_id = "",
        .lane_id = run_id,
        .action_digest = asking->digest,
        .attempt = attempt,
    };
    return handoff_request_id(&place, ret_id, err);
}

static enum handoff_level risk_of(const struct people_asking *asking)
{
    return handoff_level_of(asking->verdict->asks[0].severity);
}

static int submit(const struct people_asking *asking, const char *request_id,
                  struct handoff *ret_handoff, struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    char body_digest[HANDOFF_DIGEST_SIZE];
    struct handoff_result result = {0};
    write_body(asking, &body);
    int r = handoff_digest(body.data, body.len, body_digest, err);
    struct handoff_request request = {
        .request_id = request_id,
        .agent_id = agent_of(asking),
        .lane_id = loop_run_id(asking->loop->loop),
        .action_digest = asking->digest,
        .body_digest = body_digest,
        .risk = risk_of(asking),
        .priority = risk_of(asking),
        .is_idempotent = asking->action->is_idempotent,
    };
    r = r < 0 ? r
              : inbox_submit(&asking->handoffs, &request, buf_string(&body), now_of(asking),
                             &result, err);
    if (r == 0 && result.outcome == HANDOFF_FULL) {
        return error_set(err, RONDO_ERR_LIMIT, "too many actions wait for people");
    }
    if (r == 0 && result.outcome == HANDOFF_NOT_YOURS) {
        return error_set(err, RONDO_ERR_CORRUPT, "handoff %s belongs to another agent", request_id);
    }
    *ret_handoff = result.handoff;
    return r;
}

/* ---- What became of it ---------------------------------------------------------------------- */

/** What a known request means for the action now. */
enum standing {
    STANDING_COUNTS,  /* it decides */
    STANDING_DONE,    /* the action was made in this iteration */
    STANDING_DOUBT,   /* it was begun, and nobody knows what came of it */
    STANDING_USED_UP, /* another one must decide */
};

static enum standing standing_of(const struct people_asking *asking, const struct handoff *handoff)
{
    bool is_ours = strcmp(handoff->consumer, asking->consumer) == 0;
    if (handoff->state == HANDOFF_CANCELLED || handoff->state == HANDOFF_SUPERSEDED) {
        return STANDING_USED_UP;
    }
    if (handoff->state != HANDOFF_APPROVED) {
        return STANDING_COUNTS;
    }
    switch (handoff->application) {
    case APPLICATION_AVAILABLE:
        return STANDING_COUNTS;
    case APPLICATION_LEASED:
        return is_ours ? STANDING_COUNTS : STANDING_USED_UP;
    case APPLICATION_APPLIED:
        return is_ours ? STANDING_DONE : STANDING_USED_UP;
    case APPLICATION_STARTED:
    case APPLICATION_IN_DOUBT:
        return handoff->is_idempotent && is_ours ? STANDING_COUNTS : STANDING_DOUBT;
    case APPLICATION_NONE:
    case APPLICATION_LAPSED:
    case APPLICATION_FAILED:
    case APPLICATION_COUNT:
        break;
    }
    return STANDING_USED_UP;
}

static struct handoff_command command_of(const struct people_asking *asking,
                                         enum handoff_command_kind kind)
{
    return (struct handoff_command){
        .kind = kind,
        .actor = {.id = agent_of(asking), .is_requester = true},
        .consumer = asking->consumer,
        .action_digest = asking->digest,
        .is_allowed = true,
    };
}

/** The policies say by now that it is graver: people are asked anew. */
static bool void_lighter(const struct people_asking *asking, const struct handoff *handoff)
{
    struct handoff_result result;
    bool is_open = handoff_is_waiting(handoff);
    bool is_usable =
        handoff->state == HANDOFF_APPROVED && handoff->application == APPLICATION_AVAILABLE;
    if (handoff->risk >= risk_of(asking) || (!is_open && !is_usable)) {
        return false;
    }
    struct handoff_command first = command_of(asking, is_open ? HANDOFF_CANCEL : HANDOFF_TAKE);
    struct handoff_command second = command_of(asking, HANDOFF_RETURN);
    int r = handoff_act(&asking->handoffs, handoff->request_id, &first, NULL, now_of(asking),
                        &result, NULL);
    if (r == 0 && is_usable) {
        r = handoff_act(&asking->handoffs, handoff->request_id, &second, NULL, now_of(asking),
                        &result, NULL);
    }
    return r == 0;
}

/** Find the request that decides, or make it. @return enum standing or a negative code */
static int find(struct people_asking *asking, struct handoff *ret_handoff, struct rondo_error *err)
{
    for (uint32_t attempt = 1; attempt <= LIMIT_HANDOFF_REPEATS; attempt++) {
        char id[ID_SIZE];
        struct handoff_result woken = {0};
        int r = name_request(asking, attempt, id, err);
        if (r < 0) {
            return r;
        }
        if (handoff_wake(&asking->handoffs, id, now_of(asking), &woken, NULL) < 0) {
            r = submit(asking, id, ret_handoff, err);
            return r < 0 ? r : STANDING_COUNTS;
        }
        enum standing standing = standing_of(asking, &woken.handoff);
        *ret_handoff = woken.handoff;
        bool is_next = standing == STANDING_USED_UP || standing == STANDING_DOUBT ||
                       void_lighter(asking, &woken.handoff);
        if (!is_next) {
            return (int)standing;
        }
        asking->is_in_doubt = standing == STANDING_DOUBT;
    }
    return error_set(err, RONDO_ERR_LIMIT,
                     "people were asked %d times about the same action of this run",
                     LIMIT_HANDOFF_REPEATS);
}

static bool take_comment(const struct handoff_remark *remark, void *context)
{
    auto_json struct json_object *details = NULL;
    auto_buf struct buf clean = {0};
    struct rondo_answer *answer = context;
    if (strcmp(remark->kind, handoff_fact_name(FACT_REJECTED)) == 0 &&
        json_parse(remark->details, strlen(remark->details), &details, NULL) == 0) {
        const char *comment = json_get_string(details, "comment", "");
        text_clean(comment, strlen(comment), &clean);
        snprintf(answer->message, sizeof(answer->message), "%s", buf_string(&clean));
    }
    return true;
}

/** Take the grant: it is given once. */
static int start(const struct people_asking *asking, const struct handoff *handoff,
                 struct rondo_error *err)
{
    struct handoff_result result = {0};
    struct handoff_command take = command_of(asking, HANDOFF_TAKE);
    struct handoff_command begin = command_of(asking, HANDOFF_START);
    int r = handoff_act(&asking->handoffs, handoff->request_id, &take, NULL, now_of(asking),
                        &result, err);
    if (r == 0 && (result.outcome == HANDOFF_DONE || result.outcome == HANDOFF_REPEATED)) {
        r = handoff_act(&asking->handoffs, handoff->request_id, &begin, NULL, now_of(asking),
                        &result, err);
    }
    bool is_started =
        r == 0 && (result.outcome == HANDOFF_DONE || result.outcome == HANDOFF_REPEATED);
    asking->answer->permission = is_started ? RONDO_PERMITTED : RONDO_REFUSED;
    if (r == 0 && !is_started) {
        snprintf(asking->answer->message, sizeof(asking->answer->message),
                 "its approval cannot be used (%s)", handoff_outcome_name(result.outcome));
    }
    return r;
}

/** Approved: the policies are asked again, with the approval. */
static int conclude(const struct people_asking *asking, const struct handoff *handoff,
                    struct rondo_error *err)
{
    struct rondo_answer *answer = asking->answer;
    struct policy_verdict verdict;
    if (handoff->state != HANDOFF_APPROVED) {
        answer->permission = RONDO_REFUSED;
        snprintf(answer->message, sizeof(answer->message), "%s",
                 handoff->state == HANDOFF_EXPIRED ? "nobody decided about it in time"
                                                   : "a person refused it");
        return handoff_read_thread(&asking->handoffs, handoff->request_id, take_comment, answer,
                                   err);
    }
    if (loop_ask_tool(asking->loop->loop, asking->action->tool, asking->arguments,
                      asking->arguments, true, &verdict) == VERDICT_ALLOW) {
        return start(asking, handoff, err);
    }
    loop_deny_tool(asking->loop->loop, asking->action->tool, &verdict);
    answer->permission = RONDO_REFUSED;
    snprintf(answer->message, sizeof(answer->message), "%s", verdict.message);
    return 0;
}

/** What has been asked is visible to all before anybody is waited for. */
static int note(const struct people_asking *asking, const char *name, struct rondo_error *err)
{
    auto_buf struct buf attributes = {0};
    struct json_writer writer = json_writer(&attributes);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "tool", asking->action->tool);
    json_write_string(&writer, "request", asking->answer->request_id);
    json_end_object(&writer);
    int r = loop_note(asking->loop->loop, name, buf_string(&attributes), err);
    return r < 0 ? r : loop_commit(asking->loop->loop, err);
}

/** Wait until somebody has decided, the time is over, or the loop must stop. */
static int wait_for(const struct people_asking *asking, int64_t wait_ns, struct handoff *handoff,
                    struct rondo_error *err)
{
    const struct clock *clock = runtime_clock(asking->loop->rondo->runtime);
    struct cancel *cancel = loop_cancel(asking->loop->loop);
    int64_t begin_ns = clock_monotonic(clock);
    int r = 0;
    while (r == 0 && handoff_is_waiting(handoff) && !cancel_is_set(cancel) &&
           clock_monotonic(clock) - begin_ns < wait_ns) {
        struct handoff_result result = {0};
        (void)cancel_wait(cancel, LOOK_NS);
        r = handoff_wake(&asking->handoffs, handoff->request_id, now_of(asking), &result, err);
        *handoff = r == 0 ? result.handoff : *handoff;
    }
    loop_record_wait(asking->loop->loop, asking->action->tool,
                     handoff_is_waiting(handoff)          ? "none"
                     : handoff->state == HANDOFF_APPROVED ? "yes"
                                                          : "no",
                     clock_monotonic(clock) - begin_ns);
    return r;
}

static int ask_people(struct people_asking *asking, int64_t wait_ns, struct rondo_error *err)
{
    struct handoff handoff;
    struct handoff_action whole = {.tool = asking->action->tool, .arguments = asking->arguments};
    asking->handoffs = runtime_handoffs(asking->loop->rondo->runtime);
    name_consumer(asking->loop->loop, asking->consumer);
    int r = handoff_action_digest(&whole, asking->digest, err);
    int standing = r < 0 ? r : find(asking, &handoff, err);
    if (standing < 0) {
        return standing;
    }
    struct rondo_answer *answer = asking->answer;
    snprintf(answer->request_id, sizeof(answer->request_id), "%s", handoff.request_id);
    if (standing == STANDING_DONE) {
        answer->permission = RONDO_DONE_BEFORE;
        return 0;
    }
    if (handoff_is_waiting(&handoff)) {
        r = note(asking, "action.waits", err);
        r = r < 0 ? r : wait_for(asking, wait_ns, &handoff, err);
    }
    if (r < 0 || handoff_is_waiting(&handoff)) {
        answer->permission = RONDO_UNDECIDED;
        return r;
    }
    r = conclude(asking, &handoff, err);
    return r < 0 ? r : note(asking, "action.decided", err);
}

int rondo_loop_ask(struct rondo_loop *loop, const struct rondo_action *action, int64_t wait_ns,
                   struct rondo_answer *ret_answer, struct rondo_error *err)
{
    struct policy_verdict verdict;
    struct rondo_answer answer = {.permission = RONDO_REFUSED};
    const char *arguments = action->arguments_json == NULL ? "{}" : action->arguments_json;
    if (!loop->is_in_body) {
        return error_set(err, RONDO_ERR_STATE, "only the body of an iteration makes actions");
    }
    if (action->tool == NULL || action->tool[0] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "an action needs a tool");
    }
    int r = handoff_check_object(arguments, "the arguments of an action", err);
    if (r < 0) {
        return r;
    }
    struct policy_resource resource = {.action = ACTION_CALL_TOOL,
                                       .id = action->tool,
                                       .origin = "",
                                       .needs_confirmation = action->needs_person};
    loop_set_resources(loop->loop, &resource, 1);
    enum verdict_outcome outcome =
        loop_ask_tool(loop->loop, action->tool, arguments, arguments, false, &verdict);
    struct people_asking asking = {.loop = loop,
                                   .action = action,
                                   .arguments = arguments,
                                   .verdict = &verdict,
                                   .answer = &answer};
    if (outcome == VERDICT_ALLOW) {
        answer.permission = RONDO_PERMITTED;
    } else if (outcome == VERDICT_DENY) {
        loop_deny_tool(loop->loop, action->tool, &verdict);
        snprintf(answer.message, sizeof(answer.message), "%s", verdict.message);
    } else {
        r = ask_people(&asking, wait_ns, err);
    }
    if (r == 0) {
        *ret_answer = answer;
    }
    return r;
}

int rondo_loop_acted(struct rondo_loop *loop, const struct rondo_answer *answer, const char *result,
                     struct rondo_error *err)
{
    struct handoff_result finished = {0};
    struct handoff_store handoffs = runtime_handoffs(loop->rondo->runtime);
    char consumer[HANDOFF_NAME_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    if (answer->permission != RONDO_PERMITTED) {
        return error_set(err, RONDO_ERR_STATE, "the action was not permitted");
    }
    if (answer->request_id[0] == '\0') {
        return 0; /* Nobody was asked. */
    }
    name_consumer(loop->loop, consumer);
    result = result == NULL ? "" : result;
    handoff_digest_bytes(result, strlen(result), digest);
    struct handoff_command finish = {
        .kind = HANDOFF_FINISH,
        .actor = {.id = loop_spec(loop->loop)->agent_id, .is_requester = true},
        .consumer = consumer,
        .text_digest = digest,
        .is_allowed = true,
    };
    int r = handoff_act(&handoffs, answer->request_id, &finish, NULL, handoff_now(&handoffs),
                        &finished, err);
    bool is_done = finished.outcome == HANDOFF_DONE || finished.outcome == HANDOFF_REPEATED;
    return r < 0 || is_done ? r
                            : error_set(err, RONDO_ERR_STATE, "the result was not taken (%s)",
                                        handoff_outcome_name(finished.outcome));
}

int rondo_loop_park(struct rondo_loop *loop, struct rondo_error *err)
{
    int r = loop_park(loop->loop, err);
    if (r == 0) {
        loop->is_in_body = false;
        loop->turn = RONDO_BROKEN; /* Nothing is left to be stopped by rondo_loop_free. */
    }
    return r;
}
