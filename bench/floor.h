// SPDX-License-Identifier: Apache-2.0
/* The floor under a durable write: SQLite alone, one table, one row a transaction, as durable. */
#pragma once

#include <stddef.h>

struct floor;

/** Make a database with WAL and synchronous=FULL. Dies on failure. floor_close(). */
struct floor *floor_open(const char *path);
void floor_close(struct floor *floor);

/** Commit one row with a blob. */
void floor_commit(struct floor *floor, const void *bytes, size_t len);

/** One number that a query on any database gives. */
double floor_query(const char *path, const char *sql);
