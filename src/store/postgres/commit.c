// SPDX-License-Identifier: Apache-2.0
/*
 * Commit of batches, the hot path: one round trip for a group. Only batches that update a document
 * or change memories take a second one, because what they do depends on the answer to the first.
 *
 * Groups of one process and of several lock rows in one order, documents before runs and each kind
 * by its name, so that they cannot wait for one another in a circle.
 *
 * Threads: postgres_begin holds a connection's mutex until postgres_end.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/postgres/internal.h"
#include "store/rules.h"

#include <stdlib.h>
#include <string.h>

/** Events of one transaction: their places in it are the low bits of positions. */
#define EVENTS_MAX (1 << 20)
/** Queries for documents that come before those of batches; the last one reads them. */
#define DOCUMENT_QUERIES 2

/** A document of the group's updates, as it is after those before. */
struct group_document {
    const char *collection;
    const char *key;
    struct buf data;
    bool is_there;
};

/** A group on its way. */
struct commit_group {
    struct postgres_store *store;
    const struct store_batch *const *batches;
    size_t count;
    size_t *order;                  /**< indexes by run id */
    struct postgres_query *queries; /**< in that order, after those for documents, if any */
    struct store_commit_result *results;
    size_t update_count;
    size_t memory_count;
    struct group_document *documents; /**< of the updates */
    size_t document_count;
};

void postgres_add_content(struct postgres_query *query, const struct store_checkpoint *checkpoint)
{
    if (checkpoint == NULL) {
        for (int i = 0; i < 5; i++) {
            postgres_add_null_number(query);
        }
        postgres_add_flag(query, false);
        for (int i = 0; i < 5; i++) {
            postgres_add_bytes(query, NULL, 0);
        }
        return;
    }
    postgres_add_unsigned(query, checkpoint->seq);
    postgres_add_unsigned(query, checkpoint->iteration);
    postgres_add_number(query, checkpoint->time_ns);
    postgres_add_number(query, checkpoint->format);
    postgres_add_unsigned(query, checkpoint->state_size);
    postgres_add_flag(query, checkpoint->is_packed);
    postgres_add_bytes(query, checkpoint->sha256, sizeof(checkpoint->sha256));
    postgres_add_string(query, checkpoint->conditions);
    postgres_add_string(query, checkpoint->custom_data);
    postgres_add_string(query, checkpoint->fold);
    postgres_add_bytes(query, checkpoint->state_len > 0 ? checkpoint->state : NULL,
                       checkpoint->state_len);
}

static void add_premise(struct postgres_query *query, const struct store_premise *premise)
{
    if (premise != NULL) {
        postgres_add_unsigned(query, premise->version);
    } else {
        postgres_add_null_number(query);
    }
    postgres_add_text(query, premise != NULL ? premise->collection : NULL);
    postgres_add_string(query, premise != NULL ? premise->key : NULL);
}

/** The call for one batch. @param ordinal events of the transaction before it */
static void add_batch(struct postgres_query *query, const struct postgres_store *store,
                      const struct store_batch *batch, size_t ordinal)
{
    query->which = PG_BATCH;
    postgres_add_moment(query, store);
    postgres_add_number(query, (int64_t)ordinal);
    postgres_add_text(query, batch->run_id);
    postgres_add_unsigned(query, batch->epoch);
    postgres_add_unsigned(query, batch->first_seq);
    postgres_add_events(query, batch->events, batch->event_count);
    postgres_add_number(query, batch->lease_ns);
    postgres_add_unsigned(query, batch->mail_taken);
    postgres_add_unsigned(query, batch->keep_checkpoints);
    postgres_add_summary(query, &batch->summary);
    if (batch->checkpoint != NULL) {
        postgres_add_unsigned(query, batch->checkpoint->number);
    } else {
        postgres_add_null_number(query);
    }
    postgres_add_content(query, batch->checkpoint);
    postgres_add_content(query, batch->interim);
    postgres_add_number(query, postgres_claim_number(store, batch->run_id));
    add_premise(query, batch->premise);
}

