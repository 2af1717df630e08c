// SPDX-License-Identifier: Apache-2.0
/*
 * The plan of an agent: a list of steps that it replaces as a whole with `update_plan`, or changes
 * one by one with the tools of `todo` (agent/plan/todo.h); then each step has an id and a priority.
 * It is part of each continuation prompt, so that it survives the trimming of history. Plain
 * values; one thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

enum plan_status {
    PLAN_PENDING = 0,
    PLAN_IN_PROGRESS,
    PLAN_COMPLETED,
    PLAN_FAILED,
    PLAN_SKIPPED,
    PLAN_STATUS_COUNT,
};

enum plan_priority {
    PLAN_CRITICAL = 0,
    PLAN_HIGH,
    PLAN_MEDIUM,
    PLAN_LOW,
    PLAN_PRIORITY_COUNT,
};

/** Bytes of an id with its NUL: eight hexadecimal digits. */
#define PLAN_ID_SIZE 9
/** Items that one of `todo` waits for. */
#define PLAN_DEPENDS_MAX 16

struct plan_step {
    char *description;
    char *notes; /**< "" = none */
    enum plan_status status;
    char id[PLAN_ID_SIZE]; /**< "" = a step of update_plan; the rest belongs to items of todo */
    enum plan_priority priority;
    char depends_on[PLAN_DEPENDS_MAX][PLAN_ID_SIZE];
    size_t depends_count;
    bool is_final; /**< finalize_plan was called: the list is being worked on */
};

struct plan {
    struct plan_step *steps;
    size_t count;
};

/** Bytes that are kept of a description or of notes. */
#define PLAN_TEXT_MAX_BYTES ((size_t)4096)
/** Steps that any plan holds, whatever the role allows. */
#define PLAN_STEPS_MAX 1000

void plan_fini(struct plan *plan);

/**
 * Replace the plan by an array of objects with `description`, `status` and `notes`. Steps without
 * a description are left out, an unknown status reads as pending, steps beyond `max_steps` are
 * dropped (0 and less: all of them).
 * @return false when `steps` is no array of objects; then nothing changed
 */
bool plan_replace(struct plan *plan, struct json_object *steps, int64_t max_steps);

/** The same for what plan_write_json wrote: ids, priorities and the rest are read too. */
bool plan_load(struct plan *plan, struct json_object *steps);

/** What `update_plan` answers: "Plan updated: 1 completed, 2 pending", "Plan cleared." */
void plan_write_answer(const struct plan *plan, struct buf *ret_text);

/** The checklist of a continuation prompt. */
void plan_write_state(const struct plan *plan, struct buf *ret_text);

/** The steps as a JSON array, as plan_replace reads it. */
void plan_write_json(const struct plan *plan, struct buf *ret_json);

/** @return false when there is no such status */
bool plan_status_from_name(const char *name, enum plan_status *ret_status);
/** "critical", "high", ... @return false when there is no such priority */
bool plan_priority_from_name(const char *name, enum plan_priority *ret_priority);
