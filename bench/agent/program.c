// SPDX-License-Identifier: Apache-2.0
/*
 * Helper: role agents of the engine against a mock model server, measured from inside.
 *
 *   bench_agent run STORE BASE FOLDER N         one agent until it finishes, after N iterations;
 *                                               prints the peak of memory, MiB
 *   bench_agent history STORE BASE FOLDER N     prints the median time (us) of an iteration
 *                                               after the Nth and of one after the tenth
 *   bench_agent many STORE BASE FOLDER N        N agents at once, each on a thread; prints how many
 *                                               have finished and what each adds to the peak, KiB
 *   bench_agent role BASE FOLDER                prints the role file
 *
 * BASE is the server; the agents' conversations are BASE/c/ID/v1.
 */
#include "../measure.h"
#include "engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define YOUNG  10
#define ROUNDS 25
/** What rondo's own threads use at most (ARCHITECTURE.md). */
#define STACK_BYTES (256 * 1024)
/** Descriptors for so many connections. */
#define DESCRIPTORS 65536

static void open_agent(struct engine *engine, const char *base, const char *id,
                       struct engine_agent *ret_agent)
{
    char url[512];
    snprintf(url, sizeof(url), "%s/c/%s/v1", base, id);
    engine_open_agent(engine, url, ret_agent);
}

static void start(struct engine *engine, const char *base, const char *id,
                  struct engine_agent *ret_agent)
{
    open_agent(engine, base, id, ret_agent);
    engine_start(engine, ret_agent);
}

static int run_one(struct engine *engine, const char *base, size_t count)
{
    struct engine_agent agent;
    start(engine, base, "run", &agent);
    size_t turns = engine_turns(&agent, 2 * count);
    if (turns != count) {
        bench_die("%zu iterations instead of %zu", turns, count);
    }
    engine_end(&agent);
    printf("%.4f\n", status_kib("VmHWM:") / 1024);
    return 0;
}

/** Median time of the next few iterations. */
static double iteration_us(struct engine_agent *agent)
{
    struct samples samples = {0};
    for (int i = 0; i < YOUNG; i++) {
        double began = now_us();
        if (engine_turns(agent, 1) != 1) {
            bench_die("an agent has finished too early");
        }
        samples_add(&samples, now_us() - began);
    }
    double median = samples_spread(&samples).median;
    samples_fini(&samples);
    return median;
}

static int run_history(struct engine *engine, const char *base, size_t count)
{
    struct samples old_us = {0};
    struct samples young_us = {0};
    struct engine_agent old;
    start(engine, base, "old", &old);
    engine_turns(&old, count);
    for (int round = 0; round < ROUNDS; round++) {
        struct engine_agent young;
        char id[32];
        snprintf(id, sizeof(id), "young-%d", round);
        start(engine, base, id, &young);
        engine_turns(&young, YOUNG);
        samples_add(&young_us, iteration_us(&young));
        engine_end(&young);
        samples_add(&old_us, iteration_us(&old));
    }
    engine_end(&old);
    printf("%.3f %.3f\n", samples_spread(&old_us).median, samples_spread(&young_us).median);
    samples_fini(&old_us);
    samples_fini(&young_us);
    return 0;
}

/** One of many. */
struct program_worker {
    pthread_t thread;
    struct engine *engine;
    struct engine_agent agent;
    pthread_barrier_t *barrier;
    bool has_finished;
};

static void *work(void *argument)
{
    struct program_worker *worker = argument;
    struct engine_agent *agent = &worker->agent;
    engine_start(worker->engine, agent);
    pthread_barrier_wait(worker->barrier); /* All are there before the first one asks. */
    engine_turns(agent, 1000);
    worker->has_finished = loop_state(agent->loop)->status == RONDO_COMPLETED;
    pthread_barrier_wait(worker->barrier); /* All are still there when the last one has ended. */
    engine_end(agent);
    return NULL;
}

/**
 * Reading a role needs much more memory than the agent that comes of it, and each thread keeps what
 * it has freed for itself: one thread opens them all, as a program with thousands would do.
 */
static void open_all(struct engine *engine, const char *base, pthread_barrier_t *barrier,
                     struct program_worker *workers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof(id), "%zu", i);
        workers[i] = (struct program_worker){.engine = engine, .barrier = barrier};
        open_agent(engine, base, id, &workers[i].agent);
    }
}

static void start_threads(struct program_worker *workers, size_t count)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (pthread_create(&workers[i].thread, &attributes, work, &workers[i]) != 0) {
            bench_die("cannot start thread %zu", i);
        }
    }
    pthread_attr_destroy(&attributes);
}

/**
 * Start again without the C library's caches of freed memory, one for each thread: of thousands of
 * threads that wait, each would keep 40 KiB for itself (docs/concurrency.md).
 */
static void drop_thread_caches(char **argv)
{
    if (getenv("GLIBC_TUNABLES") == NULL) {
        setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=2", 1);
        execv("/proc/self/exe", argv);
        bench_die("cannot start again");
    }
}

static void raise_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int run_many(struct engine *engine, const char *base, size_t count)
{
    struct engine_agent first;
    struct program_worker *workers = calloc(count, sizeof(*workers));
    pthread_barrier_t barrier;
    raise_limit();
    start(engine, base, "first", &first);
    engine_turns(&first, 1000);
    engine_end(&first);
    double before = status_kib("VmRSS:");
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    open_all(engine, base, &barrier, workers, count);
    start_threads(workers, count);
    size_t finished = 0;
    for (size_t i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        finished += workers[i].has_finished ? 1 : 0;
    }
    printf("%zu %.3f\n", finished, (status_kib("VmHWM:") - before) / (double)count);
    pthread_barrier_destroy(&barrier);
    free(workers);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct engine *engine, const char *base, size_t count);
    } modes[] = {{"run", run_one}, {"history", run_history}, {"many", run_many}};
    if (argc == 4 && strcmp(argv[1], "role") == 0) {
        char yaml[2048];
        char url[512];
        snprintf(url, sizeof(url), "%s/c/start/v1", argv[2]);
        engine_role(url, argv[3], yaml, sizeof(yaml));
        fputs(yaml, stdout);
        return 0;
    }
    for (size_t i = 0; argc == 6 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, argv[1]) == 0) {
            struct engine engine;
            if (modes[i].run == run_many) {
                drop_thread_caches(argv);
            }
            engine_open(&engine, argv[2], argv[4]);
            int exit_code = modes[i].run(&engine, argv[3], strtoul(argv[5], NULL, 10));
            engine_close(&engine);
            return exit_code;
        }
    }
    return 2;
}
