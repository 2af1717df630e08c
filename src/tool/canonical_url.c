// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical URLs: RFC 3986 (6.2), with the addresses that inet_aton reads and names in Punycode
 * (RFC 3492). Letters beyond ASCII keep their case. Pure.
 */
#include "tool/canonical.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/memory.h"
#include "base/text/utf8.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A label of a host name, characters. */
#define LABEL_MAX 256

/** The byte that an escape stands for; -1 when it is none. */
static int escaped_byte(const char *at)
{
    return at[0] == '%' ? ascii_hex_byte(at + 1) : -1;
}

static bool is_unreserved(int c)
{
    return c < 128 && (isalnum(c) || strchr("-._~", c) != NULL) && c > 0;
}

/** Append with escapes only where they are needed, and in upper case. */
static void append_unescaped(struct buf *text, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int byte = i + 2 < len ? escaped_byte(from + i) : -1;
        if (byte < 0) {
            buf_append(text, from + i, 1);
        } else if (is_unreserved(byte)) {
            buf_printf(text, "%c", byte);
            i += 2;
        } else {
            buf_printf(text, "%%%02X", (unsigned)byte);
            i += 2;
        }
    }
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

/** Code points of a label, with full-width ASCII as ASCII and A-Z in lower case. */
static size_t decode_label(const char *label, size_t len, uint32_t *ret_points)
{
    size_t count = 0;
    for (size_t i = 0; i < len && count < LABEL_MAX;) {
        size_t step = utf8_sequence_len(label + i, len - i);
        unsigned char first = (unsigned char)label[i];
        uint32_t point = first;
        if (step > 1) {
            point = first & (0xffU >> (step + 1));
            for (size_t k = 1; k < step; k++) {
                point = point << 6 | ((unsigned char)label[i + k] & 0x3fU);
            }
        }
        point = point >= 0xff01 && point <= 0xff5e ? point - 0xfee0 : point;
        point = point >= 'A' && point <= 'Z' ? point + 32 : point;
        ret_points[count++] = point;
        i += step == 0 ? 1 : step;
    }
    return count;
}

static uint32_t adapt(uint32_t delta, uint32_t count, bool is_first)
{
    uint32_t k = 0;
    delta = is_first ? delta / 700 : delta / 2;
    delta += delta / count;
    for (; delta > 455; k += 36) {
        delta /= 35;
    }
    return k + 36 * delta / (delta + 38);
}

static void append_delta(struct buf *text, uint32_t delta, uint32_t bias)
{
    for (uint32_t k = 36;; k += 36) {
        uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (delta < t) {
            buf_printf(text, "%c", (int)(delta < 26 ? 'a' + delta : '0' + delta - 26));
            return;
        }
        uint32_t digit = t + (delta - t) % (36 - t);
        buf_printf(text, "%c", (int)(digit < 26 ? 'a' + digit : '0' + digit - 26));
        delta = (delta - t) / (36 - t);
    }
}

/** RFC 3492, 6.3. */
static void append_punycode(struct buf *text, const uint32_t *points, size_t count)
{
    uint32_t n = 128;
    uint32_t delta = 0;
    uint32_t bias = 72;
    uint32_t done = 0;
    buf_append_string(text, "xn--");
    for (size_t i = 0; i < count; i++) {
        if (points[i] < 128) {
            buf_printf(text, "%c", (int)points[i]);
            done++;
        }
    }
    uint32_t basic = done;
    buf_append_string(text, basic > 0 ? "-" : "");
    while (done < count) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < count; i++) {
            next = points[i] >= n && points[i] < next ? points[i] : next;
        }
        delta += (next - n) * (done + 1); /* at most 0x10ffff times LABEL_MAX */
        n = next;
        for (size_t i = 0; i < count; i++) {
            delta += points[i] < n ? 1 : 0;
            if (points[i] == n) {
                append_delta(text, delta, bias);
                bias = adapt(delta, done + 1, done == basic);
                done++;
                delta = 0;
            }
        }
        delta++;
        n++;
    }
}

