// SPDX-License-Identifier: Apache-2.0
/*
 * Attempts, one function for each type of spec.sinks. Variables come from the process and from the
 * user's home only: agents may be able to write a `.env` beside the role, and an address decides
 * where headers with keys go.
 */
#include "alert/result.h"
#include "alert/result_payload.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "model/key/environment.h"
#include "model/key/secret.h"
#include "net/client/guard.h"
#include "net/client/http.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"
#include "tool/builtin/http_call.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_S 30
/** Below DELIVERY_CLAIM_NS, so that nobody else begins the same attempt. */
#define MOST_TIMEOUT_S 90

/** One attempt. */
struct result_attempt {
    const struct webhook_ports *ports;
    struct store *store;
    struct delivery *delivery;
    struct json_object *config; /* of the sink */
    struct result_run run;
    int64_t now_ns;
};

static void give_up(struct webhook_result *result, const char *text)
{
    webhook_fail(result, text);
    result->outcome = DELIVERY_DEAD;
}

/* ---- webhook -------------------------------------------------------------------------------- */

/** The hosts whose private addresses the role and its caller have allowed. */
static const char **allowed_hosts(struct json_object *agent)
{
    struct json_object *spec = json_member(json_member(agent, "role"), "spec");
    struct json_object *lists[] = {json_member(json_member(spec, "execution"), "allow_hosts"),
                                   json_member(agent, "allow_hosts")};
    const char **hosts = memory_new_zero(1, sizeof(*hosts));
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        size_t len = json_length(lists[i]);
        hosts = memory_resize(hosts, count + len + 1, sizeof(*hosts));
        for (size_t j = 0; j < len; j++) {
            const char *host = json_object_get_string(json_object_array_get_idx(lists[i], j));
            hosts[count++] = host == NULL ? "" : host;
        }
        hosts[count] = NULL;
    }
    return hosts;
}

static int64_t timeout_ns(struct json_object *config)
{
    int64_t seconds = json_get_int(config, "timeout_seconds", DEFAULT_TIMEOUT_S);
    seconds = seconds < 1 ? 1 : seconds > MOST_TIMEOUT_S ? MOST_TIMEOUT_S : seconds;
    return seconds * NS_PER_S;
}

static void post(struct result_attempt *attempt, const char *url,
                 const struct tool_headers *headers, struct webhook_result *result)
{
    const char **hosts = allowed_hosts(result_run_agent(&attempt->run));
    const struct net_guard guard = {.allow_hosts = hosts};
    struct http_part part = {.bytes = buf_string(&attempt->run.payload),
                             .len = attempt->run.payload.len};
    struct http_request request = {
        .method = json_get_string(attempt->config, "method", "POST"),
        .url = url,
        .headers = headers->items,
        .header_count = headers->count,
        .parts = &part,
        .part_count = 1,
        .total_ns = timeout_ns(attempt->config),
        .max_body_bytes = WEBHOOK_REPLY_BYTES,
        .may_resend = true, /* receivers know a message by its id */
        .guard = &guard,
        .cancel = attempt->ports->cancel,
    };
    webhook_call(attempt->ports, &request, attempt->now_ns, result);
    free(hosts);
}

static void attempt_webhook(struct result_attempt *attempt, struct webhook_result *result)
{
    struct dotenv *variables = NULL;
    struct tool_headers headers = {0};
    if (dotenv_read(NULL, &variables, NULL) < 0) {
        webhook_fail(result, "the user's .env cannot be read");
        return;
    }
    tool_headers_set(&headers, "Content-Type", "application/json");
    tool_headers_set(&headers, "webhook-id", attempt->delivery->id);
    tool_headers_add_map(&headers, variables, json_member(attempt->config, "headers"));
    char *url =
        tool_expand(variables, json_get_string(attempt->config, "url", ""), &headers.missing);
    if (headers.missing != NULL) {
        char text[DELIVERY_ERROR_SIZE];
        snprintf(text, sizeof(text), "${%.100s} is not set", headers.missing);
        webhook_fail(result, text);
    } else {
        post(attempt, url, &headers, result);
    }
    secret_free_string(url);
    tool_headers_fini(&headers);
    dotenv_free(variables);
}

/* ---- file ----------------------------------------------------------------------------------- */

/** The file of a sink: in the workspace, unless the role names it absolutely. */
static void find_path(const struct result_attempt *attempt, struct buf *ret_path)
{
    const char *path = json_get_string(attempt->config, "path", "");
    const char *home = getenv("HOME");
    if (path[0] == '~' && path[1] == '/' && home != NULL) {
        buf_printf(ret_path, "%s/%s", home, path + 2);
    } else if (path[0] == '/') {
        buf_append_string(ret_path, path);
    } else {
        while (path[0] == '.' && path[1] == '/') {
            path += 2 + strspn(path + 2, "/");
        }
        buf_printf(ret_path, "%s/%s", attempt->run.workspace, path);
    }
}

