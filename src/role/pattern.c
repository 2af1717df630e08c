// SPDX-License-Identifier: Apache-2.0
/*
 * Syntax of Python's regular expressions (3.11): a recursive descent over the text. Widths are
 * computed on the way, because what looks behind must have a fixed one.
 */
#include "role/pattern_internal.h"

#include "base/limits.h"
#include "role/reader.h"

#include <ctype.h>
#include <string.h>

static uint64_t add_width(uint64_t a, uint64_t b)
{
    return a + b > MAX_WIDTH ? MAX_WIDTH : a + b;
}

static uint64_t multiply_width(uint64_t a, uint64_t b)
{
    return b != 0 && a > MAX_WIDTH / b ? MAX_WIDTH : a * b;
}

static void measure(const struct sequence *sequence, uint64_t *ret_low, uint64_t *ret_high)
{
    *ret_low = 0;
    *ret_high = 0;
    for (const struct pattern_node *node = sequence->first; node != NULL; node = node->next) {
        *ret_low = add_width(*ret_low, node->width_low);
        *ret_high = add_width(*ret_high, node->width_high);
    }
}

static void append_one(struct parser *parser, struct sequence *sequence, struct members members)
{
    struct pattern_node *node = new_node(parser, PATTERN_ONE);
    node->takes_a = members.has_a;
    node->takes_mark = members.has_mark;
    node->width_low = node->width_high = 1;
    append(sequence, node);
}

static bool append_reference(struct parser *parser, struct sequence *sequence, unsigned group,
                             size_t at)
{
    if (group == 0 || group > parser->group_count) {
        return fail_at(parser, at, "there is no such group");
    }
    if (parser->groups[group].is_open) {
        return fail_at(parser, at, "a reference to a group that is still open");
    }
    if (parser->look_behind > 0 && group >= parser->look_behind) {
        return fail_at(parser, at, "a reference to a group of the same look-behind");
    }
    struct pattern_node *node = new_node(parser, PATTERN_UNKNOWN);
    node->width_low = parser->groups[group].low;
    node->width_high = parser->groups[group].high;
    append(sequence, node);
    return true;
}

/** \1 to \99, or an octal escape of three digits. The backslash has been taken. */
static bool parse_number_escape(struct parser *parser, struct sequence *sequence)
{
    size_t start = parser->at;
    unsigned number = (unsigned)(peek(parser) - '0');
    parser->at++;
    int second = peek(parser);
    if (second < '0' || second > '9') {
        return append_reference(parser, sequence, number, start);
    }
    if (number <= 7 && is_octal(second) && is_octal(peek_next(parser))) {
        parser->at = start;
        uint32_t character;
        if (!pattern_take_octal(parser, 3, &character)) {
            return false;
        }
        append_one(parser, sequence, pattern_members_of(parser, character));
        return true;
    }
    parser->at++;
    return append_reference(parser, sequence, number * 10 + (unsigned)(second - '0'), start);
}

/** Outside of sets; the backslash has been taken. */
static bool parse_escape(struct parser *parser, struct sequence *sequence)
{
    struct members members = {0};
    int letter = peek(parser);
    if (letter >= '1' && letter <= '9') {
        return parse_number_escape(parser, sequence);
    }
    if (letter == '0') {
        uint32_t character;
        parser->at++;
        pattern_take_octal(parser, 2, &character);
        append_one(parser, sequence, pattern_members_of(parser, character));
        return true;
    }
    if (letter == 'A' || letter == 'Z' || letter == 'b' || letter == 'B') {
        parser->at++;
        struct pattern_node *node = new_node(parser, letter == 'A'   ? PATTERN_START
                                                     : letter == 'Z' ? PATTERN_END
                                                                     : PATTERN_BOUNDARY);
        node->is_negative = letter == 'B';
        append(sequence, node);
        return true;
    }
    if (!pattern_take_class(parser, &members)) {
        uint32_t character = 0;
        if (!pattern_take_escaped(parser, &character)) {
            return false;
        }
        members = pattern_members_of(parser, character);
    }
    append_one(parser, sequence, members);
    return true;
}

/** Digits up to what a repetition takes. */
static bool take_count(struct parser *parser, bool *ret_is_given, uint32_t *ret_count)
{
    uint64_t count = 0;
    size_t start = parser->at;
    while (peek(parser) >= '0' && peek(parser) <= '9') {
        count = count * 10 + (uint64_t)(peek(parser) - '0');
        if (count >= PATTERN_MANY) {
            return fail(parser, "a number of repetitions that is too large");
        }
        parser->at++;
    }
    *ret_is_given = parser->at > start;
    *ret_count = *ret_is_given ? (uint32_t)count : *ret_count;
    return true;
}

