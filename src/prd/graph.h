// SPDX-License-Identifier: Apache-2.0
/* Checks over all tasks of a PRD: ids, dependencies, cycles. One thread. */
#pragma once

#include "prd/findings.h"
#include "prd/prd.h"

/**
 * Report ids that occur twice, dependencies on tasks that do not exist or on the task itself, and
 * each cycle once with its tasks, all with places and what to do. Cost: n log n in the tasks and
 * their dependencies.
 */
void prd_graph_check(const struct prd *prd, struct prd_findings *findings);
