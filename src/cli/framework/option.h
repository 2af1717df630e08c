// SPDX-License-Identifier: Apache-2.0
/*
 * Options of commands as rows of a table. From one table come the parsing of the command line
 * (argp), the keys of a configuration file, --help, the man page and the shell completion.
 *
 * A command keeps its values in a struct of its own; each row knows where in it its value lies.
 * Not for several threads: a command parses its options once, at its beginning.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a value is, and how it lies in the command's struct. */
enum option_kind {
    OPTION_FLAG = 0, /**< int64_t: 1 when given */
    OPTION_INT,      /**< int64_t in [low, high] */
    OPTION_DURATION, /**< int64_t, nanoseconds */
    OPTION_MONEY,    /**< int64_t, millionths */
    OPTION_CHOICE,   /**< int64_t: value of the choice */
    OPTION_TEXT,     /**< char *, owned */
    OPTION_LIST,     /**< char **, owned, NULL-terminated; repeatable */
};

/** A word that a choice option takes. */
struct option_choice {
    const char *name; /**< NULL ends a list */
    int64_t value;
};

/** What the shell completes as an option's argument or a command's. */
enum option_completes {
    COMPLETE_NOTHING = 0,
    COMPLETE_FILE,
    COMPLETE_FOLDER,
    COMPLETE_CONDITION,
    COMPLETE_RUN,
    COMPLETE_COMMAND, /**< the commands of rondo */
    COMPLETE_PROGRAM, /**< anything that can be executed */
    COMPLETE_SHELL,   /**< the shells that there is a completion for */
    COMPLETE_KIND_COUNT,
};

struct option_row {
    const char *name; /**< long name; NULL ends a table */
    char letter;      /**< short name, or 0 */
    enum option_kind kind;
    size_t offset;          /**< of the value in the command's struct */
    const char *argument;   /**< name of the argument for help; NULL for flags and choices */
    const char *by_default; /**< for help, or NULL */
    const char *help;
    const char *group; /**< heading; NULL continues the group of the row before */
    int64_t low, high; /**< OPTION_INT */
    const struct option_choice *choices;
    enum option_completes completes;
    bool is_hidden;         /**< parsed, but not shown */
    bool is_only_arguments; /**< not allowed in a configuration file */
};

/** Rows of one table. */
#define OPTION_ROWS_MAX 64
/** Values that one list option takes. */
#define OPTION_LIST_MAX 256

/** A table with the values of one invocation. */
struct option_set {
    const struct option_row *rows;
    void *values;
    bool is_given[OPTION_ROWS_MAX];
};

/** Rows in a table. NULL counts as an empty one. */
size_t option_count(const struct option_row *rows);

/** @return index of the row with a long name, or -1 */
int option_find(const struct option_row *rows, const char *name);

/** Whether the option was given, on the command line or in a file. */
bool option_is_given(const struct option_set *set, const char *name);

/**
 * Set row `index` from its text form. A second value replaces the first, but for lists, where it
 * is added. The message names the option.
 * @param text NULL for flags
 */
int option_set_text(struct option_set *set, size_t index, const char *text,
                    struct rondo_error *err);

/** Release all texts and lists, leaving NULL. */
void option_set_fini(struct option_set *set);

/** Append the argument as help shows it ("N", "strict|best-effort"); nothing for flags. */
void option_argument(const struct option_row *row, struct buf *ret_buf);

/**
 * Parse a command line into `set`.
 * @param name         of the command, for messages ("rondo loop")
 * @param takes_rest   the first word that is no option, or "--", ends the options: all that follows
 *                     belongs to somebody else's command line
 * @param argv         argv[0] is the command's own name
 * @param ret_rest     the words that are no options: points into `argv`, which is permuted
 * @param ret_is_help  --help was given
 * @return 0 or RONDO_ERR_INVALID; a message with err->message "" was printed already
 */
int option_parse(struct option_set *set, const char *name, bool takes_rest, int argc, char **argv,
                 int *ret_rest, bool *ret_is_help, struct rondo_error *err);
