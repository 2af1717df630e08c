// SPDX-License-Identifier: Apache-2.0
/*
 * HTML to Markdown in one pass, without a tree: a start tag opens what its row says, an end tag
 * closes it, text in between is written with its blanks collapsed. The memory used is that of the
 * result. Nothing nests but lists, whose depth is counted and bounded.
 */
#include "tool/builtin/html.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/text/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum {
    LIST_DEPTH_SHOWN = 8,
    NAME_BYTES = 16,   /**< of an element or an entity that has a meaning here */
    HREF_BYTES = 2048, /**< of a link; a longer one is left out */
};

/** What an element does to the text. */
enum effect {
    EFFECT_NONE = 0,
    EFFECT_SKIP,  /**< all of it is left out */
    EFFECT_BLOCK, /**< stands alone, with an empty line around */
    EFFECT_LINE,  /**< begins a line */
    EFFECT_BREAK,
    EFFECT_HEADING,
    EFFECT_LIST,
    EFFECT_ITEM,
    EFFECT_CELL,
    EFFECT_PRE,
    EFFECT_MARK, /**< `mark` before and after */
    EFFECT_LINK,
    EFFECT_RULE,
};

static const struct element {
    const char *name;
    enum effect effect;
    const char *mark;
} elements[] = {
    {"script", EFFECT_SKIP, NULL},    {"style", EFFECT_SKIP, NULL},
    {"noscript", EFFECT_SKIP, NULL},  {"template", EFFECT_SKIP, NULL},
    {"svg", EFFECT_SKIP, NULL},       {"iframe", EFFECT_SKIP, NULL},
    {"button", EFFECT_SKIP, NULL},    {"select", EFFECT_SKIP, NULL},
    {"textarea", EFFECT_SKIP, NULL},  {"title", EFFECT_HEADING, "# "},
    {"h1", EFFECT_HEADING, "# "},     {"h2", EFFECT_HEADING, "## "},
    {"h3", EFFECT_HEADING, "### "},   {"h4", EFFECT_HEADING, "#### "},
    {"h5", EFFECT_HEADING, "##### "}, {"h6", EFFECT_HEADING, "###### "},
    {"p", EFFECT_BLOCK, NULL},        {"blockquote", EFFECT_BLOCK, NULL},
    {"table", EFFECT_BLOCK, NULL},    {"figure", EFFECT_BLOCK, NULL},
    {"section", EFFECT_BLOCK, NULL},  {"article", EFFECT_BLOCK, NULL},
    {"header", EFFECT_BLOCK, NULL},   {"footer", EFFECT_BLOCK, NULL},
    {"main", EFFECT_BLOCK, NULL},     {"nav", EFFECT_BLOCK, NULL},
    {"aside", EFFECT_BLOCK, NULL},    {"div", EFFECT_LINE, NULL},
    {"tr", EFFECT_LINE, NULL},        {"dt", EFFECT_LINE, NULL},
    {"dd", EFFECT_LINE, NULL},        {"br", EFFECT_BREAK, NULL},
    {"ul", EFFECT_LIST, NULL},        {"ol", EFFECT_LIST, NULL},
    {"li", EFFECT_ITEM, NULL},        {"td", EFFECT_CELL, NULL},
    {"th", EFFECT_CELL, NULL},        {"pre", EFFECT_PRE, NULL},
    {"strong", EFFECT_MARK, "**"},    {"b", EFFECT_MARK, "**"},
    {"em", EFFECT_MARK, "*"},         {"i", EFFECT_MARK, "*"},
    {"code", EFFECT_MARK, "`"},       {"a", EFFECT_LINK, NULL},
    {"hr", EFFECT_RULE, NULL},
};

/** A page on its way. */
struct page {
    struct buf *out;
    size_t start; /**< of this page in `out` */
    size_t max;
    bool wants_blank;  /**< a blank before the next word */
    unsigned newlines; /**< before the next word */
    bool is_pre;
    unsigned depth;      /**< of lists */
    const char *pending; /**< a mark that belongs to the next word, or NULL */
    char href[HREF_BYTES];
};

/* ---- Characters ------------------------------------------------------------------------------ */

static const struct entity {
    const char *name;
    uint32_t point;
} entities[] = {
    {"amp", '&'},      {"lt", '<'},       {"gt", '>'},       {"quot", '"'},      {"apos", '\''},
    {"nbsp", ' '},     {"ndash", 0x2013}, {"mdash", 0x2014}, {"lsquo", 0x2018},  {"rsquo", 0x2019},
    {"ldquo", 0x201c}, {"rdquo", 0x201d}, {"bull", 0x2022},  {"hellip", 0x2026}, {"middot", 0xb7},
    {"copy", 0xa9},    {"reg", 0xae},     {"euro", 0x20ac},  {"laquo", 0xab},    {"raquo", 0xbb},
};

