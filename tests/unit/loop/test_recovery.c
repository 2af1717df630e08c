// SPDX-License-Identifier: Apache-2.0
/* Failing stores, crashes, resumes, damaged checkpoints. */
#include "fixture.h"

static struct loop_spec spec_of(int64_t durability, int64_t interval, unsigned conditions)
{
    struct loop_spec spec = fixture_spec(conditions);
    spec.durability = durability;
    spec.checkpoint_interval = interval;
    spec.max_iterations = 50;
    return spec;
}

static void set_state(struct loop *loop, const char *text)
{
    assert_int_equal(loop_set_agent_state(loop, text, strlen(text), NULL), 0);
}

static void keep_id(const struct loop *loop, char *ret_id)
{
    memcpy(ret_id, loop_run_id(loop), ID_SIZE);
}

/* ---- Failing stores ---- */

FIXTURE_TEST(a_short_failure_is_retried_with_growing_pauses)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    fixture_iterate(loop, 1);
    int64_t before_ns = fixture->now_ns;
    fixture_fail(fixture, "commit", 3, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture_iterate(loop, 1);
    int64_t waited_ns = fixture->now_ns - before_ns;
    assert_true(waited_ns >= 140 * NS_PER_MS); /* 20 + 40 + 80 */
    assert_true(waited_ns < 280 * NS_PER_MS);  /* and as much jitter at most */
    assert_int_equal(loop_storage_failures(loop), 3);
    assert_false(loop_is_degraded(loop));
    loop_free(loop);
}

FIXTURE_TEST(a_lost_answer_commits_nothing_twice)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 1));
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "commit", 2, RONDO_ERR_FULL, STORE_FAULT_AFTER);
    fixture_iterate(loop, 1);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "iteration.finished", NULL), 1);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "iteration.started", NULL), 2);
    loop_free(loop);
}

FIXTURE_TEST(a_strict_run_ends_with_error_when_the_store_comes_back_in_time)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 9, 0));
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "commit", 7, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_ERROR);
    const char *run_id = loop_run_id(loop);
    assert_int_equal(fixture_events(fixture, run_id, "checkpoint.saved", "\"final\""), 1);
    assert_int_equal(fixture_events(fixture, run_id, "run.finished", "planned failure"), 1);
    loop_free(loop);
}

FIXTURE_TEST(a_strict_run_is_broken_when_it_does_not)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture_iterate(loop, 2);
    fixture_fail(fixture, "", 1000, RONDO_ERR_FULL, STORE_FAULT_BEFORE);
    struct rondo_error err;
    assert_int_equal(loop_next(loop, &err), RONDO_ERR_FULL);
    assert_int_not_equal(loop_state(loop)->phase, PHASE_ENDED);
    fixture->failures = 0;
    assert_int_equal(loop_next(loop, &err), RONDO_ERR_FULL);
    assert_int_equal(loop_save_checkpoint(loop, NULL, &err), RONDO_ERR_FULL);
    loop_free(loop);
    struct loop_opening opening;
    runtime_tick(fixture->runtime); /* the keeper gives it back */
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_false(opening.is_held);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 2);
    assert_int_equal(loop_state(loop)->attempt, 2);
    loop_free(loop);
}

FIXTURE_TEST(best_effort_continues_and_reports_afterwards)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_BEST_EFFORT, 1, 1));
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "commit", 1000, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture_iterate(loop, 3);
    assert_true(loop_is_degraded(loop));
    assert_int_equal(loop_save_checkpoint(loop, NULL, NULL), RONDO_ERR_IO);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "iteration.finished", NULL), 0);
    fixture->failures = 0;
    fixture_iterate(loop, 1);
    assert_false(loop_is_degraded(loop));
    const char *run_id = loop_run_id(loop);
    assert_int_equal(fixture_events(fixture, run_id, "iteration.finished", NULL), 4);
    assert_int_equal(fixture_events(fixture, run_id, "storage.degraded", "planned failure"), 1);
    fixture_iterate(loop, 1);
    assert_true(fixture_events(fixture, run_id, "checkpoint.saved", NULL) > 0);
    loop_free(loop);
}

