// SPDX-License-Identifier: Apache-2.0
/* Subjects and verdicts. Deciding allocates nothing, except for the arguments of a tool. */
#include "policy/subject.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "policy/cedar/entities.h"
#include "policy/subject_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    struct policy_run run; /* texts owned */
    struct ruleset *ruleset;
    struct cedar_entities *entities; /* of the run; NULL = none could be made */
    struct cedar_uid *agent_uid;
    struct cedar_uid *run_uid;
    struct cedar_uid *action_uids[VOCABULARY_ACTION_COUNT];
    struct cedar_uid *other_resource; /* the tool or model of the last request */

    struct cedar_context *contexts[2]; /* [1] has the condition, for ACTION_VERIFY */
    struct cedar_context *input;       /* {iteration} */
    struct cedar_context *no_input;
    struct cedar_context *system;
    struct cedar_context *context; /* the one of the last request */

    struct cedar_evaluator *evaluator; /* its answer is kept for the caller, */
    struct cedar_evaluator *prober;    /* so probing for limits takes another */
    struct cedar_request request;
    struct cedar_answer answer; /* of the last decision */
    bool has_problem;           /* of the last decision: it is in `problem` */
    char problem[RONDO_ERROR_MESSAGE_SIZE];
};

static void copy_resources(struct subject *subject, const struct policy_resource *resources,
                           size_t count)
{
    struct policy_resource *copy = memory_new_zero(count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        copy[i] = resources[i];
        copy[i].id = memory_dup_string(resources[i].id);
        copy[i].origin = memory_dup_string(resources[i].origin);
    }
    subject->run.resources = copy;
    subject->run.resource_count = count;
}

static void free_resources(struct subject *subject)
{
    for (size_t i = 0; i < subject->run.resource_count; i++) {
        free((char *)subject->run.resources[i].id);
        free((char *)subject->run.resources[i].origin);
    }
    free((struct policy_resource *)subject->run.resources);
}

static void copy_run(struct subject *subject, const struct policy_run *run)
{
    subject->run = *run;
    subject->run.agent_id = memory_dup_string(run->agent_id);
    subject->run.run_id = memory_dup_string(run->run_id);
    subject->run.kind = memory_dup_string(run->kind == NULL ? "" : run->kind);
    subject->run.workspace = memory_dup_string(run->workspace == NULL ? "" : run->workspace);
    copy_resources(subject, run->resources, run->resource_count);
}

static void free_run(struct subject *subject)
{
    free((char *)subject->run.agent_id);
    free((char *)subject->run.run_id);
    free((char *)subject->run.kind);
    free((char *)subject->run.workspace);
    free_resources(subject);
}

static struct cedar_context *new_context(size_t count)
{
    const char *names[VOCABULARY_CONTEXT_COUNT];
    for (size_t i = 0; i < count; i++) {
        names[i] = vocabulary_context_name((enum vocabulary_context)i);
    }
    return cedar_context_new(names, count);
}

static void make_entities(struct subject *subject, int64_t max_iterations)
{
    struct rondo_error err = {0};
    struct policy_run run = subject->run;
    run.max_iterations = max_iterations;
    cedar_entities_free(subject->entities);
    subject->entities = subject_entities_make(&run, subject->ruleset, &err);
    snprintf(subject->problem, sizeof(subject->problem), "%s", err.message);
}

/** Whether a policy of the administrator counts the iterations of this very agent. */
static bool is_counted(const struct subject *subject)
{
    struct cedar_request request = {
        .principal = subject->agent_uid,
        .action = subject->action_uids[ACTION_ITERATE],
        .resource = subject->run_uid,
        .entities = subject->entities,
    };
    return subject->ruleset->counts_iterations &&
           limit_is_counted(subject->ruleset->policies, subject->ruleset->given_count, &request,
                            RUN_LIMIT_ITERATIONS);
}

static void remake_entities(struct subject *subject)
{
    if (subject->ruleset == NULL) {
        cedar_entities_free(subject->entities);
        subject->entities = NULL;
        snprintf(subject->problem, sizeof(subject->problem), "none were loaded");
        return;
    }
    make_entities(subject, subject->run.max_iterations);
    /* Groups of the agent decide, so its entity must exist first. */
    if (subject->run.max_iterations == 0 && !is_counted(subject)) {
        make_entities(subject, RULESET_DEFAULT_ITERATIONS);
    }
}

