// SPDX-License-Identifier: Apache-2.0
/* Lists of issues: filters, pages, conditional requests. */
#include "forge_world.h"

#include "base/buf.h"
#include "base/limits.h"

static const char *const code[] = {"code", NULL};

/** An issue as GitHub has it, appended. @param extra further members, or "" */
static void add_issue(struct buf *list, int number, const char *label, const char *extra)
{
    buf_printf(list,
               "%s{\"number\":%d,\"title\":\"Issue %d\",\"body\":\"b\",\"state\":\"open\","
               "\"html_url\":\"https://forge.test/acme/shop/issues/%d\","
               "\"user\":{\"login\":\"ann\"},\"author_association\":\"MEMBER\","
               "\"labels\":[{\"name\":\"%s\"}],\"assignees\":[{\"login\":\"bob\"}],"
               "\"created_at\":\"2026-11-%02dT10:00:00Z\",\"updated_at\":\"2026-11-20T10:00:00Z\","
               "\"comments\":2,\"locked\":false%s}",
               list->len > 0 ? "," : "[", number, number, number, label, 1 + number % 28, extra);
}

/** A list of issues with numbers from..to. Lives until the next call. */
static const char *issues(int from, int to)
{
    static struct buf list;
    buf_clear(&list);
    for (int i = from; i <= to; i++) {
        add_issue(&list, i, "code", "");
    }
    buf_append_string(&list, list.len > 0 ? "]" : "[]");
    return buf_string(&list);
}

static size_t count_list(struct forge_world *world, enum forge_end *ret_end)
{
    struct forge_issues list = {0};
    *ret_end = forge_list_issues(world->forge, code, &list);
    size_t count = list.count;
    forge_issues_fini(&list);
    return count;
}

static enum forge_end list_again(struct forge_world *world)
{
    enum forge_end end;
    count_list(world, &end);
    return end;
}

FORGE_TEST(open_issues_with_the_label_are_listed_oldest_first)
{
    struct forge_world *world = *state;
    struct buf body = {0};
    struct forge_issues list = {0};
    add_issue(&body, 9, "Code", "");
    add_issue(&body, 3, "code", "");
    add_issue(&body, 4, "other", "");
    add_issue(&body, 5, "code", ",\"pull_request\":{\"url\":\"x\"}");
    buf_append_string(&body, "]");
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 200, NULL, buf_string(&body));
    assert_int_equal(forge_list_issues(world->forge, code, &list), FORGE_OK);
    assert_string_equal(world_path(world, 1),
                        "/api/repos/acme/shop/issues?state=open&sort=created&direction=asc"
                        "&per_page=100&labels=code");
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].number, 3);
    assert_int_equal(list.items[1].number, 9);
    assert_string_equal(list.items[0].title, "Issue 3");
    assert_string_equal(list.items[0].author, "ann");
    assert_int_equal(list.items[0].author_trust, FORGE_MEMBER);
    assert_string_equal(list.items[0].assignees[0], "bob");
    assert_true(list.items[0].is_open);
    assert_int_equal(list.items[0].comments, 2);
    assert_true(list.items[0].updated_ns == INT64_C(1795168800) * NS_PER_S);
    forge_issues_fini(&list);
    buf_fini(&body);
}

FORGE_TEST(an_answer_that_is_no_list_is_never_an_empty_list)
{
    struct forge_world *world = *state;
    static const char *const bodies[] = {
        "{\"message\":\"oops\"}", "", "null", "[1]", "[{}]", "<html>"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        enum forge_end end;
        world_reply(world, 200, NULL, "[]");
        world_reply(world, 200, NULL, bodies[i]);
        assert_int_equal(count_list(world, &end), 0);
        assert_int_equal(end, FORGE_UNAVAILABLE);
    }
}

FORGE_TEST(an_empty_list_is_one)
{
    struct forge_world *world = *state;
    enum forge_end end;
    http_peer_always(world->peer, 200, NULL, "[]");
    assert_int_equal(count_list(world, &end), 0);
    assert_int_equal(end, FORGE_OK);
}

