// SPDX-License-Identifier: Apache-2.0
/* Policies as a gate: requests become questions of the run's subject, verdicts decisions. */
#include "loop/policy_gate.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "policy/subject.h"
#include "policy/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Per cent of a limit at which to warn when the policy does not say @warn_at. */
#define DEFAULT_WARN_AT 80

struct policy_gate {
    struct watch *watch; /* the runtime's */
    struct watch_view view;
    struct watch_message message;
    struct subject *subject;
    char in_force[DIGEST_HEX_SIZE];     /* what the journal was told last; "" = built in */
    bool has_refusal;                   /* to be told with the next refresh */
    struct subject_resource *resources; /* own copies: the subject wants them with its options */
    size_t resource_count;
};

/* A limit has one number in the journal and in the policies; the names are the same, too. */
_Static_assert((int)LIMIT_ITERATIONS == (int)RUN_LIMIT_ITERATIONS &&
                   (int)LIMIT_TOKENS == (int)RUN_LIMIT_TOKENS &&
                   (int)LIMIT_COST == (int)RUN_LIMIT_COST &&
                   (int)LIMIT_TIME == (int)RUN_LIMIT_TIME &&
                   (int)LIMIT_COUNTER_COUNT == (int)RUN_LIMIT_COUNT,
               "the limits of policies and of the journal are one list");

/** Units of a counter in the journal for one of its units in policies. */
static int64_t journal_unit(enum limit_counter counter)
{
    return counter == LIMIT_COST ? 100 : counter == LIMIT_TIME ? NS_PER_S : 1;
}

static int64_t to_journal(enum limit_counter counter, int64_t value)
{
    int64_t result = 0;
    bool is_too_large = __builtin_mul_overflow(value, journal_unit(counter), &result);
    return is_too_large ? INT64_MAX : result;
}

static struct subject_facts facts_of(const struct gate_request *request)
{
    return (struct subject_facts){
        .iteration = (int64_t)request->completed_iterations,
        .elapsed_ns = request->elapsed_ns,
        .tokens = request->tokens,
        .cost_micro = request->cost_micro,
        .consecutive_failures = (int64_t)request->consecutive_failures,
        .conditions_met = request->conditions_met,
        .conditions_total = request->conditions_total,
        .now_ns = request->now_ns,
        .is_approved = request->is_approved,
    };
}

/* ---- Denials in words ----------------------------------------------------------------------- */

static const struct {
    enum rondo_status status;
    const char *option; /* that raises the run's own limit */
    const char *unit;   /* between the figure and the words, */
    const char *one;    /* and for a figure of 1 */
} counters[] = {
    [LIMIT_ITERATIONS] = {RONDO_MAX_ITERATIONS, "--max-iterations", " iterations", " iteration"},
    [LIMIT_TOKENS] = {RONDO_BUDGET_EXCEEDED, "--max-tokens", " tokens", " token"},
    [LIMIT_COST] = {RONDO_BUDGET_EXCEEDED, "--max-cost", "", ""},
    [LIMIT_TIME] = {RONDO_TIMEOUT, "--time-limit", "", ""},
};

static void write_figure(enum limit_counter counter, int64_t value, struct buf *ret_text)
{
    if (counter == LIMIT_COST) {
        buf_printf(ret_text, "%.15g", (double)value / 10000);
    } else if (counter == LIMIT_TIME) {
        char text[FORMAT_DURATION_SIZE];
        format_duration(to_journal(counter, value), text);
        buf_append_string(ret_text, text);
    } else {
        buf_printf(ret_text, "%" PRId64, value);
    }
}

/** "the limit of 100 iterations is used up (100 so far)" */
static void write_limit(const struct verdict *verdict, struct buf *ret_text)
{
    buf_append_string(ret_text, verdict->counter == LIMIT_COST   ? "the cost limit of "
                                : verdict->counter == LIMIT_TIME ? "the time limit of "
                                                                 : "the limit of ");
    write_figure(verdict->counter, verdict->limit.value, ret_text);
    bool is_one = verdict->limit.value == 1;
    buf_printf(ret_text, "%s is used up (",
               is_one ? counters[verdict->counter].one : counters[verdict->counter].unit);
    write_figure(verdict->counter, verdict->value, ret_text);
    buf_append_string(ret_text, " so far)");
}

