// SPDX-License-Identifier: Apache-2.0
/* From JSON text to nodes, by the letter of RFC 8259. Recursion is bounded by max_depth. */
#include "base/json/reader.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Objects with more members than this are sorted to find a name that occurs twice. */
#define COMPARE_EACH 8
/** Stands for half of a surrogate pair. */
#define REPLACEMENT 0xfffd

/* ---- Failing -------------------------------------------------------------------------------- */

static int fail_with(struct json_reader *json, int code, const char *format, va_list arguments)
{
    unsigned line = 1;
    unsigned column = 1;
    for (size_t i = 0; i < json->at && i < json->len; i++) {
        if (json->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)json->text[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    char what[RONDO_ERROR_MESSAGE_SIZE];
    vsnprintf(what, sizeof(what), format, arguments);
    return error_set(json->err, code, "%u:%u: %s", line, column, what);
}

int json_reader_fail(struct json_reader *json, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int r = fail_with(json, RONDO_ERR_INVALID, format, arguments);
    va_end(arguments);
    return r;
}

int json_reader_fail_at(struct json_reader *json, const struct json_node *node, const char *format,
                        ...)
{
    json->at = node->at;
    va_list arguments;
    va_start(arguments, format);
    int r = fail_with(json, RONDO_ERR_INVALID, format, arguments);
    va_end(arguments);
    return r;
}

static int fail_limit(struct json_reader *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail_limit(struct json_reader *json, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int r = fail_with(json, RONDO_ERR_LIMIT, format, arguments);
    va_end(arguments);
    return r;
}

/** "expected X, found Y" */
static int fail_expected(struct json_reader *json, const char *expected)
{
    unsigned char byte = (unsigned char)json_reader_peek(json);
    if (json->at >= json->len) {
        return json_reader_fail(json, "expected %s, found the end", expected);
    }
    if (byte < 0x20 || byte >= 0x7f) {
        return json_reader_fail(json, "expected %s, found byte 0x%02x", expected, byte);
    }
    return json_reader_fail(json, "expected %s, found `%c`", expected, byte);
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

int json_reader_begin(struct json_reader *json)
{
    if (json->len > json->max_bytes) {
        return error_set(json->err, RONDO_ERR_LIMIT, "the JSON has %zu bytes; the limit is %zu",
                         json->len, json->max_bytes);
    }
    return 0;
}

void json_reader_fini(struct json_reader *json)
{
    arena_fini(&json->scratch);
    free(json->stack);
    json->stack = NULL;
    json->stack_count = 0;
    json->stack_size = 0;
    buf_fini(&json->string);
}

static bool is_at(const struct json_reader *json, char byte)
{
    return json->at < json->len && json->text[json->at] == byte;
}

char json_reader_peek(struct json_reader *json)
{
    while (is_at(json, ' ') || is_at(json, '\n') || is_at(json, '\r') || is_at(json, '\t')) {
        json->at++;
    }
    return json->at < json->len ? json->text[json->at] : '\0';
}

int json_reader_accept(struct json_reader *json, char byte)
{
    json_reader_peek(json);
    if (!is_at(json, byte)) {
        return 0;
    }
    json->at++;
    return 1;
}

int json_reader_expect(struct json_reader *json, char byte)
{
    char expected[] = {'`', byte, '`', '\0'};
    return json_reader_accept(json, byte) ? 0 : fail_expected(json, expected);
}

int json_reader_end(struct json_reader *json)
{
    json_reader_peek(json);
    return json->at == json->len ? 0 : fail_expected(json, "the end");
}

/* ---- Strings -------------------------------------------------------------------------------- */

/** Bytes up to a quote, a backslash, or something that a string may not contain. */
static size_t plain_len(const struct json_reader *json)
{
    size_t at = json->at;
    while (at < json->len) {
        unsigned char byte = (unsigned char)json->text[at];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            break;
        }
        size_t len = byte < 0x80 ? 1 : utf8_sequence_len(json->text + at, json->len - at);
        if (len == 0) {
            break;
        }
        at += len;
    }
    return at - json->at;
}

/** The four digits after `\u`. @return -1 when there are none; the place is then unchanged */
static int32_t read_hex(struct json_reader *json)
{
    int32_t number = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = json->at + i < json->len ? ascii_hex_value(json->text[json->at + i]) : -1;
        if (digit < 0) {
            return -1;
        }
        number = number * 16 + digit;
    }
    json->at += 4;
    return number;
}

/** After `\u`: a code point, or the two halves of one. */
static int read_unicode_escape(struct json_reader *json)
{
    int32_t first = read_hex(json);
    if (first < 0) {
        return json_reader_fail(json, "expected four hexadecimal digits after \\u");
    }
    if (first < 0xd800 || first > 0xdfff) {
        utf8_append(&json->string, (uint32_t)first);
        return 0;
    }
    int32_t second = -1;
    size_t after_first = json->at;
    if (first < 0xdc00 && json->len - json->at >= 6 && json->text[json->at] == '\\' &&
        json->text[json->at + 1] == 'u') {
        json->at += 2;
        second = read_hex(json);
    }
    if (second < 0xdc00 || second > 0xdfff) {
        if (json->is_lenient) {
            json->at = after_first;
            utf8_append(&json->string, REPLACEMENT);
            return 0;
        }
        return json_reader_fail(json, "\\u%04x is half of a surrogate pair without the other half",
                                (unsigned)first);
    }
    utf8_append(&json->string,
                0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00));
    return 0;
}

static int read_escape(struct json_reader *json)
{
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    json->at++;
    char name = json->at < json->len ? json->text[json->at] : '\0';
    if (name == 'u') {
        json->at++;
        return read_unicode_escape(json);
    }
    const char *found = name == '\0' ? NULL : strchr(names, name);
    if (found == NULL) {
        return fail_expected(json, "one of \"\\/bfnrtu after `\\`");
    }
    buf_append(&json->string, &bytes[found - names], 1);
    json->at++;
    return 0;
}

/** What is neither a plain byte of a string nor its end. */
static int read_special(struct json_reader *json)
{
    if (json->at >= json->len) {
        return json_reader_fail(json, "the string has no end");
    }
    unsigned char byte = (unsigned char)json->text[json->at];
    if (byte == '\\') {
        return read_escape(json);
    }
    if (byte < 0x20) {
        return json_reader_fail(json, "a control character in a string; write it as \\u%04x", byte);
    }
    return json_reader_fail(json, "the string is not UTF-8");
}

/** The rest of a string that began at `begin` and has an escape or an error at the present place.
 */
static int read_escaped(struct json_reader *json, size_t begin, struct json_node *ret_node)
{
    struct buf *string = &json->string;
    buf_clear(string);
    buf_append(string, json->text + begin, json->at - begin);
    while (!is_at(json, '"')) {
        int r = read_special(json);
        if (r != 0) {
            return r;
        }
        size_t len = plain_len(json);
        buf_append(string, json->text + json->at, len);
        json->at += len;
    }
    char *bytes = arena_new(&json->scratch, string->len + 1);
    memcpy(bytes, buf_string(string), string->len);
    ret_node->as.bytes = bytes;
    ret_node->count = (uint32_t)string->len;
    return 0;
}

/** A string; the opening quote is the next byte. */
static int read_string(struct json_reader *json, struct json_node *ret_node)
{
    ret_node->kind = JSON_NODE_STRING;
    ret_node->at = (uint32_t)json->at;
    size_t begin = ++json->at;
    json->at += plain_len(json);
    ret_node->as.bytes = json->text + begin;
    ret_node->count = (uint32_t)(json->at - begin);
    int r = is_at(json, '"') ? 0 : read_escaped(json, begin, ret_node);
    json->at += r == 0;
    return r;
}

/* ---- Numbers and words ---------------------------------------------------------------------- */

static size_t skip_digits(struct json_reader *json)
{
    size_t begin = json->at;
    while (json->at < json->len && ascii_is_digit(json->text[json->at])) {
        json->at++;
    }
    return json->at - begin;
}

/** After the whole part. @return whether a fraction or an exponent was there, or negative */
static int skip_fraction(struct json_reader *json)
{
    int is_there = 0;
    if (is_at(json, '.')) {
        is_there = 1;
        json->at++;
        if (skip_digits(json) == 0) {
            return fail_expected(json, "a digit");
        }
    }
    if (is_at(json, 'e') || is_at(json, 'E')) {
        is_there = 1;
        json->at++;
        json->at += is_at(json, '+') || is_at(json, '-');
        if (skip_digits(json) == 0) {
            return fail_expected(json, "a digit");
        }
    }
    return is_there;
}

/** @return false when the digits do not fit; the text is known to be digits */
static bool parse_digits(const char *digits, size_t len, bool is_negative, int64_t *ret_number)
{
    int64_t number = 0;
    for (size_t i = 0; i < len; i++) {
        int digit = digits[i] - '0';
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, is_negative ? -digit : digit, &number)) {
            return false;
        }
    }
    *ret_number = number;
    return true;
}

