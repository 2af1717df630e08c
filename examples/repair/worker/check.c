/* How good a version of the project is; see check.h. */
#include "check.h"

#include "process.h"

#include <stdio.h>
#include <string.h>

static int count_diagnostics(const char *output)
{
    static const char *const marks[] = {" error: ", " warning: ", "undefined reference"};
    int count = 0;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        for (const char *at = output; (at = strstr(at, marks[i])) != NULL; at++)
            count++;
    }
    return count;
}

/* -k: every diagnostic counts, not only those of the first file that has one. */
static struct process_result make(const struct scratch *scratch, const char *target)
{
    const char *const argv[] = {"make", "-s", "-k", "-j2", target, NULL};

    return process_run(scratch->path.data, argv, CHECK_JOB_MS);
}

/* The number of diagnostics of a target; a failure without any counts as one. */
static int measure_diagnostics(const struct scratch *scratch, const char *target,
                               struct text *output)
{
    struct process_result result = make(scratch, target);
    int count = 0;

    if (!result.is_finished || result.exit_code != 0) {
        count = count_diagnostics(text_string(&result.output));
        count = count > 0 ? count : 1;
    }
    if (output != NULL)
        text_append(output, text_string(&result.output), result.output.len);
    process_result_fini(&result);
    return count;
}

/* The summary is the last line of its kind: a test may print what looks like one. */
static bool parse_summary(const char *output, int *failing, int *total)
{
    bool is_found = false;

    for (const char *line = output; line != NULL; line = strchr(line, '\n')) {
        int a = 0;
        int b = 0;
        int end = 0;

        line += *line == '\n' ? 1 : 0;
        if (sscanf(line, "%d of %d checks failed%n", &a, &b, &end) == 2 && end > 0 && b > 0) {
            *failing = a;
            *total = b;
            is_found = true;
        }
    }
    return is_found;
}

/* A suite that fails without a count, or counts nothing but fails, is worse than any count. */
static void measure_tests(const struct scratch *scratch, struct check_score *score,
                          struct text *output)
{
    struct process_result result = make(scratch, "test");

    score->failing = CHECK_UNKNOWN;
    score->total = 0;
    if (result.is_finished &&
        parse_summary(text_string(&result.output), &score->failing, &score->total)) {
        if (result.exit_code != 0 && score->failing == 0)
            score->failing = CHECK_UNKNOWN;
    } else if (result.is_finished && result.exit_code == 0) {
        score->failing = 0;
    }
    if (output != NULL)
        text_append(output, text_string(&result.output), result.output.len);
    process_result_fini(&result);
}

void check_measure(const struct scratch *scratch, struct check_report *report)
{
    report->score.errors = measure_diagnostics(scratch, "all", &report->build_output);
    report->score.failing = CHECK_UNKNOWN;
    report->score.warnings = CHECK_UNKNOWN;
    if (report->score.errors > 0)
        return;
    measure_tests(scratch, &report->score, &report->test_output);
    report->score.warnings = measure_diagnostics(scratch, "lint", &report->lint_output);
}

void check_measure_afresh(const struct scratch *scratch, struct check_report *report)
{
    struct process_result result = make(scratch, "clean");

    process_result_fini(&result);
    check_measure(scratch, report);
}

bool check_is_better(const struct scratch *scratch, const struct check_score *best,
                     struct check_score *score)
{
    struct check_score found = {.failing = CHECK_UNKNOWN, .warnings = CHECK_UNKNOWN};

    found.errors = measure_diagnostics(scratch, "all", NULL);
    if (found.errors > best->errors || (found.errors == best->errors && found.errors > 0))
        return false;
    if (found.errors == 0) {
        measure_tests(scratch, &found, NULL);
        if (found.failing > best->failing || found.total < best->total)
            return false;
        if (found.failing == best->failing && best->warnings == 0 && best->errors == 0)
            return false;
        found.warnings = measure_diagnostics(scratch, "lint", NULL);
    }
    *score = found;
    return found.errors < best->errors ||
           (found.failing < best->failing && found.warnings <= best->warnings) ||
           found.warnings < best->warnings;
}

bool check_is_green(const struct check_score *score)
{
    return score->errors == 0 && score->failing == 0 && score->warnings == 0;
}

void check_describe(const struct check_score *score, struct text *text)
{
    if (score->errors > 0) {
        text_printf(text, "the build fails (%d error%s)", score->errors,
                    score->errors == 1 ? "" : "s");
        return;
    }
    if (score->failing == CHECK_UNKNOWN)
        text_printf(text, "the test suite breaks off");
    else
        text_printf(text, "%d of %d checks fail", score->failing, score->total);
    if (score->warnings > 0)
        text_printf(text, ", %d warning%s", score->warnings, score->warnings == 1 ? "" : "s");
}

void check_report_fini(struct check_report *report)
{
    text_fini(&report->build_output);
    text_fini(&report->test_output);
    text_fini(&report->lint_output);
}
