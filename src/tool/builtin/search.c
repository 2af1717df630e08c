// SPDX-License-Identifier: Apache-2.0
/*
 * The tool type `search`: web_search and news_search. A provider is a row: where it is asked, how
 * it is asked, and where its reply has titles, addresses and excerpts. DuckDuckGo has no interface
 * for programs; its page without scripts is read.
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "model/key/secret.h"
#include "tool/builtin/html.h"
#include "tool/builtin/http_call.h"
#include "tool/builtin/url.h"
#include "tool/toolbox.h"
#include "tool/types.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S       15
#define REPLY_MAX_BYTES ((size_t)2 * 1024 * 1024)
#define RESULTS_MAX     50
#define FIELD_MAX_BYTES 1000 /* of a title, an address, an excerpt */

struct search_tool;

/** How a provider is asked. Texts are borrowed. */
struct search_question {
    const char *query;
    bool is_news;
    bool is_safe;
    size_t count;
};

struct search_provider {
    const char *name;
    const char *address;
    /** Append path and query to the address; may fill a JSON body. */
    void (*ask)(const struct search_tool *self, const struct search_question *question,
                struct buf *ret_url, struct buf *ret_body);
    const char *key_header; /**< or NULL */
    const char *key_prefix;
    /** Where the results are: members from the root; NULL = a page */
    const char *web_path[2];
    const char *news_path[2];
    const char *url_member;
    const char *text_member;
};

struct search_tool {
    const struct tool_surroundings *around;
    const struct search_provider *provider;
    struct json_object *config; /* borrowed */
    char *key;
    struct tool_headers headers;
};

static void add_parameter(const char *name, const char *value, struct buf *url)
{
    buf_printf(url, "%s%s=", strchr(buf_string(url), '?') == NULL ? "?" : "&", name);
    tool_url_escape(value, "", url);
}

static void ask_duckduckgo(const struct search_tool *self, const struct search_question *question,
                           struct buf *ret_url, struct buf *ret_body)
{
    (void)self;
    (void)ret_body;
    buf_append_string(ret_url, "/html/");
    add_parameter("q", question->query, ret_url);
    add_parameter("kp", question->is_safe ? "1" : "-2", ret_url);
    if (question->is_news) {
        add_parameter("df", "m", ret_url);
    }
}

static void ask_brave(const struct search_tool *self, const struct search_question *question,
                      struct buf *ret_url, struct buf *ret_body)
{
    (void)self;
    (void)ret_body;
    char count[16];
    snprintf(count, sizeof(count), "%zu", question->count > 20 ? 20 : question->count);
    buf_printf(ret_url, "/res/v1/%s/search", question->is_news ? "news" : "web");
    add_parameter("q", question->query, ret_url);
    add_parameter("count", count, ret_url);
    add_parameter("safesearch", question->is_safe ? "strict" : "off", ret_url);
}

static void ask_serpapi(const struct search_tool *self, const struct search_question *question,
                        struct buf *ret_url, struct buf *ret_body)
{
    (void)ret_body;
    char count[16];
    snprintf(count, sizeof(count), "%zu", question->count);
    buf_append_string(ret_url, "/search.json?engine=google");
    add_parameter("q", question->query, ret_url);
    add_parameter("num", count, ret_url);
    add_parameter("safe", question->is_safe ? "active" : "off", ret_url);
    if (question->is_news) {
        add_parameter("tbm", "nws", ret_url);
    }
    add_parameter("api_key", self->key, ret_url);
}

static void ask_tavily(const struct search_tool *self, const struct search_question *question,
                       struct buf *ret_url, struct buf *ret_body)
{
    (void)self;
    struct json_writer writer = json_writer(ret_body);
    buf_append_string(ret_url, "/search");
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "query", question->query);
    json_write_string(&writer, "topic", question->is_news ? "news" : "general");
    json_write_int(&writer, "max_results", (int64_t)(question->count > 20 ? 20 : question->count));
    json_end_object(&writer);
}

static const struct search_provider providers[] = {
    {"duckduckgo",
     "https://html.duckduckgo.com",
     ask_duckduckgo,
     NULL,
     NULL,
     {NULL},
     {NULL},
     NULL,
     NULL},
    {"brave",
     "https://api.search.brave.com",
     ask_brave,
     "X-Subscription-Token",
     "",
     {"web", "results"},
     {"results", NULL},
     "url",
     "description"},
    {"serpapi",
     "https://serpapi.com",
     ask_serpapi,
     NULL,
     NULL,
     {"organic_results", NULL},
     {"news_results", NULL},
     "link",
     "snippet"},
    {"tavily",
     "https://api.tavily.com",
     ask_tavily,
     "Authorization",
     "Bearer ",
     {"results", NULL},
     {"results", NULL},
     "url",
     "content"},
};

