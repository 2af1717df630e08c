// SPDX-License-Identifier: Apache-2.0
/* The message of the commit of a task. Pure; any thread. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdint.h>

/** What it says. Borrowed; line ends in texts become spaces. */
struct work_message {
    const char *prd;   /**< name */
    const char *run;   /**< id of the PRD's run */
    const char *task;  /**< id */
    const char *title; /**< of the task */
    const char *agent; /**< who worked */
    int64_t attempt;
    int64_t issue; /**< number of the issue that the task is; 0 = it is none */
};

/**
 * Append the whole message, trailers included.
 * @param text what a hook has made of it: keeps its words, while our trailers are written anew, so
 *        that nothing which runs on files of an agent can forge them; NULL = the title
 * @return RONDO_ERR_INVALID for a text without words, or one that is too long
 */
int work_message_write(const struct work_message *message, const char *text, struct buf *ret_text,
                       struct rondo_error *err);
