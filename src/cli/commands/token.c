// SPDX-License-Identifier: Apache-2.0
/* rondo token: access to the API of `rondo serve`. */
#include "server/auth/token.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/style.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct token_values {
    int64_t scope;
    char **agents;
    char *person;
    int64_t signing;
    char *public_key;
    int64_t expires_ns; /**< from now on; 0 = never */
    int64_t overlap_ns;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

static const struct option_choice scopes[] = {
    {"read", TOKEN_READ},
    {"operate", TOKEN_OPERATE},
    {"administer", TOKEN_ADMINISTER},
    {"decide", TOKEN_DECIDE},
    {"reveal", TOKEN_REVEAL},
    {"agent", TOKEN_AGENT},
    {0},
};

static const struct option_choice signings[] = {
    {"none", SIGNING_NONE},
    {"optional", SIGNING_OPTIONAL},
    {"required", SIGNING_REQUIRED},
    {0},
};

static const struct option_row create_options[] = {
    {.name = "scope",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct token_values, scope),
     .choices = scopes,
     .by_default = "read",
     .help = "Permissions: read only; also start, stop and change runs, and change follow-ups and "
             "memories; also change policies and sinks, and reset budgets",
     .group = "The token"},
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_LIST,
     .offset = offsetof(struct token_values, agents),
     .argument = "ID",
     .by_default = "all agents",
     .help = "Only this agent; repeatable; scope agent requires it"},
    {.name = "person",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct token_values, person),
     .argument = "USER",
     .by_default = "NAME",
     .help = "With scope decide or reveal: the person who decides with it; with scope agent: whose "
             "agent it "
             "is, who never decides about it (default: nobody's)"},
    {.name = "signing",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct token_values, signing),
     .choices = signings,
     .by_default = "none",
     .help =
         "With scope agent: requests may be signed, or must be; a secret is made and shown once, "
         "answers are signed with it, too"},
    {.name = "public-key",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct token_values, public_key),
     .argument = "KEY",
     .help =
         "With --signing: the agent signs with its own Ed25519 key, and this is the public half "
         "(whpk_...); no secret is made"},
    {.name = "expires",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct token_values, expires_ns),
     .argument = "DURATION",
     .by_default = "never",
     .help = "Token lifetime (30d, 12h)"},
    OPTION_ROW_STORE(struct token_values),
    OPTION_ROW_JSON(struct token_values, "As one JSON object"),
    {0},
};

static const struct option_row rotate_options[] = {
    {.name = "overlap",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct token_values, overlap_ns),
     .argument = "DURATION",
     .by_default = "24h",
     .help = "How long the former secret counts, too",
     .group = "The secret"},
    OPTION_ROW_STORE(struct token_values),
    OPTION_ROW_JSON(struct token_values, "As one JSON object"),
    {0},
};

static const struct option_row list_options[] = {
    OPTION_ROW_STORE(struct token_values),
    OPTION_ROW_JSON(struct token_values, "One JSON object per line, one for each token"),
    OPTION_ROW_NO_COLOUR(struct token_values),
    {0},
};

static const struct option_row revoke_options[] = {
    OPTION_ROW_STORE(struct token_values),
    OPTION_ROW_JSON(struct token_values, "As one JSON object"),
    {0},
};

/* ---- create --------------------------------------------------------------------------------- */

static void print_created(const struct token_values *values, const char *name, const char *token,
                          const char *secret)
{
    auto_buf struct buf out = {0};
    if (!values->wants_json) {
        buf_printf(&out, "%s\n%s%s", token, secret, secret[0] == '\0' ? "" : "\n");
        report_output(&out);
        fprintf(stderr, "token %s, scope %s%s; not shown again\n", name,
                token_scope_name((enum token_scope)values->scope),
                secret[0] == '\0' ? "" : ", and the secret that signs its requests");
        return;
    }
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "token");
    json_write_string(&writer, "name", name);
    json_write_string(&writer, "scope", token_scope_name((enum token_scope)values->scope));
    json_write_string(&writer, "token", token);
    if (secret[0] != '\0') {
        json_write_string(&writer, "secret", secret);
    }
    json_end_object(&writer);
    buf_append_string(&out, "\n");
    report_output(&out);
}

