// SPDX-License-Identifier: Apache-2.0
/* `[PRD: NAME] Task ID: TITLE`, of an issue `TITLE (#NUMBER)`, and trailers that say which run,
 * task, attempt and agent it was. */
#include "work/message.h"

#include "base/text/plain.h"
#include "git/commit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRAILER_RUN, TRAILER_TASK, TRAILER_ATTEMPT, TRAILER_AGENT, TRAILER_COUNT };

static const char *const keys[TRAILER_COUNT] = {
    [TRAILER_RUN] = "Rondo-Run",
    [TRAILER_TASK] = "Rondo-Task",
    [TRAILER_ATTEMPT] = "Rondo-Attempt",
    [TRAILER_AGENT] = "Rondo-Agent",
};

/** One line, which terminals show by `git log`. A text of nothing visible is kept but for controls.
 */
static void add_line(const char *text, struct buf *ret_text)
{
    size_t start = ret_text->len;
    text_clean(text, strlen(text), ret_text);
    bool is_empty = ret_text->len == start;
    for (; is_empty && *text != '\0'; text++) {
        buf_append(ret_text, (unsigned char)*text < ' ' ? " " : text, 1);
    }
}

static bool is_own_trailer(const char *line)
{
    for (size_t i = 0; i < TRAILER_COUNT; i++) {
        size_t len = strlen(keys[i]);
        if (strncasecmp(line, keys[i], len) == 0 && line[len + strspn(line + len, " \t")] == ':') {
            return true;
        }
    }
    return false;
}

static void add_without_trailers(const char *text, struct buf *ret_text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        len += text[len] == '\n' ? 1 : 0;
        if (!is_own_trailer(text)) {
            buf_append(ret_text, text, len);
        }
        text += len;
    }
}

static void add_title(const struct work_message *message, const char *task, struct buf *ret_text)
{
    if (message->issue > 0) {
        add_line(message->title, ret_text);
        buf_printf(ret_text, " (#%" PRId64 ")", message->issue);
        return;
    }
    buf_append_string(ret_text, "[PRD: ");
    add_line(message->prd, ret_text);
    buf_printf(ret_text, "] Task %s: ", task);
    add_line(message->title, ret_text);
}

int work_message_write(const struct work_message *message, const char *text, struct buf *ret_text,
                       struct rondo_error *err)
{
    auto_buf struct buf words = {0};
    auto_buf struct buf task = {0};
    char number[24];
    snprintf(number, sizeof(number), "%" PRId64, message->attempt);
    add_line(message->task, &task);
    if (text == NULL) {
        add_title(message, buf_string(&task), &words);
    } else {
        add_without_trailers(text, &words);
    }
    const struct git_trailer trailers[TRAILER_COUNT] = {
        [TRAILER_RUN] = {keys[TRAILER_RUN], message->run},
        [TRAILER_TASK] = {keys[TRAILER_TASK], buf_string(&task)},
        [TRAILER_ATTEMPT] = {keys[TRAILER_ATTEMPT], number},
        [TRAILER_AGENT] = {keys[TRAILER_AGENT], message->agent},
    };
    const struct git_commit_request request = {
        .message = buf_string(&words), .trailers = trailers, .trailer_count = TRAILER_COUNT};
    return git_commit_message(&request, ret_text, err);
}
