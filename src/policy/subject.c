// SPDX-License-Identifier: Apache-2.0
/* Subjects and verdicts. Deciding allocates nothing, except for the arguments of a tool. */
#include "policy/subject.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "policy/cedar/entities.h"
#include "policy/subject_entities.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    struct subject_options options; /* texts owned */
    struct ruleset *ruleset;
    struct cedar_entities *entities; /* of the run; NULL = none could be made */
    struct cedar_uid *agent;
    struct cedar_uid *run;
    struct cedar_uid *actions[VOCABULARY_ACTION_COUNT];
    struct cedar_uid *other_resource; /* the tool or model of the last question */

    struct cedar_context *contexts[2]; /* [1] has the condition, for ACTION_VERIFY */
    struct cedar_context *input;       /* {iteration} */
    struct cedar_context *no_input;
    struct cedar_context *system;
    struct cedar_context *asked; /* the one of the last question */

    struct cedar_evaluator *evaluator; /* its answer is the verdict's, */
    struct cedar_evaluator *prober;    /* so probing for limits takes another */
    struct cedar_request request;
    char problem[RONDO_ERROR_MESSAGE_SIZE];
};

static struct subject_resource *dup_resources(const struct subject_options *options)
{
    struct subject_resource *copy = memory_new_zero(options->resource_count + 1, sizeof(*copy));
    for (size_t i = 0; i < options->resource_count; i++) {
        copy[i] = options->resources[i];
        copy[i].id = memory_dup_string(options->resources[i].id);
        copy[i].origin = memory_dup_string(options->resources[i].origin);
    }
    return copy;
}

static struct subject_options dup_options(const struct subject_options *options)
{
    struct subject_options copy = *options;
    copy.agent_id = memory_dup_string(options->agent_id);
    copy.run_id = memory_dup_string(options->run_id);
    copy.kind = memory_dup_string(options->kind == NULL ? "" : options->kind);
    copy.workspace = memory_dup_string(options->workspace == NULL ? "" : options->workspace);
    copy.resources = dup_resources(options);
    return copy;
}

static void free_options(struct subject_options *options)
{
    free((char *)options->agent_id);
    free((char *)options->run_id);
    free((char *)options->kind);
    free((char *)options->workspace);
    for (size_t i = 0; i < options->resource_count; i++) {
        free((char *)options->resources[i].id);
        free((char *)options->resources[i].origin);
    }
    free((struct subject_resource *)options->resources);
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
    struct subject_options options = subject->options;
    options.max_iterations = max_iterations;
    cedar_entities_free(subject->entities);
    subject->entities = subject_entities_make(&options, subject->ruleset, &err);
    snprintf(subject->problem, sizeof(subject->problem), "%s", err.message);
}

/** Whether a policy of the administrator counts the iterations of this very agent. */
static bool is_counted(const struct subject *subject)
{
    struct cedar_request request = {
        .principal = subject->agent,
        .action = subject->actions[ACTION_ITERATE],
        .resource = subject->run,
        .entities = subject->entities,
    };
    return subject->ruleset->counts_iterations &&
           limit_is_counted(subject->ruleset->policies, subject->ruleset->given_count, &request,
                            LIMIT_ITERATIONS);
}

static void remake_entities(struct subject *subject)
{
    if (subject->ruleset == NULL) {
        cedar_entities_free(subject->entities);
        subject->entities = NULL;
        snprintf(subject->problem, sizeof(subject->problem), "none were loaded");
        return;
    }
    make_entities(subject, subject->options.max_iterations);
    /* Groups of the agent decide, so its entity has to be there before this can be asked. */
    if (subject->options.max_iterations == 0 && !is_counted(subject)) {
        make_entities(subject, RULESET_DEFAULT_ITERATIONS);
    }
}

