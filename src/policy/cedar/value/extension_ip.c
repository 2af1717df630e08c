// SPDX-License-Identifier: Apache-2.0
/*
 * Cedar's ipaddr: an IPv4 or IPv6 address with a prefix length. inet_pton is not used, because it
 * takes IPv4 inside of IPv6, which Cedar refuses, and requires a NUL. Pure; any thread.
 */
#include "policy/cedar/value/extension.h"

#include "base/ascii.h"
#include "policy/cedar/value/extension_text.h"

#include <stdio.h>
#include <string.h>

#define V4_BITS   32
#define V6_BITS   128
#define V6_GROUPS 8
/** Length of the longest text: eight groups of four digits and "/128". */
#define TEXT_LEN 43

/** Step over a number without leading zeros; of "01" only the "0" is read. */
static bool take_number(struct extension_text *rest, unsigned high, uint8_t *ret_number)
{
    if (!extension_text_has_digit(rest)) {
        return false;
    }
    unsigned number = 0;
    do {
        number = number * 10 + (unsigned)extension_text_digit(rest);
    } while (number != 0 && number <= high && extension_text_has_digit(rest));
    *ret_number = (uint8_t)number;
    return number <= high;
}

static bool take_v4(struct extension_text *rest, uint8_t *bytes)
{
    for (size_t i = 0; i < 4; i++) {
        if ((i > 0 && !extension_text_take(rest, '.')) ||
            !take_number(rest, UINT8_MAX, &bytes[i])) {
            return false;
        }
    }
    return true;
}

/** Step over one to four hexadecimal digits; a fifth is left for the caller to stumble over. */
static bool take_group(struct extension_text *rest, uint8_t *bytes)
{
    unsigned group = 0;
    size_t start = rest->at;
    while (rest->at < rest->len && rest->at < start + 4) {
        int digit = ascii_hex_value(rest->bytes[rest->at]);
        if (digit < 0) {
            break;
        }
        group = group << 4 | (unsigned)digit;
        rest->at++;
    }
    bytes[0] = (uint8_t)(group >> 8);
    bytes[1] = (uint8_t)(group & 0xff);
    return rest->at > start;
}

/** Step over groups with single colons between them, up to a number of them. @return how many */
static size_t take_groups(struct extension_text *rest, size_t most, uint8_t *bytes)
{
    size_t count = 0;
    while (count < most) {
        struct extension_text ahead = *rest;
        if ((count > 0 && !extension_text_take(&ahead, ':')) ||
            !take_group(&ahead, bytes + 2 * count)) {
            break;
        }
        *rest = ahead;
        count++;
    }
    return count;
}

static bool take_v6(struct extension_text *rest, uint8_t *bytes)
{
    uint8_t head[16] = {0};
    uint8_t tail[16] = {0};
    size_t before = take_groups(rest, V6_GROUPS, head);
    size_t after = 0;
    if (before < V6_GROUPS) {
        bool has_gap = extension_text_take(rest, ':');
        has_gap = has_gap && extension_text_take(rest, ':');
        if (!has_gap) {
            return false;
        }
        /* One less than what is missing, because `::` stands for at least one group. */
        after = take_groups(rest, V6_GROUPS - before - 1, tail);
    }
    memset(bytes, 0, 16);
    memcpy(bytes, head, 2 * before);
    memcpy(bytes + 16 - 2 * after, tail, 2 * after);
    return true;
}

bool cedar_ip_parse(const char *text, size_t len, struct cedar_ip *ret_ip)
{
    if (len > TEXT_LEN) {
        return false;
    }
    struct extension_text rest = {.bytes = text, .len = len};
    struct cedar_ip ip = {.is_v6 = false, .prefix = V4_BITS};
    if (!take_v4(&rest, ip.bytes)) {
        rest.at = 0;
        ip.is_v6 = true;
        ip.prefix = V6_BITS;
        if (!take_v6(&rest, ip.bytes)) {
            return false;
        }
    }
    if (extension_text_take(&rest, '/') && !take_number(&rest, ip.prefix, &ip.prefix)) {
        return false;
    }
    if (!extension_text_is_at_end(&rest)) {
        return false;
    }
    *ret_ip = ip;
    return true;
}

