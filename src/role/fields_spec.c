// SPDX-License-Identifier: Apache-2.0
/* Fields of output, ingest, memory, observability, resources, execution; and of skill files. */
#include "role/fields.h"

#include "role/reader.h"

static const char *const output_types[] = {"text", "json_schema", NULL};

static const struct role_field output_fields[] = {
    {.name = "type",
     .kind = FIELD_CHOICE,
     .choices = output_types,
     .by_default = "\"text\"",
     .help = "Free text, or JSON with a schema"},
    {.name = "schema",
     .kind = FIELD_ANY_MAP,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .normal_name = "schema_",
     .help = "The JSON schema; this or `schema_file`"},
    {.name = "schema_file",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "File with the JSON schema"},
    {0},
};

static const struct role_foreign output_foreign[] = {{"mode", false}, {0}};

const struct role_shape role_shape_output = {
    .name = "output",
    .fields = output_fields,
    .check = check_output,
    .foreign = output_foreign,
};

static const struct role_field embeddings_fields[] = {
    {.name = "provider", .help = "Empty: the model's provider"},
    {.name = "model", .help = "Empty: the provider's usual one"},
    {.name = "base_url", .help = "Address of another server"},
    {.name = "api_key_env", .help = "Environment variable with the key"},
    {0},
};

const struct role_shape role_shape_embeddings = {
    .name = "embeddings",
    .fields = embeddings_fields,
};

static const char *const chunking_strategies[] = {"fixed", "paragraph", NULL};

static const struct role_field chunking_fields[] = {
    {.name = "strategy",
     .kind = FIELD_CHOICE,
     .choices = chunking_strategies,
     .by_default = "\"fixed\"",
     .help = "How documents are split"},
    {.name = "chunk_size",
     .kind = FIELD_INTEGER,
     .by_default = "512",
     .help = "Characters of a chunk"},
    {.name = "chunk_overlap",
     .kind = FIELD_INTEGER,
     .by_default = "50",
     .help = "Characters shared by neighbouring chunks; less than `chunk_size`"},
    {0},
};

static const struct role_shape shape_chunking = {
    .name = "chunking",
    .fields = chunking_fields,
    .check = check_chunking,
};

/** v1.0 to v1.2 had the first one, v1.3 to v1.13 the second, 2026 the last. */
static const char *const store_backends[] = {"sqlite-vec", "zvec", "lancedb", NULL};

static const struct role_field ingest_fields[] = {
    {.name = "sources",
     .kind = FIELD_TEXT_LIST,
     .flags = FIELD_REQUIRED,
     .help = "Paths with wildcards, and addresses"},
    {.name = "watch",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_DEAD,
     .help = "Follow changes of the sources"},
    {.name = "chunking",
     .kind = FIELD_OBJECT,
     .shape = &shape_chunking,
     .help = "Splitting of documents"},
    {.name = "embeddings",
     .kind = FIELD_OBJECT,
     .shape = &role_shape_embeddings,
     .help = "Model for embeddings"},
    {.name = "store_backend",
     .kind = FIELD_CHOICE,
     .choices = store_backends,
     .by_default = "\"zvec\"",
     .by_default_1_0 = "\"sqlite-vec\"",
     .help = "Kind of store; Rondo keeps its own"},
    {.name = "store_path", .flags = FIELD_NULLABLE, .by_default = "null", .help = "Its file"},
    {.name = "auto",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_LATER,
     .by_default = "true",
     .help = "Read the documents without a command for it; Rondo always does"},
    {0},
};

static const struct role_foreign ingest_foreign[] = {{"retriever", false}, {0}};

const struct role_shape role_shape_ingest = {
    .name = "ingest",
    .fields = ingest_fields,
    .foreign = ingest_foreign,
};

static const struct role_field episodic_fields[] = {
    {.name = "enabled", .kind = FIELD_BOOLEAN, .by_default = "true", .help = "Keep episodes"},
    {.name = "max_episodes", .kind = FIELD_INTEGER, .by_default = "500", .help = "How many"},
    {0},
};

static const struct role_field semantic_fields[] = {
    {.name = "enabled", .kind = FIELD_BOOLEAN, .by_default = "true", .help = "Keep facts"},
    {.name = "max_memories", .kind = FIELD_INTEGER, .by_default = "1000", .help = "How many"},
    {0},
};

