// SPDX-License-Identifier: Apache-2.0
/* The Cedar language, fact by fact (language reference, 5.1 to 5.5): what is taken, what it says.
 */
#include "cedar_help.h"

#include <stdio.h>
#include <stdlib.h>

enum expression_outcome {
    IS_TRUE,
    IS_FALSE,
    FAILS,   /**< evaluation fails, with the code */
    REFUSED, /**< by the parser */
};

struct expression_case {
    const char *expression;
    enum expression_outcome outcome;
    enum cedar_failure_code code;
};

static const char world[] =
    "[{\"uid\":{\"type\":\"User\",\"id\":\"alice\"},\"parents\":[{\"type\":\"Group\",\"id\":\"g1\"}"
    "],"
    "\"attrs\":{\"name\":\"alice\",\"star\":\"a*b\",\"min\":-9223372036854775808,\"max\":"
    "9223372036854775807,\"friend\":{\"__entity\":{\"type\":\"User\",\"id\":\"bob\"}},\"ghost\":"
    "{\"__entity\":{\"type\":\"User\",\"id\":\"ghost\"}},\"rec\":{\"a\":{\"b\":1},\"in\":2}},"
    "\"tags\":{\"role\":\"admin\",\"level\":3}},"
    "{\"uid\":{\"type\":\"User\",\"id\":\"bob\"},\"attrs\":{\"name\":\"bob\"},\"parents\":[]},"
    "{\"uid\":{\"type\":\"Group\",\"id\":\"g1\"},\"attrs\":{},\"parents\":[{\"type\":\"Group\","
    "\"id\":\"g0\"}]}]";

static enum expression_outcome outcome_of(const char *expression, enum cedar_failure_code *ret_code)
{
    static const char frame[] = "permit(principal, action, resource) when { %s };";
    size_t size = strlen(expression) + sizeof(frame);
    char *text = malloc(size);
    assert_non_null(text);
    int len = snprintf(text, size, frame, expression);
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    int r = cedar_builder_add(builder, "fact", text, (size_t)len, NULL, NULL);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    struct cedar_question question = question_of("User::\"alice\"", "Action::\"view\"",
                                                 "Photo::\"p\"", "{\"n\":1,\"yes\":true}");
    struct cedar_entities *entities = entities_of(world);
    struct cedar_answer answer = ask(&question, policies, entities);
    *ret_code = answer.error_count == 0 ? CEDAR_FAIL_NONE : answer.errors[0].code;
    enum expression_outcome outcome = r < 0                    ? REFUSED
                                      : answer.error_count > 0 ? FAILS
                                      : answer.is_allowed      ? IS_TRUE
                                                               : IS_FALSE;
    cedar_entities_free(entities);
    question_free(&question);
    cedar_policies_unref(policies);
    free(text);
    return outcome;
}

static void check(const struct expression_case *facts, size_t count)
{
    static const char *const names[] = {"true", "false", "fails", "refused"};
    for (size_t i = 0; i < count; i++) {
        enum cedar_failure_code code = CEDAR_FAIL_NONE;
        enum expression_outcome outcome = outcome_of(facts[i].expression, &code);
        if (outcome != facts[i].outcome || code != facts[i].code) {
            fail_msg("%s: %s (%s), expected %s (%s)", facts[i].expression, names[outcome],
                     cedar_failure_name(code), names[facts[i].outcome],
                     cedar_failure_name(facts[i].code));
        }
    }
}

#define CHECK(...)                                                 \
    do {                                                           \
        static const struct expression_case facts[] = __VA_ARGS__; \
        check(facts, COUNT(facts));                                \
    } while (0)

TEST(test_white_space_is_that_of_unicode)
{
    CHECK({{"1\t\n\v\f\r ==\xc2\x85 1", IS_TRUE, 0},
           {"1\xc2\xa0==\xe1\x9a\x80 1\xe2\x80\x80\xe2\x80\x8a", IS_TRUE, 0},
           {"1\xe2\x80\xa8==\xe2\x80\xa9 1\xe2\x80\xaf\xe2\x81\x9f\xe3\x80\x80", IS_TRUE, 0},
           {"1 \xe2\x80\x8b== 1", REFUSED, 0},   /* zero width space */
           {"1 \xef\xbb\xbf== 1", REFUSED, 0},   /* byte order mark */
           {"1 \xe1\xa0\x8e== 1", REFUSED, 0}}); /* no white space since Unicode 6.3 */
}

