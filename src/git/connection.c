// SPDX-License-Identifier: Apache-2.0
/* Settings by GIT_CONFIG_KEY_* (git(1)) win over all files, and nobody else sees them. */
#include "git/connection.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/remote.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the environment of a connection --- */

void git_connection_add(struct git_connection *connection, const char *name, const char *value)
{
    struct buf variable = {0};
    size_t count = memory_count_list((const char *const *)connection->variables);
    buf_printf(&variable, "%s=%s", name, value);
    connection->variables = memory_resize(connection->variables, count + 2, sizeof(char *));
    connection->variables[count] = buf_steal(&variable);
    connection->variables[count + 1] = NULL;
}

static void add_setting(struct git_connection *connection, const char *key, const char *value)
{
    char name[40];
    snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%zu", connection->setting_count);
    git_connection_add(connection, name, key);
    snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%zu", connection->setting_count);
    git_connection_add(connection, name, value);
    connection->setting_count++;
}

/** A setting whose key has something in its middle. */
__attribute__((format(printf, 3, 4))) static void add_setting_of(struct git_connection *connection,
                                                                 const char *value,
                                                                 const char *format, ...)
{
    char key[LIMIT_GIT_ADDRESS_BYTES + 100];
    va_list list;
    va_start(list, format);
    vsnprintf(key, sizeof(key), format, list);
    va_end(list);
    add_setting(connection, key, value);
}

/* Settings of files that make git do something else than it was told. An empty list has nothing. */
static const char *const plain_settings[][2] = {
    {"fetch.prune", "false"},
    {"fetch.pruneTags", "false"},
    {"fetch.recurseSubmodules", "false"},
    {"fetch.writeCommitGraph", "false"},
    {"fetch.uriProtocols", ""},
    {"transfer.bundleURI", "false"},
    {"protocol.version", "2"},
    {"push.followTags", "false"},
    {"push.gpgSign", "false"},
    {"push.negotiate", "false"},
    {"push.pushOption", ""},
    {"push.recurseSubmodules", "no"},
    {"push.useForceIfIncludes", "false"},
    {"advice.pushUpdateRejected", "false"},
};

static void add_address(struct git_connection *connection)
{
    const char *address = connection->address;
    add_setting(connection, "remote." GIT_CONNECTION ".url", address);
    /* pushInsteadOf does not apply to it. */
    add_setting(connection, "remote." GIT_CONNECTION ".pushurl", address);
    /* insteadOf has been applied; the longest one wins, and this is the whole address. */
    add_setting_of(connection, address, "url.%s.insteadOf", address);
}

/** @return the value of GIT_ALLOW_PROTOCOL; NULL for what is never allowed */
static const char *protocols_of(enum git_transport transport)
{
    switch (transport) {
    case GIT_LOCAL:
        return "file";
    case GIT_SSH:
        return "ssh";
    case GIT_HTTPS:
        return "https"; /* a redirection to http is refused */
    case GIT_HTTP:
        return "http:https";
    case GIT_DAEMON:
        return "git";
    case GIT_OTHER:
        return NULL;
    }
    return NULL;
}

/* --- the token --- */

/* Git runs it with the token's origin only. What it has to keep or to forget it does not read. */
#define TOKEN_HELPER                                                     \
    "!f() { test \"$1\" != get || { echo \"username=$RONDO_GIT_USER\"; " \
    "echo \"password=$RONDO_GIT_TOKEN\"; }; }; f"

static bool is_word(const char *text, size_t limit)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        /* echo of some shells reads a backslash. */
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '\\') {
            return false;
        }
    }
    return len > 0 && len <= limit;
}

static uint16_t port_of(const struct git_remote *remote)
{
    return remote->port != 0 ? remote->port : remote->transport == GIT_HTTPS ? 443 : 80;
}

/** "https://HOST" or "https://HOST:PORT": no path, no user, no pattern. */
static bool is_origin(const char *origin)
{
    const char *host = strncmp(origin, "https://", 8) == 0  ? origin + 8
                       : strncmp(origin, "http://", 7) == 0 ? origin + 7
                                                            : "";
    size_t len = 0;
    while (ascii_is_letter_or_digit(host[len]) ||
           (host[len] != '\0' && strchr(".-:[]", host[len]))) {
        len++;
    }
    return len > 0 && len <= 300 && host[len] == '\0';
}

