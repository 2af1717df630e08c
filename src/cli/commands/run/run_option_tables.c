// SPDX-License-Identifier: Apache-2.0
/* The option tables of `rondo loop`, `resume`, `run` and `prd run`. */
#include "base/limits.h"
#include "cli/commands/run/prd_run.h"
#include "cli/commands/run/run_option_rows.h"
#include "cli/framework/command.h"

static const struct option_choice durabilities[] = {
    {"strict", DURABILITY_STRICT},
    {"best-effort", DURABILITY_BEST_EFFORT},
    {0},
};

static const struct option_choice on_corrupts[] = {
    {"previous", ON_CORRUPT_PREVIOUS},
    {"fresh", ON_CORRUPT_FRESH},
    {"fail", ON_CORRUPT_FAIL},
    {0},
};

const struct option_choice sandbox_tier_choices[] = {
    {"namespace", SANDBOX_NAMESPACE},
    {"landlock", SANDBOX_LANDLOCK},
    {"none", SANDBOX_NONE},
    {0},
};

#define ROWS_LIMITS                                                                   \
    {.name = "max-iterations",                                                        \
     .letter = 'n',                                                                   \
     .kind = OPTION_INT,                                                              \
     .offset = IN_SPEC(max_iterations),                                               \
     .argument = "N",                                                                 \
     .by_default = "what the policies say, else 10",                                  \
     .help = "Iterations of the whole run, including those before a resume",          \
     .group = "Limits",                                                               \
     .low = 1,                                                                        \
     .high = LIMIT_MAX_ITERATIONS},                                                   \
        {.name = "time-limit",                                                        \
         .kind = OPTION_DURATION,                                                     \
         .offset = IN_SPEC(time_limit_ns),                                            \
         .argument = "DURATION",                                                      \
         .by_default = "none",                                                        \
         .help = "Active time of the whole run, counted across crashes and resumes"}, \
        {.name = "max-tokens",                                                        \
         .kind = OPTION_INT,                                                          \
         .offset = IN_SPEC(max_tokens),                                               \
         .argument = "N",                                                             \
         .by_default = "none",                                                        \
         .help = "Tokens that the worker may report over all iterations",             \
         .low = 0,                                                                    \
         .high = INT64_MAX / 2},                                                      \
        {.name = "max-cost",                                                          \
         .kind = OPTION_MONEY,                                                        \
         .offset = IN_SPEC(max_cost_micro),                                           \
         .argument = "AMOUNT",                                                        \
         .by_default = "none",                                                        \
         .help = "Cost that the worker may report over all iterations"},              \
    {                                                                                 \
        .name = "max-failures", .kind = OPTION_INT, .offset = IN_SPEC(max_failures),  \
        .argument = "N", .by_default = "3",                                           \
        .help = "End the run as failed after N failed iterations in a row", .low = 1, \
        .high = LIMIT_MAX_ITERATIONS                                                  \
    }

#define ROWS_DURABILITY                                                                            \
    {.name = "checkpoint-interval",                                                                \
     .kind = OPTION_INT,                                                                           \
     .offset = IN_SPEC(checkpoint_interval),                                                       \
     .argument = "N",                                                                              \
     .by_default = "1",                                                                            \
     .help = "Save a checkpoint every N iterations",                                               \
     .group = "Durability",                                                                        \
     .low = 1,                                                                                     \
     .high = LIMIT_MAX_ITERATIONS},                                                                \
        {.name = "durability",                                                                     \
         .kind = OPTION_CHOICE,                                                                    \
         .offset = IN_SPEC(durability),                                                            \
         .by_default = "strict",                                                                   \
         .help = "If the store keeps failing: end the run with `error` (strict), or continue "     \
                 "without checkpoints and warn (best-effort)",                                     \
         .choices = durabilities},                                                                 \
        {.name = "on-corrupt",                                                                     \
         .kind = OPTION_CHOICE,                                                                    \
         .offset = IN_SPEC(on_corrupt),                                                            \
         .by_default = "previous",                                                                 \
         .help = "If the newest checkpoint is corrupt, resume from the newest intact one "         \
                 "(previous), with an empty state (fresh), or not at all (fail)",                  \
         .choices = on_corrupts},                                                                  \
    {                                                                                              \
        .name = "lease", .kind = OPTION_DURATION, .offset = IN(lease_ns), .argument = "DURATION",  \
        .by_default = "30s",                                                                       \
        .help = "Time after which others may take over the run of a frozen or unreachable process" \
    }

