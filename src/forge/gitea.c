// SPDX-License-Identifier: Apache-2.0
/* Gitea and Forgejo: API v1. Close to GitHub's; labels have ids, and no answer has a tag. */
#include "forge/check.h"
#include "forge/parts.h"
#include "forge/people.h"
#include "forge/review.h"
#include "forge/shape.h"
#include "forge/tea.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Names that the forge does not know are left out of the filter, and one label is enough: the
 *  caller filters again. */
static void write_list_query(const char *const *labels, struct buf *ret_query)
{
    buf_append_string(ret_query, "state=open&type=issues&limit=50");
    parts_write_labels(labels, ret_query);
}

static enum forge_end ensure_label(struct forge *forge, const char *name, const char *color,
                                   const char *description)
{
    int64_t id = 0;
    auto_buf struct buf body = {0};
    enum forge_end end = parts_find_label(forge, forge->root, name, &id);
    if (end != FORGE_OK || id != 0) {
        return end;
    }
    parts_write_label(name, color, "#", description, &body);
    return parts_create_label(forge, &body);
}

/** A label that the repository does not have is made, as GitHub does by itself. */
static enum forge_end find_or_make_label(struct forge *forge, const char *label, int64_t *ret_id)
{
    enum forge_end end = parts_find_label(forge, forge->root, label, ret_id);
    if (end == FORGE_OK && *ret_id == 0) {
        end = ensure_label(forge, label, "ededed", "");
        end = end == FORGE_OK ? parts_find_label(forge, forge->root, label, ret_id) : end;
    }
    return end;
}

static enum forge_end add_label(struct forge *forge, int64_t number, const char *label)
{
    int64_t id = 0;
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    enum forge_end end = find_or_make_label(forge, label, &id);
    if (end != FORGE_OK) {
        return end;
    }
    if (id == 0) {
        return forge_end_with(forge, FORGE_CONFLICT, "%s: there is no label `%.100s`",
                              forge->place.host, label);
    }
    buf_printf(&path, "%s/issues/%" PRId64 "/labels", forge->root, number);
    buf_printf(&body, "{\"labels\":[%" PRId64 "]}", id);
    return forge_write(forge, "POST", buf_string(&path), &body, NULL);
}

/** It may be one of the organization, which the repository's list does not have: the issue knows.
 */
static enum forge_end remove_label(struct forge *forge, int64_t number, const char *label)
{
    int64_t id = 0;
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/issues/%" PRId64, forge->root, number);
    enum forge_end end = parts_find_label(forge, buf_string(&path), label, &id);
    if (end != FORGE_OK || id == 0) {
        return end;
    }
    buf_printf(&path, "/labels/%" PRId64, id);
    end = forge_write(forge, "DELETE", buf_string(&path), NULL, NULL);
    return end == FORGE_ABSENT ? forge_end_with(forge, FORGE_OK, "%s", "") : end;
}

static void take_repository(struct json_object *answer, struct forge_repository *repository)
{
    repository->is_empty = json_get_bool(answer, "empty", false);
    repository->can_triage = repository->can_push;
}

/* ---- People ---------------------------------------------------------------------------------- */

/** The list has those who may write, and of an organization's teams also those who may read pull
 *  requests: as GitHub's members, they belong to it. */
static enum forge_trust trust_of_member(struct json_object *member)
{
    (void)member;
    return FORGE_MEMBER;
}

static enum forge_end read_trust(struct forge *forge, const char *login,
                                 enum forge_trust *ret_trust)
{
    return people_find(forge, login, true, ret_trust);
}

/** Of one comment for each label: the text is "1" when it was added. */
static struct json_object *labeller_of(struct json_object *event)
{
    bool is_added = strcmp(json_get_string(event, "type", ""), "label") == 0 &&
                    strcmp(json_get_string(event, "body", ""), "1") == 0;
    return is_added ? json_member(event, "user") : NULL;
}

