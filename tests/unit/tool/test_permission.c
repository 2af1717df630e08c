// SPDX-License-Identifier: Apache-2.0
/* Permissions of tool entries: what is looked at, in which order, and which rule is told. */
#include "tool/permission.h"

#include "tool_world.h"

/** Ask, and insist on the answer and, for a refusal, on the rule. */
static void expect(const char *permissions, const char *arguments, bool is_allowed,
                   const char *rule)
{
    struct json_object *normal = permissions == NULL ? NULL : json_of(permissions);
    struct json_object *object = json_of(arguments);
    const char *ret_rule = "untouched";
    bool answer = permission_allows(normal, object, &ret_rule);
    if (answer != is_allowed) {
        fail_msg("%s on %s", permissions == NULL ? "no permissions" : permissions, arguments);
    }
    if (rule == NULL) {
        assert_null(ret_rule);
    } else {
        assert_string_equal(ret_rule, rule);
    }
    json_object_put(normal);
    json_object_put(object);
}

TEST(without_permissions_everything_is_allowed)
{
    expect(NULL, "{\"a\":1}", true, NULL);
    expect("{}", "{\"a\":1}", true, NULL);
}

TEST(deny_goes_before_allow)
{
    expect("{\"default\":\"allow\",\"allow\":[\"path=*\"],\"deny\":[\"path=*.env\"]}",
           "{\"path\":\"a/.env\"}", false, "path=*.env");
}

TEST(allow_goes_before_the_default)
{
    static const char permissions[] = "{\"default\":\"deny\",\"allow\":[\"path=docs/*\"]}";
    expect(permissions, "{\"path\":\"docs/a\"}", true, NULL);
    expect(permissions, "{\"path\":\"src/a\"}", false, NULL);
}

TEST(an_absent_argument_and_null_do_not_match)
{
    expect("{\"deny\":[\"path=*\"]}", "{\"other\":\"x\"}", true, NULL);
    expect("{\"deny\":[\"path=*\"]}", "{\"path\":null}", true, NULL);
}

TEST(a_bare_glob_looks_at_each_text)
{
    expect("{\"deny\":[\"*secret*\"]}", "{\"n\":1,\"a\":\"x\",\"b\":\"my secret\"}", false,
           "*secret*");
    expect("{\"deny\":[\"5\"]}", "{\"n\":5}", true, NULL);
}

TEST(deny_looks_into_arrays_and_objects_and_allow_does_not)
{
    expect("{\"deny\":[\"*secret*\"]}", "{\"a\":[{\"b\":[\"my secret\"]}]}", false, "*secret*");
    expect("{\"default\":\"deny\",\"allow\":[\"ok\"]}", "{\"a\":[\"ok\"]}", false, NULL);
}

TEST(arguments_that_are_no_text_match_as_they_are_written)
{
    expect("{\"deny\":[\"n=5\"]}", "{\"n\":5}", false, "n=5");
    expect("{\"deny\":[\"b=True\"]}", "{\"b\":true}", false, "b=True");
    expect("{\"deny\":[\"b=true\"]}", "{\"b\":true}", false, "b=true");
    expect("{\"deny\":[\"b=True\"]}", "{\"b\":false}", true, NULL);
    expect("{\"deny\":[\"l=*a/b*\"]}", "{\"l\":[\"a/b\"]}", false, "l=*a/b*");
}

TEST(a_pattern_is_parted_at_its_first_equals_sign)
{
    expect("{\"deny\":[\"command=X=*\"]}", "{\"command\":\"X=1 sh\"}", false, "command=X=*");
}
