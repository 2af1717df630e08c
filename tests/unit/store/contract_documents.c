// SPDX-License-Identifier: Apache-2.0
/* The contract: documents. */
#include "contract_parts.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define NOTES "notes"

static struct store_change put_if(const char *key, const char *data, int64_t if_version)
{
    return (struct store_change){
        .kind = STORE_PUT,
        .collection = NOTES,
        .key = key,
        .data = data,
        .data_len = strlen(data),
        .if_version = if_version,
    };
}

static struct store_change put(const char *key, const char *data)
{
    return put_if(key, data, STORE_ANY_VERSION);
}

static struct store_change drop_if(const char *key, int64_t if_version)
{
    return (struct store_change){
        .kind = STORE_DELETE, .collection = NOTES, .key = key, .if_version = if_version};
}

static bool change_all(struct store *store, const struct store_change *changes, size_t count)
{
    bool is_applied = false;
    struct rondo_error err = {0};
    int rc = store->ops->change_documents(store, changes, count, &is_applied, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return is_applied;
}

static bool change(struct store *store, struct store_change one)
{
    return change_all(store, &one, 1);
}

/** What reading gave: the keys in their order, joined by spaces, and the last document's rest. */
struct seen_documents {
    char keys[1024];
    char data[64];
    uint64_t version;
    int64_t updated_ns;
    size_t count;
    size_t wanted; /**< stop after so many */
};

static bool note_document(const struct store_document *document, void *context)
{
    struct seen_documents *seen = context;
    size_t len = strlen(seen->keys);
    snprintf(seen->keys + len, sizeof(seen->keys) - len, "%s%s", len > 0 ? " " : "", document->key);
    snprintf(seen->data, sizeof(seen->data), "%s", document->data);
    seen->version = document->version;
    seen->updated_ns = document->updated_ns;
    seen->count++;
    return seen->count != seen->wanted;
}

static struct seen_documents read_some(struct store *store,
                                       const struct store_document_query *query)
{
    struct seen_documents seen = {0};
    assert_int_equal(store->ops->read_documents(store, query, note_document, &seen, NULL), 0);
    return seen;
}

static struct seen_documents read_all(struct store *store)
{
    return read_some(store, &(struct store_document_query){.collection = NOTES});
}

static struct seen_documents read_one(struct store *store, const char *key)
{
    return read_some(store, &(struct store_document_query){.collection = NOTES, .key = key});
}

static void assert_keys(struct store *store, const struct store_document_query *query,
                        const char *keys)
{
    assert_string_equal(read_some(store, query).keys, keys);
}

CONTRACT_TEST(a_store_begins_without_documents)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_int_equal(read_all(store).count, 0);
    assert_int_equal(read_one(store, "a").count, 0);
}

CONTRACT_TEST(a_document_is_read_as_it_was_put)
{
    struct contract *contract = *state;
    auto_free char *data = memory_dup_string("{\"a\":\"\xc3\xa9\"}");
    assert_true(change(contract->store, put("k", data)));
    memset(data, 'x', strlen(data));
    struct seen_documents seen = read_one(contract->store, "k");
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.keys, "k");
    assert_string_equal(seen.data, "{\"a\":\"\xc3\xa9\"}");
    assert_int_equal(seen.version, 1);
    assert_int_equal(seen.updated_ns, TEST_EPOCH_NS);
}

CONTRACT_TEST(a_change_raises_the_version_and_notes_the_time)
{
    struct contract *contract = *state;
    change(contract->store, put("k", "{}"));
    test_clock_advance(&contract->clock, 5);
    change(contract->store, put("k", "[]"));
    struct seen_documents seen = read_one(contract->store, "k");
    assert_int_equal(seen.version, 2);
    assert_string_equal(seen.data, "[]");
    assert_int_equal(seen.updated_ns, TEST_EPOCH_NS + 5);
}

CONTRACT_TEST(a_version_can_be_a_condition)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_false(change(store, put_if("k", "1", 1)));
    assert_int_equal(read_all(store).count, 0);
    assert_true(change(store, put_if("k", "2", 0)));
    assert_false(change(store, put_if("k", "3", 0)));
    assert_false(change(store, put_if("k", "4", 2)));
    assert_false(change(store, put_if("k", "5", INT64_MAX)));
    assert_string_equal(read_one(store, "k").data, "2");
    assert_true(change(store, put_if("k", "6", 1)));
    assert_int_equal(read_one(store, "k").version, 2);
}

