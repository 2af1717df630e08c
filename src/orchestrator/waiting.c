// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that wait here or are paused here. Nobody executes them, so a command that pauses, continues
 * or stops one makes the change in the store itself, and the server finds out by looking.
 */
#include "base/memory.h"
#include "orchestrator/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** An entry as it was when the look began. */
struct seen_entry {
    char run_id[ID_SIZE];
    enum entry_state state;
    int64_t since_ns;
};

static bool is_idle(const struct run_entry *entry)
{
    return entry->state == ENTRY_QUEUED || entry->state == ENTRY_PAUSED;
}

static struct seen_entry *list_idle(struct orchestrator *orchestrator, size_t *ret_count)
{
    pthread_mutex_lock(&orchestrator->lock);
    size_t room = HASH_COUNT(orchestrator->entries);
    size_t count = 0;
    struct seen_entry *list = memory_new_zero(room + 1, sizeof(*list));
    for (const struct run_entry *entry = orchestrator->entries; entry != NULL;
         entry = entry->hh.next) {
        if (is_idle(entry)) {
            struct seen_entry *seen = &list[count++];
            memcpy(seen->run_id, entry->run_id, sizeof(seen->run_id));
            seen->state = entry->state;
            seen->since_ns = entry->since_ns;
        }
    }
    pthread_mutex_unlock(&orchestrator->lock);
    *ret_count = count;
    return list;
}

/** Keep others from the entry, unless one of them was faster: NULL. */
static struct run_entry *reserve_entry(struct orchestrator *orchestrator,
                                       const struct seen_entry *seen)
{
    pthread_mutex_lock(&orchestrator->lock);
    struct run_entry *entry = entry_find(orchestrator, seen->run_id);
    bool is_same = entry != NULL && entry->state == seen->state &&
                   entry->since_ns == seen->since_ns && !orchestrator->is_draining;
    if (is_same) {
        entry_set(orchestrator, entry, ENTRY_CHANGING);
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return is_same ? entry : NULL;
}

static int forget(struct orchestrator *orchestrator, const struct seen_entry *seen,
                  struct rondo_error *err)
{
    struct run_entry *entry = reserve_entry(orchestrator, seen);
    if (entry == NULL) {
        return 0;
    }
    int r = assignment_remove(orchestrator, seen->run_id, err);
    pthread_mutex_lock(&orchestrator->lock);
    entry_remove(orchestrator, entry); /* A record that stays is of no use to the next start. */
    pthread_mutex_unlock(&orchestrator->lock);
    return r;
}

/** Whether another living server has taken it: 1, 0 or a code. */
static int is_elsewhere(struct orchestrator *orchestrator, const char *run_id,
                        struct rondo_error *err)
{
    struct assignment assignment;
    int r = assignment_read(orchestrator_store(orchestrator), run_id, &assignment, err);
    pthread_mutex_lock(&orchestrator->lock);
    bool is_known = r > 0 && registration_knows(orchestrator, assignment.server);
    pthread_mutex_unlock(&orchestrator->lock);
    return r < 0 ? r : is_known;
}

/** @param state what it is from now on; when that cannot be recorded it stays as it was */
static int change(struct orchestrator *orchestrator, const struct seen_entry *seen,
                  enum entry_state state, struct rondo_error *err)
{
    struct run_entry *entry = reserve_entry(orchestrator, seen);
    if (entry == NULL) {
        return 0;
    }
    int r = is_elsewhere(orchestrator, seen->run_id, err);
    bool is_gone = r > 0;
    const struct placement place = entry_placement(entry);
    if (r == 0) {
        r = assignment_put(orchestrator, seen->run_id,
                           state == ENTRY_PAUSED ? ASSIGNMENT_PAUSED : ASSIGNMENT_QUEUED, entry->by,
                           &place, err);
    }
    pthread_mutex_lock(&orchestrator->lock);
    entry->retry_ns = 0;
    entry->is_taken = entry->is_taken && r < 0;
    if (is_gone) {
        entry_remove(orchestrator, entry);
    } else {
        entry_set(orchestrator, entry, r < 0 ? seen->state : state);
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return r < 0 ? r : 0;
}

static int check_waiting(struct orchestrator *orchestrator, const struct seen_entry *seen,
                         struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct store_run run;
    int r = store->ops->get_run(store, seen->run_id, &run, err);
    if (r == RONDO_ERR_NOT_FOUND || (r == 0 && run.summary.status != RONDO_RUNNING)) {
        return forget(orchestrator, seen, err);
    }
    enum entry_state state = run.summary.is_paused ? ENTRY_PAUSED : ENTRY_QUEUED;
    if (r < 0 || state == seen->state) {
        return r;
    }
    r = change(orchestrator, seen, state, err);
    if (r == 0 && state == ENTRY_QUEUED) {
        orchestrator_tell(orchestrator, "run %s was continued and is executed here", seen->run_id);
    }
    return r;
}

int waiting_look(struct orchestrator *orchestrator, const char *run_id, struct rondo_error *err)
{
    struct seen_entry seen = {0};
    pthread_mutex_lock(&orchestrator->lock);
    const struct run_entry *entry = entry_find(orchestrator, run_id);
    bool is_paused = entry != NULL && entry->state == ENTRY_PAUSED;
    if (is_paused) {
        memcpy(seen.run_id, entry->run_id, sizeof(seen.run_id));
        seen.state = entry->state;
        seen.since_ns = entry->since_ns;
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return is_paused ? check_waiting(orchestrator, &seen, err) : 0;
}

int waiting_scan(struct orchestrator *orchestrator, struct rondo_error *err)
{
    size_t count = 0;
    int r = 0;
    struct seen_entry *list = list_idle(orchestrator, &count);
    for (size_t i = 0; i < count && r == 0; i++) {
        r = check_waiting(orchestrator, &list[i], err);
    }
    free(list);
    return r;
}
