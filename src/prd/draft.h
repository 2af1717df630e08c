// SPDX-License-Identifier: Apache-2.0
/*
 * A PRD while it is made from a text for people, task by task. Ids follow from the text alone:
 * those that are written, else the words of the title, so that reading a changed text again finds
 * the same tasks. Internal to src/prd. One thread.
 */
#pragma once

#include "base/buf.h"
#include "prd/findings.h"
#include "prd/lines.h"
#include "prd/prd.h"

/** The task that is being made. */
struct prd_draft_task {
    struct prd_task task;
    struct buf description;
    struct prd_criterion *criteria; /* owned */
    size_t criteria_count;
    const char **dependencies; /* owned */
    size_t dependency_count;
    bool depends_on_too_many; /* said already */
    struct buf criterion;     /* the last one, while lines are added to it */
    bool is_derived;
    size_t boxes;
    size_t ticked;
};

struct prd_draft {
    struct prd prd;
    struct prd_findings *findings;
    bool ticked_are_done;   /**< whether a task with all its boxes ticked is done */
    struct prd_task *tasks; /* owned */
    size_t size;
    struct prd_draft_task open;
    bool is_open;
    bool is_full; /* beyond LIMIT_PRD_TASKS */
};

/**
 * Begin a task; the one before is finished.
 * @param id not terminated; of len 0: made from the title
 */
void prd_draft_task(struct prd_draft *draft, const char *id, size_t id_len, const char *title,
                    size_t title_len, uint32_t line, uint32_t column);
/** Add a line to the description. */
void prd_draft_describe(struct prd_draft *draft, const char *text, size_t len);
/** Begin a criterion. */
void prd_draft_criterion(struct prd_draft *draft, const char *text, size_t len, bool is_derived);
/** Add to the last criterion: a line, or with `is_item` an item below it. */
void prd_draft_continue(struct prd_draft *draft, const char *text, size_t len, bool is_item);
/** Add a dependency. */
void prd_draft_depends(struct prd_draft *draft, const char *id, size_t len);
/** Count a box of the task. */
void prd_draft_box(struct prd_draft *draft, enum prd_box box);
/** Finish the last task and hand out the PRD; ids and dependencies are checked. */
void prd_draft_finish(struct prd_draft *draft, struct prd *ret_prd);

/** Id from the words of a text: "Show the list" is show-the-list. @return in the arena */
const char *prd_id_of_title(struct arena *arena, const char *title, size_t len);
