// SPDX-License-Identifier: Apache-2.0
/*
 * One attempt to hand a warning to a sink: an HTTP call or a command. Blocks for at most
 * WEBHOOK_TIMEOUT_NS or COMMAND_TIMEOUT_NS. Nothing that a sink keeps secret gets into the words
 * about a failure. Any thread.
 */
#pragma once

#include "alert/delivery.h"

struct cancel;
struct http_client;
struct http_request;

/** A call, from the name's resolution to the end of the reply. */
#define WEBHOOK_TIMEOUT_NS INT64_C(10000000000)
/** A command, and the grace when it does not end. */
#define COMMAND_TIMEOUT_NS INT64_C(30000000000)
/** Bytes of a reply that are read; they are not looked at. */
#define WEBHOOK_REPLY_BYTES 65536

struct webhook_ports {
    struct http_client *http; /**< NULL: calls fail */
    const char *supervisor;   /**< for commands; or NULL */
    const char *base_url;     /**< of the dashboard; or NULL */
    struct cancel *cancel;    /**< ends an attempt; or NULL */
};

struct webhook_result {
    enum delivery_outcome outcome;
    bool is_gone;                    /**< the receiver refused all future deliveries */
    int64_t wait_ns;                 /**< it asked not to be called before; 0 = it did not */
    char error[DELIVERY_ERROR_SIZE]; /**< why it failed; "" = it did not */
};

/** Attempt a delivery. @param now_ns wall clock, for the signature */
void webhook_attempt(const struct webhook_ports *ports, const struct sink *sink,
                     const struct delivery *delivery, int64_t now_ns,
                     struct webhook_result *ret_result);

/* --- for sinks of roles (alert/result_sink.h) --- */

/** The attempt failed, to be repeated. @param text why; cut */
void webhook_fail(struct webhook_result *result, const char *text);

/** Make a call, and judge its reply. @param now_ns wall clock, for Retry-After */
void webhook_call(const struct webhook_ports *ports, const struct http_request *request,
                  int64_t now_ns, struct webhook_result *result);

/**
 * Start the program of a command sink.
 * @param warning JSON whose members the program finds in its environment
 * @param input   its standard input
 */
void webhook_start(const struct webhook_ports *ports, const struct sink *sink, const char *warning,
                   const struct buf *input, struct webhook_result *result);
