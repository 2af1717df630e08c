// SPDX-License-Identifier: Apache-2.0
/* Environments by an allow list. */
#include "tool/builtin/shell_environment.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/environment.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

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

/** Whether a name matches a pattern of one of the role's lists. */
static bool matches_any(struct json_object *security_tools, const char *list_name, const char *name,
                        matches_name *matches)
{
    struct json_object *list = NULL;
    json_object_object_get_ex(security_tools, list_name, &list);
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_string) &&
            matches(name, json_object_get_string(item))) {
            return true;
        }
    }
    return false;
}

char **shell_environment_allowed(struct json_object *security_tools)
{
    struct json_object *list = NULL;
    json_object_object_get_ex(security_tools, "env_allowlist", &list);
    size_t count = json_length(list);
    char **names = memory_new_zero(count + 1, sizeof(*names));
    size_t name_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *name =
            json_object_is_type(item, json_type_string) ? json_object_get_string(item) : "";
        /* To os/environment, a name that ends with a star means others too. */
        if (name[0] != '\0' && strpbrk(name, "*=") == NULL) {
            names[name_count++] = memory_dup_string(name);
        }
    }
    return names;
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

static bool is_listed(char *const *names, const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/** This process's variables but those that the role calls sensitive and does not allow. */
static const char **drop_sensitive(struct json_object *security_tools, char *const *allowed)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    const char **kept = memory_new_zero(count + 1, sizeof(*kept));
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        auto_free char *name = memory_dup_bytes(environ[i], strcspn(environ[i], "="));
        bool is_sensitive =
            matches_any(security_tools, "sensitive_env_prefixes", name, begins_with) ||
            matches_any(security_tools, "sensitive_env_suffixes", name, ends_with);
        if (!is_sensitive || is_listed(allowed, name)) {
            kept[kept_count++] = environ[i];
        }
    }
    return kept;
}

void shell_environment_make(struct json_object *security_tools, const char *const *extra,
                            struct shell_environment *ret_environment)
{
    char **allowed = shell_environment_allowed(security_tools);
    auto_free const char **source = drop_sensitive(security_tools, allowed);
    char **variables = environment_select(source, (const char *const *)allowed, extra);
    memory_free_list(allowed);
    *ret_environment = (struct shell_environment){
        .variables = variables, .names = collect_names((const char *const *)variables)};
}

void shell_environment_fini(struct shell_environment *environment)
{
    environment_free(environment->variables);
    memory_free_list(environment->names);
    *environment = (struct shell_environment){0};
}
