// SPDX-License-Identifier: Apache-2.0
/* The git tools: what they say, and that no argument becomes an option or a program. */
#include "command_world.h"

#include "../../../support/sanitizer.h"
#include "base/auto.h"
#include "os/spawn/spawn.h"
#include "tool/builtin/git.h"

extern char **environ;

/** Run a script in the workspace, outside of any tool. */
static void prepare(struct tool_world *world, const char *script)
{
    const char *const argv[] = {"sh", "-ec", script, NULL};
    const struct spawn_request request = {.argv = argv,
                                          .envp = (const char *const *)environ,
                                          .directory = world->workspace,
                                          .total_ns = GENEROUS_NS,
                                          .output_keep = 4096};
    struct spawn_result result = {0};
    assert_int_equal(spawn_run(&request, &result, NULL), 0);
    if (result.end != SPAWN_EXITED || result.exit_code != 0) {
        fail_msg("%s: %s", script, result.output);
    }
    spawn_result_fini(&result);
}

#define READ_ONLY  "{\"type\":\"git\"}"
#define READ_WRITE "{\"type\":\"git\",\"read_only\":false}"

/** A repository with two commits, and an entry open on it. */
static struct tool_world *open_repository(void **state, const char *config)
{
    struct tool_world *world = world_in_tier(state);
    prepare(world, "git init -q -b main . && git config user.name Somebody && "
                   "git config user.email somebody@example.org && echo one >a.txt && "
                   "git add . && git commit -q -m first && echo two >>a.txt && echo b >b.txt && "
                   "git add . && git commit -q -m second");
    world_open(world, config);
    return world;
}

IN_TIER(none, nothing_but_a_work_tree_is_opened)
{
    struct tool_world *world = world_in_tier(state);
    struct rondo_error err = {0};
    assert_int_equal(world_try_open(world, READ_ONLY, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "'.' is not inside a git repository"));
    assert_int_equal(world_try_open(world, "{\"type\":\"git\",\"repo_path\":\"no\"}", &err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "'no' is not a directory"));
}

IN_TIER(none, a_git_that_path_finds_in_the_workspace_is_not_run)
{
    struct tool_world *world = world_in_tier(state);
    struct rondo_error err = {0};
    char path[2 * PATH_MAX];
    char *usual = strdup(getenv("PATH"));
    prepare(world, "git init -q . && mkdir bin && printf '#!/bin/sh\\ntouch \"$0.was-run\"\\n' "
                   ">bin/git && chmod +x bin/git");
    snprintf(path, sizeof(path), "%s/bin:%s", world->workspace, usual);
    setenv("PATH", path, 1);
    int code = world_try_open(world, READ_ONLY, &err);
    setenv("PATH", usual, 1);
    free(usual);
    assert_int_equal(code, RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "take its folder out of PATH"));
    world_expect_file(world, "bin/git.was-run", NULL);
}

IN_TIER(none, what_changes_is_offered_only_where_it_is_allowed)
{
    struct tool_world *world = open_repository(state, READ_ONLY);
    assert_int_equal(toolbox_count(world->toolbox), 7);
    assert_null(toolbox_find(world->toolbox, "git_commit"));
    for (size_t i = 0; i < 7; i++) {
        assert_true(toolbox_at(world->toolbox, i)->is_idempotent);
        assert_true(toolbox_at(world->toolbox, i)->is_read_only);
    }
}

BOTH_TIERS(the_work_tree_is_shown)
{
    struct tool_world *world = open_repository(state, READ_ONLY);
    world_expect(world, "git_status", "", "(no output)");
    world_write(world, "new.txt", "new");
    prepare(world, "echo three >>a.txt");
    world_expect(world, "git_status", "", " M a.txt\n?? new.txt\n");
    world_expect(world, "git_list_files", "", "a.txt\nb.txt\n");
    world_expect(world, "git_list_files", "{\"path\":\"b.txt\"}", "b.txt\n");
    world_expect(world, "git_changed_files", "", "M\ta.txt\nA\tb.txt\n");
}

