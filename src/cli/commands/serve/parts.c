// SPDX-License-Identifier: Apache-2.0
/* The parts of a server. */
#include "cli/commands/serve/parts.h"

#include "agent/memory/consolidate.h"
#include "alert/monitor.h"
#include "base/clock.h"
#include "cli/commands/work/hint.h"
#include "cli/commands/work/queues.h"
#include "net/client/http.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/servers.h"
#include "server/server.h"
#include "source/duty/duty.h"
#include "store/quiet.h"
#include "telemetry/metrics.h"
#include "telemetry/telemetry.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/** Time for the last spans to reach their collector. */
#define FLUSH_NS (5 * NS_PER_S)

void parts_log(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "rondo: %s\n", line);
}

/**
 * The same for a request that changed something; from the threads that answer requests, so a
 * reader of stderr that does not read must not block it.
 */
static void audit_line(void *context, const char *line)
{
    struct serving *serving = context;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    pthread_mutex_lock(&serving->audit_lock);
    if (poll(&out, 1, 0) <= 0) {
        serving->audit_lost++;
    } else if (serving->audit_lost == 0) {
        parts_log(NULL, line);
    } else {
        fprintf(stderr, "rondo: audit: %" PRIu64 " lines before this one were lost\nrondo: %s\n",
                serving->audit_lost, line);
        serving->audit_lost = 0;
    }
    pthread_mutex_unlock(&serving->audit_lock);
}

void parts_log_unless_quiet(const struct serving *serving, const char *line)
{
    if (!serving->values->wants_quiet) {
        parts_log(NULL, line);
    }
}

static const char *const *listen_of(const struct serve_values *values)
{
    static const char *const by_default[] = {SERVE_DEFAULT_LISTEN, NULL};
    return values->listen == NULL ? by_default : (const char *const *)values->listen;
}

/** 0 as an option means none; as a field of the parts it is their default. */
static int64_t or_none(int64_t duration_ns)
{
    return duration_ns == 0 ? -1 : duration_ns;
}

/** A run executes no more: another one may start, and its episodes are due. */
static void run_settled(void *context)
{
    struct serving *serving = context;
    pthread_mutex_lock(&serving->lock);
    consolidation_keeper_wake(serving->memories);
    if (serving->woken != NULL) {
        duty_wake(serving->woken);
    }
    work_queues_wake(serving->woken_work);
    pthread_mutex_unlock(&serving->lock);
}

static void set_woken(struct serving *serving, struct duty *duty)
{
    pthread_mutex_lock(&serving->lock);
    serving->woken = duty;
    pthread_mutex_unlock(&serving->lock);
}

static void set_woken_work(struct serving *serving, struct work_queues *work)
{
    pthread_mutex_lock(&serving->lock);
    serving->woken_work = work;
    pthread_mutex_unlock(&serving->lock);
}

static int start_orchestrator(struct serving *serving, struct rondo_error *err)
{
    const struct serve_values *values = serving->values;
    char own_name[LABEL_SIZE];
    server_default_name(runtime_random(serving->session.runtime), own_name);
    struct orchestrator_options options = {
        .runtime = serving->session.runtime,
        .http = serving->http,
        .work_folder = serving->session.work_folder,
        .config_folder = serving->config_folder,
        .prices_file = values->prices,
        .max_loops = (uint64_t)values->max_loops,
        .max_queue = (uint64_t)values->max_queue,
        .drain_ns = or_none(values->drain_ns),
        .close_after_ns = values->close_after_ns,
        .orphans = (enum orchestrator_orphans)values->orphans,
        .log = parts_log,
        .is_quiet = values->wants_quiet != 0,
        .name = values->name == NULL ? own_name : values->name,
        .shares = serving->store_count,
        .pool = values->pool,
        .shared_folders = (const char *const *)values->shared_folders,
        .on_settled = run_settled,
        .settled_context = serving,
    };
    return orchestrator_start(&options, &serving->orchestrator, err);
}

static int start_memories(struct serving *serving, struct rondo_error *err)
{
    const struct consolidation_parts parts = {
        .runtime = serving->session.runtime,
        .http = serving->http,
        .prices_file = serving->values->prices,
        .log = parts_log,
    };
    struct consolidation_keeper *memories = NULL;
    int r = consolidation_keeper_start(&parts, &memories, err);
    pthread_mutex_lock(&serving->lock);
    serving->memories = memories;
    pthread_mutex_unlock(&serving->lock);
    return r;
}

