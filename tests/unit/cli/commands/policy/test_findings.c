// SPDX-License-Identifier: Apache-2.0
/* Findings as people and programs see them. */
#include "cli/commands/policy/findings.h"
#include "support/test.h"

#include "base/error.h"
#include "base/json/json.h"

#include <locale.h>
#include <string.h>

static const struct style plain = {0};

/** The same text for every file. A policy_text_fn. */
static void one_text(const char *file, void *context, struct buf *ret_text)
{
    (void)file;
    buf_append_string(ret_text, context);
}

static void expect(const struct policy_findings *findings, char *source, const char *expected)
{
    auto_buf struct buf text = {0};
    policy_findings_text(findings, &plain, one_text, source, &text);
    assert_string_equal(buf_string(&text), expected);
}

static struct policy_findings one(bool is_error, unsigned line, unsigned column)
{
    struct policy_findings findings = {0};
    struct lint_finding finding = {
        .is_error = is_error,
        .file = "a.cedar",
        .line = line,
        .column = column,
        .message = "wrong",
    };
    policy_findings_add(&finding, &findings);
    return findings;
}

TEST(an_error_is_shown_with_its_line_and_a_caret)
{
    struct policy_findings findings = one(true, 2, 4);
    char text[] = "first\n\tx\u00e4yz\nthird";
    expect(&findings, text, "a.cedar:2:4: error: wrong\n     x\u00e4yz\n       ^\n");
    policy_findings_fini(&findings);
}

TEST(a_line_that_is_not_there_is_not_shown)
{
    struct policy_findings findings = one(true, 9, 1);
    char text[] = "first\n";
    expect(&findings, text, "a.cedar:9:1: error: wrong\n");
    policy_findings_fini(&findings);
}

TEST(a_warning_is_one_line)
{
    struct policy_findings findings = one(false, 1, 1);
    char text[] = "first\n";
    expect(&findings, text, "a.cedar:1:1: warning: wrong\n");
    policy_findings_fini(&findings);
    findings = one(false, 0, 0);
    expect(&findings, text, "a.cedar: warning: wrong\n");
    policy_findings_fini(&findings);
}

TEST(a_failure_that_no_finding_tells_becomes_one)
{
    char text[] = "[1]\n";
    static const struct {
        const char *message, *expected;
    } cases[] = {
        {"b.json:1:2: bad", "b.json:1:2: error: bad\n    [1]\n     ^\n"},
        {"b.json: bad", "a.cedar: error: b.json: bad\n"},
        {"bad", "a.cedar: error: bad\n"},
        {"a:b", "a.cedar: error: a:b\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct policy_findings findings = {0};
        struct rondo_error err = {0};
        error_set(&err, RONDO_ERR_INVALID, "%s", cases[i].message);
        policy_findings_add_failure(&findings, "a.cedar", &err);
        policy_findings_add_failure(&findings, "a.cedar", &err);
        expect(&findings, text, cases[i].expected);
        policy_findings_fini(&findings);
    }
}

TEST(they_are_counted_in_words)
{
    auto_buf struct buf text = {0};
    struct policy_findings findings = one(true, 1, 1);
    policy_findings_count(&findings, &text);
    assert_string_equal(buf_string(&text), "1 error, no warnings");
    findings.warnings = 2;
    buf_clear(&text);
    policy_findings_count(&findings, &text);
    assert_string_equal(buf_string(&text), "1 error, 2 warnings");
    policy_findings_fini(&findings);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return test_run(NULL, NULL);
}
