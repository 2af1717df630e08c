// SPDX-License-Identifier: Apache-2.0
#include "forge/people.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "forge/parts.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** How long a list of members is used. */
#define MEMBERS_NS (10 * 60 * NS_PER_S)
/** Events of one issue that are looked through for its labels. */
#define MOST_EVENTS 5000

/* ---- Members --------------------------------------------------------------------------------- */

void people_forget(struct forge *forge)
{
    for (size_t i = 0; i < forge->member_count; i++) {
        free(forge->members[i].login);
    }
    free(forge->members);
    forge->members = NULL;
    forge->member_count = 0;
    forge->members_read_ns = 0;
}

static bool take_members(void *context, struct json_object *entries)
{
    struct forge *forge = context;
    size_t count = json_length(entries);
    if (forge->member_count + count > LIMIT_FORGE_MEMBERS) {
        count = LIMIT_FORGE_MEMBERS - forge->member_count;
    }
    forge->members =
        memory_resize(forge->members, forge->member_count + count + 1, sizeof(*forge->members));
    for (size_t i = 0; i < count; i++) {
        struct json_object *member = json_object_array_get_idx(entries, i);
        forge->members[forge->member_count++] = (struct forge_known_member){
            .login = shape_name(member, forge->ops->names.login),
            .trust = forge->ops->trust_of_member(member),
        };
    }
    return forge->member_count < LIMIT_FORGE_MEMBERS;
}

/** Whom a token may not ask for, nobody is known of: all are strangers. A token that has expired
 *  says nothing of people. */
static enum forge_end read_members(struct forge *forge)
{
    auto_buf struct buf path = {0};
    people_forget(forge);
    buf_printf(&path, "%s/%s", forge->root, forge->ops->members);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_members, .context = forge};
    enum forge_end end = forge_read_list(forge, &list);
    bool is_refused = end == FORGE_FORBIDDEN || end == FORGE_ABSENT ||
                      (end == FORGE_AUTH && forge->authorization.len == 0);
    if (end != FORGE_OK && !is_refused) {
        people_forget(forge);
        return end;
    }
    forge->members_read_ns = clock_monotonic(forge->clock);
    return forge_end_with(forge, FORGE_OK, "%s", "");
}

/** Have members that are not too old. */
static enum forge_end need_members(struct forge *forge)
{
    int64_t age_ns = clock_monotonic(forge->clock) - forge->members_read_ns;
    bool is_known = forge->members_read_ns != 0 && age_ns < MEMBERS_NS;
    return is_known ? FORGE_OK : read_members(forge);
}

static enum forge_trust trust_of(const struct forge *forge, const char *login)
{
    for (size_t i = 0; i < forge->member_count; i++) {
        /* An account that was deleted has no name: it is nobody's. */
        if (login[0] != '\0' && strcasecmp(forge->members[i].login, login) == 0) {
            return forge->members[i].trust;
        }
    }
    return FORGE_STRANGER;
}

enum forge_end people_find(struct forge *forge, const char *login, bool is_fresh,
                           enum forge_trust *ret_trust)
{
    enum forge_end end = is_fresh ? read_members(forge) : need_members(forge);
    if (end == FORGE_OK) {
        *ret_trust = trust_of(forge, login);
    }
    return end;
}

enum forge_end people_fill_issues(struct forge *forge, struct forge_issues *issues)
{
    if (forge->ops->members == NULL || issues->count == 0) {
        return FORGE_OK;
    }
    enum forge_end end = need_members(forge);
    for (size_t i = 0; end == FORGE_OK && i < issues->count; i++) {
        issues->items[i].author_trust = trust_of(forge, issues->items[i].author);
    }
    return end;
}

enum forge_end people_fill_comments(struct forge *forge, struct forge_comments *comments)
{
    if (forge->ops->members == NULL || comments->count == 0) {
        return FORGE_OK;
    }
    enum forge_end end = need_members(forge);
    for (size_t i = 0; end == FORGE_OK && i < comments->count; i++) {
        comments->items[i].author_trust = trust_of(forge, comments->items[i].author);
    }
    return end;
}

enum forge_end forge_read_trust(struct forge *forge, const char *login, enum forge_trust *ret_trust)
{
    enum forge_end end = parts_check_name(forge, login);
    return end != FORGE_OK ? end : forge->ops->read_trust(forge, login, ret_trust);
}

/* ---- Who labelled ---------------------------------------------------------------------------- */

/** Who put a label on, so far. */
struct labeller_search {
    const struct forge *forge;
    const char *label;
    char *login;
    int64_t time_ns;
    size_t events;
};

static bool take_events(void *context, struct json_object *entries)
{
    struct labeller_search *search = context;
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *event = json_object_array_get_idx(entries, i);
        struct json_object *account = search->forge->ops->labeller_of(event);
        const char *name = json_get_string(json_member(event, "label"), "name", "");
        int64_t time_ns = shape_time(event, "created_at");
        if (account != NULL && strcasecmp(name, search->label) == 0 && time_ns >= search->time_ns) {
            free(search->login);
            search->login = shape_name(account, search->forge->ops->names.login);
            search->time_ns = time_ns;
        }
    }
    search->events += json_length(entries);
    return search->events < MOST_EVENTS;
}

enum forge_end forge_find_labeller(struct forge *forge, int64_t number, const char *label,
                                   char **ret_login)
{
    auto_buf struct buf path = {0};
    struct labeller_search search = {.forge = forge, .label = label};
    buf_printf(&path, "%s/issues/%" PRId64 "/%s?%s", forge->root, number, forge->ops->label_events,
               forge->ops->names.page_size);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_events, .context = &search};
    enum forge_end end = forge_read_list(forge, &list);
    if (end == FORGE_OK && search.events >= MOST_EVENTS) {
        end = forge_end_with(forge, FORGE_UNAVAILABLE,
                             "%s: the issue has too many events to tell who labelled it",
                             forge->place.host);
    }
    bool is_known = search.login != NULL && search.login[0] != '\0';
    if (end == FORGE_OK) {
        *ret_login = is_known ? steal_pointer(&search.login) : NULL;
    }
    free(search.login);
    return end;
}

/* ---- Assignees ------------------------------------------------------------------------------- */

static enum forge_end change_assignee(struct forge *forge, int64_t number, const char *login,
                                      bool adds)
{
    auto_reply struct forge_reply reply = {0};
    struct forge_issue issue = {0};
    enum forge_end end = parts_check_name(forge, login);
    if (end == FORGE_OK) {
        end = forge->ops->change_assignee(forge, number, login, adds, &reply);
    }
    /* Some forges refuse an account that cannot be assigned, others leave it out without a word. */
    if (end == FORGE_CONFLICT) {
        forge->outcome.end = FORGE_FORBIDDEN;
        return FORGE_FORBIDDEN;
    }
    if (end != FORGE_OK || reply.json == NULL) {
        return end;
    }
    if (!shape_issue(&forge->ops->names, reply.json, &issue)) {
        return forge_bad_answer(forge, true, "an issue");
    }
    bool is_done = shape_has_assignee(&issue, login) == adds;
    forge_issue_fini(&issue);
    return is_done ? end
                   : forge_end_with(forge, FORGE_FORBIDDEN, "%s: `%.100s` cannot be %s",
                                    forge->place.host, login, adds ? "assigned" : "unassigned");
}

enum forge_end forge_assign(struct forge *forge, int64_t number, const char *login)
{
    return change_assignee(forge, number, login, true);
}

enum forge_end forge_unassign(struct forge *forge, int64_t number, const char *login)
{
    return change_assignee(forge, number, login, false);
}
