// SPDX-License-Identifier: Apache-2.0
/* Role agents for the figures. No state; an agent belongs to one thread, the engine to all. */
#include "engine.h"

#include "../measure.h"

#include "net/client/http.h"
#include "role/role.h"
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

void engine_open(struct engine *engine, const char *store, const char *workspace)
{
    struct rondo_error err = {0};
    struct store_sqlite_options sqlite = {.path = store, .may_create = true};
    *engine = (struct engine){.workspace = workspace};
    setenv("OPENAI_API_KEY", "bench", 1);
    if (store_sqlite_open(&sqlite, &engine->store, &err) < 0 ||
        runtime_new(&(struct runtime_options){.store = engine->store}, &engine->runtime, &err) <
            0 ||
        http_client_new(NULL, &engine->http, &err) < 0) {
        bench_die("engine: %s", err.message);
    }
}

void engine_close(struct engine *engine)
{
    http_client_free(engine->http);
    runtime_free(engine->runtime);
    store_close(engine->store);
}

void engine_role(const char *base_url, const char *workspace, char *ret_yaml, size_t size)
{
    int len = snprintf(ret_yaml, size,
                       "apiVersion: initrunner/v1\n"
                       "kind: Agent\n"
                       "metadata:\n"
                       "  name: bench\n"
                       "  description: Writes a note in each iteration.\n"
                       "spec:\n"
                       "  role: |\n"
                       "    You keep a notebook. Write what you have learned into note.txt, then\n"
                       "    say in one sentence what comes next.\n"
                       "  model:\n"
                       "    provider: openai\n"
                       "    name: mock-model\n"
                       "    base_url: %s\n"
                       "  tools:\n"
                       "    - type: filesystem\n"
                       "      root_path: %s\n"
                       "      read_only: false\n"
                       "  guardrails:\n"
                       "    max_iterations: 1000000\n",
                       base_url, workspace);
    if (len < 0 || (size_t)len >= size) {
        bench_die("the role is too long");
    }
}

/** The options of a run. */
static void make_spec(const struct engine *engine, const char *base_url, struct loop_spec *ret_spec)
{
    char yaml[2048];
    char path[4096];
    struct rondo_error err = {0};
    struct role_findings findings = {0};
    struct role *role = NULL;
    auto_buf struct buf system = {0};
    engine_role(base_url, engine->workspace, yaml, sizeof(yaml));
    snprintf(path, sizeof(path), "%s/bench.yaml", engine->workspace);
    if (role_parse(yaml, strlen(yaml), path, ROLE_SCHEMA_1_13, &findings, &role, &err) < 0 ||
        role == NULL) {
        bench_die("role: %s", findings.count > 0 ? findings.items[0].message : err.message);
    }
    if (role_resolve_skills(role, NULL, &findings, &system, &err) < 0) {
        bench_die("role: %s", err.message);
    }
    struct agent_options options = {
        .mode = AGENT_AUTONOMOUS,
        .prompt = "Fill the notebook.",
        .workspace = engine->workspace,
        .system = buf_string(&system),
    };
    if (agent_spec(role, &options, ret_spec, &err) < 0) {
        bench_die("agent_spec: %s", err.message);
    }
    role_free(role);
    role_findings_fini(&findings);
}

void engine_open_agent(struct engine *engine, const char *base_url, struct engine_agent *ret_agent)
{
    struct rondo_error err = {0};
    struct agent_parts agent_parts = {.http = engine->http};
    *ret_agent = (struct engine_agent){0};
    make_spec(engine, base_url, &ret_agent->spec);
    if (agent_open(engine->runtime, &ret_agent->spec, &agent_parts, &ret_agent->agent, &err) < 0) {
        bench_die("agent: %s", err.message);
    }
}

void engine_start(struct engine *engine, struct engine_agent *agent)
{
    struct rondo_error err = {0};
    struct loop_opening opening;
    struct loop_parts parts = {.runtime = engine->runtime};
    if (loop_start(&parts, &agent->spec, &agent->loop, &opening, &err) < 0 ||
        agent_attach(agent->agent, agent->loop, &err) < 0) {
        bench_die("agent: %s", err.message);
    }
    loop_spec_fini(&agent->spec);
}

size_t engine_turns(struct engine_agent *agent, size_t most)
{
    struct rondo_error err = {0};
    for (size_t i = 0; i < most; i++) {
        int turn = loop_next(agent->loop, &err);
        if (turn == LOOP_ENDED) {
            return i;
        }
        if (turn < 0 || agent_run(agent->agent, NULL, &err) < 0) {
            bench_die("iteration %zu: %s", i + 1, err.message);
        }
    }
    return most;
}

void engine_end(struct engine_agent *agent)
{
    struct rondo_error err = {0};
    agent_free(agent->agent);
    bool is_running = loop_state(agent->loop)->status == RONDO_RUNNING;
    if (is_running && loop_park(agent->loop, &err) < 0) {
        bench_die("loop_park: %s", err.message);
    }
    loop_free(agent->loop);
}
