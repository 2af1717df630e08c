// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include "base/clock.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/postgres.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_ARGUMENTS 64

int64_t scene_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL || text[0] == '\0' ? otherwise : strtoll(text, NULL, 10);
}

bool scene_is_long(void)
{
    return scene_number("RONDO_CRASH_LONG", 0) != 0;
}

static const char *path_from(const char *name)
{
    const char *path = getenv(name);
    if (path == NULL) {
        fail_msg("%s is not set: run the tests through meson", name);
    }
    return path;
}

const char *victim_path(void)
{
    return path_from("RONDO_VICTIM");
}

const char *rondo_path(void)
{
    return path_from("RONDO_BINARY");
}

/** Room that a scene in memory needs at most. */
#define MEMORY_FREE_BYTES (UINT64_C(1) << 30)

static int set_up(void **state, const char *base)
{
    signal(SIGPIPE, SIG_IGN);
    struct crash_scene *scene = memory_new_zero(1, sizeof(*scene));
    snprintf(scene->folder, sizeof(scene->folder), "%s/rondo-crash-XXXXXX", base);
    if (mkdtemp(scene->folder) == NULL) {
        perror("mkdtemp");
        return -1;
    }
    snprintf(scene->store, sizeof(scene->store), "%s/store/a.db", scene->folder);
    snprintf(scene->effects, sizeof(scene->effects), "%s/effects", scene->folder);
    scene->seed = (uint64_t)scene_number("RONDO_CRASH_SEED", 0);
    if (scene->seed == 0) {
        scene->seed = random_u64(random_system()) >> 16;
    }
    scene->random = random_seeded(scene->seed);
    print_message("RONDO_CRASH_SEED=%" PRIu64 "\n", scene->seed);
    if (scene_number("RONDO_CRASH_SERVER", 0) != 0) {
        scene->server = postgres_new(NULL);
        if (scene->server == NULL) {
            exit(77); /* Skipped; the reason was printed. */
        }
        snprintf(scene->store, sizeof(scene->store), "%s", postgres_address(scene->server));
    }
    *state = scene;
    scene_clear(scene);
    return 0;
}

int scene_setup(void **state)
{
    const char *given = getenv("TMPDIR");
    return set_up(state, given == NULL ? "/tmp" : given);
}

int scene_setup_in_memory(void **state)
{
    struct statvfs memory;
    bool has_room = !scene_is_long() && getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0 &&
                    statvfs("/dev/shm", &memory) == 0 &&
                    (uint64_t)memory.f_bavail * memory.f_frsize >= MEMORY_FREE_BYTES;
    return has_room ? set_up(state, "/dev/shm") : scene_setup(state);
}

int scene_teardown(void **state)
{
    struct crash_scene *scene = *state;
    for (size_t i = 0; i < SCENE_CHILDREN; i++) {
        child_end(&scene->children[i]);
    }
    file_remove_tree(scene->folder, NULL);
    postgres_free(scene->server);
    free(scene);
    return 0;
}

void scene_clear(struct crash_scene *scene)
{
    char folder[SCENE_PATH + 16];
    snprintf(folder, sizeof(folder), "%s/store", scene->folder);
    assert_int_equal(file_remove_tree(folder, NULL), 0);
    assert_int_equal(file_make_folder(folder, NULL), 0);
    unlink(scene->effects);
    if (scene->server != NULL) { /* To make a schema takes longer than many a victim lives. */
        postgres_command(scene->server,
                         "sql a DO $$ BEGIN IF to_regclass('rondo.runs') IS NOT NULL THEN TRUNCATE"
                         " rondo.runs, rondo.events, rondo.checkpoints, rondo.interims,"
                         " rondo.letters, rondo.documents; END IF; END $$");
    }
}

/** Ask the store. @return a statement at its first row, or NULL; finalize it and close *ret_db */
static sqlite3_stmt *first_row(const struct crash_scene *scene, const char *query, sqlite3 **ret_db)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_open_v2(scene->store, ret_db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(*ret_db, 10000) == SQLITE_OK &&
        sqlite3_prepare_v2(*ret_db, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        return statement;
    }
    sqlite3_finalize(statement);
    return NULL;
}

int64_t scene_count(const struct crash_scene *scene, const char *query)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = first_row(scene, query, &db);
    int64_t number = row == NULL ? -1 : sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return number;
}

bool scene_text(const struct crash_scene *scene, const char *query, char *ret_text, size_t size)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = first_row(scene, query, &db);
    const unsigned char *text = row == NULL ? NULL : sqlite3_column_text(row, 0);
    snprintf(ret_text, size, "%s", text == NULL ? "" : (const char *)text);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return row != NULL;
}

static struct child *free_slot(struct crash_scene *scene)
{
    for (size_t i = 0; i < SCENE_CHILDREN; i++) {
        if (scene->children[i].pid == 0) {
            return &scene->children[i];
        }
    }
    fail_msg("too many children");
    return NULL;
}

