// SPDX-License-Identifier: Apache-2.0
/* Bodies of role agents: what they ask, what ends them, and each of their guardrails. */
#include "agent_fixture.h"

#define AUTONOMY(lines)   "  autonomy:\n" lines
#define GUARDRAILS(lines) "  guardrails:\n" lines
#define CONTINUE(prompt)  "    continuation_prompt: \"" prompt "\"\n"
/** No run of these tests ends because it does nothing. */
#define IDLE "    max_no_tool_call_iterations: 0\n"

#define LOOK CALL("look", "x")

/** The prompt of the request with this number. */
struct prompt_search {
    int64_t turn;
    char text[4096];
};

static bool take_prompt(const struct store_event *event, void *context)
{
    struct prompt_search *search = context;
    auto_json struct json_object *data = NULL;
    if (strcmp(event->type, "model.requested") == 0 &&
        json_parse(event->data, event->data_len, &data, NULL) == 0 &&
        json_get_int(data, "turn", 0) == search->turn) {
        snprintf(search->text, sizeof(search->text), "%s",
                 json_get_string(data, "prompt", "(absent)"));
    }
    return true;
}

static void expect_prompt(const struct agent_scene *scene, int64_t turn, const char *expected)
{
    struct prompt_search search = {.turn = turn, .text = "(no request)"};
    struct store *store = scene->fixture->memory;
    store->ops->read_events(store, scene->world->run_id, 0, 0, take_prompt, &search, NULL);
    assert_string_equal(search.text, expected);
}

/* ---- One answer ----------------------------------------------------------------------------- */

static void play_single(struct agent_scene *scene, const char *turns, enum rondo_status status)
{
    struct agent_options options = {.mode = AGENT_SINGLE,
                                    .prompt = "How much is it?",
                                    .workspace = scene->world->folder,
                                    .system = "You test."};
    scene_script(scene, turns);
    scene_start_as(scene, "", &options);
    scene_expect(scene, status);
}

SCENE_TEST(a_single_answer_completes_the_run)
{
    struct agent_scene *scene = *state;
    play_single(scene, SAY("It is 42."), RONDO_COMPLETED);
    assert_string_equal(agent_words(scene->agent), "It is 42.");
    assert_int_equal(scene->asks, 1);
    expect_prompt(scene, 1, "How much is it?");
    scene_last(scene, "iteration.finished", "output", "It is 42.");
}

SCENE_TEST(a_single_answer_may_take_tools_first)
{
    struct agent_scene *scene = *state;
    play_single(scene, LOOK CALL("send", "y") SAY("Seen."), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 3);
    assert_int_equal(scene->call_count, 2);
    assert_int_equal(scene_events(scene, "iteration.started", NULL), 1);
    assert_string_equal(agent_words(scene->agent), "Seen.");
}

SCENE_TEST(tools_of_the_loop_are_not_there_in_a_single_answer)
{
    struct agent_scene *scene = *state;
    play_single(scene, FINISH("completed") SAY("Well."), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
    scene_last(scene, "tool.finished", "outcome", "error");
}

/* ---- Ends that the agent chooses ------------------------------------------------------------ */

static void expect_finish(struct agent_scene *scene, const char *turns, enum rondo_status status)
{
    scene_play(scene, "", turns, status);
    scene_last(scene, "run.finished", "summary", "that is all");
    scene_last(scene, "run.finished", "status", rondo_status_name(status));
}

SCENE_TEST(finish_task_completes_without_another_request)
{
    struct agent_scene *scene = *state;
    expect_finish(scene, LOOK FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
    scene_last(scene, "tool.finished", "output", "Task finished (completed).");
}

SCENE_TEST(finish_task_may_say_blocked)
{
    expect_finish(*state, FINISH("blocked"), RONDO_BLOCKED);
    scene_last(*state, "tool.finished", "output", "Task finished (blocked).");
}

SCENE_TEST(finish_task_may_say_failed)
{
    expect_finish(*state, FINISH("failed"), RONDO_FAILED);
}

SCENE_TEST(finish_task_without_a_status_completes)
{
    scene_play(*state, "", CALLS(ONE("finish_task", "{\"summary\":\"fine\"}")), RONDO_COMPLETED);
    scene_last(*state, "run.finished", "summary", "fine");
}

SCENE_TEST(finish_task_with_a_wrong_status_is_told_so)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", FINISH("great") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
    assert_int_equal(scene_events(scene, "tool.finished", "do not fit"), 1);
}

SCENE_TEST(a_finish_beside_other_calls_waits_for_them)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "",
               CALLS(DONE("completed") "," ONE("send", "{\"text\":\"a\"}") "," ONE(
                   "look", "{\"text\":\"b\"}")),
               RONDO_COMPLETED);
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene_executions(scene, "send", "a"), 1);
    assert_int_equal(scene_executions(scene, "look", "b"), 1);
    scene_last(scene, "tool.finished", "name", "finish_task");
}

