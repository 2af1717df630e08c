// SPDX-License-Identifier: Apache-2.0
/*
 * Several servers and one queue: pools, workspaces of other machines, turns of agents. Each server
 * has a runtime of its own over the world's store.
 */
#include "orchestrator_world.h"

#include "loop/owner.h"
#include "orchestrator/assignment.h"
#include "orchestrator/servers.h"

#include "support/store/memory_store.h"

/** Executes until the file is there, and says so. */
#define UNTIL(file, word) "while ! [ -e " file " ]; do sleep 0.02; done; echo " word " >>log"
#define ELSEWHERE         "pid=7 started=1 space=1 boot=- id=0000000000000001 host=elsewhere.example"

/** A server beside the world's. */
struct other_server {
    struct runtime *runtime;
    struct orchestrator *orchestrator;
};

static struct other_server other_start(struct orchestrator_world *world, const char *name,
                                       const char *pool)
{
    struct other_server other = {.runtime = world_runtime(world, 600 * NS_PER_S)};
    struct orchestrator_options options = world->options;
    struct rondo_error err = {0};
    options.runtime = other.runtime;
    options.name = name;
    options.pool = pool;
    if (orchestrator_start(&options, &other.orchestrator, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return other;
}

static void other_stop(struct other_server *other)
{
    orchestrator_stop(other->orchestrator);
    runtime_free(other->runtime);
}

static bool is_executed_by(const struct orchestrator_world *world, const char *run_id,
                           struct runtime *runtime)
{
    return strcmp(row_of(world, run_id).owner, runtime_owner(runtime)) == 0;
}

WORLD_TEST(what_waits_in_one_server_is_executed_by_another_with_room)
{
    struct orchestrator_world *world = *state;
    char busy[ID_SIZE];
    char waits[ID_SIZE];
    world->options.name = "one";
    world->options.max_loops = 1;
    world_start(world);
    run_spec(world, command_spec(world, "a", UNTIL("go", "x"), 1), busy);
    assert_int_equal(run_spec(world, command_spec(world, "a", UNTIL("go", "y"), 1), waits),
                     ORCHESTRATOR_QUEUED);

    struct other_server other = other_start(world, "two", NULL);

    WAIT_FOR(is_executed_by(world, waits, other.runtime));
    assert_true(is_executed_by(world, busy, world->runtime));
    touch(world, "go");
    wait_status(world, busy, RONDO_MAX_ITERATIONS);
    wait_status(world, waits, RONDO_MAX_ITERATIONS);
    WAIT_FOR(managed_runs(world, NULL) == 0);
    wait_idle(world); /* The first one does not wait for it any more. */
    other_stop(&other);
}

WORLD_TEST(a_run_waits_for_a_server_of_its_pool)
{
    struct orchestrator_world *world = *state;
    char waits[ID_SIZE];
    char next[ID_SIZE];
    struct loop_spec spec = command_spec(world, "a", "echo x >>log", 1);
    spec.pool = memory_dup_string("gpu,linux");
    world->options.name = "one";
    world->options.pool = "linux";
    world_start(world);

    assert_int_equal(run_spec(world, spec, waits), ORCHESTRATOR_QUEUED);
    assert_int_equal(run_spec(world, command_spec(world, "a", "true", 1), next),
                     ORCHESTRATOR_STARTED); /* It keeps no other run waiting. */
    wait_status(world, next, RONDO_MAX_ITERATIONS);
    assert_string_equal(row_of(world, waits).owner, "");
    assert_int_equal(row_of(world, waits).summary.status, RONDO_RUNNING);

    struct other_server other = other_start(world, "two", "linux,gpu");

    wait_status(world, waits, RONDO_MAX_ITERATIONS);
    other_stop(&other);
}

WORLD_TEST(agents_take_turns)
{
    struct orchestrator_world *world = *state;
    char busy[ID_SIZE];
    char ids[4][ID_SIZE];
    static const char *const agents[] = {"many", "many", "many", "few"};
    world->options.name = "one";
    world->options.max_loops = 1;
    world_start(world);
    run_spec(world, command_spec(world, "many", UNTIL("go", "first"), 1), busy);
    for (size_t i = 0; i < 4; i++) {
        char script[64];
        snprintf(script, sizeof(script), "echo %s >>log", agents[i]);
        run_spec(world, command_spec(world, agents[i], script, 1), ids[i]);
    }

    touch(world, "go");

    for (size_t i = 0; i < 4; i++) {
        wait_status(world, ids[i], RONDO_MAX_ITERATIONS);
    }
    read_log(world);
    assert_string_equal(world->log, "first\nfew\nmany\nmany\nmany\n");
}

WORLD_TEST(agents_take_turns_over_all_servers)
{
    struct orchestrator_world *world = *state;
    char busy[2][ID_SIZE];
    char waits[2][ID_SIZE];
    world->options.name = "one";
    world->options.max_loops = 1;
    world_start(world);
    struct other_server other = other_start(world, "two", NULL);
    run_spec(world, command_spec(world, "many", UNTIL("go-1", "1"), 1), busy[0]);
    run_spec(world, command_spec(world, "many", UNTIL("go-2", "2"), 1), busy[1]);
    WAIT_FOR(is_executed_by(world, busy[1], other.runtime));
    run_spec(world, command_spec(world, "many", UNTIL("go-3", "3"), 1), waits[0]);
    run_spec(world, command_spec(world, "few", UNTIL("go-4", "4"), 1), waits[1]);

    touch(world, "go-2"); /* The place becomes free in the server that has no queue. */

    WAIT_FOR(is_executed_by(world, waits[1], other.runtime));
    assert_string_equal(row_of(world, waits[0]).owner, "");
    touch(world, "go-1");
    touch(world, "go-3");
    touch(world, "go-4");
    wait_status(world, waits[0], RONDO_MAX_ITERATIONS);
    wait_status(world, waits[1], RONDO_MAX_ITERATIONS);
    other_stop(&other);
}

/* ---- Stores that other machines share -------------------------------------------------------- */

static int shared_up(void **state)
{
    int r = world_up(state);
    struct orchestrator_world *world = *state;
    runtime_free(world->runtime);
    store_close(world->store);
    world->store = store_memory_new(NULL); /* One that other machines may share. */
    world->runtime = world_runtime(world, 5 * NS_PER_S);
    world->options.runtime = world->runtime;
    return r;
}

#define SHARED_TEST(function) TEST_WITH(function, shared_up, world_down)

/** A server that ends leaves what waits to the others, though it parked it in good order. */
SHARED_TEST(what_a_server_has_left_is_executed_by_the_others)
{
    struct orchestrator_world *world = *state;
    char ids[5][ID_SIZE];
    world->options.name = "one";
    world->options.max_loops = 1;
    world_start(world);
    struct other_server other = other_start(world, "two", NULL);
    struct other_server third = other_start(world, "three", NULL);
    for (size_t i = 0; i < 5; i++) {
        run_spec(world, command_spec(world, "a", UNTIL("go", "x"), 1), ids[i]);
    }

    world_stop(world);
    touch(world, "go");

    for (size_t i = 0; i < 5; i++) {
        wait_status(world, ids[i], RONDO_MAX_ITERATIONS);
    }
    WAIT_FOR(managed_runs(world, NULL) == 0);
    other_stop(&other);
    other_stop(&third);
}

/** The document of a run that a server of another machine has written. */
static void assign(struct orchestrator_world *world, const char *run_id, const char *state)
{
    auto_buf struct buf data = {0};
    bool is_applied = false;
    buf_printf(&data,
               "{\"state\":\"%s\",\"since\":1,\"by\":\"ann\",\"owner\":\"" ELSEWHERE "\","
               "\"agent\":\"a\",\"workspace\":\"%s\"}",
               state, world->folder);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = "managed",
        .key = run_id,
        .data = buf_string(&data),
        .data_len = data.len,
        .if_version = STORE_ANY_VERSION,
    };
    assert_int_equal(
        world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL), 0);
}

