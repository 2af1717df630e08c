// SPDX-License-Identifier: Apache-2.0
/* Canonical JSON: names in the order of UTF-16, numbers and strings as ECMAScript writes them. */
#include "base/json/canonical.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/json/reader.h"
#include "base/limits.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Digits after the first: so many every double keeps, but for the smallest ones. */
#define FEWEST_DECIMALS 14
/** More are never needed. */
#define MOST_DECIMALS 16
/** Numbers from 1e-6 up to 1e21 are written without an exponent. */
#define SMALLEST_PLAIN_EXPONENT (-6)
#define LARGEST_PLAIN_EXPONENT  20

/* ---- Numbers -------------------------------------------------------------------------------- */

/** A positive number: `digits` without point, the first of them before it, times 10^exponent. */
struct decimal {
    char digits[MOST_DECIMALS + 3];
    int exponent;
};

/** @param text as printf writes %e: whatever one byte the locale has for a point */
static struct decimal decimal_of(const char *text)
{
    struct decimal decimal = {0};
    size_t count = 0;
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') {
            decimal.digits[count++] = *at;
        }
    }
    decimal.exponent = (int)strtol(at + 1, NULL, 10);
    return decimal;
}

/** The next larger one of as many digits. */
static void increment(struct decimal *decimal)
{
    size_t i = strlen(decimal->digits);
    while (i > 0 && decimal->digits[i - 1] == '9') {
        decimal->digits[--i] = '0';
    }
    if (i > 0) {
        decimal->digits[i - 1]++;
    } else {
        decimal->digits[0] = '1';
        decimal->exponent++;
    }
}

static bool is_read_as(const struct decimal *decimal, double number)
{
    char text[JSON_NUMBER_SIZE];
    snprintf(text, sizeof(text), "%se%d", decimal->digits,
             decimal->exponent - (int)strlen(decimal->digits) + 1);
    return strtod(text, NULL) == number;
}

/**
 * The shortest digits that are read as the number; of those the closest. These are its correctly
 * rounded digits, but for a power of two: below it doubles are closer to each other than above, so
 * that the closest digits may be read as another number and the next larger ones as this.
 */
static struct decimal shortest(double number)
{
    struct decimal decimal;
    for (int decimals = number < DBL_MIN ? 0 : FEWEST_DECIMALS;; decimals++) {
        char text[JSON_NUMBER_SIZE];
        snprintf(text, sizeof(text), "%.*e", decimals, number);
        decimal = decimal_of(text);
        if (decimals == MOST_DECIMALS || is_read_as(&decimal, number)) {
            break;
        }
        struct decimal larger = decimal;
        increment(&larger);
        if (is_read_as(&larger, number)) {
            decimal = larger;
            break;
        }
    }
    for (size_t i = strlen(decimal.digits); i > 1 && decimal.digits[i - 1] == '0'; i--) {
        decimal.digits[i - 1] = '\0';
    }
    return decimal;
}

void json_canonical_number(double number, char ret_text[static JSON_NUMBER_SIZE])
{
    assert(isfinite(number));
    if (number == 0) {
        snprintf(ret_text, JSON_NUMBER_SIZE, "0");
        return;
    }
    const char *sign = number < 0 ? "-" : "";
    struct decimal decimal = shortest(fabs(number));
    const char *digits = decimal.digits;
    int count = (int)strlen(digits);
    int exponent = decimal.exponent;
    if (exponent < SMALLEST_PLAIN_EXPONENT || exponent > LARGEST_PLAIN_EXPONENT) {
        snprintf(ret_text, JSON_NUMBER_SIZE, "%s%c%s%se%+d", sign, digits[0], count > 1 ? "." : "",
                 digits + 1, exponent);
    } else if (exponent < 0) {
        snprintf(ret_text, JSON_NUMBER_SIZE, "%s0.%.*s%s", sign, -exponent - 1, "00000", digits);
    } else if (count <= exponent + 1) {
        snprintf(ret_text, JSON_NUMBER_SIZE, "%s%s%.*s", sign, digits, exponent + 1 - count,
                 "00000000000000000000");
    } else {
        snprintf(ret_text, JSON_NUMBER_SIZE, "%s%.*s.%s", sign, exponent + 1, digits,
                 digits + exponent + 1);
    }
}

/** An integer of any length in a text without a point and an exponent. */
static bool is_integer_text(const char *text)
{
    return strspn(text, "-0123456789") == strlen(text);
}

/** Whether `text` is the only integer that becomes this number here. @param canonical its form */
static bool is_only_integer(const char *text, double number, const char *canonical)
{
    char exact[DBL_MAX_10_EXP + 4];
    if (is_integer_text(canonical)) {
        return number == 0 || strcmp(canonical, text) == 0;
    }
    snprintf(exact, sizeof(exact), "%.0f", number);
    return strcmp(exact, text) == 0;
}

static int write_number(struct json_reader *json, const struct json_node *node, struct buf *ret)
{
    char canonical[JSON_NUMBER_SIZE];
    auto_buf struct buf copy = {0};
    buf_append(&copy, json->text + node->at, node->count);
    const char *text = buf_string(&copy);
    double number = json_number_of(text);
    if (!isfinite(number)) {
        return json_reader_fail_at(json, node, "the number is too large for a double");
    }
    json_canonical_number(number, canonical);
    if (is_integer_text(text) && !is_only_integer(text, number, canonical)) {
        return json_reader_fail_at(
            json, node, "a double cannot hold the integer %.24s; write it as a string", text);
    }
    buf_append_string(ret, canonical);
    return 0;
}

