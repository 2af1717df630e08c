// SPDX-License-Identifier: Apache-2.0
/* Configuration files: what they may say, and how they meet the command line. */
#include "cli/framework/config.h"
#include "support/test.h"

#include "base/limits.h"
#include "cli/commands/run/run_options.h"
#include "cli/framework/command.h"

#include <stdlib.h>
#include <string.h>

struct config_fixture {
    struct run_values values;
    struct option_set set;
    struct rondo_error err;
};

static int setup(void **state)
{
    struct config_fixture *fixture = calloc(1, sizeof(*fixture));
    run_values_init(&fixture->values, loop_options, &fixture->set);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct config_fixture *fixture = *state;
    run_values_fini(&fixture->values, &fixture->set);
    free(fixture);
    return 0;
}

static int parse(struct config_fixture *fixture, const char *json)
{
    return config_parse(json, strlen(json), &fixture->set, &fixture->err);
}

#define FACT(name) TEST_WITH(name, setup, teardown)

FACT(every_kind_of_option_can_be_given)
{
    struct config_fixture *fixture = *state;
    assert_int_equal(parse(fixture, "{\"max-iterations\":60,\"exclusive\":true,\"delay\":\"1.5s\","
                                    "\"time-limit\":90,\"max-cost\":0.25,\"agent\":\"fixer\","
                                    "\"durability\":\"best-effort\",\"until\":[\"a=b\",\"c\"]}"),
                     0);
    const struct loop_spec *spec = &fixture->values.spec;
    assert_int_equal(spec->max_iterations, 60);
    assert_int_equal(spec->is_exclusive, 1);
    assert_int_equal(spec->delay_ns, 1500000000);
    assert_int_equal(spec->time_limit_ns, 90000000000);
    assert_int_equal(spec->max_cost_micro, 250000);
    assert_string_equal(spec->agent_id, "fixer");
    assert_int_equal(spec->durability, DURABILITY_BEST_EFFORT);
    assert_string_equal(fixture->values.until[1], "c");
    assert_null(fixture->values.until[2]);
}

FACT(false_leaves_a_flag_alone)
{
    struct config_fixture *fixture = *state;
    assert_int_equal(parse(fixture, "{\"exclusive\":false}"), 0);
    assert_int_equal(fixture->values.spec.is_exclusive, 0);
    assert_false(option_is_given(&fixture->set, "exclusive"));
}

FACT(the_command_line_wins)
{
    struct config_fixture *fixture = *state;
    size_t limit = (size_t)option_find(loop_options, "max-iterations");
    size_t until = (size_t)option_find(loop_options, "until");
    assert_int_equal(option_set_text(&fixture->set, limit, "5", NULL), 0);
    assert_int_equal(option_set_text(&fixture->set, until, "x=y", NULL), 0);
    assert_int_equal(parse(fixture, "{\"max-iterations\":60,\"until\":[\"a=b\"]}"), 0);
    assert_int_equal(fixture->values.spec.max_iterations, 5);
    assert_string_equal(fixture->values.until[0], "x=y");
    assert_null(fixture->values.until[1]);
}

FACT(mistakes_are_errors_that_name_the_key)
{
    struct config_fixture *fixture = *state;
    static const struct {
        const char *json;
        const char *key;
    } mistakes[] = {
        {"{\"max-iteration\":1}", "max-iteration"},
        {"{\"config\":\"other.json\"}", "config"},
        {"{\"max-iterations\":\"60\"}", "max-iterations"},
        {"{\"max-iterations\":0}", "max-iterations"},
        {"{\"max-iterations\":1.5}", "max-iterations"},
        {"{\"exclusive\":1}", "exclusive"},
        {"{\"delay\":\"soon\"}", "delay"},
        {"{\"delay\":-1}", "delay"},
        {"{\"max-cost\":\"much\"}", "max-cost"},
        {"{\"durability\":\"sometimes\"}", "durability"},
        {"{\"agent\":null}", "agent"},
        {"{\"agent\":\"a\\u0000b\"}", "agent"},
        {"{\"until\":\"a=b\"}", "until"},
        {"{\"until\":[1]}", "until"},
    };
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        assert_int_equal(parse(fixture, mistakes[i].json), RONDO_ERR_INVALID);
        assert_non_null(strstr(fixture->err.message, mistakes[i].key));
    }
}

FACT(only_an_object_is_taken)
{
    struct config_fixture *fixture = *state;
    assert_int_equal(parse(fixture, "[]"), RONDO_ERR_INVALID);
    assert_int_equal(parse(fixture, ""), RONDO_ERR_INVALID);
    assert_int_equal(parse(fixture, "{} x"), RONDO_ERR_INVALID);
}

FACT(a_file_has_a_largest_size)
{
    struct config_fixture *fixture = *state;
    size_t len = LIMIT_CONFIG_FILE_BYTES + 1;
    char *text = malloc(len);
    memset(text, ' ', len);
    text[0] = '{';
    text[1] = '}';
    assert_int_equal(config_parse(text, len - 1, &fixture->set, &fixture->err), 0);
    assert_int_equal(config_parse(text, len, &fixture->set, &fixture->err), RONDO_ERR_LIMIT);
    free(text);
}

FACT(a_list_has_a_largest_length)
{
    struct config_fixture *fixture = *state;
    size_t until = (size_t)option_find(loop_options, "until");
    for (int i = 0; i < OPTION_LIST_MAX; i++) {
        assert_int_equal(option_set_text(&fixture->set, until, "a=b", NULL), 0);
    }
    assert_int_equal(option_set_text(&fixture->set, until, "a=b", NULL), RONDO_ERR_LIMIT);
}
