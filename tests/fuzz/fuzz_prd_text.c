// SPDX-License-Identifier: Apache-2.0
/*
 * PRDs for people: the input as Markdown, spec-kit and Gherkin. What is read is written as JSON and
 * read again as the same tasks; reading twice gives the same ids. And as a progress log, within its
 * budget.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "prd/import.h"
#include "prd/json.h"
#include "prd/progress.h"
#include "prd/write.h"

#include <string.h>

static void check_written(const struct prd *prd)
{
    struct buf json = {0};
    struct buf again = {0};
    struct prd back = {0};
    struct prd_findings findings = {0};
    FUZZ_CHECK(prd_write(prd, PRD_ARETE, NULL, 1, &json, NULL, NULL) == 0);
    FUZZ_CHECK(prd_json_read(json.data, json.len, NULL, &back, &findings, NULL) == 0);
    FUZZ_CHECK(back.task_count == prd->task_count);
    for (size_t i = 0; i < prd->task_count; i++) {
        FUZZ_CHECK(back.tasks[i].status == prd->tasks[i].status);
        FUZZ_CHECK(back.tasks[i].criteria_count <= prd->tasks[i].criteria_count);
    }
    prd_fini(&back);
    prd_findings_fini(&findings);
    buf_fini(&json);
    buf_fini(&again);
}

static void check_kind(enum prd_dialect kind, const char *text, size_t size)
{
    struct prd prd = {0};
    struct prd twice = {0};
    struct prd_findings findings = {0};
    FUZZ_CHECK(prd_import(kind, text, size, true, &prd, &findings, NULL) == 0);
    FUZZ_CHECK(prd_import(kind, text, size, true, &twice, &findings, NULL) == 0);
    FUZZ_CHECK(prd.task_count == twice.task_count);
    for (size_t i = 0; i < prd.task_count; i++) {
        FUZZ_CHECK(strcmp(prd.tasks[i].id, twice.tasks[i].id) == 0);
        FUZZ_CHECK(prd.tasks[i].id[0] != '\0' && strchr(prd.tasks[i].title, '\n') == NULL);
    }
    check_written(&prd);
    prd_fini(&prd);
    prd_fini(&twice);
    prd_findings_fini(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct buf excerpt = {0};
    check_kind(PRD_MARKDOWN, text, size);
    check_kind(PRD_SPEC_KIT, text, size);
    check_kind(PRD_GHERKIN, text, size);
    prd_progress_excerpt(text, size, 3, size / 2, &excerpt);
    FUZZ_CHECK(excerpt.len <= size / 2);
    buf_fini(&excerpt);
    free(text);
    return 0;
}
