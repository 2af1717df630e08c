// SPDX-License-Identifier: Apache-2.0
/* Putting a transaction together. */
#include "handoff/storage/change.h"

#include <stdio.h>
#include <stdlib.h>

struct buf *handoff_change_put(struct handoff_change *change, const char *collection,
                               const char *key, int64_t if_version)
{
    size_t i = change->count++;
    snprintf(change->keys[i], sizeof(change->keys[i]), "%s", key);
    change->items[i] = (struct store_change){.kind = STORE_PUT,
                                             .collection = collection,
                                             .key = change->keys[i],
                                             .if_version = if_version};
    return &change->texts[i];
}

void handoff_change_delete(struct handoff_change *change)
{
    change->items[change->count - 1].kind = STORE_DELETE;
}

void handoff_change_free(struct handoff_change **slot)
{
    for (size_t i = 0; *slot != NULL && i < (*slot)->count; i++) {
        buf_fini(&(*slot)->texts[i]);
    }
    free(*slot);
}