CONTRACT_TEST(deleting_can_depend_on_the_version_too)
{
    struct store *store = ((struct contract *)*state)->store;
    change(store, put("k", "{}"));
    assert_false(change(store, drop_if("k", 2)));
    assert_false(change(store, drop_if("k", 0)));
    assert_true(change(store, drop_if("k", 1)));
    assert_int_equal(read_all(store).count, 0);
    assert_false(change(store, drop_if("k", 1)));
    assert_true(change(store, drop_if("k", 0)));
}

CONTRACT_TEST(deleting_what_is_not_there_does_nothing)
{
    struct store *store = ((struct contract *)*state)->store;
    change(store, put("b", "{}"));
    assert_true(change(store, drop_if("a", STORE_ANY_VERSION)));
    assert_true(change(store, drop_if("c", STORE_ANY_VERSION)));
    assert_string_equal(read_all(store).keys, "b");
}

CONTRACT_TEST(a_document_that_is_created_again_begins_with_version_1)
{
    struct store *store = ((struct contract *)*state)->store;
    change(store, put("k", "{}"));
    change(store, put("k", "{}"));
    change(store, drop_if("k", STORE_ANY_VERSION));
    change(store, put("k", "{}"));
    assert_int_equal(read_one(store, "k").version, 1);
}

CONTRACT_TEST(several_changes_are_one)
{
    struct store *store = ((struct contract *)*state)->store;
    change(store, put("a", "1"));
    const struct store_change changes[] = {put("b", "1"), put("a", "2"),
                                           drop_if("a", STORE_ANY_VERSION), put_if("c", "1", 5)};
    assert_false(change_all(store, changes, 4));
    assert_string_equal(read_all(store).keys, "a");
    assert_string_equal(read_one(store, "a").data, "1");
    assert_int_equal(read_one(store, "a").version, 1);
    assert_true(change_all(store, changes, 3));
    assert_string_equal(read_all(store).keys, "b");
}

CONTRACT_TEST(changes_see_those_before_them)
{
    struct store *store = ((struct contract *)*state)->store;
    const struct store_change sweep = {.kind = STORE_DELETE_UP_TO, .collection = NOTES, .key = "b"};
    const struct store_change fits[] = {put_if("a", "1", 0), put_if("a", "2", 1),
                                        put_if("a", "3", 2), drop_if("a", 3),
                                        put_if("a", "4", 0), sweep,
                                        put_if("a", "5", 0), put_if("c", "6", 0)};
    assert_true(change_all(store, fits, 8));
    assert_string_equal(read_one(store, "a").data, "5");
    assert_int_equal(read_one(store, "a").version, 1);
    const struct store_change misfits[] = {put_if("a", "7", 1), put_if("c", "7", 1), sweep,
                                           put_if("c", "7", 0)};
    assert_false(change_all(store, misfits, 4));
    assert_string_equal(read_all(store).keys, "a c");
    assert_string_equal(read_one(store, "c").data, "6");
}

CONTRACT_TEST(no_change_at_all_is_applied)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_true(change_all(store, NULL, 0));
}

CONTRACT_TEST(documents_up_to_a_key_are_deleted_in_their_collection_only)
{
    struct store *store = ((struct contract *)*state)->store;
    const char *keys[] = {"a", "b", "ba", "c"};
    for (size_t i = 0; i < 4; i++) {
        struct store_change one = put(keys[i], "{}");
        change(store, one);
        one.collection = "notebook";
        change(store, one);
        one.collection = "zoo";
        change(store, one);
    }
    struct store_change sweep = {.kind = STORE_DELETE_UP_TO, .collection = NOTES, .key = "b"};
    assert_true(change(store, sweep));
    assert_string_equal(read_all(store).keys, "ba c");
    sweep.key = "bb";
    sweep.if_version = 7; /* No version is asked for here. */
    assert_true(change(store, sweep));
    assert_string_equal(read_all(store).keys, "c");
    assert_keys(store, &(struct store_document_query){.collection = "notebook"}, "a b ba c");
    assert_keys(store, &(struct store_document_query){.collection = "zoo"}, "a b ba c");
}

/** Documents whose keys ascend in the order of their bytes. */
static void put_alphabet(struct store *store)
{
    const char *keys[] = {"A",          "a",      "a-1",        "a-10", "a-2", "a-\x7f",
                          "a-\xc3\xa9", "a-\xff", "a-\xff\xff", "a.",   "b"};
    for (size_t i = COUNT(keys); i-- > 0;) {
        change(store, put(keys[i], "{}"));
    }
}

