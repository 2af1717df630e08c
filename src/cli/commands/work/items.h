// SPDX-License-Identifier: Apache-2.0
/* Work items of a store for people and programs. */
#pragma once

#include "base/json/json.h"
#include "issues/item.h"

/**
 * Find the item that a person means: a number ("12", "#12"), a key ("github.com/acme/shop#12"), or
 * its end ("shop#12").
 * @param ret_item item_fini()
 * @return 0; RONDO_ERR_NOT_FOUND; RONDO_ERR_INVALID when several fit, with their keys
 */
int work_item_find(struct store *store, const char *word, struct item *ret_item,
                   struct rondo_error *err);

/** Append "shop#12". */
void work_item_name(const struct item *item, struct buf *ret_text);

/** The living process that works on it, for people; "" when there is none.
 * @param ret_text OWNER_DESCRIPTION_SIZE bytes */
void work_item_worker(const struct item *item, char *ret_text);

/** Write its members into an object that the caller has begun. @param wants_history its notes too
 */
void work_item_json(const struct item *item, bool wants_history, struct json_writer *writer);
