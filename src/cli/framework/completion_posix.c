// SPDX-License-Identifier: Apache-2.0
/*
 * Completion for bash and zsh. Both scripts have one shape: find the command among the words, then
 * one `case` for arguments of options and one for everything else. What differs is in a dialect.
 */
#include "cli/framework/command.h"
#include "cli/framework/completion.h"

#include <stdio.h>

/** How a shell says things. */
struct dialect {
    const char *head; /**< up to where `command` is in the word $w */
    const char *middle;
    const char *tail;
    const char *word;                            /**< the word that is being completed */
    const char *words_begin, *words_end;         /**< around a list of words */
    const char *completers[COMPLETE_KIND_COUNT]; /**< code for a kind of word; NULL = words */
};

#define RUNS                                                  \
    "_rondo_runs() { rondo runs --all --json 2>/dev/null |\n" \
    "    sed -n 's/.*\"run_id\":\"\\([^\"]*\\)\".*/\\1/p'; }\n"

static const struct dialect bash = {
    .head =
        "# bash completion for rondo; written by `rondo completion bash`\n" RUNS "_rondo() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= i w\n"
        "    # bash splits --option=value at the equals sign\n"
        "    if [ \"$cur\" = = ]; then cur=\n"
        "    elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        w=${COMP_WORDS[i]}\n",
    .middle = "    done\n",
    .tail = "}\n"
            "complete -o bashdefault -F _rondo rondo\n",
    .word = "$cur",
    .words_begin = "COMPREPLY=($(compgen -W '",
    .words_end = "' -- \"$cur\"))",
    .completers =
        {
            [COMPLETE_NOTHING] = "COMPREPLY=()",
            [COMPLETE_FILE] = "COMPREPLY=($(compgen -f -- \"$cur\"))",
            [COMPLETE_FOLDER] = "COMPREPLY=($(compgen -d -- \"$cur\"))",
            [COMPLETE_RUN] = "COMPREPLY=($(compgen -W \"last $(_rondo_runs)\" -- \"$cur\"))",
            [COMPLETE_PROGRAM] = "COMPREPLY=($(compgen -c -f -- \"$cur\"))",
        },
};

static const struct dialect zsh = {
    .head = "#compdef rondo\n"
            "# zsh completion for rondo; written by `rondo completion zsh`\n" RUNS "_rondo() {\n"
            "    local prev=${words[CURRENT-1]} command= i w\n"
            "    case $PREFIX in --*=*) prev=${PREFIX%%=*}; compset -P 1 '*=' ;; esac\n"
            "    for ((i = 2; i < CURRENT; i++)); do\n"
            "        w=${words[i]}\n",
    .middle = "    done\n",
    .tail =
        "}\n"
        "# Read by `source` or found by compinit in a folder of $fpath.\n"
        "if [ \"$funcstack[1]\" = _rondo ]; then _rondo \"$@\"; else compdef _rondo rondo; fi\n",
    .word = "$PREFIX",
    .words_begin = "compadd -- ",
    .words_end = "",
    .completers =
        {
            [COMPLETE_NOTHING] = ":",
            [COMPLETE_FILE] = "_files",
            [COMPLETE_FOLDER] = "_files -/",
            [COMPLETE_RUN] = "compadd -- last ${(f)\"$(_rondo_runs)\"}",
            [COMPLETE_PROGRAM] = "_alternative 'c:command:_command_names' 'f:file:_files'",
        },
};

/** Names of a table's commands; NULL = none. */
static void write_names(const struct command *table, struct buf *out)
{
    const char *separator = "";
    for (; table != NULL && table->name != NULL; table++) {
        if (!table->is_hidden) {
            buf_printf(out, "%s%s", separator, command_word(table));
            separator = " ";
        }
    }
}

static void write_fixed_words(enum option_completes completes, struct buf *out)
{
    if (completes == COMPLETE_CONDITION) {
        buf_append_string(out, "all_tests_pass build_succeeds linting_clean security_scan_clean");
    } else if (completes == COMPLETE_COMMAND) {
        write_names(commands, out);
    } else if (completes == COMPLETE_SHELL) {
        completion_shells(" ", out);
    }
}

