// SPDX-License-Identifier: Apache-2.0
/*
 * A thousand loops at once in one process, each on a small thread of its own over one SQLite store:
 * all end rightly, and no journal has a gap. Reports memory and transactions, which vary too much
 * between machines to be asserted.
 */
#include "loop/driver/driver.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/memory.h"
#include "journal/reader.h"
#include "os/file_folder.h"
#include "os/host.h"
#include "store/sqlite/sqlite.h"
#include "support/process_memory.h"
#include "support/scratch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LOOPS 200 /* sanitizers make each thread many times as large */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define LOOPS 200
#endif
#endif
#ifndef LOOPS
#define LOOPS 1000
#endif

#define ITERATIONS  5
#define STACK_BYTES (256 * 1024)

struct run_crowd {
    struct runtime *runtime;
    pthread_barrier_t start;
};

struct crowd_member {
    struct run_crowd *crowd;
    enum rondo_status status;
    uint64_t bodies;
    int result;
    char run_id[ID_SIZE];
};

static struct loop_spec make_spec(const char *agent_id)
{
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = memory_dup_string(agent_id);
    spec.kind = memory_dup_string("library");
    spec.workspace = memory_dup_string("/");
    spec.max_iterations = ITERATIONS;
    return spec;
}

static void *run_member(void *argument)
{
    struct crowd_member *member = argument;
    struct loop_spec spec = make_spec("crowd");
    struct loop_parts parts = {.runtime = member->crowd->runtime};
    struct loop *loop = NULL;
    struct loop_opening opening;
    member->result = loop_start(&parts, &spec, &loop, &opening, NULL);
    loop_spec_fini(&spec);
    pthread_barrier_wait(&member->crowd->start); /* from here on all of them exist at once */
    if (member->result < 0) {
        return NULL;
    }
    while ((member->result = loop_next(loop, NULL)) == LOOP_BODY) {
        member->bodies++;
    }
    member->status = loop_state(loop)->status;
    snprintf(member->run_id, sizeof(member->run_id), "%s", loop_run_id(loop));
    loop_free(loop);
    return NULL;
}

struct run_event_count {
    uint64_t seq;
    uint64_t finished;
};

static bool count_event(const struct journal_entry *entry, void *context)
{
    struct run_event_count *counting = context;
    assert_int_equal(entry->event.seq, counting->seq + 1);
    counting->seq = entry->event.seq;
    counting->finished += entry->is_known && entry->event.type == JOURNAL_ITERATION_FINISHED;
    return true;
}

static void start_threads(struct crowd_member *members, pthread_t *threads, struct run_crowd *crowd)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < LOOPS; i++) {
        members[i].crowd = crowd;
        assert_int_equal(pthread_create(&threads[i], &attributes, run_member, &members[i]), 0);
    }
    pthread_attr_destroy(&attributes);
}

TEST(a_crowd_of_loops_in_one_process_all_end_rightly)
{
    char folder[48];
    assert_true(scratch_new(folder, sizeof(folder)));
    char path[64];
    snprintf(path, sizeof(path), "%s/store.db", folder);
    struct store *store = NULL;
    struct store_sqlite_options options = {.path = path, .may_create = true};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    struct run_crowd crowd = {0};
    struct runtime_options runtime_options = {.store = store};
    assert_int_equal(runtime_new(&runtime_options, &crowd.runtime, NULL), 0);
    pthread_barrier_init(&crowd.start, NULL, LOOPS);
    uint64_t before = process_memory("VmRSS");

    struct crowd_member *members = memory_new_zero(LOOPS, sizeof(*members));
    pthread_t *threads = memory_new_zero(LOOPS, sizeof(*threads));
    start_threads(members, threads, &crowd);
    for (size_t i = 0; i < LOOPS; i++) {
        pthread_join(threads[i], NULL);
    }

    for (size_t i = 0; i < LOOPS; i++) {
        assert_int_equal(members[i].result, LOOP_ENDED);
        assert_int_equal(members[i].status, RONDO_MAX_ITERATIONS);
        assert_int_equal(members[i].bodies, ITERATIONS);
        struct run_event_count counting = {0};
        assert_int_equal(
            journal_visit(store, members[i].run_id, 0, 0, count_event, &counting, NULL), 0);
        assert_int_equal(counting.finished, ITERATIONS);
    }
    struct writer_counters counters = writer_counters(runtime_writer(crowd.runtime));
    print_message("%d loops on as many threads: %lu KiB of memory a loop at the peak, "
                  "%lu transactions for %lu batches\n",
                  LOOPS, (unsigned long)((process_memory("VmHWM") - before) / LOOPS / 1024),
                  (unsigned long)counters.transactions, (unsigned long)counters.batches);
    pthread_barrier_destroy(&crowd.start);
    free(threads);
    free(members);
    runtime_free(crowd.runtime);
    store_close(store);
    file_remove_tree(folder, NULL);
}
