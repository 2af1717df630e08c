// SPDX-License-Identifier: Apache-2.0
/* Text for terminals: cleaning, measuring, cutting, wrapping. */
#include "cli/terminal/text.h"
#include "support/test.h"

#include "base/clock.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
    (void)state;
    return setlocale(LC_CTYPE, "C.UTF-8") == NULL;
}

static void clean(const char *text, size_t len, const char *wanted)
{
    auto_buf struct buf out = {0};
    text_clean(text, len, &out);
    assert_string_equal(buf_string(&out), wanted);
}

TEST(what_could_move_the_cursor_is_dropped)
{
    clean("a\033[2Jb", 6, "ab");
    clean("a\033[31;1mred\033[0m", 16, "ared");
    clean("\033]0;title\ab", 11, "b");
    clean("\033]0;title\033\\b", 12, "b");
    clean("\033Pq#0\033\\b", 8, "b");
    clean("a\rb\bc\177", 6, "abc");
    clean("a\xc2\x9b"
          "31mb",
          7, "a31mb");
    clean("a\tb\nc", 5, "a b c");
}

TEST(what_is_not_seen_or_turns_the_text_is_dropped)
{
    static const char *const hidden[] = {
        "\u200b", "\u200c", "\u200d", "\u200e", "\u200f",     "\u202a",     "\u202b",
        "\u202c", "\u202d", "\u202e", "\u2060", "\u2066",     "\u2067",     "\u2068",
        "\u2069", "\ufeff", "\u061c", "\u00ad", "\U000e0041", "\U000e0001", "\U000e007f",
        "\ufe0f", "\u180e", "\ufff9", "\u206a", "\U000e0100", "\u034f",
    };
    for (size_t i = 0; i < COUNT(hidden); i++) {
        char text[16];
        snprintf(text, sizeof(text), "a%sb", hidden[i]);
        clean(text, strlen(text), "ab");
    }
    clean("a\u00a0b\u2028c\u3000d", strlen("a\u00a0b\u2028c\u3000d"), "a b c d");
    clean("\u6f22\u00e9\u20ac\U0001f600", strlen("\u6f22\u00e9\u20ac\U0001f600"),
          "\u6f22\u00e9\u20ac\U0001f600");
}

TEST(line_ends_stay_where_lines_are_cleaned)
{
    auto_buf struct buf out = {0};
    static const char text[] = "a\n\tb\r\033[2J\u202ec\n";
    text_clean_lines(text, strlen(text), &out);
    assert_string_equal(buf_string(&out), "a\n\tbc\n");
}

TEST(hidden_characters_of_json_become_escapes)
{
    auto_buf struct buf out = {0};
    static const char text[] = "{\"a\":\"x\u202ey\U000e0041\u00e9\xc2\x9b\"}";
    text_escape_hidden(text, strlen(text), &out);
    assert_string_equal(buf_string(&out), "{\"a\":\"x\\u202ey\\udb40\\udc41\u00e9\\u009b\"}");
}

TEST(an_escape_sequence_that_is_cut_off_is_dropped)
{
    clean("a\033", 2, "a");
    clean("a\033[", 3, "a");
    clean("a\033[31", 5, "a");
    clean("a\033]0;title", 10, "a");
}

TEST(bytes_that_are_not_utf8_are_replaced)
{
    clean("a\xff"
          "b",
          3,
          "a\xef\xbf\xbd"
          "b");
    clean("\xe2\x82", 2, "\xef\xbf\xbd\xef\xbf\xbd");
    clean("a\0b", 3, "ab");
}

TEST(widths_are_those_on_the_screen)
{
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("abc"), 3);
    assert_int_equal(text_width("h\xc3\xa4"), 2);
    assert_int_equal(text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
    assert_int_equal(text_width("e\xcc\x81"), 1);
    assert_int_equal(text_width("\033[31mred\033[0m"), 3);
}

static void fit(const char *text, size_t columns, const char *wanted)
{
    auto_buf struct buf out = {0};
    text_fit(text, columns, &out);
    assert_string_equal(buf_string(&out), wanted);
    assert_true(text_width(buf_string(&out)) <= columns);
}

TEST(what_does_not_fit_is_cut_with_a_mark)
{
    fit("abcdef", 6, "abcdef");
    fit("abcdef", 5, "abcd\xe2\x80\xa6");
    fit("abcdef", 1, "\xe2\x80\xa6");
    fit("abcdef", 0, "");
}

TEST(a_wide_character_is_never_cut_in_half)
{
    fit("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 4, "\xe6\xbc\xa2\xe2\x80\xa6");
}

TEST(colours_are_ended_even_when_the_text_is_cut)
{
    fit("\033[31mabcdef\033[0m", 3, "\033[31mab\xe2\x80\xa6\033[0m");
}

TEST(wrapped_lines_are_indented_and_fit)
{
    auto_buf struct buf out = {0};
    text_wrap("one two three four", 2, 10, 2, &out);
    assert_string_equal(buf_string(&out), "one two\n  three\n  four");
}

TEST(own_line_ends_are_kept)
{
    auto_buf struct buf out = {0};
    text_wrap("one\n\ntwo", 2, 40, 2, &out);
    assert_string_equal(buf_string(&out), "one\n\n  two");
}

TEST(a_word_longer_than_the_line_stays_whole)
{
    auto_buf struct buf out = {0};
    text_wrap("a incomprehensibilities b", 0, 8, 0, &out);
    assert_string_equal(buf_string(&out), "a\nincomprehensibilities\nb");
}

TEST(numbers_are_written_for_people)
{
    static const struct {
        int64_t number;
        const char *text;
    } counts[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {-1234567, "-1,234,567"}};
    for (size_t i = 0; i < COUNT(counts); i++) {
        auto_buf struct buf out = {0};
        text_count(counts[i].number, &out);
        assert_string_equal(buf_string(&out), counts[i].text);
    }
}

TEST(money_has_two_decimals_or_as_many_as_it_needs)
{
    static const struct {
        int64_t micro;
        const char *text;
    } amounts[] = {
        {0, "0.00"}, {250000, "0.25"}, {1, "0.000001"}, {5000000, "5.00"}, {1234560, "1.23456"}};
    for (size_t i = 0; i < COUNT(amounts); i++) {
        auto_buf struct buf out = {0};
        text_money(amounts[i].micro, &out);
        assert_string_equal(buf_string(&out), amounts[i].text);
    }
}

TEST(sizes_and_ages_have_one_unit)
{
    auto_buf struct buf out = {0};
    text_bytes(1023, &out);
    text_bytes(1536, &out);
    text_bytes(UINT64_C(3145728), &out);
    assert_string_equal(buf_string(&out), "1023 B1.5 KiB3.0 MiB");
    buf_clear(&out);
    text_age(0, &out);
    text_age(59 * NS_PER_S, &out);
    text_age(7200 * NS_PER_S, &out);
    assert_string_equal(buf_string(&out), "now59 s ago2 h ago");
}

TEST(a_moment_is_said_from_now_on_or_back)
{
    const char *moment = "2026-11-21T06:22:28.604Z";
    int64_t then_ns = INT64_C(1795242148) * NS_PER_S;
    auto_buf struct buf out = {0};
    text_moment(moment, then_ns, &out);
    text_moment(moment, then_ns + 180 * NS_PER_S, &out);
    text_moment(moment, then_ns - 7200 * NS_PER_S, &out);
    text_moment("never", then_ns, &out);
    assert_string_equal(buf_string(&out), "now3 min agoin 2 hnever");
}

int main(void)
{
    return test_run(setup, NULL);
}