struct subject *subject_new(const struct policy_run *run, struct ruleset *ruleset)
{
    static const char *const now = "now";
    const char *iteration = vocabulary_context_name(CONTEXT_ITERATION);
    struct subject *subject = memory_new_zero(1, sizeof(*subject));
    copy_run(subject, run);
    subject->agent_uid = cedar_uid_new("Agent", run->agent_id, NULL);
    subject->run_uid = cedar_uid_new("Run", run->run_id, NULL);
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        subject->action_uids[i] = cedar_uid_new("Action", vocabulary_action_name(i), NULL);
    }
    /* The condition is the last attribute of the vocabulary, and only `verify` has it. */
    subject->contexts[0] = new_context(CONTEXT_CONDITION);
    subject->input = cedar_context_new(&iteration, 1);
    subject->no_input = cedar_context_new(NULL, 0);
    subject->system = cedar_context_new(&now, 1);
    subject->evaluator = cedar_evaluator_new();
    subject->prober = cedar_evaluator_new();
    subject_set_ruleset(subject, ruleset);
    return subject;
}

void subject_free(struct subject *subject)
{
    if (subject == NULL) {
        return;
    }
    free_run(subject);
    cedar_entities_free(subject->entities);
    ruleset_unref(subject->ruleset);
    cedar_uid_free(subject->agent_uid);
    cedar_uid_free(subject->run_uid);
    cedar_uid_free(subject->other_resource);
    for (size_t i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        cedar_uid_free(subject->action_uids[i]);
    }
    cedar_context_free(subject->contexts[0]);
    cedar_context_free(subject->contexts[1]);
    cedar_context_free(subject->input);
    cedar_context_free(subject->no_input);
    cedar_context_free(subject->system);
    cedar_evaluator_free(subject->evaluator);
    cedar_evaluator_free(subject->prober);
    free(subject);
}

void subject_set_limits(struct subject *subject, const struct policy_run *run)
{
    subject->run.max_iterations = run->max_iterations;
    subject->run.max_tokens = run->max_tokens;
    subject->run.max_cost_micro = run->max_cost_micro;
    subject->run.max_elapsed_ns = run->max_elapsed_ns;
    remake_entities(subject);
}

void subject_set_resources(struct subject *subject, const struct policy_resource *resources,
                           size_t count)
{
    free_resources(subject);
    copy_resources(subject, resources, count);
    remake_entities(subject);
}

void subject_set_ruleset(struct subject *subject, struct ruleset *ruleset)
{
    struct ruleset *old = subject->ruleset;
    subject->ruleset = ruleset == NULL ? NULL : ruleset_ref(ruleset);
    remake_entities(subject); /* They are built on those of the ruleset. */
    ruleset_unref(old);
}

const struct ruleset *subject_ruleset(const struct subject *subject)
{
    return subject->ruleset;
}

/** Ten-thousandths of a dollar, rounded up: a cost never looks smaller than it is. */
static int64_t cost_units(int64_t micro)
{
    return micro / 100 + (micro % 100 > 0 ? 1 : 0);
}

/** Present value of a counter in the units of policies. */
static int64_t counter_value(const struct policy_request *request, enum run_limit counter)
{
    int64_t value = policy_request_value(request, counter);
    return counter == RUN_LIMIT_COST   ? cost_units(value)
           : counter == RUN_LIMIT_TIME ? value / NS_PER_S
                                       : value;
}

/** Days since a Thursday, the first of January 1970; 1 = Monday. */
static int64_t weekday(int64_t now_ms)
{
    int64_t ms_per_day = INT64_C(86400000);
    int64_t days = now_ms / ms_per_day - (now_ms % ms_per_day < 0 ? 1 : 0);
    return ((days + 3) % 7 + 7) % 7 + 1;
}

