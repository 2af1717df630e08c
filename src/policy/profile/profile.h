// SPDX-License-Identifier: Apache-2.0
/*
 * Profiles of policies for actions of foreign agents, and the decision about one action.
 *
 * A forbid with the annotation @handoff("reason") asks a person; one without it denies. An action
 * may be made when a permit applies, no forbid does and every policy could be evaluated. Several
 * profiles may count for an action, then the strictest answer does: those that the operator
 * assigned to the agent, and what the agent itself names. So an agent can make it harder for
 * itself, never easier.
 *
 * A set of profiles never changes; any number of threads may use one at once.
 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "policy/profile/context.h"
#include "rondo/error.h"

#include <stddef.h>

enum profile_outcome {
    PROFILE_ALLOW = 0, /**< later ones are stricter */
    PROFILE_HANDOFF,
    PROFILE_DENY,
};

/** "allow", "handoff", "deny". */
const char *profile_outcome_name(enum profile_outcome outcome);

struct profiles;

/** What profiles are made of. */
struct profiles_source {
    const char *policies; /**< Cedar text instead of the built-in profiles; NULL = those */
    size_t policies_len;
    const char *entities; /**< Cedar entities: agents with their profiles, tools; NULL = none */
    size_t entities_len;
};

/**
 * Make a set. Every policy of a text is tried with contexts at both ends of each attribute: one
 * that cannot be evaluated is an error.
 * @return 0; RONDO_ERR_INVALID with `profiles.cedar:line:column: ...`; RONDO_ERR_LIMIT
 */
int profiles_make(const struct profiles_source *source, struct profiles **ret_profiles,
                  struct rondo_error *err);
/** @return the set; profiles_unref() */
struct profiles *profiles_ref(struct profiles *profiles);
/** NULL is allowed. */
void profiles_unref(struct profiles *profiles);

/** "sha256:" and the digest of all its texts. Borrowed. */
const char *profiles_hash(const struct profiles *profiles);
/** Whether a text is that of profiles: it names RelayTrace. */
bool profiles_is_text(const char *text, size_t len);
/** Policies of all profiles. */
size_t profiles_count(const struct profiles *profiles);

/** Reasons of one decision. */
#define PROFILE_MOST_REASONS 32

struct profile_reason {
    const char *reason; /**< of @handoff; borrowed from the set */
    const char *rule;   /**< @id */
    int severity;       /**< 0 low to 3 critical */
};

struct profile_request {
    const char *agent_id;
    const char *tool;
    const char *profile;                     /**< that the agent names; NULL = none */
    bool is_evidence;                        /**< its lane gathers evidence for a person */
    struct json_object *context;             /**< as sent; NULL counts as a wrong one */
    const struct profile_approval *approval; /**< NULL = none */
    uint32_t rework_count;                   /**< that is known; the larger one counts */
};

struct profile_answer {
    enum profile_outcome outcome;
    struct profile_reason reasons[PROFILE_MOST_REASONS]; /**< most severe first */
    size_t reason_count;
    const char *rule;   /**< of the policy that decides; "" = none. Borrowed from the set */
    int64_t risk_level; /**< of the context; 3 when it is wrong */
};

/** What one thread needs to decide. */
struct profile_evaluator;
struct profile_evaluator *profile_evaluator_new(void);
/** NULL is allowed. */
void profile_evaluator_free(struct profile_evaluator *evaluator);

/**
 * Decide about an action. One thread at a time for an evaluator.
 * @param ret_errors the strings of a JSON array, with commas, are appended: why it was denied
 *                   though no policy says so
 */
void profiles_decide(struct profiles *profiles, struct profile_evaluator *evaluator,
                     const struct profile_request *request, struct profile_answer *ret_answer,
                     struct buf *ret_errors);
