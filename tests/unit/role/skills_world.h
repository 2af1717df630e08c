// SPDX-License-Identifier: Apache-2.0
/* What the tests of skills share: a folder with a role and skill files. */
#pragma once

#include "role_help.h"

#include "base/auto.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <stdio.h>
#include <unistd.h>

/** A folder with role and skill files. */
struct skills_world {
    char folder[64];
    struct role_reading reading;
    struct role_findings findings;
    struct buf prompt;
    int code;
};

static inline int set_up(void **state)
{
    static struct skills_world world;
    world = (struct skills_world){0};
    snprintf(world.folder, sizeof(world.folder), "/tmp/rondo-skills-XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    unsetenv("INITRUNNER_SKILL_DIR");
    setenv("INITRUNNER_HOME", "/nonexistent", 1);
    setenv("HOME", "/nonexistent", 1);
    *state = &world;
    return 0;
}

static inline int tear_down(void **state)
{
    struct skills_world *world = *state;
    reading_fini(&world->reading);
    role_findings_fini(&world->findings);
    buf_fini(&world->prompt);
    return file_remove_tree(world->folder, NULL);
}

static inline void put(struct skills_world *world, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", world->folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(file_make_folder(path, NULL), 0);
    *slash = '/';
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

/** Read a role beside the skills and put its skills in. @param text of the file, whole */
static inline void resolve_text(struct skills_world *world, const char *text, const char *extra)
{
    char path[256];
    char extra_folder[256];
    snprintf(path, sizeof(path), "%s/roles/role.yaml", world->folder);
    snprintf(extra_folder, sizeof(extra_folder), "%s/%s", world->folder, extra);
    put(world, "roles/role.yaml", text);
    assert_int_equal(
        role_read(path, ROLE_SCHEMA_1_0, &world->reading.findings, &world->reading.role, NULL), 0);
    assert_non_null(world->reading.role);
    struct rondo_error err = {0};
    world->code = role_resolve_skills(world->reading.role, extra[0] == '\0' ? NULL : extra_folder,
                                      &world->findings, &world->prompt, &err);
    assert_int_equal(world->code, err.code);
}

/** The same with HEAD. */
static inline void resolve(struct skills_world *world, const char *more, const char *extra)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s%s", HEAD, more);
    resolve_text(world, buf_string(&text), extra);
}

#define SKILL(name, more, body) "---\nname: " name "\ndescription: d\n" more "---\n\n" body "\n\n"

#define CASE(name) TEST_WITH(name, set_up, tear_down)
