// SPDX-License-Identifier: Apache-2.0
/* Deciding about one action by one profile or several. */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "policy/profile/internal.h"
#include "policy/profile/profile_text.h"
#include "policy/vocabulary/severity.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

const char *profile_outcome_name(enum profile_outcome outcome)
{
    static const char *const names[] = {"allow", "handoff", "deny"};
    return names[outcome];
}

void profile_add_error(struct buf *errors, const char *text)
{
    struct json_writer writer = json_writer(errors);
    if (errors->len > 0) {
        buf_append_string(errors, ",");
    }
    json_write_string(&writer, NULL, text);
}

/* ---- Reasons -------------------------------------------------------------------------------- */

static bool has_reason(const struct profile_answer *answer, const char *reason, const char *rule)
{
    for (size_t i = 0; i < answer->reason_count; i++) {
        if (strcmp(answer->reasons[i].reason, reason) == 0 &&
            strcmp(answer->reasons[i].rule, rule) == 0) {
            return true;
        }
    }
    return false;
}

/** Enter a reason after those that are as severe. */
static void add_reason(struct profile_answer *answer, const struct cedar_policies *policies,
                       uint32_t policy)
{
    const char *reason = cedar_policies_annotation(policies, policy, "handoff");
    const char *rule = cedar_policies_id(policies, policy);
    int level = (int)policy_severity_of(policies, policy);
    size_t at = answer->reason_count;
    if (reason == NULL || at == PROFILE_MOST_REASONS || has_reason(answer, reason, rule)) {
        return;
    }
    answer->reason_count++;
    for (; at > 0 && answer->reasons[at - 1].severity < level; at--) {
        answer->reasons[at] = answer->reasons[at - 1];
    }
    answer->reasons[at] =
        (struct profile_reason){.reason = reason, .rule = rule, .severity = level};
}

/* ---- One profile ---------------------------------------------------------------------------- */

/** The forbid that no approval can help against; NULL = each of them asks a person. */
static const char *hard_forbid(const struct cedar_policies *policies,
                               const struct cedar_answer *answer)
{
    for (size_t i = 0; i < answer->reason_count; i++) {
        if (cedar_policies_annotation(policies, answer->reasons[i], "handoff") == NULL) {
            return cedar_policies_id(policies, answer->reasons[i]);
        }
    }
    return NULL;
}

/** An expression that fails skips its forbid: whatever else is satisfied, nothing may be done. */
static enum profile_outcome judge(const struct cedar_policies *policies,
                                  const struct cedar_answer *answer, const char **ret_rule,
                                  struct buf *ret_errors)
{
    *ret_rule = "";
    for (size_t i = 0; i < answer->error_count; i++) {
        char text[RONDO_ERROR_MESSAGE_SIZE];
        cedar_failure_describe(policies, &answer->errors[i], text, sizeof(text));
        profile_add_error(ret_errors, text);
        *ret_rule = cedar_policies_id(policies, answer->errors[i].policy);
    }
    if (answer->error_count > 0) {
        return PROFILE_DENY;
    }
    if (answer->reason_count == 0) {
        profile_add_error(ret_errors, "no permit of the profile applies");
        return PROFILE_DENY;
    }
    if (answer->is_allowed) {
        return PROFILE_ALLOW;
    }
    const char *hard = hard_forbid(policies, answer);
    *ret_rule = hard == NULL ? "" : hard;
    return hard == NULL ? PROFILE_HANDOFF : PROFILE_DENY;
}

static const struct profile *find_profile(const struct profiles *profiles, const char *name)
{
    for (size_t i = 0; i < profiles->count; i++) {
        const struct profile *profile = &profiles->items[i];
        if (profile->name == NULL || strcmp(profile->name, name) == 0) {
            return profile;
        }
    }
    return NULL;
}

/** What is evaluated with each profile. */
struct profile_question {
    struct profiles *profiles;
    struct profile_evaluator *evaluator;
    const struct profile_request *request;
    const struct cedar_context *context;
    struct profile_answer *answer;
    struct buf *errors;
};

