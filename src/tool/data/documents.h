// SPDX-License-Identifier: Apache-2.0
/*
 * The documents of an agent: `spec.ingest` of its role, and pages that it has scraped. They are
 * found by their words (FTS5, BM25, English stems) in an index in memory, and with a model for
 * vectors by their meaning too. Files are read when the agent first searches, below the folder of
 * the role and without links: there is nothing to build before a run, and what a run finds is what
 * the files say. Pages are kept in the store until they are scraped again.
 *
 * Threads: searches may run side by side, except with a model for vectors.
 */
#pragma once

#include "tool/data/document_vectors.h"
#include "tool/toolbox.h"

struct json_object;
struct store;

/** Files that are read; further ones are left out, and the answer says so. */
#define DOCUMENTS_MAX_FILES ((size_t)5000)
/** Bytes of all files together, whatever a role allows. */
#define DOCUMENTS_MAX_BYTES ((size_t)100 * 1024 * 1024)
/** Pages that one agent keeps. */
#define DOCUMENTS_MAX_PAGES ((size_t)1000)
/** Collection of the store in which they are kept. */
#define DOCUMENT_PAGES_COLLECTION "document-page"

struct documents;

/** Borrowed; kept as long as the documents where a member does not say otherwise. */
struct documents_options {
    const struct tool_surroundings *around;
    struct json_object *ingest;    /**< normal form of spec.ingest, or NULL; json_object_get */
    struct json_object *resources; /**< normal form of spec.security.resources, or NULL; read */
    struct store *store;
    const char *owner;        /**< the agent; copied */
    document_embed_fn *embed; /**< on the thread of a search; NULL = by words only */
    void *embed_context;
    const char *embed_model; /**< names the vectors; copied */
    size_t most_names;       /**< 0 = LIMIT_DOCUMENT_NAMES; another one for tests */
    const char *problem;     /**< why there are no vectors though the role requests them, or "" */
};

struct documents *documents_new(const struct documents_options *options);
/** NULL is allowed. */
void documents_free(struct documents *documents);

/** Add the tool search_documents. */
int documents_open(struct toolbox *toolbox, struct documents *documents, struct rondo_error *err);

/**
 * Keep the text of a page, in place of what was kept of its address.
 * @param ret_pieces into how many pieces it was cut
 * @return 0; RONDO_ERR_LIMIT when it is too long or there are DOCUMENTS_MAX_PAGES already; an error
 *         of the store
 */
int documents_keep_page(struct documents *documents, const struct tool_call *call, const char *url,
                        const struct buf *text, size_t *ret_pieces, struct rondo_error *err);
