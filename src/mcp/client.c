// SPDX-License-Identifier: Apache-2.0
/*
 * The client: which version is spoken, the handshake, lists and calls. One thread at a time opens a
 * session, others wait for it; after that everything runs side by side.
 *
 * A server's era is found out once. Over HTTP `server/discover` is tried first, over stdio
 * `initialize`; whatever is no sign of the one leads to the other.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "mcp/headers.h"
#include "mcp/transport.h"

#include <json-c/json.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Pages, tools and rounds of questions that a server may make of one request. */
#define PAGES_MAX  100
#define TOOLS_MAX  5000
#define ROUNDS_MAX 8
/* How long a server that may not know `server/discover` is waited for. */
#define PROBE_NS (10 * NS_PER_S)
/* How often a thread that waits for another's handshake looks at its deadline. */
#define LOOK_NS (50 * NS_PER_MS)

enum era {
    ERA_UNKNOWN = 0,
    ERA_LEGACY,
    ERA_MODERN,
};

struct mcp_client {
    char *name;
    const struct mcp_transport_ops *ops;
    void *transport;
    bool is_http;
    bool accepts_defaults;
    int64_t timeout_ns;
    const struct clock *clock;
    struct mcp_inbox inbox;
    _Atomic int64_t last_id;
    const char *_Atomic version; /* static text */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_opening;
    bool is_open;
    enum era era;
    uint64_t session;
    struct json_object *schemas; /* name -> input schema, where headers are required; or NULL */
};

/** What a request needs to know of the session it runs in. */
struct session_call {
    struct mcp_client *client;
    uint64_t session;
    bool is_modern;
    const char *version;
    int64_t deadline_ns;
    int64_t patience_ns;
    int64_t latest_ns;
    struct cancel *cancel;
};

static int64_t now_ns(const struct mcp_client *client)
{
    return clock_monotonic(client->clock);
}

/* --- headers --- */

void mcp_header_list_add(struct mcp_header_list *list, const char *name, const char *value)
{
    list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count++] =
        (struct mcp_header){memory_dup_string(name), memory_dup_string(value)};
}

void mcp_header_list_fini(struct mcp_header_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].value);
    }
    free(list->items);
    *list = (struct mcp_header_list){0};
}

/* --- one request --- */

static int64_t next_id(struct mcp_client *client)
{
    return atomic_fetch_add(&client->last_id, 1) + 1;
}

/** A request but for its id. */
static struct mcp_outgoing outgoing(const struct session_call *call, const char *method)
{
    return (struct mcp_outgoing){
        .method = method,
        .is_modern = call->is_modern,
        .accepts_defaults = call->client->accepts_defaults,
        .asks_person = call->client->inbox.ask != NULL,
    };
}

static struct mcp_exchange exchange_of(const struct session_call *call, int64_t id,
                                       const char *method, const struct buf *body)
{
    return (struct mcp_exchange){
        .id = id,
        .method = method,
        .version = call->version,
        .is_modern = call->is_modern,
        .body = buf_string(body),
        .body_len = body->len,
        .deadline_ns = call->deadline_ns,
        .patience_ns = call->patience_ns,
        .latest_ns = call->latest_ns,
        .cancel = call->cancel,
    };
}

int64_t mcp_exchange_deadline(const struct mcp_inbox *inbox, const struct mcp_exchange *exchange)
{
    int64_t last_ns = exchange->patience_ns > 0 ? mcp_inbox_progress(inbox, exchange->id) : 0;
    int64_t longer_ns = last_ns > 0 ? last_ns + exchange->patience_ns : 0;
    longer_ns = longer_ns < exchange->latest_ns ? longer_ns : exchange->latest_ns;
    return longer_ns > exchange->deadline_ns ? longer_ns : exchange->deadline_ns;
}

/** @param ret_exchange its `reply` is owned */
static int send_request(const struct session_call *call, const struct mcp_outgoing *out,
                        const struct mcp_header_list *headers, struct mcp_exchange *ret_exchange,
                        struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    mcp_write(out, &body);
    *ret_exchange = exchange_of(call, out->id, out->method, &body);
    ret_exchange->name = out->name;
    ret_exchange->headers = headers;
    int r = call->client->ops->exchange(call->client->transport, call->session, ret_exchange, err);
    ret_exchange->body = NULL;
    return r;
}

