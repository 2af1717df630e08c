// SPDX-License-Identifier: Apache-2.0
/* The last pause of a run names the calls that it waits for. */
#include "worker/decided.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "handoff/inbox/inbox.h"
#include "journal/reader.h"

#include <json-c/json.h>

/** Events at the end of a journal among which that of the pause is. */
#define LAST_EVENTS 64

/** Keep what the last pause of a run says. */
static bool find_pause(const struct journal_entry *entry, void *context)
{
    struct buf *handoffs = context;
    if (entry->is_known && entry->event.type == JOURNAL_RUN_PAUSED) {
        const char *json = entry->event.run_paused.handoffs;
        buf_clear(handoffs);
        buf_append_string(handoffs, json == NULL ? "" : json);
    }
    return true;
}

static int is_any_decided(const struct handoff_store *handoffs, const struct buf *json,
                          bool *ret_is_decided, struct rondo_error *err)
{
    auto_json struct json_object *list = NULL;
    int r = json_parse(json->data, json->len, &list, err);
    size_t count =
        r == 0 && json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < count && r == 0 && !*ret_is_decided; i++) {
        struct handoff handoff;
        const char *id = json_object_get_string(json_object_array_get_idx(list, i));
        r = handoff_read(handoffs, id == NULL ? "" : id, &handoff, err);
        *ret_is_decided =
            r == RONDO_ERR_NOT_FOUND ||
            (r == 0 && (!handoff_is_waiting(&handoff) || handoff.state == HANDOFF_NEEDS_INFO));
        r = r == RONDO_ERR_NOT_FOUND ? 0 : r;
    }
    return r;
}

int worker_is_decided(struct runtime *runtime, const char *run_id, bool *ret_is_decided,
                      struct rondo_error *err)
{
    struct store *store = runtime_store(runtime);
    struct handoff_store handoffs = runtime_handoffs(runtime);
    struct store_run run;
    auto_buf struct buf pause = {0};
    *ret_is_decided = false;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r < 0 || !run.summary.is_paused) {
        return r;
    }
    uint64_t after = run.last_seq > LAST_EVENTS ? run.last_seq - LAST_EVENTS : 0;
    r = journal_visit(store, run_id, after, 0, find_pause, &pause, err);
    return r < 0 || pause.len == 0 ? r : is_any_decided(&handoffs, &pause, ret_is_decided, err);
}
