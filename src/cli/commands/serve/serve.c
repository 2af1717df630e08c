// SPDX-License-Identifier: Apache-2.0
/*
 * rondo serve: orchestrator, warnings, API, dashboard and exporters of a store in one process. The
 * main thread starts the parts from the bottom up, waits for signals, feeds the service manager's
 * watchdog, and ends the parts from the top down.
 *
 * rondo daemon: the same, with roles on duty.
 */
#include "agent/memory/consolidate.h"
#include "alert/monitor.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cli/commands/work/hint.h"
#include "cli/commands/work/queues.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "net/client/http.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/servers.h"
#include "os/notify.h"
#include "policy/watch.h"
#include "server/auth/token.h"
#include "server/server.h"
#include "source/duty/duty.h"
#include "store/quiet.h"
#include "telemetry/metrics.h"
#include "telemetry/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/** Where it listens when nothing is said. */
#define DEFAULT_LISTEN "127.0.0.1:7466"
/** Time for the last spans to reach their collector. */
#define FLUSH_NS (5 * NS_PER_S)
/** Longest wait for a signal at a time, when a service manager is told the state. */
#define TURN_NS NS_PER_S
/** The same when there is none: a day. */
#define NO_TURN_NS (INT64_C(86400) * NS_PER_S)

struct serve_values {
    char **listen;
    char **hosts;
    int64_t needs_token;
    int64_t rate;
    int64_t max_connections;
    int64_t max_loops;
    int64_t max_queue;
    int64_t drain_ns;
    int64_t orphans;
    int64_t close_after_ns;
    int64_t stall_ns;
    char *workspace;
    char *prices;
    char *url;
    char *name;
    char *pool;
    char **shared_words;
    char **shared_folders; /* the same, canonical; NULL = none */
    char *store;
    int64_t lease_ns;
    int64_t wants_quiet;
    char *work; /* file of repositories whose issues are worked on; or NULL */
    /* Of `rondo daemon`: */
    char **roles; /* absolute paths; NULL = `rondo serve` */
    char *skill_dir;
    char *model;
    int64_t is_autopilot;
    int64_t accepts_unprotected;
    int64_t max_running;
    int64_t max_role_running;
    int64_t max_waiting;
    int64_t queue_rule;
};

static const struct option_choice orphan_choices[] = {
    {"resume", ORPHANS_RESUME}, {"close", ORPHANS_CLOSE}, {"leave", ORPHANS_LEAVE}, {0}};

static const struct option_choice rule_choices[] = {{"queue", QUEUE_WAIT},
                                                    {"coalesce", QUEUE_COALESCE},
                                                    {"drop_oldest", QUEUE_DROP_OLDEST},
                                                    {"refuse", QUEUE_REFUSE},
                                                    {0}};

const struct option_row serve_options[] = {
    {.name = "work",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct serve_values, work),
     .argument = "FILE",
     .help = "Work on the issues of the repositories in a YAML file, as `rondo work` does for one",
     .group = "Issues",
     .completes = COMPLETE_FILE},
#include "cli/commands/serve/serve_options.def"
    {0},
};

const struct option_row daemon_options[] = {
    {.name = "auto-work",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct serve_values, work),
     .argument = "FILE",
     .help = "Work on the issues of the repositories in a YAML file, as `rondo work` does for one; "
             "then no ROLE is needed",
     .group = "Issues",
     .completes = COMPLETE_FILE},
    {.name = "skill-dir",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct serve_values, skill_dir),
     .argument = "FOLDER",
     .help = "Additional folder to search for skills",
     .group = "Roles",
     .completes = COMPLETE_FOLDER},
    {.name = "model",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct serve_values, model),
     .argument = "PROVIDER:NAME",
     .help = "Model of all roles, instead of their own"},
    {.name = "autopilot",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct serve_values, is_autopilot),
     .help = "Every trigger of a role with `autonomy` starts autonomous runs"},
    {.name = "accept-unprotected",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct serve_values, accepts_unprotected),
     .help = "Run without protections that a role requests and this version does not have"},
    {.name = "max-running",
     .kind = OPTION_INT,
     .offset = offsetof(struct serve_values, max_running),
     .argument = "N",
     .by_default = "16",
     .help = "Runs of all triggers at the same time",
     .group = "Events",
     .low = 1,
     .high = LIMIT_LOOPS_PER_PROCESS},
    {.name = "max-role-running",
     .kind = OPTION_INT,
     .offset = offsetof(struct serve_values, max_role_running),
     .argument = "N",
     .by_default = "4",
     .help = "Runs of one role at the same time; other events wait",
     .low = 1,
     .high = LIMIT_LOOPS_PER_PROCESS},
    {.name = "max-waiting",
     .kind = OPTION_INT,
     .offset = offsetof(struct serve_values, max_waiting),
     .argument = "N",
     .by_default = "100",
     .help = "Events of one role that may wait",
     .low = 0,
     .high = LIMIT_QUEUE_LENGTH},
    {.name = "when-full",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct serve_values, queue_rule),
     .by_default = "queue",
     .help = "queue: sources wait; coalesce: one event of each source waits, the newest; "
             "drop_oldest, refuse: events are lost, and recorded",
     .choices = rule_choices},
