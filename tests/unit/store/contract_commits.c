// SPDX-License-Identifier: Apache-2.0
/* The contract: commit of batches, sequence numbers, fencing, handing in again. */
#include "contract_parts.h"

#include "base/auto.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"

/** Code that the store gives for one batch. */
static int try_commit(struct store *store, const struct store_batch *batch)
{
    struct store_commit_result result;
    return store->ops->commit(store, &batch, 1, &result, NULL);
}

static bool check_event(const struct store_event *event, void *context)
{
    uint64_t *seen = context;
    static const char *const data[] = {"{\"n\":1}", "{\"text\":\"\xc3\xa4\"}"};
    assert_true(*seen < 2);
    assert_string_equal(event->run_id, RUN_A);
    assert_int_equal(event->seq, *seen + 1);
    assert_int_equal(event->time_ns, TEST_EPOCH_NS - (int64_t)*seen);
    assert_string_equal(event->type, *seen == 0 ? "first.type" : "second.type");
    assert_string_equal(event->data, data[*seen]);
    assert_int_equal(event->data_len, strlen(data[*seen]));
    (*seen)++;
    return true;
}

CONTRACT_TEST(committed_events_are_read_back_as_they_were)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_event events[] = {test_event("{\"n\":1}"), test_event("{\"text\":\"\xc3\xa4\"}")};
    events[0].type = "first.type";
    events[1].type = "second.type";
    events[1].time_ns = TEST_EPOCH_NS - 1;
    struct store_batch batch = test_batch(RUN_A, 1, 1, events, 2);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    uint64_t seen = 0;
    assert_int_equal(store->ops->read_events(store, RUN_A, 0, 0, check_event, &seen, NULL), 0);
    assert_int_equal(seen, 2);
}

CONTRACT_TEST(positions_grow_over_all_runs)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    struct store_event event = test_event("{}");
    uint64_t last = 0;
    for (uint64_t seq = 1; seq <= 5; seq++) {
        struct store_batch a = test_batch(RUN_A, 1, seq, &event, 1);
        struct store_batch b = test_batch(RUN_B, 1, seq, &event, 1);
        const struct store_batch *batches[] = {&a, &b};
        struct store_commit_result results[2];
        assert_int_equal(store->ops->commit(store, batches, 2, results, NULL), 0);
        assert_true(results[0].position > last);
        assert_true(results[1].position > results[0].position);
        last = results[1].position;
        assert_int_equal(test_last_position(store), last);
    }
}

/** Compare field by field: there are bytes between them. */
static void assert_summary(const struct store_summary *is, const struct store_summary *should)
{
    assert_int_equal(is->status, should->status);
    assert_int_equal(is->iteration, should->iteration);
    assert_int_equal(is->iteration_limit, should->iteration_limit);
    assert_int_equal(is->conditions_met, should->conditions_met);
    assert_int_equal(is->conditions_total, should->conditions_total);
    assert_int_equal(is->tokens, should->tokens);
    assert_int_equal(is->cost_micro, should->cost_micro);
    assert_int_equal(is->warnings, should->warnings);
    assert_int_equal(is->is_paused, should->is_paused);
}

static void post(struct store *store, const char *run_id)
{
    assert_int_equal(store->ops->post(store, run_id, "stop", "{}", NULL), 0);
}

static bool take_id(const struct store_letter *letter, void *context)
{
    *(uint64_t *)context = letter->id;
    return true;
}

CONTRACT_TEST(a_batch_that_relies_on_no_letter_is_not_applied_when_one_waits)
{
    struct store *store = ((struct contract *)*state)->store;
    const struct store_premise premise = {0};
    struct store_event event = test_event("{}");
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    struct store_batch other = test_batch(RUN_B, 1, 1, &event, 1);
    batch.premise = &premise;
    batch.summary.iteration = 7;
    post(store, RUN_A);
    post(store, RUN_B);
    const struct store_batch *batches[] = {&batch, &other};
    struct store_commit_result results[2];
    assert_int_equal(store->ops->commit(store, batches, 2, results, NULL), 0);
    assert_int_equal(results[0].outcome, STORE_OUTDATED);
    assert_int_equal(results[0].position, 0);
    assert_int_equal(results[1].outcome, STORE_COMMITTED);
    assert_int_equal(test_count_events(store, RUN_A), 0);
    assert_int_equal(test_get(store, RUN_A).summary.iteration, 0);
    uint64_t id = 0;
    assert_int_equal(store->ops->read_mail(store, RUN_A, NULL, take_id, &id, NULL), 0);
    batch.mail_taken = id;
    struct store_commit_result result = test_commit(store, &batch);
    assert_int_equal(result.outcome, STORE_COMMITTED);
    assert_false(result.has_mail);
    assert_int_equal(test_count_events(store, RUN_A), 1);
}

