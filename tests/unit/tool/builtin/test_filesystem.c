// SPDX-License-Identifier: Apache-2.0
/* The filesystem tools: what they do, and every way out of the root that we know. */
#include "../tool_world.h"

#include "tool/builtin/filesystem_path.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#define READ_WRITE "{\"type\":\"filesystem\",\"read_only\":false}"

WORLD_TEST(a_file_is_read)
{
    world_open(*state, "{\"type\":\"filesystem\"}");
    world_write(*state, "notes.md", "hello\n");
    world_expect(*state, "read_file", "{\"path\":\"notes.md\"}", "hello\n");
    world_expect(*state, "read_file", "{\"path\":\"./x/../notes.md\"}", "hello\n");
}

WORLD_TEST(the_root_can_be_a_folder_of_the_workspace)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"filesystem\",\"root_path\":\"./drafts/\"}");
    world_expect_error(world, "list_directory", "", "cannot open the root './drafts/'");
    world_make_folder(world, "drafts");
    world_write(world, "drafts/a.md", "draft");
    world_write(world, "outside.md", "outside");
    world_expect(world, "read_file", "{\"path\":\"a.md\"}", "draft");
    world_expect_error(world, "read_file", "{\"path\":\"../outside.md\"}",
                       "Error: path '../outside.md' is outside allowed directories");
}

WORLD_TEST(an_absolute_path_must_lie_in_the_root)
{
    struct tool_world *world = *state;
    char arguments[2 * PATH_MAX];
    world_open(world, "{\"type\":\"filesystem\"}");
    world_write(world, "a.txt", "inside");
    snprintf(arguments, sizeof(arguments), "{\"path\":\"%s/a.txt\"}", world->workspace);
    world_expect(world, "read_file", arguments, "inside");
    world_expect_error(world, "read_file", "{\"path\":\"/etc/passwd\"}",
                       "Error: path '/etc/passwd' is outside allowed directories");
    snprintf(arguments, sizeof(arguments), "{\"path\":\"%s/../x\"}", world->workspace);
    world_expect_error(world, "read_file", arguments, "outside allowed directories");
    snprintf(arguments, sizeof(arguments), "{\"path\":\"%sx\"}", world->workspace);
    world_expect_error(world, "read_file", arguments, "outside allowed directories");
}

WORLD_TEST(dots_do_not_lead_out)
{
    struct tool_world *world = *state;
    world_open(world, READ_WRITE);
    world_write(world, "../secret", "secret");
    static const char *const paths[] = {"../secret", "a/../../secret", "./../secret",
                                        "a/b/../../../secret", "..//secret"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        char arguments[256];
        snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\"}", paths[i]);
        world_expect_error(world, "read_file", arguments, "outside allowed directories");
        snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\",\"content\":\"x\"}", paths[i]);
        world_expect_error(world, "write_file", arguments, "outside allowed directories");
    }
    world_expect_error(world, "list_directory", "{\"path\":\"..\"}", "outside allowed");
    world_expect_file(world, "../secret", "secret");
}

WORLD_TEST(symbolic_links_are_not_followed)
{
    struct tool_world *world = *state;
    world_open(world, READ_WRITE);
    world_write(world, "../secret", "secret");
    world_write(world, "real", "real");
    world_link(world, "../secret", "link");
    world_link(world, "..", "up");
    world_link(world, "real", "inner");
    world_link(world, "nowhere", "dangling");
    world_expect_error(world, "read_file", "{\"path\":\"link\"}",
                       "Error: path component 'link' is a symlink");
    world_expect_error(world, "read_file", "{\"path\":\"inner\"}", "is a symlink");
    world_expect_error(world, "read_file", "{\"path\":\"up/secret\"}",
                       "Error: path component 'up' is a symlink");
    world_expect_error(world, "list_directory", "{\"path\":\"up\"}", "is a symlink");
    world_expect_error(world, "write_file", "{\"path\":\"link\",\"content\":\"x\"}",
                       "is a symlink");
    world_expect_error(world, "write_file", "{\"path\":\"dangling\",\"content\":\"x\"}",
                       "is a symlink");
    world_expect_error(world, "write_file", "{\"path\":\"up/made\",\"content\":\"x\"}",
                       "is a symlink");
    world_expect_file(world, "../secret", "secret");
    world_expect_file(world, "../made", NULL);
    world_expect_file(world, "nowhere", NULL);
}

