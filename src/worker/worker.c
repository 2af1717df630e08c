// SPDX-License-Identifier: Apache-2.0
/*
 * Running a worker command. Each iteration gets a fresh set of hand-over files, written before the
 * command starts; what a former, interrupted iteration left in them cannot be taken for its own.
 */
#include "worker/worker.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "journal/trace.h"
#include "os/environment.h"
#include "store/locate/database.h"
#include "worker/files.h"
#include "worker/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Variables that a worker finds besides the user's own environment. */
enum worker_variable {
    VARIABLE_RUN_ID,
    VARIABLE_AGENT_ID,
    VARIABLE_ITERATION,
    VARIABLE_ATTEMPT,
    VARIABLE_PROMPT,
    VARIABLE_PROMPT_FILE,
    VARIABLE_STATE_FILE,
    VARIABLE_FEEDBACK_FILE,
    VARIABLE_RESULT_FILE,
    VARIABLE_TRACEPARENT,
    VARIABLE_COUNT
};

struct worker {
    struct loop *loop;
    struct worker_options options;
    struct worker_files *files;
    bool has_moved;  /* to the folder for temporary files */
    bool takes_over; /* of the last command something may live: its supervisor was killed */
};

int worker_new(struct loop *loop, const struct worker_options *options, struct worker **ret_worker,
               struct rondo_error *err)
{
    struct worker *worker = memory_new_zero(1, sizeof(*worker));
    worker->loop = loop;
    worker->options = *options;
    worker->takes_over = loop_state(loop)->epoch > 1;
    int r = worker_files_new(options->folder, loop_run_id(loop), loop_state(loop)->epoch,
                             &worker->files, err);
    if (r < 0) {
        error_prefix(err, "while preparing the hand-over folder");
        worker_free(worker);
        return r;
    }
    *ret_worker = worker;
    return 0;
}

void worker_free(struct worker *worker)
{
    if (worker == NULL) {
        return;
    }
    if (worker->files != NULL && loop_state(worker->loop)->phase == PHASE_ENDED) {
        worker_files_remove_run(worker->files); /* Nobody took it over before it ended. */
    }
    worker_files_free(worker->files);
    free(worker);
}

/** Lay out the files of this iteration. */
static int write_files(struct worker *worker, struct rondo_error *err)
{
    const struct buf *state = loop_agent_state(worker->loop);
    const char *feedback = loop_feedback(worker->loop);
    const char *prompt = loop_spec(worker->loop)->prompt;
    int r = worker_files_begin(worker->files, err);
    if (r == 0 && prompt != NULL) {
        r = worker_files_write(worker->files, WORKER_FILE_PROMPT, prompt, strlen(prompt), err);
    }
    if (r == 0) {
        r = worker_files_write(worker->files, WORKER_FILE_STATE, state->data, state->len, err);
    }
    if (r == 0) {
        r = worker_files_write(worker->files, WORKER_FILE_FEEDBACK, feedback, strlen(feedback),
                               err);
    }
    return r;
}

/** When the store's disk is full or failing, hand over in the folder for temporary files. */
static int hand_over(struct worker *worker, struct rondo_error *err)
{
    int r = write_files(worker, err);
    if ((r == RONDO_ERR_FULL || r == RONDO_ERR_IO) && !worker->has_moved) {
        r = worker_files_move(worker->files, err);
        if (r == 0) {
            worker->has_moved = true;
            r = write_files(worker, err);
        }
    }
    if (r < 0) {
        error_prefix(err, "while handing the iteration over to the worker");
    }
    return r;
}

static char *variable(const char *name, const char *value)
{
    struct buf text = {0};
    buf_printf(&text, "%s=%s", name, value);
    return buf_steal(&text);
}

static char *variable_number(const char *name, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    return variable(name, digits);
}

