// SPDX-License-Identifier: Apache-2.0
/* The JSON Schema checker: what fits, what does not, and what is said about it. */
#include "tool/schema_check.h"

#include "tool_world.h"

/** Check, and insist on the faults; NULL = it fits. */
static void expect(const char *schema_text, const char *value_text, const char *faults)
{
    struct json_object *schema = json_of(schema_text);
    struct json_object *value = json_of(value_text);
    struct buf text = {0};
    bool fits = schema_check(schema, value, &text);
    assert_string_equal(buf_string(&text), faults == NULL ? "" : faults);
    assert_int_equal(fits, faults == NULL);
    buf_fini(&text);
    json_object_put(schema);
    json_object_put(value);
}

TEST(types_are_checked)
{
    expect("{\"type\":\"string\"}", "\"x\"", NULL);
    expect("{\"type\":\"integer\"}", "5", NULL);
    expect("{\"type\":\"integer\"}", "5.0", NULL);
    expect("{\"type\":\"number\"}", "5", NULL);
    expect("{\"type\":\"null\"}", "null", NULL);
    expect("{\"type\":[\"string\",\"null\"]}", "null", NULL);
    expect("{\"type\":\"integer\"}", "\"5\"", "expected integer, got \"5\" (string)");
    expect("{\"type\":\"integer\"}", "5.5", "expected integer, got 5.5 (number)");
    expect("{\"type\":\"boolean\"}", "1", "expected boolean, got 1 (integer)");
    expect("{\"type\":\"string\"}", "null", "expected string, got null");
    expect("{\"type\":[\"string\",\"null\"]}", "[1]", "expected string or null, got [1] (array)");
}

TEST(the_place_of_a_fault_is_told)
{
    expect("{\"properties\":{\"a\":{\"items\":{\"properties\":{\"b\":{\"type\":\"string\"}}}}}}",
           "{\"a\":[{\"b\":\"x\"},{\"b\":2}]}", "`a[1].b`: expected string, got 2 (integer)");
}

TEST(all_faults_are_told_up_to_a_limit)
{
    expect("{\"required\":[\"a\",\"b\"],\"properties\":{\"c\":{\"type\":\"string\"}}}", "{\"c\":1}",
           "`a`: required, but missing; `b`: required, but missing; "
           "`c`: expected string, got 1 (integer)");
    expect("{\"items\":false}", "[1,2,3,4,5]",
           "`[0]`: expected nothing, got 1 (integer); `[1]`: expected nothing, got 2 (integer); "
           "`[2]`: expected nothing, got 3 (integer); `[3]`: expected nothing, got 4 (integer); "
           "`[4]`: expected nothing, got 5 (integer)");
    expect("{\"required\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"]}", "{}",
           "`a`: required, but missing; `b`: required, but missing; `c`: required, but missing; "
           "`d`: required, but missing; `e`: required, but missing; and more");
}

TEST(an_unexpected_argument_is_told_with_what_was_meant)
{
    expect("{\"properties\":{\"path\":{},\"content\":{}},\"additionalProperties\":false}",
           "{\"pth\":\"x\"}",
           "`pth`: not expected; did you mean `path`? (known: `path`, `content`)");
    expect("{\"additionalProperties\":false}", "{\"x\":1}", "`x`: not expected (known: none)");
    expect("{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":1}",
           "`x`: expected string, got 1 (integer)");
    expect("{\"patternProperties\":{\"x\":{}},\"additionalProperties\":false}", "{\"x\":1}", NULL);
}

TEST(enums_and_constants_are_checked)
{
    expect("{\"enum\":[\"a\",\"b\"]}", "\"b\"", NULL);
    expect("{\"enum\":[\"a\",\"b\"]}", "\"c\"", "expected one of \"a\", \"b\", got \"c\" (string)");
    expect("{\"const\":1}", "2", "expected 1, got 2 (integer)");
}

TEST(limits_are_checked_at_the_edge)
{
    expect("{\"minimum\":1,\"maximum\":3}", "1", NULL);
    expect("{\"minimum\":1,\"maximum\":3}", "3", NULL);
    expect("{\"minimum\":1}", "0", "expected at least 1, got 0 (integer)");
    expect("{\"maximum\":3}", "4", "expected at most 3, got 4 (integer)");
    expect("{\"exclusiveMinimum\":1}", "1", "expected more than 1, got 1 (integer)");
    expect("{\"exclusiveMaximum\":1}", "0.5", NULL);
    expect("{\"maxLength\":2}", "\"\xC3\xA4\xC3\xB6\"", NULL);
    expect("{\"maxLength\":1}", "\"ab\"", "expected at most 1 characters, got \"ab\" (string)");
    expect("{\"minItems\":1}", "[]", "expected at least 1 elements, got [] (array)");
    expect("{\"minimum\":1}", "\"text\"", NULL);
}

TEST(branches_are_tried)
{
    static const char schema[] = "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}";
    expect(schema, "1", NULL);
    expect(schema, "true", "expected one of the forms that the schema allows, got true (boolean)");
    expect("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
           "expected string, got 1 (integer)");
    expect("{\"allOf\":[{\"type\":\"string\"},{\"minLength\":2}]}", "\"a\"",
           "expected at least 2 characters, got \"a\" (string)");
}

TEST(references_lead_into_the_same_document_only)
{
    expect("{\"$defs\":{\"x\":{\"type\":\"string\"}},\"properties\":{\"a\":{\"$ref\":"
           "\"#/$defs/x\"}}}",
           "{\"a\":1}", "`a`: expected string, got 1 (integer)");
    expect("{\"$ref\":\"https://example.com/schema\"}", "1", NULL);
    expect("{\"$ref\":\"#/nowhere\"}", "1", NULL);
    expect("{\"$ref\":\"#\"}", "1", NULL);
}

TEST(a_schema_that_explodes_ends)
{
    struct buf schema = {0};
    buf_append_string(&schema, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 60; i++) {
        buf_printf(&schema,
                   "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},",
                   i, i + 1, i + 1);
    }
    buf_append_string(&schema, "\"d60\":false}}");
    struct json_object *object = json_of(buf_string(&schema));
    struct json_object *value = json_of("1");
    struct buf faults = {0};
    schema_check(object, value, &faults);
    buf_fini(&faults);
    buf_fini(&schema);
    json_object_put(object);
    json_object_put(value);
}

static void complete(const char *schema_text, const char *value_text, const char *result)
{
    struct json_object *schema = json_of(schema_text);
    struct json_object *value = json_of(value_text);
    schema_complete(schema, value);
    assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), result);
    json_object_put(schema);
    json_object_put(value);
}

TEST(defaults_are_filled_in)
{
    complete("{\"properties\":{\"a\":{\"default\":5},\"b\":{\"default\":1}}}", "{\"b\":2}",
             "{\"b\":2,\"a\":5}");
}

TEST(a_default_that_does_not_fit_is_not_filled_in)
{
    complete(
        "{\"properties\":{\"a\":{\"type\":\"string\",\"default\":5},\"b\":{\"default\":null}}}",
        "{}", "{}");
}

TEST(null_for_an_optional_argument_means_absent)
{
    complete("{\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"x\"}}}", "{\"a\":null}",
             "{\"a\":\"x\"}");
    complete("{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"],\"default\":\"x\"}}}",
             "{\"a\":null}", "{\"a\":null}");
    complete("{\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":null}",
             "{\"a\":null}");
}