static void write_forbidden(const struct verdict *verdict, const char *action, struct buf *ret_text)
{
    if (verdict->counter != LIMIT_COUNTER_COUNT) {
        write_limit(verdict, ret_text);
        if (verdict->is_own) {
            buf_printf(ret_text, "; raise it with %s", counters[verdict->counter].option);
            return;
        }
        buf_printf(ret_text, "; policy `%s` says so", verdict->policy);
    } else {
        buf_printf(ret_text, "policy `%s` forbids `%s`", verdict->policy, action);
    }
    if (verdict->text[0] != '\0') {
        buf_printf(ret_text, ": %s", verdict->text);
    }
}

static void write_message(const struct verdict *verdict, enum vocabulary_action asked,
                          struct buf *ret_text)
{
    const char *action = vocabulary_action_name(asked);
    switch (verdict->reason) {
    case VERDICT_PERMITTED:
        break;
    case VERDICT_FORBIDDEN:
        write_forbidden(verdict, action, ret_text);
        break;
    case VERDICT_NOT_PERMITTED:
        if (verdict->counter != LIMIT_COUNTER_COUNT) {
            write_forbidden(verdict, action, ret_text);
        } else {
            buf_printf(ret_text, "no policy permits `%s`; see `rondo policy explain`", action);
        }
        break;
    case VERDICT_APPROVAL_NEEDED:
        buf_printf(ret_text, "policy `%s` wants a person's approval of `%s`%s%s", verdict->policy,
                   action, verdict->text[0] != '\0' ? ": " : "", verdict->text);
        break;
    case VERDICT_POLICY_ERROR:
        buf_printf(ret_text, "policy `%s` could not be evaluated, which counts as a denial: %s",
                   verdict->policy, verdict->problem);
        break;
    case VERDICT_INVALID_CONTEXT:
        buf_printf(ret_text, "policies cannot be asked about this: %s", verdict->problem);
        break;
    case VERDICT_UNAVAILABLE:
        buf_printf(ret_text, "there are no policies to ask: %s", verdict->problem);
        break;
    }
}

/* ---- Decisions ------------------------------------------------------------------------------ */

/**
 * Add an entry to a JSON array if it fits, with the bracket that will close it: half an entry would
 * not be JSON.
 */
static void add_entry(const struct buf *entry, struct buf *list)
{
    if (list->len + entry->len + sizeof(",]") <= GATE_LIST_SIZE) {
        buf_append_string(list, list->len == 0 ? "[" : ",");
        buf_append(list, entry->data, entry->len);
    }
}

static void keep_list(struct buf *list, char *ret_list)
{
    buf_append_string(list, list->len == 0 ? "[]" : "]");
    snprintf(ret_list, GATE_LIST_SIZE, "%s", buf_string(list));
}

static void keep_policies(const struct cedar_policies *policies, const struct cedar_answer *answer,
                          char *ret_list)
{
    auto_buf struct buf list = {0};
    auto_buf struct buf entry = {0};
    for (size_t i = 0; i < answer->reason_count && i < VERDICT_NAMED; i++) {
        struct json_writer writer = json_writer(&entry);
        buf_clear(&entry);
        json_write_string(&writer, NULL, cedar_policies_id(policies, answer->reasons[i]));
        add_entry(&entry, &list);
    }
    keep_list(&list, ret_list);
}

static void keep_errors(const struct cedar_policies *policies, const struct cedar_answer *answer,
                        char *ret_list)
{
    auto_buf struct buf list = {0};
    auto_buf struct buf entry = {0};
    for (size_t i = 0; i < answer->error_count && i < VERDICT_NAMED; i++) {
        const struct cedar_failure *failure = &answer->errors[i];
        struct json_writer writer = json_writer(&entry);
        char text[256];
        cedar_failure_describe(policies, failure, text, sizeof(text));
        buf_clear(&entry);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "policy", cedar_policies_id(policies, failure->policy));
        json_write_string(&writer, "code", cedar_failure_name(failure->code));
        json_write_string(&writer, "message", text);
        json_end_object(&writer);
        add_entry(&entry, &list);
    }
    keep_list(&list, ret_list);
}

static void keep_plain(const struct policy_gate *policy_gate, const struct verdict *verdict,
                       struct gate_decision *decision)
{
    const struct ruleset *ruleset = subject_ruleset(policy_gate->subject);
    if (ruleset == NULL || verdict->reason == VERDICT_UNAVAILABLE ||
        verdict->reason == VERDICT_INVALID_CONTEXT) {
        return;
    }
    snprintf(decision->decision, sizeof(decision->decision), "%s",
             verdict->is_allowed_by_cedar ? "allow" : "deny");
    snprintf(decision->sha256, sizeof(decision->sha256), "%s", ruleset->digest);
    keep_policies(ruleset->policies, &verdict->answer, decision->policies);
    if (verdict->answer.error_count > 0) {
        keep_errors(ruleset->policies, &verdict->answer, decision->errors);
    }
}