/** The header of a page with a next one. */
static const char *link_to(struct http_peer *peer, const char *path)
{
    static char headers[400];
    snprintf(headers, sizeof(headers),
             "Link: <%s>; rel=\"next\", <https://x.test/>; rel=\"last\"\r\nETag: \"page\"\r\n",
             http_peer_url(peer, path));
    return headers;
}

FORGE_TEST(pages_are_followed_as_the_forge_names_them)
{
    struct forge_world *world = *state;
    enum forge_end end;
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 200, link_to(world->peer, "/api/repositories/5/issues?page=2"),
                issues(1, 100));
    world_reply(world, 200, NULL, issues(100, 120)); /* One moved while they were read. */
    assert_int_equal(count_list(world, &end), 120);
    assert_int_equal(end, FORGE_OK);
    assert_string_equal(world_path(world, 2), "/api/repositories/5/issues?page=2");
    assert_string_equal(world_header(world, 2, "Authorization"), "Bearer " WORLD_TOKEN);
}

FORGE_TEST(a_next_page_is_found_in_a_long_header)
{
    struct forge_world *world = *state;
    enum forge_end end;
    struct buf header = {0};
    buf_append_string(&header, "Link: ");
    for (int i = 0; i < 100; i++) {
        buf_append_string(&header, "<https://x.test/a/rather/long/address/of/a/page/that/is/not/"
                                   "the/next/one>; rel=\"other\", ");
    }
    buf_printf(&header, "<%s>; rel=\"next\"\r\n", http_peer_url(world->peer, "/api/more"));
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 200, buf_string(&header), issues(1, 100));
    world_reply(world, 200, NULL, issues(101, 120));
    assert_int_equal(count_list(world, &end), 120);
    assert_int_equal(end, FORGE_OK);
    assert_string_equal(world_path(world, 2), "/api/more");
    buf_fini(&header);
}

FORGE_TEST(a_next_page_is_found_in_any_header)
{
    struct forge_world *world = *state;
    enum forge_end end;
    char headers[400];
    snprintf(headers, sizeof(headers),
             "Link: </style.css>; rel=preload; as=\"style\r\nLINK:<%s>; rel=\"next\"\r\n"
             "Link: <https://x.test/>; rel=\"last\"\r\n",
             http_peer_url(world->peer, "/api/more"));
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 200, headers, issues(1, 100));
    world_reply(world, 200, NULL, issues(101, 120));
    assert_int_equal(count_list(world, &end), 120);
    assert_int_equal(end, FORGE_OK);
}

FORGE_TEST(a_page_at_another_origin_is_not_read)
{
    struct forge_world *world = *state;
    enum forge_end end;
    struct http_peer *thief = http_peer_new();
    http_peer_always(thief, 200, NULL, "[]");
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 200, link_to(thief, "/api/repos/acme/shop/issues?page=2"), issues(1, 100));
    assert_int_equal(count_list(world, &end), 0);
    assert_int_equal(end, FORGE_UNAVAILABLE);
    assert_int_equal(http_peer_request_count(thief), 0);
    http_peer_free(thief);
}

FORGE_TEST(a_failed_page_is_not_the_end_of_the_list)
{
    struct forge_world *world = *state;
    enum forge_end end;
    world_reply(world, 200, NULL, "[]");
    world_reply(world, 200, link_to(world->peer, "/api/2"), issues(1, 100));
    http_peer_always(world->peer, 500, NULL, "");
    assert_int_equal(count_list(world, &end), 0);
    assert_int_equal(end, FORGE_UNAVAILABLE);
}

FORGE_TEST(a_list_without_an_end_is_refused)
{
    struct forge_world *world = *state;
    enum forge_end end;
    world_reply(world, 200, NULL, "[]");
    http_peer_always(world->peer, 200, link_to(world->peer, "/api/2"), "[]");
    assert_int_equal(count_list(world, &end), 0);
    assert_int_equal(end, FORGE_UNAVAILABLE);
    assert_int_equal(world_requests(world), 501);
}

/* ---- Conditional requests -------------------------------------------------------------------- */

