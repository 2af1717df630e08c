// SPDX-License-Identifier: Apache-2.0
/*
 * A work item: one issue that this store works on or has worked on, from the claim to the merged
 * pull request. It is a document (collection "work-item", key "HOST/OWNER/NAME#NUMBER") that is
 * changed durably before and after each effect on the forge, so a new process knows which effect
 * may have happened. The truth about who owns an issue is the claim (issues/claim.h), not this.
 */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "git/run.h"
#include "store/store.h"

#define ITEM_COLLECTION "work-item"

/** Where it is. Labels on the issue say the same to people. */
enum item_state {
    ITEM_ASSIGNED = 0, /**< the claim is ours, nothing runs yet */
    ITEM_IN_PROGRESS,  /**< its run executes */
    ITEM_IN_REVIEW,    /**< there is a pull request */
    ITEM_RETRY_LATER,  /**< a failure that passes: again at next_ns */
    ITEM_BLOCKED,      /**< a person has to do something: `reason` */
    ITEM_NEEDS_HUMAN,  /**< nothing had to be changed, says the agent, and the checks pass */
    ITEM_CANCELLED,    /**< a person closed, reassigned, edited or unlabelled the issue */
    ITEM_FENCED,       /**< somebody else took the claim over: nothing more is written outside */
    ITEM_DONE,         /**< merged, and cleared up */
    ITEM_STATE_COUNT
};
/** "assigned", "in-progress", "in-review", "retry-later", "blocked", "needs-human", "cancelled",
 *  "fenced", "done": after the prefix these are the names of the labels, but for fenced and
 *  cancelled, which have none. Static. */
const char *item_state_name(enum item_state state);
bool item_state_from_name(const char *name, enum item_state *ret_state);
/** Whether it needs no more work by itself: blocked, needs-human, cancelled, fenced, done. */
bool item_state_is_over(enum item_state state);

/** Whether a label of the issue shows it: all but cancelled, fenced and done. */
bool item_state_has_label(enum item_state state);

/** Why it is blocked, cancelled or to be tried again. */
enum item_reason {
    ITEM_REASON_NONE = 0,
    /* blocked */
    ITEM_ATTEMPTS_SPENT,
    ITEM_TIME_OVER,
    ITEM_BUDGET_SPENT,
    ITEM_DENIED,
    ITEM_AUTH,
    ITEM_CONFLICT,      /**< the branch has commits of others, or cannot be merged */
    ITEM_CRASHED_TWICE, /**< the process died twice at the same step */
    ITEM_CLOSED_UNMERGED,
    ITEM_READ_ONLY,
    ITEM_REFUSED, /**< the forge or git server refuses */
    ITEM_STOPPED, /**< `rondo stop` of its run */
    /* retry later */
    ITEM_MODEL_FAILED,
    ITEM_FORGE_FAILED,
    ITEM_INTERRUPTED,
    /* cancelled */
    ITEM_ISSUE_CLOSED,
    ITEM_UNLABELLED,
    ITEM_REASSIGNED,
    ITEM_EDITED,
    ITEM_ISSUE_GONE,
    ITEM_BY_PERSON, /**< `rondo work release` */
    ITEM_REASON_COUNT
};
/** "attempts_spent", ... Static. */
const char *item_reason_name(enum item_reason reason);

/** The effect that was about to happen, or none. */
enum item_step {
    ITEM_STEP_NONE = 0,
    ITEM_STEP_CLAIM,
    ITEM_STEP_MIRROR,
    ITEM_STEP_START,
    ITEM_STEP_PUSH,
    ITEM_STEP_PULL,
    ITEM_STEP_RELEASE,
    ITEM_STEP_CLEAN,
    ITEM_STEP_COUNT
};
const char *item_step_name(enum item_step step);

/** What happened, for the item's page. The oldest of more than LIMIT_ITEM_HISTORY are dropped. */
struct item_note {
    int64_t time_ns;
    enum item_state state;
    char *text; /**< at most LIMIT_ITEM_NOTE_BYTES, plain */
};

/** So long do the budgets of a day count what was used. */
#define ITEM_DAY_NS (INT64_C(86400) * 1000000000)

/** What one run has used, for the budgets of a day. */
struct item_use {
    int64_t time_ns;            /**< wall clock */
    int64_t tokens, cost_micro; /**< COST_UNKNOWN = nobody knows */
};

