// SPDX-License-Identifier: Apache-2.0
/* Where `rondo tools` finds tools: a role, a registered MCP server, a URL, or a command. One
 * thread. */
#pragma once

#include "cli/framework/command.h"
#include "tool/toolbox.h"

/** What the commands of `rondo tools` share; first in each one's struct of values. */
struct tools_values {
    char *role;
    char *server;
    char *url;
    char **headers;
    int64_t timeout_ns;
};

#define OPTION_ROWS_TOOLS(type)                                                                 \
    {.name = "role",                                                                            \
     .kind = OPTION_TEXT,                                                                       \
     .offset = offsetof(type, tools.role),                                                      \
     .argument = "FILE",                                                                        \
     .help = "The tools of a role file",                                                        \
     .group = "Source of the tools",                                                            \
     .completes = COMPLETE_FILE},                                                               \
        {.name = "server",                                                                      \
         .kind = OPTION_TEXT,                                                                   \
         .offset = offsetof(type, tools.server),                                                \
         .argument = "NAME",                                                                    \
         .help = "An MCP server of rondo.yaml"},                                                \
        {.name = "url",                                                                         \
         .kind = OPTION_TEXT,                                                                   \
         .offset = offsetof(type, tools.url),                                                   \
         .argument = "URL",                                                                     \
         .help = "An MCP server at this URL"},                                                  \
        {.name = "header",                                                                      \
         .letter = 'H',                                                                         \
         .kind = OPTION_LIST,                                                                   \
         .offset = offsetof(type, tools.headers),                                               \
         .argument = "NAME: VALUE",                                                             \
         .help = "With --url: send a header; ${VAR} is filled in, so that a token need not be " \
                 "given here"},                                                                 \
    {                                                                                           \
        .name = "timeout", .kind = OPTION_DURATION, .offset = offsetof(type, tools.timeout_ns), \
        .argument = "TIME", .by_default = "60s", .help = "Maximum time for one answer"          \
    }

struct tools_source;

/**
 * Open what the options name; without any, all servers of rondo.yaml.
 * @param command the server's command line after `--`, NULL-terminated; or NULL
 * @param ret_source tools_source_close()
 */
int tools_source_open(const struct tools_values *values, char **command,
                      struct tools_source **ret_source, struct rondo_error *err);
/** Ends servers that were started. NULL is allowed. */
void tools_source_close(struct tools_source *source);

struct toolbox *tools_source_toolbox(struct tools_source *source);

/** Words after `--`, -1 when there is no `--`. Asked before parsing, which moves words. */
int tools_words_after(const struct invocation *invocation);

/**
 * Take the words after `--` away from those that a command has parsed.
 * @param after as tools_words_after said
 * @param argc   in and out: words of `argv`
 * @return the words after, NULL-terminated; NULL when there is no `--`
 */
char **tools_split_command(int after, int *argc, char **argv);

/** Refuse two ways at once. @return 0, or EXIT_USAGE after a message */
int tools_check_values(const struct command *command, const struct tools_values *values,
                       char **words);

int cmd_tools_list(const struct invocation *invocation);
int cmd_tools_call(const struct invocation *invocation);
extern const struct option_row tools_list_options[];
extern const struct option_row tools_call_options[];
