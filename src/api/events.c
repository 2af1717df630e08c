// SPDX-License-Identifier: Apache-2.0
/* Stopping and pausing runs, and following their events. */
#include "api/internal.h"
#include "base/memory.h"
#include "journal/describe.h"
#include "journal/reader.h"
#include "loop/control/control.h"
#include "store/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** Have something done with a run, in the name of this process. */
static int steer(struct rondo *rondo, const char *run_id,
                 int (*act)(const struct loop_parts *parts, const char *run_id, const char *by,
                            struct rondo_error *err),
                 struct rondo_error *err)
{
    struct store_run run;
    int r = store_find_run(rondo->store, run_id, NULL, &run, err);
    if (r < 0) {
        return r;
    }
    struct loop_parts parts = {.runtime = rondo->runtime};
    char by[64];
    snprintf(by, sizeof(by), "process %ld", (long)getpid());
    r = act(&parts, run.id, by, err);
    return r < 0 ? r : 0;
}

int rondo_stop_run(struct rondo *rondo, const char *run_id, struct rondo_error *err)
{
    return steer(rondo, run_id, loop_stop_run, err);
}

int rondo_pause_run(struct rondo *rondo, const char *run_id, struct rondo_error *err)
{
    return steer(rondo, run_id, loop_pause_run, err);
}

int rondo_continue_run(struct rondo *rondo, const char *run_id, struct rondo_error *err)
{
    return steer(rondo, run_id, loop_continue_run, err);
}

struct rondo_subscription {
    struct journal_reader *reader;
    struct buf text; /* of the event handed out last */
};

struct rondo_subscription *rondo_subscribe(struct rondo *rondo, const char *run_id, uint64_t after)
{
    struct rondo_subscription *subscription = memory_new_zero(1, sizeof(*subscription));
    subscription->reader = journal_reader_new(runtime_writer(rondo->runtime), run_id, after);
    return subscription;
}

int rondo_subscription_next(struct rondo_subscription *subscription, int64_t timeout_ns,
                            struct rondo_event *ret_event, struct rondo_error *err)
{
    const struct journal_entry *entry = NULL;
    int r = journal_reader_next(subscription->reader, timeout_ns, NULL, &entry, err);
    if (r == 1) {
        struct event_description description;
        event_describe(entry, &description);
        buf_fini(&subscription->text);
        subscription->text = description.text;
        *ret_event = (struct rondo_event){
            .run_id = entry->run_id,
            .position = entry->position,
            .seq = entry->event.seq,
            .time_ns = entry->event.time_ns,
            .type = entry->type_name,
            .data = entry->data,
            .category = event_category_name(description.category),
            .level = event_level_name(description.level),
            .text = buf_string(&subscription->text),
        };
    }
    return r;
}

void rondo_subscription_free(struct rondo_subscription *subscription)
{
    if (subscription == NULL) {
        return;
    }
    journal_reader_free(subscription->reader);
    buf_fini(&subscription->text);
    free(subscription);
}
