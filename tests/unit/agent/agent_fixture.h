// SPDX-License-Identifier: Apache-2.0
/*
 * The world of policy_world.h with a role agent in it: a scripted model whose requests are looked
 * at, tools that count what is done with them, a person who answers as told, and a store that dies
 * at a commit. Nothing here takes time but calls that wait for each other.
 */
#pragma once

#include "../loop/policy_world.h"

#include "agent/internal.h"
#include "base/digest.h"
#include "model/dialect.h"
#include "role/role.h"
#include "tool/canonical.h"

#include <pthread.h>

/* ---- Turns of scripts ----------------------------------------------------------------------- */

#define SAY(text)        "{\"text\":\"" text "\"}\n"
#define ONE(name, input) "{\"name\":\"" name "\",\"arguments\":" input "}"
#define CALLS(calls)     "{\"tool_calls\":[" calls "]}\n"
#define CALL(name, text) CALLS(ONE(name, "{\"text\":\"" text "\"}"))
#define DONE(status)     ONE("finish_task", "{\"summary\":\"that is all\",\"status\":\"" status "\"}")
#define FINISH(status)   CALLS(DONE(status))
#define USE(in, out)     "\"usage\":{\"input\":" #in ",\"output\":" #out "}"
#define SAY_FOR(in, out) "{\"text\":\"words\"," USE(in, out) "}\n"
#define CALL_FOR(in, out) \
    "{\"tool_calls\":[" ONE("look", "{\"text\":\"x\"}") "]," USE(in, out) "}\n"
#define FINISH_FOR(in, out) "{\"tool_calls\":[" DONE("completed") "]," USE(in, out) "}\n"

/** Calls that the tools of a scene remember, and requests of its model. */
#define SCENE_MAX_CALLS 4096

struct agent_scene;

/** One execution of a test tool. */
struct scene_call {
    char tool[16];
    char key[ID_SIZE + 48];
    char text[64];
};

struct agent_scene {
    struct policy_world *world;
    struct loop_fixture *fixture;

    /* the store */
    uint64_t commits;       /* so far */
    uint64_t crash_at;      /* number of the commit at which this process dies; 0 = none */
    enum store_fault fault; /* what becomes of that commit */
    bool counts_documents;  /* changes of documents are counted as commits are */
    bool is_dead;
    uint64_t events_read; /* since it was set to 0 */
    bool is_newest_damaged;

    /* the model */
    struct model_ops ops;
    unsigned asks;
    void (*on_ask)(struct agent_scene *scene, const struct model_request *request);

    /* the tools; `lock` guards what they write */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct scene_call *calls;
    size_t call_count;
    int running;
    int most_running;
    int awaited; /* calls of `meet` wait until so many run at once */
    void (*on_tool)(struct agent_scene *scene, const struct tool *tool,
                    const struct tool_call *call);

    /* the person */
    enum agent_consent consent;
    unsigned questions;
    char why[512];
    char question[256]; /* tool and arguments */
    bool is_once;
    bool is_in_doubt;

    void (*on_spec)(struct agent_scene *scene, struct loop_spec *spec); /* before the run */
    struct agent_parts parts;
    struct agent *agent;
    struct loop *loop;
    struct loop_opening opening;
    void *mine; /* of the test */
};

/** The scene of the test that runs: what callbacks without a context of their own look at. */
static struct agent_scene *scene_now;

/* ---- The store ------------------------------------------------------------------------------ */

static inline enum store_fault scene_decide(void *context, const char *operation, uint64_t call,
                                            int *ret_code)
{
    struct agent_scene *scene = context;
    if (scene->is_dead) {
        return STORE_FAULT_BEFORE;
    }
    bool is_counted = strcmp(operation, "commit") == 0 ||
                      (scene->counts_documents && strcmp(operation, "change_documents") == 0);
    if (is_counted && ++scene->commits == scene->crash_at) {
        scene->is_dead = true;
        return scene->fault;
    }
    return fixture_decide(scene->fixture, operation, call, ret_code);
}