static void set_counter(void *context, enum run_limit counter, int64_t value)
{
    struct subject *subject = context;
    switch (counter) {
    case RUN_LIMIT_ITERATIONS:
        cedar_context_set(subject->context, CONTEXT_ITERATION, cedar_long(value));
        cedar_context_set(subject->input, 0, cedar_long(value));
        break;
    case RUN_LIMIT_TOKENS:
        cedar_context_set(subject->context, CONTEXT_TOKENS, cedar_long(value));
        break;
    case RUN_LIMIT_COST:
        cedar_context_set(subject->context, CONTEXT_COST_USD, cedar_decimal(value));
        break;
    case RUN_LIMIT_TIME:
        cedar_context_set(subject->context, CONTEXT_ELAPSED_S, cedar_long(value));
        break;
    case RUN_LIMIT_COUNT:
        break;
    }
}

static void set_record(struct cedar_context *context, enum vocabulary_context attribute,
                       const struct cedar_context *record)
{
    cedar_context_set(context, attribute, cedar_object(CEDAR_RECORD, &record->record));
}

static void set_facts(struct subject *subject, const struct policy_request *request)
{
    struct cedar_context *context = subject->context;
    int64_t now_ms = request->now_ns / NS_PER_MS;
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        set_counter(subject, i, counter_value(request, i));
    }
    cedar_context_set(context, CONTEXT_CONSECUTIVE_FAILURES,
                      cedar_long(request->consecutive_failures));
    cedar_context_set(context, CONTEXT_CONDITIONS_MET, cedar_long(request->conditions_met));
    cedar_context_set(context, CONTEXT_CONDITIONS_TOTAL, cedar_long(request->conditions_total));
    cedar_context_set(context, CONTEXT_APPROVED, cedar_bool(request->is_approved));
    cedar_context_set(context, CONTEXT_NOW, cedar_datetime(now_ms));
    cedar_context_set(context, CONTEXT_WEEKDAY, cedar_long(weekday(now_ms)));
    cedar_context_set(subject->system, 0, cedar_datetime(now_ms));
    set_record(context, CONTEXT_SYSTEM, subject->system);
}

/** Arguments of a tool. A value that is no record would be one that no policy is written for. */
static bool set_arguments(struct subject *subject, enum vocabulary_context attribute,
                          const char *input)
{
    struct cedar_context *context = subject->context;
    struct rondo_error err = {0};
    int r = cedar_context_set_json(context, attribute, input, strlen(input), &err);
    const struct cedar_field *field = &context->record.fields[context->field_of[attribute]];
    if (r == 0 && field->value.kind != CEDAR_RECORD) {
        r = error_set(&err, RONDO_ERR_INVALID, "the arguments are not an object");
    }
    snprintf(subject->problem, sizeof(subject->problem), "%s", err.message);
    return r == 0;
}

/** What the context of `remember` and `recall` holds when nothing is said of the memory. */
static const char any_memory[] = "{\"kind\":\"semantic\",\"category\":\"general\"}";

static const char *input_of(const struct policy_request *request)
{
    bool is_of_memory = request->action == ACTION_REMEMBER || request->action == ACTION_RECALL;
    return is_of_memory && request->input == NULL                ? any_memory
           : is_of_memory || request->action == ACTION_CALL_TOOL ? request->input
                                                                 : NULL;
}

/** What belongs to one action. @return false when it cannot be expressed */
static bool set_step(struct subject *subject, const struct policy_request *request)
{
    struct cedar_context *context = subject->context;
    if (request->action == ACTION_VERIFY) {
        const char *condition = request->condition == NULL ? "" : request->condition;
        cedar_context_set_string(context, CONTEXT_CONDITION, condition, strlen(condition));
    }
    const char *arguments = input_of(request);
    if (arguments != NULL) {
        return set_arguments(subject, CONTEXT_INPUT, arguments) &&
               set_arguments(subject, CONTEXT_RAW, request->raw == NULL ? arguments : request->raw);
    }
    const struct cedar_context *input =
        request->action == ACTION_ITERATE ? subject->input : subject->no_input;
    set_record(context, CONTEXT_INPUT, input);
    set_record(context, CONTEXT_RAW, input);
    return true;
}

static void choose_context(struct subject *subject, enum vocabulary_action action)
{
    unsigned which = action == ACTION_VERIFY ? 1 : 0;
    if (subject->contexts[which] == NULL) {
        subject->contexts[which] = new_context(CONTEXT_CONDITION + which);
    }
    subject->context = subject->contexts[which];
}

