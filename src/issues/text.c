// SPDX-License-Identifier: Apache-2.0
/* What people see: the status comment, pull requests, branches; and commands that they write. */
#include "issues/text.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/text/plain.h"
#include "issues/claim.h"
#include "issues/quote.h"

#include <inttypes.h>
#include <string.h>

/** Begins the status comment of an issue; its number and MARK_END follow. */
#define MARK     "<!-- rondo:status "
#define MARK_END " -->"
/** Before the nonce of a comment. */
#define NONCE_MARK "<!-- rondo:nonce "
/** The row that has the state. No text of others comes before it. */
#define STATE_ROW "| State | "

/** Of names in a list, bytes; of a command. */
#define MOST_NAME    80
#define MOST_COMMAND 200
/** What the end of a body needs: outputs of checks leave it free. */
#define ROOM_FOR_END 4096

/* ---- The status comment --------------------------------------------------------------------- */

static const char *const state_sentences[ITEM_STATE_COUNT] = {
    [ITEM_ASSIGNED] = "Rondo has claimed this issue and is about to work on it.",
    [ITEM_IN_PROGRESS] = "Rondo is working on this issue.",
    [ITEM_IN_REVIEW] = "Rondo has opened a pull request for this issue.",
    [ITEM_RETRY_LATER] = "Rondo will try again later: the failure is probably temporary.",
    [ITEM_BLOCKED] = "Rondo cannot continue with this issue: a person has to decide.",
    [ITEM_NEEDS_HUMAN] = "Rondo has found nothing to change, and all checks pass. Please decide.",
    [ITEM_CANCELLED] = "Rondo has stopped working on this issue and has given it back.",
    [ITEM_FENCED] = "Another worker has taken this issue over.",
    [ITEM_DONE] = "The pull request for this issue was merged.",
};

static const char *const reason_sentences[ITEM_REASON_COUNT] = {
    [ITEM_REASON_NONE] = "",
    [ITEM_ATTEMPTS_SPENT] = "all attempts are used up",
    [ITEM_TIME_OVER] = "the time for this issue is used up",
    [ITEM_BUDGET_SPENT] = "the budget is used up",
    [ITEM_DENIED] = "a policy denied what the work needs",
    [ITEM_AUTH] = "a token or login is missing, wrong or expired",
    [ITEM_CONFLICT] = "the branch has commits by others, or cannot be merged",
    [ITEM_CRASHED_TWICE] = "the process died twice at the same step",
    [ITEM_CLOSED_UNMERGED] = "the pull request was closed without a merge",
    [ITEM_READ_ONLY] = "the repository is read-only",
    [ITEM_REFUSED] = "the forge or the git server refused",
    [ITEM_STOPPED] = "a person has stopped the run",
    [ITEM_MODEL_FAILED] = "the model or its service failed",
    [ITEM_FORGE_FAILED] = "the forge failed",
    [ITEM_INTERRUPTED] = "the work was interrupted",
    [ITEM_ISSUE_CLOSED] = "the issue was closed",
    [ITEM_UNLABELLED] = "the label that starts the work was removed",
    [ITEM_REASSIGNED] = "the issue was assigned to somebody else",
    [ITEM_EDITED] = "the text of the issue was changed",
    [ITEM_ISSUE_GONE] = "the issue was deleted or moved",
    [ITEM_BY_PERSON] = "a person asked for it",
};

static void begin_row(const char *name, struct buf *ret_text)
{
    buf_printf(ret_text, "| %s | ", name);
}

static void end_row(struct buf *ret_text)
{
    buf_append_string(ret_text, " |\n");
}

static void add_row(const char *name, const char *text, struct buf *ret_text)
{
    if (text != NULL && text[0] != '\0') {
        begin_row(name, ret_text);
        quote_line(text, MOST_COMMAND, ret_text);
        end_row(ret_text);
    }
}

/** An address that a forge gave: only what can stand between angle brackets. */
static bool is_address(const char *url)
{
    bool is_web =
        url != NULL && (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0);
    for (; is_web && *url != '\0'; url++) {
        is_web = ascii_is_graphic(*url) && strchr("<>\"`|\\", *url) == NULL;
    }
    return is_web;
}

static void add_cost(const struct item *item, struct buf *ret_text)
{
    if (item->cost_micro != 0 || item->tokens != 0) {
        begin_row("Cost", ret_text);
        text_cost(item->cost_micro, ret_text);
        if (item->tokens > 0) {
            buf_append_string(ret_text, " (");
            text_count(item->tokens, ret_text);
            buf_append_string(ret_text, " tokens)");
        }
        end_row(ret_text);
    }
}

