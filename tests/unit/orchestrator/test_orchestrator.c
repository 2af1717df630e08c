// SPDX-License-Identifier: Apache-2.0
/* Executing, queueing, pausing, stopping and draining. */
#include "orchestrator_world.h"

#include "../../support/store/fault.h"
#include "loop/control/control.h"
#include "orchestrator/assignment.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

/** Waits for the file "go", then writes a line into "log". */
#define WAITS(line) "while ! [ -e go ]; do sleep 0.02; done; echo " line " >>log"
/** Says that it is under way, too. */
#define BEGINS(line) "touch begun-" line "; " WAITS(line)

WORLD_TEST(a_run_is_executed_to_its_end)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world_start(world);

    assert_int_equal(run_spec(world, command_spec(world, "a", "echo x >>log", 3), run_id),
                     ORCHESTRATOR_STARTED);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);

    read_log(world);
    assert_string_equal(world->log, "x\nx\nx\n");
    assert_int_equal(managed_runs(world, NULL), 0);
    assert_int_equal(events_of(world, run_id, "run.created", "\"by\":\"ann\""), 1);
}

WORLD_TEST(what_has_no_room_is_executed_later_in_order)
{
    struct orchestrator_world *world = *state;
    char ids[3][ID_SIZE];
    world->options.max_loops = 1;
    world_start(world);

    assert_int_equal(run_spec(world, command_spec(world, "a", WAITS("a"), 1), ids[0]),
                     ORCHESTRATOR_STARTED);
    assert_int_equal(run_spec(world, command_spec(world, "b", WAITS("b"), 1), ids[1]),
                     ORCHESTRATOR_QUEUED);
    assert_int_equal(run_spec(world, command_spec(world, "c", WAITS("c"), 1), ids[2]),
                     ORCHESTRATOR_QUEUED);
    assert_true(orchestrator_is_queued(world->orchestrator, ids[2]));
    assert_int_equal(row_of(world, ids[2]).summary.iteration_limit, 1);
    assert_int_equal(managed_runs(world, "queued"), 2);
    char queued[2][ID_SIZE];
    assert_int_equal(orchestrator_take_queued(world->orchestrator, queued, 1), 1);
    assert_string_equal(queued[0], ids[1]);
    assert_int_equal(orchestrator_take_queued(world->orchestrator, queued, 2), 1);
    assert_string_equal(queued[0], ids[2]);
    assert_int_equal(orchestrator_take_queued(world->orchestrator, queued, 2), 0);
    assert_string_equal(orchestrator_state(world->orchestrator).limited_by, "option");
    touch(world, "go");
    wait_idle(world);

    read_log(world);
    assert_string_equal(world->log, "a\nb\nc\n");
    assert_int_equal(managed_runs(world, NULL), 0);
}

WORLD_TEST(a_command_can_tell_what_a_server_means_to_do)
{
    struct orchestrator_world *world = *state;
    char ids[2][ID_SIZE];
    struct assignment assignment;
    struct assignments *assignments = NULL;
    world->options.max_loops = 1;
    world_start(world);
    run_spec(world, command_spec(world, "a", BEGINS("a"), 1), ids[0]);
    run_spec(world, command_spec(world, "b", "true", 1), ids[1]);

    assert_int_equal(assignment_read(world->store, ids[1], &assignment, NULL), 1);
    assert_false(assignment_is_dead(&assignment));
    struct store_run waiting = row_of(world, ids[1]);
    assert_string_equal(assignment_display_status(&waiting, &assignment), "queued");
    assert_string_equal(assignment_display_status(&waiting, NULL), "parked");
    char *started = strstr(assignment.server, "started=") + strlen("started=");
    *started = *started == '9' ? '8' : '9'; /* Another process has that number now. */
    assert_string_equal(assignment_display_status(&waiting, &assignment), "parked");
    assert_int_equal(assignments_read(world->store, &assignments, NULL), 0);
    assert_int_equal(assignments_find(assignments, ids[1])->state, ASSIGNMENT_QUEUED);
    assert_int_equal(assignments_find(assignments, ids[0])->state, ASSIGNMENT_RUNNING);
    struct store_run running = row_of(world, ids[0]);
    assert_string_equal(assignment_display_status(&running, assignments_find(assignments, ids[0])),
                        "running");
    assignments_free(assignments);

    touch(world, "go");
    wait_idle(world);
    assert_int_equal(assignment_read(world->store, ids[1], &assignment, NULL), 0);
}

