// SPDX-License-Identifier: Apache-2.0
/* The list of `todo`: what each tool does to a plan. */
#include "agent/plan/todo.h"

#include "base/digest.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

typedef enum todo_outcome todo_fn(struct plan *plan, struct json_object *arguments,
                                  size_t max_items, struct buf *ret_text);

/* ---- The list -------------------------------------------------------------------------------- */

static struct plan_step *find_item(const struct plan *plan, const char *id)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (strcmp(plan->steps[i].id, id) == 0) {
            return &plan->steps[i];
        }
    }
    return NULL;
}

static bool is_terminal(const struct plan_step *item)
{
    return item->status == PLAN_COMPLETED || item->status == PLAN_FAILED ||
           item->status == PLAN_SKIPPED;
}

bool todo_is_over(const struct plan *plan)
{
    size_t open = 0;
    for (size_t i = 0; i < plan->count; i++) {
        open += is_terminal(&plan->steps[i]) ? 0 : 1;
    }
    return plan->count > 0 && open == 0;
}

static void write_list(const struct plan *plan, struct buf *ret_text)
{
    if (plan->count == 0) {
        buf_append_string(ret_text, "(No todo items)");
    } else {
        plan_write_state(plan, ret_text);
    }
}

static enum todo_outcome changed(const struct plan *plan, struct buf *ret_text)
{
    write_list(plan, ret_text);
    return TODO_CHANGED;
}

static enum todo_outcome refuse_id(const char *id, struct buf *ret_text)
{
    buf_printf(ret_text, "Error: there is no item '%.60s'; list_todos shows the ids", id);
    return TODO_REFUSED;
}

/** An id follows from the words of the item and from how many there are: tests can know it. */
static void set_new_id(const struct plan *plan, const char *description, char *ret_id)
{
    char hex[DIGEST_HEX_SIZE];
    for (size_t i = plan->count;; i++) {
        struct digest digest = digest_begin();
        unsigned char bytes[DIGEST_SIZE];
        digest_add_u64(&digest, i);
        digest_add(&digest, description, strlen(description));
        digest_finish(&digest, bytes);
        digest_hex(bytes, hex);
        memcpy(ret_id, hex, PLAN_ID_SIZE - 1);
        ret_id[PLAN_ID_SIZE - 1] = '\0';
        if (find_item(plan, ret_id) == NULL) {
            return;
        }
    }
}

static char *dup_text(const char *text)
{
    return memory_dup_bytes(text, strnlen(text, PLAN_TEXT_MAX_BYTES));
}

/** Add an item without what it waits for. */
static struct plan_step *append_item(struct plan *plan, struct json_object *object)
{
    struct plan_step item = {
        .description = dup_text(json_get_string(object, "description", "")),
        .notes = memory_dup_string(""),
        .priority = PLAN_MEDIUM,
    };
    plan_priority_from_name(json_get_string(object, "priority", ""), &item.priority);
    item.is_final = plan->count > 0 && plan->steps[0].is_final;
    set_new_id(plan, item.description, item.id);
    plan->steps = memory_resize(plan->steps, plan->count + 1, sizeof(*plan->steps));
    plan->steps[plan->count] = item;
    return &plan->steps[plan->count++];
}

/**
 * Note what an item waits for: ids, and of a batch the indexes of its items.
 * @param first of the batch in the plan
 */
static bool add_dependencies(struct plan *plan, size_t item, struct json_object *list, size_t first,
                             size_t count, struct buf *ret_text)
{
    size_t given = json_length(list);
    struct plan_step *step = &plan->steps[item];
    if (given > PLAN_DEPENDS_MAX) {
        buf_printf(ret_text, "Error: an item can wait for %d others at most", PLAN_DEPENDS_MAX);
        return false;
    }
    for (size_t i = 0; i < given; i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const struct plan_step *other = NULL;
        if (json_object_is_type(one, json_type_int)) {
            int64_t index = json_object_get_int64(one);
            bool is_there = index >= 0 && (uint64_t)index < count;
            other = is_there ? &plan->steps[first + (size_t)index] : NULL;
        } else {
            other = find_item(plan, json_object_get_string(one));
        }
        if (other == NULL || other == step) {
            buf_printf(ret_text, "Error: depends_on: there is no other item '%.60s'",
                       json_object_get_string(one));
            return false;
        }
        memcpy(step->depends_on[step->depends_count++], other->id, PLAN_ID_SIZE);
    }
    return true;
}

static bool waits_only_for(const struct plan *plan, const struct plan_step *step, const bool *done)
{
    for (size_t i = 0; i < step->depends_count; i++) {
        const struct plan_step *other = find_item(plan, step->depends_on[i]);
        if (other != NULL && !done[other - plan->steps]) {
            return false;
        }
    }
    return true;
}

