// SPDX-License-Identifier: Apache-2.0
/* Skills that a role does not name: where they are found, what is left out, what they may not. */
#include "skills_world.h"

#include "base/limits.h"

#include <sys/stat.h>

#define FLAT "name: my-agent\nprompt: R\nmodel: p:n\n"
#define ON   "  auto_skills: {enabled: true}\n"

/** "one two": the names of the skills that were found, in order. */
static void expect_offered(const struct skills_world *world, const char *expected)
{
    auto_buf struct buf names = {0};
    struct json_object *skills = follow(world->reading.role->normal, "spec.offered_skills");
    bool is_list = json_object_is_type(skills, json_type_array);
    for (size_t i = 0; is_list && i < json_object_array_length(skills); i++) {
        struct json_object *name = NULL;
        json_object_object_get_ex(json_object_array_get_idx(skills, i), "name", &name);
        buf_printf(&names, "%s%s", i == 0 ? "" : " ", json_object_get_string(name));
    }
    assert_string_equal(buf_string(&names), expected);
    if (!is_list) {
        json_object_put(skills);
    }
}

static void expect_finding(const struct skills_world *world, const char *part)
{
    auto_buf struct buf lines = {0};
    list_findings(&world->findings, &lines);
    if (strstr(buf_string(&lines), part) == NULL) {
        fail_msg("no \"%s\" in:\n%s", part, buf_string(&lines));
    }
}

CASE(the_prompt_lists_them_and_leaves_their_texts_out)
{
    struct skills_world *world = *state;
    put(world, "roles/skills/b/SKILL.md", SKILL("skill-b", "", "All about b."));
    put(world, "roles/skills/a/SKILL.md", SKILL("skill-a", "", "All about a."));
    put(world, "roles/skills/none/README.md", "no skill");
    put(world, "roles/skills/loose.md", SKILL("loose", "", "no folder of its own"));
    resolve(world, ON, "");
    assert_int_equal(world->code, 0);
    expect_offered(world, "skill-a skill-b");
    const char *prompt = buf_string(&world->prompt);
    assert_memory_equal(prompt, "R\n\n## Skills to activate\n\n", 26);
    assert_non_null(strstr(prompt, "\n- skill-a: d\n- skill-b: d"));
    assert_null(strstr(prompt, "All about"));
    assert_int_equal(world->findings.count, 0);
}

