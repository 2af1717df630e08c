// SPDX-License-Identifier: Apache-2.0
/* Role files: verdicts, where findings are, normal forms, Rondo's additions. */
#include "base/json/json.h"
#include "role_help.h"

#include "base/limits.h"

#include <stdio.h>

TEST(a_small_file_has_all_defaults)
{
    struct role_reading reading = read_right(HEAD);
    const struct role *role = reading.role;
    assert_string_equal(role->name, "my-agent");
    assert_string_equal(role->text, "R");
    assert_string_equal(role->path, "/roles/role.yaml");
    assert_string_equal(role->folder, "/roles");
    assert_string_equal(role->description, "");
    assert_null(role->model.base_url);
    assert_int_equal(role->model.max_tokens, 4096);
    assert_int_equal(role->model.price_input_micro, -1);
    assert_int_equal(role->guardrails.max_iterations, 10);
    assert_int_equal(role->guardrails.max_request_limit, 30);
    assert_int_equal(role->guardrails.autonomous_token_budget, -1);
    assert_false(role->autonomy.is_given);
    assert_int_equal(role->autonomy.max_history_messages, 40);
    assert_int_equal(role->autonomy.max_no_tool_call_iterations, 2);
    assert_int_equal(role->autonomy.checkpoint_interval, 1);
    assert_non_null(strstr(role->autonomy.continuation_prompt, "finish_task"));
    assert_null(role->sandbox);
    assert_null(role->policy);
    assert_true(role->allows_network);
    assert_int_equal(json_object_array_length(role->tools), 0);
    expect_normal(&reading, "spec.autonomy", "null");
    assert_false(has_normal(&reading, "spec", "policy"));
    assert_false(has_normal(&reading, "spec", "execution"));
    assert_false(has_normal(&reading, "spec.security", "docker"));
    reading_fini(&reading);
}

TEST(the_form_of_1_13_has_what_came_later)
{
    const char *text = HEAD "  autonomy: {}\n  memory: {}\n  tools: [{type: shell}]\n";
    struct role_reading reading = read_bytes(text, strlen(text), ROLE_SCHEMA_1_13);
    expect_normal(&reading, "spec.autonomy.max_no_tool_call_iterations", "2");
    expect_normal(&reading, "spec.memory.store_backend", "\"zvec\"");
    expect_normal(&reading, "spec.security.docker.image", "\"python:3.12-slim\"");
    expect_normal(&reading, "spec.tools.0.permissions", "null");
    reading_fini(&reading);
}

TEST(what_came_later_is_in_the_form_of_1_0_where_it_is_given)
{
    struct role_reading reading =
        read_right(HEAD "  autonomy: {max_no_tool_call_iterations: 5}\n"
                        "  security: {docker: {enabled: true}}\n"
                        "  tools: [{type: shell, permissions: {deny: [\"command=rm *\"]}}]\n");
    expect_normal(&reading, "spec.autonomy.max_no_tool_call_iterations", "5");
    expect_normal(&reading, "spec.security.docker.enabled", "true");
    expect_normal(&reading, "spec.tools.0.permissions",
                  "{\"default\":\"allow\",\"allow\":[],\"deny\":[\"command=rm *\"]}");
    assert_int_equal(reading.role->autonomy.max_no_tool_call_iterations, 5);
    reading_fini(&reading);
}

TEST(the_limit_of_requests_follows_the_limit_of_calls)
{
    struct role_reading few = read_right(HEAD "  guardrails: {max_tool_calls: 20}\n");
    expect_normal(&few, "spec.guardrails.max_request_limit", "30");
    struct role_reading many = read_right(HEAD "  guardrails: {max_tool_calls: 21}\n");
    expect_normal(&many, "spec.guardrails.max_request_limit", "31");
    struct role_reading given = read_right(HEAD "  guardrails: {max_request_limit: 5}\n");
    expect_normal(&given, "spec.guardrails.max_request_limit", "5");
    reading_fini(&few);
    reading_fini(&many);
    reading_fini(&given);
}

TEST(the_old_limit_of_memories_counts_where_the_new_one_does_not)
{
    struct role_reading old = read_right(HEAD "  memory: {max_memories: 5}\n");
    expect_normal(&old, "spec.memory.semantic.max_memories", "5");
    struct role_reading both =
        read_right(HEAD "  memory: {max_memories: 5, semantic: {max_memories: 7}}\n");
    expect_normal(&both, "spec.memory.semantic.max_memories", "7");
    assert_int_equal(old.findings.count, 0);
    assert_int_equal(both.findings.count, 1);
    assert_string_equal(both.findings.items[0].path, "spec.memory.max_memories");
    reading_fini(&old);
    reading_fini(&both);
}

