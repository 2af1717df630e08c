// SPDX-License-Identifier: Apache-2.0
/*
 * From the JSON of a forge to the structs of forge.h. Every text is bounded (base/limits.h): names
 * and titles are one line without hidden characters, bodies are cut at a character. Pure.
 */
#pragma once

#include "forge/kind.h"

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/**
 * Parse an answer: JSON with at most LIMIT_FORGE_VALUES values, of which each takes a hundred times
 * the memory that it takes in the text.
 * @param ret_json json_object_put()
 */
bool shape_parse(const char *text, size_t len, struct json_object **ret_json);

/** A text, cut to so many bytes at a character; "" for what is no text. Owned. */
char *shape_text(struct json_object *object, const char *key, size_t max_bytes);
/** The same as one clean line. */
char *shape_line(struct json_object *object, const char *key, size_t max_bytes);
/** A name of an account: a line of at most LIMIT_FORGE_NAME_BYTES; "" for a longer one, which would
 *  be another name when it is cut. Owned. */
char *shape_name(struct json_object *object, const char *key);
/** An address of a page; "" for what is none of http or https. Owned. */
char *shape_url(struct json_object *object, const char *key);

/** A time in RFC 3339, with any offset. @return whether it is one, from 1970 to 2261 */
bool shape_read_time(const char *text, int64_t *ret_ns);
/** A time that is a member; 0 when it is none. */
int64_t shape_time(struct json_object *object, const char *key);

/** What the association of an author (GitHub) means. */
enum forge_trust shape_association(const char *association);

/** @param ret_issue forge_issue_fini() @return false, with nothing to free, for what is no issue */
bool shape_issue(const struct forge_names *names, struct json_object *json,
                 struct forge_issue *ret_issue);
/** @param time_key member with its time @param ret_comment shape_comment_fini() @return likewise */
bool shape_comment(const struct forge_names *names, struct json_object *json, const char *time_key,
                   struct forge_comment *ret_comment);
void shape_comment_fini(struct forge_comment *comment);

/** @param ret_pull forge_pull_fini() @return likewise */
bool shape_pull(const struct forge_names *names, struct json_object *json,
                struct forge_pull *ret_pull);
/** Whether the branch of a pull request is of the same repository, not of a fork. */
bool shape_pull_is_inside(const struct forge_names *names, struct json_object *json);
/** Whether it is of the repository with that full name, where branches come with their repository.
 *  Forges compare names without case. */
bool shape_pull_is_of(const struct forge_names *names, struct json_object *json,
                      const char *full_name);

/** Whether a name is among the labels of an issue; forges compare them without case. */
bool shape_has_label(const struct forge_issue *issue, const char *label);
/** Whether an account is among those assigned. */
bool shape_has_assignee(const struct forge_issue *issue, const char *login);
