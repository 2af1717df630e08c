// SPDX-License-Identifier: Apache-2.0
/* The little language of `response_extract`. */

#include "base/json/json.h"
#include "support/test.h"
#include "tool/builtin/api_extract.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define DATA                                                               \
    "{\"a\":{\"b\":[10,20,{\"c\":\"x\"}],\"n\":null,\"b c\":1},\"list\":[" \
    "{\"id\":1,\"tags\":[{\"name\":\"p\"},{\"name\":\"q\"}]},"             \
    "{\"id\":2,\"tags\":[]},{\"tags\":[{\"name\":\"r\"},{}]}],\"empty\":[],\"0\":\"zero\"}"

/** @return what an expression takes out of the data, as JSON; "-" = nothing. free() it */
static char *take(const char *expression)
{
    struct extract *extract = NULL;
    struct json_object *data = NULL;
    struct rondo_error err = {0};
    if (extract_parse(expression, &extract, &err) < 0) {
        fail_msg("%s: %s", expression, err.message);
    }
    assert_int_equal(json_parse(DATA, strlen(DATA), &data, NULL), 0);
    struct json_object *found = extract_apply(extract, data);
    char *text =
        strdup(found == NULL ? "-" : json_object_to_json_string_ext(found, JSON_C_TO_STRING_PLAIN));
    json_object_put(found);
    json_object_put(data);
    extract_free(extract);
    return text;
}

TEST(expressions_take_out_what_they_say)
{
    static const struct {
        const char *expression;
        const char *expected;
    } cases[] = {
        {"$.a.b.0", "10"},
        {"$.a.b[1]", "20"},
        {"a.b[2].c", "\"x\""},
        {"$.a['b c']", "1"},
        {"$[\"a\"].b.1", "20"},
        {"$.0", "\"zero\""},
        {"  $.a.b.0  ", "10"},
        {"$.a.n", "-"},
        {"$.a.b.3", "-"},
        {"$.a.b.99999999999999999999", "-"},
        {"$.a.b.x", "-"},
        {"$.x", "-"},
        {"$.a.b.0.y", "-"},
        {"$.empty[*]", "[]"},
        {"$.empty[*].x", "[]"},
        {"$.x[*]", "-"},
        {"$.a.b.0[*]", "-"},
        {"$.list[*].id", "[1,2]"},
        {"$.list.*.id", "[1,2]"},
        {"list[*].tags[*].name", "[\"p\",\"q\",\"r\"]"},
        {"$.list[*].{id,tags[*].name}",
         "[{\"id\":1,\"tags\":[\"p\",\"q\"]},{\"id\":2,\"tags\":[]},{\"tags\":[\"r\"]}]"},
        {"$.list[*].{ id , none }", "[{\"id\":1},{\"id\":2},{}]"},
        {"$.list[0].tags.{[1],['0'].name}", "{\"1\":{\"name\":\"q\"},\"0\":\"p\"}"},
        {"$.{a.b.0,empty}", "{\"a\":10,\"empty\":[]}"},
        {"{list[*].{id}}", "{\"list\":[{\"id\":1},{\"id\":2},{}]}"},
        {"$.{a.{b.0,n}}.a.b", "10"},
        {"$.a.b[*]", "[10,20,{\"c\":\"x\"}]"},
        {"$[*][*].id", "[1,2]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = take(cases[i].expression);
        if (strcmp(text, cases[i].expected) != 0) {
            fail_msg("%s: %s", cases[i].expression, text);
        }
        free(text);
    }
}

TEST(the_root_alone_is_the_whole)
{
    char *text = take("$");
    assert_int_equal(text[0], '{');
    assert_true(strlen(text) > 100);
    free(text);
}

TEST(other_texts_are_refused)
{
    static const char *const bad[] = {
        "",        " ",       "$a",        "$.",     "$..a",   "$.a[",  "$.a[x]",
        "$.a['b]", "$.a['b'", "$[?(@.a)]", "$.a b",  "a,b",    "{a",    "{a,}",
        "{}",      "$.a]",    "$.a}",      "$[-1]",  "$[1:2]", "$.{*}", "$.a.[0]",
        "$.a..b",  "$[*]{a}", "$.a{b}",    "{a}{b}", "$ .a b",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct extract *extract = NULL;
        if (extract_parse(bad[i], &extract, NULL) != RONDO_ERR_INVALID) {
            fail_msg("taken: '%s'", bad[i]);
        }
    }
}

/** Parse an expression that begins with `len` bytes. */
static int parse_long(size_t len)
{
    struct extract *extract = NULL;
    char *text = malloc(len + 1);
    memset(text, 'a', len);
    text[len] = '\0';
    int r = extract_parse(text, &extract, NULL);
    free(text);
    extract_free(extract);
    return r;
}

TEST(an_expression_has_a_length)
{
    assert_int_equal(parse_long(EXTRACT_MAX_BYTES), 0);
    assert_int_equal(parse_long(EXTRACT_MAX_BYTES + 1), RONDO_ERR_LIMIT);
}

static int parse_deep(size_t depth)
{
    struct buf text = {0};
    struct extract *extract = NULL;
    for (size_t i = 0; i < depth; i++) {
        buf_append_string(&text, i == 0 ? "{a" : ".{a");
    }
    for (size_t i = 0; i < depth; i++) {
        buf_append_string(&text, "}");
    }
    int r = extract_parse(buf_string(&text), &extract, NULL);
    buf_fini(&text);
    extract_free(extract);
    return r;
}

TEST(braces_have_a_depth)
{
    assert_int_equal(parse_deep(EXTRACT_MAX_DEPTH), 0);
    assert_int_equal(parse_deep(EXTRACT_MAX_DEPTH + 1), RONDO_ERR_LIMIT);
}

TEST(an_error_names_its_place)
{
    struct extract *extract = NULL;
    struct rondo_error err = {0};
    assert_int_equal(extract_parse("$.a[x]", &extract, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "at byte 4: "));
}
