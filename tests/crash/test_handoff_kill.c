// SPDX-License-Identifier: Apache-2.0
/*
 * An agent of the command line whose call waits for a person: `rondo run`, `rondo approve` and
 * `rondo resume`, each killed exactly before the N-th call of each system call that advances it,
 * and then done by hand to the end (handoff_scene.h).
 */
#include "check.h"
#include "handoff_scene.h"
#include "inject.h"

#include "base/auto.h"
#include "os/file.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/** No step makes so many calls of one kind. */
#define MOST_POINTS 400
/** Commands after which a run must be over. */
#define MOST_STEPS 20
/** Of `rondo run` and `rondo resume`, when the run waits. */
#define EXIT_WAITS 11

static const char role[] = "apiVersion: initrunner/v1\n"
                           "kind: Agent\n"
                           "metadata: {name: tester}\n"
                           "spec:\n"
                           "  role: You test.\n"
                           "  model: {provider: scripted, name: turns.jsonl}\n"
                           "  execution: {sandbox: none}\n"
                           "  tools:\n"
                           "    - {type: shell, working_dir: %s}\n"
                           "    - {type: filesystem, root_path: %s, read_only: false,"
                           " require_confirmation: true}\n";

#define FINISH                                                                               \
    "{\"tool_calls\":[{\"name\":\"finish_task\",\"arguments\":{\"summary\":\"that is all\"," \
    "\"status\":\"completed\"}}]}\n"

/** A command may have had its effect: it is never made twice. */
static const char command[] = "{\"tool_calls\":[{\"name\":\"run_shell\",\"arguments\":"
                              "{\"command\":\"sh note one\"}}]}\n" FINISH;

/** The same file again does no harm. */
static const char file[] =
    "{\"tool_calls\":[{\"name\":\"write_file\",\"arguments\":{\"path\":\"effects\","
    "\"content\":\"one\\n\"}}]}\n" FINISH;

enum victim_step { STEP_RUN, STEP_DECIDE, STEP_RESUME };

struct waiting_world {
    struct handoff_scene handoffs;
    char role[HANDOFF_PATH];
    const char *turns;
    enum victim_step victim; /* the first one of this kind is killed */
    const char *syscalls;
    uint64_t when;
    bool was_tried;
    bool was_killed;
};

static int set_up(void **state)
{
    if (scene_setup_in_memory(state) != 0) {
        return -1;
    }
    struct waiting_world *world = calloc(1, sizeof(*world));
    world->handoffs.scene = *state;
    *state = world;
    snprintf(world->role, sizeof(world->role), "%s/role.yaml", world->handoffs.scene->folder);
    return 0;
}

static int tear_down(void **state)
{
    struct waiting_world *world = *state;
    *state = world->handoffs.scene;
    free(world);
    return scene_teardown(state);
}

static void clear(struct waiting_world *world)
{
    char path[HANDOFF_PATH];
    auto_buf struct buf yaml = {0};
    handoffs_clear(&world->handoffs);
    world->was_tried = false;
    world->was_killed = false;
    buf_printf(&yaml, role, world->handoffs.notes, world->handoffs.notes);
    assert_int_equal(file_replace_durably(world->role, yaml.data, yaml.len, NULL), 0);
    snprintf(path, sizeof(path), "%s/turns.jsonl", world->handoffs.scene->folder);
    assert_int_equal(file_replace_durably(path, world->turns, strlen(world->turns), NULL), 0);
}

/* --- steps --- */

static bool is_good(enum victim_step step, int status)
{
    return WIFEXITED(status) &&
           (WEXITSTATUS(status) == 0 || (step != STEP_DECIDE && WEXITSTATUS(status) == EXIT_WAITS));
}

/** @return whether it came to its end */
static bool take(struct waiting_world *world, enum victim_step step, const char *const *argv)
{
    if (step == world->victim && !world->was_tried) {
        char fault[64];
        world->was_tried = true;
        snprintf(fault, sizeof(fault), "signal=KILL:when=%" PRIu64, world->when);
        struct injected result = inject_run(world->handoffs.scene, world->syscalls, fault, argv);
        world->was_killed = result.is_killed;
        if (!result.is_killed && !is_good(step, result.status)) {
            fail_msg("%s: status %x:\n%s", argv[1], (unsigned)result.status,
                     buf_string(&result.output));
        }
        buf_fini(&result.output);
        return !result.is_killed;
    }
    struct child *child = child_start(world->handoffs.scene, argv);
    int status = child_wait(child);
    if (!is_good(step, status)) {
        fail_msg("%s: status %x:\n%s", argv[1], (unsigned)status, buf_string(&child->out));
    }
    child_end(child);
    return true;
}

