// SPDX-License-Identifier: Apache-2.0
/* Whose word starts work: trust, who labelled, assignees; and what issues have to do with others.
 */
#include "forge_world.h"

#include "base/buf.h"
#include "base/limits.h"

#define ISSUE(number, author, assignees)                                              \
    "{\"number\":" #number ",\"iid\":" #number ",\"title\":\"T\",\"state\":\"open\"," \
    "\"user\":{\"login\":\"" author "\"},\"author\":{\"username\":\"" author "\"},"   \
    "\"assignees\":" assignees "}"

/* ---- Trust ----------------------------------------------------------------------------------- */

FORGE_TEST(who_may_write_on_github_is_a_member)
{
    struct forge_world *world = *state;
    static const struct {
        const char *permission;
        enum forge_trust trust;
    } rows[] = {{"admin", FORGE_MEMBER},
                {"write", FORGE_MEMBER},
                {"read", FORGE_STRANGER},
                {"none", FORGE_STRANGER},
                {"", FORGE_STRANGER}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[100];
        enum forge_trust trust = FORGE_CONTRIBUTOR;
        snprintf(body, sizeof(body), "{\"permission\":\"%s\"}", rows[i].permission);
        world_reply(world, 200, NULL, body);
        assert_int_equal(forge_read_trust(world->forge, "a[bot]", &trust), FORGE_OK);
        assert_int_equal(trust, rows[i].trust);
    }
    assert_string_equal(world_path(world, 0),
                        "/api/repos/acme/shop/collaborators/a%5Bbot%5D/permission");
}

FORGE_TEST(an_account_that_is_not_there_is_a_stranger)
{
    struct forge_world *world = *state;
    enum forge_trust trust = FORGE_MEMBER;
    world_reply(world, 404, NULL, "{}");
    assert_int_equal(forge_read_trust(world->forge, "ann", &trust), FORGE_OK);
    assert_int_equal(trust, FORGE_STRANGER);
}

FORGE_TEST(trust_that_cannot_be_read_is_none)
{
    struct forge_world *world = *state;
    enum forge_trust trust = FORGE_STRANGER;
    world_reply(world, 403, NULL, "{\"message\":\"Must have push access\"}");
    assert_int_equal(forge_read_trust(world->forge, "ann", &trust), FORGE_FORBIDDEN);
    world_reply(world, 200, NULL, "{}");
    assert_int_equal(forge_read_trust(world->forge, "ann", &trust), FORGE_UNAVAILABLE);
    assert_int_equal(forge_read_trust(world->forge, "..", &trust), FORGE_CONFLICT);
    assert_int_equal(trust, FORGE_STRANGER);
}

FORGE_TEST(associations_of_github_have_their_trust)
{
    struct forge_world *world = *state;
    static const struct {
        const char *association;
        enum forge_trust trust;
    } rows[] = {{"OWNER", FORGE_MEMBER},         {"MEMBER", FORGE_MEMBER},
                {"COLLABORATOR", FORGE_MEMBER},  {"CONTRIBUTOR", FORGE_CONTRIBUTOR},
                {"FIRST_TIMER", FORGE_STRANGER}, {"NONE", FORGE_STRANGER},
                {"member", FORGE_STRANGER},      {"", FORGE_STRANGER}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[200];
        struct forge_issue issue = {0};
        snprintf(body, sizeof(body),
                 "{\"number\":7,\"state\":\"open\",\"author_association\":\"%s\"}",
                 rows[i].association);
        world_reply(world, 200, NULL, body);
        assert_int_equal(forge_read_issue(world->forge, 7, &issue), FORGE_OK);
        assert_int_equal(issue.author_trust, rows[i].trust);
        forge_issue_fini(&issue);
    }
}

static enum forge_trust trust_of_author(struct forge_world *world, enum forge_end *ret_end)
{
    struct forge_issue issue = {0};
    *ret_end = forge_read_issue(world->forge, 7, &issue);
    enum forge_trust trust = issue.author_trust;
    forge_issue_fini(&issue);
    return trust;
}

