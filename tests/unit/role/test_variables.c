// SPDX-License-Identifier: Apache-2.0
/* Variables of a role's text: deps_schema. */
#include "role_help.h"

#include "base/auto.h"
#include "base/limits.h"

#include <stdio.h>

#define ENVELOPE                                                                            \
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: my-agent}\nspec:\n  model: {" \
    "provider: p, name: n}\n"

/** The system prompt of a role. @return whether there is one; else what is wrong */
static bool resolve(const char *yaml, struct buf *ret_text)
{
    struct role_reading reading = read_right(yaml);
    struct role_findings findings = {0};
    struct rondo_error err = {0};
    int r = role_resolve_skills(reading.role, NULL, &findings, ret_text, &err);
    if (r < 0) {
        buf_clear(ret_text);
        list_findings(&findings, ret_text);
    }
    role_findings_fini(&findings);
    reading_fini(&reading);
    return r == 0;
}

static void expect_text(const char *yaml, const char *expected)
{
    auto_buf struct buf text = {0};
    bool is_good = resolve(yaml, &text);
    assert_string_equal(buf_string(&text), expected);
    assert_true(is_good);
}

static void expect_refused(const char *yaml, const char *part)
{
    auto_buf struct buf text = {0};
    assert_false(resolve(yaml, &text));
    assert_non_null(strstr(buf_string(&text), part));
}

#define SCHEMA(text, schema) ENVELOPE "  role: \"" text "\"\n  deps_schema: " schema "\n"

static int set_up(void **state)
{
    (void)state;
    setenv("INITRUNNER_VAR_CITY", "Ulm {{lang}}", 1);
    setenv("INITRUNNER_VAR_DAYS", "3", 1);
    unsetenv("INITRUNNER_VAR_LANG");
    return 0;
}

TEST_WITH(variables_of_the_schema_are_replaced_and_no_others, set_up, NULL)
{
    expect_text(SCHEMA("{{city}}, {{ city }}, {{other}}, {{, {{city", "{city: {type: string}}"),
                "Ulm {{lang}}, Ulm {{lang}}, {{other}}, {{, {{city");
    expect_text(ENVELOPE "  role: \"{{city}}\"\n", "{{city}}");
}

TEST_WITH(a_value_is_not_searched_for_variables, set_up, NULL)
{
    expect_text(SCHEMA("{{city}} {{lang}}", "{city: {}, lang: {default: de}}"), "Ulm {{lang}} de");
}

TEST_WITH(a_json_schema_says_what_is_required, set_up, NULL)
{
    expect_text(SCHEMA("a{{lang}}b", "{type: object, properties: {lang: {type: string}}}"), "ab");
    expect_refused(SCHEMA("{{lang}}", "{type: object, required: [lang], properties: {lang: {}}}"),
                   "--var lang=VALUE, or the variable INITRUNNER_VAR_LANG");
    expect_refused(SCHEMA("{{lang}}", "{lang: {type: string}}"), "spec.deps_schema.lang");
}

TEST_WITH(values_have_the_type_of_the_schema, set_up, NULL)
{
    expect_text(SCHEMA("{{days}}", "{days: {type: integer}}"), "3");
    expect_text(SCHEMA("{{days}}", "{days: {type: number}}"), "3");
    expect_refused(SCHEMA("{{city}}", "{city: {type: integer}}"), "does not have the type");
    expect_refused(SCHEMA("{{city}}", "{city: {type: number}}"), "does not have the type");
    expect_refused(SCHEMA("{{days}}", "{days: {type: boolean}}"), "does not have the type");
}

TEST_WITH(the_text_with_its_values_has_a_limit, set_up, NULL)
{
    for (int more = 0; more <= 1; more++) {
        size_t len = (size_t)LIMIT_ROLE_FILE_BYTES + (size_t)more;
        char *value = calloc(len + 1, 1);
        struct role_findings findings = {0};
        auto_buf struct buf text = {0};
        memset(value, 'x', len);
        setenv("INITRUNNER_VAR_CITY", value, 1);
        struct role_reading reading = read_right(SCHEMA("{{city}}", "{city: {}}"));
        int r = role_resolve_skills(reading.role, NULL, &findings, &text, NULL);
        assert_int_equal(r, more == 0 ? 0 : RONDO_ERR_INVALID);
        role_findings_fini(&findings);
        reading_fini(&reading);
        free(value);
    }
}
