// SPDX-License-Identifier: Apache-2.0
/* rondo completion: the script for one shell. */
#include "cli/framework/completion.h"
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"

#include <string.h>

const struct completion completions[] = {
    {"bash", completion_bash},
    {"zsh", completion_zsh},
    {"fish", completion_fish},
    {0},
};

void completion_shells(const char *separator, struct buf *ret_buf)
{
    for (const struct completion *row = completions; row->shell != NULL; row++) {
        buf_printf(ret_buf, "%s%s", row == completions ? "" : separator, row->shell);
    }
}

int cmd_completion(const struct invocation *invocation)
{
    struct option_set set = {.rows = no_options};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    if (parsed.is_over) {
        return parsed.exit_code;
    }
    auto_buf struct buf out = {0};
    for (const struct completion *row = completions; row->shell != NULL; row++) {
        if (strcmp(row->shell, parsed.argv[0]) == 0) {
            row->write(&out);
            report_output(&out);
            return EXIT_OK;
        }
    }
    completion_shells(", ", &out);
    return report_failure(EXIT_USAGE, "no completion for '%s'; supported shells are %s",
                          parsed.argv[0], buf_string(&out));
}
