// SPDX-License-Identifier: Apache-2.0
/* Where MCP servers run: not where agents can put something in their way. */
#include "mcp/place.h"

#include "mcp_world.h"

static struct mcp_place place;

static int place_tear_down(void **state)
{
    mcp_place_fini(&place);
    unsetenv("LD_PRELOAD");
    return world_tear_down(state);
}

#define PLACE_TEST(test) TEST_WITH(test, world_set_up, place_tear_down)

static char *below(const struct mcp_world *world, const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", world->folder, name);
    return path;
}

static void put_file(const struct mcp_world *world, const char *name, mode_t mode)
{
    assert_int_equal(file_replace_durably(below(world, name), "#!/bin/sh\n", 10, NULL), 0);
    assert_int_equal(chmod(below(world, name), mode), 0);
}

static int make(struct mcp_world *world, struct mcp_options options)
{
    setenv("XDG_CACHE_HOME", below(world, "cache"), 1);
    options.name = options.name == NULL ? "server" : options.name;
    options.surroundings = &world->around;
    mcp_place_fini(&place);
    return mcp_place_make(&options, &place, &world->err);
}

static bool has(char *const *list, const char *text)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        if (strcmp(list[i], text) == 0) {
            return true;
        }
    }
    return false;
}

PLACE_TEST(a_sandboxed_server_has_a_private_folder)
{
    struct mcp_world *world = *state;
    char first[PATH_MAX];
    const struct mcp_options options = {.command = "sh", .tier = SANDBOX_NAMESPACE};
    assert_int_equal(make(world, options), 0);
    snprintf(first, sizeof(first), "%s", place.directory);
    assert_string_equal(place.directory, place.home);
    assert_int_equal(strncmp(first, below(world, "cache/rondo/mcp/server-"),
                             strlen(below(world, "cache/rondo/mcp/server-"))),
                     0);
    assert_true(has(place.write_paths, first));
    assert_int_equal(make(world, options), 0);
    assert_string_equal(place.directory, first);
    assert_int_equal(make(world, (struct mcp_options){.command = "cat", .tier = SANDBOX_NAMESPACE}),
                     0);
    assert_string_not_equal(place.directory, first);
    assert_int_equal(make(world, (struct mcp_options){.command = "sh",
                                                      .name = "../../evil",
                                                      .tier = SANDBOX_NAMESPACE}),
                     0);
    assert_null(strstr(place.directory, ".."));
}

PLACE_TEST(words_that_name_files_are_relative_to_the_registration)
{
    struct mcp_world *world = *state;
    const char *const args[] = {"-m",       "server",      "s.py", "./absent",
                                "--x=s.py", "/etc/passwd", NULL};
    put_file(world, "s.py", 0600);
    put_file(world, "run", 0700);
    put_file(world, "server", 0600);
    assert_int_equal(
        make(world,
             (struct mcp_options){.command = "./run", .args = args, .folder = world->folder}),
        0);
    assert_string_equal(place.argv[0], below(world, "./run"));
    assert_string_equal(place.argv[1], "-m");
    assert_string_equal(place.argv[2], "server");
    assert_string_equal(place.argv[3], below(world, "s.py"));
    assert_string_equal(place.argv[4], "./absent");
    assert_string_equal(place.argv[5], "--x=s.py");
    assert_string_equal(place.argv[6], "/etc/passwd");
    assert_null(place.argv[7]);
    assert_string_equal(place.directory, "/");
}

PLACE_TEST(a_program_that_path_finds_in_the_workspace_is_refused)
{
    struct mcp_world *world = *state;
    char path[512];
    char *before = strdup(getenv("PATH"));
    put_file(world, "planted-server", 0700);
    snprintf(path, sizeof(path), "%s:%s", world->folder, before);
    setenv("PATH", path, 1);
    assert_int_equal(
        make(world, (struct mcp_options){.command = "planted-server", .tier = SANDBOX_NAMESPACE}),
        RONDO_ERR_DENIED);
    assert_contains(world->err.message, "in the workspace");
    setenv("PATH", before, 1);
    free(before);
}

PLACE_TEST(without_a_sandbox_path_does_not_lead_into_the_workspace)
{
    struct mcp_world *world = *state;
    char path[PATH_MAX];
    char *before = strdup(getenv("PATH"));
    put_file(world, "planted-server", 0700);
    assert_int_equal(symlink(world->folder, below(world, "again")), 0);
    snprintf(path, sizeof(path), "%s:relative::/usr/bin:%s/again/../again", world->folder,
             world->folder);
    setenv("PATH", path, 1);
    assert_int_equal(make(world, (struct mcp_options){.command = "planted-server"}), 0);
    assert_true(has(place.envp, "PATH=/usr/bin"));
    const char *const env[] = {"PATH=/confirmed", NULL};
    assert_int_equal(make(world, (struct mcp_options){.command = "sh", .env = env}), 0);
    assert_true(has(place.envp, "PATH=/confirmed"));
    setenv("PATH", before, 1);
    free(before);
}

PLACE_TEST(the_environment_is_an_allow_list)
{
    struct mcp_world *world = *state;
    const char *const env[] = {"OWN=1", NULL};
    setenv("LD_PRELOAD", "", 1);
    setenv("PYTHONPATH", "/nowhere", 1);
    setenv("NODE_PATH", "/nowhere", 1);
    assert_int_equal(
        make(world, (struct mcp_options){.command = "sh", .env = env, .tier = SANDBOX_NAMESPACE}),
        0);
    assert_true(has(place.envp, "OWN=1"));
    assert_true(has(place.envp, "PYTHONSAFEPATH=1"));
    assert_true(has(place.env_names, "OWN"));
    assert_false(has(place.env_names, "LD_PRELOAD"));
    assert_false(has(place.env_names, "PYTHONPATH"));
    assert_false(has(place.env_names, "NODE_PATH"));
    unsetenv("PYTHONPATH");
    unsetenv("NODE_PATH");
}

PLACE_TEST(files_with_keys_are_hidden)
{
    struct mcp_world *world = *state;
    const char *const hidden[] = {"/var/lib/hidden", NULL};
    world->around.hide_paths = hidden;
    assert_int_equal(
        make(world,
             (struct mcp_options){.command = "sh", .folder = "/srv", .tier = SANDBOX_NAMESPACE}),
        0);
    assert_true(has(place.hide_paths, "/var/lib/hidden"));
    assert_true(has(place.hide_paths, "/srv/.env"));
    assert_true(has(place.hide_paths, below(world, ".env")));
}

PLACE_TEST(a_home_folder_is_not_shown_as_a_whole)
{
    struct mcp_world *world = *state;
    const char *const args[] = {"s.py", NULL};
    char *before = strdup(getenv("HOME"));
    put_file(world, "s.py", 0600);
    setenv("HOME", world->folder, 1);
    assert_int_equal(make(world, (struct mcp_options){.command = "sh",
                                                      .args = args,
                                                      .folder = world->folder,
                                                      .tier = SANDBOX_NAMESPACE}),
                     0);
    assert_false(has(place.read_paths, world->folder));
    assert_true(has(place.read_paths, below(world, "s.py")));
    setenv("HOME", before, 1);
    free(before);
}
