// SPDX-License-Identifier: Apache-2.0
/* The contract: storing, reading and pruning checkpoints. */
#include "contract_parts.h"

#include "base/auto.h"
#include "base/memory.h"

#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"

static const unsigned char state_bytes[] = {0, 1, 2, 0, 255};

static struct store_checkpoint make_checkpoint(uint64_t number)
{
    struct store_checkpoint checkpoint = {
        .number = number,
        .seq = number * 10,
        .iteration = number + 1,
        .time_ns = TEST_EPOCH_NS + (int64_t)number,
        .format = 7,
        .state = state_bytes,
        .state_len = sizeof(state_bytes),
        .state_size = 1234,
        .is_packed = true,
        .fold = "{\"fold\":1}",
        .custom_data = "{\"custom\":1}",
        .conditions = "[]",
    };
    memset(checkpoint.sha256, (int)number, sizeof(checkpoint.sha256));
    return checkpoint;
}

/** Commit a checkpoint with a batch that has no events. @return the store's code */
static int try_checkpoint(struct store *store, const struct store_checkpoint *checkpoint,
                          uint64_t keep)
{
    struct store_batch batch = test_batch(RUN_A, 1, 0, NULL, 0);
    batch.checkpoint = checkpoint;
    batch.keep_checkpoints = keep;
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    int rc = store->ops->commit(store, batches, 1, &result, NULL);
    return rc < 0 ? rc : (int)result.outcome;
}

static void add_checkpoints(struct store *store, uint64_t from, uint64_t to, uint64_t keep)
{
    for (uint64_t number = from; number <= to; number++) {
        struct store_checkpoint checkpoint = make_checkpoint(number);
        assert_int_equal(try_checkpoint(store, &checkpoint, keep), STORE_COMMITTED);
    }
}

static void assert_same_head(const struct store_checkpoint *seen, uint64_t number)
{
    struct store_checkpoint expected = make_checkpoint(number);
    assert_int_equal(seen->number, number);
    assert_int_equal(seen->seq, expected.seq);
    assert_int_equal(seen->iteration, expected.iteration);
    assert_int_equal(seen->time_ns, expected.time_ns);
    assert_int_equal(seen->format, expected.format);
    assert_int_equal(seen->state_size, expected.state_size);
    assert_true(seen->is_packed);
    assert_string_equal(seen->conditions, expected.conditions);
    assert_string_equal(seen->custom_data, expected.custom_data);
    assert_memory_equal(seen->sha256, expected.sha256, sizeof(expected.sha256));
}

static bool check_whole(const struct store_checkpoint *checkpoint, void *context)
{
    uint64_t *number = context;
    assert_same_head(checkpoint, *number);
    assert_int_equal(checkpoint->state_len, sizeof(state_bytes));
    assert_memory_equal(checkpoint->state, state_bytes, sizeof(state_bytes));
    assert_string_equal(checkpoint->fold, "{\"fold\":1}");
    *number = 0;
    return true;
}

CONTRACT_TEST(a_checkpoint_is_read_back_as_it_was)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    add_checkpoints(store, 1, 3, 0);
    uint64_t expected = 2;
    assert_int_equal(store->ops->get_checkpoint(store, RUN_A, 2, check_whole, &expected, NULL), 0);
    assert_int_equal(expected, 0);
}

CONTRACT_TEST(number_0_means_the_newest_checkpoint)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    add_checkpoints(store, 1, 3, 0);
    uint64_t expected = 3;
    assert_int_equal(store->ops->get_checkpoint(store, RUN_A, 0, check_whole, &expected, NULL), 0);
    assert_int_equal(expected, 0);
}

CONTRACT_TEST(a_missing_checkpoint_is_not_found)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    uint64_t unused = 0;
    int newest = store->ops->get_checkpoint(store, RUN_A, 0, check_whole, &unused, NULL);
    assert_int_equal(newest, RONDO_ERR_NOT_FOUND);
    add_checkpoints(store, 1, 1, 0);
    int second = store->ops->get_checkpoint(store, RUN_A, 2, check_whole, &unused, NULL);
    assert_int_equal(second, RONDO_ERR_NOT_FOUND);
    int no_run = store->ops->get_checkpoint(store, RUN_B, 0, check_whole, &unused, NULL);
    assert_int_equal(no_run, RONDO_ERR_NOT_FOUND);
}

