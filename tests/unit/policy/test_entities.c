// SPDX-License-Identifier: Apache-2.0
#include "policy/cedar/entities.h"

#include "base/buf.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define UID(type, id) "{\"type\":\"" type "\",\"id\":\"" id "\"}"
/** An entity without attributes; `parents` are uids joined by commas. */
#define ENTITY(uid, parents) "{\"uid\":" uid ",\"attrs\":{},\"parents\":[" parents "]}"

static struct cedar_entities *parse_over(const char *json, const struct cedar_entities *base)
{
    struct rondo_error err = {0};
    struct cedar_entities *entities = cedar_entities_parse(json, strlen(json), base, &err);
    assert_string_equal(err.message, "");
    assert_non_null(entities);
    return entities;
}

static struct cedar_entities *parse(const char *json)
{
    return parse_over(json, NULL);
}

static void assert_code(const char *json, size_t len, const struct cedar_entities *base, int code,
                        const char *message)
{
    struct rondo_error err = {0};
    assert_null(cedar_entities_parse(json, len, base, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.message, message);
}

static void assert_refused(const char *json, const char *message)
{
    assert_code(json, strlen(json), NULL, RONDO_ERR_INVALID, message);
}

static const struct cedar_entity *find(const struct cedar_entities *entities, const char *text)
{
    struct cedar_uid *uid = cedar_uid_parse(text, NULL);
    assert_non_null(uid);
    const struct cedar_entity *entity = cedar_entities_find(entities, uid);
    cedar_uid_free(uid);
    return entity;
}

static bool is_below(const struct cedar_entities *entities, const char *text, const char *ancestor)
{
    struct cedar_uid *uid = cedar_uid_parse(ancestor, NULL);
    assert_non_null(uid);
    const struct cedar_entity *entity = find(entities, text);
    assert_non_null(entity);
    bool is_found = cedar_entity_has_ancestor(entity, uid);
    cedar_uid_free(uid);
    return is_found;
}

static const struct cedar_value *field(const struct cedar_record *record, const char *name,
                                       size_t len)
{
    struct arena arena = {0};
    const struct cedar_value *value = cedar_record_get(record, cedar_text_new(&arena, name, len));
    arena_fini(&arena);
    return value;
}

/* ---- Uids ----------------------------------------------------------------------------------- */

TEST(a_uid_has_a_type_and_an_id)
{
    struct cedar_uid *uid = cedar_uid_new("Name::Space::User", "al\"ice", NULL);
    size_t len = 0;
    assert_string_equal(cedar_uid_type(uid), "Name::Space::User");
    assert_string_equal(cedar_uid_id(uid, &len), "al\"ice");
    assert_int_equal(len, 6);
    cedar_uid_free(uid);
    cedar_uid_free(NULL);
}

TEST(a_uid_needs_a_valid_type_and_utf8)
{
    static const char *const types[] = {"", "1", "A::", "A: :B", "A B", "in", "A::__cedar"};
    struct rondo_error err;
    for (size_t i = 0; i < COUNT(types); i++) {
        assert_null(cedar_uid_new(types[i], "x", &err));
        assert_int_equal(err.code, RONDO_ERR_INVALID);
    }
    assert_null(cedar_uid_new("User", "\xff", &err));
    assert_string_equal(err.message, "the id of the uid is not UTF-8");
}

TEST(a_uid_is_read_from_cedar_text)
{
    static const struct {
        const char *text, *type, *id;
        size_t len;
    } cases[] = {
        {"User::\"alice\"", "User", "alice", 5},
        {"A::B::\"\"", "A::B", "", 0},
        {"U::\"\\n\\r\\t\\\\\\0\\'\\\"\"", "U", "\n\r\t\\\0'\"", 7},
        {"U::\"\\x41\\u{1F600}\"", "U", "A\xf0\x9f\x98\x80", 5},
        {"U::\"a::b\"", "U", "a::b", 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cedar_uid *uid = cedar_uid_parse(cases[i].text, NULL);
        size_t len = 0;
        assert_string_equal(cedar_uid_type(uid), cases[i].type);
        assert_memory_equal(cedar_uid_id(uid, &len), cases[i].id, cases[i].len);
        assert_int_equal(len, cases[i].len);
        cedar_uid_free(uid);
    }
}

TEST(other_texts_are_no_uid)
{
    static const char *const texts[] = {
        "",
        "User",
        "User::",
        "\"alice\"",
        "::\"alice\"",
        "User\"a\"",
        "User:\"a\"",
        "User::\"a",
        "User::\"a\"b",
        "User::\"a\" ",
        " User::\"\"",
        "User ::\"a\"",
        "User:: \"a\"",
        "User::\"\\z\"",
        "User::\"\\*\"",
        "in::\"a\"",
        "User::\"\\x80\"",
        "User::\"\xff\"",
        "User::\"\\u{d800}\"",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct rondo_error err = {0};
        assert_null(cedar_uid_parse(texts[i], &err));
        assert_int_equal(err.code, RONDO_ERR_INVALID);
    }
}

TEST(equal_uids_are_found_however_they_were_made)
{
    struct cedar_uid *a = cedar_uid_new("User", "alice", NULL);
    struct cedar_uid *b = cedar_uid_parse("User::\"\\x61lice\"", NULL);
    assert_true(cedar_uid_equals(a, b));
    cedar_uid_free(a);
    cedar_uid_free(b);
}

/* ---- Reading -------------------------------------------------------------------------------- */

TEST(entities_are_read_and_found)
{
    struct cedar_entities *entities = parse(
        "[{\"uid\":" UID("User", "alice") ",\"attrs\":{\"age\":7},\"parents\":[],"
                                          "\"tags\":{\"t\":\"v\"}}, " ENTITY(
                                              "{\"__entity\":" UID("User", "bob") "}", "") "]");
    const struct cedar_entity *alice = find(entities, "User::\"alice\"");
    assert_int_equal(cedar_entities_count(entities), 2);
    assert_int_equal(field(alice->attributes, "age", 3)->as.number, 7);
    assert_int_equal(field(alice->tags, "t", 1)->kind, CEDAR_STRING);
    assert_null(field(alice->attributes, "t", 1));
    assert_int_equal(find(entities, "User::\"bob\"")->tags->count, 0);
    assert_null(find(entities, "User::\"carol\""));
    assert_null(find(entities, "Group::\"alice\""));
    cedar_entities_free(entities);
}

TEST(there_may_be_no_entities)
{
    struct cedar_entities *entities = parse(" [ ] ");
    assert_int_equal(cedar_entities_count(entities), 0);
    assert_null(find(entities, "User::\"alice\""));
    assert_null(find(NULL, "User::\"alice\""));
    cedar_entities_free(entities);
    cedar_entities_free(NULL);
}

TEST(fields_may_come_in_any_order_and_others_are_ignored)
{
    struct cedar_entities *entities =
        parse("[{\"z\":[null,1.5,{\"__expr\":\"x\"}],\"tags\":{},\"parents\":[],"
              "\"attrs\":{},\"uid\":{\"id\":\"x\",\"z\":null,\"type\":\"U\"}}]");
    assert_non_null(find(entities, "U::\"x\""));
    cedar_entities_free(entities);
}

TEST(attributes_are_no_escapes_but_their_values_are)
{
    struct cedar_entities *entities =
        parse("[{\"uid\":" UID("U", "x") ",\"attrs\":{\"__entity\":" UID(
            "V", "y") "},"
                      "\"parents\":[],\"tags\":{\"__extn\":{\"__entity\":" UID("V", "y") "}}}]");
    const struct cedar_entity *entity = find(entities, "U::\"x\"");
    assert_int_equal(field(entity->attributes, "__entity", 8)->kind, CEDAR_RECORD);
    assert_int_equal(field(entity->tags, "__extn", 6)->kind, CEDAR_ENTITY);
    cedar_entities_free(entities);
}

TEST(keys_and_ids_may_hold_nul)
{
    struct cedar_entities *entities =
        parse("[{\"uid\":" UID("U", "\\u0000") ",\"attrs\":{\"a\\u0000b\":1,\"a\":2},"
                                               "\"parents\":[]}]");
    const struct cedar_entity *entity = find(entities, "U::\"\\0\"");
    assert_non_null(entity);
    assert_int_equal(field(entity->attributes, "a\0b", 3)->as.number, 1);
    assert_int_equal(field(entity->attributes, "a", 1)->as.number, 2);
    assert_null(find(entities, "U::\"\""));
    cedar_entities_free(entities);
}

TEST(the_forms_as_arrays_are_read)
{
    struct cedar_entities *entities =
        parse("[[[\"U\",\"x\"],{\"a\":1},[{\"__entity\":[\"P\",\"p\"]}]],"
              "[[\"U\",\"y\"],{},[],{\"t\":1}]]");
    assert_true(is_below(entities, "U::\"x\"", "P::\"p\""));
    assert_int_equal(find(entities, "U::\"y\"")->tags->count, 1);
    cedar_entities_free(entities);
}

TEST(what_is_no_entity_is_refused)
{
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"", "1:1: expected `[`, found the end"},
        {"{}", "1:1: expected `[`, found `{`"},
        {"[", "1:2: expected a value, found the end"},
        {"[1]", "1:2: expected an entity as an object"},
        {"[[]]", "1:2: expected an entity as an object"},
        {"[[1,2,3,4,5]]", "1:2: expected an entity as an object"},
        {"[{\"attrs\":{},\"parents\":[]}]",
         "1:2: an entity without `uid`; expected {\"uid\":{..},\"attrs\":{..},\"parents\":[..]}"},
        {"[{\"uid\":" UID("U", "x") ",\"parents\":[]}]",
         "1:2: an entity without `attrs`; expected "
         "{\"uid\":{..},\"attrs\":{..},\"parents\":[..]}"},
        {"[{\"uid\":" UID("U", "x") ",\"attrs\":{}}]",
         "1:2: an entity without `parents`; expected "
         "{\"uid\":{..},\"attrs\":{..},\"parents\":[..]}"},
        {"[" ENTITY("\"U::\\\"x\\\"\"", "") "]",
         "1:9: expected an entity as {\"type\":\"User\",\"id\":\"alice\"}, not as a string"},
        {"[" ENTITY("{\"type\":\"U\"}", "") "]",
         "1:9: expected an entity as {\"type\":\"User\",\"id\":\"alice\"}"},
        {"[" ENTITY("[\"U\",\"x\",\"y\"]", "") "]",
         "1:9: expected an entity as {\"type\":\"User\",\"id\":\"alice\"}"},
        {"[" ENTITY("{\"__expr\":\"U\",\"type\":\"U\",\"id\":\"x\"}", "") "]",
         "1:9: `__expr` is no longer part of Cedar; use `__entity` or `__extn`"},
        {"[{\"uid\":" UID("U", "x") ",\"attrs\":[],\"parents\":[]}]", "1:39: expected an object"},
        {"[{\"uid\":" UID("U", "x") ",\"attrs\":{},\"parents\":[],\"tags\":null}]",
         "1:62: expected an object"},
        {"[{\"uid\":" UID("U", "x") ",\"attrs\":{},\"parents\":{}}]",
         "1:52: expected an array of parents"},
        {"[{\"uid\":" UID("U", "x") ",\"attrs\":{\"a\":null},\"parents\":[]}]",
         "1:44: null is not a Cedar value; leave the field out"},
        {"[{\"uid\":" UID("U", "x") ",\"attrs\":{},\"attrs\":{},\"parents\":[]}]",
         "1:42: the key `attrs` occurs twice"},
        {"[{\"uid\":" UID("U", "x") ",\"attrs\":{},\"parents\":[],\"z\":{\"k\":1,\"k\":2}}]",
         "1:66: the key `k` occurs twice"},
        {"[" ENTITY(UID("U", "x"), "") ",]", "1:56: expected a value, found `]`"},
        {"[] []", "1:4: expected the end, found `[`"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_refused(cases[i].json, cases[i].message);
    }
}

TEST(an_entity_may_stand_twice_when_it_is_the_same)
{
    struct cedar_entities *entities = parse("[{\"uid\":" UID(
        "U", "x") ",\"attrs\":{\"s\":[1,2],\"t\":1},"
                  "\"parents\":[" UID("P", "p") "," UID(
                      "P", "q") "]},"
                                "{\"uid\":" UID(
                                    "U", "x") ",\"attrs\":{\"t\":1,\"s\":[2,1,1]},\"tags\":{},"
                                              "\"parents\":[" UID("P", "q") "," UID(
                                                  "P", "p") "," UID("P", "q") "]}]");
    assert_int_equal(cedar_entities_count(entities), 1);
    assert_int_equal(find(entities, "U::\"x\"")->ancestor_count, 2);
    cedar_entities_free(entities);
}

TEST(an_entity_that_occurs_twice_must_not_differ)
{
    static const char *const others[] = {
        "{\"uid\":" UID("U", "x") ",\"attrs\":{\"a\":2},\"parents\":[]}",
        "{\"uid\":" UID("U", "x") ",\"attrs\":{},\"parents\":[]}",
        "{\"uid\":" UID("U", "x") ",\"attrs\":{\"a\":1},\"parents\":[" UID("P", "p") "]}",
        "{\"uid\":" UID("U", "x") ",\"attrs\":{\"a\":1},\"parents\":[],\"tags\":{\"a\":1}}",
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        struct buf json = {0};
        buf_printf(&json, "[{\"uid\":" UID("U", "x") ",\"attrs\":{\"a\":1},\"parents\":[]},\n%s]",
                   others[i]);
        assert_refused(buf_string(&json), "2:1: U::\"x\" is defined again, differently");
        buf_fini(&json);
    }
}

TEST(parents_of_actions_are_actions)
{
    struct cedar_entities *entities =
        parse("[" ENTITY(UID("Action", "a"),
                         UID("N::Action", "g")) "," ENTITY(UID("U", "x"), UID("Action", "a")) "]");
    assert_true(is_below(entities, "U::\"x\"", "N::Action::\"g\""));
    cedar_entities_free(entities);
    assert_refused("[" ENTITY(UID("N::Action", "a"), UID("U", "x")) "]",
                   "1:61: the parent of an action must be an action");
}

/* ---- Ancestors ------------------------------------------------------------------------------ */

TEST(ancestors_are_transitive)
{
    struct cedar_entities *entities =
        parse("[" ENTITY(UID("U", "x"), UID("G", "a") "," UID("G", "b")) "," ENTITY(
            UID("G", "a"),
            UID("G", "top")) "," ENTITY(UID("G", "b"),
                                        UID("G", "top")) "," ENTITY(UID("G", "top"),
                                                                    UID("G", "unknown")) "]");
    static const char *const above[] = {"G::\"a\"", "G::\"b\"", "G::\"top\"", "G::\"unknown\""};
    for (size_t i = 0; i < COUNT(above); i++) {
        assert_true(is_below(entities, "U::\"x\"", above[i]));
    }
    assert_int_equal(find(entities, "U::\"x\"")->ancestor_count, 4);
    assert_false(is_below(entities, "U::\"x\"", "U::\"x\""));
    assert_false(is_below(entities, "G::\"a\"", "G::\"b\""));
    assert_false(is_below(entities, "G::\"top\"", "G::\"a\""));
    cedar_entities_free(entities);
}

TEST(an_entity_that_is_its_own_ancestor_is_refused)
{
    assert_refused("[\n" ENTITY(UID("U", "x"), UID("U", "x")) "]",
                   "2:1: U::\"x\" is an ancestor of itself");
    assert_refused("[" ENTITY(UID("U", "out"), UID("U", "x")) ",\n" ENTITY(
                       UID("U", "x"),
                       UID("U", "y")) ",\n" ENTITY(UID("U", "y"),
                                                   UID("U", "z")) ",\n" ENTITY(UID("U", "z"),
                                                                               UID("U", "x")) "]",
                   "2:1: U::\"x\" is an ancestor of itself");
}

/** `[` and entities 0 to count - 1, each below the next one. */
static void append_chain(struct buf *json, size_t count)
{
    buf_append_string(json, "[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(json, "%s" ENTITY(UID("U", "%zu"), UID("U", "%zu")), i > 0 ? "," : "", i, i + 1);
    }
}

TEST(a_long_chain_of_parents_is_read)
{
    struct buf json = {0};
    append_chain(&json, 100000);
    buf_append_string(&json, "]");
    struct cedar_entities *entities = parse(buf_string(&json));
    assert_int_equal(find(entities, "U::\"0\"")->ancestor_count, 100000);
    assert_true(is_below(entities, "U::\"0\"", "U::\"100000\""));
    assert_true(is_below(entities, "U::\"50000\"", "U::\"50001\""));
    assert_false(is_below(entities, "U::\"50000\"", "U::\"50000\""));
    assert_false(is_below(entities, "U::\"50000\"", "U::\"49999\""));
    assert_false(is_below(entities, "U::\"50000\"", "U::\"x\""));
    cedar_entities_free(entities);
    buf_fini(&json);
}

TEST(a_long_cycle_is_refused)
{
    struct buf json = {0};
    append_chain(&json, 100000);
    buf_printf(&json, ",\n%s]", ENTITY(UID("U", "100000"), UID("U", "0")));
    assert_refused(buf_string(&json), "1:2: U::\"0\" is an ancestor of itself");
    buf_fini(&json);
}

/** Which of `count` nodes are above which, the slow way. Parents have higher numbers. */
static void close_by_force(bool *is_above, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        for (size_t k = i + 1; k < count; k++) {
            for (size_t m = k + 1; is_above[i * count + k] && m < count; m++) {
                is_above[i * count + m] |= is_above[k * count + m];
            }
        }
    }
}