static void stop_memories(struct serving *serving)
{
    pthread_mutex_lock(&serving->lock);
    struct consolidation_keeper *memories = serving->memories;
    serving->memories = NULL;
    pthread_mutex_unlock(&serving->lock);
    consolidation_keeper_stop(memories);
}

static int start_duty(struct serving *serving, struct rondo_error *err)
{
    const struct serve_values *values = serving->values;
    if (values->roles == NULL || serving->first != serving) {
        return 0;
    }
    struct duty_options options = {
        .runtime = serving->session.runtime,
        .orchestrator = serving->orchestrator,
        .http = serving->http,
        .paths = (const char *const *)values->roles,
        .workspace = serving->workspace,
        .config_folder = serving->config_folder,
        .prices_file = values->prices,
        .skill_folder = values->skill_dir,
        .model = values->model,
        .is_autonomous = values->is_autopilot != 0,
        .accepts_unprotected = values->accepts_unprotected != 0,
        .max_running = (uint64_t)values->max_running,
        .queue = {.max_waiting = (uint64_t)values->max_waiting,
                  .max_running = (uint64_t)values->max_role_running,
                  .rule = (enum queue_rule)values->queue_rule},
        .log = parts_log,
        .is_quiet = values->wants_quiet != 0,
    };
    int r = duty_start(&options, &serving->duty, err);
    if (r == 0) {
        set_woken(serving, serving->duty);
        duty_wake(serving->duty); /* A run may have ended meanwhile. */
    }
    return r;
}

static void log_work(void *context, const char *line)
{
    const struct serving *serving = context;
    parts_log_unless_quiet(serving, line);
}

static int start_work(struct serving *serving, struct rondo_error *err)
{
    if (serving->work_file == NULL) {
        return 0;
    }
    const struct work_queue_parts parts = {.runtime = serving->session.runtime,
                                           .orchestrator = serving->orchestrator,
                                           .http = serving->http,
                                           .log = log_work,
                                           .context = serving};
    struct work_file *file = serving->work_file;
    serving->work_file = NULL;
    int r = work_queues_start(file, &parts, &serving->work, err);
    set_woken_work(serving, serving->work);
    return r;
}

/** The monitor has made a warning. */
static void log_warning(void *context, const char *agent_id, const char *json)
{
    struct serving *serving = context;
    pthread_mutex_lock(&serving->lock);
    server_tell(serving->told, agent_id, json);
    pthread_mutex_unlock(&serving->lock);
}

/** The exporter requires gauges. */
static size_t take_gauges(void *context, struct metrics_gauge *ret_gauges, size_t size)
{
    struct serving *serving = context;
    pthread_mutex_lock(&serving->lock);
    size_t count = serving->told == NULL ? 0 : server_gauges(serving->told, ret_gauges, size);
    pthread_mutex_unlock(&serving->lock);
    return count;
}

static void set_told(struct serving *serving, struct server *server)
{
    pthread_mutex_lock(&serving->lock);
    serving->told = server;
    pthread_mutex_unlock(&serving->lock);
}

static int start_monitor(struct serving *serving, struct rondo_error *err)
{
    const struct serve_values *values = serving->values;
    struct monitor_options options = {
        .writer = runtime_writer(serving->session.runtime),
        .runtime = serving->session.runtime,
        .http = serving->http,
        .supervisor = runtime_supervisor(serving->session.runtime),
        .stall_ns = or_none(values->stall_ns),
        .base_url = values->url,
        .log = parts_log,
        .on_warning = log_warning,
        .on_warning_context = serving,
    };
    return monitor_start(&options, &serving->monitor, err);
}

static int start_telemetry(struct serving *serving, struct rondo_error *err)
{
    struct telemetry_options options = {
        .writer = runtime_writer(serving->session.runtime),
        .http = serving->http,
        .metrics = serving->metrics,
        .gauges = take_gauges,
        .gauges_context = serving,
        .log = parts_log,
    };
    return telemetry_start(&options, &serving->telemetry, err);
}

const char *parts_why_tokens(const struct serve_values *values)
{
    if (values->needs_token != 0) {
        return "--require-token";
    }
    if (values->hosts != NULL) {
        return "--host: requests to such a name come through a proxy";
    }
    /* We speak no TLS, so a proxy must do it. */
    bool is_secure = values->url != NULL && strncasecmp(values->url, "https:", 6) == 0;
    return is_secure ? "--url with https: there is a proxy" : NULL;
}

