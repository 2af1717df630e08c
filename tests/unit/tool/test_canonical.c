// SPDX-License-Identifier: Apache-2.0
/* One spelling for each meaning of paths, commands and URLs. */
#include "tool/canonical.h"
#include "tool_world.h"

#include "base/auto.h"
#include "base/memory.h"

static void expect_path(struct tool_world *world, const char *path, const char *canonical)
{
    auto_buf struct buf text = {0};
    canonical_path(world->workspace, world->workspace, path, &text);
    if (strcmp(buf_string(&text), canonical) != 0) {
        fail_msg("%s: %s, not %s", path, buf_string(&text), canonical);
    }
}

WORLD_TEST(a_path_has_one_spelling)
{
    struct tool_world *world = *state;
    static const struct {
        const char *path, *canonical;
    } cases[] = {
        {"a.md", "a.md"},
        {"./a.md", "a.md"},
        {"a//b", "a/b"},
        {"a/", "a"},
        {"docs/../Makefile", "Makefile"},
        {".", "."},
        {"a/./b/.", "a/b"},
        {"x/..", "."},
        {"/etc/../etc/hosts", "/etc/hosts"},
        {"././/a", "a"},
        {"", ""},
        {"A.md", "A.md"},
        {"a/../../work/b", "b"},
        {"...", "..."},
        {" a", " a"},
        {"///etc/hosts", "/etc/hosts"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_path(world, cases[i].path, cases[i].canonical);
    }
    char absolute[2 * PATH_MAX];
    snprintf(absolute, sizeof(absolute), "%s/docs/../a", world->workspace);
    expect_path(world, absolute, "a");
    snprintf(absolute, sizeof(absolute), "%s/secret", world->folder);
    expect_path(world, "../secret", absolute);
    expect_path(world, "docs/../../secret", absolute);
}

WORLD_TEST(a_path_goes_where_its_links_lead)
{
    struct tool_world *world = *state;
    char target[2 * PATH_MAX];
    char link[2 * PATH_MAX];
    snprintf(target, sizeof(target), "%s/docs", world->workspace);
    assert_int_equal(mkdir(target, 0755), 0);
    snprintf(link, sizeof(link), "%s/docs/out", world->workspace);
    assert_int_equal(symlink("/etc", link), 0);
    snprintf(link, sizeof(link), "%s/in", world->workspace);
    assert_int_equal(symlink("docs", link), 0);
    expect_path(world, "docs/out/hosts", "/etc/hosts");
    expect_path(world, "docs/out/not/there", "/etc/not/there");
    expect_path(world, "in/new/file", "docs/new/file");
    expect_path(world, "in/../docs/x", "docs/x");
    snprintf(link, sizeof(link), "%s/other", world->folder);
    assert_int_equal(symlink("work", link), 0);
    snprintf(link, sizeof(link), "%s/other/a", world->folder);
    expect_path(world, link, "a");
}

/** @param lines those that a command is judged as, parted by "; " */
static void expect_command(const char *command, bool is_script, const char *lines)
{
    struct canonical_commands commands;
    auto_buf struct buf text = {0};
    canonical_command(command, "/nonexistent", is_script, &commands);
    for (size_t i = 0; i < commands.count; i++) {
        buf_printf(&text, "%s%s", i > 0 ? "; " : "", commands.lines[i]);
    }
    canonical_commands_fini(&commands);
    if (strcmp(buf_string(&text), lines) != 0) {
        fail_msg("%s: %s, not %s", command, buf_string(&text), lines);
    }
}

TEST(a_command_is_its_words)
{
    static const struct {
        const char *command, *lines;
    } cases[] = {
        {"git push", "git push"},
        {"git  push", "git push"},
        {"git\tpush", "git push"},
        {" git push \n", "git push"},
        {"'git' pu\"sh\"", "git push"},
        {"g\\it push", "git push"},
        {"/bin/sh x", "sh x"},
        {"/bin/../bin//sh x", "sh x"},
        {"./git push", "./git push"},
        {".//git push", "./git push"},
        {"/nonexistent/git push", "./git push"},
        {"../tmp/git push", "/tmp/git push"},
        {"git 'push", "git 'push"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_command(cases[i].command, false, cases[i].lines);
    }
}

TEST(a_command_that_starts_another_one_is_both)
{
    static const struct {
        const char *command, *lines;
    } cases[] = {
        {"A=b git push", "A=b git push; git push"},
        {"env A=b  git push", "env A=b git push; git push"},
        {"env -i -u X A=b git push", "env -i -u X A=b git push; git push"},
        {"command git push", "command git push; git push"},
        {"/usr/bin/env git push", "env git push; git push"},
        {"timeout -s KILL 5 nice -n 3 git push",
         "timeout -s KILL 5 nice -n 3 git push; nice -n 3 git push; git push"},
        {"sh -c 'git push; ls'", "sh -c git push; ls; git push; ls"},
        {"bash -ec \"A=1 git push\"", "bash -ec A=1 git push; A=1 git push; git push"},
        {"sh -c 'echo \"$(git push)\"'", "sh -c echo \"$(git push)\"; echo \"; git push; \""},
        {"find . -exec rm {} +", "find . -exec rm {} +; rm {} +"},
        {"xargs -n 1 rm", "xargs -n 1 rm; rm"},
        {"env -S 'git push'", "env -S git push; git push"},
        {"git commit -m 'a; git push'", "git commit -m a; git push"},
        {"env - git push", "env - git push; git push"},
        {"git -C . push", "git -C . push; git push"},
        {"git --git-dir .git -c a=b -p push x", "git --git-dir .git -c a=b -p push x; git push x"},
        {"git --git-dir=.git push", "git --git-dir=.git push; git push"},
        {"git --version", "git --version"},
        {"git -C", "git -C"},
        {"script -qc 'git push'", "script -qc git push; git push"},
        {"script -q --command='git push' x", "script -q --command=git push x; git push"},
        {"su root -c 'git push'", "su root -c git push; git push"},
        {"flock x -c 'git push'", "flock x -c git push; git push"},
        {"ssh-agent -t 5 git push", "ssh-agent -t 5 git push; git push"},
        {"systemd-run -p A=b git push", "systemd-run -p A=b git push; git push"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_command(cases[i].command, false, cases[i].lines);
    }
    expect_command("ls && git push", true, "ls && git push; ls; git push");
    expect_command("ls|git  push\nid", true, "ls|git push id; ls; git push; id");
}

TEST(commands_in_one_another_are_limited)
{
    auto_buf struct buf line = {0};
    struct canonical_commands commands;
    for (int i = 1; i < CANONICAL_FORMS_MAX; i++) {
        buf_printf(&line, "nice -n %d ", i);
    }
    buf_append_string(&line, "ls");
    canonical_command(buf_string(&line), "/", false, &commands);
    assert_int_equal(commands.count, CANONICAL_FORMS_MAX);
    assert_false(commands.is_cut);
    canonical_commands_fini(&commands);
    auto_buf struct buf more = {0};
    buf_printf(&more, "nohup %s", buf_string(&line));
    canonical_command(buf_string(&more), "/", false, &commands);
    assert_true(commands.is_cut);
    canonical_commands_fini(&commands);
}

TEST(a_url_has_one_spelling)
{
    static const struct {
        const char *url, *canonical;
    } cases[] = {
        {"https://example.com", "https://example.com/"},
        {"HTTPS://Example.COM./a", "https://example.com/a"},
        {"https://example.com:443/a", "https://example.com/a"},
        {"https://example.com:0443/a", "https://example.com/a"},
        {"http://example.com:8080/", "http://example.com:8080/"},
        {"https://good.org@evil.com/", "https://evil.com/"},
        {"https://a:b@evil.com:443/", "https://evil.com/"},
        {"https://good.org\\@evil.com/", "https://good.org/@evil.com/"},
        {"https://example.com/a/../b/./c//d", "https://example.com/b/c/d"},
        {"https://example.com/%61%2e%2e/%2E%2e/b", "https://example.com/b"},
        {"https://example.com/a%2fb?x=%41#f", "https://example.com/a%2Fb?x=A"},
        {"http://2130706433/", "http://127.0.0.1/"},
        {"http://0x7f.1/", "http://127.0.0.1/"},
        {"http://0177.0.0.1/", "http://127.0.0.1/"},
        {"http://[0:0::1]:80/", "http://[::1]/"},
        {"http://[2001:DB8::1]/", "http://[2001:db8::1]/"},
        {"http://b\u00fccher.example/", "http://xn--bcher-kva.example/"},
        {"http://\u65e5\u672c\u8a9e.jp/", "http://xn--wgv71a119e.jp/"},
        {"http://\uff45xample\u3002com/", "http://example.com/"},
        {"http://ex%61mple.com/", "http://example.com/"},
        {" ht\ttp://example.com/ ", "http://example.com/"},
        {"http:example.com", "http://example.com/"},
        {"http:/\\example.com/x", "http://example.com/x"},
        {"mailto:a@b", "mailto:a@b"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf text = {0};
        canonical_url(cases[i].url, &text);
        if (strcmp(buf_string(&text), cases[i].canonical) != 0) {
            fail_msg("%s: %s, not %s", cases[i].url, buf_string(&text), cases[i].canonical);
        }
    }
}

TEST(a_path_of_a_url_begins_with_one_slash)
{
    static const struct {
        const char *path, *canonical;
    } cases[] = {
        {"admin", "/admin"},  {"//admin/", "/admin/"},   {"", "/"},
        {"/a/./b", "/a/b"},   {"/%61dmin", "/admin"},    {"a?b=../c", "/a?b=../c"},
        {"/a/%2e/b", "/a/b"}, {"/x/../admin", "/admin"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf text = {0};
        canonical_url_path(cases[i].path, &text);
        if (strcmp(buf_string(&text), cases[i].canonical) != 0) {
            fail_msg("%s: %s, not %s", cases[i].path, buf_string(&text), cases[i].canonical);
        }
    }
}

/** @param forms as JSON, one a line */
static void expect_forms(struct tool_world *world, const struct tool *tool, const char *arguments,
                         const char *expected)
{
    struct json_object *object = json_of(arguments);
    struct canonical_forms forms;
    auto_buf struct buf text = {0};
    assert_true(canonical_make(tool, world->workspace, NULL, object, &forms));
    for (size_t i = 0; i < forms.count; i++) {
        buf_printf(&text, "%s%s", i > 0 ? "\n" : "",
                   json_object_to_json_string_ext(
                       forms.forms[i], JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    canonical_forms_fini(&forms);
    json_object_put(object);
    assert_string_equal(buf_string(&text), expected);
}

WORLD_TEST(arguments_of_servers_are_known_by_their_names)
{
    const struct tool tool = {.name = (char *)"x"};
    expect_forms(*state, &tool, "{\"path\":\"a/../b\",\"text\":\"a/../b\",\"n\":1}",
                 "{\"path\":\"b\",\"text\":\"a/../b\",\"n\":1}");
    expect_forms(*state, &tool, "{\"file_path\":\"./b\",\"oldPath\":\"c//d\",\"xpath\":\"//a\"}",
                 "{\"file_path\":\"b\",\"oldPath\":\"c/d\",\"xpath\":\"//a\"}");
    expect_forms(*state, &tool, "{\"paths\":[\"./a\",\"b/\"],\"edits\":[{\"file\":\"./c\"}]}",
                 "{\"paths\":[\"a\",\"b\"],\"edits\":[{\"file\":\"c\"}]}");
    expect_forms(*state, &tool, "{\"page\":\"HTTPS://E.com\",\"host\":\"E.COM.\"}",
                 "{\"page\":\"https://e.com/\",\"host\":\"e.com\"}");
    expect_forms(*state, &tool, "{\"command\":\"ls;git  push\",\"b\":null}",
                 "{\"command\":\"ls;git push\",\"b\":null}\n{\"command\":\"ls\",\"b\":null}\n"
                 "{\"command\":\"git push\",\"b\":null}");
}

/** Insist on whether a call passes the permissions of its entry. */
static void expect_permitted(struct tool_world *world, const char *config, const char *name,
                             const char *arguments, bool is_permitted)
{
    toolbox_free(world->toolbox);
    world->toolbox = NULL;
    world_open(world, config);
    struct tool_result result = world_call(world, name, arguments);
    if ((strstr(buf_string(&result.text), "Permission denied") == NULL) != is_permitted) {
        fail_msg("%s %s: %s", config, arguments, buf_string(&result.text));
    }
    tool_result_fini(&result);
}

#define FILES(permissions) \
    "{\"type\":\"filesystem\",\"read_only\":false,\"permissions\":{" permissions "}}"
#define SHELL(permissions) \
    "{\"type\":\"shell\",\"require_confirmation\":false,\"permissions\":{" permissions "}}"
#define DOCS_ONLY FILES("\"default\":\"deny\",\"allow\":[\"path=docs/*\"]")
#define NOT_A     FILES("\"deny\":[\"path=a.md\"]")
#define NO_PUSH   SHELL("\"deny\":[\"command=git push*\"]")
#define LOG_ONLY  SHELL("\"default\":\"deny\",\"allow\":[\"command=git log*\"]")

WORLD_TEST(permissions_see_canonical_values)
{
    struct tool_world *world = *state;
    static const struct {
        const char *config, *name, *arguments;
        bool is_permitted;
    } cases[] = {
        {DOCS_ONLY, "read_file", "{\"path\":\"docs/a\"}", true},
        {DOCS_ONLY, "read_file", "{\"path\":\"./docs//a\"}", true},
        {DOCS_ONLY, "read_file", "{\"path\":\"docs/../Makefile\"}", false},
        {DOCS_ONLY, "write_file", "{\"path\":\"docs/x/../../Makefile\",\"content\":\"\"}", false},
        {DOCS_ONLY, "read_file", "{\"path\":\"docs/../../docs/a\"}", false},
        {NOT_A, "read_file", "{\"path\":\"a.md\"}", false},
        {NOT_A, "read_file", "{\"path\":\"./a.md\"}", false},
        {NOT_A, "read_file", "{\"path\":\"x/../a.md\"}", false},
        {NOT_A, "read_file", "{\"path\":\"a.md/\"}", false},
        {NOT_A, "read_file", "{\"path\":\"b.md\"}", true},
        {NO_PUSH, "run_shell", "{\"command\":\"git  push\"}", false},
        {NO_PUSH, "run_shell", "{\"command\":\"git\\tpush\"}", false},
        {NO_PUSH, "run_shell", "{\"command\":\"'git' push\"}", false},
        {NO_PUSH, "run_shell", "{\"command\":\"env A=b git push\"}", false},
        {NO_PUSH, "run_shell", "{\"command\":\"A=b git push\"}", false},
        {NO_PUSH, "run_shell", "{\"command\":\"command git push\"}", false},
        {NO_PUSH, "run_shell", "{\"command\":\"sh -c 'git push'\"}", false},
        {NO_PUSH, "run_shell", "{\"command\":\"git status\"}", true},
        {LOG_ONLY, "run_shell", "{\"command\":\"git  log\"}", true},
        {LOG_ONLY, "run_shell", "{\"command\":\"env A=b git log\"}", false},
        {LOG_ONLY, "run_shell", "{\"command\":\"./git log\"}", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_permitted(world, cases[i].config, cases[i].name, cases[i].arguments,
                         cases[i].is_permitted);
    }
}

WORLD_TEST(paths_of_permissions_are_relative_to_the_root_of_the_entry)
{
    struct tool_world *world = *state;
    char absolute[3 * PATH_MAX];
    char folder[2 * PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/sub", world->workspace);
    assert_int_equal(mkdir(folder, 0755), 0);
    static const char config[] = "{\"type\":\"filesystem\",\"root_path\":\"sub\",\"permissions\":{"
                                 "\"deny\":[\"path=secret/*\"]}}";
    expect_permitted(world, config, "read_file", "{\"path\":\"secret/x\"}", false);
    expect_permitted(world, config, "read_file", "{\"path\":\"a/../secret/x\"}", false);
    snprintf(absolute, sizeof(absolute), "{\"path\":\"%s/secret/x\"}", folder);
    expect_permitted(world, config, "read_file", absolute, false);
    expect_permitted(world, config, "read_file", "{\"path\":\"a\"}", true);
    /* Policies see them from the workspace. */
    const struct tool *tool = toolbox_find(world->toolbox, "read_file");
    expect_forms(world, tool, "{\"path\":\"./secret/x\"}", "{\"path\":\"sub/secret/x\"}");
}