/** The run of zero groups that `::` stands for: the longest, the first of equals, two at least. */
static void find_gap(const uint8_t *bytes, size_t *ret_start, size_t *ret_len)
{
    size_t run = 0;
    *ret_start = V6_GROUPS;
    *ret_len = 1;
    for (size_t i = 0; i < V6_GROUPS; i++) {
        run = bytes[2 * i] == 0 && bytes[2 * i + 1] == 0 ? run + 1 : 0;
        if (run > *ret_len) {
            *ret_len = run;
            *ret_start = i + 1 - run;
        }
    }
}

/** Lower case and shortest, as RFC 5952 requires, but never with IPv4 inside. */
static int format_v6(const uint8_t *bytes, char *ret_text)
{
    size_t gap = 0;
    size_t gap_len = 0;
    int len = 0;
    find_gap(bytes, &gap, &gap_len);
    for (size_t i = 0; i < V6_GROUPS; i++) {
        if (i == gap) {
            ret_text[len++] = ':';
            ret_text[len++] = ':';
            i += gap_len - 1;
            continue;
        }
        const char *separator = i == 0 || i == gap + gap_len ? "" : ":";
        len += snprintf(ret_text + len, CEDAR_EXTENSION_TEXT_SIZE - (size_t)len, "%s%x", separator,
                        (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1]);
    }
    ret_text[len] = '\0';
    return len;
}

void cedar_ip_format(const struct cedar_ip *ip, char *ret_text)
{
    int len = 0;
    if (ip->is_v6) {
        len = format_v6(ip->bytes, ret_text);
    } else {
        len = snprintf(ret_text, CEDAR_EXTENSION_TEXT_SIZE, "%d.%d.%d.%d", ip->bytes[0],
                       ip->bytes[1], ip->bytes[2], ip->bytes[3]);
    }
    if (ip->prefix != (ip->is_v6 ? V6_BITS : V4_BITS)) {
        snprintf(ret_text + len, CEDAR_EXTENSION_TEXT_SIZE - (size_t)len, "/%d", ip->prefix);
    }
}

bool cedar_ip_equals(const struct cedar_ip *a, const struct cedar_ip *b)
{
    return a->is_v6 == b->is_v6 && a->prefix == b->prefix &&
           memcmp(a->bytes, b->bytes, a->is_v6 ? 16 : 4) == 0;
}

static bool share_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    size_t whole = bits / 8;
    unsigned part = bits % 8;
    return memcmp(a, b, whole) == 0 && (part == 0 || (a[whole] ^ b[whole]) >> (8 - part) == 0);
}

bool cedar_ip_is_in_range(const struct cedar_ip *inner, const struct cedar_ip *outer)
{
    /* Two ranges are apart or one holds the other, so the first bits decide. */
    return inner->is_v6 == outer->is_v6 && inner->prefix >= outer->prefix &&
           share_bits(inner->bytes, outer->bytes, outer->prefix);
}

bool cedar_ip_is_loopback(const struct cedar_ip *ip)
{
    static const struct cedar_ip v4 = {.is_v6 = false, .prefix = 8, .bytes = {127}};
    static const struct cedar_ip v6 = {.is_v6 = true, .prefix = V6_BITS, .bytes = {[15] = 1}};
    return cedar_ip_is_in_range(ip, ip->is_v6 ? &v6 : &v4);
}

bool cedar_ip_is_multicast(const struct cedar_ip *ip)
{
    static const struct cedar_ip v4 = {.is_v6 = false, .prefix = 4, .bytes = {224}};
    static const struct cedar_ip v6 = {.is_v6 = true, .prefix = 8, .bytes = {0xff}};
    return cedar_ip_is_in_range(ip, ip->is_v6 ? &v6 : &v4);
}
