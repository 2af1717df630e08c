// SPDX-License-Identifier: Apache-2.0
#include "daemon_scene.h"

#include "inject.h"

#include "base/auto.h"
#include "base/clock.h"
#include "os/file.h"
#include "support/test.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** In the long version, kills at one system call end after so many. */
#define MOST_POINTS 60
/** Longest wait for an answer. */
#define ANSWER_MS 60000
#define STEP_NS   INT64_C(20000000)

int daemon_setup(void **state)
{
    if (scene_setup(state) != 0) {
        return -1;
    }
    struct daemon_scene *daemon = calloc(1, sizeof(*daemon));
    daemon->scene = *state;
    *state = daemon;
    const char *folder = daemon->scene->folder;
    snprintf(daemon->role, sizeof(daemon->role), "%s/role.yaml", folder);
    snprintf(daemon->workspace, sizeof(daemon->workspace), "%s/workspace", folder);
    snprintf(daemon->listen, sizeof(daemon->listen), "unix:%s/socket", folder);
    assert_int_equal(file_make_folder(daemon->workspace, NULL), 0);
    return 0;
}

int daemon_teardown(void **state)
{
    struct daemon_scene *daemon = *state;
    *state = daemon->scene;
    free(daemon);
    return scene_teardown(state);
}

void daemon_write_file(const struct daemon_scene *daemon, const char *name, const char *text)
{
    char path[DAEMON_PATH];
    snprintf(path, sizeof(path), "%s/%s", daemon->scene->folder, name);
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

/* --- the daemon --- */

void daemon_start(struct daemon_scene *daemon)
{
    const char *const argv[] = {rondo_path(),         "daemon",   daemon->role,   "--store",
                                daemon->scene->store, "--listen", daemon->listen, "--workspace",
                                daemon->workspace,    NULL};
    daemon->daemon = child_start(daemon->scene, argv);
    if (child_expect(daemon->daemon, "rondo: serving ") == NULL) {
        fail_msg("the daemon ended:\n%s", buf_string(&daemon->daemon->out));
    }
}

void daemon_end(struct daemon_scene *daemon)
{
    kill(daemon->daemon->pid, SIGTERM);
    (void)child_wait(daemon->daemon);
    child_end(daemon->daemon);
}

struct child *daemon_kill_at(const struct daemon_scene *daemon, const char *syscalls, uint64_t when)
{
    char pid[16];
    char inject[256];
    char trace[200];
    snprintf(pid, sizeof(pid), "%d", (int)daemon->daemon->pid);
    snprintf(trace, sizeof(trace), "trace=%s", syscalls);
    snprintf(inject, sizeof(inject), "inject=%s:signal=KILL:when=%" PRIu64, syscalls, when);
    const char *const argv[] = {
        "/usr/bin/strace", "-f", "-o", "/dev/null", "-e", trace, "-e", inject, "-p", pid, NULL};
    struct child *strace = child_start(daemon->scene, argv);
    const char *line = child_line(strace); /* it begins with strace's path */
    if (line == NULL || strstr(line, ": Process ") == NULL) {
        print_message("strace may not attach here: %s\n", line == NULL ? "" : line);
        child_end(strace);
        return NULL;
    }
    return strace;
}

bool daemon_wait(struct daemon_scene *daemon, bool (*is_done)(struct daemon_scene *daemon))
{
    int64_t until_ns = clock_monotonic(clock_system()) + SCENE_PATIENCE_NS;
    while (!is_done(daemon)) {
        if (!child_listen(daemon->daemon, STEP_NS)) {
            return true;
        }
        if (clock_monotonic(clock_system()) > until_ns) {
            fail_msg("what there was to do is not done:\n%s", buf_string(&daemon->daemon->out));
        }
    }
    return false;
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

bool daemon_send(const struct daemon_scene *daemon, const char *key, char ret_run_id[ID_SIZE])
{
    char request[512];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    auto_buf struct buf answer = {0};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(request, sizeof(request),
                       "POST /hooks/tester HTTP/1.1\r\nHost: localhost\r\n"
                       "Connection: close\r\nIdempotency-Key: %s\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       key, strlen(key), key);
    assert_true(strlen(daemon->listen) - 5 < sizeof(address.sun_path));
    snprintf(address.sun_path, sizeof(address.sun_path), "%.*s", (int)sizeof(address.sun_path) - 1,
             daemon->listen + strlen("unix:"));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        send(fd, request, (size_t)len, MSG_NOSIGNAL) < 0) {
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

int64_t daemon_count(const struct daemon_scene *daemon, const char *query)
{
    return scene_count(daemon->scene, query);
}

/* --- points --- */

void daemon_enumerate(struct daemon_scene *daemon, const char *syscalls, const uint64_t *points,
                      int (*kill_at)(struct daemon_scene *daemon, const char *syscalls,
                                     uint64_t when))
{
    uint64_t kills = 0;
    if (!inject_is_possible()) {
        skip();
    }
    for (uint64_t i = 0; scene_is_long() ? i < MOST_POINTS : points[i] != 0; i++) {
        int r = kill_at(daemon, syscalls, scene_is_long() ? i + 1 : points[i]);
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
