// SPDX-License-Identifier: Apache-2.0
/* Questions and files of cases: what may be in them, and what is said about the rest. */
#include "policy/written_request.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "policy/case_file.h"
#include "support/test.h"

#include <json-c/json.h>
#include <string.h>

#define NOW_NS (INT64_C(1768953600) * NS_PER_S)

static struct json_object *json_of(const char *text)
{
    struct json_object *object = NULL;
    struct rondo_error err = {0};
    if (json_parse(text, strlen(text), &object, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    return object;
}

/** Read a context into a new question. */
static int read_context(struct written_request *written, const char *text, struct rondo_error *err)
{
    struct json_object *context = json_of(text);
    written_request_init(written, NOW_NS);
    int r = written_request_read_context(written, context, err);
    json_object_put(context);
    return r;
}

TEST(a_new_request_is_about_the_first_iteration)
{
    struct written_request written;
    written_request_init(&written, NOW_NS);
    assert_int_equal(written_request_finish(&written, NULL), 0);
    assert_int_equal(written.request.action, ACTION_ITERATE);
    assert_int_equal(written.request.iteration, 0);
    assert_int_equal(written.request.now_ns, NOW_NS);
    assert_string_equal(written.run.agent_id, REQUEST_AGENT);
    written_request_fini(&written);
}

TEST(the_context_sets_facts_by_the_names_of_the_vocabulary)
{
    struct written_request written;
    assert_int_equal(read_context(&written,
                                  "{\"iteration\":100,\"elapsed_s\":30,\"tokens\":7,\"cost_usd\":"
                                  "\"4.50\",\"consecutive_failures\":1,\"conditions_met\":2,"
                                  "\"conditions_total\":3,\"approved\":true,\"now\":"
                                  "\"2026-01-05T10:00:00Z\",\"input\":{\"x\":1},"
                                  "\"condition\":\"tests\"}",
                                  NULL),
                     0);
    assert_int_equal(written.request.iteration, 100);
    assert_int_equal(written.request.elapsed_ns, 30 * NS_PER_S);
    assert_int_equal(written.request.tokens, 7);
    assert_int_equal(written.request.cost_micro, 4500000);
    assert_int_equal(written.request.consecutive_failures, 1);
    assert_int_equal(written.request.conditions_met, 2);
    assert_int_equal(written.request.conditions_total, 3);
    assert_true(written.request.is_approved);
    assert_int_equal(written.request.now_ns, INT64_C(1767607200) * NS_PER_S);
    assert_string_equal(written.request.input, "{\"x\":1}");
    assert_string_equal(written.request.condition, "tests");
    written_request_fini(&written);
}

TEST(money_may_be_a_number_whose_digits_count)
{
    struct written_request written;
    assert_int_equal(read_context(&written, "{\"cost_usd\":0.10}", NULL), 0);
    assert_int_equal(written.request.cost_micro, 100000);
    written_request_fini(&written);
}

TEST(a_wrong_context_is_refused_with_the_reason)
{
    static const struct {
        const char *context, *message;
    } cases[] = {
        {"{\"iterations\":1}", "context: unknown key `iterations`; did you mean `iteration`?"},
        {"{\"zzz\":1}", "context: unknown key `zzz`"},
        {"{\"iteration\":-1}",
         "context: iteration: the number must be from 0 to 9223372036854775807"},
        {"{\"iteration\":\"1\"}", "context: iteration: a whole number is expected"},
        {"{\"iteration\":1.5}", "context: iteration: a whole number is expected"},
        {"{\"elapsed_s\":9223372037}",
         "context: elapsed_s: the number must be from 0 to 9223372036"},
        {"{\"approved\":1}", "context: approved: true or false is expected"},
        {"{\"now\":\"yesterday\"}",
         "context: now: a time like \"2026-01-05T10:00:00Z\" is expected"},
        {"{\"now\":\"9999-01-05T10:00:00Z\"}",
         "context: now: a time like \"2026-01-05T10:00:00Z\" is expected"},
        {"{\"weekday\":1}", "context: weekday: it follows from `now`; give that"},
        {"{\"input\":[]}", "context: input: an object is expected"},
        {"{\"condition\":\"a\\u0000b\"}", "context: condition: a string is expected"},
        {"{\"cost_usd\":[]}", "context: cost_usd: an amount like \"4.50\" is expected"},
        {"[]", "context: an object is expected"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct written_request written;
        struct rondo_error err = {0};
        assert_int_equal(read_context(&written, cases[i].context, &err), RONDO_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        written_request_fini(&written);
    }
}

TEST(null_says_nothing)
{
    struct written_request written;
    assert_int_equal(read_context(&written, "{\"iteration\":null}", NULL), 0);
    assert_int_equal(written_request_read_member(&written, "tool", NULL, NULL), 1);
    assert_int_equal(written_request_read_member(&written, "context", NULL, NULL), 1);
    assert_null(written.tool);
    written_request_fini(&written);
}

/** Cases of one file, or its error. */
static int read_cases(const char *text, struct case_file *ret_file, struct rondo_error *err)
{
    return case_file_read("c.json", text, strlen(text), NOW_NS, ret_file, err);
}

static enum vocabulary_action action_of(const char *members)
{
    struct buf text = {0};
    struct case_file file = {0};
    struct rondo_error err = {0};
    buf_printf(&text, "{\"cases\":[{\"expect\":\"allow\",%s}]}", members);
    if (read_cases(buf_string(&text), &file, &err) < 0) {
        fail_msg("%s", err.message);
    }
    enum vocabulary_action action = file.cases[0].written.request.action;
    case_file_fini(&file);
    buf_fini(&text);
    return action;
}

TEST(the_action_follows_from_what_it_is_about)
{
    assert_int_equal(action_of("\"agent\":\"a\""), ACTION_ITERATE);
    assert_int_equal(action_of("\"tool\":\"shell\""), ACTION_CALL_TOOL);
    assert_int_equal(action_of("\"model\":\"m\""), ACTION_CALL_MODEL);
    assert_int_equal(action_of("\"condition\":\"tests\""), ACTION_VERIFY);
    assert_int_equal(action_of("\"context\":{\"condition\":\"tests\"}"), ACTION_VERIFY);
    assert_int_equal(action_of("\"action\":\"finish\""), ACTION_FINISH);
}

TEST(a_wrong_case_is_refused_with_its_name)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"cases\":[\n{\"nam]}", "c.json: not valid JSON: 2:8: the string has no end"},
        {"{}", "c.json: {\"cases\":[...]} is expected"},
        {"{\"cases\":[1]}", "c.json: case 1: an object is expected"},
        {"{\"cases\":[{\"name\":\"x\"}]}",
         "c.json: case 1 \"x\": \"expect\" is missing: \"allow\", \"deny\" or \"ask\""},
        {"{\"cases\":[{\"expect\":\"yes\"}]}",
         "c.json: case 1: expect: \"allow\", \"deny\" or \"ask\" is expected"},
        {"{\"cases\":[{\"expect\":\"deny\"},{\"name\":\"y\",\"expct\":\"deny\"}]}",
         "c.json: case 2 \"y\": unknown key `expct`; did you mean `expect`?"},
        {"{\"cases\":[{\"expect\":\"deny\",\"action\":\"iterat\"}]}",
         "c.json: case 1: action: unknown action `iterat`; did you mean `iterate`?"},
        {"{\"cases\":[{\"expect\":\"deny\",\"options\":{\"max_iteration\":3}}]}",
         "c.json: case 1: options: unknown key `max_iteration`; did you mean `max_iterations`?"},
        {"{\"cases\":[{\"expect\":\"deny\",\"action\":\"call_tool\"}]}",
         "c.json: case 1: `call_tool` needs a tool"},
        {"{\"cases\":[{\"expect\":\"deny\",\"action\":\"iterate\",\"tool\":\"x\"}]}",
         "c.json: case 1: tool belongs to `call_tool`, not to `iterate`"},
        {"{\"cases\":[{\"expect\":\"deny\",\"context\":{\"input\":{}}}]}",
         "c.json: case 1: input belongs to `call_tool`, not to `iterate`"},
        {"{\"cases\":[{\"expect\":\"deny\",\"agent\":\"\"}]}",
         "c.json: case 1: the agent's id must have 1 to 128 bytes"},
        {"{\"cases\":[{\"expect\":\"deny\",\"policies\":\"x\"}]}",
         "c.json: case 1: policies: a list of ids is expected"},
        {"{\"cases\":[{\"expect\":\"deny\",\"policies\":[1]}]}",
         "c.json: case 1: policies: a list of ids is expected"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct case_file file = {0};
        struct rondo_error err = {0};
        assert_int_equal(read_cases(cases[i].text, &file, &err), RONDO_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_null(file.cases);
    }
}

/** Run the only case of a text against policies. */
static bool passes(const char *members, const char *policies)
{
    struct buf text = {0};
    struct case_file file = {0};
    struct ruleset *ruleset = NULL;
    struct case_result result;
    struct rondo_error err = {0};
    struct ruleset_text part = {RULESET_POLICIES, "p.cedar", policies, strlen(policies)};
    buf_printf(&text, "{\"cases\":[{%s}]}", members);
    if (ruleset_make("p.cedar", &part, 1, NULL, NULL, &ruleset, &err) < 0 ||
        read_cases(buf_string(&text), &file, &err) < 0) {
        fail_msg("%s", err.message);
    }
    case_run(&file.cases[0], ruleset, &result);
    bool is_ok = result.is_ok;
    case_result_fini(&result);
    case_file_fini(&file);
    ruleset_unref(ruleset);
    buf_fini(&text);
    return is_ok;
}

#define RULES                                                                             \
    "@id(\"all\") permit (principal, action, resource);"                                  \
    "@id(\"no\") forbid (principal, action, resource) when { context.iteration >= 5 };"   \
    "@id(\"ask\") @on_deny(\"ask\") forbid (principal, action == Action::\"call_tool\", " \
    "resource) unless { context.approved };"

TEST(a_case_passes_when_verdict_and_policies_are_the_expected_ones)
{
    assert_true(passes("\"expect\":\"allow\"", RULES));
    assert_true(passes("\"expect\":\"allow\",\"policies\":[\"all\"]", RULES));
    assert_false(passes("\"expect\":\"deny\"", RULES));
    assert_true(
        passes("\"expect\":\"deny\",\"context\":{\"iteration\":5},\"policies\":[\"no\"]", RULES));
    assert_false(
        passes("\"expect\":\"deny\",\"context\":{\"iteration\":5},\"policies\":[\"all\"]", RULES));
    assert_false(passes("\"expect\":\"deny\",\"context\":{\"iteration\":5},"
                        "\"policies\":[\"no\",\"all\"]",
                        RULES));
    assert_false(
        passes("\"expect\":\"deny\",\"context\":{\"iteration\":5},\"policies\":[]", RULES));
    assert_true(passes("\"expect\":\"ask\",\"tool\":\"x\"", RULES));
    assert_true(
        passes("\"expect\":\"allow\",\"tool\":\"x\",\"context\":{\"approved\":true}", RULES));
    assert_true(passes("\"expect\":\"deny\",\"policies\":[]",
                       "@id(\"x\") permit (principal, action, resource) when { false };"));
}

TEST(options_of_a_case_are_those_of_the_run)
{
    assert_true(passes("\"expect\":\"deny\",\"options\":{\"max_iterations\":3},"
                       "\"context\":{\"iteration\":3},\"policies\":[\"limit.iterations\"]",
                       "permit (principal, action, resource);"));
    assert_true(passes("\"expect\":\"deny\",\"options\":{\"max_cost_usd\":\"2.50\"},"
                       "\"context\":{\"cost_usd\":2.5},\"policies\":[\"limit.cost\"]",
                       "permit (principal, action, resource);"));
}

TEST(a_forbid_that_fails_is_what_decided)
{
    assert_true(passes("\"expect\":\"deny\",\"policies\":[\"bad\"]",
                       "permit (principal, action, resource); @id(\"bad\") forbid (principal, "
                       "action, resource) when { principal.hasTag(\"t\") == false && "
                       "principal.getTag(\"t\") == \"x\" };"));
}
