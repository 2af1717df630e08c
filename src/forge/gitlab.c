// SPDX-License-Identifier: Apache-2.0
/* GitLab: API v4. A project has its whole path as one segment; issues are counted by iid. */
#include "forge/check.h"
#include "forge/parts.h"
#include "forge/people.h"
#include "forge/review.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Levels of access, as GitLab numbers them. */
#define LEVEL_REPORTER  20
#define LEVEL_DEVELOPER 30

static void write_root(const struct forge_place *place, struct buf *ret_path)
{
    buf_append_string(ret_path, "/projects/");
    link_escape(place->owner, ret_path);
    buf_append_string(ret_path, "%2F");
    link_escape(place->name, ret_path);
}

static void write_list_query(const char *const *labels, struct buf *ret_query)
{
    buf_append_string(ret_query, "state=opened&order_by=created_at&sort=asc&per_page=100");
    parts_write_labels(labels, ret_query);
}

static void write_comment_path(int64_t number, int64_t id, struct buf *ret_path)
{
    buf_printf(ret_path, "/issues/%" PRId64 "/notes/%" PRId64, number, id);
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

/** Labels are parts of the issue; a comma would name two. */
static enum forge_end change_label(struct forge *forge, int64_t number, const char *key,
                                   const char *label)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    if (strchr(label, ',') != NULL) {
        return forge_end_with(forge, FORGE_CONFLICT,
                              "the label `%.100s` has a comma, which GitLab cannot change", label);
    }
    buf_printf(&path, "%s/issues/%" PRId64, forge->root, number);
    parts_write_text(key, label, &body);
    return forge_write(forge, "PUT", buf_string(&path), &body, NULL);
}

static enum forge_end add_label(struct forge *forge, int64_t number, const char *label)
{
    return change_label(forge, number, "add_labels", label);
}

static enum forge_end remove_label(struct forge *forge, int64_t number, const char *label)
{
    return change_label(forge, number, "remove_labels", label);
}

static int64_t level_of(struct json_object *permissions, const char *key)
{
    return json_get_int(json_member(permissions, key), "access_level", 0);
}

static void take_repository(struct json_object *answer, struct forge_repository *repository)
{
    struct json_object *permissions = json_member(answer, "permissions");
    int64_t project = level_of(permissions, "project_access");
    int64_t group = level_of(permissions, "group_access");
    int64_t level = project > group ? project : group;
    repository->is_empty = json_get_bool(answer, "empty_repo", false);
    repository->can_push = level >= LEVEL_DEVELOPER;
    repository->can_triage = level >= LEVEL_REPORTER;
    repository->can_pull = true;
    repository->has_issues =
        strcmp(json_get_string(answer, "issues_access_level", "enabled"), "disabled") != 0 &&
        json_get_bool(answer, "issues_enabled", true);
}

/* ---- People ---------------------------------------------------------------------------------- */

static enum forge_trust trust_of_member(struct json_object *member)
{
    int64_t level = json_get_int(member, "access_level", 0);
    if (strcmp(json_get_string(member, "state", "active"), "active") != 0) {
        return FORGE_STRANGER;
    }
    return level >= LEVEL_DEVELOPER  ? FORGE_MEMBER
           : level >= LEVEL_REPORTER ? FORGE_CONTRIBUTOR
                                     : FORGE_STRANGER;
}

static enum forge_end read_trust(struct forge *forge, const char *login,
                                 enum forge_trust *ret_trust)
{
    return people_find(forge, login, true, ret_trust);
}

static struct json_object *labeller_of(struct json_object *event)
{
    bool is_added = strcmp(json_get_string(event, "action", ""), "add") == 0;
    return is_added ? json_member(event, "user") : NULL;
}

/** The number of an account. 0 = there is no such account */
static enum forge_end find_account(struct forge *forge, const char *login, int64_t *ret_id)
{
    auto_buf struct buf path = {0};
    auto_reply struct forge_reply reply = {0};
    buf_append_string(&path, "/users?username=");
    link_escape(login, &path);
    enum forge_end end = forge_get(forge, buf_string(&path), &reply);
    struct json_object *account =
        json_length(reply.json) == 1 ? json_object_array_get_idx(reply.json, 0) : NULL;
    if (end == FORGE_OK) {
        bool is_it = strcasecmp(json_get_string(account, "username", ""), login) == 0;
        *ret_id = is_it ? json_get_int(account, "id", 0) : 0;
    }
    return end;
}

