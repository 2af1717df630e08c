// SPDX-License-Identifier: Apache-2.0
/* Attempts, one function for each kind of sink. */
#include "alert/webhook.h"

#include "alert/sink_program.h"
#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "journal/trace.h"
#include "net/client/http.h"
#include "net/client/retry.h"
#include "os/environment.h"
#include "os/spawn/spawn.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Where a run is found in the dashboard. */
#define RUN_PAGE "/#/runs/"
/** Where a handoff is. */
#define INBOX_PAGE "/#/inbox/"
/** Bytes of a command's output that are kept, though nobody sees them. */
#define OUTPUT_KEEP 256
#define STATUS_GONE 410

/* ---- What is sent --------------------------------------------------------------------------- */

/** Append the address of a page of the dashboard. */
static void append_page(const char *base_url, const char *page, const char *id, struct buf *ret_url)
{
    size_t len = strlen(base_url);
    len -= len > 0 && base_url[len - 1] == '/';
    buf_append(ret_url, base_url, len);
    buf_printf(ret_url, "%s%s", page, id);
}

/**
 * The pages about a warning: of its run, and of what a person must decide. They show, and decide
 * nothing; both are empty without a dashboard.
 */
struct warning_pages {
    struct buf run;
    struct buf inbox;
};

static void find_pages(const char *warning, const char *base_url, struct warning_pages *ret_pages)
{
    auto_json struct json_object *root = NULL;
    if (base_url == NULL || json_parse(warning, strlen(warning), &root, NULL) < 0) {
        return;
    }
    const char *run_id = json_get_string(root, "run_id", NULL);
    const char *request_id = json_get_string(root, "request_id", NULL);
    if (run_id != NULL) {
        append_page(base_url, RUN_PAGE, run_id, &ret_pages->run);
    }
    if (request_id != NULL) {
        append_page(base_url, INBOX_PAGE, request_id, &ret_pages->inbox);
    }
}

static void pages_fini(struct warning_pages *pages)
{
    buf_fini(&pages->run);
    buf_fini(&pages->inbox);
}

/**
 * Append a warning's JSON object with "run_url" and "inbox_url" where there is a dashboard.
 * @param warning as warning_write wrote it
 */
static void webhook_data(const char *warning, const char *base_url, struct buf *ret_json)
{
    struct warning_pages pages = {0};
    auto_buf struct buf members = {0};
    size_t len = strlen(warning);
    find_pages(warning, base_url, &pages);
    struct json_writer writer = json_writer(&members);
    json_begin_object(&writer, NULL);
    if (pages.run.len > 0) {
        json_write_string(&writer, "run_url", buf_string(&pages.run));
    }
    if (pages.inbox.len > 0) {
        json_write_string(&writer, "inbox_url", buf_string(&pages.inbox));
    }
    json_end_object(&writer);
    bool has_any = len > 2 && (pages.run.len > 0 || pages.inbox.len > 0);
    buf_append(ret_json, warning, has_any ? len - 1 : len); /* without its last brace */
    if (has_any) {
        buf_append_string(ret_json, ",");
        buf_append(ret_json, members.data + 1, members.len - 1);
    }
    pages_fini(&pages);
}

/** Append the body of a webhook. */
static void webhook_body(const char *warning, const char *base_url, struct buf *ret_json)
{
    auto_json struct json_object *root = NULL;
    auto_buf struct buf data = {0};
    auto_buf struct buf type = {0};
    if (json_parse(warning, strlen(warning), &root, NULL) < 0) {
        return;
    }
    webhook_data(warning, base_url, &data);
    buf_printf(&type, "run.warning.%s", json_get_string(root, "kind", "test"));
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", buf_string(&type));
    json_write_string(&writer, "timestamp", json_get_string(root, "time", ""));
    json_write_raw(&writer, "data", buf_string(&data));
    json_end_object(&writer);
}

static void slack_body(const char *warning, const char *base_url, struct buf *ret_json)
{
    struct warning_pages pages = {0};
    auto_buf struct buf text = {0};
    find_pages(warning, base_url, &pages);
    warning_tell(warning, strlen(warning), pages.run.len > 0 ? buf_string(&pages.run) : NULL,
                 &text);
    if (pages.inbox.len > 0) {
        buf_printf(&text, " (<%s|decide in the inbox>)", buf_string(&pages.inbox));
    }
    pages_fini(&pages);
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "text", buf_string(&text));
    json_end_object(&writer);
}

/* ---- HTTP ----------------------------------------------------------------------------------- */

void webhook_fail(struct webhook_result *result, const char *text)
{
    result->outcome = DELIVERY_FAILED;
    warning_set_text(result->error, sizeof(result->error), text);
}

