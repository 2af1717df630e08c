// SPDX-License-Identifier: Apache-2.0
/* Exit conditions of agents: what finish_task is answered, and conditions that tools verify. */
#include "agent_fixture.h"

#define AUTONOMY(lines)  "  autonomy:\n" lines
#define CONDITION_A      "      - {name: a, command: 'make a'}\n"
#define CONDITIONS(list) "    exit_conditions:\n" list
#define ONE_CONDITION    AUTONOMY(CONDITIONS(CONDITION_A))
#define TWO_CONDITIONS   AUTONOMY(CONDITIONS(CONDITION_A "      - {name: b, command: 'make b'}\n"))

/** The call with the text "fix" meets condition a, "both" meets b as well. */
static void fix(struct agent_scene *scene, const struct tool *tool, const struct tool_call *call)
{
    (void)tool;
    const char *text = json_get_string(call->arguments, "text", "");
    if (strcmp(text, "fix") == 0) {
        scene->fixture->met = 1;
    } else if (strcmp(text, "both") == 0) {
        scene->fixture->met = 3;
    }
}

/* ---- finish_task ---------------------------------------------------------------------------- */

SCENE_TEST(a_finish_is_rejected_with_what_failed)
{
    struct agent_scene *scene = *state;
    scene->on_tool = fix;
    scene_play(scene, ONE_CONDITION, FINISH("completed") CALL("put", "fix") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(
        scene_events(scene, "tool.finished",
                     "Error: the task is not finished, because exit conditions are not met:"
                     "\\n- a: not met, exit code 1 (verified by: make a)\\noutput of it\\n"
                     "\\nGo on, and call finish_task again when they are."),
        1);
    assert_int_equal(scene->asks, 3);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 1);
    scene_last(scene, "run.finished", "summary", "that is all");
}

SCENE_TEST(a_good_finish_is_verified_once)
{
    struct agent_scene *scene = *state;
    scene->fixture->met = 1;
    scene_play(scene, ONE_CONDITION, FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene->fixture->evaluations, 1);
    assert_int_equal(scene_events(scene, "verification.started", NULL), 1);
    scene_last(scene, "tool.finished", "output", "Task finished (completed).");
}

SCENE_TEST(each_finish_is_verified_anew)
{
    struct agent_scene *scene = *state;
    scene->on_tool = fix;
    scene_play(scene, ONE_CONDITION, FINISH("completed") CALL("put", "fix") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->fixture->evaluations, 2);
}

SCENE_TEST(what_is_met_and_what_is_not_is_told)
{
    struct agent_scene *scene = *state;
    scene->on_tool = fix;
    scene_play(scene, TWO_CONDITIONS,
               CALL("put", "fix") FINISH("completed") CALL("put", "both") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(
        scene_events(scene, "tool.finished", "\\n- a: met\\n- b: not met, exit code 1"), 1);
}

SCENE_TEST(work_beside_the_finish_counts_for_it)
{
    struct agent_scene *scene = *state;
    scene->on_tool = fix;
    scene_play(scene, ONE_CONDITION, CALLS(DONE("completed") "," ONE("put", "{\"text\":\"fix\"}")),
               RONDO_COMPLETED);
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene->fixture->evaluations, 1);
}

SCENE_TEST(an_agent_that_gives_up_is_believed)
{
    struct agent_scene *scene = *state;
    scene_play(scene, ONE_CONDITION, FINISH("blocked"), RONDO_BLOCKED);
    assert_int_equal(scene_events(scene, "tool.finished", "not met"), 0);
}

SCENE_TEST(met_conditions_complete_the_run_without_a_finish)
{
    struct agent_scene *scene = *state;
    scene->on_tool = fix;
    scene_play(scene, ONE_CONDITION, SAY("Hm.") CALL("put", "fix") SAY("There."), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 3);
    assert_int_equal(loop_state(scene->loop)->finished, 2);
    scene_ended_with(scene, "all exit conditions are met");
}

SCENE_TEST(a_finish_that_is_never_true_runs_into_the_limit)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "  guardrails:\n    max_iterations: 2\n" ONE_CONDITION,
               FINISH("completed") SAY("1") FINISH("completed") SAY("2"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene_events(scene, "tool.finished", "not met"), 2);
}