struct scene_reading {
    store_event_fn *on_event;
    store_checkpoint_fn *on_checkpoint;
    void *context;
    bool is_newest;
};

static inline bool scene_count_event(const struct store_event *event, void *context)
{
    const struct scene_reading *reading = context;
    scene_now->events_read++;
    return reading->on_event(event, reading->context);
}

static inline int scene_read_events(struct store *store, const char *run_id, uint64_t after,
                                    uint32_t limit, store_event_fn *fn, void *context,
                                    struct rondo_error *err)
{
    (void)store;
    struct store *memory = scene_now->fixture->memory;
    struct scene_reading reading = {.on_event = fn, .context = context};
    return memory->ops->read_events(memory, run_id, after, limit, scene_count_event, &reading, err);
}

static inline bool scene_newest(const struct store_checkpoint *checkpoint, void *context)
{
    *(uint64_t *)context = checkpoint->number;
    return false;
}

static inline uint64_t scene_newest_checkpoint(struct agent_scene *scene)
{
    uint64_t number = 0;
    struct store *memory = scene->fixture->memory;
    memory->ops->list_checkpoints(memory, scene->world->run_id, scene_newest, &number, NULL);
    return number;
}

static inline bool scene_damage(const struct store_checkpoint *checkpoint, void *context)
{
    const struct scene_reading *reading = context;
    struct store_checkpoint damaged = *checkpoint;
    damaged.sha256[0] ^= reading->is_newest;
    return reading->on_checkpoint(&damaged, reading->context);
}

static inline int scene_get_checkpoint(struct store *store, const char *run_id, uint64_t number,
                                       store_checkpoint_fn *fn, void *context,
                                       struct rondo_error *err)
{
    (void)store;
    struct store *memory = scene_now->fixture->memory;
    struct scene_reading reading = {.on_checkpoint = fn, .context = context};
    reading.is_newest =
        scene_now->is_newest_damaged && number == scene_newest_checkpoint(scene_now);
    return memory->ops->get_checkpoint(memory, run_id, number, scene_damage, &reading, err);
}

/* ---- The model ------------------------------------------------------------------------------ */

static inline int scene_ask(struct model *model, const struct model_request *request,
                            struct model_reply *ret_reply, struct rondo_error *err)
{
    scene_now->asks++;
    if (scene_now->on_ask != NULL) {
        scene_now->on_ask(scene_now, request);
    }
    return scripted_ops.ask(model, request, ret_reply, err);
}

/* ---- The tools ------------------------------------------------------------------------------ */

static inline void scene_run_tool(const struct tool *tool, const struct tool_call *call,
                                  struct tool_result *ret_result)
{
    struct agent_scene *scene = tool->context;
    const char *text = json_get_string(call->arguments, "text", "");
    pthread_mutex_lock(&scene->lock);
    assert_true(scene->call_count < SCENE_MAX_CALLS);
    struct scene_call *made = &scene->calls[scene->call_count++];
    snprintf(made->tool, sizeof(made->tool), "%s", tool->name);
    snprintf(made->key, sizeof(made->key), "%s", call->idempotency_key);
    snprintf(made->text, sizeof(made->text), "%s", text);
    pthread_mutex_unlock(&scene->lock);
    if (scene->on_tool != NULL) {
        scene->on_tool(scene, tool, call);
    }
    if (strcmp(text, "break") == 0) {
        tool_fail(ret_result, "Error: it broke");
        return;
    }
    buf_printf(&ret_result->text, "%s did %s", tool->name, text);
}

/** Wait until `awaited` calls run at once, or nobody comes any more. */
static inline void scene_run_meet(const struct tool *tool, const struct tool_call *call,
                                  struct tool_result *ret_result)
{
    struct agent_scene *scene = tool->context;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&scene->lock);
    scene->running++;
    scene->most_running =
        scene->running > scene->most_running ? scene->running : scene->most_running;
    pthread_cond_broadcast(&scene->changed);
    while (scene->most_running < scene->awaited &&
           pthread_cond_timedwait(&scene->changed, &scene->lock, &until) == 0) {
    }
    scene->running--;
    pthread_mutex_unlock(&scene->lock);
    scene_run_tool(tool, call, ret_result);
}

