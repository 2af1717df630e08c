// SPDX-License-Identifier: Apache-2.0
/* Addresses of remotes as git-fetch(1), "GIT URLS", has them. Pure but for git_remote_address. */
#include "git/remote.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *scheme;
    enum git_transport transport;
} schemes[] = {
    {"https", GIT_HTTPS}, {"http", GIT_HTTP},  {"ssh", GIT_SSH},    {"git+ssh", GIT_SSH},
    {"ssh+git", GIT_SSH}, {"git", GIT_DAEMON}, {"file", GIT_LOCAL},
};

static enum git_transport transport_of(const char *scheme, size_t len)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strlen(schemes[i].scheme) == len && strncasecmp(schemes[i].scheme, scheme, len) == 0) {
            return schemes[i].transport;
        }
    }
    return GIT_OTHER;
}

static char *lower(const char *text, size_t len)
{
    char *copy = memory_dup_bytes(text, len);
    for (size_t i = 0; i < len; i++) {
        copy[i] = ascii_lower(copy[i]);
    }
    return copy;
}

/** Without slashes at both ends and one ".git". */
static char *plain_path(const char *path, size_t len)
{
    while (len > 0 && *path == '/') {
        path++;
        len--;
    }
    while (len > 0 && path[len - 1] == '/') {
        len--;
    }
    /* A repository may be named ".git" itself; it keeps its name. */
    bool has_end = len > 4 && memcmp(path + len - 4, ".git", 4) == 0 && path[len - 5] != '/';
    len -= has_end ? 4 : 0;
    while (len > 0 && path[len - 1] == '/') {
        len--;
    }
    return memory_dup_bytes(path, len);
}

/** @return whether the text is empty (the transport's own) or the number of a port */
static bool read_port(const char *text, size_t len, uint16_t *ret_port)
{
    unsigned port = 0;
    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_digit(text[i]) || port > 65535) {
            return false;
        }
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    *ret_port = (uint16_t)port;
    return port <= 65535;
}

/** Take "USER:PASSWORD@" off. @return what comes after it */
static const char *take_user(struct git_remote *remote, const char *text, size_t *len)
{
    const char *at = memrchr(text, '@', *len);
    if (at == NULL) {
        return text;
    }
    size_t user_len = (size_t)(at - text);
    const char *colon = memchr(text, ':', user_len);
    remote->has_password = colon != NULL;
    user_len = colon != NULL ? (size_t)(colon - text) : user_len;
    remote->user = user_len == 0 ? NULL : memory_dup_bytes(text, user_len);
    *len -= (size_t)(at + 1 - text);
    return at + 1;
}

/** "[V6]:PORT", "HOST:PORT", "HOST". @return whether it is well-formed */
static bool take_host(struct git_remote *remote, const char *text, size_t len)
{
    const char *end = text + len;
    const char *host = text;
    const char *after = NULL;
    if (len > 0 && *text == '[') {
        host = text + 1;
        after = memchr(text, ']', len);
        if (after == NULL || (after + 1 < end && after[1] != ':')) {
            return false;
        }
        len = (size_t)(after - host);
        after++;
    } else {
        after = memchr(text, ':', len);
        after = after == NULL ? end : after;
        len = (size_t)(after - host);
    }
    /* A host that begins with '-' would be an option of ssh; git refuses it, too. */
    if (len == 0 || *host == '-') {
        return false;
    }
    remote->host = lower(host, len);
    return after == end || read_port(after + 1, (size_t)(end - after - 1), &remote->port);
}

static bool parse_url(struct git_remote *remote, const char *rest)
{
    size_t len = strcspn(rest, "/");
    const char *path = rest + len;
    const char *host = take_user(remote, rest, &len);
    remote->path = plain_path(path, strlen(path));
    return take_host(remote, host, len) && remote->path[0] != '\0';
}

/** "USER@HOST:PATH": a colon before any slash, and no scheme. */
static bool parse_short(struct git_remote *remote, const char *address, const char *colon)
{
    size_t len = (size_t)(colon - address);
    remote->transport = GIT_SSH;
    const char *host = take_user(remote, address, &len);
    remote->path = plain_path(colon + 1, strlen(colon + 1));
    return take_host(remote, host, len) && remote->path[0] != '\0';
}

/** The colon of the short form, which is not one in brackets. @return NULL when it is none */
static const char *find_colon(const char *address)
{
    const char *bracket = strchr(address, '[');
    const char *from = address;
    if (bracket != NULL && (bracket == address || bracket[-1] == '@')) {
        const char *end = strchr(bracket, ']');
        from = end != NULL ? end : address;
    }
    const char *colon = strchr(from, ':');
    const char *slash = memchr(address, '/', colon == NULL ? 0 : (size_t)(colon - address));
    return slash != NULL ? NULL : colon;
}

static void set_local(struct git_remote *remote, const char *path)
{
    remote->transport = GIT_LOCAL;
    remote->path = memory_dup_string(path);
}

static size_t scheme_len(const char *address)
{
    size_t len = 0;
    while (ascii_is_letter(address[len]) || ascii_is_digit(address[len]) || address[len] == '+' ||
           address[len] == '-' || address[len] == '.') {
        len++;
    }
    return len;
}