static const struct cedar_uid *resource_of(struct subject *subject,
                                           const struct policy_request *request)
{
    if (request->resource == NULL) {
        return subject->run_uid;
    }
    cedar_uid_free(subject->other_resource);
    subject->other_resource =
        cedar_uid_new(vocabulary_action_resource(request->action), request->resource, NULL);
    return subject->other_resource;
}

/** A name that came from outside need not be UTF-8; then there is no such entity. */
static bool has_parts(struct subject *subject)
{
    if (subject->request.principal != NULL && subject->request.resource != NULL) {
        return true;
    }
    snprintf(subject->problem, sizeof(subject->problem), "a name in the request is not UTF-8");
    return false;
}

/** Make the request. @return false when it cannot be expressed */
static bool build_request(struct subject *subject, const struct policy_request *request)
{
    choose_context(subject, request->action);
    set_facts(subject, request);
    bool is_good = set_step(subject, request);
    subject->request = (struct cedar_request){
        .principal = subject->agent_uid,
        .action = subject->action_uids[request->action],
        .resource = resource_of(subject, request),
        .context = subject->context,
        .entities = subject->entities,
    };
    return is_good && has_parts(subject);
}

static struct limit_search search_in(struct subject *subject)
{
    return (struct limit_search){
        .evaluator = subject->prober,
        .policies = subject->ruleset->policies,
        .counters = subject->ruleset->counters,
        .request = &subject->request,
        .set = set_counter,
        .context = subject,
    };
}

static bool is_among(const struct cedar_answer *answer, uint32_t policy)
{
    for (size_t i = 0; i < answer->reason_count; i++) {
        if (answer->reasons[i] == policy) {
            return true;
        }
    }
    return false;
}

/** The decision if a counter were at its start. */
static void answer_from_zero(struct subject *subject, const struct policy_request *request,
                             enum run_limit counter, struct cedar_answer *ret_answer)
{
    set_counter(subject, counter, 0);
    cedar_authorize(subject->prober, subject->ruleset->policies, &subject->request, ret_answer);
    set_counter(subject, counter, counter_value(request, counter));
}

/** Which counter makes a forbid deny: the first one without which it would not. */
static enum run_limit counter_of_forbid(struct subject *subject,
                                        const struct policy_request *request, uint32_t policy)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        struct cedar_answer answer;
        answer_from_zero(subject, request, i, &answer);
        if (answer.is_allowed || !is_among(&answer, policy)) {
            return i;
        }
    }
    return RUN_LIMIT_COUNT;
}

/** The same where no permit is satisfied; `*ret_policy` is the permit that would be. */
static enum run_limit counter_of_permits(struct subject *subject,
                                         const struct policy_request *request, uint32_t *ret_policy)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        struct cedar_answer answer;
        answer_from_zero(subject, request, i, &answer);
        if (answer.is_allowed) {
            *ret_policy = answer.reasons[0];
            return i;
        }
    }
    return RUN_LIMIT_COUNT;
}

static void name_policy(const struct subject *subject, uint32_t policy,
                        struct policy_verdict *verdict)
{
    verdict->deciding = policy;
    verdict->is_own = policy >= subject->ruleset->given_count;
}

/** Whether a policy's denial may be lifted by a person. */
static bool may_ask(const struct subject *subject, uint32_t policy)
{
    const char *value = cedar_policies_annotation(subject->ruleset->policies, policy, "on_deny");
    return value != NULL && strcmp(value, "ask") == 0;
}

/**
 * Of several forbids the one with the lowest rank is reported: one that has nothing to do with a
 * counter before a limit, limits in the order of the counters, and last what a person may lift,
 * most severe first.
 */
static unsigned rank(const struct subject *subject, uint32_t policy, enum run_limit counter)
{
    unsigned among = counter == RUN_LIMIT_COUNT ? 0 : (unsigned)counter + 1;
    if (!may_ask(subject, policy)) {
        return among;
    }
    unsigned severity = policy_severity_of(subject->ruleset->policies, policy);
    return among + (SEVERITY_CRITICAL + 1U - severity) * (RUN_LIMIT_COUNT + 1U);
}

