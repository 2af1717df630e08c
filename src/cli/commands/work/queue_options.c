// SPDX-License-Identifier: Apache-2.0
/* The option table of a queue, and what its values mean together. */
#include "cli/commands/work/queue_options.h"

#include "base/limits.h"
#include "base/memory.h"
#include "cli/commands/run/run_option_rows.h"
#include "cli/commands/work/commands.h"
#include "cli/framework/command.h"
#include "forge/forge.h"
#include "git/remote.h"
#include "issues/queue/queue.h"

#include <string.h>

#define ISSUE_NS   (INT64_C(7200) * 1000000000)
#define ATTEMPT_NS (INT64_C(1800) * 1000000000)
#define POLL_NS    (INT64_C(30) * 1000000000)

#define IN_QUEUE(member) offsetof(struct queue_values, member)

/** One more than enum forge_kind: 0 = none was given. */
static const struct option_choice forges[] = {
    {"github", FORGE_GITHUB + 1},
    {"gitea", FORGE_GITEA + 1},
    {"gitlab", FORGE_GITLAB + 1},
    {0},
};

_Static_assert(sizeof(forges) / sizeof(forges[0]) == FORGE_KIND_COUNT + 1, "a kind is missing");

/** Defaults. */
#define LABEL  "code"
#define PREFIX "rondo:"

static const struct option_choice trusts[] = {
    {"member", FORGE_MEMBER},
    {"contributor", FORGE_CONTRIBUTOR},
    {"anyone", FORGE_STRANGER},
    {0},
};

/** Which repository, with which token. */
#define ROWS_REPOSITORY                                                                           \
    {.name = "repo",                                                                              \
     .kind = OPTION_TEXT,                                                                         \
     .offset = IN_QUEUE(repository),                                                              \
     .argument = "OWNER/NAME|URL",                                                                \
     .by_default = "that of the working directory's clone",                                       \
     .help =                                                                                      \
         "Repository; of another one than the working directory's, a clone is kept in the cache", \
     .group = "The repository"},                                                                  \
        {.name = "forge",                                                                         \
         .kind = OPTION_CHOICE,                                                                   \
         .offset = IN_QUEUE(forge),                                                               \
         .by_default = "that of a known host",                                                    \
         .help =                                                                                  \
             "Kind of the forge, for hosts other than github.com, gitlab.com and codeberg.org",   \
         .choices = forges},                                                                      \
        {.name = "api",                                                                           \
         .kind = OPTION_TEXT,                                                                     \
         .offset = IN_QUEUE(api),                                                                 \
         .argument = "URL",                                                                       \
         .by_default = "what the kind has for its host",                                          \
         .help = "Address of the forge's API"},                                                   \
        {.name = "remote",                                                                        \
         .kind = OPTION_TEXT,                                                                     \
         .offset = IN_QUEUE(remote),                                                              \
         .argument = "NAME",                                                                      \
         .by_default = "origin",                                                                  \
         .help = "Remote of the clone that names the repository and gets the branches"},          \
        {.name = "base",                                                                          \
         .kind = OPTION_TEXT,                                                                     \
         .offset = IN_QUEUE(base),                                                                \
         .argument = "BRANCH",                                                                    \
         .by_default = "the default branch",                                                      \
         .help = "Branch that work begins from, and pull requests go to"},                        \
        {.name = "fork",                                                                          \
         .kind = OPTION_TEXT,                                                                     \
         .offset = IN_QUEUE(fork),                                                                \
         .argument = "OWNER/NAME",                                                                \
         .by_default = "none",                                                                    \
         .help = "Fork to push branches to. If the token may not push to the repository itself, " \
                 "comments claim the issues"},                                                    \
    {                                                                                             \
        .name = "token-env", .kind = OPTION_TEXT, .offset = IN_QUEUE(token_env),                  \
        .argument = "NAME",                                                                       \
        .by_default = "GH_TOKEN and the like, logins of gh, glab and tea, git's credentials",     \
        .help = "Environment variable with the token of the forge"                                \
    }

