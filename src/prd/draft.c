// SPDX-License-Identifier: Apache-2.0
/* A PRD while it is made. */
#include "prd/draft.h"

#include "base/ascii.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "prd/command.h"
#include "prd/graph.h"

#include <stdlib.h>
#include <string.h>

/** Bytes of an id that is made from a title. */
#define TITLE_ID_BYTES 60

const char *prd_id_of_title(struct arena *arena, const char *title, size_t len)
{
    char id[TITLE_ID_BYTES + 1];
    size_t at = 0;
    for (size_t i = 0; i < len && at < TITLE_ID_BYTES;) {
        size_t step = utf8_sequence_len(title + i, len - i);
        if (step > 1 && at + step <= TITLE_ID_BYTES) {
            memcpy(id + at, title + i, step);
            at += step;
        } else if (step > 1) {
            break;
        } else if (ascii_is_letter_or_digit(title[i])) {
            id[at++] = ascii_lower(title[i]);
        } else if (at > 0 && id[at - 1] != '-' && title[i] != '`' && title[i] != '\'') {
            id[at++] = '-';
        }
        i += step == 0 ? 1 : step;
    }
    while (at > 0 && id[at - 1] == '-') {
        at--;
    }
    return at == 0 ? "task" : prd_keep(arena, id, at);
}

