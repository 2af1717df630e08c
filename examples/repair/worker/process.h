/*
 * Runs one program with a deadline and keeps what it printed.
 *
 * Children come from posix_spawn, lead their own process group and read from /dev/null. The whole
 * group is killed at the deadline and after the program's end, so nothing it started stays behind.
 */
#pragma once

#include "text.h"

struct process_result {
    bool is_finished;   /* false: not started, killed by a signal or by the deadline */
    int exit_code;      /* when finished */
    struct text output; /* stdout and stderr as they came, the first PROCESS_OUTPUT_MAX bytes */
};

enum {
    PROCESS_OUTPUT_MAX = 1024 * 1024,
};

/*
 * Runs `argv` (found by PATH, ended by NULL) in `directory`. Ends early, as not finished, when
 * `process_is_stopped()`. The caller calls process_result_fini().
 */
struct process_result process_run(const char *directory, const char *const argv[], int timeout_ms);

void process_result_fini(struct process_result *result);

/* From now on SIGTERM, SIGINT and SIGHUP only make process_is_stopped() true. */
void process_catch_signals(void);

bool process_is_stopped(void);