TEST(test_comments_end_with_their_line)
{
    CHECK({{"true // } \n", IS_TRUE, 0},
           {"true // } \r", IS_TRUE, 0},
           {"true // \xe2\x80\xa8 && false \n", IS_TRUE, 0},
           {"true /* no */", REFUSED, 0},
           {"true //", REFUSED, 0}});
}

TEST(test_bytes_that_are_not_utf8_are_refused)
{
    CHECK({{"\"\xff\" == \"\"", REFUSED, 0},
           {"\"\xc3\" == \"\"", REFUSED, 0},
           {"\"\xed\xa0\x80\" == \"\"", REFUSED, 0},
           {"true // \x80\n", REFUSED, 0}});
}

TEST(test_integers_have_64_bits)
{
    CHECK({{"9223372036854775807 == principal.max", IS_TRUE, 0},
           {"-9223372036854775808 == principal.min", IS_TRUE, 0},
           {"- 9223372036854775808 == principal.min", IS_TRUE, 0},
           {"00000000000000000000000007 == 7", IS_TRUE, 0},
           {"9223372036854775808 == 1", REFUSED, 0},
           {"-9223372036854775809 == 1", REFUSED, 0},
           {"18446744073709551616 == 1", REFUSED, 0},
           {"-(9223372036854775808) == 1", REFUSED, 0},
           {"-9223372036854775808.x == 1", REFUSED, 0},
           {"--9223372036854775808 == 1", FAILS, CEDAR_FAIL_OVERFLOW},
           {"0x10 == 16", REFUSED, 0},
           {"1.5 == 1", REFUSED, 0}});
}

TEST(test_strings_have_the_escapes_of_rust)
{
    CHECK({{"\"\\x41\\u{42}\\u{0_0043}\" == \"ABC\"", IS_TRUE, 0},
           {"\"\\n\\r\\t\\\\\\0\\'\\\"\" != \"\"", IS_TRUE, 0},
           {"\"\n\" == \"\\n\"", IS_TRUE, 0},
           {"\"\\u{10FFFF}\" like \"*\"", IS_TRUE, 0},
           {"\"\\x7f\" like \"*\"", IS_TRUE, 0},
           {"\"\\x80\" like \"*\"", REFUSED, 0},
           {"\"\\u{110000}\" like \"*\"", REFUSED, 0},
           {"\"\\u{d800}\" like \"*\"", REFUSED, 0},
           {"\"\\u{0000041}\" like \"*\"", REFUSED, 0},
           {"\"\\u{_41}\" like \"*\"", REFUSED, 0},
           {"\"\\u{}\" like \"*\"", REFUSED, 0},
           {"\"\\u0041\" like \"*\"", REFUSED, 0},
           {"\"\\a\" like \"*\"", REFUSED, 0},
           {"\"\\*\" like \"*\"", REFUSED, 0},
           {"\"\r\" like \"*\"", REFUSED, 0},
           {"\"\\\n\" like \"*\"", REFUSED, 0},
           {"\"not closed", REFUSED, 0},
           {"'a' == 'a'", REFUSED, 0}});
}

