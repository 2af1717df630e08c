// SPDX-License-Identifier: Apache-2.0
/*
 * The record of a handoff: one action of an agent that waits for the decision of a person. It holds
 * all that the next transition depends on; what was asked, in words and arguments, is kept beside
 * it and named by digests.
 *
 * Two things have a state of their own. The request is waiting, or was decided, once and for all.
 * What was approved is not yet done: the application says how far the agent is with it.
 *
 * Times are nanoseconds of the wall clock; 0 = none. Records are plain data without owned memory.
 */
#pragma once

#include "base/id.h"
#include "base/limits.h"
#include "policy/vocabulary/severity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum handoff_state {
    HANDOFF_REQUESTED = 0, /**< accepted; no desk was found yet */
    HANDOFF_ROUTED,        /**< on a desk */
    HANDOFF_REROUTED,      /**< a person passed it on; the new desk was not found yet */
    HANDOFF_ESCALATED,     /**< on the desks of a higher level */
    HANDOFF_NEEDS_INFO,    /**< the agent must answer questions first */
    HANDOFF_APPROVED,      /**< the others are final, too */
    HANDOFF_REJECTED,
    HANDOFF_EXPIRED,
    HANDOFF_CANCELLED,
    HANDOFF_SUPERSEDED,    /**< the agent requests another action instead */
    HANDOFF_DEAD_LETTERED, /**< nobody is responsible */
    HANDOFF_STATE_COUNT
};

/** How far an approved action is. */
enum handoff_application {
    APPLICATION_NONE = 0,  /**< nothing was approved */
    APPLICATION_AVAILABLE, /**< the agent may take it */
    APPLICATION_LEASED,    /**< the agent has taken it and prepares */
    APPLICATION_STARTED,   /**< the agent has the grant: the action may be running */
    APPLICATION_APPLIED,   /**< done, with a result */
    APPLICATION_LAPSED,    /**< not taken in time: it must be asked for again */
    APPLICATION_IN_DOUBT,  /**< the agent was lost after the grant */
    APPLICATION_FAILED,    /**< it cannot be done as approved */
    APPLICATION_COUNT
};

enum handoff_level { /**< of risk, and of priority */
                     HANDOFF_LOW = 0,
                     HANDOFF_MEDIUM,
                     HANDOFF_HIGH,
                     HANDOFF_CRITICAL,
                     HANDOFF_LEVEL_COUNT
};

/** Bytes of names of operators, desks, agents and lanes, the NUL included. */
#define HANDOFF_NAME_SIZE (LIMIT_AGENT_ID_LEN + 32)
/** Bytes of a digest, "sha256:" and 64 lower-case hex digits, the NUL included. */
#define HANDOFF_DIGEST_SIZE 72
/** Persons that may have to approve one action. */
#define HANDOFF_MOST_APPROVALS 4
/** Desks that a request can be on before it is resubmitted: the first, and one for each hop. */
#define HANDOFF_MOST_DESKS 8

struct handoff_approval {
    char operator_id[HANDOFF_NAME_SIZE];
    int64_t time_ns;
};

struct handoff {
    char request_id[ID_SIZE];
    char agent_id[HANDOFF_NAME_SIZE];
    char lane_id[HANDOFF_NAME_SIZE];
    char parent_id[HANDOFF_NAME_SIZE];       /**< the agent that it is a sub-agent of; "" = none */
    char owner[HANDOFF_NAME_SIZE];           /**< "user:NAME" whose agent it is; "" = nobody's */
    char action_digest[HANDOFF_DIGEST_SIZE]; /**< of the canonical action */
    char state_hash[HANDOFF_DIGEST_SIZE];    /**< of the agent's checkpoint; "" = none */
    char first_digest[HANDOFF_DIGEST_SIZE];  /**< of the body that made it */
    char answer_digest[HANDOFF_DIGEST_SIZE]; /**< of the one that made this revision */
    enum handoff_level risk;
    enum handoff_level priority;
    enum handoff_state state;
    uint32_t revision; /**< 1, and one more for each resubmission */
    uint64_t version;  /**< one more for each change */

    int64_t requested_ns;
    int64_t required_by_ns; /**< useless after this; never moved */
    int64_t
        sla_begin_ns; /**< the time in which people must decide: moved while the agent answers */
    int64_t sla_due_ns;
    int64_t info_begin_ns; /**< HANDOFF_NEEDS_INFO: since when */
    int64_t info_due_ns;
    bool is_extended;          /**< its time was over, and began anew: handoff_on_timeout */
    uint32_t ladder_done;      /**< steps of the ladder that were taken */
    uint32_t escalation_level; /**< 0 = never escalated */
    uint32_t hops;             /**< times that it was passed on in this revision */

