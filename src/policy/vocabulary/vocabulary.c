// SPDX-License-Identifier: Apache-2.0
/*
 * The vocabulary as tables. What the schema, the reference and the lint say comes from here, and so
 * does the context that the runtime builds; a word that is not in a row does not exist. Never holds
 * state; any thread.
 */
#include "policy/vocabulary/vocabulary_table.h"

#include <string.h>

#define ALL VOCABULARY_ALL_ACTIONS
#define MEMORY_ACTIONS \
    (VOCABULARY_ACTION_BIT(ACTION_REMEMBER) | VOCABULARY_ACTION_BIT(ACTION_RECALL))

static const struct {
    const char *name;
    enum vocabulary_owner resource;
    const char *group; /* id of VOCABULARY_GROUP_TYPE */
    const char *help;
} actions[VOCABULARY_ACTION_COUNT] = {
    [ACTION_ITERATE] = {"iterate", OWNER_RUN, VOCABULARY_GROUP_ID,
                        "begin the next iteration of the run"},
    [ACTION_CALL_MODEL] = {"call_model", OWNER_MODEL, NULL, "send a request to a model"},
    [ACTION_CALL_TOOL] = {"call_tool", OWNER_TOOL, NULL, "call a tool with arguments"},
    [ACTION_REMEMBER] = {"remember", OWNER_MEMORY, NULL, "store a memory"},
    [ACTION_RECALL] = {"recall", OWNER_MEMORY, NULL, "see a memory that was stored before"},
    [ACTION_VERIFY] = {"verify", OWNER_RUN, NULL, "evaluate one exit condition"},
    [ACTION_CHECKPOINT] = {"checkpoint", OWNER_RUN, NULL, "save the agent's state on demand"},
    [ACTION_FINISH] = {"finish", OWNER_RUN, NULL, "end the run as the agent requests"},
};

static const struct vocabulary_entity entities[VOCABULARY_OWNER_COUNT] = {
    [OWNER_AGENT] = {"Agent", OWNER_GROUP, true,
                     "The principal of every request. Its id is the run's agent id."},
    [OWNER_GROUP] = {"Group", OWNER_GROUP, true, "Agents that belong together."},
    [OWNER_RUN] = {"Run", OWNER_NONE, false, "One execution of a loop. Its id is the run id."},
    [OWNER_TOOL] = {"Tool", OWNER_TOOL_GROUP, true, "A tool. Its id is its name."},
    [OWNER_TOOL_GROUP] = {"ToolGroup", OWNER_TOOL_GROUP, false, "Tools that belong together."},
    [OWNER_MODEL] = {"Model", OWNER_NONE, false, "A language model. Its id is its name."},
    [OWNER_MEMORY] = {"Memory", OWNER_NONE, false,
                      "The memories of an agent, or those that agents share. Its id is the agent's "
                      "id, or `shared:NAME`."},
    [OWNER_ACTION] = {"Action", OWNER_NONE, false, "What an agent requests to do."},
};

#define CONTEXT(kind_, name_, help_)                               \
    {                                                              \
        OWNER_CONTEXT, ALL, name_, kind_, OWNER_NONE, false, help_ \
    }
#define RECORD(of_, name_, help_)                                  \
    {                                                              \
        OWNER_CONTEXT, ALL, name_, CEDAR_RECORD, of_, false, help_ \
    }
#define ATTRIBUTE(owner_, kind_, name_, help_)              \
    {                                                       \
        owner_, ALL, name_, kind_, OWNER_NONE, false, help_ \
    }
#define OPTIONAL(owner_, kind_, name_, help_)              \
    {                                                      \
        owner_, ALL, name_, kind_, OWNER_NONE, true, help_ \
    }

