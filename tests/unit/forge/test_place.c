// SPDX-License-Identifier: Apache-2.0
/*
 * Which repository, and with which token. The attacker writes into the clone's settings, and wants
 * a token at a host of his own, or work done in another repository.
 */
#include "../git/git_scene.h"
#include "forge/place.h"

#include "base/limits.h"
#include "forge/tea.h"
#include "model/key/secret.h"

static const char *const variables[] = {
    "GH_CONFIG_DIR", "GLAB_CONFIG_DIR",     "GH_TOKEN",
    "GITHUB_TOKEN",  "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN",
    "GH_HOST",       "GITLAB_TOKEN",        "GITLAB_HOST",
    "GITEA_TOKEN",   "FORGEJO_TOKEN"};

static int place_set_up(void **state)
{
    for (size_t i = 0; i < COUNT(variables); i++) {
        unsetenv(variables[i]);
    }
    scene_set_up(state);
    shell("mkdir bin");
    char path[PATH_MAX + 300];
    snprintf(path, sizeof(path), "%s:/usr/bin:/bin", scene_path("bin"));
    setenv("PATH", path, 1);
    return 0;
}

#define PLACE_TEST(name) TEST_WITH(name, place_set_up, scene_tear_down)

/** "kind host api owner name" of what is found, or "error: ...". Valid until the next call. */
static const char *find(const struct forge_wish *wish, bool has_clone)
{
    static char text[1024];
    struct forge_place place = {0};
    struct rondo_error err = {0};
    if (forge_place_find(wish, has_clone ? &scene_git : NULL, &place, &err) != 0) {
        snprintf(text, sizeof(text), "error: %.600s", err.message);
        return text;
    }
    snprintf(text, sizeof(text), "%s %s %s %s %s", forge_kind_name(place.kind), place.host,
             place.api, place.owner, place.name);
    forge_place_fini(&place);
    return text;
}

static const char *find_remote(const char *url)
{
    static const struct forge_wish wish = {0};
    shell("cd repo && git config remote.origin.url '%s'", url);
    return find(&wish, true);
}

#define SHOP "github github.com https://api.github.com acme shop"

