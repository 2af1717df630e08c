// SPDX-License-Identifier: Apache-2.0
/* The contract: reading events and listing runs. */
#include "contract_parts.h"

#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"

/** What reading events gave. */
struct event_reading {
    uint64_t count;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t last_position;
    uint64_t stop_after; /**< end the reading when so many were seen; 0 = never */
};

static bool note_event(const struct store_event *event, void *context)
{
    struct event_reading *reading = context;
    if (reading->count == 0) {
        reading->first_seq = event->seq;
    }
    assert_true(event->position > reading->last_position);
    reading->last_seq = event->seq;
    reading->last_position = event->position;
    reading->count++;
    return reading->stop_after == 0 || reading->count < reading->stop_after;
}

static struct event_reading read_events(struct store *store, const char *run_id, uint64_t after,
                                        uint32_t limit, uint64_t stop_after)
{
    struct event_reading reading = {.stop_after = stop_after};
    assert_int_equal(
        store->ops->read_events(store, run_id, after, limit, note_event, &reading, NULL), 0);
    return reading;
}

/** Append `count` events to each of two runs, taking turns. */
static void fill_two_runs(struct store *store, uint64_t count)
{
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    for (uint64_t seq = 1; seq <= count; seq++) {
        test_append(store, RUN_A, seq, "{}");
        test_append(store, RUN_B, seq, "{}");
    }
}

CONTRACT_TEST(a_run_is_read_from_any_event_to_its_end)
{
    struct store *store = ((struct contract *)*state)->store;
    fill_two_runs(store, 300);
    for (uint64_t after = 0; after < 300; after++) {
        struct event_reading reading = read_events(store, RUN_B, after, 0, 0);
        assert_int_equal(reading.count, 300 - after);
        assert_int_equal(reading.first_seq, after + 1);
        assert_int_equal(reading.last_seq, 300);
    }
}

CONTRACT_TEST(reading_after_the_last_event_gives_nothing)
{
    struct store *store = ((struct contract *)*state)->store;
    fill_two_runs(store, 3);
    assert_int_equal(read_events(store, RUN_A, 3, 0, 0).count, 0);
    assert_int_equal(read_events(store, RUN_A, UINT64_MAX, 0, 0).count, 0);
    assert_int_equal(read_events(store, NULL, UINT64_MAX, 0, 0).count, 0);
}

CONTRACT_TEST(an_unknown_run_has_no_events)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_int_equal(read_events(store, RUN_A, 0, 0, 0).count, 0);
}

CONTRACT_TEST(no_more_events_are_given_than_the_limit)
{
    struct store *store = ((struct contract *)*state)->store;
    fill_two_runs(store, 200);
    for (uint32_t limit = 1; limit < 150; limit += 7) {
        struct event_reading reading = read_events(store, RUN_A, 40, limit, 0);
        assert_int_equal(reading.count, limit);
        assert_int_equal(reading.last_seq, 40 + limit);
    }
    assert_int_equal(read_events(store, NULL, 0, 5, 0).count, 5);
}

CONTRACT_TEST(a_callback_can_end_the_reading)
{
    struct store *store = ((struct contract *)*state)->store;
    fill_two_runs(store, 200);
    assert_int_equal(read_events(store, RUN_A, 0, 0, 150).count, 150);
    assert_int_equal(read_events(store, NULL, 0, 0, 2).count, 2);
}

CONTRACT_TEST(all_runs_are_read_in_order_of_position)
{
    struct store *store = ((struct contract *)*state)->store;
    fill_two_runs(store, 50);
    struct event_reading first = read_events(store, NULL, 0, 30, 0);
    struct event_reading rest = read_events(store, NULL, first.last_position, 0, 0);
    assert_int_equal(first.count + rest.count, 100);
    assert_int_equal(rest.last_position, test_last_position(store));
}

CONTRACT_TEST(a_run_that_is_unknown_cannot_be_read)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_run run;
    assert_int_equal(store->ops->get_run(store, RUN_A, &run, NULL), RONDO_ERR_NOT_FOUND);
}

