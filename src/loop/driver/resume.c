// SPDX-License-Identifier: Apache-2.0
/*
 * Resuming: claim the run, rebuild its state from the newest intact checkpoint and the journal
 * after it, and record the claim. Nothing is written before all of it could be read.
 */
#include "loop/driver/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/backward.h"
#include "journal/reader.h"
#include "loop/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What resuming gathers before it can record anything. */
struct resuming {
    struct loop *loop;
    struct store_claim_result claim;
    struct rondo_error *err;
    int result;
    uint64_t corrupt[8]; /* numbers of damaged checkpoints, newest first */
    char corrupt_messages[8][RONDO_ERROR_MESSAGE_SIZE];
    uint32_t corrupt_count;
    bool heeds_stops;
};

/** What reading the options from the journal gives. */
struct spec_reading {
    struct loop_spec spec;
    uint64_t forked_seq; /* of run.created: last event that was copied; 0 = it is no fork */
    bool is_found;
    struct rondo_error *err;
    int result;
};

static bool read_spec(const struct journal_entry *entry, void *context)
{
    struct spec_reading *reading = context;
    reading->is_found = true;
    const struct journal_event *event = &entry->event;
    const char *spec = entry->is_known ? journal_event_spec(event) : NULL;
    if (spec == NULL) {
        reading->result =
            error_set(reading->err, RONDO_ERR_CORRUPT,
                      "event %" PRIu64 " of the journal does not contain the options", event->seq);
        return false;
    }
    const struct event_run_created *created =
        event->type == JOURNAL_RUN_CREATED ? &event->run_created : NULL;
    if (created != NULL && created->format > JOURNAL_FORMAT) {
        reading->result =
            error_set(reading->err, RONDO_ERR_VERSION,
                      "the run was made by a newer Rondo (%s); use that one to resume it",
                      created->version == NULL ? "?" : created->version);
        return false;
    }
    reading->forked_seq = created == NULL ? 0 : (uint64_t)created->forked_seq;
    reading->result = loop_spec_decode(spec, strlen(spec), &reading->spec, reading->err);
    return false;
}

static int read_options(struct store *store, const char *run_id, uint64_t seq,
                        struct spec_reading *ret_reading, struct rondo_error *err)
{
    struct spec_reading reading = {.err = err};
    int r = journal_visit(store, run_id, seq - 1, 1, read_spec, &reading, err);
    if (r < 0 && reading.is_found && reading.result == 0) {
        loop_spec_fini(&reading.spec); /* The store failed after the event. */
    }
    if (r == 0 && !reading.is_found) {
        r = error_set(err, RONDO_ERR_CORRUPT, "the journal of run %s has no event %" PRIu64, run_id,
                      seq);
    }
    if (r == 0) {
        r = reading.result;
    }
    if (r == 0) {
        *ret_reading = reading;
    }
    return r;
}

int loop_load_spec(struct store *store, const char *run_id, uint64_t seq,
                   struct loop_spec *ret_spec, struct rondo_error *err)
{
    struct spec_reading reading;
    int r = read_options(store, run_id, seq, &reading, err);
    if (r == 0) {
        *ret_spec = reading.spec;
    }
    return r;
}

int loop_recorded_spec(struct store *store, const char *run_id, struct loop_spec *ret_spec,
                       struct rondo_error *err)
{
    return loop_load_spec(store, run_id, 1, ret_spec, err);
}

static int use_spec(struct loop *loop, uint64_t seq, struct rondo_error *err)
{
    struct loop_spec spec;
    int r = loop_load_spec(runtime_store(loop->runtime), loop->run_id, seq, &spec, err);
    if (r == 0) {
        loop_spec_fini(&loop->spec);
        loop->spec = spec;
    }
    return r;
}

/** Custom data that an iteration left is that of the run, until the next one replaces it. */
static void take_custom_data(struct loop *loop, const struct journal_event *event)
{
    if (event->type == JOURNAL_ITERATION_FINISHED &&
        event->iteration_finished.custom_data != NULL) {
        free(loop->custom_data);
        loop->custom_data = memory_dup_string(event->iteration_finished.custom_data);
    }
}

