// SPDX-License-Identifier: Apache-2.0
/*
 * How many handoffs wait: in the store, of each agent, of each lane. The numbers are documents of
 * the collection `handoff-count`, changed in the transaction that makes one wait or ends that, so
 * accepting a request reads three small documents and never all that waits. Any thread.
 */
#pragma once

#include "handoff/handoff.h"
#include "rondo/error.h"

struct store;

#define HANDOFF_COUNT_COLLECTION "handoff-count"

/** What happens to a request for which there is no room. */
enum handoff_on_full {
    ON_FULL_BLOCK = 0,  /**< the agent asks again later */
    ON_FULL_REJECT_NEW, /**< it is denied */
    ON_FULL_SHED,       /**< the agent's oldest one of low priority expires */
    ON_FULL_COUNT
};

/** "block", "reject_new", "shed_oldest_low" */
const char *handoff_on_full_name(enum handoff_on_full on_full);

/** Handoffs that may wait. */
struct handoff_bounds {
    uint32_t per_lane;
    uint32_t per_agent;
    uint32_t per_store;
    enum handoff_on_full on_full;
};

enum count_of { COUNT_STORE = 0, COUNT_AGENT, COUNT_LANE, COUNT_KINDS };

/** The three numbers of a request, and under which versions they were read. */
struct handoff_counts {
    char keys[COUNT_KINDS][HANDOFF_NAME_SIZE + 16];
    int64_t versions[COUNT_KINDS]; /**< 0 = there is no document */
    int64_t waiting[COUNT_KINDS];
};

/** Read them. That of the store is missing where nothing was counted yet. */
int handoff_count_read(struct store *store, const char *agent_id, const char *lane_id,
                       struct handoff_counts *ret_counts, struct rondo_error *err);

/**
 * Whether one more fits. LIMIT_HANDOFFS_KEPT percent of the places of a store and of an agent are
 * kept for critical actions.
 */
bool handoff_count_has_room(const struct handoff_counts *counts,
                            const struct handoff_bounds *bounds, enum handoff_level risk);

/** Counts of a store in which an older version of Rondo counted nothing. */
struct handoff_tallies;
struct handoff_tallies *handoff_tallies_new(void);
void handoff_tallies_add(struct handoff_tallies *tallies, const struct handoff *handoff);
/** Write them, unless another process has done it meanwhile; and free them. */
int handoff_tallies_write(struct handoff_tallies *tallies, struct store *store,
                          struct rondo_error *err);
