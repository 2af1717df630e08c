// SPDX-License-Identifier: Apache-2.0
/*
 * All handoffs that time or a person can still change, in memory, by time to breach: for inboxes
 * of servers and the timers of an orchestrator. It is made from the documents of `handoff-open`
 * and then follows the audit chain, so that a look costs one small document while nothing
 * happens. An entry takes less than HANDOFF_INDEX_ENTRY_BYTES.
 *
 * Any thread; calls wait for one another. Callbacks are called under the lock of the index, and
 * must not use it.
 */
#pragma once

#include "handoff/storage/store.h"

/** The most that an entry takes, its place in all tables counted. */
#define HANDOFF_INDEX_ENTRY_BYTES 1024

struct handoff_index;

struct handoff_index *handoff_index_new(void);
void handoff_index_free(struct handoff_index *index);

/** Take in what has changed in the store since the last time; at first all of it. */
int handoff_index_refresh(struct handoff_index *index, const struct handoff_store *handoffs,
                          struct rondo_error *err);

/** Which states of entries. */
enum query_states {
    QUERY_WAITING = 0, /**< those that wait for a decision, or for the agent's answers */
    QUERY_OPEN,        /**< those that a person may decide now */
    QUERY_ALL,         /**< also those that wait for nobody, as approved ones do for their agent */
    QUERY_STATE,       /**< those in one state */
};

/** Whose entries. */
enum query_whose {
    QUERY_OF_ANYBODY = 0,
    QUERY_ON_DESK, /**< on a desk of the person, escalations included */
    QUERY_MINE,    /**< also open, and claimed by nobody else */
};

/** Where in a list an entry is. A page continues after it. */
struct handoff_place_in_list {
    int64_t rank_ns;
    uint32_t turn;
    char request_id[ID_SIZE]; /**< "" = before the first */
};

/** Which entries. What is NULL or 0 selects all. */
struct handoff_query {
    const char *desk;
    const char *agent_id;
    const char *const *agents; /**< NULL-terminated: those that the caller sees */
    const char *lane_id;
    const char *claimed_by;
    const char *text;   /**< in the tool, the reason, the agent, the lane or the id; of any case */
    const char *person; /**< of `whose`, and of the tally */
    enum query_whose whose;
    enum query_states states;
    enum handoff_state state;
    bool has_priority;
    enum handoff_level priority;
    struct handoff_place_in_list after;
    size_t limit; /**< 0 = all */
};

/** @return whether to continue */
typedef bool handoff_entry_fn(const struct handoff_summary *summary,
                              const struct handoff_place_in_list *place, void *context);

/**
 * Give entries by the time in which people must have decided. Among those that are due within the
 * same minute the agents take turns. Those whose agent must answer come after them.
 * @return how many were given
 */
size_t handoff_index_list(struct handoff_index *index, const struct desks *desks,
                          const struct handoff_query *query, handoff_entry_fn *fn, void *context);

/** Desks that are counted by name. */
#define TALLY_DESKS 64

struct handoff_desk_tally {
    char name[HANDOFF_NAME_SIZE];
    size_t waiting;
};

/** What waits, as a query selects it; its limit and place do not count. */
struct handoff_tally {
    size_t waiting;
    size_t mine; /**< of the query's person: QUERY_MINE */
    size_t by_state[HANDOFF_STATE_COUNT];
    size_t by_priority[HANDOFF_LEVEL_COUNT];
    size_t claimed;
    size_t overdue;
    int64_t oldest_ns; /**< when the oldest was requested; 0 = there is none */
    struct handoff_desk_tally desks[TALLY_DESKS];
    size_t desk_count;
};

void handoff_index_count(struct handoff_index *index, const struct desks *desks,
                         const struct handoff_query *query, int64_t now_ns,
                         struct handoff_tally *ret_tally);

/** When time does something next with any of them; INT64_MAX = never. */
int64_t handoff_index_next(struct handoff_index *index);

/** Those with which something is due, in the order in which it is. @return how many, at most `size`
 */
size_t handoff_index_due(struct handoff_index *index, int64_t now_ns, char (*ret_ids)[ID_SIZE],
                         size_t size);

/** Entries, and bytes that they take. */
size_t handoff_index_size(struct handoff_index *index, size_t *ret_bytes);
