// SPDX-License-Identifier: Apache-2.0
/*
 * The review of a change before its commit: a run of its own, in a working tree of its own that has
 * the change as a commit. Whatever the reviewer does there is not committed, and counts against it.
 */
#include "work/attempt_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "git/changes.h"
#include "git/worktree.h"
#include "os/file.h"
#include "work/review.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/** Of the change, and of the task, in the prompt. */
#define MOST_DIFF ((size_t)192 * 1024)
#define MOST_TASK ((size_t)64 * 1024)

struct review {
    struct attempt *attempt;
    char *folder;
    char *index_path;
    char commit[GIT_ID_SIZE]; /* the change, on top of where the attempt began */
    char code[REVIEW_CODE_SIZE];
    struct loop_spec spec;
    struct work_worked worked;
    struct buf why; /* findings, or why there is no verdict */
};

static const char *name_of(const struct review *review)
{
    return review->attempt->work->reviewer.agent_id;
}

/* ---- What is asked -------------------------------------------------------------------------- */

/** @param ret_is_cut whether there is more */
static int read_diff(struct review *review, struct buf *ret_text, bool *ret_is_cut,
                     struct rondo_error *err)
{
    struct attempt *attempt = review->attempt;
    struct git git = attempt_git(attempt);
    auto_close int fd = memfd_create("rondo-diff", MFD_CLOEXEC);
    if (fd < 0) {
        return error_set(err, RONDO_ERR_SYSTEM, "there is no memory for a change");
    }
    int r = git_patch_write(&git, attempt->start, attempt->tree, fd, ret_is_cut, err);
    if (r < 0) {
        return r;
    }
    char *room = memory_new(MOST_DIFF + 1);
    ssize_t len = pread(fd, room, MOST_DIFF + 1, 0);
    *ret_is_cut = *ret_is_cut || len > (ssize_t)MOST_DIFF;
    text_clean_lines(room,
                     len < 0                   ? 0
                     : (size_t)len > MOST_DIFF ? MOST_DIFF
                                               : (size_t)len,
                     ret_text);
    free(room);
    return 0;
}

static char *make_prompt(struct review *review, struct rondo_error *err)
{
    const struct attempt *attempt = review->attempt;
    auto_buf struct buf diff = {0};
    auto_buf struct buf task = {0};
    auto_buf struct buf commands = {0};
    struct buf prompt = {0};
    bool is_cut = false;
    if (read_diff(review, &diff, &is_cut, err) < 0) {
        return NULL;
    }
    const char *text = attempt->spec.prompt == NULL ? attempt->title : attempt->spec.prompt;
    buf_append(&task, text, strnlen(text, MOST_TASK));
    for (size_t i = 0; attempt->task_checks[i] != NULL; i++) {
        buf_printf(&commands, "- %s\n", attempt->task_checks[i]);
    }
    for (size_t i = 0; i < attempt->work->worker.condition_count; i++) {
        buf_printf(&commands, "- %s\n", attempt->work->worker.conditions[i].command);
    }
    const struct review_request request = {.code = review->code,
                                           .task = buf_string(&task),
                                           .diff = buf_string(&diff),
                                           .is_diff_cut = is_cut,
                                           .commands = buf_string(&commands)};
    review_prompt(&request, &prompt);
    return buf_steal(&prompt);
}

static void add_all(char ***list, const char *const *more)
{
    size_t count = memory_count_list((const char *const *)*list);
    size_t further = memory_count_list(more);
    *list = memory_resize(*list, count + further + 1, sizeof(**list));
    for (size_t i = 0; i < further; i++) {
        (*list)[count + i] = memory_dup_string(more[i]);
    }
    (*list)[count + further] = NULL;
}