BOTH_TIERS(differences_are_shown)
{
    struct tool_world *world = open_repository(state, READ_ONLY);
    prepare(world, "echo three >>a.txt && echo c >>b.txt && git add b.txt");
    struct tool_result result = world_call(world, "git_diff", "");
    assert_non_null(strstr(buf_string(&result.text), "+three"));
    assert_null(strstr(buf_string(&result.text), "+c"));
    tool_result_fini(&result);
    result = world_call(world, "git_diff", "{\"staged\":true}");
    assert_non_null(strstr(buf_string(&result.text), "+c"));
    tool_result_fini(&result);
    result = world_call(world, "git_diff", "{\"ref\":\"HEAD~1\",\"path\":\"b.txt\"}");
    assert_non_null(strstr(buf_string(&result.text), "+b"));
    assert_null(strstr(buf_string(&result.text), "+two"));
    tool_result_fini(&result);
}

BOTH_TIERS(commits_are_shown)
{
    struct tool_world *world = open_repository(state, READ_ONLY);
    struct tool_result result = world_call(world, "git_log", "{\"format\":\"compact\"}");
    const char *text = buf_string(&result.text);
    assert_non_null(strstr(text, " Somebody second\n"));
    assert_non_null(strstr(text, " Somebody first"));
    tool_result_fini(&result);
    result = world_call(world, "git_log", "{\"max_count\":1}");
    assert_null(strstr(buf_string(&result.text), "first"));
    tool_result_fini(&result);
    world_expect_error(world, "git_log", "{\"format\":\"%x\"}", "expected one of \"oneline\"");
    result = world_call(world, "git_show", "");
    assert_non_null(strstr(buf_string(&result.text), "2 files changed"));
    assert_non_null(strstr(buf_string(&result.text), "+two"));
    tool_result_fini(&result);
    result = world_call(world, "git_blame", "{\"path\":\"a.txt\"}");
    assert_non_null(strstr(buf_string(&result.text), "(Somebody"));
    tool_result_fini(&result);
}

IN_TIER(none, errors_of_git_are_told)
{
    struct tool_world *world = open_repository(state, READ_ONLY);
    world_expect_error(world, "git_show", "{\"ref\":\"nowhere\"}", "Error: fatal: bad revision");
    world_expect_error(world, "git_blame", "{\"path\":\"no.txt\"}", "Error: fatal: no such path");
}

BOTH_TIERS(no_argument_becomes_an_option)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    static const char *const refs[] = {"--output=/tmp/x", "-O", "HEAD;id", "$(id)", "a b",
                                       "HEAD\\n--x",      "",   "--"};
    for (size_t i = 0; i < COUNT(refs); i++) {
        char arguments[128];
        snprintf(arguments, sizeof(arguments), "{\"ref\":\"%s\"}", refs[i]);
        world_expect_error(world, "git_show", arguments, "Error: invalid ref");
        world_expect_error(world, "git_changed_files", arguments, "Error: invalid ref");
        snprintf(arguments, sizeof(arguments), "{\"branch\":\"%s\",\"create\":true}", refs[i]);
        world_expect_error(world, "git_checkout", arguments, "Error: invalid ref");
        snprintf(arguments, sizeof(arguments), "{\"name\":\"%s\"}", refs[i]);
        world_expect_error(world, "git_tag", arguments, "Error: invalid ref");
    }
    world_expect_error(world, "git_diff", "{\"path\":\"--no-index\"}", "Error: invalid path");
    world_expect_error(world, "git_blame", "{\"path\":\"-x\"}", "Error: invalid path");
    world_expect_error(world, "git_commit", "{\"message\":\"m\",\"paths\":\"-A\"}",
                       "Error: invalid path");
    world_expect_error(world, "git_diff", "{\"path\":\"/etc/passwd\"}", "outside repository");
    world_expect_error(world, "git_diff", "{\"ref\":\"/etc/hosts\",\"path\":\"/etc/passwd\"}",
                       "Error: ");
}

/** Call, and insist on a success whose text holds `part`. */
static void expect_part(struct tool_world *world, const char *name, const char *arguments,
                        const char *part)
{
    struct tool_result result = world_call(world, name, arguments);
    if (result.is_error || strstr(buf_string(&result.text), part) == NULL) {
        fail_msg("%s %s: %s", name, arguments, buf_string(&result.text));
    }
    tool_result_fini(&result);
}

