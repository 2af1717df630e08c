// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of a queue. All of it but the requests of other threads (`lock`) belongs to its thread.
 *
 *   queue     the thread: when to look, what to wait for
 *   poll      the list of issues, and which of them is taken next
 *   refs      claims that are references of the git remote
 *   comments  claims that are comments on the issues
 *   fork      branches in a fork
 *   see       what is true of an item: its claim, issue, run and pull request
 *   do        what is done with it, each effect between two durable changes of the item
 *   tell      labels, assignee and the status comment
 *   sweep     claims of others that nobody will ever end
 *   hear      what people ask for in comments
 *   task      what the run works on
 *   run       the run that works on it
 *   day       the budgets of a day
 *   place     how many issues this machine works on
 *   gates     when checks fail whatever the issue is
 *   trouble   what keeps the queue from working, for people
 */
#pragma once

#include "issues/claim.h"
#include "issues/queue/queue.h"
#include "issues/request.h"
#include "issues/text.h"

#include "base/cancel.h"
#include "work/history.h"

#include <pthread.h>

/** An issue that could not be claimed is not tried again for so long. */
#define QUEUE_COOL_NS (300 * NS_PER_S)
/** One that costs requests to judge waits longer where there are many: so long for each issue. */
#define QUEUE_COOL_SHARE_NS (3 * NS_PER_S)
/** Longest time of judging issues before the items have their turn: claims have to be renewed. */
#define QUEUE_PASS_NS (10 * NS_PER_S)
/** How old the answer may be whether the budget of a day is used up. */
#define QUEUE_DAY_NS (10 * NS_PER_S)
/** So old may the proof be that a claim is ours when something is written outside. */
#define QUEUE_PROOF_NS (5 * NS_PER_S)
/** Tries to get a proof that is not older than that: the remote may be slow. */
#define QUEUE_PROOFS 3
/** Webhooks make a poll earlier, but not more often than that. */
#define QUEUE_HINT_GAP_NS (2 * NS_PER_S)
/** How old the list of claims may be that says what is worth trying. */
#define QUEUE_CLAIMS_NS (30 * NS_PER_S)
/** Claims that cannot be read, and are watched for that. */
#define QUEUE_ODD_CLAIMS 100
/** Between two looks for claims that nobody will ever end; the first one is at the start. */
#define QUEUE_SWEEP_NS (3600 * NS_PER_S)
/** Claims that one such look asks the forge about; further ones have their turn at the next one. */
#define QUEUE_SWEEP_LOOKS 20
/** Pull requests that were open, and are asked for again with a condition. */
#define QUEUE_SWEEP_TAGS 100
/** An open issue that lost the labels keeps a claim for so long after its lease: machines with
 * other filters may want it. */
#define QUEUE_SWEEP_UNWANTED_NS (86400 * NS_PER_S)
/** A thread that has nothing to do for so long need not be there. */
#define QUEUE_PARK_NS (5 * NS_PER_S)
/** How often a pull request is looked at. */
#define QUEUE_PULL_NS (60 * NS_PER_S)
/** For so many items in review, each is looked at less often by as much. */
#define QUEUE_PULL_SHARE 4
/** Circuits of the forge and of models: failures in a row. The first pause is that between polls.
 */
#define QUEUE_FAILURES 3
/** Circuit of checks: its first pause is so many times that between polls, because a person has to
 *  mend the machine or the base. */
#define QUEUE_GATE_POLLS 60
/** Circuit of the git remote: claims end with their lease, so it is tried again soon. */
#define QUEUE_GIT_PAUSE_NS (2 * NS_PER_S)
/** So often the start of a run may fail before the issue is put off. */
#define QUEUE_FAILED_STARTS 5

/** Comments of earlier tenures that are tidied up at once. */
#define QUEUE_OLD_COMMENTS 20