/** What the reviewer's run is: another run for another change. */
static int make_spec(struct review *review, struct rondo_error *err)
{
    const struct attempt *attempt = review->attempt;
    auto_buf struct buf name = {0};
    auto_buf struct buf temporary = {0};
    struct buf work = {0};
    review->spec = loop_spec_dup(&attempt->work->reviewer);
    struct loop_spec *spec = &review->spec;
    buf_printf(&name, "%s/%" PRId64 "/review/%s", attempt->task_id, attempt->number, attempt->tree);
    id_from_name(attempt->parent_run, name.data, name.len, spec->run_id);
    review_code(attempt->work->review_secret, spec->run_id, attempt->tree, review->code);
    work_review_encode(attempt->parent_run, attempt->task_id, attempt->number, &work);
    free(spec->work);
    spec->work = buf_steal(&work);
    free(spec->workspace);
    spec->workspace = memory_dup_string(review->folder);
    if (spec->policy == NULL) {
        spec->policy = memory_dup_string(attempt->spec.policy);
    }
    add_all(&spec->read_paths, (const char *const *)attempt->spec.read_paths);
    add_all(&spec->env_names, (const char *const *)attempt->spec.env_names);
    buf_printf(&temporary, "%s/tmp", attempt->folder);
    add_all(&spec->write_paths, (const char *const[]){buf_string(&temporary), NULL});
    free(spec->prompt);
    spec->prompt = make_prompt(review, err);
    return spec->prompt == NULL ? err->code : 0;
}

static int add_tree(struct review *review, struct rondo_error *err)
{
    struct attempt *attempt = review->attempt;
    struct git git = attempt_git(attempt);
    auto_buf struct buf reason = {0};
    buf_printf(&reason, "rondo run %s review of task %s pid %ld", attempt->parent_run,
               attempt->task_id, (long)getpid());
    const struct git_worktree_request request = {.path = review->folder,
                                                 .commit = review->commit,
                                                 .lock_reason = buf_string(&reason),
                                                 .index_path = review->index_path};
    int r = attempt_make_commit(attempt, attempt->tree, attempt->start, review->commit, err);
    r = r < 0 ? r : git_worktree_remove(attempt->repository, review->folder, err);
    return r < 0 ? r : git_worktree_add(&git, &request, err);
}

/* ---- What comes of it ----------------------------------------------------------------------- */

static void add_usage(struct review *review)
{
    struct work_worked *sum = &review->attempt->worked;
    const struct work_worked *worked = &review->worked;
    bool is_known = sum->cost_micro != COST_UNKNOWN && worked->cost_micro != COST_UNKNOWN;
    sum->tokens += worked->tokens;
    sum->cost_micro = is_known ? sum->cost_micro + worked->cost_micro : COST_UNKNOWN;
}

/** The reviewer's tree has what it had, apart from what git ignores. */
static bool check_tree(struct review *review)
{
    struct attempt *attempt = review->attempt;
    struct git git = attempt_git(attempt);
    struct git_changes changes = {0};
    struct rondo_error err = {0};
    const struct git_changes_request request = {
        .path = review->folder, .index_path = review->index_path, .base = review->commit};
    int r = git_changes_read(&git, &request, &changes, &err);
    if (r < 0 && r != RONDO_ERR_LIMIT && r != RONDO_ERR_DENIED) {
        return attempt_fail_by(attempt, &err);
    }
    const char *path = r < 0                       ? "files"
                       : changes.count > 0         ? changes.items[0].path
                       : changes.nested[0] != NULL ? changes.nested[0]
                                                   : NULL;
    bool is_good =
        path == NULL || attempt_fail(attempt, "review_failed",
                                     "the reviewer %s changed %.200s: its verdict does not count",
                                     name_of(review), path);
    if (r == 0) {
        git_changes_fini(&changes);
    }
    return is_good;
}

