// SPDX-License-Identifier: Apache-2.0
/*
 * What commands of an attempt find in their environment: setup, worker, checks and hooks alike. Two
 * attempts that run at the same time share neither the folder for temporary files nor ports.
 */
#include "work/attempt_internal.h"

#include "base/hash.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below the ports that systems give out by themselves (ip_local_port_range). */
#define FIRST_PORT   12000
#define PORTS        10 /* of an attempt */
#define PORT_REGIONS 100

enum {
    VARIABLE_RUN,
    VARIABLE_PARENT,
    VARIABLE_TASK,
    VARIABLE_TITLE,
    VARIABLE_ATTEMPT,
    VARIABLE_TASK_ATTEMPT,
    VARIABLE_BASE,
    VARIABLE_BRANCH,
    VARIABLE_JOB,
    VARIABLE_TEMPORARY,
    VARIABLE_PORT,
    VARIABLE_PORT_BASE,
    VARIABLE_PORT_COUNT,
    VARIABLE_COUNT
};

static const char *const names[VARIABLE_COUNT + 1] = {
    [VARIABLE_RUN] = "RONDO_RUN_ID",
    [VARIABLE_PARENT] = "RONDO_PRD_RUN_ID",
    [VARIABLE_TASK] = "RONDO_TASK_ID",
    [VARIABLE_TITLE] = "RONDO_TASK_TITLE",
    [VARIABLE_ATTEMPT] = "RONDO_ATTEMPT",
    [VARIABLE_TASK_ATTEMPT] = "RONDO_TASK_ATTEMPT",
    [VARIABLE_BASE] = "RONDO_TASK_BASE",
    [VARIABLE_BRANCH] = "RONDO_TASK_BRANCH",
    [VARIABLE_JOB] = "RONDO_JOB",
    [VARIABLE_TEMPORARY] = "TMPDIR",
    [VARIABLE_PORT] = "PORT",
    [VARIABLE_PORT_BASE] = "RONDO_PORT_BASE",
    [VARIABLE_PORT_COUNT] = "RONDO_PORT_COUNT",
};

const char *const *attempt_variable_names(void)
{
    return names;
}

/** The first port of an attempt: runs are spread over regions, slots over parts of one. */
static unsigned port_of(const struct attempt *attempt)
{
    uint64_t hash = hash_bytes(HASH_START, attempt->parent_run, strlen(attempt->parent_run));
    unsigned region = (unsigned)(hash % PORT_REGIONS);
    return FIRST_PORT + (region * LIMIT_WORK_JOBS + (unsigned)attempt->slot) * PORTS;
}

static void set_text(struct attempt *attempt, size_t which, const char *value)
{
    struct buf text = {0};
    buf_printf(&text, "%s=%s", names[which], value);
    attempt->variables[which] = buf_steal(&text);
}

static void set_number(struct attempt *attempt, size_t which, int64_t value)
{
    struct buf text = {0};
    buf_printf(&text, "%s=%" PRId64, names[which], value);
    attempt->variables[which] = buf_steal(&text);
}

void attempt_make_variables(struct attempt *attempt)
{
    auto_buf struct buf temporary = {0};
    buf_printf(&temporary, "%s/tmp", attempt->folder);
    attempt->variables = memory_new_zero(VARIABLE_COUNT + 1, sizeof(*attempt->variables));
    set_text(attempt, VARIABLE_RUN, attempt->spec.run_id);
    set_text(attempt, VARIABLE_PARENT, attempt->parent_run);
    set_text(attempt, VARIABLE_TASK, attempt->task_id);
    set_text(attempt, VARIABLE_TITLE, attempt->title);
    set_number(attempt, VARIABLE_ATTEMPT, attempt->number);
    set_number(attempt, VARIABLE_TASK_ATTEMPT, attempt->number);
    set_text(attempt, VARIABLE_BASE, attempt->start);
    set_text(attempt, VARIABLE_BRANCH, attempt->branch);
    set_number(attempt, VARIABLE_JOB, (int64_t)attempt->slot + 1);
    set_text(attempt, VARIABLE_TEMPORARY, buf_string(&temporary));
    set_number(attempt, VARIABLE_PORT, port_of(attempt));
    set_number(attempt, VARIABLE_PORT_BASE, port_of(attempt));
    set_number(attempt, VARIABLE_PORT_COUNT, PORTS);
}