static void add_pull(const struct item *item, struct buf *ret_text)
{
    if (item->pull > 0) {
        begin_row("Pull request", ret_text);
        if (is_address(item->pull_url)) {
            buf_printf(ret_text, "<%s>", item->pull_url);
        } else {
            buf_printf(ret_text, "%" PRId64, item->pull);
        }
        end_row(ret_text);
    }
}

static void add_state(const struct item *item, const struct item_report *report,
                      struct buf *ret_text)
{
    char time[CLOCK_UTC_SIZE];
    buf_printf(ret_text, STATE_ROW "%s |\n|---|---|\n", item_state_name(item->state));
    if (item->reason != ITEM_REASON_NONE) {
        buf_printf(ret_text, "| Reason | `%s`: %s |\n", item_reason_name(item->reason),
                   reason_sentences[item->reason]);
    }
    if (item->state == ITEM_RETRY_LATER) {
        clock_format_utc(item->next_ns, time);
        buf_printf(ret_text, "| Next attempt | %s |\n", time);
    }
    if (item->released_until_ns > 0) {
        clock_format_utc(item->released_until_ns, time);
        buf_printf(ret_text, "| Left alone until | %s |\n", time);
    }
    if (item->attempts > 0) {
        buf_printf(ret_text, "| Attempts | %" PRId64 " of %" PRId64 " |\n", item->attempts,
                   report->max_attempts);
    }
    add_pull(item, ret_text);
    add_row("Branch", item->branch, ret_text);
    add_row("Agent", report->agent, ret_text);
    add_row("Run", item->run_id, ret_text);
    add_row("Worker", report->owner, ret_text);
    if (item->state == ITEM_ASSIGNED || item->state == ITEM_IN_PROGRESS) {
        buf_printf(ret_text, "| Lease | %" PRId64 " minutes, renewed while Rondo works |\n",
                   (int64_t)(CLAIM_LEASE_NS / (60 * NS_PER_S)));
    }
    add_cost(item, ret_text);
}

/** Commands are never alone on a line here: this comment is none. */
static void add_hint(const struct item *item, const struct item_report *report,
                     struct buf *ret_text)
{
    switch (item->state) {
    case ITEM_ASSIGNED:
    case ITEM_IN_PROGRESS:
    case ITEM_RETRY_LATER:
        buf_append_string(
            ret_text,
            "\nTo stop the work, close, edit or reassign the issue, remove the label that "
            "starts the work, or write a comment with the line `/rondo release`.\n");
        break;
    case ITEM_BLOCKED:
    case ITEM_NEEDS_HUMAN:
        buf_printf(ret_text,
                   "\nTo let Rondo begin again, remove the label `%s%s`, or write a comment with "
                   "the line `/rondo retry`.\n",
                   report->prefix, item_state_name(item->state));
        break;
    case ITEM_CANCELLED:
        if (item->released_until_ns > 0) {
            buf_append_string(ret_text, "\nTo let Rondo begin again earlier, write a comment with "
                                        "the line `/rondo retry`. To keep it from the issue for "
                                        "longer, remove the label that starts the work.\n");
        }
        break;
    case ITEM_IN_REVIEW:
    case ITEM_FENCED:
    case ITEM_DONE:
    case ITEM_STATE_COUNT:
        break;
    }
}

void item_write_comment(const struct item *item, const struct item_report *report,
                        struct buf *ret_text)
{
    buf_printf(ret_text, MARK "%" PRId64 MARK_END "\n%s\n\n", item->number,
               state_sentences[item->state]);
    add_state(item, report, ret_text);
    if (item->message != NULL) {
        buf_append_string(ret_text, "\n");
        quote_block(item->message, LIMIT_ITEM_MESSAGE_BYTES, ret_text);
    }
    if (report->log != NULL && report->log[0] != '\0') {
        buf_append_string(ret_text, "\nEnd of the output:\n\n");
        quote_output(report->log, LIMIT_POST_OUTPUT_BYTES, ret_text);
    }
    add_hint(item, report, ret_text);
    if (item->comment_nonce[0] != '\0') {
        buf_printf(ret_text, "\n" NONCE_MARK "%s" MARK_END "\n", item->comment_nonce);
    }
}