CONTRACT_TEST(documents_are_ordered_by_the_bytes_of_their_keys)
{
    struct store *store = ((struct contract *)*state)->store;
    put_alphabet(store);
    struct store_document_query query = {.collection = NOTES};
    assert_keys(store, &query, "A a a-1 a-10 a-2 a-\x7f a-\xc3\xa9 a-\xff a-\xff\xff a. b");
    query.is_descending = true;
    assert_keys(store, &query, "b a. a-\xff\xff a-\xff a-\xc3\xa9 a-\x7f a-2 a-10 a-1 a A");
}

CONTRACT_TEST(documents_are_found_by_the_beginning_of_their_keys)
{
    struct store *store = ((struct contract *)*state)->store;
    put_alphabet(store);
    struct store_document_query query = {.collection = NOTES, .prefix = "a-"};
    assert_keys(store, &query, "a-1 a-10 a-2 a-\x7f a-\xc3\xa9 a-\xff a-\xff\xff");
    query.prefix = "a-1";
    assert_keys(store, &query, "a-1 a-10");
    query.prefix = "a-\xff";
    assert_keys(store, &query, "a-\xff a-\xff\xff");
    query.prefix = "a-\x7f";
    assert_keys(store, &query, "a-\x7f");
    query.prefix = "\xff\xff";
    assert_keys(store, &query, "");
    query.prefix = "%";
    assert_keys(store, &query, "");
    query.prefix = "";
    query.limit = 2;
    assert_keys(store, &query, "A a");
}

CONTRACT_TEST(reading_continues_after_a_key)
{
    struct store *store = ((struct contract *)*state)->store;
    put_alphabet(store);
    struct store_document_query query = {.collection = NOTES, .after = "a-\xc3\xa9"};
    assert_keys(store, &query, "a-\xff a-\xff\xff a. b");
    query.after = "a-";
    query.limit = 2;
    assert_keys(store, &query, "a-1 a-10");
    query.prefix = "a-1";
    query.after = "A";
    assert_keys(store, &query, "a-1 a-10");
    query.after = "a-1";
    assert_keys(store, &query, "a-10");
    query.after = "b";
    assert_keys(store, &query, "");
}

CONTRACT_TEST(the_lowest_byte_after_a_key_is_not_passed_over)
{
    struct store *store = ((struct contract *)*state)->store;
    change(store, put("a", "{}"));
    change(store, put("a\1", "{}"));
    change(store, put("a\1\1", "{}"));
    struct store_document_query query = {.collection = NOTES, .after = "a"};
    assert_keys(store, &query, "a\1 a\1\1");
    query.after = "a\1";
    assert_keys(store, &query, "a\1\1");
}

CONTRACT_TEST(reading_backwards_continues_before_a_key)
{
    struct store *store = ((struct contract *)*state)->store;
    put_alphabet(store);
    struct store_document_query query = {
        .collection = NOTES, .after = "a-10", .is_descending = true};
    assert_keys(store, &query, "a-1 a A");
    query.limit = 1;
    assert_keys(store, &query, "a-1");
    query.limit = 0;
    query.prefix = "a-";
    assert_keys(store, &query, "a-1");
    query.after = "b";
    query.limit = 2;
    assert_keys(store, &query, "a-\xff\xff a-\xff");
    query.after = "A";
    assert_keys(store, &query, "");
}

CONTRACT_TEST(a_reader_that_has_enough_ends_the_reading)
{
    struct store *store = ((struct contract *)*state)->store;
    put_alphabet(store);
    struct seen_documents seen = {.wanted = 3};
    struct store_document_query query = {.collection = NOTES};
    assert_int_equal(store->ops->read_documents(store, &query, note_document, &seen, NULL), 0);
    assert_int_equal(seen.count, 3);
}

