// SPDX-License-Identifier: Apache-2.0
/*
 * The tools of the type `todo`: a list that the agent changes item by item, with priorities and
 * with items that wait for others. The list is the agent's plan. Pure.
 */
#pragma once

#include "agent/plan/plan.h"

struct todo_tool {
    const char *name;
    const char *description;
    const char *schema;
};

/** Row number `i`, or NULL past the last. Static. */
const struct todo_tool *todo_tool_at(size_t i);
const struct todo_tool *todo_tool_find(const char *name);

enum todo_outcome {
    TODO_READ = 0,
    TODO_CHANGED,
    TODO_REFUSED, /**< the plan is as it was; the text says why */
};

/**
 * Call one.
 * @param name      todo_tool_find() knows it
 * @param arguments fit its schema
 * @param max_items of the list
 * @param ret_text  what the model reads
 */
enum todo_outcome todo_call(struct plan *plan, const char *name, struct json_object *arguments,
                            size_t max_items, struct buf *ret_text);

/** Whether there are items, and each is completed, failed or skipped. */
bool todo_is_over(const struct plan *plan);
