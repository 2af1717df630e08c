// SPDX-License-Identifier: Apache-2.0
/* Pull requests, their reviews and checks. */
#include "forge_world.h"

#include "base/buf.h"
#include "base/limits.h"

#define SHA "0123456789012345678901234567890123456789"
#define PULL(number, head, repo, more)                                                  \
    "{\"number\":" #number ",\"state\":\"open\",\"html_url\":\"https://forge.test/p\"," \
    "\"head\":{\"ref\":\"" head "\",\"sha\":\"" SHA "\",\"repo\":{\"id\":" #repo        \
    "}},\"base\":{\"ref\":\"main\",\"repo\":{\"id\":1}}" more "}"
#define MERGE(iid, state)                                                             \
    "{\"iid\":" #iid ",\"state\":\"" state "\",\"web_url\":\"https://forge.test/m\"," \
    "\"source_branch\":\"rondo/7\",\"target_branch\":\"main\",\"sha\":\"" SHA "\","   \
    "\"source_project_id\":1,\"target_project_id\":1,\"draft\":true}"

static const struct forge_new_pull draft = {
    .title = "Fix", .head = "rondo/7", .base = "main", .body = "Closes #7", .is_draft = true};

/* ---- Finding and reading --------------------------------------------------------------------- */

FORGE_TEST(a_pull_request_is_read)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 200, NULL, PULL(12, "rondo/7", 1, ",\"draft\":true"));
    assert_int_equal(forge_read_pull(world->forge, 12, &pull), FORGE_OK);
    assert_string_equal(world_path(world, 0), "/api/repos/acme/shop/pulls/12");
    assert_int_equal(pull.number, 12);
    assert_string_equal(pull.head, "rondo/7");
    assert_string_equal(pull.head_id, SHA);
    assert_string_equal(pull.base, "main");
    assert_string_equal(pull.url, "https://forge.test/p");
    assert_true(pull.is_draft);
    assert_int_equal(pull.state, FORGE_PULL_OPEN);
    forge_pull_fini(&pull);
}

FORGE_TEST(an_answer_with_another_pull_request_is_refused)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 200, NULL, PULL(13, "rondo/7", 1, ""));
    assert_int_equal(forge_read_pull(world->forge, 12, &pull), FORGE_UNAVAILABLE);
    assert_null(pull.head);
}

FORGE_TEST(a_pull_request_that_has_not_changed_is_not_read_again)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    char etag[FORGE_ETAG_SIZE] = "";
    world_reply(world, 200, "ETag: \"one\"\r\n", PULL(12, "rondo/7", 1, ""));
    assert_int_equal(forge_reread_pull(world->forge, 12, etag, &pull), FORGE_OK);
    assert_string_equal(etag, "\"one\"");
    forge_pull_fini(&pull);
    world_reply(world, 304, NULL, "");
    assert_int_equal(forge_reread_pull(world->forge, 12, etag, &pull), FORGE_NOT_MODIFIED);
    assert_string_equal(world_header(world, 1, "If-None-Match"), "\"one\"");
    assert_null(pull.head);
    world_reply(world, 200, NULL, PULL(12, "rondo/7", 1, ""));
    assert_int_equal(forge_reread_pull(world->forge, 12, etag, &pull), FORGE_OK);
    assert_string_equal(etag, "");
    forge_pull_fini(&pull);
    assert_int_equal(world_requests(world), 3);
}

