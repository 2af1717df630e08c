// SPDX-License-Identifier: Apache-2.0
/*
 * Commit in the memory back end. All batches are decided about before the first is applied, so that
 * there is never anything to roll back. Threads: the store's mutex is held meanwhile.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/memory.h"
#include "memory_rows.h"
#include "store/rules.h"

#include <string.h>

static struct memory_checkpoint *dup_checkpoint(const struct store_checkpoint *checkpoint)
{
    struct memory_checkpoint *copy = memory_new_zero(1, sizeof(*copy));
    copy->content = *checkpoint;
    copy->content.state = checkpoint->state == NULL
                              ? NULL
                              : memory_dup_bytes(checkpoint->state, checkpoint->state_len);
    copy->content.fold = memory_dup_string(checkpoint->fold);
    copy->content.custom_data = memory_dup_string(checkpoint->custom_data);
    copy->content.conditions = memory_dup_string(checkpoint->conditions);
    return copy;
}

static void replace_interim(struct memory_run *run, const struct store_checkpoint *interim)
{
    memory_rows_free_checkpoint(run->interim);
    run->interim = interim == NULL ? NULL : dup_checkpoint(interim);
}

static void insert_checkpoint(struct memory_run *run, const struct store_checkpoint *checkpoint)
{
    struct memory_checkpoint *copy = dup_checkpoint(checkpoint);
    DL_PREPEND(run->checkpoints, copy);
    run->last_checkpoint = checkpoint->number;
    replace_interim(run, NULL);
}

static void prune_checkpoints(struct memory_run *run, uint64_t keep)
{
    struct memory_checkpoint *checkpoint, *next;
    DL_FOREACH_SAFE(run->checkpoints, checkpoint, next)
    {
        if (checkpoint->content.number + keep <= run->last_checkpoint) {
            DL_DELETE(run->checkpoints, checkpoint);
            memory_rows_free_checkpoint(checkpoint);
        }
    }
}

static void delete_mail(struct memory_run *run, uint64_t up_to)
{
    while (run->letters != NULL && run->letters->id <= up_to) {
        struct memory_letter *letter = run->letters;
        DL_DELETE(run->letters, letter);
        memory_rows_free_letter(letter);
    }
}

static struct rules_row rules_row_of(const struct memory_run *run)
{
    return (struct rules_row){
        .epoch = run->row.epoch,
        .last_seq = run->row.last_seq,
        .last_checkpoint = run->last_checkpoint,
        .is_owned = run->row.owner[0] != '\0',
    };
}

static void apply_batch(struct memory_store *store, struct memory_run *run,
                        const struct store_batch *batch)
{
    int64_t now_ns = clock_now(store->clock);
    struct rules_row row = rules_row_of(run);
    if (rules_stores_checkpoint(&row, batch)) {
        insert_checkpoint(run, batch->checkpoint);
    }
    if (batch->interim != NULL) {
        replace_interim(run, batch->interim);
    }
    if (batch->keep_checkpoints > 0) {
        prune_checkpoints(run, batch->keep_checkpoints);
    }
    memory_rows_insert_events(store, run, batch->events, batch->event_count);
    memory_apply_notes(store, batch->memories, batch->memory_count);
    delete_mail(run, batch->mail_taken);
    if (batch->update != NULL) {
        memory_update_document(store, batch->update);
    }
    run->row.summary = batch->summary;
    if (run->row.owner[0] != '\0') {
        run->row.alive_ns = now_ns;
        run->row.alive_monotonic_ns = clock_monotonic(store->clock);
    }
    run->row.updated_ns = now_ns;
    run->row.ended_ns = rules_ended_ns(batch->summary.status, run->row.ended_ns, now_ns);
    run->row.lease_until_ns = batch->lease_ns > 0 ? now_ns + batch->lease_ns : 0;
    if (batch->lease_ns == 0) {
        memory_rows_set_owner(store, run, "");
    }
}

static bool has_mail(const struct memory_run *run, const struct store_batch *batch)
{
    return run->letters != NULL && run->letters->prev->id > batch->mail_taken;
}

/** Decide about all batches before the first is applied: a refused one must leave no trace. */
static int decide_all(struct memory_store *store, const struct store_batch *const *batches,
                      size_t count, struct store_commit_result *results, struct rondo_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct memory_run *run = memory_rows_find(store, batches[i]->run_id);
        if (run == NULL) {
            return memory_rows_missing(batches[i]->run_id, err);
        }
        struct rules_row row = rules_row_of(run);
        int rc = rules_decide(&row, batches[i], &results[i].outcome, err);
        if (rc < 0) {
            return rc;
        }
        const struct store_premise *premise = batches[i]->premise;
        bool has_document = premise != NULL && premise->collection != NULL;
        uint64_t version =
            has_document ? memory_document_version(store, premise->collection, premise->key) : 0;
        if (results[i].outcome == STORE_COMMITTED &&
            !rules_holds_premise(batches[i], has_mail(run, batches[i]), version)) {
            results[i].outcome = STORE_OUTDATED;
        }
    }
    return 0;
}

static void finish_batch(struct memory_store *store, const struct store_batch *batch,
                         struct store_commit_result *result)
{
    struct memory_run *run = memory_rows_find(store, batch->run_id);
    result->position = 0;
    result->has_mail = false;
    if (result->outcome == STORE_FENCED || result->outcome == STORE_OUTDATED) {
        return;
    }
    if (result->outcome == STORE_COMMITTED) {
        apply_batch(store, run, batch);
    }
    if (batch->event_count > 0) {
        size_t last = (size_t)(batch->first_seq + batch->event_count - 2);
        result->position = run->events.items[last]->position;
    }
    result->has_mail = has_mail(run, batch);
}

int memory_commit(struct store *base, const struct store_batch *const *batches, size_t count,
                  struct store_commit_result *ret_results, struct rondo_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int rc = rules_check_batch(batches[i], err);
        if (rc < 0) {
            return rc;
        }
    }
    auto_free struct store_commit_result *results = memory_new_zero(count, sizeof(*results));
    struct memory_store *store = memory_rows_lock(base);
    int rc = decide_all(store, batches, count, results, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        finish_batch(store, batches[i], &results[i]);
    }
    memory_rows_unlock(store);
    if (rc == 0) {
        memcpy(ret_results, results, count * sizeof(*results));
    }
    return rc;
}
