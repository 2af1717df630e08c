// SPDX-License-Identifier: Apache-2.0
/*
 * A folder with policy files, and a watch over one. The times of files are set, into the past for
 * one that has rested and to now for one that has not, so that nothing has to wait.
 */
#pragma once

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "policy/watch.h"
#include "support/scratch.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERMIT    "permit (principal, action, resource);\n"
#define NAMED(id) "@id(\"" id "\") " PERMIT

struct watch_world {
    char folder[64];
    char state_home[64]; /* where confirmations go */
    char path[96];       /* of the policy file in it */
    struct watch *watch;
    struct watch_view view;
    struct watch_message message;
    struct rondo_error err;
    unsigned loaded;
    bool is_first;
};

static inline int world_up(void **state)
{
    struct watch_world *world = memory_new_zero(1, sizeof(*world));
    assert_true(scratch_new(world->folder, sizeof(world->folder)));
    assert_true(scratch_new(world->state_home, sizeof(world->state_home)));
    setenv("XDG_STATE_HOME", world->state_home, 1);
    snprintf(world->path, sizeof(world->path), "%s/rondo.cedar", world->folder);
    *state = world;
    return 0;
}

static inline int world_down(void **state)
{
    struct watch_world *world = *state;
    watch_view_fini(&world->view);
    watch_free(world->watch);
    file_remove_tree(world->folder, NULL);
    file_remove_tree(world->state_home, NULL);
    free(world);
    return 0;
}

#define WORLD_TEST(function) TEST_WITH(function, world_up, world_down)

/* ---- Files ---------------------------------------------------------------------------------- */

/** Path of a name in the world's folder; free() it. */
static inline char *in_folder(const struct watch_world *world, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", world->folder, name);
    return buf_steal(&path);
}

/** Set when a file was written last, relative to now. */
static inline void set_age(const char *path, int64_t age_ns)
{
    int64_t time_ns = clock_now(clock_system()) - age_ns;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = time_ns / NS_PER_S, .tv_nsec = time_ns % NS_PER_S}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static inline void rest(const char *path)
{
    set_age(path, 10 * NS_PER_S);
}

static inline void write_in_place(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void replace(const char *path, const char *text)
{
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

static inline void put(const struct watch_world *world, const char *name, const char *text)
{
    auto_free char *path = in_folder(world, name);
    replace(path, text);
}

static inline void watch_path(struct watch_world *world, const char *path, bool is_optional)
{
    world->watch = watch_new(&(struct watch_options){.path = path, .is_optional = is_optional});
}

/** Whether a policy is in force. */
static inline bool has_policy(const struct watch_view *view, const char *id)
{
    const struct cedar_policies *policies = view->ruleset->policies;
    for (size_t i = 0; i < cedar_policies_count(policies); i++) {
        if (strcmp(cedar_policies_id(policies, i), id) == 0) {
            return true;
        }
    }
    return false;
}