FORGE_TEST(states_of_pull_requests_are_told_apart)
{
    struct forge_world *world = *state;
    static const struct {
        enum forge_kind kind;
        const char *body;
        enum forge_pull_state state;
    } rows[] = {
        {FORGE_GITHUB, PULL(1, "x", 1, ",\"merged_at\":\"2026-11-20T10:00:00Z\""),
         FORGE_PULL_MERGED},
        {FORGE_GITHUB, PULL(1, "x", 1, ",\"merged_at\":null,\"merged\":false"), FORGE_PULL_OPEN},
        {FORGE_GITEA, PULL(1, "x", 1, ",\"merged\":true"), FORGE_PULL_MERGED},
        {FORGE_GITLAB, MERGE(1, "opened"), FORGE_PULL_OPEN},
        {FORGE_GITLAB, MERGE(1, "locked"), FORGE_PULL_OPEN},
        {FORGE_GITLAB, MERGE(1, "closed"), FORGE_PULL_CLOSED},
        {FORGE_GITLAB, MERGE(1, "merged"), FORGE_PULL_MERGED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_pull pull = {0};
        world_open(world, rows[i].kind, WORLD_TOKEN);
        world_reply(world, 200, NULL, rows[i].body);
        assert_int_equal(forge_read_pull(world->forge, 1, &pull), FORGE_OK);
        assert_int_equal(pull.state, rows[i].state);
        forge_pull_fini(&pull);
    }
}

FORGE_TEST(the_pull_request_of_a_branch_is_not_one_of_a_fork)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 200, NULL,
                "[" PULL(14, "rondo/7", 2, "") "," PULL(13, "rondo/70", 1, "") "," PULL(
                    12, "rondo/7", 1, "") "," PULL(11, "rondo/7", 1, "") "]");
    assert_int_equal(forge_find_pull(world->forge, NULL, "rondo/7", &pull), FORGE_OK);
    assert_string_equal(world_path(world, 0),
                        "/api/repos/acme/shop/pulls?state=all&sort=created&direction=desc"
                        "&per_page=30&head=acme%3Arondo%2F7");
    assert_int_equal(pull.number, 12);
    forge_pull_fini(&pull);
}

FORGE_TEST(gitea_keeps_the_name_of_a_branch_that_was_deleted)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(
        world, 200, NULL,
        "[{\"number\":3,\"state\":\"closed\",\"merged\":true,\"head\":{\"label\":\"rondo/7\","
        "\"ref\":\"refs/pull/3/head\",\"sha\":\"" SHA "\",\"repo\":{\"id\":1}},"
        "\"base\":{\"ref\":\"main\",\"repo\":{\"id\":1}}}]");
    assert_int_equal(forge_find_pull(world->forge, NULL, "rondo/7", &pull), FORGE_OK);
    assert_string_equal(pull.head, "rondo/7");
    assert_int_equal(pull.state, FORGE_PULL_MERGED);
    forge_pull_fini(&pull);
}

FORGE_TEST(a_branch_without_a_pull_request_has_none)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 200, NULL, "[" PULL(14, "rondo/7", 2, "") "]");
    assert_int_equal(forge_find_pull(world->forge, NULL, "rondo/7", &pull), FORGE_ABSENT);
    world_reply(world, 200, NULL, "{}");
    assert_int_equal(forge_find_pull(world->forge, NULL, "rondo/7", &pull), FORGE_UNAVAILABLE);
    world_reply(world, 200, NULL, "[{\"number\":1}]");
    assert_int_equal(forge_find_pull(world->forge, NULL, "rondo/7", &pull), FORGE_UNAVAILABLE);
}

FORGE_TEST(gitlab_finds_merge_requests_by_their_branch)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL, "[" MERGE(3, "closed") "]");
    assert_int_equal(forge_find_pull(world->forge, NULL, "rondo/7", &pull), FORGE_OK);
    assert_string_equal(world_path(world, 0),
                        "/api/projects/acme%2Fshop/merge_requests?state=all&order_by=created_at"
                        "&sort=desc&per_page=30&source_branch=rondo%2F7");
    assert_int_equal(pull.number, 3);
    assert_int_equal(pull.state, FORGE_PULL_CLOSED);
    forge_pull_fini(&pull);
}

/* ---- Creating -------------------------------------------------------------------------------- */

FORGE_TEST(a_draft_is_created_in_the_language_of_each_forge)
{
    struct forge_world *world = *state;
    static const struct {
        enum forge_kind kind;
        const char *reply, *request;
    } rows[] = {
        {FORGE_GITHUB, PULL(12, "rondo/7", 1, ""),
         "POST /api/repos/acme/shop/pulls {\"title\":\"Fix\",\"head\":\"rondo/7\","
         "\"base\":\"main\",\"body\":\"Closes #7\",\"draft\":true}"},
        {FORGE_GITEA, PULL(12, "rondo/7", 1, ""),
         "POST /api/repos/acme/shop/pulls {\"title\":\"WIP: Fix\",\"head\":\"rondo/7\","
         "\"base\":\"main\",\"body\":\"Closes #7\"}"},
        {FORGE_GITLAB, MERGE(12, "opened"),
         "POST /api/projects/acme%2Fshop/merge_requests {\"title\":\"Draft: Fix\","
         "\"source_branch\":\"rondo/7\",\"target_branch\":\"main\","
         "\"description\":\"Closes #7\"}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_pull pull = {0};
        world_open(world, rows[i].kind, WORLD_TOKEN);
        world_reply(world, 201, NULL, rows[i].reply);
        assert_int_equal(forge_create_pull(world->forge, &draft, &pull), FORGE_OK);
        assert_string_equal(world_line(world, i), rows[i].request);
        assert_int_equal(pull.number, 12);
        forge_pull_fini(&pull);
    }
}

FORGE_TEST(where_drafts_are_refused_an_ordinary_pull_request_is_created)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 422, NULL,
                "{\"message\":\"Draft pull requests are not supported in this repository.\"}");
    world_reply(world, 201, NULL, PULL(12, "rondo/7", 1, ""));
    assert_int_equal(forge_create_pull(world->forge, &draft, &pull), FORGE_OK);
    assert_null(strstr(world_line(world, 1), "draft"));
    assert_false(pull.is_draft);
    forge_pull_fini(&pull);
}

