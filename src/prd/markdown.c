// SPDX-License-Identifier: Apache-2.0
/*
 * PRDs in Markdown. A story is a heading (H2 to H4) that begins with an id; what follows belongs to
 * it up to a heading of its own level or above. In it, labels ("**Acceptance Criteria:**", or a
 * heading of that name) say what the lines after them are. A text without such headings is a list
 * of boxes, each a task.
 */
#include "base/ascii.h"
#include "prd/import_kinds.h"
#include "prd/story_id.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** What the lines at the present place are. */
enum prd_part {
    PART_NONE, /* nothing that is kept */
    PART_DESCRIPTION,
    PART_CRITERIA,
    PART_DERIVED, /* lists that are not called criteria and say what must hold */
    PART_DEPENDS,
    PART_PRIORITY,
    PART_TEXT,  /* of the whole PRD */
    PART_GATES, /* commands that must pass for every task */
};

/* Labels and headings, in lower case. */
static const struct {
    const char *name;
    enum prd_part part;
} labels[] = {
    {"acceptance criteria", PART_CRITERIA},
    {"acceptance", PART_CRITERIA},
    {"definition of done", PART_CRITERIA},
    {"done when", PART_CRITERIA},
    {"criteria", PART_CRITERIA},
    {"success criteria", PART_CRITERIA},
    {"acceptance tests", PART_CRITERIA},
    {"acceptance scenarios", PART_CRITERIA},
    {"must", PART_DERIVED},
    {"should", PART_DERIVED},
    {"requirements", PART_DERIVED},
    {"test plan", PART_DERIVED},
    {"tests", PART_DERIVED},
    {"verification", PART_DERIVED},
    {"description", PART_DESCRIPTION},
    {"user story", PART_DESCRIPTION},
    {"story", PART_DESCRIPTION},
    {"notes", PART_DESCRIPTION},
    {"context", PART_DESCRIPTION},
    {"details", PART_DESCRIPTION},
    {"implementation notes", PART_DESCRIPTION},
    {"depends on", PART_DEPENDS},
    {"dependencies", PART_DEPENDS},
    {"depends", PART_DEPENDS},
    {"blocked by", PART_DEPENDS},
    {"priority", PART_PRIORITY},
    {"labels", PART_NONE},
    {"status", PART_NONE},
    {"estimate", PART_NONE},
};

/* Sections of the whole. */
static const struct {
    const char *name;
    enum prd_part part;
} sections[] = {
    {"introduction", PART_TEXT},
    {"overview", PART_TEXT},
    {"summary", PART_TEXT},
    {"goal", PART_TEXT},
    {"introduction/overview", PART_TEXT},
    {"quality gates", PART_GATES},
    {"quality checks", PART_GATES},
    {"definition of done", PART_GATES},
};

struct markdown {
    struct prd_draft *draft;
    struct buf text; /* of the whole PRD */
    struct buf name;
    enum prd_part part;
    unsigned level; /* of the open story's heading; 0 = in none */
    bool has_item;  /* a criterion was begun, and lines below it belong to it */
    unsigned item_indent;
    bool has_sections; /* a heading below the first was seen */
    const char *gates[64];
    size_t gate_count;
};

/* ---- Labels --------------------------------------------------------------------------------- */

static bool is_text(const char *text, size_t len, const char *wanted)
{
    return strlen(wanted) == len && strncasecmp(text, wanted, len) == 0;
}

/** The part that a label names. @return whether it is one */
static bool find_label(const char *text, size_t len, enum prd_part *ret_part)
{
    while (len > 0 && (text[len - 1] == ':' || text[len - 1] == ' ')) {
        len--;
    }
    prd_trim(&text, &len);
    for (size_t i = 0; i < COUNT(labels); i++) {
        if (is_text(text, len, labels[i].name)) {
            *ret_part = labels[i].part;
            return true;
        }
    }
    return false;
}

static enum prd_part find_section(const char *text, size_t len)
{
    size_t digits = 0;
    while (digits < len && (ascii_is_digit(text[digits]) || text[digits] == '.')) {
        digits++;
    }
    text += digits;
    len -= digits;
    prd_trim(&text, &len);
    for (size_t i = 0; i < COUNT(sections); i++) {
        if (is_text(text, len, sections[i].name)) {
            return sections[i].part;
        }
    }
    return PART_NONE;
}

/**
 * A label at the beginning of a text: "**Priority:** P1", "**Priority**: P1", "Priority: P1".
 * @param ret_rest what follows it
 */
