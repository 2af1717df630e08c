// SPDX-License-Identifier: Apache-2.0
/*
 * The memories of an agent whose role has `spec.memory`: its tools, the sections of its system
 * prompt, and the episode that the end of a task leaves. What is stored commits in the
 * transaction of the result that reports it. On the loop's thread. An agent without memories has
 * NULL, which all functions take.
 */
#pragma once

#include "policy/request.h"
#include "rondo/error.h"

#include <stdbool.h>

struct agent_memories;
struct buf;
struct http_client;
struct loop;
struct model;
struct role;
struct runtime;
struct toolbox;

/** What memories need of their agent. Borrowed; the runtime and the client outlive them. */
struct agent_memories_parts {
    struct runtime *runtime;
    struct http_client *http;
    const struct role *role; /**< in its normal form */
    const char *agent_id;
    bool is_dry_run;
    bool is_autonomous;
    const char *prices_file; /**< see struct model_options; or NULL */
    bool needs_price;        /**< see struct embedding_parts */
};

/**
 * Prepare what `spec.memory` says and add its tools. Nothing when the role has no memory.
 * @param ret_memories agent_memories_free(), also after an error
 */
int agent_memories_open(const struct agent_memories_parts *parts, struct toolbox *toolbox,
                        struct agent_memories **ret_memories, struct rondo_error *err);
void agent_memories_free(struct agent_memories *memories);

/** The run that memories come from; before their tools are called. */
void agent_memories_attach(struct agent_memories *memories, struct loop *loop);

/** Messages that a resumed conversation begins with; 0 = all: the role has no memory. */
int64_t agent_memories_resume_messages(const struct agent_memories *memories);

/** The model for vectors, as policies see it. @return whether there is one */
bool agent_memories_model(const struct agent_memories *memories,
                          struct policy_resource *ret_resource);

struct embedding_usage;

/**
 * Take what requests for vectors have used since the last time.
 * @return whether there was one
 */
bool agent_memories_take_usage(struct agent_memories *memories, struct embedding_usage *ret_usage,
                               const struct model **ret_model);

/**
 * A conversation is resumed: find facts and episodes about what was said last, by their words. They
 * are a section of the system prompt from now on.
 * @param question what the person said last
 */
void agent_memories_recall(struct agent_memories *memories, const char *question);

/**
 * Append the sections of the system prompt: the newest procedures, and what was recalled.
 * @return false when they are the same as the last time or cannot be read; nothing is appended then
 */
bool agent_memories_write_sections(struct agent_memories *memories, struct buf *ret_system);

/** Remember how the task ended, with the next commit. @param status "completed", ... */
void agent_memories_record_end(struct agent_memories *memories, const char *status,
                               const char *summary);

/**
 * Remember, with the next commit, what a run that a trigger has started has answered. Nothing for
 * other runs.
 */
void agent_memories_record_answer(struct agent_memories *memories, const char *answer);
