// SPDX-License-Identifier: Apache-2.0
/* Verdicts in words, for people and for the journal. No state; any thread. */
#include "policy/verdict.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/parse.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void policy_verdict_init(struct policy_verdict *ret_verdict)
{
    memset(ret_verdict, 0, offsetof(struct policy_verdict, policy));
    ret_verdict->outcome = VERDICT_DENY;
    ret_verdict->reason = VERDICT_UNAVAILABLE;
    ret_verdict->deciding = -1;
    ret_verdict->counter = RUN_LIMIT_COUNT;
    ret_verdict->policy[0] = '\0';
    ret_verdict->text[0] = '\0';
    ret_verdict->message[0] = '\0';
    ret_verdict->sha256[0] = '\0';
    ret_verdict->policies[0] = '\0';
    ret_verdict->errors[0] = '\0';
    ret_verdict->ask_count = 0;
}

static const struct {
    enum rondo_status status;
    const char *option; /* that raises the run's own limit */
    const char *unit;   /* between the figure and the words, */
    const char *one;    /* and for a figure of 1 */
} counters[] = {
    [RUN_LIMIT_ITERATIONS] = {RONDO_MAX_ITERATIONS, "--max-iterations", " iterations",
                              " iteration"},
    [RUN_LIMIT_TOKENS] = {RONDO_BUDGET_EXCEEDED, "--max-tokens", " tokens", " token"},
    [RUN_LIMIT_COST] = {RONDO_BUDGET_EXCEEDED, "--max-cost", "", ""},
    [RUN_LIMIT_TIME] = {RONDO_TIMEOUT, "--time-limit", "", ""},
};

const struct policy_limit *policy_verdict_limit(const struct policy_verdict *verdict)
{
    bool is_limit = verdict->outcome == VERDICT_DENY && verdict->counter != RUN_LIMIT_COUNT;
    return is_limit ? &verdict->limits[verdict->counter] : NULL;
}

enum rondo_status policy_verdict_status(const struct policy_verdict *verdict)
{
    return policy_verdict_limit(verdict) == NULL ? RONDO_POLICY_VIOLATION
                                                 : counters[verdict->counter].status;
}

/* ---- The message ---------------------------------------------------------------------------- */

static void write_figure(enum run_limit counter, int64_t value, struct buf *ret_text)
{
    if (counter == RUN_LIMIT_COST) {
        buf_printf(ret_text, "%.15g", (double)value / 1e6);
    } else if (counter == RUN_LIMIT_TIME) {
        char text[FORMAT_DURATION_SIZE];
        format_duration(value, text);
        buf_append_string(ret_text, text);
    } else {
        buf_printf(ret_text, "%" PRId64, value);
    }
}

/** "the limit of 100 iterations is used up (100 so far)" */
static void write_limit(const struct policy_verdict *verdict, struct buf *ret_text)
{
    const struct policy_limit *limit = &verdict->limits[verdict->counter];
    buf_append_string(ret_text, verdict->counter == RUN_LIMIT_COST   ? "the cost limit of "
                                : verdict->counter == RUN_LIMIT_TIME ? "the time limit of "
                                                                     : "the limit of ");
    write_figure(verdict->counter, limit->limit, ret_text);
    buf_printf(ret_text, "%s is used up (",
               limit->limit == 1 ? counters[verdict->counter].one
                                 : counters[verdict->counter].unit);
    write_figure(verdict->counter, limit->value, ret_text);
    buf_append_string(ret_text, " so far)");
}

/** A denial and what is known of it, uncut. */
struct denial {
    const struct policy_verdict *verdict;
    const char *action;
    const char *policy; /* id */
    const char *text;   /* the policy's @reason, or "" */
    const char *problem;
};

static void write_forbidden(const struct denial *denial, struct buf *ret_text)
{
    const struct policy_verdict *verdict = denial->verdict;
    if (verdict->counter != RUN_LIMIT_COUNT) {
        write_limit(verdict, ret_text);
        if (verdict->is_own) {
            buf_printf(ret_text, "; raise it with %s", counters[verdict->counter].option);
            return;
        }
        buf_printf(ret_text, "; set by policy `%s`", denial->policy);
    } else {
        buf_printf(ret_text, "policy `%s` forbids `%s`", denial->policy, denial->action);
    }
    if (denial->text[0] != '\0') {
        buf_printf(ret_text, ": %s", denial->text);
    }
}

/** The gravest policy in full, and the ids of the others. */
static void write_asking(const struct denial *denial, struct buf *ret_text)
{
    const struct policy_verdict *verdict = denial->verdict;
    buf_printf(ret_text, "policy `%s` requires a person's approval of `%s`%s%s", denial->policy,
               denial->action, denial->text[0] != '\0' ? ": " : "", denial->text);
    const char *word = "; so does";
    for (size_t i = 0; i < verdict->ask_count; i++) {
        if (strcmp(verdict->asks[i].rule, denial->policy) != 0) {
            buf_printf(ret_text, "%s `%s`", word, verdict->asks[i].rule);
            word = ",";
        }
    }
}

