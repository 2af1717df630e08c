// SPDX-License-Identifier: Apache-2.0
/* Reading: backfill and live, in order, each event once. */
#include "journal/reader.h"

#include "../../support/store/fault.h"
#include "../../support/store/memory_store.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define RUN_A "018bcfe5-6800-7000-8000-00000000000a"
#define RUN_B "018bcfe5-6800-7000-8000-00000000000b"

struct journal_fixture {
    struct store *store;
    struct writer *writer;
};

static void create(struct journal_fixture *fixture, const char *run_id)
{
    struct store_run run = {.agent_id = "agent"};
    memcpy(run.id, run_id, sizeof(run.id));
    struct store_claim claim = {.owner = "me", .lease_ns = INT64_C(60000000000)};
    struct store_claim_result result;
    assert_int_equal(
        fixture->store->ops->create_run(fixture->store, &run, NULL, 0, &claim, &result, NULL), 0);
}

static void append(struct journal_fixture *fixture, const char *run_id, uint64_t seq,
                   const char *type, const char *data)
{
    struct store_event event = {
        .time_ns = (int64_t)seq, .type = type, .data = data, .data_len = strlen(data)};
    struct store_batch batch = {.run_id = run_id,
                                .epoch = 1,
                                .first_seq = seq,
                                .events = &event,
                                .event_count = 1,
                                .lease_ns = INT64_C(60000000000)};
    struct store_commit_result result;
    assert_int_equal(writer_commit(fixture->writer, &batch, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_COMMITTED);
}

static int set_up(void **state)
{
    static struct journal_fixture fixture;
    fixture.store = store_memory_new(NULL);
    fixture.writer = writer_new(fixture.store);
    create(&fixture, RUN_A);
    create(&fixture, RUN_B);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct journal_fixture *fixture = *state;
    writer_free(fixture->writer);
    store_close(fixture->store);
    return 0;
}

static void expect(struct journal_reader *reader, const char *run_id, uint64_t seq)
{
    const struct journal_entry *entry = NULL;
    assert_int_equal(journal_reader_next(reader, 0, NULL, &entry, NULL), 1);
    assert_string_equal(entry->run_id, run_id);
    assert_int_equal(entry->event.seq, seq);
}

static void expect_none(struct journal_reader *reader)
{
    const struct journal_entry *entry = NULL;
    assert_int_equal(journal_reader_next(reader, 0, NULL, &entry, NULL), 0);
}

TEST_WITH(many_events_come_in_order_and_once, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    for (uint64_t seq = 1; seq <= 600; seq++) {
        append(fixture, RUN_A, seq, "note", "{\"name\":\"n\"}");
    }
    struct journal_reader *reader = journal_reader_new(fixture->writer, RUN_A, 0);
    for (uint64_t seq = 1; seq <= 600; seq++) {
        expect(reader, RUN_A, seq);
    }
    expect_none(reader);
    append(fixture, RUN_A, 601, "note", "{\"name\":\"n\"}");
    expect(reader, RUN_A, 601);
    expect_none(reader);
    journal_reader_free(reader);
}

TEST_WITH(reading_continues_after_what_was_seen, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    for (uint64_t seq = 1; seq <= 5; seq++) {
        append(fixture, RUN_A, seq, "note", "{\"name\":\"n\"}");
    }
    struct journal_reader *reader = journal_reader_new(fixture->writer, RUN_A, 3);
    expect(reader, RUN_A, 4);
    expect(reader, RUN_A, 5);
    expect_none(reader);
    journal_reader_free(reader);
}

TEST_WITH(all_runs_come_in_the_order_of_their_commits, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    append(fixture, RUN_B, 1, "note", "{\"name\":\"n\"}");
    append(fixture, RUN_A, 1, "note", "{\"name\":\"n\"}");
    append(fixture, RUN_B, 2, "note", "{\"name\":\"n\"}");
    struct journal_reader *reader = journal_reader_new(fixture->writer, NULL, 0);
    expect(reader, RUN_B, 1);
    expect(reader, RUN_A, 1);
    expect(reader, RUN_B, 2);
    expect_none(reader);
    journal_reader_free(reader);
}

TEST_WITH(an_unknown_type_is_handed_on_undecoded, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    append(fixture, RUN_A, 1, "from.the.future", "{\"x\":1}");
    struct journal_reader *reader = journal_reader_new(fixture->writer, RUN_A, 0);
    const struct journal_entry *entry = NULL;
    assert_int_equal(journal_reader_next(reader, 0, NULL, &entry, NULL), 1);
    assert_false(entry->is_known);
    assert_string_equal(entry->type_name, "from.the.future");
    assert_string_equal(entry->data, "{\"x\":1}");
    assert_int_equal(entry->event.seq, 1);
    journal_reader_free(reader);
}

TEST_WITH(a_damaged_event_is_reported, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    append(fixture, RUN_A, 1, "note", "not json");
    struct journal_reader *reader = journal_reader_new(fixture->writer, RUN_A, 0);
    const struct journal_entry *entry = NULL;
    struct rondo_error err;
    assert_int_equal(journal_reader_next(reader, 0, NULL, &entry, &err), RONDO_ERR_CORRUPT);
    assert_int_equal(err.code, RONDO_ERR_CORRUPT);
    journal_reader_free(reader);
}

static void *append_later(void *argument)
{
    append(argument, RUN_A, 1, "note", "{\"name\":\"n\"}");
    return NULL;
}

TEST_WITH(a_waiting_reader_is_woken_by_a_commit, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    struct journal_reader *reader = journal_reader_new(fixture->writer, RUN_A, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, append_later, fixture), 0);
    const struct journal_entry *entry = NULL;
    assert_int_equal(journal_reader_next(reader, INT64_C(60000000000), NULL, &entry, NULL), 1);
    assert_int_equal(entry->event.seq, 1);
    pthread_join(thread, NULL);
    journal_reader_free(reader);
}

