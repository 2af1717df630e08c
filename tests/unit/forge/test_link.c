// SPDX-License-Identifier: Apache-2.0
/* Links of answers, and names in addresses. */
#include "forge/link.h"

#include "support/test.h"

#include <stdlib.h>

TEST(the_next_page_is_found_among_links)
{
    static const struct {
        const char *header, *next;
    } rows[] = {
        {"<https://h/2>; rel=\"next\", <https://h/9>; rel=\"last\"", "https://h/2"},
        {"<https://h/1>; rel=\"prev\", <https://h/3>; rel=\"next\"", "https://h/3"},
        {"<https://h/3>;rel=next", "https://h/3"},
        {"<https://h/3>; title=\"a, b; rel=\"; REL=\"Next\"", "https://h/3"},
        {"<https://h/a,b;c>; rel=\"next\"", "https://h/a,b;c"},
        {"<https://h/1>; rel=\"prev\"", NULL},
        {"<https://h/2>; rel=\"last next\"", "https://h/2"},
        {"<https://h/2>; rel=\"next  last\"", "https://h/2"},
        {"<https://h/1>; rel=\"nextish\"", NULL},
        {"<https://h/1>; rel=\"prev nextish\"", NULL},
        {"<https://h/1>; rel=\"\"", NULL},
        {"<https://h/1>; rel=", NULL},
        {"<https://h/1>", NULL},
        {"<https://h/1", NULL},
        {"rel=\"next\"", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *next = link_next(rows[i].header);
        if (rows[i].next == NULL) {
            assert_null(next);
        } else {
            assert_non_null(next);
            assert_string_equal(next, rows[i].next);
        }
        free(next);
    }
}

TEST(an_origin_is_compared_to_its_end)
{
    static const struct {
        const char *url;
        bool is_same;
    } rows[] = {
        {"https://api.github.com/x", true},
        {"HTTPS://API.github.com/", true},
        {"https://api.github.com", false},
        {"https://api.github.com.evil.test/x", false},
        {"https://api.github.com@evil.test/", false},
        {"https://api.github.com:8443/x", false},
        {"https://api.github.com\\@evil.test/", false},
        {"http://api.github.com/x", false},
        {"//api.github.com/x", false},
        {"/x", false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(link_has_origin(rows[i].url, "https://api.github.com/v3"),
                         rows[i].is_same);
    }
    assert_true(link_has_origin("http://h:80/a", "http://h:80"));
    assert_false(link_has_origin("http://h/a", "no address"));
}

TEST(a_text_becomes_one_segment)
{
    struct buf path = {0};
    link_escape("a/b ?#%\xc3\xa4.-_~", &path);
    assert_string_equal(buf_string(&path), "a%2Fb%20%3F%23%25%C3%A4.-_~");
    buf_fini(&path);
    assert_false(link_is_segment(""));
    assert_false(link_is_segment("."));
    assert_false(link_is_segment(".."));
    assert_true(link_is_segment("..."));
}

TEST(a_setting_names_its_host_only)
{
    assert_true(link_names_host("git.example.org", "git.example.org"));
    assert_true(link_names_host("https://Git.example.org/x", "git.example.org"));
    assert_false(link_names_host("git.example.org", "git.example.org:3000"));
    assert_false(link_names_host("https://git.example.org@evil.test", "git.example.org"));
    assert_false(link_names_host("evil.git.example.org", "git.example.org"));
    assert_false(link_names_host("", "git.example.org"));
}
