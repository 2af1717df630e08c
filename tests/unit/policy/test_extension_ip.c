// SPDX-License-Identifier: Apache-2.0
#include "policy/cedar/value/extension.h"

#include "base/random.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_CASES 100000

/** Bytes with a length, as a text of a policy may hold a NUL. */
struct address_text {
    const char *bytes;
    size_t len;
};

#define TEXT(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

/** The bytes in memory of exactly that size, so that the address sanitizer sees a read past it. */
static char *exact_copy(const char *bytes, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return copy;
}

/** The address of a text that must be one. */
static struct cedar_ip ip_of(const char *text)
{
    struct cedar_ip ip;
    size_t len = strlen(text);
    char *copy = exact_copy(text, len);
    bool is_taken = cedar_ip_parse(copy, len, &ip);
    free(copy);
    if (!is_taken) {
        fail_msg("'%s' was refused", text);
    }
    return ip;
}

static void assert_ips_refused(const struct address_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cedar_ip ip = {.is_v6 = true, .prefix = 77, .bytes = {1, 2, 3}};
        struct cedar_ip before = ip;
        char *copy = exact_copy(texts[i].bytes, texts[i].len);
        if (cedar_ip_parse(copy, texts[i].len, &ip)) {
            fail_msg("'%s' was taken", texts[i].bytes);
        }
        free(copy);
        assert_true(cedar_ip_equals(&ip, &before));
    }
}