FORGE_TEST(gitea_lists_those_who_may_write)
{
    struct forge_world *world = *state;
    enum forge_end end;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(world, 200, NULL, ISSUE(7, "ann", "null"));
    world_reply(world, 200, NULL, "[{\"login\":\"Ann\"}]");
    assert_int_equal(trust_of_author(world, &end), FORGE_MEMBER);
    assert_string_equal(world_path(world, 1), "/api/repos/acme/shop/assignees");
    /* The list is used for some minutes. */
    world_reply(world, 200, NULL, ISSUE(7, "eve", "null"));
    assert_int_equal(trust_of_author(world, &end), FORGE_STRANGER);
    assert_int_equal(world_requests(world), 3);
    world->passed_ns += 11 * 60 * NS_PER_S;
    world_reply(world, 200, NULL, ISSUE(7, "ann", "null"));
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(trust_of_author(world, &end), FORGE_STRANGER);
    assert_int_equal(end, FORGE_OK);
}

FORGE_TEST(who_may_not_list_members_knows_none)
{
    struct forge_world *world = *state;
    enum forge_end end;
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[]"));
    world_reply(world, 403, NULL, "{}");
    assert_int_equal(trust_of_author(world, &end), FORGE_STRANGER);
    assert_int_equal(end, FORGE_OK);
}

FORGE_TEST(an_expired_token_makes_nobody_a_stranger)
{
    struct forge_world *world = *state;
    enum forge_end end;
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[]"));
    world_reply(world, 401, NULL, "{}");
    trust_of_author(world, &end);
    assert_int_equal(end, FORGE_AUTH);
    world_open(world, FORGE_GITLAB, NULL);
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[]"));
    world_reply(world, 401, NULL, "{}");
    assert_int_equal(trust_of_author(world, &end), FORGE_STRANGER);
    assert_int_equal(end, FORGE_OK);
}

FORGE_TEST(an_author_without_a_usable_name_is_not_a_member)
{
    struct forge_world *world = *state;
    enum forge_end end;
    struct buf members = {0};
    struct buf issue = {0};
    char name[LIMIT_FORGE_NAME_BYTES + 2] = "";
    memset(name, 'a', LIMIT_FORGE_NAME_BYTES);
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    buf_printf(&members, "[{\"login\":\"\"},{},7,{\"login\":\"%s\"},{\"login\":\"%sb\"}]", name,
               name);
    world_reply(world, 200, NULL, ISSUE(7, "", "null"));
    world_reply(world, 200, NULL, buf_string(&members));
    assert_int_equal(trust_of_author(world, &end), FORGE_STRANGER);
    assert_int_equal(end, FORGE_OK);
    /* The longest name is a member; a longer one is ignored, not cut to this one. */
    for (size_t i = 0; i < 2; i++) {
        buf_clear(&issue);
        buf_printf(&issue, "{\"number\":7,\"state\":\"open\",\"user\":{\"login\":\"%s\"}}", name);
        world_reply(world, 200, NULL, buf_string(&issue));
        assert_int_equal(trust_of_author(world, &end), i == 0 ? FORGE_MEMBER : FORGE_STRANGER);
        name[LIMIT_FORGE_NAME_BYTES] = 'c';
    }
    buf_fini(&members);
    buf_fini(&issue);
}

FORGE_TEST(an_issue_without_its_trust_is_not_read)
{
    struct forge_world *world = *state;
    enum forge_end end;
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[]"));
    http_peer_always(world->peer, 500, NULL, "");
    trust_of_author(world, &end);
    assert_int_equal(end, FORGE_UNAVAILABLE);
}

FORGE_TEST(levels_of_gitlab_have_their_trust)
{
    struct forge_world *world = *state;
    static const struct {
        const char *member;
        enum forge_trust trust;
    } rows[] = {{"\"access_level\":50", FORGE_MEMBER},
                {"\"access_level\":30", FORGE_MEMBER},
                {"\"access_level\":20", FORGE_CONTRIBUTOR},
                {"\"access_level\":10", FORGE_STRANGER},
                {"\"access_level\":50,\"state\":\"blocked\"", FORGE_STRANGER}};
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[200];
        enum forge_trust trust = FORGE_STRANGER;
        snprintf(body, sizeof(body), "[{\"username\":\"ann\",%s}]", rows[i].member);
        world_reply(world, 200, NULL, body);
        assert_int_equal(forge_read_trust(world->forge, "ann", &trust), FORGE_OK);
        assert_int_equal(trust, rows[i].trust);
    }
}

