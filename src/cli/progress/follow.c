// SPDX-License-Identifier: Apache-2.0
/* Following a run over a journal reader. */
#include "cli/progress/follow.h"

#include "base/clock.h"
#include "journal/reader.h"

#include <inttypes.h>
#include <stdio.h>

/** How long to wait for the next event before looking around. */
#define WAIT_NS NS_PER_S

/** Whether the event with this seq is the run's last one and the run has ended. */
static bool is_end(struct store *store, const char *run_id, uint64_t seq)
{
    struct store_run run;
    return store->ops->get_run(store, run_id, &run, NULL) == 0 && run.last_seq == seq &&
           run.summary.status != RONDO_RUNNING;
}

int follow_run(struct session *session, const char *run_id, bool is_live, follow_fn *fn,
               void (*on_idle)(void *context), void *context, struct rondo_error *err)
{
    struct writer *writer = writer_new(session->store);
    struct journal_reader *reader = journal_reader_new(writer, run_id, 0);
    uint64_t seq = 0;
    int r;
    for (bool is_over = false; !is_over;) {
        const struct journal_entry *entry = NULL;
        r = journal_reader_next(reader, 0, NULL, &entry, err);
        if (r == 0 && on_idle != NULL) {
            on_idle(context);
        }
        if (r == 0 && is_live && !is_end(session->store, run_id, seq)) {
            r = journal_reader_next(reader, WAIT_NS, NULL, &entry, err);
            if (r == 0) {
                continue;
            }
        }
        is_over = r <= 0;
        if (r == 1) {
            seq = entry->event.seq;
            fn(entry, context);
        }
    }
    journal_reader_free(reader);
    writer_free(writer);
    return r;
}