/** A reply that has no result as an error. */
static int check_reply(const struct session_call *call, const struct mcp_exchange *exchange,
                       struct rondo_error *err)
{
    const char *name = call->client->name;
    if (exchange->reply == NULL) {
        bool may_be_old = exchange->status == 404 || exchange->status == 405;
        return error_set(err, RONDO_ERR_IO, "MCP server \"%s\" answered with HTTP status %ld%s",
                         name, exchange->status,
                         may_be_old ? "; is the path right? The older transport HTTP+SSE is not "
                                      "spoken here, only streamable HTTP"
                                    : "");
    }
    struct json_object *result = NULL;
    if (mcp_reply_error_code(exchange->reply) != 0) {
        return mcp_reply_to_error(exchange->reply, name, err);
    }
    if (!json_object_object_get_ex(exchange->reply, "result", &result) ||
        !json_object_is_type(result, json_type_object)) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "MCP server \"%s\" sent a result that is not an object", name);
    }
    return 0;
}

/* --- handshakes --- */

/** Whether a reply shows a server of 2026-07-28 that speaks it with us. */
static bool is_modern_reply(struct json_object *reply)
{
    return reply != NULL && (mcp_reply_supports(reply, MCP_MODERN_VERSION) ||
                             mcp_is_modern_error(mcp_reply_error_code(reply)));
}

static int refuse_versions(const struct mcp_client *client, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_VERSION,
                     "MCP server \"%s\" speaks no version that is known here", client->name);
}

/**
 * Ask with `server/discover` whether the server is modern.
 * @param ret_is_modern false when it is not, or does not answer in time
 */
static int discover(const struct session_call *call, bool *ret_is_modern, struct rondo_error *err)
{
    struct session_call probe = *call;
    probe.is_modern = true;
    probe.version = MCP_MODERN_VERSION;
    int64_t limit = now_ns(call->client) + PROBE_NS;
    probe.deadline_ns = limit < call->deadline_ns ? limit : call->deadline_ns;
    for (int attempt = 0; attempt < 2; attempt++) {
        struct mcp_outgoing out = outgoing(&probe, "server/discover");
        out.id = next_id(call->client);
        struct mcp_exchange exchange;
        int r = send_request(&probe, &out, NULL, &exchange, err);
        if (r == RONDO_ERR_TIMEOUT && probe.deadline_ns < call->deadline_ns) {
            return 0;
        }
        if (r != 0) {
            return r;
        }
        bool is_modern = is_modern_reply(exchange.reply);
        bool has_refused = mcp_reply_error_code(exchange.reply) == MCP_ERROR_UNSUPPORTED_VERSION;
        bool supports = mcp_reply_supports(exchange.reply, MCP_MODERN_VERSION);
        json_object_put(exchange.reply);
        if (!is_modern || !has_refused) {
            *ret_is_modern = is_modern;
            return 0;
        }
        if (!supports) {
            return 0; /* It names others: one of `initialize`, perhaps. */
        }
        *ret_is_modern = true; /* It was refused by mistake: the same again. */
    }
    return 0;
}

static int send_initialized(const struct session_call *call, struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    const struct mcp_outgoing out = {.id = -1, .method = "notifications/initialized"};
    mcp_write(&out, &body);
    struct mcp_exchange exchange = exchange_of(call, -1, out.method, &body);
    return call->client->ops->notify(call->client->transport, call->session, &exchange, err);
}

/**
 * Begin with `initialize`.
 * @param ret_reply the reply when it is an error, for a closer look; json_object_put()
 */
static int initialize(struct session_call *call, struct json_object **ret_reply,
                      struct rondo_error *err)
{
    struct mcp_client *client = call->client;
    auto_buf struct buf body = {0};
    int64_t id = next_id(client);
    call->is_modern = false;
    call->version = NULL;
    /* Over HTTP, forms of these versions arrive where nobody can wait for a person. */
    mcp_write_initialize(id, client->accepts_defaults,
                         client->inbox.ask != NULL && !client->is_http, &body);
    struct mcp_exchange exchange = exchange_of(call, id, "initialize", &body);
    int r = client->ops->exchange(client->transport, call->session, &exchange, err);
    if (r == 0) {
        r = check_reply(call, &exchange, err);
    }
    if (r != 0) {
        *ret_reply = exchange.reply;
        return r;
    }
    struct json_object *result = json_object_object_get(exchange.reply, "result");
    call->version = mcp_known_version(json_get_string(result, "protocolVersion", ""));
    json_object_put(exchange.reply);
    if (call->version == NULL || strcmp(call->version, MCP_MODERN_VERSION) == 0) {
        return refuse_versions(client, err);
    }
    return send_initialized(call, err);
}

