// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that decide with one set of policies at the same time. They share nothing that is
 * written, so a decision must cost each of them as much as it costs threads that share nothing at
 * all. That is said in processor time, which holds on a busy machine, too. On an idle one they are
 * also as many times faster as there are processors for them.
 */
#include "decisions.h"

#include "measure.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define BLOCK       200000
#define MAX_THREADS 16

/** One thread: the policies and entities are shared, the rest is its own. */
struct decider {
    pthread_t thread;
    struct decisions decisions;
    pthread_barrier_t *barrier;
    double processor_ns; /**< of its own, for one decision */
};

static double processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *decide(void *argument)
{
    struct decider *decider = argument;
    pthread_barrier_wait(decider->barrier);
    double began = processor_ns();
    decisions_ns(&decider->decisions, BLOCK);
    decider->processor_ns = (processor_ns() - began) / BLOCK;
    return NULL;
}

/** Decisions a second of so many threads together. */
static double decisions_per_second(struct decider *deciders, size_t threads)
{
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (size_t i = 0; i < threads; i++) {
        deciders[i].barrier = &barrier;
        if (pthread_create(&deciders[i].thread, NULL, decide, &deciders[i]) != 0) {
            bench_die("cannot start a thread");
        }
    }
    pthread_barrier_wait(&barrier);
    double began = now_us();
    for (size_t i = 0; i < threads; i++) {
        pthread_join(deciders[i].thread, NULL);
    }
    double seconds = (now_us() - began) / 1e6;
    pthread_barrier_destroy(&barrier);
    return (double)threads * BLOCK / seconds;
}

/** Processor time of a decision while so many threads decide, in the mean. */
static double decision_ns(struct decider *deciders, size_t threads)
{
    double sum = 0;
    decisions_per_second(deciders, threads);
    for (size_t i = 0; i < threads; i++) {
        sum += deciders[i].processor_ns;
    }
    return sum / (double)threads;
}

/** Thread 0's policies and entities are everybody's, or each has its own. */
static void set_up(struct decider *deciders, bool is_shared)
{
    struct decisions *first = &deciders[0].decisions;
    for (size_t i = 0; i < MAX_THREADS; i++) {
        struct decisions *decisions = &deciders[i].decisions;
        decisions_iterate(decisions);
        if (is_shared && i > 0) {
            cedar_policies_unref(decisions->policies);
            cedar_entities_free(decisions->entities);
            decisions->policies = cedar_policies_ref(first->policies);
            decisions->entities = first->entities;
        }
    }
}

static void tear_down(struct decider *deciders, bool is_shared)
{
    for (size_t i = MAX_THREADS; i > 0; i--) {
        if (is_shared && i > 1) {
            deciders[i - 1].decisions.entities = NULL; /* The first one's. */
        }
        decisions_fini(&deciders[i - 1].decisions);
    }
}

static void measure_sharing(struct bench *bench, struct decider *shared, struct decider *apart,
                            size_t threads, const char *name)
{
    struct samples together = {0};
    struct samples alone = {0};
    for (size_t round = 0; round < bench_rounds(bench, 25); round++) {
        samples_add(&together, decision_ns(shared, threads));
        samples_add(&alone, decision_ns(apart, threads));
    }
    bench_row(bench,
              &(struct report_row){.name = name,
                                   .floor_name = "threads that share nothing",
                                   .unit = "ns",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.1},
              &together, &alone);
}

static void measure_processors(struct bench *bench, struct decider *shared)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = processors < MAX_THREADS ? (size_t)processors : MAX_THREADS;
    struct samples together = {0};
    struct samples alone = {0};
    for (size_t round = 0; round < bench_rounds(bench, 25); round++) {
        samples_add(&together, decisions_per_second(shared, threads) / 1e6);
        samples_add(&alone, decisions_per_second(shared, 1) * (double)threads / 1e6);
    }
    bench_row(bench,
              &(struct report_row){.name = "decisions of as many threads as processors",
                                   .floor_name = "one thread, times the processors",
                                   .unit = "M/s",
                                   .goal_kind = GOAL_RATIO_MIN,
                                   .goal = 0.9},
              &together, &alone);
}

void figure_threads(struct bench *bench)
{
    static struct decider shared[MAX_THREADS];
    static struct decider apart[MAX_THREADS];
    set_up(shared, true);
    set_up(apart, false);
    measure_sharing(bench, shared, apart, 2, "decision of one of 2 threads on one set");
    measure_sharing(bench, shared, apart, 4, "decision of one of 4 threads on one set");
    measure_sharing(bench, shared, apart, 8, "decision of one of 8 threads on one set");
    measure_sharing(bench, shared, apart, MAX_THREADS, "decision of one of 16 threads on one set");
    measure_processors(bench, shared);
    tear_down(shared, true);
    tear_down(apart, false);
}
