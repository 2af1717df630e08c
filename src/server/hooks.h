// SPDX-License-Identifier: Apache-2.0
/* Webhooks of roles, POST /hooks/NAME. Any thread of the HTTP server. */
#pragma once

#include "net/server/http_server.h"

#include <stdbool.h>

struct server;

/** Whether a request is for a webhook: its path begins with /hooks/. */
bool hooks_have(const struct http_exchange *exchange);

/** Answer it, now or on a thread that may block. */
void hooks_dispatch(struct server *server, struct http_exchange *exchange);
