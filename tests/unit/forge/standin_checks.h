// SPDX-License-Identifier: Apache-2.0
/*
 * The same calls against the stand-in of each kind of forge (tests/forge): what one says and the
 * other reads must be the same language. GitHub's is checked by GitHub's own document there. A
 * program includes this after it has defined STAND_KIND, one a kind.
 */
#pragma once

#include "support/test.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "forge/forge.h"
#include "net/client/http.h"
#include "os/environment.h"
#include "os/file_folder.h"
#include "os/spawn/pipe_child.h"
#include "support/forge_end.h"
#include "support/scratch.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef STANDIN /* The build says where it is. */
#define STANDIN "tests/forge/standin.py"
#endif

/** Machines of CI starve. */
#define WAIT_NS (600 * NS_PER_S)

static const char *const code[] = {"code", NULL};

struct stand {
    enum forge_kind kind;
    char folder[PATH_MAX];
    struct pipe_child *child;
    struct http_client *http;
    struct json_object *facts;
    struct forge *forge;
};

/* ---- The stand-in ---------------------------------------------------------------------------- */

static void start_child(struct stand *stand)
{
    char folder[PATH_MAX + 20];
    snprintf(folder, sizeof(folder), "%s/forge", stand->folder);
    const char *const argv[] = {"python3",  STANDIN, "--kind", forge_kind_name(stand->kind),
                                "--folder", folder,  NULL};
    char **environment = environment_reduced(NULL, NULL);
    const struct pipe_child_request request = {.argv = argv,
                                               .envp = (const char *const *)environment};
    struct rondo_error err = {0};
    if (pipe_child_start(&request, &stand->child, &err) != 0) {
        fail_msg("%s", err.message);
    }
    environment_free(environment);
}

/** The line in which it says where it is. */
static void read_facts(struct stand *stand)
{
    auto_buf struct buf line = {0};
    struct pollfd ready = {.fd = pipe_child_output(stand->child), .events = POLLIN};
    while (line.len == 0 || line.data[line.len - 1] != '\n') {
        assert_int_equal(poll(&ready, 1, (int)(WAIT_NS / NS_PER_MS)), 1);
        ssize_t n = read(ready.fd, buf_room(&line, 4096), 4096);
        assert_true(n > 0);
        buf_grown(&line, (size_t)n);
    }
    assert_int_equal(json_parse(line.data, line.len, &stand->facts, NULL), 0);
}

/** Open the forge with the token of an account. */
static void open_as(struct stand *stand, const char *login)
{
    struct forge_place place = {
        .kind = stand->kind,
        .host = memory_dup_string("stand.test"),
        .api = memory_dup_string(json_get_string(stand->facts, "api", "")),
        .owner = memory_dup_string("acme"),
        .name = memory_dup_string("shop"),
    };
    const struct forge_options options = {
        .place = &place,
        .token = json_get_string(json_member(stand->facts, "tokens"), login, NULL),
        .http = stand->http,
        .clock = clock_system(),
        .random = random_system(),
        .write_gap_ns = 1,
    };
    forge_close(stand->forge);
    assert_int_equal(forge_open(&options, &stand->forge, NULL), 0);
    forge_place_fini(&place);
}

static int set_up_kind(void **state, enum forge_kind kind)
{
    struct stand *stand = memory_new_zero(1, sizeof(*stand));
    stand->kind = kind;
    assert_true(scratch_new(stand->folder, sizeof(stand->folder)));
    assert_int_equal(http_client_new(NULL, &stand->http, NULL), 0);
    start_child(stand);
    read_facts(stand);
    open_as(stand, "rondo-bot");
    *state = stand;
    return 0;
}

static int set_up(void **state)
{
    return set_up_kind(state, STAND_KIND);
}

