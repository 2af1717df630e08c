// SPDX-License-Identifier: Apache-2.0
/*
 * Runs are listed in pages, oldest first, because a callback of the store may not use the store.
 * What a run's row says is read before its journal, which may have grown since, but not shrunk
 * unless the run was deleted whole.
 */
#include "journal/verify.h"

#include "base/error.h"
#include "base/memory.h"
#include "journal/checkpoint.h"
#include "journal/reader.h"
#include "journal/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** Runs, and memories, that are listed at a time. */
#define PAGE 256
/** Rows that cannot be read, and are known to have been reported. */
#define KNOWN_ROWS 1024
/** No vector has such a model, so all memories are without one of it. */
#define NO_MODEL "-"

struct verifying {
    struct store *store;
    const struct journal_verify_listener *listener;
    struct journal_verified verified;
    struct rondo_error *err;
    /* The page of runs. */
    struct store_run page[PAGE];
    size_t page_count;
    bool has_place;
    struct store_run_place place;
    int64_t known_rows[KNOWN_ROWS];
    size_t known_count;
    bool is_page_damaged; /**< a row of it cannot be read */
    /* The run. */
    struct run_state state;
    uint64_t events;
    uint64_t *numbers; /**< of its checkpoints */
    size_t number_count;
    /* The page of documents. */
    char last_key[STORE_KEY_LEN + 1];
    size_t document_count;
    /* The page of memories. */
    int64_t last_memory;
    size_t memory_count;
};

static void report(struct verifying *verifying, const char *run_id, const char *detail)
{
    verifying->verified.damages++;
    verifying->listener->damage(verifying->listener->context, run_id, detail);
}

/**
 * Tell apart what is damaged from what could not be read.
 * @return 0 when the reading can go on
 */
static int judge(struct verifying *verifying, const char *run_id, int result,
                 const struct rondo_error *found)
{
    if (result == RONDO_ERR_CORRUPT || result == RONDO_ERR_VERSION || result == RONDO_ERR_INVALID) {
        report(verifying, run_id, found->message);
        return 0;
    }
    return result < 0 ? error_set(verifying->err, result, "%s", found->message) : 0;
}

static bool fold_entry(const struct journal_entry *entry, void *context)
{
    struct verifying *verifying = context;
    struct rondo_error found = {0};
    verifying->events++;
    if (!entry->is_known) {
        verifying->state.seq = entry->event.seq; /* Of a newer version. */
        return true;
    }
    int r = run_fold(&verifying->state, &entry->event, &found);
    if (r < 0) {
        report(verifying, entry->run_id, found.message);
    }
    return r == 0;
}

static int verify_journal(struct verifying *verifying, const struct store_run *run)
{
    struct rondo_error found = {0};
    uint64_t damages = verifying->verified.damages;
    verifying->state = (struct run_state){0};
    verifying->events = 0;
    int r = journal_visit(verifying->store, run->id, 0, 0, fold_entry, verifying, &found);
    r = judge(verifying, run->id, r, &found);
    verifying->verified.events += verifying->events;
    if (r < 0 || verifying->verified.damages > damages || verifying->events >= run->last_seq) {
        return r;
    }
    struct store_run now;
    r = verifying->store->ops->get_run(verifying->store, run->id, &now, &found);
    if (r == 0) {
        struct rondo_error missing = {0};
        error_set(&missing, RONDO_ERR_CORRUPT,
                  "its journal has %" PRIu64 " events, but its row counts %" PRIu64,
                  verifying->events, run->last_seq);
        report(verifying, run->id, missing.message);
    }
    return r == RONDO_ERR_NOT_FOUND ? 0 : judge(verifying, run->id, r, &found);
}