/** @return whether there is one; `*ret_policy` is its index */
static bool find_deciding(struct subject *subject, const struct policy_request *request,
                          struct policy_verdict *verdict, uint32_t *ret_policy)
{
    if (subject->answer.reason_count == 0) {
        verdict->counter = counter_of_permits(subject, request, ret_policy);
        return verdict->counter != RUN_LIMIT_COUNT;
    }
    unsigned lowest = UINT_MAX;
    for (size_t i = 0; i < subject->answer.reason_count && i < VERDICT_NAMED; i++) {
        uint32_t policy = subject->answer.reasons[i];
        enum run_limit counter = counter_of_forbid(subject, request, policy);
        unsigned this_rank = rank(subject, policy, counter);
        if (this_rank < lowest) {
            lowest = this_rank;
            verdict->counter = counter;
            *ret_policy = policy;
        }
    }
    return true;
}

/**
 * The limit that causes a denial. Where a forbid denies, only it is searched for: another one that
 * denies just now, whatever this counter is, says nothing about where this limit lies.
 */
static void measure(struct subject *subject, const struct policy_request *request,
                    const uint32_t *forbid, struct policy_verdict *verdict)
{
    if (verdict->counter == RUN_LIMIT_COUNT) {
        return;
    }
    struct limit_search search = search_in(subject);
    search.only = forbid;
    int64_t now = counter_value(request, verdict->counter);
    struct policy_limit limit = limit_find(&search, verdict->counter, 0, now);
    limit.value = limit_from_cedar(verdict->counter, now);
    limit.warn_at = LIMIT_DEFAULT_WARN_AT;
    if (!limit.is_known || limit.limit > limit.value) {
        /* An estimate misses what is denied only for a while; but this value is denied now. */
        limit.is_known = true;
        limit.is_estimated = true;
        limit.limit = limit.value;
    }
    verdict->limits[verdict->counter] = limit;
}

static bool all_ask(const struct subject *subject, const struct cedar_answer *answer)
{
    for (size_t i = 0; i < answer->reason_count; i++) {
        if (!may_ask(subject, answer->reasons[i])) {
            return false;
        }
    }
    return answer->reason_count > 0;
}

/** A forbid that failed, or NULL. */
static const struct cedar_failure *failed_forbid(const struct subject *subject,
                                                 const struct cedar_answer *answer)
{
    for (size_t i = 0; i < answer->error_count; i++) {
        if (cedar_policies_is_forbid(subject->ruleset->policies, answer->errors[i].policy)) {
            return &answer->errors[i];
        }
    }
    return NULL;
}

/** Cedar allows, but a forbid could not be evaluated: it might have forbidden. */
static void deny_for_failure(struct subject *subject, const struct cedar_failure *failure,
                             struct policy_verdict *verdict)
{
    verdict->outcome = VERDICT_DENY;
    verdict->reason = VERDICT_POLICY_ERROR;
    name_policy(subject, failure->policy, verdict);
    cedar_failure_describe(subject->ruleset->policies, failure, subject->problem,
                           sizeof(subject->problem));
    subject->has_problem = true;
}

static void judge(struct subject *subject, const struct policy_request *request,
                  struct policy_verdict *verdict)
{
    const struct cedar_failure *failure = failed_forbid(subject, &subject->answer);
    if (verdict->is_allowed_by_cedar) {
        verdict->outcome = VERDICT_ALLOW;
        verdict->reason = VERDICT_PERMITTED;
        if (failure != NULL) {
            deny_for_failure(subject, failure, verdict);
        }
        return;
    }
    verdict->outcome = VERDICT_DENY;
    verdict->reason = subject->answer.reason_count > 0 ? VERDICT_FORBIDDEN : VERDICT_NOT_PERMITTED;
    if (failure == NULL && all_ask(subject, &subject->answer)) {
        verdict->outcome = VERDICT_ASK;
        verdict->reason = VERDICT_APPROVAL_NEEDED;
    }
    uint32_t deciding = 0;
    if (find_deciding(subject, request, verdict, &deciding)) {
        name_policy(subject, deciding, verdict);
        measure(subject, request, subject->answer.reason_count > 0 ? &deciding : NULL, verdict);
    }
}