#define NODES 40

static void append_random_graph(struct buf *json, bool *ret_is_above, unsigned density)
{
    buf_append_string(json, "[");
    for (size_t i = 0; i < NODES; i++) {
        buf_printf(json, "%s{\"uid\":" UID("U", "%zu") ",\"attrs\":{},\"parents\":[",
                   i > 0 ? "," : "", i);
        const char *comma = "";
        for (size_t k = i + 1; k < NODES; k++) {
            if ((unsigned)rand() % 1000 < density) { /* NOLINT: any numbers will do */
                ret_is_above[i * NODES + k] = true;
                buf_printf(json, "%s" UID("U", "%zu"), comma, k);
                comma = ",";
            }
        }
        buf_append_string(json, "]}");
    }
    buf_append_string(json, "]");
}

static void assert_same_ancestors(const struct cedar_entities *entities, const bool *is_above)
{
    for (size_t i = 0; i < NODES; i++) {
        size_t count = 0;
        for (size_t k = 0; k < NODES; k++) {
            const struct cedar_uid *uid = entities->entities[k].uid;
            bool is_found = cedar_entity_has_ancestor(&entities->entities[i], uid);
            assert_int_equal(is_found, is_above[i * NODES + k]);
            count += is_found;
        }
        assert_int_equal(entities->entities[i].ancestor_count, count);
    }
}

