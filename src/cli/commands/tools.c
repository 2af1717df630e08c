// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo tools`, and where they find tools. */
#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "cli/commands/role_findings.h"
#include "cli/commands/tools_source.h"
#include "cli/commands/trust_subject.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "loop/hidden_paths.h"
#include "mcp/mcp.h"
#include "model/key/environment.h"
#include "net/client/guard.h"
#include "net/client/http.h"
#include "role/role.h"
#include "store/locate/locate.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This program, whichever file it was started from: it can be its own supervisor. */
#define SELF "/proc/self/exe"

const struct command tools_commands[] = {
    {
        .name = "tools list",
        .synopsis = "[OPTION...] [-- COMMAND [ARG...]]",
        .help = "List tools that agents can call",
        .description = "Lists the tools of a role, of an MCP server registered in rondo.yaml, of "
                       "one at a URL, or of one that COMMAND starts. By default, lists the tools "
                       "of all servers in rondo.yaml, in this folder or else in ~/.config/rondo.",
        .examples = "rondo tools list --role role.yaml\twhat this agent can call\n"
                    "rondo tools list -- npx -y @modelcontextprotocol/server-everything\ttry a "
                    "server before registering it",
        .options = tools_list_options,
        .run = cmd_tools_list,
    },
    {
        .name = "tools call",
        .synopsis = "[OPTION...] TOOL [ARGUMENTS] [-- COMMAND [ARG...]]",
        .help = "Call a tool",
        .description =
            "Calls a tool as an agent would: ARGUMENTS, a JSON object, are checked against its "
            "schema and its permissions. The result is written to standard output. The exit code "
            "is 1 if the tool reports a failure, and 2 if the call is not possible.",
        .examples = "rondo tools call --server scanner scan '{\"path\":\"src\"}'\tas a condition "
                    "would\n"
                    "rondo tools call --json --url http://localhost/mcp echo "
                    "'{\"message\":\"hi\"}'\tfor programs",
        .options = tools_call_options,
        .run = cmd_tools_call,
    },
    {0},
};

struct tools_source {
    struct tool_surroundings around;
    char workspace[PATH_MAX];
    struct role *role;
    struct dotenv *dotenv;
    struct http_client *http;
    struct net_guard guard;
    char **hide_paths;
    char **protect_paths;
    struct mcp_shared *shared;
    struct toolbox *toolbox;
};

/* --- words and options --- */

int tools_words_after(const struct invocation *invocation)
{
    for (int i = 0; i < invocation->argc; i++) {
        if (strcmp(invocation->argv[i], "--") == 0) {
            return invocation->argc - i - 1;
        }
    }
    return -1;
}

char **tools_split_command(int after, int *argc, char **argv)
{
    if (after < 0) {
        return NULL;
    }
    *argc -= after;
    return argv + *argc;
}

int tools_check_values(const struct command *command, const struct tools_values *values,
                       char **words)
{
    int ways =
        (values->role != NULL) + (values->server != NULL) + (values->url != NULL) + (words != NULL);
    if (ways > 1) {
        return command_misuse(command, "give only one of --role, --server, --url and a command");
    }
    if (words != NULL && words[0] == NULL) {
        return command_misuse(command, "no command after --");
    }
    if (values->headers != NULL && values->url == NULL) {
        return command_misuse(command, "--header requires --url");
    }
    return 0;
}

/* --- rondo.yaml --- */

/** A person is at the terminal and can confirm that the file may start servers. */
static int open_shared(struct tools_source *source, struct rondo_error *err)
{
    auto_free char *folder = session_config_folder();
    auto_free char *path = agent_config_path(source->workspace, folder);
    const struct loop_spec spec = {.workspace = source->workspace};
    const char *const waiting[] = {path, NULL};
    int r = agent_read_config(&spec, path, &source->around, &source->shared, err);
    if (r == RONDO_ERR_DENIED && trust_ask(waiting, NULL)) {
        *err = (struct rondo_error){0};
        r = agent_read_config(&spec, path, &source->around, &source->shared, err);
    }
    source->around.mcp = source->shared;
    return r;
}

