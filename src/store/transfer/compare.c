// SPDX-License-Identifier: Apache-2.0
/*
 * Comparing two stores, by digests of what reading gives: no run is held in memory, and what two
 * back ends keep differently does not matter.
 */
#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/transfer/listing.h"
#include "store/transfer/transfer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct comparing {
    const struct transfer *transfer;
    struct transfer_totals totals; /**< of the source */
    uint64_t differences;
    struct rondo_error *err;
};

/** One digest that is taken, and what it is of. */
struct taking {
    struct digest digest;
    struct transfer_totals *totals; /**< counted on; NULL = not */
    uint64_t last_policy;           /**< changes after it do not count; 0 = all do */
    uint64_t newest_policy;
    uint64_t *numbers; /**< of checkpoints */
    size_t number_count;
};

struct digest_value {
    unsigned char bytes[DIGEST_SIZE];
};

/** Anything that differs between NULL, "" and the rest. */
static void add(struct taking *taking, const void *bytes, size_t len)
{
    digest_add_u64(&taking->digest, bytes == NULL ? UINT64_MAX : len);
    if (bytes != NULL) {
        digest_add(&taking->digest, bytes, len);
    }
    if (taking->totals != NULL) {
        taking->totals->bytes += bytes == NULL ? 0 : len;
    }
}

static void add_text(struct taking *taking, const char *text)
{
    add(taking, text, text == NULL ? 0 : strlen(text));
}

static void add_number(struct taking *taking, int64_t number)
{
    digest_add_u64(&taking->digest, (uint64_t)number);
}

static struct taking begin_taking(struct transfer_totals *totals)
{
    return (struct taking){.digest = digest_begin(), .totals = totals};
}

static struct digest_value finish_taking(struct taking *taking)
{
    struct digest_value value;
    digest_finish(&taking->digest, value.bytes);
    free(taking->numbers);
    return value;
}

/* ---- A run ---------------------------------------------------------------------------------- */

static void report(struct comparing *comparing, struct buf *text)
{
    const struct transfer *transfer = comparing->transfer;
    comparing->differences++;
    transfer->difference(transfer->context, buf_string(text));
    buf_clear(text);
}

static struct digest_value digest_row(const struct store_run *run)
{
    struct taking taking = begin_taking(NULL);
    const struct store_summary *summary = &run->summary;
    add_text(&taking, run->agent_id);
    add_text(&taking, run->parent);
    const int64_t numbers[] = {
        run->is_exclusive,
        (int64_t)summary->status,
        (int64_t)summary->iteration,
        (int64_t)summary->iteration_limit,
        summary->conditions_met,
        summary->conditions_total,
        summary->tokens,
        summary->cost_micro,
        summary->warnings,
        summary->is_paused,
        summary->is_waiting,
        (int64_t)run->last_seq,
        run->created_ns,
        run->updated_ns,
        run->ended_ns,
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        add_number(&taking, numbers[i]);
    }
    return finish_taking(&taking);
}

static bool add_event(const struct store_event *event, void *context)
{
    struct taking *taking = context;
    add_number(taking, (int64_t)event->position);
    add_number(taking, (int64_t)event->seq);
    add_number(taking, event->time_ns);
    add_text(taking, event->type);
    add(taking, event->data, event->data_len);
    if (taking->totals != NULL) {
        taking->totals->events++;
    }
    return true;
}

static int take_events(struct taking *taking, struct store *store, const char *run_id,
                       struct rondo_error *err)
{
    return store->ops->read_events(store, run_id, 0, 0, add_event, taking, err);
}

static bool note_number(const struct store_checkpoint *checkpoint, void *context)
{
    struct taking *taking = context;
    taking->numbers =
        memory_resize(taking->numbers, taking->number_count + 1, sizeof(*taking->numbers));
    taking->numbers[taking->number_count++] = checkpoint->number;
    return true;
}

