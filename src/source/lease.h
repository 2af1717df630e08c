// SPDX-License-Identifier: Apache-2.0
/*
 * Which of several daemons has a source that only one may work at: a document of the collection
 * "source-lease", key = the source's id, that its holder changes again and again. Another daemon
 * takes it over when it has seen no change for SOURCE_LEASE_NS by its own monotonic clock, or at
 * once when the holder has released it or is a process of this machine that is gone. Clocks of
 * machines are never compared.
 *
 * A holder that was frozen finds out at its next renewal, and not before: what it writes meanwhile
 * must be refused by something else, such as the version of the source's mark.
 *
 * One thread at a time.
 */
#pragma once

#include "store/store.h"

struct clock;

#define SOURCE_LEASE_COLLECTION "source-lease"
#define SOURCE_LEASE_NS         (INT64_C(60) * 1000000000)
/** A lease is renewed when it is so old. */
#define SOURCE_LEASE_RENEW_NS (INT64_C(15) * 1000000000)

struct source_lease {
    struct store *store; /**< borrowed, as the next ones */
    const struct clock *clock;
    const char *source; /**< its id */
    const char *owner;  /**< name of this process */
    bool is_held;
    uint64_t version;              /**< of the document when it was seen last; 0 = there was none */
    int64_t seen_ns;               /**< when that version was seen first, or written; monotonic */
    char holder[STORE_OWNER_SIZE]; /**< name of the one that has it; "" = nobody, or not known */
};

/**
 * Take it, or renew it where that is due.
 * @return 1 held, 0 another process has it, or a code: then it is not known, and not held
 */
int source_lease_hold(struct source_lease *lease, struct rondo_error *err);

/** Let another process have it. Nothing happens if it is not held. */
void source_lease_release(struct source_lease *lease);
