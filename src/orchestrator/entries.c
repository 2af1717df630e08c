// SPDX-License-Identifier: Apache-2.0
/* The runs that are meant to be executed here, in memory. (In the store: assignment.h.) */
#include "base/memory.h"
#include "orchestrator/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct run_entry *entry_find(struct orchestrator *orchestrator, const char *run_id)
{
    struct run_entry *entry = NULL;
    HASH_FIND_STR(orchestrator->entries, run_id, entry);
    return entry;
}

/** Where an entry in this state is counted, beside the threads; NULL = nowhere. */
static uint64_t *count_of(struct orchestrator *orchestrator, enum entry_state state)
{
    return state == ENTRY_QUEUED   ? &orchestrator->queued
           : state == ENTRY_PAUSED ? &orchestrator->paused
                                   : NULL;
}

static bool is_executing(const struct run_entry *entry)
{
    return entry->state == ENTRY_OPENING || entry->state == ENTRY_RUNNING;
}

static void count_executing(struct run_entry *entry)
{
    if (is_executing(entry) && entry->turn != NULL) {
        entry->turn->executing++;
        turn_note_served(entry->turn, entry->since_ns);
    }
}

static void enter(struct orchestrator *orchestrator, struct run_entry *entry)
{
    uint64_t *count = count_of(orchestrator, entry->state);
    if (count != NULL) {
        ++*count;
    }
    if (entry->state == ENTRY_PAUSED) {
        entry->is_new_paused = true;
        orchestrator->has_new_paused = true;
    }
    if (entry->state == ENTRY_QUEUED) {
        DL_APPEND(orchestrator->queue, entry);
        entry->is_new = true;
        orchestrator->new_queued++;
    }
    entry->since_ns = clock_now(orchestrator_clock(orchestrator));
    count_executing(entry);
    pthread_cond_broadcast(&orchestrator->changed);
}

static void leave(struct orchestrator *orchestrator, struct run_entry *entry)
{
    uint64_t *count = count_of(orchestrator, entry->state);
    if (count != NULL) {
        --*count;
    }
    if (entry->state == ENTRY_QUEUED) {
        DL_DELETE(orchestrator->queue, entry);
        orchestrator->new_queued -= entry->is_new ? 1 : 0;
        entry->is_new = false;
    }
    if (is_executing(entry) && entry->turn != NULL) {
        entry->turn->executing--;
    }
}

void entry_place(struct orchestrator *orchestrator, struct run_entry *entry,
                 const struct placement *place)
{
    if (entry->turn == NULL && place->agent != NULL && place->agent[0] != '\0') {
        entry->turn = turns_use(&orchestrator->turns, place->agent);
        count_executing(entry);
    }
    free(entry->pool);
    free(entry->workspace);
    entry->pool = memory_dup_string(place->pool);
    entry->workspace = memory_dup_string(place->workspace);
    entry->fits = placement_fits(orchestrator, place->pool);
}

struct placement entry_placement(const struct run_entry *entry)
{
    return (struct placement){
        .agent = entry->turn == NULL ? NULL : entry->turn->agent,
        .pool = entry->pool,
        .workspace = entry->workspace,
    };
}

static void tell_settled(const struct orchestrator *orchestrator)
{
    if (orchestrator->options.on_settled != NULL) {
        orchestrator->options.on_settled(orchestrator->options.settled_context);
    }
}

struct run_entry *entry_add(struct orchestrator *orchestrator, const char *run_id,
                            enum entry_state state, const char *by)
{
    struct run_entry *entry = memory_new_zero(1, sizeof(*entry));
    snprintf(entry->run_id, sizeof(entry->run_id), "%s", run_id);
    snprintf(entry->by, sizeof(entry->by), "%s", by == NULL ? "" : by);
    entry->state = state;
    entry->fits = true;
    HASH_ADD_STR(orchestrator->entries, run_id, entry);
    enter(orchestrator, entry);
    return entry;
}

void entry_set(struct orchestrator *orchestrator, struct run_entry *entry, enum entry_state state)
{
    leave(orchestrator, entry);
    entry->state = state;
    enter(orchestrator, entry);
    if (state == ENTRY_PAUSED) {
        tell_settled(orchestrator);
    }
}

void entry_first(struct orchestrator *orchestrator, struct run_entry *entry)
{
    DL_DELETE(orchestrator->queue, entry);
    DL_PREPEND(orchestrator->queue, entry);
}

void entry_remove(struct orchestrator *orchestrator, struct run_entry *entry)
{
    leave(orchestrator, entry);
    HASH_DEL(orchestrator->entries, entry);
    turns_release(&orchestrator->turns, entry->turn);
    free(entry->pool);
    free(entry->workspace);
    free(entry);
    pthread_cond_broadcast(&orchestrator->changed);
    tell_settled(orchestrator);
}
