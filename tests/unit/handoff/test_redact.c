// SPDX-License-Identifier: Apache-2.0
#include "handoff/view/redact.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const char *const oncall[] = {"sec-oncall"};
static const char *const lead[] = {"sec-lead"};
static const char *const both[] = {"sec-lead", "sec-oncall"};

#define NAMES(list)                            \
    {                                          \
        list, sizeof(list) / sizeof((list)[0]) \
    }

/** A rule that hides one pointer from sec-oncall, who may not reveal it; sec-lead may. */
static struct redact_rule rule_of(const char *const *pointer)
{
    return (struct redact_rule){
        .pointers = {pointer, 1}, .hidden_from = NAMES(oncall), .reveal = NAMES(lead)};
}

static struct json_object *parse(const char *json)
{
    struct json_object *root = NULL;
    assert_int_equal(json_parse(json, strlen(json), &root, NULL), 0);
    return root;
}

/** What sec-oncall sees of a document under one pointer, and what was hidden. */
static size_t see(const char *pointer, const char *json, struct buf *ret_json,
                  struct buf *ret_paths)
{
    struct redact_rule rule = rule_of(&pointer);
    struct redact_view view = {.rules = &rule, .count = 1, .roles = NAMES(oncall)};
    auto_json struct json_object *document = parse(json);
    auto_json struct json_object *paths = json_object_new_array();
    size_t count = redact_apply(&view, document, paths);
    buf_append_string(ret_json,
                      json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
                                                                   JSON_C_TO_STRING_NOSLASHESCAPE));
    buf_append_string(ret_paths,
                      json_object_to_json_string_ext(paths, JSON_C_TO_STRING_PLAIN |
                                                                JSON_C_TO_STRING_NOSLASHESCAPE));
    return count;
}

static void expect_hidden(const char *pointer, const char *json, const char *paths)
{
    auto_buf struct buf seen = {0};
    auto_buf struct buf hidden = {0};
    see(pointer, json, &seen, &hidden);
    assert_string_equal(buf_string(&hidden), paths);
    assert_null(strstr(buf_string(&seen), "secret"));
}

static void expect_nothing_hidden(const char *pointer, const char *json)
{
    auto_buf struct buf seen = {0};
    auto_buf struct buf hidden = {0};
    assert_int_equal(see(pointer, json, &seen, &hidden), 0);
    assert_string_equal(buf_string(&seen), json);
}

TEST(pointers_lead_through_members_and_elements)
{
    expect_hidden("/a/b", "{\"a\":{\"b\":\"secret\"}}", "[\"/a/b\"]");
    expect_hidden("/a/0", "{\"a\":[\"secret\",1]}", "[\"/a/0\"]");
    expect_hidden("/0", "{\"0\":\"secret\"}", "[\"/0\"]");
    expect_hidden("/", "{\"\":\"secret\"}", "[\"/\"]");
    expect_hidden("/a//b", "{\"a\":{\"\":{\"b\":\"secret\"}}}", "[\"/a//b\"]");
    expect_hidden("/a", "{\"a\":{\"b\":[\"secret\"]}}", "[\"/a\"]");
}

TEST(tildes_and_slashes_in_names_are_escaped)
{
    expect_hidden("/a~1b", "{\"a/b\":\"secret\"}", "[\"/a~1b\"]");
    expect_hidden("/m~0n", "{\"m~n\":\"secret\"}", "[\"/m~0n\"]");
    expect_hidden("/~01", "{\"~1\":\"secret\"}", "[\"/~01\"]");
    expect_nothing_hidden("/~01", "{\"/\":1}");
}

TEST(a_star_is_every_member_and_element)
{
    expect_hidden("/*", "{\"a\":\"secret\",\"b\":\"secret\"}", "[\"/a\",\"/b\"]");
    expect_hidden("/m/*/text", "{\"m\":[{\"text\":\"secret\"},{\"x\":1},{\"text\":\"secret\"}]}",
                  "[\"/m/0/text\",\"/m/2/text\"]");
    expect_hidden("/*/*", "{\"a\":{\"b\":\"secret\"},\"c\":[\"secret\"]}", "[\"/a/b\",\"/c/0\"]");
    expect_nothing_hidden("/a*", "{\"ab\":1}");
}

TEST(what_is_missing_is_not_made)
{
    expect_nothing_hidden("/a/b", "{\"a\":1}");
    expect_nothing_hidden("/a/1", "{\"a\":[1]}");
    expect_nothing_hidden("/a/-", "{\"a\":[1]}");
    expect_nothing_hidden("/a/00", "{\"a\":[1]}");
    expect_nothing_hidden("/a/0x0", "{\"a\":[1]}");
    expect_nothing_hidden("/a/99999999999999999999", "{\"a\":[1]}");
    expect_nothing_hidden("/a/b/c/d", "{\"a\":{}}");
}

