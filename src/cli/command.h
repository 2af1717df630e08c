// SPDX-License-Identifier: Apache-2.0
/*
 * The commands of rondo: one table. A row has all that is said about a command anywhere, so
 * `rondo help`, --help, the man pages and the shell completion cannot disagree.
 */
#pragma once

#include "cli/option.h"

/** One invocation of a command. */
struct invocation {
    const struct command *command;
    int argc; /**< words behind the command's name */
    char **argv;
};

struct command {
    const char *name;
    const char *synopsis;    /**< what follows the name: "[OPTION...] RUN" */
    const char *help;        /**< one line */
    const char *description; /**< paragraphs, separated by an empty line; for --help and man */
    const char *examples;    /**< lines: a command, a tab, what it does; or NULL */
    const struct option_row *options;
    enum option_completes completes; /**< its words that are no options */
    bool is_hidden;
    /** @return exit code (cli/exit_codes.h) */
    int (*run)(const struct invocation *invocation);
};

/** All commands, in the order in which help lists them; ends with a NULL name. */
extern const struct command commands[];

/** @return the command of that name or NULL */
const struct command *command_find(const char *name);

/** What parsing a command's words gave. */
struct parsed {
    int argc;     /**< words that are no options */
    char **argv;  /**< points into the invocation's, NULL-terminated */
    bool is_over; /**< help was printed or an error reported: return `exit_code` */
    int exit_code;
};

/**
 * Parse a command's words, answer --help, and hold the number of words against a range. What
 * is wrong is reported on stderr.
 */
struct parsed command_parse(const struct invocation *invocation, struct option_set *set,
                            int words_min, int words_max);

/** The same for commands whose words are a command line of their own: options end before it. */
struct parsed command_parse_rest(const struct invocation *invocation, struct option_set *set);

/** Append the --help text of a command, wrapped to `columns`. */
void command_help(const struct command *command, size_t columns, struct buf *ret_buf);

/** Append the list of commands. */
void command_overview(size_t columns, struct buf *ret_buf);

/** Report a usage error with a hint at --help. @return EXIT_USAGE */
int command_misuse(const struct command *command, const char *message);

int cmd_loop(const struct invocation *invocation);
int cmd_resume(const struct invocation *invocation);
int cmd_runs(const struct invocation *invocation);
int cmd_show(const struct invocation *invocation);
int cmd_logs(const struct invocation *invocation);
int cmd_checkpoints(const struct invocation *invocation);
int cmd_stop(const struct invocation *invocation);
int cmd_gc(const struct invocation *invocation);
int cmd_doctor(const struct invocation *invocation);
int cmd_completion(const struct invocation *invocation);
int cmd_doc(const struct invocation *invocation);
int cmd_version(const struct invocation *invocation);
int cmd_help(const struct invocation *invocation);

extern const struct option_row loop_options[];
extern const struct option_row resume_options[];
extern const struct option_row runs_options[];
extern const struct option_row show_options[];
extern const struct option_row logs_options[];
extern const struct option_row checkpoints_options[];
extern const struct option_row stop_options[];
extern const struct option_row gc_options[];
extern const struct option_row doctor_options[];
extern const struct option_row version_options[];
extern const struct option_row no_options[];
