// SPDX-License-Identifier: Apache-2.0
/*
 * The servers of a user's rondo.yaml. The file is read once; a server's client is made when it is
 * first asked for, so that one variable that is missing does no harm to the other servers.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/suggest.h"
#include "mcp/config.h"
#include "role/yaml.h"

#include <json-c/json.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX 64
/* Member of a pinned server that no file has. */
#define FOLDER_KEY "folder"

struct shared_server {
    char *name;
    char *folder; /* that its paths are relative to */
    struct json_object *config;
    struct mcp_client *client; /* NULL until it is asked for */
};

struct mcp_shared {
    char *path;
    const struct tool_surroundings *surroundings;
    pthread_mutex_t lock; /* of the clients */
    struct shared_server *servers;
    size_t count;
};

/* --- what an entry may say --- */

enum config_shape {
    SHAPE_TEXT,
    SHAPE_NUMBER,
    SHAPE_BOOLEAN,
    SHAPE_TEXTS, /* a list of texts */
    SHAPE_MAP,   /* from names to texts */
};

static const struct config_key {
    const char *name;
    enum config_shape shape;
} keys[] = {
    {"transport", SHAPE_TEXT},
    {"command", SHAPE_TEXT},
    {"args", SHAPE_TEXTS},
    {"url", SHAPE_TEXT},
    {"headers", SHAPE_MAP},
    {"env", SHAPE_MAP},
    {"cwd", SHAPE_TEXT},
    {"sandbox", SHAPE_TEXT},
    {"network", SHAPE_BOOLEAN},
    {"read", SHAPE_TEXTS},
    {"write", SHAPE_TEXTS},
    {"tool_filter", SHAPE_TEXTS},
    {"tool_exclude", SHAPE_TEXTS},
    {"tool_prefix", SHAPE_TEXT},
    {"max_retries", SHAPE_NUMBER},
    {"timeout", SHAPE_NUMBER},
    {"timeout_seconds", SHAPE_NUMBER},
};

static const char *const shape_names[] = {
    [SHAPE_TEXT] = "a string",
    [SHAPE_NUMBER] = "a number",
    [SHAPE_BOOLEAN] = "true or false",
    [SHAPE_TEXTS] = "a list of strings",
    [SHAPE_MAP] = "a mapping from names to texts",
};

/* A file while it is being read. */
struct servers_reading {
    const char *path;
    const char *server;
    struct rondo_error *err;
};

static int fault_at(const struct servers_reading *reading, const struct yaml_node *node,
                    const char *text)
{
    return error_set(reading->err, RONDO_ERR_INVALID, "%s:%zu:%zu: mcp_servers%s%s: %s",
                     reading->path, node->line, node->column, reading->server[0] == '\0' ? "" : ".",
                     reading->server, text);
}

static bool is_scalar(const struct yaml_node *node)
{
    return node->kind != YAML_LIST && node->kind != YAML_MAP && node->kind != YAML_NULL;
}

static bool has_shape(const struct yaml_node *node, enum config_shape shape)
{
    switch (shape) {
    case SHAPE_TEXT:
        return node->kind == YAML_TEXT;
    case SHAPE_NUMBER:
        return (node->kind == YAML_INTEGER && node->integer >= 0) ||
               (node->kind == YAML_NUMBER && node->number >= 0);
    case SHAPE_BOOLEAN:
        return node->kind == YAML_BOOLEAN;
    case SHAPE_TEXTS:
    case SHAPE_MAP:
        break;
    }
    if (node->kind != (shape == SHAPE_TEXTS ? YAML_LIST : YAML_MAP)) {
        return false;
    }
    for (size_t i = 0; i < node->count; i++) {
        if (!is_scalar(shape == SHAPE_TEXTS ? node->items[i] : node->pairs[i].value)) {
            return false;
        }
    }
    return true;
}

/** A scalar of a list or map is meant as it was written: `PORT: 8080` is the text 8080. */
static struct json_object *scalar_text(const struct yaml_node *node)
{
    return json_object_new_string_len(node->text, (int)node->len);
}

static struct json_object *to_json(const struct yaml_node *node, enum config_shape shape)
{
    struct json_object *value = NULL;
    switch (shape) {
    case SHAPE_TEXT:
        return scalar_text(node);
    case SHAPE_NUMBER:
        return node->kind == YAML_INTEGER ? json_object_new_int64(node->integer)
                                          : json_object_new_double(node->number);
    case SHAPE_BOOLEAN:
        return json_object_new_boolean(node->boolean);
    case SHAPE_TEXTS:
        value = json_object_new_array();
        for (size_t i = 0; i < node->count; i++) {
            json_object_array_add(value, scalar_text(node->items[i]));
        }
        return value;
    case SHAPE_MAP:
        value = json_object_new_object();
        for (size_t i = 0; i < node->count; i++) {
            json_object_object_add(value, node->pairs[i].key->text,
                                   scalar_text(node->pairs[i].value));
        }
        return value;
    }
    return value;
}

