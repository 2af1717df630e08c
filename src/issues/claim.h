// SPDX-License-Identifier: Apache-2.0
/*
 * The text of a claim: who works on an issue, until when, and the nonce that fences. It is the
 * message of a commit (git/claims/claims.h), or hidden in a comment (issues/claim_comment.h). What
 * others wrote is hostile: it is bounded, and unknown members are ignored. Pure; any thread.
 *
 * Where a person has released an issue, a mark without owner takes the place of the claim: it says
 * until when all programs leave the issue alone, because nobody else knows what people have asked
 * of one of them.
 */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "rondo/error.h"

#include <stddef.h>
#include <stdint.h>

#define CLAIM_LEASE_NS     (INT64_C(600) * 1000000000)
#define CLAIM_HEARTBEAT_NS (INT64_C(150) * 1000000000)
/** So long is an issue left alone that a person has released. */
#define CLAIM_RELEASED_NS (INT64_C(3600) * 1000000000)
/** After the lease, so many more heartbeats are waited for before a claim is taken over. */
#define CLAIM_GRACE_BEATS 2

struct claim {
    int64_t number;
    char nonce[ID_SIZE];
    char *owner; /**< for people: "process 812 on build7" */
    char run_id[ID_SIZE];
    int64_t written_ns; /**< this text, at the claim or at the last renewal; clock of the forge, as
                             the next one */
    int64_t lease_ns;   /**< until then; at most CLAIM_LEASE_NS after `written_ns` */
    int64_t attempts;   /**< of the issue so far, over all owners */
    int64_t takeovers;  /**< owners that died */
    int64_t pull;       /**< the claim stays until that is closed; 0 = none */
    int64_t released_until_ns; /**< a mark: nobody works on the issue, nor takes it before then; at
                                    most CLAIM_RELEASED_NS after `written_ns`; 0 = a claim */
    char *branch;              /**< or NULL */
    int64_t superseded[LIMIT_CLAIM_SUPERSEDED]; /**< comments whose claims have ended for good */
    size_t superseded_count;
};
void claim_fini(struct claim *claim);

/** Append it as one line of JSON, without characters that end an HTML comment. */
void claim_encode(const struct claim *claim, struct buf *ret_text);
/**
 * @param text blanks and line ends around the JSON are ignored
 * @param ret_claim claim_fini()
 * @return RONDO_ERR_INVALID for what is no claim of this issue
 */
int claim_decode(int64_t number, const char *text, struct claim *ret_claim,
                 struct rondo_error *err);

/** What a claim is good for without a renewal. One that cannot be read, or whose lease is further
 *  away than a lease is long (a wrong clock), may be taken over when it was seen unchanged for as
 *  long. */
#define CLAIM_ENDURES_NS (CLAIM_LEASE_NS + CLAIM_GRACE_BEATS * CLAIM_HEARTBEAT_NS)

/** Whether it may be taken over: lease and grace are over, and no pull request keeps it; of a mark,
 *  whether its time is over. */
bool claim_is_expired(const struct claim *claim, int64_t now_ns);
/** As claim_is_expired(), whether or not a pull request keeps it. */
bool claim_lease_is_over(const struct claim *claim, int64_t now_ns);
/** Whether a branch is one that item_write_branch() makes for an issue. */
bool claim_is_branch_of(const char *branch, int64_t number);
/** Make it a mark, which was written at `now_ns` and ends at `until_ns`. Estimates of the forge's
 *  clock go back by some ms, and a mark that ends too late cannot be read: it ends earlier then. */
void claim_make_mark(struct claim *claim, int64_t now_ns, int64_t until_ns);
/** Whether it is a mark whose time is not over. */
bool claim_is_released(const struct claim *claim, int64_t now_ns);
