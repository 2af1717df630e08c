// SPDX-License-Identifier: Apache-2.0
/* From the text of a prd.json, in any dialect, to the normal form. One thread. */
#pragma once

#include "prd/findings.h"
#include "prd/prd.h"

/**
 * Read a prd.json. A task is done when `passes` is true or its status says so; when its status says
 * done and `passes` is false, it is not done (`is_disputed`). Counts in `metadata` are compared
 * with the tasks. Ids, dependencies and cycles are checked (prd/graph.h).
 * @param tag       which list of a file of task-master; NULL = `master`, or the only one
 * @param ret_prd   prd_fini(); filled also when there are errors in `findings`
 * @param findings  gets every error and warning with its place; not NULL
 * @return 0 when it could be read, perhaps with errors: prd_findings_error(). RONDO_ERR_INVALID
 * when it is not JSON or has no list of tasks (line, column, byte), RONDO_ERR_LIMIT
 */
int prd_json_read(const char *text, size_t len, const char *tag, struct prd *ret_prd,
                  struct prd_findings *findings, struct rondo_error *err);
