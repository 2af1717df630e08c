// SPDX-License-Identifier: Apache-2.0
/* Values of a prd.json. */
#include "prd/json_values.h"

#include "base/ascii.h"
#include "base/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void prd_complain(const struct prd_reading *reading, bool is_error, const char *rule,
                  const struct json_node *node, const char *format, ...)
{
    char text[RONDO_ERROR_MESSAGE_SIZE];
    uint32_t line;
    uint32_t column;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    prd_document_place(reading->document, node->at, &line, &column);
    prd_finding_add(reading->findings, is_error, rule, line, column, "%s", text);
}

const char *prd_text_of(const struct prd_reading *reading, const struct json_node *node)
{
    if (node == NULL || node->kind == JSON_NODE_NULL) {
        return NULL;
    }
    if (node->kind == JSON_NODE_STRING) {
        return prd_keep(reading->arena, node->as.bytes, strnlen(node->as.bytes, node->count));
    }
    if (node->kind == JSON_NODE_INTEGER || node->kind == JSON_NODE_NUMBER) {
        return prd_keep(reading->arena, reading->document->text + node->at, node->count);
    }
    prd_complain(reading, false, "not-a-text", node, "expected a string; this value is ignored");
    return NULL;
}

const char *prd_id_of(const struct prd_reading *reading, const struct json_node *node)
{
    const char *id = NULL;
    size_t len = prd_node_id(reading->document, node, &id);
    return len == 0 ? NULL : prd_keep(reading->arena, id, len);
}

/** Ids in one text: "US-001, US-002". */
static size_t split_ids(const struct prd_reading *reading, const char *text,
                        const char *const **ret_ids)
{
    size_t most = 1;
    for (const char *comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
        most++;
    }
    const char **ids = arena_new_array(reading->arena, most, sizeof(*ids));
    size_t count = 0;
    for (const char *at = text; *at != '\0'; at += *at == ',') {
        size_t len = strcspn(at, ",");
        size_t end = len;
        size_t begin = 0;
        while (begin < end && ascii_is_space(at[begin])) {
            begin++;
        }
        while (end > begin && ascii_is_space(at[end - 1])) {
            end--;
        }
        if (end > begin) {
            ids[count++] = prd_keep(reading->arena, at + begin, end - begin);
        }
        at += len;
    }
    *ret_ids = ids;
    return count;
}

size_t prd_ids_of(const struct prd_reading *reading, const struct json_node *node,
                  const char *const **ret_ids)
{
    if (node == NULL || node->kind == JSON_NODE_NULL) {
        return 0;
    }
    if (node->kind == JSON_NODE_STRING) {
        return split_ids(reading, prd_text_of(reading, node), ret_ids);
    }
    bool is_array = node->kind == JSON_NODE_ARRAY;
    size_t given = is_array ? node->count : 1;
    const struct json_node *items = is_array ? node->as.children : node;
    const char **ids = arena_new_array(reading->arena, given, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < given; i++) {
        const char *id = prd_id_of(reading, &items[i]);
        if (id == NULL) {
            prd_complain(reading, true, "bad-dependency", &items[i],
                         "expected the id of a task: a string or a number");
        } else {
            ids[count++] = id;
        }
    }
    *ret_ids = ids;
    return count;
}

size_t prd_texts_of(const struct prd_reading *reading, const struct json_node *node,
                    const char *const **ret_texts)
{
    if (node == NULL || node->kind != JSON_NODE_ARRAY) {
        return 0;
    }
    const char **texts = arena_new_array(reading->arena, node->count, sizeof(*texts));
    size_t count = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        const char *text = prd_text_of(reading, &node->as.children[i]);
        if (text != NULL && *text != '\0') {
            texts[count++] = text;
        }
    }
    *ret_texts = texts;
    return count;
}

int32_t prd_priority_of(const struct prd_reading *reading, const struct json_node *node)
{
    static const char *const words[] = {"critical", "high", "medium", "low"};
    if (node == NULL || node->kind == JSON_NODE_NULL) {
        return PRD_NO_PRIORITY;
    }
    if (node->kind == JSON_NODE_INTEGER && node->as.number >= INT32_MIN &&
        node->as.number < PRD_NO_PRIORITY) {
        return (int32_t)node->as.number;
    }
    const char *text = node->kind == JSON_NODE_STRING ? prd_text_of(reading, node) : "";
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(words[i], text) == 0) {
            return (int32_t)i;
        }
    }
    const char *digits = text + (ascii_lower(text[0]) == 'p');
    if (ascii_is_digit(digits[0]) && strlen(digits) <= 6 &&
        digits[strspn(digits, "0123456789")] == '\0') {
        return (int32_t)strtol(digits, NULL, 10);
    }
    prd_complain(
        reading, false, "unknown-priority", node,
        "unknown priority; write a number (1 is first), P1, or critical, high, medium, low");
    return PRD_NO_PRIORITY;
}
