// SPDX-License-Identifier: Apache-2.0
/* Classes of characters, hexadecimal digits, tokens, base64, and UTF-8 that is written. */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "support/test.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

TEST(classes_are_those_of_the_c_locale)
{
    for (int i = CHAR_MIN; i <= CHAR_MAX; i++) {
        char c = (char)i;
        unsigned char byte = (unsigned char)c;
        assert_int_equal(ascii_is_digit(c), isdigit(byte) != 0);
        assert_int_equal(ascii_is_letter(c), isalpha(byte) != 0);
        assert_int_equal(ascii_is_letter_or_digit(c), isalnum(byte) != 0);
        assert_int_equal(ascii_is_graphic(c), isgraph(byte) != 0);
        assert_int_equal(ascii_is_space(c), isspace(byte) != 0);
        assert_int_equal((unsigned char)ascii_lower(c), tolower(byte));
        assert_int_equal((unsigned char)ascii_upper(c), toupper(byte));
        assert_int_equal(ascii_hex_value(c) >= 0, isxdigit(byte) != 0);
    }
}

TEST(hexadecimal_digits_have_their_values)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    for (int i = 0; digits[i] != '\0'; i++) {
        assert_int_equal(ascii_hex_value(digits[i]), i < 16 ? i : i - 6);
    }
    assert_int_equal(ascii_hex_byte("fF"), 255);
    assert_int_equal(ascii_hex_byte("09"), 9);
    assert_int_equal(ascii_hex_byte(""), -1);
    assert_int_equal(ascii_hex_byte("1"), -1);
    assert_int_equal(ascii_hex_byte("g1"), -1);
}

TEST(tokens_have_no_separators)
{
    assert_true(ascii_is_token("x-Rondo_1!~"));
    assert_false(ascii_is_token(""));
    assert_false(ascii_is_token(NULL));
    assert_false(ascii_is_token("a b"));
    assert_false(ascii_is_token("a:"));
    assert_false(ascii_is_token("\xc3\xa4"));
}

TEST(code_points_are_written_in_the_shortest_form)
{
    static const uint32_t points[] = {0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff};
    static const size_t lens[] = {1, 2, 2, 3, 3, 4, 4};
    for (size_t i = 0; i < COUNT(points); i++) {
        auto_buf struct buf text = {0};
        utf8_append(&text, points[i]);
        assert_int_equal(text.len, lens[i]);
        assert_int_equal(utf8_sequence_len(text.data, text.len), lens[i]);
    }
}

TEST(base64_goes_there_and_back)
{
    static const char *const encoded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE="};
    for (size_t len = 0; len < COUNT(encoded); len++) {
        unsigned char bytes[6];
        size_t got = 99;
        auto_buf struct buf text = {0};
        base64_encode("fooba", len, &text);
        assert_string_equal(buf_string(&text), encoded[len]);
        assert_true(base64_decode(encoded[len], bytes, sizeof(bytes), &got));
        assert_int_equal(got, len);
        assert_memory_equal(bytes, "fooba", len);
    }
}

TEST(what_is_no_base64_or_does_not_fit_is_refused)
{
    static const char *const texts[] = {"Z",    "Zg",       "Zg=",  "Zg==\n", " Zg==",    "Z===",
                                        "====", "Zg==Zg==", "Z=g=", "Zg=a",   "Zm9vYmFy", "Zm-_"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        unsigned char bytes[5];
        size_t len = 0;
        if (base64_decode(texts[i], bytes, sizeof(bytes), &len)) {
            fail_msg("%s", texts[i]);
        }
    }
}
