// SPDX-License-Identifier: Apache-2.0
/* Answers in JSON: what fits a schema. */
#include "agent/output.h"
#include "base/json/json.h"
#include "support/test.h"

#include <json-c/json.h>
#include <string.h>

static bool fits(const char *answer)
{
    static const char text[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]}";
    struct json_object *schema = NULL;
    struct buf why = {0};
    assert_int_equal(json_parse(text, strlen(text), &schema, NULL), 0);
    bool is_right = output_check(schema, answer, &why);
    assert_true(is_right || why.len > 0);
    buf_fini(&why);
    json_object_put(schema);
    return is_right;
}

TEST(an_answer_is_one_json_object_that_fits)
{
    assert_true(fits("{\"a\": 1}"));
    assert_true(fits(" {\"a\": 1, \"b\": \"x\"}\n"));
    assert_false(fits("{\"a\": \"1\"}"));
    assert_false(fits("{}"));
    assert_false(fits("[1]"));
    assert_false(fits("```json\n{\"a\": 1}\n```"));
    assert_false(fits(""));
}