static int verify_checkpoint(struct verifying *verifying, const char *run_id, uint64_t number)
{
    struct rondo_error found = {0};
    struct checkpoint checkpoint;
    int r = checkpoint_load(verifying->store, run_id, number, &checkpoint, &found);
    if (r == 0) {
        checkpoint_fini(&checkpoint);
        verifying->verified.checkpoints++;
    }
    /* It was pruned since it was listed, or the run has no interim. */
    return r == RONDO_ERR_NOT_FOUND ? 0 : judge(verifying, run_id, r, &found);
}

static bool note_number(const struct store_checkpoint *checkpoint, void *context)
{
    struct verifying *verifying = context;
    verifying->numbers =
        memory_resize(verifying->numbers, verifying->number_count + 1, sizeof(*verifying->numbers));
    verifying->numbers[verifying->number_count++] = checkpoint->number;
    return true;
}

static int verify_checkpoints(struct verifying *verifying, const char *run_id)
{
    struct rondo_error found = {0};
    verifying->number_count = 0;
    int r = verifying->store->ops->list_checkpoints(verifying->store, run_id, note_number,
                                                    verifying, &found);
    r = judge(verifying, run_id, r, &found);
    for (size_t i = 0; r == 0 && i < verifying->number_count; i++) {
        r = verify_checkpoint(verifying, run_id, verifying->numbers[i]);
    }
    return r < 0 ? r : verify_checkpoint(verifying, run_id, STORE_INTERIM);
}

static bool count_letter(const struct store_letter *letter, void *context)
{
    (void)letter;
    ((struct verifying *)context)->verified.letters++;
    return true;
}

static int verify_run(struct verifying *verifying, const struct store_run *run)
{
    struct rondo_error found = {0};
    int r = verify_journal(verifying, run);
    if (r == 0) {
        r = verify_checkpoints(verifying, run->id);
    }
    if (r == 0) {
        r = verifying->store->ops->read_mail(verifying->store, run->id, NULL, count_letter,
                                             verifying, &found);
        r = judge(verifying, run->id, r, &found);
    }
    verifying->verified.runs++;
    const struct journal_verify_listener *listener = verifying->listener;
    if (r == 0 && !listener->progress(listener->context, &verifying->verified)) {
        r = error_set(verifying->err, RONDO_ERR_CANCELLED, "the check was stopped");
    }
    return r;
}

static bool take_run(const struct store_run *run, void *context)
{
    struct verifying *verifying = context;
    verifying->page[verifying->page_count++] = *run;
    return true;
}

/** A row that cannot be read may be listed again, in the next page. */
static void take_damaged(const struct store_damaged_run *damaged, void *context)
{
    struct verifying *verifying = context;
    verifying->is_page_damaged = true;
    for (size_t i = 0; i < verifying->known_count; i++) {
        if (verifying->known_rows[i] == damaged->row) {
            return;
        }
    }
    if (verifying->known_count < KNOWN_ROWS) {
        verifying->known_rows[verifying->known_count++] = damaged->row;
    }
    report(verifying, damaged->id != NULL ? damaged->id : "", damaged->detail);
}

static int list_page(struct verifying *verifying)
{
    struct rondo_error found = {0};
    const struct store_run_query query = {
        .order = STORE_BY_CREATED,
        .is_ascending = true,
        .after = verifying->has_place ? &verifying->place : NULL,
        .limit = PAGE,
        .damaged = take_damaged,
    };
    verifying->page_count = 0;
    verifying->is_page_damaged = false;
    int r = verifying->store->ops->list_runs(verifying->store, &query, take_run, verifying, &found);
    if (r == 0 && verifying->page_count == 0 && verifying->is_page_damaged &&
        verifying->known_count >= PAGE) {
        report(verifying, "", "too many rows in a row cannot be read; what follows was not read");
    }
    return judge(verifying, "", r, &found);
}

