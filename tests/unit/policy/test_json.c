// SPDX-License-Identifier: Apache-2.0
#include "policy/cedar/json.h"

#include "base/buf.h"
#include "base/memory.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/** A JSON text and what became of it. */
struct json_reading {
    struct arena arena;
    struct rondo_error err;
    int code;
    struct cedar_value value;
    struct buf text; /**< the value as Cedar text */
};

static struct json_reading read_bytes(const char *json, size_t len)
{
    struct json_reading reading = {0};
    struct json_reader reader = {
        .text = json, .len = len, CEDAR_JSON_LIMITS, .arena = &reading.arena, .err = &reading.err};
    reading.code = json_reader_begin(&reader);
    if (reading.code == 0) {
        reading.code = cedar_json_value(&reader, &reading.value);
    }
    if (reading.code == 0) {
        reading.code = json_reader_end(&reader);
    }
    if (reading.code == 0) {
        cedar_value_write(reading.value, &reading.text);
    }
    json_reader_fini(&reader);
    return reading;
}

static void forget(struct json_reading *reading)
{
    arena_fini(&reading->arena);
    buf_fini(&reading->text);
}

static void assert_reads(const char *json, const char *cedar)
{
    struct json_reading reading = read_bytes(json, strlen(json));
    assert_string_equal(reading.code == 0 ? "" : reading.err.message, "");
    assert_string_equal(buf_string(&reading.text), cedar);
    forget(&reading);
}

static void assert_refused(const char *json, const char *message)
{
    struct json_reading reading = read_bytes(json, strlen(json));
    assert_int_equal(reading.code, RONDO_ERR_INVALID);
    assert_string_equal(reading.err.message, message);
    forget(&reading);
}

struct json_pair {
    const char *json;
    const char *other;
};

static void assert_all_read(const struct json_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_reads(pairs[i].json, pairs[i].other);
    }
}

static void assert_all_refused(const struct json_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_refused(pairs[i].json, pairs[i].other);
    }
}

/* ---- Plain values --------------------------------------------------------------------------- */

TEST(plain_values_are_read)
{
    static const struct json_pair pairs[] = {
        {"true", "true"},
        {" \t\r\n false \n", "false"},
        {"0", "0"},
        {"-1", "-1"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"\"\"", "\"\""},
        {"\"alice\"", "\"alice\""},
        {"[]", "[]"},
        {"{}", "{}"},
        {"[1,1]", "[1]"},
        {"[ ]", "[]"},
        {"{ }", "{}"},
        {"{ \"a\" : [ true ] }", "{\"a\": [true]}"},
    };
    assert_all_read(pairs, COUNT(pairs));
}

TEST(sets_lose_their_duplicates)
{
    static const char json[] = "[1,\"a\",1,[1],[1,1],\"a\"]";
    struct json_reading reading = read_bytes(json, strlen(json));
    assert_int_equal(reading.code, 0);
    assert_int_equal(cedar_as_set(reading.value)->count, 3);
    assert_true(cedar_set_contains(cedar_as_set(reading.value), cedar_long(1)));
    assert_false(cedar_set_contains(cedar_as_set(reading.value), cedar_long(2)));
    forget(&reading);
}

TEST(numbers_that_are_no_longs_are_refused)
{
    static const struct json_pair pairs[] = {
        {"1.5", "1:1: a number with a fraction is not a Cedar value; use "
                "{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"1.5\"}}"},
        {"[-0.25]", "1:2: a number with a fraction is not a Cedar value; use "
                    "{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"-0.25\"}}"},
        {"1e2", "1:1: a number with an exponent is not a Cedar value; write the whole number"},
        {"1.5E+2", "1:1: a number with an exponent is not a Cedar value; write the whole number"},
        {"-0", "1:1: -0 is not a Cedar value; write 0"},
        {"9223372036854775808", "1:1: 9223372036854775808 is out of range; a Cedar long goes from "
                                "-9223372036854775808 to 9223372036854775807"},
        {"-9223372036854775809",
         "1:1: -9223372036854775809 is out of range; a Cedar long goes from "
         "-9223372036854775808 to 9223372036854775807"},
    };
    assert_all_refused(pairs, COUNT(pairs));
}

TEST(null_is_refused)
{
    assert_refused("null", "1:1: null is not a Cedar value; leave the field out");
    assert_refused("{\"a\":[1,\n null]}", "2:2: null is not a Cedar value; leave the field out");
}

