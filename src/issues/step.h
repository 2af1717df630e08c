// SPDX-License-Identifier: Apache-2.0
/*
 * The next action on a work item: a function of the item and of facts that were observed,
 * without I/O. The queue (issues/queue/queue.h) observes, asks, does it, records it, and asks
 * again, so what was done before a crash is seen, not repeated.
 */
#pragma once

#include "base/random.h"
#include "issues/item.h"

enum claim_fact {
    CLAIM_UNKNOWN = 0,
    CLAIM_OURS,
    CLAIM_FOREIGN, /**< another nonce, or what cannot be read */
    CLAIM_ABSENT,
};

enum issue_fact {
    ISSUE_FACT_UNKNOWN = 0,
    ISSUE_FACT_WANTED,
    ISSUE_FACT_GONE,
    ISSUE_FACT_CLOSED,
    ISSUE_FACT_UNLABELLED,
    ISSUE_FACT_REASSIGNED,
    ISSUE_FACT_EDITED,
    ISSUE_FACT_RELEASED, /**< a person asks for it: command or `rondo work release` */
    ISSUE_FACT_RETRY, /**< a person asks to begin again: command, `rondo work retry`, or the label
                           of "blocked" or "needs-human" was taken off */
};

enum run_fact {
    RUN_FACT_NONE = 0,   /**< there is no run for the attempt yet */
    RUN_FACT_ACTIVE,     /**< it executes or waits for its turn */
    RUN_FACT_UNREADABLE, /**< it has ended, and its journal cannot be read now: nothing is done */
    RUN_FACT_IDLE,       /**< it is parked or interrupted, and can be continued */
    RUN_FACT_DONE,       /**< completed with a commit: item->commit */
    RUN_FACT_NO_CHANGE,  /**< completed, and nothing had to be changed */
    RUN_FACT_TRANSIENT,  /**< a service failed, was overloaded or had no quota */
    RUN_FACT_FAILED,     /**< attempts spent */
    RUN_FACT_TIME_OVER,
    RUN_FACT_BUDGET_SPENT,
    RUN_FACT_DENIED,
    RUN_FACT_AUTH,
    RUN_FACT_CONFLICT,
    RUN_FACT_STOPPED, /**< by a person: it is not continued, unless a person asks for it */
};

enum pull_fact {
    PULL_UNKNOWN = 0,
    PULL_NONE,
    PULL_OPEN,
    PULL_WANTS_CHANGES,
    PULL_MERGED,
    PULL_CLOSED
};

/** What was observed. What was not, or could not be, is UNKNOWN: then nothing is done that depends
 * on it. Claim and issue are read again before each effect outside. */
struct item_facts {
    int64_t now_ns;        /**< clock of the forge */
    enum claim_fact claim; /**< OURS: the claim has our nonce */
    enum issue_fact issue;
    enum run_fact run;
    enum pull_fact pull;      /**< NONE: certainly none; of an item with a pull: it was deleted */
    bool is_remote_at_commit; /**< the branch of the remote is at item->commit */
    bool is_mirror_right;     /**< labels and comment say what the item says */
    bool is_stopping;         /**< this process ends: begin nothing */
    bool is_forge_open;       /**< its circuit lets us write */
    bool may_start;           /**< limits and circuits let a run begin or continue */
};

struct item_options {
    int64_t max_attempts;    /**< 3 */
    int64_t max_active_ns;   /**< of an issue; 2 h */
    int64_t retry_base_ns;   /**< 5 min, doubled, at most retry_most_ns */
    int64_t retry_most_ns;   /**< 2 h */
    int64_t most_follow_ups; /**< 0 = reviews are not followed up */
    bool releases_claim;     /**< while it waits for a retry; then others may take the issue */
};

/** Transient failures in a row; after one more the item is blocked. */
#define ITEM_MOST_RETRIES 12

enum item_act {
    ITEM_ACT_WAIT = 0, /**< nothing, until something changes or `at_ns` */
    ITEM_ACT_CLAIM,  /**< make the claim, which is absent; with the pull request, if there is one */
    ITEM_ACT_RENEW,  /**< the heartbeat is due, or the claim must name the pull request */
    ITEM_ACT_MIRROR, /**< bring labels, assignee and comment in line */
    ITEM_ACT_START,  /**< start its run (run_id "": a new one) or continue it */
    ITEM_ACT_STOP,   /**< stop its run */
    ITEM_ACT_PUSH,   /**< branch and claim in one transaction */
    ITEM_ACT_PULL,   /**< find or open the pull request */
    ITEM_ACT_FOLLOW_UP, /**< read the review, then item_begin_follow_up() */
    ITEM_ACT_SET,       /**< item_set(): the item changes, nothing outside */
    ITEM_ACT_RELEASE,   /**< give the claim back */
    ITEM_ACT_CLEAN,     /**< merged and told: delete the branch, folders, and last the claim */
    ITEM_ACT_END,       /**< nothing will ever be to do, unless a person asks */
};

struct item_action {
    enum item_act act;
    enum item_state state;   /**< SET */
    enum item_reason reason; /**< SET */
    int64_t at_ns;           /**< WAIT: not later than that; INT64_MAX = nothing is due. SET:
                                  all programs leave the issue alone until then; 0 = they need not */
};

/** @param item is not changed */
struct item_action item_next(const struct item *item, const struct item_facts *facts,
                             const struct item_options *options);

/**
 * Carry out ITEM_ACT_SET: state, reason, the time of a retry, counters, and a note. The message is
 * forgotten; the caller may set another one. The caller may also make an action of its own, when a
 * step has failed for good: SET to BLOCKED or RETRY_LATER with a reason.
 */
void item_set(struct item *item, const struct item_action *action,
              const struct item_options *options, struct random *random, int64_t now_ns);

/**
 * An item that is over is claimed anew, after its issue was found among those that can be worked
 * on: counters, claim and run begin anew. Its history, comment and branch stay; a pull request of
 * the branch that is still open is found by ITEM_ACT_PULL.
 * @param nonce of the new claim
 */
void item_begin_anew(struct item *item, const char *nonce, int64_t now_ns);

/** A run on the same branch follows up a review, with attempts and time of its own.
 *  @param review_ns reviews up to then are part of it */
void item_begin_follow_up(struct item *item, int64_t review_ns, int64_t now_ns);

/**
 * This process takes the item over from `item->owner`, which is certainly dead, or has written ""
 * because it ended in good order. When it died at a step, or while the item's run was under way,
 * that is counted; at the second time at one step the item is blocked, or, if it is over already,
 * left as it is for good (is_released).
 */
void item_adopt(struct item *item, const char *owner, int64_t now_ns);

/** A step begins, or has ended (ITEM_STEP_NONE): then its crashes are forgotten, but those at
 * START, which are when the run has ended. */
void item_begin_step(struct item *item, enum item_step step);
