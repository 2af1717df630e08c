// SPDX-License-Identifier: Apache-2.0
/* What the files of profiles share. */
#pragma once

#include "policy/profile/profile.h"
#include "rondo/cedar.h"

/** Name of the file in messages. */
#define PROFILES_NAME "profiles.cedar"

#define PROFILE_AGENT_TYPE "RelayTrace::Agent"
#define PROFILE_TOOL_TYPE  "RelayTrace::Tool"

/** Policies that count for agents with a profile. */
struct profile {
    const char *name; /**< NULL = whatever profile: the file tells them apart */
    struct cedar_policies *policies;
};

struct profiles {
    _Atomic unsigned references;
    struct profile *items;
    size_t count;
    struct cedar_uid *action;
    struct json_object *agents;      /**< by id: an array of names of profiles */
    struct json_object *tools;       /**< by id: whether a person is required */
    struct cedar_entities *entities; /**< all of the file; NULL = none */
    char hash[DIGEST_HEX_SIZE + 8];
};

/** Attributes of a context in the order of their places. */
enum profile_slot {
    SLOT_CONFIDENCE = 0,
    SLOT_RISK_LEVEL,
    SLOT_IMPACT,
    SLOT_REVERSIBLE,
    SLOT_EVIDENCE_COUNT,
    SLOT_EVIDENCE_REQUIRED,
    SLOT_EVIDENCE_MISSING,
    SLOT_VIOLATION_SCORE,
    SLOT_HUMAN_REQUIRED,
    SLOT_REWORK_COUNT,
    SLOT_FIRST_OPTIONAL,
};

#define PROFILE_SHAPES 4 /**< with and without a classification, and an approval */

/** One decision on its way. */
struct profile_evaluator {
    struct cedar_evaluator *cedar;
    struct cedar_context *contexts[PROFILE_SHAPES];
    /* Those of the last decision, which is often about the same tool. */
    struct cedar_uid *principal;
    struct cedar_uid *resource;
    struct cedar_entities *entities;
    struct profiles *of;
    char *profile;
};

/**
 * Make principal, resource and entities for a decision, unless they are those of the last one.
 * @return false with an error appended: a name cannot be an entity
 */
bool profile_prepare(struct profile_evaluator *evaluator, struct profiles *profiles,
                     const char *agent_id, const char *tool, const char *profile,
                     struct buf *ret_errors);

/** Fill in the context that fits. */
const struct cedar_context *profile_fill(struct profile_evaluator *evaluator,
                                         const struct profile_context *context,
                                         const struct profile_approval *approval);

/** Evaluate every policy at both ends of each attribute. RONDO_ERR_INVALID */
int profile_try_all(struct profiles *profiles, struct rondo_error *err);

/** Append a text to the strings of a JSON array. */
void profile_add_error(struct buf *errors, const char *text);
