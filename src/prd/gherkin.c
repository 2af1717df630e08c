// SPDX-License-Identifier: Apache-2.0
/*
 * Gherkin: a Feature is a task, each Scenario a criterion with its steps. A tag that looks like an
 * id (@US-1) above a Feature is its id. English keywords only; another language is said and not
 * guessed.
 */
#include "base/ascii.h"
#include "prd/import_kinds.h"

#include <string.h>

struct gherkin {
    struct prd_draft *draft;
    const char *tag; /* the last one that looks like an id */
    size_t tag_len;
    bool is_scenario;
    bool is_text; /* in a doc string */
};

/** The rest of a line after a keyword. */
static bool has_keyword(const struct prd_line *line, const char *const *words,
                        const char **ret_text, size_t *ret_len)
{
    for (; *words != NULL; words++) {
        size_t len = strlen(*words);
        if (line->len >= len && strncmp(line->text, *words, len) == 0) {
            *ret_text = line->text + len;
            *ret_len = line->len - len;
            prd_trim(ret_text, ret_len);
            return true;
        }
    }
    return false;
}

/** Whether a tag is an id: upper-case letters, a dash, digits. */
static bool is_id(const char *text, size_t len)
{
    size_t letters = 0;
    while (letters < len && ((text[letters] >= 'A' && text[letters] <= 'Z'))) {
        letters++;
    }
    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_letter_or_digit(text[i]) && strchr("-._", text[i]) == NULL) {
            return false;
        }
    }
    return letters > 0 && letters + 1 < len && text[letters] == '-' &&
           ascii_is_digit(text[letters + 1]) && ascii_is_digit(text[len - 1]);
}

static void take_tags(struct gherkin *gherkin, const struct prd_line *line)
{
    for (size_t at = 0; at < line->len;) {
        size_t len = 0;
        while (at + len < line->len && !ascii_is_space(line->text[at + len])) {
            len++;
        }
        if (len > 1 && line->text[at] == '@' && is_id(line->text + at + 1, len - 1)) {
            gherkin->tag = line->text + at + 1;
            gherkin->tag_len = len - 1;
        }
        at += len + 1;
    }
}

static void take_feature(struct gherkin *gherkin, const struct prd_line *line, const char *title,
                         size_t len)
{
    struct prd_draft *draft = gherkin->draft;
    if (draft->prd.name == NULL) {
        draft->prd.name = prd_keep(&draft->prd.arena, title, len);
    }
    prd_draft_task(draft, gherkin->tag, gherkin->tag_len, title, len, line->number, line->column);
    gherkin->tag_len = 0;
    gherkin->is_scenario = false;
}

static void take_line(struct gherkin *gherkin, const struct prd_line *line)
{
    static const char *const features[] = {"Feature:", NULL};
    static const char *const scenarios[] = {
        "Scenario Outline:", "Scenario Template:", "Scenario:", "Example:", NULL};
    static const char *const grounds[] = {"Background:", "Rule:", NULL};
    struct prd_draft *draft = gherkin->draft;
    const char *text = NULL;
    size_t len = 0;
    bool is_fence = line->len >= 3 &&
                    (strncmp(line->text, "\"\"\"", 3) == 0 || strncmp(line->text, "```", 3) == 0);
    gherkin->is_text = gherkin->is_text != is_fence;
    if (!gherkin->is_text && !is_fence && line->len > 0 && line->text[0] == '#') {
        static const char language[] = "# language:";
        bool is_other = line->len > sizeof(language) && strncmp(line->text, language, 11) == 0 &&
                        memmem(line->text, line->len, "en", 2) == NULL;
        if (is_other) {
            prd_finding_add(draft->findings, true, "language", line->number, line->column,
                            "only English keywords of Gherkin are read");
        }
        return;
    }
    if (!gherkin->is_text && line->len > 0 && line->text[0] == '@') {
        take_tags(gherkin, line);
    } else if (!gherkin->is_text && has_keyword(line, features, &text, &len)) {
        take_feature(gherkin, line, text, len);
    } else if (!gherkin->is_text && has_keyword(line, scenarios, &text, &len)) {
        gherkin->is_scenario = true;
        prd_draft_criterion(draft, len == 0 ? line->text : text, len == 0 ? line->len : len, false);
    } else if (!gherkin->is_text && has_keyword(line, grounds, &text, &len)) {
        gherkin->is_scenario = false;
        prd_draft_describe(draft, line->text, line->len);
    } else if (gherkin->is_scenario) {
        prd_draft_continue(draft, line->text, line->len, true);
    } else {
        prd_draft_describe(draft, line->text, line->len);
    }
}

void prd_import_gherkin(struct prd_draft *draft, const char *text, size_t len)
{
    struct gherkin gherkin = {.draft = draft};
    struct prd_lines lines = prd_lines(text, len);
    struct prd_line line;
    while (prd_line_next(&lines, &line)) {
        take_line(&gherkin, &line);
    }
}
