// SPDX-License-Identifier: Apache-2.0
/* Where the reader is in a file, and what it reports there. */
#include "role/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void report(struct role_reader *reader, enum role_severity severity,
                   const struct yaml_node *node, const char *hint, const char *format, va_list args)
{
    char message[512];
    vsnprintf(message, sizeof(message), format, args);
    findings_add(reader->findings, severity, node == NULL ? 0 : node->line,
                 node == NULL ? 0 : node->column, buf_string(&reader->path), message, hint);
}

void reader_error(struct role_reader *reader, const struct yaml_node *node, const char *hint,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(reader, ROLE_ERROR, node, hint, format, args);
    va_end(args);
}

void reader_warning(struct role_reader *reader, const struct yaml_node *node, const char *hint,
                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(reader, ROLE_WARNING, node, hint, format, args);
    va_end(args);
}

void reader_unprotected(struct role_reader *reader, const struct yaml_node *node, const char *hint,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(reader, ROLE_UNPROTECTED, node, hint, format, args);
    va_end(args);
}

size_t reader_errors(const struct role_reader *reader)
{
    return role_findings_errors(reader->findings);
}

/** A key that is shown in a path: short, and without what could end it. */
static void append_name(struct buf *path, const char *name, size_t len)
{
    size_t shown = len > 64 ? 64 : len;
    for (size_t i = 0; i < shown; i++) {
        bool is_control = (unsigned char)name[i] < ' ' || name[i] == 0x7f;
        buf_append(path, is_control ? "?" : name + i, 1);
    }
    buf_append_string(path, shown < len ? "..." : "");
}

const char *reader_shown_name(const struct role_reader *reader, const char *name)
{
    return reader->is_flat && strcmp(name, "role") == 0 ? "prompt" : name;
}

/** Whether a flat file is without this level of the envelope. */
static bool is_left_out(const struct role_reader *reader, const char *name)
{
    return reader->is_flat && reader->path.len == 0 &&
           (strcmp(name, "spec") == 0 || strcmp(name, "metadata") == 0);
}

size_t reader_enter(struct role_reader *reader, const char *name, size_t len)
{
    size_t mark = reader->path.len;
    if (is_left_out(reader, name)) {
        return mark;
    }
    buf_append_string(&reader->path, mark > 0 ? "." : "");
    append_name(&reader->path, name, len);
    return mark;
}

size_t reader_enter_index(struct role_reader *reader, size_t index)
{
    size_t mark = reader->path.len;
    buf_printf(&reader->path, "[%zu]", index);
    return mark;
}

void reader_leave(struct role_reader *reader, size_t mark)
{
    reader->path.len = mark;
    if (reader->path.data != NULL) {
        reader->path.data[mark] = '\0';
    }
}