static int create(struct session *session, const struct token_values *values, const char *name,
                  struct rondo_error *err)
{
    char token[TOKEN_SIZE];
    char secret[SIGNING_TEXT_SIZE] = "";
    int64_t expires_ns =
        values->expires_ns == 0 ? 0 : clock_now(clock_system()) + values->expires_ns;
    struct token_spec spec = {.name = name,
                              .scope = (enum token_scope)values->scope,
                              .agents = (const char *const *)values->agents,
                              .person = values->person,
                              .expires_ns = expires_ns,
                              .signing = (enum token_signing)values->signing,
                              .public_key = values->public_key};
    int r = token_create(session->store, &spec, token, secret, err);
    if (r == 0) {
        print_created(values, name, token, secret);
    }
    explicit_bzero(token, sizeof(token));
    explicit_bzero(secret, sizeof(secret));
    return r;
}

/* ---- rotate --------------------------------------------------------------------------------- */

static int rotate(struct session *session, const struct token_values *values, const char *name,
                  struct rondo_error *err)
{
    char secret[SIGNING_TEXT_SIZE];
    auto_buf struct buf out = {0};
    int r = token_rotate(session->store, name, clock_now(clock_system()), values->overlap_ns,
                         secret, err);
    if (r < 0) {
        return r;
    }
    if (values->wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "type", "token_secret");
        json_write_string(&writer, "name", name);
        json_write_string(&writer, "secret", secret);
        json_end_object(&writer);
        buf_append_string(&out, "\n");
    } else {
        buf_printf(&out, "%s\n", secret);
    }
    report_output(&out);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(out.data, out.len);
    return 0;
}

/* ---- list ----------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {"NAME", false, false},    {"SCOPE", false, false},   {"AGENTS", false, true},
    {"CREATED", false, false}, {"EXPIRES", false, false}, {"LAST USED", false, false},
};

static void add_agents(struct json_object *token, struct table *table)
{
    struct json_object *agents = NULL;
    auto_buf struct buf cell = {0};
    json_object_object_get_ex(token, "agents", &agents);
    size_t count = json_length(agents);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&cell, "%s%s", i > 0 ? ", " : "",
                   json_object_get_string(json_object_array_get_idx(agents, i)));
    }
    table_add(table, agents == NULL ? "all" : buf_string(&cell));
}

static void add_moment(struct json_object *token, const char *key, struct table *table)
{
    auto_buf struct buf cell = {0};
    text_moment(json_get_string(token, key, "never"), clock_now(clock_system()), &cell);
    table_add(table, buf_string(&cell));
}

static void print_table(struct json_object *list, const struct token_values *values)
{
    auto_buf struct buf out = {0};
    struct style style = style_for(stdout, values->no_colour != 0);
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *token = json_object_array_get_idx(list, i);
        table_add(&table, json_get_string(token, "name", "?"));
        table_add(&table, json_get_string(token, "scope", "?"));
        add_agents(token, &table);
        add_moment(token, "created", &table);
        add_moment(token, "expires", &table);
        add_moment(token, "last_used", &table);
    }
    table_draw(&table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
    report_output(&out);
    table_fini(&table);
}

static int list(struct session *session, const struct token_values *values, const char *name,
                struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf out = {0};
    auto_json struct json_object *tokens = NULL;
    (void)name;
    int r = token_list(session->store, &text, err);
    r = r < 0 ? r : json_parse(buf_string(&text), text.len, &tokens, err);
    if (r < 0) {
        return r;
    }
    size_t count = json_object_array_length(tokens);
    if (values->wants_json) {
        for (size_t i = 0; i < count; i++) {
            buf_printf(&out, "%s\n",
                       json_object_to_json_string_ext(json_object_array_get_idx(tokens, i),
                                                      JSON_C_TO_STRING_PLAIN));
        }
        report_output(&out);
    } else if (count == 0) {
        fputs("no tokens; create one with `rondo token create NAME`\n", stderr);
    } else {
        print_table(tokens, values);
    }
    return 0;
}

/* ---- revoke --------------------------------------------------------------------------------- */

