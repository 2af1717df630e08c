// SPDX-License-Identifier: Apache-2.0
/*
 * The path of a request: authentication (names, origin, token), authorization (scope, rate),
 * the route with its parameters and body, idempotency, the handler, the answer. Each step either
 * lets the request continue or has written a problem.
 */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "server/call.h"
#include "server/caller.h"
#include "server/hooks.h"
#include "server/signatures.h"
#include "server/stream/waiters.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Every PRUNE_EACH-th new idempotency record prunes old ones: four go for one that comes. */
#define PRUNE_EACH (IDEMPOTENCY_PRUNED / 4)

static bool check_site(struct call *call)
{
    enum problem_code code = PROBLEM_INTERNAL;
    const char *detail = "";
    bool is_api = strncmp(http_exchange_path(call->exchange), "/v1/", 4) == 0;
    if (access_check_site(&call->server->names, call->exchange, is_api, &code, &detail)) {
        return true;
    }
    call_problem(call, code, "%s", detail);
    return false;
}

static bool find_route(struct call *call)
{
    const char *path = http_exchange_path(call->exchange);
    switch (router_match(routes, http_exchange_method(call->exchange), path, &call->match)) {
    case ROUTE_FOUND:
        return true;
    case ROUTE_UNKNOWN:
        call_problem(call, PROBLEM_NOT_FOUND, "there is nothing at this path");
        return false;
    case ROUTE_OTHER_METHOD:
        break;
    }
    http_exchange_add_header(call->exchange, "Allow", call->match.allow);
    call_problem(call, PROBLEM_METHOD_NOT_ALLOWED, "this path has %s", call->match.allow);
    return false;
}

/* ---- Rights ---------------------------------------------------------------------------------- */

static bool check_scope(struct call *call)
{
    const struct route *route = call->match.route;
    if (!route->is_public && (call->grant.rights & route->right) == 0) {
        call_problem(call, PROBLEM_FORBIDDEN, "this needs the scope %s; the token has %s",
                     token_right_name(route->right), token_scope_name(call->grant.scope));
        return false;
    }
    if (route->needs_all_agents && call->grant.agents != NULL) {
        call_problem(call, PROBLEM_FORBIDDEN, "this needs a token that is not limited to agents");
        return false;
    }
    snprintf(call->by, sizeof(call->by), "%s (api)", call->grant.name);
    return true;
}

/* ---- What ----------------------------------------------------------------------------------- */

/** Parameters that are looked at to find doubles. */
#define QUERY_MAX 32

struct query_check {
    struct call *call;
    const char *seen[QUERY_MAX];
    size_t count;
    bool is_good;
};

static void check_parameter(void *context, const char *name, const char *value)
{
    struct query_check *check = context;
    (void)value;
    if (!check->is_good) {
        return;
    }
    const struct route *route = check->call->match.route;
    bool is_store = strcmp(name, "store") == 0 && !route->is_public; /* caller_choose_store() */
    if (check->count == QUERY_MAX || (!is_store && !route_list_has(route->query, name))) {
        call_problem(check->call, PROBLEM_MALFORMED, "there is no parameter %.64s here", name);
        check->is_good = false;
        return;
    }
    for (size_t i = 0; i < check->count; i++) {
        if (strcmp(check->seen[i], name) == 0) {
            call_problem(check->call, PROBLEM_MALFORMED, "the parameter %.64s is there twice",
                         name);
            check->is_good = false;
        }
    }
    check->seen[check->count++] = name;
}

static bool check_query(struct call *call)
{
    struct query_check check = {.call = call, .is_good = true};
    http_exchange_visit_query(call->exchange, check_parameter, &check);
    return check.is_good;
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    size_t len = sizeof(json) - 1;
    if (type == NULL || strncasecmp(type, json, len) != 0) {
        return false;
    }
    type += len;
    type += strspn(type, " \t");
    return *type == '\0' || *type == ';';
}