static const struct role_field procedural_fields[] = {
    {.name = "enabled", .kind = FIELD_BOOLEAN, .by_default = "true", .help = "Keep procedures"},
    {.name = "max_procedures", .kind = FIELD_INTEGER, .by_default = "100", .help = "How many"},
    {0},
};

static const char *const intervals[] = {"after_session", "after_autonomous", "manual", NULL};

static const struct role_field consolidation_fields[] = {
    {.name = "enabled",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Derive facts from episodes"},
    {.name = "interval",
     .kind = FIELD_CHOICE,
     .choices = intervals,
     .by_default = "\"after_session\"",
     .help = "When"},
    {.name = "max_episodes_per_run",
     .kind = FIELD_INTEGER,
     .by_default = "20",
     .help = "Episodes per batch"},
    {.name = "model_override",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "Another model for it"},
    {0},
};

static const struct role_shape shape_episodic = {.name = "episodic", .fields = episodic_fields};
static const struct role_shape shape_semantic = {.name = "semantic", .fields = semantic_fields};
static const struct role_shape shape_procedural = {
    .name = "procedural",
    .fields = procedural_fields,
};
static const struct role_shape shape_consolidation = {
    .name = "consolidation",
    .fields = consolidation_fields,
};

static const struct role_field memory_fields[] = {
    {.name = "store_path",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "File of the store"},
    {.name = "store_backend",
     .kind = FIELD_CHOICE,
     .choices = store_backends,
     .by_default = "\"zvec\"",
     .by_default_1_0 = "\"sqlite-vec\"",
     .help = "Kind of store; Rondo keeps its own"},
    {.name = "max_sessions",
     .kind = FIELD_INTEGER,
     .by_default = "10",
     .help = "Conversations that stay open, those that were used last; older ones are ended"},
    {.name = "max_memories",
     .kind = FIELD_INTEGER,
     .by_default = "1000",
     .help = "Old name of `semantic.max_memories`"},
    {.name = "max_resume_messages",
     .kind = FIELD_INTEGER,
     .by_default = "20",
     .help = "Messages that a resumed session loads"},
    {.name = "embeddings",
     .kind = FIELD_OBJECT,
     .shape = &role_shape_embeddings,
     .help = "Model for embeddings"},
    {.name = "episodic", .kind = FIELD_OBJECT, .shape = &shape_episodic, .help = "What happened"},
    {.name = "semantic", .kind = FIELD_OBJECT, .shape = &shape_semantic, .help = "Facts"},
    {.name = "procedural",
     .kind = FIELD_OBJECT,
     .shape = &shape_procedural,
     .help = "How to do it"},
    {.name = "consolidation",
     .kind = FIELD_OBJECT,
     .shape = &shape_consolidation,
     .help = "From episodes to facts"},
    {0},
};

const struct role_shape role_shape_memory = {
    .name = "memory",
    .fields = memory_fields,
    .check = check_memory,
};

static const char *const trace_backends[] = {"otlp", "logfire", "console", NULL};

static const struct role_field observability_fields[] = {
    {.name = "backend",
     .kind = FIELD_CHOICE,
     .choices = trace_backends,
     .by_default = "\"otlp\"",
     .help = "Where spans go"},
    {.name = "endpoint",
     .by_default = "\"http://localhost:4317\"",
     .help = "Address of the collector"},
    {.name = "service_name", .help = "Empty: the agent's name"},
    {.name = "trace_tool_calls",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Spans of tool calls",
     .idle = "traces always have them, as in InitRunner"},
    {.name = "trace_token_usage",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Tokens in spans",
     .idle = "traces always have them, as in InitRunner"},
    {.name = "sample_rate",
     .kind = FIELD_NUMBER,
     .by_default = "1.0",
     .range = RANGE_BETWEEN(0, 1),
     .help = "Share of runs that are traced"},
    {.name = "include_content", .kind = FIELD_BOOLEAN, .help = "Prompts and answers in spans"},
    {0},
};

const struct role_shape role_shape_observability = {
    .name = "observability",
    .fields = observability_fields,
    .is_closed = true,
};

static const struct role_field resources_fields[] = {
    {.name = "memory", .by_default = "\"512Mi\"", .help = "Memory"},
    {.name = "cpu", .kind = FIELD_NUMBER, .by_default = "0.5", .help = "Processors"},
    {0},
};

const struct role_shape role_shape_resources = {
    .name = "resources",
    .fields = resources_fields,
};

static const struct role_field tool_search_fields[] = {
    {.name = "enabled", .kind = FIELD_BOOLEAN, .help = "Replace the list of tools by a search"},
    {.name = "always_available", .kind = FIELD_TEXT_LIST, .help = "Tools that are always listed"},
    {.name = "max_results",
     .kind = FIELD_INTEGER,
     .by_default = "5",
     .range = RANGE_BETWEEN(1, 20),
     .help = "Maximum results of a search"},
    {.name = "threshold",
     .kind = FIELD_NUMBER,
     .by_default = "0.0",
     .range = RANGE_FROM(0),
     .help = "Minimum score of a result"},
    {0},
};

const struct role_shape role_shape_tool_search = {
    .name = "tool_search",
    .fields = tool_search_fields,
};

static const char *const sandboxes[] = {"namespace", "landlock", "none", NULL};

static const struct role_field execution_fields[] = {
    {.name = "pool",
     .flags = FIELD_OWN | FIELD_NULLABLE,
     .by_default = "null",
     .check = check_pool,
     .help = "Labels of the servers that may execute the runs, such as `gpu,linux`; `--pool` "
             "replaces them. Conversations stay where they are"},
    {.name = "sandbox",
     .kind = FIELD_CHOICE,
     .flags = FIELD_OWN | FIELD_NULLABLE,
     .choices = sandboxes,
     .by_default = "null",
     .help = "Sandbox of shell, script and python tools; by default the best available"},
    {.name = "network",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_OWN,
     .by_default = "true",
     .help = "Whether commands in the sandbox reach the network"},
    {.name = "allow_hosts",
     .kind = FIELD_TEXT_LIST,
     .flags = FIELD_OWN,
     .check = check_not_empty,
     .help = "Hosts that http, api and slack tools may reach although their addresses are private"},
    {.name = "tool_timeout_seconds",
     .kind = FIELD_NUMBER,
     .flags = FIELD_LATER | FIELD_NULLABLE | FIELD_PROTECTS,
     .by_default = "null",
     .range = RANGE_ABOVE(0),
     .help = "Maximum time of one tool call, besides the tool's own"},
    {.name = "http_retries",
     .kind = FIELD_INTEGER,
     .flags = FIELD_LATER,
     .by_default = "3",
     .range = RANGE_BETWEEN(1, 10),
     .help = "Attempts at a model request; not given: 5"},
    {.name = "http_retry_max_wait",
     .kind = FIELD_NUMBER,
     .flags = FIELD_LATER,
     .by_default = "60",
     .range = RANGE_ABOVE_UP_TO(0, 600),
     .help = "Seconds that a provider may let the next attempt wait; not given: 120"},
    {0},
};

static const struct role_foreign execution_foreign[] = {{"retries", false},
                                                        {"output_retries", false},
                                                        {"end_strategy", false},
                                                        {"max_concurrency", false},
                                                        {0}};

const struct role_shape role_shape_execution = {
    .name = "execution",
    .fields = execution_fields,
    .foreign = execution_foreign,
};

static const struct role_field requires_fields[] = {
    {.name = "env", .kind = FIELD_TEXT_LIST, .help = "Environment variables"},
    {.name = "bins", .kind = FIELD_TEXT_LIST, .help = "Programs"},
    {0},
};

static const struct role_shape shape_requires = {.name = "requires", .fields = requires_fields};

static const struct role_field skill_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_agent_name,
     .help = "Name, by the rule of `metadata.name`"},
    {.name = "description", .flags = FIELD_REQUIRED, .help = "What it is for"},
    {.name = "license", .help = "Licence"},
    {.name = "compatibility", .help = "Requirements, for readers"},
    {.name = "metadata", .kind = FIELD_TEXT_MAP, .help = "Anything, for readers"},
    {.name = "allowed_tools", .help = "Tools it was written for, for readers"},
    {.name = "tools",
     .kind = FIELD_VARIANT_LIST,
     .variants = &role_tools,
     .help = "Tools it adds; the role's own entry of a type takes precedence"},
    {.name = "requires",
     .kind = FIELD_OBJECT,
     .shape = &shape_requires,
     .help = "Requirements; missing ones give a warning"},
    {0},
};

const struct role_shape role_shape_skill = {.name = "skill file", .fields = skill_fields};