/* ---- Strings -------------------------------------------------------------------------------- */

static void write_escape(unsigned char byte, struct buf *ret)
{
    static const char names[] = "\bb\tt\nn\ff\rr\"\"\\\\";
    for (size_t i = 0; names[i] != '\0'; i += 2) {
        if ((unsigned char)names[i] == byte) {
            buf_append(ret, (char[2]){'\\', names[i + 1]}, 2);
            return;
        }
    }
    buf_printf(ret, "\\u%04x", byte);
}

static void write_string(const struct json_node *node, struct buf *ret)
{
    size_t plain = 0; /* start of the bytes that need no escape and are not copied yet */
    buf_append(ret, "\"", 1);
    for (size_t at = 0; at < node->count; at++) {
        unsigned char byte = (unsigned char)node->as.bytes[at];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            buf_append(ret, node->as.bytes + plain, at - plain);
            write_escape(byte, ret);
            plain = at + 1;
        }
    }
    buf_append(ret, node->as.bytes + plain, node->count - plain);
    buf_append(ret, "\"", 1);
}

/* ---- Objects and arrays --------------------------------------------------------------------- */

/**
 * The order of UTF-16 code units. It is that of the bytes of UTF-8 with one exception: what UTF-16
 * writes as a surrogate pair (four bytes, the first from 0xF0) comes before U+E000 to U+FFFF (three
 * bytes, the first 0xEE or 0xEF).
 */
static int compare_names(const void *a, const void *b)
{
    const struct json_node *left = a;
    const struct json_node *right = b;
    uint32_t len = left->count < right->count ? left->count : right->count;
    uint32_t i = 0;
    while (i < len && left->as.bytes[i] == right->as.bytes[i]) {
        i++;
    }
    if (i == len) {
        return (left->count > right->count) - (left->count < right->count);
    }
    unsigned char x = (unsigned char)left->as.bytes[i];
    unsigned char y = (unsigned char)right->as.bytes[i];
    bool is_reversed = x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0);
    return (x < y) != is_reversed ? -1 : 1;
}

static int write_value(struct json_reader *json, const struct json_node *node, struct buf *ret);

static int write_array(struct json_reader *json, const struct json_node *node, struct buf *ret)
{
    int r = 0;
    buf_append(ret, "[", 1);
    for (uint32_t i = 0; i < node->count && r == 0; i++) {
        buf_append_string(ret, i == 0 ? "" : ",");
        r = write_value(json, &node->as.children[i], ret);
    }
    buf_append(ret, "]", 1);
    return r;
}

static int write_object(struct json_reader *json, const struct json_node *node, struct buf *ret)
{
    struct sorted_member {
        struct json_node name; /* the first member, for compare_names */
        const struct json_node *value;
    };
    struct sorted_member *members = arena_new_array(&json->scratch, node->count, sizeof(*members));
    for (uint32_t i = 0; i < node->count; i++) {
        const struct json_node *pair = &node->as.children[2 * (size_t)i];
        members[i] = (struct sorted_member){.name = pair[0], .value = &pair[1]};
    }
    qsort(members, node->count, sizeof(*members), compare_names);
    int r = 0;
    buf_append(ret, "{", 1);
    for (uint32_t i = 0; i < node->count && r == 0; i++) {
        buf_append_string(ret, i == 0 ? "" : ",");
        write_string(&members[i].name, ret);
        buf_append(ret, ":", 1);
        r = write_value(json, members[i].value, ret);
    }
    buf_append(ret, "}", 1);
    return r;
}

static int write_value(struct json_reader *json, const struct json_node *node, struct buf *ret)
{
    switch (node->kind) {
    case JSON_NODE_NULL:
        buf_append_string(ret, "null");
        return 0;
    case JSON_NODE_BOOL:
        buf_append_string(ret, node->as.truth ? "true" : "false");
        return 0;
    case JSON_NODE_INTEGER:
    case JSON_NODE_NUMBER:
        return write_number(json, node, ret);
    case JSON_NODE_STRING:
        write_string(node, ret);
        return 0;
    case JSON_NODE_ARRAY:
        return write_array(json, node, ret);
    case JSON_NODE_OBJECT:
        return write_object(json, node, ret);
    }
    return 0;
}

int json_canonical(const char *text, size_t len, struct buf *ret_text, struct rondo_error *err)
{
    struct rondo_error fault = {0};
    const struct json_node *node = NULL;
    auto_buf struct buf canonical = {0};
    struct json_reader reader = {.text = text,
                                 .len = len,
                                 .max_bytes = INT_MAX,
                                 .max_depth = LIMIT_JSON_DEPTH,
                                 .err = &fault};
    int r = json_reader_begin(&reader);
    r = r != 0 ? r : json_reader_read(&reader, &node);
    r = r != 0 ? r : json_reader_end(&reader);
    r = r != 0 ? r : write_value(&reader, node, &canonical);
    json_reader_fini(&reader);
    if (r != 0) {
        return error_set(err, RONDO_ERR_INVALID, "no canonical JSON: %s", fault.message);
    }
    buf_append(ret_text, canonical.data, canonical.len);
    return 0;
}