TEST(what_is_no_json_is_refused)
{
    static const struct json_pair pairs[] = {
        {"", "1:1: expected a value, found the end"},
        {"  ", "1:3: expected a value, found the end"},
        {"tru", "1:1: expected a value, found `t`"},
        {"True", "1:1: expected a value, found `T`"},
        {"NaN", "1:1: expected a value, found `N`"},
        {"'a'", "1:1: expected a value, found `'`"},
        {"+1", "1:1: expected a value, found `+`"},
        {".5", "1:1: expected a value, found `.`"},
        {"-", "1:2: expected a digit, found the end"},
        {"1.", "1:3: expected a digit, found the end"},
        {"1e", "1:3: expected a digit, found the end"},
        {"1e+x", "1:4: expected a digit, found `x`"},
        {"01", "1:2: expected the end, found `1`"},
        {"[-01]", "1:4: expected `,` or `]`, found `1`"},
        {"1 2", "1:3: expected the end, found `2`"},
        {"true1", "1:5: expected the end, found `1`"},
        {"[1,]", "1:4: expected a value, found `]`"},
        {"[,1]", "1:2: expected a value, found `,`"},
        {"[1 2]", "1:4: expected `,` or `]`, found `2`"},
        {"[1", "1:3: expected `,` or `]`, found the end"},
        {"[", "1:2: expected a value, found the end"},
        {"[1}", "1:3: expected `,` or `]`, found `}`"},
        {"{", "1:2: expected a key in quotes, found the end"},
        {"{a:1}", "1:2: expected a key in quotes, found `a`"},
        {"{\"a\"}", "1:5: expected `:`, found `}`"},
        {"{\"a\":}", "1:6: expected a value, found `}`"},
        {"{\"a\":1,}", "1:8: expected a key in quotes, found `}`"},
        {"{\"a\":1", "1:7: expected `,` or `}`, found the end"},
        {"{\"a\":1]", "1:7: expected `,` or `}`, found `]`"},
        {"// x\n1", "1:1: expected a value, found `/`"},
        {"\xef\xbb\xbf{}", "1:1: expected a value, found byte 0xef"},
        {"\f1", "1:1: expected a value, found byte 0x0c"},
    };
    assert_all_refused(pairs, COUNT(pairs));
}

TEST(a_nul_byte_is_not_the_end)
{
    struct json_reading reading = read_bytes("1\0", 2);
    assert_int_equal(reading.code, RONDO_ERR_INVALID);
    assert_string_equal(reading.err.message, "1:2: expected the end, found byte 0x00");
    forget(&reading);
}

TEST(places_count_lines_and_code_points)
{
    assert_refused("[\"\xc3\xa9\xf0\x9f\x98\x80\", ?]", "1:8: expected a value, found `?`");
    assert_refused("[1,\r\n  2,\n   ?]", "3:4: expected a value, found `?`");
}

/* ---- Strings -------------------------------------------------------------------------------- */

