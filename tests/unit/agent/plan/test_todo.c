// SPDX-License-Identifier: Apache-2.0
/* The list of `todo`: ids, priorities, what waits for what, and what is refused. */
#include "agent/plan/todo.h"
#include "base/json/json.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static enum todo_outcome call(struct plan *plan, const char *name, const char *arguments,
                              struct buf *text)
{
    struct json_object *object = NULL;
    assert_int_equal(json_parse(arguments, strlen(arguments), &object, NULL), 0);
    buf_clear(text);
    enum todo_outcome outcome = todo_call(plan, name, object, 5, text);
    json_object_put(object);
    return outcome;
}

static void add(struct plan *plan, const char *arguments)
{
    struct buf text = {0};
    if (call(plan, "add_todo", arguments, &text) != TODO_CHANGED) {
        fail_msg("%s", buf_string(&text));
    }
    buf_fini(&text);
}

static void expect_refused(struct plan *plan, const char *name, const char *arguments,
                           const char *why)
{
    struct buf text = {0};
    assert_int_equal(call(plan, name, arguments, &text), TODO_REFUSED);
    if (strstr(buf_string(&text), why) == NULL) {
        fail_msg("%s", buf_string(&text));
    }
    buf_fini(&text);
}

TEST(items_have_an_id_and_come_back_as_a_list)
{
    struct plan plan = {0};
    struct buf text = {0};
    struct buf expected = {0};
    assert_int_equal(call(&plan, "list_todos", "{}", &text), TODO_READ);
    assert_string_equal(buf_string(&text), "(No todo items)");
    add(&plan, "{\"description\":\"a\",\"priority\":\"high\"}");
    assert_int_equal(strlen(plan.steps[0].id), 8);
    char arguments[80];
    snprintf(arguments, sizeof(arguments), "{\"description\":\"b\",\"depends_on\":[\"%s\"]}",
             plan.steps[0].id);
    assert_int_equal(call(&plan, "add_todo", arguments, &text), TODO_CHANGED);
    buf_printf(&expected,
               "Todo List:\n  [ ] %s [high] a (pending)\n  [ ] %s [medium] b (pending) (deps: %s)",
               plan.steps[0].id, plan.steps[1].id, plan.steps[0].id);
    assert_string_equal(buf_string(&text), buf_string(&expected));
    buf_fini(&expected);
    buf_fini(&text);
    plan_fini(&plan);
}

static void update(struct plan *plan, size_t item, const char *status)
{
    char arguments[120];
    struct buf text = {0};
    snprintf(arguments, sizeof(arguments), "{\"item_id\":\"%s\",\"status\":\"%s\",\"notes\":\"n\"}",
             plan->steps[item].id, status);
    assert_int_equal(call(plan, "update_todo", arguments, &text), TODO_CHANGED);
    buf_fini(&text);
}

TEST(the_next_item_is_the_most_important_one_that_waits_for_nothing)
{
    struct plan plan = {0};
    struct buf text = {0};
    assert_int_equal(call(&plan, "batch_add_todos",
                          "{\"items\":[{\"description\":\"first\",\"priority\":\"low\"},"
                          "{\"description\":\"second\",\"priority\":\"critical\","
                          "\"depends_on\":[0]}]}",
                          &text),
                     TODO_CHANGED);
    call(&plan, "get_next_todo", "{}", &text);
    assert_non_null(strstr(buf_string(&text), "] first (pending)"));
    update(&plan, 0, "in_progress");
    call(&plan, "get_next_todo", "{}", &text);
    assert_string_equal(buf_string(&text), "No item is ready to be worked on.");
    update(&plan, 0, "completed");
    call(&plan, "get_next_todo", "{}", &text);
    assert_non_null(strstr(buf_string(&text), "] second (pending)"));
    assert_false(todo_is_over(&plan));
    update(&plan, 1, "skipped");
    assert_true(todo_is_over(&plan));
    call(&plan, "get_next_todo", "{}", &text);
    assert_string_equal(buf_string(&text), "All items are done.");
    call(&plan, "list_todos", "{\"status_filter\":\"skipped\"}", &text);
    assert_null(strstr(buf_string(&text), "first"));
    assert_non_null(strstr(buf_string(&text), "\n       n"));
    buf_fini(&text);
    plan_fini(&plan);
}

TEST(an_item_that_is_removed_is_waited_for_no_longer)
{
    struct plan plan = {0};
    struct buf text = {0};
    char arguments[60];
    add(&plan, "{\"description\":\"a\"}");
    snprintf(arguments, sizeof(arguments), "{\"description\":\"b\",\"depends_on\":[\"%s\"]}",
             plan.steps[0].id);
    add(&plan, arguments);
    snprintf(arguments, sizeof(arguments), "{\"item_id\":\"%s\"}", plan.steps[0].id);
    assert_int_equal(call(&plan, "remove_todo", arguments, &text), TODO_CHANGED);
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.steps[0].depends_count, 0);
    buf_fini(&text);
    plan_fini(&plan);
}

TEST(what_makes_no_sense_is_refused)
{
    struct plan plan = {0};
    add(&plan, "{\"description\":\"a\"}");
    expect_refused(&plan, "update_todo", "{\"item_id\":\"zzz\"}", "no item 'zzz'");
    expect_refused(&plan, "remove_todo", "{\"item_id\":\"zzz\"}", "no item 'zzz'");
    expect_refused(&plan, "add_todo", "{\"description\":\"\"}", "description");
    plan_fini(&plan);
    expect_refused(&plan, "add_todo", "{\"description\":\"b\",\"depends_on\":[\"zzz\"]}",
                   "no other item 'zzz'");
    plan_fini(&plan);
    expect_refused(&plan, "batch_add_todos",
                   "{\"items\":[{\"description\":\"a\",\"depends_on\":[1]},"
                   "{\"description\":\"b\",\"depends_on\":[0]}]}",
                   "in a circle");
    plan_fini(&plan);
    expect_refused(&plan, "batch_add_todos",
                   "{\"items\":[{\"description\":\"a\",\"depends_on\":[0]}]}", "no other item");
    plan_fini(&plan);
}

TEST(the_list_is_bounded)
{
    struct plan plan = {0};
    struct buf text = {0};
    for (size_t i = 0; i < 5; i++) {
        add(&plan, "{\"description\":\"a\"}");
    }
    expect_refused(&plan, "add_todo", "{\"description\":\"a\"}", "5 items at most");
    assert_int_equal(plan.count, 5);
    buf_fini(&text);
    plan_fini(&plan);
}

TEST(a_list_survives_the_journal)
{
    struct plan plan = {0};
    struct plan again = {0};
    struct buf json = {0};
    struct buf text = {0};
    struct buf other = {0};
    struct json_object *steps = NULL;
    call(&plan, "batch_add_todos",
         "{\"items\":[{\"description\":\"a\",\"priority\":\"low\"},{\"description\":\"b\","
         "\"depends_on\":[0]}]}",
         &text);
    plan.steps[0].is_final = true;
    plan_write_json(&plan, &json);
    assert_int_equal(json_parse(json.data, json.len, &steps, NULL), 0);
    assert_true(plan_load(&again, steps));
    assert_true(again.steps[0].is_final);
    plan_write_state(&again, &other);
    assert_string_equal(buf_string(&other), buf_string(&text));
    json_object_put(steps);
    buf_fini(&json);
    buf_fini(&text);
    buf_fini(&other);
    plan_fini(&plan);
    plan_fini(&again);
}
