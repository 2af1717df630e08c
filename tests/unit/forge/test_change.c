// SPDX-License-Identifier: Apache-2.0
/* Labels and comments, and the repository, in the language of each kind. */
#include "forge_world.h"

#include "base/buf.h"
#include "base/limits.h"

/* ---- Labels ---------------------------------------------------------------------------------- */

FORGE_TEST(a_label_is_added_to_the_others)
{
    struct forge_world *world = *state;
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(forge_add_label(world->forge, 7, "in progress"), FORGE_OK);
    assert_string_equal(world_line(world, 0), "POST /api/repos/acme/shop/issues/7/labels "
                                              "{\"labels\":[\"in progress\"]}");
}

FORGE_TEST(a_label_is_removed_by_its_escaped_name)
{
    struct forge_world *world = *state;
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(forge_remove_label(world->forge, 7, "a/b c?#%"), FORGE_OK);
    assert_string_equal(world_line(world, 0),
                        "DELETE /api/repos/acme/shop/issues/7/labels/a%2Fb%20c%3F%23%25");
}

FORGE_TEST(a_label_that_is_not_there_is_removed)
{
    struct forge_world *world = *state;
    world_reply(world, 404, NULL, "{\"message\":\"Label does not exist\"}");
    assert_int_equal(forge_remove_label(world->forge, 7, "code"), FORGE_OK);
}

FORGE_TEST(a_name_that_would_be_another_address_is_refused)
{
    struct forge_world *world = *state;
    static const char *const names[] = {"", ".", ".."};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(forge_remove_label(world->forge, 7, names[i]), FORGE_CONFLICT);
        assert_int_equal(forge_add_label(world->forge, 7, names[i]), FORGE_CONFLICT);
    }
    assert_int_equal(world_requests(world), 0);
}

FORGE_TEST(a_label_of_the_repository_is_made_once)
{
    struct forge_world *world = *state;
    world_reply(world, 200, NULL, "{\"id\":1,\"name\":\"code\"}");
    assert_int_equal(forge_ensure_label(world->forge, "code", "00ff00", "work"), FORGE_OK);
    assert_int_equal(world_requests(world), 1);
    world_reply(world, 404, NULL, "");
    world_reply(world, 201, NULL, "{\"id\":1}");
    assert_int_equal(forge_ensure_label(world->forge, "code", "00ff00", "work"), FORGE_OK);
    assert_string_equal(world_line(world, 2), "POST /api/repos/acme/shop/labels {\"name\":\"code\","
                                              "\"color\":\"00ff00\",\"description\":\"work\"}");
    world_reply(world, 404, NULL, "");
    world_reply(world, 422, NULL, "{\"errors\":[{\"code\":\"already_exists\"}]}");
    assert_int_equal(forge_ensure_label(world->forge, "code", "00ff00", "work"), FORGE_OK);
}

FORGE_TEST(a_label_is_looked_up_without_creating_it)
{
    struct forge_world *world = *state;
    bool is_there = false;
    world_reply(world, 200, NULL, "[{\"id\":1,\"name\":\"bug\"},{\"id\":2,\"name\":\"Code\"}]");
    assert_int_equal(forge_has_label(world->forge, "code", &is_there), FORGE_OK);
    assert_true(is_there);
    world_reply(world, 200, NULL, "[{\"id\":1,\"name\":\"bug\"}]");
    assert_int_equal(forge_has_label(world->forge, "code", &is_there), FORGE_OK);
    assert_false(is_there);
    world_reply(world, 403, NULL, "");
    is_there = true;
    assert_true(forge_has_label(world->forge, "code", &is_there) != FORGE_OK);
    assert_false(is_there);
}

FORGE_TEST(gitea_knows_labels_by_number)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    http_peer_always(world->peer, 200, NULL,
                     "[{\"id\":3,\"name\":\"x\"},{\"id\":4,\"name\":\"Code\"}]");
    assert_int_equal(forge_add_label(world->forge, 7, "code"), FORGE_OK);
    assert_string_equal(world_line(world, 1),
                        "POST /api/repos/acme/shop/issues/7/labels {\"labels\":[4]}");
    assert_int_equal(forge_remove_label(world->forge, 7, "code"), FORGE_OK);
    assert_string_equal(world_line(world, 3), "DELETE /api/repos/acme/shop/issues/7/labels/4");
    assert_int_equal(forge_remove_label(world->forge, 7, "none"), FORGE_OK);
    assert_int_equal(world_requests(world), 5);
}