    char desks[HANDOFF_MOST_DESKS][HANDOFF_NAME_SIZE]; /**< in this revision; the last has it */
    uint32_t desk_count;
    char asked_by[HANDOFF_NAME_SIZE];   /**< who asked the questions, and answers return to */
    char claimed_by[HANDOFF_NAME_SIZE]; /**< "" = nobody works on it */
    int64_t claim_until_ns;

    struct handoff_approval approvals[HANDOFF_MOST_APPROVALS]; /**< of this revision */
    uint32_t approval_count;
    char decided_by[HANDOFF_NAME_SIZE]; /**< the person, or "system:timeout", ... */
    int64_t decided_ns;
    char superseded_by[ID_SIZE];

    enum handoff_application application;
    bool is_foreign;                  /**< of an agent outside: its lane is no run of the store */
    bool is_idempotent;               /**< the tool may be called again after a doubt */
    char consumer[HANDOFF_NAME_SIZE]; /**< process of the agent that has taken it */
    int64_t lease_until_ns;
    int64_t valid_until_ns; /**< taken and started before this, or never */
    uint32_t deliveries;    /**< tries to apply it */
    char result_digest[HANDOFF_DIGEST_SIZE];
};

/** What happens when the time to decide is over. */
enum handoff_on_timeout {
    ON_TIMEOUT_EXPIRE = 0, /**< it is as rejected */
    ON_TIMEOUT_REROUTE,    /**< once: to another desk, with the time to decide anew */
    ON_TIMEOUT_ESCALATE,   /**< once: to the next level, with the time to decide anew */
    ON_TIMEOUT_COUNT
};

/** "auto_expire", "reroute", "escalate" */
const char *handoff_on_timeout_name(enum handoff_on_timeout on_timeout);

/** Durations and numbers that a desk file can set. */
struct handoff_rules {
    int64_t sla_ns[HANDOFF_LEVEL_COUNT]; /**< time to decide, by priority */
    int64_t shortest_request_ns;         /**< less time than this cannot be used by a person */
    int64_t claim_ns;
    int64_t info_ns;             /**< time for the agent to answer questions */
    int64_t shortest_rest_ns;    /**< time to decide that is left at least after answers */
    int64_t lease_ns;            /**< between taking and starting */
    int64_t valid_ns;            /**< an approval, since the agent was told first */
    int64_t longest_valid_ns;    /**< an approval, since it was given */
    uint32_t most_hops;          /**< at most HANDOFF_MOST_DESKS - 1 */
    uint32_t most_revisions;     /**< the first one not counted */
    uint32_t critical_approvals; /**< persons; 1 to HANDOFF_MOST_APPROVALS */
    uint32_t most_deliveries;
    uint32_t notify_percent;   /**< of the time to decide: the desk is reminded */
    uint32_t escalate_percent; /**< the request goes to the next level */
    uint32_t levels;           /**< of escalation; the last is reminded `reminders` times more */
    uint32_t reminders;
    enum handoff_on_timeout on_timeout;
    char timeout_desk[HANDOFF_NAME_SIZE]; /**< ON_TIMEOUT_REROUTE: where to */
};

/** What applies where nothing is set. */
extern const struct handoff_rules handoff_default_rules;

/** Names as in records, on the wire and on pages: "needs_info". */
const char *handoff_state_name(enum handoff_state state);
const char *handoff_application_name(enum handoff_application application);
const char *handoff_level_name(enum handoff_level level);
/** The risk and the priority of what a policy of this severity asks about. */
enum handoff_level handoff_level_of(enum policy_severity severity);

/** Whether a name, with "user:" or without, is that of the agent, of its owner or of the agent
 * above it: none of them decides about it. */
bool handoff_is_own(const struct handoff *handoff, const char *name);
/** The run of Rondo that waits, which is its lane; NULL when the agent is not run by Rondo.
 * Borrowed. */
const char *handoff_run_id(const struct handoff *handoff);
/** A person may decide it now. */
bool handoff_is_open(const struct handoff *handoff);
/** It has no decision yet: it is open, the agent must answer, or no desk was found yet. */
bool handoff_is_waiting(const struct handoff *handoff);
/** Approvals by different persons that the action needs. */
uint32_t handoff_quorum(const struct handoff *handoff, const struct handoff_rules *rules);