TEST(all_errors_are_found_each_with_place_and_path)
{
    expect_findings(
        "apiVersion: initrunner/v2\n"
        "kind: Agent\n"
        "metadata: {name: My}\n"
        "spec:\n"
        "  role: 5\n"
        "  model: {provider: p, temperature: 3}\n"
        "  tools:\n"
        "    - type: filesystem\n"
        "    - {type: datetime}\n"
        "    - type: api\n"
        "      name: n\n"
        "      base_url: u\n"
        "      endpoints:\n"
        "        - path: /\n"
        "          method: FETCH\n",
        "error 1:13 apiVersion: \"initrunner/v2\" is not allowed here\n"
        "error 3:18 metadata.name: \"My\" is not a name\n"
        "error 5:9 spec.role: a string is expected, but this is the number 5\n"
        "error 6:37 spec.model.temperature: 3 is too large\n"
        "error 14:11 spec.tools[2].endpoints[0].name: `name` is missing\n"
        "error 15:19 spec.tools[2].endpoints[0].method: \"FETCH\" is not allowed here\n");
}

TEST(what_is_wrong_comes_with_what_would_be_right)
{
    static const struct {
        const char *text, *hint;
    } cases[] = {
        {HEAD "  guardrails: {max_iteration: 3}\n", "did you mean `max_iterations`?"},
        {HEAD "  tools: [{type: shel}]\n", "did you mean `shell`?"},
        {HEAD "  output: {type: jsonschema}\n",
         "use text or json_schema; did you mean `json_schema`?"},
        {HEAD "  triggers: [{type: crom}]\n", "use cron, heartbeat, file_watch, webhook, telegram, "
                                              "discord or slack; did you mean `cron`?"},
        {HEAD "  skills: x\n", "write it as a list: [\"x\"]"},
        {HEAD "  policy: yes\n", "put it in quotes: \"yes\""},
        {HEAD "  guardrails: {max_iterations: 0}\n", "more than 0"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct role_reading reading = read_text(cases[i].text);
        assert_int_equal(reading.findings.count, 1);
        assert_string_equal(reading.findings.items[0].hint, cases[i].hint);
        reading_fini(&reading);
    }
}

TEST(what_has_no_effect_is_warned_of)
{
    expect_findings(
        HEAD "  resources: {cpu: 1}\n"
             "  ingest: {sources: [x], watch: true}\n"
             "  security: {audit: {max_records: 5}, preset: public}\n"
             "  capabilities: [x]\n"
             "  observability: {trace_tool_calls: false, foo: 1}\n"
             "  1: x\n"
             "  foo: {bar: 1}\n"
             "  foo: 2\n",
        "warning 7:14 spec.resources: this setting has no effect, neither in InitRunner nor here\n"
        "warning 8:33 spec.ingest.watch: this setting has no effect, neither in InitRunner nor "
        "here\n"
        "warning 9:21 spec.security.audit: this setting has no effect, neither in InitRunner nor "
        "here\n"
        "unprotected 9:39 spec.security.preset: a protection of later versions of InitRunner, "
        "which Rondo does not provide\n"
        "warning 10:3 spec.capabilities: a setting of later versions of InitRunner; it has no "
        "effect "
        "here\n"
        "warning 11:37 spec.observability.trace_tool_calls: has no effect: traces always have "
        "them, as in InitRunner\n"
        "warning 11:44 spec.observability.foo: unknown key; it has no effect\n"
        "warning 12:3 spec.1: this key is not a string but the number 1; it has no effect\n"
        "warning 14:3 spec.foo: this key is already on line 13; the last one is used\n"
        "warning 14:3 spec.foo: unknown key; it has no effect\n");
}

TEST(triggers_are_warned_of_where_they_would_not_do_as_they_say)
{
    expect_findings(
        HEAD "  triggers:\n"
             "    - {type: cron, schedule: nope, prompt: x, timezone: 1h, autonomous: true}\n"
             "    - {type: webhook}\n",
        "warning 8:30 spec.triggers[0].schedule: this is not a cron expression: the minute (first "
        "field) is wrong; 0 to 59\n"
        "warning 8:57 spec.triggers[0].timezone: \"1h\" is not a time zone\n"
        "warning 8:73 spec.triggers[0].autonomous: without spec.autonomy this trigger gives a "
        "single answer\n");
    struct role_reading reading = read_right(HEAD "  triggers: [{type: webhook}]\n");
    expect_normal(&reading, "spec.triggers.0.secret", "\"<generated>\"");
    reading_fini(&reading);
}

TEST(a_webhook_has_a_secret_or_says_that_it_is_unsigned)
{
    expect_findings(HEAD "  triggers:\n    - {type: webhook, unsigned: true}\n", "");
    expect_findings(HEAD "  triggers:\n    - {type: webhook, secret: '${S}', signature: bearer}\n",
                    "");
    expect_findings(HEAD "  triggers:\n    - {type: webhook, secret: '${S}', unsigned: true}\n",
                    "error 8:49 spec.triggers[0].unsigned: `secret` and `unsigned: true` exclude "
                    "each other\n");
}

TEST(schemas_that_answers_cannot_be_checked_against_are_warned_of)
{
    expect_findings(
        HEAD "  output:\n    type: json_schema\n    schema:\n      type: array\n"
             "      properties:\n        a: {type: string}\n        b: {type: date}\n"
             "        c: {type: object, properties: {d: 5}}\n",
        "warning 10:7 spec.output.schema: the schema of an answer must describe an object\n"
        "warning 13:12 spec.output.schema.properties.b: a property with a type that answers cannot "
        "be checked against\n"
        "warning 14:43 spec.output.schema.properties.c.properties.d: a property with a type that "
        "answers cannot be checked against\n");
}

TEST(documents_that_are_no_agents_are_told_by_name)
{
    expect_findings("kind: Team\nfoo: 1\n", "error 1:7 kind: this is a Team document, which rondo "
                                            "does not run; it runs agents\n");
    expect_findings("name: a\nagents: {}\n", "error 2:1 agents: this is a document with several "
                                             "agents, which rondo does not run\n");
    expect_findings("", "error 0:0 : a role file is a map, but this is empty\n");
    expect_findings("- a\n", "error 1:1 : a role file is a map, but this is a list\n");
    expect_findings("a: [\n", "error 2:1 : this is not valid YAML: did not find expected node "
                              "content, while parsing a flow node\n");
}

TEST(values_that_python_cannot_make_are_errors_also_under_unknown_keys)
{
    expect_findings(HEAD "  foo: {bar: [2026-13-01]}\n  role2: <<\n",
                    "warning 7:3 spec.foo: unknown key; it has no effect\n"
                    "error 7:15 spec.foo.bar[0]: a date that does not exist: 2026-13-01\n"
                    "warning 8:3 spec.role2: unknown key; it has no effect\n"
                    "error 8:10 spec.role2: `<<` is a key in YAML 1.1, not a value\n");
    assert_false(is_valid(HEAD "  foo: \"a\\0b\"\n"));
}

/** One rule a row: a piece of a file that keeps it, and one that breaks it. */
static const struct {
    const char *right, *wrong;
} rules[] = {
    {HEAD "  guardrails: {max_tool_calls: 0}\n", HEAD "  guardrails: {max_tool_calls: -1}\n"},
    {HEAD "  guardrails: {input_tokens_limit: ~}\n",
     HEAD "  guardrails: {input_tokens_limit: 0}\n"},
    {HEAD "  observability: {sample_rate: 1}\n", HEAD "  observability: {sample_rate: 1.1}\n"},
    {HEAD "  observability: ~\n", HEAD "  guardrails: ~\n"},
    {HEAD "  tool_search: {max_results: 20}\n", HEAD "  tool_search: {max_results: 21}\n"},
    {HEAD "  ingest: {sources: []}\n", HEAD "  ingest: {}\n"},
    {HEAD "  ingest: {sources: [x], chunking: {chunk_size: 10, chunk_overlap: 9}}\n",
     HEAD "  ingest: {sources: [x], chunking: {chunk_size: 10, chunk_overlap: 10}}\n"},
    {HEAD "  memory: {store_backend: zvec}\n", HEAD "  memory: {store_backend: sqlite_vec}\n"},
    {HEAD "  output: {type: json_schema, schema_file: x}\n",
     HEAD "  output: {type: json_schema, schema_file: x, schema: {}}\n"},
    {HEAD "  output: {type: text, schema_file: x, schema: {}}\n",
     HEAD "  output: {type: json_schema}\n"},
    {HEAD "  security: {content: {blocked_input_patterns: [\"a+\"]}}\n",
     HEAD "  security: {content: {redact_patterns: [\"a\", \"(\"]}}\n"},
    {HEAD "  security: {rate_limit: {burst_size: 1}}\n",
     HEAD "  security: {rate_limit: {burst_size: 0}}\n"},
    {HEAD "  security: {docker: {memory_limit: 1G}}\n",
     HEAD "  security: {docker: {memory_limit: 1GB}}\n"},
    {HEAD "  security: {docker: {cpu_limit: 0.1}}\n",
     HEAD "  security: {docker: {cpu_limit: 0}}\n"},
    {HEAD "  security: {docker: {extra_args: [--init]}}\n",
     HEAD "  security: {docker: {extra_args: [\"--cap-add=ALL\"]}}\n"},
    {HEAD "  security: {docker: {bind_mounts: [{source: a, target: /b}]}}\n",
     HEAD "  security: {docker: {bind_mounts: [{source: a, target: b}]}}\n"},
    {HEAD "  security: {docker: {bind_mounts: [{source: a, target: /b},"
          " {source: a, target: /c}]}}\n",
     HEAD "  security: {docker: {bind_mounts: [{source: a, target: /b},"
          " {source: a, target: /b}]}}\n"},
    {HEAD "  security: {docker: {bind_mounts: [{source: a, target: /works}]}}\n",
     HEAD "  security: {docker: {bind_mounts: [{source: a, target: /work}]}}\n"},
    {HEAD "  security: {docker: {image: x}}\n", HEAD "  security: {docker: {image: \" \"}}\n"},
    {TOOL "    - {type: mcp, command: x}\n", TOOL "    - {type: mcp, url: x}\n"},
    {TOOL "    - {type: mcp, transport: sse, url: x}\n",
     TOOL "    - {type: mcp, transport: streamable-http, command: x}\n"},
    {TOOL "    - {type: mcp, command: x, tool_filter: [a]}\n",
     TOOL "    - {type: mcp, command: x, tool_filter: [a], tool_exclude: [b]}\n"},
    {TOOL "    - {type: delegate, agents: [{name: a, role_file: b}]}\n",
     TOOL "    - {type: delegate, agents: [{name: a, url: b}]}\n"},
    {TOOL "    - {type: delegate, mode: mcp, agents: [{name: a, url: b}]}\n",
     TOOL "    - {type: delegate, mode: mcp, agents: [{name: a, role_file: b}]}\n"},
    {TOOL "    - {type: search}\n", TOOL "    - {type: search, provider: brave}\n"},
    {TOOL "    - {type: email, imap_host: a, username: b, password: c}\n",
     TOOL "    - {type: email, imap_host: a, username: b, password: c, read_only: false}\n"},
    {TOOL "    - {type: script, scripts: [{name: a, body: x}, {name: b, body: x}]}\n",
     TOOL "    - {type: script, scripts: [{name: a, body: x}, {name: a, body: x}]}\n"},
    {TOOL "    - {type: script, scripts: [{name: a, body: x}]}\n",
     TOOL "    - {type: script, scripts: []}\n"},
    {TOOL "    - {type: script, scripts: [{name: a_1, body: x}]}\n",
     TOOL "    - {type: script, scripts: [{name: 1a, body: x}]}\n"},
    {TOOL "    - {type: script, scripts: [{name: a, body: x}]}\n",
     TOOL "    - {type: script, scripts: [{name: a, body: \" \\n\"}]}\n"},
    {TOOL "    - {type: shell, permissions: {allow: [\"a=b\", \"*x\"]}}\n",
     TOOL "    - {type: shell, permissions: {allow: [\"=b\"]}}\n"},
    {TOOL "    - {type: shell, permissions: {default: deny}}\n",
     TOOL "    - {type: shell, permissions: {deny: [\"a=\"]}}\n"},
    {TOOL "    - {type: sql, database: x}\n", TOOL "    - {type: sql}\n"},
    {TOOL "    - {type: slack, webhook_url: x}\n", TOOL "    - {type: slack}\n"},
    {TOOL "    - {type: think, max_thoughts: 99}\n", TOOL "    - {typ: think}\n"},
    {TOOL "    - {type: zzz, a: {b: 1}}\n", TOOL "    - {type: 5}\n"},
    {HEAD "  sinks: [{type: file, path: x}]\n", HEAD "  sinks: [{type: zzz}]\n"},
    {HEAD "  sinks: [{type: custom, module: m, function: f}]\n",
     HEAD "  sinks: [{type: custom, module: m}]\n"},
    {HEAD "  triggers: [{type: discord}]\n", HEAD "  triggers: [{type: zzz}]\n"},
    {HEAD "  triggers: [{type: heartbeat, file: x, active_hours: [22, 0]}]\n",
     HEAD "  triggers: [{type: heartbeat, file: x, active_hours: [9, 24]}]\n"},
    {HEAD "  triggers: [{type: heartbeat, file: x, active_hours: null}]\n",
     HEAD "  triggers: [{type: heartbeat, file: x, active_hours: [9]}]\n"},
    {HEAD "  triggers: [{type: heartbeat, file: x, interval_seconds: 1}]\n",
     HEAD "  triggers: [{type: heartbeat, file: x, interval_seconds: 0}]\n"},
    {HEAD "  triggers: [{type: cron, schedule: x, prompt: y, catch_up: all}]\n",
     HEAD "  triggers: [{type: cron, schedule: x, prompt: y, catch_up: two}]\n"},
    {HEAD "  triggers: [{type: cron, schedule: x, prompt: y, jitter_seconds: 86400}]\n",
     HEAD "  triggers: [{type: cron, schedule: x, prompt: y, jitter_seconds: 86401}]\n"},
    {HEAD "  triggers: [{type: cron, schedule: x, prompt: y, conversation: a}]\n",
     HEAD "  triggers: [{type: cron, schedule: x, prompt: y, conversation: 'a{b}'}]\n"},
    {HEAD "  triggers: [{type: webhook, conversation: '{body.a}'}]\n",
     HEAD "  triggers: [{type: webhook, conversation: ''}]\n"},
    {HEAD "  triggers: [{type: telegram, conversation_idle_seconds: 31536000}]\n",
     HEAD "  triggers: [{type: telegram, conversation_idle_seconds: 31536001}]\n"},
    {HEAD "  triggers: [{type: file_watch, paths: [.]}]\n",
     HEAD "  triggers: [{type: file_watch}]\n"},
};

TEST(rules_of_single_settings)
{
    for (size_t i = 0; i < COUNT(rules); i++) {
        if (!is_valid(rules[i].right)) {
            fail_msg("refused: %s", rules[i].right);
        }
        if (is_valid(rules[i].wrong)) {
            fail_msg("taken: %s", rules[i].wrong);
        }
    }
}

TEST(names_of_agents_have_a_form)
{
    static const struct {
        const char *name;
        bool is_right;
    } cases[] = {
        {"ab", true},   {"a-b", true},  {"a1", true},   {"1a", true},
        {"a--b", true}, {"a", false},   {"-ab", false}, {"ab-", false},
        {"aB", false},  {"a_b", false}, {"a b", false}, {"\"\"", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: %s}\n"
                 "spec: {role: R, model: {provider: p, name: n}}\n",
                 cases[i].name);
        if (is_valid(text) != cases[i].is_right) {
            fail_msg("%s is %s", cases[i].name, cases[i].is_right ? "refused" : "taken");
        }
    }
}

