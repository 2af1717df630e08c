// SPDX-License-Identifier: Apache-2.0
/*
 * rondo work: the queue of one repository in the foreground, with an orchestrator for its runs. The
 * main thread waits for a signal or the end of the queue. The first signal parks the runs, a second
 * one ends the process at once.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "cli/commands/work/commands.h"
#include "cli/commands/work/items.h"
#include "cli/commands/work/queue.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "net/client/http.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/servers.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** The queue has ended. Only the main thread takes it. */
#define SIGNAL_ENDED SIGUSR1

struct working {
    struct queue_values *values;
    struct option_set *set;
    bool wants_json;
    struct session session;
    struct http_client *http;
    struct orchestrator *orchestrator;
    pthread_t main_thread;
    pthread_mutex_t lock;     /* guards: */
    struct work_queue *woken; /* the queue while the orchestrator may call it */
};

/* ---- What is told --------------------------------------------------------------------------- */

static void print_line(void *context, const char *line)
{
    const struct working *working = context;
    auto_buf struct buf text = {0};
    char now[16];
    time_t seconds = (time_t)(clock_now(clock_system()) / NS_PER_S);
    struct tm local;
    if (working->wants_json || working->values->work.role.run.wants_quiet) {
        return;
    }
    localtime_r(&seconds, &local);
    strftime(now, sizeof(now), "%H:%M:%S", &local);
    buf_printf(&text, "%s  ", now);
    text_clean(line, strlen(line), &text);
    buf_append_string(&text, "\n");
    report_output(&text);
}

static void print_event(void *context, const char *json)
{
    const struct working *working = context;
    auto_buf struct buf line = {0};
    if (working->wants_json) {
        buf_printf(&line, "%s\n", json);
        report_output(&line);
    }
}

/** The orchestrator's warnings. */
static void print_warning(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "rondo: %s\n", line);
}

static void wake_main(void *context)
{
    pthread_kill(((struct working *)context)->main_thread, SIGNAL_ENDED);
}

static void run_settled(void *context)
{
    struct working *working = context;
    pthread_mutex_lock(&working->lock);
    if (working->woken != NULL) {
        work_queue_wake(working->woken);
    }
    pthread_mutex_unlock(&working->lock);
}

static void set_woken(struct working *working, struct work_queue *queue)
{
    pthread_mutex_lock(&working->lock);
    working->woken = queue;
    pthread_mutex_unlock(&working->lock);
    if (queue != NULL) {
        work_queue_wake(queue); /* A run may have ended meanwhile. */
    }
}

/* ---- How it ended --------------------------------------------------------------------------- */

/** Why an issue is blocked, as the status of a run that ended for that. */
static int exit_code_of_block(enum item_reason reason)
{
    static const struct {
        enum item_reason reason;
        enum rondo_status status;
    } ends[] = {
        {ITEM_ATTEMPTS_SPENT, RONDO_FAILED},
        {ITEM_TIME_OVER, RONDO_TIMEOUT},
        {ITEM_BUDGET_SPENT, RONDO_BUDGET_EXCEEDED},
        {ITEM_DENIED, RONDO_POLICY_VIOLATION},
        {ITEM_STOPPED, RONDO_CANCELLED},
    };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends[i].reason == reason) {
            return rondo_status_exit_code(ends[i].status);
        }
    }
    return rondo_status_exit_code(RONDO_BLOCKED);
}

static int exit_code_of_item(const struct item *item)
{
    switch (item->state) {
    case ITEM_IN_REVIEW:
    case ITEM_DONE:
        return EXIT_OK;
    case ITEM_BLOCKED:
        return exit_code_of_block(item->reason);
    case ITEM_NEEDS_HUMAN:
        return rondo_status_exit_code(RONDO_BLOCKED);
    case ITEM_FENCED:
        return EXIT_HELD;
    case ITEM_ASSIGNED:
    case ITEM_IN_PROGRESS:
    case ITEM_RETRY_LATER:
    case ITEM_CANCELLED:
    case ITEM_STATE_COUNT:
        return EXIT_ABORTED;
    }
    return EXIT_OTHER;
}