/** The wait that a receiver requests; the numbers that we choose ourselves are tiny here. */
static int64_t asked_wait_ns(const struct http_response *response, int64_t now_ns)
{
    struct retry_policy policy = {
        .max_attempts = 2,
        .base_ns = 1,
        .max_ns = 1,
        .max_server_ns = DELIVERY_MAX_WAIT_NS,
    };
    struct random random = random_seeded(1);
    int64_t wait_ns = retry_delay_ns(&policy, 1, response, now_ns, &random);
    return wait_ns > 1 ? wait_ns : 0;
}

static void judge(const struct http_response *response, int64_t now_ns,
                  struct webhook_result *result)
{
    char text[DELIVERY_ERROR_SIZE];
    /* A reply that is too long is a reply. */
    bool has_status = response->failure == HTTP_OK || response->failure == HTTP_TOO_LARGE;
    if (!has_status) {
        /* Not its message: that may repeat a part of the address. */
        snprintf(text, sizeof(text), "the call failed: %s",
                 response->failure == HTTP_BLOCKED
                     ? "the address is private, and no `allow_hosts` names its host"
                     : http_failure_name(response->failure));
        webhook_fail(result, text);
    } else if (response->status < 200 || response->status > 299) {
        snprintf(text, sizeof(text), "it answered with status %ld", response->status);
        webhook_fail(result, text);
        result->is_gone = response->status == STATUS_GONE;
        result->outcome = result->is_gone ? DELIVERY_DEAD : DELIVERY_FAILED;
        result->wait_ns = asked_wait_ns(response, now_ns);
    }
}

void webhook_call(const struct webhook_ports *ports, const struct http_request *request,
                  int64_t now_ns, struct webhook_result *result)
{
    struct http_response response = {0};
    struct rondo_error err = {0};
    if (ports->http == NULL) {
        webhook_fail(result, "this process makes no HTTP calls");
    } else if (http_call(ports->http, request, &response, &err) < 0) {
        webhook_fail(result, "this process lacks a resource for the call");
    } else {
        judge(&response, now_ns, result);
    }
    http_response_fini(&response);
}

static void post(const struct webhook_ports *ports, const struct sink *sink, const struct buf *body,
                 const struct http_header *headers, size_t header_count, int64_t now_ns,
                 struct webhook_result *result)
{
    struct http_part part = {.bytes = buf_string(body), .len = body->len};
    struct http_request request = {
        .method = "POST",
        .url = sink->url,
        .headers = headers,
        .header_count = header_count,
        .parts = &part,
        .part_count = 1,
        .total_ns = WEBHOOK_TIMEOUT_NS,
        .max_body_bytes = WEBHOOK_REPLY_BYTES,
        .may_resend = true, /* receivers know a message by its id */
        .cancel = ports->cancel,
    };
    webhook_call(ports, &request, now_ns, result);
}

static void attempt_webhook(const struct webhook_ports *ports, const struct sink *sink,
                            const struct delivery *delivery, int64_t now_ns,
                            struct webhook_result *result)
{
    auto_buf struct buf body = {0};
    auto_buf struct buf signature = {0};
    auto_json struct json_object *root = NULL;
    char timestamp[24];
    char trace[TRACE_PARENT_SIZE];
    int64_t now_s = now_ns / NS_PER_S;
    webhook_body(delivery->warning, ports->base_url, &body);
    snprintf(timestamp, sizeof(timestamp), "%" PRId64, now_s);
    if (sink_sign(sink->secret, delivery->id, now_s, buf_string(&body), body.len, &signature,
                  NULL) < 0) {
        webhook_fail(result, "the sink has no valid secret");
        return;
    }
    struct http_header headers[] = {
        {"Content-Type", "application/json"},
        {"webhook-id", delivery->id},
        {"webhook-timestamp", timestamp},
        {"webhook-signature", buf_string(&signature)},
        {"traceparent", trace},
    };
    size_t count = sizeof(headers) / sizeof(headers[0]);
    json_parse(delivery->warning, strlen(delivery->warning), &root, NULL);
    const char *run_id = json_get_string(root, "run_id", NULL);
    if (run_id == NULL || !id_is_valid(run_id)) {
        count--; /* no run, no trace */
    } else {
        trace_parent(run_id, TRACE_RUN, (uint64_t)delivery->epoch, 0, trace);
    }
    post(ports, sink, &body, headers, count, now_ns, result);
}

static void attempt_slack(const struct webhook_ports *ports, const struct sink *sink,
                          const struct delivery *delivery, int64_t now_ns,
                          struct webhook_result *result)
{
    auto_buf struct buf body = {0};
    struct http_header header = {"Content-Type", "application/json"};
    slack_body(delivery->warning, ports->base_url, &body);
    post(ports, sink, &body, &header, 1, now_ns, result);
}

/* ---- Commands ------------------------------------------------------------------------------- */

