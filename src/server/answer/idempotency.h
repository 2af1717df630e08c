// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that may be sent again without being done again. A key is reserved in the store before
 * its request has any effect, and the answer is recorded after: the same request then gets the same
 * answer, also from another process, also after a crash. When a process died in between it is not
 * known whether the effect came about. A request that makes a run gets the run's id beforehand,
 * which is kept with the key: so it can be seen whether there is the run, and if there is none the
 * request is done after all. Of other requests it is said that it is not known, and nothing is
 * done.
 *
 * Documents: "idempotency" by the digest of caller and key, "idempotency-age" by time. Any thread.
 */
#pragma once

#include "base/digest.h"
#include "base/id.h"
#include "store/store.h"

#include <stddef.h>

/** How long a key is kept. */
#define IDEMPOTENCY_KEEP_NS INT64_C(86400000000000)
/** Nothing is under way for longer: its answer could not be recorded. */
#define IDEMPOTENCY_WORK_NS INT64_C(600000000000)
/** Records that are deleted at a time. */
#define IDEMPOTENCY_PRUNED 200
/** Characters of a key. */
#define LIMIT_IDEMPOTENCY_KEY 255
/** Answers with more bytes are not recorded: their request would be done again. */
#define LIMIT_IDEMPOTENCY_ANSWER (512 * LIMIT_KIB)

struct idempotency {
    struct store *store;    /**< borrowed */
    char instance[ID_SIZE]; /**< this process's, to recognise its own requests under way */
};

struct idempotency_request {
    const char *caller;
    const char *key;
    const char *method;
    const char *path;
    const char *body;
    size_t len;
    const char *run_id; /**< for the run that the request makes; or NULL */
};

enum idempotency_outcome {
    IDEMPOTENCY_NEW = 0,   /**< reserved: do it, then _finish or _forget */
    IDEMPOTENCY_REPLAY,    /**< it was done: here is the answer */
    IDEMPOTENCY_MISMATCH,  /**< the key belongs to another request */
    IDEMPOTENCY_UNDER_WAY, /**< somebody is doing it */
    IDEMPOTENCY_LOST,      /**< the process doing it died, or could not record the
                                answer; it may have been done */
};

struct idempotency_answer {
    unsigned status;
    char *location; /**< or NULL */
    char *body;     /**< JSON */
};
void idempotency_answer_fini(struct idempotency_answer *answer);

/** A reserved key. */
struct idempotency_slot {
    char key[DIGEST_HEX_SIZE];
    char request[DIGEST_HEX_SIZE];
    uint64_t version;
    int64_t created_ns;
    char run_id[ID_SIZE]; /**< "" = the request makes none */
};

/** Whether a key has 1 to LIMIT_IDEMPOTENCY_KEY visible ASCII characters. */
bool idempotency_key_is_valid(const char *key);

/**
 * Look a key up and reserve it.
 * @param ret_slot   IDEMPOTENCY_NEW and IDEMPOTENCY_LOST
 * @param ret_answer IDEMPOTENCY_REPLAY: idempotency_answer_fini()
 */
int idempotency_begin(const struct idempotency *idempotency,
                      const struct idempotency_request *request, int64_t now_ns,
                      enum idempotency_outcome *ret_outcome, struct idempotency_slot *ret_slot,
                      struct idempotency_answer *ret_answer, struct rondo_error *err);
/**
 * Reserve a key that was lost for this process, under its time and its run's id.
 * @return 0; `*ret_is_ours` is false when somebody was faster
 */
int idempotency_retake(const struct idempotency *idempotency, struct idempotency_slot *slot,
                       bool *ret_is_ours, struct rondo_error *err);
/** Record the answer. */
int idempotency_finish(const struct idempotency *idempotency, const struct idempotency_slot *slot,
                       const struct idempotency_answer *answer, struct rondo_error *err);
/** Nothing came about: the key is free again. */
void idempotency_forget(const struct idempotency *idempotency, const struct idempotency_slot *slot);

/** Delete up to IDEMPOTENCY_PRUNED records that are too old, in one transaction. @return how many
 */
size_t idempotency_prune(const struct idempotency *idempotency, int64_t now_ns);
