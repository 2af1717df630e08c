// SPDX-License-Identifier: Apache-2.0
/* Rows of the memory back end. The mutex is held; see memory_rows.h. */
#include "memory_rows.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

struct memory_store *memory_rows_lock(struct store *base)
{
    struct memory_store *store = (struct memory_store *)base;
    pthread_mutex_lock(&store->mutex);
    return store;
}

void memory_rows_unlock(struct memory_store *store)
{
    pthread_mutex_unlock(&store->mutex);
}

struct memory_run *memory_rows_find(struct memory_store *store, const char *run_id)
{
    struct memory_run *run = NULL;
    HASH_FIND_STR(store->by_id, run_id, run);
    return run;
}

int memory_rows_missing(const char *run_id, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
}

static void append_event(struct event_array *array, struct memory_event *event)
{
    if (array->count == array->size) {
        array->size = array->size == 0 ? 8 : array->size * 2;
        array->items = memory_resize(array->items, array->size, sizeof(*array->items));
    }
    array->items[array->count++] = event;
}

void memory_rows_set_owner(struct memory_store *store, struct memory_run *run, const char *owner)
{
    bool was_owned = run->row.owner[0] != '\0';
    bool is_owned = owner[0] != '\0';
    if (was_owned && !is_owned) {
        DL_DELETE2(store->owned, run, owned_prev, owned_next);
    } else if (!was_owned && is_owned) {
        DL_APPEND2(store->owned, run, owned_prev, owned_next);
    }
    snprintf(run->row.owner, sizeof(run->row.owner), "%s", owner);
}

void memory_rows_free_checkpoint(struct memory_checkpoint *checkpoint)
{
    if (checkpoint == NULL) {
        return;
    }
    free((void *)checkpoint->content.state);
    free((void *)checkpoint->content.fold);
    free((void *)checkpoint->content.custom_data);
    free((void *)checkpoint->content.conditions);
    free(checkpoint);
}

void memory_rows_free_letter(struct memory_letter *letter)
{
    free(letter->kind);
    free(letter->data);
    free(letter);
}

void memory_rows_delete(struct memory_store *store, struct memory_run *run)
{
    struct memory_checkpoint *checkpoint, *next_checkpoint;
    DL_FOREACH_SAFE(run->checkpoints, checkpoint, next_checkpoint)
    {
        memory_rows_free_checkpoint(checkpoint);
    }
    memory_rows_free_checkpoint(run->interim);
    struct memory_letter *letter, *next_letter;
    DL_FOREACH_SAFE(run->letters, letter, next_letter)
    {
        memory_rows_free_letter(letter);
    }
    for (size_t i = 0; i < run->events.count; i++) {
        free(run->events.items[i]);
    }
    free(run->events.items);
    memory_rows_set_owner(store, run, "");
    DL_DELETE(store->runs, run);
    HASH_DEL(store->by_id, run);
    free(run);
}

void memory_rows_insert_events(struct memory_store *store, struct memory_run *run,
                               const struct store_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t type_size = strlen(events[i].type) + 1;
        struct memory_event *event =
            memory_new(sizeof(*event) + events[i].data_len + 1 + type_size);
        event->run = run;
        event->position = ++store->last_position;
        event->seq = run->events.count + 1;
        event->time_ns = events[i].time_ns;
        event->data_len = events[i].data_len;
        memcpy(event->data, events[i].data, events[i].data_len);
        event->data[event->data_len] = '\0';
        memcpy(event->data + event->data_len + 1, events[i].type, type_size);
        event->type = event->data + event->data_len + 1;
        append_event(&run->events, event);
        append_event(&store->order, event);
    }
    run->row.last_seq = run->events.count;
}
