// SPDX-License-Identifier: Apache-2.0
#include "git_scene.h"

static struct git_changes changes;

static int set_up(void **state)
{
    scene_set_up(state);
    return scene_add_tree();
}

static int tear_down(void **state)
{
    git_changes_fini(&changes);
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

static int read_changes_but(const char *const *excluded)
{
    const struct git_changes_request request = {
        .path = scene_path("tree"),
        .index_path = scene_path("index"),
        .base = scene_head(),
        .excluded = excluded,
    };
    git_changes_fini(&changes);
    return git_changes_read(&scene_git, &request, &changes, &scene_err);
}

static int read_changes(void)
{
    return read_changes_but(NULL);
}

static void assert_change(size_t i, enum git_change_kind kind, const char *path)
{
    assert_true(i < changes.count);
    assert_int_equal(changes.items[i].kind, kind);
    assert_string_equal(changes.items[i].path, path);
}

static int note_drift(void *context, enum git_change_kind kind, const char *path,
                      struct rondo_error *err)
{
    struct buf *notes = context;
    (void)err;
    buf_printf(notes, "%c %s\n", "AMDT"[kind], path);
    return 0;
}

CASE(an_untouched_tree_has_no_changes)
{
    char tree[GIT_ID_SIZE];
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
    assert_false(changes.is_head_moved);
    assert_ok(git_resolve_tree(&scene_git, "HEAD", tree, &scene_err));
    assert_string_equal(changes.tree, tree);
    shell("touch tree/a");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
}

CASE(all_kinds_of_changes_are_found)
{
    shell("cd tree && echo 2 >>a && rm folder/b && echo new >n && echo x >x.ignored && "
          "ln -sf a .gitignore");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 5); /* the link ignores nothing any more */
    assert_change(0, GIT_TYPE_CHANGED, ".gitignore");
    assert_change(1, GIT_MODIFIED, "a");
    assert_change(2, GIT_DELETED, "folder/b");
    assert_change(3, GIT_ADDED, "n");
    assert_change(4, GIT_ADDED, "x.ignored");
    shell("cd tree && rm n .gitignore x.ignored && git checkout -q -- .");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
}

CASE(files_that_git_silently_leaves_out_are_refused)
{
    static const char *const names[] = {".GIT", "git~1", ".Git"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        shell("mkdir -p 'tree/d/%s' && echo x >'tree/d/%s/config' && echo 2 >>tree/a", names[i],
              names[i]);
        assert_int_equal(read_changes(), RONDO_ERR_DENIED);
        assert_non_null(strstr(scene_err.message, names[i]));
        shell("rm -r tree/d");
    }
    assert_ok(read_changes());
    assert_int_equal(changes.count, 1);
}

CASE(an_index_that_somebody_else_has_written_is_made_anew)
{
    static const char *const ways[] = {
        "git update-index --assume-unchanged a",
        "git update-index --skip-worktree a",
        "git update-index --skip-worktree a && cp ../index ../f && mv ../f ../index",
        "rm ../index && ln -s /dev/zero ../index",
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct git_index_mark mark;
        struct buf notes = {0};
        const struct git_changes_request request = {.path = scene_path("tree"),
                                                    .index_path = scene_path("index"),
                                                    .base = scene_head(),
                                                    .mark = &mark};
        shell("cd tree && git checkout -q -f");
        git_index_mark_take(request.index_path, &mark);
        shell("cd tree && echo evil >a && export GIT_INDEX_FILE=$PWD/../index && %s", ways[i]);
        git_changes_fini(&changes);
        assert_ok(git_changes_read(&scene_git, &request, &changes, &scene_err));
        assert_int_equal(changes.count, 1);
        assert_change(0, GIT_MODIFIED, "a");
        assert_true(mark.is_known);
        assert_ok(git_changes_drift(&scene_git, &request, note_drift, &notes, &scene_err));
        assert_string_equal(buf_string(&notes), "");
        shell("cd tree && export GIT_INDEX_FILE=$PWD/../index && "
              "git update-index --assume-unchanged a");
        assert_int_equal(git_changes_drift(&scene_git, &request, note_drift, &notes, &scene_err),
                         RONDO_ERR_DENIED);
        mark.is_known = false;
        git_changes_fini(&changes);
        assert_ok(git_changes_read(&scene_git, &request, &changes, &scene_err));
        buf_fini(&notes);
    }
}

CASE(a_reference_that_replaces_the_base_hides_no_change)
{
    shell("cd tree && echo weak >a && git add a && tree=$(git write-tree) && "
          "git replace \"$(git rev-parse 'HEAD^{tree}')\" \"$tree\"");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 1);
    assert_change(0, GIT_MODIFIED, "a");
}

CASE(ignored_files_are_left_out)
{
    shell("cd tree && echo x >x.ignored && mkdir d && echo y >d/y.ignored");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
}

