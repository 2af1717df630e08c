// SPDX-License-Identifier: Apache-2.0
/* A condition checked by a command. No state; any number of threads. */
#include "loop/hidden_paths.h"
#include "loop/verify.h"

#include "base/auto.h"
#include "base/memory.h"
#include "os/environment.h"
#include "os/spawn/spawn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void verify_result_fini(struct verify_result *result)
{
    free(result->output);
    *result = (struct verify_result){0};
}

static const struct {
    enum rondo_condition_reason reason;
} reason_of_end[] = {
    [SPAWN_EXITED] = {RONDO_REASON_FAILED},       [SPAWN_SIGNALLED] = {RONDO_REASON_CRASHED},
    [SPAWN_TIMED_OUT] = {RONDO_REASON_TIMED_OUT}, [SPAWN_CANCELLED] = {RONDO_REASON_CANCELLED},
    [SPAWN_NOT_STARTED] = {RONDO_REASON_NOT_RUN},
};

/** Exit codes above this one are how a shell, and bubblewrap, report a child that a signal ended.
 */
#define SIGNAL_EXIT_BASE 128

static void note_signal(struct spawn_result *spawned)
{
    bool is_signal = spawned->end == SPAWN_EXITED && spawned->exit_code > SIGNAL_EXIT_BASE &&
                     spawned->exit_code <= SIGNAL_EXIT_BASE + SIGRTMAX;
    if (is_signal) {
        spawned->end = SPAWN_SIGNALLED;
        spawned->signal = spawned->exit_code - SIGNAL_EXIT_BASE;
        snprintf(spawned->reason, sizeof(spawned->reason), "ended by signal %d (%s)",
                 spawned->signal, sigdescr_np(spawned->signal));
    }
}

static void take_result(struct spawn_result *spawned, struct verify_result *ret_result)
{
    note_signal(spawned);
    bool is_met = spawned->end == SPAWN_EXITED && spawned->exit_code == 0;
    ret_result->status = is_met ? RONDO_MET : RONDO_NOT_MET;
    ret_result->reason = is_met ? RONDO_REASON_PASSED : reason_of_end[spawned->end].reason;
    ret_result->exit_code = spawned->end == SPAWN_EXITED ? spawned->exit_code : -1;
    ret_result->signal = spawned->end == SPAWN_SIGNALLED ? spawned->signal : 0;
    ret_result->duration_ns = spawned->duration_ns;
    ret_result->output = spawned->output;
    ret_result->output_len = spawned->output_len;
    ret_result->output_total = spawned->output_total;
    spawned->output = NULL;
    snprintf(ret_result->message, sizeof(ret_result->message), "%s", spawned->reason);
}

/** The variables that the sandbox lets through. */
static const char **names_with_trace(char *const *names)
{
    size_t count = 0;
    while (names != NULL && names[count] != NULL) {
        count++;
    }
    const char **longer = memory_new_zero(count + 2, sizeof(*longer));
    for (size_t i = 0; i < count; i++) {
        longer[i] = names[i];
    }
    longer[count] = "TRACEPARENT";
    return longer;
}

struct sandbox_policy verify_sandbox(const struct loop_spec *spec, char *const *hidden,
                                     char *const *protected)
{
    return (struct sandbox_policy){
        .tier = (enum sandbox_tier)spec->verifier_tier,
        .workspace = spec->workspace,
        .is_canonical = true,
        .allow_network = spec->allow_network != 0,
        .read_paths = (const char *const *)spec->read_paths,
        .write_paths = (const char *const *)spec->write_paths,
        .hide_paths = (const char *const *)hidden,
        .protect_paths = (const char *const *)protected,
        .env_names = (const char *const *)spec->env_names,
    };
}

/** @return environment_free() */
static char **make_environment(const struct verify_command_context *context)
{
    char trace[sizeof("TRACEPARENT=") + TRACE_PARENT_SIZE];
    size_t count = memory_count_list(context->variables);
    auto_free const char **extra = memory_new_zero(count + 2, sizeof(*extra));
    snprintf(trace, sizeof(trace), "TRACEPARENT=%s", context->traceparent);
    for (size_t i = 0; i < count; i++) {
        extra[i] = context->variables[i];
    }
    extra[count] = context->traceparent[0] == '\0' ? NULL : trace;
    char **environment = environment_reduced((const char *const *)context->spec->env_names, extra);
    environment_drop(environment, (const char *const *)context->spec->denied_env);
    return environment;
}

static void evaluate_command(const struct verifier *verifier,
                             const struct loop_condition *condition, int64_t timeout_ns,
                             struct cancel *cancel, struct verify_result *ret_result)
{
    const struct verify_command_context *context = verifier->context;
    const struct loop_spec *spec = context->spec;
    const char *const argv[] = {"sh", "-c", condition->command, NULL};
    auto_hidden_paths char **hidden = hidden_paths_of_run(context->hide_paths, spec->policy);
    auto_hidden_paths char **protected = protected_paths_of_run(spec->workspace, NULL);
    struct sandbox_policy policy = verify_sandbox(spec, hidden, protected);
    auto_free const char **names = names_with_trace(spec->env_names);
    policy.env_names = names;
    char **envp = make_environment(context);
    struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)envp,
        .directory = spec->workspace,
        .total_ns = timeout_ns,
        .output_keep = LIMIT_VERIFIER_OUTPUT_BYTES,
        .cancel = cancel,
        .sandbox = policy.tier == SANDBOX_NONE ? NULL : &policy,
        .supervisor = context->supervisor,
    };
    struct spawn_result spawned = {0};
    struct rondo_error error;
    if (spawn_run(&request, &spawned, &error) < 0) {
        ret_result->reason = RONDO_REASON_NOT_RUN;
        ret_result->exit_code = -1;
        snprintf(ret_result->message, sizeof(ret_result->message), "%.255s", error.message);
    } else {
        take_result(&spawned, ret_result);
    }
    spawn_result_fini(&spawned);
    environment_free(envp);
}

struct verifier verify_by_command(const struct verify_command_context *context)
{
    return (struct verifier){
        .evaluate = evaluate_command, .context = context, .is_concurrent = true};
}
