// SPDX-License-Identifier: Apache-2.0
/*
 * What each crash test works with: a folder of its own, child processes that are killed and reaped
 * whatever becomes of the test, and the lines that children say on their standard output.
 * One thread.
 */
#pragma once

#include "base/buf.h"
#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCENE_PATH     4096
#define SCENE_CHILDREN 16
/** After so long a child that should end or speak counts as hanging. */
#define SCENE_PATIENCE_NS INT64_C(600000000000)

struct child {
    pid_t pid;  /**< also its process group; 0 = none */
    int out_fd; /**< its stdout and stderr; -1 = closed */
    int in_fd;  /**< its stdin */
    struct buf out;
    struct buf line; /**< what child_line gave out last */
    size_t read_to;  /**< end of the lines that child_line has given out */
    int status;      /**< of waitpid, once it has ended */
};

struct postgres;

struct crash_scene {
    char folder[SCENE_PATH];
    char store[SCENE_PATH + 16];
    char effects[SCENE_PATH + 16];
    struct child children[SCENE_CHILDREN];
    struct random random;
    uint64_t seed;
    struct postgres *server; /**< of the store; NULL = that is a file. See RONDO_CRASH_SERVER */
};

/**
 * cmocka set-up and tear-down: make the folder; kill all children, remove everything. With
 * RONDO_CRASH_SERVER=1 in the environment the store is in a server of PostgreSQL; without such a
 * server here the program is skipped.
 */
int scene_setup(void **state);
/**
 * The same without waiting for a disk, in the bounded suite where there is room: a process that is
 * killed at a call loses nothing that was written before, whatever is below.
 */
int scene_setup_in_memory(void **state);
int scene_teardown(void **state);

/** Number from the environment variable `name`, else `otherwise`. */
int64_t scene_number(const char *name, int64_t otherwise);

/** Whether the long version was asked for (RONDO_CRASH_LONG=1). */
bool scene_is_long(void);

/** Forget the store and the effects: the next victim starts with nothing. */
void scene_clear(struct crash_scene *scene);

/** The number that a query of the store comes to; -1 when there is no store yet. */
int64_t scene_count(const struct crash_scene *scene, const char *query);
/** The text that a query comes to; "" when there is none. @return whether there is a row */
bool scene_text(const struct crash_scene *scene, const char *query, char *ret_text, size_t size);

/**
 * Start a program in a process group of its own, with a pipe as stdin and one for stdout and
 * stderr.
 * It dies with the test program, however that ends.
 * @param arguments NULL-terminated
 * @return a slot of the scene; child_end() frees it. Fails the test when it cannot be started.
 */
struct child *child_start(struct crash_scene *scene, const char *const *arguments);

/** Kill the whole group with SIGKILL, read what is left to read, and reap. Frees nothing. */
void child_kill(struct child *child);

/** Kill the process alone and reap it: what it started has to go by itself. */
void child_kill_alone(struct child *child);

/** Wait until it has ended by itself; fails the test when it hangs. @return its waitpid status */
int child_wait(struct child *child);

/** Read what comes during `duration_ns`. @return false at the end of the output */
bool child_listen(struct child *child, int64_t duration_ns);

/**
 * The next whole line, waiting for it.
 * @return borrowed, without the line end, until the next call; NULL at the end of the output. Fails
 *         the test when the child hangs.
 */
const char *child_line(struct child *child);

/** The next line that begins with `prefix`, skipping others. NULL when there is none. */
const char *child_expect(struct child *child, const char *prefix);

/** Say something to its stdin, or with NULL close it. */
void child_tell(struct child *child, const char *text);

/** Kill it if it still lives, and free the slot. NULL is allowed. */
void child_end(struct child *child);

/** Path of the victim program; from the environment variable RONDO_VICTIM, set by the build. */
const char *victim_path(void);

/** Path of the rondo binary; likewise, RONDO_BINARY. */
const char *rondo_path(void);
