// SPDX-License-Identifier: Apache-2.0
/*
 * The ports of webhooks: for clients that call http://127.0.0.1:PORT/PATH as the role says. A port
 * is listened on, on the loopback only, as long as a source is reached there; sources share it.
 * Nothing else is answered there: neither the API nor the dashboard.
 *
 * Any thread. hook_ports_remove() waits until the source answers no request any more.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct hook_ports;
struct source;

/** Where a source is reached. Texts are borrowed until it is removed. */
struct hook_place {
    uint16_t port;
    const char *method;
    const char *path;
    struct source *source; /**< its `receive` answers */
    bool is_unsigned;      /**< answers only those who call an address and not a name */
};

/** No port yet. @return hook_ports_free() */
struct hook_ports *hook_ports_new(void);
/** All sources were removed. NULL is allowed. */
void hook_ports_free(struct hook_ports *ports);

/**
 * Listen for a source, beside others on the same port.
 * @param ports NULL: there is nothing to listen with, which is no error
 * @return RONDO_ERR_BUSY: another program has the port, or another source the path
 */
int hook_ports_add(struct hook_ports *ports, const struct hook_place *place,
                   struct rondo_error *err);
/** Listen for it no more; one that was never added is ignored, and NULL as above. */
void hook_ports_remove(struct hook_ports *ports, const struct source *source);
