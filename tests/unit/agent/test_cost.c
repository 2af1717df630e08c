// SPDX-License-Identifier: Apache-2.0
/* Limits of cost where it is not known what a model costs: at the start, on resume, and live. */
#include "agent_fixture.h"

#include "base/text/plain.h"
#include "loop/control/control.h"
#include "loop/driver/internal.h"
#include "model/prices.h"

#define LOOK      CALL("look", "x")
#define USED      "\"usage\":{\"input\":10,\"output\":5}"
#define LOOK_USED "{\"tool_calls\":[" ONE("look", "{\"text\":\"x\"}") "]," USED "}\n"
#define COSTS                                                                    \
    "@id(\"dear\") forbid (principal, action == Action::\"iterate\", resource) " \
    "when { context.cost_usd.greaterThanOrEqual(decimal(\"1.0\")) };"

/** A model as a role names it, without a price. */
static struct role *role_of(const struct agent_scene *scene, const char *lines)
{
    auto_buf struct buf yaml = {0};
    char path[128];
    struct role_findings findings = {0};
    struct role *role = NULL;
    buf_printf(&yaml,
               "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: tester\nspec:\n"
               "  role: You test.\n  model:\n    provider: openai\n    name: my-model\n"
               "    base_url: http://127.0.0.1:9\n%s",
               lines);
    snprintf(path, sizeof(path), "%s/role.yaml", scene->world->folder);
    assert_int_equal(
        role_parse(yaml.data, yaml.len, path, ROLE_SCHEMA_1_13, &findings, &role, NULL), 0);
    assert_non_null(role);
    role_findings_fini(&findings);
    return role;
}

static struct loop_spec spec_of(const struct agent_scene *scene, const char *lines,
                                const char *prices_file, int64_t max_cost_micro)
{
    struct loop_spec spec;
    struct rondo_error err = {0};
    struct agent_options options = {.prompt = "Do it.",
                                    .workspace = scene->world->folder,
                                    .system = "You test.",
                                    .prices_file = prices_file};
    struct role *role = role_of(scene, lines);
    if (agent_spec(role, &options, &spec, &err) < 0) {
        fail_msg("%s", err.message);
    }
    role_free(role);
    /* A file in the workspace would have to be confirmed. */
    free(spec.policy);
    spec.policy = strstr(lines, "policy:") == NULL ? NULL : memory_dup_string(scene->world->path);
    spec.max_cost_micro = max_cost_micro;
    return spec;
}

static int open_it(struct agent_scene *scene, struct loop_spec *spec, struct rondo_error *err)
{
    int r = agent_open(scene->fixture->runtime, spec, &scene->parts, &scene->agent, err);
    loop_spec_fini(spec);
    return r;
}

static void expect_refused(int r, const struct rondo_error *err)
{
    assert_int_equal(r, RONDO_ERR_INVALID);
    assert_non_null(strstr(err->message, "no price is known for openai:my-model"));
    assert_non_null(strstr(err->message, "`price` under spec.model"));
    assert_non_null(strstr(err->message, "--prices FILE"));
}

/* ---- Before a run begins ------------------------------------------------------------------------
 */

SCENE_TEST(a_limit_of_cost_needs_a_price)
{
    struct rondo_error err = {0};
    struct loop_spec spec = spec_of(*state, "", NULL, 1000000);
    expect_refused(agent_check_cost(&spec, NULL, &err), &err);
    expect_refused(open_it(*state, &spec, &err), &err);
}

SCENE_TEST(without_a_limit_no_price_is_needed)
{
    struct rondo_error err = {0};
    struct loop_spec spec = spec_of(*state, "", NULL, 0);
    assert_int_equal(agent_check_cost(&spec, NULL, &err), 0);
    assert_int_equal(open_it(*state, &spec, &err), 0);
}

