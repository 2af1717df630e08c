// SPDX-License-Identifier: Apache-2.0
/* Rulesets: Rondo's own policies, what takes their place, and files that are refused. */
#include "policy/ruleset.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERMIT "permit (principal, action, resource);\n"

static struct ruleset_text part(enum ruleset_part kind, const char *name, const char *text)
{
    return (struct ruleset_text){.part = kind, .name = name, .text = text, .len = strlen(text)};
}

static struct ruleset *make(const struct ruleset_text *texts, size_t count)
{
    struct ruleset *ruleset = NULL;
    struct rondo_error err = {0};
    const char *source = count == 0 ? RULESET_BUILT_IN : "/etc/rondo/p.cedar";
    if (ruleset_make(source, texts, count, NULL, NULL, &ruleset, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return ruleset;
}

static struct ruleset *make_policies(const char *text)
{
    struct ruleset_text texts[] = {part(RULESET_POLICIES, "p.cedar", text)};
    return make(texts, 1);
}

/** Ids in order, joined by blanks. */
static void expect_ids(const struct ruleset *ruleset, const char *expected)
{
    auto_buf struct buf ids = {0};
    for (size_t i = 0; i < cedar_policies_count(ruleset->policies); i++) {
        buf_printf(&ids, "%s%s", i == 0 ? "" : " ", cedar_policies_id(ruleset->policies, i));
    }
    assert_string_equal(buf_string(&ids), expected);
}

static void expect_refused(const struct ruleset_text *texts, size_t count, int code,
                           const char *message)
{
    struct ruleset *ruleset = NULL;
    struct rondo_error err = {0};
    assert_int_equal(ruleset_make("/p", texts, count, NULL, NULL, &ruleset, &err), code);
    assert_int_equal(err.code, code);
    assert_null(ruleset);
    if (strstr(err.message, message) == NULL) {
        fail_msg("'%s' does not hold '%s'", err.message, message);
    }
    assert_int_equal(ruleset_make("/p", texts, count, NULL, NULL, &ruleset, NULL), code);
}

static void expect_policies_refused(const char *text, const char *message)
{
    struct ruleset_text texts[] = {part(RULESET_POLICIES, "p.cedar", text)};
    expect_refused(texts, 1, RONDO_ERR_INVALID, message);
}

/* ---- Rondo's own ---------------------------------------------------------------------------- */

TEST(without_files_everything_is_permitted_up_to_the_options)
{
    struct ruleset *ruleset = make(NULL, 0);
    expect_ids(ruleset, "base limit.iterations limit.tokens limit.cost limit.time confirm.tool");
    assert_int_equal(ruleset->given_count, 0);
    assert_false(ruleset->counts_iterations);
    assert_string_equal(ruleset->source, "built-in");
    assert_ptr_equal(ruleset->entities, ruleset->actions);
    assert_int_equal(cedar_entities_count(ruleset->entities), VOCABULARY_ACTION_COUNT + 1);
    ruleset_unref(ruleset);
}

TEST(rondos_own_policies_say_why)
{
    struct ruleset *ruleset = make(NULL, 0);
    assert_false(cedar_policies_is_forbid(ruleset->policies, 0));
    for (size_t i = 1; i < 5; i++) {
        assert_true(cedar_policies_is_forbid(ruleset->policies, i));
        const char *reason = cedar_policies_annotation(ruleset->policies, i, "reason");
        assert_non_null(strstr(reason, "limit of the run is used up"));
    }
    ruleset_unref(ruleset);
}

TEST(with_files_only_they_permit)
{
    struct ruleset *ruleset = make_policies(PERMIT);
    expect_ids(ruleset, "policy0 limit.iterations limit.tokens limit.cost limit.time confirm.tool");
    assert_int_equal(ruleset->given_count, 1);
    ruleset_unref(ruleset);
}

TEST(an_id_of_rondos_takes_the_place_of_its_policy)
{
    struct ruleset *ruleset =
        make_policies("@id(\"limit.cost\") forbid (principal, action, resource) when { false };\n"
                      "@id(\"base\") permit (principal, action, resource);\n");
    expect_ids(ruleset, "limit.cost base limit.iterations limit.tokens limit.time confirm.tool");
    assert_int_equal(ruleset->given_count, 2);
    ruleset_unref(ruleset);
}

TEST(policies_that_count_iterations_are_noticed)
{
    static const struct {
        const char *text;
        bool counts;
    } rows[] = {
        {PERMIT, false},
        {"forbid (principal, action, resource) when { context.iteration > 5 };", true},
        {"forbid (principal, action == Action::\"iterate\", resource)\n"
         "unless { context.input.iteration < 5 };",
         true},
        {"forbid (principal, action in AgentCore::Action::\"loop___iterate\", resource)\n"
         "when { context.iteration > 5 };",
         true},
        {"forbid (principal, action in [Action::\"verify\", Action::\"iterate\"], resource)\n"
         "when { context.iteration > 5 };",
         true},
        {"forbid (principal, action == Action::\"call_tool\", resource)\n"
         "when { context.iteration > 5 };",
         false},
        {"forbid (principal, action, resource is Tool) when { context.iteration > 5 };", false},
        {"forbid (principal, action, resource) when { context.tokens > 5 };", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ruleset *ruleset = make_policies(rows[i].text);
        if (ruleset->counts_iterations != rows[i].counts) {
            fail_msg("%s", rows[i].text);
        }
        ruleset_unref(ruleset);
    }
}

/* ---- What is refused ------------------------------------------------------------------------ */

TEST(syntax_errors_have_their_place)
{
    expect_policies_refused(PERMIT "forbid (principal, action resource);", "p.cedar:2:27: ");
    expect_policies_refused(PERMIT "@id(\"policy0\")\n" PERMIT, "policy0");
}

TEST(the_shorthand_is_explained)
{
    expect_policies_refused("max_iterations: 100", "context.iteration < 100");
    expect_policies_refused(PERMIT "max_iterations: 25\n", "p.cedar:2:1: `max_iterations: 25`");
    expect_policies_refused("max_iterations = \"7\";", "context.iteration < 7");
    expect_policies_refused("max_iterations", "max_iterations");
    expect_policies_refused("max_iterations: many", "context.iteration < 100");
    expect_policies_refused("max_iterations: 99999999999999999999", "context.iteration < 100");
    struct ruleset *ruleset =
        make_policies("@id(\"limit.iterations\") forbid (principal, action == "
                      "Action::\"iterate\", resource) unless { context.iteration < 100 };");
    ruleset_unref(ruleset);
}

TEST(words_that_the_vocabulary_does_not_know_are_errors)
{
    expect_policies_refused(PERMIT "forbid (principal, action, resource)\n"
                                   "when { context.iterations > 5 };\n",
                            "p.cedar:3:8: ");
    expect_policies_refused("permit (principal, action == Action::\"iterat\", resource);",
                            "p.cedar:1:");
}

struct ruleset_findings {
    size_t errors, warnings;
    char first[256];
};

static void count_finding(const struct lint_finding *finding, void *context)
{
    struct ruleset_findings *findings = context;
    if (finding->is_error && findings->errors == 0) {
        snprintf(findings->first, sizeof(findings->first), "%s:%u:%u: %s", finding->file,
                 finding->line, finding->column, finding->message);
    }
    *(finding->is_error ? &findings->errors : &findings->warnings) += 1;
}

TEST(all_findings_are_handed_out_and_the_first_error_is_the_error)
{
    struct ruleset_text texts[] = {
        part(RULESET_POLICIES, "p.cedar",
             "forbid (principal, action, resource) when { context.tokns > 5 };\n"
             "forbid (principal, action, resource) when { context.itration > 5 };\n")};
    struct ruleset_findings findings = {0};
    struct ruleset *ruleset = NULL;
    struct rondo_error err = {0};
    assert_int_equal(ruleset_make("/p", texts, 1, count_finding, &findings, &ruleset, &err),
                     RONDO_ERR_INVALID);
    assert_int_equal(findings.errors, 2);
    assert_string_equal(err.message, findings.first);
    assert_non_null(strstr(err.message, "p.cedar:1:"));
    assert_non_null(strstr(err.message, "tokens"));
}

TEST(warnings_refuse_nothing)
{
    struct ruleset_text texts[] = {
        part(RULESET_POLICIES, "p.cedar", "forbid (principal, action in [], resource);\n" PERMIT)};
    struct ruleset_findings findings = {0};
    struct ruleset *ruleset = NULL;
    assert_int_equal(ruleset_make("/p", texts, 1, count_finding, &findings, &ruleset, NULL), 0);
    assert_int_equal(findings.errors, 0);
    assert_int_not_equal(findings.warnings, 0);
    ruleset_unref(ruleset);
}

TEST(entities_and_links_that_are_wrong_name_their_file)
{
    struct ruleset_text texts[] = {
        part(RULESET_POLICIES, "p.cedar",
             "@id(\"t\")\nforbid (principal == ?principal, action, "
             "resource);\n" PERMIT),
        part(RULESET_ENTITIES, "p.entities.json", "[{}]"),
    };
    expect_refused(texts, 2, RONDO_ERR_INVALID, "p.entities.json:");
    texts[1] = part(RULESET_ENTITIES, "p.entities.json", "[");
    expect_refused(texts, 2, RONDO_ERR_INVALID, "p.entities.json:");
    static const char *const links[] = {
        "[",
        "{}",
        "[1]",
        "[{\"templateId\":\"t\"}]",
        "[{\"templateId\":\"t\",\"newId\":\"l\",\"values\":[]}]",
        "[{\"templateId\":\"t\",\"newId\":\"l\",\"values\":{}}]",
        "[{\"templateId\":\"t\",\"newId\":\"l\",\"values\":{\"?principal\":1}}]",
        "[{\"templateId\":\"t\",\"newId\":\"l\","
        "\"values\":{\"?principal\":{\"type\":\"1\",\"id\":\"a\"}}}]",
        "[{\"templateId\":\"u\",\"newId\":\"l\","
        "\"values\":{\"?principal\":{\"type\":\"Agent\",\"id\":\"a\"}}}]",
    };
    for (size_t i = 0; i < COUNT(links); i++) {
        texts[1] = part(RULESET_LINKS, "p.links.json", links[i]);
        expect_refused(texts, 2, RONDO_ERR_INVALID, "p.links.json:");
    }
}

TEST(a_second_file_of_entities_is_refused)
{
    struct ruleset_text texts[] = {
        part(RULESET_POLICIES, "p.cedar", PERMIT),
        part(RULESET_ENTITIES, "a.json", "[]"),
        part(RULESET_ENTITIES, "b.json", "[]"),
    };
    expect_refused(texts, 3, RONDO_ERR_INVALID, "b.json: a second file of entities");
}

TEST(texts_have_a_limit_together)
{
    size_t size = LIMIT_POLICY_BYTES;
    auto_free char *text = memory_new(size + 1);
    memset(text, ' ', size + 1);
    memcpy(text, PERMIT, strlen(PERMIT));
    struct ruleset_text texts[] = {
        {RULESET_POLICIES, "a.cedar", text, size - 2},
        {RULESET_ENTITIES, "entities.json", "[]", 2},
    };
    struct ruleset *ruleset = make(texts, 2);
    assert_int_equal(ruleset->given_count, 1);
    ruleset_unref(ruleset);
    texts[0].len = size - 1;
    expect_refused(texts, 2, RONDO_ERR_LIMIT, "8388609 bytes; the limit is 8388608");
}

/* ---- Several files -------------------------------------------------------------------------- */

static const char links_text[] = "[{\"templateId\":\"t\",\"newId\":\"for-a\",\"values\":"
                                 "{\"?principal\":{\"type\":\"Agent\",\"id\":\"a\"}}}]";

TEST(a_template_does_not_take_the_place_of_an_own_policy)
{
    expect_policies_refused(PERMIT "@id(\"limit.iterations\") forbid (principal == ?principal, "
                                   "action, resource);",
                            "give the template another @id");
}

TEST(templates_apply_where_they_are_linked)
{
    /* Links may be before the template: policies are read first. */
    struct ruleset_text texts[] = {
        part(RULESET_LINKS, "links.json", links_text),
        part(RULESET_POLICIES, "b.cedar", PERMIT),
        part(RULESET_POLICIES, "c.cedar",
             "@id(\"t\") forbid (principal == ?principal, action, resource);"),
    };
    struct ruleset *ruleset = make(texts, 3);
    expect_ids(ruleset,
               "policy0 for-a limit.iterations limit.tokens limit.cost limit.time confirm.tool");
    assert_int_equal(ruleset->given_count, 2);
    ruleset_unref(ruleset);
}

static void digest_of(const char *a, const char *b, enum ruleset_part kind, char *ret_digest)
{
    struct ruleset_text texts[] = {part(RULESET_POLICIES, "a.cedar", a), part(kind, "b", b)};
    struct ruleset *ruleset = make(texts, b[0] == '\0' ? 1 : 2);
    memcpy(ret_digest, ruleset->digest, sizeof(ruleset->digest));
    ruleset_unref(ruleset);
}

TEST(digests_tell_texts_and_their_parts_apart)
{
    char digests[6][DIGEST_HEX_SIZE];
    digest_of(PERMIT, "", RULESET_POLICIES, digests[0]);
    digest_of(PERMIT " ", "", RULESET_POLICIES, digests[1]);
    digest_of(PERMIT PERMIT, "", RULESET_POLICIES, digests[2]);
    digest_of(PERMIT, PERMIT, RULESET_POLICIES, digests[3]);
    digest_of(PERMIT, "[]", RULESET_ENTITIES, digests[4]);
    digest_of(PERMIT, "[]", RULESET_LINKS, digests[5]);
    for (size_t i = 0; i < COUNT(digests); i++) {
        assert_int_equal(strlen(digests[i]), 64);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(digests[i], digests[j]);
        }
    }
    digest_of(PERMIT, "", RULESET_POLICIES, digests[1]);
    assert_string_equal(digests[0], digests[1]);
}

TEST(the_texts_are_kept_for_the_history)
{
    struct ruleset *one = make_policies(PERMIT);
    assert_string_equal(one->text, PERMIT);
    assert_int_equal(one->text_len, strlen(PERMIT));
    ruleset_unref(one);
    struct ruleset_text texts[] = {
        part(RULESET_POLICIES, "a.cedar", PERMIT),
        part(RULESET_POLICIES, "b.cedar", "// nothing"),
    };
    struct ruleset *two = make(texts, 2);
    assert_string_equal(two->text, "// a.cedar\n" PERMIT "\n// b.cedar\n// nothing");
    ruleset_unref(two);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static char *written(const struct ruleset *ruleset)
{
    struct buf text = {0};
    ruleset_write(ruleset, &text);
    return buf_steal(&text);
}

TEST(what_is_written_reads_back_the_same)
{
    struct ruleset *ruleset = make(NULL, 0);
    auto_free char *text = written(ruleset);
    assert_non_null(strstr(text, "there is no policy file"));
    assert_non_null(strstr(text, "without it, 10."));
    struct ruleset *again = make_policies(text);
    expect_ids(again, "base limit.iterations limit.tokens limit.cost limit.time confirm.tool");
    assert_int_equal(again->given_count, 6);
    ruleset_unref(again);
    ruleset_unref(ruleset);
}

TEST(what_is_written_begins_with_the_administrators_text)
{
    static const char given[] =
        "// mine\n" PERMIT "forbid (principal, action, resource) when { context.iteration > 5 };";
    struct ruleset *ruleset = make_policies(given);
    auto_free char *text = written(ruleset);
    assert_memory_equal(text, given, strlen(given));
    assert_non_null(strstr(text, "without it, 10 where no policy above counts"));
    assert_non_null(strstr(text, "@id(\"limit.time\")"));
    assert_null(strstr(text, "@id(\"base\")"));
    struct ruleset *again = make_policies(text);
    assert_int_equal(again->given_count, 7);
    ruleset_unref(again);
    ruleset_unref(ruleset);
}

TEST(what_is_written_is_cedar_also_with_entities)
{
    struct ruleset_text texts[] = {
        part(RULESET_POLICIES, "p.cedar", PERMIT),
        part(RULESET_ENTITIES, "p.entities.json", "[\n\r]\n"),
    };
    struct ruleset *ruleset = make(texts, 2);
    auto_free char *text = written(ruleset);
    assert_non_null(strstr(text, "// p.entities.json\n// [\n// \r// ]\n"));
    struct ruleset *again = make_policies(text);
    assert_int_equal(again->given_count, 6);
    ruleset_unref(again);
    ruleset_unref(ruleset);
}

TEST(a_ruleset_lives_until_the_last_reference)
{
    struct ruleset *ruleset = make(NULL, 0);
    assert_ptr_equal(ruleset_ref(ruleset), ruleset);
    ruleset_unref(ruleset);
    assert_string_equal(ruleset->source, "built-in");
    ruleset_unref(ruleset);
    ruleset_unref(NULL);
}
