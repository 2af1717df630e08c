// SPDX-License-Identifier: Apache-2.0
/*
 * Running a command for a tool: in the sandbox, without secrets in its environment, bounded in time
 * and output, its two streams apart; and telling a model about it. No state; any thread.
 */
#pragma once

#include "base/cancel.h"
#include "os/sandbox/policy.h"
#include "tool/tool.h"

/** Defaults of the entries that run commands. */
#define COMMAND_TIMEOUT_SECONDS  30
#define COMMAND_MAX_OUTPUT_BYTES 102400
/** From the polite request to end to the end, nanoseconds. */
#define COMMAND_GRACE_NS INT64_C(1000000000)

/** Where and how the commands of an entry run. Filled when the entry is opened. */
struct command_place {
    const struct tool_surroundings *around;
    enum sandbox_tier tier;
    const char *workspace; /**< writable in a sandbox, borrowed */
    char *directory;       /**< where commands start, absolute; owned; NULL = see run */
    char *write_path;      /**< further folder that may be written, or NULL; owned */
    char *read_path;       /**< further folder that may be read, or NULL; owned */
    bool allow_network;
    int64_t timeout_seconds;
    size_t max_output_bytes;
};

/**
 * Read what entries that run commands have in common: `timeout_seconds`, `max_output_bytes`,
 * `working_dir` (relative to the workspace; without one the role's folder, which may be read, or
 * the workspace).
 * @param ret_place command_place_fini()
 */
int command_place_read(const struct tool_surroundings *around, struct json_object *config,
                       struct command_place *ret_place, struct rondo_error *err);
void command_place_fini(struct command_place *place);

/** One command. Borrowed. */
struct shell_command {
    const char *const *argv;
    const char *const *variables; /**< "NAME=value" to add, or NULL */
    const char *directory;        /**< NULL = the place's */
    const char *write_path;       /**< one more folder that may be written, or NULL */
    const char *input;            /**< stdin, or NULL = empty */
    size_t input_len;
    int64_t timeout_seconds; /**< 0 = the place's */
};

enum command_end {
    COMMAND_EXITED,
    COMMAND_TIMED_OUT,
    COMMAND_CANCELLED,
    COMMAND_NOT_FOUND,
    COMMAND_NOT_RUN, /**< `reason` says why */
};

struct command_result {
    enum command_end end;
    int exit_code;     /**< COMMAND_EXITED; 128 + number when a signal ended it */
    struct buf output; /**< beginning of stdout */
    struct buf errors; /**< beginning of stderr */
    int64_t timeout_seconds;
    char reason[256];
};

/** Run to the end, the deadline of the call or the timeout. @param ret_result command_result_fini()
 */
void command_run(const struct command_place *place, const struct shell_command *command,
                 const struct tool_call *call, struct command_result *ret_result);
void command_result_fini(struct command_result *result);

/**
 * Report to a model: "Exit code: N" unless 0, then blocks "STDOUT:" and "STDERR:" of what there is,
 * or
 * "(no output)"; or what kept it from ending.
 * @param name of the command, for messages
 */
void command_tell(const struct command_place *place, const char *name,
                  const struct command_result *command, struct tool_result *ret_result);

/** The same for a command that did not come to its end. @return whether that is so */
bool command_tell_failure(const char *name, const struct command_result *command,
                          struct tool_result *ret_result);
