// SPDX-License-Identifier: Apache-2.0
/*
 * Which repository. A token goes to the API of the place that is found here, so the place must be
 * one that a person has named, or one that everybody knows. What is in a clone does not decide: its
 * remote may lead anywhere, also by insteadOf, and then its host must be known, or be named by
 * somebody else: in the repository's address, the API's, or the variable of the kind's client.
 */
#include "forge/place.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "forge/kind.h"
#include "forge/link.h"
#include "git/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** A repository as it was said, taken apart. Texts are owned. */
struct place_parts {
    char *host;     /**< lower-case, with a port when it is not the usual one; NULL = not said */
    char *path;     /**< "acme/shop" */
    bool is_ssh;    /**< the port of ssh is not one of the API */
    bool is_remote; /**< the clone says so, not a person */
};

static void parts_fini(struct place_parts *parts)
{
    free(parts->host);
    free(parts->path);
    *parts = (struct place_parts){0};
}

/** A text from outside in a message. Lives as long as `shown`. */
static const char *show(const char *text, struct buf *shown)
{
    buf_clear(shown);
    text_clean(text, strnlen(text, 120), shown);
    return buf_string(shown);
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

/** The kind of a host that everybody knows. */
static bool find_known(const char *host, enum forge_kind *ret_kind)
{
    for (int i = 0; i < FORGE_KIND_COUNT; i++) {
        const char *known = forge_ops_of((enum forge_kind)i)->public_host;
        if (strcmp(known, host) == 0) {
            *ret_kind = (enum forge_kind)i;
            return true;
        }
    }
    return false;
}

/** "www.github.com" and "ssh.github.com" are github.com. */
static void drop_front(char *host)
{
    static const char *const fronts[] = {"www.", "ssh.", "altssh."};
    enum forge_kind kind;
    for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
        size_t len = strlen(fronts[i]);
        if (strncmp(host, fronts[i], len) == 0 && find_known(host + len, &kind)) {
            memmove(host, host + len, strlen(host + len) + 1);
            return;
        }
    }
}

/** Whether a text can be a host with a port. */
static bool is_host(const char *host)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]";
    size_t len = strlen(host);
    return len > 0 && len <= 260 && strspn(host, allowed) == len;
}

/** Host and port of a remote. Owned. */
static char *host_of(const struct git_remote *remote)
{
    struct buf host = {0};
    bool is_six = strchr(remote->host, ':') != NULL;
    buf_printf(&host, "%s%s%s", is_six ? "[" : "", remote->host, is_six ? "]" : "");
    bool is_usual = remote->port == 0 || (remote->transport == GIT_HTTPS && remote->port == 443) ||
                    (remote->transport == GIT_HTTP && remote->port == 80);
    if (remote->transport != GIT_SSH && !is_usual) {
        buf_printf(&host, ":%u", (unsigned)remote->port);
    }
    return buf_steal(&host);
}

