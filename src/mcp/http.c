// SPDX-License-Identifier: Apache-2.0
/*
 * Streamable HTTP: each message is a POST, each reply one JSON object or a stream of events that
 * ends with it. Servers before 2026-07-28 may have sessions, may ask us something on a stream, and
 * may cut a stream that we then take up again with a GET.
 *
 * Redirects are not followed: a token goes nowhere but to the address it was given for. The guard
 * keeps to hosts that a role restricts itself to; private addresses are allowed, because the
 * address comes from a configuration and not from a model.
 */
#include "net/client/http.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "mcp/headers.h"
#include "mcp/transport.h"
#include "net/client/guard.h"
#include "net/client/sse.h"

#include <json-c/json.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one stream over all. */
#define STREAM_MAX_BYTES (4 * MCP_FRAME_MAX_BYTES)
/* Events of one exchange that are no reply. */
#define EVENTS_MAX      50000
#define SESSION_ID_SIZE 512
/* When a server does not say how long to wait before a stream is taken up again. */
#define RETRY_NS     (1 * NS_PER_S)
#define RETRY_MIN_MS 10
/* Our answers to what servers ask, and our good-bye. */
#define ANSWER_NS   (10 * NS_PER_S)
#define GOOD_BYE_NS (1 * NS_PER_S)
/* A stream to listen on begins in silence: how long it is given before the first call. */
#define HEAD_START_NS        (250 * NS_PER_MS)
#define LISTENER_STACK_BYTES ((size_t)256 * 1024)

struct mcp_http {
    char *name;
    char *url;
    struct mcp_header_list headers; /* from the configuration */
    struct http_client *http;
    struct net_guard guard;
    const struct clock *clock;
    struct mcp_inbox *inbox;

    pthread_mutex_t lock;
    uint64_t session;
    bool is_alive;
    char session_id[SESSION_ID_SIZE]; /* "" = none */
    const char *version;              /* of the session; static */

    struct cancel listener_cancel;
    struct cancel listener_begun; /* set when its stream has said something, or has failed */
    pthread_t listener;
    bool has_listener; /* by the thread that starts, stops and frees */
};

static int64_t now_ns(const struct mcp_http *self)
{
    return clock_monotonic(self->clock);
}

static void get_session_id(struct mcp_http *self, char ret_id[SESSION_ID_SIZE])
{
    pthread_mutex_lock(&self->lock);
    memcpy(ret_id, self->session_id, SESSION_ID_SIZE);
    pthread_mutex_unlock(&self->lock);
}

/* --- requests --- */

/* Headers of one request; the items are borrowed. */
struct head {
    struct http_header *items;
    size_t count;
};

static void head_add(struct head *head, const char *name, const char *value)
{
    head->items = memory_resize(head->items, head->count + 1, sizeof(*head->items));
    head->items[head->count++] = (struct http_header){.name = name, .value = value};
}

static void head_add_list(struct head *head, const struct mcp_header_list *list)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        head_add(head, list->items[i].name, list->items[i].value);
    }
}

static void head_add_session(struct head *head, const char *session_id, const char *version)
{
    if (version != NULL) {
        head_add(head, "MCP-Protocol-Version", version);
    }
    if (session_id[0] != '\0') {
        head_add(head, "Mcp-Session-Id", session_id);
    }
}

static struct http_request request_begin(const struct mcp_http *self, const char *method,
                                         const struct head *head, int64_t total_ns)
{
    return (struct http_request){
        .method = method,
        .url = self->url,
        .headers = head->items,
        .header_count = head->count,
        .total_ns = total_ns,
        .max_body_bytes = STREAM_MAX_BYTES,
        .guard = &self->guard,
    };
}

