// SPDX-License-Identifier: Apache-2.0
#include "source/telegram/telegram_api.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "model/key/secret.h"
#include "net/client/http.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Updates of one answer; a message has at most 4096 characters. */
#define UPDATES_AT_ONCE 20
/** Time for a request beyond what it waits on purpose. */
#define CALL_NS (20 * NS_PER_S)
/** The longest wait that the service may ask for. */
#define LONGEST_WAIT_S 600

int telegram_api_init(struct telegram_api *api, const char *base, const char *token,
                      struct rondo_error *err)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789:_-";
    struct buf url = {0};
    size_t len = strlen(token);
    if (len == 0 || len > LIMIT_TELEGRAM_TOKEN_LEN || strspn(token, allowed) != len) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the token of the Telegram bot is not of the form "
                         "NUMBER:LETTERS");
    }
    buf_printf(&url, "%s/bot%s/", base, token);
    api->url = buf_steal(&url);
    return 0;
}

void telegram_api_fini(struct telegram_api *api)
{
    secret_free_string(api->url);
    api->url = NULL;
}

/* ---- Updates --------------------------------------------------------------------------------- */

static struct telegram_message read_update(struct json_object *update)
{
    struct json_object *message = json_member(update, "message");
    struct json_object *from = json_member(message, "from");
    struct json_object *chat = json_member(message, "chat");
    struct telegram_message read = {
        .update = json_get_int(update, "update_id", -1),
        .chat = json_get_int(chat, "id", 0),
        .user = json_get_int(from, "id", 0),
        .user_name = json_get_string(from, "username", ""),
        .text = json_get_string(message, "text", ""),
    };
    read.is_text = read.text[0] != '\0' && read.chat != 0 && read.user != 0;
    return read;
}

int telegram_read_updates(const char *json, size_t len, telegram_message_fn *fn, void *context,
                          struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, len, &root, err);
    struct json_object *list = json_member(root, "result");
    if (r < 0 || !json_get_bool(root, "ok", false) || !json_object_is_type(list, json_type_array)) {
        return error_set(err, RONDO_ERR_INVALID, "Telegram's answer is not a list of updates");
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct telegram_message message = read_update(json_object_array_get_idx(list, i));
        if (message.update >= 0 && message.update < INT64_MAX) {
            fn(context, &message);
        }
    }
    return 0;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/** What an answer that is not 200 says. */
static void read_refusal(const struct http_response *response, struct telegram_answer *answer)
{
    auto_json struct json_object *root = NULL;
    const char *text = "";
    if (response->body.len > 0 &&
        json_parse(response->body.data, response->body.len, &root, NULL) == 0) {
        struct json_object *parameters = json_member(root, "parameters");
        int64_t wait_s = json_get_int(parameters, "retry_after", 0);
        text = json_get_string(root, "description", "");
        answer->wait_s = wait_s < 0 ? 0 : wait_s > LONGEST_WAIT_S ? LONGEST_WAIT_S : wait_s;
    }
    if (response->status == 429 || response->status == 409) {
        answer->outcome = TELEGRAM_NOT_SENT;
    } else {
        answer->outcome = response->status >= 500 ? TELEGRAM_UNKNOWN : TELEGRAM_REFUSED;
    }
    snprintf(answer->reason, sizeof(answer->reason), "status %ld%s%.150s", response->status,
             text[0] == '\0' ? "" : ": ", text);
}

static void read_outcome(const struct http_response *response, struct telegram_answer *answer)
{
    switch (response->failure) {
    case HTTP_OK:
        if (response->status != 200) {
            read_refusal(response, answer);
        }
        return;
    case HTTP_BAD_REQUEST:
    case HTTP_NO_HOST:
    case HTTP_NO_CONNECTION:
    case HTTP_TLS:
    case HTTP_BLOCKED:
        answer->outcome = TELEGRAM_NOT_SENT;
        break;
    case HTTP_BROKEN:
    case HTTP_TIMED_OUT:
    case HTTP_TOO_LARGE:
    case HTTP_REDIRECTS:
    case HTTP_STOPPED:
    case HTTP_CANCELLED:
        answer->outcome = TELEGRAM_UNKNOWN;
        break;
    }
    snprintf(answer->reason, sizeof(answer->reason), "%s", http_failure_name(response->failure));
}

static void call(struct telegram_api *api, const char *method, const struct buf *body,
                 int64_t total_ns, struct buf *ret_body, struct telegram_answer *ret_answer)
{
    static const struct http_header json[] = {{"Content-Type", "application/json"}};
    struct rondo_error err = {0};
    struct http_response response = {0};
    auto_buf struct buf url = {0};
    const struct http_part part = {body->data, body->len};
    buf_printf(&url, "%s%s", api->url, method);
    const struct http_request request = {
        .method = "POST",
        .url = buf_string(&url),
        .headers = json,
        .header_count = 1,
        .parts = &part,
        .part_count = 1,
        .total_ns = total_ns,
        .max_body_bytes = (size_t)LIMIT_TELEGRAM_BODY_BYTES,
        .cancel = api->cancel,
    };
    *ret_answer = (struct telegram_answer){0};
    if (http_call(api->http, &request, &response, &err) < 0) {
        ret_answer->outcome = TELEGRAM_NOT_SENT;
        snprintf(ret_answer->reason, sizeof(ret_answer->reason), "%.190s", err.message);
    } else {
        read_outcome(&response, ret_answer);
    }
    if (ret_answer->outcome == TELEGRAM_DONE) {
        buf_append(ret_body, response.body.data, response.body.len);
    }
    http_response_fini(&response);
    explicit_bzero(url.data, url.len);
}

void telegram_get_updates(struct telegram_api *api, int64_t offset, int wait_s,
                          struct buf *ret_body, struct telegram_answer *ret_answer)
{
    auto_buf struct buf body = {0};
    buf_printf(&body,
               "{\"offset\":%" PRId64 ",\"limit\":%d,\"timeout\":%d,"
               "\"allowed_updates\":[\"message\"]}",
               offset, UPDATES_AT_ONCE, wait_s);
    call(api, "getUpdates", &body, wait_s * NS_PER_S + CALL_NS, ret_body, ret_answer);
}

void telegram_send(struct telegram_api *api, int64_t chat, const char *text,
                   struct telegram_answer *ret_answer)
{
    auto_buf struct buf body = {0};
    auto_buf struct buf reply = {0};
    struct json_writer writer = json_writer(&body);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "chat_id", chat);
    json_write_string(&writer, "text", text);
    json_end_object(&writer);
    call(api, "sendMessage", &body, CALL_NS, &reply, ret_answer);
}
