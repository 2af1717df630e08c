// SPDX-License-Identifier: Apache-2.0
/* Starting, draining and stopping the server. */
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "handoff/desks/desks.h"
#include "loop/runtime.h"
#include "os/host.h"
#include "policy/watch.h"
#include "server/server_internal.h"
#include "server/stores.h"
#include "store/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Of the requests that an address may send each second, one in so many may have a wrong token. */
#define FAILURES_SHARE 20

/** What every answer sets for browsers, also one to a request that never got this far. */
static const char *const safety[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {NULL, NULL},
};

static void name_machine(struct server *server)
{
    if (gethostname(server->machine, sizeof(server->machine) - 1) == 0 &&
        access_is_host_name(server->machine)) {
        server->names.machine = server->machine;
    }
}

/** A name that can never match would only be noticed by its users. */
static int check_hosts(const char *const *hosts, struct rondo_error *err)
{
    for (size_t i = 0; hosts != NULL && hosts[i] != NULL; i++) {
        if (!access_is_host_name(hosts[i])) {
            return error_set(err, RONDO_ERR_INVALID,
                             "%s is no name of a host (as rondo.example.org, without scheme and "
                             "port)",
                             hosts[i]);
        }
    }
    return 0;
}

static struct server *server_new(const struct server_options *options)
{
    static const char *const none[] = {NULL};
    struct server *server = memory_new_zero(1, sizeof(*server));
    server->options = *options;
    server->listen = memory_dup_list(options->listen == NULL ? none : options->listen);
    server->hosts = memory_dup_list(options->hosts == NULL ? none : options->hosts);
    server->workspace = memory_dup_string(options->workspace);
    server->store_label = memory_dup_string(options->store_label);
    server->front = options->front == NULL ? server : options->front;
    server->policy_path = memory_dup_string(options->policy_path);
    server->store_path = memory_dup_string(options->store_path);
    server->store_name = store_name_of(options->store_path);
    server->names.listen = (const char *const *)server->listen;
    server->names.hosts = (const char *const *)server->hosts;
    server->options.needs_token |= server->hosts[0] != NULL;
    unsigned per_second = options->requests_per_second;
    per_second = per_second == 0 ? SERVER_DEFAULT_RATE : per_second;
    server->rate = rate_new(per_second);
    server->work_index = work_index_new();
    server->failures = rate_new(per_second < FAILURES_SHARE ? 1 : per_second / FAILURES_SHARE);
    server->idempotency.store = runtime_store(options->runtime);
    server->started_ns = clock_monotonic(clock_system());
    server->busy_since_ns = clock_now(clock_system());
    id_new(clock_now(clock_system()), random_system(), server->idempotency.instance);
    if (options->metrics != NULL) {
        server->handoff_meter =
            handoff_meter_new(runtime_store(options->runtime), options->metrics);
        handoff_meter_follow(server->handoff_meter); /* Counting begins here. */
    }
    pthread_mutex_init(&server->policy_lock, NULL);
    pthread_mutex_init(&server->ping_lock, NULL);
    host_user_name(geteuid(), server->user, sizeof(server->user));
    name_machine(server);
    return server;
}

static void report_profiles(void *context, const char *message)
{
    struct server *server = context;
    if (server->options.log != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "profiles were not changed: %s", message);
        server->options.log(server->options.log_context, buf_string(&line));
    }
}

/** The profiles are next to the store's own policies: agents can write those of a project. */
static void open_profiles(struct server *server)
{
    const char *path = server->policy_path;
    auto_free char *beside = watch_default_path(server->store_path);
    path = path == NULL || watch_is_shared_path(path) ? beside : path;
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    auto_buf struct buf folder = {0};
    buf_printf(&folder, "%.*s", slash == NULL ? 1 : (int)(slash - path),
               slash == NULL ? "." : path);
    server->profiles =
        profile_watch_new(path == NULL ? NULL : buf_string(&folder), report_profiles, server);
}

