// SPDX-License-Identifier: Apache-2.0
/* Lists of hidden paths. Looks at the state folder, changes nothing; any thread. */
#include "loop/hidden_paths.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "handoff/desks/watch.h"
#include "os/file.h"
#include "os/sandbox/git_config.h"
#include "os/state_folder.h"
#include "os/trust.h"
#include "policy/watch.h"
#include "store/locate/database.h"
#include "store/locate/locate.h"

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

/** The store's own files, by their endings. What SQLite would take for its own counts too. */
static char **append_files(char **paths, const char *store_path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        paths = append(paths, join(store_path, strlen(store_path), endings[i]));
    }
    return append(paths, store_work_folder(store_path));
}

static char **append_store(char **paths, const char *store_path)
{
    if (store_is_in_old_folder(store_path)) {
        size_t len = (size_t)(strrchr(store_path, '/') - store_path);
        return append(paths, memory_dup_bytes(store_path, len));
    }
    paths = append_files(paths, store_path);
    auto_free char *policy = watch_default_path(store_path);
    return append(append_policies(paths, policy), desks_path_of_store(store_path));
}

/** Who reads them could write into the database. */
static char **append_credentials(char **paths, const char *store_path)
{
    char **files = store_database_credentials(store_path);
    for (size_t i = 0; files[i] != NULL; i++) {
        paths = append(paths, files[i]);
    }
    free(files);
    return paths;
}

struct hidden_listing {
    const char *own; /* the store that is hidden already */
    char **paths;
};

static bool take_record(void *context, const struct trust_record *record)
{
    struct hidden_listing *listing = context;
    bool is_other = listing->own == NULL || strcmp(record->path, listing->own) != 0;
    /* opens: only whether it is there; it is hidden then. */
    if (is_other && file_exists(record->path)) {
        listing->paths = append_store(listing->paths, record->path);
    }
    return true;
}

char **hidden_paths_of_store(const char *store_path)
{
    auto_free char *state = find_state();
    struct hidden_listing listing = {.own = store_path};
    if (state != NULL) {
        listing.paths = append(NULL, memory_dup_string(state));
    }
    if (store_path != NULL && !store_is_in_state(store_path)) {
        listing.paths = append_store(listing.paths, store_path);
    }
    if (store_is_in_database(store_path)) {
        listing.paths = append_credentials(listing.paths, store_path);
    }
    /* A run must not change what another one is resumed from. */
    /* opens: the state folder, which no agent reaches. */
    if (state != NULL && file_exists(state)) {
        trust_list(TRUST_STORE, take_record, &listing, NULL);
    }
    return listing.paths;
}

char **hidden_paths_of_run(const char *const *of_runtime, const char *policy)
{
    char **paths = memory_new_zero(1, sizeof(*paths));
    for (size_t i = 0; of_runtime != NULL && of_runtime[i] != NULL; i++) {
        paths = append(paths, memory_dup_string(of_runtime[i]));
    }
    return policy == NULL ? paths : append_policies(paths, policy);
}

char **protected_paths_of_run(const char *workspace, const char *role)
{
    static const char *const names[] = {"/rondo.yaml", "/" WATCH_SHARED_NAME};
    char **paths = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        paths = append(paths, join(workspace, strlen(workspace), names[i]));
    }
    char **of_git = sandbox_git_named(workspace);
    for (size_t i = 0; of_git != NULL && of_git[i] != NULL; i++) {
        paths = append(paths, of_git[i]);
    }
    free(of_git);
    return role == NULL ? paths : append(paths, memory_dup_string(role));
}

void hidden_paths_free(char **paths)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        free(paths[i]);
    }
    free(paths);
}
