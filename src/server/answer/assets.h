// SPDX-License-Identifier: Apache-2.0
/* The files of the dashboard, embedded when the program is built (src/server/embed.py). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct asset {
    const char *path;         /**< "/", "/app-1a2b3c.js" */
    const char *content_type; /**< with its charset */
    const char *etag;         /**< quoted */
    bool is_immutable;        /**< its name changes with its content */
    const unsigned char *bytes;
    size_t len;
    const unsigned char *gzip; /**< the same, compressed; NULL where that is no gain */
    size_t gzip_len;
};

/** @return the asset of a path, or NULL. */
const struct asset *asset_find(const char *path);

/** Number of assets: 0 when the program was built without the dashboard. */
size_t asset_count(void);
