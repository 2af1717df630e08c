// SPDX-License-Identifier: Apache-2.0
/* Which addresses are public, what a pattern is, and what a guard lets through. */

#include "support/test.h"

#include "net/client/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static struct sockaddr_storage address_of(const char *text, int port)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
    }
    return storage;
}

static bool is_public(const char *text)
{
    struct sockaddr_storage storage = address_of(text, 80);
    return net_address_is_public((struct sockaddr *)&storage);
}

static bool allows(const struct net_guard *guard, const char *host, const char *address, int port)
{
    struct sockaddr_storage storage = address_of(address, port);
    return net_guard_allows_host(guard, host, port) &&
           net_guard_allows_address(guard, host, (struct sockaddr *)&storage);
}

TEST(addresses_for_special_purposes_are_not_public)
{
    static const char *const special[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
    };
    for (size_t i = 0; i < COUNT(special); i++) {
        if (is_public(special[i])) {
            fail_msg("%s", special[i]);
        }
    }
}

TEST(what_nobody_has_been_given_is_not_public)
{
    static const char *const special[] = {
        "::ffff:0:127.0.0.1", /* translated (SIIT) */
        "::ffff:0:10.0.0.1",
        "::fffe:127.0.0.1",
        "::1:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b:0:1::1",
        "64:ff9b:2::1",
        "2002:a9fe:a9fe::1",
        "2001:0:7f00:1::",
        "200::1",
        "1fff::1",
        "4000::1",
        "5f00::1",
        "e000::1",
        "fbff::1",
    };
    for (size_t i = 0; i < COUNT(special); i++) {
        if (is_public(special[i])) {
            fail_msg("%s", special[i]);
        }
    }
}

TEST(their_neighbours_are_public)
{
    static const char *const neighbours[] = {
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2003::1",
    };
    for (size_t i = 0; i < COUNT(neighbours); i++) {
        if (!is_public(neighbours[i])) {
            fail_msg("%s", neighbours[i]);
        }
    }
}

TEST(an_address_of_another_family_is_not_public)
{
    struct sockaddr local = {.sa_family = AF_UNIX};
    struct net_guard guard = {.allows_private = true};
    assert_false(net_address_is_public(&local));
    assert_false(net_guard_allows_address(&guard, "x", &local));
}

TEST(patterns_have_a_few_forms)
{
    static const char *const good[] = {"localhost",     "example.com",  "example.com:8080",
                                       "10.0.0.0/8",    "127.0.0.1",    "127.0.0.1:9",
                                       "[::1]",         "[::1]:8080",   "::1",
                                       "*.example.com", "fd00::/8",     "*.example.com:443",
                                       "my_host",       "example.com.", "a:65535"};
    static const char *const bad[] = {
        "",           "*",    "a b",  "http://a",  "a:0",    "a:65536", "a:x",        "10.0.0.0/33",
        "10.0.0/8",   "a/8",  "[::1", "[a]:80",    "[::1]x", "a*.com",  "fd00::/129", "..",
        ".a",         "a..b", "*.",   "10.0.0.0/", "a:",     "1::2::3", "*.*.com",    "user@host",
        "10.0.0.0/-1"};
    for (size_t i = 0; i < COUNT(good); i++) {
        if (!net_guard_is_pattern(good[i])) {
            fail_msg("refused: %s", good[i]);
        }
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (net_guard_is_pattern(bad[i])) {
            fail_msg("taken: %s", bad[i]);
        }
    }
    assert_false(net_guard_is_pattern(NULL));
}

TEST(a_pattern_is_no_longer_than_a_host_name)
{
    char name[258];
    memset(name, 'a', sizeof(name));
    name[255] = '\0';
    assert_true(net_guard_is_pattern(name));
    name[255] = 'a';
    name[256] = '\0';
    assert_false(net_guard_is_pattern(name));
}

TEST(a_guard_without_lists_lets_public_addresses_through)
{
    struct net_guard guard = {0};
    assert_true(allows(&guard, "example.com", "93.184.216.34", 443));
    assert_false(allows(&guard, "example.com", "10.0.0.1", 443));
    guard.allows_private = true;
    assert_true(allows(&guard, "example.com", "10.0.0.1", 443));
}