static int read_number(struct json_reader *json, struct json_node *ret_node)
{
    bool is_negative = is_at(json, '-');
    json->at += is_negative;
    size_t begin = json->at;
    size_t len = 1;
    if (is_at(json, '0')) {
        json->at++; /* Nothing may follow a zero: 01 is no number. */
    } else {
        len = skip_digits(json);
    }
    if (len == 0) {
        return fail_expected(json, "a digit");
    }
    int fraction = skip_fraction(json);
    if (fraction < 0) {
        return fraction;
    }
    int64_t number = 0;
    bool is_exact = fraction == 0 && parse_digits(json->text + begin, len, is_negative, &number);
    /* An integer has no negative zero: that is one of the floating-point numbers. */
    is_exact = is_exact && !(is_negative && number == 0);
    ret_node->kind = is_exact ? JSON_NODE_INTEGER : JSON_NODE_NUMBER;
    ret_node->as.number = number;
    ret_node->count = (uint32_t)(json->at - ret_node->at);
    return 0;
}

static int read_word(struct json_reader *json, struct json_node *ret_node)
{
    static const struct {
        const char *word;
        enum json_node_kind kind;
        bool truth;
    } words[] = {
        {"true", JSON_NODE_BOOL, true},
        {"false", JSON_NODE_BOOL, false},
        {"null", JSON_NODE_NULL, false},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i].word);
        if (json->len - json->at >= len && memcmp(json->text + json->at, words[i].word, len) == 0) {
            ret_node->kind = words[i].kind;
            ret_node->as.truth = words[i].truth;
            json->at += len;
            return 0;
        }
    }
    return fail_expected(json, "a value");
}

