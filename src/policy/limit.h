// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the limit that a policy sets: at which iteration, token, cent or second would a request
 * be denied? Nothing is read off a policy's text alone; the real authorizer answers.
 *
 * With `context.iteration` compared only with things that do not depend on it, the decision can
 * change only where such a comparison does. So the points of all comparisons are collected from the
 * syntax trees, and the authorizer decides at each: the first denied one is the limit, exactly,
 * whatever the shape of the policies. Where the counter is used in other ways (arithmetic, sets,
 * the context as a value) the limit is searched by doubling and halving, and marked as estimated:
 * that is right as long as what was denied once stays denied.
 */
#pragma once

#include "journal/state.h"
#include "rondo/cedar.h"

/** Where a limit comes from. */
enum limit_source {
    LIMIT_FROM_POLICY = 0, /**< the administrator's policies */
    LIMIT_FROM_OPTION,     /**< an option of the run */
    LIMIT_FROM_DEFAULT,    /**< neither: RULESET_DEFAULT_ITERATIONS */
};

/** "policy", "option", "default". Static. */
const char *limit_source_name(enum limit_source source);

/** Per cent of a limit at which to warn when the policy does not say @warn_at. */
#define LIMIT_DEFAULT_WARN_AT 80

/** A limit of a run in the units of the journal: iterations, tokens, millionths, nanoseconds. */
struct policy_limit {
    bool is_known;     /**< false: no value is denied */
    bool is_estimated; /**< see above */
    enum limit_source source;
    int64_t limit;   /**< first value that is denied */
    int64_t value;   /**< what is measured against it, now */
    int64_t warn_at; /**< per cent of the limit at which to warn */
    int64_t policy;  /**< index of the first forbid that denies it; -1 = none does */
};

/** Per cent of a limit that is used up; -1 when there is none. */
int64_t policy_limit_percent(const struct policy_limit *limit);

/**
 * A value that policies see, in the units of the journal: policies count cost in ten-thousandths of
 * a dollar and time in seconds. INT64_MAX where it would be more.
 */
int64_t limit_from_cedar(enum run_limit counter, int64_t value);

/** A request whose context can be set, for one search. One thread at a time. */
struct limit_search {
    struct cedar_evaluator *evaluator;
    const struct cedar_policies *policies;
    const struct cedar_request *request;
    /** Set the counter in the request's context, in the units of policies. */
    void (*set)(void *context, enum run_limit counter, int64_t value);
    void *context;
    /** Index of a forbid: only what it denies counts. NULL = whatever is denied. */
    const uint32_t *only;
    const uint8_t *counters; /**< of each policy, from limit_counters; NULL = not known */
    bool is_allowed;         /**< the request is known to be allowed as it is */
};

/** Points that are tried for one limit; policies with more make it estimated. */
#define LIMIT_POINTS 128

/**
 * The first value of a counter, from `from` on, that is denied. Everything else in the context
 * stays as it is; afterwards the counter is set to `now`.
 * @param counter one whose comparisons are looked for
 * @param from    as the next one in the units of policies
 * @return is_known, is_estimated, limit and policy; the rest is 0
 */
struct policy_limit limit_find(const struct limit_search *search, enum run_limit counter,
                               int64_t from, int64_t now);

/**
 * Whether a policy that mentions a counter can apply to a request: its scope matches.
 * @param count so many of the policies, from the first on
 */
bool limit_is_counted(const struct cedar_policies *policies, size_t count,
                      const struct cedar_request *request, enum run_limit counter);

/** Bits of the counters (1 << enum run_limit) that a policy's conditions mention. */
uint8_t limit_counters(const struct cedar_policies *policies, size_t index);
