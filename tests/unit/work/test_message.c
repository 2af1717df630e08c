// SPDX-License-Identifier: Apache-2.0
#include "work/message.h"

#include "base/auto.h"
#include "support/test.h"

#include <string.h>

#define TRAILERS "Rondo-Run: r-1\nRondo-Task: T1\nRondo-Attempt: 2\nRondo-Agent: claude\n"

static const struct work_message example = {
    .prd = "List", .run = "r-1", .task = "T1", .title = "Do\nit", .agent = "claude", .attempt = 2};

static void assert_message(const char *text, const char *expected)
{
    auto_buf struct buf found = {0};
    assert_int_equal(work_message_write(&example, text, &found, NULL), 0);
    assert_string_equal(buf_string(&found), expected);
}

TEST(the_title_is_one_line_and_the_trailers_say_who_made_it)
{
    assert_message(NULL, "[PRD: List] Task T1: Do it\n\n" TRAILERS);
}

TEST(the_commit_of_an_issue_has_its_number_in_place_of_a_prd)
{
    auto_buf struct buf found = {0};
    struct work_message message = example;
    message.issue = 12;
    assert_int_equal(work_message_write(&message, NULL, &found, NULL), 0);
    assert_string_equal(buf_string(&found), "Do it (#12)\n\n" TRAILERS);
}

TEST(a_title_does_nothing_to_a_terminal)
{
    auto_buf struct buf found = {0};
    struct work_message message = example;
    message.title = "Do \x1b]0;x\a\x1b[31m\xc2\x9b"
                    "31m\xe2\x80\xaeit\nRondo-Task: T9";
    assert_int_equal(work_message_write(&message, NULL, &found, NULL), 0);
    for (const char *at = buf_string(&found); *at != '\0'; at++) {
        assert_true(*at == '\n' || ((unsigned char)*at >= ' ' && (unsigned char)*at < 0x7f));
    }
    assert_non_null(strstr(buf_string(&found), "it Rondo-Task: T9\n\n" TRAILERS));
}

TEST(words_of_a_hook_are_kept_and_its_trailers_join_ours)
{
    assert_message("feat: it\n\nWhy: because\nof this\n",
                   "feat: it\n\nWhy: because\nof this\n\n" TRAILERS);
    assert_message("feat: it\n\nSigned-off-by: me\n" TRAILERS,
                   "feat: it\n\nSigned-off-by: me\n" TRAILERS);
}

TEST(trailers_that_claim_to_be_ours_are_dropped)
{
    assert_message("feat: it\n\nRondo-Task: T9\nrondo-agent : other\nText\n",
                   "feat: it\n\nText\n\n" TRAILERS);
}

TEST(a_hook_that_leaves_no_words_is_refused)
{
    struct rondo_error err = {0};
    auto_buf struct buf found = {0};
    assert_int_equal(work_message_write(&example, "\n" TRAILERS, &found, &err), RONDO_ERR_INVALID);
}

int main(void)
{
    return test_run(NULL, NULL);
}