static void deny(const struct policy_gate *policy_gate, const struct gate_request *request,
                 const struct verdict *verdict, struct gate_decision *decision)
{
    auto_buf struct buf message = {0};
    bool is_limit = verdict->counter != LIMIT_COUNTER_COUNT && verdict->outcome == VERDICT_DENY;
    decision->needs_approval = verdict->outcome == VERDICT_ASK;
    decision->status = is_limit ? counters[verdict->counter].status : RONDO_POLICY_VIOLATION;
    snprintf(decision->policy, sizeof(decision->policy), "%s", verdict->policy);
    snprintf(decision->reason, sizeof(decision->reason), "%s",
             verdict_reason_name(verdict->reason));
    snprintf(decision->text, sizeof(decision->text), "%s", verdict->text);
    if (is_limit) {
        snprintf(decision->limit_name, sizeof(decision->limit_name), "%s",
                 limit_counter_name(verdict->counter));
        decision->limit = to_journal(verdict->counter, verdict->limit.value);
        decision->value = to_journal(verdict->counter, verdict->value);
        decision->limits[verdict->counter] = (struct gate_limit){
            .is_known = verdict->limit.is_known,
            .is_estimated = verdict->limit.is_estimated,
            .limit = decision->limit,
            .value = decision->value,
            .warn_at = DEFAULT_WARN_AT,
        };
    }
    write_message(verdict, request->action, &message);
    snprintf(decision->message, sizeof(decision->message), "%s", buf_string(&message));
    keep_plain(policy_gate, verdict, decision);
}

static int64_t warn_at(const struct policy_gate *policy_gate, const struct limit *limit)
{
    const struct ruleset *ruleset = subject_ruleset(policy_gate->subject);
    if (!limit->is_known || limit->policy < 0) {
        return DEFAULT_WARN_AT;
    }
    const char *text =
        cedar_policies_annotation(ruleset->policies, (size_t)limit->policy, "warn_at");
    int64_t percent = 0;
    return text != NULL && parse_int(text, 1, 100, &percent, NULL) == 0 ? percent : DEFAULT_WARN_AT;
}

/** What is measured against a limit, as exactly as it is known: policies see whole seconds. */
static int64_t used(const struct subject_facts *facts, enum limit_counter counter)
{
    switch (counter) {
    case LIMIT_COST:
        return facts->cost_micro;
    case LIMIT_TIME:
        return facts->elapsed_ns;
    case LIMIT_ITERATIONS:
    case LIMIT_TOKENS:
    case LIMIT_COUNTER_COUNT:
        break;
    }
    return subject_value(facts, counter);
}

/** Search each limit from some facts on. @param now what is measured against them */
static void search_limits(struct policy_gate *policy_gate, const struct subject_facts *from,
                          const struct subject_facts *now,
                          struct gate_limit ret_limits[RUN_LIMIT_COUNT])
{
    for (enum limit_counter i = 0; i < LIMIT_COUNTER_COUNT; i++) {
        struct limit limit = subject_limit(policy_gate->subject, from, i);
        ret_limits[i] = (struct gate_limit){
            .is_known = limit.is_known,
            .is_estimated = limit.is_estimated,
            .limit = to_journal(i, limit.value),
            .value = used(now, i),
            .warn_at = warn_at(policy_gate, &limit),
        };
    }
}

/** Ahead of an iteration: what will stop the run, and when. */
static void find_ahead(struct policy_gate *policy_gate, const struct subject_facts *facts,
                       struct gate_decision *decision)
{
    search_limits(policy_gate, facts, facts, decision->limits);
    if (decision->limits[LIMIT_ITERATIONS].is_known) {
        decision->iteration_limit = (uint64_t)decision->limits[LIMIT_ITERATIONS].limit;
    }
}

static void decide(const struct gate *gate, const struct gate_request *request,
                   struct gate_decision *ret_decision)
{
    struct policy_gate *policy_gate = gate->context;
    struct subject_facts facts = facts_of(request);
    struct subject_step step = {
        .action = request->action,
        .resource = request->resource,
        .condition = request->condition,
        .input = request->input,
        .raw = request->raw,
    };
    struct verdict verdict;
    subject_decide(policy_gate->subject, &facts, &step, &verdict);
    memset(ret_decision, 0, sizeof(*ret_decision)); /* A literal would be a copy on the stack. */
    ret_decision->is_allowed = verdict.outcome == VERDICT_ALLOW;
    if (!ret_decision->is_allowed) {
        deny(policy_gate, request, &verdict, ret_decision);
    } else if (request->action == ACTION_ITERATE) {
        find_ahead(policy_gate, &facts, ret_decision);
    }
}