FORGE_TEST(members_past_the_limit_are_strangers)
{
    struct forge_world *world = *state;
    struct buf body = {0};
    enum forge_trust trust = FORGE_STRANGER;
    char login[32];
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    for (size_t i = 1; i <= LIMIT_FORGE_MEMBERS + 1; i++) {
        buf_printf(&body, "%s{\"login\":\"u%zu\"}", i == 1 ? "[" : ",", i);
    }
    buf_append_string(&body, "]");
    http_peer_always(world->peer, 200, NULL, buf_string(&body));
    snprintf(login, sizeof(login), "u%zu", LIMIT_FORGE_MEMBERS);
    assert_int_equal(forge_read_trust(world->forge, login, &trust), FORGE_OK);
    assert_int_equal(trust, FORGE_MEMBER);
    snprintf(login, sizeof(login), "u%zu", LIMIT_FORGE_MEMBERS + 1);
    assert_int_equal(forge_read_trust(world->forge, login, &trust), FORGE_OK);
    assert_int_equal(trust, FORGE_STRANGER);
    buf_fini(&body);
}

/* ---- Who labelled ---------------------------------------------------------------------------- */

#define LABELED(event, label, login, time)                                                      \
    "{\"event\":\"" event "\",\"label\":{\"name\":\"" label "\"},\"actor\":{\"login\":\"" login \
    "\"},\"created_at\":\"2026-11-20T10:00:" time "Z\"}"

FORGE_TEST(the_last_one_to_put_a_label_on_is_found)
{
    struct forge_world *world = *state;
    char *login = NULL;
    world_reply(world, 200, NULL,
                "[" LABELED("labeled", "code", "ann", "01") "," LABELED(
                    "unlabeled", "code", "bob",
                    "02") "," LABELED("labeled", "Code", "eve",
                                      "03") "," LABELED("labeled", "other", "joe",
                                                        "04") "," LABELED("labeled", "code", "old",
                                                                          "02") "]");
    assert_int_equal(forge_find_labeller(world->forge, 7, "code", &login), FORGE_OK);
    assert_string_equal(world_path(world, 0), "/api/repos/acme/shop/issues/7/events?per_page=100");
    assert_string_equal(login, "eve");
    free(login);
}

FORGE_TEST(a_label_that_nobody_put_on_has_no_labeller)
{
    struct forge_world *world = *state;
    char *login = memory_dup_string("x");
    char *before = login;
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(forge_find_labeller(world->forge, 7, "code", &login), FORGE_OK);
    assert_null(login);
    free(before);
}

FORGE_TEST(of_too_many_events_the_labeller_is_not_known)
{
    struct forge_world *world = *state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct buf body = {0};
        char *login = NULL;
        buf_append_string(&body, "[" LABELED("labeled", "code", "ann", "01"));
        for (size_t i = 1; i < 4999 + extra; i++) {
            buf_append_string(&body, ",{\"event\":\"mentioned\"}");
        }
        buf_append_string(&body, "]");
        world_reply(world, 200, NULL, buf_string(&body));
        assert_int_equal(forge_find_labeller(world->forge, 7, "code", &login),
                         extra == 0 ? FORGE_OK : FORGE_UNAVAILABLE);
        assert_int_equal(login == NULL, extra == 1);
        free(login);
        buf_fini(&body);
    }
}