static int open_http(struct session_call *call, enum era era, struct rondo_error *err)
{
    bool is_modern = era == ERA_MODERN;
    int r = 0;
    if (era == ERA_UNKNOWN) {
        r = discover(call, &is_modern, err);
    }
    if (r == 0 && is_modern) {
        call->is_modern = true;
        call->version = mcp_known_version(MCP_MODERN_VERSION);
        return 0;
    }
    auto_json struct json_object *reply = NULL;
    return r == 0 ? initialize(call, &reply, err) : r;
}

static int open_stdio(struct session_call *call, enum era era, struct rondo_error *err)
{
    auto_json struct json_object *reply = NULL;
    int r = era == ERA_MODERN ? 0 : initialize(call, &reply, err);
    bool is_modern = era == ERA_MODERN;
    if (r != 0 && reply != NULL) {
        struct rondo_error ignored = {0};
        if (discover(call, &is_modern, &ignored) != 0 || !is_modern) {
            return r; /* What it says about `initialize` is the better message. */
        }
        r = 0;
    }
    if (r == 0 && is_modern) {
        call->is_modern = true;
        call->version = mcp_known_version(MCP_MODERN_VERSION);
    }
    return r;
}

static int open_session(struct session_call *call, enum era era, struct rondo_error *err)
{
    struct mcp_client *client = call->client;
    int r =
        client->ops->start(client->transport, call->deadline_ns, call->cancel, &call->session, err);
    if (r != 0) {
        return r;
    }
    r = client->is_http ? open_http(call, era, err) : open_stdio(call, era, err);
    if (r != 0) {
        client->ops->stop(client->transport, call->session);
    } else if (client->ops->opened != NULL) {
        client->ops->opened(client->transport, call->session, call->version);
    }
    return r;
}

/* --- one thread opens, others wait --- */

/** Wait for news, with `lock` held. @return 0, or why not to wait any longer */
static int wait_for_opener(struct session_call *call, struct rondo_error *err)
{
    struct mcp_client *client = call->client;
    if (cancel_is_set(call->cancel)) {
        return error_set(err, RONDO_ERR_CANCELLED, "cancelled");
    }
    int64_t now = now_ns(client);
    if (now >= call->deadline_ns) {
        return error_set(err, RONDO_ERR_TIMEOUT, "MCP server \"%s\" was not ready in time",
                         client->name);
    }
    int64_t until = clock_monotonic(clock_system()) +
                    (call->deadline_ns - now < LOOK_NS ? call->deadline_ns - now : LOOK_NS);
    struct timespec time = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    pthread_cond_timedwait(&client->changed, &client->lock, &time);
    return 0;
}

/**
 * Find an open session, or become the caller that opens it; with `lock` held.
 * @return 0 with `is_opening` of the client set by us, 1 with the session in `call`, or an error
 */
static int find_session(struct session_call *call, struct rondo_error *err)
{
    struct mcp_client *client = call->client;
    for (;;) {
        if (client->is_open && client->ops->is_alive(client->transport, client->session)) {
            call->session = client->session;
            call->is_modern = client->era == ERA_MODERN;
            call->version = client->version;
            return 1;
        }
        if (!client->is_opening) {
            client->is_open = false;
            client->is_opening = true;
            return 0;
        }
        int r = wait_for_opener(call, err);
        if (r != 0) {
            return r;
        }
    }
}

static int ensure_open(struct session_call *call, struct rondo_error *err)
{
    struct mcp_client *client = call->client;
    pthread_mutex_lock(&client->lock);
    int r = find_session(call, err);
    enum era era = client->era;
    pthread_mutex_unlock(&client->lock);
    if (r != 0) {
        return r > 0 ? 0 : r;
    }
    r = open_session(call, era, err);
    pthread_mutex_lock(&client->lock);
    client->is_opening = false;
    if (r == 0) {
        client->is_open = true;
        client->session = call->session;
        client->era = call->is_modern ? ERA_MODERN : ERA_LEGACY;
        client->version = call->version;
    }
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
    return r;
}

/** Forget a session that the server has forgotten. */
static void forget_session(struct session_call *call)
{
    struct mcp_client *client = call->client;
    client->ops->stop(client->transport, call->session);
    pthread_mutex_lock(&client->lock);
    if (client->session == call->session) {
        client->is_open = false;
    }
    pthread_mutex_unlock(&client->lock);
}

