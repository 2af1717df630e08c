// SPDX-License-Identifier: Apache-2.0
/* Looking up the files of the dashboard. They never change: any thread. */
#include "server/answer/assets.h"

#include "server/answer/assets_table.h"

#include <string.h>

const struct asset *asset_find(const char *path)
{
    const char *name = strcmp(path, "/index.html") == 0 ? "/" : path;
    for (size_t i = 0; i < asset_table_len; i++) {
        if (strcmp(asset_table[i].path, name) == 0) {
            return &asset_table[i];
        }
    }
    return NULL;
}

size_t asset_count(void)
{
    return asset_table_len;
}
