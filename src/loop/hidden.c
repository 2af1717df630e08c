// SPDX-License-Identifier: Apache-2.0
/* Lists of hidden paths. Pure but for allocation; any thread. */
#include "loop/hidden.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/state_folder.h"
#include "policy/watch.h"
#include "store/locate.h"

#include <stdlib.h>
#include <string.h>

/** Takes `path` over. */
static char **append(char **paths, char *path)
{
    size_t count = 0;
    while (paths != NULL && paths[count] != NULL) {
        count++;
    }
    paths = memory_resize(paths, count + 2, sizeof(*paths));
    paths[count] = path;
    paths[count + 1] = NULL;
    return paths;
}

static char *join(const char *first, size_t first_len, const char *second)
{
    struct buf path = {0};
    buf_append(&path, first, first_len);
    buf_append_string(&path, second);
    return buf_steal(&path);
}

static char **append_policies(char **paths, const char *policy)
{
    for (size_t i = 0; i < WATCH_PARTS; i++) {
        paths = append(paths, watch_part_path(policy, i));
    }
    return paths;
}

/** The state folder by the name that the kernel knows; NULL when the user has none. */
static char *find_state(void)
{
    auto_free char *path = NULL;
    if (state_folder_path(&path, NULL) < 0) {
        return NULL;
    }
    /* opens: only a name; a path of Rondo's own */
    char *real = realpath(path, NULL);
    return real != NULL ? real : steal_pointer(&path);
}

static bool is_within(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/** The store's own files, by their endings. What SQLite would take for its own counts too. */
static char **append_files(char **paths, const char *store_path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        paths = append(paths, join(store_path, strlen(store_path), endings[i]));
    }
    return append(paths, store_work_folder(store_path));
}

char **hidden_of_store(const char *store_path)
{
    auto_free char *state = find_state();
    char **paths = state == NULL ? NULL : append(NULL, memory_dup_string(state));
    if (state != NULL && is_within(store_path, state)) {
        return paths;
    }
    if (store_is_in_old_folder(store_path)) {
        return append(
            paths, memory_dup_bytes(store_path, (size_t)(strrchr(store_path, '/') - store_path)));
    }
    paths = append_files(paths, store_path);
    auto_free char *policy = watch_default_path(store_path);
    return append_policies(paths, policy);
}

char **hidden_of_run(const char *const *of_runtime, const char *policy)
{
    char **paths = memory_new_zero(1, sizeof(*paths));
    for (size_t i = 0; of_runtime != NULL && of_runtime[i] != NULL; i++) {
        paths = append(paths, memory_dup_string(of_runtime[i]));
    }
    return policy == NULL ? paths : append_policies(paths, policy);
}

void hidden_free(char **paths)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        free(paths[i]);
    }
    free(paths);
}
