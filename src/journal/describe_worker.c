// SPDX-License-Identifier: Apache-2.0
/* The sentences about the sessions of coding agents. */
#include "base/clock.h"
#include "base/text/plain.h"
#include "journal/describe_internal.h"

#include <inttypes.h>

void describe_worker_started(const struct event_worker_started *event, struct buf *out)
{
    describe_add_subject("starting ", event->agent, "a coding agent", out);
    describe_add_name(" with ", event->model, out);
    describe_add_name(event->resumed > 0 ? ", resuming session " : ", session ", event->session,
                      out);
}

void describe_worker_message(const struct event_worker_message *event, struct buf *out)
{
    describe_add_message("", event->text, out);
}

void describe_worker_tool(const struct event_worker_tool *event, struct buf *out)
{
    bool has_failed = level_worker_tool(event) == EVENT_LEVEL_FAILURE;
    buf_append_string(out, "used");
    describe_add_subject(" ", event->tool, "a tool", out);
    describe_add_name(" ", event->arguments, out);
    describe_add_name(": ", has_failed ? event->outcome : NULL, out);
    describe_add_name(": ", has_failed ? event->output : NULL, out);
}

enum event_level level_worker_tool(const struct event_worker_tool *event)
{
    return describe_is(event->outcome, "error") ? EVENT_LEVEL_FAILURE : EVENT_LEVEL_INFO;
}

static void add_usage(const struct event_worker_finished *event, struct buf *out)
{
    if (event->tokens_in > 0 || event->tokens_out > 0) {
        buf_printf(out, ", tokens %" PRId64 "in/%" PRId64 "out", event->tokens_in,
                   event->tokens_out);
    }
    if (event->cost_micro > 0) {
        buf_append_string(out, ", cost ");
        text_cost(event->cost_micro, out);
    }
}

void describe_worker_finished(const struct event_worker_finished *event, struct buf *out)
{
    describe_add_subject("", event->agent, "the coding agent", out);
    describe_add_subject(": ", event->outcome, "finished", out);
    describe_add_duration(event->duration_ns, out);
    add_usage(event, out);
    describe_add_message(": ", event->message, out);
    if (event->until_ns > 0) {
        char time[CLOCK_UTC_SIZE];
        clock_format_utc(event->until_ns, time);
        buf_printf(out, "; waits until %s", time);
    }
}

enum event_level level_worker_finished(const struct event_worker_finished *event)
{
    return describe_is(event->outcome, "ok")       ? EVENT_LEVEL_INFO
           : describe_is(event->outcome, "killed") ? EVENT_LEVEL_NOTICE
                                                   : EVENT_LEVEL_FAILURE;
}
