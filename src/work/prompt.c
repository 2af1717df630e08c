// SPDX-License-Identifier: Apache-2.0
/* The prompt of an attempt: the task, what counts, what was learned, and what went wrong before. */
#include "work/prompt.h"

#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

/** Of the PRD's own description, bytes. */
#define MOST_DESCRIPTION ((size_t)8 * 1024)
/** Of a task's description. */
#define MOST_TASK ((size_t)32 * 1024)
/** Of one criterion, and of all of them; the latter also of all checks, and of all globs. */
#define MOST_CRITERION ((size_t)2000)
#define MOST_LIST      ((size_t)128 * 1024)

/** Append a line, cut between characters. */
static void append_cut(const char *text, size_t most, struct buf *ret_text)
{
    size_t len = strnlen(text, most);
    if (text[len] != '\0') {
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    buf_append(ret_text, text, len);
    if (text[len] != '\0') {
        buf_append_string(ret_text, " [...]");
    }
    buf_append_string(ret_text, "\n");
}

/** Whether a list that began at `start` has become too long; it is marked as cut. */
static bool is_full(struct buf *text, size_t start, size_t left)
{
    if (text->len - start < MOST_LIST) {
        return false;
    }
    buf_printf(text, "- [... %zu more]\n", left);
    return true;
}

static void add_criteria(const struct prd_task *task, struct buf *ret_text)
{
    if (task->criteria_count == 0) {
        return;
    }
    buf_append_string(ret_text, "\nIt is done when:\n");
    size_t start = ret_text->len;
    for (size_t i = 0; i < task->criteria_count; i++) {
        if (is_full(ret_text, start, task->criteria_count - i)) {
            return;
        }
        buf_append_string(ret_text, "- ");
        append_cut(task->criteria[i].text, MOST_CRITERION, ret_text);
    }
}

static void add_rules(const struct work_prompt *prompt, struct buf *ret_text)
{
    const struct loop_spec *worker = &prompt->work->worker;
    buf_append_string(ret_text,
                      "\nWork on this task only, in the current folder. Do not commit: Rondo runs "
                      "the checks and makes the commit. Do not edit the PRD, prd.json or "
                      "progress.txt.\n");
    if (worker->condition_count > 0) {
        buf_append_string(ret_text, "These checks must pass:\n");
    }
    size_t start = ret_text->len;
    for (size_t i = 0; i < worker->condition_count; i++) {
        if (is_full(ret_text, start, worker->condition_count - i)) {
            break;
        }
        buf_printf(ret_text, "- %s: ", worker->conditions[i].name);
        append_cut(worker->conditions[i].command, MOST_CRITERION, ret_text);
    }
    char *const *globs = prompt->work->protect;
    size_t count = memory_count_list((const char *const *)globs);
    buf_append_string(ret_text, count > 0 ? "Do not change, add or delete these files:\n" : "");
    start = ret_text->len;
    for (size_t i = 0; i < count && !is_full(ret_text, start, count - i); i++) {
        buf_append_string(ret_text, "- ");
        append_cut(globs[i], MOST_CRITERION, ret_text);
    }
}

static void add_failure(const struct work_prompt *prompt, struct buf *ret_text)
{
    const struct work_task *state = prompt->state;
    if (state->failed == 0 || state->message == NULL) {
        return;
    }
    buf_printf(ret_text, "\nThis is attempt %" PRId64 ". The previous attempt failed (%s): %s\n",
               prompt->attempt, state->outcome, state->message);
    if (state->output != NULL && state->output[0] != '\0') {
        buf_append_string(ret_text, "End of the output:\n");
        append_cut(state->output, (size_t)LIMIT_WORK_OUTPUT_BYTES, ret_text);
    }
}

void work_prompt_write(const struct work_prompt *prompt, struct buf *ret_text)
{
    const struct prd_task *task = prompt->task;
    buf_printf(ret_text, "Task %s: %s\n", task->id, task->title);
    if (task->description[0] != '\0') {
        buf_append_string(ret_text, "\n");
        append_cut(task->description, MOST_TASK, ret_text);
    }
    add_criteria(task, ret_text);
    if (task->notes[0] != '\0') {
        buf_append_string(ret_text, "\nNotes: ");
        append_cut(task->notes, 4000, ret_text);
    }
    add_rules(prompt, ret_text);
    add_failure(prompt, ret_text);
    buf_printf(ret_text, "\nThe task is part of \"%s\".\n", prompt->work->name);
    if (prompt->prd->text[0] != '\0') {
        append_cut(prompt->prd->text, MOST_DESCRIPTION, ret_text);
    }
    if (prompt->progress[0] != '\0') {
        buf_append_string(ret_text, "\nFrom the progress log:\n");
        buf_append_string(ret_text, prompt->progress);
    }
}