static void write_completer(const struct dialect *dialect, enum option_completes completes,
                            struct buf *out)
{
    if (dialect->completers[completes] != NULL) {
        buf_append_string(out, dialect->completers[completes]);
        return;
    }
    buf_append_string(out, dialect->words_begin);
    write_fixed_words(completes, out);
    buf_append_string(out, dialect->words_end);
}

/** Shell code that appends the word $w to $command as long as a group requires one more. */
static void write_search(struct buf *out)
{
    buf_append_string(out, "        case $w in -*) continue ;; esac\n"
                           "        command=\"${command:+$command }$w\"\n"
                           "        case $command in ''");
    for (const struct command *at = command_next(NULL); at != NULL; at = command_next(at)) {
        if (at->subcommands != NULL) {
            buf_printf(out, "|'%s'", at->name);
        }
    }
    buf_append_string(out, ") ;; *) break ;; esac\n");
}

static void write_argument(const struct dialect *dialect, const struct command *command,
                           const struct option_row *row, struct buf *out)
{
    buf_printf(out, "    '%s --%s'", command->name, row->name);
    if (row->letter != 0) {
        buf_printf(out, "|'%s -%c'", command->name, row->letter);
    }
    buf_append_string(out, ") ");
    if (row->choices == NULL) {
        write_completer(dialect, row->completes, out);
    } else {
        const char *separator = dialect->words_begin;
        for (const struct option_choice *choice = row->choices; choice->name != NULL; choice++) {
            buf_printf(out, "%s%s", separator, choice->name);
            separator = " ";
        }
        buf_append_string(out, dialect->words_end);
    }
    buf_append_string(out, "; return ;;\n");
}

/** `case` branches for the arguments of options. */
static void write_arguments(const struct dialect *dialect, struct buf *out)
{
    buf_append_string(out, "    case \"$command $prev\" in\n");
    for (const struct command *at = command_next(NULL); at != NULL; at = command_next(at)) {
        for (const struct option_row *row = at->options; row->name != NULL; row++) {
            if (row->kind != OPTION_FLAG && !row->is_hidden) {
                write_argument(dialect, at, row, out);
            }
        }
    }
    buf_append_string(out, "    esac\n");
}

/** Branches for options and for other words of one command; NULL = no command yet. */
static void write_command(const struct dialect *dialect, const struct command *command,
                          struct buf *out)
{
    buf_printf(out, "    '%s')\n        case %s in\n        -*) %s",
               command == NULL ? "" : command->name, dialect->word, dialect->words_begin);
    for (size_t i = 0; command != NULL && i < option_count(command->options); i++) {
        if (!command->options[i].is_hidden) {
            buf_printf(out, "--%s ", command->options[i].name);
        }
    }
    buf_printf(out, "%s--help%s ;;\n        *) ", command == NULL ? "--version " : "",
               dialect->words_end);
    if (command == NULL || command->subcommands != NULL) {
        buf_append_string(out, dialect->words_begin);
        write_names(command == NULL ? commands : command->subcommands, out);
        buf_append_string(out, dialect->words_end);
    } else {
        write_completer(dialect, command->completes, out);
    }
    buf_append_string(out, " ;;\n        esac ;;\n");
}

static void write_script(const struct dialect *dialect, struct buf *out)
{
    buf_append_string(out, dialect->head);
    write_search(out);
    buf_append_string(out, dialect->middle);
    write_arguments(dialect, out);
    buf_append_string(out, "    case $command in\n");
    write_command(dialect, NULL, out);
    for (const struct command *at = command_next(NULL); at != NULL; at = command_next(at)) {
        if (!at->is_hidden) {
            write_command(dialect, at, out);
        }
    }
    buf_append_string(out, "    esac\n");
    buf_append_string(out, dialect->tail);
}

void completion_bash(struct buf *ret_script)
{
    write_script(&bash, ret_script);
}

void completion_zsh(struct buf *ret_script)
{
    write_script(&zsh, ret_script);
}
