// SPDX-License-Identifier: Apache-2.0
/* The hooks of the person's repository, in the sandbox of the checks. */
#include "work/attempt_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/hooks.h"
#include "loop/hidden_paths.h"
#include "os/sandbox/policy.h"
#include "work/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Have it recorded like the other checks. */
static void post_hook(struct attempt *attempt, const struct git_hook_request *request,
                      const char *program, const struct git_hook_result *hook, int64_t duration_ns)
{
    struct verify_result result = {
        .status = hook->has_passed ? RONDO_MET : RONDO_NOT_MET,
        .reason = hook->has_passed ? RONDO_REASON_PASSED : RONDO_REASON_FAILED,
        .exit_code = hook->exit_code,
        .duration_ns = duration_ns,
        .output = memory_dup_string(hook->output),
        .output_len = strlen(hook->output),
        .output_total = strlen(hook->output),
    };
    const struct loop_condition condition = {
        .name = (char *)(uintptr_t)git_hook_name(request->hook),
        .command = (char *)(uintptr_t)program,
    };
    snprintf(result.message, sizeof(result.message), "%s", hook->reason);
    attempt_post_check(attempt, "hook", &condition, &result);
}

static bool fail_by_hook(struct attempt *attempt, enum git_hook hook,
                         const struct git_hook_result *result)
{
    attempt_keep_output(attempt, result->output, strlen(result->output));
    if (result->exit_code >= 0) {
        return attempt_fail(attempt, "hook_failed",
                            "the repository's %s hook refused the commit (exit code %d)",
                            git_hook_name(hook), result->exit_code);
    }
    return attempt_fail(attempt, "hook_failed", "the repository's %s hook did not finish: %s",
                        git_hook_name(hook), result->reason);
}

/** What cannot be committed after a hook is its failure; all else the machine's. */
static bool fail_to_run(struct attempt *attempt, int r, const struct rondo_error *err)
{
    bool is_hook = r == RONDO_ERR_STATE || r == RONDO_ERR_DENIED || r == RONDO_ERR_LIMIT;
    return is_hook && !cancel_is_set(&attempt->stop)
               ? attempt_fail(attempt, "hook_failed", "%s", err->message)
               : attempt_fail_by(attempt, err);
}

/** Run it in the sandbox that checks have. @param ret_result git_hook_result_fini() */
static int run_sandboxed(struct attempt *attempt, const char *program,
                         struct git_hook_request *request, struct git_hook_result *ret_result,
                         struct rondo_error *err)
{
    struct loop_spec spec = attempt->spec;
    spec.workspace = (char *)(uintptr_t)request->changes.path;
    auto_hidden_paths char **hidden =
        hidden_paths_of_run(runtime_hide_paths(attempt->runtime), spec.policy);
    auto_hidden_paths char **protected = protected_paths_of_run(spec.workspace, NULL);
    struct sandbox_policy policy = verify_sandbox(&spec, hidden, protected);
    const struct clock *clock = runtime_clock(attempt->runtime);
    int64_t begin_ns = clock_monotonic(clock);
    struct git git = attempt_git(attempt);
    request->sandbox = &policy;
    request->variables = (const char *const *)attempt->variables;
    request->supervisor = runtime_supervisor(attempt->runtime);
    request->output_keep = LIMIT_VERIFIER_OUTPUT_BYTES;
    int r = git_hook_run(&git, request, ret_result, err);
    if (r == 0) {
        post_hook(attempt, request, program, ret_result, clock_monotonic(clock) - begin_ns);
    }
    return r;
}

/**
 * Run a hook if there is one.
 * @param ret_result git_hook_result_fini(); zeroed by the caller, and left so without a hook
 * @return whether the commit may go on
 */
static bool run_hook(struct attempt *attempt, enum git_hook hook, const struct attempt_place *place,
                     const char *message, struct git_hook_result *ret_result)
{
    struct rondo_error err = {0};
    bool is_in_tree = false;
    auto_free char *program =
        git_hook_find(attempt->repository, hook, attempt->folder, &is_in_tree);
    if (program == NULL) {
        return true;
    }
    if (is_in_tree) {
        return attempt_fail(attempt, "refused",
                            "the %s hook is in the working tree of an attempt, where the worker "
                            "may have written it; set core.hooksPath to another folder",
                            git_hook_name(hook));
    }
    struct git_hook_request request = {.hook = hook,
                                       .changes = attempt_changes_request(attempt, place),
                                       .tree = attempt->tree,
                                       .message = message};
    int r = run_sandboxed(attempt, program, &request, ret_result, &err);
    if (r < 0) {
        return fail_to_run(attempt, r, &err);
    }
    return ret_result->has_passed || fail_by_hook(attempt, hook, ret_result);
}

bool attempt_run_pre_commit(struct attempt *attempt, const struct attempt_place *place)
{
    struct git_hook_result result = {0};
    bool is_good = run_hook(attempt, GIT_HOOK_PRE_COMMIT, place, NULL, &result);
    if (is_good && result.is_tree_changed) {
        is_good = attempt_take_changes(attempt, &result.changes);
    }
    git_hook_result_fini(&result);
    return is_good;
}

bool attempt_make_message(struct attempt *attempt, const struct attempt_place *place)
{
    const struct work_message message = {.prd = attempt->work->name,
                                         .issue = attempt->work->issue,
                                         .run = attempt->parent_run,
                                         .task = attempt->task_id,
                                         .title = attempt->title,
                                         .agent = attempt->work->worker.agent_id,
                                         .attempt = attempt->number};
    struct rondo_error err = {0};
    struct git_hook_result result = {0};
    auto_buf struct buf text = {0};
    if (work_message_write(&message, NULL, &text, &err) < 0) {
        return attempt_fail_by(attempt, &err);
    }
    bool is_good = run_hook(attempt, GIT_HOOK_COMMIT_MESSAGE, place, buf_string(&text), &result);
    if (is_good && result.is_message_changed) {
        buf_clear(&text);
        if (work_message_write(&message, result.message, &text, &err) < 0) {
            is_good =
                attempt_fail(attempt, "hook_failed", "after the commit-msg hook %s", err.message);
        }
    }
    git_hook_result_fini(&result);
    free(attempt->commit_message);
    attempt->commit_message = is_good ? buf_steal(&text) : NULL;
    return is_good;
}