static void make_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0) {
        fail_msg("pipe2: %s", strerror(errno));
    }
}

struct child *child_start(struct crash_scene *scene, const char *const *arguments)
{
    extern char **environ;
    const char *argv[CHILD_ARGUMENTS] = {victim_path(), "--exec"};
    size_t count = strcmp(arguments[0], argv[0]) == 0 ? 0 : 2;
    while (*arguments != NULL && count + 1 < CHILD_ARGUMENTS) {
        argv[count++] = *arguments++;
    }
    argv[count] = NULL;
    struct child *child = free_slot(scene);
    int in[2], out[2];
    make_pipe(in);
    make_pipe(out);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    int r = posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(in[0]);
    close(out[1]);
    if (r != 0) {
        fail_msg("cannot start %s: %s", argv[0], strerror(r));
    }
    *child = (struct child){.pid = pid, .out_fd = out[0], .in_fd = in[1]};
    return child;
}

/** Read once. @return false at the end of the output */
static bool read_some(struct child *child)
{
    char bytes[16384];
    ssize_t n = read(child->out_fd, bytes, sizeof(bytes));
    if (n > 0) {
        buf_append(&child->out, bytes, (size_t)n);
        return true;
    }
    if (n < 0 && errno == EINTR) {
        return true;
    }
    close(child->out_fd);
    child->out_fd = -1;
    return false;
}

/** Wait for output and read once. @return false at the end of the output */
static bool wait_some(struct child *child, int64_t duration_ns)
{
    struct timespec wait = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
    struct pollfd poll_fd = {.fd = child->out_fd, .events = POLLIN};
    return ppoll(&poll_fd, 1, &wait, NULL) <= 0 || read_some(child);
}

bool child_listen(struct child *child, int64_t duration_ns)
{
    int64_t deadline = clock_monotonic(clock_system()) + duration_ns;
    while (child->out_fd >= 0) {
        int64_t left = deadline - clock_monotonic(clock_system());
        if (left <= 0) {
            return true;
        }
        wait_some(child, left);
    }
    return false;
}

static void fail_hanging(struct child *child, const char *what)
{
    fail_msg("process %d hangs (%s); it said:\n%s", (int)child->pid, what, buf_string(&child->out));
}

/** Read to the end of the output, and reap. */
static void finish(struct child *child)
{
    if (child_listen(child, SCENE_PATIENCE_NS)) {
        fail_hanging(child, "output stays open");
    }
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR) {
    }
    kill(-child->pid, SIGKILL);
    child->pid = -1;
}

void child_kill(struct child *child)
{
    if (child->pid > 0) {
        kill(-child->pid, SIGKILL);
        finish(child);
    }
}

void child_kill_alone(struct child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        finish(child);
    }
}

int child_wait(struct child *child)
{
    if (child->pid > 0) {
        finish(child);
    }
    return child->status;
}

const char *child_line(struct child *child)
{
    int64_t deadline = clock_monotonic(clock_system()) + SCENE_PATIENCE_NS;
    for (;;) {
        const char *start = child->out.data == NULL ? NULL : child->out.data + child->read_to;
        const char *end = start == NULL ? NULL : strchr(start, '\n');
        if (end != NULL) {
            child->read_to += (size_t)(end - start) + 1;
            buf_clear(&child->line);
            buf_append(&child->line, start, (size_t)(end - start));
            return buf_string(&child->line);
        }
        if (child->out_fd < 0) {
            return NULL;
        }
        if (clock_monotonic(clock_system()) >= deadline) {
            fail_hanging(child, "says nothing");
        }
        wait_some(child, 50 * NS_PER_MS);
    }
}

const char *child_expect(struct child *child, const char *prefix)
{
    const char *line;
    while ((line = child_line(child)) != NULL) {
        if (strncmp(line, prefix, strlen(prefix)) == 0) {
            return line;
        }
    }
    return NULL;
}

void child_tell(struct child *child, const char *text)
{
    if (text != NULL) {
        ssize_t written = write(child->in_fd, text, strlen(text));
        (void)written; /* A child that is gone is noticed by its silence. */
    } else if (child->in_fd >= 0) {
        close(child->in_fd);
        child->in_fd = -1;
    }
}

void child_end(struct child *child)
{
    if (child == NULL || child->pid == 0) {
        return;
    }
    if (child->pid > 0) {
        kill(-child->pid, SIGKILL);
        waitpid(child->pid, &child->status, 0);
    }
    if (child->out_fd >= 0) {
        close(child->out_fd);
    }
    if (child->in_fd >= 0) {
        close(child->in_fd);
    }
    buf_fini(&child->out);
    buf_fini(&child->line);
    *child = (struct child){0};
}
