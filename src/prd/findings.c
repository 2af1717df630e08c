// SPDX-License-Identifier: Apache-2.0
/* A list of findings. */
#include "prd/findings.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prd_findings_fini(struct prd_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].message);
    }
    free(findings->items);
    memset(findings, 0, sizeof(*findings));
}

/** Make room for an error. @return whether there was a warning to drop */
static bool drop_warning(struct prd_findings *findings)
{
    for (size_t i = findings->count; i > 0; i--) {
        struct prd_finding *item = &findings->items[i - 1];
        if (!item->is_error) {
            free(item->message);
            memmove(item, item + 1, (findings->count - i) * sizeof(*item));
            findings->count--;
            return true;
        }
    }
    return false;
}

void prd_finding_add(struct prd_findings *findings, bool is_error, const char *rule, uint32_t line,
                     uint32_t column, const char *format, ...)
{
    if (findings == NULL) {
        return;
    }
    findings->errors += is_error;
    findings->warnings += !is_error;
    if (findings->count == LIMIT_PRD_FINDINGS && !(is_error && drop_warning(findings))) {
        return;
    }
    struct buf message = {0};
    va_list arguments;
    va_start(arguments, format);
    char text[RONDO_ERROR_MESSAGE_SIZE];
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    buf_append_string(&message, text);
    findings->items = memory_resize(findings->items, findings->count + 1, sizeof(*findings->items));
    findings->items[findings->count++] = (struct prd_finding){
        .is_error = is_error,
        .rule = rule,
        .line = line,
        .column = column,
        .message = buf_steal(&message),
    };
}

int prd_findings_error(const struct prd_findings *findings, struct rondo_error *err)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct prd_finding *finding = &findings->items[i];
        if (finding->is_error && finding->line > 0) {
            return error_set(err, RONDO_ERR_INVALID, "%u:%u: %s", finding->line, finding->column,
                             finding->message);
        }
        if (finding->is_error) {
            return error_set(err, RONDO_ERR_INVALID, "%s", finding->message);
        }
    }
    return findings->errors == 0
               ? 0
               : error_set(err, RONDO_ERR_INVALID, "%zu errors; `rondo prd check` shows them",
                           findings->errors);
}

void prd_findings_json(const struct prd_findings *findings, struct json_writer *writer)
{
    json_begin_array(writer, "findings");
    for (size_t i = 0; i < findings->count; i++) {
        const struct prd_finding *finding = &findings->items[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "severity", finding->is_error ? "error" : "warning");
        json_write_string(writer, "rule", finding->rule);
        if (finding->line > 0) {
            json_write_int(writer, "line", finding->line);
            json_write_int(writer, "column", finding->column);
        }
        json_write_string(writer, "message", finding->message);
        json_end_object(writer);
    }
    json_end_array(writer);
}
