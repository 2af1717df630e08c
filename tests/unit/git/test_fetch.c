// SPDX-License-Identifier: Apache-2.0
/* Branches fetched from a bare repository "far", and clones of it. */
#include "git_scene.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/memory.h"
#include "git/claims/claims.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const struct git_access origin = {.remote = "origin"};
static struct git_repository *clone_repository;
static enum git_claim_end end;
static char id[GIT_ID_SIZE];

static int set_up(void **state)
{
    scene_set_up(state);
    shell("git clone -q --bare repo far && cd far && git tag v1 main && cd ../repo && "
          "git remote add origin ../far");
    scene_open();
    return 0;
}

static int tear_down(void **state)
{
    git_repository_free(clone_repository);
    clone_repository = NULL;
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

static void fetch(const char *branch, enum git_claim_end expected)
{
    assert_ok(git_fetch_branch(&scene_git, &origin, branch, id, &end, &scene_err));
    if (end != expected) {
        fail_msg("end %d in place of %d: %s", (int)end, (int)expected, scene_err.message);
    }
}

/** Add a commit to a branch of the remote. @return its id */
static const char *far_commit(const char *branch)
{
    char command[300];
    snprintf(command, sizeof(command),
             "cd far && c=$(date +%%N | git commit-tree main^{tree} -p main) && "
             "git update-ref refs/heads/%s $c && echo $c",
             branch);
    return shell_line(command);
}

/* --- a branch --- */

CASE(a_branch_is_fetched_where_nobody_of_the_repository_looks_for_it)
{
    shell("cd repo && git for-each-ref >../before");
    const char *commit = far_commit("main");
    fetch("main", GIT_CLAIM_DONE);
    assert_string_equal(id, commit);
    shell("cd repo && test $(git rev-parse refs/rondo/base/main) = %s && "
          "git update-ref -d refs/rondo/base/main && git for-each-ref | cmp - ../before && "
          "test ! -e .git/FETCH_HEAD",
          id);
    fetch("absent", GIT_CLAIM_LOST);
}

CASE(settings_of_the_remote_change_nothing_but_the_branch)
{
    shell("cd repo && git branch kept && git tag mine && "
          "git config remote.origin.fetch +refs/*:refs/* && git config remote.origin.prune true && "
          "git config remote.origin.tagOpt --tags && git config remote.origin.mirror true && "
          "git config fetch.prune true && git config fetch.pruneTags true && "
          "git config remote.origin.promisor true && git config fetch.recurseSubmodules true && "
          "git config remote.origin.partialclonefilter blob:none && "
          "git config core.repositoryFormatVersion 1 && git config extensions.partialClone origin");
    scene_open();
    shell("cd repo && git for-each-ref >../before && cp .git/config ../config");
    far_commit("main");
    fetch("main", GIT_CLAIM_DONE);
    shell("cd repo && git update-ref -d refs/rondo/base/main && git for-each-ref | "
          "cmp - ../before && cmp .git/config ../config && git cat-file -e %s^{tree}",
          id);
}

CASE(a_branch_that_took_the_place_of_another_one_or_was_rewritten_is_fetched)
{
    far_commit("a");
    fetch("a", GIT_CLAIM_DONE);
    shell("git -C far update-ref -d refs/heads/a");
    const char *below = far_commit("a/b");
    fetch("a/b", GIT_CLAIM_DONE);
    assert_string_equal(id, below);
    shell("git -C far update-ref -d refs/heads/a/b");
    const char *above = far_commit("a");
    fetch("a", GIT_CLAIM_DONE);
    assert_string_equal(id, above);
    const char *rewritten = far_commit("a");
    fetch("a", GIT_CLAIM_DONE);
    assert_string_equal(id, rewritten);
}

/* --- a base and a branch --- */

static struct git_base found;

static void fetch_base(const char *branch, enum git_claim_end expected)
{
    assert_ok(git_fetch_base(&scene_git, &origin, "main", branch, &found, &end, &scene_err));
    if (end != expected) {
        fail_msg("end %d in place of %d: %s", (int)end, (int)expected, scene_err.message);
    }
}

CASE(a_base_is_fetched_whether_or_not_there_is_the_branch)
{
    auto_free char *base = memory_dup_string(far_commit("main"));
    fetch_base("work", GIT_CLAIM_DONE);
    assert_string_equal(found.base_id, base);
    assert_string_equal(found.remote_id, "");
    assert_string_equal(found.local_id, "");
    shell("git -C repo branch work main");
    auto_free char *branch = memory_dup_string(far_commit("work"));
    fetch_base("work", GIT_CLAIM_DONE);
    assert_string_equal(found.base_id, base);
    assert_string_equal(found.remote_id, branch);
    assert_string_equal(found.local_id, shell_line("git -C repo rev-parse work"));
}

CASE(a_branch_that_is_gone_is_not_taken_from_an_earlier_fetch)
{
    far_commit("work");
    far_commit("work-2");
    fetch_base("work", GIT_CLAIM_DONE);
    assert_string_not_equal(found.remote_id, "");
    shell("git -C far update-ref -d refs/heads/work");
    fetch_base("work", GIT_CLAIM_DONE);
    assert_string_equal(found.remote_id, "");
    shell("cd repo && git rev-parse -q --verify refs/rondo/base/work-2 && "
          "! git rev-parse -q --verify refs/rondo/base/work");
}

CASE(a_base_that_the_remote_does_not_have_is_reported)
{
    shell("git -C far branch -m main other");
    fetch_base("work", GIT_CLAIM_LOST);
}

CASE(a_base_and_a_branch_take_three_calls_of_git)
{
    far_commit("main");
    far_commit("work");
    uint64_t before = scene_git.process_count;
    fetch_base("work", GIT_CLAIM_DONE);
    assert_int_equal(scene_git.process_count, before + 3); /* address, fetch, references */
}

CASE(a_branch_that_is_no_commit_is_refused)
{
    shell("cd far && git rev-parse main^{tree} >refs/heads/work");
    int r = git_fetch_base(&scene_git, &origin, "main", "work", &found, &end, &scene_err);
    assert_true(r < 0 || end != GIT_CLAIM_DONE);
}

CASE(the_lock_that_a_killed_git_has_left_on_the_branch_is_removed)
{
    shell("cd repo/.git && mkdir -p refs/rondo/base && touch -d '1 hour ago' "
          "refs/rondo/base/work-2.lock");
    far_commit("work");
    auto_free char *commit = memory_dup_string(far_commit("work-2"));
    fetch_base("work", GIT_CLAIM_DONE);
    assert_string_equal(shell_line("git -C repo rev-parse refs/rondo/base/work-2"), commit);
}

CASE(the_lock_of_a_git_that_was_killed_is_removed)
{
    shell("cd repo/.git && mkdir -p refs/rondo/base && touch -d '1 hour ago' "
          "refs/rondo/base/main.lock");
    const char *commit = far_commit("main");
    fetch("main", GIT_CLAIM_DONE);
    assert_string_equal(id, commit);
}

/** Remove the lock, as the git that has it does, unless somebody else did. */
static void *finish(void *context)
{
    static const struct timespec a_moment = {.tv_nsec = 300 * 1000 * 1000};
    bool *was_there = context;
    nanosleep(&a_moment, NULL);
    *was_there = unlink(scene_path("repo/.git/refs/rondo/base/main.lock")) == 0;
    return NULL;
}

CASE(the_lock_of_a_git_at_work_is_waited_for)
{
    pthread_t other;
    bool was_there = false;
    shell("cd repo/.git && mkdir -p refs/rondo/base && touch refs/rondo/base/main.lock");
    assert_int_equal(pthread_create(&other, NULL, finish, &was_there), 0);
    (void)git_fetch_branch(&scene_git, &origin, "main", id, &end, NULL); /* may be too impatient */
    pthread_join(other, NULL);
    assert_true(was_there);
}

CASE(helpers_are_never_run_and_files_only_when_the_remote_is_one)
{
    static const char *const addresses[] = {"ext::sh -c touch%%20../owned", "fd::3", "foo::bar",
                                            "foo://bar/baz"};
    for (size_t i = 0; i < COUNT(addresses); i++) {
        shell("cd repo && git config protocol.ext.allow always && git config protocol.allow always "
              "&& git config remote.origin.url '%s'",
              addresses[i]);
        scene_open();
        assert_int_equal(git_fetch_branch(&scene_git, &origin, "main", id, &end, &scene_err),
                         RONDO_ERR_INVALID);
    }
    shell("cd repo && git config remote.origin.vcs foo && git config remote.origin.url ../far && "
          "test ! -e ../owned && test ! -e owned");
    fetch("main", GIT_CLAIM_DONE);
    const struct git_access absent = {.remote = "upstream"};
    assert_int_equal(git_fetch_branch(&scene_git, &absent, "main", id, &end, &scene_err),
                     RONDO_ERR_NOT_FOUND);
}

CASE(claims_are_where_pushes_go_and_bases_where_fetches_come_from)
{
    struct git_claim_result result = {0};
    struct git_claims claims = {0};
    const struct git_claim_change change = {.name = "7", .old_id = "", .text = "a"};
    shell("git init -q --bare fork && git -C repo config remote.origin.pushurl ../fork");
    scene_open();
    assert_ok(git_claim_change(&scene_git, &origin, &change, &result, &scene_err));
    assert_int_equal(result.end, GIT_CLAIM_DONE);
    git_claim_result_fini(&result);
    assert_ok(git_claims_read(&scene_git, &origin, NULL, &claims, &end, &scene_err));
    assert_int_equal(claims.count, 1);
    git_claims_fini(&claims);
    shell("git -C fork rev-parse --verify refs/rondo/claims/7");
    fetch("main", GIT_CLAIM_DONE);
    shell("git -C repo config --add remote.origin.pushurl ../far");
    assert_int_equal(git_claim_change(&scene_git, &origin, &change, &result, &scene_err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(scene_err.message, "several addresses"));
}

CASE(an_address_is_rewritten_once)
{
    shell("cd repo && git config url.%s/far.insteadOf near && "
          "git config url.%s/absent.insteadOf %s/far && git config remote.origin.url near",
          scene_folder, scene_folder, scene_folder);
    scene_open();
    fetch("main", GIT_CLAIM_DONE);
}

/* --- clones --- */

static int open_clone(const char *branch)
{
    git_repository_free(clone_repository);
    clone_repository = NULL;
    return git_clone_open(scene_path("cache"), &origin, scene_path("far"), branch, NULL,
                          &clone_repository, &scene_err);
}

static const char *clone_head(void)
{
    return shell_line("git -C cache/clone rev-parse HEAD");
}

CASE(a_clone_is_made_once_and_then_follows_its_branch)
{
    assert_ok(open_clone("main"));
    shell("cd cache/clone && test -f folder/b && ! git symbolic-ref -q HEAD && "
          "test -z \"$(git status --porcelain)\" && test -z \"$(git tag)\" && "
          "test $(stat -c %%a ..) = 700 && touch .git/mark");
    assert_string_equal(clone_head(), scene_head());
    const char *commit = far_commit("main");
    assert_ok(open_clone("main"));
    assert_string_equal(clone_head(), commit);
    shell("test -e cache/clone/.git/mark");
    struct git git = {.repository = clone_repository};
    assert_ok(git_fetch_branch(&git, &origin, "main", id, &end, &scene_err));
    assert_string_equal(id, commit);
    assert_ok(git_repository_check(&git, NULL, &scene_err));
    assert_int_equal(open_clone("absent"), RONDO_ERR_NOT_FOUND);
}

CASE(a_clone_that_was_killed_at_any_point_is_completed)
{
    shell("mkdir -p cache/new/.git && echo rest >cache/new/.git/HEAD");
    assert_ok(open_clone("main"));
    shell("cd cache/clone && touch .git/index.lock .git/HEAD.lock && rm a && echo x >folder/b");
    far_commit("main");
    assert_ok(open_clone("main"));
    shell("cd cache/clone && test -z \"$(git status --porcelain)\" && test ! -e .git/index.lock");
    shell("rm -rf cache && mkdir -p cache && git init -q cache/clone");
    assert_ok(open_clone("main"));
    assert_string_equal(clone_head(), shell_line("git -C far rev-parse main"));
}

CASE(a_damaged_clone_is_not_taken_for_the_repository_around_it)
{
    shell("git init -q . && git commit -q --allow-empty -m around");
    assert_ok(open_clone("main"));
    const char *around = shell_line("git rev-parse HEAD");
    char kept[GIT_ID_SIZE];
    snprintf(kept, sizeof(kept), "%s", around);
    shell("rm cache/clone/.git/HEAD");
    assert_int_equal(open_clone("main"), RONDO_ERR_CORRUPT);
    assert_string_equal(shell_line("git rev-parse HEAD"), kept);
    shell("! git config remote.origin.url");
}

CASE(a_clone_is_found_as_it_is)
{
    struct git_repository *repository = NULL;
    assert_int_equal(git_clone_find(scene_path("cache"), NULL, &repository, &scene_err),
                     RONDO_ERR_NOT_FOUND);
    assert_false(scene_has("cache"));
    assert_ok(open_clone("main"));
    const char *head = clone_head();
    char kept[GIT_ID_SIZE];
    snprintf(kept, sizeof(kept), "%s", head);
    far_commit("main");
    assert_ok(git_clone_find(scene_path("cache"), NULL, &repository, &scene_err));
    assert_string_equal(repository->top_folder, scene_path("cache/clone"));
    assert_string_equal(clone_head(), kept);
    git_repository_free(repository);
    shell("rm cache/clone/.git/HEAD && git init -q .");
    assert_int_equal(git_clone_find(scene_path("cache"), NULL, &repository, &scene_err),
                     RONDO_ERR_CORRUPT);
}

CASE(a_clone_whose_records_are_elsewhere_is_none)
{
    assert_ok(open_clone("main"));
    shell("mv cache/clone/.git elsewhere && echo \"gitdir: $PWD/elsewhere\" >cache/clone/.git && "
          "git -C cache/clone rev-parse HEAD");
    assert_int_equal(open_clone("main"), RONDO_ERR_CORRUPT);
}

CASE(a_clone_leaves_out_filters_templates_hooks_and_submodules)
{
    shell("mkdir -p template/hooks && printf '#!/bin/sh\\ntouch %s/owned\\n' >template/hooks/"
          "post-checkout && chmod +x template/hooks/post-checkout && "
          "git config --global init.templateDir %s/template && "
          "git config --global filter.evil.smudge 'touch %s/owned; cat' && "
          "git config --global submodule.recurse true && "
          "git config --global core.hooksPath %s/template/hooks && "
          "git config --global protocol.file.allow always",
          scene_folder, scene_folder, scene_folder, scene_folder);
    shell("cd repo && echo '* filter=evil' >.gitattributes && "
          "git -c submodule.recurse=false submodule --quiet add ../far sub && git add -A && "
          "git commit -qm more && git push -q origin HEAD:main && rm -f ../owned");
    assert_ok(open_clone("main"));
    shell("test ! -e owned && test -d cache/clone/sub && test ! -e cache/clone/sub/a && "
          "test -f cache/clone/a");
}

CASE(repositories_with_long_ids_are_cloned_too)
{
    shell(
        "rm -rf far && git init -q --object-format=sha256 --bare far && "
        "git init -q --object-format=sha256 long && cd long && git commit -q --allow-empty -m x && "
        "git push -q ../far HEAD:main");
    assert_ok(open_clone("main"));
    assert_int_equal(clone_repository->id_len, 64);
    struct git git = {.repository = clone_repository};
    struct git_claim_result result = {0};
    struct git_claims claims = {0};
    const struct git_claim_change change = {.name = "7", .old_id = "", .text = "long"};
    assert_ok(git_claim_change(&git, &origin, &change, &result, &scene_err));
    assert_int_equal(result.end, GIT_CLAIM_DONE);
    assert_ok(git_claims_read(&git, &origin, NULL, &claims, &end, &scene_err));
    assert_string_equal(claims.items[0].text, "long");
    assert_string_equal(claims.items[0].id, result.id);
    git_claims_fini(&claims);
    git_claim_result_fini(&result);
}

CASE(one_process_at_a_time_changes_a_clone)
{
    assert_ok(open_clone("main"));
    int fd = open(scene_path("cache"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    const struct git_access hasty = {.remote = "origin", .total_ns = INT64_C(300000000)};
    struct git_repository *repository = NULL;
    assert_int_equal(git_clone_open(scene_path("cache"), &hasty, scene_path("far"), "main", NULL,
                                    &repository, &scene_err),
                     RONDO_ERR_BUSY);
    close(fd);
    assert_ok(open_clone("main"));
}

CASE(an_address_with_a_password_and_one_that_is_not_there_are_refused)
{
    struct git_repository *repository = NULL;
    assert_int_equal(git_clone_open(scene_path("cache"), &origin, "https://me:s3cret@far/r", "main",
                                    NULL, &repository, &scene_err),
                     RONDO_ERR_INVALID);
    assert_null(strstr(scene_err.message, "s3cret"));
    assert_int_equal(git_clone_open(scene_path("cache"), &origin, "http://127.0.0.1:1/r", "main",
                                    NULL, &repository, &scene_err),
                     RONDO_ERR_TIMEOUT);
    assert_int_equal(git_clone_open(scene_path("cache"), &origin, scene_path("absent"), "main",
                                    NULL, &repository, &scene_err),
                     RONDO_ERR_STATE);
    assert_ok(open_clone("main"));
}
