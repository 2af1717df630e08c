// SPDX-License-Identifier: Apache-2.0
/* GitHub, also Enterprise: REST, version 2022-11-28. */
#include "forge/check.h"
#include "forge/parts.h"
#include "forge/review.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void write_list_query(const char *const *labels, struct buf *ret_query)
{
    buf_append_string(ret_query, "state=open&sort=created&direction=asc&per_page=100");
    parts_write_labels(labels, ret_query);
}

static enum forge_end ensure_label(struct forge *forge, const char *name, const char *color,
                                   const char *description)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    buf_printf(&path, "%s/labels/", forge->root);
    link_escape(name, &path);
    enum forge_end end = forge_get(forge, buf_string(&path), NULL);
    if (end != FORGE_ABSENT) {
        return end;
    }
    parts_write_label(name, color, "", description, &body);
    return parts_create_label(forge, &body);
}

static enum forge_end add_label(struct forge *forge, int64_t number, const char *label)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    buf_printf(&path, "%s/issues/%" PRId64 "/labels", forge->root, number);
    parts_write_list("labels", label, &body);
    return forge_write(forge, "POST", buf_string(&path), &body, NULL);
}

static enum forge_end remove_label(struct forge *forge, int64_t number, const char *label)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/issues/%" PRId64 "/labels/", forge->root, number);
    link_escape(label, &path);
    enum forge_end end = forge_write(forge, "DELETE", buf_string(&path), NULL, NULL);
    return end == FORGE_ABSENT ? forge_end_with(forge, FORGE_OK, "%s", "") : end;
}

/** The size of a repository is rounded, and 0 also for one with little in it: branches decide. */
static enum forge_end read_is_empty(struct forge *forge, struct json_object *answer,
                                    bool *ret_is_empty)
{
    auto_buf struct buf path = {0};
    auto_reply struct forge_reply reply = {0};
    if (json_get_int(answer, "size", 1) != 0) {
        return FORGE_OK;
    }
    buf_printf(&path, "%s/branches?per_page=1", forge->root);
    enum forge_end end = forge_get(forge, buf_string(&path), &reply);
    if (end == FORGE_OK && !json_object_is_type(reply.json, json_type_array)) {
        return forge_bad_answer(forge, false, "a list");
    }
    *ret_is_empty = end == FORGE_OK && json_length(reply.json) == 0;
    return end;
}

/* ---- People ---------------------------------------------------------------------------------- */

static enum forge_end read_trust(struct forge *forge, const char *login,
                                 enum forge_trust *ret_trust)
{
    auto_buf struct buf path = {0};
    auto_reply struct forge_reply reply = {0};
    buf_printf(&path, "%s/collaborators/", forge->root);
    link_escape(login, &path);
    buf_append_string(&path, "/permission");
    enum forge_end end = forge_get(forge, buf_string(&path), &reply);
    if (end == FORGE_ABSENT) { /* No such account: a bot, or deleted. */
        *ret_trust = FORGE_STRANGER;
        return forge_end_with(forge, FORGE_OK, "%s", "");
    }
    const char *permission = json_get_string(reply.json, "permission", NULL);
    if (end == FORGE_OK && permission == NULL) {
        return forge_bad_answer(forge, false, "a permission");
    }
    if (end == FORGE_OK) {
        bool may_write = strcmp(permission, "admin") == 0 || strcmp(permission, "write") == 0;
        *ret_trust = may_write ? FORGE_MEMBER : FORGE_STRANGER;
    }
    return end;
}

static struct json_object *labeller_of(struct json_object *event)
{
    bool is_added = strcmp(json_get_string(event, "event", ""), "labeled") == 0;
    return is_added ? json_member(event, "actor") : NULL;
}

static enum forge_end change_assignee(struct forge *forge, int64_t number, const char *login,
                                      bool adds, struct forge_reply *ret_reply)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    buf_printf(&path, "%s/issues/%" PRId64 "/assignees", forge->root, number);
    parts_write_list("assignees", login, &body);
    return forge_write(forge, adds ? "POST" : "DELETE", buf_string(&path), &body, ret_reply);
}

/* ---- Pull requests --------------------------------------------------------------------------- */

static void write_pull_query(const struct forge_place *source, const char *head,
                             struct buf *ret_query)
{
    buf_append_string(ret_query, "state=all&sort=created&direction=desc&per_page=30&head=");
    link_escape(source->owner, ret_query);
    buf_append_string(ret_query, "%3A");
    link_escape(head, ret_query);
}

/** The owner says which fork; of one with the same owner the name is needed. */
static void write_fork_head(const struct forge_place *place, const struct forge_place *fork,
                            const char *head, struct json_writer *writer)
{
    auto_buf struct buf full_head = {0};
    buf_printf(&full_head, "%s:%s", fork->owner, head);
    json_write_string(writer, "head", buf_string(&full_head));
    if (strcasecmp(fork->owner, place->owner) == 0) {
        json_write_string(writer, "head_repo", fork->name);
    }
}

