// SPDX-License-Identifier: Apache-2.0
/* The contract: filters, orders and pages of lists of runs, and counting. */
#include "contract_parts.h"

#include <stdio.h>
#include <string.h>

/** What distinguishes the runs of these tests; run i has the id test_id(i + 1). */
static const struct run_sample {
    const char *agent_id;
    enum rondo_status status;
    uint64_t iteration;
    int64_t tokens;
    int64_t cost_micro;
    uint32_t warnings;
    bool is_paused;
} samples[] = {
    {"alpha", RONDO_RUNNING, 3, 100, 5, 0, false},      /* 1 */
    {"Beta", RONDO_COMPLETED, 9, 100, -1, 2, false},    /* 2 */
    {"alpha", RONDO_RUNNING, 1, INT64_MAX, 5, 7, true}, /* 3 */
    {"gamma-alpha", RONDO_ERROR, 3, 0, 40, 0, false},   /* 4 */
    {"beta", RONDO_COMPLETED, 2, 7, 5, 1, true},        /* 5 */
    {"100%_a", RONDO_FAILED, 3, 7, 0, 2, false},        /* 6 */
};
#define SAMPLE_COUNT (COUNT(samples))

/** Create the runs, then change them in another order than they were created in. */
static void create_samples(struct contract *contract)
{
    for (unsigned i = 0; i < SAMPLE_COUNT; i++) {
        test_clock_advance(&contract->clock, 1);
        test_create(contract->store, test_id(i + 1).text, samples[i].agent_id, false);
    }
    static const unsigned order[SAMPLE_COUNT] = {3, 1, 5, 0, 4, 2};
    for (unsigned k = 0; k < SAMPLE_COUNT; k++) {
        const struct run_sample *sample = &samples[order[k]];
        struct test_id id = test_id(order[k] + 1);
        struct store_batch batch = test_batch(id.text, 1, 1, NULL, 0);
        batch.summary = (struct store_summary){.status = sample->status,
                                               .iteration = sample->iteration,
                                               .tokens = sample->tokens,
                                               .cost_micro = sample->cost_micro,
                                               .warnings = sample->warnings,
                                               .is_paused = sample->is_paused};
        test_clock_advance(&contract->clock, 1);
        test_commit(contract->store, &batch);
    }
}

/** The last digits of the ids that were listed, in their order. */
struct digits {
    char text[32];
    struct store_run last;
    size_t count;
};

static bool note_run(const struct store_run *run, void *context)
{
    struct digits *digits = context;
    assert_true(digits->count < sizeof(digits->text) - 1);
    digits->text[digits->count++] = run->id[strlen(run->id) - 1];
    digits->last = *run;
    return true;
}

static struct digits list(struct store *store, struct store_run_query query)
{
    struct digits digits = {0};
    assert_int_equal(store->ops->list_runs(store, &query, note_run, &digits, NULL), 0);
    return digits;
}

static void assert_listed(struct store *store, struct store_run_query query, const char *expected)
{
    assert_string_equal(list(store, query).text, expected);
}

#define BIT(status) (UINT32_C(1) << (status))
#define QUERY(...)  ((struct store_run_query){__VA_ARGS__})

CONTRACT_TEST(runs_are_selected_by_their_statuses)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store *store = contract->store;
    assert_listed(store, QUERY(.statuses = BIT(RONDO_COMPLETED)), "52");
    assert_listed(store, QUERY(.statuses = BIT(RONDO_COMPLETED) | BIT(RONDO_ERROR)), "542");
    assert_listed(store, QUERY(.statuses = BIT(RONDO_RUNNING)), "31");
    assert_listed(store, QUERY(.statuses = BIT(RONDO_TIMEOUT)), "");
    assert_listed(store, QUERY(.statuses = BIT(RONDO_RUNNING), .only_running = true), "31");
    assert_listed(store, QUERY(.statuses = BIT(RONDO_ERROR), .only_running = true), "");
    assert_listed(store,
                  QUERY(.statuses = BIT(RONDO_ERROR) | BIT(RONDO_RUNNING), .only_running = true),
                  "31");
}

/** Create a run that works for another one. */
static void create_child(struct store *store, unsigned number, unsigned parent)
{
    struct store_run run = {.agent_id = "worker"};
    memcpy(run.id, test_id(number).text, sizeof(run.id));
    memcpy(run.parent, test_id(parent).text, sizeof(run.parent));
    const struct store_claim claim = {.owner = "owner-a", .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &result, NULL), 0);
}