FORGE_TEST(a_short_list_that_has_not_changed_costs_one_request)
{
    struct forge_world *world = *state;
    world_reply(world, 200, "ETag: \"probe\"\r\n", "[]");
    world_reply(world, 200, "ETag: W/\"one\"\r\n", issues(1, 3));
    assert_int_equal(list_again(world), FORGE_OK);
    for (size_t i = 0; i < 3; i++) {
        world_reply(world, 304, NULL, "");
        assert_int_equal(list_again(world), FORGE_NOT_MODIFIED);
        assert_int_equal(world_requests(world), 3 + i);
        assert_string_equal(world_header(world, 2 + i, "If-None-Match"), "W/\"one\"");
        assert_non_null(strstr(world_path(world, 2 + i), "state=open"));
    }
    world_reply(world, 200, "ETag: \"two\"\r\n", issues(1, 4));
    assert_int_equal(list_again(world), FORGE_OK);
    world_reply(world, 304, NULL, "");
    assert_int_equal(list_again(world), FORGE_NOT_MODIFIED);
    assert_string_equal(world_header(world, 6, "If-None-Match"), "\"two\"");
}

FORGE_TEST(a_long_list_is_watched_where_every_change_shows)
{
    struct forge_world *world = *state;
    world_reply(world, 200, "ETag: \"probe\"\r\n", "[]");
    world_reply(world, 200, link_to(world->peer, "/api/2"), issues(1, 100));
    world_reply(world, 200, "ETag: \"second\"\r\n", issues(101, 150));
    assert_int_equal(list_again(world), FORGE_OK);
    world_reply(world, 304, NULL, "");
    assert_int_equal(list_again(world), FORGE_NOT_MODIFIED);
    assert_int_equal(world_requests(world), 4);
    assert_string_equal(world_path(world, 3),
                        "/api/repos/acme/shop/issues?state=all&sort=updated&direction=desc"
                        "&per_page=100");
    assert_string_equal(world_header(world, 3, "If-None-Match"), "\"probe\"");
    /* Something has changed: all pages are read, without a condition. */
    world_reply(world, 200, "ETag: \"probe2\"\r\n", "[]");
    world_reply(world, 200, link_to(world->peer, "/api/2"), issues(1, 100));
    world_reply(world, 200, NULL, issues(101, 149));
    assert_int_equal(list_again(world), FORGE_OK);
    assert_string_equal(world_header(world, 5, "If-None-Match"), "(none)");
    world_reply(world, 304, NULL, "");
    assert_int_equal(list_again(world), FORGE_NOT_MODIFIED);
    assert_string_equal(world_header(world, 7, "If-None-Match"), "\"probe2\"");
}

FORGE_TEST(a_full_page_is_no_condition_for_the_issue_after_it)
{
    struct forge_world *world = *state;
    world_reply(world, 200, "ETag: \"probe\"\r\n", "[]");
    world_reply(world, 200, "ETag: \"full\"\r\n", issues(1, 30));
    assert_int_equal(list_again(world), FORGE_OK);
    world_reply(world, 304, NULL, "");
    assert_int_equal(list_again(world), FORGE_NOT_MODIFIED);
    assert_string_equal(world_header(world, 2, "If-None-Match"), "\"probe\"");
}

FORGE_TEST(a_short_page_with_a_next_one_is_no_condition)
{
    struct forge_world *world = *state;
    world_reply(world, 200, "ETag: \"probe\"\r\n", "[]");
    world_reply(world, 200, link_to(world->peer, "/api/2"), issues(1, 3));
    world_reply(world, 200, NULL, issues(4, 5));
    assert_int_equal(list_again(world), FORGE_OK);
    world_reply(world, 304, NULL, "");
    assert_int_equal(list_again(world), FORGE_NOT_MODIFIED);
    assert_string_equal(world_header(world, 3, "If-None-Match"), "\"probe\"");
}

