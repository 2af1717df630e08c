// SPDX-License-Identifier: Apache-2.0
/* Which values pass for a boolean, a whole number, a number, a text. */
#include "role_help.h"

#include <stdio.h>

/** A table row: what is written, and what it becomes in the normal form (NULL = an error). */
struct coerce_row {
    const char *yaml;
    const char *json;
};

static void check(const char *format, const char *path, const struct coerce_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf text = {0};
        buf_append_string(&text, HEAD);
        buf_printf(&text, "  %s%s\n", format, rows[i].yaml);
        struct role_reading reading = read_text(buf_string(&text));
        if ((reading.role != NULL) != (rows[i].json != NULL)) {
            fail_msg("%s is %s", rows[i].yaml, reading.role == NULL ? "refused" : "taken");
        }
        if (reading.role != NULL) {
            expect_normal(&reading, path, rows[i].json);
        }
        reading_fini(&reading);
        buf_fini(&text);
    }
}

TEST(whole_numbers)
{
    static const struct coerce_row rows[] = {
        {"7", "7"},
        {"7.0", "7"},
        {"7.5", NULL},
        {"\"7\"", "7"},
        {"\" 7 \"", "7"},
        {"\"7.0\"", "7"},
        {"\"7.\"", NULL},
        {"\"7.5\"", NULL},
        {"\"1_000\"", "1000"},
        {"\"1__0\"", NULL},
        {"\"+5\"", "5"},
        {"\"-5\"", "-5"},
        {"\"0x10\"", NULL},
        {"1e3", NULL},
        {"yes", "1"},
        {"no", "0"},
        {"~", NULL},
        {"[7]", NULL},
        {".inf", NULL},
        {"\"\"", NULL},
        {"-3", "-3"},
        {"99999999999999999999", NULL},
        {"2026-01-01", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char value[64];
        snprintf(value, sizeof(value), "%s}", rows[i].yaml);
        const struct coerce_row row = {value, rows[i].json};
        check("autonomy: {max_plan_steps: ", "spec.autonomy.max_plan_steps", &row, 1);
    }
}

TEST(numbers)
{
    static const struct coerce_row rows[] = {
        {"0.5", "0.5"},    {"1", "1.0"},         {"yes", "1.0"},        {"\"0.5\"", "0.5"},
        {"1e3", "1000.0"}, {"\" 1.5 \"", "1.5"}, {"\"1_0.5\"", "10.5"}, {"\"0x1\"", NULL},
        {"\"\"", NULL},    {"\"nan\"", NULL},    {".inf", NULL},        {".nan", NULL},
        {"0.1", "0.1"},    {"{}", NULL},         {"~", NULL},           {"1e400", NULL},
        {"-1", "-1.0"},    {"3.0e-05", "3e-05"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char value[64];
        snprintf(value, sizeof(value), "%s}", rows[i].yaml);
        const struct coerce_row row = {value, rows[i].json};
        check("autonomy: {iteration_delay_seconds: ", "spec.autonomy.iteration_delay_seconds", &row,
              1);
    }
}

TEST(booleans)
{
    static const struct coerce_row rows[] = {
        {"true", "true"}, {"off", "false"}, {"1", "true"}, {"0", "false"},     {"1.0", "true"},
        {"2", NULL},      {"0.5", NULL},    {"y", "true"}, {"\"F\"", "false"}, {"\"TRUE\"", "true"},
        {"\"2\"", NULL},  {"\"\"", NULL},   {"~", NULL},   {"[]", NULL},       {"\" true\"", NULL},
    };
    check("ingest:\n    sources: [x]\n    watch: ", "spec.ingest.watch", rows, COUNT(rows));
}

TEST(texts)
{
    static const struct coerce_row rows[] = {
        {"x", "\"x\""}, {"\"5\"", "\"5\""}, {"5", NULL},   {"1.5", NULL},
        {"yes", NULL},  {"~", NULL},        {"[x]", NULL}, {"2026-01-01", NULL},
        {"''", "\"\""}, {"1e3", "\"1e3\""},
    };
    check("autonomy:\n    continuation_prompt: ", "spec.autonomy.continuation_prompt", rows,
          COUNT(rows));
}

TEST(optional_texts_may_be_null)
{
    static const struct coerce_row rows[] = {
        {"~", "null"},
        {"", "null"},
        {"x", "\"x\""},
        {"5", NULL},
    };
    check("ingest:\n    sources: [x]\n    store_path: ", "spec.ingest.store_path", rows,
          COUNT(rows));
}

TEST(lists_and_maps)
{
    static const struct coerce_row lists[] = {
        {"[a, b]", "[\"a\",\"b\"]"},
        {"[]", "[]"},
        {"a", NULL},
        {"[1]", NULL},
        {"{a: b}", NULL},
        {"~", NULL},
    };
    check("skills: ", "spec.skills", lists, COUNT(lists));
    static const struct coerce_row maps[] = {
        {"{a: b}", "{\"a\":\"b\"}"},
        {"{}", "{}"},
        {"{a: 1}", NULL},
        {"{1: a}", NULL},
        {"[a]", NULL},
        {"{a: ~}", NULL},
    };
    check("tools:\n  - type: http\n    base_url: u\n    headers: ", "spec.tools.0.headers", maps,
          COUNT(maps));
    static const struct coerce_row numbers[] = {
        {"[1, \"2\", 3.0]", "[1,2,3]"},
        {"[x]", NULL},
        {"1", NULL},
    };
    check("triggers:\n  - type: telegram\n    allowed_user_ids: ",
          "spec.triggers.0.allowed_user_ids", numbers, COUNT(numbers));
}

TEST(anything_is_kept_as_it_is)
{
    static const struct coerce_row rows[] = {
        {"{a: [1, 1.5, yes, ~, x], b: {c: 2026-01-01}}",
         "{\"a\":[1,1.5,true,null,\"x\"],\"b\":{\"c\":\"2026-01-01\"}}"},
        {"{1: a}", NULL},
        {"{a: {1: b, ~: c}}", "{\"a\":{\"1\":\"b\",\"None\":\"c\"}}"},
    };
    check("tools:\n  - type: custom\n    module: m\n    config: ", "spec.tools.0.config", rows,
          COUNT(rows));
}