CONTRACT_TEST(runs_are_selected_by_the_run_that_they_work_for)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, test_id(1).text, "alpha", false);
    test_create(store, test_id(2).text, "beta", false);
    create_child(store, 3, 1);
    create_child(store, 4, 1);
    create_child(store, 5, 2);
    assert_listed(store, QUERY(.parent = test_id(1).text), "43");
    assert_listed(store, QUERY(.parent = test_id(2).text, .is_ascending = true), "5");
    assert_listed(store, QUERY(.parent = test_id(3).text), "");
    assert_listed(store, QUERY(.is_top_only = true), "21");
    assert_listed(store, QUERY(.is_top_only = true, .order = STORE_BY_AGENT, .is_ascending = true),
                  "12");
    assert_listed(store, QUERY(0), "54321");
    assert_string_equal(list(store, QUERY(.parent = test_id(2).text)).last.parent, test_id(2).text);
    assert_string_equal(list(store, QUERY(.is_top_only = true)).last.parent, "");
    struct store_run_counts counts;
    const struct store_run_query top = {.is_top_only = true};
    assert_int_equal(store->ops->count_runs(store, &top, &counts, NULL), 0);
    assert_int_equal(counts.by_status[RONDO_RUNNING], 2);
}

CONTRACT_TEST(runs_are_found_by_part_of_the_agent_without_case)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store *store = contract->store;
    assert_listed(store, QUERY(.search = "ALPHA"), "431");
    assert_listed(store, QUERY(.search = "beta"), "52");
    assert_listed(store, QUERY(.search = "a-a"), "4");
    assert_listed(store, QUERY(.search = "%_"), "6");
    assert_listed(store, QUERY(.search = "_"), "6");
    assert_listed(store, QUERY(.search = "b_ta"), "");
    assert_listed(store, QUERY(.search = "'"), "");
    assert_listed(store, QUERY(.search = ""), "654321");
}

CONTRACT_TEST(runs_are_found_by_the_beginning_of_their_id_too)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store *store = contract->store;
    assert_listed(store, QUERY(.search = test_id(3).text), "3");
    assert_listed(store, QUERY(.search = "01900000-0000-7000"), "654321");
    assert_listed(store, QUERY(.search = "1900000-0000-7000"), "");
    char longer[ID_SIZE + 1];
    snprintf(longer, sizeof(longer), "%s0", test_id(3).text);
    assert_listed(store, QUERY(.search = longer), "");
    assert_listed(store, QUERY(.search = "01900000"), "654321");
    assert_listed(store, QUERY(.search = "0190000"), "");
}

CONTRACT_TEST(a_search_that_no_agent_is_long_enough_for_finds_nothing)
{
    struct store *store = ((struct contract *)*state)->store;
    char agent[LIMIT_AGENT_ID_LEN + 1];
    memset(agent, 'X', LIMIT_AGENT_ID_LEN);
    agent[LIMIT_AGENT_ID_LEN] = '\0';
    test_create(store, test_id(1).text, agent, false);
    char search[LIMIT_AGENT_ID_LEN + 2];
    memset(search, 'x', sizeof(search) - 1);
    search[sizeof(search) - 1] = '\0';
    assert_listed(store, QUERY(.search = search), "");
    struct store_run_counts counts = {.paused = 7};
    assert_int_equal(store->ops->count_runs(store, &QUERY(.search = search), &counts, NULL), 0);
    assert_int_equal(counts.paused, 0);
    search[LIMIT_AGENT_ID_LEN] = '\0';
    assert_listed(store, QUERY(.search = search), "1");
}

CONTRACT_TEST(runs_of_other_agents_are_left_out)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store *store = contract->store;
    static const char *const none[] = {NULL};
    static const char *const two[] = {"alpha", "100%_a", NULL};
    static const char *const odd[] = {"alph", "\"", "alpha,Beta", "Alpha", "\\", "", NULL};
    assert_listed(store, QUERY(.agents = none), "");
    assert_listed(store, QUERY(.agents = two), "631");
    assert_listed(store, QUERY(.agents = odd), "");
    assert_listed(store, QUERY(.agents = two, .agent_id = "alpha"), "31");
    assert_listed(store, QUERY(.agents = two, .agent_id = "beta"), "");
    assert_listed(store, QUERY(.agents = two, .id_prefix = test_id(5).text), "");
    assert_listed(store, QUERY(.agents = two, .search = "gamma"), "");
}

