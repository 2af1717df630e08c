// SPDX-License-Identifier: Apache-2.0
#include "issues/text.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/commit.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN "01890a5d-ac96-774b-bcce-b302099a8058"

static struct item item_in(enum item_state state)
{
    return (struct item){.number = 12,
                         .title = "Fix the total",
                         .state = state,
                         .run_id = RUN,
                         .cost_micro = 420000};
}

static const struct item_report plain = {.max_attempts = 3,
                                         .prefix = "rondo:",
                                         .owner = "process 8 on b7",
                                         .closes = true,
                                         .agent = "claude"};

static char *comment_of(const struct item *item, const struct item_report *report)
{
    struct buf text = {0};
    item_write_comment(item, report, &text);
    return buf_steal(&text);
}

static char *body_of(const struct item *item, const struct item_report *report)
{
    struct buf text = {0};
    item_write_pull_body(item, report, &text);
    return buf_steal(&text);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no '%s' in: %s", part, text);
    }
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("'%s' in: %s", part, text);
    }
}

/* ---- Branches ------------------------------------------------------------------------------- */

TEST(a_branch_is_what_git_allows_whatever_the_title)
{
    static const struct {
        const char *title, *branch;
    } cases[] = {
        {"Fix the total", "rondo/issue-12-fix-the-total"},
        {"", "rondo/issue-12"},
        {"---", "rondo/issue-12"},
        {"-rf --force", "rondo/issue-12-rf-force"},
        {"../../etc/passwd", "rondo/issue-12-etc-passwd"},
        {"x.lock", "rondo/issue-12-x-lock"},
        {"a..b@{c}~^:?*[\\ d", "rondo/issue-12-a-b-c-d"},
        {"refs/heads/main", "rondo/issue-12-refs-heads-main"},
        {"\xe2\x80\xae\xf0\x9f\x92\xa5", "rondo/issue-12"},
        {"\xc3\xa9t\xc3\xa9", "rondo/issue-12-t"},
        {"a\n\033b", "rondo/issue-12-a-b"},
        {"1234567890123456789012345678901234567890", "rondo/issue-12-"
                                                     "1234567890123456789012345678901234567890"},
        {"12345678901234567890123456789012345678901", "rondo/issue-12-"
                                                      "1234567890123456789012345678901234567890"},
        {"123456789012345678901234567890123456789 x", "rondo/issue-12-"
                                                      "123456789012345678901234567890123456789"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf branch = {0};
        item_write_branch(12, cases[i].title, &branch);
        assert_string_equal(buf_string(&branch), cases[i].branch);
        assert_int_equal(git_branch_check_name(buf_string(&branch), NULL), 0);
    }
}

/* ---- Titles --------------------------------------------------------------------------------- */

TEST(a_pull_request_is_named_like_the_issue_but_acts_on_nothing)
{
    static const struct {
        char *title;
        const char *shown;
    } cases[] = {
        {"Fix the total", "Fix the total"},
        {NULL, "Issue 12"},
        {"", "Issue 12"},
        {"\xe2\x80\x8b", "Issue 12"},
        {"WIP: [Draft] draft: x", "x"},
        {"draft:", "Issue 12"},
        {"Drafting", "Drafting"},
        {"Fixes #1 for @ann", "Fixes # 1 for @ ann"},
        {"/close", " /close"},
        {"a\nb", "a b"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf title = {0};
        struct item item = item_in(ITEM_IN_PROGRESS);
        item.title = cases[i].title;
        item_write_pull_title(&item, &title);
        assert_string_equal(buf_string(&title), cases[i].shown);
    }
}

TEST(a_title_is_cut_at_its_limit)
{
    char title[LIMIT_PULL_TITLE_BYTES + 2];
    struct item item = item_in(ITEM_IN_PROGRESS);
    for (size_t len = LIMIT_PULL_TITLE_BYTES; len <= LIMIT_PULL_TITLE_BYTES + 1; len++) {
        auto_buf struct buf shown = {0};
        memset(title, 'x', len);
        title[len] = '\0';
        item.title = title;
        item_write_pull_title(&item, &shown);
        assert_int_equal(shown.len, LIMIT_PULL_TITLE_BYTES);
        assert_int_equal(shown.data[shown.len - 1], len > LIMIT_PULL_TITLE_BYTES ? '.' : 'x');
    }
}

/* ---- The status comment --------------------------------------------------------------------- */

TEST(each_state_has_its_sentence)
{
    static const char *const parts[ITEM_STATE_COUNT] = {
        [ITEM_ASSIGNED] = "has claimed this issue",
        [ITEM_IN_PROGRESS] = "is working on this issue",
        [ITEM_IN_REVIEW] = "opened a pull request",
        [ITEM_RETRY_LATER] = "will try again later",
        [ITEM_BLOCKED] = "cannot continue",
        [ITEM_NEEDS_HUMAN] = "nothing to change",
        [ITEM_CANCELLED] = "stopped working",
        [ITEM_FENCED] = "Another worker",
        [ITEM_DONE] = "was merged",
    };
    for (enum item_state i = ITEM_ASSIGNED; i < ITEM_STATE_COUNT; i++) {
        struct item item = item_in(i);
        char *text = comment_of(&item, &plain);
        assert_has(text, parts[i]);
        assert_has(text, item_state_name(i));
        assert_has(text, RUN);
        assert_true(item_comment_is_ours(text, 12));
        assert_int_equal(item_find_command(text), ITEM_NO_COMMAND);
        free(text);
    }
}

TEST(a_comment_says_why_and_what_a_person_can_do)
{
    struct item item = item_in(ITEM_BLOCKED);
    item.reason = ITEM_ATTEMPTS_SPENT;
    item.attempts = 3;
    item.tokens = 12345;
    char *text = comment_of(&item, &plain);
    assert_has(text, "`attempts_spent`: all attempts are used up");
    assert_has(text, "3 of 3");
    assert_has(text, "0.42 (12,345 tokens)");
    assert_has(text, "process 8 on b7");
    assert_has(text, "`rondo:blocked`");
    assert_has(text, "`/rondo retry`");
    free(text);
    item.state = ITEM_IN_PROGRESS;
    text = comment_of(&item, &plain);
    assert_has(text, "`/rondo release`");
    assert_has(text, "10 minutes");
    free(text);
}

TEST(a_release_is_shown_with_its_time_and_how_to_end_it)
{
    struct item item = item_in(ITEM_CANCELLED);
    item.reason = ITEM_BY_PERSON;
    char *text = comment_of(&item, &plain);
    assert_null(strstr(text, "Left alone until"));
    assert_null(strstr(text, "/rondo retry"));
    free(text);
    item.released_until_ns = INT64_C(1700003600000000000);
    text = comment_of(&item, &plain);
    assert_has(text, "| Left alone until | 2023-11-14T23:13:20");
    assert_has(text, "`/rondo retry`");
    assert_int_equal(item_find_command(text), ITEM_NO_COMMAND);
    free(text);
}

TEST(a_comment_is_known_by_its_nonce_and_not_by_its_mark)
{
    struct item item = item_in(ITEM_BLOCKED);
    char *text = comment_of(&item, &plain);
    assert_null(strstr(text, "rondo:nonce"));
    assert_false(item_comment_has_nonce(text, &item));
    free(text);
    snprintf(item.comment_nonce, sizeof(item.comment_nonce), "%s", RUN);
    text = comment_of(&item, &plain);
    assert_true(item_comment_has_nonce(text, &item));
    assert_false(item_comment_has_nonce(strchr(text, '\n'), &item));
    item.number++;
    assert_false(item_comment_has_nonce(text, &item));
    item.number--;
    item.comment_nonce[0] = 'f';
    assert_false(item_comment_has_nonce(text, &item));
    free(text);
}

TEST(each_reason_has_its_sentence)
{
    for (enum item_reason i = ITEM_REASON_NONE + 1; i < ITEM_REASON_COUNT; i++) {
        struct item item = item_in(ITEM_BLOCKED);
        char row[64];
        item.reason = i;
        snprintf(row, sizeof(row), "`%s`: ", item_reason_name(i));
        char *text = comment_of(&item, &plain);
        assert_has(text, row);
        assert_true(strstr(text, row)[strlen(row)] != ' ');
        free(text);
    }
}

TEST(a_retry_is_announced_with_its_time)
{
    struct item item = item_in(ITEM_RETRY_LATER);
    item.next_ns = INT64_C(1700000000000000000);
    char *text = comment_of(&item, &plain);
    assert_has(text, "| Next attempt | 2023-11-14T22:13:20.000Z |");
    free(text);
}

TEST(a_message_and_a_log_in_a_comment_act_on_nothing)
{
    struct item item = item_in(ITEM_BLOCKED);
    struct item_report report = plain;
    item.message = "@ann said\n/close\n<img src=x>";
    report.log = "```\n/rondo retry\nFixes #1 for @all";
    report.owner = "x | @eve";
    char *text = comment_of(&item, &report);
    assert_has(text, "> @ ann said\n>  /close\n> \\<img");
    assert_has(text, "````text\n```\n /rondo retry\nFixes # 1 for @ all\n````\n");
    assert_has(text, "x \\| @ eve");
    assert_int_equal(item_find_command(text), ITEM_NO_COMMAND);
    free(text);
}

TEST(only_a_usable_address_is_linked)
{
    struct item item = item_in(ITEM_IN_REVIEW);
    item.pull = 7;
    item.pull_url = "https://x/o/r/pull/7";
    char *text = comment_of(&item, &plain);
    assert_has(text, "| Pull request | <https://x/o/r/pull/7> |");
    free(text);
    static char *const wrong[] = {"javascript:x",
                                  "https://x/> <b>",
                                  "https://x/>b",
                                  "https://x/<b",
                                  "https://x/|y",
                                  "https://x/`y",
                                  "https://x y",
                                  "",
                                  NULL};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        item.pull_url = wrong[i];
        text = comment_of(&item, &plain);
        assert_has(text, "| Pull request | 7 |");
        free(text);
    }
}

TEST(the_comment_of_another_issue_is_not_ours)
{
    struct item item = item_in(ITEM_ASSIGNED);
    char *text = comment_of(&item, &plain);
    assert_true(item_comment_is_ours(text, 12));
    assert_false(item_comment_is_ours(text, 1));
    assert_false(item_comment_is_ours(text, 123));
    assert_false(item_comment_is_ours("", 12));
    assert_false(item_comment_is_ours("> <!-- rondo:status 12 -->", 12));
    free(text);
}

/* ---- The body of a pull request ------------------------------------------------------------- */

TEST(a_body_has_summary_checks_cost_run_and_what_it_closes)
{
    const struct item_check checks[] = {
        {.name = "unit",
         .command = "make test | tee x",
         .output = "12 passed\n",
         .is_met = true,
         .duration_ns = 4200 * NS_PER_MS},
        {.name = "lint", .command = "make lint", .output = "", .is_met = false},
    };
    struct item_report report = plain;
    struct item item = item_in(ITEM_IN_PROGRESS);
    report.summary = "Summed up the rows.\nFixes #9.";
    report.checks = checks;
    report.check_count = COUNT(checks);
    char *text = body_of(&item, &report);
    assert_has(text, "for issue #12");
    assert_has(text, "> Summed up the rows.\n> Fixes \\# 9.\n");
    assert_has(text, "| 1 | unit | make test \\| tee x | passed | 4.2 s |");
    assert_has(text, "| 2 | lint | make lint | failed |");
    assert_has(text, "Output of check 1</summary>\n\n```text\n12 passed\n```\n");
    assert_lacks(text, "Output of check 2");
    assert_has(text, "| Agent | claude |");
    assert_has(text, "| Run | " RUN " |");
    assert_has(text, "| Cost | 0.42 |");
    assert_has(text, "\nCloses #12\n");
    free(text);
    report.closes = false;
    text = body_of(&item, &report);
    assert_lacks(text, "Closes");
    free(text);
}

TEST(an_unknown_cost_is_called_unknown)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    item.cost_micro = -1;
    char *text = body_of(&item, &plain);
    assert_has(text, "| Cost | unknown |");
    free(text);
}