/** Put a document, whatever its version is. */
static void put_document(struct store *store)
{
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = "policies",
                                        .key = "one",
                                        .data = "{}",
                                        .data_len = 2,
                                        .if_version = STORE_ANY_VERSION};
    bool is_applied = false;
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
}

CONTRACT_TEST(a_batch_that_relies_on_a_document_is_applied_only_to_that_version)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_premise premise = {.collection = "policies", .key = "one"};
    struct store_event event = test_event("{}");
    test_create(store, RUN_A, "agent", false);
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    batch.premise = &premise;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    put_document(store);
    batch.first_seq = 2;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_OUTDATED);
    premise.version = 1;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    put_document(store);
    batch.first_seq = 3;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_OUTDATED);
    premise.collection = NULL;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    assert_int_equal(test_count_events(store, RUN_A), 3);
}

CONTRACT_TEST(what_was_committed_or_is_fenced_is_not_called_outdated)
{
    struct store *store = ((struct contract *)*state)->store;
    const struct store_premise premise = {0};
    struct store_event event = test_event("{}");
    test_create(store, RUN_A, "agent", false);
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    batch.premise = &premise;
    uint64_t position = test_commit(store, &batch).position;
    post(store, RUN_A);
    struct store_commit_result again = test_commit(store, &batch);
    assert_int_equal(again.outcome, STORE_ALREADY_COMMITTED);
    assert_int_equal(again.position, position);
    assert_true(again.has_mail);
    batch.epoch = 2;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_FENCED);
}

CONTRACT_TEST(the_summary_is_replaced)
{
    struct contract *contract = *state;
    test_create(contract->store, RUN_A, "agent", false);
    test_clock_advance(&contract->clock, 7);
    struct store_batch batch = test_batch(RUN_A, 1, 1, NULL, 0);
    batch.summary = (struct store_summary){
        .status = RONDO_RUNNING,
        .iteration = 3,
        .iteration_limit = 10,
        .conditions_met = 1,
        .conditions_total = 2,
        .tokens = INT64_MAX,
        .cost_micro = -5,
        .warnings = UINT32_MAX,
        .is_paused = true,
    };
    test_commit(contract->store, &batch);
    struct store_run run = test_get(contract->store, RUN_A);
    assert_summary(&run.summary, &batch.summary);
    assert_int_equal(run.updated_ns, TEST_EPOCH_NS + 7);
    assert_int_equal(run.alive_ns, TEST_EPOCH_NS + 7);
    assert_int_equal(run.lease_until_ns, TEST_EPOCH_NS + 7 + TEST_LEASE_NS);
    assert_int_equal(run.created_ns, TEST_EPOCH_NS);
}

CONTRACT_TEST(the_end_of_a_run_is_the_time_of_its_first_final_status)
{
    struct contract *contract = *state;
    test_create(contract->store, RUN_A, "agent", false);
    struct store_batch batch = test_batch(RUN_A, 1, 1, NULL, 0);
    batch.summary.status = RONDO_BLOCKED;
    test_clock_advance(&contract->clock, 1);
    test_commit(contract->store, &batch);
    test_clock_advance(&contract->clock, 1);
    batch.summary.status = RONDO_FAILED;
    test_commit(contract->store, &batch);
    assert_int_equal(test_get(contract->store, RUN_A).ended_ns, TEST_EPOCH_NS + 1);
    batch.summary.status = RONDO_RUNNING;
    test_commit(contract->store, &batch);
    assert_int_equal(test_get(contract->store, RUN_A).ended_ns, 0);
}

CONTRACT_TEST(a_batch_without_a_lease_gives_the_run_up)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_batch batch = test_batch(RUN_A, 1, 1, NULL, 0);
    batch.lease_ns = 0;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    struct store_run run = test_get(store, RUN_A);
    assert_string_equal(run.owner, "");
    assert_int_equal(run.lease_until_ns, 0);
    assert_int_equal(test_claim(store, RUN_A, "owner-b").outcome, STORE_CLAIMED);
}

