// SPDX-License-Identifier: Apache-2.0
/* Each variable is a row: how it is read, into which member, and what it means. */
#include "telemetry/otel_environment.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** What the specification has for a collector on the same machine. */
#define DEFAULT_ENDPOINT "http://localhost:4318"

/** Values of all variables as they were given; the two signals come together from several. */
struct raw {
    const char *sdk_disabled;
    const char *service_name;
    const char *resource;
    const char *exporter[2];
    const char *endpoint[3]; /* traces, metrics, both; as the next ones */
    const char *headers[3];
    const char *timeout[3];
    const char *compression[3];
    const char *protocol[3];
    const char *certificate[3];
    const char *sampler;
    const char *sampler_argument;
    const char *batch_delay;
    const char *batch_timeout;
    const char *batch_spans;
    const char *queue;
    const char *interval;
    const char *value_limit;
    const char *capture;
};

enum { TRACES, METRICS, BOTH };

#define ROW(name_, member, default_, help_)                          \
    {                                                                \
        "OTEL_" name_, offsetof(struct raw, member), default_, help_ \
    }

static const struct {
    const char *name;
    size_t offset;
    const char *otherwise;
    const char *help;
} rows[] = {
    ROW("SDK_DISABLED", sdk_disabled, "false", "true: nothing is sent"),
    ROW("EXPORTER_OTLP_ENDPOINT", endpoint[BOTH], "none: nothing is sent",
        "base URL of the collector; `/v1/traces` and `/v1/metrics` are added"),
    ROW("EXPORTER_OTLP_TRACES_ENDPOINT", endpoint[TRACES], "", "whole URL for traces"),
    ROW("EXPORTER_OTLP_METRICS_ENDPOINT", endpoint[METRICS], "", "whole URL for metrics"),
    ROW("TRACES_EXPORTER", exporter[TRACES], "otlp if there is an endpoint",
        "`none`, `otlp`: then also without an endpoint, to " DEFAULT_ENDPOINT
        ", or `console`: one line of OTLP's JSON for each batch on stderr"),
    ROW("METRICS_EXPORTER", exporter[METRICS], "otlp if there is an endpoint",
        "`none` or `otlp`, in the same way for metrics"),
    ROW("EXPORTER_OTLP_HEADERS", headers[BOTH], "",
        "headers of each request: `name=value,name=value`, values percent-encoded"),
    ROW("EXPORTER_OTLP_TRACES_HEADERS", headers[TRACES], "", "the same for traces only"),
    ROW("EXPORTER_OTLP_METRICS_HEADERS", headers[METRICS], "", "the same for metrics only"),
    ROW("EXPORTER_OTLP_TIMEOUT", timeout[BOTH], "10000", "maximum time of one request, ms"),
    ROW("EXPORTER_OTLP_TRACES_TIMEOUT", timeout[TRACES], "", "the same for traces only"),
    ROW("EXPORTER_OTLP_METRICS_TIMEOUT", timeout[METRICS], "", "the same for metrics only"),
    ROW("EXPORTER_OTLP_COMPRESSION", compression[BOTH], "none", "`gzip` or `none`"),
    ROW("EXPORTER_OTLP_TRACES_COMPRESSION", compression[TRACES], "", "the same for traces only"),
    ROW("EXPORTER_OTLP_METRICS_COMPRESSION", compression[METRICS], "", "the same for metrics only"),
    ROW("EXPORTER_OTLP_PROTOCOL", protocol[BOTH], "http/json",
        "Rondo sends JSON over HTTP; `http/protobuf` and `grpc` give a warning"),
    ROW("EXPORTER_OTLP_TRACES_PROTOCOL", protocol[TRACES], "", "the same for traces only"),
    ROW("EXPORTER_OTLP_METRICS_PROTOCOL", protocol[METRICS], "", "the same for metrics only"),
    ROW("EXPORTER_OTLP_CERTIFICATE", certificate[BOTH], "the system's",
        "PEM file with the trusted certificates"),
    ROW("EXPORTER_OTLP_TRACES_CERTIFICATE", certificate[TRACES], "", "the same for traces only"),
    ROW("EXPORTER_OTLP_METRICS_CERTIFICATE", certificate[METRICS], "", "the same for metrics only"),
    ROW("SERVICE_NAME", service_name, "rondo", "`service.name` of the resource"),
    ROW("RESOURCE_ATTRIBUTES", resource, "",
        "additional attributes of the resource: `name=value,name=value`, percent-encoded"),
    ROW("TRACES_SAMPLER", sampler, "parentbased_always_on",
        "`always_on`, `always_off`, `traceidratio`, optionally with the prefix `parentbased_`"),
    ROW("TRACES_SAMPLER_ARG", sampler_argument, "1", "share of the runs that are sent, 0 to 1"),
    ROW("BSP_SCHEDULE_DELAY", batch_delay, "5000", "time to collect spans for a batch, ms"),
    ROW("BSP_EXPORT_TIMEOUT", batch_timeout, "as long as events may wait",
        "time for retries of one batch, ms; then it is dropped. At the end of a command: the time "
        "it waits"),
    ROW("BSP_MAX_EXPORT_BATCH_SIZE", batch_spans, "512", "maximum spans of one request"),
    ROW("BSP_MAX_QUEUE_SIZE", queue, "100000",
        "events that may wait; older ones are skipped and counted"),
    ROW("METRIC_EXPORT_INTERVAL", interval, "60000", "how often metrics are sent, ms"),
    ROW("ATTRIBUTE_VALUE_LENGTH_LIMIT", value_limit, "16384",
        "maximum length of an attribute, bytes"),
    ROW("INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", capture, "false",
        "`true`: also send prompts, replies, arguments and results, without known secrets"),
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void gather(const char *const *envp, struct raw *ret_raw)
{
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        if (strncmp(envp[i], "OTEL_", 5) != 0) {
            continue;
        }
        const char *equals = strchr(envp[i], '=');
        size_t len = equals == NULL ? 0 : (size_t)(equals - envp[i]);
        for (size_t row = 0; len > 0 && equals[1] != '\0' && row < ROW_COUNT; row++) {
            if (strlen(rows[row].name) == len && memcmp(rows[row].name, envp[i], len) == 0) {
                const char *value = equals + 1;
                memcpy((char *)ret_raw + rows[row].offset, &value, sizeof(value));
            }
        }
    }
}