/** One issue was to be worked on: say what came of it. */
static int report_result(const struct working *working, const struct item *item)
{
    auto_buf struct buf out = {0};
    int exit_code = item == NULL ? EXIT_OK : exit_code_of_item(item);
    if (working->wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        if (item == NULL) {
            json_write_string(&writer, "type", "work_result");
        } else {
            work_item_json(item, false, &writer);
        }
        json_write_int(&writer, "exit_code", exit_code);
        json_end_object(&writer);
    } else if (item == NULL) {
        buf_append_string(&out, "no issue is ready to be worked on");
    } else {
        work_item_name(item, &out);
        buf_printf(&out, " is %s", item_state_name(item->state));
        if (item->message != NULL) {
            buf_append_string(&out, ": ");
            text_clean(item->message, strlen(item->message), &out);
        } else if (item->pull_url != NULL) {
            buf_append_string(&out, ": ");
            text_clean(item->pull_url, strlen(item->pull_url), &out);
        } else if (item->reason != ITEM_REASON_NONE) {
            buf_printf(&out, ": %s", item_reason_name(item->reason));
        }
    }
    buf_append_string(&out, "\n");
    report_output(&out);
    return exit_code;
}

static int judge_once(struct working *working, const char *repository, int64_t number)
{
    struct rondo_error err = {0};
    struct item item = {0};
    auto_free char *key = item_key(repository, number);
    int r = number == 0 ? 0 : item_load(working->session.store, key, &item, &err);
    int exit_code = r < 0 ? report_error_as(&err, working->wants_json)
                          : report_result(working, r == 0 ? NULL : &item);
    item_fini(&item);
    return exit_code;
}

/* ---- The work ------------------------------------------------------------------------------- */

/** Those that end the command. */
static void fill_ends(sigset_t *ret_signals)
{
    sigemptyset(ret_signals);
    sigaddset(ret_signals, SIGINT);
    sigaddset(ret_signals, SIGTERM);
    sigaddset(ret_signals, SIGHUP);
}

/** A second signal ends the process at once: what was committed is safe. */
static void end_at_once(void)
{
    sigset_t ends;
    fill_ends(&ends);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &ends, NULL); /* The queue may still tell that it has ended. */
}

/** Until a signal comes or the queue is over. @return whether it was a signal */
static bool wait_for_end(const sigset_t *signals, struct work_queue *queue,
                         struct issue_queue_end *ret_end)
{
    while (!work_queue_is_over(queue, ret_end)) {
        int number = sigwaitinfo(signals, NULL);
        if (number > 0 && number != SIGNAL_ENDED) {
            return true;
        }
    }
    return false;
}

static int work_until_end(struct working *working, struct work_queue *queue,
                          const sigset_t *signals)
{
    struct issue_queue_end end = {0};
    bool is_once = working->values->is_once != 0 || working->values->issue > 0;
    auto_free char *name = memory_dup_string(work_queue_name(queue));
    set_woken(working, queue);
    bool is_stopped = wait_for_end(signals, queue, &end);
    end_at_once();
    if (is_stopped) {
        print_line(working, "stopping: runs are parked and resume at the next start; a second "
                            "signal ends at once");
    }
    set_woken(working, NULL);
    work_queue_close(queue); /* It would try to continue runs that are parked. */
    orchestrator_drain(working->orchestrator);
    if (end.fault.code != 0) {
        return report_error_as(&end.fault, working->wants_json);
    }
    return is_once ? judge_once(working, name, end.number) : EXIT_OK;
}

static int start_orchestrator(struct working *working, const char *config_folder,
                              struct rondo_error *err)
{
    char name[LABEL_SIZE];
    server_default_name(runtime_random(working->session.runtime), name);
    const struct orchestrator_options options = {
        .runtime = working->session.runtime,
        .http = working->http,
        .work_folder = working->session.work_folder,
        .config_folder = config_folder,
        .prices_file = working->values->work.role.prices,
        .orphans = ORPHANS_LEAVE,
        .log = print_warning,
        .is_quiet = true,
        .name = name,
        .on_settled = run_settled,
        .settled_context = working,
    };
    return orchestrator_start(&options, &working->orchestrator, err);
}