TEST(escapes_in_strings_are_read)
{
    static const struct json_pair pairs[] = {
        {"\"\\\"\\\\\\/\"", "\"\\\"\\\\/\""},
        {"\"\\n\\r\\t\"", "\"\\n\\r\\t\""},
        {"\"\\b\\f\"", "\"\\x08\\x0c\""},
        {"\"\\u0041\\u00e9\\u20ac\"", "\"A\xc3\xa9\xe2\x82\xac\""},
        {"\"\\uD83D\\uDe00\"", "\"\xf0\x9f\x98\x80\""},
        {"\"\\ud800\\udc00\\udbff\\udfff\"", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
        {"\"\\ud7ff\\ue000\\uffff\"", "\"\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""},
        {"\"plain \\u0061nd plain\"", "\"plain and plain\""},
        {"\"\x7f\"", "\"\\x7f\""},
    };
    assert_all_read(pairs, COUNT(pairs));
}

TEST(strings_may_hold_nul)
{
    struct json_reading reading = read_bytes("\"a\\u0000b\"", 10);
    assert_int_equal(reading.code, 0);
    assert_int_equal(cedar_as_text(reading.value)->len, 3);
    assert_memory_equal(cedar_as_text(reading.value)->bytes, "a\0b", 4);
    forget(&reading);
}

TEST(wrong_strings_are_refused)
{
    static const struct json_pair pairs[] = {
        {"\"a", "1:3: the string has no end"},
        {"\"a\\", "1:4: expected one of \"\\/bfnrtu after `\\`, found the end"},
        {"\"\\x41\"", "1:3: expected one of \"\\/bfnrtu after `\\`, found `x`"},
        {"\"\\u12\"", "1:4: expected four hexadecimal digits after \\u"},
        {"\"\\u12g4\"", "1:4: expected four hexadecimal digits after \\u"},
        {"\"\\ud800\"", "1:8: \\ud800 is half of a surrogate pair without the other half"},
        {"\"\\ud800x\"", "1:8: \\ud800 is half of a surrogate pair without the other half"},
        {"\"\\ud800\\n\"", "1:8: \\ud800 is half of a surrogate pair without the other half"},
        {"\"\\ud800\\u0041\"", "1:14: \\ud800 is half of a surrogate pair without the other half"},
        {"\"\\ud800\\ud800\"", "1:14: \\ud800 is half of a surrogate pair without the other half"},
        {"\"\\udc00\"", "1:8: \\udc00 is half of a surrogate pair without the other half"},
        {"\"a\nb\"", "1:3: a control character in a string; write it as \\u000a"},
        {"\"\x1f\"", "1:2: a control character in a string; write it as \\u001f"},
        {"\"\x80\"", "1:2: the string is not UTF-8"},
        {"\"\xc0\x80\"", "1:2: the string is not UTF-8"},
        {"\"\xed\xa0\x80\"", "1:2: the string is not UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "1:2: the string is not UTF-8"},
        {"\"\xe2\x82\"", "1:2: the string is not UTF-8"},
        {"{\"\xff\":1}", "1:3: the string is not UTF-8"},
    };
    assert_all_refused(pairs, COUNT(pairs));
}

/* ---- Objects -------------------------------------------------------------------------------- */

TEST(a_key_that_occurs_twice_is_refused)
{
    static const struct json_pair pairs[] = {
        {"{\"a\":1,\"b\":2,\"a\":1}", "1:14: the key `a` occurs twice"},
        {"{\"a\":1,\"\\u0061\":2}", "1:8: the key `a` occurs twice"},
        {"[{\"x\":{\"\":1,\"\":2}}]", "1:13: the key `` occurs twice"},
        {"{\"\\u0000\":1,\"\\u0000\":2}", "1:13: the key `?` occurs twice"},
        {"{\"__entity\":{\"type\":\"U\",\"id\":\"x\",\"id\":\"y\"}}",
         "1:34: the key `id` occurs twice"},
        {"{\"__extn\":{\"fn\":\"ip\",\"arg\":\"::1\",\"z\":{\"k\":1,\"k\":2}}}",
         "1:45: the key `k` occurs twice"},
    };
    assert_all_refused(pairs, COUNT(pairs));
}

TEST(a_key_that_occurs_twice_among_many_is_found)
{
    struct buf json = {0};
    buf_append_string(&json, "{");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&json, "\"%d\":%d,", i, i);
    }
    size_t len = json.len;
    buf_append_string(&json, "\"1000\":0}");
    struct json_reading reading = read_bytes(json.data, json.len);
    assert_int_equal(reading.code, 0);
    assert_int_equal(cedar_as_record(reading.value)->count, 1001);
    forget(&reading);
    json.len = len;
    buf_append_string(&json, "\"500\":0}");
    assert_refused(buf_string(&json), "1:9782: the key `500` occurs twice");
    buf_fini(&json);
}

TEST(keys_may_be_anything)
{
    static const struct json_pair pairs[] = {
        {"{\"\":1}", "{\"\": 1}"},
        {"{\"in\":1}", "{\"in\": 1}"},
        {"{\"a\\u0000b\":1}", "{\"a\\x00b\": 1}"},
        {"{\"\xc3\xa9\":1}", "{\"\xc3\xa9\": 1}"},
    };
    assert_all_read(pairs, COUNT(pairs));
}

/* ---- Escapes -------------------------------------------------------------------------------- */

TEST(entities_are_read)
{
    static const struct json_pair pairs[] = {
        {"{\"__entity\":{\"type\":\"User\",\"id\":\"alice\"}}", "User::\"alice\""},
        {"{\"__entity\":{\"id\":\"\",\"type\":\"A::B::C\"}}", "A::B::C::\"\""},
        {"{\"__entity\":{\"type\":\"U\",\"id\":\"x\",\"z\":null,\"y\":{\"__expr\":\"1\"}}}",
         "U::\"x\""},
        {"{\"\\u005f_entity\":{\"type\":\"U\",\"id\":\"x\"}}", "U::\"x\""},
        {"[{\"__entity\":{\"type\":\"U\",\"id\":\"x\"}}]", "[U::\"x\"]"},
    };
    assert_all_read(pairs, COUNT(pairs));
}

TEST(an_entity_of_no_type_is_refused)
{
    static const char *const types[] = {
        "",      " U",      "U ",     "A:: B", "A::",        "::A",      "A:B",     "in",
        "A::in", "__cedar", "A//\\n", "1A",    "A::__cedar", "\xc3\xa9", "A\\u0000"};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct buf json = {0};
        buf_printf(&json, "{\"__entity\":{\"type\":\"%s\",\"id\":\"x\"}}", types[i]);
        struct json_reading reading = read_bytes(json.data, json.len);
        assert_int_equal(reading.code, RONDO_ERR_INVALID);
        assert_non_null(strstr(reading.err.message, "is not the name of an entity type"));
        forget(&reading);
        buf_fini(&json);
    }
    assert_refused("{\"__entity\":{\"type\":\"A::in\",\"id\":\"x\"}}",
                   "1:21: `A::in` is not the name of an entity type; expected identifiers joined "
                   "by `::`, none of them reserved");
}

