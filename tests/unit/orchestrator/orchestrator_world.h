// SPDX-License-Identifier: Apache-2.0
/*
 * A server's inside over a store in a folder of its own: workers are shell commands that wait for
 * files, so that each test says what happens when. Everything waits for events with a deadline.
 */
#pragma once

#include "agent/agent.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/memory.h"
#include "net/client/http.h"
#include "orchestrator/orchestrator.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "role/role.h"
#include "store/sqlite/sqlite.h"
#include "support/scratch.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Longest wait for anything. */
#define DEADLINE_NS (60 * NS_PER_S)

struct orchestrator_world {
    char folder[64];
    struct store *store;
    struct runtime *runtime;
    struct http_client *http;
    struct orchestrator_options options;
    struct orchestrator *orchestrator;
    char log[4096];
};

static inline void world_path(const struct orchestrator_world *world, const char *name,
                              char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/%s", world->folder, name);
}

static inline struct runtime *world_runtime(struct orchestrator_world *world, int64_t lease_ns)
{
    char desks[128];
    world_path(world, "desks.yaml", desks, sizeof(desks));
    struct runtime_options options = {.store = world->store, .lease_ns = lease_ns, .desks = desks};
    struct runtime *runtime = NULL;
    assert_int_equal(runtime_new(&options, &runtime, NULL), 0);
    return runtime;
}