static int open_file(const struct result_attempt *attempt, const char *path,
                     struct rondo_error *err)
{
    const char *const agent_folders[] = {attempt->run.workspace, NULL};
    const char *slash = strrchr(path, '/');
    auto_free char *folder = memory_dup_bytes(path, (size_t)(slash - path));
    int r = slash == path ? 0 : file_folder_make_path(attempt->run.workspace, folder, err);
    return r < 0 ? r : file_open_output(agent_folders, path, false, err);
}

/** One write, so that lines of several processes do not mix. */
static void append(int fd, struct buf *line, struct webhook_result *result)
{
    buf_append_string(line, "\n");
    ssize_t written = write(fd, line->data, line->len);
    if (written != (ssize_t)line->len || fsync(fd) != 0) {
        char text[DELIVERY_ERROR_SIZE];
        snprintf(text, sizeof(text), "the file cannot be written: %s",
                 written < 0 ? strerror(errno) : "the line is incomplete");
        webhook_fail(result, text);
    }
}

static void attempt_file(struct result_attempt *attempt, struct webhook_result *result)
{
    auto_buf struct buf path = {0};
    struct rondo_error err = {0};
    bool is_text = strcmp(json_get_string(attempt->config, "format", ""), "text") == 0;
    find_path(attempt, &path);
    int fd = open_file(attempt, buf_string(&path), &err);
    if (fd < 0) {
        webhook_fail(result, err.message);
        return;
    }
    append(fd, is_text ? &attempt->run.line : &attempt->run.payload, result);
    close(fd);
}

/* ---- command -------------------------------------------------------------------------------- */

/** A program runs only as somebody has added it with `rondo sinks add`: pinned there. */
static void attempt_command(struct result_attempt *attempt, struct webhook_result *result)
{
    struct sink sink = {0};
    const char *name = json_get_string(attempt->config, "name", "");
    int r = sink_find(attempt->store, name, &sink, NULL, NULL);
    if (r == RONDO_ERR_NOT_FOUND || (r == 0 && sink.kind != SINK_COMMAND)) {
        char text[DELIVERY_ERROR_SIZE];
        snprintf(text, sizeof(text), "no command sink %.64s: add it with `rondo sinks add`", name);
        give_up(result, text);
    } else if (r < 0) {
        webhook_fail(result, "the sink cannot be read");
    } else if (sink.disabled != NULL) {
        give_up(result, "the sink is disabled");
    } else {
        buf_append_string(&attempt->run.payload, "\n");
        webhook_start(attempt->ports, &sink, attempt->delivery->warning, &attempt->run.payload,
                      result);
    }
    sink_fini(&sink);
}

/* ---- All ------------------------------------------------------------------------------------ */

static const struct {
    const char *type;
    void (*attempt)(struct result_attempt *attempt, struct webhook_result *result);
} types[] = {
    {"webhook", attempt_webhook},
    {"file", attempt_file},
    {"command", attempt_command},
};

static struct json_object *config_of(const struct result_attempt *attempt)
{
    struct json_object *role = json_member(result_run_agent(&attempt->run), "role");
    struct json_object *sinks = json_member(json_member(role, "spec"), "sinks");
    const char *dash = strrchr(attempt->delivery->sink, '-');
    size_t index = dash == NULL ? 0 : strtoul(dash + 1, NULL, 10);
    return json_object_is_type(sinks, json_type_array) ? json_object_array_get_idx(sinks, index)
                                                       : NULL;
}

static void attempt_one(struct result_attempt *attempt, struct webhook_result *result)
{
    attempt->config = config_of(attempt);
    const char *type = json_get_string(attempt->config, "type", "");
    attempt->delivery->more_attempts = json_get_int(attempt->config, "retry_count", 0);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].type, type) == 0) {
            types[i].attempt(attempt, result);
            return;
        }
    }
    give_up(result, "the role has no such sink");
}

void result_attempt(const struct webhook_ports *ports, struct store *store,
                    struct delivery *delivery, int64_t now_ns, struct webhook_result *ret_result)
{
    struct result_attempt attempt = {
        .ports = ports, .store = store, .delivery = delivery, .now_ns = now_ns};
    auto_json struct json_object *note = NULL;
    struct rondo_error err = {0};
    *ret_result = (struct webhook_result){.outcome = DELIVERY_OK};
    json_parse(delivery->warning, strlen(delivery->warning), &note, NULL);
    const char *run_id = json_get_string(note, "run_id", "");
    int r = result_run_read(store, run_id, ports->base_url, &attempt.run, &err);
    if (r == RONDO_ERR_NOT_FOUND || r == RONDO_ERR_INVALID) {
        ret_result->outcome = DELIVERY_DROPPED;
    } else if (r < 0) {
        webhook_fail(ret_result, "the run cannot be read");
    } else {
        attempt_one(&attempt, ret_result);
    }
    result_run_fini(&attempt.run);
    if (ret_result->outcome == DELIVERY_FAILED && cancel_is_set(ports->cancel)) {
        ret_result->outcome = DELIVERY_CANCELLED;
    }
}
