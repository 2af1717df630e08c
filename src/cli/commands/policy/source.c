// SPDX-License-Identifier: Apache-2.0
/* Locating and loading policies for the commands. */
#include "cli/commands/policy/source.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "os/state_folder.h"
#include "policy/replica.h"
#include "store/locate/locate.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/** Where the file would be if a store were made here. */
static int locate_in_project(char **ret_path, struct rondo_error *err)
{
    auto_free char *folder = NULL;
    int r = state_project_path(".", &folder, err);
    if (r == 0) {
        struct buf path = {0};
        buf_printf(&path, "%s/" WATCH_DEFAULT_NAME, folder);
        *ret_path = buf_steal(&path);
    }
    return r;
}

/** Other machines may have changed what the database shares. */
static int pull(const char *name, const char *path, struct rondo_error *err)
{
    struct store *store = NULL;
    int r = store_open_default(name, STORE_READING, &store, NULL, err);
    if (r == RONDO_ERR_NOT_FOUND) {
        return 0; /* Nobody has used it yet. */
    }
    r = r < 0 ? r : policy_replica_pull(store, path, NULL, err);
    store_close(store);
    return r;
}

int policy_locate(const char *given, const char *store, char **ret_path, struct rondo_error *err)
{
    if (given != NULL) {
        *ret_path = memory_dup_string(given);
        return 0;
    }
    auto_free char *path = NULL;
    int r = store_locate(store, false, &path, err);
    if (r == RONDO_ERR_NOT_FOUND) {
        return locate_in_project(ret_path, err);
    }
    if (r < 0) {
        return r;
    }
    /* The loop looks beside the real file, too. */
    /* opens: only a name; policy/watch reads and guards it */
    auto_free char *real = realpath(path, NULL);
    auto_free char *beside = watch_path_of_store(real == NULL ? path : real);
    r = store_is_in_database(path) ? pull(store, beside, err) : 0;
    if (r == 0) {
        *ret_path = steal_pointer(&beside);
    }
    return r;
}

int policy_exit_code(const struct rondo_error *err)
{
    return err->code == RONDO_ERR_INVALID || err->code == RONDO_ERR_LIMIT ? EXIT_OTHER : EXIT_USAGE;
}

int policy_require(const char *given, const char *store, struct ruleset **ret_ruleset)
{
    struct rondo_error err = {0};
    struct policy_findings findings = {0};
    auto_free char *path = NULL;
    int exit_code = EXIT_OK;
    if (policy_locate(given, store, &path, &err) < 0) {
        return report_error(&err);
    }
    if (policy_load(path, given == NULL, &findings, ret_ruleset, &err) < 0) {
        exit_code = policy_exit_code(&err);
        report_failure(exit_code, "%s%s", err.message,
                       findings.errors > 1 ? "; `rondo policy check` shows all errors" : "");
    }
    policy_findings_fini(&findings);
    return exit_code;
}