static inline void scene_add_tool(struct agent_scene *scene, const char *name, struct tool tool)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
                                 "\"string\"}},\"required\":[\"text\"]}";
    tool.name = memory_dup_string(name);
    tool.description = memory_dup_string("a tool of a test");
    tool.schema = memory_dup_string(schema);
    tool.type = "test";
    tool.run = tool.run == NULL ? scene_run_tool : tool.run;
    tool.context = scene;
    assert_int_equal(toolbox_add(scene->agent->toolbox, &tool, NULL), 0);
}

/** look: pure. put: repeatable. send, post: must happen once. meet: side by side. careful:
 * confirmed. */
static inline void scene_add_tools(struct agent_scene *scene)
{
    scene_add_tool(scene, "look", (struct tool){.is_pure = true, .is_read_only = true});
    scene_add_tool(scene, "put", (struct tool){.is_idempotent = true});
    scene_add_tool(scene, "send", (struct tool){0});
    scene_add_tool(scene, "meet",
                   (struct tool){.is_idempotent = true,
                                 .is_read_only = true,
                                 .is_concurrent = true,
                                 .run = scene_run_meet});
    scene_add_tool(scene, "post", (struct tool){.is_concurrent = true, .run = scene_run_meet});
    static const struct tool_argument path[] = {{"text", ARGUMENT_PATH}, {0}};
    scene_add_tool(scene, "careful", (struct tool){.needs_confirmation = true, .arguments = path});
    agent_offer_tools(scene->agent);
}

/** Executions of a tool with this text (NULL = any). */
static inline unsigned scene_executions(const struct agent_scene *scene, const char *tool,
                                        const char *text)
{
    unsigned count = 0;
    for (size_t i = 0; i < scene->call_count; i++) {
        count += strcmp(scene->calls[i].tool, tool) == 0 &&
                 (text == NULL || strcmp(scene->calls[i].text, text) == 0);
    }
    return count;
}

/* ---- The person ----------------------------------------------------------------------------- */

static inline enum agent_consent scene_answer(void *context, const struct agent_question *question)
{
    struct agent_scene *scene = context;
    scene->questions++;
    scene->is_once = question->is_once;
    scene->is_in_doubt = question->is_in_doubt;
    snprintf(scene->why, sizeof(scene->why), "%s", question->why);
    snprintf(scene->question, sizeof(scene->question), "%s %s", question->tool,
             question->arguments);
    return scene->consent;
}

/** Somebody is there, and answers each question so. */
static inline void scene_person(struct agent_scene *scene, enum agent_consent consent)
{
    scene->consent = consent;
    scene->parts.ask_person = scene_answer;
    scene->parts.ask_context = scene;
}

/* ---- Up and down ---------------------------------------------------------------------------- */

static inline void scene_stack_store(struct agent_scene *scene)
{
    static struct store_ops ops;
    struct loop_fixture *fixture = scene->fixture;
    struct store_fault_plan plan = {.decide = scene_decide, .context = scene};
    runtime_free(fixture->runtime);
    runtime_free(fixture->other);
    store_close(fixture->store);
    fixture->store = store_fault_new(fixture->memory, &plan);
    ops = *fixture->store->ops;
    ops.read_events = scene_read_events;
    ops.get_checkpoint = scene_get_checkpoint;
    fixture->store->ops = &ops;
    fixture->runtime = fixture_runtime(fixture);
    fixture->other = fixture_runtime(fixture);
}

