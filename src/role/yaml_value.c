// SPDX-License-Identifier: Apache-2.0
/* YAML values as words for messages and as JSON. */
#include "role/yaml.h"

#include "base/auto.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Texts in messages are cut at this many bytes. */
#define SHOWN_BYTES 40

/** What a kind is called in messages: "a text", "a list". Static. */
static const char *yaml_kind_name(enum yaml_kind kind)
{
    static const char *const names[] = {
        [YAML_NULL] = "nothing",     [YAML_BOOLEAN] = "true or false",
        [YAML_INTEGER] = "a number", [YAML_NUMBER] = "a number",
        [YAML_TEXT] = "a string",    [YAML_TIME] = "a date",
        [YAML_LIST] = "a list",      [YAML_MAP] = "a map",
    };
    return names[kind];
}

/** First bytes of a text, without control characters and half characters. */
static void append_shown(const struct yaml_node *node, struct buf *out)
{
    size_t len = node->len;
    if (len > SHOWN_BYTES) {
        for (len = SHOWN_BYTES; len > 0 && ((unsigned char)node->text[len] & 0xc0) == 0x80;) {
            len--;
        }
    }
    for (size_t i = 0; i < len; i++) {
        bool is_control = (unsigned char)node->text[i] < ' ' || node->text[i] == 0x7f;
        buf_append(out, is_control ? " " : node->text + i, 1);
    }
    buf_append_string(out, len < node->len ? "..." : "");
}

void yaml_describe(const struct yaml_node *node, struct buf *ret_text)
{
    switch (node->kind) {
    case YAML_NULL:
    case YAML_LIST:
    case YAML_MAP:
        buf_append_string(ret_text, yaml_kind_name(node->kind));
        return;
    case YAML_BOOLEAN:
        buf_append_string(ret_text, node->boolean ? "true" : "false");
        bool is_plain = strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0;
        if (!is_plain) {
            buf_append_string(ret_text, " (`");
            append_shown(node, ret_text);
            buf_append_string(ret_text, "` in YAML)");
        }
        return;
    case YAML_INTEGER:
    case YAML_NUMBER:
        buf_append_string(ret_text, "the number ");
        append_shown(node, ret_text);
        return;
    case YAML_TIME:
        buf_append_string(ret_text, "the date ");
        append_shown(node, ret_text);
        return;
    case YAML_TEXT:
        buf_append_string(ret_text, "\"");
        append_shown(node, ret_text);
        buf_append_string(ret_text, "\"");
        return;
    }
}

struct json_object *yaml_json_number(double number)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    if (strcspn(text, ".eE") == strlen(text)) {
        strncat(text, ".0", sizeof(text) - strlen(text) - 1);
    }
    return json_object_new_double_s(number, text);
}

/** Dates as ISO texts: blanks before the time become a T; the rest stays as written. */
static struct json_object *time_to_json(const struct yaml_node *node)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < node->len; i++) {
        bool is_blank = node->text[i] == ' ' || node->text[i] == '\t';
        bool follows_blank = i > 0 && (node->text[i - 1] == ' ' || node->text[i - 1] == '\t');
        bool is_separator = node->text[i] == 't' || (is_blank && i <= 10);
        if (is_separator && !follows_blank) {
            buf_append_string(&text, "T");
        } else if (!is_blank) {
            buf_append(&text, node->text + i, 1);
        }
    }
    return json_object_new_string_len(buf_string(&text), (int)text.len);
}

/** Keys that are no texts, as Python writes them. */
static void append_key(const struct yaml_node *key, struct buf *out)
{
    if (key->kind == YAML_NULL) {
        buf_append_string(out, "None");
    } else if (key->kind == YAML_BOOLEAN) {
        buf_append_string(out, key->boolean ? "true" : "false");
    } else if (key->kind == YAML_INTEGER && !key->is_too_big) {
        buf_printf(out, "%lld", (long long)key->integer);
    } else {
        buf_append(out, key->text, strlen(key->text));
    }
}

static struct json_object *map_to_json(const struct yaml_node *node)
{
    struct json_object *object = json_object_new_object();
    for (size_t i = 0; i < node->count; i++) {
        auto_buf struct buf key = {0};
        append_key(node->pairs[i].key, &key);
        json_object_object_add(object, buf_string(&key), yaml_to_json(node->pairs[i].value));
    }
    return object;
}

static struct json_object *list_to_json(const struct yaml_node *node)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < node->count; i++) {
        json_object_array_add(list, yaml_to_json(node->items[i]));
    }
    return list;
}

struct json_object *yaml_to_json(const struct yaml_node *node)
{
    switch (node->kind) {
    case YAML_NULL:
        return NULL;
    case YAML_BOOLEAN:
        return json_object_new_boolean(node->boolean);
    case YAML_INTEGER:
        return node->is_too_big ? yaml_json_number((double)node->integer)
                                : json_object_new_int64(node->integer);
    case YAML_NUMBER:
        return isfinite(node->number) ? yaml_json_number(node->number) : NULL;
    case YAML_TEXT:
        return json_object_new_string_len(node->text, (int)node->len);
    case YAML_TIME:
        return time_to_json(node);
    case YAML_LIST:
        return list_to_json(node);
    case YAML_MAP:
        return map_to_json(node);
    }
    return NULL;
}
