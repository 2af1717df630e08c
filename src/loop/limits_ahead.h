// SPDX-License-Identifier: Apache-2.0
/*
 * What lies ahead of a run: the limits that it stands under, found by asking its policies as the
 * gate does, whoever executes it. Any thread.
 */
#pragma once

#include "loop/summary.h"
#include "policy/question.h"

struct runtime;

/** Fill a question with the agent, the options and the counters of a run. */
void summary_ask(const struct summary *summary, struct question *question);

enum outlook_source {
    OUTLOOK_POLICY = 0, /**< the administrator's policies */
    OUTLOOK_OPTION,     /**< an option of the run */
    OUTLOOK_DEFAULT,    /**< neither: RULESET_DEFAULT_ITERATIONS */
};

/** "policy", "option", "default". Static. */
const char *outlook_source_name(enum outlook_source source);

/** One limit in the units of the journal: iterations, tokens, millionths, nanoseconds. */
struct outlook_limit {
    bool is_known; /**< false: no value is denied */
    bool is_estimated;
    int64_t limit;
    int64_t value;   /**< what is measured against it, now */
    int64_t warn_at; /**< per cent */
    enum outlook_source source;
    char policy[128]; /**< id of the policy behind it, or "" */
};

struct outlook {
    struct outlook_limit limits[RUN_LIMIT_COUNT];
    char sha256[DIGEST_HEX_SIZE]; /**< of the policies that were asked */
};

/** A run that is asked about. */
struct outlook_run {
    const char *run_id;
    const char *agent_id;
    const struct loop_spec *spec;
    const struct run_state *state;
};

/** outlook_find without a summary. */
int outlook_find_for(struct runtime *runtime, const struct outlook_run *run,
                     struct outlook *ret_outlook, struct rondo_error *err);

/**
 * Find the limits that are ahead of a run now. Of one that is denied already those that it met
 * from its start on.
 * @return 0, or why the policies cannot be used
 */
int outlook_find(struct runtime *runtime, const struct summary *summary,
                 struct outlook *ret_outlook, struct rondo_error *err);

/** Per cent of a limit that is used up; -1 when there is none. */
int64_t outlook_percent(const struct outlook_limit *limit);
