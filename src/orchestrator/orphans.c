// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that nobody executes any more because their process died, and runs that are recorded as
 * managed. Both are found by looking at the store every now and then; the claim of a run decides
 * which server gets it where several use one store.
 *
 * A dead run waits for a server no longer than two seconds after its lease is over, whichever
 * servers die meanwhile. A server takes a run by its document, and claims it then, which begins the
 * next lease. In between its death would go unnoticed until it was not seen for SERVER_LEASE_NS. So
 * a document that says "running" counts only while its server holds the run, or for
 * ASSIGNMENT_CLAIM_NS after it was written: then any server puts the run back into the queue. A
 * server that is slow rather than dead is refused by the claim. One that has to wait, because
 * another run of the agent is executed or the run could not be opened, says so by "deferred".
 */
#include "agent/spec/delegates.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/control/control.h"
#include "loop/owner.h"
#include "orchestrator/internal.h"
#include "work/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Later than any look at the store. */
#define FAR_NS (INT64_C(86400) * NS_PER_S)

/** What to do with a dead run. */
enum fate { FATE_NONE, FATE_TAKE_OVER, FATE_CLOSE, FATE_PARK };

/** Runs that seem to be dead. */
struct dead_runs {
    struct orchestrator *orchestrator;
    struct store_run *runs;
    size_t count;
    size_t room;
    char (*unheld)[ID_SIZE]; /**< runs that have no owner and are not paused */
    size_t unheld_count;
    size_t unheld_room;
    size_t others;         /**< that other processes have */
    int64_t lease_left_ns; /**< of the first of their leases to end */
};

static bool is_others(const struct orchestrator *orchestrator, const struct store_run *run)
{
    return run->summary.status == RONDO_RUNNING && !run->summary.is_paused &&
           run->owner[0] != '\0' &&
           strcmp(run->owner, runtime_owner(orchestrator->options.runtime)) != 0;
}

static bool is_dead(const struct orchestrator *orchestrator, const struct store_run *run)
{
    const struct clock *clock = runtime_clock(orchestrator->options.runtime);
    return is_others(orchestrator, run) && !run_is_executed(run, clock_now(clock));
}

static void add_unheld(struct dead_runs *finding, const char *run_id)
{
    if (finding->unheld_count == finding->unheld_room) {
        finding->unheld_room = finding->unheld_room * 2 + 16;
        finding->unheld =
            memory_resize(finding->unheld, finding->unheld_room, sizeof(*finding->unheld));
    }
    memcpy(finding->unheld[finding->unheld_count++], run_id, ID_SIZE);
}

static bool find_dead(const struct store_run *run, void *context)
{
    struct dead_runs *finding = context;
    if (run->owner[0] == '\0' && !run->summary.is_paused &&
        store_is_shared(orchestrator_store(finding->orchestrator))) {
        add_unheld(finding, run->id);
    }
    const struct clock *clock = orchestrator_clock(finding->orchestrator);
    bool is_of_others = is_others(finding->orchestrator, run);
    finding->others += is_of_others ? 1 : 0;
    if (!is_dead(finding->orchestrator, run)) {
        int64_t left_ns = run->lease_until_ns - clock_now(clock);
        if (is_of_others && left_ns < finding->lease_left_ns) {
            finding->lease_left_ns = left_ns;
        }
        return true;
    }
    if (finding->count == finding->room) {
        finding->room = finding->room * 2 + 16;
        finding->runs = memory_resize(finding->runs, finding->room, sizeof(*finding->runs));
    }
    finding->runs[finding->count++] = *run;
    return true;
}

static bool is_due(const struct orchestrator *orchestrator, const struct store_run *run)
{
    int64_t seen_ns = run->alive_ns > 0 ? run->alive_ns : run->updated_ns;
    int64_t now_ns = clock_now(orchestrator_clock(orchestrator));
    return now_ns - seen_ns >= orchestrator->options.close_after_ns;
}

