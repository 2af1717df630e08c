// SPDX-License-Identifier: Apache-2.0
/*
 * `rondo daemon` with one role, killed exactly before the N-th call of a system call, counted from
 * when it is ready. Events come to its webhook, as often as a sender sends them.
 *
 * strace is attached to the running daemon and counts for each of its threads by itself, so which
 * thread is hit first may vary; what must be true afterwards does not.
 */
#pragma once

#include "scene.h"

#include "base/id.h"

#define DAEMON_PATH (SCENE_PATH + 64)

struct daemon_scene {
    struct crash_scene *scene;
    char role[DAEMON_PATH];
    char workspace[DAEMON_PATH];
    char listen[DAEMON_PATH];
    struct child *daemon;
};

/** cmocka set-up and tear-down; *state is a struct daemon_scene. The role has yet to be written. */
int daemon_setup(void **state);
int daemon_teardown(void **state);

/** Write a file beside the role; the role itself is "role.yaml", its metadata.name "tester". */
void daemon_write_file(const struct daemon_scene *daemon, const char *name, const char *text);

/** Start it and wait until it serves. */
void daemon_start(struct daemon_scene *daemon);
/** Ask it to end, and wait for it. Nothing else is left to do when it is dead. */
void daemon_end(struct daemon_scene *daemon);

/**
 * Send an event to its webhook and wait for the answer.
 * @param key        by which it is recognised when it is sent again; also its text
 * @param ret_run_id set when it was answered
 * @return whether it was
 */
bool daemon_send(const struct daemon_scene *daemon, const char *key, char ret_run_id[ID_SIZE]);

/** The number that a query of the store comes to; -1 when there is no store yet. */
int64_t daemon_count(const struct daemon_scene *daemon, const char *query);

/** Wait until `is_done` says so, or the daemon is dead. @return the latter */
bool daemon_wait(struct daemon_scene *daemon, bool (*is_done)(struct daemon_scene *daemon));

/** Have it killed. @return strace, child_end(); NULL when it may not attach */
struct child *daemon_kill_at(const struct daemon_scene *daemon, const char *syscalls,
                             uint64_t when);

/**
 * Try the points of `points`, which ends with 0; in the long version the first 60 that there
 * are, until one is not reached.
 * @param kill_at 1 killed, 0 it was done before, -1 it cannot be tried here
 */
void daemon_enumerate(struct daemon_scene *daemon, const char *syscalls, const uint64_t *points,
                      int (*kill_at)(struct daemon_scene *daemon, const char *syscalls,
                                     uint64_t when));
