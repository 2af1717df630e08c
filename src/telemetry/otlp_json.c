// SPDX-License-Identifier: Apache-2.0
/* Writing the messages of trace.proto and metrics.proto as JSON. */
#include "telemetry/otlp_json.h"

#include "base/parse.h"
#include "base/version.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/** sampled, and "it is known whether the parent is remote": it is not. */
#define SPAN_FLAGS 0x101

const char otlp_spans_tail[] = "]}]}]}";
const char otlp_metrics_tail[] = "]}]}]}";

void otlp_write_long(struct json_writer *writer, const char *key, int64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, number);
    json_write_string(writer, key, text);
}

void otlp_write_double(struct json_writer *writer, const char *key, double number)
{
    char text[40];
    snprintf(text, sizeof(text), "%.17g", isfinite(number) ? number : 0.0);
    char *comma = strchr(text, ','); /* of the locale */
    if (comma != NULL) {
        *comma = '.';
    }
    json_write_raw(writer, key, text);
}

static void write_value(struct json_writer *writer, const struct attribute *attribute)
{
    json_begin_object(writer, "value");
    switch (attribute->kind) {
    case ATTRIBUTE_TEXT:
        json_write_string(writer, "stringValue", attribute->text);
        break;
    case ATTRIBUTE_INT:
        otlp_write_long(writer, "intValue", attribute->number);
        break;
    case ATTRIBUTE_DOUBLE:
        otlp_write_double(writer, "doubleValue", attribute->real);
        break;
    case ATTRIBUTE_BOOL:
        json_write_bool(writer, "boolValue", attribute->is_true);
        break;
    case ATTRIBUTE_TEXTS:
        json_begin_object(writer, "arrayValue");
        json_begin_array(writer, "values");
        for (const char *const *text = attribute->texts; *text != NULL; text++) {
            json_begin_object(writer, NULL);
            json_write_string(writer, "stringValue", *text);
            json_end_object(writer);
        }
        json_end_array(writer);
        json_end_object(writer);
        break;
    }
    json_end_object(writer);
}

