// SPDX-License-Identifier: Apache-2.0
/* What a worker may write into its result file, and what happens when it writes something else. */
#include "support/test.h"
#include "worker/files.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int parse(const char *json, struct worker_result *ret_result, struct rondo_error *err)
{
    return worker_result_parse(json, strlen(json), ret_result, err);
}

TEST(an_empty_object_says_nothing)
{
    struct worker_result result;
    assert_int_equal(parse("{}", &result, NULL), 0);
    assert_int_equal(result.finish, FINISH_NONE);
    assert_null(result.summary);
    assert_int_equal(result.tokens, 0);
}

TEST(everything_that_is_documented_is_taken)
{
    struct worker_result result;
    assert_int_equal(parse("{\"finish\":{\"status\":\"completed\",\"summary\":\"done\"},"
                           "\"custom_data\":{\"progress\":\"50%\"},"
                           "\"usage\":{\"tokens\":12,\"cost\":\"0.25\"},\"later\":1}",
                           &result, NULL),
                     0);
    assert_int_equal(result.finish, FINISH_COMPLETED);
    assert_string_equal(result.summary, "done");
    assert_string_equal(result.custom_data, "{\"progress\":\"50%\"}");
    assert_int_equal(result.tokens, 12);
    assert_int_equal(result.cost_micro, 250000);
    worker_result_fini(&result);
}

TEST(cost_may_be_a_number)
{
    struct worker_result result;
    assert_int_equal(parse("{\"usage\":{\"cost\":0.000001}}", &result, NULL), 0);
    assert_int_equal(result.cost_micro, 1);
    assert_int_equal(parse("{\"usage\":{\"cost\":3}}", &result, NULL), 0);
    assert_int_equal(result.cost_micro, 3000000);
}

TEST(wrong_types_are_named_by_their_key)
{
    static const struct {
        const char *json;
        const char *key;
    } cases[] = {
        {"{\"finish\":true}", "finish"},
        {"{\"finish\":{\"status\":\"done\"}}", "finish.status"},
        {"{\"finish\":{\"status\":\"failed\",\"summary\":3}}", "finish.summary"},
        {"{\"custom_data\":[1]}", "custom_data"},
        {"{\"usage\":1}", "usage"},
        {"{\"usage\":{\"tokens\":-1}}", "usage.tokens"},
        {"{\"usage\":{\"tokens\":1.5}}", "usage.tokens"},
        {"{\"usage\":{\"cost\":-0.5}}", "usage.cost"},
        {"{\"usage\":{\"cost\":\"five\"}}", "usage.cost"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct worker_result result;
        struct rondo_error err = {0};
        assert_int_equal(parse(cases[i].json, &result, &err), RONDO_ERR_INVALID);
        assert_non_null(strstr(err.message, cases[i].key));
    }
}

TEST(text_that_is_no_object_is_refused)
{
    struct worker_result result;
    assert_int_equal(parse("[]", &result, NULL), RONDO_ERR_INVALID);
    assert_int_equal(parse("done", &result, NULL), RONDO_ERR_INVALID);
    assert_int_equal(parse("{} {}", &result, NULL), RONDO_ERR_INVALID);
}

static int parse_summary_of(size_t len, struct worker_result *ret_result)
{
    auto_buf struct buf json = {0};
    buf_append_string(&json, "{\"finish\":{\"status\":\"blocked\",\"summary\":\"");
    for (size_t i = 0; i < len; i++) {
        buf_append(&json, "x", 1);
    }
    buf_append_string(&json, "\"}}");
    return worker_result_parse(json.data, json.len, ret_result, NULL);
}

TEST(a_summary_is_taken_up_to_its_limit_and_refused_past_it)
{
    struct worker_result result;
    assert_int_equal(parse_summary_of(LIMIT_SUMMARY_BYTES, &result), 0);
    worker_result_fini(&result);
    assert_int_equal(parse_summary_of(LIMIT_SUMMARY_BYTES + 1, &result), RONDO_ERR_LIMIT);
}

TEST(custom_data_is_taken_up_to_its_limit_and_refused_past_it)
{
    /* {"d":"xxx"} : 8 bytes around the text */
    for (size_t extra = 0; extra < 2; extra++) {
        auto_buf struct buf json = {0};
        buf_append_string(&json, "{\"custom_data\":{\"d\":\"");
        for (size_t i = 0; i < LIMIT_CUSTOM_DATA_BYTES - 8 + extra; i++) {
            buf_append(&json, "x", 1);
        }
        buf_append_string(&json, "\"}}");
        struct worker_result result = {0};
        assert_int_equal(worker_result_parse(json.data, json.len, &result, NULL),
                         extra == 0 ? 0 : RONDO_ERR_LIMIT);
        worker_result_fini(&result);
    }
}
