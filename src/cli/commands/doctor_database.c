// SPDX-License-Identifier: Apache-2.0
/* The server of a store in a database, as findings. */
#include "cli/commands/doctor_database.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/terminal/text.h"
#include "orchestrator/servers.h"
#include "store/postgres/postgres.h"

#include <stdlib.h>
#include <string.h>

/** A round trip that takes longer than that makes each step of a loop slow. */
#define SLOW_NS (50 * NS_PER_MS)
/** A standby that is so far away loses much when it is promoted, or slows commits down. */
#define LAG_NS    (10 * NS_PER_S)
#define LAG_BYTES (64 * INT64_C(1048576))
/** Part of the connections that is left when people should be told: one in so many. */
#define FEW_LEFT 10

/** Whether what was acknowledged can be lost. */
static void add_durability(struct examination *examination,
                           const struct store_postgres_server *server)
{
    bool is_waiting = strcmp(server->synchronous_commit, "off") != 0;
    struct buf detail = {0};
    buf_printf(&detail, "synchronous_commit=%s", server->synchronous_commit);
    if (!server->is_durable) {
        buf_append_string(&detail, "; fsync or full_page_writes is off: a crash of the server's "
                                   "machine can lose or damage what was committed; turn both on");
    } else if (!is_waiting) {
        buf_append_string(&detail, ": commits are acknowledged before they are on disk, and a "
                                   "crash loses them; ALTER ROLE ... SET synchronous_commit = on");
    } else {
        bool is_copied = server->has_standbys && strcmp(server->synchronous_commit, "local") != 0;
        buf_append_string(&detail, is_copied ? ", commits wait for a standby"
                                             : ", commits wait for no standby");
    }
    bool is_sound = server->is_durable && is_waiting;
    examination_add(examination, "durability", is_sound ? HEALTH_OK : HEALTH_BROKEN,
                    buf_steal(&detail));
}

static void add_role(struct examination *examination, const struct store_postgres_server *server)
{
    struct buf detail = {0};
    bool is_slow = server->round_trip_ns > SLOW_NS;
    buf_append_string(&detail, server->is_standby
                                   ? "a standby, which takes no writes; name all hosts in the "
                                     "address, so that libpq finds the primary"
                                   : "the primary");
    buf_printf(&detail, ", %.1f ms away", (double)server->round_trip_ns / (double)NS_PER_MS);
    buf_append_string(&detail, !server->is_remote     ? ", on this machine"
                               : server->is_encrypted ? ", encrypted"
                                                      : ", NOT encrypted (sslmode=verify-full)");
    if (is_slow) {
        buf_append_string(&detail, "; each step of a loop waits for several round trips");
    }
    examination_add(examination, "database",
                    server->is_standby ? HEALTH_BROKEN
                    : is_slow          ? HEALTH_MISSING
                                       : HEALTH_OK,
                    buf_steal(&detail));
}

static void add_connections(struct examination *examination,
                            const struct store_postgres_server *server)
{
    struct buf detail = {0};
    int64_t left = server->connection_max - server->connections;
    bool are_few = left < server->connection_max / FEW_LEFT;
    text_count(server->connections, &detail);
    buf_append_string(&detail, " of ");
    text_count(server->connection_max, &detail);
    buf_append_string(&detail, " connections are used");
    if (are_few) {
        buf_append_string(&detail, "; raise max_connections, use pgbouncer, or lower "
                                   "rondo_connections in the address");
    }
    examination_add(examination, "connections", are_few ? HEALTH_MISSING : HEALTH_OK,
                    buf_steal(&detail));
}