CASE(what_has_changed_since_the_last_look_is_named)
{
    struct buf notes = {0};
    shell("cd tree && echo x >x.ignored && echo 2 >>a && echo n >n");
    assert_ok(read_changes());
    const struct git_changes_request request = {
        .path = scene_path("tree"), .index_path = scene_path("index"), .base = scene_head()};
    assert_ok(git_changes_drift(&scene_git, &request, note_drift, &notes, &scene_err));
    assert_string_equal(buf_string(&notes), "A x.ignored\n");
    buf_clear(&notes);
    shell("cd tree && rm folder/b && echo 3 >>a && git init -q sub && echo x >sub/f");
    assert_ok(git_changes_drift(&scene_git, &request, note_drift, &notes, &scene_err));
    assert_non_null(strstr(buf_string(&notes), "A sub/\n"));
    assert_non_null(strstr(buf_string(&notes), "D folder/b\n"));
    assert_non_null(strstr(buf_string(&notes), "M a\n"));
    buf_fini(&notes);
    shell("rm -r tree");
    assert_int_equal(git_changes_drift(&scene_git, &request, note_drift, &notes, &scene_err),
                     RONDO_ERR_DENIED);
}

CASE(a_change_of_the_same_size_in_the_same_second_with_the_old_time_is_found)
{
    shell("touch -r tree/a time && printf 'two\\n' >tree/a && touch -r time tree/a");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 1);
    assert_change(0, GIT_MODIFIED, "a");
}

CASE(files_and_folders_change_places)
{
    shell("cd tree && rm a && mkdir a && echo 1 >a/b && rm -r folder && echo 2 >folder");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 4);
    assert_change(0, GIT_DELETED, "a");
    assert_change(1, GIT_ADDED, "a/b");
    assert_change(2, GIT_ADDED, "folder");
    assert_change(3, GIT_DELETED, "folder/b");
}

CASE(a_link_in_place_of_a_folder_is_not_followed)
{
    shell("mkdir out && echo secret >out/b && cd tree && rm -r folder && ln -s ../out folder");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 2);
    assert_change(0, GIT_ADDED, "folder");
    assert_change(1, GIT_DELETED, "folder/b");
    shell("cd repo && ! git cat-file -e $(git hash-object ../out/b)");
}

CASE(odd_names_are_taken_as_they_are)
{
    shell("cd tree && echo 1 >\"$(printf 'line\\nend')\" && echo 2 >'\"quoted\"' && echo 3 >-x && "
          "echo 4 >\"$(printf '\\377')\" && echo 5 >' s'");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 5);
    assert_change(0, GIT_ADDED, " s");
    assert_change(1, GIT_ADDED, "\"quoted\"");
    assert_change(2, GIT_ADDED, "-x");
    assert_change(3, GIT_ADDED, "line\nend");
    assert_change(4, GIT_ADDED, "\377");
}

CASE(what_is_excluded_keeps_the_content_of_the_base)
{
    static const char *const excluded[] = {"a", "folder", "prd.json", NULL};
    shell("cd tree && echo 2 >>a && rm folder/b && echo x >folder/c && echo y >prd.json && "
          "echo z >prd.json.new");
    assert_ok(read_changes_but(excluded));
    assert_int_equal(changes.count, 1);
    assert_change(0, GIT_ADDED, "prd.json.new");
    assert_string_equal(changes.excluded[0], "a");
    assert_string_equal(changes.excluded[1], "folder/b");
    assert_string_equal(changes.excluded[2], "folder/c");
    assert_string_equal(changes.excluded[3], "prd.json");
    assert_null(changes.excluded[4]);
}

CASE(an_evil_git_file_is_not_read)
{
    shell("git init -q evil && cd evil && git config core.fsmonitor 'touch %s' && "
          "git config core.hooksPath '%s' && git config filter.x.clean 'touch %s; cat' && "
          "git config filter.x.smudge cat && cd ../tree && rm .git && "
          "echo \"gitdir: %s\" >.git && echo '* filter=x diff=x' >.gitattributes && echo n >n",
          scene_path("marker"), scene_path("evil"), scene_path("marker"), scene_path("evil/.git"));
    assert_ok(read_changes());
    assert_int_equal(changes.count, 2);
    assert_false(changes.is_head_moved);
    assert_false(scene_has("marker"));
}