TEST(extension_values_are_read)
{
    static const struct json_pair pairs[] = {
        {"{\"__extn\":{\"fn\":\"ip\",\"arg\":\"10.0.0.0/8\"}}", "ip(\"10.0.0.0/8\")"},
        {"{\"__extn\":{\"arg\":\"1.50\",\"fn\":\"decimal\"}}", "decimal(\"1.5\")"},
        {"{\"__extn\":{\"fn\":\"datetime\",\"arg\":\"2024-01-02\"}}",
         "datetime(\"2024-01-02T00:00:00Z\")"},
        {"{\"__extn\":{\"fn\":\"duration\",\"arg\":\"1h\"}}", "duration(\"1h\")"},
        {"{\"__extn\":{\"fn\":\"duration\",\"args\":[\"1h\"]}}", "duration(\"1h\")"},
        /* With both, `arg` counts, and nobody looks at the other or at further fields. */
        {"{\"__extn\":{\"args\":[null,{\"__expr\":\"x\"}],\"fn\":\"duration\",\"arg\":\"1h\"}}",
         "duration(\"1h\")"},
        {"{\"__extn\":{\"fn\":\"duration\",\"arg\":\"1h\",\"z\":null}}", "duration(\"1h\")"},
    };
    assert_all_read(pairs, COUNT(pairs));
}

TEST(extension_methods_are_called)
{
    static const struct json_pair pairs[] = {
        {"{\"__extn\":{\"fn\":\"toDays\",\"arg\":{\"__extn\":{\"fn\":\"duration\",\"arg\":\"2d\"}}}"
         "}",
         "2"},
        {"{\"__extn\":{\"fn\":\"isInRange\",\"args\":["
         "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"10.1.1.1\"}},"
         "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"10.0.0.0/8\"}}]}}",
         "true"},
        {"{\"__extn\":{\"fn\":\"offset\",\"args\":["
         "{\"__extn\":{\"fn\":\"datetime\",\"arg\":\"2024-01-02\"}},"
         "{\"__extn\":{\"fn\":\"duration\",\"arg\":\"-1d\"}}]}}",
         "datetime(\"2024-01-01T00:00:00Z\")"},
    };
    assert_all_read(pairs, COUNT(pairs));
}

TEST(calls_that_fail_are_refused)
{
    static const struct json_pair pairs[] = {
        {"{\"__extn\":{\"fn\":\"ip\",\"arg\":\"1.2.3\"}}", "1:28: ip() does not accept \"1.2.3\""},
        {"{\"__extn\":{\"fn\":\"ip\",\"arg\":1}}",
         "1:28: ip() does not accept a value of type long"},
        {"{\"__extn\":{\"fn\":\"ip\",\"args\":[]}}", "1:17: ip() does not take 0 arguments"},
        {"{\"__extn\":{\"fn\":\"isInRange\",\"arg\":1}}",
         "1:17: isInRange() does not take 1 argument"},
        {"{\"__extn\":{\"fn\":\"ipv4\",\"arg\":\"1.2.3.4\"}}",
         "1:17: there is no extension function `ipv4`; expected ip, decimal, datetime, duration or "
         "one of their methods"},
        {"{\"__extn\":{\"fn\":\"ip\",\"arg\":null}}",
         "1:28: null is not a Cedar value; leave the field out"},
        {"{\"__extn\":{\"fn\":\"toDate\",\"arg\":{\"__extn\":{\"fn\":\"offset\",\"args\":["
         "{\"__extn\":{\"fn\":\"datetime\",\"arg\":\"1970-01-01\"}},"
         "{\"__extn\":{\"fn\":\"duration\",\"arg\":\"-9223372036854775808ms\"}}]}}}}",
         "1:17: toDate() overflows"},
    };
    assert_all_refused(pairs, COUNT(pairs));
}

