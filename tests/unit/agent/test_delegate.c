// SPDX-License-Identifier: Apache-2.0
/*
 * Work for other roles: runs of their own, whose rights, limits and ends are those of the run that
 * gave them away, too; also when processes die.
 */
#include "agent_fixture.h"

#include "agent/spec/delegates.h"
#include "store/find.h"

#define ENTRY(more) \
    "  tools:\n    - {type: delegate, " more "agents: [{name: helper, role_file: helper.yaml}]}\n"
#define ASK(text) CALLS(ONE("delegate_to_helper", "{\"prompt\":\"" text "\"}"))
#define HELPER(more)                                                                            \
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: helper, description: It helps}\n" \
    "spec:\n  role: You help.\n  model: {provider: scripted, name: helper.jsonl}\n" more

static void write_in(const struct agent_scene *scene, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", scene->world->folder, name);
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

static void begin(struct agent_scene *scene, const char *lines, const char *turns)
{
    const struct agent_options options = {.prompt = "Do it.",
                                          .workspace = scene->world->folder,
                                          .system = "You test.",
                                          .is_file_named = true};
    scene_script(scene, turns);
    scene_start_as(scene, lines, &options);
}

/** A helper that answers so, and a run that asks it. */
static void play(struct agent_scene *scene, const char *helper, const char *answers,
                 const char *lines, const char *turns)
{
    write_in(scene, "helper.yaml", helper);
    write_in(scene, "helper.jsonl", answers);
    begin(scene, lines, turns);
}

struct run_listing {
    char ids[32][ID_SIZE];
    struct store_run rows[32];
    size_t count;
};

static bool list_run(const struct store_run *run, void *context)
{
    struct run_listing *listing = context;
    assert_true(listing->count < 32);
    listing->rows[listing->count++] = *run;
    return true;
}

/** Runs in the store that are not the scene's. */
static size_t others(const struct agent_scene *scene, struct run_listing *ret_listing)
{
    struct store *store = scene->fixture->memory;
    const struct store_run_query query = {0};
    struct run_listing all = {0};
    *ret_listing = (struct run_listing){0};
    assert_int_equal(store->ops->list_runs(store, &query, list_run, &all, NULL), 0);
    for (size_t i = 0; i < all.count; i++) {
        if (strcmp(all.rows[i].id, scene->world->run_id) != 0) {
            ret_listing->rows[ret_listing->count++] = all.rows[i];
        }
    }
    return ret_listing->count;
}

SCENE_TEST(the_answer_of_the_other_agent_is_the_result_of_the_call)
{
    struct agent_scene *scene = *state;
    struct run_listing runs;
    play(scene, HELPER(""), "{\"text\":\"Forty-two.\"," USE(100, 11) "}\n", ENTRY(""),
         ASK("What is it?") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "Forty-two."), 1);
    assert_int_equal(others(scene, &runs), 1);
    assert_string_equal(runs.rows[0].agent_id, "helper");
    assert_int_equal(runs.rows[0].summary.status, RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "delegation.finished", "\"outcome\":\"completed\""), 1);
    assert_int_equal(scene_events(scene, "delegation.finished", runs.rows[0].id), 1);
    assert_int_equal(scene_events(scene, "delegation.finished", "\"tokens\":111"), 1);
    assert_true(loop_state(scene->loop)->tokens >= 111);
}

static const char *squatter;

/** A tenant of the store has made runs with the ids that runs get here. */
static int get_squatted(struct store *store, const char *run_id, struct store_run *ret_run,
                        struct rondo_error *err)
{
    (void)store;
    struct store *memory = scene_now->fixture->memory;
    int r = memory->ops->get_run(memory, run_id, ret_run, err);
    if (r == RONDO_ERR_NOT_FOUND && squatter != NULL) {
        *ret_run = (struct store_run){.ended_ns = 1,
                                      .summary = {.status = RONDO_COMPLETED, .tokens = 1000000}};
        snprintf(ret_run->id, sizeof(ret_run->id), "%s", run_id);
        snprintf(ret_run->agent_id, sizeof(ret_run->agent_id), "%s", squatter);
        return 0;
    }
    return r;
}

