// SPDX-License-Identifier: Apache-2.0
/*
 * How an autonomous agent is led through its task: the section `reasoning` of its role and the tool
 * type `todo`. It decides the words of prompts and which of the loop's own tools are offered; what
 * an agent has reached is in its plan and in the count of its reflections, so that a resume
 * continues with the same words.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;
struct role;

enum strategy_pattern {
    STRATEGY_REACT = 0,
    STRATEGY_TODO_DRIVEN,
    STRATEGY_PLAN_EXECUTE,
    STRATEGY_REFLEXION,
};

struct strategy_dimension {
    char *name;
    char *prompt;
};

struct strategy {
    enum strategy_pattern pattern;
    bool has_todo;
    size_t max_items; /**< of the list */
    bool plans_first; /**< auto_plan */
    size_t rounds;    /**< reflections after the first finish */
    struct strategy_dimension *dimensions;
    size_t dimension_count;
    char *criteria; /**< success_criteria, a line each; "" = none */
};

/** Read it from a role that still has its normal form. @param ret_strategy strategy_fini() */
void strategy_read(const struct role *role, struct strategy *ret_strategy);
void strategy_fini(struct strategy *strategy);

/** Append what comes before the first prompt, or nothing. */
void strategy_write_first(const struct strategy *strategy, const struct plan *plan,
                          struct buf *ret_text);
/** Append the words of a later prompt. @param usual those of the role */
void strategy_write_next(const struct strategy *strategy, const struct plan *plan,
                         const char *usual, struct buf *ret_text);
/**
 * Append the request to reflect on what was handed in.
 * @param round from 0, below `rounds`
 */
void strategy_write_reflection(const struct strategy *strategy, size_t round, const char *summary,
                               const char *status, struct buf *ret_text);
/** Whether an answer to finish_task is such a request. */
bool strategy_is_reflection(const char *answer);