FORGE_TEST(gitea_removes_a_label_of_the_organization)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(world, 200, NULL, "[{\"id\":90,\"name\":\"code\"}]");
    world_reply(world, 204, NULL, "");
    assert_int_equal(forge_remove_label(world->forge, 7, "code"), FORGE_OK);
    assert_string_equal(world_path(world, 0), "/api/repos/acme/shop/issues/7/labels?limit=50");
    assert_string_equal(world_line(world, 1), "DELETE /api/repos/acme/shop/issues/7/labels/90");
}

FORGE_TEST(gitea_gets_a_label_that_it_does_not_know)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 201, NULL, "{\"id\":5}");
    world_reply(world, 200, NULL, "[{\"id\":5,\"name\":\"code\"}]");
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(forge_add_label(world->forge, 7, "code"), FORGE_OK);
    assert_string_equal(world_line(world, 4),
                        "POST /api/repos/acme/shop/issues/7/labels {\"labels\":[5]}");
}

FORGE_TEST(gitlab_changes_parts_of_the_labels)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    http_peer_always(world->peer, 200, NULL, "{}");
    assert_int_equal(forge_add_label(world->forge, 7, "work::ready"), FORGE_OK);
    assert_string_equal(world_line(world, 0), "PUT /api/projects/acme%2Fshop/issues/7 "
                                              "{\"add_labels\":\"work::ready\"}");
    assert_int_equal(forge_remove_label(world->forge, 7, "code"), FORGE_OK);
    assert_string_equal(world_line(world, 1), "PUT /api/projects/acme%2Fshop/issues/7 "
                                              "{\"remove_labels\":\"code\"}");
    assert_int_equal(forge_add_label(world->forge, 7, "a,b"), FORGE_CONFLICT);
    assert_int_equal(world_requests(world), 2);
}

/* ---- Comments -------------------------------------------------------------------------------- */

#define COMMENT(id)                                                                \
    "{\"id\":" #id ",\"body\":\"c" #id "\",\"user\":{\"login\":\"ann\"},"          \
    "\"author_association\":\"NONE\",\"created_at\":\"2026-11-20T10:00:00.250Z\"," \
    "\"updated_at\":\"2026-11-20T11:00:00+01:00\"}"

FORGE_TEST(comments_after_an_id_are_in_the_order_of_ids)
{
    struct forge_world *world = *state;
    struct forge_comments comments = {0};
    world_reply(world, 200, NULL, "[" COMMENT(5) "," COMMENT(12) "," COMMENT(9) "]");
    assert_int_equal(forge_list_comments(world->forge, 7, 5, &comments), FORGE_OK);
    assert_string_equal(world_path(world, 0),
                        "/api/repos/acme/shop/issues/7/comments?per_page=100");
    assert_int_equal(comments.count, 2);
    assert_int_equal(comments.items[0].id, 9);
    assert_int_equal(comments.items[1].id, 12);
    assert_string_equal(comments.items[0].body, "c9");
    assert_string_equal(comments.items[0].author, "ann");
    assert_int_equal(comments.items[0].author_trust, FORGE_STRANGER);
    assert_int_equal(comments.items[0].created_ns - comments.items[0].updated_ns, 250 * NS_PER_MS);
    forge_comments_fini(&comments);
}

