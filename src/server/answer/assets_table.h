// SPDX-License-Identifier: Apache-2.0
/* The table that embed.py writes; only assets.c reads it. */
#pragma once

#include "server/answer/assets.h"

/** Ends with an empty entry, so that it is never an array of nothing. */
extern const struct asset asset_table[];
/** Entries before that. */
extern const size_t asset_table_len;
