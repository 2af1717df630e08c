// SPDX-License-Identifier: Apache-2.0
/* The rondo program: from the first word to the command's function. */
#include "cli/framework/arguments.h"
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/signals.h"
#include "os/spawn/supervise.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

/** Widths of characters are those of UTF-8, whatever the user's locale says. */
static void set_locale(void)
{
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        setlocale(LC_CTYPE, "");
    }
}

/** Options that people try in place of a command. */
static const char *alias(const char *word)
{
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        return "version";
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return "help";
    }
    return word;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SUPERVISE_ARGUMENT) == 0) {
        return supervise_main(argc, argv);
    }
    set_locale();
    signals_ignore_failed_writes();
    if (argc < 2) {
        auto_buf struct buf text = {0};
        command_overview(80, &text);
        fputs(buf_string(&text), stderr);
        return EXIT_USAGE;
    }
    if (arguments_hide_passwords(argc, argv)) {
        report_warning("other users can see a password in an argument for a moment, and Rondo "
                       "leaves it out of the commands that it shows: keep it in a password file "
                       "(~/.pgpass)");
    }
    argv[1] = (char *)alias(argv[1]); /* Words are moved, but never written to. */
    struct invocation invocation;
    command_resolve(argc - 1, argv + 1, &invocation);
    if (invocation.command == NULL) {
        return command_unknown(NULL, argv[1]);
    }
    return report_exit_code(invocation.command->run(&invocation));
}
