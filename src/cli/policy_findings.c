// SPDX-License-Identifier: Apache-2.0
/* Findings of policies. */
#include "cli/policy_findings.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/memory.h"
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

/** Longer lines are not shown: the caret would be far away. */
#define SHOWN_COLUMNS 160

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

/** @return the line without its end; NULL when the text has no such line */
static const char *find_line(const struct buf *text, unsigned line, size_t *ret_len)
{
    const char *at = buf_string(text);
    const char *end = at + text->len;
    for (unsigned i = 1; i < line && at != NULL; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL || at == end) {
        return NULL;
    }
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *ret_len = (size_t)((stop == NULL ? end : stop) - at);
    return at;
}

/** Bytes of the first `count` characters. */
static size_t skip_characters(const char *line, size_t len, size_t count)
{
    size_t at = 0;
    for (; at < len; at++) {
        bool is_start = ((unsigned char)line[at] & 0xc0) != 0x80;
        if (is_start && count-- == 0) {
            break;
        }
    }
    return at;
}

static void show_line(const struct policy_finding *finding, const struct buf *text,
                      const struct style *style, struct buf *out)
{
    size_t len = 0;
    const char *line = finding->line == 0 ? NULL : find_line(text, finding->line, &len);
    if (line == NULL) {
        return;
    }
    auto_buf struct buf clean = {0};
    auto_buf struct buf before = {0};
    text_clean(line, len, &clean);
    text_clean(line, skip_characters(line, len, finding->column - 1), &before);
    if (text_width(buf_string(&clean)) > SHOWN_COLUMNS) {
        return;
    }
    buf_printf(out, "    %s\n    %*s", buf_string(&clean), (int)text_width(buf_string(&before)),
               "");
    style_append(style, COLOUR_GREEN, "^", out);
    buf_append_string(out, "\n");
}

static void show(const struct policy_finding *finding, const struct style *style, struct buf *out)
{
    style_append(style, COLOUR_BOLD, finding->file, out);
    if (finding->line > 0) {
        buf_printf(out, ":%u:%u", finding->line, finding->column);
    }
    buf_append_string(out, ": ");
    style_append(style, finding->is_error ? COLOUR_RED : COLOUR_YELLOW,
                 finding->is_error ? "error:" : "warning:", out);
    buf_append_string(out, " ");
    text_clean(finding->message, strlen(finding->message), out);
    buf_append_string(out, "\n");
}

void policy_findings_text(const struct policy_findings *findings, const struct style *style,
                          policy_text_fn *text, void *context, struct buf *ret_buf)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct policy_finding *finding = &findings->items[i];
        auto_buf struct buf source = {0};
        show(finding, style, ret_buf);
        if (finding->is_error) {
            text(finding->file, context, &source);
            show_line(finding, &source, style, ret_buf);
        }
    }
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