static bool parse_body(struct call *call, const char *bytes, size_t len)
{
    struct rondo_error err = {0};
    if (!is_json(http_exchange_header(call->exchange, "Content-Type"))) {
        call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                     "a body needs `Content-Type: application/json`");
        return false;
    }
    if (json_parse_strict(bytes, len, &call->body, &err) < 0) {
        call_problem(call, PROBLEM_MALFORMED, "the body: %s", err.message);
        return false;
    }
    if (!json_object_is_type(call->body, json_type_object)) {
        call_problem(call, PROBLEM_MALFORMED, "the body must be a JSON object");
        return false;
    }
    return true;
}

static bool read_body(struct call *call)
{
    size_t len = 0;
    const char *bytes = http_exchange_body(call->exchange, &len);
    enum route_body body = call->match.route->body;
    if (len > 0 && body == ROUTE_NO_BODY) {
        call_problem(call, PROBLEM_MALFORMED, "this takes no body");
        return false;
    }
    if (len == 0 && body == ROUTE_NEEDS_BODY) {
        call_problem(call, PROBLEM_MALFORMED, "this needs a body: a JSON object");
        return false;
    }
    return len == 0 || parse_body(call, bytes, len);
}

/* ---- Again? --------------------------------------------------------------------------------- */

static void prune(struct call *call, int64_t now_ns)
{
    if (atomic_fetch_add(&call->server->keys_seen, 1) % PRUNE_EACH == 0) {
        idempotency_prune(&call->server->idempotency, now_ns);
    }
}

static void replay(struct call *call, struct idempotency_answer *answer)
{
    call->status = answer->status;
    call->content_type = "application/json";
    buf_append_string(&call->answer, answer->body);
    snprintf(call->location, sizeof(call->location), "%s",
             answer->location == NULL ? "" : answer->location);
    call->is_replayed = true;
    idempotency_answer_fini(answer);
}

static void refuse_again(struct call *call, enum idempotency_outcome outcome)
{
    if (outcome == IDEMPOTENCY_MISMATCH) {
        call_problem(call, PROBLEM_IDEMPOTENCY_MISMATCH,
                     "the Idempotency-Key was used for another request; take a new one");
    } else if (outcome == IDEMPOTENCY_UNDER_WAY) {
        call->retry_after_s = 1;
        call_problem(call, PROBLEM_CONFLICT, "the same request is still being answered");
    } else {
        call_problem(call, PROBLEM_CONFLICT,
                     "it is not known whether this request came about: a server ended while it did "
                     "it, or could not record the answer; look (GET /v1/runs?sort=created), and if "
                     "it did not, send it again with a new Idempotency-Key");
    }
}

static void finish(struct call *call, const struct idempotency_slot *slot)
{
    const struct idempotency *idempotency = &call->server->idempotency;
    if (call->status < 200 || call->status > 299) {
        idempotency_forget(idempotency, slot);
        return;
    }
    char nothing[] = "null";
    struct idempotency_answer answer = {
        .status = call->status,
        .location = call->location[0] == '\0' ? NULL : call->location,
        .body = call->answer.len == 0 ? nothing : call->answer.data,
    };
    idempotency_finish(idempotency, slot, &answer, NULL);
}

/**
 * The caller that a recorded answer is for. A new token with an old name, for other agents or
 * another person, is another caller.
 */
static void name_caller(const struct token_grant *grant, struct buf *ret_name)
{
    buf_printf(ret_name, "%s %s", grant->name, token_scope_name(grant->scope));
    if (grant->person[0] != '\0') { /* Another person may see less of the answer. */
        buf_printf(ret_name, " %s", grant->person);
    }
    for (size_t i = 0; grant->agents != NULL && grant->agents[i] != NULL; i++) {
        buf_printf(ret_name, "\n%s", grant->agents[i]);
    }
}