static void look_for_conditions(struct agent_scene *scene, const struct model_request *request)
{
    (void)scene;
    const char *last = request->messages[request->message_count - 1].bytes;
    assert_int_equal(strstr(last,
                            "(No plan created yet)\\n\\nEXIT CONDITIONS:\\n- a: not met, exit "
                            "code 1 (verified by: make a)\\noutput of it") != NULL,
                     request->turn == 2);
}

SCENE_TEST(later_iterations_are_shown_the_conditions)
{
    struct agent_scene *scene = *state;
    scene->on_ask = look_for_conditions;
    scene_play(scene, ONE_CONDITION, SAY("Hm.") FINISH("blocked"), RONDO_BLOCKED);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(a_resumed_agent_is_shown_the_same_conditions)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    scene->on_ask = look_for_conditions;
    scene_start(scene, ONE_CONDITION, SAY("Hm.") FINISH("blocked"));
    scene->fault = STORE_FAULT_BEFORE;
    scene_step(scene, &err);
    scene->crash_at = scene->commits + 3; /* that of the second request */
    assert_true(scene_run(scene, &err) < 0);
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene_events(scene, "verification.finished", NULL), 1);
    assert_int_equal(scene_events(scene, "model.requested", NULL), 1);
    scene_restart(scene);
    scene_expect(scene, RONDO_BLOCKED);
    assert_int_equal(scene->asks, 2);
}

/** Somebody stops the run while its conditions are evaluated. */
static void evaluate_and_stop(const struct verifier *verifier,
                              const struct loop_condition *condition, int64_t timeout_ns,
                              struct cancel *cancel, struct verify_result *ret_result)
{
    fixture_evaluate(verifier, condition, timeout_ns, cancel, ret_result);
    loop_stop(scene_now->loop, CANCEL_NOW);
}

SCENE_TEST(a_finish_that_was_cut_off_is_verified_again)
{
    struct agent_scene *scene = *state;
    scene->fixture->verifier.evaluate = evaluate_and_stop;
    scene_play(scene, ONE_CONDITION, FINISH("completed"), RONDO_CANCELLED);
    assert_int_equal(scene_events(scene, "tool.finished", NULL), 0);
    scene->fixture->verifier.evaluate = fixture_evaluate;
    scene->fixture->met = 1;
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->asks, 1);
    scene_last(scene, "run.finished", "summary", "that is all");
}

/* ---- Long outputs --------------------------------------------------------------------------- */

static size_t output_len;

static void evaluate_at_length(const struct verifier *verifier,
                               const struct loop_condition *condition, int64_t timeout_ns,
                               struct cancel *cancel, struct verify_result *ret_result)
{
    (void)verifier;
    (void)condition;
    (void)timeout_ns;
    (void)cancel;
    *ret_result = (struct verify_result){
        .status = RONDO_NOT_MET, .reason = RONDO_REASON_FAILED, .exit_code = 1};
    ret_result->output = memory_new(output_len + 1);
    memset(ret_result->output, 'x', output_len);
    ret_result->output[0] = 'A';
    ret_result->output[output_len] = '\0';
    ret_result->output_len = output_len;
    ret_result->output_total = output_len;
}

static void play_output(struct agent_scene *scene, size_t len)
{
    output_len = len;
    scene->fixture->verifier.evaluate = evaluate_at_length;
    scene_play(scene, ONE_CONDITION, FINISH("completed") FINISH("blocked"), RONDO_BLOCKED);
}

SCENE_TEST(an_output_that_fits_is_shown_whole)
{
    play_output(*state, 4096);
    assert_int_equal(scene_events(*state, "tool.finished", "make a)\\nAxxx"), 1);
}

SCENE_TEST(of_a_longer_output_the_end_is_shown)
{
    play_output(*state, 4097);
    assert_int_equal(scene_events(*state, "tool.finished", "make a)\\n[...]\\nxxx"), 1);
}

/* ---- Conditions that a tool verifies -------------------------------------------------------- */

/** What the tool of a condition answers. */
struct scan {
    int exit_code; /* -1 = none */
    bool is_error;
    bool is_late;
    unsigned calls;
    char arguments[128];
};

static struct scan scan;

