// SPDX-License-Identifier: Apache-2.0
/*
 * One request to a server: attempts, until there is a reply, a failure that another attempt does
 * not mend, or no time left. A reply that broke off is asked for again as a whole; what it has
 * cost counts. Blocks the calling thread, keeps nothing between calls but adaptations.
 */
#include "base/ascii.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "model/adapt.h"
#include "model/dialect.h"
#include "model/failure.h"
#include "model/reading.h"
#include "net/client/retry.h"
#include "net/client/sse.h"

#include <assert.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** Attempts at a request whose replies are damaged: each of them costs money. */
#define MAX_BAD_REPLIES 3
/** Bytes of a request id that are kept. */
#define REQUEST_ID_SIZE 128

/** What a server sends for a stream: some send a whole reply all the same. */
enum stream_form { FORM_UNKNOWN, FORM_EVENTS, FORM_WHOLE };

struct request_attempt {
    struct model *model;
    const struct model_request *request;
    struct model_reading reading;
    struct sse_parser parser;
    struct buf whole;
    enum stream_form form;
    struct http_response response;
    unsigned adaptations; /**< when the request was made */
    bool is_out_of_time;  /**< another attempt would make sense, and come too late */
};

static void begin_attempt(struct request_attempt *attempt, struct model *model,
                          const struct model_request *request)
{
    *attempt = (struct request_attempt){.model = model, .request = request};
    attempt->adaptations = atomic_load(&model->adaptations);
    reading_init(&attempt->reading, model, request);
    sse_parser_init(&attempt->parser, MODEL_REPLY_MAX_BYTES);
}

static void end_attempt(struct request_attempt *attempt)
{
    reading_fini(&attempt->reading);
    sse_parser_fini(&attempt->parser);
    buf_fini(&attempt->whole);
    http_response_fini(&attempt->response);
}

static bool on_event(void *context, const struct sse_event *event)
{
    struct request_attempt *attempt = context;
    struct model_reading *reading = &attempt->reading;
    auto_json struct json_object *data = NULL;
    if (strcmp(event->data, "[DONE]") == 0) {
        reading->is_complete = true;
        return true;
    }
    if (json_parse(event->data, event->data_len, &data, NULL) < 0) {
        reading_fail(reading, MODEL_BAD_REPLY, 0, "an event of the stream is not JSON: %.100s",
                     event->data);
        return false;
    }
    attempt->model->ops->wire->read_event(reading, data);
    return reading->failure == MODEL_OK;
}

static enum stream_form form_of(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_space(bytes[i])) {
            return strchr("{[<", bytes[i]) != NULL ? FORM_WHOLE : FORM_EVENTS;
        }
    }
    return FORM_UNKNOWN;
}

static bool on_body(void *context, const char *bytes, size_t len)
{
    struct request_attempt *attempt = context;
    struct rondo_error why = {0};
    if (attempt->form == FORM_UNKNOWN) {
        attempt->form = form_of(bytes, len);
    }
    if (attempt->form == FORM_WHOLE) {
        buf_append(&attempt->whole, bytes, len);
        return true;
    }
    if (sse_parser_feed(&attempt->parser, bytes, len, on_event, attempt, &why) < 0) {
        attempt->reading.is_final = true;
        reading_fail(&attempt->reading, MODEL_BAD_REPLY, 0, "%s", why.message);
    }
    return attempt->reading.failure == MODEL_OK;
}

static void read_whole(struct request_attempt *attempt, const struct buf *body)
{
    auto_json struct json_object *reply = NULL;
    if (body->len == 0 || json_parse(body->data, body->len, &reply, NULL) < 0) {
        failure_not_json(&attempt->reading, buf_string(body), body->len);
        return;
    }
    attempt->model->ops->wire->read_reply(&attempt->reading, reply);
}

