// SPDX-License-Identifier: Apache-2.0
/* Fields of spec.triggers and spec.sinks: one shape for each type. */
#include "role/fields.h"

#include "role/reader.h"

static const struct role_field common_fields[] = {
    {.name = "autonomous",
     .kind = FIELD_BOOLEAN,
     .help = "Run the autonomous loop, not a single answer; needs `spec.autonomy`"},
    {0},
};

#define CONVERSATION(check_fn, text)                                                    \
    {                                                                                   \
        .name = "conversation", .flags = FIELD_OWN, .check = (check_fn), .help = (text) \
    }

#define CONVERSATION_IDLE                                                                          \
    {                                                                                              \
        .name = "conversation_idle_seconds", .kind = FIELD_INTEGER, .flags = FIELD_OWN,            \
        .range = RANGE_BETWEEN(0, 31536000),                                                       \
        .help = "A conversation that was quiet for longer begins anew; by default 3600, 0: never", \
    }

#define ONE_CONVERSATION \
    CONVERSATION(check_one_conversation, "Name of a conversation that all events are turns of")

static const char *const catch_ups[] = {"none", "one", "all", NULL};

static const struct role_field cron_fields[] = {
    {.name = "schedule",
     .flags = FIELD_REQUIRED,
     .check = check_cron,
     .help = "Minute, hour, day, month, weekday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, "
             "`@yearly`"},
    {.name = "prompt", .flags = FIELD_REQUIRED, .help = "Prompt for the agent"},
    {.name = "timezone",
     .by_default = "\"UTC\"",
     .check = check_zone,
     .help = "Zone of the schedule"},
    {.name = "catch_up",
     .kind = FIELD_CHOICE,
     .flags = FIELD_OWN,
     .choices = catch_ups,
     .help = "What follows times at which no daemon was running, or the agent was still at work: "
             "`none`, `one` run for all of them (the default), or a run for each (`all`)"},
    {.name = "jitter_seconds",
     .kind = FIELD_INTEGER,
     .flags = FIELD_OWN,
     .range = RANGE_BETWEEN(0, 86400),
     .help = "Start up to this much later, by a time that follows from the trigger and the date"},
    {.name = "overlap",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_OWN,
     .help = "Start also while the run of the last time is not over"},
    ONE_CONVERSATION,
    CONVERSATION_IDLE,
    {0},
};

static const struct role_field heartbeat_fields[] = {
    {.name = "file",
     .flags = FIELD_REQUIRED,
     .help = "Checklist in Markdown, up to 64 KiB; it wakes the agent while it has an open item "
             "`- [ ]`. Relative to the role file"},
    {.name = "interval_seconds",
     .kind = FIELD_INTEGER,
     .by_default = "3600",
     .range = RANGE_ABOVE(0),
     .help = "Time from one look at the file to the next"},
    {.name = "prompt_prefix",
     .by_default = "\"It is time to look at this checklist. Work on the items that are open, and "
                   "mark those that you have done.\"",
     .help = "Begins the prompt; the file follows"},
    {.name = "active_hours",
     .kind = FIELD_INTEGER_LIST,
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "`[start, end]`, hours from 0 to 23: from the beginning of one up to the beginning of "
             "the other, also past midnight"},
    {.name = "timezone",
     .by_default = "\"UTC\"",
     .check = check_zone,
     .help = "Zone of the active hours"},
    ONE_CONVERSATION,
    CONVERSATION_IDLE,
    {0},
};

static const struct role_field watch_fields[] = {
    {.name = "paths",
     .kind = FIELD_TEXT_LIST,
     .flags = FIELD_REQUIRED,
     .help = "Folders and files, from the folder of the role; links are not followed"},
    {.name = "extensions", .kind = FIELD_TEXT_LIST, .help = "Only files with these; empty: all"},
    {.name = "prompt_template",
     .by_default = "\"File changed: {path}\"",
     .help = "Prompt for the agent: `{path}`, `{change}` (created, modified, deleted)"},
    {.name = "debounce_seconds",
     .kind = FIELD_NUMBER,
     .by_default = "1.0",
     .help = "A file is reported when it has been quiet for so long"},
    {.name = "process_existing",
     .kind = FIELD_BOOLEAN,
     .help = "Also report files that are there at the first start"},
    CONVERSATION(check_not_empty,
                 "Which conversation a change is a turn of; `{path}`: one for each "
                 "file"),
    CONVERSATION_IDLE,
    {0},
};

