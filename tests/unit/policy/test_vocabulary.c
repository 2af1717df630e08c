// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "policy/vocabulary/vocabulary_table.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Position of a text in another, which must be there. */
static const char *must_find(const char *in, const char *text)
{
    const char *at = strstr(in, text);
    if (at == NULL) {
        fail_msg("there is no '%s' in:\n%s", text, in);
    }
    return at;
}

/** The part of a schema that declares an action. */
static char *action_part(const char *schema, const char *name)
{
    char head[64];
    snprintf(head, sizeof(head), "\naction %s ", name);
    const char *begin = must_find(schema, head) + 1;
    return strndup(begin, (size_t)(must_find(begin, "\n};\n") - begin));
}

TEST(every_action_has_a_name_that_finds_it)
{
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        enum vocabulary_action found = VOCABULARY_ACTION_COUNT;
        assert_true(vocabulary_action_from_name(vocabulary_action_name(i), &found));
        assert_int_equal(found, i);
        assert_true(strlen(vocabulary_action_help(i)) > 0);
    }
}

TEST(an_unknown_action_leaves_the_result_alone)
{
    enum vocabulary_action found = ACTION_FINISH;
    assert_false(vocabulary_action_from_name("iterat", &found));
    assert_false(vocabulary_action_from_name("", &found));
    assert_int_equal(found, ACTION_FINISH);
}

TEST(each_action_has_its_resource)
{
    assert_string_equal(vocabulary_action_resource(ACTION_ITERATE), "Run");
    assert_string_equal(vocabulary_action_resource(ACTION_CALL_MODEL), "Model");
    assert_string_equal(vocabulary_action_resource(ACTION_CALL_TOOL), "Tool");
    assert_string_equal(vocabulary_action_resource(ACTION_REMEMBER), "Memory");
    assert_string_equal(vocabulary_action_resource(ACTION_RECALL), "Memory");
    assert_string_equal(vocabulary_action_resource(ACTION_VERIFY), "Run");
    assert_string_equal(vocabulary_action_resource(ACTION_CHECKPOINT), "Run");
    assert_string_equal(vocabulary_action_resource(ACTION_FINISH), "Run");
}

TEST(only_verify_has_a_condition_in_its_context)
{
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        for (enum vocabulary_context j = 0; j < VOCABULARY_CONTEXT_COUNT; j++) {
            bool expected = j != CONTEXT_CONDITION || i == ACTION_VERIFY;
            assert_int_equal(vocabulary_has_context(i, j), expected);
        }
    }
}

TEST(every_context_attribute_has_a_name)
{
    assert_string_equal(vocabulary_context_name(CONTEXT_ITERATION), "iteration");
    assert_string_equal(vocabulary_context_name(CONTEXT_CONDITION), "condition");
    for (enum vocabulary_context i = 0; i < VOCABULARY_CONTEXT_COUNT; i++) {
        assert_non_null(vocabulary_context_name(i));
        assert_ptr_equal(vocabulary_attribute_at(i)->name, vocabulary_context_name(i));
        assert_int_equal(vocabulary_attribute_at(i)->owner, OWNER_CONTEXT);
    }
}

TEST(rows_of_an_owner_stand_together_and_have_distinct_names)
{
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        unsigned before = 0;
        for (size_t j = 0; j < i; j++) {
            const struct vocabulary_attribute *other = vocabulary_attribute_at(j);
            before += other->owner == row->owner;
            assert_false(other->owner == row->owner && strcmp(other->name, row->name) == 0);
        }
        assert_int_equal(vocabulary_attribute_ordinal(row), before);
        assert_true(strlen(row->help) > 0);
    }
}

TEST(an_attribute_is_found_for_its_actions_only)
{
    assert_non_null(vocabulary_attribute_find(OWNER_CONTEXT, ACTION_VERIFY, "condition", 9));
    assert_null(vocabulary_attribute_find(OWNER_CONTEXT, ACTION_ITERATE, "condition", 9));
    assert_null(vocabulary_attribute_find(OWNER_CONTEXT, ACTION_VERIFY, "conditio", 8));
    assert_non_null(vocabulary_attribute_find(OWNER_INPUT, ACTION_ITERATE, "iteration", 9));
    assert_null(vocabulary_attribute_find(OWNER_INPUT, ACTION_CALL_MODEL, "iteration", 9));
    assert_non_null(vocabulary_attribute_find(OWNER_RUN, ACTION_FINISH, "agent", 5));
    assert_null(vocabulary_attribute_find(OWNER_GROUP, ACTION_FINISH, "trust", 5));
}

TEST(limits_are_optional_and_nothing_else_is)
{
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        assert_int_equal(row->is_optional, strncmp(row->name, "max_", 4) == 0);
    }
}

TEST(only_arguments_of_tools_are_open)
{
    assert_true(vocabulary_is_open(OWNER_INPUT, ACTION_CALL_TOOL));
    assert_false(vocabulary_is_open(OWNER_INPUT, ACTION_ITERATE));
    assert_false(vocabulary_is_open(OWNER_CONTEXT, ACTION_CALL_TOOL));
}

