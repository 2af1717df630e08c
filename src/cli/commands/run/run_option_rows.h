// SPDX-License-Identifier: Apache-2.0
/* Option rows that several of the commands that execute runs have. */
#pragma once

#include "cli/commands/run/run_options.h"
#include "cli/commands/run/run_role.h"
#include "cli/commands/run/work_options.h"
#include "cli/framework/common_options.h"

/** Offsets in the values: each command's struct begins with that of the one before. */
#define IN(member)      offsetof(struct run_values, member)
#define IN_SPEC(member) offsetof(struct run_values, spec.member)
#define IN_ROLE(member) offsetof(struct role_values, member)
#define IN_WORK(member) offsetof(struct work_values, member)

#define ROW_POLICY                                                                            \
    {                                                                                         \
        .name = "policy", .kind = OPTION_TEXT, .offset = IN(policy), .argument = "PATH",      \
        .by_default = "rondo.cedar next to the store",                                        \
        .help = "Cedar policies evaluated before every step: a file, or a folder of *.cedar", \
        .completes = COMPLETE_FILE                                                            \
    }

#define ROW_POOL                                                                               \
    {                                                                                          \
        .name = "pool", .kind = OPTION_TEXT, .offset = IN_SPEC(pool), .argument = "LABEL,...", \
        .by_default = "none: it executes here",                                                \
        .help = "Hand the run over to a server of the store that has these labels, and end"    \
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

#define ROWS_CODING                                                                             \
    {.name = "agent-home",                                                                      \
     .kind = OPTION_TEXT,                                                                       \
     .offset = IN(agent_home),                                                                  \
     .argument = "DIR",                                                                         \
     .by_default = "your own",                                                                  \
     .help = "HOME of the coding agent, with its login, settings and sessions",                 \
     .completes = COMPLETE_FOLDER},                                                             \
    {                                                                                           \
        .name = "resume-session", .kind = OPTION_FLAG, .offset = IN(keeps_session),             \
        .help = "Continue the coding agent's session in later iterations, instead of a new one" \
    }

#define ROW_ACCEPT_UNPROTECTED                                                                \
    {                                                                                         \
        .name = "accept-unprotected", .kind = OPTION_FLAG, .offset = IN(accepts_unprotected), \
        .help = "Run a role without the protections that it requests and Rondo does not "     \
                "provide; the run records which"                                              \
    }

/** Who works on tasks: struct work_values. */
#define ROWS_WORKER                                                                                \
    {.name = "role",                                                                               \
     .letter = 'r',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .offset = IN_WORK(role_file),                                                                 \
     .argument = "FILE",                                                                           \
     .help = "Role file whose agent works on the tasks",                                           \
     .group = "The worker",                                                                        \
     .completes = COMPLETE_FILE},                                                                  \
        {.name = "agent",                                                                          \
         .letter = 'a',                                                                            \
         .kind = OPTION_TEXT,                                                                      \
         .offset = IN_WORK(coding_agent),                                                          \
         .argument = "NAME",                                                                       \
         .help = "Coding agent that works on the tasks: claude, codex, gemini, ..."},              \
        {.name = "model",                                                                          \
         .letter = 'm',                                                                            \
         .kind = OPTION_TEXT,                                                                      \
         .offset = IN_ROLE(model),                                                                 \
         .argument = "NAME",                                                                       \
         .by_default = "the agent's own",                                                          \
         .help = "Model of the agent; with --role PROVIDER:NAME"},                                 \
        ROWS_CODING,                                                                               \
    {                                                                                              \
        .name = "iterations", .kind = OPTION_INT, .offset = IN_WORK(iterations), .argument = "N",  \
        .by_default = "1; with --role the role's own",                                             \
        .help = "Maximum iterations of one attempt; it ends as soon as the checks pass", .low = 1, \
        .high = LIMIT_MAX_ITERATIONS                                                               \
    }

/** What is checked before a commit. */
#define ROWS_CHECKS                                                                             \
    {.name = "gate",                                                                            \
     .letter = 'g',                                                                             \
     .kind = OPTION_LIST,                                                                       \
     .offset = IN(until),                                                                       \
     .argument = "NAME=COMMAND",                                                                \
     .by_default = "build, tests and linter found in the project's files",                      \
     .help = "Check: COMMAND must exit with 0 before each commit; repeatable",                  \
     .group = "Checks"},                                                                        \
        {.name = "verify-timeout",                                                              \
         .kind = OPTION_DURATION,                                                               \
         .offset = IN(verify_timeout_ns),                                                       \
         .argument = "DURATION",                                                                \
         .by_default = "10m",                                                                   \
         .help = "Maximum time for one check"},                                                 \
        {.name = "setup",                                                                       \
         .kind = OPTION_TEXT,                                                                   \
         .offset = IN_WORK(setup),                                                              \
         .argument = "COMMAND",                                                                 \
         .help = "Command that prepares each new working tree, such as 'npm ci'; runs like a "  \
                 "check, so "                                                                   \
                 "downloads require --sandbox-network"},                                        \
        {.name = "clean-checks",                                                                \
         .kind = OPTION_FLAG,                                                                   \
         .offset = IN_WORK(is_clean),                                                           \
         .help =                                                                                \
             "Run the checks in a new working tree that contains only what will be committed, " \
             "prepared by --setup"},                                                            \
        {.name = "protect",                                                                     \
         .kind = OPTION_LIST,                                                                   \
         .offset = IN_WORK(protect),                                                            \
         .argument = "GLOB",                                                                    \
         .help = "Files that an attempt must not change, add or delete; repeatable"},           \
        {.name = "review",                                                                      \
         .kind = OPTION_TEXT,                                                                   \
         .offset = IN_WORK(review),                                                             \
         .argument = "AGENT|FILE",                                                              \
         .by_default = "none",                                                                  \
         .help = "Coding agent, or role file, that reviews each change before its commit",      \
         .completes = COMPLETE_FILE},                                                           \
    {                                                                                           \
        .name = "review-model", .kind = OPTION_TEXT, .offset = IN_WORK(review_model),           \
        .argument = "NAME", .by_default = "the reviewer's own",                                 \
        .help = "Model of the reviewer; with a role file PROVIDER:NAME"                         \
    }

/** Where workers and checks run, and the prices of models. @param tiers the sandboxes by default */
#define ROWS_WORK_SANDBOX(tiers)                                                                  \
    {.name = "sandbox",                                                                           \
     .kind = OPTION_CHOICE,                                                                       \
     .offset = IN(sandbox),                                                                       \
     .by_default = (tiers),                                                                       \
     .help =                                                                                      \
         "Sandbox of the checks and the worker; with --role of the checks, since a role has its " \
         "own for tools",                                                                         \
     .group = "Sandbox",                                                                          \
     .choices = sandbox_tier_choices},                                                            \
        {.name = "sandbox-network",                                                               \
         .kind = OPTION_FLAG,                                                                     \
         .offset = IN_SPEC(allow_network),                                                        \
         .help = "Allow network access in the sandbox"},                                          \
        {.name = "sandbox-read",                                                                  \
         .kind = OPTION_LIST,                                                                     \
         .offset = IN_SPEC(read_paths),                                                           \
         .argument = "PATH",                                                                      \
         .help = "Additional path that is readable in the sandbox; repeatable"},                  \
        {.name = "sandbox-write",                                                                 \
         .kind = OPTION_LIST,                                                                     \
         .offset = IN_SPEC(write_paths),                                                          \
         .argument = "PATH",                                                                      \
         .help = "Additional path that is writable in the sandbox; repeatable"},                  \
        {.name = "sandbox-env",                                                                   \
         .kind = OPTION_LIST,                                                                     \
         .offset = IN_SPEC(env_names),                                                            \
         .argument = "NAME",                                                                      \
         .help = "Additional environment variable to pass; repeatable"},                          \
        ROW_ACCEPT_UNPROTECTED,                                                                   \
    {                                                                                             \
        .name = "prices", .kind = OPTION_TEXT, .offset = IN_ROLE(prices), .argument = "FILE",     \
        .help = "Prices of models, JSON", .completes = COMPLETE_FILE                              \
    }