/** A message that gets no reply. @param cancel may be NULL */
static int post_only(struct mcp_http *self, const char *version, const char *method,
                     const char *body, size_t len, int64_t total_ns, struct cancel *cancel,
                     struct rondo_error *err)
{
    char session_id[SESSION_ID_SIZE];
    get_session_id(self, session_id);
    struct head head = {0};
    head_add(&head, "Content-Type", "application/json");
    head_add(&head, "Accept", "application/json, text/event-stream");
    head_add_session(&head, session_id, version);
    if (method != NULL) {
        head_add(&head, "Mcp-Method", method);
    }
    head_add_list(&head, &self->headers);
    struct http_request request = request_begin(self, "POST", &head, total_ns);
    const struct http_part part = {.bytes = body, .len = len};
    request.parts = &part;
    request.part_count = 1;
    request.cancel = cancel;
    struct http_response response = {0};
    int r = http_call(self->http, &request, &response, err);
    http_response_fini(&response);
    free(head.items);
    return r;
}

/* --- replies --- */

enum form {
    FORM_UNKNOWN = 0,
    FORM_JSON,
    FORM_EVENTS,
};

/* A reply as it comes in, over one or more streams. */
struct reply_reading {
    const struct mcp_exchange *exchange; /* whose deadline counts; or NULL */
    struct mcp_http *self;
    const char *version;
    int64_t id; /* of the request; -1 = there is none, a stream to listen on */
    enum form form;
    struct buf json;
    struct sse_parser events;
    struct buf last_event_id;
    size_t event_count;
    struct json_object *reply;
    struct rondo_error fault;
};

static void reading_begin_stream(struct reply_reading *reading)
{
    sse_parser_fini(&reading->events);
    sse_parser_init(&reading->events, MCP_FRAME_MAX_BYTES);
    reading->form = FORM_UNKNOWN;
}

static void reading_fini(struct reply_reading *reading)
{
    buf_fini(&reading->json);
    buf_fini(&reading->last_event_id);
    sse_parser_fini(&reading->events);
    json_object_put(reading->reply);
}

static void answer_server(struct reply_reading *reading, struct json_object *message)
{
    auto_buf struct buf text = {0};
    mcp_inbox_take(reading->self->inbox, message, &text);
    if (text.len > 0) {
        post_only(reading->self, reading->version, NULL, text.data, text.len, ANSWER_NS, NULL,
                  NULL);
    }
}

/** @param message kept by reference when it is the reply. @return whether to continue */
static bool take_message(struct reply_reading *reading, struct json_object *message)
{
    int64_t id = -1;
    switch (mcp_message_kind(message, &id)) {
    case MCP_REPLY:
        if (reading->id >= 0 && (id == reading->id || id < 0)) {
            reading->reply = json_object_get(message);
            return false;
        }
        return true;
    case MCP_REQUEST:
    case MCP_NOTIFICATION:
        answer_server(reading, message);
        return true;
    case MCP_NOISE:
        return true;
    }
    return true;
}

static bool take_event(void *context, const struct sse_event *event)
{
    struct reply_reading *reading = context;
    if (event->id[0] != '\0') {
        buf_clear(&reading->last_event_id);
        buf_append_string(&reading->last_event_id, event->id);
    }
    if (event->data_len == 0 || strcmp(event->name, "message") != 0) {
        return true; /* A first event often has an id and nothing else. */
    }
    if (++reading->event_count > EVENTS_MAX && reading->id >= 0) {
        error_set(&reading->fault, RONDO_ERR_LIMIT, "MCP server \"%s\" floods its client",
                  reading->self->name);
        return false;
    }
    auto_json struct json_object *message = NULL;
    if (json_parse(event->data, event->data_len, &message, NULL) != 0) {
        error_set(&reading->fault, RONDO_ERR_CORRUPT,
                  "MCP server \"%s\" sent an event that is not valid JSON", reading->self->name);
        return false;
    }
    return take_message(reading, message);
}