struct subject *subject_new(const struct subject_options *options)
{
    static const char *const now = "now";
    const char *iteration = vocabulary_context_name(CONTEXT_ITERATION);
    struct subject *subject = memory_new_zero(1, sizeof(*subject));
    subject->options = dup_options(options);
    subject->agent = cedar_uid_new("Agent", options->agent_id, NULL);
    subject->run = cedar_uid_new("Run", options->run_id, NULL);
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        subject->actions[i] = cedar_uid_new("Action", vocabulary_action_name(i), NULL);
    }
    /* The condition is the last attribute of the vocabulary, and only `verify` has it. */
    subject->contexts[0] = new_context(CONTEXT_CONDITION);
    subject->input = cedar_context_new(&iteration, 1);
    subject->no_input = cedar_context_new(NULL, 0);
    subject->system = cedar_context_new(&now, 1);
    subject->evaluator = cedar_evaluator_new();
    subject->prober = cedar_evaluator_new();
    remake_entities(subject);
    return subject;
}

void subject_free(struct subject *subject)
{
    if (subject == NULL) {
        return;
    }
    free_options(&subject->options);
    cedar_entities_free(subject->entities);
    ruleset_unref(subject->ruleset);
    cedar_uid_free(subject->agent);
    cedar_uid_free(subject->run);
    cedar_uid_free(subject->other_resource);
    for (size_t i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        cedar_uid_free(subject->actions[i]);
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

void subject_set_options(struct subject *subject, const struct subject_options *options)
{
    struct subject_options copy = dup_options(options);
    free_options(&subject->options);
    subject->options = copy;
    remake_entities(subject);
}

void subject_set_ruleset(struct subject *subject, struct ruleset *ruleset)
{
    struct ruleset *old = subject->ruleset;
    subject->ruleset = ruleset == NULL ? NULL : ruleset_ref(ruleset);
    remake_entities(subject); /* They stand on those of the ruleset. */
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

int64_t subject_value(const struct subject_facts *facts, enum limit_counter counter)
{
    switch (counter) {
    case LIMIT_ITERATIONS:
        return facts->iteration;
    case LIMIT_TOKENS:
        return facts->tokens;
    case LIMIT_COST:
        return cost_units(facts->cost_micro);
    case LIMIT_TIME:
        return facts->elapsed_ns / NS_PER_S;
    case LIMIT_COUNTER_COUNT:
        break;
    }
    return 0;
}

/** Days since a Thursday, the first of January 1970; 1 = Monday. */
static int64_t weekday(int64_t now_ms)
{
    int64_t ms_per_day = INT64_C(86400000);
    int64_t days = now_ms / ms_per_day - (now_ms % ms_per_day < 0 ? 1 : 0);
    return ((days + 3) % 7 + 7) % 7 + 1;
}

static void set_counter(void *context, enum limit_counter counter, int64_t value)
{
    struct subject *subject = context;
    switch (counter) {
    case LIMIT_ITERATIONS:
        cedar_context_set(subject->asked, CONTEXT_ITERATION, cedar_long(value));
        cedar_context_set(subject->input, 0, cedar_long(value));
        break;
    case LIMIT_TOKENS:
        cedar_context_set(subject->asked, CONTEXT_TOKENS, cedar_long(value));
        break;
    case LIMIT_COST:
        cedar_context_set(subject->asked, CONTEXT_COST_USD, cedar_decimal(value));
        break;
    case LIMIT_TIME:
        cedar_context_set(subject->asked, CONTEXT_ELAPSED_S, cedar_long(value));
        break;
    case LIMIT_COUNTER_COUNT:
        break;
    }
}

static void set_record(struct cedar_context *context, enum vocabulary_context attribute,
                       const struct cedar_context *record)
{
    cedar_context_set(context, attribute, cedar_object(CEDAR_RECORD, &record->record));
}

static void set_facts(struct subject *subject, const struct subject_facts *facts)
{
    struct cedar_context *context = subject->asked;
    int64_t now_ms = facts->now_ns / NS_PER_MS;
    for (enum limit_counter i = 0; i < LIMIT_COUNTER_COUNT; i++) {
        set_counter(subject, i, subject_value(facts, i));
    }
    cedar_context_set(context, CONTEXT_CONSECUTIVE_FAILURES,
                      cedar_long(facts->consecutive_failures));
    cedar_context_set(context, CONTEXT_CONDITIONS_MET, cedar_long(facts->conditions_met));
    cedar_context_set(context, CONTEXT_CONDITIONS_TOTAL, cedar_long(facts->conditions_total));
    cedar_context_set(context, CONTEXT_APPROVED, cedar_bool(facts->is_approved));
    cedar_context_set(context, CONTEXT_NOW, cedar_datetime(now_ms));
    cedar_context_set(context, CONTEXT_WEEKDAY, cedar_long(weekday(now_ms)));
    cedar_context_set(subject->system, 0, cedar_datetime(now_ms));
    set_record(context, CONTEXT_SYSTEM, subject->system);
}

/** Arguments of a tool. A value that is no record would be one that no policy is written for. */
static bool set_arguments(struct subject *subject, enum vocabulary_context attribute,
                          const char *input)
{
    struct cedar_context *context = subject->asked;
    struct rondo_error err = {0};
    int r = cedar_context_set_json(context, attribute, input, strlen(input), &err);
    const struct cedar_field *field = &context->record.fields[context->field_of[attribute]];
    if (r == 0 && field->value.kind != CEDAR_RECORD) {
        r = error_set(&err, RONDO_ERR_INVALID, "the arguments are no object");
    }
    snprintf(subject->problem, sizeof(subject->problem), "%s", err.message);
    return r == 0;
}

/** What belongs to one action. @return false when it cannot be expressed */
static bool set_step(struct subject *subject, const struct subject_step *step)
{
    struct cedar_context *context = subject->asked;
    if (step->action == ACTION_VERIFY) {
        const char *condition = step->condition == NULL ? "" : step->condition;
        cedar_context_set_string(context, CONTEXT_CONDITION, condition, strlen(condition));
    }
    if (step->action == ACTION_CALL_TOOL && step->input != NULL) {
        return set_arguments(subject, CONTEXT_INPUT, step->input) &&
               set_arguments(subject, CONTEXT_RAW, step->raw == NULL ? step->input : step->raw);
    }
    const struct cedar_context *input =
        step->action == ACTION_ITERATE ? subject->input : subject->no_input;
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
    subject->asked = subject->contexts[which];
}

static const struct cedar_uid *resource_of(struct subject *subject, const struct subject_step *step)
{
    if (step->resource == NULL) {
        return subject->run;
    }
    cedar_uid_free(subject->other_resource);
    subject->other_resource =
        cedar_uid_new(vocabulary_action_resource(step->action), step->resource, NULL);
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
static bool ask(struct subject *subject, const struct subject_facts *facts,
                const struct subject_step *step)
{
    choose_context(subject, step->action);
    set_facts(subject, facts);
    bool is_good = set_step(subject, step);
    subject->request = (struct cedar_request){
        .principal = subject->agent,
        .action = subject->actions[step->action],
        .resource = resource_of(subject, step),
        .context = subject->asked,
        .entities = subject->entities,
    };
    return is_good && has_parts(subject);
}

static struct limit_question question_of(struct subject *subject)
{
    return (struct limit_question){
        .evaluator = subject->prober,
        .policies = subject->ruleset->policies,
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

/** The decision if a counter stood at its start. */
static void answer_from_zero(struct subject *subject, const struct subject_facts *facts,
                             enum limit_counter counter, struct cedar_answer *ret_answer)
{
    set_counter(subject, counter, 0);
    cedar_authorize(subject->prober, subject->ruleset->policies, &subject->request, ret_answer);
    set_counter(subject, counter, subject_value(facts, counter));
}

/** Which counter makes a forbid deny: the first one without which it would not. */
static enum limit_counter counter_of_forbid(struct subject *subject,
                                            const struct subject_facts *facts, uint32_t policy)
{
    for (enum limit_counter i = 0; i < LIMIT_COUNTER_COUNT; i++) {
        struct cedar_answer answer;
        answer_from_zero(subject, facts, i, &answer);
        if (answer.is_allowed || !is_among(&answer, policy)) {
            return i;
        }
    }
    return LIMIT_COUNTER_COUNT;
}

/** The same where no permit is satisfied; `*ret_policy` is the permit that would be. */
static enum limit_counter counter_of_permits(struct subject *subject,
                                             const struct subject_facts *facts,
                                             uint32_t *ret_policy)
{
    for (enum limit_counter i = 0; i < LIMIT_COUNTER_COUNT; i++) {
        struct cedar_answer answer;
        answer_from_zero(subject, facts, i, &answer);
        if (answer.is_allowed) {
            *ret_policy = answer.reasons[0];
            return i;
        }
    }
    return LIMIT_COUNTER_COUNT;
}

static void name_policy(const struct subject *subject, uint32_t policy, struct verdict *verdict)
{
    const struct cedar_policies *policies = subject->ruleset->policies;
    const char *reason = cedar_policies_annotation(policies, policy, "reason");
    verdict->policy = cedar_policies_id(policies, policy);
    verdict->text = reason == NULL ? "" : reason;
    verdict->is_own = policy >= subject->ruleset->given_count;
}

/** Whether a policy's denial may be lifted by a person. */
static bool asks(const struct subject *subject, uint32_t policy)
{
    const char *value = cedar_policies_annotation(subject->ruleset->policies, policy, "on_deny");
    return value != NULL && strcmp(value, "ask") == 0;
}

/**
 * Of several forbids the one with the lowest rank is reported: one that has nothing to do with a
 * counter before a limit, limits in the order of the counters, and last what a person may lift.
 */
static unsigned rank(const struct subject *subject, uint32_t policy, enum limit_counter counter)
{
    unsigned among = counter == LIMIT_COUNTER_COUNT ? 0 : (unsigned)counter + 1;
    return among + (asks(subject, policy) ? LIMIT_COUNTER_COUNT + 1U : 0);
}

/** @return whether there is one; `*ret_policy` is its index */
static bool find_deciding(struct subject *subject, const struct subject_facts *facts,
                          struct verdict *verdict, uint32_t *ret_policy)
{
    if (verdict->answer.reason_count == 0) {
        verdict->counter = counter_of_permits(subject, facts, ret_policy);
        return verdict->counter != LIMIT_COUNTER_COUNT;
    }
    unsigned lowest = UINT_MAX;
    for (size_t i = 0; i < verdict->answer.reason_count && i < VERDICT_NAMED; i++) {
        uint32_t policy = verdict->answer.reasons[i];
        enum limit_counter counter = counter_of_forbid(subject, facts, policy);
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
 * The limit behind a denial. Where a forbid denies, only it is asked about: another one that denies
 * just now, whatever this counter is, says nothing about where this limit lies.
 */
static void measure(struct subject *subject, const struct subject_facts *facts,
                    const uint32_t *forbid, struct verdict *verdict)
{
    if (verdict->counter == LIMIT_COUNTER_COUNT) {
        return;
    }
    struct limit_question question = question_of(subject);
    question.only = forbid;
    verdict->value = subject_value(facts, verdict->counter);
    verdict->limit = limit_find(&question, verdict->counter, 0, verdict->value);
    if (!verdict->limit.is_known || verdict->limit.value > verdict->value) {
        /* An estimate misses what is denied only for a while; but this value is denied now. */
        verdict->limit.is_known = true;
        verdict->limit.is_estimated = true;
        verdict->limit.value = verdict->value;
    }
}

static bool all_ask(const struct subject *subject, const struct cedar_answer *answer)
{
    for (size_t i = 0; i < answer->reason_count; i++) {
        if (!asks(subject, answer->reasons[i])) {
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
                             struct verdict *verdict)
{
    verdict->outcome = VERDICT_DENY;
    verdict->reason = VERDICT_POLICY_ERROR;
    name_policy(subject, failure->policy, verdict);
    cedar_failure_describe(subject->ruleset->policies, failure, subject->problem,
                           sizeof(subject->problem));
    verdict->problem = subject->problem;
}

static void judge(struct subject *subject, const struct subject_facts *facts,
                  struct verdict *verdict)
{
    const struct cedar_failure *failure = failed_forbid(subject, &verdict->answer);
    if (verdict->is_allowed_by_cedar) {
        verdict->outcome = VERDICT_ALLOW;
        verdict->reason = VERDICT_PERMITTED;
        if (failure != NULL) {
            deny_for_failure(subject, failure, verdict);
        }
        return;
    }
    verdict->outcome = VERDICT_DENY;
    verdict->reason = verdict->answer.reason_count > 0 ? VERDICT_FORBIDDEN : VERDICT_NOT_PERMITTED;
    if (failure == NULL && all_ask(subject, &verdict->answer)) {
        verdict->outcome = VERDICT_ASK;
        verdict->reason = VERDICT_APPROVAL_NEEDED;
    }
    uint32_t deciding = 0;
    if (find_deciding(subject, facts, verdict, &deciding)) {
        name_policy(subject, deciding, verdict);
        measure(subject, facts, verdict->answer.reason_count > 0 ? &deciding : NULL, verdict);
    }
}

void subject_decide(struct subject *subject, const struct subject_facts *facts,
                    const struct subject_step *step, struct verdict *ret_verdict)
{
    struct verdict verdict = {
        .outcome = VERDICT_DENY,
        .reason = VERDICT_UNAVAILABLE,
        .counter = LIMIT_COUNTER_COUNT,
        .policy = "",
        .text = "",
        .problem = "",
    };
    if (subject->entities == NULL) {
        verdict.problem = subject->problem;
    } else if (!ask(subject, facts, step)) {
        verdict.reason = VERDICT_INVALID_CONTEXT;
        verdict.problem = subject->problem;
    } else {
        cedar_authorize(subject->evaluator, subject->ruleset->policies, &subject->request,
                        &verdict.answer);
        verdict.is_allowed_by_cedar = verdict.answer.is_allowed;
        judge(subject, facts, &verdict);
    }
    *ret_verdict = verdict;
}

struct limit subject_limit(struct subject *subject, const struct subject_facts *facts,
                           enum limit_counter counter)
{
    if (subject->entities == NULL) {
        return (struct limit){0};
    }
    if (!ask(subject, facts, &(struct subject_step){.action = ACTION_ITERATE})) {
        return (struct limit){0};
    }
    struct limit_question question = question_of(subject);
    int64_t value = subject_value(facts, counter);
    return limit_find(&question, counter, value, value);
}

const char *verdict_outcome_name(enum verdict_outcome outcome)
{
    static const char *const names[] = {"allow", "deny", "ask"};
    return names[outcome];
}

const char *verdict_reason_name(enum verdict_reason reason)
{
    static const char *const names[] = {
        [VERDICT_PERMITTED] = "permitted",
        [VERDICT_FORBIDDEN] = "forbidden",
        [VERDICT_NOT_PERMITTED] = "not_permitted",
        [VERDICT_APPROVAL_NEEDED] = "approval_needed",
        [VERDICT_POLICY_ERROR] = "policy_error",
        [VERDICT_INVALID_CONTEXT] = "invalid_context",
        [VERDICT_UNAVAILABLE] = "policy_unavailable",
    };
    return names[reason];
}

const struct cedar_request *subject_request(const struct subject *subject)
{
    return &subject->request;
}

struct cedar_evaluator *subject_evaluator(struct subject *subject)
{
    return subject->evaluator;
}