static void set_variables(struct worker *worker, char **variables)
{
    const struct run_state *state = loop_state(worker->loop);
    const struct loop_spec *spec = loop_spec(worker->loop);
    const struct worker_files *files = worker->files;
    const char *prompt = spec->prompt == NULL ? "" : spec->prompt;
    bool is_short = strlen(prompt) <= LIMIT_PROMPT_ENV_BYTES;
    variables[VARIABLE_RUN_ID] = variable("RONDO_RUN_ID", loop_run_id(worker->loop));
    variables[VARIABLE_AGENT_ID] = variable("RONDO_AGENT_ID", spec->agent_id);
    variables[VARIABLE_ITERATION] = variable_number("RONDO_ITERATION", state->iteration);
    variables[VARIABLE_ATTEMPT] = variable_number("RONDO_ATTEMPT", state->attempt);
    variables[VARIABLE_PROMPT] = variable("RONDO_PROMPT", is_short ? prompt : "");
    variables[VARIABLE_PROMPT_FILE] =
        variable("RONDO_PROMPT_FILE",
                 spec->prompt == NULL ? "" : worker_files_path(files, WORKER_FILE_PROMPT));
    variables[VARIABLE_STATE_FILE] =
        variable("RONDO_STATE_FILE", worker_files_path(files, WORKER_FILE_STATE));
    variables[VARIABLE_FEEDBACK_FILE] =
        variable("RONDO_FEEDBACK_FILE", worker_files_path(files, WORKER_FILE_FEEDBACK));
    variables[VARIABLE_RESULT_FILE] =
        variable("RONDO_RESULT_FILE", worker_files_path(files, WORKER_FILE_RESULT));
    char parent[TRACE_PARENT_SIZE];
    trace_parent(loop_run_id(worker->loop), TRACE_ITERATION, state->iteration, state->attempt,
                 parent);
    variables[VARIABLE_TRACEPARENT] = variable("TRACEPARENT", parent);
}

/** The environment of the command: the user's own, or reduced when it runs in a sandbox; without
 * what is denied to the run. */
static char **build_environment(struct worker *worker)
{
    const struct loop_spec *spec = loop_spec(worker->loop);
    size_t more = memory_count_list(worker->options.variables);
    char **variables = memory_new_zero(VARIABLE_COUNT + more + 1, sizeof(*variables));
    set_variables(worker, variables);
    for (size_t i = 0; i < more; i++) {
        variables[VARIABLE_COUNT + i] = memory_dup_string(worker->options.variables[i]);
    }
    const char *const *extra = (const char *const *)variables;
    char **environment = spec->worker_tier == SANDBOX_NONE
                             ? environment_with(extra)
                             : environment_reduced((const char *const *)spec->env_names, extra);
    environment_drop(environment, (const char *const *)spec->denied_env);
    if (runtime_waits_for_store(loop_runtime(worker->loop))) {
        environment_drop(environment, store_database_variables);
    }
    memory_free_list(variables);
    return environment;
}

/** Run the command to its end. */
static int spawn_command(struct worker *worker, char **environment, struct spawn_result *ret_result,
                         struct rondo_error *err)
{
    const struct loop_spec *spec = loop_spec(worker->loop);
    size_t count = memory_count_list((const char *const *)spec->env_names);
    auto_free const char **env_names = memory_new_zero(count + 3, sizeof(*env_names));
    for (size_t i = 0; i < count; i++) {
        env_names[i] = spec->env_names[i];
    }
    env_names[count] = "RONDO_*";
    env_names[count + 1] = "TRACEPARENT";
    struct worker_process process;
    worker_process_init(worker->loop, worker->files, env_names, worker->takes_over, &process);
    process.request.argv = (const char *const *)spec->command;
    process.request.envp = (const char *const *)environment;
    process.request.output_keep = LIMIT_WORKER_OUTPUT_BYTES;
    process.request.on_output = worker->options.on_output;
    process.request.on_output_context = worker->options.on_output_context;
    int r = spawn_run(&process.request, ret_result, err);
    worker->takes_over = r < 0 || ret_result->lost_supervisor;
    worker_process_fini(&process);
    return r;
}