WORLD_TEST(a_full_queue_creates_nothing)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world->options.max_loops = 1;
    world->options.max_queue = 1;
    world_start(world);
    run_spec(world, command_spec(world, "a", WAITS("a"), 1), run_id);
    run_spec(world, command_spec(world, "b", WAITS("b"), 1), run_id);

    assert_int_equal(run_spec(world, command_spec(world, "c", WAITS("c"), 1), run_id),
                     ORCHESTRATOR_FULL);

    assert_int_equal(runs_in_store(world), 2);
    touch(world, "go");
    wait_idle(world);
}

WORLD_TEST(a_paused_run_frees_its_place_and_continues_when_it_is_continued)
{
    struct orchestrator_world *world = *state;
    char first[ID_SIZE];
    char second[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    world->options.max_loops = 1;
    world_start(world);
    run_spec(world, command_spec(world, "a", BEGINS("a"), 2), first);
    run_spec(world, command_spec(world, "b", "echo b >>log", 1), second);
    WAIT_FOR(has_file(world, "begun-a"));

    assert_int_equal(orchestrator_pause_run(world->orchestrator, first, "ann", NULL),
                     LOOP_CONTROL_POSTED);
    touch(world, "go");
    wait_status(world, second, RONDO_MAX_ITERATIONS);

    WAIT_FOR(orchestrator_state(world->orchestrator).running == 0);
    assert_int_equal(orchestrator_state(world->orchestrator).paused, 1);
    assert_true(row_of(world, first).summary.is_paused);
    assert_int_equal(managed_runs(world, "paused"), 1);
    assert_int_equal(orchestrator_resume(world->orchestrator, first, NULL, "ann", &answer, NULL),
                     0);
    assert_int_equal(answer, ORCHESTRATOR_STARTED);
    wait_status(world, first, RONDO_MAX_ITERATIONS);
    wait_idle(world);
    read_log(world);
    assert_string_equal(world->log, "a\nb\na\n");
    assert_int_equal(events_of(world, first, "run.continued", "\"by\":\"ann\""), 1);
    assert_int_equal(events_of(world, first, "run.claimed", "\"how\":\"resume\",\"by\":\"ann\""),
                     1);
}

WORLD_TEST(a_pause_that_has_not_come_to_pass_is_taken_back)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    world_start(world);
    run_spec(world, command_spec(world, "a", BEGINS("a"), 2), run_id);
    WAIT_FOR(has_file(world, "begun-a"));

    orchestrator_pause_run(world->orchestrator, run_id, "ann", NULL);
    assert_int_equal(orchestrator_resume(world->orchestrator, run_id, NULL, "ann", &answer, NULL),
                     0);
    touch(world, "go");

    assert_int_equal(answer, ORCHESTRATOR_STARTED);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
}

WORLD_TEST(a_run_that_is_executed_cannot_be_resumed)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    world_start(world);
    run_spec(world, command_spec(world, "a", BEGINS("a"), 1), run_id);

    assert_int_equal(orchestrator_resume(world->orchestrator, run_id, NULL, "ann", &answer, NULL),
                     0);

    assert_int_equal(answer, ORCHESTRATOR_HELD);
    touch(world, "go");
    wait_idle(world);
}

WORLD_TEST(what_waits_or_is_paused_is_stopped_at_once)
{
    struct orchestrator_world *world = *state;
    char ids[3][ID_SIZE];
    world->options.max_loops = 1;
    world_start(world);
    for (size_t i = 0; i < 3; i++) {
        run_spec(world, command_spec(world, "a", BEGINS("a"), 1), ids[i]);
    }

    assert_int_equal(orchestrator_pause_run(world->orchestrator, ids[2], "ann", NULL),
                     LOOP_CONTROL_DONE);
    assert_int_equal(orchestrator_state(world->orchestrator).paused, 1);
    assert_int_equal(orchestrator_stop_run(world->orchestrator, ids[1], "ann", NULL),
                     LOOP_CONTROL_DONE);
    assert_int_equal(orchestrator_stop_run(world->orchestrator, ids[2], "ann", NULL),
                     LOOP_CONTROL_DONE);

    assert_int_equal(row_of(world, ids[1]).summary.status, RONDO_CANCELLED);
    assert_int_equal(row_of(world, ids[2]).summary.status, RONDO_CANCELLED);
    assert_int_equal(managed_runs(world, NULL), 1);
    assert_int_equal(orchestrator_stop_run(world->orchestrator, ids[0], "ann", NULL),
                     LOOP_CONTROL_POSTED);
    wait_status(world, ids[0], RONDO_CANCELLED);
    wait_idle(world);
}