static void keep_text(char **kept, const char *text)
{
    free(*kept);
    *kept = memory_dup_string(text);
}

/** The words of the last body, which the end of the run repeats; a new body has its own. */
static void take_words(struct loop *loop, const struct journal_event *event)
{
    if (event->type == JOURNAL_ITERATION_STARTED) {
        keep_text(&loop->body_summary, NULL);
        keep_text(&loop->body_message, NULL);
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        keep_text(&loop->body_summary, event->iteration_finished.summary);
        keep_text(&loop->body_message, event->iteration_finished.message);
    }
}

static bool take_words_of(const struct store_event *stored, void *context)
{
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) == 0) {
        take_words(context, &event);
    }
    return false;
}

/** An interim may be later than the event that holds the words of the last body. */
static int load_words(struct loop *loop, struct rondo_error *err)
{
    static const char *const types[] = {"iteration.started", "iteration.finished", NULL};
    const struct backward newest = {
        .run_id = loop->run_id,
        .before = loop->state.seq + 1,
        .types = types,
        .window = 16,
    };
    uint64_t reached = 0;
    return backward_visit(runtime_store(loop->runtime), &newest, take_words_of, loop, &reached,
                          err);
}

static bool fold_entry(const struct journal_entry *entry, void *context)
{
    struct resuming *resuming = context;
    struct run_state *state = &resuming->loop->state;
    if (entry->is_known) {
        resuming->result = run_fold(state, &entry->event, resuming->err);
        take_custom_data(resuming->loop, &entry->event);
        take_words(resuming->loop, &entry->event);
    } else {
        state->seq = entry->event.seq; /* Of a newer version: it means nothing to this one. */
    }
    return resuming->result == 0;
}

static int replay_tail(struct resuming *resuming)
{
    struct loop *loop = resuming->loop;
    resuming->result = 0;
    int r = journal_visit(runtime_store(loop->runtime), loop->run_id, loop->state.seq, 0,
                          fold_entry, resuming, resuming->err);
    if (r == 0) {
        r = resuming->result;
    }
    if (r == 0 && loop->state.seq != resuming->claim.run.last_seq) {
        r = error_set(resuming->err, RONDO_ERR_CORRUPT,
                      "the journal ends at event %" PRIu64 ", but %" PRIu64 " were committed",
                      loop->state.seq, resuming->claim.run.last_seq);
    }
    return r;
}

static void note_corrupt(struct resuming *resuming, uint64_t number, const char *message)
{
    size_t room = sizeof(resuming->corrupt) / sizeof(resuming->corrupt[0]);
    if (resuming->corrupt_count < room) {
        resuming->corrupt[resuming->corrupt_count] = number;
        snprintf(resuming->corrupt_messages[resuming->corrupt_count], RONDO_ERROR_MESSAGE_SIZE,
                 "%s", message);
        resuming->corrupt_count++;
    }
}

static bool newest_number(const struct store_checkpoint *checkpoint, void *context)
{
    *(uint64_t *)context = checkpoint->number;
    return false;
}

/**
 * Find the newest intact checkpoint up to `newest`. @return 0 with `*ret_checkpoint` (number 0 when
 * there is none), or the store's error; damaged ones are noted.
 */
static int find_checkpoint(struct resuming *resuming, uint64_t newest,
                           struct checkpoint *ret_checkpoint)
{
    struct loop *loop = resuming->loop;
    struct store *store = runtime_store(loop->runtime);
    uint64_t number = newest;
    int r = 0;
    for (; r == 0 && number > 0; number--) {
        struct rondo_error problem = {0};
        r = checkpoint_load(store, loop->run_id, number, ret_checkpoint, &problem);
        if (r == 0) {
            return 0;
        }
        if (r == RONDO_ERR_NOT_FOUND) {
            break; /* Older ones were pruned. */
        }
        if (r != RONDO_ERR_CORRUPT) {
            return error_set(resuming->err, r, "%s", problem.message);
        }
        note_corrupt(resuming, number, problem.message);
        r = 0;
    }
    *ret_checkpoint = (struct checkpoint){0};
    return r == RONDO_ERR_NOT_FOUND ? 0 : r;
}

