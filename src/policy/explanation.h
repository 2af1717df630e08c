// SPDX-License-Identifier: Apache-2.0
/* A verdict, explained policy by policy. One thread. */
#pragma once

#include "base/buf.h"
#include "policy/explain/explain.h"
#include "policy/subject.h"
#include "policy/written_request.h"

struct policy_explanation {
    const struct written_request *written;
    const struct ruleset *ruleset;
    struct subject *subject;
    struct policy_verdict verdict; /**< with the limits that are known */
    const char *policy;            /**< id of the deciding one, "" when there is none */
    const char *reason;            /**< its @reason, or "" */
    struct explain *explain;
    enum explain_state *states; /**< of each policy */
    size_t counts[EXPLAIN_STATE_COUNT];
};

/** Ask. All arguments must outlive it. @param ret_explanation policy_explanation_fini() */
void policy_explanation_make(const struct written_request *written, struct ruleset *ruleset,
                             struct policy_explanation *ret_explanation);
void policy_explanation_fini(struct policy_explanation *explanation);

/** Exit code: 0 when allowed, that of a policy violation when denied or to be approved. */
int policy_explanation_exit_code(const struct policy_explanation *explanation);

/** Append it as a JSON object and a line end. All policies are in it. */
void policy_explanation_json(struct policy_explanation *explanation, struct buf *ret_json);

/** Append the verdict in one sentence. */
void policy_explanation_sentence(const struct policy_explanation *explanation,
                                 struct buf *ret_text);

/** Append a counter's value, in the journal's units, for people: "100", "4.50", "2m 00s". */
void policy_explanation_figure(enum run_limit counter, int64_t value, struct buf *ret_text);
