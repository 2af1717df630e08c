// SPDX-License-Identifier: Apache-2.0
/* The tool `api`: endpoints as functions, templates, what is taken out of answers. */
#include "http_tool_world.h"

/* Like the endpoints of a tracker of issues. */
#define TRACKER                                                                               \
    "{\"type\":\"api\",\"name\":\"tracker\",\"base_url\":\"PEER/v3/\","                       \
    "\"headers\":{\"Accept\":\"application/json\",\"X-Kind\":\"all\"},"                       \
    "\"auth\":{\"Authorization\":\"Bearer ${RONDO_TEST_TOKEN}\"},\"endpoints\":["             \
    "{\"name\":\"list_issues\",\"method\":\"GET\",\"path\":\"/repos/{owner}/{repo}/issues\"," \
    "\"description\":\"List issues\",\"parameters\":["                                        \
    "{\"name\":\"owner\",\"type\":\"string\",\"required\":true,\"description\":\"Who\"},"     \
    "{\"name\":\"repo\",\"type\":\"string\",\"required\":true},"                              \
    "{\"name\":\"state\",\"type\":\"string\",\"default\":\"open\"},"                          \
    "{\"name\":\"labels\",\"type\":\"string\"}],"                                             \
    "\"query_params\":{\"state\":\"{state}\",\"labels\":\"{labels}\",\"per_page\":\"10\"},"   \
    "\"response_extract\":\"$[*].{number,title,labels[*].name}\",\"timeout\":15},"            \
    "{\"name\":\"create_issue\",\"method\":\"POST\",\"path\":\"/issues/{number}\","           \
    "\"parameters\":[{\"name\":\"number\",\"type\":\"integer\",\"required\":true},"           \
    "{\"name\":\"title\",\"type\":\"string\",\"required\":true},"                             \
    "{\"name\":\"body\",\"type\":\"string\"},{\"name\":\"urgent\",\"type\":\"boolean\"}],"    \
    "\"headers\":{\"X-Kind\":\"own\"},"                                                       \
    "\"body_template\":{\"title\":\"{title}\",\"body\":\"{body}\",\"n\":1,\"deep\":"          \
    "[{\"t\":\"<{title}|{nobody}|{urgent}>\"},null,true]}}]}"

HTTP_WORLD_TEST(each_endpoint_is_a_function_with_a_schema)
{
    struct http_world *self = *state;
    http_world_open(self, TRACKER);
    const struct tool *list = toolbox_find(self->world.toolbox, "list_issues");
    const struct tool *create = toolbox_find(self->world.toolbox, "create_issue");
    assert_int_equal(toolbox_count(self->world.toolbox), 2);
    assert_string_equal(list->description, "List issues");
    assert_string_equal(create->description, "POST /issues/{number}");
    assert_string_equal(
        list->schema,
        "{\"type\":\"object\",\"properties\":{\"owner\":{\"type\":\"string\",\"description\":"
        "\"Who\"},\"repo\":{\"type\":\"string\"},\"state\":{\"type\":\"string\",\"default\":"
        "\"open\"},\"labels\":{\"type\":\"string\"}},\"required\":[\"owner\",\"repo\"],"
        "\"additionalProperties\":false}");
    assert_true(list->is_idempotent && list->is_read_only);
    assert_false(create->is_idempotent || create->is_read_only);
}

HTTP_WORLD_TEST(a_part_of_the_answer_is_taken_out)
{
    struct http_world *self = *state;
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 200, NULL,
                    "[{\"number\":1,\"title\":\"a/b\",\"x\":2,\"labels\":[{\"name\":\"bug\"},"
                    "{\"name\":\"ui\"}]},{\"number\":2,\"title\":\"c\",\"labels\":[]}]");
    world_expect(&self->world, "list_issues", "{\"owner\":\"o\",\"repo\":\"r\"}",
                 "[{\"number\":1,\"title\":\"a/b\",\"labels\":[\"bug\",\"ui\"]},"
                 "{\"number\":2,\"title\":\"c\",\"labels\":[]}]");
    assert_string_equal(http_peer_request(self->peer, 0)->path,
                        "/v3/repos/o/r/issues?state=open&per_page=10");
    assert_string_equal(header_of(self, 0, "authorization"), "Bearer t0ken");
    assert_string_equal(header_of(self, 0, "x-kind"), "all");
    assert_string_equal(header_of(self, 0, "idempotency-key"), "");
}

HTTP_WORLD_TEST(what_the_path_does_not_lead_to_is_told)
{
    struct http_world *self = *state;
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 200, NULL, "7");
    http_peer_reply(self->peer, 200, NULL, "not json");
    world_expect_error(&self->world, "list_issues", "{\"owner\":\"o\",\"repo\":\"r\"}",
                       "JSONPath '$[*].{number,title,labels[*].name}' not found in response");
    world_expect_error(&self->world, "list_issues", "{\"owner\":\"o\",\"repo\":\"r\"}",
                       "Error: the response is not JSON");
}

HTTP_WORLD_TEST(values_in_a_url_are_escaped)
{
    struct http_world *self = *state;
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 200, NULL, "[]");
    world_expect(&self->world, "list_issues",
                 "{\"owner\":\"a?b#c d%2f\",\"repo\":\"x/y\",\"state\":\"a&b=c\","
                 "\"labels\":\"{owner}\"}",
                 "[]");
    assert_string_equal(http_peer_request(self->peer, 0)->path,
                        "/v3/repos/a%3Fb%23c%20d%252f/x/y/issues"
                        "?state=a%26b%3Dc&labels=%7Bowner%7D&per_page=10");
}