FIXTURE_TEST(best_effort_that_ends_while_the_store_fails_is_broken)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = spec_of(DURABILITY_BEST_EFFORT, 1, 0);
    spec.max_iterations = 2;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "commit", 1000, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_next(loop, NULL), RONDO_ERR_IO);
    assert_int_not_equal(loop_state(loop)->phase, PHASE_ENDED);
    loop_free(loop);
}

FIXTURE_TEST(a_store_that_recovers_for_the_end_hears_of_the_failure_first)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = spec_of(DURABILITY_BEST_EFFORT, 1, 0);
    spec.max_iterations = 1;
    struct loop *loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "commit", 0, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    loop_stop(loop, CANCEL_GRACEFUL);
    fixture->failures = 14; /* the boundary's seven and the seven before the end */
    assert_int_equal(loop_note(loop, "x", NULL, NULL), 0);
    assert_int_equal(loop_save_checkpoint(loop, NULL, NULL), RONDO_ERR_IO);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "storage.degraded", NULL), 1);
    loop_free(loop);
}

FIXTURE_TEST(a_release_is_not_lost_after_an_unclear_commit)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 1));
    fixture_fail(fixture, "commit", 7, RONDO_ERR_IO, STORE_FAULT_AFTER);
    const struct verify_result *result = NULL;
    assert_int_equal(loop_evaluate(loop, "a", &result, NULL), RONDO_ERR_IO);
    assert_int_equal(loop_park(loop, NULL), 0);
    struct store_run run;
    fixture->memory->ops->get_run(fixture->memory, loop_run_id(loop), &run, NULL);
    assert_string_equal(run.owner, "");
    loop_free(loop);
}

FIXTURE_TEST(a_checkpoint_on_demand_is_not_an_older_one_that_waited)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_BEST_EFFORT, 1, 0));
    fixture_iterate(loop, 1);
    fixture_fail(fixture, "commit", 7, RONDO_ERR_IO, STORE_FAULT_AFTER);
    fixture_iterate(loop, 1); /* its checkpoint went through, and nobody knows */
    assert_true(loop_is_degraded(loop));
    set_state(loop, "new");
    assert_int_equal(loop_save_checkpoint(loop, NULL, NULL), 0);
    struct checkpoint checkpoint = {0};
    assert_int_equal(checkpoint_load(fixture->memory, loop_run_id(loop), 0, &checkpoint, NULL), 0);
    assert_string_equal(buf_string(&checkpoint.agent_state), "new");
    checkpoint_fini(&checkpoint);
    loop_free(loop);
}

FIXTURE_TEST(mail_that_cannot_be_read_ends_nothing)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    fixture_iterate(loop, 1);
    fixture->memory->ops->post(fixture->memory, loop_run_id(loop), "stop", "{}", NULL);
    fixture_fail(fixture, "read_mail", 1, RONDO_ERR_IO, STORE_FAULT_BEFORE);
    fixture_iterate(loop, 1);
    int r = loop_next(loop, NULL);
    assert_int_equal(r, LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_CANCELLED);
    loop_free(loop);
}

FIXTURE_TEST(a_start_whose_answer_was_lost_starts)
{
    struct loop_fixture *fixture = *state;
    fixture_fail(fixture, "create_run", 1, RONDO_ERR_IO, STORE_FAULT_AFTER);
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    fixture_iterate(loop, 2);
    loop_free(loop);
}

FIXTURE_TEST(a_claim_whose_answer_was_lost_is_recognised)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture_iterate(loop, 1);
    fixture_crash(fixture, loop);
    fixture_fail(fixture, "claim_run", 1, RONDO_ERR_IO, STORE_FAULT_AFTER);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_false(opening.is_held);
    loop_free(loop);
}

/* ---- Resuming ---- */

