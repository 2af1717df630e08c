// SPDX-License-Identifier: Apache-2.0
/*
 * Opening what a command works with.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "cli/framework/session.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/framework/report.h"
#include "handoff/desks/reach.h"
#include "loop/hidden_paths.h"
#include "loop/owner.h"
#include "os/file.h"
#include "policy/watch.h"
#include "store/locate/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Our own program, which stays the right one when an update replaces the file. */
#define SELF "/proc/self/exe"

/** Have the folder for hand-over files before a command could put something else in its place. */
static int make_work_folder(const char *path, struct rondo_error *err)
{
    struct stat status;
    int r = file_make_folder(path, err);
    if (r < 0 ||
        (lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid())) {
        return r;
    }
    return error_set(err, RONDO_ERR_DENIED,
                     "%s must be a folder of your own, for the files of workers: remove it, or use "
                     "another store",
                     path);
}

/** Loops wait for a database by themselves; people are told what they may do. */
static void report_store(void *context, const char *problem)
{
    (void)context;
    if (problem == NULL) {
        report_warning("the store answers again; waiting runs continue");
    } else {
        report_warning("the store does not answer, so no run begins anything new until it is back "
                       "(for up to an hour; a stop ends the wait, and `rondo resume` continues "
                       "later): %s",
                       problem);
    }
}

static int make_runtime(const struct session_options *options, struct session *session,
                        struct rondo_error *err)
{
    int r = make_work_folder(session->work_folder, err);
    if (r < 0) {
        return r;
    }
    auto_hidden_paths char **hidden = hidden_paths_of_store(session->store_path);
    auto_free char *policy = watch_path_of_store(session->store_path);
    auto_free char *desks = desks_path_of_store(session->store_path);
    struct runtime_options runtime = {
        .store = session->store,
        .policy = policy,
        .is_policy_optional = true,
        .desks = desks,
        .lease_ns = options->lease_ns,
        .supervisor = SELF,
        .hide_paths = (const char *const *)hidden,
        .is_store_remote = store_is_in_database(session->store_path),
        .store_away = report_store,
    };
    return runtime_new(&runtime, &session->runtime, err);
}

int session_open(const struct session_options *options, struct session *ret_session,
                 struct rondo_error *err)
{
    struct session session = {0};
    int r = store_open_default(options->store, options->access, &session.store, &session.store_path,
                               err);
    if (r < 0) {
        return r;
    }
    /* SQLite follows a symbolic link and keeps its other files beside the real one. */
    char *real = realpath(session.store_path, NULL);
    if (real != NULL) {
        free(session.store_path);
        session.store_path = real;
    }
    session.store_name = store_name_of(session.store_path);
    bool is_file = !store_is_in_database(session.store_path);
    session.store_option = options->store == NULL
                               ? NULL
                               : memory_dup_string(is_file ? options->store : session.store_name);
    session.work_folder = store_work_folder(session.store_path);
    auto_free char *desks = desks_path_of_store(session.store_path);
    session.desks = desks_watch_new(desks);
    if (options->needs_runtime) {
        r = make_runtime(options, &session, err);
    }
    if (r < 0) {
        session_close(&session);
        return r;
    }
    *ret_session = session;
    return 0;
}

void session_close(struct session *session)
{
    runtime_free(session->runtime);
    desks_watch_free(session->desks);
    store_close(session->store);
    free(session->store_path);
    free(session->store_name);
    free(session->store_option);
    free(session->work_folder);
    *session = (struct session){0};
}

struct handoff_store session_handoffs(const struct session *session)
{
    return desks_store(session->store, desks_look(session->store, session->desks));
}

void session_hint(const struct session *session, const char *verb, const char *run_id,
                  struct buf *ret_buf)
{
    buf_printf(ret_buf, "rondo %s %.*s", verb, SHORT_ID_LEN, run_id);
    if (session->store_option != NULL) {
        /* An address has characters of the shell, but no quote. */
        const char *quote = store_is_in_database(session->store_path) ? "'" : "";
        buf_printf(ret_buf, " --store %s%s%s", quote, session->store_option, quote);
    }
}

int session_held(const struct session *session, const struct store_run *holder,
                 struct rondo_error *err)
{
    char who[OWNER_DESCRIPTION_SIZE];
    owner_describe(holder, who);
    auto_buf struct buf logs = {0};
    auto_buf struct buf stop = {0};
    session_hint(session, "logs -f", holder->id, &logs);
    session_hint(session, "stop", holder->id, &stop);
    return error_set(err, RONDO_ERR_BUSY,
                     "run %.*s of agent %s is executed by %s; follow it with `%s`, end it with "
                     "`%s`, or wait until it has ended",
                     SHORT_ID_LEN, holder->id, holder->agent_id, who, buf_string(&logs),
                     buf_string(&stop));
}

char *session_config_folder(void)
{
    const char *given = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    struct buf path = {0};
    if (given != NULL && given[0] == '/') {
        buf_printf(&path, "%s/rondo", given);
    } else if (home != NULL) {
        buf_printf(&path, "%s/.config/rondo", home);
    }
    return path.len == 0 ? NULL : buf_steal(&path);
}
