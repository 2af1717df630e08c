// SPDX-License-Identifier: Apache-2.0
/* The life of a loop through the public API, over a real store. */
#include "scratch.h"

SCRATCH_TEST(a_loop_without_conditions_ends_at_its_limit_with_details)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
        assert_int_equal(rondo_loop_iteration(loop), i);
    }
    assert_int_equal(rondo_loop_next(loop), RONDO_POLICY_VIOLATED);
    struct rondo_violation violation;
    assert_true(rondo_loop_violation(loop, &violation));
    assert_string_equal(violation.policy_id, "limit.iterations");
    assert_string_equal(violation.limit_name, "iterations");
    assert_int_equal(violation.limit, 3);
    assert_int_equal(violation.value, 3);
    assert_int_equal(violation.iteration, 4);
    assert_string_equal(rondo_loop_status_name(loop), "max_iterations");
    rondo_loop_free(loop);
}

SCRATCH_TEST(the_end_is_told_again_when_asked_again)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
    }
    assert_int_equal(rondo_loop_next(loop), RONDO_POLICY_VIOLATED);
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_finish_without_conditions_completes)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_loop_finish(loop, RONDO_COMPLETED, "all done", NULL), 0);
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    assert_int_equal(rondo_loop_status(loop), RONDO_COMPLETED);
    rondo_loop_free(loop);
}

SCRATCH_TEST(only_three_statuses_can_be_asked_for)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_finish(loop, RONDO_FAILED, NULL, NULL), RONDO_ERR_STATE);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    struct rondo_error err;
    assert_int_equal(rondo_loop_finish(loop, RONDO_CANCELLED, NULL, &err), RONDO_ERR_INVALID);
    assert_int_equal(rondo_loop_finish(loop, RONDO_BLOCKED, "no key", &err), 0);
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    assert_int_equal(rondo_loop_status(loop), RONDO_BLOCKED);
    rondo_loop_free(loop);
}

SCRATCH_TEST(three_failures_in_a_row_end_it)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.max_iterations = 10;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
        rondo_loop_fail(loop, "no luck");
    }
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    assert_int_equal(rondo_loop_status(loop), RONDO_FAILED);
    rondo_loop_free(loop);
}

SCRATCH_TEST(an_abort_ends_with_status_error_and_a_checkpoint)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.checkpoint_interval = 9;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_set_state(loop, "abc", 3, NULL);
    rondo_loop_abort(loop, "the disk is on fire");
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    assert_int_equal(rondo_loop_status(loop), RONDO_ERROR);
    struct rondo_checkpoint *checkpoint = rondo_loop_load_checkpoint(loop, 0, NULL);
    assert_non_null(checkpoint);
    assert_memory_equal(checkpoint->state, "abc", 3);
    rondo_checkpoint_free(checkpoint);
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_budget_ends_it_after_one_iteration_too_many_at_most)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.max_tokens = 100;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_use(loop, 99, 0);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_use(loop, 1, 0);
    rondo_loop_use(loop, -50, 0);
    assert_int_equal(rondo_loop_next(loop), RONDO_POLICY_VIOLATED);
    assert_int_equal(rondo_loop_status(loop), RONDO_BUDGET_EXCEEDED);
    rondo_loop_free(loop);
}

SCRATCH_TEST(freeing_inside_a_body_cancels_and_the_run_can_be_resumed)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    char run_id[64];
    snprintf(run_id, sizeof(run_id), "%s", rondo_loop_run_id(loop));
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_set_state(loop, "one", 3, NULL);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_free(loop);
    struct rondo_error err = {0};
    loop = rondo_loop_resume(scratch->rondo, run_id, NULL, &err);
    assert_non_null(loop);
    size_t len = 0;
    assert_memory_equal(rondo_loop_state(loop, &len), "one", 3);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_loop_iteration(loop), 2);
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_run_that_executes_cannot_be_resumed)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_error err = {0};
    assert_null(rondo_loop_resume(scratch->rondo, "last", NULL, &err));
    assert_int_equal(err.code, RONDO_ERR_BUSY);
    assert_non_null(strstr(err.message, "executed by process"));
    rondo_loop_free(loop);
}

