// SPDX-License-Identifier: Apache-2.0
/*
 * Skills: Markdown files with front matter that bring tools and a piece of prompt along. Found
 * beside the role file, in a folder that is given, in $INITRUNNER_SKILL_DIR or in InitRunner's
 * home.
 */
#include "role/skill_file.h"

#include "role/reader.h"
#include "role/role.h"
#include "role/skill_catalog.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file_untrusted.h"
#include "os/process/program.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** A skill that is being put into a role. */
struct skill {
    size_t index;     /**< in spec.skills */
    const char *name; /**< as the role names it; borrowed */
    char *path;       /**< of its file, real */
    struct skill_file file;
};

struct merge {
    struct role *role;
    const char *extra_folder;
    struct role_findings *findings;
    struct json_object *tools; /**< of the skills so far */
    struct buf prompt;         /**< their bodies */
    char **seen;               /**< real paths */
    size_t seen_count;
    char **places; /**< files and folders; see struct role */
    size_t place_count;
    size_t errors;
};

static void report(struct merge *merge, enum role_severity severity, const struct skill *skill,
                   const char *hint, const char *format, ...) __attribute__((format(printf, 5, 6)));

static void report(struct merge *merge, enum role_severity severity, const struct skill *skill,
                   const char *hint, const char *format, ...)
{
    char path[40];
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    snprintf(path, sizeof(path), "spec.skills[%zu]", skill->index);
    findings_add(merge->findings, severity, 0, 0, path, message, hint);
    merge->errors += severity == ROLE_ERROR ? 1 : 0;
}

static bool is_file(const char *path)
{
    struct stat status;
    /* opens: only to choose a place; read_skill decides what is read */
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/** Try one place. @return its path, owned, or NULL */
static char *try_place(const char *format, const char *folder, const char *name)
    __attribute__((format(printf, 1, 0)));

static char *try_place(const char *format, const char *folder, const char *name)
{
    auto_free char *path = NULL;
    if (asprintf(&path, format, folder, name) < 0) {
        abort();
    }
    return is_file(path) ? steal_pointer(&path) : NULL;
}

static char *find_in_folder(const char *folder, const char *name)
{
    char *found = try_place("%s/%s/SKILL.md", folder, name);
    return found != NULL ? found : try_place("%s/%s.md", folder, name);
}

static void add_place(struct merge *merge, const char *path)
{
    merge->places = memory_resize(merge->places, merge->place_count + 2, sizeof(*merge->places));
    merge->places[merge->place_count++] = memory_dup_string(path);
    merge->places[merge->place_count] = NULL;
}

/** A name without a path. */
static char *find_by_name(struct merge *merge, const char *name)
{
    auto_buf struct buf beside = {0};
    auto_buf struct buf home = {0};
    buf_printf(&beside, "%s/skills", merge->role->folder);
    skill_home_append(&home);
    buf_append_string(&home, "/skills");
    const char *folders[] = {buf_string(&beside), merge->extra_folder,
                             getenv("INITRUNNER_SKILL_DIR"), buf_string(&home)};
    char *found = NULL;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && found == NULL; i++) {
        if (folders[i] != NULL && folders[i][0] != '\0') {
            add_place(merge, folders[i]);
            found = find_in_folder(folders[i], name);
        }
    }
    return found;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static char *find_skill(struct merge *merge, const char *name)
{
    bool is_path = strchr(name, '/') != NULL;
    bool is_markdown = ends_with(name, ".md");
    const char *folder = name[0] == '/' ? "" : merge->role->folder;
    if (is_markdown) {
        return try_place("%s/%s", folder, name);
    }
    return is_path ? find_in_folder(folder, name) : find_by_name(merge, name);
}

/** Findings about a skill's file become findings about the role's entry. */
static void take_findings(struct merge *merge, const struct skill *skill,
                          const struct role_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct role_finding *item = &findings->items[i];
        report(merge, item->severity, skill, item->hint, "%s:%zu:%zu: %s%s%s", skill->path,
               item->line, item->column, item->path, item->path[0] == '\0' ? "" : ": ",
               item->message);
    }
}

/** @return whether it can be used */
static bool read_skill(struct merge *merge, struct skill *skill)
{
    struct role_findings findings = {0};
    struct rondo_error err = {0};
    size_t errors = merge->errors;
    if (skill_file_read(skill->path, &findings, &skill->file, &err) < 0) {
        report(merge, ROLE_ERROR, skill,
               err.code == RONDO_ERR_INVALID ? "begin the file with ---, name, description, ---"
                                             : NULL,
               "%s", err.message);
    }
    take_findings(merge, skill, &findings);
    role_findings_fini(&findings);
    return merge->errors == errors;
}

