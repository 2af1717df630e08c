// SPDX-License-Identifier: Apache-2.0
/*
 * Task lists of spec-kit: "- [ ] T001 [P] [US1] Text with a path", in phases. The order of the list
 * is the order of work; [P] marks tasks that do not wait for each other. Dependencies follow from
 * that: a task waits for the last one before it without [P], or for all those with [P] since, and a
 * phase for the one before it.
 */
#include "base/ascii.h"
#include "base/memory.h"
#include "prd/import_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Ids that the next tasks wait for. */
struct spec_ids {
    const char **ids;
    size_t *lens;
    size_t count;
};

struct spec_kit {
    struct prd_draft *draft;
    struct spec_ids base; /* what a parallel task waits for */
    struct spec_ids open; /* parallel tasks since */
    const char *phase;
    size_t phase_len;
    int32_t priority; /* of the phase */
};

bool prd_is_spec_kit_item(const struct prd_item *item, size_t *ret_len)
{
    size_t len = 1;
    while (len < item->len && ascii_is_digit(item->text[len])) {
        len++;
    }
    *ret_len = len;
    return item->box != PRD_BOX_NONE && item->len > len && item->text[0] == 'T' && len >= 3 &&
           len <= 7 && item->text[len] == ' ';
}

static void add_id(struct spec_ids *ids, const char *id, size_t len)
{
    ids->ids = memory_resize(ids->ids, ids->count + 1, sizeof(*ids->ids));
    ids->lens = memory_resize(ids->lens, ids->count + 1, sizeof(*ids->lens));
    ids->ids[ids->count] = id;
    ids->lens[ids->count++] = len;
}

static void move_ids(struct spec_ids *to, struct spec_ids *from)
{
    free(to->ids);
    free(to->lens);
    *to = *from;
    *from = (struct spec_ids){0};
}

static void depend_on(struct prd_draft *draft, const struct spec_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        prd_draft_depends(draft, ids->ids[i], ids->lens[i]);
    }
}

/** Take marks such as [P] and [US1] off a text. @return whether [P] was among them */
static bool take_marks(const char **text, size_t *len, const char **ret_story,
                       size_t *ret_story_len)
{
    bool is_parallel = false;
    for (;;) {
        while (*len > 0 && ascii_is_space(**text)) {
            (*text)++;
            (*len)--;
        }
        const char *close = *len > 2 && **text == '[' ? memchr(*text, ']', *len) : NULL;
        size_t inner = close == NULL ? 0 : (size_t)(close - *text) - 1;
        bool is_p = inner == 1 && ascii_upper((*text)[1]) == 'P';
        bool is_story = inner > 2 && inner < 8 && strncasecmp(*text + 1, "US", 2) == 0;
        if (!is_p && !is_story) {
            return is_parallel;
        }
        is_parallel = is_parallel || is_p;
        if (is_story) {
            *ret_story = *text + 1;
            *ret_story_len = inner;
        }
        *text += inner + 2;
        *len -= inner + 2;
    }
}

static void take_item(struct spec_kit *kit, const struct prd_item *item, size_t id_len,
                      const struct prd_line *line)
{
    struct prd_draft *draft = kit->draft;
    const char *id = item->text;
    const char *text = item->text + id_len;
    size_t len = item->len - id_len;
    const char *story = NULL;
    size_t story_len = 0;
    bool is_parallel = take_marks(&text, &len, &story, &story_len);
    prd_draft_task(draft, id, id_len, text, len, line->number, line->column);
    draft->open.task.priority = kit->priority;
    if (kit->phase_len > 0) {
        struct buf about = {0};
        buf_printf(&about, "Phase: %.*s", (int)kit->phase_len, kit->phase);
        if (story_len > 0) {
            buf_printf(&about, "; story %.*s", (int)story_len, story);
        }
        prd_draft_describe(draft, about.data, about.len);
        buf_fini(&about);
    }
    prd_draft_criterion(draft, text, len, true);
    prd_draft_box(draft, item->box);
    depend_on(draft, is_parallel || kit->open.count == 0 ? &kit->base : &kit->open);
    if (is_parallel) {
        add_id(&kit->open, id, id_len);
        return;
    }
    struct spec_ids alone = {0};
    struct spec_ids none = {0};
    add_id(&alone, id, id_len);
    move_ids(&kit->base, &alone);
    move_ids(&kit->open, &none);
}

static void take_phase(struct spec_kit *kit, const char *text, size_t len)
{
    const char *priority = memmem(text, len, "Priority: P", 11);
    kit->phase = text;
    kit->phase_len = len;
    kit->priority = priority != NULL && priority + 11 < text + len && ascii_is_digit(priority[11])
                        ? priority[11] - '0'
                        : PRD_NO_PRIORITY;
    if (kit->open.count > 0) {
        move_ids(&kit->base, &kit->open);
    }
}

void prd_import_spec_kit(struct prd_draft *draft, const char *text, size_t len)
{
    struct spec_kit kit = {.draft = draft, .priority = PRD_NO_PRIORITY};
    struct prd_lines lines = prd_lines(text, len);
    struct prd_line line;
    struct prd_item item;
    while (prd_line_next(&lines, &line)) {
        const char *title = NULL;
        size_t title_len = 0;
        size_t id_len = 0;
        unsigned level = prd_line_heading(&line, &title, &title_len);
        if (level == 1 && draft->prd.name == NULL) {
            bool is_tasks = title_len > 7 && strncasecmp(title, "Tasks: ", 7) == 0;
            title += is_tasks ? 7 : 0;
            title_len -= is_tasks ? 7 : 0;
            draft->prd.name = prd_keep(&draft->prd.arena, title, title_len);
        } else if (level == 2) {
            take_phase(&kit, title, title_len);
        } else if (prd_line_item(&line, &item) && prd_is_spec_kit_item(&item, &id_len)) {
            take_item(&kit, &item, id_len, &line);
        }
    }
    struct spec_ids none = {0};
    move_ids(&kit.base, &none);
    none = (struct spec_ids){0};
    move_ids(&kit.open, &none);
}
