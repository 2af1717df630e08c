// SPDX-License-Identifier: Apache-2.0
/* Reading marks. */
#include "source/intake/mark.h"

#include "base/memory.h"

#include <stdlib.h>

struct source_mark_reading {
    char *text; /* owned */
    uint64_t version;
};

static bool read_mark(const struct store_document *document, void *context)
{
    struct source_mark_reading *reading = context;
    reading->text = memory_dup_bytes(document->data, document->data_len);
    reading->version = document->version;
    return false;
}

int source_mark_read(struct store *store, const char *source, char **ret_mark,
                     uint64_t *ret_version, struct rondo_error *err)
{
    struct source_mark_reading reading = {0};
    struct store_document_query query = {.collection = SOURCE_MARK_COLLECTION, .key = source};
    int r = store->ops->read_documents(store, &query, read_mark, &reading, err);
    if (r < 0) {
        free(reading.text);
        return r;
    }
    *ret_mark = reading.text;
    if (ret_version != NULL) {
        *ret_version = reading.version;
    }
    return 0;
}