SCENE_TEST(a_run_that_another_agent_has_made_with_its_id_is_neither_read_nor_executed)
{
    struct agent_scene *scene = *state;
    static struct store_ops ops;
    ops = *scene->fixture->store->ops;
    ops.get_run = get_squatted;
    scene->fixture->store->ops = &ops;
    squatter = "stranger";
    play(scene, HELPER(""), "{\"text\":\"Forty-two.\"}\n", ENTRY(""),
         ASK("What is it?") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    squatter = NULL;
    assert_int_equal(
        scene_events(scene, "tool.finished", "is there already, and is one of stranger"), 1);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(the_other_run_says_who_gave_it_away_and_cannot_be_opened_alone)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct run_listing runs;
    struct loop_spec spec;
    struct agent *agent = NULL;
    char parent[ID_SIZE];
    play(scene, HELPER(""), SAY("x"), ENTRY(""), ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    others(scene, &runs);
    assert_int_equal(loop_recorded_spec(scene->fixture->memory, runs.rows[0].id, &spec, &err), 0);
    assert_true(delegates_find_parent(&spec, parent));
    assert_string_equal(parent, scene->world->run_id);
    assert_true(agent_open(scene->fixture->runtime, &spec, &scene->parts, &agent, &err) < 0);
    assert_non_null(strstr(err.message, "resume that one"));
    assert_non_null(strstr(err.message, scene->world->run_id));
    loop_spec_fini(&spec);
}

SCENE_TEST(the_last_run_is_the_one_that_gives_work_away)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct store_run last;
    play(scene, HELPER(""), SAY("x"), ENTRY(""), ASK("a") ASK("b") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(store_find_run(scene->fixture->memory, "last", NULL, &last, &err), 0);
    assert_string_equal(last.id, scene->world->run_id);
    assert_int_equal(store_find_run(scene->fixture->memory, "last", "helper", &last, &err), 0);
    assert_string_equal(last.agent_id, "helper");
}

SCENE_TEST(what_fails_there_is_an_error_that_the_model_reads)
{
    struct agent_scene *scene = *state;
    play(scene, HELPER(""), "{\"error\":\"bad_request\",\"message\":\"no luck\"}\n", ENTRY(""),
         ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    scene_last_has(scene, "tool.finished", "output", "");
    assert_int_equal(
        scene_events(scene, "tool.finished", "[DELEGATION ERROR] agent 'helper' ended as error"),
        1);
    assert_int_equal(scene_events(scene, "tool.finished", "no luck"), 1);
}

SCENE_TEST(a_prompt_has_a_size)
{
    struct agent_scene *scene = *state;
    auto_buf struct buf turns = {0};
    auto_buf struct buf words = {0};
    while (words.len <= (size_t)LIMIT_DELEGATION_BYTES) {
        buf_append_string(&words, "xxxxxxxx");
    }
    buf_printf(&turns,
               "%s{\"tool_calls\":[{\"name\":\"delegate_to_helper\",\"arguments\":{"
               "\"prompt\":\"%s\"}}]}\n%s",
               ASK(""), buf_string(&words), FINISH("completed"));
    play(scene, HELPER(""), SAY("x"), ENTRY(""), buf_string(&turns));
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "[DELEGATION ERROR] a prompt has 1 to"),
                     2);
}

SCENE_TEST(a_circle_of_roles_ends_at_the_depth)
{
    struct agent_scene *scene = *state;
    struct run_listing runs;
    play(scene, HELPER(ENTRY("max_depth: 3, ")),
         "{\"tool_calls\":[" ONE(
             "delegate_to_helper",
             "{\"prompt\":\"again\"}") "],\"turn\":1}\n"
                                       "{\"text\":\"That was it.\",\"turn\":2}\n",
         ENTRY("max_depth: 3, "), ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(others(scene, &runs), 3);
    assert_int_equal(scene_events(scene, "tool.finished", "That was it."), 1);
}

SCENE_TEST(the_role_is_as_it_was_when_the_run_was_made)
{
    struct agent_scene *scene = *state;
    play(scene, HELPER(""), SAY("the first one"), ENTRY(""), ASK("a") FINISH("completed"));
    write_in(scene, "helper.yaml", "not even YAML: [");
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "the first one"), 1);
}

