// SPDX-License-Identifier: Apache-2.0
/*
 * An agent at an address. What it answers is hostile: bounded, and text for the model at most.
 * Addresses are those that the guard allows. Variables of headers are read when the tool is opened,
 * and go to the origin of the address only. Any thread.
 */
#pragma once

#include "tool/builtin/http_call.h"

#include <stdint.h>

/** Begin of all errors that the model reads. */
#define DELEGATION_ERROR "[DELEGATION ERROR] "

/** How long an agent has to answer that it cancels a task: the run waits, and may be ending. */
#define REMOTE_CANCEL_S 2

/** Texts are borrowed. */
struct remote_agent {
    const struct tool_surroundings *around;
    const char *name; /**< as the role calls it */
    const char *url;
    const struct tool_headers *headers;
    int64_t timeout_s;
};

/** `mode: mcp`: `POST URL/v1/chat/completions`, as InitRunner's and other servers of agents take.
 */
void remote_chat(const struct remote_agent *agent, const char *prompt, const struct tool_call *call,
                 struct tool_result *ret_result);

/** `mode: a2a`: JSON-RPC of A2A 1.0, or of 0.3 where the agent's card says so. The call
 * lasts until the task ends; a task that has not ended with it is cancelled, best effort.
 */
void remote_a2a(const struct remote_agent *agent, const char *prompt, const struct tool_call *call,
                struct tool_result *ret_result);