FORGE_TEST(each_forge_tells_labels_in_its_way)
{
    struct forge_world *world = *state;
    char *login = NULL;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(world, 200, NULL,
                "[{\"type\":\"label\",\"body\":\"1\",\"label\":{\"name\":\"code\"},\"user\":"
                "{\"login\":\"ann\"},\"created_at\":\"2026-11-20T10:00:00+01:00\"},"
                "{\"type\":\"label\",\"body\":\"\",\"label\":{\"name\":\"code\"},\"user\":"
                "{\"login\":\"bob\"},\"created_at\":\"2026-11-20T11:00:00+01:00\"}]");
    assert_int_equal(forge_find_labeller(world->forge, 7, "code", &login), FORGE_OK);
    assert_string_equal(world_path(world, 0), "/api/repos/acme/shop/issues/7/timeline?limit=50");
    assert_string_equal(login, "ann");
    free(login);
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL,
                "[{\"action\":\"add\",\"label\":{\"name\":\"code\"},\"user\":"
                "{\"username\":\"cat\"},\"created_at\":\"2026-11-20T10:00:00.000Z\"}]");
    assert_int_equal(forge_find_labeller(world->forge, 7, "code", &login), FORGE_OK);
    assert_string_equal(login, "cat");
    free(login);
}

/* ---- Assignees ------------------------------------------------------------------------------- */

FORGE_TEST(github_assigns_beside_others)
{
    struct forge_world *world = *state;
    world_reply(world, 201, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"},{\"login\":\"robot\"}]"));
    assert_int_equal(forge_assign(world->forge, 7, "Robot"), FORGE_OK);
    assert_string_equal(world_line(world, 0), "POST /api/repos/acme/shop/issues/7/assignees "
                                              "{\"assignees\":[\"Robot\"]}");
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"}]"));
    assert_int_equal(forge_unassign(world->forge, 7, "robot"), FORGE_OK);
    assert_string_equal(world_line(world, 1), "DELETE /api/repos/acme/shop/issues/7/assignees "
                                              "{\"assignees\":[\"robot\"]}");
}

FORGE_TEST(an_assignment_that_is_ignored_is_forbidden)
{
    struct forge_world *world = *state;
    world_reply(world, 201, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"}]"));
    assert_int_equal(forge_assign(world->forge, 7, "robot"), FORGE_FORBIDDEN);
    world_reply(world, 422, NULL, "{\"message\":\"Assignee does not exist\"}");
    assert_int_equal(forge_assign(world->forge, 7, "robot"), FORGE_FORBIDDEN);
    assert_int_equal(forge_outcome(world->forge)->end, FORGE_FORBIDDEN);
    world_reply(world, 201, NULL, "{}");
    assert_int_equal(forge_assign(world->forge, 7, "robot"), FORGE_UNCERTAIN);
}

FORGE_TEST(gitea_gets_all_who_are_assigned)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"}]"));
    world_reply(world, 200, NULL, "[]"); /* members */
    world_reply(world, 201, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"},{\"login\":\"robot\"}]"));
    assert_int_equal(forge_assign(world->forge, 7, "robot"), FORGE_OK);
    assert_string_equal(world_line(world, 2), "PATCH /api/repos/acme/shop/issues/7 "
                                              "{\"assignees\":[\"bob\",\"robot\"]}");
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"},{\"login\":\"robot\"}]"));
    assert_int_equal(forge_assign(world->forge, 7, "robot"), FORGE_OK);
    assert_int_equal(world_requests(world), 4); /* It was so already. */
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"},{\"login\":\"robot\"}]"));
    world_reply(world, 201, NULL, ISSUE(7, "ann", "[{\"login\":\"bob\"}]"));
    assert_int_equal(forge_unassign(world->forge, 7, "robot"), FORGE_OK);
    assert_string_equal(world_line(world, 5), "PATCH /api/repos/acme/shop/issues/7 "
                                              "{\"assignees\":[\"bob\"]}");
}