WORLD_TEST(a_drain_lets_iterations_end_and_the_next_server_continues)
{
    struct orchestrator_world *world = *state;
    char ids[2][ID_SIZE];
    world->options.max_loops = 1;
    world->options.drain_ns = DEADLINE_NS;
    world_start(world);
    run_spec(world, command_spec(world, "a", "touch begun; sleep 0.5; echo a >>log", 2), ids[0]);
    run_spec(world, command_spec(world, "b", "echo b >>log", 1), ids[1]);
    WAIT_FOR(has_file(world, "begun"));

    orchestrator_drain(world->orchestrator);

    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    char run_id[ID_SIZE];
    struct loop_spec spec = command_spec(world, "c", "true", 1);
    assert_int_equal(orchestrator_run(world->orchestrator, &spec, "ann", &answer, run_id, NULL), 0);
    loop_spec_fini(&spec);
    assert_int_equal(answer, ORCHESTRATOR_DRAINING);
    assert_int_equal(row_of(world, ids[0]).summary.status, RONDO_RUNNING);
    assert_string_equal(row_of(world, ids[0]).owner, "");
    assert_int_equal(events_of(world, ids[0], "iteration.finished", NULL), 1);
    assert_int_equal(managed_runs(world, "running"), 1);
    assert_int_equal(managed_runs(world, "queued"), 1);
    world_restart(world);
    wait_idle(world);
    read_log(world);
    assert_string_equal(world->log, "a\na\nb\n");
    assert_int_equal(events_of(world, ids[0], "iteration.interrupted", NULL), 0);
    assert_int_equal(events_of(world, ids[0], "run.stop_requested", NULL), 0);
}

WORLD_TEST(a_drain_without_time_cuts_off_and_the_next_server_repeats)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world_start(world);
    run_spec(world, command_spec(world, "a", BEGINS("a"), 1), run_id);
    WAIT_FOR(has_file(world, "begun-a"));

    world_stop(world);

    assert_int_equal(row_of(world, run_id).summary.status, RONDO_RUNNING);
    assert_int_equal(events_of(world, run_id, "iteration.interrupted", NULL), 1);
    touch(world, "go");
    world_restart(world);
    wait_idle(world);
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_MAX_ITERATIONS);
    assert_int_equal(events_of(world, run_id, "run.stop_requested", NULL), 0);
    read_log(world);
    assert_string_equal(world->log, "a\n");
}

WORLD_TEST(a_verification_that_a_drain_cuts_off_is_repeated)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world_start(world);
    struct loop_spec spec = command_spec(world, "a", "true", 1);
    spec.verifier_tier = SANDBOX_NONE;
    assert_int_equal(loop_spec_add_condition(&spec, "c", BEGINS("c"), "given", DEADLINE_NS, NULL),
                     0);
    run_spec(world, spec, run_id);
    WAIT_FOR(has_file(world, "begun-c"));

    world_stop(world);
    assert_int_equal(events_of(world, run_id, "verification.finished", NULL), 0);
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_RUNNING);
    touch(world, "go");
    world_restart(world);

    wait_status(world, run_id, RONDO_COMPLETED);
    wait_idle(world);
}

static void note_taken_on(void *context, const char *line)
{
    /* The other run may have ended before its server did. */
    bool is_it =
        strcmp(line, "took over the runs of the previous server: 1 resumed, 1 paused") == 0 ||
        strcmp(line, "took over the runs of the previous server: 0 resumed, 1 paused") == 0;
    if (is_it) {
        atomic_store((atomic_bool *)context, true);
    }
}

