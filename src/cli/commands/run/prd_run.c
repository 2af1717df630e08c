// SPDX-License-Identifier: Apache-2.0
/* rondo prd run: from a PRD and options to the run that carries it out. */
#include "cli/commands/run/prd_run.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands/prd/commands.h"
#include "cli/commands/run/run_execute.h"
#include "cli/commands/run/steering.h"
#include "cli/commands/trust_subject.h"
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "git/commit.h"
#include "git/facts.h"
#include "git/remote.h"
#include "git/worktree.h"
#include "prd/archive.h"
#include "prd/file.h"
#include "prd/write.h"
#include "work/files.h"
#include "work/spec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Attempts over all tasks when nothing is given. */
#define MOST_ATTEMPTS 20

struct prd_start {
    struct prd_run_values *values;
    struct option_set *set;
    char *folder; /* of the PRD */
    struct prd prd;
    struct git_repository *repository;
    struct work_spec work;
    struct loop_spec spec; /* of the parent */
    struct rondo_error err;
};

/* ---- The PRD -------------------------------------------------------------------------------- */

static char *beside(const char *folder, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    return buf_steal(&path);
}

/** Write, or bring up to date, the prd.json of a PRD that people write. */
static int convert(struct prd_start *start, const char *path)
{
    struct rondo_error *err = &start->err;
    auto_prd struct prd prd = {0};
    auto_prd_findings struct prd_findings findings = {0};
    auto_buf struct buf existing = {0};
    auto_buf struct buf text = {0};
    int r = prd_command_read(path, NULL, false, &prd, &findings, err);
    r = r < 0 ? r : prd_findings_error(&findings, err);
    if (r < 0) {
        return r;
    }
    r = prd_file_read(NULL, start->work.prd, &existing, err);
    bool is_new = r == RONDO_ERR_NOT_FOUND;
    if (r < 0 && !is_new) {
        return r;
    }
    *err = (struct rondo_error){0};
    r = prd_write(&prd, PRD_ARETE, is_new ? NULL : &existing, clock_now(clock_system()), &text,
                  NULL, err);
    bool is_same = !is_new && text.len == existing.len &&
                   memcmp(buf_string(&text), buf_string(&existing), text.len) == 0;
    return r < 0 || is_same
               ? r
               : prd_file_replace(NULL, start->work.prd, is_new ? NULL : &existing, &text, err);
}

static int read_prd(struct prd_start *start, const char *file)
{
    struct rondo_error *err = &start->err;
    auto_prd_findings struct prd_findings findings = {0};
    auto_buf struct buf shown = {0};
    bool is_json = false;
    char path[PATH_MAX];
    /* opens: only a name, as the user gave it; prd/file reads and guards it */
    if (realpath(file, path) == NULL) {
        return error_set_errno(err, RONDO_ERR_NOT_FOUND, errno, "%s", file);
    }
    start->folder = memory_dup_bytes(path, (size_t)(strrchr(path, '/') - path));
    start->work.progress = beside(start->folder, "progress.txt");
    int r = prd_command_is_json(path, &is_json, err);
    if (r < 0) {
        return r;
    }
    start->work.prd = is_json ? memory_dup_string(path) : beside(start->folder, "prd.json");
    r = is_json ? 0 : convert(start, path);
    const char *const agent_folders[] = {start->folder, NULL};
    r = r < 0 ? r
              : prd_file_load(agent_folders, start->work.prd, NULL, &start->prd, &findings, err);
    if (r < 0) {
        return r;
    }
    if (!start->values->work.role.run.wants_quiet || findings.errors > 0) {
        prd_command_findings(file, &findings, &shown);
        fputs(buf_string(&shown), stderr);
    }
    if (start->prd.task_count == 0) {
        return error_set(err, RONDO_ERR_INVALID, "%s has no tasks", file);
    }
    return prd_findings_error(&findings, err);
}

static void name_prd(struct prd_start *start)
{
    const char *name = start->prd.name;
    if (name[0] == '\0') {
        const char *end = strrchr(start->folder, '/');
        name = end == NULL || end[1] == '\0' ? "prd" : end + 1;
    }
    start->work.name = memory_dup_string(name);
    start->work.tag = memory_dup_string(start->prd.tag);
}

/* ---- The repository ------------------------------------------------------------------------- */

