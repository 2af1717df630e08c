// SPDX-License-Identifier: Apache-2.0
/* Fields of the envelope, the model, the limits and the loop. */
#include "role/fields.h"

#include "base/limits.h"
#include "role/reader.h"

#include <string.h>

#define CONTINUATION_PROMPT                                                                      \
    "\"Continue working on the task. Review your progress so far and decide your next step. If " \
    "you have completed the task, call the finish_task tool with a summary.\""

static const char *const api_versions[] = {"initrunner/v1", NULL};
static const char *const kinds[] = {"Agent", NULL};

static const struct role_field bundle_fields[] = {
    {.name = "include", .kind = FIELD_TEXT_LIST, .help = "Files that belong to the role"},
    {0},
};

static const struct role_shape shape_bundle = {.name = "bundle", .fields = bundle_fields};

static const struct role_field metadata_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_agent_name,
     .help = "The agent's id: lower-case letters, digits and dashes, at least two characters; no "
             "dash at the beginning or end"},
    {.name = "description", .help = "What the agent is for"},
    {.name = "tags", .kind = FIELD_TEXT_LIST, .help = "Keywords"},
    {.name = "author", .help = "Who wrote it"},
    {.name = "version", .help = "Version of the file"},
    {.name = "dependencies", .kind = FIELD_TEXT_LIST, .help = "Requirements, for readers"},
    {.name = "team", .flags = FIELD_LATER, .help = "Who is responsible, for readers"},
    {.name = "spec_version",
     .kind = FIELD_INTEGER,
     .flags = FIELD_LATER,
     .range = RANGE_BETWEEN(1, 3),
     .help = "Version of the form: 3 is the flat one"},
    {.name = "bundle",
     .kind = FIELD_OBJECT,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .by_default = "null",
     .shape = &shape_bundle,
     .help = "What is published with the role; running it needs nothing of this"},
    {0},
};

static const struct role_shape shape_metadata = {
    .name = "metadata",
    .fields = metadata_fields,
};

static const struct role_field price_fields[] = {
    {.name = "input",
     .kind = FIELD_NUMBER,
     .flags = FIELD_REQUIRED,
     .range = RANGE_BETWEEN(0, 1000000),
     .help = "Dollars per million input tokens"},
    {.name = "output",
     .kind = FIELD_NUMBER,
     .flags = FIELD_REQUIRED,
     .range = RANGE_BETWEEN(0, 1000000),
     .help = "Dollars per million output tokens"},
    {0},
};

static const struct role_shape shape_price = {.name = "price", .fields = price_fields};

/** Only in the normal form where it is given; the range is in braces. */
#define LATER_MODEL(key, type, bounds, text)                                  \
    {                                                                         \
        .name = (key), .kind = (type), .flags = FIELD_LATER | FIELD_NULLABLE, \
        .by_default = "null", .range = bounds, .help = (text),                \
    }

static const char *const tool_choices[] = {"auto", "none", NULL};

