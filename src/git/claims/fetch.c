// SPDX-License-Identifier: Apache-2.0
/* `git fetch` of one branch, or of a base and a branch. all opens: only locks in git's own folder,
 * which is the person's. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/claims/claims.h"
#include "git/commit.h"
#include "git/connection.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASES "refs/rondo/base/"

/** Tries when the reference is being changed by others, and the pause before each. */
#define LOCK_TRIES    20
#define LOCK_PAUSE_NS (100 * NS_PER_MS)
/** Git has the lock of a reference for milliseconds: an older one is of a git that was killed. */
#define LOCK_OLD_S 10

/** What is fetched by one call. Borrowed. */
struct fetched {
    const char *base;   /* a branch that the remote must have */
    const char *branch; /* one that it may have; NULL = none */
};

/**
 * A branch that is missing makes a fetch fail, unless a pattern names it. The pattern of a branch
 * matches those as well whose names only begin so; what the remote no longer has is removed here.
 */
static int run_fetch(const struct git_connection *connection, const struct fetched *fetched,
                     struct git_reply *ret_reply, enum git_claim_end *ret_end,
                     struct rondo_error *err)
{
    auto_buf struct buf refspec = {0};
    auto_buf struct buf pattern = {0};
    buf_printf(&refspec, "+refs/heads/%s:" BASES "%s", fetched->base, fetched->base);
    if (fetched->branch != NULL) {
        buf_printf(&pattern, "+refs/heads/%s*:" BASES "%s*", fetched->branch, fetched->branch);
    }
    const char *const arguments[] = {"fetch",
                                     "--quiet",
                                     "--refmap=",
                                     "--no-tags",
                                     fetched->branch == NULL ? "--no-prune" : "--prune",
                                     "--no-write-fetch-head",
                                     "--no-recurse-submodules",
                                     "--no-auto-maintenance",
                                     "--no-show-forced-updates",
                                     "--",
                                     GIT_CONNECTION,
                                     buf_string(&refspec),
                                     fetched->branch == NULL ? NULL : buf_string(&pattern),
                                     NULL};
    const struct git_call call = {.arguments = arguments};
    return git_connection_read(connection, &call, ret_reply, ret_end, err);
}

/** A branch "a" keeps "a/b" from being fetched, although the remote no longer has it. Bases can be
 *  fetched again. */
static int drop_bases(const struct git_connection *connection, struct rondo_error *err)
{
    static const char *const list[] = {"for-each-ref", "--format=delete %(refname)", BASES, NULL};
    static const char *const update[] = {"update-ref", "--no-deref", "--stdin", NULL};
    auto_git_reply struct git_reply reply = {0};
    auto_git_reply struct git_reply nothing = {0};
    const struct git_call call = {.arguments = list};
    int r = git_call_run_well(connection->git, &call, &reply, err);
    const struct git_call deletion = {
        .arguments = update, .input = buf_string(&reply.output), .input_len = reply.output.len};
    return r != 0 ? r : git_call_run_well(connection->git, &deletion, &nothing, err);
}

/** @param errors git's; those of the remote may be among them, so the name is checked */
static void remove_old_lock(const struct git *git, const char *errors)
{
    struct stat status;
    auto_buf struct buf path = {0};
    const char *name = strstr(errors, "'" BASES) + strlen("'" BASES);
    auto_free char *branch = memory_dup_bytes(name, strcspn(name, "'\n"));
    if (git_branch_check_name(branch, NULL) != 0) {
        return;
    }
    buf_printf(&path, "%s/" BASES "%s.lock", git->repository->common_folder, branch);
    int64_t now_s = clock_now(clock_system()) / NS_PER_S;
    if (lstat(buf_string(&path), &status) == 0 && now_s - status.st_mtim.tv_sec > LOCK_OLD_S) {
        (void)unlink(buf_string(&path));
    }
}

static int fetch(const struct git_connection *connection, const struct fetched *fetched,
                 enum git_claim_end *ret_end, struct rondo_error *err)
{
    for (int i = 0;; i++) {
        auto_git_reply struct git_reply reply = {0};
        int r = run_fetch(connection, fetched, &reply, ret_end, err);
        const char *errors = buf_string(&reply.errors);
        bool is_local = r == 0 && *ret_end != GIT_CLAIM_DONE && strstr(errors, "'" BASES) != NULL &&
                        strstr(errors, "cannot lock ref") != NULL;
        if (!is_local) {
            return r;
        }
        if (i == LOCK_TRIES) {
            return git_fail(&reply, "cannot fetch a branch", err);
        }
        if (strstr(errors, "cannot create") != NULL) {
            r = drop_bases(connection, err);
        } else {
            clock_sleep(clock_system(), LOCK_PAUSE_NS, connection->git->cancel);
            remove_old_lock(connection->git, errors);
        }
        if (r != 0) {
            return r;
        }
    }
}

