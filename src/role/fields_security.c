// SPDX-License-Identifier: Apache-2.0
/* Fields of spec.security. */
#include "role/fields.h"

#include "role/reader.h"

/* Why settings have no effect. */
#define OTHER_SERVER "it is one of InitRunner's server; `rondo serve` has its own settings"
#define NO_HOOKS     "it is one of the hooks inside Python"
#define NO_CONTAINER "commands run in Rondo's sandbox, not in a container"

static const char *const output_actions[] = {"strip", "block", NULL};

static const struct role_field content_fields[] = {
    {.name = "profanity_filter",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_UNHONOURED,
     .help = "Refuse profanity"},
    {.name = "blocked_input_patterns",
     .kind = FIELD_TEXT_LIST,
     .check = check_pattern,
     .help =
         "Regular expressions of Python, regardless of case; a prompt that matches one is refused"},
    {.name = "blocked_output_patterns",
     .kind = FIELD_TEXT_LIST,
     .check = check_pattern,
     .help = "The same for answers; see `output_action`"},
    {.name = "output_action",
     .kind = FIELD_CHOICE,
     .choices = output_actions,
     .by_default = "\"strip\"",
     .help = "A match in an answer is replaced by `[FILTERED]`, or the answer is refused"},
    {.name = "llm_classifier_enabled",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_UNHONOURED,
     .help = "Let a model check topics"},
    {.name = "allowed_topics_prompt",
     .help = "Which topics are allowed",
     .idle = "no model checks topics"},
    {.name = "max_prompt_length",
     .kind = FIELD_INTEGER,
     .by_default = "50000",
     .range = RANGE_ABOVE(0),
     .help = "Maximum characters of a prompt; a longer one is refused"},
    {.name = "max_output_length",
     .kind = FIELD_INTEGER,
     .by_default = "100000",
     .range = RANGE_ABOVE(0),
     .help = "Maximum characters of an answer; more is cut"},
    {.name = "redact_patterns",
     .kind = FIELD_TEXT_LIST,
     .flags = FIELD_UNHONOURED,
     .check = check_pattern,
     .help = "Regular expressions of text that the audit must not contain"},
    {.name = "pii_redaction",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_UNHONOURED,
     .help = "Keep personal data out of the audit"},
    {0},
};

static const struct role_field server_fields[] = {
    {.name = "cors_origins",
     .kind = FIELD_TEXT_LIST,
     .help = "Allowed browser origins",
     .idle = OTHER_SERVER},
    {.name = "require_https",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_UNHONOURED,
     .help = "Refuse plain HTTP"},
    {.name = "max_request_body_bytes",
     .kind = FIELD_INTEGER,
     .by_default = "1048576",
     .range = RANGE_ABOVE(0),
     .help = "Bytes of a request",
     .idle = OTHER_SERVER},
    {.name = "max_conversations",
     .kind = FIELD_INTEGER,
     .by_default = "1000",
     .help = "Conversations kept",
     .idle = OTHER_SERVER},
    {0},
};

static const struct role_field rate_fields[] = {
    {.name = "requests_per_minute",
     .kind = FIELD_INTEGER,
     .flags = FIELD_UNHONOURED,
     .by_default = "60",
     .range = RANGE_ABOVE(0),
     .help = "Requests per minute"},
    {.name = "burst_size",
     .kind = FIELD_INTEGER,
     .flags = FIELD_UNHONOURED,
     .by_default = "10",
     .range = RANGE_ABOVE(0),
     .help = "Concurrent requests"},
    {0},
};

static const struct role_field size_fields[] = {
    {.name = "max_file_size_mb",
     .kind = FIELD_NUMBER,
     .by_default = "50.0",
     .range = RANGE_ABOVE(0),
     .help = "A file that is ingested"},
    {.name = "max_total_ingest_mb",
     .kind = FIELD_NUMBER,
     .by_default = "500.0",
     .range = RANGE_ABOVE(0),
     .help = "All files of an ingest together"},
    {0},
};

