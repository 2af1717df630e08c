// SPDX-License-Identifier: Apache-2.0
/* Finding commands, parsing their words, and their help. */
#include "cli/framework/command.h"

#include "base/error.h"
#include "base/text/suggest.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/old_commands.h"
#include "cli/framework/report.h"
#include "cli/terminal/style.h"
#include "cli/terminal/text.h"

#include <stdio.h>
#include <string.h>

/** Help is not wider than this, however wide the terminal is. */
#define HELP_COLUMNS 96
/** Column at which help texts of options begin. */
#define HELP_INDENT 30
/** Where the terminal is narrower than this, texts go below their options. */
#define HELP_NARROW        64
#define HELP_INDENT_NARROW 6

const char *command_word(const struct command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space == NULL ? command->name : space + 1;
}

static const struct command *find_in(const struct command *table, const char *word, size_t len)
{
    for (; table != NULL && table->name != NULL; table++) {
        const char *own = command_word(table);
        if (strlen(own) == len && memcmp(own, word, len) == 0) {
            return table;
        }
    }
    return NULL;
}

/** The command that the first `len` bytes of a text name. */
static const struct command *find_path(const char *name, size_t len)
{
    const struct command *table = commands;
    const struct command *found = NULL;
    for (size_t at = 0; at < len;) {
        size_t word_len = strcspn(name + at, " ");
        found = find_in(table, name + at, word_len);
        if (found == NULL) {
            return NULL;
        }
        table = found->subcommands;
        at += word_len + 1;
    }
    return found;
}

const struct command *command_find(const char *name)
{
    return find_path(name, strlen(name));
}

const struct command *command_next(const struct command *command)
{
    if (command == NULL) {
        return commands;
    }
    if (command->subcommands != NULL) {
        return command->subcommands;
    }
    while (command[1].name == NULL) {
        const char *space = strrchr(command->name, ' ');
        if (space == NULL) {
            return NULL;
        }
        command = find_path(command->name, (size_t)(space - command->name));
    }
    return command + 1;
}

void command_resolve(int argc, char **argv, struct invocation *ret_invocation)
{
    const struct command *table = commands;
    *ret_invocation = (struct invocation){.argc = argc, .argv = argv};
    for (int i = 0; i < argc && table != NULL; i++) {
        const struct command *command = find_in(table, argv[i], strlen(argv[i]));
        if (command == NULL) {
            return;
        }
        *ret_invocation =
            (struct invocation){.command = command, .argc = argc - i, .argv = argv + i};
        table = command->subcommands;
    }
}

int command_unknown(const struct command *group, const char *word)
{
    struct suggest suggest = {.word = word, .len = strlen(word)};
    const struct command *table = group == NULL ? commands : group->subcommands;
    for (; table->name != NULL; table++) {
        if (!table->is_hidden) {
            suggest_offer(&suggest, command_word(table));
        }
    }
    char name[64];
    snprintf(name, sizeof(name), "%s%s%s", group == NULL ? "" : group->name,
             group == NULL ? "" : " ", word);
    const char *today = old_command_today(name);
    if (today != NULL) {
        return report_failure(EXIT_USAGE, "there is no command '%s': %s", name, today);
    }
    auto_buf struct buf hint = {0};
    const char *of = group == NULL ? "" : group->name;
    const char *space = group == NULL ? "" : " ";
    suggest_write(&suggest, "", "", &hint);
    return report_failure(EXIT_USAGE, "there is no command '%s%s%s'%s; see 'rondo help%s%s'", of,
                          space, word, buf_string(&hint), space, of);
}

int command_misuse(const struct command *command, const char *message)
{
    if (message[0] != '\0') {
        fprintf(stderr, "rondo %s: %s\n", command->name, message);
    }
    fprintf(stderr, "Try 'rondo %s --help'.\n", command->name);
    return EXIT_USAGE;
}

void command_print_help(const struct command *command, FILE *stream)
{
    auto_buf struct buf text = {0};
    size_t columns = style_columns(stream, HELP_COLUMNS);
    columns = columns < HELP_COLUMNS ? columns : HELP_COLUMNS;
    if (command == NULL) {
        command_overview(columns, &text);
    } else {
        command_help(command, columns, &text);
    }
    fwrite(text.data, 1, text.len, stream);
    fflush(stream);
}

int cmd_group(const struct invocation *invocation)
{
    if (invocation->argc > 1 && invocation->argv[1][0] != '-') {
        return command_unknown(invocation->command, invocation->argv[1]);
    }
    struct option_set set = {.rows = no_options};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (parsed.is_over) {
        return parsed.exit_code;
    }
    command_print_help(invocation->command, stderr);
    return EXIT_USAGE;
}

static struct parsed parse(const struct invocation *invocation, struct option_set *set,
                           bool takes_rest)
{
    char title[64];
    snprintf(title, sizeof(title), "rondo %s", invocation->command->name);
    struct rondo_error err = {0};
    int rest = 0;
    bool is_help = false;
    int r = option_parse(set, title, takes_rest, invocation->argc, invocation->argv, &rest,
                         &is_help, &err);
    if (r < 0) {
        const char *today =
            old_option_today(invocation->command->name, invocation->argc, invocation->argv);
        return (struct parsed){
            .is_over = true,
            .exit_code = command_misuse(invocation->command, today == NULL ? err.message : today)};
    }
    if (is_help) {
        command_print_help(invocation->command, stdout);
        return (struct parsed){.is_over = true, .exit_code = EXIT_OK};
    }
    return (struct parsed){.argc = invocation->argc - rest, .argv = invocation->argv + rest};
}