WORLD_TEST(a_root_that_became_a_symbolic_link_is_refused)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"filesystem\",\"root_path\":\"drafts\"}");
    world_link(world, "/etc", "drafts");
    world_expect_error(world, "read_file", "{\"path\":\"passwd\"}",
                       "the root 'drafts' goes through a symlink");
}

WORLD_TEST(a_workspace_that_became_a_symbolic_link_is_refused)
{
    struct tool_world *world = *state;
    char other[PATH_MAX + 32];
    world_open(world, READ_WRITE);
    world_make_folder(world, "../victim");
    world_write(world, "../victim/file", "secret");
    snprintf(other, sizeof(other), "%s/moved", world->folder);
    assert_int_equal(rename(world->workspace, other), 0);
    assert_int_equal(symlink("victim", world->workspace), 0);
    world_expect_error(world, "read_file", "{\"path\":\"file\"}", "goes through a symlink");
    world_expect_error(world, "write_file", "{\"path\":\"made\",\"content\":\"x\"}",
                       "goes through a symlink");
    world_expect_file(world, "../victim/made", NULL);
    assert_int_equal(unlink(world->workspace), 0);
    assert_int_equal(rename(other, world->workspace), 0);
}

struct link_swapper {
    char inside[2 * PATH_MAX];
    char link[2 * PATH_MAX];
    char name[2 * PATH_MAX];
    _Atomic bool must_end;
};

/** Make `name` a folder and a way out in turns. */
static void *swap(void *context)
{
    struct link_swapper *swapper = context;
    while (!swapper->must_end) {
        rename(swapper->inside, swapper->name);
        rename(swapper->name, swapper->inside);
        rename(swapper->link, swapper->name);
        rename(swapper->name, swapper->link);
    }
    return NULL;
}

WORLD_TEST(no_race_leads_out)
{
    struct tool_world *world = *state;
    struct link_swapper swapper = {0};
    world_open(world, READ_WRITE);
    world_write(world, "../secret", "secret");
    world_make_folder(world, "inside");
    world_write(world, "inside/secret", "public");
    world_link(world, "..", "link");
    snprintf(swapper.inside, sizeof(swapper.inside), "%s/inside", world->workspace);
    snprintf(swapper.link, sizeof(swapper.link), "%s/link", world->workspace);
    snprintf(swapper.name, sizeof(swapper.name), "%s/name", world->workspace);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
    for (int i = 0; i < 2000; i++) {
        struct tool_result result = world_call(world, "read_file", "{\"path\":\"name/secret\"}");
        assert_string_not_equal(buf_string(&result.text), "secret");
        tool_result_fini(&result);
        result =
            world_call(world, "write_file", "{\"path\":\"name/secret\",\"content\":\"public\"}");
        tool_result_fini(&result);
    }
    swapper.must_end = true;
    pthread_join(thread, NULL);
    world_expect_file(world, "../secret", "secret");
}

WORLD_TEST(hidden_paths_are_kept_from_agents)
{
    struct tool_world *world = *state;
    char store[2 * PATH_MAX];
    char policy[2 * PATH_MAX];
    snprintf(store, sizeof(store), "%s/.rondo", world->workspace);
    snprintf(policy, sizeof(policy), "%s/rondo.cedar", world->workspace);
    const char *const hidden[] = {store, policy, NULL};
    world->around.hide_paths = hidden;
    world_open(world, READ_WRITE);
    world_make_folder(world, ".rondo");
    world_write(world, ".rondo/store.db", "x");
    world_write(world, "rondo.cedary", "not hidden");
    world_expect_error(world, "read_file", "{\"path\":\".rondo/store.db\"}",
                       "not accessible to agents");
    world_expect_error(world, "list_directory", "{\"path\":\".rondo\"}",
                       "not accessible to agents");
    world_expect_error(world, "write_file", "{\"path\":\".rondo/a/b\",\"content\":\"x\"}",
                       "not accessible to agents");
    world_expect_error(world, "write_file", "{\"path\":\"rondo.cedar\",\"content\":\"x\"}",
                       "not accessible to agents");
    world_expect_file(world, "rondo.cedar", NULL);
    assert_int_equal(file_exists(policy), false);
    world_expect(world, "read_file", "{\"path\":\"rondo.cedary\"}", "not hidden");
    char made[3 * PATH_MAX];
    snprintf(made, sizeof(made), "%s/a", store);
    assert_false(file_exists(made));
}