static int start_agents(struct server *server, struct rondo_error *err)
{
    struct store *store = runtime_store(server->options.runtime);
    open_profiles(server);
    server->evaluations = evaluation_log_new(store);
    return waiters_start(store, server->evaluations, &server->waiters, err);
}

bool server_hides_content(void *server, const char *viewer, const char *agent_id)
{
    const struct server *self = server;
    struct handoff_store handoffs = runtime_handoffs(self->options.runtime);
    struct redact_view view = desks_view(handoffs.desks, viewer, agent_id, NULL);
    return redact_hides(&view);
}

/** Requests for a store may come as soon as the front knows its server. */
static int join(struct server *server, struct rondo_error *err)
{
    const struct server_options *options = &server->options;
    int r = 0;
    if (server->front == server) {
        r = stores_new(options->store_labels, options->log, options->log_context, &server->stores,
                       err);
    }
    return r < 0 ? r
                 : stores_join(server->front->stores, server->store_label, server,
                               runtime_store(options->runtime), err);
}

/** Requests that wait end, in all stores. */
static void drain_waiters(struct server *front)
{
    size_t count = front->stores == NULL ? 0 : stores_count(front->stores);
    for (size_t i = 0; i < count; i++) {
        struct store_seat seat = stores_look(front->stores, i);
        if (seat.server != NULL) {
            waiters_drain(seat.server->waiters);
        }
    }
    waiters_drain(front->waiters);
}

static int start_parts(struct server *server, struct rondo_error *err)
{
    struct hub_options hub = {
        .writer = runtime_writer(server->options.runtime),
        .orchestrator = server->options.orchestrator,
        .metrics = server->options.metrics,
        .store_label = server->store_label,
        .is_hidden = server_hides_content,
        .is_hidden_context = server,
    };
    int r = hub_start(&hub, &server->hub, err);
    r = r < 0 ? r : start_agents(server, err);
    if (r == 0 && server->options.store_label != NULL) {
        r = join(server, err);
    }
    if (r < 0 || server->front != server) {
        return r;
    }
    struct http_server_options http = {
        .listen = server->names.listen,
        .max_connections = server->options.max_connections,
        .handler = dispatch,
        .problem = problem_of_status,
        .context = server,
        .headers = safety,
    };
    return http_server_start(&http, &server->http, err);
}

int server_start(const struct server_options *options, struct server **ret_server,
                 struct rondo_error *err)
{
    int r = check_hosts(options->hosts, err);
    if (r < 0) {
        return r;
    }
    struct server *server = server_new(options);
    r = start_parts(server, err);
    if (r < 0) {
        server_stop(server);
        return r;
    }
    *ret_server = server;
    return 0;
}

void server_drain(struct server *server)
{
    atomic_store(&server->is_draining, true);
    hub_drain(server->hub);
    waiters_drain(server->waiters);
}

void server_stop(struct server *server)
{
    if (server == NULL) {
        return;
    }
    atomic_store(&server->is_draining, true);
    if (server->http != NULL) {
        http_server_quiesce(server->http);
        drain_waiters(server);
        http_server_stop(server->http);
    }
    stores_free(server->stores);
    waiters_stop(server->waiters);
    (void)(server->evaluations != NULL && evaluation_log_flush(server->evaluations, NULL));
    evaluation_log_free(server->evaluations);
    profile_watch_free(server->profiles);
    hub_stop(server->hub);
    rate_free(server->rate);
    rate_free(server->failures);
    work_index_free(server->work_index);
    handoff_meter_free(server->handoff_meter);
    pthread_mutex_destroy(&server->policy_lock);
    pthread_mutex_destroy(&server->ping_lock);
    memory_free_list(server->listen);
    memory_free_list(server->hosts);
    free(server->workspace);
    free(server->store_label);
    free(server->policy_path);
    free(server->store_path);
    free(server->store_name);
    free(server);
}

void server_tell(struct server *server, const char *agent_id, const char *json)
{
    if (server != NULL) {
        hub_tell(server->hub, "warning", agent_id, json);
    }
}

const char *server_address(const struct server *server, size_t index)
{
    return http_server_address(server->http, index);
}