/** A run that nobody holds, and its document by another machine. */
static void leave_elsewhere(struct orchestrator_world *world, const char *state,
                            char ret_run_id[ID_SIZE])
{
    struct loop_spec spec = command_spec(world, "a", "echo x >>log", 1);
    struct loop_parts parts = {.runtime = world->runtime};
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct rondo_error err = {0};
    if (loop_start(&parts, &spec, &loop, &opening, &err) < 0 || loop_park(loop, &err) < 0) {
        fail_msg("%s", err.message);
    }
    memcpy(ret_run_id, loop_run_id(loop), ID_SIZE);
    loop_free(loop);
    loop_spec_fini(&spec);
    assign(world, ret_run_id, state);
}

static void queue_elsewhere(struct orchestrator_world *world, char ret_run_id[ID_SIZE])
{
    leave_elsewhere(world, "queued", ret_run_id);
}

/** Time for several looks at the store. */
static void let_it_look(struct orchestrator_world *world)
{
    char id[ID_SIZE];
    for (int i = 0; i < 3; i++) {
        run_spec(world, command_spec(world, "b", "sleep 0.1", 1), id);
        wait_status(world, id, RONDO_MAX_ITERATIONS);
    }
}

SHARED_TEST(a_run_stays_on_the_machine_that_has_its_workspace)
{
    struct orchestrator_world *world = *state;
    char waits[ID_SIZE];
    queue_elsewhere(world, waits);
    world->options.name = "one";
    world_start(world);

    let_it_look(world);

    assert_string_equal(row_of(world, waits).owner, "");
    assert_int_equal(managed_runs(world, "elsewhere.example"), 1);
}