static bool parse(struct git_remote *remote, const char *address)
{
    size_t len = scheme_len(address);
    const char *colon = find_colon(address);
    if (len > 0 && strncmp(address + len, "://", 3) == 0) {
        remote->transport = transport_of(address, len);
        if (remote->transport == GIT_LOCAL) {
            set_local(remote, address + len + 3);
            return remote->path[0] != '\0';
        }
        return parse_url(remote, address + len + 3);
    }
    if (len > 0 && strncmp(address + len, "::", 2) == 0) {
        remote->transport = GIT_OTHER;
        remote->path = memory_dup_string(address + len + 2);
        return true;
    }
    if (colon != NULL) {
        return parse_short(remote, address, colon);
    }
    set_local(remote, address);
    return true;
}

int git_remote_parse(const char *address, struct git_remote *ret_remote, struct rondo_error *err)
{
    struct git_remote remote = {0};
    size_t len = strlen(address);
    bool is_fine = len > 0 && len <= LIMIT_GIT_ADDRESS_BYTES && *address != '-';
    for (size_t i = 0; i < len; i++) {
        is_fine = is_fine && (unsigned char)address[i] >= ' ' && address[i] != '\177';
    }
    if (!is_fine || !parse(&remote, address)) {
        git_remote_fini(&remote);
        /* The address may have a password in it, so it is not shown. */
        return error_set(err, RONDO_ERR_INVALID,
                         "the address of the remote is not a valid git URL");
    }
    *ret_remote = remote;
    return 0;
}

void git_remote_fini(struct git_remote *remote)
{
    free(remote->user);
    free(remote->host);
    free(remote->path);
    *remote = (struct git_remote){0};
}

/** github.com is reached as www.github.com and, for ssh on port 443, as ssh.github.com. */
static bool is_host(const char *host, const char *forge_host)
{
    static const char *const fronts[] = {"www.", "ssh.", "altssh."};
    for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
        size_t len = strlen(fronts[i]);
        if (strncmp(host, fronts[i], len) == 0 && strcasecmp(host + len, forge_host) == 0) {
            return true;
        }
    }
    return strcasecmp(host, forge_host) == 0;
}

bool git_remote_forge(const struct git_remote *remote, const char *forge_host, char **ret_owner,
                      char **ret_name)
{
    if (remote->host == NULL || !is_host(remote->host, forge_host)) {
        return false;
    }
    const char *slash = strrchr(remote->path, '/');
    if (slash == NULL || slash == remote->path || slash[1] == '\0') {
        return false;
    }
    *ret_owner = memory_dup_bytes(remote->path, (size_t)(slash - remote->path));
    *ret_name = memory_dup_string(slash + 1);
    return true;
}

/** As part of an address. @param is_path slashes stay */
static void add_escaped(const char *text, bool is_path, struct buf *ret_url)
{
    for (; *text != '\0'; text++) {
        bool is_plain = ascii_is_letter_or_digit(*text) || strchr("-._~", *text) != NULL ||
                        (is_path && *text == '/');
        if (is_plain) {
            buf_append(ret_url, text, 1);
        } else {
            buf_printf(ret_url, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

char *git_remote_request_url(const struct git_remote *remote, const char *branch)
{
    static const struct {
        const char *host;
        const char *page;
        bool is_path; /* the branch is part of the path, not of the query */
    } forges[] = {
        {"github.com", "pull/new/", true},
        {"gitlab.com", "-/merge_requests/new?merge_request%5Bsource_branch%5D=", false},
        {"codeberg.org", "compare/", true},
        {"bitbucket.org", "pull-requests/new?source=", false},
    };
    for (size_t i = 0; i < sizeof(forges) / sizeof(forges[0]); i++) {
        auto_free char *owner = NULL;
        auto_free char *name = NULL;
        if (git_remote_forge(remote, forges[i].host, &owner, &name)) {
            struct buf url = {0};
            buf_printf(&url, "https://%s/", forges[i].host);
            add_escaped(owner, true, &url);
            buf_append_string(&url, "/");
            add_escaped(name, false, &url);
            buf_printf(&url, "/%s", forges[i].page);
            add_escaped(branch, forges[i].is_path, &url);
            return buf_steal(&url);
        }
    }
    return NULL;
}

char *git_remote_origin(const char *address, bool may_be_plain)
{
    struct git_remote remote = {0};
    struct buf origin = {0};
    if (git_remote_parse(address, &remote, NULL) < 0) {
        return NULL;
    }
    bool is_fine = remote.transport == GIT_HTTPS || (remote.transport == GIT_HTTP && may_be_plain);
    if (remote.host != NULL && is_fine) {
        bool is_six = strchr(remote.host, ':') != NULL;
        buf_printf(&origin, "%s://%s%s%s", remote.transport == GIT_HTTPS ? "https" : "http",
                   is_six ? "[" : "", remote.host, is_six ? "]" : "");
        if (remote.port != 0) {
            buf_printf(&origin, ":%u", (unsigned)remote.port);
        }
    }
    git_remote_fini(&remote);
    return origin.len == 0 ? NULL : buf_steal(&origin);
}

int git_remote_address(struct git *git, const char *name, char **ret_address,
                       struct rondo_error *err)
{
    const char *const arguments[] = {"remote", "get-url", "--", name, NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments, .git_dir = git->repository->git_folder};
    int r = git_call_run(git, &call, &reply, err);
    if (r == 0 && reply.exit_code != 0 && reply.exit_code != 2) {
        r = git_fail(&reply, "cannot read the address of a remote", err);
    }
    if (r == 0) {
        *ret_address = reply.exit_code == 0 ? memory_dup_string(git_reply_line(&reply)) : NULL;
    }
    return r;
}
