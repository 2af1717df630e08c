// SPDX-License-Identifier: Apache-2.0
/* The option tables of `rondo loop` and `rondo resume`. Rows that both have are macros. */
#include "base/limits.h"
#include "cli/commands/run/run_options.h"
#include "cli/commands/run/run_role.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"

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

static const struct option_choice tiers[] = {
    {"namespace", SANDBOX_NAMESPACE},
    {"landlock", SANDBOX_LANDLOCK},
    {"none", SANDBOX_NONE},
    {0},
};

#define IN(member)      offsetof(struct run_values, member)
#define IN_SPEC(member) offsetof(struct run_values, spec.member)

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

#define ROW_POLICY                                                                            \
    {                                                                                         \
        .name = "policy", .kind = OPTION_TEXT, .offset = IN(policy), .argument = "PATH",      \
        .by_default = "rondo.cedar next to the store",                                        \
        .help = "Cedar policies evaluated before every step: a file, or a folder of *.cedar", \
        .completes = COMPLETE_FILE                                                            \
    }

#define ROWS_TIMES                                                                    \
    {.name = "iteration-timeout",                                                     \
     .kind = OPTION_DURATION,                                                         \
     .offset = IN_SPEC(iteration_timeout_ns),                                         \
     .argument = "DURATION",                                                          \
     .by_default = "none",                                                            \
     .help = "Maximum time for the command of one iteration",                         \
     .group = "The worker's time"},                                                   \
        {.name = "first-output-timeout",                                              \
         .kind = OPTION_DURATION,                                                     \
         .offset = IN_SPEC(first_output_ns),                                          \
         .argument = "DURATION",                                                      \
         .by_default = "none",                                                        \
         .help = "Maximum time until its first output"},                              \
        {.name = "silence-timeout",                                                   \
         .kind = OPTION_DURATION,                                                     \
         .offset = IN_SPEC(silence_ns),                                               \
         .argument = "DURATION",                                                      \
         .by_default = "none",                                                        \
         .help = "Maximum time without output after the first"},                      \
    {                                                                                 \
        .name = "delay", .kind = OPTION_DURATION, .offset = IN_SPEC(delay_ns),        \
        .argument = "DURATION", .by_default = "0", .help = "Pause between iterations" \
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

#define ROWS_OUTPUT                                                                      \
    OPTION_ROW_STORE(struct run_values),                                                 \
        OPTION_ROW_JSON(struct run_values,                                               \
                        "Write every event and a final result as JSON lines to stdout"), \
        {.name = "quiet",                                                                \
         .letter = 'q',                                                                  \
         .kind = OPTION_FLAG,                                                            \
         .offset = IN(wants_quiet),                                                      \
         .help = "No progress; only the result line, warnings and errors"},              \
        OPTION_ROW_NO_COLOUR(struct run_values)

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
     .help = "Stable name of the agent",
     .group = "The agent"},
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
    ROWS_TIMES,
    ROWS_DURABILITY,
    {.name = "sandbox",
     .kind = OPTION_CHOICE,
     .offset = IN(sandbox),
     .by_default = "conditions in a namespace, the worker without",
     .help = "Sandbox of the conditions' commands and of the worker",
     .group = "Sandbox",
     .choices = tiers},
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

#define ROW_ACCEPT_UNPROTECTED                                                                \
    {                                                                                         \
        .name = "accept-unprotected", .kind = OPTION_FLAG, .offset = IN(accepts_unprotected), \
        .help = "Run a role without the protections that it requests and Rondo does not "     \
                "provide; the run records which"                                              \
    }

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

#define IN_ROLE(member) offsetof(struct role_values, member)

const struct option_row run_options[] = {
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
