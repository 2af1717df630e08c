// SPDX-License-Identifier: Apache-2.0
/* Which stores there are, and whether they answer. */
#include "server/stores.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/store.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store_entry {
    struct stores *stores;
    char name[STORE_NAME_SIZE];
    struct store *store;   /* of its thread */
    struct server *server; /* under the lock, as the next ones */
    int64_t asked_ns;      /* monotonic; 0 = no question is open */
    bool is_failing;
    pthread_t thread;
    bool has_thread;
};

struct stores {
    size_t count;
    struct store_entry entries[STORES_MAX];
    void (*log)(void *context, const char *line);
    void *log_context;
    struct cancel cancel;
    pthread_mutex_t lock;
    _Atomic uint64_t version;
};

bool store_name_is_valid(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len < STORE_NAME_SIZE && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

int stores_new(const char *const *names, void (*log)(void *context, const char *line),
               void *log_context, struct stores **ret_stores, struct rondo_error *err)
{
    struct stores *stores = memory_new_zero(1, sizeof(*stores));
    stores->log = log;
    stores->log_context = log_context;
    if (cancel_init(&stores->cancel, err) < 0) {
        free(stores);
        return err->code;
    }
    pthread_mutex_init(&stores->lock, NULL);
    for (; names[stores->count] != NULL; stores->count++) {
        assert(stores->count < STORES_MAX);
        struct store_entry *entry = &stores->entries[stores->count];
        entry->stores = stores;
        snprintf(entry->name, sizeof(entry->name), "%s", names[stores->count]);
    }
    *ret_stores = stores;
    return 0;
}

void stores_free(struct stores *stores)
{
    if (stores == NULL) {
        return;
    }
    cancel_set(&stores->cancel, CANCEL_NOW);
    for (size_t i = 0; i < stores->count; i++) {
        if (stores->entries[i].has_thread) {
            pthread_join(stores->entries[i].thread, NULL);
        }
    }
    cancel_fini(&stores->cancel);
    pthread_mutex_destroy(&stores->lock);
    free(stores);
}

static void report(const struct store_entry *entry, const char *problem)
{
    auto_buf struct buf line = {0};
    if (problem == NULL) {
        buf_printf(&line, "the store %s answers again", entry->name);
    } else {
        buf_printf(&line, "the store %s does not answer: %s", entry->name, problem);
    }
    if (entry->stores->log != NULL) {
        entry->stores->log(entry->stores->log_context, buf_string(&line));
    }
}

/** One answer of a store. @param problem NULL = it is there */
static void note_answer(struct store_entry *entry, const char *problem)
{
    struct stores *stores = entry->stores;
    pthread_mutex_lock(&stores->lock);
    bool is_changed = entry->is_failing != (problem != NULL);
    entry->is_failing = problem != NULL;
    entry->asked_ns = 0;
    pthread_mutex_unlock(&stores->lock);
    if (is_changed) {
        atomic_fetch_add(&stores->version, 1);
        report(entry, problem);
    }
}

static void *probe(void *context)
{
    struct store_entry *entry = context;
    struct stores *stores = entry->stores;
    struct store *store = entry->store;
    bool is_there = true;
    while (!cancel_wait(&stores->cancel, is_there ? STORES_PROBE_NS : STORES_PROBE_AGAIN_NS)) {
        uint64_t position = 0;
        struct rondo_error err = {0};
        pthread_mutex_lock(&stores->lock);
        entry->asked_ns = clock_monotonic(clock_system());
        pthread_mutex_unlock(&stores->lock);
        is_there = store->ops->last_position(store, &position, &err) == 0;
        note_answer(entry, is_there ? NULL : err.message);
    }
    return NULL;
}

int stores_join(struct stores *stores, const char *name, struct server *server, struct store *store,
                struct rondo_error *err)
{
    size_t i = 0;
    while (strcmp(stores->entries[i].name, name) != 0) {
        i++;
        assert(i < stores->count);
    }
    struct store_entry *entry = &stores->entries[i];
    entry->store = store;
    pthread_mutex_lock(&stores->lock);
    entry->server = server;
    pthread_mutex_unlock(&stores->lock);
    int problem = pthread_create(&entry->thread, NULL, probe, entry);
    if (problem != 0) {
        pthread_mutex_lock(&stores->lock);
        entry->server = NULL;
        pthread_mutex_unlock(&stores->lock);
        return error_set_errno(err, RONDO_ERR_SYSTEM, problem, "cannot start a thread");
    }
    entry->has_thread = true;
    atomic_fetch_add(&stores->version, 1);
    return 0;
}

size_t stores_count(const struct stores *stores)
{
    return stores->count;
}

uint64_t stores_version(const struct stores *stores)
{
    return atomic_load(&stores->version);
}

struct store_seat stores_look(struct stores *stores, size_t index)
{
    struct store_entry *entry = &stores->entries[index];
    int64_t now_ns = clock_monotonic(clock_system());
    pthread_mutex_lock(&stores->lock);
    bool is_slow = entry->asked_ns != 0 && now_ns - entry->asked_ns > STORES_SLOW_NS;
    struct store_seat seat = {
        .name = entry->name,
        .server = entry->server,
        .is_away = entry->server == NULL || entry->is_failing || is_slow,
    };
    pthread_mutex_unlock(&stores->lock);
    return seat;
}
