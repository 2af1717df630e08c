// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the repository, the token and the clone.
 *
 * all opens: folders of ours in the cache, which no sandbox shows, and a new one below TMPDIR
 */
#include "cli/commands/work/site.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "git/claims/claims.h"
#include "git/remote.h"
#include "net/client/http.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/** Folder in the cache. */
#define CLONES "rondo/clones"

/* ---- Tokens in the environment -------------------------------------------------------------- */

static void add_name(char ***names, const char *name, size_t len)
{
    size_t count = memory_count_list((const char *const *)*names);
    *names = memory_resize(*names, count + 2, sizeof(**names));
    (*names)[count] = memory_dup_bytes(name, len);
    (*names)[count + 1] = NULL;
}

/** Add the names of those variables whose value it is. */
static void add_copies(char ***names, const char *const *variables, const char *value)
{
    bool is_empty = value == NULL || value[0] == '\0';
    for (; !is_empty && variables != NULL && *variables != NULL; variables++) {
        size_t len = strcspn(*variables, "=");
        if ((*variables)[len] == '=' && strcmp(*variables + len + 1, value) == 0) {
            add_name(names, *variables, len);
        }
    }
}

char **work_token_variables(const char *further, const char *token, const char *hook,
                            const char *const *variables)
{
    static const char *const known[] = {
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "GH_ENTERPRISE_TOKEN",
        "GITHUB_ENTERPRISE_TOKEN",
        "GITLAB_TOKEN",
        "GITLAB_API_TOKEN",
        "GITLAB_ACCESS_TOKEN",
        "OAUTH_TOKEN",
        "CI_JOB_TOKEN",
        "GITEA_TOKEN",
        "GITEA_SERVER_TOKEN",
        "FORGEJO_TOKEN",
        "CODEBERG_TOKEN",
        NULL,
    };
    char **names = memory_dup_list(known);
    if (further != NULL) {
        add_name(&names, further, strlen(further));
    }
    if (hook != NULL) {
        add_name(&names, hook, strlen(hook));
    }
    add_copies(&names, (const char *const *)environ, token);
    add_copies(&names, variables, token);
    return names;
}

void work_token_hide(const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        char *value = getenv(names[i]);
        if (value != NULL) {
            explicit_bzero(value, strlen(value)); /* /proc/PID/environ shows what is there */
            unsetenv(names[i]);
        }
    }
}

char **work_token_take(const char *const *further)
{
    char **names = work_token_variables(NULL, NULL, NULL, NULL);
    char **taken = memory_new_zero(1, sizeof(*taken));
    for (; further != NULL && *further != NULL; further++) {
        add_name(&names, *further, strlen(*further));
    }
    size_t count = memory_count_list((const char *const *)names);
    for (size_t i = 0; i < count; i++) {
        add_copies(&names, (const char *const *)environ, getenv(names[i]));
    }
    for (size_t i = 0; names[i] != NULL; i++) {
        const char *value = getenv(names[i]);
        auto_buf struct buf variable = {0};
        if (value != NULL && environment_find((const char *const *)taken, names[i]) == NULL) {
            buf_printf(&variable, "%s=%s", names[i], value);
            add_name(&taken, buf_string(&variable), variable.len);
        }
    }
    work_token_hide((const char *const *)names);
    memory_free_list(names);
    return taken;
}

/* ---- The place ------------------------------------------------------------------------------ */

/** The clone of the working directory; NULL when there is none. */
static int find_here(struct git_repository **ret_repository, struct rondo_error *err)
{
    struct rondo_error own = {0};
    int r = git_repository_open(".", NULL, ret_repository, &own);
    if (r == RONDO_ERR_NOT_FOUND) {
        *ret_repository = NULL;
        return 0;
    }
    if (r < 0) {
        *err = own;
    }
    return r;
}

static bool is_same_place(const struct forge_place *one, const struct forge_place *other)
{
    return one->kind == other->kind && strcasecmp(one->host, other->host) == 0 &&
           strcasecmp(one->owner, other->owner) == 0 && strcasecmp(one->name, other->name) == 0;
}

/** The kind that was given, or NULL. */
static const char *kind_of(const struct queue_values *values)
{
    return values->forge == 0 ? NULL : forge_kind_name((enum forge_kind)(values->forge - 1));
}

/** Whether the clone's remote is the place that was named. */
static bool is_clone_of(const struct queue_values *values, struct git *git,
                        const struct forge_place *place)
{
    const struct forge_wish wish = {
        .remote = values->remote, .kind = kind_of(values), .api = values->api};
    struct forge_place there = {0};
    bool is_it = forge_place_find(&wish, git, &there, NULL) == 0 && is_same_place(&there, place);
    forge_place_fini(&there);
    return is_it;
}

