// SPDX-License-Identifier: Apache-2.0
/* What a command works with: the store, and for those that execute runs a runtime around it. */
#pragma once

#include "base/buf.h"
#include "loop/runtime.h"
#include "store/locate/locate.h"
#include "store/store.h"

#include <stdbool.h>

struct session {
    struct store *store;
    char *store_path;   /**< of the file; of a database's, store/locate/database.h */
    char *store_name;   /**< for people: the path, or an address without a password */
    char *store_option; /**< what to give with --store, without a password; or NULL */
    char *work_folder;  /**< where workers' hand-over files go */
    struct runtime *runtime;
    struct desks_watch *desks; /**< the desk file beside the store */
};

struct session_options {
    const char *store;        /**< --store or NULL */
    enum store_access access; /**< 0 = to write what exists */
    bool needs_runtime;
    int64_t lease_ns; /**< 0 = default */
};

/** Open. On failure nothing is left to close. */
int session_open(const struct session_options *options, struct session *ret_session,
                 struct rondo_error *err);
void session_close(struct session *session);

/** The handoffs of the store, with the desks beside it. */
struct handoff_store session_handoffs(const struct session *session);

/** Append the shell command that continues a run: "rondo VERB ID" plus --store where it is
 * needed. */
void session_hint(const struct session *session, const char *verb, const char *run_id,
                  struct buf *ret_buf);

/** Fill an error: another process executes a run; which, and what to do. @return RONDO_ERR_BUSY */
int session_held(const struct session *session, const struct store_run *holder,
                 struct rondo_error *err);

/** Characters of a run id that people see: a time in ms, unique but for runs of the same ms. */
#define SHORT_ID_LEN 13

/** Where a user's settings are (XDG Base Directory Specification), or NULL. Free it. */
char *session_config_folder(void);