SCENE_TEST(a_limit_of_policies_needs_a_price_too)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    set_policies(scene->world, PERMIT COSTS);
    struct loop_spec spec = spec_of(scene, "  policy: p.cedar\n", NULL, 0);
    expect_refused(open_it(scene, &spec, &err), &err);
}

SCENE_TEST(half_a_price_is_none)
{
    struct agent_scene *scene = *state;
    static const char prices[] = "{\"openai:my-model\":{\"input\":1}}";
    struct rondo_error err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s/prices.json", scene->world->folder);
    assert_int_equal(file_replace_durably(path, prices, strlen(prices), NULL), 0);
    struct loop_spec spec = spec_of(scene, "", path, 1);
    expect_refused(agent_check_cost(&spec, path, &err), &err);
    expect_refused(open_it(scene, &spec, &err), &err);
}

SCENE_TEST(the_price_of_the_role_will_do)
{
    struct rondo_error err = {0};
    struct loop_spec spec = spec_of(*state, "    price: {input: 2, output: 3}\n", NULL, 1);
    assert_int_equal(agent_check_cost(&spec, NULL, &err), 0);
    assert_int_equal(open_it(*state, &spec, &err), 0);
}

SCENE_TEST(the_price_of_a_file_stays_with_the_run)
{
    struct agent_scene *scene = *state;
    static const char prices[] = "{\"openai:my-model\":{\"input\":1,\"output\":2}}";
    struct rondo_error err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s/prices.json", scene->world->folder);
    assert_int_equal(file_replace_durably(path, prices, strlen(prices), NULL), 0);
    struct loop_spec spec = spec_of(scene, "", path, 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(agent_check_cost(&spec, NULL, &err), 0);
    struct loop_spec other = spec_of(scene, "", NULL, 1);
    free(other.agent);
    other.agent = memory_dup_string(spec.agent);
    assert_int_equal(agent_change_model(&other, "openai:another", &err), 0);
    assert_int_equal(agent_check_cost(&other, NULL, &err), RONDO_ERR_INVALID);
    loop_spec_fini(&other);
    assert_int_equal(open_it(scene, &spec, &err), 0);
    assert_int_equal(scene->agent->model->prices.output, 2000000);
}

SCENE_TEST(a_role_asks_for_its_pool_but_not_in_a_conversation)
{
    struct agent_scene *scene = *state;
    static const struct {
        enum agent_mode mode;
        const char *pool;
    } cases[] = {{AGENT_SINGLE, "gpu"}, {AGENT_AUTONOMOUS, "gpu"}, {AGENT_CHAT, NULL}};
    struct role *role = scene_role(scene, "  execution: {pool: gpu}\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct agent_options options = {.mode = cases[i].mode,
                                        .prompt = "Do it.",
                                        .workspace = scene->world->folder,
                                        .system = "You test."};
        struct loop_spec spec;
        assert_int_equal(agent_spec(role, &options, &spec, NULL), 0);
        if (cases[i].pool == NULL) {
            assert_null(spec.pool);
        } else {
            assert_string_equal(spec.pool, cases[i].pool);
        }
        loop_spec_fini(&spec);
    }
    role_free(role);
}

SCENE_TEST(scripts_and_local_models_are_free)
{
    struct agent_scene *scene = *state;
    struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = "You test."};
    struct loop_spec spec;
    struct role *role = scene_role(scene, "");
    assert_int_equal(agent_spec(role, &options, &spec, NULL), 0);
    spec.max_cost_micro = 1;
    assert_int_equal(agent_check_cost(&spec, NULL, NULL), 0);
    assert_int_equal(agent_change_model(&spec, "ollama:qwen", NULL), 0);
    assert_int_equal(agent_check_cost(&spec, NULL, NULL), 0);
    loop_spec_fini(&spec);
    role_free(role);
}

/* ---- While it runs
 * ------------------------------------------------------------------------------- */