/** Use the person's clone. Takes `repository` over. */
static int use_here(struct work_site *site, const struct queue_values *values,
                    struct git_repository *repository, struct rondo_error *err)
{
    struct git git = {.repository = repository};
    auto_free char *address = NULL;
    site->repository = repository;
    if (repository->top_folder == NULL) {
        return error_set(err, RONDO_ERR_STATE,
                         "this is a bare repository; change to a folder that is none, and name the "
                         "repository with --repo");
    }
    site->remote = memory_dup_string(values->remote == NULL ? "origin" : values->remote);
    int r = git_remote_address(&git, site->remote, &address, err);
    if (r == 0 && address != NULL) {
        site->origin = forge_place_origin(&site->place, address);
    }
    return r;
}

/** A name that is a folder below another one, and not hidden in it. */
static bool is_plain(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strchr(name, '/') == NULL;
}

static int name_cache(struct work_site *site, struct rondo_error *err)
{
    const struct forge_place *place = &site->place;
    auto_free char *cache = host_cache();
    struct buf folder = {0};
    if (cache == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "there is no folder for clones; set HOME or XDG_CACHE_HOME");
    }
    bool is_good = is_plain(place->host) && is_plain(place->name);
    for (const char *at = place->owner; is_good && at != NULL;) {
        auto_free char *part = memory_dup_bytes(at, strcspn(at, "/"));
        is_good = is_plain(part);
        at = strchr(at, '/');
        at = at == NULL ? NULL : at + 1;
    }
    if (!is_good) {
        return error_set(err, RONDO_ERR_INVALID, "%.200s is not the name of a repository",
                         site->name);
    }
    buf_printf(&folder, "%s/" CLONES "/%s", cache, site->name);
    site->cache_folder = buf_steal(&folder);
    return 0;
}

static int find_token(const struct queue_values *values, struct git *git, struct work_site *site,
                      struct rondo_error *err)
{
    const char *given =
        values->token_env == NULL ? NULL : environment_find(values->variables, values->token_env);
    if (values->token_env != NULL && (given == NULL || given[0] == '\0')) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "--token-env %.64s: there is no such variable",
                         values->token_env);
    }
    int r = forge_token_find(&site->place, given, values->variables, git, &site->token, err);
    if (r == 0 && given != NULL) {
        snprintf(site->token.source, sizeof(site->token.source), "%.*s",
                 (int)sizeof(site->token.source) - 1, values->token_env);
    }
    return r;
}

static int find_place(const struct queue_values *values, struct git_repository **here,
                      struct work_site *site, struct rondo_error *err)
{
    struct git git = {.repository = *here};
    const struct forge_wish wish = {.repository = values->repository,
                                    .remote = values->remote,
                                    .kind = kind_of(values),
                                    .api = values->api};
    struct buf name = {0};
    int r = forge_place_find(&wish, *here == NULL ? NULL : &git, &site->place, err);
    if (r < 0) {
        return r;
    }
    buf_printf(&name, "%s/%s/%s", site->place.host, site->place.owner, site->place.name);
    site->name = buf_steal(&name);
    bool is_here =
        *here != NULL && (values->repository == NULL || is_clone_of(values, &git, &site->place));
    r = find_token(values, is_here ? &git : NULL, site, err);
    if (r < 0) {
        return r;
    }
    if (is_here) {
        struct git_repository *repository = *here;
        *here = NULL;
        return use_here(site, values, repository, err);
    }
    return name_cache(site, err);
}

int work_site_find(const struct queue_values *values, bool uses_here, struct work_site *ret_site,
                   struct rondo_error *err)
{
    struct work_site site = {0};
    struct git_repository *here = NULL;
    int r = uses_here ? find_here(&here, err) : 0;
    if (r == 0 && !uses_here && values->repository == NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "no repository given: repo: OWNER/NAME or a URL");
    }
    r = r < 0 ? r : find_place(values, &here, &site, err);
    git_repository_free(here);
    if (r < 0) {
        work_site_fini(&site);
        return r;
    }
    *ret_site = site;
    return 0;
}

void work_site_fini(struct work_site *site)
{
    git_repository_free(site->repository);
    if (site->temporary_folder != NULL) {
        file_remove_tree(site->temporary_folder, NULL);
    }
    forge_place_fini(&site->place);
    forge_token_fini(&site->token);
    free(site->name);
    free(site->cache_folder);
    free(site->temporary_folder);
    free(site->remote);
    free(site->origin);
    *site = (struct work_site){0};
}

/* ---- The clone ------------------------------------------------------------------------------ */