PLACE_TEST(remotes_of_known_hosts_are_found)
{
    static const struct {
        const char *url, *place;
    } rows[] = {
        {"https://github.com/acme/shop", SHOP},
        {"https://github.com/acme/shop.git/", SHOP},
        {"https://GitHub.com/acme/shop.git", SHOP},
        {"https://www.github.com/acme/shop", SHOP},
        {"https://user:pass@github.com/acme/shop", SHOP},
        {"https://github.com:443/acme/shop", SHOP},
        {"git@github.com:acme/shop.git", SHOP},
        {"ssh://git@github.com:22/acme/shop", SHOP},
        {"ssh://git@ssh.github.com:443/acme/shop.git", SHOP},
        {"https://github.com/acme/my.repo.git",
         "github github.com https://api.github.com acme my.repo"},
        {"https://github.com/acme/.github",
         "github github.com https://api.github.com acme .github"},
        {"https://codeberg.org/acme/shop",
         "gitea codeberg.org https://codeberg.org/api/v1 acme shop"},
        {"git@gitlab.com:acme/team/shop.git",
         "gitlab gitlab.com https://gitlab.com/api/v4 acme/team shop"},
        {"ssh://git@altssh.gitlab.com:443/acme/shop.git",
         "gitlab gitlab.com https://gitlab.com/api/v4 acme shop"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(find_remote(rows[i].url), rows[i].place);
    }
}

PLACE_TEST(a_host_that_only_looks_like_a_known_one_is_not_it)
{
    static const char *const urls[] = {
        "https://notgithub.com/acme/shop",
        "https://github.com.evil.test/acme/shop",
        "https://evil.test/github.com/acme/shop",
        "https://github.com@evil.test/acme/shop",
        "https://github.com:x@evil.test/acme/shop",
        "ssh://github.com@evil.test/acme/shop",
        "git@github.com-work:acme/shop.git",
        "https://github.com:8443/acme/shop",
        "https://api.github.com/acme/shop",
        "https://github.com./acme/shop",
        "https://www.www.github.com/acme/shop",
        "https://evil.test#github.com/acme/shop",
        "https://github.com\\@evil.test/acme/shop",
        "ext::sh -c github.com/acme/shop",
        "/srv/github.com/acme/shop",
        "file:///srv/github.com/acme/shop",
    };
    for (size_t i = 0; i < COUNT(urls); i++) {
        const char *found = find_remote(urls[i]);
        if (strncmp(found, "error: ", 7) != 0) {
            fail_msg("%s is %s", urls[i], found);
        }
    }
}

PLACE_TEST(a_path_that_is_no_repository_is_refused)
{
    static const char *const urls[] = {
        "https://github.com/acme",        "https://github.com/acme/team/shop",
        "https://github.com/acme/..",     "https://github.com/../shop",
        "https://gitlab.com/a/../b/shop", "https://github.com/acme/shop%2f..",
        "https://github.com/acme//shop",  "https://github.com/acme/shop?x",
        "https://github.com/a b/shop",    "https://gitlab.com/a//shop",
    };
    for (size_t i = 0; i < COUNT(urls); i++) {
        const char *found = find_remote(urls[i]);
        if (strncmp(found, "error: ", 7) != 0) {
            fail_msg("%s is %s", urls[i], found);
        }
    }
}

PLACE_TEST(a_clone_without_the_remote_has_no_place)
{
    const struct forge_wish wish = {.remote = "upstream"};
    assert_non_null(strstr(find(&wish, true), "has no remote `upstream`"));
    assert_non_null(strstr(find(&wish, false), "this is no clone"));
}

/* ---- What a person says ---------------------------------------------------------------------- */

PLACE_TEST(a_repository_can_be_named_in_many_ways)
{
    static const struct {
        struct forge_wish wish;
        const char *place;
    } rows[] = {
        {{.repository = "acme/shop"}, SHOP},
        {{.repository = "github.com/acme/shop"}, SHOP},
        {{.repository = "https://github.com/acme/shop"}, SHOP},
        {{.repository = "git@github.com:acme/shop"}, SHOP},
        {{.repository = "acme/team/shop", .kind = "gitlab"},
         "gitlab gitlab.com https://gitlab.com/api/v4 acme/team shop"},
        {{.repository = "https://git.example.org/acme/shop", .kind = "forgejo"},
         "gitea git.example.org https://git.example.org/api/v1 acme shop"},
        {{.repository = "https://ghe.example.org:8443/acme/shop", .kind = "github"},
         "github ghe.example.org:8443 https://ghe.example.org:8443/api/v3 acme shop"},
        {{.repository = "acme/shop", .api = "http://127.0.0.1:3000/api/v1/"},
         "gitea 127.0.0.1:3000 http://127.0.0.1:3000/api/v1 acme shop"},
        {{.repository = "acme/shop", .api = "http://127.0.0.1:3000", .kind = "github"},
         "github 127.0.0.1:3000 http://127.0.0.1:3000 acme shop"},
        {{.repository = "https://acme.ghe.com/acme/shop",
          .api = "https://api.acme.ghe.com",
          .kind = "github"},
         "github acme.ghe.com https://api.acme.ghe.com acme shop"},
        {{.repository = "acme/shop", .api = "https://api.github.com"}, SHOP},
        {{.repository = "acme/shop", .api = "HTTPS://API.GitHub.com:443/"}, SHOP},
        {{.repository = "https://github.com/acme/shop", .api = "https://api.github.com"}, SHOP},
        {{.repository = "acme/shop", .api = "HTTP://Git.Example.org:80/Sub/api/v1"},
         "gitea git.example.org http://git.example.org/Sub/api/v1 acme shop"},
        {{.repository = "acme/shop", .api = "https://[::1]:443/api/v1"},
         "gitea [::1] https://[::1]/api/v1 acme shop"},
        {{.repository = "acme/shop", .api = "https://[::1]:3000/api/v1"},
         "gitea [::1]:3000 https://[::1]:3000/api/v1 acme shop"},
        {{.repository = "git@git.example.org:acme/shop",
          .api = "https://git.example.org:3000/api/v1"},
         "gitea git.example.org:3000 https://git.example.org:3000/api/v1 acme shop"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(find(&rows[i].wish, false), rows[i].place);
    }
}

PLACE_TEST(what_does_not_fit_together_is_refused)
{
    static const struct forge_wish rows[] = {
        {.repository = "https://git.example.org/acme/shop"},
        {.repository = "acme/shop", .kind = "svn"},
        {.repository = "https://github.com/acme/shop", .kind = "gitlab"},
        {.repository = "https://github.com/acme/shop", .api = "https://evil.test/api/v3"},
        {.repository = "acme/shop", .api = "https://git.example.org/rest"},
        {.repository = "acme/shop", .api = "ftp://git.example.org/api/v3"},
        {.repository = "acme/shop", .api = "https://user@git.example.org/api/v3"},
        {.repository = "acme/shop", .api = "https://git.example.org/api/v3?x=/api/v3"},
        {.repository = "acme/shop", .api = "https:///api/v3"},
        {.repository = "acme/shop", .api = "http://api.github.com"},
        {.repository = "acme/shop", .api = "HTTP://gitlab.com/api/v4"},
        {.repository = "acme/shop", .api = "https://gitlab.com/api/v4", .kind = "github"},
        {.repository = "acme/shop", .api = "https://api.github.com", .kind = "gitlab"},
        {.repository = "acme/shop", .api = "https://git.example.org:99999/api/v3"},
        {.repository = "acme/shop", .api = "https://[::1/api/v3"},
        {.repository = "acme/shop", .api = "https://g\xc3\xadthub.com/api/v3"},
        {.repository = "acme/shop", .api = "https://git%2eexample.org/api/v3"},
        {.repository = "shop"},
        {.repository = "/shop"},
        {.repository = "acme/"},
        {.repository = "../shop"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *found = find(&rows[i], false);
        if (strncmp(found, "error: ", 7) != 0) {
            fail_msg("row %zu is %s", i, found);
        }
    }
}

PLACE_TEST(without_a_host_that_of_the_clone_is_meant_when_it_is_known)
{
    const struct forge_wish wish = {.repository = "other/thing"};
    find_remote("https://codeberg.org/acme/shop");
    assert_string_equal(find(&wish, true),
                        "gitea codeberg.org https://codeberg.org/api/v1 other thing");
    find_remote("https://evil.test/acme/shop");
    assert_string_equal(find(&wish, true), "github github.com https://api.github.com other thing");
}

/* ---- Addresses that a forge names ------------------------------------------------------------ */

TEST(an_address_for_clones_is_of_the_place_and_as_safe_as_its_api)
{
    static const struct {
        const char *api, *host, *address;
        bool is_it;
    } rows[] = {
        {"https://api.forge.test", "forge.test", "https://forge.test/acme/shop.git", true},
        {"https://api.forge.test", "forge.test", "https://Forge.TEST:443/Acme/Shop", true},
        {"https://api.forge.test", "forge.test", "http://forge.test/acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "https://forge.test:8443/acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "https://forge.test./acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "https://www.forge.test/acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "https://forge.test/acme/shop2.git", false},
        {"https://api.forge.test", "forge.test", "https://forge.test/x/acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "https://forge.test/acme/shop?x", false},
        {"https://api.forge.test", "forge.test", "https://forge.test\\@evil.test/acme/shop", false},
        {"https://api.forge.test", "forge.test", "https://u@forge.test/acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "https://:p@forge.test/acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "forge.test:acme/shop.git", false},
        {"https://api.forge.test", "forge.test", "-u/acme/shop", false},
        {"https://api.forge.test", "forge.test", "", false},
        {"https://api.forge.test", "forge.test", NULL, false},
        {"http://forge.test:3000/api/v1", "forge.test:3000", "http://forge.test:3000/acme/shop",
         true},
        {"http://forge.test:3000/api/v1", "forge.test:3000", "http://forge.test/acme/shop", false},
        {"https://[::1]/api/v1", "[::1]", "https://[::1]/acme/shop.git", true},
        {"https://[::1]/api/v1", "[::1]", "https://[::2]/acme/shop.git", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct forge_place place = {.api = (char *)(uintptr_t)rows[i].api,
                                          .host = (char *)(uintptr_t)rows[i].host,
                                          .owner = (char *)(uintptr_t) "acme",
                                          .name = (char *)(uintptr_t) "shop"};
        if (forge_place_is_address(&place, rows[i].address) != rows[i].is_it) {
            fail_msg("row %zu: %s", i, rows[i].address);
        }
    }
}

/* ---- Tricks ---------------------------------------------------------------------------------- */

PLACE_TEST(the_host_of_a_remote_alone_does_not_get_a_token)
{
    const struct forge_wish wish = {.kind = "gitea"};
    const struct forge_wish github = {.kind = "github"};
    const struct forge_wish with_api = {.api = "https://git.example.org/api/v1"};
    find_remote("https://git.example.org/acme/shop");
    assert_non_null(strstr(find(&wish, true), "nobody but the clone names"));
    assert_string_equal(find(&with_api, true),
                        "gitea git.example.org https://git.example.org/api/v1 acme shop");
    setenv("GH_HOST", "git.example.org", 1);
    assert_string_equal(find(&github, true),
                        "github git.example.org https://git.example.org/api/v3 acme shop");
    setenv("GH_HOST", "other.example.org", 1);
    assert_non_null(strstr(find(&github, true), "nobody but the clone names"));
    find_remote("https://evil.test/acme/shop");
    assert_non_null(strstr(find(&with_api, true), "is not one of evil.test"));
}

PLACE_TEST(insteadof_is_applied_before_the_host_is_judged)
{
    shell("cd repo && git config url.https://evil.test/.insteadOf https://github.com/");
    assert_non_null(strstr(find_remote("https://github.com/acme/shop"), "evil.test is not a host"));
}

PLACE_TEST(a_remote_that_pushes_elsewhere_is_refused)
{
    static const char *const settings[] = {
        "remote.origin.pushurl https://evil.test/acme/shop",
        "remote.origin.pushurl https://github.com/eve/shop",
        "remote.origin.pushurl https://gitlab.com/acme/shop",
        "remote.origin.pushurl https://github.com/acme/shop2",
        "remote.origin.pushurl https://github.com:8443/acme/shop",
        "url.https://evil.test/.pushInsteadOf https://github.com/",
    };
    for (size_t i = 0; i < COUNT(settings); i++) {
        shell("cd repo && git config %s", settings[i]);
        assert_non_null(
            strstr(find_remote("https://github.com/acme/shop"), "pushes to another repository"));
        shell("cd repo && git config --unset $(echo %s | cut -d' ' -f1)", settings[i]);
    }
    shell("cd repo && git config remote.origin.pushurl ssh://git@ssh.github.com:443/Acme/shop.git");
    assert_string_equal(find_remote("https://github.com/acme/shop"), SHOP);
    shell("cd repo && git config --add remote.origin.pushurl git@evil.test:acme/shop.git");
    assert_non_null(
        strstr(find_remote("https://github.com/acme/shop"), "pushes to another repository"));
}

PLACE_TEST(a_password_in_a_remote_is_not_shown)
{
    static const char *const urls[] = {"https://u:hunter2@evil.test/acme/shop",
                                       "https://u:hunter2@github.com/acme",
                                       "https://hunter2@github.com/..", "weird:hunter2@:/x"};
    for (size_t i = 0; i < COUNT(urls); i++) {
        assert_null(strstr(find_remote(urls[i]), "hunter2"));
    }
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

/** "token source", or "error". Valid until the next call. */
static const char *token_of(enum forge_kind kind, const char *host, const char *given)
{
    static char text[512];
    char api[200];
    struct forge_token token = {0};
    struct rondo_error err = {0};
    char owner[] = "acme";
    char name[] = "shop";
    char *own_host = strdup(host);
    snprintf(api, sizeof(api), "https://%s/api", host);
    const struct forge_place place = {
        .kind = kind, .host = own_host, .api = api, .owner = owner, .name = name};
    int r = forge_token_find(&place, given, NULL, &scene_git, &token, &err);
    if (r != 0) {
        snprintf(text, sizeof(text), "error: %.400s", err.message);
    } else {
        snprintf(text, sizeof(text), "%s %s", token.text != NULL ? token.text : "-", token.source);
    }
    forge_token_fini(&token);
    free(own_host);
    return text;
}

/** A program in the PATH. */
static void add_program(const char *name, const char *script)
{
    shell("printf '#!/bin/sh\\n%%s\\n' '%s' >bin/%s && chmod +x bin/%s", script, name, name);
}

PLACE_TEST(without_any_token_there_is_none)
{
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "- ");
    assert_string_equal(token_of(FORGE_GITLAB, "gitlab.com", NULL), "- ");
    assert_string_equal(token_of(FORGE_GITEA, "codeberg.org", NULL), "- ");
}

PLACE_TEST(tokens_are_looked_for_in_an_order)
{
    shell("git config --global credential.helper '!f() { cat >/dev/null; echo username=u; echo "
          "password=from-git; }; f'");
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "from-git git credential");
    add_program("gh", "test \"$*\" = \"auth token --hostname github.com\" && echo from-gh");
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "from-gh gh auth login");
    setenv("GITHUB_TOKEN", "from-github", 1);
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "from-github GITHUB_TOKEN");
    setenv("GH_TOKEN", "from-gh-token", 1);
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "from-gh-token GH_TOKEN");
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", "mine"), "mine given");
}

PLACE_TEST(a_token_of_a_host_is_for_no_other)
{
    setenv("GH_TOKEN", "public", 1);
    setenv("GITHUB_TOKEN", "public", 1);
    assert_string_equal(token_of(FORGE_GITHUB, "ghe.example.org", NULL), "- ");
    setenv("GH_ENTERPRISE_TOKEN", "corp", 1);
    assert_string_equal(token_of(FORGE_GITHUB, "ghe.example.org", NULL),
                        "corp GH_ENTERPRISE_TOKEN");
    setenv("GH_HOST", "ghe.example.org", 1);
    assert_string_equal(token_of(FORGE_GITHUB, "ghe.example.org", NULL),
                        "corp GH_ENTERPRISE_TOKEN");
    assert_string_equal(token_of(FORGE_GITHUB, "other.example.org", NULL), "- ");
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "public GH_TOKEN");
    setenv("GITLAB_TOKEN", "lab", 1);
    assert_string_equal(token_of(FORGE_GITLAB, "gitlab.com", NULL), "lab GITLAB_TOKEN");
    setenv("GITLAB_HOST", "https://lab.example.org", 1);
    assert_string_equal(token_of(FORGE_GITLAB, "gitlab.com", NULL), "- ");
    assert_string_equal(token_of(FORGE_GITLAB, "lab.example.org", NULL), "lab GITLAB_TOKEN");
    setenv("FORGEJO_TOKEN", "jo", 1);
    assert_string_equal(token_of(FORGE_GITEA, "codeberg.org", NULL), "jo FORGEJO_TOKEN");
}

PLACE_TEST(a_login_is_read_without_our_variables)
{
    setenv("SOME_SECRET", "x", 1);
    add_program("glab", "test \"$*\" = \"config get token --host gitlab.com\" && test -z "
                        "\"$SOME_SECRET\" && echo noise >&2 && echo from-glab");
    assert_string_equal(token_of(FORGE_GITLAB, "gitlab.com", NULL), "from-glab glab auth login");
    unsetenv("SOME_SECRET");
}

PLACE_TEST(a_client_that_fails_or_talks_has_no_token)
{
    static const char *const scripts[] = {"exit 1",           "echo half; exit 1",    "true",
                                          "echo not a token", "yes | head -c 100000", "kill -9 $$"};
    for (size_t i = 0; i < COUNT(scripts); i++) {
        add_program("gh", scripts[i]);
        assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "- ");
    }
}

PLACE_TEST(a_helper_that_the_clone_names_does_not_run)
{
    shell("cd repo && git config credential.helper '!touch %s; echo username=u; echo "
          "password=evil; #'",
          scene_path("ran"));
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "- ");
    assert_false(scene_has("ran"));
}