static bool take_label(const char *text, size_t len, enum prd_part *ret_part, const char **ret_rest,
                       size_t *ret_rest_len)
{
    const char *colon = memchr(text, ':', len);
    bool is_bold = len > 4 && strncmp(text, "**", 2) == 0;
    if (colon == NULL && is_bold) {
        const char *close = memmem(text + 2, len - 2, "**", 2);
        bool is_whole = close != NULL && (size_t)(close - text) + 2 == len;
        *ret_rest = text + len;
        *ret_rest_len = 0;
        return is_whole && find_label(text + 2, len - 4, ret_part);
    }
    if (colon == NULL || !find_label(text, (size_t)(colon - text), ret_part)) {
        return false;
    }
    const char *rest = colon + 1;
    size_t rest_len = len - (size_t)(rest - text);
    while (rest_len > 0 && (ascii_is_space(*rest) || *rest == '*')) {
        rest++;
        rest_len--;
    }
    *ret_rest = rest;
    *ret_rest_len = rest_len;
    return true;
}

/* ---- What lines say ------------------------------------------------------------------------- */

/** Ids in a text: "US-001, Task 2". */
static void take_dependencies(struct markdown *markdown, const char *text, size_t len,
                              const struct prd_line *line)
{
    static const char *const nothing[] = {"none", "-", "n/a", "nothing", ""};
    struct prd_draft *draft = markdown->draft;
    char id[PRD_STORY_ID_SIZE];
    size_t found = 0;
    for (size_t at = 0; at < len;) {
        bool is_start = at == 0 || !ascii_is_letter_or_digit(text[at - 1]);
        size_t taken = is_start ? prd_story_id(text + at, len - at, id) : 0;
        if (taken > 0) {
            prd_draft_depends(draft, id, strlen(id));
            found++;
        }
        at += taken > 0 ? taken : 1;
    }
    const char *rest = text;
    size_t rest_len = len;
    prd_trim(&rest, &rest_len);
    while (rest_len > 0 && rest[rest_len - 1] == '.') {
        rest_len--;
    }
    bool is_nothing = false;
    for (size_t i = 0; i < COUNT(nothing); i++) {
        is_nothing = is_nothing || is_text(rest, rest_len, nothing[i]);
    }
    if (found == 0 && !is_nothing) {
        prd_finding_add(draft->findings, false, "unknown-dependency", line->number, line->column,
                        "this dependency has no task id; it is ignored");
    }
}

static void take_priority(struct markdown *markdown, const char *text, size_t len)
{
    static const char *const words[] = {"critical", "high", "medium", "low"};
    int32_t *priority = &markdown->draft->open.task.priority;
    prd_trim(&text, &len);
    for (size_t i = 0; i < COUNT(words); i++) {
        size_t word = strlen(words[i]);
        if (len >= word && strncasecmp(text, words[i], word) == 0) {
            *priority = (int32_t)i;
        }
    }
    size_t at = len > 0 && ascii_lower(text[0]) == 'p' ? 1 : 0;
    if (at < len && ascii_is_digit(text[at])) {
        *priority = text[at] - '0';
        if (at + 1 < len && ascii_is_digit(text[at + 1])) {
            *priority = *priority * 10 + text[at + 1] - '0';
        }
    }
}

/** "- `npm test` - what it does": a gate is an item that begins with a command. */
static void take_gate(struct markdown *markdown, const struct prd_item *item)
{
    const char *close =
        item->len > 2 && item->text[0] == '`' ? memchr(item->text + 1, '`', item->len - 1) : NULL;
    if (close != NULL && markdown->gate_count < COUNT(markdown->gates)) {
        markdown->gates[markdown->gate_count++] =
            prd_keep(&markdown->draft->prd.arena, item->text + 1, (size_t)(close - item->text) - 1);
    }
}

static void take_value(struct markdown *markdown, enum prd_part part, const char *text, size_t len,
                       const struct prd_line *line)
{
    struct prd_draft *draft = markdown->draft;
    if (part == PART_DEPENDS) {
        take_dependencies(markdown, text, len, line);
    } else if (part == PART_PRIORITY) {
        take_priority(markdown, text, len);
    } else if (part == PART_DESCRIPTION) {
        prd_draft_describe(draft, text, len);
    } else if (part == PART_CRITERIA || part == PART_DERIVED) {
        prd_draft_criterion(draft, text, len, part == PART_DERIVED);
    }
}