static int tear_down(void **state)
{
    struct stand *stand = *state;
    forge_close(stand->forge);
    http_client_free(stand->http);
    pipe_child_stop(stand->child, 5 * NS_PER_S);
    pipe_child_free(stand->child);
    json_object_put(stand->facts);
    assert_int_equal(file_remove_tree(stand->folder, NULL), 0);
    free(stand);
    return 0;
}

#define STAND_TEST(name) TEST_WITH(name, set_up, tear_down)

/** Ask the stand-in something. @param json body, NULL = none @return what it answers. Owned */
static struct json_object *ask(struct stand *stand, const char *path, const char *json)
{
    static const struct http_header headers[] = {{"Content-Type", "application/json"}};
    struct http_response response = {0};
    struct json_object *answer = NULL;
    auto_buf struct buf url = {0};
    const struct http_part part = {json, json != NULL ? strlen(json) : 0};
    buf_printf(&url, "%s/%s", json_get_string(stand->facts, "control", ""), path);
    const struct http_request request = {.method = json != NULL ? "POST" : "GET",
                                         .url = buf_string(&url),
                                         .headers = headers,
                                         .header_count = 1,
                                         .parts = &part,
                                         .part_count = json != NULL,
                                         .total_ns = WAIT_NS,
                                         .max_body_bytes = 1 << 20};
    assert_int_equal(http_call(stand->http, &request, &response, NULL), 0);
    if (response.status != 200) {
        fail_msg("%s %s: %ld %s", path, json, response.status, buf_string(&response.body));
    }
    assert_int_equal(json_parse(response.body.data, response.body.len, &answer, NULL), 0);
    http_response_fini(&response);
    return answer;
}

/** Have something done in the stand-in. @return what it answers: one object an action. Owned */
static struct json_object *act(struct stand *stand, const char *json)
{
    return ask(stand, "act", json);
}

static void act_only(struct stand *stand, const char *json)
{
    json_object_put(act(stand, json));
}

/** Create an issue with the label that asks for work. @return its number */
static int64_t create_issue(struct stand *stand)
{
    auto_json struct json_object *answer = act(
        stand,
        "{\"do\":\"create-issue\",\"title\":\"Broken\",\"body\":\"Mend\",\"labels\":[\"code\"]}");
    return json_get_int(answer, "number", 0);
}

/** Do something to an issue. */
static void act_on(struct stand *stand, const char *action, int64_t number, const char *more)
{
    auto_buf struct buf json = {0};
    buf_printf(&json, "{\"do\":\"%s\",\"number\":%" PRId64 "%s}", action, number, more);
    act_only(stand, buf_string(&json));
}

#define assert_end(stand, call, end)                             \
    do {                                                         \
        enum forge_end end_ = (call);                            \
        if (end_ != (end)) {                                     \
            fail_msg("%s: %s (%s)", #call, forge_end_name(end_), \
                     forge_outcome((stand)->forge)->message);    \
        }                                                        \
    } while (0)

/** Issues that ask for work. */
static size_t count_listed(struct stand *stand)
{
    struct forge_issues issues = {0};
    assert_end(stand, forge_list_issues(stand->forge, code, &issues), FORGE_OK);
    size_t count = issues.count;
    forge_issues_fini(&issues);
    return count;
}

/** How many requests it has received. */
static int64_t count_requests(struct stand *stand)
{
    auto_json struct json_object *answer = ask(stand, "wait?seconds=0", NULL);
    return json_get_int(answer, "log", -1);
}

/** List again when nothing has changed. @return requests */
static int64_t list_unchanged(struct stand *stand)
{
    struct forge_issues issues = {0};
    int64_t before = count_requests(stand);
    assert_end(stand, forge_list_issues(stand->forge, code, &issues), FORGE_NOT_MODIFIED);
    return count_requests(stand) - before;
}

/* ---- Reading --------------------------------------------------------------------------------- */