TEST(broken_numbers_count_even_where_nobody_looks)
{
    assert_refused("{\"__entity\":{\"type\":\"U\",\"id\":\"x\",\"z\":[{\"k\":1e2}]}}",
                   "1:44: a number with an exponent is not a Cedar value; write the whole number");
    assert_refused("{\"__extn\":{\"fn\":\"ip\",\"arg\":\"::1\",\"args\":[-0]}}",
                   "1:42: -0 is not a Cedar value; write 0");
}

TEST(the_escape_for_expressions_is_refused)
{
    assert_refused("[{\"__expr\":\"1 + 1\"}]",
                   "1:2: `__expr` is no longer part of Cedar; use `__entity` or `__extn`");
}

TEST(what_is_no_escape_is_a_record)
{
    static const struct json_pair pairs[] = {
        {"{\"__entity\":{\"type\":\"U\"}}", "{\"__entity\": {\"type\": \"U\"}}"},
        {"{\"__entity\":\"U\"}", "{\"__entity\": \"U\"}"},
        {"{\"__entity\":[\"x\"]}", "{\"__entity\": [\"x\"]}"},
        {"{\"__entity\":{\"__entity\":{\"type\":\"U\",\"id\":\"x\"}}}", "{\"__entity\": U::\"x\"}"},
        {"{\"__extn\":{\"fn\":\"ip\"}}", "{\"__extn\": {\"fn\": \"ip\"}}"},
        {"{\"__extn\":{\"arg\":\"::1\"}}", "{\"__extn\": {\"arg\": \"::1\"}}"},
        {"{\"__expr\":1}", "{\"__expr\": 1}"},
        {"{\"__extn\":{\"__extn\":{\"fn\":\"ip\",\"arg\":\"::1\"}}}", "{\"__extn\": ip(\"::1\")}"},
        {"{\"__Entity\":{}}", "{\"__Entity\": {}}"},
    };
    assert_all_read(pairs, COUNT(pairs));
    static const char *const records[] = {
        "{\"__entity\":{\"type\":\"U\",\"id\":\"x\"},\"b\":1}",
        "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"bad\"},\"b\":1}",
        "{\"__expr\":\"1\",\"b\":1}",
        "{\"type\":\"U\",\"id\":\"x\"}",
        "{\"fn\":\"ip\",\"arg\":\"::1\"}",
    };
    for (size_t i = 0; i < COUNT(records); i++) {
        struct json_reading reading = read_bytes(records[i], strlen(records[i]));
        assert_int_equal(reading.code, 0);
        assert_int_equal(reading.value.kind, CEDAR_RECORD);
        assert_int_equal(cedar_as_record(reading.value)->count, 2);
        forget(&reading);
    }
}

TEST(the_fields_of_what_is_no_escape_are_values)
{
    assert_refused("{\"__entity\":{\"type\":\"U\",\"z\":null}}",
                   "1:29: null is not a Cedar value; leave the field out");
    assert_refused("{\"__extn\":{\"fn\":\"ip\",\"z\":{\"__expr\":\"x\"}}}",
                   "1:26: `__expr` is no longer part of Cedar; use `__entity` or `__extn`");
}

/* ---- Limits --------------------------------------------------------------------------------- */

/** `depth` arrays, or objects, in one another. */
static struct buf nested(size_t depth, const char *open, const char *close)
{
    struct buf json = {0};
    for (size_t i = 0; i < depth; i++) {
        buf_append_string(&json, open);
    }
    buf_append_string(&json, "1");
    for (size_t i = 0; i < depth; i++) {
        buf_append_string(&json, close);
    }
    return json;
}

