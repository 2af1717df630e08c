// SPDX-License-Identifier: Apache-2.0
/*
 * From md4c's callbacks to lines. Words of a block are gathered; when the block ends they are
 * broken into lines, each after the prefix of the quotes and list items around it.
 *
 * The source is cleaned before it is parsed, so that only entities can still bring control
 * characters in; they are checked one by one. md4c takes quadratic time for some inputs: therefore
 * the limit of the size. What it repeats (a link's target, cells of a wide table) counts against a
 * budget, beyond which the source is shown instead.
 */
#include "cli/terminal/markdown.h"

#include "base/limits.h"
#include "cli/terminal/markdown_entity.h"
#include "cli/terminal/markdown_table.h"
#include "cli/terminal/markdown_text.h"
#include "cli/terminal/text.h"

#include <md4c.h>
#include <stdio.h>
#include <string.h>

/** Quotes, lists and items around a block that are shown; deeper ones add nothing. */
#define LEVELS_MAX 24
/** Output that is allowed for each byte of the source, and besides. */
#define BUDGET_FACTOR 64
#define BUDGET_BASE   (16 * 1024)
/** Length of a rule. */
#define RULE_COLUMNS 40
#define CODE_INDENT  "    "

enum level_kind { LEVEL_QUOTE, LEVEL_LIST, LEVEL_ITEM };

struct level {
    enum level_kind kind;
    bool is_tight;   /* list: no blank lines between items */
    bool is_ordered; /* list */
    unsigned number; /* list: of the next item */
    char delimiter;  /* list */
    bool is_pending; /* item: the marker was not written yet */
    unsigned marks;  /* item: of the marker */
    char marker[24]; /* item */
    size_t columns;  /* that it takes of each line */
};

struct renderer {
    const struct style *style;
    size_t columns;
    struct buf *out;
    size_t budget;

    struct level levels[LEVELS_MAX];
    size_t level_count;
    size_t hidden_count; /* levels beyond */
    size_t prefix_columns;

    struct markdown_text words;
    unsigned span_depth[8]; /* for each mark's bit, how many spans it is in */
    unsigned block_marks;
    struct buf code;
    bool is_code;
    bool is_blank_wanted;
    struct markdown_table table;
    struct markdown_text *cell; /* where words go instead */
};

/** Answer of a callback. Only a negative one makes md4c stop wherever it is. */
static int check_budget(const struct renderer *renderer)
{
    return renderer->out->len > renderer->budget ? -1 : 0;
}

static unsigned marks_of(const struct renderer *renderer)
{
    unsigned marks = renderer->block_marks;
    for (unsigned bit = 0; bit < 8; bit++) {
        marks |= renderer->span_depth[bit] > 0 ? 1U << bit : 0;
    }
    return marks;
}

static void add_words(struct renderer *renderer, const char *text, size_t len, unsigned marks)
{
    struct markdown_text *words = renderer->cell != NULL ? renderer->cell : &renderer->words;
    markdown_text_add(words, text, len, marks);
}

/** Prefix of a line: bars of quotes, markers of items or the space below them. */
static void add_prefix(struct renderer *renderer, bool is_blank_line)
{
    size_t count = renderer->level_count;
    while (is_blank_line && count > 0 && renderer->levels[count - 1].kind != LEVEL_QUOTE) {
        count--;
    }
    for (size_t i = 0; i < count; i++) {
        struct level *level = &renderer->levels[i];
        if (level->kind == LEVEL_QUOTE && level->columns > 0) {
            bool is_last = is_blank_line && i + 1 == count;
            markdown_mark(renderer->style, MARKDOWN_FAINT,
                          renderer->style->is_unicode ? "\u2502" : ">", renderer->out);
            buf_append_string(renderer->out, is_last ? "" : " ");
        } else if (level->is_pending && !is_blank_line) {
            markdown_mark(renderer->style, level->marks, level->marker, renderer->out);
            level->is_pending = false;
        } else {
            buf_printf(renderer->out, "%*s", (int)level->columns, "");
        }
    }
}