/** A string of `len` times 'x'; owned by the caller. */
static char *long_string(size_t len)
{
    char *text = memory_new(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

CONTRACT_TEST(bounds_longer_than_any_key_are_understood)
{
    struct store *store = ((struct contract *)*state)->store;
    auto_free char *longest = long_string(STORE_KEY_LEN);
    auto_free char *longer = long_string(4 * (size_t)STORE_KEY_LEN);
    change(store, put("a", "{}"));
    change(store, put(longest, "{}"));
    change(store, put("y", "{}"));
    struct store_document_query query = {.collection = NOTES, .after = longer};
    assert_keys(store, &query, "y");
    query.after = longest;
    assert_keys(store, &query, "y");
    query.after = longer;
    query.is_descending = true;
    assert_int_equal(read_some(store, &query).count, 2);
    query.after = NULL;
    query.prefix = longer;
    assert_keys(store, &query, "");
    query.prefix = longest;
    assert_int_equal(read_some(store, &query).count, 1);
}

static void assert_refused(struct store *store, struct store_change wrong, int code)
{
    const struct store_change changes[] = {put("fine", "{}"), wrong};
    bool is_applied = true;
    struct rondo_error err = {0};
    assert_int_equal(store->ops->change_documents(store, changes, 2, &is_applied, &err), code);
    assert_int_equal(err.code, code);
    assert_true(is_applied);
    assert_int_equal(read_all(store).count, 0);
}

CONTRACT_TEST(a_change_with_a_part_missing_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_change wrong[] = {put("k", "{}"), put("k", "{}"), put("k", "{}"),
                                   put("k", "{}"), put("k", "{}"), put("k", "{}")};
    wrong[0].collection = NULL;
    wrong[1].collection = "";
    wrong[2].key = NULL;
    wrong[3].key = "";
    wrong[4].data = NULL;
    wrong[5].if_version = -2;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_refused(store, wrong[i], RONDO_ERR_INVALID);
    }
}

CONTRACT_TEST(names_beyond_their_limits_are_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    auto_free char *collection = long_string(STORE_COLLECTION_LEN + 1);
    auto_free char *key = long_string(STORE_KEY_LEN + 1);
    struct store_change one = put(key, "{}");
    assert_refused(store, one, RONDO_ERR_LIMIT);
    one.kind = STORE_DELETE_UP_TO;
    assert_refused(store, one, RONDO_ERR_LIMIT);
    one = put("k", "{}");
    one.collection = collection;
    assert_refused(store, one, RONDO_ERR_LIMIT);
    collection[STORE_COLLECTION_LEN] = '\0';
    key[STORE_KEY_LEN] = '\0';
    one.key = key;
    assert_true(change(store, one));
    assert_keys(store, &(struct store_document_query){.collection = collection, .key = key}, key);
}

static bool check_largest(const struct store_document *document, void *context)
{
    assert_int_equal(document->data_len, LIMIT_DOCUMENT_BYTES);
    assert_int_equal(strlen(document->data), LIMIT_DOCUMENT_BYTES);
    *(bool *)context = true;
    return true;
}

CONTRACT_TEST(data_beyond_their_limit_are_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    auto_free char *data = long_string((size_t)LIMIT_DOCUMENT_BYTES + 1);
    assert_refused(store, put("k", data), RONDO_ERR_LIMIT);
    data[LIMIT_DOCUMENT_BYTES] = '\0';
    data[0] = '"';
    data[LIMIT_DOCUMENT_BYTES - 1] = '"';
    assert_true(change(store, put("k", data)));
    bool was_called = false;
    struct store_document_query query = {.collection = NOTES, .key = "k"};
    assert_int_equal(store->ops->read_documents(store, &query, check_largest, &was_called, NULL),
                     0);
    assert_true(was_called);
}

/** One of the threads that count together. */
struct counter {
    struct store *store;
    pthread_t thread;
    int applied;
};

static void *count_up(void *argument)
{
    struct counter *counter = argument;
    while (counter->applied < 10) {
        struct seen_documents seen = read_one(counter->store, "counter");
        char data[32];
        snprintf(data, sizeof(data), "%d", (int)seen.version + 1);
        counter->applied += change(counter->store, put_if("counter", data, (int64_t)seen.version));
    }
    return NULL;
}

CONTRACT_TEST(no_change_of_many_threads_is_lost)
{
    struct store *store = ((struct contract *)*state)->store;
    struct counter counters[4];
    for (size_t i = 0; i < 4; i++) {
        counters[i] = (struct counter){.store = store};
        assert_int_equal(pthread_create(&counters[i].thread, NULL, count_up, &counters[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(counters[i].thread, NULL), 0);
    }
    struct seen_documents seen = read_one(store, "counter");
    assert_string_equal(seen.data, "40");
    assert_int_equal(seen.version, 40);
}

CONTRACT_TEST(garbage_collection_leaves_documents_alone)
{
    struct store *store = ((struct contract *)*state)->store;
    change(store, put("k", "{}"));
    struct store_gc_request request = {.ended_before_ns = INT64_MAX};
    struct store_gc_result result;
    assert_int_equal(store->ops->gc(store, &request, &result, NULL), 0);
    assert_int_equal(read_all(store).count, 1);
}

/** An update that appends a letter, and what it saw. */
struct appending {
    char seen[32];
    char letter;
    unsigned calls;
};

static bool append_letter(void *context, const char *data, size_t len, struct buf *ret_data)
{
    struct appending *appending = context;
    appending->calls++;
    snprintf(appending->seen, sizeof(appending->seen), "%s", data == NULL ? "nothing" : data);
    assert_int_equal(data == NULL ? 0 : strlen(data), len);
    if (appending->letter == '\0') {
        return false;
    }
    buf_printf(ret_data, "\"%.*s%c\"", len < 2 ? 0 : (int)len - 2, data == NULL ? "" : data + 1,
               appending->letter);
    return true;
}

/** Commit one event with an update that appends. */
static struct store_commit_result commit_letter(struct store *store, uint64_t epoch, uint64_t seq,
                                                struct appending *appending)
{
    struct store_event event = test_event("{}");
    struct store_update update = {
        .collection = NOTES, .key = "k", .change = append_letter, .context = appending};
    struct store_batch batch = test_batch(RUN_A, epoch, seq, &event, 1);
    batch.update = &update;
    return test_commit(store, &batch);
}

CONTRACT_TEST(a_batch_updates_a_document_by_what_it_is)
{
    struct store *store = ((struct contract *)*state)->store;
    struct appending appending = {.letter = 'a'};
    test_create(store, RUN_A, "agent", false);
    commit_letter(store, 1, 1, &appending);
    assert_string_equal(appending.seen, "nothing");
    appending.letter = 'b';
    commit_letter(store, 1, 2, &appending);
    assert_string_equal(appending.seen, "\"a\"");
    appending.letter = '\0';
    commit_letter(store, 1, 3, &appending);
    struct seen_documents seen = read_one(store, "k");
    assert_string_equal(seen.data, "\"ab\"");
    assert_int_equal(seen.version, 2);
}

CONTRACT_TEST(a_batch_that_is_not_applied_updates_no_document)
{
    struct store *store = ((struct contract *)*state)->store;
    struct appending appending = {.letter = 'a'};
    test_create(store, RUN_A, "agent", false);
    commit_letter(store, 1, 1, &appending);
    assert_int_equal(commit_letter(store, 1, 1, &appending).outcome, STORE_ALREADY_COMMITTED);
    assert_int_equal(commit_letter(store, 7, 2, &appending).outcome, STORE_FENCED);
    assert_int_equal(appending.calls, 1);
    assert_string_equal(read_one(store, "k").data, "\"a\"");
}

CONTRACT_TEST(collections_are_found_in_their_order)
{
    struct store *store = ((struct contract *)*state)->store;
    char name[STORE_COLLECTION_LEN + 1] = "something";
    assert_int_equal(store->ops->next_collection(store, "", name, NULL), 0);
    assert_string_equal(name, "");
    static const char *const names[] = {"b", "B", "\xc3\xa4", "a",
                                        "0123456789abcdef0123456789abcdef"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct store_change one = put("key", "{}");
        one.collection = names[i];
        assert_true(change(store, one));
        one.key = "other";
        assert_true(change(store, one));
    }
    auto_buf struct buf seen = {0};
    for (int i = 0; i < 9; i++) {
        char after[STORE_COLLECTION_LEN + 1] = "";
        memcpy(after, i == 0 ? "" : name, i == 0 ? 1 : sizeof(after));
        assert_int_equal(store->ops->next_collection(store, after, name, NULL), 0);
        buf_printf(&seen, "%s ", name);
        if (name[0] == '\0') {
            break;
        }
    }
    assert_string_equal(buf_string(&seen), "0123456789abcdef0123456789abcdef B a b \xc3\xa4  ");
    struct store_change gone = drop_if("key", STORE_ANY_VERSION);
    gone.kind = STORE_DELETE_UP_TO;
    gone.collection = "a";
    gone.key = "z";
    assert_true(change(store, gone));
    assert_int_equal(store->ops->next_collection(store, "B", name, NULL), 0);
    assert_string_equal(name, "b");
}
