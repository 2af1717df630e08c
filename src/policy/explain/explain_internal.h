// SPDX-License-Identifier: Apache-2.0
/* What the files of explanations share. */
#pragma once

#include "policy/cedar/evaluate.h"
#include "policy/explain/explain.h"

struct buf;

struct explain {
    const struct cedar_policies *policies;
    const struct cedar_request *request;
    struct arena arena; /**< of the policy that is being explained */
    struct evaluation evaluation;
    uint32_t index;
    struct explain_policy policy;
};

/** The text in the arena, cut where it is long. */
const char *explain_text(struct explain *explain, const char *bytes, size_t len);

/** Explain the conditions of the present policy, as far as they are reached. */
void explain_conditions(struct explain *explain);

/** An entity for people: with the groups that it is in. */
void explain_write_entity(struct explain *explain, const struct cedar_uid *uid,
                          struct buf *ret_text);
