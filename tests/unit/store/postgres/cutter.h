// SPDX-License-Identifier: Apache-2.0
/*
 * A proxy between a store and its server that cuts connections at chosen moments. It listens on a
 * Unix socket in a folder of its own and works in a thread of its own.
 */
#pragma once

#include <stddef.h>

struct line_cutter;

/** What to do to the connections. */
enum cutter_mode {
    CUTTER_OFF = 0,  /**< all passes */
    CUTTER_REQUESTS, /**< cut both ways when so many bytes of requests have passed */
    CUTTER_ANSWERS,  /**< cut both ways before the n-th answer passes; 0 = the first one */
};

/** @param address of the server's Unix socket. @return owned, cutter_free() */
struct line_cutter *cutter_new(const char *address);
/** The address by which a store connects through it. */
const char *cutter_address(const struct line_cutter *cutter);
/** From now on. What connects after a cut passes. */
void cutter_arm(struct line_cutter *cutter, enum cutter_mode mode, size_t count);
/** How often it has cut. */
unsigned cutter_count(struct line_cutter *cutter);
void cutter_free(struct line_cutter *cutter);