FORGE_TEST(a_second_pull_request_is_a_conflict)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 422, NULL,
                "{\"message\":\"Validation Failed\",\"errors\":[{\"message\":"
                "\"A pull request already exists for acme:rondo/7.\"}]}");
    assert_int_equal(forge_create_pull(world->forge, &draft, &pull), FORGE_CONFLICT);
    assert_int_equal(world_requests(world), 1);
    assert_non_null(strstr(world_message(world), "already exists"));
}

FORGE_TEST(an_answer_without_a_pull_request_leaves_it_uncertain)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 201, NULL, "{}");
    assert_int_equal(forge_create_pull(world->forge, &draft, &pull), FORGE_UNCERTAIN);
    assert_int_equal(world_requests(world), 1);
}

/* ---- Forks ----------------------------------------------------------------------------------- */

#define OF_FORK(number, full_name)                                                      \
    "{\"number\":" #number ",\"state\":\"open\",\"html_url\":\"https://forge.test/p\"," \
    "\"head\":{\"ref\":\"rondo/7\",\"sha\":\"" SHA "\",\"repo\":{\"id\":2,"             \
    "\"full_name\":\"" full_name "\"}},\"base\":{\"ref\":\"main\",\"repo\":{\"id\":1}}}"
#define MERGE_OF(iid, source, target)                                               \
    "{\"iid\":" #iid ",\"state\":\"opened\",\"web_url\":\"https://forge.test/m\","  \
    "\"source_branch\":\"rondo/7\",\"target_branch\":\"main\",\"sha\":\"" SHA "\"," \
    "\"source_project_id\":" #source ",\"target_project_id\":" #target "}"
#define FORK_PROJECT "{\"id\":2,\"path_with_namespace\":\"sam/team/shop\"}"
#define OWN_PROJECT  "{\"id\":1,\"path_with_namespace\":\"acme/shop\"}"

FORGE_TEST(the_pull_request_of_a_fork_is_not_one_of_another)
{
    struct forge_world *world = *state;
    static const enum forge_kind kinds[] = {FORGE_GITHUB, FORGE_GITEA};
    static const char *const paths[] = {
        "/api/repos/acme/shop/pulls?state=all&sort=created&direction=desc&per_page=30"
        "&head=sam%3Arondo%2F7",
        "/api/repos/acme/shop/pulls?state=all&limit=50"};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct forge_pull pull = {0};
        world_open(world, kinds[i], WORLD_TOKEN);
        world_reply(world, 200, NULL,
                    "[" PULL(16, "rondo/7", 1, "") "," OF_FORK(15, "sam/shop-2") "," OF_FORK(
                        14, "Sam/Shop") "," OF_FORK(13, "sam/shop") "]");
        assert_int_equal(forge_find_pull(world->forge, "sam/shop", "rondo/7", &pull), FORGE_OK);
        assert_string_equal(world_path(world, i), paths[i]);
        assert_int_equal(pull.number, 14);
        forge_pull_fini(&pull);
    }
}

FORGE_TEST(a_fork_that_was_deleted_has_no_pull_request)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_reply(world, 200, NULL,
                "[{\"number\":1,\"state\":\"open\",\"head\":{\"ref\":\"rondo/7\",\"sha\":\"" SHA
                "\",\"repo\":null},\"base\":{\"ref\":\"main\",\"repo\":{\"id\":1}}}]");
    assert_int_equal(forge_find_pull(world->forge, "sam/shop", "rondo/7", &pull), FORGE_ABSENT);
}

