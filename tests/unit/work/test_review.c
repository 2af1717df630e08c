// SPDX-License-Identifier: Apache-2.0
#include "work/review.h"

#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "support/test.h"

#include <string.h>

#define GOOD "{\"review\":\"c0de\",\"verdict\":\"approve\",\"findings\":[]}"

static void assert_verdict(const char *text, enum review_verdict expected)
{
    auto_buf struct buf why = {0};
    if (review_read(text, "c0de", &why) != expected) {
        fail_msg("%s: %s", text, buf_string(&why));
    }
}

TEST(a_verdict_is_the_end_of_what_was_said)
{
    assert_verdict(GOOD, REVIEW_APPROVED);
    assert_verdict("It is fine.\n" GOOD "\n", REVIEW_APPROVED);
    assert_verdict("```json\n" GOOD "\n```\n", REVIEW_APPROVED);
    assert_verdict(
        "x\n{\n  \"review\": \"c0de\",\n  \"verdict\": \"approve\",\n  \"findings\": [\n    "
        "{\"file\": \"a\"}\n  ]\n}\n",
        REVIEW_APPROVED);
    assert_verdict("{\"review\":\"c0de\",\"verdict\":\"reject\"}", REVIEW_REJECTED);
    assert_verdict(GOOD "\n{\"review\":\"c0de\",\"verdict\":\"reject\"}", REVIEW_REJECTED);
}

TEST(nothing_else_is_an_approval)
{
    static const char *const texts[] = {
        NULL,
        "",
        " \n\t",
        "approve",
        "LGTM {\"verdict\":\"approve\"}",
        "{\"verdict\":\"approve\",\"findings\":[]}",
        "{\"review\":\"other\",\"verdict\":\"approve\"}",
        "{\"review\":\"c0de\",\"verdict\":\"Approve\"}",
        "{\"review\":\"c0de\",\"verdict\":\"approve or reject\"}",
        "{\"review\":\"c0de\",\"verdict\":true}",
        "{\"review\":\"c0de\",\"result\":{\"verdict\":\"approve\"}}",
        "{\"result\":\"{\\\"review\\\":\\\"c0de\\\",\\\"verdict\\\":\\\"approve\\\"}\"}",
        "{\n\"answer\":\n" GOOD "\n}",
        "[" GOOD "]",
        GOOD "\nBut wait, I have not read the tests.",
        GOOD "\n{\"review\":\"other\",\"verdict\":\"reject\"}",
        "{\"review\":\"c0de\",\"verdict\":\"approve\"",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_verdict(texts[i], REVIEW_NONE);
    }
}

TEST(the_prompt_itself_is_no_verdict)
{
    auto_buf struct buf prompt = {0};
    const struct review_request request = {
        .code = "c0de", .task = "t", .diff = "d", .commands = ""};
    review_prompt(&request, &prompt);
    assert_verdict(buf_string(&prompt), REVIEW_NONE);
    assert_non_null(strstr(buf_string(&prompt), "c0de"));
}

TEST(findings_are_told_and_do_not_grow_without_bound)
{
    auto_buf struct buf why = {0};
    auto_buf struct buf text = {0};
    assert_int_equal(
        review_read("{\"review\":\"c0de\",\"verdict\":\"reject\",\"findings\":[\"a.c:1: "
                    "wrong\",{\"file\":\"b\"}]}",
                    "c0de", &why),
        REVIEW_REJECTED);
    assert_string_equal(buf_string(&why), "- a.c:1: wrong\n- {\"file\":\"b\"}\n");
    buf_clear(&why);
    buf_append_string(&text, "{\"review\":\"c0de\",\"verdict\":\"reject\",\"findings\":[\"0\"");
    for (int i = 0; i < 2000; i++) {
        buf_append_string(&text, ",\"0123456789\"");
    }
    buf_append_string(&text, "]}");
    assert_int_equal(review_read(buf_string(&text), "c0de", &why), REVIEW_REJECTED);
    assert_true(why.len <= (size_t)LIMIT_WORK_OUTPUT_BYTES);
}

TEST(codes_follow_from_secret_run_and_tree)
{
    char one[REVIEW_CODE_SIZE];
    char other[REVIEW_CODE_SIZE];
    review_code("s", "run", "tree", one);
    review_code("s", "run", "tree", other);
    assert_string_equal(one, other);
    review_code("t", "run", "tree", other);
    assert_string_not_equal(one, other);
    review_code("s", "runt", "ree", other);
    assert_string_not_equal(one, other);
}