static int compare_ids(const void *left, const void *right, void *context)
{
    const struct commit_group *group = context;
    return strcmp(group->batches[*(const size_t *)left]->run_id,
                  group->batches[*(const size_t *)right]->run_id);
}

static bool has_extras(const struct commit_group *group)
{
    return group->update_count + group->memory_count > 0;
}

/** The query that locks and reads the documents of all updates. */
static void add_documents(struct postgres_query *query, const struct commit_group *group)
{
    query->which = PG_DOCUMENT_LOCK;
    struct buf *array = postgres_add_array(query, POSTGRES_TEXTS, group->update_count);
    for (size_t i = 0; i < group->count; i++) {
        if (group->batches[i]->update != NULL) {
            postgres_put_text(query, array, group->batches[i]->update->collection);
        }
    }
    array = postgres_add_array(query, POSTGRES_BYTES, group->update_count);
    for (size_t i = 0; i < group->count; i++) {
        const struct store_update *update = group->batches[i]->update;
        if (update != NULL) {
            postgres_put_bytes(array, update->key, strlen(update->key));
        }
    }
}

/** Make the queries of the first part. @return how many, or RONDO_ERR_LIMIT */
static int make_queries(struct commit_group *group, struct rondo_error *err)
{
    size_t count = 0;
    size_t ordinal = 0;
    for (size_t i = 0; i < group->count; i++) {
        group->order[i] = i;
        group->update_count += group->batches[i]->update != NULL;
        group->memory_count += group->batches[i]->memory_count > 0;
        ordinal += group->batches[i]->event_count;
    }
    if (ordinal >= EVENTS_MAX) {
        return error_set(err, RONDO_ERR_LIMIT, "a transaction has at most %d events", EVENTS_MAX);
    }
    qsort_r(group->order, group->count, sizeof(group->order[0]), compare_ids, group);
    if (group->update_count > 0) {
        group->queries[count++].which = PG_EVENT_LOCK; /* See position_base() in schema.sql. */
        add_documents(&group->queries[count++], group);
    }
    ordinal = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct store_batch *batch = group->batches[group->order[i]];
        add_batch(&group->queries[count++], group->store, batch, ordinal);
        ordinal += batch->event_count;
    }
    return (int)count;
}

/** Read what became of the batches. */
static int read_results(const struct commit_group *group, PGresult *const *results,
                        struct rondo_error *err)
{
    for (size_t i = 0; i < group->count; i++) {
        struct checked_row row = postgres_row(group->store, results[i], 0);
        int r = postgres_check_answer(&row, "nnf", "commit", err);
        if (r < 0) {
            return r;
        }
        int64_t outcome = postgres_number(&row, 0);
        group->results[group->order[i]] = (struct store_commit_result){
            .outcome = outcome == 0   ? STORE_COMMITTED
                       : outcome == 1 ? STORE_ALREADY_COMMITTED
                       : outcome == 2 ? STORE_FENCED
                                      : STORE_OUTDATED,
            .position = (uint64_t)postgres_number(&row, 1),
            .has_mail = postgres_flag(&row, 2),
        };
    }
    return 0;
}

/* ---- Updates and memories ------------------------------------------------------------------- */

/** The document of an update, as it is by now. */
static struct group_document *document_of(struct commit_group *group,
                                          const struct store_update *update)
{
    for (size_t i = 0; i < group->document_count; i++) {
        struct group_document *document = &group->documents[i];
        if (strcmp(document->collection, update->collection) == 0 &&
            strcmp(document->key, update->key) == 0) {
            return document;
        }
    }
    struct group_document *added = &group->documents[group->document_count++];
    *added = (struct group_document){.collection = update->collection, .key = update->key};
    return added;
}

