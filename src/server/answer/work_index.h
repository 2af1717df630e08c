// SPDX-License-Identifier: Apache-2.0
/*
 * Where each work item of the store is in a list that is sorted by other things than keys. Decoding
 * an item costs more than reading it, so only those are decoded that have changed since the last
 * time. Any thread; one reads at a time.
 */
#pragma once

#include "issues/item.h"

struct work_index;

/** What is known of an item, whole only in the store. */
struct work_place {
    char *key;
    uint64_t version; /**< of its document, as the next one: they tell whether it has changed */
    int64_t written_ns;
    char *repository; /**< NULL when it cannot be read */
    enum item_state state;
    int64_t updated_ns;
    char *damage; /**< why it cannot be read, or NULL */
};

struct work_index *work_index_new(void);
/** NULL is allowed. */
void work_index_free(struct work_index *index);

/** Called with each place (borrowed), in order of keys. The index may be asked nothing meanwhile.
 */
typedef void work_place_fn(const struct work_place *place, void *context);
/** Bring it up to date, and go through it. @return 0 or a code of the store */
int work_index_read(struct work_index *index, struct store *store, work_place_fn *fn, void *context,
                    struct rondo_error *err);
