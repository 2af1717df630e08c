// SPDX-License-Identifier: Apache-2.0
/*
 * Keys of events that were accepted within the last seven days, so that an event that comes again
 * finds the run that it became. Collection "start-key", key = number of the day and a digest of
 * source and key: a lookup reads one document for each day, and old ones are deleted by range.
 * Any thread.
 */
#pragma once

#include "source/intake/request.h"

#define DEDUPE_COLLECTION "start-key"
/** How long a key counts. */
#define DEDUPE_NS (INT64_C(7) * 24 * 3600 * 1000000000)
/** Bytes of a document's key, the NUL included. */
#define DEDUPE_KEY_SIZE 80

/** Write the key of the document for an event that comes now. */
void dedupe_key(int64_t now_ns, const char *source, const char *key, char ret_key[DEDUPE_KEY_SIZE]);

/** Two servers that get an event at once may see different days so long before and after midnight.
 */
#define DEDUPE_SKEW_NS (INT64_C(600) * 1000000000)

/**
 * Near midnight the event is recorded under the other day, too: of two servers whose clocks differ
 * only one can record it.
 * @return false: it is not near midnight
 */
bool dedupe_other_key(int64_t now_ns, const char *source, const char *key,
                      char ret_key[DEDUPE_KEY_SIZE]);

/** Append the document's JSON. */
void dedupe_encode(int64_t now_ns, const char *run_id, struct buf *ret_json);

/** Look for an event. @return 1 with the run that it became, 0 when it is new, or a code */
int dedupe_find(struct store *store, int64_t now_ns, const char *source, const char *key,
                char ret_run_id[ID_SIZE], struct rondo_error *err);

/** Delete keys that count no more, at most LIMIT_KEYS_PURGED. @return how many, or a code */
int dedupe_purge(struct store *store, int64_t now_ns, struct rondo_error *err);
