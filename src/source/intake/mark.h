// SPDX-License-Identifier: Apache-2.0
/*
 * Marks: what a source remembers over restarts, a small JSON object. The intake changes one in the
 * transaction of the event that it belongs to. Collection "source-mark", key = the source's id.
 * Several servers may keep one source: its mark is of all of them, and its version says whether
 * another one was faster.
 */
#pragma once

#include "store/store.h"

#define SOURCE_MARK_COLLECTION "source-mark"

/**
 * A source's mark.
 * @param ret_mark    owned; NULL when there is none
 * @param ret_version of its document, 0 when there is none; or NULL
 */
int source_mark_read(struct store *store, const char *source, char **ret_mark,
                     uint64_t *ret_version, struct rondo_error *err);