const struct option_row work_options[] = {
    ROWS_REPOSITORY,
    {.name = "issue",
     .kind = OPTION_INT,
     .offset = IN_QUEUE(issue),
     .argument = "N",
     .help = "Work on this issue only, then end",
     .group = "The issues",
     .low = 1,
     .high = INT64_MAX,
     .is_only_arguments = true},
    {.name = "labels",
     .kind = OPTION_LIST,
     .offset = IN_QUEUE(labels),
     .argument = "A,B",
     .by_default = LABEL,
     .help = "Labels that an issue needs, all of them; repeatable"},
    {.name = "exclude",
     .kind = OPTION_LIST,
     .offset = IN_QUEUE(excluded),
     .argument = "A,B",
     .by_default = "blocked,hitl,wontfix",
     .help = "Labels that an issue must not have; repeatable"},
    {.name = "priorities",
     .kind = OPTION_LIST,
     .offset = IN_QUEUE(priorities),
     .argument = "A,B",
     .by_default = "P0 to P9",
     .help = "Labels of urgent issues, the most urgent first; then the oldest issue is next"},
    {.name = "trust",
     .kind = OPTION_CHOICE,
     .offset = IN_QUEUE(trust),
     .by_default = "member",
     .help = "Whose issues and labels start work: of people who may write to the repository "
             "(member), of those who had something merged (contributor), or of anyone",
     .choices = trusts},
    {.name = "include-assigned",
     .kind = OPTION_FLAG,
     .offset = IN_QUEUE(takes_assigned),
     .help = "Also issues that are assigned to somebody else"},
    {.name = "max-age",
     .kind = OPTION_DURATION,
     .offset = IN_QUEUE(most_age_ns),
     .argument = "DURATION",
     .by_default = "any",
     .help = "Only issues that were opened within this time"},
    {.name = "prefix",
     .kind = OPTION_TEXT,
     .offset = IN_QUEUE(prefix),
     .argument = "TEXT",
     .by_default = PREFIX,
     .help = "Prefix of the labels that show the state of an issue"},
    {.name = "dry-run",
     .kind = OPTION_FLAG,
     .offset = IN_QUEUE(is_dry_run),
     .help = "Show what would be done with each issue, and change nothing",
     .group = "How long",
     .is_only_arguments = true},
    {.name = "once",
     .kind = OPTION_FLAG,
     .offset = IN_QUEUE(is_once),
     .help = "End when the work on one issue is over, or when there is none",
     .is_only_arguments = true},
    {.name = "continuous",
     .kind = OPTION_FLAG,
     .offset = IN_QUEUE(is_continuous),
     .help = "Continue with the next issue until a signal comes; the default without --issue",
     .is_only_arguments = true},
    {.name = "poll",
     .kind = OPTION_DURATION,
     .offset = IN_QUEUE(poll_ns),
     .argument = "DURATION",
     .by_default = "30s",
     .help = "Time between looks at the issues; up to 5 minutes while there is no work"},
    {.name = "draft",
     .kind = OPTION_FLAG,
     .offset = IN_QUEUE(is_draft),
     .help = "Open pull requests as drafts, which is the default",
     .group = "Pull requests"},
    {.name = "ready",
     .kind = OPTION_FLAG,
     .offset = IN_QUEUE(is_ready),
     .help = "Open pull requests that are ready for review"},
    {.name = "follow-ups",
     .kind = OPTION_INT,
     .offset = IN_QUEUE(follow_ups),
     .argument = "N",
     .by_default = "0",
     .help = "Work on reviews and failing checks of a pull request, at most N times",
     .low = 0,
     .high = LIMIT_WORK_ATTEMPTS},
    {.name = "plans",
     .kind = OPTION_FLAG,
     .offset = IN_QUEUE(has_plans),
     .help = "Make a commit for each open sub-issue, or open box of the list in an issue, on the "
             "branch of the issue"},
    {.name = "hook-secret-env",
     .kind = OPTION_TEXT,
     .offset = IN_QUEUE(hook_secret_env),
     .argument = "NAME",
     .help = "Of a server's file: environment variable with the secret of the forge's webhooks; "
             "POST /hooks/work then looks at the issues at once"},
    {.name = "max-concurrent",
     .kind = OPTION_INT,
     .offset = IN_QUEUE(most_running),
     .argument = "N",
     .by_default = "1",
     .help = "Issues to work on at the same time",
     .group = "Limits",
     .low = 1,
     .high = LIMIT_WORK_JOBS},
    {.name = "issues-per-hour",
     .kind = OPTION_INT,
     .offset = IN_QUEUE(most_per_hour),
     .argument = "N",
     .by_default = "10",
     .help = "Issues to begin within any hour",
     .low = 1,
     .high = ISSUE_WINDOW_MOST},
    {.name = "attempts",
     .kind = OPTION_INT,
     .offset = IN_QUEUE(attempts),
     .argument = "N",
     .by_default = "3",
     .help = "Maximum attempts at one issue",
     .low = 1,
     .high = LIMIT_WORK_ATTEMPTS},
    {.name = "attempt-time",
     .kind = OPTION_DURATION,
     .offset = IN_QUEUE(attempt_time_ns),
     .argument = "DURATION",
     .by_default = "30m",
     .help = "Maximum time of the worker in one attempt"},
    {.name = "issue-time",
     .kind = OPTION_DURATION,
     .offset = IN_SPEC(time_limit_ns),
     .argument = "DURATION",
     .by_default = "2h",
     .help = "Maximum time at work on one issue, over all attempts"},
    {.name = "issue-cost",
     .kind = OPTION_MONEY,
     .offset = IN_SPEC(max_cost_micro),
     .argument = "AMOUNT",
     .by_default = "none",
     .help = "Maximum cost of one issue"},
    {.name = "issue-tokens",
     .kind = OPTION_INT,
     .offset = IN_SPEC(max_tokens),
     .argument = "N",
     .by_default = "none",
     .help = "Maximum tokens of one issue",
     .low = 0,
     .high = INT64_MAX / 2},
    {.name = "day-cost",
     .kind = OPTION_MONEY,
     .offset = IN_QUEUE(day_cost_micro),
     .argument = "AMOUNT",
     .by_default = "none",
     .help = "No issue is begun when all issues of the last 24 hours have cost this much"},
    {.name = "day-tokens",
     .kind = OPTION_INT,
     .offset = IN_QUEUE(day_tokens),
     .argument = "N",
     .by_default = "none",
     .help = "The same for tokens",
     .low = 0,
     .high = INT64_MAX / 2},
    {.name = "write-gap",
     .kind = OPTION_DURATION,
     .offset = IN_QUEUE(write_gap_ns),
     .argument = "DURATION",
     .by_default = "1s",
     .help = "Least time between two changes on the forge"},
    {.name = "settle",
     .kind = OPTION_DURATION,
     .offset = IN_QUEUE(settle_ns),
     .argument = "DURATION",
     .by_default = "10s",
     .help = "Wait after the comment that claims an issue, so that earlier ones by others are "
             "seen; with "
             "less, two programs may work on one issue"},
    ROWS_WORKER,
    ROWS_CHECKS,
    ROW_POLICY,
    ROWS_WORK_SANDBOX("namespace"),
    {.name = "store",
     .kind = OPTION_TEXT,
     .offset = IN(store),
     .argument = "FILE",
     .by_default = "$RONDO_STORE, else the nearest store from the working directory up",
     .help = "File of the store, or address of a database (postgresql://...)",
     .group = "General",
     .completes = COMPLETE_FILE,
     .is_only_arguments = true},
    {.name = "json",
     .kind = OPTION_FLAG,
     .offset = IN(wants_json),
     .help = "One JSON object per line: each event, at the end the result",
     .is_only_arguments = true},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = IN(wants_quiet),
     .help = "Print only warnings and errors",
     .is_only_arguments = true},
    {0},
};

