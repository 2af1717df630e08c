// SPDX-License-Identifier: Apache-2.0
/* Reading the file of repositories. A person wrote it; it is checked as a whole before any work. */
#include "cli/commands/work/file.h"
#include "cli/commands/work/site.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "cli/framework/command.h"
#include "cli/framework/config.h"
#include "os/file_untrusted.h"
#include "role/yaml.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct work_file {
    char *path;   /* as given, for messages */
    char *folder; /* absolute */
    struct json_object *defaults;
    struct json_object **repositories;
    size_t *lines;
    size_t count;
    char **variables; /* taken out of the environment; or NULL */
};

/* ---- The text ------------------------------------------------------------------------------- */

/** A key that is given twice: one of the two was meant for something else. */
static const struct yaml_node *find_repeated(const struct yaml_node *map)
{
    for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++) {
        if (map->pairs[i].repeated != NULL) {
            return map->pairs[i].key;
        }
    }
    return NULL;
}

static int check_map(const struct work_file *file, const struct yaml_node *node,
                     struct rondo_error *err)
{
    if (node->kind != YAML_MAP) {
        return error_set(err, RONDO_ERR_INVALID, "%s:%zu: not a map of options", file->path,
                         node->line);
    }
    const struct yaml_node *repeated = find_repeated(node);
    return repeated == NULL
               ? 0
               : error_set(err, RONDO_ERR_INVALID, "%s:%zu: the key %.64s is given twice",
                           file->path, repeated->line, repeated->text);
}

static int take_repositories(struct work_file *file, const struct yaml_node *list,
                             struct rondo_error *err)
{
    if (list == NULL || list->kind != YAML_LIST || list->count == 0) {
        return error_set(err, RONDO_ERR_INVALID, "%s: it has no list `repositories`", file->path);
    }
    if (list->count > LIMIT_WORK_QUEUES) {
        return error_set(err, RONDO_ERR_LIMIT, "%s: it has %zu repositories; the limit is %d",
                         file->path, list->count, LIMIT_WORK_QUEUES);
    }
    file->repositories = memory_new_zero(list->count, sizeof(struct json_object *));
    file->lines = memory_new_zero(list->count, sizeof(*file->lines));
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->count; i++) {
        r = check_map(file, list->items[i], err);
        file->lines[i] = list->items[i]->line;
        file->repositories[i] = r < 0 ? NULL : yaml_to_json(list->items[i]);
        file->count = i + 1;
    }
    return r;
}

static int take_root(struct work_file *file, const struct yaml_node *root, struct rondo_error *err)
{
    int r = root == NULL ? error_set(err, RONDO_ERR_INVALID, "%s is empty", file->path)
                         : check_map(file, root, err);
    for (size_t i = 0; r == 0 && i < root->count; i++) {
        const struct yaml_node *key = root->pairs[i].key;
        if (strcmp(key->text, "repositories") != 0 && strcmp(key->text, "defaults") != 0) {
            r = error_set(err, RONDO_ERR_INVALID,
                          "%s:%zu: unknown key %.64s; there are `repositories` and `defaults`",
                          file->path, key->line, key->text);
        }
    }
    if (r < 0) {
        return r;
    }
    const struct yaml_node *defaults = yaml_get(root, "defaults");
    r = defaults == NULL ? 0 : check_map(file, defaults, err);
    if (r == 0 && defaults != NULL) {
        file->defaults = yaml_to_json(defaults);
    }
    return r < 0 ? r : take_repositories(file, yaml_get(root, "repositories"), err);
}

static int parse(struct work_file *file, const char *text, size_t len, struct rondo_error *err)
{
    struct arena arena = {0};
    struct yaml_node *root = NULL;
    struct yaml_problem problem;
    int r = yaml_read(text, len, 1, &arena, &root, &problem);
    r = r < 0 ? error_set(err, RONDO_ERR_INVALID, "%s:%zu:%zu: %s", file->path, problem.line,
                          problem.column, problem.message)
              : take_root(file, root, err);
    arena_fini(&arena);
    return r;
}

/* ---- One repository ------------------------------------------------------------------------- */

/** Options without the command, which is no option. */
static struct json_object *without_command(struct json_object *from)
{
    struct json_object *copy = json_object_new_object();
    struct json_object_iter member;
    json_object_object_foreachC(from, member)
    {
        if (strcmp(member.key, "command") != 0) {
            json_object_object_add(copy, member.key, json_object_get(member.val));
        }
    }
    return copy;
}

static int take_command(struct json_object *from, struct queue_values *values,
                        struct rondo_error *err)
{
    struct json_object *command = json_member(from, "command");
    size_t count = json_length(command);
    if (command == NULL || values->command != NULL) {
        return 0;
    }
    if (count == 0 || count > LIMIT_ARGUMENTS) {
        return error_set(err, RONDO_ERR_INVALID, "command: takes a list of 1 to %d words",
                         LIMIT_ARGUMENTS);
    }
    values->command = memory_new_zero(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        struct json_object *word = json_object_array_get_idx(command, i);
        if (!json_object_is_type(word, json_type_string)) {
            return error_set(err, RONDO_ERR_INVALID, "command: word %zu is not a text", i + 1);
        }
        values->command[i] = memory_dup_string(json_object_get_string(word));
    }
    return 0;
}

/** A worker of the repository's own replaces that of the defaults, of whatever kind it is. */
static bool names_worker(struct json_object *from)
{
    return json_member(from, "command") != NULL || json_member(from, "agent") != NULL ||
           json_member(from, "role") != NULL;
}

