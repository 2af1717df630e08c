// SPDX-License-Identifier: Apache-2.0
/* Facts by `git status --porcelain=v2 -z` (git-status(1)) and the files of operations. */
#include "git/facts.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *file; /* in the git folder of the working tree */
    enum git_operation operation;
} operation_files[] = {
    {"rebase-merge", GIT_REBASE},
    {"rebase-apply", GIT_REBASE},
    {"CHERRY_PICK_HEAD", GIT_CHERRY_PICK},
    {"REVERT_HEAD", GIT_REVERT},
    {"MERGE_HEAD", GIT_MERGE},
    {"BISECT_LOG", GIT_BISECT},
};

const char *git_operation_name(enum git_operation operation)
{
    switch (operation) {
    case GIT_NO_OPERATION:
        return "none";
    case GIT_MERGE:
        return "merge";
    case GIT_REBASE:
        return "rebase";
    case GIT_CHERRY_PICK:
        return "cherry-pick";
    case GIT_REVERT:
        return "revert";
    case GIT_BISECT:
        return "bisect";
    }
    return "?";
}

static enum git_operation find_operation(const struct git_repository *repository)
{
    for (size_t i = 0; i < sizeof(operation_files) / sizeof(operation_files[0]); i++) {
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", repository->git_folder, operation_files[i].file);
        /* opens: only whether it is there, in a person's git folder */
        if (file_exists(buf_string(&path))) {
            return operation_files[i].operation;
        }
    }
    return GIT_NO_OPERATION;
}

static void take_header(struct git_facts *facts, const char *line)
{
    static const char id[] = "# branch.oid ";
    static const char head[] = "# branch.head ";
    if (strncmp(line, id, sizeof(id) - 1) == 0) {
        facts->is_empty = strcmp(line + sizeof(id) - 1, "(initial)") == 0;
        snprintf(facts->head, sizeof(facts->head), "%.*s", GIT_ID_SIZE - 1,
                 facts->is_empty ? "" : line + sizeof(id) - 1);
    } else if (strncmp(line, head, sizeof(head) - 1) == 0) {
        facts->branch = memory_dup_string(line + sizeof(head) - 1);
    }
}

/** What comes after a number of fields, each with a space after it. */
static const char *after_fields(const char *line, int fields)
{
    for (int i = 0; i < fields && line != NULL; i++) {
        line = strchr(line, ' ');
        line = line == NULL ? NULL : line + 1;
    }
    return line == NULL ? "" : line;
}

static void add_dirty(struct git_facts *facts, const char *path)
{
    if (facts->dirty_count++ < LIMIT_GIT_DIRTY) {
        size_t count = facts->dirty_count;
        facts->dirty = memory_resize(facts->dirty, count + 1, sizeof(*facts->dirty));
        facts->dirty[count - 1] = memory_dup_string(path);
        facts->dirty[count] = NULL;
    }
}

static void take_status(struct git_facts *facts, const struct buf *output)
{
    const char *end = buf_string(output) + output->len;
    for (const char *line = buf_string(output); line < end; line += strlen(line) + 1) {
        switch (*line) {
        case '#':
            take_header(facts, line);
            break;
        case '1':
            add_dirty(facts, after_fields(line, 8));
            break;
        case '2': /* the former path is an entry of its own after it */
            add_dirty(facts, after_fields(line, 9));
            line += strlen(line) + 1;
            break;
        case 'u':
            add_dirty(facts, after_fields(line, 10));
            break;
        case '?':
            facts->untracked_count++;
            break;
        default:
            break;
        }
    }
}

