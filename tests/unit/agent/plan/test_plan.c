// SPDX-License-Identifier: Apache-2.0
/* Plans: what models write, and the texts that follow. */
#include "agent/plan/plan.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static bool replace(struct plan *plan, const char *json, int64_t max)
{
    struct json_object *steps = NULL;
    assert_int_equal(json_parse(json, strlen(json), &steps, NULL), 0);
    bool is_replaced = plan_replace(plan, steps, max);
    json_object_put(steps);
    return is_replaced;
}

static void expect(const struct plan *plan, void (*write)(const struct plan *, struct buf *),
                   const char *expected)
{
    struct buf text = {0};
    write(plan, &text);
    assert_string_equal(buf_string(&text), expected);
    buf_fini(&text);
}

TEST(an_empty_plan_says_so)
{
    struct plan plan = {0};
    expect(&plan, plan_write_state, "(No plan created yet)");
    assert_true(replace(&plan, "[]", 20));
    expect(&plan, plan_write_answer, "Plan cleared.");
    plan_fini(&plan);
}

TEST(each_status_has_its_mark)
{
    struct plan plan = {0};
    assert_true(replace(&plan,
                        "[{\"description\":\"one\",\"status\":\"completed\"},"
                        "{\"description\":\"two\",\"status\":\"in_progress\",\"notes\":\"half\"},"
                        "{\"description\":\"three\"},"
                        "{\"description\":\"four\",\"status\":\"failed\"},"
                        "{\"description\":\"five\",\"status\":\"skipped\"}]",
                        20));
    expect(&plan, plan_write_state,
           "Current Plan:\n"
           "  1. [x] one (completed)\n"
           "  2. [ ] two (in_progress)\n"
           "       half\n"
           "  3. [ ] three (pending)\n"
           "  4. [!] four (failed)\n"
           "  5. [-] five (skipped)");
    expect(&plan, plan_write_answer,
           "Plan updated: 1 completed, 1 failed, 1 in_progress, 1 pending, 1 skipped");
    plan_fini(&plan);
}

TEST(an_unknown_status_is_pending_and_a_step_without_words_is_left_out)
{
    struct plan plan = {0};
    assert_true(replace(&plan,
                        "[{\"description\":\"one\",\"status\":\"done\"},{\"notes\":\"x\"},"
                        "{\"description\":\"\"},{\"description\":\"two\",\"status\":7}]",
                        20));
    assert_int_equal(plan.count, 2);
    expect(&plan, plan_write_answer, "Plan updated: 2 pending");
    plan_fini(&plan);
}

TEST(steps_beyond_the_limit_are_dropped)
{
    struct plan plan = {0};
    const char *three = "[{\"description\":\"a\"},{\"description\":\"b\"},{\"description\":\"c\"}]";
    assert_true(replace(&plan, three, 3));
    assert_int_equal(plan.count, 3);
    assert_true(replace(&plan, three, 2));
    assert_int_equal(plan.count, 2);
    assert_string_equal(plan.steps[1].description, "b");
    assert_true(replace(&plan, three, 0));
    assert_int_equal(plan.count, 0);
    assert_true(replace(&plan, three, -1));
    assert_int_equal(plan.count, 0);
    plan_fini(&plan);
}

TEST(what_is_no_list_of_objects_changes_nothing)
{
    struct plan plan = {0};
    assert_true(replace(&plan, "[{\"description\":\"a\"}]", 20));
    assert_false(replace(&plan, "{\"description\":\"b\"}", 20));
    assert_false(replace(&plan, "[\"b\"]", 20));
    assert_false(plan_replace(&plan, NULL, 20));
    assert_int_equal(plan.count, 1);
    plan_fini(&plan);
}

TEST(a_plan_survives_its_json)
{
    struct plan plan = {0};
    struct plan again = {0};
    struct buf first = {0};
    struct buf second = {0};
    assert_true(replace(&plan,
                        "[{\"description\":\"say \\\"a\\\"\",\"status\":\"failed\",\"notes\":\"b\\n"
                        "c\"},{\"description\":\"d\"}]",
                        20));
    plan_write_json(&plan, &first);
    assert_true(replace(&again, buf_string(&first), 20));
    plan_write_json(&again, &second);
    assert_string_equal(buf_string(&first), buf_string(&second));
    assert_string_equal(again.steps[0].notes, "b\nc");
    plan_fini(&plan);
    plan_fini(&again);
    buf_fini(&first);
    buf_fini(&second);
}

TEST(texts_are_cut_at_their_limit)
{
    struct plan plan = {0};
    char *word = memory_new_zero(PLAN_TEXT_MAX_BYTES + 2, 1);
    memset(word, 'x', PLAN_TEXT_MAX_BYTES + 1);
    struct buf json = {0};
    buf_printf(&json, "[{\"description\":\"%s\"}]", word);
    assert_true(replace(&plan, buf_string(&json), 20));
    assert_int_equal(strlen(plan.steps[0].description), PLAN_TEXT_MAX_BYTES);
    plan_fini(&plan);
    buf_fini(&json);
    free(word);
}
