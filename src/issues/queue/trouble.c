// SPDX-License-Identifier: Apache-2.0
/*
 * What keeps a queue from working. Each kind of it is told once, until it is over or has another
 * reason; the most important one is in the store, where the page and /v1/work find it.
 */
#include "issues/trouble.h"
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void queue_trouble(struct issue_queue *queue, enum queue_trouble kind, const char *format, ...)
{
    char **slot = &queue->troubles[kind];
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (len < 0) {
        return;
    }
    bool is_new = *slot == NULL || strcmp(*slot, text) != 0;
    free(*slot);
    *slot = text;
    if (is_new) {
        queue_say(queue, NULL, "%s", text);
    }
}

void queue_untrouble(struct issue_queue *queue, enum queue_trouble kind)
{
    free(queue->troubles[kind]);
    queue->troubles[kind] = NULL;
}

void queue_show_trouble(struct issue_queue *queue)
{
    const char *message = NULL;
    for (int i = QUEUE_TROUBLES; i-- > 0;) {
        message = queue->troubles[i] != NULL ? queue->troubles[i] : message;
    }
    bool is_same = message == NULL
                       ? queue->shown_trouble == NULL
                       : queue->shown_trouble != NULL && strcmp(message, queue->shown_trouble) == 0;
    if (is_same) {
        return;
    }
    struct work_trouble trouble = {.repository = queue->repository,
                                   .message = message,
                                   .since_ns = clock_now(queue->options.clock)};
    snprintf(trouble.owner, sizeof(trouble.owner), "%s", queue->options.owner);
    int r = message == NULL ? work_trouble_clear(queue->options.store, queue->repository, NULL)
                            : work_trouble_put(queue->options.store, &trouble, NULL);
    if (r == 0) { /* else it is tried at the next look */
        free(queue->shown_trouble);
        queue->shown_trouble = memory_dup_string(message);
    }
}

void queue_end_troubles(struct issue_queue *queue)
{
    for (int i = 0; i < QUEUE_TROUBLES; i++) {
        queue_untrouble(queue, (enum queue_trouble)i);
    }
    if (queue->shown_trouble != NULL) {
        queue_show_trouble(queue);
    }
    free(queue->shown_trouble);
    queue->shown_trouble = NULL;
}
