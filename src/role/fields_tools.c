// SPDX-License-Identifier: Apache-2.0
/* Fields of spec.tools: one shape for each type. */
#include "role/fields.h"

#include "role/reader.h"

#define TIMEOUT(seconds)                                                           \
    {                                                                              \
        .name = "timeout_seconds", .kind = FIELD_INTEGER, .by_default = (seconds), \
        .help = "Longest time of one call",                                        \
    }
#define MAX_OUTPUT                                                                 \
    {                                                                              \
        .name = "max_output_bytes", .kind = FIELD_INTEGER, .by_default = "102400", \
        .help = "Bytes of output; more is cut",                                    \
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
     .help = "What holds where no pattern matches"},
    {.name = "allow",
     .kind = FIELD_TEXT_LIST,
     .check = check_permission,
     .help = "Patterns that allow a call: `argument=glob`, or a glob for every text argument"},
    {.name = "deny",
     .kind = FIELD_TEXT_LIST,
     .check = check_permission,
     .help = "Patterns that deny a call; they come first"},
    {0},
};

static const struct role_shape shape_permissions = {
    .name = "permissions",
    .fields = permission_fields,
    .protects = true,
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
     .help = "`required` asks a person before each call, `never` does not; anything else is taken "
             "for `required`"},
    {0},
};