/** Ask in an open session; one that was lost is opened anew, once. */
static int ask_open(struct session_call *call, struct mcp_outgoing *out,
                    const struct mcp_header_list *headers, struct mcp_exchange *ret_exchange,
                    struct rondo_error *err)
{
    for (int attempt = 0;; attempt++) {
        int r = ensure_open(call, err);
        if (r != 0) {
            return r;
        }
        out->id = next_id(call->client);
        out->is_modern = call->is_modern;
        r = send_request(call, out, headers, ret_exchange, err);
        if (r == 0 && ret_exchange->is_session_lost && attempt == 0) {
            forget_session(call);
            continue;
        }
        return r;
    }
}

static struct session_call call_begin(struct mcp_client *client, int64_t deadline_ns,
                                      struct cancel *cancel)
{
    int64_t limit = now_ns(client) + client->timeout_ns;
    return (struct session_call){
        .client = client,
        .deadline_ns = deadline_ns <= 0 || deadline_ns > limit ? limit : deadline_ns,
        .cancel = cancel,
    };
}

/* --- lists --- */

/** Remember which tools require headers; leave out those that require impossible ones. */
static void sort_out_headers(struct mcp_client *client, struct json_object *tools)
{
    struct json_object *schemas = json_object_new_object();
    for (size_t i = json_object_array_length(tools); i-- > 0;) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        struct json_object *schema = NULL;
        char reason[160];
        json_object_object_get_ex(tool, "inputSchema", &schema);
        if (!mcp_headers_are_valid(schema, reason, sizeof(reason))) {
            json_object_array_del_idx(tools, i, 1);
        } else {
            struct json_object *copy = NULL; /* The list goes to another thread, perhaps. */
            json_object_deep_copy(schema, &copy, NULL);
            json_object_object_add(schemas, json_get_string(tool, "name", ""), copy);
        }
    }
    pthread_mutex_lock(&client->lock);
    json_object_put(client->schemas);
    client->schemas = schemas;
    pthread_mutex_unlock(&client->lock);
}

/** Add a page's tools. Entries without a name are none. */
static int add_page(const struct mcp_client *client, struct json_object *result,
                    struct json_object *tools, struct rondo_error *err)
{
    struct json_object *page = NULL;
    json_object_object_get_ex(result, "tools", &page);
    if (!json_object_is_type(page, json_type_array)) {
        return 0;
    }
    for (size_t i = 0; i < json_object_array_length(page); i++) {
        struct json_object *tool = json_object_array_get_idx(page, i);
        if (json_get_string(tool, "name", "")[0] == '\0') {
            continue;
        }
        if (json_object_array_length(tools) >= TOOLS_MAX) {
            return error_set(err, RONDO_ERR_LIMIT, "MCP server \"%s\" has more than %d tools",
                             client->name, TOOLS_MAX);
        }
        json_object_array_add(tools, json_object_get(tool));
    }
    return 0;
}

/** @param cursor in: of the page or NULL; out: of the next page or NULL; owned */
static int list_page(struct session_call *call, char **cursor, struct json_object *tools,
                     struct rondo_error *err)
{
    struct mcp_outgoing out = outgoing(call, "tools/list");
    out.cursor = *cursor;
    struct mcp_exchange exchange = {0};
    int r = ask_open(call, &out, NULL, &exchange, err);
    if (r == 0) {
        r = check_reply(call, &exchange, err);
    }
    char *next = NULL;
    if (r == 0) {
        struct json_object *result = json_object_object_get(exchange.reply, "result");
        next = memory_dup_string(json_get_string(result, "nextCursor", NULL));
        r = add_page(call->client, result, tools, err);
    }
    json_object_put(exchange.reply);
    free(*cursor);
    *cursor = next;
    return r;
}

static int list_tools(struct session_call *call, struct json_object **ret_tools,
                      struct rondo_error *err)
{
    struct mcp_client *client = call->client;
    auto_json struct json_object *tools = json_object_new_array();
    char *cursor = NULL;
    int r = 0;
    atomic_store(&client->inbox.has_changed_tools, false);
    for (int page = 0; r == 0 && (page == 0 || cursor != NULL); page++) {
        r = page < PAGES_MAX ? list_page(call, &cursor, tools, err)
                             : error_set(err, RONDO_ERR_LIMIT,
                                         "MCP server \"%s\" lists its tools on more than %d pages",
                                         client->name, PAGES_MAX);
    }
    free(cursor);
    if (r != 0) {
        return r;
    }
    if (call->is_modern && client->is_http) {
        sort_out_headers(client, tools);
    }
    *ret_tools = json_object_get(tools);
    return 0;
}

