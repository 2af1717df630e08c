// SPDX-License-Identifier: Apache-2.0
/* Small JSON documents of the store, for the files of this folder. Any thread. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"
#include "store/store.h"

struct json_object;

/**
 * Read one.
 * @param ret_document json_object_put(); NULL = there is none
 * @param ret_version 0 = there is none
 */
int wire_document_read(struct store *store, const char *collection, const char *key,
                       struct json_object **ret_document, int64_t *ret_version,
                       struct rondo_error *err);

/** Write one. @param if_version of the old one, 0 = none, STORE_ANY_VERSION
 *  @param ret_is_put false: somebody was faster */
int wire_document_put(struct store *store, const char *collection, const char *key,
                      const struct buf *json, int64_t if_version, bool *ret_is_put,
                      struct rondo_error *err);

/** Delete one; none is no error. */
int wire_document_delete(struct store *store, const char *collection, const char *key,
                         struct rondo_error *err);
