// SPDX-License-Identifier: Apache-2.0
/* A role's telemetry as variables. */
#include "telemetry/role_environment.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

#define ENDPOINT "OTEL_EXPORTER_OTLP_ENDPOINT"
#define TRACES   "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
#define EXPORTER "OTEL_TRACES_EXPORTER"
#define PATH     "/v1/traces"

struct environment {
    char **entries;
    size_t count;
};

static bool has(const struct environment *environment, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        const char *entry = environment->entries[i];
        if (strncmp(entry, name, len) == 0 && entry[len] == '=' && entry[len + 1] != '\0') {
            return true;
        }
    }
    return false;
}

static void add(struct environment *environment, const char *entry)
{
    environment->entries =
        memory_resize(environment->entries, environment->count + 2, sizeof(char *));
    environment->entries[environment->count++] = memory_dup_string(entry);
    environment->entries[environment->count] = NULL;
}

/** Add a variable that the environment does not have. A line break ends no variable: it is cut. */
static void offer(struct environment *environment, const char *name, const char *value)
{
    struct buf entry = {0};
    if (value[0] != '\0' && !has(environment, name)) {
        buf_printf(&entry, "%s=%.*s", name, (int)strcspn(value, "\r\n"), value);
        add(environment, buf_string(&entry));
    }
    buf_fini(&entry);
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/** The address for spans over HTTP; the usual port of collectors for gRPC is that for HTTP, less 1.
 */
static void write_address(const char *endpoint, struct buf *ret_address)
{
    size_t len = strlen(endpoint);
    while (len > 0 && endpoint[len - 1] == '/') {
        len--;
    }
    bool is_grpc = ends_with(endpoint, len, ":4317");
    buf_append(ret_address, endpoint, is_grpc ? len - 1 : len);
    buf_append_string(ret_address, is_grpc ? "8" : "");
    if (!ends_with(endpoint, len, PATH)) {
        buf_append_string(ret_address, PATH);
    }
}

char **role_environment(struct json_object *role, const char *const *envp)
{
    struct json_object *section = json_member(json_member(role, "spec"), "observability");
    struct environment environment = {0};
    struct buf text = {0};
    const char *backend = section == NULL ? "" : json_get_string(section, "backend", "otlp");
    bool is_console = strcmp(backend, "console") == 0;
    if (!is_console && strcmp(backend, "otlp") != 0) {
        return NULL;
    }
    const char *const *from = envp != NULL ? envp : (const char *const *)environ;
    for (size_t i = 0; from[i] != NULL; i++) {
        add(&environment, from[i]);
    }
    bool has_place = has(&environment, ENDPOINT) || has(&environment, TRACES);
    if (!has_place && is_console) {
        offer(&environment, EXPORTER, "console");
    } else if (!has_place && !has(&environment, EXPORTER)) {
        write_address(json_get_string(section, "endpoint", "http://localhost:4317"), &text);
        offer(&environment, TRACES, buf_string(&text));
    }
    const char *service = json_get_string(section, "service_name", "");
    offer(&environment, "OTEL_SERVICE_NAME",
          service[0] != '\0' ? service
                             : json_get_string(json_member(role, "metadata"), "name", ""));
    struct json_object *rate = json_member(section, "sample_rate");
    if (rate != NULL && json_object_get_double(rate) < 1 &&
        !has(&environment, "OTEL_TRACES_SAMPLER")) {
        buf_clear(&text);
        buf_printf(&text, "%.6f", json_object_get_double(rate));
        offer(&environment, "OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
        offer(&environment, "OTEL_TRACES_SAMPLER_ARG", buf_string(&text));
    }
    if (json_get_bool(section, "include_content", false)) {
        offer(&environment, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
    }
    buf_fini(&text);
    return environment.entries;
}