static bool is_at_origin(const struct git_remote *remote, const char *origin)
{
    char text[400];
    struct git_remote other = {0};
    snprintf(text, sizeof(text), "%s/x", origin);
    if (git_remote_parse(text, &other, NULL) != 0) {
        return false;
    }
    bool is_same = remote->transport == other.transport && remote->host != NULL &&
                   strcmp(remote->host, other.host) == 0 && port_of(remote) == port_of(&other);
    git_remote_fini(&other);
    return is_same;
}

/** The token is not there at all when the address, as insteadOf left it, is of another host. */
static int add_token(struct git_connection *connection, const struct git_access *access,
                     const struct git_remote *remote, struct rondo_error *err)
{
    if (access->token == NULL) {
        return 0;
    }
    if (access->origin == NULL || !is_origin(access->origin) ||
        !is_word(access->token, LIMIT_GIT_TOKEN_BYTES) || access->user == NULL ||
        !is_word(access->user, LIMIT_GIT_TOKEN_BYTES)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a token for git needs a user, and an origin such as https://github.com; "
                         "none of them may contain blanks");
    }
    if (!is_at_origin(remote, access->origin)) {
        return 0;
    }
    /* Without the empty one git would give a token that worked to the user's helpers to keep. */
    add_setting_of(connection, "", "credential.%s.helper", access->origin);
    add_setting_of(connection, TOKEN_HELPER, "credential.%s.helper", access->origin);
    git_connection_add(connection, "RONDO_GIT_USER", access->user);
    git_connection_add(connection, "RONDO_GIT_TOKEN", access->token);
    return 0;
}

/* --- the address --- */

/** @param ret_address NULL when there is no remote of that name */
static int read_configured(struct git *git, const char *remote, bool is_push, char **ret_address,
                           struct rondo_error *err)
{
    const char *arguments[7] = {"remote", "get-url", "--all"};
    size_t n = 3;
    if (is_push) {
        arguments[n++] = "--push";
    }
    arguments[n++] = "--";
    arguments[n] = remote;
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments,
                                  .git_dir = git->repository->git_folder,
                                  .directory = git->repository->top_folder,
                                  .is_brief = true};
    int r = git_call_run(git, &call, &reply, err);
    if (r != 0 || reply.exit_code == 2) {
        return r;
    }
    if (reply.exit_code != 0) {
        return git_fail(&reply, "cannot read the address of a remote", err);
    }
    const char *lines = git_reply_line(&reply);
    size_t len = strcspn(lines, "\n");
    if (is_push && lines[len] != '\0') {
        return error_set(err, RONDO_ERR_INVALID,
                         "the remote '%.80s' has several addresses for pushes; nobody can own "
                         "something in all of them at once. Name one of them",
                         remote);
    }
    *ret_address = memory_dup_bytes(lines, len);
    return 0;
}

/** Apply insteadOf to an address that was given. */
static int rewrite(struct git *git, const char *given, char **ret_address, struct rondo_error *err)
{
    const char *const arguments[] = {"ls-remote", "--get-url", "--", given, NULL};
    auto_git_reply struct git_reply reply = {0};
    struct git_remote remote = {0};
    int r = git_remote_parse(given, &remote, err);
    if (r == 0 && remote.transport == GIT_LOCAL && strchr(given, '/') == NULL) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "there is no remote '%.80s'", given);
    }
    git_remote_fini(&remote);
    const struct git_call call = {.arguments = arguments,
                                  .git_dir = git->repository->git_folder,
                                  .directory = git->repository->top_folder,
                                  .is_brief = true};
    r = r != 0 ? r : git_call_run_well(git, &call, &reply, err);
    if (r == 0) {
        *ret_address = memory_dup_string(git_reply_line(&reply));
    }
    return r;
}

static int find_address(struct git *git, const char *remote, bool is_push, char **ret_address,
                        struct rondo_error *err)
{
    /* No remote has a ':' in its name (git-remote(1)): git need not be asked for one. */
    if (strchr(remote, ':') != NULL) {
        return rewrite(git, remote, ret_address, err);
    }
    int r = read_configured(git, remote, is_push, ret_address, err);
    return r != 0 || *ret_address != NULL ? r : rewrite(git, remote, ret_address, err);
}