/* --- the toolbox --- */

/** Open an entry that is made up here. */
static int open_entry(struct tools_source *source, struct json_object *entry,
                      struct rondo_error *err)
{
    json_object_object_add(entry, "type", json_object_new_string("mcp"));
    int r = toolbox_open(source->toolbox, entry, err);
    json_object_put(entry);
    return r;
}

static void add_timeout(struct json_object *entry, const struct tools_values *values)
{
    if (values->timeout_ns > 0) {
        json_object_object_add(
            entry, "timeout",
            json_object_new_double((double)values->timeout_ns / (double)NS_PER_S));
    }
}

static int open_server(struct tools_source *source, const struct tools_values *values,
                       const char *name, bool has_prefix, struct rondo_error *err)
{
    struct json_object *entry = json_object_new_object();
    json_object_object_add(entry, "server", json_object_new_string(name));
    if (has_prefix) {
        json_object_object_add(entry, "tool_prefix", json_object_new_string(name));
    }
    add_timeout(entry, values);
    return open_entry(source, entry, err);
}

/** All servers; one that cannot be reached is reported and skipped. */
static int open_all_servers(struct tools_source *source, const struct tools_values *values,
                            struct rondo_error *err)
{
    size_t count = mcp_shared_count(source->shared);
    if (count == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "no rondo.yaml registers an MCP server; name one with --role, --server, "
                         "--url or -- COMMAND");
    }
    for (size_t i = 0; i < count; i++) {
        struct rondo_error reason = {0};
        const char *name = mcp_shared_name(source->shared, i);
        if (open_server(source, values, name, true, &reason) != 0) {
            report_warning("%s", reason.message);
        }
    }
    return 0;
}

static int open_url(struct tools_source *source, const struct tools_values *values,
                    struct rondo_error *err)
{
    struct json_object *entry = json_object_new_object();
    struct json_object *headers = json_object_new_object();
    json_object_object_add(entry, "transport", json_object_new_string("streamable-http"));
    json_object_object_add(entry, "url", json_object_new_string(values->url));
    json_object_object_add(entry, "headers", headers);
    for (size_t i = 0; values->headers != NULL && values->headers[i] != NULL; i++) {
        const char *header = values->headers[i];
        size_t len = strcspn(header, ":");
        if (len == 0 || header[len] == '\0') {
            json_object_put(entry);
            return error_set(err, RONDO_ERR_INVALID, "--header must be 'NAME: VALUE'");
        }
        char *name = memory_dup_bytes(header, len);
        const char *value = header + len + 1;
        json_object_object_add(headers, name, json_object_new_string(value + strspn(value, " \t")));
        free(name);
    }
    add_timeout(entry, values);
    return open_entry(source, entry, err);
}

static int open_command(struct tools_source *source, const struct tools_values *values,
                        char **words, struct rondo_error *err)
{
    struct json_object *entry = json_object_new_object();
    struct json_object *args = json_object_new_array();
    json_object_object_add(entry, "transport", json_object_new_string("stdio"));
    json_object_object_add(entry, "command", json_object_new_string(words[0]));
    for (size_t i = 1; words[i] != NULL; i++) {
        json_object_array_add(args, json_object_new_string(words[i]));
    }
    json_object_object_add(entry, "args", args);
    add_timeout(entry, values);
    return open_entry(source, entry, err);
}

/* --- roles --- */

static int read_role(struct tools_source *source, const char *path, struct rondo_error *err)
{
    struct role_findings findings = {0};
    int r = role_read(path, ROLE_SCHEMA_1_13, &findings, &source->role, err);
    if (r == 0 && source->role == NULL) {
        role_findings_report(&findings, path, ROLE_WARNING);
        r = error_set(err, RONDO_ERR_INVALID, "%s is not valid", path);
    } else if (r == 0) {
        role_findings_report(&findings, path, ROLE_UNPROTECTED);
    }
    role_findings_fini(&findings);
    return r;
}

