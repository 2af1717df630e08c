// SPDX-License-Identifier: Apache-2.0
/* Sets of policies: how they are built and named, what they say about themselves, their limits. */
#include "cedar_help.h"

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#define ALL "(principal, action, resource)"

static int add(struct cedar_builder *builder, const char *text, struct cedar_problem *ret_problem,
               struct rondo_error *err)
{
    return cedar_builder_add(builder, "f.cedar", text, strlen(text), ret_problem, err);
}

/** A text must be refused at this place, with words that contain `message`. */
static void assert_refused(const char *text, unsigned line, unsigned column, const char *message)
{
    struct cedar_problem problem = {0};
    struct rondo_error err = {0};
    char place[64];
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    assert_int_equal(add(builder, text, &problem, &err), RONDO_ERR_INVALID);
    snprintf(place, sizeof(place), "f.cedar:%u:%u: ", line, column);
    if (strncmp(err.message, place, strlen(place)) != 0 || strstr(err.message, message) == NULL) {
        fail_msg("'%s': %s, expected %s...%s", text, err.message, place, message);
    }
    assert_string_equal(err.message + strlen(place), problem.message);
    assert_int_equal(problem.line, line);
    assert_int_equal(problem.column, column);
    cedar_builder_free(builder);
}

static void assert_taken(const char *text, size_t count)
{
    struct cedar_policies *policies = policies_of(text);
    assert_int_equal(cedar_policies_count(policies), count);
    cedar_policies_unref(policies);
}

TEST(test_a_refused_text_says_where_and_what_was_expected)
{
    assert_refused("permit", 1, 7, "the text ends, expected `(`");
    assert_refused("permit" ALL, 1, 36, "expected `when`, `unless` or `;`");
    assert_refused("permit(principal, action);", 1, 25, "unexpected `)`");
    assert_refused("\n\n  allow" ALL ";", 3, 3, "unexpected `allow`, expected `permit`, `forbid`");
    assert_refused("permit" ALL " when { \"\xc3\xa9\" == \xc3\xa9 };", 1, 51, "no meaning");
    assert_refused("permit" ALL " when { };", 1, 44, "unexpected `}`, expected an expression");
    assert_refused("permit" ALL " when { x };", 1, 44, "`x` is not a variable");
    assert_refused("permit" ALL " when { \"a\n\\q\" };", 2, 1, "escape");
    assert_refused("permit" ALL ";\n\xff", 2, 1, "not UTF-8");
}

TEST(test_scopes_take_entities_types_and_lists)
{
    assert_taken(
        "permit(principal == U::\"a\", action == Action::\"x\", resource in (U::\"b\"));"
        "forbid(principal is U in G::\"g\", action in [A::Action::\"x\",], resource is R,);"
        "permit(principal, action in ([]), resource) when { true } unless { false };",
        3);
    assert_refused("permit(principal == ?principal, action, resource);", 1, 1, "template");
    assert_refused("permit(principal is U == U::\"a\", action, resource);", 1, 23, "`==`");
    assert_refused("permit(principal, action == U::\"a\", resource);", 1, 26, "not an action");
    assert_refused("permit(principal, action in [[Action::\"a\"]], resource);", 1, 30, "`[`");
    assert_refused("permit(principal in [U::\"a\"], action, resource);", 1, 21, "`[`");
    assert_refused("permit(principal: U, action, resource);", 1, 17, "`:`");
}

TEST(test_names_come_from_positions)
{
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    assert_int_equal(
        add(builder, "@id(\"x\") permit" ALL "; @id(\"x\") forbid" ALL ";", NULL, NULL), 0);
    assert_int_equal(add(builder, "permit" ALL ";", NULL, NULL), 0);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    assert_int_equal(cedar_policies_count(policies), 3);
    assert_string_equal(cedar_policies_id(policies, 0), "policy0");
    assert_string_equal(cedar_policies_id(policies, 2), "policy2");
    assert_false(cedar_policies_is_forbid(policies, 0));
    assert_true(cedar_policies_is_forbid(policies, 1));
    cedar_policies_unref(policies);
}

