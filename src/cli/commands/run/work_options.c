// SPDX-License-Identifier: Apache-2.0
/* From options to the worker, the checks and the reviewer of tasks. */
#include "cli/commands/run/work_options.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands/run/run_execute.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "loop/detect.h"
#include "os/process/program.h"
#include "worker/coding_spec.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** What the functions below share. */
struct making {
    const struct work_request *request;
    struct work_values *values;
    struct work_spec *work;
    struct rondo_error *err;
};

void work_values_init(struct work_values *values, const struct option_row *rows,
                      struct option_set *ret_set)
{
    run_values_init(&values->role.run, rows, ret_set);
    values->role.run.verify_timeout_ns = WORK_CHECK_NS;
    ret_set->values = values;
}

void work_values_fini(struct work_values *values, struct option_set *set)
{
    free(values->role.run.workspace); /* no option, but of the repository */
    values->role.run.workspace = NULL;
    run_values_fini(&values->role.run, set);
}

const char *work_options_misuse(const struct work_values *values, const struct option_set *set,
                                int words)
{
    int count = (values->role_file != NULL) + (values->coding_agent != NULL) + (words > 0);
    bool has_session = option_is_given(set, "agent-home") || option_is_given(set, "resume-session");
    if (count != 1) {
        return count > 1
                   ? "give one of --agent, --role and a command, not several"
                   : "no worker given; use --agent NAME, --role FILE, or a command at the end";
    }
    if (has_session && values->coding_agent == NULL) {
        return "--agent-home and --resume-session require --agent";
    }
    return words > 0 && option_is_given(set, "model") ? "--model requires --agent or --role" : NULL;
}

/* ---- Checks --------------------------------------------------------------------------------- */

/**
 * Whether the commits of the branch have the file that a check was concluded from: working trees
 * have only what is committed.
 * @param origin "FILE", or "FILE: what in it"
 */
static bool is_at_base(const struct making *making, const char *origin)
{
    struct git git = {.repository = making->request->repository};
    auto_free char *file = memory_dup_bytes(origin, strcspn(origin, ":"));
    bool is_there = true;
    bool is_name = strchr(file, ' ') == NULL; /* "solution file" is none */
    return !is_name || git_commit_has(&git, making->work->base, file, &is_there, NULL) < 0 ||
           is_there;
}

/** The project's own checks, when none is given. */
static int detect_checks(const struct making *making, struct loop_spec *worker)
{
    static const char *const names[] = {"build_succeeds", "all_tests_pass", "linting_clean"};
    int64_t timeout_ns = making->values->role.run.verify_timeout_ns;
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        struct detect_result found;
        if (detect_command(making->work->repository, names[i], &found, NULL) != 0) {
            continue;
        }
        if (!is_at_base(making, found.origin)) {
            report_warning("%s is not in the commits of the branch, so the check `%s` is left out; "
                           "commit the file to have it run",
                           found.origin, found.command);
        } else {
            r = loop_spec_add_condition(worker, names[i], found.command, found.origin, timeout_ns,
                                        making->err);
        }
    }
    return r;
}

/** Those that the PRD demands for every task. */
static int add_gates(const struct making *making, struct loop_spec *worker)
{
    int64_t timeout_ns = making->values->role.run.verify_timeout_ns;
    int r = 0;
    for (size_t i = 0; r == 0 && i < making->request->gate_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "prd-%zu", i + 1);
        r = loop_spec_add_condition(worker, name, making->request->gates[i], "PRD", timeout_ns,
                                    making->err);
    }
    return r;
}

/* ---- The worker ----------------------------------------------------------------------------- */

/**
 * A program that is named by its path is the user's, also in other working trees. One that is not
 * there is refused before anything begins, unless the preparation of a tree may make it.
 */
static int resolve_program(const struct making *making, char **argv)
{
    char path[PATH_MAX];
    char reason[256] = "";
    /* opens: only a name, as the user gave it */
    if (strchr(argv[0], '/') != NULL && argv[0][0] != '/' && realpath(argv[0], path) != NULL) {
        free(argv[0]);
        argv[0] = memory_dup_string(path);
    }
    bool is_there = program_find(argv[0], (const char *const *)environ, ".", path, reason);
    return is_there || making->values->setup != NULL
               ? 0
               : error_set(making->err, RONDO_ERR_INVALID, "the worker cannot be started: %s: %s",
                           argv[0], reason);
}

