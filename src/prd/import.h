// SPDX-License-Identifier: Apache-2.0
/*
 * PRDs that people write, by a parser and without a model: Markdown with stories under headings,
 * the task lists of spec-kit, lists of boxes, and Gherkin. docs/prd.md says what is understood.
 *
 * What is not written as a criterion and is taken for one is marked as derived. A ticked box means
 * done only if the caller says so: in a PRD that comes from elsewhere it says what somebody
 * believes. One thread.
 */
#pragma once

#include "prd/findings.h"
#include "prd/prd.h"

/**
 * The kind of a text: by the end of its file's name (.feature), else by what is in it.
 * @return PRD_MARKDOWN, PRD_SPEC_KIT or PRD_GHERKIN
 */
enum prd_dialect prd_import_kind(const char *path, const char *text, size_t len);

/**
 * Read a text.
 * @param kind as of prd_import_kind()
 * @param findings errors and warnings with their places; not NULL
 * @return 0, perhaps with errors among the findings: prd_findings_error(); RONDO_ERR_LIMIT when it
 * is longer than LIMIT_PRD_FILE_BYTES
 */
int prd_import(enum prd_dialect kind, const char *text, size_t len, bool ticked_are_done,
               struct prd *ret_prd, struct prd_findings *findings, struct rondo_error *err);