CONTRACT_TEST(filters_hold_together)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store_run_query query = QUERY(.id_prefix = "01900000", .search = "a",
                                         .statuses = BIT(RONDO_RUNNING), .agent_id = "alpha");
    for (unsigned order = 0; order < STORE_ORDER_COUNT; order++) {
        query.order = (enum store_run_order)order;
        assert_int_equal(list(contract->store, query).count, 2);
        query.id_prefix = test_id(3).text;
        assert_listed(contract->store, query, "3");
        query.id_prefix = "02";
        assert_listed(contract->store, query, "");
        query.id_prefix = "01900000";
    }
}

/** What each order gives, highest first; equal ones by their ids. */
static const char *const highest_first[STORE_ORDER_COUNT] = {
    [STORE_BY_CREATED] = "654321", [STORE_BY_UPDATED] = "351624",   [STORE_BY_AGENT] = "453126",
    [STORE_BY_STATUS] = "465231",  [STORE_BY_ITERATION] = "264153", [STORE_BY_TOKENS] = "321654",
    [STORE_BY_COST] = "453162",    [STORE_BY_WARNINGS] = "362541",
};

static void reverse(const char *text, char *ret_reversed)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        ret_reversed[i] = text[len - 1 - i];
    }
    ret_reversed[len] = '\0';
}

CONTRACT_TEST(runs_are_ordered_as_asked_for)
{
    struct contract *contract = *state;
    create_samples(contract);
    for (unsigned order = 0; order < STORE_ORDER_COUNT; order++) {
        struct store_run_query query = QUERY(.order = (enum store_run_order)order);
        assert_listed(contract->store, query, highest_first[order]);
        char lowest_first[SAMPLE_COUNT + 1];
        reverse(highest_first[order], lowest_first);
        query.is_ascending = true;
        assert_listed(contract->store, query, lowest_first);
    }
}

static struct store_run_place place_of(const struct store_run *run, enum store_run_order order)
{
    const int64_t numbers[STORE_ORDER_COUNT] = {
        [STORE_BY_CREATED] = run->created_ns,
        [STORE_BY_UPDATED] = run->updated_ns,
        [STORE_BY_STATUS] = run->summary.status,
        [STORE_BY_ITERATION] = (int64_t)run->summary.iteration,
        [STORE_BY_TOKENS] = run->summary.tokens,
        [STORE_BY_COST] = run->summary.cost_micro,
        [STORE_BY_WARNINGS] = run->summary.warnings,
    };
    struct store_run_place place = {.number = numbers[order]};
    snprintf(place.text, sizeof(place.text), "%s", run->agent_id);
    snprintf(place.id, sizeof(place.id), "%s", run->id);
    return place;
}

CONTRACT_TEST(pages_in_every_order_give_each_run_once)
{
    struct contract *contract = *state;
    create_samples(contract);
    for (unsigned i = 0; i < 2 * STORE_ORDER_COUNT; i++) {
        enum store_run_order order = (enum store_run_order)(i / 2);
        struct store_run_query query = QUERY(.order = order, .is_ascending = i % 2 == 1);
        struct digits whole = list(contract->store, query);
        char gathered[32] = "";
        struct store_run_place place;
        for (query.limit = 1; strlen(gathered) < SAMPLE_COUNT; query.limit++) {
            struct digits page = list(contract->store, query);
            assert_true(page.count > 0);
            memcpy(gathered + strlen(gathered), page.text, page.count + 1);
            place = place_of(&page.last, order);
            query.after = &place;
        }
        assert_string_equal(gathered, whole.text);
        assert_int_equal(list(contract->store, query).count, 0);
    }
}

