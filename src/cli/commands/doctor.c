// SPDX-License-Identifier: Apache-2.0
/* rondo doctor: what this machine offers, and whether the store is well. */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/version.h"
#include "cli/commands/doctor_database.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/examination.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/text.h"
#include "os/process/program.h"
#include "os/spawn/sandbox_trial.h"
#include "os/state_folder.h"
#include "server/answer/assets.h"
#include "store/locate/locate.h"
#include "store/locate/origin.h"
#include "worker/coding/record.h"
#include "worker/coding_probe.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

struct doctor_values {
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row doctor_options[] = {
    OPTION_ROW_STORE(struct doctor_values),
    OPTION_ROW_JSON(struct doctor_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct doctor_values),
    {0},
};

static void examine_versions(struct examination *examination)
{
    struct utsname machine;
    struct buf detail = {0};
    buf_append_string(&detail, RONDO_VERSION);
    if (uname(&machine) == 0) {
        buf_printf(&detail, ", %s %s on %s", machine.sysname, machine.release, machine.machine);
    }
    examination_add(examination, "rondo", HEALTH_OK, buf_steal(&detail));
}

static void examine_sandbox(struct examination *examination)
{
    static const char *const names[] = {
        [SANDBOX_LANDLOCK] = "sandbox landlock", [SANDBOX_NAMESPACE] = "sandbox namespace"};
    static const char *const uses[] = {
        [SANDBOX_LANDLOCK] = "works; select it with --sandbox landlock",
        [SANDBOX_NAMESPACE] = "works; exit conditions run in it by default"};
    bool has_any = false;
    for (int i = SANDBOX_NAMESPACE; i >= SANDBOX_LANDLOCK; i--) {
        char reason[256] = "";
        bool works = sandbox_is_available((enum sandbox_tier)i, reason);
        has_any = has_any || works;
        enum health health = works                    ? HEALTH_OK
                             : i == SANDBOX_NAMESPACE ? HEALTH_MISSING
                             : has_any                ? HEALTH_MISSING
                                                      : HEALTH_BROKEN;
        struct buf detail = {0};
        buf_append_string(&detail, works ? uses[i] : reason);
        if (health == HEALTH_BROKEN) {
            buf_append_string(&detail, "; no tier works: exit conditions need --sandbox none");
        }
        examination_add(examination, names[i], health, buf_steal(&detail));
    }
}

static const struct {
    const char *name;
    const char *use;
    bool is_essential;
    bool is_of_system; /* another one of this name would not be used */
} tools[] = {
    {"sh", "runs the exit conditions' commands", true, false},
    {"bwrap", "sandbox tier namespace (package bubblewrap)", false, true},
    {"git", "version control of your projects", false, false},
    {"make", "standard conditions of projects with a Makefile", false, false},
    {"cc", "programs in C", false, false},
};

static void examine_tools(struct examination *examination)
{
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        char path[PATH_MAX];
        char reason[256];
        const char *const *envp = (const char *const *)environ;
        bool is_there = tools[i].is_of_system
                            ? program_find_system(tools[i].name, envp, path, reason)
                            : program_find(tools[i].name, envp, "/", path, reason);
        struct buf detail = {0};
        buf_printf(&detail, is_there ? "%s" : "not found; used for: %s",
                   is_there ? path : tools[i].use);
        enum health missing = tools[i].is_essential ? HEALTH_BROKEN : HEALTH_MISSING;
        examination_add(examination, tools[i].name, is_there ? HEALTH_OK : missing,
                        buf_steal(&detail));
    }
}

/** Those that are installed; the others are not missing, for nobody needs all. */
static void examine_coding_agents(struct examination *examination)
{
    struct buf none = {0};
    for (size_t i = 0; coding_record_name(i) != NULL; i++) {
        struct buf detail = {0};
        if (coding_probe(i, &detail)) {
            examination_add(examination, coding_record_name(i), HEALTH_OK, buf_steal(&detail));
        } else {
            buf_printf(&none, "%s%s", none.len > 0 ? ", " : "none of ", coding_record_name(i));
            buf_fini(&detail);
        }
    }
    if (none.len > 0) {
        examination_add(examination, "coding agents", HEALTH_OK, buf_steal(&none));
    }
}

