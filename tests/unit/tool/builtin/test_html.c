// SPDX-License-Identifier: Apache-2.0
/* HTML to Markdown: what is kept, what is left out, what hostile pages do. */
#include "support/test.h"

#include "base/buf.h"
#include "tool/builtin/html.h"

#include <stdio.h>
#include <string.h>

static void expect(const char *html, const char *text)
{
    struct buf out = {0};
    html_to_markdown(html, strlen(html), 100000, &out);
    assert_string_equal(buf_string(&out), text);
    buf_fini(&out);
}

TEST(headings_paragraphs_and_blanks_are_kept)
{
    expect(
        "<html><head><title>T</title></head><body><h2>A &amp; B</h2><p>one\n  two</p><p>three</p>",
        "# T\n\n## A & B\n\none two\n\nthree");
    expect("a<br>b<div>c</div>d", "a\nb\nc\nd");
}

TEST(lists_links_and_marks_are_written)
{
    expect("<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>x", "- a\n- b\n  - c\n\nx");
    expect("see <a href='/x?a=1&amp;b=2'>the <b>page</b></a>.", "see [the **page**](/x?a=1&b=2).");
    expect("<a href=\"javascript:alert(1)\">x</a> <a href='#top'>y</a>", "x y");
    expect("<pre>a\n  b</pre>c", "```\na\n  b\n```\n\nc");
    expect("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a | b |\nc |");
}

TEST(scripts_styles_and_comments_are_left_out)
{
    expect("a<script>if (a<b) {}</script>b<style>p{}</style><!-- <p>x --> c", "ab c");
    expect("a<SCRIPT>x</script >b", "ab");
}

TEST(what_is_not_markup_is_text)
{
    expect("1 < 2 & 3 &#x41;&#66;&nosuch; &#xD800;", "1 < 2 & 3 AB&nosuch; \xef\xbf\xbd");
    expect("a\x01\xff"
           "b",
           "a\xef\xbf\xbd"
           "b");
    expect("<p", "");
    expect("a<b title=\"x>y\">c</b>", "a**c**");
}

TEST(the_text_is_bounded_between_characters)
{
    struct buf out = {0};
    const char *html = "\xc3\xa4\xc3\xa4\xc3\xa4";
    html_to_markdown(html, strlen(html), 5, &out);
    assert_string_equal(buf_string(&out), "\xc3\xa4\xc3\xa4");
    buf_clear(&out);
    html_to_markdown(html, strlen(html), 6, &out);
    assert_string_equal(buf_string(&out), html);
    buf_fini(&out);
}

TEST(deep_lists_and_open_tags_end_in_time)
{
    struct buf html = {0};
    struct buf out = {0};
    for (size_t i = 0; i < 20000; i++) {
        buf_append_string(&html, "<ul><li>a<b><a href=x><pre>");
    }
    html_to_markdown(buf_string(&html), html.len, 1000000, &out);
    assert_true(out.len <= 1000000);
    buf_fini(&html);
    buf_fini(&out);
}

TEST(elements_are_found_by_a_word_of_their_class)
{
    const char *html = "<p class='ab'>x</p><a class=\"z a\" href=u>y</a>";
    struct html_part tag;
    struct html_part content;
    struct buf href = {0};
    size_t at = html_find_class(html, strlen(html), 0, "a", &tag, &content);
    assert_true(at < strlen(html));
    assert_true(html_attribute(tag, "href", &href));
    assert_string_equal(buf_string(&href), "u");
    assert_memory_equal(content.data, "y</a>", content.len);
    assert_int_equal(html_find_class(html, strlen(html), at, "a", &tag, &content), strlen(html));
    buf_fini(&href);
}
