// SPDX-License-Identifier: Apache-2.0
/*
 * The stores that one process serves: the parts of each, and a thread that opens those that could
 * not be reached at the start. Used by the main thread, except where it is said.
 */
#pragma once

#include "base/cancel.h"
#include "cli/commands/serve/parts.h"
#include "orchestrator/orchestrator.h"
#include "server/stores.h"

/** A store that could not be opened is tried again after so long. */
#define SERVED_RETRY_NS INT64_C(5000000000)

struct served {
    const struct serve_values *values;
    size_t count;
    struct serving items[STORES_MAX]; /* in the order of the options */
    char names[STORES_MAX][STORE_NAME_SIZE];
    const char *labels[STORES_MAX + 1];
    struct serving *front; /* NULL before served_open() */
    char *config_folder;
    char *workspace; /* NULL: the one that was given is not a folder */
    struct cancel cancel;
    pthread_t opener;
    bool has_opener;
    pthread_mutex_t lock; /* guards `is_open` of the items */
};

/** Read the options. @return RONDO_ERR_INVALID when names or addresses are wrong */
int served_new(const struct serve_values *values, struct served **ret_served,
               struct rondo_error *err);
void served_free(struct served *served);

/** Open the stores. Of several some may be away. */
int served_open(struct served *served, struct rondo_error *err);
/** Start the parts of all stores that are open. Afterwards served_stop(), also if it fails. */
int served_start(struct served *served, struct rondo_error *err);
void served_stop(struct served *served);

/** What runs in all stores. */
struct orchestrator_state served_state(struct served *served);
