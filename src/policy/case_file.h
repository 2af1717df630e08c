// SPDX-License-Identifier: Apache-2.0
/*
 * Test cases for policies: a JSON file of requests with the verdicts that are expected.
 *
 *     {"cases": [{"name": "the hundredth is the last", "agent": "fixer", "action": "iterate",
 *                 "context": {"iteration": 100}, "expect": "deny",
 *                 "policies": ["limit.iterations"]}]}
 */
#pragma once

#include "base/buf.h"
#include "policy/verdict.h"
#include "policy/written_request.h"

/** Bytes of a file of cases. */
#define CASE_FILE_BYTES (8 * 1024 * 1024)

struct policy_case {
    char *name; /**< "case 3" when it has none */
    struct written_request written;
    enum verdict_outcome expected;
    bool names_policies; /**< also the deciding policies are expected */
    char **policies;     /**< their ids, in no order */
    size_t policy_count;
};

struct case_file {
    struct policy_case *cases;
    size_t count;
};

/**
 * Read cases.
 * @param name   of the file, for messages
 * @param now_ns time of the requests that name none
 * @param ret_file case_file_fini()
 * @return 0; RONDO_ERR_INVALID with the line and column, or with the case, and what is wrong
 */
int case_file_read(const char *name, const char *json, size_t len, int64_t now_ns,
                   struct case_file *ret_file, struct rondo_error *err);
void case_file_fini(struct case_file *file);

/** What came of one case. */
struct case_result {
    bool is_ok;
    enum verdict_outcome outcome;
    enum verdict_reason reason;
    const char **policies; /**< ids of those that decided; the ids are the ruleset's */
    size_t policy_count;
    struct buf problem; /**< of an evaluation, in words; may be empty */
};

/** Ask. @param ret_result case_result_fini() */
void case_run(const struct policy_case *one, struct ruleset *ruleset,
              struct case_result *ret_result);
void case_result_fini(struct case_result *result);