STAND_TEST(says_what_the_token_may_do)
{
    struct stand *stand = *state;
    struct forge_repository repository = {0};
    assert_end(stand, forge_read_repository(stand->forge, &repository), FORGE_OK);
    assert_string_equal(repository.default_branch, "main");
    assert_string_equal(repository.login, "rondo-bot");
    assert_true(repository.can_push && repository.can_triage && repository.has_issues);
    assert_false(repository.is_archived || repository.is_empty);
    forge_repository_fini(&repository);
    open_as(stand, "sam");
    assert_end(stand, forge_read_repository(stand->forge, &repository), FORGE_OK);
    assert_false(repository.can_push || repository.can_triage);
    forge_repository_fini(&repository);
}

STAND_TEST(lists_what_asks_for_work)
{
    struct stand *stand = *state;
    act_only(stand, "{\"do\":\"create-issue\",\"title\":\"Other\",\"as\":\"sam\"}");
    int64_t first = create_issue(stand);
    create_issue(stand);
    struct forge_issues issues = {0};
    assert_end(stand, forge_list_issues(stand->forge, code, &issues), FORGE_OK);
    assert_int_equal(issues.count, 2);
    assert_int_equal(issues.items[0].number, first);
    assert_string_equal(issues.items[0].title, "Broken");
    assert_string_equal(issues.items[0].body, "Mend");
    assert_string_equal(issues.items[0].author, "maria");
    assert_int_equal(issues.items[0].author_trust, FORGE_MEMBER);
    assert_true(issues.items[0].created_ns > 0 && issues.items[0].is_open);
    forge_issues_fini(&issues);
    act_on(stand, "unlabel", first, ",\"label\":\"code\"");
    assert_int_equal(count_listed(stand), 1);
}

STAND_TEST(is_asked_once_when_nothing_has_changed)
{
    struct stand *stand = *state;
    if (stand->kind == FORGE_GITEA) {
        return; /* It has no conditional requests. */
    }
    int64_t first = create_issue(stand);
    assert_int_equal(count_listed(stand), 1);
    assert_int_equal(list_unchanged(stand), 1);
    assert_int_equal(list_unchanged(stand), 1);
    act_on(stand, "close", first, "");
    assert_int_equal(count_listed(stand), 0);
    create_issue(stand);
    assert_int_equal(count_listed(stand), 1);
}

STAND_TEST(shows_every_change_of_a_long_list)
{
    struct stand *stand = *state;
    auto_json struct json_object *answer = act(
        stand, "{\"do\":\"create-issue\",\"title\":\"Many\",\"labels\":[\"code\"],\"count\":230}");
    int64_t last = json_get_int(answer, "number", 0) + 229;
    assert_int_equal(count_listed(stand), 230);
    if (stand->kind != FORGE_GITEA) {
        assert_int_equal(list_unchanged(stand), 1);
    }
    /* Times are in seconds: what changes in the same one as a hundred others may be missed. */
    act_only(stand, "{\"do\":\"clock\",\"offset_s\":5}");
    act_on(stand, "close", last - 20, "");
    assert_int_equal(count_listed(stand), 229);
    act_on(stand, "unlabel", last - 120, ",\"label\":\"code\"");
    assert_int_equal(count_listed(stand), 228);
    create_issue(stand);
    assert_int_equal(count_listed(stand), 229);
}

STAND_TEST(tells_issues_that_are_gone)
{
    struct stand *stand = *state;
    struct forge_issue issue = {0};
    int64_t gone = create_issue(stand);
    act_on(stand, "delete-issue", gone, "");
    enum forge_end end = forge_read_issue(stand->forge, gone, &issue);
    assert_true(end == FORGE_GONE || end == FORGE_ABSENT);
    assert_end(stand, forge_read_issue(stand->forge, 9999, &issue), FORGE_ABSENT);
    if (stand->kind != FORGE_GITEA) {
        int64_t moved = create_issue(stand);
        act_only(stand, "{\"do\":\"create-repository\",\"repository\":\"acme/attic\"}");
        act_on(stand, "transfer", moved, ",\"to\":\"acme/attic\"");
        assert_end(stand, forge_read_issue(stand->forge, moved, &issue), FORGE_MOVED);
    }
}