/** What a run came to. */
struct queue_outcome {
    char run_id[ID_SIZE]; /**< of the run, when it has ended; else "" */
    enum run_fact fact;
    char commit[GIT_ID_SIZE];
    char *message; /**< why it failed; or NULL. Owned, as the next ones */
    char *log;
    char *summary;
    struct item_check *checks; /**< with owned texts */
    size_t check_count;
    int64_t attempts;
    int64_t tokens, cost_micro, active_ns;
    uint64_t gate_print; /**< equal for checks that failed in the same way; 0 = none failed */
};
void queue_outcome_fini(struct queue_outcome *outcome);

/** Issues whose comments were read, so that they are read again only when something has changed. */
#define QUEUE_HEARD 4096
struct queue_heard {
    int64_t number;
    int64_t updated_ns;
    int64_t comments;
    int64_t last_id;  /**< of the comments that were read */
    bool wants_retry; /**< the last command was that, and nobody has carried it out yet */
};

/** A pull request that a claim of others names. */
struct queue_tag {
    int64_t pull;
    char etag[FORGE_ETAG_SIZE]; /**< of the answer that said it is open; "" = none */
};

/** An item that this process works on. */
struct queue_slot {
    struct item item;
    struct item_facts facts;
    struct queue_outcome outcome; /**< of its run, when that has ended */
    enum pull_fact pull;
    int64_t pull_read;               /**< number of the one that the next two are of */
    char pull_etag[FORGE_ETAG_SIZE]; /**< of the last answer; "" = none */
    char pull_head[GIT_ID_SIZE];     /**< its commit then */
    int64_t pull_seen_ns;            /**< monotonic, as the next one */
    int64_t proven_ns;               /**< the claim was ours then; 0 = not known */
    enum claim_fact claim;           /**< as the remote said last */
    uint64_t told_at_list;           /**< labels were changed after that list */
    uint64_t asked_at_poll;          /**< that poll asked for the issue itself */
    int failed_starts;               /**< of its run, in a row */
    uint64_t request_version; /**< of what a person asked for last by a command; 0 = nothing */
    bool is_asked_released;   /**< a person asks for it, as the next one */
    bool is_asked_retry;
    struct issue_circuit release_circuit; /**< of giving the claim back, which was refused */
    char *failure;                        /**< of its claim, as it was told last; or NULL. Owned */
    int place_fd;                         /**< while it is worked on; 0 = none */
    bool is_swept;                        /**< taken over only to be ended */
    bool is_ended;                        /**< there is nothing left to do */
    /* Claims that are comments: */
    bool is_settled; /**< of struct claim_asker, as the next one */
    bool has_lapsed;
    int64_t confirmed_ns; /**< clock of the forge: the last text that was certainly written */
    int64_t superseded[LIMIT_CLAIM_SUPERSEDED]; /**< what ours says to have taken over */
    size_t superseded_count;
    int64_t old_ids[QUEUE_OLD_COMMENTS]; /**< comments of ours of earlier tenures */
    size_t old_count;
};

/** A claim that may be taken over. */
struct queue_former {
    char id[GIT_ID_SIZE]; /**< "" = there is none */
    struct claim claim;   /**< of one that can be read */
};
void queue_former_fini(struct queue_former *former);
#define auto_former __attribute__((cleanup(queue_former_fini)))

/** What becomes of the claim of an item. */
struct queue_claim_change {
    const char *old_id;        /**< what it replaces; "" = there must be none */
    const struct claim *claim; /**< the new one; NULL = it is given back */
    bool has_branch;           /**< the item's branch moves to its commit together with it */
    bool is_untold;            /**< given back before people were told anything */
};

/**
 * Where claims are kept. All that the queue does with claims goes through here; exclusion depends
 * on it alone.
 */