/** Length of a host without its port. */
static size_t bare_len(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    return end != NULL ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

/* ---- What was said --------------------------------------------------------------------------- */

/** An address in one of git's forms. */
static int read_address(const char *address, struct place_parts *parts, struct rondo_error *err)
{
    struct git_remote remote;
    auto_buf struct buf shown = {0};
    int r = git_remote_parse(address, &remote, err);
    if (r < 0) {
        return r;
    }
    if (remote.host == NULL) {
        r = error_set(err, RONDO_ERR_INVALID,
                      "%s is not an address of a forge; name the repository: --repo "
                      "https://HOST/OWNER/NAME",
                      remote.has_password ? "the remote" : show(address, &shown));
    } else {
        parts->host = host_of(&remote);
        parts->path = memory_dup_string(remote.path);
        parts->is_ssh = remote.transport == GIT_SSH;
        drop_front(parts->host);
    }
    git_remote_fini(&remote);
    return r;
}

/** "acme/shop", "github.com/acme/shop", or an address. */
static int read_repository(const char *text, struct place_parts *parts, struct rondo_error *err)
{
    enum forge_kind kind;
    size_t len = strcspn(text, "/");
    char *first = memory_dup_bytes(text, len);
    for (char *c = first; *c != '\0'; c++) {
        *c = ascii_lower(*c);
    }
    if (strchr(text, ':') != NULL) {
        free(first);
        return read_address(text, parts, err);
    }
    drop_front(first);
    bool has_host = text[len] == '/' && find_known(first, &kind);
    parts->path = memory_dup_string(has_host ? text + len + 1 : text);
    if (has_host) {
        parts->host = first;
    } else {
        free(first);
    }
    return 0;
}

static int read_remote(const char *name, struct git *git, struct place_parts *parts,
                       struct rondo_error *err)
{
    auto_free char *address = NULL;
    int r = git_remote_address(git, name, &address, err);
    if (r == 0 && address == NULL) {
        r = error_set(err, RONDO_ERR_NOT_FOUND,
                      "the clone has no remote `%.100s`; name the repository: --repo OWNER/NAME",
                      name);
    }
    r = r == 0 ? read_address(address, parts, err) : r;
    parts->is_remote = true;
    return r;
}

static int read_wish(const struct forge_wish *wish, struct git *git, struct place_parts *parts,
                     struct rondo_error *err)
{
    if (is_given(wish->repository)) {
        return read_repository(wish->repository, parts, err);
    }
    if (git == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "this is no clone of a repository; name one: --repo OWNER/NAME");
    }
    return read_remote(is_given(wish->remote) ? wish->remote : "origin", git, parts, err);
}

/* ---- The API --------------------------------------------------------------------------------- */

/** Host and port of an API's address. @return owned; NULL when it is not a plain address */
static char *api_host(const char *api)
{
    struct git_remote remote;
    char *host = NULL;
    if (strlen(api) > LIMIT_FORGE_URL_BYTES || strpbrk(api, "?#\\ @") != NULL ||
        (strncasecmp(api, "https://", 8) != 0 && strncasecmp(api, "http://", 7) != 0)) {
        return NULL;
    }
    /* An address of git needs a path. */
    auto_buf struct buf address = {0};
    buf_printf(&address, "%s/x", api);
    if (git_remote_parse(buf_string(&address), &remote, NULL) == 0) {
        host = remote.host != NULL ? host_of(&remote) : NULL;
        git_remote_fini(&remote);
    }
    return host;
}

/** The kind whose path an API's address ends with. */
static bool kind_of_api(const char *api, enum forge_kind *ret_kind)
{
    size_t len = strlen(api);
    for (int i = 0; i < FORGE_KIND_COUNT; i++) {
        const struct forge_ops *ops = forge_ops_of((enum forge_kind)i);
        size_t path_len = strlen(ops->api_path);
        bool is_public = ops->public_api != NULL && strcmp(ops->public_api, api) == 0;
        if (is_public || (len > path_len && strcmp(api + len - path_len, ops->api_path) == 0)) {
            *ret_kind = (enum forge_kind)i;
            return true;
        }
    }
    return false;
}

/** Whether an API may be that of a host: the same, or "api." before it. */
static bool is_api_of(const char *api, const struct place_parts *parts)
{
    const char *host = parts->host;
    if (strncmp(api, "api.", 4) == 0 && strcmp(api + 4, host) == 0) {
        return true;
    }
    /* With ssh the host has no port that says anything of the API's. */
    size_t len = parts->is_ssh ? bare_len(api) : strlen(api);
    return strlen(host) == len && strncmp(api, host, len) == 0;
}

/** An API's address with a scheme in small letters and a host as it is compared: what answers name
 *  is held against it letter by letter. Owned. */
static char *normal_api(const char *given, size_t len, const char *host)
{
    struct buf api = {0};
    bool is_plain = strncasecmp(given, "http://", 7) == 0;
    auto_free char *rest = memory_dup_bytes(given, len);
    const char *authority = strstr(rest, "://") + 3;
    buf_printf(&api, "%s://%s%s", is_plain ? "http" : "https", host,
               authority + strcspn(authority, "/"));
    return buf_steal(&api);
}

/** The host whose API everybody knows to be at another one; NULL = there is none. */
static const char *host_of_public_api(const char *api)
{
    for (int i = 0; i < FORGE_KIND_COUNT; i++) {
        const struct forge_ops *ops = forge_ops_of((enum forge_kind)i);
        if (ops->public_api != NULL && link_is_same_origin(ops->public_api, api)) {
            return ops->public_host;
        }
    }
    return NULL;
}

