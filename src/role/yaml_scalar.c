// SPDX-License-Identifier: Apache-2.0
/*
 * Types of YAML 1.1 scalars, by the regular expressions that PyYAML resolves them with, which
 * differ from the specification: `1e3`, `.5e3` and `-.5` are texts, `017` is octal, `1:30` is 90.
 */
#include "base/ascii.h"
#include "base/time/calendar.h"
#include "role/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

static bool is_one_of(const struct yaml_node *node, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strlen(*words) == node->len && memcmp(*words, node->text, node->len) == 0) {
            return true;
        }
    }
    return false;
}

/** Bytes from `at` on that are one of `set`. */
static size_t span(const struct yaml_node *node, size_t at, const char *set)
{
    size_t len = 0;
    while (at + len < node->len && node->text[at + len] != '\0' &&
           strchr(set, node->text[at + len]) != NULL) {
        len++;
    }
    return len;
}

static char byte_at(const struct yaml_node *node, size_t at)
{
    return at < node->len ? node->text[at] : '\0';
}

static void set_problem(struct yaml_node *node, struct arena *arena, const char *problem)
{
    size_t size = strlen(problem) + 1;
    char *copy = arena_new(arena, size);
    memcpy(copy, problem, size);
    node->problem = copy;
}

/** Add a digit to a number that is kept at its end when it grows past it. */
static void add_digit(struct yaml_node *node, int64_t base, int64_t digit)
{
    int64_t grown;
    if (__builtin_mul_overflow(node->integer, base, &grown) ||
        __builtin_add_overflow(grown, digit, &grown)) {
        node->is_too_big = true;
        return;
    }
    node->integer = grown;
}

/** Digits of [at, end) in a base; underscores do not count. @return digits found */
static size_t add_digits(struct yaml_node *node, size_t at, size_t end, int64_t base)
{
    size_t found = 0;
    for (; at < end; at++) {
        if (node->text[at] != '_') {
            add_digit(node, base, ascii_hex_value(node->text[at]));
            found++;
        }
    }
    return found;
}

/** Groups ":12" up to the end of the text or a dot. @return bytes, 0 when there is none */
static size_t span_sexagesimal(const struct yaml_node *node, size_t at)
{
    size_t start = at;
    while (byte_at(node, at) == ':' && ascii_is_digit(byte_at(node, at + 1))) {
        bool has_two = node->text[at + 1] <= '5' && ascii_is_digit(byte_at(node, at + 2));
        at += has_two ? 3 : 2;
    }
    return at - start;
}

static void add_sexagesimal(struct yaml_node *node, size_t at, size_t end)
{
    while (at < end) {
        size_t digits = span(node, at + 1, "0123456789");
        int64_t group = 0;
        for (size_t i = 0; i < digits; i++) {
            group = group * 10 + (node->text[at + 1 + i] - '0');
        }
        add_digit(node, 60, group);
        at += 1 + digits;
    }
}

/** The part of an integer after the sign. @return whether all of it is one */
static bool scan_magnitude(struct yaml_node *node, size_t at, struct arena *arena)
{
    static const struct {
        char letter;
        int64_t base;
        const char *digits;
    } prefixes[] = {{'b', 2, "01_"}, {'x', 16, "0123456789abcdefABCDEF_"}};
    char first = byte_at(node, at);
    for (size_t i = 0; i < 2 && first == '0'; i++) {
        size_t len = span(node, at + 2, prefixes[i].digits);
        if (byte_at(node, at + 1) == prefixes[i].letter && len > 0 && at + 2 + len == node->len) {
            if (add_digits(node, at + 2, node->len, prefixes[i].base) == 0) {
                set_problem(node, arena, "a number without digits");
            }
            return true;
        }
    }
    if (first == '0') {
        add_digits(node, at + 1, at + 1 + span(node, at + 1, "01234567_"), 8);
        return at + 1 + span(node, at + 1, "01234567_") == node->len;
    }
    if (!ascii_is_digit(first)) {
        return false;
    }
    size_t end = at + span(node, at, "0123456789_");
    size_t groups = span_sexagesimal(node, end);
    if (end + groups != node->len) {
        return false;
    }
    add_digits(node, at, end, 10);
    add_sexagesimal(node, end, end + groups);
    return true;
}

static bool scan_integer(struct yaml_node *node, struct arena *arena)
{
    node->integer = 0;
    char sign = byte_at(node, 0);
    size_t at = sign == '-' || sign == '+' ? 1 : 0;
    if (!scan_magnitude(node, at, arena)) {
        node->is_too_big = false;
        node->problem = NULL;
        return false;
    }
    node->integer = node->is_too_big ? INT64_MAX : node->integer;
    node->integer = sign == '-' ? -node->integer : node->integer;
    node->kind = YAML_INTEGER;
    return true;
}

/** Convert [at, end) without underscores. */
static double convert(const struct yaml_node *node, size_t at, size_t end)
{
    struct buf digits = {0};
    for (; at < end; at++) {
        if (node->text[at] != '_') {
            buf_append(&digits, node->text + at, 1);
        }
    }
    double number = strtod(buf_string(&digits), NULL);
    buf_fini(&digits);
    return number;
}