CONTRACT_TEST(a_run_that_nobody_holds_takes_a_batch_of_its_last_epoch)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    struct store_event event = test_event("{}");
    test_create(store, RUN_A, "agent", false);
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    batch.lease_ns = 0;
    test_commit(store, &batch);
    test_clock_advance(&contract->clock, 9);
    batch.first_seq = 2;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    struct store_run run = test_get(store, RUN_A);
    assert_string_equal(run.owner, "");
    assert_int_equal(run.updated_ns, TEST_EPOCH_NS + 9);
    assert_int_equal(run.alive_ns, TEST_EPOCH_NS); /* No owner was seen. */
    test_claim(store, RUN_A, "owner-b");
    batch.first_seq = 3;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_FENCED);
}

CONTRACT_TEST(a_gap_in_the_sequence_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 2, &event, 1);
    assert_int_equal(try_commit(store, &batch), RONDO_ERR_STATE);
    assert_int_equal(test_count_events(store, RUN_A), 0);
}

CONTRACT_TEST(an_overlap_in_the_sequence_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    struct store_event events[] = {test_event("{}"), test_event("{}")};
    struct store_batch batch = test_batch(RUN_A, 1, 1, events, 2);
    assert_int_equal(try_commit(store, &batch), RONDO_ERR_STATE);
    assert_int_equal(test_get(store, RUN_A).last_seq, 1);
}

CONTRACT_TEST(events_are_numbered_from_1)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_event event = test_event("{}");
    struct store_batch zero = test_batch(RUN_A, 1, 0, &event, 1);
    struct store_batch huge = test_batch(RUN_A, 1, UINT64_MAX, &event, 1);
    assert_int_equal(try_commit(store, &zero), RONDO_ERR_INVALID);
    assert_int_equal(try_commit(store, &huge), RONDO_ERR_INVALID);
}

CONTRACT_TEST(a_batch_for_an_unknown_run_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_batch batch = test_batch(RUN_A, 1, 1, NULL, 0);
    assert_int_equal(try_commit(store, &batch), RONDO_ERR_NOT_FOUND);
}

CONTRACT_TEST(a_refused_batch_takes_its_whole_transaction_with_it)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    struct store_event event = test_event("{}");
    struct store_batch good = test_batch(RUN_A, 1, 1, &event, 1);
    struct store_batch bad = test_batch(RUN_B, 1, 7, &event, 1);
    const struct store_batch *batches[] = {&good, &bad};
    struct store_commit_result results[2] = {{.position = 42}, {.position = 42}};
    assert_int_equal(store->ops->commit(store, batches, 2, results, NULL), RONDO_ERR_STATE);
    assert_int_equal(test_count_events(store, NULL), 0);
    assert_int_equal(test_last_position(store), 0);
    assert_int_equal(results[0].position, 42);
    assert_int_equal(results[1].position, 42);
    assert_int_equal(test_commit(store, &good).outcome, STORE_COMMITTED);
}

CONTRACT_TEST(a_batch_that_is_handed_in_again_is_not_applied_twice)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_event events[] = {test_event("{}"), test_event("{}")};
    struct store_batch batch = test_batch(RUN_A, 1, 1, events, 2);
    struct store_commit_result first = test_commit(store, &batch);
    struct store_commit_result again = test_commit(store, &batch);
    assert_int_equal(again.outcome, STORE_ALREADY_COMMITTED);
    assert_int_equal(again.position, first.position);
    assert_int_equal(test_count_events(store, RUN_A), 2);
}

CONTRACT_TEST(an_old_batch_is_recognised_after_later_ones)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    struct store_commit_result first = test_commit(store, &batch);
    for (uint64_t seq = 2; seq <= 300; seq++) {
        test_append(store, RUN_A, seq, "{}");
    }
    struct store_commit_result again = test_commit(store, &batch);
    assert_int_equal(again.outcome, STORE_ALREADY_COMMITTED);
    assert_int_equal(again.position, first.position);
}

CONTRACT_TEST(the_last_batch_is_recognised_after_the_run_was_released)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    batch.lease_ns = 0;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_ALREADY_COMMITTED);
}

