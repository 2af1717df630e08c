// SPDX-License-Identifier: Apache-2.0
/* Waiting for the lock of a PRD's file. Any thread. Internal to src/prd. */
#pragma once

#include "base/clock.h"
#include "rondo/error.h"

/**
 * Lock an open file, at the latest after LIMIT_PRD_LOCK_NS.
 * @param fd   of the lock; closing it releases it
 * @param path of the PRD, for messages
 * @return 0; RONDO_ERR_BUSY when others hold it all the time; RONDO_ERR_IO
 */
int prd_lock_wait(const struct clock *clock, int fd, const char *path, struct rondo_error *err);