static const struct role_field model_fields[] = {
    {.name = "provider",
     .help =
         "Provider of the model: openai, anthropic, ollama, groq, mistral, xai, google, ..., or "
         "scripted"},
    {.name = "name",
     .help = "The provider's name of the model; without `provider`: `provider:name`"},
    {.name = "base_url",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "Address of a server that speaks OpenAI's Chat Completions"},
    {.name = "api_key_env",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "Environment variable with the key, if not the provider's usual one"},
    {.name = "temperature",
     .kind = FIELD_NUMBER,
     .by_default = "0.1",
     .range = RANGE_BETWEEN(0, 2),
     .help = "Sampling temperature; not sent to reasoning models"},
    {.name = "max_tokens",
     .kind = FIELD_INTEGER,
     .by_default = "4096",
     .range = RANGE_BETWEEN(1, 128000),
     .help = "Output tokens of one reply"},
    {.name = "price",
     .kind = FIELD_OBJECT,
     .flags = FIELD_OWN | FIELD_NULLABLE,
     .shape = &shape_price,
     .by_default = "null",
     .help = "Price of the model, if it is not in Rondo's price table"},
    LATER_MODEL("top_p", FIELD_NUMBER, RANGE_ABOVE_UP_TO(0, 1),
                "Sampling from the most likely tokens; like the next four, not sent to reasoning "
                "models"),
    LATER_MODEL("top_k", FIELD_INTEGER, RANGE_FROM(1), "The same by their number; Anthropic only"),
    LATER_MODEL("presence_penalty", FIELD_NUMBER, RANGE_BETWEEN(-2, 2), "Not Anthropic"),
    LATER_MODEL("frequency_penalty", FIELD_NUMBER, RANGE_BETWEEN(-2, 2), "Not Anthropic"),
    LATER_MODEL("logit_bias", FIELD_ANY_MAP, {0}, "Not Anthropic"),
    LATER_MODEL("seed", FIELD_INTEGER, {0}, "Not Anthropic"),
    LATER_MODEL("stop_sequences", FIELD_TEXT_LIST, {0}, "Texts that end a reply"),
    LATER_MODEL("parallel_tool_calls", FIELD_BOOLEAN, {0}, "false: one call in a reply"),
    {.name = "tool_choice",
     .kind = FIELD_CHOICE,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .choices = tool_choices,
     .by_default = "null",
     .help = "`none`: the model sees the tools and calls none"},
    LATER_MODEL("thinking", FIELD_ANY, {0},
                "`minimal`, `low`, `medium`, `high`, `xhigh`, or false: effort of OpenAI's "
                "reasoning models"),
    LATER_MODEL("extra_headers", FIELD_TEXT_MAP, {0}, "Sent with every request; at most 16"),
    LATER_MODEL("extra_body", FIELD_ANY_MAP, {0},
                "Further members of every request; none that Rondo writes itself"),
    LATER_MODEL("fallback", FIELD_TEXT_LIST, {0},
                "Models that take over in this order when requests fail, as `provider:name`; at "
                "most 8"),
    LATER_MODEL("context_window", FIELD_INTEGER, RANGE_ABOVE(0),
                "Tokens that the model takes: between iterations, the conversation is cut to three "
                "quarters of it"),
    {.name = "fallback_on",
     .kind = FIELD_TEXT_LIST,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .by_default = "null",
     .check = check_fallback_on,
     .help = "Failures after which one takes over: `ModelAPIError` (all of the API, the default), "
             "`ModelHTTPError` (answers of the server), `UnexpectedModelBehavior` (a reply that is "
             "none); `ContentFilterError` has no effect"},
    LATER_MODEL("prompt_cache", FIELD_ANY, {0},
                "Anthropic's cache, which Rondo always uses, for five minutes"),
    {0},
};

static const struct role_foreign model_foreign[] = {{"concurrency", false}, {0}};

static const struct role_shape shape_model = {
    .name = "model",
    .fields = model_fields,
    .check = check_model,
    .foreign = model_foreign,
};

#define LIMIT_FIELD(field, text)                                                               \
    {                                                                                          \
        .name = (field), .kind = FIELD_INTEGER, .flags = FIELD_NULLABLE, .by_default = "null", \
        .range = RANGE_ABOVE(0), .help = (text),                                               \
    }

/** Only in the normal form where it is given. */
#define COST_FIELD(field, origin, text)                                            \
    {                                                                              \
        .name = (field), .kind = FIELD_NUMBER, .flags = (origin) | FIELD_NULLABLE, \
        .by_default = "null", .range = RANGE_ABOVE(0), .help = (text),             \
    }

static const char *const exhausted_rules[] = {"wait", "refuse", NULL};

