// SPDX-License-Identifier: Apache-2.0
/* Rows that several commands' option tables share. `type` is the command's struct of values. */
#pragma once

#include "cli/framework/option.h"

/** char *store */
#define OPTION_ROW_STORE(type)                                                                     \
    {                                                                                              \
        .name = "store", .kind = OPTION_TEXT, .offset = offsetof(type, store), .argument = "FILE", \
        .by_default = "$RONDO_STORE, else the nearest store from the working directory up",        \
        .help = "File of the store, or address of a database (postgresql://...)",                  \
        .group = "General", .completes = COMPLETE_FILE,                                            \
    }

/** int64_t wants_json */
#define OPTION_ROW_JSON(type, what)                                                                \
    {                                                                                              \
        .name = "json", .kind = OPTION_FLAG, .offset = offsetof(type, wants_json), .help = (what), \
    }

/** int64_t no_colour */
#define OPTION_ROW_NO_COLOUR(type)                                                    \
    {                                                                                 \
        .name = "no-color", .kind = OPTION_FLAG, .offset = offsetof(type, no_colour), \
        .help = "No colours; NO_COLOR in the environment does the same",              \
    }