TEST(test_patterns_match_whole_strings)
{
    CHECK({{"\"alice\" like \"al*\"", IS_TRUE, 0},
           {"\"alice\" like \"*li\"", IS_FALSE, 0},
           {"\"\" like \"\"", IS_TRUE, 0},
           {"\"\" like \"***\"", IS_TRUE, 0},
           {"\"a\" like \"*a*a*\"", IS_FALSE, 0},
           {"\"aba\" like \"a*a\"", IS_TRUE, 0},
           {"\"a\" like \"a*a\"", IS_FALSE, 0},
           {"\"abcabc\" like \"*bc\"", IS_TRUE, 0},
           {"\"\xc3\xa9\" like \"*\"", IS_TRUE, 0},
           {"principal.star like \"a\\*b\"", IS_TRUE, 0},
           {"\"aXb\" like \"a\\*b\"", IS_FALSE, 0},
           {"\"aXb\" like \"a\\x2ab\"", IS_TRUE, 0},
           {"\"aXb\" like \"a\\u{2a}b\"", IS_TRUE, 0},
           {"1 like \"*\"", FAILS, CEDAR_FAIL_TYPE},
           {"\"a\" like (\"a\")", REFUSED, 0},
           {"\"a\" like principal.name", REFUSED, 0}});
}

TEST(test_reserved_words_are_no_names)
{
    CHECK({{"principal.rec[\"in\"] == 2", IS_TRUE, 0},
           {"principal.rec has \"in\"", IS_TRUE, 0},
           {"{\"if\": 1} has \"if\"", IS_TRUE, 0},
           {"principal.rec.in == 2", REFUSED, 0},
           {"principal.rec has in", REFUSED, 0},
           {"{if: 1} has \"if\"", REFUSED, 0},
           {"principal is if", REFUSED, 0},
           {"in::\"x\" == 1", REFUSED, 0},
           {"A::true::\"x\" == 1", REFUSED, 0},
           {"principal.__cedar == 1", REFUSED, 0},
           {"{principal: 1, when: 2, permit: 3}.when == 2", IS_TRUE, 0}});
}

TEST(test_only_one_relation_without_brackets)
{
    CHECK({{"(1 < 2) == (2 < 3)", IS_TRUE, 0},
           {"1 < 2 < 3", REFUSED, 0},
           {"1 == 1 == true", REFUSED, 0},
           {"principal has a has b", REFUSED, 0},
           {"principal is User == true", REFUSED, 0},
           {"1 = 1", REFUSED, 0},
           {"1 / 1 == 1", REFUSED, 0},
           {"1 % 1 == 0", REFUSED, 0}});
}

TEST(test_up_to_four_signs_in_a_row)
{
    CHECK({{"!!!!true", IS_TRUE, 0},
           {"!!!!!true", REFUSED, 0},
           {"!(!!!!true)", IS_FALSE, 0},
           {"----1 == 1", IS_TRUE, 0},
           {"-----1 == 1", REFUSED, 0},
           {"!-1 == 1", REFUSED, 0},
           {"-!true", REFUSED, 0},
           {"1 - ----1 == 0", IS_TRUE, 0}});
}

TEST(test_commas_may_trail_but_not_stand_alone)
{
    CHECK({{"[1, 2,] == [2, 1]", IS_TRUE, 0},
           {"{a: 1,} == {\"a\": 1}", IS_TRUE, 0},
           {"[1].contains(1,)", IS_TRUE, 0},
           {"ip(\"::1\",).isIpv6()", IS_TRUE, 0},
           {"[,] == []", REFUSED, 0},
           {"{,} == {}", REFUSED, 0},
           {"[].isEmpty(,)", REFUSED, 0}});
}

TEST(test_bare_names_and_calls_must_be_known)
{
    CHECK({{"foo", REFUSED, 0},
           {"foo(1)", REFUSED, 0},
           {"A::B", REFUSED, 0},
           {"A::ip(\"::1\").isIpv6()", REFUSED, 0},
           {"principal()", REFUSED, 0},
           {"contains([1], 1)", REFUSED, 0},
           {"isIpv4(ip(\"::1\"))", REFUSED, 0},
           {"[1].foo()", REFUSED, 0},
           {"\"::1\".ip()", REFUSED, 0},
           {"?principal == principal", REFUSED, 0},
           {"()", REFUSED, 0},
           {"", REFUSED, 0}});
}

