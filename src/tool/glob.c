// SPDX-License-Identifier: Apache-2.0
/*
 * Globs as Python's fnmatch reads them: characters, not bytes; no character quotes another; a `[`
 * without its `]` stands for itself; a range that runs backwards is empty. Pure.
 */
#include "tool/permission.h"

#include "base/text/utf8.h"

#include <stdint.h>
#include <string.h>

/* A byte that is no UTF-8 is a character of its own, beyond all others. */
#define BROKEN_BASE 0x110000U

static uint32_t next_character(const char **at)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *bytes = (const unsigned char *)*at;
    size_t len = utf8_sequence_len(*at, strnlen(*at, 4));
    if (len == 0) {
        *at += 1;
        return BROKEN_BASE + bytes[0];
    }
    uint32_t character = bytes[0] & first_bits[len];
    for (size_t i = 1; i < len; i++) {
        character = character << 6 | (bytes[i] & 0x3fU);
    }
    *at += len;
    return character;
}

/** End of the set that begins at `set` (after its `[`): its `]`, or NULL. */
static const char *set_end(const char *set)
{
    const char *at = set + (*set == '!' ? 1 : 0);
    return *at == '\0' ? NULL : strchr(at + (*at == ']' ? 1 : 0), ']');
}

static bool set_holds(const char *set, const char *end, uint32_t wanted)
{
    bool is_negated = *set == '!';
    bool is_found = false;
    const char *at = set + (is_negated ? 1 : 0);
    while (at < end) {
        uint32_t low = next_character(&at);
        uint32_t high = low;
        if (end - at >= 2 && *at == '-') {
            at++;
            high = next_character(&at);
        }
        is_found = is_found || (low <= wanted && wanted <= high);
    }
    return is_found != is_negated;
}

/** Match one character of the text with one element of the glob, which is not `*`. */
static bool match_one(const char **glob, const char **text)
{
    const char *set = *glob + 1;
    const char *end = **glob == '[' ? set_end(set) : NULL;
    uint32_t character = next_character(text);
    if (end != NULL) {
        *glob = end + 1;
        return set_holds(set, end, character);
    }
    bool is_any = **glob == '?';
    return next_character(glob) == character || is_any;
}

bool glob_matches(const char *glob, const char *text)
{
    const char *behind_star = NULL; /* the rest of the glob after the last `*` */
    const char *retry = NULL;       /* where that rest is tried next */
    while (*text != '\0') {
        if (*glob == '*') {
            behind_star = ++glob;
            retry = text;
        } else if (*glob == '\0' || !match_one(&glob, &text)) {
            if (behind_star == NULL) {
                return false;
            }
            next_character(&retry);
            glob = behind_star;
            text = retry;
        }
    }
    while (*glob == '*') {
        glob++;
    }
    return *glob == '\0';
}