CASE(an_envelope_turns_it_on_and_the_flat_form_turns_it_off)
{
    struct skills_world *world = *state;
    put(world, "roles/skills/a/SKILL.md", SKILL("skill-a", "", "x"));
    static const struct {
        const char *text;
        const char *offered;
    } cases[] = {
        {HEAD, ""},
        {HEAD ON, "skill-a"},
        {HEAD "  auto_skills: {max_skills: 3}\n", "skill-a"},
        {HEAD "  auto_skills: {enabled: false}\n", ""},
        {FLAT, "skill-a"},
        {FLAT "auto_skills: {enabled: false}\n", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        resolve_text(world, cases[i].text, "");
        expect_offered(world, cases[i].offered);
        reading_fini(&world->reading);
        world->reading = (struct role_reading){0};
    }
}

CASE(the_first_folder_with_a_name_has_it)
{
    struct skills_world *world = *state;
    char home[128];
    put(world, "roles/skills/a/SKILL.md", SKILL("skill-a", "", "near"));
    put(world, "roles/.agents/skills/b/SKILL.md", SKILL("skill-b", "", "x"));
    put(world, "extra/c/SKILL.md", SKILL("skill-c", "", "x"));
    put(world, "user/.agents/skills/d/SKILL.md", SKILL("skill-d", "", "x"));
    put(world, "user/.agents/skills/e/SKILL.md", SKILL("skill-a", "", "far"));
    snprintf(home, sizeof(home), "%s/user", world->folder);
    setenv("HOME", home, 1);
    resolve(world, ON, "extra");
    expect_offered(world, "skill-a skill-b skill-c skill-d");
    expect_finding(world, "/e/SKILL.md: a skill skill-a was found before it");
    struct json_object *text = follow(world->reading.role->normal, "spec.offered_skills.0.text");
    assert_string_equal(json_object_get_string(text), "near");
}

CASE(a_skill_that_the_role_names_is_not_offered_again)
{
    struct skills_world *world = *state;
    put(world, "roles/skills/a/SKILL.md", SKILL("skill-a", "", "All about a."));
    put(world, "roles/skills/b/SKILL.md", SKILL("skill-b", "", "All about b."));
    resolve(world, "  skills: [a]\n" ON, "");
    expect_offered(world, "skill-b");
    assert_non_null(strstr(buf_string(&world->prompt), "All about a.\n\n## Skills to activate"));
    assert_int_equal(world->findings.count, 0);
}

CASE(what_is_found_brings_no_tools_and_decides_nothing)
{
    struct skills_world *world = *state;
    auto_buf struct buf before = {0};
    auto_buf struct buf after = {0};
    resolve(world, ON, "");
    role_decisions_write(world->reading.role, &before);
    reading_fini(&world->reading);
    world->reading = (struct role_reading){0};
    put(world, "roles/skills/a/SKILL.md", SKILL("skill-a", "tools: [{type: shell}]\n", "x"));
    resolve(world, ON, "");
    role_decisions_write(world->reading.role, &after);
    expect_offered(world, "skill-a");
    assert_int_equal(json_object_array_length(world->reading.role->tools), 0);
    assert_string_equal(buf_string(&after), buf_string(&before));
}

CASE(what_cannot_be_used_is_left_out_and_named)
{
    struct skills_world *world = *state;
    put(world, "roles/skills/a/SKILL.md", "no front matter\n");
    put(world, "roles/skills/b/SKILL.md", "---\nname: B\ndescription: d\n---\n");
    put(world, "roles/skills/c/SKILL.md", SKILL("skill-c", "", "\xff\xfe"));
    put(world, "roles/skills/d/SKILL.md",
        "---\nname: skill-d\ndescription: \"one\\ntwo\"\n---\ntext\n");
    resolve(world, ON, "");
    assert_int_equal(world->code, 0);
    expect_offered(world, "skill-d");
    expect_finding(world, "warning 0:0 spec.auto_skills: ");
    expect_finding(world, "/a/SKILL.md is left out: ");
    expect_finding(world, "/b/SKILL.md is left out: name: \"B\" is not a name");
    expect_finding(world, "/c/SKILL.md is left out: it is not UTF-8 text");
    assert_non_null(strstr(buf_string(&world->prompt), "\n- skill-d: one two"));
}

CASE(their_number_has_a_limit)
{
    struct skills_world *world = *state;
    put(world, "roles/skills/a/SKILL.md", SKILL("skill-a", "", "x"));
    put(world, "roles/skills/b/SKILL.md", SKILL("skill-b", "", "x"));
    resolve(world, "  auto_skills: {max_skills: 2}\n", "");
    expect_offered(world, "skill-a skill-b");
    assert_int_equal(world->findings.count, 0);
    reading_fini(&world->reading);
    world->reading = (struct role_reading){0};
    resolve(world, "  auto_skills: {max_skills: 1}\n", "");
    expect_offered(world, "skill-a");
    expect_finding(world, "/b/SKILL.md and what follows is left out: `max_skills` is 1");
}

/** A skill whose text has a length. */
static void put_long(struct skills_world *world, const char *file, const char *name, size_t len)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "---\nname: %s\ndescription: d\n---\n", name);
    for (size_t i = 0; i < len; i++) {
        buf_append_string(&text, "x");
    }
    put(world, file, buf_string(&text));
}

CASE(their_texts_have_a_limit)
{
    struct skills_world *world = *state;
    put_long(world, "roles/skills/a/SKILL.md", "skill-a", LIMIT_OFFERED_SKILLS_BYTES);
    resolve(world, ON, "");
    expect_offered(world, "skill-a");
    reading_fini(&world->reading);
    world->reading = (struct role_reading){0};
    put_long(world, "roles/skills/a/SKILL.md", "skill-a", LIMIT_OFFERED_SKILLS_BYTES + 1);
    put_long(world, "roles/skills/b/SKILL.md", "skill-b", 1);
    resolve(world, ON, "");
    expect_offered(world, "skill-b");
    expect_finding(world, "/a/SKILL.md is left out: the skills that are found have more than");
}

static void make_folder(const struct skills_world *world, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/roles/skills/%s", world->folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

CASE(the_names_in_a_folder_have_a_limit)
{
    struct skills_world *world = *state;
    put(world, "roles/skills/loose.md", "no folder of its own");
    for (int i = 1; i < LIMIT_SKILL_FOLDER_NAMES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%04d", i);
        make_folder(world, name);
    }
    resolve(world, ON, "");
    assert_int_equal(world->findings.count, 0);
    reading_fini(&world->reading);
    world->reading = (struct role_reading){0};
    make_folder(world, "more");
    resolve(world, ON, "");
    expect_finding(world, "/roles/skills: only 1000 of its names were looked at");
}

CASE(the_most_that_a_role_may_ask_for_has_a_limit)
{
    (void)state;
    assert_true(is_valid(HEAD "  auto_skills: {max_skills: 200}\n"));
    assert_false(is_valid(HEAD "  auto_skills: {max_skills: 201}\n"));
    assert_false(is_valid(HEAD "  auto_skills: {max_skills: 0}\n"));
}
