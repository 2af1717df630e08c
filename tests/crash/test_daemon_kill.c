// SPDX-License-Identifier: Apache-2.0
/*
 * `rondo daemon` killed exactly before the N-th call of a system call, counted from when it is
 * ready: from the first byte of a webhook over its commit, the answer and the start of its run, to
 * the follow-up that the run asks for and the run of that. The sender sends again until it is
 * answered, as senders do. After a restart there are these two runs, completed, and no others;
 * nothing waits, and the sender was told the run that there is.
 *
 * strace is attached to the running daemon and counts for each of its threads by itself, so which
 * thread is hit first may vary; what must be true afterwards does not.
 */
#include "check.h"
#include "inject.h"

#include "base/auto.h"
#include "os/file.h"
#include "rondo/types.h"
#include "support/test.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/** In the long version, kills at one system call end after so many. */
#define MOST_POINTS 60
/** Longest wait for an answer. */
#define ANSWER_MS 60000
#define STEP_NS   INT64_C(20000000)
#define PATH_SIZE (SCENE_PATH + 64)

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

struct daemon_world {
    struct crash_scene *scene;
    char role[PATH_SIZE];
    char workspace[PATH_SIZE];
    char listen[PATH_SIZE];
    struct child *daemon;
};

static int set_up(void **state)
{
    if (scene_setup(state) != 0) {
        return -1;
    }
    struct daemon_world *world = calloc(1, sizeof(*world));
    char path[PATH_SIZE];
    world->scene = *state;
    *state = world;
    const char *folder = world->scene->folder;
    snprintf(world->role, sizeof(world->role), "%s/role.yaml", folder);
    snprintf(world->workspace, sizeof(world->workspace), "%s/workspace", folder);
    snprintf(world->listen, sizeof(world->listen), "unix:%s/socket", folder);
    snprintf(path, sizeof(path), "%s/turns.jsonl", folder);
    assert_int_equal(file_make_folder(world->workspace, NULL), 0);
    assert_int_equal(file_replace_durably(world->role, role, strlen(role), NULL), 0);
    assert_int_equal(file_replace_durably(path, turns, strlen(turns), NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    struct daemon_world *world = *state;
    *state = world->scene;
    free(world);
    return scene_teardown(state);
}

/* --- the daemon --- */

static void start_daemon(struct daemon_world *world)
{
    const char *const argv[] = {rondo_path(),        "daemon",   world->role,   "--store",
                                world->scene->store, "--listen", world->listen, "--workspace",
                                world->workspace,    NULL};
    world->daemon = child_start(world->scene, argv);
    if (child_expect(world->daemon, "rondo: serving ") == NULL) {
        fail_msg("the daemon ended:\n%s", buf_string(&world->daemon->out));
    }
}

/** Have it killed. @return strace, or NULL when it may not attach */
static struct child *attach(const struct daemon_world *world, const char *syscalls, uint64_t when)
{
    char pid[16];
    char inject[256];
    char trace[200];
    snprintf(pid, sizeof(pid), "%d", (int)world->daemon->pid);
    snprintf(trace, sizeof(trace), "trace=%s", syscalls);
    snprintf(inject, sizeof(inject), "inject=%s:signal=KILL:when=%" PRIu64, syscalls, when);
    const char *const argv[] = {
        "/usr/bin/strace", "-f", "-o", "/dev/null", "-e", trace, "-e", inject, "-p", pid, NULL};
    struct child *strace = child_start(world->scene, argv);
    const char *line = child_line(strace); /* it begins with strace's path */
    if (line == NULL || strstr(line, ": Process ") == NULL) {
        print_message("strace may not attach here: %s\n", line == NULL ? "" : line);
        child_end(strace);
        return NULL;
    }
    return strace;
}

static bool is_alive(struct daemon_world *world, int64_t wait_ns)
{
    return child_listen(world->daemon, wait_ns);
}

/* --- the sender --- */

/** Read until the other side has ended. @return false: it did not answer in time */
static void read_answer(int fd, struct buf *ret_answer)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t n = 1;
    while (n > 0) {
        if (poll(&ready, 1, ANSWER_MS) <= 0) {
            fail_msg("the daemon does not answer");
        }
        n = recv(fd, buf_room(ret_answer, 4096), 4096, 0);
        if (n > 0) {
            buf_grown(ret_answer, (size_t)n);
        }
    }
}

/** Send the event. @param ret_run_id set when it was answered. @return whether it was */
static bool send_event(const struct daemon_world *world, char ret_run_id[ID_SIZE])
{
    static const char request[] = "POST /hooks/tester HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\nIdempotency-Key: once\r\n"
                                  "Content-Length: 5\r\n\r\nhello";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    auto_buf struct buf answer = {0};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(strlen(world->listen) - 5 < sizeof(address.sun_path));
    snprintf(address.sun_path, sizeof(address.sun_path), "%.*s", (int)sizeof(address.sun_path) - 1,
             world->listen + strlen("unix:"));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0) {
        return false;
    }
    read_answer(fd, &answer);
    const char *id = strstr(buf_string(&answer), "\"run_id\":\"");
    if (id == NULL) {
        if (answer.len > 0) {
            fail_msg("the daemon answered:\n%s", buf_string(&answer));
        }
        return false;
    }
    snprintf(ret_run_id, ID_SIZE, "%s", id + strlen("\"run_id\":\""));
    return true;
}

