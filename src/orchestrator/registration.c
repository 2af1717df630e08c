// SPDX-License-Identifier: Apache-2.0
/*
 * This server's place in the list of servers. The scheduler's thread keeps it; a server whose
 * thread stood still for SERVER_LEASE_NS is not alive for others, who may take its name. It then
 * says so and works on: the claims of runs decide who executes them, not this list.
 */
#include "base/error.h"
#include "base/version.h"
#include "orchestrator/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void orchestrator_set_address(struct orchestrator *orchestrator, const char *address)
{
    pthread_mutex_lock(&orchestrator->lock);
    snprintf(orchestrator->server.address, sizeof(orchestrator->server.address), "%s", address);
    orchestrator->is_address_new = true;
    pthread_cond_broadcast(&orchestrator->changed);
    pthread_mutex_unlock(&orchestrator->lock);
}

static void refresh(struct orchestrator *orchestrator)
{
    struct rondo_error err = {0};
    struct server_info *server = &orchestrator->server;
    pthread_mutex_lock(&orchestrator->lock);
    struct server_info own = *server;
    own.capacity = orchestrator->admission.max_loops;
    orchestrator->is_address_new = false;
    pthread_mutex_unlock(&orchestrator->lock);
    int r = server_register(orchestrator_store(orchestrator), orchestrator_clock(orchestrator),
                            &own, &err);
    if (r == RONDO_ERR_BUSY && !orchestrator->is_name_lost) {
        orchestrator_log(orchestrator, "this server is not in the list of servers any more: %s",
                         err.message);
    }
    orchestrator->is_name_lost = r == RONDO_ERR_BUSY;
    server->document_version = own.document_version;
}

bool registration_knows(const struct orchestrator *orchestrator, const char *owner)
{
    return strcmp(owner, orchestrator->server.owner) != 0 &&
           servers_find_alive(orchestrator->servers, orchestrator->server_count, owner) != NULL;
}

/** What cannot be read stays as it was seen last. */
void registration_look(struct orchestrator *orchestrator)
{
    struct server_info *list = NULL;
    size_t count = 0;
    struct store *store = orchestrator_store(orchestrator);
    if (!orchestrator->is_registered) {
        return;
    }
    if (servers_read(store, orchestrator_clock(orchestrator), &list, &count, NULL) < 0) {
        return;
    }
    pthread_mutex_lock(&orchestrator->lock);
    free(orchestrator->servers);
    orchestrator->servers = list;
    orchestrator->server_count = count;
    orchestrator->has_peers = false;
    for (size_t i = 0; i < count; i++) {
        orchestrator->has_peers =
            orchestrator->has_peers || registration_knows(orchestrator, list[i].owner);
    }
    pthread_mutex_unlock(&orchestrator->lock);
}

int registration_check(const struct orchestrator_options *options, struct rondo_error *err)
{
    if (options->name != NULL && !label_is_valid(options->name, strlen(options->name))) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the name of a server has 1 to %d of a-z, 0-9, '.' and '-'",
                         LIMIT_LABEL_LEN);
    }
    return labels_check(options->pool, "pool", err);
}

int registration_begin(struct orchestrator *orchestrator, struct rondo_error *err)
{
    struct server_info *server = &orchestrator->server;
    const struct clock *clock = orchestrator_clock(orchestrator);
    if (server->name[0] == '\0') {
        return 0;
    }
    snprintf(server->owner, sizeof(server->owner), "%s",
             runtime_owner(orchestrator->options.runtime));
    snprintf(server->version, sizeof(server->version), "%s", RONDO_VERSION);
    server->started_ns = clock_now(clock);
    server->capacity = orchestrator->admission.max_loops;
    int r = server_register(orchestrator_store(orchestrator), clock, server, err);
    orchestrator->is_registered = r == 0;
    orchestrator->beat_due_ns = clock_monotonic(clock) + SERVER_BEAT_NS;
    if (r == 0) {
        registration_look(orchestrator);
    }
    return r;
}

void registration_beat(struct orchestrator *orchestrator)
{
    int64_t now_ns = clock_monotonic(orchestrator_clock(orchestrator));
    pthread_mutex_lock(&orchestrator->lock);
    bool is_address_new = orchestrator->is_address_new;
    pthread_mutex_unlock(&orchestrator->lock);
    bool is_due = now_ns >= orchestrator->beat_due_ns;
    if (!orchestrator->is_registered) {
        return;
    }
    if (is_address_new || (is_due && store_is_shared(orchestrator_store(orchestrator)))) {
        refresh(orchestrator);
    }
    if (is_due) {
        orchestrator->beat_due_ns = now_ns + SERVER_BEAT_NS;
    }
    if (now_ns >= orchestrator->forget_due_ns) {
        orchestrator->forget_due_ns = now_ns + SERVER_FORGET_NS;
        servers_forget_old(orchestrator_store(orchestrator), orchestrator_clock(orchestrator),
                           orchestrator->servers, orchestrator->server_count);
    }
}

int64_t registration_rest_ns(struct orchestrator *orchestrator)
{
    if (!orchestrator->is_registered || !store_is_shared(orchestrator_store(orchestrator))) {
        return INT64_MAX;
    }
    int64_t left_ns = orchestrator->beat_due_ns - clock_monotonic(orchestrator_clock(orchestrator));
    return left_ns > 0 ? left_ns : 0;
}

void registration_end(struct orchestrator *orchestrator)
{
    if (orchestrator->is_registered) {
        server_unregister(orchestrator_store(orchestrator), &orchestrator->server);
    }
    free(orchestrator->servers);
}
