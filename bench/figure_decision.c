// SPDX-License-Identifier: Apache-2.0
/*
 * One decision: an iteration and a tool call before five policies, an iteration before many, and
 * the same with the reference engine where it is installed.
 */
#include "decisions.h"

#include "base/auto.h"
#include "base/buf.h"
#include "measure.h"

#include <stdlib.h>

/** Decisions of one sample: some milliseconds, far more than the clock's own cost. */
#define BLOCK 20000
/** How long the reference engine is measured in a round. */
#define REFERENCE_MS "300"

static void measure_alone(struct bench *bench, struct decisions *decisions, const char *name,
                          double goal_ns)
{
    struct samples ours = {0};
    struct samples empty = {0};
    decisions_ns(decisions, BLOCK);
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        samples_add(&ours, decisions_ns(decisions, BLOCK));
        samples_add(&empty, decisions_empty_call_ns(BLOCK));
    }
    bench_row(bench,
              &(struct report_row){.name = name,
                                   .floor_name = "a call of an empty function",
                                   .unit = "ns",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = goal_ns},
              &ours, &empty);
}

static void measure_among(struct bench *bench, struct decisions *few, size_t count,
                          const char *name)
{
    struct decisions many = {0};
    struct samples among_many = {0};
    struct samples among_few = {0};
    decisions_among(&many, count);
    decisions_ns(&many, BLOCK);
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        samples_add(&among_many, decisions_ns(&many, BLOCK));
        samples_add(&among_few, decisions_ns(few, BLOCK));
    }
    bench_row(bench,
              &(struct report_row){.name = name,
                                   .floor_name = "among 5",
                                   .unit = "ns",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 2},
              &among_many, &among_few);
    decisions_fini(&many);
}

static const char *write_question(const struct bench *bench, const struct decisions *decisions)
{
    const char *path = bench_path(bench, "question.json");
    auto_buf struct buf json = {0};
    decisions_write(decisions, &json);
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(json.data, 1, json.len, file) != json.len || fclose(file) != 0) {
        bench_die("cannot write %s", path);
    }
    return path;
}

/** The reference engine's nanoseconds for the same question; 0 when it is not installed. */
static double reference_ns(const struct bench *bench, const char *question)
{
    static const char script[] = "command -v node >/dev/null || exit 0; exec node \"$@\"";
    const char *const argv[] = {"/bin/sh",        "-c",     script,       "node",
                                bench->reference, question, REFERENCE_MS, NULL};
    return bench->reference == NULL ? 0 : bench_spawn_number(argv);
}

static void measure_reference(struct bench *bench, struct decisions *decisions)
{
    const char *question = write_question(bench, decisions);
    struct samples theirs = {0};
    struct samples ours = {0};
    for (size_t round = 0; round < bench_rounds(bench, 15); round++) {
        double ns = reference_ns(bench, question);
        if (ns == 0) {
            fputs("skipped: the reference engine is not installed (tests/cedar/README.md)\n",
                  stderr);
            samples_fini(&theirs);
            samples_fini(&ours);
            return;
        }
        samples_add(&theirs, ns);
        samples_add(&ours, decisions_ns(decisions, BLOCK));
    }
    bench_row(bench,
              &(struct report_row){.name = "the reference engine (cedar-wasm in node)",
                                   .floor_name = "Rondo",
                                   .unit = "ns",
                                   .goal_kind = GOAL_RATIO_MIN,
                                   .goal = 500},
              &theirs, &ours);
}

void figure_decision(struct bench *bench)
{
    struct decisions iterate = {0};
    struct decisions call_tool = {0};
    decisions_iterate(&iterate);
    decisions_call_tool(&call_tool);
    measure_alone(bench, &iterate, "decide an iteration, 5 policies", 60);
    measure_alone(bench, &call_tool, "decide a tool call by its arguments, 5 policies", 150);
    measure_among(bench, &iterate, 1000, "decide an iteration among 1,000 policies");
    measure_among(bench, &iterate, 10000, "decide an iteration among 10,000 policies");
    measure_reference(bench, &iterate);
    decisions_fini(&iterate);
    decisions_fini(&call_tool);
}
