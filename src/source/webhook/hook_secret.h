// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets of webhooks whose roles give none: made once, kept in the state folder, which no sandbox
 * shows. So a role of InitRunner without a `secret` is not open to everybody, and its owner can
 * still have it called. Files: STATE/hooks/NAME-DIGEST, mode 0600, one line; the digest is of the
 * role's folder, the agent and the signature. Removing a file makes a new secret at the next start.
 */
#pragma once

#include "base/random.h"
#include "rondo/error.h"

#include <stdbool.h>

/** Of which webhook. Borrowed. */
struct hook_owner {
    const char *folder; /**< of the role's file */
    const char *role;   /**< name of the agent */
    const char *name;   /**< of the webhook: letters, digits, `-`, `_` and `.` */
    bool is_standard;   /**< of Standard Webhooks: whsec_ and base64, else hexadecimal digits */
};

/**
 * The secret of a webhook, made unless it was. Of several processes that make it at once all get
 * the same one.
 * @param ret_secret secret_free_string()
 * @param ret_path   its file, owned
 * @return 0; RONDO_ERR_DENIED when others could have written it; RONDO_ERR_IO
 */
int hook_secret_keep(const struct hook_owner *owner, struct random *random, char **ret_secret,
                     char **ret_path, struct rondo_error *err);