HTTP_WORLD_TEST(values_cannot_climb_out_of_the_path)
{
    struct http_world *self = *state;
    http_world_open(self, TRACKER);
    world_expect_error(&self->world, "list_issues", "{\"owner\":\"..\",\"repo\":\"r\"}",
                       "leaves the base URL");
    world_expect_error(&self->world, "list_issues", "{\"owner\":\"o\",\"repo\":\"../../admin\"}",
                       "leaves the base URL");
    assert_int_equal(http_peer_connection_count(self->peer), 0);
}

HTTP_WORLD_TEST(the_body_is_its_template_with_the_values)
{
    struct http_world *self = *state;
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 201, NULL, "{\"id\":5}");
    world_expect(&self->world, "create_issue",
                 "{\"number\":7,\"title\":\"a \\\"{body}\\\"\",\"urgent\":true}", "{\"id\":5}");
    const struct peer_request *seen = http_peer_request(self->peer, 0);
    assert_string_equal(seen->method, "POST");
    assert_string_equal(seen->path, "/v3/issues/7");
    assert_string_equal(seen->body, "{\"title\":\"a \\\"{body}\\\"\",\"n\":1,\"deep\":[{\"t\":"
                                    "\"<a \\\"{body}\\\"|{nobody}|true>\"},null,true]}");
    assert_string_equal(header_of(self, 0, "content-type"), "application/json");
    assert_string_equal(header_of(self, 0, "x-kind"), "own");
    assert_string_equal(header_of(self, 0, "idempotency-key"), "key-1");
}

HTTP_WORLD_TEST(a_refusal_is_told_with_its_first_characters)
{
    struct http_world *self = *state;
    struct buf body = {0};
    for (int i = 0; i < 501; i++) {
        buf_append_string(&body, "\xc3\xa4");
    }
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 422, NULL, buf_string(&body));
    struct tool_result result =
        world_call(&self->world, "create_issue", "{\"number\":7,\"title\":\"a\"}");
    assert_true(result.is_error);
    assert_int_equal(result.text.len, strlen("HTTP 422: ") + 1000);
    assert_memory_equal(result.text.data, "HTTP 422: \xc3\xa4", 12);
    tool_result_fini(&result);
    buf_fini(&body);
}

HTTP_WORLD_TEST(a_read_follows_redirects_and_keeps_its_secrets)
{
    struct http_world *self = *state;
    struct http_peer *other = http_peer_new();
    char location[128];
    snprintf(location, sizeof(location), "Location: %s\r\n", http_peer_url(other, "/there"));
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 301, location, "");
    http_peer_reply(other, 200, NULL, "[]");
    world_expect(&self->world, "list_issues", "{\"owner\":\"o\",\"repo\":\"r\"}", "[]");
    assert_null(strstr(http_peer_request(other, 0)->headers, "t0ken"));
    http_peer_free(other);
}

HTTP_WORLD_TEST(a_write_does_not_follow_redirects)
{
    struct http_world *self = *state;
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 307, "Location: /there\r\n", "moved");
    world_expect_error(&self->world, "create_issue", "{\"number\":7,\"title\":\"a\"}",
                       "HTTP 307: moved");
    assert_int_equal(http_peer_request_count(self->peer), 1);
}

HTTP_WORLD_TEST(private_addresses_are_refused)
{
    struct http_world *self = *state;
    self->guard.allow_hosts = NULL;
    http_world_open(self, TRACKER);
    world_expect_error(&self->world, "list_issues", "{\"owner\":\"o\",\"repo\":\"r\"}",
                       "Error: SSRF blocked: '127.0.0.1' resolves to private address 127.0.0.1");
}

HTTP_WORLD_TEST(a_string_that_is_taken_out_has_no_quotes)
{
    struct http_world *self = *state;
    http_world_open(self, "{\"type\":\"api\",\"base_url\":\"PEER\",\"endpoints\":[{\"name\":\"a\","
                          "\"path\":\"x\",\"response_extract\":\"$.a.b.0\"}]}");
    http_peer_reply(self->peer, 200, NULL, "{\"a\":{\"b\":[\"say \\\"hi\\\"\"]}}");
    world_expect(&self->world, "a", "{}", "say \"hi\"");
    assert_string_equal(http_peer_request(self->peer, 0)->path, "/x");
}

HTTP_WORLD_TEST(a_path_that_cannot_be_read_is_found_when_the_tool_is_opened)
{
    struct http_world *self = *state;
    struct rondo_error err = {0};
    assert_int_equal(http_world_try_open(self,
                                         "{\"type\":\"api\",\"base_url\":\"PEER\",\"endpoints\":[{"
                                         "\"name\":\"a\",\"path\":\"/\",\"response_extract\":"
                                         "\"$.a[?(@.b)]\"}]}",
                                         &err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "\"$.a[?(@.b)]\" of the endpoint \"a\""));
}

HTTP_WORLD_TEST(a_long_answer_is_cut)
{
    struct http_world *self = *state;
    static const size_t limit = (size_t)100 * 1024;
    char *body = malloc(limit + 2);
    memset(body, 'x', limit + 1);
    body[limit + 1] = '\0';
    http_world_open(self, TRACKER);
    http_peer_reply(self->peer, 200, NULL, body);
    free(body);
    struct tool_result result =
        world_call(&self->world, "create_issue", "{\"number\":7,\"title\":\"a\"}");
    assert_true(result.is_truncated);
    assert_int_equal(result.text.len, limit);
    tool_result_fini(&result);
}
