// SPDX-License-Identifier: Apache-2.0
/* Work items over the API: order, pages, filters, who sees them, and what can be requested. */
#include "api_world.h"

#include "base/text/plain.h"
#include "issues/item.h"
#include "issues/request.h"
#include "server/api/openapi.h"

/* Each with a store of its own. */
#define WORK_TEST(name) TEST_WITH(name, world_setup, world_teardown)

#define SHOP     "github.com/acme/shop"
#define SHOP_ID  "github.com!acme!shop!"
#define RUN_NAME "018f2f6a-7c1e-7b3a-9d42-5a1f0c9e7b21"

/** An item that changed at that second. */
static struct item make_item(const char *repository, int64_t number, enum item_state state,
                             int64_t second)
{
    return (struct item){
        .key = item_key(repository, number),
        .repository = memory_dup_string(repository),
        .number = number,
        .state = state,
        .mirrored = ITEM_STATE_COUNT,
        .updated_ns = second * NS_PER_S,
    };
}

static void save(struct api_world *world, struct item *item)
{
    assert_int_equal(item_save(world->store, item, NULL), 0);
    item_fini(item);
}

static void add(struct api_world *world, const char *repository, int64_t number,
                enum item_state state, int64_t second)
{
    struct item item = make_item(repository, number, state, second);
    save(world, &item);
}

/** Store a document of the collection, or delete it. @param json NULL = delete */
static void put(struct api_world *world, const char *key, const char *json)
{
    bool is_applied;
    const struct store_change change = {.kind = json == NULL ? STORE_DELETE : STORE_PUT,
                                        .collection = ITEM_COLLECTION,
                                        .key = key,
                                        .data = json,
                                        .data_len = json == NULL ? 0 : strlen(json),
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(
        world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL), 0);
}

/** A page of the list. @param ret_numbers "3 1 2": numbers of its issues @param ret_next of the
 *  next page, or "" */
static void read_list(struct api_world *world, const char *query, char *ret_numbers, size_t size,
                      char *ret_next)
{
    struct api_reply answer;
    auto_buf struct buf numbers = {0};
    char path[512];
    snprintf(path, sizeof(path), "/v1/work%s", query);
    ask(world, "GET", path, world->read, "", "", &answer);
    assert_int_equal(answer.status, 200);
    struct json_object *items = json_member(answer.json, "items");
    for (size_t i = 0; i < json_length(items); i++) {
        buf_printf(&numbers, "%s%lld", i == 0 ? "" : " ",
                   (long long)json_get_int(json_object_array_get_idx(items, i), "number", 0));
    }
    snprintf(ret_numbers, size, "%s", buf_string(&numbers));
    snprintf(ret_next, 256, "%s", json_get_string(answer.json, "next_cursor", ""));
    answer_fini(&answer);
}

static void expect_list(struct api_world *world, const char *query, const char *numbers)
{
    char found[256];
    char next[256];
    read_list(world, query, found, sizeof(found), next);
    assert_string_equal(found, numbers);
}

static void add_five(struct api_world *world)
{
    add(world, SHOP, 1, ITEM_DONE, 100);
    add(world, SHOP, 2, ITEM_BLOCKED, 300);
    add(world, SHOP, 3, ITEM_IN_PROGRESS, 200);
    add(world, SHOP, 10, ITEM_IN_REVIEW, 200);
    add(world, SHOP "-x", 7, ITEM_IN_REVIEW, 50);
}

WORK_TEST(the_item_that_changed_last_is_first)
{
    struct api_world *world = *state;
    add_five(world);
    expect_list(world, "", "2 10 3 1 7");
}

WORK_TEST(a_cursor_continues_after_the_last_one_of_a_page_and_ends)
{
    struct api_world *world = *state;
    char next[256];
    char numbers[256];
    char query[300];
    add_five(world);
    read_list(world, "?limit=2", numbers, sizeof(numbers), next);
    assert_string_equal(numbers, "2 10");
    snprintf(query, sizeof(query), "?limit=2&cursor=%s", next);
    read_list(world, query, numbers, sizeof(numbers), next);
    assert_string_equal(numbers, "3 1");
    snprintf(query, sizeof(query), "?limit=2&cursor=%s", next);
    read_list(world, query, numbers, sizeof(numbers), next);
    assert_string_equal(numbers, "7");
    assert_string_equal(next, "");
}

WORK_TEST(items_are_selected_by_repository_and_by_states)
{
    struct api_world *world = *state;
    add_five(world);
    expect_list(world, "?repository=" SHOP "-x", "7");
    expect_list(world, "?repository=" SHOP, "2 10 3 1");
    expect_list(world, "?state=blocked,done", "2 1");
    expect_list(world, "?state=in-review&repository=" SHOP, "10");
    expect_list(world, "?repository=github.com/acme", "");
}

