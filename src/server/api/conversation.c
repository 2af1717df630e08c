// SPDX-License-Identifier: Apache-2.0
/* The conversation of an agent with its model and tools, from the journal. */
#include "base/auto.h"
#include "base/text/plain.h"
#include "journal/backward.h"
#include "journal/describe.h"
#include "journal/event.h"
#include "server/api/handlers.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PAGE  50
#define MAX_PAGE      200
#define MAX_LOOKED_AT 20000
#define WINDOW        500
/** Bytes of a page from which on it ends early. */
#define PAGE_BYTES (4 * LIMIT_MIB)

struct conversation_page {
    struct buf items[MAX_PAGE]; /* newest first */
    size_t count;
    size_t limit;
    size_t bytes;
};

static void write_head(struct json_writer *writer, const struct journal_event *event,
                       const char *kind)
{
    json_begin_object(writer, NULL);
    json_write_int(writer, "seq", (int64_t)event->seq);
    call_write_time(writer, "time", event->time_ns);
    json_write_int(writer, "iteration", journal_event_iteration(event));
    json_write_string(writer, "kind", kind);
}

static void write_reply(struct json_writer *writer, const struct journal_event *event)
{
    const struct event_model_replied *reply = &event->model_replied;
    bool is_ok = reply->outcome == NULL || strcmp(reply->outcome, "ok") == 0;
    write_head(writer, event, is_ok ? "reply" : "error");
    json_write_int(writer, "turn", reply->turn);
    json_write_string(writer, "outcome", reply->outcome);
    json_write_string(writer, "message", reply->message);
    json_write_string(writer, "text", reply->text);
    json_write_string(writer, "thinking", reply->thinking);
    json_write_raw(writer, "calls", reply->calls == NULL ? "[]" : reply->calls);
    json_write_string(writer, "stop", reply->stop);
    json_write_int(writer, "tokens", reply->tokens);
    json_write_int(writer, "tokens_in", reply->tokens_in);
    json_write_int(writer, "tokens_out", reply->tokens_out);
    auto_buf struct buf cost = {0};
    text_cost_json(reply->cost_micro, &cost);
    json_write_raw(writer, "cost", buf_string(&cost));
    json_write_int(writer, "duration_ns", reply->duration_ns);
}

static void write_tool(struct json_writer *writer, const struct journal_event *event)
{
    const struct event_tool_finished *tool = &event->tool_finished;
    write_head(writer, event, "tool");
    json_write_int(writer, "turn", tool->turn);
    json_write_int(writer, "index", tool->index);
    json_write_string(writer, "call_id", tool->call_id);
    json_write_string(writer, "name", tool->tool);
    json_write_string(writer, "outcome", tool->outcome);
    json_write_string(writer, "text", tool->output);
    json_write_int(writer, "output_bytes", tool->output_bytes);
    json_write_int(writer, "duration_ns", tool->duration_ns);
}

static void write_prompt(struct json_writer *writer, const struct journal_event *event)
{
    write_head(writer, event, "prompt");
    json_write_int(writer, "turn", event->model_requested.turn);
    json_write_string(writer, "model", event->model_requested.model);
    json_write_string(writer, "text", event->model_requested.prompt);
}

static void write_retrying(struct json_writer *writer, const struct journal_event *event)
{
    write_head(writer, event, "error");
    json_write_int(writer, "turn", event->model_retrying.turn);
    json_write_string(writer, "outcome", "retrying");
    json_write_string(writer, "message", event->model_retrying.message);
}

static void write_trimmed(struct json_writer *writer, const struct journal_event *event)
{
    int64_t dropped = event_dropped_messages(&event->history_trimmed);
    write_head(writer, event, "trimmed");
    json_write_int(writer, "messages", event->history_trimmed.messages_before - dropped);
    json_write_int(writer, "dropped", dropped);
}

static void write_compacted(struct json_writer *writer, const struct journal_event *event)
{
    const struct event_history_compacted *compacted = &event->history_compacted;
    write_head(writer, event, "compacted");
    json_write_string(writer, "outcome", compacted->outcome);
    json_write_string(writer, "model", compacted->model);
    json_write_string(writer, "text", compacted->summary);
    json_write_string(writer, "message", compacted->message);
    json_write_int(writer, "messages", compacted->messages_before - compacted->replaced);
    json_write_int(writer, "dropped", compacted->replaced);
    json_write_int(writer, "tokens_in", compacted->tokens_in);
    json_write_int(writer, "tokens_out", compacted->tokens_out);
    json_write_int(writer, "duration_ns", compacted->duration_ns);
}

/** Words for the model; a repeated request has none of its own. */
static bool has_prompt(const struct event_model_requested *event)
{
    return event->prompt != NULL && event->prompt[0] != '\0' && event->attempt <= 1;
}

/** @return whether the event says something in the conversation */
static bool write_item(struct json_writer *writer, const struct journal_event *event)
{
    if (event->type == JOURNAL_MODEL_REPLIED) {
        write_reply(writer, event);
    } else if (event->type == JOURNAL_TOOL_FINISHED) {
        write_tool(writer, event);
    } else if (event->type == JOURNAL_MODEL_REQUESTED && has_prompt(&event->model_requested)) {
        write_prompt(writer, event);
    } else if (event->type == JOURNAL_MODEL_RETRYING) {
        write_retrying(writer, event);
    } else if (event->type == JOURNAL_HISTORY_COMPACTED) {
        write_compacted(writer, event);
    } else if (event->type == JOURNAL_HISTORY_TRIMMED) {
        write_trimmed(writer, event);
    } else {
        return false;
    }
    json_end_object(writer);
    return true;
}

static bool take_event(const struct store_event *stored, void *context)
{
    struct conversation_page *page = context;
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) < 0) {
        return true;
    }
    struct json_writer writer = json_writer(&page->items[page->count]);
    if (write_item(&writer, &event)) {
        page->bytes += page->items[page->count++].len;
    }
    return page->count < page->limit && page->bytes < PAGE_BYTES;
}

static void send_page(struct call *call, struct conversation_page *page, uint64_t reached)
{
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "items");
    for (size_t i = page->count; i-- > 0;) {
        json_write_raw(&writer, NULL, buf_string(&page->items[i]));
    }
    json_end_array(&writer);
    if (reached > 1) {
        json_write_int(&writer, "next", (int64_t)reached);
    } else {
        json_write_null(&writer, "next");
    }
    json_end_object(&writer);
}

void handle_conversation(struct call *call)
{
    static const char *const types[] = {"model.requested",
                                        "model.replied",
                                        "model.retrying",
                                        "tool.finished",
                                        "history.trimmed",
                                        "history.compacted",
                                        NULL};
    struct store_run run;
    struct rondo_error err = {0};
    struct conversation_page page = {0};
    int64_t before = 0;
    int64_t limit = 0;
    uint64_t reached = 0;
    if (!call_find_content(call, &run) ||
        !call_query_int(call, "before", 1, INT64_MAX, (int64_t)run.last_seq + 1, &before) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &limit)) {
        return;
    }
    struct backward backward = {
        .run_id = run.id,
        .before = (uint64_t)before <= run.last_seq ? (uint64_t)before : run.last_seq + 1,
        .types = types,
        .window = WINDOW,
        .most = MAX_LOOKED_AT,
    };
    page.limit = (size_t)limit;
    if (backward_visit(call_store(call), &backward, take_event, &page, &reached, &err) < 0) {
        call_error(call, &err);
    } else {
        send_page(call, &page, reached);
    }
    for (size_t i = 0; i < page.count; i++) {
        buf_fini(&page.items[i]);
    }
}