SCENE_TEST(a_plan_that_comes_with_the_finish_is_taken)
{
    struct agent_scene *scene = *state;
    scene_play(
        scene, "",
        CALLS(DONE("completed") "," ONE(
            "update_plan", "{\"steps\":[{\"description\":\"all\",\"status\":\"completed\"}]}")),
        RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "plan.updated", "\"completed\""), 1);
    scene_last(scene, "tool.finished", "name", "finish_task");
}

SCENE_TEST(completion_beats_what_else_went_wrong)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    max_iterations: 1\n    autonomous_token_budget: 10\n"),
               "{\"tool_calls\":[" ONE("send", "{\"text\":\"break\"}") "," DONE(
                   "completed") "]," USE(900, 100) "}\n",
               RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "it broke"), 1);
    assert_int_equal(loop_state(scene->loop)->tokens, 1000);
}

/* ---- Prompts -------------------------------------------------------------------------------- */

SCENE_TEST(later_iterations_are_told_to_continue_with_an_empty_plan)
{
    struct agent_scene *scene = *state;
    scene_play(scene, AUTONOMY(CONTINUE("Go on.")), SAY("Hm.") FINISH("completed"),
               RONDO_COMPLETED);
    expect_prompt(scene, 1, "Do it.");
    expect_prompt(scene, 2, "Go on.\n\nCURRENT STATUS:\n(No plan created yet)");
}

SCENE_TEST(later_iterations_are_shown_the_plan)
{
    struct agent_scene *scene = *state;
    scene_play(
        scene, AUTONOMY(CONTINUE("Go on.")),
        CALLS(ONE("update_plan",
                  "{\"steps\":[{\"description\":\"read\",\"status\":\"completed\"},"
                  "{\"description\":\"write\",\"status\":\"in_progress\",\"notes\":\"half\"},"
                  "{\"description\":\"rest\"}]}")) SAY("Planned.") FINISH("completed"),
        RONDO_COMPLETED);
    expect_prompt(scene, 2, "(absent)"); /* the same iteration continues */
    expect_prompt(scene, 3,
                  "Go on.\n\nCURRENT STATUS:\nCurrent Plan:\n  1. [x] read (completed)\n"
                  "  2. [ ] write (in_progress)\n       half\n  3. [ ] rest (pending)");
    assert_int_equal(
        scene_events(scene, "tool.finished", "Plan updated: 1 completed, 1 in_progress, 1 pending"),
        1);
}

SCENE_TEST(steps_beyond_the_limit_are_dropped)
{
    struct agent_scene *scene = *state;
    scene_play(scene, AUTONOMY("    max_plan_steps: 2\n" CONTINUE("Go on.")),
               CALLS(ONE("update_plan", "{\"steps\":[{\"description\":\"a\"},{\"description\":"
                                        "\"b\"},{\"description\":\"c\"}]}")) SAY("Planned.")
                   FINISH("completed"),
               RONDO_COMPLETED);
    expect_prompt(scene, 3,
                  "Go on.\n\nCURRENT STATUS:\nCurrent Plan:\n  1. [ ] a (pending)\n"
                  "  2. [ ] b (pending)");
}