static const struct role_field guardrail_fields[] = {
    {.name = "max_tokens_per_run",
     .kind = FIELD_INTEGER,
     .by_default = "50000",
     .range = RANGE_ABOVE(0),
     .help = "Output tokens of one iteration"},
    {.name = "max_tool_calls",
     .kind = FIELD_INTEGER,
     .by_default = "20",
     .range = RANGE_FROM(0),
     .help = "Tool calls of one iteration; 0 = none may run"},
    {.name = "timeout_seconds",
     .kind = FIELD_INTEGER,
     .by_default = "300",
     .range = RANGE_ABOVE(0),
     .help = "Wall-clock time of one iteration"},
    {.name = "max_request_limit",
     .kind = FIELD_INTEGER,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .range = RANGE_ABOVE(0),
     .help = "Model requests of one iteration; not given: max_tool_calls + 10, at least 30"},
    LIMIT_FIELD("input_tokens_limit", "Input tokens of one iteration"),
    LIMIT_FIELD("total_tokens_limit", "Tokens of one iteration"),
    {.name = "per_request_input_tokens_limit",
     .kind = FIELD_INTEGER,
     .flags = FIELD_LATER | FIELD_NULLABLE | FIELD_PROTECTS,
     .by_default = "null",
     .range = RANGE_ABOVE(0),
     .help = "Input tokens of one model request; a request with more ends the iteration"},
    LIMIT_FIELD("session_token_budget", "Tokens of an interactive session"),
    LIMIT_FIELD("daemon_token_budget", "Tokens of all runs of the agent"),
    LIMIT_FIELD("daemon_daily_token_budget", "Tokens of all its runs on one day"),
    COST_FIELD("daemon_daily_cost_budget", FIELD_LATER,
               "Dollars that all its runs cost on one day"),
    COST_FIELD("daemon_weekly_cost_budget", FIELD_LATER, "The same from Monday to Sunday"),
    COST_FIELD("daemon_cost_budget", FIELD_OWN, "Dollars that all runs of the agent cost"),
    {.name = "budget_timezone",
     .flags = FIELD_LATER,
     .by_default = "\"UTC\"",
     .check = check_zone,
     .help = "Zone in which the days and weeks of budgets begin"},
    {.name = "when_budget_exhausted",
     .kind = FIELD_CHOICE,
     .flags = FIELD_OWN,
     .choices = exhausted_rules,
     .by_default = "\"wait\"",
     .help =
         "What becomes of a trigger when a budget is used up: it waits for the next day or week, "
         "or is refused"},
    {.name = "max_iterations",
     .kind = FIELD_INTEGER,
     .by_default = "10",
     .range = RANGE_ABOVE(0),
     .help = "Iterations of an autonomous run; --max-iterations takes precedence"},
    LIMIT_FIELD("autonomous_token_budget", "Tokens of an autonomous run"),
    LIMIT_FIELD("autonomous_timeout_seconds", "Wall-clock time of an autonomous run"),
    {.name = "run_token_budget",
     .kind = FIELD_INTEGER,
     .flags = FIELD_LATER | FIELD_NULLABLE | FIELD_PROTECTS,
     .by_default = "null",
     .range = RANGE_ABOVE(0),
     .help = "Tokens of a run of any kind"},
    {.name = "cost_limit",
     .kind = FIELD_NUMBER,
     .flags = FIELD_LATER | FIELD_NULLABLE | FIELD_PROTECTS,
     .by_default = "null",
     .range = RANGE_BETWEEN(0.000001, 1000000),
     .help = "Dollars of a run of any kind"},
    {0},
};

static const struct role_foreign guardrail_foreign[] = {{"team_token_budget", false},
                                                        {"team_timeout_seconds", false},
                                                        {"retry_policy", false},
                                                        {"circuit_breaker", true},
                                                        {0}};

static const struct role_shape shape_guardrails = {
    .name = "guardrails",
    .fields = guardrail_fields,
    .check = check_guardrails,
    .foreign = guardrail_foreign,
    .protects = true,
    .is_closed = true,
};

static const struct role_field condition_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_condition_name,
     .help = "Name of the condition"},
    {.name = "command",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .check = check_command,
     .help = "Command for `sh -c`: exit code 0 = met"},
    {.name = "tool",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .check = check_not_empty,
     .help = "Tool that verifies it, by the name the agent sees"},
    {.name = "server",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .check = check_not_empty,
     .help = "With `tool`: a shared MCP server of rondo.yaml"},
    {.name = "arguments", .kind = FIELD_ANY_MAP, .help = "With `tool`: its arguments"},
    {.name = "timeout_seconds",
     .kind = FIELD_INTEGER,
     .by_default = "30",
     .range = RANGE_BETWEEN(1, 86400),
     .help = "Maximum time of one verification"},
    {0},
};

static const struct role_shape shape_condition = {
    .name = "exit_conditions[]",
    .fields = condition_fields,
    .check = check_condition,
};

static const struct role_field compaction_fields[] = {
    {.name = "enabled",
     .kind = FIELD_BOOLEAN,
     .help = "A model summarises old messages before they are dropped"},
    {.name = "threshold",
     .kind = FIELD_INTEGER,
     .by_default = "30",
     .range = RANGE_FROM(1),
     .help = "More messages than this are summarised, before the next iteration or turn"},
    {.name = "tail_messages",
     .kind = FIELD_INTEGER,
     .by_default = "6",
     .range = RANGE_FROM(1),
     .help = "The last ones, which stay as they are; the first one stays, too"},
    {.name = "model_override",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "provider:name of the model that does it; not given: the role's"},
    {.name = "summary_prefix",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "Heading of the summary; not given: `[Summary of earlier messages]`"},
    {0},
};

