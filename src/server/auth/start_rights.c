// SPDX-License-Identifier: Apache-2.0
/*
 * Members that need more than the scope operate, and the folders that paths must lie in.
 *
 * all opens: resolves names, to compare them with the server's own folders; opens nothing.
 */
#include "server/auth/start_rights.h"

#include "base/auto.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** Folder of roles, beside the store. */
#define ROLES "roles"

/** Members that open the sandbox, reach further, or name files. */
static const struct {
    const char *name;
    const char *harmless; /* value that is allowed nevertheless, as JSON; or NULL */
} guarded[] = {
    {"role", NULL},
    {"policy", NULL},
    {"read", NULL},
    {"write", NULL},
    {"env", NULL},
    {"allow_hosts", NULL},
    {"allow_network", "false"},
    {"accept_unprotected", "false"},
};

static int refuse(const char *member, const char *what, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID, "%s: %s needs the scope administer", member, what);
}

static int check_members(struct json_object *body, struct rondo_error *err)
{
    for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++) {
        struct json_object *value = NULL;
        json_object_object_get_ex(body, guarded[i].name, &value);
        bool is_harmless =
            value == NULL || (guarded[i].harmless != NULL &&
                              strcmp(json_object_to_json_string(value), guarded[i].harmless) == 0);
        if (!is_harmless) {
            return refuse(guarded[i].name, "access beyond the sandbox", err);
        }
    }
    struct json_object *tier = NULL;
    json_object_object_get_ex(body, "verifier_sandbox", &tier);
    if (json_object_is_type(tier, json_type_string) &&
        strcmp(json_object_get_string(tier), "none") == 0) {
        return refuse("verifier_sandbox", "checking conditions without a sandbox", err);
    }
    return 0;
}

/** Whether a real path is a real folder or lies in it. */
static bool is_within(const char *folder, const char *path)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 &&
           (path[len] == '\0' || path[len] == '/' || folder[len - 1] == '/');
}

/** The real path of something that a request names; NULL when there is none. Owned. */
static char *find(const struct start_rights *rights, const char *path)
{
    auto_buf struct buf full = {0};
    if (path[0] != '/') {
        buf_printf(&full, "%s/", rights->workspace);
    }
    buf_append_string(&full, path);
    return realpath(buf_string(&full), NULL);
}

/** The real path of the folder of roles; NULL when there is none. Owned. */
static char *find_roles(const struct start_rights *rights)
{
    const char *slash = rights->store_path == NULL ? NULL : strrchr(rights->store_path, '/');
    auto_buf struct buf folder = {0};
    if (slash == NULL) {
        return NULL;
    }
    buf_append(&folder, rights->store_path, (size_t)(slash - rights->store_path));
    buf_append_string(&folder, "/" ROLES);
    return realpath(buf_string(&folder), NULL);
}

/** Whether runs cannot write a folder: outside of the workspace, or where the sandbox guards it. */
static bool is_guarded(const struct start_rights *rights, const char *folder)
{
    auto_free char *workspace = realpath(rights->workspace, NULL);
    auto_buf struct buf inside = {0};
    buf_printf(&inside, "%s/.rondo/" ROLES, workspace == NULL ? "" : workspace);
    return workspace != NULL &&
           (!is_within(workspace, folder) || strcmp(buf_string(&inside), folder) == 0);
}

static bool is_role(const struct start_rights *rights, const char *path)
{
    auto_free char *roles = find_roles(rights);
    return roles != NULL && is_guarded(rights, roles) && is_within(roles, path);
}

static int check_role_file(const struct start_rights *rights, struct json_object *body,
                           struct rondo_error *err)
{
    struct json_object *value = NULL;
    json_object_object_get_ex(body, "role_file", &value);
    if (!json_object_is_type(value, json_type_string)) {
        return 0;
    }
    auto_free char *real = find(rights, json_object_get_string(value));
    /* One answer for all: nobody learns which files there are. */
    if (real == NULL || !is_role(rights, real)) {
        return refuse("role_file", "a role outside the folder `" ROLES "` next to the store", err);
    }
    json_object_object_add(body, "role_file", json_object_new_string(real));
    return 0;
}

static int check_workspace(const struct start_rights *rights, const char *path,
                           struct rondo_error *err)
{
    auto_free char *real = find(rights, path);
    auto_free char *ours = realpath(rights->workspace, NULL);
    /* Not one below it either: a sandboxed run could put a link in its place. */
    return real != NULL && ours != NULL && strcmp(real, ours) == 0
               ? 0
               : refuse("workspace", "a folder other than the server's workspace", err);
}

int start_rights_check_body(const struct start_rights *rights, struct json_object *body,
                            struct rondo_error *err)
{
    struct json_object *workspace = NULL;
    int r = check_members(body, err);
    r = r < 0 ? r : check_role_file(rights, body, err);
    json_object_object_get_ex(body, "workspace", &workspace);
    if (r == 0 && json_object_is_type(workspace, json_type_string)) {
        r = check_workspace(rights, json_object_get_string(workspace), err);
    }
    return r;
}

/** What a spec has that only the scope administer gives. */
static int check_sandbox(const struct loop_spec *spec, struct rondo_error *err)
{
    bool runs_program = spec->command != NULL || spec->coding != NULL;
    if (runs_program && spec->worker_tier == SANDBOX_NONE) {
        return refuse("sandbox", "a command without a sandbox (give \"namespace\" or \"landlock\")",
                      err);
    }
    if (spec->verifier_tier != SANDBOX_NONE) {
        return 0;
    }
    if (spec->agent != NULL) { /* The prompt decides what its tools do. */
        return refuse("role_file", "a role whose tools have no sandbox", err);
    }
    return spec->condition_count > 0
               ? refuse("verifier_sandbox", "checking conditions without a sandbox", err)
               : 0;
}

int start_rights_check_spec(const struct start_rights *rights, const struct loop_spec *spec,
                            struct rondo_error *err)
{
    int r = check_sandbox(spec, err);
    return r < 0 ? r : check_workspace(rights, spec->workspace, err);
}

/** Whether runs in the server's workspace may write files of another one. */
static bool is_in_reach(const struct start_rights *rights, const char *workspace)
{
    auto_free char *theirs = find(rights, workspace);
    auto_free char *ours = realpath(rights->workspace, NULL);
    return theirs == NULL || ours == NULL || is_within(ours, theirs) || is_within(theirs, ours);
}

int start_rights_check_again(const struct start_rights *rights, const struct loop_spec *spec,
                             struct rondo_error *err)
{
    if (!is_in_reach(rights, spec->workspace)) {
        return 0;
    }
    int r = check_sandbox(spec, err);
    if (r < 0) {
        return r;
    }
    bool has_more = spec->read_paths != NULL || spec->write_paths != NULL ||
                    spec->env_names != NULL || spec->policy != NULL || spec->allow_network != 0;
    return has_more ? refuse("the run", "access beyond the sandbox", err) : 0;
}
