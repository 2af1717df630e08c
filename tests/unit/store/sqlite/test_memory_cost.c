// SPDX-License-Identifier: Apache-2.0
/* What a page of memories costs in the SQLite back end: the same however many there are. */
#include "../support.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite.h"

#include <stdio.h>
#include <string.h>

#define OWNER "keeper"
#define PAGE  20

/** Add memories of all kinds in turn. */
static void add_memories(struct store *store, int64_t first, unsigned count)
{
    uint64_t changed = 0;
    int64_t id = 0;
    assert_int_equal(store->ops->reserve_memories(store, OWNER, count, &id, NULL), 0);
    for (unsigned i = 0; i < count; i++) {
        struct store_memory_change change = {
            .kind = STORE_MEMORY_ADD,
            .memory = {.id = id + i,
                       .owner = OWNER,
                       .kind = i % STORE_MEMORY_KIND_COUNT,
                       .created_ns = first + i,
                       .category = "general",
                       .run_id = "",
                       .source = "test",
                       .metadata = "{}",
                       .content = "words",
                       .grams = ""},
        };
        assert_int_equal(store->ops->change_memories(store, &change, 1, &changed, NULL), 0);
    }
}

struct listed_page {
    int64_t created_ns[PAGE];
    size_t count;
};

static bool take(const struct store_memory *memory, void *context)
{
    struct listed_page *page = context;
    assert_true(page->count < PAGE);
    page->created_ns[page->count++] = memory->created_ns;
    return true;
}

/** What SQLite did for the readers' statements so far. */
static int64_t count_steps(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int64_t steps = 0;
    for (size_t k = 0; k < sizeof(store->readers) / sizeof(store->readers[0]); k++) {
        for (size_t i = 0; i < SQL_COUNT; i++) {
            sqlite3_stmt *statement = store->readers[k].statements[i];
            steps += statement == NULL
                         ? 0
                         : sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
        }
    }
    return steps;
}

/** Read the first page of an owner's memories. @return the steps that it took */
static int64_t steps_to_list(struct store *store, uint32_t kinds, bool is_oldest_first,
                             struct listed_page *ret_page)
{
    struct store_memory_query query = {
        .owner = OWNER, .kinds = kinds, .is_oldest_first = is_oldest_first, .limit = PAGE};
    int64_t before = count_steps(store);
    ret_page->count = 0;
    assert_int_equal(store->ops->read_memories(store, &query, take, ret_page, NULL), 0);
    return count_steps(store) - before;
}

#define COST_TEST(name) TEST_WITH(name, test_place_make, test_place_remove)

COST_TEST(a_page_of_several_kinds_costs_the_same_among_many)
{
    const uint32_t kinds[] = {0, 1U << STORE_EPISODIC | 1U << STORE_PROCEDURAL};
    struct store *store = test_place_open(*state);
    struct listed_page page;
    int64_t few[2][2];
    add_memories(store, 0, 90);
    for (size_t i = 0; i < 4; i++) {
        few[i / 2][i % 2] = steps_to_list(store, kinds[i / 2], i % 2 != 0, &page);
    }
    add_memories(store, 90, 1500);
    for (size_t i = 0; i < 4; i++) {
        assert_true(steps_to_list(store, kinds[i / 2], i % 2 != 0, &page) <=
                    few[i / 2][i % 2] + 10);
        assert_int_equal(page.count, PAGE);
    }
    store_close(store);
}

COST_TEST(a_page_of_several_kinds_is_in_the_order_of_time)
{
    struct store *store = test_place_open(*state);
    struct listed_page page;
    add_memories(store, 0, 90);
    steps_to_list(store, 0, false, &page);
    for (size_t i = 0; i < PAGE; i++) {
        assert_int_equal(page.created_ns[i], 89 - (int64_t)i);
    }
    steps_to_list(store, 0, true, &page);
    for (size_t i = 0; i < PAGE; i++) {
        assert_int_equal(page.created_ns[i], i);
    }
    store_close(store);
}

int main(void)
{
    return test_run(NULL, NULL);
}