static void write_message(const struct denial *denial, struct buf *ret_text)
{
    switch (denial->verdict->reason) {
    case VERDICT_PERMITTED:
    case VERDICT_COST_UNKNOWN: /* Worded by the loop, which knows the model. */
    case VERDICT_BUDGET_EXHAUSTED:
        break;
    case VERDICT_FORBIDDEN:
        write_forbidden(denial, ret_text);
        break;
    case VERDICT_NOT_PERMITTED:
        if (denial->verdict->counter != RUN_LIMIT_COUNT) {
            write_forbidden(denial, ret_text);
        } else {
            buf_printf(ret_text, "no policy permits `%s`; see `rondo policy explain`",
                       denial->action);
        }
        break;
    case VERDICT_APPROVAL_NEEDED:
        write_asking(denial, ret_text);
        break;
    case VERDICT_POLICY_ERROR:
        buf_printf(ret_text, "policy `%s` could not be evaluated, which counts as a denial: %s",
                   denial->policy, denial->problem);
        break;
    case VERDICT_INVALID_CONTEXT:
        buf_printf(ret_text, "policies cannot evaluate this request: %s", denial->problem);
        break;
    case VERDICT_UNAVAILABLE:
        buf_printf(ret_text, "there are no policies: %s", denial->problem);
        break;
    }
}

/* ---- Lists ---------------------------------------------------------------------------------- */

/**
 * Add an entry to a JSON array if it fits, with the bracket that will close it: half an entry would
 * not be JSON.
 */
static void add_entry(const struct buf *entry, struct buf *list)
{
    if (list->len + entry->len + sizeof(",]") <= VERDICT_LIST_SIZE) {
        buf_append_string(list, list->len == 0 ? "[" : ",");
        buf_append(list, entry->data, entry->len);
    }
}

static void keep_list(struct buf *list, char *ret_list)
{
    buf_append_string(list, list->len == 0 ? "[]" : "]");
    snprintf(ret_list, VERDICT_LIST_SIZE, "%s", buf_string(list));
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

/* ---- Who asks ------------------------------------------------------------------------------- */

/** Enter one after those that are as severe; of too many the least severe are left out. */
static void add_ask(struct policy_verdict *verdict, const struct verdict_ask *ask)
{
    size_t at = 0;
    for (size_t i = 0; i < verdict->ask_count; i++) {
        if (strcmp(verdict->asks[i].rule, ask->rule) == 0) {
            return;
        }
        at += verdict->asks[i].severity >= ask->severity ? 1 : 0;
    }
    if (at == VERDICT_NAMED) {
        return;
    }
    size_t rest = verdict->ask_count - at;
    rest -= verdict->ask_count == VERDICT_NAMED ? 1 : 0;
    memmove(&verdict->asks[at + 1], &verdict->asks[at], rest * sizeof(*ask));
    verdict->asks[at] = *ask;
    verdict->ask_count = at + 1 + rest;
}

static void keep_asks(const struct cedar_policies *policies, const struct cedar_answer *answer,
                      struct policy_verdict *verdict)
{
    for (size_t i = 0; i < answer->reason_count; i++) {
        uint32_t policy = answer->reasons[i];
        const char *trigger = cedar_policies_annotation(policies, policy, "handoff");
        struct verdict_ask ask = {.severity = policy_severity_of(policies, policy)};
        snprintf(ask.rule, sizeof(ask.rule), "%s", cedar_policies_id(policies, policy));
        snprintf(ask.trigger, sizeof(ask.trigger), "%s",
                 trigger == NULL ? VERDICT_TRIGGER : trigger);
        add_ask(verdict, &ask);
    }
}

void policy_verdict_merge(struct policy_verdict *verdict, const struct policy_verdict *other)
{
    for (size_t i = 0; i < other->ask_count; i++) {
        add_ask(verdict, &other->asks[i]);
    }
}

void policy_verdict_describe(struct policy_verdict *verdict, enum vocabulary_action action,
                             const struct ruleset *ruleset, const struct cedar_answer *answer,
                             const char *problem)
{
    auto_buf struct buf message = {0};
    bool is_asked =
        verdict->reason != VERDICT_UNAVAILABLE && verdict->reason != VERDICT_INVALID_CONTEXT;
    struct denial denial = {
        .verdict = verdict,
        .action = vocabulary_action_name(action),
        .policy = "",
        .text = "",
        .problem = problem,
    };
    if (verdict->deciding >= 0) {
        size_t policy = (size_t)verdict->deciding;
        const char *text = cedar_policies_annotation(ruleset->policies, policy, "reason");
        denial.policy = cedar_policies_id(ruleset->policies, policy);
        denial.text = text == NULL ? "" : text;
    }
    if (verdict->outcome == VERDICT_ASK) {
        keep_asks(ruleset->policies, answer, verdict);
    }
    write_message(&denial, &message);
    snprintf(verdict->policy, sizeof(verdict->policy), "%s", denial.policy);
    snprintf(verdict->text, sizeof(verdict->text), "%s", denial.text);
    snprintf(verdict->message, sizeof(verdict->message), "%s", buf_string(&message));
    if (ruleset == NULL || !is_asked) {
        return;
    }
    snprintf(verdict->sha256, sizeof(verdict->sha256), "%s", ruleset->digest);
    keep_policies(ruleset->policies, answer, verdict->policies);
    if (answer->error_count > 0) {
        keep_errors(ruleset->policies, answer, verdict->errors);
    }
}

/* ---- Names ---------------------------------------------------------------------------------- */

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
        [VERDICT_COST_UNKNOWN] = "cost_unknown",
        [VERDICT_BUDGET_EXHAUSTED] = "budget_exhausted",
    };
    return names[reason];
}