/** A program that is named by its path is not in the working trees: the sandbox has to show it. */
static void show_program(struct loop_spec *worker, const char *program)
{
    size_t count = memory_count_list((const char *const *)worker->read_paths);
    if (program[0] == '/' && worker->worker_tier != SANDBOX_NONE) {
        worker->read_paths =
            memory_resize(worker->read_paths, count + 2, sizeof(*worker->read_paths));
        worker->read_paths[count] = memory_dup_string(program);
        worker->read_paths[count + 1] = NULL;
    }
}

static void take_list(char ***list, char *const *given)
{
    if (given != NULL) {
        memory_free_list(*list);
        *list = memory_dup_list((const char *const *)given);
    }
}

/** The tools of a role have the sandbox that it names; the options are for the checks. */
static void take_sandbox_of_checks(const struct making *making)
{
    const struct loop_spec *given = &making->values->role.run.spec;
    struct loop_spec *worker = &making->work->worker;
    if (option_is_given(making->request->set, "sandbox")) {
        worker->verifier_tier = given->verifier_tier;
    }
    if (given->allow_network != 0) {
        worker->allow_network = given->allow_network;
    }
    take_list(&worker->read_paths, given->read_paths);
    take_list(&worker->write_paths, given->write_paths);
    take_list(&worker->env_names, given->env_names);
}

static int make_worker(const struct making *making)
{
    const struct work_request *request = making->request;
    struct work_values *values = making->values;
    struct run_values *run = &values->role.run;
    struct loop_spec *worker = &making->work->worker;
    struct rondo_error *err = making->err;
    free(run->workspace);
    run->workspace = memory_dup_string(making->work->repository);
    int64_t iterations = values->iterations > 0 ? values->iterations : 1;
    int r;
    if (values->role_file != NULL || values->coding_agent != NULL) {
        run->spec.prompt = memory_dup_string("a task"); /* each attempt has its own */
        run->coding_prices = values->role.prices;       /* borrowed: no row of these commands */
    }
    if (values->role_file != NULL) {
        values->role.is_autonomous = 1;
        run->spec.max_iterations = values->iterations;
        r = run_values_complete_paths(run, request->set, err);
        r = r < 0 ? r : run_role_spec(&values->role, values->role_file, worker, err);
        if (r == 0) {
            take_sandbox_of_checks(making);
        }
    } else if (values->coding_agent != NULL) {
        run->spec.max_iterations = iterations;
        r = run_values_complete_coding(run, request->set, values->coding_agent, values->role.model,
                                       iterations == 1, err);
        *worker = r < 0 ? loop_spec_default() : loop_spec_dup(&run->spec);
    } else {
        char **argv = memory_dup_list((const char *const *)request->argv);
        r = resolve_program(making, argv);
        run->spec.max_iterations = iterations;
        r = r < 0 ? r : run_values_complete(run, request->set, request->argc, argv, err);
        *worker = r < 0 ? loop_spec_default() : loop_spec_dup(&run->spec);
        show_program(worker, argv[0]);
        memory_free_list(argv);
    }
    if (r == 0 && run->until == NULL) {
        r = detect_checks(making, worker);
    }
    return r < 0 ? r : add_gates(making, worker);
}

static void complete_worker(const struct making *making)
{
    struct loop_spec *worker = &making->work->worker;
    worker->is_exclusive = 0;
    if (making->values->role_file == NULL) {
        worker->max_tokens = 0; /* They are those of the whole run. */
        worker->max_cost_micro = 0;
        worker->time_limit_ns = 0;
    }
    if (worker->condition_count == 0 && !making->values->role.run.wants_quiet) {
        report_warning("no checks were found in the project, so %s; give checks with --gate "
                       "NAME=COMMAND",
                       making->request->has_no_criteria
                           ? "nothing verifies what the agent does"
                           : "only criteria that are commands are verified");
    }
}

/* ---- The reviewer --------------------------------------------------------------------------- */

