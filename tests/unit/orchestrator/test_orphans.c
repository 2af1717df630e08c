// SPDX-License-Identifier: Apache-2.0
/*
 * Runs whose process died. The processes are real: this program begins itself once more, has it
 * start a run, and kills it.
 */
#include "orchestrator_world.h"

#include "base/error.h"
#include "loop/control/control.h"
#include "loop/owner.h"
#include "store/quiet.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

/** Leases of processes that are about to die are longer than any test: their death counts. */
#define LONG_LEASE_NS (600 * NS_PER_S)

extern char **environ;

/* ---- The process that dies ------------------------------------------------------------------ */

/** A run that the one whose id is in the file "parent" has given away. */
static struct loop_spec given_spec(struct orchestrator_world *world)
{
    struct loop_spec spec = role_spec(world, AGENT_SINGLE);
    char path[128];
    auto_buf struct buf parent = {0};
    auto_buf struct buf agent = {0};
    world_path(world, "parent", path, sizeof(path));
    if (file_read(path, ID_SIZE, &parent, NULL) < 0) {
        buf_append_string(&parent, "019f0000-0000-7000-8000-000000000000");
    }
    buf_printf(&agent, "{\"delegated\":{\"parent\":\"%s\",\"depth\":1},%s", buf_string(&parent),
               spec.agent + 1);
    free(spec.agent);
    spec.agent = memory_dup_string(buf_string(&agent));
    return spec;
}

static struct loop_spec doomed_spec(struct orchestrator_world *world, const char *kind)
{
    if (strcmp(kind, "given") == 0) {
        return given_spec(world);
    }
    if (strcmp(kind, "chat") == 0 || strcmp(kind, "role") == 0) {
        return role_spec(world, strcmp(kind, "chat") == 0 ? AGENT_CHAT : AGENT_AUTONOMOUS);
    }
    struct loop_spec spec = command_spec(world, "doomed", "echo again >>log", 2);
    if (strcmp(kind, "library") == 0) {
        free(spec.kind);
        spec.kind = memory_dup_string("library");
        for (size_t i = 0; spec.command[i] != NULL; i++) {
            free(spec.command[i]);
        }
        free(spec.command);
        spec.command = NULL;
    }
    return spec;
}

/** Start a run in the folder, begin its first iteration, say so, and wait for the end. */
static int die_later(const char *folder, const char *kind)
{
    struct orchestrator_world world = {0};
    snprintf(world.folder, sizeof(world.folder), "%s", folder);
    world_open_store(&world);
    world.runtime = world_runtime(&world, LONG_LEASE_NS);
    struct loop_parts parts = {.runtime = world.runtime};
    struct loop_spec spec = doomed_spec(&world, kind);
    struct loop *loop = NULL;
    struct loop_opening opening;
    if (loop_start(&parts, &spec, &loop, &opening, NULL) < 0 ||
        loop_next(loop, NULL) != LOOP_BODY) {
        return 1;
    }
    if (strcmp(kind, "paused") == 0) {
        loop_pause_run(&parts, loop_run_id(loop), "ann", NULL);
        if (loop_next(loop, NULL) != LOOP_PAUSED) {
            return 1;
        }
    }
    write_file(&world, "doomed", loop_run_id(loop));
    for (;;) {
        pause();
    }
}

/** Have another process begin a run. */
static pid_t begin_doomed_run(struct orchestrator_world *world, const char *kind)
{
    char *words[] = {(char *)"/proc/self/exe", (char *)"die", world->folder, (char *)kind, NULL};
    pid_t pid = 0;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ), 0);
    WAIT_FOR(has_file(world, "doomed"));
    return pid;
}

/** Kill it. */
static void end_doomed_run(struct orchestrator_world *world, pid_t pid, char ret_run_id[ID_SIZE])
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    char path[128];
    auto_buf struct buf id = {0};
    world_path(world, "doomed", path, sizeof(path));
    assert_int_equal(file_read(path, ID_SIZE, &id, NULL), 0);
    snprintf(ret_run_id, ID_SIZE, "%s", buf_string(&id));
}

/** Have another process begin a run, and kill it. */
static void leave_dead_run(struct orchestrator_world *world, const char *kind,
                           char ret_run_id[ID_SIZE])
{
    end_doomed_run(world, begin_doomed_run(world, kind), ret_run_id);
}