FORGE_TEST(a_change_whose_list_could_not_be_read_is_not_forgotten)
{
    struct forge_world *world = *state;
    world_reply(world, 200, "ETag: \"probe\"\r\n", "[]");
    world_reply(world, 200, link_to(world->peer, "/api/2"), issues(1, 100));
    world_reply(world, 200, NULL, issues(101, 150));
    assert_int_equal(list_again(world), FORGE_OK);
    world_reply(world, 200, "ETag: \"probe2\"\r\n", "[]");
    world_reply(world, 404, NULL, "");
    assert_int_equal(list_again(world), FORGE_ABSENT);
    world_reply(world, 200, "ETag: \"probe2\"\r\n", "[]");
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(list_again(world), FORGE_OK);
    assert_string_equal(world_header(world, 5, "If-None-Match"), "\"probe\"");
}

FORGE_TEST(a_long_list_is_read_anew_after_an_hour)
{
    struct forge_world *world = *state;
    world_reply(world, 200, "ETag: \"probe\"\r\n", "[]");
    world_reply(world, 200, NULL, issues(1, 40));
    assert_int_equal(list_again(world), FORGE_OK);
    world->passed_ns += 3599 * NS_PER_S;
    world_reply(world, 304, NULL, "");
    assert_int_equal(list_again(world), FORGE_NOT_MODIFIED);
    world->passed_ns += NS_PER_S;
    world_reply(world, 200, "ETag: \"probe\"\r\n", "[]");
    world_reply(world, 200, NULL, issues(1, 39));
    assert_int_equal(list_again(world), FORGE_OK);
    assert_string_equal(world_header(world, 3, "If-None-Match"), "(none)");
}

FORGE_TEST(a_forge_without_tags_is_read_each_time)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    http_peer_always(world->peer, 200, NULL, "[]");
    assert_int_equal(list_again(world), FORGE_OK);
    assert_int_equal(list_again(world), FORGE_OK);
    assert_int_equal(world_requests(world), 2);
    assert_string_equal(world_path(world, 0),
                        "/api/repos/acme/shop/issues?state=open&type=issues&limit=50&labels=code");
    assert_string_equal(world_header(world, 0, "Authorization"), "token " WORLD_TOKEN);
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

/** Read an issue with one member. @return its end; the issue is the caller's */
static enum forge_end read_with(struct forge_world *world, const char *key, const char *json,
                                struct forge_issue *ret_issue)
{
    struct buf body = {0};
    buf_printf(&body, "{\"number\":7,\"state\":\"open\",\"%s\":%s}", key, json);
    world_reply(world, 200, NULL, buf_string(&body));
    enum forge_end end = forge_read_issue(world->forge, 7, ret_issue);
    buf_fini(&body);
    return end;
}

/** A JSON string of so many bytes and one more character. Owned. */
static char *text_of(size_t len, const char *last)
{
    struct buf text = {0};
    buf_append_string(&text, "\"");
    memset(buf_room(&text, len), 'a', len);
    buf_grown(&text, len);
    buf_printf(&text, "%s\"", last);
    return buf_steal(&text);
}

FORGE_TEST(a_long_body_is_cut_at_a_character)
{
    struct forge_world *world = *state;
    static const struct {
        size_t len;
        const char *last;
        size_t kept;
    } rows[] = {{LIMIT_FORGE_TEXT_BYTES, "", LIMIT_FORGE_TEXT_BYTES},
                {LIMIT_FORGE_TEXT_BYTES, "b", LIMIT_FORGE_TEXT_BYTES},
                {LIMIT_FORGE_TEXT_BYTES - 1, "\xc3\xa4", LIMIT_FORGE_TEXT_BYTES - 1},
                {LIMIT_FORGE_TEXT_BYTES - 2, "\xc3\xa4", LIMIT_FORGE_TEXT_BYTES}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_issue issue = {0};
        char *text = text_of(rows[i].len, rows[i].last);
        assert_int_equal(read_with(world, "body", text, &issue), FORGE_OK);
        assert_int_equal(strlen(issue.body), rows[i].kept);
        forge_issue_fini(&issue);
        free(text);
    }
}