/** {2}, {2,}, {,3}, {2,3}. @param ret_is_one false when the brace stands for itself */
static bool take_braces(struct parser *parser, uint32_t *low, uint32_t *high, bool *ret_is_one)
{
    size_t start = parser->at;
    bool has_low = false;
    bool has_high = false;
    *low = 0;
    *high = PATTERN_MANY;
    *ret_is_one = false;
    parser->at++;
    if (peek(parser) == '}') {
        parser->at = start;
        return true;
    }
    if (!take_count(parser, &has_low, low)) {
        return false;
    }
    if (!take(parser, ',')) {
        *high = *low;
        has_high = has_low;
    } else if (!take_count(parser, &has_high, high)) {
        return false;
    }
    if (!take(parser, '}')) {
        parser->at = start;
        return true;
    }
    if (has_low && has_high && *high < *low) {
        return fail_at(parser, start, "a highest number of repetitions below the lowest");
    }
    *ret_is_one = true;
    return true;
}

/** Put the last of a sequence under a repetition. */
static bool apply_repeat(struct parser *parser, struct sequence *sequence, uint32_t low,
                         uint32_t high, size_t at)
{
    struct pattern_node *last = sequence->last;
    if (last == NULL || last->kind == PATTERN_START || last->kind == PATTERN_END ||
        last->kind == PATTERN_BOUNDARY) {
        return fail_at(parser, at, "nothing to repeat");
    }
    bool is_possessive = last->kind == PATTERN_ATOMIC && last->is_lazy;
    if (last->kind == PATTERN_REPEAT || is_possessive) {
        return fail_at(parser, at, "a repetition of a repetition");
    }
    struct pattern_node *copy = new_node(parser, last->kind);
    *copy = *last;
    copy->next = NULL;
    *last = (struct pattern_node){
        .kind = PATTERN_REPEAT,
        .low = low,
        .high = high,
        .child = copy,
        .width_low = multiply_width(copy->width_low, low),
        .width_high = multiply_width(copy->width_high, high),
    };
    if (take(parser, '?')) {
        last->is_lazy = true;
    } else if (take(parser, '+')) {
        struct pattern_node *repeat = new_node(parser, PATTERN_REPEAT);
        *repeat = *last;
        last->kind = PATTERN_ATOMIC;
        last->is_lazy = true; /* Marks it as a possessive repetition. */
        last->child = repeat;
    }
    return true;
}

/** * + ? or braces. @param ret_is_one false when there is none here */
static bool parse_repeat(struct parser *parser, struct sequence *sequence, bool *ret_is_one)
{
    size_t start = parser->at;
    uint32_t low = 0;
    uint32_t high = PATTERN_MANY;
    int byte = peek(parser);
    *ret_is_one = byte == '*' || byte == '+' || byte == '?';
    if (byte == '{') {
        if (!take_braces(parser, &low, &high, ret_is_one)) {
            return false;
        }
    } else if (*ret_is_one) {
        parser->at++;
        low = byte == '+' ? 1 : 0;
        high = byte == '?' ? 1 : PATTERN_MANY;
    }
    return !*ret_is_one || apply_repeat(parser, sequence, low, high, start);
}

static bool parse_branches(struct parser *parser, struct sequence *ret_sequence,
                           size_t *ret_branches);

/** A name up to its end byte. */
static bool take_name(struct parser *parser, char end, const char **ret_name, size_t *ret_len)
{
    const char *start = parser->text + parser->at;
    const char *found = memchr(start, end, parser->len - parser->at);
    if (found == NULL || found == start) {
        return fail(parser, "a group's name is missing or has no end");
    }
    *ret_name = start;
    *ret_len = (size_t)(found - start);
    parser->at += *ret_len + 1;
    return true;
}

static bool is_identifier(const char *name, size_t len)
{
    bool is_right = !isdigit((unsigned char)name[0]);
    for (size_t i = 0; is_right && i < len; i++) {
        unsigned char byte = (unsigned char)name[i];
        is_right = byte >= 0x80 || byte == '_' || isalnum(byte);
    }
    return is_right;
}

static unsigned find_group(const struct parser *parser, const char *name, size_t len)
{
    for (unsigned i = 1; i <= parser->group_count; i++) {
        const struct group *group = &parser->groups[i];
        if (group->name != NULL && group->name_len == len && memcmp(group->name, name, len) == 0) {
            return i;
        }
    }
    return 0;
}