/** Whether items wait for each other in a circle: some could never be done in any order. */
static bool has_circle(const struct plan *plan)
{
    bool *done = memory_new_zero(plan->count + 1, sizeof(*done));
    size_t left = plan->count;
    bool is_moving = true;
    while (is_moving) {
        is_moving = false;
        for (size_t i = 0; i < plan->count; i++) {
            if (!done[i] && waits_only_for(plan, &plan->steps[i], done)) {
                done[i] = true;
                is_moving = true;
                left--;
            }
        }
    }
    free(done);
    return left > 0;
}

/* ---- The tools ------------------------------------------------------------------------------- */

static bool has_room(const struct plan *plan, size_t more, size_t max_items, struct buf *ret_text)
{
    if (plan->count + more > max_items) {
        buf_printf(ret_text, "Error: the list can have %zu items at most", max_items);
        return false;
    }
    return true;
}

static enum todo_outcome add_items(struct plan *plan, struct json_object **items, size_t count,
                                   size_t max_items, struct buf *ret_text)
{
    size_t first = plan->count;
    bool is_right = has_room(plan, count, max_items, ret_text);
    for (size_t i = 0; i < count && is_right; i++) {
        is_right = json_get_string(items[i], "description", "")[0] != '\0';
        if (is_right) {
            append_item(plan, items[i]);
        } else {
            buf_append_string(ret_text, "Error: an item needs a `description`");
        }
    }
    for (size_t i = 0; i < count && is_right; i++) {
        is_right = add_dependencies(plan, first + i, json_member(items[i], "depends_on"), first,
                                    count, ret_text);
    }
    if (is_right && has_circle(plan)) {
        buf_append_string(ret_text, "Error: these items wait for each other in a circle");
        is_right = false;
    }
    return is_right ? changed(plan, ret_text) : TODO_REFUSED;
}

static enum todo_outcome add(struct plan *plan, struct json_object *arguments, size_t max_items,
                             struct buf *ret_text)
{
    return add_items(plan, &arguments, 1, max_items, ret_text);
}

static enum todo_outcome add_batch(struct plan *plan, struct json_object *arguments,
                                   size_t max_items, struct buf *ret_text)
{
    struct json_object *list = json_member(arguments, "items");
    size_t count = json_object_array_length(list);
    if (count > max_items) {
        has_room(plan, count, max_items, ret_text);
        return TODO_REFUSED;
    }
    struct json_object **items = memory_new_zero(count + 1, sizeof(struct json_object *));
    for (size_t i = 0; i < count; i++) {
        items[i] = json_object_array_get_idx(list, i);
    }
    enum todo_outcome outcome = add_items(plan, items, count, max_items, ret_text);
    free(items);
    return outcome;
}

static enum todo_outcome update(struct plan *plan, struct json_object *arguments, size_t max_items,
                                struct buf *ret_text)
{
    (void)max_items;
    const char *id = json_get_string(arguments, "item_id", "");
    const char *notes = json_get_string(arguments, "notes", NULL);
    struct plan_step *item = find_item(plan, id);
    if (item == NULL) {
        return refuse_id(id, ret_text);
    }
    plan_status_from_name(json_get_string(arguments, "status", ""), &item->status);
    plan_priority_from_name(json_get_string(arguments, "priority", ""), &item->priority);
    if (notes != NULL) {
        free(item->notes);
        item->notes = dup_text(notes);
    }
    return changed(plan, ret_text);
}

static void forget_dependency(struct plan_step *item, const char *id)
{
    size_t kept = 0;
    for (size_t i = 0; i < item->depends_count; i++) {
        if (strcmp(item->depends_on[i], id) != 0) {
            memmove(item->depends_on[kept++], item->depends_on[i], PLAN_ID_SIZE);
        }
    }
    item->depends_count = kept;
}

static enum todo_outcome drop(struct plan *plan, struct json_object *arguments, size_t max_items,
                              struct buf *ret_text)
{
    (void)max_items;
    const char *id = json_get_string(arguments, "item_id", "");
    struct plan_step *item = find_item(plan, id);
    if (item == NULL) {
        return refuse_id(id, ret_text);
    }
    free(item->description);
    free(item->notes);
    plan->count--;
    memmove(item, item + 1, (size_t)(plan->steps + plan->count - item) * sizeof(*item));
    for (size_t i = 0; i < plan->count; i++) {
        forget_dependency(&plan->steps[i], id);
    }
    return changed(plan, ret_text);
}

