// SPDX-License-Identifier: Apache-2.0
/*
 * The text of a prd.json with its places: where the list of tasks is, which dialect it is in, where
 * each value begins and ends. Reading makes the normal form from it, editing changes the text at
 * these places. Internal to src/prd. One thread.
 */
#pragma once

#include "base/json/reader.h"
#include "prd/findings.h"
#include "prd/prd.h"

/** Which members the tasks of a file have anywhere: what an edit may write into all of them. */
struct prd_members {
    bool has_status;
    bool has_passes;
    bool has_attempts;
    bool has_notes;
    bool has_commit;
    bool has_links; /**< dependsOn or labels */
    bool has_criteria;
};

struct prd_document {
    const char *text; /**< after the byte order mark; borrowed */
    size_t len;
    size_t mark_len; /**< bytes of the byte order mark: 0 or 3 */
    struct json_reader reader;
    const struct json_node *root;
    const struct json_node *holder; /**< object with the list; NULL when the list is the root */
    const struct json_node *list;   /**< array of tasks */
    const char *list_name;          /**< static; NULL when the list is the root */
    const char *tag;                /**< of task-master, in the reader's memory; or NULL */
    enum prd_dialect dialect;
    struct prd_members members;
    uint32_t *lines; /**< where each line begins; owned */
    size_t line_count;
    uint32_t *characters; /**< before each block of PRD_PLACE_BYTES; owned */
    uint64_t counted;     /**< bytes that were looked at to find places; for figures */
};

/** A file may be one line: its characters are counted once, and then within a block. */
#define PRD_PLACE_BYTES 256

/**
 * Parse a text and find the list of tasks in it.
 * @param text must outlive the document
 * @param tag  which list of a file of task-master; NULL = `master`, or the only one
 * @param findings may be NULL
 * @return 0; RONDO_ERR_INVALID with line, column and byte; RONDO_ERR_LIMIT. On failure there is
 *         nothing to close.
 */
int prd_document_open(const char *text, size_t len, const char *tag,
                      struct prd_document *ret_document, struct prd_findings *findings,
                      struct rondo_error *err);
void prd_document_close(struct prd_document *document);

/** Line and column of an offset in the document's text. Costs as much at any place. */
void prd_document_place(struct prd_document *document, size_t at, uint32_t *ret_line,
                        uint32_t *ret_column);

/** Offset after a value. */
size_t prd_document_end(const struct prd_document *document, const struct json_node *node);

/** The first of several members that an object has; null counts as absent. */
const struct json_node *prd_member_of(const struct json_node *object, const char *const *names);

/** Task of an id, or NULL. */
const struct json_node *prd_document_task(const struct prd_document *document, const char *id);

/** What a task of the file says of its state. */
struct prd_state {
    enum prd_status status;
    bool is_disputed;     /**< says both */
    bool is_word_unknown; /**< has a status that no dialect knows; counts as pending */
};
struct prd_state prd_state_of(const struct json_node *task);

/** Whether a node is a string with this text. */
bool prd_node_is(const struct json_node *node, const char *text);

/**
 * The id that a node says: a string without blanks around it, or a number as it is spelt.
 * @param ret_id points into the document; not terminated
 * @return its bytes; 0 = it says none
 */
size_t prd_node_id(const struct prd_document *document, const struct json_node *node,
                   const char **ret_id);
