// SPDX-License-Identifier: Apache-2.0
/*
 * Finding a token, from what was said most expressly to what is there anyway. Each place is asked
 * for the host of the repository and for no other. Programs that are asked get an environment
 * without our variables, and git's credentials are asked for outside of the repository: settings in
 * a clone may name helpers, and a clone may have been written to by others.
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "forge/kind.h"
#include "forge/link.h"
#include "forge/place.h"
#include "git/access.h"
#include "model/key/secret.h"
#include "os/environment.h"
#include "os/spawn/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Time for a program that knows a token; it may have to open a keyring. */
#define LOGIN_NS (20 * NS_PER_S)

void forge_token_fini(struct forge_token *token)
{
    secret_free_string(token->text);
    *token = (struct forge_token){0};
}

/** Whether a text can be a token: it goes into a header. */
static bool is_token(const char *text)
{
    size_t len = strlen(text);
    bool is_fine = len > 0 && len <= LIMIT_FORGE_TOKEN_LEN;
    for (size_t i = 0; i < len && is_fine; i++) {
        is_fine = ascii_is_graphic(text[i]);
    }
    return is_fine;
}

/** Take a token that a person has set: one that is none is an error, without its text. */
static int take(const char *text, const char *source, struct forge_token *ret_token,
                struct rondo_error *err)
{
    if (!is_token(text)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the token of the forge (%s) is too long, or has characters that no "
                         "token has",
                         source);
    }
    ret_token->text = memory_dup_string(text);
    snprintf(ret_token->source, sizeof(ret_token->source), "%s", source);
    return 0;
}

/* ---- Variables ------------------------------------------------------------------------------- */

/** Variables whose tokens are for this host. */
static const char *const *variables_of(const struct forge_ops *ops, const char *host)
{
    static const char *const none[] = {NULL};
    const char *meant = ops->host_variable != NULL ? getenv(ops->host_variable) : NULL;
    bool is_public = strcmp(host, ops->public_host) == 0;
    /* Variables of their own for the public host are meant for it alone. */
    if (is_public && ops->public_token_variables != ops->token_variables) {
        return ops->public_token_variables;
    }
    bool is_meant = meant == NULL || meant[0] == '\0' || link_names_host(meant, host);
    return is_meant ? ops->token_variables : none;
}

static int find_variable(const struct forge_place *place, const char *const *variables,
                         struct forge_token *token, struct rondo_error *err)
{
    const char *const *names = variables_of(forge_ops_of(place->kind), place->host);
    for (size_t i = 0; names[i] != NULL; i++) {
        const char *value = environment_find(variables, names[i]);
        if (value != NULL && value[0] != '\0') {
            return take(value, names[i], token, err);
        }
    }
    return 0;
}

/* ---- Logins of other clients ----------------------------------------------------------------- */

static void take_output(void *context, const char *bytes, size_t len)
{
    struct buf *output = context;
    size_t room = LIMIT_FORGE_TOKEN_LEN + 2 - output->len;
    buf_append(output, bytes, len < room ? len : room);
}

static void drop_errors(void *context, const char *bytes, size_t len)
{
    (void)context;
    (void)bytes;
    (void)len;
}

/** The one line that a program prints. @return whether it went well */
static bool run_login(const struct forge_ops *ops, const char *host, struct buf *ret_output)
{
    const char *argv[8] = {0};
    size_t count = 0;
    struct spawn_result result = {0};
    for (; ops->login_command[count] != NULL; count++) {
        argv[count] = ops->login_command[count];
    }
    argv[count] = host;
    char **environment = environment_reduced(ops->login_variables, NULL);
    const struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environment,
        .directory = "/",
        .total_ns = LOGIN_NS,
        .output_keep = 1,
        .on_output = take_output,
        .on_errors = drop_errors,
        .on_output_context = ret_output,
    };
    bool is_fine = spawn_run(&request, &result, NULL) == 0 && result.end == SPAWN_EXITED &&
                   result.exit_code == 0;
    spawn_result_fini(&result);
    environment_free(environment);
    return is_fine;
}

static void find_login(const struct forge_place *place, struct forge_token *token)
{
    const struct forge_ops *ops = forge_ops_of(place->kind);
    struct buf output = {0};
    struct secret secret = {0};
    if (ops->login_command != NULL && run_login(ops, place->host, &output)) {
        secret_set(&secret, "", buf_string(&output));
    } else if (ops->read_login != NULL) {
        ops->read_login(place, &secret);
    }
    if (secret.len > 0 && is_token(secret.bytes)) {
        (void)take(secret.bytes, ops->login_name, token, NULL);
    }
    secret_fini(&secret);
    secret_fini_buf(&output);
}

/* ---- Credentials of git ---------------------------------------------------------------------- */

/** The line "password=...". Owned; NULL when there is none. */
static char *find_password(const char *output)
{
    static const char key[] = "password=";
    for (const char *line = output; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (strncmp(line, key, sizeof(key) - 1) == 0) {
            return memory_dup_bytes(line + sizeof(key) - 1, len - (sizeof(key) - 1));
        }
        line += len + (line[len] == '\n');
    }
    return NULL;
}

/** gitcredentials(7). With no repository, so that only the person's own settings count. */
static void find_credential(const struct forge_place *place, struct git *git,
                            struct forge_token *token)
{
    static const char *const arguments[] = {"credential", "fill", NULL};
    auto_buf struct buf input = {0};
    struct git_reply reply = {0};
    bool is_plain = strncmp(place->api, "http://", 7) == 0;
    buf_printf(&input, "protocol=%s\nhost=%s\npath=%s/%s.git\n\n", is_plain ? "http" : "https",
               place->host, place->owner, place->name);
    const struct git_call call = {
        .arguments = arguments,
        .directory = "/",
        .git_dir = "/dev/null/none", /* can never be one */
        .names = git_access_names,
        .variables = git_access_variables,
        .input = buf_string(&input),
        .input_len = input.len,
        .output_limit = 4 * LIMIT_FORGE_TOKEN_LEN,
        .total_ns = LOGIN_NS,
        .is_once = true,
    };
    if (git_call_run(git, &call, &reply, NULL) == 0 && reply.exit_code == 0) {
        char *password = find_password(buf_string(&reply.output));
        if (password != NULL && is_token(password)) {
            (void)take(password, "git credential", token, NULL);
        }
        secret_free_string(password);
    }
    secret_fini_buf(&reply.output);
    git_reply_fini(&reply);
}

int forge_token_find(const struct forge_place *place, const char *given,
                     const char *const *variables, struct git *git, struct forge_token *ret_token,
                     struct rondo_error *err)
{
    struct forge_token token = {0};
    int r = given != NULL && given[0] != '\0' ? take(given, "given", &token, err)
                                              : find_variable(place, variables, &token, err);
    if (r == 0 && token.text == NULL) {
        find_login(place, &token);
    }
    if (r == 0 && token.text == NULL && git != NULL) {
        find_credential(place, git, &token);
    }
    if (r == 0) {
        *ret_token = token;
    }
    return r;
}