static bool receive_hook(void *context, const char *name, const struct source_delivery *delivery,
                         struct source_answer *ret_answer)
{
    struct serving *serving = context;
    if (strcmp(name, WORK_HINT) == 0) {
        pthread_mutex_lock(&serving->lock);
        bool has_work = serving->woken_work != NULL;
        if (has_work) {
            work_queues_receive(serving->woken_work, delivery, ret_answer);
        }
        pthread_mutex_unlock(&serving->lock);
        if (has_work) {
            return true;
        }
    }
    return serving->duty != NULL && duty_receive(serving->duty, name, delivery, ret_answer);
}

/** The dashboard's address for the list of servers. */
static void publish_address(const struct serving *serving)
{
    auto_buf struct buf url = {0};
    const char *address = server_address(serving->front->server, 0);
    if (serving->values->url != NULL) {
        buf_append_string(&url, serving->values->url);
    } else if (address != NULL) {
        buf_printf(&url, "%s%s", strncmp(address, "unix:", 5) == 0 ? "" : "http://", address);
    }
    orchestrator_set_address(serving->orchestrator, buf_string(&url));
}

static int start_server(struct serving *serving, struct rondo_error *err)
{
    const struct serve_values *values = serving->values;
    struct server_options options = {
        .runtime = serving->session.runtime,
        .orchestrator = serving->orchestrator,
        .monitor = serving->monitor,
        .telemetry = serving->telemetry,
        .metrics = serving->metrics,
        .policy_path = serving->policy_path,
        .store_path = serving->session.store_path,
        .workspace = serving->workspace,
        .store_label = serving->label,
        .store_labels = serving->labels,
        .front = serving->front == serving ? NULL : serving->front->server,
        .listen = listen_of(values),
        .hosts = (const char *const *)values->hosts,
        .needs_token = parts_why_tokens(values) != NULL,
        .max_connections = (unsigned)values->max_connections,
        .requests_per_second = (unsigned)values->rate,
        .receive_hook = receive_hook,
        .hook_context = serving->first,
        .intake = serving->duty == NULL ? NULL : duty_intake(serving->duty),
        .log = parts_log,
        .audit = values->wants_quiet != 0 ? NULL : audit_line,
        .log_context = serving,
    };
    int r = server_start(&options, &serving->server, err);
    if (r == 0) {
        set_told(serving, serving->server);
        publish_address(serving);
    }
    return r;
}

int parts_start(struct serving *serving, struct rondo_error *err)
{
    int r = http_client_new(NULL, &serving->http, err);
    if (r == 0) {
        serving->metrics = metrics_new();
        r = start_telemetry(serving, err);
    }
    if (r == 0) {
        r = start_monitor(serving, err);
    }
    if (r == 0) {
        r = start_orchestrator(serving, err);
    }
    r = r < 0 ? r : start_memories(serving, err);
    r = r < 0 ? r : start_duty(serving, err);
    r = r < 0 ? r : start_work(serving, err);
    struct writer *writer = runtime_writer(serving->session.runtime);
    r = r < 0 ? r : quiet_watch_start(writer, 0, &serving->quiet, err);
    /* The last: of several stores, requests come as soon as it is there. */
    return r < 0 ? r : start_server(serving, err);
}

void parts_drain(struct serving *serving)
{
    quiet_watch_stop(serving->quiet);
    serving->quiet = NULL;
    if (serving->server != NULL) {
        server_drain(serving->server);
    }
    if (serving->duty != NULL) {
        duty_drain(serving->duty);
    }
    set_woken_work(serving, NULL);
    work_queues_stop(serving->work);
    if (serving->orchestrator != NULL) {
        orchestrator_drain(serving->orchestrator);
    }
}

void parts_stop(struct serving *serving)
{
    set_told(serving, NULL);
    server_stop(serving->server);
    set_woken(serving, NULL);
    stop_memories(serving);
    duty_stop(serving->duty);
    orchestrator_stop(serving->orchestrator);
    monitor_stop(serving->monitor);
    telemetry_stop(serving->telemetry, FLUSH_NS);
    metrics_free(serving->metrics);
    http_client_free(serving->http);
}
