// SPDX-License-Identifier: Apache-2.0
/* Skills: where they are found, which tools they bring, what comes into the prompt. */
#include "skills_world.h"

#include "base/limits.h"

/** "filesystem shell". */
static void expect_types(const struct skills_world *world, const char *expected)
{
    auto_buf struct buf types = {0};
    struct json_object *tools = world->reading.role->tools;
    for (size_t i = 0; i < json_object_array_length(tools); i++) {
        struct json_object *type = NULL;
        json_object_object_get_ex(json_object_array_get_idx(tools, i), "type", &type);
        buf_printf(&types, "%s%s", i == 0 ? "" : " ", json_object_get_string(type));
    }
    assert_string_equal(buf_string(&types), expected);
}

CASE(without_skills_the_prompt_is_the_role)
{
    struct skills_world *world = *state;
    resolve(world, "  tools: [{type: shell}]\n", "");
    assert_int_equal(world->code, 0);
    assert_string_equal(buf_string(&world->prompt), "R");
    expect_types(world, "shell");
}

CASE(bodies_follow_the_role_under_their_names)
{
    struct skills_world *world = *state;
    put(world, "skills/one/SKILL.md", SKILL("skill-one", "", "Do one."));
    put(world, "skills/two.md", SKILL("skill-two", "", "Do two.\n\nReally."));
    put(world, "skills/none.md", SKILL("skill-none", "", ""));
    resolve(world, "  skills: [../skills/one, ../skills/two.md, ../skills/none]\n", "");
    assert_int_equal(world->code, 0);
    const char *prompt = buf_string(&world->prompt);
    assert_memory_equal(prompt, "R\n\n## Skills\n\n", 14);
    assert_non_null(strstr(prompt, "\n\n### Skill: skill-one\nDo one.\n\n### Skill: skill-two\n"
                                   "Do two.\n\nReally."));
    assert_null(strstr(prompt, "skill-none"));
}

CASE(a_name_is_looked_for_beside_the_role_then_in_the_folders)
{
    struct skills_world *world = *state;
    put(world, "extra/a.md", SKILL("far-a", "", "far"));
    put(world, "extra/b/SKILL.md", SKILL("far-b", "", "far"));
    put(world, "roles/skills/a/SKILL.md", SKILL("near-a", "", "near"));
    put(world, "home/c.md", SKILL("home-c", "", "home"));
    char home[128];
    snprintf(home, sizeof(home), "%s/home", world->folder);
    setenv("INITRUNNER_SKILL_DIR", home, 1);
    resolve(world, "  skills: [a, b, c]\n", "extra");
    assert_int_equal(world->code, 0);
    const char *prompt = buf_string(&world->prompt);
    assert_non_null(strstr(prompt, "near-a"));
    assert_null(strstr(prompt, "far-a"));
    assert_non_null(strstr(prompt, "far-b"));
    assert_non_null(strstr(prompt, "home-c"));
}

CASE(the_same_skill_counts_once)
{
    struct skills_world *world = *state;
    put(world, "skills/a.md", SKILL("skill-a", "tools: [{type: think}]\n", "body"));
    resolve(world, "  skills: [../skills/a, ../skills/a.md]\n", "");
    assert_int_equal(world->code, 0);
    expect_types(world, "think");
    assert_int_equal(world->findings.count, 0);
}

CASE(tools_merge_by_type_and_the_roles_own_win)
{
    struct skills_world *world = *state;
    put(world, "skills/a.md",
        SKILL("skill-a", "tools: [{type: filesystem, root_path: a}, {type: shell}]\n", "x"));
    put(world, "skills/b.md", SKILL("skill-b", "tools: [{type: filesystem, root_path: b}]\n", "y"));
    resolve(world,
            "  skills: [../skills/a, ../skills/b]\n"
            "  tools: [{type: shell, timeout_seconds: 7}, {type: think}]\n",
            "");
    assert_int_equal(world->code, 0);
    expect_types(world, "filesystem shell think");
    expect_normal(&world->reading, "spec.tools.0.root_path", "\"b\"");
    expect_normal(&world->reading, "spec.tools.1.timeout_seconds", "7");
    assert_int_equal(world->findings.count, 1);
    assert_string_equal(world->findings.items[0].path, "spec.skills[1]");
    assert_int_equal(world->findings.items[0].severity, ROLE_WARNING);
}

CASE(a_role_may_have_several_tools_of_a_type_beside_skills)
{
    struct skills_world *world = *state;
    put(world, "skills/a.md", SKILL("skill-a", "tools: [{type: think}]\n", "x"));
    resolve(world,
            "  skills: [../skills/a]\n"
            "  tools: [{type: http, base_url: x}, {type: http, base_url: y}]\n",
            "");
    expect_types(world, "think http http");
}

CASE(requirements_that_are_not_met_are_warned_of)
{
    struct skills_world *world = *state;
    put(world, "skills/a.md",
        SKILL("skill-a",
              "requires: {env: [RONDO_NO_SUCH, PATH], bins: [sh, rondo-no-such-program]}\n", "x"));
    resolve(world, "  skills: [../skills/a]\n", "");
    assert_int_equal(world->code, 0);
    assert_int_equal(world->findings.count, 2);
    assert_non_null(strstr(world->findings.items[0].message, "RONDO_NO_SUCH"));
    assert_non_null(strstr(world->findings.items[1].message, "rondo-no-such-program"));
}

CASE(a_missing_skill_is_an_error)
{
    struct skills_world *world = *state;
    resolve(world, "  skills: [../skills/a, b]\n", "");
    assert_int_equal(world->code, RONDO_ERR_INVALID);
    assert_int_equal(role_findings_errors(&world->findings), 2);
    assert_string_equal(world->findings.items[0].message, "skill `../skills/a` not found");
    assert_int_equal(world->prompt.len, 0);
}

CASE(what_is_wrong_in_a_skill_is_told_with_its_place)
{
    struct skills_world *world = *state;
    put(world, "skills/a.md", "---\nname: A\ntools:\n  - {type: sql}\n---\n");
    put(world, "skills/b.md", "no front matter\n");
    put(world, "skills/c.md", "---\nname: skill-c\n");
    resolve(world, "  skills: [../skills/a, ../skills/b, ../skills/c]\n", "");
    assert_int_equal(world->code, RONDO_ERR_INVALID);
    auto_buf struct buf lines = {0};
    list_findings(&world->findings, &lines);
    const char *text = buf_string(&lines);
    assert_non_null(strstr(text, "error 0:0 spec.skills[0]: "));
    assert_non_null(strstr(text, "/a.md:2:7: name: \"A\" is not a name"));
    assert_non_null(strstr(text, "/a.md:2:1: description: `description` is missing"));
    assert_non_null(strstr(text, "/a.md:4:5: tools[0].database: `database` is missing"));
    assert_non_null(strstr(text, "/b.md has no front matter"));
    assert_non_null(strstr(text, "/c.md has no front matter"));
}

CASE(the_number_of_skills_has_a_limit)
{
    struct skills_world *world = *state;
    put(world, "roles/skills/a.md", SKILL("skill-a", "", "x"));
    for (int extra = 0; extra <= 1; extra++) {
        auto_buf struct buf text = {0};
        buf_append_string(&text, "  skills:\n");
        for (int i = 0; i < LIMIT_ROLE_SKILLS + extra; i++) {
            buf_append_string(&text, "    - a\n");
        }
        resolve(world, buf_string(&text), "");
        assert_int_equal(world->code, extra == 0 ? 0 : RONDO_ERR_LIMIT);
        reading_fini(&world->reading);
        world->reading = (struct role_reading){0};
    }
}
