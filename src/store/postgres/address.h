// SPDX-License-Identifier: Apache-2.0
/* What an address of a PostgreSQL store says. Pure functions; any thread. */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>

/** Bytes of a schema's name, the NUL included: PostgreSQL keeps 63 bytes of a name. */
#define POSTGRES_SCHEMA_SIZE 64
/** Connections that a store may have, and has when the address does not say. */
#define POSTGRES_CONNECTIONS_MAX     64
#define POSTGRES_CONNECTIONS_DEFAULT 4

struct postgres_address {
    char *uri;   /**< what libpq gets: the address without our parameters. Owned; a secret */
    char *shown; /**< for people: without passwords. Owned */
    char schema[POSTGRES_SCHEMA_SIZE];
    unsigned connections;
};

/**
 * Take an address apart.
 * @param ret_address postgres_address_fini()
 * @return 0, or RONDO_ERR_INVALID when it is none, or one of our parameters is wrong
 */
int postgres_address_parse(const char *text, struct postgres_address *ret_address,
                           struct rondo_error *err);

/** Release. */
void postgres_address_fini(struct postgres_address *address);

/** Refuse a name that cannot be that of a schema: letters a to z, digits and '_', no digit first.
 */
int postgres_check_schema(const char *name, struct rondo_error *err);
