// SPDX-License-Identifier: Apache-2.0
/* The tool that reads a skill. */
#include "../tool_world.h"

#include "tool/data/skills.h"

static void open_skills(struct tool_world *world, const char *text)
{
    struct rondo_error err = {0};
    struct json_object *skills = json_of(text);
    world->toolbox = toolbox_new(&world->around);
    assert_int_equal(skills_open(world->toolbox, skills, &err), 0);
    json_object_put(skills);
}

WORLD_TEST(a_skill_is_read_whole_by_its_name)
{
    open_skills(*state, "[{\"name\":\"one\",\"description\":\"d\",\"text\":\"Do one.\"},"
                        "{\"name\":\"two\",\"description\":\"d\",\"text\":\"Do two.\\nAll.\"}]");
    world_expect(*state, "activate_skill", "{\"name\":\"two\"}", "# Skill: two\n\nDo two.\nAll.");
    world_expect(*state, "activate_skill", "{\"name\":\"two\"}", "# Skill: two\n\nDo two.\nAll.");
}

WORLD_TEST(another_name_is_an_error_that_says_where_the_names_are)
{
    open_skills(*state, "[{\"name\":\"one\",\"description\":\"d\",\"text\":\"Do one.\"}]");
    world_expect_error(*state, "activate_skill", "{\"name\":\"../one\"}",
                       "there is no skill '../one': the system prompt lists them");
}
