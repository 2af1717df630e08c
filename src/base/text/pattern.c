// SPDX-License-Identifier: Apache-2.0
/*
 * Python's syntax is rewritten to that of PCRE2 where the same characters mean something else:
 * escapes, `[` in a class, `{,n}`. What Python does not know (verbs, `\K`, `\Q`) is refused.
 *
 * PCRE2's own limits count from each start position anew, and do not count the characters that one
 * item passes. So each item has a callout, which counts itself and the way from the one before.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "base/text/pattern.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"

#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** PCRE2's limits of one start position; the heap in KiB. */
#define MATCH_LIMIT    10000000
#define MATCH_DEPTH    1000000
#define MATCH_HEAP_KIB 65536

struct pattern {
    pcre2_code *code;
};

/** PCRE2 gives NULL only when there is no memory. */
static void *not_null(void *made)
{
    if (made == NULL) {
        abort();
    }
    return made;
}

/* ---- From Python's syntax ------------------------------------------------------------------- */

struct translation {
    const char *text;
    size_t len;
    size_t at;
    bool is_in_class;
    struct buf out;
};

static char peek(const struct translation *in, size_t ahead)
{
    return in->at + ahead < in->len ? in->text[in->at + ahead] : '\0';
}

static void copy(struct translation *in, size_t len)
{
    buf_append(&in->out, in->text + in->at, len);
    in->at += len;
}

/** `\x`, `\u` and `\U` have 2, 4 and 8 digits. */
static int translate_code(struct translation *in, size_t digits, struct rondo_error *err)
{
    for (size_t i = 0; i < digits; i++) {
        if (ascii_hex_value(peek(in, 2 + i)) < 0) {
            return error_set(err, RONDO_ERR_INVALID, "\\%c needs %zu hexadecimal digits",
                             peek(in, 1), digits);
        }
    }
    buf_append_string(&in->out, "\\x{");
    in->at += 2;
    copy(in, digits);
    buf_append_string(&in->out, "}");
    return 0;
}

static int translate_escape(struct translation *in, struct rondo_error *err)
{
    char c = peek(in, 1);
    const char *known = in->is_in_class ? "abfnrtdDsSwW" : "abfnrtdDsSwWAB";
    if (c == 'x' || c == 'u' || c == 'U') {
        return translate_code(in, c == 'x' ? 2 : c == 'u' ? 4 : 8, err);
    }
    if (c == 'v' || (c == 'Z' && !in->is_in_class)) {
        buf_append_string(&in->out, c == 'v' ? "\\x{0b}" : "\\z");
        in->at += 2;
        return 0;
    }
    if (ascii_is_letter(c) && strchr(known, c) == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "\\%c is not an escape", c);
    }
    copy(in, in->at + 1 < in->len ? 2 : 1);
    return 0;
}

/** The beginning of a class: a `]` there is one of its characters. */
static void open_class(struct translation *in)
{
    in->is_in_class = true;
    copy(in, peek(in, 1) == '^' ? 2 : 1);
    if (peek(in, 0) == ']') {
        buf_append_string(&in->out, "\\]");
        in->at++;
    }
}

/** Python begins `{,n}` at 0; to PCRE2 these are five characters. */
static bool is_open_repeat(const struct translation *in)
{
    size_t i = 2;
    while (ascii_is_digit(peek(in, i))) {
        i++;
    }
    return peek(in, 1) == ',' && peek(in, i) == '}';
}

/** `(?u)`, alone or with other flags, says what holds anyway. */
static void pass_flags(struct translation *in)
{
    size_t len = strspn(in->text + in->at + 2, "aimsux");
    bool is_flags = len > 0 && peek(in, 2 + len) == ')';
    copy(in, 2);
    for (size_t i = 0; is_flags && i < len; i++) {
        if (peek(in, 0) == 'u') {
            in->at++;
        } else {
            copy(in, 1);
        }
    }
}

static int translate_group(struct translation *in, struct rondo_error *err)
{
    char c = peek(in, 2);
    if (peek(in, 1) == '*') {
        return error_set(err, RONDO_ERR_INVALID, "there is nothing to repeat after (");
    }
    if (peek(in, 1) != '?') {
        copy(in, 1);
        return 0;
    }
    if (c == '\0' || strchr(":=!<>P#(aimsux-", c) == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "what follows (? is not a kind of group");
    }
    pass_flags(in);
    return 0;
}

static int translate_next(struct translation *in, struct rondo_error *err)
{
    char c = peek(in, 0);
    if (c == '\\') {
        return translate_escape(in, err);
    }
    if (in->is_in_class) {
        in->is_in_class = c != ']';
        buf_append_string(&in->out, c == '[' ? "\\" : "");
        copy(in, 1);
        return 0;
    }
    if (c == '(') {
        return translate_group(in, err);
    }
    if (c == '[') {
        open_class(in);
    } else if (c == '{' && is_open_repeat(in)) {
        buf_append_string(&in->out, "{0");
        in->at++;
    } else {
        copy(in, 1);
    }
    return 0;
}

/* ---- Compiling ------------------------------------------------------------------------------ */

