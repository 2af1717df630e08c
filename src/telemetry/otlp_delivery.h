// SPDX-License-Identifier: Apache-2.0
/*
 * One request to a collector, by the rules of OTLP/HTTP 1.10.0: what was taken is never sent again,
 * also when only a part of it was; 429, 502, 503, 504 and broken connections may be retried
 * after a while; everything else is dropped. Blocks; one thread at a time.
 */
#pragma once

#include "net/client/http.h"
#include "telemetry/otel_environment.h"

struct cancel;
struct random;

/** Longest answer of a collector that is read, bytes. */
#define OTLP_MAX_ANSWER_BYTES 65536
/** Longest wait before the next attempt, also when the collector requests more. */
#define OTLP_MAX_WAIT_NS INT64_C(120000000000)

enum otlp_outcome {
    OTLP_TAKEN,   /**< by the collector; `rejected` of it not */
    OTLP_LATER,   /**< worth another attempt after `delay_ns` */
    OTLP_REFUSED, /**< never try again */
};

struct otlp_delivery {
    enum otlp_outcome outcome;
    bool is_unreachable; /**< nobody answered: no host, no connection, or none in time */
    int64_t rejected;
    int64_t delay_ns;
    char problem[160]; /**< "" = none; names the collector's host, never a header or a path */
};

/**
 * @param parts      the body, spliced
 * @param attempt    number of this attempt, from 1: the wait grows with it
 * @param connect_ns longest time for the connection; 0 = that of any HTTP call
 * @param cancel     ends the call at once
 */
void otlp_deliver(struct http_client *http, const struct otel_signal *signal,
                  const struct http_part *parts, size_t part_count, unsigned attempt,
                  int64_t connect_ns, struct random *random, struct cancel *cancel,
                  struct otlp_delivery *ret_delivery);
