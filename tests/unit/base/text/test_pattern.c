// SPDX-License-Identifier: Apache-2.0
/* Regular expressions: Python's syntax, what they find, and the limits of a search. */
#include "support/test.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pattern *compiled(const char *text)
{
    struct pattern *pattern = NULL;
    struct rondo_error err = {0};
    if (pattern_compile(text, strlen(text), &pattern, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    return pattern;
}

static enum pattern_outcome search(const char *expression, const char *text)
{
    struct pattern *pattern = compiled(expression);
    enum pattern_outcome outcome = pattern_search(pattern, text, strlen(text));
    pattern_free(pattern);
    return outcome;
}

static void expect_refused(const char *expression, const char *why)
{
    struct pattern *pattern = NULL;
    struct rondo_error err = {0};
    int r = pattern_compile(expression, strlen(expression), &pattern, &err);
    assert_int_equal(r, RONDO_ERR_INVALID);
    assert_null(pattern);
    assert_non_null(strstr(err.message, why));
}

static void expect_replaced(const char *expression, const char *text, const char *expected)
{
    auto_buf struct buf out = {0};
    struct pattern *pattern = compiled(expression);
    enum pattern_outcome outcome = pattern_replace(pattern, text, strlen(text), "[FILTERED]", &out);
    assert_int_equal(outcome, strcmp(text, expected) == 0 ? PATTERN_ABSENT : PATTERN_FOUND);
    assert_string_equal(buf_string(&out), expected);
    pattern_free(pattern);
}

/** A text of `len` times the same letter. */
static char *repeated(char letter, size_t len)
{
    char *text = memory_new(len + 1);
    memset(text, letter, len);
    text[len] = '\0';
    return text;
}

TEST(a_pattern_is_found_anywhere_regardless_of_case)
{
    assert_int_equal(search("ignore.*instructions", "Please IGNORE all instructions."),
                     PATTERN_FOUND);
    assert_int_equal(search("ignore.*instructions", "Ignore\nthe instructions"), PATTERN_ABSENT);
    assert_int_equal(search("(?s)ignore.*instructions", "Ignore\nthe instructions"), PATTERN_FOUND);
    assert_int_equal(search("gr\xc3\xbc\xc3\x9f", "GR\xc3\x9c\xc3\x9f Gott"), PATTERN_FOUND);
    assert_int_equal(search("^$", ""), PATTERN_FOUND);
}

TEST(classes_and_word_boundaries_know_all_scripts_as_in_python)
{
    assert_int_equal(search("^\\w+$", "\xc3\xa4\xd0\xb6\xe4\xb8\xad"), PATTERN_FOUND);
    assert_int_equal(search("^\\d+$", "\xd9\xa3\xd9\xa4"), PATTERN_FOUND);
    assert_int_equal(search("a\\b", "a\xc3\xa4"), PATTERN_ABSENT);
}

TEST(what_means_something_else_to_pcre2_means_what_it_means_to_python)
{
    assert_int_equal(search("end\\Z", "the end"), PATTERN_FOUND);
    assert_int_equal(search("end\\Z", "the end\n"), PATTERN_ABSENT);
    assert_int_equal(search("end$", "the end\n"), PATTERN_FOUND);
    assert_int_equal(search("a\\vb", "a\vb"), PATTERN_FOUND);
    assert_int_equal(search("a\\vb", "a\nb"), PATTERN_ABSENT);
    assert_int_equal(search("\\u00e4\\U0001F600", "\xc3\xa4\xf0\x9f\x98\x80"), PATTERN_FOUND);
    assert_int_equal(search("^a{,2}$", "aa"), PATTERN_FOUND);
    assert_int_equal(search("^a{,2}$", "aaa"), PATTERN_ABSENT);
    assert_int_equal(search("^[]x]$", "]"), PATTERN_FOUND);
    assert_int_equal(search("^[[:alpha:]]$", "b"), PATTERN_ABSENT);
    assert_int_equal(search("^[[:alpha:]]$", "a]"), PATTERN_FOUND);
    assert_int_equal(search("(?iu)A", "a"), PATTERN_FOUND);
    assert_int_equal(search("(?u)a", "a"), PATTERN_FOUND);
    assert_int_equal(search("(?P<q>['\"]).*(?P=q)", "say \"it\""), PATTERN_FOUND);
}

TEST(what_is_no_expression_of_python_is_refused)
{
    expect_refused("(", "parenthesis");
    expect_refused("[a", "]");
    expect_refused("a\\", "\\");
    expect_refused("*a", "quantifier");
    expect_refused("(*LIMIT_MATCH=1)a", "nothing to repeat");
    expect_refused("(*NO_START_OPT)a", "nothing to repeat");
    expect_refused("\\Qa", "\\Q is not an escape");
    expect_refused("a\\Kb", "\\K is not an escape");
    expect_refused("[\\Z]", "\\Z is not an escape");
    expect_refused("\\x4", "needs 2");
    expect_refused("(?C1)a", "not a kind of group");
    expect_refused("(?R)", "not a kind of group");
    expect_refused("\xff", "UTF-8");
}

TEST(a_pattern_has_a_limit_of_bytes)
{
    struct pattern *pattern = NULL;
    struct rondo_error err = {0};
    auto_free char *text = repeated('a', LIMIT_PATTERN_BYTES + 1);
    assert_int_equal(pattern_compile(text, LIMIT_PATTERN_BYTES, &pattern, &err), 0);
    pattern_free(pattern);
    assert_int_equal(pattern_compile(text, LIMIT_PATTERN_BYTES + 1, &pattern, &err),
                     RONDO_ERR_INVALID);
}

TEST(each_occurrence_is_replaced)
{
    expect_replaced("password\\s*[:=]", "Password: x, PASSWORD =y", "[FILTERED] x, [FILTERED]y");
    expect_replaced("x", "abc", "abc");
    expect_replaced("x", "", "");
    expect_replaced("a+", "aaa", "[FILTERED]");
    expect_replaced("x*", "ax", "[FILTERED]a[FILTERED][FILTERED]");
    expect_replaced("|secret", "a secret", "[FILTERED]a[FILTERED] [FILTERED][FILTERED][FILTERED]");
    expect_replaced("(?<=key )\\w+", "key one, key two", "key [FILTERED], key [FILTERED]");
}

TEST(nested_repeats_are_undecided_instead_of_endless)
{
    auto_free char *text = repeated('a', 5000);
    text[4999] = '!';
    assert_int_equal(search("^(a+)+$", text), PATTERN_UNDECIDED);
    assert_int_equal(search("^(a|aa)+$", text), PATTERN_UNDECIDED);
}

TEST(a_scan_from_each_position_to_the_end_is_undecided_in_a_long_text)
{
    size_t len = 50000;
    auto_free char *text = repeated('a', len);
    auto_buf struct buf out = {0};
    struct pattern *scan = compiled("[a-z]+[0-9]");
    assert_int_equal(pattern_search(scan, text, 2000), PATTERN_ABSENT);
    assert_int_equal(pattern_search(scan, text, len), PATTERN_UNDECIDED);
    assert_int_equal(pattern_replace(scan, text, len, "", &out), PATTERN_UNDECIDED);
    pattern_free(scan);
}

TEST(usual_patterns_are_decided_in_a_long_text)
{
    size_t len = LIMIT_MODEL_REPLY_BYTES;
    auto_free char *text = memory_new(len);
    for (size_t i = 0; i < len; i++) {
        text[i] = i % 71 == 70 ? '\n' : i % 6 == 5 ? ' ' : "word7"[i % 5];
    }
    static const char *const patterns[] = {
        "ignore.*instructions", "\\b\\d{3}-\\d{2}-\\d{4}\\b",
        "(?i)password\\s*[:=]", "[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}",
        "you are now (a|an) ",
    };
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct pattern *pattern = compiled(patterns[i]);
        assert_int_equal(pattern_search(pattern, text, len), PATTERN_ABSENT);
        pattern_free(pattern);
    }
}

TEST(a_text_that_is_not_utf8_is_undecided)
{
    assert_int_equal(search("a", "b\xff"), PATTERN_UNDECIDED);
    assert_int_equal(search("a", "\xed\xa0\x80"), PATTERN_UNDECIDED);
}

TEST(bytes_of_any_value_are_searched)
{
    struct pattern *pattern = NULL;
    struct rondo_error err = {0};
    assert_int_equal(pattern_compile("a\0b", 3, &pattern, &err), 0);
    assert_int_equal(pattern_search(pattern, "xa\0bx", 5), PATTERN_FOUND);
    assert_int_equal(pattern_search(pattern, "xa", 2), PATTERN_ABSENT);
    pattern_free(pattern);
}