WORLD_TEST(keys_of_the_role_are_kept_from_agents)
{
    struct tool_world *world = *state;
    world->around.role_folder = world->workspace;
    world_open(world, READ_WRITE);
    world_write(world, ".env", "KEY=1");
    world_expect_error(world, "read_file", "{\"path\":\".env\"}", "not accessible to agents");
    world_expect_error(world, "write_file", "{\"path\":\".env\",\"content\":\"x\"}",
                       "not accessible to agents");
    world_expect_file(world, ".env", "KEY=1");
}

static void expect_written(struct tool_world *world, const char *path, bool is_written)
{
    char arguments[256];
    snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\",\"content\":\"x\"}", path);
    if (is_written) {
        char text[128];
        snprintf(text, sizeof(text), "Written 1 bytes to %s", path);
        world_expect(world, "write_file", arguments, text);
    } else {
        world_expect_error(world, "write_file", arguments, "belongs to a git repository itself");
    }
}

/** Files in an order such that only the last one would complete a repository. */
static void expect_no_repository(struct tool_world *world, const char *const *paths)
{
    for (size_t i = 0; paths[i] != NULL; i++) {
        expect_written(world, paths[i], paths[i + 1] != NULL);
    }
}

WORLD_TEST(a_repository_of_any_name_is_not_made)
{
    struct tool_world *world = *state;
    world_open(world, READ_WRITE);
    const char *const orders[][6] = {
        {"a/config", "a/HEAD", "a/objects/x", "a/refs/heads/x"},
        {"b/refs/heads/x", "b/HEAD", "b/config", "b/objects/x"},
        {"c/config", "c/commondir", "c/HEAD"},
        {"d/e/HEAD", "d/e/hooks/pre-commit", "d/e/commondir"},
        {"refs/x", "config", "Objects/x"},
    };
    for (size_t i = 0; i < COUNT(orders); i++) {
        expect_no_repository(world, orders[i]);
    }
}

WORLD_TEST(a_repository_of_any_name_is_not_set_up)
{
    struct tool_world *world = *state;
    world_open(world, READ_WRITE);
    world_make_folder(world, "bare");
    world_make_folder(world, "bare/objects");
    world_make_folder(world, "bare/refs");
    expect_written(world, "bare/config", false);
    expect_written(world, "bare/Config.worktree", false);
    expect_written(world, "bare/hooks/pre-commit", false);
    expect_written(world, "bare/x/../HEAD", false);
    expect_written(world, "bare/README.md", true);
    expect_written(world, "bare/objects/x", true);
    expect_written(world, "config", true);
}

WORLD_TEST(the_inside_of_a_git_repository_is_not_written)
{
    struct tool_world *world = *state;
    world_open(world, READ_WRITE);
    world_make_folder(world, ".git/hooks");
    world_expect_error(world, "write_file",
                       "{\"path\":\".git/hooks/pre-commit\",\"content\":\"#!/bin/sh\"}",
                       "belongs to a git repository itself");
    world_expect_error(world, "write_file", "{\"path\":\"sub/.git/config\",\"content\":\"x\"}",
                       "belongs to a git repository itself");
    world_expect_error(world, "write_file", "{\"path\":\"sub/.GiT/config\",\"content\":\"x\"}",
                       "belongs to a git repository itself");
    world_expect(world, "write_file", "{\"path\":\".gitignore\",\"content\":\"x\"}",
                 "Written 1 bytes to .gitignore");
}

