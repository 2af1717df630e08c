// SPDX-License-Identifier: Apache-2.0
/* A sink as its JSON says, checked. Secrets are in it: never shown, zeroed when released. */
#pragma once

#include "alert/sink.h"
#include "alert/warning.h"
#include "base/digest.h"

#include <stdbool.h>
#include <stdint.h>

#define SINK_COLLECTION "sink"

/** A file that must be what it was when the sink was added. */
struct sink_pin {
    char *path;
    char sha256[DIGEST_HEX_SIZE];
};

struct sink {
    char *name;
    enum sink_kind kind;
    char *url;             /**< of those that have one; a secret in part */
    char *secret;          /**< webhook: "whsec_..."; or NULL */
    char **command;        /**< command: NULL-terminated */
    struct sink_pin *pins; /**< command: ends with a NULL path; NULL = added by Rondo 0.1 */
    uint32_t kinds;        /**< one bit for each enum warning_kind; 0 = all */
    char **agents;         /**< NULL-terminated; NULL = all */
    int64_t created_ns;
    char *disabled; /**< why nothing is sent to it; or NULL */
};

/**
 * Read and check a sink.
 * @param is_stored whether it comes from the store, which adds members that nobody may give
 * @param ret_sink  sink_fini()
 * @return 0, or RONDO_ERR_INVALID or RONDO_ERR_LIMIT with the member's name in the message
 */
int sink_parse(struct json_object *object, bool is_stored, struct sink *ret_sink,
               struct rondo_error *err);

/** The same from a document of the store. */
int sink_decode(const char *json, size_t len, struct sink *ret_sink, struct rondo_error *err);

/** Append the form for the store, secrets included. Zero the buffer after use (secret_fini_buf). */
void sink_encode(const struct sink *sink, struct buf *ret_json);

/** Append the form for people and programs: of addresses only scheme and host, no secret. */
void sink_show(const struct sink *sink, struct buf *ret_json);

void sink_fini(struct sink *sink);

/** Read one. RONDO_ERR_NOT_FOUND. @param ret_version of its document; may be NULL */
int sink_find(struct store *store, const char *name, struct sink *ret_sink, int64_t *ret_version,
              struct rondo_error *err);

/** Whether a sink subscribes to a warning. A disabled one gets none. */
bool sink_wants(const struct sink *sink, const struct warning *warning);

/** Disable a sink, for a reason in words. A sink that was changed meanwhile stays.
 */
int sink_disable(struct store *store, const char *name, const char *reason,
                 struct rondo_error *err);

/** Bytes of a sink's mark in ids of deliveries, the NUL included. */
#define SINK_MARK_SIZE 13
/** 12 hex digits that follow from the name. */
void sink_mark(const char *name, char ret_mark[SINK_MARK_SIZE]);