TEST(an_unknown_tool_is_kept_for_a_plug_in)
{
    struct role_reading reading = read_right(TOOL "    - {type: zzz, a: 1, b: [x]}\n");
    expect_normal(&reading, "spec.tools.0",
                  "{\"type\":\"zzz\",\"config\":{\"a\":1,\"b\":[\"x\"]}}");
    reading_fini(&reading);
}

TEST(a_file_can_have_everything_of_rondo_itself)
{
    struct role_reading reading = read_right(
        "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: my-agent}\nspec:\n  role: R\n"
        "  model: {provider: p, name: n, price: {input: 0.25, output: 2}}\n"
        "  autonomy:\n"
        "    checkpoint_interval: 3\n"
        "    exit_conditions:\n"
        "      - all_tests_pass\n"
        "      - {name: quick, command: make quick, timeout_seconds: 5}\n"
        "      - {name: scan, tool: scan_all, server: scanner, arguments: {path: /a/b}}\n"
        "  policy: ./my.cedar\n"
        "  execution: {pool: \"gpu,linux\", sandbox: landlock, network: false, allow_hosts: "
        "[localhost, 10.0.0.1]}\n");
    const struct role *role = reading.role;
    assert_int_equal(role->model.price_input_micro, 250000);
    assert_int_equal(role->model.price_output_micro, 2000000);
    assert_int_equal(role->autonomy.checkpoint_interval, 3);
    assert_int_equal(role->condition_count, 3);
    assert_string_equal(role->conditions[0].name, "all_tests_pass");
    assert_null(role->conditions[0].command);
    assert_int_equal(role->conditions[0].timeout_seconds, 30);
    assert_string_equal(role->conditions[1].command, "make quick");
    assert_int_equal(role->conditions[1].timeout_seconds, 5);
    assert_string_equal(role->conditions[2].tool, "scan_all");
    assert_string_equal(role->conditions[2].server, "scanner");
    assert_string_equal(role->conditions[2].arguments, "{\"path\":\"/a/b\"}");
    assert_string_equal(role->policy, "./my.cedar");
    assert_string_equal(role->sandbox, "landlock");
    assert_string_equal(role->pool, "gpu,linux");
    assert_false(role->allows_network);
    assert_string_equal(role->allow_hosts[1], "10.0.0.1");
    assert_null(role->allow_hosts[2]);
    expect_normal(&reading, "spec.execution",
                  "{\"pool\":\"gpu,linux\",\"sandbox\":\"landlock\",\"network\":false,\"allow_"
                  "hosts\":[\"localhost\","
                  "\"10.0.0.1\"]}");
    reading_fini(&reading);
}

