// SPDX-License-Identifier: Apache-2.0
/* Roles that work is given to, as a run has recorded them, and runs of them. */
#include "agent/spec/delegates.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "role/role.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *delegates_path(const char *folder, const char *file)
{
    struct buf path = {0};
    if (file[0] != '/') {
        buf_printf(&path, "%s/", folder == NULL ? "" : folder);
    }
    buf_append_string(&path, file);
    return buf_steal(&path);
}

static const char *json_text(struct json_object *object)
{
    return json_object_to_json_string_ext(object,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

int delegates_visit(struct json_object *delegates,
                    int (*visit)(struct json_object *tools, void *context), void *context)
{
    if (delegates == NULL) {
        return 0;
    }
    int r = 0;
    struct json_object_iterator end = json_object_iter_end(delegates);
    struct json_object_iterator at = json_object_iter_begin(delegates);
    for (; r >= 0 && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *role = json_member(json_object_iter_peek_value(&at), "role");
        r = visit(json_member(json_member(role, "spec"), "tools"), context);
    }
    return r;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/** Have the role keep its memories where the others do. */
static void share_memory(struct json_object *normal, const char *path, int64_t most)
{
    struct json_object *spec = json_member(normal, "spec");
    struct json_object *memory = json_member(spec, "memory");
    if (memory == NULL) {
        memory = json_object_new_object();
        json_object_object_add(spec, "memory", memory);
    }
    struct json_object *semantic = json_member(memory, "semantic");
    if (semantic == NULL) {
        semantic = json_object_new_object();
        json_object_object_add(memory, "semantic", semantic);
    }
    json_object_object_add(memory, "store_path", json_object_new_string(path));
    json_object_object_add(semantic, "max_memories", json_object_new_int64(most));
}

static struct json_object *write_delegated(const struct delegated_run *run)
{
    struct json_object *delegated = json_object_new_object();
    json_object_object_add(delegated, "parent", json_object_new_string(run->parent));
    json_object_object_add(delegated, "depth", json_object_new_int64(run->depth));
    return delegated;
}

static int complete(const struct delegated_run *run, struct loop_spec *spec,
                    struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(spec->agent, strlen(spec->agent), &root, err);
    if (r < 0) {
        return r;
    }
    json_object_object_add(root, AGENT_DELEGATED, write_delegated(run));
    json_object_object_add(root, AGENT_DELEGATES, json_object_get(run->delegates));
    if (run->servers != NULL) {
        json_object_object_add(root, AGENT_SERVERS, json_object_get(run->servers));
    }
    free(spec->agent);
    spec->agent = memory_dup_string(json_text(root));
    return 0;
}

static char *write_origin(const struct delegated_run *run)
{
    struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "kind", "delegate");
    json_write_string(&writer, "source", run->parent);
    json_end_object(&writer);
    return buf_steal(&json);
}

int delegates_spec(const struct delegated_run *run, struct loop_spec *ret_spec,
                   struct rondo_error *err)
{
    struct json_object *entry = json_member(run->delegates, run->path);
    struct json_object *normal = NULL;
    struct role *role = NULL;
    if (entry == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "the run has no role %s", run->path);
    }
    if (json_object_deep_copy(json_member(entry, "role"), &normal, NULL) < 0) {
        abort(); /* out of memory */
    }
    if (run->memory_path != NULL) {
        share_memory(normal, run->memory_path, run->max_memories);
    }
    int r = role_from_object(normal, run->path, &role, err);
    json_object_put(normal);
    if (r < 0) {
        return r;
    }
    struct role_findings findings = {0};
    role_find_unprotected(role, &findings);
    const struct agent_options options = {
        .mode = AGENT_SINGLE,
        .prompt = run->prompt,
        .workspace = run->workspace,
        .system = json_get_string(entry, "system", ""),
        .prices_file = run->prices_file,
        .findings = &findings,
        .accepts_unprotected = run->accepts_unprotected,
        .is_delegated = true,
    };
    r = agent_spec(role, &options, ret_spec, err);
    role_findings_fini(&findings);
    role_free(role);
    if (r == 0) {
        ret_spec->origin = write_origin(run);
        r = complete(run, ret_spec, err);
        if (r < 0) {
            loop_spec_fini(ret_spec);
        }
    }
    return r;
}

bool delegates_find_parent(const struct loop_spec *spec, char *ret_parent)
{
    auto_json struct json_object *root = NULL;
    if (spec->agent == NULL || strstr(spec->agent, "\"" AGENT_DELEGATED "\"") == NULL ||
        json_parse(spec->agent, strlen(spec->agent), &root, NULL) < 0) {
        return false;
    }
    struct json_object *delegated = json_member(root, AGENT_DELEGATED);
    if (delegated != NULL) {
        snprintf(ret_parent, ID_SIZE, "%s", json_get_string(delegated, "parent", ""));
    }
    return delegated != NULL;
}