/** With an open site and a session. */
static int work(struct working *working, struct work_site *site, const sigset_t *signals)
{
    struct rondo_error err = {0};
    auto_free char *config_folder = session_config_folder();
    struct work_queue *queue = NULL;
    int r = start_orchestrator(working, config_folder, &err);
    if (r == 0) {
        const struct work_queue_parts parts = {.runtime = working->session.runtime,
                                               .orchestrator = working->orchestrator,
                                               .http = working->http,
                                               .log = print_line,
                                               .event = print_event,
                                               .ended = wake_main,
                                               .context = working};
        r = work_queue_open(working->values, working->set, &parts, site, &queue, &err);
    }
    int exit_code = r < 0 ? report_error_as(&err, working->wants_json)
                          : work_until_end(working, queue, signals);
    orchestrator_stop(working->orchestrator);
    return exit_code;
}

static int preview(struct working *working, struct work_site *site)
{
    struct rondo_error err = {0};
    auto_buf struct buf text = {0};
    const struct work_queue_parts parts = {.http = working->http, .context = working};
    int r = work_queue_preview(working->values, working->set, &parts, site, &text, &err);
    report_output(&text);
    return r < 0 ? report_error_as(&err, working->wants_json) : EXIT_OK;
}

/** Open the store and work. Signals are blocked from here on in every thread. */
static int open_and_work(struct working *working, struct work_site *site)
{
    sigset_t signals;
    fill_ends(&signals);
    sigaddset(&signals, SIGNAL_ENDED);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    struct rondo_error err = {0};
    const struct session_options options = {.store = working->values->work.role.run.store,
                                            .access = STORE_CREATING,
                                            .needs_runtime = true};
    if (session_open(&options, &working->session, &err) < 0) {
        return report_error_as(&err, working->wants_json);
    }
    int exit_code = work(working, site, &signals);
    session_close(&working->session);
    return exit_code;
}

static int run_work(struct queue_values *values, struct option_set *set)
{
    struct working working = {.values = values,
                              .set = set,
                              .wants_json = values->work.role.run.wants_json != 0,
                              .main_thread = pthread_self(),
                              .lock = PTHREAD_MUTEX_INITIALIZER};
    struct work_site site = {0};
    struct rondo_error err = {0};
    int r = work_site_find(values, true, &site, &err);
    if (r == 0) {
        char **names = work_token_variables(values->token_env, site.token.text, NULL, NULL);
        work_token_hide((const char *const *)names);
        memory_free_list(names);
        r = http_client_new(NULL, &working.http, &err);
    }
    if (r == 0) {
        const struct work_site_parts parts = {
            .http = working.http, .base = values->base, .is_preview = values->is_dry_run != 0};
        r = work_site_open(&site, &parts, &err); /* A signal ends a long clone at once. */
    }
    int exit_code = r < 0                ? report_error_as(&err, working.wants_json)
                    : values->is_dry_run ? preview(&working, &site)
                                         : open_and_work(&working, &site);
    work_site_fini(&site);
    http_client_free(working.http);
    return exit_code;
}

int cmd_work(const struct invocation *invocation)
{
    struct queue_values values;
    struct option_set set;
    queue_values_init(&values, work_options, &set);
    struct parsed parsed = command_parse_rest(invocation, &set);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over && parsed.argc > 0 && strcmp(parsed.argv[-1], "--") != 0) {
        parsed.is_over = true; /* No command of the group, and no worker's after "--". */
        exit_code = command_unknown(invocation->command, parsed.argv[0]);
    }
    if (!parsed.is_over) {
        values.command = parsed.argc > 0 ? memory_dup_list((const char *const *)parsed.argv) : NULL;
        const char *misuse = values.hook_secret_env != NULL
                                 ? "--hook-secret-env is for the file of a server"
                                 : queue_values_complete(&values, &set);
        exit_code =
            misuse != NULL ? command_misuse(invocation->command, misuse) : run_work(&values, &set);
    }
    queue_values_fini(&values, &set);
    return exit_code;
}