TEST(test_arguments_of_methods_are_counted)
{
    CHECK({{"[1].contains()", REFUSED, 0},
           {"[1].contains(1, 2)", REFUSED, 0},
           {"[1].isEmpty(1)", REFUSED, 0},
           {"principal.hasTag()", REFUSED, 0},
           {"ip().isIpv4()", FAILS, CEDAR_FAIL_ARGUMENTS},
           {"ip(\"::1\", \"::1\").isIpv4()", FAILS, CEDAR_FAIL_ARGUMENTS},
           {"ip(\"::1\").isIpv4(1)", FAILS, CEDAR_FAIL_ARGUMENTS},
           {"ip(\"::1\").isInRange(ip(\"::1\"), ip(\"::1\"))", FAILS, CEDAR_FAIL_ARGUMENTS}});
}

TEST(test_equality_is_structural_and_never_fails)
{
    CHECK({{"1 == \"1\"", IS_FALSE, 0},
           {"1 != \"1\"", IS_TRUE, 0},
           {"[1, 1, \"a\"] == [\"a\", 1]", IS_TRUE, 0},
           {"[[], {}] == [{}, []]", IS_TRUE, 0},
           {"{a: [1, 2], b: {}} == {b: {}, a: [2, 1]}", IS_TRUE, 0},
           {"{a: 1} == {a: 1, b: 1}", IS_FALSE, 0},
           {"User::\"x\" == User :: \"x\"", IS_TRUE, 0},
           {"User::\"x\" == Group::\"x\"", IS_FALSE, 0},
           {"ip(\"1.2.3.4\") == ip(\"1.2.3.4/32\")", IS_TRUE, 0},
           {"ip(\"10.0.0.0/8\") == ip(\"10.0.0.1/8\")", IS_FALSE, 0},
           {"decimal(\"1.0\") == decimal(\"1.0000\")", IS_TRUE, 0},
           {"duration(\"1d\") == duration(\"24h\")", IS_TRUE, 0},
           {"decimal(\"1.0\") == 1", IS_FALSE, 0},
           {"{a: 1, \"\\u{61}\": 2} == {}", REFUSED, 0}});
}

TEST(test_and_and_or_stop_at_what_decides)
{
    CHECK({{"false && 1", IS_FALSE, 0},
           {"true || 1", IS_TRUE, 0},
           {"true && 1", FAILS, CEDAR_FAIL_TYPE},
           {"false || 1", FAILS, CEDAR_FAIL_TYPE},
           {"1 && false", FAILS, CEDAR_FAIL_TYPE},
           {"1 || true", FAILS, CEDAR_FAIL_TYPE},
           {"true && false && 1", IS_FALSE, 0},
           {"true || false && 1", IS_TRUE, 0}});
}

TEST(test_if_runs_one_branch)
{
    CHECK({{"if true then true else 1 + \"a\"", IS_TRUE, 0},
           {"if context.yes then false else ip(\"x\").isIpv4()", IS_FALSE, 0},
           {"if 1 then true else true", FAILS, CEDAR_FAIL_TYPE},
           {"(if true then 1 else 2) + 1 == 2", IS_TRUE, 0},
           {"if false then 1 else 2 + 1 == 3", IS_TRUE, 0},
           {"true && if true then true else true", REFUSED, 0},
           {"if true then 1", REFUSED, 0}});
}

TEST(test_arithmetic_is_checked)
{
    CHECK({{"1 + 2 * 3 - 4 == 3", IS_TRUE, 0},
           {"1 - 2 - 3 == -4", IS_TRUE, 0},
           {"principal.max + 1 > 0", FAILS, CEDAR_FAIL_OVERFLOW},
           {"principal.min - 1 < 0", FAILS, CEDAR_FAIL_OVERFLOW},
           {"principal.max * 2 > 0", FAILS, CEDAR_FAIL_OVERFLOW},
           {"-principal.min > 0", FAILS, CEDAR_FAIL_OVERFLOW},
           {"principal.max + 1 - 1 > 0", FAILS, CEDAR_FAIL_OVERFLOW},
           {"\"a\" + \"b\" == \"ab\"", FAILS, CEDAR_FAIL_TYPE},
           {"-true", FAILS, CEDAR_FAIL_TYPE},
           {"!1", FAILS, CEDAR_FAIL_TYPE}});
}

