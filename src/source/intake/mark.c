// SPDX-License-Identifier: Apache-2.0
/* Reading marks. */
#include "source/intake/mark.h"

#include "base/memory.h"

#include <stdlib.h>

static bool read_mark(const struct store_document *document, void *context)
{
    char **mark = context;
    *mark = memory_dup_bytes(document->data, document->data_len);
    return false;
}

int source_mark_read(struct store *store, const char *source, char **ret_mark,
                     struct rondo_error *err)
{
    char *mark = NULL;
    struct store_document_query query = {.collection = SOURCE_MARK_COLLECTION, .key = source};
    int r = store->ops->read_documents(store, &query, read_mark, &mark, err);
    if (r < 0) {
        free(mark);
        return r;
    }
    *ret_mark = mark;
    return 0;
}
