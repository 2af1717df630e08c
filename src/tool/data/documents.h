// SPDX-License-Identifier: Apache-2.0
/*
 * `spec.ingest` of a role: the tool search_documents. The documents are read when the agent first
 * searches, below the folder of the role and without links, and are found by their words (FTS5,
 * BM25, English stems) in an index in memory. There is nothing to build before a run, and what a
 * run finds is what the files say.
 */
#pragma once

#include "tool/toolbox.h"

struct json_object;

/** Files that are read; further ones are left out, and the answer says so. */
#define DOCUMENTS_MAX_FILES ((size_t)5000)
/** Bytes of all files together, whatever a role allows. */
#define DOCUMENTS_MAX_BYTES ((size_t)100 * 1024 * 1024)

/**
 * Add the tool.
 * @param ingest    normal form of spec.ingest; kept (json_object_get)
 * @param resources normal form of spec.security.resources, or NULL
 */
int documents_open(struct toolbox *toolbox, struct json_object *ingest,
                   struct json_object *resources, struct rondo_error *err);

/** As documents_open, with another limit than LIMIT_DOCUMENT_NAMES: for tests. */
int documents_open_bounded(struct toolbox *toolbox, struct json_object *ingest,
                           struct json_object *resources, size_t most_names,
                           struct rondo_error *err);
