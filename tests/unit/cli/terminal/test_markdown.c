// SPDX-License-Identifier: Apache-2.0
/* Markdown as lines: what is shown of each construct, at given widths, and what never is. */
#include "cli/terminal/markdown.h"
#include "support/test.h"

#include "base/limits.h"
#include "cli/terminal/text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const struct style grey = {.is_terminal = true, .is_unicode = true};
static const struct style ascii = {.is_terminal = true};
static const struct style colourful = {.is_terminal = true, .has_colour = true, .is_unicode = true};
static const struct style piped = {.is_unicode = true};

static void check(const struct style *style, size_t columns, const char *source,
                  const char *expected)
{
    auto_buf struct buf out = {0};
    markdown_render(source, strlen(source), style, columns, &out);
    assert_string_equal(buf_string(&out), expected);
}

TEST(words_are_wrapped_by_display_width)
{
    check(&grey, 12, "one two\nthree four", "one two\nthree four\n");
    check(&grey, 11, "one two\nthree four", "one two\nthree four\n");
    check(&grey, 10, "abc abc ab x", "abc abc ab\nx\n");
    check(&grey, 10, "漢字漢字漢字", "漢字漢字漢\n字\n");
    check(&grey, 10, "aaaaaaaaaaaaaa b", "aaaaaaaaaa\naaaa b\n");
}

TEST(a_hard_break_stays)
{
    check(&grey, 40, "one  \ntwo\\\nthree<br>four", "one\ntwo\nthree\nfour\n");
}

TEST(paragraphs_are_apart_and_nothing_is_around)
{
    check(&grey, 40, "\n\na\n\n\nb\n\n", "a\n\nb\n");
    check(&grey, 40, "", "");
    check(&grey, 40, "\n\n", "");
}

TEST(marks_become_colours)
{
    check(&colourful, 40, "a **b** *c* `d` ~~e~~",
          "a \033[1mb\033[0m \033[3mc\033[0m \033[36md\033[0m \033[9me\033[0m\n");
    check(&colourful, 40, "***x***", "\033[1;3mx\033[0m\n");
    check(&colourful, 40, "# A\n## B\n### C",
          "\033[1;4mA\033[0m\n\n\033[1mB\033[0m\n\n\033[1;3mC\033[0m\n");
}

TEST(without_colours_the_marks_of_the_source_stay)
{
    check(&grey, 40, "a **b** *c* `d` ~~e~~", "a **b** *c* `d` ~~e~~\n");
    check(&grey, 40, "## Title", "## Title\n");
}

TEST(colours_end_with_the_line_and_begin_anew)
{
    check(&colourful, 10, "**aaaa bbbb cccc**", "\033[1maaaa bbbb\033[0m\n\033[1mcccc\033[0m\n");
}

TEST(lists_nest_and_wrap_below_their_words)
{
    check(&grey, 16, "- one two three four\n  - inner\n- last",
          "• one two three\n  four\n  • inner\n• last\n");
    check(&ascii, 16, "- a", "- a\n");
    check(&grey, 20, "9. nine\n10. ten\n    - x", "9. nine\n10. ten\n    • x\n");
    check(&grey, 20, "1) a\n2) b", "1) a\n2) b\n");
}

TEST(loose_lists_have_blank_lines)
{
    check(&grey, 20, "text\n\n- a\n\n- b\n\nend", "text\n\n• a\n\n• b\n\nend\n");
    check(&grey, 20, "text\n- a\n- b\n\nend", "text\n\n• a\n• b\n\nend\n");
    check(&grey, 20, "- a\n\n  more\n- b", "• a\n\n  more\n\n• b\n");
}

TEST(task_lists_have_boxes)
{
    check(&grey, 20, "- [x] done\n- [ ] open", "[x] done\n[ ] open\n");
    check(&colourful, 20, "- [x] done", "\033[32m[x] \033[0mdone\n");
}

TEST(an_item_without_words_keeps_its_marker)
{
    check(&grey, 20, "- a\n-\n- c", "• a\n• \n• c\n");
}

