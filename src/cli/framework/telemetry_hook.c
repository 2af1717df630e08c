// SPDX-License-Identifier: Apache-2.0
/* The exporter around one run. */
#include "cli/framework/telemetry_hook.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "cli/framework/report.h"
#include "loop/driver/driver.h"
#include "telemetry/role_environment.h"

#include <json-c/json.h>
#include <string.h>

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

struct telemetry *telemetry_hook_start(struct session *session, const struct loop *loop,
                                       uint64_t after)
{
    char **envp = environment_of(loop);
    struct telemetry_options options = {
        .writer = runtime_writer(session->runtime),
        .run_id = loop_run_id(loop),
        .after = after,
        .envp = (const char *const *)envp,
        .log = warn,
    };
    struct telemetry *telemetry = NULL;
    struct rondo_error err = {0};
    if (telemetry_is_wanted(options.envp) && telemetry_start(&options, &telemetry, &err) < 0) {
        report_warning("telemetry is not sent: %s", err.message);
    }
    memory_free_list(envp);
    return telemetry;
}

void telemetry_hook_stop(struct telemetry *telemetry)
{
    telemetry_stop(telemetry, TELEMETRY_FLUSH_NS);
}