WORLD_TEST(extensions_are_checked)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"filesystem\",\"read_only\":false,\"allowed_extensions\":"
                      "[\".md\",\"txt\"]}");
    world_write(world, "a.md", "a");
    world_write(world, "b.txt", "b");
    world_write(world, "c.sh", "c");
    world_expect(world, "read_file", "{\"path\":\"a.md\"}", "a");
    world_expect(world, "read_file", "{\"path\":\"b.txt\"}", "b");
    world_expect_error(world, "read_file", "{\"path\":\"c.sh\"}",
                       "Error: file type .sh is not allowed (allowed: .md, txt)");
    world_expect_error(world, "read_file", "{\"path\":\".md\"}", "file type (none)");
    world_expect_error(world, "write_file", "{\"path\":\"x.md/y\",\"content\":\"\"}",
                       "file type (none)");
    world_expect_error(world, "write_file", "{\"path\":\"d.sh\",\"content\":\"\"}", "not allowed");
}

WORLD_TEST(reading_is_capped)
{
    struct tool_world *world = *state;
    struct buf text = {0};
    world_open(world, "{\"type\":\"filesystem\"}");
    size_t max = (size_t)1024 * 1024;
    memset(buf_room(&text, max + 1), 'x', max);
    buf_grown(&text, max);
    world_write(world, "exact", buf_string(&text));
    struct tool_result result = world_call(world, "read_file", "{\"path\":\"exact\"}");
    assert_int_equal(result.text.len, max);
    assert_false(result.is_truncated);
    tool_result_fini(&result);
    buf_append_string(&text, "y");
    world_write(world, "more", buf_string(&text));
    result = world_call(world, "read_file", "{\"path\":\"more\"}");
    assert_int_equal(result.text.len, max);
    assert_true(result.is_truncated);
    assert_false(result.is_error);
    tool_result_fini(&result);
    buf_fini(&text);
}

WORLD_TEST(a_character_cut_by_the_cap_is_no_binary)
{
    struct tool_world *world = *state;
    struct buf text = {0};
    world_open(world, "{\"type\":\"filesystem\"}");
    size_t len = (size_t)1024 * 1024 - 1;
    memset(buf_room(&text, len), 'x', len);
    buf_grown(&text, len);
    buf_append_string(&text, "\xE2\x82\xAC\xE2\x82\xAC");
    world_write(world, "euro", buf_string(&text));
    struct tool_result result = world_call(world, "read_file", "{\"path\":\"euro\"}");
    assert_false(result.is_error);
    assert_true(result.is_truncated);
    tool_result_fini(&result);
    buf_fini(&text);
}

WORLD_TEST(what_is_no_text_file_is_told)
{
    struct tool_world *world = *state;
    char path[2 * PATH_MAX];
    world_open(world, "{\"type\":\"filesystem\"}");
    world_write(world, "image", "\x89PNG\r\n");
    world_make_folder(world, "folder");
    snprintf(path, sizeof(path), "%s/pipe", world->workspace);
    assert_int_equal(mkfifo(path, 0600), 0);
    world_expect_error(world, "read_file", "{\"path\":\"image\"}",
                       "Error: 'image' is binary (6 bytes, not UTF-8 text)");
    world_expect_error(world, "read_file", "{\"path\":\"folder\"}",
                       "'folder' is a directory; list_directory");
    world_expect_error(world, "read_file", "{\"path\":\"pipe\"}", "is not a regular file");
    world_expect_error(world, "read_file", "{\"path\":\"missing\"}",
                       "Error: cannot read 'missing': No such file or directory");
    world_expect_error(world, "read_file", "{\"path\":\"\"}", "is a directory");
}

WORLD_TEST(names_are_listed_in_order)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"filesystem\"}");
    world_expect(world, "list_directory", "{}", "(empty directory)");
    world_write(world, "b", "");
    world_write(world, ".hidden", "");
    world_make_folder(world, "a");
    world_expect(world, "list_directory", "", ".hidden\na\nb");
    world_expect(world, "list_directory", "{\"path\":\"a\"}", "(empty directory)");
    world_expect_error(world, "list_directory", "{\"path\":\"b\"}", "Not a directory");
}