static enum loop_outcome outcome_of(const struct spawn_result *spawned)
{
    switch (spawned->end) {
    case SPAWN_EXITED:
        return spawned->exit_code == 0 ? LOOP_OK : LOOP_FAILED;
    case SPAWN_SIGNALLED:
        return LOOP_CRASHED;
    case SPAWN_TIMED_OUT:
        return LOOP_TIMED_OUT;
    case SPAWN_CANCELLED:
        return LOOP_INTERRUPTED;
    case SPAWN_NOT_STARTED:
        return LOOP_UNRECOVERABLE;
    }
    return LOOP_UNRECOVERABLE;
}

/** Turn a hand-over that the worker got wrong into a failed iteration that says why. */
static void fail_hand_back(struct loop_body_result *body, const char *what,
                           const struct rondo_error *error, char message[RONDO_ERROR_MESSAGE_SIZE])
{
    snprintf(message, RONDO_ERROR_MESSAGE_SIZE, "%s: %.400s", what, error->message);
    body->message = message;
    if (body->outcome == LOOP_OK) {
        body->outcome = LOOP_FAILED;
    }
}

static void read_state(struct worker *worker, struct loop_body_result *body,
                       char message[RONDO_ERROR_MESSAGE_SIZE])
{
    auto_buf struct buf state = {0};
    struct rondo_error error = {0};
    int r = worker_files_read(worker->files, WORKER_FILE_STATE, LIMIT_STATE_BYTES, &state, &error);
    if (r == RONDO_ERR_NOT_FOUND) {
        r = 0; /* A worker that removes its state file has none from now on. */
    }
    if (r == 0) {
        r = loop_set_agent_state(worker->loop, state.data, state.len, &error);
    }
    if (r < 0) {
        fail_hand_back(body, "the state file is not accepted", &error, message);
    }
}

static void read_result(struct worker *worker, struct loop_body_result *body,
                        struct worker_result *result, char message[RONDO_ERROR_MESSAGE_SIZE])
{
    auto_buf struct buf text = {0};
    struct rondo_error error = {0};
    int r = worker_files_read(worker->files, WORKER_FILE_RESULT, LIMIT_RESULT_FILE_BYTES, &text,
                              &error);
    if (r == RONDO_ERR_NOT_FOUND || (r == 0 && text.len == 0)) {
        return;
    }
    if (r == 0) {
        r = worker_result_parse(text.data, text.len, result, &error);
    }
    if (r < 0) {
        fail_hand_back(body, "the result file is not accepted", &error, message);
        return;
    }
    body->tokens = result->tokens;
    body->cost_micro = result->cost_micro;
    body->finish = result->finish;
    body->summary = result->summary;
    body->custom_data = result->custom_data;
}

static void report(struct worker *worker, const struct spawn_result *spawned)
{
    struct worker_result result = {0};
    char message[RONDO_ERROR_MESSAGE_SIZE];
    struct loop_body_result body = {
        .outcome = outcome_of(spawned),
        .exit_code = spawned->end == SPAWN_EXITED ? spawned->exit_code : -1,
        .signal = spawned->end == SPAWN_SIGNALLED ? spawned->signal : 0,
        .duration_ns = spawned->duration_ns,
        .message = spawned->reason[0] == '\0' ? NULL : spawned->reason,
        .output = spawned->output,
        .output_len = spawned->output_len,
        .output_total = spawned->output_total,
    };
    if (body.outcome != LOOP_INTERRUPTED && body.outcome != LOOP_UNRECOVERABLE) {
        read_state(worker, &body, message);
        read_result(worker, &body, &result, message);
    }
    loop_report(worker->loop, &body);
    worker_result_fini(&result);
}

int worker_run(struct worker *worker, struct rondo_error *err)
{
    int r = hand_over(worker, err);
    if (r < 0) {
        return r;
    }
    char **environment = build_environment(worker);
    struct spawn_result spawned = {0};
    r = spawn_command(worker, environment, &spawned, err);
    environment_free(environment);
    if (r == 0) {
        report(worker, &spawned);
    }
    spawn_result_fini(&spawned);
    return r;
}