TEST(ancestors_in_any_graph_are_those_of_the_slow_way)
{
    static const unsigned densities[] = {20, 50, 100, 300, 1000};
    srand(1);
    for (size_t round = 0; round < 100; round++) {
        bool is_above[NODES * NODES] = {false};
        struct buf json = {0};
        append_random_graph(&json, is_above, densities[round % COUNT(densities)]);
        close_by_force(is_above, NODES);
        struct cedar_entities *entities = parse(buf_string(&json));
        assert_same_ancestors(entities, is_above);
        cedar_entities_free(entities);
        buf_fini(&json);
    }
}

/** Places in lists: 4096 for each of 4095 leaves with two parents, and 4096 for the groups. */
static void append_ancestors(struct buf *json)
{
    buf_append_string(json, "[{\"uid\":" UID("G", "a") ",\"attrs\":{},\"parents\":[");
    for (unsigned i = 0; i < 4094; i++) {
        buf_printf(json, "%s" UID("P", "%u"), i > 0 ? "," : "", i);
    }
    buf_append_string(json, "]}");
    for (unsigned i = 0; i < 4095; i++) {
        buf_printf(json, "," ENTITY(UID("U", "%u"), UID("G", "a") "," UID("G", "b")), i);
    }
}

TEST(ancestors_have_a_limit)
{
    struct buf json = {0};
    append_ancestors(&json);
    size_t len = json.len;
    buf_append_string(&json, "," ENTITY(UID("U", "x"), UID("P", "x") "," UID("P", "y")) "]");
    struct cedar_entities *entities = parse(buf_string(&json));
    assert_int_equal(cedar_entities_count(entities), 4097);
    cedar_entities_free(entities);
    json.len = len;
    buf_append_string(
        &json, "," ENTITY(UID("U", "x"), UID("P", "x") "," UID("P", "y") "," UID("P", "z")) "]");
    assert_code(buf_string(&json), json.len, NULL, RONDO_ERR_LIMIT,
                "the entities have more than 16777216 ancestors together");
    buf_fini(&json);
}

