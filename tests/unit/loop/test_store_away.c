// SPDX-License-Identifier: Apache-2.0
/* A store in a database that is away for a while. */
#include "fixture.h"

/** What people were told. */
struct store_news {
    unsigned away;
    unsigned back;
    char problem[128];
};

static void note(void *context, const char *problem)
{
    struct store_news *news = context;
    if (problem == NULL) {
        news->back++;
    } else {
        news->away++;
        snprintf(news->problem, sizeof(news->problem), "%s", problem);
    }
}

/** Start a loop of another runtime, which becomes the fixture's, and let one iteration pass. */
static struct loop *start_with(struct loop_fixture *fixture, const struct runtime_options *options)
{
    runtime_free(fixture->runtime);
    assert_int_equal(runtime_new(options, &fixture->runtime, NULL), 0);
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    return loop;
}

/** The same, with the fixture's store as one in a database. */
static struct loop *start(struct loop_fixture *fixture, struct store_news *news)
{
    const struct runtime_options options = {
        .store = fixture->store,
        .clock = &fixture->clock,
        .random = &fixture->random,
        .lease_ns = 10 * NS_PER_S,
        .has_no_keeper = true,
        .is_store_remote = true,
        .store_away = note,
        .store_away_context = news,
    };
    return start_with(fixture, &options);
}

/** The store is away, and the loop ends for that. @return how long it has waited */
static int64_t wait_in_vain(struct loop_fixture *fixture, struct loop *loop)
{
    int64_t before_ns = fixture->now_ns;
    fixture_fail(fixture, "", 1000000, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    assert_int_equal(loop_next(loop, NULL), RONDO_ERR_IO);
    fixture->failures = 0;
    return fixture->now_ns - before_ns;
}

/** People were told once that the store is away, and once that it is back. */
static void expect_both_told(const struct store_news *news)
{
    assert_int_equal(news->away, 1);
    assert_int_equal(news->back, 1);
}

/** Answers no renewal until the test sets `failures`. */
static enum store_fault hang(void *context, const char *operation, uint64_t call, int *ret_code)
{
    struct loop_fixture *fixture = context;
    (void)call;
    while (strcmp(operation, "renew_leases") == 0 &&
           __atomic_load_n(&fixture->failures, __ATOMIC_RELAXED) == 0) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
    *ret_code = RONDO_ERR_IO;
    return STORE_FAULT_NONE;
}

FIXTURE_TEST(the_next_effect_waits_until_the_store_is_back)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    int64_t before_ns = fixture->now_ns;
    fixture_fail(fixture, "commit", 60, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture_iterate(loop, 1);
    assert_true(fixture->now_ns - before_ns > 30 * NS_PER_S);
    assert_int_equal(fixture->failures, 0);
    expect_both_told(&news);
    assert_non_null(strstr(news.problem, "planned failure"));
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "iteration.finished", NULL), 1);
    loop_free(loop);
}

FIXTURE_TEST(it_does_not_wait_for_ever)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    assert_true(wait_in_vain(fixture, loop) >= RUNTIME_STORE_PATIENCE_NS);
    loop_free(loop);
}

FIXTURE_TEST(a_stop_ends_the_wait)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    cancel_set(loop_cancel(loop), CANCEL_GRACEFUL);
    assert_true(wait_in_vain(fixture, loop) < 60 * NS_PER_S);
    assert_int_equal(news.away, 0);
    loop_free(loop);
}

FIXTURE_TEST(a_run_that_was_taken_over_meanwhile_is_refused)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    fixture->now_ns += 11 * NS_PER_S;
    const struct store_claim claim = {.owner = "another machine", .lease_ns = NS_PER_S};
    struct store_claim_result result = {0};
    assert_int_equal(
        fixture->memory->ops->claim_run(fixture->memory, loop_run_id(loop), &claim, &result, NULL),
        0);
    assert_int_equal(result.outcome, STORE_CLAIMED);
    fixture_fail(fixture, "commit", 60, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    assert_int_equal(loop_next(loop, NULL), RONDO_ERR_FENCED);
    expect_both_told(&news);
    loop_free(loop);
}

FIXTURE_TEST(a_body_is_ended_before_its_lease_is_over)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    fixture_fail(fixture, "renew_leases", 1000, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture->now_ns += 8 * NS_PER_S;
    runtime_tick(fixture->runtime);
    assert_false(cancel_is_set(loop_cancel(loop)));
    fixture->now_ns += NS_PER_S + 1;
    runtime_tick(fixture->runtime);
    assert_int_equal(cancel_level(loop_cancel(loop)), CANCEL_NOW);
    fixture->failures = 0;
    loop_free(loop);
}

