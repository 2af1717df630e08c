// SPDX-License-Identifier: Apache-2.0
/*
 * Clones that Rondo keeps: an empty repository whose remote is the address, then what an open clone
 * needs as well: fetch, check out. So a clone that was killed in the middle is completed by the
 * next opening. all opens: the folder is ours, and read-only in the sandboxes of agents.
 */
#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/claims/claims.h"
#include "git/commit.h"
#include "git/remote.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/process/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOCK_PAUSE_NS (100 * NS_PER_MS)

struct clone {
    const char *folder; /* with the lock */
    char *path;         /* of the clone */
    const struct git_access *access;
    const char *address;
    const char *branch;
    struct cancel *cancel;
    int64_t until_ns;
};

/* --- the folder --- */

/** @return the lock, to be closed; or a negative code */
static int lock_folder(const struct clone *clone, struct rondo_error *err)
{
    int r = file_make_folder(clone->folder, err);
    if (r != 0) {
        return r;
    }
    int fd = open(clone->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", clone->folder);
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        r = errno != EWOULDBLOCK && errno != EINTR
                ? error_set_errno(err, RONDO_ERR_IO, errno, "cannot lock %s", clone->folder)
            : clone->cancel != NULL && cancel_is_set(clone->cancel)
                ? error_set(err, RONDO_ERR_CANCELLED, "waiting for %s was stopped", clone->folder)
            : clock_monotonic(clock_system()) >= clone->until_ns
                ? error_set(err, RONDO_ERR_BUSY, "%s is being changed by another process",
                            clone->folder)
                : 0;
        if (r != 0) {
            close(fd);
            return r;
        }
        clock_sleep(clock_system(), LOCK_PAUSE_NS, clone->cancel);
    }
    return fd;
}

/** Locks of a git that was killed: nobody else works with this HEAD and this index. */
static void remove_locks(const struct clone *clone)
{
    static const char *const names[] = {"index.lock", "HEAD.lock", "config.lock"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/.git/%s", clone->path, names[i]);
        (void)unlink(buf_string(&path));
    }
}

/* --- an empty repository --- */

/** Git that runs in the folder, where no repository need be. */
static int find_git(const struct clone *clone, struct git_repository *ret_stub,
                    struct rondo_error *err)
{
    char reason[256];
    char **environment = environment_reduced(NULL, NULL);
    bool is_found =
        program_find_system("git", (const char *const *)environment, ret_stub->program, reason);
    environment_free(environment);
    ret_stub->common_folder = memory_dup_string(clone->folder);
    return is_found ? 0 : error_set(err, RONDO_ERR_NOT_FOUND, "git cannot be run (%s)", reason);
}

static int run_init(struct git *git, const char *path, const char *format, struct rondo_error *err)
{
    auto_buf struct buf option = {0};
    auto_git_reply struct git_reply reply = {0};
    buf_printf(&option, "--object-format=%s", format);
    const char *const arguments[] = {
        "init", "--quiet", "--template=", "--initial-branch=rondo-unborn", buf_string(&option),
        "--",   path,      NULL};
    const struct git_call call = {.arguments = arguments, .finds_git_dir = true};
    return git_call_run_well(git, &call, &reply, err);
}

/** Make the repository beside, so that what has the clone's name is one. */
static int make_empty(const struct clone *clone, const char *format, struct rondo_error *err)
{
    struct git_repository stub = {0};
    struct git git = {.repository = &stub, .cancel = clone->cancel};
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/new", clone->folder);
    int r = find_git(clone, &stub, err);
    if (r == 0) {
        r = file_remove_tree(buf_string(&path), err);
    }
    if (r == 0) {
        r = run_init(&git, buf_string(&path), format, err);
    }
    if (r == 0 && rename(buf_string(&path), clone->path) != 0) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot make %s", clone->path);
    }
    free(stub.common_folder);
    return r;
}

/* --- what an open clone needs --- */

static int set_address(struct git *git, const char *address, struct rondo_error *err)
{
    const char *const arguments[] = {"config", "--replace-all", "remote.origin.url", address, NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments};
    return git_call_run_well(git, &call, &reply, err);
}

/** @return the code for an end that is not DONE; `err` has the reason already */
static int fail_fetch(enum git_claim_end end, struct rondo_error *err)
{
    char reason[RONDO_ERROR_MESSAGE_SIZE];
    static const int codes[] = {
        [GIT_CLAIM_DONE] = 0,
        [GIT_CLAIM_LOST] = RONDO_ERR_NOT_FOUND,
        [GIT_CLAIM_AUTH] = RONDO_ERR_DENIED,
        [GIT_CLAIM_NETWORK] = RONDO_ERR_TIMEOUT,
        [GIT_CLAIM_REFUSED] = RONDO_ERR_STATE,
    };
    snprintf(reason, sizeof(reason), "%s", err->message);
    return error_set(err, codes[end], "cannot fetch from the remote: %s", reason);
}

static int fetch(struct git *git, const struct clone *clone, char ret_id[GIT_ID_SIZE],
                 struct rondo_error *err)
{
    struct git_access access = *clone->access;
    enum git_claim_end end = GIT_CLAIM_DONE;
    access.remote = "origin";
    int r = git_fetch_branch(git, &access, clone->branch, ret_id, &end, err);
    return r == 0 && end != GIT_CLAIM_DONE ? fail_fetch(end, err) : r;
}