static struct json_object *defaults_for(const struct work_file *file, struct json_object *own)
{
    static const char *const of_worker[] = {"agent", "role", "model", "agent-home",
                                            "resume-session"};
    struct json_object *defaults = without_command(file->defaults);
    for (size_t i = 0; names_worker(own) && i < sizeof(of_worker) / sizeof(of_worker[0]); i++) {
        json_object_object_del(defaults, of_worker[i]);
    }
    return defaults;
}

static int apply(const struct work_file *file, struct json_object *own, struct queue_values *values,
                 struct option_set *set, struct rondo_error *err)
{
    auto_json struct json_object *options = without_command(own);
    int r = take_command(own, values, err);
    r = r < 0 ? r : config_apply(options, set, err);
    if (r < 0 || file->defaults == NULL) {
        return r;
    }
    auto_json struct json_object *defaults = defaults_for(file, own);
    r = names_worker(own) ? 0 : take_command(file->defaults, values, err);
    r = r < 0 ? r : config_apply(defaults, set, err);
    if (r < 0) {
        error_prefix(err, "defaults");
    }
    return r;
}

static void make_absolute(const struct work_file *file, char **path)
{
    if (*path != NULL && (*path)[0] != '/') {
        struct buf absolute = {0};
        buf_printf(&absolute, "%s/%s", file->folder, *path);
        free(*path);
        *path = buf_steal(&absolute);
    }
}

/** Paths of the file are relative to it, and not to where the server was started. */
static void resolve_paths(const struct work_file *file, struct queue_values *values)
{
    struct work_values *work = &values->work;
    struct run_values *run = &work->role.run;
    make_absolute(file, &work->role_file);
    make_absolute(file, &run->policy);
    make_absolute(file, &run->agent_home);
    make_absolute(file, &work->role.prices);
    if (work->review != NULL && strchr(work->review, '/') != NULL) {
        make_absolute(file, &work->review);
    }
    if (values->command != NULL && strchr(values->command[0], '/') != NULL) {
        make_absolute(file, &values->command[0]);
    }
}

int work_file_values(const struct work_file *file, size_t index, struct queue_values *ret_values,
                     struct option_set *ret_set, struct rondo_error *err)
{
    queue_values_init(ret_values, work_options, ret_set);
    ret_values->variables = (const char *const *)file->variables;
    int r = apply(file, file->repositories[index], ret_values, ret_set, err);
    if (r == 0) {
        resolve_paths(file, ret_values);
        const char *misuse = queue_values_complete(ret_values, ret_set);
        r = misuse != NULL ? error_set(err, RONDO_ERR_INVALID, "%s", misuse) : 0;
    }
    if (r == 0 && ret_values->repository == NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "the key repo is missing: OWNER/NAME or a URL");
    }
    if (r < 0) {
        error_prefix(err, "%s:%zu", file->path, file->lines[index]);
        queue_values_fini(ret_values, ret_set);
    }
    return r;
}

/* ---- The file ------------------------------------------------------------------------------- */

/** A second queue of a repository would only be in the way of the first. */
static int check_new(const struct work_file *file, size_t index, struct rondo_error *err)
{
    const char *name = json_get_string(file->repositories[index], "repo", "");
    for (size_t i = 0; i < index; i++) {
        if (strcasecmp(json_get_string(file->repositories[i], "repo", ""), name) == 0) {
            return error_set(err, RONDO_ERR_INVALID, "%s:%zu: %.200s is in line %zu already",
                             file->path, file->lines[index], name, file->lines[i]);
        }
    }
    return 0;
}

static int check_all(const struct work_file *file, struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < file->count; i++) {
        struct queue_values values;
        struct option_set set;
        r = work_file_values(file, i, &values, &set, err);
        if (r == 0) {
            queue_values_fini(&values, &set);
            r = check_new(file, i, err);
        }
    }
    return r;
}

int work_file_parse(const char *path, const char *folder, const char *text, size_t len,
                    struct work_file **ret_file, struct rondo_error *err)
{
    struct work_file *file = memory_new_zero(1, sizeof(*file));
    file->path = memory_dup_string(path);
    file->folder = memory_dup_string(folder);
    int r = parse(file, text, len, err);
    r = r < 0 ? r : check_all(file, err);
    if (r < 0) {
        work_file_free(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int work_file_read(const char *path, struct work_file **ret_file, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    char folder[PATH_MAX];
    int r = file_read_named(NULL, path, LIMIT_CONFIG_FILE_BYTES, &text, err);
    /* opens: only a name, as the user gave it; what is relative to it */
    if (r < 0 || realpath(path, folder) == NULL) {
        return r < 0 ? r : error_set(err, RONDO_ERR_NOT_FOUND, "%s is gone", path);
    }
    *strrchr(folder, '/') = '\0';
    return work_file_parse(path, folder, buf_string(&text), text.len, ret_file, err);
}

void work_file_take_tokens(struct work_file *file)
{
    const char **further = memory_new_zero(2 * file->count + 1, sizeof(*further));
    size_t count = 0;
    for (size_t i = 0; i < file->count; i++) {
        static const char *const keys[] = {"token-env", "hook-secret-env"};
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            const char *by_default = json_get_string(file->defaults, keys[k], NULL);
            const char *name = json_get_string(file->repositories[i], keys[k], by_default);
            if (name != NULL) {
                further[count++] = name;
            }
        }
    }
    file->variables = work_token_take(further);
    free(further);
}

void work_file_free(struct work_file *file)
{
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < file->count; i++) {
        json_object_put(file->repositories[i]);
    }
    json_object_put(file->defaults);
    for (char **variable = file->variables; variable != NULL && *variable != NULL; variable++) {
        explicit_bzero(*variable, strlen(*variable));
    }
    memory_free_list(file->variables);
    free(file->repositories);
    free(file->lines);
    free(file->path);
    free(file->folder);
    free(file);
}

size_t work_file_count(const struct work_file *file)
{
    return file->count;
}