/* ---- Replies --------------------------------------------------------------------------------- */

/** Append markup as one line of text. */
static void append_line(const char *html, size_t len, struct buf *out)
{
    auto_buf struct buf text = {0};
    html_to_markdown(html, len, FIELD_MAX_BYTES, &text);
    for (size_t i = 0; i < text.len; i++) {
        text.data[i] = text.data[i] == '\n' ? ' ' : text.data[i];
    }
    buf_append(out, buf_string(&text), text.len);
}

static void append_result(size_t number, const char *title, const char *url, const char *excerpt,
                          struct buf *out)
{
    buf_printf(out, "%s%zu. ", number > 1 ? "\n\n" : "", number);
    append_line(title, strlen(title), out);
    buf_append_string(out, "\n   ");
    append_line(url, strlen(url), out);
    if (excerpt[0] != '\0') {
        buf_append_string(out, "\n   ");
        append_line(excerpt, strlen(excerpt), out);
    }
}

static size_t read_json(const struct search_provider *provider, struct json_object *root,
                        const struct search_question *question, struct buf *out)
{
    const char *const *path = question->is_news ? provider->news_path : provider->web_path;
    struct json_object *list = root;
    for (size_t i = 0; i < 2 && path[i] != NULL; i++) {
        list = json_member(list, path[i]);
    }
    size_t found = json_length(list);
    size_t count = found < question->count ? found : question->count;
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!json_object_is_type(item, json_type_object)) {
            return i;
        }
        append_result(i + 1, json_get_string(item, "title", ""),
                      json_get_string(item, provider->url_member, ""),
                      json_get_string(item, provider->text_member, ""), out);
    }
    return count;
}

/** Undo %XX. */
static void unescape(const char *text, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        int byte = text[i] == '%' && i + 2 < len ? ascii_hex_byte(text + i + 1) : -1;
        char one = byte >= 0 ? (char)byte : text[i];
        buf_append(out, &one, 1);
        i += byte >= 0 ? 2 : 0;
    }
}

/** A link of the page leads through the provider: the target is its parameter `uddg`. */
static void append_target(struct html_part tag, struct buf *out)
{
    auto_buf struct buf href = {0};
    html_attribute(tag, "href", &href);
    const char *target = strstr(buf_string(&href), "uddg=");
    if (target == NULL) {
        buf_append(out, buf_string(&href), href.len);
    } else {
        unescape(target + 5, strcspn(target + 5, "&"), out);
    }
}

static size_t read_page(const char *html, size_t len, const struct search_question *question,
                        struct buf *out)
{
    size_t count = 0;
    struct html_part link;
    struct html_part title;
    size_t at = html_find_class(html, len, 0, "result__a", &link, &title);
    while (at < len && count < question->count) {
        struct html_part next_link;
        struct html_part next_title;
        struct html_part tag;
        struct html_part excerpt;
        size_t next = html_find_class(html, len, at, "result__a", &next_link, &next_title);
        size_t from = html_find_class(html, next, at, "result__snippet", &tag, &excerpt);
        auto_buf struct buf url = {0};
        append_target(link, &url);
        buf_printf(out, "%s%zu. ", count > 0 ? "\n\n" : "", count + 1);
        append_line(title.data, title.len, out);
        buf_append_string(out, "\n   ");
        append_line(buf_string(&url), url.len, out);
        if (from < next) {
            buf_append_string(out, "\n   ");
            append_line(excerpt.data, excerpt.len, out);
        }
        count++;
        at = next;
        link = next_link;
        title = next_title;
    }
    return count;
}

