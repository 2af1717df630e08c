// SPDX-License-Identifier: Apache-2.0
/* Taking a cancel token back. */
#include "base/cancel_owner.h"

#include <unistd.h>

void cancel_reset(struct cancel *cancel)
{
    uint64_t count;
    atomic_store(&cancel->level, CANCEL_NONE);
    ssize_t taken = read(cancel->event_fd, &count, sizeof(count));
    (void)taken; /* EAGAIN: it was not set. */
    if (cancel_is_set(cancel)) {
        cancel_set(cancel, cancel_level(cancel)); /* Since the first line; waiters must see it. */
    }
}
