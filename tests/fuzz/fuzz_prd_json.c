// SPDX-License-Identifier: Apache-2.0
/*
 * prd.json: no change leaves every byte; a change leaves JSON in the same dialect with the same
 * tasks, and the same change again changes nothing more.
 */
#include "fuzz.h"

#include "prd/edit.h"
#include "prd/json.h"
#include "prd/write.h"

#include <string.h>

static void check_edit(const char *text, size_t size, const struct prd *prd, enum prd_status status)
{
    struct prd_change change = {.id = prd->tasks[prd->task_count / 2].id,
                                .status = status,
                                .has_status = true,
                                .attempts = 3,
                                .notes = "a \"note\"\n",
                                .commit = "0f"};
    struct buf changed = {0};
    struct buf again = {0};
    struct prd back = {0};
    struct prd_findings findings = {0};
    FUZZ_CHECK(prd_edit(text, size, NULL, &change, 1, 1, &changed, NULL, NULL) == 0);
    FUZZ_CHECK(prd_json_read(changed.data, changed.len, NULL, &back, &findings, NULL) == 0);
    FUZZ_CHECK(back.task_count == prd->task_count);
    FUZZ_CHECK(prd_edit(changed.data, changed.len, NULL, &change, 1, 1, &again, NULL, NULL) == 0);
    FUZZ_CHECK(again.len == changed.len && memcmp(again.data, changed.data, again.len) == 0);
    prd_fini(&back);
    prd_findings_fini(&findings);
    buf_fini(&changed);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct prd prd = {0};
    struct prd_findings findings = {0};
    struct buf same = {0};
    if (prd_json_read(text, size, NULL, &prd, &findings, NULL) == 0) {
        FUZZ_CHECK(prd_edit(text, size, NULL, NULL, 0, 1, &same, NULL, NULL) == 0);
        FUZZ_CHECK(same.len == size && memcmp(same.data, text, size) == 0);
        for (int i = PRD_PENDING; prd.task_count > 0 && i <= PRD_SET_ASIDE; i++) {
            check_edit(text, size, &prd, (enum prd_status)i);
        }
    }
    buf_fini(&same);
    prd_findings_fini(&findings);
    prd_fini(&prd);
    free(text);
    return 0;
}
