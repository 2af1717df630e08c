// SPDX-License-Identifier: Apache-2.0
/* Which work items are deleted, and when. */
#include "issues/gc.h"

#include "base/memory.h"
#include "issues/request.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdlib.h>

#define REPOSITORY "github.com/acme/shop"
#define OLD_NS     INT64_C(1000)

static void add(struct store *store, int64_t number, enum item_state state, bool is_released,
                int64_t updated_ns)
{
    struct item item = {.key = item_key(REPOSITORY, number),
                        .repository = memory_dup_string(REPOSITORY),
                        .number = number,
                        .state = state,
                        .is_released = is_released,
                        .mirrored = ITEM_STATE_COUNT,
                        .updated_ns = updated_ns};
    assert_int_equal(item_save(store, &item, NULL), 0);
    item_fini(&item);
}

static bool is_there(struct store *store, int64_t number)
{
    struct item item = {0};
    char *key = item_key(REPOSITORY, number);
    int r = item_load(store, key, &item, NULL);
    free(key);
    item_fini(&item);
    return r == 1;
}

static uint64_t sweep(struct store *store, bool is_dry_run)
{
    uint64_t count = 0;
    assert_int_equal(items_gc(store, OLD_NS, is_dry_run, &count, NULL), 0);
    return count;
}

TEST(only_what_is_over_for_good_is_deleted)
{
    struct store *store = store_memory_new(NULL);
    for (enum item_state i = ITEM_ASSIGNED; i < ITEM_STATE_COUNT; i++) {
        add(store, (int64_t)i + 1, i, true, OLD_NS - 1);
    }
    assert_int_equal(sweep(store, true), 3);
    assert_true(is_there(store, (int64_t)ITEM_DONE + 1));
    assert_int_equal(sweep(store, false), 3);
    for (enum item_state i = ITEM_ASSIGNED; i < ITEM_STATE_COUNT; i++) {
        bool is_over = i == ITEM_CANCELLED || i == ITEM_FENCED || i == ITEM_DONE;
        assert_int_equal(is_there(store, (int64_t)i + 1), !is_over);
    }
    store->ops->close(store);
}

TEST(what_has_changed_since_or_still_has_a_claim_stays)
{
    struct store *store = store_memory_new(NULL);
    add(store, 1, ITEM_DONE, true, OLD_NS);
    add(store, 2, ITEM_DONE, false, OLD_NS - 1);
    add(store, 3, ITEM_CANCELLED, false, OLD_NS - 1);
    assert_int_equal(sweep(store, false), 0);
    assert_true(is_there(store, 1));
    store->ops->close(store);
}

TEST(requests_for_an_item_are_deleted_with_it)
{
    struct store *store = store_memory_new(NULL);
    char *key = item_key(REPOSITORY, 1);
    struct item_request request = {.kind = ITEM_REQUEST_RETRY, .by = "alice"};
    add(store, 1, ITEM_FENCED, false, OLD_NS - 1);
    assert_int_equal(item_request_put(store, key, &request, NULL), 0);
    assert_int_equal(sweep(store, false), 1);
    assert_int_equal(item_request_read(store, key, &request, NULL), 0);
    free(key);
    store->ops->close(store);
}

TEST(an_item_that_cannot_be_read_stays_and_the_others_go)
{
    struct store *store = store_memory_new(NULL);
    bool is_applied = false;
    uint64_t count = 0;
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = ITEM_COLLECTION,
                                        .key = REPOSITORY "#0",
                                        .data = "{}",
                                        .data_len = 2,
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    add(store, 1, ITEM_DONE, true, OLD_NS - 1);
    assert_int_equal(items_gc(store, OLD_NS, false, &count, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(count, 1);
    assert_false(is_there(store, 1));
    store->ops->close(store);
}
