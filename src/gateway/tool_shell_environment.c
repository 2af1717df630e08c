// SPDX-License-Identifier: Apache-2.0
/* Scrubbed environments. */
#include "gateway/tool_shell_environment.h"

#include "base/memory.h"
#include "gateway/tool_shell_words.h"
#include "os/environment.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

/* Names of InitRunner's documentation, by kind: models, clouds, code, chat, payment, data. */
static const char *const secret_beginnings[] = {
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "COHERE_API_KEY",
    "REPLICATE_API_TOKEN",
    "HF_TOKEN",
    "HUGGING_FACE",
    "AWS_SECRET",
    "AWS_SESSION_TOKEN",
    "AZURE_",
    "GCP_",
    "GCLOUD_",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_",
    "DIGITALOCEAN_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "BITBUCKET_TOKEN",
    "CODECOV_TOKEN",
    "NPM_TOKEN",
    "DOCKER_PASSWORD",
    "DOCKER_TOKEN",
    "SLACK_TOKEN",
    "SLACK_WEBHOOK",
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "TWILIO_",
    "SENDGRID_API_KEY",
    "MAILGUN_API_KEY",
    "STRIPE_",
    "DATABASE_URL",
    "REDIS_URL",
    "MONGO_URI",
    "POSTGRES_PASSWORD",
    "MYSQL_PASSWORD",
    "SSH_AUTH_SOCK",
    "SSH_PRIVATE_KEY",
    "VAULT_TOKEN",
    "SENTRY_DSN",
    NULL,
};
static const char *const secret_ends[] = {
    "_KEY", "_SECRET", "_TOKEN", "_PASSWORD", "_CREDENTIAL", "_CREDENTIALS", NULL,
};
static const char *const kept[] = {"SSH_AGENT_PID", "GPG_AGENT_INFO", NULL};

typedef bool matches_name(const char *name, const char *pattern);

static bool begins_with(const char *name, const char *pattern)
{
    return strncasecmp(name, pattern, strlen(pattern)) == 0;
}

static bool ends_with(const char *name, const char *pattern)
{
    size_t len = strlen(name);
    size_t pattern_len = strlen(pattern);
    return len >= pattern_len && strcasecmp(name + len - pattern_len, pattern) == 0;
}

static bool is_same(const char *name, const char *pattern)
{
    return strcmp(name, pattern) == 0;
}

/** Whether a name matches one of the role's patterns or, where it has no list, of our own. */
static bool matches_any(struct json_object *security_tools, const char *list_name,
                        const char *const *otherwise, const char *name, matches_name *matches)
{
    struct json_object *list = NULL;
    if (!json_object_object_get_ex(security_tools, list_name, &list) ||
        !json_object_is_type(list, json_type_array)) {
        for (size_t i = 0; otherwise[i] != NULL; i++) {
            if (matches(name, otherwise[i])) {
                return true;
            }
        }
        return false;
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_string) &&
            matches(name, json_object_get_string(item))) {
            return true;
        }
    }
    return false;
}

bool shell_environment_is_secret(struct json_object *security_tools, const char *name)
{
    if (matches_any(security_tools, "env_allowlist", kept, name, is_same)) {
        return false;
    }
    return matches_any(security_tools, "sensitive_env_prefixes", secret_beginnings, name,
                       begins_with) ||
           matches_any(security_tools, "sensitive_env_suffixes", secret_ends, name, ends_with);
}

/** Names in a list of variables, each as text of its own; owned. */
static char **collect_names(const char *const *variables)
{
    size_t count = 0;
    while (variables != NULL && variables[count] != NULL) {
        count++;
    }
    char **names = memory_new_zero(count + 1, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        names[i] = memory_dup_bytes(variables[i], strcspn(variables[i], "="));
    }
    return names;
}

/** Names that may be passed on; owned, `names` are moved or freed. */
static char **drop_secrets(struct json_object *security_tools, char **names)
{
    size_t kept_count = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        /* A name that ends with a star would stand for others. */
        bool is_dropped = names[i][0] == '\0' || names[i][strlen(names[i]) - 1] == '*' ||
                          shell_environment_is_secret(security_tools, names[i]);
        if (is_dropped) {
            free(names[i]);
        } else {
            names[kept_count++] = names[i];
        }
    }
    names[kept_count] = NULL;
    return names;
}

void shell_environment_make(struct json_object *security_tools, const char *const *extra,
                            struct shell_environment *ret_environment)
{
    char **names = drop_secrets(security_tools, collect_names((const char *const *)environ));
    char **variables =
        environment_select((const char *const *)environ, (const char *const *)names, extra);
    memory_free_list(names);
    *ret_environment = (struct shell_environment){
        .variables = variables, .names = collect_names((const char *const *)variables)};
}

void shell_environment_fini(struct shell_environment *environment)
{
    environment_free(environment->variables);
    memory_free_list(environment->names);
    *environment = (struct shell_environment){0};
}