static int unknown_key(const struct servers_reading *reading, const struct yaml_node *key)
{
    struct suggest suggest = {.word = key->text, .len = key->len};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        suggest_offer(&suggest, keys[i].name);
    }
    auto_buf struct buf text = {0};
    buf_printf(&text, "`%.60s` is not a setting of a server", key->text);
    suggest_write(&suggest, "`", "`", &text);
    return fault_at(reading, key, buf_string(&text));
}

static int take_setting(const struct servers_reading *reading, const struct yaml_pair *pair,
                        struct json_object *config)
{
    if (pair->repeated != NULL) {
        return fault_at(reading, pair->key, "the setting is given twice");
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i].name, pair->key->text) != 0) {
            continue;
        }
        if (pair->value->kind == YAML_NULL) {
            return 0;
        }
        if (!has_shape(pair->value, keys[i].shape)) {
            auto_buf struct buf text = {0};
            buf_printf(&text, "`%s` must be %s, not ", keys[i].name, shape_names[keys[i].shape]);
            yaml_describe(pair->value, &text);
            return fault_at(reading, pair->value, buf_string(&text));
        }
        json_object_object_add(config, keys[i].name, to_json(pair->value, keys[i].shape));
        return 0;
    }
    return unknown_key(reading, pair->key);
}

/** What a server must say, and may not say together. */
static int check_config(const struct servers_reading *reading, const struct yaml_node *node,
                        struct json_object *config)
{
    const char *transport = json_get_string(config, "transport", NULL);
    bool has_command = json_get_string(config, "command", NULL) != NULL;
    bool has_url = json_get_string(config, "url", NULL) != NULL;
    if (transport != NULL && strcmp(transport, "stdio") != 0 && strcmp(transport, "sse") != 0 &&
        strcmp(transport, "streamable-http") != 0) {
        return fault_at(reading, yaml_get(node, "transport"),
                        "`transport` must be stdio, sse or streamable-http");
    }
    const char *sandbox = json_get_string(config, "sandbox", "none");
    enum sandbox_tier tier;
    if (!sandbox_tier_from_name(sandbox, &tier)) {
        return fault_at(reading, yaml_get(node, "sandbox"),
                        "`sandbox` must be namespace, landlock or none");
    }
    bool wants_url = transport == NULL ? !has_command : strcmp(transport, "stdio") != 0;
    if (wants_url && !has_url) {
        return fault_at(reading, node,
                        transport == NULL ? "it needs a `command` or a `url`"
                                          : "this transport needs a `url`");
    }
    if (!wants_url && !has_command) {
        return fault_at(reading, node, "transport stdio needs a `command`");
    }
    if (json_object_object_get_ex(config, "tool_filter", NULL) &&
        json_object_object_get_ex(config, "tool_exclude", NULL)) {
        return fault_at(reading, node, "only one of `tool_filter` and `tool_exclude` is possible");
    }
    return 0;
}

static int read_server(const struct servers_reading *reading, const struct yaml_node *node,
                       struct json_object **ret_config)
{
    if (node->kind != YAML_MAP) {
        return fault_at(reading, node, "must be a mapping of settings (command, url, ...)");
    }
    auto_json struct json_object *config = json_object_new_object();
    int r = 0;
    for (size_t i = 0; r == 0 && i < node->count; i++) {
        r = take_setting(reading, &node->pairs[i], config);
    }
    if (r == 0) {
        r = check_config(reading, node, config);
    }
    if (r == 0) {
        *ret_config = json_object_get(config);
    }
    return r;
}

/* --- the file --- */

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL   ? memory_dup_string(".")
           : slash == path ? memory_dup_string("/")
                           : memory_dup_bytes(path, (size_t)(slash - path));
}

static int read_servers(struct mcp_shared *shared, struct servers_reading *reading,
                        const struct yaml_node *node)
{
    if (node == NULL || node->kind == YAML_NULL) {
        return 0;
    }
    if (node->kind != YAML_MAP) {
        return fault_at(reading, node, "must be a mapping from names to servers");
    }
    if (node->count > SERVERS_MAX) {
        return fault_at(reading, node, "these are more than 64 servers");
    }
    shared->servers = memory_new_zero(node->count + 1, sizeof(*shared->servers));
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_pair *pair = &node->pairs[i];
        struct shared_server *server = &shared->servers[shared->count];
        reading->server = pair->key->text;
        int r = pair->repeated != NULL ? fault_at(reading, pair->key, "is given twice")
                                       : read_server(reading, pair->value, &server->config);
        if (r != 0) {
            return r;
        }
        server->name = memory_dup_string(pair->key->text);
        server->folder = folder_of(shared->path);
        shared->count++;
    }
    return 0;
}

