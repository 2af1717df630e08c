// SPDX-License-Identifier: Apache-2.0
/* Running git: one place for its environment, its settings and its deadlines. */
#include "git/run.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/process/program.h"
#include "os/spawn/spawn.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define ERRORS_KEPT 2048

/* They win over every file of settings, in submodules too. The drivers of filters, diffs and merges
 * that files define are added by name (repository.c): attributes of a tree choose among them, and
 * their commands may lead into the tree. */
static const char *const fixed_settings[] = {
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.ignoreStat=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "index.version=2",
    "index.sparse=false",
    "submodule.recurse=false",
    "protocol.ext.allow=never",
    "core.pager=cat",
    "core.quotePath=false",
    "core.alternateRefsCommand=",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "advice.graftFileDeprecated=false",
    "color.ui=false",
    "core.preloadIndex=true",
    "log.showSignature=false",
    "core.editor=false",
    "user.useConfigOnly=true",
};

/* Where the user's own settings are. */
static const char *const passed_names[] = {"XDG_CONFIG_HOME", NULL};

struct capture {
    const struct git_call *call;
    struct git_reply *reply;
    size_t limit;
    int os_errno; /* of writing to the caller's descriptor */
};

static void take_output(void *context, const char *bytes, size_t len)
{
    struct capture *capture = context;
    struct git_reply *reply = capture->reply;
    size_t room =
        reply->output_total < capture->limit ? capture->limit - (size_t)reply->output_total : 0;
    size_t n = len < room ? len : room;
    reply->output_total += len;
    reply->is_cut = reply->is_cut || n < len;
    if (capture->call->output_fd <= 0) {
        buf_append(&reply->output, bytes, n);
    } else if (capture->os_errno == 0 && n > 0 &&
               file_write_all(capture->call->output_fd, bytes, n) != 0) {
        capture->os_errno = errno;
    }
}

static void take_errors(void *context, const char *bytes, size_t len)
{
    struct capture *capture = context;
    struct buf *errors = &capture->reply->errors;
    size_t room = ERRORS_KEPT - errors->len;
    buf_append(errors, bytes, len < room ? len : room);
}

static const char **make_arguments(const struct git *git, const struct git_call *call)
{
    const struct git_repository *repository = git->repository;
    const char *const *drivers = (const char *const *)repository->driver_settings;
    size_t fixed = sizeof(fixed_settings) / sizeof(fixed_settings[0]);
    size_t room = 2 + 2 * (fixed + memory_count_list(drivers)) + memory_count_list(call->arguments);
    const char **argv = memory_new_zero(room, sizeof(*argv));
    size_t n = 0;
    argv[n++] = repository->program;
    for (size_t i = 0; i < fixed; i++) {
        argv[n++] = "-c";
        argv[n++] = fixed_settings[i];
    }
    for (size_t i = 0; drivers != NULL && drivers[i] != NULL; i++) {
        argv[n++] = "-c";
        argv[n++] = drivers[i];
    }
    for (size_t i = 0; call->arguments[i] != NULL; i++) {
        argv[n++] = call->arguments[i];
    }
    return argv;
}

static void add_variable(char **list, size_t *count, const char *name, const char *value)
{
    if (value != NULL) {
        struct buf variable = {0};
        buf_printf(&variable, "%s=%s", name, value);
        list[(*count)++] = buf_steal(&variable);
    }
}

/** @return environment_free() */
static char **make_environment(const struct git *git, const struct git_call *call)
{
    const struct git_repository *repository = git->repository;
    size_t further = memory_count_list(call->variables);
    char **extra = memory_new_zero(further + 12, sizeof(*extra));
    size_t n = 0;
    add_variable(extra, &n, "LC_ALL", "C");
    add_variable(extra, &n, "LANGUAGE", "C");
    add_variable(extra, &n, "GIT_TERMINAL_PROMPT", "0");
    add_variable(extra, &n, "GIT_OPTIONAL_LOCKS", "0");
    /* An id is what was verified: no reference or file may put another object in its place. */
    add_variable(extra, &n, "GIT_NO_REPLACE_OBJECTS", "1");
    add_variable(extra, &n, "GIT_GRAFT_FILE", "/dev/null");
    const char *git_dir = call->git_dir != NULL ? call->git_dir : repository->common_folder;
    add_variable(extra, &n, "GIT_DIR", call->finds_git_dir ? NULL : git_dir);
    add_variable(extra, &n, "GIT_WORK_TREE", call->work_tree);
    add_variable(extra, &n, "GIT_INDEX_FILE", call->index_file);
    for (size_t i = 0; i < further; i++) {
        extra[n++] = memory_dup_string(call->variables[i]);
    }
    const char *const *names = call->names != NULL ? call->names : passed_names;
    char **environment = environment_reduced(names, (const char *const *)extra);
    memory_free_list(extra);
    return environment;
}