static void run_scan(const struct tool *tool, const struct tool_call *call,
                     struct tool_result *ret_result)
{
    (void)tool;
    scan.calls++;
    snprintf(scan.arguments, sizeof(scan.arguments), "%s",
             json_object_to_json_string_ext(call->arguments, JSON_C_TO_STRING_PLAIN));
    buf_append_string(&ret_result->text, "3 findings");
    ret_result->is_error = scan.is_error;
    ret_result->has_exit_code = scan.exit_code >= 0;
    ret_result->exit_code = scan.exit_code;
    if (scan.is_late) {
        scene_now->fixture->now_ns = call->deadline_ns;
    }
}

#define SCAN                                             \
    "  tools:\n    - type: think\n" AUTONOMY(CONDITIONS( \
        "      - {name: clean, tool: think, arguments: {thought: all}, timeout_seconds: 7}\n"))

static void play_scan(struct agent_scene *scene, struct scan answer, const char *turns,
                      enum rondo_status status)
{
    scan = answer;
    scene_start(scene, SCAN, turns);
    const struct tool *tool = toolbox_find(scene->agent->toolbox, "think");
    ((struct tool *)(uintptr_t)tool)->run = run_scan;
    scene_expect(scene, status);
    assert_string_equal(scan.arguments, "{\"thought\":\"all\"}");
}

static void expect_unmet(struct agent_scene *scene, struct scan answer, const char *text)
{
    play_scan(scene, answer, FINISH("completed") FINISH("blocked"), RONDO_BLOCKED);
    assert_int_equal(scene_events(scene, "tool.finished", text), 1);
}

SCENE_TEST(a_tool_with_exit_code_zero_meets_its_condition)
{
    play_scan(*state, (struct scan){.exit_code = 0}, FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scan.calls, 1);
}

SCENE_TEST(a_tool_with_another_exit_code_does_not)
{
    expect_unmet(*state, (struct scan){.exit_code = 2}, "- clean: not met, exit code 2");
    scene_last(*state, "condition.evaluated", "output", "3 findings");
    scene_last(*state, "condition.evaluated", "reason", "failed");
}

SCENE_TEST(a_tool_without_an_exit_code_does_not)
{
    expect_unmet(*state, (struct scan){.exit_code = -1},
                 "- clean: not met, the tool's result has no exit code");
}

SCENE_TEST(a_tool_that_fails_does_not_even_with_exit_code_zero)
{
    expect_unmet(*state, (struct scan){.is_error = true},
                 "- clean: not met, the tool reports an error");
}

SCENE_TEST(a_tool_that_is_late_does_not)
{
    expect_unmet(*state, (struct scan){.is_error = true, .is_late = true},
                 "- clean: not met, no answer in time");
    scene_last(*state, "condition.evaluated", "reason", "timed_out");
}

SCENE_TEST(a_condition_cannot_name_a_tool_that_is_not_there)
{
    struct agent_scene *scene = *state;
    struct loop_spec spec;
    struct rondo_error err = {0};
    struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = ""};
    scene_script(scene, "");
    struct role *role =
        scene_role(scene, AUTONOMY(CONDITIONS("      - {name: clean, tool: scan}\n")));
    assert_int_equal(agent_spec(role, &options, &spec, NULL), 0);
    assert_int_equal(agent_open(scene->fixture->runtime, &spec, &scene->parts, &scene->agent, &err),
                     RONDO_ERR_NOT_FOUND);
    assert_string_equal(err.message, "exit condition clean: the agent has no tool 'scan'");
    loop_spec_fini(&spec);
    role_free(role);
}

SCENE_TEST(the_words_of_an_agent_that_gives_up_outlive_its_process)
{
    for (uint64_t i = 1; i <= 8; i++) {
        void *fresh = NULL;
        scene_up(&fresh);
        struct agent_scene *scene = fresh;
        struct rondo_error err = {0};
        scene->crash_at = i;
        scene->fault = STORE_FAULT_AFTER;
        scene_start(scene, AUTONOMY("    exit_conditions:\n      - {name: a, command: 'true'}\n"),
                    CALL("put", "a") FINISH("blocked"));
        if (scene_run(scene, &err) != LOOP_ENDED) {
            struct store_run run;
            struct store *memory = scene->fixture->memory;
            scene_crash(scene);
            memory->ops->get_run(memory, scene->world->run_id, &run, NULL);
            if (run.summary.status == RONDO_RUNNING) {
                scene_resume(scene);
                scene_expect(scene, RONDO_BLOCKED);
            }
        }
        scene_last(scene, "run.finished", "summary", "that is all");
        scene_down(&fresh);
    }
}