static const char *const hook_signatures[] = {"github", "standard", "bearer", NULL};

static const struct role_field webhook_fields[] = {
    {.name = "path", .by_default = "\"/webhook\"", .help = "Path of the address"},
    {.name = "port", .kind = FIELD_INTEGER, .by_default = "8080", .help = "Its port"},
    {.name = "method", .by_default = "\"POST\"", .help = "Method of the request"},
    {.name = "secret",
     .flags = FIELD_NULLABLE,
     .by_default = "null",
     .help = "Key of the signature; ${VAR} is replaced. Without it Rondo makes one, and the log of "
             "the daemon says which file has it"},
    {.name = "signature",
     .kind = FIELD_CHOICE,
     .flags = FIELD_OWN,
     .choices = hook_signatures,
     .help = "How requests prove that they know the secret: `github` (X-Hub-Signature-256), "
             "`standard` (Standard Webhooks; the default for a secret that begins with `whsec_`), "
             "`bearer` (Authorization)"},
    {.name = "unsigned",
     .kind = FIELD_BOOLEAN,
     .flags = FIELD_OWN,
     .help = "Let anybody who reaches the server start the agent, without a secret"},
    {.name = "prompt_template",
     .flags = FIELD_OWN,
     .help = "Prompt for the agent: `{payload}`, `{path}`, `{body.a.b}` of a JSON body; by "
             "default `{payload}`"},
    {.name = "name",
     .flags = FIELD_OWN,
     .help = "Its name in `POST /hooks/NAME`; by default the agent's"},
    {.name = "rate_limit_rpm",
     .kind = FIELD_INTEGER,
     .by_default = "60",
     .help = "Requests per minute"},
    CONVERSATION(check_not_empty,
                 "Which conversation a request is a turn of: `{body.a.b}` of a JSON body, "
                 "`{header.NAME}`; a request that has nothing of this is none"),
    CONVERSATION_IDLE,
    {0},
};

#define ALLOW_ALL                                                         \
    {                                                                     \
        .name = "allow_all", .kind = FIELD_BOOLEAN, .flags = FIELD_LATER, \
        .help = "Answer everyone; without it, only those who are listed", \
    }

static const struct role_field telegram_fields[] = {
    {.name = "token_env",
     .by_default = "\"TELEGRAM_BOT_TOKEN\"",
     .help = "Environment variable with the token"},
    {.name = "allowed_users",
     .kind = FIELD_TEXT_LIST,
     .help = "Who may write to the bot, by name; names change hands, so numbers are safer"},
    {.name = "allowed_user_ids",
     .kind = FIELD_INTEGER_LIST,
     .help = "Who may write to the bot, by number; nobody if both lists are empty"},
    ALLOW_ALL,
    {.name = "prompt_template",
     .by_default = "\"{message}\"",
     .help = "Prompt for the agent: `{message}`"},
    CONVERSATION_IDLE,
    {0},
};

static const struct role_field discord_fields[] = {
    {.name = "token_env",
     .by_default = "\"DISCORD_BOT_TOKEN\"",
     .help = "Environment variable with the token"},
    {.name = "channel_ids", .kind = FIELD_TEXT_LIST, .help = "Only these channels; empty: all"},
    {.name = "allowed_roles", .kind = FIELD_TEXT_LIST, .help = "Only these roles; empty: all"},
    {.name = "allowed_user_ids", .kind = FIELD_TEXT_LIST, .help = "Only these users; empty: all"},
    ALLOW_ALL,
    {.name = "prompt_template", .by_default = "\"{message}\"", .help = "Prompt for the agent"},
    {0},
};

static const struct role_field slack_fields[] = {
    {.name = "app_token_env",
     .by_default = "\"SLACK_APP_TOKEN\"",
     .help = "Environment variable with the token of the app"},
    {.name = "bot_token_env",
     .by_default = "\"SLACK_BOT_TOKEN\"",
     .help = "Environment variable with the token of the bot"},
    {.name = "channel_ids", .kind = FIELD_TEXT_LIST, .help = "Only these channels; empty: all"},
    {.name = "allowed_user_ids", .kind = FIELD_TEXT_LIST, .help = "Only these users"},
    ALLOW_ALL,
    {.name = "respond_in_thread",
     .kind = FIELD_BOOLEAN,
     .by_default = "true",
     .help = "Answer in the thread of the message"},
    {.name = "prompt_template", .by_default = "\"{message}\"", .help = "Prompt for the agent"},
    {0},
};