static int fate_by_kind(const struct orchestrator *orchestrator, const struct store_run *run,
                        enum fate *ret_fate, struct rondo_error *err)
{
    struct loop_spec spec;
    int r = loop_recorded_spec(orchestrator_store(orchestrator), run->id, &spec, err);
    if (r < 0) {
        return r;
    }
    char parent[ID_SIZE];
    if (delegates_find_parent(&spec, parent) || work_find_parent(&spec, parent)) {
        struct store_run row; /* The run that gave it away continues it, while there is one. */
        struct store *store = orchestrator_store(orchestrator);
        r = store->ops->get_run(store, parent, &row, err);
        bool is_wanted = r == 0 && row.ended_ns == 0;
        r = r == RONDO_ERR_NOT_FOUND ? 0 : r;
        *ret_fate = r == 0 && !is_wanted && is_due(orchestrator, run) ? FATE_CLOSE : FATE_NONE;
    } else if (!body_is_known(&spec)) {
        *ret_fate = is_due(orchestrator, run) ? FATE_CLOSE : FATE_NONE;
    } else if (spec.agent != NULL && agent_recorded_mode(&spec) == AGENT_CHAT) {
        *ret_fate = FATE_PARK; /* A person continues it. */
    } else {
        const struct placement place = placement_of(&spec);
        *ret_fate = placement_allows(orchestrator, &place, run->owner) ? FATE_TAKE_OVER : FATE_NONE;
    }
    loop_spec_fini(&spec);
    return r;
}

static int find_fate(const struct orchestrator *orchestrator, const struct store_run *run,
                     enum fate *ret_fate, struct rondo_error *err)
{
    switch (orchestrator->options.orphans) {
    case ORPHANS_LEAVE:
        *ret_fate = FATE_NONE;
        return 0;
    case ORPHANS_CLOSE:
        *ret_fate = is_due(orchestrator, run) ? FATE_CLOSE : FATE_NONE;
        return 0;
    case ORPHANS_RESUME:
        break;
    }
    return fate_by_kind(orchestrator, run, ret_fate, err);
}

/** Whether a document shows that another living server sees to a run, which that does not hold. */
static bool is_attended(const struct orchestrator *orchestrator,
                        const struct assignment *assignment)
{
    bool is_claiming = assignment->state == ASSIGNMENT_RUNNING &&
                       store_is_shared(orchestrator_store(orchestrator));
    return registration_knows(orchestrator, assignment->server) &&
           (!is_claiming ||
            orchestrator->store_now_ns - assignment->written_ns < ASSIGNMENT_CLAIM_NS);
}

/** Reserve an entry for it. NULL: there is one, the queue is full, or this server ends. */
static struct run_entry *reserve_entry(struct orchestrator *orchestrator, const char *run_id)
{
    pthread_mutex_lock(&orchestrator->lock);
    bool is_free = entry_find(orchestrator, run_id) == NULL &&
                   orchestrator->queued < orchestrator->options.max_queue &&
                   !orchestrator->is_draining;
    struct run_entry *entry =
        is_free ? entry_add(orchestrator, run_id, ENTRY_CHANGING, BY_TAKEOVER) : NULL;
    pthread_mutex_unlock(&orchestrator->lock);
    return entry;
}

/**
 * Record that a dead run waits.
 * @param ret_is_queued false: another living server than the dead one sees to it
 */
static int queue_dead(struct orchestrator *orchestrator, const struct store_run *run,
                      const struct loop_spec *spec, bool *ret_is_queued, struct rondo_error *err)
{
    struct assignment found = {0};
    int r = assignment_read(orchestrator_store(orchestrator), run->id, &found, err);
    *ret_is_queued = strcmp(found.server, run->owner) == 0 || !is_attended(orchestrator, &found);
    if (r < 0 || !*ret_is_queued) {
        return r < 0 ? r : 0;
    }
    const struct placement place = placement_of(spec);
    struct assignment waiting = {
        .since_ns = clock_now(orchestrator_clock(orchestrator)),
        .by = BY_TAKEOVER,
        .version = found.version,
        .workspace = spec->workspace,
    };
    snprintf(waiting.run_id, sizeof(waiting.run_id), "%s", run->id);
    snprintf(waiting.agent, sizeof(waiting.agent), "%s", place.agent == NULL ? "" : place.agent);
    snprintf(waiting.pool, sizeof(waiting.pool), "%s", place.pool == NULL ? "" : place.pool);
    return assignment_requeue(orchestrator, &waiting, ret_is_queued, err);
}