static void say_results(const struct search_tool *self, const struct search_question *question,
                        const struct http_response *response, struct tool_result *result)
{
    const char *body = buf_string(&response->body);
    struct json_object *root = NULL;
    size_t count = 0;
    if (response->status < 200 || response->status > 299) {
        tool_fail(result, "Error: %s answered with HTTP %ld", self->provider->name,
                  response->status);
        return;
    }
    if (self->provider->url_member == NULL) {
        count = read_page(body, response->body.len, question, &result->text);
    } else if (json_parse(body, response->body.len, &root, NULL) < 0) {
        tool_fail(result, "Error: the reply of %s is not JSON", self->provider->name);
        return;
    } else {
        count = read_json(self->provider, root, question, &result->text);
        json_object_put(root);
    }
    if (count == 0) {
        buf_append_string(&result->text, "No results found.");
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static size_t result_count(const struct search_tool *self, struct json_object *arguments)
{
    int64_t most = json_get_int(self->config, "max_results", 10);
    int64_t given = json_get_int(arguments, "num_results", most);
    int64_t count = given < 1 || given > most ? most : given;
    return count < 1 ? 1 : count > RESULTS_MAX ? RESULTS_MAX : (size_t)count;
}

static void search(const struct tool *tool, const struct tool_call *call, bool is_news,
                   struct tool_result *result)
{
    const struct search_tool *self = tool->context;
    const struct search_question question = {
        .query = json_get_string(call->arguments, "query", ""),
        .is_news = is_news,
        .is_safe = json_get_bool(self->config, "safe_search", true),
        .count = result_count(self, call->arguments),
    };
    struct buf url = {0}; /* may hold the key */
    auto_buf struct buf body = {0};
    struct http_response response;
    if (self->headers.missing != NULL) {
        tool_fail_missing(result, self->headers.missing);
        return;
    }
    buf_append_string(&url, json_get_string(self->config, "address", self->provider->address));
    self->provider->ask(self, &question, &url, &body);
    const struct tool_http_request request = {
        .method = body.len > 0 ? "POST" : "GET",
        .url = buf_string(&url),
        .headers = &self->headers,
        .body = body.len > 0 ? buf_string(&body) : NULL,
        .timeout_s = json_get_int(self->config, "timeout_seconds", TIMEOUT_S),
        .max_body_bytes = REPLY_MAX_BYTES,
        .failure_text = "Error: ",
    };
    if (tool_http_call(self->around, call, &request, &response, result)) {
        say_results(self, &question, &response, result);
    }
    http_response_fini(&response);
    secret_fini_buf(&url);
}

static void run_web(const struct tool *tool, const struct tool_call *call,
                    struct tool_result *ret_result)
{
    search(tool, call, false, ret_result);
}

static void run_news(const struct tool *tool, const struct tool_call *call,
                     struct tool_result *ret_result)
{
    search(tool, call, true, ret_result);
}

#define SEARCH_FUNCTION                                                                         \
    .schema = "{\"type\":\"object\",\"properties\":{"                                           \
              "\"query\":{\"type\":\"string\",\"description\":\"What to search for\"},"         \
              "\"num_results\":{\"type\":\"integer\",\"description\":\"Results, at most those " \
              "of the role\"}},\"required\":[\"query\"],\"additionalProperties\":false}",       \
    .is_idempotent = true, .is_concurrent = true, .is_read_only = true

static const struct tool_function web_function = {
    .name = "web_search",
    .description = "Search the web. Gives titles, addresses and excerpts, written by others.",
    SEARCH_FUNCTION,
    .run = run_web,
};

static const struct tool_function news_function = {
    .name = "news_search",
    .description = "Search recent news. Gives titles, addresses and excerpts, written by others.",
    SEARCH_FUNCTION,
    .run = run_news,
};

/* ---- Opening --------------------------------------------------------------------------------- */

static void free_search_tool(void *owned)
{
    struct search_tool *self = owned;
    tool_headers_fini(&self->headers);
    secret_free_string(self->key);
    free(self);
}

static const struct search_provider *find_provider(const char *name)
{
    for (size_t i = 1; i < sizeof(providers) / sizeof(providers[0]); i++) {
        if (strcmp(providers[i].name, name) == 0) {
            return &providers[i];
        }
    }
    return &providers[0];
}

static void set_headers(struct search_tool *self)
{
    struct buf value = {0};
    if (self->provider->key_header != NULL) {
        buf_printf(&value, "%s%s", self->provider->key_prefix, self->key);
        tool_headers_set(&self->headers, self->provider->key_header, buf_string(&value));
        secret_fini_buf(&value);
    }
    if (self->provider->ask == ask_tavily) {
        tool_headers_set(&self->headers, "Content-Type", "application/json");
    }
}

static int open_search(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct search_tool *self = memory_new_zero(1, sizeof(*self));
    toolbox_own(toolbox, self, free_search_tool);
    self->around = toolbox_surroundings(toolbox);
    self->config = config;
    self->provider = find_provider(json_get_string(config, "provider", ""));
    self->key = tool_expand(self->around->dotenv, json_get_string(config, "api_key", ""),
                            &self->headers.missing);
    set_headers(self);
    int r = toolbox_add_function(toolbox, search_tool_type.name, &web_function, self, err);
    return r < 0 ? r
                 : toolbox_add_function(toolbox, search_tool_type.name, &news_function, self, err);
}

const struct tool_type search_tool_type = {.name = "search", .open = open_search};