const struct option_row work_doctor_options[] = {
    ROWS_REPOSITORY,
    {.name = "labels",
     .kind = OPTION_LIST,
     .offset = IN_QUEUE(labels),
     .argument = "A,B",
     .by_default = LABEL,
     .help = "Labels that an issue needs, all of them; repeatable"},
    {.name = "prefix",
     .kind = OPTION_TEXT,
     .offset = IN_QUEUE(prefix),
     .argument = "TEXT",
     .by_default = PREFIX,
     .help = "Prefix of the labels that show the state of an issue"},
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_TEXT,
     .offset = IN_WORK(coding_agent),
     .argument = "NAME",
     .help = "Coding agent that is to work on issues",
     .group = "General"},
    OPTION_ROW_JSON(struct run_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct run_values),
    {0},
};

_Static_assert(sizeof(work_options) / sizeof(work_options[0]) <= OPTION_ROWS_MAX,
               "OPTION_ROWS_MAX is too small");

void queue_values_init(struct queue_values *values, const struct option_row *rows,
                       struct option_set *ret_set)
{
    *values = (struct queue_values){
        .trust = FORGE_MEMBER,
        .most_running = 1,
        .most_per_hour = 10,
        .attempts = 3,
        .attempt_time_ns = ATTEMPT_NS,
        .poll_ns = POLL_NS,
        .settle_ns = ISSUE_SETTLE_NS,
    };
    work_values_init(&values->work, rows, ret_set);
    ret_set->values = values;
    struct loop_spec *spec = &values->work.role.run.spec;
    spec->worker_tier = SANDBOX_NAMESPACE;
    spec->verifier_tier = SANDBOX_NAMESPACE;
    spec->time_limit_ns = ISSUE_NS;
}

