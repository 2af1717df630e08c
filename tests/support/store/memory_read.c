// SPDX-License-Identifier: Apache-2.0
/* Reading from the memory back end. Threads: the store's mutex is held, callbacks included. */
#include "base/error.h"
#include "memory_rows.h"

#include <string.h>

int memory_get_run(struct store *base, const char *run_id, struct store_run *ret_run,
                   struct rondo_error *err)
{
    struct memory_store *store = memory_rows_lock(base);
    const struct memory_run *run = memory_rows_find(store, run_id);
    if (run != NULL) {
        *ret_run = run->row;
    }
    memory_rows_unlock(store);
    return run != NULL ? 0 : memory_rows_missing(run_id, err);
}

/** Index of the first event after `position`. */
static size_t index_behind(const struct event_array *order, uint64_t position)
{
    size_t low = 0;
    size_t high = order->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order->items[middle]->position <= position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool give_event(const struct memory_event *event, store_event_fn *fn, void *context)
{
    const struct store_event view = {
        .run_id = event->run->row.id,
        .position = event->position,
        .seq = event->seq,
        .time_ns = event->time_ns,
        .type = event->type,
        .data = event->data,
        .data_len = event->data_len,
    };
    return fn(&view, context);
}

int memory_read_events(struct store *base, const char *run_id, uint64_t after, uint32_t limit,
                       store_event_fn *fn, void *context, struct rondo_error *err)
{
    (void)err;
    static const struct event_array none;
    struct memory_store *store = memory_rows_lock(base);
    const struct event_array *events = &store->order;
    if (run_id != NULL) {
        const struct memory_run *run = memory_rows_find(store, run_id);
        events = run != NULL ? &run->events : &none;
    }
    size_t i = after < events->count ? (size_t)after : events->count;
    if (run_id == NULL) {
        i = index_behind(events, after);
    }
    uint32_t given = 0;
    while (i < events->count && (limit == 0 || given < limit) &&
           give_event(events->items[i], fn, context)) {
        i++;
        given++;
    }
    memory_rows_unlock(store);
    return 0;
}

int memory_list_checkpoints(struct store *base, const char *run_id, store_checkpoint_fn *fn,
                            void *context, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    const struct memory_run *run = memory_rows_find(store, run_id);
    const struct memory_checkpoint *checkpoint = run != NULL ? run->checkpoints : NULL;
    for (; checkpoint != NULL; checkpoint = checkpoint->next) {
        struct store_checkpoint view = checkpoint->content;
        view.state = NULL;
        view.state_len = 0;
        view.fold = NULL;
        if (!fn(&view, context)) {
            break;
        }
    }
    memory_rows_unlock(store);
    return 0;
}

int memory_get_checkpoint(struct store *base, const char *run_id, uint64_t number,
                          store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    struct memory_store *store = memory_rows_lock(base);
    const struct memory_run *run = memory_rows_find(store, run_id);
    bool is_interim = number == STORE_INTERIM;
    const struct memory_checkpoint *checkpoint = run == NULL  ? NULL
                                                 : is_interim ? run->interim
                                                              : run->checkpoints;
    while (checkpoint != NULL && !is_interim && number != 0 &&
           checkpoint->content.number != number) {
        checkpoint = checkpoint->next;
    }
    if (checkpoint != NULL) {
        fn(&checkpoint->content, context);
    }
    memory_rows_unlock(store);
    return checkpoint != NULL
               ? 0
               : error_set(err, RONDO_ERR_NOT_FOUND, "run %s has no such checkpoint", run_id);
}

static bool give_letters(const struct memory_run *run, store_letter_fn *fn, void *context)
{
    const struct memory_letter *letter;
    DL_FOREACH(run->letters, letter)
    {
        const struct store_letter view = {
            .run_id = run->row.id,
            .id = letter->id,
            .time_ns = letter->time_ns,
            .kind = letter->kind,
            .data = letter->data,
        };
        if (!fn(&view, context)) {
            return false;
        }
    }
    return true;
}

int memory_read_mail(struct store *base, const char *run_id, const char *owner, store_letter_fn *fn,
                     void *context, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    if (run_id != NULL) {
        const struct memory_run *run = memory_rows_find(store, run_id);
        if (run != NULL) {
            give_letters(run, fn, context);
        }
    } else {
        const struct memory_run *run;
        DL_FOREACH2(store->owned, run, owned_next)
        {
            if (strcmp(run->row.owner, owner) == 0 && !give_letters(run, fn, context)) {
                break;
            }
        }
    }
    memory_rows_unlock(store);
    return 0;
}

int memory_last_position(struct store *base, uint64_t *ret_position, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    *ret_position = store->last_position;
    memory_rows_unlock(store);
    return 0;
}
