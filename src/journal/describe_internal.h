// SPDX-License-Identifier: Apache-2.0
/* What describe.c, describe_agent.c and describe_worker.c share: a function for each type of event.
 * Pure. */
#pragma once

#include "journal/describe.h"

/* void describe_run_created(const struct event_run_created *event, struct buf *out); and so on. */
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) \
    void describe_##id(const struct event_##id *event, struct buf *out);
#include "journal/events.def"

/* Levels of the types that have BY_CONTENT. */
enum event_level level_iteration_finished(const struct event_iteration_finished *event);
enum event_level level_model_replied(const struct event_model_replied *event);
enum event_level level_history_compacted(const struct event_history_compacted *event);
enum event_level level_content_filtered(const struct event_content_filtered *event);
enum event_level level_tool_finished(const struct event_tool_finished *event);
enum event_level level_worker_tool(const struct event_worker_tool *event);
enum event_level level_worker_finished(const struct event_worker_finished *event);
enum event_level level_delegation_finished(const struct event_delegation_finished *event);
enum event_level level_handoff_decided(const struct event_handoff_decided *event);
enum event_level level_condition_evaluated(const struct event_condition_evaluated *event);
enum event_level level_verification_finished(const struct event_verification_finished *event);
enum event_level level_consolidation_finished(const struct event_consolidation_finished *event);
enum event_level level_tasks_read(const struct event_tasks_read *event);
enum event_level level_task_checked(const struct event_task_checked *event);
enum event_level level_task_ended(const struct event_task_ended *event);
enum event_level level_work_pushed(const struct event_work_pushed *event);
enum event_level level_run_finished(const struct event_run_finished *event);

/** Characters of explanations and summaries, and of names, arguments and replies, that are kept. */
#define DESCRIBE_MESSAGE 500
#define DESCRIBE_NAME    100

/** Append words of others, cleaned and cut, after `before`; nothing when there are none. */
void describe_add(const char *before, const char *words, size_t most, struct buf *out);
void describe_add_message(const char *before, const char *words, struct buf *out);
void describe_add_name(const char *before, const char *words, struct buf *out);
/** The same of a name that the sentence needs: `otherwise` when nothing of it is left. */
void describe_add_subject(const char *before, const char *name, const char *otherwise,
                          struct buf *out);
/** Append " in 1.2 s". */
void describe_add_duration(int64_t duration_ns, struct buf *out);

/** Whether `text`, which may be NULL, is that word. */
bool describe_is(const char *text, const char *word);