FIXTURE_TEST(a_resume_continues_with_the_state_of_the_last_finished_iteration)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 3, 0));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    for (int i = 1; i <= 5; i++) {
        char text[16];
        snprintf(text, sizeof(text), "state %d", i);
        fixture_iterate(loop, 1);
        set_state(loop, text);
        struct loop_body_result result = {.tokens = 7};
        loop_report(loop, &result);
    }
    fixture_iterate(loop, 1); /* iteration 6 is in flight */
    fixture_crash(fixture, loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_string_equal(opening.how, "takeover");
    assert_int_equal(opening.from_checkpoint, 1);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 5");
    assert_int_equal(loop_state(loop)->finished, 5);
    assert_int_equal(loop_state(loop)->tokens, 35);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 6);
    assert_int_equal(loop_state(loop)->attempt, 2);
    assert_int_equal(fixture_events(fixture, run_id, "iteration.interrupted", NULL), 1);
    loop_free(loop);
}

FIXTURE_TEST(a_body_that_is_cut_off_leaves_no_state)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture_iterate(loop, 1);
    set_state(loop, "state 1");
    fixture_iterate(loop, 1);
    set_state(loop, "half of state 2");
    struct loop_body_result cut_off = {.outcome = LOOP_INTERRUPTED};
    loop_report(loop, &cut_off);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->attempt, 2);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 1");
    set_state(loop, "other half of state 2");
    assert_int_equal(loop_park(loop, NULL), 0);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 1");
    loop_free(loop);
}

FIXTURE_TEST(a_state_that_a_body_saved_on_demand_stays_when_it_is_cut_off)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    fixture_iterate(loop, 1);
    set_state(loop, "saved");
    assert_int_equal(loop_save_checkpoint(loop, NULL, NULL), 0);
    set_state(loop, "not saved");
    struct loop_body_result cut_off = {.outcome = LOOP_INTERRUPTED};
    loop_report(loop, &cut_off);
    fixture_iterate(loop, 1);
    assert_string_equal(buf_string(loop_agent_state(loop)), "saved");
    loop_free(loop);
}

/** What a body reports is copied: the caller may free it before the next turn. */
FIXTURE_TEST(custom_data_may_be_freed_after_the_report)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    const char *run_id = loop_run_id(loop);
    fixture_iterate(loop, 1);
    struct loop_body_result *result = memory_new_zero(1, sizeof(*result));
    char *custom_data = memory_dup_string("{\"found\":7}");
    result->custom_data = custom_data;
    loop_report(loop, result);
    free(custom_data);
    free(result);
    fixture_iterate(loop, 1);
    assert_int_equal(fixture_events(fixture, run_id, "iteration.finished", "{\"found\":7}"), 1);
    fixture_iterate(loop, 1);
    assert_int_equal(fixture_events(fixture, run_id, "iteration.finished", "custom_data"), 1);
    loop_free(loop);
}

FIXTURE_TEST(custom_data_of_the_tail_is_kept)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 9, 0));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture_iterate(loop, 1);
    struct loop_body_result result = {.custom_data = "{\"found\":3}"};
    loop_report(loop, &result);
    fixture_iterate(loop, 1);
    fixture_crash(fixture, loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_string_equal(loop_custom_data(loop), "{\"found\":3}");
    loop_free(loop);
}

FIXTURE_TEST(the_feedback_is_the_same_after_a_resume)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 3));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture->met = 2;
    fixture_iterate(loop, 3);
    char *before = memory_dup_string(loop_feedback(loop));
    fixture_crash(fixture, loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_string_equal(loop_feedback(loop), before);
    free(before);
    loop_free(loop);
}

FIXTURE_TEST(a_living_owner_is_in_the_way)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    fixture_iterate(loop, 1);
    struct loop_parts parts = fixture_parts(fixture);
    parts.runtime = fixture->other;
    struct loop *second = NULL;
    struct loop_opening opening;
    assert_int_equal(
        loop_resume(&parts, loop_run_id(loop), NULL, NULL, -1, &second, &opening, NULL), 0);
    assert_true(opening.is_held);
    assert_null(second);
    loop_free(loop);
}

