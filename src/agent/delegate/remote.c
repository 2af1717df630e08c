// SPDX-License-Identifier: Apache-2.0
/* Requests to agents elsewhere, and what their replies say. */
#include "agent/delegate/remote.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** A reply, bytes. */
#define REPLY_MAX_BYTES ((size_t)4 * 1024 * 1024)
/** What is shown of a reply that is no success. */
#define SHOWN_BYTES 200
/** Pauses between two looks at a task. */
#define FIRST_PAUSE_NS (NS_PER_S / 2)
#define LAST_PAUSE_NS  (5 * NS_PER_S)
/** Texts of an answer. */
#define MOST_PARTS 1000

static void append_path(const char *url, const char *path, struct buf *ret_url)
{
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/') {
        len--;
    }
    buf_append(ret_url, url, len);
    buf_append_string(ret_url, path);
}

/** A request with the agent's headers. @return whether there is a reply with a status 2xx */
static bool exchange(const struct remote_agent *agent, const struct tool_call *call,
                     const char *method, const char *url, const char *body,
                     struct json_object **ret_reply, struct tool_result *ret_result)
{
    auto_buf struct buf failure = {0};
    struct http_response response = {0};
    buf_printf(&failure, DELEGATION_ERROR "agent '%s' cannot be reached: ", agent->name);
    const struct tool_http_request request = {
        .method = method,
        .url = url,
        .headers = agent->headers,
        .body = body,
        .timeout_s = agent->timeout_s,
        .max_body_bytes = REPLY_MAX_BYTES,
        .failure_text = buf_string(&failure),
    };
    bool is_ok = tool_http_call(agent->around, call, &request, &response, ret_result);
    if (!is_ok &&
        strncmp(buf_string(&ret_result->text), DELEGATION_ERROR, strlen(DELEGATION_ERROR)) != 0) {
        auto_buf struct buf why = {0};
        buf_append_string(&why, buf_string(&ret_result->text));
        tool_fail(ret_result, DELEGATION_ERROR "agent '%s': %s", agent->name, buf_string(&why));
    } else if (is_ok && (response.status < 200 || response.status > 299)) {
        tool_fail(ret_result, DELEGATION_ERROR "agent '%s': HTTP %ld %.*s", agent->name,
                  response.status, SHOWN_BYTES, buf_string(&response.body));
        is_ok = false;
    } else if (is_ok &&
               (response.failure != HTTP_OK ||
                json_parse(buf_string(&response.body), response.body.len, ret_reply, NULL) < 0)) {
        tool_fail(ret_result,
                  DELEGATION_ERROR "agent '%s' has sent no JSON, or more than %zu bytes",
                  agent->name, REPLY_MAX_BYTES);
        is_ok = false;
    }
    http_response_fini(&response);
    return is_ok;
}

static void fail_empty(const struct remote_agent *agent, struct tool_result *ret_result)
{
    tool_fail(ret_result, DELEGATION_ERROR "agent '%s' has answered without a text", agent->name);
}

/* ---- Chat ------------------------------------------------------------------------------------ */

static void write_chat(const struct remote_agent *agent, const char *prompt, struct buf *ret_body)
{
    struct json_writer writer = json_writer(ret_body);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "model", agent->name);
    json_begin_array(&writer, "messages");
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "user");
    json_write_string(&writer, "content", prompt);
    json_end_object(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
}

static struct json_object *first_of(struct json_object *list)
{
    return json_object_is_type(list, json_type_array) && json_object_array_length(list) > 0
               ? json_object_array_get_idx(list, 0)
               : NULL;
}

void remote_chat(const struct remote_agent *agent, const char *prompt, const struct tool_call *call,
                 struct tool_result *ret_result)
{
    auto_buf struct buf url = {0};
    auto_buf struct buf body = {0};
    auto_json struct json_object *reply = NULL;
    append_path(agent->url, "/v1/chat/completions", &url);
    write_chat(agent, prompt, &body);
    if (!exchange(agent, call, "POST", buf_string(&url), buf_string(&body), &reply, ret_result)) {
        return;
    }
    struct json_object *message = json_member(first_of(json_member(reply, "choices")), "message");
    const char *text = json_get_string(message, "content", "");
    if (text[0] == '\0') {
        fail_empty(agent, ret_result);
        return;
    }
    buf_append_string(&ret_result->text, text);
}

