// SPDX-License-Identifier: Apache-2.0
/* YAML as PyYAML's safe_load reads it: types of scalars, positions, aliases, merging, limits. */
#include "role_help.h"

#include "base/limits.h"
#include "role/yaml.h"

#include <stdio.h>

struct tree {
    struct arena arena;
    struct yaml_node *root;
    struct yaml_problem problem;
    int code;
};

static struct tree read_tree(const char *text, size_t len)
{
    struct tree tree = {0};
    tree.code = yaml_read(text, len, 1, &tree.arena, &tree.root, &tree.problem);
    return tree;
}

static struct tree tree_of(const char *text)
{
    struct tree tree = read_tree(text, strlen(text));
    if (tree.code < 0) {
        fail_msg("%s: %s", text, tree.problem.message);
    }
    return tree;
}

static void expect_json(const char *text, const char *json)
{
    struct tree tree = tree_of(text);
    struct json_object *value = yaml_to_json(tree.root);
    const char *given = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
    if (strcmp(given, json) != 0) {
        fail_msg("%s is %s, not %s", text, given, json);
    }
    json_object_put(value);
    arena_fini(&tree.arena);
}

static void expect_refused(const char *text, const char *position_and_message)
{
    struct tree tree = read_tree(text, strlen(text));
    char given[256];
    snprintf(given, sizeof(given), "%zu:%zu %s", tree.problem.line, tree.problem.column,
             tree.problem.message);
    assert_true(tree.code < 0);
    assert_string_equal(given, position_and_message);
    arena_fini(&tree.arena);
}