TEST(code_blocks_are_kept_as_they_are)
{
    check(&grey, 40, "x\n```c\nif (a  <  b) {\n\treturn *c* ;\n\n}\n```\ny",
          "x\n\n    if (a  <  b) {\n        return *c* ;\n\n    }\n\ny\n");
    check(&grey, 20, "- a\n  ```\n  b\n  ```\n- c", "• a\n      b\n• c\n");
    check(&grey, 12, "```\n1234567890\n```", "    12345678\n    90\n");
}

TEST(a_code_block_that_is_not_closed_is_shown)
{
    check(&grey, 40, "```\nabc", "    abc\n");
}

TEST(quotes_have_a_bar)
{
    check(&grey, 12, "> one two three\n>\n> > b\n\nx", "│ one two\n│ three\n│\n│ │ b\n\nx\n");
    check(&ascii, 12, "> a", "> a\n");
}

TEST(links_show_where_they_lead)
{
    check(&grey, 60, "[docs](https://a.example/x)", "docs (https://a.example/x)\n");
    check(&grey, 60, "<https://a.example/x>", "https://a.example/x\n");
    check(&grey, 60, "<me@a.example>", "me@a.example\n");
    check(&grey, 60, "![a cat](cat.png)", "[image: a cat] (cat.png)\n");
    check(&colourful, 60, "[d](u)", "\033[4md\033[0m\033[2m (u)\033[0m\n");
    check(&grey, 60, "[d][r]\n\n[r]: http://r.example/?a&amp;b", "d (http://r.example/?a&b)\n");
}

TEST(a_rule_is_a_line)
{
    check(&ascii, 12, "a\n\n---\n\nb", "a\n\n------------\n\nb\n");
    check(&ascii, 90, "***", "----------------------------------------\n");
}

TEST(html_is_shown_as_text)
{
    check(&grey, 60, "<div onclick=x>\nhi <b>there</b>\n</div>",
          "<div onclick=x> hi <b>there</b> </div>\n");
}

TEST(tables_are_aligned)
{
    const char *source = "| Name | Count | Mid |\n|:-----|------:|:---:|\n| ab | 7 | x |\n"
                         "| 漢字 | 1,234 | **y** |";
    check(&grey, 60, source,
          "Name │ Count │  Mid\n"
          "─────┼───────┼──────\n"
          "ab   │     7 │   x\n"
          "漢字 │ 1,234 │ **y**\n");
}

TEST(wide_tables_are_wrapped_within_their_columns)
{
    check(&ascii, 22, "|a|description|\n|---|---|\n|1|some words that are long|",
          "a  | description\n"
          "---+------------------\n"
          "1  | some words that\n"
          "   | are long\n");
}

TEST(tables_that_cannot_be_narrow_enough_become_lists)
{
    check(&grey, 12, "|aaaa|bbbb|cccc|\n|---|---|---|\n|11111111|2|3|\n|4|5|6|",
          "aaaa:\n11111111\nbbbb: 2\ncccc: 3\n\naaaa: 4\nbbbb: 5\ncccc: 6\n");
}

TEST(a_pipe_passes_the_source_through)
{
    check(&piped, 10, "# A *b* that is rather long\n\n\tx\n",
          "# A *b* that is rather long\n\n\tx\n");
    check(&piped, 10, "a\033[31mb\r\nc\x07", "ab\nc\n");
    check(&piped, 10, "", "");
}

TEST(escape_sequences_never_come_through)
{
    check(&grey, 60, "a \033[2Jb \033]0;title\007c \x9b d", "a b c \xef\xbf\xbd d\n");
    check(&grey, 60, "```\n\033[1mx\033[0m\x01\n```", "    x\n");
    check(&grey, 60, "&#27;[2J &#x1b; &#155; &#7; &#0; &#x110000; &#xd800;",
          "\xef\xbf\xbd[2J \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd "
          "\xef\xbf\xbd\n");
    check(&grey, 60, "[x](a&#27;b)",
          "x (a\xef\xbf\xbd"
          "b)\n");
    check(&grey, 60, "a \xe2\x80\xae b &#x202e;", "a b \xef\xbf\xbd\n");
}

TEST(entities_become_characters)
{
    check(&grey, 60, "&lt;a&gt; &amp; &#8212; &#x41; &hellip; &nosuch;",
          "<a> & \xe2\x80\x94 A \xe2\x80\xa6 &nosuch;\n");
}