static int check_out(struct git *git, const struct clone *clone, const char *id,
                     struct rondo_error *err)
{
    const char *const arguments[] = {"checkout", "--quiet", "--force", "--no-recurse-submodules",
                                     "--detach", id,        "--",      NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments,
                                  .directory = git->repository->top_folder,
                                  .work_tree = git->repository->top_folder,
                                  .total_ns = clone->access->total_ns};
    return git_call_run_well(git, &call, &reply, err);
}

/** Nobody else does: all our calls switch it off. One that fails does no harm. */
static void collect_garbage(struct git *git)
{
    static const char *const arguments[] = {"-c", "gc.auto=5000", "-c",      "gc.autoDetach=false",
                                            "gc", "--auto",       "--quiet", NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments};
    (void)git_call_run(git, &call, &reply, NULL);
}

/** Git looks in the folders above, too, when the clone's own records are damaged. */
static int open_own(const struct clone *clone, struct git_repository **ret_repository,
                    struct rondo_error *err)
{
    struct git_repository *repository = NULL;
    auto_free char *path = realpath(clone->path, NULL);
    auto_buf struct buf git_folder = {0};
    int r = path == NULL ? error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", clone->path)
                         : git_repository_open(path, clone->cancel, &repository, err);
    buf_printf(&git_folder, "%s/.git", path == NULL ? "" : path);
    bool is_own = r == 0 && repository->top_folder != NULL &&
                  strcmp(repository->top_folder, path) == 0 &&
                  strcmp(repository->common_folder, buf_string(&git_folder)) == 0;
    if (!is_own && (r == 0 || r == RONDO_ERR_NOT_FOUND)) {
        r = error_set(err, RONDO_ERR_CORRUPT,
                      "%s is no clone any more; remove it when nothing in it is needed",
                      clone->path);
    }
    if (r != 0) {
        git_repository_free(repository);
        return r;
    }
    *ret_repository = repository;
    return 0;
}

static int open_repository(const struct clone *clone, struct git_repository **ret_repository,
                           struct rondo_error *err)
{
    struct git_repository *repository = NULL;
    char id[GIT_ID_SIZE];
    int r = open_own(clone, &repository, err);
    struct git git = {.repository = repository, .cancel = clone->cancel};
    if (r == 0) {
        r = set_address(&git, clone->address, err);
    }
    if (r == 0) {
        r = fetch(&git, clone, id, err);
    }
    if (r == 0) {
        r = check_out(&git, clone, id, err);
    }
    if (r == 0) {
        collect_garbage(&git);
        git_repository_free(repository);
        /* Anew: its settings are those after the first fetch. */
        return open_own(clone, ret_repository, err);
    }
    git_repository_free(repository);
    return r;
}

static int open_locked(const struct clone *clone, struct git_repository **ret_repository,
                       struct rondo_error *err)
{
    bool is_new = !file_exists(clone->path);
    int r = is_new ? make_empty(clone, "sha1", err) : 0;
    if (r != 0) {
        return r;
    }
    remove_locks(clone);
    r = open_repository(clone, ret_repository, err);
    if (r == RONDO_ERR_STATE && is_new && strstr(err->message, "server sha256") != NULL) {
        r = file_remove_tree(clone->path, err);
        r = r != 0 ? r : make_empty(clone, "sha256", err);
        r = r != 0 ? r : open_repository(clone, ret_repository, err);
    }
    return r;
}

static int check_address(const char *address, struct rondo_error *err)
{
    struct git_remote remote = {0};
    int r = git_remote_parse(address, &remote, err);
    if (r == 0 && remote.has_password) {
        r = error_set(err, RONDO_ERR_INVALID,
                      "the address of the remote has a password in it; give a token instead");
    }
    git_remote_fini(&remote);
    return r;
}

int git_clone_open(const char *folder, const struct git_access *access, const char *address,
                   const char *branch, struct cancel *cancel,
                   struct git_repository **ret_repository, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    int64_t total_ns = access->total_ns != 0 ? access->total_ns : GIT_CALL_NS;
    buf_printf(&path, "%s/clone", folder);
    const struct clone clone = {
        .folder = folder,
        .path = path.data,
        .access = access,
        .address = address,
        .branch = branch,
        .cancel = cancel,
        .until_ns = clock_monotonic(clock_system()) + total_ns,
    };
    int r = check_address(address, err);
    if (r == 0) {
        r = git_branch_check_name(branch, err);
    }
    if (r != 0) {
        return r;
    }
    auto_close int lock_fd = lock_folder(&clone, err);
    return lock_fd < 0 ? lock_fd : open_locked(&clone, ret_repository, err);
}

int git_clone_find(const char *folder, struct cancel *cancel,
                   struct git_repository **ret_repository, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/clone", folder);
    const struct clone clone = {.folder = folder, .path = path.data, .cancel = cancel};
    return file_exists(clone.path)
               ? open_own(&clone, ret_repository, err)
               : error_set(err, RONDO_ERR_NOT_FOUND, "there is no clone in %s", folder);
}
