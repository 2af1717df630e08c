// SPDX-License-Identifier: Apache-2.0
/* Skills that are found in folders. */
#include "role/skill_catalog.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "os/file_untrusted.h"
#include "role/role.h"
#include "role/skill_file.h"

#include <dirent.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Default of auto_skills.max_skills. */
#define USUAL_SKILLS 50

/** The skills that were found so far. */
struct skill_search {
    struct skill_catalog *catalog;
    struct json_object *skills;
    size_t most;
    size_t bytes;
};

static void leave_out(struct skill_search *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void leave_out(struct skill_search *found, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    findings_add(found->catalog->findings, ROLE_WARNING, 0, 0, "spec.auto_skills", message, NULL);
}

static void add_place(struct skill_catalog *catalog, const char *path)
{
    catalog->places =
        memory_resize(catalog->places, catalog->place_count + 2, sizeof(*catalog->places));
    catalog->places[catalog->place_count++] = memory_dup_string(path);
    catalog->places[catalog->place_count] = NULL;
}

static bool is_on(const struct role *role, size_t *ret_most)
{
    struct json_object *section = json_member(json_member(role->normal, "spec"), "auto_skills");
    bool is_flat = json_get_int(json_member(role->normal, "metadata"), "spec_version", 0) == 3;
    *ret_most = (size_t)json_get_int(section, "max_skills", USUAL_SKILLS);
    return section == NULL ? is_flat : json_get_bool(section, "enabled", true);
}

static bool is_merged(const struct skill_catalog *catalog, const char *path)
{
    auto_free char *real = realpath(path, NULL); /* opens: only to compare names */
    for (size_t i = 0; real != NULL && i < catalog->merged_count; i++) {
        if (strcmp(catalog->merged[i], real) == 0) {
            return true;
        }
    }
    return false;
}

/** A skill of an earlier folder comes first. */
static bool has_name(const struct skill_search *found, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(found->skills); i++) {
        struct json_object *skill = json_object_array_get_idx(found->skills, i);
        if (strcmp(json_get_string(skill, "name", ""), name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_text(const struct buf *body)
{
    size_t at = 0;
    while (at < body->len) {
        size_t len = utf8_sequence_len(body->data + at, body->len - at);
        if (len == 0 || body->data[at] == '\0') {
            return false;
        }
        at += len;
    }
    return true;
}

static void offer(struct skill_search *found, const char *path, const struct skill_file *file)
{
    const char *name = json_get_string(file->normal, "name", "");
    if (has_name(found, name)) {
        leave_out(found, "%s: a skill %.60s was found before it", path, name);
        return;
    }
    if (!is_text(&file->body)) {
        leave_out(found, "%s is left out: it is not UTF-8 text", path);
        return;
    }
    if (file->body.len > LIMIT_OFFERED_SKILLS_BYTES - found->bytes) {
        leave_out(found, "%s is left out: the skills that are found have more than %ld KiB", path,
                  (long)(LIMIT_OFFERED_SKILLS_BYTES / LIMIT_KIB));
        return;
    }
    struct json_object *skill = json_object_new_object();
    json_object_object_add(skill, "name", json_object_new_string(name));
    json_object_object_add(
        skill, "description",
        json_object_new_string(json_get_string(file->normal, "description", "")));
    json_object_object_add(
        skill, "text", json_object_new_string_len(buf_string(&file->body), (int)file->body.len));
    json_object_array_add(found->skills, skill);
    found->bytes += file->body.len;
    add_place(found->catalog, path);
}

static void look_at_file(struct skill_search *found, const char *path)
{
    struct skill_file file = {0};
    struct role_findings findings = {0};
    struct rondo_error err = {0};
    if (is_merged(found->catalog, path)) {
        return;
    }
    int r = skill_file_read(path, &findings, &file, &err);
    if (r < 0) {
        leave_out(found, "%s is left out: %s", path, err.message);
    } else if (role_findings_errors(&findings) > 0) {
        size_t i = 0;
        while (findings.items[i].severity != ROLE_ERROR) {
            i++;
        }
        const struct role_finding *item = &findings.items[i];
        leave_out(found, "%s is left out: %s%s%s", path, item->path,
                  item->path[0] == '\0' ? "" : ": ", item->message);
    } else {
        offer(found, path, &file);
    }
    role_findings_fini(&findings);
    skill_file_fini(&file);
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/** Names in a folder, sorted; NULL-terminated. @return NULL when it cannot be read */
static char **read_names(const char *folder, bool *ret_is_whole)
{
    struct rondo_error err = {0};
    int fd = file_open_folder_named(NULL, folder, &err);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    char **names = memory_new_zero(LIMIT_SKILL_FOLDER_NAMES + 1, sizeof(*names));
    size_t count = 0;
    struct dirent *entry = readdir(dir);
    for (; entry != NULL && count < LIMIT_SKILL_FOLDER_NAMES; entry = readdir(dir)) {
        if (entry->d_name[0] != '.') {
            names[count++] = memory_dup_string(entry->d_name);
        }
    }
    *ret_is_whole = entry == NULL;
    closedir(dir);
    qsort(names, count, sizeof(*names), compare_names);
    return names;
}

static void look_in(struct skill_search *found, const char *folder)
{
    bool is_whole = true;
    add_place(found->catalog, folder);
    char **names = read_names(folder, &is_whole);
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s/SKILL.md", folder, names[i]);
        /* opens: only whether there is one; skill_file_read decides what is read */
        if (access(buf_string(&path), F_OK) != 0) {
            continue;
        }
        if (json_object_array_length(found->skills) >= found->most) {
            leave_out(found, "%s and what follows is left out: `max_skills` is %zu",
                      buf_string(&path), found->most);
            break;
        }
        look_at_file(found, buf_string(&path));
    }
    if (!is_whole) {
        leave_out(found, "%s: only %d of its names were looked at", folder,
                  LIMIT_SKILL_FOLDER_NAMES);
    }
    memory_free_list(names);
}

/** Where skills are looked for, best first. */
static void look_everywhere(struct skill_search *found)
{
    const struct skill_catalog *catalog = found->catalog;
    auto_buf struct buf beside = {0};
    auto_buf struct buf project = {0};
    auto_buf struct buf user = {0};
    auto_buf struct buf home = {0};
    const char *home_folder = getenv("HOME");
    buf_printf(&beside, "%s/skills", catalog->role->folder);
    buf_printf(&project, "%s/.agents/skills", catalog->role->folder);
    if (home_folder != NULL && home_folder[0] != '\0') {
        buf_printf(&user, "%s/.agents/skills", home_folder);
    }
    skill_home_append(&home);
    buf_append_string(&home, "/skills");
    const char *folders[] = {buf_string(&beside),   buf_string(&project),
                             catalog->extra_folder, getenv("INITRUNNER_SKILL_DIR"),
                             buf_string(&user),     buf_string(&home)};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (folders[i] != NULL && folders[i][0] != '\0') {
            look_in(found, folders[i]);
        }
    }
}

/** A description comes from a file: on one line, it cannot look like another part of the prompt. */
static void append_line(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        char byte = (unsigned char)*text < ' ' ? ' ' : *text;
        buf_append(out, &byte, 1);
    }
}

static void write_prompt(struct json_object *skills, struct buf *prompt)
{
    buf_append_string(prompt,
                      "## Skills to activate\n\nInstructions for special tasks. When a task is "
                      "what one of them describes, call `activate_skill` with its name first.\n");
    for (size_t i = 0; i < json_object_array_length(skills); i++) {
        struct json_object *skill = json_object_array_get_idx(skills, i);
        buf_printf(prompt, "\n- %s: ", json_get_string(skill, "name", ""));
        append_line(prompt, json_get_string(skill, "description", ""));
    }
}

void skill_catalog_find(struct skill_catalog *catalog)
{
    struct skill_search found = {.catalog = catalog};
    if (!is_on(catalog->role, &found.most)) {
        return;
    }
    found.skills = json_object_new_array();
    look_everywhere(&found);
    if (json_object_array_length(found.skills) == 0) {
        json_object_put(found.skills);
        return;
    }
    write_prompt(found.skills, &catalog->prompt);
    json_object_object_add(json_member(catalog->role->normal, "spec"), "offered_skills",
                           found.skills);
}

void skill_catalog_fini(struct skill_catalog *catalog)
{
    memory_free_list(catalog->places);
    buf_fini(&catalog->prompt);
}