bool otel_environment_is_any(const char *const *envp)
{
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        if (strncmp(envp[i], "OTEL_", 5) == 0) {
            return true;
        }
    }
    return false;
}

/** Name of the variable whose value lies at a member of the raw values. */
static const char *name_of(const struct raw *raw, const char *const *member)
{
    size_t offset = (size_t)((const char *)member - (const char *)raw);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].offset == offset) {
            return rows[i].name;
        }
    }
    return "OTEL_?";
}

static int refuse(const struct raw *raw, const char *const *member, struct rondo_error *err,
                  const char *why)
{
    return error_set(err, RONDO_ERR_INVALID, "%s: %s", name_of(raw, member), why);
}

/** The member for a signal, or the one for both. */
static const char *const *either(const char *const members[3], int signal)
{
    return members[signal] != NULL ? &members[signal] : &members[BOTH];
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static void pairs_fini(struct otel_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        explicit_bzero(pairs->pairs[i].value, strlen(pairs->pairs[i].value));
        free(pairs->pairs[i].name);
        free(pairs->pairs[i].value);
    }
    free(pairs->pairs);
    *pairs = (struct otel_pairs){0};
}

/** A piece without the blanks around it, percent-decoded. NULL when that is not text. */
static char *decode(const char *text, size_t len)
{
    while (len > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        len--;
    }
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t')) {
        len--;
    }
    auto_buf struct buf out = {0};
    for (size_t i = 0; i < len; i++) {
        char byte = text[i];
        if (byte == '%') {
            int value = i + 2 < len ? ascii_hex_byte(text + i + 1) : -1;
            if (value < 0) {
                return NULL;
            }
            byte = (char)value;
            i += 2;
        }
        if ((unsigned char)byte < 0x20 || byte == 0x7f) {
            return NULL;
        }
        buf_append(&out, &byte, 1);
    }
    for (size_t i = 0; i < out.len;) {
        size_t n = utf8_sequence_len(out.data + i, out.len - i);
        if (n == 0) {
            return NULL;
        }
        i += n;
    }
    return buf_steal(&out);
}

