// SPDX-License-Identifier: Apache-2.0
/* Matching paths segment by segment. */
#include "server/router.h"

#include "base/ascii.h"
#include "base/text/utf8.h"

#include <stdio.h>
#include <string.h>

static bool is_clean(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        unsigned char c = (unsigned char)text[at];
        size_t sequence = utf8_sequence_len(text + at, len - at);
        if (sequence == 0 || c < 0x20 || c == 0x7f || c == '/' || c == '\\') {
            return false;
        }
        at += sequence;
    }
    return true;
}

bool route_decode(const char *text, size_t len, char *ret_text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            c = len - i > 2 ? ascii_hex_byte(text + i + 1) : -1;
            if (c < 0) {
                return false;
            }
            i += 2;
        }
        if (used + 1 >= size) {
            return false;
        }
        ret_text[used++] = (char)c;
    }
    ret_text[used] = '\0';
    bool is_dots = strcmp(ret_text, ".") == 0 || strcmp(ret_text, "..") == 0;
    return used > 0 && !is_dots && is_clean(ret_text, used);
}

bool route_list_has(const char *list, const char *word)
{
    size_t len = strlen(word);
    while (list != NULL && *list != '\0' && len > 0) {
        size_t item = strcspn(list, ",");
        if (item == len && memcmp(list, word, len) == 0) {
            return true;
        }
        list += item + (list[item] == ',');
    }
    return false;
}

/** Take one segment of a pattern and a path. @return whether they fit */
static bool take_segment(const char *pattern, size_t pattern_len, const char *path, size_t path_len,
                         struct route_match *match)
{
    if (pattern_len == 0 || pattern[0] != '{') {
        return pattern_len == path_len && memcmp(pattern, path, path_len) == 0;
    }
    if (match->count == ROUTE_VALUES) {
        return false;
    }
    snprintf(match->values[match->count].name, sizeof(match->values[0].name), "%.*s",
             (int)pattern_len - 2, pattern + 1);
    return route_decode(path, path_len, match->values[match->count++].value, ROUTE_VALUE_SIZE);
}

static bool fits(const char *pattern, const char *path, struct route_match *match)
{
    match->count = 0;
    for (;;) {
        if (*pattern != '/' || *path != '/') {
            return *pattern == '\0' && *path == '\0';
        }
        pattern++;
        path++;
        size_t pattern_len = strcspn(pattern, "/");
        size_t path_len = strcspn(path, "/");
        if (!take_segment(pattern, pattern_len, path, path_len, match)) {
            return false;
        }
        pattern += pattern_len;
        path += path_len;
    }
}

static void allow(struct route_match *match, const char *method)
{
    size_t len = strlen(match->allow);
    bool is_get = strcmp(method, "GET") == 0;
    snprintf(match->allow + len, sizeof(match->allow) - len, "%s%s%s", len > 0 ? ", " : "", method,
             is_get ? ", HEAD" : "");
}

enum route_outcome router_match(const struct route *table, const char *method, const char *path,
                                struct route_match *ret_match)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    *ret_match = (struct route_match){0};
    for (const struct route *route = table; route->operation != NULL; route++) {
        if (!fits(route->pattern, path, ret_match)) {
            continue;
        }
        if (strcmp(route->method, wanted) == 0) {
            ret_match->route = route;
            return ROUTE_FOUND;
        }
        allow(ret_match, route->method);
    }
    ret_match->count = 0;
    return ret_match->allow[0] == '\0' ? ROUTE_UNKNOWN : ROUTE_OTHER_METHOD;
}

const char *route_value(const struct route_match *match, const char *name)
{
    for (size_t i = 0; i < match->count; i++) {
        if (strcmp(match->values[i].name, name) == 0) {
            return match->values[i].value;
        }
    }
    return NULL;
}
