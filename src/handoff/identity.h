// SPDX-License-Identifier: Apache-2.0
/*
 * What names an action and a request: digests and ids that the agent and the server find each by
 * itself, from canonical JSON. So an agent knows its key before the first answer, and what is
 * approved is what is run. Pure; any thread.
 */
#pragma once

#include "handoff/handoff.h"
#include "rondo/error.h"

#include <stddef.h>

/** A file that an action names, as it was when it was requested. */
struct handoff_operand {
    const char *path;
    const char *digest; /**< HANDOFF_DIGEST_SIZE */
};

/** An action that is about to be made. */
struct handoff_action {
    const char *tool;
    const char *arguments; /**< a JSON object */
    const char *resource;  /**< what it is made to; NULL = left out */
    const struct handoff_operand *operands;
    size_t operand_count; /**< 0 = left out */
};

/**
 * Whether a text is one JSON object, with no name twice and nothing after it. What is written into
 * a document as it is must be checked with this, or it could end its place there and name others.
 * @param what whose text it is, for the message
 * @return RONDO_ERR_INVALID when it is none
 */
int handoff_check_object(const char *json, const char *what, struct rondo_error *err);

/**
 * The digest of canonical JSON (base/json/canonical.h).
 * @param ret_digest HANDOFF_DIGEST_SIZE bytes
 * @return RONDO_ERR_INVALID when the text has no canonical form
 */
int handoff_digest(const char *json, size_t len, char *ret_digest, struct rondo_error *err);

/** The digest of bytes as they are, such as a result. @param ret_digest HANDOFF_DIGEST_SIZE bytes
 */
void handoff_digest_bytes(const void *bytes, size_t len, char *ret_digest);

/**
 * The digest of {args, operands, resource, tool}. Otherwise as handoff_digest, and
 * RONDO_ERR_INVALID when the arguments are no JSON object.
 */
int handoff_action_digest(const struct handoff_action *action, char *ret_digest,
                          struct rondo_error *err);

/** Where in an agent's work a request is made. */
struct handoff_place {
    const char *agent_id;
    const char *workflow_id;
    const char *run_id;
    const char *step_id;
    const char *lane_id;
    const char *action_digest;
    uint32_t attempt; /**< from 1 */
};

/** The id of a request: the same one for the same place. @param ret_id ID_SIZE bytes */
int handoff_request_id(const struct handoff_place *place, char *ret_id, struct rondo_error *err);
