// SPDX-License-Identifier: Apache-2.0
/* "<!-- rondo:claim {...} -->" after the mark of a status comment. */
#include "issues/claim_comment.h"

#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "issues/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Begins the second line of a comment with a claim; its JSON and LINE_END follow. */
#define LINE     "<!-- rondo:claim "
#define LINE_END " -->"

void claim_comment_write(const char *status, const struct claim *claim, struct buf *ret_text)
{
    size_t mark_len = strcspn(status, "\n");
    buf_append(ret_text, status, mark_len);
    buf_append_string(ret_text, "\n" LINE);
    claim_encode(claim, ret_text);
    buf_append_string(ret_text, LINE_END);
    buf_append_string(ret_text, status + mark_len);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** Only in the second line: what somebody quotes further down is no claim. */
static bool read_claim(int64_t number, const char *body, struct claim *ret_claim)
{
    const char *line = body + strcspn(body, "\n");
    line += line[0] == '\n';
    size_t len = strcspn(line, "\r\n");
    size_t around = sizeof(LINE) - 1 + sizeof(LINE_END) - 1;
    if (len <= around || len > LIMIT_CLAIM_BYTES + around ||
        strncmp(line, LINE, sizeof(LINE) - 1) != 0 ||
        strncmp(line + len - (sizeof(LINE_END) - 1), LINE_END, sizeof(LINE_END) - 1) != 0) {
        return false;
    }
    auto_free char *json = memory_dup_bytes(line + sizeof(LINE) - 1, len - around);
    return claim_decode(number, json, ret_claim, NULL) == 0;
}

static int compare_id(const void *key, const void *element)
{
    int64_t id = *(const int64_t *)key;
    const struct claim_comment *comment = element;
    return id < comment->id ? -1 : id > comment->id;
}

static bool is_by(const struct claim_comment *comment, const char *login)
{
    return login != NULL && comment->author != NULL && strcasecmp(comment->author, login) == 0;
}

/** Only a later claim supersedes, so there are no circles. */
static void mark_superseded(struct claim_comments *comments, const struct claim_comment *by)
{
    for (size_t i = 0; i < by->claim.superseded_count; i++) {
        struct claim_comment *found =
            bsearch(&by->claim.superseded[i], comments->items, comments->count,
                    sizeof(*comments->items), compare_id);
        if (found != NULL && found->id < by->id) {
            found->is_superseded = true;
            found->is_ended = found->is_ended || is_by(found, by->author);
        }
    }
}

/** Each claim may cost a request, of which there are few: nobody gets more than one. */
static void mark_last(struct claim_comments *comments)
{
    for (size_t i = comments->count; i-- > 0;) {
        struct claim_comment *comment = &comments->items[i];
        comment->is_last = comment->has_claim;
        for (size_t k = i + 1; comment->is_last && k < comments->count; k++) {
            const struct claim_comment *later = &comments->items[k];
            comment->is_last = !later->has_claim || !is_by(later, comment->author);
        }
    }
}

void claim_comments_read(int64_t number, const struct forge_comments *comments,
                         struct claim_comments *ret_comments)
{
    size_t bytes = 0;
    ret_comments->items = memory_new_zero(comments->count + 1, sizeof(*ret_comments->items));
    ret_comments->count = 0;
    for (size_t i = 0; i < comments->count; i++) {
        const struct forge_comment *read = &comments->items[i];
        bytes += strlen(read->body);
        if (!item_comment_is_ours(read->body, number)) {
            continue;
        }
        struct claim_comment *comment = &ret_comments->items[ret_comments->count++];
        *comment = (struct claim_comment){
            .id = read->id,
            .author = read->author,
            .updated_ns = read->updated_ns > read->created_ns ? read->updated_ns : read->created_ns,
            .state = item_comment_state(read->body, number)};
        comment->has_claim = read_claim(number, read->body, &comment->claim);
    }
    for (size_t i = 0; i < ret_comments->count; i++) {
        mark_superseded(ret_comments, &ret_comments->items[i]);
    }
    mark_last(ret_comments);
    /* The list is cut at either limit without a word; far from the second it is whole. */
    ret_comments->is_full =
        comments->count >= LIMIT_FORGE_COMMENTS || bytes > LIMIT_FORGE_LIST_BYTES / 2;
}

void claim_comments_fini(struct claim_comments *comments)
{
    for (size_t i = 0; i < comments->count; i++) {
        claim_fini(&comments->items[i].claim);
    }
    free(comments->items);
    *comments = (struct claim_comments){0};
}

/* ---- Judging -------------------------------------------------------------------------------- */

const struct claim_comment *claim_comments_find(const struct claim_comments *comments,
                                                const struct claim_asker *asker)
{
    for (size_t i = 0; asker->nonce[0] != '\0' && i < comments->count; i++) {
        const struct claim_comment *comment = &comments->items[i];
        /* A nonce can be read, and copied, by anybody: into a later comment. */
        if (comment->has_claim && comment->claim.released_until_ns == 0 &&
            is_by(comment, asker->login) && strcmp(comment->claim.nonce, asker->nonce) == 0 &&
            (asker->comment_id == 0 || asker->comment_id == comment->id)) {
            return comment;
        }
    }
    return NULL;
}

/** By its lease. One that its text says to be longer than a lease after the comment's last edit is
 *  not believed. */
static bool is_expired(const struct claim_comment *comment, int64_t now_ns)
{
    struct claim believed = comment->claim;
    int64_t most_ns = comment->updated_ns + CLAIM_LEASE_NS;
    believed.lease_ns = believed.lease_ns < most_ns ? believed.lease_ns : most_ns;
    return claim_lease_is_over(&believed, now_ns);
}

bool claim_comment_is_alive(const struct claim_comment *comment, const struct claim_asker *asker)
{
    if (!comment->has_claim || comment->is_ended || comment->claim.released_until_ns > 0) {
        return false;
    }
    return !is_expired(comment, asker->now_ns) ||
           (comment->claim.pull > 0 && comment->is_last &&
            asker->keeps(asker->context, comment->claim.pull));
}

enum claim_fact claim_comments_judge(const struct claim_comments *comments,
                                     const struct claim_asker *asker)
{
    const struct claim_comment *own = claim_comments_find(comments, asker);
    if (own == NULL) {
        return CLAIM_ABSENT;
    }
    bool is_over = asker->has_lapsed || (own->claim.pull == 0 && is_expired(own, asker->now_ns));
    bool is_safe = asker->is_settled && !is_over;
    if (is_safe ? own->is_ended : own->is_superseded) {
        return CLAIM_FOREIGN;
    }
    for (const struct claim_comment *at = comments->items; at < own; at++) {
        if ((!is_safe || is_by(at, asker->login)) && claim_comment_is_alive(at, asker)) {
            return CLAIM_FOREIGN;
        }
    }
    bool is_last = own == &comments->items[comments->count - 1];
    return is_over && !is_last ? CLAIM_FOREIGN : CLAIM_OURS;
}

const struct claim_comment *claim_comments_holder(const struct claim_comments *comments,
                                                  const struct claim_asker *asker)
{
    const struct claim_comment *own = claim_comments_find(comments, asker);
    for (size_t i = 0; i < comments->count; i++) {
        if (&comments->items[i] != own && claim_comment_is_alive(&comments->items[i], asker)) {
            return &comments->items[i];
        }
    }
    return NULL;
}

void claim_comments_supersede(const struct claim_comments *comments,
                              const struct claim_asker *asker, struct claim *claim)
{
    claim->superseded_count = 0;
    for (size_t i = comments->count; i-- > 0;) {
        const struct claim_comment *comment = &comments->items[i];
        if (claim->superseded_count < LIMIT_CLAIM_SUPERSEDED && comment->has_claim &&
            !comment->is_ended && !claim_comment_is_alive(comment, asker)) {
            claim->superseded[claim->superseded_count++] = comment->id;
        }
    }
}
