// SPDX-License-Identifier: Apache-2.0
/* The exporter around one run. */
#include "cli/framework/telemetry_hook.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "cli/framework/report.h"
#include "loop/driver/driver.h"
#include "telemetry/role_environment.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct telemetry_hook {
    struct telemetry *telemetry; /* NULL = nothing is exported */
    struct buf lines;            /* of spans, until the display of the run is gone */
    bool is_full;
};

static void warn(void *context, const char *line)
{
    (void)context;
    report_warning("%s", line);
}

/** The environment with what the run's role adds to it, or NULL. */
static char **environment_of(const struct loop *loop)
{
    auto_json struct json_object *root = NULL;
    const char *agent = loop_spec(loop)->agent;
    bool has_section = agent != NULL && strstr(agent, "\"observability\":{") != NULL;
    if (!has_section || json_parse(agent, strlen(agent), &root, NULL) < 0 ||
        json_get_bool(root, "dry_run", false)) {
        return NULL;
    }
    return role_environment(json_member(root, "role"), NULL);
}

/** Called by the exporter's thread, which has ended before anybody else reads. */
static void keep(void *context, const char *line, size_t len)
{
    struct telemetry_hook *hook = context;
    if (hook->lines.len + len > TELEMETRY_HOOK_BYTES) {
        hook->is_full = true;
    } else {
        buf_append(&hook->lines, line, len);
    }
}

struct telemetry_hook *telemetry_hook_start(struct session *session, const struct loop *loop,
                                            uint64_t after)
{
    char **envp = environment_of(loop);
    struct telemetry_hook *hook = memory_new_zero(1, sizeof(*hook));
    struct telemetry_options options = {
        .writer = runtime_writer(session->runtime),
        .run_id = loop_run_id(loop),
        .after = after,
        .envp = (const char *const *)envp,
        .log = warn,
        .print = keep,
        .print_context = hook,
    };
    struct rondo_error err = {0};
    if (telemetry_is_wanted(options.envp) &&
        telemetry_start(&options, &hook->telemetry, &err) < 0) {
        report_warning("telemetry is not sent: %s", err.message);
    }
    memory_free_list(envp);
    return hook;
}

void telemetry_hook_stop(struct telemetry_hook *hook)
{
    if (hook == NULL) {
        return;
    }
    telemetry_stop(hook->telemetry, TELEMETRY_FLUSH_NS);
    fwrite(buf_string(&hook->lines), 1, hook->lines.len, stderr);
    if (hook->is_full) {
        report_warning("some spans are not shown: they are more than %d MiB",
                       TELEMETRY_HOOK_BYTES / (1024 * 1024));
    }
    buf_fini(&hook->lines);
    free(hook);
}