/* Rows of the context come first, by enum vocabulary_context; rows of one owner are together. */
static const struct vocabulary_attribute attributes[] = {
    [CONTEXT_ITERATION] =
        CONTEXT(CEDAR_LONG, "iteration", "iterations completed so far; 0 before the first one"),
    [CONTEXT_ELAPSED_S] = CONTEXT(CEDAR_LONG, "elapsed_s", "seconds that the run was active"),
    [CONTEXT_TOKENS] = CONTEXT(CEDAR_LONG, "tokens", "tokens used so far"),
    [CONTEXT_COST_USD] = CONTEXT(CEDAR_DECIMAL, "cost_usd", "money spent so far, in US dollars"),
    [CONTEXT_CONSECUTIVE_FAILURES] =
        CONTEXT(CEDAR_LONG, "consecutive_failures", "consecutive failed iterations"),
    [CONTEXT_CONDITIONS_MET] =
        CONTEXT(CEDAR_LONG, "conditions_met", "exit conditions met in the latest verification"),
    [CONTEXT_CONDITIONS_TOTAL] = CONTEXT(CEDAR_LONG, "conditions_total", "all exit conditions"),
    [CONTEXT_APPROVED] = CONTEXT(CEDAR_BOOL, "approved", "a person has approved this step"),
    [CONTEXT_NOW] = CONTEXT(CEDAR_DATETIME, "now", "time of the request, UTC"),
    [CONTEXT_WEEKDAY] = CONTEXT(CEDAR_LONG, "weekday", "1 = Monday to 7 = Sunday, UTC"),
    [CONTEXT_SYSTEM] = RECORD(OWNER_SYSTEM, "system", "the time, in the form that AgentCore uses"),
    [CONTEXT_INPUT] = RECORD(
        OWNER_INPUT, "input",
        "arguments of the tool in canonical form; for `iterate` the iteration; for `remember` and "
        "`recall` what the memory is; otherwise empty"),
    [CONTEXT_RAW] =
        RECORD(OWNER_INPUT, "raw", "the arguments as the agent wrote them, not resolved"),
    [CONTEXT_CONDITION] = {OWNER_CONTEXT, VOCABULARY_ACTION_BIT(ACTION_VERIFY), "condition",
                           CEDAR_STRING, OWNER_NONE, false, "name of the exit condition"},
    ATTRIBUTE(OWNER_SYSTEM, CEDAR_DATETIME, "now", "time of the request, UTC"),
    {OWNER_INPUT, VOCABULARY_ACTION_BIT(ACTION_ITERATE), "iteration", CEDAR_LONG, OWNER_NONE, false,
     "the same as `context.iteration`"},
    {OWNER_INPUT, MEMORY_ACTIONS, "kind", CEDAR_STRING, OWNER_NONE, false,
     "\"episodic\", \"semantic\" or \"procedural\""},
    {OWNER_INPUT, MEMORY_ACTIONS, "category", CEDAR_STRING, OWNER_NONE, false,
     "category of the memory, such as \"general\""},
    ATTRIBUTE(OWNER_AGENT, CEDAR_LONG, "trust", "how far the agent is trusted; 0 unless set"),
    ATTRIBUTE(OWNER_AGENT, CEDAR_STRING, "environment",
              "its environment, such as \"production\"; \"\" unless set"),
    OPTIONAL(OWNER_AGENT, CEDAR_LONG, "max_iterations", "iterations that a run may take"),
    OPTIONAL(OWNER_AGENT, CEDAR_LONG, "max_tokens", "tokens that a run may use"),
    OPTIONAL(OWNER_AGENT, CEDAR_DECIMAL, "max_cost_usd", "US dollars that a run may cost"),
    OPTIONAL(OWNER_AGENT, CEDAR_LONG, "max_elapsed_s", "seconds that a run may be active"),
    {OWNER_RUN, ALL, "agent", CEDAR_ENTITY, OWNER_AGENT, false,
     "the agent that the run belongs to"},
    ATTRIBUTE(OWNER_RUN, CEDAR_STRING, "kind", "kind of body: \"command\", \"library\", \"role\""),
    ATTRIBUTE(OWNER_RUN, CEDAR_STRING, "workspace", "folder of the run"),
    OPTIONAL(OWNER_RUN, CEDAR_LONG, "max_iterations", "limit in the run's own options"),
    OPTIONAL(OWNER_RUN, CEDAR_LONG, "max_tokens", "limit in the run's own options, in tokens"),
    OPTIONAL(OWNER_RUN, CEDAR_DECIMAL, "max_cost_usd",
             "limit in the run's own options, in US dollars"),
    OPTIONAL(OWNER_RUN, CEDAR_LONG, "max_elapsed_s",
             "limit in the run's own options, in active seconds"),
    ATTRIBUTE(OWNER_TOOL, CEDAR_STRING, "server", "server that offers the tool; \"\" = built in"),
    ATTRIBUTE(OWNER_TOOL, CEDAR_BOOL, "read_only", "whether the tool is declared as read-only"),
    ATTRIBUTE(OWNER_TOOL, CEDAR_BOOL, "needs_confirmation",
              "whether the role wants a person's approval of each call"),
    ATTRIBUTE(OWNER_MODEL, CEDAR_STRING, "provider", "provider of the model"),
};
#define ATTRIBUTE_COUNT (sizeof(attributes) / sizeof(attributes[0]))

/** Whether a row's name is these bytes. */
static bool is_name(const char *own, const char *name, size_t len)
{
    return strlen(own) == len && memcmp(own, name, len) == 0;
}