FORGE_TEST(a_title_is_one_line_and_bounded)
{
    struct forge_world *world = *state;
    struct forge_issue issue = {0};
    assert_int_equal(read_with(world, "title", "\"a\\nb\\u001b[2Jc\\u202e\"", &issue), FORGE_OK);
    assert_string_equal(issue.title, "a bc");
    forge_issue_fini(&issue);
    char *text = text_of(LIMIT_FORGE_TITLE_BYTES, "b");
    assert_int_equal(read_with(world, "title", text, &issue), FORGE_OK);
    assert_int_equal(strlen(issue.title), LIMIT_FORGE_TITLE_BYTES);
    forge_issue_fini(&issue);
    free(text);
}

FORGE_TEST(a_name_past_the_limit_is_left_out)
{
    struct forge_world *world = *state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct forge_issue issue = {0};
        struct buf list = {0};
        char *text = text_of(LIMIT_FORGE_NAME_BYTES - 1 + extra, "b");
        buf_printf(&list, "[{\"name\":%s},\"code\"]", text);
        assert_int_equal(read_with(world, "labels", buf_string(&list), &issue), FORGE_OK);
        assert_string_equal(issue.labels[extra == 0], "code");
        assert_null(issue.labels[extra == 0 ? 2 : 1]);
        forge_issue_fini(&issue);
        buf_fini(&list);
        free(text);
    }
}

FORGE_TEST(an_issue_with_too_many_labels_is_none)
{
    struct forge_world *world = *state;
    for (int extra = 0; extra < 2; extra++) {
        struct forge_issue issue = {0};
        struct buf list = {0};
        buf_append_string(&list, "[");
        for (int i = 0; i < LIMIT_FORGE_NAMES + extra; i++) {
            buf_printf(&list, "%s\"l%d\"", i > 0 ? "," : "", i);
        }
        buf_append_string(&list, "]");
        assert_int_equal(read_with(world, "labels", buf_string(&list), &issue),
                         extra == 0 ? FORGE_OK : FORGE_UNAVAILABLE);
        forge_issue_fini(&issue);
        buf_fini(&list);
    }
}

FORGE_TEST(an_issue_with_too_many_labels_hides_no_others)
{
    struct forge_world *world = *state;
    struct buf body = {0};
    struct buf labels = {0};
    enum forge_end end;
    for (int i = 0; i <= LIMIT_FORGE_NAMES; i++) {
        buf_printf(&labels, "%s\"l%d\"", i == 0 ? ",\"more\":0,\"assignees\":[" : ",", i);
    }
    buf_append_string(&labels, "]");
    add_issue(&body, 3, "code", "");
    buf_printf(&body, ",{\"number\":4,\"state\":\"open\",\"labels\":[{\"name\":\"code\"}]%s}",
               buf_string(&labels));
    add_issue(&body, 5, "code", "");
    buf_append_string(&body, "]");
    http_peer_always(world->peer, 200, NULL, buf_string(&body));
    assert_int_equal(count_list(world, &end), 2);
    assert_int_equal(end, FORGE_OK);
    buf_fini(&body);
    buf_fini(&labels);
}

FORGE_TEST(an_address_past_the_limit_is_none)
{
    struct forge_world *world = *state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct forge_issue issue = {0};
        char *text = text_of(LIMIT_FORGE_URL_BYTES + extra, "");
        memcpy(text + 1, "https://", 8);
        assert_int_equal(read_with(world, "html_url", text, &issue), FORGE_OK);
        assert_int_equal(strlen(issue.url), extra == 0 ? LIMIT_FORGE_URL_BYTES : 0);
        forge_issue_fini(&issue);
        free(text);
    }
}

FORGE_TEST(a_page_that_is_none_has_no_address)
{
    struct forge_world *world = *state;
    struct forge_issue issue = {0};
    assert_int_equal(read_with(world, "html_url", "\"javascript:alert(1)\"", &issue), FORGE_OK);
    assert_string_equal(issue.url, "");
    forge_issue_fini(&issue);
}

