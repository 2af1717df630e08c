// SPDX-License-Identifier: Apache-2.0
/*
 * Dead letters: requests of agents that could not be accepted (queue `intake`), and decisions that
 * an agent could not process (queue `delivery`, handoff/wire/outbox.h). Of a request that was
 * refused nothing is kept but its digest, who sent it and why: what is forged or malformed may hold
 * anything. The same one again only raises a counter. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "handoff/storage/store.h"

#define INTAKE_LETTER_COLLECTION "intake-dead-letter"

/** Bytes of an id: a queue, a dash and the key, the NUL included. */
#define LETTER_ID_SIZE (STORE_KEY_LEN + 16)

/** A request that was refused. Texts are borrowed. */
struct intake_letter {
    const char *caller; /**< name of the token */
    const char *code;   /**< stable */
    const char *reason; /**< for people */
    const char *body;
    size_t len;
    int64_t now_ns;
};

/**
 * Note it. When there are LIMIT_INTAKE_LETTERS, or LIMIT_INTAKE_LETTERS_OF_CALLER of the caller,
 * a new one is not kept.
 * @param ret_id LETTER_ID_SIZE bytes; "" = it was not kept
 */
int intake_letter_add(struct store *store, const struct intake_letter *letter, char *ret_id,
                      struct rondo_error *err);

/**
 * Append a JSON array of all, the intake first.
 * @param limit of each queue
 * @param has_reasons with the words of the reasons, which may quote requests; else the codes only
 */
int letters_write(struct store *store, uint32_t limit, bool has_reasons, struct buf *ret_json,
                  struct rondo_error *err);

/** Count them. */
int letters_count(struct store *store, uint64_t *ret_intake, uint64_t *ret_delivery,
                  struct rondo_error *err);

/** Remove one. RONDO_ERR_NOT_FOUND */
int letter_discard(struct store *store, const char *id, struct rondo_error *err);

/**
 * Deliver a decision again. A refused request must be sent again by its agent: RONDO_ERR_STATE.
 * @return RONDO_ERR_NOT_FOUND
 */
int letter_replay(const struct handoff_store *handoffs, const char *id, struct rondo_error *err);