static int open_role_tools(struct tools_source *source, struct rondo_error *err)
{
    struct json_object *tools = source->role->tools;
    size_t count = json_length(tools);
    for (size_t i = 0; i < count; i++) {
        struct json_object *entry = json_object_array_get_idx(tools, i);
        int r = toolbox_open(source->toolbox, entry, err);
        if (r == RONDO_ERR_UNSUPPORTED) {
            report_warning("tools of type `%s` are not supported",
                           json_get_string(entry, "type", ""));
        } else if (r != 0) {
            error_prefix(err, "spec.tools[%zu]", i);
            return r;
        }
    }
    return 0;
}

/* --- all of it --- */

/** As for the tools of a run: a server that is only tried is no more trusted. */
static void hide_what_decides(struct tools_source *source)
{
    auto_free char *store = NULL;
    bool has_store = store_locate(NULL, false, &store, NULL) == 0;
    source->hide_paths = hidden_paths_of_store(has_store ? store : NULL);
    source->protect_paths =
        protected_paths_of_run(source->workspace, source->role == NULL ? NULL : source->role->path);
    if (source->role != NULL) {
        source->guard.allow_hosts = (const char *const *)source->role->allow_hosts;
    }
}

static int describe_surroundings(struct tools_source *source, const struct tools_values *values,
                                 struct rondo_error *err)
{
    if (getcwd(source->workspace, sizeof(source->workspace)) == NULL) {
        return error_set(err, RONDO_ERR_SYSTEM, "cannot find the working directory");
    }
    int r = values->role == NULL ? 0 : read_role(source, values->role, err);
    if (r == 0) {
        r = http_client_new(NULL, &source->http, err);
    }
    const char *folder = source->role == NULL ? source->workspace : source->role->folder;
    if (r == 0) {
        r = dotenv_read(folder, &source->dotenv, err);
    }
    struct json_object *spec =
        source->role == NULL ? NULL : json_member(source->role->normal, "spec");
    hide_what_decides(source);
    source->around = (struct tool_surroundings){
        .workspace = source->workspace,
        .role_folder = source->role == NULL ? NULL : source->role->folder,
        .dotenv = source->dotenv,
        .http = source->http,
        .guard = &source->guard,
        .hide_paths = (const char *const *)source->hide_paths,
        .protect_paths = (const char *const *)source->protect_paths,
        .clock = clock_system(),
        .supervisor = SELF,
        .sandbox = source->role == NULL ? NULL : source->role->sandbox,
        .allow_network = source->role == NULL || source->role->allows_network,
        .is_offline = source->role != NULL && source->role->is_offline,
        .security_tools = json_member(json_member(spec, "security"), "tools"),
    };
    return r;
}

static int open_tools(struct tools_source *source, const struct tools_values *values, char **words,
                      struct rondo_error *err)
{
    if (values->role != NULL) {
        return open_role_tools(source, err);
    }
    if (values->url != NULL) {
        return open_url(source, values, err);
    }
    if (words != NULL) {
        return open_command(source, values, words, err);
    }
    return values->server != NULL ? open_server(source, values, values->server, false, err)
                                  : open_all_servers(source, values, err);
}

int tools_source_open(const struct tools_values *values, char **command,
                      struct tools_source **ret_source, struct rondo_error *err)
{
    struct tools_source *source = memory_new_zero(1, sizeof(*source));
    int r = describe_surroundings(source, values, err);
    bool needs_shared = values->url == NULL && command == NULL;
    if (r == 0 && needs_shared) {
        r = open_shared(source, err);
    }
    if (r == 0) {
        source->toolbox = toolbox_new(&source->around);
        r = open_tools(source, values, command, err);
    }
    if (r != 0) {
        tools_source_close(source);
        return r;
    }
    *ret_source = source;
    return 0;
}

void tools_source_close(struct tools_source *source)
{
    if (source == NULL) {
        return;
    }
    toolbox_free(source->toolbox);
    mcp_shared_free(source->shared);
    dotenv_free(source->dotenv);
    http_client_free(source->http);
    role_free(source->role);
    hidden_paths_free(source->hide_paths);
    hidden_paths_free(source->protect_paths);
    free(source);
}

struct toolbox *tools_source_toolbox(struct tools_source *source)
{
    return source->toolbox;
}