WORK_TEST(counts_are_of_the_repository_whatever_the_state)
{
    struct api_world *world = *state;
    struct api_reply answer;
    add_five(world);
    ask(world, "GET", "/v1/work?state=done&repository=" SHOP, world->read, "", "", &answer);
    struct json_object *counts = json_member(answer.json, "counts");
    assert_int_equal(json_get_int(counts, "blocked", 0), 1);
    assert_int_equal(json_get_int(counts, "in-review", 0), 1);
    assert_int_equal(json_get_int(counts, "fenced", -1), 0);
    assert_int_equal(json_length(json_member(answer.json, "repositories")), 2);
    answer_fini(&answer);
}

WORK_TEST(at_most_200_repositories_are_named)
{
    struct api_world *world = *state;
    struct api_reply answer;
    for (int i = 0; i < 201; i++) {
        char repository[64];
        snprintf(repository, sizeof(repository), "git.example.org/acme/app%d", i);
        add(world, repository, 1, ITEM_DONE, i);
    }
    ask(world, "GET", "/v1/work?limit=1", world->read, "", "", &answer);
    assert_int_equal(json_length(json_member(answer.json, "repositories")), 200);
    assert_int_equal(json_get_int(json_member(answer.json, "counts"), "done", 0), 201);
    answer_fini(&answer);
}

WORK_TEST(what_makes_no_sense_in_a_query_is_refused)
{
    struct api_world *world = *state;
    static const char *const queries[] = {
        "?state=open",      "?limit=0",     "?limit=501",
        "?cursor=x",        "?cursor=-1.a", "?cursor=99999999999999999999999999.a",
        "?state=done,%20x", "?sort=key"};
    for (size_t i = 0; i < COUNT(queries); i++) {
        char path[128];
        snprintf(path, sizeof(path), "/v1/work%s", queries[i]);
        expect(world, "GET", path, world->read, "", "", 400);
    }
    expect_list(world, "?limit=500", "");
}

WORK_TEST(an_item_that_cannot_be_read_does_not_hide_others)
{
    struct api_world *world = *state;
    struct api_reply answer;
    add(world, SHOP, 5, ITEM_DONE, 1);
    put(world, SHOP "#4", "{}");
    expect_list(world, "", "5");
    ask(world, "GET", "/v1/work", world->read, "", "", &answer);
    assert_non_null(strstr(json_get_string(answer.json, "damage", ""), "#4"));
    answer_fini(&answer);
    expect_problem(world, "GET", "/v1/work/" SHOP_ID "4", world->read, "", "", "store_failed");
}

WORK_TEST(what_was_changed_added_or_deleted_is_seen_at_the_next_look)
{
    struct api_world *world = *state;
    struct item item = {0};
    add_five(world);
    put(world, SHOP "#4", "{}");
    expect_list(world, "", "2 10 3 1 7");
    assert_int_equal(item_load(world->store, SHOP "#3", &item, NULL), 1);
    item.state = ITEM_DONE;
    item.updated_ns = 900 * NS_PER_S;
    save(world, &item);
    put(world, SHOP "#1", NULL);
    put(world, SHOP "#4", NULL);
    add(world, SHOP, 11, ITEM_DONE, 250);
    add(world, "github.com/acme/zoo", 12, ITEM_DONE, 40);
    expect_list(world, "", "3 2 11 10 7 12");
    expect_list(world, "?state=done", "3 11 12");
    put(world, SHOP "-x#7", NULL);
    expect_list(world, "", "3 2 11 10 12");
}

WORK_TEST(one_item_has_its_history_and_says_what_is_not_known)
{
    struct api_world *world = *state;
    struct api_reply answer;
    struct item item = make_item(SHOP, 12, ITEM_RETRY_LATER, 100);
    item.title = memory_dup_string("<img src=x onerror=alert(1)>");
    item.reason = ITEM_MODEL_FAILED;
    item.next_ns = 60 * NS_PER_S;
    item.tokens = COST_UNKNOWN;
    item.cost_micro = COST_UNKNOWN;
    snprintf(item.run_id, sizeof(item.run_id), "%s", RUN_NAME);
    item_note(&item, NS_PER_S, "first %d", 1);
    item_note(&item, 2 * NS_PER_S, "second");
    save(world, &item);
    ask(world, "GET", "/v1/work/" SHOP_ID "12", world->read, "", "", &answer);
    assert_int_equal(answer.status, 200);
    static const char *const expected[] = {
        "\"id\":\"" SHOP_ID "12\"",
        "\"title\":\"<img src=x onerror=alert(1)>\"",
        "\"reason\":\"model_failed\"",
        "\"tokens\":null",
        "\"cost\":null",
        "\"pull\":null",
        "\"message\":null",
        "\"run_id\":\"" RUN_NAME "\"",
        "\"next\":\"1970-01-01T00:01:00.000Z\"",
        "\"request\":null",
        "\"state\":\"retry-later\",\"text\":\"first 1\"},{\"time\":\"1970-01-01T00:00:02.000Z\"",
    };
    for (size_t i = 0; i < COUNT(expected); i++) {
        if (strstr(answer.body, expected[i]) == NULL) {
            fail_msg("no %s in %s", expected[i], answer.body);
        }
    }
    answer_fini(&answer);
}

