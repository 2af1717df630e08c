// SPDX-License-Identifier: Apache-2.0
/*
 * Role files into a flat map by path, so that a circle of roles is no circle here. How deep runs
 * may be nested is a matter of the tool.
 */
#include "agent/spec/delegates_read.h"

#include "agent/spec/delegates.h"
#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "role/role.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** What is known while roles are read. */
struct delegates_reading {
    const struct agent_options *options;
    const struct loop_spec *spec;
    struct json_object *delegates;
    size_t bytes;
    struct rondo_error *err;
};

/* ---- Reading --------------------------------------------------------------------------------- */

static int read_named(const struct delegates_reading *reading, struct json_object *tools,
                      const char *folder);

/** What a delegated run has no use for: nobody starts it by a trigger, and its parent reports. */
static void drop_surroundings(struct json_object *normal)
{
    struct json_object *spec = json_member(normal, "spec");
    json_object_object_add(spec, "triggers", json_object_new_array());
    json_object_object_add(spec, "sinks", json_object_new_array());
}

static int record(struct delegates_reading *reading, const char *path, struct role *role,
                  const char *system)
{
    struct json_object *entry = json_object_new_object();
    struct json_object *normal = NULL;
    if (json_object_deep_copy(role->normal, &normal, NULL) < 0) {
        abort(); /* out of memory */
    }
    drop_surroundings(normal);
    json_object_object_add(entry, "role", normal);
    json_object_object_add(entry, "system", json_object_new_string(system));
    json_object_object_add(reading->delegates, path, entry);
    reading->bytes += strlen(json_object_to_json_string_ext(entry, JSON_C_TO_STRING_PLAIN));
    return reading->bytes <= (size_t)LIMIT_DELEGATES_BYTES
               ? 0
               : error_set(reading->err, RONDO_ERR_LIMIT,
                           "the roles that work can be given to have more than %ld bytes",
                           (long)LIMIT_DELEGATES_BYTES);
}

/** The first error among findings, for a message. */
static const char *first_error(const struct role_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].severity == ROLE_ERROR) {
            return findings->items[i].message;
        }
    }
    return "it is not valid";
}

/** As for the run's own role: protections that are missing, secrets, a person's confirmation. */
static int check_role(const struct delegates_reading *reading, const struct role *role,
                      const struct role_findings *findings, const char *system)
{
    struct agent_options options = *reading->options;
    options.system = system;
    options.findings = findings;
    int r = options.accepts_unprotected ? 0 : agent_check_protected(findings, reading->err);
    r = r < 0 ? r : role_check_secrets(role, reading->err);
    return r < 0 ? r : agent_confirm_role(role, &options, reading->spec, reading->err);
}

static int use_role(struct delegates_reading *reading, const char *path, struct role *role,
                    struct role_findings *findings)
{
    auto_buf struct buf system = {0};
    role_find_unsupported(role, ROLE_ALONE, findings);
    int r = role_resolve_skills(role, NULL, findings, &system, reading->err);
    if (r == 0 && role_findings_errors(findings) > 0) {
        r = error_set(reading->err, RONDO_ERR_INVALID, "%s", first_error(findings));
    }
    r = r < 0 ? r : check_role(reading, role, findings, buf_string(&system));
    r = r < 0 ? r : record(reading, path, role, buf_string(&system));
    return r < 0 ? r : read_named(reading, role->tools, role->folder);
}

static int read_file(struct delegates_reading *reading, const char *path)
{
    struct role_findings findings = {0};
    struct role *role = NULL;
    size_t count = (size_t)json_object_object_length(reading->delegates);
    if (count >= LIMIT_DELEGATES) {
        return error_set(reading->err, RONDO_ERR_LIMIT,
                         "work can be given to at most %d roles, those of others included",
                         LIMIT_DELEGATES);
    }
    int r = role_read(path, ROLE_SCHEMA_1_13, &findings, &role, reading->err);
    if (r == 0 && role == NULL) {
        r = error_set(reading->err, RONDO_ERR_INVALID, "%s", first_error(&findings));
    }
    r = r < 0 ? r : use_role(reading, path, role, &findings);
    if (r < 0) {
        error_prefix(reading->err, "delegate: %s", path);
    }
    role_free(role);
    role_findings_fini(&findings);
    return r;
}

static bool is_inline(struct json_object *tool)
{
    return strcmp(json_get_string(tool, "type", ""), "delegate") == 0 &&
           strcmp(json_get_string(tool, "mode", "inline"), "inline") == 0;
}

static int read_named(const struct delegates_reading *given, struct json_object *tools,
                      const char *folder)
{
    struct delegates_reading *reading = (struct delegates_reading *)given;
    int r = 0;
    for (size_t i = 0; i < json_length(tools) && r == 0; i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        struct json_object *agents = is_inline(tool) ? json_member(tool, "agents") : NULL;
        for (size_t j = 0; j < json_length(agents) && r == 0; j++) {
            const char *file =
                json_get_string(json_object_array_get_idx(agents, j), "role_file", "");
            auto_free char *path = delegates_path(folder, file);
            if (!json_object_object_get_ex(reading->delegates, path, NULL)) {
                r = read_file(reading, path);
            }
        }
    }
    return r;
}

static bool has_inline(struct json_object *tools)
{
    for (size_t i = 0; i < json_length(tools); i++) {
        if (is_inline(json_object_array_get_idx(tools, i))) {
            return true;
        }
    }
    return false;
}

int delegates_read(const struct role *role, const struct agent_options *options,
                   const struct loop_spec *spec, struct json_object **ret_delegates,
                   struct rondo_error *err)
{
    struct delegates_reading reading = {.options = options, .spec = spec, .err = err};
    *ret_delegates = NULL;
    if (!has_inline(role->tools)) {
        return 0;
    }
    if (!options->is_file_named) {
        return error_set(err, RONDO_ERR_DENIED,
                         "a role that gives work to other role files (`delegate`) must be a file "
                         "itself");
    }
    reading.delegates = json_object_new_object();
    int r = read_named(&reading, role->tools, role->folder);
    if (r < 0) {
        json_object_put(reading.delegates);
        return r;
    }
    *ret_delegates = reading.delegates;
    return 0;
}