/** Whether all servers can have the connections that they may open. */
static void add_budget(struct examination *examination, struct store *store,
                       const struct store_postgres_server *server)
{
    struct server_info *list = NULL;
    size_t count = 0;
    int64_t alive = 0;
    if (servers_read(store, clock_system(), &list, &count, NULL) < 0) {
        return; /* The role may not read them. */
    }
    for (size_t i = 0; i < count; i++) {
        alive += list[i].is_alive ? 1 : 0;
    }
    free(list);
    if (alive == 0) {
        return;
    }
    struct buf detail = {0};
    int64_t needed = alive * server->own_max;
    bool is_too_much = needed > server->connection_max;
    text_count(alive, &detail);
    buf_append_string(&detail, alive == 1 ? " server needs up to " : " servers need up to ");
    text_count(needed, &detail);
    buf_append_string(&detail, " of ");
    text_count(server->connection_max, &detail);
    buf_append_string(&detail, " connections");
    if (is_too_much) {
        buf_append_string(&detail, "; raise max_connections, use pgbouncer, or lower "
                                   "rondo_connections in the address");
    }
    examination_add(examination, "connection budget", is_too_much ? HEALTH_MISSING : HEALTH_OK,
                    buf_steal(&detail));
}

/** Whether standbys are there, and how far they are. */
static void add_replication(struct examination *examination, struct store *store,
                            const struct store_postgres_server *server)
{
    struct buf detail = {0};
    struct store_postgres_replication state = {0};
    enum health health = HEALTH_OK;
    if (store_postgres_replication(store, &state, NULL) < 0 ||
        (state.is_known && state.standbys == 0 && !server->has_standbys)) {
        return;
    }
    if (!state.is_known) {
        buf_append_string(&detail, "this role may not see how far the standbys are (GRANT "
                                   "pg_monitor TO it)");
    } else if (state.standbys == 0) {
        health = HEALTH_BROKEN;
        buf_append_string(&detail, "no standby is connected, but synchronous_standby_names is set: "
                                   "commits wait until one is");
    } else {
        bool is_late = state.lag_ns > LAG_NS || state.lag_bytes > LAG_BYTES;
        health = is_late ? HEALTH_MISSING : HEALTH_OK;
        text_count((int64_t)state.standbys, &detail);
        buf_printf(&detail,
                   state.standbys == 1 ? " standby, %.1f s and %.1f MiB behind"
                                       : " standbys, the slowest %.1f s and %.1f MiB behind",
                   (double)state.lag_ns / (double)NS_PER_S, (double)state.lag_bytes / 1048576.0);
        buf_append_string(&detail,
                          is_late ? "; if it were promoted now, as much could be lost" : "");
    }
    examination_add(examination, "replication", health, buf_steal(&detail));
}

/** Whether programs have more rights than they need. */
static void add_rights(struct examination *examination, const struct store_postgres_server *server)
{
    struct buf detail = {0};
    bool is_too_much =
        server->is_superuser || (server->rank == STORE_OWNER && server->has_policies);
    text_clean(server->role, strlen(server->role), &detail);
    if (server->rank != STORE_OWNER) {
        buf_printf(&detail, ", %s of the agents ", store_postgres_rank_name(server->rank));
        text_clean(server->agents, strlen(server->agents), &detail);
    } else {
        buf_append_string(&detail, server->is_superuser
                                       ? ", a superuser: it may do everything on this "
                                         "server"
                                       : ", the owner of the store");
    }
    if (is_too_much) {
        buf_append_string(&detail,
                          "; what executes runs as this role can also change the policies: "
                          "let it connect as another one (rondo store grant ROLE --as runner)");
    }
    examination_add(examination, "role", is_too_much ? HEALTH_MISSING : HEALTH_OK,
                    buf_steal(&detail));
}

void examine_database(struct examination *examination, struct store *store)
{
    struct store_postgres_server server;
    struct rondo_error err = {0};
    if (store_postgres_look(store, &server, &err) < 0) {
        examination_add(examination, "database", HEALTH_BROKEN, memory_dup_string(err.message));
        return;
    }
    add_role(examination, &server);
    add_durability(examination, &server);
    add_replication(examination, store, &server);
    add_connections(examination, &server);
    add_budget(examination, store, &server);
    add_rights(examination, &server);
}
