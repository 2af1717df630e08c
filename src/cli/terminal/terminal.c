// SPDX-License-Identifier: Apache-2.0
/* Updating the live area with standard sequences (ECMA-48) that every terminal knows. */
#include "cli/terminal/terminal.h"

#include "cli/terminal/style.h"
#include "cli/terminal/text.h"
#include "os/file.h"

#include <stdbool.h>
#include <string.h>

/** Bytes of permanent lines that are kept: more than any screen shows. */
#define RECENT_BYTES (16UL * 1024)
/* Synchronised output: terminals that know mode 2026 show the whole update at once. */
#define SYNC_BEGIN   "\033[?2026h"
#define SYNC_END     "\033[?2026l"
#define CURSOR_HIDE  "\033[?25l"
#define ERASE_BELOW  "\033[J"
#define CLEAR_SCREEN "\033[H\033[2J"
#define ERASE_LINE   "\033[K"

/** Rows that a line takes, wrapped by the terminal. */
static size_t rows_of_line(const char *line, size_t len, size_t columns)
{
    auto_buf struct buf text = {0};
    buf_append(&text, line, len);
    size_t width = text_width(buf_string(&text));
    return width <= columns ? 1 : (width + columns - 1) / columns;
}

static size_t rows_of(const struct buf *lines, size_t columns)
{
    size_t rows = 0;
    for (size_t at = 0; at < lines->len;) {
        size_t len = strcspn(lines->data + at, "\n");
        rows += rows_of_line(lines->data + at, len, columns);
        at += len + 1;
    }
    return rows;
}

static size_t lines_in(const struct buf *lines)
{
    size_t count = 0;
    for (size_t i = 0; i < lines->len; i++) {
        count += lines->data[i] == '\n';
    }
    return count;
}

/** Remember permanent lines, forgetting the oldest. */
static void remember(struct terminal *terminal, const struct buf *permanent)
{
    struct buf *recent = &terminal->recent;
    buf_append(recent, buf_string(permanent), permanent->len);
    if (recent->len <= 2 * RECENT_BYTES) {
        return;
    }
    const char *from = memchr(recent->data + recent->len - RECENT_BYTES, '\n', RECENT_BYTES);
    struct buf kept = {0};
    if (from != NULL) {
        buf_append_string(&kept, from + 1);
    }
    buf_fini(recent);
    *recent = kept;
}

/** Append lines, each erased after its end: nothing of a longer former line stays. */
static void add_lines(const struct buf *lines, struct buf *out)
{
    for (size_t at = 0; at < lines->len;) {
        size_t len = strcspn(lines->data + at, "\n");
        buf_append(out, lines->data + at, len);
        buf_append_string(out, ERASE_LINE "\r\n");
        at += len + 1;
    }
}

/** As many of the latest permanent lines as fit above the frame. */
static void add_recent(const struct terminal *terminal, size_t room, size_t columns,
                       struct buf *out)
{
    const struct buf *recent = &terminal->recent;
    size_t begin = recent->len;
    while (begin > 0) {
        size_t line = begin - 1;
        while (line > 0 && recent->data[line - 1] != '\n') {
            line--;
        }
        size_t rows = rows_of_line(recent->data + line, begin - 1 - line, columns);
        if (rows > room) {
            break;
        }
        room -= rows;
        begin = line;
    }
    struct buf lines = {0};
    buf_append(&lines, buf_string(recent) + begin, recent->len - begin);
    add_lines(&lines, out);
    buf_fini(&lines);
}

/**
 * A terminal that became narrower wraps the frame's lines, and each program does that in its own
 * way; where the cursor is now is anybody's guess. Then the screen is drawn anew.
 */
static void draw_screen(struct terminal *terminal, const struct buf *frame, size_t columns,
                        struct buf *out)
{
    size_t rows = style_rows(terminal->stream, 24);
    size_t frame_rows = rows_of(frame, columns) + 1;
    buf_append_string(out, CLEAR_SCREEN);
    add_recent(terminal, rows > frame_rows ? rows - frame_rows : 0, columns, out);
    add_lines(frame, out);
}

void terminal_update(struct terminal *terminal, const struct buf *permanent,
                     const struct buf *frame)
{
    auto_buf struct buf out = {0};
    size_t columns = style_columns(terminal->stream, 80);
    size_t lines = lines_in(&terminal->frame);
    bool is_wrapped = rows_of(&terminal->frame, columns) > lines;
    remember(terminal, permanent);
    buf_append_string(&out, SYNC_BEGIN CURSOR_HIDE "\r");
    if (is_wrapped) {
        draw_screen(terminal, frame, columns, &out);
    } else {
        if (lines > 0) {
            buf_printf(&out, "\033[%zuA", lines);
        }
        add_lines(permanent, &out);
        add_lines(frame, &out);
    }
    buf_append_string(&out, ERASE_BELOW);
    if (frame->len == 0) {
        buf_append_string(&out, TERMINAL_RESTORE);
    }
    buf_append_string(&out, SYNC_END);
    (void)file_write_all(fileno(terminal->stream), out.data, out.len); /* or it is lost */
    buf_clear(&terminal->frame);
    buf_append(&terminal->frame, buf_string(frame), frame->len);
}

void terminal_fini(struct terminal *terminal)
{
    buf_fini(&terminal->frame);
    buf_fini(&terminal->recent);
}
