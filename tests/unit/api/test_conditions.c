// SPDX-License-Identifier: Apache-2.0
/* Exit conditions through the public API: real commands, without a sandbox. */
#include "scratch.h"

static void touch(const struct scratch *scratch, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", scratch->workspace, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static const struct rondo_condition file_is_there[] = {
    {.name = "done", .command = "echo looking; test -e done"},
    {.name = NULL},
};

SCRATCH_TEST(a_met_condition_completes_the_run)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.exit_conditions = file_is_there;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    struct rondo_condition_state condition;
    assert_int_equal(rondo_loop_condition(loop, 0, &condition), 0);
    assert_int_equal(condition.status, RONDO_NOT_MET);
    assert_int_equal(condition.reason, RONDO_REASON_FAILED);
    assert_int_equal(condition.exit_code, 1);
    assert_string_equal(condition.output, "looking\n");
    touch(scratch, "done");
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    assert_int_equal(rondo_loop_status(loop), RONDO_COMPLETED);
    assert_true(rondo_loop_all_met(loop));
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_finish_is_rejected_while_a_condition_is_not_met)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.exit_conditions = file_is_there;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_finish(loop, RONDO_COMPLETED, "I think so", NULL);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_false(rondo_loop_all_met(loop));
    rondo_loop_free(loop);
}

SCRATCH_TEST(one_and_all_can_be_evaluated_inside_a_body)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.exit_conditions = file_is_there;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    struct rondo_condition_state condition;
    struct rondo_error err = {0};
    assert_int_equal(rondo_loop_evaluate(loop, "done", &condition, &err), 0);
    assert_int_equal(condition.status, RONDO_NOT_MET);
    touch(scratch, "done");
    bool is_all = false;
    assert_int_equal(rondo_loop_evaluate_all(loop, &is_all, &err), 0);
    assert_true(is_all);
    assert_int_equal(rondo_loop_evaluate(loop, "other", &condition, &err), RONDO_ERR_NOT_FOUND);
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_condition_met_before_the_first_iteration_completes_nothing)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.exit_conditions = file_is_there;
    touch(scratch, "done");
    struct rondo_loop *loop = scratch_start(scratch, &options);
    bool is_all = false;
    assert_int_equal(rondo_loop_evaluate_all(loop, &is_all, NULL), 0);
    assert_true(is_all);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_free(loop);
}

SCRATCH_TEST(conditions_can_be_added_before_the_first_iteration_only)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_error err = {0};
    assert_int_equal(rondo_loop_add_condition(loop, &file_is_there[0], &err), 0);
    assert_int_equal(rondo_loop_add_condition(loop, &file_is_there[0], &err), RONDO_ERR_INVALID);
    assert_int_equal(rondo_loop_condition_count(loop), 1);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(
        rondo_loop_add_condition(loop, &(struct rondo_condition){"b", "true", 0}, &err),
        RONDO_ERR_STATE);
    touch(scratch, "done");
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    assert_int_equal(rondo_loop_status(loop), RONDO_COMPLETED);
    rondo_loop_free(loop);
}

SCRATCH_TEST(an_added_condition_is_there_after_a_resume)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    rondo_loop_add_condition(loop, &file_is_there[0], NULL);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_free(loop);
    loop = rondo_loop_resume(scratch->rondo, "last", NULL, NULL);
    assert_non_null(loop);
    assert_int_equal(rondo_loop_condition_count(loop), 1);
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_resume_can_bring_other_conditions)
{
    struct scratch *scratch = *state;
    struct rondo_loop_options options = scratch_options(scratch);
    options.exit_conditions = file_is_there;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_free(loop);
    static const struct rondo_condition others[] = {{.name = "always", .command = "true"},
                                                    {.name = NULL}};
    struct rondo_loop_options changes = {.exit_conditions = others, .sandbox = RONDO_SANDBOX_NONE};
    loop = rondo_loop_resume(scratch->rondo, "last", &changes, NULL);
    assert_non_null(loop);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    struct rondo_condition_state condition;
    assert_int_equal(rondo_loop_condition(loop, 0, &condition), 0);
    assert_string_equal(condition.name, "always");
    rondo_loop_free(loop);
}

SCRATCH_TEST(a_standard_condition_without_a_project_is_an_error_at_the_start)
{
    struct scratch *scratch = *state;
    static const struct rondo_condition standard[] = {{.name = "all_tests_pass"}, {.name = NULL}};
    struct rondo_loop_options options = scratch_options(scratch);
    options.exit_conditions = standard;
    struct rondo_error err = {0};
    assert_null(rondo_loop_start(scratch->rondo, &options, &err));
    assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
    assert_null(rondo_load_checkpoint(scratch->rondo, "last", 0, &err));
    assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
}