static bool add_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    struct taking *taking = context;
    add_number(taking, (int64_t)checkpoint->number);
    add_number(taking, (int64_t)checkpoint->seq);
    add_number(taking, (int64_t)checkpoint->iteration);
    add_number(taking, checkpoint->time_ns);
    add_number(taking, checkpoint->format);
    add_number(taking, (int64_t)checkpoint->state_size);
    add_number(taking, checkpoint->is_packed);
    add(taking, checkpoint->sha256, sizeof(checkpoint->sha256));
    add_text(taking, checkpoint->fold);
    add_text(taking, checkpoint->custom_data);
    add_text(taking, checkpoint->conditions);
    /* One back end keeps no bytes as a null. */
    add(taking, checkpoint->state_len > 0 ? checkpoint->state : "", checkpoint->state_len);
    if (taking->totals != NULL) {
        taking->totals->checkpoints++;
    }
    return true;
}

static int take_checkpoints(struct taking *taking, struct store *store, const char *run_id,
                            struct rondo_error *err)
{
    int r = store->ops->list_checkpoints(store, run_id, note_number, taking, err);
    for (size_t i = 0; r == 0 && i < taking->number_count; i++) {
        r = store->ops->get_checkpoint(store, run_id, taking->numbers[i], add_checkpoint, taking,
                                       err);
    }
    struct rondo_error found = {0};
    int interim = r < 0 ? 0
                        : store->ops->get_checkpoint(store, run_id, STORE_INTERIM, add_checkpoint,
                                                     taking, &found);
    if (interim < 0 && interim != RONDO_ERR_NOT_FOUND) {
        return error_set(err, interim, "%s", found.message);
    }
    return r;
}

static bool add_letter(const struct store_letter *letter, void *context)
{
    struct taking *taking = context;
    add_number(taking, letter->time_ns);
    add_text(taking, letter->kind);
    add_text(taking, letter->data);
    if (taking->totals != NULL) {
        taking->totals->letters++;
    }
    return true;
}

static int take_letters(struct taking *taking, struct store *store, const char *run_id,
                        struct rondo_error *err)
{
    return store->ops->read_mail(store, run_id, NULL, add_letter, taking, err);
}

/** What is compared of runs and of the whole. @param name a run's id, a collection, or NULL */
typedef int take_fn(struct taking *taking, struct store *store, const char *name,
                    struct rondo_error *err);

/** Take both digests. @return 1 they are the same, 0 they differ, or a negative code */
static int compare_both(struct comparing *comparing, take_fn *take, const char *name)
{
    const struct transfer *transfer = comparing->transfer;
    struct taking from = begin_taking(&comparing->totals);
    struct taking to = begin_taking(NULL);
    int r = take(&from, transfer->from, name, comparing->err);
    /* What the target has recorded since is no difference. */
    to.last_policy = from.newest_policy;
    r = r < 0 ? r : take(&to, transfer->to, name, comparing->err);
    struct digest_value first = finish_taking(&from);
    struct digest_value second = finish_taking(&to);
    return r < 0 ? r : memcmp(&first, &second, sizeof(first)) == 0;
}

static int compare_run(void *context, const struct store_run *run)
{
    struct comparing *comparing = context;
    static const struct {
        const char *what;
        take_fn *take;
    } parts[] = {
        {"its journal differs", take_events},
        {"its checkpoints differ", take_checkpoints},
        {"the commands that wait for it differ", take_letters},
    };
    const struct transfer *transfer = comparing->transfer;
    auto_buf struct buf text = {0};
    struct rondo_error found = {0};
    struct store_run other;
    int r = transfer->to->ops->get_run(transfer->to, run->id, &other, &found);
    if (r == RONDO_ERR_NOT_FOUND) {
        buf_printf(&text, "run %s is not in %s", run->id, transfer->to_name);
        report(comparing, &text);
        return 0;
    }
    if (r < 0) {
        return error_set(comparing->err, r, "%s", found.message);
    }
    struct digest_value first = digest_row(run);
    struct digest_value second = digest_row(&other);
    if (memcmp(&first, &second, sizeof(first)) != 0) {
        buf_printf(&text, "run %s: its row differs", run->id);
        report(comparing, &text);
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        r = compare_both(comparing, parts[i].take, run->id);
        if (r < 0) {
            return r;
        }
        if (r == 0) {
            buf_printf(&text, "run %s: %s", run->id, parts[i].what);
            report(comparing, &text);
        }
    }
    comparing->totals.runs++;
    return transfer->progress(transfer->context, TRANSFER_COMPARING, &comparing->totals)
               ? 0
               : error_set(comparing->err, RONDO_ERR_CANCELLED, "the comparison was stopped");
}