/** The facts that a run begins with: from there on each limit is met by itself. */
static struct subject_facts at_start(const struct subject_facts *now)
{
    struct subject_facts facts = *now;
    facts.iteration = 0;
    facts.elapsed_ns = 0;
    facts.tokens = 0;
    facts.cost_micro = 0;
    return facts;
}

/** Where the next iteration is denied, a limit that is used up would hide the others. */
static void find_limits(const struct gate *gate, const struct gate_request *request,
                        struct gate_limit ret_limits[RUN_LIMIT_COUNT])
{
    struct policy_gate *policy_gate = gate->context;
    struct subject_facts now = facts_of(request);
    struct subject_step step = {.action = ACTION_ITERATE};
    struct verdict verdict;
    subject_decide(policy_gate->subject, &now, &step, &verdict);
    struct subject_facts from = verdict.outcome == VERDICT_ALLOW ? now : at_start(&now);
    search_limits(policy_gate, &from, &now, ret_limits);
}

/* ---- Changes -------------------------------------------------------------------------------- */

/**
 * {"iterations":100,"cost":5000000}: what a run with these rules meets from its start, each limit
 * by itself. From where the run stands now, one that is used up would hide the others.
 */
static void write_limits(struct policy_gate *policy_gate, const struct subject_facts *now,
                         char *ret_json, size_t size)
{
    struct subject_facts facts = at_start(now);
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    for (enum limit_counter i = 0; i < LIMIT_COUNTER_COUNT; i++) {
        struct limit limit = subject_limit(policy_gate->subject, &facts, i);
        if (limit.is_known) {
            json_write_int(&writer, limit_counter_name(i), to_journal(i, limit.value));
        }
    }
    json_end_object(&writer);
    snprintf(ret_json, size, "%s", buf_string(&json));
}

/** Digest as the journal has it: built-in rules need no record, because the version says them. */
static const char *recorded_digest(const struct ruleset *ruleset)
{
    return strcmp(ruleset->source, RULESET_BUILT_IN) == 0 ? "" : ruleset->digest;
}

static void tell_change(struct policy_gate *policy_gate, const struct subject_facts *facts,
                        struct gate_news *ret_news)
{
    const struct ruleset *ruleset = policy_gate->view.ruleset;
    bool is_first = subject_ruleset(policy_gate->subject) == NULL;
    if (!is_first) {
        write_limits(policy_gate, facts, ret_news->old_limits, sizeof(ret_news->old_limits));
    }
    subject_set_ruleset(policy_gate->subject, policy_gate->view.ruleset);
    if (strcmp(policy_gate->in_force, recorded_digest(ruleset)) == 0) {
        return;
    }
    ret_news->kind = GATE_CHANGED;
    ret_news->sha256 = recorded_digest(ruleset);
    ret_news->source = ruleset->source;
    ret_news->by = policy_gate->message.by;
    write_limits(policy_gate, facts, ret_news->limits, sizeof(ret_news->limits));
    snprintf(policy_gate->in_force, sizeof(policy_gate->in_force), "%s", recorded_digest(ruleset));
}

static void tell_refusal(struct policy_gate *policy_gate, struct gate_news *ret_news)
{
    const struct ruleset *ruleset = policy_gate->view.ruleset;
    policy_gate->has_refusal = false;
    ret_news->kind = GATE_REFUSED;
    ret_news->sha256 = ruleset->digest;
    ret_news->source = ruleset->source;
    ret_news->by = policy_gate->message.by;
    ret_news->message = policy_gate->message.text;
}

static void refresh(const struct gate *gate, const struct gate_request *request,
                    struct gate_news *ret_news)
{
    struct policy_gate *policy_gate = gate->context;
    struct subject_facts facts = facts_of(request);
    *ret_news = (struct gate_news){0};
    int news = watch_look(policy_gate->watch, &policy_gate->view, &policy_gate->message, NULL);
    policy_gate->has_refusal = policy_gate->has_refusal || news == WATCH_REFUSED;
    if (subject_ruleset(policy_gate->subject) != policy_gate->view.ruleset) {
        tell_change(policy_gate, &facts, ret_news);
    }
    if (ret_news->kind == GATE_NO_NEWS && policy_gate->has_refusal) {
        tell_refusal(policy_gate, ret_news);
    }
}