static void expect_shared_by(struct orchestrator_world *world, const char *folder)
{
    char waits[ID_SIZE];
    const char *const folders[] = {folder, NULL};
    queue_elsewhere(world, waits);
    world->options.name = "one";
    world->options.shared_folders = folders;
    world_start(world);

    wait_status(world, waits, RONDO_MAX_ITERATIONS);
}

SHARED_TEST(a_shared_folder_lets_other_machines_execute_it)
{
    struct orchestrator_world *world = *state;
    expect_shared_by(world, world->folder);
}

SHARED_TEST(the_whole_file_system_can_be_shared)
{
    expect_shared_by(*state, "/");
}

SHARED_TEST(a_folder_whose_name_only_begins_alike_is_not_shared)
{
    struct orchestrator_world *world = *state;
    char waits[ID_SIZE];
    char shorter[64];
    snprintf(shorter, sizeof(shorter), "%.*s", (int)strlen(world->folder) - 1, world->folder);
    const char *const folders[] = {shorter, NULL};
    queue_elsewhere(world, waits);
    world->options.name = "one";
    world->options.shared_folders = folders;
    world_start(world);

    let_it_look(world);

    assert_string_equal(row_of(world, waits).owner, "");
}

/* ---- Servers that die while they take a run -------------------------------------------------- */

/** The other machine's server is alive for this moment, as far as others know. */
static void beat_elsewhere(struct orchestrator_world *world)
{
    struct server_info server = {.name = "elsewhere", .owner = ELSEWHERE, .capacity = 4};
    assert_int_equal(server_register(world->store, clock_system(), &server, NULL), 0);
}

static void start_sharing(struct orchestrator_world *world)
{
    const char *const folders[] = {world->folder, NULL};
    beat_elsewhere(world);
    world->options.name = "one";
    world->options.shared_folders = folders;
    world_start(world);
}

/** It has to be executed while the other server counts as alive. */
static void expect_taken(struct orchestrator_world *world, const char *run_id)
{
    start_sharing(world);
    WAIT_FOR((beat_elsewhere(world), row_of(world, run_id).summary.status != RONDO_RUNNING));
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_MAX_ITERATIONS);
}

SHARED_TEST(what_a_server_took_and_did_not_claim_waits_for_all_again)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    leave_elsewhere(world, "running", run_id);
    expect_taken(world, run_id);
}

SHARED_TEST(a_dead_run_that_a_server_took_and_did_not_claim_is_taken_over)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    struct store_claim claim = {
        .owner = "pid=8 started=1 space=1 boot=- id=0000000000000002 host=third.example",
        .lease_ns = 1,
    };
    struct store_claim_result result;
    leave_elsewhere(world, "running", run_id);
    assert_int_equal(world->store->ops->claim_run(world->store, run_id, &claim, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_CLAIMED);

    expect_taken(world, run_id);

    assert_int_equal(events_of(world, run_id, "run.claimed", "takeover"), 1);
}

SHARED_TEST(what_a_living_server_begins_later_is_left_to_it)
{
    struct orchestrator_world *world = *state;
    char run_id[ID_SIZE];
    leave_elsewhere(world, "deferred", run_id);
    start_sharing(world);

    for (int i = 0; i < 3; i++) { /* Several looks at the store. */
        char other[ID_SIZE];
        run_spec(world, command_spec(world, "b", "sleep 0.1", 1), other);
        WAIT_FOR((beat_elsewhere(world), row_of(world, other).summary.status != RONDO_RUNNING));
    }

    assert_string_equal(row_of(world, run_id).owner, "");
    assert_int_equal(row_of(world, run_id).summary.status, RONDO_RUNNING);
}
