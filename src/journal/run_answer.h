// SPDX-License-Identifier: Apache-2.0
/* What a run answered, for those who asked. Any thread. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>

struct store;

struct run_answer {
    bool is_ended;     /**< it has its final status; only then is the rest set */
    bool is_completed; /**< and that is `completed` */
    char status[24];   /**< the final status */
    struct buf why;    /**< explanation of its end, for people; may be empty */
    struct buf text;   /**< the agent's summary, or else its last reply; may be empty */
};

/**
 * Read it from the end of the run's journal.
 * @param ret_answer run_answer_fini(), always
 * @return 0, or RONDO_ERR_NOT_FOUND when there is no such run
 */
int run_answer_read(struct store *store, const char *run_id, struct run_answer *ret_answer,
                    struct rondo_error *err);
/** Append it for the one who asked: the text, how it ended where it did not complete, or "Done." */
void run_answer_write(const struct run_answer *answer, struct buf *ret_text);
void run_answer_fini(struct run_answer *answer);
