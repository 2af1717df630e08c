// SPDX-License-Identifier: Apache-2.0
/* Completion for fish: one `complete` for each command, option and kind of word. */
#include "cli/framework/command.h"
#include "cli/framework/completion.h"

#include <string.h>

static const char head[] = "# fish completion for rondo; written by `rondo completion fish`\n"
                           "function __rondo_runs\n"
                           "    rondo runs --all --json 2>/dev/null | string replace -rf "
                           "'.*\"run_id\":\"([^\"]*)\".*' '$1'\n"
                           "end\n"
                           "# Whether the words before the cursor name exactly this command.\n"
                           "function __rondo_at\n"
                           "    set -l words (commandline -opc)\n"
                           "    set -e words[1]\n"
                           "    set -l command\n"
                           "    for word in $words\n"
                           "        string match -q -- '-*' $word; and continue\n"
                           "        set command (string trim -- \"$command $word\")\n"
                           "        contains -- $command $__rondo_groups; or break\n"
                           "    end\n"
                           "    test \"$command\" = \"$argv[1]\"\n"
                           "end\n"
                           "complete -c rondo -f\n";

/** Arguments of `complete` for a kind of word. */
static const char *const completers[COMPLETE_KIND_COUNT] = {
    [COMPLETE_FILE] = " -F",
    [COMPLETE_FOLDER] = " -a '(__fish_complete_directories)'",
    [COMPLETE_CONDITION] = " -a 'all_tests_pass build_succeeds linting_clean security_scan_clean'",
    [COMPLETE_RUN] = " -a 'last (__rondo_runs)'",
    [COMPLETE_PROGRAM] = " -F -a '(__fish_complete_command)'",
};

/** Append a text in single quotes. */
static void write_quoted(const char *text, struct buf *out)
{
    buf_append_string(out, "'");
    for (const char *at = text; *at != '\0'; at++) {
        buf_append_string(out, *at == '\'' || *at == '\\' ? "\\" : "");
        buf_append(out, at, 1);
    }
    buf_append_string(out, "'");
}

static void write_groups(struct buf *out)
{
    buf_append_string(out, "set -g __rondo_groups");
    for (const struct command *at = command_next(NULL); at != NULL; at = command_next(at)) {
        if (at->subcommands != NULL) {
            buf_printf(out, " '%s'", at->name);
        }
    }
    buf_append_string(out, "\n");
}

/** Lines for the names of a table. @param group name of the group, "" = rondo itself */
static void write_names(const struct command *table, const char *group, struct buf *out)
{
    for (; table->name != NULL; table++) {
        if (!table->is_hidden) {
            buf_printf(out, "complete -c rondo -n '__rondo_at \"%s\"' -a %s -d ", group,
                       command_word(table));
            write_quoted(table->help, out);
            buf_append_string(out, "\n");
        }
    }
}

static void write_words(enum option_completes completes, struct buf *out)
{
    if (completes == COMPLETE_SHELL) {
        buf_append_string(out, " -a '");
        completion_shells(" ", out);
        buf_append_string(out, "'");
    } else if (completers[completes] != NULL) {
        buf_append_string(out, completers[completes]);
    }
}

static void write_option(const struct command *command, const struct option_row *row,
                         struct buf *out)
{
    buf_printf(out, "complete -c rondo -n '__rondo_at \"%s\"' -l %s", command->name, row->name);
    if (row->letter != 0) {
        buf_printf(out, " -s %c", row->letter);
    }
    if (row->kind != OPTION_FLAG) {
        bool takes_files = row->completes == COMPLETE_FILE || row->completes == COMPLETE_PROGRAM;
        buf_append_string(out, takes_files ? " -r" : " -x");
        write_words(row->completes, out);
    }
    for (const struct option_choice *choice = row->choices; choice != NULL && choice->name != NULL;
         choice++) {
        buf_printf(out, "%s%s", choice == row->choices ? " -a '" : " ", choice->name);
    }
    buf_append_string(out, row->choices == NULL ? " -d " : "' -d ");
    write_quoted(row->help, out);
    buf_append_string(out, "\n");
}

static void write_command(const struct command *command, struct buf *out)
{
    for (const struct option_row *row = command->options; row->name != NULL; row++) {
        if (!row->is_hidden) {
            write_option(command, row, out);
        }
    }
    buf_printf(out, "complete -c rondo -n '__rondo_at \"%s\"' -l help -s h -d 'Show help'\n",
               command->name);
    if (command->subcommands != NULL) {
        write_names(command->subcommands, command->name, out);
    } else if (command->completes == COMPLETE_COMMAND) {
        write_names(commands, command->name, out);
    } else if (command->completes != COMPLETE_NOTHING) {
        buf_printf(out, "complete -c rondo -n '__rondo_at \"%s\"'", command->name);
        write_words(command->completes, out);
        buf_append_string(out, "\n");
    }
}

void completion_fish(struct buf *ret_script)
{
    write_groups(ret_script);
    buf_append_string(ret_script, head);
    write_names(commands, "", ret_script);
    for (const struct command *at = command_next(NULL); at != NULL; at = command_next(at)) {
        if (!at->is_hidden) {
            write_command(at, ret_script);
        }
    }
}