/* ---- Base ----------------------------------------------------------------------------------- */

TEST(entities_of_the_base_are_found_and_hidden)
{
    struct cedar_entities *base = parse("[{\"uid\":" UID(
        "U", "x") ",\"attrs\":{\"a\":1},\"parents\":[]},"
                  "{\"uid\":" UID("U", "y") ",\"attrs\":{\"a\":2},\"parents\":[]}]");
    struct cedar_entities *entities =
        parse_over("[{\"uid\":" UID("U", "x") ",\"attrs\":{\"b\":3},\"parents\":[]}]", base);
    assert_null(field(find(entities, "U::\"x\"")->attributes, "a", 1));
    assert_int_equal(field(find(entities, "U::\"x\"")->attributes, "b", 1)->as.number, 3);
    assert_int_equal(field(find(entities, "U::\"y\"")->attributes, "a", 1)->as.number, 2);
    assert_int_equal(cedar_entities_count(entities), 1);
    cedar_entities_free(entities);
    cedar_entities_free(base);
}

TEST(ancestors_continue_in_the_base)
{
    struct cedar_entities *base = parse(
        "[" ENTITY(UID("G", "a"), UID("G", "b")) "," ENTITY(UID("G", "b"), UID("G", "c")) "]");
    struct cedar_entities *entities = parse_over(
        "[" ENTITY(UID("U", "x"), UID("G", "a")) "," ENTITY(
            UID("U", "y"), UID("G", "a") "," UID("G", "d")) "," ENTITY(UID("G", "b"),
                                                                       UID("G", "new")) "]",
        base);
    assert_true(is_below(entities, "U::\"x\"", "G::\"c\""));
    assert_int_equal(find(entities, "U::\"x\"")->ancestor_count, 3);
    assert_int_equal(find(entities, "U::\"y\"")->ancestor_count, 4);
    /* `b` is taken from here, but `a` is as the base knows it. */
    assert_true(is_below(entities, "G::\"b\"", "G::\"new\""));
    assert_false(is_below(entities, "G::\"a\"", "G::\"new\""));
    assert_true(is_below(entities, "G::\"a\"", "G::\"c\""));
    cedar_entities_free(entities);
    cedar_entities_free(base);
}