TEST(a_pool_is_a_list_of_labels)
{
    (void)state;
    assert_false(is_valid(HEAD "  execution: {pool: GPU}\n"));
    assert_false(is_valid(HEAD "  execution: {pool: \"gpu;drop\"}\n"));
    assert_true(is_valid(HEAD "  execution: {pool: \"gpu,linux\"}\n"));
}

TEST(exit_conditions_that_make_no_sense_are_refused)
{
    static const char *const wrong[] = {
        "[a, a]",
        "[\"a b\"]",
        "[-a]",
        "[{command: x}]",
        "[{name: a, command: \" \"}]",
        "[{name: a, command: x, tool: y}]",
        "[{name: a, server: x}]",
        "[{name: a, arguments: {x: 1}}]",
        "[{name: a, timeout_seconds: 0}]",
        "[{name: a, timeout_seconds: 86401}]",
        "[5]",
        "a",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct buf text = {0};
        buf_printf(&text, HEAD "  autonomy: {exit_conditions: %s}\n", wrong[i]);
        if (is_valid(buf_string(&text))) {
            fail_msg("%s is taken", wrong[i]);
        }
        buf_fini(&text);
    }
}

static bool takes_conditions(size_t count)
{
    struct buf text = {0};
    buf_append_string(&text, HEAD "  autonomy:\n    exit_conditions:\n");
    for (size_t i = 0; i < count; i++) {
        buf_printf(&text, "      - c%zu\n", i);
    }
    bool is_right = is_valid(buf_string(&text));
    buf_fini(&text);
    return is_right;
}