static bool check_absent_parts(const struct store_checkpoint *checkpoint, void *context)
{
    assert_null(checkpoint->custom_data);
    assert_int_equal(checkpoint->state_len, 0);
    *(bool *)context = true;
    return true;
}

CONTRACT_TEST(custom_data_and_state_may_be_absent)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_checkpoint checkpoint = make_checkpoint(1);
    checkpoint.custom_data = NULL;
    checkpoint.state = NULL;
    checkpoint.state_len = 0;
    assert_int_equal(try_checkpoint(store, &checkpoint, 0), STORE_COMMITTED);
    bool is_seen = false;
    assert_int_equal(
        store->ops->get_checkpoint(store, RUN_A, 1, check_absent_parts, &is_seen, NULL), 0);
    assert_true(is_seen);
}

/** Expects numbers that go down to `last`, from `next`. */
struct descent {
    uint64_t next;
    uint64_t count;
};

static bool check_descent(const struct store_checkpoint *checkpoint, void *context)
{
    struct descent *descent = context;
    assert_same_head(checkpoint, descent->next);
    assert_null(checkpoint->state);
    assert_int_equal(checkpoint->state_len, 0);
    assert_null(checkpoint->fold);
    descent->next--;
    descent->count++;
    return true;
}

CONTRACT_TEST(checkpoints_are_listed_newest_first_without_their_states)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    add_checkpoints(store, 1, 4, 0);
    struct descent descent = {.next = 4};
    assert_int_equal(store->ops->list_checkpoints(store, RUN_A, check_descent, &descent, NULL), 0);
    assert_int_equal(descent.count, 4);
}

CONTRACT_TEST(only_the_newest_checkpoints_survive_pruning)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    add_checkpoints(store, 1, 5, 0);
    add_checkpoints(store, 6, 6, 2);
    struct descent descent = {.next = 6};
    assert_int_equal(store->ops->list_checkpoints(store, RUN_A, check_descent, &descent, NULL), 0);
    assert_int_equal(descent.count, 2);
}

CONTRACT_TEST(a_gap_in_the_numbers_of_checkpoints_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_checkpoint second = make_checkpoint(2);
    assert_int_equal(try_checkpoint(store, &second, 0), RONDO_ERR_STATE);
    struct store_checkpoint zero = make_checkpoint(0);
    assert_int_equal(try_checkpoint(store, &zero, 0), RONDO_ERR_INVALID);
}

CONTRACT_TEST(a_checkpoint_that_is_handed_in_again_is_stored_once)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    add_checkpoints(store, 1, 1, 0);
    add_checkpoints(store, 1, 1, 0);
    struct descent descent = {.next = 1};
    assert_int_equal(store->ops->list_checkpoints(store, RUN_A, check_descent, &descent, NULL), 0);
    assert_int_equal(descent.count, 1);
}

/** Commit an interim with a batch that has no events. @return the store's code */
static int try_interim(struct store *store, const struct store_checkpoint *interim)
{
    struct store_batch batch = test_batch(RUN_A, 1, 0, NULL, 0);
    batch.interim = interim;
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    int rc = store->ops->commit(store, batches, 1, &result, NULL);
    return rc < 0 ? rc : (int)result.outcome;
}

static bool take_head(const struct store_checkpoint *checkpoint, void *context)
{
    struct store_checkpoint *head = context;
    assert_int_equal(checkpoint->state_len, sizeof(state_bytes));
    assert_memory_equal(checkpoint->state, state_bytes, sizeof(state_bytes));
    assert_string_equal(checkpoint->fold, "{\"fold\":1}");
    *head = *checkpoint;
    return true;
}

static int get_interim(struct store *store, struct store_checkpoint *ret_head)
{
    return store->ops->get_checkpoint(store, RUN_A, STORE_INTERIM, take_head, ret_head, NULL);
}

static struct store_checkpoint make_interim(uint64_t seq)
{
    struct store_checkpoint interim = make_checkpoint(1);
    interim.number = 0;
    interim.seq = seq;
    return interim;
}

