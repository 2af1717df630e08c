// SPDX-License-Identifier: Apache-2.0
/*
 * flock(2) on the folder: shared while it is used, exclusive to empty it. The variables are those
 * of git(1). all opens: the git folder is the person's, and read-only in the sandboxes of agents.
 */
#include "git/claims/claim_objects.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define WAIT_NS  (30 * NS_PER_S)
#define PAUSE_NS (10 * NS_PER_MS)

/* Objects are spread over 256 folders, so one of them tells how many there are: git gc counts so,
 * too. This many are about 8000 objects. */
#define MANY_IN_A_FOLDER 32
#define MANY_PACKS       100

static int lock_shared(int fd, const char *folder, struct rondo_error *err)
{
    int64_t until_ns = clock_monotonic(clock_system()) + WAIT_NS;
    while (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot lock %s", folder);
        }
        if (clock_monotonic(clock_system()) >= until_ns) {
            return error_set(err, RONDO_ERR_BUSY, "%s is in use; try again", folder);
        }
        clock_sleep(clock_system(), PAUSE_NS, NULL);
    }
    return 0;
}

/** Append a path to a list with ':' between; in quotes a path may have one itself. */
static void append_quoted(struct buf *list, const char *path)
{
    buf_append_string(list, "\"");
    for (; *path != '\0'; path++) {
        buf_append(list, "\\", *path == '"' || *path == '\\' ? 1 : 0);
        buf_append(list, path, 1);
    }
    buf_append_string(list, "\"");
}

int git_claim_objects_open(struct git_connection *connection, struct git_claim_objects *ret_objects,
                           struct rondo_error *err)
{
    auto_buf struct buf folder = {0};
    auto_buf struct buf own = {0};
    auto_buf struct buf quoted = {0};
    const char *common = connection->git->repository->common_folder;
    buf_printf(&folder, "%s/rondo-claims", common);
    int r = file_make_folder(buf_string(&folder), err);
    if (r != 0) {
        return r;
    }
    int fd = open(buf_string(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", buf_string(&folder));
    }
    r = lock_shared(fd, buf_string(&folder), err);
    if (r != 0) {
        close(fd);
        return r;
    }
    buf_printf(&own, "%s/objects", common);
    append_quoted(&quoted, buf_string(&own));
    git_connection_add(connection, "GIT_OBJECT_DIRECTORY", buf_string(&folder));
    git_connection_add(connection, "GIT_ALTERNATE_OBJECT_DIRECTORIES", buf_string(&quoted));
    *ret_objects = (struct git_claim_objects){fd, buf_steal(&folder)};
    return 0;
}

static size_t count_entries(int folder_fd, const char *name)
{
    size_t count = 0;
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

void git_claim_objects_fini(struct git_claim_objects *objects)
{
    if (objects->folder == NULL) {
        return;
    }
    bool has_many = count_entries(objects->lock_fd, "17") > MANY_IN_A_FOLDER ||
                    count_entries(objects->lock_fd, "pack") > MANY_PACKS;
    if (has_many && flock(objects->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        (void)file_folder_clear(objects->lock_fd, NULL);
    }
    close(objects->lock_fd);
    free(objects->folder);
    *objects = (struct git_claim_objects){0};
}