TEST(the_number_of_exit_conditions_has_a_limit)
{
    assert_true(takes_conditions(LIMIT_CONDITIONS));
    assert_false(takes_conditions(LIMIT_CONDITIONS + 1));
}

static bool takes_tools(size_t count)
{
    struct buf text = {0};
    buf_append_string(&text, TOOL);
    for (size_t i = 0; i < count; i++) {
        buf_append_string(&text, "    - type: think\n");
    }
    bool is_right = is_valid(buf_string(&text));
    buf_fini(&text);
    return is_right;
}

TEST(the_number_of_tools_has_a_limit)
{
    assert_true(takes_tools(LIMIT_ROLE_LIST));
    assert_false(takes_tools(LIMIT_ROLE_LIST + 1));
}

TEST(the_size_of_a_file_has_a_limit)
{
    size_t head = strlen(HEAD);
    char *text = malloc(LIMIT_ROLE_FILE_BYTES + 2);
    memset(text, '#', LIMIT_ROLE_FILE_BYTES + 2);
    memcpy(text, HEAD, head);
    struct role_reading reading = read_bytes(text, LIMIT_ROLE_FILE_BYTES, ROLE_SCHEMA_1_0);
    assert_non_null(reading.role);
    reading_fini(&reading);
    struct rondo_error err = {0};
    assert_int_equal(role_parse(text, LIMIT_ROLE_FILE_BYTES + 1, "r", ROLE_SCHEMA_1_0,
                                &reading.findings, &reading.role, &err),
                     RONDO_ERR_LIMIT);
    assert_null(reading.role);
    free(text);
}

