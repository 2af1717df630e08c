// SPDX-License-Identifier: Apache-2.0
/*
 * Children: a worker's process and a verifier's, as the engine starts them, against the bare
 * posix_spawn of the same program; and a whole worker iteration against that plus one bare commit.
 */
#include "floor.h"
#include "measure.h"

#include "os/environment.h"
#include "os/spawn/spawn.h"
#include "store/sqlite/sqlite.h"
#include "worker/worker.h"

#include <string.h>

static const char *const true_argv[] = {"/bin/true", NULL};

static double spawn_run_us(const struct spawn_request *request)
{
    struct spawn_result result = {0};
    struct rondo_error err = {0};
    double began = now_us();
    if (spawn_run(request, &result, &err) < 0 || result.end != SPAWN_EXITED ||
        result.exit_code != 0) {
        bench_die("spawn_run: %s%s", err.message, result.reason);
    }
    spawn_result_fini(&result);
    return now_us() - began;
}

static void measure_spawn(struct bench *bench, const char *name,
                          const struct spawn_request *request)
{
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        samples_add(&ours, spawn_run_us(request) / 1e3);
        samples_add(&bare, bench_spawn_us(true_argv) / 1e3);
    }
    bench_row(
        bench,
        &(struct report_row){.name = name, .floor_name = "bare posix_spawn of it", .unit = "ms"},
        &ours, &bare);
}

/** Whether this machine has the sandbox that is asked for; says why not. */
static bool can_start(const struct spawn_request *request)
{
    struct spawn_result result = {0};
    struct rondo_error err = {0};
    int r = spawn_run(request, &result, &err);
    bool is_started = r == 0 && result.end == SPAWN_EXITED;
    if (!is_started) {
        fprintf(stderr, "bench: no figure for the sandbox: %s%s\n", err.message, result.reason);
    }
    spawn_result_fini(&result);
    return is_started;
}

static void measure_requests(struct bench *bench)
{
    char **envp = environment_reduced(NULL, NULL);
    struct spawn_request request = {
        .argv = true_argv,
        .envp = (const char *const *)envp,
        .directory = bench->folder,
        .total_ns = INT64_C(10000000000),
        .output_keep = 1024,
    };
    measure_spawn(bench, "spawn /bin/true as a worker", &request);
    if (bench->cli != NULL) {
        request.supervisor = bench->cli;
        measure_spawn(bench, "spawn /bin/true as a worker, supervised", &request);
        request.supervisor = NULL;
    }
    struct sandbox_policy policy = {.tier = SANDBOX_NAMESPACE, .workspace = bench->folder};
    request.sandbox = &policy;
    if (can_start(&request)) {
        measure_spawn(bench, "spawn /bin/true as a verifier, in the sandbox", &request);
    }
    environment_free(envp);
}

/** A loop whose body is the command /bin/true. */
static struct loop *start_worker_loop(const struct bench *bench, struct runtime *runtime)
{
    struct loop_spec spec = loop_spec_default();
    char *command[] = {(char *)"/bin/true", NULL};
    char workspace[4096];
    snprintf(workspace, sizeof(workspace), "%s", bench->folder);
    spec.agent_id = (char *)"bench";
    spec.kind = (char *)"command";
    spec.workspace = workspace;
    spec.command = command;
    spec.max_iterations = 1000000;
    struct loop_parts parts = {.runtime = runtime};
    struct loop_opening opening;
    struct loop *loop = NULL;
    struct rondo_error err = {0};
    if (loop_start(&parts, &spec, &loop, &opening, &err) < 0) {
        bench_die("loop_start: %s", err.message);
    }
    return loop;
}

static void turn_worker(struct loop *loop, struct worker *worker)
{
    struct rondo_error err = {0};
    if (loop_next(loop, &err) != LOOP_BODY || worker_run(worker, &err) < 0) {
        bench_die("worker: %s", err.message);
    }
}

static void measure_worker(struct bench *bench, struct loop *loop, struct worker *worker)
{
    struct floor *floor = floor_open(bench_path(bench, "worker-floor.db"));
    char bytes[1024];
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        double began = now_us();
        turn_worker(loop, worker);
        double between = now_us();
        bench_spawn_us(true_argv);
        memset(bytes, 'a' + (int)(round % 26), sizeof(bytes));
        floor_commit(floor, bytes, sizeof(bytes));
        samples_add(&ours, (between - began) / 1e3);
        samples_add(&bare, (now_us() - between) / 1e3);
    }
    bench_row(bench,
              &(struct report_row){.name = "worker iteration with /bin/true",
                                   .floor_name = "bare posix_spawn and commit",
                                   .unit = "ms"},
              &ours, &bare);
    floor_close(floor);
}

void figure_spawn(struct bench *bench)
{
    measure_requests(bench);
    struct store_sqlite_options options = {.path = bench_path(bench, "worker.db"),
                                           .may_create = true};
    struct store *store = NULL;
    struct runtime *runtime = NULL;
    struct worker *worker = NULL;
    struct rondo_error err = {0};
    if (store_sqlite_open(&options, &store, &err) < 0 ||
        runtime_new(&(struct runtime_options){.store = store, .supervisor = bench->cli}, &runtime,
                    &err) < 0) {
        bench_die("store: %s", err.message);
    }
    struct loop *loop = start_worker_loop(bench, runtime);
    struct worker_options worker_options = {.folder = bench->folder};
    if (worker_new(loop, &worker_options, &worker, &err) < 0) {
        bench_die("worker_new: %s", err.message);
    }
    measure_worker(bench, loop, worker);
    worker_free(worker);
    loop_park(loop, &err);
    loop_free(loop);
    runtime_free(runtime);
    store_close(store);
}
