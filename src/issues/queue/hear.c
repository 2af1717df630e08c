// SPDX-License-Identifier: Apache-2.0
/*
 * What people ask for in comments: "/rondo retry", "/rondo release". Comments are read only when an
 * issue has changed since they were read last, and only the words of those who may start work
 * count.
 */
#include "issues/queue/internal.h"

#include "base/memory.h"

#include <string.h>
#include <strings.h>

/** What was heard of an issue. The oldest of many are forgotten. */
static struct queue_heard *find_heard(struct issue_queue *queue, int64_t number)
{
    for (size_t i = 0; i < queue->heard_count; i++) {
        if (queue->heard[i].number == number) {
            return &queue->heard[i];
        }
    }
    bool is_full = queue->heard_count == QUEUE_HEARD;
    if (!is_full && queue->heard_count == queue->heard_room) {
        queue->heard_room = queue->heard_room == 0 ? 16 : 2 * queue->heard_room;
        queue->heard = memory_resize(queue->heard, queue->heard_room, sizeof(*queue->heard));
    }
    struct queue_heard *heard =
        &queue->heard[is_full ? queue->heard_next++ % QUEUE_HEARD : queue->heard_count++];
    *heard = (struct queue_heard){.number = number};
    return heard;
}

/** Whether the issue has changed since this was asked last. */
static bool is_news(struct queue_heard *heard, const struct forge_issue *issue)
{
    /* Forges tell times in seconds: a second comment may come within one. */
    bool is_new = heard->updated_ns != issue->updated_ns || heard->comments != issue->comments;
    heard->updated_ns = issue->updated_ns;
    heard->comments = issue->comments;
    return is_new && issue->comments > 0;
}

bool queue_is_by_us(const struct issue_queue *queue, const struct forge_comment *comment)
{
    return queue->facts.login != NULL && comment->author != NULL &&
           strcasecmp(queue->facts.login, comment->author) == 0;
}

/** When the status comment was changed last; 0 = there is none. */
static int64_t find_told(const struct issue_queue *queue, int64_t number,
                         const struct forge_comments *comments)
{
    int64_t told_ns = 0;
    for (size_t i = 0; i < comments->count; i++) {
        const struct forge_comment *comment = &comments->items[i];
        if (queue_is_by_us(queue, comment) && item_comment_is_ours(comment->body, number) &&
            comment->updated_ns > told_ns) {
            told_ns = comment->updated_ns;
        }
    }
    return told_ns;
}

enum item_command queue_hear(struct issue_queue *queue, const struct forge_issue *issue,
                             bool skips_old, int64_t *read_comment_id)
{
    struct forge_comments comments = {0};
    enum item_command command = ITEM_NO_COMMAND;
    struct queue_heard *heard = find_heard(queue, issue->number);
    if (!is_news(heard, issue)) {
        return command;
    }
    enum forge_end end =
        forge_list_comments(queue->forge, issue->number, *read_comment_id, &comments);
    if (!queue_forge_ended(queue, end)) {
        heard->updated_ns = -1; /* Read them at the next look. */
    }
    int64_t told_ns = skips_old ? find_told(queue, issue->number, &comments) : 0;
    for (size_t i = 0; i < comments.count; i++) {
        const struct forge_comment *comment = &comments.items[i];
        enum item_command found = item_find_command(comment->body);
        /* A person may use the login that the queue has; the status comment is no person's. */
        if (found != ITEM_NO_COMMAND && !item_comment_is_ours(comment->body, issue->number) &&
            comment->created_ns >= told_ns &&
            comment->author_trust >= queue->options.filter.least_trust) {
            command = found;
        }
        *read_comment_id = comment->id > *read_comment_id ? comment->id : *read_comment_id;
    }
    heard->last_id = *read_comment_id > heard->last_id ? *read_comment_id : heard->last_id;
    heard->wants_retry =
        command == ITEM_NO_COMMAND ? heard->wants_retry : command == ITEM_COMMAND_RETRY;
    forge_comments_fini(&comments);
    return command;
}

bool queue_hear_retry(struct issue_queue *queue, const struct forge_issue *issue, bool skips_old,
                      int64_t *read_comment_id)
{
    queue_hear(queue, issue, skips_old, read_comment_id);
    return find_heard(queue, issue->number)->wants_retry;
}

void queue_forget_heard(struct issue_queue *queue, int64_t number)
{
    find_heard(queue, number)->wants_retry = false;
}

void queue_skip_heard(struct issue_queue *queue, const struct forge_issue *issue,
                      int64_t *read_comment_id)
{
    queue_hear(queue, issue, false, read_comment_id);
    queue_forget_heard(queue, issue->number);
    int64_t last_id = find_heard(queue, issue->number)->last_id;
    *read_comment_id = last_id > *read_comment_id ? last_id : *read_comment_id;
}
