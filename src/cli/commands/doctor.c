// SPDX-License-Identifier: Apache-2.0
/* rondo doctor: what this machine offers, and whether the store is well. */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/version.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/text.h"
#include "os/process/program.h"
#include "os/spawn/sandbox_trial.h"
#include "os/state_folder.h"
#include "server/answer/assets.h"
#include "store/locate/locate.h"
#include "store/locate/origin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PIPE_COLUMNS 100
/** Column at which details begin; on a narrow terminal they go below their names. */
#define DETAIL_COLUMN 21
#define NARROW        60

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

enum health {
    HEALTH_OK = 0,
    HEALTH_MISSING, /**< something is not there, but Rondo works */
    HEALTH_BROKEN,  /**< something essential is not there or damaged */
};

static const char *const health_names[] = {"ok", "missing", "broken"};

struct doctor_finding {
    const char *name;
    enum health health;
    char *detail;
};

#define FINDINGS_MAX 24

struct examination {
    struct doctor_finding findings[FINDINGS_MAX];
    size_t count;
};

/** @param detail taken over */
static void add(struct examination *examination, const char *name, enum health health, char *detail)
{
    if (examination->count < FINDINGS_MAX) {
        examination->findings[examination->count++] = (struct doctor_finding){name, health, detail};
    } else {
        free(detail);
    }
}

static void examine_versions(struct examination *examination)
{
    struct utsname machine;
    struct buf detail = {0};
    buf_append_string(&detail, RONDO_VERSION);
    if (uname(&machine) == 0) {
        buf_printf(&detail, ", %s %s on %s", machine.sysname, machine.release, machine.machine);
    }
    add(examination, "rondo", HEALTH_OK, buf_steal(&detail));
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
        add(examination, names[i], health, buf_steal(&detail));
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
        add(examination, tools[i].name, is_there ? HEALTH_OK : missing, buf_steal(&detail));
    }
}

/** What is loaded only when it is needed (net/client/curl_library.h). */
static void examine_libraries(struct examination *examination)
{
    static const char *const libraries[][3] = {
        {"libcurl", "libcurl.so.4", "models, tools and servers over HTTP, sinks, collectors"},
    };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        void *handle = dlopen(libraries[i][1], RTLD_LAZY | RTLD_LOCAL);
        struct buf detail = {0};
        buf_printf(&detail, handle == NULL ? "not found; used for: %s" : "for %s", libraries[i][2]);
        add(examination, libraries[i][0], handle == NULL ? HEALTH_MISSING : HEALTH_OK,
            buf_steal(&detail));
        if (handle != NULL) {
            dlclose(handle);
        }
    }
    bool has_pages = asset_count() > 0;
    add(examination, "dashboard", has_pages ? HEALTH_OK : HEALTH_MISSING,
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
    text_clean(path, strlen(path), &detail);
    if (real != NULL && store_origin_look(real, &is_own, NULL) == 0 && !is_own) {
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
    add(examination, "store", health->is_intact ? HEALTH_OK : HEALTH_BROKEN, buf_steal(&detail));
}

/** Where stores of projects are; that of this one may not exist yet. */
static void examine_state(struct examination *examination)
{
    struct rondo_error err = {0};
    auto_free char *state = NULL;
    auto_free char *project = NULL;
    int r = state_folder_find(&state, &err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        add(examination, "state folder", HEALTH_BROKEN, memory_dup_string(err.message));
        return;
    }
    r = state_project_path(".", &project, &err);
    struct buf detail = {0};
    text_clean(r < 0 ? err.message : project, strlen(r < 0 ? err.message : project), &detail);
    buf_append_string(&detail, r < 0 ? "" : ", for stores of this folder");
    add(examination, "state folder", r < 0 ? HEALTH_BROKEN : HEALTH_OK, buf_steal(&detail));
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
    } else {
        add(examination, "store", r == RONDO_ERR_NOT_FOUND ? HEALTH_MISSING : HEALTH_BROKEN,
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
    add(examination, "limits", HEALTH_OK, buf_steal(&detail));
}

static bool is_broken(const struct examination *examination)
{
    bool broken = false;
    for (size_t i = 0; i < examination->count; i++) {
        broken = broken || examination->findings[i].health == HEALTH_BROKEN;
    }
    return broken;
}

static void write_text(const struct examination *examination, bool no_colour, struct buf *out)
{
    static const enum mark marks[] = {MARK_MET, MARK_UNKNOWN, MARK_NOT_MET};
    static const enum colour colours[] = {COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED};
    struct style style = style_for(stdout, no_colour);
    size_t columns = style_columns(stdout, PIPE_COLUMNS);
    for (size_t i = 0; i < examination->count; i++) {
        const struct doctor_finding *finding = &examination->findings[i];
        style_append(&style, colours[finding->health], style_mark(&style, marks[finding->health]),
                     out);
        buf_append_string(out, " ");
        bool is_narrow = columns < NARROW;
        size_t indent = is_narrow ? 4 : DETAIL_COLUMN;
        text_pad(finding->name, is_narrow ? 0 : DETAIL_COLUMN - 2, out);
        buf_append_string(out, is_narrow ? "\n    " : "");
        text_wrap(finding->detail, indent, columns, indent, out);
        buf_append_string(out, "\n");
    }
    buf_append_string(out, is_broken(examination) ? "something essential is broken\n"
                                                  : "ready to run loops\n");
}

static void write_json(const struct examination *examination, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_bool(&writer, "is_healthy", !is_broken(examination));
    json_begin_array(&writer, "findings");
    for (size_t i = 0; i < examination->count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "name", examination->findings[i].name);
        json_write_string(&writer, "health", health_names[examination->findings[i].health]);
        json_write_string(&writer, "detail", examination->findings[i].detail);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
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
        examine_libraries(&examination);
        examine_state(&examination);
        examine_store(&examination, values.store);
        examine_limits(&examination);
        auto_buf struct buf out = {0};
        if (values.wants_json) {
            write_json(&examination, &out);
        } else {
            write_text(&examination, values.no_colour != 0, &out);
        }
        report_output(&out);
        parsed.exit_code = is_broken(&examination) ? EXIT_OTHER : EXIT_OK;
        for (size_t i = 0; i < examination.count; i++) {
            free(examination.findings[i].detail);
        }
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