TEST(the_number_of_findings_has_a_limit_and_errors_come_first)
{
    struct buf text = {0};
    buf_append_string(&text, "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: ab\n");
    for (size_t i = 0; i < LIMIT_ROLE_FINDINGS + 5; i++) {
        buf_printf(&text, "  key%zu: 1\n", i);
    }
    buf_append_string(&text, "spec:\n  role: 5\n  model: {provider: p, name: n}\n  tools: x\n");
    struct role_reading reading = read_text(buf_string(&text));
    assert_int_equal(reading.findings.count, LIMIT_ROLE_FINDINGS);
    assert_int_equal(role_findings_errors(&reading.findings), 2);
    reading_fini(&reading);
    buf_fini(&text);
}

TEST(a_pattern_must_be_one_of_pythons)
{
    static const struct {
        const char *pattern;
        bool is_valid;
    } cases[] = {
        {"", true},      {"(a|[)(]*)", true}, {"[]]", true},   {"[^]]", true},  {"[\\]]", true},
        {"\\(", true},   {"(?#()", true},     {"(", false},    {")(", false},   {"())", false},
        {"[a", false},   {"[]", false},       {"[^", false},   {"[^]", false},  {"[a\\]", false},
        {"[a\\", false}, {"a\\", false},      {"a\\\\", true}, {"(\\)", false}, {"a{2,1}", false},
        {"\\Qa", false}, {"*", false},        {"(?<n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, HEAD "  security: {content: {redact_patterns: ['%s']}}\n",
                 cases[i].pattern);
        if (is_valid(text) != cases[i].is_valid) {
            fail_msg("%s", cases[i].pattern);
        }
    }
}

static int from_normal(const char *json, const char *path, struct role **ret_role,
                       struct rondo_error *err)
{
    auto_json struct json_object *normal = NULL;
    int code = json_parse(json, strlen(json), &normal, err);
    return code < 0 ? code : role_from_object(normal, path, ret_role, err);
}

TEST(a_role_comes_back_from_its_normal_form)
{
    struct role_reading reading = read_right(
        HEAD "  autonomy: {exit_conditions: [a], iteration_delay_seconds: 0.5}\n"
             "  guardrails: {autonomous_token_budget: 30000}\n  tools: [{type: shell}]\n");
    const char *normal = json_object_to_json_string(reading.role->normal);
    struct role *again = NULL;
    assert_int_equal(from_normal(normal, "/x/y.yaml", &again, NULL), 0);
    assert_string_equal(again->name, "my-agent");
    assert_string_equal(again->folder, "/x");
    assert_true(again->autonomy.is_given);
    assert_true(again->autonomy.iteration_delay_seconds > 0.49);
    assert_int_equal(again->guardrails.autonomous_token_budget, 30000);
    assert_int_equal(again->guardrails.max_request_limit, 30);
    assert_string_equal(again->conditions[0].name, "a");
    assert_int_equal(json_object_array_length(again->tools), 1);
    assert_true(json_object_equal(again->normal, reading.role->normal));
    role_free(again);
    reading_fini(&reading);
}

TEST(a_damaged_normal_form_is_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"spec\":5}",
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"role\":\"r\",\"model\":{\"provider\":\"p\"},"
        "\"tools\":[]}}",
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"role\":\"r\",\"model\":{\"provider\":\"p\","
        "\"name\":\"n\"},\"tools\":[],\"autonomy\":{\"exit_conditions\":[5]}}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct role *role = NULL;
        struct rondo_error err = {0};
        assert_true(from_normal(texts[i], "/x", &role, &err) < 0);
        assert_null(role);
        assert_true(err.message[0] != '\0');
    }
}

TEST(what_run_does_not_do_is_said_by_name)
{
    struct role_reading reading = read_right(
        HEAD "  triggers: [{type: discord}, {type: webhook, conversation: a, autonomous: true}]\n"
             "  sinks: [{type: file, path: x}, {type: custom, module: m, function: f}]\n  ingest: "
             "{sources: [a.md, b.docx]}\n  "
             "memory: {}\n  observability: {backend: logfire}\n"
             "  output: {type: json_schema, schema_file: x}\n"
             "  security: {content: {pii_redaction: true, redact_patterns: [x]},"
             " docker: {enabled: true}}\n"
             "  tools: [{type: shell}, {type: custom, module: m}, {type: zzz}]\n");
    struct role_findings findings = {0};
    role_find_unsupported(reading.role, ROLE_ALONE, &findings);
    struct buf paths = {0};
    for (size_t i = 0; i < findings.count; i++) {
        assert_int_equal(findings.items[i].severity, ROLE_WARNING);
        buf_printf(&paths, "%s ", findings.items[i].path);
    }
    assert_string_equal(buf_string(&paths),
                        "spec.observability.backend spec.ingest.sources[1] "
                        "spec.triggers[1].autonomous spec.triggers[0] spec.sinks[1] "
                        "spec.tools[1] spec.tools[2] ");
    buf_fini(&paths);
    role_findings_fini(&findings);
    reading_fini(&reading);
}

