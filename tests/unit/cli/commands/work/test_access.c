// SPDX-License-Identifier: Apache-2.0
/* For which remotes the token of a forge is. */
#include "../../../git/git_scene.h"
#include "cli/commands/work/site.h"

#include <stdlib.h>
#include <unistd.h>

TEST_WITH(a_token_is_for_no_remote_that_is_plainer_than_the_api, scene_set_up, scene_tear_down)
{
    static const struct {
        const char *remote, *origin, *api;
    } rows[] = {
        {"https://[::1]:3000/acme/shop", "https://[::1]:3000", "https://[::1]:3000/api/v1"},
        {"http://[::1]:3000/acme/shop", "http://[::1]:3000", "http://[::1]:3000/api/v1"},
        {"https://github.com/acme/shop.git", "https://github.com", NULL},
        {"https://sam@www.github.com/acme/shop", "https://www.github.com", NULL},
        {"http://github.com/acme/shop.git", NULL, NULL},
        {"git@github.com:acme/shop.git", NULL, NULL},
    };
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(scene_path("repo")), 0);
    setenv("GH_TOKEN", "secret-of-the-forge", 1);
    setenv("GITEA_TOKEN", "secret-of-the-forge", 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct queue_values values = {.api = (char *)(uintptr_t)rows[i].api};
        struct work_site site = {0};
        shell("cd repo && git config remote.origin.url '%s'", rows[i].remote);
        assert_int_equal(work_site_find(&values, true, &site, NULL), 0);
        struct git_access access = work_site_access(&site);
        assert_int_equal(access.token != NULL, rows[i].origin != NULL);
        if (rows[i].origin != NULL) {
            assert_string_equal(access.origin, rows[i].origin);
        }
        work_site_fini(&site);
    }
    unsetenv("GH_TOKEN");
    unsetenv("GITEA_TOKEN");
    assert_int_equal(chdir(before), 0);
}