static int compile(const struct buf *text, pcre2_code **ret_code, struct rondo_error *err)
{
    int code = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR why[160];
    pcre2_compile_context *context = not_null(pcre2_compile_context_create(NULL));
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    *ret_code = pcre2_compile((PCRE2_SPTR)buf_string(text), text->len,
                              PCRE2_UTF | PCRE2_UCP | PCRE2_CASELESS | PCRE2_AUTO_CALLOUT |
                                  PCRE2_NEVER_BACKSLASH_C,
                              &code, &at, context);
    pcre2_compile_context_free(context);
    if (*ret_code != NULL) {
        return 0;
    }
    pcre2_get_error_message(code, why, sizeof(why));
    return error_set(err, RONDO_ERR_INVALID, "%s", (const char *)why);
}

int pattern_compile(const char *text, size_t len, struct pattern **ret_pattern,
                    struct rondo_error *err)
{
    struct translation in = {.text = text, .len = len};
    pcre2_code *code = NULL;
    int r = 0;
    if (len > LIMIT_PATTERN_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "it has more than %ld bytes", LIMIT_PATTERN_BYTES);
    }
    while (in.at < len && r == 0) {
        r = translate_next(&in, err);
    }
    if (r == 0) {
        r = compile(&in.out, &code, err);
    }
    buf_fini(&in.out);
    if (r < 0) {
        return r;
    }
    *ret_pattern = memory_new_zero(1, sizeof(**ret_pattern));
    (*ret_pattern)->code = code;
    return 0;
}

void pattern_free(struct pattern *pattern)
{
    if (pattern != NULL) {
        pcre2_code_free(pattern->code);
        free(pattern);
    }
}

/* ---- Searching ------------------------------------------------------------------------------ */

/** One pass over a text. */
struct pattern_scan {
    pcre2_match_context *context;
    pcre2_match_data *data;
    size_t last;    /* where the callout before was */
    uint64_t steps; /* so far */
};

static int count_step(pcre2_callout_block *block, void *context)
{
    struct pattern_scan *search = context;
    size_t at = block->current_position;
    search->steps += 1 + (at > search->last ? at - search->last : search->last - at);
    search->last = at;
    return search->steps > LIMIT_PATTERN_STEPS ? PCRE2_ERROR_CALLOUT : 0;
}

static void search_init(struct pattern_scan *search, const struct pattern *pattern)
{
    *search = (struct pattern_scan){
        .context = not_null(pcre2_match_context_create(NULL)),
        .data = not_null(pcre2_match_data_create_from_pattern(pattern->code, NULL)),
    };
    pcre2_set_match_limit(search->context, MATCH_LIMIT);
    pcre2_set_depth_limit(search->context, MATCH_DEPTH);
    pcre2_set_heap_limit(search->context, MATCH_HEAP_KIB);
    pcre2_set_callout(search->context, count_step, search);
}

static void search_fini(struct pattern_scan *search)
{
    pcre2_match_data_free(search->data);
    pcre2_match_context_free(search->context);
}

/** @param options PCRE2_NO_UTF_CHECK from the second one on */
static enum pattern_outcome search_from(struct pattern_scan *search, const struct pattern *pattern,
                                        const char *text, size_t len, size_t from, uint32_t options)
{
    search->last = from;
    int r = pcre2_match(pattern->code, (PCRE2_SPTR)text, len, from, options, search->data,
                        search->context);
    return r > 0 ? PATTERN_FOUND : r == PCRE2_ERROR_NOMATCH ? PATTERN_ABSENT : PATTERN_UNDECIDED;
}

enum pattern_outcome pattern_search(const struct pattern *pattern, const char *text, size_t len)
{
    struct pattern_scan search;
    search_init(&search, pattern);
    enum pattern_outcome outcome = search_from(&search, pattern, text, len, 0, 0);
    search_fini(&search);
    return outcome;
}

enum pattern_outcome pattern_replace(const struct pattern *pattern, const char *text, size_t len,
                                     const char *replacement, struct buf *ret_text)
{
    struct pattern_scan search;
    size_t copied = 0;
    size_t from = 0;
    uint32_t options = 0;
    bool is_changed = false;
    search_init(&search, pattern);
    enum pattern_outcome outcome = search_from(&search, pattern, text, len, 0, 0);
    while (outcome == PATTERN_FOUND) {
        const PCRE2_SIZE *place = pcre2_get_ovector_pointer(search.data);
        /* A lookbehind with an assertion may let a match begin after its end, or before `from`. */
        if (place[0] > place[1] || place[0] < copied) {
            outcome = PATTERN_UNDECIDED;
            break;
        }
        is_changed = true;
        buf_append(ret_text, text + copied, place[0] - copied);
        buf_append_string(ret_text, replacement);
        copied = from = place[1];
        options = PCRE2_NO_UTF_CHECK | (place[0] == place[1] ? PCRE2_NOTEMPTY_ATSTART : 0);
        outcome = search_from(&search, pattern, text, len, from, options);
    }
    search_fini(&search);
    buf_append(ret_text, text + copied, len - copied);
    return outcome == PATTERN_UNDECIDED ? outcome : is_changed ? PATTERN_FOUND : PATTERN_ABSENT;
}