/** What a body is shows in its first byte: no line of an event stream begins with a bracket. */
static void find_form(struct reply_reading *reading, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && reading->form == FORM_UNKNOWN; i++) {
        if (bytes[i] == '{' || bytes[i] == '[') {
            reading->form = FORM_JSON;
        } else if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r' && bytes[i] != '\n') {
            reading->form = FORM_EVENTS;
        }
    }
}

static bool take_body(void *context, const char *bytes, size_t len)
{
    struct reply_reading *reading = context;
    if (reading->id < 0) {
        cancel_set(&reading->self->listener_begun, CANCEL_GRACEFUL);
    }
    if (reading->form == FORM_UNKNOWN) {
        find_form(reading, bytes, len);
    }
    if (reading->form == FORM_JSON) {
        if (reading->json.len + len > MCP_FRAME_MAX_BYTES) {
            error_set(&reading->fault, RONDO_ERR_LIMIT,
                      "MCP server \"%s\" sent a message of more than %zu MiB", reading->self->name,
                      MCP_FRAME_MAX_BYTES / (1024 * 1024));
            return false;
        }
        buf_append(&reading->json, bytes, len);
        return true;
    }
    if (sse_parser_feed(&reading->events, bytes, len, take_event, reading, &reading->fault) != 0) {
        return false;
    }
    if (reading->reply == NULL && reading->exchange != NULL && reading->fault.code == 0 &&
        now_ns(reading->self) > mcp_exchange_deadline(reading->self->inbox, reading->exchange)) {
        error_set(&reading->fault, RONDO_ERR_TIMEOUT, "MCP server \"%s\" did not answer in time",
                  reading->self->name);
    }
    return reading->reply == NULL && reading->fault.code == 0;
}

/** Read a body that is one JSON object. */
static int take_json(struct reply_reading *reading, const char *text, size_t len,
                     struct rondo_error *err)
{
    auto_json struct json_object *message = NULL;
    if (json_parse(text, len, &message, NULL) != 0) {
        return error_set(err, RONDO_ERR_CORRUPT, "MCP server \"%s\" sent a reply that is not JSON",
                         reading->self->name);
    }
    if (take_message(reading, message)) {
        return error_set(err, RONDO_ERR_CORRUPT, "MCP server \"%s\" sent a reply to something else",
                         reading->self->name);
    }
    return 0;
}

/* --- what became of a call --- */

static int failure_to_error(const struct mcp_http *self, const struct http_response *response,
                            struct rondo_error *err)
{
    int r = RONDO_ERR_IO;
    switch (response->failure) {
    case HTTP_OK:
    case HTTP_STOPPED:
        return 0;
    case HTTP_CANCELLED:
        return error_set(err, RONDO_ERR_CANCELLED, "cancelled");
    case HTTP_TIMED_OUT:
        return error_set(err, RONDO_ERR_TIMEOUT, "MCP server \"%s\" did not answer in time",
                         self->name);
    case HTTP_TOO_LARGE:
        r = RONDO_ERR_LIMIT;
        break;
    case HTTP_BLOCKED:
        r = RONDO_ERR_DENIED;
        break;
    case HTTP_BAD_REQUEST:
        r = RONDO_ERR_INVALID;
        break;
    case HTTP_NO_HOST:
    case HTTP_NO_CONNECTION:
    case HTTP_TLS:
    case HTTP_BROKEN:
    case HTTP_REDIRECTS:
        break;
    }
    return error_set(err, r, "MCP server \"%s\" cannot be reached: %s", self->name,
                     response->message);
}

static bool mentions_session(const struct buf *body)
{
    return strcasestr(buf_string(body), "session") != NULL;
}

