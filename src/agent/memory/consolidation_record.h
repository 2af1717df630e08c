// SPDX-License-Identifier: Apache-2.0
/*
 * The documents of consolidation (agent/memory/consolidate.h): which runs are due, and the batch of
 * an owner that is under way, with its reply once there is one. Any thread.
 */
#pragma once

#include "base/clock.h"
#include "memory/memory.h"

/** Facts of one reply. */
#define CONSOLIDATION_FACTS 64
/** Episodes of one batch, whatever a role says. */
#define CONSOLIDATION_EPISODES 200

/** Record that a run has episodes to consolidate when it has ended. Nothing if it is recorded. */
int consolidation_request(struct store *store, const char *run_id, const char *agent_id,
                          const char *owner, struct rondo_error *err);

/** A run whose episodes are due. */
struct consolidation_due {
    char run_id[ID_SIZE];
    char agent_id[LIMIT_AGENT_ID_LEN + 1];
    char owner[LIMIT_MEMORY_OWNER_LEN + 1];
    int64_t attempts;      /* that failed */
    int64_t not_before_ns; /* wall clock */
    uint64_t version;
};

/** List them by run. @param agent_id or NULL @param ret_list owned */
int record_list_due(struct store *store, const char *agent_id, struct consolidation_due **ret_list,
                    size_t *ret_count, struct rondo_error *err);
/** It was done, or it will not be. */
int record_delete_due(struct store *store, const struct consolidation_due *due,
                      struct rondo_error *err);
/** It failed: attempts and not_before_ns were changed. */
int record_update_due(struct store *store, const struct consolidation_due *due,
                      struct rondo_error *err);

/** A fact of a reply. */
struct consolidation_fact {
    int64_t id;
    char category[MEMORIES_CATEGORY_SIZE];
    char *content;
};

/** The batch of an owner that is under way. */
struct consolidation_batch {
    char owner[LIMIT_MEMORY_OWNER_LEN + 1];
    char run_id[ID_SIZE];
    bool is_replied; /* the reply is recorded: the facts have their ids */
    int64_t episodes[CONSOLIDATION_EPISODES];
    size_t episode_count;
    struct consolidation_fact facts[CONSOLIDATION_FACTS];
    size_t fact_count;
    int64_t tokens_in; /* that the reply used, as its figures */
    int64_t tokens_out;
    int64_t cost_micro; /* COST_UNKNOWN = not known */
    int64_t duration_ns;
    uint64_t version; /* of the document */
};

/**
 * Take the owner's batch, unless another process is at it; one that was left with its reply is
 * continued.
 * @param by the runtime's name, by which others see that it is dead
 * @param ret_batch record_batch_fini(), in any case
 * @return 1, 0 when another one has it, or a negative code
 */
int record_claim(struct store *store, const char *owner, const char *by, int64_t now_ns,
                 struct consolidation_batch *ret_batch, struct rondo_error *err);
/** Record the reply: episodes and facts. @return 1, 0 when another one took it, or a code */
int record_reply(struct store *store, struct consolidation_batch *batch, const char *by,
                 int64_t now_ns, struct rondo_error *err);
/** The batch is done, or was left without a reply. */
int record_release(struct store *store, const struct consolidation_batch *batch,
                   struct rondo_error *err);
void record_batch_fini(struct consolidation_batch *batch);
