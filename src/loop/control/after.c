// SPDX-License-Identifier: Apache-2.0
/*
 * Events of a run that nobody executes. No claim is recorded, for that would continue the run: the
 * batch carries the epoch of the last owner, so that it is refused once somebody has claimed it.
 */
#include "loop/control/control.h"

#include "base/auto.h"
#include "base/error.h"
#include "journal/event.h"

/** Times that others may record something of the run at the same time. */
#define RECORD_TRIES 8

int loop_record_after(struct runtime *runtime, const char *run_id,
                      const struct journal_event *event, struct rondo_error *err)
{
    struct store *store = runtime_store(runtime);
    struct store_commit_result result = {.outcome = STORE_ALREADY_COMMITTED};
    auto_buf struct buf data = {0};
    journal_encode(event, &data);
    const struct store_event stored = {
        .time_ns = clock_now(runtime_clock(runtime)),
        .type = journal_type_name(event->type),
        .data = data.data,
        .data_len = data.len,
    };
    /* Committed already: the event at this place is somebody else's. */
    for (int i = 0; i < RECORD_TRIES && result.outcome == STORE_ALREADY_COMMITTED; i++) {
        struct rondo_error why = {0};
        struct store_run row;
        int r = store->ops->get_run(store, run_id, &row, &why);
        if (r == RONDO_ERR_NOT_FOUND || (r == 0 && row.owner[0] != '\0')) {
            return 0;
        }
        if (r < 0) {
            return error_set(err, r, "%s", why.message);
        }
        const struct store_batch batch = {
            .run_id = run_id,
            .epoch = row.epoch,
            .first_seq = row.last_seq + 1,
            .events = &stored,
            .event_count = 1,
            .summary = row.summary,
        };
        r = writer_commit(runtime_writer(runtime), &batch, &result, err);
        if (r < 0) {
            return r;
        }
    }
    return result.outcome == STORE_COMMITTED;
}