/** Commits can be made from here: nothing is in progress, nothing is lost. */
static int check_repository(struct prd_start *start, struct git *git)
{
    struct git_facts facts = {0};
    char **own = work_files_excluded(&start->work);
    int r = git_facts_read(git, &facts, &start->err);
    r = r < 0 ? r : git_facts_check(&facts, (const char *const *)own, &start->err);
    r = r < 0 ? r : git_repository_check_author(start->repository, &start->err);
    git_facts_fini(&facts);
    memory_free_list(own);
    return r;
}

static void name_branch(struct prd_start *start)
{
    char name[PRD_ARCHIVE_NAME_SIZE];
    struct buf branch = {0};
    prd_archive_name(start->work.name, name);
    buf_printf(&branch, "prd/%s", name);
    const char *given = start->values->branch != NULL ? start->values->branch
                        : start->prd.branch != NULL   ? start->prd.branch
                                                      : branch.data;
    start->work.branch = memory_dup_string(given);
    start->work.is_branch_per_task = start->values->is_branch_per_task;
    buf_fini(&branch);
}

/** One that is checked out somewhere is left alone. */
static int check_not_in_use(struct prd_start *start, const char *branch)
{
    auto_free char *where = NULL;
    int r = git_branch_check_name(branch, &start->err);
    r = r < 0 ? r : git_worktree_of_branch(start->repository, branch, NULL, &where, &start->err);
    return r < 0 || where == NULL
               ? r
               : error_set(
                     &start->err, RONDO_ERR_STATE,
                     "branch %s is checked out in %s, and Rondo never changes checked-out files; "
                     "switch to another branch there, or choose one with --branch",
                     branch, where);
}

/** The branches of tasks are below the name: git takes that for no branch, then. */
static int check_task_branches(struct prd_start *start, struct git *git)
{
    struct work_spec *work = &start->work;
    auto_free char *above = memory_dup_string(work->branch);
    char id[GIT_ID_SIZE];
    int r = git_branch_check_name(work->branch, &start->err);
    for (char *end = above + strlen(above); r == 0 && end != NULL; end = strrchr(above, '/')) {
        *end = '\0';
        if (git_branch_read(git, above, id, NULL) == 0) {
            return error_set(
                &start->err, RONDO_ERR_STATE,
                "there is a branch %s, so git cannot have branches %s/ID; choose another "
                "name for the branches of the tasks with --branch",
                above, above);
        }
    }
    for (size_t i = 0; r == 0 && i < start->prd.task_count; i++) {
        auto_free char *branch = work_task_branch(work, start->prd.tasks[i].id);
        r = check_not_in_use(start, branch);
    }
    return r;
}

static int choose_branch(struct prd_start *start, struct git *git)
{
    struct rondo_error *err = &start->err;
    char base[GIT_ID_SIZE];
    name_branch(start);
    bool is_per_task = start->work.is_branch_per_task != 0;
    int r =
        is_per_task ? check_task_branches(start, git) : check_not_in_use(start, start->work.branch);
    if (r == 0 && !is_per_task) {
        r = git_branch_read(git, start->work.branch, base, err);
    }
    if (r == RONDO_ERR_NOT_FOUND || (r == 0 && is_per_task)) {
        *err = (struct rondo_error){0};
        r = git_resolve_commit(git, "HEAD", base, err);
    }
    start->work.base = r < 0 ? NULL : memory_dup_string(base);
    return r;
}

/** The remote that branches are pushed to, if they are. */
static int choose_remote(struct prd_start *start, struct git *git)
{
    const struct prd_run_values *values = start->values;
    auto_free char *address = NULL;
    if (!values->is_pushed && !values->wants_request) {
        return values->remote == NULL
                   ? 0
                   : error_set(&start->err, RONDO_ERR_INVALID, "--remote requires --push or --pr");
    }
    const char *name = values->remote == NULL ? "origin" : values->remote;
    int r = git_remote_address(git, name, &address, &start->err);
    if (r == 0 && address == NULL) {
        r = error_set(&start->err, RONDO_ERR_NOT_FOUND,
                      "there is no remote %s to push to; add it with `git remote add %s ADDRESS`, "
                      "or name another one with --remote",
                      name, name);
    }
    start->work.remote = memory_dup_string(name);
    start->work.wants_request = values->wants_request;
    return r;
}