/**
 * Find what holds the state of the last finished iteration: the run's interim, else its newest
 * checkpoint. A damaged interim is noted like a checkpoint.
 * @param ret_number the newest checkpoint that it goes back to; 0 = none
 */
static int find_state(struct resuming *resuming, struct checkpoint *ret_checkpoint,
                      uint64_t *ret_number)
{
    struct loop *loop = resuming->loop;
    struct store *store = runtime_store(loop->runtime);
    struct rondo_error problem = {0};
    uint64_t newest = 0;
    int r =
        store->ops->list_checkpoints(store, loop->run_id, newest_number, &newest, resuming->err);
    if (r < 0) {
        return r;
    }
    r = checkpoint_load(store, loop->run_id, STORE_INTERIM, ret_checkpoint, &problem);
    if (r == 0 && ret_checkpoint->state.checkpoint_number == newest) {
        *ret_number = newest;
        return 0;
    }
    if (r == 0) {
        checkpoint_fini(ret_checkpoint);
    } else if (r == RONDO_ERR_CORRUPT) {
        note_corrupt(resuming, 0, problem.message);
    } else if (r != RONDO_ERR_NOT_FOUND) {
        return error_set(resuming->err, r, "%s", problem.message);
    }
    r = find_checkpoint(resuming, newest, ret_checkpoint);
    if (r == 0) {
        *ret_number = ret_checkpoint->number;
    }
    return r;
}

static int rebuild_state(struct resuming *resuming, struct loop_opening *opening)
{
    struct loop *loop = resuming->loop;
    struct checkpoint checkpoint;
    uint64_t number = 0;
    int r = find_state(resuming, &checkpoint, &number);
    if (r < 0) {
        return r;
    }
    loop->state = checkpoint.state;
    loop->agent_state = checkpoint.agent_state;
    checkpoint.agent_state = (struct buf){0};
    loop->custom_data = steal_pointer(&checkpoint.custom_data);
    opening->from_checkpoint = number;
    opening->corrupt_count = resuming->corrupt_count;
    loop->is_state_changed = resuming->corrupt_count > 0; /* It is not what was saved last. */
    bool is_interim = checkpoint.number == 0 && checkpoint.state.seq > 0;
    checkpoint_fini(&checkpoint);
    if (is_interim) {
        r = load_words(loop, resuming->err);
    }
    if (r == 0) {
        r = replay_tail(resuming);
    }
    return r < 0 ? r : use_spec(loop, loop->state.spec_seq, resuming->err);
}

/** Continue with an agent that remembers nothing. */
static void forget_agent_state(struct loop *loop, struct loop_opening *opening)
{
    buf_fini(&loop->agent_state);
    free(loop->custom_data);
    loop->custom_data = NULL;
    opening->from_checkpoint = 0;
}

static void record_corrupt(struct resuming *resuming)
{
    for (uint32_t i = 0; i < resuming->corrupt_count; i++) {
        struct journal_event event = {
            .type = JOURNAL_CHECKPOINT_CORRUPT,
            .checkpoint_corrupt = {.number = (int64_t)resuming->corrupt[i],
                                   .message = resuming->corrupt_messages[i]},
        };
        loop_record(resuming->loop, &event);
    }
}

static bool take_old_letter(const struct store_letter *letter, void *context)
{
    const struct resuming *resuming = context;
    bool is_stop = strcmp(letter->kind, "stop") == 0;
    if (is_stop && !resuming->heeds_stops) {
        resuming->loop->mail_taken = letter->id;
        return true;
    }
    return loop_take_letter(letter, resuming->loop);
}

/**
 * Letters to a former owner that did not come to read them. A stop was not meant for this one: one
 * of yesterday must not count.
 */
static int take_old_mail(struct resuming *resuming)
{
    struct loop *loop = resuming->loop;
    struct store *store = runtime_store(loop->runtime);
    return store->ops->read_mail(store, loop->run_id, NULL, take_old_letter, resuming,
                                 resuming->err);
}

