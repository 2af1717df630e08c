// SPDX-License-Identifier: Apache-2.0
/*
 * OTLP in JSON (OTLP specification 1.10.0, "JSON Protobuf Encoding"): ids in lower-case
 * hexadecimal, keys in lowerCamelCase, enums as integers, 64-bit integers as decimal strings. Pure
 * functions; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"
#include "telemetry/otel_environment.h"
#include "telemetry/span.h"

/** Append one span; a comma comes first when the buffer has content. */
void otlp_write_span(const struct span *span, struct buf *ret_json);

/** Append one event of a span, in the form that `struct span` takes; with a comma as above. */
void otlp_write_event(const struct span_event *event, struct buf *ret_json);

/** What comes before and after the spans of a request. */
void otlp_write_spans_head(const struct otel_environment *environment, struct buf *ret_json);
extern const char otlp_spans_tail[];

/** The same around metrics. */
void otlp_write_metrics_head(const struct otel_environment *environment, struct buf *ret_json);
extern const char otlp_metrics_tail[];

/** Write `"attributes":[...]`. */
void otlp_write_attributes(struct json_writer *writer, const struct attributes *attributes);

/** Write an unsigned or signed 64-bit integer, or a finite number, as OTLP requires it. */
void otlp_write_long(struct json_writer *writer, const char *key, int64_t number);
void otlp_write_double(struct json_writer *writer, const char *key, double number);

/** What a collector answered. */
struct otlp_answer {
    int64_t rejected;
    char message[128]; /**< "" = none; without control characters */
};

/** Read the answer to a request for spans or metrics; what is none is an empty one. */
void otlp_read_answer(const char *body, size_t len, struct otlp_answer *ret_answer);
