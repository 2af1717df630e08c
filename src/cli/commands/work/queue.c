// SPDX-License-Identifier: Apache-2.0
/* From options to a queue: the templates of its runs, and a port over the orchestrator. */
#include "cli/commands/work/queue.h"
#include "cli/commands/work/hint.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "cli/commands/run/steering.h"
#include "git/repository.h"
#include "orchestrator/orchestrator.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/state_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Sub-folder of the state folder for the files of tasks: no sandbox shows it. */
#define TASKS "issues"
/** Waits before an issue is tried again after a failure that passes. */
#define RETRY_NS      (300 * NS_PER_S)
#define RETRY_MOST_NS (7200 * NS_PER_S)
/** Longest time between looks at the issues while there is no work. */
#define POLL_MOST_NS (300 * NS_PER_S)

struct work_queue {
    const struct queue_values *values;
    struct work_queue_parts parts;
    struct work_site site;
    struct work_spec work;
    struct loop_spec run;
    char *folder;
    char by[STEERING_BY_SIZE];
    struct issue_port port;
    char *hook_secret; /* or NULL */
    struct issue_queue *queue;
};

const char *queue_agent_name(const struct queue_values *values)
{
    const char *name = values->work.coding_agent != NULL ? values->work.coding_agent
                       : values->work.role_file != NULL  ? values->work.role_file
                       : values->command != NULL         ? values->command[0]
                                                         : "";
    const char *slash = strrchr(name, '/');
    return slash == NULL || slash[1] == '\0' ? name : slash + 1;
}

/* ---- The port ------------------------------------------------------------------------------- */

static int judge_answer(enum orchestrator_answer answer, struct rondo_error *err)
{
    switch (answer) {
    case ORCHESTRATOR_STARTED:
    case ORCHESTRATOR_QUEUED:
        return 0;
    case ORCHESTRATOR_FULL:
        return error_set(err, RONDO_ERR_FULL, "too many runs wait already");
    case ORCHESTRATOR_DRAINING:
        return error_set(err, RONDO_ERR_CANCELLED, "this process is about to end");
    case ORCHESTRATOR_HELD:
        return error_set(err, RONDO_ERR_BUSY, "another process executes the run");
    }
    return 0;
}

static int start_run(void *context, const struct loop_spec *spec, struct rondo_error *err)
{
    struct work_queue *queue = context;
    enum orchestrator_answer answer;
    int r = orchestrator_queue_run(queue->parts.orchestrator, spec, queue->by, &answer, err);
    return r < 0 ? r : judge_answer(answer, err);
}

static int resume_run(void *context, const char *run_id, struct rondo_error *err)
{
    struct work_queue *queue = context;
    enum orchestrator_answer answer;
    int r = orchestrator_resume(queue->parts.orchestrator, run_id, NULL, queue->by, &answer, err);
    return r < 0 ? r : judge_answer(answer, err);
}

static int stop_run(void *context, const char *run_id, struct rondo_error *err)
{
    struct work_queue *queue = context;
    int r = orchestrator_stop_run(queue->parts.orchestrator, run_id, queue->by, err);
    return r < 0 ? r : 0;
}

static bool is_executing(void *context, const char *run_id)
{
    struct work_queue *queue = context;
    return orchestrator_is_executing(queue->parts.orchestrator, run_id);
}

/* ---- The templates -------------------------------------------------------------------------- */

/** The worker's time in one attempt, which its runs keep to whatever kind they are. */
static void set_attempt_time(const struct queue_values *values, struct loop_spec *worker)
{
    int64_t most = values->attempt_time_ns;
    if (worker->iteration_timeout_ns == 0 || worker->iteration_timeout_ns > most) {
        worker->iteration_timeout_ns = most;
    }
    if (worker->time_limit_ns == 0 || worker->time_limit_ns > most) {
        worker->time_limit_ns = most;
    }
}

/**
 * A commit of the branch that work begins from, as far as this clone knows it: checks are those
 * whose files are in it.
 */
