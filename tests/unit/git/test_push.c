// SPDX-License-Identifier: Apache-2.0
#include "git_scene.h"

#include "git/push.h"

static struct git_push push;

static int tear_down(void **state)
{
    git_push_fini(&push);
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, scene_set_up, tear_down)

CASE(a_push_is_never_forced_and_its_end_is_known)
{
    shell("git init -q --bare far && cd repo && git remote add origin ../far && "
          "git config remote.origin.push +refs/heads/*:refs/heads/*");
    scene_open();
    assert_ok(git_push_branch(&scene_git, "origin", "main", scene_head(), 0, &push, &scene_err));
    assert_int_equal(push.end, GIT_PUSHED);
    git_push_fini(&push);
    assert_ok(git_push_branch(&scene_git, "origin", "main", scene_head(), 0, &push, &scene_err));
    assert_int_equal(push.end, GIT_PUSH_UP_TO_DATE);
    git_push_fini(&push);
    shell("cd repo && git commit -q --amend -m other");
    assert_ok(git_push_branch(&scene_git, "origin", "main", scene_head(), 0, &push, &scene_err));
    assert_int_equal(push.end, GIT_PUSH_REJECTED);
    git_push_fini(&push);
    shell("cd repo && git remote add down http://me:s3cret@127.0.0.1:1/r");
    assert_ok(git_push_branch(&scene_git, "down", "main", scene_head(), 0, &push, &scene_err));
    assert_int_equal(push.end, GIT_PUSH_NETWORK);
    assert_null(strstr(push.reason, "s3cret"));
}

CASE(what_the_branch_has_got_meanwhile_is_not_pushed)
{
    char commit[GIT_ID_SIZE];
    snprintf(commit, sizeof(commit), "%s", scene_head());
    shell("git init -q --bare far && cd repo && git remote add origin ../far && "
          "git commit -q --allow-empty -m sneaky");
    scene_open();
    assert_ok(git_push_branch(&scene_git, "origin", "main", commit, 0, &push, &scene_err));
    assert_int_equal(push.end, GIT_PUSHED);
    assert_string_equal(shell_line("cd far && git rev-parse main"), commit);
    git_push_fini(&push);
    assert_int_equal(git_push_branch(&scene_git, "origin", "main", "main", 0, &push, &scene_err),
                     RONDO_ERR_INVALID);
}

CASE(nobody_is_asked_for_a_password)
{
    shell("printf '#!/bin/sh\\n$SSH_ASKPASS || { echo \"Permission denied (publickey).\" >&2; exit "
          "255; }\\n"
          "sleep 60\\n' >ssh && chmod +x ssh && cd repo && git config core.sshCommand %s && "
          "git config core.askPass /bin/cat && git remote add origin ssh://far/r",
          scene_path("ssh"));
    scene_open();
    assert_ok(git_push_branch(&scene_git, "origin", "main", scene_head(), 0, &push, &scene_err));
    assert_int_equal(push.end, GIT_PUSH_AUTH);
}

CASE(a_remote_that_does_not_answer_is_not_waited_for)
{
    shell(
        "cd repo && git config core.sshCommand 'sleep 600 #' && git remote add origin ssh://far/r");
    scene_open();
    assert_ok(git_push_branch(&scene_git, "origin", "main", scene_head(), INT64_C(500000000), &push,
                              &scene_err));
    assert_int_equal(push.end, GIT_PUSH_NETWORK);
}
