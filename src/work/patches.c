// SPDX-License-Identifier: Apache-2.0
/* Patches that nobody needs any more. all opens: in the state folder, which no agent can write. */
#include "work/patches.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "os/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** @param ret_run_id ID_SIZE bytes */
static bool is_patch(const char *name, char *ret_run_id)
{
    static const char end[] = ".patch";
    size_t len = strlen(name);
    if (len <= ID_SIZE + sizeof(end) - 1 || name[ID_SIZE - 1] != '-' ||
        strcmp(name + len - (sizeof(end) - 1), end) != 0) {
        return false;
    }
    memcpy(ret_run_id, name, ID_SIZE - 1);
    ret_run_id[ID_SIZE - 1] = '\0';
    return true;
}

static bool is_old(int folder_fd, const char *name, int64_t before_ns)
{
    struct stat status;
    return fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           (int64_t)status.st_mtim.tv_sec < before_ns / NS_PER_S;
}

/** Whether a run of this store may still need it. What cannot be read may. */
static bool is_needed(struct store *store, const char *run_id, int64_t before_ns)
{
    struct store_run row;
    int r = store->ops->get_run(store, run_id, &row, NULL);
    return r == 0 ? row.ended_ns == 0 || row.ended_ns >= before_ns : r != RONDO_ERR_NOT_FOUND;
}

int work_patches_sweep(struct store *store, int64_t ended_before_ns, bool is_dry_run,
                       uint64_t *ret_count, struct rondo_error *err)
{
    auto_free char *path = NULL;
    uint64_t count = 0;
    char run_id[ID_SIZE];
    int r = state_sub_folder("patches", &path, err);
    if (r == RONDO_ERR_NOT_FOUND) {
        *ret_count = 0; /* The user has no home. */
        return 0;
    }
    DIR *folder = r < 0 ? NULL : opendir(path);
    if (r == 0 && folder == NULL) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "%s", path);
    }
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (is_patch(entry->d_name, run_id) &&
            is_old(dirfd(folder), entry->d_name, ended_before_ns) &&
            !is_needed(store, run_id, ended_before_ns) &&
            (is_dry_run || unlinkat(dirfd(folder), entry->d_name, 0) == 0)) {
            count++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (r == 0) {
        *ret_count = count;
    }
    return r;
}