BOTH_TIERS(branches_commits_and_tags_are_made)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    expect_part(world, "git_checkout", "{\"branch\":\"work\",\"create\":true}", "work");
    world_write(world, "c.txt", "c");
    expect_part(world, "git_commit", "{\"message\":\"--amend \\\"third\\\"\"}",
                "--amend \"third\"");
    world_expect(world, "git_tag", "{\"name\":\"v1\"}", "(no output)");
    world_expect(world, "git_tag", "{\"name\":\"v2\",\"message\":\"two\",\"ref\":\"HEAD~1\"}",
                 "(no output)");
    world_expect_error(world, "git_commit", "{\"message\":\"again\"}", "nothing to commit");
    prepare(world, "test \"$(git log -1 --format=%an v1)\" = Somebody && "
                   "test \"$(git rev-parse 'v2^{}')\" = \"$(git rev-parse main)\"");
}

/* Three packs are too many for this repository; git would pack them after the commit. */
BOTH_TIERS(nothing_is_tidied_up_after_a_commit)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    prepare(world, "git config gc.autoDetach false && git config gc.autoPackLimit 1 && "
                   "for i in 1 2 3; do echo $i >n && git add n && "
                   "git -c gc.auto=0 commit -q -m $i && git repack -q; done");
    world_write(world, "c.txt", "c");
    expect_part(world, "git_commit", "{\"message\":\"more\"}", "more");
    prepare(world, "test \"$(ls .git/objects/pack/*.pack | wc -l)\" = 3");
}

BOTH_TIERS(programs_that_a_repository_names_are_not_run)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    prepare(world, "printf '#!/bin/sh\\necho ran >>ran\\n' >evil.sh && chmod +x evil.sh && "
                   "cp evil.sh .git/hooks/pre-commit && cp evil.sh .git/hooks/post-checkout && "
                   "git config core.fsmonitor \"$PWD/evil.sh\" && "
                   "git config diff.external \"$PWD/evil.sh\" && "
                   "git config core.pager \"$PWD/evil.sh\" && "
                   "git config diff.x.textconv \"$PWD/evil.sh\" && "
                   "echo '*.txt diff=x' >.gitattributes && echo more >>a.txt && rm -f ran");
    static const char *const calls[][2] = {
        {"git_status", ""},
        {"git_diff", ""},
        {"git_show", ""},
        {"git_log", ""},
        {"git_blame", "{\"path\":\"a.txt\"}"},
        {"git_changed_files", ""},
        {"git_commit", "{\"message\":\"m\",\"paths\":\"a.txt\"}"},
        {"git_checkout", "{\"branch\":\"other\",\"create\":true}"},
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct tool_result result = world_call(world, calls[i][0], calls[i][1]);
        if (result.is_error) {
            fail_msg("%s: %s", calls[i][0], buf_string(&result.text));
        }
        tool_result_fini(&result);
        world_expect_file(world, "ran", NULL);
    }
}

BOTH_TIERS(a_subfolder_and_a_worktree_can_be_opened)
{
    struct tool_world *world = world_in_tier(state);
    prepare(world,
            "git init -q -b main . && git config user.name S && git config user.email s@x && "
            "mkdir sub && echo x >sub/x && git add . && git commit -q -m first && "
            "git worktree add -q ../tree -b tree");
    world_open(world, "{\"type\":\"git\",\"repo_path\":\"sub\"}");
    world_expect(world, "git_list_files", "", "x\n");
    toolbox_free(world->toolbox);
    world->toolbox = NULL;
    world_open(world, "{\"type\":\"git\",\"repo_path\":\"../tree\",\"read_only\":false}");
    world_expect(world, "git_list_files", "", "sub/x\n");
    world_write(world, "../tree/new", "new");
    struct tool_result result = world_call(world, "git_commit", "{\"message\":\"m\"}");
    if (strstr(buf_string(&result.text), "1 file changed") == NULL) {
        fail_msg("%s", buf_string(&result.text));
    }
    tool_result_fini(&result);
}