static size_t room(const struct renderer *renderer)
{
    return renderer->columns - renderer->prefix_columns;
}

static void end_line(struct renderer *renderer)
{
    buf_append(renderer->out, "\n", 1);
}

/** Write words as lines of the present block. */
static void write_lines(struct renderer *renderer, const struct markdown_text *words, size_t indent,
                        bool is_verbatim)
{
    struct markdown_line line = {0};
    size_t columns = room(renderer) - indent;
    while (markdown_text_line(words, line.next, columns, is_verbatim, &line)) {
        add_prefix(renderer, line.begin == line.end);
        if (line.begin < line.end) {
            buf_printf(renderer->out, "%*s", (int)indent, "");
        }
        markdown_text_write(words, &line, 0, renderer->style, renderer->out);
        end_line(renderer);
        if (renderer->out->len > renderer->budget) {
            return;
        }
    }
}

static void flush_words(struct renderer *renderer)
{
    write_lines(renderer, &renderer->words, 0, false);
    markdown_text_clear(&renderer->words);
}

/** Before a block: what was gathered, and a blank line where the last block ended. */
static void begin_block(struct renderer *renderer)
{
    flush_words(renderer);
    if (renderer->is_blank_wanted) {
        add_prefix(renderer, true);
        end_line(renderer);
    }
    renderer->is_blank_wanted = false;
}

static struct level *push(struct renderer *renderer, enum level_kind kind)
{
    if (renderer->level_count == LEVELS_MAX || renderer->hidden_count > 0) {
        renderer->hidden_count++;
        return NULL;
    }
    struct level *level = &renderer->levels[renderer->level_count++];
    *level = (struct level){.kind = kind};
    return level;
}

/** Give a level its columns, unless they would leave too few for words. */
static void widen(struct renderer *renderer, struct level *level, size_t columns)
{
    if (renderer->prefix_columns + columns <= renderer->columns / 2) {
        level->columns = columns;
        renderer->prefix_columns += columns;
    } else {
        level->is_pending = false;
    }
}

static void pop(struct renderer *renderer)
{
    if (renderer->hidden_count > 0) {
        renderer->hidden_count--;
        return;
    }
    struct level *level = &renderer->levels[--renderer->level_count];
    renderer->prefix_columns -= level->columns;
}

static struct level *innermost_list(struct renderer *renderer)
{
    for (size_t i = renderer->level_count; i > 0; i--) {
        if (renderer->levels[i - 1].kind == LEVEL_LIST) {
            return &renderer->levels[i - 1];
        }
    }
    return NULL;
}

static void enter_quote(struct renderer *renderer)
{
    struct level *level = push(renderer, LEVEL_QUOTE);
    if (level != NULL) {
        widen(renderer, level, 2);
    }
}

static void enter_list(struct renderer *renderer, bool is_tight, bool is_ordered, unsigned number,
                       char delimiter)
{
    struct level *level = push(renderer, LEVEL_LIST);
    if (level != NULL) {
        level->is_tight = is_tight;
        level->is_ordered = is_ordered;
        level->number = number;
        level->delimiter = delimiter;
    }
}

static void enter_item(struct renderer *renderer, const MD_BLOCK_LI_DETAIL *detail)
{
    struct level *list = innermost_list(renderer);
    struct level *level = push(renderer, LEVEL_ITEM);
    if (level == NULL || list == NULL) {
        return;
    }
    bool is_done = detail->task_mark == 'x' || detail->task_mark == 'X';
    if (detail->is_task) {
        snprintf(level->marker, sizeof(level->marker), is_done ? "[x] " : "[ ] ");
        level->marks = is_done ? MARKDOWN_DONE : 0;
    } else if (list->is_ordered) {
        snprintf(level->marker, sizeof(level->marker), "%u%c ", list->number++, list->delimiter);
    } else {
        snprintf(level->marker, sizeof(level->marker),
                 renderer->style->is_unicode ? "\u2022 " : "- ");
    }
    level->is_pending = true;
    widen(renderer, level, text_width(level->marker));
}