PLACE_TEST(credentials_are_asked_for_the_host_of_the_place)
{
    shell("git config --global credential.https://github.com.helper '!f() { cat >/dev/null; echo "
          "username=u; echo password=hub; }; f'");
    assert_string_equal(token_of(FORGE_GITHUB, "github.com", NULL), "hub git credential");
    assert_string_equal(token_of(FORGE_GITHUB, "ghe.example.org", NULL), "- ");
}

PLACE_TEST(what_is_no_token_is_an_error_without_its_text)
{
    char longest[LIMIT_FORGE_TOKEN_LEN + 2];
    memset(longest, 'a', sizeof(longest));
    longest[LIMIT_FORGE_TOKEN_LEN + 1] = '\0';
    assert_non_null(strstr(token_of(FORGE_GITHUB, "github.com", longest), "error: "));
    longest[LIMIT_FORGE_TOKEN_LEN] = '\0';
    assert_null(strstr(token_of(FORGE_GITHUB, "github.com", longest), "error: "));
    setenv("GH_TOKEN", "hunter2\nX-Evil: 1", 1);
    const char *found = token_of(FORGE_GITHUB, "github.com", NULL);
    assert_non_null(strstr(found, "error: "));
    assert_non_null(strstr(found, "GH_TOKEN"));
    assert_null(strstr(found, "hunter2"));
}

