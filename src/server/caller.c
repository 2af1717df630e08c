// SPDX-License-Identifier: Apache-2.0
/* Who sends a request, and how many requests that caller may send. */
#include "server/caller.h"

#include "base/auto.h"
#include "server/call.h"

#include <stdio.h>
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
    if (!rate_take(call->server->failures, name, clock_monotonic(clock_system()), &wait_s)) {
        return refuse_rate(call, wait_s);
    }
    http_exchange_add_header(call->exchange, "WWW-Authenticate", "Bearer realm=\"rondo\"");
    call_problem(call, PROBLEM_UNAUTHORIZED, "%s", detail);
    return false;
}

static bool check_token(struct call *call, const char *header)
{
    int64_t now_ns = clock_now(clock_system());
    int r = token_check(call_store(call), access_bearer(header), now_ns, &call->grant, NULL);
    if (r < 0) {
        call_problem(call, PROBLEM_STORE_FAILED, PROBLEM_STORE_FAILED_DETAIL);
        return false;
    }
    if (call->grant.scope != TOKEN_NONE) {
        token_note_use(call_store(call), &call->server->token_uses, call->grant.digest, now_ns);
    }
    return call->grant.scope != TOKEN_NONE ||
           refuse_token(call, "the token is unknown, expired or revoked");
}

/** Report once that there is a proxy: its operator may believe that no token is needed. */
static void report_proxy(struct call *call, const char *header)
{
    struct server *server = call->server;
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
    if (call->server->options.needs_token) {
        return false;
    }
    if (!access_is_direct(call->exchange)) {
        report_proxy(call, access_proxy_header(call->exchange));
        return false;
    }
    const struct http_remote *peer = http_exchange_peer(call->exchange);
    return peer->is_loopback && peer->is_same_user;
}

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
    if (header != NULL) {
        return check_token(call, header);
    }
    if (!is_local(call)) {
        return refuse_token(call, "send `Authorization: Bearer TOKEN`; `rondo token create` makes "
                                  "one");
    }
    call->is_local = true;
    call->grant.scope = TOKEN_ADMINISTER;
    call->grant.rights = RIGHTS_LOCAL;
    snprintf(call->grant.name, sizeof(call->grant.name), "local user %s", call->server->user);
    snprintf(call->grant.person, sizeof(call->grant.person), "user:%s", call->server->user);
    return true;
}

bool caller_check_rate(struct call *call)
{
    char name[96];
    int64_t wait_s = 0;
    access_name_peer(http_exchange_peer_text(call->exchange), name, sizeof(name));
    /* The owner's own programs do not share with others that come over the loopback. */
    const char *who = call->grant.scope == TOKEN_NONE ? name : call->grant.name;
    return rate_take(call->server->rate, who, clock_monotonic(clock_system()), &wait_s) ||
           refuse_rate(call, wait_s);
}
