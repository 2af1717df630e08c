// SPDX-License-Identifier: Apache-2.0
/* Agents under policies: which calls and models are denied, who may approve, and when it counts. */
#include "agent_fixture.h"

#define POLICY "  policy: p.cedar\n"
#define TOOLS  "forbid (principal, action == Action::\"call_tool\", resource "
#define MODELS "forbid (principal, action == Action::\"call_model\", resource "

static void play_under(struct agent_scene *scene, const char *policies, const char *lines,
                       const char *turns, enum rondo_status status)
{
    char all[1024];
    snprintf(all, sizeof(all), POLICY "%s", lines);
    set_policies(scene->world, policies);
    scene_play(scene, all, turns, status);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

SCENE_TEST(a_denied_call_is_an_answer)
{
    struct agent_scene *scene = *state;
    play_under(scene, PERMIT "@id(\"mute\") @reason(\"no mail\") " TOOLS "== Tool::\"send\");", "",
               CALL("send", "x") CALL("put", "y") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
    assert_int_equal(scene_executions(scene, "put", "y"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"denied\""), 1);
    assert_int_equal(scene_events(scene, "tool.finished",
                                  "Error: send was not called: policy "
                                  "`mute` forbids `call_tool`: no mail"),
                     1);
    scene_last(scene, "step.denied", "action", "call_tool");
    scene_last(scene, "step.denied", "name", "send");
    scene_last(scene, "step.denied", "policy", "mute");
}

SCENE_TEST(policies_see_the_arguments)
{
    struct agent_scene *scene = *state;
    play_under(scene,
               PERMIT TOOLS ") when { context.input has text && context.input.text like "
                            "\"rm *\" };",
               "", CALL("send", "rm all") CALL("send", "ls all") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", "rm all"), 0);
    assert_int_equal(scene_executions(scene, "send", "ls all"), 1);
}

#define FILES       "  tools: [{type: filesystem, read_only: false}]\n"
#define WRITE(path) CALLS(ONE("write_file", "{\"path\":\"" path "\",\"content\":\"x\"}"))

SCENE_TEST(policies_see_canonical_paths_and_the_text_as_it_was_written)
{
    struct agent_scene *scene = *state;
    play_under(scene,
               PERMIT TOOLS ") unless { context.input has path && context.input.path like "
                            "\"docs/*\" };\n" TOOLS
                            ") when { context.raw has path && context.raw.path like \"*//*\" };",
               FILES,
               WRITE("docs/a") WRITE("x/../docs/b") WRITE("docs/../Makefile") WRITE("docs//c")
                   FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"ok\""), 3);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"denied\""), 2);
}

SCENE_TEST(policies_see_which_tools_only_read)
{
    struct agent_scene *scene = *state;
    play_under(scene, PERMIT TOOLS ") unless { resource.read_only };", "",
               CALLS(ONE("look", "{\"text\":\"a\"}") "," ONE("put", "{\"text\":\"b\"}"))
                   FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "look", NULL), 1);
    assert_int_equal(scene_executions(scene, "put", NULL), 0);
}

SCENE_TEST(a_call_that_a_broken_policy_decides_is_denied)
{
    struct agent_scene *scene = *state;
    play_under(scene,
               PERMIT "@id(\"broken\") " TOOLS
                      ") when { context.iteration + 9223372036854775807 + 1 > 0 && false };",
               "", CALL("send", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 0);
    scene_last(scene, "step.denied", "reason", "policy_error");
}

SCENE_TEST(the_loops_own_tools_are_not_asked_about)
{
    struct agent_scene *scene = *state;
    play_under(scene, PERMIT TOOLS ");", "", FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "step.denied", NULL), 0);
}

/* ---- Approval ------------------------------------------------------------------------------- */

#define ASK_TO_SEND                                                                  \
    PERMIT "@id(\"ask\") @on_deny(\"ask\") @reason(\"it is public\") " TOOLS         \
           ") when { resource == Tool::\"send\" || resource == Tool::\"careful\" } " \
           "unless { context.approved };\n"

SCENE_TEST(a_person_approves_each_call_by_itself)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    play_under(scene, ASK_TO_SEND, "", CALL("send", "x") CALL("send", "y") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->questions, 2);
    assert_true(scene->is_once);
    assert_string_equal(scene->question, "send {\"text\":\"y\"}");
    assert_non_null(strstr(scene->why, "it is public"));
    assert_int_equal(scene_executions(scene, "send", NULL), 2);
    assert_int_equal(scene_events(scene, "step.denied", NULL), 0);
}

SCENE_TEST(a_person_may_not_approve)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_NO);
    play_under(scene, ASK_TO_SEND, "", CALL("send", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->questions, 1);
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"denied\""), 1);
}

SCENE_TEST(an_approved_call_needs_no_confirmation_as_well)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    play_under(scene, ASK_TO_SEND, "", CALL("careful", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->questions, 1);
    assert_int_equal(scene->call_count, 1);
}

SCENE_TEST(what_is_forbidden_for_good_is_not_asked)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    play_under(scene, ASK_TO_SEND TOOLS "== Tool::\"send\");", "",
               CALL("send", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"denied\""), 1);
}

