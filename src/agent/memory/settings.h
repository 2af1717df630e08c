// SPDX-License-Identifier: Apache-2.0
/* What `spec.memory` of a role says: whose memories, how many of each kind, when facts are derived.
 */
#pragma once

#include "agent/memory/embedding.h"
#include "store/memories.h"

#include <stdbool.h>

struct role;

/** When episodes are consolidated. */
enum memory_consolidation {
    CONSOLIDATE_NEVER = 0,        /**< disabled, or there are no episodes or no facts */
    CONSOLIDATE_MANUALLY,         /**< `rondo memory consolidate` */
    CONSOLIDATE_AFTER_AUTONOMOUS, /**< after autonomous runs */
    CONSOLIDATE_AFTER_SESSION,    /**< after all runs */
};

struct memory_settings {
    char *owner; /**< the agent, or "shared:NAME" */
    bool is_enabled[STORE_MEMORY_KIND_COUNT];
    uint64_t keep[STORE_MEMORY_KIND_COUNT];
    enum memory_consolidation consolidation;
    uint64_t consolidation_episodes; /**< of one batch */
    char *consolidation_model;       /**< NAME or PROVIDER:NAME; NULL = the role's */
    struct embedding_settings embeddings;
    int64_t resume_messages; /**< that a resumed conversation begins with */
    uint64_t sessions;       /**< conversations that stay open; at least 1 */
};

/**
 * @param role in its normal form
 * @param ret_settings memory_settings_fini()
 * @return 1; 0 when the role has no memory: nothing is set then
 */
int memory_settings_read(const struct role *role, const char *agent_id,
                         struct memory_settings *ret_settings);
void memory_settings_fini(struct memory_settings *settings);
