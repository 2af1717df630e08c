// SPDX-License-Identifier: Apache-2.0
/*
 * What keeps a work queue from working, for people who look at the page or at /v1/work: a document
 * of the collection "work-trouble" for each repository, which its queue writes when something fails
 * that a person may have to mend, and removes when it works again. It decides nothing. Any thread.
 */
#pragma once

#include "store/store.h"

#define WORK_TROUBLE_COLLECTION "work-trouble"
/** Bytes of a message, the NUL included. */
#define WORK_TROUBLE_SIZE RONDO_ERROR_MESSAGE_SIZE

struct work_trouble {
    const char *repository;       /**< "HOST/OWNER/NAME", or as the file of a server names it */
    const char *message;          /**< one plain line; what is longer than its size is cut */
    int64_t since_ns;             /**< wall clock */
    char owner[STORE_OWNER_SIZE]; /**< process whose queue it is (loop/owner.h) */
};

/** Write it, in place of what was there for the repository. Durable on return. */
int work_trouble_put(struct store *store, const struct work_trouble *trouble,
                     struct rondo_error *err);
/** It is over. */
int work_trouble_clear(struct store *store, const char *repository, struct rondo_error *err);

/** Called with each (borrowed), in the order of repositories. The store may be asked nothing
 *  meanwhile. @return false to end */
typedef bool work_trouble_fn(const struct work_trouble *trouble, void *context);
/** What living processes have written; that of dead ones, and what cannot be read, is passed over.
 */
int work_troubles_read(struct store *store, work_trouble_fn *fn, void *context,
                       struct rondo_error *err);
