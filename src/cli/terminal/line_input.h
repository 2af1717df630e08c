// SPDX-License-Identifier: Apache-2.0
/*
 * Asking a person: lines of a conversation, and yes or no. The terminal stays in its usual mode, so
 * its own editing keys work and nothing has to be restored. Waiting ends when a cancel token is
 * set. One thread.
 */
#pragma once

#include "base/buf.h"
#include "base/cancel.h"
#include "cli/terminal/style.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Tools that are remembered as allowed for the rest of a run. */
#define LINE_INPUT_ALLOWED 256

enum line_result {
    LINE_WORDS = 0, /**< there are words, perhaps of several lines */
    LINE_END,       /**< nothing will come any more */
    LINE_CANCELLED, /**< the token was set while waiting */
    LINE_LATE,      /**< no line came in time */
    LINE_TOO_LONG,  /**< more than LIMIT_PROMPT_BYTES; skipped up to its end */
};

enum line_consent {
    LINE_NOBODY = 0, /**< no terminal, or it was closed: nobody can be asked */
    LINE_YES,
    LINE_NO,
};

struct line_input {
    int fd;           /**< to read from; not owned */
    FILE *stream;     /**< for prompts; not owned */
    bool is_terminal; /**< a person types */
    struct style style;
    struct buf waiting; /**< read, but not taken */
    bool is_over;
    char *allowed[LINE_INPUT_ALLOWED]; /**< owned */
    size_t allowed_count;
};

/**
 * @param fd     usually STDIN_FILENO
 * @param stream usually stderr: prompts are no results
 */
void line_input_init(struct line_input *input, int fd, FILE *stream, bool no_colour);
void line_input_fini(struct line_input *input);

/** Whether there is a person to be asked: both sides are a terminal. */
bool line_input_can_ask(const struct line_input *input);

/**
 * Read what a person says next. What is pasted at once belongs together, and a line that ends in
 * a backslash continues; without a terminal each line is separate. Lines without words are
 * skipped.
 * @param prompt shown on a terminal only
 * @param cancel may be NULL
 * @param ret_words without the last line end
 */
enum line_result line_input_read(struct line_input *input, const char *prompt,
                                 struct cancel *cancel, struct buf *ret_words);

/**
 * Read one line of a form, which may be empty. What was typed before does not count.
 * @param ret_words without the line end
 */
enum line_result line_input_field(struct line_input *input, const char *prompt,
                                  struct cancel *cancel, struct buf *ret_words);

/**
 * Read one line that answers a question, for a time. What was typed before does not count.
 * @param timeout_ns from now
 * @param ret_words without the line end; may be empty
 */
enum line_result line_input_answer(struct line_input *input, const char *prompt,
                                   struct cancel *cancel, int64_t timeout_ns,
                                   struct buf *ret_words);

/** The call to allow. Texts are borrowed and may hold anything. */
struct line_question {
    const char *tool;
    const char *arguments; /**< JSON */
    const char *why;       /**< in words, or NULL */
    unsigned generation;   /**< "always" counts for the tool as it is now */
    bool is_once;          /**< no answer for the rest of the run: each call must be confirmed */
};

/**
 * Ask whether a call may be made: y, n (also by itself), or a for this tool from now on. Arguments
 * above LIMIT_QUESTION_BYTES must be looked at page by page (v) before they can be allowed. What
 * was typed before the question does not count.
 */
enum line_consent line_input_confirm(struct line_input *input, const struct line_question *question,
                                     struct cancel *cancel);

/** Append the question, "Allow tool shell: {"command": ...}? [y/N/a] ": one line, all that could
 * mislead the reader written out. */
void line_input_question(const struct line_question *question, const struct style *style,
                         struct buf *ret_buf);

/** Ask a question that a yes or no answers; anything but y is a no. */
enum line_consent line_input_ask(struct line_input *input, const char *question,
                                 struct cancel *cancel);

/** Append a text so that a person sees all of it: what is hidden or controls is written out. */
void line_input_append_shown(const char *text, struct buf *ret_buf);
