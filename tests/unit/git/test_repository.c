// SPDX-License-Identifier: Apache-2.0
#include "git_scene.h"

SCENE(places_are_found_from_a_folder_inside)
{
    struct git_repository *repository = NULL;
    assert_ok(git_repository_open(scene_path("repo/folder"), NULL, &repository, &scene_err));
    assert_string_equal(repository->top_folder, scene_path("repo"));
    assert_string_equal(repository->common_folder, scene_path("repo/.git"));
    assert_string_equal(repository->hooks_folder, scene_path("repo/.git/hooks"));
    assert_string_equal(repository->author_name, "A Person");
    assert_string_equal(repository->committer_email, "person@example.com");
    assert_int_equal(repository->id_len, 40);
    git_repository_free(repository);
}

SCENE(a_linked_working_tree_shares_the_common_folder)
{
    struct git_repository *repository = NULL;
    shell("cd repo && git worktree add -q ../other");
    assert_ok(git_repository_open(scene_path("other"), NULL, &repository, &scene_err));
    assert_string_equal(repository->top_folder, scene_path("other"));
    assert_string_equal(repository->common_folder, scene_path("repo/.git"));
    assert_string_equal(repository->git_folder, scene_path("repo/.git/worktrees/other"));
    git_repository_free(repository);
}

SCENE(no_repository_says_what_to_do)
{
    struct git_repository *repository = NULL;
    assert_int_equal(git_repository_open(scene_path("home"), NULL, &repository, &scene_err),
                     RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(scene_err.message, "git init"));
}

SCENE(a_sha256_repository_has_longer_ids)
{
    shell("rm -rf repo && git init -q --object-format=sha256 repo && cd repo && "
          "git commit -q --allow-empty -m x");
    scene_open();
    assert_int_equal(scene_repository->id_len, 64);
    assert_int_equal(strlen(scene_head()), 64);
}

SCENE(variables_of_git_from_outside_do_not_matter)
{
    setenv("GIT_DIR", scene_path("nowhere"), 1);
    setenv("GIT_CONFIG_PARAMETERS", "'user.name=other'", 1);
    scene_open();
    unsetenv("GIT_DIR");
    unsetenv("GIT_CONFIG_PARAMETERS");
    assert_string_equal(scene_repository->top_folder, scene_path("repo"));
    assert_string_equal(scene_repository->author_name, "A Person");
}

SCENE(changed_settings_and_hooks_are_noticed)
{
    static const char *const changes[] = {
        "git config core.sshCommand x",  "git config --global alias.x y",
        "echo x >.git/hooks/pre-commit", "chmod +x .git/hooks/pre-commit",
        "rm .git/hooks/pre-commit",      "echo '* filter=x' >.git/info/attributes",
    };
    assert_ok(git_repository_check(&scene_git, NULL, &scene_err));
    for (size_t i = 0; i < COUNT(changes); i++) {
        shell("cd repo && %s", changes[i]);
        assert_int_equal(git_repository_check(&scene_git, NULL, &scene_err), RONDO_ERR_DENIED);
        scene_open();
        assert_ok(git_repository_check(&scene_git, NULL, &scene_err));
    }
}

SCENE(a_driver_whose_name_cannot_be_switched_off_is_refused)
{
    struct git_repository *repository = NULL;
    shell("git config --global 'filter.a=b.clean' x");
    assert_int_equal(git_repository_open(scene_path("repo"), NULL, &repository, &scene_err),
                     RONDO_ERR_INVALID);
}

SCENE(hooks_of_a_path_in_the_tree_are_those_of_the_persons_tree)
{
    shell("cd repo && git config core.hooksPath .husky");
    scene_open();
    assert_string_equal(scene_repository->hooks_folder, scene_path("repo/.husky"));
    shell("git config --global core.hooksPath '~/hooks' && cd repo && "
          "git config --unset core.hooksPath");
    scene_open();
    assert_string_equal(scene_repository->hooks_folder, scene_path("home/hooks"));
}

SCENE(names_of_commits_that_do_not_exist_are_not_found)
{
    static const char *const names[] = {"nothing", "--all", "-h", "HEAD:a", ""};
    char id[GIT_ID_SIZE];
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(git_resolve_commit(&scene_git, names[i], id, &scene_err),
                         RONDO_ERR_NOT_FOUND);
    }
}

SCENE(a_commit_has_the_paths_that_were_committed)
{
    bool has = false;
    shell("cd repo && touch untracked");
    assert_ok(git_commit_has(&scene_git, scene_head(), "folder/b", &has, &scene_err));
    assert_true(has);
    assert_ok(git_commit_has(&scene_git, scene_head(), "folder", &has, &scene_err));
    assert_true(has);
    assert_ok(git_commit_has(&scene_git, scene_head(), "untracked", &has, &scene_err));
    assert_false(has);
}
