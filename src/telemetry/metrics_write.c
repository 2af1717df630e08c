// SPDX-License-Identifier: Apache-2.0
/* The same families and series in three forms: Prometheus, OTLP and the reference page. */
#include "telemetry/metrics_table.h"
#include "telemetry/otlp_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Cumulative, OTLP's AggregationTemporality. */
#define CUMULATIVE 2

/* ---- Prometheus ----------------------------------------------------------------------------- */

static void write_number(double number, struct buf *ret_text)
{
    char text[40];
    bool is_whole = number > -1e15 && number < 1e15 && number == (double)(int64_t)number;
    snprintf(text, sizeof(text), is_whole ? "%.0f" : "%.12g", number);
    char *comma = strchr(text, ','); /* of the locale */
    if (comma != NULL) {
        *comma = '.';
    }
    buf_append_string(ret_text, text);
}

static void write_label(const char *name, const char *value, struct buf *ret_text)
{
    buf_printf(ret_text, "%s=\"", name);
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\n') {
            buf_append_string(ret_text, "\\n");
            continue;
        }
        if (*c == '"' || *c == '\\') {
            buf_append_string(ret_text, "\\");
        }
        buf_append(ret_text, c, 1);
    }
    buf_append_string(ret_text, "\"");
}

/** Name, labels, and for a bucket its bound. */
static void write_name(const struct metric_family *family, const struct metric_series *series,
                       const char *suffix, const char *bound, struct buf *ret_text)
{
    size_t count = metric_label_count(family);
    buf_printf(ret_text, "%s%s", family->name, suffix);
    if (count == 0 && bound == NULL) {
        buf_append_string(ret_text, " ");
        return;
    }
    buf_append_string(ret_text, "{");
    for (size_t i = 0; i < count; i++) {
        buf_append_string(ret_text, i > 0 ? "," : "");
        write_label(family->labels[i], series->labels[i], ret_text);
    }
    if (bound != NULL) {
        buf_append_string(ret_text, count > 0 ? "," : "");
        write_label("le", bound, ret_text);
    }
    buf_append_string(ret_text, "} ");
}

static void write_histogram(const struct metric_family *family, const struct metric_series *series,
                            struct buf *ret_text)
{
    uint64_t count = 0;
    size_t bound_count = 0;
    const double *bounds = metric_bounds_of(family, &bound_count);
    for (size_t i = 0; i <= bound_count; i++) {
        auto_buf struct buf bound = {0};
        if (i < bound_count) {
            write_number(bounds[i], &bound);
        } else {
            buf_append_string(&bound, "+Inf");
        }
        count += series->buckets[i];
        write_name(family, series, "_bucket", buf_string(&bound), ret_text);
        buf_printf(ret_text, "%" PRIu64 "\n", count);
    }
    write_name(family, series, "_sum", NULL, ret_text);
    write_number(series->sum, ret_text);
    buf_append_string(ret_text, "\n");
    write_name(family, series, "_count", NULL, ret_text);
    buf_printf(ret_text, "%" PRIu64 "\n", count);
}

static void write_gauges(const char *name, const struct metrics_gauge *gauges, size_t count,
                         struct buf *ret_text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(gauges[i].name, name) == 0) {
            const char *labels = gauges[i].labels;
            buf_printf(ret_text, labels == NULL ? "%s%s " : "%s{%s} ", name,
                       labels == NULL ? "" : labels);
            write_number(gauges[i].value, ret_text);
            buf_append_string(ret_text, "\n");
        }
    }
}