/** The body of a run that nobody has taken over is begun again; the run is not stopped. */
FIXTURE_TEST(a_body_that_was_ended_with_its_lease_is_begun_again)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    fixture_fail(fixture, "renew_leases", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture->now_ns += 10 * NS_PER_S;
    runtime_tick(fixture->runtime);
    assert_true(cancel_is_set(loop_cancel(loop)));
    loop_report(loop, &(struct loop_body_result){.outcome = LOOP_INTERRUPTED});
    fixture_fail(fixture, "commit", 60, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    expect_both_told(&news);
    assert_int_equal(loop_state(loop)->attempt, 2);
    assert_false(cancel_is_set(loop_cancel(loop)));
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "run.stop_requested", NULL), 0);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "iteration.interrupted", NULL), 1);
    loop_free(loop);
}

/** What does not wait for its store does so when another machine may have the run. */
FIXTURE_TEST(a_best_effort_run_waits_once_its_lease_is_over)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    loop_free(start(fixture, &news));
    struct loop_spec spec = fixture_spec(0);
    spec.durability = DURABILITY_BEST_EFFORT;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "renew_leases", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture->now_ns += 10 * NS_PER_S;
    runtime_tick(fixture->runtime);
    loop_report(loop, &(struct loop_body_result){.outcome = LOOP_INTERRUPTED});
    fixture_fail(fixture, "commit", 60, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(fixture->failures, 0);
    assert_false(loop_is_degraded(loop));
    loop_free(loop);
}

FIXTURE_TEST(a_stop_counts_after_a_body_was_ended_with_its_lease)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    fixture_fail(fixture, "renew_leases", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture->now_ns += 10 * NS_PER_S;
    runtime_tick(fixture->runtime);
    loop_stop(loop, CANCEL_GRACEFUL);
    loop_report(loop, &(struct loop_body_result){.outcome = LOOP_INTERRUPTED});
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_CANCELLED);
    loop_free(loop);
}

/** What is committed meanwhile begins the lease anew, whatever becomes of renewals. */
FIXTURE_TEST(a_body_is_not_ended_while_commits_renew_its_lease)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    fixture_fail(fixture, "renew_leases", 1000, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture->now_ns += 8 * NS_PER_S;
    fixture_iterate(loop, 1);
    fixture->now_ns += 8 * NS_PER_S;
    runtime_tick(fixture->runtime);
    assert_false(cancel_is_set(loop_cancel(loop)));
    fixture->failures = 0;
    loop_free(loop);
}

/** With the real clock and threads: the keeper's question is never answered. */
FIXTURE_TEST(a_body_is_ended_though_the_keeper_hangs)
{
    struct loop_fixture *fixture = *state;
    struct store *memory = store_memory_new(NULL);
    const struct store_fault_plan plan = {.decide = hang, .context = fixture};
    struct store *store = store_fault_new(memory, &plan);
    const struct runtime_options options = {
        .store = store, .lease_ns = RUNTIME_MIN_LEASE_NS, .is_store_remote = true};
    struct loop *loop = start_with(fixture, &options);
    assert_true(cancel_wait(loop_cancel(loop), 600 * NS_PER_S));
    assert_int_equal(cancel_level(loop_cancel(loop)), CANCEL_NOW);
    __atomic_store_n(&fixture->failures, 1, __ATOMIC_RELAXED); /* The keeper continues. */
    loop_free(loop);
    runtime_free(fixture->runtime);
    fixture->runtime = NULL;
    store_close(store);
    store_close(memory);
}

FIXTURE_TEST(a_commit_that_waits_is_not_ended_with_its_lease)
{
    struct loop_fixture *fixture = *state;
    struct store_news news = {0};
    struct loop *loop = start(fixture, &news);
    fixture_fail(fixture, "renew_leases", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    runtime_note_waiting(fixture->runtime, loop_run_id(loop), "away");
    fixture->now_ns += 10 * NS_PER_S;
    runtime_tick(fixture->runtime);
    assert_false(cancel_is_set(loop_cancel(loop)));
    runtime_note_waiting(fixture->runtime, loop_run_id(loop), NULL);
    expect_both_told(&news);
    fixture_iterate(loop, 1);
    loop_free(loop);
}