static const struct role_field filesystem_fields[] = {
    {.name = "root_path",
     .flags = FIELD_PROTECTS,
     .by_default = "\".\"",
     .help = "Folder that it works in"},
    {.name = "allowed_extensions",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Only files with these; empty: all"},
    {.name = "read_only",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "No write_file"},
    {0},
};

static const struct role_field http_fields[] = {
    {.name = "base_url", .flags = FIELD_REQUIRED, .help = "Paths are relative to it"},
    {.name = "allowed_methods",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .by_default = "[\"GET\"]",
     .help = "Methods that may be used"},
    {.name = "headers", .kind = FIELD_TEXT_MAP, .help = "Sent with every request"},
    {0},
};

static const char *const server_sandboxes[] = {"namespace", "landlock", "none", NULL};

static const char *const transports[] = {"stdio", "sse", "streamable-http", NULL};

static const struct role_field mcp_fields[] = {
    {.name = "transport",
     .kind = FIELD_CHOICE,
     .choices = transports,
     .by_default = "\"stdio\"",
     .help = "How the server is spoken to"},
    MAYBE("command", "Program of the server; needed by stdio"),
    {.name = "args", .kind = FIELD_TEXT_LIST, .help = "Its arguments"},
    MAYBE("url", "Address of the server; needed by sse and streamable-http"),
    {.name = "tool_filter",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Only these of its tools"},
    {.name = "tool_exclude",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Not these; not with `tool_filter`"},
    {.name = "headers",
     .kind = FIELD_TEXT_MAP,
     .help = "Sent with every request; ${VAR} is replaced"},
    {.name = "env",
     .kind = FIELD_TEXT_MAP,
     .help = "Environment of the program; ${VAR} is replaced"},
    MAYBE("cwd", "Working folder of the program, relative to the role file; by default a private "
                 "one"),
    {.name = "sandbox",
     .kind = FIELD_CHOICE,
     .flags = FIELD_OWN | FIELD_NULLABLE,
     .by_default = "null",
     .choices = server_sandboxes,
     .help = "Sandbox of the program; by default that of `spec.execution`. `none` needs "
             "`rondo trust`"},
    {.name = "network",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_OWN | FIELD_NULLABLE,
     .by_default = "null",
     .help = "Whether the program has a network; by default that of `spec.execution`"},
    {.name = "read",
     .kind = FIELD_TEXT_LIST,
     .flags = FIELD_OWN,
     .help = "Files and folders that the program may read besides the workspace"},
    {.name = "write",
     .kind = FIELD_TEXT_LIST,
     .flags = FIELD_OWN,
     .help = "Files and folders that it may write besides the workspace"},
    MAYBE("tool_prefix", "Put before the tools' names"),
    {.name = "max_retries",
     .kind = FIELD_INTEGER,
     .by_default = "1",
     .help = "Tries after a failure"},
    {.name = "timeout",
     .kind = FIELD_INTEGER,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "Seconds of one call"},
    {0},
};

static const struct role_foreign mcp_foreign[] = {
    {"timeout_seconds", false}, {"defer", false}, {0}};

static const struct role_field custom_fields[] = {
    {.name = "module", .flags = FIELD_REQUIRED, .help = "Python module"},
    MAYBE("function", "One function of it; not given: all public ones"),
    {.name = "config", .kind = FIELD_ANY_MAP, .help = "Handed to the functions"},
    {0},
};

static const struct role_field delegate_agent_fields[] = {
    {.name = "name", .flags = FIELD_REQUIRED, .help = "Name of the other agent"},
    MAYBE("role_file", "Its role file; needed by inline"),
    MAYBE("url", "Its address; needed by mcp"),
    {.name = "description", .help = "What it is for"},
    {.name = "headers_env", .kind = FIELD_TEXT_MAP, .help = "Headers from environment variables"},
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

static const char *const delegate_modes[] = {"inline", "mcp", NULL};

static const struct role_field delegate_fields[] = {
    {.name = "agents",
     .kind = FIELD_OBJECT_LIST,
     .flags = FIELD_REQUIRED,
     .shape = &shape_delegate_agent,
     .help = "Agents that work can be given to"},
    {.name = "mode",
     .kind = FIELD_CHOICE,
     .choices = delegate_modes,
     .by_default = "\"inline\"",
     .help = "In this process or over the network"},
    {.name = "max_depth", .kind = FIELD_INTEGER, .by_default = "3", .help = "Agents behind agents"},
    TIMEOUT("120"),
    {.name = "shared_memory",
     .kind = FIELD_OBJECT,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .shape = &shape_shared_memory,
     .help = "Memory that all of them use"},
    {0},
};

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
    {.name = "default", .kind = FIELD_ANY, .help = "What it is when it is not given"},
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
    {.name = "path", .flags = FIELD_REQUIRED, .help = "Behind `base_url`; {parameter} is replaced"},
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
    {.name = "timeout", .kind = FIELD_INTEGER, .by_default = "30", .help = "Seconds of one call"},
    {0},
};

static const struct role_foreign endpoint_foreign[] = {{"timeout_seconds", false}, {0}};

static const struct role_shape shape_endpoint = {
    .name = "endpoints[]",
    .fields = endpoint_fields,
    .foreign = endpoint_foreign,
};

static const struct role_field api_fields[] = {
    {.name = "name", .flags = FIELD_REQUIRED, .help = "Name of the API"},
    {.name = "description", .help = "For the model"},
    {.name = "base_url", .flags = FIELD_REQUIRED, .help = "Paths are relative to it"},
    {.name = "headers",
     .kind = FIELD_TEXT_MAP,
     .help = "Sent with every request; ${VAR} is replaced"},
    {.name = "auth",
     .kind = FIELD_TEXT_MAP,
     .help = "Further headers with secrets; ${VAR} is replaced"},
    {.name = "endpoints",
     .kind = FIELD_OBJECT_LIST,
     .flags = FIELD_REQUIRED,
     .shape = &shape_endpoint,
     .help = "One tool each"},
    {0},
};

static const struct role_field web_fields[] = {
    {.name = "allowed_domains",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Only these hosts; empty: all"},
    {.name = "blocked_domains",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Not these hosts"},
    {.name = "max_content_bytes",
     .kind = FIELD_INTEGER,
     .by_default = "512000",
     .help = "Bytes of a page; more is cut"},
    TIMEOUT("15"),
    {.name = "user_agent",
     .by_default = "\"initrunner/1.13.0\"",
     .by_default_1_0 = "\"initrunner/1.0.0\"",
     .help = "How the client calls itself"},
    {0},
};

static const struct role_field python_fields[] = {
    TIMEOUT("30"),
    MAX_OUTPUT,
    MAYBE("working_dir", "Folder that it runs in; not given: a temporary one"),
    {.name = "require_confirmation",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Ask a person before each call"},
    {.name = "network_disabled",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "No network"},
    {0},
};

static const struct role_field datetime_fields[] = {
    {.name = "default_timezone",
     .by_default = "\"UTC\"",
     .check = check_zone,
     .help = "Zone when none is named"},
    {0},
};

static const struct role_field sql_fields[] = {
    {.name = "database", .flags = FIELD_REQUIRED, .help = "File, or `:memory:`"},
    {.name = "read_only",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "No changes"},
    {.name = "max_rows", .kind = FIELD_INTEGER, .by_default = "100", .help = "Rows of a result"},
    {.name = "max_result_bytes",
     .kind = FIELD_INTEGER,
     .by_default = "102400",
     .help = "Bytes of a result"},
    TIMEOUT("10"),
    {0},
};

static const struct role_field git_fields[] = {
    {.name = "repo_path", .by_default = "\".\"", .help = "The work tree"},
    {.name = "read_only",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "No changes"},
    TIMEOUT("30"),
    MAX_OUTPUT,
    {0},
};

#define BLOCKED_COMMANDS                                                                       \
    "[\"rm\",\"mkfs\",\"dd\",\"fdisk\",\"parted\",\"mount\",\"umount\",\"shutdown\","          \
    "\"reboot\",\"halt\",\"poweroff\",\"chmod\",\"chown\",\"passwd\",\"useradd\",\"userdel\"," \
    "\"sudo\",\"su\"]"

static const struct role_field shell_fields[] = {
    {.name = "allowed_commands",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Only these programs; empty: all but the blocked ones"},
    {.name = "blocked_commands",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .by_default = BLOCKED_COMMANDS,
     .help = "Not these programs"},
    MAYBE("working_dir", "Folder that it runs in; not given: the role file's"),
    TIMEOUT("30"),
    MAX_OUTPUT,
    {.name = "require_confirmation",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Ask a person before each call"},
    {0},
};

static const struct role_field slack_fields[] = {
    {.name = "webhook_url",
     .flags = FIELD_REQUIRED,
     .help = "Address of the webhook; ${VAR} is replaced"},
    MAYBE("default_channel", "Channel when none is named"),
    MAYBE("username", "Name that messages come from"),
    MAYBE("icon_emoji", "Their picture"),
    TIMEOUT("30"),
    {.name = "max_response_bytes",
     .kind = FIELD_INTEGER,
     .by_default = "1024",
     .help = "Bytes of the answer"},
    {0},
};

static const struct role_field email_fields[] = {
    {.name = "imap_host", .flags = FIELD_REQUIRED, .help = "Server that mail is read from"},
    {.name = "smtp_host", .help = "Server that mail is sent with; needed without `read_only`"},
    {.name = "imap_port", .kind = FIELD_INTEGER, .by_default = "993", .help = "Its port"},
    {.name = "smtp_port", .kind = FIELD_INTEGER, .by_default = "587", .help = "Its port"},
    {.name = "username", .flags = FIELD_REQUIRED, .help = "Account; ${VAR} is replaced"},
    {.name = "password", .flags = FIELD_REQUIRED, .help = "Password; ${VAR} is replaced"},
    {.name = "use_ssl", .kind = FIELD_BOOLEAN, .by_default = "true", .help = "Encrypted"},
    {.name = "default_folder", .by_default = "\"INBOX\"", .help = "Folder when none is named"},
    {.name = "read_only",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "No send_email"},
    {.name = "max_results", .kind = FIELD_INTEGER, .by_default = "20", .help = "Mails of a search"},
    {.name = "max_body_chars",
     .kind = FIELD_INTEGER,
     .by_default = "50000",
     .help = "Characters of a mail"},
    TIMEOUT("30"),
    {0},
};

static const char *const search_providers[] = {"duckduckgo", "serpapi", "brave", "tavily", NULL};

static const struct role_field search_fields[] = {
    {.name = "provider",
     .kind = FIELD_CHOICE,
     .choices = search_providers,
     .by_default = "\"duckduckgo\"",
     .help = "Who searches"},
    {.name = "api_key", .help = "Key; needed by all but duckduckgo; ${VAR} is replaced"},
    {.name = "max_results", .kind = FIELD_INTEGER, .by_default = "10", .help = "Results"},
    {.name = "safe_search", .kind = FIELD_BOOLEAN, .by_default = "true", .help = "Filtered"},
    TIMEOUT("15"),
    {0},
};

static const struct role_field audio_fields[] = {
    {.name = "youtube_languages",
     .kind = FIELD_TEXT_LIST,
     .by_default = "[\"en\"]",
     .help = "Languages of transcripts"},
    {.name = "include_timestamps", .kind = FIELD_BOOLEAN, .help = "Times in transcripts"},
    MAYBE("transcription_model", "Model that listens; not given: the agent's"),
    {.name = "max_audio_mb", .kind = FIELD_NUMBER, .by_default = "20.0", .help = "Size of a file"},
    {.name = "max_transcript_chars",
     .kind = FIELD_INTEGER,
     .by_default = "50000",
     .help = "Characters of a transcript"},
    {0},
};

static const struct role_field csv_fields[] = {
    {.name = "root_path",
     .flags = FIELD_PROTECTS,
     .by_default = "\".\"",
     .help = "Folder of the files"},
    {.name = "max_rows", .kind = FIELD_INTEGER, .by_default = "1000", .help = "Rows of a result"},
    {.name = "max_file_size_mb",
     .kind = FIELD_NUMBER,
     .by_default = "10.0",
     .help = "Size of a file"},
    {.name = "delimiter", .by_default = "\",\"", .help = "Between columns"},
    {0},
};

static const struct role_field script_parameter_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_identifier,
     .help = "Name: letters, digits and _; the script finds it in upper case"},
    {.name = "description", .help = "For the model"},
    {.name = "required", .kind = FIELD_BOOLEAN, .help = "Must be given"},
    {.name = "default", .help = "What it is when it is not given"},
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
     .help = "Longest time; not given: the one above"},
    {.name = "allowed_commands",
     .flags = FIELD_PROTECTS,
     .kind = FIELD_TEXT_LIST,
     .help = "Lines may begin with these words only; empty: with any"},
    {0},
};

static const struct role_shape shape_one_script = {
    .name = "scripts[]",
    .fields = one_script_fields,
};

static const struct role_field script_fields[] = {
    {.name = "scripts",
     .kind = FIELD_OBJECT_LIST,
     .flags = FIELD_REQUIRED,
     .shape = &shape_one_script,
     .help = "One tool each"},
    {.name = "interpreter", .by_default = "\"/bin/sh\"", .help = "What runs them"},
    TIMEOUT("30"),
    MAX_OUTPUT,
    MAYBE("working_dir", "Folder that they run in; not given: the role file's"),
    {0},
};

static const struct role_field no_fields[] = {{0}};

static const struct role_foreign think_foreign[] = {
    {"critique", false}, {"max_thoughts", false}, {0}};

static const struct role_shape tool_shapes[] = {
    {"filesystem", "Reads and writes files of a folder", filesystem_fields, NULL, NULL, false},
    {"shell", "Runs programs, without a shell between", shell_fields, NULL, NULL, false},
    {"http", "Asks one HTTP server", http_fields, NULL, NULL, false},
    {"git", "Works with a git repository", git_fields, NULL, NULL, false},
    {"slack", "Sends messages to Slack", slack_fields, NULL, NULL, false},
    {"api", "Calls described HTTP endpoints, one tool each", api_fields, NULL, NULL, false},
    {"mcp", "Tools of an MCP server", mcp_fields, check_mcp, mcp_foreign, false},
    {"datetime", "Tells and reads dates", datetime_fields, NULL, NULL, false},
    {"script", "Runs scripts of the role file, one tool each", script_fields, check_script, NULL,
     false},
    {"python", "Runs Python", python_fields, NULL, NULL, false},
    {"think", "Lets the model write down a thought", no_fields, NULL, think_foreign, false},
    {"web_reader", "Reads web pages", web_fields, NULL, NULL, false},
    {"web_scraper", "Keeps web pages to search in", web_fields, NULL, NULL, false},
    {"search", "Searches the web", search_fields, check_search, NULL, false},
    {"sql", "Asks an SQLite database", sql_fields, NULL, NULL, false},
    {"csv_analysis", "Looks into CSV files", csv_fields, NULL, NULL, false},
    {"email", "Reads and sends mail", email_fields, check_email, NULL, false},
    {"audio", "Transcribes", audio_fields, NULL, NULL, false},
    {"delegate", "Gives work to other agents", delegate_fields, check_delegate, NULL, false},
    {"custom", "Functions of a Python module", custom_fields, NULL, NULL, false},
};

static const struct role_shape *const tools[] = {
    &tool_shapes[0],  &tool_shapes[1],  &tool_shapes[2],
    &tool_shapes[3],  &tool_shapes[4],  &tool_shapes[5],
    &tool_shapes[6],  &tool_shapes[7],  &tool_shapes[8],
    &tool_shapes[9],  &tool_shapes[10], &tool_shapes[11],
    &tool_shapes[12], &tool_shapes[13], &tool_shapes[14],
    &tool_shapes[15], &tool_shapes[16], &tool_shapes[17],
    &tool_shapes[18], &tool_shapes[19], NULL,
};

const struct role_variants role_tools = {
    .what = "tool",
    .shapes = tools,
    .common = common_fields,
    .takes_others = true,
};
