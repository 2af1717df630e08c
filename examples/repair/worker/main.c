/*
 * repair-worker [--budget N] [--seed N]: one iteration of a loop that repairs a C program.
 *
 * The program is the one in the folder the worker is started in: sources in src/, a Makefile with
 * the targets all, test and lint. The worker only searches; whether the program is repaired is for
 * the runtime to verify. See README.md.
 */
#include "process.h"
#include "search.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BUDGET_DEFAULT = 8,
    BUDGET_MAX = 10000,
    EXIT_USAGE = 2,
    DISPUTES_MAX = 2,
};

static const char usage[] = "usage: repair-worker [--budget N] [--seed N]\n"
                            "\n"
                            "Runs one iteration of repairing the C program in the current folder.\n"
                            "  --budget N  how many mutations to try while none helps (8)\n"
                            "  --seed N    decides between equally likely mutations (1)\n";

static bool parse_number(const char *text, unsigned long max, unsigned long *value)
{
    char *end = NULL;

    *value = strtoul(text, &end, 10);
    return end != text && *end == '\0' && text[0] != '-' && *value > 0 && *value <= max;
}

/* Returns an exit code, or -1 to go on. */
static int parse_options(int argc, char **argv, struct search *search)
{
    static const struct option options[] = {
        {"budget", required_argument, NULL, 'b'},
        {"seed", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option = 0;
    unsigned long value = 0;
    bool is_valid = true;

    while (is_valid && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        }
        is_valid =
            option != '?' && parse_number(optarg, option == 'b' ? BUDGET_MAX : UINT32_MAX, &value);
        if (is_valid && option == 'b')
            search->budget = value;
        if (is_valid && option == 's')
            search->state.seed = value;
    }
    if (is_valid && optind == argc)
        return -1;
    fputs(usage, stderr);
    return EXIT_USAGE;
}

/* Messages must be in English to be understood, and a make above us must not talk to ours. */
static void clean_environment(void)
{
    static const char *const names[] = {"MAKEFLAGS", "MFLAGS",      "MAKELEVEL", "MAKEOVERRIDES",
                                        "CFLAGS",    "GCOV_PREFIX", "LANGUAGE"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    setenv("LC_ALL", "C", 1);
}

/* All is well here; when the runtime keeps seeing it otherwise, no search of ours will help. */
static void finish_green(struct search *search, struct runtime_result *result, struct text *summary)
{
    struct text unmet = {0};

    runtime_read_unmet(search->runtime, &unmet);
    search->state.disputes = unmet.len > 0 ? search->state.disputes + 1 : 0;
    result->finish = "completed";
    text_printf(summary, "%d repairs after %ld mutations; build, tests and linter are clean",
                result->accepted, result->tried);
    if (search->state.disputes > DISPUTES_MAX) {
        result->finish = "blocked";
        text_fini(summary);
        text_printf(summary, "all is clean here, but the runtime does not see met: %s", unmet.data);
    }
    text_fini(&unmet);
}

static int finish(struct search *search, enum search_outcome outcome)
{
    const struct state *state = &search->state;
    struct text summary = {0};
    struct runtime_result result = {.failing = state->score.failing,
                                    .tried = state->tried,
                                    .accepted = (int)state->repair_count};

    if (outcome == SEARCH_GREEN)
        finish_green(search, &result, &summary);
    else
        search->state.disputes = 0;
    if (outcome == SEARCH_EXHAUSTED) {
        result.finish = "blocked";
        text_printf(&summary, "no single mutation helps any more: ");
        check_describe(&state->score, &summary);
    }
    result.summary = text_string(&summary);
    if (result.finish != NULL)
        printf("%s: %s\n", result.finish, result.summary);
    bool is_told = state_save(state, search->runtime->state_file) &&
                   runtime_write_result(search->runtime, &result);

    text_fini(&summary);
    return is_told ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const struct runtime runtime = runtime_read();
    struct search search = {.runtime = &runtime, .budget = BUDGET_DEFAULT, .state.seed = 1};
    int exit_code = parse_options(argc, argv, &search);

    if (exit_code >= 0)
        return exit_code;
    clean_environment();
    process_catch_signals();
    char *workspace = realpath(".", NULL);

    exit_code = EXIT_FAILURE;
    if (workspace == NULL) {
        perror("repair-worker: .");
    } else if (state_load(&search.state, runtime.state_file) != STATE_REFUSED) {
        search.workspace = workspace;
        const enum search_outcome outcome = search_iterate(&search);

        if (outcome != SEARCH_BROKEN && outcome != SEARCH_STOPPED)
            exit_code = finish(&search, outcome);
    }
    state_fini(&search.state);
    free(workspace);
    return exit_code;
}
