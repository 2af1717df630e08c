/* Which lines the failing tests run; see cover.h. */
#include "cover.h"

#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_MS = 10000,
    OBJECTS_MAX = 64,
};

/* How many failing and passing cases ran a line; -1 while it is not known as one that can run. */
struct tally {
    int failing;
    int passing;
};

struct coverage {
    const struct scratch *scratch;
    const struct source_set *set;
    const struct suspect_map *map;
    struct tally *lines;
    int failing; /* cases with counters */
    int passing;
};

static bool run(const struct scratch *scratch, const char *const argv[], struct text *output)
{
    struct process_result result = process_run(scratch->path.data, argv, STEP_MS);
    bool is_good = result.is_finished && result.exit_code == 0;

    if (output != NULL)
        text_append(output, text_string(&result.output), result.output.len);
    process_result_fini(&result);
    return is_good;
}

static bool build_with_counters(const struct scratch *scratch)
{
    const char *const argv[] = {
        "make", "-s", "-j2", "BUILD=coverage", "EXTRA_CFLAGS=--coverage", "coverage/tests", NULL};

    return run(scratch, argv, NULL);
}

/* The counters of one case are in one file for each object; the paths are the caller's. */
static size_t list_counters(const struct scratch *scratch, char *paths[OBJECTS_MAX])
{
    struct text folder = {0};
    const struct dirent *entry = NULL;
    size_t count = 0;

    text_printf(&folder, "%s/coverage", scratch->path.data);
    DIR *directory = opendir(folder.data);

    text_fini(&folder);
    while (directory != NULL && count < OBJECTS_MAX && (entry = readdir(directory)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        struct text path = {0};

        if (dot == NULL || strcmp(dot, ".gcda") != 0)
            continue;
        text_printf(&path, "coverage/%s", entry->d_name);
        paths[count++] = path.data;
    }
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* One line of gcov: "   COUNT:  LINE:TEXT", where '-' is no code and '#####' did not run. */
static void take_line(struct coverage *coverage, const char *text, size_t *file, bool is_failing)
{
    const char *number = strchr(text, ':');

    if (number == NULL)
        return;
    text += strspn(text, " ");
    const int line = (int)strtol(number + 1, NULL, 10);
    const char *source = strstr(number, ":Source:");

    if (line == 0 && source != NULL)
        *file = suspect_find_file(coverage->set, source + 8, strcspn(source + 8, "\n"));
    const int *level = suspect_at(coverage->map, coverage->set, *file, line);

    if (level == NULL || *text == '-')
        return;
    struct tally *tally = &coverage->lines[level - coverage->map->levels];
    const int hit = isdigit((unsigned char)*text) ? 1 : 0;

    tally->failing = (tally->failing < 0 ? 0 : tally->failing) + (is_failing ? hit : 0);
    tally->passing += is_failing ? 0 : hit;
}

static bool read_counters(struct coverage *coverage, char *paths[], size_t count, bool is_failing)
{
    const char *argv[OBJECTS_MAX + 3] = {"gcov", "-t"};
    struct text output = {0};
    size_t file = coverage->set->count;

    for (size_t i = 0; i < count; i++)
        argv[i + 2] = paths[i];
    bool is_read = run(coverage->scratch, argv, &output);
    const char *line = is_read ? text_string(&output) : NULL;

    while (line != NULL && *line != '\0') {
        const char *end = strchr(line, '\n');

        take_line(coverage, line, &file, is_failing);
        line = end != NULL ? end + 1 : NULL;
    }
    text_fini(&output);
    return is_read;
}

/* A case that was killed leaves no counters and is not counted. */
static void run_case(struct coverage *coverage, const char *name, bool is_failing)
{
    const char *const argv[] = {"coverage/tests", name, NULL};
    char *paths[OBJECTS_MAX] = {NULL};

    run(coverage->scratch, argv, NULL);
    const size_t count = list_counters(coverage->scratch, paths);

    if (count > 0 && read_counters(coverage, paths, count, is_failing)) {
        coverage->failing += is_failing ? 1 : 0;
        coverage->passing += is_failing ? 0 : 1;
    }
    for (size_t i = 0; i < count; i++) {
        scratch_unlink(coverage->scratch, paths[i]);
        free(paths[i]);
    }
}

static bool is_failing_case(const char *test_output, const char *name)
{
    struct text mark = {0};

    text_printf(&mark, "FAIL %s:", name);
    bool is_found = strstr(test_output, mark.data) != NULL;

    text_fini(&mark);
    return is_found;
}

/* Runs every n-th case of one kind, so that no more than COVER_CASES_MAX of them are run. */
static void run_cases(struct coverage *coverage, const char *names, const char *test_output,
                      bool is_failing)
{
    char *copy = strdup(names);
    int count = 0;

    for (int round = 0; round < 2 && copy != NULL; round++) {
        char *rest = NULL;
        const int stride = (count + COVER_CASES_MAX - 1) / COVER_CASES_MAX;
        int index = 0;

        memcpy(copy, names, strlen(names) + 1);
        for (char *name = strtok_r(copy, "\n", &rest); name != NULL && !process_is_stopped();
             name = strtok_r(NULL, "\n", &rest)) {
            if (is_failing_case(test_output, name) != is_failing)
                continue;
            if (round == 0)
                count++;
            else if (index++ % stride == 0)
                run_case(coverage, name, is_failing);
        }
    }
    free(copy);
}

/* Tarantula: the share of the failing cases that run the line, against that of the passing. */
static int tarantula(const struct coverage *coverage, const struct tally *tally)
{
    const double failing = (double)tally->failing / coverage->failing;
    const double passing = coverage->passing > 0 ? (double)tally->passing / coverage->passing : 0;

    if (tally->failing == 0)
        return SUSPECT_LEAST;
    return (int)((SUSPECT_CERTAIN - 1) * failing / (failing + passing));
}

void cover_add(struct suspect_map *map, const struct source_set *set, const struct scratch *scratch,
               const char *test_output)
{
    const char *const list_argv[] = {"coverage/tests", "--list", NULL};
    struct coverage coverage = {.scratch = scratch, .set = set, .map = map};
    struct text names = {0};

    coverage.lines = text_realloc(NULL, map->count, sizeof(*coverage.lines));
    for (size_t i = 0; i < map->count; i++)
        coverage.lines[i] = (struct tally){.failing = -1};
    if (build_with_counters(scratch) && run(scratch, list_argv, &names)) {
        char *paths[OBJECTS_MAX] = {NULL};

        for (size_t count = list_counters(scratch, paths); count > 0; count--) {
            scratch_unlink(scratch, paths[count - 1]);
            free(paths[count - 1]);
        }
        run_cases(&coverage, text_string(&names), test_output, true);
        run_cases(&coverage, text_string(&names), test_output, false);
    }
    for (size_t i = 0; i < map->count && coverage.failing > 0; i++) {
        if (coverage.lines[i].failing >= 0)
            map->levels[i] = tarantula(&coverage, &coverage.lines[i]);
    }
    text_fini(&names);
    free(coverage.lines);
}