static inline int scene_up(void **state)
{
    struct agent_scene *scene = memory_new_zero(1, sizeof(*scene));
    void *world = NULL;
    world_up(&world);
    scene->world = world;
    scene->fixture = scene->world->fixture;
    scene->calls = memory_new_zero(SCENE_MAX_CALLS, sizeof(*scene->calls));
    scene->ops = scripted_ops;
    scene->ops.ask = scene_ask;
    pthread_mutex_init(&scene->lock, NULL);
    pthread_cond_init(&scene->changed, NULL);
    scene_now = scene;
    scene_stack_store(scene);
    *state = scene;
    return 0;
}

/** Release the agent and its loop, as a process does that leaves its run to others. */
static inline void scene_leave(struct agent_scene *scene)
{
    agent_free(scene->agent);
    scene->agent = NULL;
    loop_free(scene->loop);
    scene->loop = NULL;
}

static inline int scene_down(void **state)
{
    struct agent_scene *scene = *state;
    scene_leave(scene);
    void *world = scene->world;
    world_down(&world);
    pthread_mutex_destroy(&scene->lock);
    pthread_cond_destroy(&scene->changed);
    free(scene->calls);
    free(scene);
    return 0;
}

#define SCENE_TEST(function) TEST_WITH(function, scene_up, scene_down)

/* ---- Runs ----------------------------------------------------------------------------------- */

static inline void scene_script(struct agent_scene *scene, const char *turns)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/turns.jsonl", scene->world->folder);
    assert_int_equal(file_replace_durably(path, turns, strlen(turns), NULL), 0);
}

/** A role with more lines under `spec`. */
static inline struct role *scene_role(const struct agent_scene *scene, const char *lines)
{
    auto_buf struct buf yaml = {0};
    char path[128];
    struct role_findings findings = {0};
    struct rondo_error err = {0};
    struct role *role = NULL;
    buf_append_string(&yaml, "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: tester\n"
                             "spec:\n  role: You test.\n"
                             "  model: {provider: scripted, name: turns.jsonl}\n");
    buf_append_string(&yaml, lines);
    snprintf(path, sizeof(path), "%s/role.yaml", scene->world->folder);
    int r = role_parse(yaml.data, yaml.len, path, ROLE_SCHEMA_1_0, &findings, &role, &err);
    if (r < 0 || role == NULL) {
        fail_msg("%s %s", err.message, findings.count == 0 ? "" : findings.items[0].message);
    }
    role_findings_fini(&findings);
    return role;
}

/** Open an agent for the spec, with the tools of the tests. */
static inline void scene_open(struct agent_scene *scene, const struct loop_spec *spec)
{
    struct rondo_error err = {0};
    if (agent_open(scene->fixture->runtime, spec, &scene->parts, &scene->agent, &err) < 0) {
        fail_msg("%s", err.message);
    }
    scene_add_tools(scene);
    scene->agent->model->ops = &scene->ops;
}

