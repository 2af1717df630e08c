// SPDX-License-Identifier: Apache-2.0
#include "policy/lint/lint.h"

#include "base/buf.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

/** A policy, and its findings as `E 1:2 message` (or W), one a line; "" = clean. */
struct lint_case {
    const char *policy;
    const char *findings;
};

static void collect(const struct lint_finding *finding, void *context)
{
    assert_string_equal(finding->file, "my.cedar");
    buf_printf(context, "%s%c %u:%u %s", ((struct buf *)context)->len > 0 ? "\n" : "",
               finding->is_error ? 'E' : 'W', finding->line, finding->column, finding->message);
}

static struct cedar_policies *parse(const char *text)
{
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    if (cedar_builder_add(builder, "my.cedar", text, strlen(text), NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return cedar_builder_finish(builder);
}

static void assert_findings(const struct lint_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf found = {0};
        struct cedar_policies *policies = parse(cases[i].policy);
        size_t errors = lint_policies(policies, collect, &found);
        if (strcmp(buf_string(&found), cases[i].findings) != 0) {
            fail_msg("%s\nexpected:\n%s\nfound:\n%s", cases[i].policy, cases[i].findings,
                     buf_string(&found));
        }
        size_t expected = 0;
        for (const char *at = cases[i].findings; at != NULL; at = strchr(at, '\n')) {
            at += *at == '\n';
            expected += *at == 'E';
        }
        assert_int_equal(errors, expected);
        cedar_policies_unref(policies);
        buf_fini(&found);
    }
}
TEST(policies_written_for_the_vocabulary_are_clean)
{
    static const struct lint_case cases[] = {
        {"permit (principal, action, resource);", ""},
        {"@id(\"limit.iterations\") @reason(\"iteration budget used up\")\nforbid (principal, "
         "action == Action::\"iterate\", resource)\nunless { context has iteration && "
         "context.iteration < 100 };",
         ""},
        {"forbid (principal, action == Action::\"iterate\", resource) when { principal has "
         "max_iterations && context.iteration >= principal.max_iterations };",
         ""},
        {"forbid (principal, action, resource) unless { "
         "context.cost_usd.lessThan(decimal(\"5.00\")) };",
         ""},
        {"@id(\"hitl.shell\") @on_deny(\"ask\") @reason(\"shell needs approval\")\nforbid "
         "(principal, action == Action::\"call_tool\", resource == Tool::\"shell\")\nunless { "
         "context.approved || principal.trust >= 3 };",
         ""},
        {"forbid (principal, action in AgentCore::Action::\"loop___iterate\", resource) unless { "
         "context.input.iteration < 100 };",
         ""},
        {"forbid (principal, action, resource is Tool in ToolGroup::\"danger\") when { principal "
         "in Group::\"interns\" && !resource.read_only };",
         ""},
        {"forbid (principal, action, resource) when { context.weekday > 5 || context.now.toTime() "
         "< duration(\"9h\") };",
         ""},
        {"permit (principal, action, resource) when { principal.hasTag(\"team\") && "
         "principal.getTag(\"team\") == \"red\" };",
         ""},
        {"permit (principal, action == Action::\"iterate\", resource) when { resource.agent == "
         "principal && resource.kind == \"command\" };",
         ""},
        {"permit (principal, action == Action::\"verify\", resource) when { context.condition like "
         "\"secure_*\" };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(unknown_attributes_of_the_context_are_errors)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action == Action::\"iterate\", resource) unless { context.iterations "
         "< 100 };",
         "E 1:68 unknown attribute `iterations` of `context`; did you mean `iteration`?"},
        {"forbid (principal, action == Action::\"iterate\", resource) unless { "
         "context[\"iteratoin\"] < 100 };",
         "E 1:68 unknown attribute `iteratoin` of `context`; did you mean `iteration`?"},
        {"forbid (principal, action, resource) when { context.cost == decimal(\"1.0\") };",
         "E 1:45 unknown attribute `cost` of `context`; did you mean `cost_usd`?"},
        {"forbid (principal, action, resource) when { context.foo == 1 && context.bar == 2 };",
         "E 1:45 unknown attribute `foo` of `context`\nE 1:65 unknown attribute `bar` of "
         "`context`"},
        {"forbid (principal, action, resource) when { context.system.time == context.now };",
         "E 1:45 unknown attribute `time` of `context.system`"},
        {"forbid (principal, action == Action::\"iterate\", resource) when { "
         "context.input.iterations > 3 };",
         "E 1:66 unknown attribute `iterations` of `context.input`; did you mean `iteration`?"},
        {"forbid (principal, action == Action::\"call_model\", resource) when { context.input.path "
         "like \"/etc/*\" };",
         "E 1:69 unknown attribute `path` of `context.input`"},
        {"forbid (principal, action == Action::\"call_tool\", resource) when { context.input.path "
         "like \"/etc/*\" };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(unknown_attributes_of_entities_are_errors)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { principal.trusted > 3 };",
         "E 1:45 unknown attribute `trusted` of `principal`; did you mean `trust`?"},
        {"forbid (principal, action, resource) when { principal.max == 3 };",
         "E 1:45 unknown attribute `max` of `principal`"},
        {"forbid (principal, action, resource is Tool) when { resource.serve == \"x\" };",
         "E 1:53 unknown attribute `serve` of `resource` (a Tool); did you mean `server`?"},
        {"forbid (principal, action, resource is Tool) when { resource.server == \"x\" };", ""},
        {"forbid (principal, action == Action::\"iterate\", resource) when { resource.agent.Trust "
         "== 1 };",
         "E 1:66 unknown attribute `Trust` of `resource.agent` (an Agent); did you mean `trust`?"},
        {"forbid (principal, action, resource) when { action.name == \"x\" };",
         "E 1:45 unknown attribute `name` of `action` (an Action)"},
        {"forbid (principal, action, resource) when { Agent::\"a\".level == 1 };",
         "E 1:45 unknown attribute `level` of `Agent::\"a\"` (an Agent)"},
        {"forbid (principal, action, resource) when { Agent::\"a\".trust == 1 };", ""},
        {"forbid (principal, action, resource) when { context.iteration.value == 1 };",
         "E 1:45 `context.iteration` is a Long and has no attributes"},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(an_attribute_of_another_action_is_named_with_it)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action == Action::\"iterate\", resource) when { context.condition == "
         "\"x\" };",
         "E 1:66 the attribute `condition` of `context` is there for `verify` only, and this is "
         "about `iterate`"},
        {"forbid (principal, action == Action::\"verify\", resource) when { "
         "context.input.iteration == 3 };",
         "E 1:65 the attribute `iteration` of `context.input` is there for `iterate` only, and "
         "this is about `verify`"},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(an_attribute_that_some_actions_lack_is_a_warning)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { context.condition == \"x\" };",
         "W 1:45 the attribute `condition` of `context` is missing for `iterate`, `call_model`, "
         "`call_tool`, `remember`, `recall`, `checkpoint`, `finish`; guard it with `context has "
         "condition && ...`"},
        {"forbid (principal, action, resource) when { resource.server == \"x\" };",
         "W 1:45 the attribute `server` of `resource` is missing for `iterate`, `call_model`, "
         "`remember`, `recall`, "
         "`verify`, `checkpoint`, `finish`; guard it with `resource has server && ...`"},
        {"forbid (principal, action in [Action::\"iterate\", Action::\"call_tool\"], resource) "
         "when { resource.kind == \"x\" };",
         "W 1:89 the attribute `kind` of `resource` is missing for `call_tool`; guard it with "
         "`resource has kind && ...`"},
        {"forbid (principal, action in [Action::\"iterate\", Action::\"finish\"], resource) when { "
         "resource.kind == \"x\" };",
         ""},
        {"forbid (principal, action, resource) when { context.input.iteration > 3 };",
         "W 1:45 the attribute `iteration` of `context.input` is missing for `call_model`, "
         "`remember`, `recall`, `verify`, `checkpoint`, `finish`; guard it with `context.input has "
         "iteration && ...`"},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(a_guard_on_the_left_removes_the_warning)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { context has condition && context.condition "
         "== \"x\" };",
         ""},
        {"forbid (principal, action, resource) when { action == Action::\"verify\" && "
         "context.condition == \"x\" };",
         ""},
        {"forbid (principal, action, resource) when { Action::\"verify\" == action && "
         "context.condition == \"x\" };",
         ""},
        {"forbid (principal, action, resource) when { action != Action::\"verify\" || "
         "context.condition == \"x\" };",
         ""},
        {"forbid (principal, action, resource) when { resource is Tool && resource.server == \"x\" "
         "};",
         ""},
        {"forbid (principal, action, resource) when { !(resource is Tool) || resource.server == "
         "\"x\" };",
         ""},
        {"forbid (principal, action, resource) when { resource in ToolGroup::\"web\" && "
         "resource.server == \"x\" };",
         ""},
        {"forbid (principal, action, resource) when { resource == Tool::\"shell\" && "
         "!resource.read_only };",
         ""},
        {"forbid (principal, action, resource) when { if resource is Run then resource.kind == "
         "\"x\" else context.approved };",
         ""},
        {"forbid (principal, action, resource) when { context has input.iteration && "
         "context.input.iteration > 3 };",
         ""},
        {"forbid (principal, action, resource) when { action in [Action::\"iterate\", "
         "Action::\"verify\"] && resource.kind == \"x\" };",
         ""},
        {"forbid (principal, action, resource)\nwhen { resource is Tool }\nunless { "
         "resource.read_only };",
         ""},
        {"forbid (principal, action, resource) when { resource.server == \"x\" && resource is Tool "
         "};",
         "W 1:45 the attribute `server` of `resource` is missing for `iterate`, `call_model`, "
         "`remember`, `recall`, "
         "`verify`, `checkpoint`, `finish`; guard it with `resource has server && ...`"},
        {"forbid (principal, action, resource) when { resource is Tool || resource.server == \"x\" "
         "};",
         "E 1:65 unknown attribute `server` of `resource` (a Run)"},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(optional_attributes_ask_for_a_guard)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action == Action::\"iterate\", resource) when { context.iteration >= "
         "principal.max_iterations };",
         "W 1:87 the attribute `max_iterations` of `principal` may be missing; guard it with "
         "`principal has max_iterations && ...`"},
        {"forbid (principal, action == Action::\"iterate\", resource) when { "
         "resource.agent.max_tokens < context.tokens };",
         "W 1:66 the attribute `max_tokens` of `resource.agent` may be missing; guard it with "
         "`resource.agent has max_tokens && ...`"},
        {"forbid (principal, action == Action::\"iterate\", resource) when { resource.agent has "
         "max_tokens && resource.agent.max_tokens < context.tokens };",
         ""},
        {"forbid (principal, action == Action::\"iterate\", resource) when { principal has "
         "max_tokens && resource.max_tokens < 5 };",
         "W 1:94 the attribute `max_tokens` of `resource` may be missing; guard it with `resource "
         "has max_tokens && ...`"},
        {"forbid (principal, action, resource) when { principal has max_tokens || "
         "principal.max_tokens < 5 };",
         "W 1:73 the attribute `max_tokens` of `principal` may be missing; guard it with "
         "`principal has max_tokens && ...`"},
        {"forbid (principal, action, resource) when { !(principal has max_tokens) || "
         "principal.max_tokens < 5 };",
         ""},
        {"forbid (principal, action, resource)\nunless { principal has max_tokens }\nwhen { "
         "principal.max_tokens < 5 };",
         "W 3:8 the attribute `max_tokens` of `principal` may be missing; guard it with `principal "
         "has max_tokens && ...`"},
        {"forbid (principal, action, resource)\nwhen { principal has max_tokens }\nwhen { "
         "principal.max_tokens < 5 };",
         ""},
        {"forbid (principal, action, resource) when { (principal has max_tokens && "
         "context.approved || principal has max_tokens) && principal.max_tokens < 5 };",
         ""},
        {"forbid (principal, action, resource) when { if principal has max_tokens then "
         "principal.max_tokens < 5 else principal.max_tokens > 5 };",
         "W 1:108 the attribute `max_tokens` of `principal` may be missing; guard it with "
         "`principal has max_tokens && ...`"},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(has_with_a_slip_is_an_error_and_with_a_strange_word_a_warning)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { context has iterations };",
         "E 1:45 unknown attribute `iterations` of `context`; did you mean `iteration`?"},
        {"forbid (principal, action == Action::\"iterate\", resource) when { context has "
         "input.iterations };",
         "E 1:66 unknown attribute `iterations` of `input`; did you mean `iteration`?"},
        {"forbid (principal, action, resource) when { principal has department };",
         "W 1:45 unknown attribute `department` of `principal`: this is never true"},
        {"forbid (principal, action, resource) when { resource has kind };", ""},
        {"forbid (principal, action == Action::\"iterate\", resource) when { context has condition "
         "};",
         "W 1:66 the attribute `condition` of `context` is there for `verify` only, and this is "
         "about `iterate`: this is never true"},
        {"forbid (principal, action, resource) when { context.iteration has x };",
         "E 1:45 `context.iteration` is a Long and has no attributes"},
        {"forbid (principal, action == Action::\"call_tool\", resource) when { context.input has "
         "path };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(unknown_entity_types_are_errors_wherever_they_stand)
{
    static const struct lint_case cases[] = {
        {"forbid (principal is Agnt, action, resource);",
         "E 1:22 unknown entity type `Agnt`; did you mean `Agent`?"},
        {"forbid (principal, action, resource == Tol::\"x\");",
         "E 1:40 unknown entity type `Tol`; did you mean `Tool`?"},
        {"forbid (principal == Rondo::Agent::\"x\", action, resource);",
         "E 1:22 unknown entity type `Rondo::Agent`; did you mean `Agent`?"},
        {"forbid (principal, action, resource) when { principal in [Group::\"a\", // é\n  "
         "Grup::\"b\"] };",
         "E 2:3 unknown entity type `Grup`; did you mean `Group`?"},
        {"forbid (principal, action, resource) when { resource is Fool };",
         "E 1:57 unknown entity type `Fool`; did you mean `Tool`?"},
        {"forbid (principal, action, resource) when { false && principal == User::\"x\" };",
         "E 1:67 unknown entity type `User`"},
        {"forbid (principal is AgentCore::OAuthUser, action == AgentCore::Action::\"x___y\",\n  "
         "resource == AgentCore::Gateway::\"arn\")\nwhen { context.input.amount > 5 };",
         ""},
        {"@is forbid (principal is Agent, action, resource);", ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(unknown_actions_are_errors)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action == Action::\"iterat\", resource);",
         "E 1:30 unknown action `Action::\"iterat\"`; did you mean `Action::\"iterate\"`?"},
        {"forbid (principal, action in [Action::\"verify\", Action::\"agent.iterate\"], resource);",
         "E 1:49 unknown action `Action::\"agent.iterate\"`; did you mean `Action::\"iterate\"`?"},
        {"forbid (principal, action == Rondo::Action::\"iterate\", resource);",
         "E 1:30 unknown action `Rondo::Action::\"iterate\"`; did you mean `Action::\"iterate\"`?"},
        {"forbid (principal, action, resource) when { action == Action::\"tool.call\" };",
         "E 1:55 unknown action `Action::\"tool.call\"`"},
        {"forbid (principal, action, resource) when { action in [Action::\"verify\", "
         "AgentCore::Action::\"x\"] };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(literals_of_the_wrong_type_are_errors_in_comparisons)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action == Action::\"iterate\", resource) unless { context.iteration < "
         "\"100\" };",
         "E 1:88 `<` orders Longs, datetimes and durations, but `\"100\"` is a String; write "
         "`100`"},
        {"forbid (principal, action, resource) when { context.iteration == \"100\" };",
         "E 1:66 `context.iteration` is a Long and `\"100\"` a String: they are never equal; write "
         "`100`"},
        {"forbid (principal, action, resource) when { \"a\" != context.iteration };",
         "E 1:45 `\"a\"` is a String and `context.iteration` a Long: they are never equal"},
        {"forbid (principal, action, resource) when { context.approved == \"true\" };",
         "E 1:65 `context.approved` is a Bool and `\"true\"` a String: they are never equal; write "
         "`true`"},
        {"forbid (principal, action, resource) when { principal == \"alice\" };",
         "E 1:58 `principal` is an Agent and `\"alice\"` a String: they are never equal"},
        {"forbid (principal, action, resource) when { context.now < \"2026-01-31\" };",
         "E 1:59 `<` orders Longs, datetimes and durations, but `\"2026-01-31\"` is a String; "
         "write `datetime(\"2026-01-31\")`"},
        {"forbid (principal, action, resource) when { context.now < 5 };",
         "E 1:59 `context.now` is a datetime and `5` a Long: they cannot be ordered"},
        {"forbid (principal, action, resource) when { context.now < datetime(\"2026-01-31\") };",
         ""},
        {"forbid (principal, action, resource) when { principal.trust == principal.environment };",
         "E 1:45 `principal.trust` is a Long and `principal.environment` a String: they are never "
         "equal"},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(decimals_are_compared_with_methods)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) unless { context.cost_usd < 5 };",
         "E 1:47 `<` orders Longs, datetimes and durations, but `context.cost_usd` is a decimal; "
         "use `context.cost_usd.lessThan(decimal(\"5.00\"))`"},
        {"forbid (principal, action, resource) unless { 5 >= context.cost_usd };",
         "E 1:52 `>=` orders Longs, datetimes and durations, but `context.cost_usd` is a decimal; "
         "use `context.cost_usd.lessThanOrEqual(decimal(\"5.00\"))`"},
        {"forbid (principal, action, resource) when { context.cost_usd > decimal(\"2.5\") };",
         "E 1:45 `>` orders Longs, datetimes and durations, but `context.cost_usd` is a decimal; "
         "use `context.cost_usd.greaterThan(decimal(\"2.5\"))`"},
        {"forbid (principal, action, resource) when { context.cost_usd == 5 };",
         "E 1:65 `context.cost_usd` is a decimal and `5` a Long: they are never equal; write "
         "`decimal(\"5.00\")`"},
        {"forbid (principal, action, resource) when { context.cost_usd.lessThan(5) };",
         "E 1:71 `lessThan` takes a decimal, but `5` is a Long; write `decimal(\"5.00\")`"},
        {"forbid (principal, action, resource) when { context.cost_usd.lessThan(\"2.5\") };",
         "E 1:71 `lessThan` takes a decimal, but `\"2.5\"` is a String; write `decimal(\"2.5\")`"},
        {"forbid (principal, action, resource) when { context.iteration.lessThan(decimal(\"5.0\")) "
         "};",
         "E 1:45 `lessThan` works on a decimal, but `context.iteration` is a Long"},
        {"forbid (principal, action, resource) when { context.cost_usd == decimal(\"5.0\") };", ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(operators_want_their_own_types)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { context.iteration };",
         "E 1:45 a condition has to be a Bool, but `context.iteration` is a Long"},
        {"forbid (principal, action, resource) when { context.approved && 5 };",
         "E 1:65 `&&` works on a Bool, but `5` is a Long"},
        {"forbid (principal, action, resource) when { !context.iteration };",
         "E 1:46 `!` works on a Bool, but `context.iteration` is a Long"},
        {"forbid (principal, action, resource) when { if context.iteration then true else false };",
         "E 1:48 `if` asks for a Bool, but `context.iteration` is a Long"},
        {"forbid (principal, action, resource) when { context.iteration + \"1\" > 5 };",
         "E 1:65 `+` and `-` work on a Long, but `\"1\"` is a String; write `1`"},
        {"forbid (principal, action, resource) when { 2 * context.cost_usd == 1 };",
         "E 1:49 `*` works on a Long, but `context.cost_usd` is a decimal"},
        {"forbid (principal, action, resource) when { -context.approved == 1 };",
         "E 1:46 `-` works on a Long, but `context.approved` is a Bool"},
        {"forbid (principal, action, resource) when { context.iteration like \"1*\" };",
         "E 1:45 `like` works on a String, but `context.iteration` is a Long"},
        {"forbid (principal, action, resource) when { principal.environment like \"prod*\" };", ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(in_and_is_want_entities)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { principal.environment in [\"a\", \"b\"] };",
         "E 1:45 `in` (for values in a set there is `contains`) works on an entity, but "
         "`principal.environment` is a String"},
        {"forbid (principal, action, resource) when { principal in [\"a\", \"b\"] };",
         "E 1:58 `in` asks for entities above an entity; to look into a set of other values write "
         "`[...].contains(x)`"},
        {"forbid (principal, action, resource) when { principal in context.iteration };",
         "E 1:58 the right side of `in` is an entity or a set of entities, but `context.iteration` "
         "is a Long"},
        {"forbid (principal, action, resource) when { context.weekday is Agent };",
         "E 1:45 `is` works on an entity, but `context.weekday` is a Long"},
        {"forbid (principal, action, resource) when { [\"a\", "
         "\"b\"].contains(principal.environment) };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(sets_are_searched_for_elements_of_their_type)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { [\"a\", \"b\"].contains(context.iteration) "
         "};",
         "E 1:65 the set never contains this: an element is a String, and this a Long"},
        {"forbid (principal, action, resource) when { [1, 2].containsAny([\"x\"]) };",
         "E 1:64 the set never contains elements of the other: one is a Long, there a String"},
        {"forbid (principal, action, resource) when { [1, 2].containsAll(3) };",
         "E 1:64 `containsAll` takes a Set, but `3` is a Long"},
        {"forbid (principal, action, resource) when { principal.environment.contains(\"prod\") };",
         "E 1:45 `contains` works on a Set, but `principal.environment` is a String"},
        {"forbid (principal, action, resource) when { context.iteration.isEmpty() };",
         "E 1:45 `isEmpty` works on a Set, but `context.iteration` is a Long"},
        {"forbid (principal, action, resource) when { [1, \"x\"].contains(context.iteration) };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(functions_want_their_arguments)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { context.cost_usd.lessThan(decimal(\"5\")) };",
         "E 1:79 `\"5\"` is not a text for `decimal`; it takes digits on both sides of the point "
         "and at most four after it, such as \"5.00\""},
        {"forbid (principal, action, resource) when { context.now > datetime(\"tomorrow\") };",
         "E 1:68 `\"tomorrow\"` is not a text for `datetime`; it takes a time such as "
         "\"2026-01-31\" or \"2026-01-31T12:00:00Z\""},
        {"forbid (principal, action, resource) when { context.now.toTime() > duration(\"one "
         "hour\") };",
         "E 1:77 `\"one hour\"` is not a text for `duration`; it takes a length of time such as "
         "\"1h30m\""},
        {"forbid (principal, action, resource) when { ip(\"10.0.0.300\").isLoopback() };",
         "E 1:48 `\"10.0.0.300\"` is not a text for `ip`; it takes an address such as \"10.0.0.1\" "
         "or \"10.0.0.0/8\""},
        {"forbid (principal, action, resource) when { context.now.toDays() > 5 };",
         "E 1:45 `toDays` works on a duration, but `context.now` is a datetime"},
        {"forbid (principal, action, resource) when { context.now.offset(\"1d\") > context.now };",
         "E 1:64 `offset` takes a duration, but `\"1d\"` is a String; write `duration(\"1d\")`"},
        {"forbid (principal, action, resource) when { context.cost_usd.lessThan(decimal(\"5.0\"), "
         "decimal(\"6.0\")) };",
         "E 1:45 `lessThan` takes 1 argument, not 2"},
        {"forbid (principal, action, resource) when { decimal() == context.cost_usd };",
         "E 1:45 `decimal` takes 1 argument, not 0"},
        {"forbid (principal, action, resource) when { "
         "context.now.offset(duration(\"1d\")).durationSince(context.now).toDays() == 1 };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(tags_are_strings_of_some_entities)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action == Action::\"iterate\", resource) when { "
         "resource.hasTag(\"x\") };",
         "W 1:66 a Run has no tags: this is never true"},
        {"forbid (principal, action == Action::\"iterate\", resource) when { "
         "resource.getTag(\"x\") == \"y\" };",
         "E 1:66 a Run has no tags"},
        {"forbid (principal, action, resource) when { principal.getTag(\"x\") == 5 };",
         "E 1:70 this is a String and `5` a Long: they are never equal"},
        {"forbid (principal, action, resource) when { principal.hasTag(5) };",
         "E 1:62 the name of a tag is a String, but `5` is a Long"},
        {"forbid (principal, action, resource) when { context.iteration.hasTag(\"x\") };",
         "E 1:45 `hasTag` works on an entity, but `context.iteration` is a Long"},
        {"forbid (principal, action, resource) when { resource.hasTag(\"x\") };", ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(what_can_never_be_true_is_a_warning)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action, resource) when { principal is Group };",
         "W 1:45 `principal` is always an Agent, so `is Group` is never true"},
        {"forbid (principal, action, resource) when { principal in Tool::\"x\" };",
         "W 1:58 `principal` is an Agent, which is never in `Tool::\"x\"`"},
        {"forbid (principal, action, resource) when { principal == Tool::\"x\" };",
         "W 1:58 `principal` is an Agent and `Tool::\"x\"` a Tool: they are never equal"},
        {"forbid (principal, action == Action::\"iterate\", resource) when { action == "
         "Action::\"verify\" };",
         "W 1:76 the action is never this one here, only `iterate`"},
        {"forbid (principal, action == Action::\"iterate\", resource) when { action in "
         "[Action::\"verify\", Action::\"finish\"] };",
         "W 1:76 the action is never in this here, only `iterate`"},
        {"forbid (principal, action, resource) when { resource is AgentCore::Gateway };", ""},
        {"forbid (principal, action, resource) when { principal in [Group::\"x\", Agent::\"y\"] };",
         ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(policies_that_never_apply_are_warnings)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action in [], resource);",
         "W 1:20 this policy never applies: no action is in `[]`"},
        {"forbid (principal, action == AgentCore::Action::\"loop___iterate\", resource);",
         "W 1:20 this policy never applies: `AgentCore::Action::\"loop___iterate\"` is a group; "
         "write `action in` instead of `action ==`"},
        {"forbid (principal, action == Action::\"iterate\", resource is Tool);",
         "W 1:49 this policy never applies: the resource of `iterate` is a Run"},
        {"forbid (principal is Tool, action, resource);",
         "W 1:9 this policy never applies: the principal is always an Agent, alone or in a Group"},
        {"forbid (principal in Group::\"x\", action == Action::\"verify\", resource in "
         "ToolGroup::\"y\");",
         "W 1:62 this policy never applies: the resource of `verify` is a Run"},
        {"forbid (principal in Agent::\"x\", action, resource in Tool::\"y\");", ""},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(annotations_limit_nothing)
{
    static const struct lint_case cases[] = {
        {"@id(\"a\")\n@max_iterations(\"100\")\npermit (principal, action, resource);",
         "W 2:1 `@max_iterations` is an annotation and limits nothing; the limit is what the "
         "condition says"},
        {"@on_deny(\"Ask\") forbid (principal, action, resource);",
         "W 1:1 unknown value `\"Ask\"` of `@on_deny`; only \"ask\" is known, so a denial stays "
         "final"},
        {"@on_deny forbid (principal, action, resource);",
         "W 1:1 unknown value `\"\"` of `@on_deny`; only \"ask\" is known, so a denial stays "
         "final"},
        {"@warn_at(\"80\") @reason(\"max_iterations\") forbid (principal, action, resource);", ""},
        {"@on_deny(\"ask\") @severity(\"critical\") @handoff(\"x\") forbid (principal, action, "
         "resource);",
         ""},
        {"@severity(\"info\") forbid (principal, action, resource);", ""},
        {"@severity(\"Critical\") @on_deny(\"ask\") forbid (principal, action, resource);",
         "E 1:1 `@severity` of a policy that asks a person is low, medium, high or critical"},
        {"@handoff(\"x\") forbid (principal, action, resource);",
         "W 1:1 `@handoff` names the reason why a person is asked; without `@on_deny(\"ask\")` "
         "nobody is, and the denial stays final"},
    };
    assert_findings(cases, COUNT(cases));
}

TEST(what_is_not_known_is_not_reported)
{
    static const struct lint_case cases[] = {
        {"forbid (principal, action == Action::\"call_tool\", resource) when { context.input.a.b.c "
         "< context.input.d && context.input.e == \"x\" };",
         ""},
        {"forbid (principal, action, resource) when { {a: 1}.b == 2 };", ""},
        {"forbid (principal, action, resource) when { (if context.approved then 5 else \"x\") == 5 "
         "};",
         ""},
        {"forbid (principal, action, resource) when { Agent::\"x\".max_tokens < 5 };", ""},
        {"forbid (principal, action, resource) when { [].contains(context.iteration) };", ""},
        {"forbid (principal, action, resource) when { false && context.foo };", ""},
        {"forbid (principal, action, resource) when { true || context.foo };", ""},
    };
    assert_findings(cases, COUNT(cases));
}

/** The findings of a call, and what the last one said. */
struct seen_findings {
    size_t count;
    struct lint_finding last;
    char message[512];
};

static void note(const struct lint_finding *finding, void *context)
{
    struct seen_findings *seen = context;
    seen->count++;
    seen->last = *finding;
    snprintf(seen->message, sizeof(seen->message), "%s", finding->message);
}

TEST(findings_name_their_policy_and_place)
{
    struct seen_findings seen = {0};
    struct cedar_policies *policies = parse("permit (principal, action, resource);\n"
                                            "permit (principal, action, resource);\n"
                                            "forbid (principal, action, resource)\n"
                                            "when { \"äöü\" == \"ß\" && context.foo };\n");
    assert_int_equal(lint_policies(policies, note, &seen), 1);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last.policy, 2);
    assert_int_equal(seen.last.line, 4);
    assert_int_equal(seen.last.column, 24);
    cedar_policies_unref(policies);
}