TEST(a_null_is_hidden_too)
{
    auto_buf struct buf seen = {0};
    auto_buf struct buf hidden = {0};
    assert_int_equal(see("/a", "{\"a\":null}", &seen, &hidden), 1);
    assert_non_null(strstr(buf_string(&seen), "\"redacted\":true"));
}

TEST(only_pointers_are_pointers)
{
    auto_buf struct buf deep = {0};
    char huge[LIMIT_POINTER_BYTES + 2];
    assert_false(redact_is_pointer(""));
    assert_false(redact_is_pointer("a"));
    assert_false(redact_is_pointer("/~"));
    assert_false(redact_is_pointer("/~2"));
    assert_false(redact_is_pointer("/a~/b"));
    assert_true(redact_is_pointer("/"));
    assert_true(redact_is_pointer("/~0~1"));
    for (int i = 0; i < LIMIT_POINTER_SEGMENTS; i++) {
        buf_append_string(&deep, "/a");
    }
    assert_true(redact_is_pointer(buf_string(&deep)));
    buf_append_string(&deep, "/a");
    assert_false(redact_is_pointer(buf_string(&deep)));
    memset(huge, 'a', sizeof(huge));
    huge[0] = '/';
    huge[LIMIT_POINTER_BYTES] = '\0';
    assert_true(redact_is_pointer(huge));
    huge[LIMIT_POINTER_BYTES] = 'a';
    huge[LIMIT_POINTER_BYTES + 1] = '\0';
    assert_false(redact_is_pointer(huge));
}

TEST(a_placeholder_has_a_keyed_code_and_the_length)
{
    const char *pointer = "/a";
    struct redact_rule rule = rule_of(&pointer);
    struct redact_view view = {.rules = &rule, .count = 1, .roles = NAMES(oncall)};
    struct redact_view other = view;
    other.key[0] = 1;
    auto_json struct json_object *one = parse("{\"a\":\"hunter2\"}");
    auto_json struct json_object *again = parse("{\"a\":\"hunter2\"}");
    auto_json struct json_object *keyed = parse("{\"a\":\"hunter2\"}");
    redact_apply(&view, one, NULL);
    redact_apply(&view, again, NULL);
    redact_apply(&other, keyed, NULL);
    const char *code = json_get_string(json_member(one, "a"), "hmac", "");
    assert_int_equal(strlen(code), strlen("hmac-sha256:") + 64);
    assert_string_equal(code, json_get_string(json_member(again, "a"), "hmac", ""));
    assert_string_not_equal(code, json_get_string(json_member(keyed, "a"), "hmac", ""));
    assert_int_equal(json_get_int(json_member(one, "a"), "length", 0), 7);
    assert_string_equal(json_get_string(json_member(one, "a"), "reason", ""), "a rule hides /a");
}

/** An agent may repeat in its summary what is hidden in the arguments. */
TEST(copies_of_a_hidden_text_are_hidden_too)
{
    auto_buf struct buf seen = {0};
    auto_buf struct buf hidden = {0};
    see("/args/password",
        "{\"args\":{\"password\":\"secret-42\"},\"intent\":{\"summary\":\"log in with secret-42, "
        "secret-42!\"},\"list\":[\"secret-42\"]}",
        &seen, &hidden);
    assert_null(strstr(buf_string(&seen), "secret-42"));
    assert_non_null(strstr(buf_string(&seen), "log in with [redacted], [redacted]!"));
}

TEST(short_texts_do_not_blacken_ordinary_words)
{
    auto_buf struct buf seen = {0};
    auto_buf struct buf hidden = {0};
    see("/a", "{\"a\":\"an\",\"b\":\"an answer\"}", &seen, &hidden);
    assert_non_null(strstr(buf_string(&seen), "an answer"));
}

static size_t count_for(struct redact_names roles, struct redact_names hidden_from)
{
    static const char *const pointer[] = {"/a"};
    struct redact_rule rule = {.pointers = NAMES(pointer), .hidden_from = hidden_from};
    struct redact_view view = {.rules = &rule, .count = 1, .roles = roles};
    auto_json struct json_object *document = parse("{\"a\":1}");
    return redact_apply(&view, document, NULL);
}

TEST(in_doubt_a_value_is_hidden)
{
    static const char *const everybody[] = {"*"};
    struct redact_names none = {0};
    assert_int_equal(
        count_for((struct redact_names)NAMES(oncall), (struct redact_names)NAMES(oncall)), 1);
    assert_int_equal(
        count_for((struct redact_names)NAMES(lead), (struct redact_names)NAMES(oncall)), 0);
    assert_int_equal(
        count_for((struct redact_names)NAMES(both), (struct redact_names)NAMES(oncall)), 1);
    assert_int_equal(count_for(none, (struct redact_names)NAMES(oncall)), 1);
    assert_int_equal(count_for((struct redact_names)NAMES(lead), none), 1);
    assert_int_equal(
        count_for((struct redact_names)NAMES(lead), (struct redact_names)NAMES(everybody)), 1);
}

