// SPDX-License-Identifier: Apache-2.0
/*
 * A daemon that is killed (daemon_scene.h) from the first byte of a webhook over its commit, the
 * answer and the start of its run, to the follow-up that the run asks for and the run of that. The
 * sender sends again until it is answered, as senders do. After a restart there are these two runs,
 * completed, and no others; nothing waits, and the sender was told the run that there is.
 */
#include "check.h"
#include "daemon_scene.h"

#include "rondo/types.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char role[] =
    "apiVersion: initrunner/v1\n"
    "kind: Agent\n"
    "metadata: {name: tester}\n"
    "spec:\n"
    "  role: You test.\n"
    "  model: {provider: scripted, name: turns.jsonl}\n"
    "  autonomy: {max_schedule_depth: 1}\n"
    "  triggers: [{type: webhook, unsigned: true, autonomous: true, port: 0}]\n";

static const char turns[] =
    "{\"tool_calls\":[{\"name\":\"schedule_followup\",\"arguments\":{\"prompt\":\"again\","
    "\"delay_seconds\":1}}]}\n"
    "{\"tool_calls\":[{\"name\":\"finish_task\",\"arguments\":{\"summary\":\"done\"}}]}\n";

static int set_up(void **state)
{
    int r = daemon_setup(state);
    if (r == 0) {
        daemon_write_file(*state, "role.yaml", role);
        daemon_write_file(*state, "turns.jsonl", turns);
    }
    return r;
}

/* --- what there is --- */

static const char ended[] = "SELECT count(*) FROM events WHERE type = 'run.finished'";
static const char created[] = "SELECT count(*) FROM events WHERE type = 'run.created'";
static const char waiting[] = "SELECT count(*) FROM documents WHERE collection = 'start-request'";
static const char pending[] = "SELECT count(*) FROM documents WHERE collection = 'follow-up' AND "
                              "CAST(data AS TEXT) LIKE '%\"pending\"%'";

static bool is_done(struct daemon_scene *daemon)
{
    return daemon_count(daemon, ended) >= 2 && daemon_count(daemon, waiting) == 0 &&
           daemon_count(daemon, pending) == 0;
}

static void check_end(struct daemon_scene *daemon, const char *run_id)
{
    char query[256];
    struct check_findings findings = check_store(daemon->scene, NULL);
    assert_int_equal(findings.unfinished_runs, 0);
    assert_int_equal(daemon_count(daemon, created), 2);
    assert_int_equal(daemon_count(daemon, ended), 2);
    assert_int_equal(daemon_count(daemon, waiting), 0);
    assert_int_equal(daemon_count(daemon, pending), 0);
    snprintf(query, sizeof(query), "SELECT count(*) FROM runs WHERE id = '%s' AND status = %d",
             run_id, RONDO_COMPLETED);
    assert_int_equal(daemon_count(daemon, query), 1);
}

/* --- one point --- */

/** Kill at the n-th call. @return 1 killed, 0 it was done before, -1 it cannot be tried here */
static int kill_at(struct daemon_scene *daemon, const char *syscalls, uint64_t when)
{
    char told[ID_SIZE] = "";
    char told_again[ID_SIZE] = "";
    scene_clear(daemon->scene);
    daemon_start(daemon);
    struct child *strace = daemon_kill_at(daemon, syscalls, when);
    if (strace == NULL) {
        daemon_end(daemon);
        return -1;
    }
    bool is_told = daemon_send(daemon, "once", told);
    bool is_killed = daemon_wait(daemon, is_done);
    if (is_killed) {
        child_end(daemon->daemon);
        daemon_start(daemon);
        assert_true(daemon_send(daemon, "once", told_again));
        assert_true(!is_told || strcmp(told, told_again) == 0);
        assert_false(daemon_wait(daemon, is_done));
    }
    child_end(strace);
    daemon_end(daemon);
    check_end(daemon, is_killed ? told_again : told);
    return is_killed ? 1 : 0;
}

static void enumerate(void **state, const char *syscalls, const uint64_t *points)
{
    daemon_enumerate(*state, syscalls, points, kill_at);
}

#define KILL_TEST(name) TEST_WITH(name, set_up, daemon_teardown)

KILL_TEST(a_daemon_that_is_killed_at_a_commit_loses_and_doubles_nothing)
{
    static const uint64_t points[] = {1, 2, 4, 0};
    enumerate(state, "fsync,fdatasync", points);
}

KILL_TEST(a_daemon_that_is_killed_while_it_takes_and_answers_a_request_loses_and_doubles_nothing)
{
    static const uint64_t points[] = {1, 0};
    enumerate(state, "accept,accept4", points);
    static const uint64_t sends[] = {1, 2, 0};
    enumerate(state, "sendto,sendmsg,writev,write", sends);
}

KILL_TEST(a_daemon_that_is_killed_while_it_writes_its_store_loses_and_doubles_nothing)
{
    static const uint64_t points[] = {3, 9, 0};
    enumerate(state, "pwrite64", points);
}
