// SPDX-License-Identifier: Apache-2.0
/* Findings about role files, for people. */
#pragma once

#include "role/role.h"

/** Write them to stderr, one a line: "FILE:LINE:COLUMN: error: PATH: MESSAGE (HINT)". */
void role_findings_report(const struct role_findings *findings, const char *file,
                          enum role_severity least);