static int revoke(struct session *session, const struct token_values *values, const char *name,
                  struct rondo_error *err)
{
    auto_buf struct buf out = {0};
    int r = token_revoke(session->store, name, err);
    if (r < 0) {
        return r;
    }
    if (values->wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "type", "token_revoked");
        json_write_string(&writer, "name", name);
        json_end_object(&writer);
        buf_append_string(&out, "\n");
    } else {
        buf_printf(&out, "token %s is revoked\n", name);
    }
    report_output(&out);
    return 0;
}

/* ---- The commands --------------------------------------------------------------------------- */

typedef int token_fn(struct session *session, const struct token_values *values, const char *name,
                     struct rondo_error *err);

static int run(const struct token_values *values, const char *name, enum store_access access,
               token_fn *fn)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = access};
    if (session_open(&options, &session, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    int r = fn(&session, values, name, &err);
    session_close(&session);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

static int run_with(const struct invocation *invocation, const struct option_row *rows, int words,
                    enum store_access access, token_fn *fn)
{
    struct token_values values = {.scope = TOKEN_READ, .overlap_ns = 24 * 3600 * NS_PER_S};
    struct option_set set = {.rows = rows, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, words, words);
    int exit_code = parsed.is_over ? parsed.exit_code
                                   : run(&values, words > 0 ? parsed.argv[0] : NULL, access, fn);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_create(const struct invocation *invocation)
{
    return run_with(invocation, create_options, 1, STORE_CREATING, create);
}

static int cmd_rotate(const struct invocation *invocation)
{
    return run_with(invocation, rotate_options, 1, STORE_WRITING, rotate);
}

static int cmd_list(const struct invocation *invocation)
{
    return run_with(invocation, list_options, 0, STORE_READING, list);
}

static int cmd_revoke(const struct invocation *invocation)
{
    return run_with(invocation, revoke_options, 1, STORE_WRITING, revoke);
}

const struct command token_commands[] = {
    {
        .name = "token create",
        .synopsis = "[OPTION...] NAME",
        .help = "Create an API token",
        .description =
            "Creates a token and prints it once: the store keeps only its SHA-256 "
            "digest. Programs send it as `Authorization: Bearer TOKEN`. Its name is "
            "recorded in the journals of the runs that it starts and changes.\n\n"
            "Scopes are sets of rights: `operate` can also read, `administer` can also "
            "operate and read, `decide` can read and decide what waits in the inbox, as "
            "the person it is made for, `reveal` can also have hidden values of requests "
            "shown, and `agent` can only ask for decisions, as one of the agents that it "
            "names. No scope can both decide and make an agent "
            "act.\n\n"
            "Processes of the same user on the server's machine need no token, unless "
            "the server was started with --require-token, --host or an https --url.",
        .examples =
            "rondo token create grafana\tmay read everything\n"
            "rondo token create ci --scope operate --agent fixer --expires 90d\tmay start "
            "and stop runs of one agent\n"
            "rondo token create ann --scope decide\tdecides as user:ann what waits in the "
            "inbox\n"
            "rondo token create triage --scope agent --agent triage-01\tasks for decisions, "
            "as this agent",
        .options = create_options,
        .run = cmd_create,
    },
    {
        .name = "token list",
        .synopsis = "[OPTION...]",
        .help = "List API tokens",
        .description =
            "Lists the tokens, what they allow, and when they were last used (to the minute).",
        .options = list_options,
        .run = cmd_list,
    },
    {
        .name = "token rotate",
        .synopsis = "[OPTION...] NAME",
        .help = "Replace the secret of a token that signs",
        .description =
            "Makes a new secret for a token that was created with --signing, and prints it once. "
            "The former one counts as long as --overlap says; answers are signed with both.",
        .options = rotate_options,
        .run = cmd_rotate,
    },
    {
        .name = "token revoke",
        .synopsis = "[OPTION...] NAME",
        .help = "Revoke an API token",
        .description = "The token is refused from the next request on. Streams that it already "
                       "opened continue until they end.",
        .options = revoke_options,
        .run = cmd_revoke,
    },
    {0},
};