/** A coding agent that reviews, in the sandbox of the worker. */
static int make_coding_reviewer(const struct making *making, struct loop_spec *ret_spec)
{
    const struct run_values *run = &making->values->role.run;
    const struct loop_spec *worker = &making->work->worker;
    auto_free char *config_folder = session_config_folder();
    const struct coding_options options = {.name = making->values->review,
                                           .config_folder = config_folder,
                                           .model = making->values->review_model,
                                           .agent_home = run->agent_home,
                                           .prices_file = run->coding_prices,
                                           .is_single = true};
    struct loop_spec spec = loop_spec_default();
    spec.workspace = memory_dup_string(making->work->repository);
    spec.policy = memory_dup_string(worker->policy);
    spec.prompt = memory_dup_string("a review");
    spec.verifier_tier = worker->verifier_tier;
    spec.worker_tier = worker->worker_tier;
    spec.allow_network = worker->allow_network;
    spec.iteration_timeout_ns = run->spec.iteration_timeout_ns;
    spec.max_iterations = 1;
    int r = coding_spec_set(&options, &spec, making->err);
    if (r < 0) {
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

static int make_role_reviewer(const struct making *making, struct loop_spec *ret_spec)
{
    struct role_values role = making->values->role; /* Shares what it does not have anew. */
    role.model = memory_dup_string(making->values->review_model);
    role.is_autonomous = 1;
    role.token_budget = 0;
    role.run.until = NULL;
    role.run.spec = loop_spec_default();
    role.run.spec.workspace = memory_dup_string(making->work->repository);
    role.run.spec.policy = memory_dup_string(making->work->worker.policy);
    role.run.spec.prompt = memory_dup_string("a review");
    int r = run_role_spec(&role, making->values->review, ret_spec, making->err);
    loop_spec_fini(&role.run.spec);
    free(role.model);
    return r;
}

static int make_reviewer(const struct making *making)
{
    struct work_spec *work = making->work;
    const char *name = making->values->review;
    char secret[ID_SIZE];
    if (name == NULL) {
        return making->values->review_model == NULL
                   ? 0
                   : error_set(making->err, RONDO_ERR_INVALID, "--review-model requires --review");
    }
    bool is_coding = run_values_names_coding(name);
    /* opens: only whether it is there; the role's reader guards it */
    if (!is_coding && access(name, R_OK) != 0) {
        return error_set(making->err, RONDO_ERR_NOT_FOUND,
                         "--review %s is neither a coding agent nor a role file", name);
    }
    int r = is_coding ? make_coding_reviewer(making, &work->reviewer)
                      : make_role_reviewer(making, &work->reviewer);
    if (r == 0) {
        work->reviewer.is_exclusive = 0;
        id_new(clock_now(clock_system()), random_system(), secret);
        work->review_secret = memory_dup_string(secret);
    }
    return r;
}

/** What the command denies to its runs, whichever worker it is. */
static void deny_variables(const struct making *making)
{
    char **denied = making->values->role.run.spec.denied_env;
    take_list(&making->work->worker.denied_env, denied);
    take_list(&making->work->reviewer.denied_env, denied);
}

/* ---- All of it ------------------------------------------------------------------------------ */

int work_options_apply(const struct work_request *request, struct work_spec *work,
                       struct rondo_error *err)
{
    const struct making making = {
        .request = request, .values = request->values, .work = work, .err = err};
    int r = make_worker(&making);
    r = r < 0 ? r : make_reviewer(&making);
    if (r < 0) {
        return r;
    }
    complete_worker(&making);
    work->setup = memory_dup_string(request->values->setup);
    work->protect = memory_dup_list((const char *const *)request->values->protect);
    work->is_clean = request->values->is_clean;
    deny_variables(&making);
    r = loop_spec_check(&work->worker, err);
    r = r < 0 ? r : run_check_sandbox(&work->worker, err);
    return r < 0 || work->review_secret == NULL ? r : run_check_sandbox(&work->reviewer, err);
}

void work_options_parent(const struct work_values *values, const struct work_spec *work,
                         struct loop_spec *ret_spec)
{
    const struct loop_spec *given = &values->role.run.spec;
    auto_buf struct buf id = {0};
    struct loop_spec spec = loop_spec_default();
    buf_printf(&id, "prd-%s", work->name);
    spec.agent_id = loop_spec_agent_of(buf_string(&id));
    spec.kind = memory_dup_string(WORK_KIND);
    spec.workspace = memory_dup_string(work->repository);
    spec.policy = memory_dup_string(given->policy);
    spec.prompt = memory_dup_string(work->name);
    spec.is_exclusive = 1;
    spec.max_tokens = given->max_tokens;
    spec.max_cost_micro = given->max_cost_micro;
    spec.time_limit_ns = given->time_limit_ns;
    spec.max_failures = LIMIT_MAX_ITERATIONS;
    spec.worker_tier = work->worker.worker_tier;
    spec.verifier_tier = work->worker.verifier_tier;
    *ret_spec = spec;
}