struct item {
    char *key;        /**< of the document */
    uint64_t version; /**< of the document; 0 = not stored yet */
    char *repository; /**< "HOST/OWNER/NAME" */
    int64_t number;
    char *title, *url;
    char owner[STORE_OWNER_SIZE]; /**< process that works on it (loop/owner.h); a process that ends
                                       in good order writes "", so that it is not taken for dead */
    enum item_state state;
    enum item_reason reason;
    char *message;               /**< for people: what happened, or what to do; or NULL */
    enum item_step step;         /**< under way */
    enum item_step crashed_step; /**< at which a process died last, until it was completed */
    uint64_t crashes;            /**< processes that died at it in a row */
    /* Claim */
    char nonce[ID_SIZE];        /**< of our claim; "" = none */
    char claim_id[GIT_ID_SIZE]; /**< commit of it */
    int64_t renewed_ns;         /**< clock of the forge */
    int64_t claimed_pull;       /**< the pull request that our claim names; 0 = none */
    bool is_released;           /**< the claim was given back */
    int64_t released_until_ns;  /**< CANCELLED, because a person asked for it: all programs leave
                                     the issue alone until then; clock of the forge; 0 = no */
    /* Work */
    int64_t claimed_ns;         /**< first claim; clock of the forge, as the next ones */
    int64_t next_ns;            /**< RETRY_LATER */
    int64_t retries;            /**< transient failures in a row */
    int64_t attempts;           /**< failed and finished ones, over all machines */
    int64_t active_ns;          /**< time at work so far, without waits */
    int64_t tokens, cost_micro; /**< COST_UNKNOWN = nobody knows */
    char run_id[ID_SIZE];       /**< of the run under way, or the last one; "" = none */
    char counted_run[ID_SIZE];  /**< run whose attempts, time and cost are counted above */
    int64_t counted_ns;         /**< wall clock: when that was; the budget of a day asks */
    char *content_digest;       /**< of title and body when it was claimed */
    char *branch, *base_branch;
    char base_id[GIT_ID_SIZE];
    char commit[GIT_ID_SIZE]; /**< to be pushed; "" = none */
    bool is_pushed;
    int64_t pull; /**< number; 0 = none */
    char *pull_url;
    int64_t review_ns;  /**< reviews up to then were followed up */
    int64_t follow_ups; /**< runs that followed up reviews */
    /* Mirror */
    int64_t comment_id;          /**< status comment; 0 = none */
    char comment_nonce[ID_SIZE]; /**< hidden in it, where the token's login is not known; "" = none
                                  */
    int64_t read_comment_id;     /**< commands in comments up to this one were carried out */
    enum item_state mirrored;    /**< what labels and comment say; ITEM_STATE_COUNT = nothing */
    char *mirrored_digest;       /**< of the comment's text */
    struct item_use *uses;       /**< of the last day, the oldest first; at most LIMIT_ITEM_USES */
    size_t use_count;
    struct item_note *notes;
    size_t note_count;
    int64_t updated_ns; /**< wall clock */
};

void item_fini(struct item *item);

/** "HOST/OWNER/NAME#NUMBER"; the middle of a path that is too long for a key is a digest. Owned. */
char *item_key(const char *repository, int64_t number);
/** Append what the keys of a repository begin with, and no others: "HOST/OWNER/NAME#". */
void item_append_prefix(const char *repository, struct buf *ret_key);

/** Append a text from outside as one plain line (text_clean), cut to at most `most` bytes at a
 *  character, with "..." where something was cut. */
void item_clean(const char *text, size_t most, struct buf *ret_text);

/** Append a note; a longer one than LIMIT_ITEM_NOTE_BYTES is cut. */
void item_note(struct item *item, int64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Count what a run has used. What is older than a day is dropped; of more than LIMIT_ITEM_USES the
 *  two oldest become one, which counts for as long as the younger of them. */
void item_use(struct item *item, int64_t now_ns, int64_t tokens, int64_t cost_micro);

/** Append it as JSON, without key and version. Longer texts than their limits are cut. */
void item_encode(const struct item *item, struct buf *ret_json);
/**
 * @param ret_item item_fini(); its version is 0
 * @return RONDO_ERR_CORRUPT, or RONDO_ERR_VERSION for a format of a newer Rondo
 */
int item_decode(const char *key, const char *json, size_t len, struct item *ret_item,
                struct rondo_error *err);

/** Write it: durable on return. RONDO_ERR_STATE when somebody has changed it since; on success
 *  `version` is the new one. After another error it may be saved again. */
int item_save(struct store *store, struct item *item, struct rondo_error *err);
/** @param ret_item item_fini(). @return 1, or 0 when there is none, or a code as item_decode() */
int item_load(struct store *store, const char *key, struct item *ret_item, struct rondo_error *err);

/** Called with each item (borrowed), in order of keys. The store may be asked nothing meanwhile.
 *  @return false to end */
typedef bool item_fn(const struct item *item, void *context);
/**
 * @param repository only of that; NULL = all
 * @return 0 or a code. Items that cannot be read are passed over; if there were any, the first
 * one's code is returned after all others were read
 */
int items_read(struct store *store, const char *repository, item_fn *fn, void *context,
               struct rondo_error *err);
