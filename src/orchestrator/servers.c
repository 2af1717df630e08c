// SPDX-License-Identifier: Apache-2.0
/* The documents of servers. */
#include "orchestrator/servers.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "loop/owner.h"
#include "orchestrator/assignment.h"
#include "os/host.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Others that register the same name at the same time. */
#define TRIES 4

/* ---- Reading -------------------------------------------------------------------------------- */

struct server_reading {
    bool is_shared;
    int64_t now_ns;
    struct server_info *list;
    size_t count;
};

static void decode(const struct store_document *document, struct server_info *ret_server)
{
    auto_json struct json_object *root = NULL;
    json_parse(document->data, document->data_len, &root, NULL);
    int64_t capacity = json_get_int(root, "capacity", 0);
    *ret_server = (struct server_info){
        .capacity = capacity > 0 ? (uint64_t)capacity : 0,
        .started_ns = json_get_int(root, "started_ns", 0),
        .seen_ns = document->updated_ns,
        .document_version = document->version,
    };
    snprintf(ret_server->name, sizeof(ret_server->name), "%s", document->key);
    snprintf(ret_server->pool, sizeof(ret_server->pool), "%s", json_get_string(root, "pool", ""));
    snprintf(ret_server->owner, sizeof(ret_server->owner), "%s",
             json_get_string(root, "owner", ""));
    snprintf(ret_server->address, sizeof(ret_server->address), "%s",
             json_get_string(root, "address", ""));
    snprintf(ret_server->version, sizeof(ret_server->version), "%s",
             json_get_string(root, "version", ""));
}

static bool add(const struct store_document *document, void *context)
{
    struct server_reading *reading = context;
    if (!label_is_valid(document->key, strlen(document->key))) {
        return true;
    }
    reading->list = memory_resize(reading->list, reading->count + 1, sizeof(*reading->list));
    struct server_info *server = &reading->list[reading->count++];
    decode(document, server);
    bool is_heard = reading->now_ns - server->seen_ns < SERVER_LEASE_NS;
    server->is_alive = reading->is_shared ? is_heard && !owner_is_dead(server->owner)
                                          : owner_is_alive(server->owner);
    return true;
}

int servers_now(struct store *store, const struct clock *clock, int64_t *ret_now_ns,
                struct rondo_error *err)
{
    if (store->ops->now != NULL) {
        return store->ops->now(store, ret_now_ns, err);
    }
    *ret_now_ns = clock_now(clock);
    return 0;
}

static int read_some(struct store *store, const struct clock *clock, const char *name,
                     struct server_reading *ret_reading, struct rondo_error *err)
{
    struct server_reading reading = {.is_shared = store_is_shared(store)};
    struct store_document_query query = {.collection = SERVER_COLLECTION, .key = name};
    int r = servers_now(store, clock, &reading.now_ns, err);
    r = r < 0 ? r : store->ops->read_documents(store, &query, add, &reading, err);
    if (r < 0) {
        free(reading.list);
        return r;
    }
    *ret_reading = reading;
    return 0;
}

int servers_read(struct store *store, const struct clock *clock, struct server_info **ret_list,
                 size_t *ret_count, struct rondo_error *err)
{
    struct server_reading reading;
    int r = read_some(store, clock, NULL, &reading, err);
    if (r == 0) {
        *ret_list = reading.list;
        *ret_count = reading.count;
    }
    return r;
}

const struct server_info *servers_find_alive(const struct server_info *list, size_t count,
                                             const char *owner)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].is_alive && strcmp(list[i].owner, owner) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

int servers_count_executing(struct store *store, struct server_info *list, size_t count,
                            struct rondo_error *err)
{
    struct assignment *assignments = NULL;
    size_t assigned = 0;
    int r = assignment_list(store, &assignments, &assigned, err);
    for (size_t i = 0; r == 0 && i < assigned; i++) {
        for (size_t j = 0; assignments[i].state == ASSIGNMENT_RUNNING && j < count; j++) {
            bool is_its = strcmp(list[j].owner, assignments[i].server) == 0;
            list[j].executing += is_its && list[j].is_alive ? 1 : 0;
        }
    }
    assignment_list_free(assignments, assigned);
    return r;
}

static void write_labels(const char *list, struct json_writer *writer)
{
    json_begin_array(writer, "pool");
    for (const char *at = list; at != NULL && list[0] != '\0';) {
        size_t len = strcspn(at, ",");
        char label[LABEL_SIZE];
        snprintf(label, sizeof(label), "%.*s", (int)len, at);
        json_write_string(writer, NULL, label);
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    json_end_array(writer);
}

void server_write_members(const struct server_info *server, struct json_writer *writer)
{
    json_write_string(writer, "name", server->name);
    json_write_bool(writer, "alive", server->is_alive);
    json_write_time(writer, "seen", server->seen_ns);
    json_write_time(writer, "started", server->started_ns);
    write_labels(server->pool, writer);
    json_write_int(writer, "capacity", (int64_t)server->capacity);
    json_write_int(writer, "executing", (int64_t)server->executing);
    json_write_string(writer, "address", server->address[0] == '\0' ? NULL : server->address);
    json_write_string(writer, "version", server->version);
}

/** Whether a living server has all labels. */
static bool has_labels(const struct server_info *list, size_t count, const char *pool)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].is_alive && labels_have_all(list[i].pool, pool)) {
            return true;
        }
    }
    return false;
}