static int find_base(const struct work_queue *queue, char ret_id[GIT_ID_SIZE],
                     struct rondo_error *err)
{
    struct git git = {.repository = queue->site.repository};
    auto_buf struct buf name = {0};
    bool is_own = queue->site.cache_folder == NULL;
    const char *branch = queue->values->base == NULL ? "HEAD" : queue->values->base;
    buf_printf(&name, "refs/remotes/%s/%s", queue->site.remote, branch);
    return is_own && git_resolve_commit(&git, buf_string(&name), ret_id, NULL) == 0
               ? 0
               : git_resolve_commit(&git, "HEAD", ret_id, err);
}

static int make_templates(struct work_queue *queue, struct queue_values *values,
                          struct option_set *set, struct rondo_error *err)
{
    const struct git_repository *repository = queue->site.repository;
    struct work_spec *work = &queue->work;
    struct loop_spec *given = &values->work.role.run.spec;
    char base[GIT_ID_SIZE];
    int r = find_base(queue, base, err);
    if (r < 0) {
        return r;
    }
    work->repository = memory_dup_string(repository->top_folder);
    work->settings = memory_dup_string(repository->settings_digest);
    work->name = memory_dup_string(queue->site.name);
    work->base = memory_dup_string(base);
    work->jobs = 1;
    work->attempts = values->attempts;
    memory_free_list(given->denied_env);
    given->denied_env = work_token_variables(values->token_env, queue->site.token.text,
                                             values->hook_secret_env, values->variables);
    given->iteration_timeout_ns = values->attempt_time_ns;
    const struct work_request request = {
        .values = &values->work,
        .set = set,
        .argc = (int)memory_count_list((const char *const *)values->command),
        .argv = values->command,
        .repository = repository,
        .has_no_criteria = true,
    };
    r = work_options_apply(&request, work, err);
    if (r < 0) {
        return r;
    }
    set_attempt_time(values, &work->worker);
    work_options_parent(&values->work, work, &queue->run);
    queue->run.max_iterations = values->attempts;
    queue->run.is_exclusive = 0; /* The claim is: other repositories may have the same name. */
    return 0;
}

static struct issue_queue_options options_of(struct work_queue *queue)
{
    const struct queue_values *values = queue->values;
    const struct work_queue_parts *parts = &queue->parts;
    struct runtime *runtime = parts->runtime;
    return (struct issue_queue_options){
        .store = runtime == NULL ? NULL : runtime_store(runtime),
        .http = parts->http,
        .paces = parts->paces,
        .clock = runtime == NULL ? clock_system() : runtime_clock(runtime),
        .random = runtime == NULL ? random_system() : runtime_random(runtime),
        .port = &queue->port,
        .owner = runtime == NULL ? "" : runtime_owner(runtime),
        .supervisor = runtime == NULL ? NULL : runtime_supervisor(runtime),
        .folder = queue->folder,
        .place = &queue->site.place,
        .token = queue->site.token.text,
        .repository = queue->site.repository,
        .access = work_site_access(&queue->site),
        .base = values->base,
        .fork = values->fork,
        .filter = {.labels = queue_values_labels(values),
                   .excluded = (const char *const *)values->excluded,
                   .prefix = queue_values_prefix(values),
                   .takes_assigned = values->takes_assigned != 0,
                   .least_trust = (enum forge_trust)values->trust,
                   .priorities = (const char *const *)values->priorities,
                   .most_age_ns = values->most_age_ns},
        .item = {.max_attempts = values->attempts,
                 .max_active_ns = values->work.role.run.spec.time_limit_ns,
                 .retry_base_ns = RETRY_NS,
                 .retry_most_ns = RETRY_MOST_NS,
                 .most_follow_ups = values->follow_ups},
        .work = &queue->work,
        .run = &queue->run,
        .most_running = values->most_running,
        .most_per_hour = values->most_per_hour,
        .day_cost_micro = values->day_cost_micro,
        .day_tokens = values->day_tokens,
        .poll_ns = values->poll_ns,
        .most_poll_ns = values->poll_ns > POLL_MOST_NS ? values->poll_ns : POLL_MOST_NS,
        .write_gap_ns = values->write_gap_ns,
        .settle_ns = values->settle_ns,
        .has_plans = values->has_plans != 0,
        .is_draft = values->is_ready == 0,
        .is_patient = parts->is_patient,
        .is_once = values->is_once != 0 || values->issue > 0,
        .number = values->issue,
        .agent = queue_agent_name(values),
        .log = parts->log,
        .event = parts->event,
        .ended = parts->ended,
        .parked = parts->parked,
        .context = parts->context,
    };
}