static double convert_sexagesimal(const struct yaml_node *node, size_t at)
{
    double number = 0;
    while (at < node->len) {
        size_t len = span(node, at, "0123456789_.");
        number = number * 60 + convert(node, at, at + len);
        at += len + 1;
    }
    return number;
}

/** [eE][-+]digits. @return bytes, 0 when there is none */
static size_t span_exponent(const struct yaml_node *node, size_t at)
{
    char sign = byte_at(node, at + 1);
    size_t digits = span(node, at + 2, "0123456789");
    bool is_one = (byte_at(node, at) | 0x20) == 'e' && (sign == '+' || sign == '-') && digits > 0;
    return is_one ? 2 + digits : 0;
}

static bool scan_special(struct yaml_node *node)
{
    static const char *const infinite[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                           "+.INF", "-.inf", "-.Inf", "-.INF", NULL};
    static const char *const not_numbers[] = {".nan", ".NaN", ".NAN", NULL};
    if (is_one_of(node, infinite)) {
        node->number = node->text[0] == '-' ? -__builtin_inf() : __builtin_inf();
        return true;
    }
    if (is_one_of(node, not_numbers)) {
        node->number = __builtin_nan("");
        return true;
    }
    return false;
}

/** Digits, a dot, digits, an exponent; or ".5" without a sign and without an exponent's letter. */
static bool scan_fraction(struct yaml_node *node)
{
    char sign = byte_at(node, 0);
    size_t start = sign == '-' || sign == '+' ? 1 : 0;
    size_t at = start;
    if (ascii_is_digit(byte_at(node, at))) {
        at += span(node, at, "0123456789_");
        size_t groups = span_sexagesimal(node, at);
        at += groups;
        if (byte_at(node, at) != '.') {
            return false;
        }
        at += 1 + span(node, at + 1, "0123456789_");
        if (groups > 0 && at == node->len) {
            double size = convert_sexagesimal(node, start);
            node->number = sign == '-' ? -size : size;
            return true;
        }
    } else if (sign == '.' && ascii_is_digit(byte_at(node, 1))) {
        at = 1 + span(node, 1, "0123456789_");
    } else {
        return false;
    }
    at += span_exponent(node, at);
    if (at != node->len) {
        return false;
    }
    node->number = convert(node, 0, node->len);
    return true;
}

static bool scan_number(struct yaml_node *node)
{
    if (!scan_special(node) && !scan_fraction(node)) {
        return false;
    }
    node->kind = YAML_NUMBER;
    return true;
}

/** A number of `low` to `high` digits at `*at`. */
static bool take_digits(const struct yaml_node *node, size_t *at, size_t low, size_t high,
                        int *ret_number)
{
    size_t digits = span(node, *at, "0123456789");
    digits = digits > high ? high : digits;
    if (digits < low) {
        return false;
    }
    *ret_number = 0;
    for (size_t i = 0; i < digits; i++) {
        *ret_number = *ret_number * 10 + (node->text[*at + i] - '0');
    }
    *at += digits;
    return true;
}

static bool take_byte(const struct yaml_node *node, size_t *at, char byte)
{
    bool is_there = *at < node->len && node->text[*at] == byte;
    *at += is_there ? 1 : 0;
    return is_there;
}

struct yaml_timestamp {
    int year, month, day, hour, minute, second, micro;
    bool has_time;
    bool has_zone;
    int zone_minutes;
};

