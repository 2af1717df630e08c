// SPDX-License-Identifier: Apache-2.0
/* Findings about role files. */
#include "role/findings.h"

#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void role_findings_fini(struct role_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].path);
        free(findings->items[i].message);
        free(findings->items[i].hint);
    }
    free(findings->items);
    *findings = (struct role_findings){0};
}

size_t role_findings_errors(const struct role_findings *findings)
{
    size_t errors = 0;
    for (size_t i = 0; i < findings->count; i++) {
        errors += findings->items[i].severity == ROLE_ERROR ? 1 : 0;
    }
    return errors;
}

size_t role_findings_unprotected(const struct role_findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        count += findings->items[i].severity == ROLE_UNPROTECTED ? 1 : 0;
    }
    return count;
}

const char *role_severity_name(enum role_severity severity)
{
    static const char *const names[] = {"error", "unprotected", "warning"};
    return names[severity];
}

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
    buf_printf(out, ": %s: ", role_severity_name(finding->severity));
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

void role_findings_write(const struct role_findings *findings, const char *file,
                         enum role_severity least, struct buf *ret_text)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].severity <= least) {
            write_finding(&findings->items[i], file, ret_text);
        }
    }
}

/** A warning that something graver may take the place of when there is no room; or -1. */
static ssize_t last_warning(const struct role_findings *findings)
{
    for (size_t i = findings->count; i > 0; i--) {
        if (findings->items[i - 1].severity == ROLE_WARNING) {
            return (ssize_t)i - 1;
        }
    }
    return -1;
}

void findings_add(struct role_findings *findings, enum role_severity severity, size_t line,
                  size_t column, const char *path, const char *message, const char *hint)
{
    if (findings->count >= LIMIT_ROLE_FINDINGS) {
        ssize_t victim = severity != ROLE_WARNING ? last_warning(findings) : -1;
        if (victim < 0) {
            return;
        }
        struct role_finding *item = &findings->items[victim];
        free(item->path);
        free(item->message);
        free(item->hint);
        findings->count--;
        memmove(item, item + 1, (findings->count - (size_t)victim) * sizeof(*item));
    }
    if (findings->count == findings->room) {
        findings->room = findings->room * 2 + 8;
        findings->items = memory_resize(findings->items, findings->room, sizeof(*findings->items));
    }
    findings->items[findings->count++] = (struct role_finding){
        .severity = severity,
        .line = line,
        .column = column,
        .path = memory_dup_string(path),
        .message = memory_dup_string(message),
        .hint = memory_dup_string(hint),
    };
}
