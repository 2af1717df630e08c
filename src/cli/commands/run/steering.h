// SPDX-License-Identifier: Apache-2.0
/* What `rondo pause`, `continue`, `limit`, `fork` and `stop` have in common. */
#pragma once

#include "cli/framework/command.h"
#include "cli/framework/option.h"
#include "cli/framework/session.h"
#include "loop/control/control.h"

/** Bytes of a name for the journal. */
#define STEERING_BY_SIZE 160

/** The requester, for the journal: "ann@build7 812". */
void steering_describe_self(char *ret_text, size_t size);

/** Limits as they are given: texts, because "none" is one, too. */
struct steering_limits {
    char *max_iterations;
    char *max_tokens;
    char *max_cost;
    char *time_limit;
};

/** `type` has a member `limits`. */
#define STEERING_LIMIT_ROWS(type)                                                               \
    {.name = "max-iterations",                                                                  \
     .letter = 'n',                                                                             \
     .kind = OPTION_TEXT,                                                                       \
     .offset = offsetof(type, limits.max_iterations),                                           \
     .argument = "N",                                                                           \
     .help = "Iterations of the whole run; 0 or none = what the policies say, else 10",         \
     .group = "Limits"},                                                                        \
        {.name = "max-tokens",                                                                  \
         .kind = OPTION_TEXT,                                                                   \
         .offset = offsetof(type, limits.max_tokens),                                           \
         .argument = "N",                                                                       \
         .help = "Tokens of the whole run; 0 or none = no limit"},                              \
        {.name = "max-cost",                                                                    \
         .kind = OPTION_TEXT,                                                                   \
         .offset = offsetof(type, limits.max_cost),                                             \
         .argument = "AMOUNT",                                                                  \
         .help = "Cost of the whole run; 0 or none = no limit"},                                \
    {                                                                                           \
        .name = "time-limit", .kind = OPTION_TEXT, .offset = offsetof(type, limits.time_limit), \
        .argument = "DURATION", .help = "Active time of the whole run; 0 or none = no limit"    \
    }

/** Read them. @return 0, also when none is given, or RONDO_ERR_INVALID */
int steering_read_limits(const struct steering_limits *given, struct loop_limits *ret_limits,
                         struct rondo_error *err);

/** A command for one run, in words. */
struct steering_command {
    int (*act)(const struct loop_parts *parts, const char *run_id, const char *by,
               const void *context, struct rondo_error *err);
    const void *context;
    const char *done;    /**< "is paused" */
    const char *posted;  /**< "will pause before its next iteration" */
    const char *nothing; /**< "was paused already" */
    const char *verb;    /**< command that continues it when no process executes it; or NULL */
};

/** Find the run, carry the command out and say what came of it. @return exit code */
int steering_act(const char *store, const char *name, bool wants_json,
                 const struct steering_command *command);
