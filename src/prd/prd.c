// SPDX-License-Identifier: Apache-2.0
/* The normal form: words and looking things up. */
#include "prd/prd.h"

#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const dialect_names[] = {
    [PRD_ARETE] = "arete",
    [PRD_RALPH] = "ralph",
    [PRD_RALPH_TUI] = "ralph-tui",
    [PRD_STORIES] = "stories",
    [PRD_TASK_MASTER] = "task-master",
    [PRD_LIST] = "list",
    [PRD_MARKDOWN] = "markdown",
    [PRD_SPEC_KIT] = "spec-kit",
    [PRD_GHERKIN] = "gherkin",
};

static const char *const status_names[] = {
    [PRD_PENDING] = "pending", [PRD_IN_PROGRESS] = "in_progress", [PRD_DONE] = "done",
    [PRD_FAILED] = "failed",   [PRD_SET_ASIDE] = "set_aside",
};

/* Words of all dialects. `review` of task-master is work that nobody has accepted yet. */
static const struct {
    const char *word;
    enum prd_status status;
} status_words[] = {
    {"pending", PRD_PENDING},
    {"open", PRD_PENDING},
    {"todo", PRD_PENDING},
    {"not_started", PRD_PENDING},
    {"not-started", PRD_PENDING},
    {"in_progress", PRD_IN_PROGRESS},
    {"in-progress", PRD_IN_PROGRESS},
    {"in progress", PRD_IN_PROGRESS},
    {"review", PRD_IN_PROGRESS},
    {"complete", PRD_DONE},
    {"completed", PRD_DONE},
    {"done", PRD_DONE},
    {"failed", PRD_FAILED},
    {"deferred", PRD_SET_ASIDE},
    {"cancelled", PRD_SET_ASIDE},
    {"canceled", PRD_SET_ASIDE},
    {"blocked", PRD_SET_ASIDE},
    {"skipped", PRD_SET_ASIDE},
    {"set_aside", PRD_SET_ASIDE},
};

void prd_fini(struct prd *prd)
{
    arena_fini(&prd->arena);
    memset(prd, 0, sizeof(*prd));
}

const struct prd_task *prd_find(const struct prd *prd, const char *id)
{
    for (size_t i = 0; i < prd->task_count; i++) {
        if (strcmp(prd->tasks[i].id, id) == 0) {
            return &prd->tasks[i];
        }
    }
    return NULL;
}

size_t prd_count(const struct prd *prd, enum prd_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < prd->task_count; i++) {
        count += prd->tasks[i].status == status;
    }
    return count;
}

const char *prd_dialect_name(enum prd_dialect dialect)
{
    return dialect_names[dialect];
}

const char *prd_status_name(enum prd_status status)
{
    return status_names[status];
}

bool prd_status_of(const char *word, enum prd_status *ret_status)
{
    for (size_t i = 0; i < COUNT(status_words); i++) {
        if (strcasecmp(status_words[i].word, word) == 0) {
            *ret_status = status_words[i].status;
            return true;
        }
    }
    return false;
}

const char *prd_keep(struct arena *arena, const char *bytes, size_t len)
{
    char *copy = arena_new(arena, len + 1);
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    copy[len] = '\0';
    return copy;
}
