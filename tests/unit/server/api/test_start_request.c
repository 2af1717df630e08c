// SPDX-License-Identifier: Apache-2.0
/* Start requests: what they become, and what is said of wrong ones. */
#include "agent/spec/options.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "server/api/start_request.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct start_world {
    char folder[64];
    struct loop_spec spec;
    struct buf findings;
    struct rondo_error err;
    int result;
};

static int up(void **state)
{
    struct start_world *world = memory_new_zero(1, sizeof(*world));
    snprintf(world->folder, sizeof(world->folder), "/tmp/rondo-start-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    *state = world;
    return 0;
}

static void forget(struct start_world *world)
{
    loop_spec_fini(&world->spec);
    buf_fini(&world->findings);
    world->err = (struct rondo_error){0};
}

static int down(void **state)
{
    struct start_world *world = *state;
    forget(world);
    file_remove_tree(world->folder, NULL);
    free(world);
    return 0;
}

#define WORLD_TEST(function) TEST_WITH(function, up, down)

/** Read a request; quotes are written ' in it. */
static int read_request(struct start_world *world, const char *text)
{
    forget(world);
    char *json = memory_dup_string(text);
    for (char *at = json; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    auto_json struct json_object *request = NULL;
    assert_int_equal(json_parse(json, strlen(json), &request, NULL), 0);
    free(json);
    struct start_options options = {.workspace = world->folder};
    world->result =
        start_request_read(request, &options, &world->spec, &world->findings, &world->err);
    return world->result;
}

static void assert_wrong(struct start_world *world, const char *request, const char *path)
{
    if (read_request(world, request) == 0) {
        fail_msg("%s was taken", request);
    }
    if (strncmp(world->err.message, path, strlen(path)) != 0 ||
        strncmp(world->err.message + strlen(path), ": ", 2) != 0) {
        fail_msg("%s: '%s' does not begin with '%s'", request, world->err.message, path);
    }
}

static void assert_right(struct start_world *world, const char *request)
{
    if (read_request(world, request) < 0) {
        fail_msg("%s: %s", request, world->err.message);
    }
}

static void write_file(const struct start_world *world, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", world->folder, name);
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

/* ---- Commands ------------------------------------------------------------------------------- */

WORLD_TEST(a_command_alone_has_the_defaults_of_the_command_line)
{
    struct start_world *world = *state;
    assert_right(world, "{'command':['/usr/bin/make it','-k'],'max_cost':null}");
    struct loop_spec usual = loop_spec_default();
    assert_string_equal(world->spec.agent_id, "make_it");
    assert_string_equal(world->spec.kind, "command");
    assert_string_equal(world->spec.workspace, world->folder);
    assert_string_equal(world->spec.command[1], "-k");
    assert_null(world->spec.command[2]);
    assert_int_equal(world->spec.verifier_tier, usual.verifier_tier);
    assert_int_equal(world->spec.worker_tier, SANDBOX_NONE);
    assert_int_equal(world->spec.max_failures, usual.max_failures);
    assert_int_equal(world->spec.checkpoint_interval, 1);
}

WORLD_TEST(every_member_of_a_command_counts)
{
    struct start_world *world = *state;
    write_file(world, "p.cedar", "permit (principal, action, resource);");
    assert_right(world, "{'command':['x'],'agent_id':'b','prompt':'p','iteration_timeout_ns':1,"
                        "'first_output_ns':2,'silence_ns':3,'sandbox':'none','read':['/tmp'],"
                        "'write':['/'],'env':['A','B'],'conditions':[{'name':'c','command':'true',"
                        "'timeout_ns':7}],'max_iterations':4,'max_tokens':5,'max_cost':0.25,"
                        "'time_limit_ns':6,'delay_ns':0,'checkpoint_interval':8,'max_failures':9,"
                        "'durability':'best_effort','exclusive':true,'allow_network':true,"
                        "'policy':'p.cedar','pool':'gpu,linux'}");
    const struct loop_spec *spec = &world->spec;
    assert_string_equal(spec->agent_id, "b");
    assert_string_equal(spec->prompt, "p");
    assert_int_equal(spec->iteration_timeout_ns, 1);
    assert_int_equal(spec->first_output_ns, 2);
    assert_int_equal(spec->silence_ns, 3);
    assert_int_equal(spec->verifier_tier, SANDBOX_NONE);
    assert_string_equal(spec->read_paths[0], "/tmp");
    assert_string_equal(spec->write_paths[0], "/");
    assert_string_equal(spec->env_names[1], "B");
    assert_string_equal(spec->conditions[0].command, "true");
    assert_string_equal(spec->conditions[0].origin, "given");
    assert_int_equal(spec->conditions[0].timeout_ns, 7);
    assert_int_equal(spec->max_iterations, 4);
    assert_int_equal(spec->max_tokens, 5);
    assert_int_equal(spec->max_cost_micro, 250000);
    assert_string_equal(spec->pool, "gpu,linux");
    assert_int_equal(spec->time_limit_ns, 6);
    assert_int_equal(spec->checkpoint_interval, 8);
    assert_int_equal(spec->max_failures, 9);
    assert_int_equal(spec->durability, DURABILITY_BEST_EFFORT);
    assert_int_equal(spec->is_exclusive, 1);
    assert_int_equal(spec->allow_network, 1);
    assert_string_equal(strrchr(spec->policy, '/'), "/p.cedar");
}

WORLD_TEST(standard_conditions_are_found_from_the_project)
{
    struct start_world *world = *state;
    write_file(world, "Makefile", "test:\n\ttrue\n");
    assert_right(world, "{'command':['x'],'sandbox':'none','conditions':[{'name':"
                        "'all_tests_pass'}]}");
    assert_string_equal(world->spec.conditions[0].command, "make test");
    assert_wrong(world, "{'command':['x'],'sandbox':'none','conditions':[{'name':'mine'}]}",
                 "conditions[0]");
}

WORLD_TEST(the_sandbox_of_conditions_may_be_another)
{
    struct start_world *world = *state;
    assert_right(world, "{'command':['x'],'verifier_sandbox':'none'}");
    assert_int_equal(world->spec.verifier_tier, SANDBOX_NONE);
}

WORLD_TEST(wrong_members_are_named)
{
    struct start_world *world = *state;
    static const struct {
        const char *request;
        const char *path;
    } cases[] = {
        {"{}", "command"},
        {"{'command':['x'],'role':'y'}", "command"},
        {"{'command':null}", "command"},
        {"{'command':[]}", "command"},
        {"{'command':['']}", "command"},
        {"{'command':'x'}", "command"},
        {"{'command':['x',1]}", "command[1]"},
        {"{'command':['a\\u0000b']}", "command[0]"},
        {"{'command':['x'],'colour':1}", "colour"},
        {"{'command':['x'],'model':'a:b'}", "model"},
        {"{'command':['x'],'agent_id':''}", "agent_id"},
        {"{'command':['x'],'prompt':5}", "prompt"},
        {"{'command':['x'],'prompt':'a\\u0000b'}", "prompt"},
        {"{'command':['x'],'max_iterations':0}", "max_iterations"},
        {"{'command':['x'],'max_iterations':1.5}", "max_iterations"},
        {"{'command':['x'],'max_iterations':1000000001}", "max_iterations"},
        {"{'command':['x'],'max_iterations':'1'}", "max_iterations"},
        {"{'command':['x'],'max_tokens':99999999999999999999}", "max_tokens"},
        {"{'command':['x'],'pool':'gpu;linux'}", "pool"},
        {"{'command':['x'],'pool':'GPU'}", "pool"},
        {"{'command':['x'],'pool':'a,b,c,d,e,f,g,h,i'}", "pool"},
        {"{'command':['x'],'max_cost':0}", "max_cost"},
        {"{'command':['x'],'max_cost':-1}", "max_cost"},
        {"{'command':['x'],'max_cost':1e300}", "max_cost"},
        {"{'command':['x'],'max_cost':'1'}", "max_cost"},
        {"{'command':['x'],'time_limit_ns':-1}", "time_limit_ns"},
        {"{'command':['x'],'delay_ns':-1}", "delay_ns"},
        {"{'command':['x'],'exclusive':1}", "exclusive"},
        {"{'command':['x'],'durability':'loose'}", "durability"},
        {"{'command':['x'],'sandbox':'strong'}", "sandbox"},
        {"{'command':['x'],'workspace':'/no/such/folder'}", "workspace"},
        {"{'command':['x'],'workspace':'/dev/null'}", "workspace"},
        {"{'command':['x'],'policy':'/no/such/file'}", "policy"},
        {"{'command':['x'],'read':['/no/such/file']}", "read[0]"},
        {"{'command':['x'],'conditions':{}}", "conditions"},
        {"{'command':['x'],'conditions':[1]}", "conditions[0]"},
        {"{'command':['x'],'conditions':[{}]}", "conditions[0].name"},
        {"{'command':['x'],'conditions':[{'name':'a','command':'b','x':1}]}", "conditions[0].x"},
        {"{'command':['x'],'conditions':[{'name':'a','command':''}]}", "conditions[0].command"},
        {"{'command':['x'],'conditions':[{'name':'a','command':'b','timeout_ns':0}]}",
         "conditions[0].timeout_ns"},
        {"{'command':['x'],'conditions':[{'name':'a','command':'b'},{'name':'a','command':'b'}]}",
         "conditions[1]"},
        {"{'command':['x'],'conditions':[{'name':'a b','command':'b'}]}", "conditions[0]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_wrong(world, cases[i].request, cases[i].path);
    }
    assert_true(read_request(world, "[]") < 0);
}

/** "command" with so many words. */
static int read_words(struct start_world *world, size_t count)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text, "{'command':['x'");
    for (size_t i = 1; i < count; i++) {
        buf_append_string(&text, ",'y'");
    }
    buf_append_string(&text, "]}");
    return read_request(world, buf_string(&text));
}

WORLD_TEST(limits_hold_at_their_edges)
{
    struct start_world *world = *state;
    assert_int_equal(read_words(world, LIMIT_ARGUMENTS), 0);
    assert_int_equal(read_words(world, LIMIT_ARGUMENTS + 1), RONDO_ERR_LIMIT);
    for (size_t over = 0; over <= 1; over++) {
        auto_buf struct buf text = {0};
        buf_append_string(&text, "{'command':['x'],'prompt':'");
        for (size_t i = 0; i < LIMIT_PROMPT_BYTES + over; i++) {
            buf_append_string(&text, "p");
        }
        buf_append_string(&text, "'}");
        assert_int_equal(read_request(world, buf_string(&text)), over == 0 ? 0 : RONDO_ERR_LIMIT);
    }
    for (size_t over = 0; over <= 1; over++) {
        auto_buf struct buf text = {0};
        buf_append_string(&text, "{'command':['x'],'sandbox':'none','conditions':[");
        for (size_t i = 0; i < LIMIT_CONDITIONS + over; i++) {
            buf_printf(&text, "%s{'name':'c%zu','command':'true'}", i == 0 ? "" : ",", i);
        }
        buf_append_string(&text, "]}");
        assert_int_equal(read_request(world, buf_string(&text)), over == 0 ? 0 : RONDO_ERR_LIMIT);
    }
}

/* ---- Roles ---------------------------------------------------------------------------------- */

#define ROLE                                                                                      \
    "apiVersion: initrunner/v1\\nkind: Agent\\nmetadata:\\n  name: tester\\nspec:\\n  role: You " \
    "test.\\n  model: {provider: scripted, name: turns.jsonl}\\n"

WORLD_TEST(the_text_of_a_role_is_a_run_of_its_agent)
{
    struct start_world *world = *state;
    assert_right(world, "{'role':'" ROLE "','prompt':'do it','max_iterations':3,"
                        "'token_budget':70,'allow_hosts':['localhost:80'],'dry_run':true,"
                        "'model':'openai:gpt-5-mini','max_cost':2}");
    assert_string_equal(world->spec.kind, AGENT_KIND);
    assert_string_equal(world->spec.agent_id, "tester");
    assert_int_equal(world->spec.max_iterations, 3);
    assert_int_equal(world->spec.max_tokens, 70);
    assert_int_equal(world->spec.max_cost_micro, 2000000);
    assert_int_equal(agent_recorded_mode(&world->spec), AGENT_AUTONOMOUS);
    assert_non_null(strstr(world->spec.agent, "gpt-5-mini"));
    assert_right(world, "{'role':'" ROLE "','prompt':'do it','mode':'single'}");
    assert_int_equal(agent_recorded_mode(&world->spec), AGENT_SINGLE);
}

WORLD_TEST(a_role_file_is_found_from_the_servers_folder)
{
    struct start_world *world = *state;
    write_file(world, "r.yaml",
               "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: filed\nspec:\n"
               "  role: You test.\n  model: {provider: scripted, name: turns.jsonl}\n");
    assert_right(world, "{'role_file':'r.yaml','prompt':'do it'}");
    assert_string_equal(world->spec.agent_id, "filed");
    assert_wrong(world, "{'role_file':'other.yaml','prompt':'do it'}", "role_file");
    assert_int_equal(world->result, RONDO_ERR_NOT_FOUND);
}

WORLD_TEST(findings_of_a_role_are_told)
{
    struct start_world *world = *state;
    assert_wrong(world, "{'role':'kind: Agent','prompt':'do it'}", "role");
    assert_non_null(strstr(buf_string(&world->findings), "role"));
    assert_non_null(strstr(buf_string(&world->findings), ": error: apiVersion: "));
    assert_right(world, "{'role':'" ROLE "  observability: {}\\n','prompt':'p'}");
    assert_non_null(strstr(buf_string(&world->findings), ": warning: spec.observability"));
}

WORLD_TEST(wrong_members_of_roles_are_named)
{
    struct start_world *world = *state;
    static const struct {
        const char *request;
        const char *path;
    } cases[] = {
        {"{'role':'" ROLE "'}", "prompt"},
        {"{'role':null,'prompt':'p'}", "role"},
        {"{'role':'" ROLE "','role_file':'x','prompt':'p'}", "role"},
        {"{'role':'" ROLE "','prompt':'p','mode':'chat'}", "mode"},
        {"{'role':'" ROLE "','prompt':'p','model':'gpt'}", "model"},
        {"{'role':'" ROLE "','prompt':'p','token_budget':1,'max_tokens':1}", "token_budget"},
        {"{'role':'" ROLE "','prompt':'p','silence_ns':1}", "silence_ns"},
        {"{'role':'" ROLE "','prompt':'p','agent_id':'x'}", "agent_id"},
        {"{'role':'" ROLE "','prompt':'p','mode':'single','conditions':[]}", "conditions"},
        {"{'role':'" ROLE "','prompt':'p','allow_hosts':['a b']}", "role"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_wrong(world, cases[i].request, cases[i].path);
    }
}

/** A program of that name at the beginning of PATH, which is never run. */
static void install(const struct start_world *world, const char *name)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf paths = {0};
    buf_printf(&path, "%s/%s", world->folder, name);
    buf_printf(&paths, "%s:%s", world->folder, getenv("PATH"));
    assert_int_equal(symlink("/bin/true", buf_string(&path)), 0);
    setenv("PATH", buf_string(&paths), 1);
}

WORLD_TEST(a_coding_agent_is_named_and_pinned)
{
    struct start_world *world = *state;
    install(world, "claude");
    assert_int_equal(read_request(world,
                                  "{'coding_agent':'claude','prompt':'fix it','model':'opus',"
                                  "'agent_id':'nightly','silence_ns':5,"
                                  "'conditions':[{'name':'t','command':'true'}]}"),
                     0);
    assert_string_equal(world->spec.kind, "coding");
    assert_string_equal(world->spec.agent_id, "nightly");
    assert_string_equal(world->spec.prompt, "fix it");
    assert_int_equal(world->spec.silence_ns, 5);
    assert_int_equal(world->spec.condition_count, 1);
    assert_non_null(strstr(world->spec.coding, "opus"));
    assert_int_equal(read_request(world, "{'coding_agent':'claude','prompt':'p'}"), 0);
    assert_string_equal(world->spec.agent_id, "claude");
}

WORLD_TEST(requests_for_coding_agents_are_checked)
{
    struct start_world *world = *state;
    install(world, "claude");
    assert_wrong(world, "{'coding_agent':'nobody','prompt':'p'}", "coding_agent");
    assert_wrong(world, "{'coding_agent':'../claude','prompt':'p'}", "coding_agent");
    assert_wrong(world, "{'coding_agent':null,'prompt':'p'}", "coding_agent");
    assert_wrong(world, "{'coding_agent':'claude'}", "prompt");
    assert_wrong(world, "{'coding_agent':'claude','prompt':'p','command':['true']}", "command");
    assert_wrong(world, "{'coding_agent':'claude','prompt':'p','role_file':'r'}", "command");
    assert_wrong(world, "{'coding_agent':'claude','prompt':'p','mode':'single'}", "mode");
}
