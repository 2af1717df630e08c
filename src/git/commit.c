// SPDX-License-Identifier: Apache-2.0
/* Commits and branches by plumbing: commit-tree, update-ref, log. */
#include "git/commit.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file_untrusted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** After so long without a change, the lock of a reference is that of a git which is gone. */
#define STALE_LOCK_NS (3 * NS_PER_S)
#define LOCK_LOOK_NS  (100 * NS_PER_MS)

/* --- who --- */

struct commit_identity {
    char *variables[7]; /* NULL-terminated, owned */
};

static char *variable(const char *name, const char *value)
{
    struct buf text = {0};
    buf_printf(&text, "%s=%s", name, value == NULL ? "" : value);
    return buf_steal(&text);
}

/** @param time_s 0 = now */
static struct commit_identity identity_make(const struct git_repository *repository, int64_t time_s)
{
    char date[40];
    struct commit_identity identity = {{
        variable("GIT_AUTHOR_NAME", repository->author_name),
        variable("GIT_AUTHOR_EMAIL", repository->author_email),
        variable("GIT_COMMITTER_NAME", repository->committer_name),
        variable("GIT_COMMITTER_EMAIL", repository->committer_email),
    }};
    if (time_s != 0) {
        snprintf(date, sizeof(date), "@%" PRId64 " +0000", time_s);
        identity.variables[4] = variable("GIT_AUTHOR_DATE", date);
        identity.variables[5] = variable("GIT_COMMITTER_DATE", date);
    }
    return identity;
}

static void identity_fini(struct commit_identity *identity)
{
    for (size_t i = 0; i < sizeof(identity->variables) / sizeof(identity->variables[0]); i++) {
        free(identity->variables[i]);
    }
}

/* --- making --- */

static bool is_trailer(const struct git_trailer *trailer)
{
    const char *at = trailer->key;
    while (ascii_is_letter(*at) || ascii_is_digit(*at) || *at == '-') {
        at++;
    }
    return *at == '\0' && at != trailer->key && *trailer->value != '\0' && *trailer->value != ' ' &&
           strpbrk(trailer->value, "\r\n") == NULL;
}

/** Whether the last paragraph has nothing but trailers, to which more can be added. */
static bool ends_with_trailers(const char *message, size_t len)
{
    const char *paragraph = NULL;
    for (size_t i = 0; i + 1 < len; i++) {
        paragraph = message[i] == '\n' && message[i + 1] == '\n' ? message + i + 2 : paragraph;
    }
    for (const char *line = paragraph; line != NULL && line < message + len;) {
        size_t rest = (size_t)(message + len - line);
        const char *end = memchr(line, '\n', rest);
        size_t key =
            strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-");
        if (key == 0 || key >= rest || line[key] != ':') {
            return false;
        }
        line = end == NULL ? message + len : end + 1;
    }
    return paragraph != NULL && paragraph < message + len;
}

int git_commit_message(const struct git_commit_request *request, struct buf *ret_message,
                       struct rondo_error *err)
{
    size_t len = strlen(request->message);
    while (len > 0 && (request->message[len - 1] == '\n' || request->message[len - 1] == ' ')) {
        len--;
    }
    if (len == 0 || len > LIMIT_GIT_MESSAGE_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "a commit message is empty or too long");
    }
    buf_append(ret_message, request->message, len);
    bool is_apart = request->trailer_count > 0 && !ends_with_trailers(request->message, len);
    buf_append_string(ret_message, is_apart ? "\n\n" : "\n");
    for (size_t i = 0; i < request->trailer_count; i++) {
        const struct git_trailer *trailer = &request->trailers[i];
        if (!is_trailer(trailer)) {
            return error_set(err, RONDO_ERR_INVALID, "'%.80s: %.80s' is not a trailer",
                             trailer->key, trailer->value);
        }
        buf_printf(ret_message, "%s: %s\n", trailer->key, trailer->value);
    }
    return 0;
}

static int check_id(const struct git *git, const char *id, struct rondo_error *err)
{
    return git_id_is_valid(git->repository, id)
               ? 0
               : error_set(err, RONDO_ERR_INVALID, "'%.80s' is not an object id", id);
}

static int run_commit(struct git *git, const struct git_commit_request *request,
                      const struct buf *message, char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    const char *arguments[] = {"-c",
                               "i18n.commitEncoding=UTF-8",
                               "commit-tree",
                               "--no-gpg-sign",
                               "-F",
                               "-",
                               request->tree,
                               "-p",
                               request->parent,
                               request->merged == NULL ? NULL : "-p",
                               request->merged,
                               NULL};
    struct commit_identity identity = identity_make(git->repository, request->time_s);
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {
        .arguments = arguments,
        .variables = (const char *const *)identity.variables,
        .input = message->data,
        .input_len = message->len,
    };
    int r = git_call_run_well(git, &call, &reply, err);
    identity_fini(&identity);
    if (r == 0) {
        snprintf(ret_id, GIT_ID_SIZE, "%s", git_reply_line(&reply));
        r = check_id(git, ret_id, err);
    }
    return r;
}

