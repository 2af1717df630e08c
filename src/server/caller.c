// SPDX-License-Identifier: Apache-2.0
/* Who sends a request, and how many requests that caller may send. */
#include "server/caller.h"

#include "base/auto.h"
#include "base/memory.h"
#include "loop/runtime.h"
#include "server/call.h"
#include "server/stores.h"
#include "store/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse_rate(struct call *call, int64_t wait_s)
{
    call->retry_after_s = (unsigned)wait_s;
    call_problem(call, PROBLEM_RATE_LIMITED, "too many requests; wait %lld s", (long long)wait_s);
    return false;
}

static bool refuse_token(struct call *call, const char *detail)
{
    char name[96];
    int64_t wait_s = 0;
    access_name_peer(http_exchange_peer_text(call->exchange), name, sizeof(name));
    if (!rate_take(call->front->failures, name, clock_monotonic(clock_system()), &wait_s)) {
        return refuse_rate(call, wait_s);
    }
    http_exchange_add_header(call->exchange, "WWW-Authenticate", "Bearer realm=\"rondo\"");
    call_problem(call, PROBLEM_UNAUTHORIZED, "%s", detail);
    return false;
}

/** @return whether a store knows one of the tokens of a header; negative: it cannot be read */
static int find_grant(struct server *server, const char *header, struct token_grant *ret_grant)
{
    struct store *store = runtime_store(server->options.runtime);
    int64_t now_ns = clock_now(clock_system());
    const char *at = access_bearer(header);
    for (int i = 0; i < STORES_MAX && *at != '\0'; i++) {
        char token[TOKEN_SIZE];
        size_t len = strcspn(at, ",");
        snprintf(token, sizeof(token), "%.*s", (int)(len < TOKEN_SIZE ? len : 0), at);
        int r = token_check(store, token, now_ns, ret_grant, NULL);
        if (r < 0) {
            return r;
        }
        if (ret_grant->scope != TOKEN_NONE) {
            token_note_use(store, &server->token_uses, ret_grant->digest, now_ns);
            return 1;
        }
        at += len;
        at += strspn(at, ", ");
    }
    return 0;
}

static bool refuse_unknown(struct call *call)
{
    return refuse_token(call, "the token is unknown, expired or revoked");
}

static bool check_token(struct call *call, const char *header)
{
    int r = find_grant(call->server, header, &call->grant);
    if (r < 0) {
        call_problem(call, PROBLEM_STORE_FAILED, PROBLEM_STORE_FAILED_DETAIL);
        return false;
    }
    return r > 0 || refuse_unknown(call);
}

/** Report once that there is a proxy: its operator may believe that no token is needed. */
static void report_proxy(struct call *call, const char *header)
{
    struct server *server = call->front;
    if (header == NULL || server->options.log == NULL ||
        atomic_exchange(&server->has_proxy, true)) {
        return;
    }
    auto_buf struct buf line = {0};
    buf_printf(&line,
               "requests come through a proxy (they have %s): each of them needs a token, also "
               "where this user's own programs need none",
               header);
    server->options.log(server->options.log_context, buf_string(&line));
}

/** Whether a request without a token comes from one of this user's own programs. */
static bool is_local(struct call *call)
{
    if (call->front->options.needs_token) {
        return false;
    }
    if (!access_is_direct(call->exchange)) {
        report_proxy(call, access_proxy_header(call->exchange));
        return false;
    }
    const struct http_remote *peer = http_exchange_peer(call->exchange);
    return peer->is_loopback && peer->is_same_user;
}

static void grant_local(struct call *call, struct token_grant *ret_grant)
{
    const char *user = call->front->user;
    *ret_grant = (struct token_grant){.scope = TOKEN_ADMINISTER, .rights = RIGHTS_LOCAL};
    snprintf(ret_grant->name, sizeof(ret_grant->name), "local user %s", user);
    snprintf(ret_grant->person, sizeof(ret_grant->person), "user:%s", user);
}

/* ---- Of several stores ----------------------------------------------------------------------- */

static bool refuse_away(struct call *call, const char *name)
{
    call_problem(call, PROBLEM_STORE_FAILED, "the store %s does not answer; try again later", name);
    return false;
}

/** Add a store if the caller reaches it, or may. @param header NULL = a local program */
static void add_store(struct call *call, const struct store_seat *seat, const char *header)
{
    struct call_reach *reach = &call->reached[call->reached_count];
    *reach = (struct call_reach){seat->name, seat->server, seat->is_away, {0}};
    int r = 1;
    if (header == NULL) {
        grant_local(call, &reach->grant);
    } else if (!reach->is_away) {
        r = find_grant(reach->server, header, &reach->grant);
        reach->is_away = r < 0;
    }
    call->reached_count += r != 0;
}