int mcp_list_tools(struct mcp_client *client, int64_t deadline_ns, struct cancel *cancel,
                   struct json_object **ret_tools, struct rondo_error *err)
{
    struct session_call call = call_begin(client, deadline_ns, cancel);
    return list_tools(&call, ret_tools, err);
}

/* --- calls --- */

static void take_header(void *context, const char *name, const char *value)
{
    mcp_header_list_add(context, name, value);
}

/** Find out which headers a call needs, listing the tools where they are not known (any more). */
static int find_headers(struct session_call *call, const char *name, struct json_object *arguments,
                        struct mcp_header_list *ret_headers, struct rondo_error *err)
{
    struct mcp_client *client = call->client;
    int r = ensure_open(call, err);
    if (r != 0 || !call->is_modern || !client->is_http) {
        return r;
    }
    pthread_mutex_lock(&client->lock);
    bool is_known = client->schemas != NULL && !atomic_load(&client->inbox.has_changed_tools);
    pthread_mutex_unlock(&client->lock);
    if (!is_known) {
        auto_json struct json_object *tools = NULL;
        r = list_tools(call, &tools, err);
    }
    if (r == 0) {
        struct json_object *schema = NULL;
        pthread_mutex_lock(&client->lock);
        json_object_object_get_ex(client->schemas, name, &schema);
        mcp_headers_of(schema, arguments, take_header, ret_headers);
        pthread_mutex_unlock(&client->lock);
    }
    return r;
}

/** Whether a result requests input (2026-07-28) before the call continues. */
static bool wants_input(const struct session_call *call, struct json_object *result)
{
    return call->is_modern &&
           strcmp(json_get_string(result, "resultType", "complete"), "input_required") == 0;
}

/** What a call carries along from the round before. */
struct mcp_round {
    struct buf responses;
    char *state;
    size_t state_len;
};

static void round_fini(struct mcp_round *round)
{
    buf_fini(&round->responses);
    free(round->state);
    *round = (struct mcp_round){0};
}

static int answer_round(struct mcp_client *client, struct json_object *result,
                        struct mcp_round *round, struct rondo_error *err)
{
    struct json_object *requests = NULL;
    struct json_object *state = NULL;
    round_fini(round);
    json_object_object_get_ex(result, "inputRequests", &requests);
    json_object_object_get_ex(result, "requestState", &state);
    if (json_object_is_type(state, json_type_string)) {
        round->state_len = (size_t)json_object_get_string_len(state);
        round->state = memory_dup_bytes(json_object_get_string(state), round->state_len);
    }
    if (requests == NULL && round->state == NULL) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "MCP server \"%s\" requests input, but does not say which", client->name);
    }
    if (requests == NULL) {
        return 0;
    }
    int r = mcp_answer_inputs(requests, &client->inbox, &round->responses, err);
    if (r != 0) {
        error_prefix(err, "MCP server \"%s\"", client->name);
    }
    return r;
}

struct tool_request {
    const char *name;
    struct json_object *arguments;
    const char *arguments_text;
    const char *traceparent;
};

/** One exchange of a call. After a complaint about headers, once more with fresh ones. */
static int call_once(struct session_call *call, const struct tool_request *request,
                     const struct mcp_round *round, struct json_object **ret_result,
                     struct rondo_error *err)
{
    for (int attempt = 0;; attempt++) {
        struct mcp_header_list headers = {0};
        struct mcp_exchange exchange = {0};
        struct mcp_outgoing out = outgoing(call, "tools/call");
        out.name = request->name;
        out.arguments = request->arguments_text;
        out.traceparent = request->traceparent;
        out.reports_progress = call->patience_ns > 0;
        out.input_responses = round->responses.len > 0 ? round->responses.data : NULL;
        out.request_state = round->state;
        out.request_state_len = round->state_len;
        int r = find_headers(call, request->name, request->arguments, &headers, err);
        if (r == 0) {
            r = ask_open(call, &out, &headers, &exchange, err);
        }
        mcp_header_list_fini(&headers);
        bool is_mismatch = r == 0 && call->is_modern &&
                           mcp_reply_error_code(exchange.reply) == MCP_ERROR_HEADER_MISMATCH;
        if (is_mismatch && attempt == 0) {
            atomic_store(&call->client->inbox.has_changed_tools, true);
            json_object_put(exchange.reply);
            continue;
        }
        if (r == 0) {
            r = check_reply(call, &exchange, err);
        }
        if (r == 0) {
            *ret_result = json_object_get(json_object_object_get(exchange.reply, "result"));
        }
        json_object_put(exchange.reply);
        return r;
    }
}