static void set_pair(struct otel_pairs *pairs, char *name, char *value)
{
    for (size_t i = 0; i < pairs->count; i++) {
        if (strcmp(pairs->pairs[i].name, name) == 0) {
            free(pairs->pairs[i].value);
            pairs->pairs[i].value = value;
            free(name);
            return;
        }
    }
    pairs->pairs = memory_resize(pairs->pairs, pairs->count + 1, sizeof(pairs->pairs[0]));
    pairs->pairs[pairs->count++] = (struct otel_pair){name, value};
}

/** One "name=value". @return NULL, or what is wrong */
static const char *add_pair(const char *text, size_t len, size_t most, struct otel_pairs *pairs)
{
    const char *equals = memchr(text, '=', len);
    if (equals == NULL) {
        return "each entry must be name=value";
    }
    char *name = decode(text, (size_t)(equals - text));
    char *value = decode(equals + 1, len - (size_t)(equals - text) - 1);
    if (name == NULL || value == NULL || name[0] == '\0' || pairs->count == most) {
        bool is_full = pairs->count == most;
        free(name);
        free(value);
        return is_full ? "too many entries" : "an entry has no name, or is wrongly encoded";
    }
    set_pair(pairs, name, value);
    return NULL;
}

static int read_pairs(const struct raw *raw, const char *const *member, size_t most,
                      struct otel_pairs *pairs, struct rondo_error *err)
{
    const char *text = *member;
    if (text == NULL) {
        return 0;
    }
    if (strlen(text) > OTEL_MAX_VALUE_BYTES) {
        return refuse(raw, member, err, "too long");
    }
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        bool is_blank = strspn(text, " \t") >= len;
        const char *why = is_blank ? NULL : add_pair(text, len, most, pairs);
        if (why != NULL) {
            return refuse(raw, member, err, why);
        }
        text += text[len] == ',' ? len + 1 : len;
    }
    return 0;
}

static int read_headers(const struct raw *raw, int signal, struct otel_pairs *headers,
                        struct rondo_error *err)
{
    const char *const *member = either(raw->headers, signal);
    int r = read_pairs(raw, member, OTEL_MAX_HEADERS, headers, err);
    for (size_t i = 0; r == 0 && i < headers->count; i++) {
        if (!ascii_is_token(headers->pairs[i].name)) {
            r = refuse(raw, member, err, "that is not the name of a header");
        }
    }
    return r;
}

/* ---- Values --------------------------------------------------------------------------------- */

static int read_number(const struct raw *raw, const char *const *member, int64_t low, int64_t high,
                       int64_t *ret_number, struct rondo_error *err)
{
    if (*member == NULL) {
        return 0;
    }
    int64_t number = 0;
    if (parse_int(*member, low, high, &number, NULL) < 0) {
        return error_set(err, RONDO_ERR_INVALID, "%s: must be a whole number from %lld to %lld",
                         name_of(raw, member), (long long)low, (long long)high);
    }
    *ret_number = number;
    return 0;
}

/** A duration in ms, up to a day. */
static int read_ms(const struct raw *raw, const char *const *member, int64_t low, int64_t *ret_ns,
                   struct rondo_error *err)
{
    int64_t ms = -1;
    int r = read_number(raw, member, low, 86400000, &ms, err);
    if (r == 0 && ms >= 0) {
        *ret_ns = ms * NS_PER_MS;
    }
    return r;
}

static bool is_url(const char *text)
{
    size_t scheme = strncasecmp(text, "http://", 7) == 0    ? 7
                    : strncasecmp(text, "https://", 8) == 0 ? 8
                                                            : 0;
    if (scheme == 0 || text[scheme] == '\0' || text[scheme] == '/') {
        return false;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c <= 0x20 || *c == 0x7f) {
            return false;
        }
    }
    return strlen(text) <= OTEL_MAX_VALUE_BYTES;
}

/** The base with the signal's path; the query of a base stays after it. */
static char *with_path(const char *base, const char *path)
{
    auto_buf struct buf url = {0};
    size_t len = strcspn(base, "?#");
    buf_append(&url, base, len);
    buf_append_string(&url, len > 0 && base[len - 1] == '/' ? path + 1 : path);
    buf_append_string(&url, base[len] == '?' ? base + len : "");
    return buf_steal(&url);
}

