// SPDX-License-Identifier: Apache-2.0
/*
 * The file of `rondo serve --work`: YAML with a list of repositories, whose keys are the long names
 * of `rondo work`'s options, and `command` for a worker that is a command:
 *
 *     defaults:
 *       agent: claude
 *     repositories:
 *       - repo: acme/shop
 *         labels: [code]
 *       - repo: https://git.example.org/acme/tools
 *         forge: gitea
 *         command: [./agent.sh]
 *
 * What a repository does not say is taken from `defaults`. Paths are relative to the file.
 */
#pragma once

#include "cli/commands/work/queue_options.h"

struct work_file;

/**
 * Read and check a file, all its repositories too.
 * @param ret_file work_file_free()
 * @return 0, or a code with file, line and what to do
 */
int work_file_read(const char *path, struct work_file **ret_file, struct rondo_error *err);
/** The same from a text. @param path for messages @param folder absolute; paths are relative to it
 */
int work_file_parse(const char *path, const char *folder, const char *text, size_t len,
                    struct work_file **ret_file, struct rondo_error *err);
void work_file_free(struct work_file *file);

/**
 * Take the tokens and secrets that its repositories need out of this process's environment, which
 * agents without a sandbox can read; work_file_values() tells where they are. Once, before there
 * are other threads.
 */
void work_file_take_tokens(struct work_file *file);

/** Repositories in it: 1 to LIMIT_WORK_QUEUES. */
size_t work_file_count(const struct work_file *file);

/** Options of one of them, complete. @param ret_values, ret_set queue_values_fini() when 0 */
int work_file_values(const struct work_file *file, size_t index, struct queue_values *ret_values,
                     struct option_set *ret_set, struct rondo_error *err);