SCENE_TEST(a_plan_may_have_as_many_steps_as_the_limit)
{
    struct agent_scene *scene = *state;
    scene_play(
        scene, AUTONOMY("    max_plan_steps: 2\n"),
        CALLS(ONE("update_plan", "{\"steps\":[{\"description\":\"a\"},{\"description\":\"b\"}]}"))
            FINISH("completed"),
        RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "Plan updated: 2 pending"), 1);
}

SCENE_TEST(a_plan_that_is_none_is_refused_and_the_old_one_stays)
{
    struct agent_scene *scene = *state;
    scene_play(scene, AUTONOMY(CONTINUE("Go on.")),
               CALLS(ONE("update_plan", "{\"steps\":[{\"description\":\"a\"}]}"))
                   CALLS(ONE("update_plan", "{\"steps\":\"b\"}")) SAY("Well.") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "plan.updated", NULL), 1);
    expect_prompt(scene, 4, "Go on.\n\nCURRENT STATUS:\nCurrent Plan:\n  1. [ ] a (pending)");
}

SCENE_TEST(an_empty_plan_clears_it)
{
    struct agent_scene *scene = *state;
    scene_play(scene, AUTONOMY(CONTINUE("Go on.")),
               CALLS(ONE("update_plan", "{\"steps\":[{\"description\":\"a\"}]}"))
                   CALLS(ONE("update_plan", "{\"steps\":[]}")) SAY("Well.") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "Plan cleared."), 1);
    expect_prompt(scene, 4, "Go on.\n\nCURRENT STATUS:\n(No plan created yet)");
}

/* ---- Idle agents ---------------------------------------------------------------------------- */

SCENE_TEST(iterations_without_a_call_block_the_run)
{
    struct agent_scene *scene = *state;
    scene_play(scene, AUTONOMY("    max_no_tool_call_iterations: 3\n"),
               "{\"text\":\"Hm.\",\"forever\":true}", RONDO_BLOCKED);
    assert_int_equal(scene->asks, 3);
    scene_last(scene, "run.finished", "summary",
               "Stopped: no tool calls for 3 consecutive iterations.");
}

SCENE_TEST(a_call_begins_the_count_of_idle_iterations_again)
{
    struct agent_scene *scene = *state;
    scene_play(scene, AUTONOMY("    max_no_tool_call_iterations: 2\n"),
               SAY("1") LOOK SAY("2") SAY("3") LOOK SAY("4") SAY("5") SAY("6"), RONDO_BLOCKED);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 6);
    scene_last(scene, "run.finished", "summary",
               "Stopped: no tool calls for 2 consecutive iterations.");
}

SCENE_TEST(an_agent_may_be_allowed_to_idle)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    max_iterations: 5\n") AUTONOMY(IDLE),
               "{\"text\":\"Hm.\",\"forever\":true}", RONDO_MAX_ITERATIONS);
    assert_int_equal(scene->asks, 5);
}

SCENE_TEST(a_dry_run_is_blocked_after_two_iterations)
{
    struct agent_scene *scene = *state;
    struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = "", .is_dry_run = true};
    scene_start_as(scene, "", &options);
    scene_expect(scene, RONDO_BLOCKED);
    assert_int_equal(loop_state(scene->loop)->finished, 2);
    assert_string_equal(agent_words(scene->agent), "[dry-run] Simulated response.");
    scene_last(scene, "run.finished", "summary",
               "Stopped: no tool calls for 2 consecutive iterations.");
}

/* ---- Guardrails of an iteration ------------------------------------------------------------- */

static void expect_error(struct agent_scene *scene, const char *lines, const char *turns,
                         const char *message)
{
    scene_play(scene, lines, turns, RONDO_ERROR);
    scene_ended_with(scene, message);
}

SCENE_TEST(written_tokens_may_reach_their_limit)
{
    scene_play(*state, GUARDRAILS("    max_tokens_per_run: 100\n"),
               CALL_FOR(5000, 60) FINISH_FOR(5000, 40), RONDO_COMPLETED);
}

SCENE_TEST(written_tokens_may_not_pass_their_limit)
{
    struct agent_scene *scene = *state;
    expect_error(scene, GUARDRAILS("    max_tokens_per_run: 100\n"),
                 CALL_FOR(5000, 60) FINISH_FOR(5000, 41),
                 "Usage limit exceeded: 101 tokens in one iteration; max_tokens_per_run is 100");
    assert_int_equal(loop_state(scene->loop)->tokens, 10101);
}

