// SPDX-License-Identifier: Apache-2.0
/* What rondo validate says of a role file. */
#include "support/test.h"

#include "cli/commands/role_summary.h"

#include <string.h>

#define ROLE                                                                                   \
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: my-agent, description: Helps}\n" \
    "spec:\n  role: R\n  model: {provider: p, name: n, temperature: 0.5}\n"                    \
    "  tools: [{type: shell, allowed_commands: [curl, jq]}, {type: think}]\n"                  \
    "  triggers: [{type: discord}]\n"                                                          \
    "  autonomy: {exit_conditions: [all_tests_pass]}\n"                                        \
    "  guardrails: {max_iterations: 1, autonomous_token_budget: 30000}\n"

static void summarise(const char *yaml, struct buf *ret_text)
{
    struct role_findings findings = {0};
    struct role_summary summary = {.file = "role.yaml", .warnings = 2};
    struct role *role = NULL;
    assert_int_equal(
        role_parse(yaml, strlen(yaml), "role.yaml", ROLE_SCHEMA_1_0, &findings, &role, NULL), 0);
    summary.role = role;
    summary.is_valid = role != NULL;
    summary.errors = role_findings_errors(&findings);
    struct style style = {0};
    role_summary_text(&summary, &style, 100, ret_text);
    role_free(role);
    role_findings_fini(&findings);
}

TEST(a_role_is_summed_up_in_lines)
{
    auto_buf struct buf text = {0};
    summarise(ROLE, &text);
    assert_string_equal(
        buf_string(&text),
        "my-agent: valid, 2 warnings\n"
        "  description   Helps\n"
        "  model         p:n, temperature 0.5, 4,096 tokens a reply\n"
        "  tools         shell (curl, jq), think\n"
        "  confirmed     shell: each call needs a person (policy `confirm.tool`)\n"
        "  triggers      discord\n"
        "  until         all_tests_pass\n"
        "  run           1 iteration, 30,000 tokens\n"
        "  iteration     30 requests, 20 tool calls, 50,000 output tokens, 300 seconds\n"
        "  unsupported   spec.triggers[0]: discord: needs a connection by WebSocket, which Rondo "
        "does not\n"
        "                have: use a webhook or telegram trigger (line 8, column 14)\n");
}

TEST(a_file_with_errors_is_named)
{
    auto_buf struct buf text = {0};
    summarise("kind: Agent\n", &text);
    assert_string_equal(buf_string(&text), "role.yaml: not valid, 3 errors, 2 warnings\n");
}
