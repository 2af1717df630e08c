// SPDX-License-Identifier: Apache-2.0
/*
 * What a person asks of a work item from another process (`rondo work release`, `retry`): a
 * document of the collection "work-request" with the key of the item, at most one for each; a
 * second request replaces the first. The queue reads it, changes the item, saves it, and only then
 * clears the request, so a request outlives a crash. Where no queue runs, it waits for the next
 * start. Any thread.
 */
#pragma once

#include "issues/item.h"

#include <stdint.h>

#define ITEM_REQUEST_COLLECTION "work-request"

enum item_request_kind {
    ITEM_REQUEST_RELEASE = 0, /**< give the claim back: ISSUE_FACT_RELEASED */
    ITEM_REQUEST_RETRY,       /**< begin again, with no attempt counted: ISSUE_FACT_RETRY */
    ITEM_REQUEST_KIND_COUNT
};
/** "release", "retry". Static. */
const char *item_request_name(enum item_request_kind kind);

/** Bytes of who asks, the NUL included. */
#define ITEM_REQUEST_BY_SIZE 128

struct item_request {
    enum item_request_kind kind;
    char by[ITEM_REQUEST_BY_SIZE]; /**< for people: "alice"; what is longer is cut */
    int64_t time_ns;               /**< wall clock */
    uint64_t version;              /**< of the document */
};

/** Why an item cannot be released or retried, for people. Static; NULL = nothing is in the way. */
const char *item_request_obstacle(const struct item *item, enum item_request_kind kind);

/** Ask. Durable on return. @param key of the item (item_key()) */
int item_request_put(struct store *store, const char *key, const struct item_request *request,
                     struct rondo_error *err);

/**
 * Read the request for an item. What is no request is removed, and counts as none.
 * @return 1, or 0 when there is none
 */
int item_request_read(struct store *store, const char *key, struct item_request *ret_request,
                      struct rondo_error *err);

/** It was done: remove it, unless another one has replaced it. */
int item_request_clear(struct store *store, const char *key, uint64_t version,
                       struct rondo_error *err);
