// SPDX-License-Identifier: Apache-2.0
/*
 * Forges: the input as an answer of each kind, as a Link header, as a time, as the settings of
 * `tea`, as an address for clones, as the name of a fork, and as what a person calls a repository
 * (three lines: repository, kind, API). Everything that is taken from it is bounded, and an address
 * that gets a token is of the host that was said.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "forge/kind.h"
#include "forge/link.h"
#include "forge/place.h"
#include "forge/shape.h"
#include "forge/tea.h"
#include "model/key/secret.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, size_t most)
{
    size_t len = strlen(text);
    FUZZ_CHECK(len <= most);
    for (size_t i = 0; i < len;) {
        size_t step = utf8_sequence_len(text + i, len - i);
        FUZZ_CHECK(step > 0);
        i += step;
    }
}

/** A name or title: one line, which grows when bytes in it are replaced, but not by much. */
static void check_line(const char *text, size_t most)
{
    check_text(text, 3 * most);
    FUZZ_CHECK(strpbrk(text, "\n\r\t\033") == NULL);
}

static void check_names(char *const *names)
{
    size_t count = 0;
    for (; names[count] != NULL; count++) {
        check_line(names[count], LIMIT_FORGE_NAME_BYTES);
    }
    FUZZ_CHECK(count <= LIMIT_FORGE_NAMES);
}

static void check_time(int64_t time_ns)
{
    FUZZ_CHECK(time_ns >= 0);
}

static void try_issue(const struct forge_names *names, struct json_object *json)
{
    struct forge_issue issue;
    if (!shape_issue(names, json, &issue)) {
        return;
    }
    FUZZ_CHECK(issue.number > 0);
    check_line(issue.title, LIMIT_FORGE_TITLE_BYTES);
    check_text(issue.body, LIMIT_FORGE_TEXT_BYTES);
    check_line(issue.author, LIMIT_FORGE_NAME_BYTES);
    check_names(issue.labels);
    check_names(issue.assignees);
    check_time(issue.created_ns);
    check_time(issue.updated_ns);
    FUZZ_CHECK(issue.url[0] == '\0' || strncmp(issue.url, "http", 4) == 0);
    forge_issue_fini(&issue);
}

static void try_comment(const struct forge_names *names, struct json_object *json)
{
    struct forge_comment comment;
    if (!shape_comment(names, json, "created_at", &comment)) {
        return;
    }
    FUZZ_CHECK(comment.id > 0);
    check_text(comment.body, LIMIT_FORGE_TEXT_BYTES);
    check_line(comment.author, LIMIT_FORGE_NAME_BYTES);
    shape_comment_fini(&comment);
}

static void try_pull(const struct forge_names *names, struct json_object *json, const char *text)
{
    struct forge_pull pull;
    if (!shape_pull(names, json, &pull)) {
        return;
    }
    FUZZ_CHECK(pull.number > 0 && pull.head[0] != '\0' && pull.base[0] != '\0');
    FUZZ_CHECK(pull.head_id[0] == '\0' || strlen(pull.head_id) == 40 || strlen(pull.head_id) == 64);
    (void)shape_pull_is_inside(names, json);
    FUZZ_CHECK(!shape_pull_is_of(names, json, "sam/shop") || strcasestr(text, "sam") != NULL ||
               strchr(text, '\\') != NULL);
    forge_pull_fini(&pull);
}

static void try_answer(const char *text, size_t len)
{
    struct json_object *json = NULL;
    if (!shape_parse(text, len, &json)) {
        return;
    }
    for (int i = 0; i < FORGE_KIND_COUNT; i++) {
        const struct forge_ops *ops = forge_ops_of((enum forge_kind)i);
        try_issue(&ops->names, json);
        try_comment(&ops->names, json);
        try_pull(&ops->names, json, text);
        if (ops->take_repository != NULL) {
            struct forge_repository repository = {0};
            ops->take_repository(json, &repository);
        }
        (void)ops->labeller_of(json);
        if (ops->trust_of_member != NULL) {
            (void)ops->trust_of_member(json);
        }
    }
    json_object_put(json);
}

static void try_link(const char *text)
{
    static const char api[] = "https://api.github.com";
    char *next = link_next(text);
    if (next != NULL) {
        FUZZ_CHECK(strstr(text, next) != NULL);
        if (link_has_origin(next, api)) {
            FUZZ_CHECK(strncasecmp(next, api, sizeof(api) - 1) == 0 &&
                       next[sizeof(api) - 1] == '/');
        }
    }
    free(next);
}

/** Whether an address is of a host, or of "api." before it. */
static bool is_of_host(const char *api, const char *host)
{
    const char *authority = strstr(api, "://");
    FUZZ_CHECK(authority != NULL);
    authority += 3;
    authority +=
        strncmp(authority, "api.", 4) == 0 && strncasecmp(authority, host, strlen(host)) ? 4 : 0;
    /* The usual port may be written. */
    size_t len = strlen(host);
    return strncasecmp(authority, host, len) == 0 &&
           (authority[len] == '\0' || authority[len] == '/' || authority[len] == ':');
}

static void try_place(char *text)
{
    struct forge_place place = {0};
    char *rest = text;
    const char *repository = strsep(&rest, "\n");
    const char *kind = rest != NULL ? strsep(&rest, "\n") : NULL;
    const struct forge_wish wish = {.repository = repository, .kind = kind, .api = rest};
    if (forge_place_find(&wish, NULL, &place, NULL) < 0) {
        return;
    }
    FUZZ_CHECK(link_is_segment(place.name) && strchr(place.name, '/') == NULL);
    FUZZ_CHECK(place.owner[0] != '\0' && place.owner[0] != '/' && place.host[0] != '-');
    FUZZ_CHECK(strpbrk(place.host, "@/\\?# %") == NULL);
    FUZZ_CHECK(is_of_host(place.api, place.host));
    forge_place_fini(&place);
}

/** What is taken for the repository's address has its host and path in it, and no user. */
static void try_address(const char *text)
{
    static char api[] = "https://forge.test/api/v4";
    static char host[] = "forge.test";
    static char owner[] = "acme/team";
    static char name[] = "shop";
    struct forge_place place = {
        .kind = FORGE_GITLAB, .api = api, .host = host, .owner = owner, .name = name};
    if (forge_place_is_address(&place, text)) {
        FUZZ_CHECK(strncasecmp(text, "https://forge.test", 18) == 0 && strchr(text, '@') == NULL);
        FUZZ_CHECK(strcasestr(text, "/acme/team/shop") != NULL);
    }
    struct forge_place fork = {0};
    if (forge_place_sibling(&place, text, &fork, NULL) == 0) {
        FUZZ_CHECK(link_is_segment(fork.name) && strchr(fork.name, '/') == NULL);
        FUZZ_CHECK(strcmp(fork.host, host) == 0 && strcmp(fork.api, api) == 0);
        FUZZ_CHECK(strlen(fork.owner) + strlen(fork.name) + 1 == strlen(text));
        forge_place_fini(&fork);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct secret secret = {0};
    int64_t time_ns = 0;
    try_answer(text, strlen(text));
    try_link(text);
    if (shape_read_time(text, &time_ns)) {
        check_time(time_ns);
    }
    if (tea_find_token(text, strlen(text), "codeberg.org", &secret)) {
        FUZZ_CHECK(strstr(text, "codeberg.org") != NULL || strcasestr(text, "codeberg") != NULL);
    }
    secret_fini(&secret);
    try_address(text);
    try_place(text);
    free(text);
    return 0;
}