static const char *type_of(struct json_object *tools, size_t index)
{
    return json_get_string(json_object_array_get_idx(tools, index), "type", "");
}

/** Index of the tool of a type, or the number of tools. */
static size_t find_type(struct json_object *tools, const char *type)
{
    size_t count = json_object_array_length(tools);
    size_t i = 0;
    while (i < count && strcmp(type_of(tools, i), type) != 0) {
        i++;
    }
    return i;
}

static void merge_tools(struct merge *merge, const struct skill *skill)
{
    struct json_object *tools = json_member(skill->file.normal, "tools");
    struct json_object *own = merge->role->tools;
    for (size_t i = 0; i < json_object_array_length(tools); i++) {
        const char *type = type_of(tools, i);
        if (find_type(own, type) < json_object_array_length(own)) {
            continue; /* The role's own entry wins, as is documented: nothing to warn of. */
        }
        size_t place = find_type(merge->tools, type);
        struct json_object *tool = json_object_get(json_object_array_get_idx(tools, i));
        if (place < json_object_array_length(merge->tools)) {
            report(merge, ROLE_WARNING, skill, NULL,
                   "its tool %.60s replaces the one of an earlier skill", type);
        }
        json_object_array_put_idx(merge->tools, place, tool);
    }
}

static void check_requirements(struct merge *merge, const struct skill *skill)
{
    struct json_object *requires = json_member(skill->file.normal, "requires");
    struct json_object *variables = json_member(requires, "env");
    struct json_object *programs = json_member(requires, "bins");
    for (size_t i = 0; i < json_object_array_length(variables); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(variables, i));
        if (getenv(name) == NULL) {
            report(merge, ROLE_WARNING, skill, NULL,
                   "it needs the environment variable %.100s, which is not set", name);
        }
    }
    for (size_t i = 0; i < json_object_array_length(programs); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(programs, i));
        char path[PATH_MAX];
        char reason[256];
        if (!program_find(name, (const char *const *)environ, merge->role->folder, path, reason)) {
            report(merge, ROLE_WARNING, skill, NULL, "it needs the program %.100s: %s", name,
                   reason);
        }
    }
}

static void append_body(struct merge *merge, const struct skill *skill)
{
    if (skill->file.body.len == 0) {
        return;
    }
    if (merge->prompt.len == 0) {
        buf_append_string(&merge->prompt, "## Skills\n\nEach skill explains how to use what it "
                                          "provides. Follow it when a task calls for the skill.");
    }
    buf_printf(&merge->prompt, "\n\n### Skill: %s\n",
               json_get_string(skill->file.normal, "name", skill->name));
    buf_append(&merge->prompt, skill->file.body.data, skill->file.body.len);
}

/** Whether a file was merged already, by whatever path. */
static bool is_seen(struct merge *merge, const char *named)
{
    auto_free char *real = realpath(named, NULL); /* opens: only to compare names */
    const char *path = real == NULL ? named : real;
    for (size_t i = 0; i < merge->seen_count; i++) {
        if (strcmp(merge->seen[i], path) == 0) {
            return true;
        }
    }
    merge->seen = memory_resize(merge->seen, merge->seen_count + 1, sizeof(*merge->seen));
    merge->seen[merge->seen_count++] = memory_dup_string(path);
    return false;
}

static void add_skill(struct merge *merge, size_t index, const char *name)
{
    struct skill skill = {.index = index, .name = name};
    skill.path = find_skill(merge, name);
    if (skill.path == NULL) {
        report(merge, ROLE_ERROR, &skill,
               "a path relative to the role file (../skills/NAME), or --skill-dir for a name",
               "skill `%.200s` not found", name);
        return;
    }
    add_place(merge, skill.path);
    if (!is_seen(merge, skill.path) && read_skill(merge, &skill)) {
        check_requirements(merge, &skill);
        merge_tools(merge, &skill);
        append_body(merge, &skill);
    }
    skill_file_fini(&skill.file);
    free(skill.path);
}

/** The skills' tools, then the role's own. */
static void put_tools(struct merge *merge)
{
    struct json_object *own = merge->role->tools;
    struct json_object *tools = json_object_new_array();
    for (size_t i = 0; i < json_object_array_length(merge->tools); i++) {
        json_object_array_add(tools, json_object_get(json_object_array_get_idx(merge->tools, i)));
    }
    for (size_t i = 0; i < json_object_array_length(own); i++) {
        json_object_array_add(tools, json_object_get(json_object_array_get_idx(own, i)));
    }
    json_object_object_add(json_member(merge->role->normal, "spec"), "tools", tools);
    merge->role->tools = tools;
}