static char *repeat(const char *part, size_t count)
{
    struct buf out = {0};
    for (size_t i = 0; i < count; i++) {
        buf_append_string(&out, part);
    }
    return buf_steal(&out);
}

static size_t rendered_len(const char *source, size_t columns)
{
    auto_buf struct buf out = {0};
    markdown_render(source, strlen(source), &colourful, columns, &out);
    return out.len;
}

TEST(a_text_at_the_limit_is_laid_out_and_one_past_it_is_shown_as_it_is)
{
    auto_buf struct buf source = {0};
    buf_append_string(&source, "**a** ");
    while (source.len < LIMIT_MARKDOWN_BYTES) {
        buf_append_string(&source, "b");
    }
    auto_buf struct buf out = {0};
    markdown_render(source.data, source.len, &grey, 100000, &out);
    assert_memory_equal(out.data, "**a** b", 7);
    buf_clear(&out);
    markdown_render(source.data, source.len, &colourful, 100000, &out);
    assert_memory_equal(out.data, "\033[1ma\033[0m b", 10);
    buf_append_string(&source, "b");
    buf_clear(&out);
    markdown_render(source.data, source.len, &colourful, 100000, &out);
    assert_memory_equal(out.data, "**a** b", 7);
}

TEST(what_nests_or_repeats_beyond_reason_stays_bounded)
{
    static const struct {
        const char *before, *part;
        size_t count;
    } cases[] = {
        {"", "> ", 20000},      {"", "- ", 20000},    {"", "*a ", 20000},  {"", "[", 60000},
        {"", "](", 30000},      {"", "![", 30000},    {"", "`a``", 15000}, {"", "a **b", 12000},
        {"|a", "|a", 20000},    {"", "1. \n", 15000}, {"", "<a ", 20000},  {"", "&amp;", 13000},
        {"", "---\n\n", 13000}, {"", "\t>", 30000},   {"", "~~a ", 16000}, {"", "***a", 16000},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf source = {0};
        char *rest = repeat(cases[i].part, cases[i].count);
        buf_append_string(&source, cases[i].before);
        buf_append_string(&source, rest);
        free(rest);
        assert_true(rendered_len(buf_string(&source), 80) < 100 * source.len + 65536);
    }
}

TEST(a_target_that_is_repeated_shows_the_source)
{
    auto_buf struct buf source = {0};
    char *target = repeat("x", 2000);
    char *links = repeat("\n[y]", 2000);
    buf_printf(&source, "[y]: %s\n%s", target, links);
    assert_true(rendered_len(source.data, 80) < 2 * source.len);
    free(target);
    free(links);
}

TEST(a_table_of_too_many_columns_or_cells_shows_the_source)
{
    auto_buf struct buf wide = {0};
    char *heads = repeat("|a", 65);
    char *rule = repeat("|---", 65);
    buf_printf(&wide, "%s\n%s\n%s", heads, rule, heads);
    auto_buf struct buf out = {0};
    markdown_render(wide.data, wide.len, &grey, 1000, &out);
    assert_memory_equal(out.data, "|a|a|a", 6);
    free(heads);
    free(rule);
    auto_buf struct buf tall = {0};
    char *rows = repeat("|x\n", 8192);
    buf_printf(&tall, "|a|b|\n|---|---|\n%s", rows);
    free(rows);
    buf_clear(&out);
    markdown_render(tall.data, tall.len, &grey, 80, &out);
    assert_memory_equal(out.data, "|a|b|\n", 6);
}

TEST(no_line_is_wider_than_asked_for)
{
    const char *source =
        "# A title that is long\n\n> - one two three\n>   1. four `five six`\n>      ```\n"
        ">      code that is long\n>      ```\n\n| a | b | c |\n|---|---|---|\n| word | 漢字漢字 | "
        "another one |\n\n***\n\n[link](http://a.example/very/long/path/with/parts)\n";
    for (size_t columns = MARKDOWN_COLUMNS_MIN; columns < 100; columns++) {
        auto_buf struct buf out = {0};
        markdown_render(source, strlen(source), &colourful, columns, &out);
        char *rest = NULL;
        for (char *line = strtok_r(out.data, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            assert_in_range(text_width(line), 0, columns);
        }
    }
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return test_run(NULL, NULL);
}
