// SPDX-License-Identifier: Apache-2.0
/*
 * The feedback document: results of the last verification, for the next iteration. Built from
 * events, live and on resume alike, so that a resumed worker reads the same bytes.
 */
#include "loop/driver/internal.h"

#include "base/json/json.h"
#include "journal/reader.h"

#include <string.h>

static const char empty_feedback[] = "{\"iteration\":0,\"conditions\":[]}";

const char *loop_feedback(struct loop *loop)
{
    return loop->feedback.len == 0 ? empty_feedback : buf_string(&loop->feedback);
}

void loop_feedback_begin(struct loop *loop, uint64_t iteration)
{
    buf_clear(&loop->feedback);
    buf_printf(&loop->feedback, "{\"iteration\":%llu,\"conditions\":[",
               (unsigned long long)iteration);
}

void loop_feedback_add(struct loop *loop, const struct event_condition_evaluated *event)
{
    struct buf *buf = &loop->feedback;
    if (buf->len == 0 || buf->data[buf->len - 1] == '}') {
        return; /* Evaluated on demand: no round is being written. */
    }
    if (buf->data[buf->len - 1] != '[') {
        buf_append(buf, ",", 1);
    }
    /* The comma is the separator between elements; each is a value of its own. */
    struct json_writer writer = json_writer(buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "name", event->condition);
    json_write_string(&writer, "status", event->status);
    json_write_string(&writer, "reason", event->reason);
    json_write_int(&writer, "exit_code", event->exit_code);
    json_write_int(&writer, "duration_ms", event->duration_ns / NS_PER_MS);
    json_write_string(&writer, "message", event->message == NULL ? "" : event->message);
    if (event->output == NULL) {
        json_write_string(&writer, "output", "");
    } else {
        json_write_string_len(&writer, "output", event->output,
                              journal_output_len(event->output, event->output_len));
    }
    json_end_object(&writer);
    buf_append(buf, " ", 1); /* marks the open list: a closed document ends with a brace */
}

void loop_feedback_end(struct loop *loop)
{
    buf_append_string(&loop->feedback, "]}");
}

/** Called from the start of a round on; the round ends with its own event, or unfinished. */
static bool add_from_journal(const struct journal_entry *entry, void *context)
{
    struct loop *loop = context;
    const struct journal_event *event = &entry->event;
    if (!entry->is_known) {
        return true;
    }
    if (event->type == JOURNAL_VERIFICATION_STARTED) {
        if (event->verification_started.condition != NULL) {
            return false;
        }
        loop_feedback_begin(loop, (uint64_t)event->verification_started.iteration);
    }
    if (event->type == JOURNAL_CONDITION_EVALUATED) {
        loop_feedback_add(loop, &event->condition_evaluated);
    }
    return event->type != JOURNAL_VERIFICATION_FINISHED;
}

int loop_load_feedback(struct loop *loop, struct rondo_error *err)
{
    if (loop->state.round_seq == 0) {
        return 0;
    }
    int r = journal_visit(runtime_store(loop->runtime), loop->run_id, loop->state.round_seq - 1, 0,
                          add_from_journal, loop, err);
    loop_feedback_end(loop);
    return r;
}
