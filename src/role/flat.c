// SPDX-License-Identifier: Apache-2.0
/* From the flat form of a role file to the tree of an envelope. */
#include "role/reader.h"

#include "base/auto.h"
#include "base/text/suggest.h"

#include <string.h>

/** Where a key of the top level belongs. */
static const char *const metadata_keys[] = {"name",         "description", "tags",         "author",
                                            "team",         "version",     "dependencies", "bundle",
                                            "spec_version", NULL};

static const struct {
    const char *flat;
    const char *envelope; /**< its name in `spec` */
} spec_keys[] = {
    {"prompt", "role"},
    {"model", "model"},
    {"output", "output"},
    {"tools", "tools"},
    {"skills", "skills"},
    {"capabilities", "capabilities"},
    {"deps_schema", "deps_schema"},
    {"triggers", "triggers"},
    {"sinks", "sinks"},
    {"ingest", "ingest"},
    {"memory", "memory"},
    {"autonomy", "autonomy"},
    {"reasoning", "reasoning"},
    {"guardrails", "guardrails"},
    {"execution", "execution"},
    {"resources", "resources"},
    {"security", "security"},
    {"observability", "observability"},
    {"auto_skills", "auto_skills"},
    {"tool_search", "tool_search"},
    {"daemon", "daemon"},
    {"policy", "policy"},
};
#define SPEC_KEY_COUNT (sizeof(spec_keys) / sizeof(spec_keys[0]))

/** Keys of documents with several agents. */
static const char *const team_keys[] = {"agents",
                                        "run",
                                        "debate",
                                        "ensemble",
                                        "shared_memory",
                                        "handoff_max_chars",
                                        "durability",
                                        "shared_documents",
                                        NULL};

static bool is_in(const char *const *list, const char *word)
{
    for (; *list != NULL; list++) {
        if (strcmp(*list, word) == 0) {
            return true;
        }
    }
    return false;
}

bool flat_is(const struct yaml_node *root)
{
    return yaml_get(root, "kind") == NULL && yaml_get(root, "name") != NULL &&
           (yaml_get(root, "prompt") != NULL || yaml_get(root, "agents") != NULL ||
            yaml_get(root, "model") != NULL || yaml_get(root, "tools") != NULL);
}

/** A node that the file does not have, at the place of one that it has. */
static struct yaml_node *new_node(struct arena *arena, const struct yaml_node *place,
                                  enum yaml_kind kind)
{
    struct yaml_node *node = arena_new(arena, sizeof(*node));
    *node = (struct yaml_node){.kind = kind, .line = place->line, .column = place->column};
    return node;
}

static struct yaml_node *new_map(struct arena *arena, const struct yaml_node *place, size_t room)
{
    struct yaml_node *map = new_node(arena, place, YAML_MAP);
    map->pairs = arena_new_array(arena, room, sizeof(*map->pairs));
    return map;
}

static struct yaml_node *new_text(struct arena *arena, const struct yaml_node *place,
                                  const char *text)
{
    struct yaml_node *node = new_node(arena, place, YAML_TEXT);
    node->text = text;
    node->len = strlen(text);
    return node;
}

static void add_pair(struct yaml_node *map, struct yaml_node *key, struct yaml_node *value)
{
    map->pairs[map->count++] = (struct yaml_pair){.key = key, .value = value};
}

/** `{shell: {...}}` as `{type: shell, ...}`. */
static struct yaml_node *tool_of_pair(struct arena *arena, const struct yaml_pair *pair)
{
    size_t inner = pair->value->kind == YAML_MAP ? pair->value->count : 0;
    struct yaml_node *tool = new_map(arena, pair->key, inner + 1);
    add_pair(tool, new_text(arena, pair->key, "type"), pair->key);
    for (size_t i = 0; i < inner; i++) {
        tool->pairs[tool->count++] = pair->value->pairs[i];
    }
    return tool;
}

/** One of `tools`: a name, a map with one key, or a map with a `type`. */
static struct yaml_node *expand_tool(struct arena *arena, struct yaml_node *item)
{
    if (item->kind == YAML_TEXT) {
        struct yaml_node *tool = new_map(arena, item, 1);
        add_pair(tool, new_text(arena, item, "type"), item);
        return tool;
    }
    bool is_pair =
        item->kind == YAML_MAP && item->count == 1 && yaml_get(item, "type") == NULL &&
        (item->pairs[0].value->kind == YAML_MAP || item->pairs[0].value->kind == YAML_NULL);
    return is_pair ? tool_of_pair(arena, &item->pairs[0]) : item;
}

static struct yaml_node *expand_tools(struct arena *arena, struct yaml_node *tools)
{
    if (tools->kind != YAML_LIST) {
        return tools;
    }
    struct yaml_node *list = new_node(arena, tools, YAML_LIST);
    list->items = arena_new_array(arena, tools->count + 1, sizeof(struct yaml_node *));
    for (size_t i = 0; i < tools->count; i++) {
        list->items[list->count++] = expand_tool(arena, tools->items[i]);
    }
    return list;
}

