// SPDX-License-Identifier: Apache-2.0
/*
 * Where an MCP server of ours runs: its command line, its environment, its folder, its sandbox. A
 * sandboxed server has a private folder of its own (HOME and working folder) in the user's cache,
 * which lasts, so that npx and uvx find again what they have installed; it never starts in the
 * workspace, where agents could have put modules that its interpreter imports.
 */
#pragma once

#include "mcp/mcp.h"
#include "os/sandbox/policy.h"

/** Owned; mcp_place_fini(). */
struct mcp_place {
    char **argv;
    char **envp;
    char *directory;
    struct sandbox_policy policy; /**< points into what follows; tier SANDBOX_NONE = none */
    char *home;
    char **env_names;
    char **read_paths;
    char **write_paths;
    char **hide_paths;
};

/**
 * Decide.
 * @return RONDO_ERR_DENIED for a program that agents can write, RONDO_ERR_NOT_FOUND when there is
 *         no home for the private folder
 */
int mcp_place_make(const struct mcp_options *options, struct mcp_place *ret_place,
                   struct rondo_error *err);
void mcp_place_fini(struct mcp_place *place);