/** The script's prices are forgotten before each request. */
static void lose_the_price(struct agent_scene *scene, const struct model_request *request)
{
    (void)request;
    scene->agent->model->prices = (struct prices){.input = 1};
}

SCENE_TEST(what_is_not_known_is_no_zero)
{
    struct agent_scene *scene = *state;
    scene->on_ask = lose_the_price;
    scene_play(scene, "", LOOK_USED FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(run_cost(loop_state(scene->loop)), COST_UNKNOWN);
    assert_int_equal(scene_events(scene, "model.replied", "\"cost_micro\":null"), 2);
    assert_int_equal(scene_events(scene, "iteration.finished", "\"cost_micro\":null"), 1);
    struct store_run row;
    struct store *store = scene->fixture->memory;
    assert_int_equal(store->ops->get_run(store, scene->world->run_id, &row, NULL), 0);
    assert_int_equal(row.summary.cost_micro, COST_UNKNOWN);
}

SCENE_TEST(a_free_model_costs_nothing)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", LOOK_USED FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(run_cost(loop_state(scene->loop)), 0);
}

SCENE_TEST(it_stays_unknown_after_a_crash)
{
    struct agent_scene *scene = *state;
    scene->on_ask = lose_the_price;
    scene_start(scene, "", SAY("1") LOOK_USED FINISH("completed"));
    assert_int_equal(scene_step(scene, NULL), LOOP_BODY);
    scene_step(scene, NULL);
    scene->on_ask = NULL;
    scene_restart(scene);
    assert_int_equal(run_cost(loop_state(scene->loop)), COST_UNKNOWN);
}

SCENE_TEST(tokens_that_are_not_told_have_no_known_cost)
{
    struct agent_scene *scene = *state;
    scene_start(scene, "", LOOK FINISH("completed"));
    scene->agent->model->prices = (struct prices){.input = 1, .output = 1, .is_known = true};
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(run_cost(loop_state(scene->loop)), COST_UNKNOWN);
}

SCENE_TEST(a_limit_that_comes_later_asks_nothing_more)
{
    struct agent_scene *scene = *state;
    scene_start(scene, "", LOOK_USED LOOK_USED FINISH("completed"));
    loop_set_unpriced(scene->loop, "openai:my-model");
    loop_record_limits(scene->loop, &(struct loop_limits){.max_cost_micro = 1000000}, "a person");
    scene_expect(scene, RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 0);
    scene_last(scene, "gate.denied", "limit_name", "cost");
    scene_last(scene, "gate.denied", "reason", "cost_unknown");
    scene_last_has(scene, "run.finished", "message", "no price is known for openai:my-model");
}

static void limit_it(struct agent_scene *scene, const struct model_request *request)
{
    lose_the_price(scene, request);
    if (scene->asks == 1) {
        loop_record_limits(scene->loop, &(struct loop_limits){.max_cost_micro = 1000000},
                           "a person");
    }
}

SCENE_TEST(a_limit_in_the_middle_of_an_iteration_ends_it)
{
    struct agent_scene *scene = *state;
    scene->on_ask = limit_it;
    scene_play(scene, "", LOOK_USED LOOK_USED FINISH("completed"), RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 1);
    scene_last_has(scene, "run.finished", "message", "the cost so far is not known");
}

SCENE_TEST(nobody_sets_a_limit_that_cannot_hold)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct loop_spec spec = spec_of(scene, "", NULL, 0);
    scene->loop = start(scene->world, spec);
    struct loop_parts parts = fixture_parts(scene->fixture);
    parts.check_limits = agent_check_limits;
    struct loop_limits limits = {.max_cost_micro = 5};
    const char *run_id = scene->world->run_id;
    expect_refused(loop_change_limits(&parts, run_id, &limits, "me", &err), &err);
    limits = (struct loop_limits){.max_tokens = 5};
    assert_true(loop_change_limits(&parts, run_id, &limits, "me", &err) >= 0);
}
