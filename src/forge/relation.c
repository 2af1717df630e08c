// SPDX-License-Identifier: Apache-2.0
/* What issues have to do with each other: what blocks one, and its parts. */
#include "base/limits.h"
#include "base/memory.h"
#include "forge/parts.h"
#include "forge/people.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Blockers -------------------------------------------------------------------------------- */

struct blocker_count {
    const struct forge_ops *ops;
    int64_t open;
};

static bool take_blockers(void *context, struct json_object *entries)
{
    struct blocker_count *count = context;
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *issue = json_object_array_get_idx(entries, i);
        /* GitLab lists links of every kind. */
        const char *kind = json_get_string(issue, "link_type", "is_blocked_by");
        count->open +=
            strcmp(kind, "is_blocked_by") == 0 &&
            strcmp(json_get_string(issue, "state", ""), count->ops->names.open_state) == 0;
    }
    return true;
}

enum forge_end forge_count_blockers(struct forge *forge, int64_t number, int64_t *ret_count)
{
    auto_buf struct buf path = {0};
    struct blocker_count count = {.ops = forge->ops};
    buf_printf(&path, "%s/issues/%" PRId64 "/%s?%s", forge->root, number, forge->ops->blockers,
               forge->ops->names.page_size);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_blockers, .context = &count};
    enum forge_end end = forge_read_list(forge, &list);
    if (end == FORGE_ABSENT) { /* An older forge, or one where they are switched off. */
        end = forge_end_with(forge, FORGE_OK, "%s", "");
    }
    if (end == FORGE_OK) {
        *ret_count = count.open;
    }
    return end;
}

/* ---- Children -------------------------------------------------------------------------------- */

struct child_listing {
    struct forge *forge;
    struct forge_issues issues;
};

/** A child may be in another repository, where its number means another issue. */
static bool is_ours(const struct forge *forge, struct json_object *issue)
{
    const char *url = json_get_string(issue, "repository_url", NULL);
    if (url == NULL) {
        return true;
    }
    size_t url_len = strlen(url);
    size_t root_len = strlen(forge->root);
    return url_len >= root_len && strcasecmp(url + url_len - root_len, forge->root) == 0;
}

static bool take_children(void *context, struct json_object *entries)
{
    struct child_listing *listing = context;
    struct forge_issues *issues = &listing->issues;
    size_t count = json_length(entries);
    issues->items = memory_resize(issues->items, issues->count + count + 1, sizeof(*issues->items));
    for (size_t i = 0; i < count && issues->count < LIMIT_FORGE_CHILDREN; i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        if (!is_ours(listing->forge, entry)) {
            continue;
        }
        if (!shape_issue(&listing->forge->ops->names, entry, &issues->items[issues->count])) {
            forge_bad_answer(listing->forge, false, "a list of issues");
            return false;
        }
        issues->count++;
    }
    return issues->count < LIMIT_FORGE_CHILDREN;
}

enum forge_end forge_list_children(struct forge *forge, int64_t number,
                                   struct forge_issues *ret_issues)
{
    auto_buf struct buf path = {0};
    struct child_listing listing = {.forge = forge};
    if (forge->ops->children == NULL) {
        *ret_issues = (struct forge_issues){0};
        return forge_end_with(forge, FORGE_OK, "%s", "");
    }
    buf_printf(&path, "%s/issues/%" PRId64 "/%s?%s", forge->root, number, forge->ops->children,
               forge->ops->names.page_size);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_children, .context = &listing};
    enum forge_end end = forge_read_list(forge, &list);
    if (end == FORGE_ABSENT) {
        end = forge_end_with(forge, FORGE_OK, "%s", "");
    }
    if (end == FORGE_OK) {
        *ret_issues = listing.issues;
    } else {
        forge_issues_fini(&listing.issues);
    }
    return end;
}