/* ---- What becomes of its run ---------------------------------------------------------------- */

WORLD_TEST(the_command_of_a_dead_process_is_taken_over)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    leave_dead_run(world, "command", run_id);

    world_start(world);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);

    read_log(world);
    assert_string_equal(world->log, "again\nagain\n");
    assert_int_equal(events_of(world, run_id, "run.claimed", "takeover"), 1);
    assert_int_equal(orchestrator_state(world->orchestrator).taken_over, 1);
    assert_int_equal(managed_runs(world, NULL), 0);
}

WORLD_TEST(a_process_that_dies_while_the_server_runs_is_noticed)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world_start(world);

    leave_dead_run(world, "command", run_id);

    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
}

/** Have the run be that of a process on another machine, of which only the lease says anything. */
static void give_to_another_machine(struct orchestrator_world *world, const char *run_id,
                                    int64_t lease_ns)
{
    struct store *store = world->store;
    const struct store_claim claim = {.owner = "elsewhere", .lease_ns = lease_ns};
    struct store_claim_result result;
    assert_int_equal(store->ops->expire_lease(store, run_id, 1, NULL), 0);
    assert_int_equal(store->ops->claim_run(store, run_id, &claim, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_CLAIMED);
}

WORLD_TEST(a_run_is_taken_over_when_its_lease_is_over_and_not_at_the_next_regular_look)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    leave_dead_run(world, "command", run_id);
    give_to_another_machine(world, run_id, NS_PER_S);
    world->options.scan_ns = LONG_LEASE_NS;

    world_start(world);

    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
}

WORLD_TEST(a_process_that_dies_while_the_store_is_quiet_is_noticed)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    struct quiet_watch *watch = NULL;
    struct writer *writer = runtime_writer(world->runtime);
    world_start(world);
    assert_int_equal(quiet_watch_start(writer, NS_PER_S, &watch, NULL), 0);
    WAIT_FOR(writer_is_quiet(writer));

    pid_t pid = begin_doomed_run(world, "command");
    WAIT_FOR(writer_is_quiet(writer));
    end_doomed_run(world, pid, run_id);

    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    quiet_watch_stop(watch);
}

WORLD_TEST(the_role_of_a_dead_process_is_taken_over)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    write_file(world, "turns.jsonl",
               "{\"tool_calls\":[{\"name\":\"finish_task\",\"arguments\":{\"summary\":\"done\","
               "\"status\":\"completed\"}}]}\n");
    leave_dead_run(world, "role", run_id);

    world_start(world);

    wait_status(world, run_id, RONDO_COMPLETED);
}

WORLD_TEST(a_conversation_is_parked_for_its_person)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    leave_dead_run(world, "chat", run_id);

    world_start(world);
    WAIT_FOR(row_of(world, run_id).owner[0] == '\0');

    WAIT_FOR(events_of(world, run_id, "run.claimed", NULL) == 2);
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_RUNNING);
    assert_int_equal(managed_runs(world, NULL), 0);
    assert_int_equal(orchestrator_state(world->orchestrator).taken_over, 0);
}

WORLD_TEST(the_run_of_a_dead_library_is_closed_as_error)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world->options.close_after_ns = 1;
    leave_dead_run(world, "library", run_id);

    world_start(world);
    wait_status(world, run_id, RONDO_ERROR);

    assert_int_equal(events_of(world, run_id, "run.finished", "is gone"), 1);
    assert_int_equal(events_of(world, run_id, "iteration.interrupted", NULL), 1);
    WAIT_FOR(orchestrator_state(world->orchestrator).closed == 1);
}

/** Change the limit of iterations of a run that nobody executes, as the command line does. */
static void change_limit(struct orchestrator_world *world, const char *run_id, int64_t iterations)
{
    struct loop_parts parts = {.runtime = world->runtime};
    struct loop_limits limits = {.max_iterations = iterations};
    assert_int_equal(loop_change_limits(&parts, run_id, &limits, "ann", NULL), LOOP_CONTROL_DONE);
    assert_string_equal(row_of(world, run_id).owner, "");
}

WORLD_TEST(a_dead_run_whose_limits_were_changed_is_taken_over)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    leave_dead_run(world, "command", run_id);
    change_limit(world, run_id, 3);

    world_start(world);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    wait_idle(world);

    assert_int_equal(row_of(world, run_id).summary.iteration, 3);
    assert_int_equal(orchestrator_state(world->orchestrator).taken_over, 1);
    assert_false(orphan_is_marked(runtime_store(world->runtime), run_id));
}