static char *new_text(size_t len, char c)
{
    char *text = memory_new(len + 1);
    memset(text, c, len);
    text[len] = '\0';
    return text;
}

TEST(the_largest_texts_stay_within_their_limit)
{
    static const char letters[] = "x`\n#@\"<";
    for (size_t i = 0; letters[i] != '\0'; i++) {
        char *large = new_text((size_t)1 << 20, letters[i]);
        struct item_check checks[LIMIT_POST_CHECKS + 1];
        struct item_report report = plain;
        struct item item = item_in(ITEM_BLOCKED);
        for (size_t k = 0; k < COUNT(checks); k++) {
            checks[k] = (struct item_check){.name = large, .command = large, .output = large};
        }
        report.checks = checks;
        report.check_count = COUNT(checks);
        report.summary = large;
        report.log = large;
        report.owner = large;
        report.agent = large;
        item.title = large;
        item.message = large;
        item.pull_url = large;
        item.branch = large;
        char *body = body_of(&item, &report);
        char *comment = comment_of(&item, &report);
        assert_true(strlen(body) <= LIMIT_FORGE_POST_BYTES);
        assert_true(strlen(comment) <= LIMIT_FORGE_POST_BYTES);
        assert_has(body, "1 more checks are not listed");
        assert_has(body, "Closes #12");
        assert_has(comment, "/rondo retry");
        free(body);
        free(comment);
        free(large);
    }
}