/**
 * The strictest answer counts, with the reasons of all that are not less strict. A denial has none:
 * no person can help.
 */
static void merge(struct profile_answer *answer, enum profile_outcome outcome,
                  const struct cedar_policies *policies, const struct cedar_answer *cedar,
                  const char *rule)
{
    if (outcome > answer->outcome) {
        answer->outcome = outcome;
        answer->reason_count = 0;
        answer->rule = rule;
    }
    for (size_t i = 0;
         i < cedar->reason_count && outcome == answer->outcome && outcome != PROFILE_DENY; i++) {
        add_reason(answer, policies, cedar->reasons[i]);
    }
}

static void ask_profile(const struct profile_question *question, const char *name)
{
    struct cedar_answer cedar = {0};
    const char *rule = "";
    const struct profile *profile = find_profile(question->profiles, name);
    struct profile_answer *answer = question->answer;
    if (profile == NULL) {
        profile_add_error(question->errors, "there is no profile of this name");
        merge(answer, PROFILE_DENY, NULL, &cedar, "");
        return;
    }
    if (!profile_prepare(question->evaluator, question->profiles, question->request->agent_id,
                         question->request->tool, name, question->errors)) {
        merge(answer, PROFILE_DENY, NULL, &cedar, "");
        return;
    }
    struct cedar_request request = {
        .principal = question->evaluator->principal,
        .action = question->profiles->action,
        .resource = question->evaluator->resource,
        .context = question->context,
        .entities = question->evaluator->entities,
    };
    cedar_authorize(question->evaluator->cedar, profile->policies, &request, &cedar);
    enum profile_outcome outcome = judge(profile->policies, &cedar, &rule, question->errors);
    merge(answer, outcome, profile->policies, &cedar, rule);
}

/* ---- All profiles of an action -------------------------------------------------------------- */

static bool is_assigned(struct json_object *names, const char *name)
{
    for (size_t i = 0; i < json_length(names); i++) {
        if (strcmp(json_object_get_string(json_object_array_get_idx(names, i)), name) == 0) {
            return true;
        }
    }
    return names == NULL && strcmp(name, PROFILE_DEFAULT) == 0;
}

static void ask_profiles(const struct profile_question *question)
{
    const struct profile_request *request = question->request;
    struct json_object *names = NULL;
    json_object_object_get_ex(question->profiles->agents, request->agent_id, &names);
    for (size_t i = 0; i < json_length(names); i++) {
        ask_profile(question, json_object_get_string(json_object_array_get_idx(names, i)));
    }
    if (names == NULL) {
        ask_profile(question, PROFILE_DEFAULT);
    }
    if (request->profile != NULL && !is_assigned(names, request->profile)) {
        ask_profile(question, request->profile);
    }
    if (request->is_evidence && !is_assigned(names, PROFILE_EVIDENCE)) {
        ask_profile(question, PROFILE_EVIDENCE);
    }
}

void profiles_decide(struct profiles *profiles, struct profile_evaluator *evaluator,
                     const struct profile_request *request, struct profile_answer *ret_answer,
                     struct buf *ret_errors)
{
    struct profile_context context;
    *ret_answer = (struct profile_answer){.outcome = PROFILE_ALLOW, .rule = ""};
    if (!profile_context_read(request->context, &context, ret_errors)) {
        ret_answer->outcome = PROFILE_DENY;
        ret_answer->risk_level = 3;
        return;
    }
    if (context.rework_count < request->rework_count) {
        context.rework_count = request->rework_count;
    }
    ret_answer->risk_level = context.risk_level;
    struct profile_question question = {
        .profiles = profiles,
        .evaluator = evaluator,
        .request = request,
        .context = profile_fill(evaluator, &context, request->approval),
        .answer = ret_answer,
        .errors = ret_errors,
    };
    ask_profiles(&question);
    if (ret_answer->reason_count > 0 && ret_answer->rule[0] == '\0') {
        ret_answer->rule = ret_answer->reasons[0].rule;
    }
}
