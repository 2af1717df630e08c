// SPDX-License-Identifier: Apache-2.0
/*
 * Reading part by part, and writing pieces, each with the mark that says how far it goes. A reading
 * begins after the place of the mark, so that it does not matter when the process before was
 * killed.
 */
#include "store/transfer/transfer.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/transfer/gather.h"
#include "store/transfer/listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** A copy on its way. */
struct copying {
    const struct transfer *transfer;
    struct transfer_mark mark; /**< as it is in the target */
    struct transfer_mark next; /**< as it will be with what is gathered; texts of `mark` */
    struct gathered gathered;
    struct transfer_totals totals; /**< by this process */
    struct rondo_error *err;
    int r; /**< of what a callback did */
    /* The run whose checkpoints are copied. */
    uint64_t *numbers;
    size_t number_count;
    const char *run_id;
    uint64_t part; /**< parts of it so far */
};

/* ---- Writing -------------------------------------------------------------------------------- */

static int tell_progress(struct copying *copying)
{
    const struct transfer *transfer = copying->transfer;
    return transfer->progress(transfer->context, copying->mark.part, &copying->totals)
               ? 0
               : error_set(copying->err, RONDO_ERR_CANCELLED, "the copying was stopped");
}

/** Write what is gathered, and the mark. */
static int flush(struct copying *copying)
{
    const struct transfer *transfer = copying->transfer;
    auto_buf struct buf json = {0};
    const struct store_change change = transfer_mark_change(&copying->next, &json);
    struct store_piece piece = gathered_piece(&copying->gathered);
    bool is_applied = false;
    piece.marks = &change;
    piece.mark_count = 1;
    /* After the events, which have their places below it. */
    piece.last_position = copying->next.part == TRANSFER_COMPARING ? copying->next.position : 0;
    int r = transfer->to->ops->import(transfer->to, &piece, &is_applied, copying->err);
    if (r == 0 && !is_applied) {
        r = error_set(copying->err, RONDO_ERR_BUSY, "another process copies to %s at this moment",
                      transfer->to_name);
    }
    if (r < 0) {
        return r;
    }
    copying->totals.bytes += copying->gathered.bytes;
    gathered_clear(&copying->gathered);
    copying->next.version++;
    copying->mark = copying->next;
    return tell_progress(copying);
}

/** Flush if it is time to. For callbacks. @return whether to continue */
static bool flush_full(struct copying *copying)
{
    size_t most = copying->transfer->piece_parts;
    bool is_full =
        gathered_is_full(&copying->gathered) || (most > 0 && copying->gathered.parts >= most);
    copying->r = is_full ? flush(copying) : 0;
    return copying->r == 0;
}

/** Turn to the next part. */
static int finish_part(struct copying *copying)
{
    copying->next.part++;
    copying->next.number = 0;
    copying->next.collection[0] = '\0';
    copying->next.text[0] = '\0';
    copying->next.skip = 0;
    return flush(copying);
}

static void set_text(struct copying *copying, const char *text)
{
    memccpy(copying->next.text, text, '\0', sizeof(copying->next.text) - 1);
}

/* ---- Runs and what they have ---------------------------------------------------------------- */

static struct store_run_place place_of(const struct transfer_mark *mark)
{
    struct store_run_place place = {.number = mark->number};
    memccpy(place.id, mark->text, '\0', sizeof(place.id) - 1);
    return place;
}

static int copy_run(void *context, const struct store_run *run)
{
    struct copying *copying = context;
    struct store_run copy = *run;
    copy.epoch++;
    gather_run(&copying->gathered, &copy);
    copying->totals.runs++;
    copying->next.number = run->created_ns;
    set_text(copying, run->id);
    return flush_full(copying) ? 0 : copying->r;
}

static int copy_runs(struct copying *copying)
{
    return transfer_each_run(copying->transfer->from, place_of(&copying->mark), copy_run, copying,
                             copying->err);
}