WORLD_TEST(a_dead_run_that_was_paused_and_continued_is_taken_over)
{
    struct orchestrator_world *world = *state;
    struct loop_parts parts = {.runtime = world->runtime};
    char run_id[ID_SIZE];
    leave_dead_run(world, "command", run_id);
    assert_int_equal(loop_pause_run(&parts, run_id, "ann", NULL), LOOP_CONTROL_DONE);
    assert_int_equal(loop_continue_run(&parts, run_id, "ann", NULL), LOOP_CONTROL_DONE);

    world_start(world);

    wait_status(world, run_id, RONDO_MAX_ITERATIONS);
}

WORLD_TEST(a_dead_library_that_somebody_tried_to_resume_is_closed)
{
    struct orchestrator_world *world = *state;
    struct rondo_error err = {0};
    enum orchestrator_answer answer;
    char run_id[ID_SIZE];
    world->options.close_after_ns = NS_PER_S;
    leave_dead_run(world, "library", run_id);

    world_start(world);
    assert_int_equal(orchestrator_resume(world->orchestrator, run_id, NULL, "ann", &answer, &err),
                     RONDO_ERR_UNSUPPORTED);

    wait_status(world, run_id, RONDO_ERROR);
    WAIT_FOR(!orphan_is_marked(runtime_store(world->runtime), run_id));
}

WORLD_TEST(a_run_that_was_given_away_is_left_to_the_one_that_waits_for_it)
{
    struct orchestrator_world *world = *state;
    char parent[ID_SIZE];
    char given[ID_SIZE];
    char run_id[ID_SIZE];
    char path[128];
    world->options.close_after_ns = 1;
    leave_dead_run(world, "paused", parent);
    write_file(world, "parent", parent);
    world_path(world, "doomed", path, sizeof(path));
    unlink(path);
    leave_dead_run(world, "given", given);
    world_start(world);

    run_spec(world, command_spec(world, "a", "true", 1), run_id);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS); /* The store was looked at meanwhile. */

    WAIT_FOR(managed_runs(world, NULL) == 0); /* It is not in the queue either. */
    assert_int_equal(row_of(world, given).summary.status, RONDO_RUNNING);
    assert_int_equal(events_of(world, given, "run.claimed", NULL), 1);
}

WORLD_TEST(a_run_that_was_given_away_by_nobody_is_closed)
{
    struct orchestrator_world *world = *state;
    char given[ID_SIZE];
    world->options.close_after_ns = 1;
    leave_dead_run(world, "given", given);

    world_start(world);

    wait_status(world, given, RONDO_ERROR);
    assert_int_equal(events_of(world, given, "model.requested", NULL), 0);
}

WORLD_TEST(a_dead_library_has_time_to_come_back)
{
    struct orchestrator_world *world = *state;
    char library[ID_SIZE];
    char run_id[ID_SIZE];
    leave_dead_run(world, "library", library);
    world_start(world);

    run_spec(world, command_spec(world, "a", "true", 1), run_id);
    wait_status(world, run_id, RONDO_MAX_ITERATIONS); /* The store was looked at meanwhile. */

    assert_int_equal(row_of(world, library).summary.status, RONDO_RUNNING);
}

WORLD_TEST(dead_commands_are_closed_where_that_is_wanted)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    world->options.orphans = ORPHANS_CLOSE;
    world->options.close_after_ns = 1;
    leave_dead_run(world, "command", run_id);

    world_start(world);

    wait_status(world, run_id, RONDO_ERROR);
    assert_false(has_file(world, "log"));
}

/** Only what is managed is seen to: the one beside it shows that the store was looked at. */
WORLD_TEST(dead_runs_are_left_alone_where_that_is_wanted)
{
    struct orchestrator_world *world = *state;
    char dead[ID_SIZE];
    char run_id[ID_SIZE];
    world->options.orphans = ORPHANS_LEAVE;
    leave_dead_run(world, "command", dead);
    world_start(world);

    run_spec(world, command_spec(world, "a", "true", 1), run_id);
    world_restart(world);
    wait_idle(world);

    assert_int_equal(row_of(world, run_id).summary.status, RONDO_MAX_ITERATIONS);
    assert_int_equal(row_of(world, dead).summary.status, RONDO_RUNNING);
}