/** Report a run of the target that the source does not have. */
static int look_for_run(void *context, const struct store_run *run)
{
    struct comparing *comparing = context;
    const struct transfer *transfer = comparing->transfer;
    struct store_run other;
    struct rondo_error found = {0};
    int r = transfer->from->ops->get_run(transfer->from, run->id, &other, &found);
    if (r == RONDO_ERR_NOT_FOUND) {
        auto_buf struct buf text = {0};
        buf_printf(&text, "run %s is not in %s", run->id, transfer->from_name);
        report(comparing, &text);
        return 0;
    }
    return r < 0 ? error_set(comparing->err, r, "%s", found.message) : 0;
}

static int compare_runs(struct comparing *comparing)
{
    const struct transfer *transfer = comparing->transfer;
    const struct store_run_place start = {0};
    uint64_t count = 0;
    int r = transfer_each_run(transfer->from, start, compare_run, comparing, comparing->err);
    r = r < 0 ? r : transfer_count_runs(transfer->to, &count, comparing->err);
    return r == 0 && count != comparing->totals.runs
               ? transfer_each_run(transfer->to, start, look_for_run, comparing, comparing->err)
               : r;
}

/* ---- What is beside runs -------------------------------------------------------------------- */

static bool add_document(const struct store_document *document, void *context)
{
    struct taking *taking = context;
    add_text(taking, document->key);
    add_number(taking, (int64_t)document->version);
    add_number(taking, document->updated_ns);
    add(taking, document->data, document->data_len);
    if (taking->totals != NULL) {
        taking->totals->documents++;
    }
    return true;
}

static int take_documents(struct taking *taking, struct store *store, const char *collection,
                          struct rondo_error *err)
{
    const struct store_document_query query = {.collection = collection};
    return store->ops->read_documents(store, &query, add_document, taking, err);
}

/** Compare the collections in the order of their names, those of one store only too. */
static int compare_documents(struct comparing *comparing)
{
    const struct transfer *transfer = comparing->transfer;
    char name[STORE_COLLECTION_LEN + 1] = "";
    for (;;) {
        char first[STORE_COLLECTION_LEN + 1];
        char second[STORE_COLLECTION_LEN + 1];
        int r = transfer->from->ops->next_collection(transfer->from, name, first, comparing->err);
        r = r < 0 ? r
                  : transfer->to->ops->next_collection(transfer->to, name, second, comparing->err);
        if (r < 0 || (first[0] == '\0' && second[0] == '\0')) {
            return r;
        }
        bool is_second = first[0] == '\0' || (second[0] != '\0' && strcmp(second, first) < 0);
        memcpy(name, is_second ? second : first, sizeof(name));
        if (transfer_is_left_out(transfer, name)) {
            continue;
        }
        r = compare_both(comparing, take_documents, name);
        if (r < 0) {
            return r;
        }
        if (r == 0) {
            auto_buf struct buf text = {0};
            buf_printf(&text, "the documents of the collection %s differ", name);
            report(comparing, &text);
        }
    }
}