/** An answer that is no success. @param had_session whether the request named one */
static int take_error_status(struct reply_reading *reading, struct mcp_exchange *exchange,
                             const struct http_response *response, bool had_session,
                             struct rondo_error *err)
{
    const struct mcp_http *self = reading->self;
    long status = response->status;
    if (status == 401 || status == 403 || status == 407) {
        return error_set(err, RONDO_ERR_DENIED,
                         "MCP server \"%s\" refuses access (HTTP status %ld): check its headers",
                         self->name, status);
    }
    if (had_session && (status == 404 || (status == 400 && mentions_session(&response->body)))) {
        exchange->is_session_lost = true;
        return 0;
    }
    struct rondo_error ignored = {0};
    if (response->body.len > 0) {
        take_json(reading, response->body.data, response->body.len, &ignored);
    }
    return 0;
}

static bool is_success(const struct http_response *response)
{
    return response->status >= 200 && response->status < 300;
}

/** Whether a stream ended before the reply, in a way that allows to take it up again. */
static bool is_resumable(const struct reply_reading *reading, const struct mcp_exchange *exchange,
                         const struct http_response *response)
{
    return !exchange->is_modern && reading->reply == NULL && reading->fault.code == 0 &&
           reading->form == FORM_EVENTS && reading->last_event_id.len > 0 &&
           (response->failure == HTTP_OK || response->failure == HTTP_BROKEN);
}

/** Take over a session's id and, at its beginning, keep it. */
static void note_session(struct mcp_http *self, uint64_t session,
                         const struct mcp_exchange *exchange, const struct http_response *response)
{
    char id[SESSION_ID_SIZE] = "";
    if (strcmp(exchange->method, "initialize") == 0 && is_success(response) &&
        http_response_header(response, "Mcp-Session-Id", id, sizeof(id))) {
        pthread_mutex_lock(&self->lock);
        if (self->session == session) {
            memcpy(self->session_id, id, sizeof(id));
        }
        pthread_mutex_unlock(&self->lock);
    }
}

/* --- streams that are taken up again --- */

static int get_stream(struct reply_reading *reading, int64_t total_ns, struct cancel *cancel,
                      struct http_response *ret_response, struct rondo_error *err)
{
    struct mcp_http *self = reading->self;
    char session_id[SESSION_ID_SIZE];
    get_session_id(self, session_id);
    struct head head = {0};
    head_add(&head, "Accept", "text/event-stream");
    head_add_session(&head, session_id, reading->version);
    if (reading->last_event_id.len > 0) {
        head_add(&head, "Last-Event-ID", buf_string(&reading->last_event_id));
    }
    head_add_list(&head, &self->headers);
    struct http_request request = request_begin(self, "GET", &head, total_ns);
    request.max_body_bytes = reading->id < 0 ? SIZE_MAX / 2 : STREAM_MAX_BYTES;
    request.cancel = cancel;
    request.on_body = take_body;
    request.on_body_context = reading;
    reading_begin_stream(reading);
    int r = http_call(self->http, &request, ret_response, err);
    free(head.items);
    return r;
}

static int64_t retry_delay(const struct reply_reading *reading)
{
    int64_t ms = reading->events.retry_ms;
    if (ms < 0) {
        return RETRY_NS;
    }
    return (ms < RETRY_MIN_MS ? RETRY_MIN_MS : ms > 3600000 ? 3600000 : ms) * NS_PER_MS;
}

