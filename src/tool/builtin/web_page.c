// SPDX-License-Identifier: Apache-2.0
#include "tool/builtin/web_page.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/builtin/html.h"
#include "tool/canonical.h"
#include "tool/toolbox.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TIMEOUT_S          15
#define CONTENT_BYTES      512000
#define PAGE_MAX_BYTES     ((size_t)4 * 1024 * 1024) /* of HTML, before it is text */
#define REDIRECTS          5
#define LOCATION_MAX_BYTES 2048

void web_pages_init(struct web_pages *pages, const struct tool_surroundings *around,
                    struct json_object *config)
{
    *pages = (struct web_pages){.around = around, .config = config};
    tool_headers_set(&pages->headers, "User-Agent", json_get_string(config, "user_agent", "rondo"));
}

void web_pages_fini(struct web_pages *pages)
{
    tool_headers_fini(&pages->headers);
}

/** The host of an address, in lower case; "" when it is none. */
static void read_host(const char *url, struct buf *ret_host)
{
    auto_buf struct buf canonical = {0};
    canonical_url(url, &canonical);
    const char *begin = strstr(buf_string(&canonical), "://");
    begin = begin == NULL ? "" : begin + 3;
    size_t len = begin[0] == '[' ? strcspn(begin, "]") : strcspn(begin, ":/?#");
    len -= len > 0 && begin[len - 1] == '.' ? 1 : 0;
    buf_append(ret_host, begin, len);
}

/** An address that every reader of addresses reads alike: http or https, no user, no odd bytes. */
static bool is_plain(const char *url)
{
    bool is_web = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    const char *authority = is_web ? strstr(url, "://") + 3 : url;
    for (const char *at = url; *at != '\0'; at++) {
        if (!ascii_is_graphic(*at) && (unsigned char)*at < 0x80) {
            return false;
        }
    }
    return is_web && strchr(url, '\\') == NULL &&
           memchr(authority, '@', strcspn(authority, "/?#")) == NULL;
}

static bool is_listed(struct json_object *list, const char *host)
{
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(json_object_get_string(json_object_array_get_idx(list, i)), host) == 0) {
            return true;
        }
    }
    return false;
}

/** The allowed hosts decide if there are any, else the blocked ones. */
static bool may_reach(const struct web_pages *self, const char *url, struct tool_result *result)
{
    auto_buf struct buf host = {0};
    struct json_object *allowed = json_member(self->config, "allowed_domains");
    bool has_list =
        json_object_is_type(allowed, json_type_array) && json_object_array_length(allowed) > 0;
    read_host(url, &host);
    if (!is_plain(url) || host.len == 0) {
        tool_fail(result, "Error: '%.200s' is not an http or https address", url);
        return false;
    }
    bool may = has_list
                   ? is_listed(allowed, buf_string(&host))
                   : !is_listed(json_member(self->config, "blocked_domains"), buf_string(&host));
    if (!may) {
        tool_fail(result, "Error: the domain '%.200s' is not allowed", buf_string(&host));
    }
    return may;
}

/** Where a redirect leads. @return owned, or NULL */
static char *follow(const char *url, const struct http_response *response)
{
    char location[LOCATION_MAX_BYTES];
    struct buf next = {0};
    if (!http_response_header(response, "Location", location, sizeof(location))) {
        return NULL;
    }
    const char *slashes = strstr(url, "://");
    size_t scheme = slashes == NULL ? 0 : (size_t)(slashes - url) + 1;
    size_t origin = scheme + 2 + strcspn(url + scheme + 2, "/?#");
    if (strstr(location, "://") != NULL) {
        buf_append_string(&next, location);
    } else if (strncmp(location, "//", 2) == 0) {
        buf_append(&next, url, scheme);
        buf_append_string(&next, location);
    } else if (location[0] == '/') {
        buf_append(&next, url, origin);
        buf_append_string(&next, location);
    } else {
        size_t path = origin + strcspn(url + origin, "?#");
        while (path > origin && url[path - 1] != '/') {
            path--;
        }
        buf_append(&next, url, path);
        buf_printf(&next, "%s%s", path == origin ? "/" : "", location);
    }
    return buf_steal(&next);
}

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/** Fetch, and follow redirects as far as the role allows. @return false with a result */
static bool fetch(const struct web_pages *self, const struct tool_call *call, char **url,
                  struct http_response *ret_response, struct tool_result *result)
{
    for (unsigned hop = 0; hop <= REDIRECTS; hop++) {
        const struct tool_http_request request = {
            .method = "GET",
            .url = *url,
            .headers = &self->headers,
            .timeout_s = json_get_int(self->config, "timeout_seconds", TIMEOUT_S),
            .max_body_bytes = PAGE_MAX_BYTES,
            .failure_text = "Error: ",
        };
        if (!may_reach(self, *url, result) ||
            !tool_http_call(self->around, call, &request, ret_response, result)) {
            return false;
        }
        char *next = is_redirect(ret_response->status) ? follow(*url, ret_response) : NULL;
        if (next == NULL) {
            return true;
        }
        free(*url);
        *url = next;
        http_response_fini(ret_response);
        *ret_response = (struct http_response){0};
    }
    tool_fail(result, "Error: more than %d redirects", REDIRECTS);
    return false;
}

static bool is_html(const struct http_response *response)
{
    char type[128] = "";
    if (!http_response_header(response, "Content-Type", type, sizeof(type))) {
        return true;
    }
    return strcasestr(type, "html") != NULL || strcasestr(type, "xml") != NULL;
}

static bool is_text(const struct http_response *response)
{
    char type[128] = "";
    http_response_header(response, "Content-Type", type, sizeof(type));
    return strncasecmp(type, "text/", 5) == 0 || strcasestr(type, "json") != NULL;
}

static size_t content_bytes(const struct web_pages *self)
{
    int64_t bytes = json_get_int(self->config, "max_content_bytes", CONTENT_BYTES);
    return bytes < 1 || bytes > (int64_t)TOOL_RESULT_MAX_BYTES ? TOOL_RESULT_MAX_BYTES
                                                               : (size_t)bytes;
}

static void write_page(const struct web_pages *self, const char *url,
                       const struct http_response *response, struct tool_result *result)
{
    const char *body = buf_string(&response->body);
    size_t most = content_bytes(self);
    if (response->status < 200 || response->status > 299) {
        tool_fail(result, "Error: HTTP %ld from %.500s", response->status, url);
    } else if (is_html(response)) {
        html_to_markdown(body, response->body.len, most, &result->text);
    } else if (is_text(response)) {
        buf_append(&result->text, body, response->body.len);
    } else {
        tool_fail(result, "Error: %.500s is not a page of text", url);
    }
    tool_result_truncate(result, most);
}

bool web_page_read(const struct web_pages *pages, const struct tool_call *call, const char *url,
                   struct tool_result *ret_result)
{
    auto_free char *at = memory_dup_string(url);
    struct http_response response = {0};
    if (fetch(pages, call, &at, &response, ret_result)) {
        write_page(pages, at, &response, ret_result);
    }
    http_response_fini(&response);
    return !ret_result->is_error;
}