static int open_repository(struct prd_start *start)
{
    int r = git_repository_open(start->folder, NULL, &start->repository, &start->err);
    if (r < 0) {
        return r;
    }
    if (start->repository->top_folder == NULL) {
        return error_set(&start->err, RONDO_ERR_STATE, "%s is a bare repository", start->folder);
    }
    struct git git = {.repository = start->repository};
    start->work.repository = memory_dup_string(start->repository->top_folder);
    start->work.settings = memory_dup_string(start->repository->settings_digest);
    r = check_repository(start, &git);
    r = r < 0 ? r : choose_remote(start, &git);
    return r < 0 ? r : choose_branch(start, &git);
}

/* ---- The run -------------------------------------------------------------------------------- */

static void make_spec(struct prd_start *start)
{
    const struct prd_run_values *values = start->values;
    struct work_spec *work = &start->work;
    auto_buf struct buf json = {0};
    work->jobs = values->jobs > 0 ? values->jobs : 1;
    work->attempts = values->attempts > 0 ? values->attempts : 3;
    work->is_archived = values->is_archived;
    work_options_parent(&values->work, work, &start->spec);
    start->spec.max_iterations = values->max_attempts > 0 ? values->max_attempts : MOST_ATTEMPTS;
    work_spec_encode(work, &json);
    start->spec.work = buf_steal(&json);
}

static int start_run(struct prd_start *start, struct session *session)
{
    char by[STEERING_BY_SIZE];
    struct loop_parts parts = {.runtime = session->runtime, .by = by};
    struct run_values *run = &start->values->work.role.run;
    struct loop *loop = NULL;
    struct loop_opening opening;
    steering_describe_self(by, sizeof(by));
    int r = loop_start(&parts, &start->spec, &loop, &opening, &start->err);
    if (r == RONDO_ERR_DENIED && trust_ask_policy(start->spec.policy, session->store_path)) {
        start->err = (struct rondo_error){0};
        r = loop_start(&parts, &start->spec, &loop, &opening, &start->err);
    }
    if (r == 0 && opening.is_held) {
        r = session_held(session, &opening.holder, &start->err);
    }
    return r < 0 ? report_error_as(&start->err, run->wants_json != 0)
                 : run_execute(session, loop, run, 0, NULL, NULL);
}

static int prepare(struct prd_start *start, const char *file, int argc, char **argv)
{
    int r = read_prd(start, file);
    if (r < 0) {
        return r;
    }
    name_prd(start);
    r = open_repository(start);
    const struct work_request request = {
        .values = &start->values->work,
        .set = start->set,
        .argc = argc,
        .argv = argv,
        .repository = start->repository,
        .gates = start->prd.gates,
        .gate_count = start->prd.gate_count,
    };
    r = r < 0 ? r : work_options_apply(&request, &start->work, &start->err);
    if (r == 0) {
        make_spec(start);
        r = loop_spec_check(&start->spec, &start->err);
    }
    return r;
}

static int prd_run(struct prd_run_values *values, struct option_set *set, const char *file,
                   int argc, char **argv)
{
    struct prd_start start = {.values = values, .set = set};
    struct session session;
    const struct session_options options = {
        .store = values->work.role.run.store,
        .access = STORE_CREATING,
        .needs_runtime = true,
        .lease_ns = values->work.role.run.lease_ns,
    };
    int r = prepare(&start, file, argc, argv);
    r = r < 0 ? r : session_open(&options, &session, &start.err);
    int exit_code;
    if (r < 0) {
        exit_code = report_error_as(&start.err, values->work.role.run.wants_json != 0);
    } else {
        exit_code = start_run(&start, &session);
        session_close(&session);
    }
    free(start.folder);
    prd_fini(&start.prd);
    git_repository_free(start.repository);
    work_spec_fini(&start.work);
    loop_spec_fini(&start.spec);
    return exit_code;
}

int cmd_prd_run(const struct invocation *invocation)
{
    struct prd_run_values values = {0};
    struct option_set set;
    work_values_init(&values.work, prd_run_options, &set);
    struct parsed parsed = command_parse(invocation, &set, 1, LIMIT_ARGUMENTS);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        run_role_resolve(&values.work.role);
        const char *misuse = work_options_misuse(&values.work, &set, parsed.argc - 1);
        exit_code = misuse != NULL
                        ? command_misuse(invocation->command, misuse)
                        : prd_run(&values, &set, parsed.argv[0], parsed.argc - 1, parsed.argv + 1);
    }
    work_values_fini(&values.work, &set);
    return exit_code;
}