TEST(test_names_come_from_annotations_and_are_unique)
{
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_ANNOTATION_IDS);
    assert_int_equal(add(builder, "@id(\"a\") permit" ALL ";\npermit" ALL ";", NULL, &err), 0);
    assert_int_equal(add(builder, "permit" ALL ";\n@id(\"a\") permit" ALL ";", NULL, &err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "f.cedar:2:1: a second policy with the id `a`"));
    assert_int_equal(add(builder, "@id(\"policy1\") permit" ALL ";", NULL, &err),
                     RONDO_ERR_INVALID);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    assert_int_equal(cedar_policies_count(policies), 2);
    assert_string_equal(cedar_policies_id(policies, 0), "a");
    assert_string_equal(cedar_policies_id(policies, 1), "policy1");
    cedar_policies_unref(policies);
}

TEST(test_a_refused_text_leaves_the_builder_as_it_was)
{
    struct cedar_builder *builder = cedar_builder_new(CEDAR_ANNOTATION_IDS);
    assert_int_equal(add(builder, "@id(\"a\") permit" ALL ";", NULL, NULL), 0);
    assert_int_equal(add(builder, "@id(\"b\") permit" ALL "; oops", NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(add(builder,
                         "permit" ALL "; permit(principal in ?principal, action, resource);", NULL,
                         NULL),
                     RONDO_ERR_INVALID);
    assert_int_equal(add(builder, "@id(\"b\") forbid" ALL "; permit" ALL ";", NULL, NULL), 0);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    assert_int_equal(cedar_policies_count(policies), 3);
    assert_string_equal(cedar_policies_id(policies, 1), "b");
    assert_true(cedar_policies_is_forbid(policies, 1));
    assert_string_equal(cedar_policies_id(policies, 2), "policy2");
    cedar_policies_unref(policies);
}

TEST(test_policies_know_their_text_place_and_annotations)
{
    struct cedar_policies *policies = policies_of(
        "// head\n@reason(\"two\\nlines\") @if @on_deny(\"ask\")\nforbid" ALL ";permit" ALL ";");
    size_t len = 0;
    const char *text = cedar_policies_text(policies, 0, &len);
    assert_memory_equal(text, "@reason", 7);
    assert_memory_equal(text + len - 2, ");", 2);
    cedar_policies_text(policies, 1, &len);
    assert_int_equal(len, strlen("permit" ALL ";"));
    const char *file = NULL;
    unsigned line = 0;
    cedar_policies_position(policies, 0, &file, &line);
    assert_string_equal(file, "test.cedar");
    assert_int_equal(line, 2);
    assert_string_equal(cedar_policies_annotation(policies, 0, "reason"), "two\nlines");
    assert_string_equal(cedar_policies_annotation(policies, 0, "if"), "");
    assert_null(cedar_policies_annotation(policies, 0, "id"));
    assert_null(cedar_policies_annotation(policies, 1, "reason"));
    assert_true(cedar_policies_memory(policies) > strlen("permit" ALL ";"));
    cedar_policies_unref(policies);
}

TEST(test_annotations_are_given_once)
{
    assert_refused("@a @a permit" ALL ";", 1, 5, "`@a` is given twice");
    assert_refused("@a(x) permit" ALL ";", 1, 4, "a quoted string");
    assert_refused("@a() permit" ALL ";", 1, 4, "a quoted string");
    assert_refused("@a(\"\\*\") permit" ALL ";", 1, 5, "patterns");
    assert_refused("permit" ALL " @a(\"b\");", 1, 37, "unexpected `@`");
}

/** One link of a template. @return what linking returned */
static int link_of(const char *template, const char *new_id, const char *principal,
                   const char *resource, struct cedar_policies **ret_policies)
{
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    assert_int_equal(
        add(builder, "@a(\"static\") permit(principal == U::\"s\", action, resource);", NULL, NULL),
        0);
    assert_int_equal(
        cedar_builder_add_template(builder, "t", template, strlen(template), NULL, &err), 0);
    struct cedar_uid *principal_uid = principal == NULL ? NULL : uid_of(principal);
    struct cedar_uid *resource_uid = resource == NULL ? NULL : uid_of(resource);
    int r = cedar_builder_link(builder, "t", new_id, principal_uid, resource_uid, &err);
    assert_int_equal(r == 0, strlen(err.message) == 0);
    cedar_uid_free(principal_uid);
    cedar_uid_free(resource_uid);
    *ret_policies = cedar_builder_finish(builder);
    return r;
}

TEST(test_a_link_is_a_policy_with_the_annotations_of_its_template)
{
    struct cedar_policies *policies = NULL;
    assert_int_equal(
        link_of("@a(\"t\") forbid(principal == ?principal, action, resource in ?resource);", "l",
                "U::\"a\"", "R::\"r\"", &policies),
        0);
    assert_int_equal(cedar_policies_count(policies), 2);
    assert_string_equal(cedar_policies_id(policies, 1), "l");
    assert_string_equal(cedar_policies_annotation(policies, 1, "a"), "t");
    struct cedar_question question = question_of("U::\"a\"", "Action::\"x\"", "R::\"r\"", "{}");
    struct cedar_answer answer = ask(&question, policies, NULL);
    assert_false(answer.is_allowed);
    assert_int_equal(answer.reason_count, 1);
    assert_int_equal(answer.reasons[0], 1);
    question_free(&question);
    cedar_policies_unref(policies);
}

TEST(test_links_must_fit_their_template)
{
    static const char template[] = "permit(principal is U in ?principal, action, resource);";
    static const struct {
        const char *id, *principal, *resource;
        int code;
    } links[] = {
        {"l", "U::\"a\"", NULL, 0},
        {"l", NULL, NULL, RONDO_ERR_INVALID},
        {"l", "U::\"a\"", "U::\"a\"", RONDO_ERR_INVALID},
        {"l", NULL, "U::\"a\"", RONDO_ERR_INVALID},
        {"t", "U::\"a\"", NULL, RONDO_ERR_INVALID},
        {"policy0", "U::\"a\"", NULL, RONDO_ERR_INVALID},
    };
    for (size_t i = 0; i < COUNT(links); i++) {
        struct cedar_policies *policies = NULL;
        int r = link_of(template, links[i].id, links[i].principal, links[i].resource, &policies);
        assert_int_equal(r, links[i].code);
        assert_int_equal(cedar_policies_count(policies), r == 0 ? 2 : 1);
        cedar_policies_unref(policies);
    }
}

TEST(test_links_need_a_template)
{
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    assert_int_equal(add(builder, "permit" ALL ";", NULL, NULL), 0);
    assert_int_equal(cedar_builder_link(builder, "t", "l", NULL, NULL, &err), RONDO_ERR_NOT_FOUND);
    assert_int_equal(cedar_builder_link(builder, "policy0", "l", NULL, NULL, &err),
                     RONDO_ERR_NOT_FOUND);
    cedar_builder_free(builder);
}

TEST(test_a_template_is_one_policy_with_slots)
{
    static const char slot[] = "permit(principal == ?principal, action, resource);";
    static const struct {
        const char *text;
        int code;
    } templates[] = {
        {slot, 0},
        {"permit" ALL ";", RONDO_ERR_INVALID},
        {"", RONDO_ERR_INVALID},
        {"permit(principal == ?principal, action, resource); permit(principal, action, resource);",
         RONDO_ERR_INVALID},
        {"permit(principal == ?resource, action, resource);", RONDO_ERR_INVALID},
        {"permit(principal, action == ?principal, resource);", RONDO_ERR_INVALID},
        {"permit(principal is ?principal, action, resource);", RONDO_ERR_INVALID},
        {"permit(principal == ?principal, action, resource) when { ?principal == principal };",
         RONDO_ERR_INVALID},
    };
    for (size_t i = 0; i < COUNT(templates); i++) {
        struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
        const char *text = templates[i].text;
        assert_int_equal(cedar_builder_add_template(builder, "t", text, strlen(text), NULL, NULL),
                         templates[i].code);
        /* The name is free again after a failure, and only then. */
        assert_int_equal(cedar_builder_add_template(builder, "t", slot, strlen(slot), NULL, NULL),
                         templates[i].code == 0 ? RONDO_ERR_INVALID : 0);
        struct cedar_policies *policies = cedar_builder_finish(builder);
        assert_int_equal(cedar_policies_count(policies), 0);
        cedar_policies_unref(policies);
    }
}

TEST(test_templates_among_policies_are_linked_by_their_names)
{
    static const char text[] = "permit(principal in ?principal, action, resource); permit" ALL ";";
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    struct cedar_uid *uid = uid_of("U::\"a\"");
    assert_int_equal(cedar_builder_add_templates(builder, "f", text, sizeof(text) - 1, NULL, NULL),
                     0);
    assert_int_equal(cedar_builder_link(builder, "policy0", "l", uid, NULL, NULL), 0);
    cedar_uid_free(uid);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    assert_int_equal(cedar_policies_count(policies), 2);
    assert_string_equal(cedar_policies_id(policies, 0), "policy1");
    assert_string_equal(cedar_policies_id(policies, 1), "l");
    cedar_policies_unref(policies);
}

/** A condition with something nested `count` times. */
static char *nested(const char *open, const char *inner, const char *close, unsigned count)
{
    struct buf text = {0};
    buf_append_string(&text, "permit" ALL " when { ");
    for (unsigned i = 0; i < count; i++) {
        buf_append_string(&text, open);
    }
    buf_append_string(&text, inner);
    for (unsigned i = 0; i < count; i++) {
        buf_append_string(&text, close);
    }
    buf_append_string(&text, " };");
    return buf_steal(&text);
}

/** Nesting of `most` is taken, one more is refused. */
static void assert_depth(const char *open, const char *inner, const char *close, unsigned most)
{
    char *text = nested(open, inner, close, most);
    assert_taken(text, 1);
    free(text);
    text = nested(open, inner, close, most + 1);
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    assert_int_equal(add(builder, text, NULL, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "nested more than 200 levels deep"));
    cedar_builder_free(builder);
    free(text);
}

TEST(test_expressions_nest_up_to_the_limit)
{
    /* The innermost expression and, outside of brackets, the outermost one are levels too. */
    assert_depth("(", "true", ")", CEDAR_LIMIT_DEPTH - 1);
    assert_depth("[", "", "]", CEDAR_LIMIT_DEPTH);
    assert_depth("{a: ", "1", "}", CEDAR_LIMIT_DEPTH - 1);
    assert_depth("if true then true else ", "true", "", CEDAR_LIMIT_DEPTH - 1);
    assert_depth("[].contains(", "1", ")", CEDAR_LIMIT_DEPTH - 1);
    assert_depth("!(", "principal.a", ")", CEDAR_LIMIT_DEPTH - 2);
    assert_depth("", "principal", ".a", CEDAR_LIMIT_DEPTH - 1);
    assert_depth("", "principal", "[\"a\"]", CEDAR_LIMIT_DEPTH - 1);
    assert_depth("", "principal", ".toDate()", CEDAR_LIMIT_DEPTH - 1);
}

TEST(test_chains_of_operators_are_no_nesting)
{
    static const char *const operators[] = {"1 + ", "1 - ", "1 * ", "true && ", "true || "};
    for (size_t i = 0; i < COUNT(operators); i++) {
        char *text = nested(operators[i], i < 3 ? "1" : "true", "", 10000);
        assert_taken(text, 1);
        free(text);
    }
}

TEST(test_brackets_in_scopes_nest_up_to_the_limit)
{
    for (unsigned count = CEDAR_LIMIT_DEPTH; count <= CEDAR_LIMIT_DEPTH + 1; count++) {
        struct buf text = {0};
        buf_append_string(&text, "permit(principal == ");
        for (unsigned i = 0; i < count; i++) {
            buf_append_string(&text, "(");
        }
        buf_append_string(&text, "U::\"a\"");
        for (unsigned i = 0; i < count; i++) {
            buf_append_string(&text, ")");
        }
        buf_append_string(&text, ", action, resource);");
        struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
        assert_int_equal(add(builder, buf_string(&text), NULL, NULL),
                         count > CEDAR_LIMIT_DEPTH ? RONDO_ERR_INVALID : 0);
        cedar_builder_free(builder);
        buf_fini(&text);
    }
}

TEST(test_texts_are_taken_up_to_the_limit)
{
    static const char policy[] = "permit" ALL ";";
    char *text = malloc(CEDAR_LIMIT_TEXT_BYTES + 1);
    assert_non_null(text);
    memset(text, ' ', CEDAR_LIMIT_TEXT_BYTES + 1);
    memcpy(text, policy, sizeof(policy) - 1);
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    assert_int_equal(cedar_builder_add(builder, "f", text, CEDAR_LIMIT_TEXT_BYTES, NULL, &err), 0);
    assert_int_equal(cedar_builder_add(builder, "f", text, CEDAR_LIMIT_TEXT_BYTES + 1, NULL, &err),
                     RONDO_ERR_LIMIT);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    assert_int_equal(cedar_policies_count(policies), 1);
    cedar_policies_unref(policies);
    free(text);
}

TEST(test_a_set_takes_a_million_policies)
{
    static const char template[] = "permit(principal == ?principal, action, resource);";
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    struct cedar_uid *uid = uid_of("U::\"a\"");
    struct rondo_error err = {0};
    assert_int_equal(
        cedar_builder_add_template(builder, "t", template, sizeof(template) - 1, NULL, NULL), 0);
    for (int i = 1; i < CEDAR_LIMIT_POLICIES; i++) {
        char id[32];
        snprintf(id, sizeof(id), "l%d", i);
        assert_int_equal(cedar_builder_link(builder, "t", id, uid, NULL, NULL), 0);
    }
    assert_int_equal(cedar_builder_link(builder, "t", "more", uid, NULL, &err), RONDO_ERR_LIMIT);
    assert_int_equal(add(builder, "permit" ALL ";", NULL, &err), RONDO_ERR_LIMIT);
    cedar_uid_free(uid);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    assert_int_equal(cedar_policies_count(policies), CEDAR_LIMIT_POLICIES - 1);
    cedar_policies_unref(policies);
}

TEST(test_failures_are_described_with_their_place)
{
    static const struct {
        const char *condition, *description;
    } cases[] = {
        {"context.none", "test.cedar:2:8: there is no attribute `none` in `context.none`"},
        {"1 + \"a\" == 1", "test.cedar:2:12: a string has the wrong type here in `\"a\"`"},
        {"9223372036854775807 + 1 == 1", "integer overflow in `9223372036854775807 + 1`"},
        {"principal.x", "the entity is not known"},
        {"principal.getTag(\"x\")", "the entity is not known"},
        {"ip(\"x\") == 1", "test.cedar:2:8: the text is not a value of ip() in `ip(\"x\")`"},
        {"ip() == 1", "wrong number of arguments for ip()"},
        {"1", "a long has the wrong type here in `1`"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[256];
        char description[RONDO_ERROR_MESSAGE_SIZE];
        snprintf(text, sizeof(text), "permit" ALL "\nwhen { %s };", cases[i].condition);
        struct cedar_policies *policies = policies_of(text);
        struct cedar_question question = question_of("U::\"a\"", "Action::\"x\"", "R::\"r\"", "{}");
        struct cedar_answer answer = ask(&question, policies, NULL);
        assert_int_equal(answer.error_count, 1);
        cedar_failure_describe(policies, answer.errors, description, sizeof(description));
        if (strstr(description, cases[i].description) == NULL) {
            fail_msg("%s, expected %s", description, cases[i].description);
        }
        cedar_failure_describe(policies, answer.errors, description, 8);
        assert_string_equal(description, "test.ce");
        question_free(&question);
        cedar_policies_unref(policies);
    }
}

TEST(test_every_failure_has_a_name)
{
    for (int code = CEDAR_FAIL_NONE; code <= CEDAR_FAIL_ARGUMENTS; code++) {
        assert_string_not_equal(cedar_failure_name((enum cedar_failure_code)code), "unknown");
    }
}