/** Behind "(?P". */
static bool parse_named(struct parser *parser, struct sequence *sequence, const char **ret_name,
                        size_t *ret_len)
{
    size_t start = parser->at;
    bool is_group = take(parser, '<');
    if (!is_group && !take(parser, '=')) {
        return fail(parser, "an unknown kind of group");
    }
    if (!take_name(parser, is_group ? '>' : ')', ret_name, ret_len)) {
        return false;
    }
    if (!is_identifier(*ret_name, *ret_len)) {
        return fail_at(parser, start, "a group's name that is no identifier");
    }
    unsigned group = find_group(parser, *ret_name, *ret_len);
    if (is_group) {
        return group == 0 || fail_at(parser, start, "a group's name that is taken");
    }
    *ret_name = NULL;
    return append_reference(parser, sequence, group, start);
}

/** Behind an opening parenthesis and what follows it, up to the closing one. */
static bool parse_inside(struct parser *parser, size_t start, struct pattern_node *node,
                         size_t *ret_branches)
{
    struct sequence inside = {0};
    if (parser->depth == MAX_DEPTH) {
        return fail(parser, "groups that are nested too deeply");
    }
    parser->depth++;
    bool is_right = parse_branches(parser, &inside, ret_branches);
    parser->depth--;
    if (is_right && !take(parser, ')')) {
        return fail_at(parser, start, "a group without its end");
    }
    node->child = inside.first;
    measure(&inside, &node->width_low, &node->width_high);
    return is_right;
}

static bool parse_capture(struct parser *parser, struct sequence *sequence, size_t start,
                          const char *name, size_t name_len)
{
    if (parser->group_count == MAX_GROUPS) {
        return fail(parser, "too many groups");
    }
    unsigned number = ++parser->group_count;
    struct group *group = &parser->groups[number];
    *group = (struct group){.name = name, .name_len = name_len, .is_open = true};
    struct pattern_node *node = new_node(parser, PATTERN_GROUP);
    size_t branches;
    if (!parse_inside(parser, start, node, &branches)) {
        return false;
    }
    group->is_open = false;
    group->low = node->width_low;
    group->high = node->width_high;
    append(sequence, node);
    return true;
}

static bool parse_plain_group(struct parser *parser, struct sequence *sequence, size_t start,
                              enum pattern_kind kind)
{
    struct pattern_node *node = new_node(parser, kind);
    size_t branches;
    if (!parse_inside(parser, start, node, &branches)) {
        return false;
    }
    append(sequence, node);
    return true;
}

/** Behind "(?=", "(?!", "(?<=" or "(?<!". */
static bool parse_look(struct parser *parser, struct sequence *sequence, size_t start,
                       bool is_behind, bool is_negative)
{
    struct pattern_node *node = new_node(parser, PATTERN_LOOK);
    unsigned outer = parser->look_behind;
    size_t branches;
    if (is_behind && outer == 0) {
        parser->look_behind = parser->group_count + 1;
    }
    bool is_right = parse_inside(parser, start, node, &branches);
    parser->look_behind = outer;
    if (is_right && is_behind && node->width_low != node->width_high) {
        return fail_at(parser, start, "a look-behind whose width is not fixed");
    }
    node->is_behind = is_behind;
    node->is_negative = is_negative;
    node->low = is_right && is_behind ? (uint32_t)node->width_low : 0;
    node->width_low = node->width_high = 0;
    append(sequence, node);
    return is_right;
}

/** Behind "(?(". */
static bool parse_conditional(struct parser *parser, struct sequence *sequence, size_t start)
{
    const char *name;
    size_t len;
    if (!take_name(parser, ')', &name, &len)) {
        return false;
    }
    unsigned number = 0;
    if (len <= 3 && strspn(name, "0123456789") >= len) {
        for (size_t i = 0; i < len; i++) {
            number = number * 10 + (unsigned)(name[i] - '0');
        }
        parser->highest_condition =
            number > parser->highest_condition ? number : parser->highest_condition;
    } else {
        number = find_group(parser, name, len);
    }
    if (number == 0 || number > MAX_GROUPS) {
        return fail_at(parser, start, "there is no such group");
    }
    struct pattern_node *node = new_node(parser, PATTERN_UNKNOWN);
    size_t branches = 0;
    if (!parse_inside(parser, start, node, &branches)) {
        return false;
    }
    if (branches > 2) {
        return fail_at(parser, start, "a conditional with more than two branches");
    }
    node->width_low = branches < 2 ? 0 : node->width_low;
    append(sequence, node);
    return true;
}

