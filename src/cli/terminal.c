// SPDX-License-Identifier: Apache-2.0
/* Updating the live area with standard sequences (ECMA-48) that every terminal knows. */
#include "cli/terminal.h"

#include "cli/style.h"
#include "cli/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Synchronised output: terminals that know mode 2026 show the whole update at once. */
#define SYNC_BEGIN  "\033[?2026h"
#define SYNC_END    "\033[?2026l"
#define CURSOR_HIDE "\033[?25l"
#define ERASE_BELOW "\033[J"
#define ERASE_LINE  "\033[K"

/** Rows that the present frame takes: a terminal that became narrower has wrapped its lines. */
static size_t rows_on_screen(const struct terminal *terminal, size_t columns)
{
    size_t rows = 0;
    const char *at = buf_string(&terminal->frame);
    while (*at != '\0') {
        size_t len = strcspn(at, "\n");
        auto_buf struct buf line = {0};
        buf_append(&line, at, len);
        size_t width = text_width(buf_string(&line));
        rows += width <= columns ? 1 : (width + columns - 1) / columns;
        at += len + (at[len] == '\n');
    }
    return rows;
}

/** Append lines, each erased behind its end: nothing of a longer former line stays. */
static void add_lines(const struct buf *lines, struct buf *out)
{
    for (size_t at = 0; at < lines->len;) {
        size_t len = strcspn(lines->data + at, "\n");
        buf_append(out, lines->data + at, len);
        buf_append_string(out, ERASE_LINE "\r\n");
        at += len + 1;
    }
}

/** One write, unless the terminal takes less at a time; what it refuses is lost. */
static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t written = write(fd, bytes, len);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        bytes += written;
        len -= (size_t)written;
    }
}

void terminal_update(struct terminal *terminal, const struct buf *permanent,
                     const struct buf *frame)
{
    auto_buf struct buf out = {0};
    buf_append_string(&out, SYNC_BEGIN CURSOR_HIDE "\r");
    size_t rows = rows_on_screen(terminal, style_columns(terminal->stream, 80));
    if (rows > 0) {
        buf_printf(&out, "\033[%zuA", rows);
    }
    add_lines(permanent, &out);
    add_lines(frame, &out);
    buf_append_string(&out, ERASE_BELOW);
    if (frame->len == 0) {
        buf_append_string(&out, TERMINAL_RESTORE);
    }
    buf_append_string(&out, SYNC_END);
    write_all(fileno(terminal->stream), out.data, out.len);
    buf_clear(&terminal->frame);
    buf_append(&terminal->frame, buf_string(frame), frame->len);
}