FIXTURE_TEST(a_frozen_owner_that_wakes_is_refused)
{
    struct loop_fixture *fixture = *state;
    struct loop *frozen = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    char run_id[ID_SIZE];
    keep_id(frozen, run_id);
    fixture_iterate(frozen, 1);
    fixture->now_ns += 11 * NS_PER_S;
    struct loop_parts parts = fixture_parts(fixture);
    parts.runtime = fixture->other;
    struct loop *second = NULL;
    struct loop_opening opening;
    assert_int_equal(loop_resume(&parts, run_id, NULL, NULL, -1, &second, &opening, NULL), 0);
    fixture_iterate(second, 2);
    struct rondo_error err;
    assert_int_equal(loop_next(frozen, &err), RONDO_ERR_FENCED);
    assert_non_null(strstr(err.message, "taken over"));
    assert_int_equal(loop_save_checkpoint(frozen, NULL, NULL), RONDO_ERR_FENCED);
    loop_free(frozen);
    runtime_tick(fixture->runtime);
    fixture_iterate(second, 1);
    loop_free(second);
}

/** A store after whose next commit the process is frozen until another one has the run. */
static struct freezing {
    struct store_ops ops;
    const struct store_ops *inner;
    struct loop_fixture *fixture;
    char run_id[ID_SIZE];
    bool is_taken_over; /* else the lease only ends */
    bool is_due;
    int commits;
    struct loop *heir;
} freezing;

static int commit_and_freeze(struct store *store, const struct store_batch *const *batches,
                             size_t count, struct store_commit_result *ret_results,
                             struct rondo_error *err)
{
    int r = freezing.inner->commit(store, batches, count, ret_results, err);
    freezing.commits++;
    if (freezing.is_due) {
        freezing.is_due = false;
        freezing.fixture->now_ns += 10 * NS_PER_S; /* the lease */
        struct loop_parts parts = fixture_parts(freezing.fixture);
        parts.runtime = freezing.fixture->other;
        struct loop_opening opening;
        if (freezing.is_taken_over) {
            assert_int_equal(loop_resume(&parts, freezing.run_id, NULL, NULL, -1, &freezing.heir,
                                         &opening, NULL),
                             0);
            assert_false(opening.is_held);
        }
    }
    return r;
}

/** A loop in its first body, whose next commit is one to freeze in. */
static struct loop *begin_freezing(struct loop_fixture *fixture, bool is_taken_over)
{
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    fixture_iterate(loop, 1);
    freezing = (struct freezing){.ops = *fixture->store->ops,
                                 .inner = fixture->store->ops,
                                 .fixture = fixture,
                                 .is_taken_over = is_taken_over,
                                 .is_due = true};
    keep_id(loop, freezing.run_id);
    freezing.ops.commit = commit_and_freeze;
    fixture->store->ops = &freezing.ops;
    return loop;
}

FIXTURE_TEST(whoever_lost_the_run_in_a_commit_begins_no_body)
{
    struct loop_fixture *fixture = *state;
    struct loop *frozen = begin_freezing(fixture, true);
    assert_int_equal(loop_next(frozen, NULL), RONDO_ERR_FENCED);
    assert_int_equal(
        fixture_events(fixture, freezing.run_id, "iteration.started", "\"iteration\":2"), 1);
    fixture_iterate(freezing.heir, 1);
    assert_int_equal(loop_state(freezing.heir)->iteration, 2);
    assert_int_equal(loop_state(freezing.heir)->attempt, 2);
    loop_free(frozen);
    loop_free(freezing.heir);
    fixture->store->ops = freezing.inner;
}

FIXTURE_TEST(a_lease_that_ended_in_a_commit_is_renewed_once)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = begin_freezing(fixture, false);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(freezing.commits, 2);
    assert_int_equal(loop_next(loop, NULL), LOOP_BODY);
    assert_int_equal(freezing.commits, 3);
    loop_free(loop);
    fixture->store->ops = freezing.inner;
}

static void raise_limit(struct loop_spec *spec, void *context)
{
    spec->max_iterations = *(const int64_t *)context;
}

static int resume_with_limit(struct loop_fixture *fixture, const char *run_id, int64_t limit,
                             struct loop **ret_loop, struct loop_opening *ret_opening)
{
    struct loop_parts parts = fixture_parts(fixture);
    return loop_resume(&parts, run_id, raise_limit, &limit, -1, ret_loop, ret_opening, NULL);
}