SCENE_TEST(nothing_is_asked_once_the_written_tokens_are_used_up)
{
    struct agent_scene *scene = *state;
    expect_error(scene, GUARDRAILS("    max_tokens_per_run: 100\n"),
                 CALL_FOR(1, 100) FINISH_FOR(1, 1), "Usage limit exceeded: 100 tokens");
    assert_int_equal(scene->asks, 1);
    assert_int_equal(scene_executions(scene, "look", NULL), 1);
}

SCENE_TEST(each_iteration_has_its_own_tokens)
{
    scene_play(*state, GUARDRAILS("    max_tokens_per_run: 100\n") AUTONOMY(IDLE),
               SAY_FOR(1, 100) SAY_FOR(1, 100) FINISH_FOR(1, 100), RONDO_COMPLETED);
}

SCENE_TEST(read_tokens_may_reach_their_limit)
{
    scene_play(*state, GUARDRAILS("    input_tokens_limit: 100\n"),
               CALL_FOR(60, 900) FINISH_FOR(40, 900), RONDO_COMPLETED);
}

SCENE_TEST(read_tokens_may_not_pass_their_limit)
{
    expect_error(*state, GUARDRAILS("    input_tokens_limit: 100\n"),
                 CALL_FOR(60, 900) FINISH_FOR(41, 900),
                 "Usage limit exceeded: 101 tokens in one iteration; input_tokens_limit is 100");
}

SCENE_TEST(all_tokens_may_reach_their_limit)
{
    scene_play(*state, GUARDRAILS("    total_tokens_limit: 100\n"),
               CALL_FOR(30, 20) FINISH_FOR(30, 20), RONDO_COMPLETED);
}

SCENE_TEST(all_tokens_may_not_pass_their_limit)
{
    expect_error(*state, GUARDRAILS("    total_tokens_limit: 100\n"),
                 CALL_FOR(30, 20) FINISH_FOR(30, 21),
                 "Usage limit exceeded: 101 tokens in one iteration; total_tokens_limit is 100");
}

#define PER_REQUEST GUARDRAILS("    per_request_input_tokens_limit: 100\n")

SCENE_TEST(each_request_may_reach_its_own_limit)
{
    scene_play(*state, PER_REQUEST, CALL_FOR(100, 1) FINISH_FOR(100, 1), RONDO_COMPLETED);
}

SCENE_TEST(no_request_may_pass_its_own_limit)
{
    struct agent_scene *scene = *state;
    expect_error(scene, PER_REQUEST, CALL_FOR(101, 1) FINISH_FOR(1, 1),
                 "Usage limit exceeded: 101 input tokens in one request; "
                 "per_request_input_tokens_limit is 100");
    assert_int_equal(scene->asks, 1);
}

#define TWO_LOOKS ONE("look", "{\"text\":\"1\"}") "," ONE("look", "{\"text\":\"2\"}")

SCENE_TEST(calls_may_reach_their_limit)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    max_tool_calls: 3\n"), CALLS(TWO_LOOKS) FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 2);
}

SCENE_TEST(calls_beyond_their_limit_are_not_made)
{
    struct agent_scene *scene = *state;
    expect_error(scene, GUARDRAILS("    max_tool_calls: 3\n"), CALLS(TWO_LOOKS) CALLS(TWO_LOOKS),
                 "Usage limit exceeded: 4 tool calls in one iteration; max_tool_calls is 3");
    assert_int_equal(scene->call_count, 2);
}

SCENE_TEST(an_agent_without_calls_may_only_speak)
{
    struct agent_scene *scene = *state;
    expect_error(scene, GUARDRAILS("    max_tool_calls: 0\n"), SAY("Hm.") LOOK,
                 "Usage limit exceeded: 1 tool calls in one iteration; max_tool_calls is 0");
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(loop_state(scene->loop)->finished, 2);
}

