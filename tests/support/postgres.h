// SPDX-License-Identifier: Apache-2.0
/*
 * PostgreSQL servers of a test: tests/support/postgres.py, which has the commands, driven by pipes.
 * They end with the test, however that ends. One thread at a time.
 */
#pragma once

#include <stdbool.h>

struct postgres;

/** How servers are started; all zero is what most tests need. */
struct postgres_options {
    bool has_tcp;            /**< it also listens on 127.0.0.1, with a password */
    bool is_on_disk;         /**< data is on a disk, not in memory */
    const char *settings[4]; /**< NAME=VALUE of postgresql.conf, NULL-terminated */
};

/**
 * Start a server, `a`. Takes a quarter of a second, the first time in a build folder two.
 * @param options NULL = all zero
 * @return owned, postgres_free(); NULL when this machine has no PostgreSQL: the reason is printed,
 *         and the test has to skip. Any other failure ends the program.
 */
struct postgres *postgres_new(const struct postgres_options *options);

/** The address of the socket of server `a`, as a store: valid until postgres_free(). */
const char *postgres_address(const struct postgres *postgres);

/**
 * Perform a command of the script ("kill a", "sql a SELECT 1"). A failure ends the program.
 * @return its answer, valid until the next command
 */
const char *postgres_command(struct postgres *postgres, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** End all servers and delete what they wrote. NULL is allowed. */
void postgres_free(struct postgres *postgres);
