// SPDX-License-Identifier: Apache-2.0
/* The contract: mail, garbage collection, health. */
#include "contract_parts.h"

#include "base/auto.h"
#include "base/memory.h"

#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"

static void post(struct store *store, const char *run_id, const char *data)
{
    assert_int_equal(store->ops->post(store, run_id, "stop", data, NULL), 0);
}

/** What a mailbox held. */
struct mailbox_content {
    size_t count;
    uint64_t last_id;
    char data[32];
};

static bool note_letter(const struct store_letter *letter, void *context)
{
    struct mailbox_content *mail = context;
    assert_true(letter->id > mail->last_id);
    assert_string_equal(letter->kind, "stop");
    assert_int_equal(letter->time_ns, TEST_EPOCH_NS);
    mail->last_id = letter->id;
    strncpy(mail->data, letter->data, sizeof(mail->data) - 1);
    mail->count++;
    return true;
}

static struct mailbox_content read_mail(struct store *store, const char *run_id, const char *owner)
{
    struct mailbox_content mail = {0};
    assert_int_equal(store->ops->read_mail(store, run_id, owner, note_letter, &mail, NULL), 0);
    return mail;
}

static struct store_commit_result take_mail(struct store *store, uint64_t up_to)
{
    struct store_batch batch = test_batch(RUN_A, 1, 0, NULL, 0);
    batch.mail_taken = up_to;
    return test_commit(store, &batch);
}

CONTRACT_TEST(letters_are_read_in_the_order_of_posting)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    post(store, RUN_A, "{\"n\":1}");
    post(store, RUN_A, "{\"n\":2}");
    struct mailbox_content mail = read_mail(store, RUN_A, NULL);
    assert_int_equal(mail.count, 2);
    assert_string_equal(mail.data, "{\"n\":2}");
}

CONTRACT_TEST(a_letter_to_an_unknown_run_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_int_equal(store->ops->post(store, RUN_A, "stop", "{}", NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(read_mail(store, RUN_A, NULL).count, 0);
}

CONTRACT_TEST(a_letter_beyond_its_limits_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    char kind[65];
    memset(kind, 'k', 64);
    kind[64] = '\0';
    assert_int_equal(store->ops->post(store, RUN_A, kind, "{}", NULL), RONDO_ERR_LIMIT);
    kind[63] = '\0';
    assert_int_equal(store->ops->post(store, RUN_A, kind, "{}", NULL), 0);
    auto_free char *data = memory_new((size_t)LIMIT_EVENT_BYTES + 2);
    memset(data, ' ', (size_t)LIMIT_EVENT_BYTES + 1);
    data[LIMIT_EVENT_BYTES + 1] = '\0';
    assert_int_equal(store->ops->post(store, RUN_A, "stop", data, NULL), RONDO_ERR_LIMIT);
    data[LIMIT_EVENT_BYTES] = '\0';
    assert_int_equal(store->ops->post(store, RUN_A, "stop", data, NULL), 0);
}

CONTRACT_TEST(an_owner_reads_the_mail_of_the_runs_that_it_holds)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    post(store, RUN_A, "{}");
    post(store, RUN_B, "{}");
    assert_int_equal(read_mail(store, NULL, "owner-a").count, 2);
    assert_int_equal(read_mail(store, NULL, "owner-b").count, 0);
    assert_int_equal(store->ops->expire_lease(store, RUN_B, 1, NULL), 0);
    assert_int_equal(read_mail(store, NULL, "owner-a").count, 1);
    assert_int_equal(read_mail(store, NULL, "").count, 0);
}

CONTRACT_TEST(a_commit_tells_whether_mail_is_waiting)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    post(store, RUN_B, "{}");
    assert_false(take_mail(store, 0).has_mail);
    post(store, RUN_A, "{}");
    assert_true(take_mail(store, 0).has_mail);
}

CONTRACT_TEST(letters_that_were_taken_are_deleted_and_no_others)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    post(store, RUN_A, "{\"n\":1}");
    uint64_t first = read_mail(store, RUN_A, NULL).last_id;
    post(store, RUN_B, "{}");
    post(store, RUN_A, "{\"n\":2}");
    assert_true(take_mail(store, first).has_mail);
    struct mailbox_content left = read_mail(store, RUN_A, NULL);
    assert_int_equal(left.count, 1);
    assert_string_equal(left.data, "{\"n\":2}");
    assert_false(take_mail(store, left.last_id).has_mail);
    assert_int_equal(read_mail(store, RUN_A, NULL).count, 0);
    assert_int_equal(read_mail(store, RUN_B, NULL).count, 1);
}

CONTRACT_TEST(a_letter_never_gets_the_id_of_one_that_was_taken)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    post(store, RUN_A, "{}");
    uint64_t first = read_mail(store, RUN_A, NULL).last_id;
    take_mail(store, first);
    post(store, RUN_A, "{}");
    /* The batch that took the first letter is handed in again. */
    take_mail(store, first);
    struct mailbox_content left = read_mail(store, RUN_A, NULL);
    assert_int_equal(left.count, 1);
    assert_true(left.last_id > first);
}

