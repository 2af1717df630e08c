// SPDX-License-Identifier: Apache-2.0
/*
 * `security.content` of a role: what a prompt may be, and what may leave in a reply. A prompt is
 * checked before the model sees it, a reply before it is recorded, so that nothing downstream (the
 * journal, pages, sinks, the next request) has what was filtered. A pattern that cannot be decided
 * blocks.
 *
 * Not filtered: arguments of calls other than finish_task, and results of tools. Pure; one thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct model_reply;
struct role;
struct rondo_error;
struct content_filter;

/** Called for each text that was refused or changed, with fields of `content.filtered`. */
typedef void content_report_fn(void *context, const char *subject, const char *action,
                               const char *message);

/**
 * Read the filter of a role that still has its normal form.
 * @param ret_filter content_free()
 * @return RONDO_ERR_INVALID when a pattern of an older version cannot be compiled
 */
int content_open(const struct role *role, struct content_filter **ret_filter,
                 struct rondo_error *err);
/** NULL is allowed. */
void content_free(struct content_filter *filter);

/** Whether matches in replies are looked for: then a reply must not be shown while it comes. */
bool content_has_patterns(const struct content_filter *filter);

/** Whether a prompt may be sent. @param ret_why otherwise: the reason; appended */
bool content_accepts(const struct content_filter *filter, const char *prompt, struct buf *ret_why);

/**
 * Filter the words, the reasoning and the summary of finish_task in a reply. Its native form, which
 * has them too, is dropped when one changes.
 * What is blocked is empty in it, and reported as an answer or a summary only where it is one.
 */
void content_filter_reply(const struct content_filter *filter, struct model_reply *reply,
                          content_report_fn *report, void *context);
