// SPDX-License-Identifier: Apache-2.0
/* Plans: reading what a model wrote, and the texts that follow from it. */
#include "agent/plan/plan.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    char mark; /* in the checklist */
} statuses[PLAN_STATUS_COUNT] = {
    [PLAN_PENDING] = {"pending", ' '},     [PLAN_IN_PROGRESS] = {"in_progress", '>'},
    [PLAN_COMPLETED] = {"completed", 'x'}, [PLAN_FAILED] = {"failed", '!'},
    [PLAN_SKIPPED] = {"skipped", '-'},
};

static const char *const priorities[PLAN_PRIORITY_COUNT] = {
    [PLAN_CRITICAL] = "critical",
    [PLAN_HIGH] = "high",
    [PLAN_MEDIUM] = "medium",
    [PLAN_LOW] = "low",
};

bool plan_status_from_name(const char *name, enum plan_status *ret_status)
{
    for (enum plan_status i = 0; i < PLAN_STATUS_COUNT; i++) {
        if (strcmp(statuses[i].name, name) == 0) {
            *ret_status = i;
            return true;
        }
    }
    return false;
}

bool plan_priority_from_name(const char *name, enum plan_priority *ret_priority)
{
    for (enum plan_priority i = 0; i < PLAN_PRIORITY_COUNT; i++) {
        if (strcmp(priorities[i], name) == 0) {
            *ret_priority = i;
            return true;
        }
    }
    return false;
}

/** "pending", "in_progress", ... Static. */
static const char *plan_status_name(enum plan_status status)
{
    return statuses[status].name;
}

void plan_fini(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        free(plan->steps[i].description);
        free(plan->steps[i].notes);
    }
    free(plan->steps);
    *plan = (struct plan){0};
}

static enum plan_status status_of(struct json_object *step)
{
    enum plan_status status = PLAN_PENDING;
    plan_status_from_name(json_get_string(step, "status", ""), &status);
    return status;
}

/** What an item of `todo` has besides. */
static void read_item(struct json_object *object, struct plan_step *step)
{
    struct json_object *list = json_member(object, "depends_on");
    size_t count = json_length(list);
    snprintf(step->id, sizeof(step->id), "%s", json_get_string(object, "id", ""));
    step->priority = PLAN_MEDIUM;
    plan_priority_from_name(json_get_string(object, "priority", ""), &step->priority);
    step->is_final = json_get_bool(object, "is_final", false);
    for (size_t i = 0; i < count && step->depends_count < PLAN_DEPENDS_MAX; i++) {
        struct json_object *id = json_object_array_get_idx(list, i);
        if (json_object_is_type(id, json_type_string)) {
            snprintf(step->depends_on[step->depends_count++], PLAN_ID_SIZE, "%s",
                     json_object_get_string(id));
        }
    }
}

static char *text_of(struct json_object *step, const char *key)
{
    const char *text = json_get_string(step, key, "");
    return memory_dup_bytes(text, strnlen(text, PLAN_TEXT_MAX_BYTES));
}

static bool are_objects(struct json_object *steps)
{
    if (!json_object_is_type(steps, json_type_array)) {
        return false;
    }
    for (size_t i = 0; i < json_object_array_length(steps); i++) {
        if (!json_object_is_type(json_object_array_get_idx(steps, i), json_type_object)) {
            return false;
        }
    }
    return true;
}

static bool replace(struct plan *plan, struct json_object *steps, int64_t max_steps, bool has_items)
{
    if (!are_objects(steps)) {
        return false;
    }
    size_t given = json_object_array_length(steps);
    size_t room = max_steps < 0                ? 0
                  : max_steps > PLAN_STEPS_MAX ? PLAN_STEPS_MAX
                                               : (size_t)max_steps;
    size_t count = given < room ? given : room;
    struct plan fresh = {.steps = memory_new_zero(count + 1, sizeof(*fresh.steps))};
    for (size_t i = 0; i < count; i++) {
        struct json_object *step = json_object_array_get_idx(steps, i);
        if (json_get_string(step, "description", "")[0] == '\0') {
            continue;
        }
        fresh.steps[fresh.count++] = (struct plan_step){
            .description = text_of(step, "description"),
            .notes = text_of(step, "notes"),
            .status = status_of(step),
        };
        if (has_items) {
            read_item(step, &fresh.steps[fresh.count - 1]);
        }
    }
    plan_fini(plan);
    *plan = fresh;
    return true;
}

bool plan_replace(struct plan *plan, struct json_object *steps, int64_t max_steps)
{
    return replace(plan, steps, max_steps, false);
}

bool plan_load(struct plan *plan, struct json_object *steps)
{
    return replace(plan, steps, PLAN_STEPS_MAX, true);
}

static size_t count_status(const struct plan *plan, enum plan_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        count += plan->steps[i].status == status;
    }
    return count;
}

void plan_write_answer(const struct plan *plan, struct buf *ret_text)
{
    /* In the order of their names. */
    static const enum plan_status order[] = {PLAN_COMPLETED, PLAN_FAILED, PLAN_IN_PROGRESS,
                                             PLAN_PENDING, PLAN_SKIPPED};
    if (plan->count == 0) {
        buf_append_string(ret_text, "Plan cleared.");
        return;
    }
    const char *separator = "Plan updated: ";
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        size_t count = count_status(plan, order[i]);
        if (count > 0) {
            buf_printf(ret_text, "%s%zu %s", separator, count, plan_status_name(order[i]));
            separator = ", ";
        }
    }
}

void plan_write_state(const struct plan *plan, struct buf *ret_text)
{
    if (plan->count == 0) {
        buf_append_string(ret_text, "(No plan created yet)");
        return;
    }
    bool has_items = plan->steps[0].id[0] != '\0';
    buf_append_string(ret_text, has_items ? "Todo List:" : "Current Plan:");
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        char mark = statuses[step->status].mark;
        if (has_items) {
            buf_printf(ret_text, "\n  [%c] %s [%s] ", mark, step->id, priorities[step->priority]);
        } else {
            buf_printf(ret_text, "\n  %zu. [%c] ", i + 1, mark == '>' ? ' ' : mark);
        }
        buf_append_string(ret_text, step->description);
        buf_printf(ret_text, " (%s)", plan_status_name(step->status));
        for (size_t k = 0; k < step->depends_count; k++) {
            buf_printf(ret_text, "%s%s", k == 0 ? " (deps: " : ", ", step->depends_on[k]);
        }
        buf_append_string(ret_text, step->depends_count > 0 ? ")" : "");
        if (step->notes[0] != '\0') {
            buf_append_string(ret_text, "\n       ");
            buf_append_string(ret_text, step->notes);
        }
    }
}

static void write_item(const struct plan_step *step, struct json_writer *writer)
{
    json_write_string(writer, "id", step->id);
    json_write_string(writer, "priority", priorities[step->priority]);
    if (step->depends_count > 0) {
        json_begin_array(writer, "depends_on");
        for (size_t i = 0; i < step->depends_count; i++) {
            json_write_string(writer, NULL, step->depends_on[i]);
        }
        json_end_array(writer);
    }
    if (step->is_final) {
        json_write_bool(writer, "is_final", true);
    }
}

void plan_write_json(const struct plan *plan, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "description", step->description);
        json_write_string(&writer, "status", plan_status_name(step->status));
        if (step->notes[0] != '\0') {
            json_write_string(&writer, "notes", step->notes);
        }
        if (step->id[0] != '\0') {
            write_item(step, &writer);
        }
        json_end_object(&writer);
    }
    json_end_array(&writer);
}
