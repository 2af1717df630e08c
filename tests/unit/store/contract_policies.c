// SPDX-License-Identifier: Apache-2.0
/* The contract: the history of policies. */
#include "contract_parts.h"

#include "base/auto.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_A "/etc/rondo/policies"
#define SOURCE_B "/srv/job/policy.cedar"
#define DIGEST_1 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST_2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static struct store_policy_change make_change(const char *source, const char *digest)
{
    const char *text = digest[0] == '0' ? "permit (principal, action, resource);" : "";
    return (struct store_policy_change){
        .time_ns = TEST_EPOCH_NS,
        .source = source,
        .digest = digest,
        .how = "set",
        .by = "alice",
        .text = text,
        .text_len = strlen(text),
    };
}

/** What recording answered. */
struct recording_result {
    uint64_t number;
    bool is_new;
};

static struct recording_result record(struct store *store, const char *source, const char *digest)
{
    struct store_policy_change change = make_change(source, digest);
    struct recording_result answer = {0};
    struct rondo_error err = {0};
    int rc = store->ops->record_policy(store, &change, &answer.number, &answer.is_new, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return answer;
}

/** The numbers that were read, in this order. */
struct seen_policies {
    uint64_t numbers[8];
    size_t count;
    size_t wanted; /**< stop after so many */
};

static bool note_change(const struct store_policy_change *change, void *context)
{
    struct seen_policies *seen = context;
    assert_true(seen->count < 8);
    seen->numbers[seen->count++] = change->number;
    return seen->count < seen->wanted;
}

static struct seen_policies read_policies(struct store *store, const char *source, uint64_t before,
                                          size_t wanted)
{
    struct seen_policies seen = {.wanted = wanted};
    assert_int_equal(store->ops->read_policies(store, source, before, note_change, &seen, NULL), 0);
    return seen;
}

/** Record what has to be refused, and see that the answer and the history are left alone. */
static void assert_refused(struct store *store, const struct store_policy_change *change, int code)
{
    uint64_t number = 42;
    bool is_new = true;
    struct rondo_error err = {0};
    assert_int_equal(store->ops->record_policy(store, change, &number, &is_new, &err), code);
    assert_int_equal(err.code, code);
    assert_int_equal(number, 42);
    assert_true(is_new);
    assert_int_equal(read_policies(store, NULL, 0, 8).count, 0);
}

CONTRACT_TEST(a_store_begins_without_policies)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_int_equal(read_policies(store, NULL, 0, 8).count, 0);
    assert_int_equal(read_policies(store, SOURCE_A, 0, 8).count, 0);
}

CONTRACT_TEST(changes_are_numbered_from_1_over_all_sources)
{
    struct store *store = ((struct contract *)*state)->store;
    for (uint64_t number = 1; number <= 6; number++) {
        struct recording_result answer = record(store, number % 2 == 0 ? SOURCE_A : SOURCE_B,
                                                number % 4 < 2 ? DIGEST_1 : DIGEST_2);
        assert_int_equal(answer.number, number);
        assert_true(answer.is_new);
    }
}

CONTRACT_TEST(the_number_that_is_handed_in_does_not_matter)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_policy_change change = make_change(SOURCE_A, DIGEST_1);
    change.number = 99;
    struct recording_result answer = {0};
    assert_int_equal(
        store->ops->record_policy(store, &change, &answer.number, &answer.is_new, NULL), 0);
    assert_int_equal(answer.number, 1);
}

CONTRACT_TEST(policies_that_are_in_force_already_are_not_recorded_again)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    record(store, SOURCE_B, DIGEST_2);
    struct recording_result again = record(store, SOURCE_A, DIGEST_1);
    assert_false(again.is_new);
    assert_int_equal(again.number, 1);
    assert_int_equal(read_policies(store, NULL, 0, 8).count, 2);
}

CONTRACT_TEST(the_same_digest_of_another_source_is_a_change_of_its_own)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    struct recording_result other = record(store, SOURCE_B, DIGEST_1);
    assert_true(other.is_new);
    assert_int_equal(other.number, 2);
}

CONTRACT_TEST(policies_that_return_are_a_change)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    record(store, SOURCE_A, DIGEST_2);
    struct recording_result back = record(store, SOURCE_A, DIGEST_1);
    assert_true(back.is_new);
    assert_int_equal(back.number, 3);
}

CONTRACT_TEST(history_is_read_newest_first)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    record(store, SOURCE_B, DIGEST_1);
    record(store, SOURCE_A, DIGEST_2);
    struct seen_policies all = read_policies(store, NULL, 0, 8);
    assert_int_equal(all.count, 3);
    assert_memory_equal(all.numbers, ((uint64_t[]){3, 2, 1}), 3 * sizeof(uint64_t));
    struct seen_policies of_a = read_policies(store, SOURCE_A, 0, 8);
    assert_int_equal(of_a.count, 2);
    assert_memory_equal(of_a.numbers, ((uint64_t[]){3, 1}), 2 * sizeof(uint64_t));
    assert_int_equal(read_policies(store, "/etc/rondo", 0, 8).count, 0);
}

