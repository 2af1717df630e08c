// SPDX-License-Identifier: Apache-2.0
/*
 * The stores that one process serves side by side (`rondo serve --store A --store B`).
 *
 * Each store has everything that a process with one store has: a runtime, an orchestrator, a
 * monitor, a hub, its tokens, its policies, a struct server. Nothing below the server knows that
 * there are others. One of these servers listens, the front. It decides for each request which
 * store it is for, and the request then goes through that store's server as if it were alone:
 *
 *   - the parameter `store` names it;
 *   - a path with a run's id leads to the store that has the run: ids are unique;
 *   - a route that spans stores (`spans` of its row) answers for all that the caller reaches;
 *   - everything else is for the first store.
 *
 * A token is valid in the store in which it was created. A caller may send several, separated by
 * commas, and reaches the stores that know one of them. So rights over one store, even to create
 * tokens there, give none over another.
 *
 * A store that does not answer must not take the others with it: a thread for each store asks it
 * for its last position every few seconds. While that fails, or takes long, requests for the store
 * are refused at once, lists name it and show what the others have. Streams over all stores have
 * ids with a position for each store; they end when a store goes or comes back, and the client
 * continues with the id it has (server/stream/hub_mux.c).
 *
 * Not here: which loops run where. Each orchestrator has limits of its own.
 *
 * Any thread, except where it is said.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Stores of one process. */
#define STORES_MAX 16
/** Bytes of a store's name, with its end. */
#define STORE_NAME_SIZE 32
/** A store is asked so often whether it answers, and more often while it does not. */
#define STORES_PROBE_NS       INT64_C(5000000000)
#define STORES_PROBE_AGAIN_NS INT64_C(1000000000)
/** A store that has not answered for so long counts as away. */
#define STORES_SLOW_NS INT64_C(2000000000)

struct server;
struct store;
struct stores;

/** Whether a text can name a store: 1 to 31 of a-z, 0-9 and '-', beginning with a letter. */
bool store_name_is_valid(const char *name);

/**
 * @param names NULL-terminated, valid, each once, at most STORES_MAX; copied
 * @param log is told when a store goes away or comes back; or NULL. Any thread.
 */
int stores_new(const char *const *names, void (*log)(void *context, const char *line),
               void *log_context, struct stores **ret_stores, struct rondo_error *err);
/** Ends its threads. NULL is allowed. */
void stores_free(struct stores *stores);

/**
 * The server of a store is there: requests may reach it. Both live until stores_free().
 * @param name one of stores_new()
 */
int stores_join(struct stores *stores, const char *name, struct server *server, struct store *store,
                struct rondo_error *err);

size_t stores_count(const struct stores *stores);
/** Raised whenever a store goes away or comes back. */
uint64_t stores_version(const struct stores *stores);

/** One store as it is now. */
struct store_seat {
    const char *name;      /**< borrowed */
    struct server *server; /**< NULL: it was never there */
    bool is_away;          /**< requests for it are refused */
};
struct store_seat stores_look(struct stores *stores, size_t index);