/** Wait as the server requests, then continue reading with a GET, until the reply is there. */
static int resume(struct reply_reading *reading, struct mcp_exchange *exchange,
                  struct rondo_error *err)
{
    struct mcp_http *self = reading->self;
    bool continues = true;
    while (continues) {
        int64_t delay = retry_delay(reading);
        if (now_ns(self) + delay >= exchange->deadline_ns) {
            return error_set(err, RONDO_ERR_TIMEOUT,
                             "MCP server \"%s\" has cut the stream and did not answer in time",
                             self->name);
        }
        clock_sleep(self->clock, delay, exchange->cancel);
        if (cancel_is_set(exchange->cancel)) {
            return error_set(err, RONDO_ERR_CANCELLED, "cancelled");
        }
        struct http_response response = {0};
        int r = get_stream(reading, exchange->deadline_ns - now_ns(self), exchange->cancel,
                           &response, err);
        continues = r == 0 && is_success(&response) && is_resumable(reading, exchange, &response);
        if (r == 0 && !continues && reading->reply == NULL && reading->fault.code == 0) {
            r = failure_to_error(self, &response, err);
            r = r != 0 ? r
                       : error_set(err, RONDO_ERR_IO,
                                   "MCP server \"%s\" does not take up its stream again "
                                   "(HTTP status %ld)",
                                   self->name, response.status);
        }
        http_response_fini(&response);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* --- exchanges --- */

static int read_reply(struct reply_reading *reading, struct mcp_exchange *exchange,
                      const struct http_response *response, bool had_session,
                      struct rondo_error *err)
{
    exchange->status = response->status;
    if (reading->reply != NULL) {
        return 0;
    }
    if (reading->fault.code != 0) {
        return error_set(err, reading->fault.code, "%s", reading->fault.message);
    }
    if (is_success(response) && is_resumable(reading, exchange, response)) {
        int r = resume(reading, exchange, err);
        if (r == 0 && reading->fault.code != 0) {
            r = error_set(err, reading->fault.code, "%s", reading->fault.message);
        }
        return r;
    }
    int r = failure_to_error(reading->self, response, err);
    if (r != 0) {
        return r;
    }
    if (!is_success(response)) {
        return take_error_status(reading, exchange, response, had_session, err);
    }
    if (reading->form == FORM_JSON) {
        return take_json(reading, reading->json.data, reading->json.len, err);
    }
    return error_set(err, RONDO_ERR_IO, "MCP server \"%s\" has ended its answer without a reply",
                     reading->self->name);
}

/** Headers that repeat what a request of 2026-07-28 says. @param name encoded name of the tool */
static void head_add_modern(struct head *head, const struct mcp_exchange *exchange,
                            const char *name)
{
    head_add(head, "Mcp-Method", exchange->method);
    if (exchange->name != NULL) {
        head_add(head, "Mcp-Name", name);
    }
    head_add_list(head, exchange->headers);
}

static int post(struct reply_reading *reading, uint64_t session, struct mcp_exchange *exchange,
                struct rondo_error *err)
{
    struct mcp_http *self = reading->self;
    char session_id[SESSION_ID_SIZE];
    auto_buf struct buf name = {0};
    get_session_id(self, session_id);
    struct head head = {0};
    head_add(&head, "Content-Type", "application/json");
    head_add(&head, "Accept", "application/json, text/event-stream");
    head_add_session(&head, exchange->is_modern ? "" : session_id, exchange->version);
    if (exchange->name != NULL) {
        mcp_header_encode(exchange->name, strlen(exchange->name), &name);
    }
    if (exchange->is_modern) {
        head_add_modern(&head, exchange, buf_string(&name));
    }
    head_add_list(&head, &self->headers);
    int64_t left = exchange->deadline_ns - now_ns(self);
    bool may_last = exchange->latest_ns > exchange->deadline_ns;
    struct http_request request =
        request_begin(self, "POST", &head, may_last ? exchange->latest_ns - now_ns(self) : left);
    request.idle_ns = left; /* Progress is news; other bytes are looked at in take_body. */
    const struct http_part part = {.bytes = exchange->body, .len = exchange->body_len};
    request.parts = &part;
    request.part_count = 1;
    request.cancel = exchange->cancel;
    request.on_body = take_body;
    request.on_body_context = reading;
    reading_begin_stream(reading);
    struct http_response response = {0};
    int r = http_call(self->http, &request, &response, err);
    if (r == 0) {
        note_session(self, session, exchange, &response);
        r = read_reply(reading, exchange, &response, session_id[0] != '\0', err);
    }
    http_response_fini(&response);
    free(head.items);
    return r;
}

static int http_exchange(void *context, uint64_t session, struct mcp_exchange *exchange,
                         struct rondo_error *err)
{
    struct mcp_http *self = context;
    struct reply_reading reading = {
        .self = self, .exchange = exchange, .version = exchange->version, .id = exchange->id};
    int r = exchange->deadline_ns <= now_ns(self)
                ? error_set(err, RONDO_ERR_TIMEOUT, "MCP server \"%s\" did not answer in time",
                            self->name)
                : post(&reading, session, exchange, err);
    if (r == 0) {
        exchange->reply = reading.reply;
        reading.reply = NULL;
    } else if (r == RONDO_ERR_TIMEOUT && !exchange->is_modern &&
               strcmp(exchange->method, "initialize") != 0) {
        auto_buf struct buf text = {0};
        const struct mcp_outgoing cancelled = {
            .id = -1, .method = "notifications/cancelled", .cancels = exchange->id};
        mcp_write(&cancelled, &text);
        post_only(self, exchange->version, NULL, text.data, text.len, GOOD_BYE_NS / 4, NULL, NULL);
    }
    reading_fini(&reading);
    return r;
}

static int http_notify(void *context, uint64_t session, const struct mcp_exchange *exchange,
                       struct rondo_error *err)
{
    (void)session;
    struct mcp_http *self = context;
    int64_t left = exchange->deadline_ns - now_ns(self);
    return post_only(self, exchange->version, NULL, exchange->body, exchange->body_len,
                     left > 0 ? left : 1, exchange->cancel, err);
}

/* --- listening for requests that a server makes outside of a reply --- */

static void *listen_to_server(void *context)
{
    struct mcp_http *self = context;
    pthread_mutex_lock(&self->lock);
    struct reply_reading reading = {.self = self, .version = self->version, .id = -1};
    pthread_mutex_unlock(&self->lock);
    bool continues = true;
    while (continues && !cancel_is_set(&self->listener_cancel)) {
        struct http_response response = {0};
        struct rondo_error err = {0};
        int r = get_stream(&reading, INT64_MAX / 4, &self->listener_cancel, &response, &err);
        continues = r == 0 && is_success(&response) && reading.fault.code == 0 &&
                    response.failure != HTTP_CANCELLED;
        http_response_fini(&response);
        cancel_set(&self->listener_begun, CANCEL_GRACEFUL);
        if (continues) {
            cancel_wait(&self->listener_cancel, retry_delay(&reading));
        }
    }
    reading_fini(&reading);
    return NULL;
}

static void end_listener(struct mcp_http *self)
{
    if (self->has_listener) {
        cancel_set(&self->listener_cancel, CANCEL_NOW);
        pthread_join(self->listener, NULL);
        cancel_fini(&self->listener_cancel);
        cancel_fini(&self->listener_begun);
        self->has_listener = false;
    }
}

static int start_listener(struct mcp_http *self)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, LISTENER_STACK_BYTES);
    int os_errno = pthread_create(&self->listener, &attributes, listen_to_server, self);
    pthread_attr_destroy(&attributes);
    return os_errno;
}

