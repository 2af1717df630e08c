// SPDX-License-Identifier: Apache-2.0
/*
 * Reading claims by one fetch: unlike ls-remote it asks the server for claims only, of which there
 * are few, and not for all branches and pull requests.
 *
 * Git writes what it has fetched into FETCH_HEAD and into references of a working tree
 * (refs/worktree, gitrepository-layout(5)). Both are in the git folder of that tree, and each
 * reading has one of its own. Whoever can push to the remote can have written anything there, so
 * counts and sizes are looked at before texts are read. all opens: the folder of the objects of
 * claims is ours.
 */
#include "git/claims/claim_objects.h"
#include "git/claims/claims.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/commit.h"
#include "git/connection.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct claims_reading {
    const struct git_connection *connection;
    char *git_dir;
    struct git_claims claims;
    bool *are_commits; /* of the claims: it may be one */
    enum git_claim_end end;
};

/** Whether a call has failed, or the remote was not reached. */
static bool is_over(const struct claims_reading *reading, int r)
{
    return r != 0 || reading->end != GIT_CLAIM_DONE;
}

/** Make a git folder as that of a linked working tree, without one. */
static int make_git_dir(struct claims_reading *reading, const char *folder, struct rondo_error *err)
{
    static const char head[] = "ref: refs/heads/rondo-unborn\n";
    auto_buf struct buf path = {0};
    auto_buf struct buf common = {0};
    buf_printf(&path, "%s/reading-XXXXXX", folder);
    buf_printf(&common, "%s\n", reading->connection->git->repository->common_folder);
    if (mkdtemp(path.data) == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make a folder in %s", folder);
    }
    reading->git_dir = buf_steal(&path);
    auto_close int fd = open(reading->git_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = file_folder_write(fd, "HEAD", head, sizeof(head) - 1, err);
    return r != 0 ? r : file_folder_write(fd, "commondir", common.data, common.len, err);
}

/** @param name only this one; NULL = all */
static int fetch_claims(struct claims_reading *reading, const char *name, struct rondo_error *err)
{
    auto_buf struct buf refspec = {0};
    auto_git_reply struct git_reply reply = {0};
    const char *what = name == NULL ? "*" : name;
    buf_printf(&refspec, "+" GIT_CLAIMS "%s:refs/worktree/claims/%s", what, what);
    /* Claims have no history in common with anything. They are only read: a strange object need not
     * make the others fail. */
    const char *const arguments[] = {"-c",
                                     "fetch.negotiationAlgorithm=noop",
                                     "-c",
                                     "fetch.fsckObjects=false",
                                     "fetch",
                                     "--quiet",
                                     "--refmap=",
                                     "--no-tags",
                                     "--no-prune",
                                     "--write-fetch-head",
                                     "--no-recurse-submodules",
                                     "--no-auto-maintenance",
                                     "--no-show-forced-updates",
                                     "--",
                                     GIT_CONNECTION,
                                     buf_string(&refspec),
                                     NULL};
    const struct git_call call = {.arguments = arguments, .git_dir = reading->git_dir};
    return git_connection_read(reading->connection, &call, &reply, &reading->end, err);
}

/** Read what was fetched. */
static int list_claims(struct claims_reading *reading, const char *name, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf lines = {0};
    buf_printf(&path, "%s/FETCH_HEAD", reading->git_dir);
    int r = file_read(buf_string(&path), LIMIT_GIT_OUTPUT_BYTES, &lines, err);
    if (r == 0) {
        git_claim_list_parse(buf_string(&lines), reading->connection->git->repository->id_len, name,
                             &reading->claims);
        reading->are_commits = memory_new_zero(reading->claims.count + 1, sizeof(bool));
    }
    return r;
}

/** Give git ids of claims, one a line. @param is_all not only those that may be commits */
static int run_cat_file(struct claims_reading *reading, const char *how, bool is_all,
                        struct git_reply *ret_reply, struct rondo_error *err)
{
    auto_buf struct buf ids = {0};
    const char *const arguments[] = {"cat-file", how, NULL};
    for (size_t i = 0; i < reading->claims.count; i++) {
        if (is_all || reading->are_commits[i]) {
            buf_printf(&ids, "%s\n", reading->claims.items[i].id);
        }
    }
    const struct git_call call = {.arguments = arguments,
                                  .input = buf_string(&ids),
                                  .input_len = ids.len,
                                  .is_brief = true,
                                  .output_limit =
                                      LIMIT_GIT_CLAIMS * (GIT_CLAIM_OBJECT_BYTES + 100)};
    return git_connection_read(reading->connection, &call, ret_reply, &reading->end, err);
}

/** Find out which of them may be read. */
static int check_objects(struct claims_reading *reading, struct rondo_error *err)
{
    auto_git_reply struct git_reply reply = {0};
    int r = run_cat_file(reading, "--batch-check", true, &reply, err);
    const char *line = buf_string(&reply.output);
    for (size_t i = 0; !is_over(reading, r) && i < reading->claims.count; i++) {
        size_t size = 0;
        reading->are_commits[i] = git_claim_check_parse(&line, reading->claims.items[i].id, &size);
    }
    return r;
}

/** Take the entries "ID TYPE SIZE<newline>OBJECT<newline>" of the claims, in their order. */
static int read_texts(struct claims_reading *reading, struct rondo_error *err)
{
    auto_git_reply struct git_reply reply = {0};
    int r = run_cat_file(reading, "--batch", false, &reply, err);
    const char *at = buf_string(&reply.output);
    const char *end = at + reply.output.len;
    for (size_t i = 0; !is_over(reading, r) && i < reading->claims.count; i++) {
        struct git_claim *claim = &reading->claims.items[i];
        size_t size = 0;
        if (!reading->are_commits[i]) {
            continue;
        }
        if (!git_claim_check_parse(&at, claim->id, &size) || (size_t)(end - at) <= size) {
            return error_set(err, RONDO_ERR_STATE, "git cat-file did not print a claim");
        }
        claim->text = git_claim_text_parse(at, size);
        at += size + 1;
    }
    return r;
}

static int read_claims(struct claims_reading *reading, const char *name, struct rondo_error *err)
{
    int r = fetch_claims(reading, name, err);
    if (r == 0 && reading->end == GIT_CLAIM_LOST && name != NULL) {
        reading->end = GIT_CLAIM_DONE; /* it is not there */
        return 0;
    }
    if (!is_over(reading, r)) {
        r = list_claims(reading, name, err);
    }
    if (!is_over(reading, r)) {
        r = check_objects(reading, err);
    }
    return is_over(reading, r) ? r : read_texts(reading, err);
}

static void reading_fini(struct claims_reading *reading)
{
    if (reading->git_dir != NULL) {
        (void)file_remove_tree(reading->git_dir, NULL);
    }
    free(reading->git_dir);
    free(reading->are_commits);
    git_claims_fini(&reading->claims);
}

int git_claims_read(struct git *git, const struct git_access *access, const char *name,
                    struct git_claims *ret_claims, enum git_claim_end *ret_end,
                    struct rondo_error *err)
{
    auto_git_connection struct git_connection connection = {0};
    struct git_claim_objects objects = {0};
    struct claims_reading reading = {.connection = &connection};
    int r = name == NULL ? 0 : git_branch_check_name(name, err);
    if (r == 0) {
        r = git_connection_open(git, access, true, &connection, err);
    }
    if (r == 0) {
        r = git_claim_objects_open(&connection, &objects, err);
    }
    if (r == 0) {
        r = make_git_dir(&reading, objects.folder, err);
    }
    if (r == 0) {
        r = read_claims(&reading, name, err);
    }
    if (r == 0) {
        *ret_end = reading.end;
        *ret_claims = (struct git_claims){0};
    }
    if (!is_over(&reading, r)) {
        *ret_claims = reading.claims;
        reading.claims = (struct git_claims){0};
    }
    reading_fini(&reading);
    git_claim_objects_fini(&objects);
    return r;
}
