// SPDX-License-Identifier: Apache-2.0
/*
 * The normal form of a PRD: what all dialects of prd.json, Markdown PRDs, spec-kit lists and
 * .feature files have in common. It is read only; changes go into the file's own text (prd/edit.h),
 * never through this form, so nothing that a dialect has beyond it can be lost.
 *
 * One thread fills it, any may read it.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where a PRD comes from, which says what may be written into its file. */
enum prd_dialect {
    PRD_ARETE,       /**< userStories or tasks with status, passes and attemptCount */
    PRD_RALPH,       /**< userStories with passes; project, branchName */
    PRD_RALPH_TUI,   /**< the same with dependsOn or labels; no tasks, no status */
    PRD_STORIES,     /**< stories with status open, in_progress, done */
    PRD_TASK_MASTER, /**< tasks, perhaps below tags, with status words */
    PRD_LIST,        /**< an array of tasks, nothing around it */
    PRD_MARKDOWN,    /**< a PRD for people; never written */
    PRD_SPEC_KIT,    /**< a list of T001 lines; never written */
    PRD_GHERKIN,     /**< a .feature file; never written */
};

enum prd_status {
    PRD_PENDING,
    PRD_IN_PROGRESS,
    PRD_DONE,
    PRD_FAILED,
    PRD_SET_ASIDE, /**< by people: deferred, cancelled, blocked */
};

/** One thing that must hold when the task is done. */
struct prd_criterion {
    const char *text;
    const char *command; /**< that decides it (prd/command.h); NULL = somebody has to look */
    bool is_derived;     /**< concluded from other parts of the PRD, not written as a criterion */
};

/** The priority of a task that has none: after all others. */
#define PRD_NO_PRIORITY INT32_MAX

struct prd_task {
    const char *id; /**< as text, unique; without control characters */
    const char *title;
    const char *description; /**< "" when there is none; may have several lines */
    const struct prd_criterion *criteria;
    size_t criteria_count;
    const char *const *dependencies; /**< ids */
    size_t dependency_count;
    int32_t priority; /**< lower is earlier */
    uint32_t order;   /**< its place in the file, from 0 */
    enum prd_status status;
    bool passes;        /**< whether it counts as done: status is PRD_DONE */
    bool is_disputed;   /**< the file says both done and not done: not done, verify again */
    uint32_t attempts;  /**< as the file says */
    const char *notes;  /**< "" when there are none */
    const char *commit; /**< NULL = none */
    uint32_t line;      /**< place in the file, from 1; 0 = unknown */
    uint32_t column;
};

struct prd {
    enum prd_dialect dialect;
    const char *name;   /**< "" when the file has none */
    const char *text;   /**< goal or description; "" */
    const char *branch; /**< NULL = none */
    const char *tag;    /**< of task-master: the list that was read; NULL = the file has no tags */
    const char *const *gates; /**< commands that the file wants to pass for each task */
    size_t gate_count;
    const struct prd_task *tasks; /**< in the order of the file */
    size_t task_count;
    struct arena arena; /**< owns all of the above */
};

/** Release all and leave it zeroed. A zeroed PRD is allowed. */
void prd_fini(struct prd *prd);

/** Task of an id. @return NULL when there is none */
const struct prd_task *prd_find(const struct prd *prd, const char *id);

/** Tasks with a status. */
size_t prd_count(const struct prd *prd, enum prd_status status);

/** Name of a dialect as options and JSON have it ("ralph-tui"). Static. */
const char *prd_dialect_name(enum prd_dialect dialect);

/** Name of a status ("in_progress"). Static. */
const char *prd_status_name(enum prd_status status);

/**
 * Status that a word of any dialect means ("complete", "done", "in-progress", "open").
 * @return whether the word is known
 */
bool prd_status_of(const char *word, enum prd_status *ret_status);

/** Copy of a text in the arena. */
const char *prd_keep(struct arena *arena, const char *bytes, size_t len);

#define auto_prd __attribute__((cleanup(prd_fini)))
