// SPDX-License-Identifier: Apache-2.0
#include "source/webhook/hook_answer.h"

#include "base/json/json.h"
#include "net/server/http_server.h"

#include <inttypes.h>
#include <stdio.h>

/** One that comes several times is there, and says nothing: "". */
static const char *single_header(const struct source_delivery *delivery, const char *name)
{
    const struct http_exchange *exchange = delivery->context;
    size_t count = http_exchange_header_count(exchange, name);
    return count == 0 ? NULL : count == 1 ? http_exchange_header(exchange, name) : "";
}

void hook_answer_write(const struct source_answer *answer, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    if (answer->message[0] == '\0') {
        json_write_string(&writer, "status", "accepted");
        json_write_string(&writer, "run_id", answer->run_id);
    } else {
        json_write_string(&writer, "error", answer->message);
    }
    json_end_object(&writer);
}

static void add_headers(struct http_exchange *exchange, const struct source_answer *answer)
{
    char text[64];
    http_exchange_add_header(exchange, "Content-Type", "application/json");
    http_exchange_add_header(exchange, "Cache-Control", "no-store");
    if (answer->run_id[0] != '\0') {
        snprintf(text, sizeof(text), "/v1/runs/%s", answer->run_id);
        http_exchange_add_header(exchange, "Location", text);
    }
    if (answer->retry_after_s > 0) {
        snprintf(text, sizeof(text), "%" PRId64, answer->retry_after_s);
        http_exchange_add_header(exchange, "Retry-After", text);
    }
}

void hook_answer_send(struct http_exchange *exchange, const struct source_answer *answer)
{
    auto_buf struct buf body = {0};
    hook_answer_write(answer, &body);
    add_headers(exchange, answer);
    http_exchange_reply(exchange, (unsigned)answer->status, body.data, body.len);
}

struct source_delivery hook_delivery(struct http_exchange *exchange)
{
    struct source_delivery delivery = {
        .method = http_exchange_method(exchange),
        .header = single_header,
        .context = exchange,
    };
    delivery.body = http_exchange_body(exchange, &delivery.body_len);
    return delivery;
}
