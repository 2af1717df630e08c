/*
 * How good a version of the project is: errors of the build, failing tests, warnings of the
 * linter, in this order of importance. They are measured by the project's own Makefile (targets
 * all, test and lint) in the private copy.
 */
#pragma once

#include "scratch.h"

enum {
    CHECK_UNKNOWN = 1000000, /* not measured, as what it builds on does not work */
    CHECK_JOB_MS = 20000,    /* the longest time one of the three may take */
};

struct check_score {
    int errors;
    int failing; /* or CHECK_UNKNOWN */
    int total;   /* how many tests there are, 0 when unknown */
    int warnings;
};

struct check_report {
    struct check_score score;
    struct text build_output;
    struct text test_output;
    struct text lint_output;
};

/* Measures all there is to measure. The caller calls check_report_fini(). */
void check_measure(const struct scratch *scratch, struct check_report *report);

/* As check_measure(), but nothing that was built before is used. */
void check_measure_afresh(const struct scratch *scratch, struct check_report *report);

/*
 * Whether the copy is better than `best`; then `*score` is its score. Stops at the first sign
 * that it is not. A version that passes more tests but adds warnings or drops tests is not better.
 */
bool check_is_better(const struct scratch *scratch, const struct check_score *best,
                     struct check_score *score);

bool check_is_green(const struct check_score *score);

/* Appends "9 of 72 checks fail, 1 warning" or "the build fails". */
void check_describe(const struct check_score *score, struct text *text);

void check_report_fini(struct check_report *report);