FIXTURE_TEST(a_raised_limit_reopens_and_is_recorded)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = 2;
    struct loop *loop = fixture_start(fixture, spec);
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture_iterate(loop, 2);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(resume_with_limit(fixture, run_id, -1, &loop, &opening), RONDO_ERR_INVALID);
    assert_int_equal(resume_with_limit(fixture, run_id, 3, &loop, &opening), 0);
    assert_string_equal(opening.how, "reopen");
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 3);
    fixture_crash(fixture, loop);
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(loop_spec(loop)->max_iterations, 3);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    loop_free(loop);
    assert_int_equal(fixture_events(fixture, run_id, "run.options", NULL), 1);
}

FIXTURE_TEST(a_completed_run_is_not_resumed)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 1));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture->met = 1;
    fixture_iterate(loop, 1);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), RONDO_ERR_STATE);
}

FIXTURE_TEST(a_cancelled_run_verifies_what_was_not_verified)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 1));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture->met = 1;
    fixture_iterate(loop, 1);
    loop_stop(loop, CANCEL_GRACEFUL);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_CANCELLED);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_COMPLETED);
    loop_free(loop);
}

FIXTURE_TEST(a_parked_run_can_be_resumed_at_once)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    char run_id[ID_SIZE];
    keep_id(loop, run_id);
    fixture_iterate(loop, 2);
    assert_int_equal(loop_park(loop, NULL), 0);
    assert_int_equal(loop_park(loop, NULL), RONDO_ERR_STATE);
    loop_free(loop);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_string_equal(opening.how, "resume");
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 2);
    loop_free(loop);
}

FIXTURE_TEST(a_run_of_nobody_is_not_found)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = NULL;
    struct loop_opening opening;
    assert_int_equal(
        fixture_resume(fixture, "018bcfe5-6800-7000-8000-000000000000", -1, &loop, &opening),
        RONDO_ERR_NOT_FOUND);
}

/* ---- Damaged checkpoints ---- */

/** A store whose newest checkpoint is damaged when it is read. */
struct damaging_store {
    struct store base;
    struct store_ops ops;
    struct store *inner;
    store_checkpoint_fn *fn;
    void *context;
    uint64_t from;   /* checkpoints from this one on are damaged; 0 = none */
    bool is_interim; /* the interim is */
};

static bool damage(const struct store_checkpoint *checkpoint, void *context)
{
    struct damaging_store *damaging = context;
    struct store_checkpoint damaged = *checkpoint;
    bool is_interim = checkpoint->number == 0;
    damaged.sha256[0] ^= is_interim ? damaging->is_interim
                                    : damaging->from > 0 && checkpoint->number >= damaging->from;
    return damaging->fn(&damaged, damaging->context);
}

static struct damaging_store *present; /* the store that get_checkpoint of this test file asks */

static int get_damaged(struct store *store, const char *run_id, uint64_t number,
                       store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    (void)store;
    present->fn = fn;
    present->context = context;
    return present->inner->ops->get_checkpoint(present->inner, run_id, number, damage, present,
                                               err);
}

static void damage_store(struct loop_fixture *fixture, struct damaging_store *damaging)
{
    damaging->ops = *fixture->store->ops;
    damaging->ops.get_checkpoint = get_damaged;
    fixture->store->ops = &damaging->ops;
    present = damaging;
}

/** Three iterations with a checkpoint each, then a crash; checkpoints from `from` on are damaged.
 */
static void damage_from(struct loop_fixture *fixture, struct damaging_store *damaging,
                        uint64_t from, char *ret_id)
{
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 1, 0));
    keep_id(loop, ret_id);
    for (int i = 1; i <= 3; i++) {
        char text[16];
        snprintf(text, sizeof(text), "state %d", i);
        fixture_iterate(loop, 1);
        set_state(loop, text);
    }
    fixture_iterate(loop, 1);
    fixture_crash(fixture, loop);
    *damaging = (struct damaging_store){.inner = fixture->memory, .from = from};
    damage_store(fixture, damaging);
}

