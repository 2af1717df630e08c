// SPDX-License-Identifier: Apache-2.0
/*
 * Trying policies before they count. Cedar evaluates what is needed and no more, so each policy is
 * evaluated with both ends of every attribute, with and without the optional ones: an unknown
 * attribute or a wrong type is found when any of these contexts leads there.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "policy/profile/internal.h"
#include "policy/profile/profile_text.h"

#include <json-c/json.h>

/** Two values of each of the ten attributes, three of the approval and the classification. */
#define TRIES (1024u * 3 * 3)

static const struct profile_approval approvals[] = {
    {.is_expired = true, .is_self_approved = true},
    {.is_valid = true, .count = 2, .is_same_action = true},
};

struct trial {
    struct json_object *none;
    struct json_object *one; /**< missing evidence, and the label */
    struct profile_evaluator *evaluator;
};

/** Attributes by the bits of a number. @return of the approval, or NULL */
static const struct profile_approval *choose(const struct trial *trial, unsigned number,
                                             struct profile_context *ret_context)
{
    unsigned bits = number % 1024;
    unsigned classification = number / 1024 % 3;
    unsigned approval = number / 1024 / 3;
    *ret_context = (struct profile_context){
        .confidence = (bits & 1) != 0 ? 10000 : 0,
        .risk_level = (bits & 2) != 0 ? 3 : 0,
        .impact = (bits & 4) != 0 ? 3 : 0,
        .is_reversible = (bits & 8) != 0,
        .evidence_count = (bits & 16) != 0 ? 9 : 0,
        .evidence_required = (bits & 32) != 0 ? 5 : 0,
        .evidence_missing = (bits & 64) != 0 ? trial->one : trial->none,
        .violation_score = (bits & 128) != 0 ? 10000 : 0,
        .is_human_required = (bits & 256) != 0,
        .rework_count = (bits & 512) != 0 ? 9 : 0,
        .has_classification = classification > 0,
        .label = json_object_array_get_idx(trial->one, 0),
        .margin = classification == 1 ? 10000 : 0,
    };
    return approval == 0 ? NULL : &approvals[approval - 1];
}

static int try_profile(const struct trial *trial, struct profiles *profiles,
                       const struct profile *profile, struct rondo_error *err)
{
    auto_buf struct buf errors = {0};
    struct profile_evaluator *evaluator = trial->evaluator;
    const char *name = profile->name == NULL ? PROFILE_DEFAULT : profile->name;
    if (!profile_prepare(evaluator, profiles, "any", "any", name, &errors)) {
        return error_set(err, RONDO_ERR_INVALID, "%s", buf_string(&errors));
    }
    for (unsigned i = 0; i < TRIES; i++) {
        struct profile_context values;
        struct cedar_answer answer;
        const struct profile_approval *approval = choose(trial, i, &values);
        struct cedar_request request = {
            .principal = evaluator->principal,
            .action = profiles->action,
            .resource = evaluator->resource,
            .context = profile_fill(evaluator, &values, approval),
            .entities = evaluator->entities,
        };
        cedar_authorize(evaluator->cedar, profile->policies, &request, &answer);
        if (answer.error_count > 0) {
            char text[RONDO_ERROR_MESSAGE_SIZE];
            cedar_failure_describe(profile->policies, &answer.errors[0], text, sizeof(text));
            return error_set(err, RONDO_ERR_INVALID, "%s", text);
        }
    }
    return 0;
}

int profile_try_all(struct profiles *profiles, struct rondo_error *err)
{
    auto_json struct json_object *none = json_object_new_array();
    auto_json struct json_object *one = json_object_new_array();
    json_object_array_add(one, json_object_new_string("any"));
    struct trial trial = {.none = none, .one = one, .evaluator = profile_evaluator_new()};
    int r = 0;
    for (size_t i = 0; i < profiles->count && r == 0; i++) {
        r = try_profile(&trial, profiles, &profiles->items[i], err);
    }
    profile_evaluator_free(trial.evaluator);
    return r;
}
