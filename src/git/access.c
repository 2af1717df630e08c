// SPDX-License-Identifier: Apache-2.0
/* Git, ssh and libcurl have no codes for why a remote was not reached; LC_ALL=C keeps their words.
 */
#include "git/access.h"

#include "base/auto.h"
#include "base/memory.h"
#include "base/text/plain.h"

#include <stdbool.h>
#include <string.h>

const char *const git_access_names[] = {
    "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS",
    "http_proxy",      "https_proxy",     "HTTPS_PROXY",   "no_proxy",
    "NO_PROXY",        "all_proxy",       "ALL_PROXY",     NULL,
};

const char *const git_access_variables[] = {
    "GIT_ASKPASS=", "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force", "GCM_INTERACTIVE=never",
    NULL,
};

/* --- what a failure means --- */

static const struct {
    const char *words;
    enum git_trouble trouble;
} phrases[] = {
    {"Authentication failed", GIT_TROUBLE_AUTH},
    {"could not read Username", GIT_TROUBLE_AUTH},
    {"could not read Password", GIT_TROUBLE_AUTH},
    {"Permission denied (", GIT_TROUBLE_AUTH},
    {"Host key verification failed", GIT_TROUBLE_AUTH},
    {"ERROR: Permission to ", GIT_TROUBLE_AUTH},
    {"ERROR: Repository not found", GIT_TROUBLE_AUTH},
    {"error: 401", GIT_TROUBLE_AUTH},
    {"error: 403", GIT_TROUBLE_AUTH},
    {"Could not resolve host", GIT_TROUBLE_NETWORK},
    {"Failed to connect", GIT_TROUBLE_NETWORK},
    {"Connection refused", GIT_TROUBLE_NETWORK},
    {"Connection timed out", GIT_TROUBLE_NETWORK},
    {"Connection reset", GIT_TROUBLE_NETWORK},
    {"Network is unreachable", GIT_TROUBLE_NETWORK},
    {"unable to look up", GIT_TROUBLE_NETWORK},
    {"unable to connect", GIT_TROUBLE_NETWORK},
    {"early EOF", GIT_TROUBLE_NETWORK},
    {"hung up unexpectedly", GIT_TROUBLE_NETWORK},
    {"The requested URL returned error: 429", GIT_TROUBLE_NETWORK},
    {"The requested URL returned error: 5", GIT_TROUBLE_NETWORK},
};

static enum git_trouble trouble_of(const char *line)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
        if (strstr(line, phrases[i].words) != NULL) {
            return phrases[i].trouble;
        }
    }
    /* What a forge says of a private repository to those who may not see it. */
    bool is_absent = strncmp(line, "fatal: repository '", 19) == 0;
    return is_absent && strstr(line, "' not found") != NULL ? GIT_TROUBLE_AUTH : GIT_TROUBLE_NONE;
}

enum git_trouble git_access_trouble(const struct git_reply *reply)
{
    enum git_trouble found = GIT_TROUBLE_NONE;
    for (const char *at = buf_string(&reply->errors); *at != '\0';) {
        size_t len = strcspn(at, "\n");
        auto_free char *line = memory_dup_bytes(at, len);
        /* "The remote end hung up" follows what ssh has said before it. */
        if (found == GIT_TROUBLE_NONE && strncmp(line, "remote:", 7) != 0) {
            found = trouble_of(line);
        }
        at += len;
        at += *at == '\n';
    }
    return found;
}

static bool has_any(const char *text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strstr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

enum git_claim_end git_access_judge(const struct git_reply *reply)
{
    /* Nothing was sent. */
    static const char *const never_sent[] = {
        "does not appear to be a git repository",
        "fatal: transport '",
        "does not support --atomic",
        "mismatched algorithms",
        "dubious ownership",
        NULL,
    };
    static const char *const absent[] = {"remote ref does not exist", "couldn't find remote ref",
                                         NULL};
    const char *errors = buf_string(&reply->errors);
    switch (git_access_trouble(reply)) {
    case GIT_TROUBLE_AUTH:
        return GIT_CLAIM_AUTH;
    case GIT_TROUBLE_NETWORK:
    case GIT_TROUBLE_NONE:
        break;
    }
    if (has_any(errors, absent)) {
        return GIT_CLAIM_LOST;
    }
    return has_any(errors, never_sent) ? GIT_CLAIM_REFUSED : GIT_CLAIM_NETWORK;
}

char *git_access_reason(const struct git_reply *reply)
{
    auto_buf struct buf open = {0};
    struct buf clean = {0};
    const char *at = buf_string(&reply->errors);
    while (*at != '\0') {
        /* "//USER:PASSWORD@" loses all before the @. */
        size_t len = strncmp(at, "//", 2) == 0 ? 2 : 1;
        buf_append(&open, at, len);
        at += len;
        size_t word = len == 2 ? strcspn(at, "/ \t\n'\"") : 0;
        const char *end = memrchr(at, '@', word);
        at = end == NULL ? at : end;
    }
    text_clean_lines(buf_string(&open), open.len, &clean);
    return buf_steal(&clean);
}
