// SPDX-License-Identifier: Apache-2.0
/* Policies through the public API: of a store, of a loop, and what a violation tells. */
#include "scratch.h"

#define PERMIT "permit (principal, action, resource);\n"

/** Write a file in the scratch folder, as a new one. */
static void put(const struct scratch *scratch, const char *name, const char *text)
{
    char path[160];
    char temporary[176];
    snprintf(path, sizeof(path), "%s/%s", scratch->folder, name);
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    FILE *file = fopen(temporary, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(temporary, path), 0);
}

static void drop(const struct scratch *scratch, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", scratch->folder, name);
    unlink(path);
}

static int down(void **state)
{
    drop(*state, "rondo.cedar");
    drop(*state, "own.cedar");
    return scratch_down(state);
}

#define POLICY_TEST(function) TEST_WITH(function, scratch_up, down)

/** Policies with an iteration limit and a reason. */
static void put_limit(const struct scratch *scratch, const char *name, int limit)
{
    char text[256];
    snprintf(text, sizeof(text),
             PERMIT "@id(\"house\") @reason(\"house rule\") forbid (principal, action == "
                    "Action::\"iterate\", resource) unless { context.iteration < %d };\n",
             limit);
    put(scratch, name, text);
}

static struct rondo_loop_options unlimited(const struct scratch *scratch)
{
    struct rondo_loop_options options = scratch_options(scratch);
    options.max_iterations = 0;
    return options;
}

/** Iterations until the loop ends, which must be by a violation. */
static unsigned run(struct rondo_loop *loop)
{
    unsigned count = 0;
    enum rondo_turn turn;
    while ((turn = rondo_loop_next(loop)) == RONDO_CONTINUE) {
        count++;
    }
    assert_int_equal(turn, RONDO_POLICY_VIOLATED);
    return count;
}

POLICY_TEST(a_file_beside_the_store_counts_for_every_loop)
{
    struct scratch *scratch = *state;
    put_limit(scratch, "rondo.cedar", 2);
    struct rondo_loop_options options = unlimited(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(run(loop), 2);
    assert_int_equal(rondo_loop_status(loop), RONDO_MAX_ITERATIONS);
    rondo_loop_free(loop);
}

POLICY_TEST(a_violation_tells_everything)
{
    struct scratch *scratch = *state;
    put_limit(scratch, "rondo.cedar", 2);
    struct rondo_loop_options options = unlimited(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_violation violation = {0};
    assert_false(rondo_loop_violation(loop, &violation));
    run(loop);
    assert_true(rondo_loop_violation(loop, &violation));
    assert_string_equal(violation.policy_id, "house");
    assert_string_equal(violation.limit_name, "iterations");
    assert_int_equal(violation.limit, 2);
    assert_int_equal(violation.value, 2);
    assert_int_equal(violation.iteration, 3);
    assert_string_equal(violation.reason, "house rule");
    assert_string_equal(violation.code, "forbidden");
    assert_int_equal(strlen(violation.policy_sha256), 64);
    assert_false(violation.needs_approval);
    assert_non_null(strstr(violation.message, "`house`"));
    rondo_loop_free(loop);
}

POLICY_TEST(a_violation_that_a_person_may_lift_says_so)
{
    struct scratch *scratch = *state;
    put(scratch, "own.cedar",
        PERMIT "@id(\"ask\") @on_deny(\"ask\") forbid (principal, action == Action::\"iterate\", "
               "resource) unless { context.approved };\n");
    char path[160];
    snprintf(path, sizeof(path), "%s/own.cedar", scratch->folder);
    struct rondo_loop_options options = unlimited(scratch);
    options.policy = path;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(run(loop), 0);
    struct rondo_violation violation = {0};
    assert_true(rondo_loop_violation(loop, &violation));
    assert_true(violation.needs_approval);
    assert_string_equal(violation.code, "approval_needed");
    assert_string_equal(violation.limit_name, "");
    assert_int_equal(rondo_loop_status(loop), RONDO_POLICY_VIOLATION);
    rondo_loop_free(loop);
}

POLICY_TEST(a_loop_may_have_policies_of_its_own)
{
    struct scratch *scratch = *state;
    put_limit(scratch, "rondo.cedar", 2);
    put_limit(scratch, "own.cedar", 4);
    char path[160];
    snprintf(path, sizeof(path), "%s/own.cedar", scratch->folder);
    struct rondo_loop_options options = unlimited(scratch);
    options.policy = path;
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(run(loop), 4);
    char run_id[64];
    snprintf(run_id, sizeof(run_id), "%s", rondo_loop_run_id(loop));
    rondo_loop_free(loop);
    put_limit(scratch, "own.cedar", 5);
    loop = rondo_loop_resume(scratch->rondo, run_id, NULL, NULL);
    assert_non_null(loop);
    assert_int_equal(run(loop), 1);
    rondo_loop_free(loop);
}

POLICY_TEST(a_store_may_be_opened_with_policies)
{
    struct scratch *scratch = *state;
    struct rondo_error err = {0};
    char path[160];
    snprintf(path, sizeof(path), "%s/own.cedar", scratch->folder);
    struct rondo_options store_options = {.store = scratch->store, .policy = path};
    assert_null(rondo_open(&store_options, &err));
    assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, path));
    put_limit(scratch, "own.cedar", 3);
    put_limit(scratch, "rondo.cedar", 1);
    rondo_close(scratch->rondo);
    scratch->rondo = rondo_open(&store_options, &err);
    assert_non_null(scratch->rondo);
    struct rondo_loop_options options = unlimited(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    assert_int_equal(run(loop), 3);
    rondo_loop_free(loop);
}

POLICY_TEST(policies_that_cannot_be_used_start_nothing)
{
    struct scratch *scratch = *state;
    struct rondo_error err = {0};
    struct rondo_loop_options options = unlimited(scratch);
    options.policy = "/no/such/policies.cedar";
    assert_null(rondo_loop_start(scratch->rondo, &options, &err));
    assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
    options.policy = NULL;
    put(scratch, "rondo.cedar", "max_iterations: 100\n");
    assert_null(rondo_loop_start(scratch->rondo, &options, &err));
    assert_int_equal(err.code, RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "context.iteration < 100"));
    assert_null(rondo_loop_resume(scratch->rondo, "last", NULL, &err));
    assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
}

POLICY_TEST(a_checkpoint_may_be_denied)
{
    struct scratch *scratch = *state;
    put(scratch, "rondo.cedar",
        PERMIT "forbid (principal, action == Action::\"checkpoint\", resource);\n");
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = scratch_start(scratch, &options);
    struct rondo_error err = {0};
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    assert_int_equal(rondo_loop_save_checkpoint(loop, NULL, &err), RONDO_ERR_DENIED);
    assert_string_equal(rondo_code_name(err.code), "RONDO_ERR_DENIED");
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    rondo_loop_free(loop);
}