static void leave_item(struct renderer *renderer)
{
    struct level *item = &renderer->levels[renderer->level_count - 1];
    if (renderer->hidden_count == 0 && item->is_pending) {
        add_prefix(renderer, false); /* An item without words. */
        end_line(renderer);
    }
    pop(renderer);
}

static void add_rule(struct renderer *renderer)
{
    auto_buf struct buf rule = {0};
    size_t columns = room(renderer) < RULE_COLUMNS ? room(renderer) : RULE_COLUMNS;
    for (size_t i = 0; i < columns; i++) {
        buf_append_string(&rule, renderer->style->is_unicode ? "\u2500" : "-");
    }
    add_prefix(renderer, false);
    markdown_mark(renderer->style, MARKDOWN_FAINT, buf_string(&rule), renderer->out);
    end_line(renderer);
}

static void enter_heading(struct renderer *renderer, unsigned level)
{
    static const unsigned marks[] = {
        MARKDOWN_STRONG | MARKDOWN_UNDERLINED,
        MARKDOWN_STRONG,
        MARKDOWN_STRONG | MARKDOWN_EMPHASIS,
    };
    renderer->block_marks = marks[level < 3 ? level - 1 : 2];
    if (!renderer->style->has_colour) {
        add_words(renderer, "######", level, 0);
        add_words(renderer, " ", 1, 0);
    }
}

static void leave_code(struct renderer *renderer)
{
    struct markdown_text text = {0};
    size_t len = renderer->code.len;
    len -= len > 0 && renderer->code.data[len - 1] == '\n';
    markdown_text_add_verbatim(&text, buf_string(&renderer->code), len, MARKDOWN_CODE);
    write_lines(renderer, &text, room(renderer) > 2 * strlen(CODE_INDENT) ? strlen(CODE_INDENT) : 0,
                true);
    markdown_text_fini(&text);
    buf_clear(&renderer->code);
    renderer->is_code = false;
}

static void leave_table(struct renderer *renderer)
{
    auto_buf struct buf lines = {0};
    markdown_table_write(&renderer->table, room(renderer), renderer->style, &lines);
    for (size_t at = 0; at < lines.len;) {
        size_t len = strcspn(lines.data + at, "\n");
        add_prefix(renderer, len == 0);
        buf_append(renderer->out, lines.data + at, len + 1);
        at += len + 1;
    }
    markdown_table_fini(&renderer->table);
}

static int enter_table(struct renderer *renderer, size_t column_count)
{
    return markdown_table_begin(&renderer->table, column_count) ? 0 : -1;
}

static int enter_cell(struct renderer *renderer, const MD_BLOCK_TD_DETAIL *detail)
{
    enum markdown_align align = detail->align == MD_ALIGN_CENTER  ? MARKDOWN_CENTRE
                                : detail->align == MD_ALIGN_RIGHT ? MARKDOWN_RIGHT
                                                                  : MARKDOWN_LEFT;
    renderer->cell = markdown_table_cell(&renderer->table, align);
    return renderer->cell == NULL ? -1 : 0;
}

static bool is_table_part(MD_BLOCKTYPE type)
{
    return type == MD_BLOCK_THEAD || type == MD_BLOCK_TBODY || type == MD_BLOCK_TR ||
           type == MD_BLOCK_TH || type == MD_BLOCK_TD;
}

/** Blank lines in front: none between the items of a tight list. */
static void prepare_block(struct renderer *renderer, MD_BLOCKTYPE type)
{
    const struct level *list = innermost_list(renderer);
    flush_words(renderer);
    if (type == MD_BLOCK_LI && list != NULL && list->is_tight) {
        renderer->is_blank_wanted = false;
    }
    if (type != MD_BLOCK_DOC && !is_table_part(type)) {
        begin_block(renderer);
    }
}

