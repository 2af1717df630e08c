// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the number behind a policy: at which iteration, token, cent or second would a request be
 * denied? Nothing is read off a policy's text alone; the real authorizer answers.
 *
 * With `context.iteration` compared only with things that do not depend on it, the decision can
 * change only where such a comparison does. So the points of all comparisons are collected from the
 * syntax trees, and the authorizer is asked at each: the first denied one is the limit, exactly,
 * whatever the shape of the policies. Where the counter is used in other ways (arithmetic, sets,
 * the context as a value) the limit is searched by doubling and halving, and marked as estimated:
 * that is right as long as what was denied once stays denied.
 */
#pragma once

#include "rondo/cedar.h"

enum limit_counter {
    LIMIT_ITERATIONS,
    LIMIT_TOKENS,
    LIMIT_COST, /**< in ten-thousandths of a dollar */
    LIMIT_TIME, /**< in seconds */
    LIMIT_COUNTER_COUNT,
};

/** "iterations", "tokens", "cost", "time". Static. */
const char *limit_counter_name(enum limit_counter counter);

struct limit {
    bool is_known;     /**< false: no value is denied */
    bool is_estimated; /**< see above */
    int64_t value;     /**< first value that is denied */
    int64_t policy;    /**< index of the first forbid that denies it; -1 = none does */
};

/** One question: a request whose context can be set. One thread at a time. */
struct limit_question {
    struct cedar_evaluator *evaluator;
    const struct cedar_policies *policies;
    const struct cedar_request *request;
    /** Set the counter in the request's context. */
    void (*set)(void *context, enum limit_counter counter, int64_t value);
    void *context;
    /** Index of a forbid: only what it denies counts. NULL = whatever is denied. */
    const uint32_t *only;
};

/** Points that are tried for one limit; policies with more make it estimated. */
#define LIMIT_POINTS 128

/**
 * The first value of a counter, from `from` on, that is denied. Everything else in the context
 * stays as it is; afterwards the counter is set to `now`.
 * @param counter one whose comparisons are looked for
 */
struct limit limit_find(const struct limit_question *question, enum limit_counter counter,
                        int64_t from, int64_t now);

/**
 * Whether a policy that mentions a counter can apply to a request: its scope matches.
 * @param count so many of the policies, from the first on
 */
bool limit_is_counted(const struct cedar_policies *policies, size_t count,
                      const struct cedar_request *request, enum limit_counter counter);

/** Whether a policy's conditions mention a counter. @param index of the policy */
bool limit_is_mentioned(const struct cedar_policies *policies, size_t index,
                        enum limit_counter counter);