TEST(entity_types_have_their_place)
{
    assert_int_equal(vocabulary_entity_from_name("ToolGroup", 9), OWNER_TOOL_GROUP);
    assert_int_equal(vocabulary_entity_from_name("Toolgroup", 9), OWNER_NONE);
    assert_true(vocabulary_can_be_in(OWNER_AGENT, OWNER_GROUP));
    assert_true(vocabulary_can_be_in(OWNER_GROUP, OWNER_GROUP));
    assert_true(vocabulary_can_be_in(OWNER_TOOL, OWNER_TOOL_GROUP));
    assert_true(vocabulary_can_be_in(OWNER_RUN, OWNER_RUN));
    assert_false(vocabulary_can_be_in(OWNER_AGENT, OWNER_TOOL_GROUP));
    assert_false(vocabulary_can_be_in(OWNER_RUN, OWNER_AGENT));
}

TEST(iterate_is_in_the_action_of_agentcore)
{
    unsigned iterate = VOCABULARY_ACTION_BIT(ACTION_ITERATE);
    assert_int_equal(vocabulary_actions_in(VOCABULARY_GROUP_TYPE, "loop___iterate", 14), iterate);
    assert_int_equal(vocabulary_actions_equal(VOCABULARY_GROUP_TYPE, "loop___iterate", 14), 0);
    assert_int_equal(vocabulary_actions_in("Action", "iterate", 7), iterate);
    assert_int_equal(vocabulary_actions_equal("Action", "iterate", 7), iterate);
    assert_int_equal(vocabulary_actions_in("Action", "loop___iterate", 14), 0);
    assert_int_equal(vocabulary_actions_in(VOCABULARY_GROUP_TYPE, "iterate", 7), 0);
    assert_int_equal(vocabulary_actions_equal("Action", "iterate\0x", 9), 0);
}

TEST(entities_of_actions_can_be_read_and_decide)
{
    static const char text[] =
        "permit (principal, action in AgentCore::Action::\"loop___iterate\", resource);";
    struct rondo_error err = {0};
    struct buf json = {0};
    vocabulary_write_actions(&json);
    struct cedar_entities *entities = cedar_entities_parse(json.data, json.len, NULL, &err);
    assert_non_null(entities);
    assert_int_equal(cedar_entities_count(entities), VOCABULARY_ACTION_COUNT + 1);
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    assert_int_equal(cedar_builder_add(builder, "f", text, strlen(text), NULL, &err), 0);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    struct cedar_evaluator *evaluator = cedar_evaluator_new();
    struct cedar_uid *agent = cedar_uid_new("Agent", "a", &err);
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct cedar_answer answer;
        struct cedar_uid *action = cedar_uid_new("Action", vocabulary_action_name(i), &err);
        cedar_authorize(
            evaluator, policies,
            &(struct cedar_request){
                .principal = agent, .action = action, .resource = agent, .entities = entities},
            &answer);
        assert_int_equal(answer.is_allowed, i == ACTION_ITERATE);
        cedar_uid_free(action);
    }
    cedar_uid_free(agent);
    cedar_evaluator_free(evaluator);
    cedar_policies_unref(policies);
    cedar_entities_free(entities);
    buf_fini(&json);
}

TEST(the_schema_declares_every_type_and_attribute)
{
    struct buf schema = {0};
    vocabulary_write_schema(&schema);
    const char *text = buf_string(&schema);
    must_find(text, "\nentity Agent in [Group] = {\n");
    must_find(text, "\nentity Group in [Group] tags String;\n");
    must_find(text, "\nentity Tool in [ToolGroup] = {\n");
    must_find(text, "\nentity ToolGroup in [ToolGroup];\n");
    must_find(text, "    max_cost_usd?: decimal,\n");
    must_find(text, "    agent: Agent,\n");
    must_find(text, "    read_only: Bool,\n");
    must_find(text, "    needs_confirmation: Bool,\n} tags String;\n");
    must_find(text, "\naction iterate in [AgentCore::Action::\"loop___iterate\"] appliesTo {\n");
    buf_fini(&schema);
}

TEST(the_schema_gives_each_action_its_own_context)
{
    struct buf schema = {0};
    vocabulary_write_schema(&schema);
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        char *part = action_part(buf_string(&schema), vocabulary_action_name(i));
        char resource[64];
        snprintf(resource, sizeof(resource), "    resource: [%s],\n",
                 vocabulary_action_resource(i));
        must_find(part, resource);
        must_find(part, "        system: {now: datetime},\n");
        bool is_of_memory = i == ACTION_REMEMBER || i == ACTION_RECALL;
        must_find(part, i == ACTION_ITERATE ? "        input: {iteration: Long},\n"
                        : is_of_memory      ? "        input: {kind: String, category: String},\n"
                                            : "        input: {},\n");
        assert_int_equal(strstr(part, "condition: String") != NULL, i == ACTION_VERIFY);
        free(part);
    }
    buf_fini(&schema);
}

TEST(the_reference_has_a_line_for_every_row)
{
    struct buf reference = {0};
    vocabulary_describe(&reference);
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        must_find(buf_string(&reference), row->name);
        must_find(buf_string(&reference), row->help);
    }
    for (enum vocabulary_owner i = OWNER_AGENT; i < OWNER_ACTION; i++) {
        must_find(buf_string(&reference), vocabulary_entity(i)->help);
    }
    must_find(buf_string(&reference), "| `context.input.iteration` | Long | `iterate` |");
    must_find(buf_string(&reference), "| `max_tokens` | Long | if set |");
    buf_fini(&reference);
}