static enum store_fault count_fetches(void *context, const char *operation, uint64_t call,
                                      int *ret_code)
{
    (void)call;
    (void)ret_code;
    *(unsigned *)context += strcmp(operation, "read_events") == 0;
    return STORE_FAULT_NONE;
}

TEST_WITH(a_reader_that_has_seen_all_waits_before_it_fetches_again, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    const struct journal_entry *entry = NULL;
    unsigned fetches = 0;
    const struct store_fault_plan plan = {.decide = count_fetches, .context = &fetches};
    struct store *counted = store_fault_new(fixture->store, &plan);
    struct writer *writer = writer_new(counted);
    append(fixture, RUN_A, 1, "t", "{}");
    struct journal_reader *reader = journal_reader_new(writer, RUN_A, 0);
    assert_int_equal(journal_reader_next(reader, 0, NULL, &entry, NULL), 1);
    assert_int_equal(fetches, 1);
    assert_int_equal(journal_reader_next(reader, NS_PER_MS, NULL, &entry, NULL), 0);
    assert_int_equal(fetches, 2);
    /* One that must not wait looks. */
    append(fixture, RUN_A, 2, "t", "{}");
    assert_int_equal(journal_reader_next(reader, 0, NULL, &entry, NULL), 1);
    assert_int_equal(fetches, 3);
    /* What came since the last fetch, and by another process, ends the wait. */
    append(fixture, RUN_A, 3, "t", "{}");
    assert_int_equal(journal_reader_next(reader, 600 * NS_PER_S, NULL, &entry, NULL), 1);
    assert_int_equal(fetches, 4);
    journal_reader_free(reader);
    writer_free(writer);
    store_close(counted);
}

TEST_WITH(a_cancelled_reader_does_not_wait, set_up, tear_down)
{
    struct journal_fixture *fixture = *state;
    struct journal_reader *reader = journal_reader_new(fixture->writer, RUN_A, 0);
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    const struct journal_entry *entry = NULL;
    assert_int_equal(journal_reader_next(reader, INT64_C(60000000000), &cancel, &entry, NULL), 0);
    cancel_fini(&cancel);
    journal_reader_free(reader);
}