SCENE_TEST(a_policy_that_no_approval_lifts_stays)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    play_under(scene, PERMIT "@id(\"ask\") @on_deny(\"ask\") " TOOLS "== Tool::\"send\");", "",
               CALL("send", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(scene->questions, 1);
}

/* ---- Models --------------------------------------------------------------------------------- */

SCENE_TEST(a_denied_model_ends_the_run)
{
    struct agent_scene *scene = *state;
    play_under(scene, PERMIT "@id(\"cheap\") " MODELS "== Model::\"turns.jsonl\");", "",
               FINISH("completed"), RONDO_POLICY_VIOLATION);
    assert_int_equal(scene->asks, 0);
    assert_int_equal(scene_events(scene, "model.requested", NULL), 0);
    scene_last(scene, "gate.denied", "action", "call_model");
    scene_last(scene, "gate.denied", "policy", "cheap");
    scene_ended_with(scene, "policy `cheap` forbids `call_model`");
}

SCENE_TEST(another_model_is_not_meant)
{
    play_under(*state, PERMIT MODELS "== Model::\"gpt\");", "", FINISH("completed"),
               RONDO_COMPLETED);
}

SCENE_TEST(policies_see_the_provider)
{
    struct agent_scene *scene = *state;
    play_under(scene, PERMIT MODELS ") when { resource.provider == \"scripted\" };", "",
               FINISH("completed"), RONDO_POLICY_VIOLATION);
    assert_int_equal(scene->asks, 0);
}

/* ---- Policies that change ------------------------------------------------------------------- */

/** An administrator acts while the call with the text "now" is made. */
static void replace_policies(struct agent_scene *scene, const struct tool *tool,
                             const struct tool_call *call)
{
    (void)tool;
    if (strcmp(json_get_string(call->arguments, "text", ""), "now") == 0) {
        set_policies(scene->world, scene->mine);
    }
}

static void play_change(struct agent_scene *scene, const char *policies, const char *turns,
                        enum rondo_status status)
{
    char text[512];
    snprintf(text, sizeof(text), "%s", policies);
    scene->mine = text;
    scene->on_tool = replace_policies;
    play_under(scene, PERMIT, "", turns, status);
    assert_int_equal(scene_events(scene, "policy.changed", NULL), 2);
    scene->mine = NULL;
}

SCENE_TEST(a_run_whose_model_was_denied_continues_when_it_is_permitted)
{
    struct agent_scene *scene = *state;
    play_change(scene, PERMIT MODELS ");", CALL("put", "now") FINISH("completed"),
                RONDO_POLICY_VIOLATION);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 0);
    set_policies(scene->world, PERMIT);
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
    assert_int_equal(scene->call_count, 1);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 1);
}

SCENE_TEST(a_lower_iteration_limit_counts_in_the_middle_of_an_iteration)
{
    struct agent_scene *scene = *state;
    play_change(scene, PERMIT "@id(\"few\") " ITERATE "unless { context.iteration < 1 };",
                SAY("1") CALL("put", "now") FINISH("completed"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene->asks, 2);
    assert_int_equal(loop_state(scene->loop)->finished, 1);
    scene_last(scene, "gate.denied", "policy", "few");
}

SCENE_TEST(a_lower_token_limit_counts_in_the_middle_of_an_iteration)
{
    struct agent_scene *scene = *state;
    play_change(scene, PERMIT ITERATE "when { context.tokens >= 10 };",
                "{\"tool_calls\":[" ONE("put", "{\"text\":\"now\"}") "]," USE(9, 1) "}\n" FINISH(
                    "completed"),
                RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 1);
}

SCENE_TEST(a_tool_may_be_forbidden_in_the_middle_of_an_iteration)
{
    struct agent_scene *scene = *state;
    play_change(scene, PERMIT TOOLS "== Tool::\"send\");",
                CALL("send", "a") CALL("put", "now") CALL("send", "b") FINISH("completed"),
                RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", "a"), 1);
    assert_int_equal(scene_executions(scene, "send", "b"), 0);
}

SCENE_TEST(a_tool_may_be_forbidden_between_two_calls_of_one_reply)
{
    struct agent_scene *scene = *state;
    play_change(scene, PERMIT TOOLS "== Tool::\"send\");",
                CALLS(ONE("put", "{\"text\":\"now\"}") "," ONE("send", "{\"text\":\"a\"}"))
                    FINISH("completed"),
                RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "put", "now"), 1);
    assert_int_equal(scene_executions(scene, "send", "a"), 0);
}

SCENE_TEST(a_policy_that_is_wrong_changes_nothing)
{
    struct agent_scene *scene = *state;
    char wrong[] = "permit (";
    scene->mine = wrong;
    scene->on_tool = replace_policies;
    play_under(scene, PERMIT TOOLS "== Tool::\"send\");", "",
               CALL("put", "now") CALL("send", "a") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", NULL), 0);
    assert_int_equal(scene_events(scene, "policy.refused", NULL), 1);
    scene->mine = NULL;
}

/* ---- The end -------------------------------------------------------------------------------- */

SCENE_TEST(a_finish_that_policies_deny_is_not_the_end)
{
    struct agent_scene *scene = *state;
    play_under(scene,
               PERMIT "forbid (principal, action == Action::\"finish\", resource) "
                      "when { context.iteration < 2 };",
               "", FINISH("completed") CALL("put", "x") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "step.denied", "\"action\":\"finish\""), 1);
    assert_int_equal(loop_state(scene->loop)->finished, 2);
    assert_int_equal(scene->asks, 3);
}

SCENE_TEST(a_condition_that_may_not_be_verified_is_not_met)
{
    struct agent_scene *scene = *state;
    scene->fixture->met = 1;
    play_under(scene,
               PERMIT "@id(\"blind\") forbid (principal, action == Action::\"verify\", resource);",
               "  autonomy:\n    exit_conditions:\n      - {name: a, command: 'true'}\n",
               FINISH("completed") FINISH("blocked"), RONDO_BLOCKED);
    assert_int_equal(scene->fixture->evaluations, 0);
    assert_int_equal(
        scene_events(scene, "tool.finished", "- a: not met, policy `blind` forbids `verify`"), 1);
}
