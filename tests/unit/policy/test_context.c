// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "policy/cedar/entities.h"
#include "support/test.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"iteration", "tool", "cost", "a", "approved", "zz", "input"};
enum { ITERATION, TOOL, COST, A, APPROVED, ZZ, INPUT };

static struct cedar_value get(const struct cedar_context *context, const char *name)
{
    struct arena arena = {0};
    const struct cedar_value *value =
        cedar_record_get(&context->record, cedar_text_new(&arena, name, strlen(name)));
    arena_fini(&arena);
    assert_non_null(value);
    return *value;
}

static void assert_value(const struct cedar_context *context, const char *name, const char *cedar)
{
    struct buf text = {0};
    cedar_value_write(get(context, name), &text);
    assert_string_equal(buf_string(&text), cedar);
    buf_fini(&text);
}

static void set_json(struct cedar_context *context, size_t index, const char *json)
{
    struct rondo_error err = {0};
    assert_int_equal(cedar_context_set_json(context, index, json, strlen(json), &err), 0);
}

TEST(attributes_start_as_false)
{
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    assert_int_equal(context->record.count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_value(context, names[i], "false");
    }
    cedar_context_free(context);
    cedar_context_free(NULL);
}

TEST(a_context_may_have_no_attributes)
{
    struct cedar_context *context = cedar_context_new(NULL, 0);
    assert_int_equal(context->record.count, 0);
    cedar_context_free(context);
}

TEST(each_attribute_gets_its_own_value)
{
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    cedar_context_set(context, ITERATION, cedar_long(3));
    cedar_context_set_string(context, TOOL, "shell", 5);
    cedar_context_set(context, COST, cedar_decimal(15000));
    set_json(context, A, "{\"k\":[1]}");
    cedar_context_set(context, APPROVED, cedar_bool(true));
    cedar_context_set(context, ZZ, cedar_datetime(0));
    assert_value(context, "iteration", "3");
    assert_value(context, "tool", "\"shell\"");
    assert_value(context, "cost", "decimal(\"1.5\")");
    assert_value(context, "a", "{\"k\": [1]}");
    assert_value(context, "approved", "true");
    assert_value(context, "zz", "datetime(\"1970-01-01T00:00:00Z\")");
    assert_value(context, "input", "false");
    cedar_context_free(context);
}

TEST(values_are_set_again)
{
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    cedar_context_set_string(context, A, "a longer text", 13);
    cedar_context_set_string(context, A, "short", 5);
    assert_value(context, "a", "\"short\"");
    cedar_context_set_string(context, A, NULL, 0);
    assert_value(context, "a", "\"\"");
    cedar_context_set_string(context, A, "x\0y", 3);
    assert_value(context, "a", "\"x\\x00y\"");
    set_json(context, A, "[true]");
    assert_value(context, "a", "[true]");
    cedar_context_set(context, A, cedar_bool(true));
    assert_value(context, "a", "true");
    cedar_context_set_string(context, A, "again", 5);
    assert_value(context, "a", "\"again\"");
    cedar_context_free(context);
}

TEST(a_string_may_be_a_part_of_the_one_before)
{
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    cedar_context_set_string(context, A, "0123456789", 10);
    cedar_context_set_string(context, A, cedar_as_text(get(context, "a"))->bytes + 2, 8);
    assert_value(context, "a", "\"23456789\"");
    cedar_context_free(context);
}

TEST(strings_equal_those_of_policies)
{
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    struct arena arena = {0};
    cedar_context_set_string(context, A, "abcdefghijk", 11);
    cedar_context_set_string(context, A, "alice", 5);
    assert_true(
        cedar_text_equals(cedar_as_text(get(context, "a")), cedar_text_new(&arena, "alice", 5)));
    arena_fini(&arena);
    cedar_context_free(context);
}

TEST(wrong_json_leaves_the_value)
{
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    struct rondo_error err = {0};
    set_json(context, A, "{\"old\":\"value\"}");
    static const char *const texts[] = {"",   "null", "1.5",
                                        "[1", "1 2",  "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"x\"}}"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        int code = cedar_context_set_json(context, A, texts[i], strlen(texts[i]), &err);
        assert_int_equal(code, RONDO_ERR_INVALID);
        assert_value(context, "a", "{\"old\": \"value\"}");
    }
    assert_string_equal(err.message, "1:28: ip() does not accept \"x\"");
    cedar_context_free(context);
}

TEST(json_may_be_a_part_of_the_value_before)
{
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    set_json(context, A, "\"[1]\"");
    set_json(context, A, cedar_as_text(get(context, "a"))->bytes);
    assert_value(context, "a", "[1]");
    cedar_context_free(context);
}

/** The sanitizer has an allocator of its own, which does not count like this. */
static size_t bytes_in_use(void)
{
    return mallinfo2().uordblks;
}

TEST(setting_again_takes_no_more_memory)
{
    static const char json[] = "{\"list\":[1,2,3,\"four\",{\"__extn\":{\"fn\":\"ip\",\"arg\":"
                               "\"10.0.0.1\"}}],\"text\":\"some text\"}";
    struct cedar_context *context = cedar_context_new(names, COUNT(names));
    cedar_context_set_string(context, TOOL, "as long as it gets", 18);
    for (int i = 0; i < 4; i++) {
        set_json(context, INPUT, json);
    }
    size_t before = bytes_in_use();
    for (int i = 0; i < 10000; i++) {
        cedar_context_set(context, ITERATION, cedar_long(i));
        cedar_context_set_string(context, TOOL, "shell", (size_t)i % 6);
        set_json(context, INPUT, json);
    }
    assert_true(bytes_in_use() <= before);
    cedar_context_free(context);
}

TEST(a_context_is_read_from_json)
{
    static const char json[] = " {\"n\":1,\"who\":{\"__entity\":{\"type\":\"U\",\"id\":\"x\"}},"
                               "\"r\":{},\"a\\u0000b\":true} ";
    struct cedar_context *context = cedar_context_parse(json, strlen(json), NULL);
    assert_non_null(context);
    assert_int_equal(context->record.count, 4);
    assert_value(context, "n", "1");
    assert_value(context, "who", "U::\"x\"");
    assert_value(context, "r", "{}");
    cedar_context_free(context);
}

TEST(what_is_no_record_is_no_context)
{
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"", "1:1: expected a value, found the end"},
        {" []", "1:2: a context must be a record, not a value of type set"},
        {"\"x\"", "1:1: a context must be a record, not a value of type string"},
        {"{\"__entity\":{\"type\":\"U\",\"id\":\"x\"}}",
         "1:1: a context must be a record, not a value of type entity"},
        {"{\"__extn\":{\"fn\":\"ip\",\"arg\":\"::1\"}}",
         "1:1: a context must be a record, not a value of type ipaddr"},
        {"{\"__expr\":\"1\"}",
         "1:1: `__expr` is no longer part of Cedar; use `__entity` or `__extn`"},
        {"{\"a\":1,\"a\":1}", "1:8: the key `a` occurs twice"},
        {"{} {}", "1:4: expected the end, found `{`"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rondo_error err = {0};
        assert_null(cedar_context_parse(cases[i].json, strlen(cases[i].json), &err));
        assert_int_equal(err.code, RONDO_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
    }
}