SCENE_TEST(each_iteration_has_its_own_calls)
{
    scene_play(*state, GUARDRAILS("    max_tool_calls: 1\n"),
               LOOK SAY("1") LOOK SAY("2") FINISH("completed"), RONDO_COMPLETED);
}

SCENE_TEST(calls_that_were_refused_are_not_made_by_a_resume)
{
    struct agent_scene *scene = *state;
    expect_error(scene, GUARDRAILS("    max_tool_calls: 1\n"),
                 CALLS(ONE("send", "{\"text\":\"a\"}") "," ONE("send", "{\"text\":\"b\"}"))
                     FINISH("completed"),
                 "max_tool_calls is 1");
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(requests_may_reach_their_limit)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    max_request_limit: 3\n"), LOOK LOOK FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene->asks, 3);
}

SCENE_TEST(requests_may_not_pass_their_limit)
{
    struct agent_scene *scene = *state;
    expect_error(scene, GUARDRAILS("    max_request_limit: 3\n"),
                 LOOK LOOK LOOK FINISH("completed"),
                 "Usage limit exceeded: 3 model requests in one iteration; max_request_limit is 3");
    assert_int_equal(scene->asks, 3);
    assert_int_equal(scene->call_count, 3);
}

#define LOOK_FOREVER "{\"tool_calls\":[" ONE("look", "{\"text\":\"x\"}") "],\"forever\":true}"

SCENE_TEST(there_are_thirty_requests_where_few_calls_are_allowed)
{
    struct agent_scene *scene = *state;
    /* A reply without calls would end the iteration, so the twenty calls are made first. */
    expect_error(scene, GUARDRAILS("    max_tool_calls: 20\n"), LOOK_FOREVER, "max_tool_calls is");
    assert_int_equal(scene->asks, 21);
}

SCENE_TEST(there_are_ten_requests_more_than_calls)
{
    struct agent_scene *scene = *state;
    scene_start(scene, GUARDRAILS("    max_tool_calls: 40\n"), LOOK_FOREVER);
    scene->agent->memory.iteration = 1; /* as if 49 requests had been made by then */
    scene->agent->memory.usage.requests = 49;
    scene_expect(scene, RONDO_ERROR);
    assert_int_equal(scene->asks, 1);
    scene_ended_with(scene, "50 model requests in one iteration; max_request_limit is 50");
}

SCENE_TEST(there_are_thirty_requests_at_least)
{
    struct agent_scene *scene = *state;
    scene_start(scene, GUARDRAILS("    max_tool_calls: 5\n"), LOOK_FOREVER);
    scene->agent->memory.iteration = 1;
    scene->agent->memory.usage.requests = 29;
    scene_expect(scene, RONDO_ERROR);
    assert_int_equal(scene->asks, 1);
    scene_ended_with(scene, "30 model requests in one iteration; max_request_limit is 30");
}

static void take_two_seconds(struct agent_scene *scene, const struct tool *tool,
                             const struct tool_call *call)
{
    (void)tool;
    (void)call;
    scene->fixture->now_ns += 2 * NS_PER_S;
}

SCENE_TEST(an_iteration_may_take_less_than_its_time)
{
    struct agent_scene *scene = *state;
    scene->on_tool = take_two_seconds;
    scene_play(scene, GUARDRAILS("    timeout_seconds: 5\n"), LOOK LOOK FINISH("completed"),
               RONDO_COMPLETED);
}

static void expect_three_seconds(struct agent_scene *scene, const struct tool *tool,
                                 const struct tool_call *call)
{
    (void)tool;
    assert_int_equal(call->deadline_ns - clock_monotonic(runtime_clock(scene->fixture->runtime)),
                     3 * NS_PER_S);
}

SCENE_TEST(a_call_has_the_time_that_the_role_gives_calls)
{
    struct agent_scene *scene = *state;
    scene->on_tool = expect_three_seconds;
    scene_play(scene, "  execution: {tool_timeout_seconds: 3}\n", LOOK FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "look", NULL), 1);
}