PLACE_TEST(logins_of_tea_are_in_a_file)
{
    static const char config[] =
        "logins:\n"
        "  - name: other\n    url: https://codeberg.org.evil.test\n    token: evil\n"
        "  - name: mine\n    url: https://codeberg.org/\n    token: \"abc\"\n";
    shell("mkdir -p home/.config/tea");
    assert_int_equal(file_replace_record(scene_path("home/.config/tea/config.yml"), config,
                                         sizeof(config) - 1, NULL),
                     0);
    assert_string_equal(token_of(FORGE_GITEA, "codeberg.org", NULL), "abc tea login");
    assert_string_equal(token_of(FORGE_GITEA, "git.example.org", NULL), "- ");
}

TEST(a_file_of_tea_that_is_broken_has_no_login)
{
    static const char *const texts[] = {"",
                                        "logins",
                                        "logins: 5",
                                        "logins: [5, {url: 5, token: 6}]",
                                        "logins: [{url: 'https://h', token: ''}]",
                                        "- a",
                                        "logins: [{url: 'https://h@evil', token: 'x'}]",
                                        "a: &a [*a, *a]",
                                        "{"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct secret secret = {0};
        assert_false(tea_find_token(texts[i], strlen(texts[i]), "h", &secret));
        assert_null(secret.bytes);
    }
}