/** Letters of flags. @return false with a problem */
static bool take_flags(struct parser *parser, bool is_off, const char **ret_start, size_t *ret_len)
{
    *ret_start = parser->text + parser->at;
    *ret_len = 0;
    while (peek(parser) > 0 && strchr("aiLmsux", peek(parser)) != NULL) {
        bool is_kind = strchr("auL", peek(parser)) != NULL;
        if (peek(parser) == 'L') {
            return fail(parser, "the flag L is for bytes only");
        }
        if (is_off && is_kind) {
            return fail(parser, "a flag that cannot be switched off");
        }
        parser->at++;
        *ret_len += 1;
    }
    return true;
}

static bool has_flag(const char *flags, size_t len, char flag)
{
    return len > 0 && memchr(flags, flag, len) != NULL;
}

/** Flags for the rest of the expression. */
static bool finish_global_flags(struct parser *parser, const struct sequence *sequence,
                                size_t start, const char *flags, size_t len)
{
    if (parser->depth > 0 || parser->is_later_branch || sequence->first != NULL) {
        return fail_at(parser, start, "flags for the whole that are not at the beginning");
    }
    parser->is_verbose = parser->is_verbose || has_flag(flags, len, 'x');
    parser->ignores_case = parser->ignores_case || has_flag(flags, len, 'i');
    return true;
}

/** Behind "(?", at a flag's letter or '-'. */
static bool parse_flags(struct parser *parser, struct sequence *sequence, size_t start)
{
    const char *on;
    const char *off = "";
    size_t on_len;
    size_t off_len = 0;
    if (!take_flags(parser, false, &on, &on_len)) {
        return false;
    }
    if (has_flag(on, on_len, 'a') && has_flag(on, on_len, 'u')) {
        return fail_at(parser, start, "flags that exclude each other");
    }
    if (take(parser, ')')) {
        return finish_global_flags(parser, sequence, start, on, on_len);
    }
    if (take(parser, '-')) {
        if (!take_flags(parser, true, &off, &off_len)) {
            return false;
        }
        for (size_t i = 0; i < off_len; i++) {
            if (has_flag(on, on_len, off[i])) {
                return fail_at(parser, start, "a flag that is switched on and off");
            }
        }
        if (off_len == 0) {
            return fail(parser, "a flag is missing");
        }
    }
    if (!take(parser, ':')) {
        return fail(parser, "an unknown flag");
    }
    bool was_verbose = parser->is_verbose;
    bool ignored_case = parser->ignores_case;
    parser->is_verbose = (was_verbose || has_flag(on, on_len, 'x')) && !has_flag(off, off_len, 'x');
    parser->ignores_case =
        (ignored_case || has_flag(on, on_len, 'i')) && !has_flag(off, off_len, 'i');
    bool is_right = parse_plain_group(parser, sequence, start, PATTERN_GROUP);
    parser->is_verbose = was_verbose;
    parser->ignores_case = ignored_case;
    return is_right;
}

/** Behind "(?<". */
static bool parse_behind(struct parser *parser, struct sequence *sequence, size_t start)
{
    bool is_negative = peek(parser) == '!';
    if (!take(parser, '!') && !take(parser, '=')) {
        return fail(parser, "an unknown kind of group; a name is written (?P<name>...)");
    }
    return parse_look(parser, sequence, start, true, is_negative);
}

/** Behind "(?". */
static bool parse_extension(struct parser *parser, struct sequence *sequence, size_t start)
{
    const char *name = NULL;
    size_t name_len = 0;
    int letter = peek(parser);
    if (letter == -1) {
        return fail(parser, "an unexpected end");
    }
    if (strchr("aiLmsux-", letter) != NULL) {
        return parse_flags(parser, sequence, start);
    }
    parser->at++;
    switch (letter) {
    case 'P':
        return parse_named(parser, sequence, &name, &name_len) &&
               (name == NULL || parse_capture(parser, sequence, start, name, name_len));
    case ':':
        return parse_plain_group(parser, sequence, start, PATTERN_GROUP);
    case '>':
        return parse_plain_group(parser, sequence, start, PATTERN_ATOMIC);
    case '=':
    case '!':
        return parse_look(parser, sequence, start, false, letter == '!');
    case '<':
        return parse_behind(parser, sequence, start);
    case '(':
        return parse_conditional(parser, sequence, start);
    case '#': {
        const char *end = memchr(parser->text + parser->at, ')', parser->len - parser->at);
        if (end == NULL) {
            return fail_at(parser, start, "a comment without its end");
        }
        parser->at = (size_t)(end - parser->text) + 1;
        return true;
    }
    default:
        parser->at--;
        return fail(parser, "an unknown kind of group");
    }
}