/* ---- A2A: names of two versions -------------------------------------------------------------- */

struct a2a {
    const struct remote_agent *agent;
    const struct tool_call *call;
    struct tool_result *result;
    char *url;                   /* of its JSON-RPC; owned */
    struct tool_headers headers; /* the agent's, and the version of the protocol */
    bool is_old;                 /* 0.3 */
};

/** Where an agent is reached, as its card says; only at the origin that the role names. */
static size_t origin_len(const char *url)
{
    const char *host = strstr(url, "://");
    return host == NULL ? 0 : (size_t)(host - url) + 3 + strcspn(host + 3, "/?#");
}

static bool is_same_origin(const char *a, const char *b)
{
    size_t len = origin_len(a);
    return len > 0 && len == origin_len(b) && strncasecmp(a, b, len) == 0;
}

/** Read the card. @return whether the agent can be asked */
static bool read_card(struct a2a *a2a)
{
    auto_buf struct buf url = {0};
    auto_json struct json_object *card = NULL;
    append_path(a2a->agent->url, "/.well-known/agent-card.json", &url);
    if (!exchange(a2a->agent, a2a->call, "GET", buf_string(&url), NULL, &card, a2a->result)) {
        return false;
    }
    struct json_object *interfaces = json_member(card, "supportedInterfaces");
    const char *address = json_get_string(card, "url", a2a->agent->url);
    const char *version = json_get_string(card, "protocolVersion", "1.0");
    for (size_t i = 0; json_object_is_type(interfaces, json_type_array) &&
                       i < json_object_array_length(interfaces);
         i++) {
        struct json_object *one = json_object_array_get_idx(interfaces, i);
        if (strcasecmp(json_get_string(one, "protocolBinding", ""), "JSONRPC") == 0) {
            address = json_get_string(one, "url", address);
            version = json_get_string(one, "protocolVersion", version);
            break;
        }
    }
    if (!is_same_origin(address, a2a->agent->url)) {
        tool_fail(a2a->result,
                  DELEGATION_ERROR "the card of agent '%s' names another server, %.200s, which the "
                                   "role does not",
                  a2a->agent->name, address);
        return false;
    }
    a2a->url = memory_dup_string(address);
    a2a->is_old = version[0] == '0';
    return true;
}

/** Begin a JSON-RPC request; `params` is open then. */
static struct json_writer begin_rpc(const char *method, struct buf *ret_body)
{
    struct json_writer writer = json_writer(ret_body);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "jsonrpc", "2.0");
    json_write_int(&writer, "id", 1);
    json_write_string(&writer, "method", method);
    json_begin_object(&writer, "params");
    return writer;
}

static void write_message(const struct a2a *a2a, const char *prompt, struct buf *ret_body)
{
    struct json_writer writer = begin_rpc(a2a->is_old ? "message/send" : "SendMessage", ret_body);
    const char *key = a2a->call->idempotency_key;
    json_begin_object(&writer, "message");
    json_write_string(&writer, "messageId", key == NULL ? "1" : key);
    json_write_string(&writer, "role", a2a->is_old ? "user" : "ROLE_USER");
    json_begin_array(&writer, "parts");
    json_begin_object(&writer, NULL);
    if (a2a->is_old) {
        json_write_string(&writer, "kind", "text");
    }
    json_write_string(&writer, "text", prompt);
    json_end_object(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
    json_end_object(&writer);
    json_end_object(&writer);
}

/** @param ret_result of the reply, borrowed from `ret_reply` */
static bool call_rpc(struct a2a *a2a, const char *body, struct json_object **ret_reply,
                     struct json_object **ret_result)
{
    struct remote_agent agent = *a2a->agent;
    agent.headers = &a2a->headers;
    if (!exchange(&agent, a2a->call, "POST", a2a->url, body, ret_reply, a2a->result)) {
        return false;
    }
    struct json_object *error = json_member(*ret_reply, "error");
    *ret_result = json_member(*ret_reply, "result");
    if (error != NULL || *ret_result == NULL) {
        tool_fail(a2a->result, DELEGATION_ERROR "agent '%s': %.*s", agent.name, SHOWN_BYTES,
                  json_get_string(error, "message", "its reply has no result"));
        return false;
    }
    return true;
}

/* ---- A2A: answers ---------------------------------------------------------------------------- */

/** Append the texts of parts, a line each. */
static void add_parts(struct json_object *parts, struct buf *ret_text)
{
    size_t count =
        json_object_is_type(parts, json_type_array) ? json_object_array_length(parts) : 0;
    for (size_t i = 0; i < count && i < MOST_PARTS; i++) {
        struct json_object *part = json_object_array_get_idx(parts, i);
        struct json_object *data = json_member(part, "data");
        const char *text = json_get_string(part, "text", NULL);
        if (text == NULL && data != NULL) {
            text = json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN);
        }
        if (text != NULL && text[0] != '\0') {
            buf_printf(ret_text, "%s%s", ret_text->len > 0 ? "\n" : "", text);
        }
    }
}

