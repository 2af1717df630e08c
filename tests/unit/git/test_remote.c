// SPDX-License-Identifier: Apache-2.0
#include "git_scene.h"

#include "base/auto.h"
#include "base/limits.h"
#include "git/remote.h"

struct row {
    const char *address;
    enum git_transport transport;
    const char *user;
    const char *host;
    uint16_t port;
    const char *path;
};

static const struct row rows[] = {
    {"https://github.com/o/r", GIT_HTTPS, NULL, "github.com", 0, "o/r"},
    {"https://github.com/o/r.git", GIT_HTTPS, NULL, "github.com", 0, "o/r"},
    {"https://github.com/o/r.git/", GIT_HTTPS, NULL, "github.com", 0, "o/r"},
    {"https://GitHub.COM:443/o/r", GIT_HTTPS, NULL, "github.com", 443, "o/r"},
    {"HTTPS://me@github.com/o/my.repo", GIT_HTTPS, "me", "github.com", 0, "o/my.repo"},
    {"https://github.com/o/my.repo.git", GIT_HTTPS, NULL, "github.com", 0, "o/my.repo"},
    {"https://github.com/o/.github", GIT_HTTPS, NULL, "github.com", 0, "o/.github"},
    {"https://github.com/o/.git", GIT_HTTPS, NULL, "github.com", 0, "o/.git"},
    {"https://github.com/o/r.git.git", GIT_HTTPS, NULL, "github.com", 0, "o/r.git"},
    {"git@github.com:o/r.git", GIT_SSH, "git", "github.com", 0, "o/r"},
    {"git@github.com:/o/r.git", GIT_SSH, "git", "github.com", 0, "o/r"},
    {"github.com:o/r", GIT_SSH, NULL, "github.com", 0, "o/r"},
    {"github.com-work:o/r", GIT_SSH, NULL, "github.com-work", 0, "o/r"},
    {"ssh://git@github.com:22/o/r", GIT_SSH, "git", "github.com", 22, "o/r"},
    {"ssh://git@ssh.github.com:443/o/r.git", GIT_SSH, "git", "ssh.github.com", 443, "o/r"},
    {"git+ssh://git@host/r", GIT_SSH, "git", "host", 0, "r"},
    {"ssh://[2001:db8::1]:2222/r", GIT_SSH, NULL, "2001:db8::1", 2222, "r"},
    {"git@[2001:db8::1]:o/r", GIT_SSH, "git", "2001:db8::1", 0, "o/r"},
    {"https://gitlab.com/a/b/c.git", GIT_HTTPS, NULL, "gitlab.com", 0, "a/b/c"},
    {"http://ghe.example.com:8080/o/r", GIT_HTTP, NULL, "ghe.example.com", 8080, "o/r"},
    {"git://host/r", GIT_DAEMON, NULL, "host", 0, "r"},
    {"/srv/git/r.git", GIT_LOCAL, NULL, NULL, 0, "/srv/git/r.git"},
    {"../r", GIT_LOCAL, NULL, NULL, 0, "../r"},
    {"./a:b", GIT_LOCAL, NULL, NULL, 0, "./a:b"},
    {"/a/github.com/o/r", GIT_LOCAL, NULL, NULL, 0, "/a/github.com/o/r"},
    {"file:///srv/r", GIT_LOCAL, NULL, NULL, 0, "/srv/r"},
    {"ext::sh -c x", GIT_OTHER, NULL, NULL, 0, "sh -c x"},
};

static void assert_text(const char *text, const char *expected)
{
    if (expected == NULL) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_string_equal(text, expected);
    }
}

TEST(every_form_of_an_address_is_taken_apart)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct git_remote remote;
        assert_int_equal(git_remote_parse(rows[i].address, &remote, NULL), 0);
        assert_int_equal(remote.transport, rows[i].transport);
        assert_text(remote.user, rows[i].user);
        assert_text(remote.host, rows[i].host);
        assert_int_equal(remote.port, rows[i].port);
        assert_text(remote.path, rows[i].path);
        git_remote_fini(&remote);
    }
}