SCENE_TEST(a_call_has_no_more_time_than_its_iteration)
{
    struct agent_scene *scene = *state;
    scene->on_tool = expect_three_seconds;
    scene_play(scene,
               "  execution: {tool_timeout_seconds: 9}\n" GUARDRAILS("    timeout_seconds: 3\n"),
               LOOK FINISH("completed"), RONDO_COMPLETED);
}

SCENE_TEST(an_iteration_that_takes_all_its_time_ends_the_run)
{
    struct agent_scene *scene = *state;
    scene->on_tool = take_two_seconds;
    expect_error(scene, GUARDRAILS("    timeout_seconds: 4\n"), LOOK LOOK FINISH("completed"),
                 "TimeoutError: the iteration took longer than timeout_seconds, 4 s");
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(a_reply_that_takes_too_long_ends_the_run)
{
    expect_error(*state, GUARDRAILS("    timeout_seconds: 4\n"),
                 "{\"text\":\"late\",\"delay_ms\":4000}\n", "TimeoutError: the iteration took");
    scene_last(*state, "model.replied", "outcome", "timed_out");
}

SCENE_TEST(each_iteration_has_its_own_time)
{
    scene_play(*state, GUARDRAILS("    timeout_seconds: 4\n") AUTONOMY(IDLE),
               "{\"text\":\"slow\",\"delay_ms\":3999,\"repeat\":4}\n" FINISH("completed"),
               RONDO_COMPLETED);
}

/* ---- Guardrails of the run ------------------------------------------------------------------ */

SCENE_TEST(the_last_iteration_may_finish)
{
    scene_play(*state, GUARDRAILS("    max_iterations: 3\n") AUTONOMY(IDLE),
               SAY("1") SAY("2") FINISH("completed"), RONDO_COMPLETED);
}

SCENE_TEST(no_iteration_follows_the_last)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    max_iterations: 2\n") AUTONOMY(IDLE),
               SAY("1") SAY("2") FINISH("completed"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(a_caller_may_give_other_limits_than_the_role)
{
    struct agent_scene *scene = *state;
    struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = "", .max_iterations = 3};
    scene_script(scene, "{\"text\":\"Hm.\",\"forever\":true}");
    scene_start_as(scene, GUARDRAILS("    max_iterations: 2\n") AUTONOMY(IDLE), &options);
    scene_expect(scene, RONDO_MAX_ITERATIONS);
    assert_int_equal(scene->asks, 3);
}

SCENE_TEST(the_budget_may_be_used_up_by_the_last_request)
{
    scene_play(*state, GUARDRAILS("    autonomous_token_budget: 100\n") AUTONOMY(IDLE),
               SAY_FOR(40, 10) FINISH_FOR(40, 10), RONDO_COMPLETED);
}

SCENE_TEST(no_iteration_begins_once_the_budget_is_used_up)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    autonomous_token_budget: 100\n") AUTONOMY(IDLE),
               SAY_FOR(40, 10) SAY_FOR(40, 10) FINISH_FOR(1, 1), RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 2);
    assert_int_equal(loop_state(scene->loop)->tokens, 100);
}

SCENE_TEST(the_budget_is_looked_at_before_each_request)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    autonomous_token_budget: 100\n"),
               CALL_FOR(80, 19) CALL_FOR(0, 1) FINISH_FOR(1, 1), RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 2);
    assert_int_equal(scene->call_count, 2);
    assert_int_equal(loop_state(scene->loop)->finished, 0);
    scene_ended_with(scene, "the limit of 100 tokens is used up");
}

SCENE_TEST(an_iteration_that_was_cut_by_the_budget_continues_with_more)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    autonomous_token_budget: 50\n"),
               CALL_FOR(40, 10) FINISH_FOR(1, 1), RONDO_BUDGET_EXCEEDED);
    scene_crash(scene);
    struct loop_spec spec;
    assert_int_equal(loop_recorded_spec(scene->fixture->store, scene->world->run_id, &spec, NULL),
                     0);
    loop_spec_fini(&spec);
    scene_resume(scene);
    scene_expect(scene, RONDO_BUDGET_EXCEEDED); /* It is still used up. */
    assert_int_equal(scene->asks, 1);
}