static int verify_runs(struct verifying *verifying)
{
    int r = list_page(verifying);
    while (r == 0 && verifying->page_count > 0) {
        for (size_t i = 0; r == 0 && i < verifying->page_count; i++) {
            r = verify_run(verifying, &verifying->page[i]);
        }
        const struct store_run *last = &verifying->page[verifying->page_count - 1];
        verifying->has_place = true;
        verifying->place.number = last->created_ns;
        memcpy(verifying->place.id, last->id, sizeof(verifying->place.id));
        r = r < 0 ? r : list_page(verifying);
    }
    return r;
}

static bool count_policy(const struct store_policy_change *change, void *context)
{
    (void)change;
    ((struct verifying *)context)->verified.policies++;
    return true;
}

static bool count_document(const struct store_document *document, void *context)
{
    struct verifying *verifying = context;
    memcpy(verifying->last_key, document->key, strlen(document->key) + 1);
    verifying->document_count++;
    return true;
}

static int verify_collection(struct verifying *verifying, const char *collection)
{
    int r = 0;
    verifying->last_key[0] = '\0';
    do {
        struct rondo_error found = {0};
        char after[STORE_KEY_LEN + 1];
        memcpy(after, verifying->last_key, sizeof(after));
        const struct store_document_query query = {
            .collection = collection, .after = after[0] != '\0' ? after : NULL, .limit = PAGE};
        verifying->document_count = 0;
        r = verifying->store->ops->read_documents(verifying->store, &query, count_document,
                                                  verifying, &found);
        bool is_whole = r == 0;
        r = judge(verifying, "", r, &found);
        verifying->verified.documents += verifying->document_count;
        if (!is_whole) {
            break; /* Where the next page begins is not known. */
        }
    } while (verifying->document_count == PAGE);
    return r;
}

static int verify_documents(struct verifying *verifying)
{
    char name[STORE_COLLECTION_LEN + 1] = "";
    for (;;) {
        struct rondo_error found = {0};
        char after[STORE_COLLECTION_LEN + 1];
        memcpy(after, name, sizeof(after));
        int r = verifying->store->ops->next_collection(verifying->store, after, name, &found);
        bool is_whole = r == 0;
        r = judge(verifying, "", r, &found);
        if (r < 0 || !is_whole || name[0] == '\0') {
            return r;
        }
        r = verify_collection(verifying, name);
        if (r < 0) {
            return r;
        }
    }
}

static bool count_memory(const struct store_memory *memory, void *context)
{
    struct verifying *verifying = context;
    verifying->last_memory = memory->id;
    verifying->memory_count++;
    return true;
}

static int verify_memories(struct verifying *verifying)
{
    int r = 0;
    do {
        struct rondo_error found = {0};
        const struct store_memory_query query = {
            .vectors = STORE_VECTORS_MISSING,
            .vector_model = NO_MODEL,
            .after_id = verifying->last_memory,
            .limit = PAGE,
        };
        verifying->memory_count = 0;
        r = verifying->store->ops->read_memories(verifying->store, &query, count_memory, verifying,
                                                 &found);
        bool is_whole = r == 0;
        r = judge(verifying, "", r, &found);
        verifying->verified.memories += verifying->memory_count;
        if (!is_whole) {
            break; /* Where the next page begins is not known. */
        }
    } while (verifying->memory_count == PAGE);
    return r;
}

int journal_verify(struct store *store, const struct journal_verify_listener *listener,
                   struct journal_verified *ret_verified, struct rondo_error *err)
{
    struct verifying *verifying = memory_new_zero(1, sizeof(*verifying));
    struct rondo_error found = {0};
    verifying->store = store;
    verifying->listener = listener;
    verifying->err = err;
    int r = verify_runs(verifying);
    if (r == 0) {
        r = store->ops->read_policies(store, NULL, 0, count_policy, verifying, &found);
        r = judge(verifying, "", r, &found);
    }
    if (r == 0) {
        r = verify_documents(verifying);
    }
    if (r == 0) {
        r = verify_memories(verifying);
    }
    *ret_verified = verifying->verified;
    free(verifying->numbers);
    free(verifying);
    return r;
}
