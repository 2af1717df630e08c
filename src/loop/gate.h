// SPDX-License-Identifier: Apache-2.0
/*
 * The gate: asked before each step whether it may happen. The engine knows only this interface;
 * policies (loop/policy_gate.h) are the implementation, and tests have their own. A gate that
 * cannot decide denies.
 */
#pragma once

#include "base/digest.h"
#include "journal/state.h"
#include "policy/vocabulary.h"
#include "rondo/error.h"
#include "rondo/types.h"

#include <stdbool.h>
#include <stdint.h>

/** What is wanted, and what the runtime knows about the run, from its own journal only. */
struct gate_request {
    enum vocabulary_action action;
    const char *condition; /**< ACTION_VERIFY: name of the exit condition */
    const char *resource;  /**< ACTION_CALL_MODEL, ACTION_CALL_TOOL: id of the model or tool */
    const char *input;     /**< ACTION_CALL_TOOL: the canonical arguments, a JSON object */
    const char *raw;       /**< the same as the agent wrote them */
    bool is_approved;      /**< a person has approved this very step */
    const char *run_id;
    const char *agent_id;
    uint64_t completed_iterations; /**< 0 before the first */
    int64_t elapsed_ns;
    int64_t tokens;
    int64_t cost_micro;
    uint64_t consecutive_failures;
    uint32_t conditions_met;
    uint32_t conditions_total;
    int64_t now_ns; /**< wall clock */
};

/** A limit found ahead of the run. */
struct gate_limit {
    bool is_known;
    bool is_estimated;
    int64_t limit;   /**< in the journal's units: iterations, tokens, millionths, nanoseconds */
    int64_t value;   /**< what is measured against it, now */
    int64_t warn_at; /**< per cent of the limit at which to warn */
};

/** Bytes of the lists of policies and errors that a decision carries. */
#define GATE_LIST_SIZE 1024

/** The answer. Texts are cut to fit. */
struct gate_decision {
    bool is_allowed;
    bool needs_approval;           /**< denied until a person approves */
    enum rondo_status status;      /**< when denied: the final status that follows */
    uint64_t iteration_limit;      /**< in force now, for progress; 0 = none is known */
    char policy[128];              /**< id of the deciding policy or limit, when denied */
    char reason[32];               /**< stable code: "forbidden", "not_permitted", ... */
    char text[256];                /**< the policy's own @reason, or "" */
    char limit_name[64];           /**< "iterations", "tokens", "cost", "time", "" */
    int64_t limit;                 /**< as in struct gate_limit */
    int64_t value;                 /**< what was measured against the limit */
    char message[512];             /**< for people */
    char decision[8];              /**< Cedar's plain decision: "allow", "deny", "" = not asked */
    char policies[GATE_LIST_SIZE]; /**< JSON array of the deciding policies' ids, or "" */
    char errors[GATE_LIST_SIZE];   /**< JSON array of what could not be evaluated, or "" */
    char sha256[DIGEST_HEX_SIZE];  /**< policies that decided; "" = none */
    struct gate_limit
        limits[RUN_LIMIT_COUNT]; /**< of an iteration: those ahead, or the one that denies */
};

enum gate_news_kind {
    GATE_NO_NEWS = 0,
    GATE_CHANGED, /**< other policies are in force */
    GATE_REFUSED, /**< a change was refused; nothing changed */
};

/** Bytes that the limits in news take at most: four names with a number each. */
#define GATE_LIMITS_SIZE 160

/** What happened to the policies since the step before. Texts are borrowed until the next one. */
struct gate_news {
    enum gate_news_kind kind;
    const char *sha256; /**< in force now; "" = built in */
    const char *source;
    const char *by;
    const char *message;               /**< GATE_REFUSED */
    char limits[GATE_LIMITS_SIZE];     /**< JSON object, as the journal has it */
    char old_limits[GATE_LIMITS_SIZE]; /**< "" = there were none before */
};

struct gate {
    /** Decide. Must not block; called by the loop's thread, possibly by many loops at once. */
    void (*decide)(const struct gate *gate, const struct gate_request *request,
                   struct gate_decision *ret_decision);
    /**
     * Bring the policies up to date; called before decide. NULL = nothing can change.
     * @param request for the limits in the news
     */
    void (*refresh)(const struct gate *gate, const struct gate_request *request,
                    struct gate_news *ret_news);
    /**
     * The limits that the run stands under, also those that it has gone over; `limit` in them is
     * the first value that is denied. Asked when a run ends. NULL = none are known.
     */
    void (*find_limits)(const struct gate *gate, const struct gate_request *request,
                        struct gate_limit ret_limits[RUN_LIMIT_COUNT]);
    void *context; /**< for the implementation */
};