/** A file that is gone must not lift limits: a run that stood under it does not go on without. */
static int check_file_is_there(const struct policy_gate *policy_gate, const char *in_force,
                               struct rondo_error *err)
{
    bool is_built_in = strcmp(policy_gate->view.ruleset->source, RULESET_BUILT_IN) == 0;
    if (in_force[0] == '\0' || !is_built_in) {
        return 0;
    }
    return error_set(err, RONDO_ERR_NOT_FOUND,
                     "the policy file that the run stood under is gone (digest %.12s; see `rondo "
                     "policy history`); put it back, or name other policies with --policy",
                     in_force);
}

static struct subject_options options_of(const struct loop_spec *spec, const char *run_id)
{
    return (struct subject_options){
        .agent_id = spec->agent_id,
        .run_id = run_id,
        .kind = spec->kind,
        .workspace = spec->workspace,
        .max_iterations = spec->max_iterations,
        .max_tokens = spec->max_tokens,
        .max_cost_micro = spec->max_cost_micro,
        .max_elapsed_ns = spec->time_limit_ns,
    };
}

int policy_gate_new(struct runtime *runtime, const struct loop_spec *spec, const char *run_id,
                    const char *in_force, bool is_named, struct policy_gate **ret_gate,
                    struct rondo_error *err)
{
    struct policy_gate *policy_gate = memory_new_zero(1, sizeof(*policy_gate));
    policy_gate->watch = runtime_policies(runtime, spec->policy);
    if (runtime_policies_in_reach(runtime, spec)) {
        bool is_confirming = is_named && runtime_policies_are_named(runtime, spec);
        watch_set_reach(policy_gate->watch, is_confirming ? WATCH_NAMED : WATCH_IN_REACH);
    }
    int r = watch_look(policy_gate->watch, &policy_gate->view, &policy_gate->message, err);
    if (r >= 0) {
        r = check_file_is_there(policy_gate, in_force, err);
    }
    if (r < 0) {
        error_prefix(err, "the policies cannot be used");
        policy_gate_free(policy_gate);
        return r;
    }
    snprintf(policy_gate->in_force, sizeof(policy_gate->in_force), "%s", in_force);
    struct subject_options options = options_of(spec, run_id);
    policy_gate->subject = subject_new(&options);
    *ret_gate = policy_gate;
    return 0;
}

static void free_resources(struct policy_gate *policy_gate)
{
    for (size_t i = 0; i < policy_gate->resource_count; i++) {
        free((char *)policy_gate->resources[i].id);
        free((char *)policy_gate->resources[i].origin);
    }
    free(policy_gate->resources);
    policy_gate->resources = NULL;
    policy_gate->resource_count = 0;
}

void policy_gate_set_resources(struct policy_gate *policy_gate, const struct loop_spec *spec,
                               const char *run_id, const struct subject_resource *resources,
                               size_t count)
{
    free_resources(policy_gate);
    policy_gate->resources = memory_new_zero(count, sizeof(*resources));
    policy_gate->resource_count = count;
    for (size_t i = 0; i < count; i++) {
        policy_gate->resources[i] = resources[i];
        policy_gate->resources[i].id = memory_dup_string(resources[i].id);
        policy_gate->resources[i].origin = memory_dup_string(resources[i].origin);
    }
    policy_gate_set_limits(policy_gate, spec, run_id);
}

void policy_gate_set_limits(struct policy_gate *policy_gate, const struct loop_spec *spec,
                            const char *run_id)
{
    struct subject_options options = options_of(spec, run_id);
    options.resources = policy_gate->resources;
    options.resource_count = policy_gate->resource_count;
    subject_set_options(policy_gate->subject, &options);
}

void policy_gate_free(struct policy_gate *policy_gate)
{
    if (policy_gate == NULL) {
        return;
    }
    subject_free(policy_gate->subject);
    watch_view_fini(&policy_gate->view);
    free_resources(policy_gate);
    free(policy_gate);
}

const struct ruleset *policy_gate_ruleset(const struct policy_gate *policy_gate)
{
    return policy_gate->view.ruleset;
}

struct gate policy_gate_as_gate(struct policy_gate *policy_gate)
{
    return (struct gate){
        .decide = decide,
        .refresh = refresh,
        .find_limits = find_limits,
        .context = policy_gate,
    };
}
