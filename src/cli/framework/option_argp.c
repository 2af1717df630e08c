// SPDX-License-Identifier: Apache-2.0
/* Driving argp from an option table. */
#include "cli/framework/option.h"

#include "base/error.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

/** argp keys: rows count from here, above all characters. */
#define KEY_FIRST 0x1000
#define KEY_HELP  0x0fff

struct parsing {
    struct option_set *set;
    bool takes_rest;
    bool is_help;
    struct rondo_error *err;
    int result;
};

static int row_of_key(const struct option_row *rows, int key)
{
    for (size_t i = 0; i < option_count(rows); i++) {
        if (key == KEY_FIRST + (int)i) {
            return (int)i;
        }
        if (rows[i].letter != 0 && rows[i].letter == key) {
            return (int)i;
        }
    }
    return -1;
}

static error_t on_key(int key, char *argument, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    if (key == ARGP_KEY_INIT) {
        state->err_stream = NULL; /* getopt prints its own line; the hint after it is ours. */
        return 0;
    }
    if (key == KEY_HELP || key == 'h') {
        parsing->is_help = true;
        state->next = state->argc;
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN; /* Not ours: parsing ends here and ret_rest points at it. */
    }
    int index = row_of_key(parsing->set->rows, key);
    if (index < 0) {
        return ARGP_ERR_UNKNOWN;
    }
    parsing->result = option_set_text(parsing->set, (size_t)index, argument, parsing->err);
    return parsing->result < 0 ? E2BIG : 0;
}

static void fill_options(const struct option_row *rows, struct argp_option *options)
{
    size_t count = option_count(rows);
    for (size_t i = 0; i < count; i++) {
        bool takes_argument = rows[i].kind != OPTION_FLAG;
        options[i] = (struct argp_option){
            .name = rows[i].name,
            .key = rows[i].letter != 0 ? rows[i].letter : KEY_FIRST + (int)i,
            .arg = takes_argument ? "VALUE" : NULL,
        };
    }
    options[count] = (struct argp_option){.name = "help", .key = KEY_HELP};
    options[count + 1] = (struct argp_option){.name = NULL, .key = 'h', .doc = ""};
    options[count + 2] = (struct argp_option){0};
}

int option_parse(struct option_set *set, const char *name, bool takes_rest, int argc, char **argv,
                 int *ret_rest, bool *ret_is_help, struct rondo_error *err)
{
    struct argp_option options[OPTION_ROWS_MAX + 3];
    fill_options(set->rows, options);
    struct parsing parsing = {.set = set, .takes_rest = takes_rest, .err = err};
    struct argp argp = {.options = options, .parser = on_key};
    char title[64];
    snprintf(title, sizeof(title), "%s", name);
    argv[0] = title;
    unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP | (takes_rest ? ARGP_IN_ORDER : 0);
    int rest = argc;
    error_t failure = argp_parse(&argp, argc, argv, flags, &rest, &parsing);
    if (parsing.result < 0) {
        return parsing.result;
    }
    *ret_is_help = parsing.is_help;
    *ret_rest = rest;
    if (failure != 0 && !parsing.is_help) {
        return error_set(err, RONDO_ERR_INVALID, "%s", "");
    }
    return 0;
}
