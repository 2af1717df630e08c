// SPDX-License-Identifier: Apache-2.0
/*
 * An agent that Rondo does not run: a program with sdk/python that hands its action to people of a
 * `rondo serve`. The program, or the server, is killed exactly before the N-th call of each system
 * call that advances them, and both are started again until the action is made or refused
 * (handoff_scene.h).
 */
#include "handoff_scene.h"
#include "inject.h"

#include "base/auto.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/** Runs of the program after which it must be done. */
#define MOST_RUNS 12
/** No run of it makes so many calls of one kind. */
#define MOST_POINTS 400
#define STEP_NS     INT64_C(20000000)

static const char program[] =
    "import sys\n"
    "import relaytrace as rt\n"
    "\n"
    "@rt.guarded(impact=3, confidence=0.5)\n"
    "def note(word):\n"
    "    with open(sys.argv[1] + '/effects', 'a') as effects:\n"
    "        effects.write(word + '\\n')\n"
    "    return word\n"
    "\n"
    "@rt.relaytrace_supervised(agent_id='tester', mode='suspend', lane='lane-1', run='run-1')\n"
    "def agent(word):\n"
    "    return note(word)\n"
    "\n"
    "try:\n"
    "    print('returned', agent('one'))\n"
    "except rt.HandoffPending:\n"
    "    print('pending')\n"
    "except rt.RelayTraceError as error:\n"
    "    print('refused', type(error).__name__)\n";

struct adapter_world {
    struct handoff_scene handoffs;
    struct child *server;
    char listen[HANDOFF_PATH];
    char program[HANDOFF_PATH];
    char state[HANDOFF_PATH];
    unsigned runs;   /* of the program, at this point */
    unsigned victim; /* number of the run that is killed; 0 = the server is */
    const char *syscalls;
    uint64_t when;
    bool was_killed;
};