CONTRACT_TEST(reading_continues_after_a_number)
{
    struct store *store = ((struct contract *)*state)->store;
    for (int i = 0; i < 2; i++) {
        record(store, SOURCE_A, DIGEST_1);
        record(store, SOURCE_B, DIGEST_1);
        record(store, SOURCE_A, DIGEST_2);
    }
    struct seen_policies all = read_policies(store, NULL, 4, 8);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.numbers[0], 3);
    struct seen_policies of_a = read_policies(store, SOURCE_A, 4, 8);
    assert_int_equal(of_a.count, 2);
    assert_int_equal(of_a.numbers[0], 3);
    assert_int_equal(read_policies(store, NULL, 1, 8).count, 0);
    assert_int_equal(read_policies(store, NULL, UINT64_MAX, 8).count, 5);
}

CONTRACT_TEST(a_reader_that_has_enough_ends_the_reading)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    record(store, SOURCE_A, DIGEST_2);
    struct seen_policies newest = read_policies(store, SOURCE_A, 0, 1);
    assert_int_equal(newest.count, 1);
    assert_int_equal(newest.numbers[0], 2);
}

/** Bytes that a careless back end would change. */
static const char odd_text[] = "// \xc3\xa9\r\nforbid (principal, \"'%s\");\0after a NUL\n";

static bool check_whole_change(const struct store_policy_change *change, void *context)
{
    assert_int_equal(change->number, 1);
    assert_int_equal(change->time_ns, TEST_EPOCH_NS - 7);
    assert_string_equal(change->source, SOURCE_A);
    assert_string_equal(change->digest, DIGEST_1);
    assert_string_equal(change->how, "edited");
    assert_string_equal(change->by, "file owner alice");
    assert_int_equal(change->text_len, sizeof(odd_text) - 1);
    assert_memory_equal(change->text, odd_text, sizeof(odd_text));
    *(bool *)context = true;
    return true;
}

CONTRACT_TEST(a_change_is_read_as_it_was_recorded)
{
    struct store *store = ((struct contract *)*state)->store;
    /* The strings are the caller's and may be gone after the call. */
    auto_free char *text = memory_dup_bytes(odd_text, sizeof(odd_text) - 1);
    struct store_policy_change change = {
        .time_ns = TEST_EPOCH_NS - 7,
        .source = SOURCE_A,
        .digest = DIGEST_1,
        .how = "edited",
        .by = "file owner alice",
        .text = text,
        .text_len = sizeof(odd_text) - 1,
    };
    struct recording_result answer = {0};
    assert_int_equal(
        store->ops->record_policy(store, &change, &answer.number, &answer.is_new, NULL), 0);
    memset(text, 'x', sizeof(odd_text) - 1);
    bool was_called = false;
    assert_int_equal(
        store->ops->read_policies(store, NULL, 0, check_whole_change, &was_called, NULL), 0);
    assert_true(was_called);
}

static bool check_first_text(const struct store_policy_change *change, void *context)
{
    (void)context;
    struct store_policy_change first = make_change(SOURCE_A, DIGEST_1);
    assert_int_equal(change->text_len, first.text_len);
    assert_string_equal(change->text, first.text);
    return true;
}

CONTRACT_TEST(of_texts_with_one_digest_the_first_counts)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    struct store_policy_change change = make_change(SOURCE_B, DIGEST_1);
    change.text = "another";
    change.text_len = 7;
    struct recording_result answer = {0};
    assert_int_equal(
        store->ops->record_policy(store, &change, &answer.number, &answer.is_new, NULL), 0);
    assert_int_equal(store->ops->read_policies(store, NULL, 0, check_first_text, NULL, NULL), 0);
}

CONTRACT_TEST(a_change_with_a_part_missing_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    const struct store_policy_change whole = make_change(SOURCE_A, DIGEST_1);
    struct store_policy_change changes[] = {whole, whole, whole, whole, whole, whole, whole, whole};
    changes[0].source = NULL;
    changes[1].source = "";
    changes[2].digest = NULL;
    changes[3].how = NULL;
    changes[4].how = "";
    changes[5].by = NULL;
    changes[6].by = "";
    changes[7].text = NULL;
    for (size_t i = 0; i < COUNT(changes); i++) {
        assert_refused(store, &changes[i], RONDO_ERR_INVALID);
    }
}