static inline void scene_attach(struct agent_scene *scene)
{
    struct rondo_error err = {0};
    if (agent_attach(scene->agent, scene->loop, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static inline void scene_start_as(struct agent_scene *scene, const char *lines,
                                  const struct agent_options *options)
{
    struct loop_spec spec;
    struct rondo_error err = {0};
    struct role *role = scene_role(scene, lines);
    if (agent_spec(role, options, &spec, &err) < 0) {
        fail_msg("%s", err.message);
    }
    role_free(role);
    /* A file in the workspace would have to be confirmed after each change. */
    free(spec.policy);
    spec.policy = strstr(lines, "policy:") == NULL ? NULL : memory_dup_string(scene->world->path);
    if (scene->on_spec != NULL) {
        scene->on_spec(scene, &spec);
    }
    scene_open(scene, &spec);
    scene->loop = start(scene->world, spec);
    scene_attach(scene);
}

/** Start an autonomous run of a role with these lines. */
static inline void scene_start(struct agent_scene *scene, const char *lines, const char *turns)
{
    struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = "You test."};
    scene_script(scene, turns);
    scene_start_as(scene, lines, &options);
}

/** Resume the run with a new agent. @param change of its options, or NULL */
static inline void scene_resume_with(struct agent_scene *scene, loop_change_fn *change)
{
    struct loop_spec spec;
    struct rondo_error err = {0};
    struct loop_parts parts = fixture_parts(scene->fixture);
    const char *run_id = scene->world->run_id;
    assert_int_equal(loop_recorded_spec(scene->fixture->store, run_id, &spec, &err), 0);
    scene_open(scene, &spec);
    loop_spec_fini(&spec);
    int r = loop_resume(&parts, run_id, change, NULL, -1, &scene->loop, &scene->opening, &err);
    if (r < 0 || scene->opening.is_held) {
        fail_msg("cannot resume: %d %s", r, err.message);
    }
    scene->events_read = 0;
    scene_attach(scene);
}

static inline void scene_resume(struct agent_scene *scene)
{
    scene_resume_with(scene, NULL);
}

/** The process is gone; another one takes the run over. */
static inline void scene_crash(struct agent_scene *scene)
{
    agent_free(scene->agent);
    scene->agent = NULL;
    struct loop *loop = scene->loop;
    scene->loop = NULL;
    fixture_crash(scene->fixture, loop);
    scene->is_dead = false;
    scene->crash_at = 0;
}

static inline void scene_restart(struct agent_scene *scene)
{
    scene_crash(scene);
    scene_resume(scene);
}

/** Run one body. @return LOOP_BODY, LOOP_ENDED or a negative code */
static inline int scene_step(struct agent_scene *scene, struct rondo_error *err)
{
    int r = loop_next(scene->loop, err);
    if (r == LOOP_BODY) {
        int body = agent_run(scene->agent, NULL, err);
        return body < 0 ? body : LOOP_BODY;
    }
    return r;
}

/** Run to the end. @return LOOP_ENDED or a negative code */
static inline int scene_run(struct agent_scene *scene, struct rondo_error *err)
{
    int r = LOOP_BODY;
    while (r == LOOP_BODY) {
        r = scene_step(scene, err);
    }
    return r;
}

/** Run to the end, which must have this status. */
static inline void scene_expect(struct agent_scene *scene, enum rondo_status status)
{
    struct rondo_error err = {0};
    int r = scene_run(scene, &err);
    if (r != LOOP_ENDED) {
        fail_msg("the run gives %d %s", r, err.message);
    }
    if (loop_state(scene->loop)->status != status) {
        struct json_object *end = last_event(scene->world, "run.finished");
        fail_msg("status %s: %s", rondo_status_name(loop_state(scene->loop)->status),
                 json_get_string(end, "message", ""));
    }
}

/** Start, and run to the end. */
static inline void scene_play(struct agent_scene *scene, const char *lines, const char *turns,
                              enum rondo_status status)
{
    scene_start(scene, lines, turns);
    scene_expect(scene, status);
}

/* ---- The journal ---------------------------------------------------------------------------- */

static inline unsigned scene_events(const struct agent_scene *scene, const char *type,
                                    const char *text)
{
    return events(scene->world, type, text);
}

/** A member of the last event of a type must be this text. */
static inline void scene_last(const struct agent_scene *scene, const char *type, const char *name,
                              const char *expected)
{
    struct json_object *data = last_event(scene->world, type);
    expect_text(data, name, expected);
    json_object_put(data);
}

/** A member of the last event of a type must hold this text. */
static inline void scene_last_has(const struct agent_scene *scene, const char *type,
                                  const char *name, const char *part)
{
    struct json_object *data = last_event(scene->world, type);
    const char *text = json_get_string(data, name, "(absent)");
    if (strstr(text, part) == NULL) {
        fail_msg("%s of %s is '%s', which lacks '%s'", name, type, text, part);
    }
    json_object_put(data);
}

/** The run's end must be explained with this text. */
static inline void scene_ended_with(const struct agent_scene *scene, const char *message)
{
    scene_last_has(scene, "run.finished", "message", message);
}
