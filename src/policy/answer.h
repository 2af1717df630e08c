// SPDX-License-Identifier: Apache-2.0
/* The answer to a question to the policies, explained. One thread. */
#pragma once

#include "base/buf.h"
#include "policy/explain/explain.h"
#include "policy/question.h"

struct policy_answer {
    const struct question *question;
    const struct ruleset *ruleset;
    struct subject *subject;
    struct verdict verdict;
    struct explain *explain;
    enum explain_state *states; /**< of each policy */
    size_t counts[EXPLAIN_STATE_COUNT];
    struct limit limits[LIMIT_COUNTER_COUNT]; /**< those that are known, for `iterate` */
};

/** Ask. All arguments must outlive the answer. @param ret_answer policy_answer_fini() */
void policy_answer_make(const struct question *question, struct ruleset *ruleset,
                        struct policy_answer *ret_answer);
void policy_answer_fini(struct policy_answer *answer);

/** Exit code: 0 when allowed, that of a policy violation when denied or to be approved. */
int policy_answer_exit_code(const struct policy_answer *answer);

/** Append it as a JSON object and a line end. All policies are in it. */
void policy_answer_json(struct policy_answer *answer, struct buf *ret_json);

/** Append the verdict in one sentence. */
void policy_answer_sentence(const struct policy_answer *answer, struct buf *ret_text);

/** Append a counter's value with its unit: "100", "4.50", "2m 00s". */
void policy_answer_figure(enum limit_counter counter, int64_t value, struct buf *ret_text);