WORLD_TEST(a_paused_run_stays_paused_over_a_restart)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    char other[ID_SIZE];
    world->options.max_loops = 1;
    world_start(world);
    run_spec(world, command_spec(world, "a", WAITS("a"), 1), other);
    run_spec(world, command_spec(world, "b", WAITS("b"), 1), run_id);
    orchestrator_pause_run(world->orchestrator, run_id, "ann", NULL);

    atomic_bool was_said = false;
    world->options.log = note_taken_on;
    world->options.log_context = &was_said;
    touch(world, "go");
    world_restart(world);
    assert_true(was_said);
    wait_status(world, other, RONDO_MAX_ITERATIONS);

    WAIT_FOR(orchestrator_state(world->orchestrator).running == 0);
    assert_int_equal(orchestrator_state(world->orchestrator).paused, 1);
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_RUNNING);
    world_stop(world);
}

WORLD_TEST(an_exclusive_agent_has_one_run_at_a_time)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world_start(world);
    struct loop_spec spec = command_spec(world, "a", WAITS("a"), 1);
    spec.is_exclusive = 1;
    struct loop_spec same = loop_spec_dup(&spec);
    run_spec(world, spec, run_id);

    assert_int_equal(run_spec(world, same, run_id), ORCHESTRATOR_HELD);

    assert_int_equal(runs_in_store(world), 1);
    WAIT_FOR(orchestrator_state(world->orchestrator).running == 1);
    touch(world, "go");
    wait_idle(world);
}

WORLD_TEST(a_run_that_has_ended_is_reopened_with_other_limits)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    struct loop_limits limits = {.max_iterations = 3};
    world_start(world);
    run_spec(world, command_spec(world, "a", "echo x >>log", 1), run_id);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS);

    assert_int_equal(
        orchestrator_resume(world->orchestrator, run_id, &limits, "ann", &answer, NULL), 0);
    wait_idle(world);

    assert_int_equal(answer, ORCHESTRATOR_STARTED);
    assert_int_equal(row_of(world, run_id).summary.iteration, 3);
}

WORLD_TEST(a_reopened_run_waits_for_room_like_others)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    char other[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    struct loop_limits limits = {.max_iterations = 2};
    world->options.max_loops = 1;
    world_start(world);
    run_spec(world, command_spec(world, "a", "echo x >>log", 1), run_id);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);
    run_spec(world, command_spec(world, "b", BEGINS("b"), 1), other);

    assert_int_equal(
        orchestrator_resume(world->orchestrator, run_id, &limits, "ann", &answer, NULL), 0);

    assert_int_equal(answer, ORCHESTRATOR_QUEUED);
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_RUNNING);
    touch(world, "go");
    wait_idle(world);
    read_log(world);
    assert_string_equal(world->log, "x\nb\nx\n");
}

WORLD_TEST(what_nobody_can_resume_is_refused)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    world_start(world);
    struct loop_spec spec = command_spec(world, "a", "true", 0);
    spec.verifier_tier = SANDBOX_NONE;
    loop_spec_add_condition(&spec, "c", "true", "given", 0, NULL);
    run_spec(world, spec, run_id);
    wait_status(world, run_id, RONDO_COMPLETED);

    assert_int_equal(orchestrator_resume(world->orchestrator, run_id, NULL, "ann", &answer, NULL),
                     RONDO_ERR_STATE);
    assert_int_equal(orchestrator_resume(world->orchestrator,
                                         "00000000-0000-7000-8000-000000000000", NULL, "ann",
                                         &answer, NULL),
                     RONDO_ERR_NOT_FOUND);
}

WORLD_TEST(a_role_is_executed_by_its_model)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    write_file(world, "turns.jsonl", "{\"text\":\"hello\"}\n");
    world_start(world);

    run_spec(world, role_spec(world, AGENT_SINGLE), run_id);
    wait_status(world, run_id, RONDO_COMPLETED);

    assert_int_equal(events_of(world, run_id, "model.replied", "hello"), 1);
    wait_idle(world);
}

WORLD_TEST(an_agent_that_cannot_be_opened_makes_no_run)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    struct rondo_error err = {0};
    world_start(world);
    struct loop_spec spec = role_spec(world, AGENT_SINGLE);

    assert_true(orchestrator_run(world->orchestrator, &spec, "ann", &answer, run_id, &err) < 0);

    assert_non_null(strstr(err.message, "turns.jsonl"));
    assert_int_equal(runs_in_store(world), 0);
    WAIT_FOR(orchestrator_state(world->orchestrator).running == 0);
    loop_spec_fini(&spec);
}

