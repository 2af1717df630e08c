// SPDX-License-Identifier: Apache-2.0
/*
 * What `rondo prd run` and `rondo work` have in common: who works on tasks, in which sandbox, what
 * is checked, and who reviews. The rows are in run_option_rows.h.
 */
#pragma once

#include "cli/commands/run/run_role.h"
#include "git/repository.h"
#include "work/spec.h"

/** Time for one check when none is given. */
#define WORK_CHECK_NS (INT64_C(600) * 1000000000)

struct work_values {
    struct role_values role; /**< first, so that rows of all tables find their place */
    char *role_file;
    char *coding_agent;
    char *review;
    char *review_model;
    char *setup;
    char **protect;
    int64_t iterations;
    int64_t is_clean;
};

/** Defaults. @param rows of the command @param ret_set bound to the values */
void work_values_init(struct work_values *values, const struct option_row *rows,
                      struct option_set *ret_set);
void work_values_fini(struct work_values *values, struct option_set *set);

/**
 * One kind of worker, and options of others not with it.
 * @param words of the worker's command; 0 = none
 * @param where the command is, for the message: "after the file"
 * @return NULL = fine, else what is wrong; valid until the next call
 */
const char *work_options_misuse(const struct work_values *values, const struct option_set *set,
                                int words);

/** What the options are applied to. Borrowed. */
struct work_request {
    struct work_values *values;
    struct option_set *set;
    int argc; /**< of the worker's command; 0 with --agent or --role */
    char **argv;
    const struct git_repository *repository;
    const char *const *gates; /**< further checks, of a PRD */
    size_t gate_count;
    bool has_no_criteria; /**< of tasks: only checks verify the work */
};

/**
 * Make worker, checks, reviewer, setup and protected files, and check that the sandboxes work here.
 * @param work its `repository`, and `base`, the commit that work begins from, are set
 */
int work_options_apply(const struct work_request *request, struct work_spec *work,
                       struct rondo_error *err);

/**
 * Make the spec of the parent's run, which executes attempts: limits of the whole run, policies and
 * sandboxes. Its `work` and `max_iterations` (attempts at all tasks) are for the caller.
 * @param ret_spec loop_spec_fini()
 */
void work_options_parent(const struct work_values *values, const struct work_spec *work,
                         struct loop_spec *ret_spec);
