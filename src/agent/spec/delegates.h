// SPDX-License-Identifier: Apache-2.0
/*
 * The roles that an agent can give work to (the tool type `delegate`), and those that they can give
 * it to, as its run has recorded them; and runs that are given away. Pure.
 */
#pragma once

#include "agent/spec/options.h"
#include "rondo/error.h"

#include <stdbool.h>

struct json_object;

/** Member of a run's agent options: roles by their absolute paths. */
#define AGENT_DELEGATES "delegates"
/** Member of the options of a run that another one has delegated: `parent`, `depth`. */
#define AGENT_DELEGATED "delegated"

/** The absolute path of a role file that a role names, as it is in AGENT_DELEGATES. free() it. */
char *delegates_path(const char *folder, const char *file);

/** Call a function for the `tools` of each recorded role, until it returns a negative code. */
int delegates_visit(struct json_object *delegates,
                    int (*visit)(struct json_object *tools, void *context), void *context);

/** A run that an agent gives to another one. Borrowed. */
struct delegated_run {
    struct json_object *delegates; /**< of the run that gives it */
    struct json_object *servers;   /**< likewise, or NULL */
    const char *path;              /**< of the role, as in `delegates` */
    const char *parent;            /**< id of the run that gives it */
    int64_t depth;                 /**< 1 = its parent was given to nobody */
    const char *prompt;
    const char *workspace;
    const char *memory_path; /**< `store_path` of memories that all of them share; NULL = each has
                                  its own */
    int64_t max_memories;    /**< of those */
    const char *prices_file;
    bool accepts_unprotected;
};

/**
 * Make the options of such a run: one answer. Nothing is read.
 * @param ret_spec loop_spec_fini()
 */
int delegates_spec(const struct delegated_run *run, struct loop_spec *ret_spec,
                   struct rondo_error *err);

/**
 * Which run gave a run away.
 * @param ret_parent ID_SIZE bytes; set only when one did
 */
bool delegates_find_parent(const struct loop_spec *spec, char *ret_parent);
