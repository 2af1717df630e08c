// SPDX-License-Identifier: Apache-2.0
/* Reading `spec.memory`. Pure. */
#include "agent/memory/settings.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "memory/memory.h"
#include "role/role.h"

#include <stdlib.h>
#include <string.h>

/** Episodes of one batch, whatever a role says. */
#define EPISODES_MAX 200
/** Messages of a resumed conversation, whatever a role says. */
#define RESUME_MESSAGES_MAX 10000
/** Conversations that stay open, whatever a role says. */
#define SESSIONS_MAX 1000

/** Roles with the same `store_path` share memories: by the name of the file, without its ending. */
static char *owner_of(struct json_object *section, const char *agent_id)
{
    const char *path = json_get_string(section, "store_path", NULL);
    struct buf owner = {0};
    if (path == NULL || path[0] == '\0') {
        return memory_dup_string(agent_id);
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t len = strcspn(name, ".");
    size_t room = LIMIT_MEMORY_OWNER_LEN - strlen("shared:");
    buf_append_string(&owner, "shared:");
    buf_append(&owner, name, len < room ? len : room);
    return buf_steal(&owner);
}

static uint64_t clamp(int64_t value, uint64_t most)
{
    return value < 1 ? 1 : (uint64_t)value > most ? most : (uint64_t)value;
}

static void read_kind(struct json_object *section, const char *name, const char *limit,
                      enum store_memory_kind kind, struct memory_settings *settings)
{
    struct json_object *part = json_member(section, name);
    settings->is_enabled[kind] = json_get_bool(part, "enabled", true);
    settings->keep[kind] = clamp(json_get_int(part, limit, MEMORIES_KEPT), MEMORIES_KEPT);
}

static enum memory_consolidation interval_of(struct json_object *part)
{
    const char *interval = json_get_string(part, "interval", "after_session");
    return strcmp(interval, "manual") == 0             ? CONSOLIDATE_MANUALLY
           : strcmp(interval, "after_autonomous") == 0 ? CONSOLIDATE_AFTER_AUTONOMOUS
                                                       : CONSOLIDATE_AFTER_SESSION;
}

static void read_consolidation(struct json_object *part, struct memory_settings *settings)
{
    const char *model = json_get_string(part, "model_override", NULL);
    bool is_possible = settings->is_enabled[STORE_EPISODIC] && settings->is_enabled[STORE_SEMANTIC];
    settings->consolidation =
        is_possible && json_get_bool(part, "enabled", true) ? interval_of(part) : CONSOLIDATE_NEVER;
    settings->consolidation_episodes =
        clamp(json_get_int(part, "max_episodes_per_run", 20), EPISODES_MAX);
    settings->consolidation_model =
        model == NULL || model[0] == '\0' ? NULL : memory_dup_string(model);
}

int memory_settings_read(const struct role *role, const char *agent_id,
                         struct memory_settings *ret_settings)
{
    struct json_object *section = json_member(json_member(role->normal, "spec"), "memory");
    if (section == NULL) {
        return 0;
    }
    *ret_settings = (struct memory_settings){.owner = owner_of(section, agent_id)};
    read_kind(section, "episodic", "max_episodes", STORE_EPISODIC, ret_settings);
    read_kind(section, "semantic", "max_memories", STORE_SEMANTIC, ret_settings);
    read_kind(section, "procedural", "max_procedures", STORE_PROCEDURAL, ret_settings);
    read_consolidation(json_member(section, "consolidation"), ret_settings);
    embedding_settings_read(role, json_member(section, "embeddings"), &ret_settings->embeddings);
    ret_settings->resume_messages =
        (int64_t)clamp(json_get_int(section, "max_resume_messages", 20), RESUME_MESSAGES_MAX);
    ret_settings->sessions = clamp(json_get_int(section, "max_sessions", 10), SESSIONS_MAX);
    return 1;
}

void memory_settings_fini(struct memory_settings *settings)
{
    free(settings->owner);
    free(settings->consolidation_model);
    embedding_settings_fini(&settings->embeddings);
    *settings = (struct memory_settings){0};
}
