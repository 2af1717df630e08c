// SPDX-License-Identifier: Apache-2.0
/* What of a role must be confirmed again when it changes. */
#include "role_help.h"

static const char usual[] =
    "apiVersion: initrunner/v1\nkind: Agent\n"
    "metadata: {name: one, description: d, author: me, version: 1.0.0, tags: [t]}\n"
    "spec:\n  role: Be good.\n  model: {provider: p, name: n}\n"
    "  autonomy: {continuation_prompt: Go on.}\n"
    "  tools: [{type: shell, allowed_commands: [make]}]\n";

/** Whether a role with `after` in place of `before` decides the same. */
static bool decides_the_same(const char *before, const char *after)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf old_decisions = {0};
    auto_buf struct buf new_decisions = {0};
    const char *at = strstr(usual, before);
    assert_non_null(at);
    buf_append(&text, usual, (size_t)(at - usual));
    buf_append_string(&text, after);
    buf_append_string(&text, at + strlen(before));
    struct role_reading old_role = read_right(usual);
    struct role_reading new_role = read_right(buf_string(&text));
    role_decisions_write(old_role.role, &old_decisions);
    role_decisions_write(new_role.role, &new_decisions);
    reading_fini(&old_role);
    reading_fini(&new_role);
    return strcmp(buf_string(&old_decisions), buf_string(&new_decisions)) == 0;
}

TEST(words_do_not_decide)
{
    assert_true(decides_the_same("Be good.", "Be better."));
    assert_true(decides_the_same("Go on.", "Continue."));
    assert_true(decides_the_same("description: d", "description: e"));
    assert_true(decides_the_same("author: me", "author: you"));
    assert_true(decides_the_same("1.0.0", "1.0.1"));
    assert_true(decides_the_same("spec:", "# a comment\nspec:"));
}

TEST(everything_else_does)
{
    assert_false(decides_the_same("name: one", "name: two"));
    assert_false(decides_the_same("tags: [t]", "tags: [u]"));
    assert_false(decides_the_same("provider: p", "provider: q"));
    assert_false(decides_the_same("name: n}", "name: n, base_url: 'https://x.example'}"));
    assert_false(decides_the_same("[make]", "[make, sh]"));
    assert_false(decides_the_same("[make]", "[make], permissions: {default: deny}"));
    assert_false(decides_the_same("spec:\n", "spec:\n  execution: {sandbox: none}\n"));
    assert_false(decides_the_same("Go on.", "Go on., exit_conditions: [{name: x, command: y}]"));
}

TEST(the_role_itself_is_left_alone)
{
    auto_buf struct buf decisions = {0};
    struct role_reading reading = read_right(usual);
    role_decisions_write(reading.role, &decisions);
    assert_null(strstr(buf_string(&decisions), "Be good."));
    assert_non_null(strstr(json_object_to_json_string(reading.role->normal), "Be good."));
    reading_fini(&reading);
}