static void decide(struct waiting_world *world, const char *request, bool is_doubt)
{
    const char *argv[12];
    handoffs_decision(&world->handoffs, request, is_doubt, argv);
    if (take(world, STEP_DECIDE, argv)) {
        world->handoffs.approvals += is_doubt ? 0 : 1;
        world->handoffs.doubts += is_doubt ? 1 : 0;
    }
}

/** Do what there is to do next. @return whether there was anything */
static bool advance(struct waiting_world *world)
{
    const char *store = world->handoffs.scene->store;
    const char *const run[] = {rondo_path(), "run",     world->role, "-a", "-p",
                               "Do it.",     "--store", store,       "-q", NULL};
    char request[ID_SIZE];
    bool is_doubt = false;
    struct check_findings findings = check_store(world->handoffs.scene, NULL);
    if (findings.runs == 0) {
        (void)take(world, STEP_RUN, run);
        return true;
    }
    if (handoffs_find(&world->handoffs, request, &is_doubt)) {
        decide(world, request, is_doubt);
        return true;
    }
    const char *const resume[] = {rondo_path(), "resume", findings.last_run, "--store", store,
                                  "-q",         NULL};
    if (findings.unfinished_runs > 0) {
        (void)take(world, STEP_RESUME, resume);
        return true;
    }
    return false;
}

/** One point. @return false when the step ended before its N-th call */
static bool kill_at(struct waiting_world *world, uint64_t n)
{
    world->when = n;
    clear(world);
    int steps = 0;
    while (advance(world)) {
        assert_true(++steps < MOST_STEPS);
    }
    assert_int_equal(check_store(world->handoffs.scene, NULL).runs, 1);
    handoffs_check(&world->handoffs, 1);
    assert_true(world->handoffs.doubts <= 1);
    if (world->turns == file) {
        assert_int_equal(world->handoffs.doubts, 0);
    }
    return world->was_killed;
}

/** Kill at every `stride`-th call. @param least points that there must be */
static void enumerate(void **state, enum victim_step victim, const char *syscalls, uint64_t stride,
                      uint64_t least)
{
    struct waiting_world *world = *state;
    if (!inject_is_possible()) {
        skip();
    }
    stride = scene_is_long() ? 1 : stride;
    world->victim = victim;
    world->syscalls = syscalls;
    uint64_t points = 0;
    uint64_t n = 1 + random_below(&world->handoffs.scene->random, stride);
    while (n < MOST_POINTS && kill_at(world, n)) {
        points++;
        n += stride;
    }
    print_message("%s: %" PRIu64 " points, %" PRIu64 " calls in doubt\n", syscalls, points,
                  world->handoffs.runs_in_doubt);
    assert_true(n < MOST_POINTS);
    assert_true(points >= least / stride);
}

static void enumerate_command(void **state, enum victim_step victim, const char *syscalls,
                              uint64_t stride, uint64_t least)
{
    ((struct waiting_world *)*state)->turns = command;
    enumerate(state, victim, syscalls, stride, least);
}

#define KILL_TEST(name) TEST_WITH(name, set_up, tear_down)
#define SYNCS           "fdatasync,fsync"

KILL_TEST(a_kill_at_any_commit_until_the_run_waits)
{
    enumerate_command(state, STEP_RUN, SYNCS, 3, 12);
}

KILL_TEST(a_kill_at_any_commit_of_a_decision)
{
    enumerate_command(state, STEP_DECIDE, SYNCS, 1, 1);
}

KILL_TEST(a_kill_at_any_commit_from_the_grant_to_the_acknowledgement)
{
    enumerate_command(state, STEP_RESUME, SYNCS, 1, 8);
    struct waiting_world *world = *state;
    assert_true(world->handoffs.runs_in_doubt > 0);
}

KILL_TEST(a_kill_at_any_write_of_a_decision)
{
    enumerate_command(state, STEP_DECIDE, "pwrite64", 5, 10);
}

KILL_TEST(a_kill_when_the_approved_command_is_about_to_start)
{
    enumerate_command(state, STEP_RESUME, "clone,clone3,vfork,fork,execve", 1, 2);
}

KILL_TEST(what_may_be_done_twice_is_not_in_doubt)
{
    ((struct waiting_world *)*state)->turns = file;
    enumerate(state, STEP_RESUME, SYNCS ",rename,renameat,renameat2", 2, 8);
}