static int read_text(struct mcp_shared *shared, const char *text, size_t len,
                     struct rondo_error *err)
{
    struct arena arena = {0};
    struct yaml_problem problem = {0};
    struct yaml_node *root = NULL;
    struct servers_reading reading = {.path = shared->path, .server = "", .err = err};
    int r = yaml_read(text, len, 1, &arena, &root, &problem);
    if (r != 0) {
        error_set(err, r, "%s:%zu:%zu: %s", shared->path, problem.line, problem.column,
                  problem.message);
    } else if (root != NULL && root->kind != YAML_MAP && root->kind != YAML_NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "%s:%zu:%zu: must be a mapping", shared->path,
                      root->line, root->column);
    } else if (root != NULL && root->kind == YAML_MAP) {
        r = read_servers(shared, &reading, yaml_get(root, "mcp_servers"));
    }
    arena_fini(&arena);
    return r;
}

int mcp_shared_parse(const char *path, const char *text, size_t len,
                     const struct tool_surroundings *surroundings, struct mcp_shared **ret_shared,
                     struct rondo_error *err)
{
    struct mcp_shared *shared = memory_new_zero(1, sizeof(*shared));
    shared->path = memory_dup_string(path);
    shared->surroundings = surroundings;
    pthread_mutex_init(&shared->lock, NULL);
    int r = len == 0 ? 0 : read_text(shared, text, len, err);
    if (r != 0) {
        mcp_shared_free(shared);
        return r;
    }
    *ret_shared = shared;
    return 0;
}

void mcp_shared_free(struct mcp_shared *shared)
{
    if (shared == NULL) {
        return;
    }
    for (size_t i = 0; i < shared->count; i++) {
        mcp_client_free(shared->servers[i].client);
        json_object_put(shared->servers[i].config);
        free(shared->servers[i].name);
        free(shared->servers[i].folder);
    }
    pthread_mutex_destroy(&shared->lock);
    free(shared->servers);
    free(shared->path);
    free(shared);
}

size_t mcp_shared_count(const struct mcp_shared *shared)
{
    return shared->count;
}

const char *mcp_shared_name(const struct mcp_shared *shared, size_t index)
{
    return shared->servers[index].name;
}

struct json_object *mcp_shared_config(const struct mcp_shared *shared, size_t index)
{
    return shared->servers[index].config;
}

static int no_such_server(const struct mcp_shared *shared, const char *name,
                          struct rondo_error *err)
{
    auto_buf struct buf names = {0};
    for (size_t i = 0; i < shared->count; i++) {
        buf_printf(&names, "%s%s", i == 0 ? "" : ", ", shared->servers[i].name);
    }
    return error_set(err, RONDO_ERR_NOT_FOUND, "%s registers no MCP server \"%s\"; it has: %s",
                     shared->path, name, names.len == 0 ? "none" : buf_string(&names));
}

int mcp_shared_pin(const struct mcp_shared *shared, const char *name, struct json_object *servers,
                   struct rondo_error *err)
{
    for (size_t i = 0; i < shared->count; i++) {
        const struct shared_server *server = &shared->servers[i];
        if (strcmp(server->name, name) == 0) {
            struct json_object *copy = NULL;
            json_object_deep_copy(server->config, &copy, NULL);
            json_object_object_add(copy, FOLDER_KEY, json_object_new_string(server->folder));
            json_object_object_add(servers, name, copy);
            return 0;
        }
    }
    return no_such_server(shared, name, err);
}

struct mcp_shared *mcp_shared_pinned(struct json_object *servers,
                                     const struct tool_surroundings *surroundings)
{
    struct mcp_shared *shared = memory_new_zero(1, sizeof(*shared));
    size_t room = (size_t)json_object_object_length(servers);
    shared->path = memory_dup_string("the run");
    shared->surroundings = surroundings;
    shared->servers = memory_new_zero(room + 1, sizeof(*shared->servers));
    pthread_mutex_init(&shared->lock, NULL);
    struct json_object_iter member;
    json_object_object_foreachC(servers, member)
    {
        shared->servers[shared->count++] = (struct shared_server){
            .name = memory_dup_string(member.key),
            .folder = memory_dup_string(json_get_string(member.val, FOLDER_KEY, NULL)),
            .config = json_object_get(member.val),
        };
    }
    return shared;
}

int mcp_shared_client(struct mcp_shared *shared, const char *name, struct mcp_client **ret_client,
                      struct rondo_error *err)
{
    for (size_t i = 0; i < shared->count; i++) {
        struct shared_server *server = &shared->servers[i];
        if (strcmp(server->name, name) != 0) {
            continue;
        }
        int r = 0;
        pthread_mutex_lock(&shared->lock);
        if (server->client == NULL) {
            r = mcp_client_from_config(server->config, name, server->folder, shared->surroundings,
                                       &server->client, err);
        }
        if (r == 0) {
            *ret_client = server->client;
        }
        pthread_mutex_unlock(&shared->lock);
        return r;
    }
    return no_such_server(shared, name, err);
}
