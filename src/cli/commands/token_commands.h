// SPDX-License-Identifier: Apache-2.0
/* The commands of the group `rondo token`. */
#pragma once

#include "cli/framework/command.h"

/** Ends with a NULL name. */
extern const struct command token_commands[];
