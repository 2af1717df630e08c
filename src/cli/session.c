// SPDX-License-Identifier: Apache-2.0
/*
 * Opening what a command works with.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "cli/session.h"

#include "base/auto.h"
#include "base/memory.h"
#include "loop/hidden.h"
#include "policy/watch.h"
#include "store/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Our own program, which stays the right one when an update replaces the file. */
#define SELF "/proc/self/exe"

static int make_runtime(const struct session_options *options, struct session *session,
                        struct rondo_error *err)
{
    auto_hidden char **hidden = hidden_of_store(session->store_path);
    auto_free char *policy = watch_default_path(session->store_path);
    struct runtime_options runtime = {
        .store = session->store,
        .policy = policy,
        .is_policy_optional = true,
        .lease_ns = options->lease_ns,
        .supervisor = SELF,
        .hide_paths = (const char *const *)hidden,
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
    session.store_option = memory_dup_string(options->store);
    session.work_folder = store_work_folder(session.store_path);
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
    store_close(session->store);
    free(session->store_path);
    free(session->store_option);
    free(session->work_folder);
    *session = (struct session){0};
}

void session_hint(const struct session *session, const char *verb, const char *run_id,
                  struct buf *ret_buf)
{
    buf_printf(ret_buf, "rondo %s %.*s", verb, SHORT_ID_LEN, run_id);
    if (session->store_option != NULL) {
        buf_printf(ret_buf, " --store %s", session->store_option);
    }
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