/** Everything but the thread. The site is the queue's also after a failure. */
static struct work_queue *make(struct queue_values *values, struct option_set *set,
                               const struct work_queue_parts *parts, struct work_site *site,
                               struct rondo_error *err)
{
    struct work_queue *queue = memory_new_zero(1, sizeof(*queue));
    queue->values = values;
    queue->parts = *parts;
    queue->site = *site;
    *site = (struct work_site){0};
    queue->port = (struct issue_port){.start = start_run,
                                      .resume = resume_run,
                                      .stop = stop_run,
                                      .is_executing = is_executing,
                                      .context = queue};
    steering_describe_self(queue->by, sizeof(queue->by));
    if (make_templates(queue, values, set, err) < 0) {
        work_queue_close(queue);
        return NULL;
    }
    return queue;
}

static int make_folder(struct work_queue *queue, struct rondo_error *err)
{
    auto_free char *tasks = NULL;
    struct buf folder = {0};
    int r = state_sub_folder(TASKS, &tasks, err);
    if (r == 0) {
        buf_printf(&folder, "%s/%s", tasks, queue->site.name);
        queue->folder = buf_steal(&folder);
        /* opens: in the state folder, which no agent reaches */
        r = file_make_folder(queue->folder, err);
    }
    return r;
}

static int find_hook_secret(struct work_queue *queue, struct rondo_error *err)
{
    const char *name = queue->values->hook_secret_env;
    const char *secret = name == NULL ? NULL : environment_find(queue->values->variables, name);
    if (name != NULL && (secret == NULL || secret[0] == '\0')) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the environment variable %s of hook-secret-env is not set", name);
    }
    queue->hook_secret = secret == NULL ? NULL : memory_dup_string(secret);
    return 0;
}

int work_queue_open(struct queue_values *values, struct option_set *set,
                    const struct work_queue_parts *parts, struct work_site *site,
                    struct work_queue **ret_queue, struct rondo_error *err)
{
    struct work_queue *queue = make(values, set, parts, site, err);
    if (queue == NULL) {
        return err->code;
    }
    int r = make_folder(queue, err);
    r = r < 0 ? r : find_hook_secret(queue, err);
    if (r == 0) {
        const struct issue_queue_options options = options_of(queue);
        r = issue_queue_start(&options, &queue->queue, err);
    }
    if (r < 0) {
        work_queue_close(queue);
        return r;
    }
    *ret_queue = queue;
    return 0;
}

void work_queue_wake(struct work_queue *queue)
{
    issue_queue_wake(queue->queue, false);
}

int64_t work_queue_tend(struct work_queue *queue)
{
    return issue_queue_tend(queue->queue);
}

bool work_queue_hint(struct work_queue *queue, struct work_hint *hint)
{
    bool is_genuine = work_hint_is_genuine(hint, queue->hook_secret);
    if (is_genuine) {
        issue_queue_wake(queue->queue, true);
    }
    return is_genuine;
}

bool work_queue_is_over(struct work_queue *queue, struct issue_queue_end *ret_end)
{
    return issue_queue_is_over(queue->queue, ret_end);
}

const char *work_queue_name(const struct work_queue *queue)
{
    return queue->site.name;
}

