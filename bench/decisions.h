// SPDX-License-Identifier: Apache-2.0
/* Questions to the Cedar engine as the figures ask them. Every function dies on failure. */
#pragma once

#include "rondo/cedar.h"

#include <stddef.h>

struct buf;

/** One question, and all that it needs. Zeroed = empty; decisions_fini(). */
struct decisions {
    char *text; /**< of the policies */
    struct cedar_policies *policies;
    struct cedar_entities *entities;
    struct cedar_context *context;
    struct cedar_uid *principal;
    struct cedar_uid *action;
    struct cedar_uid *resource;
    struct cedar_evaluator *evaluator;
};

/** The agent's next iteration, before the five policies of a careful administrator. */
void decisions_iterate(struct decisions *ret_decisions);
/** A call of a tool whose arguments are looked at, before five policies. */
void decisions_call_tool(struct decisions *ret_decisions);
/**
 * The same as decisions_iterate among `count` policies: those five, and limits of other agents,
 * permissions of other tools and rules of other groups.
 */
void decisions_among(struct decisions *ret_decisions, size_t count);

void decisions_fini(struct decisions *decisions);

/** Append the question as JSON: policies, entities, principal, action, resource, context. */
void decisions_write(const struct decisions *decisions, struct buf *ret_json);

/** The text of decisions_among. @return free() it */
char *decisions_text(size_t count);
/** A policy set of a text. */
struct cedar_policies *decisions_parse(const char *text);

/** Nanoseconds for one decision, from `count` of them in a row. Each must allow. */
double decisions_ns(struct decisions *decisions, size_t count);
/** Nanoseconds for one call of a function that does nothing. */
double decisions_empty_call_ns(size_t count);