struct parsed command_parse(const struct invocation *invocation, struct option_set *set,
                            int words_min, int words_max)
{
    struct parsed parsed = parse(invocation, set, false);
    if (parsed.is_over) {
        return parsed;
    }
    const char *message = parsed.argc < words_min   ? "an argument is missing"
                          : parsed.argc > words_max ? "too many arguments"
                                                    : NULL;
    if (message != NULL) {
        char text[160];
        snprintf(text, sizeof(text), "%s; usage: rondo %s %s", message, invocation->command->name,
                 invocation->command->synopsis);
        parsed.is_over = true;
        parsed.exit_code = command_misuse(invocation->command, text);
    }
    return parsed;
}

struct parsed command_parse_rest(const struct invocation *invocation, struct option_set *set)
{
    return parse(invocation, set, true);
}

static void help_option(const struct option_row *row, size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf head = {0};
    auto_buf struct buf argument = {0};
    auto_buf struct buf help = {0};
    option_argument(row, &argument);
    if (row->letter != 0) {
        buf_printf(&head, "  -%c, --%s", row->letter, row->name);
    } else {
        buf_printf(&head, "      --%s", row->name);
    }
    if (argument.len > 0) {
        buf_printf(&head, "=%s", argument.data);
    }
    buf_append_string(&help, row->help);
    if (row->by_default != NULL) {
        buf_printf(&help, " [%s]", row->by_default);
    }
    size_t indent = columns < HELP_NARROW ? HELP_INDENT_NARROW : HELP_INDENT;
    bool is_below = columns < HELP_NARROW || head.len + 2 > indent;
    text_pad(buf_string(&head), is_below ? 0 : indent, ret_buf);
    if (is_below) {
        buf_printf(ret_buf, "\n%*s", (int)indent, "");
    }
    text_wrap(buf_string(&help), indent, columns, indent, ret_buf);
    buf_append_string(ret_buf, "\n");
}

static void help_options(const struct option_row *rows, size_t columns, struct buf *ret_buf)
{
    static const struct option_row help_row = {
        .name = "help", .letter = 'h', .help = "Show this help"};
    const char *group = "";
    for (size_t i = 0; i < option_count(rows); i++) {
        if (rows[i].is_hidden) {
            continue;
        }
        if (rows[i].group != NULL && strcmp(rows[i].group, group) != 0) {
            group = rows[i].group;
            buf_printf(ret_buf, "\n%s:\n", group);
        }
        help_option(&rows[i], columns, ret_buf);
    }
    if (group[0] == '\0') {
        buf_append_string(ret_buf, "\nGeneral:\n");
    }
    help_option(&help_row, columns, ret_buf);
}

static void help_examples(const char *examples, struct buf *ret_buf)
{
    buf_append_string(ret_buf, "\nExamples:\n");
    for (const char *at = examples; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        size_t command = strcspn(at, "\t");
        if (command < len) {
            buf_printf(ret_buf, "  # %.*s\n", (int)(len - command - 1), at + command + 1);
        }
        buf_printf(ret_buf, "  %.*s\n", (int)(command < len ? command : len), at);
        at += len + (at[len] == '\n');
    }
}

static void help_commands(const struct command *table, size_t columns, struct buf *ret_buf)
{
    buf_append_string(ret_buf, "\nCommands:\n");
    for (const struct command *command = table; command->name != NULL; command++) {
        if (!command->is_hidden) {
            buf_append_string(ret_buf, "  ");
            text_pad(command_word(command), 14, ret_buf);
            text_wrap(command->help, 16, columns, 16, ret_buf);
            buf_append_string(ret_buf, "\n");
        }
    }
}

void command_help(const struct command *command, size_t columns, struct buf *ret_buf)
{
    buf_printf(ret_buf, "Usage: rondo %s %s\n\n", command->name, command->synopsis);
    text_wrap(command->description, 0, columns, 0, ret_buf);
    buf_append_string(ret_buf, "\n");
    if (command->subcommands != NULL) {
        help_commands(command->subcommands, columns, ret_buf);
    }
    help_options(command->options, columns, ret_buf);
    if (command->examples != NULL) {
        help_examples(command->examples, ret_buf);
    }
}

void command_overview(size_t columns, struct buf *ret_buf)
{
    buf_append_string(ret_buf, "Usage: rondo COMMAND [OPTION...]\n\n");
    text_wrap("Run an agent or a command repeatedly until its exit conditions are verified. Every "
              "iteration is journalled, and checkpoints survive crashes.",
              0, columns, 0, ret_buf);
    buf_append_string(ret_buf, "\n");
    help_commands(commands, columns, ret_buf);
    buf_append_string(ret_buf, "\nTo try it, in a project with tests:\n"
                               "  rondo loop --until all_tests_pass -- ./my-agent.sh\n"
                               "and in another terminal, a live page of all runs:\n"
                               "  rondo serve\n\n"
                               "'rondo help COMMAND' describes a command.\n");
}
