// SPDX-License-Identifier: Apache-2.0
/* What keeps queues from working: written by one process, read by others. */
#include "issues/trouble.h"

#include "base/random.h"
#include "loop/owner.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define SHOP "github.com/acme/shop"

struct found_trouble {
    size_t count;
    char message[WORK_TROUBLE_SIZE];
    int64_t since_ns;
};

static bool take(const struct work_trouble *trouble, void *context)
{
    struct found_trouble *found = context;
    found->count++;
    found->since_ns = trouble->since_ns;
    snprintf(found->message, sizeof(found->message), "%s", trouble->message);
    return true;
}

static struct found_trouble read_all(struct store *store)
{
    struct found_trouble found = {0};
    assert_int_equal(work_troubles_read(store, take, &found, NULL), 0);
    return found;
}

static void put(struct store *store, const char *repository, const char *message, const char *owner)
{
    struct work_trouble trouble = {.repository = repository, .message = message, .since_ns = 7};
    snprintf(trouble.owner, sizeof(trouble.owner), "%s", owner);
    assert_int_equal(work_trouble_put(store, &trouble, NULL), 0);
}

TEST(a_repository_has_one_trouble_until_it_is_over)
{
    struct store *store = store_memory_new(NULL);
    put(store, SHOP, "first", "");
    put(store, SHOP, "second", "");
    struct found_trouble found = read_all(store);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.message, "second");
    assert_int_equal(found.since_ns, 7);
    put(store, "github.com/acme/other", "third", "");
    assert_int_equal(read_all(store).count, 2);
    assert_int_equal(work_trouble_clear(store, SHOP, NULL), 0);
    assert_int_equal(work_trouble_clear(store, SHOP, NULL), 0);
    assert_string_equal(read_all(store).message, "third");
    store->ops->close(store);
}

TEST(what_a_dead_process_has_written_or_nobody_can_read_is_passed_over)
{
    struct store *store = store_memory_new(NULL);
    struct random random = random_seeded(1);
    char owner[STORE_OWNER_SIZE];
    bool is_applied;
    owner_new(&random, owner);
    put(store, SHOP, "alive", owner);
    const char *junk[] = {"[]", "{\"repository\":1}", "{\"repository\":\"x\"}"};
    for (size_t i = 0; i < COUNT(junk); i++) {
        char key[16];
        snprintf(key, sizeof(key), "junk%zu", i);
        const struct store_change change = {.kind = STORE_PUT,
                                            .collection = WORK_TROUBLE_COLLECTION,
                                            .key = key,
                                            .data = junk[i],
                                            .data_len = strlen(junk[i]),
                                            .if_version = STORE_ANY_VERSION};
        assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    }
    assert_int_equal(read_all(store).count, 1);
    owner[strlen(owner) - 1] ^= 1; /* No process has this name: whether that is known or not. */
    put(store, SHOP, "gone", owner);
    assert_int_equal(read_all(store).count, owner_is_dead(owner) ? 0 : 1);
    store->ops->close(store);
}

TEST(a_message_is_one_line_and_cut_at_its_size)
{
    struct store *store = store_memory_new(NULL);
    char message[2 * WORK_TROUBLE_SIZE];
    put(store, SHOP, "two\nlines \033[31m", "");
    assert_null(strpbrk(read_all(store).message, "\n\033"));
    memset(message, 'x', sizeof(message));
    message[WORK_TROUBLE_SIZE - 1] = '\0';
    put(store, SHOP, message, "");
    assert_string_equal(read_all(store).message, message);
    message[WORK_TROUBLE_SIZE - 1] = 'x';
    message[WORK_TROUBLE_SIZE] = '\0';
    put(store, SHOP, message, "");
    assert_int_equal(strlen(read_all(store).message), WORK_TROUBLE_SIZE - 1);
    assert_non_null(strstr(read_all(store).message, "x..."));
    store->ops->close(store);
}