static int change_spec(struct loop *loop, loop_change_fn *change, void *context,
                       struct rondo_error *err)
{
    if (change == NULL) {
        return 0;
    }
    auto_buf struct buf before = {0};
    auto_buf struct buf after = {0};
    loop_spec_encode(&loop->spec, &before);
    change(&loop->spec, context);
    int r = loop_spec_check(&loop->spec, err);
    if (r < 0) {
        return r;
    }
    loop_spec_encode(&loop->spec, &after);
    if (strcmp(buf_string(&before), buf_string(&after)) != 0) {
        struct journal_event event = {
            .type = JOURNAL_RUN_OPTIONS,
            .run_options = {.spec = buf_string(&after)},
        };
        loop_record(loop, &event);
    }
    return 0;
}

static const char *how_resumed(const struct store_run *before, const struct run_state *state)
{
    if (state->phase == PHASE_ENDED) {
        return "reopen";
    }
    return before->owner[0] == '\0' ? "resume" : "takeover";
}

/** Refuse to continue with damaged checkpoints, leaving a run that had not ended as it was found.
 */
static int refuse_corrupt(struct resuming *resuming, bool had_ended)
{
    if (!had_ended) {
        loop_flush(resuming->loop, FLUSH_NORMAL, NULL);
    }
    return error_set(resuming->err, RONDO_ERR_CORRUPT,
                     "%s; resume with --on-corrupt previous or fresh",
                     resuming->corrupt_messages[0]);
}

static int rebuild(struct resuming *resuming, struct loop_opening *opening)
{
    struct loop *loop = resuming->loop;
    if (resuming->claim.run.last_seq == 0) {
        return error_set(resuming->err, RONDO_ERR_STATE,
                         "run %s was cut off before its first event; start it again", loop->run_id);
    }
    struct spec_reading
        first; /* determines first of all whether this version understands the journal */
    int r = read_options(runtime_store(loop->runtime), loop->run_id, 1, &first, resuming->err);
    if (r < 0) {
        return r;
    }
    loop_spec_fini(&first.spec);
    if (first.forked_seq >= resuming->claim.run.last_seq) {
        return error_set(resuming->err, RONDO_ERR_STATE,
                         "run %s was cut off while it was being forked; fork again", loop->run_id);
    }
    r = rebuild_state(resuming, opening);
    return r < 0 ? r : loop_load_feedback(loop, resuming->err);
}

/** The run is claimed: rebuild it and record the claim. */
static int resume_claimed(struct resuming *resuming, const struct loop_taking *taking,
                          struct loop_opening *opening)
{
    struct loop *loop = resuming->loop;
    const struct store_run *before = &resuming->claim.run;
    int r = rebuild(resuming, opening);
    if (r < 0) {
        return r;
    }
    int64_t policy = taking->on_corrupt < 0 ? loop->spec.on_corrupt : taking->on_corrupt;
    if (resuming->corrupt_count > 0 && policy == ON_CORRUPT_FRESH) {
        forget_agent_state(loop, opening);
    }
    bool had_ended = loop->state.phase == PHASE_ENDED;
    if (had_ended && !taking->may_reopen) {
        return error_set(resuming->err, RONDO_ERR_STATE, "run %s has ended already: %s",
                         loop->run_id, rondo_status_name(loop->state.status));
    }
    const char *how = taking->how != NULL ? taking->how : how_resumed(before, &loop->state);
    snprintf(opening->how, sizeof(opening->how), "%s", how);
    loop->limit_ahead = before->summary.iteration_limit;
    /* A process that held a run that had ended, and died before its first event, did not work on
     * it. */
    loop_record_claimed(loop, resuming->claim.epoch, how, had_ended ? 0 : before->alive_ns,
                        opening->from_checkpoint);
    record_corrupt(resuming);
    loop_record_interrupted(loop, "the process that ran it is gone");
    if (resuming->corrupt_count > 0 && policy == ON_CORRUPT_FAIL) {
        return refuse_corrupt(resuming, had_ended);
    }
    r = take_old_mail(resuming);
    if (r < 0) {
        return r;
    }
    if (taking->is_continued) {
        loop_record_paused(loop, false, loop->by[0] == '\0' ? "resume" : loop->by);
    }
    auto_free char *policy_before = memory_dup_string(loop->spec.policy);
    r = change_spec(loop, taking->change, taking->change_context, resuming->err);
    runtime_settle_policies(loop->runtime, &loop->spec);
    bool is_policy_named = loop->spec.policy != NULL &&
                           (policy_before == NULL || strcmp(policy_before, loop->spec.policy) != 0);
    return r < 0 || taking->has_no_gate ? r : loop_open_gate(loop, is_policy_named, resuming->err);
}