static bool judge(struct review *review, enum review_verdict *ret_verdict)
{
    struct attempt *attempt = review->attempt;
    const struct work_worked *worked = &review->worked;
    if (worked->is_denied) {
        return attempt_fail(attempt, "denied", "%s",
                            worked->message == NULL ? "policies denied the review"
                                                    : worked->message);
    }
    if (!check_tree(review)) {
        return false;
    }
    const char *said = worked->summary == NULL ? worked->output : worked->summary;
    *ret_verdict = review_read(said, review->code, &review->why);
    if (*ret_verdict == REVIEW_REJECTED) {
        attempt_keep_output(attempt, buf_string(&review->why), review->why.len);
        return attempt_fail(attempt, "rejected", "the review by %s rejects the change",
                            name_of(review));
    }
    if (worked->has_failed) {
        *ret_verdict = REVIEW_NONE;
        return attempt_fail(attempt, "review_failed", "the reviewer %s failed: %.300s",
                            name_of(review), worked->message == NULL ? "" : worked->message);
    }
    return *ret_verdict == REVIEW_APPROVED ||
           attempt_fail(attempt, "review_failed", "the reviewer %s gave no verdict: %s",
                        name_of(review), buf_string(&review->why));
}

static void post(struct review *review, enum review_verdict verdict, int64_t duration_ns)
{
    struct attempt *attempt = review->attempt;
    bool is_met = verdict == REVIEW_APPROVED;
    const struct loop_condition condition = {.name = (char *)(uintptr_t)name_of(review)};
    struct verify_result result = {.status = is_met ? RONDO_MET : RONDO_NOT_MET,
                                   .reason = is_met ? RONDO_REASON_PASSED : RONDO_REASON_FAILED,
                                   .exit_code = -1,
                                   .duration_ns = duration_ns};
    if (verdict != REVIEW_NONE && review->why.len > 0) {
        result.output_len = result.output_total = review->why.len;
        result.output = memory_dup_bytes(buf_string(&review->why), review->why.len);
    }
    if (!is_met) {
        snprintf(result.message, sizeof(result.message), "%.200s", attempt->message);
    }
    attempt_post_check(attempt, "review", &condition, &result);
}

/** @return 0; or a negative code when the machine failed, or the review was parked (`outcome`) */
static int execute(struct review *review, struct rondo_error *err)
{
    struct attempt *attempt = review->attempt;
    int r = add_tree(review, err);
    r = r < 0 ? r : make_spec(review, err);
    const struct work_order order = {.spec = &review->spec,
                                     .variables = (const char *const *)attempt->variables,
                                     .stop = &attempt->stop};
    r = r < 0 ? r : attempt->port->execute(attempt->port->context, &order, &review->worked, err);
    add_usage(review); /* also of a review that could not go on */
    return r;
}

static bool run(struct review *review)
{
    struct attempt *attempt = review->attempt;
    const struct clock *clock = runtime_clock(attempt->runtime);
    struct rondo_error err = {0};
    enum review_verdict verdict = REVIEW_NONE;
    int64_t begin_ns = clock_monotonic(clock);
    if (execute(review, &err) < 0) {
        return attempt_fail_by(attempt, &err);
    }
    if (!review->worked.is_ended) {
        attempt->outcome = NULL; /* It is continued with the attempt. */
        return false;
    }
    bool is_approved = judge(review, &verdict);
    if (attempt->outcome != NULL || is_approved) {
        post(review, verdict, clock_monotonic(clock) - begin_ns);
    }
    return is_approved;
}

bool attempt_review(struct attempt *attempt)
{
    struct review review = {.attempt = attempt};
    struct buf folder = {0};
    struct buf index = {0};
    if (attempt->work->review_secret == NULL) {
        return true;
    }
    buf_printf(&folder, "%s/review", attempt->folder);
    buf_printf(&index, "%s/review-index", attempt->folder);
    review.folder = buf_steal(&folder);
    review.index_path = buf_steal(&index);
    bool is_approved = run(&review);
    git_worktree_remove(attempt->repository, review.folder, NULL);
    free(review.folder);
    free(review.index_path);
    loop_spec_fini(&review.spec);
    work_worked_fini(&review.worked);
    buf_fini(&review.why);
    return is_approved;
}