/** An item of a list in a story. */
static void take_story_item(struct markdown *markdown, const struct prd_line *line,
                            const struct prd_item *item)
{
    struct prd_draft *draft = markdown->draft;
    enum prd_part part = markdown->part;
    bool is_below = markdown->has_item && line->indent >= markdown->item_indent + 2;
    bool is_list = part == PART_CRITERIA || part == PART_DERIVED;
    prd_draft_box(draft, item->box);
    if (is_below) {
        prd_draft_continue(draft, item->text, item->len, true);
        return;
    }
    if (is_list || item->box != PRD_BOX_NONE) {
        prd_draft_criterion(draft, item->text, item->len, part != PART_CRITERIA);
        markdown->has_item = true;
        markdown->item_indent = line->indent;
        return;
    }
    if (part == PART_DEPENDS) {
        take_dependencies(markdown, item->text, item->len, line);
    } else if (part != PART_NONE) {
        prd_draft_describe(draft, line->raw, line->raw_len);
    }
}

/** A line of a story that is no heading. */
static void take_story_line(struct markdown *markdown, const struct prd_line *line)
{
    struct prd_draft *draft = markdown->draft;
    struct prd_item item;
    enum prd_part part;
    const char *rest = NULL;
    size_t rest_len = 0;
    if (line->is_code) {
        prd_draft_describe(draft, line->raw, line->raw_len);
        return;
    }
    bool is_item = prd_line_item(line, &item);
    bool is_label = take_label(is_item ? item.text : line->text, is_item ? item.len : line->len,
                               &part, &rest, &rest_len);
    if (is_label && (!is_item || item.box == PRD_BOX_NONE)) {
        markdown->has_item = false;
        if (rest_len > 0) {
            take_value(markdown, part, rest, rest_len, line);
        }
        bool is_value = part == PART_PRIORITY || (part == PART_DEPENDS && rest_len > 0);
        markdown->part = is_value ? PART_DESCRIPTION : part;
        return;
    }
    if (is_item) {
        take_story_item(markdown, line, &item);
        return;
    }
    if (line->len == 0) {
        markdown->has_item = markdown->has_item && markdown->part != PART_DESCRIPTION;
    } else if (markdown->has_item && line->indent > markdown->item_indent) {
        prd_draft_continue(draft, line->text, line->len, false);
        return;
    } else {
        markdown->has_item = false;
    }
    bool is_rule = line->len >= 3 && strspn(line->text, "-*_") >= line->len;
    if (markdown->part != PART_NONE && !is_rule) {
        prd_draft_describe(draft, line->raw, line->raw_len);
    }
}

/* ---- Headings ------------------------------------------------------------------------------- */

static void take_name(struct markdown *markdown, const char *text, size_t len)
{
    static const char *const prefixes[] = {"PRD:", "PRD -", "Product Requirements Document:",
                                           "Product Requirements Document -", "Feature:"};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        size_t prefix = strlen(prefixes[i]);
        if (len > prefix && strncasecmp(text, prefixes[i], prefix) == 0) {
            text += prefix;
            len -= prefix;
            break;
        }
    }
    prd_trim(&text, &len);
    buf_append(&markdown->name, text, len);
}

/** A heading that begins a story. @return whether it does */
static bool take_story(struct markdown *markdown, unsigned level, const char *text, size_t len,
                       const struct prd_line *line)
{
    struct prd_draft *draft = markdown->draft;
    char id[PRD_STORY_ID_SIZE];
    enum prd_box box = prd_take_box(&text, &len);
    size_t taken = level >= 2 && level <= 4 ? prd_story_id(text, len, id) : 0;
    if (taken == 0) {
        return false;
    }
    /* Marks between the id and the title: a colon, a dash (also a long one), a bracket. */
    size_t at = taken;
    while (at < len && (strchr(": .)-\t*", text[at]) != NULL || (unsigned char)text[at] == 0xe2)) {
        at += (unsigned char)text[at] == 0xe2 ? 3 : 1;
    }
    at = at > len ? len : at;
    prd_draft_task(draft, id, strlen(id), text + at, len - at, line->number, line->column);
    prd_draft_box(draft, box);
    markdown->level = level;
    markdown->part = PART_DESCRIPTION;
    markdown->has_item = false;
    return true;
}

static void take_heading(struct markdown *markdown, unsigned level, const char *text, size_t len,
                         const struct prd_line *line)
{
    enum prd_part part;
    if (level == 1 && markdown->name.len == 0) {
        take_name(markdown, text, len);
        markdown->part = PART_TEXT;
        return;
    }
    bool is_below = markdown->level > 0 && level > markdown->level;
    if (is_below && find_label(text, len, &part)) {
        markdown->part = part;
        markdown->has_item = false;
        return;
    }
    bool is_step = is_below && len > 0 && ascii_is_digit(text[0]);
    if (!is_step && take_story(markdown, level, text, len, line)) {
        return;
    }
    if (is_below) {
        prd_draft_describe(markdown->draft, line->raw, line->raw_len);
        markdown->part = PART_DESCRIPTION;
        markdown->has_item = false;
        return;
    }
    markdown->level = 0;
    markdown->has_sections = true;
    markdown->part = find_section(text, len);
}

