// SPDX-License-Identifier: Apache-2.0
/*
 * The run of a PRD in this process: a real repository, a store in memory, the executor with its
 * threads, and workers that are functions of the test. They run on the threads of attempts, where
 * nothing may fail a test.
 */
#pragma once

#include "../../support/store/memory_store.h"
#include "../git/git_scene.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/driver/driver.h"
#include "work/spec.h"
#include "worker/child.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

/** What a worker sees. */
struct work_turn {
    const char *task;
    int64_t attempt;
    const char *folder; /* its working tree */
    struct loop *loop;
};

struct work_scene {
    struct store *store;
    struct runtime *runtime;
    struct work_spec work;
    struct loop_spec spec;
    char run_id[ID_SIZE];
    /** Do a task. @return enum run_finish */
    enum run_finish (*work_on)(const struct work_turn *turn);
    uint64_t fails_after;     /* iterations of a worker after which the machine fails; 0 = never */
    enum rondo_status status; /* of the run, when it has ended */
    char summary[2048];       /* likewise */
};

static struct work_scene work_scene;

/* ---- Workers -------------------------------------------------------------------------------- */

/** Write a file of a working tree; "" on failure nobody is told. */
__attribute__((unused)) static void put(const struct work_turn *turn, const char *name,
                                        const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", turn->folder, name);
    FILE *file = fopen(path, "we");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

/** A shell command of a worker, which is not looked at. */
__attribute__((unused)) static void quietly(const char *command)
{
    char whole[PATH_MAX + 1000];
    snprintf(whole, sizeof(whole), "cd '%s' && { %s; } >>worker.log 2>&1", scene_folder, command);
    (void)!system(whole); /* NOLINT(cert-env33-c): workers are what a shell does */
}

static int body_of_test_open(struct loop *loop, const struct worker_options *options,
                             struct agent *agent, void **ret_body, struct rondo_error *err)
{
    (void)options;
    (void)agent;
    (void)err;
    *ret_body = loop;
    return 0;
}

static int body_of_test_run(void *body, struct rondo_error *err)
{
    struct loop *loop = body;
    if (work_scene.fails_after > 0 && loop_state(loop)->iteration > work_scene.fails_after) {
        return error_set(err, RONDO_ERR_IO, "the machine fails");
    }
    auto_json struct json_object *work = NULL;
    const char *text = loop_spec(loop)->work;
    (void)json_parse(text, strlen(text), &work, NULL);
    const struct work_turn turn = {.task = json_get_string(work, "task", ""),
                                   .attempt = json_get_int(work, "attempt", 0),
                                   .folder = loop_spec(loop)->workspace,
                                   .loop = loop};
    struct loop_body_result result = {.finish = work_scene.work_on(&turn), .tokens = 10};
    result.outcome = result.finish == FINISH_FAILED ? LOOP_FAILED : LOOP_OK;
    loop_report(loop, &result);
    return 0;
}

static void body_of_test_close(void *body)
{
    (void)body;
}

static const struct worker_bodies bodies_of_test = {body_of_test_open, body_of_test_run,
                                                    body_of_test_close};

/* ---- The world ------------------------------------------------------------------------------ */

/** @param tasks members of the JSON list */
static void write_prd(const char *tasks)
{
    char path[PATH_MAX + 300];
    auto_buf struct buf text = {0};
    buf_printf(&text, "{\"name\": \"scene\", \"userStories\": [%s]}\n", tasks);
    snprintf(path, sizeof(path), "%s", scene_path("repo/prd.json"));
    assert_int_equal(file_replace_durably(path, text.data, text.len, NULL), 0);
}

#define TASK(id, more)                                                                           \
    "{\"id\": \"" id "\", \"title\": \"Title of " id "\", \"status\": \"pending\", \"passes\": " \
    "false" more "}"

static void make_work(const char *check)
{
    struct work_spec *work = &work_scene.work;
    struct loop_spec *worker = &work->worker;
    *work = (struct work_spec){.repository = memory_dup_string(scene_path("repo")),
                               .settings = memory_dup_string(scene_repository->settings_digest),
                               .prd = memory_dup_string(scene_path("repo/prd.json")),
                               .progress = memory_dup_string(scene_path("repo/progress.txt")),
                               .name = memory_dup_string("scene"),
                               .branch = memory_dup_string("prd/scene"),
                               .base = memory_dup_string(scene_head()),
                               .jobs = 1,
                               .attempts = 3,
                               .worker = loop_spec_default()};
    worker->agent_id = memory_dup_string("worker");
    worker->kind = memory_dup_string("library");
    worker->workspace = memory_dup_string(scene_path("repo"));
    worker->prompt = memory_dup_string("a task");
    worker->max_iterations = 1;
    worker->is_exclusive = 0;
    worker->verifier_tier = SANDBOX_NONE;
    if (check != NULL) {
        assert_ok(
            loop_spec_add_condition(worker, "check", check, "given", 60 * NS_PER_S, &scene_err));
    }
}

static int work_up(void **state)
{
    assert_int_equal(scene_set_up(state), 0);
    work_scene = (struct work_scene){0};
    shell("mkdir cache state");
    setenv("XDG_CACHE_HOME", scene_path("cache"), 1);
    setenv("XDG_STATE_HOME", scene_path("state"), 1);
    work_scene.store = store_memory_new(clock_system());
    const struct runtime_options options = {.store = work_scene.store};
    assert_ok(runtime_new(&options, &work_scene.runtime, &scene_err));
    return 0;
}

static int work_down(void **state)
{
    work_spec_fini(&work_scene.work);
    loop_spec_fini(&work_scene.spec);
    runtime_free(work_scene.runtime);
    store_close(work_scene.store);
    return scene_tear_down(state);
}

#define WORK_TEST(name) TEST_WITH(name, work_up, work_down)

static void make_spec(void)
{
    struct loop_spec *spec = &work_scene.spec;
    struct buf json = {0};
    work_spec_encode(&work_scene.work, &json);
    *spec = loop_spec_default();
    spec->agent_id = memory_dup_string("prd-scene");
    spec->kind = memory_dup_string(WORK_KIND);
    spec->workspace = memory_dup_string(scene_path("repo"));
    spec->prompt = memory_dup_string("scene");
    spec->max_iterations = 50;
    spec->max_failures = LIMIT_MAX_ITERATIONS;
    spec->work = buf_steal(&json);
}

static bool take_summary(const struct store_event *event, void *context)
{
    (void)context;
    if (strcmp(event->type, "run.finished") == 0) {
        snprintf(work_scene.summary, sizeof(work_scene.summary), "%s", event->data);
    }
    return true;
}

/** Execute until the run has ended. */
static void work_execute(struct loop *loop)
{
    struct worker_children *children = NULL;
    const struct worker_options options = {.folder = scene_folder};
    struct store *store = work_scene.store;
    int turn = LOOP_BODY;
    assert_ok(worker_children_new(loop, &options, &bodies_of_test, &children, &scene_err));
    while ((turn = loop_next(loop, &scene_err)) == LOOP_BODY) {
        assert_ok(worker_children_run(children, &scene_err));
    }
    worker_children_free(children);
    if (turn != LOOP_ENDED) {
        fail_msg("the run gives %d: %s", turn, scene_err.message);
    }
    work_scene.status = loop_state(loop)->status;
    loop_free(loop);
    store->ops->read_events(store, work_scene.run_id, 0, 0, take_summary, NULL, NULL);
}

/** Carry out the PRD. @param tasks of the file @param check command of the one check, or NULL */
static void work_play(const char *tasks, const char *check, int64_t jobs,
                      enum run_finish (*work_on)(const struct work_turn *turn))
{
    const struct loop_parts parts = {.runtime = work_scene.runtime};
    struct loop_opening opening;
    struct loop *loop = NULL;
    write_prd(tasks);
    if (work_scene.work.name == NULL) {
        make_work(check);
    }
    work_scene.work.jobs = jobs;
    work_scene.work_on = work_on;
    make_spec();
    assert_ok(loop_start(&parts, &work_scene.spec, &loop, &opening, &scene_err));
    snprintf(work_scene.run_id, sizeof(work_scene.run_id), "%s", loop_run_id(loop));
    work_execute(loop);
}

/** Continue the run that has ended. */
__attribute__((unused)) static void work_resume(void)
{
    const struct loop_parts parts = {.runtime = work_scene.runtime};
    struct loop_opening opening;
    struct loop *loop = NULL;
    assert_ok(loop_resume(&parts, work_scene.run_id, NULL, NULL, -1, &loop, &opening, &scene_err));
    work_execute(loop);
}

struct counted_events {
    const char *type, *first, *second;
    unsigned count;
};

static bool count_event(const struct store_event *event, void *context)
{
    struct counted_events *counted = context;
    counted->count += strcmp(event->type, counted->type) == 0 &&
                              (counted->first == NULL || strstr(event->data, counted->first)) &&
                              (counted->second == NULL || strstr(event->data, counted->second))
                          ? 1
                          : 0;
    return true;
}

/** Events of a type with both texts. */
static unsigned work_events(const char *type, const char *first, const char *second)
{
    struct counted_events counted = {.type = type, .first = first, .second = second};
    struct store *store = work_scene.store;
    store->ops->read_events(store, work_scene.run_id, 0, 0, count_event, &counted, NULL);
    return counted.count;
}

/** Attempts at a task that ended so. */
__attribute__((unused)) static unsigned work_ended(const char *task, const char *outcome)
{
    char first[200];
    char second[64];
    snprintf(first, sizeof(first), "\"task\":\"%s\"", task);
    snprintf(second, sizeof(second), "\"outcome\":\"%s\"", outcome);
    return work_events("task.ended", first, second);
}

/** Nothing of any attempt may be left. */
__attribute__((unused)) static void work_check_clean(void)
{
    shell("cd repo && test \"$(git worktree list | wc -l)\" = 1 && "
          "test -z \"$(ls .git/worktrees 2>/dev/null)\" && "
          "test -z \"$(find ../cache/rondo/work -mindepth 1)\" && "
          "test -z \"$(git status --porcelain --untracked-files=no | grep -v prd.json)\"");
}
