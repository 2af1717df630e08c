// SPDX-License-Identifier: Apache-2.0
/*
 * Recording conversations as turns that provider `scripted` plays back (docs/models.md). A file
 * holds what was said, never a key. Any thread, any process: a turn is written by one append.
 */
#pragma once

#include "model/model.h"
#include "rondo/error.h"

/**
 * Whether the file can be written, before anything is paid for. Makes it when it is absent.
 * @param agent_folders as in file_open_output
 */
int record_check(const char *const *agent_folders, const char *path, struct rondo_error *err);

/** Append one request and its reply, unless it was cancelled by ourselves. The file is made with
 * mode 0600. */
int record_append(const char *const *agent_folders, const char *path,
                  const struct model_request *request, const struct model_reply *reply,
                  struct rondo_error *err);
