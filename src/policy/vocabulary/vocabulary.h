// SPDX-License-Identifier: Apache-2.0
/*
 * The words that policies for Rondo may use: actions, entity types with their attributes, and what
 * the context of each action holds. One table, from which come the lint at load time, the shipped
 * rondo.cedarschema, the reference in docs/policies.md, and the context that the runtime builds.
 */
#pragma once

#include "rondo/cedar.h"

struct buf;

/** The action that an agent requests. The order is that of the documentation. */
enum vocabulary_action {
    ACTION_ITERATE,
    ACTION_CALL_MODEL,
    ACTION_CALL_TOOL,
    ACTION_REMEMBER,
    ACTION_RECALL,
    ACTION_VERIFY,
    ACTION_CHECKPOINT,
    ACTION_FINISH,
    VOCABULARY_ACTION_COUNT,
};

/** Attributes of the context, in the order of the documentation. */
enum vocabulary_context {
    CONTEXT_ITERATION,            /**< Long: completed iterations, 0 before the first */
    CONTEXT_ELAPSED_S,            /**< Long: active seconds */
    CONTEXT_TOKENS,               /**< Long */
    CONTEXT_COST_USD,             /**< decimal */
    CONTEXT_CONSECUTIVE_FAILURES, /**< Long */
    CONTEXT_CONDITIONS_MET,       /**< Long */
    CONTEXT_CONDITIONS_TOTAL,     /**< Long */
    CONTEXT_APPROVED,             /**< Bool: a person has approved this very step */
    CONTEXT_NOW,                  /**< datetime, UTC */
    CONTEXT_WEEKDAY,              /**< Long: 1 = Monday ... 7 = Sunday, UTC (ISO 8601) */
    CONTEXT_SYSTEM,               /**< record {now: datetime}: the shape of AgentCore */
    CONTEXT_INPUT,                /**< record: iterate {iteration: Long}; call_tool its arguments;
                                       remember and recall {kind: String, category: String};
                                       empty for other actions */
    CONTEXT_RAW,                  /**< record: the same as the agent wrote it */
    CONTEXT_CONDITION,            /**< String, verify only: name of the exit condition */
    VOCABULARY_CONTEXT_COUNT,
};

/** Id of an action: "iterate". Static. */
const char *vocabulary_action_name(enum vocabulary_action action);
/** @return whether there is such an action; only then `*ret_action` is set */
bool vocabulary_action_from_name(const char *name, enum vocabulary_action *ret_action);
/** What the action is about, one line. Static. */
const char *vocabulary_action_help(enum vocabulary_action action);
/** Entity type of the resource of an action: "Run", "Tool", "Memory". Static. */
const char *vocabulary_action_resource(enum vocabulary_action action);

/** Name of a context attribute: "elapsed_s". Static. */
const char *vocabulary_context_name(enum vocabulary_context attribute);
/** Whether the context of an action holds an attribute; then it always does. */
bool vocabulary_has_context(enum vocabulary_action action, enum vocabulary_context attribute);

/**
 * The entities that are always there: the actions with their groups, as Cedar entities JSON. The
 * action `iterate` is in `AgentCore::Action::"loop___iterate"`, so that a policy with `action in
 * AgentCore::Action::"loop___iterate"` serves both here and with an AgentCore gateway.
 */
void vocabulary_write_actions(struct buf *ret_json);

/** Append rondo.cedarschema in Cedar's schema syntax. */
void vocabulary_write_schema(struct buf *ret_text);

/** Append the reference for docs/policies.md, in Markdown. */
void vocabulary_describe(struct buf *ret_text);