const struct option_row loop_options[] = {
    {.name = "until",
     .letter = 'u',
     .kind = OPTION_LIST,
     .offset = IN(until),
     .argument = "NAME[=COMMAND]",
     .help = "Exit condition, met when COMMAND exits with 0; repeatable, all must be met. For "
             "all_tests_pass, build_succeeds, linting_clean and security_scan_clean the command is "
             "inferred from the project's files",
     .group = "Exit conditions",
     .completes = COMPLETE_CONDITION},
    {.name = "verify-timeout",
     .kind = OPTION_DURATION,
     .offset = IN(verify_timeout_ns),
     .argument = "DURATION",
     .by_default = "30s",
     .help = "Maximum time for one evaluation of a condition"},
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_TEXT,
     .offset = IN_SPEC(agent_id),
     .argument = "ID",
     .by_default = "name of the command",
     .help = "Stable name of the agent. Without a COMMAND: the coding agent to run (claude, codex, "
             "gemini, ...; docs/coding-agents.md)",
     .group = "The agent"},
    {.name = "model",
     .letter = 'm',
     .kind = OPTION_TEXT,
     .offset = IN(coding_model),
     .argument = "NAME",
     .by_default = "the coding agent's own choice",
     .help = "Model of the coding agent"},
    ROWS_CODING,
    {.name = "prices",
     .kind = OPTION_TEXT,
     .offset = IN(coding_prices),
     .argument = "FILE",
     .help = "Prices of models, for coding agents that report tokens only, JSON",
     .completes = COMPLETE_FILE},
    {.name = "prompt",
     .letter = 'p',
     .kind = OPTION_TEXT,
     .offset = IN_SPEC(prompt),
     .argument = "TEXT",
     .help = "Task of the worker, which gets it in RONDO_PROMPT"},
    {.name = "prompt-file",
     .kind = OPTION_TEXT,
     .offset = IN(prompt_file),
     .argument = "FILE",
     .help = "The same from a file",
     .completes = COMPLETE_FILE},
    {.name = "workspace",
     .letter = 'C',
     .kind = OPTION_TEXT,
     .offset = IN(workspace),
     .argument = "DIR",
     .by_default = "the working directory",
     .help = "Where the worker and the conditions' commands run",
     .completes = COMPLETE_FOLDER},
    {.name = "exclusive",
     .kind = OPTION_FLAG,
     .offset = IN_SPEC(is_exclusive),
     .help = "No other run of this agent may execute at the same time"},
    {.name = "config",
     .kind = OPTION_TEXT,
     .offset = IN(config),
     .argument = "FILE",
     .help = "JSON object with these long option names as keys; the command line takes precedence",
     .completes = COMPLETE_FILE,
     .is_only_arguments = true},
    ROWS_LIMITS,
    ROW_POLICY,
    ROW_POOL,
    ROWS_TIMES,
    ROWS_DURABILITY,
    {.name = "sandbox",
     .kind = OPTION_CHOICE,
     .offset = IN(sandbox),
     .by_default = "conditions in a namespace, the worker without",
     .help = "Sandbox of the conditions' commands and of the worker",
     .group = "Sandbox",
     .choices = sandbox_tier_choices},
    {.name = "sandbox-network",
     .kind = OPTION_FLAG,
     .offset = IN_SPEC(allow_network),
     .help = "Allow network access in the sandbox"},
    {.name = "sandbox-read",
     .kind = OPTION_LIST,
     .offset = IN_SPEC(read_paths),
     .argument = "PATH",
     .help = "Additional readable path; repeatable",
     .completes = COMPLETE_FILE},
    {.name = "sandbox-write",
     .kind = OPTION_LIST,
     .offset = IN_SPEC(write_paths),
     .argument = "PATH",
     .help = "Additional writable path; repeatable",
     .completes = COMPLETE_FILE},
    {.name = "sandbox-env",
     .kind = OPTION_LIST,
     .offset = IN_SPEC(env_names),
     .argument = "NAME",
     .help = "Additional environment variable to pass; repeatable"},
    ROWS_OUTPUT,
    {0},
};

const struct option_row resume_options[] = {
    ROWS_LIMITS,
    ROW_POLICY,
    ROWS_TIMES,
    ROWS_DURABILITY,
    ROW_ACCEPT_UNPROTECTED,
    ROWS_OUTPUT,
    {.name = "until",
     .kind = OPTION_LIST,
     .offset = IN(until),
     .argument = "NAME",
     .help = "",
     .is_hidden = true},
    {0},
};