static inline void world_open_store(struct orchestrator_world *world)
{
    char path[128];
    world_path(world, "store.db", path, sizeof(path));
    struct store_sqlite_options options = {.path = path, .may_create = true};
    struct rondo_error err = {0};
    if (store_sqlite_open(&options, &world->store, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

/** For people who look for the reason of a failure. */
static inline void world_say(void *context, const char *line)
{
    (void)context;
    print_message("           said: %s\n", line);
}

static inline int world_up(void **state)
{
    struct orchestrator_world *world = memory_new_zero(1, sizeof(*world));
    assert_true(scratch_new(world->folder, sizeof(world->folder)));
    world_open_store(world);
    world->runtime = world_runtime(world, 5 * NS_PER_S);
    assert_int_equal(http_client_new(NULL, &world->http, NULL), 0);
    char *work = memory_new(128);
    world_path(world, "work", work, 128);
    world->options = (struct orchestrator_options){
        .runtime = world->runtime,
        .http = world->http,
        .work_folder = work,
        .drain_ns = -1,
        .scan_ns = 50 * NS_PER_MS,
        .retry_ns = 20 * NS_PER_MS,
        .log = world_say,
    };
    *state = world;
    return 0;
}

static inline void world_start(struct orchestrator_world *world)
{
    struct rondo_error err = {0};
    if (orchestrator_start(&world->options, &world->orchestrator, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static inline void world_stop(struct orchestrator_world *world)
{
    orchestrator_stop(world->orchestrator);
    world->orchestrator = NULL;
}

/** The server ends and another one begins over the same store, under another owner's name. */
static inline void world_restart(struct orchestrator_world *world)
{
    world_stop(world);
    runtime_free(world->runtime);
    world->runtime = world_runtime(world, 5 * NS_PER_S);
    world->options.runtime = world->runtime;
    world_start(world);
}

static inline int world_down(void **state)
{
    struct orchestrator_world *world = *state;
    world_stop(world);
    runtime_free(world->runtime);
    http_client_free(world->http);
    store_close(world->store);
    file_remove_tree(world->folder, NULL);
    free((char *)world->options.work_folder);
    free(world);
    return 0;
}

#define WORLD_TEST(function) TEST_WITH(function, world_up, world_down)

/* ---- Files ---------------------------------------------------------------------------------- */

static inline void touch(const struct orchestrator_world *world, const char *name)
{
    char path[128];
    world_path(world, name, path, sizeof(path));
    assert_int_equal(file_replace_durably(path, "", 0, NULL), 0);
}

static inline void write_file(const struct orchestrator_world *world, const char *name,
                              const char *text)
{
    char path[128];
    world_path(world, name, path, sizeof(path));
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

static inline bool has_file(const struct orchestrator_world *world, const char *name)
{
    char path[128];
    world_path(world, name, path, sizeof(path));
    return file_exists(path);
}

static inline void read_log(struct orchestrator_world *world)
{
    char path[128];
    auto_buf struct buf text = {0};
    world_path(world, "log", path, sizeof(path));
    (void)file_read(path, sizeof(world->log) - 1, &text, NULL);
    snprintf(world->log, sizeof(world->log), "%s", buf_string(&text));
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/** A worker: `script` for the shell, in the world's folder. */
static inline struct loop_spec command_spec(const struct orchestrator_world *world,
                                            const char *agent_id, const char *script,
                                            int64_t iterations)
{
    struct loop_spec spec = loop_spec_default();
    const char *words[] = {"/bin/sh", "-c", script, NULL};
    spec.agent_id = memory_dup_string(agent_id);
    spec.kind = memory_dup_string("command");
    spec.workspace = memory_dup_string(world->folder);
    spec.command = memory_new_zero(4, sizeof(char *));
    for (size_t i = 0; words[i] != NULL; i++) {
        spec.command[i] = memory_dup_string(words[i]);
    }
    spec.max_iterations = iterations;
    return spec;
}

/**
 * A role whose model says the turns of the file "turns.jsonl" of the world.
 * @param more further lines of its spec
 */
static inline struct loop_spec role_spec_with(const struct orchestrator_world *world,
                                              enum agent_mode mode, const char *more)
{
    char path[128];
    char yaml[512];
    snprintf(yaml, sizeof(yaml),
             "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: tester\n"
             "spec:\n  role: You test.\n"
             "  model: {provider: scripted, name: turns.jsonl}\n%s",
             more);
    struct role_findings findings = {0};
    struct role *role = NULL;
    world_path(world, "role.yaml", path, sizeof(path));
    assert_int_equal(role_parse(yaml, strlen(yaml), path, ROLE_SCHEMA_1_13, &findings, &role, NULL),
                     0);
    assert_non_null(role);
    struct agent_options options = {
        .mode = mode,
        .prompt = mode == AGENT_CHAT ? NULL : "test it",
        .workspace = world->folder,
        .system = "You test.",
        .max_iterations = 5,
    };
    struct loop_spec spec;
    struct rondo_error err = {0};
    if (agent_spec(role, &options, &spec, &err) < 0) {
        fail_msg("%s", err.message);
    }
    role_free(role);
    role_findings_fini(&findings);
    return spec;
}

static inline struct loop_spec role_spec(const struct orchestrator_world *world,
                                         enum agent_mode mode)
{
    return role_spec_with(world, mode, "");
}

/** Have it executed. The spec is released. */
static inline enum orchestrator_answer run_spec(struct orchestrator_world *world,
                                                struct loop_spec spec, char ret_run_id[ID_SIZE])
{
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    struct rondo_error err = {0};
    if (orchestrator_run(world->orchestrator, &spec, "ann", &answer, ret_run_id, &err) < 0) {
        fail_msg("%s", err.message);
    }
    loop_spec_fini(&spec);
    return answer;
}

static inline struct store_run row_of(const struct orchestrator_world *world, const char *run_id)
{
    struct store_run run;
    assert_int_equal(world->store->ops->get_run(world->store, run_id, &run, NULL), 0);
    return run;
}

/** Wait until a condition holds. */
#define WAIT_FOR(condition)                                                \
    do {                                                                   \
        int64_t until_ns_ = clock_monotonic(clock_system()) + DEADLINE_NS; \
        while (!(condition)) {                                             \
            if (clock_monotonic(clock_system()) > until_ns_) {             \
                fail_msg("still not: %s", #condition);                     \
            }                                                              \
            clock_sleep(clock_system(), 5 * NS_PER_MS, NULL);              \
        }                                                                  \
    } while (0)

static inline void wait_status(struct orchestrator_world *world, const char *run_id,
                               enum rondo_status status)
{
    WAIT_FOR(row_of(world, run_id).summary.status != RONDO_RUNNING);
    assert_string_equal(rondo_status_name(row_of(world, run_id).summary.status),
                        rondo_status_name(status));
}

/** Wait until nothing is executed, waits, or is paused. */
static inline void wait_idle(struct orchestrator_world *world)
{
    struct orchestrator_state state;
    WAIT_FOR((state = orchestrator_state(world->orchestrator),
              state.running + state.queued + state.paused == 0));
}

struct event_count {
    const char *type;
    const char *text;
    unsigned count;
};

static inline bool count_one_event(const struct store_event *event, void *context)
{
    struct event_count *count = context;
    count->count += strcmp(event->type, count->type) == 0 &&
                    (count->text == NULL || strstr(event->data, count->text) != NULL);
    return true;
}

/** Committed events of a type whose data holds `text` (NULL = any). */
static inline unsigned events_of(const struct orchestrator_world *world, const char *run_id,
                                 const char *type, const char *text)
{
    struct event_count count = {.type = type, .text = text};
    world->store->ops->read_events(world->store, run_id, 0, 0, count_one_event, &count, NULL);
    return count.count;
}

static inline bool count_document(const struct store_document *document, void *context)
{
    struct event_count *count = context;
    count->count += count->text == NULL || strstr(document->data, count->text) != NULL;
    return true;
}

/** Records of managed runs that hold `text` (NULL = any). */
static inline unsigned managed_runs(const struct orchestrator_world *world, const char *text)
{
    struct event_count count = {.text = text};
    struct store_document_query query = {.collection = "managed"};
    assert_int_equal(
        world->store->ops->read_documents(world->store, &query, count_document, &count, NULL), 0);
    return count.count;
}

static inline bool count_run(const struct store_run *run, void *context)
{
    (void)run;
    ++*(unsigned *)context;
    return true;
}

static inline unsigned runs_in_store(const struct orchestrator_world *world)
{
    unsigned count = 0;
    struct store_run_query query = {0};
    world->store->ops->list_runs(world->store, &query, count_run, &count, NULL);
    return count;
}