TEST(what_is_no_address_is_refused)
{
    static const char *const bad[] = {
        "",           "-x",           "https://",       "https:///o/r", "https://h",
        "https://h/", "ssh://-x/r",   "-oX:r",          "ssh://h:x/r",  "ssh://h:65536/r",
        "h:",         "ssh://[::1/r", "ssh://[::1]x/r", "a\nb",         "git@-x:r",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct git_remote remote;
        if (git_remote_parse(bad[i], &remote, NULL) != RONDO_ERR_INVALID) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
}

TEST(addresses_have_a_limit)
{
    char address[LIMIT_GIT_ADDRESS_BYTES + 2] = {0};
    struct git_remote remote;
    memset(address, 'a', LIMIT_GIT_ADDRESS_BYTES);
    assert_int_equal(git_remote_parse(address, &remote, NULL), 0);
    git_remote_fini(&remote);
    address[LIMIT_GIT_ADDRESS_BYTES] = 'a';
    assert_int_equal(git_remote_parse(address, &remote, NULL), RONDO_ERR_INVALID);
}

TEST(a_password_is_never_kept)
{
    struct git_remote remote;
    assert_int_equal(git_remote_parse("https://me:s3cret@h/o/r", &remote, NULL), 0);
    assert_true(remote.has_password);
    assert_string_equal(remote.user, "me");
    assert_string_equal(remote.host, "h");
    assert_string_equal(remote.path, "o/r");
    git_remote_fini(&remote);
}

TEST(a_forge_is_known_by_its_host_alone)
{
    static const struct {
        const char *address;
        const char *owner; /* NULL = not of github.com */
        const char *name;
    } cases[] = {
        {"https://github.com/o/r", "o", "r"},
        {"ssh://git@ssh.github.com:443/o/r", "o", "r"},
        {"https://www.github.com/o/my.repo", "o", "my.repo"},
        {"git@GITHUB.com:o/.github.git", "o", ".github"},
        {"https://github.com/a/b/c", "a/b", "c"},
        {"https://notgithub.com/o/r", NULL, NULL},
        {"https://github.com.evil.example/o/r", NULL, NULL},
        {"https://evil.example/github.com/o/r", NULL, NULL},
        {"https://github.com@evil.example/o/r", NULL, NULL},
        {"github.com-work:o/r", NULL, NULL},
        {"/srv/github.com/o/r", NULL, NULL},
        {"https://github.com/o", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct git_remote remote;
        char *owner = NULL;
        char *name = NULL;
        assert_int_equal(git_remote_parse(cases[i].address, &remote, NULL), 0);
        bool is_forge = git_remote_forge(&remote, "GitHub.com", &owner, &name);
        assert_int_equal(is_forge, cases[i].owner != NULL);
        assert_text(owner, cases[i].owner);
        assert_text(name, cases[i].name);
        free(owner);
        free(name);
        git_remote_fini(&remote);
    }
}

TEST(pull_requests_are_opened_on_pages_of_known_forges)
{
    static const struct {
        const char *address, *url;
    } cases[] = {
        {"git@github.com:o/r.git", "https://github.com/o/r/pull/new/prd/a%23b"},
        {"ssh://git@ssh.github.com:443/o/my.repo",
         "https://github.com/o/my.repo/pull/new/prd/a%23b"},
        {"https://u:p@gitlab.com/g/sub/r", "https://gitlab.com/g/sub/r/-/merge_requests/"
                                           "new?merge_request%5Bsource_branch%5D=prd%2Fa%23b"},
        {"https://codeberg.org/o/r", "https://codeberg.org/o/r/compare/prd/a%23b"},
        {"git@bitbucket.org:o/r.git",
         "https://bitbucket.org/o/r/pull-requests/new?source=prd%2Fa%23b"},
        {"https://github.com/o\"x/r", "https://github.com/o%22x/r/pull/new/prd/a%23b"},
        {"https://git.example.com/o/r", NULL},
        {"/srv/r", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct git_remote remote;
        assert_int_equal(git_remote_parse(cases[i].address, &remote, NULL), 0);
        auto_free char *url = git_remote_request_url(&remote, "prd/a#b");
        assert_text(url, cases[i].url);
        git_remote_fini(&remote);
    }
}

SCENE(the_address_of_a_remote_has_insteadof_applied)
{
    char *address = NULL;
    assert_ok(git_remote_address(&scene_git, "origin", &address, &scene_err));
    assert_null(address);
    shell("cd repo && git remote add origin gh:o/r && "
          "git config --global url.https://github.com/.insteadOf gh:");
    assert_ok(git_remote_address(&scene_git, "origin", &address, &scene_err));
    assert_string_equal(address, "https://github.com/o/r");
    free(address);
    assert_ok(git_remote_address(&scene_git, "--all", &address, &scene_err));
    assert_null(address);
}

TEST(a_token_is_for_the_scheme_host_and_port_of_an_address)
{
    static const char *const origins[][2] = {
        {"https://Git.Example.org/a/b.git", "https://git.example.org"},
        {"http://127.0.0.1:4000/a/b", "http://127.0.0.1:4000"},
        {"https://[::1]:8443/a/b", "https://[::1]:8443"},
        {"https://user:secret@git.example.org/a/b", "https://git.example.org"},
    };
    for (size_t i = 0; i < COUNT(origins); i++) {
        auto_free char *origin = git_remote_origin(origins[i][0], true);
        assert_string_equal(origin, origins[i][1]);
    }
    assert_null(git_remote_origin("git@git.example.org:a/b.git", true));
    assert_null(git_remote_origin("/srv/a.git", true));
    assert_null(git_remote_origin("", true));
    assert_null(git_remote_origin("http://git.example.org/a/b", false));
}
