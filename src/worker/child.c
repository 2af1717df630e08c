// SPDX-License-Identifier: Apache-2.0
/* Runs that work on a PRD's tasks. */
#include "worker/child.h"

#include "agent/agent.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "journal/reader.h"
#include "loop/control/control.h"
#include "loop/driver/body_ports.h"
#include "loop/driver/passing.h"
#include "loop/owner.h"
#include "net/client/http.h"
#include "work/executor.h"
#include "work/spec.h"
#include "worker/decided.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** Until the lease of a process is looked at again that may be dead. */
#define HELD_PAUSE_NS (NS_PER_S / 5)
/** Times that this is done before the run is left for now. */
#define MOST_HELD 600

struct worker_children {
    struct loop *parent;
    struct worker_options options;
    char *config_folder;
    char *prices_file;
    char *work_folder;
    const struct worker_bodies *bodies;
    struct loop_family family;
    pthread_mutex_t http_lock;
    struct http_client *http; /* for roles: made with the first one; or NULL */
    struct work_executor *executor;
};

/** One run. */
struct task_run {
    struct worker_children *children;
    const struct work_order *order;
    struct loop_spec spec;
    struct agent *agent;
    struct loop *loop;
    void *body;
    bool is_over; /* it had ended before */
};

/* ---- Opening -------------------------------------------------------------------------------- */

/** The client that all runs with a role share. */
static int find_http(struct worker_children *children, struct rondo_error *err)
{
    pthread_mutex_lock(&children->http_lock);
    int r = children->http == NULL ? http_client_new(NULL, &children->http, err) : 0;
    pthread_mutex_unlock(&children->http_lock);
    return r;
}

static int open_agent(struct task_run *child, struct rondo_error *err)
{
    int r = child->spec.agent == NULL ? 0 : find_http(child->children, err);
    if (r < 0 || child->spec.agent == NULL) {
        return r;
    }
    const struct agent_parts parts = {
        .http = child->children->http,
        .config_folder = child->children->options.config_folder,
        .prices_file = child->children->options.prices_file,
        .cancel = child->order->stop,
        .is_inside = true,
    };
    return agent_open(loop_runtime(child->children->parent), &child->spec, &parts, &child->agent,
                      err);
}

static struct loop_parts parts_of(const struct task_run *child)
{
    return (struct loop_parts){
        .runtime = loop_runtime(child->children->parent),
        .by = loop_spec(child->children->parent)->agent_id,
        .parent = loop_run_id(child->children->parent),
        .check_limits = agent_check_limits,
    };
}

static int begin(struct task_run *child, struct rondo_error *err)
{
    struct loop_parts parts = parts_of(child);
    struct loop_opening opening = {0};
    child->spec = loop_spec_dup(child->order->spec);
    memcpy(child->spec.run_id, child->order->spec->run_id, sizeof(child->spec.run_id));
    int r = open_agent(child, err);
    r = r < 0 ? r : loop_start(&parts, &child->spec, &child->loop, &opening, err);
    return r == 0 && opening.is_held
               ? error_set(err, RONDO_ERR_STATE,
                           "another run of this agent is executing; stop it, then resume")
               : r;
}

/** Continue a run whose process died; one that may be alive is waited for. */
static int resume(struct task_run *child, struct rondo_error *err)
{
    struct loop_parts parts = parts_of(child);
    struct store *store = runtime_store(parts.runtime);
    struct loop_opening opening = {.is_held = true};
    const char *id = child->order->spec->run_id;
    int r = loop_recorded_spec(store, id, &child->spec, err);
    r = r < 0 ? r : open_agent(child, err);
    for (int i = 0; r == 0 && opening.is_held; i++) {
        r = loop_resume(&parts, id, NULL, NULL, -1, &child->loop, &opening, err);
        if (r == 0 && opening.is_held &&
            (i >= MOST_HELD || cancel_wait(child->order->stop, HELD_PAUSE_NS))) {
            r = error_set(err, RONDO_ERR_TIMEOUT, "another process executes run %s", id);
        }
    }
    return r;
}

/**
 * Read the row of a run. One that does not name this parent is refused: on a store that tenants
 * share, another one may have made it to be executed or read here.
 */
static int find_run(struct worker_children *children, const char *run_id, struct store_run *ret_row,
                    struct rondo_error *err)
{
    struct store *store = runtime_store(loop_runtime(children->parent));
    int r = store->ops->get_run(store, run_id, ret_row, err);
    if (r == 0 && strcmp(ret_row->parent, loop_run_id(children->parent)) != 0) {
        r = error_set(err, RONDO_ERR_STATE, "the run %s is there already, and has another parent",
                      run_id);
    }
    return r;
}

