// SPDX-License-Identifier: Apache-2.0
/* Fields of spec.tools: one shape for each type. */
#include "role/fields.h"

#include "role/reader.h"

#define TIMEOUT(seconds)                                                           \
    {                                                                              \
        .name = "timeout_seconds", .kind = FIELD_INTEGER, .by_default = (seconds), \
        .help = "Maximum time of one call",                                        \
    }
#define MAX_OUTPUT                                                                 \
    {                                                                              \
        .name = "max_output_bytes", .kind = FIELD_INTEGER, .by_default = "102400", \
        .help = "Maximum bytes of output; more is cut",                            \
    }
#define MAYBE(field, text)                                                              \
    {                                                                                   \
        .name = (field), .flags = FIELD_NULLABLE, .by_default = "null", .help = (text), \
    }

static const char *const permission_defaults[] = {"allow", "deny", NULL};

static const struct role_field permission_fields[] = {
    {.name = "default",
     .kind = FIELD_CHOICE,
     .choices = permission_defaults,
     .by_default = "\"allow\"",
     .help = "Decision if no pattern matches"},
    {.name = "allow",
     .kind = FIELD_TEXT_LIST,
     .check = check_permission,
     .help = "Patterns that allow a call: `argument=glob`, or a glob for every string argument"},
    {.name = "deny",
     .kind = FIELD_TEXT_LIST,
     .check = check_permission,
     .help = "Patterns that deny a call; evaluated first"},
    {0},
};

static const struct role_shape shape_permissions = {
    .name = "permissions",
    .fields = permission_fields,
    .protects = true,
    .is_closed = true,
};

static const struct role_field common_fields[] = {
    {.name = "permissions",
     .kind = FIELD_OBJECT,
     .flags = FIELD_NULLABLE | FIELD_PROTECTS,
     .since = 8,
     .by_default = "null",
     .shape = &shape_permissions,
     .help = "Which calls are allowed, by their arguments"},
    {.name = "require_confirmation",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_OWN | FIELD_PROTECTS,
     .help = "Ask a person before each call"},
    {.name = "approval",
     .kind = FIELD_ANY,
     .flags = FIELD_OWN | FIELD_NULLABLE | FIELD_PROTECTS,
     .help = "`required` asks a person before each call, `auto` and `never` do not; any other "
             "value means `required`"},
    {0},
};

static const char *const server_sandboxes[] = {"namespace", "landlock", "none", NULL};

static const char *const transports[] = {"stdio", "sse", "streamable-http", NULL};

static const struct role_foreign mcp_foreign[] = {{"defer", false}, {0}};

static const struct role_field delegate_agent_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .help = "Name of the other agent; its tool is `delegate_to_NAME`"},
    MAYBE("role_file", "Its role file, relative to this one; needed by inline"),
    MAYBE("url", "Its address; needed by mcp and a2a"),
    {.name = "description", .help = "What it is for"},
    {.name = "headers_env",
     .kind = FIELD_TEXT_MAP,
     .help = "Headers of requests: names of environment variables"},
    {0},
};

static const struct role_shape shape_delegate_agent = {
    .name = "agents[]",
    .fields = delegate_agent_fields,
};

static const struct role_field shared_memory_fields[] = {
    {.name = "store_path", .flags = FIELD_REQUIRED, .help = "File of the store"},
    {.name = "max_memories", .kind = FIELD_INTEGER, .by_default = "1000", .help = "How many"},
    {0},
};

static const struct role_shape shape_shared_memory = {
    .name = "shared_memory",
    .fields = shared_memory_fields,
};

static const char *const delegate_modes[] = {"inline", "mcp", "a2a", NULL};

static const char *const parameter_types[] = {"string", "integer", "number", "boolean", NULL};

static const struct role_field parameter_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_identifier,
     .help = "Name: letters, digits and _"},
    {.name = "type",
     .kind = FIELD_CHOICE,
     .flags = FIELD_REQUIRED,
     .choices = parameter_types,
     .help = "What it takes"},
    {.name = "required", .kind = FIELD_BOOLEAN, .help = "Must be given"},
    {.name = "default", .kind = FIELD_ANY, .help = "Default value"},
    {.name = "description", .help = "For the model"},
    {0},
};

static const struct role_shape shape_parameter = {
    .name = "parameters[]",
    .fields = parameter_fields,
};

static const char *const api_methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};

