// SPDX-License-Identifier: Apache-2.0
/* Helpers of the store tests. */
#include "support.h"

#include "base/auto.h"
#include "base/memory.h"
#include "store/sqlite/sqlite.h"
#include "support/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t read_now(const struct clock *clock)
{
    struct test_clock *test = clock->context;
    return atomic_load(&test->now_ns) + atomic_load(&test->skew_ns);
}

static int64_t read_monotonic(const struct clock *clock)
{
    struct test_clock *test = clock->context;
    return atomic_load(&test->now_ns);
}

void test_clock_set(struct test_clock *clock, int64_t by_ns)
{
    atomic_fetch_add(&clock->skew_ns, by_ns);
}

static void advance_instead(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    (void)cancel;
    test_clock_advance(clock->context, duration_ns);
}

void test_clock_init(struct test_clock *clock)
{
    clock->clock = (struct clock){
        .now_ns = read_now,
        .monotonic_ns = read_monotonic,
        .sleep = advance_instead,
        .context = clock,
    };
    atomic_init(&clock->now_ns, TEST_EPOCH_NS);
    atomic_init(&clock->skew_ns, 0);
}

void test_clock_advance(struct test_clock *clock, int64_t duration_ns)
{
    atomic_fetch_add(&clock->now_ns, duration_ns);
}

char *test_folder_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = test_path(parent != NULL ? parent : scratch_parent(), "rondo-store-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return folder;
}

void test_folder_free(char *folder)
{
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            auto_free char *path = test_path(folder, entry->d_name);
            assert_int_equal(remove(path), 0);
        }
    }
    closedir(entries);
    assert_int_equal(rmdir(folder), 0);
    free(folder);
}

int test_place_make(void **state)
{
    struct test_place *place = memory_new_zero(1, sizeof(*place));
    place->folder = test_folder_new();
    place->path = test_path(place->folder, "store.db");
    *state = place;
    return 0;
}

int test_place_remove(void **state)
{
    struct test_place *place = *state;
    test_folder_free(place->folder);
    free(place->path);
    free(place);
    return 0;
}

struct store *test_place_open(const struct test_place *place)
{
    const struct store_sqlite_options options = {.path = place->path, .may_create = true};
    struct store *store = NULL;
    struct rondo_error err = {0};
    int rc = store_sqlite_open(&options, &store, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return store;
}

char *test_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = memory_new(size);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

struct test_id test_id(unsigned number)
{
    struct test_id id;
    snprintf(id.text, sizeof(id.text), "01900000-0000-7000-8000-%012u", number);
    return id;
}

struct store_event test_event(const char *data)
{
    return (struct store_event){
        .time_ns = TEST_EPOCH_NS,
        .type = "test.event",
        .data = data,
        .data_len = strlen(data),
    };
}

void test_create(struct store *store, const char *run_id, const char *agent_id, bool is_exclusive)
{
    struct store_run run = {.is_exclusive = is_exclusive};
    snprintf(run.id, sizeof(run.id), "%s", run_id);
    snprintf(run.agent_id, sizeof(run.agent_id), "%s", agent_id);
    struct store_claim claim = {.owner = "owner-a", .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    struct rondo_error err = {0};
    int rc = store->ops->create_run(store, &run, NULL, 0, &claim, &result, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    assert_int_equal(result.outcome, STORE_CLAIMED);
}

struct store_batch test_batch(const char *run_id, uint64_t epoch, uint64_t first_seq,
                              const struct store_event *events, size_t count)
{
    return (struct store_batch){
        .run_id = run_id,
        .epoch = epoch,
        .first_seq = first_seq,
        .events = events,
        .event_count = count,
        .lease_ns = TEST_LEASE_NS,
    };
}

struct store_commit_result test_commit(struct store *store, const struct store_batch *batch)
{
    struct store_commit_result result;
    struct rondo_error err = {0};
    int rc = store->ops->commit(store, &batch, 1, &result, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return result;
}

void test_append(struct store *store, const char *run_id, uint64_t seq, const char *data)
{
    struct store_event event = test_event(data);
    struct store_batch batch = test_batch(run_id, 1, seq, &event, 1);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
}

struct store_claim_result test_claim(struct store *store, const char *run_id, const char *owner)
{
    struct store_claim claim = {.owner = owner, .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    struct rondo_error err = {0};
    int rc = store->ops->claim_run(store, run_id, &claim, &result, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return result;
}

struct store_run test_get(struct store *store, const char *run_id)
{
    struct store_run run;
    struct rondo_error err = {0};
    int rc = store->ops->get_run(store, run_id, &run, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return run;
}

static bool count_event(const struct store_event *event, void *context)
{
    (void)event;
    (*(uint64_t *)context)++;
    return true;
}

uint64_t test_count_events(struct store *store, const char *run_id)
{
    uint64_t count = 0;
    struct rondo_error err = {0};
    int rc = store->ops->read_events(store, run_id, 0, 0, count_event, &count, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return count;
}

uint64_t test_last_position(struct store *store)
{
    uint64_t position = UINT64_MAX;
    assert_int_equal(store->ops->last_position(store, &position, NULL), 0);
    return position;
}
