// SPDX-License-Identifier: Apache-2.0
/* Which work item a person means, and its form for programs. */
#include "base/memory.h"
#include "cli/commands/work/items.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static struct store *store;

static void save(const char *repository, int64_t number)
{
    struct item item = {.repository = memory_dup_string(repository),
                        .number = number,
                        .title = memory_dup_string("Fix it"),
                        .state = ITEM_BLOCKED,
                        .reason = ITEM_ATTEMPTS_SPENT,
                        .cost_micro = 1250000,
                        .mirrored = ITEM_STATE_COUNT};
    item.key = item_key(repository, number);
    item_note(&item, 1, "claimed");
    assert_int_equal(item_save(store, &item, NULL), 0);
    item_fini(&item);
}

static int store_up(void **state)
{
    (void)state;
    store = store_memory_new(NULL);
    save("github.com/acme/shop", 12);
    save("github.com/acme/shop", 112);
    save("github.com/acme/tools", 7);
    save("github.com/acme/workshop", 7);
    return 0;
}

static int store_down(void **state)
{
    (void)state;
    store_close(store);
    return 0;
}

#define ITEMS_TEST(name) TEST_WITH(name, store_up, store_down)

/** @return the key of the item that the word means; "" = none. Static */
static const char *meant(const char *word, struct rondo_error *err)
{
    static char key[256];
    struct item item = {0};
    key[0] = '\0';
    int r = work_item_find(store, word, &item, err);
    if (r == 0) {
        snprintf(key, sizeof(key), "%s", item.key);
    }
    item_fini(&item);
    return key;
}

ITEMS_TEST(an_item_is_found_by_its_number_or_the_end_of_its_key)
{
    static const char *const words[] = {"12", "#12", "shop#12", "acme/shop#12",
                                        "github.com/acme/shop#12"};
    for (size_t i = 0; i < COUNT(words); i++) {
        assert_string_equal(meant(words[i], NULL), "github.com/acme/shop#12");
    }
}

ITEMS_TEST(a_part_of_a_number_or_name_means_nothing)
{
    static const char *const words[] = {"2", "1", "op#12", "shop", "", "#", "github.com", "shop#"};
    for (size_t i = 0; i < COUNT(words); i++) {
        struct rondo_error err = {0};
        assert_string_equal(meant(words[i], &err), "");
        assert_int_equal(err.code, RONDO_ERR_NOT_FOUND);
    }
}

ITEMS_TEST(several_that_match_are_named)
{
    struct rondo_error err = {0};
    assert_string_equal(meant("7", &err), "");
    assert_int_equal(err.code, RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "github.com/acme/tools#7, github.com/acme/workshop#7"));
    assert_string_equal(meant("workshop#7", NULL), "github.com/acme/workshop#7");
}

ITEMS_TEST(programs_get_state_reason_cost_and_history)
{
    struct item item = {0};
    auto_buf struct buf json = {0};
    auto_json struct json_object *root = NULL;
    assert_int_equal(work_item_find(store, "12", &item, NULL), 0);
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    work_item_json(&item, true, &writer);
    json_end_object(&writer);
    item_fini(&item);
    assert_int_equal(json_parse(json.data, json.len, &root, NULL), 0);
    assert_string_equal(json_get_string(root, "state", ""), "blocked");
    assert_string_equal(json_get_string(root, "reason", ""), "attempts_spent");
    assert_int_equal(json_get_int(root, "issue", 0), 12);
    assert_true(json_object_get_double(json_member(root, "cost")) == 1.25);
    assert_int_equal(json_length(json_member(root, "history")), 1);
    assert_null(json_member(root, "pull"));
}