struct queue_medium {
    /** Change the claim of an item, which notes it when it is done. @param ret_reason owned, why
     *  it is not done, for people; or NULL */
    enum git_claim_end (*change)(struct issue_queue *queue, struct queue_slot *slot,
                                 const struct queue_claim_change *change, char **ret_reason);
    /** Ask whose the claim of an item is now. An answer that took so long that it may be out of
     *  date proves nothing, so `proven_ns` is when it was asked. */
    void (*ask)(struct issue_queue *queue, struct queue_slot *slot);
    /** Whether somebody has the issue: ISSUE_CLAIMED; ISSUE_COOLING when nobody knows now;
     *  ISSUE_RELEASED when there is a mark of a release whose time is not over, which may be taken
     *  over if a person asks for it.
     *  @param ret_former queue_former_fini(); also for ISSUE_RELEASED */
    enum issue_verdict (*judge)(struct issue_queue *queue, const struct forge_issue *issue,
                                struct queue_former *ret_former);
    /** A claim that was never ours is taken away; or NULL. */
    void (*withdraw)(struct issue_queue *queue, struct queue_slot *slot);
    /** It is the status comment: people can edit and delete it, so it is looked at with each poll;
     *  and each try has a nonce of its own. */
    bool is_comment;
};

/** What keeps a queue from working: the first ones are the more important ones. */
enum queue_trouble {
    QUEUE_TROUBLE_CLAIM = 0, /**< claims are refused */
    QUEUE_TROUBLE_GIT,       /**< the git remote cannot be read, or does not answer */
    QUEUE_TROUBLE_FORGE,     /**< the forge cannot be read */
    QUEUE_TROUBLE_GATES,     /**< checks fail in the same way whatever the issue is */
    QUEUE_TROUBLE_PLACE,     /**< other processes of this machine are at work */
    QUEUE_TROUBLE_DAY,       /**< a budget of a day is used up, or cannot be kept */
    QUEUE_TROUBLE_ITEM,      /**< an item cannot be read */
    QUEUE_TROUBLES
};

struct issue_queue {
    struct issue_queue_options options;
    const struct queue_medium *medium; /**< NULL = that is not known yet */
    char *fork_url, *fork_origin;      /**< options.fork; NULL without one, or not yet known */
    struct git_access fork_access;
    int64_t fork_id;
    char *repository; /**< "HOST/OWNER/NAME" */
    struct forge *forge;
    struct forge_repository facts;
    bool has_facts;
    char *base;
    struct git git;
    struct cancel cancel;
    struct queue_slot **slots;
    size_t count;
    struct forge_issues issues; /**< of the last poll */
    bool has_issues;
    unsigned made_labels;     /**< a bit for each state whose label the repository has */
    struct git_claims claims; /**< of the remote */
    int64_t claims_ns;        /**< monotonic: when they were read; 0 = never */
    struct {
        char id[GIT_ID_SIZE];
        int64_t since_ns;
    } * odd; /**< QUEUE_ODD_CLAIMS; NULL before the first one */
    size_t odd_count;
    int64_t sweep_ns; /**< monotonic: the next look for claims left over; 0 = at once */
    char swept[32];   /**< name of the claim after which that continues; "" = from the first */
    struct queue_tag *tags; /**< at most QUEUE_SWEEP_TAGS; NULL before the first one */
    size_t tag_count, tag_next;
    struct queue_heard *heard; /**< at most QUEUE_HEARD */
    size_t heard_count, heard_room, heard_next;
    struct issue_window window;
    struct issue_cooling *cooling;
    struct issue_circuit forge_circuit;
    int place_fd; /**< for the next issue that is taken; 0 = none */
    struct issue_circuit model_circuit;
    struct issue_circuit gate_circuit;
    uint64_t gate_print; /**< of the failures that it counts */
    struct issue_circuit git_circuit;
    struct issue_circuit claim_circuit; /**< of making claims, which was refused */
    char *troubles[QUEUE_TROUBLES];     /**< as they were told; NULL = none */
    char *shown_trouble;                /**< the one in the store; NULL = none */
    int64_t day_seen_ns; /**< monotonic: of the next one; 0 = it has to be found out */
    bool is_day_spent;
    int64_t unjudged;     /**< an issue that may be work: it could not be found out; 0 = none */
    bool is_pass_cut;     /**< the last pass has not come to all issues, */
    bool is_pass_late;    /**< because its time was over */
    uint64_t polls;       /**< made so far */
    uint64_t lists;       /**< polls that had a new list */
    uint64_t idle;        /**< polls without work in a row */
    int64_t next_poll_ns; /**< monotonic, as the next one */
    int64_t polled_ns;    /**< the last poll */
    int64_t next_due_ns;  /**< of the items; clock of the forge */
    bool was_taken;       /**< is_once: an issue was taken */
    bool is_begun;        /**< the thread was there before, and was parked */
    pthread_t thread;     /**< used by the thread that stops the queue, as the next one */
    bool has_thread;      /**< it has to be joined */
    pthread_mutex_t lock; /**< of the next ones */
    pthread_cond_t changed;
    bool is_woken, wants_poll, is_stopping, is_over;
    bool is_parked;          /**< the thread has ended, or is about to */
    int64_t parked_until_ns; /**< monotonic */
    struct rondo_error fault;
    struct issue_queue_end last;
};