CONTRACT_TEST(a_page_continues_where_a_run_was_deleted)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store *store = contract->store;
    struct store_run gone = test_get(store, test_id(4).text);
    struct store_batch batch = test_batch(gone.id, 1, 1, NULL, 0);
    batch.summary = gone.summary;
    batch.lease_ns = 0;
    test_commit(store, &batch);
    struct store_run last = test_get(store, gone.id);
    /* Nobody else has ended and is held by nobody. */
    struct store_gc_request request = {.ended_before_ns = INT64_MAX};
    struct store_gc_result result;
    assert_int_equal(store->ops->gc(store, &request, &result, NULL), 0);
    assert_int_equal(result.runs, 1);
    for (unsigned i = 0; i < 2 * STORE_ORDER_COUNT; i++) {
        enum store_run_order order = (enum store_run_order)(i / 2);
        bool is_ascending = i % 2 == 1;
        struct store_run_place place = place_of(&last, order);
        /* Since its last commit this run was the newest one. */
        const char *descending = order == STORE_BY_UPDATED ? "435162" : highest_first[order];
        char expected[SAMPLE_COUNT + 1];
        snprintf(expected, sizeof(expected), "%s", descending);
        if (is_ascending) {
            reverse(descending, expected);
        }
        assert_listed(store, QUERY(.order = order, .is_ascending = is_ascending, .after = &place),
                      strchr(expected, '4') + 1);
    }
}

static struct store_run_counts count(struct store *store, struct store_run_query query)
{
    struct store_run_counts counts = {.paused = 99};
    assert_int_equal(store->ops->count_runs(store, &query, &counts, NULL), 0);
    return counts;
}

CONTRACT_TEST(runs_are_counted_by_status)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store_run_counts counts = count(contract->store, QUERY(.limit = 1));
    assert_int_equal(counts.by_status[RONDO_RUNNING], 2);
    assert_int_equal(counts.by_status[RONDO_COMPLETED], 2);
    assert_int_equal(counts.by_status[RONDO_ERROR], 1);
    assert_int_equal(counts.by_status[RONDO_FAILED], 1);
    assert_int_equal(counts.by_status[RONDO_TIMEOUT], 0);
    assert_int_equal(counts.paused, 1);
}

CONTRACT_TEST(counting_knows_the_filters_of_lists_but_not_their_pages)
{
    struct contract *contract = *state;
    create_samples(contract);
    struct store *store = contract->store;
    struct store_run run = test_get(store, test_id(1).text);
    struct store_run_place place = place_of(&run, STORE_BY_CREATED);
    static const char *const agents[] = {"alpha", "beta", NULL};
    struct store_run_counts counts = count(store, QUERY(.agents = agents, .after = &place));
    assert_int_equal(counts.by_status[RONDO_RUNNING], 2);
    assert_int_equal(counts.by_status[RONDO_COMPLETED], 1);
    assert_int_equal(counts.by_status[RONDO_ERROR], 0);
    counts = count(store, QUERY(.search = "BETA", .statuses = BIT(RONDO_COMPLETED)));
    assert_int_equal(counts.by_status[RONDO_COMPLETED], 2);
    counts = count(store, QUERY(.id_prefix = test_id(3).text, .only_running = true));
    assert_int_equal(counts.by_status[RONDO_RUNNING], 1);
    assert_int_equal(counts.paused, 1);
    counts = count(store, QUERY(.agent_id = "gamma-alpha"));
    assert_int_equal(counts.by_status[RONDO_ERROR], 1);
    assert_int_equal(counts.by_status[RONDO_RUNNING], 0);
    assert_int_equal(counts.paused, 0);
}

CONTRACT_TEST(a_run_that_a_search_finds_twice_is_counted_once)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, test_id(1).text, "01900000", false);
    test_create(store, test_id(2).text, "beta", false);
    create_child(store, 3, 2);
    assert_int_equal(count(store, QUERY(.search = "01900000")).by_status[RONDO_RUNNING], 3);
    assert_int_equal(count(store, QUERY(.search = "0190")).by_status[RONDO_RUNNING], 1);
    assert_int_equal(
        count(store, QUERY(.search = "01900000", .is_top_only = true)).by_status[RONDO_RUNNING], 2);
    assert_int_equal(
        count(store, QUERY(.search = "01900000", .agent_id = "beta")).by_status[RONDO_RUNNING], 1);
    assert_int_equal(
        count(store, QUERY(.search = "01900000", .id_prefix = "0190")).by_status[RONDO_RUNNING], 3);
    assert_int_equal(
        count(store, QUERY(.search = "0190", .parent = test_id(2).text)).by_status[RONDO_RUNNING],
        0);
    assert_listed(store, QUERY(.search = "01900000"), "321");
    assert_listed(store, QUERY(.search = "0190"), "1");
}

CONTRACT_TEST(an_empty_store_counts_nothing)
{
    struct store *store = ((struct contract *)*state)->store;
    static const struct store_run_counts none;
    struct store_run_counts counts = count(store, QUERY(.limit = 0));
    assert_memory_equal(&counts, &none, sizeof(counts));
}