/* ---- Arrays and objects --------------------------------------------------------------------- */

static int read_node(struct json_reader *json, struct json_node *ret_node);

static void push(struct json_reader *json, const struct json_node *node)
{
    if (json->stack_count == json->stack_size) {
        json->stack_size = json->stack_size == 0 ? 64 : json->stack_size * 2;
        json->stack = memory_resize(json->stack, json->stack_size, sizeof(*json->stack));
    }
    json->stack[json->stack_count++] = *node;
}

static int enter(struct json_reader *json)
{
    if (json->depth >= json->max_depth) {
        return fail_limit(json, "nested too deeply; the limit is %u", json->max_depth);
    }
    json->depth++;
    json->at++;
    return 0;
}

/** Take the children above `base` from the stack. */
static void leave(struct json_reader *json, size_t base, struct json_node *ret_node)
{
    size_t count = json->stack_count - base;
    struct json_node *children = arena_new_array(&json->scratch, count, sizeof(*children));
    if (count > 0) {
        memcpy(children, json->stack + base, count * sizeof(*children));
    }
    json->stack_count = base;
    json->depth--;
    ret_node->as.children = children;
    ret_node->count = (uint32_t)(ret_node->kind == JSON_NODE_OBJECT ? count / 2 : count);
}

static int read_array(struct json_reader *json, struct json_node *ret_node)
{
    size_t base = json->stack_count;
    int r = enter(json);
    bool is_more = r == 0 && !json_reader_accept(json, ']');
    bool is_open = is_more;
    while (r == 0 && is_more) {
        struct json_node child;
        r = read_node(json, &child);
        push(json, &child);
        is_more = r == 0 && json_reader_accept(json, ',');
    }
    if (r == 0 && is_open && !json_reader_accept(json, ']')) {
        r = fail_expected(json, "`,` or `]`");
    }
    if (r == 0) {
        ret_node->kind = JSON_NODE_ARRAY;
        leave(json, base, ret_node);
    }
    return r;
}

static int read_member(struct json_reader *json)
{
    struct json_node node;
    if (json_reader_peek(json) != '"') {
        return fail_expected(json, "a key in quotes");
    }
    int r = read_string(json, &node);
    push(json, &node);
    r = r != 0 ? r : json_reader_expect(json, ':');
    r = r != 0 ? r : read_node(json, &node);
    push(json, &node);
    return r;
}

