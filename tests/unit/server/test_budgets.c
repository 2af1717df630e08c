// SPDX-License-Identifier: Apache-2.0
/* Budgets over the API: who sees them, and who may reset them. */
#include "api_world.h"

#include "agent/budget/budget.h"

/** A ledger of an agent that has used 900 of 1000 tokens. */
static void use_tokens(struct api_world *world, const char *agent)
{
    struct budget_ledger *ledger = memory_new(sizeof(*ledger));
    assert_int_equal(budget_load(world->store, agent, ledger, NULL, NULL), 0);
    ledger->rules.limits.limits[BUDGET_LIFE_TOKENS] = 1000;
    ledger_add(ledger, 1, (struct budget_amount){.tokens = 900});
    assert_int_equal(budget_save(world->store, agent, ledger, 0, NULL), 1);
    free(ledger);
}

static struct json_object *list(struct api_world *world, const char *token,
                                struct api_reply *ret_answer)
{
    ask(world, "GET", "/v1/budgets", token, "", "", ret_answer);
    assert_int_equal(ret_answer->status, 200);
    return json_member(ret_answer->json, "budgets");
}

TEST(budgets_are_listed_for_those_who_reach_the_role)
{
    struct api_world *world = *state;
    struct api_reply answer;
    use_tokens(world, "fixer");
    struct json_object *budget = json_object_array_get_idx(list(world, world->read, &answer), 0);
    assert_string_equal(json_get_string(budget, "role", ""), "fixer");
    assert_string_equal(json_get_string(budget, "state", ""), "nearly_used");
    struct json_object *limit = json_object_array_get_idx(json_member(budget, "limits"), 0);
    assert_string_equal(json_get_string(limit, "name", ""), "daemon_token_budget");
    assert_int_equal(json_get_int(limit, "used", 0), 900);
    assert_int_equal(json_object_array_length(json_member(budget, "days")), LEDGER_DAYS);
    answer_fini(&answer);
    assert_int_equal(json_object_array_length(list(world, world->other, &answer)), 0);
    answer_fini(&answer);
}

TEST(only_administrators_reset_a_budget)
{
    struct api_world *world = *state;
    struct api_reply answer;
    static const char path[] = "/v1/budgets/spender/reset";
    use_tokens(world, "spender");
    expect(world, "POST", path, world->operate, "", "", 403);
    ask(world, "POST", path, world->administer, "", "{}", &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(json_get_string(answer.json, "state", ""), "left");
    assert_int_equal(json_get_int(json_member(answer.json, "life"), "tokens", -1), 0);
    answer_fini(&answer);
}

TEST(a_role_without_a_ledger_is_not_found)
{
    struct api_world *world = *state;
    expect_problem(world, "POST", "/v1/budgets/nobody/reset", world->administer, "", "",
                   "not_found");
}

int main(void)
{
    return test_run(world_setup, world_teardown);
}
