// SPDX-License-Identifier: Apache-2.0
/* What is wrong with policies, collected. One thread. */
#pragma once

#include "base/buf.h"
#include "policy/lint/lint.h"

#include <stdbool.h>
#include <stddef.h>

struct rondo_error;

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

/** Write them as the member "findings". */
struct json_writer;
void policy_findings_json(const struct policy_findings *findings, struct json_writer *writer);

/** Append "no errors, 1 warning". */
void policy_findings_count(const struct policy_findings *findings, struct buf *ret_buf);
