// SPDX-License-Identifier: Apache-2.0
/* The lint's entry, and how findings get their place. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/cedar/policies.h"
#include "policy/lint_check.h"

#include <stdarg.h>
#include <stdio.h>

/** Long enough for every message, as names in them are cut. */
#define MESSAGE_SIZE 1024

/** Move a mark to an offset of a source; from the beginning only when it lies in front. */
static void move(struct mark *mark, const struct policy_source *source, size_t offset)
{
    if (mark->source != source || offset < mark->offset) {
        *mark = (struct mark){.source = source, .line = 1, .column = 1};
    }
    struct policy_source rest = {
        .text = source->text + mark->offset,
        .len = source->len - mark->offset,
    };
    unsigned line = 0;
    unsigned column = 0;
    policy_source_locate(&rest, offset - mark->offset, &line, &column);
    mark->column = line == 1 ? mark->column + column - 1 : column;
    mark->line += line - 1;
    mark->offset = offset;
}

/** Leave line and column of an offset of the policy in `latest`. */
static void locate(struct lint *lint, size_t offset)
{
    const struct policy *policy = lint->policy;
    if (lint->latest.source != policy->source || offset < lint->latest.offset) {
        move(&lint->start, policy->source, policy->begin);
        lint->latest = lint->start;
    }
    move(&lint->latest, policy->source, offset);
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
        .line = lint->latest.line,
        .column = lint->latest.column,
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
