// SPDX-License-Identifier: Apache-2.0
/* Running commands for tools. */
#include "tool/builtin/shell_run.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/process/program.h"
#include "os/spawn/spawn.h"
#include "tool/builtin/shell_environment.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for what a sandbox says when it cannot run something. */
#define COMPLAINT_BYTES  4096
#define SIGNAL_EXIT_BASE 128

/* --- the place --- */

static char *join(const char *base, const char *path)
{
    struct buf joined = {0};
    buf_printf(&joined, "%s%s%s", *path == '/' ? "" : base, *path == '/' ? "" : "/", path);
    return buf_steal(&joined);
}

static int read_tier(const char *name, enum sandbox_tier *ret_tier, struct rondo_error *err)
{
    if (name == NULL) {
        *ret_tier = SANDBOX_NAMESPACE;
    } else if (!sandbox_tier_from_name(name, ret_tier)) {
        return error_set(err, RONDO_ERR_INVALID, "there is no sandbox \"%s\"", name);
    }
    return 0;
}

int command_place_read(const struct tool_surroundings *around, struct json_object *config,
                       struct command_place *ret_place, struct rondo_error *err)
{
    struct command_place place = {
        .around = around,
        .workspace = around->workspace,
        .allow_network = around->allow_network && !around->is_offline,
        .timeout_seconds = json_get_int(config, "timeout_seconds", COMMAND_TIMEOUT_SECONDS),
    };
    int r = read_tier(around->sandbox, &place.tier, err);
    if (r < 0) {
        return r;
    }
    int64_t max_output = json_get_int(config, "max_output_bytes", COMMAND_MAX_OUTPUT_BYTES);
    place.max_output_bytes = max_output > 0 ? (size_t)max_output : COMMAND_MAX_OUTPUT_BYTES;
    place.timeout_seconds =
        place.timeout_seconds > 0 ? place.timeout_seconds : COMMAND_TIMEOUT_SECONDS;
    const char *directory = json_get_string(config, "working_dir", NULL);
    if (directory != NULL && *directory != '\0') {
        place.directory = join(around->workspace, directory);
        place.write_path = memory_dup_string(place.directory);
    } else {
        bool is_beside_role = around->role_folder != NULL && !around->starts_in_workspace;
        place.directory =
            memory_dup_string(is_beside_role ? around->role_folder : around->workspace);
        place.read_path = memory_dup_string(around->role_folder);
    }
    *ret_place = place;
    return 0;
}

void command_place_fini(struct command_place *place)
{
    free(place->directory);
    free(place->write_path);
    free(place->read_path);
    *place = (struct command_place){0};
}

/* --- output --- */

struct command_streams {
    struct command_result *result;
    size_t keep;
};

static void keep_beginning(struct buf *stream, size_t keep, const char *bytes, size_t len)
{
    size_t room = stream->len < keep ? keep - stream->len : 0;
    buf_append(stream, bytes, len < room ? len : room);
}

static void take_output(void *context, const char *bytes, size_t len)
{
    const struct command_streams *streams = context;
    keep_beginning(&streams->result->output, streams->keep, bytes, len);
}

static void take_errors(void *context, const char *bytes, size_t len)
{
    const struct command_streams *streams = context;
    keep_beginning(&streams->result->errors, streams->keep, bytes, len);
}

/* --- paths of the sandbox --- */

/** Lists of the policy: borrowed paths, but for `env_file`. `hide` is owned. */
struct paths {
    const char *write[3];
    const char *read[2];
    const char **hide;
    char *env_file;
};

/**
 * What commands must not see, or not change: what surrounds them says so, and the role's .env,
 * which holds keys.
 */
static void collect_paths(const struct command_place *place, const struct shell_command *command,
                          struct paths *ret_paths)
{
    const char *const *hidden = place->around->hide_paths;
    size_t hidden_count = 0;
    while (hidden != NULL && hidden[hidden_count] != NULL) {
        hidden_count++;
    }
    *ret_paths = (struct paths){
        .write = {place->write_path},
        .hide = memory_new_zero(hidden_count + 2, sizeof(*ret_paths->hide)),
    };
    ret_paths->write[place->write_path == NULL ? 0 : 1] = command->write_path;
    for (size_t i = 0; i < hidden_count; i++) {
        ret_paths->hide[i] = hidden[i];
    }
    if (place->around->role_folder != NULL) {
        ret_paths->env_file = join(place->around->role_folder, ".env");
        ret_paths->hide[hidden_count] = ret_paths->env_file;
    }
    ret_paths->read[0] = place->read_path;
}

static void paths_fini(struct paths *paths)
{
    free(paths->hide);
    free(paths->env_file);
}

/* --- running --- */

static const struct clock *clock_of(const struct command_place *place)
{
    return place->around->clock == NULL ? clock_system() : place->around->clock;
}

/** How long it may run; the seconds of it are noted for the message. */
static int64_t find_time(const struct command_place *place, const struct shell_command *command,
                         const struct tool_call *call, struct command_result *result)
{
    int64_t seconds =
        command->timeout_seconds > 0 ? command->timeout_seconds : place->timeout_seconds;
    int64_t limit_ns = seconds < INT64_MAX / NS_PER_S ? seconds * NS_PER_S : INT64_MAX;
    if (call->deadline_ns > 0) {
        int64_t left_ns = call->deadline_ns - clock_monotonic(clock_of(place));
        limit_ns = left_ns < limit_ns ? left_ns : limit_ns;
    }
    limit_ns = limit_ns > 0 ? limit_ns : 1;
    result->timeout_seconds = limit_ns / NS_PER_S;
    return limit_ns;
}