IN_TIER(namespace, what_is_hidden_is_no_change_and_cannot_be_changed)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    toolbox_free(world->toolbox);
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/b.txt", world->workspace);
    const char *const hidden[] = {path, NULL};
    world->around.hide_paths = hidden;
    world->toolbox = NULL;
    world_open(world, READ_WRITE);
    world_expect(world, "git_status", "", "(no output)");
    struct tool_result result = world_call(world, "git_checkout", "{\"branch\":\"HEAD~1\"}");
    tool_result_fini(&result);
    world_expect_file(world, "b.txt", "b\n");
}

/* Each question is some processes. With a sanitizer one of five is asked, so that each kind of it
 * has its turn; without one, all are. */
#define ASK_EACH (HAS_SANITIZER ? 5 : 1)

/** Insist that no answer holds the secret, whatever else it says. */
static void expect_no_secret(struct tool_world *world, const char *name, const char *arguments)
{
    static unsigned questions;
    if (questions++ % ASK_EACH != 0) {
        return;
    }
    struct tool_result result = world_call(world, name, arguments);
    if (strstr(buf_string(&result.text), "hunter2") != NULL) {
        fail_msg("%s %s: %s", name, arguments, buf_string(&result.text));
    }
    tool_result_fini(&result);
}

static void expect_nothing_shows_it(struct tool_world *world)
{
    static const char *const refs[] = {
        "HEAD",
        "HEAD:.env",
        "HEAD:./.env",
        "HEAD:sub/../.env",
        ":.env",
        ":0:.env",
        ":./.env",
        "HEAD:.env/",
        "main:sub/.ENV",
        "stash@{0}",
        "stash@{0}:.env",
        "stash^3",
        "HEAD~1..HEAD",
        "HEAD:a.txt..HEAD:.env",
        "HEAD^{tree}",
        "HEAD:",
        "HEAD:sub",
        "HEAD~1",
        "HEAD@{0}:.env",
        "v1",
        "blob",
        "main...HEAD",
        "HEAD^{/second}:.env",
        "refs/heads/main:.env",
        ":/second",
    };
    static const char *const paths[] = {
        ".",     "",           ".env",    "./.env",         "sub/.env",       "sub/../.env",
        ":.env", ":(top).env", ":/.env",  ":(literal).env", ":(glob)**/.en?", ".en*",
        "*",     "sub",        ":!a.txt", ":^a.txt",        ".ENV",
    };
    char arguments[128];
    for (size_t i = 0; i < COUNT(refs); i++) {
        snprintf(arguments, sizeof(arguments), "{\"ref\":\"%s\"}", refs[i]);
        expect_no_secret(world, "git_show", arguments);
        expect_no_secret(world, "git_diff", arguments);
        expect_no_secret(world, "git_changed_files", arguments);
        for (size_t j = 0; j < COUNT(paths) && i % 8 == 0; j++) {
            snprintf(arguments, sizeof(arguments), "{\"ref\":\"%s\",\"path\":\"%s\"}", refs[i],
                     paths[j]);
            expect_no_secret(world, "git_diff", arguments);
        }
    }
    for (size_t i = 0; i < COUNT(paths); i++) {
        snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\"}", paths[i]);
        expect_no_secret(world, "git_diff", arguments);
        expect_no_secret(world, "git_blame", arguments);
        snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\",\"staged\":true}", paths[i]);
        expect_no_secret(world, "git_diff", arguments);
    }
}

/** What git's objects hold of a file's content. */
static void expect_committed(struct tool_world *world, const char *path, bool is_there)
{
    char script[256];
    snprintf(script, sizeof(script), "%s git cat-file -e HEAD:%s 2>/dev/null", is_there ? "" : "!",
             path);
    prepare(world, script);
}

