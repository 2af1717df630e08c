// SPDX-License-Identifier: Apache-2.0
/* The queue of output lines: one lock, held for copies only. */
#include "cli/progress/output_queue.h"

#include "base/memory.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/** Bytes of one line that are shown. */
#define LINE_BYTES 1024
/** Lines that wait at most. */
#define LINES_MAX 1000

struct output_line {
    uint64_t iteration;
    struct output_line *prev, *next;
    size_t len;
    char bytes[]; /* not a string */
};

struct output_queue {
    pthread_mutex_t lock; /* guards all */
    struct output_line *lines;
    size_t count;
    uint64_t left_out;
    uint64_t iteration;
    char current[LINE_BYTES]; /* the line that is being written */
    size_t current_len;
    char last[LINE_BYTES];
    size_t last_len;
};

struct output_queue *output_queue_new(void)
{
    struct output_queue *queue = memory_new_zero(1, sizeof(*queue));
    pthread_mutex_init(&queue->lock, NULL);
    return queue;
}

void output_queue_free(struct output_queue *queue)
{
    struct output_line *line, *next;
    DL_FOREACH_SAFE(queue->lines, line, next)
    {
        DL_DELETE(queue->lines, line);
        free(line);
    }
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/** Called with the lock held. */
static void end_line(struct output_queue *queue)
{
    if (queue->current_len == 0) {
        return;
    }
    memcpy(queue->last, queue->current, queue->current_len);
    queue->last_len = queue->current_len;
    if (queue->count == LINES_MAX) {
        queue->left_out++;
    } else {
        struct output_line *line = memory_new(sizeof(*line) + queue->current_len);
        line->iteration = queue->iteration;
        line->len = queue->current_len;
        memcpy(line->bytes, queue->current, queue->current_len);
        DL_APPEND(queue->lines, line);
        queue->count++;
    }
    queue->current_len = 0;
}

void output_queue_begin(struct output_queue *queue, uint64_t iteration)
{
    pthread_mutex_lock(&queue->lock);
    end_line(queue);
    queue->iteration = iteration;
    queue->last_len = 0;
    pthread_mutex_unlock(&queue->lock);
}

void output_queue_add(struct output_queue *queue, const char *bytes, size_t len)
{
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r') {
            end_line(queue);
        } else if (queue->current_len < LINE_BYTES) {
            queue->current[queue->current_len++] = bytes[i];
        }
    }
    pthread_mutex_unlock(&queue->lock);
}

void output_queue_take(struct output_queue *queue, uint64_t iteration, struct buf *ret_buf)
{
    pthread_mutex_lock(&queue->lock);
    if (iteration >= queue->iteration) {
        end_line(queue); /* A prompt or a dot without line end is worth seeing, too. */
    }
    while (queue->lines != NULL && queue->lines->iteration <= iteration) {
        struct output_line *line = queue->lines;
        buf_append_string(ret_buf, "    ");
        text_clean(line->bytes, line->len, ret_buf);
        buf_append_string(ret_buf, "\n");
        DL_DELETE(queue->lines, line);
        queue->count--;
        free(line);
    }
    if (queue->left_out > 0 && queue->lines == NULL) {
        buf_printf(ret_buf, "    (%" PRIu64 " more lines)\n", queue->left_out);
        queue->left_out = 0;
    }
    pthread_mutex_unlock(&queue->lock);
}

size_t output_queue_last(struct output_queue *queue, char *ret_line, size_t size)
{
    pthread_mutex_lock(&queue->lock);
    bool is_whole = queue->current_len == 0;
    size_t len = is_whole ? queue->last_len : queue->current_len;
    len = len < size ? len : size;
    memcpy(ret_line, is_whole ? queue->last : queue->current, len);
    pthread_mutex_unlock(&queue->lock);
    return len;
}