void queue_values_fini(struct queue_values *values, struct option_set *set)
{
    memory_free_list(values->command);
    values->command = NULL;
    work_values_fini(&values->work, set);
}

/** Entries between commas, without spaces around them; empty ones are left out. */
static void split(char ***list)
{
    char **words = memory_new_zero(1, sizeof(*words));
    size_t count = 0;
    for (char **item = *list; item != NULL && *item != NULL; item++) {
        for (const char *at = *item; *at != '\0';) {
            size_t len = strcspn(at, ",");
            const char *next = at + len + (at[len] == ',');
            while (len > 0 && *at == ' ') {
                at++;
                len--;
            }
            while (len > 0 && at[len - 1] == ' ') {
                len--;
            }
            if (len > 0) {
                words = memory_resize(words, count + 2, sizeof(*words));
                words[count++] = memory_dup_bytes(at, len);
                words[count] = NULL;
            }
            at = next;
        }
    }
    memory_free_list(*list);
    *list = words;
}

static void split_if_given(char ***list)
{
    if (*list != NULL) {
        split(list);
    }
}

/** Whether an address has a secret in it, which messages would show: logs are read by many. A token
 *  may be where a name is as well; only ssh needs one. */
static bool has_secret(const char *address)
{
    struct git_remote remote = {0};
    if (address == NULL || git_remote_parse(address, &remote, NULL) < 0) {
        return false;
    }
    bool is_web = remote.transport == GIT_HTTPS || remote.transport == GIT_HTTP;
    bool has_one = remote.has_password || (is_web && remote.user != NULL);
    git_remote_fini(&remote);
    return has_one;
}

static const char *find_misuse(const struct queue_values *values)
{
    if (values->is_once && values->is_continuous) {
        return "give --once or --continuous, not both";
    }
    if (values->issue > 0 && values->is_continuous) {
        return "--issue ends with its issue; it does not go with --continuous";
    }
    if (values->is_draft && values->is_ready) {
        return "give --draft or --ready, not both";
    }
    if (values->labels != NULL && values->labels[0] == NULL) {
        return "--labels has no label: only issues with a label are worked on";
    }
    if (values->prefix != NULL && values->prefix[0] == '\0') {
        return "--prefix must not be empty";
    }
    if (has_secret(values->repository)) {
        return "the address of the repository has a name or password in it; give a token by "
               "--token-env instead";
    }
    if (values->attempt_time_ns <= 0 || values->work.role.run.spec.time_limit_ns <= 0) {
        return "--attempt-time and --issue-time must be longer than 0";
    }
    return values->poll_ns <= 0 ? "--poll must be longer than 0" : NULL;
}

const char *queue_values_check(struct queue_values *values)
{
    split_if_given(&values->labels);
    split_if_given(&values->excluded);
    split_if_given(&values->priorities);
    return find_misuse(values);
}

const char *queue_values_complete(struct queue_values *values, struct option_set *set)
{
    const char *misuse = queue_values_check(values);
    run_role_resolve(&values->work.role);
    int words = (int)memory_count_list((const char *const *)values->command);
    return misuse != NULL ? misuse : work_options_misuse(&values->work, set, words);
}

const char *const *queue_values_labels(const struct queue_values *values)
{
    static const char *const by_default[] = {LABEL, NULL};
    return values->labels == NULL ? by_default : (const char *const *)values->labels;
}

const char *queue_values_prefix(const struct queue_values *values)
{
    return values->prefix == NULL ? PREFIX : values->prefix;
}
