// SPDX-License-Identifier: Apache-2.0
/* The table of commands, from cli/framework/commands.def. */
#include "cli/framework/command.h"

const struct option_row no_options[] = {{0}};

#define COMMAND(id, rows, ...) {.options = (rows), .run = cmd_##id, __VA_ARGS__},
#define GROUP(id, ...) \
    {.options = no_options, .subcommands = id##_commands, .run = cmd_group, __VA_ARGS__},
#define BOTH(id, rows, ...) \
    {.options = (rows), .subcommands = id##_commands, .run = cmd_##id, __VA_ARGS__},
const struct command commands[] = {
#include "cli/framework/commands.def"
    {0},
};
