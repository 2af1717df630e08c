// SPDX-License-Identifier: Apache-2.0
/* What strangers write about issues: titles, bodies, comments, outputs, claims and stored items. */
#include "fuzz.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/limits.h"
#include "git/commit.h"
#include "issues/claim.h"
#include "issues/quote.h"
#include "issues/text.h"

#include <string.h>

/** No mention, reference or command of a forge is left. */
static void check_quoted(const char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        FUZZ_CHECK(text[i] != '@' || !ascii_is_letter_or_digit(text[i + 1]));
        FUZZ_CHECK(strchr("#!&", text[i]) == NULL || !ascii_is_digit(text[i + 1]));
        FUZZ_CHECK(text[i] != '/' || (i > 0 && text[i - 1] != '\n'));
        FUZZ_CHECK(text[i] != '\033');
    }
}

/** The fence is longer than any run of its marks inside. */
static void check_fence(const char *text)
{
    size_t fence = strspn(text, "`");
    size_t end = strlen(text) - fence - 1;
    FUZZ_CHECK(fence >= 3 && strspn(text + end, "`") == fence);
    for (size_t i = fence; i < end; i++) {
        size_t run = strspn(text + i, "`");
        FUZZ_CHECK(i + run >= end || run < fence);
        i += run;
    }
}

static void check_quotes(const char *text)
{
    auto_buf struct buf title = {0};
    auto_buf struct buf line = {0};
    auto_buf struct buf block = {0};
    auto_buf struct buf output = {0};
    auto_buf struct buf branch = {0};
    quote_title(text, LIMIT_PULL_TITLE_BYTES, &title);
    quote_line(text, LIMIT_PULL_TITLE_BYTES, &line);
    quote_block(text, LIMIT_POST_SUMMARY_BYTES, &block);
    quote_output(text, LIMIT_POST_OUTPUT_BYTES, &output);
    item_write_branch(12, text, &branch);
    FUZZ_CHECK(title.len <= (size_t)LIMIT_PULL_TITLE_BYTES);
    check_quoted(buf_string(&title));
    check_quoted(buf_string(&line));
    check_quoted(buf_string(&block));
    check_quoted(buf_string(&output));
    check_fence(buf_string(&output));
    FUZZ_CHECK(git_branch_check_name(buf_string(&branch), NULL) == 0);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text++) {
        count++;
    }
    return count;
}

/** Twice in the explanation, twice around the text, and nowhere else. */
static void check_task(char *text)
{
    struct forge_issue issue = {.number = 12, .title = "Fix", .body = text, .author = text};
    auto_buf struct buf task = {0};
    char mark[33];
    item_write_task(&issue, NULL, &task);
    snprintf(mark, sizeof(mark), "%s",
             strstr(buf_string(&task), "BEGIN DATA ") + strlen("BEGIN DATA "));
    FUZZ_CHECK(count_of(buf_string(&task), mark) == 4);
    FUZZ_CHECK(strstr(buf_string(&task), "<!--") == NULL);
    FUZZ_CHECK(task.len < (size_t)32 * 1024);
}

static void check_claim(const char *text)
{
    struct claim claim = {0};
    struct claim again = {0};
    auto_buf struct buf written = {0};
    if (claim_decode(12, text, &claim, NULL) == 0) {
        claim_encode(&claim, &written);
        FUZZ_CHECK(claim_decode(12, buf_string(&written), &again, NULL) == 0);
        FUZZ_CHECK(strcmp(claim.nonce, again.nonce) == 0 && claim.lease_ns == again.lease_ns);
        FUZZ_CHECK(strstr(buf_string(&written), "-->") == NULL);
        claim_fini(&again);
        claim_fini(&claim);
    }
}

static void check_item(const char *text)
{
    struct item item = {0};
    struct item again = {0};
    auto_buf struct buf written = {0};
    if (item_decode("h/o/r#12", text, strlen(text), &item, NULL) == 0) {
        item_encode(&item, &written);
        FUZZ_CHECK(item_decode("h/o/r#12", buf_string(&written), written.len, &again, NULL) == 0);
        FUZZ_CHECK(item.state == again.state && item.note_count == again.note_count);
        item_fini(&again);
        item_fini(&item);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    check_quotes(text);
    check_task(text);
    check_claim(text);
    check_item(text);
    FUZZ_CHECK(item_find_command(text) == ITEM_NO_COMMAND || strstr(text, "/rondo re") != NULL);
    free(text);
    return 0;
}
