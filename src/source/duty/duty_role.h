// SPDX-License-Identifier: Apache-2.0
/*
 * A role on duty: the options of its runs, made once when its file is read, and its triggers. The
 * role itself is released; a run gets a copy of the options with its own prompt. One thread.
 */
#pragma once

#include "agent/budget/budget.h"
#include "base/digest.h"
#include "loop/spec.h"
#include "source/source.h"

struct json_object;

/** What reading a role depends on. Borrowed. */
struct duty_reading {
    const char *workspace;
    const char *config_folder;
    const char *prices_file;
    const char *skill_folder;
    const char *model;
    bool accepts_unprotected;
    bool is_found; /**< the file was not named when the daemon started: see agent_confirm_role() */
};

/** A role as it was read. */
struct duty_plan {
    char name[LIMIT_AGENT_ID_LEN + 1];
    char *folder;
    unsigned char digest[DIGEST_SIZE]; /**< of all that follows from file, skills and variables */
    char variables[DIGEST_HEX_SIZE];   /**< of the `.env` beside it, which sources read */
    struct loop_spec single;
    struct loop_spec autonomous;  /**< kind NULL: the role has no `autonomy` */
    struct json_object *triggers; /**< array; or NULL */
    struct budget_rules budgets;
    struct json_object *daemon; /**< the role's section `daemon`; or NULL */
};

/**
 * Read a role file.
 * @param ret_plan     duty_plan_fini()
 * @param ret_findings lines about it; appended
 * @return 0 or why it cannot be used
 */
int duty_plan_read(const char *path, const struct duty_reading *reading, struct duty_plan *ret_plan,
                   char ***ret_places, struct buf *ret_findings, struct rondo_error *err);
void duty_plan_fini(struct duty_plan *plan);

/** The queue of the role: what its section `daemon` says, and the daemon's for the rest. */
struct queue_options duty_plan_queue(const struct duty_plan *plan,
                                     const struct queue_options *by_default);

/** Whether the role is read again when its file changes. */
bool duty_plan_is_reloaded(const struct duty_plan *plan);
/** How long a file has to be unchanged before it is read again. */
int64_t duty_plan_debounce_ns(const struct duty_plan *plan);

/** The options of the run that a request becomes. @param ret_spec loop_spec_fini() */
void duty_plan_spec(const struct duty_plan *plan, const struct start_request *request,
                    struct loop_spec *ret_spec);
