// SPDX-License-Identifier: Apache-2.0
/*
 * A daemon that is killed (daemon_scene.h) from the first byte of an event to the end of its run,
 * whose call waits for a person in between: before the request, between request and decision,
 * between decision, grant, command and acknowledgement. After a restart everything comes to its end
 * (handoff_scene.h), and the decision of a person who decided while no daemon was running counts.
 */
#include "check.h"
#include "daemon_scene.h"
#include "handoff_scene.h"

#include "base/auto.h"
#include "os/file.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char role[] = "apiVersion: initrunner/v1\n"
                           "kind: Agent\n"
                           "metadata: {name: tester}\n"
                           "spec:\n"
                           "  role: You test.\n"
                           "  model: {provider: scripted, name: turns.jsonl}\n"
                           "  execution: {sandbox: none}\n"
                           "  tools: [{type: shell, working_dir: %s}]\n"
                           "  triggers: [{type: webhook, unsigned: true, port: 0}]\n";

static const char turns[] = "{\"tool_calls\":[{\"name\":\"run_shell\",\"arguments\":"
                            "{\"command\":\"sh note one\"}}]}\n{\"text\":\"that is all\"}\n";

/** Of the program: the people. */
static struct handoff_scene people;

static int set_up(void **state)
{
    int r = daemon_setup(state);
    if (r == 0) {
        people = (struct handoff_scene){.scene = ((struct daemon_scene *)*state)->scene};
    }
    return r;
}

static void clear(const struct daemon_scene *daemon)
{
    auto_buf struct buf yaml = {0};
    handoffs_clear(&people);
    buf_printf(&yaml, role, people.notes);
    daemon_write_file(daemon, "role.yaml", buf_string(&yaml));
    daemon_write_file(daemon, "turns.jsonl", turns);
}

/** People decide as soon as something waits. */
static bool is_done(struct daemon_scene *daemon)
{
    static const char ended[] = "SELECT count(*) FROM events WHERE type = 'run.finished'";
    char request[ID_SIZE];
    bool is_doubt = false;
    if (handoffs_find(&people, request, &is_doubt)) {
        handoffs_decide(&people, request, is_doubt);
    }
    return daemon_count(daemon, ended) > 0;
}

/** Kill at the n-th call. @return 1 killed, 0 it was done before, -1 it cannot be tried here */
static int kill_at(struct daemon_scene *daemon, const char *syscalls, uint64_t when)
{
    char run[ID_SIZE] = "";
    char run_again[ID_SIZE] = "";
    clear(daemon);
    daemon_start(daemon);
    struct child *strace = daemon_kill_at(daemon, syscalls, when);
    if (strace == NULL) {
        daemon_end(daemon);
        return -1;
    }
    bool is_answered = daemon_send(daemon, "event", run);
    bool is_killed = daemon_wait(daemon, is_done);
    if (is_killed) {
        (void)is_done(daemon); /* People do not wait for a daemon. */
        child_end(daemon->daemon);
        daemon_start(daemon);
        assert_true(daemon_send(daemon, "event", run_again));
        assert_true(!is_answered || strcmp(run, run_again) == 0);
        assert_false(daemon_wait(daemon, is_done));
    }
    child_end(strace);
    daemon_end(daemon);
    struct check_findings findings = check_store(daemon->scene, NULL);
    assert_int_equal(findings.runs, 1);
    assert_int_equal(findings.unfinished_runs, 0);
    handoffs_check(&people, 1);
    return is_killed ? 1 : 0;
}

static void enumerate(void **state, const char *syscalls, const uint64_t *points)
{
    daemon_enumerate(*state, syscalls, points, kill_at);
}

#define KILL_TEST(name) TEST_WITH(name, set_up, daemon_teardown)

KILL_TEST(a_daemon_is_killed_at_a_commit)
{
    static const uint64_t points[] = {1, 3, 5, 7, 9, 11, 14, 0};
    enumerate(state, "fsync,fdatasync", points);
}

KILL_TEST(a_daemon_is_killed_while_it_starts_the_approved_command)
{
    static const uint64_t points[] = {1, 2, 0};
    enumerate(state, "clone,clone3,vfork,fork", points);
}

KILL_TEST(a_daemon_is_killed_while_it_sends_and_receives)
{
    static const uint64_t points[] = {1, 3, 0};
    enumerate(state, "sendto,sendmsg,recvfrom,recvmsg", points);
}

KILL_TEST(a_daemon_is_killed_while_the_store_is_written)
{
    static const uint64_t points[] = {9, 33, 0};
    enumerate(state, "pwrite64", points);
}

/** The command has had its effect, and nobody is left to record it. */
KILL_TEST(a_daemon_is_killed_while_the_approved_command_runs)
{
    static const char script[] = "echo $1 >> effects\nkill -9 $(cat pid)\n";
    struct daemon_scene *daemon = *state;
    char run[ID_SIZE];
    char pid[16];
    clear(daemon);
    daemon_write_file(daemon, "notes/note", script);
    daemon_start(daemon);
    snprintf(pid, sizeof(pid), "%d\n", (int)daemon->daemon->pid);
    daemon_write_file(daemon, "notes/pid", pid);
    assert_true(daemon_send(daemon, "event", run));
    assert_true(daemon_wait(daemon, is_done));
    assert_int_equal(handoffs_effects(&people), 1);
    child_end(daemon->daemon);
    daemon_start(daemon);
    assert_false(daemon_wait(daemon, is_done));
    daemon_end(daemon);
    assert_int_equal(people.doubts, 1);
    assert_int_equal(handoffs_effects(&people), 1);
    handoffs_check(&people, 1);
}