/* NOLINTNEXTLINE(readability-duplicate-include): the rows belong to both tables */
#include "cli/commands/serve/serve_options.def"
    {0},
};

/** The parts, in the order in which they start. */
struct serving {
    const struct serve_values *values;
    struct session session;
    struct http_client *http;
    struct metrics *metrics;
    struct telemetry *telemetry;
    struct monitor *monitor;
    struct orchestrator *orchestrator;
    struct consolidation_keeper *memories;
    struct duty *duty;           /* NULL: `rondo serve` */
    struct work_file *work_file; /* read; NULL when there is none, or it was taken */
    struct work_queues *work;    /* NULL: no issues are worked on */
    struct server *server;
    struct quiet_watch *quiet;
    pthread_mutex_t lock; /* guards: */
    struct duty *woken;   /* the same while the orchestrator may call it */
    struct work_queues *woken_work;
    struct server *told; /* the server, while the parts below it may call it */
    pthread_mutex_t audit_lock;
    uint64_t audit_lost; /* lines that stderr did not take, under audit_lock */
    char *config_folder;
    char *policy_path;
    char *workspace;
};

/** One line for people. stderr writes it whole. */
static void log_line(void *context, const char *line)
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
        log_line(NULL, line);
    } else {
        fprintf(stderr, "rondo: audit: %" PRIu64 " lines before this one were lost\nrondo: %s\n",
                serving->audit_lost, line);
        serving->audit_lost = 0;
    }
    pthread_mutex_unlock(&serving->audit_lock);
}

static void log_unless_quiet(const struct serving *serving, const char *line)
{
    if (!serving->values->wants_quiet) {
        log_line(NULL, line);
    }
}

static const char *const *listen_of(const struct serve_values *values)
{
    static const char *const by_default[] = {DEFAULT_LISTEN, NULL};
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
        .log = log_line,
        .is_quiet = values->wants_quiet != 0,
        .name = values->name == NULL ? own_name : values->name,
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
        .log = log_line,
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
    if (values->roles == NULL) {
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
        .log = log_line,
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
    log_unless_quiet(serving, line);
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
        .log = log_line,
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
        .log = log_line,
    };
    return telemetry_start(&options, &serving->telemetry, err);
}

/** Why everybody needs a token; NULL: this user's own programs need none. */
static const char *why_tokens(const struct serve_values *values)
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
    const char *address = server_address(serving->server, 0);
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
        .listen = listen_of(values),
        .hosts = (const char *const *)values->hosts,
        .needs_token = why_tokens(values) != NULL,
        .max_connections = (unsigned)values->max_connections,
        .requests_per_second = (unsigned)values->rate,
        .receive_hook = receive_hook,
        .hook_context = serving,
        .intake = serving->duty == NULL ? NULL : duty_intake(serving->duty),
        .log = log_line,
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

/** Bottom up. What was started is ended by stop_parts also after a failure. */
static int start_parts(struct serving *serving, struct rondo_error *err)
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
    r = r < 0 ? r : start_server(serving, err);
    return r < 0 ? r
                 : quiet_watch_start(runtime_writer(serving->session.runtime), 0, &serving->quiet,
                                     err);
}

