// SPDX-License-Identifier: Apache-2.0
/* Which parser reads a text. */
#include "prd/import.h"

#include "base/error.h"
#include "base/limits.h"
#include "prd/import_kinds.h"

#include <string.h>
#include <strings.h>

enum prd_dialect prd_import_kind(const char *path, const char *text, size_t len)
{
    size_t path_len = strlen(path);
    struct prd_lines lines = prd_lines(text, len);
    struct prd_line line;
    struct prd_item item;
    size_t id_len;
    if (path_len > 8 && strcasecmp(path + path_len - 8, ".feature") == 0) {
        return PRD_GHERKIN;
    }
    while (prd_line_next(&lines, &line)) {
        if (prd_line_item(&line, &item) && prd_is_spec_kit_item(&item, &id_len)) {
            return PRD_SPEC_KIT;
        }
        if (!line.is_code && line.len > 8 && strncmp(line.text, "Feature:", 8) == 0) {
            return PRD_GHERKIN;
        }
    }
    return PRD_MARKDOWN;
}

int prd_import(enum prd_dialect kind, const char *text, size_t len, bool ticked_are_done,
               struct prd *ret_prd, struct prd_findings *findings, struct rondo_error *err)
{
    struct prd_draft draft = {
        .prd = {.dialect = kind}, .findings = findings, .ticked_are_done = ticked_are_done};
    if (len > LIMIT_PRD_FILE_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the PRD has %zu bytes; the limit is %ld", len,
                         LIMIT_PRD_FILE_BYTES);
    }
    if (kind == PRD_GHERKIN) {
        prd_import_gherkin(&draft, text, len);
    } else if (kind == PRD_SPEC_KIT) {
        prd_import_spec_kit(&draft, text, len);
    } else {
        prd_import_markdown(&draft, text, len);
    }
    prd_draft_finish(&draft, ret_prd);
    if (ret_prd->task_count == 0) {
        prd_finding_add(
            findings, true, "no-tasks", 0, 0,
            "no tasks found; write each as a heading with an id (\"### US-001: Title\") or "
            "as a checkbox (\"- [ ] Title\")");
    }
    return 0;
}
