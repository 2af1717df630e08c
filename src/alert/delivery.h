// SPDX-License-Identifier: Apache-2.0
/*
 * Deliveries: one warning on its way to one sink. Each is a document of the store; its key begins
 * with the time at which it is due, so what is due comes first. An attempt first
 * moves it into the future by DELIVERY_CLAIM_NS, in a transaction that only one process can win,
 * and names the process. So two servers on one store do not both attempt it. One that dies leaves
 * it to be attempted again: at once by a process that can tell that it is dead, else after that
 * time. A receiver may get a warning twice, with the same webhook-id, when a process dies between
 * the attempt and its record. The order of deliveries to a sink is not promised.
 */
#pragma once

#include "alert/sink_read.h"
#include "base/random.h"

#define DELIVERY_COLLECTION    "delivery"
#define DEAD_LETTER_COLLECTION "dead-letter"

/** Bytes of an id: a warning's and the sink's mark, the NUL included. */
#define DELIVERY_ID_SIZE (WARNING_ID_SIZE + SINK_MARK_SIZE)
/** Bytes of a key: 20 digits, a dash, the id. */
#define DELIVERY_KEY_SIZE (DELIVERY_ID_SIZE + 21)
/** Attempts of one delivery; then it is a dead letter. */
#define DELIVERY_ATTEMPTS 8
/** How long an attempt may take, its record included, before others may make it. */
#define DELIVERY_CLAIM_NS INT64_C(120000000000)
/** Longest Retry-After of a receiver that is heeded. */
#define DELIVERY_MAX_WAIT_NS INT64_C(21600000000000)
/** Bytes of an attempt's failure in words. */
#define DELIVERY_ERROR_SIZE 160

struct delivery {
    char key[DELIVERY_KEY_SIZE]; /**< of its document */
    int64_t version;
    char id[DELIVERY_ID_SIZE];
    char sink[SINK_NAME_LEN + 1];
    int64_t attempts; /**< made, the present one included */
    int64_t due_ns;
    int64_t created_ns;
    int64_t epoch;                   /**< of the run, for its trace */
    int64_t more_attempts;           /**< retries that its sink asks for; not stored */
    char by[STORE_OWNER_SIZE];       /**< process whose attempt is under way; "" = none */
    char error[DELIVERY_ERROR_SIZE]; /**< of the last attempt; "" = none was made */
    char *warning;                   /**< JSON; owned */
};

void delivery_fini(struct delivery *delivery);

/** A delivery that is due at once. @param warning JSON; copied */
struct delivery delivery_new(const char *sink, const char *warning_id, const char *warning,
                             int64_t epoch, int64_t now_ns);

/** A dead letter that is due again with all its attempts. Its warning is borrowed from `dead`. */
struct delivery delivery_again(const struct delivery *dead, int64_t now_ns);

/** Append the form for the store. */
void delivery_encode(const struct delivery *delivery, struct buf *ret_json);
/** Read it. @param ret_delivery delivery_fini(); RONDO_ERR_CORRUPT */
int delivery_decode(const struct store_document *document, struct delivery *ret_delivery,
                    struct rondo_error *err);
/** Append the form for people and programs. */
void delivery_show(const struct delivery *delivery, bool is_dead, struct buf *ret_json);

/** Who takes deliveries, and of which sinks none: an attempt is under way to them. */
struct delivery_busy {
    const char *by; /**< this process (owner_new) */
    const char (*marks)[SINK_MARK_SIZE];
    size_t count;
    const char *only; /**< a part of the ids of those that may be taken; NULL = all */
};

/**
 * Take the next delivery that is due, or whose attempt a dead process has left, and whose sink is
 * not busy.
 * @param ret_is_found whether there is one: then *ret_delivery, delivery_fini()
 * @param ret_next_ns  else when the first will be due; INT64_MAX = none waits
 */
int delivery_claim(struct store *store, int64_t now_ns, const struct delivery_busy *busy,
                   bool *ret_is_found, struct delivery *ret_delivery, int64_t *ret_next_ns,
                   struct rondo_error *err);

/** How an attempt ended. */
enum delivery_outcome {
    DELIVERY_OK = 0,
    DELIVERY_FAILED,   /**< try again later */
    DELIVERY_DEAD,     /**< no more attempts: the sink is gone or disabled */
    DELIVERY_DROPPED,  /**< the sink was removed */
    DELIVERY_CANCELLED /**< this process ends: the attempt does not count */
};

/**
 * Record how the attempt of a claimed delivery ended.
 * @param wait_ns  least time until the next attempt, as the receiver asked; 0 = none
 * @param ret_is_dead whether it is a dead letter now
 */
int delivery_settle(struct store *store, struct delivery *delivery, enum delivery_outcome outcome,
                    int64_t wait_ns, int64_t now_ns, struct random *random, bool *ret_is_dead,
                    struct rondo_error *err);

/** Count what waits of one run. */
int delivery_count_of(struct store *store, const char *run_id, uint64_t *ret_waiting,
                      struct rondo_error *err);

/** Count what waits and what was dead-lettered. */
int delivery_count(struct store *store, uint64_t *ret_waiting, uint64_t *ret_dead,
                   struct rondo_error *err);