/** Append the name of the server that an owner is or was, unless its machine has a living one. */
static void explain_machine(const struct server_info *list, size_t count, const char *owner,
                            struct buf *ret_text)
{
    char host[OWNER_HOST_SIZE];
    char other[OWNER_HOST_SIZE];
    const char *name = host;
    owner_host(owner, host);
    for (size_t i = 0; i < count; i++) {
        owner_host(list[i].owner, other);
        if (list[i].is_alive && strcmp(host, other) == 0) {
            return;
        }
        name = strcmp(list[i].owner, owner) == 0 ? list[i].name : name;
    }
    if (name[0] != '\0') {
        buf_printf(ret_text, "server %s", name);
    }
}

void servers_explain_waiting(const struct store *store, const struct server_info *list,
                             size_t count, const struct store_run *run,
                             const struct assignment *assignment, struct buf *ret_text)
{
    const char *pool = assignment == NULL ? "" : assignment->pool;
    const char *owner =
        run->owner[0] != '\0' || assignment == NULL ? run->owner : assignment->server;
    if (count == 0 || run->summary.status != RONDO_RUNNING || run->summary.is_paused ||
        run_is_executed(run, clock_now(clock_system()))) {
        return;
    }
    if (assignment != NULL && !has_labels(list, count, pool)) {
        buf_printf(ret_text, pool[0] == '\0' ? "a server%s" : "a server with the labels %s", pool);
    } else if (store_is_shared(store) && owner[0] != '\0') {
        explain_machine(list, count, owner, ret_text);
    }
}

/* ---- Writing -------------------------------------------------------------------------------- */

void server_default_name(struct random *random, char ret_name[LABEL_SIZE])
{
    struct host_process self;
    size_t len = 0;
    host_describe_self(&self);
    for (const char *at = self.host; *at != '\0' && len < LIMIT_LABEL_LEN - 7; at++) {
        char c = ascii_lower(*at);
        ret_name[len++] = label_is_valid(&c, 1) ? c : '-';
    }
    snprintf(ret_name + len, LABEL_SIZE - len, "%s%06" PRIx64, len == 0 ? "" : "-",
             random_u64(random) & 0xffffff);
}

static int put(struct store *store, const struct server_info *server, bool *ret_is_applied,
               struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    struct json_writer writer = json_writer(&data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "owner", server->owner);
    json_write_string(&writer, "pool", server->pool);
    json_write_int(&writer, "capacity", (int64_t)server->capacity);
    json_write_string(&writer, "address", server->address);
    json_write_string(&writer, "version", server->version);
    json_write_int(&writer, "started_ns", server->started_ns);
    json_end_object(&writer);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = SERVER_COLLECTION,
        .key = server->name,
        .data = buf_string(&data),
        .data_len = data.len,
        .if_version = (int64_t)server->document_version,
        .is_heartbeat = server->document_version != 0,
    };
    return store->ops->change_documents(store, &change, 1, ret_is_applied, err);
}

static int refuse(const struct server_info *other, int64_t now_ns, struct rondo_error *err)
{
    char process[OWNER_DESCRIPTION_SIZE];
    owner_name(other->owner, process);
    return error_set(
        err, RONDO_ERR_BUSY,
        "a server with the name %s is running already: %s, seen %lld"
        " s ago. Choose another name with --name, or wait until it was not seen for %lld s",
        other->name, process, now_ns > other->seen_ns ? (now_ns - other->seen_ns) / NS_PER_S : 0LL,
        (long long)(SERVER_LEASE_NS / NS_PER_S));
}

/** Find which version the document has, and whether its name is free. */
static int look_at_own(struct store *store, const struct clock *clock, struct server_info *server,
                       struct rondo_error *err)
{
    struct server_reading reading;
    int r = read_some(store, clock, server->name, &reading, err);
    if (r < 0) {
        return r;
    }
    const struct server_info *found = reading.count > 0 ? &reading.list[0] : NULL;
    server->document_version = found == NULL ? 0 : found->document_version;
    if (found != NULL && found->is_alive && strcmp(found->owner, server->owner) != 0) {
        server->document_version = 0; /* It is not its own. */
        r = refuse(found, reading.now_ns, err);
    }
    free(reading.list);
    return r;
}

int server_register(struct store *store, const struct clock *clock, struct server_info *server,
                    struct rondo_error *err)
{
    bool is_applied = false;
    int r = 0;
    for (int i = 0; r == 0 && !is_applied && i < TRIES; i++) {
        bool is_known = i == 0 && server->document_version != 0;
        r = is_known ? 0 : look_at_own(store, clock, server, err);
        r = r < 0 ? r : put(store, server, &is_applied, err);
    }
    if (r == 0 && !is_applied) {
        r = error_set(err, RONDO_ERR_BUSY, "other servers register the name %s, too", server->name);
    }
    server->document_version += is_applied ? 1 : 0;
    return r;
}

static void delete_document(struct store *store, const struct server_info *server)
{
    bool is_applied = false;
    struct store_change change = {
        .kind = STORE_DELETE,
        .collection = SERVER_COLLECTION,
        .key = server->name,
        .if_version = (int64_t)server->document_version,
    };
    if (server->document_version != 0) {
        /* One that stays is not seen any more, and goes later. */
        (void)store->ops->change_documents(store, &change, 1, &is_applied, NULL);
    }
}

void server_unregister(struct store *store, const struct server_info *server)
{
    delete_document(store, server);
}

void servers_forget_old(struct store *store, const struct clock *clock,
                        const struct server_info *list, size_t count)
{
    int64_t now_ns = 0;
    if (count == 0 || servers_now(store, clock, &now_ns, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!list[i].is_alive && now_ns - list[i].seen_ns >= SERVER_KEEP_NS) {
            delete_document(store, &list[i]);
        }
    }
}