int git_fetch_branch(struct git *git, const struct git_access *access, const char *branch,
                     char ret_id[GIT_ID_SIZE], enum git_claim_end *ret_end, struct rondo_error *err)
{
    auto_git_connection struct git_connection connection = {0};
    auto_buf struct buf reference = {0};
    const struct fetched fetched = {.base = branch};
    int r = git_branch_check_name(branch, err);
    if (r == 0) {
        r = git_connection_open(git, access, false, &connection, err);
    }
    if (r == 0) {
        r = fetch(&connection, &fetched, ret_end, err);
    }
    if (r != 0 || *ret_end != GIT_CLAIM_DONE) {
        return r;
    }
    buf_printf(&reference, BASES "%s", branch);
    return git_resolve_commit(git, buf_string(&reference), ret_id, err);
}

/* --- a base and a branch --- */

/** The id in a line "ID TYPE NAME" of the reference. @return RONDO_ERR_STATE if it is no commit */
static int take_id(const struct git *git, const char *lines, const char *reference,
                   char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    static const char type[] = " commit ";
    size_t id_len = git->repository->id_len;
    size_t name_len = strlen(reference);
    ret_id[0] = '\0';
    for (const char *line = lines; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        bool is_it = len > name_len && line[len - name_len - 1] == ' ' &&
                     strncmp(line + len - name_len, reference, name_len) == 0;
        if (is_it) {
            snprintf(ret_id, GIT_ID_SIZE, "%.*s", (int)id_len, line);
            return len == id_len + strlen(type) + name_len &&
                           git_id_is_valid(git->repository, ret_id) &&
                           strncmp(line + id_len, type, strlen(type)) == 0
                       ? 0
                       : error_set(err, RONDO_ERR_STATE, "%s is no commit", reference);
        }
        line += len + (line[len] == '\n' ? 1 : 0);
    }
    return 0;
}

/** Where the three references are: one process. */
static int read_bases(struct git *git, const struct fetched *fetched, struct git_base *ret_base,
                      struct rondo_error *err)
{
    auto_buf struct buf base = {0};
    auto_buf struct buf remote = {0};
    auto_buf struct buf local = {0};
    auto_git_reply struct git_reply reply = {0};
    struct git_base found;
    buf_printf(&base, BASES "%s", fetched->base);
    buf_printf(&remote, BASES "%s", fetched->branch);
    buf_printf(&local, "refs/heads/%s", fetched->branch);
    const char *const arguments[] = {
        "for-each-ref",     "--format=%(objectname) %(objecttype) %(refname)",
        buf_string(&base),  buf_string(&remote),
        buf_string(&local), NULL};
    const struct git_call call = {.arguments = arguments, .is_brief = true};
    int r = git_call_run_well(git, &call, &reply, err);
    const char *lines = buf_string(&reply.output);
    r = r != 0 ? r : take_id(git, lines, buf_string(&base), found.base_id, err);
    r = r != 0 ? r : take_id(git, lines, buf_string(&remote), found.remote_id, err);
    r = r != 0 ? r : take_id(git, lines, buf_string(&local), found.local_id, err);
    if (r == 0) {
        *ret_base = found;
    }
    return r;
}

int git_fetch_base(struct git *git, const struct git_access *access, const char *base,
                   const char *branch, struct git_base *ret_base, enum git_claim_end *ret_end,
                   struct rondo_error *err)
{
    auto_git_connection struct git_connection connection = {0};
    const struct fetched fetched = {.base = base, .branch = branch};
    int r = git_branch_check_name(base, err);
    r = r != 0 ? r : git_branch_check_name(branch, err);
    r = r != 0 ? r : git_connection_open(git, access, false, &connection, err);
    r = r != 0 ? r : fetch(&connection, &fetched, ret_end, err);
    return r != 0 || *ret_end != GIT_CLAIM_DONE ? r : read_bases(git, &fetched, ret_base, err);
}