/** Top down: readers and senders of webhooks are told, no more events, runs are parked, what is
 * left is sent. */
static void stop_parts(struct serving *serving)
{
    quiet_watch_stop(serving->quiet);
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

/** "127.0.0.1", "[::1]", "localhost", a Unix socket: other machines cannot reach it. */
static bool is_local(const char *address)
{
    static const char *const local[] = {"127.", "[::1]:", "localhost:", "unix:"};
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        if (strncmp(address, local[i], strlen(local[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void log_reachable(const char *address)
{
    auto_buf struct buf line = {0};
    char machine[256] = "";
    bool has_name = gethostname(machine, sizeof(machine) - 1) == 0 && machine[0] != '\0';
    buf_printf(&line,
               "%s is reachable from other machines: clients there need a token and must use its "
               "IP address%s%s or a name given with --host. The connection is not encrypted; put a "
               "TLS proxy in front of it",
               address, has_name ? ", the name " : "", machine);
    log_line(NULL, buf_string(&line));
}

/** Clients that need a token. */
static void log_token_rule(const struct serving *serving, bool is_reachable)
{
    const char *why = why_tokens(serving->values);
    auto_buf struct buf tokens = {0};
    bool has_none = token_list(serving->session.store, &tokens, NULL) == 0 &&
                    strcmp(buf_string(&tokens), "[]") == 0;
    if (why != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "every client needs a token, including your own programs (%s)", why);
        log_unless_quiet(serving, buf_string(&line));
    }
    if (has_none && (why != NULL || is_reachable)) {
        log_line(NULL, "there is no token yet: create one with `rondo token create`");
    }
}

static void log_addresses(const struct serving *serving)
{
    const char *address;
    bool is_reachable = false;
    for (size_t i = 0; (address = server_address(serving->server, i)) != NULL; i++) {
        auto_buf struct buf line = {0};
        bool is_socket = strncmp(address, "unix:", 5) == 0;
        buf_printf(&line, "serving %s on %s%s", serving->session.store_name,
                   is_socket ? "" : "http://", address);
        log_unless_quiet(serving, buf_string(&line));
        if (!is_local(address)) {
            is_reachable = true;
            log_reachable(address);
        }
    }
    log_token_rule(serving, is_reachable);
}

/** What `systemctl status` shows. */
static bool notify_status(const struct serving *serving, const char *first)
{
    struct orchestrator_state state = orchestrator_state(serving->orchestrator);
    char text[160];
    snprintf(text, sizeof(text),
             "%sSTATUS=%" PRIu64 " running, %" PRIu64 " queued, %" PRIu64 " paused", first,
             state.running, state.queued, state.paused);
    return notify_send(text);
}

/** How long to wait for a signal before the service manager is told the state again. */
static struct timespec next_turn(const struct serving *serving, bool has_manager)
{
    struct writer *writer = runtime_writer(serving->session.runtime);
    int64_t watchdog_ns = notify_watchdog_ns();
    int64_t turn_ns = has_manager ? writer_pace(writer, TURN_NS) : NO_TURN_NS;
    turn_ns = watchdog_ns > 0 && watchdog_ns < turn_ns ? watchdog_ns : turn_ns;
    return (struct timespec){.tv_sec = turn_ns / NS_PER_S, .tv_nsec = turn_ns % NS_PER_S};
}

/** Until a signal requests the end. Only this thread takes these signals. */
static void wait_for_end(struct serving *serving, const sigset_t *signals)
{
    const char *watchdog = notify_watchdog_ns() > 0 ? "WATCHDOG=1\n" : "";
    int signal_number;
    do {
        struct timespec turn = next_turn(serving, notify_status(serving, watchdog));
        signal_number = sigtimedwait(signals, NULL, &turn);
    } while (signal_number < 0 && (errno == EAGAIN || errno == EINTR));
    log_unless_quiet(serving, "shutting down: runs are parked and resume at the next start");
}

/** A second signal ends the process at once: what was committed is safe. */
static void end_at_once(const sigset_t *signals)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
}

static int serve(struct serving *serving)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* Inherited by every thread of the parts. */
    struct rondo_error err = {0};
    int exit_code = EXIT_OK;
    if (start_parts(serving, &err) < 0) {
        exit_code = report_error(&err);
        if (err.code == RONDO_ERR_BUSY) {
            exit_code = EXIT_OTHER; /* An address is taken: no run is held by anybody. */
        }
    } else {
        log_addresses(serving);
        notify_status(serving, "READY=1\n");
        wait_for_end(serving, &signals);
    }
    notify_send("STOPPING=1");
    end_at_once(&signals);
    stop_parts(serving);
    return exit_code;
}

/** What is wrong with the file is said before anything begins, and its tokens are out of the
 *  environment before there are other threads or programs. */
static int read_work(struct serving *serving, struct rondo_error *err)
{
    const char *path = serving->values->work;
    int r = path == NULL ? 0 : work_file_read(path, &serving->work_file, err);
    if (r == 0 && path != NULL) {
        work_file_take_tokens(serving->work_file);
    }
    return r;
}

static int open_and_serve(const struct serve_values *values)
{
    struct serving serving = {.values = values,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .audit_lock = PTHREAD_MUTEX_INITIALIZER};
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store,
                                      .access = STORE_CREATING,
                                      .needs_runtime = true,
                                      .lease_ns = values->lease_ns};
    if (read_work(&serving, &err) < 0 || session_open(&options, &serving.session, &err) < 0) {
        work_file_free(serving.work_file);
        return report_error(&err);
    }
    serving.config_folder = session_config_folder();
    serving.policy_path = watch_path_of_store(serving.session.store_path);
    /* opens: the server's own workspace */
    serving.workspace = realpath(values->workspace == NULL ? "." : values->workspace, NULL);
    int exit_code;
    if (serving.workspace == NULL) {
        exit_code =
            report_failure(EXIT_USAGE, "--workspace: %s is not a folder", values->workspace);
    } else {
        report_shown_home(serving.workspace);
        exit_code = serve(&serving);
    }
    session_close(&serving.session);
    work_file_free(serving.work_file);
    free(serving.config_folder);
    free(serving.policy_path);
    free(serving.workspace);
    return exit_code;
}

/** Paths as they are now, whatever the working directory is later. @param ret_paths added to */
static int resolve_paths(char **words, char ***ret_paths)
{
    size_t count = memory_count_list((const char *const *)words);
    *ret_paths = count == 0 ? NULL : memory_new_zero(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        /* opens: a path that the user gave; duty reads it, and folders are compared only */
        (*ret_paths)[i] = realpath(words[i], NULL);
        if ((*ret_paths)[i] == NULL) {
            return report_failure(EXIT_USAGE, "%s: %s", words[i], strerror(errno));
        }
    }
    return EXIT_OK;
}

static int serve_command(const struct invocation *invocation, const struct option_row *rows,
                         bool has_roles)
{
    struct serve_values values = {.drain_ns = ORCHESTRATOR_DEFAULT_DRAIN_NS,
                                  .stall_ns = MONITOR_DEFAULT_STALL_NS,
                                  .max_waiting = INTAKE_DEFAULT_QUEUE,
                                  .max_role_running = INTAKE_DEFAULT_ROLE_RUNNING};
    struct option_set set = {.rows = rows, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, has_roles ? INT_MAX : 0);
    if (!parsed.is_over && has_roles && parsed.argc == 0 && values.work == NULL) {
        parsed.is_over = true;
        parsed.exit_code = command_misuse(invocation->command, "give a role file, or --auto-work");
    }
    if (!parsed.is_over) {
        parsed.exit_code = parsed.argc > 0 ? resolve_paths(parsed.argv, &values.roles) : EXIT_OK;
        if (parsed.exit_code == EXIT_OK) {
            parsed.exit_code = resolve_paths(values.shared_words, &values.shared_folders);
        }
        if (parsed.exit_code == EXIT_OK) {
            parsed.exit_code = open_and_serve(&values);
        }
    }
    memory_free_list(values.roles);
    memory_free_list(values.shared_folders);
    option_set_fini(&set);
    return parsed.exit_code;
}

int cmd_serve(const struct invocation *invocation)
{
    return serve_command(invocation, serve_options, false);
}

int cmd_daemon(const struct invocation *invocation)
{
    return serve_command(invocation, daemon_options, true);
}
