// SPDX-License-Identifier: Apache-2.0
/* The table of types, and the ids of sources. */
#include "source/source.h"

#include "base/json/json.h"
#include "support/test.h"

#include <string.h>

static void id_of(const char *config, char ret_id[SOURCE_ID_SIZE])
{
    auto_json struct json_object *object = NULL;
    assert_int_equal(json_parse(config, strlen(config), &object, NULL), 0);
    source_id(source_type_find("discord"), "fixer", object, ret_id);
}

TEST(an_id_names_role_and_type)
{
    char id[SOURCE_ID_SIZE];
    id_of("{\"channel_ids\":[\"1\"]}", id);
    assert_memory_equal(id, "fixer/discord-", 14);
    assert_int_equal(strlen(id), 14 + 12);
}

TEST(settings_that_do_not_identify_a_source_keep_its_id)
{
    char first[SOURCE_ID_SIZE];
    char second[SOURCE_ID_SIZE];
    id_of("{\"channel_ids\":[\"1\"],\"prompt_template\":\"a\"}", first);
    id_of("{\"prompt_template\":\"b\",\"channel_ids\":[\"1\"]}", second);
    assert_string_equal(first, second);
}

TEST(other_settings_make_another_source)
{
    char first[SOURCE_ID_SIZE];
    char second[SOURCE_ID_SIZE];
    id_of("{\"channel_ids\":[\"1\"]}", first);
    id_of("{\"channel_ids\":[\"2\"]}", second);
    assert_string_not_equal(first, second);
}

static void assert_summary(const char *type, const char *config, const char *expected)
{
    auto_json struct json_object *object = NULL;
    auto_buf struct buf summary = {0};
    assert_int_equal(json_parse(config, strlen(config), &object, NULL), 0);
    source_summary(source_type_find(type), object, &summary);
    assert_string_equal(buf_string(&summary), expected);
}

TEST(a_summary_is_the_setting_as_people_write_it)
{
    assert_summary("cron", "{\"schedule\":\"@daily\"}", "@daily");
    assert_summary("file_watch", "{\"paths\":[\"../in\",\"b/c\"]}", "../in, b/c");
    assert_summary("file_watch", "{\"paths\":[]}", "");
    assert_summary("scheduled", "{}", "follow-ups");
}

TEST(a_type_that_is_not_there_is_not_found)
{
    assert_null(source_type_find("carrier_pigeon"));
}

TEST(a_type_that_cannot_work_says_what_is_missing)
{
    struct rondo_error err = {0};
    struct source *source = NULL;
    assert_int_equal(source_type_find("slack")->open(NULL, NULL, NULL, &source, &err),
                     RONDO_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "WebSocket"));
}
