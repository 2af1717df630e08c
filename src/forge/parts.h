// SPDX-License-Identifier: Apache-2.0
/* What the kinds of forges, and the calls of forge.h, share beside requests and shapes. */
#pragma once

#include "forge/request.h"

#include "base/json/json.h"

/** FORGE_CONFLICT for a name that cannot be part of an address, else FORGE_OK. */
enum forge_end parts_check_name(struct forge *forge, const char *name);

/**
 * The id of a label, where labels have ids: reads a list of labels.
 * @param where path of what has the labels: forge->root, or that of an issue
 * @param ret_id 0 = there is none
 */
enum forge_end parts_find_label(struct forge *forge, const char *where, const char *name,
                                int64_t *ret_id);

/** {key: [value]} */
void parts_write_list(const char *key, const char *value, struct buf *ret_body);
/** {key: value} */
void parts_write_text(const char *key, const char *value, struct buf *ret_body);
/** {name, color: "#...", description} @param prefix of the color */
void parts_write_label(const char *name, const char *color, const char *prefix,
                       const char *description, struct buf *ret_body);

/** Labels of a query, with commas between them, escaped. Nothing when there are none. */
void parts_write_labels(const char *const *labels, struct buf *ret_query);

/** Send a label of the repository; one that is there already is fine. */
enum forge_end parts_create_label(struct forge *forge, const struct buf *body);

/** The path of a repository that has owner and name as segments. */
void parts_write_root(const struct forge_place *place, struct buf *ret_path);
/** The path of a comment that has an id of its own in the repository. */
void parts_write_comment_path(int64_t number, int64_t id, struct buf *ret_path);