static int read_endpoint(const struct raw *raw, int index, const char *path,
                         struct otel_signal *signal, struct rondo_error *err)
{
    const char *const *member = either(raw->endpoint, index);
    const char *exporter = raw->exporter[index];
    signal->is_console = exporter != NULL && index == TRACES && strcmp(exporter, "console") == 0;
    if (signal->is_console) {
        signal->is_on = true;
        return 0;
    }
    if (exporter != NULL && strcmp(exporter, "none") != 0 && strcmp(exporter, "otlp") != 0) {
        return refuse(raw, &raw->exporter[index], err,
                      index == TRACES ? "must be `otlp`, `console` or `none`"
                                      : "must be `otlp` or `none`");
    }
    if (*member != NULL && !is_url(*member)) {
        return refuse(raw, member, err, "must be a URL that begins with http:// or https://");
    }
    bool is_none = exporter != NULL && strcmp(exporter, "none") == 0;
    if (is_none || (exporter == NULL && *member == NULL)) {
        return 0;
    }
    signal->is_on = true;
    bool is_whole = member != &raw->endpoint[BOTH];
    signal->endpoint = is_whole ? memory_dup_string(*member)
                                : with_path(*member == NULL ? DEFAULT_ENDPOINT : *member, path);
    return 0;
}

static int read_compression(const struct raw *raw, int index, struct otel_signal *signal,
                            struct rondo_error *err)
{
    const char *const *member = either(raw->compression, index);
    if (*member == NULL || strcmp(*member, "none") == 0) {
        return 0;
    }
    signal->is_gzip = strcmp(*member, "gzip") == 0;
    return signal->is_gzip ? 0 : refuse(raw, member, err, "must be `gzip` or `none`");
}

static int read_protocol(const struct raw *raw, int index, struct otel_signal *signal,
                         struct rondo_error *err)
{
    const char *const *member = either(raw->protocol, index);
    signal->is_json = *member == NULL || strcmp(*member, "http/json") == 0;
    if (signal->is_json || strcmp(*member, "http/protobuf") == 0 || strcmp(*member, "grpc") == 0) {
        return 0;
    }
    return refuse(raw, member, err, "must be http/json, http/protobuf or grpc");
}

static int read_signal(const struct raw *raw, int index, const char *path,
                       struct otel_signal *signal, struct rondo_error *err)
{
    signal->timeout_ns = 10 * NS_PER_S;
    signal->is_json = true;
    int r = read_endpoint(raw, index, path, signal, err);
    if (r < 0 || !signal->is_on) {
        return r;
    }
    r = read_headers(raw, index, &signal->headers, err);
    if (r == 0) {
        r = read_ms(raw, either(raw->timeout, index), 1, &signal->timeout_ns, err);
    }
    if (r == 0) {
        r = read_compression(raw, index, signal, err);
    }
    if (r == 0) {
        r = read_protocol(raw, index, signal, err);
    }
    const char *certificate = *either(raw->certificate, index);
    signal->certificate = memory_dup_string(certificate);
    return r;
}

static int read_sampler(const struct raw *raw, struct otel_environment *ret,
                        struct rondo_error *err)
{
    ret->sample_ratio = 1;
    const char *name = raw->sampler == NULL ? "always_on" : raw->sampler;
    static const char parent[] = "parentbased_";
    if (strncmp(name, parent, sizeof(parent) - 1) == 0) {
        name += sizeof(parent) - 1; /* A run's root has no parent. */
    }
    if (strcmp(name, "traceidratio") != 0) {
        ret->sampler = strcmp(name, "always_off") == 0 ? OTEL_SAMPLE_NONE : OTEL_SAMPLE_ALL;
        bool is_known = strcmp(name, "always_off") == 0 || strcmp(name, "always_on") == 0;
        return is_known ? 0 : refuse(raw, &raw->sampler, err, "this sampler is not supported");
    }
    ret->sampler = OTEL_SAMPLE_RATIO;
    if (raw->sampler_argument == NULL) {
        return 0;
    }
    int64_t millionths = 0; /* decimals without the locale's ideas of them */
    if (parse_money(raw->sampler_argument, &millionths, NULL) < 0 || millionths > 1000000) {
        return refuse(raw, &raw->sampler_argument, err,
                      "must be a number from 0 to 1 with up to six decimals");
    }
    ret->sample_ratio = (double)millionths / 1e6;
    return 0;
}

