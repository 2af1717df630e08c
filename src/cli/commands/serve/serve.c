// SPDX-License-Identifier: Apache-2.0
/*
 * rondo serve: orchestrator, warnings, API, dashboard and exporters of a store in one process. The
 * main thread starts the parts from the bottom up, waits for signals, feeds the service manager's
 * watchdog, and ends the parts from the top down.
 *
 * rondo daemon: the same, with roles on duty.
 */
#include "alert/monitor.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cli/commands/serve/parts.h"
#include "cli/commands/serve/served.h"
#include "cli/commands/work/queues.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/servers.h"
#include "os/notify.h"
#include "policy/watch.h"
#include "server/auth/token.h"
#include "server/server.h"
#include "source/duty/duty.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Longest wait for a signal at a time, when a service manager is told the state. */
#define TURN_NS NS_PER_S
/** The same when there is none: a day. */
#define NO_TURN_NS (INT64_C(86400) * NS_PER_S)

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
    parts_log(NULL, buf_string(&line));
}

/** Clients that need a token. */
static void log_token_rule(const struct serving *serving, bool is_reachable)
{
    const char *why = parts_why_tokens(serving->values);
    auto_buf struct buf tokens = {0};
    bool has_none = token_list(serving->session.store, &tokens, NULL) == 0 &&
                    strcmp(buf_string(&tokens), "[]") == 0;
    if (why != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "every client needs a token, including your own programs (%s)", why);
        parts_log_unless_quiet(serving, buf_string(&line));
    }
    if (has_none && (why != NULL || is_reachable)) {
        parts_log(NULL, "there is no token yet: create one with `rondo token create`");
    }
}

static void log_addresses(const struct serving *serving)
{
    const char *address;
    bool is_reachable = false;
    for (size_t i = 0; (address = server_address(serving->server, i)) != NULL; i++) {
        auto_buf struct buf line = {0};
        bool is_socket = strncmp(address, "unix:", 5) == 0;
        buf_printf(&line, "serving %s%s on %s%s", serving->session.store_name,
                   serving->store_count > 1 ? " and other stores" : "", is_socket ? "" : "http://",
                   address);
        parts_log_unless_quiet(serving, buf_string(&line));
        if (!is_local(address)) {
            is_reachable = true;
            log_reachable(address);
        }
    }
    log_token_rule(serving, is_reachable);
}

/** What `systemctl status` shows. */
static bool notify_status(struct served *served, const char *first)
{
    struct orchestrator_state state = served_state(served);
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
static void wait_for_end(struct served *served, const sigset_t *signals)
{
    const char *watchdog = notify_watchdog_ns() > 0 ? "WATCHDOG=1\n" : "";
    int signal_number;
    do {
        struct timespec turn = next_turn(served->front, notify_status(served, watchdog));
        signal_number = sigtimedwait(signals, NULL, &turn);
    } while (signal_number < 0 && (errno == EAGAIN || errno == EINTR));
    parts_log_unless_quiet(served->front,
                           "shutting down: runs are parked and resume at the next start");
}

/** A second signal ends the process at once: what was committed is safe. */
static void end_at_once(const sigset_t *signals)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
}

static int serve(struct served *served)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* Inherited by every thread of the parts. */
    struct rondo_error err = {0};
    int exit_code = EXIT_OK;
    if (served_start(served, &err) < 0) {
        exit_code = report_error(&err);
        if (err.code == RONDO_ERR_BUSY) {
            exit_code = EXIT_OTHER; /* An address is taken: no run is held by anybody. */
        }
    } else {
        log_addresses(served->front);
        notify_status(served, "READY=1\n");
        wait_for_end(served, &signals);
    }
    notify_send("STOPPING=1");
    end_at_once(&signals);
    served_stop(served);
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
    struct rondo_error err = {0};
    struct served *served = NULL;
    if (served_new(values, &served, &err) < 0) {
        return report_error(&err);
    }
    int exit_code = EXIT_OK;
    if (served->workspace == NULL) {
        exit_code =
            report_failure(EXIT_USAGE, "--workspace: %s is not a folder", values->workspace);
    } else if (read_work(&served->items[0], &err) < 0 || served_open(served, &err) < 0) {
        exit_code = report_error(&err);
    } else {
        report_shown_home(served->workspace);
        exit_code = serve(served);
    }
    served_free(served);
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