IN_TIER(none, secret_files_are_not_added)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    prepare(world, "mkdir sub && echo hunter2 >.env && echo hunter2 >sub/.env.production && "
                   "echo hunter2 >server.key && echo x >.env.example && echo '.env*' >.gitignore");
    expect_nothing_shows_it(world);
    world_write(world, ".gitignore", "");
    static const char *const paths[] = {".", "*", ":/", "./", "sub", ":(glob)**"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        char arguments[128];
        snprintf(arguments, sizeof(arguments), "{\"message\":\"m\",\"paths\":\"%s\"}", paths[i]);
        struct tool_result result = world_call(world, "git_commit", arguments);
        tool_result_fini(&result);
    }
    static const char *const refused[] = {".env",  "./.env",      "sub/.env.production",
                                          ".ENV",  "sub/../.env", "server.key",
                                          ":.env", ":(top).env"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        char arguments[128];
        snprintf(arguments, sizeof(arguments), "{\"message\":\"m\",\"paths\":\"%s\"}", refused[i]);
        struct tool_result result = world_call(world, "git_commit", arguments);
        assert_true(result.is_error);
        tool_result_fini(&result);
    }
    expect_committed(world, ".env.example", true);
    expect_committed(world, ".env", false);
    expect_committed(world, "sub/.env.production", false);
    expect_committed(world, "server.key", false);
    expect_nothing_shows_it(world);
}

BOTH_TIERS(secret_files_that_git_knows_already_are_not_shown)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    prepare(world, "mkdir sub && echo hunter2 >.env && echo hunter2 >sub/.env && git add -f . && "
                   "git commit -q -m second && git tag -a -m t v1 && "
                   "git tag blob HEAD:.env && echo hunter2b >>.env && git stash -q && "
                   "echo hunter2c >>.env && git add -f .env && echo hunter2d >>sub/.env");
    expect_nothing_shows_it(world);
    world_expect(world, "git_status", "", "(no output)");
    world_write(world, "c.txt", "c\n");
    struct tool_result result = world_call(world, "git_commit", "{\"message\":\"third\"}");
    assert_false(result.is_error);
    tool_result_fini(&result);
    expect_nothing_shows_it(world);
    prepare(world, "git rev-parse HEAD~1:.env >object");
    auto_buf struct buf text = {0};
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/object", world->workspace);
    assert_int_equal(file_read(path, 1000, &text, NULL), 0);
    char arguments[128];
    snprintf(arguments, sizeof(arguments), "{\"ref\":\"%.40s\"}", buf_string(&text));
    expect_no_secret(world, "git_show", arguments);
    expect_no_secret(world, "git_diff", arguments);
    snprintf(arguments, sizeof(arguments), "{\"ref\":\"%.40s..HEAD\"}", buf_string(&text));
    expect_no_secret(world, "git_diff", arguments);
    snprintf(arguments, sizeof(arguments), "{\"ref\":\"%.40s\",\"path\":\"a.txt\"}",
             buf_string(&text));
    expect_no_secret(world, "git_diff", arguments);
}

/** The mechanism without names: what is hidden cannot be read by git, whatever it is called. */
BOTH_TIERS(what_is_hidden_is_not_read_by_git)
{
    struct tool_world *world = open_repository(state, READ_WRITE);
    prepare(world, "mkdir role && echo hunter2 >role/.env && echo hunter2 >plain");
    char path[2 * PATH_MAX];
    char role[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/plain", world->workspace);
    snprintf(role, sizeof(role), "%s/role", world->workspace);
    const char *const hidden[] = {path, NULL};
    toolbox_free(world->toolbox);
    world->toolbox = NULL;
    world->around.hide_paths = hidden;
    world->around.role_folder = role;
    world_open(world, READ_WRITE);
    expect_nothing_shows_it(world);
    struct tool_result result =
        world_call(world, "git_commit", "{\"message\":\"m\",\"paths\":\"plain\"}");
    tool_result_fini(&result);
    result = world_call(world, "git_commit", "{\"message\":\"m\"}");
    tool_result_fini(&result);
    expect_nothing_shows_it(world);
    expect_committed(world, "plain", false);
    expect_committed(world, "role/.env", false);
}

ALSO_IN_TIER(landlock, what_is_hidden_is_not_read_by_git);

int main(int argc, char **argv)
{
    if (is_supervisor(argc, argv)) {
        return supervise_main(argc, argv);
    }
    return test_run(NULL, NULL);
}
