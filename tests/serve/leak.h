// SPDX-License-Identifier: Apache-2.0
/* What the files of the leak test share: the server under test and what it is asked. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Operations that a description may have. */
#define LEAK_ROUTES 128

struct leak_route {
    char method[8];
    char path[160]; /**< with ids that exist, or not */
    bool has_body;
    bool is_public;
    bool is_stream;
    const char *token; /**< one that may; borrowed from the server */
};

/** A `rondo serve` of our own, with a finished run in its store. */
struct leak_server {
    const char *program; /**< rondo */
    char folder[64];
    pid_t pid;
    char address[64]; /**< HOST:PORT */
    char administer[128];
    char read[128];
    char other[128]; /**< read, another agent's */
    char agent[128];
    char reveal[128]; /**< decides, too */
    char run[64];
    struct leak_route routes[LEAK_ROUTES];
    size_t route_count;
};

/** Start it with further arguments. Dies when that is impossible. */
void leak_server_start(struct leak_server *server, const char *program, const char *const *more);
void leak_server_end(struct leak_server *server);
/** KiB of memory, and descriptors, that it has now. */
long leak_server_rss(const struct leak_server *server);
int leak_server_descriptors(const struct leak_server *server);
/** Seconds of the processor that it has used. */
double leak_server_seconds(const struct leak_server *server);

/** Write why, and exit with 1. */
void leak_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
