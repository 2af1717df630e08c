// SPDX-License-Identifier: Apache-2.0
/* rondo completion: a script for bash, written from the tables. */
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/report.h"

#include <string.h>

static const char head[] =
    "# bash completion for rondo; written by `rondo completion bash`\n"
    "_rondo_runs() { rondo runs --all --json 2>/dev/null |\n"
    "    sed -n 's/.*\"run_id\":\"\\([^\"]*\\)\".*/\\1/p'; }\n"
    "_rondo() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words= i\n"
    "    # bash splits --option=value at the equals sign\n"
    "    if [ \"$cur\" = = ]; then cur=\n"
    "    elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac\n"
    "    done\n";

static const char tail[] = "    esac\n"
                           "}\n"
                           "complete -o bashdefault -F _rondo rondo\n";

/** Shell code that sets COMPREPLY for a kind of word. */
static const char *const completers[] = {
    [COMPLETE_NOTHING] = "COMPREPLY=()",
    [COMPLETE_FILE] = "COMPREPLY=($(compgen -f -- \"$cur\"))",
    [COMPLETE_FOLDER] = "COMPREPLY=($(compgen -d -- \"$cur\"))",
    [COMPLETE_CONDITION] = ("COMPREPLY=($(compgen -W 'all_tests_pass build_succeeds linting_clean "
                            "security_scan_clean' -- \"$cur\"))"),
    [COMPLETE_RUN] = "COMPREPLY=($(compgen -W \"last $(_rondo_runs)\" -- \"$cur\"))",
    [COMPLETE_COMMAND] = "COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))",
    [COMPLETE_PROGRAM] = "COMPREPLY=($(compgen -c -f -- \"$cur\"))",
};

static void add_command_names(struct buf *out)
{
    buf_append_string(out, "    local commands='");
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (!command->is_hidden) {
            buf_printf(out, "%s%s", command == commands ? "" : " ", command->name);
        }
    }
    buf_append_string(out, "'\n"
                           "    if [ -z \"$command\" ]; then\n"
                           "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- "
                           "\"$cur\"))\n"
                           "        return\n"
                           "    fi\n");
}

/** `case` branches for the arguments of options. */
static void add_option_arguments(struct buf *out)
{
    buf_append_string(out, "    case \"$command $prev\" in\n");
    for (const struct command *command = commands; command->name != NULL; command++) {
        for (const struct option_row *row = command->options; row->name != NULL; row++) {
            if (row->kind == OPTION_FLAG || row->is_hidden) {
                continue;
            }
            buf_printf(out, "    '%s --%s'", command->name, row->name);
            if (row->letter != 0) {
                buf_printf(out, "|'%s -%c'", command->name, row->letter);
            }
            if (row->choices == NULL) {
                buf_printf(out, ") %s; return ;;\n", completers[row->completes]);
                continue;
            }
            buf_append_string(out, ") COMPREPLY=($(compgen -W '");
            for (const struct option_choice *choice = row->choices; choice->name != NULL;
                 choice++) {
                buf_printf(out, "%s%s", choice == row->choices ? "" : " ", choice->name);
            }
            buf_append_string(out, "' -- \"$cur\")); return ;;\n");
        }
    }
    buf_append_string(out, "    esac\n");
}

/** `case` branches for options and other words of each command. */
static void add_words(struct buf *out)
{
    buf_append_string(out, "    case $command in\n");
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (command->is_hidden) {
            continue;
        }
        buf_printf(out, "    %s)\n        case $cur in\n        -*) words='", command->name);
        for (const struct option_row *row = command->options; row->name != NULL; row++) {
            if (!row->is_hidden) {
                buf_printf(out, "--%s ", row->name);
            }
        }
        buf_printf(out,
                   "--help'; COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
                   "        *) %s ;;\n        esac ;;\n",
                   completers[command->completes]);
    }
}

int cmd_completion(const struct invocation *invocation)
{
    struct option_set set = {.rows = no_options};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    if (parsed.is_over) {
        return parsed.exit_code;
    }
    if (strcmp(parsed.argv[0], "bash") != 0) {
        return report_failure(EXIT_USAGE, "no completion for '%s'; there is one for bash",
                              parsed.argv[0]);
    }
    auto_buf struct buf out = {0};
    buf_append_string(&out, head);
    add_command_names(&out);
    add_option_arguments(&out);
    add_words(&out);
    buf_append_string(&out, tail);
    report_output(&out);
    return EXIT_OK;
}
