// SPDX-License-Identifier: Apache-2.0
/*
 * What an agent gets: its request as it is now, and decisions ("handoff.decided"). Persons are
 * named by their roles; the audit chain alone has their names. Any thread.
 */
#pragma once

#include "base/json/json.h"
#include "handoff/storage/store.h"

/**
 * Append a request as its agent sees it, with `decision` null while there is none.
 * @return 0, or why the documents cannot be read
 */
int wire_answer_write(const struct handoff_store *handoffs, const struct handoff *handoff,
                      struct buf *ret_json, struct rondo_error *err);

/** Whether there is something that an agent has to act on: a decision, or questions. */
bool wire_is_decided(const struct handoff *handoff);

/** An entry of the audit chain of which the agent is told. Texts are borrowed. */
struct wire_notice {
    const char *kind;        /**< handoff_fact_name() */
    const char *decision_id; /**< NULL or "" = none */
    const char *role;        /**< NULL or "" = time, or none */
    int64_t time_ns;
    struct json_object *details; /**< comment, questions, constraints; or NULL */
};

/** Append a decision, or a notice of what an agent must only know, as a member. */
void wire_decision_write(struct json_writer *writer, const char *key, const struct handoff *handoff,
                         const char *trace_id, const struct wire_notice *notice);
