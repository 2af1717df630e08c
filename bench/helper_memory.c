// SPDX-License-Identifier: Apache-2.0
/*
 * Helper: print how much memory loops need, in MiB.
 *
 *   bench_memory bare STORE N        peak of a program that commits N rows with SQLite alone
 *   bench_memory one STORE N         peak of a program with one loop of N iterations
 *   bench_memory many STORE N        N loops at once, each on a thread: what one of them adds, with
 *                                    its thread's stack and its share of everything
 */
#include "floor.h"
#include "loops.h"
#include "measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** Iterations of each of many loops. */
#define MANY_TURNS 3
/** What rondo's own threads use at most (ARCHITECTURE.md). */
#define STACK_BYTES (256 * 1024)

static double run_bare(const char *store, size_t count)
{
    struct floor *floor = floor_open(store);
    char bytes[1024] = "";
    for (size_t i = 0; i < count; i++) {
        floor_commit(floor, bytes, sizeof(bytes));
    }
    floor_close(floor);
    return status_kib("VmHWM:") / 1024;
}

static double run_one(const char *store, size_t count)
{
    struct rondo *rondo = loops_open(store);
    struct rondo_loop *loop = loops_start(rondo);
    loops_turns(loop, count);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return status_kib("VmHWM:") / 1024;
}

struct memory_turner {
    pthread_t thread;
    struct rondo *rondo;
    struct rondo_loop *loop;
    pthread_barrier_t *barrier;
};

static void *turn_loop(void *argument)
{
    struct memory_turner *turner = argument;
    turner->loop = loops_start(turner->rondo);
    loops_turns(turner->loop, MANY_TURNS);
    pthread_barrier_wait(turner->barrier); /* All live at this moment. */
    pthread_barrier_wait(turner->barrier);
    rondo_loop_free(turner->loop);
    return NULL;
}

static double run_many(const char *store, size_t count)
{
    struct rondo *rondo = loops_open(store);
    struct rondo_loop *first = loops_start(rondo);
    loops_turns(first, MANY_TURNS);
    rondo_loop_free(first);
    struct memory_turner *turners = calloc(count, sizeof(*turners));
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    double before = status_kib("VmRSS:");
    for (size_t i = 0; i < count; i++) {
        turners[i] = (struct memory_turner){.rondo = rondo, .barrier = &barrier};
        if (pthread_create(&turners[i].thread, &attributes, turn_loop, &turners[i]) != 0) {
            bench_die("cannot start thread %zu", i);
        }
    }
    pthread_barrier_wait(&barrier);
    double after = status_kib("VmRSS:");
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < count; i++) {
        pthread_join(turners[i].thread, NULL);
    }
    pthread_attr_destroy(&attributes);
    pthread_barrier_destroy(&barrier);
    free(turners);
    rondo_close(rondo);
    return (after - before) / 1024 / (double)count;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double (*run)(const char *store, size_t count);
    } modes[] = {{"bare", run_bare}, {"one", run_one}, {"many", run_many}};
    for (size_t i = 0; argc == 4 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, argv[1]) == 0) {
            printf("%.4f\n", modes[i].run(argv[2], strtoul(argv[3], NULL, 10)));
            return 0;
        }
    }
    return 2;
}