STAND_TEST(refuses_a_token_that_has_expired)
{
    struct stand *stand = *state;
    struct forge_issue issue = {0};
    int64_t number = create_issue(stand);
    act_only(stand, "{\"do\":\"expire-token\",\"token\":\"token-rondo-bot\"}");
    assert_end(stand, forge_read_issue(stand->forge, number, &issue), FORGE_AUTH);
    assert_end(stand, forge_add_label(stand->forge, number, "x"), FORGE_AUTH);
    assert_null(strstr(forge_outcome(stand->forge)->message, "token-rondo-bot"));
}

/* ---- Changing -------------------------------------------------------------------------------- */

/** Whether an issue has a label. */
static bool has_label(struct stand *stand, int64_t number, const char *label)
{
    struct forge_issue issue = {0};
    bool is_found = false;
    assert_end(stand, forge_read_issue(stand->forge, number, &issue), FORGE_OK);
    for (size_t i = 0; issue.labels[i] != NULL; i++) {
        is_found |= strcmp(issue.labels[i], label) == 0;
    }
    forge_issue_fini(&issue);
    return is_found;
}

STAND_TEST(changes_one_label_among_others)
{
    struct stand *stand = *state;
    int64_t number = create_issue(stand);
    struct forge *forge = stand->forge;
    assert_end(stand, forge_ensure_label(forge, "rondo: in progress", "1d76db", "x"), FORGE_OK);
    assert_end(stand, forge_ensure_label(forge, "rondo: in progress", "1d76db", "x"), FORGE_OK);
    assert_end(stand, forge_add_label(forge, number, "rondo: in progress"), FORGE_OK);
    assert_end(stand, forge_add_label(forge, number, "rondo: in progress"), FORGE_OK);
    assert_true(has_label(stand, number, "rondo: in progress"));
    assert_true(has_label(stand, number, "code"));
    assert_end(stand, forge_remove_label(forge, number, "rondo: in progress"), FORGE_OK);
    assert_end(stand, forge_remove_label(forge, number, "rondo: in progress"), FORGE_OK);
    assert_false(has_label(stand, number, "rondo: in progress"));
    assert_end(stand, forge_add_label(forge, number, "never/heard of"), FORGE_OK);
    assert_true(has_label(stand, number, "never/heard of"));
    assert_end(stand, forge_remove_label(forge, number, "never/heard of"), FORGE_OK);
    assert_true(has_label(stand, number, "code"));
}

STAND_TEST(keeps_comments)
{
    struct stand *stand = *state;
    int64_t number = create_issue(stand);
    int64_t first = 0;
    int64_t second = 0;
    struct forge_comments comments = {0};
    assert_end(stand, forge_add_comment(stand->forge, number, "one", &first), FORGE_OK);
    assert_end(stand, forge_add_comment(stand->forge, number, "two", &second), FORGE_OK);
    assert_true(second > first);
    assert_end(stand, forge_edit_comment(stand->forge, number, second, "three"), FORGE_OK);
    assert_end(stand, forge_list_comments(stand->forge, number, first, &comments), FORGE_OK);
    assert_int_equal(comments.count, 1);
    assert_string_equal(comments.items[0].body, "three");
    assert_string_equal(comments.items[0].author, "rondo-bot");
    assert_int_equal(comments.items[0].author_trust, FORGE_MEMBER);
    forge_comments_fini(&comments);
    assert_end(stand, forge_delete_comment(stand->forge, number, first), FORGE_OK);
    assert_end(stand, forge_delete_comment(stand->forge, number, first), FORGE_OK);
    assert_end(stand, forge_list_comments(stand->forge, number, 0, &comments), FORGE_OK);
    assert_int_equal(comments.count, 1);
    forge_comments_fini(&comments);
}