TEST(a_sandbox_of_later_versions_is_rondos_own)
{
    struct role_reading reading =
        read_right(HEAD "  execution: {sandbox: none}\n  security: {sandbox: {backend: bwrap, "
                        "env_passthrough: [LANG, SSH_AGENT_PID]}}\n");
    assert_string_equal(reading.role->sandbox, "namespace");
    assert_true(reading.role->is_offline);
    expect_normal(&reading, "spec.security.tools.env_allowlist",
                  "[\"SSH_AGENT_PID\",\"GPG_AGENT_INFO\",\"LANG\"]");
    reading_fini(&reading);
    reading = read_right(HEAD "  security: {sandbox: {backend: auto, network: bridge}}\n");
    assert_string_equal(reading.role->sandbox, "namespace");
    assert_false(reading.role->is_offline);
    reading_fini(&reading);
    reading = read_right(HEAD "  execution: {sandbox: none}\n  security: {sandbox: {backend: "
                              "none, env_passthrough: [LANG]}}\n");
    assert_string_equal(reading.role->sandbox, "none");
    assert_false(reading.role->is_offline);
    expect_normal(&reading, "spec.security.tools.env_allowlist",
                  "[\"SSH_AGENT_PID\",\"GPG_AGENT_INFO\"]");
    reading_fini(&reading);
}