void subject_decide(struct subject *subject, const struct policy_request *request,
                    struct policy_verdict *ret_verdict)
{
    policy_verdict_init(ret_verdict);
    subject->answer = (struct cedar_answer){0};
    subject->has_problem = true;
    if (subject->entities == NULL) {
        return;
    }
    if (!build_request(subject, request)) {
        ret_verdict->reason = VERDICT_INVALID_CONTEXT;
        return;
    }
    subject->has_problem = false;
    cedar_authorize(subject->evaluator, subject->ruleset->policies, &subject->request,
                    &subject->answer);
    ret_verdict->is_allowed_by_cedar = subject->answer.is_allowed;
    judge(subject, request, ret_verdict);
}

/* ---- Limits ahead --------------------------------------------------------------------------- */

/** @return whether Cedar allows an iteration and no forbid failed; *ret_is_allowed: whether Cedar
 */
static bool may_iterate(struct subject *subject, bool *ret_is_allowed)
{
    struct cedar_answer answer;
    cedar_authorize(subject->prober, subject->ruleset->policies, &subject->request, &answer);
    *ret_is_allowed = answer.is_allowed;
    return answer.is_allowed && failed_forbid(subject, &answer) == NULL;
}

static int64_t warn_at(const struct subject *subject, size_t policy)
{
    const char *text = cedar_policies_annotation(subject->ruleset->policies, policy, "warn_at");
    int64_t percent = 0;
    return text != NULL && parse_int(text, 1, 100, &percent, NULL) == 0 ? percent
                                                                        : LIMIT_DEFAULT_WARN_AT;
}

/** An option of the run, or the default where it has none. */
static enum limit_source own_source(const struct subject *subject, enum run_limit counter)
{
    bool is_default = counter == RUN_LIMIT_ITERATIONS && subject->run.max_iterations == 0;
    return is_default ? LIMIT_FROM_DEFAULT : LIMIT_FROM_OPTION;
}

static void find_limit(struct subject *subject, const struct limit_search *search,
                       const struct policy_request *from, enum run_limit counter,
                       struct policy_limit *ret_limit)
{
    int64_t value = counter_value(from, counter);
    *ret_limit = limit_find(search, counter, value, value);
    ret_limit->warn_at = LIMIT_DEFAULT_WARN_AT;
    int64_t exact_ns = subject->run.max_elapsed_ns;
    if (counter == RUN_LIMIT_TIME && exact_ns > 0 && ret_limit->limit > exact_ns) {
        ret_limit->limit = exact_ns; /* Policies see whole seconds; the run has a clock. */
    }
    if (ret_limit->is_known && ret_limit->policy >= 0) {
        bool is_own = (size_t)ret_limit->policy >= subject->ruleset->given_count;
        ret_limit->warn_at = warn_at(subject, (size_t)ret_limit->policy);
        ret_limit->source = is_own ? own_source(subject, counter) : LIMIT_FROM_POLICY;
    }
}

void subject_find_limits(struct subject *subject, const struct policy_request *now,
                         struct policy_limit ret_limits[RUN_LIMIT_COUNT])
{
    struct policy_request from = *now;
    bool is_allowed = false;
    memset(ret_limits, 0, RUN_LIMIT_COUNT * sizeof(*ret_limits));
    from.action = ACTION_ITERATE;
    from.resource = NULL;
    if (subject->entities == NULL || !build_request(subject, &from)) {
        return;
    }
    if (!may_iterate(subject, &is_allowed)) {
        from = policy_request_at_start(&from);
        build_request(subject, &from);
        may_iterate(subject, &is_allowed);
    }
    struct limit_search search = search_in(subject);
    search.is_allowed = is_allowed;
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        find_limit(subject, &search, &from, i, &ret_limits[i]);
        ret_limits[i].value = policy_request_value(now, i);
    }
}

const struct cedar_answer *subject_answer(const struct subject *subject)
{
    return &subject->answer;
}

const char *subject_problem(const struct subject *subject)
{
    return subject->has_problem ? subject->problem : "";
}

const struct cedar_request *subject_request(const struct subject *subject)
{
    return &subject->request;
}