static bool has_python(struct crash_scene *scene)
{
    const char *const argv[] = {"python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))",
                                NULL};
    struct child *child = child_start(scene, argv);
    int status = child_wait(child);
    child_end(child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int set_up(void **state)
{
    if (scene_setup_in_memory(state) != 0) {
        return -1;
    }
    struct adapter_world *world = calloc(1, sizeof(*world));
    const char *folder = ((struct crash_scene *)*state)->folder;
    world->handoffs.scene = *state;
    *state = world;
    snprintf(world->listen, sizeof(world->listen), "unix:%s/socket", folder);
    snprintf(world->program, sizeof(world->program), "%s/adapter.py", folder);
    snprintf(world->state, sizeof(world->state), "%s/state", folder);
    assert_int_equal(file_replace_durably(world->program, program, strlen(program), NULL), 0);
    setenv("RELAYTRACE_ENDPOINT", world->listen, 1);
    setenv("RELAYTRACE_STATE_DIR", world->state, 1);
    setenv("PYTHONPATH", getenv("RONDO_SDK_PYTHON"), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    return 0;
}

static int tear_down(void **state)
{
    struct adapter_world *world = *state;
    *state = world->handoffs.scene;
    free(world);
    return scene_teardown(state);
}

/* --- the server --- */

static void start_server(struct adapter_world *world)
{
    const char *const argv[] = {
        rondo_path(), "serve",       "--store", world->handoffs.scene->store,
        "--listen",   world->listen, NULL};
    world->server = child_start(world->handoffs.scene, argv);
    if (child_expect(world->server, "rondo: serving ") == NULL) {
        fail_msg("the server ended:\n%s", buf_string(&world->server->out));
    }
}

static void end_server(struct adapter_world *world)
{
    kill(world->server->pid, SIGTERM);
    (void)child_wait(world->server);
    child_end(world->server);
}

/** Have the server killed at the call of this point. @return strace, or NULL */
static struct child *attach(struct adapter_world *world)
{
    char pid[16], inject[256], trace[200];
    snprintf(pid, sizeof(pid), "%d", (int)world->server->pid);
    snprintf(trace, sizeof(trace), "trace=%s", world->syscalls);
    snprintf(inject, sizeof(inject), "inject=%s:signal=KILL:when=%" PRIu64, world->syscalls,
             world->when);
    const char *const argv[] = {
        "/usr/bin/strace", "-f", "-o", "/dev/null", "-e", trace, "-e", inject, "-p", pid, NULL};
    struct child *strace = child_start(world->handoffs.scene, argv);
    const char *line = child_line(strace);
    if (line == NULL || strstr(line, ": Process ") == NULL) {
        child_end(strace);
        return NULL;
    }
    return strace;
}

static void make_token(struct adapter_world *world)
{
    const char *const argv[] = {rondo_path(), "token",   "create",
                                "--scope",    "agent",   "--agent",
                                "tester",     "--store", world->handoffs.scene->store,
                                "sdk",        NULL};
    struct child *child = child_start(world->handoffs.scene, argv);
    const char *line = child_line(child);
    char token[256];
    assert_non_null(line);
    snprintf(token, sizeof(token), "%.*s", (int)strcspn(line, " "), line);
    setenv("RELAYTRACE_TOKEN", token, 1);
    (void)child_wait(child);
    child_end(child);
}

static void clear(struct adapter_world *world)
{
    handoffs_clear(&world->handoffs);
    (void)file_remove_tree(world->state, NULL);
    world->runs = 0;
    world->was_killed = false;
    start_server(world);
    make_token(world);
}

/* --- the program --- */

/** What it has said of its end. @return whether it is done */
static bool is_over(const char *output)
{
    if (strstr(output, "Traceback") != NULL) {
        fail_msg("the program failed:\n%s", output);
    }
    return strstr(output, "returned one") != NULL ||
           strstr(output, "refused HandoffRejected") != NULL;
}

static bool run_killed(struct adapter_world *world, const char *const *argv)
{
    char fault[64];
    snprintf(fault, sizeof(fault), "signal=KILL:when=%" PRIu64, world->when);
    struct injected result = inject_run(world->handoffs.scene, world->syscalls, fault, argv);
    world->was_killed = result.is_killed;
    bool is_done = !result.is_killed && is_over(buf_string(&result.output));
    buf_fini(&result.output);
    return is_done;
}

/** Run it once; a server that dies meanwhile is started again. @return whether it is done */
static bool run_program(struct adapter_world *world)
{
    const char *const argv[] = {"python3", world->program, world->handoffs.notes, NULL};
    if (++world->runs == world->victim) {
        return run_killed(world, argv);
    }
    struct child *child = child_start(world->handoffs.scene, argv);
    while (child_listen(child, STEP_NS)) {
        if (!child_listen(world->server, STEP_NS / 20)) {
            child_end(world->server);
            world->was_killed = true;
            start_server(world);
        }
    }
    (void)child_wait(child);
    bool is_done = is_over(buf_string(&child->out));
    child_end(child);
    return is_done;
}

/** One point. @return 1 killed, 0 it was done before, -1 it cannot be tried here */
static int kill_at(struct adapter_world *world, uint64_t n)
{
    char request[ID_SIZE];
    bool is_doubt = false;
    struct child *strace = NULL;
    world->when = n;
    clear(world);
    if (world->victim == 0 && (strace = attach(world)) == NULL) {
        end_server(world);
        return -1;
    }
    while (!run_program(world)) {
        assert_true(world->runs < MOST_RUNS);
        if (handoffs_find(&world->handoffs, request, &is_doubt)) {
            handoffs_decide(&world->handoffs, request, is_doubt);
        }
        handoffs_end_leases(&world->handoffs);
    }
    child_end(strace);
    end_server(world);
    handoffs_check(&world->handoffs, 1);
    assert_true(world->handoffs.doubts <= 1);
    return world->was_killed ? 1 : 0;
}

/** @param victim see adapter_world @param least points that there must be */
static void enumerate(void **state, unsigned victim, const char *syscalls, uint64_t stride,
                      uint64_t least)
{
    struct adapter_world *world = *state;
    if (!inject_is_possible() || !has_python(world->handoffs.scene)) {
        skip();
    }
    stride = scene_is_long() ? 1 : stride;
    world->victim = victim;
    world->syscalls = syscalls;
    uint64_t points = 0;
    uint64_t n = 1 + random_below(&world->handoffs.scene->random, stride);
    int r = 1;
    while (n < MOST_POINTS && (r = kill_at(world, n)) == 1) {
        points++;
        n += stride;
    }
    if (r < 0) {
        skip();
    }
    print_message("%s: %" PRIu64 " points, %" PRIu64 " actions in doubt\n", syscalls, points,
                  world->handoffs.runs_in_doubt);
    assert_true(points >= least / stride);
}

#define KILL_TEST(name) TEST_WITH(name, set_up, tear_down)
#define NETWORK         "sendto,sendmsg,recvfrom,recvmsg"
#define FILES           "fsync,fdatasync,rename,renameat,renameat2"

KILL_TEST(a_program_is_killed_while_it_asks)
{
    enumerate(state, 1, NETWORK, 6, 4);
}

KILL_TEST(a_program_is_killed_between_the_decision_and_the_acknowledgement)
{
    enumerate(state, 2, NETWORK, 6, 8);
    struct adapter_world *world = *state;
    assert_true(world->handoffs.runs_in_doubt > 0 || !scene_is_long());
}

KILL_TEST(a_program_is_killed_while_it_keeps_its_state)
{
    enumerate(state, 2, FILES, 1, 1);
}

KILL_TEST(a_server_is_killed_at_a_commit)
{
    enumerate(state, 0, "fsync,fdatasync", 3, 3);
}

KILL_TEST(a_server_is_killed_while_it_answers)
{
    enumerate(state, 0, NETWORK, 13, 7);
}