FORGE_TEST(the_oldest_issues_of_too_many_are_listed)
{
    struct forge_world *world = *state;
    enum forge_end end;
    struct buf page = {0};
    char headers[300];
    world_reply(world, 200, NULL, "[]");
    for (int first = 1; first <= (int)LIMIT_FORGE_ISSUES; first += 1000) {
        snprintf(headers, sizeof(headers), "Link: <%s>; rel=\"next\"\r\n",
                 http_peer_url(world->peer, "/api/more"));
        world_reply(world, 200, headers, issues(first, first + 999));
    }
    world_reply(world, 200, NULL, issues((int)LIMIT_FORGE_ISSUES + 1, (int)LIMIT_FORGE_ISSUES + 2));
    assert_int_equal(count_list(world, &end), LIMIT_FORGE_ISSUES);
    assert_int_equal(end, FORGE_OK);
    buf_fini(&page);
}

FORGE_TEST(an_answer_past_the_limit_is_not_read)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITEA, WORLD_TOKEN); /* It has no probe. */
    for (size_t extra = 0; extra < 2; extra++) {
        struct buf reply = {0};
        size_t blanks = LIMIT_FORGE_ANSWER_BYTES - 2 + extra;
        buf_printf(&reply, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", blanks + 2);
        memset(buf_room(&reply, blanks), ' ', blanks);
        buf_grown(&reply, blanks);
        buf_append_string(&reply, "[]");
        http_peer_reply_raw(world->peer,
                            &(struct peer_reply){.bytes = reply.data, .len = reply.len});
        assert_int_equal(list_again(world), extra == 0 ? FORGE_OK : FORGE_UNAVAILABLE);
        buf_fini(&reply);
    }
}

FORGE_TEST(an_answer_with_too_many_values_is_not_read)
{
    struct forge_world *world = *state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct buf list = {0};
        struct forge_issue issue = {0};
        /* Before the first entry: the object, three names, two commas, the list, and one. */
        size_t count = LIMIT_FORGE_VALUES - 7 + extra;
        buf_append_string(&list, "[0");
        for (size_t i = 1; i < count; i++) {
            buf_append_string(&list, ",0");
        }
        buf_append_string(&list, "]");
        assert_int_equal(read_with(world, "x", buf_string(&list), &issue),
                         extra == 0 ? FORGE_OK : FORGE_UNAVAILABLE);
        forge_issue_fini(&issue);
        buf_fini(&list);
    }
}

FORGE_TEST(a_text_has_no_values)
{
    struct forge_world *world = *state;
    struct forge_issue issue = {0};
    struct buf text = {0};
    buf_append_string(&text, "\"");
    for (size_t i = 0; i < LIMIT_FORGE_VALUES; i++) {
        buf_append_string(&text, i % 1000 == 0 ? "\\\"" : ",");
    }
    buf_append_string(&text, "\"");
    assert_int_equal(read_with(world, "body", buf_string(&text), &issue), FORGE_OK);
    assert_int_equal(strlen(issue.body), LIMIT_FORGE_TEXT_BYTES);
    forge_issue_fini(&issue);
    buf_fini(&text);
}

/** A page of 100 issues whose bodies are as long as they may be. */
static const char *heavy_page(int first)
{
    static struct buf page;
    char *body = text_of(LIMIT_FORGE_TEXT_BYTES, "");
    buf_clear(&page);
    for (int i = first; i < first + 100; i++) {
        buf_printf(&page, "%s{\"number\":%d,\"state\":\"open\",\"labels\":[\"code\"],\"body\":%s}",
                   i == first ? "[" : ",", i, body);
    }
    buf_append_string(&page, "]");
    free(body);
    return buf_string(&page);
}

FORGE_TEST(texts_of_a_list_are_bounded_together)
{
    struct forge_world *world = *state;
    enum forge_end end;
    size_t most = LIMIT_FORGE_LIST_BYTES / LIMIT_FORGE_TEXT_BYTES;
    char headers[300];
    world_open(world, FORGE_GITEA, WORLD_TOKEN);
    snprintf(headers, sizeof(headers), "Link: <%s>; rel=\"next\"\r\n",
             http_peer_url(world->peer, "/api/more"));
    for (size_t first = 1; first <= most; first += 100) {
        world_reply(world, 200, headers, heavy_page((int)first));
    }
    world_reply(world, 200, NULL, "[]"); /* members */
    assert_int_equal(count_list(world, &end), most);
    assert_int_equal(end, FORGE_OK);
}
