// SPDX-License-Identifier: Apache-2.0
/* What a store's path says. */
#include "store/place.h"

#include "base/auto.h"
#include "base/buf.h"
#include "os/state_folder.h"

#include <stdlib.h>
#include <string.h>

char *store_work_folder(const char *store_path)
{
    struct buf path = {0};
    if (store_is_in_state(store_path) || store_is_in_old_folder(store_path)) {
        buf_append(&path, store_path, (size_t)(strrchr(store_path, '/') - store_path));
        buf_append_string(&path, "/work");
    } else {
        buf_printf(&path, "%s.work", store_path);
    }
    return buf_steal(&path);
}

bool store_is_in_state(const char *store_path)
{
    auto_free char *state = NULL;
    if (state_folder_path(&state, NULL) < 0) {
        return false;
    }
    /* opens: the state folder is the user's; no sandbox can write it */
    auto_free char *real = realpath(state, NULL);
    auto_buf struct buf projects = {0};
    buf_printf(&projects, "%s/" STATE_PROJECTS "/", real == NULL ? state : real);
    return strncmp(store_path, buf_string(&projects), projects.len) == 0;
}

bool store_is_in_old_folder(const char *store_path)
{
    static const char folder[] = "/" STORE_OLD_FOLDER_NAME;
    size_t len = sizeof(folder) - 1;
    size_t end = (size_t)(strrchr(store_path, '/') - store_path);
    return end >= len && strncmp(store_path + end - len, folder, len) == 0;
}
