// SPDX-License-Identifier: Apache-2.0
/*
 * The gate as a loop passes it before each iteration: a look at the policy file, the decision, and
 * the four limits; and what that does to a durable iteration.
 */
#include "loops.h"
#include "measure.h"
#include "policy/subject.h"
#include "policy/watch.h"

#include <string.h>
#include <sys/stat.h>

/** Gates of one sample. */
#define GATES 500
/** Iterations of one sample: few, so that what disturbs the disk meets both sides alike. */
#define TURNS 2

static const char policies[] =
    "@id(\"base\") permit (principal, action, resource);\n"
    "@id(\"limit.iterations\") @reason(\"iteration budget used up\")\n"
    "forbid (principal, action == Action::\"iterate\", resource)\n"
    "unless { context.iteration < 1000000000 };\n"
    "@id(\"limit.per-agent\")\n"
    "forbid (principal, action == Action::\"iterate\", resource)\n"
    "when { principal has max_iterations && context.iteration >= principal.max_iterations };\n"
    "@id(\"limit.cost\") forbid (principal, action, resource)\n"
    "unless { context.cost_usd.lessThan(decimal(\"5.00\")) };\n"
    "@id(\"shell\") @on_deny(\"ask\") @reason(\"the shell needs approval\")\n"
    "forbid (principal, action == Action::\"call_tool\", resource == Tool::\"shell\")\n"
    "unless { context.approved || principal.trust >= 3 };\n";

static const char *write_policies(const struct bench *bench)
{
    const char *path = bench_path(bench, "gate.cedar");
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(policies, file) < 0 || fclose(file) != 0) {
        bench_die("cannot write %s", path);
    }
    return path;
}

/** What a loop has in hand at its gate. */
struct gate_bench {
    const char *path;
    struct watch *watch;
    struct watch_view view;
    struct watch_message message;
    struct subject *subject;
};

static void look(struct gate_bench *gate)
{
    struct rondo_error err = {0};
    if (watch_look(gate->watch, &gate->view, &gate->message, &err) < 0) {
        bench_die("%s", err.message);
    }
}

static double gates_us(struct gate_bench *gate)
{
    struct policy_request request = {.action = ACTION_ITERATE};
    struct policy_limit limits[RUN_LIMIT_COUNT];
    struct policy_verdict verdict;
    double began = now_us();
    for (request.iteration = 0; request.iteration < GATES; request.iteration++) {
        look(gate);
        subject_decide(gate->subject, &request, &verdict);
        if (verdict.outcome != VERDICT_ALLOW) {
            bench_die("denied by policy %lld", (long long)verdict.deciding);
        }
        subject_find_limits(gate->subject, &request, limits);
    }
    return (now_us() - began) / GATES;
}

/** The least that noticing a change takes. */
static double stats_us(const char *path)
{
    struct stat status;
    double began = now_us();
    for (size_t i = 0; i < GATES; i++) {
        if (stat(path, &status) != 0) {
            bench_die("cannot look at %s", path);
        }
    }
    return (now_us() - began) / GATES;
}

static void measure_gate(struct bench *bench, const char *path)
{
    struct gate_bench gate = {
        .path = path,
        .watch = watch_new(&(struct watch_options){.path = path}),
        .subject = subject_new(
            &(struct policy_run){.agent_id = "bench", .run_id = "r-1", .kind = "library"}, NULL),
    };
    struct samples whole = {0};
    struct samples bare = {0};
    look(&gate);
    subject_set_ruleset(gate.subject, gate.view.ruleset);
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        samples_add(&whole, gates_us(&gate));
        samples_add(&bare, stats_us(path));
    }
    bench_row(bench,
              &(struct report_row){.name = "gate of an iteration: file, decision, 4 limits",
                                   .floor_name = "stat() of the file",
                                   .unit = "us"},
              &whole, &bare);
    subject_free(gate.subject);
    watch_view_fini(&gate.view);
    watch_free(gate.watch);
}

static double turns_us(struct rondo_loop *loop)
{
    double began = now_us();
    loops_turns(loop, TURNS);
    return (now_us() - began) / TURNS;
}

static void measure_iterations(struct bench *bench, const char *path)
{
    struct rondo *rondo = loops_open(bench_path(bench, "gate.db"));
    struct rondo *other = loops_open(bench_path(bench, "gate-floor.db"));
    struct rondo_loop *with = loops_start_with(rondo, path);
    struct rondo_loop *without = loops_start(other);
    struct samples ruled = {0};
    struct samples free_ones = {0};
    loops_turns(with, 50);
    loops_turns(without, 50);
    for (size_t round = 0; round < bench_rounds(bench, 1500); round++) {
        samples_add(&ruled, turns_us(with));
        samples_add(&free_ones, turns_us(without));
    }
    bench_row(bench,
              &(struct report_row){.name = "durable iteration with a policy file",
                                   .floor_name = "without one",
                                   .unit = "us",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.05},
              &ruled, &free_ones);
    rondo_loop_free(with);
    rondo_loop_free(without);
    rondo_close(rondo);
    rondo_close(other);
}

void figure_gate(struct bench *bench)
{
    const char *path = write_policies(bench);
    measure_gate(bench, path);
    measure_iterations(bench, path);
}