TEST(a_rule_of_approval_that_is_not_known_is_named)
{
    static const struct {
        const char *rule;
        size_t named;
    } cases[] = {{"required", 0}, {"auto", 0}, {"never", 0}, {"judged", 1}, {"true", 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf text = {0};
        buf_printf(&text, HEAD "  tools: [{type: git}, {type: shell, approval: %s}]\n",
                   cases[i].rule);
        struct role_reading reading = read_right(buf_string(&text));
        struct role_findings findings = {0};
        role_find_unsupported(reading.role, ROLE_ALONE, &findings);
        assert_int_equal(findings.count, cases[i].named);
        if (findings.count > 0) {
            assert_string_equal(findings.items[0].path, "spec.tools[1]");
        }
        role_findings_fini(&findings);
        reading_fini(&reading);
        buf_fini(&text);
    }
}

/** The protections of a file that are not given. */
static void expect_unprotected(const char *text, const char *expected)
{
    struct role_reading reading = read_right(text);
    struct buf paths = {0};
    for (size_t i = 0; i < reading.findings.count; i++) {
        if (reading.findings.items[i].severity == ROLE_UNPROTECTED) {
            buf_printf(&paths, "%s%s", paths.len > 0 ? " " : "", reading.findings.items[i].path);
        }
    }
    assert_string_equal(buf_string(&paths), expected);
    buf_fini(&paths);
    reading_fini(&reading);
}

TEST(protections_that_are_not_given_are_told_apart)
{
    static const struct {
        const char *yaml, *paths;
    } cases[] = {
        {HEAD "  security: {docker: {enabled: true, network: none}}\n",
         "spec.security.docker.enabled"},
        {HEAD "  security: {docker: {enabled: false, network: none}}\n", ""},
        {HEAD "  security: {sandbox: {backend: docker}}\n", "spec.security.sandbox.backend"},
        {HEAD "  security: {sandbox: {backend: bwrap, network: none}}\n", ""},
        {HEAD "  security: {sandbox: {allowed: x}}\n", "spec.security.sandbox.allowed"},
        {HEAD "  security: {preset: public}\n", "spec.security.preset"},
        {HEAD "  security: {sandbx: {network: none}}\n", "spec.security.sandbx"},
        {HEAD "  security: {content: {redact_patterns: [x], profanity_filter: true}}\n",
         "spec.security.content.redact_patterns spec.security.content.profanity_filter"},
        {HEAD "  security: {content: {blocked_input_patterns: [x], blocked_output_patterns: [x],"
              " output_action: block, max_prompt_length: 10, max_output_length: 10}}\n",
         ""},
        {HEAD "  security: {rate_limit: {requests_per_minute: 5}}\n",
         "spec.security.rate_limit.requests_per_minute"},
        {HEAD "  security: {tools: {audit_hooks_enabled: true}}\n",
         "spec.security.tools.audit_hooks_enabled"},
        {HEAD "  guardrails: {circuit_breaker: 5}\n", "spec.guardrails.circuit_breaker"},
        {HEAD "  guardrails: {max_toolcalls: 5, retry_policy: {}}\n",
         "spec.guardrails.max_toolcalls"},
        {HEAD "  sandbox: {network: none}\n", "spec.sandbox"},
        {HEAD "  securty: {}\n", "spec.securty"},
        {HEAD "  require_approval: true\n", "spec.require_approval"},
        {HEAD "  tools: [{type: shell, allowed_comands: [ls]}]\n", "spec.tools[0].allowed_comands"},
        {HEAD "  tools: [{type: filesystem, readonly: true}]\n", "spec.tools[0].readonly"},
        {HEAD "  tools: [{type: http, base_url: x, allowed_hosts: [x]}]\n",
         "spec.tools[0].allowed_hosts"},
        {HEAD "  tools: [{type: git, permissions: {denny: [x]}}]\n",
         "spec.tools[0].permissions.denny"},
        {HEAD "  tools: [{type: git, colour: red, approval: required}]\n", ""},
        {HEAD "  triggers: [{type: discord, allow_all: true}]\n  memory: {limit: 4}\n", ""},
        {HEAD "  foo: {bar: 1}\n", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_unprotected(cases[i].yaml, cases[i].paths);
    }
}

TEST(protections_that_are_not_given_are_found_in_a_normal_form)
{
    struct role_reading reading =
        read_right(HEAD "  security: {docker: {enabled: true}, content: {redact_patterns: [x]}}\n");
    struct role_findings findings = {0};
    role_find_unprotected(reading.role, &findings);
    assert_int_equal(role_findings_unprotected(&findings), 2);
    assert_string_equal(findings.items[0].path, "spec.security.content.redact_patterns");
    assert_string_equal(findings.items[1].path, "spec.security.docker.enabled");
    role_findings_fini(&findings);
    reading_fini(&reading);
}

TEST(secrets_that_are_written_out_are_found)
{
    static const struct {
        const char *tool, *path;
    } cases[] = {
        {"type: http, base_url: x, headers: {Authorization: Bearer sk-abcdefghijklmnop1234}",
         "spec.tools[0].headers.Authorization"},
        {"type: http, base_url: x, headers: {X-Api-Key: hunter2}",
         "spec.tools[0].headers.X-Api-Key"},
        {"type: http, base_url: x, headers: {cookie: a=b}", "spec.tools[0].headers.cookie"},
        {"type: http, base_url: x, headers: {X-Other: ghp_abcdefghijklmnopqrst0123}",
         "spec.tools[0].headers.X-Other"},
        {"type: http, base_url: 'https://u:p@example.com'", "spec.tools[0].base_url"},
        {"type: slack, webhook_url: 'https://hooks.slack.com/services/a/b/c'",
         "spec.tools[0].webhook_url"},
        {"type: mcp, command: x, env: {TOKEN: hunter2}", "spec.tools[0].env.TOKEN"},
        {"type: mcp, command: x, args: [--api-key, hunter2]", "spec.tools[0].args[1]"},
        {"type: mcp, command: x, args: [a, --token=hunter2]", "spec.tools[0].args[1]"},
        {"type: other, api_key: hunter2", "spec.tools[0].config.api_key"},
        {"type: http, base_url: x, headers: {Authorization: 'Bearer ${TOKEN}', Accept: text/html}",
         NULL},
        {"type: http, base_url: 'https://u:${PASSWORD}@example.com', headers: {X-Key: $KEY}", NULL},
        {"type: slack, webhook_url: '${SLACK_WEBHOOK_URL}'", NULL},
        {"type: mcp, command: x, env: {TOKEN: '${TOKEN}', MODE: fast}, args: [--token, $T]", NULL},
        {"type: mcp, command: x, args: [--keyboard, --mode=x, plain]", NULL},
        {"type: other, api_key_env: MAIL_KEY", NULL},
        {"type: think}]\n  triggers: [{type: webhook, prompt_template: x", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1024];
        struct rondo_error err = {0};
        snprintf(text, sizeof(text), HEAD "  tools: [{%s}]\n", cases[i].tool);
        struct role_reading reading = read_text(text);
        if (reading.role == NULL) {
            role_findings_fini(&reading.findings);
            fail_msg("%s", cases[i].tool);
        }
        int r = role_check_secrets(reading.role, &err);
        bool is_right = cases[i].path == NULL
                            ? r == 0
                            : r == RONDO_ERR_INVALID &&
                                  strncmp(err.message, cases[i].path, strlen(cases[i].path)) == 0;
        if (!is_right || strstr(err.message, "hunter2") != NULL) {
            fail_msg("%s: %d %s", cases[i].tool, r, err.message);
        }
        reading_fini(&reading);
    }
}

TEST(nothing_is_unsupported_in_a_small_file)
{
    struct role_reading reading = read_right(HEAD);
    struct role_findings findings = {0};
    role_find_unsupported(reading.role, ROLE_ALONE, &findings);
    assert_int_equal(findings.count, 0);
    reading_fini(&reading);
}

TEST(the_reference_names_every_kind_of_row)
{
    static const char *const pieces[] = {
        "| `temperature` | number, 0 to 2 | `0.1` |",
        "| `exit_conditions` | list of names or objects |",
        "*Rondo's addition*",
        "*Since v1.7*",
        "*Without effect*",
        "### `filesystem`",
        "## Skill files",
    };
    struct buf text = {0};
    role_describe(&text);
    for (size_t i = 0; i < COUNT(pieces); i++) {
        if (strstr(buf_string(&text), pieces[i]) == NULL) {
            fail_msg("%s is missing", pieces[i]);
        }
    }
    buf_fini(&text);
}
