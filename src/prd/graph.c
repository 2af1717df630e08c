// SPDX-License-Identifier: Apache-2.0
/*
 * Ids are looked up in a sorted list. Cycles are found by taking away tasks whose dependencies are
 * gone (Kahn): what stays is in a cycle or waits for one; walking back along what stays ends in a
 * cycle. No recursion, so a chain of all tasks is no deeper than one.
 */
#include "prd/graph.h"

#include "base/auto.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/** Tasks of a cycle that a message names. */
#define SHOWN_TASKS 8

struct graph {
    const struct prd *prd;
    struct prd_findings *findings;
    const struct prd_task **by_id; /* sorted; of equal ids the first of the file first */
};

static int compare_ids(const void *left, const void *right)
{
    const struct prd_task *a = *(const struct prd_task *const *)left;
    const struct prd_task *b = *(const struct prd_task *const *)right;
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static const struct prd_task *find(const struct graph *graph, const char *id)
{
    size_t low = 0;
    size_t high = graph->prd->task_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(graph->by_id[middle]->id, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low < graph->prd->task_count && strcmp(graph->by_id[low]->id, id) == 0;
    return is_found ? graph->by_id[low] : NULL;
}

static void check_ids(const struct graph *graph)
{
    for (size_t i = 1; i < graph->prd->task_count; i++) {
        const struct prd_task *first = graph->by_id[i - 1];
        const struct prd_task *task = graph->by_id[i];
        if (strcmp(first->id, task->id) == 0) {
            prd_finding_add(
                graph->findings, true, "duplicate-id", task->line, task->column,
                "the id \"%s\" is already used by the task in line %u; give this task another id",
                task->id, first->line);
        }
    }
}

static void check_dependencies(const struct graph *graph, const struct prd_task *task)
{
    for (size_t i = 0; i < task->dependency_count; i++) {
        const char *id = task->dependencies[i];
        const struct prd_task *other = find(graph, id);
        if (other == NULL) {
            prd_finding_add(graph->findings, true, "missing-dependency", task->line, task->column,
                            "task \"%s\" depends on \"%s\", which does not exist; correct the id "
                            "or remove the dependency",
                            task->id, id);
        } else if (strcmp(other->id, task->id) == 0) {
            prd_finding_add(graph->findings, true, "cycle", task->line, task->column,
                            "task \"%s\" depends on itself; remove the dependency", task->id);
        }
    }
}

/* ---- Cycles --------------------------------------------------------------------------------- */

/** The tasks that wait for each task, as one array with the place where each one's part begins. */
struct dependents {
    uint32_t *begins; /* task_count + 1 */
    uint32_t *tasks;
    uint32_t *open; /* dependencies of each task that are not taken away */
};

/** Call for every dependency that leads to another task. */
static void count_edges(const struct graph *graph, struct dependents *waiting, bool is_filling)
{
    for (size_t i = 0; i < graph->prd->task_count; i++) {
        const struct prd_task *task = &graph->prd->tasks[i];
        for (size_t k = 0; k < task->dependency_count; k++) {
            const struct prd_task *other = find(graph, task->dependencies[k]);
            if (other == NULL || other == task) {
                continue;
            }
            if (is_filling) {
                waiting->tasks[--waiting->begins[other->order]] = (uint32_t)i;
                waiting->open[i]++;
            } else {
                waiting->begins[other->order]++;
            }
        }
    }
}

static void find_waiting(const struct graph *graph, struct dependents *ret_waiting)
{
    size_t count = graph->prd->task_count;
    struct dependents waiting = {
        .begins = memory_new_zero(count + 1, sizeof(uint32_t)),
        .open = memory_new_zero(count, sizeof(uint32_t)),
    };
    count_edges(graph, &waiting, false);
    uint32_t sum = 0;
    for (size_t i = 0; i <= count; i++) {
        sum += waiting.begins[i];
        waiting.begins[i] = sum;
    }
    waiting.tasks = memory_new_zero((size_t)sum + 1, sizeof(uint32_t));
    count_edges(graph, &waiting, true);
    *ret_waiting = waiting;
}

/** Take away all tasks that can be done in some order. */
static void take_away(const struct graph *graph, struct dependents *waiting)
{
    size_t count = graph->prd->task_count;
    auto_free uint32_t *ready = memory_new_zero(count + 1, sizeof(uint32_t));
    size_t ready_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (waiting->open[i] == 0) {
            ready[ready_count++] = (uint32_t)i;
        }
    }
    while (ready_count > 0) {
        uint32_t task = ready[--ready_count];
        for (uint32_t k = waiting->begins[task]; k < waiting->begins[task + 1]; k++) {
            if (--waiting->open[waiting->tasks[k]] == 0) {
                ready[ready_count++] = waiting->tasks[k];
            }
        }
    }
}

/** A dependency of a task that was not taken away; there is one. */
static uint32_t open_dependency(const struct graph *graph, const struct dependents *waiting,
                                uint32_t task)
{
    const struct prd_task *from = &graph->prd->tasks[task];
    for (size_t i = 0; i < from->dependency_count; i++) {
        const struct prd_task *other = find(graph, from->dependencies[i]);
        if (other != NULL && other != from && waiting->open[other->order] > 0) {
            return other->order;
        }
    }
    return task;
}

static void report_cycle(const struct graph *graph, const struct dependents *waiting,
                         uint32_t start)
{
    auto_buf struct buf names = {0};
    uint32_t at = start;
    size_t shown = 0;
    do {
        if (shown++ < SHOWN_TASKS) {
            buf_printf(&names, "%s -> ", graph->prd->tasks[at].id);
        }
        at = open_dependency(graph, waiting, at);
    } while (at != start);
    const struct prd_task *task = &graph->prd->tasks[start];
    prd_finding_add(graph->findings, true, "cycle", task->line, task->column,
                    "tasks depend on each other in a circle of %zu: %s%s%s; remove one of these "
                    "dependencies",
                    shown, buf_string(&names), shown > SHOWN_TASKS ? "... -> " : "", task->id);
}

/** Walk from each task that stayed along what it waits for; a walk that meets itself is a cycle. */
static void check_cycles(const struct graph *graph)
{
    struct dependents waiting;
    find_waiting(graph, &waiting);
    take_away(graph, &waiting);
    size_t count = graph->prd->task_count;
    auto_free uint32_t *walk = memory_new_zero(count, sizeof(uint32_t)); /* 0 = not visited */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        while (waiting.open[at] > 0 && walk[at] == 0) {
            walk[at] = i + 1;
            at = open_dependency(graph, &waiting, at);
        }
        if (waiting.open[i] > 0 && walk[i] == i + 1 && walk[at] == i + 1) {
            report_cycle(graph, &waiting, at);
        }
    }
    free(waiting.begins);
    free(waiting.tasks);
    free(waiting.open);
}

void prd_graph_check(const struct prd *prd, struct prd_findings *findings)
{
    if (prd->task_count == 0) {
        return;
    }
    struct graph graph = {
        .prd = prd,
        .findings = findings,
        .by_id = memory_new_zero(prd->task_count, sizeof(const struct prd_task *)),
    };
    for (size_t i = 0; i < prd->task_count; i++) {
        graph.by_id[i] = &prd->tasks[i];
    }
    qsort(graph.by_id, prd->task_count, sizeof(*graph.by_id), compare_ids);
    check_ids(&graph);
    for (size_t i = 0; i < prd->task_count; i++) {
        check_dependencies(&graph, &prd->tasks[i]);
    }
    check_cycles(&graph);
    free(graph.by_id);
}
