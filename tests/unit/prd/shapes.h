// SPDX-License-Identifier: Apache-2.0
/*
 * The 37 shapes of prd.json that one project has committed over its time, made again from their
 * counts: 288 tasks; the list is `userStories` 30 times and `tasks` 7 times; of the members of the
 * head branchName is missing 3 times, goal 5 times, metadata 8 times; 39 tasks have no `passes`, 17
 * no `status`, 5 are complete with passes false; further members: dependsOn 30, dependencies 14,
 * filesToRead 27, files 17, contextFiles 17, warnings 41, commitSha 39.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SHAPES           37
#define SHAPE_TASKS      288
#define SHAPES_DISPUTED  5
#define SHAPES_NO_PASSES 39
#define SHAPES_NO_STATUS 17

/** Tasks of a shape: 8 in the most, and 288 in all. */
static inline size_t shape_tasks(size_t shape)
{
    return shape < 29 ? 8 : 7;
}

/** Number of a task over all shapes. */
static inline size_t shape_first(size_t shape)
{
    return shape <= 29 ? shape * 8 : 29 * 8 + (shape - 29) * 7;
}

static inline bool shape_is_tasks(size_t shape)
{
    return shape % 5 == 4; /* 7 of 37 */
}

/* Which of the 288 tasks have what: by their number, so that the counts come out exactly. */
static inline bool task_lacks_status(size_t task)
{
    return task < SHAPES_NO_STATUS;
}

static inline bool task_lacks_passes(size_t task)
{
    return task >= 100 && task < 100 + SHAPES_NO_PASSES;
}

static inline bool task_is_disputed(size_t task)
{
    return task >= 200 && task < 200 + SHAPES_DISPUTED;
}

/** Of the others every third is done. */
static inline bool task_is_done(size_t task)
{
    return !task_is_disputed(task) && task % 3 == 0;
}

static inline void shape_task(size_t shape, size_t i, const char *eol, struct buf *out)
{
    size_t task = shape_first(shape) + i;
    buf_printf(out, "    {%s      \"id\": \"task-%zu\",%s", eol, i + 1, eol);
    buf_printf(out, "      \"title\": \"Title \\u00e9 %zu\",%s", i + 1, eol);
    buf_printf(out, "      \"description\": \"Line\\nand \\\"more\\\"\",%s", eol);
    buf_printf(out, "      \"acceptanceCriteria\": [\"`npm test` passes\", \"It works\"]");
    if (!task_lacks_status(task)) {
        bool says_done = task_is_done(task) || task_is_disputed(task);
        buf_printf(out, ",%s      \"status\": \"%s\"", eol, says_done ? "complete" : "pending");
    }
    if (!task_lacks_passes(task)) {
        buf_printf(out, ",%s      \"passes\" : %s", eol, task_is_done(task) ? "true" : "false");
    }
    buf_printf(out, ",%s      \"attemptCount\": %d", eol, task_is_done(task) ? 1 : 0);
    if (i > 0 && task % 8 == 1 && task < 30 * 8) {
        buf_printf(out, ",%s      \"dependsOn\": [\"task-%zu\"]", eol, i);
    }
    if (i > 0 && task >= 30 * 8 && task < 30 * 8 + 16) {
        buf_printf(out, ",%s      \"dependencies\": [ ]", eol);
    }
    if (task % 10 == 2) {
        buf_printf(out, ",%s      \"filesToRead\": [\"src/a.ts\",\"b\"]", eol);
    }
    if (task % 7 == 3) {
        buf_printf(out, ",%s      \"warnings\": {\"n\": 1.50e+3, \"m\": -0}", eol);
    }
    if (task % 17 == 5) {
        buf_printf(out, ",%s      \"files\": [],%s      \"contextFiles\": null", eol, eol);
    }
    if (task_is_done(task) && task % 2 == 0) {
        buf_printf(out, ",%s      \"commitSha\": \"%040zx\"", eol, task);
    }
    buf_printf(out, "%s    }", eol);
}

/** One of the 37, with its own line ends, indentation and end. */
static inline void shape_text(size_t shape, struct buf *out)
{
    const char *eol = shape % 6 == 5 ? "\r\n" : "\n";
    size_t done = 0;
    buf_printf(out, "%s{%s", shape % 9 == 8 ? "\xef\xbb\xbf" : "", eol);
    buf_printf(out, "  \"name\": \"plan-%zu\",%s", shape, eol);
    if (shape % 12 != 7) { /* missing 3 times */
        buf_printf(out, "  \"branchName\": \"feature/plan-%zu\",%s", shape, eol);
    }
    if (shape % 7 != 6) { /* missing 5 times */
        buf_printf(out, "  \"goal\": \"Make it so\",%s", eol);
    }
    buf_printf(out, "  \"%s\": [%s", shape_is_tasks(shape) ? "tasks" : "userStories", eol);
    for (size_t i = 0; i < shape_tasks(shape); i++) {
        done += task_is_done(shape_first(shape) + i);
        shape_task(shape, i, eol, out);
        buf_printf(out, "%s%s", i + 1 < shape_tasks(shape) ? "," : "", eol);
    }
    buf_printf(out, "  ]");
    if (shape % 5 != 0) { /* missing 8 times */
        buf_printf(out, ",%s  \"metadata\": {%s    \"createdAt\": \"2026-02-06T10:00:00Z\",%s", eol,
                   eol, eol);
        buf_printf(out, "    \"totalTasks\": %zu,%s    \"completedTasks\": %zu,%s",
                   shape_tasks(shape), eol, done, eol);
        buf_printf(out, "    \"failedTasks\": 0%s  }", eol);
    }
    buf_printf(out, "%s}%s", eol, shape % 4 == 3 ? "" : eol);
}
