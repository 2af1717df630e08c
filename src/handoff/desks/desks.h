// SPDX-License-Identifier: Apache-2.0
/*
 * The desk file: which people there are, which desks they are on, which requests go to which desk,
 * and in what time they must be decided. It is YAML, lies beside the policy file, and is as much
 * out of the reach of agents (handoff/desks/watch.h).
 *
 * Without the file there is one desk, HANDOFF_DESK, and everybody who may use the store is on it;
 * so every function here takes NULL for "no file". A `struct desks` never changes; any thread.
 */
#pragma once

#include "handoff/storage/store.h"
#include "handoff/view/redact.h"

/** Name of the file, beside the store. */
#define DESKS_FILE "desks.yaml"

/** Requests that may wait for people. */
struct desks_lanes {
    struct handoff_bounds bounds;
};

extern const struct desks_lanes desks_default_lanes;

/** Names, without owned memory. */
struct desks_names {
    const char **names;
    size_t count;
};

/**
 * Read a desk file.
 * @param name for messages: "desks.yaml:3: ..."
 * @param ret_desks desks_free()
 * @return RONDO_ERR_INVALID, RONDO_ERR_LIMIT with the line and what is wrong
 */
int desks_read(const char *text, size_t len, const char *name, struct desks **ret_desks,
               struct rondo_error *err);

void desks_free(struct desks *desks);

/** Whether requests can be routed and decided: not while the file is wrong from the start. */
bool desks_is_usable(const struct desks *desks);

/** "sha256:...", of the text of the file; "" without one. */
const char *desks_digest(const struct desks *desks);
const struct handoff_rules *desks_rules(const struct desks *desks);
const struct desks_lanes *desks_lanes(const struct desks *desks);

/** The handoffs of a store with the rules of its desks; both outlive it. */
struct handoff_store desks_store(struct store *store, const struct desks *desks);

/* ---- Routing -------------------------------------------------------------------------------- */

struct desks_request {
    const char *agent_id;
    const char *tool;
    enum handoff_level risk;
    const char *routing_policy_id; /**< NULL = none */
    const char *const *supervisors;
    size_t supervisor_count;
};

/**
 * Find the desk of a request: the first rule of `routing` that matches, the rule that the request
 * names, the first of its supervisors that is known, HANDOFF_DESK.
 * @param ret_desk HANDOFF_NAME_SIZE bytes
 * @param ret_rule id of the rule that decided, "supervisors" or "default"; may be NULL
 * @return false when nothing resolves
 */
bool desks_route(const struct desks *desks, const struct desks_request *request, char *ret_desk,
                 const char **ret_rule);

/**
 * The desk that a name means: that of a desk, else the first desk with a role or a person of that
 * name, else the person's own, which is "user:NAME", or that of all with the role, "role:NAME".
 * @param ret_desk HANDOFF_NAME_SIZE bytes
 */
bool desks_resolve(const struct desks *desks, const char *name, char *ret_desk);

/* ---- People --------------------------------------------------------------------------------- */

/** Roles of "user:ann". @return whether the file names the person; true without a file */
bool desks_person(const struct desks *desks, const char *person, struct desks_names *ret_roles);

/** Whether a person is on a desk, by a role or by name. */
bool desks_is_on(const struct desks *desks, const char *person, const char *desk);

/**
 * What a person may do with a handoff: is_assignee on the desk that has it, or one of those that it
 * was escalated to; may_decide by its risk. Whether the person is an administrator or acts for the
 * agent is the caller's.
 */
struct handoff_actor desks_actor(const struct desks *desks, const char *person,
                                 const struct handoff *handoff);

/** The role in which a person decides, for the record: the first one that puts the person on one of
 * its desks; "operator" when there is none. */
const char *desks_role(const struct desks *desks, const char *person,
                       const struct handoff *handoff);

/** The desk that has a handoff, and those that it was escalated to. @param ret_desks of
 * HANDOFF_MOST_DESKS names @return how many */
size_t desks_of(const struct desks *desks, const struct handoff *handoff, const char **ret_desks);

/* ---- What is hidden ------------------------------------------------------------------------- */

/**
 * How somebody sees the requests of an agent.
 * @param viewer "user:ann"; NULL = a reader who is no person, from whom all rules hide
 * @param agent, tool of the request; NULL = not known, so that rules of any may apply
 * @return borrows from all of these; redact_hides() says whether anything is hidden. Of a file that
 *         is wrong from the start no rule is known: everything that agents have sent is hidden
 */
struct redact_view desks_view(const struct desks *desks, const char *viewer, const char *agent,
                              const char *tool);

/** Append the file's content as JSON, for `rondo desks show` and the page. */
void desks_write(const struct desks *desks, struct buf *ret_json);
