// SPDX-License-Identifier: Apache-2.0
/* Which stored pages and vectors of documents a clean-up deletes: the store before and after. */
#include "../../store/support.h"

#include "tool/data/document_sweep.h"
#include "tool/data/document_vectors.h"
#include "tool/data/documents.h"

#include <stdio.h>
#include <string.h>

#define PLACE_TEST(name) TEST_WITH(name, test_place_make, test_place_remove)
#define EVER             INT64_MAX

/** Store a document as an agent does. */
static void put(struct store *store, const char *collection, const char *agent, int number)
{
    char prefix[DOCUMENT_KEY_PREFIX_SIZE];
    char key[128];
    bool is_applied = false;
    document_key_prefix(agent, prefix);
    snprintf(key, sizeof(key), "%s%d", prefix, number);
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = collection,
                                        .key = key,
                                        .data = "{}",
                                        .data_len = 2,
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
}

static bool count_one(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

static size_t count_of(struct store *store, const char *collection)
{
    size_t count = 0;
    const struct store_document_query query = {.collection = collection};
    assert_int_equal(store->ops->read_documents(store, &query, count_one, &count, NULL), 0);
    return count;
}

static uint64_t sweep(struct store *store, int64_t before_ns, bool is_dry_run)
{
    uint64_t count = 99;
    assert_int_equal(document_sweep(store, before_ns, is_dry_run, &count, NULL), 0);
    return count;
}

/** Three documents of an agent with a run, three of one without, and one that is nobody's. */
static struct store *open_filled(struct test_place *place)
{
    struct store *store = test_place_open(place);
    bool is_applied = false;
    test_create(store, test_id(1).text, "busy", false);
    const char *const agents[] = {"busy", "gone"};
    for (size_t i = 0; i < 2; i++) {
        put(store, DOCUMENT_PAGES_COLLECTION, agents[i], 1);
        put(store, DOCUMENT_VECTORS_COLLECTION, agents[i], 1);
        put(store, DOCUMENT_VECTORS_COLLECTION, agents[i], 2);
    }
    const struct store_change other = {.kind = STORE_PUT,
                                       .collection = "token",
                                       .key = "x/1",
                                       .data = "{}",
                                       .data_len = 2,
                                       .if_version = STORE_ANY_VERSION};
    assert_int_equal(store->ops->change_documents(store, &other, 1, &is_applied, NULL), 0);
    return store;
}

static void expect_left(struct store *store, size_t pages, size_t vectors)
{
    assert_int_equal(count_of(store, DOCUMENT_PAGES_COLLECTION), pages);
    assert_int_equal(count_of(store, DOCUMENT_VECTORS_COLLECTION), vectors);
    assert_int_equal(count_of(store, "token"), 1);
}

PLACE_TEST(documents_of_agents_without_a_run_go)
{
    struct store *store = open_filled(*state);
    assert_int_equal(sweep(store, EVER, false), 3);
    expect_left(store, 1, 2);
    assert_int_equal(sweep(store, EVER, false), 0);
    store_close(store);
}

PLACE_TEST(a_dry_run_only_counts)
{
    struct store *store = open_filled(*state);
    assert_int_equal(sweep(store, EVER, true), 3);
    expect_left(store, 2, 4);
    store_close(store);
}

PLACE_TEST(what_was_stored_since_stays)
{
    struct store *store = open_filled(*state);
    assert_int_equal(sweep(store, 1, false), 0);
    expect_left(store, 2, 4);
    store_close(store);
}

PLACE_TEST(a_run_that_goes_with_the_same_clean_up_keeps_nothing)
{
    struct store *store = open_filled(*state);
    struct store_batch batch = test_batch(test_id(1).text, 1, 1, NULL, 0);
    batch.summary.status = RONDO_COMPLETED;
    batch.lease_ns = 0;
    test_commit(store, &batch);
    int64_t ended_ns = test_get(store, test_id(1).text).ended_ns;
    assert_int_equal(sweep(store, ended_ns, true), 3); /* It did not end before that time. */
    assert_int_equal(sweep(store, EVER, false), 6);
    expect_left(store, 0, 0);
    store_close(store);
}

PLACE_TEST(many_documents_go_in_several_transactions)
{
    struct store *store = open_filled(*state);
    for (int i = 10; i < 260; i++) {
        put(store, DOCUMENT_VECTORS_COLLECTION, "gone", i);
    }
    assert_int_equal(sweep(store, EVER, false), 253);
    expect_left(store, 1, 2);
    store_close(store);
}
