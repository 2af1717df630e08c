// SPDX-License-Identifier: Apache-2.0
/* rondo help. */
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"

int cmd_help(const struct invocation *invocation)
{
    struct option_set set = {.rows = no_options};
    struct parsed parsed = command_parse(invocation, &set, 0, COMMAND_WORDS_MAX);
    if (parsed.is_over) {
        return parsed.exit_code;
    }
    struct invocation asked = {0};
    if (parsed.argc > 0) {
        command_resolve(parsed.argc, parsed.argv, &asked);
        /* Words that were not taken follow the command's own. */
        const char *unknown = asked.command == NULL ? parsed.argv[0]
                              : asked.argc > 1      ? asked.argv[1]
                                                    : NULL;
        if (unknown != NULL && (asked.command == NULL || asked.command->subcommands != NULL)) {
            return command_unknown(asked.command, unknown);
        }
        if (unknown != NULL) {
            return report_failure(EXIT_USAGE, "'rondo %s' has no subcommands", asked.command->name);
        }
    }
    command_print_help(asked.command, stdout);
    return EXIT_OK;
}
