// SPDX-License-Identifier: Apache-2.0
#include "server/api/agents/agents.h"

#include "handoff/storage/clock.h"
#include "handoff/wire/decision.h"
#include "handoff/wire/request.h"
#include "telemetry/metrics.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Seconds after which an agent whose requests are too many may come again. */
#define FULL_WAIT_S 30

void agents_count(const struct call *call, const char *metric, const char *const *labels,
                  double number)
{
    if (call->server->options.metrics != NULL && number > 0) {
        metrics_add(call->server->options.metrics, metric, labels, number);
    }
}

void agents_count_one(const struct call *call, const char *metric, const char *label)
{
    agents_count(call, metric, &label, 1);
}

int64_t agents_now(const struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    return handoff_now(&handoffs);
}

bool agents_covers(struct call *call, const char *agent_id)
{
    if (!token_grant_covers(&call->grant, agent_id)) {
        agents_count_one(call, "relaytrace_verify_failures_total", "scope");
        call_refuse(call, PROBLEM_FORBIDDEN, "agent_not_covered",
                    "the token is not for the agent %.96s", agent_id);
        return false;
    }
    return true;
}

bool agents_name(struct call *call, const char *name, const char **ret_name)
{
    if (!call_member_text(call, name, true, ret_name)) {
        return false;
    }
    if (!wire_is_name(*ret_name)) {
        call_problem(call, PROBLEM_INVALID, "%s must be a text of 1 to %d bytes without slashes",
                     name, HANDOFF_NAME_SIZE - 1);
        return false;
    }
    return true;
}

bool agents_member(struct call *call, const char **ret_agent_id)
{
    return agents_name(call, "agent_id", ret_agent_id) && agents_covers(call, *ret_agent_id);
}

bool agents_digest(struct call *call, const char *name, bool is_needed, char *ret_digest)
{
    const char *text = NULL;
    ret_digest[0] = '\0';
    if (!call_member_text(call, name, is_needed, &text)) {
        return false;
    }
    if (text != NULL && !wire_read_digest(text, ret_digest)) {
        call_problem(call, PROBLEM_INVALID, "%s must be a SHA-256 digest", name);
        return false;
    }
    return true;
}

bool agents_find(struct call *call, struct handoff *ret_handoff)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct rondo_error err = {0};
    const char *id = call_value(call, "request");
    int r = id_is_valid(id) ? handoff_read(&handoffs, id, ret_handoff, &err) : RONDO_ERR_NOT_FOUND;
    if (r == RONDO_ERR_NOT_FOUND ||
        (r == 0 && !token_grant_covers(&call->grant, ret_handoff->agent_id))) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no request of this id");
        return false;
    }
    if (r < 0) {
        call_error(call, &err);
        return false;
    }
    return true;
}

void agents_answer(struct call *call, unsigned status, const struct handoff *handoff)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct rondo_error err = {0};
    (void)call_json(call, status);
    if (wire_answer_write(&handoffs, handoff, &call->answer, &err) < 0) {
        call_error(call, &err);
        return;
    }
    snprintf(call->etag, sizeof(call->etag), "\"%llu\"", (unsigned long long)handoff->version);
}

/* ---- Outcomes ------------------------------------------------------------------------------- */

static enum problem_code problem_of(enum handoff_outcome outcome)
{
    switch (outcome) {
    case HANDOFF_NOT_YOURS:
    case HANDOFF_NOT_PERMITTED:
    case HANDOFF_SELF_APPROVAL:
        return PROBLEM_FORBIDDEN;
    case HANDOFF_TOO_LATE:
    case HANDOFF_OTHER_ACTION:
    case HANDOFF_TEXT_MISSING:
        return PROBLEM_INVALID;
    default:
        return PROBLEM_CONFLICT;
    }
}