TEST(nesting_has_a_limit)
{
    static const struct {
        const char *open, *close;
    } kinds[] = {{"[", "]"}, {"{\"a\":", "}"}};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct buf json = nested(CEDAR_LIMIT_DEPTH, kinds[i].open, kinds[i].close);
        struct json_reading reading = read_bytes(json.data, json.len);
        assert_int_equal(reading.code, 0);
        forget(&reading);
        buf_fini(&json);
        json = nested(CEDAR_LIMIT_DEPTH + 1, kinds[i].open, kinds[i].close);
        reading = read_bytes(json.data, json.len);
        assert_int_equal(reading.code, RONDO_ERR_LIMIT);
        assert_non_null(strstr(reading.err.message, "nested too deeply; the limit is 200"));
        forget(&reading);
        buf_fini(&json);
    }
}

TEST(nesting_without_an_end_is_refused)
{
    size_t len = 1000000;
    char *json = memory_new(len);
    memset(json, '[', len);
    struct json_reading reading = read_bytes(json, len);
    assert_int_equal(reading.code, RONDO_ERR_LIMIT);
    forget(&reading);
    free(json);
}

TEST(the_text_has_a_limit)
{
    size_t len = CEDAR_LIMIT_TEXT_BYTES;
    char *json = memory_new(len + 1);
    memset(json, ' ', len + 1);
    json[0] = '1';
    struct json_reading reading = read_bytes(json, len);
    assert_int_equal(reading.code, 0);
    forget(&reading);
    reading = read_bytes(json, len + 1);
    assert_int_equal(reading.code, RONDO_ERR_LIMIT);
    assert_string_equal(reading.err.message, "the JSON has 67108865 bytes; the limit is 67108864");
    forget(&reading);
    free(json);
}

/* ---- Other ways to read --------------------------------------------------------------------- */

TEST(a_record_is_read_without_escapes)
{
    static const char text[] = "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"::1\"}}";
    struct arena arena = {0};
    struct json_reader json = {
        .text = text, .len = sizeof(text) - 1, CEDAR_JSON_LIMITS, .arena = &arena};
    const struct cedar_record *record = NULL;
    const struct json_node *node = NULL;
    assert_int_equal(json_reader_read(&json, &node), 0);
    assert_int_equal(cedar_json_to_record(&json, node, &record), 0);
    assert_int_equal(record->count, 1);
    assert_string_equal(record->fields[0].name->bytes, "__extn");
    assert_int_equal(record->fields[0].value.kind, CEDAR_RECORD);
    json_reader_fini(&json);
    arena_fini(&arena);
}

TEST(elements_are_read_one_by_one)
{
    static const char text[] = " [ {\"type\":\"U\",\"id\":\"x\"} , [1.5, null] ] ";
    struct arena arena = {0};
    struct json_reader json = {
        .text = text, .len = sizeof(text) - 1, CEDAR_JSON_LIMITS, .arena = &arena};
    const struct json_node *node = NULL;
    const struct cedar_uid *uid = NULL;
    assert_int_equal(json_reader_peek(&json), '[');
    assert_int_equal(json_reader_expect(&json, '['), 0);
    assert_int_equal(json_reader_read(&json, &node), 0);
    assert_int_equal(cedar_json_to_uid(&json, node, &arena, &uid), 0);
    assert_int_equal(json_reader_accept(&json, ']'), 0);
    assert_int_equal(json_reader_accept(&json, ','), 1);
    assert_int_equal(json_reader_read(&json, &node), 0);
    assert_int_equal(json_reader_accept(&json, ']'), 1);
    assert_int_equal(json_reader_end(&json), 0);
    assert_int_equal(json_reader_peek(&json), '\0');
    assert_string_equal(uid->type->bytes, "U");
    json_reader_fini(&json);
    arena_fini(&arena);
}

TEST(a_refused_value_leaves_the_result_alone)
{
    struct json_reading reading = {.value = cedar_long(7)};
    struct json_reader json = {.text = "{\"__extn\":{\"fn\":\"ip\",\"arg\":\"x\"}}",
                               .len = 34,
                               CEDAR_JSON_LIMITS,
                               .arena = &reading.arena};
    assert_int_equal(cedar_json_value(&json, &reading.value), RONDO_ERR_INVALID);
    assert_int_equal(reading.value.kind, CEDAR_LONG);
    assert_int_equal(reading.value.as.number, 7);
    json_reader_fini(&json);
    forget(&reading);
}
