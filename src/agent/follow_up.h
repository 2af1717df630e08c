// SPDX-License-Identifier: Apache-2.0
/*
 * Follow-ups: runs that an agent has scheduled for itself. Each is a document, so it survives its
 * daemon: collection "follow-up", key = agent, the run that asked, and an id that follows from the
 * tool call; so a call that is repeated after a crash finds what it made before. One that was
 * started or cancelled stays for a while, for lists and for the limit of its run.
 *
 * What is pending is also in the collection "follow-up-due", in the order of the times: key =
 * agent, time, id. Both change in one transaction. Any thread.
 */
#pragma once

#include "base/id.h"
#include "base/limits.h"
#include "store/store.h"

#define FOLLOW_UP_COLLECTION "follow-up"
/** Bytes of an id, the NUL included. */
#define FOLLOW_UP_ID_SIZE 13
/** One that is settled is kept for so long. */
#define FOLLOW_UP_KEPT_NS (INT64_C(7) * 24 * 3600 * 1000000000)

/** A count ends there. */
#define FOLLOW_UPS_COUNTED 1000

enum follow_up_state {
    FOLLOW_UP_PENDING = 0,
    FOLLOW_UP_STARTED,   /**< it became a start request, or was refused as one */
    FOLLOW_UP_CANCELLED, /**< by a person */
    FOLLOW_UP_STATE_COUNT
};

/** "pending", "started", "cancelled". Static. */
const char *follow_up_state_name(enum follow_up_state state);

/** Texts are owned. */
struct follow_up {
    char id[FOLLOW_UP_ID_SIZE];
    char agent[LIMIT_AGENT_ID_LEN + 1];
    char asked_by[ID_SIZE]; /**< run */
    enum follow_up_state state;
    int64_t created_ns;
    int64_t due_ns;
    int64_t depth;        /**< 1 = a run that is no follow-up asked for it */
    char run_id[ID_SIZE]; /**< FOLLOW_UP_STARTED: what it became, or "" */
    char *prompt;
    uint64_t version;
    int64_t updated_ns;
    int64_t listed_ns; /**< time under which it is listed as due; as it was read */
};

void follow_up_fini(struct follow_up *follow_up);

/** Limits of an agent. */
struct follow_up_limits {
    int64_t per_run; /**< that one run asks for */
    int64_t total;   /**< that are pending */
};

enum follow_up_outcome {
    FOLLOW_UP_ADDED = 0, /**< also when it was there before */
    FOLLOW_UP_RUN_LIMIT,
    FOLLOW_UP_TOTAL_LIMIT,
};

/** The id of the follow-up of a call. @param key idempotency key of the call */
void follow_up_id(const char *key, char ret_id[FOLLOW_UP_ID_SIZE]);

/**
 * Add a follow-up, unless the one of its id is there. Calls of several processes together stay
 * within the limits.
 */
int follow_up_add(struct store *store, const struct follow_up *follow_up,
                  const struct follow_up_limits *limits, enum follow_up_outcome *ret_outcome,
                  struct rondo_error *err);

/** @return false to end */
typedef bool follow_up_fn(const struct follow_up *follow_up, void *context);

/** Read follow-ups in any state, in no useful order. @param agent NULL = of all agents */
int follow_ups_read(struct store *store, const char *agent, follow_up_fn *fn, void *context,
                    struct rondo_error *err);

/** The same of those that are pending only. */
int follow_ups_read_pending(struct store *store, const char *agent, follow_up_fn *fn, void *context,
                            struct rondo_error *err);

/**
 * Read the pending one that is due first. Costs the same however many there are.
 * @param ret_first follow_up_fini() @return 1, 0 when none is pending, or a code
 */
int follow_up_find_first(struct store *store, const char *agent, struct follow_up *ret_first,
                         struct rondo_error *err);

/** Count what is pending, up to FOLLOW_UPS_COUNTED. */
int follow_ups_count(struct store *store, const char *agent, int64_t *ret_count,
                     struct rondo_error *err);

/** List as due what is pending and is not, because an older version has added it. Reads all. */
int follow_ups_list_due(struct store *store, const char *agent, struct rondo_error *err);

/** Follow-ups for a list. */
struct follow_up_list {
    bool wants_all; /**< also those that are not pending */
    struct follow_up *items;
    size_t count;
};

/** Append a copy, if it belongs in the list. */
void follow_up_list_add(struct follow_up_list *list, const struct follow_up *follow_up);
/** The one that is due next comes first. */
void follow_up_list_sort(struct follow_up_list *list);
void follow_up_list_fini(struct follow_up_list *list);

/** Find one by its id. @param ret_follow_up follow_up_fini() @return 1, 0 or a code */
int follow_up_find(struct store *store, const char *id, struct follow_up *ret_follow_up,
                   struct rondo_error *err);

/**
 * Write what a caller has changed of a follow-up that it has read.
 * @return 1, 0 when another one was faster, or a code
 */
int follow_up_update(struct store *store, const struct follow_up *follow_up,
                     struct rondo_error *err);

/** What a person changes. */
struct follow_up_change {
    int64_t due_ns;     /**< 0 = unchanged */
    const char *prompt; /**< NULL = unchanged */
    bool is_cancelled;
};

/**
 * Change or cancel a pending one. RONDO_ERR_NOT_FOUND; RONDO_ERR_STATE when it is not pending any
 * more; RONDO_ERR_LIMIT for a prompt above LIMIT_FOLLOW_UP_PROMPT_BYTES.
 */
int follow_up_apply(struct store *store, const char *id, const struct follow_up_change *change,
                    struct rondo_error *err);

/** Delete what was settled before a time. Reads all. */
int follow_ups_purge(struct store *store, const char *agent, int64_t before_ns,
                     struct rondo_error *err);

/** Append its JSON, as lists and the API show it. */
void follow_up_write(const struct follow_up *follow_up, struct buf *ret_json);
