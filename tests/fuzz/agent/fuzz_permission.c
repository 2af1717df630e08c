// SPDX-License-Identifier: Apache-2.0
/*
 * Permissions: the first line of the input is a glob, the second the permissions of an entry, the
 * rest the arguments of a call. Globs without sets are compared with a matcher that is too simple
 * to be wrong; an answer of permissions comes from the lists.
 */
#include "../fuzz.h"

#include "base/json/json.h"
#include "base/text/utf8.h"
#include "tool/permission.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <string.h>

/** The simple matcher takes exponential time. */
#define SIMPLE_MAX 12

static size_t character_len(const char *text)
{
    size_t len = utf8_sequence_len(text, strnlen(text, 4));
    return len == 0 ? 1 : len;
}

static bool matches_simply(const char *glob, const char *text)
{
    if (*glob == '\0' || *text == '\0') {
        return *glob == *text || (*glob == '*' && matches_simply(glob + 1, text));
    }
    if (*glob == '*') {
        return matches_simply(glob + 1, text) || matches_simply(glob, text + character_len(text));
    }
    size_t len = character_len(text);
    if (*glob == '?') {
        return matches_simply(glob + 1, text + len);
    }
    return character_len(glob) == len && memcmp(glob, text, len) == 0 &&
           matches_simply(glob + len, text + len);
}

static void check_glob(const char *glob, const char *text)
{
    bool matches = glob_matches(glob, text);
    if (strlen(glob) <= SIMPLE_MAX && strlen(text) <= SIMPLE_MAX && strchr(glob, '[') == NULL) {
        FUZZ_CHECK(matches == matches_simply(glob, text));
    }
    FUZZ_CHECK(glob_matches("*", text));
}

static bool is_in_list(struct json_object *permissions, const char *rule)
{
    struct json_object *list = NULL;
    json_object_object_get_ex(permissions, "deny", &list);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_string) && json_object_get_string(item) == rule) {
            return true;
        }
    }
    return false;
}

static void check_permissions(struct json_object *permissions, struct json_object *arguments)
{
    const char *rule = "untouched";
    bool is_allowed = permission_allows(permissions, arguments, &rule);
    FUZZ_CHECK(!is_allowed || rule == NULL);
    FUZZ_CHECK(rule == NULL || is_in_list(permissions, rule));
}

/** Cut a line off. @return the rest */
static char *cut_line(char *text)
{
    char *end = strchr(text, '\n');
    if (end == NULL) {
        return text + strlen(text);
    }
    *end = '\0';
    return end + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *glob = fuzz_text(data, size);
    char *permissions_text = cut_line(glob);
    char *arguments_text = cut_line(permissions_text);
    struct json_object *permissions = NULL;
    struct json_object *arguments = NULL;
    check_glob(glob, arguments_text);
    check_glob(glob, permissions_text);
    if (json_parse(permissions_text, strlen(permissions_text), &permissions, NULL) == 0 &&
        json_parse(arguments_text, strlen(arguments_text), &arguments, NULL) == 0 &&
        json_object_is_type(permissions, json_type_object) &&
        json_object_is_type(arguments, json_type_object)) {
        check_permissions(permissions, arguments);
    }
    json_object_put(permissions);
    json_object_put(arguments);
    free(glob);
    return 0;
}