FORGE_TEST(comments_are_at_most_so_many)
{
    struct forge_world *world = *state;
    struct forge_comments comments = {0};
    struct buf body = {0};
    for (size_t i = 1; i <= LIMIT_FORGE_COMMENTS + 1; i++) {
        buf_printf(&body, "%s{\"id\":%zu,\"body\":\"\",\"created_at\":\"2026-11-20T10:00:00Z\"}",
                   i == 1 ? "[" : ",", i);
    }
    buf_append_string(&body, "]");
    world_reply(world, 200, NULL, buf_string(&body));
    assert_int_equal(forge_list_comments(world->forge, 7, 0, &comments), FORGE_OK);
    assert_int_equal(comments.count, LIMIT_FORGE_COMMENTS);
    forge_comments_fini(&comments);
    world_reply(world, 200, NULL, buf_string(&body));
    assert_int_equal(forge_list_comments(world->forge, 7, 1, &comments), FORGE_OK);
    assert_int_equal(comments.count, LIMIT_FORGE_COMMENTS);
    forge_comments_fini(&comments);
    buf_fini(&body);
}

FORGE_TEST(texts_of_comments_are_bounded_together)
{
    struct forge_world *world = *state;
    struct forge_comments comments = {0};
    struct buf page = {0};
    struct buf body = {0};
    size_t most = LIMIT_FORGE_LIST_BYTES / LIMIT_FORGE_TEXT_BYTES;
    char headers[300];
    memset(buf_room(&body, LIMIT_FORGE_TEXT_BYTES), 'a', LIMIT_FORGE_TEXT_BYTES);
    buf_grown(&body, LIMIT_FORGE_TEXT_BYTES);
    snprintf(headers, sizeof(headers), "Link: <%s>; rel=\"next\"\r\n",
             http_peer_url(world->peer, "/api/more"));
    for (size_t i = 1; i <= most + 100; i++) {
        buf_printf(&page, "%s{\"id\":%zu,\"created_at\":\"2026-11-20T10:00:00Z\",\"body\":\"%s\"}",
                   page.len == 0 ? "[" : ",", i, buf_string(&body));
        if (i % 100 == 0) {
            buf_append_string(&page, "]");
            world_reply(world, 200, headers, buf_string(&page));
            buf_clear(&page);
        }
    }
    assert_int_equal(forge_list_comments(world->forge, 7, 0, &comments), FORGE_OK);
    assert_int_equal(comments.count, most);
    forge_comments_fini(&comments);
    buf_fini(&page);
    buf_fini(&body);
}

FORGE_TEST(what_is_no_comment_makes_no_list_of_comments)
{
    struct forge_world *world = *state;
    struct forge_comments comments = {0};
    static const char *const bodies[] = {"{}", "[{}]", "[{\"id\":-1,\"created_at\":\"x\"}]",
                                         "[" COMMENT(5) ",7]"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        world_reply(world, 200, NULL, bodies[i]);
        assert_int_equal(forge_list_comments(world->forge, 7, 0, &comments), FORGE_UNAVAILABLE);
    }
}

FORGE_TEST(a_comment_is_added_edited_and_deleted)
{
    struct forge_world *world = *state;
    int64_t id = 0;
    world_reply(world, 201, NULL, COMMENT(31));
    assert_int_equal(forge_add_comment(world->forge, 7, "a \"b\"", &id), FORGE_OK);
    assert_int_equal(id, 31);
    assert_string_equal(world_line(world, 0), "POST /api/repos/acme/shop/issues/7/comments "
                                              "{\"body\":\"a \\\"b\\\"\"}");
    world_reply(world, 200, NULL, COMMENT(31));
    assert_int_equal(forge_edit_comment(world->forge, 7, 31, "c"), FORGE_OK);
    assert_string_equal(world_line(world, 1),
                        "PATCH /api/repos/acme/shop/issues/comments/31 {\"body\":\"c\"}");
    world_reply(world, 204, NULL, "");
    assert_int_equal(forge_delete_comment(world->forge, 7, 31), FORGE_OK);
    assert_string_equal(world_line(world, 2), "DELETE /api/repos/acme/shop/issues/comments/31");
    world_reply(world, 404, NULL, "");
    assert_int_equal(forge_delete_comment(world->forge, 7, 31), FORGE_OK);
}

FORGE_TEST(a_comment_without_an_id_may_be_there)
{
    struct forge_world *world = *state;
    int64_t id = 0;
    static const char *const bodies[] = {"", "[]", "<html>", "{\"id\":0}"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        world_reply(world, 201, NULL, bodies[i]);
        assert_int_equal(forge_add_comment(world->forge, 7, "a", &id), FORGE_UNCERTAIN);
    }
    assert_int_equal(id, 0);
}