STAND_TEST(writes_nothing_without_rights_or_when_archived)
{
    struct stand *stand = *state;
    int64_t id = 0;
    int64_t number = create_issue(stand);
    open_as(stand, "sam");
    enum forge_end end = forge_add_label(stand->forge, number, "code");
    assert_true(end == FORGE_FORBIDDEN || end == FORGE_ABSENT);
    open_as(stand, "rondo-bot");
    act_only(stand, "{\"do\":\"set-repository\",\"archived\":true}");
    assert_end(stand, forge_add_comment(stand->forge, number, "x", &id), FORGE_FORBIDDEN);
}

STAND_TEST(knows_people)
{
    struct stand *stand = *state;
    char *login = NULL;
    enum forge_trust trust = FORGE_STRANGER;
    int64_t number = create_issue(stand);
    assert_end(stand, forge_find_labeller(stand->forge, number, "code", &login), FORGE_OK);
    assert_string_equal(login, "maria");
    free(login);
    assert_end(stand, forge_read_trust(stand->forge, "maria", &trust), FORGE_OK);
    assert_int_equal(trust, FORGE_MEMBER);
    assert_end(stand, forge_read_trust(stand->forge, "sam", &trust), FORGE_OK);
    assert_int_equal(trust, FORGE_STRANGER);
    assert_end(stand, forge_assign(stand->forge, number, "rondo-bot"), FORGE_OK);
    assert_end(stand, forge_assign(stand->forge, number, "rondo-bot"), FORGE_OK);
    assert_end(stand, forge_assign(stand->forge, number, "nobody-at-all"), FORGE_FORBIDDEN);
    assert_end(stand, forge_unassign(stand->forge, number, "rondo-bot"), FORGE_OK);
    assert_end(stand, forge_unassign(stand->forge, number, "rondo-bot"), FORGE_OK);
}

STAND_TEST(knows_what_blocks_an_issue)
{
    struct stand *stand = *state;
    int64_t count = -1;
    int64_t number = create_issue(stand);
    int64_t other = create_issue(stand);
    char more[40];
    assert_end(stand, forge_count_blockers(stand->forge, number, &count), FORGE_OK);
    assert_int_equal(count, 0);
    snprintf(more, sizeof(more), ",\"by\":%" PRId64, other);
    act_on(stand, "block", number, more);
    assert_end(stand, forge_count_blockers(stand->forge, number, &count), FORGE_OK);
    assert_int_equal(count, 1);
    act_on(stand, "close", other, "");
    assert_end(stand, forge_count_blockers(stand->forge, number, &count), FORGE_OK);
    assert_int_equal(count, 0);
}

STAND_TEST(lists_sub_issues_where_there_are_any)
{
    struct stand *stand = *state;
    struct forge_issues issues = {0};
    int64_t number = create_issue(stand);
    int64_t child = create_issue(stand);
    char more[40];
    snprintf(more, sizeof(more), ",\"child\":%" PRId64, child);
    if (stand->kind == FORGE_GITHUB) {
        act_on(stand, "sub-issue", number, more);
    }
    assert_end(stand, forge_list_children(stand->forge, number, &issues), FORGE_OK);
    assert_int_equal(issues.count, stand->kind == FORGE_GITHUB);
    assert_true(issues.count == 0 || issues.items[0].number == child);
    forge_issues_fini(&issues);
}

/* ---- Pull requests --------------------------------------------------------------------------- */

static const struct forge_new_pull fix = {
    .title = "Fix", .head = "rondo/1", .base = "main", .body = "Closes #1", .is_draft = true};

/** Push a branch and open its pull request. */
static void open_pull(struct stand *stand, struct forge_pull *ret_pull)
{
    act_only(
        stand,
        "{\"do\":\"push\",\"branch\":\"rondo/1\",\"parent\":\"main\",\"files\":{\"a\":\"b\"}}");
    assert_end(stand, forge_find_pull(stand->forge, NULL, "rondo/1", ret_pull), FORGE_ABSENT);
    assert_end(stand, forge_create_pull(stand->forge, &fix, ret_pull), FORGE_OK);
}

