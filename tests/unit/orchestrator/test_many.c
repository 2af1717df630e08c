// SPDX-License-Identifier: Apache-2.0
/*
 * A thousand agents of one server at once, on the small threads that it gives them: all end
 * rightly. Reports how many were executed at the same time, and what they took of the machine.
 */
#include "orchestrator_world.h"

#include "../../support/sanitizer.h"
#include "os/host.h"
#include "support/process_memory.h"

#include <dirent.h>
#include <pthread.h>

#define LOOPS (HAS_SANITIZER ? 100 : 1000)

/** Between an agent's two iterations, so that all of them are under way at some time. */
#define DELAY_NS (10 * NS_PER_S)
/** Threads that start them. */
#define CALLERS 16

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

/** KiB that are in use of the thread's stack that uses most. */
static unsigned long largest_stack(void)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[512];
    unsigned long size = 0;
    unsigned long used = 0;
    unsigned long largest = 0;
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        (void)sscanf(line, "Size: %lu", &size);
        if (sscanf(line, "Rss: %lu", &used) == 1 && size == 512) {
            largest = used > largest ? used : largest;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return largest;
}

/** One of the callers that start runs side by side. */
struct run_starter {
    struct orchestrator_world *world;
    const struct loop_spec *spec;
    char (*ids)[ID_SIZE];
    size_t first;
};

static void *start_some(void *argument)
{
    struct run_starter *caller = argument;
    for (size_t i = caller->first; i < LOOPS; i += CALLERS) {
        run_spec(caller->world, loop_spec_dup(caller->spec), caller->ids[i]);
    }
    return NULL;
}

static void start_all(struct orchestrator_world *world, const struct loop_spec *spec,
                      char (*ids)[ID_SIZE])
{
    pthread_t threads[CALLERS];
    struct run_starter callers[CALLERS];
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = (struct run_starter){world, spec, ids, i};
        assert_int_equal(pthread_create(&threads[i], NULL, start_some, &callers[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

WORLD_TEST(a_thousand_agents_at_once_all_end_rightly)
{
    struct orchestrator_world *world = *state;
    char(*ids)[ID_SIZE] = memory_new_zero(LOOPS, sizeof(*ids));
    write_file(world, "turns.jsonl",
               "{\"text\":\"I begin.\"}\n{\"tool_calls\":[{\"name\":\"finish_task\",\"arguments\":"
               "{\"summary\":\"done\",\"status\":\"completed\"}}]}\n");
    world->options.max_loops = LOOPS;
    world->options.max_queue = LOOPS;
    world->options.scan_ns = NS_PER_S;
    world_start(world);
    uint64_t before = process_memory("VmRSS");
    unsigned descriptors = count_descriptors();
    struct loop_spec spec = role_spec(world, AGENT_AUTONOMOUS);
    spec.delay_ns = DELAY_NS;

    start_all(world, &spec, ids);
    uint64_t running = orchestrator_state(world->orchestrator).running;
    print_message(
        "%lu of %d agents at once: %lu KiB and %.1f descriptors each, stacks of up to %lu "
        "KiB\n",
        (unsigned long)running, LOOPS,
        (unsigned long)((process_memory("VmRSS") - before) / (running + 1) / 1024),
        (double)(count_descriptors() - descriptors) / (double)(running + 1), largest_stack());
    wait_idle(world);

    for (size_t i = 0; i < LOOPS; i++) {
        wait_status(world, ids[i], RONDO_COMPLETED);
    }
    assert_int_equal(managed_runs(world, NULL), 0);
    loop_spec_fini(&spec);
    free(ids);
}
