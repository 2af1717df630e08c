// SPDX-License-Identifier: Apache-2.0
/* Rules of extension functions and methods: kinds of receivers and arguments, texts of literals. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/cedar/function.h"
#include "policy/lint/lint_internal.h"

#include <stdio.h>
#include <string.h>

struct signature {
    const char *name;
    enum cedar_kind result;
    uint32_t count; /* of operands, the receiver included */
    enum cedar_kind kinds[2];
    const char *help; /* of a constructor: what its text looks like */
};

static const struct signature signatures[] = {
    {"ip", CEDAR_IP, 1, {CEDAR_STRING}, "an address such as \"10.0.0.1\" or \"10.0.0.0/8\""},
    {"decimal",
     CEDAR_DECIMAL,
     1,
     {CEDAR_STRING},
     "digits on both sides of the point and at most four after it, such as \"5.00\""},
    {"datetime",
     CEDAR_DATETIME,
     1,
     {CEDAR_STRING},
     "a time such as \"2026-01-31\" or \"2026-01-31T12:00:00Z\""},
    {"duration", CEDAR_DURATION, 1, {CEDAR_STRING}, "a length of time such as \"1h30m\""},
    {"lessThan", CEDAR_BOOL, 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}, NULL},
    {"lessThanOrEqual", CEDAR_BOOL, 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}, NULL},
    {"greaterThan", CEDAR_BOOL, 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}, NULL},
    {"greaterThanOrEqual", CEDAR_BOOL, 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}, NULL},
    {"isIpv4", CEDAR_BOOL, 1, {CEDAR_IP}, NULL},
    {"isIpv6", CEDAR_BOOL, 1, {CEDAR_IP}, NULL},
    {"isLoopback", CEDAR_BOOL, 1, {CEDAR_IP}, NULL},
    {"isMulticast", CEDAR_BOOL, 1, {CEDAR_IP}, NULL},
    {"isInRange", CEDAR_BOOL, 2, {CEDAR_IP, CEDAR_IP}, NULL},
    {"offset", CEDAR_DATETIME, 2, {CEDAR_DATETIME, CEDAR_DURATION}, NULL},
    {"durationSince", CEDAR_DURATION, 2, {CEDAR_DATETIME, CEDAR_DATETIME}, NULL},
    {"toDate", CEDAR_DATETIME, 1, {CEDAR_DATETIME}, NULL},
    {"toTime", CEDAR_DURATION, 1, {CEDAR_DATETIME}, NULL},
    {"toMilliseconds", CEDAR_LONG, 1, {CEDAR_DURATION}, NULL},
    {"toSeconds", CEDAR_LONG, 1, {CEDAR_DURATION}, NULL},
    {"toMinutes", CEDAR_LONG, 1, {CEDAR_DURATION}, NULL},
    {"toHours", CEDAR_LONG, 1, {CEDAR_DURATION}, NULL},
    {"toDays", CEDAR_LONG, 1, {CEDAR_DURATION}, NULL},
};

static const struct signature *find_signature(const char *name)
{
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        if (strcmp(signatures[i].name, name) == 0) {
            return &signatures[i];
        }
    }
    return NULL;
}

/** A text that the constructor refuses: had it been good, the call would be a literal by now. */
static void report_text(struct lint *lint, const struct expression *expression,
                        const struct signature *signature)
{
    const struct expression *argument = expression->operands[0];
    auto_buf struct buf text = {0};
    lint_show(argument, &text);
    lint_report(lint, true, argument->begin, "%s is not a text for `%s`; it takes %s",
                buf_string(&text), signature->name, signature->help);
}

static void report_count(struct lint *lint, const struct expression *expression,
                         const struct signature *signature)
{
    uint32_t receivers = signature->help == NULL ? 1 : 0;
    uint32_t expected = signature->count - receivers;
    lint_report(lint, true, expression->begin, "`%s` takes %u argument%s, not %u", signature->name,
                expected, expected == 1 ? "" : "s", expression->count - receivers);
}

static void check_operand(struct lint *lint, const struct expression *expression, uint32_t i,
                          const struct signature *signature, struct lint_facts given)
{
    struct lint_outcome operand = lint_check(lint, expression->operands[i], given);
    bool is_receiver = signature->help == NULL && i == 0;
    char by[64];
    snprintf(by, sizeof(by), "`%s` %s", signature->name, is_receiver ? "works on" : "takes");
    lint_require(lint, expression->operands[i], &operand, given.live, signature->kinds[i], by);
}

struct lint_outcome lint_call(struct lint *lint, const struct expression *expression,
                              struct lint_facts given)
{
    const struct signature *signature = find_signature(cedar_function_name(expression->function));
    if (signature == NULL) {
        return outcome_of(given, KIND_ANY);
    }
    if (expression->count != signature->count) {
        report_count(lint, expression, signature);
        return outcome_of(given, signature->result);
    }
    for (uint32_t i = 0; i < expression->count; i++) {
        check_operand(lint, expression, i, signature, given);
    }
    const struct expression *first = expression->operands[0];
    if (signature->help != NULL && first->kind == EXPRESSION_VALUE &&
        first->value.kind == CEDAR_STRING) {
        report_text(lint, expression, signature);
    }
    return outcome_of(given, signature->result);
}
