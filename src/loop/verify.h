// SPDX-License-Identifier: Apache-2.0
/*
 * Verifying exit conditions. How one condition is checked is an interface: a command in the sandbox
 * is the implementation here, a tool over MCP will be another. Whatever goes wrong while checking
 * makes the condition "not met" with a reason; it is never an error of the run.
 */
#pragma once

#include "base/cancel.h"
#include "base/clock.h"
#include "journal/trace.h"
#include "loop/spec.h"
#include "os/sandbox/policy.h"
#include "rondo/types.h"

/** Outcome of one evaluation. */
struct verify_result {
    enum rondo_condition_status status;
    enum rondo_condition_reason reason;
    int exit_code; /**< -1 when there is none */
    int signal;    /**< 0 when there is none */
    int64_t duration_ns;
    char *output; /**< end of the output, owned; may be NULL */
    size_t output_len;
    uint64_t output_total;
    char message[256]; /**< for people, "" when the exit code says all */
};

void verify_result_fini(struct verify_result *result);

struct verifier {
    /**
     * Evaluate one condition; blocks up to `timeout_ns`.
     * @param ret_result zeroed by the caller
     */
    void (*evaluate)(const struct verifier *verifier, const struct loop_condition *condition,
                     int64_t timeout_ns, struct cancel *cancel, struct verify_result *ret_result);
    const void *context;
    bool is_concurrent; /**< `evaluate` may run on several threads at once */
};

/** Context of the command verifier; everything is borrowed. */
struct verify_command_context {
    const struct loop_spec *spec;
    const char *supervisor;
    const char *const *hide_paths;
    const char *const *variables;        /**< further "NAME=value"; or NULL. Those that the spec's
                                            env_names        name reach commands in a sandbox */
    char traceparent[TRACE_PARENT_SIZE]; /**< of the iteration, for the commands; "" = none */
};

/** The sandbox of commands that verify, for the spec's workspace. All lists are borrowed. */
struct sandbox_policy verify_sandbox(const struct loop_spec *spec, char *const *hidden,
                                     char *const *protected);

/** Verifier that runs conditions' commands with `sh -c` in the spec's sandbox and workspace. */
struct verifier verify_by_command(const struct verify_command_context *context);

/**
 * Evaluate several conditions: those whose commands begin with the same word one after the other,
 * in their order, all others side by side.
 * @param clock        read by any thread
 * @param time_left_ns for all of them; it caps each condition's own timeout. One whose turn comes
 *                     after it has timed out, and is not started
 * @param on_result    called on the calling thread, once for each condition, as they end
 */
void verify_all(const struct verifier *verifier, const struct loop_condition *conditions,
                size_t count, const struct clock *clock, int64_t time_left_ns,
                struct cancel *cancel,
                void (*on_result)(void *context, size_t index, struct verify_result *result,
                                  size_t still_running),
                void *context);
