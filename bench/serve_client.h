// SPDX-License-Identifier: Apache-2.0
/* The least of an HTTP client that talks to a `rondo serve` on this machine. One thread. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/** A server that was started for a figure. */
struct serve_process {
    pid_t pid;
    int port;
};

/**
 * Start `rondo serve` on a free port and wait until it says that it serves; dies when it does not.
 * @param more further arguments, NULL-terminated; or NULL
 */
struct serve_process serve_start(const char *cli, const char *store, const char *const *more);
/** The same of a command that serves, such as `rondo daemon ROLE`. @param command NULL-terminated
 */
struct serve_process serve_start_as(const char *cli, const char *const *command, const char *store,
                                    const char *const *more);
/** End it with a signal and wait. */
void serve_end(const struct serve_process *server, int signal_number);

/**
 * Ask on a connection of its own and read the whole answer.
 * @param ret_body up to `size` - 1 bytes of the body, NUL-terminated; the rest is dropped
 * @return the status; dies when there is no answer
 */
int serve_ask(int port, const char *method, const char *path, const char *body, char *ret_body,
              size_t size);

/** Open a connection for several questions. @return the socket; close() it */
int serve_connect(int port);
/** As serve_ask, on a connection that stays open. */
int serve_ask_on(int fd, const char *method, const char *path, const char *body, char *ret_body,
                 size_t size);

/** As serve_ask_on, with further headers: lines with their ends. */
int serve_ask_with(int fd, const char *headers, const char *method, const char *path,
                   const char *body, char *ret_body, size_t size);

/** CPU time that a process has taken, seconds. */
double serve_cpu_s(pid_t pid);
/** A value of a process in KiB, by its key in /proc/PID/status ("VmRSS:"); 0 when absent. */
double serve_status_kib(pid_t pid, const char *key);
/** How often its threads have begun to wait: each time is followed by a wake-up. */
double serve_waits(pid_t pid);
/** Number of descriptors that a process has open. */
size_t serve_descriptors(pid_t pid);

/** Open a connection and ask for a stream. @param token "" = none @return the socket, non-blocking
 */
int serve_stream(int port, const char *path, const char *token);