CONTRACT_TEST(what_is_no_digest_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    char upper[] = DIGEST_1;
    upper[10] = 'A';
    char other[] = DIGEST_1;
    other[63] = 'g';
    char shorter[] = DIGEST_1;
    shorter[63] = '\0';
    const char *digests[] = {"", shorter, DIGEST_1 "0", upper, other};
    for (size_t i = 0; i < COUNT(digests); i++) {
        struct store_policy_change change = make_change(SOURCE_A, DIGEST_1);
        change.digest = digests[i];
        assert_refused(store, &change, RONDO_ERR_INVALID);
    }
}

/** A string of `len` times 'x'; owned by the caller. */
static char *long_string(size_t len)
{
    char *text = memory_new(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

CONTRACT_TEST(words_of_a_change_beyond_their_limits_are_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    auto_free char *source = long_string((size_t)LIMIT_POLICY_SOURCE_BYTES + 1);
    auto_free char *by = long_string((size_t)LIMIT_POLICY_BY_BYTES + 1);
    auto_free char *how = long_string(64);
    const struct store_policy_change whole = make_change(SOURCE_A, DIGEST_1);
    struct store_policy_change changes[] = {whole, whole, whole};
    changes[0].source = source;
    changes[1].by = by;
    changes[2].how = how;
    for (size_t i = 0; i < 3; i++) {
        assert_refused(store, &changes[i], RONDO_ERR_LIMIT);
    }
    source[LIMIT_POLICY_SOURCE_BYTES] = '\0';
    by[LIMIT_POLICY_BY_BYTES] = '\0';
    how[63] = '\0';
    struct store_policy_change longest = {
        .source = source, .digest = DIGEST_1, .how = how, .by = by, .text = ""};
    struct recording_result answer = {0};
    assert_int_equal(
        store->ops->record_policy(store, &longest, &answer.number, &answer.is_new, NULL), 0);
    assert_int_equal(read_policies(store, source, 0, 8).count, 1);
}

static bool check_longest_text(const struct store_policy_change *change, void *context)
{
    (void)context;
    assert_int_equal(change->text_len, LIMIT_POLICY_BYTES);
    assert_int_equal(strlen(change->text), LIMIT_POLICY_BYTES);
    return true;
}

CONTRACT_TEST(a_text_beyond_its_limit_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    auto_free char *text = long_string((size_t)LIMIT_POLICY_BYTES + 1);
    struct store_policy_change change = make_change(SOURCE_A, DIGEST_1);
    change.text = text;
    change.text_len = (size_t)LIMIT_POLICY_BYTES + 1;
    assert_refused(store, &change, RONDO_ERR_LIMIT);
    change.text_len = (size_t)LIMIT_POLICY_BYTES;
    struct recording_result answer = {0};
    assert_int_equal(
        store->ops->record_policy(store, &change, &answer.number, &answer.is_new, NULL), 0);
    assert_int_equal(store->ops->read_policies(store, NULL, 0, check_longest_text, NULL, NULL), 0);
}

/** One of the threads that find the same policies. */
struct finder {
    struct store *store;
    pthread_barrier_t *gate;
    pthread_t thread;
    struct recording_result answer;
    int rc;
};

static void *find_policies(void *argument)
{
    struct finder *finder = argument;
    struct store_policy_change change = make_change(SOURCE_A, DIGEST_2);
    pthread_barrier_wait(finder->gate);
    finder->rc = finder->store->ops->record_policy(finder->store, &change, &finder->answer.number,
                                                   &finder->answer.is_new, NULL);
    return NULL;
}

CONTRACT_TEST(of_many_threads_exactly_one_records_the_same_policies)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    pthread_barrier_t gate;
    assert_int_equal(pthread_barrier_init(&gate, NULL, 8), 0);
    struct finder finders[8];
    for (size_t i = 0; i < 8; i++) {
        finders[i] = (struct finder){.store = store, .gate = &gate};
        assert_int_equal(pthread_create(&finders[i].thread, NULL, find_policies, &finders[i]), 0);
    }
    int new_ones = 0;
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(finders[i].thread, NULL), 0);
        assert_int_equal(finders[i].rc, 0);
        assert_int_equal(finders[i].answer.number, 2);
        new_ones += finders[i].answer.is_new;
    }
    pthread_barrier_destroy(&gate);
    assert_int_equal(new_ones, 1);
    assert_int_equal(read_policies(store, NULL, 0, 8).count, 2);
}

CONTRACT_TEST(garbage_collection_leaves_the_history_alone)
{
    struct store *store = ((struct contract *)*state)->store;
    record(store, SOURCE_A, DIGEST_1);
    record(store, SOURCE_A, DIGEST_2);
    struct store_gc_request request = {.ended_before_ns = INT64_MAX};
    struct store_gc_result result;
    assert_int_equal(store->ops->gc(store, &request, &result, NULL), 0);
    assert_int_equal(read_policies(store, NULL, 0, 8).count, 2);
}