static bool take_event(const struct store_event *event, void *context)
{
    struct copying *copying = context;
    gather_event(&copying->gathered, event);
    copying->totals.events++;
    copying->next.number = (int64_t)event->position;
    return flush_full(copying);
}

static int copy_events(struct copying *copying)
{
    struct store *from = copying->transfer->from;
    copying->r = 0;
    int r = from->ops->read_events(from, NULL, (uint64_t)copying->mark.number, 0, take_event,
                                   copying, copying->err);
    return r < 0 ? r : copying->r;
}

/** Count a part of the present run. @return whether it is to be written */
static bool is_next_part(struct copying *copying)
{
    if (++copying->part <= copying->next.skip) {
        return false; /* It was. */
    }
    copying->next.skip = copying->part;
    return true;
}

static bool note_number(const struct store_checkpoint *checkpoint, void *context)
{
    struct copying *copying = context;
    copying->numbers =
        memory_resize(copying->numbers, copying->number_count + 1, sizeof(*copying->numbers));
    copying->numbers[copying->number_count++] = checkpoint->number;
    return true;
}

static bool take_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    struct copying *copying = context;
    bool is_interim = checkpoint->number == 0;
    copying->totals.checkpoints++;
    if (is_next_part(copying)) {
        gather_checkpoint(&copying->gathered, copying->run_id, is_interim, checkpoint);
        flush_full(copying);
    }
    return true;
}

static int copy_checkpoint(struct copying *copying, uint64_t number)
{
    struct store *from = copying->transfer->from;
    struct rondo_error found = {0};
    copying->r = 0;
    int r =
        from->ops->get_checkpoint(from, copying->run_id, number, take_checkpoint, copying, &found);
    if (r == RONDO_ERR_NOT_FOUND && number == STORE_INTERIM) {
        return 0;
    }
    return r < 0 ? error_set(copying->err, r, "%s", found.message) : copying->r;
}

static bool take_letter(const struct store_letter *letter, void *context)
{
    struct copying *copying = context;
    copying->totals.letters++;
    if (is_next_part(copying)) {
        gather_letter(&copying->gathered, letter);
        return flush_full(copying);
    }
    return true;
}

/** Checkpoints, the oldest first, the interim and letters of a run. */
static int copy_parts(void *context, const struct store_run *run)
{
    struct copying *copying = context;
    struct store *from = copying->transfer->from;
    copying->run_id = run->id;
    copying->part = 0;
    copying->number_count = 0;
    copying->r = 0;
    int r = from->ops->list_checkpoints(from, run->id, note_number, copying, copying->err);
    for (size_t i = copying->number_count; r == 0 && i > 0; i--) {
        r = copy_checkpoint(copying, copying->numbers[i - 1]);
    }
    r = r < 0 ? r : copy_checkpoint(copying, STORE_INTERIM);
    r = r < 0 ? r : from->ops->read_mail(from, run->id, NULL, take_letter, copying, copying->err);
    r = r < 0 ? r : copying->r;
    copying->next.number = run->created_ns;
    set_text(copying, run->id);
    copying->next.skip = 0;
    return r;
}

static int copy_checkpoints(struct copying *copying)
{
    return transfer_each_run(copying->transfer->from, place_of(&copying->mark), copy_parts, copying,
                             copying->err);
}

/* ---- What is beside runs -------------------------------------------------------------------- */

static bool take_document(const struct store_document *document, void *context)
{
    struct copying *copying = context;
    gather_document(&copying->gathered, document);
    copying->totals.documents++;
    memccpy(copying->next.collection, document->collection, '\0',
            sizeof(copying->next.collection) - 1);
    set_text(copying, document->key);
    return flush_full(copying);
}

static int copy_collection(struct copying *copying, const char *collection, const char *after)
{
    struct store *from = copying->transfer->from;
    const struct store_document_query query = {.collection = collection,
                                               .after = after[0] != '\0' ? after : NULL};
    copying->r = 0;
    int r = from->ops->read_documents(from, &query, take_document, copying, copying->err);
    return r < 0 ? r : copying->r;
}

