// SPDX-License-Identifier: Apache-2.0
/* Coercions of YAML values to booleans and numbers, by pydantic's rules without `strict`. */
#include "role/reader.h"

#include "base/ascii.h"
#include "base/auto.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_word(const struct yaml_node *node, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strlen(*words) == node->len && strncasecmp(*words, node->text, node->len) == 0) {
            return true;
        }
    }
    return false;
}

static struct json_object *boolean_of(double number)
{
    return number == 0 || number == 1 ? json_object_new_boolean(number == 1) : NULL;
}

struct json_object *coerce_boolean(const struct yaml_node *node)
{
    static const char *const yes[] = {"1", "on", "t", "true", "y", "yes", NULL};
    static const char *const no[] = {"0", "off", "f", "false", "n", "no", NULL};
    switch (node->kind) {
    case YAML_BOOLEAN:
        return json_object_new_boolean(node->boolean);
    case YAML_INTEGER:
        return boolean_of((double)node->integer);
    case YAML_NUMBER:
        return boolean_of(node->number);
    case YAML_TEXT:
        if (is_word(node, yes)) {
            return json_object_new_boolean(true);
        }
        return is_word(node, no) ? json_object_new_boolean(false) : NULL;
    case YAML_NULL:
    case YAML_TIME:
    case YAML_LIST:
    case YAML_MAP:
        return NULL;
    }
    return NULL;
}

/** The text without blanks around it. */
static void trim(const struct yaml_node *node, const char **ret_text, size_t *ret_len)
{
    const char *text = node->text;
    size_t len = node->len;
    while (len > 0 && ascii_is_space(text[0])) {
        text++;
        len--;
    }
    while (len > 0 && ascii_is_space(text[len - 1])) {
        len--;
    }
    *ret_text = text;
    *ret_len = len;
}

/**
 * Copy digits without the underscores between them.
 * @return bytes read; 0 when an underscore is not between digits
 */
static size_t copy_digits(const char *text, size_t len, struct buf *digits)
{
    size_t at = 0;
    for (; at < len; at++) {
        if (ascii_is_digit(text[at])) {
            buf_append(digits, text + at, 1);
        } else if (text[at] != '_') {
            break;
        } else if (at == 0 || at + 1 == len || !ascii_is_digit(text[at - 1]) ||
                   !ascii_is_digit(text[at + 1])) {
            return 0;
        }
    }
    return at;
}

/** [+-]digits, optionally followed by .000. */
static struct json_object *integer_of_text(const struct yaml_node *node)
{
    const char *text;
    size_t len;
    trim(node, &text, &len);
    auto_buf struct buf digits = {0};
    size_t at = 0;
    if (len > 0 && (text[0] == '-' || text[0] == '+')) {
        buf_append(&digits, text, 1);
        at = 1;
    }
    size_t copied = copy_digits(text + at, len - at, &digits);
    at += copied;
    if (copied > 0 && at + 1 < len && text[at] == '.') {
        at++;
        while (at < len && text[at] == '0') {
            at++;
        }
    }
    if (copied == 0 || at != len || digits.len > 19) {
        return NULL;
    }
    return json_object_new_int64(strtoll(buf_string(&digits), NULL, 10));
}

struct json_object *coerce_integer(const struct yaml_node *node)
{
    switch (node->kind) {
    case YAML_BOOLEAN:
        return json_object_new_int64(node->boolean ? 1 : 0);
    case YAML_INTEGER:
        return node->is_too_big ? NULL : json_object_new_int64(node->integer);
    case YAML_NUMBER:
        if (fabs(node->number) >= 9.2e18 || node->number != (double)(int64_t)node->number) {
            return NULL; /* Also what is infinite or not a number. */
        }
        return json_object_new_int64((int64_t)node->number);
    case YAML_TEXT:
        return integer_of_text(node);
    case YAML_NULL:
    case YAML_TIME:
    case YAML_LIST:
    case YAML_MAP:
        return NULL;
    }
    return NULL;
}

/** A decimal number as Python's float() takes it. */
static struct json_object *number_of_text(const struct yaml_node *node)
{
    const char *text;
    size_t len;
    trim(node, &text, &len);
    auto_buf struct buf digits = {0};
    for (size_t at = 0; at < len;) {
        size_t copied = copy_digits(text + at, len - at, &digits);
        if (copied == 0 && (text[at] == '\0' || strchr("+-.eE", text[at]) == NULL)) {
            return NULL;
        }
        if (copied == 0) {
            buf_append(&digits, text + at, 1);
        }
        at += copied == 0 ? 1 : copied;
    }
    char *end = NULL;
    double number = strtod(buf_string(&digits), &end);
    bool is_number = digits.len > 0 && *end == '\0' && isfinite(number);
    return is_number ? yaml_json_number(number) : NULL;
}

struct json_object *coerce_number(const struct yaml_node *node)
{
    switch (node->kind) {
    case YAML_BOOLEAN:
        return yaml_json_number(node->boolean ? 1 : 0);
    case YAML_INTEGER:
        return yaml_json_number((double)node->integer);
    case YAML_NUMBER:
        return isfinite(node->number) ? yaml_json_number(node->number) : NULL;
    case YAML_TEXT:
        return number_of_text(node);
    case YAML_NULL:
    case YAML_TIME:
    case YAML_LIST:
    case YAML_MAP:
        return NULL;
    }
    return NULL;
}