SCENE_TEST(tokens_of_failed_replies_count)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", "{\"error\":\"overloaded\"," USE(70, 7) "}\n", RONDO_ERROR);
    assert_int_equal(loop_state(scene->loop)->tokens, 77);
    scene_last(scene, "iteration.finished", "outcome", "error");
    struct json_object *data = last_event(scene->world, "iteration.finished");
    assert_int_equal(json_get_int(data, "tokens", 0), 77);
    json_object_put(data);
}

SCENE_TEST(the_time_of_the_run_is_looked_at_before_each_request)
{
    struct agent_scene *scene = *state;
    scene->on_tool = take_two_seconds;
    scene_play(scene, GUARDRAILS("    autonomous_timeout_seconds: 4\n"),
               LOOK LOOK FINISH("completed"), RONDO_TIMEOUT);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(a_run_may_take_less_than_its_time)
{
    struct agent_scene *scene = *state;
    scene->on_tool = take_two_seconds;
    scene_play(scene, GUARDRAILS("    autonomous_timeout_seconds: 5\n"),
               LOOK LOOK FINISH("completed"), RONDO_COMPLETED);
}

SCENE_TEST(no_iteration_begins_once_the_time_is_used_up)
{
    struct agent_scene *scene = *state;
    scene_play(scene, GUARDRAILS("    autonomous_timeout_seconds: 4\n") AUTONOMY(IDLE),
               "{\"text\":\"slow\",\"delay_ms\":2000,\"forever\":true}\n", RONDO_TIMEOUT);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(the_delay_lies_between_iterations_only)
{
    struct agent_scene *scene = *state;
    int64_t begin_ns = scene->fixture->now_ns;
    scene_play(scene, AUTONOMY(IDLE "    iteration_delay_seconds: 1.5\n"),
               SAY("1") SAY("2") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene->fixture->now_ns - begin_ns, 3 * NS_PER_S);
}

SCENE_TEST(the_delay_does_not_follow_the_last_iteration)
{
    struct agent_scene *scene = *state;
    int64_t begin_ns = scene->fixture->now_ns;
    scene_play(scene,
               GUARDRAILS("    max_iterations: 2\n")
                   AUTONOMY(IDLE "    iteration_delay_seconds: 2\n"),
               SAY("1") SAY("2"), RONDO_MAX_ITERATIONS);
    assert_true(scene->fixture->now_ns - begin_ns <= 2 * NS_PER_S);
}

/* ---- Models that fail ----------------------------------------------------------------------- */

TEST(every_failure_of_a_model_ends_the_run_and_can_be_resumed)
{
    for (enum model_failure i = MODEL_RATE_LIMITED; i < MODEL_CANCELLED; i++) {
        void *fresh = NULL;
        scene_up(&fresh);
        struct agent_scene *scene = fresh;
        char turns[512];
        snprintf(turns, sizeof(turns),
                 LOOK "{\"error\":\"%s\",\"message\":\"no luck\"," USE(5, 0) "}\n",
                 model_failure_name(i));
        scene_start(scene, "", turns);
        scene_expect(scene, RONDO_ERROR);
        scene_ended_with(scene, "Model API error: no luck");
        scene_last(scene, "model.replied", "outcome", model_failure_name(i));
        scene_script(scene, LOOK FINISH("completed"));
        scene_restart(scene);
        scene_expect(scene, RONDO_COMPLETED);
        assert_int_equal(scene->asks, 3);
        struct json_object *data = last_event(scene->world, "model.replied");
        assert_int_equal(json_get_int(data, "turn", 0), 2);
        json_object_put(data);
        data = last_event(scene->world, "model.requested");
        assert_int_equal(json_get_int(data, "attempt", 0), 2);
        json_object_put(data);
        assert_int_equal(scene_executions(scene, "look", NULL), 1);
        assert_int_equal(loop_state(scene->loop)->tokens, 5);
        scene_down(&fresh);
    }
}

SCENE_TEST(the_first_request_may_fail_and_be_repeated)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", "{\"error\":\"unreachable\"}\n", RONDO_ERROR);
    scene_script(scene, "{\"tool_calls\":[" DONE(
                            "completed") "],\"expect\":{\"any_contains\":\"Do it.\"}}\n");
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(a_script_that_is_over_ends_the_run)
{
    scene_play(*state, "", LOOK, RONDO_ERROR);
    scene_ended_with(*state, "the script has no turn 2");
}

/* ---- The window ----------------------------------------------------------------------------- */

static void look_at_window(struct agent_scene *scene, const struct model_request *request)
{
    size_t *most = scene->mine;
    assert_int_equal(request->messages[0].kind, MODEL_USER);
    assert_non_null(strstr(request->messages[0].bytes, "Do it."));
    for (size_t i = 0; i < request->message_count; i++) {
        bool is_answer = request->messages[i].kind == MODEL_TOOL_RESULTS;
        assert_true(!is_answer || request->messages[i - 1].kind == MODEL_ASSISTANT);
    }
    *most = request->message_count > *most ? request->message_count : *most;
}

SCENE_TEST(the_window_bounds_what_is_sent_over_many_iterations)
{
    struct agent_scene *scene = *state;
    size_t most = 0;
    scene->mine = &most;
    scene->on_ask = look_at_window;
    auto_buf struct buf turns = {0};
    for (int i = 0; i < 50; i++) {
        buf_append_string(&turns, LOOK SAY("next"));
    }
    scene_play(scene,
               GUARDRAILS("    max_iterations: 50\n") AUTONOMY("    max_history_messages: 7\n"),
               buf_string(&turns), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene->asks, 100);
    assert_true(scene_events(scene, "history.trimmed", NULL) > 40);
    assert_true(most >= 7);
    assert_true(most <= 7 + 3); /* the window, and the iteration's prompt, call and answer */
}

SCENE_TEST(a_window_of_one_keeps_the_first_message)
{
    struct agent_scene *scene = *state;
    size_t most = 0;
    scene->mine = &most;
    scene->on_ask = look_at_window;
    scene_play(scene, AUTONOMY("    max_history_messages: 1\n"),
               LOOK SAY("1") LOOK SAY("2") LOOK SAY("3") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(most, 4);
}

static void look_at_bytes(struct agent_scene *scene, const struct model_request *request)
{
    size_t *most = scene->mine;
    size_t bytes = 0;
    for (size_t i = 0; i < request->message_count; i++) {
        bytes += request->messages[i].len;
    }
    *most = bytes > *most ? bytes : *most;
}

SCENE_TEST(the_window_of_the_model_bounds_what_is_sent)
{
    struct agent_scene *scene = *state;
    size_t most = 0;
    scene->mine = &most;
    scene->on_ask = look_at_bytes;
    auto_buf struct buf turns = {0};
    for (int i = 0; i < 20; i++) {
        buf_append_string(&turns, LOOK SAY("0123456789012345678901234567890123456789"));
    }
    scene_play(scene,
               "  model: {provider: scripted, name: turns.jsonl, context_window: 700}\n" GUARDRAILS(
                   "    max_iterations: 20\n"),
               buf_string(&turns), RONDO_MAX_ITERATIONS);
    assert_true(scene_events(scene, "history.trimmed", NULL) > 5);
    assert_in_range(most, 1000, 2100 + 1000); /* the window, and one iteration */
}

SCENE_TEST(a_conversation_that_fits_is_not_trimmed)
{
    struct agent_scene *scene = *state;
    scene_play(scene,
               AUTONOMY("    max_history_messages: 4\n" IDLE) GUARDRAILS("    max_iterations: 2\n"),
               SAY("1") SAY("2"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene_events(scene, "history.trimmed", NULL), 0);
}

SCENE_TEST(one_message_more_than_fits_is_trimmed)
{
    struct agent_scene *scene = *state;
    scene_play(scene,
               AUTONOMY("    max_history_messages: 3\n" IDLE) GUARDRAILS("    max_iterations: 2\n"),
               SAY("1") SAY("2"), RONDO_MAX_ITERATIONS);
    assert_int_equal(scene_events(scene, "history.trimmed", NULL), 1);
    assert_int_equal(scene_events(scene, "history.trimmed", "\"messages\":4,\"dropped\":1"), 1);
}
