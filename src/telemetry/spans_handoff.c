// SPDX-License-Identifier: Apache-2.0
/*
 * The time in which a call waits for a person: one span from the request to its decision. It may
 * last for days and end in another execution of the run, so it is nobody's child: it links to where
 * the call was requested, and to where the run learned of the decision. Who decided is not in it.
 */
#include "telemetry/spans_internal.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Id of the span that is open in the run now. */
static void name_place(const struct span_run *run, char ret_id[TRACE_SPAN_SIZE])
{
    struct span here = spans_begin(run, TRACE_HANDOFF, 0, 0, 0, 0);
    memcpy(ret_id, here.parent_id, TRACE_SPAN_SIZE);
}

static struct wait_span *find_wait(struct span_run *run, const char *request_id)
{
    for (size_t i = 0; i < run->wait_count; i++) {
        if (strcmp(run->waits[i].request_id, request_id) == 0) {
            return &run->waits[i];
        }
    }
    return NULL;
}

static void forget_wait(struct span_run *run, struct wait_span *wait)
{
    *wait = run->waits[--run->wait_count];
}

void spans_handoff_requested(struct spans *spans, struct span_run *run,
                             const struct journal_event *event)
{
    const struct event_handoff_requested *request = &event->handoff_requested;
    (void)spans;
    if (request->request == NULL || run->wait_count == SPANS_MAX_CALLS ||
        find_wait(run, request->request) != NULL) {
        return;
    }
    run->waits = memory_resize(run->waits, run->wait_count + 1, sizeof(run->waits[0]));
    struct wait_span *wait = &run->waits[run->wait_count++];
    *wait = (struct wait_span){.seq = event->seq, .start_ns = event->time_ns};
    snprintf(wait->request_id, sizeof(wait->request_id), "%s", request->request);
    snprintf(wait->tool, sizeof(wait->tool), "%s", request->tool == NULL ? "" : request->tool);
    snprintf(wait->call_id, sizeof(wait->call_id), "%s",
             request->call_id == NULL ? "" : request->call_id);
    name_place(run, wait->place_id);
}

static void add_link(const struct span_run *run, const char *place_id, const char *kind,
                     struct span *span)
{
    struct span_link *link = &span->links[span->link_count++];
    memcpy(link->trace_id, run->trace_id, sizeof(link->trace_id));
    memcpy(link->id, place_id, sizeof(link->id));
    attributes_text(&link->attributes, "relaytrace.link", kind);
}

static void end_wait(struct spans *spans, struct span_run *run, struct wait_span *wait,
                     int64_t end_ns, const char *decision)
{
    char place_id[TRACE_SPAN_SIZE];
    struct span span = spans_begin(run, TRACE_HANDOFF, wait->seq, 0, wait->start_ns, end_ns);
    span.parent_id[0] = '\0';
    span.start_ns = wait->start_ns; /* before the execution that ends it */
    snprintf(span.name, sizeof(span.name), "handoff.wait");
    attributes_text(&span.attributes, "relaytrace.request_id", wait->request_id);
    attributes_text(&span.attributes, "relaytrace.decision", decision);
    attributes_text(&span.attributes, "gen_ai.agent.id", run->agent_id);
    attributes_text(&span.attributes, "gen_ai.tool.name", wait->tool);
    attributes_text(&span.attributes, "gen_ai.tool.call.id", wait->call_id);
    name_place(run, place_id);
    add_link(run, wait->place_id, "requested", &span);
    if (strcmp(place_id, wait->place_id) != 0) {
        add_link(run, place_id, "resumed", &span);
    }
    spans_emit(spans, &span);
    forget_wait(run, wait);
}

/** Questions are no end: the person decides after the answers. */
void spans_handoff_decided(struct spans *spans, struct span_run *run,
                           const struct journal_event *event)
{
    const struct event_handoff_decided *decided = &event->handoff_decided;
    struct wait_span *wait = decided->request == NULL ? NULL : find_wait(run, decided->request);
    bool is_over = decided->decision == NULL || strcmp(decided->decision, "needs_info") != 0;
    if (wait != NULL && is_over) {
        end_wait(spans, run, wait, event->time_ns, decided->decision);
    }
}

void spans_end_waits(struct spans *spans, struct span_run *run, int64_t end_ns)
{
    while (run->wait_count > 0) {
        end_wait(spans, run, &run->waits[0], end_ns, "run_ended");
    }
}
