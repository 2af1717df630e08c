// SPDX-License-Identifier: Apache-2.0
/*
 * Webhooks: a request that shows that it knows the secret becomes a start request. It is reached as
 * POST /hooks/NAME on the server's listener, and under its own path on its own port (hook_ports.h).
 * What a request can decide is its prompt, within the template; it needs no token of the API, and
 * gives no right to anything else.
 *
 * In order: page of a browser, method, size, signature, rate, template, commit. So only requests
 * that are genuine use up the rate, and none that is not makes anybody parse its body.
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "model/key/environment.h"
#include "source/source.h"
#include "source/template.h"
#include "source/webhook/hook_conversation.h"
#include "source/webhook/hook_ports.h"
#include "source/webhook/hook_secret.h"
#include "source/webhook/hook_signature.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Part of a minute's requests that may come at once. */
#define BURST_SHARE 6
/** A sender may come again when a queue is full. */
#define FULL_RETRY_S 30

extern const struct source_type webhook_source_type;

/** The source: one webhook of a role. */
struct webhook {
    struct source source;
    char *name;     /**< in POST /hooks/NAME */
    char *path;     /**< on its own port */
    char *method;   /**< there */
    char *template; /**< of the prompt */
    uint16_t port;  /**< 0 = none of its own */
    struct hook_key key;
    int64_t per_minute;
    char problem[SOURCE_PROBLEM_SIZE]; /**< of its own port; "" = none */

    pthread_mutex_t lock; /**< guards what follows: the bucket of the rate */
    int64_t left;         /**< requests, in billionths of a minute's nanoseconds (see refill) */
    int64_t filled_ns;    /**< monotonic */
};

/* ---- Rate ------------------------------------------------------------------------------------ */

/** One request, in the unit in which `per_minute` come back each nanosecond. */
#define ONE_REQUEST (60 * NS_PER_S)

static int64_t burst_of(const struct webhook *hook)
{
    int64_t burst = hook->per_minute / BURST_SHARE;
    return (burst < 1 ? 1 : burst) * ONE_REQUEST;
}

static void refill(struct webhook *hook, int64_t now_ns)
{
    int64_t full = burst_of(hook);
    int64_t gained = 0;
    int64_t passed = now_ns - hook->filled_ns;
    if (__builtin_mul_overflow(passed, hook->per_minute, &gained) || gained > full - hook->left) {
        gained = full - hook->left;
    }
    hook->left += gained;
    hook->filled_ns = now_ns;
}

/** @return 0, or seconds after which there is room again */
static int64_t take_rate(struct webhook *hook)
{
    int64_t wait_s = 0;
    pthread_mutex_lock(&hook->lock);
    refill(hook, clock_monotonic(hook->source.host->clock));
    if (hook->left >= ONE_REQUEST) {
        hook->left -= ONE_REQUEST;
    } else {
        int64_t missing_ns = (ONE_REQUEST - hook->left) / hook->per_minute;
        wait_s = missing_ns / NS_PER_S + 1;
    }
    pthread_mutex_unlock(&hook->lock);
    return wait_s;
}

/* ---- One request ----------------------------------------------------------------------------- */

static const char *header(const struct source_delivery *delivery, const char *name)
{
    return delivery->header(delivery, name);
}

__attribute__((format(printf, 3, 4))) static bool refuse(struct source_answer *answer, int status,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    answer->status = status;
    vsnprintf(answer->message, sizeof(answer->message), format, arguments);
    va_end(arguments);
    return false;
}

/** Senders of webhooks are programs; a page in a browser says where it comes from. */
static bool check_sender(const struct source_delivery *delivery, struct source_answer *answer)
{
    if (header(delivery, "origin") != NULL || header(delivery, "sec-fetch-site") != NULL) {
        return refuse(answer, 403, "requests from web pages are refused");
    }
    return true;
}

static bool check_size(const struct source_delivery *delivery, struct source_answer *answer)
{
    return delivery->body_len <= (size_t)LIMIT_HOOK_BODY_BYTES ||
           refuse(answer, 413, "payload too large: more than %ld bytes", LIMIT_HOOK_BODY_BYTES);
}

