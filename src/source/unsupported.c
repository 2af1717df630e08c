// SPDX-License-Identifier: Apache-2.0
/*
 * Types whose triggers are read and checked, and cannot be opened: their services need a gateway
 * over WebSocket, which Rondo does not speak.
 */
#include "base/error.h"
#include "source/source.h"

#include <stddef.h>

static int open_nothing(struct json_object *config, const struct source_host *host,
                        const char *mark, struct source **ret_source, struct rondo_error *err)
{
    (void)config;
    (void)host;
    (void)mark;
    (void)ret_source;
    return error_set(err, RONDO_ERR_UNSUPPORTED,
                     "it needs a connection by WebSocket, which Rondo does not have; use a "
                     "webhook or telegram trigger instead");
}

static const char *const identity[] = {"channel_ids", "token_env", "bot_token_env", NULL};
static const char *const summary[] = {"channel_ids", NULL};

const struct source_type discord_source_type = {
    .name = "discord",
    .identity = identity,
    .summary = summary,
    .open = open_nothing,
};

const struct source_type slack_source_type = {
    .name = "slack",
    .identity = identity,
    .summary = summary,
    .open = open_nothing,
};