static void take_end(const struct spawn_result *spawned, struct command_result *result)
{
    switch (spawned->end) {
    case SPAWN_EXITED:
        result->end = COMMAND_EXITED;
        result->exit_code = spawned->exit_code;
        break;
    case SPAWN_SIGNALLED:
        result->end = COMMAND_EXITED;
        result->exit_code = SIGNAL_EXIT_BASE + spawned->signal;
        break;
    case SPAWN_TIMED_OUT:
        result->end = COMMAND_TIMED_OUT;
        break;
    case SPAWN_CANCELLED:
        result->end = COMMAND_CANCELLED;
        break;
    case SPAWN_NOT_STARTED:
        result->end = COMMAND_NOT_RUN;
        break;
    }
    snprintf(result->reason, sizeof(result->reason), "%s", spawned->reason);
}

static void run_in_environment(const struct command_place *place,
                               const struct shell_command *command, const struct tool_call *call,
                               const struct shell_environment *environment,
                               struct command_result *ret_result)
{
    struct paths paths;
    collect_paths(place, command, &paths);
    const struct sandbox_policy policy = {
        .tier = place->tier,
        .workspace = place->workspace,
        .is_canonical = true,
        .allow_network = place->allow_network,
        .read_paths = paths.read,
        .write_paths = paths.write,
        .hide_paths = paths.hide,
        .protect_paths = place->around->protect_paths,
        .env_names = (const char *const *)environment->names,
    };
    struct command_streams streams = {.result = ret_result, .keep = place->max_output_bytes};
    const struct spawn_request request = {
        .argv = command->argv,
        .envp = (const char *const *)environment->variables,
        .directory = command->directory != NULL ? command->directory : place->directory,
        .total_ns = find_time(place, command, call, ret_result),
        .grace_ns = COMMAND_GRACE_NS,
        .output_keep = COMPLAINT_BYTES,
        .on_output = take_output,
        .on_errors = take_errors,
        .on_output_context = &streams,
        .input = command->input,
        .input_len = command->input_len,
        .cancel = call->cancel,
        .sandbox = place->tier == SANDBOX_NONE ? NULL : &policy,
        .supervisor = place->around->supervisor,
    };
    struct spawn_result spawned = {0};
    struct rondo_error error = {0};
    if (spawn_run(&request, &spawned, &error) < 0) {
        ret_result->end = COMMAND_NOT_RUN;
        snprintf(ret_result->reason, sizeof(ret_result->reason), "%.255s", error.message);
    } else {
        take_end(&spawned, ret_result);
    }
    spawn_result_fini(&spawned);
    paths_fini(&paths);
}

void command_run(const struct command_place *place, const struct shell_command *command,
                 const struct tool_call *call, struct command_result *ret_result)
{
    struct shell_environment environment = {0};
    char program[PATH_MAX];
    char reason[256];
    *ret_result = (struct command_result){0};
    shell_environment_make(place->around->security_tools, command->variables, &environment);
    const char *directory = command->directory != NULL ? command->directory : place->directory;
    if (program_find(command->argv[0], (const char *const *)environment.variables, directory,
                     program, reason)) {
        run_in_environment(place, command, call, &environment, ret_result);
    } else {
        bool is_missing = strstr(reason, "no such program") != NULL;
        ret_result->end = is_missing ? COMMAND_NOT_FOUND : COMMAND_NOT_RUN;
        snprintf(ret_result->reason, sizeof(ret_result->reason), "%s", reason);
    }
    shell_environment_fini(&environment);
}

void command_result_fini(struct command_result *result)
{
    buf_fini(&result->output);
    buf_fini(&result->errors);
    *result = (struct command_result){0};
}

/* --- telling --- */

static void append_block(struct buf *text, const char *title, const struct buf *stream)
{
    if (stream->len > 0) {
        buf_printf(text, "%s%s:\n", text->len > 0 ? "\n" : "", title);
        buf_append(text, stream->data, stream->len);
    }
}

bool command_tell_failure(const char *name, const struct command_result *command,
                          struct tool_result *ret_result)
{
    switch (command->end) {
    case COMMAND_EXITED:
        return false;
    case COMMAND_TIMED_OUT:
        tool_fail(ret_result, "Execution timed out after %llds",
                  (long long)command->timeout_seconds);
        append_block(&ret_result->text, "STDOUT", &command->output);
        append_block(&ret_result->text, "STDERR", &command->errors);
        break;
    case COMMAND_CANCELLED:
        tool_fail(ret_result, "Error: command '%s' was cancelled", name);
        break;
    case COMMAND_NOT_FOUND:
        tool_fail(ret_result, "Error: command '%s' not found", name);
        break;
    case COMMAND_NOT_RUN:
        tool_fail(ret_result, "Error: command '%s' could not be run: %s", name, command->reason);
        break;
    }
    return true;
}

void command_tell(const struct command_place *place, const char *name,
                  const struct command_result *command, struct tool_result *ret_result)
{
    if (!command_tell_failure(name, command, ret_result)) {
        ret_result->has_exit_code = true;
        ret_result->exit_code = command->exit_code;
        if (command->exit_code != 0) {
            buf_printf(&ret_result->text, "Exit code: %d", command->exit_code);
        }
        append_block(&ret_result->text, "STDOUT", &command->output);
        append_block(&ret_result->text, "STDERR", &command->errors);
        if (ret_result->text.len == 0) {
            buf_append_string(&ret_result->text, "(no output)");
        }
    }
    tool_result_truncate(ret_result, place->max_output_bytes);
}
