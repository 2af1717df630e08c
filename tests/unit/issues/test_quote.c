// SPDX-License-Identifier: Apache-2.0
#include "issues/quote.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

static void check(const char *text, const char *title, const char *line)
{
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    quote_title(text, 200, &first);
    quote_line(text, 200, &second);
    if (strcmp(buf_string(&first), title) != 0 || strcmp(buf_string(&second), line) != 0) {
        fail_msg("'%s' became '%s' and '%s'", text, buf_string(&first), buf_string(&second));
    }
}

TEST(what_a_forge_acts_on_is_broken_and_what_markdown_acts_on_is_escaped)
{
    static const struct {
        const char *text, *title, *line;
    } cases[] = {
        {"Fix the total", "Fix the total", "Fix the total"},
        {"@ann and @org/team", "@ ann and @ org/team", "@ ann and @ org/team"},
        {"a@_b @-c @.d", "a@ _b @ -c @ .d", "a@ \\_b @ -c @ .d"},
        {"@ x @", "@ x @", "@ x @"},
        {"Fixes #1, closes a/b#2", "Fixes # 1, closes a/b# 2", "Fixes \\# 1, closes a/b\\# 2"},
        {"C# #x", "C# #x", "C\\# \\#x"},
        {"!7 &8", "! 7 & 8", "\\! 7 \\& 8"},
        {"&#64;all &#35;1", "&# 64;all &# 35;1", "\\&\\# 64;all \\&\\# 35;1"},
        {"GH-5 gh-6 (Gh-7", "GH- 5 gh- 6 (Gh- 7", "GH- 5 gh- 6 (Gh- 7"},
        {"laugh-5 gh-x", "laugh-5 gh-x", "laugh-5 gh-x"},
        {"closes https://x/o/r/issues/12", "closes https://x/o/r/issues/ 12",
         "closes https://x/o/r/issues/ 12"},
        {"https://x/o/r/-/Merge_Requests/1", "https://x/o/r/-/Merge_Requests/ 1",
         "https://x/o/r/-/Merge\\_Requests/ 1"},
        {"x/pull/3 x/pulls/4", "x/pull/ 3 x/pulls/ 4", "x/pull/ 3 x/pulls/ 4"},
        {"/issues/ /issues", " /issues/ /issues", " /issues/ /issues"},
        {"/close", " /close", " /close"},
        {"a\n/close\r\n/assign", "a /close /assign", "a /close /assign"},
        {"<b>*x*</b> [l](u) `c` |", "<b>*x*</b> [l](u) `c` |",
         "\\<b\\>\\*x\\*\\</b\\> \\[l\\](u) \\`c\\` \\|"},
        {"<!-- x -->", "<!-- x -->", "\\<\\!-- x --\\>"},
        {"a\\@b", "a\\@ b", "a\\\\@ b"},
        {"@\xe2\x80\x8b"
         "ann #\xf3\xa0\x80\xb1"
         "5",
         "@ ann # 5", "@ ann \\# 5"},
        {"", "", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        check(cases[i].text, cases[i].title, cases[i].line);
    }
}

TEST(a_title_is_at_most_as_long_as_allowed_whatever_was_broken)
{
    auto_buf struct buf exact = {0};
    auto_buf struct buf cut = {0};
    quote_title("1234567890", 10, &exact);
    assert_string_equal(buf_string(&exact), "1234567890");
    quote_title("@a@a@a@a@a", 10, &cut);
    assert_string_equal(buf_string(&cut), "@ a@ a@...");
}

TEST(every_line_of_a_block_is_quoted)
{
    auto_buf struct buf text = {0};
    quote_block("one\n/close\n\n# two\r\n```\n@ann", 1000, &text);
    assert_string_equal(buf_string(&text),
                        "> one\n>  /close\n> \n> \\# two\n> \\`\\`\\`\n> @ ann\n");
}

TEST(a_block_is_cut_at_its_limit_and_says_so)
{
    auto_buf struct buf whole = {0};
    auto_buf struct buf cut = {0};
    quote_block("a\xc3\xa9", 3, &whole);
    assert_string_equal(buf_string(&whole), "> a\xc3\xa9\n");
    quote_block("a\xc3\xa9", 2, &cut);
    assert_string_equal(buf_string(&cut), "> a\n> ...\n");
}

TEST(an_output_cannot_end_its_fence)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"ok\n", "```text\nok\n```\n"},
        {"ok", "```text\nok\n```\n"},
        {"", "```text\n\n```\n"},
        {"a\n```\n@ann\n", "````text\na\n```\n@ ann\n````\n"},
        {"``````", "```````text\n``````\n```````\n"},
        {"~~~\n</details>\n", "```text\n~~~\n</details>\n```\n"},
        {"/close\nFixes #1\n", "```text\n /close\nFixes # 1\n```\n"},
        {"\033[31mred\033[0m\r\n\xe2\x80\xae"
         "x",
         "```text\nred\nx\n```\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf text = {0};
        quote_output(cases[i].text, 1000, &text);
        assert_string_equal(buf_string(&text), cases[i].shown);
    }
}

TEST(the_end_of_an_output_is_kept_from_a_line_on)
{
    static const struct {
        const char *text;
        size_t most;
        const char *shown;
    } cases[] = {
        {"one\ntwo\n", 8, "```text\none\ntwo\n```\n"},
        {"one\ntwo\n", 7, "```text\n...\ntwo\n```\n"},
        {"one\ntwo\n", 5, "```text\n...\ntwo\n```\n"},
        {"\xc3\xa9\xc3\xa9", 3, "```text\n...\n\xc3\xa9\n```\n"},
        {"x/close", 6, "```text\n...\n /close\n```\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf text = {0};
        quote_output(cases[i].text, cases[i].most, &text);
        assert_string_equal(buf_string(&text), cases[i].shown);
    }
}