static int read_batches(const struct raw *raw, struct otel_environment *ret,
                        struct rondo_error *err)
{
    ret->batch_delay_ns = 5 * NS_PER_S;
    ret->batch_spans = 512;
    ret->metrics_interval_ns = 60 * NS_PER_S;
    ret->value_bytes = 16384;
    int r = read_ms(raw, &raw->batch_delay, 0, &ret->batch_delay_ns, err);
    if (r == 0) {
        r = read_ms(raw, &raw->batch_timeout, 1, &ret->batch_timeout_ns, err);
    }
    if (r == 0) {
        r = read_number(raw, &raw->batch_spans, 1, 10000, &ret->batch_spans, err);
    }
    if (r == 0) {
        r = read_number(raw, &raw->queue, 1, 10000000, &ret->queue_events, err);
    }
    if (r == 0) {
        r = read_ms(raw, &raw->interval, 100, &ret->metrics_interval_ns, err);
    }
    return r < 0 ? r : read_number(raw, &raw->value_limit, 1, 1048576, &ret->value_bytes, err);
}

static int read_resource(const struct raw *raw, struct otel_environment *ret,
                         struct rondo_error *err)
{
    int r = read_pairs(raw, &raw->resource, OTEL_MAX_RESOURCE_ATTRIBUTES, &ret->resource, err);
    if (r < 0) {
        return r;
    }
    ret->service_name = memory_dup_string(raw->service_name == NULL ? "rondo" : raw->service_name);
    for (size_t i = 0; i < ret->resource.count; i++) {
        struct otel_pair *pair = &ret->resource.pairs[i];
        if (strcmp(pair->name, "service.name") != 0) {
            continue;
        }
        if (raw->service_name == NULL && pair->value[0] != '\0') {
            free(ret->service_name);
            ret->service_name = memory_dup_string(pair->value);
        }
        free(pair->name);
        free(pair->value);
        ret->resource.count--;
        memmove(pair, pair + 1, (ret->resource.count - i) * sizeof(*pair));
        break;
    }
    return 0;
}

/** The newer values of this variable name where content may go; we put it on spans only. */
static bool wants_content(const char *value)
{
    return value != NULL &&
           (strcasecmp(value, "true") == 0 || strcasecmp(value, "span_only") == 0 ||
            strcasecmp(value, "span_and_event") == 0);
}

int otel_environment_read(const char *const *envp, struct otel_environment *ret_environment,
                          struct rondo_error *err)
{
    *ret_environment = (struct otel_environment){0};
    struct raw raw = {0};
    gather(envp, &raw);
    if (raw.sdk_disabled != NULL && strcasecmp(raw.sdk_disabled, "true") == 0) {
        return 0;
    }
    struct otel_environment *ret = ret_environment;
    ret->captures_content = wants_content(raw.capture);
    int r = read_signal(&raw, TRACES, "/v1/traces", &ret->traces, err);
    if (r == 0) {
        r = read_signal(&raw, METRICS, "/v1/metrics", &ret->metrics, err);
    }
    if (r < 0 || (!ret->traces.is_on && !ret->metrics.is_on)) {
        return r;
    }
    r = read_sampler(&raw, ret, err);
    if (r == 0) {
        r = read_batches(&raw, ret, err);
    }
    return r < 0 ? r : read_resource(&raw, ret, err);
}

static void signal_fini(struct otel_signal *signal)
{
    free(signal->endpoint);
    free(signal->certificate);
    pairs_fini(&signal->headers);
}

void otel_environment_fini(struct otel_environment *environment)
{
    signal_fini(&environment->traces);
    signal_fini(&environment->metrics);
    free(environment->service_name);
    pairs_fini(&environment->resource);
    *environment = (struct otel_environment){0};
}

/**
 * The last 7 bytes of a trace id are its random part (W3C Trace Context, level 2); in a run's id
 * they are random too, while those before hold its time and version.
 */
bool otel_is_sampled(const struct otel_environment *environment, const char *trace_id)
{
    if (environment->sampler != OTEL_SAMPLE_RATIO) {
        return environment->sampler == OTEL_SAMPLE_ALL;
    }
    size_t len = strlen(trace_id);
    uint64_t random = strtoull(len > 14 ? trace_id + len - 14 : trace_id, NULL, 16);
    return random < (uint64_t)(environment->sample_ratio * 0x1p56);
}

void otel_environment_describe(struct buf *ret_text)
{
    buf_append_string(ret_text, "| variable | default | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        buf_printf(ret_text, "| `%s` | %s | %s |\n", rows[i].name, rows[i].otherwise, rows[i].help);
    }
}
