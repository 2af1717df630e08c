// SPDX-License-Identifier: Apache-2.0
/* What is wrong with policies, collected, and shown like a compiler does. One thread. */
#pragma once

#include "base/buf.h"
#include "cli/style.h"
#include "policy/lint.h"

#include <stdbool.h>
#include <stddef.h>

struct policy_finding {
    bool is_error;
    char *file;
    unsigned line; /**< 0 = of the file as a whole */
    unsigned column;
    char *message;
};

/** Zeroed = empty. */
struct policy_findings {
    struct policy_finding *items;
    size_t count;
    size_t errors;
    size_t warnings;
};

/** A lint_fn; the context is the struct. */
void policy_findings_add(const struct lint_finding *finding, void *findings);
void policy_findings_fini(struct policy_findings *findings);

/**
 * Take what made loading fail, when no finding says it: a file that cannot be read, or JSON that is
 * none. @param name of the file or folder, for what has no file of its own
 */
void policy_findings_add_failure(struct policy_findings *findings, const char *name,
                                 const struct rondo_error *err);

/** Where the lines of a finding's file come from, to be shown; may leave the buffer empty. */
typedef void policy_text_fn(const char *file, void *context, struct buf *ret_text);

/** Append all as `file:line:column: error: ...`, errors with their line and a caret. */
void policy_findings_text(const struct policy_findings *findings, const struct style *style,
                          policy_text_fn *text, void *context, struct buf *ret_buf);

/** Write them as the member "findings". */
struct json_writer;
void policy_findings_json(const struct policy_findings *findings, struct json_writer *writer);

/** Append "no errors, 1 warning". */
void policy_findings_count(const struct policy_findings *findings, struct buf *ret_buf);
