// SPDX-License-Identifier: Apache-2.0
/* A window on a stream: when it is full, its older half goes. */
#include "cli/progress/agent_view_tail.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct agent_tail {
    pthread_mutex_t lock; /* guards the rest */
    size_t len;
    char bytes[2 * AGENT_TAIL_BYTES];
};

struct agent_tail *agent_tail_new(void)
{
    struct agent_tail *tail = memory_new_zero(1, sizeof(*tail));
    pthread_mutex_init(&tail->lock, NULL);
    return tail;
}

void agent_tail_free(struct agent_tail *tail)
{
    if (tail != NULL) {
        pthread_mutex_destroy(&tail->lock);
        free(tail);
    }
}

void agent_tail_add(struct agent_tail *tail, const char *text, size_t len)
{
    if (len > AGENT_TAIL_BYTES) {
        text += len - AGENT_TAIL_BYTES;
        len = AGENT_TAIL_BYTES;
    }
    pthread_mutex_lock(&tail->lock);
    if (tail->len + len > sizeof(tail->bytes)) {
        size_t kept = AGENT_TAIL_BYTES;
        memmove(tail->bytes, tail->bytes + tail->len - kept, kept);
        tail->len = kept;
    }
    memcpy(tail->bytes + tail->len, text, len);
    tail->len += len;
    pthread_mutex_unlock(&tail->lock);
}

void agent_tail_clear(struct agent_tail *tail)
{
    pthread_mutex_lock(&tail->lock);
    tail->len = 0;
    pthread_mutex_unlock(&tail->lock);
}

void agent_tail_copy(struct agent_tail *tail, struct buf *ret_buf)
{
    pthread_mutex_lock(&tail->lock);
    size_t at = tail->len > AGENT_TAIL_BYTES ? tail->len - AGENT_TAIL_BYTES : 0;
    while (at > 0 && at < tail->len && ((unsigned char)tail->bytes[at] & 0xc0) == 0x80) {
        at++;
    }
    buf_append(ret_buf, tail->bytes + at, tail->len - at);
    pthread_mutex_unlock(&tail->lock);
}