FORGE_TEST(gitlab_assigns_by_number)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL, "[{\"id\":9,\"username\":\"robot\"}]");
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[{\"id\":4,\"username\":\"bob\"}]"));
    world_reply(
        world, 200, NULL,
        ISSUE(7, "ann", "[{\"id\":4,\"username\":\"bob\"},{\"id\":9,\"username\":\"robot\"}]"));
    assert_int_equal(forge_assign(world->forge, 7, "robot"), FORGE_OK);
    assert_string_equal(world_line(world, 2),
                        "PUT /api/projects/acme%2Fshop/issues/7 {\"assignee_ids\":[4,9]}");
    world_reply(world, 200, NULL, "[{\"id\":9,\"username\":\"robot\"}]");
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[{\"id\":9,\"username\":\"robot\"}]"));
    world_reply(world, 200, NULL, ISSUE(7, "ann", "[]"));
    assert_int_equal(forge_unassign(world->forge, 7, "robot"), FORGE_OK);
    assert_string_equal(world_line(world, 5),
                        "PUT /api/projects/acme%2Fshop/issues/7 {\"assignee_ids\":[0]}");
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(forge_assign(world->forge, 7, "nobody"), FORGE_FORBIDDEN);
}

/* ---- Relations ------------------------------------------------------------------------------- */

FORGE_TEST(open_blockers_are_counted)
{
    struct forge_world *world = *state;
    int64_t count = -1;
    world_reply(world, 200, NULL,
                "[{\"state\":\"open\"},{\"state\":\"closed\"},{\"state\":\"open\"}]");
    assert_int_equal(forge_count_blockers(world->forge, 7, &count), FORGE_OK);
    assert_int_equal(count, 2);
    assert_string_equal(world_path(world, 0),
                        "/api/repos/acme/shop/issues/7/dependencies/blocked_by?per_page=100");
    world_reply(world, 404, NULL, "");
    assert_int_equal(forge_count_blockers(world->forge, 7, &count), FORGE_OK);
    assert_int_equal(count, 0);
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL,
                "[{\"state\":\"opened\",\"link_type\":\"is_blocked_by\"},"
                "{\"state\":\"opened\",\"link_type\":\"relates_to\"},"
                "{\"state\":\"closed\",\"link_type\":\"is_blocked_by\"}]");
    assert_int_equal(forge_count_blockers(world->forge, 7, &count), FORGE_OK);
    assert_int_equal(count, 1);
}

FORGE_TEST(children_of_the_repository_are_listed_in_their_order)
{
    struct forge_world *world = *state;
    struct forge_issues issues = {0};
    world_reply(
        world, 200, NULL,
        "[" ISSUE(9, "ann", "[]") "," ISSUE(
            3, "ann",
            "[]") ",{\"number\":4,\"state\":"
                  "\"open\",\"repository_url\":\"https://forge.test/api/repos/other/shop\"},"
                  "{\"number\":5,\"state\":\"open\",\"repository_url\":"
                  "\"https://forge.test/api/repos/Acme/Shop\"}]");
    assert_int_equal(forge_list_children(world->forge, 7, &issues), FORGE_OK);
    assert_int_equal(issues.count, 3);
    assert_int_equal(issues.items[0].number, 9);
    assert_int_equal(issues.items[1].number, 3);
    assert_int_equal(issues.items[2].number, 5);
    forge_issues_fini(&issues);
    world_reply(world, 200, NULL, "[{}]");
    assert_int_equal(forge_list_children(world->forge, 7, &issues), FORGE_UNAVAILABLE);
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    assert_int_equal(forge_list_children(world->forge, 7, &issues), FORGE_OK);
    assert_int_equal(issues.count, 0);
}

FORGE_TEST(children_are_at_most_so_many)
{
    struct forge_world *world = *state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct buf body = {0};
        struct forge_issues issues = {0};
        for (size_t i = 1; i <= LIMIT_FORGE_CHILDREN + extra; i++) {
            buf_printf(&body, "%s{\"number\":%zu,\"state\":\"open\"}", i == 1 ? "[" : ",", i);
        }
        buf_append_string(&body, "]");
        world_reply(world, 200, NULL, buf_string(&body));
        assert_int_equal(forge_list_children(world->forge, 7, &issues), FORGE_OK);
        assert_int_equal(issues.count, LIMIT_FORGE_CHILDREN);
        forge_issues_fini(&issues);
        buf_fini(&body);
    }
}
