// SPDX-License-Identifier: Apache-2.0
/* Reviews of a pull request while they are read, for the kinds of forges. */
#pragma once

#include "forge/request.h"

/** What a reviewer thinks, as he said last. */
struct reviewer_verdict {
    char *reviewer;
    int64_t time_ns;
    bool wants_changes;
};

struct review_listing {
    struct forge *forge;
    int64_t number;
    int64_t after_ns;
    struct forge_comments comments;
    size_t text_bytes;
    struct reviewer_verdict *verdicts;
    size_t verdict_count;
};

/**
 * Take a comment if it is young enough and there is room.
 * @param time_key member with its time
 * @param path     file that it is about; NULL or "" = none. Comes before the text, with the line
 * @param line     0 = none
 * @return false when there is no room for another
 */
bool review_add_comment(struct review_listing *listing, struct json_object *json,
                        const char *time_key, const char *path, int64_t line);

/** Take what a reviewer thinks. @param account of the reviewer */
void review_add_verdict(struct review_listing *listing, struct json_object *account,
                        int64_t time_ns, bool wants_changes);

/** Takes entries with path, line and created_at as comments on lines: a forge_page_fn. */
bool review_take_line_comments(void *context, struct json_object *entries);

/** Whether a reviewer has said something since after_ns. */
bool review_has_said(const struct review_listing *listing, const char *login);