/** Ids that listing gave, and when to stop. */
struct listed_ids {
    size_t count;
    size_t stop_after;
    char ids[16][ID_SIZE];
};

static bool note_run(const struct store_run *run, void *context)
{
    struct listed_ids *listing = context;
    assert_true(listing->count < 16);
    memcpy(listing->ids[listing->count], run->id, ID_SIZE);
    listing->count++;
    return listing->stop_after == 0 || listing->count < listing->stop_after;
}

static struct listed_ids list_runs(struct store *store, const struct store_run_query *query)
{
    struct listed_ids listing = {0};
    assert_int_equal(store->ops->list_runs(store, query, note_run, &listing, NULL), 0);
    return listing;
}

/** Runs 1..count, of agents "even" and "odd". */
static void create_runs(struct store *store, unsigned count)
{
    for (unsigned number = 1; number <= count; number++) {
        struct test_id id = test_id(number);
        test_create(store, id.text, number % 2 == 0 ? "even" : "odd", false);
    }
}

CONTRACT_TEST(runs_are_listed_newest_first)
{
    struct store *store = ((struct contract *)*state)->store;
    create_runs(store, 4);
    struct listed_ids listing = list_runs(store, &(struct store_run_query){0});
    assert_int_equal(listing.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(listing.ids[i], test_id(4 - i).text);
    }
}

CONTRACT_TEST(runs_are_found_by_the_beginning_of_their_id)
{
    struct store *store = ((struct contract *)*state)->store;
    create_runs(store, 12);
    struct listed_ids one =
        list_runs(store, &(struct store_run_query){.id_prefix = test_id(7).text});
    assert_int_equal(one.count, 1);
    struct listed_ids three = list_runs(
        store, &(struct store_run_query){.id_prefix = "01900000-0000-7000-8000-00000000001"});
    assert_int_equal(three.count, 3);
    assert_string_equal(three.ids[0], test_id(12).text);
    assert_int_equal(list_runs(store, &(struct store_run_query){.id_prefix = ""}).count, 12);
}

CONTRACT_TEST(a_strange_prefix_matches_nothing)
{
    struct store *store = ((struct contract *)*state)->store;
    create_runs(store, 1);
    static const char *const prefixes[] = {"%", "_", "x",
                                           "~", "'", "01900000-0000-7000-8000-0000000000010"};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        struct store_run_query query = {.id_prefix = prefixes[i]};
        assert_int_equal(list_runs(store, &query).count, 0);
    }
}

CONTRACT_TEST(runs_are_found_by_their_agent)
{
    struct store *store = ((struct contract *)*state)->store;
    create_runs(store, 5);
    struct listed_ids odd = list_runs(store, &(struct store_run_query){.agent_id = "odd"});
    assert_int_equal(odd.count, 3);
    assert_string_equal(odd.ids[0], test_id(5).text);
    struct listed_ids both = list_runs(
        store, &(struct store_run_query){.agent_id = "even", .id_prefix = test_id(4).text});
    assert_int_equal(both.count, 1);
}

CONTRACT_TEST(runs_with_a_final_status_can_be_left_out)
{
    struct store *store = ((struct contract *)*state)->store;
    create_runs(store, 3);
    struct test_id second = test_id(2);
    struct store_batch batch = test_batch(second.text, 1, 0, NULL, 0);
    batch.summary.status = RONDO_COMPLETED;
    test_commit(store, &batch);
    struct listed_ids listing = list_runs(store, &(struct store_run_query){.only_running = true});
    assert_int_equal(listing.count, 2);
    assert_string_equal(listing.ids[0], test_id(3).text);
    assert_string_equal(listing.ids[1], test_id(1).text);
}

CONTRACT_TEST(no_more_runs_are_listed_than_asked_for)
{
    struct store *store = ((struct contract *)*state)->store;
    create_runs(store, 5);
    assert_int_equal(list_runs(store, &(struct store_run_query){.limit = 2}).count, 2);
    struct listed_ids stopped = {.stop_after = 3};
    struct store_run_query all = {0};
    assert_int_equal(store->ops->list_runs(store, &all, note_run, &stopped, NULL), 0);
    assert_int_equal(stopped.count, 3);
}