const struct option_row run_options[] = {
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = IN_ROLE(coding_agent),
     .argument = "NAME",
     .help =
         "Coding agent to run instead of a role file: claude, codex, gemini, ... With -a it runs "
         "until the exit conditions are met, else once",
     .group = "The coding agent"},
    ROWS_CODING,
    {.name = "sandbox",
     .kind = OPTION_CHOICE,
     .offset = IN(sandbox),
     .by_default = "namespace for conditions, none for the coding agent",
     .help = "Sandbox of the exit conditions' commands and of the coding agent",
     .choices = sandbox_tier_choices},
    {.name = "sandbox-env",
     .kind = OPTION_LIST,
     .offset = IN_SPEC(env_names),
     .argument = "NAME",
     .help = "Additional environment variable to pass to the coding agent; repeatable"},
    {.name = "prompt",
     .letter = 'p',
     .kind = OPTION_TEXT,
     .offset = IN_SPEC(prompt),
     .argument = "TEXT",
     .help = "Task of the agent",
     .group = "The task"},
    {.name = "task",
     .kind = OPTION_TEXT,
     .offset = IN_SPEC(prompt),
     .argument = "TEXT",
     .help = "The same",
     .is_hidden = true},
    {.name = "prompt-file",
     .kind = OPTION_TEXT,
     .offset = IN(prompt_file),
     .argument = "FILE",
     .help = "The same from a file",
     .completes = COMPLETE_FILE},
    {.name = "autonomous",
     .letter = 'a',
     .kind = OPTION_FLAG,
     .offset = IN_ROLE(is_autonomous),
     .help = "Run until the agent reports that it is done, exit conditions are met, or a limit is "
             "reached; without it, there is one answer"},
    {.name = "interactive",
     .letter = 'i',
     .kind = OPTION_FLAG,
     .offset = IN_ROLE(is_interactive),
     .help = "Hold a conversation, line by line"},
    {.name = "resume",
     .kind = OPTION_TEXT,
     .offset = IN_ROLE(resume),
     .argument = "RUN",
     .help = "Resume a run, like `rondo resume RUN`",
     .completes = COMPLETE_RUN},
    {.name = "dry-run",
     .kind = OPTION_FLAG,
     .offset = IN_ROLE(is_dry_run),
     .help = "Use no model; no key is needed"},
    {.name = "workspace",
     .letter = 'C',
     .kind = OPTION_TEXT,
     .offset = IN(workspace),
     .argument = "DIR",
     .by_default = "the working directory",
     .help = "Where tools and the conditions' commands run",
     .completes = COMPLETE_FOLDER},
    {.name = "allow-host",
     .kind = OPTION_LIST,
     .offset = IN_ROLE(allow_hosts),
     .argument = "HOST[:PORT]",
     .help = "Host with a private address that tools may reach, in addition to those that the role "
             "names; repeatable"},
    {.name = "skill-dir",
     .kind = OPTION_TEXT,
     .offset = IN_ROLE(skill_dir),
     .argument = "DIR",
     .help = "Additional folder to search for skills",
     .completes = COMPLETE_FOLDER},
    {.name = "var",
     .kind = OPTION_LIST,
     .offset = IN_ROLE(variables),
     .argument = "NAME=VALUE",
     .help = "Value of a variable in the role's text (`deps_schema`); repeatable"},
    {.name = "until",
     .letter = 'u',
     .kind = OPTION_LIST,
     .offset = IN(until),
     .argument = "NAME[=COMMAND]",
     .help = "Exit condition in addition to the role's, as for `rondo loop`; repeatable",
     .group = "Exit conditions",
     .completes = COMPLETE_CONDITION},
    {.name = "verify-timeout",
     .kind = OPTION_DURATION,
     .offset = IN(verify_timeout_ns),
     .argument = "DURATION",
     .by_default = "30s",
     .help = "Maximum time for one evaluation of such a condition"},
    {.name = "model",
     .letter = 'm',
     .kind = OPTION_TEXT,
     .offset = IN_ROLE(model),
     .argument = "PROVIDER:NAME",
     .by_default = "the role's",
     .help = "Use another model",
     .group = "The model"},
    {.name = "record",
     .kind = OPTION_TEXT,
     .offset = IN_ROLE(record),
     .argument = "FILE",
     .help = "Record the replies, for a replay with --model scripted:FILE",
     .completes = COMPLETE_FILE},
    {.name = "prices",
     .kind = OPTION_TEXT,
     .offset = IN_ROLE(prices),
     .argument = "FILE",
     .help = "Prices of models that are not built in, JSON",
     .completes = COMPLETE_FILE},
    {.name = "max-iterations",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = IN_SPEC(max_iterations),
     .argument = "N",
     .by_default = "the role's, else 10",
     .help = "Iterations of the whole run",
     .group = "Limits",
     .low = 0,
     .high = LIMIT_MAX_ITERATIONS},
    {.name = "token-budget",
     .kind = OPTION_INT,
     .offset = IN_ROLE(token_budget),
     .argument = "N",
     .by_default = "the role's, else none",
     .help = "Input and output tokens of the whole run",
     .low = 1,
     .high = INT64_MAX / 2},
    {.name = "max-tokens",
     .kind = OPTION_INT,
     .offset = IN_ROLE(token_budget),
     .argument = "N",
     .help = "The same; the name that `rondo resume` uses",
     .low = 1,
     .high = INT64_MAX / 2,
     .is_hidden = true},
    {.name = "max-cost",
     .kind = OPTION_MONEY,
     .offset = IN_SPEC(max_cost_micro),
     .argument = "AMOUNT",
     .by_default = "none",
     .help = "Cost of the whole run in dollars"},
    {.name = "time-limit",
     .kind = OPTION_DURATION,
     .offset = IN_SPEC(time_limit_ns),
     .argument = "DURATION",
     .by_default = "the role's, else none",
     .help = "Active time of the whole run"},
    ROW_POLICY,
    ROW_POOL,
    {.name = "yes",
     .letter = 'y',
     .kind = OPTION_FLAG,
     .offset = IN_ROLE(says_yes),
     .help = "Approve every tool call for which a role or a policy requires confirmation, except "
             "interrupted calls that may have had their effect"},
    ROW_ACCEPT_UNPROTECTED,
    ROWS_OUTPUT,
    {0},
};