/** Only a client that can answer requests needs to receive them. */
static void http_opened(void *context, uint64_t session, const char *version)
{
    struct mcp_http *self = context;
    (void)session;
    pthread_mutex_lock(&self->lock);
    self->version = version;
    bool is_wanted = self->inbox->accepts_defaults && self->session_id[0] != '\0';
    pthread_mutex_unlock(&self->lock);
    if (!is_wanted || cancel_init(&self->listener_cancel, NULL) != 0) {
        return;
    }
    if (cancel_init(&self->listener_begun, NULL) != 0 || start_listener(self) != 0) {
        cancel_fini(&self->listener_cancel);
        cancel_fini(&self->listener_begun);
        return;
    }
    self->has_listener = true;
    cancel_wait(&self->listener_begun, HEAD_START_NS);
}

/* --- sessions --- */

static int http_start(void *context, int64_t deadline_ns, struct cancel *cancel,
                      uint64_t *ret_session, struct rondo_error *err)
{
    (void)deadline_ns;
    (void)cancel;
    (void)err;
    struct mcp_http *self = context;
    end_listener(self);
    pthread_mutex_lock(&self->lock);
    self->session_id[0] = '\0';
    self->is_alive = true;
    *ret_session = ++self->session;
    pthread_mutex_unlock(&self->lock);
    return 0;
}

