// SPDX-License-Identifier: Apache-2.0
/* What the tests of the store layer share: a clock to set, a folder to lose, rows to write. */
#pragma once

#include "base/clock.h"
#include "store/store.h"
#include "support/test.h"

#include <stdatomic.h>

/** Time at which every test begins. */
#define TEST_EPOCH_NS INT64_C(1700000000000000000)
/** The lease that the helpers ask for. */
#define TEST_LEASE_NS (600 * NS_PER_S)

/** A clock that stands still until a test moves it. Any thread. */
struct test_clock {
    struct clock clock;
    _Atomic int64_t now_ns;
    _Atomic int64_t skew_ns; /* of the wall clock */
};
/** Set the wall clock, forward or back; the monotonic one stays. */
void test_clock_set(struct test_clock *clock, int64_t by_ns);
void test_clock_init(struct test_clock *clock);
void test_clock_advance(struct test_clock *clock, int64_t duration_ns);

/** A temporary folder; the path is owned by the caller. */
char *test_folder_new(void);
/** Delete the folder with the files in it, and free the path. */
void test_folder_free(char *folder);
/** "folder/name"; owned by the caller. */
char *test_path(const char *folder, const char *name);

/** A folder with the path of an SQLite store in it. */
struct test_place {
    char *folder;
    char *path;
};
/** Set-up and tear-down: `*state` is a new place. */
int test_place_make(void **state);
int test_place_remove(void **state);
/** Open the store there, making it at the first call; asserts success. */
struct store *test_place_open(const struct test_place *place);

/** A valid run id made from a number. */
struct test_id {
    char text[ID_SIZE];
};
struct test_id test_id(unsigned number);

/** An event of type "test.event". `data` stays the caller's. */
struct store_event test_event(const char *data);

/** Create a run and claim it for "owner-a"; asserts that this works. */
void test_create(struct store *store, const char *run_id, const char *agent_id, bool is_exclusive);

/** A batch of events, with the lease of the helpers and a running status. */
struct store_batch test_batch(const char *run_id, uint64_t epoch, uint64_t first_seq,
                              const struct store_event *events, size_t count);

/** Commit one batch through the store; asserts success. */
struct store_commit_result test_commit(struct store *store, const struct store_batch *batch);

/** Append one event to a run at epoch 1; asserts that it is committed. */
void test_append(struct store *store, const char *run_id, uint64_t seq, const char *data);

/** Claim for an owner; asserts success of the call, not of the claim. */
struct store_claim_result test_claim(struct store *store, const char *run_id, const char *owner);

/** The run's row; asserts that it exists. */
struct store_run test_get(struct store *store, const char *run_id);

/** Number of a run's events that can be read, or of all runs' (NULL). */
uint64_t test_count_events(struct store *store, const char *run_id);

/** Highest committed position; asserts success. */
uint64_t test_last_position(struct store *store);
