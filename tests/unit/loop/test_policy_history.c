// SPDX-License-Identifier: Apache-2.0
/* The history of policies while loops read files that people change by `rondo policy set`. */
#include "loop/policy_history.h"
#include "support/test.h"

#include "../../support/store/memory_store.h"
#include "base/auto.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "policy/change.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READERS 3
#define CHANGES 60

struct history_world {
    char folder[64];
    char path[96];
    struct store *store;
    atomic_bool is_over;
};

static int make_world(void **state)
{
    struct history_world *world = memory_new_zero(1, sizeof(*world));
    snprintf(world->folder, sizeof(world->folder), "/tmp/rondo-history-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->path, sizeof(world->path), "%s/rondo.cedar", world->folder);
    world->store = store_memory_new(NULL);
    *state = world;
    return 0;
}

static int remove_world(void **state)
{
    struct history_world *world = *state;
    store_close(world->store);
    file_remove_tree(world->folder, NULL);
    free(world);
    return 0;
}

static void write_policy(unsigned number, char *text, size_t size)
{
    snprintf(text, size, "permit (principal, action, resource) when { %u == %u };\n", number,
             number);
}

static void set_policy(struct history_world *world, unsigned number)
{
    char text[128];
    write_policy(number, text, sizeof(text));
    struct policy_change change = {
        .path = world->path, .text = text, .len = strlen(text), .by = "tester"};
    struct policy_findings findings = {0};
    struct ruleset *next = NULL;
    assert_int_equal(policy_change_check(&change, &findings, &next, NULL), 0);
    struct policy_changed changed;
    assert_int_equal(policy_change_apply(world->store, &change, next, &changed, NULL), 0);
    assert_true(changed.is_changed);
    policy_changed_fini(&changed);
    policy_findings_fini(&findings);
    ruleset_unref(next);
}

/** Processes come and go: each reads the file for the first time. */
static void *read_often(void *context)
{
    struct history_world *world = context;
    while (!atomic_load(&world->is_over)) {
        struct watch *watch = watch_new(&(struct watch_options){
            .path = world->path, .loaded = policy_history_enter, .context = world->store});
        struct watch_view view = {0};
        struct watch_message message;
        struct rondo_error err;
        for (int i = 0; i < 20; i++) {
            watch_look(watch, &view, &message, &err);
        }
        watch_view_fini(&view);
        watch_free(watch);
    }
    return NULL;
}

struct history_counts {
    unsigned set;
    unsigned others;
};

static bool count_entry(const struct store_policy_change *change, void *context)
{
    struct history_counts *counts = context;
    bool is_set = strcmp(change->how, "set") == 0;
    counts->set += is_set;
    counts->others += !is_set;
    return true;
}

static struct history_counts count_history(struct history_world *world)
{
    struct history_counts counts = {0};
    world->store->ops->read_policies(world->store, NULL, 0, count_entry, &counts, NULL);
    return counts;
}

#define HISTORY_TEST(name) TEST_WITH(name, make_world, remove_world)

HISTORY_TEST(each_change_is_entered_once_while_others_read)
{
    struct history_world *world = *state;
    pthread_t readers[READERS];
    set_policy(world, 0);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_often, world), 0);
    }
    for (unsigned i = 1; i < CHANGES; i++) {
        set_policy(world, i);
        usleep(1000);
    }
    atomic_store(&world->is_over, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    struct history_counts counts = count_history(world);
    assert_int_equal(counts.set, CHANGES);
    assert_int_equal(counts.others, 0);
}

HISTORY_TEST(an_edit_is_entered_once_and_is_recorded_on_top)
{
    struct history_world *world = *state;
    char text[128];
    set_policy(world, 1);
    write_policy(2, text, sizeof(text));
    assert_int_equal(file_replace_durably(world->path, text, strlen(text), NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct watch *watch = watch_new(&(struct watch_options){
            .path = world->path, .loaded = policy_history_enter, .context = world->store});
        struct watch_view view = {0};
        struct watch_message message;
        assert_int_equal(watch_look(watch, &view, &message, NULL), WATCH_CHANGED);
        watch_view_fini(&view);
        watch_free(watch);
    }
    struct history_counts counts = count_history(world);
    assert_int_equal(counts.set, 1);
    assert_int_equal(counts.others, 1);
}

int main(void)
{
    return test_run(NULL, NULL);
}
