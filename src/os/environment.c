// SPDX-License-Identifier: Apache-2.0
/* Building environments. Reads the process's environment, never changes it. */
#include "os/environment.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* Whole names: any other may hold a secret, LC_PASSWORD too. */
static const char *const allowed[] = {
    "PATH",        "LANG",         "LANGUAGE",
    "LC_ALL",      "LC_ADDRESS",   "LC_COLLATE",
    "LC_CTYPE",    "LC_MONETARY",  "LC_IDENTIFICATION",
    "LC_MESSAGES", "LC_NAME",      "LC_NUMERIC",
    "LC_PAPER",    "LC_TELEPHONE", "LC_MEASUREMENT",
    "LC_TIME",     "TZ",           "USER",
    "LOGNAME",     "HOME",         "SHELL",
};

/* Programs should neither colour their output nor ask questions. */
static const char *const fixed[] = {"TERM=dumb", "NO_COLOR=1", "CI=1"};

/** @param name one that ends with * means all with that beginning */
static bool has_name(const char *variable, const char *name)
{
    size_t len = strlen(name);
    if (len > 0 && name[len - 1] == '*') {
        return strncmp(variable, name, len - 1) == 0;
    }
    return strncmp(variable, name, len) == 0 && variable[len] == '=';
}

/** Set a variable, replacing one of the same name. */
static void put(char **environment, size_t *count, const char *variable)
{
    size_t name_len = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < *count; i++) {
        if (strncmp(environment[i], variable, name_len) == 0) {
            free(environment[i]);
            environment[i] = memory_dup_string(variable);
            return;
        }
    }
    environment[(*count)++] = memory_dup_string(variable);
}

static void put_list(char **environment, size_t *count, const char *const *list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        put(environment, count, list[i]);
    }
}

static bool is_wanted(const char *variable, const char *const *names)
{
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        if (has_name(variable, allowed[i])) {
            return true;
        }
    }
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        if (has_name(variable, names[i])) {
            return true;
        }
    }
    return false;
}

char **environment_select(const char *const *source, const char *const *names,
                          const char *const *extra)
{
    size_t fixed_count = sizeof(fixed) / sizeof(fixed[0]);
    size_t room = memory_count_list(source) + memory_count_list(extra) + fixed_count + 1;
    char **environment = memory_new_zero(room, sizeof(*environment));
    size_t count = 0;
    for (size_t i = 0; source != NULL && source[i] != NULL; i++) {
        if (is_wanted(source[i], names)) {
            put(environment, &count, source[i]);
        }
    }
    for (size_t i = 0; i < fixed_count; i++) {
        put(environment, &count, fixed[i]);
    }
    put_list(environment, &count, extra);
    return environment;
}

char **environment_reduced(const char *const *names, const char *const *extra)
{
    return environment_select((const char *const *)environ, names, extra);
}

char **environment_with(const char *const *extra)
{
    size_t room = memory_count_list((const char *const *)environ) + memory_count_list(extra) + 1;
    char **environment = memory_new_zero(room, sizeof(*environment));
    size_t count = 0;
    put_list(environment, &count, (const char *const *)environ);
    put_list(environment, &count, extra);
    return environment;
}

static bool is_one_of(const char *variable, const char *const *names)
{
    size_t len = strcspn(variable, "=");
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        if (strlen(names[i]) == len && memcmp(variable, names[i], len) == 0) {
            return true;
        }
    }
    return false;
}

const char *environment_find(const char *const *environment, const char *name)
{
    const char *const *from = environment == NULL ? (const char *const *)environ : environment;
    size_t len = strlen(name);
    for (; from != NULL && *from != NULL; from++) {
        if (strncmp(*from, name, len) == 0 && (*from)[len] == '=') {
            return *from + len + 1;
        }
    }
    return NULL;
}

void environment_drop(char **environment, const char *const *names)
{
    size_t kept = 0;
    for (size_t i = 0; environment[i] != NULL; i++) {
        if (is_one_of(environment[i], names)) {
            free(environment[i]);
        } else {
            environment[kept++] = environment[i];
        }
    }
    environment[kept] = NULL;
}

void environment_free(char **environment)
{
    for (size_t i = 0; environment != NULL && environment[i] != NULL; i++) {
        free(environment[i]);
    }
    free(environment);
}