/* queue */
/** A queue whose thread has ended, or was never begun. */
void queue_free(struct issue_queue *queue);
/** Tell people about an item. @param slot NULL = about the queue */
void queue_say(struct issue_queue *queue, const struct queue_slot *slot, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Nothing more makes sense: the thread ends. */
void queue_fail(struct issue_queue *queue, const struct rondo_error *err);
/** A call of the forge has ended: count it. @return whether it was FORGE_OK */
bool queue_forge_ended(struct issue_queue *queue, enum forge_end end);
/** A call of the git remote has ended: count it. Reading without credentials does not work, either:
 *  only for a change is AUTH an answer, which the caller passes as DONE.
 *  @param reason of a failure; or NULL */
void queue_git_ended(struct issue_queue *queue, enum git_claim_end end, const char *reason);
/** Whether the git remote may be asked: not while it fails all the time. */
bool queue_git_lets(const struct issue_queue *queue);
/** A service has failed: after some failures in a row it is left alone for a while. */
void queue_note_failure(struct issue_queue *queue, struct issue_circuit *circuit);
bool queue_is_stopping(struct issue_queue *queue);
struct queue_slot *queue_find(struct issue_queue *queue, int64_t number);
struct queue_slot *queue_add(struct issue_queue *queue, struct item *item);
/** What a person has asked of an item was done. */
void queue_clear_request(struct issue_queue *queue, struct queue_slot *slot);
/** Save the item; a failure ends the queue. */
bool queue_save(struct issue_queue *queue, struct queue_slot *slot);

/* trouble */
/** Something keeps the queue from working: people are told, once for each reason. */
void queue_trouble(struct issue_queue *queue, enum queue_trouble kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** It is over. */
void queue_untrouble(struct issue_queue *queue, enum queue_trouble kind);
/** Bring what the store says about that in line. */
void queue_show_trouble(struct issue_queue *queue);
/** The queue ends: what it has said is over. */
void queue_end_troubles(struct issue_queue *queue);

/* place */
/** Have a place on this machine for the issue that is taken next. @return false = all are taken */
bool queue_reserve(struct issue_queue *queue);
/** It was not taken. */
void queue_unreserve(struct issue_queue *queue);
/** See that an item has a place while it is worked on, and only then. @return false = it needs one,
 *  and all are taken */
bool queue_hold(struct issue_queue *queue, struct queue_slot *slot);
/** Others may have its place. */
void queue_let_go(struct queue_slot *slot);

/* gates */
/** How the checks of an attempt failed. @param attempt or NULL @return 0 = they did not */
uint64_t queue_gate_print(const struct work_attempt *attempt);
/** All attempts at an issue were used up because its checks failed. */
void queue_gates_failed(struct issue_queue *queue, const struct queue_slot *slot);
/** The checks of an issue passed. */
void queue_gates_worked(struct issue_queue *queue);

/* day */
/** Whether the budgets of a day are used up, or cannot be kept. */
bool queue_is_day_spent(struct issue_queue *queue);

/* poll */
void queue_poll(struct issue_queue *queue);
/** Take what is next, as far as there is room. @return whether one was taken */
bool queue_take(struct issue_queue *queue);
/** Append what would be done with each issue. Writes nothing outside. */
void queue_preview(struct issue_queue *queue, struct buf *ret_text);
/** Items of this store that a process which is gone has left. */
void queue_adopt(struct issue_queue *queue);
/** Read what the forge says of the repository, once. */
bool queue_read_facts(struct issue_queue *queue);
/** Whether a person has asked, in this store or by a comment, to begin again. */
bool queue_is_asked(struct issue_queue *queue, const struct forge_issue *issue);
/** Why an issue is not taken now. Reads claims and relations of it. */
enum issue_verdict queue_judge(struct issue_queue *queue, const struct forge_issue *issue,
                               struct queue_former *ret_former);

/** An item for the issue: what was known of it, or a new one. @return false = it cannot be read */
bool queue_make_item(struct issue_queue *queue, const struct forge_issue *issue,
                     struct item *ret_item);

/* sweep */
/**
 * Take over what others will not come back for, so that the state machine ends it: claims whose
 * lease is over and whose pull request or issue is closed. At the start, and every QUEUE_SWEEP_NS.
 * To be called after a poll.
 */
void queue_sweep(struct issue_queue *queue);

/* refs */
/** References of the git remote: only those who may push can change them. */
extern const struct queue_medium queue_refs;
/** Read claims from the remote. @param name of one of them; NULL = all
 *  @param ret_claims git_claims_fini(). @return whether they were read */
bool queue_read_claims(struct issue_queue *queue, const char *name, struct git_claims *ret_claims);
/** Read all of the remote into `claims`, unless that was done at most QUEUE_CLAIMS_NS ago.
 *  @return whether they are known */
bool queue_read_references(struct issue_queue *queue);
/** That of an issue, as of at most QUEUE_CLAIMS_NS ago. @param ret_claim borrowed; NULL = there is
 *  none. @return whether that is known */
bool queue_find_reference(struct issue_queue *queue, int64_t number,
                          const struct git_claim **ret_claim);
/** Whether it has expired, or its pull request is closed. One that cannot be read is not over. */
bool queue_reference_is_over(struct issue_queue *queue, int64_t number,
                             const struct git_claim *claim);

/* comments */
/** Comments on the issues, for those who may not push. References of others outrank them. */
extern const struct queue_medium queue_comments;
/** Delete what our account has told of earlier tenures, as far as that is known. */
void queue_comments_tidy(struct issue_queue *queue, struct queue_slot *slot);

/* fork */
/** Read the fork. Once. */
int queue_fork_open(struct issue_queue *queue, struct rondo_error *err);
/** How the branches of pull requests are reached. */
const struct git_access *queue_branch_access(const struct issue_queue *queue);
/** Push the branch of an item to the fork, whose claim was just proven. @param ret_reason owned */
enum git_claim_end queue_fork_push(struct issue_queue *queue, struct queue_slot *slot,
                                   char **ret_reason);

/* see */
/** The issue in the list of the last poll. @return borrowed; NULL = it is not in it */
const struct forge_issue *queue_find_listed(const struct issue_queue *queue, int64_t number);
void queue_see(struct issue_queue *queue, struct queue_slot *slot);
/** Ask the remote whether the claim is ours, unless that was seen a moment ago. Before each change
 *  outside: a machine may be frozen at any place, and be taken over. */
bool queue_prove(struct issue_queue *queue, struct queue_slot *slot);

/* hear */
/** Whether a comment is by the token's account. False while its login is not known. */
bool queue_is_by_us(const struct issue_queue *queue, const struct forge_comment *comment);
/**
 * A command in comments after `*read_comment_id`, which becomes that of the last one read.
 * @param skips_old commands do not count that were written before the status comment's last edit:
 * another machine, or a store that is lost, has carried them out
 */
enum item_command queue_hear(struct issue_queue *queue, const struct forge_issue *issue,
                             bool skips_old, int64_t *read_comment_id);
/** Whether a person asks in a comment to begin again, heard now or before. See queue_hear(). */
bool queue_hear_retry(struct issue_queue *queue, const struct forge_issue *issue, bool skips_old,
                      int64_t *read_comment_id);
/** What was asked in comments so far is done. */
void queue_forget_heard(struct issue_queue *queue, int64_t number);
/** The issue is taken: what was asked in comments so far is done by that. */
void queue_skip_heard(struct issue_queue *queue, const struct forge_issue *issue,
                      int64_t *read_comment_id);

/* do */
/** @return whether something was done: the item has to be looked at again */
bool queue_do(struct issue_queue *queue, struct queue_slot *slot, const struct item_action *action);
/** Take a claim for an item. @param former what is taken over
 *  @return whether it is ours; if nobody knows, the item stays ASSIGNED, else it is FENCED */
bool queue_claim(struct issue_queue *queue, struct queue_slot *slot,
                 const struct queue_former *former);
/** What has become of an item whose claim is taken over only to be ended. */
struct queue_ending {
    enum item_state state;
    enum item_reason reason;
    const char *commit; /**< of the claim's branch, which is deleted when it is merged; "" = not */
};
/** Take a claim over to end it. When others were faster the item is released. */
void queue_take_over(struct issue_queue *queue, struct queue_slot *slot,
                     const struct queue_former *former, const struct queue_ending *ending);
/** Write the claim of an item as the item is now. @param old_id what it replaces @param ret_reason
 *  as of queue_medium */
enum git_claim_end queue_write_claim(struct issue_queue *queue, struct queue_slot *slot,
                                     const char *old_id, int64_t takeovers, char **ret_reason);
/** The issue was not to be claimed after all: nobody is told, and the slot has ended. */
void queue_give_back(struct issue_queue *queue, struct queue_slot *slot);

/* tell */
/** Whether the token has the right to change labels and assignees. Without it the comment tells
 *  all. */
bool queue_may_label(const struct issue_queue *queue);
bool queue_is_told(struct issue_queue *queue, struct queue_slot *slot);
bool queue_tell(struct issue_queue *queue, struct queue_slot *slot);
/** Append the status comment of an item. */
void queue_write_status(struct issue_queue *queue, const struct queue_slot *slot,
                        struct buf *ret_text);
void queue_report(struct issue_queue *queue, const struct queue_slot *slot,
                  struct item_report *ret_report);

/* task */
/** Room for the id of a task: "12", or "12.3" of a list. */
#define QUEUE_TASK_ID 48
/** Write the prd.json of a run. @param ret_folder it is there; owned @param ret_count tasks */
int queue_task_write(struct issue_queue *queue, const struct queue_slot *slot, char **ret_folder,
                     int64_t *ret_count, struct rondo_error *err);

/* run */
/** A run that is new gets its id, which has to be saved before the run begins. */
void queue_run_name(struct issue_queue *queue, struct queue_slot *slot);
int queue_run_start(struct issue_queue *queue, struct queue_slot *slot, struct rondo_error *err);
/** Whether the base still has the commit that the work began from. */
int queue_base_endures(struct issue_queue *queue, const struct queue_slot *slot, bool *ret_endures,
                       struct rondo_error *err);
/** What the run of an item came to. */
void queue_run_see(struct issue_queue *queue, struct queue_slot *slot);
