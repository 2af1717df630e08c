// SPDX-License-Identifier: Apache-2.0
/*
 * How a command is turned into one that runs inside a sandbox: which program really starts, with
 * which arguments, environment and descriptors, and what has to be done while it runs and after.
 * One owner, one thread.
 */
#pragma once

#include "base/buf.h"
#include "os/process/spawn_request.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sandbox_plan;

/**
 * Plan a command.
 * @param ret_plan   owned; sandbox_plan_free(). Borrows the request for its life
 * @param ret_reason why the command must not run; set when `*ret_plan` is NULL on return
 * @return 0, or a negative code when this process lacks a resource
 */
int sandbox_plan_make(const struct spawn_request *request, struct sandbox_plan **ret_plan,
                      char ret_reason[256], struct rondo_error *err);

/** What to start instead of the request's command. Borrowed from the plan. */
const char *sandbox_plan_program(const struct sandbox_plan *plan);
const char *const *sandbox_plan_argv(const struct sandbox_plan *plan);
const char *const *sandbox_plan_envp(const struct sandbox_plan *plan);
/** Descriptors for the child, in this order from CHILD_FIRST_CARRIED on. Borrowed. */
const int *sandbox_plan_carried(const struct sandbox_plan *plan, size_t *ret_count);
/** Control group folders that the command's watcher removes after it; NULL-terminated. */
const char *const *sandbox_plan_groups(const struct sandbox_plan *plan);

/** Whether the last carried descriptor is for the supervisor, with which it helps the command. */
bool sandbox_plan_supervisor_helps(const struct sandbox_plan *plan);
/**
 * Number of the command's record, by which the supervisor marks it; the last carried descriptor is
 * the record then. 0 = there is none.
 */
uint64_t sandbox_plan_record(const struct sandbox_plan *plan);
/** Folder of the command that its watcher removes after it; NULL = none. */
const char *sandbox_plan_private_folder(const struct sandbox_plan *plan);

/** The child was started: close what only it needs. */
void sandbox_plan_started(struct sandbox_plan *plan);
/** Descriptor to wait on for input, or -1; when it is ready, call sandbox_plan_advance. */
int sandbox_plan_poll_fd(const struct sandbox_plan *plan);
void sandbox_plan_advance(struct sandbox_plan *plan);
/** Whether the command still waits for sandbox_plan_advance to let it go. */
bool sandbox_plan_is_held(const struct sandbox_plan *plan);
/** Ask what runs in the sandbox to end. @return false when the group's TERM has to do. */
bool sandbox_plan_terminate(struct sandbox_plan *plan);

/**
 * The started program has ended by itself with `exit_code`: wait until nothing in the sandbox
 * lives, and report whether the command ever ran.
 * @param output     what the program wrote, for the reason
 * @param ret_reason why it never ran; untouched when it did
 */
bool sandbox_plan_has_run(struct sandbox_plan *plan, const char *output, char ret_reason[256]);

/** The supervisor was killed: kill what it left of the command. */
void sandbox_plan_lost_supervisor(struct sandbox_plan *plan);

/**
 * Wait for the end of everything in the sandbox and disarm the git folders that it left.
 * @param ret_notes what was disarmed, for people; one line each
 * @return false when not all could be looked at; why is in `ret_reason`
 */
bool sandbox_plan_inspect(struct sandbox_plan *plan, struct buf *ret_notes, char ret_reason[256]);

/** Wait for the end of everything in the sandbox, remove its groups and folders. NULL is fine. */
void sandbox_plan_free(struct sandbox_plan *plan);
