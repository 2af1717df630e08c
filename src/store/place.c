// SPDX-License-Identifier: Apache-2.0
/* What a store's path says. */
#include "store/place.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
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

/** Whether a path is below a sub-folder of the user's state folder. */
static bool is_below(const char *store_path, const char *sub_folder)
{
    auto_free char *state = NULL;
    if (state_folder_path(&state, NULL) < 0) {
        return false;
    }
    /* opens: the state folder is the user's; no sandbox can write it */
    auto_free char *real = realpath(state, NULL);
    auto_buf struct buf folder = {0};
    buf_printf(&folder, "%s/%s/", real == NULL ? state : real, sub_folder);
    return strncmp(store_path, buf_string(&folder), folder.len) == 0;
}

bool store_is_in_state(const char *store_path)
{
    return is_below(store_path, STATE_PROJECTS) || store_is_in_database(store_path);
}

bool store_is_in_database(const char *store_path)
{
    return store_path != NULL && is_below(store_path, STATE_DATABASES);
}

char *store_name_of(const char *store_path)
{
    auto_buf struct buf text = {0};
    /* opens: as above */
    if (!store_is_in_database(store_path) ||
        file_read(store_path, LIMIT_STORE_ADDRESS_BYTES + 1, &text, NULL) < 0) {
        return memory_dup_string(store_path);
    }
    char *name = buf_steal(&text);
    name[strcspn(name, "\n")] = '\0';
    return name;
}

bool store_is_in_old_folder(const char *store_path)
{
    static const char folder[] = "/" STORE_OLD_FOLDER_NAME;
    size_t len = sizeof(folder) - 1;
    size_t end = (size_t)(strrchr(store_path, '/') - store_path);
    return end >= len && strncmp(store_path + end - len, folder, len) == 0;
}
