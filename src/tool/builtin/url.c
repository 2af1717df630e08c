// SPDX-License-Identifier: Apache-2.0
/* Pieces of URLs. Pure. */
#include "tool/builtin/url.h"

#include <string.h>
#include <strings.h>

static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789-._~";

void tool_url_escape(const char *text, const char *kept, struct buf *ret_text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (strchr(unreserved, *c) != NULL || strchr(kept, *c) != NULL) {
            buf_append(ret_text, c, 1);
        } else {
            buf_printf(ret_text, "%%%02X", *c);
        }
    }
}

/** Length of a dot at the beginning, also of an escaped one; 0 = there is none. */
static size_t dot_len(const char *text)
{
    if (text[0] == '.') {
        return 1;
    }
    return strncasecmp(text, "%2e", 3) == 0 ? 3 : 0;
}

/** The same of a slash; browsers and some servers take a backslash for one. */
static size_t slash_len(const char *text)
{
    if (text[0] == '/' || text[0] == '\\') {
        return 1;
    }
    return strncasecmp(text, "%2f", 3) == 0 || strncasecmp(text, "%5c", 3) == 0 ? 3 : 0;
}

static bool is_path_end(char c)
{
    return c == '\0' || c == '?' || c == '#';
}

/** Whether the segment that begins here is "..". */
static bool is_up(const char *segment)
{
    size_t one = dot_len(segment);
    size_t two = one > 0 ? dot_len(segment + one) : 0;
    const char *end = segment + one + two;
    return two > 0 && (is_path_end(*end) || slash_len(end) > 0);
}

bool tool_url_climbs(const char *path)
{
    bool is_start = true;
    while (!is_path_end(*path)) {
        if (is_start && is_up(path)) {
            return true;
        }
        size_t slash = slash_len(path);
        is_start = slash > 0;
        path += slash > 0 ? slash : 1;
    }
    return false;
}
