// SPDX-License-Identifier: Apache-2.0
#include "forge/shape.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "base/time/calendar.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Values of a text of JSON, or more: every value but the first one comes after one of these. */
static size_t count_values(const char *text, size_t len)
{
    size_t count = 1;
    bool is_quoted = false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"') {
            is_quoted = !is_quoted;
        } else if (is_quoted) {
            i += text[i] == '\\' ? 1 : 0;
        } else {
            count += text[i] == '[' || text[i] == '{' || text[i] == ',' || text[i] == ':';
        }
    }
    return count;
}

bool shape_parse(const char *text, size_t len, struct json_object **ret_json)
{
    return count_values(text, len) <= LIMIT_FORGE_VALUES &&
           json_parse(text, len, ret_json, NULL) == 0;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/** Length of the whole characters in the first `max_bytes`. */
static size_t cut_len(const char *text, size_t max_bytes)
{
    size_t len = strnlen(text, max_bytes + 1);
    if (len <= max_bytes) {
        return len;
    }
    len = max_bytes;
    while (len > 0 && ((unsigned char)text[len] & 0xc0U) == 0x80U) {
        len--;
    }
    return len;
}

static char *line_of(const char *text, size_t max_bytes)
{
    struct buf line = {0};
    text_clean(text, cut_len(text, max_bytes), &line);
    return buf_steal(&line);
}

char *shape_text(struct json_object *object, const char *key, size_t max_bytes)
{
    const char *text = json_get_string(object, key, "");
    return memory_dup_bytes(text, cut_len(text, max_bytes));
}

char *shape_line(struct json_object *object, const char *key, size_t max_bytes)
{
    return line_of(json_get_string(object, key, ""), max_bytes);
}

char *shape_name(struct json_object *object, const char *key)
{
    const char *text = json_get_string(object, key, "");
    bool is_whole = strnlen(text, LIMIT_FORGE_NAME_BYTES + 1) <= LIMIT_FORGE_NAME_BYTES;
    return line_of(is_whole ? text : "", LIMIT_FORGE_NAME_BYTES);
}

char *shape_url(struct json_object *object, const char *key)
{
    char *url = shape_line(object, key, LIMIT_FORGE_URL_BYTES);
    bool is_whole = strnlen(json_get_string(object, key, ""), LIMIT_FORGE_URL_BYTES + 1) <=
                    LIMIT_FORGE_URL_BYTES;
    if (!is_whole || (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)) {
        url[0] = '\0';
    }
    return url;
}

/* ---- Times ----------------------------------------------------------------------------------- */

/** A number of `len` digits that the shape has made sure of. */
static int digits(const char *text, size_t len)
{
    int number = 0;
    for (size_t i = 0; i < len; i++) {
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/** Whether the text begins with the shape, in which 0 is any digit. */
static bool has_shape(const char *text, const char *shape)
{
    for (; *shape != '\0'; shape++, text++) {
        if (*shape == '0' ? !ascii_is_digit(*text) : ascii_upper(*text) != *shape) {
            return false;
        }
    }
    return true;
}

/** "Z", "+01:00" at the end of a time. */
static bool read_offset(const char *text, int64_t *ret_s)
{
    if (ascii_upper(text[0]) == 'Z' && text[1] == '\0') {
        *ret_s = 0;
        return true;
    }
    if ((text[0] != '+' && text[0] != '-') || !has_shape(text + 1, "00:00") || text[6] != '\0') {
        return false;
    }
    *ret_s = digits(text + 1, 2) * INT64_C(3600) + digits(text + 4, 2) * INT64_C(60);
    *ret_s *= text[0] == '-' ? -1 : 1;
    return digits(text + 1, 2) < 24 && digits(text + 4, 2) < 60;
}

/** The part of a second, of which nanoseconds count. @return what comes after it */
static const char *read_fraction(const char *text, int64_t *ret_ns)
{
    int64_t unit = NS_PER_S / 10;
    if (text[0] != '.' || !ascii_is_digit(text[1])) {
        return text;
    }
    for (text++; ascii_is_digit(*text); text++, unit /= 10) {
        *ret_ns += (*text - '0') * unit;
    }
    return text;
}

bool shape_read_time(const char *text, int64_t *ret_ns)
{
    int64_t fraction_ns = 0;
    int64_t offset_s = 0;
    if (!has_shape(text, "0000-00-00T00:00:00")) {
        return false;
    }
    int year = digits(text, 4);
    int month = digits(text + 5, 2);
    int day = digits(text + 8, 2);
    if (year < 1970 || year > 2261 || month < 1 || month > 12 || day < 1 ||
        day > calendar_month_days(year, month) || digits(text + 11, 2) > 23 ||
        digits(text + 14, 2) > 59 || digits(text + 17, 2) > 60) {
        return false;
    }
    if (!read_offset(read_fraction(text + 19, &fraction_ns), &offset_s)) {
        return false;
    }
    int64_t seconds = calendar_days(year, month, day) * 86400 + digits(text + 11, 2) * 3600 +
                      digits(text + 14, 2) * 60 + digits(text + 17, 2) - offset_s;
    *ret_ns = seconds < 0 ? 0 : seconds * NS_PER_S + fraction_ns;
    return true;
}

int64_t shape_time(struct json_object *object, const char *key)
{
    int64_t time_ns = 0;
    const char *text = json_get_string(object, key, "");
    return shape_read_time(text, &time_ns) ? time_ns : 0;
}

/* ---- Issues and comments --------------------------------------------------------------------- */

enum forge_trust shape_association(const char *association)
{
    static const struct {
        const char *name;
        enum forge_trust trust;
    } rows[] = {{"OWNER", FORGE_MEMBER},
                {"MEMBER", FORGE_MEMBER},
                {"COLLABORATOR", FORGE_MEMBER},
                {"CONTRIBUTOR", FORGE_CONTRIBUTOR}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, association) == 0) {
            return rows[i].trust;
        }
    }
    return FORGE_STRANGER;
}

/** The names in a list of texts, or of objects with a member. NULL when there are too many. */
static char **read_names(struct json_object *list, const char *key)
{
    size_t count = json_length(list);
    if (count > LIMIT_FORGE_NAMES) {
        return NULL;
    }
    char **names = memory_new_zero(count + 1, sizeof(*names));
    for (size_t i = 0, used = 0; i < count; i++) {
        struct json_object *entry = json_object_array_get_idx(list, i);
        const char *text = json_object_is_type(entry, json_type_string)
                               ? json_object_get_string(entry)
                               : json_get_string(entry, key, "");
        /* A name that is cut would be another one. */
        if (text[0] != '\0' && strlen(text) <= LIMIT_FORGE_NAME_BYTES) {
            names[used++] = line_of(text, LIMIT_FORGE_NAME_BYTES);
        }
    }
    return names;
}

static bool take_issue(const struct forge_names *names, struct json_object *json,
                       struct forge_issue *issue)
{
    *issue = (struct forge_issue){
        .number = json_get_int(json, names->number, 0),
        .title = shape_line(json, "title", LIMIT_FORGE_TITLE_BYTES),
        .body = shape_text(json, names->body, LIMIT_FORGE_TEXT_BYTES),
        .url = shape_url(json, names->url),
        .author = shape_name(json_member(json, names->author), names->login),
        .author_trust = shape_association(json_get_string(json, "author_association", "")),
        .labels = read_names(json_member(json, "labels"), "name"),
        .assignees = read_names(json_member(json, "assignees"), names->login),
        .created_ns = shape_time(json, "created_at"),
        .updated_ns = shape_time(json, "updated_at"),
        .is_open = strcmp(json_get_string(json, "state", ""), names->open_state) == 0,
        .is_pull = json_member(json, "pull_request") != NULL,
        .is_locked = json_get_bool(json, names->locked, false),
        .comments = json_get_int(json, names->comments, 0),
    };
    return issue->number > 0 && issue->labels != NULL && issue->assignees != NULL &&
           json_get_string(json, "state", NULL) != NULL;
}

bool shape_issue(const struct forge_names *names, struct json_object *json,
                 struct forge_issue *ret_issue)
{
    struct forge_issue issue;
    if (!take_issue(names, json, &issue)) {
        forge_issue_fini(&issue);
        return false;
    }
    *ret_issue = issue;
    return true;
}

void forge_issue_fini(struct forge_issue *issue)
{
    free(issue->title);
    free(issue->body);
    free(issue->url);
    free(issue->author);
    memory_free_list(issue->labels);
    memory_free_list(issue->assignees);
    *issue = (struct forge_issue){0};
}

bool shape_comment(const struct forge_names *names, struct json_object *json, const char *time_key,
                   struct forge_comment *ret_comment)
{
    int64_t id = json_get_int(json, "id", 0);
    /* A comment of GitLab is `body`, too. */
    if (id <= 0 || json_get_string(json, time_key, NULL) == NULL) {
        return false;
    }
    *ret_comment = (struct forge_comment){
        .id = id,
        .body = shape_text(json, "body", LIMIT_FORGE_TEXT_BYTES),
        .author = shape_name(json_member(json, names->author), names->login),
        .author_trust = shape_association(json_get_string(json, "author_association", "")),
        .created_ns = shape_time(json, time_key),
        .updated_ns = shape_time(json, "updated_at"),
    };
    return true;
}

void shape_comment_fini(struct forge_comment *comment)
{
    free(comment->body);
    free(comment->author);
    *comment = (struct forge_comment){0};
}

/* ---- Pull requests --------------------------------------------------------------------------- */

static enum forge_pull_state pull_state(const struct forge_names *names, struct json_object *json)
{
    const char *state = json_get_string(json, "state", "");
    if (json_get_bool(json, "merged", false) || json_member(json, "merged_at") != NULL ||
        strcmp(state, "merged") == 0) {
        return FORGE_PULL_MERGED;
    }
    /* GitLab's "locked": it is being merged. */
    bool is_open = strcmp(state, names->open_state) == 0 || strcmp(state, "locked") == 0;
    return is_open ? FORGE_PULL_OPEN : FORGE_PULL_CLOSED;
}

/** A branch: the member itself, or `ref` in it. When the branch is no longer there Gitea has the
 *  reference of the pull request in its place, and the branch in `label`. Owned. */
static char *pull_branch(struct json_object *json, const char *key)
{
    struct json_object *branch = json_member(json, key);
    if (!json_object_is_type(branch, json_type_object)) {
        return shape_line(json, key, LIMIT_FORGE_NAME_BYTES);
    }
    bool is_gone = strncmp(json_get_string(branch, "ref", ""), "refs/pull/", 10) == 0;
    return shape_line(branch, is_gone ? "label" : "ref", LIMIT_FORGE_NAME_BYTES);
}

/** The commit of the branch. Owned; "" for what is no id. */
static char *pull_commit(const struct forge_names *names, struct json_object *json)
{
    struct json_object *branch = json_member(json, names->pull_source);
    char *id = shape_line(json_object_is_type(branch, json_type_object) ? branch : json, "sha",
                          LIMIT_FORGE_NAME_BYTES);
    size_t len = strlen(id);
    if ((len != 40 && len != 64) || strspn(id, "0123456789abcdef") != len) {
        id[0] = '\0';
    }
    return id;
}

bool shape_pull(const struct forge_names *names, struct json_object *json,
                struct forge_pull *ret_pull)
{
    int64_t number = json_get_int(json, names->number, 0);
    if (number <= 0 || json_get_string(json, "state", NULL) == NULL) {
        return false;
    }
    struct forge_pull pull = {
        .number = number,
        .url = shape_url(json, names->url),
        .head = pull_branch(json, names->pull_source),
        .head_id = pull_commit(names, json),
        .base = pull_branch(json, names->pull_target),
        .state = pull_state(names, json),
        .is_draft = json_get_bool(json, "draft", false),
    };
    if (pull.head[0] == '\0' || pull.base[0] == '\0') {
        forge_pull_fini(&pull);
        return false;
    }
    *ret_pull = pull;
    return true;
}

bool shape_pull_is_inside(const struct forge_names *names, struct json_object *json)
{
    struct json_object *head = json_member(json, names->pull_source);
    struct json_object *base = json_member(json, names->pull_target);
    bool is_flat = !json_object_is_type(head, json_type_object);
    int64_t source = is_flat ? json_get_int(json, "source_project_id", 0)
                             : json_get_int(json_member(head, "repo"), "id", 0);
    int64_t target = is_flat ? json_get_int(json, "target_project_id", 0)
                             : json_get_int(json_member(base, "repo"), "id", 0);
    return source > 0 && source == target;
}

bool shape_pull_is_of(const struct forge_names *names, struct json_object *json,
                      const char *full_name)
{
    struct json_object *repository = json_member(json_member(json, names->pull_source), "repo");
    return strcasecmp(json_get_string(repository, names->full_name, ""), full_name) == 0;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_among(char *const *names, const char *name)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        if (strcasecmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool shape_has_label(const struct forge_issue *issue, const char *label)
{
    return is_among(issue->labels, label);
}

bool shape_has_assignee(const struct forge_issue *issue, const char *login)
{
    return is_among(issue->assignees, login);
}