/** All who are assigned afterwards, by number. 0 stands for nobody. */
static void write_assignees(struct json_object *assignees, int64_t id, bool adds,
                            struct buf *ret_body)
{
    bool is_empty = true;
    struct json_writer writer = json_writer(ret_body);
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "assignee_ids");
    for (size_t i = 0; i < json_length(assignees); i++) {
        int64_t other = json_get_int(json_object_array_get_idx(assignees, i), "id", 0);
        if (other > 0 && other != id) {
            json_write_int(&writer, NULL, other);
            is_empty = false;
        }
    }
    if (adds || is_empty) {
        json_write_int(&writer, NULL, adds ? id : 0);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static bool has_account(struct json_object *assignees, int64_t id)
{
    bool is_found = false;
    for (size_t i = 0; i < json_length(assignees); i++) {
        is_found |= json_get_int(json_object_array_get_idx(assignees, i), "id", 0) == id;
    }
    return is_found;
}

static enum forge_end change_assignee(struct forge *forge, int64_t number, const char *login,
                                      bool adds, struct forge_reply *ret_reply)
{
    int64_t id = 0;
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    auto_reply struct forge_reply reply = {0};
    enum forge_end end = find_account(forge, login, &id);
    if (end == FORGE_OK && id == 0) {
        return forge_end_with(forge, FORGE_FORBIDDEN, "%s: there is no account `%.100s`",
                              forge->place.host, login);
    }
    buf_printf(&path, "%s/issues/%" PRId64, forge->root, number);
    end = end == FORGE_OK ? forge_get(forge, buf_string(&path), &reply) : end;
    struct json_object *assignees = json_member(reply.json, "assignees");
    if (end != FORGE_OK || has_account(assignees, id) == adds) {
        return end;
    }
    write_assignees(assignees, id, adds, &body);
    return forge_write(forge, "PUT", buf_string(&path), &body, ret_reply);
}

/* ---- Merge requests -------------------------------------------------------------------------- */

/** Forks may have a branch of that name as well: the caller compares projects. */
static void write_pull_query(const struct forge_place *source, const char *head,
                             struct buf *ret_query)
{
    (void)source;
    buf_append_string(ret_query,
                      "state=all&order_by=created_at&sort=desc&per_page=30&source_branch=");
    link_escape(head, ret_query);
}

static bool take_notes(void *context, struct json_object *entries)
{
    struct review_listing *listing = context;
    bool has_room = true;
    for (size_t i = 0; i < json_length(entries) && has_room; i++) {
        struct json_object *note = json_object_array_get_idx(entries, i);
        struct json_object *position = json_member(note, "position");
        if (strcmp(json_get_string(note, "type", ""), "DiffNote") == 0 &&
            !json_get_bool(note, "resolved", false)) {
            has_room = review_add_comment(listing, note, "created_at",
                                          json_get_string(position, "new_path", ""),
                                          json_get_int(position, "new_line", 0));
        }
    }
    return has_room;
}

/** A reviewer's state has no time. It counts when he has said something since then: otherwise it
 *  would ask again for what was answered already. */
static bool take_reviewers(void *context, struct json_object *entries)
{
    struct review_listing *listing = context;
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *reviewer = json_object_array_get_idx(entries, i);
        struct json_object *account = json_member(reviewer, "user");
        if (strcmp(json_get_string(reviewer, "state", ""), "requested_changes") == 0 &&
            review_has_said(listing, json_get_string(account, "username", ""))) {
            review_add_verdict(listing, account, INT64_MAX, true);
        }
    }
    return true;
}

static enum forge_end read_reviews(struct review_listing *listing)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/merge_requests/%" PRId64 "/notes?sort=asc&per_page=100",
               listing->forge->root, listing->number);
    struct forge_list notes = {
        .path = buf_string(&path), .take_page = take_notes, .context = listing};
    enum forge_end end = forge_read_list(listing->forge, &notes);
    if (end != FORGE_OK) {
        return end;
    }
    buf_clear(&path);
    buf_printf(&path, "%s/merge_requests/%" PRId64 "/reviewers", listing->forge->root,
               listing->number);
    struct forge_list reviewers = {
        .path = buf_string(&path), .take_page = take_reviewers, .context = listing};
    return forge_read_list(listing->forge, &reviewers);
}

static bool take_statuses(void *context, struct json_object *entries)
{
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *status = json_object_array_get_idx(entries, i);
        const char *state = json_get_string(status, "status", "");
        bool is_excused =
            json_get_bool(status, "allow_failure", false) && strcmp(state, "failed") == 0;
        check_add(context, json_get_string(status, "name", ""), is_excused ? "neutral" : state);
    }
    return true;
}

static enum forge_end read_checks(struct check_listing *listing, const char *commit)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/repository/commits/%s/statuses?per_page=100", listing->forge->root,
               commit);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_statuses, .context = listing};
    return forge_read_list(listing->forge, &list);
}

static const char *const token_variables[] = {"GITLAB_TOKEN", NULL};
static const char *const login_command[] = {"glab", "config", "get", "token", "--host", NULL};
static const char *const login_variables[] = {"GLAB_CONFIG_DIR", "XDG_CONFIG_HOME",
                                              "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", NULL};

const struct forge_ops forge_gitlab = {
    .name = "gitlab",
    .token_prefix = "Bearer ",
    .accept = "application/json",
    .names = {.number = "iid",
              .body = "description",
              .url = "web_url",
              .author = "author",
              .login = "username",
              .locked = "discussion_locked",
              .comments = "user_notes_count",
              .open_state = "opened",
              .pulls = "merge_requests",
              .notes = "notes",
              .notes_order = "&sort=asc&order_by=created_at",
              .pull_source = "source_branch",
              .pull_target = "target_branch",
              .draft_mark = "Draft: ",
              .page_size = "per_page=100",
              .full_name = "path_with_namespace",
              .parents = {"forked_from_project"},
              .edit = "PUT"},
    .public_host = "gitlab.com",
    .api_path = "/api/v4",
    .public_token_variables = token_variables,
    .token_variables = token_variables,
    .host_variable = "GITLAB_HOST",
    .login_command = login_command,
    .login_name = "glab auth login",
    .login_variables = login_variables,
    .write_root = write_root,
    .write_list_query = write_list_query,
    .probe_query = "state=all&order_by=updated_at&sort=desc&per_page=100",
    .write_comment_path = write_comment_path,
    .write_pull_query = write_pull_query,
    .members = "members/all?per_page=100",
    .trust_of_member = trust_of_member,
    .read_trust = read_trust,
    .label_events = "resource_label_events",
    .labeller_of = labeller_of,
    .blockers = "links",
    .change_assignee = change_assignee,
    .read_reviews = read_reviews,
    .read_checks = read_checks,
    .ensure_label = ensure_label,
    .add_label = add_label,
    .remove_label = remove_label,
    .take_repository = take_repository,
};