/** A stop that no process has read counts for the one that takes the run over. */
WORLD_TEST(a_dead_run_that_was_to_stop_is_not_executed)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    leave_dead_run(world, "command", run_id);
    assert_int_equal(
        world->store->ops->post(world->store, run_id, "stop", "{\"by\":\"ann\"}", NULL), 0);

    world_start(world);

    wait_status(world, run_id, RONDO_CANCELLED);
    assert_false(has_file(world, "log"));
}

WORLD_TEST(a_dead_run_that_is_paused_stays_paused)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    char other[ID_SIZE];
    leave_dead_run(world, "paused", run_id);
    world_start(world);

    run_spec(world, command_spec(world, "a", "true", 1), other);
    wait_status(world, other, RONDO_MAX_ITERATIONS);

    assert_int_equal(row_of(world, run_id).summary.status, RONDO_RUNNING);
    assert_int_equal(events_of(world, run_id, "run.claimed", NULL), 1);
    assert_false(has_file(world, "log"));
}

WORLD_TEST(records_of_nothing_are_cleared_away)
{
    struct orchestrator_world *world = *state;
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = "managed",
        .key = "00000000-0000-7000-8000-000000000000",
        .data = "{\"state\":\"running\",\"since\":1,\"by\":\"ann\"}",
        .data_len = strlen("{\"state\":\"running\",\"since\":1,\"by\":\"ann\"}"),
        .if_version = STORE_ANY_VERSION,
    };
    bool is_applied = false;
    world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL);

    world_start(world);

    assert_int_equal(managed_runs(world, NULL), 0);
    assert_int_equal(orchestrator_state(world->orchestrator).queued, 0);
}

static void count_line(void *context, const char *line)
{
    *(_Atomic unsigned *)context += strstr(line, "is left alone: ") != NULL;
}

/** The first event of its journal, which says what it is, is not there. */
WORLD_TEST(a_run_that_cannot_be_seen_to_is_reported_once)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    _Atomic unsigned reports = 0;
    struct store_run run = {.agent_id = "a"};
    struct store_claim claim = {.owner = "pid=7 started=1 space=1 boot=- id=1 host=elsewhere",
                                .lease_ns = 1};
    struct store_claim_result result;
    id_new(clock_now(clock_system()), random_system(), run.id);
    assert_int_equal(
        world->store->ops->create_run(world->store, &run, NULL, 0, &claim, &result, NULL), 0);
    world->options.log = count_line;
    world->options.log_context = &reports;
    world_start(world);

    for (int i = 0; i < 5; i++) { /* The store is looked at meanwhile. */
        run_spec(world, command_spec(world, "b", "sleep 0.2", 1), run_id);
        wait_status(world, run_id, RONDO_MAX_ITERATIONS);
    }

    WAIT_FOR(reports > 0);
    assert_int_equal(reports, 1);
}

/** Two servers over one store: each run is executed once. */
WORLD_TEST(two_servers_execute_each_run_once)
{
    struct orchestrator_world *world = *state;
    char ids[4][ID_SIZE];
    world->options.max_loops = 1;
    world_start(world);
    for (size_t i = 0; i < 4; i++) {
        run_spec(
            world,
            command_spec(world, "a", "while ! [ -e go ]; do sleep 0.02; done; echo x >>log", 1),
            ids[i]);
    }
    struct runtime *runtime = world_runtime(world, 5 * NS_PER_S);
    struct orchestrator_options options = world->options;
    struct orchestrator *other = NULL;
    options.runtime = runtime;
    options.max_loops = 2;
    assert_int_equal(orchestrator_start(&options, &other, NULL), 0);

    touch(world, "go");
    for (size_t i = 0; i < 4; i++) {
        wait_status(world, ids[i], RONDO_MAX_ITERATIONS);
    }

    wait_idle(world);
    orchestrator_stop(other);
    runtime_free(runtime);
    read_log(world);
    assert_string_equal(world->log, "x\nx\nx\nx\n");
    assert_int_equal(managed_runs(world, NULL), 0);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "die") == 0) {
        return die_later(argv[2], argv[3]);
    }
    return test_run(NULL, NULL);
}
