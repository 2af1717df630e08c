// SPDX-License-Identifier: Apache-2.0
/*
 * The commands of rondo: one table. A row has all that is said about a command anywhere, so
 * `rondo help`, --help, the man pages and the shell completion cannot disagree.
 */
#pragma once

#include "cli/framework/option.h"

#include <stdio.h>

/** One invocation of a command. */
struct invocation {
    const struct command *command;
    int argc; /**< words after the command's name */
    char **argv;
};

struct command {
    const char *name;        /**< the words after `rondo`: "loop", "policy check" */
    const char *synopsis;    /**< what follows the name: "[OPTION...] RUN" */
    const char *help;        /**< one line */
    const char *description; /**< paragraphs, separated by an empty line; for --help and man */
    const char *examples;    /**< lines: a command, a tab, what it does; or NULL */
    const struct option_row *options;
    enum option_completes completes; /**< its words that are no options */
    bool is_hidden;
    /** The commands of a group (then `run` is mostly cmd_group), or NULL; ends with a NULL name. */
    const struct command *subcommands;
    /** @return exit code (cli/framework/exit_codes.h) */
    int (*run)(const struct invocation *invocation);
};

/** Words that a command's name can have. */
#define COMMAND_WORDS_MAX 2

/** All commands, in the order in which help lists them; ends with a NULL name. */
extern const struct command commands[];

/** @return the command of that name ("policy check") or NULL */
const struct command *command_find(const char *name);

/** Last word of a command's name. Borrowed from it. */
const char *command_word(const struct command *command);

/**
 * The next of all commands, each group before its own ones: `command_next(NULL)` is the first, NULL
 * follows the last.
 */
const struct command *command_next(const struct command *command);

/**
 * Find the command to run: as many words as name commands are taken.
 * @param argv at least one word
 * @param ret_invocation its command is NULL when the first word is none
 */
void command_resolve(int argc, char **argv, struct invocation *ret_invocation);

/** Report a word that names no command of a group (NULL = of rondo). @return EXIT_USAGE */
int command_unknown(const struct command *group, const char *word);

/** What parsing a command's words gave. */
struct parsed {
    int argc;     /**< words that are no options */
    char **argv;  /**< points into the invocation's, NULL-terminated */
    bool is_over; /**< help was printed or an error reported: return `exit_code` */
    int exit_code;
};

/**
 * Parse a command's words, answer --help, and check the number of words against a range.
 * Errors are reported on stderr.
 */
struct parsed command_parse(const struct invocation *invocation, struct option_set *set,
                            int words_min, int words_max);

/** The same for commands whose words are a command line of their own: options end before it. */
struct parsed command_parse_rest(const struct invocation *invocation, struct option_set *set);

/** Append the --help text of a command, wrapped to `columns`. */
void command_help(const struct command *command, size_t columns, struct buf *ret_buf);

/** Append what rondo is and its list of commands. */
void command_overview(size_t columns, struct buf *ret_buf);

/** Write the help of a command to a stream, as wide as its terminal. */
void command_print_help(const struct command *command, FILE *stream);

/** Report a usage error with a hint at --help. @return EXIT_USAGE */
int command_misuse(const struct command *command, const char *message);

/** A group without one of its commands: help. */
int cmd_group(const struct invocation *invocation);

/** Of a command without options. */
extern const struct option_row no_options[];

/* cmd_run(), run_options and the like of each row. */
#define COMMAND(id, rows, ...)                         \
    int cmd_##id(const struct invocation *invocation); \
    extern const struct option_row rows[];
#define GROUP(id, ...) extern const struct command id##_commands[];
#define BOTH(id, rows, ...)                            \
    int cmd_##id(const struct invocation *invocation); \
    extern const struct option_row rows[];             \
    extern const struct command id##_commands[];
#include "cli/framework/commands.def"
