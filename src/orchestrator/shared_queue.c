// SPDX-License-Identifier: Apache-2.0
/*
 * The queue of all servers. A run that waits has an assignment in the store, which says queued.
 * While other servers live, each run is taken by changing that document from the version that was
 * read: of several servers one succeeds, and claims the run then. So a run may begin on any server
 * that has room and where it may be executed, and what waits in a server that died is taken by the
 * others. A server that is alone begins what is in its memory (executor.c), in the same order of
 * turns.
 *
 * The time between two looks follows from how long they take, so a long queue costs a server a
 * tenth of its time at most.
 */
#include "base/memory.h"
#include "orchestrator/internal.h"

#include <stdlib.h>
#include <string.h>

/** From one look to the next, and how many times as long as the look itself. */
#define QUEUE_LOOK_NS   (200 * NS_PER_MS)
#define QUEUE_LOOK_COST 10

/** What is looked at. */
struct queue_look {
    struct orchestrator *orchestrator;
    struct assignment *list; /* oldest first */
    size_t count;
    struct agent_turn **waiting; /* of list[i], if it may be taken here; else NULL */
    struct turns turns;
};

static uint64_t room_of(struct orchestrator *orchestrator)
{
    uint64_t running = orchestrator->running;
    uint64_t most = orchestrator->admission.max_loops;
    bool may_take = orchestrator->has_peers && !orchestrator->is_draining &&
                    clock_monotonic(orchestrator_clock(orchestrator)) >= orchestrator->queue_due_ns;
    return may_take && running < most ? most - running : 0;
}

/** Whether this process is busy with it, or is to try it later. */
static bool is_busy_with(struct orchestrator *orchestrator, const char *run_id)
{
    const struct run_entry *entry = entry_find(orchestrator, run_id);
    return entry != NULL && (entry->state != ENTRY_QUEUED || entry->is_taken);
}

static bool may_take(struct orchestrator *orchestrator, const struct assignment *assignment)
{
    const struct placement place = assignment_placement(assignment);
    bool is_ours = strcmp(assignment->server, runtime_owner(orchestrator->options.runtime)) == 0;
    return assignment->state == ASSIGNMENT_QUEUED && assignment->agent[0] != '\0' &&
           (is_ours || orchestrator->options.orphans == ORPHANS_RESUME) &&
           !is_busy_with(orchestrator, assignment->run_id) &&
           placement_allows(orchestrator, &place, assignment->server);
}

/** Count what all servers execute, and find what may be taken. */
static void prepare(struct queue_look *look)
{
    struct orchestrator *orchestrator = look->orchestrator;
    look->waiting = memory_new_zero(look->count + 1, sizeof(*look->waiting));
    pthread_mutex_lock(&orchestrator->lock);
    for (size_t i = 0; i < look->count; i++) {
        const struct assignment *assignment = &look->list[i];
        if (assignment->state == ASSIGNMENT_RUNNING && assignment->agent[0] != '\0') {
            struct agent_turn *known = turns_use(&orchestrator->turns, assignment->agent);
            turn_note_served(known, assignment->since_ns);
            turns_release(&orchestrator->turns, known);
            turns_of(&look->turns, assignment->agent)->executing++;
        } else if (may_take(orchestrator, assignment)) {
            struct agent_turn *known = turns_use(&orchestrator->turns, assignment->agent);
            look->waiting[i] = turns_of(&look->turns, assignment->agent);
            turn_note_served(look->waiting[i], known->served_ns);
            turns_release(&orchestrator->turns, known);
        }
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

/** @return index of the one whose turn it is; look->count when none is left */
static size_t pick(const struct queue_look *look)
{
    size_t best = look->count;
    for (size_t i = 0; i < look->count; i++) {
        if (look->waiting[i] != NULL &&
            (best == look->count || turn_is_before(look->waiting[i], look->waiting[best]))) {
            best = i;
        }
    }
    return best;
}

/** The document says that it is ours. */
static void begin(struct orchestrator *orchestrator, const struct assignment *assignment)
{
    const struct placement place = assignment_placement(assignment);
    pthread_mutex_lock(&orchestrator->lock);
    struct run_entry *entry = entry_find(orchestrator, assignment->run_id);
    if (entry == NULL) {
        entry = entry_add(orchestrator, assignment->run_id, ENTRY_QUEUED, assignment->by);
        entry_place(orchestrator, entry, &place);
    }
    if (entry->state == ENTRY_QUEUED) {
        entry->is_taken = true;
        entry->is_orphan = entry->is_orphan || strcmp(assignment->by, BY_TAKEOVER) == 0;
        entry->is_recorded = true;
        entry->retry_ns = 0;
        if (!orchestrator->is_draining) {
            executor_begin_entry(orchestrator, entry);
        }
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

static int take_some(struct queue_look *look, uint64_t room, struct rondo_error *err)
{
    int r = 0;
    size_t i;
    while (room > 0 && r == 0 && (i = pick(look)) < look->count) {
        bool is_taken = false;
        r = assignment_take(look->orchestrator, &look->list[i], &is_taken, err);
        if (r == 0 && is_taken) {
            look->waiting[i]->executing++;
            begin(look->orchestrator, &look->list[i]);
            room--;
        }
        look->waiting[i] = NULL;
    }
    return r;
}

int shared_queue_take(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct queue_look look = {.orchestrator = orchestrator};
    pthread_mutex_lock(&orchestrator->lock);
    uint64_t room = room_of(orchestrator);
    pthread_mutex_unlock(&orchestrator->lock);
    if (room == 0) {
        return 0;
    }
    int64_t begun_ns = clock_monotonic(clock_system());
    int r = assignment_list(orchestrator_store(orchestrator), &look.list, &look.count, err);
    int64_t cost_ns = (clock_monotonic(clock_system()) - begun_ns) * QUEUE_LOOK_COST;
    if (r == 0) {
        prepare(&look);
        r = take_some(&look, room, err);
    }
    assignment_list_free(look.list, look.count);
    free(look.waiting);
    turns_fini(&look.turns);
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->queue_due_ns = clock_monotonic(orchestrator_clock(orchestrator)) +
                                 (cost_ns > QUEUE_LOOK_NS ? cost_ns : QUEUE_LOOK_NS);
    pthread_mutex_unlock(&orchestrator->lock);
    return r;
}