FORGE_TEST(gitlab_has_notes)
{
    struct forge_world *world = *state;
    struct forge_comments comments = {0};
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL,
                "[{\"id\":1,\"body\":\"changed\",\"system\":true,\"created_at\":\"x\"},"
                "{\"id\":2,\"body\":\"hi\",\"author\":{\"username\":\"ann\"},"
                "\"created_at\":\"2026-11-20T10:00:00Z\"}]");
    world_reply(world, 200, NULL,
                "[{\"id\":4,\"username\":\"Ann\",\"state\":\"active\",\"access_level\":30}]");
    assert_int_equal(forge_list_comments(world->forge, 7, 0, &comments), FORGE_OK);
    assert_int_equal(comments.count, 1);
    assert_string_equal(comments.items[0].author, "ann");
    assert_int_equal(comments.items[0].author_trust, FORGE_MEMBER);
    forge_comments_fini(&comments);
    world_reply(world, 200, NULL, "{\"id\":2}");
    assert_int_equal(forge_edit_comment(world->forge, 7, 2, "c"), FORGE_OK);
    assert_string_equal(world_line(world, 2),
                        "PUT /api/projects/acme%2Fshop/issues/7/notes/2 {\"body\":\"c\"}");
}

/* ---- The repository -------------------------------------------------------------------------- */

FORGE_TEST(a_repository_says_what_the_token_may_do)
{
    struct forge_world *world = *state;
    struct forge_repository repository = {0};
    world_reply(world, 200, NULL,
                "{\"id\":1,\"default_branch\":\"main\",\"archived\":false,\"has_issues\":true,"
                "\"clone_url\":\"https://forge.test/acme/shop.git\",\"size\":12,"
                "\"permissions\":{\"admin\":false,\"push\":true,\"triage\":true,\"pull\":true}}");
    world_reply(world, 200, NULL, "{\"login\":\"robot\"}");
    assert_int_equal(forge_read_repository(world->forge, &repository), FORGE_OK);
    assert_string_equal(repository.default_branch, "main");
    assert_string_equal(repository.clone_url, "https://forge.test/acme/shop.git");
    assert_string_equal(repository.login, "robot");
    assert_true(repository.can_push && repository.can_triage && repository.can_pull);
    assert_true(repository.has_issues);
    assert_false(repository.is_archived || repository.is_empty);
    forge_repository_fini(&repository);
}

FORGE_TEST(a_repository_without_branches_is_empty)
{
    struct forge_world *world = *state;
    struct forge_repository repository = {0};
    world_reply(world, 200, NULL, "{\"id\":1,\"size\":0,\"archived\":true}");
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 403, NULL, "{\"message\":\"not for apps\"}");
    assert_int_equal(forge_read_repository(world->forge, &repository), FORGE_OK);
    assert_true(repository.is_empty);
    assert_true(repository.is_archived);
    assert_false(repository.can_push);
    assert_null(repository.login);
    assert_int_equal(forge_outcome(world->forge)->end, FORGE_OK);
    forge_repository_fini(&repository);
}

FORGE_TEST(gitlab_says_rights_by_level)
{
    struct forge_world *world = *state;
    struct forge_repository repository = {0};
    world_open(world, FORGE_GITLAB, WORLD_TOKEN);
    world_reply(world, 200, NULL,
                "{\"id\":1,\"default_branch\":\"main\",\"http_url_to_repo\":\"https://g/a.git\","
                "\"empty_repo\":true,\"issues_access_level\":\"disabled\",\"permissions\":"
                "{\"project_access\":null,\"group_access\":{\"access_level\":20}}}");
    world_reply(world, 200, NULL, "{\"username\":\"robot\"}");
    assert_int_equal(forge_read_repository(world->forge, &repository), FORGE_OK);
    assert_string_equal(repository.clone_url, "https://g/a.git");
    assert_string_equal(repository.login, "robot");
    assert_false(repository.can_push || repository.has_issues);
    assert_true(repository.can_triage && repository.is_empty);
    forge_repository_fini(&repository);
}