static bool add_policy(const struct store_policy_change *change, void *context)
{
    struct taking *taking = context;
    if (taking->newest_policy == 0) {
        taking->newest_policy = change->number;
    }
    if (taking->totals == NULL && change->number > taking->last_policy) {
        return true;
    }
    add_number(taking, (int64_t)change->number);
    add_number(taking, change->time_ns);
    add_text(taking, change->source);
    add_text(taking, change->digest);
    add_text(taking, change->how);
    add_text(taking, change->by);
    add(taking, change->text, change->text_len);
    if (taking->totals != NULL) {
        taking->totals->policies++;
    }
    return true;
}

static int take_policies(struct taking *taking, struct store *store, const char *name,
                         struct rondo_error *err)
{
    (void)name;
    return store->ops->read_policies(store, NULL, 0, add_policy, taking, err);
}

static bool add_owner(const struct store_memory_owner *owner, void *context)
{
    struct taking *taking = context;
    add_number(taking, owner->key);
    add_text(taking, owner->name);
    add_number(taking, owner->last);
    return true;
}

static int take_owners(struct taking *taking, struct store *store, const char *name,
                       struct rondo_error *err)
{
    (void)name;
    return store->ops->read_memory_owners(store, 0, add_owner, taking, err);
}

static bool add_memory(const struct store_memory *memory, void *context)
{
    struct taking *taking = context;
    add_number(taking, memory->id);
    add_text(taking, memory->owner);
    add_number(taking, memory->kind);
    add_number(taking, memory->created_ns);
    add_number(taking, memory->consolidated_ns);
    add_text(taking, memory->category);
    add_text(taking, memory->run_id);
    add_number(taking, (int64_t)memory->iteration);
    add_text(taking, memory->source);
    add_text(taking, memory->metadata);
    add_text(taking, memory->content);
    if (taking->totals != NULL) {
        taking->totals->memories++;
    }
    return true;
}

static int take_memories(struct taking *taking, struct store *store, const char *name,
                         struct rondo_error *err)
{
    (void)name;
    const struct store_memory_query query = {.vectors = STORE_VECTORS_MISSING,
                                             .vector_model = TRANSFER_NO_MODEL};
    return store->ops->read_memories(store, &query, add_memory, taking, err);
}

static bool add_vector(const struct store_memory *memory, void *context)
{
    struct taking *taking = context;
    add_number(taking, memory->id);
    add_text(taking, memory->vector_model);
    add(taking, memory->vector, memory->vector_len);
    if (taking->totals != NULL) {
        taking->totals->vectors++;
    }
    return true;
}

static int take_vectors(struct taking *taking, struct store *store, const char *name,
                        struct rondo_error *err)
{
    (void)name;
    const struct store_memory_query query = {.vectors = STORE_VECTORS_GIVEN};
    return store->ops->read_memories(store, &query, add_vector, taking, err);
}

static int compare_rest(struct comparing *comparing)
{
    static const struct {
        const char *what;
        take_fn *take;
    } parts[] = {
        {"the history of policies differs", take_policies},
        {"the owners of memories differ", take_owners},
        {"the memories differ", take_memories},
        {"the vectors of memories differ", take_vectors},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        int r = compare_both(comparing, parts[i].take, NULL);
        if (r < 0) {
            return r;
        }
        if (r == 0) {
            auto_buf struct buf text = {0};
            buf_append_string(&text, parts[i].what);
            report(comparing, &text);
        }
    }
    return 0;
}

int transfer_compare(const struct transfer *transfer, uint64_t *ret_differences,
                     struct transfer_totals *ret_totals, struct rondo_error *err)
{
    if (transfer->to->ops->read_memory_owners == NULL ||
        transfer->from->ops->read_memory_owners == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "such stores cannot be compared");
    }
    struct comparing *comparing = memory_new_zero(1, sizeof(*comparing));
    comparing->transfer = transfer;
    comparing->err = err;
    int r = compare_runs(comparing);
    r = r < 0 ? r : compare_documents(comparing);
    r = r < 0 ? r : compare_rest(comparing);
    *ret_differences = comparing->differences;
    *ret_totals = comparing->totals;
    free(comparing);
    return r;
}