const char *vocabulary_action_name(enum vocabulary_action action)
{
    return actions[action].name;
}

bool vocabulary_action_from_name(const char *name, enum vocabulary_action *ret_action)
{
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            *ret_action = i;
            return true;
        }
    }
    return false;
}

const char *vocabulary_action_help(enum vocabulary_action action)
{
    return actions[action].help;
}

const char *vocabulary_action_resource(enum vocabulary_action action)
{
    return entities[actions[action].resource].name;
}

enum vocabulary_owner vocabulary_resource_owner(enum vocabulary_action action)
{
    return actions[action].resource;
}

const char *vocabulary_action_group(enum vocabulary_action action)
{
    return actions[action].group;
}

unsigned vocabulary_actions_equal(const char *type, const char *id, size_t len)
{
    unsigned mask = 0;
    bool is_own = strcmp(type, entities[OWNER_ACTION].name) == 0;
    for (enum vocabulary_action i = 0; is_own && i < VOCABULARY_ACTION_COUNT; i++) {
        mask |= is_name(actions[i].name, id, len) ? VOCABULARY_ACTION_BIT(i) : 0;
    }
    return mask;
}

unsigned vocabulary_actions_in(const char *type, const char *id, size_t len)
{
    unsigned mask = vocabulary_actions_equal(type, id, len);
    bool is_group_type = strcmp(type, VOCABULARY_GROUP_TYPE) == 0;
    for (enum vocabulary_action i = 0; is_group_type && i < VOCABULARY_ACTION_COUNT; i++) {
        bool is_in = actions[i].group != NULL && is_name(actions[i].group, id, len);
        mask |= is_in ? VOCABULARY_ACTION_BIT(i) : 0;
    }
    return mask;
}

const char *vocabulary_context_name(enum vocabulary_context attribute)
{
    return attributes[attribute].name;
}

bool vocabulary_has_context(enum vocabulary_action action, enum vocabulary_context attribute)
{
    return (attributes[attribute].actions & VOCABULARY_ACTION_BIT(action)) != 0;
}

const struct vocabulary_entity *vocabulary_entity(enum vocabulary_owner owner)
{
    return &entities[owner];
}

enum vocabulary_owner vocabulary_entity_from_name(const char *name, size_t len)
{
    for (enum vocabulary_owner i = OWNER_AGENT; i < VOCABULARY_OWNER_COUNT; i++) {
        if (is_name(entities[i].name, name, len)) {
            return i;
        }
    }
    return OWNER_NONE;
}

bool vocabulary_can_be_in(enum vocabulary_owner owner, enum vocabulary_owner ancestor)
{
    return owner == ancestor || entities[owner].parents == ancestor;
}

bool vocabulary_is_foreign(const char *type, size_t len)
{
    static const char prefix[] = "AgentCore::";
    return len >= sizeof(prefix) - 1 && memcmp(type, prefix, sizeof(prefix) - 1) == 0;
}

const struct vocabulary_attribute *vocabulary_attribute_at(size_t index)
{
    return index < ATTRIBUTE_COUNT ? &attributes[index] : NULL;
}

const struct vocabulary_attribute *vocabulary_attribute_find(enum vocabulary_owner owner,
                                                             enum vocabulary_action action,
                                                             const char *name, size_t len)
{
    for (size_t i = 0; i < ATTRIBUTE_COUNT; i++) {
        const struct vocabulary_attribute *row = &attributes[i];
        if (row->owner == owner && (row->actions & VOCABULARY_ACTION_BIT(action)) != 0 &&
            is_name(row->name, name, len)) {
            return row;
        }
    }
    return NULL;
}

unsigned vocabulary_attribute_ordinal(const struct vocabulary_attribute *attribute)
{
    size_t index = (size_t)(attribute - attributes);
    size_t first = index;
    while (first > 0 && attributes[first - 1].owner == attribute->owner) {
        first--;
    }
    return (unsigned)(index - first);
}

bool vocabulary_is_open(enum vocabulary_owner owner, enum vocabulary_action action)
{
    return owner == OWNER_INPUT && action == ACTION_CALL_TOOL;
}

const char *vocabulary_type_name(enum cedar_kind kind)
{
    static const char *const names[] = {
        [CEDAR_BOOL] = "Bool",         [CEDAR_LONG] = "Long", [CEDAR_STRING] = "String",
        [CEDAR_ENTITY] = "entity",     [CEDAR_SET] = "Set",   [CEDAR_RECORD] = "Record",
        [CEDAR_DECIMAL] = "decimal",   [CEDAR_IP] = "ipaddr", [CEDAR_DATETIME] = "datetime",
        [CEDAR_DURATION] = "duration",
    };
    return names[kind];
}