TEST(checks_are_listed_up_to_their_limit)
{
    struct item_check checks[LIMIT_POST_CHECKS];
    struct item_report report = plain;
    struct item item = item_in(ITEM_IN_PROGRESS);
    for (size_t k = 0; k < COUNT(checks); k++) {
        checks[k] = (struct item_check){.name = "n", .command = "c", .output = "o"};
    }
    report.checks = checks;
    report.check_count = COUNT(checks);
    char *body = body_of(&item, &report);
    assert_lacks(body, "not listed");
    assert_lacks(body, "too long");
    assert_has(body, "Output of check 20");
    free(body);
}

/* ---- Digests and commands ------------------------------------------------------------------- */

static void digest_of(char *title, char *body, char *ret_digest)
{
    struct forge_issue issue = {.title = title, .body = body};
    item_digest(&issue, ret_digest);
}

TEST(an_edit_of_title_or_body_changes_the_digest)
{
    char first[DIGEST_HEX_SIZE];
    char other[DIGEST_HEX_SIZE];
    digest_of("ab", "c", first);
    digest_of("ab", "c", other);
    assert_string_equal(first, other);
    digest_of("a", "bc", other);
    assert_string_not_equal(first, other);
    digest_of("ab", "d", other);
    assert_string_not_equal(first, other);
    digest_of("abc", "", other);
    assert_string_not_equal(first, other);
}