void work_queue_close(struct work_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    issue_queue_stop(queue->queue);
    work_site_fini(&queue->site);
    work_spec_fini(&queue->work);
    loop_spec_fini(&queue->run);
    free(queue->folder);
    free(queue->hook_secret);
    free(queue);
}

/* ---- The preview ---------------------------------------------------------------------------- */

static const char *tier_name(int64_t tier)
{
    for (const struct option_choice *choice = sandbox_tier_choices; choice->name != NULL;
         choice++) {
        if (choice->value == tier) {
            return choice->name;
        }
    }
    return "";
}

static void write_text(const struct work_queue *queue, const char *issues, bool by_comments,
                       struct buf *ret_text)
{
    const struct loop_spec *worker = &queue->work.worker;
    const struct work_site *site = &queue->site;
    buf_printf(ret_text, "repository  %s (%s)\n", site->name, forge_kind_name(site->place.kind));
    buf_printf(ret_text, "token       %s\n",
               site->token.text == NULL ? "none" : site->token.source);
    buf_printf(ret_text, "clone       %s\n",
               site->cache_folder != NULL ? site->cache_folder : site->repository->top_folder);
    if (queue->values->fork != NULL) {
        buf_printf(ret_text, "fork        %s\n", queue->values->fork);
    }
    buf_printf(ret_text, "claims      %s\n", by_comments ? "comments" : "references");
    buf_printf(ret_text, "worker      %s, sandbox %s\n", queue_agent_name(queue->values),
               tier_name(worker->worker_tier));
    for (size_t i = 0; i < worker->condition_count; i++) {
        buf_printf(ret_text, "%s%s: %s\n", i == 0 ? "checks      " : "            ",
                   worker->conditions[i].name, worker->conditions[i].command);
    }
    buf_append_string(ret_text, worker->condition_count == 0 ? "checks      none\n\n" : "\n");
    buf_append_string(ret_text, issues);
}

static void write_checks(const struct loop_spec *worker, struct json_writer *writer)
{
    json_begin_array(writer, "checks");
    for (size_t i = 0; i < worker->condition_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "name", worker->conditions[i].name);
        json_write_string(writer, "command", worker->conditions[i].command);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_json(const struct work_queue *queue, const char *issues, bool by_comments,
                       struct buf *ret_text)
{
    struct json_writer writer = json_writer(ret_text);
    const struct loop_spec *worker = &queue->work.worker;
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "work_preview");
    json_write_string(&writer, "repository", queue->site.name);
    json_write_string(&writer, "forge", forge_kind_name(queue->site.place.kind));
    json_write_string(&writer, "token",
                      queue->site.token.text == NULL ? NULL : queue->site.token.source);
    json_write_string(&writer, "fork", queue->values->fork);
    json_write_string(&writer, "claims", by_comments ? "comments" : "references");
    json_write_string(&writer, "worker", queue_agent_name(queue->values));
    json_write_string(&writer, "sandbox", tier_name(worker->worker_tier));
    write_checks(worker, &writer);
    json_begin_array(&writer, "issues");
    for (const char *at = issues; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        json_write_string_len(&writer, NULL, at, len);
        at += len + (at[len] == '\n');
    }
    json_end_array(&writer);
    json_end_object(&writer);
    buf_append_string(ret_text, "\n");
}

int work_queue_preview(struct queue_values *values, struct option_set *set,
                       const struct work_queue_parts *parts, struct work_site *site,
                       struct buf *ret_text, struct rondo_error *err)
{
    auto_buf struct buf issues = {0};
    struct work_queue *queue = make(values, set, parts, site, err);
    if (queue == NULL) {
        return err->code;
    }
    const struct issue_queue_options options = options_of(queue);
    bool by_comments = false;
    int r = issue_queue_preview(&options, &issues, &by_comments, err);
    if (r == 0 && values->work.role.run.wants_json != 0) {
        write_json(queue, buf_string(&issues), by_comments, ret_text);
    } else if (r == 0) {
        write_text(queue, buf_string(&issues), by_comments, ret_text);
    }
    work_queue_close(queue);
    return r;
}