/** Put it in the queue; where that is full it is found again by the next look. */
static int take_over(struct orchestrator *orchestrator, const struct store_run *run,
                     struct rondo_error *err)
{
    struct loop_spec spec;
    bool is_queued = false;
    int r = loop_recorded_spec(orchestrator_store(orchestrator), run->id, &spec, err);
    if (r < 0) {
        return r;
    }
    const struct placement place = placement_of(&spec);
    struct run_entry *entry = reserve_entry(orchestrator, run->id);
    if (entry == NULL) {
        loop_spec_fini(&spec);
        return 0;
    }
    r = queue_dead(orchestrator, run, &spec, &is_queued, err);
    if (r == 0 && is_queued) {
        orchestrator_tell(orchestrator, "run %s, whose process died, is resumed here", run->id);
    }
    pthread_mutex_lock(&orchestrator->lock);
    entry->is_orphan = true;
    entry_place(orchestrator, entry, &place);
    if (r < 0 || !is_queued) {
        entry_remove(orchestrator, entry);
    } else {
        entry_set(orchestrator, entry, ENTRY_QUEUED);
    }
    pthread_mutex_unlock(&orchestrator->lock);
    loop_spec_fini(&spec);
    return r;
}

static int close_dead(struct orchestrator *orchestrator, const struct store_run *run,
                      struct rondo_error *err)
{
    char holder[OWNER_DESCRIPTION_SIZE];
    char message[OWNER_DESCRIPTION_SIZE + 96];
    owner_describe(run, holder);
    snprintf(message, sizeof(message), OWNER_GONE_MESSAGE "%s%s", run->owner[0] == '\0' ? "" : ": ",
             run->owner[0] == '\0' ? "" : holder);
    int r = loop_close_run(&orchestrator->parts, run->id, message, err);
    if (r != LOOP_CONTROL_DONE) {
        return r < 0 ? r : 0;
    }
    (void)assignment_remove(orchestrator, run->id, NULL);
    orchestrator_log(orchestrator, "run %s is closed as error: %s", run->id, message);
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->closed++;
    pthread_mutex_unlock(&orchestrator->lock);
    return 0;
}

static int park_dead(struct orchestrator *orchestrator, const char *run_id, struct rondo_error *err)
{
    int r = loop_park_run(&orchestrator->parts, run_id, err);
    return r < 0 ? r : 0;
}

static int meet_fate(struct orchestrator *orchestrator, const struct store_run *run, enum fate fate,
                     struct rondo_error *err)
{
    switch (fate) {
    case FATE_NONE:
        break;
    case FATE_TAKE_OVER:
        return take_over(orchestrator, run, err);
    case FATE_CLOSE:
        return close_dead(orchestrator, run, err);
    case FATE_PARK:
        return park_dead(orchestrator, run->id, err);
    }
    return 0;
}

static bool is_known(struct orchestrator *orchestrator, const char *run_id)
{
    pthread_mutex_lock(&orchestrator->lock);
    bool is_there = entry_find(orchestrator, run_id) != NULL;
    pthread_mutex_unlock(&orchestrator->lock);
    return is_there;
}

/** A run that cannot be seen to, and why. */
struct left_alone {
    char run_id[ID_SIZE];
    char reason[RONDO_ERROR_MESSAGE_SIZE];
    uint64_t scan; /**< the last one that found it so */
    UT_hash_handle hh;
};

/** Say it once, and again when the reason is another one. */
static void leave_alone(struct orchestrator *orchestrator, const char *run_id, const char *reason)
{
    struct left_alone *known = NULL;
    HASH_FIND_STR(orchestrator->left_alone, run_id, known);
    if (known == NULL) {
        known = memory_new_zero(1, sizeof(*known));
        snprintf(known->run_id, sizeof(known->run_id), "%s", run_id);
        HASH_ADD_STR(orchestrator->left_alone, run_id, known);
    }
    if (strncmp(known->reason, reason, sizeof(known->reason) - 1) != 0) {
        snprintf(known->reason, sizeof(known->reason), "%s", reason);
        orchestrator_log(orchestrator, "run %s is left alone: %s",
                         run_id[0] == '\0' ? "without a readable id" : run_id, reason);
    }
    known->scan = orchestrator->scans;
}

/** @param before those that no scan from this one on has found */
static void forget_left_alone(struct orchestrator *orchestrator, uint64_t before)
{
    struct left_alone *known;
    struct left_alone *next;
    HASH_ITER(hh, orchestrator->left_alone, known, next)
    {
        if (known->scan < before) {
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
            HASH_DEL(orchestrator->left_alone, known);
            free(known);
        }
    }
}

void orphans_forget(struct orchestrator *orchestrator)
{
    forget_left_alone(orchestrator, UINT64_MAX);
}

/** One that cannot be read must not keep the others from being seen to. */
static void settle(struct orchestrator *orchestrator, const struct store_run *run)
{
    struct rondo_error err = {0};
    enum fate fate = FATE_NONE;
    if (is_known(orchestrator, run->id)) {
        return;
    }
    int r = find_fate(orchestrator, run, &fate, &err);
    if (r == 0) {
        r = meet_fate(orchestrator, run, fate, &err);
    }
    if (r < 0 && r != RONDO_ERR_STATE) {
        leave_alone(orchestrator, run->id, err.message);
    }
}