static const char *sentence_of(enum handoff_outcome outcome)
{
    switch (outcome) {
    case HANDOFF_NOT_YOURS:
        return "another process has taken it";
    case HANDOFF_NO_APPLICATION:
        return "there is nothing to apply now";
    case HANDOFF_LEASE_ENDED:
        return "the lease has ended; take it again";
    case HANDOFF_INTEGRITY:
        return "the checkpoint, the action or the policies are not those of the approval: it is "
               "never applied";
    case HANDOFF_TOO_LATE:
        return "required_by_ts leaves a person less than 30 seconds";
    case HANDOFF_OTHER_ACTION:
        return "this id belongs to another request";
    case HANDOFF_OTHER_REVISION:
        return "the request has another revision";
    default:
        return "the request does not permit this";
    }
}

/** There is no room: later, or never, as the desk file says. */
static void answer_full(struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    bool is_rejected = handoffs.bounds->on_full == ON_FULL_REJECT_NEW;
    agents_count_one(call, "relaytrace_lane_overflows_total",
                     handoff_on_full_name(handoffs.bounds->on_full));
    if (is_rejected) {
        call_refuse(call, PROBLEM_CONFLICT, "queue_full",
                    "too many requests wait for people: the action is denied");
        return;
    }
    call->retry_after_s = FULL_WAIT_S;
    call_refuse(call, PROBLEM_RATE_LIMITED, "queue_full",
                "too many requests wait for people: of the lane, the agent or the store; ask again "
                "later");
}

/** Count what was recognised as sent before, joined another one, or was not believed. */
static void count_result(const struct call *call, enum handoff_outcome outcome)
{
    const char *operation = call->match.route->operation;
    bool is_request =
        strcmp(operation, "submitRequest") == 0 || strcmp(operation, "resubmitRequest") == 0;
    if (outcome == HANDOFF_REPEATED) {
        agents_count_one(call, "relaytrace_delivery_duplicates_total",
                         is_request ? "request" : "application");
    } else if (outcome == HANDOFF_JOINED) {
        agents_count_one(call, "relaytrace_lane_overflows_total", "coalesce");
    } else if (outcome == HANDOFF_INTEGRITY) {
        agents_count_one(call, "relaytrace_verify_failures_total", "digest");
    } else if (outcome == HANDOFF_OTHER_ACTION || outcome == HANDOFF_OTHER_REVISION) {
        agents_count_one(call, "relaytrace_verify_failures_total", "correlation");
    } else if (outcome == HANDOFF_NOT_YOURS || outcome == HANDOFF_SELF_APPROVAL) {
        agents_count_one(call, "relaytrace_verify_failures_total", "scope");
    }
}

void agents_answer_result(struct call *call, int r, const struct handoff_result *result,
                          const struct rondo_error *err)
{
    if (r < 0) {
        call_error(call, err);
        return;
    }
    count_result(call, result->outcome);
    if (result->outcome == HANDOFF_FULL) {
        answer_full(call);
        return;
    }
    if (result->outcome == HANDOFF_DONE || result->outcome == HANDOFF_REPEATED ||
        result->outcome == HANDOFF_JOINED) {
        agents_answer(call, 200, &result->handoff);
        return;
    }
    call_refuse(call, problem_of(result->outcome), handoff_outcome_name(result->outcome),
                "%s; it is %s, and its application %s", sentence_of(result->outcome),
                handoff_state_name(result->handoff.state),
                handoff_application_name(result->handoff.application));
}

bool agents_approval(const struct handoff *handoff, const char *action_digest, int64_t now_ns,
                     struct profile_approval *ret_approval)
{
    if (handoff->state != HANDOFF_APPROVED) {
        return false;
    }
    bool is_usable = handoff->application == APPLICATION_AVAILABLE ||
                     handoff->application == APPLICATION_LEASED ||
                     handoff->application == APPLICATION_STARTED;
    *ret_approval = (struct profile_approval){
        .is_valid = is_usable,
        .count = handoff->approval_count,
        .is_same_action = strcmp(action_digest, handoff->action_digest) == 0,
        .is_expired = handoff->application == APPLICATION_LAPSED ||
                      (handoff->valid_until_ns != 0 && now_ns >= handoff->valid_until_ns),
    };
    for (uint32_t i = 0; i < handoff->approval_count; i++) {
        ret_approval->is_self_approved |=
            handoff_is_own(handoff, handoff->approvals[i].operator_id);
    }
    return true;
}
