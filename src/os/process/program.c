// SPDX-License-Identifier: Apache-2.0
/* Program search. No state; any thread. */
#include "os/process/program.h"

#include "base/auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/bin:/bin"

const char *program_environment_get(const char *const *envp, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        if (strncmp(envp[i], name, len) == 0 && envp[i][len] == '=') {
            return envp[i] + len + 1;
        }
    }
    return NULL;
}

enum candidate { CANDIDATE_MISSING, CANDIDATE_NOT_EXECUTABLE, CANDIDATE_GOOD };

static enum candidate examine(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return CANDIDATE_MISSING;
    }
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? CANDIDATE_GOOD
                                                              : CANDIDATE_NOT_EXECUTABLE;
}

static bool report(enum candidate best, const char *name, char ret_reason[256])
{
    if (best == CANDIDATE_GOOD) {
        return true;
    }
    snprintf(ret_reason, 256,
             best == CANDIDATE_MISSING ? "%s: no such program" : "%s: not an executable file",
             name);
    return false;
}

static enum candidate find_by_path(const char *name, const char *directory, char *ret_path)
{
    bool is_relative = name[0] != '/';
    int len = snprintf(ret_path, PATH_MAX, "%s%s%s", is_relative ? directory : "",
                       is_relative ? "/" : "", name);
    return len >= PATH_MAX ? CANDIDATE_MISSING : examine(ret_path);
}

static enum candidate find_in_list(const char *name, const char *list, char *ret_path)
{
    enum candidate best = CANDIDATE_MISSING;
    while (best != CANDIDATE_GOOD && *list != '\0') {
        size_t len = strcspn(list, ":");
        if (list[0] == '/' && len + strlen(name) + 2 <= PATH_MAX) {
            snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)len, list, name);
            enum candidate found = examine(ret_path);
            best = found > best ? found : best;
        }
        list += len + (list[len] == ':' ? 1 : 0);
    }
    return best;
}

bool program_find(const char *name, const char *const *envp, const char *directory,
                  char ret_path[PATH_MAX], char ret_reason[256])
{
    if (name == NULL || name[0] == '\0') {
        return report(CANDIDATE_MISSING, "(empty command)", ret_reason);
    }
    if (strchr(name, '/') != NULL) {
        return report(find_by_path(name, directory, ret_path), name, ret_reason);
    }
    const char *list = program_environment_get(envp, "PATH");
    return report(find_in_list(name, list == NULL ? DEFAULT_PATH : list, ret_path), name,
                  ret_reason);
}

/* --- programs of the system --- */

static bool is_in_system_folder(const char *canonical)
{
    /* The folders themselves, not what is below them: /usr/src/app may be a workspace. */
    static const char *const folders[] = {"/usr/bin",        "/usr/sbin", "/usr/local/bin",
                                          "/usr/local/sbin", "/bin",      "/sbin"};
    static const char *const stores[] = {"/nix/store/", "/gnu/store/"};
    size_t len = (size_t)(strrchr(canonical, '/') - canonical);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strlen(folders[i]) == len && strncmp(canonical, folders[i], len) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
        if (strncmp(canonical, stores[i], strlen(stores[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool program_find_system(const char *name, const char *const *envp, char ret_path[PATH_MAX],
                         char ret_reason[256])
{
    if (strchr(name, '/') != NULL) {
        return report(CANDIDATE_MISSING, name, ret_reason);
    }
    if (!program_find(name, envp, "/", ret_path, ret_reason)) {
        return false;
    }
    auto_free char *canonical = realpath(ret_path, NULL);
    if (canonical == NULL || !is_in_system_folder(canonical)) {
        snprintf(ret_reason, 256,
                 "%.120s is not in a folder of the system; remove it, or take its folder out of "
                 "PATH",
                 ret_path);
        return false;
    }
    snprintf(ret_path, PATH_MAX, "%s", canonical);
    return true;
}
