// SPDX-License-Identifier: Apache-2.0
/* The desk file while it changes: what counts, and what is said. */
#include "handoff/desks/reach.h"

#include "base/buf.h"
#include "os/file_folder.h"
#include "os/trust.h"
#include "store/store.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RIGHT "format: 1\ndesks: {operators: {}}\n"
#define OTHER "format: 1\ndesks: {operators: {}, leads: {}}\n"

struct watch_fixture {
    char folder[64];
    char path[96];
    struct desks_watch *watch;
};

static int set_up(void **state)
{
    struct watch_fixture *fixture = calloc(1, sizeof(*fixture));
    snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/rondo-desks-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->path, sizeof(fixture->path), "%s/" DESKS_FILE, fixture->folder);
    setenv("XDG_STATE_HOME", fixture->folder, 1);
    fixture->watch = desks_watch_new(fixture->path);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct watch_fixture *fixture = *state;
    desks_watch_free(fixture->watch);
    assert_int_equal(file_remove_tree(fixture->folder, NULL), 0);
    free(fixture);
    return 0;
}

#define TEST_WATCHED(name) TEST_WITH(name, set_up, tear_down)

/** Replace the file as a whole, as editors do. */
static void put(const struct watch_fixture *fixture, const char *text)
{
    char other[128];
    snprintf(other, sizeof(other), "%s/new", fixture->folder);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(rename(other, fixture->path), 0);
}

static bool has_problem(struct watch_fixture *fixture, uint64_t *seen)
{
    struct rondo_error err = {0};
    return desks_watch_problem(fixture->watch, seen, &err);
}

TEST_WATCHED(without_a_file_there_are_no_desks)
{
    struct watch_fixture *fixture = *state;
    uint64_t seen = 0;
    assert_null(desks_watch_look(fixture->watch));
    assert_false(has_problem(fixture, &seen));
}

TEST_WATCHED(a_change_counts_at_once)
{
    struct watch_fixture *fixture = *state;
    char desk[HANDOFF_NAME_SIZE];
    put(fixture, RIGHT);
    const struct desks *first = desks_watch_look(fixture->watch);
    assert_non_null(first);
    assert_ptr_equal(desks_watch_look(fixture->watch), first);
    put(fixture, OTHER);
    assert_true(desks_resolve(desks_watch_look(fixture->watch), "leads", desk));
    put(fixture, RIGHT);
    assert_ptr_equal(desks_watch_look(fixture->watch), first);
}

TEST_WATCHED(a_wrong_file_leaves_the_old_one_in_force_and_is_said_once)
{
    struct watch_fixture *fixture = *state;
    uint64_t seen = 0;
    put(fixture, RIGHT);
    const struct desks *first = desks_watch_look(fixture->watch);
    put(fixture, "format: 1\ndesk: {}\n");
    assert_ptr_equal(desks_watch_look(fixture->watch), first);
    assert_ptr_equal(desks_watch_look(fixture->watch), first);
    assert_true(has_problem(fixture, &seen));
    assert_false(has_problem(fixture, &seen));
}

TEST_WATCHED(a_file_that_is_gone_leaves_the_old_one_in_force)
{
    struct watch_fixture *fixture = *state;
    uint64_t seen = 0;
    put(fixture, RIGHT);
    const struct desks *first = desks_watch_look(fixture->watch);
    assert_int_equal(unlink(fixture->path), 0);
    assert_ptr_equal(desks_watch_look(fixture->watch), first);
    assert_true(has_problem(fixture, &seen));
}

TEST_WATCHED(nobody_decides_while_the_first_file_is_wrong)
{
    struct watch_fixture *fixture = *state;
    struct handoff handoff = {.desk_count = 1, .desks = {HANDOFF_DESK}};
    put(fixture, "format: 1\ndesk: {}\n");
    const struct desks *desks = desks_watch_look(fixture->watch);
    assert_non_null(desks);
    assert_false(desks_is_usable(desks));
    assert_false(desks_actor(desks, "user:ann", &handoff).is_assignee);
    assert_false(desks_actor(desks, "user:ann", &handoff).may_decide);
    put(fixture, RIGHT);
    assert_true(desks_is_usable(desks_watch_look(fixture->watch)));
}

TEST_WATCHED(what_agents_can_exchange_counts_when_it_is_confirmed)
{
    struct watch_fixture *fixture = *state;
    put(fixture, RIGHT);
    desks_watch_guard(fixture->watch);
    assert_false(desks_is_usable(desks_watch_look(fixture->watch)));
    assert_int_equal(trust_confirm(TRUST_DESKS, fixture->path, RIGHT, strlen(RIGHT), NULL), 0);
    const struct desks *confirmed = desks_watch_look(fixture->watch);
    assert_true(desks_is_usable(confirmed));
    put(fixture, OTHER);
    assert_ptr_equal(desks_watch_look(fixture->watch), confirmed);
}

TEST_WATCHED(a_confirmed_file_must_be_confirmed_for_everybody)
{
    struct watch_fixture *fixture = *state;
    put(fixture, RIGHT);
    assert_int_equal(trust_confirm(TRUST_DESKS, fixture->path, RIGHT, strlen(RIGHT), NULL), 0);
    put(fixture, OTHER);
    assert_false(desks_is_usable(desks_watch_look(fixture->watch)));
}

TEST_WATCHED(other_processes_learn_from_the_store_that_the_file_must_be_confirmed)
{
    struct watch_fixture *fixture = *state;
    struct store *store = store_memory_new(NULL);
    put(fixture, RIGHT);
    struct desks_watch *before = desks_watch_new(fixture->path);
    assert_true(desks_is_usable(desks_look(store, before)));
    struct desks_watch *of_run = desks_watch_new(fixture->path);
    assert_int_equal(desks_guard(store, of_run, NULL), 0);
    assert_int_equal(desks_guard(store, of_run, NULL), 0);
    desks_watch_free(of_run);
    put(fixture, OTHER);
    assert_false(desks_is_usable(desks_look(store, fixture->watch)));
    char desk[HANDOFF_NAME_SIZE];
    assert_false(desks_resolve(desks_look(store, before), "leads", desk)); /* as it was */
    desks_watch_free(before);
    store_close(store);
}