WORLD_TEST(an_agent_that_cannot_be_opened_any_more_ends_its_run)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    char other[ID_SIZE];
    world->options.max_loops = 1;
    world_start(world);
    run_spec(world, command_spec(world, "a", WAITS("a"), 1), other);
    assert_int_equal(run_spec(world, role_spec(world, AGENT_SINGLE), run_id), ORCHESTRATOR_QUEUED);

    touch(world, "go");
    wait_status(world, run_id, RONDO_ERROR);
    wait_idle(world);

    assert_int_equal(events_of(world, run_id, "run.finished", "turns.jsonl"), 1);
    assert_int_equal(events_of(world, run_id, "model.requested", NULL), 0);
    assert_int_equal(orchestrator_state(world->orchestrator).closed, 1);
    assert_int_equal(managed_runs(world, NULL), 0);
}

static enum store_fault fail_writes(void *context, const char *operation, uint64_t call,
                                    int *ret_code)
{
    bool is_write = strcmp(operation, "commit") == 0 || strcmp(operation, "change_documents") == 0;
    (void)call;
    *ret_code = RONDO_ERR_FULL;
    return is_write && atomic_load((atomic_bool *)context) ? STORE_FAULT_BEFORE : STORE_FAULT_NONE;
}

WORLD_TEST(a_store_that_cannot_be_written_is_reported_and_journalled)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    atomic_bool is_full = false;
    struct store_fault_plan plan = {.decide = fail_writes, .context = &is_full};
    struct store *inner = world->store;
    runtime_free(world->runtime);
    world->store = store_fault_new(inner, &plan);
    world->runtime = world_runtime(world, 30 * NS_PER_S);
    world->options.runtime = world->runtime;
    world_start(world);
    run_spec(world, command_spec(world, "a", BEGINS("a"), 2), run_id);
    WAIT_FOR(has_file(world, "begun-a"));
    assert_false(orchestrator_state(world->orchestrator).is_store_failing);

    atomic_store(&is_full, true);
    touch(world, "go");
    WAIT_FOR(orchestrator_state(world->orchestrator).is_store_failing);
    atomic_store(&is_full, false);

    WAIT_FOR(!orchestrator_state(world->orchestrator).is_store_failing);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);
    assert_int_equal(events_of(world, run_id, "storage.degraded", NULL), 1);
    world_stop(world);
    runtime_free(world->runtime);
    store_close(world->store);
    world->store = inner;
    world->runtime = world_runtime(world, 5 * NS_PER_S);
}

/** An agent whose server of tools says nothing. @param seconds three digits, or "0.1" */
static struct loop_spec silent_spec(const struct orchestrator_world *world, const char *seconds)
{
    struct loop_spec spec = role_spec_with(
        world, AGENT_SINGLE, "  tools:\n    - {type: mcp, command: ./silent, timeout: 101}\n");
    char *timeout = strstr(spec.agent, "101"); /* a role has whole seconds */
    assert_non_null(timeout);
    memcpy(timeout, seconds, 3);
    return spec;
}

/** It ends when nobody can write to it any more. */
static void make_silent_server(const struct orchestrator_world *world)
{
    char path[128];
    write_file(world, "turns.jsonl", "{\"text\":\"hello\"}\n");
    write_file(world, "silent",
               "#!/bin/sh\ntouch \"$RONDO_WORKSPACE/listening\"\nexec cat >/dev/null\n");
    world_path(world, "silent", path, sizeof(path));
    assert_int_equal(chmod(path, 0700), 0);
}

WORLD_TEST(an_agent_whose_tools_do_not_answer_is_not_waited_for_without_end)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    char other[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    struct rondo_error err = {0};
    make_silent_server(world);
    world->options.max_loops = 1;
    world_start(world);
    struct loop_spec spec = silent_spec(world, "0.1");
    assert_int_equal(orchestrator_run(world->orchestrator, &spec, "ann", &answer, run_id, &err),
                     RONDO_ERR_UNSUPPORTED);
    loop_spec_fini(&spec);
    assert_int_equal(runs_in_store(world), 0);
    WAIT_FOR(orchestrator_state(world->orchestrator).running == 0);

    run_spec(world, command_spec(world, "a", WAITS("a"), 1), other);
    run_spec(world, silent_spec(world, "0.1"), run_id);
    touch(world, "go");
    wait_status(world, run_id, RONDO_ERROR);
    wait_idle(world);
}