/** A token of a host that everybody knows is sent by https only. */
static int check_scheme(const struct forge_place *place, struct rondo_error *err)
{
    enum forge_kind kind;
    bool is_plain = strncmp(place->api, "http://", 7) == 0;
    return is_plain && find_known(place->host, &kind)
               ? error_set(err, RONDO_ERR_INVALID,
                           "the API of %s is reached by https only, not at %.150s", place->host,
                           place->api)
               : 0;
}

/** Set api and host of a place whose API was given. */
static int take_api(const char *given, const struct place_parts *parts, struct forge_place *place,
                    struct rondo_error *err)
{
    auto_buf struct buf shown = {0};
    size_t len = strlen(given);
    while (len > 0 && given[len - 1] == '/') {
        len--;
    }
    auto_free char *api = memory_dup_bytes(given, len);
    auto_free char *host = api_host(api);
    if (host == NULL || !is_host(host)) {
        return error_set(err, RONDO_ERR_INVALID, "`%s` is not the address of an API",
                         show(given, &shown));
    }
    place->api = normal_api(given, len, host);
    if (parts->host != NULL && !is_api_of(host, parts)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the API at %.150s is not one of %.150s, where the repository is; name "
                         "the repository: --repo OWNER/NAME",
                         host, show(parts->host, &shown));
    }
    bool has_front =
        parts->host != NULL && strncmp(host, "api.", 4) == 0 && strcmp(host + 4, parts->host) == 0;
    const char *public_host = host_of_public_api(place->api);
    place->host = memory_dup_string(public_host != NULL ? public_host
                                    : has_front         ? host + 4
                                                        : host);
    return check_scheme(place, err);
}

/* ---- Deciding -------------------------------------------------------------------------------- */

/** Whether the variable of a kind's client names a host. */
static bool is_configured(enum forge_kind kind, const char *host)
{
    const char *name = forge_ops_of(kind)->host_variable;
    const char *value = name != NULL ? getenv(name) : NULL;
    return value != NULL && link_names_host(value, host);
}

/** The kind that was named. @return 0; RONDO_ERR_INVALID for a word that is none */
static int read_kind(const struct forge_wish *wish, bool *ret_is_named, enum forge_kind *ret_kind,
                     struct rondo_error *err)
{
    auto_buf struct buf shown = {0};
    *ret_is_named = is_given(wish->kind);
    if (*ret_is_named && !forge_kind_from_name(wish->kind, ret_kind)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "`%s` is not a kind of forge (github, gitea, forgejo, gitlab)",
                         show(wish->kind, &shown));
    }
    return 0;
}

/** The host where none was said: that of the clone when everybody knows it, else the public one. */
static char *default_host(const struct forge_wish *wish, struct git *git, bool has_kind,
                          enum forge_kind kind)
{
    struct place_parts parts = {0};
    enum forge_kind known;
    char *host = NULL;
    if (git != NULL &&
        read_remote(is_given(wish->remote) ? wish->remote : "origin", git, &parts, NULL) == 0 &&
        find_known(parts.host, &known) && (!has_kind || known == kind)) {
        host = steal_pointer(&parts.host);
    }
    parts_fini(&parts);
    kind = has_kind ? kind : FORGE_GITHUB;
    return host != NULL ? host : memory_dup_string(forge_ops_of(kind)->public_host);
}

