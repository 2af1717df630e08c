// SPDX-License-Identifier: Apache-2.0
/*
 * A finished span in memory, as spans.c makes it and otlp_json.c writes it. All texts are borrowed
 * for the call that hands the span over.
 */
#pragma once

#include "journal/trace.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attribute_kind {
    ATTRIBUTE_TEXT,
    ATTRIBUTE_INT,
    ATTRIBUTE_DOUBLE,
    ATTRIBUTE_BOOL,
    ATTRIBUTE_TEXTS, /**< NULL-terminated list */
};

struct attribute {
    const char *key;
    enum attribute_kind kind;
    union {
        const char *text;
        int64_t number;
        double real;
        bool is_true;
        const char *const *texts;
    };
};

/** Attributes of one span, event or link: what the code sets, never more. */
#define SPAN_MAX_ATTRIBUTES 32

struct attributes {
    struct attribute items[SPAN_MAX_ATTRIBUTES];
    size_t count;
};

static inline void attributes_add(struct attributes *attributes, struct attribute attribute)
{
    assert(attributes->count < SPAN_MAX_ATTRIBUTES);
    attributes->items[attributes->count++] = attribute;
}

/** A text; NULL and "" are left out. */
static inline void attributes_text(struct attributes *attributes, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        attributes_add(attributes,
                       (struct attribute){.key = key, .kind = ATTRIBUTE_TEXT, .text = text});
    }
}

static inline void attributes_int(struct attributes *attributes, const char *key, int64_t number)
{
    attributes_add(attributes,
                   (struct attribute){.key = key, .kind = ATTRIBUTE_INT, .number = number});
}

/** A number that is left out when it is 0. */
static inline void attributes_some(struct attributes *attributes, const char *key, int64_t number)
{
    if (number != 0) {
        attributes_int(attributes, key, number);
    }
}

static inline void attributes_double(struct attributes *attributes, const char *key, double real)
{
    attributes_add(attributes,
                   (struct attribute){.key = key, .kind = ATTRIBUTE_DOUBLE, .real = real});
}

/** Values of OTLP's SpanKind. */
enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };

/** Values of OTLP's StatusCode. */
enum span_status { SPAN_UNSET = 0, SPAN_OK = 1, SPAN_ERROR = 2 };

struct span_event {
    int64_t time_ns;
    const char *name;
    struct attributes attributes;
};

/** Links of one span, at most. */
#define SPAN_MAX_LINKS 2

struct span_link {
    char trace_id[TRACE_ID_SIZE];
    char id[TRACE_SPAN_SIZE];
    struct attributes attributes;
};

struct span {
    char trace_id[TRACE_ID_SIZE];
    char id[TRACE_SPAN_SIZE];
    char parent_id[TRACE_SPAN_SIZE]; /**< "" = a root */
    char name[160];
    enum span_kind kind;
    int64_t start_ns;
    int64_t end_ns;
    struct attributes attributes;
    const char *events; /**< events as otlp_write_event wrote them, "" = none */
    unsigned dropped_events;
    struct span_link links[SPAN_MAX_LINKS];
    size_t link_count;
    enum span_status status;
    const char *status_message;
};
