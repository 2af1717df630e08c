// SPDX-License-Identifier: Apache-2.0
/* The flat form of role files: the same normal form, paths as the file has them. */
#include "base/json/json.h"
#include "role_help.h"

#include <stdio.h>

#define FLAT "name: my-agent\nprompt: R\n"

static void expect_same(const char *flat, const char *envelope)
{
    struct role_reading left = read_bytes(flat, strlen(flat), ROLE_SCHEMA_1_13);
    struct role_reading right = read_bytes(envelope, strlen(envelope), ROLE_SCHEMA_1_13);
    assert_non_null(left.role);
    assert_non_null(right.role);
    struct json_object *metadata = json_member(left.role->normal, "metadata");
    assert_int_equal(json_get_int(metadata, "spec_version", 0), 3);
    json_object_object_del(metadata, "spec_version");
    if (!json_object_equal(left.role->normal, right.role->normal)) {
        fail_msg("%s\n%s", json_object_to_json_string(left.role->normal),
                 json_object_to_json_string(right.role->normal));
    }
    reading_fini(&left);
    reading_fini(&right);
}

TEST(a_flat_file_has_the_normal_form_of_its_envelope)
{
    expect_same(FLAT "model: p:n\n", HEAD);
    expect_same(FLAT "model: {provider: p, name: n}\ntags: [a]\nguardrails: {max_iterations: 3}\n"
                     "autonomy: {}\nmemory: {}\n",
                "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: my-agent, tags: [a]}\n"
                "spec: {role: R, model: {provider: p, name: n}, autonomy: {}, memory: {}, "
                "guardrails: {max_iterations: 3}}\n");
}

TEST(tools_are_names_or_maps_with_one_key_or_with_a_type)
{
    expect_same(FLAT "model: p:n\ntools:\n- datetime\n- {shell: {allowed_commands: [ls]}}\n"
                     "- {type: git, read_only: false}\n- think:\n",
                TOOL "  - {type: datetime}\n  - {type: shell, allowed_commands: [ls]}\n"
                     "  - {type: git, read_only: false}\n  - {type: think}\n");
}

static void expect_error(const char *text, size_t line, size_t column, const char *path,
                         const char *message)
{
    struct role_reading reading = read_text(text);
    assert_null(reading.role);
    assert_int_equal(reading.findings.count, 1);
    const struct role_finding *item = &reading.findings.items[0];
    assert_int_equal(item->severity, ROLE_ERROR);
    assert_int_equal(item->line, line);
    assert_int_equal(item->column, column);
    assert_string_equal(item->path, path);
    assert_non_null(strstr(item->message, message));
    reading_fini(&reading);
}

TEST(unknown_keys_are_errors_with_their_place)
{
    expect_error(FLAT "modle: p:n\n", 3, 1, "modle", "unknown key");
    expect_error(FLAT "role: x\n", 3, 1, "role", "unknown key");
    expect_error(FLAT "guardrails:\n  max_iteration: 1\n", 4, 3, "guardrails.max_iteration",
                 "unknown key");
    expect_error(FLAT "tools:\n- shell:\n    foo: 1\n", 5, 5, "tools[0].foo", "unknown key");
    expect_error(FLAT "security: {content: {foo: 1}}\n", 3, 22, "security.content.foo",
                 "unknown key");
    expect_error(FLAT "observability: {foo: 1}\n", 3, 17, "observability.foo", "unknown key");
}

TEST(errors_are_at_the_keys_of_the_file)
{
    expect_error("name: my-agent\nmodel: p:n\n", 1, 1, "prompt", "`prompt` is missing");
    expect_error("name: X\nprompt: R\n", 1, 7, "name", "");
    expect_error(FLAT "model: gpt\n", 3, 8, "model.provider", "`provider` is missing");
    expect_error(FLAT "spec_version: 2\n", 3, 15, "spec_version", "version 3");
    expect_error(FLAT "agents: {a: b, c: d}\n", 3, 1, "agents", "several agents");
    expect_error(FLAT "triggers:\n- {type: heartbeat, file: a, active_hours: [9]}\n", 4, 44,
                 "triggers[0].active_hours", "active hours");
}

TEST(what_runs_do_not_do_is_named_with_its_place)
{
    struct role_reading reading =
        read_right(FLAT "ingest: {sources: [a.docx]}\ntools:\n- custom: {module: m}\n");
    struct role_findings findings = {0};
    role_find_unsupported(reading.role, ROLE_ALONE, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.items[0].path, "ingest.sources[0]");
    assert_int_equal(findings.items[0].line, 3);
    assert_int_equal(findings.items[0].column, 1);
    assert_string_equal(findings.items[1].path, "tools[0]");
    assert_int_equal(findings.items[1].line, 5);
    assert_int_equal(findings.items[1].column, 3);
    role_findings_fini(&findings);
    reading_fini(&reading);
}

TEST(both_spellings_of_a_setting_are_one)
{
    expect_same(FLAT "model: p:n\ntools: [{mcp: {command: c, timeout_seconds: 4}}]\n",
                TOOL "  - {type: mcp, command: c, timeout: 4}\n");
    expect_error(FLAT "tools: [{mcp: {command: c, timeout_seconds: 4, timeout: 5}}]\n", 3, 45,
                 "tools[0].timeout_seconds", "another spelling");
}

TEST(limits_of_a_run_of_any_kind_are_read)
{
    struct role_reading reading =
        read_right(FLAT "guardrails: {run_token_budget: 500, cost_limit: 0.25}\n");
    assert_int_equal(reading.role->guardrails.run_token_budget, 500);
    assert_int_equal(reading.role->guardrails.cost_limit_micro, 250000);
    assert_string_equal(reading.role->model.name, "");
    reading_fini(&reading);
}
