// SPDX-License-Identifier: Apache-2.0
/*
 * Signed heads of the audit chain, which a server or daemon writes by itself: after every
 * LIMIT_AUDIT_HEAD_ENTRIES entries, and once a day in which there was one.
 */
#include "base/limits.h"
#include "handoff/storage/chain.h"
#include "orchestrator/internal.h"

/** How often it is seen whether the newest head is a day old. */
#define LOOK_EACH_NS (600 * NS_PER_S)

void audit_heads_scan(struct orchestrator *orchestrator)
{
    uint64_t position = orchestrator->decision_position;
    int64_t now_ns = clock_now(orchestrator_clock(orchestrator));
    struct rondo_error err = {0};
    bool is_signed = false;
    bool is_far = position - orchestrator->signed_position >= LIMIT_AUDIT_HEAD_ENTRIES;
    if (!is_far && now_ns < orchestrator->signing_due_ns) {
        return;
    }
    orchestrator->signing_due_ns = now_ns + LOOK_EACH_NS;
    orchestrator->signed_position = position;
    int r = audit_chain_sign_due(orchestrator_store(orchestrator), now_ns, &is_signed, &err);
    if (r < 0 && !orchestrator->is_signing_failing) {
        orchestrator_log(orchestrator, "the head of the audit chain is not signed: %s",
                         err.message);
    }
    orchestrator->is_signing_failing = r < 0;
    pthread_mutex_lock(&orchestrator->lock);
    orchestrator->is_chain_broken = r == RONDO_ERR_CORRUPT;
    pthread_mutex_unlock(&orchestrator->lock);
}
