// SPDX-License-Identifier: Apache-2.0
/*
 * Conversations whose turns are runs of their own: what a new run takes over from the run of the
 * turn before. It is a member of the run's options, so a resume needs no other run, and a turn
 * costs the same after ten turns and after a thousand. Pure.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_object;
struct loop_spec;

/** What a turn follows from. Borrowed. */
struct carry_turn {
    const char *source;             /**< id of the source */
    const char *key;                /**< which conversation of the source */
    const struct loop_spec *before; /**< of the turn before; NULL = it is the first */
    const char *answer;             /**< to the turn before */
    const char *summary; /**< that the turn before made of what it took over; NULL = none */
    size_t kept;         /**< with a summary: messages that the turn before took over and kept */
};

/**
 * Make a new run a turn of a conversation. It takes over the newest messages: with its own prompt
 * at most `max_history_messages` of its role, of one with memory also at most
 * `max_resume_messages`; and no more than LIMIT_CONVERSATION_BYTES.
 * @param spec of a role
 */
int carry_over(struct loop_spec *spec, const struct carry_turn *turn, struct rondo_error *err);

/**
 * Which conversation a run is a turn of.
 * @param ret_source owned, as ret_key; set only when it is one
 */
bool carry_find(const struct loop_spec *spec, char **ret_source, char **ret_key);

/**
 * What a run took over, as its options have it: texts of the user and the agent in turn.
 * @return borrowed from `agent`; or NULL
 */
struct json_object *carry_messages(struct json_object *agent);

/** The summary of what was said before those messages; borrowed from `agent`, or NULL. */
const char *carry_summary(struct json_object *agent);
