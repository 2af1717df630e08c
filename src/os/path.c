// SPDX-License-Identifier: Apache-2.0
/* Paths as text. */
#include "os/path.h"

#include <string.h>

bool path_is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    if (len == 1) {
        return path[1] != '\0';
    }
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}
