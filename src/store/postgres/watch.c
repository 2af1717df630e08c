// SPDX-License-Identifier: Apache-2.0
/*
 * Noticing what other processes write: LISTEN on a connection of its own, for what announce.c
 * sends.
 *
 * That announcements arrive is not taken for granted. A pooler gives each transaction another
 * session, and LISTEN would stay with one that belongs to others later; so a connection whose
 * session is not its own does not listen. Then one announcement is sent by another connection, and
 * has to arrive. If it does not, writes count as unnoticed for good. A process can die between its
 * commit and the announcement: the last position is compared every few seconds.
 *
 * Everybody who may connect to the database can send announcements: one costs a look at the store.
 */
#include "store/watch.h"

#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/memory.h"
#include "store/postgres/internal.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/** How often the last position is compared. */
#define COMPARE_NS (5 * NS_PER_S)
/** How long the first announcement may take. */
#define PROOF_NS (60 * NS_PER_S)

struct postgres_watch {
    struct store_watch base;
    struct postgres_store *store;
    struct postgres_connection connection;
    uint64_t position; /**< the last one at arm() */
    bool is_useless;   /**< announcements do not arrive here */
};

static void stop_listening(struct postgres_watch *watch)
{
    postgres_close(&watch->connection);
    watch->base.fd = -1;
}

/** Take announcements. @param ret_any whether there were any, of whatever store
 *  @return whether one was of this store */
static bool take_announcements(struct postgres_watch *watch, bool *ret_any)
{
    const struct pq_library *pq = &watch->store->pq;
    bool is_ours = false;
    PGnotify *notify;
    while ((notify = pq->notifies(watch->connection.db)) != NULL) {
        *ret_any = true;
        is_ours = is_ours || strcmp(notify->extra, watch->store->address.schema) == 0;
        pq->freemem(notify);
    }
    return is_ours;
}

static bool take(struct store_watch *base)
{
    struct postgres_watch *watch = (struct postgres_watch *)base;
    bool is_any = false;
    if (watch->connection.db == NULL) {
        return false;
    }
    if (watch->store->pq.consumeInput(watch->connection.db) != 1) {
        stop_listening(watch);
        return true; /* What was announced meanwhile is lost. */
    }
    return take_announcements(watch, &is_any);
}

/** Wait for any announcement. @return whether one came */
static bool wait_for_proof(struct postgres_watch *watch, struct cancel *cancel)
{
    const struct clock *clock = clock_system();
    int64_t until_ns = clock_monotonic(clock) + PROOF_NS;
    int64_t left_ns;
    bool is_any = false;
    while (!is_any && !cancel_is_set(cancel) && (left_ns = until_ns - clock_monotonic(clock)) > 0) {
        struct pollfd fds[] = {
            {.fd = watch->base.fd, .events = POLLIN},
            {.fd = cancel->event_fd, .events = POLLIN},
        };
        (void)poll(fds, 2, (int)(left_ns / NS_PER_MS + 1));
        if (watch->store->pq.consumeInput(watch->connection.db) != 1) {
            return false;
        }
        (void)take_announcements(watch, &is_any);
    }
    watch->is_useless = !is_any && !cancel_is_set(cancel);
    return is_any;
}

/** See that what another connection announces arrives. */
static bool prove(struct postgres_watch *watch, struct cancel *cancel)
{
    auto_buf struct buf payload = {0};
    auto_query struct postgres_query query = {.which = PG_NOTIFY};
    buf_printf(&payload, "%s?", watch->store->address.schema); /* No change: others do not look. */
    postgres_add_text(&query, buf_string(&payload));
    return postgres_perform(watch->store, &query, NULL, "listen", NULL) == 0 &&
           wait_for_proof(watch, cancel);
}

static bool start_listening(struct postgres_watch *watch, struct cancel *cancel)
{
    if (postgres_make_ready(&watch->connection, NULL) < 0) {
        return false;
    }
    watch->is_useless = !watch->connection.keeps_session;
    watch->base.fd = watch->store->pq.socket(watch->connection.db);
    bool is_listening =
        !watch->is_useless &&
        postgres_script(&watch->connection, "LISTEN rondo", NULL, "listen", NULL) == 0 &&
        prove(watch, cancel);
    if (!is_listening) {
        stop_listening(watch);
    }
    return is_listening;
}

static bool arm(struct store_watch *base, struct cancel *cancel)
{
    struct postgres_watch *watch = (struct postgres_watch *)base;
    struct store *store = &watch->store->base;
    if (watch->is_useless || (watch->connection.db == NULL && !start_listening(watch, cancel))) {
        return false;
    }
    (void)take(base);
    return watch->connection.db != NULL &&
           store->ops->last_position(store, &watch->position, NULL) == 0;
}

static bool is_changed(struct store_watch *base, struct cancel *cancel)
{
    struct postgres_watch *watch = (struct postgres_watch *)base;
    struct store *store = &watch->store->base;
    uint64_t position = 0;
    (void)cancel;
    return watch->connection.db == NULL || store->ops->last_position(store, &position, NULL) < 0 ||
           position != watch->position;
}

static void free_watch(struct store_watch *base)
{
    struct postgres_watch *watch = (struct postgres_watch *)base;
    if (watch != NULL) {
        postgres_close(&watch->connection);
        pthread_mutex_destroy(&watch->connection.mutex);
        free(watch);
    }
}

static const struct store_watch_ops watch_ops = {
    .arm = arm,
    .take = take,
    .is_changed = is_changed,
    .free = free_watch,
};

struct store_watch *postgres_watch(struct store *base)
{
    struct postgres_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->base = (struct store_watch){.ops = &watch_ops, .fd = -1, .compare_ns = COMPARE_NS};
    watch->store = (struct postgres_store *)base;
    watch->connection.store = watch->store;
    int r = pthread_mutex_init(&watch->connection.mutex, NULL);
    assert(r == 0);
    return &watch->base;
}
