// SPDX-License-Identifier: Apache-2.0
/* What is to say about a role file: errors, protections that are not given, warnings, each with its
 * place. One thread. */
#pragma once

#include "base/buf.h"

#include <stddef.h>

enum role_severity {
    ROLE_ERROR,
    ROLE_UNPROTECTED, /**< a protection that is not given: the role is not run without consent */
    ROLE_WARNING, /**< unknown key, setting without effect, setting that `run` does not support */
};

/** Something to say about a file. Owned texts. */
struct role_finding {
    enum role_severity severity;
    size_t line; /**< from 1; 0 = none */
    size_t column;
    char *path;    /**< "spec.guardrails.max_iterations", "spec.tools[2].endpoints[0].name" */
    char *message; /**< what is wrong */
    char *hint;    /**< what would be right; may be NULL */
};

struct role_findings {
    struct role_finding *items;
    size_t count;
    size_t room;
};

void role_findings_fini(struct role_findings *findings);
/** Number of errors among them. */
size_t role_findings_errors(const struct role_findings *findings);
/** Number of protections that are not given. */
size_t role_findings_unprotected(const struct role_findings *findings);
/** "error", "unprotected", "warning". Static. */
const char *role_severity_name(enum role_severity severity);
/**
 * Append them as text, one a line: "FILE:LINE:COLUMN: error: PATH: MESSAGE (HINT)".
 * @param file  as people know it
 * @param least those of this severity and graver ones
 */
void role_findings_write(const struct role_findings *findings, const char *file,
                         enum role_severity least, struct buf *ret_text);

/** Add a finding; texts are copied. No more than LIMIT_ROLE_FINDINGS are kept. */
void findings_add(struct role_findings *findings, enum role_severity severity, size_t line,
                  size_t column, const char *path, const char *message, const char *hint);