/** Ids begin with the time of their creation. */
static int by_id(const void *a, const void *b)
{
    const struct store_run *left = a;
    const struct store_run *right = b;
    return strcmp(left->id, right->id);
}

/** Ids of runs that are marked as orphans. */
struct marked {
    char (*ids)[ID_SIZE];
    size_t count;
    size_t room;
};

static bool take_marked(const struct store_document *document, void *context)
{
    struct marked *marked = context;
    if (!id_is_valid(document->key)) {
        return true;
    }
    if (marked->count == marked->room) {
        marked->room = marked->room * 2 + 16;
        marked->ids = memory_resize(marked->ids, marked->room, sizeof(*marked->ids));
    }
    memcpy(marked->ids[marked->count++], document->key, ID_SIZE);
    return true;
}

/** One that nobody holds is seen to like one whose holder is dead; a paused one waits. */
static int settle_marked(struct orchestrator *orchestrator, const char *run_id,
                         struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct store_run run;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r == RONDO_ERR_CORRUPT) {
        return 0; /* The list of runs that cannot be read has it. */
    }
    if (r == RONDO_ERR_NOT_FOUND || (r == 0 && run.summary.status != RONDO_RUNNING)) {
        orphan_clear(store, run_id);
        return 0;
    }
    if (r == 0 && run.owner[0] == '\0' && !run.summary.is_paused) {
        orchestrator->others++;
        settle(orchestrator, &run);
    }
    return r;
}

static int scan_marked(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct store_document_query query = {.collection = ORPHAN_COLLECTION};
    struct marked marked = {0};
    int r = store->ops->read_documents(store, &query, take_marked, &marked, err);
    for (size_t i = 0; r == 0 && i < marked.count; i++) {
        r = settle_marked(orchestrator, marked.ids[i], err);
    }
    free(marked.ids);
    return r;
}

/** One that cannot be read must not keep the others from being seen to. */
static void take_damaged(const struct store_damaged_run *damaged, void *context)
{
    struct dead_runs *finding = context;
    leave_alone(finding->orchestrator, damaged->id == NULL ? "" : damaged->id, damaged->detail);
}

/** Look again when the server that has taken a run should have claimed it. */
static void expect_claim(const struct assignment *assignment, struct dead_runs *finding)
{
    int64_t age_ns = finding->orchestrator->store_now_ns - assignment->written_ns;
    if (assignment->state == ASSIGNMENT_RUNNING &&
        ASSIGNMENT_CLAIM_NS - age_ns < finding->lease_left_ns) {
        finding->lease_left_ns = ASSIGNMENT_CLAIM_NS - age_ns;
    }
}

/** Whether another living server than the dead one has queued or taken a dead run. */
static bool is_handled(const struct assignments *assignments, const struct store_run *run,
                       struct dead_runs *finding)
{
    const struct assignment *assignment = assignments_find(assignments, run->id);
    if (assignment == NULL || strcmp(assignment->server, run->owner) == 0 ||
        !is_attended(finding->orchestrator, assignment)) {
        return false;
    }
    expect_claim(assignment, finding);
    return true;
}

/** What a server has taken, and did not claim, waits again. */
static int release_unclaimed(const struct assignments *assignments, const char *run_id,
                             struct dead_runs *finding, struct rondo_error *err)
{
    struct orchestrator *orchestrator = finding->orchestrator;
    const struct assignment *assignment = assignments_find(assignments, run_id);
    if (assignment == NULL || assignment->state != ASSIGNMENT_RUNNING ||
        !registration_knows(orchestrator, assignment->server)) {
        return 0;
    }
    const struct placement place = assignment_placement(assignment);
    bool is_queued = false;
    if (is_attended(orchestrator, assignment)) {
        expect_claim(assignment, finding);
        return 0;
    }
    int r = placement_allows(orchestrator, &place, assignment->server)
                ? assignment_requeue(orchestrator, assignment, &is_queued, err)
                : 0;
    if (r == 0 && is_queued) {
        orchestrator_tell(orchestrator, "run %s waits again: the server that took it did not begin",
                          run_id);
    }
    return r;
}