/** @param text after "#" @return 0 = it is none */
static uint32_t numeric_entity(const char *text, size_t len)
{
    bool is_hex = len > 1 && ascii_lower(text[0]) == 'x';
    uint32_t point = 0;
    for (size_t i = is_hex ? 1 : 0; i < len; i++) {
        int digit = ascii_hex_value(text[i]);
        if (digit < 0 || (!is_hex && digit > 9) || point > 0x10ffff) {
            return 0;
        }
        point = point * (is_hex ? 16 : 10) + (uint32_t)digit;
    }
    bool is_character = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return is_character ? point : len > 0 ? 0xfffd : 0;
}

/** Read an entity at "&". @return its bytes; 0 = it is none */
static size_t read_entity(const char *text, size_t len, uint32_t *ret_point)
{
    size_t end = 1;
    while (end < len && end < NAME_BYTES && text[end] != ';') {
        end++;
    }
    if (end >= len || text[end] != ';' || end == 1) {
        return 0;
    }
    if (text[1] == '#') {
        *ret_point = numeric_entity(text + 2, end - 2);
        return *ret_point == 0 ? 0 : end + 1;
    }
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        if (strlen(entities[i].name) == end - 1 &&
            memcmp(entities[i].name, text + 1, end - 1) == 0) {
            *ret_point = entities[i].point;
            return end + 1;
        }
    }
    return 0;
}

/**
 * Read one character, an entity or a sequence.
 * @param ret_text appended; what is not UTF-8 or a control character becomes U+FFFD or nothing
 * @return its bytes, at least 1
 */
static size_t read_character(const char *text, size_t len, struct buf *ret_text)
{
    uint32_t point = 0;
    size_t used = text[0] == '&' ? read_entity(text, len, &point) : 0;
    if (used > 0) {
        point = point < ' ' || point == 0x7f ? ' ' : point;
        utf8_append(ret_text, point);
        return used;
    }
    used = utf8_sequence_len(text, len);
    if (used == 0) {
        utf8_append(ret_text, 0xfffd);
        return 1;
    }
    bool is_control = used == 1 && ((unsigned char)text[0] < ' ' || text[0] == 0x7f);
    if (!is_control || text[0] == '\n' || text[0] == '\t') {
        buf_append(ret_text, text, used);
    }
    return used;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_full(const struct page *page)
{
    return page->out->len - page->start >= page->max;
}

static void want_newlines(struct page *page, unsigned count)
{
    if (page->newlines < count) {
        page->newlines = count;
    }
    page->wants_blank = false;
}

/** Write what must come before the next word. */
static void write_gap(struct page *page)
{
    bool is_first = page->out->len == page->start;
    for (unsigned i = 0; i < page->newlines && !is_first; i++) {
        buf_append_string(page->out, "\n");
    }
    if (page->wants_blank && page->newlines == 0 && !is_first) {
        buf_append_string(page->out, " ");
    }
    page->newlines = 0;
    page->wants_blank = false;
    if (page->pending != NULL) {
        buf_append_string(page->out, page->pending);
        page->pending = NULL;
    }
}

static void write_text(struct page *page, const char *text, size_t len)
{
    for (size_t i = 0; i < len && !is_full(page);) {
        auto_buf struct buf one = {0};
        bool is_blank = ascii_is_space(text[i]);
        i += read_character(text + i, len - i, &one);
        is_blank = is_blank || (one.len == 1 && one.data[0] == ' ');
        if (is_blank && !page->is_pre) {
            page->wants_blank = true;
        } else if (one.len > 0) {
            write_gap(page);
            buf_append(page->out, one.data, one.len);
        }
    }
}

/* ---- Tags ------------------------------------------------------------------------------------ */

/** Lower-case name of a tag after "<" or "</"; too long a name has no meaning here. */
static size_t read_name(const char *text, size_t len, char *ret_name)
{
    size_t used = 0;
    while (used < len && ascii_is_letter_or_digit(text[used])) {
        if (used < NAME_BYTES - 1) {
            ret_name[used] = ascii_lower(text[used]);
        }
        used++;
    }
    ret_name[used < NAME_BYTES ? used : 0] = '\0';
    return used;
}

static const struct element *find_element(const char *name)
{
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
        if (strcmp(elements[i].name, name) == 0) {
            return &elements[i];
        }
    }
    return NULL;
}