static void handle_reserved(struct call *call, const struct idempotency_slot *slot)
{
    memcpy(call->run_id, slot->run_id, sizeof(call->run_id));
    call->match.route->handler(call);
    finish(call, slot);
}

/** The request of a server that ended: done if it shows whether it was, else refused. */
static void handle_lost(struct call *call, struct idempotency_slot *slot)
{
    bool is_ours = false;
    struct rondo_error err = {0};
    if (slot->run_id[0] == '\0' && !call->match.route->knows_key) {
        refuse_again(call, IDEMPOTENCY_LOST);
    } else if (idempotency_retake(&call->server->idempotency, slot, &is_ours, &err) < 0) {
        call_error(call, &err);
    } else if (!is_ours) {
        refuse_again(call, IDEMPOTENCY_UNDER_WAY);
    } else {
        call->is_again = true;
        handle_reserved(call, slot);
    }
}

static void handle_once(struct call *call, const char *key)
{
    char run_id[ID_SIZE];
    auto_buf struct buf caller = {0};
    name_caller(&call->grant, &caller);
    size_t len = 0;
    const char *body = http_exchange_body(call->exchange, &len);
    struct idempotency_request request = {
        .caller = buf_string(&caller),
        .key = key,
        .method = call->match.route->method,
        .path = http_exchange_path(call->exchange),
        .body = body,
        .len = len,
        .run_id = call->match.route->makes_run ? run_id : NULL,
    };
    enum idempotency_outcome outcome = IDEMPOTENCY_NEW;
    struct idempotency_slot slot;
    struct idempotency_answer answer = {0};
    struct rondo_error err = {0};
    int64_t now_ns = clock_now(clock_system());
    prune(call, now_ns);
    id_new(now_ns, random_system(), run_id);
    int r = idempotency_begin(&call->server->idempotency, &request, now_ns, &outcome, &slot,
                              &answer, &err);
    if (r < 0) {
        call_error(call, &err);
    } else if (outcome == IDEMPOTENCY_REPLAY) {
        replay(call, &answer);
    } else if (outcome == IDEMPOTENCY_LOST) {
        handle_lost(call, &slot);
    } else if (outcome != IDEMPOTENCY_NEW) {
        refuse_again(call, outcome);
    } else {
        handle_reserved(call, &slot);
    }
}

static void handle(struct call *call)
{
    const struct route *route = call->match.route;
    const char *key = http_exchange_header(call->exchange, "Idempotency-Key");
    if (strcmp(route->method, "POST") != 0 || key == NULL) {
        route->handler(call);
        return;
    }
    if (http_exchange_header_count(call->exchange, "Idempotency-Key") > 1 ||
        !idempotency_key_is_valid(key)) {
        call_problem(call, PROBLEM_MALFORMED,
                     "an Idempotency-Key has 1 to %d visible ASCII characters and is sent once",
                     LIMIT_IDEMPOTENCY_KEY);
    } else if (route->is_pure) {
        route->handler(call);
    } else {
        handle_once(call, key);
    }
}

/* ---- The answer ----------------------------------------------------------------------------- */

static void send_answer(struct call *call)
{
    if (call->is_answered) {
        return;
    }
    if (call->content_type != NULL && call->answer.len > 0) {
        http_exchange_add_header(call->exchange, "Content-Type", call->content_type);
    }
    if (call->is_replayed) {
        http_exchange_add_header(call->exchange, "Idempotency-Replayed", "true");
    }
    if (call->location[0] != '\0') {
        http_exchange_add_header(call->exchange, "Location", call->location);
    }
    if (call->etag[0] != '\0') {
        http_exchange_add_header(call->exchange, "ETag", call->etag);
    }
    if (call->retry_after_s > 0) {
        char seconds[16];
        snprintf(seconds, sizeof(seconds), "%u", call->retry_after_s);
        http_exchange_add_header(call->exchange, "Retry-After", seconds);
    }
    if (!call->is_cacheable) {
        http_exchange_add_header(call->exchange, "Cache-Control", "no-store");
    }
    signatures_add(call);
    http_exchange_reply(call->exchange, call->status, buf_string(&call->answer), call->answer.len);
}

