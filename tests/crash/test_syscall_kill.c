// SPDX-License-Identifier: Apache-2.0
/*
 * kill -9 exactly before the N-th call of each system call that changes a file, for every N until
 * the workload passes unharmed. After each kill the store is checked, the next process is killed at
 * a random call while it resumes, and a third one finishes the work. With RONDO_CRASH_SERVER=1 the
 * store is in PostgreSQL, and the calls are those that talk with its server.
 */
#include "check.h"
#include "inject.h"

#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/** No workload makes so many calls, and strace cannot count much further; a larger N means that it
 * never ended unharmed. */
#define MOST_POINTS 60000
/** While resuming, the kill comes at one of so many calls. */
#define RESUME_POINTS 12

struct workload {
    const char *iterations;
    const char *state_bytes;
};

/** Small, and all in the log; and one that makes the store copy its log into the database. */
static const struct workload small = {"5", "100"};
static const struct workload large = {"45", "200000"};

static struct injected run_victim(struct crash_scene *scene, const struct workload *workload,
                                  const char *syscall, uint64_t when)
{
    const char *const argv[] = {
        victim_path(),
        "--store",
        scene->store,
        "--effects",
        scene->effects,
        "--iterations",
        workload->iterations,
        "--demand",
        "2",
        "--state-bytes",
        workload->state_bytes,
        NULL,
    };
    char fault[64];
    snprintf(fault, sizeof(fault), "signal=KILL:when=%" PRIu64, when);
    return inject_run(scene, syscall, fault, argv);
}

static bool is_ended(const struct injected *result)
{
    return WIFEXITED(result->status) && WEXITSTATUS(result->status) == 0;
}

/** One point. @return false when the workload ended before its N-th call */
static bool kill_at(struct crash_scene *scene, const struct workload *workload, const char *syscall,
                    uint64_t n)
{
    struct ledger ledger = {0};
    uint64_t whens[] = {n, 1 + random_below(&scene->random, RESUME_POINTS), MOST_POINTS};
    bool was_killed = false;
    scene_clear(scene);
    for (size_t i = 0; i < COUNT(whens); i++) {
        struct injected result = run_victim(scene, workload, syscall, whens[i]);
        if (!result.is_killed && !is_ended(&result)) {
            fail_msg("%s %" PRIu64 ", process %zu ended with status %x:\n%s", syscall, whens[i],
                     i + 1, (unsigned)result.status, buf_string(&result.output));
        }
        was_killed = i == 0 ? result.is_killed : was_killed;
        ledger_read(&ledger, &result.output);
        check_store(scene, &ledger);
        buf_fini(&result.output);
        if (!was_killed) {
            break;
        }
    }
    struct check_findings findings = check_store(scene, &ledger);
    ledger_clear(&ledger);
    assert_int_equal(findings.runs, 1);
    assert_int_equal(findings.unfinished_runs, 0);
    return was_killed;
}

static uint64_t enumerate(struct crash_scene *scene, const struct workload *workload,
                          const char *syscall, uint64_t stride)
{
    uint64_t points = 0;
    uint64_t n = 1 + random_below(&scene->random, stride);
    while (n < MOST_POINTS && kill_at(scene, workload, syscall, n)) {
        points++;
        n += stride;
    }
    assert_true(n < MOST_POINTS);
    print_message("%s: %" PRIu64 " points, %s workload\n", syscall, points,
                  workload == &small ? "small" : "large");
    return points;
}

/** @param is_served whether the test is about stores in PostgreSQL, and not in files */
static void skip_unless_wanted(const struct crash_scene *scene, bool is_served)
{
    if (!inject_is_possible() || is_served != (scene->server != NULL)) {
        skip();
    }
}

TEST_WITH(every_sync_may_be_the_last_call, scene_setup_in_memory, scene_teardown)
{
    skip_unless_wanted(*state, false);
    uint64_t points = enumerate(*state, &small, "fdatasync,fsync", 1);
    assert_true(points >= 6);
}

TEST_WITH(every_write_may_be_the_last_call, scene_setup_in_memory, scene_teardown)
{
    skip_unless_wanted(*state, false);
    uint64_t stride = scene_is_long() ? 1 : 9;
    uint64_t points = enumerate(*state, &small, "pwrite64", stride);
    points += enumerate(*state, &small, "write", scene_is_long() ? 1 : 3);
    assert_true(points >= 10);
}

TEST_WITH(every_change_of_a_file_may_be_the_last_call, scene_setup_in_memory, scene_teardown)
{
    skip_unless_wanted(*state, false);
    static const char *const syscalls[] = {"ftruncate", "unlink,unlinkat", "fchmod",
                                           "openat",    "rename,renameat", "fallocate"};
    for (size_t i = 0; i < COUNT(syscalls); i++) {
        enumerate(*state, &small, syscalls[i], scene_is_long() || i < 3 ? 1 : 8);
    }
}

TEST_WITH(a_log_that_is_being_copied_survives, scene_setup_in_memory, scene_teardown)
{
    skip_unless_wanted(*state, false);
    uint64_t points = enumerate(*state, &large, "fdatasync,fsync", scene_is_long() ? 1 : 80);
    points += enumerate(*state, &large, "pwrite64", scene_is_long() ? 41 : 5999);
    assert_true(points > 0);
}

TEST_WITH(every_exchange_with_a_server_may_be_the_last_call, scene_setup_in_memory, scene_teardown)
{
    skip_unless_wanted(*state, true);
    uint64_t stride = scene_is_long() ? 1 : 9;
    uint64_t points = enumerate(*state, &small, "sendto,sendmsg", stride);
    points += enumerate(*state, &small, "recvfrom,recvmsg", stride);
    points += enumerate(*state, &small, "poll,ppoll,epoll_wait", stride);
    assert_true(points >= 10);
}