/** Bytes of a tag from "<" to ">", quotes minded. */
static size_t tag_len(const char *html, size_t len)
{
    char quote = '\0';
    for (size_t i = 1; i < len; i++) {
        if (quote != '\0') {
            quote = html[i] == quote ? '\0' : quote;
        } else if (html[i] == '"' || html[i] == '\'') {
            quote = html[i];
        } else if (html[i] == '>') {
            return i + 1;
        }
    }
    return len;
}

bool html_attribute(struct html_part tag, const char *name, struct buf *ret_value)
{
    size_t name_len = strlen(name);
    for (size_t i = 0; i + name_len < tag.len; i++) {
        bool begins = i > 0 && (ascii_is_space(tag.data[i - 1]) || tag.data[i - 1] == '"' ||
                                tag.data[i - 1] == '\'');
        if (!begins || strncasecmp(tag.data + i, name, name_len) != 0 ||
            tag.data[i + name_len] != '=') {
            continue;
        }
        size_t at = i + name_len + 1;
        char quote =
            at < tag.len && (tag.data[at] == '"' || tag.data[at] == '\'') ? tag.data[at] : '\0';
        at += quote != '\0' ? 1 : 0;
        while (at < tag.len && tag.data[at] != quote &&
               (quote != '\0' || (!ascii_is_space(tag.data[at]) && tag.data[at] != '>'))) {
            at += read_character(tag.data + at, tag.len - at, ret_value);
        }
        return true;
    }
    return false;
}

static void open_link(struct page *page, struct html_part tag)
{
    auto_buf struct buf href = {0};
    page->href[0] = '\0';
    html_attribute(tag, "href", &href);
    bool is_shown = href.len > 0 && href.len < HREF_BYTES && href.data[0] != '#' &&
                    strpbrk(buf_string(&href), " \n\t()<>") == NULL &&
                    strncasecmp(href.data, "javascript:", 11) != 0;
    if (is_shown) {
        memcpy(page->href, href.data, href.len + 1);
        write_gap(page);
        buf_append_string(page->out, "[");
    }
}

static void close_link(struct page *page)
{
    if (page->href[0] != '\0') {
        buf_append_string(page->out, "](");
        buf_append_string(page->out, page->href);
        buf_append_string(page->out, ")");
        page->href[0] = '\0';
    }
}

static void begin_item(struct page *page)
{
    static const char *const marks[] = {
        "- ",         "  - ",         "    - ",         "      - ",
        "        - ", "          - ", "            - ", "              - "};
    unsigned level = page->depth == 0                 ? 0
                     : page->depth > LIST_DEPTH_SHOWN ? LIST_DEPTH_SHOWN - 1
                                                      : page->depth - 1;
    want_newlines(page, 1);
    page->pending = marks[level];
}

static void toggle_pre(struct page *page, bool is_start)
{
    if (is_start != page->is_pre) {
        want_newlines(page, is_start ? 2 : 1);
        write_gap(page);
        buf_append_string(page->out, "```");
        page->is_pre = is_start;
        want_newlines(page, is_start ? 1 : 2);
    }
}

/** Write a mark: an opening one with the next word, a closing one at once. */
static void write_mark(struct page *page, const char *mark, bool is_start)
{
    if (page->is_pre) {
        return;
    }
    if (is_start) {
        write_gap(page);
    }
    buf_append_string(page->out, mark);
}

static void count_list(struct page *page, bool is_start)
{
    want_newlines(page, page->depth > (is_start ? 0U : 1U) ? 1 : 2);
    if (is_start) {
        page->depth++;
    } else if (page->depth > 0) {
        page->depth--;
    }
}

static void apply(struct page *page, const struct element *element, bool is_start,
                  struct html_part tag)
{
    switch (element->effect) {
    case EFFECT_NONE:
    case EFFECT_SKIP:
        return;
    case EFFECT_BLOCK:
        want_newlines(page, 2);
        return;
    case EFFECT_LINE:
    case EFFECT_BREAK:
        want_newlines(page, 1);
        return;
    case EFFECT_RULE:
        want_newlines(page, 2);
        return;
    case EFFECT_HEADING:
        want_newlines(page, 2);
        page->pending = is_start ? element->mark : NULL;
        return;
    case EFFECT_LIST:
        count_list(page, is_start);
        return;
    case EFFECT_ITEM:
        if (is_start) {
            begin_item(page);
        }
        return;
    case EFFECT_CELL:
        if (!is_start) {
            page->wants_blank = true;
            write_mark(page, " |", false);
        }
        return;
    case EFFECT_PRE:
        toggle_pre(page, is_start);
        return;
    case EFFECT_MARK:
        write_mark(page, element->mark, is_start);
        return;
    case EFFECT_LINK:
        close_link(page);
        if (is_start) {
            open_link(page, tag);
        }
        return;
    }
}

