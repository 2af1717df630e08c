// SPDX-License-Identifier: Apache-2.0
#include "forge/link.h"

#include "base/ascii.h"
#include "base/memory.h"

#include <string.h>
#include <strings.h>

void link_escape(const char *text, struct buf *ret_path)
{
    for (; *text != '\0'; text++) {
        if (ascii_is_letter_or_digit(*text) || strchr("-._~", *text) != NULL) {
            buf_append(ret_path, text, 1);
        } else {
            buf_printf(ret_path, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

bool link_is_segment(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/** Where a part ends: at a byte outside of quotes, or with the text. */
static const char *find_end(const char *at, char byte)
{
    bool is_quoted = false;
    for (; *at != '\0' && (is_quoted || *at != byte); at++) {
        is_quoted ^= *at == '"';
    }
    return at;
}

/** Whether a value of rel has "next" among its words. */
static bool has_next(const char *value, size_t len)
{
    bool is_quoted = len >= 2 && value[0] == '"' && value[len - 1] == '"';
    const char *at = value + is_quoted;
    const char *end = value + len - is_quoted;
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        size_t word_len = (size_t)((blank != NULL ? blank : end) - at);
        if (word_len == 4 && strncasecmp(at, "next", 4) == 0) {
            return true;
        }
        at += word_len + 1;
    }
    return false;
}

/** Whether the parameters of a link, up to `end`, have rel="next". */
static bool is_next(const char *at, const char *end)
{
    while (at < end) {
        at += strspn(at, "; \t");
        const char *stop = find_end(at, ';');
        stop = stop < end ? stop : end;
        if (stop - at > 4 && strncasecmp(at, "rel=", 4) == 0) {
            return has_next(at + 4, (size_t)(stop - at) - 4);
        }
        at = stop;
    }
    return false;
}

char *link_next(const char *header)
{
    const char *at = strchr(header, '<');
    while (at != NULL) {
        const char *close = strchr(at, '>');
        if (close == NULL) {
            return NULL;
        }
        const char *end = find_end(close + 1, ',');
        if (is_next(close + 1, end)) {
            return memory_dup_bytes(at + 1, (size_t)(close - at - 1));
        }
        at = strchr(end, '<');
    }
    return NULL;
}

bool link_has_origin(const char *url, const char *origin_url)
{
    const char *authority = strstr(origin_url, "://");
    if (authority == NULL) {
        return false;
    }
    size_t len = (size_t)(authority - origin_url) + 3;
    len += strcspn(origin_url + len, "/?#");
    /* A slash must follow: after "@" or ":" the host would be another one. */
    return strncasecmp(url, origin_url, len) == 0 && url[len] == '/';
}

/** Length of scheme, host and port, without the usual port. */
static size_t origin_len(const char *url)
{
    const char *authority = strstr(url, "://");
    size_t len = authority != NULL ? (size_t)(authority - url) + 3 : 0;
    len += strcspn(url + len, "/?#");
    const char *port = strncasecmp(url, "https:", 6) == 0  ? ":443"
                       : strncasecmp(url, "http:", 5) == 0 ? ":80"
                                                           : ":";
    size_t port_len = strlen(port);
    bool is_usual = len > port_len && strncmp(url + len - port_len, port, port_len) == 0;
    return is_usual ? len - port_len : len;
}

bool link_is_same_origin(const char *url, const char *other_url)
{
    size_t len = origin_len(url);
    return len == origin_len(other_url) && strncasecmp(url, other_url, len) == 0;
}

bool link_names_host(const char *setting, const char *host)
{
    const char *authority = strstr(setting, "://");
    const char *at = authority != NULL ? authority + 3 : setting;
    size_t len = strcspn(at, "/?#");
    return strlen(host) == len && strncasecmp(at, host, len) == 0;
}
