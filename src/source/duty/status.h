// SPDX-License-Identifier: Apache-2.0
/*
 * What is shown of sources: a document for each, written by the daemon that keeps it, read by
 * `rondo sources` and the API. Collection "source", key = the source's id. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "source/intake/request.h"

#define SOURCE_COLLECTION "source"

/** One source, as the store has it. Texts are borrowed during the callback. */
struct source_status {
    const char *id;
    const char *role;
    const char *type;
    const char *summary; /**< of its settings: a schedule, paths, ... */
    const char *problem; /**< why it does not work; "" = it works */
    const char *hook;    /**< name of its address /hooks/NAME; "" = none */
    int64_t due_ns;      /**< when it is due next; 0 = not by the clock */
    const char *details; /**< JSON object of its type */
    const char *owner;   /**< daemon that keeps it */
    bool is_on_duty;     /**< that daemon lives, as far as can be known */
};

/** Append the JSON of a document. */
void source_status_encode(const struct source_status *status, struct buf *ret_json);

/** Roles that daemons keep, as far as can be known. */
struct roles_on_duty {
    char (*names)[LIMIT_AGENT_ID_LEN + 1];
    size_t count;
};

/** @param ret_roles roles_on_duty_fini(), always */
int roles_on_duty_read(struct store *store, struct roles_on_duty *ret_roles,
                       struct rondo_error *err);
bool roles_on_duty_have(const struct roles_on_duty *roles, const char *role);
void roles_on_duty_fini(struct roles_on_duty *roles);

/** @return false to end */
typedef bool source_status_fn(const struct source_status *status, void *context);

/** Read all, in the order of their ids: by role. */
int source_statuses_read(struct store *store, source_status_fn *fn, void *context,
                         struct rondo_error *err);
