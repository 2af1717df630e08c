// SPDX-License-Identifier: Apache-2.0
/*
 * The server itself: health, metrics, the caller, the description, the dashboard.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "base/json/json.h"
#include "server/answer/assets.h"
#include "server/api/handlers.h"
#include "server/api/openapi.h"
#include "store/place.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

void handle_alive(struct call *call)
{
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "status", "ok");
    json_end_object(&writer);
}

void handle_ready(struct call *call)
{
    uint64_t position = 0;
    struct store *store = call_store(call);
    struct orchestrator_state state = orchestrator_state(call->server->options.orchestrator);
    if (atomic_load(&call->server->is_draining) || state.is_draining) {
        call_problem(call, PROBLEM_DRAINING, "the server is shutting down");
    } else if (state.is_store_failing || store->ops->last_position(store, &position, NULL) < 0) {
        call_problem(call, PROBLEM_STORE_FAILED, PROBLEM_STORE_FAILED_DETAIL);
    } else {
        struct json_writer writer = call_json(call, 200);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "status", "ready");
        json_end_object(&writer);
    }
}

void handle_ping(struct call *call)
{
    struct server *server = call->server;
    struct orchestrator_state state = orchestrator_state(server->options.orchestrator);
    bool is_busy = state.running > 0 || state.queued > 0;
    pthread_mutex_lock(&server->ping_lock);
    if (server->was_busy != is_busy) {
        server->was_busy = is_busy;
        server->busy_since_ns = clock_now(clock_system());
    }
    int64_t since_ns = server->busy_since_ns;
    pthread_mutex_unlock(&server->ping_lock);
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "status", is_busy ? "HealthyBusy" : "Healthy");
    json_write_int(&writer, "time_of_last_update", since_ns / NS_PER_S);
    json_end_object(&writer);
}

void handle_me(struct call *call)
{
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "name", call->grant.name);
    json_write_string(&writer, "scope", token_scope_name(call->grant.scope));
    json_begin_array(&writer, "rights");
    for (unsigned right = RIGHT_READ; right <= RIGHT_REVEAL; right *= 2) {
        if ((call->grant.rights & right) != 0) {
            json_write_string(&writer, NULL, token_right_name((enum token_right)right));
        }
    }
    json_end_array(&writer);
    json_write_string(&writer, "person", call->grant.person[0] == '\0' ? NULL : call->grant.person);
    if (call->grant.agents == NULL) {
        json_write_null(&writer, "agents");
    } else {
        json_begin_array(&writer, "agents");
        for (size_t i = 0; call->grant.agents[i] != NULL; i++) {
            json_write_string(&writer, NULL, call->grant.agents[i]);
        }
        json_end_array(&writer);
    }
    json_write_bool(&writer, "is_local", call->is_local);
    json_end_object(&writer);
}

/* ---- Health --------------------------------------------------------------------------------- */

/** Bytes of the store's file and of its log beside it. */
static int64_t store_size(const char *path)
{
    char log[4096];
    struct stat status;
    if (store_is_in_database(path)) {
        return 0; /* It is not on this machine. */
    }
    int64_t size = path != NULL && stat(path, &status) == 0 ? status.st_size : 0;
    snprintf(log, sizeof(log), "%s-wal", path == NULL ? "" : path);
    return size + (path != NULL && stat(log, &status) == 0 ? status.st_size : 0);
}

static uint64_t write_store(struct call *call, bool is_failing, struct json_writer *writer)
{
    uint64_t position = 0;
    struct store *store = call_store(call);
    bool has_failed = store->ops->last_position(store, &position, NULL) < 0;
    const char *path = call->server->store_path;
    /* A token for some agents need not know where things lie. */
    bool is_shown = call->grant.agents == NULL && path != NULL;
    json_begin_object(writer, "store");
    json_write_string(writer, "path", is_shown ? call->server->store_name : NULL);
    json_write_int(writer, "size_bytes", store_size(path));
    json_write_bool(writer, "is_failing", has_failed || is_failing);
    json_write_int(writer, "position", (int64_t)position);
    json_end_object(writer);
    return position;
}

static void write_loops(const struct orchestrator_state *state, struct json_writer *writer)
{
    json_begin_object(writer, "loops");
    json_write_int(writer, "running", (int64_t)state->running);
    json_write_int(writer, "queued", (int64_t)state->queued);
    json_write_int(writer, "paused", (int64_t)state->paused);
    json_write_int(writer, "max", (int64_t)state->max_loops);
    json_write_int(writer, "max_queue", (int64_t)state->max_queue);
    json_write_string(writer, "limited_by", state->limited_by);
    json_end_object(writer);
}

static uint64_t write_monitor(const struct server *server, uint64_t position,
                              struct json_writer *writer)
{
    struct monitor_state state = {0};
    uint64_t total = 0;
    if (server->options.monitor != NULL) {
        state = monitor_state(server->options.monitor);
    }
    for (size_t i = 0; i < WARNING_KIND_COUNT; i++) {
        total += state.warnings[i];
    }
    json_begin_object(writer, "monitor");
    json_write_int(writer, "position", (int64_t)state.position);
    json_write_int(writer, "behind",
                   position > state.position ? (int64_t)(position - state.position) : 0);
    json_write_int(writer, "pending", (int64_t)state.pending);
    json_write_int(writer, "dead", (int64_t)state.dead);
    json_end_object(writer);
    return total;
}