static bool check_signature(const struct webhook *hook, const struct source_delivery *delivery,
                            struct source_answer *answer)
{
    const struct hook_message message = {
        .hub_signature = header(delivery, "x-hub-signature-256"),
        .webhook_id = header(delivery, "webhook-id"),
        .webhook_timestamp = header(delivery, "webhook-timestamp"),
        .webhook_signature = header(delivery, "webhook-signature"),
        .authorization = header(delivery, "authorization"),
        .body = delivery->body,
        .len = delivery->body_len,
        .now_s = clock_now(hook->source.host->clock) / NS_PER_S,
    };
    enum hook_verdict verdict = hook_verify(&hook->key, &message);
    return verdict == HOOK_GENUINE || refuse(answer, 403, "%s", hook_verdict_text(verdict));
}

static bool check_rate(struct webhook *hook, struct source_answer *answer)
{
    answer->retry_after_s = take_rate(hook);
    return answer->retry_after_s == 0 || refuse(answer, 429, "rate limit exceeded");
}

/** Whether an id is 1 to LIMIT_DELIVERY_ID_LEN visible characters. */
static bool is_id(const char *text)
{
    size_t len = 0;
    while (len <= LIMIT_DELIVERY_ID_LEN && ascii_is_graphic(text[len])) {
        len++;
    }
    return len > 0 && len <= LIMIT_DELIVERY_ID_LEN && text[len] == '\0';
}

/**
 * What identifies the event. With Standard Webhooks only the id that is signed counts: a recorded
 * request with another id beside it would pass for a new event.
 * @param ret_id NULL: nothing does
 */
static bool find_id(const struct webhook *hook, const struct source_delivery *delivery,
                    const char **ret_id, struct source_answer *answer)
{
    const char *id = header(delivery, "webhook-id");
    if (hook->key.scheme != HOOK_STANDARD) {
        id = header(delivery, "x-github-delivery");
        id = id != NULL ? id : header(delivery, "webhook-id");
        id = id != NULL ? id : header(delivery, "idempotency-key");
    }
    if (id != NULL && !is_id(id)) {
        return refuse(answer, 400, "the id of the delivery is not 1 to %d visible ASCII characters",
                      LIMIT_DELIVERY_ID_LEN);
    }
    *ret_id = id;
    return true;
}

static bool make_prompt(const struct webhook *hook, const struct source_delivery *delivery,
                        struct buf *ret_prompt, struct source_answer *answer)
{
    struct rondo_error err = {0};
    const struct template_value values[] = {
        {.name = "payload", .text = delivery->body, .len = delivery->body_len},
        {.name = "body", .text = delivery->body, .len = delivery->body_len, .is_json = true},
        {.name = "path", .text = hook->path, .len = strlen(hook->path), .is_line = true},
        {0},
    };
    int r = template_fill(hook->template, values, ret_prompt, &err);
    if (r < 0) {
        return refuse(answer, r == RONDO_ERR_LIMIT ? 413 : 400, "%.200s", err.message);
    }
    return true;
}

static void write_context(const struct webhook *hook, const struct source_delivery *delivery,
                          const char *id, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    const char *event = header(delivery, "x-github-event");
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "hook", hook->name);
    json_write_string(&writer, "path", hook->path);
    if (id != NULL) {
        json_write_string(&writer, "delivery", id);
    }
    if (event != NULL && is_id(event)) {
        json_write_string(&writer, "event", event);
    }
    json_end_object(&writer);
}

static void answer_result(const struct intake_result *result, struct source_answer *answer)
{
    memcpy(answer->run_id, result->run_id, sizeof(answer->run_id));
    switch (result->outcome) {
    case INTAKE_ACCEPTED:
    case INTAKE_DUPLICATE:
    case INTAKE_COALESCED:
        answer->status = 202;
        return;
    case INTAKE_FULL:
        answer->retry_after_s = FULL_RETRY_S;
        refuse(answer, 503, "%s", result->reason);
        return;
    case INTAKE_REFUSED:
    case INTAKE_OVERTAKEN: /* It has no mark. */
    case INTAKE_OUTCOME_COUNT:
        break;
    }
    refuse(answer, 409, "%s", result->reason);
}

