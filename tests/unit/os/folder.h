// SPDX-License-Identifier: Apache-2.0
/* A scratch folder for each test, and a folder that the test holds open: that one or one in it. */
#pragma once

#include "helper.h"

static char folder[PATH_MAX];
static int folder_fd; /* opened by the test's own set_up */

static int tear_down(void **state)
{
    (void)state;
    close(folder_fd);
    scratch_remove(folder);
    return 0;
}

/** "folder/name"; valid until the next call. */
static const char *path_of(const char *name)
{
    static char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}