static void write_telemetry(const struct server *server, struct json_writer *writer)
{
    struct telemetry_state state = {0};
    if (server->options.telemetry != NULL) {
        state = telemetry_state(server->options.telemetry);
    }
    json_begin_object(writer, "telemetry");
    json_write_bool(writer, "is_on", state.is_on);
    json_write_bool(writer, "is_failing", state.is_failing);
    json_write_int(writer, "sent", (int64_t)state.sent);
    json_write_int(writer, "rejected", (int64_t)state.rejected);
    json_write_int(writer, "dropped", (int64_t)state.dropped);
    json_write_int(writer, "behind", (int64_t)state.behind);
    json_write_string(writer, "problem", state.problem[0] == '\0' ? NULL : state.problem);
    json_end_object(writer);
}

void handle_health(struct call *call)
{
    struct server *server = call->server;
    struct orchestrator_state state = orchestrator_state(server->options.orchestrator);
    struct hub_state hub = hub_state(server->hub);
    struct http_server_state http = http_server_state(server->http);
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "version", RONDO_VERSION);
    json_write_int(&writer, "uptime_ns", clock_monotonic(clock_system()) - server->started_ns);
    uint64_t position = write_store(call, state.is_store_failing, &writer);
    write_loops(&state, &writer);
    json_write_int(&writer, "streams", (int64_t)hub.streams);
    json_write_int(&writer, "connections", (int64_t)http.connections);
    uint64_t warnings = write_monitor(server, position, &writer);
    write_telemetry(server, &writer);
    json_write_int(&writer, "warnings_total", (int64_t)warnings);
    json_write_int(&writer, "taken_over", (int64_t)state.taken_over);
    json_write_int(&writer, "closed", (int64_t)state.closed);
    json_write_bool(&writer, "is_draining", state.is_draining || atomic_load(&server->is_draining));
    json_end_object(&writer);
}

/* ---- Texts ---------------------------------------------------------------------------------- */

void handle_tokens(struct call *call)
{
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    int r = token_list(call_store(call), &list, &err);
    call_answer_list(call, "tokens", &list, r, &err);
}

void handle_openapi(struct call *call)
{
    size_t len = 0;
    const char *text = openapi_text(&len);
    call->status = 200;
    call->content_type = "application/json";
    buf_append(&call->answer, text, len);
}

/** Whether a list like "gzip;q=0.8, br" accepts gzip. */
static bool accepts_gzip(const char *header)
{
    for (const char *at = header; at != NULL && *at != '\0';) {
        at += strspn(at, " \t,");
        size_t len = strcspn(at, ",");
        size_t name = strcspn(at, ";, \t");
        const char *quality = memmem(at, len, "q=", 2);
        bool is_refused = quality != NULL && quality[2] == '0' &&
                          strspn(quality + 2, "0.") >= (size_t)(at + len - quality) - 2;
        if (name == 4 && strncasecmp(at, "gzip", 4) == 0) {
            return !is_refused;
        }
        at += len;
    }
    return false;
}

/** Whether If-None-Match names an ETag. */
static bool has_etag(const char *header, const char *etag)
{
    return header != NULL && (strcmp(header, "*") == 0 || strstr(header, etag) != NULL);
}

static void send_asset(struct call *call, const struct asset *asset)
{
    struct http_exchange *exchange = call->exchange;
    bool is_packed =
        asset->gzip != NULL && accepts_gzip(http_exchange_header(exchange, "Accept-Encoding"));
    char etag[80]; /* each form has its own */
    int len = (int)strlen(asset->etag) - 1;
    snprintf(etag, sizeof(etag), is_packed ? "%.*s-gzip\"" : "%.*s\"", len, asset->etag);
    call->is_answered = true;
    http_exchange_add_header(exchange, "ETag", etag);
    http_exchange_add_header(exchange, "Vary", "Accept-Encoding");
    http_exchange_add_header(exchange, "Cache-Control",
                             asset->is_immutable ? "public, max-age=31536000, immutable"
                                                 : "no-cache");
    if (has_etag(http_exchange_header(exchange, "If-None-Match"), etag)) {
        call->status = 304;
        http_exchange_reply(exchange, 304, "", 0);
        return;
    }
    call->status = 200;
    http_exchange_add_header(exchange, "Content-Type", asset->content_type);
    if (is_packed) {
        http_exchange_add_header(exchange, "Content-Encoding", "gzip");
        http_exchange_reply_static(exchange, 200, asset->gzip, asset->gzip_len);
    } else {
        http_exchange_reply_static(exchange, 200, asset->bytes, asset->len);
    }
}

void handle_asset(struct call *call)
{
    const struct asset *asset = asset_find(http_exchange_path(call->exchange));
    if (asset == NULL) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is nothing at this path");
        return;
    }
    send_asset(call, asset);
}