static bool http_is_alive(void *context, uint64_t session)
{
    struct mcp_http *self = context;
    pthread_mutex_lock(&self->lock);
    bool is_alive = self->is_alive && self->session == session;
    pthread_mutex_unlock(&self->lock);
    return is_alive;
}

static void http_stop(void *context, uint64_t session)
{
    struct mcp_http *self = context;
    pthread_mutex_lock(&self->lock);
    if (self->session == session) {
        self->is_alive = false;
    }
    pthread_mutex_unlock(&self->lock);
}

/** Tell the server that its session is over. */
static void say_good_bye(struct mcp_http *self)
{
    struct head head = {0};
    head_add_session(&head, self->session_id, self->version);
    head_add_list(&head, &self->headers);
    const struct http_request request = request_begin(self, "DELETE", &head, GOOD_BYE_NS);
    struct http_response response = {0};
    http_call(self->http, &request, &response, NULL);
    http_response_fini(&response);
    free(head.items);
}

static void http_free(void *context)
{
    struct mcp_http *self = context;
    end_listener(self);
    if (self->is_alive && self->session_id[0] != '\0') {
        say_good_bye(self);
    }
    pthread_mutex_destroy(&self->lock);
    mcp_header_list_fini(&self->headers);
    free(self->name);
    free(self->url);
    free(self);
}

/* --- making --- */

static int add_header_text(struct mcp_header_list *list, const char *text, const char *server,
                           struct rondo_error *err)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text) {
        return error_set(err, RONDO_ERR_INVALID, "MCP server \"%s\": a header must be NAME: VALUE",
                         server);
    }
    char *name = memory_dup_bytes(text, (size_t)(colon - text));
    mcp_header_list_add(list, name, colon + 1 + strspn(colon + 1, " \t"));
    free(name);
    return 0;
}

int mcp_http_new(const struct mcp_options *options, struct mcp_inbox *inbox, void **ret_self,
                 struct rondo_error *err)
{
    const struct tool_surroundings *surroundings = options->surroundings;
    const char *url = options->url == NULL ? "" : options->url;
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return error_set(err, RONDO_ERR_INVALID,
                         "MCP server \"%s\" needs a url that begins with http:// or https://",
                         options->name);
    }
    if (surroundings->http == NULL) {
        return error_set(err, RONDO_ERR_STATE, "MCP server \"%s\": there is no HTTP here",
                         options->name);
    }
    struct mcp_header_list headers = {0};
    for (size_t i = 0; options->headers != NULL && options->headers[i] != NULL; i++) {
        int r = add_header_text(&headers, options->headers[i], options->name, err);
        if (r != 0) {
            mcp_header_list_fini(&headers);
            return r;
        }
    }
    struct mcp_http *self = memory_new_zero(1, sizeof(*self));
    self->name = memory_dup_string(options->name);
    self->url = memory_dup_string(url);
    self->headers = headers;
    self->http = surroundings->http;
    self->guard.allows_private = true;
    self->guard.only_hosts = surroundings->guard == NULL ? NULL : surroundings->guard->only_hosts;
    self->clock = surroundings->clock == NULL ? clock_system() : surroundings->clock;
    self->inbox = inbox;
    pthread_mutex_init(&self->lock, NULL);
    *ret_self = self;
    return 0;
}

const struct mcp_transport_ops mcp_http_ops = {
    .start = http_start,
    .is_alive = http_is_alive,
    .exchange = http_exchange,
    .notify = http_notify,
    .opened = http_opened,
    .stop = http_stop,
    .free = http_free,
};
