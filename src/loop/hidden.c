// SPDX-License-Identifier: Apache-2.0
/* Lists of hidden paths. Pure but for allocation; any thread. */
#include "loop/hidden.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
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

static bool is_own_folder(const char *path, size_t folder_len)
{
    static const char name[] = "/" STORE_FOLDER_NAME;
    size_t len = sizeof(name) - 1;
    return folder_len >= len && strncmp(path + folder_len - len, name, len) == 0;
}

char **hidden_of_store(const char *store_path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    const char *slash = strrchr(store_path, '/');
    size_t folder_len = slash == NULL ? 0 : (size_t)(slash - store_path);
    if (is_own_folder(store_path, folder_len)) {
        return append(NULL, memory_dup_bytes(store_path, folder_len));
    }
    char **paths = NULL;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        paths = append(paths, join(store_path, strlen(store_path), endings[i]));
    }
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