/** Lines outside of stories: the text of the whole, its branch, and gates. */
static void take_outer_line(struct markdown *markdown, const struct prd_line *line)
{
    struct prd *prd = &markdown->draft->prd;
    struct prd_item item;
    const char *text = line->text;
    size_t len = line->len;
    while (len > 0 && (*text == '>' || *text == ' ' || *text == '*' || *text == '-')) {
        text++;
        len--;
    }
    if (prd->branch == NULL && !markdown->has_sections && len > 7 && !line->is_code &&
        strncasecmp(text, "branch", 6) == 0 && memchr(text, ':', len) != NULL) {
        const char *value = (const char *)memchr(text, ':', len) + 1;
        size_t value_len = len - (size_t)(value - text);
        while (value_len > 0 && strchr(" *`\t", *value) != NULL) {
            value++;
            value_len--;
        }
        while (value_len > 0 && strchr(" *`\t", value[value_len - 1]) != NULL) {
            value_len--;
        }
        prd->branch = value_len == 0 ? NULL : prd_keep(&prd->arena, value, value_len);
        return;
    }
    if (markdown->part == PART_GATES && prd_line_item(line, &item)) {
        take_gate(markdown, &item);
    } else if (markdown->part == PART_TEXT && (line->len > 0 || markdown->text.len > 0)) {
        buf_append(&markdown->text, line->raw, line->raw_len);
        buf_append_string(&markdown->text, "\n");
    }
}

/** A text without stories: its boxes are tasks, those below them their criteria. */
static void import_boxes(struct markdown *markdown, const char *text, size_t len)
{
    struct prd_draft *draft = markdown->draft;
    struct prd_lines lines = prd_lines(text, len);
    struct prd_line line;
    struct prd_item item;
    unsigned indent = 0;
    while (prd_line_next(&lines, &line)) {
        if (!prd_line_item(&line, &item)) {
            continue;
        }
        bool is_below = draft->is_open && line.indent >= indent + 2;
        if (is_below) {
            prd_draft_criterion(draft, item.text, item.len, true);
        } else if (item.box != PRD_BOX_NONE && item.len > 0) {
            char id[PRD_STORY_ID_SIZE] = "";
            size_t taken = prd_story_id(item.text, item.len, id);
            const char *title = item.text + taken;
            size_t title_len = item.len - taken;
            while (taken > 0 && title_len > 0 && strchr(": .)-", *title) != NULL) {
                title++;
                title_len--;
            }
            prd_draft_task(draft, id, strlen(id), title, title_len, line.number, line.column);
            prd_draft_box(draft, item.box);
            indent = line.indent;
        }
    }
}

void prd_import_markdown(struct prd_draft *draft, const char *text, size_t len)
{
    struct markdown markdown = {.draft = draft};
    struct prd *prd = &draft->prd;
    struct prd_lines lines = prd_lines(text, len);
    struct prd_line line;
    while (prd_line_next(&lines, &line)) {
        const char *heading = NULL;
        size_t heading_len = 0;
        unsigned level = prd_line_heading(&line, &heading, &heading_len);
        if (level > 0) {
            take_heading(&markdown, level, heading, heading_len, &line);
        } else if (markdown.level > 0) {
            take_story_line(&markdown, &line);
        } else {
            take_outer_line(&markdown, &line);
        }
    }
    if (prd->task_count == 0 && !draft->is_open) {
        import_boxes(&markdown, text, len);
    }
    const char *whole = buf_string(&markdown.text);
    size_t whole_len = markdown.text.len;
    while (whole_len > 0 && ascii_is_space(whole[whole_len - 1])) {
        whole_len--;
    }
    prd->text = prd_keep(&prd->arena, whole, whole_len);
    prd->name = prd_keep(&prd->arena, buf_string(&markdown.name), markdown.name.len);
    const char **gates = arena_new_array(&prd->arena, markdown.gate_count + 1, sizeof(*gates));
    memcpy(gates, markdown.gates, markdown.gate_count * sizeof(*gates));
    prd->gates = gates;
    prd->gate_count = markdown.gate_count;
    buf_fini(&markdown.text);
    buf_fini(&markdown.name);
}