static bool is_taken(const struct prd_draft *draft, const char *id)
{
    for (size_t i = 0; i < draft->prd.task_count; i++) {
        if (strcmp(draft->tasks[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

/** The same title again gets a number. */
static const char *free_id(struct prd_draft *draft, const char *wanted)
{
    struct buf id = {0};
    buf_append_string(&id, wanted);
    for (unsigned i = 2; is_taken(draft, buf_string(&id)) && i < LIMIT_PRD_TASKS; i++) {
        buf_clear(&id);
        buf_printf(&id, "%s-%u", wanted, i);
    }
    const char *kept = prd_keep(&draft->prd.arena, buf_string(&id), id.len);
    buf_fini(&id);
    return kept;
}

/** Text without control characters, for a title or an id. */
static const char *keep_line(struct arena *arena, const char *text, size_t len, size_t limit)
{
    char *line = arena_new(arena, len + 1);
    size_t at = 0;
    for (size_t i = 0; i < len && at < limit; i++) {
        unsigned char byte = (unsigned char)text[i];
        line[at++] = byte < 0x20 || byte == 0x7f ? ' ' : text[i];
    }
    line[at] = '\0';
    return line;
}

/* ---- The open task -------------------------------------------------------------------------- */

static void close_criterion(struct prd_draft *draft)
{
    struct prd_draft_task *open = &draft->open;
    if (open->criterion.len == 0) {
        return;
    }
    if (open->criteria_count == LIMIT_PRD_CRITERIA) {
        prd_finding_add(draft->findings, true, "too-many-criteria", open->task.line,
                        open->task.column, "task \"%s\" has more than %d criteria; split it",
                        open->task.id, LIMIT_PRD_CRITERIA);
        buf_clear(&open->criterion);
        return;
    }
    struct arena *arena = &draft->prd.arena;
    const char *text = prd_keep(arena, open->criterion.data, open->criterion.len);
    open->criteria =
        memory_resize(open->criteria, open->criteria_count + 1, sizeof(*open->criteria));
    open->criteria[open->criteria_count++] = (struct prd_criterion){
        .text = text, .command = prd_command_of(arena, text), .is_derived = open->is_derived};
    buf_clear(&open->criterion);
}

static void *keep_array(struct arena *arena, const void *items, size_t count, size_t size)
{
    void *kept = arena_new_array(arena, count, size);
    if (count > 0) {
        memcpy(kept, items, count * size);
    }
    return kept;
}

static void close_task(struct prd_draft *draft)
{
    struct prd_draft_task *open = &draft->open;
    struct arena *arena = &draft->prd.arena;
    if (!draft->is_open) {
        return;
    }
    close_criterion(draft);
    struct prd_task *task = &draft->tasks[draft->prd.task_count];
    const char *text = buf_string(&open->description);
    size_t len = open->description.len;
    while (len > 0 && ascii_is_space(text[len - 1])) {
        len--;
    }
    *task = open->task;
    task->description = prd_keep(arena, text, len);
    task->criteria =
        keep_array(arena, open->criteria, open->criteria_count, sizeof(*open->criteria));
    task->criteria_count = open->criteria_count;
    task->dependencies =
        keep_array(arena, open->dependencies, open->dependency_count, sizeof(*open->dependencies));
    task->dependency_count = open->dependency_count;
    if (draft->ticked_are_done && open->boxes > 0 && open->ticked == open->boxes) {
        task->status = PRD_DONE;
        task->passes = true;
    }
    draft->prd.task_count++;
    buf_fini(&open->description);
    buf_fini(&open->criterion);
    free(open->criteria);
    free(open->dependencies);
    *open = (struct prd_draft_task){0};
    draft->is_open = false;
}

static void check_title(struct prd_draft *draft, size_t len, uint32_t line, uint32_t column)
{
    if (len > LIMIT_PRD_TITLE_BYTES) {
        prd_finding_add(draft->findings, true, "long-title", line, column,
                        "a title has at most %ld bytes, and this one %zu; shorten it",
                        LIMIT_PRD_TITLE_BYTES, len);
    }
}

void prd_draft_task(struct prd_draft *draft, const char *id, size_t id_len, const char *title,
                    size_t title_len, uint32_t line, uint32_t column)
{
    struct arena *arena = &draft->prd.arena;
    close_task(draft);
    if (draft->prd.task_count == LIMIT_PRD_TASKS) {
        if (!draft->is_full) {
            prd_finding_add(draft->findings, true, "too-many-tasks", line, column,
                            "more than %d tasks", LIMIT_PRD_TASKS);
        }
        draft->is_full = true;
        return;
    }
    if (draft->prd.task_count == draft->size) {
        draft->size = draft->size == 0 ? 16 : draft->size * 2;
        draft->tasks = memory_resize(draft->tasks, draft->size, sizeof(*draft->tasks));
    }
    if (id_len > LIMIT_PRD_ID_BYTES) {
        prd_finding_add(draft->findings, true, "bad-id", line, column, "an id has at most %d bytes",
                        LIMIT_PRD_ID_BYTES);
    }
    prd_trim(&title, &title_len);
    check_title(draft, title_len, line, column);
    const char *own = id_len > 0 ? keep_line(arena, id, id_len, LIMIT_PRD_ID_BYTES)
                                 : free_id(draft, prd_id_of_title(arena, title, title_len));
    draft->open.task = (struct prd_task){
        .id = own,
        .title = title_len == 0 ? own : keep_line(arena, title, title_len, LIMIT_PRD_TITLE_BYTES),
        .notes = "",
        .priority = PRD_NO_PRIORITY,
        .order = (uint32_t)draft->prd.task_count,
        .line = line,
        .column = column,
    };
    draft->is_open = true;
}

void prd_draft_describe(struct prd_draft *draft, const char *text, size_t len)
{
    struct buf *description = &draft->open.description;
    if (draft->is_open && (len > 0 || description->len > 0)) {
        buf_append(description, text, len);
        buf_append_string(description, "\n");
    }
}

void prd_draft_criterion(struct prd_draft *draft, const char *text, size_t len, bool is_derived)
{
    if (draft->is_open && len > 0) {
        close_criterion(draft);
        buf_append(&draft->open.criterion, text, len);
        draft->open.is_derived = is_derived;
    }
}

void prd_draft_continue(struct prd_draft *draft, const char *text, size_t len, bool is_item)
{
    struct buf *criterion = &draft->open.criterion;
    if (draft->is_open && criterion->len > 0 && len > 0) {
        buf_append_string(criterion, is_item ? "\n- " : " ");
        buf_append(criterion, text, len);
    }
}

/** Once for each task. */
static void refuse_dependencies(struct prd_draft *draft)
{
    struct prd_draft_task *open = &draft->open;
    if (!open->depends_on_too_many) {
        prd_finding_add(draft->findings, true, "too-many-dependencies", open->task.line,
                        open->task.column,
                        "task \"%s\" depends on more than %d tasks; let it depend on the last ones "
                        "only, or on one that collects them",
                        open->task.id, LIMIT_PRD_DEPENDENCIES);
    }
    open->depends_on_too_many = true;
}

void prd_draft_depends(struct prd_draft *draft, const char *id, size_t len)
{
    struct prd_draft_task *open = &draft->open;
    if (!draft->is_open || len == 0) {
        return;
    }
    if (open->dependency_count == LIMIT_PRD_DEPENDENCIES) {
        refuse_dependencies(draft);
        return;
    }
    open->dependencies =
        memory_resize(open->dependencies, open->dependency_count + 1, sizeof(*open->dependencies));
    open->dependencies[open->dependency_count++] =
        keep_line(&draft->prd.arena, id, len, LIMIT_PRD_ID_BYTES);
}

void prd_draft_box(struct prd_draft *draft, enum prd_box box)
{
    draft->open.boxes += box != PRD_BOX_NONE;
    draft->open.ticked += box == PRD_BOX_TICKED;
}

void prd_draft_finish(struct prd_draft *draft, struct prd *ret_prd)
{
    struct prd *prd = &draft->prd;
    close_task(draft);
    prd->name = prd->name == NULL ? "" : prd->name;
    prd->text = prd->text == NULL ? "" : prd->text;
    prd->tasks = keep_array(&prd->arena, draft->tasks, prd->task_count, sizeof(*draft->tasks));
    free(draft->tasks);
    prd_graph_check(prd, draft->findings);
    *ret_prd = *prd;
}
