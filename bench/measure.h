// SPDX-License-Identifier: Apache-2.0
/*
 * Measuring: samples, their median and spread, and rows of the report. A row compares a figure with
 * its floor, both measured in the same run and in turns (A B A B ...), so that what disturbs the
 * machine disturbs both. Values are in the row's unit; times are taken from CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** A growing list of measured values. Zeroed = empty; samples_fini(). */
struct samples {
    double *values;
    size_t count;
    size_t room;
};

void samples_add(struct samples *samples, double value);
/** Add all values of another list. */
void samples_copy(struct samples *to, const struct samples *from);
void samples_fini(struct samples *samples);

/** Median and range of a list; all 0 when it is empty. */
struct spread {
    double median;
    double low;
    double high;
};
struct spread samples_spread(const struct samples *samples);

/** The value below which so large a share of a list lies (0.99); sorts it; 0 when it is empty. */
double samples_percentile(struct samples *samples, double share);

/** A value of this process in KiB, by its key in /proc/self/status ("VmHWM:"); 0 when absent. */
double status_kib(const char *key);
/** The same of another /proc/PID/status. */
double status_kib_of(const char *path, const char *key);

/** CLOCK_MONOTONIC in microseconds. */
double now_us(void);

/** "2026-11-21T14:25:58.562Z" in ms since 1970; the day is looked up once. */
double bench_time_ms(const char *text);

/** What a goal is compared with. */
enum goal {
    GOAL_NONE,       /**< for information */
    GOAL_RATIO_MAX,  /**< figure / floor is at most the goal */
    GOAL_RATIO_MIN,  /**< figure / floor is at least the goal */
    GOAL_EXCESS_MAX, /**< figure - floor is at most the goal */
    GOAL_FIGURE_MAX, /**< the figure itself is at most the goal */
    GOAL_FIGURE_MIN, /**< it is at least the goal */
};

/** One line of the report. Texts are static. */
struct report_row {
    const char *name;
    const char *floor_name;
    const char *unit;
    struct spread figure;
    struct spread floor;
    enum goal goal_kind;
    double goal;
};

/** Names of figures for selection on the command line, and whether to be quick. */
struct bench {
    const char *folder;    /**< empty, on the disk to be measured; removed at the end */
    const char *programs;  /**< folder of the helper programs */
    const char *cli;       /**< the rondo binary, or NULL */
    const char *reference; /**< the script that asks the reference engine, or NULL */
    const char *forge;     /**< the stand-in forge's script, or NULL */
    bool is_quick;         /**< fewer rounds, for a look */
    struct report_row rows[64];
    size_t row_count;
};

/** Rounds to measure: `full`, or a fifth of it when quick (at least 3). */
size_t bench_rounds(const struct bench *bench, size_t full);

/** Add a row from samples, which are released. */
void bench_row(struct bench *bench, const struct report_row *head, struct samples *figure,
               struct samples *floor);

/** Print a message and exit: a benchmark that cannot run has no figure. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** A path in the bench's folder; static, valid until the eighth call after. */
const char *bench_path(const struct bench *bench, const char *name);

/** Remove a store's files. */
void bench_remove_store(const char *path);

/** Run a program to its end, output to /dev/null; returns its duration. Dies unless it exits 0. */
double bench_spawn_us(const char *const *argv);

/** Run a program and read the number that it prints. */
double bench_spawn_number(const char *const *argv);

/** The same for several numbers, with blanks between them. */
void bench_spawn_numbers(const char *const *argv, double *ret_numbers, size_t count);

/** Run a program and read what it prints, cut to `size` - 1 bytes. */
void bench_spawn_text(const char *const *argv, char *ret_text, size_t size);

/* The figures, in order of the report. */
void figure_inbox(struct bench *bench);
void figure_foreign(struct bench *bench);
void figure_lanes(struct bench *bench);
void figure_iteration(struct bench *bench);
void figure_group_commit(struct bench *bench);
void figure_start(struct bench *bench);
void figure_memory(struct bench *bench);
void figure_history(struct bench *bench);
void figure_checkpoint(struct bench *bench);
void figure_spawn(struct bench *bench);
void figure_decision(struct bench *bench);
void figure_profile(struct bench *bench);
void figure_policies(struct bench *bench);
void figure_schedule(struct bench *bench);
void figure_recall(struct bench *bench);
void figure_threads(struct bench *bench);
void figure_gate(struct bench *bench);
void figure_agent(struct bench *bench);
void figure_agents(struct bench *bench);
void figure_past(struct bench *bench);
void figure_readers(struct bench *bench);
void figure_idle(struct bench *bench);
void figure_hooks(struct bench *bench);
void figure_telemetry(struct bench *bench);
void figure_prd(struct bench *bench);
void figure_polls(struct bench *bench);
void figure_repositories(struct bench *bench);
void figure_claim(struct bench *bench);
void figure_postgres_commit(struct bench *bench);
void figure_postgres_100(struct bench *bench);
void figure_postgres_loops(struct bench *bench);
void figure_postgres_dbos(struct bench *bench);
void figure_postgres_claim(struct bench *bench);
void figure_postgres_fanout(struct bench *bench);
void figure_postgres_million(struct bench *bench);
void figure_postgres_idle(struct bench *bench);

/** Whether a row meets its goal; true without one. */
bool row_is_met(const struct report_row *row);
/** What the goal is compared with: a ratio, an excess or the figure. */
double row_score(const struct report_row *row);

void report_text(const struct bench *bench, FILE *out);
void report_json(const struct bench *bench, FILE *out);
