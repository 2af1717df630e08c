// SPDX-License-Identifier: Apache-2.0
/*
 * Options of one queue: those of `rondo work`, and the keys of a repository in the file of
 * `rondo serve --work`. One table, two entrances.
 */
#pragma once

#include "cli/commands/run/work_options.h"

struct queue_values {
    struct work_values work; /**< first, so that rows of all tables find their place */
    char *repository;
    char *api;
    char *remote;
    char *token_env;
    char *hook_secret_env;
    int64_t forge; /**< enum forge_kind, plus 1; 0 = none was given */
    int64_t issue;
    char **labels; /**< lists with commas are split by queue_values_split(), as the next ones */
    char **excluded;
    char **priorities;
    char *prefix;
    char *base;
    char *fork;
    int64_t trust; /**< enum forge_trust */
    int64_t takes_assigned;
    int64_t most_age_ns;
    int64_t is_dry_run;
    int64_t is_once;
    int64_t is_continuous;
    int64_t is_draft;
    int64_t is_ready;
    int64_t most_running;
    int64_t most_per_hour;
    int64_t attempts;
    int64_t attempt_time_ns;
    int64_t follow_ups;
    int64_t has_plans;
    int64_t day_cost_micro;
    int64_t day_tokens;
    int64_t poll_ns;
    int64_t write_gap_ns; /**< 0 = the forge's default */
    int64_t settle_ns;
    char **command; /**< of the worker, NULL-terminated, owned; no row */
    /** Where secrets are instead of in the environment (work_token_take()); NULL = they are in it.
     *  Borrowed; no row */
    const char *const *variables;
};

/** Defaults. @param rows work_options, or work_doctor_options @param ret_set bound to the values */
void queue_values_init(struct queue_values *values, const struct option_row *rows,
                       struct option_set *ret_set);
void queue_values_fini(struct queue_values *values, struct option_set *set);

/**
 * Split lists at commas, and check all but the worker.
 * @return NULL = fine, else what is wrong; static
 */
const char *queue_values_check(struct queue_values *values);

/** The same, check the worker as well, and make paths absolute. */
const char *queue_values_complete(struct queue_values *values, struct option_set *set);

/** Labels that an issue needs, given or not. Borrowed, as the next one. */
const char *const *queue_values_labels(const struct queue_values *values);
const char *queue_values_prefix(const struct queue_values *values);
