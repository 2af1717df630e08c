// SPDX-License-Identifier: Apache-2.0
/* Pushing by `git push --porcelain` (git-push(1), "OUTPUT"): its flags first, then what it says. */
#include "git/push.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "git/access.h"
#include "git/commit.h"

#include <stdlib.h>
#include <string.h>

/** Flag of the line of the branch: "FLAG\tCOMMIT:TO\tSUMMARY". @return 0 when there is none */
static char find_flag(const char *output)
{
    for (const char *line = output; *line != '\0';) {
        if (line[1] == '\t') {
            const char *to = line + 2 + strspn(line + 2, "0123456789abcdef");
            if (strncmp(to, ":refs/", 6) == 0) {
                return *line;
            }
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return '\0';
}

static enum git_push_end judge(const struct git_reply *reply)
{
    char flag = find_flag(buf_string(&reply->output));
    if (reply->exit_code == 0) {
        return flag == '=' ? GIT_PUSH_UP_TO_DATE : GIT_PUSHED;
    }
    if (flag == '!') {
        return GIT_PUSH_REJECTED;
    }
    switch (git_access_trouble(reply)) {
    case GIT_TROUBLE_AUTH:
        return GIT_PUSH_AUTH;
    case GIT_TROUBLE_NETWORK:
        return GIT_PUSH_NETWORK;
    case GIT_TROUBLE_NONE:
        return GIT_PUSH_FAILED;
    }
    return GIT_PUSH_FAILED;
}

int git_push_branch(struct git *git, const char *remote, const char *branch, const char *commit,
                    int64_t total_ns, struct git_push *ret_push, struct rondo_error *err)
{
    auto_buf struct buf reference = {0};
    auto_git_reply struct git_reply reply = {0};
    int r = git_branch_check_name(branch, err);
    if (r == 0 && !git_id_is_valid(git->repository, commit)) {
        r = error_set(err, RONDO_ERR_INVALID, "'%.80s' is not the id of a commit", commit);
    }
    if (r != 0) {
        return r;
    }
    buf_printf(&reference, "%s:refs/heads/%s", commit, branch);
    const char *const arguments[] = {"-c",
                                     "advice.pushUpdateRejected=false",
                                     "push",
                                     "--porcelain",
                                     "--no-force",
                                     "--no-verify",
                                     "--no-follow-tags",
                                     "--recurse-submodules=no",
                                     "--",
                                     remote,
                                     buf_string(&reference),
                                     NULL};
    const struct git_call call = {.arguments = arguments,
                                  .git_dir = git->repository->git_folder,
                                  .directory = git->repository->top_folder,
                                  .names = git_access_names,
                                  .variables = git_access_variables,
                                  .total_ns = total_ns};
    r = git_call_run(git, &call, &reply, err);
    if (r == RONDO_ERR_TIMEOUT) {
        *ret_push = (struct git_push){GIT_PUSH_NETWORK,
                                      memory_dup_string("the remote did not answer in time")};
        return 0;
    }
    if (r == 0) {
        *ret_push = (struct git_push){judge(&reply), git_access_reason(&reply)};
    }
    return r;
}

void git_push_fini(struct git_push *push)
{
    free(push->reason);
    *push = (struct git_push){0};
}
