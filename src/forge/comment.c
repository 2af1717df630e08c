// SPDX-License-Identifier: Apache-2.0
/* Comments of issues. */
#include "base/limits.h"
#include "base/memory.h"
#include "forge/parts.h"
#include "forge/people.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

void forge_comments_fini(struct forge_comments *comments)
{
    for (size_t i = 0; i < comments->count; i++) {
        shape_comment_fini(&comments->items[i]);
    }
    free(comments->items);
    *comments = (struct forge_comments){0};
}

/** Comments while they are read. */
struct comment_listing {
    struct forge *forge;
    int64_t after;
    struct forge_comments comments;
    size_t size;
    size_t text_bytes;
};

static bool add_comment(struct comment_listing *listing, struct forge_comment *comment)
{
    struct forge_comments *comments = &listing->comments;
    listing->text_bytes += strlen(comment->body);
    if (comments->count == LIMIT_FORGE_COMMENTS || listing->text_bytes > LIMIT_FORGE_LIST_BYTES) {
        shape_comment_fini(comment);
        return false;
    }
    if (comments->count == listing->size) {
        listing->size = listing->size == 0 ? 32 : listing->size * 2;
        comments->items = memory_resize(comments->items, listing->size, sizeof(*comments->items));
    }
    comments->items[comments->count++] = *comment;
    return true;
}

static bool take_page(void *context, struct json_object *entries)
{
    struct comment_listing *listing = context;
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        struct forge_comment comment;
        if (!shape_comment(&listing->forge->ops->names, entry, "created_at", &comment)) {
            forge_bad_answer(listing->forge, false, "a list of comments");
            return false;
        }
        /* GitLab lists what it says itself ("changed the description") as comments. */
        if (comment.id <= listing->after || json_get_bool(entry, "system", false)) {
            shape_comment_fini(&comment);
        } else if (!add_comment(listing, &comment)) {
            return false;
        }
    }
    return true;
}

static int compare_id(const void *a, const void *b)
{
    const struct forge_comment *left = a;
    const struct forge_comment *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

enum forge_end forge_list_comments(struct forge *forge, int64_t number, int64_t after,
                                   struct forge_comments *ret_comments)
{
    auto_buf struct buf path = {0};
    struct comment_listing listing = {.forge = forge, .after = after};
    buf_printf(&path, "%s/issues/%" PRId64 "/%s?%s%s", forge->root, number, forge->ops->names.notes,
               forge->ops->names.page_size, forge->ops->names.notes_order);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_page, .context = &listing};
    enum forge_end end = forge_read_list(forge, &list);
    if (end == FORGE_OK) {
        end = people_fill_comments(forge, &listing.comments);
    }
    if (end != FORGE_OK) {
        forge_comments_fini(&listing.comments);
        return end;
    }
    if (listing.comments.count > 0) {
        qsort(listing.comments.items, listing.comments.count, sizeof(*listing.comments.items),
              compare_id);
    }
    *ret_comments = listing.comments;
    return end;
}

enum forge_end forge_add_comment(struct forge *forge, int64_t number, const char *body,
                                 int64_t *ret_id)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf json = {0};
    auto_reply struct forge_reply reply = {0};
    buf_printf(&path, "%s/issues/%" PRId64 "/%s", forge->root, number, forge->ops->names.notes);
    parts_write_text("body", body, &json);
    enum forge_end end = forge_write(forge, "POST", buf_string(&path), &json, &reply);
    int64_t id = json_get_int(reply.json, "id", 0);
    if (end == FORGE_OK && id <= 0) {
        return forge_bad_answer(forge, true, "a comment");
    }
    if (end == FORGE_OK) {
        *ret_id = id;
    }
    return end;
}

/** Path of a comment. */
static void write_path(const struct forge *forge, int64_t number, int64_t id, struct buf *ret_path)
{
    buf_append_string(ret_path, forge->root);
    forge->ops->write_comment_path(number, id, ret_path);
}

enum forge_end forge_edit_comment(struct forge *forge, int64_t number, int64_t id, const char *body)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf json = {0};
    write_path(forge, number, id, &path);
    parts_write_text("body", body, &json);
    return forge_write(forge, forge->ops->names.edit, buf_string(&path), &json, NULL);
}

enum forge_end forge_delete_comment(struct forge *forge, int64_t number, int64_t id)
{
    auto_buf struct buf path = {0};
    write_path(forge, number, id, &path);
    enum forge_end end = forge_write(forge, "DELETE", buf_string(&path), NULL, NULL);
    return end == FORGE_ABSENT ? forge_end_with(forge, FORGE_OK, "%s", "") : end;
}