STAND_TEST(opens_a_draft_and_finds_it_again)
{
    struct stand *stand = *state;
    struct forge_pull pull = {0};
    struct forge_pull again = {0};
    char json[100];
    open_pull(stand, &pull);
    assert_true(pull.is_draft);
    assert_string_equal(pull.head, "rondo/1");
    assert_string_equal(pull.base, "main");
    assert_int_equal(strlen(pull.head_id), 40);
    assert_end(stand, forge_create_pull(stand->forge, &fix, &again), FORGE_CONFLICT);
    assert_end(stand, forge_find_pull(stand->forge, NULL, "rondo/1", &again), FORGE_OK);
    assert_int_equal(again.number, pull.number);
    forge_pull_fini(&again);
    snprintf(json, sizeof(json),
             "[{\"do\":\"ready\",\"pull\":%" PRId64 "},"
             "{\"do\":\"merge\",\"pull\":%" PRId64 "}]",
             pull.number, pull.number);
    act_only(stand, json);
    assert_end(stand, forge_read_pull(stand->forge, pull.number, &again), FORGE_OK);
    assert_int_equal(again.state, FORGE_PULL_MERGED);
    forge_pull_fini(&again);
    forge_pull_fini(&pull);
}

STAND_TEST(tells_what_reviewers_want)
{
    struct stand *stand = *state;
    struct forge_pull pull = {0};
    struct forge_comments comments = {0};
    bool wants = true;
    char json[300];
    open_pull(stand, &pull);
    assert_end(stand, forge_read_reviews(stand->forge, pull.number, 0, &comments, &wants),
               FORGE_OK);
    assert_false(wants);
    forge_comments_fini(&comments);
    snprintf(json, sizeof(json),
             "{\"do\":\"review\",\"pull\":%" PRId64 ",\"state\":\"CHANGES_REQUESTED\","
             "\"body\":\"Not yet\",\"lines\":[{\"path\":\"a\",\"line\":1,\"body\":\"why?\"}]}",
             pull.number);
    act_only(stand, json);
    assert_end(stand, forge_read_reviews(stand->forge, pull.number, 0, &comments, &wants),
               FORGE_OK);
    assert_true(wants);
    bool has_line = false;
    for (size_t i = 0; i < comments.count; i++) {
        has_line |= strcmp(comments.items[i].body, "a:1: why?") == 0;
    }
    assert_true(has_line);
    forge_comments_fini(&comments);
    assert_end(stand,
               forge_read_reviews(stand->forge, pull.number,
                                  forge_now(stand->forge) + 3600 * NS_PER_S, &comments, &wants),
               FORGE_OK);
    assert_false(wants);
    assert_int_equal(comments.count, 0);
    forge_comments_fini(&comments);
    forge_pull_fini(&pull);
}

STAND_TEST(tells_how_checks_went)
{
    struct stand *stand = *state;
    struct forge_pull pull = {0};
    enum forge_checks checks = FORGE_CHECKS_FAILED;
    char *names = NULL;
    char json[200];
    open_pull(stand, &pull);
    assert_end(stand, forge_read_checks(stand->forge, pull.head_id, &checks, &names), FORGE_OK);
    assert_int_equal(checks, FORGE_CHECKS_NONE);
    assert_null(names);
    snprintf(json, sizeof(json),
             "{\"do\":\"status\",\"context\":\"ci/test\",\"state\":\"failure\",\"pull\":%" PRId64
             "}",
             pull.number);
    act_only(stand, json);
    assert_end(stand, forge_read_checks(stand->forge, pull.head_id, &checks, &names), FORGE_OK);
    assert_int_equal(checks, FORGE_CHECKS_FAILED);
    assert_string_equal(names, "ci/test");
    free(names);
    forge_pull_fini(&pull);
}