/** Kind, host and API of a host without an API's address. */
static int take_host(const struct place_parts *parts, bool has_kind, enum forge_kind kind,
                     struct forge_place *place, struct rondo_error *err)
{
    auto_buf struct buf shown = {0};
    struct buf api = {0};
    enum forge_kind known;
    bool is_known = find_known(parts->host, &known);
    if (is_known && has_kind && known != kind) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a forge of the kind %s", parts->host,
                         forge_kind_name(kind));
    }
    if (!is_known && !has_kind) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s is not a host that is known; name the repository and its kind: "
                         "--repo https://HOST/OWNER/NAME --forge github|gitea|gitlab",
                         show(parts->host, &shown));
    }
    kind = is_known ? known : kind;
    if (!is_known && parts->is_remote && !is_configured(kind, parts->host)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the remote is at %s, which nobody but the clone names; if your token may "
                         "be sent there, name the repository: --repo https://HOST/OWNER/NAME",
                         show(parts->host, &shown));
    }
    const struct forge_ops *ops = forge_ops_of(kind);
    bool has_own = is_known && ops->public_api != NULL;
    buf_printf(&api, "%s%s%s", has_own ? ops->public_api : "https://", has_own ? "" : parts->host,
               has_own ? "" : ops->api_path);
    place->kind = kind;
    place->api = buf_steal(&api);
    place->host = memory_dup_string(parts->host);
    return 0;
}

/** A token for one kind would go to a host that is known to be of another. */
static int check_kind(const struct forge_place *place, struct rondo_error *err)
{
    enum forge_kind known;
    return find_known(place->host, &known) && known != place->kind
               ? error_set(err, RONDO_ERR_INVALID, "%s is not a forge of the kind %s", place->host,
                           forge_kind_name(place->kind))
               : 0;
}

static int take_place(const struct forge_wish *wish, struct git *git, struct place_parts *parts,
                      struct forge_place *place, struct rondo_error *err)
{
    bool has_kind = false;
    enum forge_kind kind = FORGE_GITHUB;
    int r = read_kind(wish, &has_kind, &kind, err);
    if (r < 0) {
        return r;
    }
    if (is_given(wish->api)) {
        r = take_api(wish->api, parts, place, err);
        if (r == 0 && !has_kind && !kind_of_api(place->api, &kind)) {
            r = error_set(err, RONDO_ERR_INVALID,
                          "the address of the API does not say its kind; name it: --forge "
                          "github|gitea|gitlab");
        }
        place->kind = kind;
        return r == 0 ? check_kind(place, err) : r;
    }
    if (parts->host == NULL) {
        parts->host = default_host(wish, git, has_kind, kind);
    }
    if (!is_host(parts->host)) {
        return error_set(err, RONDO_ERR_INVALID, "the address of the repository has no valid host");
    }
    return take_host(parts, has_kind, kind, place, err);
}

/* ---- Owner and name -------------------------------------------------------------------------- */

/** Whether every segment of a path is a name, and nothing that is resolved on the way. */
static bool is_path(const char *path)
{
    bool is_fine = true;
    for (const char *at = path; at != NULL && is_fine;) {
        size_t len = strcspn(at, "/");
        auto_free char *segment = memory_dup_bytes(at, len);
        is_fine = link_is_segment(segment) && len <= LIMIT_FORGE_NAME_BYTES;
        for (size_t i = 0; i < len && is_fine; i++) {
            is_fine = ascii_is_letter_or_digit(at[i]) || strchr("-_.+~", at[i]) != NULL;
        }
        at = at[len] == '/' ? at + len + 1 : NULL;
    }
    return is_fine && strlen(path) <= LIMIT_FORGE_URL_BYTES;
}

static int take_path(const char *path, struct forge_place *place, struct rondo_error *err)
{
    auto_buf struct buf shown = {0};
    const char *slash = strrchr(path, '/');
    bool is_nested = slash != NULL && memchr(path, '/', (size_t)(slash - path)) != NULL;
    if (slash == NULL || !is_path(path) || (is_nested && place->kind != FORGE_GITLAB)) {
        return error_set(err, RONDO_ERR_INVALID, "`%s` is not a repository (OWNER/NAME)",
                         show(path, &shown));
    }
    place->owner = memory_dup_bytes(path, (size_t)(slash - path));
    place->name = memory_dup_string(slash + 1);
    return 0;
}

int forge_place_sibling(const struct forge_place *place, const char *path,
                        struct forge_place *ret_place, struct rondo_error *err)
{
    struct forge_place sibling = {.kind = place->kind};
    int r = take_path(path, &sibling, err);
    if (r == 0 && strcasecmp(sibling.owner, place->owner) == 0 &&
        strcasecmp(sibling.name, place->name) == 0) {
        r = error_set(err, RONDO_ERR_INVALID, "`%.100s` is the repository itself, not a fork of it",
                      path);
    }
    if (r < 0) {
        forge_place_fini(&sibling);
        return r;
    }
    sibling.host = memory_dup_string(place->host);
    sibling.api = memory_dup_string(place->api);
    *ret_place = sibling;
    return 0;
}

