// SPDX-License-Identifier: Apache-2.0
/*
 * How an event is described to people: one sentence, a category to filter by, and a level. The
 * command line, the API, the page, warnings and subscriptions all show these. And the event as
 * programs get it, with these (the API, `rondo logs --json`). Pure; any thread.
 */
#pragma once

#include "journal/event.h"

enum event_category {
    EVENT_CATEGORY_RUN,
    EVENT_CATEGORY_POLICY,
    EVENT_CATEGORY_ITERATION,
    EVENT_CATEGORY_MODEL,
    EVENT_CATEGORY_TOOL,
    EVENT_CATEGORY_CONDITION,
    EVENT_CATEGORY_CHECKPOINT,
    EVENT_CATEGORY_WORK,
};

enum event_level {
    EVENT_LEVEL_INFO,    /**< as expected */
    EVENT_LEVEL_SUCCESS, /**< something was achieved */
    EVENT_LEVEL_NOTICE,  /**< somebody intervened */
    EVENT_LEVEL_FAILURE, /**< something failed or was denied, which the run copes with or ends by */
    EVENT_LEVEL_WARNING, /**< must not be overlooked */
};

/** "run", "policy", "iteration", "model", "tool", "condition", "checkpoint", "work". Static. */
const char *event_category_name(enum event_category category);
/** "info", "success", "notice", "failure", "warning". Static. */
const char *event_level_name(enum event_level level);

enum event_category event_category(enum journal_type type);
enum event_level event_level(const struct journal_event *event);

/**
 * Append what happened, as one line without control characters, line end or full stop. Words of
 * others are cleaned (text_clean) and cut.
 */
void event_sentence(const struct journal_event *event, struct buf *ret_text);

/** All three for an event as read. One of a newer version is of the run, "info", and named. */
struct event_description {
    enum event_category category;
    enum event_level level;
    struct buf text;
};
void event_describe(const struct journal_entry *entry, struct event_description *ret_description);

/**
 * Append {"run_id","seq","position","time","type","category","level","text","data"}. The data must
 * be JSON.
 */
void event_json_object(const struct journal_entry *entry, struct buf *ret_buf);

/** The same for an event as stored. */
void event_json_stored(const struct store_event *event, struct buf *ret_buf);

/** The same for an event that was read, and a line end. */
void event_json(const struct journal_entry *entry, struct buf *ret_buf);

/** Append why a condition is not met: "exit code 2", "timed out", ... */
void event_condition_reason(const struct event_condition_evaluated *event, struct buf *ret_text);

/** Messages that were dropped; old journals do not say it: at least those beyond the window. */
int64_t event_dropped_messages(const struct event_history_trimmed *event);

/** Append the reference page of all types, in Markdown. */
void event_write_reference(struct buf *ret_text);