static void *drain_when_it_listens(void *context)
{
    struct orchestrator_world *world = context;
    WAIT_FOR(has_file(world, "listening"));
    orchestrator_drain(world->orchestrator);
    return NULL;
}

WORLD_TEST(a_drain_does_not_wait_for_agents_that_open)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    pthread_t drainer;
    make_silent_server(world);
    world_start(world);
    int64_t begun_ns = clock_monotonic(clock_system());
    struct loop_spec spec = silent_spec(world, "101");
    assert_int_equal(pthread_create(&drainer, NULL, drain_when_it_listens, world), 0);

    assert_int_equal(orchestrator_run(world->orchestrator, &spec, "ann", &answer, run_id, NULL), 0);

    assert_int_equal(answer, ORCHESTRATOR_DRAINING);
    pthread_join(drainer, NULL);
    assert_true(clock_monotonic(clock_system()) - begun_ns < 40 * NS_PER_S);
    assert_int_equal(runs_in_store(world), 0);
    loop_spec_fini(&spec);
}

/* ---- What the command line does without asking the server -------------------------------------
 */

/** Another process, such as a command, over the same store. */
struct stranger {
    struct runtime *runtime;
    struct loop_parts parts;
};

static struct stranger stranger_new(struct orchestrator_world *world)
{
    struct stranger stranger = {.runtime = world_runtime(world, 5 * NS_PER_S)};
    stranger.parts.runtime = stranger.runtime;
    return stranger;
}

/** A run that the server executed and a command paused; it has done one of its iterations. */
static void pause_by_command(struct orchestrator_world *world, const struct stranger *stranger,
                             char ret_run_id[ID_SIZE])
{
    run_spec(world, command_spec(world, "a", BEGINS("a"), 2), ret_run_id);
    WAIT_FOR(has_file(world, "begun-a"));
    assert_int_equal(loop_pause_run(&stranger->parts, ret_run_id, "command", NULL),
                     LOOP_CONTROL_POSTED);
    touch(world, "go");
    WAIT_FOR(orchestrator_state(world->orchestrator).paused == 1);
    WAIT_FOR(row_of(world, ret_run_id).owner[0] == '\0');
}

WORLD_TEST(a_run_that_a_command_continued_is_taken_on)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    struct stranger stranger = stranger_new(world);
    world_start(world);
    pause_by_command(world, &stranger, run_id);

    assert_int_equal(loop_continue_run(&stranger.parts, run_id, "command", NULL),
                     LOOP_CONTROL_DONE);

    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);
    read_log(world);
    assert_string_equal(world->log, "a\na\n");
    assert_int_equal(managed_runs(world, NULL), 0);
    runtime_free(stranger.runtime);
}

WORLD_TEST(a_paused_run_that_a_command_stopped_is_forgotten)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    struct stranger stranger = stranger_new(world);
    world_start(world);
    pause_by_command(world, &stranger, run_id);

    assert_int_equal(loop_stop_run(&stranger.parts, run_id, "command", NULL), LOOP_CONTROL_DONE);

    wait_idle(world);
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_CANCELLED);
    WAIT_FOR(managed_runs(world, NULL) == 0);
    runtime_free(stranger.runtime);
}

WORLD_TEST(what_waits_is_paused_and_stopped_by_commands_too)
{
    struct orchestrator_world *world = *state;
    char ids[3][ID_SIZE];
    struct orchestrator_state now;
    struct stranger stranger = stranger_new(world);
    world->options.max_loops = 1;
    world_start(world);
    for (size_t i = 0; i < 3; i++) {
        run_spec(world, command_spec(world, "a", WAITS("a"), 1), ids[i]);
    }

    assert_int_equal(loop_pause_run(&stranger.parts, ids[1], "command", NULL), LOOP_CONTROL_DONE);
    assert_int_equal(loop_stop_run(&stranger.parts, ids[2], "command", NULL), LOOP_CONTROL_DONE);

    WAIT_FOR((now = orchestrator_state(world->orchestrator), now.queued == 0 && now.paused == 1));
    WAIT_FOR(managed_runs(world, "paused") == 1 && managed_runs(world, NULL) == 2);
    assert_int_equal(loop_continue_run(&stranger.parts, ids[1], "command", NULL),
                     LOOP_CONTROL_DONE);
    WAIT_FOR(orchestrator_is_queued(world->orchestrator, ids[1]));
    touch(world, "go");
    wait_status(world, ids[1], RONDO_MAX_ITERATIONS);
    wait_idle(world);
    runtime_free(stranger.runtime);
}

