// SPDX-License-Identifier: Apache-2.0
/*
 * What the servers of a store are meant to do with its runs, for those who are none of them: the
 * command line looks into the records that servers keep. Any thread.
 */
#pragma once

#include "loop/control/owner.h"
#include "store/store.h"

/** What a server means to do with a run. */
struct duty {
    char run_id[ID_SIZE];
    bool is_queued;                      /**< waits for its turn */
    bool is_server_dead;                 /**< certainly; then the next server takes it on */
    char server[OWNER_DESCRIPTION_SIZE]; /**< "process 812 on build7" */
};

/** Duties of a store by run. */
struct duties;

/** @param ret_duties duties_free() */
int duties_read(struct store *store, struct duties **ret_duties, struct rondo_error *err);
/** NULL when no server means to do anything. */
const struct duty *duties_find(const struct duties *duties, const char *run_id);
/** NULL is allowed. */
void duties_free(struct duties *duties);

/** The same for one run. @return 1, 0 when there is none, or a negative code */
int duty_read(struct store *store, const char *run_id, struct duty *ret_duty,
              struct rondo_error *err);

/** standing_name, or "queued" for a run that waits in a server. @param duty NULL = none. Static. */
const char *duty_standing(const struct store_run *run, const struct duty *duty);