/* --- what there is --- */

/** The number that a query of the store comes to; -1 when there is no store yet. */
static int64_t count(const struct daemon_world *world, const char *query)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;
    if (sqlite3_open_v2(world->scene->store, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(db, 10000) == SQLITE_OK &&
        sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

static const char ended[] = "SELECT count(*) FROM events WHERE type = 'run.finished'";
static const char created[] = "SELECT count(*) FROM events WHERE type = 'run.created'";
static const char waiting[] = "SELECT count(*) FROM documents WHERE collection = 'start-request'";
static const char pending[] = "SELECT count(*) FROM documents WHERE collection = 'follow-up' AND "
                              "CAST(data AS TEXT) LIKE '%\"pending\"%'";

static bool is_done(const struct daemon_world *world)
{
    return count(world, ended) >= 2 && count(world, waiting) == 0 && count(world, pending) == 0;
}

/** Both runs are there, or the daemon is dead. @return the latter */
static bool wait_for_end(struct daemon_world *world)
{
    while (!is_done(world)) {
        if (!is_alive(world, STEP_NS)) {
            return true;
        }
    }
    return false;
}

static void end_daemon(struct daemon_world *world)
{
    kill(world->daemon->pid, SIGTERM);
    (void)child_wait(world->daemon);
    child_end(world->daemon);
}

static void check_end(struct daemon_world *world, const char *run_id)
{
    char query[256];
    struct check_findings findings = check_store(world->scene, NULL);
    assert_int_equal(findings.unfinished_runs, 0);
    assert_int_equal(count(world, created), 2);
    assert_int_equal(count(world, ended), 2);
    assert_int_equal(count(world, waiting), 0);
    assert_int_equal(count(world, pending), 0);
    snprintf(query, sizeof(query), "SELECT count(*) FROM runs WHERE id = '%s' AND status = %d",
             run_id, RONDO_COMPLETED);
    assert_int_equal(count(world, query), 1);
}

/* --- one point --- */

/** Kill at the n-th call. @return 1 killed, 0 it was done before, -1 it cannot be tried here */
static int kill_at(struct daemon_world *world, const char *syscalls, uint64_t when)
{
    char told[ID_SIZE] = "";
    char told_again[ID_SIZE] = "";
    scene_clear(world->scene);
    start_daemon(world);
    struct child *strace = attach(world, syscalls, when);
    if (strace == NULL) {
        end_daemon(world);
        return -1;
    }
    bool is_told = send_event(world, told);
    bool is_killed = wait_for_end(world);
    if (is_killed) {
        child_end(world->daemon);
        start_daemon(world);
        assert_true(send_event(world, told_again));
        assert_true(!is_told || strcmp(told, told_again) == 0);
        assert_false(wait_for_end(world));
    }
    child_end(strace);
    end_daemon(world);
    check_end(world, is_killed ? told_again : told);
    return is_killed ? 1 : 0;
}

/** Kill at the first calls: at some of them, or in the long version at all that there are. */
static void enumerate(void **state, const char *syscalls, const uint64_t *points)
{
    struct daemon_world *world = *state;
    uint64_t kills = 0;
    if (!inject_is_possible()) {
        skip();
    }
    for (uint64_t i = 0; scene_is_long() ? i < MOST_POINTS : points[i] != 0; i++) {
        int r = kill_at(world, syscalls, scene_is_long() ? i + 1 : points[i]);
        if (r < 0) {
            skip();
        }
        kills += (uint64_t)r;
        if (r == 0 && scene_is_long()) {
            break;
        }
    }
    print_message("%s: %" PRIu64 " kills\n", syscalls, kills);
    assert_true(kills > 0);
}

#define KILL_TEST(name) TEST_WITH(name, set_up, tear_down)

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