bool item_comment_has_nonce(const char *body, const struct item *item)
{
    auto_buf struct buf mark = {0};
    buf_printf(&mark, NONCE_MARK "%s" MARK_END, item->comment_nonce);
    return item->comment_nonce[0] != '\0' && item_comment_is_ours(body, item->number) &&
           strstr(body, buf_string(&mark)) != NULL;
}

bool item_comment_is_ours(const char *body, int64_t number)
{
    auto_buf struct buf mark = {0};
    buf_printf(&mark, MARK "%" PRId64 MARK_END, number);
    return strncmp(body, buf_string(&mark), mark.len) == 0;
}

enum item_state item_comment_state(const char *body, int64_t number)
{
    static const char row[] = "\n" STATE_ROW;
    enum item_state state = ITEM_STATE_COUNT;
    char name[32];
    const char *begin = item_comment_is_ours(body, number) ? strstr(body, row) : NULL;
    size_t len = begin == NULL ? 0 : strcspn(begin + sizeof(row) - 1, " \n");
    if (len == 0 || len >= sizeof(name)) {
        return state;
    }
    memcpy(name, begin + sizeof(row) - 1, len);
    name[len] = '\0';
    return item_state_from_name(name, &state) ? state : ITEM_STATE_COUNT;
}

/* ---- Pull requests -------------------------------------------------------------------------- */

static size_t marked_len(const char *text, const char *mark)
{
    size_t len = 0;
    while (mark[len] != '\0' && ascii_lower(text[len]) == mark[len]) {
        len++;
    }
    return mark[len] == '\0' ? len : 0;
}

/** After what GitLab and Gitea take for the mark of a draft. */
static const char *skip_draft_marks(const char *title)
{
    static const char *const marks[] = {"draft:", "[draft]", "(draft)", "wip:", "[wip]"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]);) {
        title += strspn(title, " ");
        size_t len = marked_len(title, marks[i]);
        i = len > 0 ? 0 : i + 1;
        title += len;
    }
    return title;
}

void item_write_pull_title(const struct item *item, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    item_clean(item->title != NULL ? item->title : "", LIMIT_ITEM_TITLE_BYTES, &clean);
    const char *title = skip_draft_marks(buf_string(&clean));
    if (title[0] == '\0') {
        buf_printf(ret_text, "Issue %" PRId64, item->number);
    } else {
        quote_title(title, LIMIT_PULL_TITLE_BYTES, ret_text);
    }
}

static void add_checks(const struct item_report *report, struct buf *ret_text)
{
    char duration[FORMAT_DURATION_SIZE];
    size_t count =
        report->check_count < LIMIT_POST_CHECKS ? report->check_count : LIMIT_POST_CHECKS;
    if (count == 0) {
        return;
    }
    buf_append_string(ret_text, "\n## Checks\n\n| | Check | Command | Result | Time |\n"
                                "|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const struct item_check *check = &report->checks[i];
        format_duration(check->duration_ns, duration);
        buf_printf(ret_text, "| %zu | ", i + 1);
        quote_line(check->name != NULL ? check->name : "", MOST_NAME, ret_text);
        buf_append_string(ret_text, " | ");
        quote_line(check->command != NULL ? check->command : "", MOST_COMMAND, ret_text);
        buf_printf(ret_text, " | %s | %s |\n", check->is_met ? "passed" : "failed", duration);
    }
    if (count < report->check_count) {
        buf_printf(ret_text, "\n%zu more checks are not listed.\n", report->check_count - count);
    }
}

/** Outputs as far as there is room for them. */
static void add_outputs(const struct item_report *report, struct buf *ret_text)
{
    for (size_t i = 0; i < report->check_count && i < LIMIT_POST_CHECKS; i++) {
        auto_buf struct buf output = {0};
        const char *text = report->checks[i].output;
        if (text == NULL || text[0] == '\0') {
            continue;
        }
        buf_printf(&output, "\n<details><summary>Output of check %zu</summary>\n\n", i + 1);
        quote_output(text, LIMIT_POST_OUTPUT_BYTES, &output);
        buf_append_string(&output, "\n</details>\n");
        if (ret_text->len + output.len + ROOM_FOR_END > LIMIT_FORGE_POST_BYTES) {
            buf_append_string(ret_text,
                              "\nThe other outputs are left out: the text would be too long.\n");
            return;
        }
        buf_append(ret_text, output.data, output.len);
    }
}