/** By length and bytes, then by place. Not by hash: those that collide would make it slow. */
static int compare_keys(const void *left, const void *right)
{
    const struct json_node *a = *(const struct json_node *const *)left;
    const struct json_node *b = *(const struct json_node *const *)right;
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    int order = memcmp(a->as.bytes, b->as.bytes, a->count);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

static bool are_equal(const struct json_node *a, const struct json_node *b)
{
    return a->count == b->count && memcmp(a->as.bytes, b->as.bytes, a->count) == 0;
}

static const struct json_node *find_twice_sorted(const struct json_node *object)
{
    const struct json_node **keys = memory_new(object->count * sizeof(*keys));
    for (size_t i = 0; i < object->count; i++) {
        keys[i] = &object->as.children[2 * i];
    }
    qsort(keys, object->count, sizeof(*keys), compare_keys);
    const struct json_node *found = NULL;
    for (size_t i = 1; i < object->count && found == NULL; i++) {
        found = are_equal(keys[i], keys[i - 1]) ? keys[i] : NULL;
    }
    free(keys);
    return found;
}

/** @return the later one of two equal keys, or NULL */
static const struct json_node *find_twice(const struct json_node *object)
{
    if (object->count > COMPARE_EACH) {
        return find_twice_sorted(object);
    }
    const struct json_node *members = object->as.children;
    for (size_t i = 2; i < (size_t)object->count * 2; i += 2) {
        for (size_t k = 0; k < i; k += 2) {
            if (are_equal(&members[i], &members[k])) {
                return &members[i];
            }
        }
    }
    return NULL;
}

static int check_keys(struct json_reader *json, const struct json_node *object)
{
    const struct json_node *key = find_twice(object);
    char text[JSON_SHOWN_SIZE];
    if (key == NULL) {
        return 0;
    }
    return json_reader_fail_at(json, key, "the key `%s` occurs twice", json_node_show(key, text));
}

static int read_object(struct json_reader *json, struct json_node *ret_node)
{
    size_t base = json->stack_count;
    int r = enter(json);
    bool is_more = r == 0 && !json_reader_accept(json, '}');
    bool is_open = is_more;
    while (r == 0 && is_more) {
        r = read_member(json);
        is_more = r == 0 && json_reader_accept(json, ',');
    }
    if (r == 0 && is_open && !json_reader_accept(json, '}')) {
        r = fail_expected(json, "`,` or `}`");
    }
    if (r == 0) {
        ret_node->kind = JSON_NODE_OBJECT;
        leave(json, base, ret_node);
        r = json->is_lenient ? 0 : check_keys(json, ret_node);
    }
    return r;
}

static int read_node(struct json_reader *json, struct json_node *ret_node)
{
    char next = json_reader_peek(json);
    *ret_node = (struct json_node){.at = (uint32_t)json->at};
    if (next == '{') {
        return read_object(json, ret_node);
    }
    if (next == '[') {
        return read_array(json, ret_node);
    }
    if (next == '"') {
        return read_string(json, ret_node);
    }
    if (next == '-' || ascii_is_digit(next)) {
        return read_number(json, ret_node);
    }
    return read_word(json, ret_node);
}

/* ---- For the readers ------------------------------------------------------------------------ */

int json_reader_read(struct json_reader *json, const struct json_node **ret_node)
{
    arena_clear(&json->scratch);
    json->stack_count = 0;
    struct json_node node;
    int r = read_node(json, &node);
    if (r == 0) {
        struct json_node *copy = arena_new(&json->scratch, sizeof(*copy));
        *copy = node;
        *ret_node = copy;
    }
    return r;
}

const char *json_node_show(const struct json_node *string, char *ret_text)
{
    size_t len = 0;
    for (size_t at = 0; at < string->count;) {
        const char *bytes = string->as.bytes + at;
        size_t step = utf8_sequence_len(bytes, string->count - at);
        bool is_control = (unsigned char)*bytes < 0x20 || *bytes == 0x7f;
        if (step == 0 || len + step > JSON_SHOWN_SIZE - 4) {
            memcpy(ret_text + len, "...", 3);
            len += 3;
            break;
        }
        memcpy(ret_text + len, is_control ? "?" : bytes, step);
        len += step;
        at += step;
    }
    ret_text[len] = '\0';
    return ret_text;
}

const struct json_node *json_node_member(const struct json_node *object, const char *name)
{
    if (object == NULL || object->kind != JSON_NODE_OBJECT) {
        return NULL;
    }
    size_t len = strlen(name);
    for (size_t i = 0; i < object->count; i++) {
        const struct json_node *key = &object->as.children[2 * i];
        if (key->count == len && memcmp(key->as.bytes, name, len) == 0) {
            return key + 1;
        }
    }
    return NULL;
}