CONTRACT_TEST(an_interim_is_replaced_and_is_not_listed)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_checkpoint head = {0};
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(get_interim(store, &head), RONDO_ERR_NOT_FOUND);
    for (uint64_t seq = 5; seq <= 6; seq++) {
        struct store_checkpoint interim = make_interim(seq);
        assert_int_equal(try_interim(store, &interim), STORE_COMMITTED);
        assert_int_equal(get_interim(store, &head), 0);
        assert_int_equal(head.number, 0);
        assert_int_equal(head.seq, seq);
        assert_int_equal(head.iteration, interim.iteration);
        assert_memory_equal(head.sha256, interim.sha256, sizeof(head.sha256));
    }
    struct descent descent = {.next = 0};
    assert_int_equal(store->ops->list_checkpoints(store, RUN_A, check_descent, &descent, NULL), 0);
    assert_int_equal(descent.count, 0);
    uint64_t unused = 0;
    assert_int_equal(store->ops->get_checkpoint(store, RUN_A, 0, check_whole, &unused, NULL),
                     RONDO_ERR_NOT_FOUND);
}

CONTRACT_TEST(a_checkpoint_replaces_the_interim_before_it)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_checkpoint head = {0};
    test_create(store, RUN_A, "agent", false);
    struct store_checkpoint interim = make_interim(5);
    assert_int_equal(try_interim(store, &interim), STORE_COMMITTED);
    add_checkpoints(store, 1, 1, 0);
    assert_int_equal(get_interim(store, &head), RONDO_ERR_NOT_FOUND);
    assert_int_equal(try_interim(store, &interim), STORE_COMMITTED);
    assert_int_equal(get_interim(store, &head), 0);
}

CONTRACT_TEST(an_interim_with_a_number_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_checkpoint interim = make_checkpoint(1);
    assert_int_equal(try_interim(store, &interim), RONDO_ERR_INVALID);
}

CONTRACT_TEST(a_refused_checkpoint_takes_its_events_with_it)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_checkpoint checkpoint = make_checkpoint(5);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    batch.checkpoint = &checkpoint;
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    assert_int_equal(store->ops->commit(store, batches, 1, &result, NULL), RONDO_ERR_STATE);
    assert_int_equal(test_count_events(store, RUN_A), 0);
}

static bool note_state_len(const struct store_checkpoint *checkpoint, void *context)
{
    *(size_t *)context = checkpoint->state_len;
    return true;
}

CONTRACT_TEST(a_state_may_be_as_large_as_the_limit_and_no_larger)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    auto_free char *large = memory_new_zero(1, (size_t)LIMIT_STATE_BYTES + 1);
    struct store_checkpoint checkpoint = make_checkpoint(1);
    checkpoint.state = large;
    checkpoint.state_len = (size_t)LIMIT_STATE_BYTES + 1;
    assert_int_equal(try_checkpoint(store, &checkpoint, 0), RONDO_ERR_LIMIT);
    checkpoint.state_len = (size_t)LIMIT_STATE_BYTES;
    assert_int_equal(try_checkpoint(store, &checkpoint, 0), STORE_COMMITTED);
    size_t len = 0;
    assert_int_equal(store->ops->get_checkpoint(store, RUN_A, 0, note_state_len, &len, NULL), 0);
    assert_int_equal(len, LIMIT_STATE_BYTES);
}

CONTRACT_TEST(custom_data_may_be_as_large_as_the_limit_and_no_larger)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    auto_free char *large = memory_new((size_t)LIMIT_CUSTOM_DATA_BYTES + 2);
    memset(large, ' ', (size_t)LIMIT_CUSTOM_DATA_BYTES + 1);
    large[LIMIT_CUSTOM_DATA_BYTES + 1] = '\0';
    struct store_checkpoint checkpoint = make_checkpoint(1);
    checkpoint.custom_data = large;
    assert_int_equal(try_checkpoint(store, &checkpoint, 0), RONDO_ERR_LIMIT);
    large[LIMIT_CUSTOM_DATA_BYTES] = '\0';
    assert_int_equal(try_checkpoint(store, &checkpoint, 0), STORE_COMMITTED);
}
