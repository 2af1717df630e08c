// SPDX-License-Identifier: Apache-2.0
/* Asking the profiles about an action before it is made. */
#include "handoff/wire/lane.h"
#include "handoff/wire/request.h"
#include "server/api/agents/agents.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define MEMBERS "agent_id,policy_profile,lane_id,run_id,action,context,request_id"

/** An evaluation on its way. */
struct evaluate_question {
    const char *agent_id;
    const char *profile;
    const char *lane_id;
    const char *run_id;
    const char *request_id;
    const char *tool;
    char digest[HANDOFF_DIGEST_SIZE];
    bool has_approval;
    struct profile_approval approval;
    struct profile_request request;
};

static bool read_question(struct call *call, struct evaluate_question *question)
{
    struct json_object *action = json_member(call->body, "action");
    struct rondo_error err = {0};
    if (!call_check_members(call, call->body, "", MEMBERS) ||
        !agents_member(call, &question->agent_id) ||
        !call_member_text(call, "policy_profile", false, &question->profile) ||
        !call_member_text(call, "lane_id", false, &question->lane_id) ||
        !call_member_text(call, "run_id", false, &question->run_id) ||
        !call_member_text(call, "request_id", false, &question->request_id)) {
        return false;
    }
    if (wire_action_digest(action, question->digest, &err) < 0) {
        call_error(call, &err);
        return false;
    }
    question->tool = json_get_string(action, "tool", "");
    return true;
}

/** The approval of the request that is asked about again. @return false: a problem */
static bool read_approval(struct call *call, struct evaluate_question *question)
{
    struct rondo_error err = {0};
    struct handoff handoff;
    if (question->request_id == NULL) {
        return true;
    }
    struct handoff_store handoffs = call_handoffs(call);
    int r = handoff_read(&handoffs, question->request_id, &handoff, &err);
    if (r == RONDO_ERR_NOT_FOUND || (r == 0 && strcmp(handoff.agent_id, question->agent_id) != 0)) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no request of this id");
        return false;
    }
    if (r < 0) {
        call_error(call, &err);
        return false;
    }
    question->has_approval =
        agents_approval(&handoff, question->digest, agents_now(call), &question->approval);
    question->request.rework_count = handoff.revision - 1;
    return true;
}

/** @return false: a problem */
static bool read_lane(struct call *call, struct evaluate_question *question)
{
    struct rondo_error err = {0};
    if (question->lane_id == NULL) {
        return true;
    }
    struct handoff_store handoffs = call_handoffs(call);
    if (lane_is_evidence(&handoffs, question->agent_id, question->lane_id,
                         &question->request.is_evidence, &err) < 0) {
        call_error(call, &err);
        return false;
    }
    return true;
}

/* ---- The answer ----------------------------------------------------------------------------- */

static void write_reasons(const struct profile_answer *answer, const char *key,
                          struct json_writer *writer)
{
    json_begin_array(writer, key);
    for (size_t i = 0; i < answer->reason_count; i++) {
        json_write_string(writer, NULL, answer->reasons[i].reason);
    }
    json_end_array(writer);
}

static void write_rules(const struct profile_answer *answer, struct json_writer *writer)
{
    json_begin_array(writer, "policy_rule_ids");
    for (size_t i = 0; i < answer->reason_count; i++) {
        json_write_string(writer, NULL, answer->reasons[i].rule);
    }
    json_end_array(writer);
}

static void write_answer(struct call *call, const struct evaluate_question *question,
                         const struct profile_answer *answer, const char *hash,
                         const struct buf *errors)
{
    auto_buf struct buf list = {0};
    struct json_writer writer = call_json(call, 200);
    buf_printf(&list, "[%s]", buf_string(errors));
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "outcome", profile_outcome_name(answer->outcome));
    json_write_string(&writer, "trigger_reason",
                      answer->reason_count == 0 ? NULL : answer->reasons[0].reason);
    write_reasons(answer, "trigger_reasons", &writer);
    json_write_string(&writer, "policy_rule_id", answer->rule[0] == '\0' ? NULL : answer->rule);
    write_rules(answer, &writer);
    json_write_int(&writer, "risk_level", answer->risk_level);
    json_write_string(&writer, "policy_hash", hash);
    json_write_string(&writer, "action_digest", question->digest);
    json_write_raw(&writer, "errors", buf_string(&list));
    json_end_object(&writer);
}

static void count(const struct call *call, const struct evaluate_question *question,
                  const char *outcome)
{
    const char *labels[] = {question->agent_id, outcome,
                            evaluation_is_actionable(question->request.context) ? "true" : "false"};
    agents_count(call, "relaytrace_action_evaluations_total", labels, 1);
}

static void record(struct call *call, const struct evaluate_question *question,
                   const struct profile_answer *answer, const char *hash)
{
    auto_buf struct buf reasons = {0};
    struct json_writer writer = json_writer(&reasons);
    write_reasons(answer, NULL, &writer);
    struct evaluated_action evaluation = {
        .time_ns = clock_now(clock_system()),
        .agent_id = question->agent_id,
        .lane_id = question->lane_id,
        .run_id = question->run_id,
        .profile = question->profile,
        .tool = question->tool,
        .action_digest = question->digest,
        .context =
            json_object_to_json_string_ext(question->request.context, JSON_C_TO_STRING_PLAIN),
        .has_approval = question->has_approval,
        .is_evidence = question->request.is_evidence,
        .rework_count = question->request.rework_count,
        .outcome = profile_outcome_name(answer->outcome),
        .rule = answer->rule,
        .reasons = buf_string(&reasons),
        .policy_hash = hash,
    };
    evaluation_log_add(call->server->evaluations, &evaluation);
}

void handle_evaluate(struct call *call)
{
    struct evaluate_question question = {0};
    struct profile_answer answer;
    auto_buf struct buf errors = {0};
    struct profiles *profiles = NULL;
    struct rondo_error err = {0};
    if (!read_question(call, &question) || !read_approval(call, &question) ||
        !read_lane(call, &question)) {
        return;
    }
    question.request.agent_id = question.agent_id;
    question.request.tool = question.tool;
    question.request.profile = question.profile;
    question.request.context = json_member(call->body, "context");
    question.request.approval = question.has_approval ? &question.approval : NULL;
    int r = profile_watch_decide(call->server->profiles, &question.request, &answer, &errors,
                                 &profiles, &err);
    if (r < 0) {
        count(call, &question, "error");
        call_refuse(call, PROBLEM_INTERNAL, "no_profiles", "%s", err.message);
        return;
    }
    count(call, &question, errors.len > 0 ? "error" : profile_outcome_name(answer.outcome));
    write_answer(call, &question, &answer, profiles_hash(profiles), &errors);
    record(call, &question, &answer, profiles_hash(profiles));
    profiles_unref(profiles);
}