static int refuse_completed(struct runtime *runtime, const char *run_id, struct rondo_error *err)
{
    struct store_run run;
    struct store *store = runtime_store(runtime);
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r == 0 && run.summary.status == RONDO_COMPLETED) {
        r = error_set(err, RONDO_ERR_STATE, "run %s is completed; there is nothing to resume",
                      run_id);
    }
    return r;
}

/** Note whether the run's process died. @return whether it is marked as such */
static bool note_orphan(struct loop *loop, const struct store_run *before)
{
    bool is_marked = orphan_is_marked(runtime_store(loop->runtime), loop->run_id);
    bool is_from_other =
        before->owner[0] != '\0' && strcmp(before->owner, runtime_owner(loop->runtime)) != 0;
    loop->is_orphan = before->summary.status == RONDO_RUNNING && (is_marked || is_from_other);
    return is_marked;
}

int loop_take(const struct loop_parts *parts, const struct loop_taking *taking,
              struct loop **ret_loop, struct loop_opening *ret_opening, struct rondo_error *err)
{
    *ret_opening = (struct loop_opening){.how = "resume"};
    struct resuming *resuming = memory_new_zero(1, sizeof(*resuming));
    auto_free void *owned = resuming;
    (void)owned;
    resuming->err = err;
    resuming->heeds_stops = taking->heeds_stops;
    struct loop_spec empty = {0};
    int r = loop_new(parts, &empty, &resuming->loop, err);
    if (r < 0) {
        return r;
    }
    struct loop *loop = resuming->loop;
    snprintf(loop->run_id, sizeof(loop->run_id), "%s", taking->run_id);
    r = runtime_claim(loop->runtime, loop->run_id, NULL, NULL, 0, &resuming->claim, err);
    if (r < 0 || resuming->claim.outcome == STORE_HELD) {
        ret_opening->is_held = r == 0;
        ret_opening->holder = resuming->claim.holder;
        loop_free(loop);
        return r;
    }
    bool is_marked = note_orphan(loop, &resuming->claim.run);
    r = resume_claimed(resuming, taking, ret_opening);
    if (r == 0) {
        r = loop_register(loop, err);
    }
    if (r == 0 && is_marked && !taking->is_momentary) {
        orphan_clear(runtime_store(loop->runtime), loop->run_id);
    }
    if (r < 0) {
        if (loop->is_orphan) {
            (void)orphan_mark(runtime_store(loop->runtime), loop->run_id, NULL);
        }
        runtime_abandon(loop->runtime, loop->run_id, resuming->claim.epoch);
        loop_free(loop);
        return r;
    }
    *ret_loop = loop;
    return 0;
}

int loop_resume(const struct loop_parts *parts, const char *run_id, loop_change_fn *change,
                void *change_context, int on_corrupt, struct loop **ret_loop,
                struct loop_opening *ret_opening, struct rondo_error *err)
{
    struct loop_taking taking = {
        .run_id = run_id,
        .change = change,
        .change_context = change_context,
        .on_corrupt = on_corrupt,
        .may_reopen = true,
        .is_continued = true,
    };
    int r = refuse_completed(parts->runtime, run_id, err);
    return r < 0 ? r : loop_take(parts, &taking, ret_loop, ret_opening, err);
}