TEST(linked_templates_are_checked_at_their_slot)
{
    static const char text[] = "@id(\"t\") forbid (principal == ?principal, action, resource);";
    struct seen_findings seen = {0};
    struct rondo_error err = {0};
    struct cedar_uid *user = cedar_uid_new("User", "u", &err);
    struct cedar_uid *agent = cedar_uid_new("Agent", "a", &err);
    struct cedar_builder *builder = cedar_builder_new(CEDAR_ANNOTATION_IDS);
    assert_int_equal(
        cedar_builder_add_templates(builder, "t.cedar", text, strlen(text), NULL, &err), 0);
    assert_int_equal(cedar_builder_link(builder, "t", "good", agent, NULL, &err), 0);
    assert_int_equal(cedar_builder_link(builder, "t", "bad", user, NULL, &err), 0);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    assert_int_equal(lint_policies(policies, note, &seen), 1);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last.policy, 1);
    assert_int_equal(seen.last.column, 31);
    assert_string_equal(seen.message, "unknown entity type `User`");
    cedar_policies_unref(policies);
    cedar_uid_free(user);
    cedar_uid_free(agent);
}

TEST(long_names_are_cut_between_characters)
{
    struct seen_findings seen = {0};
    struct buf text = {0};
    buf_append_string(&text, "forbid (principal, action == Action::\"x");
    for (size_t i = 0; i < 100000; i++) {
        buf_append_string(&text, "é");
    }
    buf_append_string(&text, "\", resource);");
    struct cedar_policies *policies = parse(buf_string(&text));
    assert_int_equal(lint_policies(policies, note, &seen), 1);
    assert_string_equal(seen.message,
                        "unknown action `Action::\"xééééééééééééééééééééééééééééééééééé...`");
    cedar_policies_unref(policies);
    buf_fini(&text);
}