/** All who are assigned afterwards: there is no way to change one of them alone. */
static void write_assignees(const struct forge_issue *issue, const char *login, bool adds,
                            struct buf *ret_body)
{
    struct json_writer writer = json_writer(ret_body);
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "assignees");
    for (size_t i = 0; issue->assignees[i] != NULL; i++) {
        if (strcasecmp(issue->assignees[i], login) != 0) {
            json_write_string(&writer, NULL, issue->assignees[i]);
        }
    }
    if (adds) {
        json_write_string(&writer, NULL, login);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static enum forge_end change_assignee(struct forge *forge, int64_t number, const char *login,
                                      bool adds, struct forge_reply *ret_reply)
{
    struct forge_issue issue = {0};
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    enum forge_end end = forge_read_issue(forge, number, &issue);
    if (end == FORGE_OK && shape_has_assignee(&issue, login) != adds) {
        buf_printf(&path, "%s/issues/%" PRId64, forge->root, number);
        write_assignees(&issue, login, adds, &body);
        end = forge_write(forge, "PATCH", buf_string(&path), &body, ret_reply);
    }
    forge_issue_fini(&issue);
    return end;
}

/* ---- Pull requests --------------------------------------------------------------------------- */

/** There is no filter for a branch. */
static void write_pull_query(const struct forge_place *source, const char *head,
                             struct buf *ret_query)
{
    (void)source;
    (void)head;
    buf_append_string(ret_query, "state=all&limit=50");
}

/** An account has one fork of a repository, so its name is enough, and all versions know it. Only
 *  newer ones know "owner/name:branch", which a fork with the same owner needs. */
static void write_fork_head(const struct forge_place *place, const struct forge_place *fork,
                            const char *head, struct json_writer *writer)
{
    auto_buf struct buf full_head = {0};
    bool needs_name = strcasecmp(fork->owner, place->owner) == 0;
    buf_printf(&full_head, "%s%s%s:%s", fork->owner, needs_name ? "/" : "",
               needs_name ? fork->name : "", head);
    json_write_string(writer, "head", buf_string(&full_head));
}

/** Reviews that have comments on lines. */
#define REVIEWS_MAX 50

struct review_ids {
    struct review_listing *listing;
    int64_t ids[REVIEWS_MAX];
    size_t count;
};

static bool take_reviews(void *context, struct json_object *entries)
{
    struct review_ids *found = context;
    bool has_room = true;
    for (size_t i = 0; i < json_length(entries) && has_room; i++) {
        struct json_object *review = json_object_array_get_idx(entries, i);
        const char *state = json_get_string(review, "state", "");
        int64_t time_ns = shape_time(review, "submitted_at");
        bool wants =
            strcmp(state, "REQUEST_CHANGES") == 0 && !json_get_bool(review, "dismissed", false);
        if (wants || strcmp(state, "APPROVED") == 0) {
            review_add_verdict(found->listing, json_member(review, "user"), time_ns, wants);
        }
        if (wants && json_get_string(review, "body", "")[0] != '\0') {
            has_room = review_add_comment(found->listing, review, "submitted_at", NULL, 0);
        }
        int64_t id = json_get_int(review, "id", 0);
        if (json_get_int(review, "comments_count", 0) > 0 && found->count < REVIEWS_MAX &&
            time_ns > found->listing->after_ns && id > 0) {
            found->ids[found->count++] = id;
        }
    }
    return has_room;
}

static enum forge_end read_reviews(struct review_listing *listing)
{
    auto_buf struct buf path = {0};
    struct review_ids found = {.listing = listing};
    buf_printf(&path, "%s/pulls/%" PRId64 "/reviews?limit=50", listing->forge->root,
               listing->number);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_reviews, .context = &found};
    enum forge_end end = forge_read_list(listing->forge, &list);
    for (size_t i = 0; end == FORGE_OK && i < found.count; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/pulls/%" PRId64 "/reviews/%" PRId64 "/comments", listing->forge->root,
                   listing->number, found.ids[i]);
        struct forge_list lines = {
            .path = buf_string(&path), .take_page = review_take_line_comments, .context = listing};
        end = forge_read_list(listing->forge, &lines);
    }
    return end;
}

static bool take_statuses(void *context, struct json_object *entries)
{
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *status = json_object_array_get_idx(entries, i);
        check_add(context, json_get_string(status, "context", ""),
                  json_get_string(status, "status", json_get_string(status, "state", "")));
    }
    return true;
}

static enum forge_end read_checks(struct check_listing *listing, const char *commit)
{
    auto_buf struct buf path = {0};
    auto_reply struct forge_reply reply = {0};
    buf_printf(&path, "%s/commits/%s/status", listing->forge->root, commit);
    enum forge_end end = forge_get(listing->forge, buf_string(&path), &reply);
    if (end == FORGE_OK && !json_object_is_type(reply.json, json_type_object)) {
        return forge_bad_answer(listing->forge, false, "a status");
    }
    /* Without a status the list is null. */
    if (end == FORGE_OK) {
        take_statuses(listing, json_member(reply.json, "statuses"));
    }
    return end;
}

static const char *const token_variables[] = {"GITEA_TOKEN", "FORGEJO_TOKEN", NULL};

const struct forge_ops forge_gitea = {
    .name = "gitea",
    .token_prefix = "token ",
    .accept = "application/json",
    .names = {.number = "number",
              .body = "body",
              .url = "html_url",
              .author = "user",
              .login = "login",
              .locked = "is_locked",
              .comments = "comments",
              .open_state = "open",
              .pulls = "pulls",
              .notes = "comments",
              .notes_order = "",
              .pull_source = "head",
              .pull_target = "base",
              .draft_mark = "WIP: ",
              .page_size = "limit=50",
              .full_name = "full_name",
              .parents = {"parent"},
              .edit = "PATCH"},
    .public_host = "codeberg.org",
    .api_path = "/api/v1",
    .public_token_variables = token_variables,
    .token_variables = token_variables,
    .login_name = "tea login",
    .read_login = tea_read_login,
    .write_root = parts_write_root,
    .write_list_query = write_list_query,
    .write_comment_path = parts_write_comment_path,
    .write_pull_query = write_pull_query,
    .write_fork_head = write_fork_head,
    .members = "assignees",
    .trust_of_member = trust_of_member,
    .read_trust = read_trust,
    .label_events = "timeline",
    .labeller_of = labeller_of,
    .blockers = "dependencies",
    .change_assignee = change_assignee,
    .read_reviews = read_reviews,
    .read_checks = read_checks,
    .ensure_label = ensure_label,
    .add_label = add_label,
    .remove_label = remove_label,
    .take_repository = take_repository,
};