/** "Z" or "+05:30" at the end, after blanks. */
static bool take_zone(const struct yaml_node *node, size_t *at, struct yaml_timestamp *moment)
{
    size_t blanks = span(node, *at, " \t");
    if (*at + blanks == node->len) {
        return blanks == 0;
    }
    *at += blanks;
    moment->has_zone = true;
    if (take_byte(node, at, 'Z')) {
        return true;
    }
    char sign = byte_at(node, *at);
    int hours = 0;
    int minutes = 0;
    *at += 1;
    if ((sign != '+' && sign != '-') || !take_digits(node, at, 1, 2, &hours)) {
        return false;
    }
    if (take_byte(node, at, ':') && !take_digits(node, at, 2, 2, &minutes)) {
        return false;
    }
    moment->zone_minutes = (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

static bool take_clock(const struct yaml_node *node, size_t *at, struct yaml_timestamp *moment)
{
    size_t blanks = span(node, *at, " \t");
    if (blanks > 0) {
        *at += blanks;
    } else if (!take_byte(node, at, 'T') && !take_byte(node, at, 't')) {
        return false;
    }
    moment->has_time = true;
    if (!take_digits(node, at, 1, 2, &moment->hour) || !take_byte(node, at, ':') ||
        !take_digits(node, at, 2, 2, &moment->minute) || !take_byte(node, at, ':') ||
        !take_digits(node, at, 2, 2, &moment->second)) {
        return false;
    }
    if (take_byte(node, at, '.')) {
        size_t digits = span(node, *at, "0123456789");
        for (size_t i = 0; i < 6; i++) {
            moment->micro = moment->micro * 10 + (i < digits ? node->text[*at + i] - '0' : 0);
        }
        *at += digits;
    }
    return take_zone(node, at, moment);
}

static bool is_possible(const struct yaml_timestamp *moment)
{
    int zone = moment->zone_minutes < 0 ? -moment->zone_minutes : moment->zone_minutes;
    return moment->year >= 1 && moment->month >= 1 && moment->month <= 12 && moment->day >= 1 &&
           moment->day <= calendar_month_days(moment->year, moment->month) && moment->hour < 24 &&
           moment->minute < 60 && moment->second < 60 && zone < 24 * 60;
}

static bool scan_time(struct yaml_node *node, struct arena *arena)
{
    struct yaml_timestamp moment = {0};
    size_t at = 0;
    bool is_date = take_digits(node, &at, 4, 4, &moment.year) && take_byte(node, &at, '-') &&
                   take_digits(node, &at, 1, 2, &moment.month) && take_byte(node, &at, '-') &&
                   take_digits(node, &at, 1, 2, &moment.day);
    if (!is_date) {
        return false;
    }
    if (at == node->len) {
        if (at != strlen("2000-01-01")) {
            return false; /* Without a time a date has all its digits. */
        }
    } else if (!take_clock(node, &at, &moment) || at != node->len) {
        return false;
    }
    node->kind = YAML_TIME;
    if (!is_possible(&moment)) {
        set_problem(node, arena, "a date that does not exist");
    }
    return true;
}

static void resolve_plain(struct yaml_node *node, struct arena *arena)
{
    static const char *const yes[] = {"yes",  "Yes", "YES", "true", "True",
                                      "TRUE", "on",  "On",  "ON",   NULL};
    static const char *const no[] = {"no",    "No",  "NO",  "false", "False",
                                     "FALSE", "off", "Off", "OFF",   NULL};
    static const char *const nothing[] = {"", "~", "null", "Null", "NULL", NULL};
    bool is_yes = is_one_of(node, yes);
    if (is_yes || is_one_of(node, no)) {
        node->kind = YAML_BOOLEAN;
        node->boolean = is_yes;
    } else if (is_one_of(node, nothing)) {
        node->kind = YAML_NULL;
    } else if (!scan_number(node) && !scan_integer(node, arena) && !scan_time(node, arena)) {
        node->kind = YAML_TEXT;
        static const char *const merge[] = {"<<", NULL};
        static const char *const value[] = {"=", NULL};
        node->is_merge = is_one_of(node, merge);
        if (is_one_of(node, value)) {
            set_problem(node, arena, "`=` is a key word of YAML 1.1 and cannot be loaded");
        }
    }
}

static void resolve_boolean(struct yaml_node *node, struct arena *arena)
{
    static const char *const words[] = {"yes", "true", "on", "no", "false", "off"};
    node->kind = YAML_BOOLEAN;
    for (size_t i = 0; i < 6; i++) {
        if (strlen(words[i]) == node->len && strncasecmp(words[i], node->text, node->len) == 0) {
            node->boolean = i < 3;
            return;
        }
    }
    set_problem(node, arena, "not a boolean");
}

static void resolve_number(struct yaml_node *node, struct arena *arena)
{
    node->kind = YAML_NUMBER;
    if (scan_number(node)) {
        return;
    }
    char *end = NULL;
    bool is_decimal = span(node, 0, "0123456789_+-.eE") == node->len && node->len > 0;
    node->number = is_decimal ? strtod(node->text, &end) : 0;
    if (!is_decimal || end != node->text + node->len) {
        set_problem(node, arena, "not a number");
    }
}

bool yaml_resolve(const char *tag, struct arena *arena, struct yaml_node *node)
{
    if (tag == NULL && node->is_quoted) {
        node->kind = YAML_TEXT;
        return true;
    }
    if (tag == NULL || strcmp(tag, "!") == 0) {
        resolve_plain(node, arena);
        return true;
    }
    if (strncmp(tag, TAG_PREFIX, strlen(TAG_PREFIX)) != 0) {
        return false;
    }
    const char *name = tag + strlen(TAG_PREFIX);
    if (strcmp(name, "str") == 0) {
        node->kind = YAML_TEXT;
    } else if (strcmp(name, "null") == 0) {
        node->kind = YAML_NULL;
    } else if (strcmp(name, "bool") == 0) {
        resolve_boolean(node, arena);
    } else if (strcmp(name, "float") == 0) {
        resolve_number(node, arena);
    } else if (strcmp(name, "int") == 0) {
        if (!scan_integer(node, arena)) {
            node->kind = YAML_INTEGER;
            set_problem(node, arena, "not a whole number");
        }
    } else if (strcmp(name, "timestamp") == 0) {
        if (!scan_time(node, arena)) {
            node->kind = YAML_TIME;
            set_problem(node, arena, "not a date");
        }
    } else {
        return false;
    }
    return true;
}