int git_commit_make(struct git *git, const struct git_commit_request *request,
                    char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    auto_buf struct buf message = {0};
    int r = git_repository_check_author(git->repository, err);
    if (r == 0) {
        r = check_id(git, request->tree, err);
    }
    if (r == 0) {
        r = check_id(git, request->parent, err);
    }
    if (r == 0 && request->merged != NULL) {
        r = check_id(git, request->merged, err);
    }
    if (r == 0) {
        r = git_commit_message(request, &message, err);
    }
    return r != 0 ? r : run_commit(git, request, &message, ret_id, err);
}

/* --- branches --- */

/** The rules of git-check-ref-format(1) for one part of a name, between slashes. */
static bool is_part(const char *part, size_t len)
{
    bool ends_badly = len >= 5 && memcmp(part + len - 5, ".lock", 5) == 0;
    return len > 0 && part[0] != '.' && part[len - 1] != '.' && !ends_badly;
}

static bool is_branch_name(const char *name)
{
    if (*name == '-' || strcmp(name, "HEAD") == 0 || strlen(name) > LIMIT_GIT_BRANCH_BYTES ||
        strpbrk(name, " ~^:?*[\\\177") != NULL || strstr(name, "..") != NULL ||
        strstr(name, "@{") != NULL || strcmp(name, "@") == 0) {
        return false;
    }
    for (const char *at = name; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ') {
            return false;
        }
    }
    for (const char *part = name;;) {
        size_t len = strcspn(part, "/");
        if (!is_part(part, len)) {
            return false;
        }
        if (part[len] == '\0') {
            return true;
        }
        part += len + 1;
    }
}

int git_branch_check_name(const char *branch, struct rondo_error *err)
{
    return is_branch_name(branch)
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "'%.200s' cannot be the name of a branch (see: git help "
                           "check-ref-format)",
                           branch);
}

static int read_reference(struct git *git, const char *reference, char ret_id[GIT_ID_SIZE],
                          struct rondo_error *err)
{
    const char *const arguments[] = {"rev-parse", "--verify", "--quiet", reference, NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments, .is_brief = true};
    int r = git_call_run(git, &call, &reply, err);
    if (r != 0) {
        return r;
    }
    if (reply.exit_code != 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "%.300s does not exist", reference);
    }
    snprintf(ret_id, GIT_ID_SIZE, "%s", git_reply_line(&reply));
    return check_id(git, ret_id, err);
}

/** A branch that has moved since the last `git pack-refs` is a file with an id. No process. */
static bool read_file_of(const struct git_repository *repository, const char *reference,
                         char ret_id[GIT_ID_SIZE])
{
    auto_buf struct buf content = {0};
    /* opens: git's folder is the person's; what is in it is read without links */
    auto_close int fd = file_open_folder(repository->common_folder, NULL);
    if (fd < 0 || file_read_untrusted(fd, reference, GIT_ID_SIZE, &content, NULL) != 0 ||
        content.len != repository->id_len + 1 || content.data[content.len - 1] != '\n') {
        return false;
    }
    content.data[content.len - 1] = '\0';
    bool is_id = git_id_is_valid(repository, content.data);
    if (is_id) {
        snprintf(ret_id, GIT_ID_SIZE, "%s", content.data);
    }
    return is_id;
}

int git_branch_read(struct git *git, const char *branch, char ret_id[GIT_ID_SIZE],
                    struct rondo_error *err)
{
    auto_buf struct buf reference = {0};
    int r = git_branch_check_name(branch, err);
    buf_printf(&reference, "refs/heads/%s", branch);
    if (r == 0 && read_file_of(git->repository, buf_string(&reference), ret_id)) {
        return 0;
    }
    return r != 0 ? r : read_reference(git, buf_string(&reference), ret_id, err);
}

/** The id of what does not exist. */
static const char *no_id(const struct git *git)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    return zeros + sizeof(zeros) - 1 - git->repository->id_len;
}

static int run_update(struct git *git, const char *reference, const char *old_id,
                      const char *new_id, const char *reason, struct git_reply *ret_reply,
                      struct rondo_error *err)
{
    const char *const arguments[] = {"update-ref",
                                     "--no-deref",
                                     "-m",
                                     reason,
                                     reference,
                                     new_id,
                                     old_id != NULL ? old_id : no_id(git),
                                     NULL};
    struct commit_identity identity = identity_make(git->repository, 0);
    const struct git_call call = {.arguments = arguments,
                                  .variables = (const char *const *)identity.variables};
    int r = git_call_run(git, &call, ret_reply, err);
    identity_fini(&identity);
    return r;
}

