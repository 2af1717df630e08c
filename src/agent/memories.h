// SPDX-License-Identifier: Apache-2.0
/*
 * The memories of an agent whose role has `spec.memory`: its tools, what its system prompt says of
 * learned procedures, and the episode that the end of a task leaves. What is stored commits in the
 * transaction of the result that reports it. On the loop's thread.
 */
#pragma once

#include "policy/request.h"
#include "rondo/error.h"

#include <stdbool.h>

struct agent;

/** Prepare what `spec.memory` says and add its tools. Nothing when the role has no memory. */
int agent_open_memories(struct agent *agent, const char *agent_id, struct rondo_error *err);
void agent_free_memories(struct agent *agent);

/** Messages that a resumed conversation begins with; 0 = all: the role has no memory. */
int64_t agent_resume_messages(const struct agent *agent);

/** The model for vectors of memories, as policies see it. @return whether there is one */
bool agent_embedding_model(const struct agent *agent, struct policy_resource *ret_resource);

/** Put the newest procedures into the system prompt. When they cannot be read, it stays as it is.
 */
void agent_offer_procedures(struct agent *agent);

/** Remember how the task ended, with the next commit. @param status "completed", ... */
void agent_remember_finish(struct agent *agent, const char *status, const char *summary);