static int call_tool(struct session_call *call, const struct tool_request *request,
                     struct json_object **ret_result, struct rondo_error *err)
{
    struct mcp_round round = {0};
    int r = 0;
    for (int i = 0; r == 0; i++) {
        struct json_object *result = NULL;
        r = call_once(call, request, &round, &result, err);
        if (r == 0 && !wants_input(call, result)) {
            *ret_result = result;
            break;
        }
        if (r == 0) {
            int64_t before_ns = now_ns(call->client);
            r = i < ROUNDS_MAX
                    ? answer_round(call->client, result, &round, err)
                    : error_set(err, RONDO_ERR_LIMIT, "MCP server \"%s\" requested input %d times",
                                call->client->name, ROUNDS_MAX);
            call->deadline_ns += now_ns(call->client) - before_ns; /* A person took it. */
        }
        json_object_put(result);
    }
    round_fini(&round);
    return r;
}

int mcp_call_tool(struct mcp_client *client, const char *name, struct json_object *arguments,
                  int64_t deadline_ns, struct cancel *cancel, struct json_object **ret_result,
                  struct rondo_error *err)
{
    return mcp_call_tool_in_trace(client, name, arguments, NULL, deadline_ns, 0, cancel, ret_result,
                                  err);
}

int mcp_call_tool_in_trace(struct mcp_client *client, const char *name,
                           struct json_object *arguments, const char *traceparent,
                           int64_t deadline_ns, int64_t latest_ns, struct cancel *cancel,
                           struct json_object **ret_result, struct rondo_error *err)
{
    struct session_call call = call_begin(client, deadline_ns, cancel);
    int64_t now = now_ns(client);
    if (latest_ns > call.deadline_ns && call.deadline_ns > now) {
        call.patience_ns = call.deadline_ns - now;
        call.latest_ns = latest_ns < now + LIMIT_MCP_CALL_NS ? latest_ns : now + LIMIT_MCP_CALL_NS;
    }
    char *text = arguments == NULL
                     ? memory_dup_string("{}")
                     : memory_dup_string(json_object_to_json_string_ext(
                           arguments, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    const struct tool_request request = {name, arguments, text, traceparent};
    int r = call_tool(&call, &request, ret_result, err);
    free(text);
    return r;
}

/* --- making and freeing --- */

int mcp_client_new(const struct mcp_options *options, struct mcp_client **ret_client,
                   struct rondo_error *err)
{
    struct mcp_client *client = memory_new_zero(1, sizeof(*client));
    const struct clock *clock = options->surroundings->clock;
    client->name = memory_dup_string(options->name);
    client->is_http = options->transport == MCP_HTTP;
    client->ops = client->is_http ? &mcp_http_ops : &mcp_stdio_ops;
    client->accepts_defaults = options->accepts_defaults;
    client->timeout_ns = options->timeout_ns > 0 ? options->timeout_ns : MCP_TIMEOUT_NS;
    client->clock = clock == NULL ? clock_system() : clock;
    client->inbox.accepts_defaults = options->accepts_defaults;
    client->inbox.ask = options->surroundings->ask_form;
    client->inbox.ask_context = options->surroundings->ask_context;
    client->inbox.server = client->name;
    client->version = "";
    int r = client->is_http ? mcp_http_new(options, &client->inbox, &client->transport, err)
                            : mcp_stdio_new(options, &client->inbox, &client->transport, err);
    if (r != 0) {
        free(client->name);
        free(client);
        return r;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&client->lock, NULL);
    *ret_client = client;
    return 0;
}

void mcp_client_free(struct mcp_client *client)
{
    if (client == NULL) {
        return;
    }
    client->ops->free(client->transport);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->lock);
    json_object_put(client->schemas);
    free(client->name);
    free(client);
}

const char *mcp_client_version(const struct mcp_client *client)
{
    return client->version;
}

uint64_t mcp_tool_changes(const struct mcp_client *client)
{
    return atomic_load(&client->inbox.tool_changes);
}
