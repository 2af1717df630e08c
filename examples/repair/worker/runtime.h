/*
 * What the worker and the runtime tell each other: the environment of an iteration, the verdicts
 * on the one before, and the result. Without the environment the worker still works, with files
 * in the folder it is started in.
 */
#pragma once

#include "text.h"

struct runtime {
    const char *run_id;
    long iteration;
    const char *state_file;
    const char *feedback_file; /* NULL: none */
    const char *result_file;   /* NULL: nobody wants to know */
};

struct runtime_result {
    const char *finish;  /* "completed", "blocked", or NULL to go on */
    const char *summary; /* needed with `finish` */
    int failing;
    long tried;
    int accepted;
};

/* Reads the environment; the strings belong to it. */
struct runtime runtime_read(void);

/*
 * Appends the names of the conditions that were not met after the last iteration, separated by
 * ", ". Nothing is appended when there is no feedback yet.
 */
void runtime_read_unmet(const struct runtime *runtime, struct text *names);

/* Writes the result file. False, with a message on stderr, on failure. */
bool runtime_write_result(const struct runtime *runtime, const struct runtime_result *result);