static void merge_fini(struct merge *merge)
{
    for (size_t i = 0; i < merge->seen_count; i++) {
        free(merge->seen[i]);
    }
    free(merge->seen);
    memory_free_list(merge->places);
    json_object_put(merge->tools);
    buf_fini(&merge->prompt);
}

/** Put the schema that `output` names by its file into the role. @return whether it is there */
static bool resolve_schema(struct merge *merge)
{
    struct role *role = merge->role;
    struct json_object *output = json_member(json_member(role->normal, "spec"), "output");
    const char *name = json_get_string(output, "schema_file", NULL);
    auto_buf struct buf path = {0};
    auto_buf struct buf text = {0};
    struct json_object *schema = NULL;
    struct rondo_error err = {0};
    if (name == NULL || strcmp(json_get_string(output, "type", ""), "json_schema") != 0) {
        return true;
    }
    buf_printf(&path, "%s%s%s", name[0] == '/' ? "" : role->folder, name[0] == '/' ? "" : "/",
               name);
    add_place(merge, buf_string(&path));
    int r = file_read_named(NULL, buf_string(&path), LIMIT_ROLE_FILE_BYTES, &text, &err);
    r = r < 0 ? r : json_parse(buf_string(&text), text.len, &schema, &err);
    if (r < 0 || !json_object_is_type(schema, json_type_object)) {
        findings_add(merge->findings, ROLE_ERROR, 0, 0, "spec.output.schema_file",
                     r < 0 ? err.message : "it is not a JSON object", NULL);
        json_object_put(schema);
        return false;
    }
    json_object_object_add(output, "schema_", schema);
    json_object_object_add(output, "schema_file", NULL);
    return true;
}

/** The skills of `auto_skills`: those that the role does not name. */
static void offer_others(struct merge *merge)
{
    struct skill_catalog catalog = {
        .role = merge->role,
        .extra_folder = merge->extra_folder,
        .merged = (const char *const *)merge->seen,
        .merged_count = merge->seen_count,
        .findings = merge->findings,
    };
    skill_catalog_find(&catalog);
    for (size_t i = 0; catalog.places != NULL && catalog.places[i] != NULL; i++) {
        add_place(merge, catalog.places[i]);
    }
    if (merge->prompt.len > 0 && catalog.prompt.len > 0) {
        buf_append_string(&merge->prompt, "\n\n");
    }
    buf_append(&merge->prompt, catalog.prompt.data, catalog.prompt.len);
    skill_catalog_fini(&catalog);
}

int role_resolve_skills(struct role *role, const char *extra_folder, struct role_findings *findings,
                        struct buf *ret_prompt, struct rondo_error *err)
{
    struct json_object *names = json_member(json_member(role->normal, "spec"), "skills");
    size_t count = json_length(names);
    if (count > LIMIT_ROLE_SKILLS) {
        return error_set(err, RONDO_ERR_LIMIT, "a role can name at most %d skills",
                         LIMIT_ROLE_SKILLS);
    }
    struct merge merge = {
        .role = role,
        .extra_folder = extra_folder,
        .findings = findings,
        .tools = json_object_new_array(),
    };
    if (!resolve_schema(&merge)) {
        memory_free_list(role->skill_places);
        role->skill_places = steal_pointer(&merge.places);
        merge_fini(&merge);
        return error_set(err, RONDO_ERR_INVALID, "the schema of %s cannot be read", role->path);
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        add_skill(&merge, i, name == NULL ? "" : name);
    }
    offer_others(&merge);
    memory_free_list(role->skill_places);
    role->skill_places = steal_pointer(&merge.places);
    auto_buf struct buf text = {0};
    int r = merge.errors == 0 ? 0
                              : error_set(err, RONDO_ERR_INVALID, "%zu error%s in the skills of %s",
                                          merge.errors, merge.errors == 1 ? "" : "s", role->path);
    if (variables_write(role, findings, &text) > 0 && r == 0) {
        r = error_set(err, RONDO_ERR_INVALID, "values of the variables of %s are missing or wrong",
                      role->path);
    }
    if (r == 0) {
        put_tools(&merge);
        buf_append(ret_prompt, text.data, text.len);
        if (merge.prompt.len > 0) {
            buf_append_string(ret_prompt, "\n\n");
            buf_append(ret_prompt, merge.prompt.data, merge.prompt.len);
        }
    }
    merge_fini(&merge);
    return r;
}