/** What a task has brought about: its artifacts, or else what its status says. */
static void add_task(struct json_object *task, struct buf *ret_text)
{
    struct json_object *artifacts = json_member(task, "artifacts");
    size_t count =
        json_object_is_type(artifacts, json_type_array) ? json_object_array_length(artifacts) : 0;
    for (size_t i = 0; i < count && i < MOST_PARTS; i++) {
        add_parts(json_member(json_object_array_get_idx(artifacts, i), "parts"), ret_text);
    }
    if (ret_text->len == 0) {
        add_parts(json_member(json_member(json_member(task, "status"), "message"), "parts"),
                  ret_text);
    }
}

/** "working": without the prefix of 1.0, in small letters. */
static void read_state(struct json_object *task, char *ret_state, size_t size)
{
    static const char prefix[] = "TASK_STATE_";
    const char *state = json_get_string(json_member(task, "status"), "state", "");
    size_t skip = strncmp(state, prefix, sizeof(prefix) - 1) == 0 ? sizeof(prefix) - 1 : 0;
    snprintf(ret_state, size, "%s", state + skip);
    for (char *at = ret_state; *at != '\0'; at++) {
        *at = *at == '_' ? '-' : *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
}

/** @return whether the task is over: then the result has its answer, or why there is none */
static bool take_task(struct a2a *a2a, struct json_object *task)
{
    auto_buf struct buf text = {0};
    char state[32];
    read_state(task, state, sizeof(state));
    if (strcmp(state, "submitted") == 0 || strcmp(state, "working") == 0) {
        return false;
    }
    add_task(task, &text);
    if (strcmp(state, "completed") != 0) {
        tool_fail(a2a->result, DELEGATION_ERROR "the task of agent '%s' is %s%s%.*s",
                  a2a->agent->name, state[0] == '\0' ? "in no state" : state,
                  text.len > 0 ? ": " : "", SHOWN_BYTES, buf_string(&text));
    } else if (text.len == 0) {
        fail_empty(a2a->agent, a2a->result);
    } else {
        buf_append(&a2a->result->text, text.data, text.len);
    }
    return true;
}

/** A request about a task, by its names of 0.3 and 1.0. */
static void write_about(const struct a2a *a2a, const char *old_method, const char *method,
                        const char *id, struct buf *ret_body)
{
    struct json_writer writer = begin_rpc(a2a->is_old ? old_method : method, ret_body);
    json_write_string(&writer, "id", id);
    json_end_object(&writer);
    json_end_object(&writer);
}

/**
 * Cancel a task whose answer nobody reads any more: it would work, and cost, for nobody. The call
 * may be cancelled already and its time over, so this has a time of its own. Whatever the agent
 * replies, the result of the call remains.
 */
static void cancel_task(const struct a2a *a2a, const char *id)
{
    auto_buf struct buf body = {0};
    auto_json struct json_object *reply = NULL;
    struct json_object *task = NULL;
    struct tool_result unread = {0};
    struct tool_call call = *a2a->call;
    struct a2a last = *a2a;
    call.cancel = NULL;
    call.deadline_ns = clock_monotonic(a2a->agent->around->clock) + REMOTE_CANCEL_S * NS_PER_S;
    last.call = &call;
    last.result = &unread;
    write_about(a2a, "tasks/cancel", "CancelTask", id, &body);
    (void)call_rpc(&last, buf_string(&body), &reply, &task);
    tool_result_fini(&unread);
}

/** Look at a task until it is over, or there is no time left. @return whether it is over */
static bool wait_for_task(struct a2a *a2a, const char *id)
{
    auto_buf struct buf body = {0};
    int64_t pause_ns = FIRST_PAUSE_NS;
    int64_t end_ns = clock_monotonic(a2a->agent->around->clock) + a2a->agent->timeout_s * NS_PER_S;
    write_about(a2a, "tasks/get", "GetTask", id, &body);
    end_ns = end_ns < a2a->call->deadline_ns ? end_ns : a2a->call->deadline_ns;
    while (!cancel_wait(a2a->call->cancel, pause_ns)) {
        auto_json struct json_object *reply = NULL;
        struct json_object *task = NULL;
        if (!call_rpc(a2a, buf_string(&body), &reply, &task)) {
            return false;
        }
        if (take_task(a2a, task)) {
            return true;
        }
        if (clock_monotonic(a2a->agent->around->clock) >= end_ns) {
            tool_fail(a2a->result, DELEGATION_ERROR "the task of agent '%s' is not done in time",
                      a2a->agent->name);
            return false;
        }
        pause_ns = pause_ns * 3 / 2 < LAST_PAUSE_NS ? pause_ns * 3 / 2 : LAST_PAUSE_NS;
    }
    tool_fail(a2a->result, DELEGATION_ERROR "cancelled while agent '%s' was at work",
              a2a->agent->name);
    return false;
}

static void take_sent(struct a2a *a2a, struct json_object *sent)
{
    /* 1.0 wraps what it returns; before, `kind` says what it is. */
    struct json_object *message = json_member(sent, "message");
    struct json_object *task = json_member(sent, "task");
    bool is_message = strcmp(json_get_string(sent, "kind", ""), "message") == 0;
    if (message != NULL || is_message) {
        add_parts(json_member(message != NULL ? message : sent, "parts"), &a2a->result->text);
        if (a2a->result->text.len == 0) {
            fail_empty(a2a->agent, a2a->result);
        }
        return;
    }
    task = task == NULL ? sent : task;
    const char *id = json_get_string(task, "id", "");
    if (!take_task(a2a, task)) {
        if (id[0] == '\0') {
            fail_empty(a2a->agent, a2a->result);
            return;
        }
        if (!wait_for_task(a2a, id)) {
            cancel_task(a2a, id);
        }
    }
}

/** A server takes a request that names no version for one of 0.3. */
static void copy_headers(struct a2a *a2a)
{
    const struct tool_headers *from = a2a->agent->headers;
    for (size_t i = 0; i < from->count; i++) {
        tool_headers_set(&a2a->headers, from->items[i].name, from->items[i].value);
    }
    if (!a2a->is_old) {
        tool_headers_set(&a2a->headers, "A2A-Version", "1.0");
    }
}

void remote_a2a(const struct remote_agent *agent, const char *prompt, const struct tool_call *call,
                struct tool_result *ret_result)
{
    struct a2a a2a = {.agent = agent, .call = call, .result = ret_result};
    auto_buf struct buf body = {0};
    auto_json struct json_object *reply = NULL;
    struct json_object *sent = NULL;
    struct tool_call about_task = *call;
    about_task.idempotency_key = NULL; /* A server would repeat its reply to the message. */
    if (!read_card(&a2a)) {
        return;
    }
    copy_headers(&a2a);
    write_message(&a2a, prompt, &body);
    if (call_rpc(&a2a, buf_string(&body), &reply, &sent)) {
        a2a.call = &about_task;
        take_sent(&a2a, sent);
    }
    tool_headers_fini(&a2a.headers);
    free(a2a.url);
}
