// SPDX-License-Identifier: Apache-2.0
/* Checkpoints as programs get them: the API, `rondo checkpoints --json`. Pure; any thread. */
#pragma once

#include "journal/checkpoint.h"

/** Append the object of one row of a list; nothing in it was verified. */
void checkpoint_row_json(const struct store_checkpoint *checkpoint, struct buf *ret_json);

/** Append the object of a whole, verified checkpoint. */
void checkpoint_json(const struct checkpoint *checkpoint, struct buf *ret_json);

/** Whether a state can be shown as text. */
bool checkpoint_is_text(const struct buf *state);