static void append_label(struct buf *text, const char *label, size_t len)
{
    uint32_t points[LABEL_MAX];
    size_t count = decode_label(label, len, points);
    bool is_ascii = true;
    for (size_t i = 0; i < count; i++) {
        is_ascii = is_ascii && points[i] < 128;
    }
    if (!is_ascii) {
        append_punycode(text, points, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        buf_printf(text, "%c", (int)points[i]);
    }
}

/** Length of a dot between labels, also of those of other scripts; 0 = there is none. */
static size_t dot_len(const char *at)
{
    static const char *const dots[] = {".", "\u3002", "\uff0e", "\uff61"};
    for (size_t i = 0; i < sizeof(dots) / sizeof(dots[0]); i++) {
        if (strncmp(at, dots[i], strlen(dots[i])) == 0) {
            return strlen(dots[i]);
        }
    }
    return 0;
}

static void append_name(struct buf *text, const char *name)
{
    size_t start = text->len;
    while (*name != '\0') {
        size_t len = 0;
        while (name[len] != '\0' && dot_len(name + len) == 0) {
            len++;
        }
        append_label(text, name, len);
        name += len;
        buf_append_string(text, *name == '\0' ? "" : ".");
        name += dot_len(name);
    }
    while (text->len > start && text->data[text->len - 1] == '.') {
        text->data[--text->len] = '\0';
    }
}

/** "[::1]" */
static bool append_ip6(struct buf *text, const char *host)
{
    struct in6_addr address;
    char shown[INET6_ADDRSTRLEN];
    size_t len = strlen(host);
    if (len < 2 || host[0] != '[' || host[len - 1] != ']') {
        return false;
    }
    auto_free char *inner = memory_dup_bytes(host + 1, len - 2);
    if (inet_pton(AF_INET6, inner, &address) != 1 ||
        inet_ntop(AF_INET6, &address, shown, sizeof(shown)) == NULL) {
        return false;
    }
    buf_printf(text, "[%s]", shown);
    return true;
}

void canonical_host(const char *host, struct buf *ret_text)
{
    auto_buf struct buf unescaped = {0};
    auto_buf struct buf name = {0};
    struct in_addr address;
    char shown[INET_ADDRSTRLEN];
    for (const char *at = host; *at != '\0'; at++) {
        int byte = escaped_byte(at);
        buf_printf(&unescaped, "%c", byte > 0 ? byte : *at);
        at += byte > 0 ? 2 : 0;
    }
    if (append_ip6(ret_text, buf_string(&unescaped))) {
        return;
    }
    append_name(&name, buf_string(&unescaped));
    if (inet_aton(buf_string(&name), &address) != 0 &&
        inet_ntop(AF_INET, &address, shown, sizeof(shown)) != NULL) {
        buf_append_string(ret_text, shown);
    } else {
        buf_append_string(ret_text, buf_string(&name));
    }
}

/* ---- Paths ----------------------------------------------------------------------------------- */

static void drop_segment(struct buf *path, size_t start)
{
    while (path->len > start && path->data[path->len - 1] != '/') {
        path->len--;
    }
    path->len -= path->len > start ? 1 : 0;
    path->data[path->len] = '\0';
}

void canonical_url_path(const char *path, struct buf *ret_text)
{
    auto_buf struct buf plain = {0};
    size_t start = ret_text->len;
    size_t path_len = strcspn(path, "?#");
    append_unescaped(&plain, path, path_len);
    bool is_folder = true;
    for (const char *at = buf_string(&plain); *at != '\0';) {
        at += strspn(at, "/\\");
        size_t len = strcspn(at, "/\\");
        bool is_up = len == 2 && memcmp(at, "..", 2) == 0;
        bool is_here = len == 1 && *at == '.';
        if (is_up) {
            drop_segment(ret_text, start);
        } else if (len > 0 && !is_here) {
            buf_append_string(ret_text, "/");
            buf_append(ret_text, at, len);
        }
        is_folder = len == 0 || is_up || is_here || at[len] != '\0';
        at += len;
    }
    buf_append_string(ret_text, is_folder ? "/" : "");
    if (path[path_len] == '?') {
        append_unescaped(ret_text, path + path_len, strcspn(path + path_len, "#"));
    }
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void append_port(struct buf *text, const char *scheme, const char *port)
{
    static const struct {
        const char *scheme;
        long port;
    } usual[] = {{"http", 80}, {"https", 443}, {"ws", 80}, {"wss", 443}, {"ftp", 21}};
    long number = strtol(port, NULL, 10);
    bool is_usual = *port == '\0';
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        is_usual = is_usual || (strcmp(usual[i].scheme, scheme) == 0 && usual[i].port == number);
    }
    if (!is_usual && port[strspn(port, "0123456789")] == '\0') {
        buf_printf(text, ":%ld", number);
    } else if (!is_usual) {
        buf_printf(text, ":%s", port);
    }
}

static void append_authority(struct buf *text, const char *scheme, char *authority)
{
    char *at = strrchr(authority, '@');
    char *host = at == NULL ? authority : at + 1;
    char *bracket = strchr(host, ']');
    char *colon = strchr(bracket == NULL ? host : bracket, ':');
    if (colon != NULL) {
        *colon = '\0';
    }
    canonical_host(host, text);
    append_port(text, scheme, colon == NULL ? "" : colon + 1);
}

void canonical_url(const char *url, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    for (const char *at = url; *at != '\0'; at++) { /* As browsers do: no controls, no blanks. */
        if ((unsigned char)*at > ' ' && *at != 0x7f) {
            buf_append(&clean, at, 1);
        }
    }
    const char *text = buf_string(&clean);
    size_t scheme_len = strcspn(text, ":");
    const char *rest = text + scheme_len;
    bool is_web = strncasecmp(text, "http:", 5) == 0 || strncasecmp(text, "https:", 6) == 0;
    if (strncmp(rest, ":/", 2) != 0 && strncmp(rest, ":\\", 2) != 0 && !is_web) {
        buf_append_string(ret_text, url);
        return;
    }
    auto_free char *scheme = memory_dup_bytes(text, scheme_len);
    for (char *c = scheme; *c != '\0'; c++) {
        *c = ascii_lower(*c);
    }
    rest += 1 + strspn(rest + 1, "/\\");
    auto_free char *authority = memory_dup_bytes(rest, strcspn(rest, "/\\?#"));
    size_t authority_len = strlen(authority);
    buf_printf(ret_text, "%s://", scheme);
    append_authority(ret_text, scheme, authority);
    canonical_url_path(rest + authority_len, ret_text);
}
