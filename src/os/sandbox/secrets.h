// SPDX-License-Identifier: Apache-2.0
/* Paths of the machine and of the user that no sandbox shows, wherever they would be visible. */
#pragma once

#include "base/clock.h"

#include <stdbool.h>

/** So long the result of the search counts for further commands. */
#define SECRETS_AGE_NS (100 * NS_PER_MS)

enum secret_kind {
    SECRET_HIDDEN,    /**< keys and the like: shown empty */
    SECRET_READ_ONLY, /**< executed later with the user's rights: not writable */
};

/** What is done with one path; absolute, perhaps missing. */
typedef void secret_taker(void *context, const char *path, enum secret_kind kind);

/**
 * Name every secret of the system. For root these are also all files in /etc, /opt and
 * /usr/local/etc that not everyone may read: root owns them and needs no capability to read them.
 * That search is repeated when the last one is older than SECRETS_AGE_NS. Any thread.
 */
void sandbox_secrets_of_system(secret_taker *take, void *context);

/** Name every secret that a home folder may hold. Any thread. */
void sandbox_secrets_of_home(const char *home, secret_taker *take, void *context);

/** Whether a workspace (canonical) is the user's home folder, or above it. Any thread. */
bool sandbox_secrets_shows_home(const char *workspace);
