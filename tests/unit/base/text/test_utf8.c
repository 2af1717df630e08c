// SPDX-License-Identifier: Apache-2.0
#include "base/text/utf8.h"

#include "support/test.h"

#include <string.h>

TEST(well_formed_sequences_have_their_length)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xee\x80\x80", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(utf8_sequence_len(cases[i].text, cases[i].len), cases[i].len);
        assert_int_equal(utf8_sequence_len(cases[i].text, cases[i].len + 1), cases[i].len);
    }
}

TEST(other_sequences_have_none)
{
    static const char *const texts[] = {
        "\x80",             /* continuation alone */
        "\xc0\x80",         /* overlong */
        "\xc1\xbf",         /* overlong */
        "\xe0\x9f\xbf",     /* overlong */
        "\xed\xa0\x80",     /* surrogate */
        "\xf0\x8f\xbf\xbf", /* overlong */
        "\xf4\x90\x80\x80", /* after U+10FFFF */
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc2",
        "\xe1\x80",
        "\xf1\x80\x80",
        "\xc2\x20",
        "\xe1\x80\x20",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(utf8_sequence_len(texts[i], strlen(texts[i])), 0);
    }
}