/** With the flag x: blanks and comments. */
static bool skip_blanks(struct parser *parser)
{
    if (!parser->is_verbose) {
        return false;
    }
    size_t start = parser->at;
    while (peek(parser) > 0 && strchr(" \t\n\r\v\f", peek(parser)) != NULL) {
        parser->at++;
    }
    if (peek(parser) == '#') {
        while (parser->at < parser->len && parser->text[parser->at] != '\n') {
            parser->at++;
        }
    }
    return parser->at > start;
}

/** One character that is no repetition. */
static bool parse_atom(struct parser *parser, struct sequence *sequence)
{
    size_t start = parser->at;
    switch (peek(parser)) {
    case '[':
        parser->at++;
        return pattern_parse_set(parser, sequence);
    case '(':
        parser->at++;
        return take(parser, '?') ? parse_extension(parser, sequence, start)
                                 : parse_capture(parser, sequence, start, NULL, 0);
    case '\\':
        parser->at++;
        return parse_escape(parser, sequence);
    case '^':
    case '$':
        append(sequence, new_node(parser, peek(parser) == '^' ? PATTERN_START : PATTERN_END));
        parser->at++;
        return true;
    case '.':
        parser->at++;
        append_one(parser, sequence, (struct members){.has_a = true, .has_mark = true});
        return true;
    default:
        append_one(parser, sequence, pattern_members_of(parser, pattern_take_character(parser)));
        return true;
    }
}

static bool parse_sequence(struct parser *parser, struct sequence *sequence)
{
    while (parser->at < parser->len && peek(parser) != '|' && peek(parser) != ')') {
        bool is_repeat = false;
        if (skip_blanks(parser)) {
            continue;
        }
        if (!parse_repeat(parser, sequence, &is_repeat) ||
            (!is_repeat && !parse_atom(parser, sequence))) {
            return false;
        }
    }
    return true;
}

/** Sequences with bars between them. */
static bool parse_branches(struct parser *parser, struct sequence *ret_sequence,
                           size_t *ret_branches)
{
    struct sequence branches = {0};
    *ret_branches = 0;
    uint64_t low = MAX_WIDTH;
    uint64_t high = 0;
    do {
        struct sequence one = {0};
        if (!parse_sequence(parser, &one)) {
            return false;
        }
        struct pattern_node *branch = new_node(parser, PATTERN_GROUP);
        branch->child = one.first;
        measure(&one, &branch->width_low, &branch->width_high);
        low = branch->width_low < low ? branch->width_low : low;
        high = branch->width_high > high ? branch->width_high : high;
        append(&branches, branch);
        *ret_branches += 1;
        parser->is_later_branch = parser->is_later_branch || parser->depth == 0;
    } while (take(parser, '|'));
    if (*ret_branches == 1) {
        *ret_sequence = (struct sequence){.first = branches.first->child};
        return true;
    }
    struct pattern_node *node = new_node(parser, PATTERN_BRANCH);
    node->child = branches.first;
    node->width_low = low;
    node->width_high = high;
    append(ret_sequence, node);
    return true;
}

const char *pattern_parse(const char *text, size_t len, struct arena *arena,
                          struct pattern_node **ret_root, size_t *ret_offset)
{
    struct parser *parser = arena_new(arena, sizeof(*parser));
    memset(parser, 0, sizeof(*parser));
    parser->text = text;
    parser->len = len;
    parser->arena = arena;
    struct sequence root = {0};
    size_t branches;
    bool is_right = parse_branches(parser, &root, &branches);
    if (is_right && parser->at < len) {
        fail(parser, "a closing parenthesis too much");
    }
    if (parser->highest_condition > parser->group_count) {
        fail_at(parser, 0, "there is no such group");
    }
    *ret_root = root.first;
    *ret_offset = parser->problem_at;
    return parser->problem;
}

const char *pattern_problem(const char *text, size_t len, uint32_t *steps_left, size_t *ret_offset)
{
    struct arena arena = {0};
    struct pattern_node *root = NULL;
    *ret_offset = 0;
    const char *problem = pattern_parse(text, len, &arena, &root, ret_offset);
    if (problem == NULL && pattern_runs_away(root, steps_left)) {
        problem = "repetitions within repetitions that would take for ever";
    }
    arena_fini(&arena);
    return problem;
}