SCENE_TEST(a_role_that_is_wrong_or_missing_is_found_before_the_run)
{
    struct agent_scene *scene = *state;
    struct loop_spec spec;
    struct rondo_error err = {0};
    const struct agent_options options = {.prompt = "Do it.",
                                          .workspace = scene->world->folder,
                                          .system = "You test.",
                                          .is_file_named = true};
    struct role *role = scene_role(scene, ENTRY(""));
    assert_true(agent_spec(role, &options, &spec, &err) < 0);
    assert_non_null(strstr(err.message, "/helper.yaml"));
    write_in(scene, "helper.yaml", "apiVersion: initrunner/v1\nkind: Agent\n");
    assert_int_equal(agent_spec(role, &options, &spec, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "/helper.yaml"));
    write_in(scene, "helper.yaml", HELPER(""));
    struct agent_options text = options;
    text.is_file_named = false;
    assert_int_equal(agent_spec(role, &text, &spec, &err), RONDO_ERR_DENIED);
    role_free(role);
}

SCENE_TEST(there_is_a_most_of_roles)
{
    struct agent_scene *scene = *state;
    struct loop_spec spec;
    struct rondo_error err = {0};
    auto_buf struct buf lines = {0};
    const struct agent_options options = {.prompt = "Do it.",
                                          .workspace = scene->world->folder,
                                          .system = "You test.",
                                          .is_file_named = true};
    buf_append_string(&lines, "  tools:\n    - type: delegate\n      agents:\n");
    for (int i = 0; i <= LIMIT_DELEGATES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "h%d.yaml", i);
        write_in(scene, name, HELPER(""));
        buf_printf(&lines, "        - {name: h%d, role_file: h%d.yaml}\n", i, i);
    }
    struct role *role = scene_role(scene, buf_string(&lines));
    assert_int_equal(agent_spec(role, &options, &spec, &err), RONDO_ERR_LIMIT);
    role_free(role);
}

