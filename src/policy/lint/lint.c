// SPDX-License-Identifier: Apache-2.0
/* The lint's entry, and how findings get their place. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/cedar/policies.h"
#include "policy/lint/lint_internal.h"

#include <stdarg.h>
#include <stdio.h>

/** Long enough for every message, as names in them are cut. */
#define MESSAGE_SIZE 1024

/** Leave the place of an offset of the policy in `latest`. */
static void locate(struct lint *lint, size_t offset)
{
    const struct policy *policy = lint->policy;
    struct source_mark *latest = &lint->latest;
    if (latest->policy != policy || offset < latest->offset) {
        *latest = (struct source_mark){policy, policy->begin, policy->place};
    }
    latest->place = policy_source_move(policy->source, latest->place, latest->offset, offset);
    latest->offset = offset;
}

void lint_report(struct lint *lint, bool is_error, size_t offset, const char *format, ...)
{
    lint->error_count += is_error ? 1 : 0;
    if (lint->finding_count == LINT_LIMIT_FINDINGS) {
        return;
    }
    lint->finding_count++;
    char message[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    locate(lint, offset);
    struct lint_finding finding = {
        .is_error = is_error,
        .policy = lint->index,
        .file = lint->policy->source->file->bytes,
        .line = lint->latest.place.line,
        .column = lint->latest.place.column,
        .message = message,
    };
    lint->fn(&finding, lint->context);
}

size_t lint_policies(const struct cedar_policies *policies, lint_fn *fn, void *context)
{
    struct lint lint = {.fn = fn, .context = context};
    for (uint32_t i = 0; i < policies->count; i++) {
        lint.index = i;
        lint.policy = policies->policies[i];
        lint_words(&lint);
        lint_conditions(&lint, lint_scope(&lint));
    }
    return lint.error_count;
}
