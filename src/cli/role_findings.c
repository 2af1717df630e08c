// SPDX-License-Identifier: Apache-2.0
/* Findings in the form that editors and people know from compilers. */
#include "cli/role_findings.h"

#include "cli/text.h"

#include <stdio.h>
#include <string.h>

static void add_clean(const char *text, struct buf *out)
{
    text_clean(text, strlen(text), out);
}

static void write_finding(const struct role_finding *finding, const char *file, struct buf *out)
{
    add_clean(file, out);
    if (finding->line > 0) {
        buf_printf(out, ":%zu:%zu", finding->line, finding->column);
    }
    buf_append_string(out, finding->severity == ROLE_ERROR ? ": error: " : ": warning: ");
    if (finding->path != NULL && finding->path[0] != '\0') {
        add_clean(finding->path, out);
        buf_append_string(out, ": ");
    }
    add_clean(finding->message, out);
    if (finding->hint != NULL) {
        buf_append_string(out, " (");
        add_clean(finding->hint, out);
        buf_append_string(out, ")");
    }
    buf_append_string(out, "\n");
}

void role_findings_report(const struct role_findings *findings, const char *file)
{
    auto_buf struct buf out = {0};
    for (size_t i = 0; i < findings->count; i++) {
        write_finding(&findings->items[i], file, &out);
    }
    fputs(buf_string(&out), stderr);
}