void otlp_write_attributes(struct json_writer *writer, const struct attributes *attributes)
{
    json_begin_array(writer, "attributes");
    for (size_t i = 0; i < attributes->count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "key", attributes->items[i].key);
        write_value(writer, &attributes->items[i]);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void otlp_write_event(const struct span_event *event, struct buf *ret_json)
{
    buf_append_string(ret_json, ret_json->len > 0 ? "," : "");
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    otlp_write_long(&writer, "timeUnixNano", event->time_ns);
    json_write_string(&writer, "name", event->name);
    otlp_write_attributes(&writer, &event->attributes);
    json_end_object(&writer);
}

static void write_events(struct json_writer *writer, const struct span *span)
{
    if (span->events != NULL && span->events[0] != '\0') {
        json_begin_array(writer, "events");
        json_write_raw(writer, NULL, span->events);
        json_end_array(writer);
    }
    if (span->dropped_events > 0) {
        json_write_int(writer, "droppedEventsCount", span->dropped_events);
    }
}

static void write_links(struct json_writer *writer, const struct span *span)
{
    json_begin_array(writer, "links");
    for (size_t i = 0; i < span->link_count; i++) {
        const struct span_link *link = &span->links[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "traceId", link->trace_id);
        json_write_string(writer, "spanId", link->id);
        otlp_write_attributes(writer, &link->attributes);
        json_write_int(writer, "flags", SPAN_FLAGS);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_status(struct json_writer *writer, const struct span *span)
{
    json_begin_object(writer, "status");
    json_write_int(writer, "code", span->status);
    if (span->status_message != NULL && span->status_message[0] != '\0') {
        json_write_string(writer, "message", span->status_message);
    }
    json_end_object(writer);
}

void otlp_write_span(const struct span *span, struct buf *ret_json)
{
    buf_append_string(ret_json, ret_json->len > 0 ? "," : "");
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "traceId", span->trace_id);
    json_write_string(&writer, "spanId", span->id);
    if (span->parent_id[0] != '\0') {
        json_write_string(&writer, "parentSpanId", span->parent_id);
    }
    json_write_int(&writer, "flags", SPAN_FLAGS);
    json_write_string(&writer, "name", span->name);
    json_write_int(&writer, "kind", span->kind);
    otlp_write_long(&writer, "startTimeUnixNano", span->start_ns);
    otlp_write_long(&writer, "endTimeUnixNano", span->end_ns);
    otlp_write_attributes(&writer, &span->attributes);
    write_events(&writer, span);
    if (span->link_count > 0) {
        write_links(&writer, span);
    }
    write_status(&writer, span);
    json_end_object(&writer);
}

static void write_resource_text(struct json_writer *writer, const char *key, const char *text)
{
    struct attribute attribute = {.key = key, .kind = ATTRIBUTE_TEXT, .text = text};
    json_begin_object(writer, NULL);
    json_write_string(writer, "key", key);
    write_value(writer, &attribute);
    json_end_object(writer);
}

/** What is given in the environment wins over what we know ourselves. */
static bool is_given(const struct otel_environment *environment, const char *key)
{
    for (size_t i = 0; i < environment->resource.count; i++) {
        if (strcmp(environment->resource.pairs[i].name, key) == 0) {
            return true;
        }
    }
    return false;
}

static void write_resource(struct json_writer *writer, const struct otel_environment *environment)
{
    const char *own[][2] = {
        {"service.version", RONDO_VERSION},
        {"telemetry.sdk.name", "rondo"},
        {"telemetry.sdk.language", "c"},
        {"telemetry.sdk.version", RONDO_VERSION},
    };
    json_begin_object(writer, "resource");
    json_begin_array(writer, "attributes");
    write_resource_text(writer, "service.name", environment->service_name);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (!is_given(environment, own[i][0])) {
            write_resource_text(writer, own[i][0], own[i][1]);
        }
    }
    for (size_t i = 0; i < environment->resource.count; i++) {
        write_resource_text(writer, environment->resource.pairs[i].name,
                            environment->resource.pairs[i].value);
    }
    json_end_array(writer);
    json_end_object(writer);
}

/** Everything up to the open list; the writer is left unchanged, the tail closes. */
static void write_head(const struct otel_environment *environment, const char *outer,
                       const char *inner, const char *list, struct buf *ret_json)
{
    buf_printf(ret_json, "{\"%s\":[{", outer);
    auto_buf struct buf resource = {0};
    struct json_writer writer = json_writer(&resource);
    json_begin_object(&writer, NULL);
    write_resource(&writer, environment);
    json_end_object(&writer);
    buf_append(ret_json, resource.data + 1, resource.len - 2);
    buf_printf(ret_json, ",\"%s\":[{\"scope\":{\"name\":\"rondo\",\"version\":\"%s\"},\"%s\":[",
               inner, RONDO_VERSION, list);
}

void otlp_write_spans_head(const struct otel_environment *environment, struct buf *ret_json)
{
    write_head(environment, "resourceSpans", "scopeSpans", "spans", ret_json);
}

void otlp_write_metrics_head(const struct otel_environment *environment, struct buf *ret_json)
{
    write_head(environment, "resourceMetrics", "scopeMetrics", "metrics", ret_json);
}

static int64_t read_count(struct json_object *partial, const char *key)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(partial, key, &value)) {
        return 0;
    }
    int64_t number = 0;
    if (json_object_is_type(value, json_type_string) &&
        parse_int(json_object_get_string(value), 0, INT64_MAX, &number, NULL) == 0) {
        return number;
    }
    number = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
    return number < 0 ? 0 : number;
}

void otlp_read_answer(const char *body, size_t len, struct otlp_answer *ret_answer)
{
    *ret_answer = (struct otlp_answer){0};
    auto_json struct json_object *root = NULL;
    struct json_object *partial = NULL;
    if (len == 0 || json_parse(body, len, &root, NULL) < 0 ||
        !json_object_is_type(root, json_type_object) ||
        !json_object_object_get_ex(root, "partialSuccess", &partial) ||
        !json_object_is_type(partial, json_type_object)) {
        return;
    }
    int64_t spans = read_count(partial, "rejectedSpans");
    ret_answer->rejected = spans > 0 ? spans : read_count(partial, "rejectedDataPoints");
    snprintf(ret_answer->message, sizeof(ret_answer->message), "%s",
             json_get_string(partial, "errorMessage", ""));
    for (char *c = ret_answer->message; *c != '\0'; c++) {
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
    }
}