/* long: one case for each type of block */
static int on_enter_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct renderer *renderer = context;
    prepare_block(renderer, type);
    const MD_BLOCK_OL_DETAIL *ordered = detail;
    switch (type) {
    case MD_BLOCK_QUOTE:
        enter_quote(renderer);
        break;
    case MD_BLOCK_UL:
        enter_list(renderer, ((const MD_BLOCK_UL_DETAIL *)detail)->is_tight, false, 0, 0);
        break;
    case MD_BLOCK_OL:
        enter_list(renderer, ordered->is_tight, true, ordered->start, ordered->mark_delimiter);
        break;
    case MD_BLOCK_LI:
        enter_item(renderer, detail);
        break;
    case MD_BLOCK_HR:
        add_rule(renderer);
        break;
    case MD_BLOCK_H:
        enter_heading(renderer, ((const MD_BLOCK_H_DETAIL *)detail)->level);
        break;
    case MD_BLOCK_CODE:
    case MD_BLOCK_HTML:
        renderer->is_code = true;
        break;
    case MD_BLOCK_TABLE:
        return enter_table(renderer, ((const MD_BLOCK_TABLE_DETAIL *)detail)->col_count);
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        return enter_cell(renderer, detail);
    case MD_BLOCK_DOC:
    case MD_BLOCK_P:
    case MD_BLOCK_THEAD:
    case MD_BLOCK_TBODY:
    case MD_BLOCK_TR:
        break;
    }
    return check_budget(renderer);
}

static int on_leave_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct renderer *renderer = context;
    (void)detail;
    flush_words(renderer);
    switch (type) {
    case MD_BLOCK_LI:
        leave_item(renderer);
        return check_budget(renderer);
    case MD_BLOCK_QUOTE:
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        pop(renderer);
        break;
    case MD_BLOCK_CODE:
    case MD_BLOCK_HTML:
        leave_code(renderer);
        break;
    case MD_BLOCK_TABLE:
        leave_table(renderer);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        renderer->cell = NULL;
        break;
    case MD_BLOCK_H:
        renderer->block_marks = 0;
        break;
    case MD_BLOCK_DOC:
    case MD_BLOCK_HR:
    case MD_BLOCK_P:
    case MD_BLOCK_THEAD:
    case MD_BLOCK_TBODY:
    case MD_BLOCK_TR:
        break;
    }
    renderer->is_blank_wanted = !is_table_part(type);
    return check_budget(renderer);
}

/** How a span is shown: by a mark, or without colours by the characters of the source. */
struct span_form {
    unsigned bit; /* of the mark; its place */
    const char *plain;
};

static const struct span_form *form_of(MD_SPANTYPE type)
{
    static const struct span_form strong = {0, "**"}, emphasis = {1, "*"}, code = {2, "`"},
                                  struck = {3, "~~"}, link = {4, ""};
    switch (type) {
    case MD_SPAN_EM:
        return &emphasis;
    case MD_SPAN_STRONG:
        return &strong;
    case MD_SPAN_CODE:
    case MD_SPAN_LATEXMATH:
    case MD_SPAN_LATEXMATH_DISPLAY:
        return &code;
    case MD_SPAN_DEL:
        return &struck;
    case MD_SPAN_A:
    case MD_SPAN_IMG:
    case MD_SPAN_WIKILINK:
    case MD_SPAN_U:
        return &link;
    }
    return &link;
}

static int on_enter_span(MD_SPANTYPE type, void *detail, void *context)
{
    struct renderer *renderer = context;
    const struct span_form *form = form_of(type);
    (void)detail;
    renderer->span_depth[form->bit]++;
    if (!renderer->style->has_colour) {
        add_words(renderer, form->plain, strlen(form->plain), 0);
    }
    if (type == MD_SPAN_IMG) {
        add_words(renderer, "[image: ", 8, marks_of(renderer));
    }
    return 0;
}