static int open_run(struct task_run *child, struct rondo_error *err)
{
    struct worker_children *children = child->children;
    struct store_run row;
    int r = find_run(children, child->order->spec->run_id, &row, err);
    if (r == RONDO_ERR_NOT_FOUND) {
        r = begin(child, err);
    } else if (r == 0 && row.ended_ns == 0) {
        r = resume(child, err);
    } else if (r == 0) {
        child->is_over = true;
        return 0;
    }
    if (r == 0) {
        struct worker_options options = children->options;
        options.variables = child->order->variables;
        options.on_output = NULL;
        loop_set_outer(child->loop, children->parent);
        loop_set_family(child->loop, &children->family);
        r = children->bodies->open(child->loop, &options, child->agent, &child->body, err);
    }
    return r;
}

/* ---- The result ----------------------------------------------------------------------------- */

/** Whether a coding agent was not permitted to do its work. */
static bool is_agent_denied(const struct event_worker_finished *finished)
{
    const char *outcome = finished->outcome == NULL ? "" : finished->outcome;
    return strcmp(outcome, "denied") == 0 ||
           (strcmp(outcome, "no_work") == 0 && finished->denials > 0);
}

/** What the journal of a run says of its end. */
static bool take_event(const struct journal_entry *entry, void *context)
{
    struct work_worked *worked = context;
    const struct journal_event *event = &entry->event;
    if (!entry->is_known) {
        return true;
    }
    if (event->type == JOURNAL_ITERATION_FINISHED) {
        const struct event_iteration_finished *finished = &event->iteration_finished;
        worked->has_failed = finished->outcome != NULL && strcmp(finished->outcome, "ok") != 0;
        free(worked->message);
        free(worked->output);
        free(worked->summary);
        struct buf message = {0};
        if (worked->has_failed) {
            bool is_failed = strcmp(finished->outcome, "failed") == 0;
            buf_printf(&message, "the worker %s%s", is_failed ? "" : "ended with ",
                       finished->outcome);
            if (finished->exit_code > 0) {
                buf_printf(&message, " (exit code %d)", (int)finished->exit_code);
            }
            if (finished->message != NULL) {
                buf_printf(&message, ": %.400s", finished->message);
            }
        }
        worked->message = message.data;
        size_t len = journal_output_len(finished->output, finished->output_len);
        worked->output = finished->output == NULL ? NULL : memory_dup_bytes(finished->output, len);
        worked->summary = memory_dup_string(finished->summary);
    } else if (event->type == JOURNAL_WORKER_FINISHED) {
        worked->is_denied = is_agent_denied(&event->worker_finished);
        worked->is_locked_out = event->worker_finished.outcome != NULL &&
                                strcmp(event->worker_finished.outcome, "auth") == 0;
    } else if (event->type == JOURNAL_RUN_FINISHED && event->run_finished.status != NULL) {
        const char *status = event->run_finished.status;
        const char *why = event->run_finished.message;
        bool is_violation = strcmp(status, "policy_violation") == 0;
        worked->is_denied = worked->is_denied || is_violation;
        worked->is_limited = strcmp(status, "budget_exceeded") == 0;
        worked->is_closed = strcmp(status, "error") == 0 && why != NULL &&
                            strncmp(why, OWNER_GONE_MESSAGE, strlen(OWNER_GONE_MESSAGE)) == 0;
        bool is_failure = strcmp(status, "failed") == 0 || strcmp(status, "error") == 0 ||
                          strcmp(status, "blocked") == 0 || strcmp(status, "cancelled") == 0 ||
                          is_violation;
        worked->has_failed = worked->has_failed || is_failure;
        if (is_failure) {
            struct buf message = {0};
            const char *summary = event->run_finished.summary;
            buf_printf(&message, "the worker's run ended as %s: %.400s", status,
                       summary != NULL ? summary
                       : why != NULL   ? why
                                       : "no reason was given");
            free(worked->message);
            worked->message = buf_steal(&message);
        }
    }
    return true;
}

/** What a run has used counts, however it went. */
static int read_usage(struct worker_children *children, const char *run_id,
                      struct work_worked *ret_worked, struct rondo_error *err)
{
    struct store_run row;
    int r = find_run(children, run_id, &row, err);
    if (r == 0) {
        ret_worked->is_ended = row.ended_ns != 0;
        ret_worked->tokens = row.summary.tokens;
        ret_worked->cost_micro = row.summary.cost_micro;
    }
    return r;
}

static int read_result(struct worker_children *children, const char *run_id,
                       struct work_worked *ret_worked, struct rondo_error *err)
{
    struct store *store = runtime_store(loop_runtime(children->parent));
    int r = read_usage(children, run_id, ret_worked, err);
    return r < 0 ? r : journal_visit(store, run_id, 0, UINT32_MAX, take_event, ret_worked, err);
}

/* ---- The port ------------------------------------------------------------------------------- */

/**
 * A run that is paused waits here: for a person who continues it, or who decides about a call. When
 * the parent stops, it is parked as it is.
 * @return enum loop_turn or a negative code
 */
