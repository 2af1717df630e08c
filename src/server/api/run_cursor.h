// SPDX-License-Identifier: Apache-2.0
/* Cursors of the list of runs: the place of the last run of a page, opaque to clients. Pure. */
#pragma once

#include "base/buf.h"
#include "store/store.h"

/** Bytes of a cursor of one store, with its end. */
#define RUN_CURSOR_SIZE (2 * (64 + ID_SIZE + LIMIT_AGENT_ID_LEN) + 1)

/** Place of a run in an order. */
void run_cursor_place(const struct store_run *run, enum store_run_order order,
                      struct store_run_place *ret_place);

/** Append the text of a cursor. */
void run_cursor_write(const struct store_run_place *place, enum store_run_order order,
                      bool is_ascending, struct buf *ret_text);

/** @return whether it is a cursor of such a list; only then `ret_place` */
bool run_cursor_read(const char *text, enum store_run_order order, bool is_ascending,
                     struct store_run_place *ret_place);

/** Compare places of one ascending order as strcmp() does. */
int run_cursor_compare(const struct store_run_place *a, const struct store_run_place *b);

/**
 * A cursor over several stores has a part for each that has more: "NAME=CURSOR,NAME=CURSOR". An
 * empty part is the beginning.
 */
void run_cursor_begin_part(struct buf *cursor, const char *store);
/** @return whether there is a part for a store; only then `ret_part` */
bool run_cursor_part(const char *cursor, const char *store, char ret_part[RUN_CURSOR_SIZE]);