/** Append the text of an attribute, with its entities read. */
static void add_attribute(const MD_ATTRIBUTE *attribute, struct buf *ret_buf)
{
    for (size_t i = 0; attribute->text != NULL && attribute->substr_offsets[i] < attribute->size;
         i++) {
        const char *text = attribute->text + attribute->substr_offsets[i];
        size_t len = attribute->substr_offsets[i + 1] - attribute->substr_offsets[i];
        if (attribute->substr_types[i] == MD_TEXT_ENTITY) {
            markdown_entity(text, len, ret_buf);
        } else {
            buf_append(ret_buf, text, len);
        }
    }
}

/** Where a link leads, unless its words say just that. */
static void add_target(struct renderer *renderer, const MD_ATTRIBUTE *target)
{
    const struct markdown_text *words = renderer->cell != NULL ? renderer->cell : &renderer->words;
    auto_buf struct buf url = {0};
    add_attribute(target, &url);
    const char *text = buf_string(&url);
    text += strncmp(text, "mailto:", 7) == 0 ? 7 : 0;
    size_t len = strlen(text);
    bool is_said = len <= words->text.len &&
                   memcmp(buf_string(&words->text) + words->text.len - len, text, len) == 0;
    if (len > 0 && !is_said) {
        add_words(renderer, " (", 2, MARKDOWN_FAINT);
        add_words(renderer, text, len, MARKDOWN_FAINT);
        add_words(renderer, ")", 1, MARKDOWN_FAINT);
    }
}