static const struct role_shape shape_compaction = {
    .name = "compaction",
    .fields = compaction_fields,
};

static const struct role_field autonomy_fields[] = {
    {.name = "continuation_prompt",
     .by_default = CONTINUATION_PROMPT,
     .help = "Prompt of every iteration except the first; followed by the state of the plan"},
    {.name = "max_history_messages",
     .kind = FIELD_INTEGER,
     .by_default = "40",
     .help = "Messages kept between iterations; the first one is always kept"},
    {.name = "max_plan_steps",
     .kind = FIELD_INTEGER,
     .by_default = "20",
     .help = "Maximum steps of update_plan; more are dropped"},
    {.name = "iteration_delay_seconds",
     .kind = FIELD_NUMBER,
     .by_default = "0.0",
     .help = "Pause between iterations"},
    {.name = "max_no_tool_call_iterations",
     .kind = FIELD_INTEGER,
     .since = 2,
     .by_default = "2",
     .help = "Consecutive iterations without a tool call that end the run as `blocked`"},
    {.name = "max_scheduled_per_run",
     .kind = FIELD_INTEGER,
     .by_default = "3",
     .help = "Follow-up runs that one run schedules (daemon)"},
    {.name = "max_scheduled_total",
     .kind = FIELD_INTEGER,
     .by_default = "50",
     .help = "Pending follow-up runs (daemon)"},
    {.name = "max_schedule_delay_seconds",
     .kind = FIELD_INTEGER,
     .by_default = "86400",
     .help = "Maximum delay of a follow-up run (daemon)"},
    {.name = "compaction",
     .kind = FIELD_OBJECT,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .shape = &shape_compaction,
     .help = "Summaries of old messages, see [agents](agents.md#the-conversation)"},
    {.name = "max_schedule_depth",
     .kind = FIELD_INTEGER,
     .flags = FIELD_OWN,
     .range = RANGE_FROM(0),
     .help = "Follow-up runs in a row, each scheduled by the one before (daemon); default 100"},
    {.name = "exit_conditions",
     .kind = FIELD_CONDITIONS,
     .flags = FIELD_OWN,
     .shape = &shape_condition,
     .help = "Conditions that must be met before finish_task(completed) is accepted: names as for "
             "--until, or objects"},
    {.name = "checkpoint_interval",
     .kind = FIELD_INTEGER,
     .flags = FIELD_OWN,
     .by_default = "1",
     .range = RANGE_BETWEEN(1, LIMIT_MAX_ITERATIONS),
     .help = "Save a checkpoint every N iterations"},
    {0},
};

static const struct role_shape shape_autonomy = {
    .name = "autonomy",
    .fields = autonomy_fields,
    .check = check_autonomy,
};

static const char *const patterns[] = {"react", "todo_driven", "plan_execute", "reflexion", NULL};

static const struct role_field dimension_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_not_empty,
     .help = "What is looked at; correctness, completeness and clarity have a prompt of their own"},
    {.name = "prompt", .help = "What the agent is asked"},
    {0},
};

static const struct role_shape shape_dimension = {
    .name = "reflection_dimensions[]",
    .fields = dimension_fields,
};

static const struct role_field reasoning_fields[] = {
    {.name = "pattern",
     .kind = FIELD_CHOICE,
     .choices = patterns,
     .by_default = "\"react\"",
     .help = "How an autonomous agent is led, see [agents](agents.md#strategies)"},
    {.name = "auto_plan",
     .kind = FIELD_BOOLEAN,
     .help = "With todo_driven: the first prompt requests the list"},
    {.name = "reflection_rounds",
     .kind = FIELD_INTEGER,
     .by_default = "0",
     .range = RANGE_BETWEEN(0, 3),
     .help = "With reflexion: reviews before finish_task is accepted; 0 = one per dimension"},
    {.name = "reflection_dimensions",
     .kind = FIELD_OBJECT_LIST,
     .shape = &shape_dimension,
     .help = "What the reviews look at, one to three"},
    {.name = "success_criteria",
     .kind = FIELD_TEXT_LIST,
     .check = check_not_empty,
     .help = "Are part of each review; no other model judges them"},
    {.name = "auto_detect",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "With react: reviews mean reflexion, a `todo` tool and `autonomy` todo_driven"},
    {0},
};