/** `provider:name` as a map with the whole as `name`, which the check of models takes apart. */
static struct yaml_node *expand_model(struct arena *arena, struct yaml_node *model)
{
    if (model->kind != YAML_TEXT) {
        return model;
    }
    struct yaml_node *map = new_map(arena, model, 1);
    add_pair(map, new_text(arena, model, "name"), model);
    return map;
}

static void refuse_key(struct role_reader *reader, const struct yaml_node *key)
{
    auto_buf struct buf hint = {0};
    struct suggest suggest = {.word = key->text, .len = key->len};
    for (size_t i = 0; key->kind == YAML_TEXT && metadata_keys[i] != NULL; i++) {
        suggest_offer(&suggest, metadata_keys[i]);
    }
    for (size_t i = 0; key->kind == YAML_TEXT && i < SPEC_KEY_COUNT; i++) {
        suggest_offer(&suggest, spec_keys[i].flat);
    }
    suggest_write(&suggest, "", "", &hint);
    size_t mark = reader_enter(reader, key->text, key->len);
    reader_error(reader, key, hint.len > 2 ? buf_string(&hint) + 2 : NULL,
                 "unknown key; the flat form takes no others than its own");
    reader_leave(reader, mark);
}

/** Put a pair of the top level where it belongs. */
static void place_pair(struct role_reader *reader, struct arena *arena, struct yaml_pair *pair,
                       struct yaml_node *metadata, struct yaml_node *spec)
{
    if (pair->key->kind == YAML_TEXT && is_in(metadata_keys, pair->key->text)) {
        metadata->pairs[metadata->count++] = *pair;
        return;
    }
    for (size_t i = 0; pair->key->kind == YAML_TEXT && i < SPEC_KEY_COUNT; i++) {
        if (strcmp(spec_keys[i].flat, pair->key->text) == 0) {
            struct yaml_node *value = i == 1   ? expand_model(arena, pair->value)
                                      : i == 3 ? expand_tools(arena, pair->value)
                                               : pair->value;
            add_pair(spec, new_text(arena, pair->key, spec_keys[i].envelope), value);
            return;
        }
    }
    refuse_key(reader, pair->key);
}

static bool has_one_agent(struct role_reader *reader, const struct yaml_node *root)
{
    for (size_t i = 0; i < root->count; i++) {
        const struct yaml_node *key = root->pairs[i].key;
        if (key->kind == YAML_TEXT && is_in(team_keys, key->text)) {
            size_t mark = reader_enter(reader, key->text, key->len);
            reader_error(reader, key, "use a file with one agent: `name` and `prompt`",
                         "this is a document with several agents, which rondo does not run");
            reader_leave(reader, mark);
            return false;
        }
    }
    return true;
}

/** `spec_version` is 3 in a flat document, also when it is not given. */
static void check_version(struct role_reader *reader, const struct yaml_node *root,
                          struct arena *arena, struct yaml_node *metadata)
{
    const struct yaml_node *version = yaml_get(root, "spec_version");
    if (version == NULL) {
        struct yaml_node *usual = new_node(arena, root, YAML_INTEGER);
        usual->integer = 3;
        usual->text = "3";
        usual->len = 1;
        add_pair(metadata, new_text(arena, root, "spec_version"), usual);
    } else if (version->kind != YAML_INTEGER || version->integer != 3) {
        size_t mark = reader_enter(reader, "spec_version", strlen("spec_version"));
        reader_error(reader, version, "write 3, or leave it out",
                     "the flat form has the version 3");
        reader_leave(reader, mark);
    }
}

const struct yaml_node *flat_to_envelope(struct role_reader *reader, const struct yaml_node *root,
                                         struct arena *arena)
{
    if (!has_one_agent(reader, root)) {
        return NULL;
    }
    struct yaml_node *metadata = new_map(arena, root, root->count + 1);
    struct yaml_node *spec = new_map(arena, root, root->count + 1);
    for (size_t i = 0; i < root->count; i++) {
        place_pair(reader, arena, &root->pairs[i], metadata, spec);
    }
    check_version(reader, root, arena, metadata);
    struct yaml_node *envelope = new_map(arena, root, 4);
    add_pair(envelope, new_text(arena, root, "apiVersion"), new_text(arena, root, "initrunner/v1"));
    add_pair(envelope, new_text(arena, root, "kind"), new_text(arena, root, "Agent"));
    add_pair(envelope, new_text(arena, root, "metadata"), metadata);
    add_pair(envelope, new_text(arena, root, "spec"), spec);
    reader->is_flat = true;
    return envelope;
}
