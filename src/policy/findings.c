// SPDX-License-Identifier: Apache-2.0
/* Findings of policies, collected. */
#include "policy/findings.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void add(struct policy_findings *findings, const struct lint_finding *finding)
{
    findings->items = memory_resize(findings->items, findings->count + 1, sizeof(*findings->items));
    findings->items[findings->count++] = (struct policy_finding){
        .is_error = finding->is_error,
        .file = memory_dup_string(finding->file),
        .line = finding->line,
        .column = finding->column,
        .message = memory_dup_string(finding->message),
    };
    findings->errors += finding->is_error ? 1 : 0;
    findings->warnings += finding->is_error ? 0 : 1;
}

void policy_findings_add(const struct lint_finding *finding, void *findings)
{
    add(findings, finding);
}

void policy_findings_fini(struct policy_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].file);
        free(findings->items[i].message);
    }
    free(findings->items);
    *findings = (struct policy_findings){0};
}

/** Take "file:1:28: what" apart. @return length of the file's name; 0 = it is no such message */
static size_t take_apart(const char *message, struct lint_finding *ret_finding)
{
    size_t len = strcspn(message, ":");
    char *end = NULL;
    unsigned long line = message[len] == '\0' ? 0 : strtoul(message + len + 1, &end, 10);
    if (line == 0 || *end != ':') {
        return 0;
    }
    unsigned long column = strtoul(end + 1, &end, 10);
    if (column == 0 || strncmp(end, ": ", 2) != 0) {
        return 0;
    }
    ret_finding->line = (unsigned)line;
    ret_finding->column = (unsigned)column;
    ret_finding->message = end + 2;
    return len;
}

void policy_findings_add_failure(struct policy_findings *findings, const char *name,
                                 const struct rondo_error *err)
{
    if (findings->errors > 0) {
        return;
    }
    struct lint_finding finding = {.is_error = true, .file = name, .message = err->message};
    size_t len = take_apart(err->message, &finding);
    auto_free char *file = len > 0 ? memory_dup_bytes(err->message, len) : NULL;
    finding.file = file == NULL ? name : file;
    add(findings, &finding);
}

void policy_findings_json(const struct policy_findings *findings, struct json_writer *writer)
{
    json_begin_array(writer, "findings");
    for (size_t i = 0; i < findings->count; i++) {
        const struct policy_finding *finding = &findings->items[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "severity", finding->is_error ? "error" : "warning");
        json_write_string(writer, "file", finding->file);
        if (finding->line > 0) {
            json_write_int(writer, "line", finding->line);
            json_write_int(writer, "column", finding->column);
        }
        json_write_string(writer, "message", finding->message);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_count(size_t count, const char *what, struct buf *out)
{
    if (count == 0) {
        buf_printf(out, "no %ss", what);
    } else {
        buf_printf(out, "%zu %s%s", count, what, count == 1 ? "" : "s");
    }
}

void policy_findings_count(const struct policy_findings *findings, struct buf *ret_buf)
{
    write_count(findings->errors, "error", ret_buf);
    buf_append_string(ret_buf, ", ");
    write_count(findings->warnings, "warning", ret_buf);
}