static const struct role_shape shape_reasoning = {
    .name = "reasoning",
    .fields = reasoning_fields,
    .check = check_reasoning,
};

/** As queue_rule_name has them. */
static const char *const queue_rules[] = {"queue", "coalesce", "drop_oldest", "refuse", NULL};

static const struct role_field daemon_fields[] = {
    {.name = "hot_reload",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Read the file again when it changes"},
    {.name = "reload_debounce_seconds",
     .kind = FIELD_NUMBER,
     .by_default = "1.0",
     .range = RANGE_BETWEEN(0, 30),
     .help = "Changes within this time count once; the longest of a daemon's roles counts"},
    {.name = "max_running",
     .kind = FIELD_INTEGER,
     .flags = FIELD_OWN,
     .range = RANGE_BETWEEN(1, LIMIT_LOOPS_PER_PROCESS),
     .help = "Runs of the role at the same time; further events wait. Default: "
             "`--max-role-running` of the daemon (4)"},
    {.name = "max_waiting",
     .kind = FIELD_INTEGER,
     .flags = FIELD_OWN,
     .range = RANGE_BETWEEN(0, LIMIT_QUEUE_LENGTH),
     .help = "Events that may wait. Default: `--max-waiting` (100)"},
    {.name = "when_full",
     .kind = FIELD_CHOICE,
     .flags = FIELD_OWN,
     .choices = queue_rules,
     .help = "What happens to further events: `queue`, `coalesce`, `drop_oldest` or `refuse`. "
             "Default: `--when-full` (`queue`)"},
    {0},
};

static const struct role_shape shape_daemon = {.name = "daemon", .fields = daemon_fields};

static const struct role_field auto_skills_fields[] = {
    {.name = "enabled",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Whether they are looked for"},
    {.name = "max_skills",
     .kind = FIELD_INTEGER,
     .by_default = "50",
     .range = RANGE_BETWEEN(1, LIMIT_OFFERED_SKILLS),
     .help = "Skills at most"},
    {0},
};

static const struct role_shape shape_auto_skills = {
    .name = "auto_skills",
    .fields = auto_skills_fields,
};

static const struct role_field spec_fields[] = {
    {.name = "role", .flags = FIELD_REQUIRED, .help = "The system prompt"},
    {.name = "model",
     .kind = FIELD_OBJECT,
     .flags = FIELD_NULLABLE,
     .shape = &shape_model,
     .help = "The model of the agent; without it, the run chooses one, see "
             "[models](models.md#a-role-without-a-model)"},
    {.name = "output",
     .kind = FIELD_OBJECT,
     .shape = &role_shape_output,
     .help = "Format of the answer"},
    {.name = "tools",
     .kind = FIELD_VARIANT_LIST,
     .variants = &role_tools,
     .help = "Tools of the agent: a list of objects, see [tools](#tools)"},
    {.name = "skills",
     .kind = FIELD_TEXT_LIST,
     .help = "Skill files: paths relative to the role file, or names to search for"},
    {.name = "triggers",
     .kind = FIELD_VARIANT_LIST,
     .variants = &role_triggers,
     .help = "What starts runs of a daemon, see [triggers](#triggers)"},
    {.name = "sinks",
     .kind = FIELD_VARIANT_LIST,
     .variants = &role_sinks,
     .help = "Where results are sent, see [sinks](#sinks)"},
    {.name = "ingest",
     .kind = FIELD_OBJECT,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .shape = &role_shape_ingest,
     .help = "Documents to search in"},
    {.name = "memory",
     .kind = FIELD_OBJECT,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .shape = &role_shape_memory,
     .help = "Long-term memory"},
    {.name = "autonomy",
     .kind = FIELD_OBJECT,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .shape = &shape_autonomy,
     .help = "The autonomous loop"},
    {.name = "guardrails",
     .kind = FIELD_OBJECT,
     .flags = FIELD_PROTECTS,
     .shape = &shape_guardrails,
     .help = "Limits"},
    {.name = "resources",
     .kind = FIELD_OBJECT,
     .flags = FIELD_DEAD,
     .shape = &role_shape_resources,
     .help = "Memory and processors of a container"},
    {.name = "security",
     .kind = FIELD_OBJECT,
     .flags = FIELD_PROTECTS,
     .shape = &role_shape_security,
     .help = "Safety"},
    {.name = "observability",
     .kind = FIELD_OBJECT,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .shape = &role_shape_observability,
     .help = "Traces"},
    {.name = "tool_search",
     .kind = FIELD_OBJECT,
     .since = 9,
     .shape = &role_shape_tool_search,
     .help = "Let the model search for tools instead of listing all"},
    {.name = "reasoning",
     .kind = FIELD_OBJECT,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .by_default = "null",
     .shape = &shape_reasoning,
     .help = "The strategy of an autonomous agent"},
    {.name = "auto_skills",
     .kind = FIELD_OBJECT,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .by_default = "null",
     .shape = &shape_auto_skills,
     .help = "Skills that the role does not name: the model sees their names and descriptions, and "
             "reads one with the tool `activate_skill`. They are looked for in `skills` and "
             "`.agents/skills` beside the role file, `--skill-dir`, `$INITRUNNER_SKILL_DIR`, "
             "`~/.agents/skills` and InitRunner's home. On in the flat form, else where it is "
             "given"},
    {.name = "deps_schema",
     .kind = FIELD_ANY_MAP,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .by_default = "null",
     .help = "Variables of the role's text: `{{name}}` becomes what `--var name=VALUE` or the "
             "environment variable INITRUNNER_VAR_NAME says, else the `default` of its schema"},
    {.name = "daemon",
     .kind = FIELD_OBJECT,
     .flags = FIELD_LATER | FIELD_NULLABLE,
     .by_default = "null",
     .shape = &shape_daemon,
     .help = "The role on duty"},
    {.name = "policy",
     .flags = FIELD_PROTECTS | FIELD_OWN | FIELD_NULLABLE,
     .by_default = "null",
     .check = check_not_empty,
     .help = "Cedar policies for this agent: a path relative to the role file"},
    {.name = "execution",
     .kind = FIELD_OBJECT,
     .flags = FIELD_PROTECTS | FIELD_OWN | FIELD_NULLABLE,
     .by_default = "null",
     .shape = &role_shape_execution,
     .help = "Where tools run"},
    {0},
};

static const struct role_foreign spec_foreign[] = {{"capabilities", false}, {0}};

static const struct role_shape shape_spec = {
    .name = "spec",
    .fields = spec_fields,
    .check = check_spec,
    .foreign = spec_foreign,
};

static const struct role_field file_fields[] = {
    {.name = "apiVersion",
     .kind = FIELD_CHOICE,
     .flags = FIELD_REQUIRED,
     .choices = api_versions,
     .help = "Version of the format"},
    {.name = "kind",
     .kind = FIELD_CHOICE,
     .flags = FIELD_REQUIRED,
     .choices = kinds,
     .help = "Kind of the document"},
    {.name = "metadata",
     .kind = FIELD_OBJECT,
     .flags = FIELD_REQUIRED,
     .shape = &shape_metadata,
     .help = "About the agent"},
    {.name = "spec",
     .kind = FIELD_OBJECT,
     .flags = FIELD_REQUIRED,
     .shape = &shape_spec,
     .help = "The agent"},
    {0},
};

const struct role_shape role_shape_file = {
    .name = "role file",
    .fields = file_fields,
    .check = check_file,
};

const struct role_shape *role_variant_find(const struct role_variants *variants, const char *type,
                                           size_t len)
{
    for (size_t i = 0; variants->shapes[i] != NULL; i++) {
        const char *name = variants->shapes[i]->name;
        if (strlen(name) == len && memcmp(name, type, len) == 0) {
            return variants->shapes[i];
        }
    }
    return NULL;
}

const char *role_field_default(const struct role_field *field, bool is_1_0)
{
    if (is_1_0 && field->by_default_1_0 != NULL) {
        return field->by_default_1_0;
    }
    if (field->by_default != NULL) {
        return field->by_default;
    }
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_CHOICE:
        return "\"\"";
    case FIELD_TEXT_LIST:
    case FIELD_INTEGER_LIST:
    case FIELD_OBJECT_LIST:
    case FIELD_VARIANT_LIST:
    case FIELD_CONDITIONS:
        return "[]";
    case FIELD_TEXT_MAP:
    case FIELD_ANY_MAP:
    case FIELD_OBJECT:
        return "{}";
    case FIELD_BOOLEAN:
        return "false";
    case FIELD_INTEGER:
    case FIELD_NUMBER:
    case FIELD_ANY:
        return "null";
    }
    return "null";
}