#define BLOCKED_MODULES                                                                    \
    "[\"os\",\"subprocess\",\"shutil\",\"sys\",\"importlib\",\"ctypes\",\"socket\","       \
    "\"http.server\",\"pickle\",\"shelve\",\"marshal\",\"code\",\"codeop\",\"threading\"," \
    "\"_thread\"]"

/** Beginnings of names of environment variables that hold secrets. */
#define SECRET_PREFIXES                                                                       \
    "[\"OPENAI_API_KEY\",\"ANTHROPIC_API_KEY\",\"GOOGLE_API_KEY\",\"HF_TOKEN\","              \
    "\"HUGGING_FACE\",\"COHERE_API_KEY\",\"REPLICATE_API_TOKEN\",\"AWS_SECRET\","             \
    "\"AWS_SESSION_TOKEN\",\"GCP_\",\"GCLOUD_\",\"GOOGLE_APPLICATION_CREDENTIALS\","          \
    "\"GOOGLE_CLOUD_\",\"AZURE_\",\"DIGITALOCEAN_TOKEN\",\"GITHUB_TOKEN\",\"GH_TOKEN\","      \
    "\"GITLAB_TOKEN\",\"BITBUCKET_TOKEN\",\"CODECOV_TOKEN\",\"SLACK_TOKEN\","                 \
    "\"SLACK_WEBHOOK\",\"SLACK_BOT_TOKEN\",\"SLACK_SIGNING_SECRET\",\"TWILIO_\","             \
    "\"SENDGRID_API_KEY\",\"MAILGUN_API_KEY\",\"STRIPE_\",\"DATABASE_URL\",\"REDIS_URL\","    \
    "\"MONGO_URI\",\"POSTGRES_PASSWORD\",\"MYSQL_PASSWORD\",\"SSH_AUTH_SOCK\","               \
    "\"SSH_PRIVATE_KEY\",\"NPM_TOKEN\",\"DOCKER_PASSWORD\",\"DOCKER_TOKEN\",\"VAULT_TOKEN\"," \
    "\"SENTRY_DSN\"]"

#define SECRET_SUFFIXES                                                                \
    "[\"_KEY\",\"_SECRET\",\"_TOKEN\",\"_PASSWORD\",\"_CREDENTIAL\",\"_CREDENTIALS\"," \
    "\"_API_KEY\",\"_ACCESS_KEY\",\"_PRIVATE_KEY\"]"

static const char *const violation_actions[] = {"raise", "log", NULL};

static const struct role_field tool_fields[] = {
    {.name = "allowed_custom_modules",
     .kind = FIELD_TEXT_LIST,
     .help = "Python modules that custom tools may use; Rondo loads none"},
    {.name = "blocked_custom_modules",
     .kind = FIELD_TEXT_LIST,
     .by_default = BLOCKED_MODULES,
     .help = "Python modules that they may not use"},
    {.name = "mcp_command_allowlist",
     .kind = FIELD_TEXT_LIST,
     .help = "Commands that may be started as MCP servers; empty: all"},
    {.name = "sensitive_env_prefixes",
     .kind = FIELD_TEXT_LIST,
     .by_default = SECRET_PREFIXES,
     .help =
         "Environment variables removed from the allow list of commands, by prefix of the name"},
    {.name = "sensitive_env_suffixes",
     .kind = FIELD_TEXT_LIST,
     .by_default = SECRET_SUFFIXES,
     .help = "The same, by suffix of the name"},
    {.name = "env_allowlist",
     .kind = FIELD_TEXT_LIST,
     .by_default = "[\"SSH_AGENT_PID\",\"GPG_AGENT_INFO\"]",
     .help = "Additional environment variables for commands, by full name"},
    {.name = "restrict_db_paths",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Databases only next to the role file or in the home folder",
     .idle = "databases are read in the folders that the agent may read"},
    {.name = "audit_hooks_enabled",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_UNHONOURED,
     .help = "Hooks inside Python"},
    {.name = "allowed_write_paths",
     .kind = FIELD_TEXT_LIST,
     .help = "Of these hooks",
     .idle = NO_HOOKS},
    {.name = "allowed_network_hosts",
     .kind = FIELD_TEXT_LIST,
     .help = "Of these hooks",
     .idle = NO_HOOKS},
    {.name = "block_private_ips",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Of these hooks",
     .idle = NO_HOOKS},
    {.name = "allow_subprocess", .kind = FIELD_BOOLEAN, .help = "Of these hooks", .idle = NO_HOOKS},
    {.name = "allow_eval_exec", .kind = FIELD_BOOLEAN, .help = "Of these hooks", .idle = NO_HOOKS},
    {.name = "sandbox_violation_action",
     .kind = FIELD_CHOICE,
     .choices = violation_actions,
     .by_default = "\"raise\"",
     .help = "Of these hooks",
     .idle = NO_HOOKS},
    {0},
};