FORGE_TEST(gitlab_compares_the_projects_of_merge_requests)
{
    struct forge_world *world = *state;
    struct forge_pull pull = {0};
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL, FORK_PROJECT);
    world_reply(world, 200, NULL,
                "[" MERGE_OF(5, 3, 1) "," MERGE_OF(4, 1, 1) "," MERGE_OF(3, 2, 1) "]");
    assert_int_equal(forge_find_pull(world->forge, "sam/team/shop", "rondo/7", &pull), FORGE_OK);
    assert_string_equal(world_path(world, 0), "/api/projects/sam%2Fteam%2Fshop");
    assert_non_null(strstr(world_path(world, 1), "/api/projects/acme%2Fshop/merge_requests?"));
    assert_int_equal(pull.number, 3);
    forge_pull_fini(&pull);
    world_reply(world, 200, NULL, OWN_PROJECT);
    assert_int_equal(forge_find_pull(world->forge, "sam/team/shop", "rondo/7", &pull),
                     FORGE_UNAVAILABLE);
}

/** Open a pull request from a fork. @return the end */
static enum forge_end create_from(struct forge_world *world, const char *fork)
{
    struct forge_pull pull = {0};
    const struct forge_new_pull order = {.title = "Fix",
                                         .head = "rondo/7",
                                         .base = "main",
                                         .body = "Closes #7",
                                         .fork = fork,
                                         .is_draft = true};
    enum forge_end end = forge_create_pull(world->forge, &order, &pull);
    forge_pull_fini(&pull);
    return end;
}

FORGE_TEST(a_branch_of_a_fork_is_named_in_the_language_of_each_forge)
{
    struct forge_world *world = *state;
    static const struct {
        enum forge_kind kind;
        const char *fork, *reply, *request;
    } rows[] = {
        {FORGE_GITHUB, "sam/shop", OF_FORK(12, "sam/shop"),
         "POST /api/repos/acme/shop/pulls {\"title\":\"Fix\",\"head\":\"sam:rondo/7\","
         "\"base\":\"main\",\"body\":\"Closes #7\",\"draft\":true}"},
        {FORGE_GITHUB, "Acme/shop-2", OF_FORK(12, "acme/shop-2"),
         "POST /api/repos/acme/shop/pulls {\"title\":\"Fix\",\"head\":\"Acme:rondo/7\","
         "\"head_repo\":\"shop-2\",\"base\":\"main\",\"body\":\"Closes #7\",\"draft\":true}"},
        {FORGE_GITEA, "sam/shop", OF_FORK(12, "sam/shop"),
         "POST /api/repos/acme/shop/pulls {\"title\":\"WIP: Fix\",\"head\":\"sam:rondo/7\","
         "\"base\":\"main\",\"body\":\"Closes #7\"}"},
        {FORGE_GITEA, "acme/shop-2", OF_FORK(12, "acme/shop-2"),
         "POST /api/repos/acme/shop/pulls {\"title\":\"WIP: Fix\","
         "\"head\":\"acme/shop-2:rondo/7\",\"base\":\"main\",\"body\":\"Closes #7\"}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        world_open(world, rows[i].kind, WORLD_TOKEN);
        world_reply(world, 201, NULL, rows[i].reply);
        assert_int_equal(create_from(world, rows[i].fork), FORGE_OK);
        assert_string_equal(world_line(world, i), rows[i].request);
    }
}

FORGE_TEST(gitlab_is_asked_below_the_fork_with_the_number_of_the_project)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL, FORK_PROJECT);
    world_reply(world, 200, NULL, OWN_PROJECT);
    world_reply(world, 201, NULL, MERGE_OF(12, 2, 1));
    assert_int_equal(create_from(world, "sam/team/shop"), FORGE_OK);
    assert_string_equal(world_path(world, 1), "/api/projects/acme%2Fshop");
    assert_string_equal(world_line(world, 2),
                        "POST /api/projects/sam%2Fteam%2Fshop/merge_requests "
                        "{\"title\":\"Draft: Fix\",\"source_branch\":\"rondo/7\","
                        "\"target_project_id\":1,\"target_branch\":\"main\","
                        "\"description\":\"Closes #7\"}");
}