static bool has_gauge(const char *name, const struct metrics_gauge *gauges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(gauges[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

/** A family without labels is there from the start; of the others nobody knows which series. */
static void write_series(const struct metrics *metrics, size_t id, struct buf *ret_text)
{
    const struct metric_family *family = &metric_families[id];
    const struct metric_list *list = &metrics->lists[id];
    static const struct metric_series none;
    for (size_t i = 0; i < list->count; i++) {
        if (family->kind == METRIC_HISTOGRAM) {
            write_histogram(family, &list->series[i], ret_text);
            continue;
        }
        write_name(family, &list->series[i], "", NULL, ret_text);
        write_number(list->series[i].sum, ret_text);
        buf_append_string(ret_text, "\n");
    }
    if (list->count == 0 && metric_label_count(family) == 0) {
        if (family->kind == METRIC_HISTOGRAM) {
            write_histogram(family, &none, ret_text);
        } else {
            buf_printf(ret_text, "%s 0\n", family->name);
        }
    }
}

void metrics_write(const struct metrics *metrics, const struct metrics_gauge *gauges, size_t count,
                   struct buf *ret_text)
{
    pthread_mutex_lock(metrics->lock);
    for (size_t id = 0; id < METRIC_COUNT; id++) {
        const struct metric_family *family = &metric_families[id];
        if (family->is_given && !has_gauge(family->name, gauges, count)) {
            continue;
        }
        buf_printf(ret_text, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
                   family->name, kind_names[family->kind]);
        if (family->is_given) {
            write_gauges(family->name, gauges, count, ret_text);
        } else {
            write_series(metrics, id, ret_text);
        }
    }
    pthread_mutex_unlock(metrics->lock);
}

/* ---- OTLP ----------------------------------------------------------------------------------- */

static void begin_point(struct json_writer *writer, const struct metrics *metrics, int64_t now_ns)
{
    json_begin_object(writer, NULL);
    otlp_write_long(writer, "startTimeUnixNano", metrics->started_ns);
    otlp_write_long(writer, "timeUnixNano", now_ns);
}

static void write_labels(struct json_writer *writer, const struct metric_family *family,
                         const struct metric_series *series)
{
    struct attributes attributes = {0};
    for (size_t i = 0; i < metric_label_count(family); i++) {
        attributes_add(&attributes, (struct attribute){.key = family->labels[i],
                                                       .kind = ATTRIBUTE_TEXT,
                                                       .text = series->labels[i]});
    }
    otlp_write_attributes(writer, &attributes);
}

static void write_histogram_point(struct json_writer *writer, const struct metric_family *family,
                                  const struct metric_series *series)
{
    size_t count = 0;
    const double *bounds = metric_bounds_of(family, &count);
    otlp_write_long(writer, "count", (int64_t)series->count);
    otlp_write_double(writer, "sum", series->sum);
    json_begin_array(writer, "bucketCounts");
    for (size_t i = 0; i <= count; i++) {
        otlp_write_long(writer, NULL, (int64_t)series->buckets[i]);
    }
    json_end_array(writer);
    json_begin_array(writer, "explicitBounds");
    for (size_t i = 0; i < count; i++) {
        otlp_write_double(writer, NULL, bounds[i]);
    }
    json_end_array(writer);
}

static void write_points(struct json_writer *writer, const struct metrics *metrics, size_t id,
                         int64_t now_ns)
{
    const struct metric_family *family = &metric_families[id];
    const struct metric_list *list = &metrics->lists[id];
    for (size_t i = 0; i < list->count; i++) {
        begin_point(writer, metrics, now_ns);
        write_labels(writer, family, &list->series[i]);
        if (family->kind == METRIC_HISTOGRAM) {
            write_histogram_point(writer, family, &list->series[i]);
        } else {
            otlp_write_double(writer, "asDouble", list->series[i].sum);
        }
        json_end_object(writer);
    }
}

/** Labels as "name=\"value\",...", of ours, so without quotes inside. */
static void write_given_labels(struct json_writer *writer, const char *labels)
{
    struct attributes attributes = {0};
    char names[METRIC_MAX_LABELS][64];
    char values[METRIC_MAX_LABELS][METRICS_LABEL_BYTES + 1];
    int len = 0;
    for (size_t i = 0; i < METRIC_MAX_LABELS && labels != NULL &&
                       sscanf(labels, "%63[^=]=\"%64[^\"]\"%n", names[i], values[i], &len) == 2;
         i++) {
        attributes_text(&attributes, names[i], values[i]);
        labels += len + (labels[len] == ',' ? 1 : 0);
    }
    otlp_write_attributes(writer, &attributes);
}

static void write_given_points(struct json_writer *writer, const struct metrics *metrics,
                               const char *name, const struct metrics_gauge *gauges, size_t count,
                               int64_t now_ns)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(gauges[i].name, name) == 0) {
            begin_point(writer, metrics, now_ns);
            write_given_labels(writer, gauges[i].labels);
            otlp_write_double(writer, "asDouble", gauges[i].value);
            json_end_object(writer);
        }
    }
}