static bool is_plain(const struct forge_place *place)
{
    return strncmp(place->api, "http:", 5) == 0;
}

char *forge_place_origin(const struct forge_place *place, const char *address)
{
    return git_remote_origin(address, is_plain(place));
}

struct git_access forge_place_access(const struct forge_place *place, const char *remote,
                                     const char *origin, const char *token)
{
    struct git_access access = {.remote = remote};
    if (origin != NULL && token != NULL) {
        access.user = place->kind == FORGE_GITLAB ? "oauth2" : "x-access-token";
        access.token = token;
        access.origin = origin;
    }
    return access;
}

bool forge_place_is_address(const struct forge_place *place, const char *address)
{
    struct git_remote remote;
    auto_free char *host = NULL;
    auto_buf struct buf path = {0};
    if (address == NULL || git_remote_parse(address, &remote, NULL) < 0) {
        return false;
    }
    bool is_safe =
        remote.transport == GIT_HTTPS || (remote.transport == GIT_HTTP && is_plain(place));
    host = remote.host != NULL ? host_of(&remote) : NULL;
    buf_printf(&path, "%s/%s", place->owner, place->name);
    bool is_it = is_safe && remote.user == NULL && !remote.has_password && host != NULL &&
                 strcasecmp(host, place->host) == 0 &&
                 strcasecmp(remote.path, buf_string(&path)) == 0;
    git_remote_fini(&remote);
    return is_it;
}

/* ---- Where the clone pushes to --------------------------------------------------------------- */

/** Whether an address is of the place's repository. */
static bool is_same(const char *address, const struct forge_place *place)
{
    struct place_parts parts = {0};
    struct buf path = {0};
    buf_printf(&path, "%s/%s", place->owner, place->name);
    bool is_read = read_address(address, &parts, NULL) == 0;
    /* The port of ssh says nothing of the API's. */
    size_t len = is_read && parts.is_ssh ? bare_len(place->host) : strlen(place->host);
    bool is_same = is_read && strlen(parts.host) == len &&
                   strncmp(parts.host, place->host, len) == 0 &&
                   strcasecmp(parts.path, buf_string(&path)) == 0;
    parts_fini(&parts);
    buf_fini(&path);
    return is_same;
}

/** A remote may push elsewhere than it fetches from (pushurl, pushInsteadOf): then work would be
 *  taken from one repository and brought to another. */
static int check_push(const char *name, struct git *git, const struct forge_place *place,
                      struct rondo_error *err)
{
    const char *const arguments[] = {"remote", "get-url", "--push", "--all", "--", name, NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments, .git_dir = git->repository->git_folder};
    int r = git_call_run_well(git, &call, &reply, err);
    for (char *line = reply.output.data; r == 0 && line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        auto_free char *address = memory_dup_bytes(line, len);
        if (!is_same(address, place)) {
            r = error_set(err, RONDO_ERR_INVALID,
                          "the remote `%.100s` pushes to another repository than it fetches from; "
                          "name the one that is meant: --repo OWNER/NAME",
                          name);
        }
        line += len + (line[len] == '\n');
    }
    return r;
}

int forge_place_find(const struct forge_wish *wish, struct git *git, struct forge_place *ret_place,
                     struct rondo_error *err)
{
    struct place_parts parts = {0};
    struct forge_place place = {0};
    int r = read_wish(wish, git, &parts, err);
    r = r == 0 ? take_place(wish, git, &parts, &place, err) : r;
    r = r == 0 ? take_path(parts.path, &place, err) : r;
    if (r == 0 && parts.is_remote) {
        r = check_push(is_given(wish->remote) ? wish->remote : "origin", git, &place, err);
    }
    parts_fini(&parts);
    if (r < 0) {
        forge_place_fini(&place);
        return r;
    }
    *ret_place = place;
    return 0;
}
