// SPDX-License-Identifier: Apache-2.0
/*
 * What a coding agent's command line writes while it works, read as events. Every format is a
 * sequence of lines; a line is JSON, or text for programs that have no other form. What is read is
 * hostile: a line, a text and a list have limits, a line that is not understood is counted and
 * passed over, and nothing here decides what the run does (worker/coding/result.h does).
 *
 * One thread.
 */
#pragma once

#include "worker/coding/said.h"

/** "claude", "codex", ... Static. */
const char *coding_format_name(enum coding_format format);

/** @return whether `name` is one; only then `*ret_format` is set. */
bool coding_format_from_name(const char *name, enum coding_format *ret_format);

struct coding_stream;

/**
 * @param fn called for each event, from coding_stream_take() and coding_stream_end()
 * @return never NULL; coding_stream_free()
 */
struct coding_stream *coding_stream_new(enum coding_format format, coding_event_fn *fn,
                                        void *context);
void coding_stream_free(struct coding_stream *stream);

/** Take in more of the output. */
void coding_stream_take(struct coding_stream *stream, const char *bytes, size_t len);

/** The output has ended: the last line may have no end. */
void coding_stream_end(struct coding_stream *stream);

/** Borrowed from the stream. */
const struct coding_said *coding_stream_said(const struct coding_stream *stream);