static const struct role_field endpoint_fields[] = {
    {.name = "name", .flags = FIELD_REQUIRED, .help = "Name of the tool"},
    {.name = "method",
     .kind = FIELD_CHOICE,
     .choices = api_methods,
     .by_default = "\"GET\"",
     .help = "Method of the request"},
    {.name = "path",
     .flags = FIELD_REQUIRED,
     .help = "Path appended to `base_url`; {parameter} is replaced"},
    {.name = "description", .help = "For the model"},
    {.name = "parameters",
     .kind = FIELD_OBJECT_LIST,
     .shape = &shape_parameter,
     .help = "What the tool takes"},
    {.name = "headers", .kind = FIELD_TEXT_MAP, .help = "Further headers"},
    {.name = "body_template",
     .kind = FIELD_ANY_MAP,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "JSON body; {parameter} is replaced"},
    {.name = "query_params", .kind = FIELD_TEXT_MAP, .help = "Query; {parameter} is replaced"},
    MAYBE("response_extract", "Part of the answer: `$.a.b.0`"),
    {.name = "timeout",
     .kind = FIELD_INTEGER,
     .by_default = "30",
     .other_name = "timeout_seconds",
     .help = "Seconds of one call"},
    {0},
};

static const struct role_shape shape_endpoint = {
    .name = "endpoints[]",
    .fields = endpoint_fields,
};

#define BLOCKED_COMMANDS                                                                       \
    "[\"rm\",\"mkfs\",\"dd\",\"fdisk\",\"parted\",\"mount\",\"umount\",\"shutdown\","          \
    "\"reboot\",\"halt\",\"poweroff\",\"chmod\",\"chown\",\"passwd\",\"useradd\",\"userdel\"," \
    "\"sudo\",\"su\"]"

static const char *const search_providers[] = {"duckduckgo", "serpapi", "brave", "tavily", NULL};

static const struct role_field script_parameter_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_identifier,
     .help = "Name: letters, digits and _; the script's variable is in upper case"},
    {.name = "description", .help = "For the model"},
    {.name = "required", .kind = FIELD_BOOLEAN, .help = "Must be given"},
    {.name = "default", .help = "Default value"},
    {0},
};

static const struct role_shape shape_script_parameter = {
    .name = "parameters[]",
    .fields = script_parameter_fields,
};

static const struct role_field one_script_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_identifier,
     .help = "Name of the tool: letters, digits and _; each once"},
    {.name = "description", .help = "For the model"},
    {.name = "body", .flags = FIELD_REQUIRED, .check = check_not_blank, .help = "The script"},
    MAYBE("interpreter", "What runs it; not given: the one above"),
    {.name = "parameters",
     .kind = FIELD_OBJECT_LIST,
     .shape = &shape_script_parameter,
     .help = "What the tool takes"},
    {.name = "timeout_seconds",
     .kind = FIELD_INTEGER,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "Maximum time; by default the one above"},
    {.name = "allowed_commands",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Lines may begin only with these words; empty: any"},
    {0},
};

static const struct role_shape shape_one_script = {
    .name = "scripts[]",
    .fields = one_script_fields,
};

#define NO_SETTINGS \
    {               \
        0           \
    }
#define NO_CHECK   NULL
#define NO_FOREIGN NULL
#define WEB_SETTINGS                                                   \
    {.name = "allowed_domains",                                        \
     .flags = FIELD_PROTECTS,                                          \
     .kind = FIELD_TEXT_LIST,                                          \
     .help = "Only these hosts; empty: all"},                          \
        {.name = "blocked_domains",                                    \
         .flags = FIELD_PROTECTS,                                      \
         .kind = FIELD_TEXT_LIST,                                      \
         .help = "Not these hosts"},                                   \
        {.name = "max_content_bytes",                                  \
         .kind = FIELD_INTEGER,                                        \
         .by_default = "512000",                                       \
         .help = "Maximum bytes of a page; more is cut"},              \
        TIMEOUT("15"),                                                 \
    {                                                                  \
        .name = "user_agent", .by_default = "\"initrunner/1.13.0\"",   \
        .by_default_1_0 = "\"initrunner/1.0.0\"", .help = "User agent" \
    }

#define TOOL(id, runs, text, check, foreign, ...) \
    static const struct role_field id##_fields[] = {__VA_ARGS__, {0}};
#include "role/tools.def"

#define TOOL(id, runs, text, check, foreign, ...)                             \
    static const struct role_shape shape_##id = {#id,   text,    id##_fields, \
                                                 check, foreign, .is_closed = true};
#include "role/tools.def"

#define TOOL(id, runs, text, check, foreign, ...) &shape_##id,
static const struct role_shape *const tools[] = {
#include "role/tools.def"
    NULL,
};

const struct role_variants role_tools = {
    .what = "tool",
    .shapes = tools,
    .common = common_fields,
    .takes_others = true,
};
