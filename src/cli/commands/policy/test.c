// SPDX-License-Identifier: Apache-2.0
/* rondo policy test: test policies against expected decisions. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cli/commands/policy/commands.h"
#include "cli/commands/policy/source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/terminal/style.h"
#include "cli/terminal/text.h"
#include "os/file_untrusted.h"
#include "policy/case_file.h"

#include <string.h>

struct test_values {
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row policy_test_options[] = {
    OPTION_ROW_STORE(struct test_values),
    OPTION_ROW_JSON(struct test_values,
                    "One JSON object per line, one for each case, then a summary"),
    OPTION_ROW_NO_COLOUR(struct test_values),
    {0},
};

/** One invocation. */
struct testing {
    const struct test_values *values;
    struct style style;
    struct case_file file;
    size_t failed;
    struct buf out;
};

static void add_expected(const struct policy_case *one, struct buf *out)
{
    buf_printf(out, "expected %s", verdict_outcome_name(one->expected));
    for (size_t i = 0; i < one->policy_count; i++) {
        buf_printf(out, "%s%s", i == 0 ? " by " : ", ", one->policies[i]);
    }
    if (one->names_policies && one->policy_count == 0) {
        buf_append_string(out, " by no policy");
    }
}

static void add_got(const struct case_result *result, struct buf *out)
{
    buf_printf(out, ", got %s", verdict_outcome_name(result->outcome));
    for (size_t i = 0; i < result->policy_count; i++) {
        buf_printf(out, "%s%s", i == 0 ? " by " : ", ", result->policies[i]);
    }
    if (result->policy_count == 0) {
        buf_printf(out, " (%s)", verdict_reason_name(result->reason));
    }
    if (result->problem.len > 0) {
        buf_printf(out, ": %s", result->problem.data);
    }
}

static void add_text(struct testing *testing, size_t number, const struct policy_case *one,
                     const struct case_result *result)
{
    auto_buf struct buf what = {0};
    style_append(&testing->style, result->is_ok ? COLOUR_GREEN : COLOUR_RED,
                 result->is_ok ? "ok" : "not ok", &testing->out);
    buf_printf(&testing->out, " %zu - ", number);
    text_clean(one->name, strlen(one->name), &testing->out);
    if (!result->is_ok) {
        add_expected(one, &what);
        add_got(result, &what);
        buf_append_string(&testing->out, "\n    ");
        text_clean(what.data, what.len, &testing->out);
    }
    buf_append_string(&testing->out, "\n");
}

static void add_json(struct testing *testing, size_t number, const struct policy_case *one,
                     const struct case_result *result)
{
    struct json_writer writer = json_writer(&testing->out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "policy_case");
    json_write_int(&writer, "number", (int64_t)number);
    json_write_string(&writer, "name", one->name);
    json_write_bool(&writer, "is_ok", result->is_ok);
    json_write_string(&writer, "expected", verdict_outcome_name(one->expected));
    json_write_string(&writer, "verdict", verdict_outcome_name(result->outcome));
    json_write_string(&writer, "reason", verdict_reason_name(result->reason));
    json_begin_array(&writer, "policies");
    for (size_t i = 0; i < result->policy_count; i++) {
        json_write_string(&writer, NULL, result->policies[i]);
    }
    json_end_array(&writer);
    if (result->problem.len > 0) {
        json_write_string(&writer, "problem", result->problem.data);
    }
    json_end_object(&writer);
    buf_append_string(&testing->out, "\n");
}

static void add_summary(struct testing *testing)
{
    size_t count = testing->file.count;
    if (!testing->values->wants_json) {
        buf_printf(&testing->out, "%zu case%s: %zu passed, %zu failed\n", count,
                   count == 1 ? "" : "s", count - testing->failed, testing->failed);
        return;
    }
    struct json_writer writer = json_writer(&testing->out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "policy_test");
    json_write_int(&writer, "passed", (int64_t)(count - testing->failed));
    json_write_int(&writer, "failed", (int64_t)testing->failed);
    json_end_object(&writer);
    buf_append_string(&testing->out, "\n");
}

static void run_cases(struct testing *testing, struct ruleset *ruleset)
{
    for (size_t i = 0; i < testing->file.count; i++) {
        const struct policy_case *one = &testing->file.cases[i];
        struct case_result result;
        case_run(one, ruleset, &result);
        testing->failed += result.is_ok ? 0 : 1;
        if (testing->values->wants_json) {
            add_json(testing, i + 1, one, &result);
        } else {
            add_text(testing, i + 1, one, &result);
        }
        case_result_fini(&result);
    }
    add_summary(testing);
    report_output(&testing->out);
}

static int read_file(const char *path, struct case_file *ret_file, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    const char *slash = strrchr(path, '/');
    int r = file_read_named(NULL, path, CASE_FILE_BYTES, &text, err);
    return r < 0 ? r
                 : case_file_read(slash == NULL ? path : slash + 1, buf_string(&text), text.len,
                                  clock_now(clock_system()), ret_file, err);
}

static int run_test(const struct test_values *values, const char *cases, const char *path)
{
    struct rondo_error err = {0};
    struct testing testing = {
        .values = values,
        .style = style_for(stdout, values->no_colour != 0),
    };
    if (read_file(cases, &testing.file, &err) < 0) {
        return report_failure(EXIT_USAGE, "%s", err.message);
    }
    struct ruleset *ruleset = NULL;
    int exit_code = policy_require(path, values->store, &ruleset);
    if (exit_code == EXIT_OK) {
        run_cases(&testing, ruleset);
        exit_code = testing.failed > 0 ? EXIT_OTHER : EXIT_OK;
    }
    ruleset_unref(ruleset);
    case_file_fini(&testing.file);
    buf_fini(&testing.out);
    return exit_code;
}

int cmd_policy_test(const struct invocation *invocation)
{
    struct test_values values = {0};
    struct option_set set = {.rows = policy_test_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 2);
    int exit_code =
        parsed.is_over ? parsed.exit_code
                       : run_test(&values, parsed.argv[0], parsed.argc > 1 ? parsed.argv[1] : NULL);
    option_set_fini(&set);
    return exit_code;
}
