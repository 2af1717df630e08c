// SPDX-License-Identifier: Apache-2.0
/*
 * Forking: a new run whose journal is a copy of another's up to a checkpoint. Its own part begins
 * with run.forked and a checkpoint with the same content. Until that is committed the new run
 * counts as one that ended with an error, and cannot be resumed: half a copy must never be
 * executed.
 */
#include "loop/control/control.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/checkpoint.h"
#include "loop/driver/internal.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Events and bytes that are copied in one transaction, unless one event alone is larger. */
#define BATCH_EVENTS 256
#define BATCH_BYTES  ((size_t)4 * 1024 * 1024)

/** A creation is claimed: promise of store_ops.create_run. */
#define FIRST_EPOCH 1

/** A fork under way. */
struct forking {
    struct runtime *runtime;
    const char *from; /* run id */
    const char *by;
    uint64_t number; /* of the checkpoint */
    uint64_t seq;    /* last event to be copied */
    char run_id[ID_SIZE];
    struct loop_spec spec; /* in force at the checkpoint, with the changes */
    bool has_changes;
    int (*check_limits)(const struct loop_spec *spec, struct rondo_error *err);
    struct run_state state; /* of the new run */

    struct store_event events[BATCH_EVENTS]; /* owned texts, until they are committed */
    size_t count;
    size_t bytes;
    uint64_t copied; /* events committed */
    struct rondo_error *err;
    int result;
};

static void drop_events(struct forking *forking)
{
    for (size_t i = 0; i < forking->count; i++) {
        free((char *)forking->events[i].type);
        free((char *)forking->events[i].data);
    }
    forking->count = 0;
    forking->bytes = 0;
}

static void add_event(struct forking *forking, const struct store_event *event, const char *data,
                      size_t len)
{
    struct store_event *copy = &forking->events[forking->count++];
    *copy = (struct store_event){.time_ns = event->time_ns, .data_len = len};
    copy->type = memory_dup_string(event->type);
    copy->data = memory_dup_bytes(data, len);
    forking->bytes += len;
}

/** The first event says what the run is a copy of; fields of a newer version stay in it. */
static int add_created(struct forking *forking, const struct store_event *event)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(event->data, event->data_len, &root, forking->err);
    if (r < 0 || !json_object_is_type(root, json_type_object)) {
        return error_set(forking->err, RONDO_ERR_CORRUPT, "event 1 of run %s cannot be read",
                         forking->from);
    }
    json_object_object_add(root, "forked_from", json_object_new_string(forking->from));
    json_object_object_add(root, "forked_seq", json_object_new_int64((int64_t)forking->seq));
    json_object_object_add(root, "checkpoint", json_object_new_int64((int64_t)forking->number));
    const char *data = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
    add_event(forking, event, data, strlen(data));
    return 0;
}

static bool take_event(const struct store_event *event, void *context)
{
    struct forking *forking = context;
    if (event->seq != forking->copied + forking->count + 1) {
        forking->result =
            error_set(forking->err, RONDO_ERR_CORRUPT, "the journal of run %s lacks event %" PRIu64,
                      forking->from, forking->copied + forking->count + 1);
        return false;
    }
    if (event->seq == 1) {
        forking->result = add_created(forking, event);
    } else {
        add_event(forking, event, event->data, event->data_len);
    }
    return forking->result == 0 && forking->count < BATCH_EVENTS && forking->bytes < BATCH_BYTES;
}

/** Read the next events to be copied. */
static int read_batch(struct forking *forking)
{
    struct store *store = runtime_store(forking->runtime);
    uint64_t left = forking->seq - forking->copied;
    uint32_t most = left < BATCH_EVENTS ? (uint32_t)left : BATCH_EVENTS;
    int r = store->ops->read_events(store, forking->from, forking->copied, most, take_event,
                                    forking, forking->err);
    if (r == 0) {
        r = forking->result;
    }
    if (r == 0 && forking->count == 0) {
        r = error_set(forking->err, RONDO_ERR_CORRUPT,
                      "the journal of run %s ends at event %" PRIu64, forking->from,
                      forking->copied);
    }
    return r;
}