static int next_turn(struct task_run *child, struct rondo_error *err)
{
    struct loop_parts parts = parts_of(child);
    const char *run_id = child->order->spec->run_id;
    int turn = loop_next(child->loop, err);
    while (turn == LOOP_PAUSED && !cancel_wait(child->order->stop, HELD_PAUSE_NS)) {
        bool is_decided = false;
        if (loop_state(child->loop)->is_waiting &&
            worker_is_decided(parts.runtime, run_id, &is_decided, NULL) == 0 && is_decided) {
            loop_continue_run(&parts, run_id, "a decision", NULL);
        }
        loop_look_for_mail(child->loop);
        if (!loop_state(child->loop)->is_paused || loop_state(child->loop)->is_stop_requested) {
            turn = loop_next(child->loop, err);
        }
    }
    return turn;
}

/** @return enum loop_turn or a negative code */
static int execute_run(struct task_run *child, struct rondo_error *err)
{
    struct loop_passing passing = {.from = child->order->stop, .to = child->loop, .parks = true};
    int r = loop_passing_begin(&passing, err);
    int turn = r < 0 ? r : LOOP_BODY;
    while (turn == LOOP_BODY && (turn = next_turn(child, err)) == LOOP_BODY) {
        r = child->children->bodies->run(child->body, err);
        turn = r < 0 ? r : turn;
    }
    loop_passing_end(&passing);
    return turn;
}

static int execute(void *context, const struct work_order *order, struct work_worked *ret_worked,
                   struct rondo_error *err)
{
    struct task_run child = {.children = context, .order = order};
    int r = open_run(&child, err);
    int turn = r < 0 || child.is_over ? r : execute_run(&child, err);
    child.children->bodies->close(child.body);
    if (child.loop != NULL && turn != LOOP_ENDED && turn != RONDO_ERR_FENCED) {
        int parked = loop_park(child.loop, turn < 0 ? NULL : err);
        turn = turn < 0 ? turn : parked;
    }
    agent_free(child.agent);
    loop_free(child.loop);
    loop_spec_fini(&child.spec);
    ret_worked->was_over = child.is_over;
    if (turn < 0) {
        (void)read_usage(context, order->spec->run_id, ret_worked, NULL);
        return turn;
    }
    return read_result(context, order->spec->run_id, ret_worked, err);
}

static bool exists(void *context, const char *run_id)
{
    struct worker_children *children = context;
    struct store *store = runtime_store(loop_runtime(children->parent));
    struct store_run row;
    return store->ops->get_run(store, run_id, &row, NULL) == 0;
}

static void settle(void *context, const struct work_worked *worked)
{
    struct worker_children *children = context;
    loop_leave_family(&children->family, worked->tokens,
                      worked->cost_micro > 0 ? worked->cost_micro : 0);
}

static void begin_wait(void *context)
{
    struct worker_children *children = context;
    pthread_mutex_unlock(&children->family.lock);
}

static void end_wait(void *context)
{
    struct worker_children *children = context;
    pthread_mutex_lock(&children->family.lock);
}

/* ---- The body ------------------------------------------------------------------------------- */

int worker_children_new(struct loop *loop, const struct worker_options *options,
                        const struct worker_bodies *bodies, struct worker_children **ret_children,
                        struct rondo_error *err)
{
    struct worker_children *children = memory_new_zero(1, sizeof(*children));
    children->parent = loop;
    children->bodies = bodies;
    children->options = *options;
    children->config_folder = memory_dup_string(options->config_folder);
    children->prices_file = memory_dup_string(options->prices_file);
    children->work_folder = memory_dup_string(options->folder);
    children->options.folder = children->work_folder;
    children->options.config_folder = children->config_folder;
    children->options.prices_file = children->prices_file;
    pthread_mutex_init(&children->http_lock, NULL);
    pthread_mutex_init(&children->family.lock, NULL);
    pthread_mutex_lock(&children->family.lock);
    const struct work_port port = {.execute = execute,
                                   .exists = exists,
                                   .settle = settle,
                                   .begin_wait = begin_wait,
                                   .end_wait = end_wait,
                                   .context = children};
    int r = work_executor_new(loop, &port, &children->executor, err);
    if (r < 0) {
        worker_children_free(children);
        return r;
    }
    *ret_children = children;
    return 0;
}

int worker_children_run(struct worker_children *children, struct rondo_error *err)
{
    return work_executor_run(children->executor, err);
}

void worker_children_free(struct worker_children *children)
{
    if (children == NULL) {
        return;
    }
    work_executor_free(children->executor);
    http_client_free(children->http);
    free(children->config_folder);
    free(children->prices_file);
    free(children->work_folder);
    pthread_mutex_unlock(&children->family.lock);
    pthread_mutex_destroy(&children->family.lock);
    pthread_mutex_destroy(&children->http_lock);
    free(children);
}