/** Streams are left out: their time says nothing. */
static void count(const struct call *call, int64_t duration_ns)
{
    struct metrics *metrics = call->server->options.metrics;
    char status[16];
    const struct route *route = call->match.route;
    const char *labels[] = {route == NULL ? "none" : route->operation, status};
    if (metrics == NULL || (call->is_answered && call->status == 0)) {
        return;
    }
    snprintf(status, sizeof(status), "%u", call->status);
    metrics_add(metrics, "rondo_http_requests_total", labels, 1);
    metrics_add(metrics, "rondo_http_request_duration_seconds", NULL, (double)duration_ns / 1e9);
}

/** One line for each request that changed something: caller, request and result. */
static void audit(const struct call *call)
{
    const struct server_options *options = &call->server->options;
    const struct route *route = call->match.route;
    bool is_done = call->status >= 200 && call->status <= 299;
    if (options->audit == NULL || !is_done || route->is_pure || strcmp(route->method, "GET") == 0) {
        return;
    }
    auto_buf struct buf line = {0};
    buf_printf(&line, "audit: %s from %s: %s %.1024s -> %u%s%s", call->by,
               http_exchange_peer_text(call->exchange), route->method,
               http_exchange_path(call->exchange), call->status,
               call->location[0] == '\0' ? "" : " ", call->location);
    options->audit(options->log_context, buf_string(&line));
}

static void end(struct call *call)
{
    count(call, clock_monotonic(clock_system()) - call->began_ns);
    send_answer(call);
    json_object_put(call->body);
    buf_fini(&call->answer);
    caller_fini(call);
    free(call);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static bool ask_again(void *context)
{
    struct call *call = context;
    const struct token_grant *grant = &call->grant;
    call->waits_for[0] = '\0';
    buf_clear(&call->answer);
    if (grant->digest[0] != '\0' &&
        !token_still_counts(call_store(call), grant->digest, clock_now(clock_system()))) {
        call_problem(call, PROBLEM_UNAUTHORIZED, "the token is unknown, expired or revoked");
        return false;
    }
    call->match.route->handler(call);
    return call->waits_for[0] != '\0';
}

static void park(void *context)
{
    http_exchange_park(((struct call *)context)->exchange);
}

static void finish_waiting(void *context)
{
    struct call *call = context;
    struct http_exchange *exchange = call->exchange;
    end(call);
    http_exchange_unpark(exchange);
}

static const struct waiter_ops wait_ops = {ask_again, park, finish_waiting};

/** Do what was asked. On the server's worker, or where it may take its time. */
static void perform(void *context, struct http_exchange *exchange)
{
    struct call *call = context;
    (void)exchange;
    handle(call);
    if (call->waits_for[0] != '\0' &&
        waiters_add(call->server->waiters, call->waits_for, call->wait_until_ns, &wait_ops, call)) {
        return; /* Theirs: another thread may have ended it by now. */
    }
    audit(call);
    end(call);
}

void dispatch(void *context, struct http_exchange *exchange)
{
    if (hooks_have(exchange)) {
        hooks_dispatch(context, exchange);
        return;
    }
    struct call *call = memory_new_zero(1, sizeof(*call));
    *call = (struct call){
        .front = context,
        .server = context,
        .exchange = exchange,
        .began_ns = clock_monotonic(clock_system()),
    };
    if (!check_site(call) || !find_route(call) || !caller_identify(call) ||
        !caller_check_rate(call) || !caller_choose_store(call) || !check_scope(call) ||
        !signatures_check(call) || !check_query(call) || !read_body(call)) {
        end(call);
    } else if (call->match.route->is_slow) {
        http_exchange_defer(exchange, perform, call);
    } else {
        perform(call, exchange);
    }
}