SCENE_TEST(policies_of_the_one_who_asks_hold_for_the_other)
{
    struct agent_scene *scene = *state;
    set_policies(scene->world,
                 "permit (principal, action, resource);\n"
                 "forbid (principal == Agent::\"tester\", action == Action::\"call_tool\", "
                 "resource == Tool::\"think\");\n");
    play(scene, HELPER("  tools: [{type: think}]\n"),
         CALLS(ONE("think", "{\"thought\":\"t\"}")) SAY("I was not allowed."),
         ENTRY("") "  policy: p.cedar\n", ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    struct run_listing runs;
    assert_int_equal(others(scene, &runs), 1);
    struct fixture_count count = {.type = "tool.finished", .text = "\"outcome\":\"denied\""};
    (void)count;
    struct policy_world other = *scene->world;
    snprintf(other.run_id, sizeof(other.run_id), "%s", runs.rows[0].id);
    assert_int_equal(events(&other, "step.denied", "think"), 1);
    assert_int_equal(events(&other, "tool.finished", "\"outcome\":\"denied\""), 1);
}

SCENE_TEST(limits_of_the_one_who_asks_end_the_other)
{
    struct agent_scene *scene = *state;
    struct run_listing runs;
    play(scene, HELPER("  tools: [{type: think}]\n"),
         "{\"tool_calls\":[" ONE("think",
                                 "{\"thought\":\"t\"}") "]," USE(100, 10) ",\"forever\":true}\n",
         ENTRY("") "  guardrails: {run_token_budget: 250}\n", ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_BUDGET_EXCEEDED);
    assert_int_equal(others(scene, &runs), 1);
    assert_int_equal(runs.rows[0].summary.status, RONDO_BUDGET_EXCEEDED);
    assert_int_equal(runs.rows[0].summary.tokens, 330);
    assert_int_equal(loop_state(scene->loop)->tokens, 330);
}

SCENE_TEST(it_counts_for_the_budgets_of_the_role_that_asks)
{
    struct agent_scene *scene = *state;
    struct budget_ledger *ledger = memory_new_zero(1, sizeof(*ledger));
    play(scene, HELPER(""), SAY_FOR(100, 10),
         ENTRY("") "  guardrails: {daemon_daily_token_budget: 100000}\n",
         "{\"tool_calls\":[" ONE("delegate_to_helper",
                                 "{\"prompt\":\"a\"}") "]," USE(1, 1) "}\n" FINISH_FOR(5, 5));
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(budget_load(scene->fixture->memory, "tester", ledger, NULL, NULL), 0);
    assert_int_equal(ledger->life.tokens, 122);
    free(ledger);
}

SCENE_TEST(it_cannot_use_more_than_those_budgets_leave)
{
    struct agent_scene *scene = *state;
    struct run_listing runs;
    play(scene, HELPER("  tools: [{type: think}]\n"),
         "{\"tool_calls\":[" ONE("think",
                                 "{\"thought\":\"t\"}") "]," USE(100, 10) ",\"forever\":true}\n",
         ENTRY("") "  guardrails: {daemon_daily_token_budget: 250}\n",
         "{\"tool_calls\":[" ONE("delegate_to_helper",
                                 "{\"prompt\":\"a\"}") "]," USE(1, 1) "}\n" FINISH_FOR(5, 5));
    scene_expect(scene, RONDO_BUDGET_EXCEEDED);
    assert_int_equal(others(scene, &runs), 1);
    assert_int_equal(runs.rows[0].summary.status, RONDO_BUDGET_EXCEEDED);
    assert_int_equal(runs.rows[0].summary.tokens, 330);
    scene_ended_with(scene, "daemon_daily_token_budget");
}

SCENE_TEST(it_has_the_time_of_the_tool)
{
    struct agent_scene *scene = *state;
    struct run_listing runs;
    play(scene, HELPER("  tools: [{type: think}]\n"),
         "{\"tool_calls\":[" ONE("think",
                                 "{\"thought\":\"t\"}") "],\"delay_ms\":1500,\"forever\":true}\n",
         ENTRY("timeout_seconds: 4, "), ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(others(scene, &runs), 1);
    assert_int_equal(runs.rows[0].summary.status, RONDO_TIMEOUT);
    assert_int_equal(scene_events(scene, "tool.finished", "ended as timeout"), 1);
}

static void *stop_soon(void *context)
{
    struct agent_scene *scene = context;
    struct run_listing runs;
    while (others(scene, &runs) == 0) {
        usleep(1000);
    }
    usleep(20000);
    loop_stop(scene->loop, CANCEL_GRACEFUL);
    return NULL;
}

SCENE_TEST(what_stops_the_one_who_asks_stops_the_other)
{
    struct agent_scene *scene = *state;
    struct run_listing runs;
    pthread_t thread;
    play(scene,
         HELPER("  tools: [{type: think}]\n  guardrails: {max_tool_calls: 100000000, "
                "max_request_limit: 100000000, max_tokens_per_run: 1000000000}\n"),
         "{\"tool_calls\":[" ONE("think", "{\"thought\":\"t\"}") "],\"forever\":true}\n",
         ENTRY("timeout_seconds: 100000, "), ASK("a") FINISH("completed"));
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, scene), 0);
    scene_expect(scene, RONDO_CANCELLED);
    pthread_join(thread, NULL);
    assert_int_equal(others(scene, &runs), 1);
    assert_int_equal(runs.rows[0].summary.status, RONDO_CANCELLED);
    assert_true(runs.rows[0].ended_ns > 0);
}