CONTRACT_TEST(an_empty_store_has_position_0)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_int_equal(test_last_position(store), 0);
}

/** A run with two events and a checkpoint that ended at the clock's present time. */
static void create_ended(struct contract *contract, const char *run_id)
{
    test_create(contract->store, run_id, "agent", false);
    struct store_event events[] = {test_event("{}"), test_event("{}")};
    struct store_checkpoint checkpoint = {.number = 1, .fold = "{}", .conditions = "[]"};
    struct store_batch batch = test_batch(run_id, 1, 1, events, 2);
    batch.checkpoint = &checkpoint;
    batch.summary.status = RONDO_COMPLETED;
    batch.lease_ns = 0;
    test_commit(contract->store, &batch);
    post(contract->store, run_id, "{}");
}

static struct store_gc_result collect(struct store *store, int64_t before_ns, bool is_dry_run)
{
    struct store_gc_request request = {.ended_before_ns = before_ns, .is_dry_run = is_dry_run};
    struct store_gc_result result;
    assert_int_equal(store->ops->gc(store, &request, &result, NULL), 0);
    return result;
}

CONTRACT_TEST(old_ended_runs_are_deleted_whole)
{
    struct contract *contract = *state;
    create_ended(contract, RUN_A);
    struct store_gc_result result = collect(contract->store, TEST_EPOCH_NS + 1, false);
    assert_int_equal(result.runs, 1);
    assert_int_equal(result.events, 2);
    assert_int_equal(result.checkpoints, 1);
    struct store_run run;
    assert_int_equal(contract->store->ops->get_run(contract->store, RUN_A, &run, NULL),
                     RONDO_ERR_NOT_FOUND);
    assert_int_equal(test_count_events(contract->store, NULL), 0);
    assert_int_equal(read_mail(contract->store, RUN_A, NULL).count, 0);
}

CONTRACT_TEST(a_dry_run_counts_and_deletes_nothing)
{
    struct contract *contract = *state;
    create_ended(contract, RUN_A);
    create_ended(contract, RUN_B);
    struct store_gc_result result = collect(contract->store, TEST_EPOCH_NS + 1, true);
    assert_int_equal(result.runs, 2);
    assert_int_equal(result.events, 4);
    assert_int_equal(result.checkpoints, 2);
    assert_int_equal(test_count_events(contract->store, NULL), 4);
}

CONTRACT_TEST(recent_running_and_held_runs_are_left_alone)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    create_ended(contract, RUN_A);
    assert_int_equal(collect(store, TEST_EPOCH_NS, false).runs, 0);
    test_claim(store, RUN_A, "owner-b");
    test_create(store, RUN_B, "agent", false);
    assert_int_equal(collect(store, INT64_MAX, false).runs, 0);
    test_clock_advance(&contract->clock, TEST_LEASE_NS);
    assert_int_equal(collect(store, INT64_MAX, false).runs, 1);
    assert_string_equal(test_get(store, RUN_B).id, RUN_B);
}

CONTRACT_TEST(positions_do_not_go_back_after_a_collection)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    create_ended(contract, RUN_A);
    uint64_t before = test_last_position(store);
    collect(store, INT64_MAX, false);
    assert_int_equal(test_last_position(store), before);
    create_ended(contract, RUN_A);
    assert_true(test_last_position(store) > before + 1);
    assert_int_equal(test_count_events(store, NULL), 2);
    collect(store, INT64_MAX, false);
    assert_int_equal(test_count_events(store, NULL), 0);
}

CONTRACT_TEST(the_runs_beside_a_deleted_one_stay_whole)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    test_create(store, RUN_B, "agent", false);
    for (uint64_t seq = 1; seq <= 100; seq++) {
        test_append(store, RUN_B, seq, "{}");
        if (seq == 50) {
            create_ended(contract, RUN_A);
        }
    }
    collect(store, INT64_MAX, false);
    assert_int_equal(test_count_events(store, RUN_B), 100);
    assert_int_equal(test_count_events(store, NULL), 100);
}

CONTRACT_TEST(a_store_has_the_newest_schema)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_schema schema = store->ops->schema(store);
    assert_true(schema.found == 0 || schema.found == schema.present);
    assert_in_range(schema.present, 9, 12); /* SQLite's, and PostgreSQL's. */
}

CONTRACT_TEST(health_counts_what_is_there)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    create_ended(contract, RUN_B);
    collect(store, INT64_MAX, false);
    create_ended(contract, RUN_A);
    struct store_health health;
    assert_int_equal(store->ops->health(store, &health, NULL), 0);
    assert_true(health.is_intact);
    assert_int_equal(health.schema, store->ops->schema(store).present);
    assert_int_equal(health.run_count, 1);
    assert_int_equal(health.event_count, 2);
    assert_true(health.location[0] != '\0');
    assert_true(health.version[0] != '\0');
}