CASE(drivers_of_the_users_settings_do_not_run_programs_of_the_tree)
{
    shell("git config --global filter.x.clean ./run && git config --global filter.x.smudge ./run "
          "&& git config --global filter.x.process ./run && "
          "git config --global filter.x.required true && "
          "git config --global diff.x.textconv ./run && git config --global diff.x.command ./run");
    scene_open();
    assert_true(scene_repository->has_filters);
    shell("cd tree && printf '#!/bin/sh\\ntouch %s\\n' >run && chmod +x run && "
          "echo '* filter=x diff=x' >.gitattributes && echo 2 >>a",
          scene_path("marker"));
    assert_ok(read_changes());
    assert_int_equal(changes.count, 3);
    int fd = open(scene_path("patch"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_ok(git_patch_write(&scene_git, scene_head(), changes.tree, fd, NULL, &scene_err));
    close(fd);
    assert_false(scene_has("marker"));
}

CASE(nested_repositories_are_named_and_not_taken)
{
    shell("cd tree && git init -q nest && cd nest && echo x >x && git add x && "
          "git -c user.name=a -c user.email=b commit -qm x && "
          "git config core.fsmonitor 'touch %s' && git config filter.x.clean 'touch %s' && "
          "echo '* filter=x' >.gitattributes && echo y >>x && cd .. && git init -q empty",
          scene_path("marker"), scene_path("marker"));
    assert_ok(read_changes());
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
    assert_string_equal(changes.nested[0], "empty/");
    assert_string_equal(changes.nested[1], "nest/");
    assert_false(scene_has("marker"));
}

CASE(a_submodule_stays_as_it_is_in_the_base)
{
    shell("git init -q sub && cd sub && git commit -q --allow-empty -m s && cd ../repo && "
          "git -c protocol.file.allow=always submodule --quiet add ../sub sub && "
          "git commit -qm submodule");
    assert_ok(git_worktree_remove(scene_repository, scene_path("tree"), &scene_err));
    assert_ok(scene_add_tree());
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
    assert_null(changes.nested[0]);
    shell("cd tree/sub && git init -q && git -c user.name=a -c user.email=b commit -q "
          "--allow-empty -m evil && git config core.fsmonitor 'touch %s' && echo x >x",
          scene_path("marker"));
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
    assert_string_equal(changes.nested[0], "sub/");
    assert_false(scene_has("marker"));
}

CASE(files_in_a_submodule_are_named_but_not_those_of_its_update)
{
    static const char *const excluded[] = {"sub", NULL};
    shell("git init -q sub && cd sub && echo s >s && git add s && git commit -qm s && cd ../repo "
          "&& git -c protocol.file.allow=always submodule --quiet add ../sub sub && "
          "git commit -qm submodule");
    assert_ok(git_worktree_remove(scene_repository, scene_path("tree"), &scene_err));
    assert_ok(scene_add_tree());
    shell("echo lost >tree/sub/lost");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 0);
    assert_string_equal(changes.nested[0], "sub/");
    assert_null(changes.nested[1]);
    assert_ok(read_changes_but(excluded));
    assert_null(changes.nested[0]);
    shell("cd tree && rm sub/lost && git -c protocol.file.allow=always submodule --quiet update "
          "--init && test -e sub/s");
    assert_ok(read_changes());
    assert_null(changes.nested[0]);
    shell("rm tree/sub/.git");
    assert_ok(read_changes());
    assert_string_equal(changes.nested[0], "sub/");
}

CASE(a_tree_in_which_git_would_wait_is_refused)
{
    shell("cd tree && rm .gitignore && mkfifo .gitignore");
    assert_int_equal(read_changes(), RONDO_ERR_DENIED);
    shell("cd tree && rm .gitignore a && git init -q a && rm a/.git/HEAD && mkfifo a/.git/HEAD");
    assert_int_equal(read_changes(), RONDO_ERR_DENIED);
}

CASE(commits_of_the_agent_are_seen_and_their_content_stays)
{
    shell("cd tree && echo 2 >>a && git commit -qam mine");
    assert_ok(read_changes());
    assert_true(changes.is_head_moved);
    assert_int_equal(changes.count, 1);
    assert_change(0, GIT_MODIFIED, "a");
}

CASE(the_index_of_the_agent_does_not_matter)
{
    shell("cd tree && echo 2 >>a && git update-index --assume-unchanged a && "
          "git rm -q --cached folder/b && touch ../repo/.git/worktrees/tree/index.lock");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 1);
    assert_change(0, GIT_MODIFIED, "a");
}

CASE(our_index_is_made_again_when_it_is_lost_or_broken)
{
    shell("echo 2 >>tree/a && rm index && touch index.lock");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 1);
    shell("echo broken >index");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 1);
}

CASE(a_link_in_place_of_the_tree_is_refused)
{
    shell("mv tree moved && ln -s moved tree");
    assert_int_equal(read_changes(), RONDO_ERR_DENIED);
    shell("rm tree");
    assert_int_equal(read_changes(), RONDO_ERR_DENIED);
}

CASE(pipes_are_left_out)
{
    shell("cd tree && rm a && mkfifo a && mkfifo b");
    assert_ok(read_changes());
    assert_int_equal(changes.count, 1);
    assert_change(0, GIT_DELETED, "a");
}

CASE(a_patch_makes_the_tree_again_binary_files_too)
{
    char tree[GIT_ID_SIZE];
    shell("cd tree && echo 2 >>a && head -c 3000 /dev/urandom >bin && rm folder/b");
    assert_ok(read_changes());
    int fd = open(scene_path("patch"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool is_cut = true;
    assert_ok(git_patch_write(&scene_git, scene_head(), changes.tree, fd, &is_cut, &scene_err));
    close(fd);
    assert_false(is_cut);
    shell("cd repo && git apply --index ../patch");
    snprintf(tree, sizeof(tree), "%s", shell_line("cd repo && git write-tree"));
    assert_string_equal(tree, changes.tree);
}