/** Which conversation the request is a turn of. @param ret_key empty: of none */
static bool find_conversation(const struct webhook *hook, const struct source_delivery *delivery,
                              struct buf *ret_key, struct source_answer *answer)
{
    struct rondo_error err = {0};
    const char *template = hook->source.host->conversation;
    if (template == NULL || hook_conversation(template, delivery, ret_key, &err) == 0) {
        return true;
    }
    return refuse(answer, 400, "the conversation cannot be found: %.200s", err.message);
}

static void submit(struct webhook *hook, const struct source_delivery *delivery, const char *id,
                   const char *prompt, struct source_answer *answer)
{
    auto_buf struct buf context = {0};
    auto_buf struct buf conversation = {0};
    struct intake_result result = {0};
    struct rondo_error err = {0};
    if (!find_conversation(hook, delivery, &conversation, answer)) {
        return;
    }
    write_context(hook, delivery, id, &context);
    const struct intake_event event = {
        .prompt = prompt,
        .key = id,
        .context = buf_string(&context),
        .conversation = conversation.len == 0 ? NULL : buf_string(&conversation),
    };
    if (source_submit(&hook->source, &event, &result, &err) < 0) {
        answer->retry_after_s = FULL_RETRY_S;
        refuse(answer, 503, "the request could not be stored; send it again");
        return;
    }
    answer_result(&result, answer);
}

static void receive(struct source *source, const struct source_delivery *delivery,
                    struct source_answer *ret_answer)
{
    struct webhook *hook = (struct webhook *)source;
    auto_buf struct buf prompt = {0};
    const char *id = NULL;
    *ret_answer = (struct source_answer){0};
    if (check_sender(delivery, ret_answer) && check_size(delivery, ret_answer) &&
        check_signature(hook, delivery, ret_answer) && find_id(hook, delivery, &id, ret_answer) &&
        check_rate(hook, ret_answer) && make_prompt(hook, delivery, &prompt, ret_answer)) {
        submit(hook, delivery, id, buf_string(&prompt), ret_answer);
    }
}

/* ---- The source ------------------------------------------------------------------------------ */

static bool is_name(const char *text)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-_.";
    size_t len = strlen(text);
    return len > 0 && len <= LIMIT_AGENT_ID_LEN && strspn(text, allowed) == len && text[0] != '.';
}

static int read_name(struct webhook *hook, struct json_object *config, struct rondo_error *err)
{
    hook->name = memory_dup_string(json_get_string(config, "name", hook->source.host->role));
    return is_name(hook->name)
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "the name of the webhook is not letters, digits, `-`, `_` and `.`");
}

static int read_place(struct webhook *hook, struct json_object *config, struct rondo_error *err)
{
    int64_t port = json_get_int(config, "port", 0);
    hook->path = memory_dup_string(json_get_string(config, "path", "/webhook"));
    hook->method = memory_dup_string(json_get_string(config, "method", "POST"));
    if (port < 0 || port > UINT16_MAX || hook->path[0] != '/') {
        return error_set(err, RONDO_ERR_INVALID,
                         "the webhook needs a port from 0 to %d and a path that begins with /",
                         UINT16_MAX);
    }
    hook->port = (uint16_t)port;
    return 0;
}

static int read_rate(struct webhook *hook, struct json_object *config, struct rondo_error *err)
{
    hook->per_minute = json_get_int(config, "rate_limit_rpm", 60);
    if (hook->per_minute < 1 || hook->per_minute > LIMIT_HOOK_RATE_PER_MINUTE) {
        return error_set(err, RONDO_ERR_INVALID, "rate_limit_rpm is not from 1 to %d",
                         LIMIT_HOOK_RATE_PER_MINUTE);
    }
    hook->left = burst_of(hook);
    hook->filled_ns = clock_monotonic(hook->source.host->clock);
    return 0;
}

