// SPDX-License-Identifier: Apache-2.0
/*
 * The words of a review before the commit: what a reviewer is asked, and what counts as its answer.
 * The answer is the last thing that it says: one JSON object with the code of this review, so that
 * nothing which it quotes (the prompt, files, other reviews) is taken for it. Pure; any thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/** Room for the code of a review. */
#define REVIEW_CODE_SIZE 17

/** What to ask. Borrowed. */
struct review_request {
    const char *code;
    const char *task;     /**< what the worker was asked to do */
    const char *diff;     /**< what it has changed */
    bool is_diff_cut;     /**< there is more of it */
    const char *commands; /**< checks that have passed, one a line */
};

enum review_verdict {
    REVIEW_NONE = 0, /**< it gave none: no approval */
    REVIEW_APPROVED,
    REVIEW_REJECTED,
};

/** The code of a review: not to be guessed by who does not know the secret. */
void review_code(const char *secret, const char *run, const char *tree,
                 char ret_code[REVIEW_CODE_SIZE]);

/** Append the prompt. */
void review_prompt(const struct review_request *request, struct buf *ret_text);

/**
 * Read what a reviewer said.
 * @param text    may be NULL
 * @param ret_why the findings, a line each, or why it is no verdict; at most
 * LIMIT_WORK_OUTPUT_BYTES
 */
enum review_verdict review_read(const char *text, const char *code, struct buf *ret_why);