static const struct role_field mount_fields[] = {
    {.name = "source", .flags = FIELD_REQUIRED, .help = "Path outside"},
    {.name = "target",
     .flags = FIELD_REQUIRED,
     .check = check_absolute,
     .help = "Absolute path inside; not /work, each once"},
    {.name = "read_only", .kind = FIELD_BOOLEAN, .by_default = "true", .help = "Not writable"},
    {0},
};

static const struct role_shape shape_mount = {.name = "bind_mounts[]", .fields = mount_fields};

static const char *const docker_networks[] = {"none", "bridge", "host", NULL};

static const struct role_field docker_fields[] = {
    {.name = "enabled",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_UNHONOURED,
     .help = "Run commands in a container"},
    {.name = "image",
     .by_default = "\"python:3.12-slim\"",
     .check = check_not_blank,
     .help = "Its image",
     .idle = NO_CONTAINER},
    {.name = "network",
     .kind = FIELD_CHOICE,
     .choices = docker_networks,
     .by_default = "\"none\"",
     .help = "Its network",
     .idle = NO_CONTAINER},
    {.name = "memory_limit",
     .by_default = "\"256m\"",
     .check = check_docker_memory,
     .help = "Its memory: digits and b, k, m or g",
     .idle = NO_CONTAINER},
    {.name = "cpu_limit",
     .kind = FIELD_NUMBER,
     .by_default = "1.0",
     .range = RANGE_ABOVE(0),
     .help = "Its processors",
     .idle = NO_CONTAINER},
    {.name = "read_only_rootfs",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Read-only file system",
     .idle = NO_CONTAINER},
    {.name = "bind_mounts",
     .kind = FIELD_OBJECT_LIST,
     .shape = &shape_mount,
     .help = "Folders from outside",
     .idle = NO_CONTAINER},
    {.name = "env_passthrough",
     .kind = FIELD_TEXT_LIST,
     .help = "Environment variables from outside",
     .idle = NO_CONTAINER},
    {.name = "extra_args",
     .kind = FIELD_TEXT_LIST,
     .check = check_docker_argument,
     .help = "Additional arguments for docker; none that weaken the isolation",
     .idle = NO_CONTAINER},
    {0},
};

#define OWN_SANDBOX                                                                  \
    "commands see what Rondo's sandbox shows: the workspace, the role's folder and " \
    "the system"

static const char *const backends[] = {"none", "auto", "bwrap", "docker", "ssh", NULL};
static const char *const own_backends[] = {"auto", "bwrap", NULL};