/** What others handle is left out in one look, however many runs wait in the queue of all. */
static int settle_all(struct orchestrator *orchestrator, struct dead_runs *finding,
                      struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct assignments *assignments = NULL;
    int r = servers_now(store, orchestrator_clock(orchestrator), &orchestrator->store_now_ns, err);
    r = r < 0 ? r : assignments_read(store, &assignments, err);
    for (size_t i = 0; r == 0 && i < finding->count; i++) {
        if (!is_handled(assignments, &finding->runs[i], finding)) {
            settle(orchestrator, &finding->runs[i]);
        }
    }
    for (size_t i = 0; r == 0 && i < finding->unheld_count; i++) {
        r = release_unclaimed(assignments, finding->unheld[i], finding, err);
    }
    assignments_free(assignments);
    return r;
}

int orphans_scan(struct orchestrator *orchestrator, struct rondo_error *err)
{
    int r = orphans_adopt(orchestrator, false, err);
    if (r < 0 || orchestrator->options.orphans == ORPHANS_LEAVE) {
        return r;
    }
    struct store *store = orchestrator_store(orchestrator);
    struct store_run_query query = {.only_running = true, .damaged = take_damaged};
    struct dead_runs finding = {.orchestrator = orchestrator, .lease_left_ns = FAR_NS};
    int64_t now_ns = clock_monotonic(clock_system());
    orchestrator->scans++;
    r = store->ops->list_runs(store, &query, find_dead, &finding, err);
    orchestrator->others += finding.others;
    if (finding.count > 1) {
        qsort(finding.runs, finding.count, sizeof(*finding.runs), by_id);
    }
    if (r == 0 && finding.count + finding.unheld_count > 0) {
        r = settle_all(orchestrator, &finding, err);
    }
    orchestrator->lease_end_ns = now_ns + finding.lease_left_ns;
    free(finding.runs);
    free(finding.unheld);
    r = r < 0 ? r : scan_marked(orchestrator, err);
    if (r == 0) {
        forget_left_alone(orchestrator, orchestrator->scans);
    }
    return r;
}

/* ---- Managed runs --------------------------------------------------------------------------- */

/** What was taken in. */
struct adoption {
    bool is_first; /* at the start */
    size_t others; /* that another server sees to */
    size_t going;
    size_t paused;
};

/** Whether the server is gone, as far as its process or its place in the list shows. */
static bool is_gone(const struct orchestrator *orchestrator, const struct assignment *assignment)
{
    return assignment_is_dead(assignment) ||
           (orchestrator->is_registered && store_is_shared(orchestrator_store(orchestrator)) &&
            !registration_knows(orchestrator, assignment->server));
}

/** Whether another server, which lives, sees to the run. */
static bool is_seen_to(const struct orchestrator *orchestrator, const struct assignment *assignment,
                       const struct store_run *run, bool is_first)
{
    struct runtime *runtime = orchestrator->options.runtime;
    bool is_ours = strcmp(assignment->server, runtime_owner(runtime)) == 0;
    if (run_is_executed(run, clock_now(runtime_clock(runtime))) &&
        strcmp(run->owner, runtime_owner(runtime)) != 0) {
        return true;
    }
    /* A server that was here before may have had a name that means nothing any more, as in a
       container. Where it does live, the claim decides. */
    return is_ours || registration_knows(orchestrator, assignment->server) ||
           (!is_first && !is_gone(orchestrator, assignment));
}

/**
 * Whether others see to a run, as far as is known without reading it. One that another living
 * server has, or that waits in the queue of all servers while others live, need not be looked at.
 * An entry of it here is out of date.
 */
static bool is_others_affair(struct orchestrator *orchestrator, const struct assignment *assignment)
{
    const struct placement place = assignment_placement(assignment);
    bool is_elsewhere = registration_knows(orchestrator, assignment->server);
    pthread_mutex_lock(&orchestrator->lock);
    bool is_queue_shared = orchestrator->has_peers && assignment->state == ASSIGNMENT_QUEUED &&
                           assignment->agent[0] != '\0';
    struct run_entry *entry = entry_find(orchestrator, assignment->run_id);
    if (is_elsewhere && entry != NULL && entry->state == ENTRY_QUEUED && !entry->is_taken) {
        entry_remove(orchestrator, entry);
    }
    pthread_mutex_unlock(&orchestrator->lock);
    return is_elsewhere ||
           (is_queue_shared && placement_allows(orchestrator, &place, assignment->server));
}