TEST(scalars_have_the_types_of_yaml_1_1)
{
    static const struct {
        const char *text;
        enum yaml_kind kind;
        const char *json;
    } cases[] = {
        {"yes", YAML_BOOLEAN, "true"},
        {"Off", YAML_BOOLEAN, "false"},
        {"TRUE", YAML_BOOLEAN, "true"},
        {"tRUE", YAML_TEXT, "\"tRUE\""},
        {"y", YAML_TEXT, "\"y\""},
        {"~", YAML_NULL, "null"},
        {"Null", YAML_NULL, "null"},
        {"0", YAML_INTEGER, "0"},
        {"-5", YAML_INTEGER, "-5"},
        {"+1_000", YAML_INTEGER, "1000"},
        {"0x1F", YAML_INTEGER, "31"},
        {"0b101", YAML_INTEGER, "5"},
        {"017", YAML_INTEGER, "15"},
        {"0o17", YAML_TEXT, "\"0o17\""},
        {"08", YAML_TEXT, "\"08\""},
        {"1:30", YAML_INTEGER, "90"},
        {"190:20:30", YAML_INTEGER, "685230"},
        {"1:60", YAML_TEXT, "\"1:60\""},
        {"9223372036854775807", YAML_INTEGER, "9223372036854775807"},
        {"1.5", YAML_NUMBER, "1.5"},
        {"1.", YAML_NUMBER, "1.0"},
        {".5", YAML_NUMBER, "0.5"},
        {"-.5", YAML_TEXT, "\"-.5\""},
        {"1.5e+3", YAML_NUMBER, "1500.0"},
        {"1.5e3", YAML_TEXT, "\"1.5e3\""},
        {"1e3", YAML_TEXT, "\"1e3\""},
        {"1:30.5", YAML_NUMBER, "90.5"},
        {".inf", YAML_NUMBER, "null"},
        {"-.INF", YAML_NUMBER, "null"},
        {".nan", YAML_NUMBER, "null"},
        {"2026-01-05", YAML_TIME, "\"2026-01-05\""},
        {"2026-1-5", YAML_TEXT, "\"2026-1-5\""},
        {"2026-01-05 10:20:30", YAML_TIME, "\"2026-01-05T10:20:30\""},
        {"2026-01-05t10:20:30.5 +01:00", YAML_TIME, "\"2026-01-05T10:20:30.5+01:00\""},
        {"\"yes\"", YAML_TEXT, "\"yes\""},
        {"'5'", YAML_TEXT, "\"5\""},
        {"!!str 5", YAML_TEXT, "\"5\""},
        {"!!int '0x10'", YAML_INTEGER, "16"},
        {"!!float 3", YAML_NUMBER, "3.0"},
        {"!!bool yEs", YAML_BOOLEAN, "true"},
        {"!!null x", YAML_NULL, "null"},
        {"! 5", YAML_INTEGER, "5"},
        {"|\n x\n y\n", YAML_TEXT, "\"x\\ny\\n\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tree tree = tree_of(cases[i].text);
        if (tree.root->kind != cases[i].kind || tree.root->problem != NULL) {
            fail_msg("%s has the kind %d", cases[i].text, tree.root->kind);
        }
        arena_fini(&tree.arena);
        expect_json(cases[i].text, cases[i].json);
    }
}

TEST(values_that_python_cannot_make_are_problems)
{
    static const char *const texts[] = {
        "2026-13-01", "2026-02-29", "2026-01-01 25:00:00", "0x_",          "=", "!!int x",
        "!!bool 5",   "!!int ''",   "!!float x",           "!!timestamp x"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct tree tree = tree_of(texts[i]);
        if (tree.root->problem == NULL) {
            fail_msg("%s is taken", texts[i]);
        }
        arena_fini(&tree.arena);
    }
}

TEST(a_byte_order_mark_is_no_text)
{
    expect_json("\xEF\xBB\xBF"
                "a: 1",
                "{\"a\":1}");
}

TEST(nodes_know_where_they_stand)
{
    struct tree tree = tree_of("a: 1\nbb:\n  - x\n  -  {c: d}\n\"\xc3\xa4\": e\n");
    const struct yaml_node *list = yaml_get(tree.root, "bb");
    assert_int_equal(list->line, 3);
    assert_int_equal(list->column, 3);
    assert_int_equal(list->items[1]->pairs[0].value->line, 4);
    assert_int_equal(list->items[1]->pairs[0].value->column, 10);
    assert_int_equal(tree.root->pairs[2].value->column, 6); /* characters, not bytes */
    arena_fini(&tree.arena);
}

TEST(an_alias_is_the_same_value_again)
{
    expect_json("a: &x {k: 1}\nb: *x\n", "{\"a\":{\"k\":1},\"b\":{\"k\":1}}");
    expect_refused("a: *x\n", "1:4 there is no anchor with the name `x`");
    expect_refused("a: &x [*x]\n", "1:8 an alias within its own anchor: `x`");
    expect_refused("a: &x 1\nb: &x 2\n", "2:4 an earlier anchor has the name `x`");
}

TEST(merge_keys_put_maps_in_and_own_keys_win)
{
    expect_json("{a: 1, <<: {a: 2, b: 3}}", "{\"a\":1,\"b\":3}");
    expect_json("<<: [{a: 1}, {a: 2, b: 3}]", "{\"a\":1,\"b\":3}");
    expect_json("{\"<<\": {a: 1}}", "{\"<<\":{\"a\":1}}");
    expect_refused("<<: 5\n",
                   "1:1 `<<` takes a map or a list of maps; write \"<<\" for a key of that name");
}

TEST(the_last_of_repeated_keys_counts_and_knows_the_first)
{
    struct tree tree = tree_of("a: 1\nb: 2\na: 3\n");
    assert_int_equal(tree.root->count, 2);
    assert_int_equal(yaml_get(tree.root, "a")->integer, 3);
    assert_int_equal(tree.root->pairs[0].repeated->line, 1);
    assert_null(tree.root->pairs[1].repeated);
    arena_fini(&tree.arena);
    struct tree merged = tree_of("<<: {a: 1}\na: 3\n");
    assert_null(merged.root->pairs[0].repeated); /* that is what merging is for */
    arena_fini(&merged.arena);
}

TEST(what_is_no_yaml_is_refused_with_its_place)
{
    expect_refused("a: [1\nb: 2\n", "2:2 this is not valid YAML: did not find expected ',' or ']', "
                                    "while parsing a flow sequence");
    expect_refused("a: 1\n--- \nb: 2\n", "2:1 a second document begins here; a file has only one");
    expect_refused("a: !foo x\n", "1:4 there is no type for the tag `!foo`");
    expect_refused("a: !!python/none x\n",
                   "1:4 there is no type for the tag `tag:yaml.org,2002:python/none`");
    expect_refused("a: !!set {x}\n",
                   "1:4 a list or map cannot have the tag `tag:yaml.org,2002:set`");
    expect_refused("? [a]\n: b\n", "1:3 a list or map cannot be a key");
}

TEST(an_empty_text_has_no_root)
{
    static const char *const texts[] = {"", "\n", "# nothing\n", "\xef\xbb\xbf"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct tree tree = tree_of(texts[i]);
        assert_null(tree.root);
        arena_fini(&tree.arena);
    }
}

/** Repeat a piece of text. */
static void repeat(struct buf *text, const char *piece, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_string(text, piece);
    }
}