/** What is loaded only when it is needed (net/client/curl_library.h). */
static void examine_libraries(struct examination *examination)
{
    static const char *const libraries[][3] = {
        {"libcurl", "libcurl.so.4", "models, tools and servers over HTTP, sinks, collectors"},
        {"GMime", "libgmime-3.0.so.0", "reading mails (the tool email)"},
        {"libpq", "libpq.so.5", "stores in PostgreSQL (--store postgresql://...)"},
    };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        void *handle = dlopen(libraries[i][1], RTLD_LAZY | RTLD_LOCAL);
        struct buf detail = {0};
        buf_printf(&detail, handle == NULL ? "not found; used for: %s" : "for %s", libraries[i][2]);
        examination_add(examination, libraries[i][0], handle == NULL ? HEALTH_MISSING : HEALTH_OK,
                        buf_steal(&detail));
        if (handle != NULL) {
            dlclose(handle);
        }
    }
    bool has_pages = asset_count() > 0;
    examination_add(examination, "dashboard", has_pages ? HEALTH_OK : HEALTH_MISSING,
                    memory_dup_string(has_pages ? "built in; served by rondo serve and rondo daemon"
                                                : "not built in; building it needs node and npm"));
}

/** @param path of the store: its health is that of a copy when it is not the user's own */
static void add_health(struct examination *examination, const char *path,
                       const struct store_health *health)
{
    struct buf detail = {0};
    bool is_own = false;
    /* opens: only a name that is shown */
    auto_free char *real = realpath(path, NULL);
    auto_free char *name = store_name_of(path);
    text_clean(name, strlen(name), &detail);
    if (!store_is_in_database(path) && real != NULL &&
        store_origin_look(real, &is_own, NULL) == 0 && !is_own) {
        buf_append_string(&detail, ", not created here: read-only until `rondo trust` confirms it");
    }
    buf_printf(&detail, ", %s, schema %" PRIu32 ", ", health->version, health->schema);
    text_bytes(health->size_bytes, &detail);
    buf_append_string(&detail, ", ");
    text_count((int64_t)health->run_count, &detail);
    buf_append_string(&detail, " runs, ");
    text_count((int64_t)health->event_count, &detail);
    buf_append_string(&detail, " events");
    if (!health->is_intact) {
        buf_printf(&detail, "; DAMAGED: %s", health->problem);
    }
    examination_add(examination, "store", health->is_intact ? HEALTH_OK : HEALTH_BROKEN,
                    buf_steal(&detail));
}

/** Where stores of projects are; that of this one may not exist yet. */
static void examine_state(struct examination *examination)
{
    struct rondo_error err = {0};
    auto_free char *state = NULL;
    auto_free char *project = NULL;
    int r = state_folder_find(&state, &err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        examination_add(examination, "state folder", HEALTH_BROKEN, memory_dup_string(err.message));
        return;
    }
    r = state_project_path(".", &project, &err);
    struct buf detail = {0};
    text_clean(r < 0 ? err.message : project, strlen(r < 0 ? err.message : project), &detail);
    buf_append_string(&detail, r < 0 ? "" : ", for stores of this folder");
    examination_add(examination, "state folder", r < 0 ? HEALTH_BROKEN : HEALTH_OK,
                    buf_steal(&detail));
}

static void examine_store(struct examination *examination, const char *given)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    auto_free char *path = NULL;
    int r = store_open_default(given, STORE_READING, &store, &path, &err);
    struct store_health health = {0};
    if (r == 0) {
        r = store->ops->health(store, &health, &err);
    }
    if (r == 0) {
        add_health(examination, path, &health);
        if (store_is_in_database(path)) {
            examine_database(examination, store);
        }
    } else {
        examination_add(examination, "store",
                        r == RONDO_ERR_NOT_FOUND ? HEALTH_MISSING : HEALTH_BROKEN,
                        memory_dup_string(err.message));
    }
    store_close(store);
}

static void examine_limits(struct examination *examination)
{
    struct rlimit files = {0};
    struct rlimit processes = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NPROC, &processes);
    struct buf detail = {0};
    text_count((int64_t)files.rlim_cur, &detail);
    buf_append_string(&detail, " open files, ");
    if (processes.rlim_cur == RLIM_INFINITY) {
        buf_append_string(&detail, "any number of");
    } else {
        text_count((int64_t)processes.rlim_cur, &detail);
    }
    buf_printf(&detail, " processes, %ld processors", sysconf(_SC_NPROCESSORS_ONLN));
    examination_add(examination, "limits", HEALTH_OK, buf_steal(&detail));
}

int cmd_doctor(const struct invocation *invocation)
{
    struct doctor_values values = {0};
    struct option_set set = {.rows = doctor_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (!parsed.is_over) {
        struct examination examination = {0};
        examine_versions(&examination);
        examine_sandbox(&examination);
        examine_tools(&examination);
        examine_coding_agents(&examination);
        examine_libraries(&examination);
        examine_state(&examination);
        examine_store(&examination, values.store);
        examine_limits(&examination);
        parsed.exit_code =
            examination_print(&examination, &(struct examination_form){
                                                .wants_json = values.wants_json != 0,
                                                .no_colour = values.no_colour != 0,
                                                .good = "ready to run loops",
                                                .bad = "something essential is broken",
                                            });
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