static int read_status(struct git *git, struct git_facts *facts, struct rondo_error *err)
{
    static const char *const arguments[] = {
        "status",       "--porcelain=v2",          "-z",
        "--branch",     "--no-ahead-behind",       "--untracked-files=normal",
        "--no-renames", "--ignore-submodules=all", NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_repository *repository = git->repository;
    const struct git_call call = {
        .arguments = arguments,
        .directory = repository->top_folder,
        .git_dir = repository->git_folder,
        .work_tree = repository->top_folder,
    };
    int r = git_call_run_well(git, &call, &reply, err);
    if (r == 0) {
        take_status(facts, &reply.output);
    }
    return r;
}

/** A bare repository has no status. */
static int read_bare_head(struct git *git, struct git_facts *facts, struct rondo_error *err)
{
    static const char *const arguments[] = {"symbolic-ref", "-q", "--short", "HEAD", NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments, .git_dir = git->repository->git_folder};
    int r = git_call_run(git, &call, &reply, err);
    if (r == 0 && reply.exit_code == 0) {
        facts->branch = memory_dup_string(git_reply_line(&reply));
    }
    if (r == 0) {
        r = git_resolve_commit(git, "HEAD", facts->head, err);
        facts->is_empty = r == RONDO_ERR_NOT_FOUND;
    }
    return r == RONDO_ERR_NOT_FOUND ? 0 : r;
}

int git_facts_read(struct git *git, struct git_facts *ret_facts, struct rondo_error *err)
{
    struct git_facts facts = {.is_bare = git->repository->top_folder == NULL};
    facts.dirty = memory_new_zero(1, sizeof(*facts.dirty));
    int r = facts.is_bare ? read_bare_head(git, &facts, err) : read_status(git, &facts, err);
    if (r != 0) {
        git_facts_fini(&facts);
        return r;
    }
    facts.operation = find_operation(git->repository);
    facts.is_detached = facts.branch == NULL || strcmp(facts.branch, "(detached)") == 0;
    if (facts.is_detached) {
        free(facts.branch);
        facts.branch = NULL;
    }
    *ret_facts = facts;
    return 0;
}

void git_facts_fini(struct git_facts *facts)
{
    free(facts->branch);
    memory_free_list(facts->dirty);
    *facts = (struct git_facts){0};
}

static bool has_text(const char *const *list, const char *text)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        if (strcmp(list[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static int check_dirty(const struct git_facts *facts, const char *const *allowed,
                       struct rondo_error *err)
{
    size_t count = facts->dirty_count;
    const char *first = NULL;
    for (size_t i = 0; facts->dirty[i] != NULL; i++) {
        bool is_allowed = has_text(allowed, facts->dirty[i]);
        count -= is_allowed ? 1 : 0;
        first = first == NULL && !is_allowed ? facts->dirty[i] : first;
    }
    if (count == 0) {
        return 0;
    }
    return error_set(err, RONDO_ERR_STATE,
                     "%zu tracked file%s changes that are not committed (%.200s%s); commit them, "
                     "or put them away with: git stash",
                     count, count == 1 ? " has" : "s have", first == NULL ? "many" : first,
                     count > 1 && first != NULL ? ", ..." : "");
}

int git_facts_check(const struct git_facts *facts, const char *const *allowed,
                    struct rondo_error *err)
{
    const char *operation = git_operation_name(facts->operation);
    if (facts->is_bare) {
        return error_set(err, RONDO_ERR_STATE,
                         "the repository is bare; clone it and work in the clone");
    }
    if (facts->operation == GIT_BISECT) {
        return error_set(err, RONDO_ERR_STATE,
                         "a bisect is in progress; end it with: git bisect reset");
    }
    if (facts->operation != GIT_NO_OPERATION) {
        return error_set(err, RONDO_ERR_STATE,
                         "a %s is in progress; finish it with: git %s --continue, or undo it with: "
                         "git %s --abort",
                         operation, operation, operation);
    }
    if (facts->is_empty) {
        return error_set(
            err, RONDO_ERR_STATE,
            "the repository has no commit yet; make one with: git add -A && git commit "
            "--allow-empty -m \"Initial commit\"");
    }
    if (facts->is_detached) {
        return error_set(err, RONDO_ERR_STATE,
                         "HEAD is detached; check out a branch with: git switch BRANCH");
    }
    return check_dirty(facts, allowed, err);
}