/** Names without Prometheus' ending: the receiver adds it again. */
static void write_plain_name(struct json_writer *writer, size_t id)
{
    const struct metric_family *family = &metric_families[id];
    static const char total[] = "_total";
    size_t len = strlen(family->name);
    size_t end = sizeof(total) - 1;
    bool is_total = len > end && strcmp(family->name + len - end, total) == 0;
    if (metric_otel_names[id] != NULL) {
        json_write_string(writer, "name", metric_otel_names[id]);
    } else {
        json_write_string_len(writer, "name", family->name, is_total ? len - end : len);
    }
}

static void write_metric(struct json_writer *writer, const struct metrics *metrics, size_t id,
                         const struct metrics_gauge *gauges, size_t count, int64_t now_ns)
{
    static const char *const members[] = {"sum", "gauge", "histogram"};
    const struct metric_family *family = &metric_families[id];
    json_begin_object(writer, NULL);
    write_plain_name(writer, id);
    json_write_string(writer, "description", family->help);
    json_write_string(writer, "unit", family->unit);
    json_begin_object(writer, members[family->kind]);
    if (family->kind != METRIC_GAUGE) {
        json_write_int(writer, "aggregationTemporality", CUMULATIVE);
    }
    if (family->kind == METRIC_COUNTER) {
        json_write_bool(writer, "isMonotonic", true);
    }
    json_begin_array(writer, "dataPoints");
    if (family->is_given) {
        write_given_points(writer, metrics, family->name, gauges, count, now_ns);
    } else {
        write_points(writer, metrics, id, now_ns);
    }
    json_end_array(writer);
    json_end_object(writer);
    json_end_object(writer);
}

void metrics_write_otlp(const struct metrics *metrics, const struct metrics_gauge *gauges,
                        size_t count, int64_t now_ns, struct buf *ret_json)
{
    auto_buf struct buf list = {0};
    struct json_writer writer = json_writer(&list);
    json_begin_array(&writer, NULL);
    pthread_mutex_lock(metrics->lock);
    for (size_t id = 0; id < METRIC_COUNT; id++) {
        const struct metric_family *family = &metric_families[id];
        bool is_there = family->is_given ? has_gauge(family->name, gauges, count)
                                         : metrics->lists[id].count > 0;
        if (is_there) {
            write_metric(&writer, metrics, id, gauges, count, now_ns);
        }
    }
    pthread_mutex_unlock(metrics->lock);
    json_end_array(&writer);
    buf_append(ret_json, list.data + 1, list.len - 2);
}

/* ---- Reference ------------------------------------------------------------------------------ */

void metrics_describe(struct buf *ret_text)
{
    buf_append_string(ret_text, "| name | type | labels | meaning |\n|---|---|---|---|\n");
    for (size_t id = 0; id < METRIC_COUNT; id++) {
        const struct metric_family *family = &metric_families[id];
        buf_printf(ret_text, "| `%s` | %s |", family->name, kind_names[family->kind]);
        for (size_t i = 0; i < metric_label_count(family); i++) {
            buf_printf(ret_text, "%s `%s`", i > 0 ? "," : "", family->labels[i]);
        }
        buf_printf(ret_text, " | %s |\n", family->help);
    }
}
