// SPDX-License-Identifier: Apache-2.0
#include "base/json/json.h"

#include "base/buf.h"
#include "base/limits.h"
#include "support/test.h"

#include <json-c/json.h>
#include <string.h>

static int parse(const char *text)
{
    auto_json struct json_object *value = NULL;
    struct rondo_error err;
    return json_parse(text, strlen(text), &value, &err);
}

TEST(every_kind_of_value_is_read)
{
    static const char *const texts[] = {
        "{}",    "[]",   "0",      "-1.5e3",  "\"a\"",       "true",
        "false", "null", " {} \n", "[1,[2]]", "\"\\u00e9\"", "{\"a\":{\"b\":null}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(parse(texts[i]), 0);
    }
}

TEST(what_is_not_json_is_refused)
{
    static const char *const texts[] = {
        "",        " ",        "{",       "}",        "[1,]",     "{\"a\":}", "{a:1}",
        "{'a':1}", "nul",      "{} {}",   "1 2",      "\"\xff\"", "\"",       "{\"a\":1,}",
        "NaN",     "Infinity", "// c\n1", "\"\x01\"", "[1] x",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (parse(texts[i]) != RONDO_ERR_INVALID) {
            fail_msg("accepted: %s", texts[i]);
        }
    }
}

static int parse_nested(unsigned depth)
{
    auto_buf struct buf text = {0};
    for (unsigned i = 0; i < depth; i++) {
        buf_append(&text, "[", 1);
    }
    for (unsigned i = 0; i < depth; i++) {
        buf_append(&text, "]", 1);
    }
    return parse(buf_string(&text));
}

TEST(nesting_is_limited)
{
    assert_int_equal(parse_nested(LIMIT_JSON_DEPTH), 0);
    assert_int_equal(parse_nested(LIMIT_JSON_DEPTH + 1), RONDO_ERR_INVALID);
    assert_int_equal(parse_nested(100000), RONDO_ERR_INVALID);
}

TEST(a_name_that_occurs_twice_is_refused_where_json_decides)
{
    static const char *const good[] = {"{}", "{\"a:b\":\":\",\"c\":{\"a:b\":[{\"x\":1}]}}",
                                       "{\"\\\":\":\"\\\\\"}", "[1]"};
    static const char *const bad[] = {"{\"a\":1,\"a\":2}", "{\"b\":[{\"a\":1,\"\\u0061\":2}]}",
                                      "[\"\\ud800\"]", "{\"a\":1", ""};
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        auto_json struct json_object *value = NULL;
        assert_int_equal(json_parse_strict(good[i], strlen(good[i]), &value, NULL), 0);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        auto_json struct json_object *value = NULL;
        assert_int_equal(json_parse_strict(bad[i], strlen(bad[i]), &value, NULL),
                         RONDO_ERR_INVALID);
    }
}

/** Texts and what json-c writes of them: old journals and replies of models hold such. */
TEST(what_others_write_carelessly_is_read)
{
    static const struct {
        const char *text;
        const char *written;
    } cases[] = {
        {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
        {"\"\\ud800\"", "\"\xef\xbf\xbd\""},
        {"\"\\ud800x\\ude00\"", "\"\xef\xbf\xbdx\xef\xbf\xbd\""},
        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
        {"\"a\\u0000b\"", "\"a\\u0000b\""},
        {"-0", "0"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "18446744073709551616"},
        {"-9223372036854775809", "-9223372036854775809"},
        {"1.50", "1.50"},
        {"1e400", "1e400"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_json struct json_object *value = NULL;
        assert_int_equal(json_parse(cases[i].text, strlen(cases[i].text), &value, NULL), 0);
        assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
                            cases[i].written);
    }
}

TEST(a_fault_has_its_line_and_column)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{\n \"\xc3\xa4\": nul}", "not valid JSON: 2:7: expected a value, found `n`"},
        {"{} x", "not valid JSON: 1:4: expected the end, found `x`"},
        {"[1 2]", "not valid JSON: 1:4: expected `,` or `]`, found `2`"},
        {"", "not valid JSON: 1:1: expected a value, found the end"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rondo_error err = {0};
        assert_int_equal(json_parse(cases[i].text, strlen(cases[i].text), NULL, &err),
                         RONDO_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
    }
}

TEST(members_of_the_wrong_type_count_as_missing)
{
    auto_json struct json_object *value = NULL;
    const char *text = "{\"n\":5,\"t\":\"x\",\"b\":true}";
    assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
    assert_int_equal(json_get_int(value, "n", 1), 5);
    assert_int_equal(json_get_int(value, "t", 1), 1);
    assert_string_equal(json_get_string(value, "t", "-"), "x");
    assert_string_equal(json_get_string(value, "n", "-"), "-");
    assert_true(json_get_bool(value, "b", false));
    assert_false(json_get_bool(value, "missing", false));
}

TEST(written_values_are_json)
{
    auto_buf struct buf buf = {0};
    struct json_writer writer = json_writer(&buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "text", "a\"b\\c\n\t\x01/\xc3\xa9");
    json_write_string(&writer, "none", NULL);
    json_write_int(&writer, "low", INT64_MIN);
    json_begin_array(&writer, "list");
    json_write_bool(&writer, NULL, true);
    json_write_raw(&writer, NULL, "{\"x\":1}");
    json_begin_array(&writer, NULL);
    json_end_array(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
    assert_string_equal(buf_string(&buf),
                        "{\"text\":\"a\\\"b\\\\c\\n\\t\\u0001/\xc3\xa9\",\"none\":null,"
                        "\"low\":-9223372036854775808,\"list\":[true,{\"x\":1},[]]}");
    assert_int_equal(parse(buf_string(&buf)), 0);
}

TEST(a_time_is_written_in_utc_and_no_time_as_null)
{
    auto_buf struct buf text = {0};
    struct json_writer writer = json_writer(&text);
    json_begin_object(&writer, NULL);
    json_write_time(&writer, "then", INT64_C(1500000000));
    json_write_time(&writer, "never", 0);
    json_end_object(&writer);
    assert_string_equal(buf_string(&text),
                        "{\"then\":\"1970-01-01T00:00:01.500Z\",\"never\":null}");
}

TEST(bytes_that_are_not_utf8_are_replaced)
{
    auto_buf struct buf buf = {0};
    struct json_writer writer = json_writer(&buf);
    json_write_string_len(&writer, NULL, "a\xff\xc3\0b\xe2\x82", 7);
    assert_string_equal(buf_string(&buf),
                        "\"a\xef\xbf\xbd\xef\xbf\xbd\\u0000b\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_int_equal(parse(buf_string(&buf)), 0);
}
