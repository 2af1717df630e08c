// SPDX-License-Identifier: Apache-2.0
/*
 * all opens: paths that a person named; what a role may do is checked when it is read
 * (agent_confirm_role).
 */
#include "role/folder.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool role_folder_is(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool role_folder_has(const char *name)
{
    return fnmatch("*.yaml", name, FNM_PERIOD) == 0 || fnmatch("*.yml", name, FNM_PERIOD) == 0;
}

static int select_role(const struct dirent *entry)
{
    return role_folder_has(entry->d_name) ? 1 : 0;
}

int role_folder_list(const char *path, char ***ret_paths, struct rondo_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, select_role, alphasort);
    if (count < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot read the folder %s", path);
    }
    char **paths = memory_new_zero((size_t)count + 1, sizeof(*paths));
    size_t len = strlen(path);
    size_t listed = 0;
    for (int i = 0; i < count; i++) {
        auto_buf struct buf file = {0};
        const char *between = len > 0 && path[len - 1] == '/' ? "" : "/";
        buf_printf(&file, "%s%s%s", path, between, entries[i]->d_name);
        if (!role_folder_is(buf_string(&file))) {
            paths[listed++] = buf_steal(&file);
        }
        free(entries[i]);
    }
    free(entries);
    *ret_paths = paths;
    return 0;
}
