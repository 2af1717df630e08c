// SPDX-License-Identifier: Apache-2.0
/* A run's limits, asked of its policies. */
#include "loop/limits_ahead.h"

#include "base/clock.h"
#include "base/parse.h"
#include "policy/watch.h"

#include <stdio.h>
#include <string.h>

/** Per cent of a limit at which to warn when the policy does not say @warn_at. */
#define DEFAULT_WARN_AT 80

static void ask(const struct outlook_run *run, struct question *question)
{
    const struct loop_spec *spec = run->spec;
    const struct run_state *state = run->state;
    question_set_text(&question->options.agent_id, run->agent_id);
    question_set_text(&question->options.run_id, run->run_id);
    question_set_text(&question->options.kind, spec->kind);
    question_set_text(&question->options.workspace, spec->workspace);
    question->options.max_iterations = spec->max_iterations;
    question->options.max_tokens = spec->max_tokens;
    question->options.max_cost_micro = spec->max_cost_micro;
    question->options.max_elapsed_ns = spec->time_limit_ns;
    question->facts.iteration = (int64_t)state->finished;
    question->facts.elapsed_ns = state->active_ns;
    question->facts.tokens = state->tokens;
    question->facts.cost_micro = state->cost_micro;
    question->facts.consecutive_failures = (int64_t)state->consecutive_failures;
    question->facts.conditions_met = run_conditions_met(state);
    question->facts.conditions_total = state->condition_count;
}

static struct outlook_run run_of(const struct summary *summary)
{
    return (struct outlook_run){
        .run_id = summary->run.id,
        .agent_id = summary->run.agent_id,
        .spec = &summary->spec,
        .state = &summary->state,
    };
}

void summary_ask(const struct summary *summary, struct question *question)
{
    struct outlook_run run = run_of(summary);
    ask(&run, question);
}

const char *outlook_source_name(enum outlook_source source)
{
    static const char *const names[] = {"policy", "option", "default"};
    return names[source];
}

/** Units of the journal for one of a counter's in policies. */
static int64_t to_journal(enum limit_counter counter, int64_t value)
{
    int64_t unit = counter == LIMIT_COST ? 100 : counter == LIMIT_TIME ? NS_PER_S : 1;
    int64_t result = 0;
    return __builtin_mul_overflow(value, unit, &result) ? INT64_MAX : result;
}

/** What is measured, as exactly as it is known: policies see whole seconds. */
static int64_t used(const struct subject_facts *facts, enum limit_counter counter)
{
    switch (counter) {
    case LIMIT_COST:
        return facts->cost_micro;
    case LIMIT_TIME:
        return facts->elapsed_ns;
    case LIMIT_ITERATIONS:
        return facts->iteration;
    case LIMIT_TOKENS:
        return facts->tokens;
    case LIMIT_COUNTER_COUNT:
        break;
    }
    return 0;
}

static int64_t option_of(const struct loop_spec *spec, enum limit_counter counter)
{
    const int64_t options[LIMIT_COUNTER_COUNT] = {
        [LIMIT_ITERATIONS] = spec->max_iterations,
        [LIMIT_TOKENS] = spec->max_tokens,
        [LIMIT_COST] = spec->max_cost_micro,
        [LIMIT_TIME] = spec->time_limit_ns,
    };
    return options[counter];
}

static void name_source(const struct ruleset *ruleset, const struct loop_spec *spec,
                        enum limit_counter counter, const struct limit *found,
                        struct outlook_limit *limit)
{
    if (!found->is_known || found->policy < 0) {
        return;
    }
    size_t policy = (size_t)found->policy;
    int64_t percent = 0;
    const char *text = cedar_policies_annotation(ruleset->policies, policy, "warn_at");
    if (text != NULL && parse_int(text, 1, 100, &percent, NULL) == 0) {
        limit->warn_at = percent;
    }
    snprintf(limit->policy, sizeof(limit->policy), "%s",
             cedar_policies_id(ruleset->policies, policy));
    if (policy >= ruleset->given_count) {
        limit->source = option_of(spec, counter) > 0 ? OUTLOOK_OPTION : OUTLOOK_DEFAULT;
    }
}

/** The facts from which limits are searched: those of now, or where that is denied the start's. */
static struct subject_facts facts_for(struct subject *subject, const struct subject_facts *now)
{
    struct verdict verdict;
    struct subject_facts facts = *now;
    subject_decide(subject, now, &(struct subject_step){.action = ACTION_ITERATE}, &verdict);
    if (verdict.outcome != VERDICT_ALLOW) {
        facts.iteration = 0;
        facts.elapsed_ns = 0;
        facts.tokens = 0;
        facts.cost_micro = 0;
        facts.consecutive_failures = 0;
    }
    return facts;
}

static void find(struct subject *subject, const struct ruleset *ruleset,
                 const struct loop_spec *spec, const struct subject_facts *now,
                 struct outlook *outlook)
{
    struct subject_facts facts = facts_for(subject, now);
    for (enum limit_counter i = 0; i < LIMIT_COUNTER_COUNT; i++) {
        struct limit found = subject_limit(subject, &facts, i);
        struct outlook_limit *limit = &outlook->limits[i];
        *limit = (struct outlook_limit){
            .is_known = found.is_known,
            .is_estimated = found.is_estimated,
            .limit = found.is_known ? to_journal(i, found.value) : 0,
            .value = used(now, i),
            .warn_at = DEFAULT_WARN_AT,
        };
        bool is_rounded = i == LIMIT_TIME && found.is_known && spec->time_limit_ns > 0 &&
                          limit->limit > spec->time_limit_ns;
        limit->limit = is_rounded ? spec->time_limit_ns : limit->limit; /* The run's own clock. */
        name_source(ruleset, spec, i, &found, limit);
    }
}

int outlook_find(struct runtime *runtime, const struct summary *summary,
                 struct outlook *ret_outlook, struct rondo_error *err)
{
    struct outlook_run run = run_of(summary);
    return outlook_find_for(runtime, &run, ret_outlook, err);
}

int outlook_find_for(struct runtime *runtime, const struct outlook_run *run,
                     struct outlook *ret_outlook, struct rondo_error *err)
{
    struct watch_view view = {0};
    struct watch_message message;
    int r = watch_look(runtime_policies(runtime, run->spec->policy), &view, &message, err);
    if (r < 0) {
        return r;
    }
    struct question question;
    question_init(&question, clock_now(runtime_clock(runtime)));
    ask(run, &question);
    struct subject *subject = question_subject(&question, view.ruleset);
    snprintf(ret_outlook->sha256, sizeof(ret_outlook->sha256), "%s", view.ruleset->digest);
    find(subject, view.ruleset, run->spec, &question.facts, ret_outlook);
    subject_free(subject);
    question_fini(&question);
    watch_view_fini(&view);
    return 0;
}

int64_t outlook_percent(const struct outlook_limit *limit)
{
    if (!limit->is_known || limit->limit <= 0) {
        return limit->is_known ? 100 : -1;
    }
    double percent = (double)limit->value * 100.0 / (double)limit->limit;
    return percent > 1e9 ? 1000000000 : (int64_t)percent;
}
