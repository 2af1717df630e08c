// SPDX-License-Identifier: Apache-2.0
/* Cursors of the list of runs: the place of the last run of a page, opaque to clients. Pure. */
#pragma once

#include "base/buf.h"
#include "store/store.h"

/** Place of a run in an order. */
void run_cursor_place(const struct store_run *run, enum store_run_order order,
                      struct store_run_place *ret_place);

/** Append the text of a cursor. */
void run_cursor_write(const struct store_run_place *place, enum store_run_order order,
                      bool is_ascending, struct buf *ret_text);

/** @return whether it is a cursor of such a list; only then `ret_place` */
bool run_cursor_read(const char *text, enum store_run_order order, bool is_ascending,
                     struct store_run_place *ret_place);