/** Take in the documents that the first part has read. */
static int read_documents(struct commit_group *group, const PGresult *result,
                          struct rondo_error *err)
{
    int r = 0;
    for (int i = 0; r == 0 && i < group->store->pq.ntuples(result); i++) {
        struct checked_row row = postgres_row(group->store, result, i);
        struct store_document document = {0};
        r = row_document(row, &document, err);
        for (size_t k = 0; r == 0 && k < group->count; k++) {
            const struct store_update *update = group->batches[k]->update;
            if (update != NULL && strcmp(update->collection, document.collection) == 0 &&
                strcmp(update->key, document.key) == 0) {
                struct group_document *known = document_of(group, update);
                known->is_there = true;
                buf_clear(&known->data);
                buf_append(&known->data, document.data, document.data_len);
            }
        }
    }
    return r;
}

/**
 * Make the change of one batch's update.
 * @return 1 when it changes the document: `ret_query` puts it; 0, or a negative code
 */
static int update_document(struct commit_group *group, const struct store_update *update,
                           struct postgres_query *ret_query, struct rondo_error *err)
{
    struct group_document *document = document_of(group, update);
    struct buf data = {0};
    if (!update->change(update->context, document->is_there ? buf_string(&document->data) : NULL,
                        document->data.len, &data)) {
        buf_fini(&data);
        return 0;
    }
    struct store_change change = rules_change_of(update, &data);
    int r = rules_check_change(&change, err);
    if (r < 0) {
        buf_fini(&data);
        return r;
    }
    if (!document->is_there) {
        /* There was no row to lock. Should somebody else have made one, all of it is repeated. */
        change.if_version = 0;
    }
    postgres_add_changes(ret_query, group->store, &change, 1);
    buf_fini(&document->data);
    document->data = data;
    document->is_there = true;
    return 1;
}

static int compare_updates(const void *left, const void *right, void *context)
{
    const struct commit_group *group = context;
    size_t first = *(const size_t *)left;
    size_t second = *(const size_t *)right;
    const struct store_update *one = group->batches[first]->update;
    const struct store_update *other = group->batches[second]->update;
    int r = strcmp(one->collection, other->collection);
    r = r != 0 ? r : strcmp(one->key, other->key);
    return r != 0 ? r : (first > second) - (first < second);
}

/**
 * Make the queries of the updates, in the order of their documents: those that are not there yet
 * could not be locked.
 * @return how many, or a negative code
 */
static int make_updates(struct commit_group *group, struct postgres_query *queries,
                        struct rondo_error *err)
{
    auto_free size_t *order = memory_new_zero(group->count, sizeof(*order));
    size_t updates = 0;
    int count = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (group->batches[i]->update != NULL && group->results[i].outcome == STORE_COMMITTED) {
            order[updates++] = i;
        }
    }
    qsort_r(order, updates, sizeof(order[0]), compare_updates, group);
    for (size_t i = 0; i < updates; i++) {
        int r = update_document(group, group->batches[order[i]]->update, &queries[count], err);
        if (r < 0) {
            return r;
        }
        count += r;
    }
    return count;
}

/** Make the queries of the second part. @return how many, or a negative code */
static int make_extras(struct commit_group *group, struct postgres_query *queries,
                       struct rondo_error *err)
{
    int count = make_updates(group, queries, err);
    for (size_t i = 0; count >= 0 && i < group->count; i++) {
        const struct store_batch *batch = group->batches[i];
        bool is_applied = group->results[i].outcome == STORE_COMMITTED;
        for (size_t k = 0; is_applied && k < batch->memory_count; k++) {
            postgres_add_memory_change(&queries[count++], &batch->memories[k]);
        }
    }
    return count;
}

static void forget_documents(struct commit_group *group)
{
    for (size_t i = 0; i < group->document_count; i++) {
        buf_fini(&group->documents[i].data);
    }
    group->document_count = 0;
}

