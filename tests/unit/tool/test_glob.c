// SPDX-License-Identifier: Apache-2.0
/* Globs: the answers are those of Python's fnmatch.fnmatchcase. */
#include "tool/permission.h"

#include "tool_world.h"

struct glob_sample {
    const char *glob;
    const char *text;
    bool matches;
};

static const struct glob_sample samples[] = {
    {"", "", true},
    {"", "a", false},
    {"*", "", true},
    {"*", "a\nb", true},
    {"**", "x", true},
    {"a*c", "abbbc", true},
    {"a*c", "abbbd", false},
    {"*.md", "notes.md", true},
    {"*.md", "notes.md\n", false},
    {"a?c", "abc", true},
    {"a?c", "ac", false},
    {"?", "\xC3\xA4", true},
    {"??", "\xC3\xA4", false},
    {"[abc]", "b", true},
    {"[!abc]", "b", false},
    {"[!abc]", "d", true},
    {"[a-c]x", "bx", true},
    {"[a-c]x", "dx", false},
    {"[c-a]", "b", false},
    {"[!c-a]", "b", true},
    {"[]]", "]", true},
    {"[!]]", "]", false},
    {"[]-a]", "^", true},
    {"[a-]", "-", true},
    {"[-a]", "-", true},
    {"[a-c-e]", "d", false},
    {"[a-c-e]", "-", true},
    {"[\xC3\xA4-\xC3\xB6]", "\xC3\xA5", true},
    {"[^a]", "^", true},
    {"[^a]", "b", false},
    {"[", "[", true},
    {"[a", "[a", true},
    {"[!", "[!", true},
    {"[!]", "[!]", true},
    {"[]", "[]", true},
    {"\\*", "\\x", true},
    {"\\*", "*", false},
    {"A", "a", false},
    {"*a*b*c*", "xxaxxbxxcxx", true},
    {"*a*b*c*", "xxaxxcxxbxx", false},
};

TEST(globs_match_as_in_python)
{
    for (size_t i = 0; i < COUNT(samples); i++) {
        if (glob_matches(samples[i].glob, samples[i].text) != samples[i].matches) {
            fail_msg("%s on %s is not %d", samples[i].glob, samples[i].text, samples[i].matches);
        }
    }
}

TEST(a_glob_of_many_stars_is_not_exponential)
{
    char glob[201];
    char text[10001];
    for (size_t i = 0; i < 100; i++) {
        memcpy(glob + 2 * i, "*a", 2);
    }
    glob[200] = '\0';
    memset(text, 'a', 10000);
    text[9999] = 'b';
    text[10000] = '\0';
    assert_false(glob_matches(glob, text));
}