/** Judge what http_call gave. */
static void read_response(struct request_attempt *attempt)
{
    const struct http_response *response = &attempt->response;
    struct model_reading *reading = &attempt->reading;
    bool is_whole = !attempt->request->is_streaming || attempt->form == FORM_WHOLE;
    bool is_good = response->status >= 200 && response->status < 300;
    if (reading->failure != MODEL_OK) {
        return;
    }
    if (response->failure != HTTP_OK) {
        /* Everything was said; that the connection does not end properly is of no interest. */
        if (!reading->is_complete || response->failure == HTTP_CANCELLED) {
            failure_of_call(reading, response);
        }
    } else if (!is_good) {
        failure_read_body(reading, response->status, buf_string(&response->body),
                          response->body.len);
    } else if (is_whole) {
        read_whole(attempt, attempt->request->is_streaming ? &attempt->whole : &response->body);
    } else if (!reading->is_complete) {
        reading_fail(reading, MODEL_BAD_REPLY, 0, "the stream ended before the reply did");
    }
}

/** @param headers room for DIALECT_MAX_HEADERS */
static size_t write_headers(const struct request_attempt *attempt, struct http_header *headers)
{
    const struct model *model = attempt->model;
    const struct model_wire *wire = model->ops->wire;
    const char *key = attempt->request->idempotency_key;
    size_t count = 0;
    headers[count++] = (struct http_header){"Content-Type", "application/json"};
    if (model->authorization.bytes != NULL) {
        headers[count++] = (struct http_header){wire->key_header, model->authorization.bytes};
    }
    if (wire->version != NULL) {
        headers[count++] = (struct http_header){wire->version_header, wire->version};
    }
    if (key != NULL && (model->provider->traits & PROVIDER_TAKES_IDEMPOTENCY) != 0) {
        headers[count++] = (struct http_header){"Idempotency-Key", key};
    }
    if (attempt->request->traceparent != NULL) {
        headers[count++] = (struct http_header){"traceparent", attempt->request->traceparent};
    }
    for (size_t i = 0; i < model->settings.header_count; i++) {
        headers[count++] = model->settings.headers[i];
    }
    assert(count <= DIALECT_MAX_HEADERS);
    return count;
}

/** @param total_ns time that is left */
static int call(struct request_attempt *attempt, int64_t total_ns, struct rondo_error *err)
{
    const struct model *model = attempt->model;
    struct http_header headers[DIALECT_MAX_HEADERS];
    auto_buf struct buf suffix = {0};
    struct request_body body = {0};
    bool is_streaming = attempt->request->is_streaming;
    body_add(&body, model->prefix.data, model->prefix.len);
    model->ops->wire->splice(attempt->request, &body);
    model->ops->wire->write_suffix(model, attempt->request, &suffix);
    body_add(&body, suffix.data, suffix.len);
    struct http_request request = {
        .method = "POST",
        .url = model->url,
        .headers = headers,
        .header_count = write_headers(attempt, headers),
        .parts = body.parts,
        .part_count = body.count,
        .total_ns = total_ns,
        .idle_ns = is_streaming ? MODEL_IDLE_NS : 0,
        .max_body_bytes = MODEL_REPLY_MAX_BYTES,
        .cancel = attempt->request->cancel,
        .on_body = is_streaming ? on_body : NULL,
        .on_body_context = attempt,
    };
    int r = http_call(model->http, &request, &attempt->response, err);
    body_fini(&body);
    return r;
}

static int make_attempt(struct request_attempt *attempt, struct rondo_error *err)
{
    int64_t left_ns = attempt->request->deadline_ns - clock_monotonic(attempt->model->clock);
    attempt->reading.is_final = true;
    if (cancel_is_set(attempt->request->cancel)) {
        reading_fail(&attempt->reading, MODEL_CANCELLED, 0, "cancelled");
        return 0;
    }
    if (left_ns <= 0) {
        reading_fail(&attempt->reading, MODEL_TIMED_OUT, 0, "no time is left for a request");
        return 0;
    }
    attempt->reading.is_final = false;
    int r = call(attempt, left_ns, err);
    if (r == 0) {
        read_response(attempt);
    }
    return r;
}

/** The response as the rules for repeating see it: a damaged reply is a broken one. */
static struct http_response judged(const struct request_attempt *attempt)
{
    struct http_response seen = attempt->response;
    const struct model_reading *reading = &attempt->reading;
    if (seen.failure == HTTP_OK || seen.failure == HTTP_STOPPED) {
        seen.failure = reading->failure == MODEL_BAD_REPLY ? HTTP_BROKEN : HTTP_OK;
        seen.status = reading->status != 0 ? reading->status : seen.status;
    }
    return seen;
}

