// SPDX-License-Identifier: Apache-2.0
/* rondo help. */
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/report.h"
#include "cli/style.h"

#include <stdio.h>

#define HELP_COLUMNS 96

int cmd_help(const struct invocation *invocation)
{
    struct option_set set = {.rows = no_options};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    if (parsed.is_over) {
        return parsed.exit_code;
    }
    size_t columns = style_columns(stdout, HELP_COLUMNS);
    columns = columns < HELP_COLUMNS ? columns : HELP_COLUMNS;
    auto_buf struct buf text = {0};
    if (parsed.argc == 0) {
        command_overview(columns, &text);
    } else {
        const struct command *command = command_find(parsed.argv[0]);
        if (command == NULL) {
            return report_failure(EXIT_USAGE, "there is no command '%s'; see 'rondo help'",
                                  parsed.argv[0]);
        }
        command_help(command, columns, &text);
    }
    report_output(&text);
    return 0;
}