/** The role gives no secret: one is made for it, and the log says where its owner finds it. */
static int make_key(struct webhook *hook, struct json_object *config, struct rondo_error *err)
{
    const struct source_host *host = hook->source.host;
    const struct hook_owner owner = {
        .folder = host->folder,
        .role = host->role,
        .name = hook->name,
        .is_standard = strcmp(json_get_string(config, "signature", ""), "standard") == 0,
    };
    char *secret = NULL;
    auto_free char *path = NULL;
    int r = hook_secret_keep(&owner, host->random, &secret, &path, err);
    r = r < 0 ? r : hook_key_take(config, secret, &hook->key, err);
    secret_free_string(secret);
    if (r == 0 && host->log != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "%s: the role gives no secret: requests need the one in %s", host->id,
                   path);
        host->log(host->context, buf_string(&line));
    }
    return r;
}

static int read_key(struct webhook *hook, struct json_object *config, struct rondo_error *err)
{
    struct dotenv *dotenv = NULL;
    if (hook_key_is_left_out(config)) {
        return make_key(hook, config, err);
    }
    int r = dotenv_read(hook->source.host->folder, &dotenv, err);
    if (r == 0) {
        r = hook_key_open(config, dotenv, &hook->key, err);
    }
    dotenv_free(dotenv);
    return r;
}

static void close_webhook(struct source *source)
{
    struct webhook *hook = (struct webhook *)source;
    hook_ports_remove(source->host->ports, source);
    hook_key_fini(&hook->key);
    pthread_mutex_destroy(&hook->lock);
    free(hook->name);
    free(hook->path);
    free(hook->method);
    free(hook->template);
    free(hook);
}

/** A port that is taken is no reason to refuse what comes over the server's listener. */
static void listen_on_port(struct webhook *hook)
{
    struct rondo_error err = {0};
    const struct source_host *host = hook->source.host;
    const struct hook_place place = {
        .port = hook->port,
        .method = hook->method,
        .path = hook->path,
        .source = &hook->source,
        .is_unsigned = hook->key.scheme == HOOK_UNSIGNED,
    };
    if (hook->port == 0 || hook_ports_add(host->ports, &place, &err) == 0) {
        return;
    }
    snprintf(hook->problem, sizeof(hook->problem), "%.150s; it can be called at /hooks/%.100s only",
             err.message, hook->name);
    if (host->log == NULL) {
        return;
    }
    auto_buf struct buf line = {0};
    buf_printf(&line, "%s: %s", host->id, hook->problem);
    host->log(host->context, buf_string(&line));
}

static int open_webhook(struct json_object *config, const struct source_host *host,
                        const char *mark, struct source **ret_source, struct rondo_error *err)
{
    (void)mark;
    struct webhook *hook = memory_new_zero(1, sizeof(*hook));
    const char *template = json_get_string(config, "prompt_template", "");
    hook->source = (struct source){.type = &webhook_source_type, .host = host};
    hook->template = memory_dup_string(template[0] == '\0' ? "{payload}" : template);
    pthread_mutex_init(&hook->lock, NULL);
    int r = read_name(hook, config, err);
    r = r < 0 ? r : read_place(hook, config, err);
    r = r < 0 ? r : read_rate(hook, config, err);
    r = r < 0 ? r : read_key(hook, config, err);
    if (r < 0) {
        close_webhook(&hook->source);
        return r;
    }
    listen_on_port(hook);
    *ret_source = &hook->source;
    return 0;
}

static const char *hook_name(struct source *source)
{
    return ((struct webhook *)source)->name;
}

static void describe(struct source *source, struct json_writer *writer)
{
    static const char *const schemes[] = {"unsigned", "github", "standard", "bearer"};
    const struct webhook *hook = (const struct webhook *)source;
    json_write_string(writer, "signature", schemes[hook->key.scheme]);
    if (hook->port != 0) {
        json_write_int(writer, "port", hook->port);
        json_write_string(writer, "path", hook->path);
    }
}

static const char *problem(struct source *source)
{
    return ((const struct webhook *)source)->problem;
}

static const char *const identity[] = {"name", "path", "port", NULL};
static const char *const summary[] = {"name", "path", NULL};

const struct source_type webhook_source_type = {
    .name = "webhook",
    .identity = identity,
    .summary = summary,
    .open = open_webhook,
    .close = close_webhook,
    .hook = hook_name,
    .receive = receive,
    .describe = describe,
    .problem = problem,
};