static void adopt(struct orchestrator *orchestrator, const struct assignment *assignment,
                  const struct store_run *run, struct adoption *adoption)
{
    bool is_paused = run->summary.is_paused;
    pthread_mutex_lock(&orchestrator->lock);
    if (entry_find(orchestrator, assignment->run_id) == NULL) {
        const struct placement place = assignment_placement(assignment);
        struct run_entry *entry =
            entry_add(orchestrator, assignment->run_id, is_paused ? ENTRY_PAUSED : ENTRY_QUEUED,
                      assignment->by);
        entry_place(orchestrator, entry, &place);
        adoption->paused += is_paused ? 1 : 0;
        adoption->going += is_paused ? 0 : 1;
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

/** The entry of a run that waits here, though its document does not say that it waits. */
static struct run_entry *find_unshared(struct orchestrator *orchestrator,
                                       const struct assignment *assignment)
{
    struct run_entry *entry = entry_find(orchestrator, assignment->run_id);
    bool is_unshared = entry != NULL && entry->state == ENTRY_QUEUED && !entry->is_taken &&
                       entry->turn != NULL && orchestrator->has_peers &&
                       assignment->state != ASSIGNMENT_QUEUED;
    return is_unshared ? entry : NULL;
}

/** While other servers live, what was taken in waits in the queue of all; one server puts it there.
 */
static int share(struct orchestrator *orchestrator, const struct assignment *assignment,
                 struct rondo_error *err)
{
    pthread_mutex_lock(&orchestrator->lock);
    bool is_unshared = find_unshared(orchestrator, assignment) != NULL;
    pthread_mutex_unlock(&orchestrator->lock);
    bool is_queued = true;
    int r = is_unshared ? assignment_requeue(orchestrator, assignment, &is_queued, err) : 0;
    if (r == 0 && !is_queued) {
        pthread_mutex_lock(&orchestrator->lock);
        struct run_entry *entry = find_unshared(orchestrator, assignment);
        if (entry != NULL) {
            entry_remove(orchestrator, entry);
        }
        pthread_mutex_unlock(&orchestrator->lock);
    }
    return r;
}

static int check_assignment(struct orchestrator *orchestrator, const struct assignment *assignment,
                            struct adoption *adoption, struct rondo_error *err)
{
    struct store *store = orchestrator_store(orchestrator);
    struct store_run run;
    if (is_others_affair(orchestrator, assignment)) {
        adoption->others++;
        return 0;
    }
    if (is_known(orchestrator, assignment->run_id)) {
        return share(orchestrator, assignment, err);
    }
    int r = store->ops->get_run(store, assignment->run_id, &run, err);
    if (r == RONDO_ERR_CORRUPT) {
        return 0; /* As above. */
    }
    const struct placement place = assignment_placement(assignment);
    bool is_over = r == RONDO_ERR_NOT_FOUND || (r == 0 && run.summary.status != RONDO_RUNNING);
    if (is_over) {
        return is_known(orchestrator, assignment->run_id)
                   ? 0
                   : assignment_remove(orchestrator, assignment->run_id, err);
    }
    if (r == 0 && is_seen_to(orchestrator, assignment, &run, adoption->is_first)) {
        adoption->others++;
    } else if (r == 0 && placement_allows(orchestrator, &place, assignment->server)) {
        adopt(orchestrator, assignment, &run, adoption);
        r = share(orchestrator, assignment, err);
    }
    return r;
}

/** First those that were executed, then those that waited: as it was. */
static int adopt_all(struct orchestrator *orchestrator, const struct assignment *list, size_t count,
                     struct adoption *adoption, struct rondo_error *err)
{
    int r = 0;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count && r == 0; i++) {
            if ((list[i].state == ASSIGNMENT_RUNNING) == (round == 0)) {
                r = check_assignment(orchestrator, &list[i], adoption, err);
            }
        }
    }
    return r;
}

int orphans_adopt(struct orchestrator *orchestrator, bool is_first, struct rondo_error *err)
{
    struct assignment *list = NULL;
    size_t count = 0;
    struct adoption adoption = {.is_first = is_first};
    int r = assignment_list(orchestrator_store(orchestrator), &list, &count, err);
    if (r == 0) {
        r = adopt_all(orchestrator, list, count, &adoption, err);
    }
    assignment_list_free(list, count);
    orchestrator->others = adoption.others;
    if (adoption.going + adoption.paused > 0) {
        orchestrator_tell(orchestrator, "took over the runs of %s: %zu resumed, %zu paused",
                          is_first ? "the previous server" : "a server that is gone",
                          adoption.going, adoption.paused);
    }
    return r;
}