TEST(a_command_is_alone_on_its_line_and_outside_of_code)
{
    static const struct {
        const char *body;
        enum item_command command;
    } cases[] = {
        {"/rondo retry", ITEM_COMMAND_RETRY},
        {"/rondo release", ITEM_COMMAND_RELEASE},
        {"Please:\r\n/rondo retry \r\nthanks", ITEM_COMMAND_RETRY},
        {"   /rondo retry", ITEM_COMMAND_RETRY},
        {"/rondo retry\n/rondo release", ITEM_COMMAND_RELEASE},
        {"    /rondo retry", ITEM_NO_COMMAND},
        {"> /rondo retry", ITEM_NO_COMMAND},
        {"`/rondo retry`", ITEM_NO_COMMAND},
        {"/rondo retry now", ITEM_NO_COMMAND},
        {"/rondo", ITEM_NO_COMMAND},
        {"/rondo retries", ITEM_NO_COMMAND},
        {"/Rondo Retry", ITEM_NO_COMMAND},
        {"```\n/rondo retry\n```", ITEM_NO_COMMAND},
        {"~~~\n/rondo retry\n~~~\n", ITEM_NO_COMMAND},
        {"```\nx\n```\n/rondo retry", ITEM_COMMAND_RETRY},
        {"````\n```\n/rondo retry\n````", ITEM_NO_COMMAND},
        {"~~~\n```\n/rondo retry\n~~~", ITEM_NO_COMMAND},
        {"``x\n/rondo retry", ITEM_COMMAND_RETRY},
        {"", ITEM_NO_COMMAND},
        {"   \n  ", ITEM_NO_COMMAND},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (item_find_command(cases[i].body) != cases[i].command) {
            fail_msg("'%s'", cases[i].body);
        }
    }
}
