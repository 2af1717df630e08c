// SPDX-License-Identifier: Apache-2.0
/*
 * Configuration files: one JSON object whose keys are the long names of a command's options. What
 * the command line gives wins.
 */
#pragma once

#include "cli/framework/option.h"

struct json_object;

/**
 * Apply the text of a file to a set. Strict: an unknown key, a wrong type and a value out of range
 * are errors that name the key.
 *
 * Flags are true or false. Integers are numbers. Durations are texts ("1h30m") or whole seconds.
 * Money is a number or a text. Choices and texts are texts. Lists are arrays of texts.
 *
 * @param set options that are given in it already are left alone
 * @return 0, RONDO_ERR_INVALID or RONDO_ERR_LIMIT; then some values may have been set
 */
int config_parse(const char *text, size_t len, struct option_set *set, struct rondo_error *err);

/** The same for an object that was parsed already. */
int config_apply(struct json_object *root, struct option_set *set, struct rondo_error *err);

/** Read and apply a file of at most LIMIT_CONFIG_FILE_BYTES. Messages name the file. */
int config_read(const char *path, struct option_set *set, struct rondo_error *err);