static struct retry_policy policy_of(const struct model *model)
{
    struct retry_policy policy = retry_policy_default();
    policy.max_attempts =
        model->max_attempts > 0 ? (unsigned)model->max_attempts : policy.max_attempts;
    policy.max_server_ns = model->max_wait_ns > 0 ? model->max_wait_ns : policy.max_server_ns;
    return policy;
}

/** @param count attempts so far. @return the delay before the next one, or -1 = no more */
static int64_t next_delay_ns(struct request_attempt *attempt, unsigned count)
{
    const struct model *model = attempt->model;
    struct retry_policy policy = policy_of(model);
    struct http_response seen = judged(attempt);
    bool is_damaged = attempt->reading.failure == MODEL_BAD_REPLY;
    if (attempt->reading.is_final || (is_damaged && count >= MAX_BAD_REPLIES) ||
        !retry_is_worth(&seen)) {
        return -1;
    }
    int64_t delay_ns =
        retry_delay_ns(&policy, count, &seen, clock_now(model->clock), model->random);
    int64_t left_ns = attempt->request->deadline_ns - clock_monotonic(model->clock);
    attempt->is_out_of_time = delay_ns >= 0 && delay_ns >= left_ns;
    return delay_ns < left_ns ? delay_ns : -1;
}

/** Wait before the next attempt and say so. */
static void wait_for_next(const struct request_attempt *attempt, unsigned count, int64_t delay_ns)
{
    const struct model_watcher *watcher = attempt->request->watcher;
    auto_buf struct buf why = {0};
    secret_redact(&attempt->model->key, buf_string(&attempt->reading.problem), &why);
    if (watcher != NULL && watcher->on_retry != NULL) {
        watcher->on_retry(watcher->context, count, delay_ns, buf_string(&why));
    }
    if (delay_ns > 0) {
        clock_sleep(attempt->model->clock, delay_ns, attempt->request->cancel);
    }
}

/** @return the delay before another attempt, or -1 = this one is the last */
static int64_t judge(struct request_attempt *attempt, unsigned count)
{
    const struct model_reading *reading = &attempt->reading;
    if (reading->failure == MODEL_OK || reading->failure == MODEL_CANCELLED) {
        return -1;
    }
    if (reading->failure == MODEL_BAD_REQUEST &&
        model_adapt(attempt->model, buf_string(&reading->problem), attempt->adaptations)) {
        return 0;
    }
    return next_delay_ns(attempt, count);
}

/** A text that a server chose, for the journal and for people: printable, without the key. */
static char *clean_name(const struct model *model, const char *text)
{
    struct buf clean = {0};
    secret_redact(&model->key, text, &clean);
    for (size_t i = 0; i < clean.len; i++) {
        bool is_printable = ascii_is_graphic(clean.data[i]);
        clean.data[i] = is_printable ? clean.data[i] : '?';
    }
    return buf_steal(&clean);
}

static void finish(struct request_attempt *attempt, struct model_reply *ret_reply)
{
    char id[REQUEST_ID_SIZE];
    if (http_response_header(&attempt->response, attempt->model->ops->wire->id_header, id,
                             sizeof(id))) {
        ret_reply->request_id = clean_name(attempt->model, id);
    }
    ret_reply->first_token_ns = attempt->reading.first_ns;
    reading_finish(&attempt->reading, ret_reply);
    ret_reply->is_out_of_time = attempt->is_out_of_time;
    if (ret_reply->model_name != NULL) {
        char *name = clean_name(attempt->model, ret_reply->model_name);
        free(ret_reply->model_name);
        ret_reply->model_name = name;
    }
}

int model_ask_over_http(struct model *model, const struct model_request *request,
                        struct model_reply *ret_reply, struct rondo_error *err)
{
    for (;;) {
        struct request_attempt attempt;
        begin_attempt(&attempt, model, request);
        int r = make_attempt(&attempt, err);
        ret_reply->attempts++;
        model_add_usage(&ret_reply->usage, &attempt.reading.usage);
        int64_t delay_ns = r < 0 ? -1 : judge(&attempt, ret_reply->attempts);
        if (delay_ns >= 0) {
            wait_for_next(&attempt, ret_reply->attempts, delay_ns);
        } else if (r == 0) {
            finish(&attempt, ret_reply);
        }
        end_attempt(&attempt);
        if (delay_ns < 0) {
            return r;
        }
    }
}