static int on_leave_span(MD_SPANTYPE type, void *detail, void *context)
{
    struct renderer *renderer = context;
    const struct span_form *form = form_of(type);
    if (!renderer->style->has_colour) {
        add_words(renderer, form->plain, strlen(form->plain), 0);
    }
    if (type == MD_SPAN_IMG) {
        add_words(renderer, "]", 1, marks_of(renderer));
    }
    renderer->span_depth[form->bit]--;
    if (type == MD_SPAN_A) {
        add_target(renderer, &((const MD_SPAN_A_DETAIL *)detail)->href);
    } else if (type == MD_SPAN_IMG) {
        add_target(renderer, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
    }
    return 0;
}

static bool is_line_break_tag(const char *text, size_t len)
{
    return (len == 4 && strncasecmp(text, "<br>", 4) == 0) ||
           (len == 5 && strncasecmp(text, "<br/>", 5) == 0) ||
           (len == 6 && strncasecmp(text, "<br />", 6) == 0);
}

static void add_break(struct renderer *renderer)
{
    markdown_text_break(renderer->cell != NULL ? renderer->cell : &renderer->words);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *context)
{
    struct renderer *renderer = context;
    auto_buf struct buf entity = {0};
    if (renderer->is_code) {
        buf_append(&renderer->code, text, size);
        return 0;
    }
    switch (type) {
    case MD_TEXT_BR:
        add_break(renderer);
        break;
    case MD_TEXT_SOFTBR:
        add_words(renderer, " ", 1, marks_of(renderer));
        break;
    case MD_TEXT_HTML:
        if (is_line_break_tag(text, size)) {
            add_break(renderer);
        } else {
            add_words(renderer, text, size, marks_of(renderer));
        }
        break;
    case MD_TEXT_ENTITY:
        markdown_entity(text, size, &entity);
        add_words(renderer, buf_string(&entity), entity.len, marks_of(renderer));
        break;
    case MD_TEXT_NULLCHAR:
    case MD_TEXT_NORMAL:
    case MD_TEXT_CODE:
    case MD_TEXT_LATEXMATH:
        add_words(renderer, text, size, marks_of(renderer));
        break;
    }
    size_t waiting =
        renderer->words.text.len + (renderer->cell == NULL ? 0 : renderer->cell->text.len);
    return waiting > renderer->budget ? -1 : 0;
}

static bool render(struct renderer *renderer, const struct buf *source)
{
    const MD_PARSER parser = {
        .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTMLBLOCKS,
        .enter_block = on_enter_block,
        .leave_block = on_leave_block,
        .enter_span = on_enter_span,
        .leave_span = on_leave_span,
        .text = on_text,
    };
    int r = md_parse(buf_string(source), (MD_SIZE)source->len, &parser, renderer);
    markdown_text_fini(&renderer->words);
    markdown_table_fini(&renderer->table);
    buf_fini(&renderer->code);
    return r == 0;
}

/** The source itself, with lines that fit. */
static void write_source(const struct buf *source, const struct style *style, size_t columns,
                         bool is_verbatim, struct buf *ret_buf)
{
    struct markdown_text text = {0};
    struct markdown_line line = {0};
    markdown_text_add_verbatim(&text, buf_string(source), source->len, 0);
    while (markdown_text_line(&text, line.next, columns, is_verbatim, &line)) {
        markdown_text_write(&text, &line, 0, style, ret_buf);
        buf_append(ret_buf, "\n", 1);
    }
    markdown_text_fini(&text);
}

/** Characters that turn the direction of writing, and the one that makes a sign an emoji: its width
 * is not the same on all terminals. */
static size_t dropped_len(const char *text, size_t len)
{
    static const char *const dropped[] = {
        "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067",
        "\u2068", "\u2069", "\u200e", "\u200f", "\u2028", "\u2029", "\ufe0f",
    };
    for (size_t i = 0; len >= 3 && i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        if (memcmp(text, dropped[i], 3) == 0) {
            return 3;
        }
    }
    return 0;
}

static void drop_unfit(const struct buf *clean, struct buf *ret_buf)
{
    size_t kept = 0;
    for (size_t at = 0; at < clean->len;) {
        size_t len = (unsigned char)clean->data[at] >= 0xe2
                         ? dropped_len(clean->data + at, clean->len - at)
                         : 0;
        if (len > 0) {
            buf_append(ret_buf, clean->data + kept, at - kept);
            kept = at + len;
        }
        at += len > 0 ? len : 1;
    }
    buf_append(ret_buf, buf_string(clean) + kept, clean->len - kept);
}

void markdown_clean(const char *text, size_t len, struct buf *ret_buf)
{
    auto_buf struct buf clean = {0};
    for (size_t at = 0; at < len;) {
        size_t end = at;
        while (end < len && text[end] != '\n' && text[end] != '\t') {
            end++;
        }
        text_clean(text + at, end - at, &clean);
        if (end < len) {
            buf_append(&clean, text + end, 1);
        }
        at = end + 1;
    }
    drop_unfit(&clean, ret_buf);
}

void markdown_render(const char *text, size_t len, const struct style *style, size_t columns,
                     struct buf *ret_buf)
{
    auto_buf struct buf source = {0};
    markdown_clean(text, len, &source);
    while (source.len > 0 && source.data[source.len - 1] == '\n') {
        source.data[--source.len] = '\0';
    }
    if (!style->is_terminal) {
        buf_append(ret_buf, buf_string(&source), source.len);
        buf_append_string(ret_buf, source.len > 0 ? "\n" : "");
        return;
    }
    columns = columns < MARKDOWN_COLUMNS_MIN ? MARKDOWN_COLUMNS_MIN : columns;
    auto_buf struct buf lines = {0};
    struct renderer renderer = {
        .style = style,
        .columns = columns,
        .out = &lines,
        .budget = BUDGET_BASE + BUDGET_FACTOR * source.len,
    };
    if (source.len <= LIMIT_MARKDOWN_BYTES && render(&renderer, &source)) {
        buf_append(ret_buf, buf_string(&lines), lines.len);
    } else {
        write_source(&source, style, columns, true, ret_buf);
    }
}

void markdown_wrap(const char *text, size_t len, const struct style *style, size_t columns,
                   struct buf *ret_buf)
{
    auto_buf struct buf source = {0};
    markdown_clean(text, len, &source);
    columns = columns < MARKDOWN_COLUMNS_MIN ? MARKDOWN_COLUMNS_MIN : columns;
    write_source(&source, style, columns, false, ret_buf);
}