struct git_access work_site_access(const struct work_site *site)
{
    return forge_place_access(&site->place, site->remote, site->origin, site->token.text);
}

int work_site_connect(const struct work_site *site, const struct work_site_parts *parts,
                      struct forge **ret_forge, struct rondo_error *err)
{
    const struct forge_options options = {.place = &site->place,
                                          .token = site->token.text,
                                          .http = parts->http,
                                          .clock = clock_system(),
                                          .random = random_system(),
                                          .cancel = parts->cancel,
                                          .paces = parts->paces};
    return forge_open(&options, ret_forge, err);
}

int work_site_fail(const struct work_site *site, const struct forge *forge, struct rondo_error *err)
{
    static const char token_advice[] =
        "; give a token: GH_TOKEN, GITLAB_TOKEN or GITEA_TOKEN, --token-env NAME, or `gh auth "
        "login`";
    const struct forge_outcome *outcome = forge_outcome(forge);
    bool is_hidden = outcome->end == FORGE_ABSENT || outcome->end == FORGE_AUTH;
    bool lacks_token = site->token.text == NULL && is_hidden;
    int code = outcome->end == FORGE_AUTH || outcome->end == FORGE_FORBIDDEN ? RONDO_ERR_DENIED
               : outcome->end == FORGE_CANCELLED                             ? RONDO_ERR_CANCELLED
               : is_hidden || outcome->end == FORGE_MOVED || outcome->end == FORGE_GONE
                   ? RONDO_ERR_NOT_FOUND
                   : RONDO_ERR_IO;
    return error_set(err, code, "%s: %s%s", site->name, outcome->message,
                     lacks_token ? token_advice : "");
}

/** Ask the forge for the address and the default branch. @param ret_branch owned */
static int ask_forge(struct work_site *site, const struct work_site_parts *parts, char **ret_branch,
                     struct rondo_error *err)
{
    struct forge *forge = NULL;
    struct forge_repository facts = {0};
    int r = work_site_connect(site, parts, &forge, err);
    if (r < 0) {
        return r;
    }
    if (forge_read_repository(forge, &facts) != FORGE_OK) {
        r = work_site_fail(site, forge, err);
    } else if (facts.is_empty) {
        r = error_set(err, RONDO_ERR_STATE, "%s is empty: there is no branch to begin from",
                      site->name);
    } else if (!forge_place_is_address(&site->place, facts.clone_url)) {
        r = error_set(
            err, RONDO_ERR_DENIED,
            "the forge names %.200s as the address of %s, which is another place; nothing "
            "is cloned from there",
            facts.clone_url == NULL ? "nothing" : facts.clone_url, site->name);
    }
    if (r == 0) {
        site->remote = memory_dup_string(facts.clone_url);
        site->origin = forge_place_origin(&site->place, site->remote);
        *ret_branch = memory_dup_string(parts->base == NULL ? facts.default_branch : parts->base);
    }
    forge_repository_fini(&facts);
    forge_close(forge);
    return r;
}

/** A folder that is removed with the site. */
static int make_temporary(struct work_site *site, struct rondo_error *err)
{
    const char *given = getenv("TMPDIR");
    struct buf pattern = {0};
    buf_printf(&pattern, "%s/rondo-preview-XXXXXX",
               given != NULL && given[0] == '/' ? given : "/tmp");
    site->temporary_folder = buf_steal(&pattern);
    if (mkdtemp(site->temporary_folder) == NULL) {
        free(site->temporary_folder);
        site->temporary_folder = NULL;
        return error_set_errno(err, RONDO_ERR_IO, errno, "a temporary folder cannot be made");
    }
    return 0;
}

static int open_clone(struct work_site *site, const struct work_site_parts *parts,
                      struct rondo_error *err)
{
    auto_free char *branch = NULL;
    const char *folder = site->cache_folder;
    int r = ask_forge(site, parts, &branch, err);
    if (r < 0) {
        return r;
    }
    if (parts->is_preview) {
        struct rondo_error own = {0};
        r = git_clone_find(folder, parts->cancel, &site->repository, &own);
        if (r != RONDO_ERR_NOT_FOUND) {
            *err = own;
            return r;
        }
        r = make_temporary(site, err);
        folder = site->temporary_folder;
    } else {
        r = file_make_folder(folder, err);
    }
    const struct git_access access = work_site_access(site);
    return r < 0 ? r
                 : git_clone_open(folder, &access, site->remote, branch, parts->cancel,
                                  &site->repository, err);
}

int work_site_open(struct work_site *site, const struct work_site_parts *parts,
                   struct rondo_error *err)
{
    int r = site->repository != NULL ? 0 : open_clone(site, parts, err);
    return r < 0 ? r : git_repository_check_author(site->repository, err);
}