TEST(test_order_is_for_numbers_and_times)
{
    CHECK({{"1 < 2", IS_TRUE, 0},
           {"2 <= 1", IS_FALSE, 0},
           {"datetime(\"2024-01-01\") < datetime(\"2024-01-02\")", IS_TRUE, 0},
           {"duration(\"1h\") >= duration(\"61m\")", IS_FALSE, 0},
           {"datetime(\"2024-01-01\") < duration(\"1h\")", FAILS, CEDAR_FAIL_TYPE},
           {"decimal(\"1.0\") < decimal(\"2.0\")", FAILS, CEDAR_FAIL_TYPE},
           {"\"a\" < \"b\"", FAILS, CEDAR_FAIL_TYPE}});
}

TEST(test_in_looks_at_ancestors)
{
    CHECK({{"principal in principal", IS_TRUE, 0},
           {"principal in Group::\"g0\"", IS_TRUE, 0},
           {"principal in [Group::\"g9\", Group::\"g1\"]", IS_TRUE, 0},
           {"principal in []", IS_FALSE, 0},
           {"User::\"none\" in User::\"none\"", IS_TRUE, 0},
           {"User::\"none\" in Group::\"g0\"", IS_FALSE, 0},
           {"Group::\"g0\" in Group::\"g1\"", IS_FALSE, 0},
           {"principal in [Group::\"g1\", 1]", FAILS, CEDAR_FAIL_TYPE},
           {"principal in 1", FAILS, CEDAR_FAIL_TYPE},
           {"1 in Group::\"g1\"", FAILS, CEDAR_FAIL_TYPE}});
}

TEST(test_is_compares_types)
{
    CHECK({{"principal is User", IS_TRUE, 0},
           {"principal is Group", IS_FALSE, 0},
           {"User::\"none\" is User", IS_TRUE, 0},
           {"principal is User in Group::\"g0\"", IS_TRUE, 0},
           {"principal is Group in 1", IS_FALSE, 0},
           {"principal is User in 1", FAILS, CEDAR_FAIL_TYPE},
           {"1 is User", FAILS, CEDAR_FAIL_TYPE},
           {"principal is User::\"alice\"", REFUSED, 0},
           {"principal is \"User\"", REFUSED, 0},
           {"principal is", REFUSED, 0}});
}

TEST(test_has_asks_for_attributes)
{
    CHECK({{"principal has name", IS_TRUE, 0},
           {"principal has \"name\"", IS_TRUE, 0},
           {"principal has none", IS_FALSE, 0},
           {"User::\"none\" has name", IS_FALSE, 0},
           {"principal has friend.name", IS_TRUE, 0},
           {"principal has ghost.name", IS_FALSE, 0},
           {"principal has rec.a.b", IS_TRUE, 0},
           {"principal has rec.x.b", IS_FALSE, 0},
           {"principal has name.x", FAILS, CEDAR_FAIL_TYPE},
           {"principal has rec.a.b.c", FAILS, CEDAR_FAIL_TYPE},
           {"1 has x", FAILS, CEDAR_FAIL_TYPE},
           {"principal has (\"name\")", REFUSED, 0},
           {"principal has rec.\"a\"", REFUSED, 0}});
}

TEST(test_attributes_must_be_there)
{
    CHECK({{"principal.name == \"alice\"", IS_TRUE, 0},
           {"principal[\"name\"] == \"alice\"", IS_TRUE, 0},
           {"principal.friend.name == \"bob\"", IS_TRUE, 0},
           {"{a: {b: 1}}.a.b == 1", IS_TRUE, 0},
           {"principal.none == 1", FAILS, CEDAR_FAIL_NO_ATTRIBUTE},
           {"context.none == 1", FAILS, CEDAR_FAIL_NO_ATTRIBUTE},
           {"principal.ghost.name == 1", FAILS, CEDAR_FAIL_NO_ENTITY},
           {"principal.name.x == 1", FAILS, CEDAR_FAIL_TYPE},
           {"principal[(\"name\")] == 1", REFUSED, 0},
           {"principal[1] == 1", REFUSED, 0}});
}