TEST(a_name_opens_what_it_resolves_to)
{
    static const char *const list[] = {"intra.example.com", "*.local.test", NULL};
    struct net_guard guard = {.allow_hosts = list};
    assert_true(allows(&guard, "INTRA.example.com", "10.0.0.1", 80));
    assert_true(allows(&guard, "intra.example.com.", "10.0.0.1", 80));
    assert_true(allows(&guard, "a.b.local.test", "127.0.0.1", 80));
    assert_false(allows(&guard, "local.test", "127.0.0.1", 80));
    assert_false(allows(&guard, "evillocal.test", "127.0.0.1", 80));
    assert_false(allows(&guard, "intra.example.com.evil.org", "10.0.0.1", 80));
}

TEST(a_port_in_a_pattern_counts)
{
    static const char *const list[] = {"localhost:8080", "[::1]:9", NULL};
    struct net_guard guard = {.allow_hosts = list};
    assert_true(allows(&guard, "localhost", "127.0.0.1", 8080));
    assert_false(allows(&guard, "localhost", "127.0.0.1", 8081));
    assert_true(allows(&guard, "::1", "::1", 9));
    assert_false(allows(&guard, "::1", "::1", 10));
}

TEST(an_address_opens_only_its_own_url)
{
    static const char *const list[] = {"127.0.0.1", NULL};
    struct net_guard guard = {.allow_hosts = list};
    assert_true(allows(&guard, "127.0.0.1", "127.0.0.1", 80));
    assert_false(allows(&guard, "rebound.example.com", "127.0.0.1", 80));
}

TEST(a_network_opens_all_that_lies_in_it)
{
    static const char *const list[] = {"10.1.0.0/20", "fd00:1::/33", "192.168.7.7/32", NULL};
    struct net_guard guard = {.allow_hosts = list};
    assert_true(allows(&guard, "a.example.com", "10.1.15.255", 80));
    assert_false(allows(&guard, "a.example.com", "10.1.16.0", 80));
    assert_true(allows(&guard, "a", "fd00:1:7fff::1", 80));
    assert_false(allows(&guard, "a", "fd00:1:8000::1", 80));
    assert_true(allows(&guard, "a", "192.168.7.7", 80));
    assert_false(allows(&guard, "a", "192.168.7.6", 80));
}

TEST(a_wide_network_of_ipv6_does_not_hold_ipv4)
{
    static const char *const wide[] = {"::/0", "::/80", "::ffff:0:0/95", "0::/1", NULL};
    static const char *const exact[] = {"::ffff:10.0.0.0/104", NULL};
    struct net_guard guard = {.allow_hosts = wide};
    assert_false(allows(&guard, "a.example.com", "10.0.0.1", 80));
    assert_false(allows(&guard, "a.example.com", "::ffff:169.254.169.254", 80));
    assert_true(allows(&guard, "a.example.com", "fd00::1", 80));
    guard.allow_hosts = exact; /* is 10.0.0.0/8 */
    assert_true(allows(&guard, "a.example.com", "10.0.0.1", 80));
    assert_false(allows(&guard, "a.example.com", "11.0.0.1", 80) &&
                 allows(&guard, "a.example.com", "192.168.0.1", 80));
    guard = (struct net_guard){.only_hosts = wide};
    assert_false(allows(&guard, "a.example.com", "93.184.216.34", 80));
}

TEST(only_hosts_shuts_out_all_others)
{
    static const char *const list[] = {"example.com", "10.0.0.0/8", NULL};
    struct net_guard guard = {.only_hosts = list, .allows_private = true};
    assert_true(allows(&guard, "example.com", "93.184.216.34", 443));
    assert_false(allows(&guard, "example.org", "93.184.216.34", 443));
    assert_false(net_guard_allows_host(&guard, "11.0.0.1", 80));
    assert_true(allows(&guard, "10.0.0.1", "10.0.0.1", 80));
    assert_true(allows(&guard, "name.test", "10.9.9.9", 80));
    assert_false(allows(&guard, "name.test", "11.9.9.9", 80));
}

TEST(only_hosts_does_not_open_private_addresses)
{
    static const char *const list[] = {"example.com", NULL};
    struct net_guard guard = {.only_hosts = list};
    assert_false(allows(&guard, "example.com", "10.0.0.1", 443));
    guard.allow_hosts = list;
    assert_true(allows(&guard, "example.com", "10.0.0.1", 443));
}
