// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo work`. */
#include "cli/commands/work/commands.h"

const struct command work_commands[] = {
    {
        .name = "work doctor",
        .synopsis = "[OPTION...]",
        .help =
            "Check what `rondo work` needs: token, rights, remote, labels, agent; changes nothing",
        .description =
            "Shows which repository and forge would be worked on, where the token was found, what "
            "it permits (read, label issues, push branches), whether git reaches the remote, which "
            "sandbox works here, which coding agents are installed, and how many issues have the "
            "labels. Whatever is missing comes with what to do. Nothing is changed, here or on the "
            "forge. The exit code is 1 if something essential is missing.",
        .examples = "rondo work doctor\tfor the clone in the working directory\n"
                    "rondo work doctor --repo acme/shop --agent claude\tfor another one",
        .options = work_doctor_options,
        .run = cmd_work_doctor,
    },
    {
        .name = "work list",
        .synopsis = "[OPTION...]",
        .help = "List the work items of a store: issues that it works on or has worked on",
        .description =
            "Lists the issues that `rondo work`, or a server with --work, has claimed with this "
            "store: their state, attempts, time at work, cost and pull request, and the process "
            "that works on them. The state is also a label of the issue. Items that are done, "
            "cancelled or were taken over by another machine are listed only with --all.",
        .examples = "rondo work list\twhat needs somebody\n"
                    "rondo work list --all --json | jq -r .pull_url\tfor programs",
        .options = work_list_options,
        .run = cmd_work_list,
    },
    {
        .name = "work status",
        .synopsis = "[OPTION...] ISSUE",
        .help = "Show one work item with its history",
        .description =
            "Shows the state of one issue: why it is blocked or waits, its run, branch, commit and "
            "pull request, and everything that has happened, with times. ISSUE is the number of "
            "the issue, or its key (github.com/acme/shop#12) if the store has items of several "
            "repositories. `rondo show RUN` shows the run itself.",
        .examples = "rondo work status 12\tof issue #12\n"
                    "rondo work status acme/shop#12\tof one of several repositories",
        .options = work_status_options,
        .run = cmd_work_status,
    },
    {
        .name = "work release",
        .synopsis = "[OPTION...] ISSUE",
        .help = "Stop the work on an issue and release its claim",
        .description =
            "Requests that the process at work on an issue stop its run, remove the labels of its "
            "state and release the claim. All machines leave the issue alone for an hour, or until "
            "`rondo work retry`; to keep them from it for longer, remove the label that starts the "
            "work. The branch is kept. If no process works on the issue, the next `rondo work` for "
            "the repository does it. A comment with the line `/rondo release`, by somebody who may "
            "start work, does the same.",
        .examples = "rondo work release 12\ta person wants to do it",
        .options = work_request_options,
        .run = cmd_work_release,
    },
    {
        .name = "work retry",
        .synopsis = "[OPTION...] ISSUE",
        .help = "Work on a blocked issue again",
        .description =
            "Requests that work on an issue begin again at once, with all attempts: on one that is "
            "blocked, waits for its next attempt, needs a person or was released. If no process "
            "has the item, the next `rondo work` for the repository does it. A comment with the "
            "line `/rondo retry`, by somebody who may start work, does the same.",
        .examples = "rondo work retry 12\tafter its cause was removed",
        .options = work_request_options,
        .run = cmd_work_retry,
    },
    {0},
};
