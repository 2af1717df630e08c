// SPDX-License-Identifier: Apache-2.0
#include "journal/describe.h"
#include "journal/event.h"

#include "base/json/json.h"
#include "support/test.h"

#include <json-c/json.h>
#include <string.h>

TEST(an_event_without_texts_comes_back)
{
    for (int type = 0; type < JOURNAL_TYPE_COUNT; type++) {
        struct journal_event event = {.type = (enum journal_type)type};
        auto_buf struct buf first = {0};
        auto_buf struct buf second = {0};
        journal_encode(&event, &first);
        struct journal_event decoded;
        auto_json struct json_object *root = NULL;
        const char *name = journal_type_name((enum journal_type)type);
        assert_int_equal(journal_decode(name, first.data, first.len, &decoded, &root, NULL), 0);
        assert_int_equal(decoded.type, type);
        journal_encode(&decoded, &second);
        assert_string_equal(buf_string(&second), buf_string(&first));
    }
}

TEST(an_output_may_hold_any_bytes)
{
    struct journal_event event = {
        .type = JOURNAL_TOOL_FINISHED,
        .tool_finished = {.tool = "cat", .output = "a\0b", .output_len = 3},
    };
    auto_buf struct buf data = {0};
    journal_encode(&event, &data);
    struct journal_event decoded;
    auto_json struct json_object *root = NULL;
    assert_int_equal(journal_decode("tool.finished", data.data, data.len, &decoded, &root, NULL),
                     0);
    size_t len = 0;
    assert_memory_equal(journal_event_output(&decoded, &len), "a\0b", 3);
    assert_int_equal(len, 3);
    event.tool_finished.output = "until its NUL";
    event.tool_finished.output_len = 0;
    assert_string_equal(journal_event_output(&event, &len), "until its NUL");
    assert_int_equal(len, 13);
}

TEST(what_only_some_types_have_is_found_by_the_table)
{
    size_t len = 1;
    struct journal_event note = {.type = JOURNAL_NOTE, .note = {.name = "n"}};
    struct journal_event saved = {
        .type = JOURNAL_CHECKPOINT_SAVED,
        .checkpoint_saved = {.number = 1, .iteration = 7},
    };
    struct journal_event options = {.type = JOURNAL_RUN_OPTIONS, .run_options = {.spec = "{}"}};
    assert_int_equal(journal_event_iteration(&note), 0);
    assert_int_equal(journal_event_iteration(&saved), 7);
    assert_null(journal_event_output(&note, &len));
    assert_int_equal(len, 0);
    assert_null(journal_event_spec(&saved));
    assert_string_equal(journal_event_spec(&options), "{}");
}

TEST(names_of_types_are_unique_and_found)
{
    for (int type = 0; type < JOURNAL_TYPE_COUNT; type++) {
        enum journal_type found = JOURNAL_TYPE_COUNT;
        assert_true(journal_type_from_name(journal_type_name((enum journal_type)type), &found));
        assert_int_equal(found, type);
    }
    enum journal_type found;
    assert_false(journal_type_from_name("no.such", &found));
    assert_string_equal(journal_type_name((enum journal_type)99), "unknown");
}

static int decode(const char *type, const char *data)
{
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    struct rondo_error err;
    return journal_decode(type, data, strlen(data), &event, &root, &err);
}

TEST(fields_of_a_newer_version_are_ignored)
{
    assert_int_equal(decode("note", "{\"name\":\"a\",\"colour\":{\"r\":1}}"), 0);
}

TEST(what_is_not_an_event_is_refused)
{
    assert_int_equal(decode("no.such", "{}"), RONDO_ERR_NOT_FOUND);
    assert_int_equal(decode("note", ""), RONDO_ERR_INVALID);
    assert_int_equal(decode("note", "[]"), RONDO_ERR_INVALID);
    assert_int_equal(decode("note", "null"), RONDO_ERR_INVALID);
    assert_int_equal(decode("note", "{\"name\":5}"), RONDO_ERR_INVALID);
    assert_int_equal(decode("iteration.started", "{\"iteration\":\"1\"}"), RONDO_ERR_INVALID);
    assert_int_equal(decode("iteration.started", "{\"iteration\":1.5}"), RONDO_ERR_INVALID);
}

TEST(numbers_have_a_range)
{
    static const struct {
        int result;
        const char *type;
        const char *data;
    } cases[] = {
        {0, "iteration.started", "{\"iteration\":9007199254740992}"},
        {0, "iteration.started", "{\"iteration\":-9007199254740992}"},
        {RONDO_ERR_INVALID, "iteration.started", "{\"iteration\":9007199254740993}"},
        {RONDO_ERR_INVALID, "iteration.started", "{\"iteration\":-9007199254740993}"},
        {0, "iteration.finished", "{\"tokens\":9223372036854775807}"},
        {0, "iteration.finished", "{\"tokens\":-9223372036854775807}"},
        {RONDO_ERR_INVALID, "iteration.finished", "{\"tokens\":-9223372036854775808}"},
        {0, "run.claimed", "{\"alive_ns\":4611686018427387904}"},
        {RONDO_ERR_INVALID, "run.claimed", "{\"alive_ns\":4611686018427387905}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(decode(cases[i].type, cases[i].data), cases[i].result);
    }
}

TEST(the_reference_page_names_every_type)
{
    auto_buf struct buf page = {0};
    event_write_reference(&page);
    for (int type = 0; type < JOURNAL_TYPE_COUNT; type++) {
        assert_non_null(strstr(buf_string(&page), journal_type_name((enum journal_type)type)));
    }
}