SCENE_TEST(memories_are_shared_where_the_role_says_so)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct run_listing runs;
    struct loop_spec spec;
    play(scene, HELPER(""), CALLS(ONE("remember", "{\"content\":\"apples\"}")) SAY("Noted."),
         ENTRY("shared_memory: {store_path: ./team.db, max_memories: 7}, "),
         ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    others(scene, &runs);
    assert_int_equal(loop_recorded_spec(scene->fixture->memory, runs.rows[0].id, &spec, &err), 0);
    assert_non_null(strstr(spec.agent, "team.db"));
    struct policy_world other = *scene->world;
    snprintf(other.run_id, sizeof(other.run_id), "%s", runs.rows[0].id);
    assert_int_equal(events(&other, "tool.finished", "Remembered"), 1);
    loop_spec_fini(&spec);
}

SCENE_TEST(neither_triggers_nor_sinks_of_the_other_role_count)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct run_listing runs;
    struct loop_spec spec;
    play(scene, HELPER("  sinks: [{type: file, path: /elsewhere/out.txt}]\n"), SAY("x"), ENTRY(""),
         ASK("a") FINISH("completed"));
    scene_expect(scene, RONDO_COMPLETED);
    others(scene, &runs);
    assert_int_equal(loop_recorded_spec(scene->fixture->memory, runs.rows[0].id, &spec, &err), 0);
    assert_null(strstr(spec.agent, "/elsewhere"));
    loop_spec_fini(&spec);
}

/** Play with a death at a commit, of either run. @return whether it came */
static bool play_with_death(struct agent_scene *scene, uint64_t at, enum store_fault fault)
{
    struct rondo_error err = {0};
    play(scene, HELPER("  tools: [{type: think}]\n"),
         "{\"tool_calls\":[" ONE("think", "{\"thought\":\"t\"}") "]," USE(
             100, 10) "}\n"
                      "{\"text\":\"Forty-two.\"," USE(100, 1) "}\n",
         ENTRY(""), ASK("a") ASK("b") FINISH("completed"));
    scene->commits = 0;
    scene->crash_at = at;
    scene->fault = fault;
    int r = scene_run(scene, &err);
    bool is_dead = scene->is_dead;
    if (is_dead && scene_events(scene, "run.finished", NULL) == 0) {
        scene_restart(scene);
        r = scene_run(scene, &err);
        assert_int_equal(r, LOOP_ENDED);
        assert_int_equal(loop_state(scene->loop)->status, RONDO_COMPLETED);
    }
    return is_dead;
}

TEST(no_death_loses_an_answer_or_makes_a_second_run)
{
    static const enum store_fault faults[] = {STORE_FAULT_BEFORE, STORE_FAULT_AFTER};
    for (size_t i = 0; i < 2; i++) {
        bool is_dead = true;
        for (uint64_t at = 1; is_dead; at++) {
            void *fresh = NULL;
            struct run_listing runs;
            scene_up(&fresh);
            struct agent_scene *scene = fresh;
            is_dead = play_with_death(scene, at, faults[i]);
            assert_int_equal(others(scene, &runs), 2);
            for (size_t j = 0; j < 2; j++) {
                assert_int_equal(runs.rows[j].summary.status, RONDO_COMPLETED);
            }
            assert_int_equal(scene_events(scene, "tool.finished", "Forty-two."), 2);
            assert_int_equal(scene_events(scene, "delegation.finished", "\"tokens\":211"), 2);
            assert_int_equal(scene_events(scene, "delegation.finished", NULL), 2);
            scene_down(&fresh);
        }
    }
}