TEST(both_ways_to_an_entity_of_the_base_count)
{
    struct cedar_entities *base = parse("[" ENTITY(UID("G", "a"), UID("G", "b")) "]");
    /* `b` comes once through the base, where it has no parents, and once as it is here. */
    static const char *const orders[] = {UID("G", "a") "," UID("G", "b"),
                                         UID("G", "b") "," UID("G", "a")};
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct buf json = {0};
        buf_printf(&json, "[{\"uid\":" UID("U", "x") ",\"attrs\":{},\"parents\":[%s]},%s]",
                   orders[i], ENTITY(UID("G", "b"), UID("G", "new")));
        struct cedar_entities *entities = parse_over(buf_string(&json), base);
        assert_true(is_below(entities, "U::\"x\"", "G::\"new\""));
        assert_int_equal(find(entities, "U::\"x\"")->ancestor_count, 3);
        cedar_entities_free(entities);
        buf_fini(&json);
    }
    cedar_entities_free(base);
}

TEST(a_cycle_through_the_base_is_refused)
{
    struct cedar_entities *base = parse("[" ENTITY(UID("G", "a"), UID("G", "b")) "]");
    static const char json[] = "[" ENTITY(UID("G", "b"), UID("G", "a")) "]";
    assert_code(json, strlen(json), base, RONDO_ERR_INVALID,
                "1:2: G::\"b\" is an ancestor of itself");
    cedar_entities_free(base);
}