WORLD_TEST(long_listings_are_cut)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"filesystem\"}");
    for (int i = 0; i < 10001; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof(path), "%s/%d", world->workspace, i);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    struct tool_result result = world_call(world, "list_directory", "");
    assert_true(result.is_truncated);
    assert_non_null(strstr(buf_string(&result.text), "\n[truncated]"));
    tool_result_fini(&result);
}

WORLD_TEST(writing_is_offered_only_where_it_is_allowed)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"filesystem\"}");
    assert_null(toolbox_find(world->toolbox, "write_file"));
    const struct tool *reading = toolbox_find(world->toolbox, "read_file");
    assert_true(reading->is_idempotent);
    assert_true(reading->is_concurrent);
}

WORLD_TEST(a_file_is_written_with_its_parents)
{
    struct tool_world *world = *state;
    world_open(world, READ_WRITE);
    world_expect(world, "write_file", "{\"path\":\"a/b/c.txt\",\"content\":\"gr\\u00fc\\u00dfe\"}",
                 "Written 5 bytes to a/b/c.txt");
    world_expect_file(world, "a/b/c.txt",
                      "gr\xC3\xBC\xC3\x9F"
                      "e");
    world_expect(world, "list_directory", "{\"path\":\"a/b\"}", "c.txt");
    world_expect_error(world, "write_file", "{\"path\":\"a/b/c.txt/d\",\"content\":\"\"}",
                       "Not a directory");
    world_expect_error(world, "write_file", "{\"path\":\"a/b\",\"content\":\"\"}",
                       "is a directory, not a file");
    world_expect_error(world, "write_file", "{\"path\":\"new/\",\"content\":\"\"}",
                       "is a directory, not a file");
    world_expect_error(world, "write_file", "{\"path\":\"\",\"content\":\"\"}", "path is empty");
}

WORLD_TEST(a_root_that_is_missing_is_made_for_writing)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"filesystem\",\"root_path\":\"out/put\",\"read_only\":false}");
    world_expect(world, "write_file", "{\"path\":\"a\",\"content\":\"x\"}", "Written 1 bytes to a");
    world_expect_file(world, "out/put/a", "x");
}

WORLD_TEST(a_file_that_is_replaced_keeps_its_mode)
{
    struct tool_world *world = *state;
    char path[2 * PATH_MAX];
    struct stat status;
    world_open(world, READ_WRITE);
    world_write(world, "tool.sh", "old");
    snprintf(path, sizeof(path), "%s/tool.sh", world->workspace);
    assert_int_equal(chmod(path, 0754), 0);
    world_expect(world, "write_file", "{\"path\":\"tool.sh\",\"content\":\"new\"}",
                 "Written 3 bytes to tool.sh");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0754);
    world_expect_file(world, "tool.sh", "new");
}

struct normal {
    const char *root;
    const char *path;
    const char *relative;
};

TEST(paths_are_normalised)
{
    static const struct normal samples[] = {
        {"/r", "a", "a"},         {"/r", "", "."},
        {"/r", ".", "."},         {"/r", "a//b/./c/", "a/b/c"},
        {"/r", "a/..", "."},      {"/r", "a/../..", NULL},
        {"/r", "/r/a", "a"},      {"/r", "/r", "."},
        {"/r", "/r/../r/b", "b"}, {"/r", "/rr", NULL},
        {"/r", "/", NULL},        {"/r", "//r//a", "a"},
        {"/", "/a", "a"},         {"/", "..", NULL},
        {"/r", "...", "..."},
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct buf relative = {0};
        bool is_inside = path_normalise(samples[i].root, samples[i].path, &relative);
        assert_int_equal(is_inside, samples[i].relative != NULL);
        assert_string_equal(buf_string(&relative),
                            samples[i].relative == NULL ? "" : samples[i].relative);
        buf_fini(&relative);
    }
}
