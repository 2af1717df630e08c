// SPDX-License-Identifier: Apache-2.0
/* Values of a prd.json as texts and lists in an arena, complaining of what they cannot be. Internal
 * to src/prd. One thread. */
#pragma once

#include "prd/document.h"

/** What reading works with. */
struct prd_reading {
    struct prd_document *document;
    struct arena *arena;
    struct prd_findings *findings;
};

/** Add a finding at a node. */
void prd_complain(const struct prd_reading *reading, bool is_error, const char *rule,
                  const struct json_node *node, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/** A text: a string, or a number as it is spelt; NULL for null, nothing and anything else, of which
 * the last gives a warning. NUL bytes in it end it. */
const char *prd_text_of(const struct prd_reading *reading, const struct json_node *node);

/** An id, or NULL. */
const char *prd_id_of(const struct prd_reading *reading, const struct json_node *node);

/** Ids of an array, of one value, or of a text with commas. @return how many */
size_t prd_ids_of(const struct prd_reading *reading, const struct json_node *node,
                  const char *const **ret_ids);

/** Texts of an array of strings. @return how many */
size_t prd_texts_of(const struct prd_reading *reading, const struct json_node *node,
                    const char *const **ret_texts);

/** A priority: a number, P0 to P9, or a word. @return PRD_NO_PRIORITY for nothing and anything else
 */
int32_t prd_priority_of(const struct prd_reading *reading, const struct json_node *node);
