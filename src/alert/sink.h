// SPDX-License-Identifier: Apache-2.0
/*
 * Sinks: where warnings go. Kept in the store; secrets in them are never shown again.
 *
 *   webhook  POST of a JSON object, signed by the Standard Webhooks specification 1.0
 *            (webhook-id, webhook-timestamp, webhook-signature: v1,base64 HMAC-SHA256)
 *   slack    POST of {"text": ...} to an incoming-webhook address
 *   command  a program gets the JSON object on stdin, and RONDO_WARNING_* in its environment
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct json_object;

#define SINK_NAME_LEN 64

/**
 * The kinds: constant, name (its attempt is attempt_NAME() in alert/webhook.c), SINK_HAS_URL or
 * SINK_HAS_COMMAND, and the help of its option of `rondo sinks add`.
 */
#define SINK_KINDS(KIND)                                                                      \
    KIND(WEBHOOK, webhook, SINK_HAS_URL,                                                      \
         "Post signed JSON to this address; - = read it from the standard input")             \
    KIND(SLACK, slack, SINK_HAS_URL,                                                          \
         "Post a line of text to this Slack-compatible address; - = from the standard input") \
    KIND(COMMAND, command, SINK_HAS_COMMAND, "Start the command after --")

enum sink_target {
    SINK_HAS_URL,
    SINK_HAS_COMMAND,
};

enum sink_kind {
#define KIND(ID, id, target, help) SINK_##ID,
    SINK_KINDS(KIND)
#undef KIND
        SINK_KIND_COUNT,
};

/** "webhook", "slack", "command". Static. */
const char *sink_kind_name(enum sink_kind kind);
enum sink_target sink_kind_target(enum sink_kind kind);

/** Secret of a webhook in text form: "whsec_" and base64 of 24 bytes. */
#define SINK_SECRET_SIZE 96

/**
 * Add or replace a sink.
 * @param sink JSON object: name, kind, url | command (array), kinds (of warnings; absent = all),
 *             agents (absent = all), secret (webhook; absent = made here)
 * @param ret_secret the secret that was made, "" otherwise: to be shown once
 * @return 0; RONDO_ERR_INVALID with the member's name; RONDO_ERR_LIMIT
 */
int sink_put(struct store *store, struct json_object *sink, char ret_secret[SINK_SECRET_SIZE],
             struct rondo_error *err);
/** RONDO_ERR_NOT_FOUND */
int sink_remove(struct store *store, const char *name, struct rondo_error *err);
/** Append a JSON array of all sinks, without secrets: of addresses only scheme and host. */
int sink_list(struct store *store, struct buf *ret_json, struct rondo_error *err);
/** Queue a warning of kind "test" for one sink. RONDO_ERR_NOT_FOUND */
int sink_test(struct store *store, const char *name, struct rondo_error *err);
/** Append a JSON array of deliveries: pending (`is_dead` false) or dead-lettered. Newest first. */
int sink_deliveries(struct store *store, bool is_dead, uint32_t limit, struct buf *ret_json,
                    struct rondo_error *err);
/** Attempt a dead letter again. RONDO_ERR_NOT_FOUND */
int sink_redeliver(struct store *store, const char *id, struct rondo_error *err);

/** Value of the webhook-signature header. @param secret "whsec_..." ; RONDO_ERR_INVALID */
int sink_sign(const char *secret, const char *id, int64_t time_s, const char *body, size_t len,
              struct buf *ret_value, struct rondo_error *err);