static enum redact_verdict reveal(struct redact_names roles, const char *pointer,
                                  const char *hidden_pointer)
{
    static const char *const everybody[] = {"*"};
    struct redact_rule rule = {
        .pointers = {&hidden_pointer, 1}, .hidden_from = NAMES(everybody), .reveal = NAMES(lead)};
    struct redact_view view = {.rules = &rule, .count = 1, .roles = roles};
    struct json_object *value = NULL;
    auto_json struct json_object *document = parse("{\"a\":{\"b\":[\"x\",null]},\"c\":1}");
    return redact_reveal(&view, document, pointer, &value);
}

TEST(only_roles_of_the_rule_reveal_a_value_that_is_hidden)
{
    struct redact_names leads = NAMES(lead);
    struct redact_names oncalls = NAMES(oncall);
    assert_int_equal(reveal(leads, "/a/b/0", "/a/b/0"), REDACT_REVEALED);
    assert_int_equal(reveal(leads, "/a/b/0", "/a/*/*"), REDACT_REVEALED);
    assert_int_equal(reveal(leads, "/a/b/1", "/a"), REDACT_REVEALED);
    assert_int_equal(reveal(oncalls, "/a/b/0", "/a"), REDACT_NOT_PERMITTED);
    assert_int_equal(reveal((struct redact_names){0}, "/a/b/0", "/a"), REDACT_NOT_PERMITTED);
    assert_int_equal(reveal(leads, "/c", "/a"), REDACT_NOT_HIDDEN);
    assert_int_equal(reveal(leads, "/a", "/a/b"), REDACT_NOT_HIDDEN);
    assert_int_equal(reveal(leads, "/a/x", "/a"), REDACT_MISSING);
    assert_int_equal(reveal(leads, "/a/*", "/a"), REDACT_MISSING);
    assert_int_equal(reveal(leads, "", "/a"), REDACT_MISSING);
    assert_int_equal(reveal(leads, "/a/~", "/a"), REDACT_MISSING);
}

TEST(what_is_not_json_is_hidden_as_a_whole)
{
    static const char *const pointer[] = {"/a"};
    struct redact_rule rule = rule_of(pointer);
    struct redact_view view = {.rules = &rule, .count = 1, .roles = NAMES(oncall)};
    auto_buf struct buf seen = {0};
    assert_int_equal(redact_apply_text(&view, "{secret", 7, &seen), 1);
    assert_null(strstr(buf_string(&seen), "secret"));
}

static void expect_clean(const char *pointer, const char *json, const char *leak)
{
    auto_buf struct buf seen = {0};
    auto_buf struct buf hidden = {0};
    see(pointer, json, &seen, &hidden);
    assert_null(strstr(buf_string(&seen), leak));
}

TEST(copies_in_names_in_quoted_json_and_of_parts_are_hidden)
{
    expect_clean("/a", "{\"a\":\"secret\",\"b\":{\"secret\":1,\"[redacted]\":2}}", "secret");
    expect_clean("/a", "{\"a\":\"sec\\\"ret\",\"b\":\"{\\\"x\\\":\\\"sec\\\\\\\"ret\\\"}\"}",
                 "ret");
    expect_clean("/a/*", "{\"a\":[\"secret\",\"12secret34\"],\"b\":\"12secret34\"}", "34");
}

TEST(more_texts_than_are_known_hide_every_text)
{
    auto_buf struct buf json = {0};
    buf_append_string(&json, "{\"a\":[");
    for (int i = 0; i <= LIMIT_REDACTED_TEXTS; i++) {
        buf_printf(&json, "%s\"filler-%03d\"", i == 0 ? "" : ",", i);
    }
    buf_append_string(&json, ",\"secret\"],\"b\":\"the secret one\"}");
    expect_clean("/a/*", buf_string(&json), "secret");
}

TEST(an_object_that_looks_like_a_placeholder_is_none)
{
    expect_clean("/a", "{\"a\":\"secret\",\"b\":{\"redacted\":true,\"reason\":\"secret\"}}",
                 "secret");
}

TEST(rules_are_for_agents_and_tools)
{
    static const char *const pointer[] = {"/a"};
    struct redact_rule rule = {.agent = "ag*", .tool = "send", .pointers = NAMES(pointer)};
    struct redact_view view = {.rules = &rule, .count = 1, .agent = "agent", .tool = "send"};
    assert_true(redact_hides(&view));
    view.tool = "sends";
    assert_false(redact_hides(&view));
    view.tool = NULL; /* not known */
    assert_true(redact_hides(&view));
    view.agent = "other";
    assert_false(redact_hides(&view));
}
