// SPDX-License-Identifier: Apache-2.0
/* What is wrong with policies, shown like a compiler does. One thread. */
#pragma once

#include "cli/terminal/style.h"
#include "policy/findings.h"

/** Where the lines of a finding's file come from, to be shown; may leave the buffer empty. */
typedef void policy_text_fn(const char *file, void *context, struct buf *ret_text);

/** Append all as `file:line:column: error: ...`, errors with their line and a caret. */
void policy_findings_text(const struct policy_findings *findings, const struct style *style,
                          policy_text_fn *text, void *context, struct buf *ret_buf);