TEST(test_tags_are_not_attributes)
{
    CHECK({{"principal.hasTag(\"role\")", IS_TRUE, 0},
           {"principal.getTag(\"ro\" + \"le\") == 1", FAILS, CEDAR_FAIL_TYPE},
           {"principal.getTag(\"level\") == 3", IS_TRUE, 0},
           {"principal.hasTag(\"name\")", IS_FALSE, 0},
           {"principal has role", IS_FALSE, 0},
           {"User::\"none\".hasTag(\"role\")", IS_FALSE, 0},
           {"principal.getTag(\"none\") == 1", FAILS, CEDAR_FAIL_NO_TAG},
           {"User::\"none\".getTag(\"role\") == 1", FAILS, CEDAR_FAIL_NO_ENTITY},
           {"context.hasTag(\"role\")", FAILS, CEDAR_FAIL_TYPE},
           {"principal.hasTag(1)", FAILS, CEDAR_FAIL_TYPE}});
}

TEST(test_sets_contain_values)
{
    CHECK({{"[1, \"a\", [2]].contains([2, 2])", IS_TRUE, 0},
           {"[1, 2].containsAll([2, 2])", IS_TRUE, 0},
           {"[].containsAll([])", IS_TRUE, 0},
           {"[1].containsAny([])", IS_FALSE, 0},
           {"[1, 2].containsAny([2, 3])", IS_TRUE, 0},
           {"[].isEmpty()", IS_TRUE, 0},
           {"1.contains(1)", FAILS, CEDAR_FAIL_TYPE},
           {"[1].containsAll(1)", FAILS, CEDAR_FAIL_TYPE},
           {"{}.isEmpty()", FAILS, CEDAR_FAIL_TYPE},
           {"[1 + \"a\"].isEmpty()", FAILS, CEDAR_FAIL_TYPE}});
}

TEST(test_extension_values_fail_when_evaluated)
{
    CHECK({{"false && ip(\"x\").isIpv4()", IS_FALSE, 0},
           {"ip(\"x\").isIpv4()", FAILS, CEDAR_FAIL_EXTENSION},
           {"[decimal(\"x\")].isEmpty()", FAILS, CEDAR_FAIL_EXTENSION},
           {"{a: datetime(\"x\")} has a", FAILS, CEDAR_FAIL_EXTENSION},
           {"duration(1) == 1", FAILS, CEDAR_FAIL_TYPE},
           {"ip(principal.name) == 1", FAILS, CEDAR_FAIL_EXTENSION},
           {"\"::1\".isIpv6()", FAILS, CEDAR_FAIL_TYPE},
           {"ip(\"127.0.0.1/8\").isLoopback()", IS_TRUE, 0},
           {"ip(\"10.1.2.3\").isInRange(ip(\"10.0.0.0/8\"))", IS_TRUE, 0},
           {"decimal(\"1.5\").lessThan(decimal(\"1.6\"))", IS_TRUE, 0},
           {"datetime(\"2024-02-28\").offset(duration(\"1d\")) == datetime(\"2024-02-29\")",
            IS_TRUE, 0},
           {"datetime(\"2024-01-02\").durationSince(datetime(\"2024-01-01\")).toHours() == 24",
            IS_TRUE, 0},
           {"datetime(\"1969-12-31T23:59:59Z\").toDate() == datetime(\"1969-12-31\")", IS_TRUE, 0},
           {"datetime(\"1970-01-01\").offset(duration(\"-9223372036854775808ms\")).toDate() == "
            "datetime(\"1970-01-01\")",
            FAILS, CEDAR_FAIL_OVERFLOW}});
}

TEST(test_the_condition_must_be_a_bool)
{
    CHECK({{"1", FAILS, CEDAR_FAIL_TYPE},
           {"principal", FAILS, CEDAR_FAIL_TYPE},
           {"context.yes", IS_TRUE, 0}});
}