CONTRACT_TEST(a_batch_without_events_is_applied_each_time)
{
    struct contract *contract = *state;
    test_create(contract->store, RUN_A, "agent", false);
    struct store_batch batch = test_batch(RUN_A, 1, 0, NULL, 0);
    batch.summary.iteration = 1;
    assert_int_equal(test_commit(contract->store, &batch).outcome, STORE_COMMITTED);
    test_clock_advance(&contract->clock, 3);
    assert_int_equal(test_commit(contract->store, &batch).outcome, STORE_COMMITTED);
    struct store_run run = test_get(contract->store, RUN_A);
    assert_int_equal(run.lease_until_ns, TEST_EPOCH_NS + 3 + TEST_LEASE_NS);
    assert_int_equal(run.last_seq, 0);
}

CONTRACT_TEST(a_stale_epoch_is_fenced_off)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    test_create(store, RUN_A, "agent", false);
    test_clock_advance(&contract->clock, TEST_LEASE_NS);
    test_claim(store, RUN_A, "owner-b");
    struct store_event event = test_event("{}");
    struct store_batch stale = test_batch(RUN_A, 1, 1, &event, 1);
    stale.summary.iteration = 99;
    assert_int_equal(test_commit(store, &stale).outcome, STORE_FENCED);
    struct store_run run = test_get(store, RUN_A);
    assert_int_equal(run.last_seq, 0);
    assert_int_equal(run.summary.iteration, 0);
    assert_string_equal(run.owner, "owner-b");
    struct store_batch future = test_batch(RUN_A, 3, 1, &event, 1);
    assert_int_equal(test_commit(store, &future).outcome, STORE_FENCED);
}

CONTRACT_TEST(a_fenced_batch_does_not_keep_the_others_back)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    struct store_event event = test_event("{}");
    struct store_batch fenced = test_batch(RUN_A, 2, 1, &event, 1);
    struct store_batch good = test_batch(RUN_B, 1, 1, &event, 1);
    const struct store_batch *batches[] = {&fenced, &good};
    struct store_commit_result results[2];
    assert_int_equal(store->ops->commit(store, batches, 2, results, NULL), 0);
    assert_int_equal(results[0].outcome, STORE_FENCED);
    assert_int_equal(results[1].outcome, STORE_COMMITTED);
    assert_int_equal(test_count_events(store, RUN_A), 0);
    assert_int_equal(test_count_events(store, RUN_B), 1);
}

CONTRACT_TEST(an_owner_may_write_after_its_lease_ran_out_unless_taken_over)
{
    struct contract *contract = *state;
    test_create(contract->store, RUN_A, "agent", false);
    test_clock_advance(&contract->clock, 10 * TEST_LEASE_NS);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    assert_int_equal(test_commit(contract->store, &batch).outcome, STORE_COMMITTED);
    assert_int_equal(test_claim(contract->store, RUN_A, "owner-b").outcome, STORE_HELD);
}

CONTRACT_TEST(event_data_may_be_as_large_as_the_limit_and_no_larger)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    auto_free char *data = memory_new((size_t)LIMIT_EVENT_BYTES + 2);
    memset(data, ' ', (size_t)LIMIT_EVENT_BYTES + 1);
    data[LIMIT_EVENT_BYTES + 1] = '\0';
    struct store_event event = test_event("{}");
    event.data = data;
    event.data_len = (size_t)LIMIT_EVENT_BYTES + 1;
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    assert_int_equal(try_commit(store, &batch), RONDO_ERR_LIMIT);
    data[LIMIT_EVENT_BYTES] = '\0';
    event.data_len = (size_t)LIMIT_EVENT_BYTES;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
}

CONTRACT_TEST(an_event_type_may_have_63_bytes_and_no_more)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    char type[65];
    memset(type, 't', 64);
    type[64] = '\0';
    struct store_event event = test_event("{}");
    event.type = type;
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    assert_int_equal(try_commit(store, &batch), RONDO_ERR_LIMIT);
    type[63] = '\0';
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
}

CONTRACT_TEST(an_event_without_type_or_data_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    event.type = "";
    assert_int_equal(try_commit(store, &batch), RONDO_ERR_INVALID);
    event = test_event("{}");
    event.data = NULL;
    assert_int_equal(try_commit(store, &batch), RONDO_ERR_INVALID);
}