static int code_of(struct buf *text)
{
    struct tree tree = read_tree(text->data, text->len);
    arena_fini(&tree.arena);
    buf_fini(text);
    return tree.code;
}

TEST(nesting_has_a_limit)
{
    for (size_t depth = LIMIT_YAML_DEPTH; depth <= LIMIT_YAML_DEPTH + 1; depth++) {
        struct buf text = {0};
        repeat(&text, "[", depth);
        repeat(&text, "]", depth);
        assert_int_equal(code_of(&text), depth == LIMIT_YAML_DEPTH ? 0 : RONDO_ERR_LIMIT);
    }
}

TEST(nesting_through_aliases_counts)
{
    for (size_t extra = 0; extra <= 1; extra++) {
        struct buf text = {0};
        buf_append_string(&text, "a: &a ");
        repeat(&text, "[", 32);
        repeat(&text, "]", 32);
        buf_append_string(&text, "\nb: ");
        repeat(&text, "[", 31 + extra);
        buf_append_string(&text, "*a");
        repeat(&text, "]", 31 + extra);
        assert_int_equal(code_of(&text), extra == 0 ? 0 : RONDO_ERR_LIMIT);
    }
}

TEST(the_number_of_values_has_a_limit)
{
    for (size_t extra = 0; extra <= 1; extra++) {
        struct buf text = {0};
        buf_append_string(&text, "[");
        repeat(&text, "1,", LIMIT_YAML_NODES - 1 + extra);
        buf_append_string(&text, "]");
        assert_int_equal(code_of(&text), extra == 0 ? 0 : RONDO_ERR_LIMIT);
    }
}

TEST(the_number_of_aliases_has_a_limit)
{
    for (size_t extra = 0; extra <= 1; extra++) {
        struct buf text = {0};
        buf_append_string(&text, "[&a 1");
        repeat(&text, ",*a", LIMIT_YAML_ALIASES + extra);
        buf_append_string(&text, "]");
        assert_int_equal(code_of(&text), extra == 0 ? 0 : RONDO_ERR_LIMIT);
    }
}

TEST(a_billion_laughs_are_not_laughed)
{
    struct buf text = {0};
    buf_append_string(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (unsigned i = 1; i < 10; i++) {
        buf_printf(&text, "a%u: &a%u [", i, i);
        for (unsigned k = 0; k < 10; k++) {
            buf_printf(&text, "%s*a%u", k == 0 ? "" : ", ", i - 1);
        }
        buf_append_string(&text, "]\n");
    }
    assert_int_equal(code_of(&text), RONDO_ERR_LIMIT);
}