/** @param header NULL = a local program. @return false: the answer is a problem */
static bool reach_stores(struct call *call, const char *header)
{
    struct stores *stores = call->front->stores;
    const char *name = call_query(call, "store");
    call->reached = memory_new_zero(stores_count(stores), sizeof(*call->reached));
    for (size_t i = 0; i < stores_count(stores); i++) {
        struct store_seat seat = stores_look(stores, i);
        if (name == NULL || strcmp(seat.name, name) == 0) {
            add_store(call, &seat, header);
        }
    }
    for (size_t i = 0; i < call->reached_count; i++) {
        if (!call->reached[i].is_away) {
            call_enter(call, i);
            return true;
        }
    }
    if (call->reached_count > 0) {
        return refuse_away(call, call->reached[0].name);
    }
    if (header != NULL) {
        return refuse_unknown(call);
    }
    call_problem(call, PROBLEM_NOT_FOUND, "there is no store %.64s here", name);
    return false;
}

/** A run is in one store: ids are unique. @return false: the answer is a problem */
static bool choose_by_run(struct call *call, const char *run)
{
    size_t found = call->reached_count;
    const char *away = NULL;
    for (size_t i = 0; i < call->reached_count; i++) {
        const struct call_reach *reach = &call->reached[i];
        struct store_run row;
        if (reach->is_away) {
            away = reach->name;
        } else if (store_find_run(runtime_store(reach->server->options.runtime), run, NULL, &row,
                                  NULL) == 0 &&
                   token_grant_covers(&reach->grant, row.agent_id)) {
            if (found < call->reached_count) {
                call_problem(call, PROBLEM_NOT_FOUND, "runs of several stores begin with %.64s",
                             run);
                return false;
            }
            found = i;
        }
    }
    if (found < call->reached_count) {
        call_enter(call, found);
    }
    /* The handler says that there is no such run. */
    return found < call->reached_count || away == NULL || refuse_away(call, away);
}

bool caller_choose_store(struct call *call)
{
    const char *run = route_value(&call->match, "run");
    const char *name = call_query(call, "store");
    if (call->match.route->is_public) {
        return true;
    }
    if (call->reached == NULL) {
        if (name != NULL) {
            call_problem(call, PROBLEM_NOT_FOUND,
                         "this server has one store, which has no name; leave `store` out");
        }
        return name == NULL;
    }
    if (name != NULL || call->match.route->spans) {
        return true;
    }
    if (run != NULL && strlen(run) >= CALL_RUN_PREFIX_MIN) {
        return choose_by_run(call, run);
    }
    if (call->reached[0].is_away) {
        return refuse_away(call, call->reached[0].name);
    }
    return true;
}

void caller_fini(struct call *call)
{
    if (call->reached == NULL) {
        token_grant_fini(&call->grant);
    }
    for (size_t i = 0; i < call->reached_count; i++) {
        token_grant_fini(&call->reached[i].grant);
    }
    free(call->reached);
}

/* ---- The call -------------------------------------------------------------------------------- */

bool caller_identify(struct call *call)
{
    const char *header = http_exchange_header(call->exchange, "Authorization");
    if (call->match.route->is_public) {
        return true;
    }
    if (http_exchange_header_count(call->exchange, "Authorization") > 1) {
        call_problem(call, PROBLEM_MALFORMED, "there are several Authorization headers");
        return false;
    }
    call->is_local = header == NULL && is_local(call);
    if (header == NULL && !call->is_local) {
        return refuse_token(call, "send `Authorization: Bearer TOKEN`; `rondo token create` makes "
                                  "one");
    }
    if (call->front->stores != NULL) {
        return reach_stores(call, header);
    }
    if (header != NULL) {
        return check_token(call, header);
    }
    grant_local(call, &call->grant);
    return true;
}

bool caller_check_rate(struct call *call)
{
    char name[96];
    int64_t wait_s = 0;
    access_name_peer(http_exchange_peer_text(call->exchange), name, sizeof(name));
    /* The owner's own programs do not share with others that come over the loopback. */
    const char *who = call->grant.scope == TOKEN_NONE ? name : call->grant.name;
    return rate_take(call->front->rate, who, clock_monotonic(clock_system()), &wait_s) ||
           refuse_rate(call, wait_s);
}
