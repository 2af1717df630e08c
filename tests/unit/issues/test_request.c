// SPDX-License-Identifier: Apache-2.0
/* Requests for work items: written by one process, read and cleared by another. */
#include "issues/request.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define KEY     "github.com/acme/shop#12"
#define SOME_NS INT64_C(1700000000000000000)

static void ask(struct store *store, enum item_request_kind kind, const char *by)
{
    struct item_request request = {.kind = kind, .time_ns = SOME_NS};
    snprintf(request.by, sizeof(request.by), "%s", by);
    assert_int_equal(item_request_put(store, KEY, &request, NULL), 0);
}

/** Put what no `rondo work` writes. */
static void write_raw(struct store *store, const char *json)
{
    bool is_applied = false;
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = ITEM_REQUEST_COLLECTION,
                                        .key = KEY,
                                        .data = json,
                                        .data_len = strlen(json),
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
}

TEST(a_request_is_read_as_it_was_made)
{
    struct store *store = store_memory_new(NULL);
    struct item_request read = {0};
    ask(store, ITEM_REQUEST_RETRY, "alice");
    assert_int_equal(item_request_read(store, KEY, &read, NULL), 1);
    assert_int_equal(read.kind, ITEM_REQUEST_RETRY);
    assert_string_equal(read.by, "alice");
    assert_true(read.time_ns == SOME_NS);
    store_close(store);
}

TEST(there_is_none_for_another_item)
{
    struct store *store = store_memory_new(NULL);
    struct item_request read;
    ask(store, ITEM_REQUEST_RELEASE, "alice");
    assert_int_equal(item_request_read(store, "github.com/acme/shop#1", &read, NULL), 0);
    store_close(store);
}

TEST(a_second_request_replaces_the_first)
{
    struct store *store = store_memory_new(NULL);
    struct item_request read;
    ask(store, ITEM_REQUEST_RETRY, "alice");
    ask(store, ITEM_REQUEST_RELEASE, "bob");
    assert_int_equal(item_request_read(store, KEY, &read, NULL), 1);
    assert_int_equal(read.kind, ITEM_REQUEST_RELEASE);
    assert_string_equal(read.by, "bob");
    store_close(store);
}

TEST(a_request_that_was_done_is_gone)
{
    struct store *store = store_memory_new(NULL);
    struct item_request read;
    ask(store, ITEM_REQUEST_RETRY, "alice");
    assert_int_equal(item_request_read(store, KEY, &read, NULL), 1);
    assert_int_equal(item_request_clear(store, KEY, read.version, NULL), 0);
    assert_int_equal(item_request_read(store, KEY, &read, NULL), 0);
    store_close(store);
}

TEST(a_request_that_came_meanwhile_is_not_cleared)
{
    struct store *store = store_memory_new(NULL);
    struct item_request first, second;
    ask(store, ITEM_REQUEST_RETRY, "alice");
    assert_int_equal(item_request_read(store, KEY, &first, NULL), 1);
    ask(store, ITEM_REQUEST_RELEASE, "bob");
    assert_int_equal(item_request_clear(store, KEY, first.version, NULL), 0);
    assert_int_equal(item_request_read(store, KEY, &second, NULL), 1);
    assert_int_equal(second.kind, ITEM_REQUEST_RELEASE);
    store_close(store);
}

TEST(what_is_no_request_is_removed)
{
    static const char *const wrong[] = {"{}", "[]", "{\"request\":\"dance\"}", "{\"request\":7}"};
    struct store *store = store_memory_new(NULL);
    struct item_request read;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        write_raw(store, wrong[i]);
        assert_int_equal(item_request_read(store, KEY, &read, NULL), 0);
        ask(store, ITEM_REQUEST_RETRY, "alice");
        assert_int_equal(item_request_read(store, KEY, &read, NULL), 1);
        assert_true(read.version == 1); /* what was there before is gone */
        assert_int_equal(item_request_clear(store, KEY, read.version, NULL), 0);
    }
    store_close(store);
}

TEST(a_name_that_is_too_long_is_cut)
{
    struct store *store = store_memory_new(NULL);
    struct item_request read;
    char json[2 * ITEM_REQUEST_BY_SIZE];
    char name[ITEM_REQUEST_BY_SIZE + 1];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(json, sizeof(json), "{\"request\":\"retry\",\"by\":\"%s\"}", name);
    write_raw(store, json);
    assert_int_equal(item_request_read(store, KEY, &read, NULL), 1);
    assert_int_equal(strlen(read.by), ITEM_REQUEST_BY_SIZE - 1);
    store_close(store);
}
