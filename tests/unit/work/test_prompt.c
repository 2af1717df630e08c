// SPDX-License-Identifier: Apache-2.0
#include "work/prompt.h"

#include "base/memory.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A text of so many bytes. free() */
static char *long_text(size_t len, const char *piece)
{
    struct buf text = {0};
    while (text.len + strlen(piece) <= len) {
        buf_append_string(&text, piece);
    }
    return buf_steal(&text);
}

struct prompt_scene {
    struct work_spec work;
    struct prd prd;
    struct prd_task task;
    struct work_task state;
    struct work_prompt prompt;
    struct buf text;
};

static int set_up(void **state)
{
    struct prompt_scene *scene = memory_new_zero(1, sizeof(*scene));
    scene->work.name = (char *)"the list";
    scene->prd.text = "";
    scene->task = (struct prd_task){.id = "T-1", .title = "Title", .description = "", .notes = ""};
    scene->prompt = (struct work_prompt){.work = &scene->work,
                                         .prd = &scene->prd,
                                         .task = &scene->task,
                                         .state = &scene->state,
                                         .attempt = 1,
                                         .progress = ""};
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct prompt_scene *scene = *state;
    buf_fini(&scene->text);
    free(scene);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

static const char *written(struct prompt_scene *scene)
{
    buf_clear(&scene->text);
    work_prompt_write(&scene->prompt, &scene->text);
    return buf_string(&scene->text);
}

static void expect(struct prompt_scene *scene, const char *part)
{
    if (strstr(written(scene), part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, buf_string(&scene->text));
    }
}

static void expect_not(struct prompt_scene *scene, const char *part)
{
    if (strstr(written(scene), part) != NULL) {
        fail_msg("'%s' is in:\n%s", part, buf_string(&scene->text));
    }
}

CASE(a_task_without_anything_is_its_title_and_the_rules)
{
    struct prompt_scene *scene = *state;
    expect(scene, "Task T-1: Title\n");
    expect(scene, "Do not commit");
    expect(scene, "The task is part of \"the list\"");
    expect_not(scene, "It is done when");
    expect_not(scene, "checks must pass");
    expect_not(scene, "Do not change, add or delete these files");
    expect_not(scene, "attempt");
    expect_not(scene, "progress log");
}

CASE(criteria_checks_and_protected_files_are_listed)
{
    struct prompt_scene *scene = *state;
    const struct prd_criterion criteria[] = {{.text = "first"}, {.text = "second"}};
    struct loop_condition checks[] = {{.name = (char *)"tests", .command = (char *)"make test"}};
    char *globs[] = {(char *)"tests/*", (char *)"Makefile", NULL};
    scene->task.criteria = criteria;
    scene->task.criteria_count = 2;
    scene->work.worker.conditions = checks;
    scene->work.worker.condition_count = 1;
    scene->work.protect = globs;
    expect(scene, "It is done when:\n- first\n- second\n");
    expect(scene, "These checks must pass:\n- tests: make test\n");
    expect(scene, "Do not change, add or delete these files:\n- tests/*\n- Makefile\n");
}

CASE(a_next_attempt_reads_why_the_one_before_failed)
{
    struct prompt_scene *scene = *state;
    scene->prompt.attempt = 2;
    scene->state.failed = 1;
    scene->state.message = (char *)"`make test` failed";
    scene->state.output = (char *)"1 of 2 failed";
    snprintf(scene->state.outcome, sizeof(scene->state.outcome), "checks_failed");
    expect(scene, "This is attempt 2.");
    expect(scene, "failed (checks_failed): `make test` failed\n");
    expect(scene, "End of the output:\n1 of 2 failed\n");
}

CASE(what_failed_before_the_task_was_begun_anew_is_not_told)
{
    struct prompt_scene *scene = *state;
    scene->state.failed = 0;
    scene->state.message = (char *)"ancient reason";
    expect_not(scene, "ancient reason");
}

CASE(long_texts_are_cut_between_characters_and_marked)
{
    struct prompt_scene *scene = *state;
    char *text = long_text(40000, "\xc3\xa4");
    text[0] = 'x'; /* so that the limit is within a character */
    text[1] = 'x';
    memmove(text, text + 1, strlen(text));
    scene->task.description = text;
    expect(scene, "\xc3\xa4 [...]\n");
    free(text);
}

CASE(a_text_of_exactly_the_limit_is_whole)
{
    struct prompt_scene *scene = *state;
    char *text = long_text((size_t)32 * 1024, "x");
    scene->task.description = text;
    expect_not(scene, "[...]");
    free(text);
}

CASE(a_prompt_stays_below_its_limit_whatever_the_prd_has)
{
    struct prompt_scene *scene = *state;
    char *text = long_text((size_t)LIMIT_PROMPT_BYTES, "words ");
    struct prd_criterion *criteria = memory_new_zero((size_t)LIMIT_PRD_CRITERIA, sizeof(*criteria));
    char **globs = memory_new_zero((size_t)LIMIT_ARGUMENTS + 1, sizeof(*globs));
    struct loop_condition checks[LIMIT_CONDITIONS];
    for (size_t i = 0; i < (size_t)LIMIT_PRD_CRITERIA; i++) {
        criteria[i].text = text;
    }
    for (size_t i = 0; i < (size_t)LIMIT_ARGUMENTS; i++) {
        globs[i] = text;
    }
    for (size_t i = 0; i < COUNT(checks); i++) {
        checks[i] = (struct loop_condition){.name = (char *)"check", .command = text};
    }
    scene->task.description = text;
    scene->task.notes = text;
    scene->task.criteria = criteria;
    scene->task.criteria_count = (size_t)LIMIT_PRD_CRITERIA;
    scene->prd.text = text;
    scene->work.protect = globs;
    scene->work.worker.conditions = checks;
    scene->work.worker.condition_count = COUNT(checks);
    scene->state.failed = 1;
    scene->state.message = (char *)"message";
    scene->state.output = text;
    char *progress = long_text((size_t)LIMIT_WORK_PROGRESS_BYTES, "x");
    scene->prompt.progress = progress;
    expect(scene, "more]\n");
    assert_true(scene->text.len < (size_t)LIMIT_PROMPT_BYTES);
    free(progress);
    free(globs);
    free(criteria);
    free(text);
}