static void add_work(const struct item *item, const struct item_report *report,
                     struct buf *ret_text)
{
    char duration[FORMAT_DURATION_SIZE];
    buf_append_string(ret_text, "\n## Work\n\n| | |\n|---|---|\n");
    add_row("Agent", report->agent, ret_text);
    add_row("Run", item->run_id, ret_text);
    if (item->active_ns > 0) {
        format_duration(item->active_ns, duration);
        buf_printf(ret_text, "| Time at work | %s |\n", duration);
    }
    add_cost(item, ret_text);
}

void item_write_pull_body(const struct item *item, const struct item_report *report,
                          struct buf *ret_text)
{
    auto_buf struct buf body = {0};
    buf_printf(&body,
               "Made by Rondo for issue #%" PRId64 ". Please review it as you would review "
               "the work of a person.\n",
               item->number);
    if (report->summary != NULL && report->summary[0] != '\0') {
        buf_append_string(&body, "\n## Summary\n\nIn the words of the agent:\n\n");
        quote_block(report->summary, LIMIT_POST_SUMMARY_BYTES, &body);
    }
    add_checks(report, &body);
    add_outputs(report, &body);
    add_work(item, report, &body);
    if (report->closes) {
        buf_printf(&body, "\nCloses #%" PRId64 "\n", item->number);
    }
    buf_append(ret_text, body.data, body.len);
}

/* ---- Branches, digests, commands ------------------------------------------------------------ */

void item_write_branch(int64_t number, const char *title, struct buf *ret_text)
{
    auto_buf struct buf words = {0};
    for (; *title != '\0' && words.len < LIMIT_BRANCH_TITLE_BYTES; title++) {
        char c = ascii_lower(*title);
        bool is_word = ascii_is_letter_or_digit(c);
        if (is_word || (words.len > 0 && words.data[words.len - 1] != '-')) {
            buf_append(&words, is_word ? &c : "-", 1);
        }
    }
    while (words.len > 0 && words.data[words.len - 1] == '-') {
        words.data[--words.len] = '\0';
    }
    buf_printf(ret_text, "rondo/issue-%" PRId64 "%s%s", number, words.len > 0 ? "-" : "",
               buf_string(&words));
}

void item_digest(const struct forge_issue *issue, char *ret_digest)
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add_u64(&digest, strlen(issue->title));
    digest_add(&digest, issue->title, strlen(issue->title));
    digest_add(&digest, issue->body, strlen(issue->body));
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_digest);
}

static enum item_command read_command(const char *line, size_t len)
{
    static const struct {
        const char *text;
        enum item_command command;
    } commands[] = {
        {"/rondo retry", ITEM_COMMAND_RETRY},
        {"/rondo release", ITEM_COMMAND_RELEASE},
    };
    while (len > 0 && ascii_is_space(line[len - 1])) {
        len--;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strlen(commands[i].text) == len && memcmp(line, commands[i].text, len) == 0) {
            return commands[i].command;
        }
    }
    return ITEM_NO_COMMAND;
}

/** The fence at the beginning of a line: "````" is 4 of '`'. 0 = none. */
static size_t fence_len(const char *line, char *ret_mark)
{
    size_t len = strspn(line, line[0] == '~' ? "~" : "`");
    *ret_mark = line[0];
    return len < 3 ? 0 : len;
}

/** Whether a line is code, or begins or ends some. @param fence, mark of the open one; 0 = none */
static bool is_code_line(const char *line, size_t *fence, char *mark)
{
    char found_mark = '\0';
    size_t found = fence_len(line, &found_mark);
    if (*fence == 0) {
        *fence = found;
        *mark = found_mark;
        return found > 0;
    }
    if (found >= *fence && found_mark == *mark) {
        *fence = 0;
    }
    return true;
}

enum item_command item_find_command(const char *body)
{
    enum item_command found = ITEM_NO_COMMAND;
    size_t fence = 0;
    char mark = '\0';
    while (*body != '\0') {
        size_t len = strcspn(body, "\n");
        size_t indent = strspn(body, " ");
        const char *line = body + (indent < 4 ? indent : 0); /* More is code. */
        enum item_command command = is_code_line(line, &fence, &mark)
                                        ? ITEM_NO_COMMAND
                                        : read_command(line, len - (size_t)(line - body));
        found = command != ITEM_NO_COMMAND ? command : found;
        body += len + (body[len] == '\n' ? 1 : 0);
    }
    return found;
}
