// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the request of a foreign agent ("handoff.requested"). Everything that decides something
 * is computed again: the digest of the action from its arguments, and the id of the request from
 * its place. So an agent can neither have one action approved and make another, nor take the id
 * that another agent would need. Pure; any thread.
 */
#pragma once

#include "handoff/handoff.h"
#include "handoff/step.h"

#include "rondo/error.h"

struct json_object;

/** Bytes of a state that is sent in a request instead of being referred to. */
#define WIRE_MOST_STATE (64 * LIMIT_KIB)

/** A request as it was read. Texts are borrowed from its JSON. */
struct wire_request {
    char request_id[ID_SIZE]; /**< the one that its place has */
    char given_id[ID_SIZE];   /**< as sent; "" = none */
    const char *agent_id;
    const char *parent_id; /**< NULL = none */
    const char *lane_id;
    const char *run_id; /**< of the agent's own run; "" = none */
    const char *workflow_id;
    const char *step_id;
    const char *supersedes; /**< NULL = none */
    char action_digest[HANDOFF_DIGEST_SIZE];
    char state_hash[HANDOFF_DIGEST_SIZE]; /**< "" = none */
    char body_digest[HANDOFF_DIGEST_SIZE];
    enum handoff_level risk;
    enum handoff_level priority;
    int64_t required_by_ns;
    uint32_t attempt;
    uint32_t revision;
    bool is_idempotent;
};

/**
 * Read a request.
 * @param body its bytes, of which `root` was made
 * @return RONDO_ERR_INVALID with the member that is wrong; RONDO_ERR_LIMIT
 */
int wire_request_read(struct json_object *root, const char *body, size_t len,
                      struct wire_request *ret_request, struct rondo_error *err);

/** What the state machine is given of a request. Borrows from it. */
struct handoff_request wire_request_of(const struct wire_request *request);

/** The id that another attempt at the same place has. @param ret_id ID_SIZE bytes */
int wire_request_id_of(const struct wire_request *request, uint32_t attempt, char *ret_id,
                       struct rondo_error *err);

/**
 * The digest of an action: {tool, args, resource?, operands?}, also under the name operand_digests.
 * When it gives one itself (action_digest), it must be the same.
 * @param ret_digest HANDOFF_DIGEST_SIZE bytes
 */
int wire_action_digest(struct json_object *action, char *ret_digest, struct rondo_error *err);

/** A digest with or without "sha256:". @param ret_digest HANDOFF_DIGEST_SIZE @return whether it is
 */
bool wire_read_digest(const char *text, char *ret_digest);

/** A time in RFC 3339 with Z. @return whether it is one, from 1970 to 2261 */
bool wire_read_time(const char *text, int64_t *ret_ns);

/** Whether a text can name an agent, a lane, a process: 1 to HANDOFF_NAME_SIZE - 1 bytes, without
 * control characters and slashes. */
bool wire_is_name(const char *text);
