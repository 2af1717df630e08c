// SPDX-License-Identifier: Apache-2.0
/* Many threads look at policies that somebody changes all the time: each sees whole versions. */
#include "watch_world.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { READERS = 8, CHANGES = 300 };

static const char version_a[] = NAMED("a1") NAMED("a2");
static const char version_b[] = NAMED("b1") NAMED("b2") NAMED("b3");

struct watch_reader {
    pthread_t thread;
    struct watch *watch;
    atomic_bool *is_over;
    unsigned changes;
    unsigned wrong; /* rulesets that are neither version, and answers that are neither news */
};

static bool is_whole(const struct watch_view *view)
{
    size_t given = view->ruleset->given_count;
    return given == 2 ? has_policy(view, "a1") && has_policy(view, "a2")
                      : given == 3 && has_policy(view, "b1") && has_policy(view, "b2") &&
                            has_policy(view, "b3");
}

static void *read_on(void *argument)
{
    struct watch_reader *reader = argument;
    struct watch_view view = {0};
    bool is_last = false;
    while (!is_last) {
        struct watch_message message;
        is_last = atomic_load(reader->is_over); /* and one look after it */
        int r = watch_look(reader->watch, &view, &message, NULL);
        reader->changes += r == WATCH_CHANGED;
        reader->wrong += (r != WATCH_CHANGED && r != WATCH_SAME) || !is_whole(&view);
    }
    reader->wrong += !has_policy(&view, "b1");
    watch_view_fini(&view);
    return NULL;
}

/** From here on there are policies to keep while nothing stands still for long enough. */
static void look_first(struct watch_world *world)
{
    assert_int_equal(watch_look(world->watch, &world->view, &world->message, NULL), WATCH_CHANGED);
}

/** All of them, before anything may fail: they use what a failure takes away. */
static void join_all(struct watch_reader *readers)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        wrong += readers[i].wrong + (readers[i].changes == 0);
    }
    assert_int_equal(wrong, 0);
}

WORLD_TEST(many_threads_see_whole_versions_only)
{
    struct watch_world *world = *state;
    struct watch_reader readers[READERS];
    atomic_bool is_over = false;
    replace(world->path, version_a);
    watch_path(world, world->path, false);
    look_first(world);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (struct watch_reader){.watch = world->watch, .is_over = &is_over};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (int i = 0; i < CHANGES; i++) {
        replace(world->path, i % 2 == 0 ? version_b : version_a);
    }
    replace(world->path, version_b);
    rest(world->path); /* It may have got the inode that was read last. */
    atomic_store(&is_over, true);
    join_all(readers);
}

enum { FOLDERS = 120, FILES = 20 };

/** Whether all files of one folder are in force, whichever it is; `*ret_number` tells. */
static bool is_one_folder(const struct watch_view *view, unsigned *ret_number)
{
    const struct cedar_policies *policies = view->ruleset->policies;
    bool is_one = view->ruleset->given_count == FILES;
    for (size_t i = 0; i < FILES && is_one; i++) {
        unsigned number = 0;
        is_one = sscanf(cedar_policies_id(policies, i), "%*[a-z]%u", &number) == 1 &&
                 (i == 0 || number == *ret_number);
        *ret_number = number;
    }
    return is_one;
}

static void *read_folders(void *argument)
{
    struct watch_reader *reader = argument;
    struct watch_view view = {0};
    unsigned number = 0;
    bool is_last = false;
    while (!is_last) {
        struct watch_message message;
        is_last = atomic_load(reader->is_over);
        int r = watch_look(reader->watch, &view, &message, NULL);
        reader->changes += r == WATCH_CHANGED;
        reader->wrong += (r != WATCH_CHANGED && r != WATCH_SAME) || !is_one_folder(&view, &number);
    }
    reader->wrong += number != FOLDERS - 1;
    watch_view_fini(&view);
    return NULL;
}

static void make_folder(const struct watch_world *world, unsigned number)
{
    char name[64];
    char text[128];
    snprintf(name, sizeof(name), "%u", number);
    auto_free char *folder = in_folder(world, name);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int letter = 'a'; letter < 'a' + FILES; letter++) {
        snprintf(name, sizeof(name), "%u/%c.cedar", number, letter);
        snprintf(text, sizeof(text), "@id(\"%c%u\") " PERMIT, letter, number);
        auto_free char *path = in_folder(world, name);
        write_in_place(path, text);
    }
}

/** Let the link lead to a folder. */
static void flip(const struct watch_world *world, const char *link, unsigned number)
{
    char target[16];
    auto_free char *next = in_folder(world, "next");
    snprintf(target, sizeof(target), "%u", number);
    assert_int_equal(symlink(target, next), 0);
    assert_int_equal(rename(next, link), 0);
}

WORLD_TEST(many_threads_see_whole_folders_only)
{
    struct watch_world *world = *state;
    struct watch_reader readers[READERS];
    atomic_bool is_over = false;
    auto_free char *link = in_folder(world, "now");
    for (unsigned i = 0; i < FOLDERS; i++) {
        make_folder(world, i);
    }
    flip(world, link, 0);
    watch_path(world, link, false);
    look_first(world);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (struct watch_reader){.watch = world->watch, .is_over = &is_over};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_folders, &readers[i]), 0);
    }
    for (unsigned i = 1; i < FOLDERS; i++) {
        flip(world, link, i);
        sched_yield();
    }
    atomic_store(&is_over, true);
    join_all(readers);
}