/** What of a warning a command finds in its environment. */
static const struct {
    const char *name;
    const char *member;
} variables[] = {
    {"RONDO_WARNING_KIND", "kind"},           {"RONDO_WARNING_RUN", "run_id"},
    {"RONDO_WARNING_AGENT", "agent_id"},      {"RONDO_WARNING_MESSAGE", "message"},
    {"RONDO_WARNING_CURRENT", "value"},       {"RONDO_WARNING_LIMIT", "limit"},
    {"RONDO_WARNING_REMAINING", "remaining"},
};
#define VARIABLE_COUNT (sizeof(variables) / sizeof(variables[0]))

static char *variable(struct json_object *root, const char *name, const char *member)
{
    struct json_object *value = NULL;
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s=", name);
    if (json_object_object_get_ex(root, member, &value) && value != NULL) {
        buf_append_string(&text, json_object_is_type(value, json_type_string)
                                     ? json_object_get_string(value)
                                     : json_object_to_json_string(value));
    }
    return buf_steal(&text);
}

static char **environment_of(const char *warning)
{
    auto_json struct json_object *root = NULL;
    char *extra[VARIABLE_COUNT + 2] = {0};
    json_parse(warning, strlen(warning), &root, NULL);
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        extra[i] = variable(root, variables[i].name, variables[i].member);
    }
    extra[VARIABLE_COUNT] = memory_dup_string("PATH=" SINK_PATH);
    char **environment = environment_reduced(NULL, (const char *const *)extra);
    for (size_t i = 0; i <= VARIABLE_COUNT; i++) {
        free(extra[i]);
    }
    return environment;
}

static void judge_command(const struct spawn_result *spawned, struct webhook_result *result)
{
    char text[DELIVERY_ERROR_SIZE];
    switch (spawned->end) {
    case SPAWN_EXITED:
        if (spawned->exit_code == 0) {
            return;
        }
        snprintf(text, sizeof(text), "the command exited with code %d", spawned->exit_code);
        break;
    case SPAWN_SIGNALLED:
        snprintf(text, sizeof(text), "the command was ended by signal %d", spawned->signal);
        break;
    case SPAWN_TIMED_OUT:
        snprintf(text, sizeof(text), "the command took longer than %d s",
                 (int)(COMMAND_TIMEOUT_NS / NS_PER_S));
        break;
    case SPAWN_CANCELLED:
        snprintf(text, sizeof(text), "the command was interrupted");
        break;
    case SPAWN_NOT_STARTED:
        snprintf(text, sizeof(text), "the command cannot be started");
        break;
    }
    webhook_fail(result, text);
}

void webhook_start(const struct webhook_ports *ports, const struct sink *sink, const char *warning,
                   const struct buf *input, struct webhook_result *result)
{
    struct sink_program program;
    struct rondo_error err = {0};
    if (sink_program_open(sink, &program, &err) < 0) {
        webhook_fail(result, err.message);
        return;
    }
    char **environment = environment_of(warning);
    struct spawn_request request = {
        .argv = (const char *const *)program.argv,
        .envp = (const char *const *)environment,
        .directory = "/",
        .total_ns = COMMAND_TIMEOUT_NS,
        .output_keep = OUTPUT_KEEP,
        .input = buf_string(input),
        .input_len = input->len,
        .cancel = ports->cancel,
        .supervisor = ports->supervisor,
    };
    struct spawn_result spawned = {0};
    if (spawn_run(&request, &spawned, &err) < 0) {
        webhook_fail(result, "this process lacks a resource for the command");
    } else {
        judge_command(&spawned, result);
    }
    spawn_result_fini(&spawned);
    environment_free(environment);
    sink_program_close(&program);
}

static void attempt_command(const struct webhook_ports *ports, const struct sink *sink,
                            const struct delivery *delivery, int64_t now_ns,
                            struct webhook_result *result)
{
    (void)now_ns;
    auto_buf struct buf input = {0};
    webhook_data(delivery->warning, ports->base_url, &input);
    buf_append_string(&input, "\n");
    webhook_start(ports, sink, delivery->warning, &input, result);
}

typedef void attempt_fn(const struct webhook_ports *ports, const struct sink *sink,
                        const struct delivery *delivery, int64_t now_ns,
                        struct webhook_result *result);

#define KIND(ID, id, target, help) [SINK_##ID] = attempt_##id,
static attempt_fn *const attempts[SINK_KIND_COUNT] = {SINK_KINDS(KIND)};

void webhook_attempt(const struct webhook_ports *ports, const struct sink *sink,
                     const struct delivery *delivery, int64_t now_ns,
                     struct webhook_result *ret_result)
{
    *ret_result = (struct webhook_result){.outcome = DELIVERY_OK};
    attempts[sink->kind](ports, sink, delivery, now_ns, ret_result);
    if (ret_result->outcome == DELIVERY_FAILED && cancel_is_set(ports->cancel)) {
        ret_result->outcome = DELIVERY_CANCELLED;
    }
}
