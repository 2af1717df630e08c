// SPDX-License-Identifier: Apache-2.0
/*
 * Webhooks of forges, as a hint to look at the issues now. What they say is not read: a request
 * that is sent again, or tells a lie, starts nothing that a look would not.
 */
#pragma once

#include <stdbool.h>

struct source_delivery;

/** Name of the hook: POST /hooks/work. */
#define WORK_HINT "work"

/** A request that is checked for several queues. What others can send is hashed once for all that
 *  have the same secret, and not at all without a signature. */
struct work_hint {
    const struct source_delivery *delivery;
    const char *secret; /**< of the last check, borrowed; NULL = none was made */
    bool was_genuine;
};

/**
 * Whether a request was made with the secret: X-Hub-Signature-256 (GitHub), X-Gitea-Signature,
 * X-Forgejo-Signature (HMAC-SHA256 over the body), or X-Gitlab-Token (the secret itself). Takes the
 * same time wherever it is wrong. Any thread.
 * @param secret NULL or "" = nothing is genuine; it lasts as long as the hint
 */
bool work_hint_is_genuine(struct work_hint *hint, const char *secret);
