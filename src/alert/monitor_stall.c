// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that execute and say nothing. A run counts when somebody alive holds it and it is not
 * paused; its silence is as old as its last event. The pause that its options put between
 * iterations is not silence.
 */
#include "alert/monitor_internal.h"

#include "base/memory.h"
#include "base/parse.h"
#include "loop/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Looks at the runs in one stall time, and the shortest time between two. */
#define SCANS       10
#define SCAN_MIN_NS NS_PER_S
#define SCAN_MAX_NS (30 * NS_PER_S)

struct silent {
    struct store_run *runs;
    size_t count;
    size_t size;
    int64_t now_ns;
    int64_t stall_ns;
};

static bool take_run(const struct store_run *run, void *context)
{
    struct silent *silent = context;
    if (silent->now_ns - run->updated_ns < silent->stall_ns) {
        return false; /* All that follow were heard of later. */
    }
    bool is_executed = run->owner[0] != '\0' && run->lease_until_ns > silent->now_ns;
    if (!is_executed || run->summary.is_paused || run->last_seq == 0) {
        return true;
    }
    if (silent->count == silent->size) {
        silent->size = silent->size == 0 ? 16 : silent->size * 2;
        silent->runs = memory_resize(silent->runs, silent->size, sizeof(*silent->runs));
    }
    silent->runs[silent->count++] = *run;
    return true;
}

struct last_event {
    uint64_t seq;
    uint64_t position;
    int64_t time_ns;
};

static bool take_last(const struct store_event *event, void *context)
{
    *(struct last_event *)context = (struct last_event){
        .seq = event->seq,
        .position = event->position,
        .time_ns = event->time_ns,
    };
    return true;
}

static void add_warning(struct monitor *monitor, const struct store_run *run,
                        const struct run_note *note, const struct last_event *last, int64_t now_ns)
{
    char time[FORMAT_DURATION_SIZE];
    struct warning *warning = monitor_add_found(monitor, (int64_t)run->epoch);
    format_duration(now_ns - last->time_ns, time);
    warning->kind = WARNING_STALLED;
    snprintf(warning->id, sizeof(warning->id), "%020" PRIu64 "-stalled-%s", monitor->reached,
             run->id);
    snprintf(warning->run_id, sizeof(warning->run_id), "%s", run->id);
    snprintf(warning->agent_id, sizeof(warning->agent_id), "%s", note->agent_id);
    snprintf(warning->message, sizeof(warning->message), "nothing happened for %s", time);
    warning->time_ns = now_ns;
    warning->iteration = (int64_t)run->summary.iteration;
    warning->seq = last->seq;
    warning->position = last->position;
}

static int weigh(struct monitor *monitor, const struct store_run *run, int64_t now_ns,
                 struct rondo_error *err)
{
    struct last_event last = {0};
    struct run_note *note = NULL;
    int r = monitor_note(monitor, run->id, &note, err);
    if (r < 0 || note->stalled_seq == run->last_seq || owner_is_dead(run->owner)) {
        return r;
    }
    r = monitor->store->ops->read_events(monitor->store, run->id, run->last_seq - 1, 1, take_last,
                                         &last, err);
    bool is_known = last.seq == 0 || note->stalled_seq == last.seq;
    if (r < 0 || is_known || note->is_prd ||
        now_ns - last.time_ns - note->delay_ns < monitor->stall_ns) {
        return r;
    }
    note->stalled_seq = last.seq;
    note->is_changed = true;
    add_warning(monitor, run, note, &last, now_ns);
    return 0;
}

int64_t monitor_stall_pause_ns(const struct monitor *monitor)
{
    int64_t pause_ns = monitor->stall_ns / SCANS;
    pause_ns = pause_ns < SCAN_MIN_NS ? SCAN_MIN_NS : pause_ns;
    pause_ns = pause_ns > SCAN_MAX_NS ? SCAN_MAX_NS : pause_ns;
    return monitor->stall_ns < 0 ? -1 : pause_ns;
}

static bool is_due(struct monitor *monitor)
{
    int64_t pause_ns = monitor_stall_pause_ns(monitor);
    int64_t now_ns = clock_monotonic(monitor->clock);
    if (pause_ns < 0 || (monitor->scanned_ns != 0 && now_ns - monitor->scanned_ns < pause_ns)) {
        return false;
    }
    monitor->scanned_ns = now_ns;
    return true;
}

/** The orchestrator reports it. */
static void skip_damaged(const struct store_damaged_run *damaged, void *context)
{
    (void)damaged;
    (void)context;
}

int monitor_find_stalled(struct monitor *monitor, struct rondo_error *err)
{
    if (!is_due(monitor)) {
        return 0;
    }
    struct silent silent = {
        .now_ns = clock_now(monitor->clock),
        .stall_ns = monitor->stall_ns,
    };
    struct store_run_query query = {
        .only_running = true,
        .order = STORE_BY_UPDATED,
        .is_ascending = true,
        .damaged = skip_damaged,
    };
    int r = monitor->store->ops->list_runs(monitor->store, &query, take_run, &silent, err);
    for (size_t i = 0; r == 0 && i < silent.count; i++) {
        r = weigh(monitor, &silent.runs[i], silent.now_ns, err);
        r = r == RONDO_ERR_CORRUPT ? 0 : r; /* A damaged run does not silence the others. */
    }
    free(silent.runs);
    return r;
}