static bool is_locked(const struct git_reply *reply)
{
    return reply->exit_code != 0 && strstr(buf_string(&reply->errors), ".lock") != NULL;
}

/** Why a reference was not moved: it is elsewhere, or there already, or git could not. */
static int judge_failed_move(struct git *git, const char *reference, const char *old_id,
                             const char *new_id, const struct git_reply *reply, bool *ret_is_moved,
                             struct rondo_error *err)
{
    char now[GIT_ID_SIZE] = "";
    int r = read_reference(git, reference, now, err);
    if (r != 0 && r != RONDO_ERR_NOT_FOUND) {
        return r;
    }
    bool is_moved = strcmp(now, new_id) == 0;
    if (is_moved || strcmp(now, old_id != NULL ? old_id : "") != 0) {
        *ret_is_moved = is_moved;
        return 0;
    }
    git_fail(reply, "cannot move a branch", err);
    return is_locked(reply)
               ? error_set(err, RONDO_ERR_BUSY,
                           "another git is changing %.200s in %.200s; if none is running, remove "
                           "its file %.200s.lock there",
                           reference, git->repository->common_folder, reference)
               : RONDO_ERR_STATE;
}

/**
 * Wait for the lock of a reference. Git has it for milliseconds; one that stays is of a git that
 * was killed, and is removed.
 * @return whether to try again
 */
static bool wait_for_lock(const struct git *git, const char *reference)
{
    struct stat first;
    struct stat now;
    auto_buf struct buf path = {0};
    const struct clock *clock = clock_system();
    buf_printf(&path, "%s/%s.lock", git->repository->common_folder, reference);
    int64_t until_ns = clock_monotonic(clock) + STALE_LOCK_NS;
    /* opens: git's own folder; only what is there, and a lock is removed by its name */
    if (lstat(buf_string(&path), &first) != 0) {
        return true;
    }
    while (clock_monotonic(clock) < until_ns) {
        clock_sleep(clock, LOCK_LOOK_NS, git->cancel);
        if (git->cancel != NULL && cancel_is_set(git->cancel)) {
            return false;
        }
        /* opens: likewise */
        if (lstat(buf_string(&path), &now) != 0 || now.st_ino != first.st_ino ||
            now.st_mtim.tv_sec != first.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != first.st_mtim.tv_nsec) {
            return true;
        }
    }
    /* opens: likewise */
    return unlink(buf_string(&path)) == 0 || errno == ENOENT;
}

static int move_reference(struct git *git, const char *reference, const char *old_id,
                          const char *new_id, const char *reason, bool *ret_is_moved,
                          struct rondo_error *err)
{
    auto_git_reply struct git_reply reply = {0};
    int r = run_update(git, reference, old_id, new_id, reason, &reply, err);
    if (r == 0 && is_locked(&reply) && wait_for_lock(git, reference)) {
        git_reply_fini(&reply);
        r = run_update(git, reference, old_id, new_id, reason, &reply, err);
    }
    if (r != 0) {
        return r;
    }
    if (reply.exit_code != 0) {
        return judge_failed_move(git, reference, old_id, new_id, &reply, ret_is_moved, err);
    }
    *ret_is_moved = true;
    return 0;
}

int git_branch_move(struct git *git, const char *branch, const char *old_id, const char *new_id,
                    const char *reason, bool *ret_is_moved, struct rondo_error *err)
{
    auto_buf struct buf reference = {0};
    char now[GIT_ID_SIZE];
    int r = git_branch_check_name(branch, err);
    if (r == 0) {
        r = check_id(git, new_id, err);
    }
    if (r == 0 && old_id != NULL) {
        r = check_id(git, old_id, err);
    }
    buf_printf(&reference, "refs/heads/%s", branch);
    if (r == 0 && old_id == NULL && read_file_of(git->repository, buf_string(&reference), now)) {
        *ret_is_moved = strcmp(now, new_id) == 0; /* It is there already. */
        return 0;
    }
    return r != 0 ? r
                  : move_reference(git, buf_string(&reference), old_id, new_id, reason,
                                   ret_is_moved, err);
}

int git_branch_delete(struct git *git, const char *branch, const char *old_id,
                      struct rondo_error *err)
{
    auto_buf struct buf reference = {0};
    auto_git_reply struct git_reply reply = {0};
    int r = git_branch_check_name(branch, err);
    r = r != 0 ? r : check_id(git, old_id, err);
    if (r != 0) {
        return r;
    }
    buf_printf(&reference, "refs/heads/%s", branch);
    const char *const arguments[] = {"update-ref", "-d", buf_string(&reference), old_id, NULL};
    const struct git_call call = {.arguments = arguments};
    return git_call_run_well(git, &call, &reply, err);
}