TEST(findings_are_counted_beyond_the_limit)
{
    for (size_t more = 0; more < 2; more++) {
        struct seen_findings seen = {0};
        struct buf text = {0};
        for (size_t i = 0; i < LINT_LIMIT_FINDINGS + more; i++) {
            buf_append_string(&text, "forbid (principal, action, resource is Foo);\n");
        }
        struct cedar_policies *policies = parse(buf_string(&text));
        assert_int_equal(lint_policies(policies, note, &seen), LINT_LIMIT_FINDINGS + more);
        assert_int_equal(seen.count, LINT_LIMIT_FINDINGS);
        assert_int_equal(seen.last.line, LINT_LIMIT_FINDINGS);
        cedar_policies_unref(policies);
        buf_fini(&text);
    }
}

TEST(deep_expressions_are_walked)
{
    struct seen_findings seen = {0};
    struct buf text = {0};
    buf_append_string(&text, "forbid (principal, action, resource) when { context.input");
    for (size_t i = 0; i < CEDAR_LIMIT_DEPTH - 10; i++) {
        buf_append_string(&text, ".a");
    }
    buf_append_string(&text, " == 1 && context.foo };");
    struct cedar_policies *policies = parse(buf_string(&text));
    assert_int_equal(lint_policies(policies, note, &seen), 1);
    assert_string_equal(seen.message, "unknown attribute `foo` of `context`");
    cedar_policies_unref(policies);
    buf_fini(&text);
}

TEST(no_policies_have_no_findings)
{
    struct seen_findings seen = {0};
    struct cedar_policies *policies = parse("// nothing\n");
    assert_int_equal(lint_policies(policies, note, &seen), 0);
    assert_int_equal(seen.count, 0);
    cedar_policies_unref(policies);
}
