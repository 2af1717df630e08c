// SPDX-License-Identifier: Apache-2.0
/*
 * What the servers of a store are meant to do with its runs. An assignment is a document that a
 * server keeps, so that it, or the next one, continues after a restart where it was; the command
 * line reads them to show what waits. Any thread.
 */
#pragma once

#include "base/text/labels.h"
#include "loop/owner.h"
#include "store/store.h"

/** Documents of this collection, their keys the runs' ids. */
#define ASSIGNMENT_COLLECTION "managed"

enum assignment_state {
    ASSIGNMENT_QUEUED = 0, /**< waits for its turn */
    ASSIGNMENT_RUNNING,
    ASSIGNMENT_PAUSED,
    ASSIGNMENT_DEFERRED, /**< a server has taken it, and tries later to begin it */
};

/** A server that has taken a run must have claimed it within this time; see orphans.c. */
#define ASSIGNMENT_CLAIM_NS INT64_C(1000000000)

/** Bytes of the requester's name. */
#define ASSIGNMENT_BY_SIZE 256

struct assignment {
    char run_id[ID_SIZE];
    enum assignment_state state;
    int64_t since_ns;
    char by[ASSIGNMENT_BY_SIZE];
    char server[STORE_OWNER_SIZE];      /**< owner name of the one that wrote it */
    uint64_t version;                   /**< of the document */
    int64_t written_ns;                 /**< when it was written, by the store's clock */
    char agent[LIMIT_AGENT_ID_LEN + 1]; /**< "" in documents of older programs */
    char pool[LABELS_SIZE];             /**< labels that a server must have; "" = none */
    char *workspace;                    /**< not of assignment_read; the list's. NULL = unknown */
};

/** What of a run decides who may execute it, and when. Texts are borrowed; NULL = unknown. */
struct placement {
    const char *agent;
    const char *pool;
    const char *workspace;
};

/** Borrowed from the assignment. */
static inline struct placement assignment_placement(const struct assignment *assignment)
{
    return (struct placement){
        .agent = assignment->agent,
        .pool = assignment->pool,
        .workspace = assignment->workspace,
    };
}

/** Whether its server is certainly dead: then the next one takes it over. */
bool assignment_is_dead(const struct assignment *assignment);

struct loop;
struct runtime;

/**
 * Park a run of this process and put it in the queue of all servers.
 * @param loop new; loop_free() it afterwards
 * @param by   the requester
 */
int assignment_hand_over(struct runtime *runtime, struct loop *loop, const char *by,
                         struct rondo_error *err);

/** Read that of one run. @return 1, 0 when there is none, or a negative code */
int assignment_read(struct store *store, const char *run_id, struct assignment *ret_assignment,
                    struct rondo_error *err);

/** All of them, in the order in which they were made. @param ret_list assignment_list_free() */
int assignment_list(struct store *store, struct assignment **ret_list, size_t *ret_count,
                    struct rondo_error *err);

/** NULL is allowed. */
void assignment_list_free(struct assignment *list, size_t count);

/** Those of a store by run. */
struct assignments;

/** @param ret_assignments assignments_free() */
int assignments_read(struct store *store, struct assignments **ret_assignments,
                     struct rondo_error *err);
/** NULL when no server has the run. */
const struct assignment *assignments_find(const struct assignments *assignments,
                                          const char *run_id);
/** NULL is allowed. */
void assignments_free(struct assignments *assignments);

/**
 * run_display_status, or "queued" for a run that waits in a server.
 * @param assignment NULL = none. Static.
 */
const char *assignment_display_status(const struct store_run *run,
                                      const struct assignment *assignment);
