// SPDX-License-Identifier: Apache-2.0
/* What the tests of role files share: reading texts, and looking into what came out. */
#pragma once

#include "base/buf.h"
#include "role/role.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** A whole role but for what follows its model; seven lines. */
#define HEAD                                                                                 \
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: my-agent}\nspec:\n  role: R\n" \
    "  model: {provider: p, name: n}\n"
#define TOOL HEAD "  tools:\n"

/** What reading gave. */
struct role_reading {
    struct role *role;
    struct role_findings findings;
};

static inline struct role_reading read_bytes(const char *text, size_t len, enum role_schema schema)
{
    struct role_reading reading = {0};
    struct rondo_error err = {0};
    if (role_parse(text, len, "/roles/role.yaml", schema, &reading.findings, &reading.role, &err) <
        0) {
        fail_msg("%s", err.message);
    }
    assert_true((reading.role == NULL) == (role_findings_errors(&reading.findings) > 0));
    return reading;
}

static inline struct role_reading read_text(const char *text)
{
    return read_bytes(text, strlen(text), ROLE_SCHEMA_1_0);
}

static inline void reading_fini(struct role_reading *reading)
{
    role_free(reading->role);
    role_findings_fini(&reading->findings);
}

/** A text that must be right. */
static inline struct role_reading read_right(const char *text)
{
    struct role_reading reading = read_text(text);
    if (reading.role == NULL) {
        fail_msg("%s: %s\n%s", reading.findings.items[0].path, reading.findings.items[0].message,
                 text);
    }
    return reading;
}

static inline bool is_valid(const char *text)
{
    struct role_reading reading = read_text(text);
    bool is_right = reading.role != NULL;
    reading_fini(&reading);
    return is_right;
}

/** Follow a path of keys and indices ("spec.tools.0.type") into a normal form. */
static inline struct json_object *follow(struct json_object *root, const char *path)
{
    char *words = strdup(path);
    char *rest = words;
    struct json_object *at = root;
    for (char *word = strsep(&rest, "."); word != NULL; word = strsep(&rest, ".")) {
        struct json_object *next = NULL;
        if (json_object_is_type(at, json_type_array)) {
            next = json_object_array_get_idx(at, strtoul(word, NULL, 10));
        } else if (at == NULL || !json_object_object_get_ex(at, word, &next)) {
            free(words);
            return json_object_new_string("absent"); /* Leaks in failing tests only. */
        }
        at = next;
    }
    free(words);
    return at;
}

/** A value of the normal form as JSON. */
static inline void expect_normal(const struct role_reading *reading, const char *path,
                                 const char *json)
{
    struct json_object *value = follow(reading->role->normal, path);
    const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                                 JSON_C_TO_STRING_NOSLASHESCAPE);
    if (strcmp(text, json) != 0) {
        fail_msg("%s is %s, not %s", path, text, json);
    }
}

/** Whether a key is in the normal form at all. */
static inline bool has_normal(const struct role_reading *reading, const char *path, const char *key)
{
    struct json_object *object = follow(reading->role->normal, path);
    return json_object_object_get_ex(object, key, NULL);
}

/** Findings as lines "error 3:5 path: message". */
static inline void list_findings(const struct role_findings *findings, struct buf *ret_text)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct role_finding *item = &findings->items[i];
        buf_printf(ret_text, "%s %zu:%zu %s: %s\n", role_severity_name(item->severity), item->line,
                   item->column, item->path, item->message);
    }
}

/** Read a text that gives exactly these findings. */
static inline void expect_findings(const char *text, const char *expected)
{
    struct role_reading reading = read_text(text);
    struct buf lines = {0};
    list_findings(&reading.findings, &lines);
    assert_string_equal(buf_string(&lines), expected);
    buf_fini(&lines);
    reading_fini(&reading);
}