static const char backup_reason[] = "rondo: before a merge";

static int keep_backup(struct git *git, const char *run, uint64_t number, const char *commit,
                       struct rondo_error *err)
{
    auto_buf struct buf reference = {0};
    char before[GIT_ID_SIZE] = "";
    bool is_kept = false;
    buf_printf(&reference, "refs/rondo/backup/%s/%" PRIu64, run, number);
    int r = git_branch_check_name(buf_string(&reference), err);
    if (r == 0) {
        r = check_id(git, commit, err);
    }
    if (r == 0) {
        r = move_reference(git, buf_string(&reference), NULL, commit, backup_reason, &is_kept, err);
    }
    if (r != 0 || is_kept) {
        return r;
    }
    /* The move that it was kept for did not come about, and the branch is elsewhere now. */
    r = read_reference(git, buf_string(&reference), before, err);
    r = r != 0 ? r
               : move_reference(git, buf_string(&reference), before, commit, backup_reason,
                                &is_kept, err);
    return r != 0 || is_kept ? r
                             : error_set(err, RONDO_ERR_STATE,
                                         "%.300s was moved to another commit in the meantime",
                                         buf_string(&reference));
}

/** Both in one transaction, the backup first. Names and ids are checked: no line has a space more.
 */
static int run_kept_move(struct git *git, const struct git_kept_move *move, bool *ret_is_done,
                         struct rondo_error *err)
{
    const char *const arguments[] = {"update-ref", "--no-deref", "-m",
                                     move->reason, "--stdin",    NULL};
    struct commit_identity identity = identity_make(git->repository, 0);
    auto_git_reply struct git_reply reply = {0};
    auto_buf struct buf lines = {0};
    buf_printf(&lines, "create refs/rondo/backup/%s/%" PRIu64 " %s\n", move->run, move->number,
               move->kept);
    buf_printf(&lines, "update refs/heads/%s %s %s\n", move->branch, move->new_id,
               move->old_id != NULL ? move->old_id : no_id(git));
    const struct git_call call = {.arguments = arguments,
                                  .variables = (const char *const *)identity.variables,
                                  .input = lines.data,
                                  .input_len = lines.len};
    int r = git_call_run(git, &call, &reply, err);
    identity_fini(&identity);
    *ret_is_done = r == 0 && reply.exit_code == 0;
    return r;
}

static int check_kept_move(const struct git *git, const struct git_kept_move *move,
                           struct rondo_error *err)
{
    int r = git_branch_check_name(move->run, err);
    r = r != 0 ? r : git_branch_check_name(move->branch, err);
    r = r != 0 ? r : check_id(git, move->kept, err);
    r = r != 0 ? r : check_id(git, move->new_id, err);
    return r != 0 || move->old_id == NULL ? r : check_id(git, move->old_id, err);
}

int git_branch_move_kept(struct git *git, const struct git_kept_move *move, bool *ret_is_moved,
                         struct rondo_error *err)
{
    bool is_done = false;
    int r = check_kept_move(git, move, err);
    r = r != 0 ? r : run_kept_move(git, move, &is_done, err);
    if (r != 0) {
        return r;
    }
    if (is_done) {
        *ret_is_moved = true;
        return 0;
    }
    /* One by one: what was in the way is found out, or waited for. */
    r = keep_backup(git, move->run, move->number, move->kept, err);
    return r != 0 ? r
                  : git_branch_move(git, move->branch, move->old_id, move->new_id, move->reason,
                                    ret_is_moved, err);
}

/* --- history --- */

int git_commit_merge_base(struct git *git, const char *one, const char *other,
                          char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    const char *const arguments[] = {"merge-base", one, other, NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments};
    int r = check_id(git, one, err);
    r = r != 0 ? r : check_id(git, other, err);
    r = r != 0 ? r : git_call_run(git, &call, &reply, err);
    if (r == 0 && reply.exit_code > 1) {
        r = git_fail(&reply, "cannot compare commits", err);
    }
    if (r == 0) {
        snprintf(ret_id, GIT_ID_SIZE, "%s", reply.exit_code == 0 ? git_reply_line(&reply) : "");
    }
    return r;
}

int git_commit_is_ancestor(struct git *git, const char *ancestor, const char *commit, bool *ret_is,
                           struct rondo_error *err)
{
    const char *const arguments[] = {"merge-base", "--is-ancestor", ancestor, commit, NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments};
    int r = check_id(git, ancestor, err);
    if (r == 0) {
        r = check_id(git, commit, err);
    }
    if (r == 0) {
        r = git_call_run(git, &call, &reply, err);
    }
    if (r == 0 && reply.exit_code > 1) {
        r = git_fail(&reply, "cannot compare commits", err);
    }
    if (r == 0) {
        *ret_is = reply.exit_code == 0;
    }
    return r;
}
