// SPDX-License-Identifier: Apache-2.0
/*
 * Claims in comments, for those who may not push references: a hidden line of the status comment of
 * a claim. Of the claims on an issue that are alive, that in the comment with the lowest id has it.
 * One is alive until its lease and the grace are over, by the clock of the forge; while the pull
 * request that it names is open; and never again after a later claim of the same account has named
 * it as superseded. That others have named it counts for its owner alone, when it is over.
 *
 * Anybody can write such comments, and edit what he has written long ago. One makes others leave
 * the issue alone for as long as it is alive, and does nothing else: who has the issue keeps it.
 * Pure; any thread.
 */
#pragma once

#include "forge/forge.h"
#include "issues/claim.h"
#include "issues/step.h"

/** Append the status comment with a claim in its second line.
 *  @param status item_write_comment() */
void claim_comment_write(const char *status, const struct claim *claim, struct buf *ret_text);

/** One status comment of the issue, by any author. */
struct claim_comment {
    int64_t id;
    const char *author; /**< borrowed; or NULL */
    int64_t updated_ns;
    enum item_state state; /**< that it tells; ITEM_STATE_COUNT = none */
    bool has_claim;        /**< that can be read */
    bool is_superseded;    /**< a later claim by any author says so; */
    bool is_ended;         /**< one of the same author does */
    bool is_last;          /**< claim of its author: only that is kept by a pull request */
    struct claim claim;
};

struct claim_comments {
    struct claim_comment *items; /**< with rising ids */
    size_t count;
    bool is_full; /**< there are, or may be, more than can be read: nothing can be told */
};

/**
 * Find the status comments among all comments of an issue.
 * @param comments as forge_list_comments() has read them; stay while the result is used
 * @param ret_comments claim_comments_fini()
 */
void claim_comments_read(int64_t number, const struct forge_comments *comments,
                         struct claim_comments *ret_comments);
void claim_comments_fini(struct claim_comments *comments);
#define auto_claim_comments __attribute__((cleanup(claim_comments_fini)))

/** Who asks, and when. Borrowed. */
struct claim_asker {
    const char *login;  /**< ours */
    const char *nonce;  /**< of our claim; "" = there is none */
    int64_t comment_id; /**< of our claim; 0 = not known: found by the nonce */
    int64_t now_ns;     /**< clock of the forge */
    /** Our claim was seen to be ours after the wait for those of others. While it is fresh, no
     *  other account can end it: neither by a later claim, nor by an old comment that is edited. */
    bool is_settled;
    bool has_lapsed; /**< it was renewed after it had ended: it counts as one that is over */
    /** Whether the pull request that a claim names keeps it. */
    bool (*keeps)(void *context, int64_t pull);
    void *context;
};

/** The comment with our claim, be it over. @return NULL when it is gone, or its claim is */
const struct claim_comment *claim_comments_find(const struct claim_comments *comments,
                                                const struct claim_asker *asker);

/** Whether a claim keeps others from the issue. */
bool claim_comment_is_alive(const struct claim_comment *comment, const struct claim_asker *asker);

/** Whose the issue is. When our claim has expired and nobody has come after it, it is ours still;
 *  whatever came after it may have been a whole tenure. Never UNKNOWN. */
enum claim_fact claim_comments_judge(const struct claim_comments *comments,
                                     const struct claim_asker *asker);

/** The first claim of others that is alive. @return NULL = the issue is free */
const struct claim_comment *claim_comments_holder(const struct claim_comments *comments,
                                                  const struct claim_asker *asker);

/** What a new claim supersedes: those that have expired, the newest ones of many. */
void claim_comments_supersede(const struct claim_comments *comments,
                              const struct claim_asker *asker, struct claim *claim);