static const struct role_field sandbox_fields[] = {
    {.name = "backend",
     .kind = FIELD_CHOICE,
     .flags = FIELD_UNHONOURED,
     .choices = backends,
     .provides = own_backends,
     .by_default = "\"none\"",
     .help = "`auto` and `bwrap`: Rondo's sandbox with namespaces, whatever `execution.sandbox` "
             "says; `none`: Rondo's own setting counts"},
    {.name = "network",
     .kind = FIELD_CHOICE,
     .choices = docker_networks,
     .by_default = "\"none\"",
     .help = "`none`: commands of shell, script and python tools have no network"},
    {.name = "allowed_read_paths",
     .kind = FIELD_TEXT_LIST,
     .help = "Further folders",
     .idle = OWN_SANDBOX},
    {.name = "allowed_write_paths",
     .kind = FIELD_TEXT_LIST,
     .help = "Further folders",
     .idle = OWN_SANDBOX},
    {.name = "memory_limit",
     .by_default = "\"256m\"",
     .help = "Memory",
     .idle = "commands have 8 GiB of memory"},
    {.name = "cpu_limit",
     .kind = FIELD_NUMBER,
     .by_default = "1.0",
     .range = RANGE_ABOVE(0),
     .help = "Processors",
     .idle = "commands may use all processors"},
    {.name = "read_only_rootfs",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "The system's folders cannot be written",
     .idle = "the system's folders can never be written"},
    {.name = "bind_mounts",
     .kind = FIELD_OBJECT_LIST,
     .shape = &shape_mount,
     .help = "Further folders",
     .idle = OWN_SANDBOX},
    {.name = "env_passthrough",
     .kind = FIELD_TEXT_LIST,
     .help = "Environment variables for commands, as `security.tools.env_allowlist`"},
    {.name = "docker", .kind = FIELD_ANY_MAP, .help = "Of a container", .idle = NO_CONTAINER},
    {.name = "ssh",
     .kind = FIELD_ANY_MAP,
     .help = "Of another machine",
     .idle = "commands run on this machine"},
    {0},
};

static const struct role_shape shape_sandbox = {
    .name = "sandbox", .fields = sandbox_fields, .protects = true, .is_closed = true};

static const struct role_field audit_fields[] = {
    {.name = "max_records", .kind = FIELD_INTEGER, .by_default = "100000", .help = "Rows kept"},
    {.name = "retention_days", .kind = FIELD_INTEGER, .by_default = "90", .help = "Days kept"},
    {0},
};

static const struct role_foreign content_foreign[] = {{"screening", true}, {0}};

static const struct role_shape shape_content = {
    .name = "content",
    .fields = content_fields,
    .foreign = content_foreign,
    .protects = true,
    .is_closed = true,
};
static const struct role_shape shape_server = {
    .name = "server", .fields = server_fields, .protects = true, .is_closed = true};
static const struct role_shape shape_rate = {
    .name = "rate_limit", .fields = rate_fields, .protects = true, .is_closed = true};
static const struct role_shape shape_sizes = {
    .name = "resources", .fields = size_fields, .protects = true, .is_closed = true};
static const struct role_shape shape_tools = {
    .name = "tools", .fields = tool_fields, .protects = true, .is_closed = true};
static const struct role_shape shape_docker = {
    .name = "docker",
    .fields = docker_fields,
    .check = check_docker,
    .protects = true,
    .is_closed = true,
};
static const struct role_shape shape_audit = {
    .name = "audit", .fields = audit_fields, .protects = true, .is_closed = true};

static const struct role_field security_fields[] = {
    {.name = "content", .kind = FIELD_OBJECT, .shape = &shape_content, .help = "Content filters"},
    {.name = "server", .kind = FIELD_OBJECT, .shape = &shape_server, .help = "Of the HTTP server"},
    {.name = "rate_limit",
     .kind = FIELD_OBJECT,
     .shape = &shape_rate,
     .help = "Of the HTTP server"},
    {.name = "resources", .kind = FIELD_OBJECT, .shape = &shape_sizes, .help = "Sizes of files"},
    {.name = "tools", .kind = FIELD_OBJECT, .shape = &shape_tools, .help = "What tools may do"},
    {.name = "docker",
     .kind = FIELD_OBJECT,
     .since = 7,
     .shape = &shape_docker,
     .help = "Containers for commands"},
    {.name = "sandbox",
     .kind = FIELD_OBJECT,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .by_default = "null",
     .shape = &shape_sandbox,
     .help = "Isolation of commands"},
    {.name = "audit",
     .kind = FIELD_OBJECT,
     .flags = FIELD_DEAD,
     .shape = &shape_audit,
     .help = "Retention of the audit"},
    {0},
};

static const struct role_foreign security_foreign[] = {{"preset", true}, {0}};

const struct role_shape role_shape_security = {
    .name = "security",
    .fields = security_fields,
    .check = check_security,
    .foreign = security_foreign,
    .protects = true,
    .is_closed = true,
};