bool transfer_is_left_out(const struct transfer *transfer, const char *collection)
{
    bool is_left_out = strcmp(collection, TRANSFER_COLLECTION) == 0;
    for (const char *const *name = transfer->left_out; !is_left_out && *name != NULL; name++) {
        is_left_out = strcmp(collection, *name) == 0;
    }
    return is_left_out;
}

static int copy_documents(struct copying *copying)
{
    const struct transfer *transfer = copying->transfer;
    struct store *from = transfer->from;
    char collection[STORE_COLLECTION_LEN + 1];
    char after[STORE_KEY_LEN + 1];
    memcpy(collection, copying->mark.collection, sizeof(collection));
    memcpy(after, copying->mark.text, sizeof(after));
    int r = collection[0] != '\0' ? copy_collection(copying, collection, after) : 0;
    while (r == 0) {
        char last[STORE_COLLECTION_LEN + 1];
        memcpy(last, collection, sizeof(last));
        r = from->ops->next_collection(from, last, collection, copying->err);
        if (r < 0 || collection[0] == '\0') {
            break;
        }
        r = transfer_is_left_out(transfer, collection) ? 0
                                                       : copy_collection(copying, collection, "");
    }
    return r;
}

static bool take_policy(const struct store_policy_change *change, void *context)
{
    struct copying *copying = context;
    if (change->number > (uint64_t)copying->next.number) {
        gather_policy(&copying->gathered, change);
        copying->totals.policies++;
        copying->next.number = (int64_t)change->number;
        flush_full(copying);
    }
    return false;
}

static bool note_policy(const struct store_policy_change *change, void *context)
{
    *(uint64_t *)context = change->number;
    return false;
}

/** They are read newest first, so each is asked for by the number after its own. */
static int copy_policies(struct copying *copying)
{
    struct store *from = copying->transfer->from;
    uint64_t newest = 0;
    int r = from->ops->read_policies(from, NULL, 0, note_policy, &newest, copying->err);
    copying->r = 0;
    for (uint64_t number = (uint64_t)copying->mark.number + 1; r == 0 && number <= newest;
         number++) {
        r = from->ops->read_policies(from, NULL, number + 1, take_policy, copying, copying->err);
        r = r < 0 ? r : copying->r;
        if (r == 0 && (uint64_t)copying->next.number != number) {
            r = error_set(copying->err, RONDO_ERR_CORRUPT,
                          "%s is damaged: number %" PRIu64 " of the history of policies is missing",
                          copying->transfer->from_name, number);
        }
    }
    return r;
}

static bool take_owner(const struct store_memory_owner *owner, void *context)
{
    struct copying *copying = context;
    gather_owner(&copying->gathered, owner);
    copying->next.number = owner->key;
    return flush_full(copying);
}

static int copy_owners(struct copying *copying)
{
    struct store *from = copying->transfer->from;
    copying->r = 0;
    int r = from->ops->read_memory_owners(from, copying->mark.number, take_owner, copying,
                                          copying->err);
    return r < 0 ? r : copying->r;
}

static bool take_memory(const struct store_memory *memory, void *context)
{
    struct copying *copying = context;
    auto_buf struct buf grams = {0};
    copying->transfer->write_grams(memory->content, &grams);
    gather_memory(&copying->gathered, STORE_MEMORY_ADD, memory, buf_string(&grams));
    copying->totals.memories++;
    copying->next.number = memory->id;
    return flush_full(copying);
}

static bool take_vector(const struct store_memory *memory, void *context)
{
    struct copying *copying = context;
    gather_memory(&copying->gathered, STORE_MEMORY_EMBED, memory, NULL);
    copying->totals.vectors++;
    copying->next.number = memory->id;
    return flush_full(copying);
}