FORGE_TEST(a_new_pull_request_from_another_source_is_uncertain)
{
    struct forge_world *world = *state;
    static const char *const merges[] = {MERGE_OF(12, 2, 2), MERGE_OF(12, 1, 1)};
    world_reply(world, 201, NULL, PULL(12, "rondo/7", 1, ""));
    assert_int_equal(create_from(world, "sam/shop"), FORGE_UNCERTAIN);
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    for (size_t i = 0; i < COUNT(merges); i++) {
        world_reply(world, 200, NULL, FORK_PROJECT);
        world_reply(world, 200, NULL, OWN_PROJECT);
        world_reply(world, 201, NULL, merges[i]);
        assert_int_equal(create_from(world, "sam/team/shop"), FORGE_UNCERTAIN);
    }
}

FORGE_TEST(a_name_that_cannot_be_a_fork_makes_no_request)
{
    struct forge_world *world = *state;
    static const char *const names[] = {"",           "shop",       "sam/",       "/shop",
                                        "sam/..",     "../shop",    "sam/shop/x", "sam/sh?op",
                                        "sam%2fshop", "sam/shop#x", "acme/shop",  "ACME/Shop",
                                        "sam//shop",  "sam/shop:x", "sam\\shop/x"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct forge_pull pull = {0};
        struct forge_fork fork = {0};
        assert_int_equal(create_from(world, names[i]), FORGE_CONFLICT);
        assert_int_equal(forge_find_pull(world->forge, names[i], "x", &pull), FORGE_CONFLICT);
        assert_int_equal(forge_read_fork(world->forge, names[i], &fork), FORGE_CONFLICT);
    }
    assert_int_equal(world_requests(world), 0);
}

#define FORK(full_name, clone_url, more) \
    "{\"id\":2,\"full_name\":\"" full_name "\",\"clone_url\":\"" clone_url "\"," more "}"
#define PUSH "\"permissions\":{\"push\":true}"
#define FROM "\"fork\":true,\"parent\":{\"full_name\":\"Acme/Shop\"}"
#define PROJECT(from, level)                                                      \
    "{\"id\":2,\"path_with_namespace\":\"sam/shop\","                             \
    "\"http_url_to_repo\":\"https://forge.test/sam/shop.git\",\"archived\":true," \
    "\"forked_from_project\":" from ",\"permissions\":{\"project_access\":{"      \
    "\"access_level\":" #level "},\"group_access\":null}}"