static const struct role_shape shape_cron = {
    .name = "cron",
    .help = "At times",
    .fields = cron_fields,
};
static const struct role_shape shape_heartbeat = {
    .name = "heartbeat",
    .help = "In intervals, while a checklist has open items",
    .fields = heartbeat_fields,
    .check = check_heartbeat,
};
static const struct role_shape shape_watch = {
    .name = "file_watch",
    .help = "When files change",
    .fields = watch_fields,
};
static const struct role_shape shape_webhook = {
    .name = "webhook",
    .help = "When an HTTP request comes",
    .fields = webhook_fields,
    .check = check_webhook,
};
static const struct role_shape shape_telegram = {
    .name = "telegram",
    .help = "When a message comes",
    .fields = telegram_fields,
};
static const struct role_shape shape_discord = {
    .name = "discord",
    .help = "When a message comes",
    .fields = discord_fields,
};

static const struct role_shape shape_slack = {
    .name = "slack",
    .help = "When a message comes",
    .fields = slack_fields,
};

static const struct role_shape *const triggers[] = {
    &shape_cron,     &shape_heartbeat, &shape_watch, &shape_webhook,
    &shape_telegram, &shape_discord,   &shape_slack, NULL,
};

const struct role_variants role_triggers = {
    .what = "trigger",
    .shapes = triggers,
    .common = common_fields,
};

static const struct role_field webhook_sink_fields[] = {
    {.name = "url", .flags = FIELD_REQUIRED, .help = "Address; ${VAR} is replaced"},
    {.name = "method", .by_default = "\"POST\"", .help = "Method of the request"},
    {.name = "headers", .kind = FIELD_TEXT_MAP, .help = "Sent along; ${VAR} is replaced"},
    {.name = "timeout_seconds",
     .kind = FIELD_INTEGER,
     .by_default = "30",
     .help = "Maximum time of a request, up to 90 seconds"},
    {.name = "retry_count",
     .kind = FIELD_INTEGER,
     .by_default = "0",
     .help = "Retries after a failure; there are at least seven, over nine hours"},
    {0},
};

static const char *const file_formats[] = {"json", "text", NULL};

static const struct role_field file_sink_fields[] = {
    {.name = "path",
     .flags = FIELD_REQUIRED,
     .help = "File that results are appended to, relative to the workspace"},
    {.name = "format",
     .kind = FIELD_CHOICE,
     .choices = file_formats,
     .by_default = "\"json\"",
     .help = "One JSON object per line, or text"},
    {0},
};

static const struct role_field command_sink_fields[] = {
    {.name = "name",
     .flags = FIELD_REQUIRED,
     .check = check_not_empty,
     .help = "A command sink of `rondo sinks add NAME --command -- PROGRAM`"},
    {0},
};

static const struct role_field custom_sink_fields[] = {
    {.name = "module", .flags = FIELD_REQUIRED, .help = "Python module"},
    {.name = "function", .flags = FIELD_REQUIRED, .help = "Its function"},
    {0},
};

static const struct role_shape shape_webhook_sink = {
    .name = "webhook",
    .help = "An HTTP request",
    .fields = webhook_sink_fields,
};
static const struct role_shape shape_file_sink = {
    .name = "file",
    .help = "A file",
    .fields = file_sink_fields,
};
static const struct role_shape shape_command_sink = {
    .name = "command",
    .help = "A program of this machine. *Rondo's addition*",
    .fields = command_sink_fields,
};
static const struct role_shape shape_custom_sink = {
    .name = "custom",
    .help = "A function of a Python module; nothing is sent to it",
    .fields = custom_sink_fields,
};

static const struct role_shape *const sinks[] = {
    &shape_webhook_sink, &shape_file_sink, &shape_command_sink, &shape_custom_sink, NULL,
};

const struct role_variants role_sinks = {.what = "sink", .shapes = sinks};
