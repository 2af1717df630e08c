// SPDX-License-Identifier: Apache-2.0
/*
 * A call is recorded when its result comes, so that one event has both. Commits are made while the
 * agent works, for those who watch, but not more often than once a second.
 */
#include "worker/coding_events.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "loop/driver/body_ports.h"

#include <stdlib.h>
#include <string.h>

/** Calls that wait for their result. */
#define OPEN_CALLS 32
/** Bytes of a tool's input that its event keeps. */
#define INPUT_BYTES     512
#define COMMIT_EVERY_NS NS_PER_S

struct open_call {
    char id[CODING_WORD_SIZE];
    char name[CODING_WORD_SIZE];
    char *input;
};

struct coding_events {
    struct loop *loop;
    struct worker_options options;
    struct redact *redact;
    struct open_call calls[OPEN_CALLS];
    size_t call_count;
    uint64_t recorded;
    uint64_t dropped;
    int64_t committed_ns;
    struct rondo_error failure;
};

struct coding_events *coding_events_new(struct loop *loop, const struct worker_options *options,
                                        const char *const *envp)
{
    struct coding_events *events = memory_new_zero(1, sizeof(*events));
    events->loop = loop;
    events->options = *options;
    events->redact = redact_new(envp);
    events->committed_ns = clock_monotonic(runtime_clock(loop_runtime(loop)));
    return events;
}

void coding_events_free(struct coding_events *events)
{
    if (events != NULL) {
        for (size_t i = 0; i < events->call_count; i++) {
            free(events->calls[i].input);
        }
        redact_free(events->redact);
        free(events);
    }
}

uint64_t coding_events_dropped(const struct coding_events *events)
{
    return events->dropped;
}

int coding_events_failure(const struct coding_events *events, struct rondo_error *err)
{
    if (events->failure.code < 0) {
        *err = events->failure;
    }
    return events->failure.code;
}

/** Append at most `most` bytes, without secrets; a token that was cut is hidden before it is cut.
 */
static void clean(const struct coding_events *events, const char *text, size_t len, size_t most,
                  struct buf *ret_text)
{
    auto_buf struct buf whole = {0};
    redact_text(events->redact, text, len, &whole);
    size_t kept = whole.len;
    if (kept > most) {
        kept = most;
        while (kept > 0 && ((unsigned char)whole.data[kept] & 0xC0) == 0x80) {
            kept--;
        }
    }
    if (kept > 0) {
        buf_append(ret_text, whole.data, kept);
    }
    if (kept < whole.len) {
        buf_append_string(ret_text, " [cut]");
    }
}

void coding_events_clean(const struct coding_events *events, const char *text, size_t len,
                         struct buf *ret_text)
{
    clean(events, text, len, LIMIT_CODING_TEXT_BYTES, ret_text);
}

static void record(struct coding_events *events, const struct journal_event *event)
{
    if (events->recorded == LIMIT_CODING_EVENTS) {
        events->dropped++;
        return;
    }
    events->recorded++;
    loop_record(events->loop, event);
    int64_t now_ns = clock_monotonic(runtime_clock(loop_runtime(events->loop)));
    if (now_ns - events->committed_ns >= COMMIT_EVERY_NS && events->failure.code == 0) {
        events->committed_ns = now_ns;
        loop_commit(events->loop, &events->failure);
    }
}

static void take_message(struct coding_events *events, const struct coding_event *said)
{
    auto_buf struct buf text = {0};
    coding_events_clean(events, said->text, said->text_len, &text);
    struct journal_event event = {
        .type = JOURNAL_WORKER_MESSAGE,
        .worker_message = {.iteration = (int64_t)loop_state(events->loop)->iteration,
                           .text = buf_string(&text),
                           .text_len = text.len},
    };
    record(events, &event);
}

/** @param outcome NULL = no result came */
static void record_call(struct coding_events *events, const struct open_call *call,
                        const char *outcome, const struct buf *output)
{
    struct journal_event event = {
        .type = JOURNAL_WORKER_TOOL,
        .worker_tool = {.iteration = (int64_t)loop_state(events->loop)->iteration,
                        .tool = call->name[0] == '\0' ? NULL : call->name,
                        .outcome = outcome,
                        .arguments = call->input,
                        .output = output == NULL || output->len == 0 ? NULL : output->data,
                        .output_len = output == NULL ? 0 : output->len},
    };
    record(events, &event);
}

static void remove_call(struct coding_events *events, size_t i)
{
    free(events->calls[i].input);
    events->call_count--;
    memmove(&events->calls[i], &events->calls[i + 1],
            (events->call_count - i) * sizeof(events->calls[0]));
}

static void keep(char field[CODING_WORD_SIZE], const char *word)
{
    size_t len = word == NULL ? 0 : strnlen(word, CODING_WORD_SIZE - 1);
    memcpy(field, word == NULL ? "" : word, len);
    field[len] = '\0';
}

/** A call that was made, for those who watch: its event comes with the result. */
static void show_call(const struct coding_events *events, const char *name, const struct buf *input)
{
    if (events->options.on_output != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "> %s %s\n", name, buf_string(input));
        events->options.on_output(events->options.on_output_context, line.data, line.len);
    }
}

static void take_call(struct coding_events *events, const struct coding_event *said)
{
    if (events->call_count == OPEN_CALLS) {
        record_call(events, &events->calls[0], NULL, NULL);
        remove_call(events, 0);
    }
    auto_buf struct buf input = {0};
    clean(events, said->text == NULL ? "" : said->text, said->text_len, INPUT_BYTES, &input);
    struct open_call *call = &events->calls[events->call_count++];
    keep(call->id, said->id);
    keep(call->name, said->name);
    show_call(events, call->name, &input);
    call->input = buf_steal(&input);
}

static void take_result(struct coding_events *events, const struct coding_event *said)
{
    const char *outcome = said->is_error ? "error" : "ok";
    auto_buf struct buf output = {0};
    coding_events_clean(events, said->text == NULL ? "" : said->text, said->text_len, &output);
    for (size_t i = 0; said->id != NULL && i < events->call_count; i++) {
        if (strncmp(events->calls[i].id, said->id, CODING_WORD_SIZE - 1) == 0) {
            record_call(events, &events->calls[i], outcome, &output);
            remove_call(events, i);
            return;
        }
    }
    struct open_call unknown = {0};
    keep(unknown.name, said->name);
    record_call(events, &unknown, outcome, &output);
}

void coding_events_take(void *context, const struct coding_event *event)
{
    struct coding_events *events = context;
    switch (event->kind) {
    case CODING_EVENT_MESSAGE:
        take_message(events, event);
        break;
    case CODING_EVENT_TOOL_CALL:
        take_call(events, event);
        break;
    case CODING_EVENT_TOOL_RESULT:
        take_result(events, event);
        break;
    }
}

void coding_events_end(struct coding_events *events)
{
    while (events->call_count > 0) {
        record_call(events, &events->calls[0], NULL, NULL);
        remove_call(events, 0);
    }
}
