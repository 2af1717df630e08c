// SPDX-License-Identifier: Apache-2.0
/*
 * A queue of one repository from its options: worker, checks, filters and limits, and its runs on
 * an orchestrator.
 */
#pragma once

#include "cli/commands/work/site.h"
#include "issues/queue/queue.h"
#include "loop/runtime.h"

struct orchestrator;
struct work_hint;
struct work_queue;

/** What queues of a process share. Borrowed until the last queue is closed. */
struct work_queue_parts {
    struct runtime *runtime; /**< NULL for a preview, as the next one */
    struct orchestrator *orchestrator;
    struct http_client *http;
    struct forge_paces *paces; /**< of all queues of the process; NULL = there is no other */
    bool is_patient;           /**< what a person has to mend is waited for */
    void (*log)(void *context, const char *line);   /**< any thread */
    void (*event)(void *context, const char *json); /**< one JSON object; or NULL */
    void (*ended)(void *context); /**< a queue ends by itself; it may only wake a thread; or NULL */
    void (*parked)(void *context); /**< as in struct issue_queue_options */
    void *context;
};

/**
 * Make the templates of its runs and start the queue. It begins at once.
 * @param values, set stay the caller's until the queue is closed
 * @param site open; taken over when 0 is returned
 */
int work_queue_open(struct queue_values *values, struct option_set *set,
                    const struct work_queue_parts *parts, struct work_site *site,
                    struct work_queue **ret_queue, struct rondo_error *err);
/** Look now. Any thread; quick. */
void work_queue_wake(struct work_queue *queue);
/** issue_queue_tend(). */
int64_t work_queue_tend(struct work_queue *queue);
/** A webhook came: poll now, if it was made with the queue's secret, which the hint borrows.
 *  @return whether it was */
bool work_queue_hint(struct work_queue *queue, struct work_hint *hint);
/** Whether it has ended by itself, and how. */
bool work_queue_is_over(struct work_queue *queue, struct issue_queue_end *ret_end);
/** "HOST/OWNER/NAME". */
const char *work_queue_name(const struct work_queue *queue);
/** End its thread. Its runs go on as the orchestrator decides. NULL is allowed. */
void work_queue_close(struct work_queue *queue);

/** What `--dry-run` shows: a text for people, or a JSON object. Writes nothing. */
int work_queue_preview(struct queue_values *values, struct option_set *set,
                       const struct work_queue_parts *parts, struct work_site *site,
                       struct buf *ret_text, struct rondo_error *err);

/** "claude", "builder.yaml", "./agent.sh": who works, for people. Borrowed. */
const char *queue_agent_name(const struct queue_values *values);