static int judge_end(const struct spawn_result *result, struct rondo_error *err)
{
    switch (result->end) {
    case SPAWN_EXITED:
        return 0;
    case SPAWN_SIGNALLED:
        return error_set(err, RONDO_ERR_SYSTEM, "git was killed by signal %d", result->signal);
    case SPAWN_TIMED_OUT:
        return error_set(err, RONDO_ERR_TIMEOUT, "git did not end in time: %s", result->reason);
    case SPAWN_CANCELLED:
        return error_set(err, RONDO_ERR_CANCELLED, "git was stopped");
    case SPAWN_NOT_STARTED:
        return error_set(err, RONDO_ERR_NOT_FOUND, "git cannot be started: %s", result->reason);
    }
    return error_set(err, RONDO_ERR_SYSTEM, "git ended in an unknown way");
}

static int run_request(struct git *git, const struct git_call *call, struct capture *capture,
                       struct rondo_error *err)
{
    auto_free const char **argv = make_arguments(git, call);
    char **environment = make_environment(git, call);
    const struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environment,
        .directory = call->directory != NULL ? call->directory : git->repository->common_folder,
        .total_ns = call->total_ns != 0 ? call->total_ns : GIT_CALL_NS,
        .on_output = take_output,
        .on_errors = take_errors,
        .on_output_context = capture,
        .input = call->input,
        .input_len = call->input_len,
        .cancel = git->cancel,
        .supervisor = call->is_brief ? NULL : git->supervisor,
        .output_keep = 1,
    };
    struct spawn_result result = {0};
    git->process_count++;
    int r = spawn_run(&request, &result, err);
    if (r == 0) {
        r = judge_end(&result, err);
        capture->reply->exit_code = result.exit_code;
        spawn_result_fini(&result);
    }
    environment_free(environment);
    return r;
}

/** The machine was out of memory, or somebody has killed the wrong process. */
static bool is_repeatable(const struct git_call *call, int r)
{
    return r == RONDO_ERR_SYSTEM && !call->is_once && call->output_fd <= 0;
}

int git_call_run(struct git *git, const struct git_call *call, struct git_reply *ret_reply,
                 struct rondo_error *err)
{
    struct git_reply reply = {0};
    struct capture capture = {
        .call = call,
        .reply = &reply,
        .limit = call->output_limit != 0 ? call->output_limit : LIMIT_GIT_OUTPUT_BYTES,
    };
    int r = run_request(git, call, &capture, err);
    if (is_repeatable(call, r)) {
        git_reply_fini(&reply);
        r = run_request(git, call, &capture, err);
    }
    if (r == 0 && capture.os_errno != 0) {
        r = error_set_errno(err, RONDO_ERR_IO, capture.os_errno, "cannot write what git printed");
    }
    if (r != 0) {
        git_reply_fini(&reply);
        return r;
    }
    *ret_reply = reply;
    return 0;
}

int git_fail(const struct git_reply *reply, const char *subject, struct rondo_error *err)
{
    auto_buf struct buf clean = {0};
    text_clean(buf_string(&reply->errors), reply->errors.len, &clean);
    if (clean.len == 0) {
        buf_printf(&clean, "exit code %d", reply->exit_code);
    }
    return error_set(err, RONDO_ERR_STATE, "%s: %s", subject, buf_string(&clean));
}

int git_call_run_well(struct git *git, const struct git_call *call, struct git_reply *ret_reply,
                      struct rondo_error *err)
{
    struct git_reply reply = {0};
    auto_buf struct buf subject = {0};
    int r = git_call_run(git, call, &reply, err);
    if (r != 0) {
        return r;
    }
    buf_printf(&subject, "git %s failed", call->arguments[0]);
    if (reply.exit_code != 0) {
        r = git_fail(&reply, buf_string(&subject), err);
    } else if (reply.is_cut && call->output_fd <= 0) {
        r = error_set(err, RONDO_ERR_LIMIT, "git %s printed more than %zu bytes",
                      call->arguments[0], reply.output.len);
    }
    if (r != 0) {
        git_reply_fini(&reply);
        return r;
    }
    *ret_reply = reply;
    return 0;
}

const char *git_reply_line(struct git_reply *reply)
{
    struct buf *output = &reply->output;
    while (output->len > 0 && output->data[output->len - 1] == '\n') {
        output->data[--output->len] = '\0';
    }
    return buf_string(output);
}

void git_reply_fini(struct git_reply *reply)
{
    buf_fini(&reply->output);
    buf_fini(&reply->errors);
    *reply = (struct git_reply){0};
}