/** What the row shows while the copy is not complete. */
static struct store_summary unfinished(const struct forking *forking)
{
    struct store_summary summary = loop_summary_of(&forking->state, forking->spec.condition_count);
    summary.status = RONDO_ERROR;
    summary.is_paused = false;
    summary.is_waiting = false;
    return summary;
}

static int create(struct forking *forking)
{
    struct store_run row = {.is_exclusive = forking->spec.is_exclusive != 0,
                            .summary = unfinished(forking)};
    struct store_claim_result claim;
    memcpy(row.id, forking->run_id, sizeof(row.id));
    snprintf(row.agent_id, sizeof(row.agent_id), "%s", forking->spec.agent_id);
    int r = runtime_claim(forking->runtime, forking->run_id, &row, forking->events, forking->count,
                          &claim, forking->err);
    if (r == 0 && claim.outcome == STORE_HELD) {
        r = error_set(forking->err, RONDO_ERR_BUSY,
                      "run %s of agent %s is being executed, and only one of them may be at a time",
                      claim.holder.id, claim.holder.agent_id);
    }
    return r;
}

static int commit(struct forking *forking, const struct store_checkpoint *checkpoint,
                  struct store_summary summary)
{
    struct store_batch batch = {
        .run_id = forking->run_id,
        .epoch = FIRST_EPOCH,
        .first_seq = forking->copied + 1,
        .events = forking->events,
        .event_count = forking->count,
        .checkpoint = checkpoint,
        .summary = summary,
        .lease_ns = checkpoint == NULL ? runtime_lease_ns(forking->runtime) : 0,
    };
    struct store_commit_result result;
    int r = writer_commit(runtime_writer(forking->runtime), &batch, &result, forking->err);
    if (r == 0 && result.outcome == STORE_FENCED) {
        r = error_set(forking->err, RONDO_ERR_FENCED, "another process took over the fork %s",
                      forking->run_id);
    }
    return r;
}

/** Copy the events up to the checkpoint, in transactions of bounded size. */
static int copy_journal(struct forking *forking)
{
    while (forking->copied < forking->seq) {
        int r = read_batch(forking);
        if (r == 0) {
            r = forking->copied == 0 ? create(forking) : commit(forking, NULL, unfinished(forking));
        }
        if (r < 0) {
            return r;
        }
        forking->copied += forking->count;
        drop_events(forking);
    }
    return 0;
}

/** Record an event of the fork's own. */
static void record(struct forking *forking, struct journal_event *event)
{
    event->seq = forking->state.seq + 1;
    if (event->time_ns == 0) {
        event->time_ns = clock_now(runtime_clock(forking->runtime));
    }
    auto_buf struct buf data = {0};
    journal_encode(event, &data);
    struct store_event stored = {.type = journal_type_name(event->type), .time_ns = event->time_ns};
    add_event(forking, &stored, data.data, data.len);
    run_fold(&forking->state, event, NULL);
}

static void record_options(struct forking *forking)
{
    auto_buf struct buf spec = {0};
    loop_spec_encode(&forking->spec, &spec);
    struct journal_event options = {
        .type = JOURNAL_RUN_OPTIONS,
        .run_options = {.spec = buf_string(&spec), .by = forking->by},
    };
    record(forking, &options);
}