static enum todo_outcome list(struct plan *plan, struct json_object *arguments, size_t max_items,
                              struct buf *ret_text)
{
    (void)max_items;
    enum plan_status status = PLAN_PENDING;
    if (!plan_status_from_name(json_get_string(arguments, "status_filter", ""), &status)) {
        write_list(plan, ret_text);
        return TODO_READ;
    }
    struct plan some = {.steps = memory_new_zero(plan->count + 1, sizeof(*some.steps))};
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].status == status) {
            some.steps[some.count++] = plan->steps[i]; /* texts are borrowed */
        }
    }
    write_list(&some, ret_text);
    free(some.steps);
    return TODO_READ;
}

/** Whether all that an item waits for is over. */
static bool is_ready(const struct plan *plan, const struct plan_step *item)
{
    bool is_clear = item->status == PLAN_PENDING;
    for (size_t i = 0; i < item->depends_count && is_clear; i++) {
        const struct plan_step *other = find_item(plan, item->depends_on[i]);
        is_clear = other == NULL || is_terminal(other);
    }
    return is_clear;
}

static enum todo_outcome next(struct plan *plan, struct json_object *arguments, size_t max_items,
                              struct buf *ret_text)
{
    (void)arguments;
    (void)max_items;
    struct plan best = {0};
    for (size_t i = 0; i < plan->count; i++) {
        bool is_better = best.count == 0 || plan->steps[i].priority < best.steps->priority;
        if (is_ready(plan, &plan->steps[i]) && is_better) {
            best = (struct plan){.steps = &plan->steps[i], .count = 1};
        }
    }
    if (best.count > 0) {
        write_list(&best, ret_text);
    } else {
        buf_append_string(ret_text, todo_is_over(plan) ? "All items are done."
                                                       : "No item is ready to be worked on.");
    }
    return TODO_READ;
}

#define ITEM_PROPERTIES                                                                      \
    "\"description\":{\"type\":\"string\",\"description\":\"What has to be done\"},"         \
    "\"priority\":{\"type\":\"string\",\"enum\":[\"critical\",\"high\",\"medium\",\"low\"]," \
    "\"default\":\"medium\"},"
#define STATUSES "[\"pending\",\"in_progress\",\"completed\",\"failed\",\"skipped\"]"
#define OBJECT(properties, required)                                                    \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]," \
    "\"additionalProperties\":false}"

static const struct {
    struct todo_tool tool;
    todo_fn *call;
} tools[] = {
    {{"add_todo", "Add an item to the list.",
      OBJECT(ITEM_PROPERTIES "\"depends_on\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                             "\"description\":\"Ids of items that must be done before\"}",
             "\"description\"")},
     add},
    {{"batch_add_todos", "Add several items to the list at once.",
      OBJECT("\"items\":{\"type\":\"array\",\"items\":" OBJECT(
                 ITEM_PROPERTIES
                 "\"depends_on\":{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"integer\"]},"
                 "\"description\":\"Ids, or indexes of this batch, from 0\"}",
                 "\"description\"") "}",
             "\"items\"")},
     add_batch},
    {{"update_todo", "Change an item: its status, notes or priority.",
      OBJECT("\"item_id\":{\"type\":\"string\"},\"status\":{\"type\":\"string\",\"enum\":" STATUSES
             "},\"notes\":{\"type\":\"string\",\"description\":\"Findings worth keeping\"},"
             "\"priority\":{\"type\":\"string\",\"enum\":[\"critical\",\"high\",\"medium\","
             "\"low\"]}",
             "\"item_id\"")},
     update},
    {{"remove_todo", "Remove an item from the list.",
      OBJECT("\"item_id\":{\"type\":\"string\"}", "\"item_id\"")},
     drop},
    {{"list_todos", "Show the list.",
      OBJECT("\"status_filter\":{\"type\":\"string\",\"enum\":" STATUSES "}", "")},
     list},
    {{"get_next_todo", "The most important item that can be worked on now.", OBJECT("", "")}, next},
};
#define TOOL_COUNT (sizeof(tools) / sizeof(tools[0]))

const struct todo_tool *todo_tool_at(size_t i)
{
    return i < TOOL_COUNT ? &tools[i].tool : NULL;
}

const struct todo_tool *todo_tool_find(const char *name)
{
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        if (strcmp(tools[i].tool.name, name) == 0) {
            return &tools[i].tool;
        }
    }
    return NULL;
}

enum todo_outcome todo_call(struct plan *plan, const char *name, struct json_object *arguments,
                            size_t max_items, struct buf *ret_text)
{
    size_t i = 0;
    while (strcmp(tools[i].tool.name, name) != 0) {
        i++;
    }
    return tools[i].call(plan, arguments, max_items, ret_text);
}
