// SPDX-License-Identifier: Apache-2.0
/* The tool `web_scraper`: what is stored of a page, and what stores nothing. */
#include "../builtin/http_tool_world.h"

#include "../../store/support.h"
#include "store/store.h"
#include "tool/data/documents.h"

#define HTML "Content-Type: text/html; charset=utf-8\r\n"

struct scraper_world {
    struct http_world http; /* first: the functions of http_tool_world.h take it */
    struct test_place *place;
    struct store *store;
    struct documents *documents;
};

static int scraper_set_up(void **state)
{
    struct scraper_world *self = calloc(1, sizeof(*self));
    void *plain = NULL;
    void *place = NULL;
    assert_int_equal(http_world_set_up(&plain), 0);
    memcpy(&self->http, plain, sizeof(self->http));
    free(plain);
    self->http.world.around.workspace = self->http.world.workspace;
    self->http.world.around.guard = &self->http.guard;
    assert_int_equal(test_place_make(&place), 0);
    self->place = place;
    self->store = test_place_open(self->place);
    const struct documents_options options = {
        .around = &self->http.world.around, .store = self->store, .owner = "agent"};
    self->documents = documents_new(&options);
    self->http.world.around.documents = self->documents;
    *state = self;
    return 0;
}

static int scraper_tear_down(void **state)
{
    struct scraper_world *self = *state;
    void *place = self->place;
    void *plain = malloc(sizeof(self->http));
    toolbox_free(self->http.world.toolbox);
    self->http.world.toolbox = NULL;
    documents_free(self->documents);
    store_close(self->store);
    memcpy(plain, &self->http, sizeof(self->http));
    free(self);
    return test_place_remove(&place) + http_world_tear_down(&plain);
}

#define SCRAPER_TEST(test) TEST_WITH(test, scraper_set_up, scraper_tear_down)

static void open_scraper(struct scraper_world *self, const char *more)
{
    struct rondo_error err = {0};
    struct buf config = {0};
    buf_printf(&config, "{\"type\":\"web_scraper\"%s}", more);
    http_world_open(&self->http, buf_string(&config));
    assert_int_equal(documents_open(self->http.world.toolbox, self->documents, &err), 0);
    buf_fini(&config);
}

static void scrape(struct scraper_world *self, const char *path, bool is_error, const char *part)
{
    struct buf call = {0};
    buf_printf(&call, "{\"url\":\"%s\"}", http_peer_url(self->http.peer, path));
    struct tool_result result = world_call(&self->http.world, "scrape_page", buf_string(&call));
    assert_int_equal(result.is_error, is_error);
    if (strstr(buf_string(&result.text), part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, buf_string(&result.text));
    }
    tool_result_fini(&result);
    buf_fini(&call);
}

static void expect_found(struct scraper_world *self, const char *word, const char *part)
{
    struct buf call = {0};
    buf_printf(&call, "{\"query\":\"%s\"}", word);
    struct tool_result result =
        world_call(&self->http.world, "search_documents", buf_string(&call));
    if (strstr(buf_string(&result.text), part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, buf_string(&result.text));
    }
    tool_result_fini(&result);
    buf_fini(&call);
}

SCRAPER_TEST(a_page_is_stored_and_found)
{
    struct scraper_world *self = *state;
    open_scraper(self, "");
    http_peer_reply(self->http.peer, 200, HTML,
                    "<h1>News</h1><p>Gr\xC3\xBC\xC3\x9F"
                    "e</p>");
    scrape(self, "/x", false, "Stored 1 chunks from http://127.0.0.1:");
    expect_found(self, "news", "/x | Score: 0.");
    http_peer_reply(self->http.peer, 200, HTML, "<p>\xC3\xBC\xC3\xBC</p>");
    scrape(self, "/y", false, "/y (2 chars)");
    http_peer_reply(self->http.peer, 200, HTML, "<h1>Olds</h1>");
    scrape(self, "/x", false, "Stored 1 chunks");
    expect_found(self, "news", "No relevant documents found.");
}

SCRAPER_TEST(text_that_is_no_utf_8_is_stored_as_text)
{
    struct scraper_world *self = *state;
    open_scraper(self, "");
    http_peer_reply(self->http.peer, 200, "Content-Type: text/plain\r\n", "caf\xE9 noir");
    scrape(self, "/x", false, "(9 chars)");
    expect_found(self, "noir", "caf\xEF\xBF\xBD noir");
}

SCRAPER_TEST(what_cannot_be_read_is_not_stored)
{
    struct scraper_world *self = *state;
    open_scraper(self, ",\"blocked_domains\":[\"evil.example\"]");
    http_peer_reply(self->http.peer, 404, HTML, "<p>missing</p>");
    scrape(self, "/x", true, "Error: HTTP 404");
    expect_found(self, "missing", "There are no documents.");
    world_expect_error(&self->http.world, "scrape_page", "{\"url\":\"http://evil.example/\"}",
                       "Error: the domain 'evil.example' is not allowed");
    self->http.guard.allow_hosts = NULL;
    scrape(self, "/x", true, "Error: SSRF blocked");
    assert_int_equal(http_peer_request_count(self->http.peer), 1);
}

HTTP_WORLD_TEST(without_a_store_there_is_no_such_tool)
{
    struct http_world *self = *state;
    struct rondo_error err = {0};
    assert_int_equal(http_world_try_open(self, "{\"type\":\"web_scraper\"}", &err),
                     RONDO_ERR_UNSUPPORTED);
}