/** The checkpoint of the fork: what the other one holds, after the event that records it. */
static void record_checkpoint(struct forking *forking, const struct checkpoint *checkpoint,
                              struct checkpoint_record *ret_record)
{
    char sha256[65];
    struct journal_event saved = {
        .type = JOURNAL_CHECKPOINT_SAVED,
        .seq = forking->state.seq + 1,
        .time_ns = clock_now(runtime_clock(forking->runtime)),
        .checkpoint_saved = {.number = (int64_t)forking->state.checkpoint_number + 1,
                             .iteration = (int64_t)run_current_iteration(&forking->state),
                             .bytes = (int64_t)checkpoint->agent_state.len,
                             .how = "fork"},
    };
    struct run_state after = forking->state;
    run_fold(&after, &saved, NULL);
    checkpoint_record_init(ret_record, forking->run_id, &after, &checkpoint->agent_state,
                           checkpoint->custom_data, saved.time_ns);
    digest_hex(ret_record->stored.sha256, sha256);
    saved.checkpoint_saved.sha256 = sha256;
    record(forking, &saved);
}

/** The part of the journal that is the fork's own; it makes the run one that can be resumed. */
static int finish_fork(struct forking *forking, const struct checkpoint *checkpoint)
{
    struct journal_event forked = {
        .type = JOURNAL_RUN_FORKED,
        .run_forked = {.by = forking->by,
                       .forked_from = forking->from,
                       .forked_seq = (int64_t)forking->seq,
                       .forked_checkpoint = (int64_t)forking->number},
    };
    record(forking, &forked);
    if (forking->has_changes) {
        record_options(forking);
    }
    struct checkpoint_record saved;
    record_checkpoint(forking, checkpoint, &saved);
    int r = commit(forking, &saved.stored,
                   loop_summary_of(&forking->state, forking->spec.condition_count));
    checkpoint_record_fini(&saved);
    return r;
}

/** Read what the fork begins with: options, and that this version understands the journal. */
static int prepare(struct forking *forking, const struct loop_limits *change)
{
    struct store *store = runtime_store(forking->runtime);
    struct loop_spec first;
    int r = loop_recorded_spec(store, forking->from, &first, forking->err);
    if (r < 0) {
        return r;
    }
    loop_spec_fini(&first);
    r = loop_load_spec(store, forking->from, forking->state.spec_seq, &forking->spec, forking->err);
    if (r == 0 && change != NULL) {
        r = loop_limits_check(change, forking->err);
        loop_limits_apply(change, &forking->spec);
        forking->has_changes = true;
        if (r == 0 && forking->check_limits != NULL) {
            r = forking->check_limits(&forking->spec, forking->err);
        }
    }
    id_new(clock_now(runtime_clock(forking->runtime)), runtime_random(forking->runtime),
           forking->run_id);
    return r;
}

static int fork_at(struct forking *forking, const struct checkpoint *checkpoint,
                   const struct loop_limits *change)
{
    int r = prepare(forking, change);
    if (r == 0) {
        r = copy_journal(forking);
    }
    if (r == 0) {
        r = finish_fork(forking, checkpoint);
    }
    if (r < 0 && forking->copied > 0) {
        runtime_abandon(forking->runtime, forking->run_id, FIRST_EPOCH);
    }
    drop_events(forking);
    loop_spec_fini(&forking->spec);
    return r;
}

int loop_fork(const struct loop_parts *parts, const char *run_id, uint64_t checkpoint,
              const struct loop_limits *change, const char *by, char ret_run_id[ID_SIZE],
              struct rondo_error *err)
{
    struct store *store = runtime_store(parts->runtime);
    struct rondo_error own_error = {0};
    struct store_run run;
    struct checkpoint loaded;
    err = err == NULL ? &own_error : err;
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r == 0) {
        r = checkpoint_load(store, run.id, checkpoint, &loaded, err);
    }
    if (r < 0) {
        return r;
    }
    struct forking *forking = memory_new_zero(1, sizeof(*forking));
    forking->runtime = parts->runtime;
    forking->from = run.id;
    forking->by = by;
    forking->number = loaded.number;
    forking->seq = loaded.state.seq;
    forking->state = loaded.state;
    forking->err = err;
    forking->check_limits = parts->check_limits;
    r = fork_at(forking, &loaded, change);
    if (r == 0) {
        memcpy(ret_run_id, forking->run_id, ID_SIZE);
    }
    checkpoint_fini(&loaded);
    free(forking);
    return r;
}