static bool take_reviews(void *context, struct json_object *entries)
{
    struct review_listing *listing = context;
    bool has_room = true;
    for (size_t i = 0; i < json_length(entries) && has_room; i++) {
        struct json_object *review = json_object_array_get_idx(entries, i);
        const char *state = json_get_string(review, "state", "");
        bool wants = strcmp(state, "CHANGES_REQUESTED") == 0;
        if (wants || strcmp(state, "APPROVED") == 0) {
            review_add_verdict(listing, json_member(review, "user"),
                               shape_time(review, "submitted_at"), wants);
        }
        if (wants && json_get_string(review, "body", "")[0] != '\0') {
            has_room = review_add_comment(listing, review, "submitted_at", NULL, 0);
        }
    }
    return has_room;
}

static enum forge_end read_part(struct review_listing *listing, const char *part,
                                forge_page_fn *take_page)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/pulls/%" PRId64 "/%s?per_page=100", listing->forge->root, listing->number,
               part);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_page, .context = listing};
    return forge_read_list(listing->forge, &list);
}

static enum forge_end read_reviews(struct review_listing *listing)
{
    enum forge_end end = read_part(listing, "reviews", take_reviews);
    return end == FORGE_OK ? read_part(listing, "comments", review_take_line_comments) : end;
}

static bool take_runs(void *context, struct json_object *entries)
{
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *run = json_object_array_get_idx(entries, i);
        bool is_over = strcmp(json_get_string(run, "status", ""), "completed") == 0;
        check_add(context, json_get_string(run, "name", ""),
                  is_over ? json_get_string(run, "conclusion", "") : "pending");
    }
    return true;
}

static bool take_statuses(void *context, struct json_object *entries)
{
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *status = json_object_array_get_idx(entries, i);
        check_add(context, json_get_string(status, "context", ""),
                  json_get_string(status, "state", ""));
    }
    return true;
}

/** What Actions and apps report, and what others do by statuses. */
static enum forge_end read_checks(struct check_listing *listing, const char *commit)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/commits/%s/check-runs?per_page=100", listing->forge->root, commit);
    struct forge_list runs = {.path = buf_string(&path),
                              .member = "check_runs",
                              .take_page = take_runs,
                              .context = listing};
    enum forge_end end = forge_read_list(listing->forge, &runs);
    if (end != FORGE_OK) {
        return end;
    }
    buf_clear(&path);
    buf_printf(&path, "%s/commits/%s/status?per_page=100", listing->forge->root, commit);
    struct forge_list statuses = {.path = buf_string(&path),
                                  .member = "statuses",
                                  .take_page = take_statuses,
                                  .context = listing};
    return forge_read_list(listing->forge, &statuses);
}

static const char *const public_token_variables[] = {"GH_TOKEN", "GITHUB_TOKEN", NULL};
static const char *const token_variables[] = {"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN",
                                              NULL};
static const char *const login_command[] = {"gh", "auth", "token", "--hostname", NULL};
static const char *const login_variables[] = {"GH_CONFIG_DIR", "XDG_CONFIG_HOME",
                                              "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", NULL};

const struct forge_ops forge_github = {
    .name = "github",
    .token_prefix = "Bearer ",
    .accept = "application/vnd.github+json",
    .names = {.number = "number",
              .body = "body",
              .url = "html_url",
              .author = "user",
              .login = "login",
              .locked = "locked",
              .comments = "comments",
              .open_state = "open",
              .pulls = "pulls",
              .notes = "comments",
              .notes_order = "",
              .pull_source = "head",
              .pull_target = "base",
              .page_size = "per_page=100",
              .full_name = "full_name",
              .parents = {"parent", "source"},
              .edit = "PATCH"},
    .public_host = "github.com",
    .public_api = "https://api.github.com",
    .api_path = "/api/v3",
    .public_token_variables = public_token_variables,
    .token_variables = token_variables,
    .host_variable = "GH_HOST",
    .login_command = login_command,
    .login_name = "gh auth login",
    .login_variables = login_variables,
    .write_root = parts_write_root,
    .write_list_query = write_list_query,
    .probe_query = "state=all&sort=updated&direction=desc&per_page=100",
    .write_comment_path = parts_write_comment_path,
    .write_pull_query = write_pull_query,
    .write_fork_head = write_fork_head,
    .read_trust = read_trust,
    .label_events = "events",
    .labeller_of = labeller_of,
    .blockers = "dependencies/blocked_by",
    .children = "sub_issues",
    .change_assignee = change_assignee,
    .read_reviews = read_reviews,
    .read_checks = read_checks,
    .ensure_label = ensure_label,
    .add_label = add_label,
    .remove_label = remove_label,
    .read_is_empty = read_is_empty,
};
