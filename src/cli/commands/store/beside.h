// SPDX-License-Identifier: Apache-2.0
/*
 * What is beside a store and belongs to it: policies, what they refer to, and desks. In a database
 * the policies in force are shared by all machines; the rest is in a folder of each machine.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

struct store;

/** Two stores and where they are (store_locate()). */
struct beside_stores {
    struct store *from;
    struct store *to;
    const char *from_path; /**< canonical */
    const char *to_path;   /**< canonical */
    const char *by;        /**< who copies, for the history of policies */
};

/**
 * Put beside the target what is beside the source, and its policies in force there. May be done
 * again. Nothing that is there already and differs is replaced: then RONDO_ERR_STATE.
 * @param ret_done names of what is there now, each in a line
 */
int beside_copy(const struct beside_stores *stores, struct buf *ret_done, struct rondo_error *err);

/** Append a line for each thing beside the source that has to be copied by hand, with the command.
 */
void beside_write_left(const struct beside_stores *stores, struct buf *ret_lines);