_Static_assert(sizeof(loop_options) / sizeof(loop_options[0]) <= OPTION_ROWS_MAX,
               "OPTION_ROWS_MAX is too small");

#define IN_PRD(member) offsetof(struct prd_run_values, member)

const struct option_row prd_run_options[] = {
    ROWS_WORKER,
    {.name = "jobs",
     .letter = 'j',
     .kind = OPTION_INT,
     .offset = IN_PRD(jobs),
     .argument = "N",
     .by_default = "1",
     .help = "Number of tasks to work on at the same time; none depends on another",
     .low = 1,
     .high = LIMIT_WORK_JOBS},
    ROWS_CHECKS,
    {.name = "branch",
     .letter = 'b',
     .kind = OPTION_TEXT,
     .offset = IN_PRD(branch),
     .argument = "NAME",
     .by_default = "the PRD's own, else prd/NAME",
     .help = "Branch for the commits; created at HEAD if it does not exist",
     .group = "The branch"},
    {.name = "branch-per-task",
     .kind = OPTION_FLAG,
     .offset = IN_PRD(is_branch_per_task),
     .help = "Commit each task on a branch of its own, BRANCH/ID, which starts at the branches of "
             "the tasks that it depends on"},
    {.name = "push",
     .kind = OPTION_FLAG,
     .offset = IN_PRD(is_pushed),
     .help = "Push the branch after each commit, never by force"},
    {.name = "pr",
     .kind = OPTION_FLAG,
     .offset = IN_PRD(wants_request),
     .help = "Push, and show the page on which to open a pull request"},
    {.name = "remote",
     .kind = OPTION_TEXT,
     .offset = IN_PRD(remote),
     .argument = "NAME",
     .by_default = "origin",
     .help = "Remote to push to"},
    {.name = "archive",
     .kind = OPTION_FLAG,
     .offset = IN_PRD(is_archived),
     .help = "When all tasks are done, move prd.json and progress.txt into archive/"},
    {.name = "attempts",
     .kind = OPTION_INT,
     .offset = IN_PRD(attempts),
     .argument = "N",
     .by_default = "3",
     .help = "Maximum attempts at one task",
     .group = "Limits",
     .low = 1,
     .high = LIMIT_WORK_ATTEMPTS},
    {.name = "max-attempts",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = IN_PRD(max_attempts),
     .argument = "N",
     .by_default = "20",
     .help = "Maximum attempts at all tasks together",
     .low = 1,
     .high = LIMIT_MAX_ITERATIONS},
    {.name = "time-limit",
     .kind = OPTION_DURATION,
     .offset = IN_SPEC(time_limit_ns),
     .argument = "DURATION",
     .by_default = "none",
     .help = "Maximum active time of the run"},
    {.name = "max-tokens",
     .kind = OPTION_INT,
     .offset = IN_SPEC(max_tokens),
     .argument = "N",
     .by_default = "none",
     .help = "Maximum tokens of all attempts together",
     .low = 0,
     .high = INT64_MAX / 2},
    {.name = "max-cost",
     .kind = OPTION_MONEY,
     .offset = IN_SPEC(max_cost_micro),
     .argument = "AMOUNT",
     .by_default = "none",
     .help = "Maximum cost of all attempts together"},
    ROW_POLICY,
    ROWS_TIMES,
    ROWS_WORK_SANDBOX("checks in a namespace, the worker without"),
    ROWS_OUTPUT,
    {0},
};