/** @return where the end tag of an element ends, or `len` */
static size_t skip_element(const char *html, size_t len, size_t from, const char *name)
{
    size_t name_len = strlen(name);
    for (size_t i = from; i + 2 + name_len <= len; i++) {
        if (html[i] == '<' && html[i + 1] == '/' &&
            strncasecmp(html + i + 2, name, name_len) == 0) {
            return i + tag_len(html + i, len - i);
        }
    }
    return len;
}

/** @return where the comment at `from` ends, or `from` when there is none */
static size_t skip_comment(const char *html, size_t len, size_t from)
{
    if (len - from < 4 || memcmp(html + from, "<!--", 4) != 0) {
        return from;
    }
    const char *end = memmem(html + from + 4, len - from - 4, "-->", 3);
    return end == NULL ? len : (size_t)(end - html) + 3;
}

/** Handle what begins with "<". @return where it ends */
static size_t read_tag(struct page *page, const char *html, size_t len, size_t at)
{
    char name[NAME_BYTES] = "";
    size_t after = skip_comment(html, len, at);
    if (after > at) {
        return after;
    }
    bool is_end = at + 1 < len && html[at + 1] == '/';
    size_t name_at = at + (is_end ? 2 : 1);
    bool is_tag = name_at < len &&
                  (ascii_is_letter(html[name_at]) || html[name_at] == '!' || html[name_at] == '?');
    if (!is_tag) {
        write_text(page, html + at, 1);
        return at + 1;
    }
    size_t size = tag_len(html + at, len - at);
    read_name(html + name_at, len - name_at, name);
    const struct element *element = find_element(name);
    if (element == NULL) {
        return at + size;
    }
    if (element->effect == EFFECT_SKIP && !is_end) {
        return skip_element(html, len, at + size, name);
    }
    apply(page, element, !is_end, (struct html_part){html + at, size});
    return at + size;
}

/** Cut to the limit, between characters. */
static void cut(struct page *page)
{
    size_t len = page->out->len - page->start;
    const char *text = buf_string(page->out) + page->start;
    if (len > page->max) {
        len = page->max;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) {
            len--;
        }
        page->out->len = page->start + len;
        page->out->data[page->out->len] = '\0';
    }
}

void html_to_markdown(const char *html, size_t len, size_t max_bytes, struct buf *ret_text)
{
    struct page page = {.out = ret_text, .start = ret_text->len, .max = max_bytes};
    for (size_t at = 0; at < len && !is_full(&page);) {
        if (html[at] == '<') {
            at = read_tag(&page, html, len, at);
            continue;
        }
        const char *next = memchr(html + at, '<', len - at);
        size_t end = next == NULL ? len : (size_t)(next - html);
        write_text(&page, html + at, end - at);
        at = end;
    }
    if (page.is_pre) {
        toggle_pre(&page, false);
    }
    close_link(&page);
    cut(&page);
}

/* ---- Elements by class ----------------------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == text || ascii_is_space(at[-1]);
        if (begins && (at[len] == '\0' || ascii_is_space(at[len]))) {
            return true;
        }
    }
    return false;
}

size_t html_find_class(const char *html, size_t len, size_t from, const char *word,
                       struct html_part *ret_tag, struct html_part *ret_content)
{
    for (size_t at = from; at < len;) {
        const char *next = memchr(html + at, '<', len - at);
        if (next == NULL) {
            return len;
        }
        at = (size_t)(next - html);
        size_t size = tag_len(next, len - at);
        auto_buf struct buf value = {0};
        char name[NAME_BYTES] = "";
        read_name(next + 1, len - at - 1, name);
        html_attribute((struct html_part){next, size}, "class", &value);
        at += size;
        if (name[0] != '\0' && has_word(buf_string(&value), word)) {
            size_t end = skip_element(html, len, at, name);
            *ret_tag = (struct html_part){next, size};
            *ret_content = (struct html_part){html + at, end - at};
            return at;
        }
    }
    return len;
}