TEST(dotted_quads_are_read_with_their_prefix)
{
    static const struct {
        const char *text;
        struct cedar_ip ip;
    } cases[] = {
        {"0.0.0.0", {false, 32, {0, 0, 0, 0}}},
        {"1.2.3.4", {false, 32, {1, 2, 3, 4}}},
        {"255.255.255.255", {false, 32, {255, 255, 255, 255}}},
        {"10.1.2.3/0", {false, 0, {10, 1, 2, 3}}},
        {"10.1.2.3/8", {false, 8, {10, 1, 2, 3}}},
        {"10.1.2.3/32", {false, 32, {10, 1, 2, 3}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cedar_ip ip = ip_of(cases[i].text);
        assert_true(cedar_ip_equals(&ip, &cases[i].ip));
    }
}

TEST(bad_dotted_quads_are_refused)
{
    static const struct address_text texts[] = {
        TEXT(""),          TEXT("1"),          TEXT("1.2"),
        TEXT("1.2.3"),     TEXT("1.2.3."),     TEXT(".1.2.3"),
        TEXT("1..2.3"),    TEXT("1.2.3.4."),   TEXT("1.2.3.4.5"),
        TEXT("256.0.0.1"), TEXT("1.2.3.256"),  TEXT("1.2.3.1000"),
        TEXT("01.2.3.4"),  TEXT("1.2.3.00"),   TEXT("1.2.3.04"),
        TEXT("1.2.3.010"), TEXT("-1.2.3.4"),   TEXT("+1.2.3.4"),
        TEXT("1.2.3.a"),   TEXT("0x1.2.3.4"),  TEXT(" 1.2.3.4"),
        TEXT("1.2.3.4 "),  TEXT("1.2.3.4\n"),  TEXT("1.2.3.4\0"),
        TEXT("1.2.3\0.4"), TEXT("1.2.3.4:80"), TEXT("1,2,3,4"),
        TEXT("localhost"), TEXT("16909060"),   TEXT("1.2.3.\u0664"),
    };
    assert_ips_refused(texts, COUNT(texts));
}

TEST(bad_prefixes_are_refused)
{
    static const struct address_text texts[] = {
        TEXT("/"),
        TEXT("/8"),
        TEXT("1.2.3.4/"),
        TEXT("1.2.3.4/33"),
        TEXT("1.2.3.4/00"),
        TEXT("1.2.3.4/08"),
        TEXT("1.2.3.4/032"),
        TEXT("1.2.3.4/128"),
        TEXT("1.2.3.4/256"),
        TEXT("1.2.3.4/264"),
        TEXT("1.2.3.4/-8"),
        TEXT("1.2.3.4/+8"),
        TEXT("1.2.3.4/ 8"),
        TEXT("1.2.3.4/8 "),
        TEXT("1.2.3.4/8/8"),
        TEXT("1.2.3.4//8"),
        TEXT("1.2.3.4/8\0"),
        TEXT("1.2.3.4/x"),
        TEXT("1.2.3.4/255.0.0.0"),
        TEXT("::/"),
        TEXT("::/129"),
        TEXT("::/00"),
        TEXT("::/0128"),
        TEXT("::/200"),
        TEXT("::/1280"),
        TEXT("::/12a"),
        TEXT("::/ff"),
        TEXT("::/1/1"),
        TEXT("1:2:3:4:5:6:7/8"),
    };
    assert_ips_refused(texts, COUNT(texts));
}

TEST(ipv6_is_read_with_and_without_a_gap)
{
    static const struct {
        const char *text;
        struct cedar_ip ip;
    } cases[] = {
        {"::", {true, 128, {0}}},
        {"::1", {true, 128, {[15] = 1}}},
        {"1::", {true, 128, {[1] = 1}}},
        {"0:0:0:0:0:0:0:0", {true, 128, {0}}},
        {"1:2:3:4:5:6:7:8", {true, 128, {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8}}},
        {"1:2:3:4:5:6:7::", {true, 128, {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0}}},
        {"::2:3:4:5:6:7:8", {true, 128, {0, 0, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8}}},
        {"1:2:3::5:6:7:8", {true, 128, {0, 1, 0, 2, 0, 3, 0, 0, 0, 5, 0, 6, 0, 7, 0, 8}}},
        {"1::8", {true, 128, {[1] = 1, [15] = 8}}},
        {"0000:00a:0B::", {true, 128, {[3] = 10, [5] = 11}}},
        {"aBcD::Ef01", {true, 128, {0xab, 0xcd, [14] = 0xef, [15] = 0x01}}},
        {"::/0", {true, 0, {0}}},
        {"2001:db8::/32", {true, 32, {0x20, 0x01, 0x0d, 0xb8}}},
        {"::1/128", {true, 128, {[15] = 1}}},
        {"::ffff:102:304", {true, 128, {[10] = 255, 255, 1, 2, 3, 4}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cedar_ip ip = ip_of(cases[i].text);
        assert_true(cedar_ip_equals(&ip, &cases[i].ip));
    }
}

TEST(bad_ipv6_is_refused)
{
    static const struct address_text texts[] = {
        TEXT(":"),
        TEXT(":::"),
        TEXT("1"),
        TEXT("1:"),
        TEXT(":1"),
        TEXT("1:2"),
        TEXT("1:2:3:4:5:6:7"),
        TEXT("1:2:3:4:5:6:7:"),
        TEXT(":2:3:4:5:6:7:8"),
        TEXT("1:2:3:4:5:6:7:8:9"),
        TEXT("1:2:3:4:5:6:7:8:"),
        TEXT("1:2:3:4:5:6:7:8::"),
        TEXT("::1:2:3:4:5:6:7:8"),
        TEXT("1::2:3:4:5:6:7:8"),
        TEXT("1:2:3:4::5:6:7:8"),
        TEXT("1::2::3"),
        TEXT("::1::"),
        TEXT("1:::2"),
        TEXT("::1:"),
        TEXT(":1::"),
        TEXT("00000::"),
        TEXT("::00001"),
        TEXT("12345::"),
        TEXT("g::"),
        TEXT("::-1"),
        TEXT("[::1]"),
        TEXT("fe80::1%eth0"),
        TEXT("::1%1"),
        TEXT(" ::1"),
        TEXT("::1 "),
        TEXT("::1\0"),
        TEXT("::\0001"),
        TEXT("0x1::"),
    };
    assert_ips_refused(texts, COUNT(texts));
}

TEST(ipv4_inside_of_ipv6_is_refused)
{
    static const struct address_text texts[] = {
        TEXT("::1.2.3.4"),           TEXT("::ffff:1.2.3.4"), TEXT("1:2:3:4:5:6:1.2.3.4"),
        TEXT("64:ff9b::1.2.3.4/96"), TEXT("1.2.3.4::"),      TEXT("::1.2"),
        TEXT("1.2.3.4:1"),           TEXT("::1."),
    };
    assert_ips_refused(texts, COUNT(texts));
}

TEST(the_longest_address_is_read)
{
    static const char longest[] = "abcd:ef01:2345:6789:abcd:ef01:2345:6789/128";
    static const struct address_text longer[] = {
        TEXT("abcd:ef01:2345:6789:abcd:ef01:2345:6789/0128"),
        TEXT("0abcd:ef01:2345:6789:abcd:ef01:2345:6789/128"),
    };
    assert_int_equal(strlen(longest), 43);
    assert_int_equal(ip_of(longest).bytes[0], 0xab);
    assert_ips_refused(longer, COUNT(longer));
}

TEST(addresses_are_written_in_their_shortest_form)
{
    static const char *const cases[][2] = {
        {"1.2.3.4", "1.2.3.4"},
        {"1.2.3.4/32", "1.2.3.4"},
        {"1.2.3.4/0", "1.2.3.4/0"},
        {"255.255.255.255/31", "255.255.255.255/31"},
        {"0:0:0:0:0:0:0:0", "::"},
        {"0:0:0:0:0:0:0:0/0", "::/0"},
        {"::1/128", "::1"},
        {"1:0:0:0:0:0:0:0", "1::"},
        {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
        {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
        {"1:0:0:2:3:0:0:4", "1::2:3:0:0:4"},
        {"0:0:1:2:3:4:0:0", "::1:2:3:4:0:0"},
        {"ABCD:0EF0::/127", "abcd:ef0::/127"},
        {"::ffff:102:304", "::ffff:102:304"},
        {"abcd:ef01:2345:6789:abcd:ef01:2345:6789/127",
         "abcd:ef01:2345:6789:abcd:ef01:2345:6789/127"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cedar_ip ip = ip_of(cases[i][0]);
        char text[CEDAR_EXTENSION_TEXT_SIZE];
        cedar_ip_format(&ip, text);
        assert_string_equal(text, cases[i][1]);
    }
}

/** Many zero bytes, so that there are gaps to write. */
static struct cedar_ip random_ip(struct random *random)
{
    struct cedar_ip ip = {.is_v6 = random_below(random, 2) == 0};
    ip.prefix = (uint8_t)random_below(random, ip.is_v6 ? 129 : 33);
    for (size_t i = 0; i < (ip.is_v6 ? 16U : 4U); i++) {
        bool is_zero = random_below(random, 4) > 0;
        ip.bytes[i] = is_zero ? 0 : (uint8_t)random_below(random, 256);
    }
    return ip;
}

TEST(addresses_read_back_as_written)
{
    struct random random = random_seeded(5);
    for (int i = 0; i < RANDOM_CASES; i++) {
        struct cedar_ip ip = random_ip(&random);
        char text[CEDAR_EXTENSION_TEXT_SIZE];
        cedar_ip_format(&ip, text);
        struct cedar_ip again = ip_of(text);
        assert_true(cedar_ip_equals(&ip, &again));
    }
}

TEST(addresses_are_equal_with_equal_prefixes_only)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } cases[] = {
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.1/32", true},
        {"10.0.0.1", "10.0.0.1/31", false},
        {"10.0.0.0/8", "10.0.0.1/8", false},
        {"10.0.0.1", "10.0.0.2", false},
        {"0.0.0.0/0", "::/0", false},
        {"0.0.0.0/32", "::/32", false},
        {"::1", "0:0:0:0:0:0:0:1", true},
        {"::A", "::a/128", true},
        {"::1", "::2", false},
        {"::/64", "::/65", false},
        {"1.2.3.4", "::ffff:102:304", false},
        {"1.2.3.4/32", "102:304::/32", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cedar_ip a = ip_of(cases[i].a);
        struct cedar_ip b = ip_of(cases[i].b);
        assert_int_equal(cedar_ip_equals(&a, &b), cases[i].is_equal);
        assert_int_equal(cedar_ip_equals(&b, &a), cases[i].is_equal);
    }
}

TEST(bytes_past_an_ipv4_address_do_not_matter)
{
    struct cedar_ip a = {.prefix = 32, .bytes = {1, 2, 3, 4, 5}};
    struct cedar_ip b = {.prefix = 32, .bytes = {1, 2, 3, 4, 6}};
    assert_true(cedar_ip_equals(&a, &b));
    assert_true(cedar_ip_is_in_range(&a, &b));
}

TEST(loopback_and_multicast_are_ranges)
{
    static const struct {
        const char *text;
        bool is_loopback, is_multicast;
    } cases[] = {
        {"126.255.255.255", false, false},
        {"127.0.0.0", true, false},
        {"127.255.255.255", true, false},
        {"128.0.0.0", false, false},
        {"127.0.0.1/8", true, false},
        {"127.0.0.1/7", false, false},
        {"127.0.0.1/0", false, false},
        {"::1", true, false},
        {"::1/127", false, false},
        {"::1/8", false, false},
        {"::", false, false},
        {"::2", false, false},
        {"1::1", false, false},
        {"::ffff:7f00:1", false, false},
        {"223.255.255.255", false, false},
        {"224.0.0.0", false, true},
        {"239.255.255.255", false, true},
        {"240.0.0.0", false, false},
        {"224.0.0.0/4", false, true},
        {"239.1.2.3/4", false, true},
        {"224.0.0.0/3", false, false},
        {"feff::", false, false},
        {"ff00::", false, true},
        {"ffff::1", false, true},
        {"ff00::/8", false, true},
        {"ff00::/7", false, false},
        {"::e000:1", false, false},
        {"::127", false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cedar_ip ip = ip_of(cases[i].text);
        assert_int_equal(cedar_ip_is_loopback(&ip), cases[i].is_loopback);
        assert_int_equal(cedar_ip_is_multicast(&ip), cases[i].is_multicast);
    }
}

TEST(ranges_hold_what_lies_between_network_and_broadcast)
{
    static const struct {
        const char *inner, *outer;
        bool is_in_range;
    } cases[] = {
        {"10.0.0.0", "10.0.0.0/8", true},
        {"10.255.255.255", "10.0.0.0/8", true},
        {"9.255.255.255", "10.0.0.0/8", false},
        {"11.0.0.0", "10.0.0.0/8", false},
        {"10.1.2.3/8", "10.9.9.9/8", true},
        {"10.0.0.0/7", "10.0.0.0/8", false},
        {"10.0.0.0/8", "10.0.0.0/9", false},
        {"10.128.0.0/9", "10.0.0.0/8", true},
        {"10.0.0.127", "10.0.0.0/25", true},
        {"10.0.0.128", "10.0.0.0/25", false},
        {"10.0.0.1", "10.0.0.0/31", true},
        {"10.0.0.2", "10.0.0.0/31", false},
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"255.255.255.255", "0.0.0.0/0", true},
        {"1.2.3.4/0", "5.6.7.8/0", true},
        {"1.2.3.4/0", "0.0.0.0/1", false},
        {"::1", "::/0", true},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0", true},
        {"2001:db8::1", "2001:db8::/32", true},
        {"2001:db9::", "2001:db8::/32", false},
        {"::7fff", "::/113", true},
        {"::8000", "::/113", false},
        {"::1", "::/127", true},
        {"::2", "::/127", false},
        {"::1/127", "::1", false},
        {"::1", "::1", true},
        {"1.2.3.4", "::/0", false},
        {"::1", "0.0.0.0/0", false},
        {"::ffff:102:304", "1.2.3.4", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cedar_ip inner = ip_of(cases[i].inner);
        struct cedar_ip outer = ip_of(cases[i].outer);
        assert_int_equal(cedar_ip_is_in_range(&inner, &outer), cases[i].is_in_range);
    }
}

/** First and last address of an IPv4 range, as the specification words it. */
static void v4_ends(const struct cedar_ip *ip, uint32_t *ret_network, uint32_t *ret_broadcast)
{
    uint32_t hosts = (uint32_t)(UINT64_C(0xffffffff) >> ip->prefix);
    uint32_t address = (uint32_t)ip->bytes[0] << 24 | (uint32_t)ip->bytes[1] << 16 |
                       (uint32_t)ip->bytes[2] << 8 | ip->bytes[3];
    *ret_network = address & ~hosts;
    *ret_broadcast = address | hosts;
}

TEST(ranges_agree_with_network_and_broadcast_compared)
{
    struct random random = random_seeded(6);
    for (int i = 0; i < RANDOM_CASES; i++) {
        struct cedar_ip inner = {.prefix = (uint8_t)random_below(&random, 33)};
        struct cedar_ip outer = {.prefix = (uint8_t)random_below(&random, 33)};
        random.fill(&random, inner.bytes, 4);
        memcpy(outer.bytes, inner.bytes, 4);
        outer.bytes[random_below(&random, 4)] ^= (uint8_t)(1U << random_below(&random, 8));
        uint32_t network[2];
        uint32_t broadcast[2];
        v4_ends(&inner, &network[0], &broadcast[0]);
        v4_ends(&outer, &network[1], &broadcast[1]);
        bool is_in_range = network[1] <= network[0] && broadcast[0] <= broadcast[1];
        assert_int_equal(cedar_ip_is_in_range(&inner, &outer), is_in_range);
    }
}

TEST(no_text_at_all_is_refused)
{
    struct cedar_ip ip;
    assert_false(cedar_ip_parse(NULL, 0, &ip));
}
