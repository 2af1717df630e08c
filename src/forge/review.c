// SPDX-License-Identifier: Apache-2.0
/* Reviews and checks of pull requests. */
#include "forge/review.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "forge/check.h"
#include "forge/parts.h"
#include "forge/people.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Reviews --------------------------------------------------------------------------------- */

/** "PATH:LINE: TEXT". Owned. */
static char *place_text(const char *path, int64_t line, const char *text)
{
    struct buf placed = {0};
    text_clean(path, strnlen(path, LIMIT_FORGE_URL_BYTES), &placed);
    if (line > 0) {
        buf_printf(&placed, ":%" PRId64, line);
    }
    buf_printf(&placed, ": %s", text);
    return buf_steal(&placed);
}

bool review_add_comment(struct review_listing *listing, struct json_object *json,
                        const char *time_key, const char *path, int64_t line)
{
    struct forge_comments *comments = &listing->comments;
    struct forge_comment comment;
    int64_t time_ns = shape_time(json, time_key);
    if (time_ns <= listing->after_ns ||
        !shape_comment(&listing->forge->ops->names, json, time_key, &comment)) {
        return true;
    }
    comment.created_ns = time_ns;
    if (path != NULL && path[0] != '\0') {
        char *text = place_text(path, line, comment.body);
        free(comment.body);
        comment.body = text;
    }
    listing->text_bytes += strlen(comment.body);
    if (comments->count == LIMIT_FORGE_COMMENTS || listing->text_bytes > LIMIT_FORGE_LIST_BYTES) {
        shape_comment_fini(&comment);
        return false;
    }
    comments->items = memory_resize(comments->items, comments->count + 1, sizeof(*comments->items));
    comments->items[comments->count++] = comment;
    return true;
}

bool review_take_line_comments(void *context, struct json_object *entries)
{
    struct review_listing *listing = context;
    bool has_room = true;
    for (size_t i = 0; i < json_length(entries) && has_room; i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        int64_t line = json_get_int(entry, "line", json_get_int(entry, "position", 0));
        has_room = review_add_comment(listing, entry, "created_at",
                                      json_get_string(entry, "path", ""), line);
    }
    return has_room;
}

void review_add_verdict(struct review_listing *listing, struct json_object *account,
                        int64_t time_ns, bool wants_changes)
{
    char *reviewer = shape_name(account, listing->forge->ops->names.login);
    struct reviewer_verdict *verdict = NULL;
    for (size_t i = 0; i < listing->verdict_count && verdict == NULL; i++) {
        if (strcasecmp(listing->verdicts[i].reviewer, reviewer) == 0) {
            verdict = &listing->verdicts[i];
        }
    }
    if (verdict == NULL && listing->verdict_count < LIMIT_FORGE_NAMES) {
        listing->verdicts = memory_resize(listing->verdicts, listing->verdict_count + 1,
                                          sizeof(*listing->verdicts));
        verdict = &listing->verdicts[listing->verdict_count++];
        *verdict = (struct reviewer_verdict){.reviewer = memory_dup_string(reviewer)};
    }
    if (verdict != NULL && time_ns >= verdict->time_ns) {
        verdict->time_ns = time_ns;
        verdict->wants_changes = wants_changes;
    }
    free(reviewer);
}

bool review_has_said(const struct review_listing *listing, const char *login)
{
    for (size_t i = 0; i < listing->comments.count; i++) {
        if (strcasecmp(listing->comments.items[i].author, login) == 0) {
            return true;
        }
    }
    return false;
}

/** Whether somebody who may write wants changes since then: a stranger's review is a comment. */
static enum forge_end find_wish(struct review_listing *listing, bool *ret_wants_changes)
{
    bool wants = false;
    for (size_t i = 0; i < listing->verdict_count && !wants; i++) {
        const struct reviewer_verdict *verdict = &listing->verdicts[i];
        enum forge_trust trust = FORGE_STRANGER;
        if (!verdict->wants_changes || verdict->time_ns <= listing->after_ns) {
            continue;
        }
        enum forge_end end = forge_read_trust(listing->forge, verdict->reviewer, &trust);
        if (end != FORGE_OK && end != FORGE_FORBIDDEN && end != FORGE_CONFLICT) {
            return end;
        }
        wants = end == FORGE_OK && trust == FORGE_MEMBER;
    }
    *ret_wants_changes = wants;
    return forge_end_with(listing->forge, FORGE_OK, "%s", "");
}

static int compare_time(const void *a, const void *b)
{
    const struct forge_comment *left = a;
    const struct forge_comment *right = b;
    return left->created_ns < right->created_ns ? -1 : left->created_ns > right->created_ns;
}

enum forge_end forge_read_reviews(struct forge *forge, int64_t number, int64_t after_ns,
                                  struct forge_comments *ret_comments, bool *ret_wants_changes)
{
    struct review_listing listing = {.forge = forge, .number = number, .after_ns = after_ns};
    enum forge_end end = forge->ops->read_reviews(&listing);
    if (end == FORGE_OK) {
        end = people_fill_comments(forge, &listing.comments);
    }
    if (end == FORGE_OK) {
        end = find_wish(&listing, ret_wants_changes);
    }
    if (end == FORGE_OK && listing.comments.count > 0) {
        qsort(listing.comments.items, listing.comments.count, sizeof(*listing.comments.items),
              compare_time);
    }
    for (size_t i = 0; i < listing.verdict_count; i++) {
        free(listing.verdicts[i].reviewer);
    }
    free(listing.verdicts);
    if (end == FORGE_OK) {
        *ret_comments = listing.comments;
    } else {
        forge_comments_fini(&listing.comments);
    }
    return end;
}