SCRATCH_TEST(an_exclusive_agent_runs_once)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.is_exclusive = true;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_error err = {0};
    assert_null(rondo_loop_start(scratch->rondo, &options, &err));
    assert_int_equal(err.code, RONDO_ERR_BUSY);
    rondo_loop_free(loop);
    loop = scratch_start(scratch, &options);
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_raised_limit_reopens_a_run)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
    }
    rondo_loop_free(loop);
    options = (struct rondo_loop_options){.agent_id = "tester", .max_iterations = 4};
    struct rondo_error err = {0};
    loop = rondo_loop_resume(scratch->rondo, "last", &options, &err);
    assert_non_null(loop);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_loop_iteration(loop), 4);
    assert_int_equal(rondo_loop_next(loop), RONDO_POLICY_VIOLATED);
    rondo_loop_free(loop);
}

SCRATCH_TEST(checkpoints_on_demand_hold_custom_data)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_error err = {0};
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_loop_save_checkpoint(loop, "{\"progress\":\"50%\"}", &err), 0);
    assert_int_equal(rondo_loop_save_checkpoint(loop, "[1]", &err), RONDO_ERR_INVALID);
    assert_int_equal(rondo_loop_save_checkpoint(loop, "{", &err), RONDO_ERR_INVALID);
    struct rondo_checkpoint *checkpoint =
        rondo_load_checkpoint(scratch->rondo, rondo_loop_run_id(loop), 0, &err);
    assert_non_null(checkpoint);
    assert_string_equal(checkpoint->custom_data, "{\"progress\":\"50%\"}");
    assert_int_equal(checkpoint->iteration, 1);
    assert_int_equal(strlen(checkpoint->sha256), 64);
    rondo_checkpoint_free(checkpoint);
    assert_null(rondo_loop_load_checkpoint(loop, 99, &err));
    assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
    rondo_loop_free(loop);
}

SCRATCH_TEST(after_the_end_nothing_can_be_recorded)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
    }
    struct rondo_error err = {0};
    assert_int_equal(rondo_loop_note(loop, "late", NULL, &err), RONDO_ERR_STATE);
    assert_int_equal(rondo_loop_save_checkpoint(loop, NULL, &err), RONDO_ERR_STATE);
    rondo_loop_free(loop);
}

SCRATCH_TEST(bad_options_create_nothing)
{
    struct scratch *scratch = *state;
    struct rondo_error err = {0};
    struct rondo_loop_options options = scratch_options(scratch);
    options.agent_id = NULL;
    assert_null(rondo_loop_start(scratch->rondo, &options, &err));
    assert_int_equal(err.code, RONDO_ERR_INVALID);
    options = scratch_options(scratch);
    options.delay_ns = -1;
    assert_null(rondo_loop_start(scratch->rondo, &options, &err));
    assert_int_equal(err.code, RONDO_ERR_INVALID);
    options = scratch_options(scratch);
    options.workspace = "/nowhere/at/all";
    assert_null(rondo_loop_start(scratch->rondo, &options, &err));
    assert_null(rondo_loop_resume(scratch->rondo, "last", NULL, &err));
    assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
}

TEST(null_is_allowed_where_it_is_promised)
{
    rondo_loop_free(NULL);
    rondo_close(NULL);
    rondo_subscription_free(NULL);
    rondo_checkpoint_free(NULL);
    assert_string_equal(rondo_code_name(RONDO_ERR_BUSY), "RONDO_ERR_BUSY");
    assert_string_equal(rondo_code_name(-99), "RONDO_ERR_UNKNOWN");
    assert_non_null(strchr(rondo_version(), '.'));
}

SCRATCH_TEST(a_store_that_came_from_elsewhere_is_refused)
{
    struct scratch *scratch = *state;
    char command[512], copy[128];
    snprintf(copy, sizeof(copy), "%s/copy.db", scratch->workspace);
    snprintf(command, sizeof(command), "cp -p '%s' '%s'", scratch->store, copy);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): what a user types */
    struct rondo_error err = {0};
    assert_null(rondo_open(&(struct rondo_options){.store = copy}, &err));
    assert_int_equal(err.code, RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, "rondo trust"));
    assert_int_equal(unlink(copy), 0);
}