static void note_hold(void *context, const char *line)
{
    if (strstr(line, "is executed by") != NULL) {
        atomic_store((atomic_bool *)context, true);
    }
}

/** A command holds a run for a moment just when its turn comes. */
WORLD_TEST(a_run_that_is_held_for_a_moment_is_not_forgotten)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct stranger stranger = stranger_new(world);
    atomic_bool was_held = false;
    world->options.max_loops = 1;
    world->options.log = note_hold;
    world->options.log_context = &was_held;
    world_start(world);
    char first[ID_SIZE];
    run_spec(world, command_spec(world, "a", WAITS("a"), 1), first);
    run_spec(world, command_spec(world, "b", "echo b >>log", 1), run_id);
    assert_int_equal(loop_resume(&stranger.parts, run_id, NULL, NULL, -1, &loop, &opening, NULL),
                     0);
    assert_false(opening.is_held);

    touch(world, "go");
    WAIT_FOR(atomic_load(&was_held));
    assert_int_equal(loop_park(loop, NULL), 0);
    loop_free(loop);

    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);
    assert_int_equal(row_of(world, first).summary.status, RONDO_MAX_ITERATIONS);
    world_stop(world);
    runtime_free(stranger.runtime);
}

static struct loop_spec queued_spec(const struct orchestrator_world *world, const char *script)
{
    struct loop_spec spec = command_spec(world, "fixer", script, 1);
    snprintf(spec.run_id, sizeof(spec.run_id), "01890000-0000-7000-8000-000000000001");
    spec.origin = memory_dup_string("{\"kind\":\"cron\"}");
    return spec;
}

static enum orchestrator_answer queue_run(struct orchestrator_world *world, struct loop_spec *spec)
{
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    struct rondo_error err = {0};
    if (orchestrator_queue_run(world->orchestrator, spec, "a trigger", &answer, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return answer;
}

WORLD_TEST(a_queued_run_of_a_given_id_is_created_once_and_names_its_origin)
{
    struct orchestrator_world *world = *state;
    world_start(world);
    struct loop_spec spec = queued_spec(world, "echo x >> ran");
    assert_int_equal(queue_run(world, &spec), ORCHESTRATOR_QUEUED);
    assert_int_equal(queue_run(world, &spec), ORCHESTRATOR_QUEUED);
    wait_status(world, spec.run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);
    assert_int_equal(queue_run(world, &spec), ORCHESTRATOR_QUEUED);
    wait_idle(world);
    assert_int_equal(runs_in_store(world), 1);
    assert_int_equal(events_of(world, spec.run_id, "iteration.started", NULL), 1);
    assert_int_equal(events_of(world, spec.run_id, "run.created", "\"kind\":\"cron\""), 1);
    assert_false(orchestrator_is_executing(world->orchestrator, spec.run_id));
    loop_spec_fini(&spec);
}

WORLD_TEST(a_paused_run_does_not_count_as_executing)
{
    struct orchestrator_world *world = *state;
    world_start(world);
    struct loop_spec spec =
        queued_spec(world, "touch began; while [ ! -e go ]; do sleep 0.02; done");
    spec.max_iterations = 2;
    assert_int_equal(queue_run(world, &spec), ORCHESTRATOR_QUEUED);
    WAIT_FOR(has_file(world, "began"));
    assert_true(orchestrator_is_executing(world->orchestrator, spec.run_id));
    assert_true(orchestrator_pause_run(world->orchestrator, spec.run_id, "ann", NULL) >= 0);
    touch(world, "go");
    WAIT_FOR(!orchestrator_is_executing(world->orchestrator, spec.run_id));
    assert_true(row_of(world, spec.run_id).summary.is_paused);
    loop_spec_fini(&spec);
}
