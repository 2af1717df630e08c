// SPDX-License-Identifier: Apache-2.0
/*
 * Prompts from templates: text in which {payload}, {path}, {body.issue.title} are replaced by what
 * an event brought. What came from outside is inserted as marked data,
 *
 *     <data-6f1c...>text</data-6f1c...>
 *
 * and a first line tells the model to take it for data. The digits are a digest of what is
 * inserted, so no text can contain its own closing mark. Inserted text is not looked at again, so
 * it cannot ask for another value. A brace that begins no known placeholder stays as it is.
 *
 * Pure but for memory; any thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>

/** Values that template_key takes at most. */
#define TEMPLATE_KEY_VALUES 4

/** A value that a template may name. Borrowed. */
struct template_value {
    const char *name; /**< NULL ends a list */
    const char *text;
    size_t len;
    bool is_json;        /**< {name.a.0.b} picks from it; {name} alone is all of it */
    bool is_line;        /**< a name or a path: control characters, also line ends, become \xHH */
    bool is_instruction; /**< from a user who may instruct the agent: inserted without marks */
};

/**
 * Make a prompt.
 * @param values what may be named; ends without a name
 * @param ret_prompt UTF-8 without control characters but line feeds and tabs
 * @return RONDO_ERR_LIMIT: the template is longer than LIMIT_TEMPLATE_BYTES, the prompt than
 *         LIMIT_TEMPLATE_PROMPT_BYTES; RONDO_ERR_INVALID: a value that is picked from is not JSON
 */
int template_fill(const char *template, const struct template_value *values, struct buf *ret_prompt,
                  struct rondo_error *err);

/**
 * Make a key: the same placeholders, but what is inserted is not marked, and is one line.
 * @return RONDO_ERR_LIMIT: it is longer than LIMIT_START_KEY_BYTES, or as template_fill
 */
int template_key(const char *template, const struct template_value *values, struct buf *ret_key,
                 struct rondo_error *err);

/**
 * The beginning of a prompt as lists show it to people: without the notice and the marks.
 * @param prompt from template_fill, or any other
 * @param max bytes at most; a character is kept whole or left out
 */
void template_show(const char *prompt, size_t max, struct buf *out);