FIXTURE_TEST(a_damaged_interim_is_told_and_the_checkpoint_before_it_used)
{
    struct loop_fixture *fixture = *state;
    const struct store_ops *ops = fixture->store->ops;
    struct damaging_store damaging;
    char run_id[ID_SIZE];
    struct loop *loop = fixture_start(fixture, spec_of(DURABILITY_STRICT, 2, 0));
    keep_id(loop, run_id);
    for (int i = 1; i <= 3; i++) {
        char text[16];
        snprintf(text, sizeof(text), "state %d", i);
        fixture_iterate(loop, 1);
        set_state(loop, text);
    }
    fixture_iterate(loop, 1);
    fixture_crash(fixture, loop);
    damaging = (struct damaging_store){.inner = fixture->memory, .is_interim = true};
    damage_store(fixture, &damaging);
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, ON_CORRUPT_FAIL, &loop, &opening),
                     RONDO_ERR_CORRUPT);
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(opening.corrupt_count, 1);
    assert_int_equal(opening.from_checkpoint, 1);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 2");
    assert_int_equal(loop_state(loop)->finished, 3);
    fixture_iterate(loop, 1);
    assert_true(fixture_events(fixture, run_id, "checkpoint.corrupt", "interim checkpoint") > 0);
    loop_free(loop);
    fixture->store->ops = ops;
}

static void restore(struct loop_fixture *fixture, const struct store_ops *ops)
{
    fixture->store->ops = ops;
}

FIXTURE_TEST(previous_uses_the_newest_that_is_intact)
{
    struct loop_fixture *fixture = *state;
    const struct store_ops *ops = fixture->store->ops;
    struct damaging_store damaging;
    char run_id[ID_SIZE];
    damage_from(fixture, &damaging, 2, run_id);
    struct loop *loop = NULL;
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(opening.corrupt_count, 2);
    assert_int_equal(opening.from_checkpoint, 1);
    assert_string_equal(buf_string(loop_agent_state(loop)), "state 1");
    assert_int_equal(loop_state(loop)->finished, 3);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 4);
    assert_int_equal(fixture_events(fixture, run_id, "checkpoint.corrupt", NULL), 2);
    loop_free(loop);
    restore(fixture, ops);
}

FIXTURE_TEST(without_any_intact_one_the_journal_alone_is_used)
{
    struct loop_fixture *fixture = *state;
    const struct store_ops *ops = fixture->store->ops;
    struct damaging_store damaging;
    char run_id[ID_SIZE];
    damage_from(fixture, &damaging, 1, run_id);
    struct loop *loop = NULL;
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, -1, &loop, &opening), 0);
    assert_int_equal(opening.from_checkpoint, 0);
    assert_string_equal(buf_string(loop_agent_state(loop)), "");
    assert_int_equal(loop_state(loop)->finished, 3);
    fixture_iterate(loop, 1);
    loop_free(loop);
    restore(fixture, ops);
}

FIXTURE_TEST(fresh_forgets_the_agents_state_and_keeps_the_count)
{
    struct loop_fixture *fixture = *state;
    const struct store_ops *ops = fixture->store->ops;
    struct damaging_store damaging;
    char run_id[ID_SIZE];
    damage_from(fixture, &damaging, 3, run_id);
    struct loop *loop = NULL;
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, ON_CORRUPT_FRESH, &loop, &opening), 0);
    assert_int_equal(opening.from_checkpoint, 0);
    assert_string_equal(buf_string(loop_agent_state(loop)), "");
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 4);
    loop_free(loop);
    restore(fixture, ops);
}

FIXTURE_TEST(fail_refuses_and_leaves_the_run_to_others)
{
    struct loop_fixture *fixture = *state;
    const struct store_ops *ops = fixture->store->ops;
    struct damaging_store damaging;
    char run_id[ID_SIZE];
    damage_from(fixture, &damaging, 3, run_id);
    struct loop *loop = NULL;
    struct loop_opening opening;
    assert_int_equal(fixture_resume(fixture, run_id, ON_CORRUPT_FAIL, &loop, &opening),
                     RONDO_ERR_CORRUPT);
    assert_int_equal(fixture_events(fixture, run_id, "checkpoint.corrupt", "\"number\":3"), 1);
    assert_int_equal(fixture_resume(fixture, run_id, ON_CORRUPT_PREVIOUS, &loop, &opening), 0);
    assert_false(opening.is_held);
    loop_free(loop);
    restore(fixture, ops);
}