static int copy_memories(struct copying *copying)
{
    struct store *from = copying->transfer->from;
    bool are_vectors = copying->mark.part == TRANSFER_VECTORS;
    const struct store_memory_query query = {
        .vectors = are_vectors ? STORE_VECTORS_GIVEN : STORE_VECTORS_MISSING,
        .vector_model = are_vectors ? NULL : TRANSFER_NO_MODEL,
        .after_id = copying->mark.number,
    };
    copying->r = 0;
    int r = from->ops->read_memories(from, &query, are_vectors ? take_vector : take_memory, copying,
                                     copying->err);
    return r < 0 ? r : copying->r;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static int copy_part(struct copying *copying)
{
    switch (copying->mark.part) {
    case TRANSFER_RUNS:
        return copy_runs(copying);
    case TRANSFER_EVENTS:
        return copy_events(copying);
    case TRANSFER_CHECKPOINTS:
        return copy_checkpoints(copying);
    case TRANSFER_DOCUMENTS:
        return copy_documents(copying);
    case TRANSFER_POLICIES:
        return copy_policies(copying);
    case TRANSFER_OWNERS:
        return copy_owners(copying);
    case TRANSFER_MEMORIES:
    case TRANSFER_VECTORS:
        return copy_memories(copying);
    case TRANSFER_COMPARING:
    case TRANSFER_SETTLING:
    case TRANSFER_DONE:
    case TRANSFER_PART_COUNT:
        break;
    }
    return 0;
}

struct survey {
    const struct transfer *transfer;
    struct store_run executed; /**< id "" = none is */
    int64_t now_ns;
};

static bool look_at_run(const struct store_run *run, void *context)
{
    struct survey *survey = context;
    if (survey->transfer->is_executed(run, survey->now_ns)) {
        survey->executed = *run;
        return false;
    }
    return true;
}

/** Refuse a source whose runs are executed. */
static int check_idle(const struct transfer *transfer, struct rondo_error *err)
{
    struct survey survey = {.transfer = transfer, .now_ns = clock_now(clock_system())};
    const struct store_run_query query = {.order = STORE_BY_CREATED};
    int r = transfer->from->ops->list_runs(transfer->from, &query, look_at_run, &survey, err);
    if (r == 0 && survey.executed.id[0] != '\0') {
        return error_set(err, RONDO_ERR_BUSY,
                         "run %s of %s in %s is being executed; stop all processes that use that "
                         "store, and copy it then",
                         survey.executed.id, survey.executed.agent_id, transfer->from_name);
    }
    return r;
}

/** Name the first thing that a store has. @param ret_what "" = it is empty */
static int find_content(struct store *store, const char **ret_what, struct rondo_error *err)
{
    char collection[STORE_COLLECTION_LEN + 1] = "";
    uint64_t policy = 0;
    uint64_t runs = 0;
    int r = transfer_count_runs(store, &runs, err);
    r = r < 0 ? r : store->ops->next_collection(store, "", collection, err);
    r = r < 0 ? r : store->ops->read_policies(store, NULL, 0, note_policy, &policy, err);
    *ret_what = runs > 0                ? "runs"
                : collection[0] != '\0' ? "documents"
                : policy > 0            ? "a history of policies"
                                        : "";
    return r;
}

/** Begin a copy: the target is empty, and no other name of the source. */
static int begin(struct copying *copying, uint64_t position)
{
    const struct transfer *transfer = copying->transfer;
    const char *what = "";
    int r = find_content(transfer->to, &what, copying->err);
    if (r == 0 && what[0] != '\0') {
        r = error_set(copying->err, RONDO_ERR_STATE,
                      "%s has %s already; copy to a store that is empty or does not exist",
                      transfer->to_name, what);
    }
    if (r < 0) {
        return r;
    }
    copying->next = (struct transfer_mark){
        .from = memory_dup_string(transfer->from_name),
        .position = position,
        .begun_ns = clock_now(clock_system()),
    };
    copying->mark.from = copying->next.from;
    r = flush(copying);
    if (r < 0) {
        return r;
    }
    struct transfer_mark seen = {0};
    r = transfer_mark_read(transfer->from, &seen, copying->err);
    bool is_same = r == 0 && seen.version > 0 && seen.begun_ns == copying->mark.begun_ns;
    transfer_mark_fini(&seen);
    if (is_same) {
        const struct store_change change = {.kind = STORE_DELETE_UP_TO,
                                            .collection = TRANSFER_COLLECTION,
                                            .key = "\xff",
                                            .if_version = STORE_ANY_VERSION};
        bool is_applied = false;
        transfer->to->ops->change_documents(transfer->to, &change, 1, &is_applied, NULL);
        return error_set(copying->err, RONDO_ERR_STATE, "%s and %s are the same store",
                         transfer->from_name, transfer->to_name);
    }
    return r;
}

/** Go on with the copy that the mark is of. */
static int go_on(struct copying *copying, uint64_t position)
{
    const struct transfer *transfer = copying->transfer;
    const struct transfer_mark *mark = &copying->mark;
    bool is_done = mark->part == TRANSFER_DONE;
    copying->next = *mark;
    if (strcmp(mark->from, transfer->from_name) != 0) {
        return error_set(copying->err, RONDO_ERR_STATE,
                         "%s is %s of %s already; copy to a store that is empty or does not exist",
                         transfer->to_name, is_done ? "a copy" : "an unfinished copy", mark->from);
    }
    if (mark->position != position) {
        return error_set(copying->err, RONDO_ERR_STATE,
                         "%s has changed since it was copied to %s%s; empty that one, and copy "
                         "again while nothing uses the source",
                         transfer->from_name, transfer->to_name, is_done ? "" : " in part");
    }
    return 0;
}

/** What follows when everything is written. */
static int finish(struct copying *copying, enum transfer_outcome *ret_outcome)
{
    const struct transfer *transfer = copying->transfer;
    uint64_t differences = 0;
    int r = 0;
    if (copying->mark.part == TRANSFER_COMPARING) {
        r = transfer_compare(transfer, &differences, &copying->totals, copying->err);
        if (r < 0 || differences > 0) {
            *ret_outcome = TRANSFER_DIFFERS;
            return r;
        }
        r = finish_part(copying);
    }
    r = r < 0 ? r : transfer->settle(transfer->context, copying->err);
    r = r < 0 ? r : finish_part(copying);
    *ret_outcome = TRANSFER_COPIED;
    return r;
}

static int copy_all(struct copying *copying, enum transfer_outcome *ret_outcome)
{
    const struct transfer *transfer = copying->transfer;
    uint64_t position = 0;
    int r = check_idle(transfer, copying->err);
    r = r < 0 ? r : transfer->from->ops->last_position(transfer->from, &position, copying->err);
    r = r < 0 ? r : transfer_mark_read(transfer->to, &copying->mark, copying->err);
    if (r < 0) {
        return r;
    }
    r = copying->mark.version == 0 ? begin(copying, position) : go_on(copying, position);
    if (r == 0 && copying->mark.part == TRANSFER_DONE) {
        *ret_outcome = TRANSFER_WAS_COPIED;
        return 0;
    }
    while (r == 0 && copying->mark.part < TRANSFER_COMPARING) {
        r = copy_part(copying);
        r = r < 0 ? r : finish_part(copying);
    }
    return r < 0 ? r : finish(copying, ret_outcome);
}

int transfer_copy(const struct transfer *transfer, enum transfer_outcome *ret_outcome,
                  struct transfer_totals *ret_totals, struct rondo_error *err)
{
    if (transfer->to->ops->import == NULL || transfer->from->ops->read_memory_owners == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "such a store cannot be copied");
    }
    struct copying *copying = memory_new_zero(1, sizeof(*copying));
    copying->transfer = transfer;
    copying->err = err;
    int r = copy_all(copying, ret_outcome);
    *ret_totals = copying->totals;
    gathered_fini(&copying->gathered);
    transfer_mark_fini(&copying->mark);
    free(copying->numbers);
    free(copying);
    return r;
}