WORK_TEST(an_item_that_is_not_there_is_not_found)
{
    struct api_world *world = *state;
    add(world, SHOP, 12, ITEM_DONE, 1);
    static const char *const ids[] = {SHOP_ID "13", "12", "!", SHOP_ID,
                                      "github.com!acme!shop%2312"};
    for (size_t i = 0; i < COUNT(ids); i++) {
        char path[128];
        snprintf(path, sizeof(path), "/v1/work/%s", ids[i]);
        expect(world, "GET", path, world->read, "", "", 404);
    }
    expect(world, "GET", "/v1/work/github.com%21acme%21shop%2112", world->read, "", "", 200);
}

WORK_TEST(a_request_is_recorded_with_who_made_it_and_shown)
{
    struct api_world *world = *state;
    struct item_request request;
    struct api_reply answer;
    add(world, SHOP, 12, ITEM_BLOCKED, 1);
    expect(world, "POST", "/v1/work/" SHOP_ID "12/retry", world->administer, "", "{}", 202);
    assert_int_equal(item_request_read(world->store, SHOP "#12", &request, NULL), 1);
    assert_int_equal(request.kind, ITEM_REQUEST_RETRY);
    assert_string_equal(request.by, "token administer (api)");
    ask(world, "GET", "/v1/work/" SHOP_ID "12", world->read, "", "", &answer);
    assert_string_equal(json_get_string(json_member(answer.json, "request"), "kind", ""), "retry");
    answer_fini(&answer);
    expect(world, "POST", "/v1/work/" SHOP_ID "12/release", world->administer, "", "", 202);
    assert_int_equal(item_request_read(world->store, SHOP "#12", &request, NULL), 1);
    assert_int_equal(request.kind, ITEM_REQUEST_RELEASE);
}

WORK_TEST(a_request_that_can_change_nothing_is_refused)
{
    struct api_world *world = *state;
    struct item_request request;
    struct item released = make_item(SHOP, 4, ITEM_CANCELLED, 1);
    released.is_released = true;
    save(world, &released);
    add(world, SHOP, 2, ITEM_DONE, 1);
    add(world, SHOP, 3, ITEM_FENCED, 1);
    expect(world, "POST", "/v1/work/" SHOP_ID "2/retry", world->administer, "", "", 409);
    expect(world, "POST", "/v1/work/" SHOP_ID "2/release", world->administer, "", "", 409);
    expect(world, "POST", "/v1/work/" SHOP_ID "3/release", world->administer, "", "", 409);
    expect(world, "POST", "/v1/work/" SHOP_ID "4/release", world->administer, "", "", 409);
    assert_int_equal(item_request_read(world->store, SHOP "#2", &request, NULL), 0);
    assert_int_equal(item_request_read(world->store, SHOP "#4", &request, NULL), 0);
    expect(world, "POST", "/v1/work/" SHOP_ID "4/retry", world->administer, "", "", 202);
    expect(world, "POST", "/v1/work/" SHOP_ID "9/retry", world->administer, "", "", 404);
    expect(world, "POST", "/v1/work/" SHOP_ID "4/retry", world->administer, "", "{\"x\":1}", 422);
}

WORK_TEST(only_who_may_operate_all_agents_requests_and_only_who_reads_all_sees)
{
    struct api_world *world = *state;
    add(world, SHOP, 12, ITEM_BLOCKED, 1);
    expect(world, "POST", "/v1/work/" SHOP_ID "12/retry", world->read, "", "", 403);
    expect(world, "POST", "/v1/work/" SHOP_ID "12/retry", world->operate, "", "", 403);
    expect(world, "POST", "/v1/work/" SHOP_ID "12/release", world->decide, "", "", 403);
    expect(world, "GET", "/v1/work", world->operate, "", "", 403);
    expect(world, "GET", "/v1/work/" SHOP_ID "12", world->other, "", "", 403);
    expect(world, "GET", "/v1/work", world->agent, "", "", 403);
    expect(world, "GET", "/v1/work", "", "", "", 401);
}

/** The values of a member of work items in the description. */
static struct json_object *described(struct json_object *root, const char *property)
{
    struct json_object *schemas = json_member(json_member(root, "components"), "schemas");
    struct json_object *properties = json_member(json_member(schemas, "WorkItem"), "properties");
    return json_member(json_member(properties, property), "enum");
}

TEST(the_description_knows_every_state_and_reason)
{
    size_t len = 0;
    auto_json struct json_object *root = NULL;
    const char *text = openapi_text(&len);
    (void)state;
    assert_int_equal(json_parse(text, len, &root, NULL), 0);
    struct json_object *names = described(root, "state");
    assert_int_equal(json_length(names), ITEM_STATE_COUNT);
    for (size_t i = 0; i < ITEM_STATE_COUNT; i++) {
        assert_string_equal(json_object_get_string(json_object_array_get_idx(names, i)),
                            item_state_name((enum item_state)i));
    }
    /* null is in the place of "none" */
    names = described(root, "reason");
    assert_int_equal(json_length(names), ITEM_REASON_COUNT);
    for (size_t i = 0; i + 1 < ITEM_REASON_COUNT; i++) {
        assert_string_equal(json_object_get_string(json_object_array_get_idx(names, i)),
                            item_reason_name((enum item_reason)(i + 1)));
    }
}