static size_t count_extras(const struct commit_group *group)
{
    size_t count = group->update_count;
    for (size_t i = 0; i < group->count; i++) {
        count += group->batches[i]->memory_count;
    }
    return count;
}

/** The second part of a transaction. */
static int commit_extras(struct commit_group *group, struct postgres_connection *connection,
                         struct rondo_error *err)
{
    size_t most = count_extras(group);
    auto_free struct postgres_query *queries = memory_new_zero(most, sizeof(*queries));
    int count = make_extras(group, queries, err);
    int r = count;
    if (count >= 0) {
        r = postgres_try(connection, queries, (size_t)count, POSTGRES_LAST, NULL, "commit", err);
    } else {
        postgres_rollback(connection);
    }
    for (size_t i = 0; i < most; i++) {
        postgres_query_fini(&queries[i]);
    }
    /* A document appeared: the updates have to see it. */
    return r == POSTGRES_MISMATCH ? error_set(err, RONDO_ERR_BUSY,
                                              "documents were changed too often to commit; try "
                                              "again")
                                  : r;
}

/* ---- The transaction ------------------------------------------------------------------------ */

static int try_group(struct commit_group *group, struct postgres_connection *connection,
                     size_t query_count, struct rondo_error *err)
{
    auto_free PGresult **results = memory_new_zero(query_count, sizeof(PGresult *));
    bool is_long = has_extras(group);
    int r = postgres_try(connection, group->queries, query_count,
                         is_long ? POSTGRES_FIRST : POSTGRES_WHOLE, results, "commit", err);
    if (r < 0) {
        return r;
    }
    bool has_documents = group->update_count > 0;
    r = read_results(group, results + (has_documents ? DOCUMENT_QUERIES : 0), err);
    if (r == 0 && has_documents) {
        r = read_documents(group, results[DOCUMENT_QUERIES - 1], err);
    }
    postgres_clear(group->store, results, query_count);
    if (r < 0 && is_long) {
        postgres_rollback(connection);
    } else if (is_long) {
        r = commit_extras(group, connection, err);
    }
    forget_documents(group);
    return r;
}

static int commit_group(struct commit_group *group, struct rondo_error *err)
{
    struct postgres_connection *connection = NULL;
    int query_count = make_queries(group, err);
    if (query_count < 0) {
        return query_count;
    }
    int r = postgres_begin(group->store, true, &connection, err);
    if (r < 0) {
        return r;
    }
    int tries = 0;
    while ((r = try_group(group, connection, (size_t)query_count, err)) == RONDO_ERR_BUSY &&
           ++tries < POSTGRES_TRIES) {
        postgres_pause(tries);
    }
    postgres_end(connection);
    return tries > 0 ? postgres_settle(r, err) : r;
}

unsigned postgres_commits_at_once(struct store *base)
{
    return ((struct postgres_store *)base)->commit_count;
}

int postgres_commit(struct store *base, const struct store_batch *const *batches, size_t count,
                    struct store_commit_result *ret_results, struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = rules_check_batch(batches[i], err);
    }
    if (r < 0 || count == 0) {
        return r;
    }
    auto_free size_t *order = memory_new_zero(count, sizeof(*order));
    auto_free struct postgres_query *queries =
        memory_new_zero(count + DOCUMENT_QUERIES, sizeof(*queries));
    auto_free struct store_commit_result *results = memory_new_zero(count, sizeof(*results));
    auto_free struct group_document *documents = memory_new_zero(count, sizeof(*documents));
    struct commit_group group = {
        .store = (struct postgres_store *)base,
        .batches = batches,
        .count = count,
        .order = order,
        .queries = queries,
        .results = results,
        .documents = documents,
    };
    r = commit_group(&group, err);
    for (size_t i = 0; i < count + DOCUMENT_QUERIES; i++) {
        postgres_query_fini(&queries[i]);
    }
    if (r == 0) {
        memcpy(ret_results, results, count * sizeof(*results));
        postgres_announce(group.store);
    }
    return r;
}
