// SPDX-License-Identifier: Apache-2.0
/*
 * The context of an evaluation: what an agent says of an action that it is about to make. It is
 * checked against the schema before any policy sees it, because a forbid whose expression fails is
 * skipped by Cedar: a missing or ill-typed attribute must deny, and never lift a forbid. Pure; any
 * thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/** Kinds of evidence that are missing, at most. */
#define PROFILE_MOST_MISSING 64
/** Bytes of one of their names, and of the label of a classification. */
#define PROFILE_MOST_LABEL 256

/** What was approved, as Rondo knows it; an agent cannot send it. */
struct profile_approval {
    bool is_valid;
    uint32_t count; /**< persons */
    bool is_same_action;
    bool is_self_approved;
    bool is_expired;
    const char *roles; /**< of the persons, a JSON array of strings; NULL = [] */
};

/** Decimals are ten-thousandths. */
struct profile_context {
    int64_t confidence;
    int64_t risk_level; /**< 0 to 3, as the next one */
    int64_t impact;
    bool is_reversible;
    int64_t evidence_count;
    int64_t evidence_required;
    struct json_object *evidence_missing; /**< array of strings; borrowed */
    int64_t violation_score;
    bool is_human_required;
    int64_t rework_count;
    bool has_classification;
    struct json_object *label; /**< borrowed */
    int64_t margin;
};

/**
 * Read a context. A confidence that is missing or not from 0 to 1 counts as 0.
 * @param json borrowed, and must outlive the context
 * @param ret_errors the strings of a JSON array, with commas, are appended
 * @return whether it is as the schema says; else every policy must be taken to deny
 */
bool profile_context_read(struct json_object *json, struct profile_context *ret_context,
                          struct buf *ret_errors);
