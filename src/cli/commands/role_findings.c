// SPDX-License-Identifier: Apache-2.0
/* Findings in the form that editors and people know from compilers. */
#include "cli/commands/role_findings.h"

#include <stdio.h>

void role_findings_report(const struct role_findings *findings, const char *file,
                          enum role_severity least)
{
    auto_buf struct buf out = {0};
    role_findings_write(findings, file, least, &out);
    fputs(buf_string(&out), stderr);
}