/* --- the connection --- */

static int prepare(struct git_connection *connection, const struct git_access *access,
                   struct rondo_error *err)
{
    char count[24];
    struct git_remote remote = {0};
    int r = git_remote_parse(connection->address, &remote, err);
    if (r != 0) {
        return r;
    }
    const char *protocols = protocols_of(remote.transport);
    if (protocols == NULL) {
        r = error_set(err, RONDO_ERR_INVALID,
                      "the remote's address is none of https, http, ssh, git or a path");
    } else {
        git_connection_add(connection, "GIT_ALLOW_PROTOCOL", protocols);
        for (size_t i = 0; git_access_variables[i] != NULL; i++) {
            const char *value = strchr(git_access_variables[i], '=');
            auto_free char *name = memory_dup_bytes(git_access_variables[i],
                                                    (size_t)(value - git_access_variables[i]));
            git_connection_add(connection, name, value + 1);
        }
        for (size_t i = 0; i < sizeof(plain_settings) / sizeof(plain_settings[0]); i++) {
            add_setting(connection, plain_settings[i][0], plain_settings[i][1]);
        }
        add_address(connection);
        r = add_token(connection, access, &remote, err);
    }
    git_remote_fini(&remote);
    snprintf(count, sizeof(count), "%zu", connection->setting_count);
    git_connection_add(connection, "GIT_CONFIG_COUNT", count);
    return r;
}

int git_connection_open(struct git *git, const struct git_access *access, bool is_push,
                        struct git_connection *ret_connection, struct rondo_error *err)
{
    int64_t total_ns = access->total_ns != 0 ? access->total_ns : GIT_CALL_NS;
    struct git_connection connection = {.git = git,
                                        .until_ns = clock_monotonic(clock_system()) + total_ns};
    int r = find_address(git, access->remote, is_push, &connection.address, err);
    if (r == 0) {
        r = prepare(&connection, access, err);
    }
    if (r != 0) {
        git_connection_fini(&connection);
        return r;
    }
    *ret_connection = connection;
    return 0;
}

int git_connection_run(const struct git_connection *connection, struct git_call call,
                       struct git_reply *ret_reply, struct rondo_error *err)
{
    const struct git_repository *repository = connection->git->repository;
    int64_t left_ns = connection->until_ns - clock_monotonic(clock_system());
    if (left_ns <= 0) {
        return GIT_NOT_ANSWERED;
    }
    call.git_dir = call.git_dir != NULL ? call.git_dir : repository->git_folder;
    call.directory = repository->top_folder;
    call.names = git_access_names;
    call.variables = (const char *const *)connection->variables;
    call.total_ns = left_ns;
    int r = git_call_run(connection->git, &call, ret_reply, err);
    return r == RONDO_ERR_TIMEOUT ? GIT_NOT_ANSWERED : r;
}

int git_connection_read(const struct git_connection *connection, const struct git_call *call,
                        struct git_reply *ret_reply, enum git_claim_end *ret_end,
                        struct rondo_error *err)
{
    struct git_reply reply = {0};
    int r = git_connection_run(connection, *call, &reply, err);
    if (r == GIT_NOT_ANSWERED) {
        *ret_end = GIT_CLAIM_NETWORK;
        error_set(err, RONDO_ERR_TIMEOUT, "the remote did not answer in time");
        return 0;
    }
    if (r != 0) {
        return r;
    }
    *ret_end = reply.exit_code == 0 ? GIT_CLAIM_DONE : git_access_judge(&reply);
    if (*ret_end != GIT_CLAIM_DONE) {
        auto_free char *reason = git_access_reason(&reply);
        error_set(err, RONDO_ERR_STATE, "%s", reason);
    }
    *ret_reply = reply;
    return 0;
}

void git_connection_fini(struct git_connection *connection)
{
    for (size_t i = 0; connection->variables != NULL && connection->variables[i] != NULL; i++) {
        explicit_bzero(connection->variables[i], strlen(connection->variables[i]));
    }
    memory_free_list(connection->variables);
    free(connection->address);
    *connection = (struct git_connection){0};
}