FORGE_TEST(a_fork_says_where_it_comes_from_and_what_may_be_done)
{
    struct forge_world *world = *state;
    static const struct {
        enum forge_kind kind;
        const char *reply;
        bool is_fork, can_push, is_archived;
    } rows[] = {
        {FORGE_GITHUB, FORK("Sam/Shop", "https://forge.test/sam/shop.git", FROM "," PUSH), true,
         true, false},
        {FORGE_GITHUB,
         FORK("sam/shop", "https://forge.test/Sam/Shop",
              "\"parent\":{\"full_name\":\"bob/shop\"},\"source\":{\"full_name\":\"acme/shop\"}"),
         true, false, false},
        {FORGE_GITHUB,
         FORK("sam/shop", "https://forge.test/sam/shop.git",
              PUSH ",\"archived\":true,\"parent\":{\"full_name\":\"acme/shop-2\"}"),
         false, true, true},
        {FORGE_GITEA, FORK("sam/shop", "https://forge.test/sam/shop.git", FROM "," PUSH), true,
         true, false},
        {FORGE_GITEA, FORK("sam/shop", "https://forge.test/sam/shop.git", "\"parent\":null"), false,
         false, false},
        {FORGE_GITLAB, PROJECT("{\"path_with_namespace\":\"acme/shop\"}", 40), true, true, true},
        {FORGE_GITLAB, PROJECT("{\"path_with_namespace\":\"acme/shop\"}", 20), true, false, true},
        {FORGE_GITLAB, PROJECT("null", 30), false, true, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_fork fork = {0};
        world_open(world, rows[i].kind, WORLD_TOKEN);
        world_reply(world, 200, NULL, rows[i].reply);
        assert_int_equal(forge_read_fork(world->forge, "sam/shop", &fork), FORGE_OK);
        assert_int_equal(fork.is_fork, rows[i].is_fork);
        assert_int_equal(fork.can_push, rows[i].can_push);
        assert_int_equal(fork.is_archived, rows[i].is_archived);
        assert_non_null(strstr(fork.clone_url, "https://forge.test/"));
        forge_fork_fini(&fork);
    }
    assert_string_equal(world_path(world, 0), "/api/repos/sam/shop");
    assert_string_equal(world_path(world, COUNT(rows) - 1), "/api/projects/sam%2Fshop");
}

FORGE_TEST(an_answer_with_another_fork_is_refused)
{
    struct forge_world *world = *state;
    static const char *const replies[] = {
        FORK("sam/shop", "https://forge.test.evil.org/sam/shop.git", FROM),
        FORK("sam/shop", "https://evil.org/sam/shop.git", FROM),
        FORK("sam/shop", "https://forge.test:8443/sam/shop.git", FROM),
        FORK("sam/shop", "https://forge.test/eve/shop.git", FROM),
        FORK("sam/shop", "https://forge.test@evil.org/sam/shop.git", FROM),
        FORK("sam/shop", "https://eve:pass@forge.test/sam/shop.git", FROM),
        FORK("sam/shop", "https://eve@forge.test/sam/shop.git", FROM),
        FORK("sam/shop", "ssh://git@forge.test/sam/shop.git", FROM),
        FORK("sam/shop", "git://forge.test/sam/shop.git", FROM),
        FORK("sam/shop", "/sam/shop.git", FROM),
        FORK("sam/shop", "", FROM),
        FORK("eve/shop", "https://forge.test/sam/shop.git", FROM),
        FORK("", "https://forge.test/sam/shop.git", FROM),
        "{\"full_name\":\"sam/shop\",\"clone_url\":\"https://forge.test/sam/shop.git\"}",
        "[]",
    };
    for (size_t i = 0; i < COUNT(replies); i++) {
        struct forge_fork fork = {0};
        world_reply(world, 200, NULL, replies[i]);
        assert_int_equal(forge_read_fork(world->forge, "sam/shop", &fork), FORGE_UNAVAILABLE);
        assert_null(fork.clone_url);
    }
    struct forge_fork fork = {0};
    world_reply(world, 404, NULL, "{}");
    assert_int_equal(forge_read_fork(world->forge, "sam/shop", &fork), FORGE_ABSENT);
}

/* ---- Reviews --------------------------------------------------------------------------------- */

#define REVIEW(id, login, state, minute, body)                                               \
    "{\"id\":" #id ",\"user\":{\"login\":\"" login "\"},\"author_association\":\"MEMBER\","  \
    "\"state\":\"" state "\",\"body\":\"" body "\",\"submitted_at\":\"2026-11-20T10:" minute \
    ":00Z\"}"
/** 2026-11-20T10:10:00Z */
#define AFTER_NS (INT64_C(1795169400) * NS_PER_S)

/** Read reviews since ten past ten. @return whether changes are wanted */
static bool read_reviews(struct forge_world *world, struct forge_comments *ret_comments)
{
    bool wants = false;
    assert_int_equal(forge_read_reviews(world->forge, 12, AFTER_NS, ret_comments, &wants),
                     FORGE_OK);
    return wants;
}

FORGE_TEST(a_member_who_asks_for_changes_is_heard)
{
    struct forge_world *world = *state;
    struct forge_comments comments = {0};
    world_reply(world, 200, NULL, "[" REVIEW(5, "ann", "CHANGES_REQUESTED", "20", "No.") "]");
    world_reply(world, 200, NULL,
                "[{\"id\":6,\"user\":{\"login\":\"bob\"},\"body\":\"why?\",\"path\":\"src/a.c\","
                "\"line\":12,\"created_at\":\"2026-11-20T10:15:00Z\"},{\"id\":4,\"user\":"
                "{\"login\":\"bob\"},\"body\":\"old\",\"path\":\"src/a.c\",\"line\":1,"
                "\"created_at\":\"2026-11-20T10:10:00Z\"}]");
    world_reply(world, 200, NULL, "{\"permission\":\"write\"}");
    assert_true(read_reviews(world, &comments));
    assert_int_equal(comments.count, 2);
    assert_string_equal(comments.items[0].body, "src/a.c:12: why?");
    assert_int_equal(comments.items[0].author_trust, FORGE_STRANGER);
    assert_string_equal(comments.items[1].body, "No.");
    assert_int_equal(comments.items[1].author_trust, FORGE_MEMBER);
    forge_comments_fini(&comments);
}

FORGE_TEST(the_last_word_of_a_reviewer_counts)
{
    struct forge_world *world = *state;
    static const struct {
        const char *reviews;
        const char *permission; /* NULL = not read */
        bool wants;
    } rows[] = {
        {REVIEW(5, "ann", "CHANGES_REQUESTED", "20", "") "," REVIEW(6, "ann", "APPROVED", "30", ""),
         NULL, false},
        {REVIEW(6, "ann", "APPROVED", "30", "") "," REVIEW(5, "Ann", "CHANGES_REQUESTED", "20", ""),
         NULL, false},
        {REVIEW(5, "ann", "APPROVED", "20", "") "," REVIEW(6, "ann", "CHANGES_REQUESTED", "30", ""),
         "write", true},
        {REVIEW(5, "ann", "CHANGES_REQUESTED", "20", "") "," REVIEW(6, "ann", "COMMENTED", "30",
                                                                    ""),
         "write", true},
        {REVIEW(5, "ann", "CHANGES_REQUESTED", "10", "old"), NULL, false},
        {REVIEW(5, "ann", "DISMISSED", "20", ""), NULL, false},
        {REVIEW(5, "eve", "CHANGES_REQUESTED", "20", ""), "read", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_comments comments = {0};
        struct buf body = {0};
        char permission[100];
        buf_printf(&body, "[%s]", rows[i].reviews);
        world_reply(world, 200, NULL, buf_string(&body));
        world_reply(world, 200, NULL, "[]");
        if (rows[i].permission != NULL) {
            snprintf(permission, sizeof(permission), "{\"permission\":\"%s\"}", rows[i].permission);
            world_reply(world, 200, NULL, permission);
        }
        assert_int_equal(read_reviews(world, &comments), rows[i].wants);
        assert_int_equal(comments.count, 0);
        forge_comments_fini(&comments);
        buf_fini(&body);
    }
}

FORGE_TEST(gitea_has_comments_below_reviews)
{
    struct forge_world *world = *state;
    struct forge_comments comments = {0};
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(world, 200, NULL,
                "[{\"id\":5,\"user\":{\"login\":\"ann\"},\"state\":\"REQUEST_CHANGES\",\"body\":"
                "\"No.\",\"comments_count\":1,\"submitted_at\":\"2026-11-20T10:20:00Z\"}]");
    world_reply(world, 200, NULL,
                "[{\"id\":6,\"user\":{\"login\":\"ann\"},\"body\":\"why?\",\"path\":\"a.c\","
                "\"position\":3,\"created_at\":\"2026-11-20T10:20:00Z\"}]");
    http_peer_always(world->peer, 200, NULL, "[{\"login\":\"ann\"}]"); /* members */
    assert_true(read_reviews(world, &comments));
    assert_string_equal(world_path(world, 1), "/api/repos/acme/shop/pulls/12/reviews/5/comments");
    assert_int_equal(comments.count, 2);
    assert_int_equal(comments.items[0].author_trust, FORGE_MEMBER);
    forge_comments_fini(&comments);
}

FORGE_TEST(a_reviewer_on_gitlab_who_has_said_something_new_is_heard)
{
    struct forge_world *world = *state;
    static const char *const times[] = {"10:20", "10:05"};
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    for (size_t i = 0; i < COUNT(times); i++) {
        struct forge_comments comments = {0};
        struct buf body = {0};
        buf_printf(&body,
                   "[{\"id\":6,\"type\":\"DiffNote\",\"author\":{\"username\":\"ann\"},\"body\":"
                   "\"why?\",\"position\":{\"new_path\":\"a.c\",\"new_line\":3},"
                   "\"created_at\":\"2026-11-20T%s:00.000Z\"},{\"id\":7,\"body\":\"hi\","
                   "\"created_at\":\"2026-11-20T10:30:00Z\"}]",
                   times[i]);
        world_reply(world, 200, NULL, buf_string(&body));
        world_reply(world, 200, NULL,
                    "[{\"user\":{\"username\":\"ann\"},\"state\":\"requested_changes\"}]");
        if (i == 0) { /* Members for the comments, and again for the one who decides. */
            world_reply(world, 200, NULL, "[{\"username\":\"ann\",\"access_level\":40}]");
            world_reply(world, 200, NULL, "[{\"username\":\"ann\",\"access_level\":40}]");
        }
        assert_int_equal(read_reviews(world, &comments), i == 0);
        assert_int_equal(comments.count, i == 0);
        forge_comments_fini(&comments);
        buf_fini(&body);
    }
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/** Read checks. @param ret_names owned, or NULL */
static enum forge_checks read_checks(struct forge_world *world, char **ret_names)
{
    enum forge_checks checks = FORGE_CHECKS_NONE;
    assert_int_equal(forge_read_checks(world->forge, SHA, &checks, ret_names), FORGE_OK);
    return checks;
}

FORGE_TEST(checks_of_github_are_runs_and_statuses)
{
    struct forge_world *world = *state;
#define RUN(status, conclusion) \
    "{\"name\":\"build\",\"status\":\"" status "\",\"conclusion\":" conclusion "}"
#define STATUS(state) "{\"context\":\"ci/lint\",\"state\":\"" state "\"}"
    static const struct {
        const char *runs, *statuses;
        enum forge_checks checks;
        const char *names;
    } rows[] = {
        {"", "", FORGE_CHECKS_NONE, NULL},
        {RUN("completed", "\"success\""), "", FORGE_CHECKS_PASSED, NULL},
        {RUN("completed", "\"skipped\""), STATUS("success"), FORGE_CHECKS_PASSED, NULL},
        {RUN("in_progress", "null"), STATUS("success"), FORGE_CHECKS_PENDING, NULL},
        {RUN("completed", "\"success\""), STATUS("pending"), FORGE_CHECKS_PENDING, NULL},
        {RUN("completed", "\"never heard of\""), "", FORGE_CHECKS_PENDING, NULL},
        {RUN("completed", "\"failure\""), STATUS("error"), FORGE_CHECKS_FAILED, "build, ci/lint"},
        {RUN("queued", "null"), STATUS("failure"), FORGE_CHECKS_FAILED, "ci/lint"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[300];
        char *names = NULL;
        snprintf(body, sizeof(body), "{\"total_count\":1,\"check_runs\":[%s]}", rows[i].runs);
        world_reply(world, 200, NULL, body);
        snprintf(body, sizeof(body), "{\"state\":\"x\",\"statuses\":[%s]}", rows[i].statuses);
        world_reply(world, 200, NULL, body);
        assert_int_equal(read_checks(world, &names), rows[i].checks);
        assert_int_equal(names == NULL, rows[i].names == NULL);
        if (names != NULL) {
            assert_string_equal(names, rows[i].names);
        }
        free(names);
    }
    assert_string_equal(world_path(world, 0),
                        "/api/repos/acme/shop/commits/" SHA "/check-runs?per_page=100");
}

FORGE_TEST(a_check_of_gitlab_may_be_allowed_to_fail)
{
    struct forge_world *world = *state;
    char *names = NULL;
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL,
                "[{\"name\":\"lint\",\"status\":\"failed\",\"allow_failure\":true},"
                "{\"name\":\"test\",\"status\":\"success\"}]");
    assert_int_equal(read_checks(world, &names), FORGE_CHECKS_PASSED);
    world_reply(world, 200, NULL, "[{\"name\":\"test\",\"status\":\"failed\"}]");
    assert_int_equal(read_checks(world, &names), FORGE_CHECKS_FAILED);
    assert_string_equal(names, "test");
    free(names);
}

FORGE_TEST(a_commit_of_gitea_without_checks_has_none)
{
    struct forge_world *world = *state;
    char *names = NULL;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(world, 200, NULL, "{\"state\":\"\",\"statuses\":null}");
    assert_int_equal(read_checks(world, &names), FORGE_CHECKS_NONE);
    world_reply(world, 200, NULL, "{\"statuses\":[{\"context\":\"ci\",\"status\":\"failure\"}]}");
    assert_int_equal(read_checks(world, &names), FORGE_CHECKS_FAILED);
    assert_string_equal(names, "ci");
    free(names);
}

FORGE_TEST(what_is_no_commit_is_not_part_of_an_address)
{
    struct forge_world *world = *state;
    static const char *const commits[] = {"", "main", "../x", SHA "0", SHA "/../../x"};
    for (size_t i = 0; i < COUNT(commits); i++) {
        enum forge_checks checks = FORGE_CHECKS_NONE;
        char *names = NULL;
        assert_int_equal(forge_read_checks(world->forge, commits[i], &checks, &names),
                         FORGE_CONFLICT);
    }
    assert_int_equal(world_requests(world), 0);
}
