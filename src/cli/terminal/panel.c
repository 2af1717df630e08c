// SPDX-License-Identifier: Apache-2.0
/* Drawing boxes: rounded corners where the locale has them. */
#include "cli/terminal/panel.h"

#include "cli/terminal/text.h"

#include <string.h>

enum part { LINE, SIDE, UPPER_LEFT, UPPER_RIGHT, LOWER_LEFT, LOWER_RIGHT };

static const char *const parts[][2] = {
    [LINE] = {"-", "\u2500"},       [SIDE] = {"|", "\u2502"},
    [UPPER_LEFT] = {"+", "\u256d"}, [UPPER_RIGHT] = {"+", "\u256e"},
    [LOWER_LEFT] = {"+", "\u2570"}, [LOWER_RIGHT] = {"+", "\u256f"},
};

struct drawing {
    const struct panel *panel;
    const struct style *style;
    size_t columns;
    struct buf *out;
};

static const char *part(const struct drawing *drawing, enum part which)
{
    return parts[which][drawing->style->is_unicode];
}

static bool is_box(size_t columns)
{
    return columns >= PANEL_COLUMNS_BOX;
}

static size_t limited(size_t columns)
{
    columns = columns < 10 ? 10 : columns;
    return columns > PANEL_COLUMNS_MAX ? PANEL_COLUMNS_MAX : columns;
}

size_t panel_body_columns(size_t columns)
{
    columns = limited(columns);
    return is_box(columns) ? columns - 4 : columns;
}

static void begin_colour(const struct drawing *drawing)
{
    buf_append_string(drawing->out, style_begin(drawing->style, drawing->panel->colour));
}

static void end_colour(const struct drawing *drawing)
{
    buf_append_string(drawing->out,
                      drawing->panel->colour == COLOUR_PLAIN ? "" : style_end(drawing->style));
}

static void add_line(const struct drawing *drawing, size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        buf_append_string(drawing->out, part(drawing, LINE));
    }
}

/** Figures that do not fit are left out, the last ones first. */
static void fit_words(const char *words, size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf kept = {0};
    buf_append_string(&kept, words);
    while (text_width(buf_string(&kept)) > columns) {
        size_t at = kept.len;
        while (at > 0 && strncmp(kept.data + at, " | ", 3) != 0) {
            at--;
        }
        if (at == 0) {
            break;
        }
        kept.data[at] = '\0';
        kept.len = at;
    }
    text_fit(buf_string(&kept), columns, ret_buf);
}

/** An edge with words in it: a corner, a line, the words, the line's rest, a corner. */
static void add_edge(const struct drawing *drawing, enum part left, enum part right,
                     const char *words, enum colour colour, bool is_at_right)
{
    auto_buf struct buf fit = {0};
    size_t inner = drawing->columns - 2;
    if (words != NULL && words[0] != '\0') {
        fit_words(words, inner - 4, &fit);
    }
    size_t taken = fit.len == 0 ? 0 : text_width(fit.data) + 2;
    size_t before = is_at_right ? inner - taken - 1 : 1;
    before = fit.len == 0 ? inner : before;
    begin_colour(drawing);
    buf_append_string(drawing->out, part(drawing, left));
    add_line(drawing, before);
    if (fit.len > 0) {
        end_colour(drawing);
        buf_append_string(drawing->out, " ");
        style_append(drawing->style, colour, fit.data, drawing->out);
        buf_append_string(drawing->out, " ");
        begin_colour(drawing);
        add_line(drawing, inner - before - taken);
    }
    buf_append_string(drawing->out, part(drawing, right));
    end_colour(drawing);
    buf_append_string(drawing->out, "\n");
}

static void add_side(const struct drawing *drawing)
{
    begin_colour(drawing);
    buf_append_string(drawing->out, part(drawing, SIDE));
    end_colour(drawing);
}

static void add_body_line(const struct drawing *drawing, const char *line, size_t len)
{
    auto_buf struct buf own = {0};
    auto_buf struct buf fit = {0};
    buf_append(&own, line, len);
    text_fit(buf_string(&own), panel_body_columns(drawing->columns), &fit);
    if (!is_box(drawing->columns)) {
        buf_append(drawing->out, buf_string(&fit), fit.len);
        buf_append_string(drawing->out, "\n");
        return;
    }
    add_side(drawing);
    buf_append_string(drawing->out, " ");
    text_pad(buf_string(&fit), drawing->columns - 4, drawing->out);
    buf_append_string(drawing->out, " ");
    add_side(drawing);
    buf_append_string(drawing->out, "\n");
}

static void add_body(const struct drawing *drawing)
{
    for (const char *at = drawing->panel->body; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        add_body_line(drawing, at, len);
        at += len + (at[len] == '\n');
    }
}

/** Without box: "-- title ----", the body, the subtitle. */
static void draw_open(const struct drawing *drawing)
{
    const struct panel *panel = drawing->panel;
    auto_buf struct buf fit = {0};
    text_fit(panel->title, drawing->columns - 4, &fit);
    begin_colour(drawing);
    add_line(drawing, 1);
    end_colour(drawing);
    buf_append_string(drawing->out, " ");
    style_append(drawing->style, COLOUR_BOLD, buf_string(&fit), drawing->out);
    buf_append_string(drawing->out, " ");
    begin_colour(drawing);
    add_line(drawing, drawing->columns - 3 - text_width(buf_string(&fit)));
    end_colour(drawing);
    buf_append_string(drawing->out, "\n");
    add_body(drawing);
    if (panel->subtitle != NULL && panel->subtitle[0] != '\0') {
        auto_buf struct buf lines = {0};
        text_wrap(panel->subtitle, 0, drawing->columns, 0, &lines);
        style_append(drawing->style, COLOUR_DIM, buf_string(&lines), drawing->out);
        buf_append_string(drawing->out, "\n");
    }
}

void panel_render(const struct panel *panel, const struct style *style, size_t columns,
                  struct buf *ret_buf)
{
    struct drawing drawing = {
        .panel = panel, .style = style, .columns = limited(columns), .out = ret_buf};
    if (!is_box(drawing.columns)) {
        draw_open(&drawing);
        return;
    }
    add_edge(&drawing, UPPER_LEFT, UPPER_RIGHT, panel->title, COLOUR_BOLD, false);
    add_body(&drawing);
    add_edge(&drawing, LOWER_LEFT, LOWER_RIGHT, panel->subtitle, COLOUR_DIM, true);
}
